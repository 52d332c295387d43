# Pictures: every kind is drawn, returns its object, and what is no picture is refused.

drawn <- function(expression) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  force(expression)
}

test_that("a report is drawn in every kind", {
  report <- fs_read_report(system.file("extdata", "report.json.gz", package = "fairstats"))
  for (kind in eval(formals(plot.fairstats_report)$kind)) {
    expect_identical(drawn(plot(report, kind)), report)
  }
  expect_error(drawn(plot(report, metric = "nothing")), "one of")
  expect_error(drawn(plot(report, "roc", group = "nobody")), "one of")
  expect_error(drawn(plot(report, "scores", sensitive_features = "nothing")), "picture of scores")
})

test_that("an audit and a tail are drawn", {
  found <- fs_disparate_impact(people(), "y_pred", "group")
  expect_identical(drawn(plot(found)), found)
  set.seed(1)
  tail <- fs_ecd(0.5 * rbeta(3000, 2, 8), 0.3 * rbeta(8000, 2, 8))
  expect_identical(drawn(plot(tail)), tail)
})
