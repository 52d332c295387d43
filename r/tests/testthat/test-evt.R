# The packages that are here; tests of what both must do run for each.
sources <- Filter(function(p) requireNamespace(p, quietly = TRUE), c("extRemes", "evd"))

gpd_draws <- function(n, shape, seed) {
  set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")
  (runif(n)^-shape - 1) / shape
}

test_that("no point nearby has a higher likelihood", {
  if (!length(sources)) {
    skip("neither extRemes nor evd is installed")
  }
  for (source in sources) {
    for (shape in c(-0.3, 0.1, 0.4)) {
      y <- 0.02 * gpd_draws(100, shape, 3)
      fit <- fs_fit_gpd(y, source = source)
      par <- fit$estimate
      for (i in 1:2) {
        for (step in c(-0.01, 0.01)) {
          near <- par
          near[i] <- near[i] + step * fit$std_error[i]
          expect_gte(fairstats:::gpd_nll(y, near[1L], near[2L]), fit$nll)
        }
      }
      expect_true(fit$regular)
      expect_true(all(fit$std_error > 0))
    }
  }
})

test_that("the fit moves with the units", {
  if (!length(sources)) {
    skip("neither extRemes nor evd is installed")
  }
  for (source in sources) {
    y <- gpd_draws(60, 0.2, 4)
    one <- fs_fit_gpd(y, source = source)
    tiny <- fs_fit_gpd(y * 1e-9, source = source)
    expect_equal(tiny$estimate, one$estimate * c(1e-9, 1), tolerance = 1e-6)
    expect_equal(tiny$std_error, one$std_error * c(1e-9, 1), tolerance = 1e-4)
    x <- 3 + 1.5 * log(y + 0.1)
    one <- fs_fit_gev(x, source = source)
    huge <- fs_fit_gev(1e9 * x + 5e9, source = source)
    expect_equal(huge$estimate[["shape"]], one$estimate[["shape"]], tolerance = 1e-6)
    expect_equal(huge$estimate[["scale"]], 1e9 * one$estimate[["scale"]], tolerance = 1e-6)
  }
})

test_that("both packages agree", {
  for (package in c("extRemes", "evd")) {
    skip_if_not_installed(package)
  }
  y <- gpd_draws(200, 0.15, 5)
  one <- fs_fit_gpd(y)
  other <- fs_fit_gpd(y, source = "evd")
  expect_equal(one$nll, other$nll, tolerance = 1e-10)
  expect_lt(max(abs((one$estimate - other$estimate) / one$std_error)), 1e-4)
})

# Minus log likelihood of a point process with n / block_size blocks, as it is written.
point_process_nll <- function(excess, n, threshold, block_size, location, scale, shape) {
  inside <- function(x) 1 + shape * (x - location) / scale
  if (scale <= 0 || any(inside(threshold + excess) <= 0) || inside(threshold) <= 0) {
    return(Inf)
  }
  depth <- function(x) log(inside(x)) / shape
  length(excess) *
    log(scale) +
    sum((1 + shape) * depth(threshold + excess)) +
    n / block_size * exp(-depth(threshold))
}

test_that("the point process is the transformed Pareto law, and the maximum of its likelihood", {
  if (!length(sources)) {
    skip("neither extRemes nor evd is installed")
  }
  for (source in sources) {
    y <- gpd_draws(80, 0.2, 6)
    fit <- fs_fit_point_process(y, 4000, threshold = 2, block_size = 400, source = source)
    nll <- function(p) point_process_nll(y, 4000, 2, 400, p[[1L]], p[[2L]], p[[3L]])
    expect_equal(nll(fit$estimate), fit$nll)
    numeric <- solve(optimHess(fit$estimate, nll))
    expect_equal(sqrt(diag(numeric)), fit$std_error, tolerance = 1e-2, ignore_attr = TRUE)
    better <- optim(fit$estimate, nll, control = list(reltol = 1e-14, maxit = 5000))
    expect_gte(better$value, fit$nll - 1e-7)
  }
})

