# Means within strata: `lm` on group and strata, Welch by hand, and the crude comparison of one
# stratum.

wages <- function() {
  k <- 0:239
  grade <- k %% 3
  sex <- ifelse((k * 7) %% 10 < 3 + 2 * grade, "m", "f")
  data.frame(wage = 10 + 12 * grade + (k * 37) %% 11 + (sex == "m"), sex = sex, grade = grade)
}

test_that("the difference is the coefficient of lm on group and strata", {
  d <- wages()
  found <- fs_means(d, "wage", "sex", strata = "grade", reference = "m")
  by_lm <- stats::lm(wage ~ sex + factor(grade), transform(d, sex = factor(sex, c("m", "f"))))
  expect_equal(found$adjusted, unname(stats::coef(by_lm)["sexf"]))
  weight <- 1 + (seq_len(nrow(d)) %% 5)
  weighted <- fs_means(d, "wage", "sex", strata = "grade", sample_weight = weight, reference = "m")
  by_lm <- stats::lm(
    wage ~ sex + factor(grade),
    transform(d, sex = factor(sex, c("m", "f"))),
    weights = weight
  )
  expect_equal(weighted$adjusted, unname(stats::coef(by_lm)["sexf"]))
  within <- attr(found, "stratified")
  expect_equal(within$metric, "mean_stratified")
  expect_equal(within$n_strata, 3)
  expect_equal(within$crude, found$estimate)
  # without the effect of sex the crude difference is that of the grades alone
  alike <- transform(d, wage = wage - (sex == "m"))
  found <- fs_means(alike, "wage", "sex", strata = "grade", reference = "m")
  expect_match(
    attr(found, "head")[1L],
    "Strata change the answer for 1 of 1 comparisons: f against"
  )
})

test_that("standard errors are those of Welch within the strata", {
  d <- wages()
  within <- attr(fs_means(wage ~ sex + strata(grade), d, reference = "m"), "stratified")
  cells <- split(d$wage, list(d$sex, d$grade))
  v <- vapply(cells, function(x) stats::var(x) / length(x), 0)
  n <- lengths(cells)
  w <- rep(n[c(1, 3, 5)] * n[c(2, 4, 6)] / (n[c(1, 3, 5)] + n[c(2, 4, 6)]), each = 2)
  w <- w / sum(w[c(1, 3, 5)])
  expect_equal(within$std_error, sqrt(sum(w^2 * v)))
})

test_that("one stratum is the crude comparison", {
  d <- wages()
  d$one <- "a"
  for (contrast in c("difference", "ratio")) {
    found <- fs_means(d, "wage", "sex", strata = "one", contrast = contrast, margin = 1)
    expect_equal(found$adjusted, found$estimate)
    expect_equal(found$adjusted_pvalue, found$pvalue)
    expect_equal(found$adjusted_verdict, found$verdict)
    expect_true(is.nan(found$pvalue_homogeneity))
  }
})

test_that("errors, their roots and losses have comparisons within strata", {
  d <- wages()
  d$predicted <- d$wage + (seq_len(nrow(d)) * 13) %% 7 - 3
  for (metric in c("mean_absolute_error", "mean_residual", "root_mean_squared_error")) {
    found <- fs_prediction_errors(d, "wage", "predicted", "sex", metric = metric, strata = "grade")
    expect_true(is.finite(found$adjusted_pvalue))
  }
  d$y <- as.integer((seq_len(nrow(d)) * 11) %% 17 > 7)
  d$score <- 0.1 + ((seq_len(nrow(d)) * 29) %% 80) / 100
  loss <- fs_scores(d, "y", "score", "sex", metric = "brier_score", strata = "grade")
  d$loss <- (d$y - d$score)^2
  means <- fs_means(d, "loss", "sex", strata = "grade")
  expect_equal(loss$adjusted, means$adjusted)
  expect_equal(loss$adjusted_pvalue, means$adjusted_pvalue)
  # one stratum of an area is the crude area
  d$one <- "a"
  area <- fs_scores(d, "y", "score", "sex", metric = "auc", strata = "one")
  expect_equal(area$adjusted, area$estimate)
  expect_equal(area$adjusted_pvalue, area$pvalue, tolerance = 1e-6)
  within <- attr(fs_scores(d, "y", "score", "sex", strata = "grade"), "stratified")
  expect_equal(within$n_strata, 3)
  expect_true(is.finite(within$pvalue_homogeneity))
})

