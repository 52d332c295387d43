# Comparisons within strata against stats::mantelhaen.test and sums written out.

berkeley <- function() {
  counts <- as.data.frame(UCBAdmissions)
  rows <- counts[rep(seq_len(nrow(counts)), counts$Freq), ]
  data.frame(
    admitted = as.numeric(rows$Admit == "Admitted"),
    sex = as.character(rows$Gender),
    dept = as.character(rows$Dept)
  )
}

test_that("Berkeley's admissions turn by department, and the tests are those of mantelhaen.test", {
  found <- fs_disparate_impact(berkeley(), "admitted", "sex", reference = "Male", strata = "dept")
  expect_equal(found$estimate, (557 / 1835) / (1198 / 2691))
  expect_equal(found$verdict, "violated")
  expect_equal(found$adjusted, 1.058307, tolerance = 1e-6)
  expect_equal(found$adjusted_verdict, "satisfied")
  within <- attr(found, "stratified")
  plain <- mantelhaen.test(UCBAdmissions, correct = FALSE)
  exact <- mantelhaen.test(UCBAdmissions, exact = TRUE, alternative = "less")
  expect_equal(within$cmh_p, plain$p.value)
  expect_equal(within$pvalue, plain$p.value)
  # women against men here, men against women there
  expect_equal(within$exact_p, 2 * exact$p.value, tolerance = 1e-7)
})

test_that("functions of the cells are taken of standardised ones", {
  d <- people()
  d$job <- rep(c("x", "y", "z"), length.out = nrow(d))
  d$one <- 1
  d$w <- rep(c(1, 2, 0.5, 3), length.out = nrow(d))
  f1 <- function(rows, weight) {
    tp <- sum(weight[rows$y_true == 1 & rows$y_pred == 1])
    2 * tp / (sum(weight[rows$y_true == 1]) + sum(weight[rows$y_pred == 1]))
  }
  found <- fs_group_metric(
    d,
    "f1_difference",
    "y_true",
    "y_pred",
    "group",
    reference = "blue",
    strata = "job",
    sample_weight = "w"
  )
  for (group in found$group) {
    own <- d[d$group == group, ]
    other <- d[d$group == "blue", ]
    n <- tapply(own$w, own$job, sum)
    m <- tapply(other$w, other$job, sum)
    share <- n * m / (n + m)
    value <- f1(own, own$w * (share / n)[own$job]) - f1(other, other$w * (share / m)[other$job])
    expect_equal(found$adjusted[found$group == group], value)
  }
  # one stratum is the comparison without strata, with weights and clusters, too
  for (columns in list(
    list(),
    list(sample_weight = "w"),
    list(cluster = rep(1:60, length.out = nrow(d)))
  )) {
    for (comparisons in c("reference", "rest", "overall")) {
      alone <- do.call(
        fs_group_metric,
        c(
          list(d, "f1_difference", "y_true", "y_pred", "group"),
          list(strata = "one", comparisons = comparisons),
          columns
        )
      )
      expect_equal(alone$adjusted, alone$estimate)
      expect_equal(alone$adjusted_ci_low, alone$ci_low, tolerance = 1e-10)
      expect_equal(alone$adjusted_pvalue, alone$pvalue, tolerance = 1e-9)
      expect_equal(alone$adjusted_verdict, alone$verdict)
    }
  }
})

test_that("ratios of functions with a value of 0 have the limits of one stratum", {
  d <- people()
  d$one <- 1
  d$y_pred[d$group == "blue" & d$y_true == 1] <- 0
  found <- fs_group_metric(
    d,
    "f1_ratio",
    "y_true",
    "y_pred",
    "group",
    reference = "blue",
    strata = "one"
  )
  expect_true(all(found$adjusted_verdict == "violated"))
  expect_equal(found$adjusted_ci_low, found$ci_low, tolerance = 1e-9)
  expect_true(all(is.infinite(found$adjusted)))
  # 0/0 can be any ratio
  d$y_pred[d$y_true == 1] <- 0
  found <- fs_group_metric(
    d,
    "f1_ratio",
    "y_true",
    "y_pred",
    "group",
    reference = "blue",
    strata = "one"
  )
  expect_true(all(found$adjusted_verdict == "insufficient evidence"))
  expect_true(all(found$adjusted_ci_low == 0 & found$adjusted_ci_high == Inf))
})

