# Extremes of counterfactual discrimination against closed forms and the likelihood itself.

tails <- function() {
  set.seed(1)
  list(stats::rbeta(2000, 2, 8) / 2, stats::rbeta(5000, 2, 8) * 0.3)
}

test_that("levels and their difference are those of the fitted laws", {
  x <- tails()
  found <- fs_ecd(x[[1L]], x[[2L]], interactions = 1000, threshold = 50)
  t <- found$tails
  level <- t$threshold + t$scale * ((1000 * t$rate)^t$shape - 1) / t$shape
  expect_equal(t$return_level, level, tolerance = 1e-9)
  expect_equal(found$estimate, level[1L] - level[2L], tolerance = 1e-7)
  expect_equal(t$exceedances, c(50, 50))
  excess <- x[[1L]][x[[1L]] > t$threshold[1L]] - t$threshold[1L]
  best <- fairstats:::gpd_nll(excess, t$scale[1L], t$shape[1L])
  for (step in c(0.99, 1.01)) {
    expect_gt(fairstats:::gpd_nll(excess, t$scale[1L] * step, t$shape[1L]), best)
    expect_gt(fairstats:::gpd_nll(excess, t$scale[1L], t$shape[1L] * step), best)
  }
  expect_equal(found$std_error, sqrt(sum(t$std_error^2)))
  expect_true(found$ci_low < found$bound_low && found$bound_high < found$ci_high)
  expect_equal(found$verdict, if (found$bound_low > 0.05) "violated" else found$verdict)
  expect_output(print(found), "1,000 interactions")
})

test_that("averages are means with t-tests", {
  x <- tails()
  a <- fs_ecd(x[[1L]], x[[2L]])$averages
  expect_equal(a$estimate[1L], mean(x[[1L]]))
  expect_equal(a$std_error[1L], sd(x[[1L]]) / sqrt(2000))
  welch <- stats::t.test(x[[1L]], x[[2L]])
  expect_equal(abs(a$statistic[3L]), abs(unname(welch$statistic)), tolerance = 1e-10)
  expect_equal(a$pvalue[3L], welch$p.value, tolerance = 1e-10)
  expect_equal(c(a$ci_low[3L], a$ci_high[3L]), as.numeric(welch$conf.int), tolerance = 1e-10)
  q <- quantile(x[[1L]], 0.95, names = FALSE)
  expect_equal(a$estimate[4L], q + mean(pmax(x[[1L]] - q, 0)) / 0.05)
})

test_that("equal groups differ by nothing, and what has no tail is refused", {
  x <- tails()[[1L]]
  same <- fs_ecd(x, x)
  expect_equal(same$estimate, 0)
  expect_lt(same$statistic, 1e-6)
  expect_gt(same$pvalue, 0.99)
  expect_error(fs_ecd(x, x + 5), "`privileged`")
  expect_error(fs_ecd(x, x, interactions = 1), "`interactions`")
  expect_error(fs_ecd(x, numeric()), "`privileged`")
})

test_that("what has no tail has an order statistic, an interval and no test", {
  x <- tails()[[1L]]
  none <- function(code, why) {
    expect_warning(found <- code, why)
    expect_true(is.nan(found$pvalue) && is.nan(found$std_error))
    expect_equal(found$test, "none")
    expect_true(found$ci_low < found$estimate && found$estimate < found$ci_high)
    found
  }
  expect_warning(few <- fs_ecd(x[1:8], x), "fewer than 10")
  expect_true(is.nan(few$estimate) && is.nan(few$pvalue))
  expect_equal(few$verdict, "insufficient evidence")
  tied <- none(fs_ecd(x, round(x, 1)), "privileged: .*ties")
  expect_true(is.nan(tied$tails$shape[2L]) && is.nan(tied$tails$shape_std_error[2L]))
  expect_equal(tied$tails$return_level[2L], quantile(round(x, 1), 0.999, names = FALSE))
  none(fs_ecd(x, rep(0.1, 300)), "values equal")
  expect_output(print(tied), "no test")
})

test_that("rounded values have the likelihood of their cells", {
  x <- round(tails()[[1L]], 2)
  found <- fs_ecd(x, tails()[[2L]], threshold = 50)
  row <- found$tails[1L, ]
  expect_equal(row$degenerate, "")
  # between two cells, below the 51st largest value
  expect_equal(row$threshold, sort(x, decreasing = TRUE)[51L] - 0.005)
  expect_equal(row$exceedances, sum(x > row$threshold))
  above <- x[x > row$threshold]
  survival <- function(value, scale, shape) {
    pmax(0, 1 + shape * (value - row$threshold) / scale)^(-1 / shape)
  }
  fall <- function(scale, shape) {
    -sum(log(survival(above - 0.005, scale, shape) - survival(above + 0.005, scale, shape)))
  }
  best <- fall(row$scale, row$shape)
  for (step in c(0.99, 1.01)) {
    expect_gt(fall(row$scale * step, row$shape), best)
    expect_gt(fall(row$scale, row$shape * step), best)
  }
  expect_true(found$test == "likelihood ratio" && is.finite(found$pvalue))
  expect_equal(tail_grid(c(0.1, 0.2, 0.2, 0.3, 0.3, 0.3, 0.5, 0.5, 0.6, 0.6, 0.6, 0.6)), 0.1)
  expect_equal(tail_grid(rep(c(0.1, 0.2, 0.3, 0.4), 5L)), 0.1)
  expect_equal(tail_grid(rep(c(0.1, 0.2, 0.3), 5L)), 0) # too few cells
  expect_equal(tail_grid(rep(c(0.1, 0.2, 0.3, 0.4, 0.4 + pi / 100), 5L)), 0) # ties, no grid
})

