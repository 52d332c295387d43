# Power and pairs of models against simulation, stats:: and sums written out.

test_that("the power is that of the test", {
  # the score statistic of Miettinen and Nurminen with the constrained rates of the quadratic,
  # written out
  score_z <- function(k0, k1, n, theta) {
    b <- -(n * theta + k0 + n + k1 * theta)
    q1 <- (-b - sqrt(b^2 - 8 * n * theta * (k0 + k1))) / (4 * n * theta)
    q0 <- theta * q1
    (k0 - theta * k1) /
      n /
      sqrt((q0 * (1 - q0) + theta^2 * q1 * (1 - q1)) / n * 2 * n / (2 * n - 1))
  }
  set.seed(2)
  k0 <- stats::rbinom(40000, 400, 0.35)
  k1 <- stats::rbinom(40000, 400, 0.5)
  z <- score_z(k0, k1, 400, 0.8)
  # four Monte Carlo errors of 40,000 draws are .01
  expect_equal(fs_power_ratio(0.5, 0.7, 400), mean(z < stats::qnorm(0.05)), tolerance = 0.02)
  k0 <- stats::rbinom(40000, 300, 0.4)
  k1 <- stats::rbinom(40000, 300, 0.5)
  z <- score_z(k0, k1, 300, 1)
  both <- fs_power_ratio(0.5, 0.8, 300, alternative = "two-sided")
  expect_equal(both, mean(abs(z) > stats::qnorm(0.975)), tolerance = 0.02)
})

test_that("the sample size is the smallest that has the power", {
  for (case in list(
    list(0.5, 0.7, "less"),
    list(0.3, 0.95, "greater"),
    list(0.4, 1.2, "two-sided")
  )) {
    plan <- fs_sample_size_ratio(case[[1L]], case[[2L]], 0.8, alternative = case[[3L]])
    expect_gte(fs_power_ratio(case[[1L]], case[[2L]], plan$n, alternative = case[[3L]]), 0.8)
    expect_lt(fs_power_ratio(case[[1L]], case[[2L]], plan$n - 1, alternative = case[[3L]]), 0.8)
  }
  expect_equal(fs_sample_size_ratio(0.5, 0.7)$n, 971) # Python's answer, by another enumeration
  expect_error(fs_power_ratio(1.5, 0.7, 10), "`rate_reference`")
  expect_error(fs_power_ratio(0.5, 0.9, 10), "`ratio`")
  expect_error(fs_sample_size_ratio(0.5, 0.7, power = 1), "`power`")
})

test_that("verdicts on few cases are counted by exact tests", {
  # every table of 27 beside 27 through Python's verdicts has .6894802387; the score test shows .810
  power <- fs_power_ratio(0.999, 0.6, 27, alternative = "violated")
  expect_equal(power, 0.6894802387, tolerance = 1e-9)
  expect_equal(fs_sample_size_ratio(0.95, 0.4, alternative = "violated")$n, 15) # Python's answer; by score 12
})

test_that("a model beside itself does not change, and a difference is the difference of both", {
  d <- people()
  set.seed(3)
  d$other <- ifelse(stats::runif(nrow(d)) < 0.8, d$y_pred, 1 - d$y_pred)
  for (metric in c("demographic_parity_difference", "equal_opportunity_difference")) {
    found <- fs_compare_models(
      d,
      "y_true",
      c("y_pred", "other"),
      "group",
      metric,
      reference = "blue"
    )
    f <- if (metric == "equal_opportunity_difference") {
      function(p) fs_equal_opportunity_difference(d, "y_true", p, "group", reference = "blue")
    } else {
      function(p) fs_demographic_parity_difference(d, p, "group", reference = "blue")
    }
    expect_equal(found$estimate, f("other")$estimate - f("y_pred")$estimate)
  }
  # differences of pairs: their own variance within the groups
  change <- d$other - d$y_pred
  v <- tapply(change, d$group, function(x) mean((x - mean(x))^2) / length(x))
  metric <- "demographic_parity_difference"
  found <- fs_compare_models(d, "y_true", c("y_pred", "other"), "group", metric, reference = "blue")
  expect_equal(found$std_error[found$group == "red"], sqrt(v[["red"]] + v[["blue"]]))
  # the largest gap of three groups is one row, and its p-value one of the family
  largest <- fs_compare_models(d, "y_true", c("y_pred", "other"), "group", "equalized_odds_max")
  expect_identical(nrow(largest), 1L)
  expect_equal(largest$pvalue_adjusted, largest$pvalue)
  expect_error(fs_compare_models(d, "y_true", c("y_pred", "other"), "group", "nope"), "`metric`")
})
