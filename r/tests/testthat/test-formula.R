# A formula names the same columns as text does.

rows <- data.frame(
  hired = c(1, 1, 0, 0, 1, 0, 0, 0),
  qualified = c(1, 1, 1, 0, 1, 1, 0, 0),
  score = c(0.9, 0.8, 0.3, 0.2, 0.7, 0.4, 0.2, 0.1),
  sex = rep(c("m", "f"), each = 4),
  place = rep(c("a", "b"), 4)
)

test_that("a ratio by hand: one of four against two of four", {
  found <- fs_disparate_impact(hired ~ sex, rows, reference = "m")
  expect_equal(found$estimate, (1 / 4) / (2 / 4))
  expect_equal(found$sensitive_features, "sex")
  expect_equal(c(found$rate, found$rate_reference), c(0.25, 0.5))
})

test_that("the data may be named, come second, or not be there", {
  by_name <- fs_disparate_impact(rows, "hired", "sex", reference = "m")
  expect_identical(fs_disparate_impact(hired ~ sex, rows, reference = "m"), by_name)
  expect_identical(fs_disparate_impact(hired ~ sex, data = rows, reference = "m"), by_name)
  expect_identical(fs_disparate_impact(data = rows, hired ~ sex, reference = "m"), by_name)
  expect_identical(with(rows, fs_disparate_impact(hired ~ sex, reference = "m")), by_name)
})

test_that("outcome and prediction stand on the left in this order", {
  # of the qualified: one of two women was hired, two of three men
  found <- fs_equal_opportunity_difference(cbind(qualified, hired) ~ sex, rows, reference = "m")
  expect_equal(found$estimate, 1 / 2 - 2 / 3)
  metric <- fs_group_metric(cbind(qualified, hired) ~ sex, rows, "tpr_difference", reference = "m")
  expect_equal(metric$estimate, 1 / 2 - 2 / 3)
  metric <- fs_group_metric(
    cbind(qualified, hired) ~ sex,
    data = rows,
    metric = "tpr_difference",
    reference = "m"
  )
  expect_equal(metric$estimate, 1 / 2 - 2 / 3)
  # two of four women are qualified, three of four men
  base <- fs_group_metric(qualified ~ sex, rows, "base_rate_difference", reference = "m")
  expect_equal(base$estimate, 2 / 4 - 3 / 4)
})

test_that("terms may be expressions of columns and variables", {
  cut_off <- 0.5
  found <- fs_disparate_impact(
    I(score > cut_off) ~ toupper(sex),
    rows,
    pos_label = TRUE,
    reference = "M"
  )
  expect_equal(found$estimate, (1 / 4) / (2 / 4))
  expect_equal(found$sensitive_features, "toupper(sex)")
})

test_that("sensitive columns are crossed by +", {
  found <- fs_disparate_impact(hired ~ sex + place, rows, reference = "m & a")
  expect_setequal(found$group, c("m & b", "f & a", "f & b"))
  # of men in a one of two, of women in a one of two, in b none
  estimate <- stats::setNames(found$estimate, found$group)
  expect_equal(estimate[c("m & b", "f & a", "f & b")], c("m & b" = 1, "f & a" = 1, "f & b" = 0))
})

test_that("strata in a formula are the argument strata", {
  d <- people()
  d$half <- rep(c("u", "v"), 120)
  by_name <- fs_disparate_impact(d, "y_pred", "group", strata = "half", reference = "blue")
  expect_identical(fs_disparate_impact(y_pred ~ group | half, d, reference = "blue"), by_name)
  in_formula <- fs_disparate_impact(y_pred ~ group + strata(half), d, reference = "blue")
  expect_identical(in_formula, by_name)
  # two columns are crossed: as one column that holds both
  d$both <- paste(d$half, d$y_true, sep = " & ")
  crossed <- fs_disparate_impact(y_pred ~ group | half + y_true, d, reference = "blue")
  whole <- fs_disparate_impact(d, "y_pred", "group", strata = "both", reference = "blue")
  expect_equal(crossed$adjusted, whole$adjusted)
})

test_that("scores, models, features and audits take formulas", {
  d <- people()
  d$score <- stats::plogis(d$y_true + 0.5 * d$y_pred)
  d$other <- 1 - d$y_pred
  expect_identical(
    fs_madd(score ~ group, d, n_resamples = 99, max_bins = 60),
    fs_madd(d, "score", "group", n_resamples = 99, max_bins = 60)
  )
  expect_identical(
    fs_abroca(cbind(y_true, score) ~ group, d, n_resamples = 99),
    fs_abroca(d, "y_true", "score", "group", n_resamples = 99)
  )
  expect_identical(
    fs_compare_models(cbind(y_true, y_pred, other) ~ group, d),
    fs_compare_models(d, "y_true", c(y_pred = "y_pred", other = "other"), "group")
  )
  expect_identical(
    fs_hfm(cbind(y_true, y_pred) ~ group, d, "score", n_resamples = 0, n_subsamples = 0),
    fs_hfm(d, "score", "y_true", "y_pred", "group", n_resamples = 0, n_subsamples = 0)
  )
  # the audit of few rows, without the exact tests, which take their time
  d <- d[1:90, ]
  expect_identical(
    fs_audit(cbind(y_true, y_pred) ~ group, d, draws = 0, method = "log"),
    fs_audit(d, "y_true", "y_pred", sensitive_features = "group", draws = 0, method = "log")
  )
  expect_identical(
    fs_audit(y_pred ~ group, d, method = "log"),
    fs_audit(d, y_pred = "y_pred", sensitive_features = "group", method = "log")
  )
})

test_that("what is no such formula is refused in words", {
  refused <- function(formula, words, f = fs_disparate_impact) {
    expect_error(f(formula, rows), words, fixed = TRUE)
  }
  refused(~sex, "two sides")
  refused(hired ~ sex * place, "joined by +")
  refused(hired ~ ., "joined by +")
  refused(hired ~ strata(place), "a sensitive column")
  refused(nothing ~ sex, "nothing, which cannot be evaluated")
  refused(cbind(qualified, hired) ~ sex, "allowed: y_pred ~ group")
  refused(hired ~ sex, "cbind(y_true, y_pred) ~ group", fs_equal_opportunity_difference)
  refused(score ~ sex | place, "no comparisons within strata", fs_madd)
  expect_error(fs_disparate_impact(hired ~ sex, rows, "sex"), "columns beside it")
  expect_error(fs_disparate_impact(hired ~ sex | place, rows, strata = "place"), "one of the two")
})