test_that("a grid can be given", {
  x <- round(tails()[[1L]], 2)
  y <- round(tails()[[2L]], 2)
  # it is found, and values as they are have ties
  expect_equal(fs_ecd(x, y, grid = 0.01), fs_ecd(x, y))
  tied <- suppressWarnings(fs_ecd(x, y, grid = 0))
  expect_true(all(grepl("ties", tied$tails$degenerate)))
  # two distinct values have no grid: the order statistic is a width further off where it is given
  few <- c(rep(0, 300), 0.1)
  ends <- function(...) {
    unlist(suppressWarnings(fs_ecd(few, few, ...))$tails[1L, c("ci_low", "ci_high")])
  }
  expect_equal(unname(ends(grid = 0.1)), unname(pmin(ends() + c(-0.1, 0.1), 1)))
  expect_error(fs_ecd(x, y, grid = 0.003), "`grid`")
  expect_error(fs_ecd(x, y, grid = -1), "`grid`")
})

# Differences of logistic scores: their upper end point is reached with many values near it.
logistic_tail <- function(seed, n = 2000) {
  set.seed(seed)
  z <- stats::rnorm(n)
  stats::plogis(z + 1) - stats::plogis(z)
}

test_that("the edge of the Pareto law is tried, and has no standard error", {
  for (seed in 1:10) {
    x <- logistic_tail(seed)
    top <- sort(x, decreasing = TRUE)[1:51]
    excess <- top[1:50] - top[51]
    fit <- fs_fit_gpd(excess, source = "base")
    expect_true(fit$at_boundary && !fit$regular)
    expect_equal(fit$estimate, c(scale = max(excess), shape = -1))
    expect_equal(fit$nll, 50 * log(max(excess)))
    expect_true(all(is.nan(fit$std_error)))
    expect_true(is.nan(tail_level(excess, 2000, top[51], 1000, 0.95)$low))
    expect_true(all(is.nan(unlist(tail_shape(excess, 0.95)))))
    # no inner point of a grid is higher
    scale <- max(excess) * c(1.0001, 1.01, 1.1, 1.5, 3, 10)
    inner <- outer(
      scale,
      seq(-0.999, 1, length.out = 60),
      Vectorize(function(s, k) gpd_nll(excess, s, k))
    )
    expect_gt(min(inner[is.finite(inner)]), fit$nll)
  }
  set.seed(1)
  found <- fs_ecd(logistic_tail(1), logistic_tail(2) / 2)
  expect_equal(found$test, "draws of a power tail")
  expect_true(all(found$tails$degenerate == "") && is.finite(found$pvalue))
})

test_that("tails with a near end point have the draws of Python's power tail", {
  # recorded from fairstats.ecd(calibrated=False), mean over six seeds: errors of 2,000 draws are 3%
  # of the width
  golden <- function(n) sort((seq_len(n) * 0.6180339887498949) %% 1)
  set.seed(1)
  found <- fs_ecd(0.5 * (1 - (1 - golden(900))^1.4), 0.3 * golden(1500))
  ends <- unlist(found[c("estimate", "ci_low", "ci_high", "bound_low", "bound_high")])
  width <- 0.20081581 - 0.19944485
  expect_lt(
    max(abs(ends - c(0.20026705, 0.19944485, 0.20081581, 0.19944485, 0.20081581))),
    0.15 * width
  )
  expect_equal(found$verdict, "violated")
  set.seed(1)
  expect_identical(
    fs_ecd(0.5 * (1 - (1 - golden(900))^1.4), 0.3 * golden(1500))$ci_low,
    found$ci_low
  )
})

test_that("decisions are no rounded scores", {
  set.seed(1)
  decided <- function(n, p) sample(c(-1, 0, 1), n, TRUE, c(p, 1 - 2 * p, p))
  found <- suppressWarnings(fs_ecd(decided(800, 0.05), decided(5000, 0.05)))
  # the largest of 1,000 is 1 in both groups
  expect_equal(unlist(found[c("estimate", "ci_low", "ci_high")], use.names = FALSE), c(0, 0, 0))
  expect_equal(tail_grid(c(0, 0.2, 0.4, 0.4, 0.6, 0.6)), 0.2)
  expect_equal(tail_grid(c(0, 0.25, 0.5, 0.5, 0.75, 0.75)), 0)
})

