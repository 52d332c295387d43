# MADD against sums written out, exact enumeration and the numbers of the paper.

densities <- function() {
  list(
    function(x) stats::dgamma(11 * x, 4) * 11 / stats::pgamma(11, 4),
    function(x) stats::dnorm(10 * x, 5.5) * 10 / diff(stats::pnorm(c(0, 10), 5.5))
  )
}

simulated <- function(n, seed) {
  set.seed(seed)
  list(
    stats::qgamma(stats::runif(n) * stats::pgamma(11, 4), 4) / 11,
    stats::qnorm(stats::pnorm(0, 5.5) + stats::runif(n) * diff(stats::pnorm(c(0, 10), 5.5)), 5.5) /
      10
  )
}

test_that("MADD is the sum of absolute differences of shares", {
  expect_equal(madd(c(0.1, 0.2, 0.3), c(0.4, 0.6, 0.9), 2), 4 / 3)
  expect_equal(madd_contributions(c(0, 0.5), c(0.5, 1), 2), c(0.5, -0.5))
  expect_equal(madd(c(0.2, 0.4), c(0.4, 0.2), 50), 0)
  expect_equal(madd(0.2, 0.7, 10), 2)
})

test_that("bins are closed on the left, and the last one on both sides", {
  edges <- (0:10) / 10
  expect_equal(bin_shares(edges, 10) * 11, c(rep(1, 9), 2))
  for (m in c(93, 99, 105)) {
    expect_equal(sum(bin_shares((0:m) / m, m) > 0), m)
  }
})

test_that("weights count as rows do", {
  expect_equal(
    madd(c(0.1, 0.6), c(0.3, 0.9), 4, c(3, 1), c(1, 2)),
    madd(c(0.1, 0.1, 0.1, 0.6), c(0.3, 0.9, 0.9), 4)
  )
})

test_that("the curve is MADD at every number of bins", {
  x <- simulated(200, 1)
  curve <- fs_madd_curve(x[[1]], x[[2]], 120)
  expect_equal(curve$madd[93], madd(x[[1]], x[[2]], 93))
  expect_equal(curve$madd[1], 0)
  expect_equal(curve$bandwidth * curve$n_bins, rep(1, 120))
})

test_that("h_sup is that of the paper", {
  expect_equal(round(madd_bandwidth_order(10000, 10000), 4), 0.0737)
})

test_that("the stable stretch of the paper's simulation surrounds the true distance", {
  f <- densities()
  truth <- stats::integrate(
    function(x) abs(f[[1]](x) - f[[2]](x)),
    0,
    1,
    rel.tol = 1e-8,
    subdivisions = 1000
  )$value
  expect_equal(truth, 1.1953, tolerance = 1e-4)
  x <- simulated(10000, 3)
  curve <- fs_madd_curve(x[[1]], x[[2]], 400)
  stable <- fs_stable_bandwidth(curve$bandwidth, curve$madd, 10000, 10000)
  expect_lt(abs(stable$mean - truth), 0.04)
  expect_gte(stable$low, 0.0025)
  expect_lte(stable$high, 0.055)
})

test_that("Algorithm 1 is the search over all eligible stretches", {
  x <- simulated(150, 2)
  curve <- fs_madd_curve(x[[1]], x[[2]], 70)
  h <- rev(curve$bandwidth)
  value <- rev(curve$madd)
  least <- Inf
  for (i in 1:70) {
    for (j in i:70) {
      wide <- j >= max(which(h <= h[i] + 0.45 * madd_bandwidth_order(150, 150)))
      starts <- h[i] <= 1 - 0.45 * madd_bandwidth_order(150, 150)
      if (wide && starts && j >= i + 20) {
        spread <- sqrt(mean((value[i:j] - mean(value[i:j]))^2))
        if (spread < least) {
          least <- spread
          best <- c(h[i], h[j])
        }
      }
    }
  }
  stable <- fs_stable_bandwidth(curve$bandwidth, curve$madd, 150, 150, min_points = 20)
  expect_equal(c(stable$low, stable$high), best)
  expect_equal(stable$std, least)
  expect_error(
    fs_stable_bandwidth(curve$bandwidth, curve$madd, 150, 150, min_points = 70),
    "eligible"
  )
})

test_that("the null mean is the mean over all splits", {
  splits <- utils::combn(8, 3)
  bin <- c(1, 1, 1, 2, 2, 3, 3, 3)
  all <- apply(splits, 2, function(rows) {
    sum(abs(tabulate(bin[rows], 3) / 3 - tabulate(bin[-rows], 3) / 5))
  })
  expect_equal(fs_madd_null_mean(c(3, 2, 3), 3, 5), mean(all))
  expect_equal(fs_madd_null_mean(c(rep(1, 100), rep(0, 100)), 50, 50), 2)
})

