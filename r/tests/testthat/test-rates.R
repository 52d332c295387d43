# Rates of frames against proportions written out, the survey package and prop.test; the table of
# metrics.

of <- function(found, group = "red") found[found$group == group, ]

cells_of <- function(d, rate, weight = NULL, cluster = NULL) {
  input <- list(
    y_true = d$y_true,
    y_pred = d$y_pred,
    weight = weight,
    cluster = cluster,
    n = nrow(d)
  )
  cells <- audit_cells(input, list(labels = d$group, groups = sort(unique(d$group))))
  cell_metric(cells$totals, as_metric(rate, 4L), cells$rows, cells$scatter, cells$units)
}

test_that("rates are plain proportions", {
  d <- people()
  found <- cells_of(d, "tpr")
  kept <- d[d$y_true == 1, ]
  expect_equal(found$rate, as.numeric(tapply(kept$y_pred, kept$group, mean)))
  expect_equal(found$parts[[1L]]$cases, as.numeric(table(kept$group)))
  expect_equal(diag(found$covariance), found$rate * (1 - found$rate) / found$rows)
  expect_identical(found$df, Inf)
})

test_that("weights that are alike within groups change nothing", {
  d <- people()
  plain <- cells_of(d, "selection_rate")
  unit <- cells_of(d, "selection_rate", weight = rep(1, nrow(d)))
  expect_equal(unit$covariance, plain$covariance)
  expect_identical(unit$df, Inf)
})

test_that("linearisation is that of the survey package", {
  skip_if_not_installed("survey")
  d <- people()
  for (clustered in c(FALSE, TRUE)) {
    design <- survey::svydesign(ids = if (clustered) ~cluster else ~1, weights = ~weight, data = d)
    by <- survey::svyby(
      ~y_pred,
      ~group,
      subset(design, y_true == 1),
      survey::svymean,
      covmat = TRUE
    )
    ratio <- survey::svycontrast(by, quote(red / blue))
    found <- of(fs_conditional_accuracy(
      d,
      "y_true",
      "y_pred",
      "group",
      reference = "blue",
      sample_weight = "weight",
      cluster = if (clustered) "cluster"
    ))
    expect_equal(found$estimate, as.numeric(coef(ratio)), tolerance = 1e-12)
    expect_equal(found$std_error, as.numeric(survey::SE(ratio)), tolerance = 1e-10)
    expect_equal(
      cells_of(d, "tpr", d$weight, if (clustered) d$cluster)$covariance,
      unname(vcov(by)),
      tolerance = 1e-10,
      ignore_attr = TRUE
    )
  }
})

test_that("the ratios are what their names say", {
  d <- people()
  rate <- function(y, rows, g) mean(y[rows & d$group == g])
  all <- rep(TRUE, nrow(d))
  red <- function(x) of(x)$estimate
  expect_equal(
    red(fs_disparate_impact(d, "y_pred", "group", reference = "blue")),
    rate(d$y_pred, all, "red") / rate(d$y_pred, all, "blue")
  )
  expect_equal(
    red(fs_conditional_accuracy(d, "y_true", "y_pred", "group", reference = "blue", label = 0)),
    rate(1 - d$y_pred, d$y_true == 0, "red") / rate(1 - d$y_pred, d$y_true == 0, "blue")
  )
  expect_equal(
    red(fs_conditional_use_accuracy(
      d,
      "y_true",
      "y_pred",
      "group",
      reference = "blue",
      prediction = 0
    )),
    rate(1 - d$y_true, d$y_pred == 0, "red") / rate(1 - d$y_true, d$y_pred == 0, "blue")
  )
  expect_equal(
    red(fs_average_odds_difference(d, "y_true", "y_pred", "group", reference = "blue")),
    (rate(d$y_pred, d$y_true == 1, "red") +
      rate(d$y_pred, d$y_true == 0, "red") -
      rate(d$y_pred, d$y_true == 1, "blue") -
      rate(d$y_pred, d$y_true == 0, "blue")) /
      2
  )
})

