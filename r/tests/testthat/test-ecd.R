# Extremes of counterfactual discrimination against closed forms and the likelihood itself.

tails <- function() {
  set.seed(1)
  list(stats::rbeta(2000, 2, 8) / 2, stats::rbeta(5000, 2, 8) * 0.3)
}

test_that("levels and their difference are those of the fitted laws", {
  x <- tails()
  found <- fs_ecd(x[[1L]], x[[2L]], interactions = 1000)
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

test_that("averages are means with z-tests", {
  x <- tails()
  a <- fs_ecd(x[[1L]], x[[2L]])$averages
  expect_equal(a$estimate[1L], mean(x[[1L]]))
  expect_equal(a$std_error[1L], sd(x[[1L]]) / sqrt(2000))
  welch <- stats::t.test(x[[1L]], x[[2L]])
  expect_equal(abs(a$statistic[3L]), abs(unname(welch$statistic)), tolerance = 1e-10)
  q <- quantile(x[[1L]], 0.95, names = FALSE)
  expect_equal(a$estimate[4L], q + mean(pmax(x[[1L]] - q, 0)) / 0.05)
})

test_that("equal groups differ by nothing, and what has no tail is refused", {
  x <- tails()[[1L]]
  same <- fs_ecd(x, x)
  expect_equal(same$estimate, 0)
  expect_lt(same$statistic, 1e-6)
  expect_gt(same$pvalue, 0.99)
  expect_error(fs_ecd(x[1:20], x), "`unprivileged`")
  expect_error(fs_ecd(x, round(x, 2)), "`privileged`")
  expect_error(fs_ecd(x, x + 5), "`privileged`")
  expect_error(fs_ecd(x, x, interactions = 1), "`interactions`")
})
