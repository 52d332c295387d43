# Set distances against stats::dist, which computes all pairs in C, and sums written out.

sets <- function(n, m, d, seed) {
  set.seed(seed)
  list(matrix(stats::rnorm(n * d), n), matrix(stats::rnorm(m * d), m))
}

pairs_of <- function(a, b) {
  as.matrix(stats::dist(rbind(a, b)))[seq_len(nrow(a)), nrow(a) + seq_len(nrow(b)), drop = FALSE]
}

test_that("the distance is the larger of both maxima of minima", {
  for (d in c(1, 3, 20)) {
    x <- sets(40, 25, d, d)
    pairs <- pairs_of(x[[1]], x[[2]])
    found <- fs_set_distance(x[[1]], x[[2]])
    expect_equal(found$a_to_b, max(apply(pairs, 1, min)))
    expect_equal(found$b_to_a, max(apply(pairs, 2, min)))
    expect_equal(found$value, max(found$a_to_b, found$b_to_a))
    expect_equal(pairs[found$row_a_to_b, found$nearest_a_to_b], found$a_to_b)
    expect_equal(pairs[found$nearest_b_to_a, found$row_b_to_a], found$b_to_a)
  }
  expect_equal(fs_set_distance(matrix(c(0, 3), 1), matrix(c(4, 0), 1))$value, 5)
})

test_that("means and quantiles are those of the minima", {
  x <- sets(30, 20, 4, 7)
  minima <- apply(pairs_of(x[[1]], x[[2]]), 1, min)
  back <- apply(pairs_of(x[[1]], x[[2]]), 2, min)
  expect_equal(fs_set_distance(x[[1]], x[[2]], "mean")$value, max(mean(minima), mean(back)))
  for (q in c(0.1, 0.5, 1)) {
    expect_equal(
      fs_set_distance(x[[1]], x[[2]], q)$value,
      max(stats::quantile(minima, q, type = 1), stats::quantile(back, q, type = 1))
    )
  }
})

test_that("large offsets do not matter", {
  x <- sets(30, 20, 3, 8)
  expect_equal(
    fs_set_distance(x[[1]] + 1e8, x[[2]] + 1e8)$value,
    fs_set_distance(x[[1]], x[[2]])$value,
    tolerance = 1e-7
  )
})

test_that("a projection never gives less, and all neighbours give the distance", {
  x <- sets(30, 20, 5, 9)
  exact <- fs_set_distance(x[[1]], x[[2]])$value
  w <- c(0.1, -0.2, 0.3, 0.3, -0.1)
  for (m2 in c(1, 3, 10)) {
    expect_gte(fs_approx_set_distance(x[[1]], x[[2]], w, m2), exact - 1e-12)
  }
  expect_equal(fs_approx_set_distance(x[[1]], x[[2]], w, 30), exact)
})

test_that("HFM follows its definition, with 0/0 = 0 and x/0 infinite", {
  x <- matrix(c(0, 0.2, 0.6, 1))
  group <- c(TRUE, FALSE, TRUE, FALSE)
  found <- hfm(x, c(0, 0, 1, 1), c(0, 1, 1, 1), group)
  expect_equal(found$d, 0.4)
  expect_equal(found$d_f, sqrt(1.04))
  expect_equal(found$hfm, sqrt(1.04) / 0.4 - 1)
  same <- matrix(c(0, 1, 0, 1))
  halves <- c(TRUE, TRUE, FALSE, FALSE)
  expect_equal(hfm(same, c(0, 1, 0, 1), c(1, 0, 1, 0), halves)$hfm, 0)
  expect_equal(hfm(same, c(0, 1, 0, 1), c(0, 1, 1, 1), halves)$hfm, Inf)
  constant <- cbind(x, 7)
  expect_equal(hfm(constant, c(0, 0, 1, 1), c(0, 1, 1, 1), group)$d, 0.4)
})

test_that("what cannot be used is refused", {
  expect_error(fs_set_distance(matrix(NA_real_, 1, 1), matrix(1, 1, 1)), "finite")
  expect_error(fs_set_distance(matrix(1, 1, 2), matrix(1, 1, 1)), "same columns")
  expect_error(fs_set_distance(matrix(0, 0, 1), matrix(1, 1, 1)), "empty")
  expect_error(fs_set_distance(1:3, matrix(1, 1, 1)), "matrices")
  expect_error(fs_set_distance(matrix(1, 1, 1), matrix(1, 1, 1), "median"), "statistic")
  expect_error(hfm(matrix(1, 2, 1), 1, c(1, 0), c(TRUE, FALSE)), "one entry per row")
})
