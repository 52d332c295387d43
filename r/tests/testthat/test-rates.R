test_that("rates are plain proportions", {
  d <- people()
  found <- group_rates(d$y_pred, d$y_true == 1, d$group)
  kept <- d[d$y_true == 1, ]
  expect_equal(found$rate, as.numeric(tapply(kept$y_pred, kept$group, mean)))
  expect_equal(found$cases, as.numeric(table(kept$group)))
  expect_identical(found$df, Inf)
})

test_that("unit weights give the unweighted variance times n / (n - 1)", {
  d <- people()
  plain <- group_rates(d$y_pred, rep(TRUE, nrow(d)), d$group)
  unit <- group_rates(d$y_pred, rep(TRUE, nrow(d)), d$group, weight = rep(1, nrow(d)))
  n <- nrow(d)
  expect_equal(unit$covariance, plain$covariance * n / (n - 1))
  expect_equal(unit$df, n - 1)
})

test_that("linearisation is that of the survey package", {
  skip_if_not_installed("survey")
  d <- people()
  for (clustered in c(FALSE, TRUE)) {
    design <- survey::svydesign(ids = if (clustered) ~cluster else ~1, weights = ~weight, data = d)
    by <- survey::svyby(~y_pred, ~group, subset(design, y_true == 1), survey::svymean, covmat = TRUE)
    ratio <- survey::svycontrast(by, quote(red / blue))
    found <- conditional_accuracy(d$y_true, d$y_pred, d$group, "blue",
      weight = d$weight, cluster = if (clustered) d$cluster
    )
    found <- found[found$group == "red", ]
    expect_equal(found$estimate, as.numeric(coef(ratio)), tolerance = 1e-12)
    expect_equal(found$std_error, as.numeric(survey::SE(ratio)), tolerance = 1e-10)
    expect_equal(group_rates(d$y_pred, d$y_true == 1, d$group, d$weight, if (clustered) d$cluster)$covariance,
      unname(vcov(by)),
      tolerance = 1e-10, ignore_attr = TRUE
    )
  }
})

test_that("the ratios are what their names say", {
  d <- people()
  rate <- function(y, rows, g) mean(y[rows & d$group == g])
  all <- rep(TRUE, nrow(d))
  red <- function(x) x$estimate[x$group == "red"]
  expect_equal(red(disparate_impact(d$y_pred, d$group, "blue")), rate(d$y_pred, all, "red") / rate(d$y_pred, all, "blue"))
  expect_equal(
    red(conditional_accuracy(d$y_true, d$y_pred, d$group, "blue", label = 0)),
    rate(1 - d$y_pred, d$y_true == 0, "red") / rate(1 - d$y_pred, d$y_true == 0, "blue")
  )
  expect_equal(
    red(conditional_use_accuracy(d$y_true, d$y_pred, d$group, "blue", prediction = 0)),
    rate(1 - d$y_true, d$y_pred == 0, "red") / rate(1 - d$y_true, d$y_pred == 0, "blue")
  )
  expect_equal(
    red(average_odds_difference(d$y_true, d$y_pred, d$group, "blue")),
    (rate(d$y_pred, d$y_true == 1, "red") + rate(d$y_pred, d$y_true == 0, "red") -
      rate(d$y_pred, d$y_true == 1, "blue") - rate(d$y_pred, d$y_true == 0, "blue")) / 2
  )
})

test_that("tests and intervals tell the same", {
  d <- people()
  for (method in c("log", "delta", "score", "koopman")) {
    found <- disparate_impact(d$y_pred, d$group, "blue", method = method, level = 0.9, threshold = 0.8)
    expect_identical(found$p_equal < 0.1, found$high < 1 | found$low > 1)
    expect_identical(found$p_less < 0.05, found$high < 0.8)
    expect_identical(found$p_greater < 0.05, found$low > 0.8)
    expect_identical(found$p_equivalence < 0.05, found$low > 0.8 & found$high < 1.25)
  }
})

test_that("the equality test of the difference is the one of prop.test up to the N / (N - 1)", {
  d <- people()
  found <- demographic_parity_difference(d$y_true, d$y_pred, d$group, "blue", method = "mee")
  green <- found[found$group == "green", ]
  k <- tapply(d$y_pred, d$group, sum)[c("green", "blue")]
  n <- table(d$group)[c("green", "blue")]
  expect_equal(green$p_equal, suppressWarnings(prop.test(k, n, correct = FALSE))$p.value, tolerance = 1e-10)
})

test_that("the largest gap with two groups is exact", {
  d <- people()
  d <- d[d$group != "red", ]
  found <- largest_gap(d$y_true, d$y_pred, d$group, c("tpr", "fpr"))
  expect_equal(found$critical, qnorm((1 + sqrt(0.95)) / 2))
  expect_equal(found$estimate, max(abs(found$differences$estimate)))
  expect_true(found$low <= found$estimate && found$estimate <= found$high)
})

test_that("the simulated critical value lies between one comparison and Bonferroni", {
  d <- people()
  set.seed(1)
  found <- largest_gap(d$y_true, d$y_pred, d$group, "selection_rate", draws = 2^15)
  expect_gt(found$critical, qnorm(0.975))
  expect_lt(found$critical, qnorm(1 - 0.025 / 3) + 0.02)
})

test_that("bad input is named", {
  d <- people()
  expect_error(disparate_impact(d$y_pred, d$group, "violet"), "violet.*blue, green, red")
  expect_error(disparate_impact(d$y_pred + 1, d$group), "0 or 1")
  expect_error(disparate_impact(d$y_pred, d$group[-1L]), "group")
  expect_error(disparate_impact(d$y_pred, rep("a", nrow(d))), "one group")
  expect_error(disparate_impact(c(NA, d$y_pred[-1L]), d$group), "missing")
  expect_error(disparate_impact(d$y_pred, d$group, weight = -d$weight), "weights")
  expect_error(disparate_impact(d$y_pred, d$group, weight = d$weight, method = "score"), "unweighted")
  expect_error(disparate_impact(d$y_pred, d$group, cluster = rep(1, nrow(d))), "two sampling units")
  expect_error(compare_rates(d$y_true, d$y_pred, d$group, "recall"), "unknown rate")
  expect_error(conditional_accuracy(as.numeric(d$group == "blue"), d$y_pred, d$group), "no cases in group")
  expect_error(disparate_impact(numeric(), character()), "no rows")
})
