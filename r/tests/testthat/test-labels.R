# How values become labels, and what is missing: the rule of fairstats/ground/values.py, once more. Witness: counting by
# table() on rows chosen by hand.

set.seed(1)
rows <- data.frame(
  y = sample(c("yes", "no", "", NA), 400, TRUE, c(0.4, 0.4, 0.1, 0.1)), hat = stats::rbinom(400, 1, 0.5),
  sex = sample(c("f", "m", ""), 400, TRUE, c(0.5, 0.4, 0.1)), site = sample(c("u", "v"), 400, TRUE)
)
complete <- subset(rows, nzchar(y) & !is.na(y) & nzchar(sex))

test_that("empty text is missing, and missing = has the policies of Python", {
  raised <- tryCatch(fs_disparate_impact(rows, "y", "sex", pos_label = "yes"), error = conditionMessage)
  expect_match(raised, "missing values")
  expect_warning(
    found <- fs_disparate_impact(rows, "y", "sex", pos_label = "yes", missing = "drop"),
    paste(nrow(rows) - nrow(complete), "of 400 rows left out")
  )
  expect_equal(found$estimate, fs_disparate_impact(complete, "y", "sex", pos_label = "yes")$estimate)
  grouped <- fs_disparate_impact(rows, "hat", "sex", missing = "group")
  expect_true("(missing)" %in% grouped$group)
  expect_match(tryCatch(fs_disparate_impact(rows, "y", "sex", pos_label = "yes", missing = "group"),
    error = conditionMessage), "missing values")
  expect_error(fs_disparate_impact(rows, "hat", "sex", missing = "keep"), "`missing`")
})

test_that("vectors and the other functions settle missing values alike", {
  drop <- function(call) suppressWarnings(call)$estimate
  adjusted <- function(rows, ...)
    suppressWarnings(fs_disparate_impact(rows, "y", "sex", pos_label = "yes", strata = "site", ...))$adjusted
  expect_equal(adjusted(rows, missing = "drop"), adjusted(complete))
  expect_equal(drop(fs_disparate_impact(y_pred = rows$y, sensitive_features = rows$sex, pos_label = "yes",
    missing = "drop")), fs_disparate_impact(complete, "y", "sex", pos_label = "yes")$estimate)
  models <- c(A = "hat", B = "y")
  labels <- list(y_true = 1, y_pred = "yes")
  rows$z <- ifelse(rows$hat == 1, "yes", "no")
  complete$z <- ifelse(complete$hat == 1, "yes", "no")
  models <- c(A = "z", B = "y")
  expect_equal(
    drop(fs_compare_models(rows, "hat", models, "sex", pos_label = labels, missing = "drop")),
    fs_compare_models(complete, "hat", models, "sex", pos_label = labels)$estimate
  )
})

test_that("one rule matches labels with pos_label, and says what may occur", {
  half <- rep(c("a", "b"), 20)
  for (pair in list(c("no", "yes"), c("False", "True"), c("false", "true"), c("FALSE", "TRUE"), c("0", "1"))) {
    found <- fs_disparate_impact(y_pred = rep(pair, each = 20), sensitive_features = half,
      pos_label = if (pair[2L] == "yes") "yes" else 1)
    expect_equal(found$estimate, 1)
  }
  zeros <- function(...) fs_disparate_impact(sensitive_features = half, ...)
  expect_warning(zeros(y_pred = rep(0, 40)), "every row of it counts as unfavourable")
  expect_error(zeros(y_pred = rep("no", 40), pos_label = "yes"), "label_values")
  expect_warning(zeros(y_pred = rep("no", 40), pos_label = "yes", label_values = c("no", "yes")), "unfavourable")
  expect_error(zeros(y_pred = rep(c("yes", "maybe"), 20), pos_label = "yes", label_values = c("no", "yes")), "maybe")
})

test_that("labels are written as Python writes them", {
  expect_equal(label_text(c(-0, 1, 2^60, 1e300, 0.1)), c("0", "1", "1152921504606846976", "1e+300", "0.1"))
  moments <- as.POSIXct(c("2020-01-01 12:00:00", "2020-01-02 00:00:00"), tz = "UTC")
  expect_equal(label_text(moments), c("2020-01-01 12:00:00", "2020-01-02"))
  expect_equal(label_text(c(TRUE, NA)), c("True", NA))
})