test_that("tests, intervals and verdicts tell the same", {
  d <- people()
  for (method in c("log", "delta", "score", "koopman")) {
    found <- fs_disparate_impact(
      d,
      "y_pred",
      "group",
      reference = "blue",
      method = method,
      confidence_level = 0.9
    )
    expect_identical(found$pvalue < 0.1, found$ci_high < 1 | found$ci_low > 1)
    expect_identical(
      found$pvalue_verdict < 0.1,
      found$bound_high < 0.8 |
        found$bound_low > 1.25 |
        (found$bound_low > 0.8 & found$bound_high < 1.25)
    )
    both <- compare_pair(
      cells_of(d, "selection_rate"),
      3L,
      1L,
      "ratio",
      method,
      FALSE,
      critical_values(
        list(cells_of(d, "selection_rate")),
        NULL,
        cbind(3L, 1L),
        "ratio",
        "none",
        0.9
      ),
      0.8,
      0.9
    )
    expect_identical(both$p_tost < 0.05, both$low > 0.8 & both$high < 1.25)
    expect_identical(both$p_less < 0.05, both$high < 0.8)
  }
})

test_that("the equality test of the difference is the one of prop.test up to the N / (N - 1)", {
  d <- people()
  found <- fs_demographic_parity_difference(
    d,
    "y_pred",
    "group",
    reference = "blue",
    method = "mee"
  )
  k <- tapply(d$y_pred, d$group, sum)[c("green", "blue")]
  n <- table(d$group)[c("green", "blue")]
  plain <- suppressWarnings(prop.test(k, n, correct = FALSE))
  expect_equal(of(found, "green")$pvalue, plain$p.value, tolerance = 1e-10)
})

test_that("the largest gap lies between one comparison and Bonferroni", {
  d <- people()
  found <- fs_demographic_parity_difference(
    d,
    "y_pred",
    "group",
    agg = "max",
    confidence_level = 0.95
  )
  all <- fs_demographic_parity_difference(
    d,
    "y_pred",
    "group",
    comparisons = "all",
    method = "score"
  )
  expect_equal(found$estimate, max(abs(all$estimate)))
  top <- all[which.max(abs(all$estimate)), ]
  wider <- fs_demographic_parity_difference(
    d,
    "y_pred",
    "group",
    comparisons = "all",
    method = "score",
    simultaneous = "bonferroni"
  )[which.max(abs(all$estimate)), ]
  high <- function(row) max(abs(c(row$ci_low, row$ci_high)))
  expect_gt(found$ci_high, high(top))
  expect_lt(found$ci_high, high(wider) + 0.01)
})

test_that("two groups have an exact critical value for two rates", {
  d <- people()
  d <- d[d$group != "red", ]
  found <- fs_equalized_odds_difference(d, "y_true", "y_pred", "group", agg = "max")
  each <- fs_equalized_odds_difference(
    d,
    "y_true",
    "y_pred",
    "group",
    method = "score",
    confidence_level = sqrt(0.95)
  )
  expect_equal(found$estimate, max(abs(each$estimate)))
  expect_equal(found$ci_high, max(abs(c(each$ci_low, each$ci_high))), tolerance = 0.01)
})