test_that("zeros are answered", {
  d <- data.frame(
    hit = c(rep(0, 50), rep(1:0, c(10, 40)), rep(0, 40), rep(1:0, c(12, 28))),
    sex = rep(c("w", "m", "w", "m"), c(50, 50, 40, 40)),
    job = rep(c("x", "y"), c(100, 80))
  )
  within <- attr(
    fs_disparate_impact(d, "hit", "sex", reference = "m", strata = "job"),
    "stratified"
  )
  table <- array(c(0, 50, 10, 40, 0, 40, 12, 28), c(2, 2, 2))
  expect_equal(within$estimate, 0)
  expect_equal(within$cmh_p, mantelhaen.test(table, correct = FALSE)$p.value)
  expect_equal(within$exact_p, mantelhaen.test(table, exact = TRUE)$p.value)
  expect_equal(within$verdict, "violated")
  expect_true(is.nan(within$tarone_p))
})

test_that("one stratum is the score interval of its table", {
  d <- people()
  d$one <- 1
  found <- fs_disparate_impact(d, "y_pred", "group", reference = "blue", strata = "one")
  expect_equal(found$adjusted, found$estimate)
  plain <- rate_interval(
    sum(d$y_pred[d$group == "green"]),
    sum(d$group == "green"),
    sum(d$y_pred[d$group == "blue"]),
    sum(d$group == "blue"),
    "ratio",
    "score"
  )
  green <- found[found$group == "green", ]
  expect_equal(c(green$adjusted_ci_low, green$adjusted_ci_high), plain, tolerance = 1e-8)
})

test_that("Breslow and Day's test by hand, without strata that say nothing", {
  t <- list(k1 = c(7, 3, 0, 8), n1 = c(10, 10, 8, 8), k0 = c(3, 7, 0, 9), n0 = c(10, 10, 9, 9))
  # pooled odds ratio 1: 5 expected in every cell, 1/v = 4/5, distances 2 and -2
  expect_equal(tarone_test(t), c(6.4, pchisq(6.4, 1, lower.tail = FALSE)))
  expect_equal(
    score_homogeneity(t, "difference")[1L],
    score_homogeneity(lapply(t, `[`, 1:2), "difference")[1L]
  )
})

test_that("strata that cannot be used are refused", {
  d <- people()
  expect_error(fs_disparate_impact(d, "y_pred", "group", strata = "nope"), "`strata`")
  expect_error(
    fs_demographic_parity_difference(d, "y_pred", "group", agg = "max", strata = "y_true"),
    "`strata`"
  )
  expect_error(
    fs_group_metric(d, "f1_max", "y_true", "y_pred", "group", strata = "y_true"),
    "f1_max"
  )
})

