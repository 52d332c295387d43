# Means and quantiles by group against t.test, glm and what is written out.

people <- function(n = c(120, 60), seed = 1) {
  set.seed(seed)
  data.frame(wage = c(stats::rlnorm(n[1L]), stats::rlnorm(n[2L], 0.2)), sex = rep(c("m", "f"), n))
}

test_that("symmetric samples have the interval and p-value of t.test", {
  x <- seq(-1, 1, length.out = 30)
  y <- seq(-3, 5, length.out = 50)
  data <- data.frame(value = c(x, y), group = rep(c("a", "b"), c(30, 50)))
  found <- fs_means(data, "value", "group", reference = "a")
  welch <- stats::t.test(y, x)
  expect_equal(found$pvalue, welch$p.value, tolerance = 1e-8)
  expect_equal(c(found$ci_low, found$ci_high), as.numeric(welch$conf.int), tolerance = 1e-8)
})

test_that("limits of skewed samples are no narrower than those of t.test", {
  data <- people()
  found <- fs_means(data, "wage", "sex", reference = "m")
  welch <- stats::t.test(wage ~ sex, data)$conf.int
  expect_lte(found$ci_low, welch[1L] + 1e-8)
  expect_gte(found$ci_high, welch[2L] - 1e-8)
})

test_that("pooled moments are those of the pooled rows", {
  data <- people()
  m <- number_moments(data$wage, match(data$sex, c("m", "f")), 2L)
  whole <- number_moments(data$wage, rep(1L, nrow(data)), 1L)
  pooled <- pool_moments(m, 1:2)
  expect_equal(pooled$mean, whole$mean)
  expect_equal(pooled$centred[1:2], whole$centred[1:2])
})

test_that("a ratio is inverted where the reference is the other group", {
  data <- people()
  one <- fs_means(data, "wage", "sex", contrast = "ratio", reference = "m")
  other <- fs_means(wage ~ sex, data, contrast = "ratio", reference = "f")
  expect_equal(one$ci_low, 1 / other$ci_high, tolerance = 1e-6)
  expect_equal(one$pvalue, other$pvalue, tolerance = 1e-6)
})

test_that("medians are those of quantile(), and their limits are around them", {
  data <- people()
  found <- fs_means(data, "wage", "sex", statistic = "median", reference = "m")
  medians <- tapply(data$wage, data$sex, stats::median)
  expect_equal(found$rate, medians[["f"]])
  expect_equal(found$estimate, medians[["f"]] - medians[["m"]])
  expect_true(found$ci_low < found$estimate && found$estimate < found$ci_high)
})

test_that("errors of predictions are means of errors", {
  data <- people()
  data$predicted <- 1.1 * data$wage
  found <- fs_prediction_errors(data, "wage", "predicted", "sex", reference = "m")
  error <- tapply(0.1 * data$wage, data$sex, mean)
  expect_equal(found$estimate, error[["f"]] - error[["m"]])
})

test_that("small groups are refused, and what cannot be used is named", {
  expect_equal(fs_means(people(c(120, 19)), "wage", "sex")$verdict, "insufficient evidence")
  expect_error(fs_means(people(), "wage", "sex", statistic = "mode"), "statistic")
  expect_error(fs_means(people(), "wages", "sex"), "wages")
})

