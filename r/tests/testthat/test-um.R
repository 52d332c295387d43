# Uncertainty Matters against closed forms, counts by hand and the words of the definitions.

counts <- rbind(men = c(42, 12, 8, 38), women = c(15, 7, 5, 23))

test_that("a rate of a group is a Beta variable", {
  set.seed(1)
  x <- fs_um_draws(counts, 40000)
  tpr <- fs_um_metric(x, "tpr", "group")
  expect_gt(stats::ks.test(tpr[, 2], "pbeta", 16, 6)$p.value, 1e-4)
  expect_equal(mean(tpr[, 1]), 43 / 52, tolerance = 5e-3)
  expect_equal(rowSums(cbind(x$tp[, 1], x$tn[, 1], x$fp[, 1], x$fn[, 1])), rep(100, 40000))
})

test_that("counts of another test set are Beta-binomial", {
  set.seed(2)
  x <- fs_um_draws(counts, 40000, target = "predictive")
  selected <- x$tp[, 1] + x$fp[, 1]
  expect_equal(var(selected), 100 * (56 * 48 / 104^2) * (104 + 100) / (104 + 1), tolerance = 0.04)
  expect_true(all(selected == round(selected)))
})

test_that("a prior of 0 keeps an empty cell empty and refuses an empty group", {
  x <- fs_um_draws(rbind(c(tp = 5, tn = 5, fp = 5, fn = 0)), 100, prior = 0)
  expect_true(all(x$fn == 0))
  expect_error(fs_um_draws(rbind(c(0, 0, 0, 0)), 100, prior = 0), "nor 0 for a group without rows")
  expect_error(fs_um_draws(rbind(c(-1, 0, 0, 0)), 100), "finite numbers >= 0")
})

test_that("metrics are those of the counts", {
  seen <- lapply(stats::setNames(1:4, CELLS), function(k) t(counts[, k, drop = FALSE]))
  one <- function(...) fs_um_metric(seen, ...)
  expect_equal(one("accuracy"), 118 / 150, ignore_attr = TRUE)
  expect_equal(one("tpr", "difference"), matrix(15 / 20 - 42 / 50), ignore_attr = TRUE)
  expect_equal(one("tpr", "max"), 42 / 50 - 15 / 20, ignore_attr = TRUE)
  expect_equal(one("selection_rate", "ratio"), matrix((22 / 50) / (54 / 100)), ignore_attr = TRUE)
  expect_true(is.nan(fs_um_metric(list(tp = 0, tn = 1, fp = 1, fn = 0), "tpr", "group")))
  expect_error(one("acuracy"), "unknown rate")
})

test_that("events follow the definition and sum to one", {
  delta <- cbind(c(0.02, 0.01, -0.02, 0.02, 0), c(0.02, 0, 0, -0.03, -0.02))
  found <- fs_um_events(delta, c(0.01, 0.01))
  expect_equal(unlist(found[1:4]), c(a_better = 0.2, b_better = 0.4, equivalent = 0.2, mixed = 0.2))
  expect_equal(sum(found$patterns$probability), 1)
  expect_error(
    fs_um_events(delta, c(-1, 0)),
    "`rope`: got -1, 0; allowed: 2 finite numbers of at least 0"
  )
})

test_that("effective counts: closed forms, and an unstable method has fewer", {
  expect_equal(fs_um_effective_factor("1/K", 10), 1 / 1.9)
  expect_equal(fs_um_effective_factor("uniform", 10), log(1.9) / 0.9, tolerance = 1e-9)
  expect_equal(fs_um_effective_factor("relative", 10, 1), 1 / 1.9)
  expect_true(all(diff(fs_um_effective_factor("relative-uniform", 10, c(0.5, 1, 2, 4))) < 0))
  expect_equal(fs_um_correlation(1, 0.1, 10), 0.1)
  grid <- stats::qf((seq_len(2e4) - 0.5) / 2e4, 5, 5)
  averaged <- mean(fs_um_effective_factor("relative", 10, 1.5 * grid))
  expect_equal(fs_um_effective_factor("relative", 10, 1.5, splits = 5), averaged, tolerance = 1e-6)
})

test_that("the variance ratio and its jackknife", {
  a <- list(cbind(c(0.8, 0.7, 0.75)), cbind(c(0.7, 0.72, 0.8)))
  b <- list(cbind(c(0.8, 0.78, 0.75)), cbind(c(0.76, 0.75, 0.8)))
  found <- fs_um_variance_ratio(a, b)
  expect_equal(found$ratio, (0.1^2 + 0.02^2 + 0.05^2) / (0.04^2 + 0.03^2 + 0.05^2))
  expect_equal(found$low * found$high, found$ratio^2)
})