test_that("all others, parts of the Brier score and shared clusters have strata, curves none", {
  d <- wages()
  adjusted <- function(...) {
    found <- fs_means(d, "wage", "sex", strata = "grade", ...)
    c(found$adjusted, found$adjusted_pvalue)
  }
  # of two groups all others of one are the other
  rest <- fs_means(d, "wage", "sex", strata = "grade", comparisons = "rest")
  crude <- fs_means(d, "wage", "sex", strata = "grade")
  expect_equal(abs(rest$adjusted[1L]), abs(crude$adjusted))
  expect_equal(rest$adjusted_pvalue[1L], crude$adjusted_pvalue, tolerance = 1e-6)
  # clusters of one row each change nothing, those that cross strata do
  rows <- seq_len(nrow(d))
  site <- paste0(d$sex, rows %/% 6)
  expect_equal(adjusted(cluster = rows)[1L], adjusted()[1L])
  expect_equal(adjusted(cluster = site)[1L], adjusted()[1L])
  expect_false(isTRUE(all.equal(adjusted(cluster = site)[2L], adjusted()[2L])))
  d$y <- as.integer((rows * 11) %% 17 > 7)
  d$score <- 0.1 + ((rows * 29) %% 80) / 100
  part <- fs_scores(d, "y", "score", "sex", metric = "miscalibration", strata = "grade")
  expect_true(is.finite(part$adjusted_pvalue))
  expect_error(
    fs_calibration(d, "y", "score", "sex", metric = "isotonic", strata = "grade"),
    "strata"
  )
  d$grade[1] <- NA
  expect_error(fs_means(d, "wage", "sex", strata = "grade"), "strata")
})

test_that("one stratum of quantiles, regressions and areas is the crude comparison", {
  k <- 0:399
  d <- data.frame(
    wage = 10 + (k * 37) %% 101,
    score = ((k * 53) %% 97 + 1) / 99,
    sex = ifelse(k %% 3 == 0, "f", "m"),
    one = "all",
    weight = 1 + k %% 4
  )
  d$y <- as.integer((k * 29) %% 89 / 89 < d$score)
  same <- function(found) {
    within <- attr(found, "stratified")
    for (name in c("estimate", "ci_low", "ci_high", "pvalue")) {
      expect_equal(within[[name]], found[[name]], tolerance = 1e-7)
    }
    expect_true(all(within$n_strata == 1))
  }
  same(fs_means(d, "wage", "sex", statistic = "median", strata = "one"))
  same(fs_means(d, "wage", "sex", statistic = 0.8, contrast = "ratio", strata = "one"))
  same(fs_calibration(d, "y", "score", "sex", strata = "one"))
  same(fs_calibration(d, "y", "score", "sex", strata = "one", sample_weight = "weight"))
  same(fs_scores(d, "y", "score", "sex", strata = "one", sample_weight = "weight"))
  same(fs_means(
    d,
    "wage",
    "sex",
    contrast = "standardised_difference",
    strata = "one",
    n_resamples = 199
  ))
  # and beside everybody
  for (metric in c("auc", "miscalibration", "discrimination", "uncertainty")) {
    same(fs_scores(d, "y", "score", "sex", metric, strata = "one", comparisons = "overall"))
  }
  same(fs_scores(
    d,
    "y",
    "score",
    "sex",
    contrast = "ratio",
    strata = "one",
    comparisons = "overall",
    sample_weight = "weight"
  ))
})

