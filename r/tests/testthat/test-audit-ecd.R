# The section of extremes of an audit against fs_ecd, closed forms and simulation; beside Python's:
# tests/r/test_ecd_audit.py.

gains <- function() {
  set.seed(4)
  d <- data.frame(
    group = rep(c("most", "rare", "rounded", "few"), c(1200, 400, 300, 8)),
    score = runif(1908, 0, 0.5)
  )
  gain <- rbeta(1908, 2, 8) * ifelse(d$group == "rare", 0.5, 0.3)
  d$other <- d$score + ifelse(d$group == "rounded", round(gain, 1), gain)
  d$score[d$group == "rounded"] <- d$other[d$group == "rounded"] -
    round(gain, 1)[d$group == "rounded"]
  transform(d, hired = as.integer(score > 0.25))
}

test_that("the section has the parts of fs_ecd, all groups against the reference", {
  d <- gains()
  cd <- split(d$other - d$score, factor(d$group, c("rare", "rounded", "few", "most")))
  found <- fairstats:::with_seed(1, fairstats:::ecd_rows(cd, fairstats:::audit_options()))
  row <- function(metric, group) found[found$metric == metric & found$group == group, ]
  alone <- suppressWarnings(fs_ecd(cd$rare, cd$most))
  ecd <- row("ECD", "rare")
  expect_equal(
    c(ecd$estimate, ecd$std_error, ecd$statistic),
    c(alone$estimate, alone$std_error, alone$statistic)
  )
  expect_true(ecd$ci_low < ecd$estimate && ecd$estimate < ecd$ci_high)
  # the law of the root is tabulated: no limit of a regular pair is random
  expect_equal(ecd$mc_ci_high, 0)
  expect_true(ecd$simultaneous_low < ecd$ci_low && ecd$ci_high < ecd$simultaneous_high)
  # Welch's standard error; half the exceedances are those of fs_ecd with half of them
  welch <- stats::t.test(cd$rare, cd$most)
  expect_equal(
    row("difference of ACD", "rare")$statistic,
    unname(welch$statistic),
    tolerance = 1e-10
  )
  expect_equal(ecd$acd, unname(diff(rev(welch$estimate))), tolerance = 1e-10)
  averages <- alone$averages$estimate[alone$averages$quantity == "conditional value at risk"]
  expect_equal(ecd$cvar, averages[1L] - averages[2L], tolerance = 1e-10)
  k <- alone$tails$exceedances
  expect_equal(k, c(20, 60))
  expect_equal(row("return level", "rare")$interactions, c(500, 1000, 2000, 10000))
  expect_equal(row("return level", "rare")$estimate[2L], alone$tails$return_level[1L])
  # the largest value of m has the fitted law: scale grown by the power of the shape
  expect_equal(
    ecd$scale,
    alone$tails$scale[1L] * (1000 * alone$tails$rate[1L])^alone$tails$shape[1L]
  )
  # order statistics have limits and no test; eight rows have neither
  rounded <- row("ECD", "rounded")
  expect_true(
    rounded$method == "none" && is.nan(rounded$pvalue) && rounded$ci_low < rounded$estimate
  )
  expect_equal(row("ECD", "few")$verdict, "insufficient evidence")
  largest <- found[found$metric == "largest |ECD|", ]
  expect_equal(largest$ci_high, 2) # of the few nothing is known
  expect_equal(ecd$pvalue_adjusted, ecd$pvalue) # the only test of the family
})

test_that("an audit has the section, beside what it has without", {
  d <- gains()
  d <- d[d$group %in% c("rounded", "few"), ]
  audit <- function(...) {
    fs_audit(
      d,
      y_pred = "hired",
      score = "score",
      sensitive_features = "group",
      n_resamples = 199,
      ...
    )
  }
  found <- audit(counterfactual_score = "other")
  section <- found$section == "ecd"
  expect_equal(found$estimate[!section], audit()$estimate)
  expect_equal(
    found$estimate[section][1:2],
    unname(c(
      mean((d$other - d$score)[d$group == "few"]),
      mean((d$other - d$score)[d$group == "rounded"])
    ))
  )
  expect_equal(found$group[found$metric == "ECD"], "few")
  expect_false(
    "ecd" %in%
      fs_audit(
        transform(d, w = 1),
        y_pred = "hired",
        score = "score",
        sensitive_features = "group",
        counterfactual_score = "other",
        sample_weight = "w"
      )$section
  )
})

test_that("simultaneous levels are those of a simulated largest statistic", {
  set.seed(1)
  error <- c(0.02, 0.03, 0.01, 0.015)
  each <- fairstats:::level_of_each(error, 0.95)
  own <- matrix(stats::rnorm(4e5 * 4), ncol = 4) %*% diag(error)
  z <- abs((own[, 1:3] - own[, 4]) / rep(sqrt(error[1:3]^2 + error[4]^2), each = 4e5))
  # 400,000 draws: .0003 is an error of a share of .95
  expect_equal(mean(apply(z, 1L, max) < stats::qnorm((1 + each) / 2)), 0.95, tolerance = 0.002)
  expect_equal(fairstats:::level_of_each(c(NaN, 1, 1), 0.95), 0.975)
  expect_equal(fairstats:::level_of_each(c(1, 1), 0.95), 0.95)
})

test_that("roots of a difference are near standard normal for large regular tails, and as the tables say at knots", {
  set.seed(2)
  tail <- fairstats:::group_tail(stats::rexp(20000) / 20, 1000, 1000, 0.95)
  root <- fairstats:::tabulated_moments(tail, tail, c(20000, 20000), 1000)
  expect_equal(root$at, c(-2, 0, 2), tolerance = 1e-4)
  # by symmetry
  expect_equal(root$mean[2L], 0, tolerance = 1e-8)
  expect_lt(max(abs(root$mean)), 0.2)
  expect_lt(max(abs(root$sd - 1)), 0.05)
  at <- function(k, shape, s) {
    fairstats:::in_table(fairstats:::PAIR_MEAN, list(k = k, shape = shape, s = s))
  }
  sizes <- c(4L, 7L, 5L)
  table <- aperm(array(fairstats:::PAIR_MEAN, rev(sizes)), 3:1)
  expect_equal(at(20, -0.5, 3.5), table[2L, 3L, 4L])
  expect_equal(at(50, -0.4, 1), mean(table[3L, 3:4, 2L]))
  expect_equal(at(1e5, 9, 99), table[4L, 7L, 5L])
})

test_that("counterfactual scores without what they need are refused", {
  d <- gains()
  refused <- function(...) {
    expect_error(
      fs_audit(d, y_pred = "hired", sensitive_features = "group", ...),
      "`counterfactual_score`"
    )
  }
  refused(counterfactual_score = "other")
  refused(counterfactual_score = c(place = "other"), score = "score")
  refused(counterfactual_score = "nothing", score = "score")
  refused(counterfactual_score = c("other", "score"), score = "score")
})
