# Arguments of the wrong kind, length or value: an error of ours that names the argument, never R's own message.

rows <- data.frame(y = rep(0:1, 30), hat = rep(c(1, 0, 0, 1, 1), 12), sex = rep(c("f", "m"), each = 30), score = 1:60 / 61)
never <- list(
  none = numeric(), missing = NA_character_, number = NA_real_, text = "nope", complex = 1i, list = list(1, 2),
  matrix = matrix(1:4, 2), code = mean, formula = y ~ x, frame = rows, huge = Inf
)
refused <- function(call, arguments, odd = never) {
  for (argument in arguments) for (kind in names(odd)) {
    said <- tryCatch(
      {
        do.call(call, stats::setNames(odd[kind], argument))
        "a value"
      },
      error = conditionMessage
    )
    expect_match(said, paste0("`", argument, "`: got .*; allowed: "), info = paste(argument, kind))
  }
}

test_that("options and choices of a comparison", {
  refused(
    function(...) fs_disparate_impact(rows, "hat", "sex", ...),
    c("reference", "pos_label", "confidence_level", "threshold", "margin", "comparisons", "adjust", "simultaneous",
      "method", "seed")
  )
  refused(function(...) fs_group_metric(rows, ..., y_true = "y", y_pred = "hat", sensitive_features = "sex"), "metric")
  refused(function(...) fs_conditional_accuracy(rows, "y", "hat", "sex", ...), "label")
  refused(function(...) fs_audit(rows, "y", "hat", sensitive_features = "sex", draws = 0, ...), c("missing", "intersections"))
  expect_error(fs_disparate_impact(rows, "hat", "sex", reference = c(race = "f")), "`reference`: got the name race")
})

test_that("a metric is never computed without a column that it needs", {
  expect_error(fs_disparate_impact(rows, NULL, "sex"), "`y_pred`: got NULL")
  expect_error(fs_group_metric(rows, "f1_difference", "y", NULL, "sex"), "`y_pred`: got NULL")
  expect_error(fs_group_metric(rows, "tpr_ratio", NULL, "hat", "sex"), "`y_true`: got NULL")
  expect_error(fs_group_metric(rows, "madd", "y", "hat", "sex"), "`metric`: got madd")
  expect_equal(fs_group_metric(rows, "base_rate_difference", "y", NULL, "sex")$estimate, 0)
})
