# Tests of HFM against all permutations written out, and the risk against closed forms.

rows <- function(n = 9, seed = 3) {
  set.seed(seed)
  y_true <- rep(0:1, length.out = n)
  list(
    x = matrix(stats::rnorm(2 * n), n),
    y_true = y_true,
    y_pred = replace(y_true, c(1, 2, 5), 1 - y_true[c(1, 2, 5)]),
    in_group = seq_len(n) %% 3 == 0
  )
}

test_that("all permutations are taken where they are few", {
  d <- rows()
  found <- hfm_tests(d$x, d$y_true, d$y_pred, d$in_group)
  expect_true(all(found$exact))
  expect_equal(unname(found$n_resamples), c(rep(choose(9, 3), 2), 8))
  x <- apply(d$x, 2, fairstats:::unit_scale)
  z <- cbind(x, d$y_true)
  every <- utils::combn(9, 3, function(k) {
    fs_set_distance(z[k, , drop = FALSE], z[-k, , drop = FALSE])$value
  })
  expect_equal(found$d, hfm(d$x, d$y_true, d$y_pred, d$in_group)$d)
  expect_equal(found$drawn$d, as.numeric(every))
  expect_equal(found$p_d, mean(every >= found$d - 1e-9))
})

test_that("all exchanges are taken where they are few", {
  d <- rows()
  found <- hfm_tests(d$x, d$y_true, d$y_pred, d$in_group)
  every <- apply(expand.grid(c(FALSE, TRUE), c(FALSE, TRUE), c(FALSE, TRUE)), 1L, function(swap) {
    k <- c(1, 2, 5)[swap]
    hfm(d$x, replace(d$y_true, k, d$y_pred[k]), replace(d$y_pred, k, d$y_true[k]), d$in_group)$hfm
  })
  expect_equal(sort(found$drawn$hfm), sort(every))
  expect_equal(found$p_hfm, mean(every >= found$hfm - 1e-9))
})

test_that("draws estimate the exact p-value", {
  d <- rows(11, 4)
  exact <- hfm_tests(d$x, d$y_true, d$y_pred, d$in_group, statistic = "mean")
  set.seed(1)
  drawn <- hfm_tests(d$x, d$y_true, d$y_pred, d$in_group, 999, statistic = "mean", exact = FALSE)
  expect_lt(abs(drawn$p_d - exact$p_d), 4 * drawn$error[1L] + 1e-3)
  expect_equal(unname(exact$error), c(0, 0, 0))
})

test_that("subsamples say how far single rows decide", {
  d <- rows(30, 5)
  frame <- data.frame(d$x, y = d$y_true, p = d$y_pred, g = d$in_group)
  found <- fs_hfm(frame, c("X1", "X2"), "y", "p", "g", n_resamples = 0, n_subsamples = 40)
  expect_true(all(found$stability_low <= found$stability_high))
  expect_null(found$mc_pvalue)
  pairs <- hfm_pairs(apply(d$x, 2, unit_scale), d$y_true, d$y_pred, list(d$in_group))
  whole <- hfm_subsamples(pairs, 2L, "max", share = 1)
  expect_equal(whole[1L, 1L, ], rep(hfm(d$x, d$y_true, d$y_pred, d$in_group)$d, 2L))
})

test_that("the risk has Clopper and Pearson's interval, as binom.test gives it", {
  for (k in c(0, 1, 7, 20)) {
    changed <- seq_len(20) <= k
    found <- discriminative_risk(changed)
    expect_equal(
      c(found$low, found$high),
      as.numeric(binom.test(k, 20)$conf.int),
      tolerance = 1e-12
    )
  }
  # a person's rows that all agree are one observation
  same <- discriminative_risk(rep(c(TRUE, FALSE, FALSE, FALSE), each = 5), rep(1:4, each = 5))
  expect_equal(same$estimate, 0.25)
  expect_equal(same$n, 4L)
  one <- discriminative_risk(c(TRUE, FALSE, FALSE, FALSE))
  expect_equal(same[c("low", "high")], one[c("low", "high")])
  expect_error(discriminative_risk(logical()), "empty")
  expect_error(discriminative_risk(TRUE, 1:2), "cluster")
})

test_that("a model that looks at the attribute is seen", {
  d <- data.frame(income = 1:4, sex = c("f", "m", "f", "m"), race = c("a", "b", "c", "a"))
  model <- function(rows) rows$income + (rows$sex == "m") > 2
  found <- fs_discriminative_risk(model, d, "sex")
  expect_equal(found$group, c("all rows", "f", "m"))
  expect_equal(found$estimate, c(0.25, 0, 0.5))
  blind <- fs_discriminative_risk(
    function(rows) rows$income > 2,
    d,
    c("sex", "race"),
    draws = "all"
  )
  expect_equal(unique(blind$estimate), 0)
  expect_equal(utils::tail(blind$attribute, 1L), "all attributes")
  expect_error(fs_discriminative_risk(3, d, "sex"), "`predict`")
  expect_error(fs_discriminative_risk(model, d, "nope"), "`sensitive_features`")
  expect_error(fs_discriminative_risk(function(rows) 1, d, "sex"), "`predict`")
})

test_that("HFM of a frame is that of its matrix", {
  d <- rows(40, 6)
  frame <- data.frame(
    a = d$x[, 1L],
    b = d$x[, 2L],
    y = d$y_true,
    p = d$y_pred,
    g = ifelse(d$in_group, "in", "out")
  )
  found <- fs_hfm(frame, c("a", "b"), "y", "p", "g", n_resamples = 99, n_subsamples = 0)
  whole <- hfm(d$x, d$y_true, d$y_pred, d$in_group)
  expect_equal(found$estimate, c(whole$d, whole$d_f, whole$hfm), tolerance = 1e-12)
  expect_true(all(found$pvalue >= 0.01 & found$pvalue <= 1))
  audit <- fs_audit(frame, "y", "p", sensitive_features = "g", features = c("a", "b"), draws = 0)
  expect_equal(audit$estimate[audit$section == "hfm"], found$estimate)
  expect_error(fs_hfm(frame, "nope", "y", "p", "g"), "`features`")
  expect_error(hfm_tests(d$x, d$y_true, d$y_pred, rep(TRUE, 40)), "in_group")
})
