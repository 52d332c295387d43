# Vignettes are written by the command line of the Python side.

test_that("a missing program is said", {
  expect_error(
    fs_vignette("a.Rmd", "people.csv", "sex", command = "no-such-program"),
    "not on PATH"
  )
})

test_that("a vignette is written", {
  skip_if(!nzchar(Sys.which("fairstats")), "the program fairstats is not on PATH")
  people <- system.file("extdata", "people.csv", package = "fairstats")
  path <- tempfile(fileext = ".Rmd")
  expect_identical(
    fs_vignette(path, people, "sex", y_pred = "hired", margin = 0.05, missing = "drop"),
    path
  )
  expect_true(any(grepl("margin=0.05", readLines(path), fixed = TRUE)))
  expect_error(fs_vignette(path, people, "sex", y_pred = "hired"), "there already")
  expect_error(fs_vignette(path, people, "sex", y_pred = "hired", overwrite = NA), "overwrite")
  expect_identical(fs_vignette(path, people, "sex", y_pred = "hired", overwrite = TRUE), path)
  expect_false(any(grepl("margin=0.05", readLines(path), fixed = TRUE)))
})
