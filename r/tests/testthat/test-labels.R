# How values become labels, and what is missing: the rule of fairstats/ground/values.py, once more.
# Witness: counting by table() on rows chosen by hand.

set.seed(1)
rows <- data.frame(
  y = sample(c("yes", "no", "", NA), 400, TRUE, c(0.4, 0.4, 0.1, 0.1)),
  hat = stats::rbinom(400, 1, 0.5),
  sex = sample(c("f", "m", ""), 400, TRUE, c(0.5, 0.4, 0.1)),
  site = sample(c("u", "v"), 400, TRUE)
)
complete <- subset(rows, nzchar(y) & !is.na(y) & nzchar(sex))

test_that("empty text is missing, and missing = has the policies of Python", {
  raised <- tryCatch(
    fs_disparate_impact(rows, "y", "sex", pos_label = "yes"),
    error = conditionMessage
  )
  expect_match(raised, "missing values")
  expect_warning(
    found <- fs_disparate_impact(rows, "y", "sex", pos_label = "yes", missing = "drop"),
    paste(nrow(rows) - nrow(complete), "of 400 rows left out")
  )
  expect_equal(
    found$estimate,
    fs_disparate_impact(complete, "y", "sex", pos_label = "yes")$estimate
  )
  grouped <- fs_disparate_impact(rows, "hat", "sex", missing = "group")
  expect_true("(missing)" %in% grouped$group)
  expect_match(
    tryCatch(
      fs_disparate_impact(rows, "y", "sex", pos_label = "yes", missing = "group"),
      error = conditionMessage
    ),
    "missing values"
  )
  expect_error(fs_disparate_impact(rows, "hat", "sex", missing = "keep"), "`missing`")
})

test_that("vectors and the other functions settle missing values alike", {
  drop <- function(call) suppressWarnings(call)$estimate
  adjusted <- function(rows, ...) {
    suppressWarnings(fs_disparate_impact(
      rows,
      "y",
      "sex",
      pos_label = "yes",
      strata = "site",
      ...
    ))$adjusted
  }
  expect_equal(adjusted(rows, missing = "drop"), adjusted(complete))
  expect_equal(
    drop(fs_disparate_impact(
      y_pred = rows$y,
      sensitive_features = rows$sex,
      pos_label = "yes",
      missing = "drop"
    )),
    fs_disparate_impact(complete, "y", "sex", pos_label = "yes")$estimate
  )
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
  for (pair in list(
    c("no", "yes"),
    c("False", "True"),
    c("false", "true"),
    c("FALSE", "TRUE"),
    c("0", "1")
  )) {
    found <- fs_disparate_impact(
      y_pred = rep(pair, each = 20),
      sensitive_features = half,
      pos_label = if (pair[2L] == "yes") "yes" else 1
    )
    expect_equal(found$estimate, 1)
  }
  zeros <- function(...) fs_disparate_impact(sensitive_features = half, ...)
  expect_warning(zeros(y_pred = rep(0, 40)), "every row of it counts as unfavourable")
  expect_error(zeros(y_pred = rep("no", 40), pos_label = "yes"), "label_values")
  expect_warning(
    zeros(y_pred = rep("no", 40), pos_label = "yes", label_values = c("no", "yes")),
    "unfavourable"
  )
  expect_error(
    zeros(y_pred = rep(c("yes", "maybe"), 20), pos_label = "yes", label_values = c("no", "yes")),
    "maybe"
  )
})

test_that("labels are written as Python writes them", {
  expect_equal(
    label_text(c(-0, 1, 2^60, 1e300, 0.1)),
    c("0", "1", "1152921504606846976", "1e+300", "0.1")
  )
  moments <- as.POSIXct(c("2020-01-01 12:00:00", "2020-01-02 00:00:00"), tz = "UTC")
  expect_equal(label_text(moments), c("2020-01-01 12:00:00", "2020-01-02"))
  expect_equal(label_text(c(TRUE, NA)), c("True", NA))
})