test_that("every metric of the table is computed, and is what its formula says", {
  d <- people()
  counts <- lapply(split(d, d$group), function(x) {
    list(
      tp = sum(x$y_true * x$y_pred),
      fp = sum((1 - x$y_true) * x$y_pred),
      fn = sum(x$y_true * (1 - x$y_pred)),
      tn = sum((1 - x$y_true) * (1 - x$y_pred))
    )
  })
  for (rate in names(registry("rates"))) {
    value <- vapply(counts, function(x) eval(formula_of(rate), x), 0)
    # the estimates do not depend on the method, and the delta method needs no exact test
    compared <- function(ending) {
      fs_group_metric(
        d,
        paste0(rate, ending),
        "y_true",
        "y_pred",
        "group",
        reference = "blue",
        method = "delta"
      )
    }
    found <- compared("_difference")
    expect_equal(of(found)$estimate, value[["red"]] - value[["blue"]], tolerance = 1e-12)
    ratio <- compared("_ratio")
    expect_equal(of(ratio)$rate, value[["red"]], tolerance = 1e-12)
  }
  for (metric in names(registry("metrics"))) {
    if (!length(registry("metrics")[[metric]]$rates)) {
      next
    }
    found <- fs_group_metric(d, metric, "y_true", "y_pred", "group", reference = "blue")
    expect_true(all(found$ci_low < found$estimate & found$estimate < found$ci_high))
  }
  expect_error(fs_group_metric(d, "recall", "y_true", "y_pred", "group"), "`metric`")
})

test_that("a mean of rates differentiated as a formula has the variance of its parts", {
  d <- people()
  input <- list(y_true = d$y_true, y_pred = d$y_pred, n = nrow(d))
  cells <- audit_cells(input, list(labels = d$group, groups = sort(unique(d$group))))
  smooth <- cell_metric(cells$totals, list(formula = formula_of("average_odds")))
  expect_equal(smooth$covariance, cells_of(d, "average_odds")$covariance)
})

test_that("JSON is read as it stands", {
  text <- '{"a": [1, -2.5e3, null], "b: [": {"c": "x \\"{:[\\" \\/ \\u00e9", "d": true}, "e": [], "f": "null: true"}'
  expect_equal(
    from_json(text),
    list(
      a = list(1, -2500, NULL),
      `b: [` = list(c = "x \"{:[\" / \u00e9", d = TRUE),
      e = list(),
      f = "null: true"
    )
  )
  path <- system.file("metrics.json", package = "fairstats")
  expect_equal(
    unlist(from_json(whole_text(path))),
    unlist(jsonlite::fromJSON(path, simplifyVector = FALSE))
  )
})

test_that("bad input is named", {
  d <- people()
  refused <- function(code, argument) expect_error(code, argument)
  refused(
    fs_disparate_impact(d, "y_pred", "group", reference = "violet"),
    "violet.*blue, green, red"
  )
  refused(fs_disparate_impact(y_pred = d$y_pred, sensitive_features = d$group[-1L]), "y_pred")
  refused(
    fs_disparate_impact(y_pred = d$y_pred, sensitive_features = rep("a", nrow(d))),
    "one group"
  )
  refused(
    fs_disparate_impact(y_pred = c(NA, d$y_pred[-1L]), sensitive_features = d$group),
    "missing"
  )
  refused(
    fs_disparate_impact(transform(d, w = -weight), "y_pred", "group", sample_weight = "w"),
    "sample_weight"
  )
  refused(
    fs_disparate_impact(transform(d, c = 1), "y_pred", "group", cluster = "c"),
    "sampling unit"
  )
})

test_that("a two-sided interval by exact tests lies about the estimate", {
  # all or none of a small group: the search once went past the estimate, to where p is small again
  for (table in list(c(0, 6, 595, 700), c(21, 21, 44, 1300), c(0, 3, 530, 660))) {
    ends <- exact_interval(table[1L], table[2L], table[3L], table[4L], "difference", 0.995)
    estimate <- table[1L] / table[2L] - table[3L] / table[4L]
    expect_true(ends[1L] < estimate && estimate < ends[2L])
  }
})

