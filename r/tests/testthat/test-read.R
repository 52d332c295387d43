# Files are read as text, by the rule of the Python side. Expected values are written by hand.

written <- function(lines, ending = ".csv") {
  file <- tempfile(fileext = ending)
  writeLines(lines, file, useBytes = TRUE)
  file
}

test_that("labels keep what is written, and missing is what the list says", {
  rows <- fs_read_table(written(c(
    "code,g,flag,big",
    "01,NA,TRUE,12345678901234567890",
    "1,,T,0x10",
    "007,\" a \",yes,+1"
  )))
  expect_identical(rows$code, c("01", "1", "007"))
  expect_identical(rows$g, c(NA, NA, " a "))
  expect_identical(rows$flag, c("TRUE", "T", "yes"))
  expect_identical(rows$big, c("12345678901234567890", "0x10", "+1"))
})

test_that("na_values takes the place of the list", {
  file <- written(c("region,x", "NA,1", "EU,-9", ",2"))
  expect_identical(fs_read_table(file, na_values = "")$region, c("NA", "EU", NA))
  expect_identical(fs_read_table(file, numbers = "x", na_values = "-9")$x, c(1, NA, 2))
})

test_that("numbers are numbers or an error that shows the first row that is none", {
  file <- written(c("x,y,z", "1,0x10,a", "+2.5e-1,2,b", " 3. ,1_0,c"))
  expect_identical(fs_read_table(file, numbers = "x")$x, c(1, 0.25, 3))
  expect_error(fs_read_table(file, numbers = "y"), "\"0x10\" in row 1", fixed = TRUE)
  for (text in c("inf", "1,5", "5%", "1e999")) {
    wrong <- written(c("x;y", "1;2", paste0(text, ";2")))
    expect_error(fs_read_table(wrong, numbers = "x"), "in row 2", fixed = TRUE)
  }
  expect_identical(fs_read_table(file, features = c("x", "z"))$z, c("a", "b", "c"))
  expect_error(fs_read_table(file, features = "y"), "all numbers, or all categories")
})

test_that("separator, decimal comma and quoted line ends are read", {
  file <- written(c("g;x", "\"a", "b\";0,5", "c;1"))
  rows <- fs_read_table(file, numbers = "x", decimal = ",")
  expect_identical(rows$g, c("a\nb", "c"))
  expect_identical(rows$x, c(0.5, 1))
})

test_that("spaces separate where nothing else does", {
  rows <- fs_read_table(written(c("\"g\" \"x y\"", "\"a b\" 0.5", "\"c\" 1")), numbers = "x y")
  expect_identical(rows$g, c("a b", "c"))
  expect_identical(fs_read_table(written(c("g h|x", "a b|1")))$`g h`, "a b")
})

test_that("what is no table is refused", {
  expect_error(fs_read_table("nowhere.csv"), "`file`")
  expect_error(fs_read_table(written(c("a,b", "1,2,3"))), "cannot be read")
  expect_error(fs_read_table(written(c("a,b", "1,2")), columns = "c"), "no column c")
  expect_error(fs_read_table(written("a,b")), "0 rows")
})