test_that("labels beside the favourable one are counted and named", {
  people <- data.frame(
    risk = rep(c("Low", "Medium", "High"), c(3000, 1200, 800)),
    sex = rep(c("f", "m"), 2500),
    y = rep(c("good", "bad"), 2500)
  )
  words <- "counted as not favourable: Medium 1,200 rows, High 800."
  one <- fs_disparate_impact(people, "risk", "sex", pos_label = "Low")
  expect_equal(attr(one, "head"), paste("y_pred:", words))
  expect_output(print(one), "y_pred: counted as not favourable", fixed = TRUE)
  both <- list(y_true = "good", y_pred = "Low")
  audit <- fs_audit(people, "y", "risk", sensitive_features = "sex", pos_label = both, draws = 0)
  expect_equal(
    grep("risk:", attr(audit, "head"), value = TRUE, fixed = TRUE),
    paste("risk:", words)
  )
  expect_output(print(audit), "risk: counted as not favourable", fixed = TRUE)
  people$other <- rev(people$risk)
  models <- fs_compare_models(people, "y", c(A = "risk", B = "other"), "sex", pos_label = both)
  of_labels <- grep("y_pred[", attr(models, "head"), value = TRUE, fixed = TRUE)
  expect_equal(of_labels, paste0("y_pred['", c("A", "B"), "']: ", words))
  expect_output(print(models), "y_pred['B']: counted", fixed = TRUE)
  # the one other label needs no word
  expect_null(attr(fs_disparate_impact(people, "y", "sex", pos_label = "good"), "head"))
  # what a column has does not depend on rows that are left out
  people$risk[people$risk == "High"][1:800] <- "High"
  people$sex[people$risk == "High"] <- NA
  left <- suppressWarnings(fs_disparate_impact(
    people,
    "risk",
    "sex",
    pos_label = "Low",
    missing = "drop"
  ))
  expect_equal(attr(left, "head"), "y_pred: counted as not favourable: Medium 1,200 rows.")
})

test_that("of many labels their number is said", {
  rows <- stats::setNames(12:1, paste0("label", 1:12))
  expect_match(
    words_of_labels(list(y = rows)),
    "label1 12 rows, label2 11, .* label8 5, and 4 other labels\\.$"
  )
})

test_that("label_values and declared levels say what may occur, in every function that reads labels", {
  d <- data.frame(
    g = rep(c("a", "b"), 20),
    y = rep(c("yes", "no", "no", "yes"), 10),
    p = rep(c("yes", "maybe"), 20),
    x = seq_len(40),
    score = rep(c(0.2, 0.7), 20)
  )
  allowed <- c("no", "yes")
  expect_error(
    fs_compare_models(d, "y", c("y", "p"), "g", pos_label = "yes", label_values = allowed),
    "maybe"
  )
  expect_error(fs_hfm(d, "x", "y", "p", "g", pos_label = "yes", label_values = allowed), "maybe")
  expect_error(
    fs_mitigation(d, "p", "score", "score", "g", pos_label = "yes", label_values = allowed),
    "maybe"
  )
  expect_error(
    fs_adverse_impact(d, "p", sex = "g", pos_label = "yes", label_values = allowed),
    "maybe\" in 20 rows"
  )
  expect_error(
    fs_audit(
      d,
      y_pred = "p",
      sensitive_features = "g",
      pos_label = "yes",
      label_values = list(y_pred = allowed)
    ),
    "maybe"
  )
  expect_error(
    fs_audit(
      d,
      y_pred = "y",
      sensitive_features = "g",
      pos_label = "yes",
      label_values = list(y_pred = sum)
    ),
    "label_values"
  )
  nobody <- factor(rep("no", 40), c("no", "yes"))
  expect_warning(
    fs_disparate_impact(y_pred = nobody, sensitive_features = d$g, pos_label = "yes"),
    "unfavourable"
  )
  # the other label column has it, and shares a label
  expect_warning(
    fs_group_metric(
      metric = "tpr_difference",
      y_true = d$y,
      y_pred = rep("no", 40),
      sensitive_features = d$g,
      pos_label = "yes"
    ),
    "unfavourable"
  )
  expect_error(
    fs_group_metric(
      metric = "tpr_difference",
      y_true = d$y,
      y_pred = rep("no.", 40),
      sensitive_features = d$g,
      pos_label = "yes"
    ),
    "label_values"
  )
})

test_that("adverse impact names the labels that count as not selected, of each step among its applicants", {
  people <- data.frame(
    sex = rep(c("f", "m"), 10),
    screen = rep(c("in", "out", "later", "in"), 5),
    offer = rep(c("yes", "no", "no", "declined"), 5)
  )
  found <- fs_adverse_impact(people, "screen", sex = "sex", pos_label = "in")
  expect_identical(attr(found, "head"), "selected: counted as not favourable: out 5 rows, later 5.")
  people$screen[people$screen == "later"] <- "out"
  expect_null(attr(fs_adverse_impact(people, "screen", sex = "sex", pos_label = "in"), "head"))
})
