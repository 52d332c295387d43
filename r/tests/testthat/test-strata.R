# Comparisons within strata against stats::mantelhaen.test and sums written out.

berkeley <- function() {
  counts <- as.data.frame(UCBAdmissions)
  rows <- counts[rep(seq_len(nrow(counts)), counts$Freq), ]
  data.frame(admitted = as.numeric(rows$Admit == "Admitted"), sex = as.character(rows$Gender),
    dept = as.character(rows$Dept))
}

test_that("Berkeley's admissions turn by department, and the tests are those of mantelhaen.test", {
  found <- fs_disparate_impact(berkeley(), "admitted", "sex", reference = "Male", strata = "dept")
  expect_equal(found$estimate, (557 / 1835) / (1198 / 2691))
  expect_equal(found$verdict, "violated")
  expect_equal(found$adjusted, 1.058307, tolerance = 1e-6)
  expect_equal(found$adjusted_verdict, "satisfied")
  within <- attr(found, "stratified")
  plain <- mantelhaen.test(UCBAdmissions, correct = FALSE)
  exact <- mantelhaen.test(UCBAdmissions, exact = TRUE, alternative = "less")
  expect_equal(within$cmh_p, plain$p.value)
  expect_equal(within$pvalue, plain$p.value)
  # women against men here, men against women there
  expect_equal(within$exact_p, 2 * exact$p.value, tolerance = 1e-7)
})

test_that("zeros are answered", {
  d <- data.frame(hit = c(rep(0, 50), rep(1:0, c(10, 40)), rep(0, 40), rep(1:0, c(12, 28))),
    sex = rep(c("w", "m", "w", "m"), c(50, 50, 40, 40)), job = rep(c("x", "y"), c(100, 80)))
  within <- attr(fs_disparate_impact(d, "hit", "sex", reference = "m", strata = "job"), "stratified")
  table <- array(c(0, 50, 10, 40, 0, 40, 12, 28), c(2, 2, 2))
  expect_equal(within$estimate, 0)
  expect_equal(within$cmh_p, mantelhaen.test(table, correct = FALSE)$p.value)
  expect_equal(within$exact_p, mantelhaen.test(table, exact = TRUE)$p.value)
  expect_equal(within$verdict, "violated")
  expect_true(is.nan(within$tarone_p))
})

test_that("one stratum is the score interval of its table", {
  d <- people()
  d$one <- 1
  found <- fs_disparate_impact(d, "y_pred", "group", reference = "blue", strata = "one")
  expect_equal(found$adjusted, found$estimate)
  plain <- rate_interval(sum(d$y_pred[d$group == "green"]), sum(d$group == "green"), sum(d$y_pred[d$group == "blue"]),
    sum(d$group == "blue"), "ratio", "score")
  green <- found[found$group == "green", ]
  expect_equal(c(green$adjusted_ci_low, green$adjusted_ci_high), plain, tolerance = 1e-8)
})

test_that("Breslow and Day's test by hand, without strata that say nothing", {
  t <- list(k1 = c(7, 3, 0, 8), n1 = c(10, 10, 8, 8), k0 = c(3, 7, 0, 9), n0 = c(10, 10, 9, 9))
  # pooled odds ratio 1: 5 expected in every cell, 1/v = 4/5, distances 2 and -2
  expect_equal(tarone_test(t), c(6.4, pchisq(6.4, 1, lower.tail = FALSE)))
  expect_equal(score_homogeneity(t, "difference")[1L], score_homogeneity(lapply(t, `[`, 1:2), "difference")[1L])
})

test_that("strata that cannot be used are refused", {
  d <- people()
  expect_error(fs_disparate_impact(d, "y_pred", "group", strata = "nope"), "`strata`")
  expect_error(fs_disparate_impact(d, "y_pred", "group", strata = "y_true", cluster = "cluster"), "`strata`")
  expect_error(fs_demographic_parity_difference(d, "y_pred", "group", agg = "max", strata = "y_true"), "`strata`")
  expect_error(fs_group_metric(d, "f1_difference", "y_true", "y_pred", "group", strata = "y_true"), "`strata`")
})
