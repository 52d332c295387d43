# Risks by group against isoreg, glm's deviance residuals written out, prop.test and definitions.

risky <- function(n = c(200, 120), seed = 3) {
  set.seed(seed)
  data <- data.frame(
    group = rep(c("a", "b"), n),
    score = round(stats::runif(sum(n), 0.03, 0.97), 2)
  )
  data$y <- stats::rbinom(sum(n), 1, ifelse(data$group == "a", data$score, 0.2 + 0.6 * data$score))
  data
}

test_that("weighted isotonic fits are isoreg's of the rows, and monotone", {
  data <- risky()
  counted <- counted_risks(data)
  fit <- isotonic_fit(counted$k, counted$n)
  expect_false(is.unsorted(fit))
  # of scores without ties it is isoreg itself
  own <- data[!duplicated(data$score), ]
  own <- own[order(own$score), ]
  expect_equal(isotonic_fit(own$y, rep(1, nrow(own))), stats::isoreg(own$score, own$y)$yf)
})

test_that("the parts add up to the Brier score of every group", {
  data <- risky()
  parts <- lapply(BRIER_PARTS, function(metric) {
    fs_scores(data, "y", "score", "group", metric = metric, reference = "a")
  })
  b <- data[data$group == "b", ]
  expect_equal(parts[[1L]]$rate - parts[[2L]]$rate + parts[[3L]]$rate, mean((b$y - b$score)^2))
  a <- data[data$group == "a", ]
  expect_equal(
    parts[[1L]]$rate_reference - parts[[2L]]$rate_reference + parts[[3L]]$rate_reference,
    mean((a$y - a$score)^2)
  )
})

test_that("a curve without a row is fitted anew", {
  data <- risky(c(20, 10))
  counted <- counted_risks(data)
  fit <- isotonic_fit(counted$k, counted$n)[match(data$score, counted$score)]
  left_out <- vapply(
    seq_len(nrow(data)),
    function(i) {
      rest <- counted_risks(data[-i, ])
      curve <- isotonic_fit(rest$k, rest$n)
      at <- match(data$score[i], rest$score)
      if (!is.na(at)) {
        return(curve[at])
      }
      above <- findInterval(data$score[i], rest$score) + 1L
      mean(curve[c(max(above - 1L, 1L), min(above, length(curve)))])
    },
    0
  )
  expect_equal(left_out_loss(counted), mean((data$y - left_out)^2) - mean((data$y - fit)^2))
})

test_that("net benefit is that of its definition, and a cut-off a prediction", {
  data <- risky()
  found <- fs_scores(
    data,
    "y",
    "score",
    "group",
    metric = "net_benefit",
    cutoffs = c(0.2, 0.5),
    reference = "a"
  )
  b <- data[data$group == "b", ]
  expected <- vapply(
    c(0.2, 0.5),
    function(t) mean(b$score >= t & b$y == 1) - mean(b$score >= t & b$y == 0) * t / (1 - t),
    0
  )
  expect_equal(found$rate, expected)
  along <- fs_scores(
    data,
    "y",
    "score",
    "group",
    metric = "tpr",
    cutoffs = 0.5,
    reference = "a",
    margin = 0.1
  )
  data$hat <- as.integer(data$score >= 0.5)
  once <- fs_group_metric(data, "tpr_difference", "y", "hat", "group", reference = "a")
  same <- c("estimate", "ci_low", "ci_high", "pvalue", "bound_low", "bound_high", "verdict")
  expect_equal(as.data.frame(along)[same], as.data.frame(once)[same])
})

test_that("bands are qbeta over runs and hold a curve that is there", {
  two <- data.frame(
    score = rep(c(0.2, 0.6), each = 30),
    y = c(rep(1, 9), rep(0, 21), rep(1, 20), rep(0, 10))
  )
  # two blocks: runs of one and two next to each of three scores
  band <- honest_band(counted_risks(two), 3)
  expect_equal(
    band(0.4, 0.05),
    c(stats::qbeta(0.05 / 6, 9, 22), 1 - stats::qbeta(0.05 / 6, 10, 21))
  )
  found <- fs_calibration(
    risky(),
    "y",
    "score",
    "group",
    metric = "isotonic",
    at = c(0.3, 0.6),
    n_resamples = 99
  )
  expect_true(all(found$ci_low < found$estimate & found$estimate < found$ci_high))
  expect_named(
    attr(found, "equality"),
    c("group", "reference", "statistic", "pvalue", "low", "high", "difference", "pvalue_error")
  )
})

