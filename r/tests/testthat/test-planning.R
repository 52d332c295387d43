# Power, strata and pairs of models against simulation, stats:: and sums written out.

test_that("the power is that of the test", {
  expect_equal(power_ratio(0.5, 0.7, 400), 0.4741312, tolerance = 1e-6)
  set.seed(2)
  k0 <- stats::rbinom(20000, 400, 0.35)
  k1 <- stats::rbinom(20000, 400, 0.5)
  z <- log(k0 / k1 / 0.8) / sqrt(1 / k0 - 1 / 400 + 1 / k1 - 1 / 400)
  expect_equal(mean(z < stats::qnorm(0.05)), 0.4741, tolerance = 0.03)
  both <- power_ratio(0.5, 0.8, 300, alternative = "two-sided")
  s <- sqrt((0.6 / 0.4 + 1) / 300)
  expect_equal(both, pnorm(log(0.8) / s - qnorm(0.975)) + pnorm(-log(0.8) / s - qnorm(0.975)))
})

test_that("the sample size is the smallest that has the power", {
  for (case in list(list(0.5, 0.7, "less"), list(0.3, 0.95, "greater"), list(0.4, 1.2, "two-sided"))) {
    plan <- sample_size_ratio(case[[1L]], case[[2L]], 0.8, alternative = case[[3L]])
    expect_gte(power_ratio(case[[1L]], case[[2L]], plan$n, alternative = case[[3L]]), 0.8)
    expect_lt(power_ratio(case[[1L]], case[[2L]], plan$n - 1, alternative = case[[3L]]), 0.8)
  }
  expect_equal(sample_size_ratio(0.5, 0.7)$n, 991)
  expect_error(power_ratio(1.5, 0.7, 10), "`rate_reference`")
  expect_error(power_ratio(0.5, 0.9, 10), "`ratio`")
  expect_error(sample_size_ratio(0.5, 0.7, power = 1), "`power`")
})

test_that("one stratum is the plain ratio, and CMH is mantelhaen.test", {
  d <- people()
  d$one <- 1
  plain <- fs_disparate_impact(d, "y_pred", "group", reference = "blue")
  found <- fs_stratified_ratio(d, "y_pred", "group", "one", reference = "blue")
  expect_equal(found$estimate, plain$estimate)
  expect_equal(found$std_error, plain$std_error)
  found <- fs_stratified_ratio(d, "y_pred", "group", "y_true", reference = "blue")
  kept <- d$group != "red"
  cmh <- mantelhaen.test(table(d$group[kept], d$y_pred[kept], d$y_true[kept]), correct = FALSE)
  expect_equal(found$cmh_p[found$group == "green"], cmh$p.value)
  expect_error(fs_stratified_ratio(d, "y_pred", "group", "nope"), "`strata`")
})

test_that("a model beside itself does not change, and a difference is the difference of both", {
  d <- people()
  set.seed(3)
  d$other <- ifelse(stats::runif(nrow(d)) < 0.8, d$y_pred, 1 - d$y_pred)
  for (metric in c("demographic_parity_difference", "equal_opportunity_difference")) {
    found <- fs_compare_models(d, "y_true", "y_pred", "other", "group", metric, reference = "blue")
    f <- if (metric == "equal_opportunity_difference") {
      function(p) fs_equal_opportunity_difference(d, "y_true", p, "group", reference = "blue")
    } else {
      function(p) fs_demographic_parity_difference(d, p, "group", reference = "blue")
    }
    expect_equal(found$estimate, f("other")$estimate - f("y_pred")$estimate)
  }
  # differences of pairs: their own variance within the groups
  change <- d$other - d$y_pred
  v <- tapply(change, d$group, function(x) mean((x - mean(x))^2) / length(x))
  metric <- "demographic_parity_difference"
  found <- fs_compare_models(d, "y_true", "y_pred", "other", "group", metric, reference = "blue")
  expect_equal(found$std_error[found$group == "red"], sqrt(v[["red"]] + v[["blue"]]))
  expect_error(fs_compare_models(d, "y_true", "y_pred", "other", "group", "nope"), "`metric`")
})
