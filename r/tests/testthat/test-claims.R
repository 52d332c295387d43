# What an audit claims as a whole; witness: stats::p.adjust where every fact has one p-value, tables
# counted by hand.

test_that("facts with one p-value each are Holm's", {
  p <- c(0.011, 0.2, 0.003, 0.04, NaN, 0.04)
  fact <- letters[seq_along(p)]
  known <- !is.na(p)
  expect_equal(over_facts(fact, p)[known], p.adjust(p[known], "holm"))
  expect_true(is.nan(over_facts(fact, p)[5L]))
})

test_that("two scales of one fact count once", {
  # as in tests/report/test_claims.py
  found <- over_facts(c("rates", "rates", "others", "third"), c(0.004, 0.02, 0.03, NaN))
  expect_equal(found[1:3], c(0.008, 0.04, 0.03))
  # equality: the largest p-value of the fact; a verdict: its own
  both <- pvalues_over_audit(
    c("a", "a", "b"),
    c(0.01, 0.02, 0.5),
    c(0.01, 0.02, NaN),
    outside = rep(FALSE, 3L)
  )
  expect_equal(both$equality, c(0.04, 0.04, 0.5))
  expect_equal(both$verdict, c(0.01, 0.02, NaN))
  # who is shown to lie outside the fair range differs
  outside <- pvalues_over_audit(c("a", "a"), c(0.01, 0.02), c(0.01, 0.02), outside = c(TRUE, FALSE))
  expect_equal(outside$verdict, c(0.02, 0.02))
})

test_that("a rate and its complement ask one question", {
  expect_equal(same_question("tpr"), same_question("fnr"))
  expect_equal(same_question("tnr"), same_question("fpr"))
  expect_false(same_question("tpr") == same_question("ppv"))
  expect_false(same_question("base_rate") == same_question("selection_rate"))
  expect_equal(same_question("f1"), "f1")
})

test_that("the table says what is real and what holds", {
  # as in tests/report/test_claims.py: ratio, difference and gap of one pair are one fact, and the
  # only one
  d <- data.frame(
    hired = c(rep(1:0, 50), rep(c(0, 0, 0, 1), 25)),
    sex = rep(c("m", "f"), each = 100)
  )
  audit <- fs_audit(d, y_pred = "hired", sensitive_features = "sex", reference = "m")
  expect_equal(audit$real_over_audit, rep(TRUE, 3L))
  expect_equal(audit$holds_over_audit, rep(TRUE, 3L))
  expect_equal(audit$pvalue_audit, rep(max(audit$pvalue), 3L))
  expect_equal(audit$pvalue_verdict_audit, audit$pvalue_verdict)
  said <- attr(audit, "claims")
  expect_match(
    said,
    "Over the whole audit (1 fact, Holm, error 5%) 1 difference is real",
    fixed = TRUE
  )
  expect_match(
    said,
    "these violations hold: Disparate impact, f against m; Demographic parity, f against m. ",
    fixed = TRUE
  )
  expect_equal(attr(audit, "head")[1L], said)
  expect_false("n_differences" %in% names(audit))
})

test_that("the largest of several gaps is a fact of its own, and nothing is tested where nothing is known", {
  d <- data.frame(hired = rep(c(1, 0, 1, 1, 0, 0), 60), origin = rep(c("a", "b", "c"), 120))
  audit <- fs_audit(d, y_pred = "hired", sensitive_features = "origin", reference = "a")
  expect_match(attr(audit, "claims"), "(3 facts, ", fixed = TRUE)
  few <- data.frame(hired = c(0, 0, 0, 0), sex = c("f", "f", "m", "m"))
  audit <- suppressWarnings(fs_audit(few, y_pred = "hired", sensitive_features = "sex"))
  expect_true(all(audit$holds_over_audit %in% NA))
})