test_that("limits that are searched side by side are those of each search alone", {
  tables <- list(
    c(4, 20, 9, 31),
    c(1, 12, 8, 40),
    c(15, 18, 60, 90),
    c(0, 9, 3, 50),
    c(7, 15, 9, 15)
  )
  for (contrast in c("difference", "ratio", "odds_ratio")) {
    fair <- if (contrast == "difference") c(-0.1, 0.1) else c(0.8, 1.25)
    # tables that nothing else has asked for: another order of the same counts
    searches <- unlist(lapply(tables, function(table) {
      c(
        interval_searches(table, contrast, 0.05),
        one_sided_searches(table, contrast, fair, 0.02)
      )
    }))
    together <- exact_limits(searches)
    environment(exact_memory)$known <- new.env(parent = emptyenv())
    alone <- unlist(lapply(tables, function(table) {
      c(
        exact_interval(table[1L], table[2L], table[3L], table[4L], contrast),
        exact_one_sided(table, contrast, fair, 0.02)
      )
    }))
    expect_identical(together, alone)
  }
})

test_that("a root by secants is that of uniroot", {
  for (table in list(c(4, 20, 9, 31), c(1, 12, 8, 40), c(900, 2000, 880, 2100), c(0, 9, 3, 50))) {
    for (contrast in c("difference", "ratio", "odds_ratio")) {
      by <- score_method(table[1L], table[2L], table[3L], table[4L], contrast, TRUE)
      for (critical in c(0.5, 1.96, 4)) {
        ends <- by$ends(critical)
        inner <- ends[is.finite(ends) & ends > 0 | contrast == "difference" & abs(ends) < 1]
        z <- vapply(inner, by$z, 0)
        expect_equal(abs(z), rep(critical, length(z)), tolerance = 1e-9)
      }
    }
  }
})

test_that("odds ratios are those of the table, with the test of equal rates", {
  rows <- data.frame(
    sex = rep(c("f", "m"), c(50, 360)),
    y = 1L,
    hat = c(rep(1:0, c(30, 20)), rep(1:0, c(300, 60)))
  )
  found <- fs_group_metric(rows, "selection_rate_odds_ratio", NULL, "hat", "sex", reference = "m")
  expect_equal(found$estimate, (30 * 60) / (20 * 300))
  expect_equal(found$std_error, found$estimate * sqrt(1 / 30 + 1 / 20 + 1 / 300 + 1 / 60))
  ratio <- fs_disparate_impact(rows, "hat", "sex", reference = "m")
  expect_equal(found$pvalue, ratio$pvalue, tolerance = 1e-6)
  expect_equal(found$verdict, "violated")
  # the z of Miettinen and Nurminen at equality is that of the pooled rate
  expect_equal(
    score_z(30, 50, 300, 360, "odds_ratio", 1, FALSE)^2,
    unname(suppressWarnings(prop.test(c(30, 300), c(50, 360), correct = FALSE))$statistic)
  )
  # the limits are where z is at its critical value
  ends <- score_method(30, 50, 300, 360, "odds_ratio", TRUE)$ends(1.96)
  expect_equal(score_z(30, 50, 300, 360, "odds_ratio", ends), c(1.96, -1.96))
  expect_error(
    fs_group_metric(rows, "balanced_accuracy_odds_ratio", "y", "hat", "sex"),
    "successes among cases"
  )
})

test_that("a group against everybody is its comparison with all others on another scale", {
  data <- data.frame(
    hired = rep(c(1, 0, 1, 0, 1, 0), c(40, 60, 70, 50, 30, 70)),
    group = rep(c("a", "b", "c"), c(100, 120, 100))
  )
  rest <- fs_demographic_parity_difference(
    data,
    "hired",
    "group",
    comparisons = "rest",
    margin = 0.1
  )
  all <- fs_demographic_parity_difference(
    data,
    "hired",
    "group",
    comparisons = "overall",
    margin = 0.1
  )
  others <- 1 - c(100, 120, 100)[match(all$group, c("a", "b", "c"))] / 320
  expect_equal(all$reference, rep("all", 3))
  expect_equal(all$n_reference, rep(320, 3))
  expect_equal(all$estimate, others * rest$estimate)
  expect_equal(all$ci_low, others * rest$ci_low, tolerance = 1e-3)
  expect_equal(all$pvalue, rest$pvalue)
  a <- rest[rest$group == "a", ]
  alone <- fs_demographic_parity_difference(
    transform(data, group = ifelse(group == "a", "a", "others")),
    "hired",
    "group",
    reference = "others",
    adjust = "none"
  )
  expect_equal(a$estimate, alone$estimate)
  expect_equal(a$std_error, alone$std_error)
  odds <- fs_group_metric(
    data,
    "selection_rate_odds_ratio",
    y_pred = "hired",
    sensitive_features = "group",
    comparisons = "overall"
  )
  rate <- tapply(data$hired, data$group, mean)[odds$group]
  of_all <- mean(data$hired)
  expect_equal(odds$estimate, as.vector(rate / (1 - rate) * (1 - of_all) / of_all))
  expect_error(
    fs_disparate_impact(data, "hired", "group", comparisons = "rest", reference = "a"),
    "reference"
  )
})

