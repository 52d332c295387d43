ratio_of <- function(..., method = "log") rate_interval(..., contrast = "ratio", method = method)
difference_of <- function(..., method = "delta") {
  rate_interval(..., contrast = "difference", method = method)
}

# Every table with at most 8 cases per group: the statistic at both ends is the quantile.
test_that("score intervals end where the test rejects", {
  z <- qnorm(0.975)
  for (n0 in c(1, 4, 8)) {
    for (n1 in c(2, 7)) {
      for (k0 in 0:n0) {
        for (k1 in 0:n1) {
          for (method in c("score", "koopman")) {
            ends <- ratio_of(k0, n0, k1, n1, method = method)
            inside <- is.finite(ends) & ends > 0
            at <- vapply(
              ends[inside],
              function(e) score_z(k0, n0, k1, n1, "ratio", e, method == "score"),
              0
            )
            expect_equal(abs(at), rep(z, sum(inside)), tolerance = 1e-8)
          }
          ends <- difference_of(k0, n0, k1, n1, method = "score")
          inside <- abs(ends) < 1
          at <- vapply(ends[inside], function(e) score_z(k0, n0, k1, n1, "difference", e), 0)
          expect_equal(abs(at), rep(z, sum(inside)), tolerance = 1e-7)
        }
      }
    }
  }
})

test_that("published intervals are met", {
  # 56/70 against 48/80: Newcombe (1998), Statistics in Medicine 17, 873-890, table II, methods 5
  # and 6
  expect_equal(difference_of(56, 70, 48, 80, method = "mee"), c(0.0533, 0.3377), tolerance = 1e-3)
  expect_equal(difference_of(56, 70, 48, 80, method = "score"), c(0.0528, 0.3382), tolerance = 1e-3)
})

test_that("zero cells have finite, sensible intervals", {
  expect_equal(ratio_of(0, 10, 5, 10, method = "score")[1L], 0)
  expect_identical(ratio_of(5, 10, 0, 10, method = "score")[2L], Inf)
  expect_identical(ratio_of(0, 10, 0, 10, method = "score"), c(0, Inf))
  expect_equal(difference_of(10, 10, 0, 10, method = "score")[2L], 1)
  expect_equal(prod(ratio_of(30, 30, 30, 30, method = "score")), 1)
})

test_that("swapping the groups inverts the ratio and turns the difference", {
  there <- ratio_of(8, 30, 15, 31, method = "score")
  expect_equal(there, rev(1 / ratio_of(15, 31, 8, 30, method = "score")))
  there <- difference_of(8, 30, 15, 31, method = "mee")
  expect_equal(there, -rev(difference_of(15, 31, 8, 30, method = "mee")))
})

test_that("the delta interval is Theorem 3.1", {
  n <- c(1112, 9632) # Adult: women with high income, women
  m <- c(6395, 20193) # men
  estimate <- (n[1L] / n[2L]) / (m[1L] / m[2L])
  total <- n[2L] + m[2L]
  p <- c(n[1L], m[1L], n[2L], m[2L]) / total
  sigma <- diag(p) - outer(p, p)
  sigma[1L, 3L] <- sigma[3L, 1L] <- p[1L] * (1 - p[3L])
  sigma[2L, 4L] <- sigma[4L, 2L] <- p[2L] * (1 - p[4L])
  gradient <- estimate * c(1 / p[1L], -1 / p[2L], -1 / p[3L], 1 / p[4L])
  s <- sqrt(sum(gradient * (sigma %*% gradient)) / total)
  expect_equal(
    ratio_of(n[1L], n[2L], m[1L], m[2L], method = "delta"),
    estimate + c(-1, 1) * qnorm(0.975) * s,
    tolerance = 1e-12
  )
})

test_that("impossible tables are refused", {
  expect_error(ratio_of(5, 4, 1, 4), "0 <= k <= n")
  expect_error(ratio_of(1, 4, 1, 0), "0 <= k <= n")
  expect_error(difference_of(1, 4, NaN, 4), "0 <= k <= n")
  expect_error(ratio_of(1, 4, 1, 4, level = 95), "level")
})