test_that("the map keeps order, brings groups together, and changes nothing at 0", {
  x <- simulated(500, 4)
  score <- c(x[[1]], x[[2]])
  group <- rep(c("a", "b"), each = 500)
  expect_equal(fs_madd_map(score, group, 0), score, tolerance = 1e-12)
  before <- madd(x[[1]], x[[2]], 20)
  for (lambda in c(0.3, 0.7, 1)) {
    mapped <- fs_madd_map(score, group, lambda)
    expect_equal(order(mapped[group == "a"]), order(score[group == "a"]))
    expect_lt(
      abs(madd(mapped[group == "a"], mapped[group == "b"], 20) - (1 - lambda) * before),
      0.03
    )
  }
  new <- fs_madd_map(score, group, 1, c(0, 0.001, 0.5, 1), rep("a", 4))
  expect_true(all(diff(new) > 0) && all(new >= 0 & new <= 1))
})

test_that("bad input is refused", {
  expect_error(madd(c(0.1, 1.2), 0.5, 10), "score0")
  expect_error(madd(c(0.1, NA), 0.5, 10), "missing")
  expect_error(madd(0.1, numeric(0), 10), "`score1`: got no values")
  expect_error(madd(0.1, 0.5, 0), "whole number")
  expect_error(fs_madd_map(c(0.1, 0.2), c("a", "b"), 2), "lambda")
  expect_error(fs_madd_map(c(0.1, 0.2), c("a", "b"), 1, 0.3, "c"), "group c")
})

test_that("numeric outcomes are ranked and classes are bins", {
  expect_equal(fs_madd_scale(c(30, 10, 10, NA)), c(2.5, 1, 1, NA) / 3)
  group <- rep(c("a", "b"), c(40, 60))
  classes <- rep(c("x", "y", "z", "x", "y", "z"), c(10, 20, 10, 30, 20, 10))
  placed <- fs_madd_scale(classes, "class")
  shares <- prop.table(table(group, classes), 1L)
  expect_equal(
    madd(placed[group == "a"], placed[group == "b"], 3),
    sum(abs(shares["a", ] - shares["b", ]))
  )
  renamed <- fs_madd_scale(c(x = "q", y = "m", z = "r")[classes], "class")
  expect_equal(
    madd(renamed[group == "a"], renamed[group == "b"], 3),
    madd(placed[group == "a"], placed[group == "b"], 3)
  )
  expect_error(fs_madd_scale(c("a", "a"), "class"), "two classes")
  expect_error(fs_madd_scale(c("a", "b")), "numbers")
})

test_that("columns of scores are judged by themselves, and the largest by whole rows", {
  set.seed(3)
  group <- rep(c("a", "b"), c(60, 90))
  one <- c(rbeta(60, 2, 4), rbeta(90, 4, 2))
  scores <- cbind(one = one, other = 1 - one, alike = rbeta(150, 2, 2))
  found <- fs_madd_columns(scores, group, resamples = 199)
  apart <- vapply(
    c("one", "other", "alike"),
    function(k) {
      x <- scores[, k]
      edges <- pooled_edges(x[group == "a"], x[group == "b"])
      shares <- prop.table(table(group, findInterval(x, edges)), 1L)
      sum(abs(shares["a", ] - shares["b", ]))
    },
    0
  )
  expect_equal(found$columns$madd, unname(apart))
  expect_equal(found$largest$estimate, max(apart))
  expect_equal(found$largest$pvalue, 1 / 200)
  # two columns that mirror each other say one thing: the second costs nothing
  alike <- data.frame(p = runif(150), q = 0)
  alike$q <- 1 - alike$p
  both <- fs_madd_columns(alike, group, resamples = 199)
  expect_lte(abs(diff(both$columns$madd)), 2 / 60 + 2 / 90)
  expect_error(fs_madd_columns(one, group), "two columns")
  expect_error(fs_madd_columns(scores, rep("a", 150)), "two groups")
})

test_that("MADDs of many tables at once are those of each one's quantile bins", {
  set.seed(3)
  tables <- stats::r2dtable(40, c(60, 25), c(12, 3, 0, 9, 20, 1, 15, 25))
  c0 <- vapply(tables, function(x) x[1L, ], numeric(8L))
  c1 <- vapply(tables, function(x) x[2L, ], numeric(8L))
  for (m in c(1, 2, 3, 5, 8, 20)) {
    one_by_one <- vapply(
      tables,
      function(x) {
        below <- cumsum(colSums(x))
        many <- sum(colSums(x) > 0) > m
        at <- if (many) cells_that_end_bins(below, m) else seq_along(below)
        counts_madd(diff(c(0, cumsum(x[1L, ])[at])), diff(c(0, cumsum(x[2L, ])[at])))
      },
      0
    )
    expect_equal(madd_of_quantiles(c0, c1, m), one_by_one, tolerance = 1e-12)
  }
})

test_that("heights of many curves at once are those of each curve", {
  set.seed(4)
  negatives <- stats::rmultinom(30, 50, c(5, 1, 3, 0.1, 2, 4))
  positives <- stats::rmultinom(30, 30, c(1, 2, 3, 0.1, 5, 2))
  grid <- (seq_len(500) - 0.5) / 500
  one_by_one <- vapply(
    1:30,
    function(k) roc_at(roc_points(negatives[, k], positives[, k]), grid),
    grid
  )
  expect_equal(roc_heights(negatives, positives, 500), one_by_one, tolerance = 1e-9)
})
