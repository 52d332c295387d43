# A tally that the Python side wrote, beside the rows that it counted.

tally_path <- function() system.file("extdata", "tally.json", package = "fairstats")

test_that("the audit of a tally is the audit of its rows", {
  people <- stats::na.omit(utils::read.csv(system.file(
    "extdata",
    "people.csv",
    package = "fairstats"
  )))
  counted <- fs_read_tally(tally_path())
  expect_s3_class(counted, "fairstats_tally")
  expect_equal(sum(counted$cells$n), nrow(people))
  expect_equal(c(counted$columns$y_true, counted$columns$y_pred), c("qualified", "hired"))
  own <- table(people$sex, as.integer(people$qualified == "yes"), people$hired)
  for (k in seq_len(nrow(counted$cells))) {
    cell <- counted$cells[k, ]
    expect_equal(cell$n, own[[cell$sex, as.character(cell$y_true), as.character(cell$y_pred)]])
  }
  # one method for all rows: what is compared is how they are read
  first <- fs_audit(counted, draws = 0, method = "log")
  second <- fs_audit(
    people,
    y_true = "qualified",
    y_pred = "hired",
    sensitive_features = "sex",
    draws = 0,
    method = "log",
    pos_label = list(y_true = "yes", y_pred = 1)
  )
  expect_equal(first$estimate, second$estimate)
  expect_equal(first$ci_low, second$ci_low)
  expect_equal(first$verdict, second$verdict)
})

test_that("what is no tally is refused", {
  expect_error(fs_read_tally("nowhere.json"), "no file")
  expect_error(
    fs_read_tally(system.file("extdata", "report.json.gz", package = "fairstats")),
    "AuditReport"
  )
})