test_that("weights between groups count where groups are pooled", {
  data <- data.frame(
    hired = rep(c(1, 0, 1, 0, 1, 0), c(40, 60, 70, 50, 30, 70)),
    group = rep(c("a", "b", "c"), c(100, 120, 100))
  )
  data$weight <- ifelse(data$group == "a", 3, 1)
  rest <- fs_demographic_parity_difference(
    data,
    "hired",
    "group",
    comparisons = "rest",
    sample_weight = "weight"
  )
  not_c <- data$group != "c"
  expect_equal(
    rest$rate_reference[rest$group == "c"],
    stats::weighted.mean(data$hired[not_c], data$weight[not_c])
  )
})

test_that("one number over all groups is fairlearn's, with limits from all pairs", {
  data <- data.frame(
    y = rep(c(1, 1, 0, 0), c(60, 60, 60, 60)),
    group = rep(c("a", "b", "a", "b"), each = 60)
  )
  data$p <- c(
    rep(c(1, 0), c(48, 12)),
    rep(c(1, 0), c(30, 30)),
    rep(c(1, 0), c(18, 42)),
    rep(c(1, 0), c(12, 48))
  )
  smallest <- fs_group_metric(data, "equalized_odds_ratio", "y", "p", "group", agg = "min")
  expect_equal(smallest$estimate, 30 / 48)
  mean_ratio <- fs_group_metric(data, "equalized_odds_ratio", "y", "p", "group", agg = "mean")
  expect_equal(mean_ratio$estimate, (30 / 48 + 12 / 18) / 2)
  gaps <- fs_equalized_odds_difference(data, "y", "p", "group", agg = "mean")
  expect_equal(gaps$estimate, (18 / 60 + 6 / 60) / 2)
  expect_true(smallest$ci_low < smallest$estimate && smallest$estimate < smallest$ci_high)
  expect_error(fs_group_metric(data, "tpr_difference", "y", "p", "group", agg = "min"), "agg")
})

test_that("odds ratios within strata are those of mantelhaen.test", {
  cells <- UCBAdmissions
  data <- as.data.frame(cells)
  data <- data[rep(seq_len(nrow(data)), data$Freq), ]
  data$admitted <- as.integer(data$Admit == "Admitted")
  found <- fs_group_metric(
    data,
    "selection_rate_odds_ratio",
    y_pred = "admitted",
    sensitive_features = "Gender",
    strata = "Dept",
    reference = "Male"
  )
  witness <- stats::mantelhaen.test(
    aperm(cells, c(2, 1, 3))[c("Female", "Male"), , ],
    correct = FALSE
  )
  expect_equal(found$adjusted, unname(witness$estimate))
  expect_equal(found$adjusted_pvalue, witness$p.value)
  expect_equal(
    c(found$adjusted_ci_low, found$adjusted_ci_high),
    as.numeric(witness$conf.int),
    tolerance = 0.01
  )
  small <- list(k1 = c(2, 1, 0), n1 = c(6, 5, 4), k0 = c(5, 4, 3), n0 = c(8, 7, 6))
  law <- fairstats:::conditional_law(small)
  cells <- array(rbind(small$k1, small$k0, small$n1 - small$k1, small$n0 - small$k0), c(2, 2, 3))
  exact <- stats::mantelhaen.test(cells, exact = TRUE)
  expect_equal(
    c(law$limit(-1, 0.025), law$limit(1, 0.025)),
    as.numeric(exact$conf.int),
    tolerance = 1e-4
  )
  # a strong effect: the law at equal rates has no number for what was seen; both limits are those
  # at which SciPy's `nchypergeom_fisher` has tails of .025
  strong <- fairstats:::conditional_law(list(k1 = 400, n1 = 420, k0 = 20, n0 = 19000))
  expect_equal(
    c(strong$limit(-1, 0.025), strong$limit(1, 0.025)),
    c(9738.841, 37423.575),
    tolerance = 1e-7
  )
})