test_that("below shape -0.5 there is no standard error", {
  if (!length(sources)) {
    skip("neither extRemes nor evd is installed")
  }
  for (source in sources) {
    fit <- fs_fit_gpd(gpd_draws(60, -0.9, 8), source = source)
    expect_false(fit$regular)
    expect_true(all(is.na(fit$std_error)))
    expect_match(fit$notes, "-0.5")
  }
})

test_that("a likelihood without a maximum ends at its edge, and says so, or is an error", {
  for (source in sources) {
    y <- c(seq(0.9, 1, length.out = 30), seq(0.99, 1, length.out = 30))
    fit <- tryCatch(fs_fit_gpd(y, source = source), error = conditionMessage)
    if (!is.list(fit)) {
      expect_match(fit, "shape > -1")
    } else {
      expect_gte(fit$estimate[["shape"]], -1)
      expect_identical(fit$at_boundary, fit$estimate[["shape"]] == -1)
      expect_true(all(is.na(fit$std_error)))
    }
  }
  succeed()
})

test_that("data that say nothing are refused", {
  skip_if_not_installed("evd")
  expect_error(fs_fit_gpd(rep(1, 50), source = "evd"), "equal")
  expect_error(fs_fit_gpd(1:9, source = "evd"), "at least 10")
  expect_error(fs_fit_gpd(c(1:20, NA), source = "evd"), "NA")
  expect_error(fs_fit_gpd(c(1:20, -1), source = "evd"), "above 0")
  expect_error(fs_fit_gpd(1:20, "lmoments", "evd"), "lmoments")
  expect_error(
    fs_fit_point_process(1:20, 10, 0, 5, source = "evd"),
    "`n`: got 10; allowed: a finite number of at least 20"
  )
})

test_that("a missing package is named", {
  expect_error(fairstats:::need_package("nosuchpackage"), "install.packages")
})

test_that("a package starts where it is told to, and goes on where that is no maximum", {
  if (!length(sources)) {
    skip("neither extRemes nor evd is installed")
  }
  for (source in sources) {
    y <- gpd_draws(200, 0.2, 3)
    near <- fs_fit_gpd(y, source = source, start = fs_fit_gpd(y, source = "base")$estimate)
    far <- fs_fit_gpd(y, source = source, start = c(scale = 9 * max(y), shape = -0.9))
    alone <- fs_fit_gpd(y, source = source)
    expect_equal(near$nll, alone$nll, tolerance = 1e-11)
    expect_equal(far$nll, alone$nll, tolerance = 1e-9)
    expect_equal(near$std_error, alone$std_error, tolerance = 1e-4)
    expect_error(fs_fit_gpd(y, source = source, start = 1), "start")
  }
})

test_that("a threshold is chosen by the rule, and beyond it that is said", {
  # 2000^(2/3) / 5 = 31.7, and 8000^(2/3) / 5 = 80 exactly
  expect_identical(most_exceedances(c(2000, 8000, 20000)), c(31, 80, 147))
  set.seed(1)
  x <- rexp(2000)
  found <- fs_choose_threshold(x, "k_largest")
  expect_identical(sum(x > found$threshold), 31L)
  expect_length(found$notes, 0L)
  expect_match(
    fs_choose_threshold(x, "k_largest", k = 100)$notes,
    "^Insufficient evidence: 100 of 2000"
  )
  tested <- fs_choose_threshold(x, n_thresholds = 2, n_resamples = 19)
  expect_identical(tested$candidates$n, c(31, 20))
  expect_identical(tested$candidates$forward_stop[1L], -log1p(-tested$candidates$pvalue[1L]))
  # 200 values of which none is in the tail: far from a Pareto law
  lump <- c(x, 20 + stats::rnorm(30, 0, 1e-3), 25 + stats::rnorm(30, 0, 1e-3))
  expect_warning(
    rejected <- fs_choose_threshold(lump, thresholds = c(5, 19), n_resamples = 99),
    "every candidate"
  )
  expect_identical(rejected$threshold, 19)
})