test_that("clusters may lie in several strata, of which they are one value each", {
  k <- 0:719
  person <- (k * 7) %% 120
  d <- data.frame(
    wage = 10 + (person * 37) %% 101 + (k * 13) %% 7,
    predicted = 12 + (person * 37) %% 101,
    score = ((k * 53) %% 97 + 1) / 99,
    sex = ifelse(person %% 3 == 0, "f", "m"),
    grade = (k %/% 120) %% 3,
    person = person
  )
  d$y <- as.integer((person * 29) %% 89 / 89 < d$score)
  d$apart <- paste(d$person, d$grade)
  both <- function(ask, ...) {
    together <- attr(ask(d, ..., strata = "grade", cluster = "person"), "stratified")
    apart <- attr(ask(d, ..., strata = "grade", cluster = "apart"), "stratified")
    expect_equal(together$estimate, apart$estimate)
    expect_true(all(is.nan(together$pvalue_homogeneity)))
    expect_true(all(is.finite(together$ci_low)))
    together$std_error / apart$std_error
  }
  # persons have nearly one wage in all grades: three times the variance
  median <- both(fs_means, "wage", "sex", statistic = "median", reference = "m")
  expect_true(all(median > 1.4 & median < 1.8))
  smd <- both(
    fs_means,
    "wage",
    "sex",
    contrast = "standardised_difference",
    reference = "m",
    n_resamples = 199
  )
  expect_true(all(smd > 1.4 & smd < 1.8))
  for (kind in c("reference", "rest", "overall")) {
    expect_true(all(both(fs_scores, "y", "score", "sex", comparisons = kind) > 0.5))
    expect_true(all(both(fs_calibration, "y", "score", "sex", comparisons = kind) > 0.5))
  }
})

test_that("quantiles of strata are summed by the weights of their rows", {
  d <- wages()
  d <- rbind(d, d)
  found <- fs_means(d, "wage", "sex", statistic = "median", strata = "grade", reference = "m")
  medians <- tapply(d$wage, list(d$grade, d$sex), stats::median)
  n <- table(d$grade, d$sex)
  w <- n[, "f"] * n[, "m"] / (n[, "f"] + n[, "m"])
  expect_equal(found$adjusted, sum(w * (medians[, "f"] - medians[, "m"])) / sum(w))
})

test_that("net benefit and rates along cut-offs have comparisons within strata", {
  d <- wages()
  d$score <- d$wage / 60
  d$y <- as.integer((seq_len(nrow(d)) * 29) %% 89 / 89 < d$score)
  cutoffs <- c(0.3, 0.6)
  for (metric in c("net_benefit", "tpr")) {
    found <- fs_scores(d, "y", "score", "sex", metric = metric, cutoffs = cutoffs, strata = "grade")
    within <- attr(found, "stratified")
    expect_equal(within$cutoff, cutoffs)
    expect_equal(within$crude, found$estimate)
    expect_equal(within$pvalue_adjusted, stats::p.adjust(within$pvalue, "holm"))
  }
})

test_that("roots of 0 beside everybody have limits, or none and a verdict that says so", {
  # witness: closed form of the estimate; limits of one stratum are those without strata
  k <- 1:240
  d <- data.frame(sex = c("f", "m")[1 + k %% 2], zero = 0, one = 1)
  d$error <- ifelse(d$sex == "f", 0, (k * 37) %% 101 / 50 - 1)
  of <- function(...) {
    fs_prediction_errors(
      d,
      "error",
      "zero",
      "sex",
      metric = "root_mean_squared_error",
      comparisons = "overall",
      ...
    )
  }
  crude <- of()
  within <- attr(of(strata = "one"), "stratified")
  m <- within$group == "m"
  expect_equal(
    within$estimate[m],
    sqrt(mean(d$error[d$sex == "m"]^2)) - sqrt(mean(d$error^2)),
    tolerance = 1e-12
  )
  expect_equal(within$ci_low, crude$ci_low, tolerance = 1e-9)
  expect_equal(within$ci_high, crude$ci_high, tolerance = 1e-9)
  expect_equal(crude$verdict[crude$group == "f"], "insufficient evidence")
  ratios <- attr(of(strata = "one", contrast = "ratio"), "stratified")
  expect_equal(ratios$verdict, rep("insufficient evidence", 2))
})
