# A report that the Python side wrote (r/reference/make_report.py) beside the same audit by base R.

extdata <- function(name) system.file("extdata", name, package = "fairstats")
people_of_report <- function() utils::read.csv(extdata("people.csv"))
edited <- function(change) {
  raw <- jsonlite::fromJSON(gzfile(extdata("report.json.gz")), simplifyVector = FALSE)
  raw$sections <- raw$sections[1L]
  path <- tempfile(fileext = ".json")
  writeLines(jsonlite::toJSON(change(raw), auto_unbox = TRUE, digits = NA, null = "null"), path)
  path
}

test_that("a report is read", {
  report <- fs_read_report(extdata("report.json.gz"))
  expect_s3_class(report, "fairstats_report")
  expect_equal(unlist(report$columns$sensitive_features), c("sex", "origin"))
  expect_equal(report$settings$confidence_level, 0.95)
  expect_true(all(
    c("section", "metric", "group", "estimate", "ci_low", "verdict") %in% names(report$table)
  ))
  expect_type(report$table$estimate, "double")
  expect_equal(unique(report$table$sensitive_features), c("sex", "origin", "sex & origin"))
  first <- report$results[[1L]]
  expect_equal(first$comparisons[[1L]]$estimate, report$table$estimate[1L])
  expect_output(print(report), "verdict|violated")
})

test_that("every number of the report is met by base R: N of N agree", {
  people <- people_of_report()
  compared <- fs_compare(extdata("report.json.gz"), people)
  expect_equal(nrow(compared), 3331) # as the README says
  expect_true(all(compared$agree))
  expect_equal(lengths(attr(compared, "missing")), c(python_only = 0L, r_only = 0L))
  expect_length(attr(compared, "settings"), 0L)
  expect_output(print(compared), paste(nrow(compared), "of", nrow(compared), "agree"))
  # what is neither random nor of exact tests agrees to eight digits
  number <- is.finite(compared$python) & compared$quantity != "verdict"
  exact <- number & compared$tolerance <= 1.001e-6 * pmax(abs(compared$python), 1e-3)
  expect_gt(sum(exact), 1400)
  expect_lt(max(compared$difference[exact] / pmax(abs(compared$python[exact]), 1e-3)), 1e-8)
  # and the tolerances of what is random are not idle
  random <- number & !exact & compared$tolerance > 0
  expect_lt(stats::median(compared$tolerance[random]), 0.05)
})

test_that("what differs is found", {
  people <- people_of_report()
  audit <- fs_audit(
    people,
    y_true = "qualified",
    y_pred = "hired",
    sensitive_features = "sex",
    reference = "male",
    pos_label = list(y_true = "yes", y_pred = 1),
    draws = 0
  )
  report <- fs_read_report(extdata("report.json.gz"))
  compared <- fs_compare(report, audit)
  expect_true(all(compared$agree))
  expect_true("madd" %in% sub(":.*", "", attr(compared, "missing")$python_only))
  # of other rows: nothing that holds over one audit is set beside the other
  expect_false(any(compared$quantity %in% c(OVER_AUDIT, CLAIM_FLAGS, "sentence")))
  audit$ci_low[2L] <- audit$ci_low[2L] * (1 + 1e-5)
  audit$verdict[1L] <- "violated"
  compared <- fs_compare(report, audit)
  expect_equal(compared$quantity[!compared$agree], c("verdict", "ci_low"))
  expect_output(print(compared), paste(nrow(compared) - 2, "of", nrow(compared), "agree"))
  expect_true(all(fs_compare(report, audit, tolerance = 1e-4)$agree[compared$quantity == "ci_low"]))
  audit <- fs_audit(
    people,
    y_pred = "hired",
    sensitive_features = "sex",
    reference = "male",
    confidence_level = 0.9
  )
  compared <- fs_compare(report, audit)
  expect_equal(attr(compared, "settings"), "confidence_level")
  expect_output(print(compared), "Different settings: confidence_level")
  expect_false(all(compared$agree))
})

test_that("rows that Python wrote are read as Python read them", {
  path <- tempfile(fileext = ".csv")
  writeLines(c("\"a \"\"b\"\"\",zip,y,x", "NA,007,True,1e-05", "T,12,False,2.0", ",1,True,"), path)
  rows <- fs_read_table(path, numbers = "x", na_values = "")
  expect_equal(names(rows), c("a \"b\"", "zip", "y", "x"))
  expect_equal(rows[[1L]], c("NA", "T", NA))
  expect_equal(rows$zip, c("007", "12", "1"))
  expect_equal(rows$x, c(1e-05, 2, NA))
  expect_equal(favorable_codes(rows$y, 1, "y"), c(1, 0, 1))
  expect_warning(expect_equal(favorable_codes(c(FALSE, FALSE), 1, "y"), c(0, 0)), "does not occur")
  expect_equal(favorable_codes(c(-1, 1), 1, "y"), c(0, 1))
})

test_that("files that hold no report are refused in words", {
  expect_error(fs_read_report("no-such-file.json"), "no file")
  broken <- tempfile(fileext = ".json")
  writeLines("{", broken)
  expect_error(fs_read_report(broken), "no JSON")
  writeLines('{"class": "RatioResult"}', broken)
  expect_error(fs_read_report(broken), "a RatioResult")
  writeLines("[1, 2]", broken)
  expect_error(fs_read_report(broken), "JSON of something else")
  expect_error(fs_read_report(edited(function(raw) raw[names(raw) != "table"])), "without `table`")
  other <- edited(function(raw) {
    raw$versions$mapping$fairstats <- "9.9"
    raw["sections"] <- list(list())
    raw
  })
  expect_warning(report <- fs_read_report(other), "written by fairstats 9.9")
  expect_equal(report$version, "9.9")
  expect_error(fs_compare(3, people_of_report()), "`report`")
  expect_error(fs_compare(report, 3), "`audit`")
  expect_error(fs_compare(report, people_of_report(), tolerance = -1), "`tolerance`")
})

test_that("the example of the README prints what is shown there", {
  people <- people_of_report()
  shown <- utils::capture.output(
    print(fs_disparate_impact(hired ~ origin, people, reference = "north"))
  )
  expect_equal(
    trimws(shown),
    c(
      "origin (reference: north)",
      "metric           group estimate interval       p      verdict",
      "disparate_impact south 0.857    [0.720, 1.013] 0.0705 undecided",
      "disparate_impact isles 0.656    [0.472, 0.874] 0.0026 undecided",
      "",
      "0 violated, 2 undecided, 0 insufficient evidence, 0 satisfied"
    )
  )
})