test_that("an audit has crude and adjusted side by side, and says at its head where they disagree", {
  found <- fs_audit(berkeley(), y_pred = "admitted", sensitive_features = "sex", strata = "dept")
  within <- found[found$metric == "disparate_impact_stratified", ]
  alone <- fs_disparate_impact(berkeley(), "admitted", "sex", strata = "dept")
  expect_equal(within$crude, found$estimate[found$metric == "disparate_impact"])
  expect_equal(within$crude_verdict, "violated")
  expect_equal(
    c(within$estimate, within$ci_low, within$pvalue),
    c(alone$adjusted, alone$adjusted_ci_low, alone$adjusted_pvalue)
  )
  expect_equal(c(within$n, within$n_reference, within$n_strata), c(1835, 2691, 6))
  # adjusted rates by hand, with the weights of Mantel and Haenszel
  n <- apply(UCBAdmissions, 2:3, sum)
  w <- n["Male", ] * n["Female", ] / colSums(n)
  expect_equal(within$rate, sum(w * UCBAdmissions["Admitted", "Female", ] / n["Female", ]) / sum(w))
  # the other sentence at the head is about the whole audit
  head <- grep("Strata change", attr(found, "head"), value = TRUE, fixed = TRUE)
  expect_length(head, 1L)
  expect_match(
    head,
    "Strata change the answer for 2 of 2 comparisons: Female against Male: crude ratio 0.682",
    fixed = TRUE
  )
  expect_match(
    head,
    "within 6 strata of dept 1.058 (95% interval 0.967 to 1.156; satisfied)",
    fixed = TRUE
  )
  expect_length(attr(found, "notes"), 2L)
  expect_output(print(found), "Strata change the answer")
  expect_output(print(found), "0.682, violated", fixed = TRUE)
  expect_output(print(alone), "1.058 [0.967, 1.156], satisfied", fixed = TRUE)
})

test_that("strata that change nothing are not spoken of, and means of rates are among the rows", {
  d <- people(n = 600)
  d$half <- rep(c("u", "v"), 300)
  found <- fs_audit(d, "y_true", "y_pred", sensitive_features = "group", strata = "half", draws = 0)
  within <- found[grepl("_stratified$", found$metric), ]
  expect_true("average_odds_difference_stratified" %in% within$metric)
  expect_false(any(grepl("_max|f1|mcc", within$metric)))
  expect_equal(
    within$crude,
    found$estimate[match(
      paste(sub("_stratified", "", within$metric), within$group),
      paste(found$metric, found$group)
    )]
  )
  # a family of their own, as the crude ones of the same metric
  ratio <- within[within$metric == "disparate_impact_stratified", ]
  expect_equal(ratio$pvalue_adjusted, p.adjust(ratio$pvalue, "holm"))
  expect_error(
    fs_audit(d, y_pred = "y_pred", sensitive_features = "group", strata = c("half", "group")),
    "`strata`"
  )
  d$half[1L] <- NA
  expect_error(
    fs_audit(d, y_pred = "y_pred", sensitive_features = "group", strata = "half"),
    "missing values"
  )
  left <- fs_audit(
    d,
    y_pred = "y_pred",
    sensitive_features = "group",
    strata = "half",
    missing = "drop"
  )
  expect_equal(sum(left$n[left$metric == "demographic_parity_max"]), 599)
})

test_that("a tally brings its strata along", {
  d <- berkeley()
  cells <- as.data.frame(
    table(sex = d$sex, dept = d$dept, y_pred = d$admitted),
    responseName = "n",
    stringsAsFactors = FALSE
  )
  cells$y_pred <- as.integer(cells$y_pred)
  counted <- structure(
    list(
      attributes = "sex",
      strata = "dept",
      cells = cells,
      columns = list(y_pred = "admitted"),
      missing = list()
    ),
    class = "fairstats_tally"
  )
  of_tally <- fs_audit(counted)
  of_rows <- fs_audit(d, y_pred = "admitted", sensitive_features = "sex", strata = "dept")
  expect_equal(of_tally$estimate, of_rows$estimate)
  expect_equal(attr(of_tally, "head"), attr(of_rows, "head"))
})