test_that("a gap splits into what circumstances explain and the rest", {
  set.seed(1)
  d <- data.frame(sex = rep(c("f", "m"), c(150, 250)), branch = sample(c("a", "b"), 400, TRUE))
  d$years <- stats::rgamma(400, 4, ifelse(d$sex == "f", 0.5, 0.3))
  d$wage <- 15 + d$years - (d$sex == "f") + stats::rnorm(400)
  found <- fs_decompose(d, "wage", "sex", c("years", "branch"))
  expect_equal(found$metric, c("gap", "explained", "rest"))
  expect_equal(found$estimate[1L], found$estimate[2L] + found$estimate[3L])
  expect_equal(found$estimate[1L], mean(d$wage[d$sex == "f"]) - mean(d$wage[d$sex == "m"]))
  expect_equal(found$std_error[1L], stats::t.test(wage ~ sex, d)$stderr)
  men <- stats::lm(wage ~ years + branch, d[d$sex == "m", ])
  at_women <- mean(stats::predict(men, d[d$sex == "f", ]))
  expect_equal(found$rate_reference[3L], at_women)
  # 0/1: the g-formula by a logistic regression
  d$high <- stats::rbinom(400, 1, stats::plogis(d$years / 10 - 1))
  found <- fs_decompose(d, "high", "sex", "years", margin = 0.1)
  men <- stats::glm(high ~ years, stats::binomial(), d[d$sex == "m", ], epsilon = 1e-14)
  at_women <- mean(stats::predict(men, d[d$sex == "f", ], type = "response"))
  expect_equal(found$rate_reference[3L], at_women, tolerance = 1e-8)
  expect_error(fs_decompose(d, "wage", "sex", "age"), "`circumstances`: got")
  expect_error(fs_decompose(d, "wage", "sex", "years", regression = "logistic"), "`y`")
})

test_that("standardised differences and R squared are what they say", {
  set.seed(3)
  d <- data.frame(g = rep(c("a", "b"), c(200, 80)), y = stats::rlnorm(280, 3, 0.5))
  d$f <- 0.7 * d$y + stats::rnorm(280, 5, 3)
  parts <- split(d, d$g)
  v <- function(x) mean((x - mean(x))^2)
  found <- fs_means(y ~ g, d, contrast = "standardised_difference", n_resamples = 199)
  expected <- (mean(parts$b$y) - mean(parts$a$y)) / sqrt((v(parts$a$y) + v(parts$b$y)) / 2)
  expect_equal(found$estimate, expected)
  expect_true(found$ci_low < expected && expected < found$ci_high)
  r2 <- function(x) 1 - sum((x$y - x$f)^2) / sum((x$y - mean(x$y))^2)
  found <- fs_prediction_errors(d, "y", "f", "g", metric = "r_squared", n_resamples = 199)
  expect_equal(c(found$rate, found$rate_reference), c(r2(parts$b), r2(parts$a)))
  again <- fs_prediction_errors(d, "y", "f", "g", metric = "r_squared", n_resamples = 199)
  expect_equal(found$ci_low, again$ci_low)
  expect_error(fs_means(d, "y", "g", 0.5, "standardised_difference"), "`contrast`")
  expect_error(
    fs_prediction_errors(d, "y", "f", "g", metric = "r_squared", contrast = "ratio"),
    "`contrast`"
  )
})

test_that("selection by quantile is the impact ratio at each cut-off", {
  set.seed(4)
  d <- data.frame(g = rep(c("a", "b"), c(200, 80)), y = round(stats::rlnorm(280, 3, 0.5), 1))
  by <- function(...) fs_means(d, "y", "g", statistic = "selection_rate", contrast = "ratio", ...)
  found <- by(quantiles = 0.5)
  cutoff <- stats::quantile(d$y, 0.5, type = 1L, names = FALSE)
  expect_equal(found$cutoff, cutoff)
  d$selected <- as.integer(d$y >= cutoff)
  alone <- fs_disparate_impact(d, "selected", "g")
  expect_equal(found$estimate, alone$estimate)
  expect_equal(c(found$ci_low, found$ci_high), c(alone$ci_low, alone$ci_high))
  below <- by(quantiles = c(0.2, 0.8), larger_is_better = FALSE)
  own <- function(name) mean(d$y[d$g == name] <= below$cutoff[1L])
  expect_equal(c(below$rate[1L], below$rate_reference[1L]), c(own("b"), own("a")))
  expect_error(by(quantiles = 1), "`quantiles`")
  expect_error(fs_means(d, "y", "g", quantiles = 0.5), "`quantiles`")
})
