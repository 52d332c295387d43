# Groups that are inferred, against formulas by rows, lm() and plain comparisons of known groups.

inferred_people <- function(n = 1200, seed = 4) {
  set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")
  p <- stats::rbeta(n, 0.3, 0.3)
  sex <- ifelse(stats::runif(n) < p, "f", "m")
  data.frame(
    f = p,
    m = 1 - p,
    sex = sex,
    able = stats::rbinom(n, 1, 0.5),
    hired = stats::rbinom(n, 1, ifelse(sex == "f", 0.3, 0.5))
  )
}
SHARES <- c("f", "m")

test_that("the weighted estimate, its error and the regression are those of rows", {
  data <- inferred_people()
  found <- fs_inferred(
    data,
    "demographic_parity_difference",
    y_pred = "hired",
    sensitive_probabilities = SHARES,
    reference = "m"
  )
  rates <- vapply(SHARES, function(g) sum(data[[g]] * data$hired) / sum(data[[g]]), 0)
  expect_equal(found$weighted, unname(rates["f"] - rates["m"]))
  influence <- data$f *
    (data$hired - rates["f"]) /
    sum(data$f) -
    data$m * (data$hired - rates["m"]) / sum(data$m)
  n <- nrow(data)
  expect_equal(found$std_error, sqrt(sum(influence^2) * n / (n - 1)))
  slopes <- stats::coef(stats::lm(hired ~ 0 + f + m, data))
  expect_equal(found$regression, unname(slopes["f"] - slopes["m"]))
  expect_lt(found$set_low, found$weighted)
  expect_gt(found$set_high, found$weighted)
  expect_lt(found$ci_low, found$set_low)
  expect_identical(found$verdict, "undecided")
})

test_that("known groups leave nothing open", {
  data <- inferred_people()
  sure <- data.frame(f = as.numeric(data$sex == "f"), m = as.numeric(data$sex == "m"))
  found <- fs_inferred(y_pred = data$hired, sensitive_probabilities = sure, reference = "m")
  plain <- fs_disparate_impact(data, "hired", "sex", reference = "m", method = "log")
  expect_equal(found$set_low, plain$estimate)
  expect_equal(found$set_high, plain$estimate)
  expect_equal(found$ci_low, plain$ci_low, tolerance = 2e-3)
  expect_identical(found$verdict, plain$verdict)
})

test_that("an audit sample and a calibration sample change what they should", {
  data <- inferred_people()
  data$known <- ifelse(seq_len(nrow(data)) %% 4 == 0, data$sex, NA)
  audited <- fs_inferred(
    data,
    "disparate_impact",
    y_pred = "hired",
    sensitive_probabilities = SHARES,
    sensitive_features = "known",
    reference = "m"
  )
  expect_equal(audited$n_audited, sum(!is.na(data$known)))
  truth <- mean(data$hired[data$sex == "f"]) / mean(data$hired[data$sex == "m"])
  expect_lt(abs(audited$estimate - truth), 3 * audited$std_error)
  expect_lt(audited$ci_high - audited$ci_low, audited$set_high - audited$set_low)
  everybody <- fs_inferred(
    data,
    "disparate_impact",
    y_pred = "hired",
    sensitive_probabilities = SHARES,
    sensitive_features = "sex",
    reference = "m"
  )
  expect_equal(everybody$estimate, truth)

  wrong <- data.frame(f = pmin(data$f + 0.2, 1))
  wrong$m <- 1 - wrong$f
  other <- inferred_people(800, 9)
  told <- data.frame(f = pmin(other$f + 0.2, 1))
  told$m <- 1 - told$f
  corrected <- fs_inferred(
    y_pred = data$hired,
    metric = "demographic_parity_difference",
    sensitive_probabilities = wrong,
    calibration_sample = list(other$sex, told),
    reference = "m"
  )
  cells <- cells_of_shares(as.matrix(wrong), as.matrix(told))
  shift <- tapply((other$sex == "f") - told$f, cells$sample, mean)
  p <- wrong$f + shift[cells$own]
  expect_equal(
    corrected$weighted,
    sum(p * data$hired) / sum(p) - sum((1 - p) * data$hired) / sum(1 - p)
  )
})

test_that("several rates stand in one family, and what cannot be used is named", {
  data <- inferred_people()
  both <- fs_inferred(data, "equalized_odds_difference", "able", "hired", SHARES, reference = "m")
  expect_identical(both$metric, c("tpr_difference", "fpr_difference"))
  expect_equal(both$pvalue_adjusted, stats::p.adjust(both$pvalue, "holm"))
  expect_output(print(both), "inferred from probabilities")
  expect_error(fs_inferred(data, "f1_difference", "able", "hired", SHARES), "metric")
  expect_error(
    fs_inferred(data, y_pred = "hired", sensitive_probabilities = c("f", "able")),
    "sum to 1"
  )
  expect_error(
    fs_inferred(data, y_pred = "hired", sensitive_probabilities = "f"),
    "sensitive_probabilities"
  )
  expect_error(
    fs_inferred(data, y_pred = "hired", sensitive_probabilities = SHARES, reference = "x"),
    "reference"
  )
  data$hired[3] <- NA
  expect_error(fs_inferred(data, y_pred = "hired", sensitive_probabilities = SHARES), "missing")
  expect_s3_class(
    fs_inferred(data, y_pred = "hired", sensitive_probabilities = SHARES, missing = "drop"),
    "fairstats_table"
  )
})

test_that("draws of known groups are those of the conjugate posterior, and unknown ones are completed", {
  data <- inferred_people(400)
  sure <- data.frame(f = as.numeric(data$sex == "f"), m = as.numeric(data$sex == "m"))
  found <- fs_inferred_draws(
    y_true = data$able,
    y_pred = data$hired,
    sensitive_probabilities = sure,
    draws = 2000
  )
  counts <- fs_um_draws(
    t(vapply(
      c("f", "m"),
      function(g) {
        inside <- data$sex == g
        c(
          tp = sum(inside & data$able == 1 & data$hired == 1),
          fp = sum(inside & data$able == 0 & data$hired == 1),
          fn = sum(inside & data$able == 1 & data$hired == 0),
          tn = sum(inside & data$able == 0 & data$hired == 0)
        )
      },
      numeric(4)
    )),
    20000
  )
  for (metric in c("tpr", "selection_rate")) {
    own <- fs_um_metric(found, metric, "difference", reference = 2)
    plain <- fs_um_metric(counts, metric, "difference", reference = 2)
    expect_lt(abs(mean(own) - mean(plain)), 6 * stats::sd(plain) / sqrt(2000))
    expect_lt(abs(stats::sd(own) / stats::sd(plain) - 1), 0.08)
  }
  data$able[seq(1, 400, 7)] <- NA
  known <- ifelse(seq_len(400) %% 2 == 0, data$sex, NA)
  found <- fs_inferred_draws(data, "able", "hired", SHARES, draws = 500)
  half <- fs_inferred_draws(
    y_true = data$able,
    y_pred = data$hired,
    sensitive_probabilities = data[SHARES],
    sensitive_features = known,
    draws = 500
  )
  gap <- function(x) fs_um_metric(x, "selection_rate", "difference", reference = 2)
  truth <- mean(data$hired[data$sex == "f"]) - mean(data$hired[data$sex == "m"])
  expect_lt(abs(mean(gap(found)) - truth), 4 * stats::sd(gap(found)))
  expect_lt(stats::sd(gap(half)), stats::sd(gap(found)))
  expect_error(fs_inferred_draws(data, "able", "hired", SHARES, draws = 5), "draws")
})