test_that("horizons of near end points are those of Python's power tail", {
  # recorded from fairstats.ecd: the first period whose interval passes 1; each side has its own
  # 2,000 draws
  golden <- function(n) sort((seq_len(n) * 0.6180339887498949) %% 1)
  recorded <- data.frame(
    power = c(0.6, 0.8, 1, 1.4),
    n = c(900, 900, 1500, 900),
    horizon = c(496, 341, 326, 150)
  )
  set.seed(1)
  for (i in seq_len(nrow(recorded))) {
    one <- recorded[i, ]
    tail <- group_tail(1 - (1 - golden(one$n))^one$power, min(50, one$n / 20), 1000, 0.95)
    found <- horizon_of(tail, 0.95)
    expect_lt(abs(found[[1L]] - one$horizon), 5 * found[[2L]])
    expect_lt(found[[2L]], one$horizon)
  }
  # far below 1 nothing ends it
  tail <- group_tail(0.5 * (1 - (1 - golden(900))^0.8), 45, 1000, 0.95)
  expect_equal(horizon_of(tail, 0.95)[[1L]], Inf)
})

test_that("levels of power tails and of signed roots cover the true level", {
  # uniform values: the level of m is 1 - 1 / m; regular ones: the root's quantiles are the
  # profile's ends
  set.seed(4)
  hits <- replicate(60, {
    x <- sort(stats::runif(1000), decreasing = TRUE)[1:50]
    ends <- stats::quantile(power_tail(x, 1000, 300L)(200), c(0.05, 0.95), names = FALSE)
    ends[1L] < 1 - 1 / 200 && 1 - 1 / 200 < ends[2L]
  })
  expect_gt(mean(hits), 0.9 - 3 * sqrt(0.9 * 0.1 / 60))
  x <- tails()[[1L]]
  top <- sort(x, decreasing = TRUE)[1:51]
  excess <- top[1:50] - top[51L]
  group <- level_fall(excess, 2000, top[51L], 1000, "binomial")
  root <- function(r) {
    sqrt(max(
      2 * (minimise(function(p) group$at(r, p), group$start, c(0.1, 0.1))$value - group$least),
      0
    ))
  }
  drawn <- stats::quantile(
    root_draws(excess, 2000, top[51L], 1000, "binomial"),
    c(0.025, 0.5, 0.975),
    names = FALSE
  )
  # its standardised limits are the quantiles of the draws: 2,000 have errors of .06 (.03 in the
  # middle)
  limits <- tail_level(excess, 2000, top[51L], 1000, 0.95, "binomial")
  expect_lt(
    max(abs(vapply(drawn[c(1L, 3L)], root, 0) - vapply(c(limits$low, limits$high), root, 0))),
    0.2
  )
  # limits of the level itself are standardised: both lie higher
  found <- tail_level(excess, 2000, top[51L], 1000, 0.95, "binomial")
  expect_lt(root(found$low), 1.96)
  expect_gt(root(found$high), 1.96)
})

test_that("a threshold that m interactions do not reach is lowered", {
  x <- tails()[[2L]]
  found <- suppressWarnings(fs_ecd(x, x, interactions = 50))
  expect_equal(found$tails$exceedances, rep(ceiling(1.2 * 5000 / 50), 2L))
})

test_that("the root is standardised by default, and half and twice the values stand beside the answer", {
  x <- tails()
  found <- fs_ecd(x[[1L]], x[[2L]])
  plain <- fs_ecd(x[[1L]], x[[2L]], calibrated = FALSE)
  # the same likelihoods; a standardised root gives other limits
  expect_equal(c(found$estimate, found$statistic), c(plain$estimate, plain$statistic))
  expect_gt(abs(found$ci_high - plain$ci_high), 1e-4)
  beside <- found$sensitivity
  expect_equal(beside$times, c(0.5, 2))
  expect_equal(beside$exceedances_first, floor(found$tails$exceedances[1L] * c(0.5, 2)))
  # twice: the answer with thresholds that have so many values above them
  more <- fairstats:::contrast_tails(
    fairstats:::group_tail(x[[1L]], beside$exceedances_first[2L], 1000, 0.95),
    fairstats:::group_tail(x[[2L]], beside$exceedances_second[2L], 1000, 0.95),
    1000,
    0.95,
    0.05
  )
  expect_equal(
    c(beside$estimate[2L], beside$ci_low[2L], beside$ci_high[2L]),
    c(more$estimate, more$ci_low, more$ci_high)
  )
  expect_equal(nrow(fs_ecd(x[[1L]], x[[2L]], sensitivity = numeric())$sensitivity), 0L)
  expect_error(fs_ecd(x[[1L]], x[[2L]], sensitivity = 0), "`sensitivity`")
  expect_error(fs_ecd(x[[1L]], x[[2L]], calibrated = 1), "`calibrated`")
})