test_that("Sidak's adjustment is 1 - (1 - p)^m, without rounding", {
  p <- c(0.01, NA, 0.2, 1e-20, 1)
  expect_equal(adjust_pvalues(p, "sidak"), c(1 - 0.99^4, NA, 1 - 0.8^4, 4e-20, 1))
  d <- people()
  found <- fs_equalized_odds_difference(d, "y_true", "y_pred", "group", adjust = "sidak")
  expect_equal(found$pvalue_adjusted, 1 - (1 - found$pvalue)^nrow(found), tolerance = 1e-9)
})

test_that("who is violated differs, and at a threshold of 1 both are one question", {
  d <- data.frame(
    hired = rep(c(1, 0, 1, 0), c(1, 2, 8, 309)),
    group = rep(c("few", "many"), c(3, 317))
  )
  of_threshold <- function(threshold) {
    fs_disparate_impact(d, "hired", "group", reference = "many", threshold = threshold)
  }
  at_one <- of_threshold(1)
  expect_identical(at_one$verdict, "violated")
  expect_identical(at_one$pvalue_verdict, at_one$pvalue)
  expect_equal(
    c(at_one$bound_low, at_one$bound_high),
    c(at_one$ci_low, at_one$ci_high),
    tolerance = 1e-3
  )
  # twice a tail is below the p-value of both tails
  d <- data.frame(
    hired = rep(c(1, 0, 1, 0), c(9, 3, 1754, 16)),
    group = rep(c("few", "many"), c(12, 1770))
  )
  near <- of_threshold(0.99)
  expect_equal(near$pvalue_verdict, near$pvalue)
  expect_equal(near$pvalue, 0.004447883, tolerance = 1e-5)
  expect_equal(reach_fair_range(c(0.2, 0.7), 0.06, c(0.8, 1.25), 0.05), c(0.2, 0.8))
})

test_that("the only known gap has the p-value of its row beside the group with the highest rate", {
  # two groups have no cases: six pairs that the data chose from, or three beside a named group
  groups <- c("a", "b", "c", "d")
  cells <- c(210, 260, 0, 0, 290, 240, 0, 0, 10, 20, 10, 5, 20, 40, 10, 9)
  people <- data.frame(
    group = rep(rep(groups, 4), cells),
    truth = rep(rep(c(1, 0), each = 8), cells),
    predicted = rep(rep(c(1, 0, 1, 0), each = 4), cells)
  )
  pvalues <- lapply(c("highest", "b"), function(reference) {
    vapply(
      c("equal_opportunity_difference", "equal_opportunity_max"),
      function(metric) {
        found <- fs_group_metric(
          people,
          metric = metric,
          y_true = "truth",
          y_pred = "predicted",
          sensitive_features = "group",
          reference = reference
        )
        as.data.frame(found)$pvalue[1L]
      },
      0
    )
  })
  # Python's values: exact tests, and the score
  expect_equal(unname(pvalues[[1L]]), rep(0.00160929500953668, 2), tolerance = 1e-8)
  expect_equal(unname(pvalues[[2L]]), rep(0.00154337984854527, 2), tolerance = 1e-8)
})