test_that("the slope is glm's", {
  data <- risky()
  found <- fs_calibration(cbind(y, score) ~ group, data, reference = "a")
  slope <- function(d) stats::coef(stats::glm(y ~ stats::qlogis(score), stats::binomial(), d))[[2L]]
  expect_equal(found$rate, slope(data[data$group == "b", ]), tolerance = 1e-6)
})

test_that("weighted areas are those of all pairs, and of all rows beside everybody", {
  data <- risky(c(120, 80))
  data$w <- rep(c(1, 3, 2, 5), 50)
  found <- fs_scores(data, "y", "score", "group", reference = "a", sample_weight = "w")
  of_pairs <- function(d) {
    one <- d[d$y == 1, ]
    zero <- d[d$y == 0, ]
    w <- outer(one$w, zero$w)
    gap <- outer(one$score, zero$score, "-")
    sum(w * ((gap > 0) + (gap == 0) / 2)) / sum(w)
  }
  expect_equal(found$rate, of_pairs(data[data$group == "b", ]))
  expect_equal(found$rate_reference, of_pairs(data[data$group == "a", ]))
  all_rows <- fs_scores(
    data,
    "y",
    "score",
    "group",
    comparisons = "overall",
    sample_weight = "w"
  )
  expect_equal(all_rows$reference, c("all", "all"))
  expect_equal(all_rows$rate_reference, rep(of_pairs(data), 2))
  # weights of one size in every group change nothing
  data$even <- ifelse(data$group == "a", 2, 7)
  plain <- fs_scores(data, "y", "score", "group", reference = "a")
  even <- fs_scores(data, "y", "score", "group", reference = "a", sample_weight = "even")
  expect_equal(plain$ci_low, even$ci_low)
  # of two groups the rest is the other
  rest <- fs_scores(data, "y", "score", "group", comparisons = "rest")
  expect_equal(rest$estimate[rest$group == "b"], plain$estimate)
})

test_that("an area of 1 has a limit with a width", {
  area <- area_of(data.frame(y = rep(0:1, each = 10), score = seq_len(20) / 20))
  limits <- limits_of_area(area, 1.96)
  expect_equal(limits[2L], 1)
  expect_equal(limits[1L], 0.8002072, tolerance = 1e-6)
})

test_that("weighted slopes are glm's, their errors those of rows left out", {
  data <- risky(c(120, 80))
  data$w <- rep(c(1, 3, 2, 5), 50)
  found <- fs_calibration(data, "y", "score", "group", reference = "a", sample_weight = "w")
  b <- data[data$group == "b", ]
  slope <- function(d) {
    fit <- stats::glm(y ~ stats::qlogis(score), stats::quasibinomial(), d, weights = w)
    stats::coef(fit)[[2L]]
  }
  expect_equal(found$rate, slope(b), tolerance = 1e-6)
  a <- data[data$group == "a", ]
  jackknife <- vapply(
    list(a, b),
    function(d) {
      left_out <- vapply(seq_len(nrow(d)), function(i) slope(d[-i, ]), 0)
      (nrow(d) - 1) / nrow(d) * sum((left_out - slope(d))^2)
    },
    0
  )
  # of normal limits MOVER's error is the root of the sum
  expect_equal(found$std_error, sqrt(sum(jackknife)), tolerance = 0.1)
})

test_that("what cannot be used is said", {
  data <- risky()
  expect_error(fs_scores(data, "y", "score", "group", cutoffs = 0.5), "does not go along")
  expect_error(
    fs_scores(data, "y", "score", "group", metric = "net_benefit", contrast = "ratio"),
    "both signs"
  )
  expect_error(
    fs_scores(data, "y", "score", "group", metric = "tpr", reference = "highest"),
    "reference"
  )
  expect_error(
    fs_scores(data, "y", "score", "group", comparisons = "rest", simultaneous = "max-z"),
    "bonferroni"
  )
})
