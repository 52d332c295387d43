# Odd input: a right number, or an error that names the argument. Keyed by position, never by text.

people <- data.frame(
  y = rep(c(0, 1), 40),
  hat = rep(c(1, 0, 0, 1, 1), 16),
  score = (1:80) / 81,
  sex = rep(c("f", "m"), each = 40),
  age = 1:80,
  site = rep(1:20, 4),
  stringsAsFactors = FALSE
)
with_column <- function(name, value) {
  people[[name]] <- value
  people
}
ratio <- function(data, ...) fs_disparate_impact(data, "hat", "sex", ...)

test_that("every odd column is an error that names the argument", {
  odd <- list(
    list(with_column("hat", I(as.list(people$hat))), "y_pred"),
    list(with_column("hat", I(cbind(people$hat, people$hat))), "y_pred"),
    list(with_column("hat", complex(real = people$hat, imaginary = 1)), "y_pred"),
    list(with_column("hat", as.raw(people$hat)), "y_pred"),
    list(with_column("hat", replace(people$hat, 3, NA)), "y_pred"),
    list(with_column("hat", replace(people$hat, 3, NaN)), "y_pred"),
    list(with_column("hat", 7), "pos_label"),
    list(with_column("sex", I(as.list(people$sex))), "sensitive_features"),
    list(with_column("sex", replace(people$sex, 2, NA)), "sensitive_features"),
    list(with_column("sex", "f"), "sensitive_features"),
    list(with_column("sex", as.raw(people$hat)), "sensitive_features"),
    list(people[0, ], "data"),
    list(stats::setNames(people, c("y", "hat", "score", "sex", "hat", "site")), "data"),
    list(list(hat = 1:3, sex = 1:2), "data"),
    list(1:3, "data")
  )
  for (case in odd) {
    expect_error(ratio(case[[1]]), paste0("`", case[[2]], "`: got"), fixed = TRUE)
  }
  expect_error(ratio(people, sample_weight = rep("1", 80)), "`sample_weight`: got")
  expect_error(ratio(people, sample_weight = rep(-1, 80)), "`sample_weight`: got")
  expect_error(ratio(people, sample_weight = rep(Inf, 80)), "`sample_weight`: got")
  expect_error(ratio(people, cluster = replace(people$site, 1, NA)), "`cluster`: got")
  expect_error(ratio(people, cluster = rep(1, 80)), "`cluster`: got")
  expect_error(ratio(people, reference = "x"), "`reference`: got")
  expect_error(ratio(people, confidence_level = 95), "confidence_level")
  expect_error(ratio(people, confidence_level = "0.95"), "confidence_level")
  expect_error(ratio(people, threshold = 2), "threshold")
  expect_error(fs_disparate_impact(people, "hta", "sex"), "`y_pred`: got")
  expect_error(
    fs_disparate_impact(people, "hat", list(a = people$sex, a = people$sex)),
    "each column once"
  )
  expect_error(fs_disparate_impact(people, "hat", list()), "`sensitive_features`: got")
  expect_error(fs_madd(people, people$score * 2, "sex"), "`score`: got")
  expect_error(fs_madd(people, replace(people$score, 1, NA), "sex"), "`score`: got")
  expect_error(fs_madd(people, as.character(people$score), "sex"), "`score`: got")
  expect_error(fs_madd(people, factor(people$score), "sex"), "`score`: got")
})

test_that("scores, groups, clusters and persons that agree to 15 digits stay apart", {
  near <- c(0.3, 0.1 + 0.2)
  expect_identical(as.character(near)[1], as.character(near)[2])
  expect_length(unique(label_text(near)), 2L)
  expect_identical(label_text(c(1e5, 1, 2.5, NA)), c("100000", "1", "2.5", NA))
  data <- with_column("sex", rep(near, each = 40))
  expect_equal(ratio(data)$estimate, ratio(people)$estimate)
  data <- with_column("score", rep(c(near, 0.7, 0.7 + 1e-16 * 2), 20))
  expect_silent(fs_madd(data, "score", "sex", n_resamples = 99))
  expect_silent(fs_abroca(data, "y", "score", "sex", n_resamples = 99))
  sites <- rep(0.1 + (1:20) * 2^-54, 4)
  expect_equal(
    ratio(with_column("site", sites), cluster = "site")$std_error,
    ratio(people, cluster = "site")$std_error
  )
  expect_equal(
    discriminative_risk(people$hat, sites)$estimate,
    discriminative_risk(people$hat, people$site)$estimate
  )
})

test_that("the options of the session change nothing", {
  data <- with_column("sex", rep(c(100000, 250000.5), each = 40))
  expected <- ratio(data)
  before <- options(scipen = -10, digits = 3, OutDec = ",")
  found <- ratio(data)
  options(before)
  expect_identical(found, expected)
  expect_setequal(c(expected$group, expected$reference), c("100000", "250000.5"))
})

test_that("declared levels without rows are no groups, and are named", {
  for (ordered in c(FALSE, TRUE)) {
    data <- with_column("sex", factor(people$sex, c("x", "m", "f"), ordered = ordered))
    expect_warning(found <- ratio(data, reference = "m"), "declared values x have no rows")
    expect_identical(found$group, "f")
    expect_equal(found$estimate, ratio(people, reference = "m")$estimate)
  }
})

test_that("a group is found by its value", {
  data <- with_column("sex", rep(c(1, 2), each = 40))
  expect_identical(ratio(data, reference = 1L)$reference, "1")
  expect_identical(ratio(data, reference = "1")$reference, "1")
  data <- with_column("sex", rep(c(TRUE, FALSE), each = 40))
  expect_identical(ratio(data, reference = TRUE)$reference, "True")
})

test_that("dates are numbers, and identifiers are refused", {
  far <- function(x) {
    found <- fs_hfm(
      with_column("age", x),
      "age",
      "y",
      "hat",
      "sex",
      n_resamples = 0,
      n_subsamples = 0
    )
    found$estimate[found$metric == "hfm_distance_labels"]
  }
  day <- as.Date("2020-01-01") + people$age
  expect_equal(far(day), far(people$age))
  expect_equal(far(as.POSIXct(day)), far(people$age))
  expect_equal(far(day - day[1]), far(people$age))
  expect_error(far(paste("person", people$age)), "an identifier with 80 values in 80 rows")
  expect_error(far(complex(real = people$age)), "`features`: got")
})

test_that("columns without names are refused, not taken unchecked", {
  sets <- list(y = people$y, hat = people$hat, sex = people$sex)
  expect_error(
    fs_hfm(NULL, list(people$age), sets$y, sets$hat, sets$sex, n_resamples = 0, n_subsamples = 0),
    "columns without names"
  )
})