test_that("where adjusted and crude comparison agree no sentence is made", {
  row <- function(...) {
    utils::modifyList(
      list(
        group = "a",
        reference = "b",
        estimate = 0.5,
        ci_low = 0.4,
        ci_high = 0.6,
        pvalue = 0.001,
        verdict = "violated",
        confidence_level = 0.95,
        pvalue_homogeneity = 0.5
      ),
      list(...)
    )
  }
  said <- function(within, crude = row()) disagreement_of(crude, within, "ratio", "3 strata")
  expect_equal(said(row(estimate = 0.55)), "")
  # outside the interval, but on the same side and as different from equality
  expect_equal(said(row(estimate = 0.7)), "")
  expect_match(
    said(row(estimate = 1.3)),
    "crude ratio 0.500 (violated), within 3 strata 1.300",
    fixed = TRUE
  )
  expect_match(said(row(estimate = 0.7, pvalue = 0.2)), "0.700")
  expect_match(
    said(row(verdict = "undecided", ci_high = Inf)),
    "0.400 to inf; undecided",
    fixed = TRUE
  )
  expect_equal(said(row(verdict = "insufficient evidence")), "")
  expect_match(
    said(row(estimate = 1.3, pvalue_homogeneity = 0.012)),
    "Strata differ (p = 0.012)",
    fixed = TRUE
  )
})

test_that("conditional demographic disparity is the weighted sum of the strata's", {
  data <- as.data.frame(UCBAdmissions)
  data <- data[rep(seq_len(nrow(data)), data$Freq), ]
  data$admitted <- as.integer(data$Admit == "Admitted")
  found <- fs_group_metric(
    data,
    "conditional_demographic_disparity",
    y_pred = "admitted",
    sensitive_features = "Gender",
    strata = "Dept"
  )
  by_department <- vapply(
    split(data, data$Dept),
    function(d) {
      nrow(d) *
        (mean(d$Gender[d$admitted == 0] == "Female") - mean(d$Gender[d$admitted == 1] == "Female"))
    },
    0
  )
  women <- found[found$group == "Female", ]
  expect_equal(women$estimate, sum(by_department) / nrow(data))
  expect_equal(women$reference, "the accepted")
  expect_true(women$ci_low < women$estimate && women$estimate < women$ci_high)
  expect_error(
    fs_group_metric(
      data,
      "conditional_demographic_disparity",
      y_pred = "admitted",
      sensitive_features = "Gender",
      reference = "Male"
    ),
    "reference"
  )
})

test_that("a reference that the data choose counts all pairs within strata", {
  set.seed(4)
  d <- data.frame(
    group = sample(c("a", "b", "c"), 900, TRUE),
    stratum = sample(c("x", "y"), 900, TRUE)
  )
  d$hired <- stats::rbinom(900, 1, c(a = 0.5, b = 0.35, c = 0.45)[d$group])
  found <- fs_disparate_impact(d, "hired", "group", strata = "stratum", reference = "highest")
  within <- attr(found, "stratified")
  highest <- unique(found$reference)
  expect_identical(highest, names(which.max(tapply(d$hired, d$group, mean))))
  expect_equal(within$pvalue_adjusted, pmin(3 * within$pvalue, 1))
  expect_equal(
    within$pvalue_verdict_adjusted,
    pmax(
      pmin(3 * within$pvalue_verdict, 1),
      ifelse(within$verdict == "satisfied", 0, within$pvalue_adjusted)
    )
  )
  named <- fs_disparate_impact(
    d,
    "hired",
    "group",
    strata = "stratum",
    reference = highest,
    confidence_level = 1 - 0.05 / 3
  )
  expect_equal(found$adjusted_ci_low, named$adjusted_ci_low)
  expect_equal(found$adjusted_ci_high, named$adjusted_ci_high)
})

test_that("clusters and weights in one stratum are those without strata", {
  d <- people(n = 600)
  d$half <- "all"
  d$w <- rep(c(1, 2, 4), length.out = 600)
  for (design in list(list(cluster = "cluster"), list(sample_weight = "w"))) {
    found <- do.call(
      fs_disparate_impact,
      c(list(d, "y_pred", "group", strata = "half", reference = "blue"), design)
    )
    within <- attr(found, "stratified")
    if (is.null(design$cluster)) {
      expect_equal(within$estimate, found$estimate)
      expect_equal(within$std_error, found$std_error)
      expect_equal(within$pvalue, found$pvalue)
    }
    expect_equal(found$adjusted, found$estimate)
    expect_match(within$method[1L], "effective")
  }
})
