# fs_audit and the fs_ functions against the twins they stand on, and what they refuse.

test_that("a table of the audit is that of the single functions", {
  d <- people()
  audit <- fs_audit(
    d,
    "y_true",
    "y_pred",
    sensitive_features = "group",
    reference = "blue",
    draws = 0
  )
  of <- function(metric) audit[audit$metric == metric, ]
  counts <- lapply(split(d$y_pred, d$group), function(y) c(sum(y), length(y)))
  found <- of("disparate_impact")
  for (group in found$group) {
    k <- c(counts[[group]][1L], counts$blue[1L])
    n <- c(counts[[group]][2L], counts$blue[2L])
    method <- found$method[found$group == group]
    ends <- if (method == "exact unconditional") {
      exact_interval(k[1L], n[1L], k[2L], n[2L], "ratio")
    } else {
      rate_interval(k[1L], n[1L], k[2L], n[2L], "ratio", method)
    }
    expect_equal(
      c(found$ci_low[found$group == group], found$ci_high[found$group == group]),
      ends,
      tolerance = 1e-12
    )
  }
  expect_equal(found$pvalue_adjusted, p.adjust(found$pvalue, "holm"), tolerance = 1e-10)
  expect_equal(fs_disparate_impact(d, "y_pred", "group", reference = "blue")$ci_high, found$ci_high)
  by_vectors <- fs_conditional_accuracy(
    y_true = d$y_true,
    y_pred = d$y_pred,
    sensitive_features = d$group,
    label = 0,
    reference = "blue"
  )
  expect_equal(by_vectors$estimate, of("conditional_accuracy_0")$estimate)
  odds <- fs_equalized_odds_difference(d, "y_true", "y_pred", "group", reference = "blue")
  expect_equal(odds$metric, rep(c("tpr_difference", "fpr_difference"), each = 2L))
  expect_equal(odds$pvalue_adjusted, p.adjust(odds$pvalue, "holm"))
  audited <- unlist(lapply(audited_metrics(list(y_true = 1, y_pred = 1)), `[[`, "rows"))
  expect_setequal(audit$metric, c(audited, "disparate_impact_amplification"))
})

test_that("designs are refused where there is no method for them", {
  d <- people()
  expect_error(
    fs_madd(list(s = runif(9), g = 1:9 %% 2, w = 1:9), "s", "g", sample_weight = "w"),
    "sample_weight"
  )
})

test_that("simultaneous intervals are wider, and Bonferroni's as they are defined", {
  d <- people()
  one <- fs_disparate_impact(d, "y_pred", "group", reference = "blue")
  all <- fs_disparate_impact(d, "y_pred", "group", reference = "blue", simultaneous = "bonferroni")
  wider <- fs_disparate_impact(d, "y_pred", "group", reference = "blue", confidence_level = 0.975)
  expect_equal(all$ci_low, wider$ci_low[match(all$group, wider$group)], tolerance = 1e-10)
  joint <- fs_disparate_impact(d, "y_pred", "group", reference = "blue", simultaneous = "max-z")
  expect_true(all(joint$ci_low >= all$ci_low & joint$ci_low < one$ci_low))
})

test_that("groups come by size, crossed ones too, and an empty one stays", {
  d <- data.frame(
    sex = rep(c("f", "m"), c(30, 70)),
    place = c(rep("x", 30), rep(c("x", "y"), c(20, 50))),
    hired = rep(0:1, 50)
  )
  audit <- fs_audit(d, y_pred = "hired", sensitive_features = c("sex", "place"))
  crossed <- audit[audit$sensitive_features == "sex & place" & audit$metric == "disparate_impact", ]
  expect_equal(crossed$group, c("f & x", "m & x", "f & y"))
  expect_equal(crossed$reference, rep("m & y", 3L))
  expect_equal(crossed$verdict[3L], "insufficient evidence")
  expect_true(is.nan(crossed$estimate[3L]))
  expect_output(print(audit), "sex & place")
})

test_that("rows with missing values are refused, or left out on request", {
  d <- people()
  d$y_pred[1:5] <- NA
  expect_error(fs_audit(d, y_pred = "y_pred", sensitive_features = "group"), "5 missing")
  found <- fs_audit(d, y_pred = "y_pred", sensitive_features = "group", missing = "drop")
  kept <- fs_audit(d[-(1:5), ], y_pred = "y_pred", sensitive_features = "group")
  expect_equal(found$ci_low, kept$ci_low)
})

test_that("labels may be anything with a favourable value", {
  d <- people()
  plain <- fs_disparate_impact(d, "y_pred", "group")
  d$word <- ifelse(d$y_pred == 1, "yes", "no")
  d$flag <- d$y_pred == 1
  d$sign <- 2 * d$y_pred - 1
  expect_equal(fs_disparate_impact(d, "word", "group", pos_label = "yes")$ci_low, plain$ci_low)
  expect_equal(fs_disparate_impact(d, "flag", "group")$ci_low, plain$ci_low)
  expect_equal(fs_disparate_impact(d, "sign", "group")$ci_low, plain$ci_low)
  expect_error(fs_disparate_impact(d, "word", "group"), "pos_label")
})

test_that("the seed decides, and R's generator is put back", {
  d <- people()
  set.seed(5)
  before <- .Random.seed
  one <- fs_um_posterior(d, "y_true", "y_pred", "group", draws = 500, seed = 2)
  expect_identical(.Random.seed, before)
  expect_identical(one, fs_um_posterior(d, "y_true", "y_pred", "group", draws = 500, seed = 2))
  expect_false(identical(
    one,
    fs_um_posterior(d, "y_true", "y_pred", "group", draws = 500, seed = 3)
  ))
  expect_equal(dim(attr(one, "draws")$tp), c(500L, 3L))
})

test_that("every refusal names the argument", {
  d <- people()
  refused <- function(code, argument) expect_error(code, paste0("`", argument, "`"), fixed = TRUE)
  refused(fs_audit(d, y_pred = "nope", sensitive_features = "group"), "y_pred")
  refused(fs_audit(d, sensitive_features = "group"), "y_pred")
  refused(fs_audit(3, y_pred = "y_pred", sensitive_features = "group"), "data")
  refused(fs_audit(d, y_pred = "y_pred", sensitive_features = "nope"), "sensitive_features")
  refused(
    fs_audit(d, y_pred = "y_pred", sensitive_features = c("group", "group")),
    "sensitive_features"
  )
  refused(
    fs_audit(transform(d, one = 1), y_pred = "y_pred", sensitive_features = "one"),
    "sensitive_features"
  )
  refused(
    fs_audit(d, y_pred = "y_pred", sensitive_features = "group", reference = "violet"),
    "reference"
  )
  refused(
    fs_audit(d, y_pred = "y_pred", sensitive_features = "group", confidence_level = 95),
    "confidence_level"
  )
  refused(fs_audit(d, y_pred = "y_pred", sensitive_features = "group", threshold = 0), "threshold")
  refused(fs_audit(d, y_pred = "y_pred", sensitive_features = "group", margin = 2), "margin")
  refused(fs_audit(d, y_pred = "y_pred", sensitive_features = "group", adjust = "no"), "adjust")
  refused(fs_audit(d, y_pred = "y_pred", sensitive_features = "group", method = "exact"), "method")
  refused(
    fs_audit(d, y_pred = "y_pred", sensitive_features = "group", simultaneous = "yes"),
    "simultaneous"
  )
  refused(
    fs_audit(d, y_pred = "y_pred", sensitive_features = "group", comparisons = "some"),
    "comparisons"
  )
  refused(fs_madd(d, "weight", "group"), "score")
  refused(fs_equal_opportunity_difference(d, "y_true", "y_pred", "group", agg = "mean"), "agg")
  refused(fs_conditional_accuracy(d, "y_true", "y_pred", "group", label = 2), "label")
  refused(fs_disparate_impact(y_pred = 0:1, sensitive_features = "a"), "y_pred")
  expect_error(fs_disparate_impact(d, "y_pred", "group", refrence = "blue"), "refrence")
})

test_that("the difference of two AUCs has Newcombe's limit", {
  # beside a known AUC of .99: the root of auc - x = 1.96 sqrt(V(x)), V by Hanley and McNeil's Q1
  # and Q2
  for (auc in c(0.6, 0.8, 0.97)) {
    gap <- auc_gap(c(0.99, auc), list(c(Inf, Inf), c(20, 20)))
    v <- function(x) (x * (1 - x) + 19 * (x / (2 - x) - x^2) + 19 * (2 * x^2 / (1 + x) - x^2)) / 400
    low <- stats::uniroot(
      function(x) auc - x - stats::qnorm(0.975) * sqrt(v(max(x, 0.5))),
      c(-1, auc),
      tol = 1e-12
    )$root
    expect_equal(gap$upper(0.95), 0.99 - low, tolerance = 1e-8)
    expect_equal(gap$pvalue(gap$upper(0.95)), 0.05, tolerance = 1e-8)
  }
  expect_equal(auc_gap(c(0.5, 0.7), list(c(Inf, Inf), c(Inf, Inf)))$upper(0.95), 0.2)
})

test_that("the area between ROC curves is the mean distance on a fine grid", {
  set.seed(4)
  y <- list(rbinom(80, 1, 0.5), rbinom(120, 1, 0.4))
  s <- list(round(runif(80) / 2 + y[[1L]] / 4, 2), round(runif(120) / 2 + y[[2L]] / 3, 2))
  found <- fs_abroca(
    y_true = unlist(y),
    score = unlist(s),
    sensitive_features = rep(c("a", "b"), c(80, 120)),
    reference = "b",
    n_resamples = 99
  )
  roc <- function(k) {
    at <- sort(unique(s[[k]]), decreasing = TRUE)
    x <- c(0, vapply(at, function(t) mean(s[[k]][y[[k]] == 0] >= t), 0))
    h <- c(0, vapply(at, function(t) mean(s[[k]][y[[k]] == 1] >= t), 0))
    grid <- (seq_len(2e5) - 0.5) / 2e5
    left <- findInterval(grid, x)
    h[left] + (grid - x[left]) / (x[left + 1L] - x[left]) * (h[left + 1L] - h[left])
  }
  expect_equal(found$estimate, mean(abs(roc(1L) - roc(2L))), tolerance = 1e-4)
  auc <- function(k) {
    mean(outer(s[[k]][y[[k]] == 1], s[[k]][y[[k]] == 0], function(a, b) (a > b) + (a == b) / 2))
  }
  expect_equal(c(found$rate, found$rate_reference), c(auc(1L), auc(2L)))
})

test_that("the permutation test of histograms is Fisher's where there are two bins", {
  set.seed(5)
  found <- crosscheck_madd_pair(c(12, 8), c(5, 15), 0.95, 9999)
  expect_equal(found$madd, 2 * abs(12 / 20 - 5 / 20))
  # MADD orders the tables as the distance of their counts does
  p <- sum(dhyper(0:17, 17, 23, 20)[abs(0:17 / 20 - (17 - 0:17) / 20) >= 7 / 20 - 1e-9])
  expect_lt(abs(found$pvalue - p), 4 * found$pvalue_error)
})

test_that("scores of another scale are those from 0 to 1", {
  set.seed(1)
  people <- data.frame(
    g = sample(c("a", "b"), 200, TRUE),
    y = rbinom(200, 1, 0.5),
    decile = sample(10, 200, TRUE)
  )
  people$place <- (people$decile - 10) / (1 - 10)
  audit <- function(...) {
    fs_audit(people, y_true = "y", sensitive_features = "g", n_resamples = 99, draws = 0, ...)
  }
  expect_equal(audit(score = "decile", score_range = c(10, 1)), audit(score = "place"))
  expect_error(audit(score = "decile", score_range = c(1, 1)), "`score_range`")
  expect_error(audit(score = people$decile, score_range = c(10, 1)), "`score`")
})

test_that("subgroups are a section of their own, the rows of fs_subgroups()", {
  set.seed(2)
  d <- data.frame(g = sample(c("a", "b"), 400, TRUE), town = sample(c("x", "y", "z"), 400, TRUE))
  d$age <- stats::runif(400, 18, 80)
  d$y <- stats::rbinom(400, 1, 0.5)
  d$p <- stats::rbinom(400, 1, ifelse(d$town == "x", 0.3, 0.6))
  asked <- list(town = NULL, age = c(30, 60))
  audit <- function(...) fs_audit(d, y_true = "y", y_pred = "p", sensitive_features = "g", ...)
  found <- audit(draws = 0, subgroups = asked)
  shown <- found[found$section == "subgroups", ]
  alone <- fs_subgroups(d, NULL, "p", c("town", "age"), cuts = list(age = c(30, 60)))
  of_selection <- shown[shown$metric == "demographic_parity_difference", ]
  expect_equal(of_selection$group, alone$group)
  expect_equal(of_selection$estimate, alone$estimate)
  expect_equal(of_selection$ci_low, alone$ci_low)
  expect_equal(of_selection$flagged, alone$flagged)
  expect_setequal(
    unique(shown$metric),
    c("demographic_parity_difference", "equal_opportunity_difference", "fpr_difference")
  )
  expect_true(any(grepl("^Subgroups: ", attr(found, "head"))))
  # what stands in the other sections does not change
  plain <- audit(draws = 0)
  others <- found[found$section != "subgroups", names(plain)]
  expect_equal(as.data.frame(others), as.data.frame(plain), ignore_attr = TRUE)
  expect_error(audit(subgroups = "nothing"), "`subgroups`")
  d$w <- 1
  expect_error(audit(subgroups = "town", sample_weight = "w"), "`subgroups`")
})

test_that("groups are compared with pooled ones, in every section that has such comparisons", {
  set.seed(3)
  n <- 500
  d <- data.frame(g = sample(c("a", "b", "c"), n, TRUE), s = round(stats::rbeta(n, 2, 2), 2))
  d$y <- stats::rbinom(n, 1, d$s)
  d$p <- as.integer(d$s > 0.5)
  audit <- function(...) {
    fs_audit(
      d,
      y_true = "y",
      y_pred = "p",
      sensitive_features = "g",
      n_resamples = 199,
      draws = 0,
      ...
    )
  }
  same <- c("group", "reference", "estimate", "ci_low", "ci_high", "pvalue", "verdict")
  for (kind in c("rest", "overall")) {
    found <- audit(score = "s", comparisons = kind)
    own <- as.data.frame(found[found$metric == "disparate_impact", same])
    alone <- fs_disparate_impact(d, "p", "g", comparisons = kind)
    expect_equal(own, as.data.frame(alone)[same], ignore_attr = TRUE)
    expect_equal(nrow(own), 3L)
    # what has no such comparison takes the largest group
    area <- found[found$metric == "abroca", ]
    expect_equal(unique(area$reference), names(which.max(table(d$g))))
  }
  expect_equal(unique(found$reference[found$metric == "disparate_impact"]), "all")
  with_rest <- audit(score = "s", comparisons = "rest")
  distance <- with_rest[with_rest$metric == "madd", ]
  expect_equal(distance$reference, rep("all others", 3L))
  one <- fs_madd(d, "s", "g", comparisons = "rest", n_resamples = 199)
  expect_equal(distance$estimate, one$estimate[one$metric == "madd"])
  d$two <- ifelse(d$g == "a", "a", "not a")
  by_hand <- fs_madd(d, "s", "two", n_resamples = 199)
  expect_equal(distance$estimate[distance$group == "a"], by_hand$estimate)
  expect_error(audit(comparisons = "rest", reference = "a"), "`reference`")
  d$half <- rep(c("x", "y"), length.out = n)
  within <- audit(comparisons = "overall", strata = "half")
  impact <- within[within$metric == "disparate_impact", ]
  expect_equal(unique(impact$reference), "all")
  expect_true(all(is.finite(impact$adjusted)))
  expect_error(audit(comparisons = "rest", simultaneous = "max-z"), "`simultaneous`")
  expect_error(audit(comparisons = "overall", method = "delta"), "`method`")
  expect_error(fs_madd(d, "s", "g", comparisons = "overall"), "`comparisons`")
  d$kind <- sample(c("x", "y", "z"), n, TRUE)
  of_classes <- fs_disparate_impact(
    d,
    "kind",
    "g",
    classes = "one-vs-rest",
    comparisons = "rest"
  )
  as_two <- fs_disparate_impact(d, "kind", "g", pos_label = "y", comparisons = "rest")
  of_y <- of_classes[of_classes$metric == "disparate_impact[y]", ]
  expect_equal(of_y$estimate, as_two$estimate)
  expect_equal(of_y$pvalue, as_two$pvalue)
})

test_that("an audit of a number, with labels and without, has the rows of fs_means", {
  set.seed(3)
  people <- data.frame(
    sex = sample(c("f", "m"), 200, TRUE),
    town = sample(c("x", "y"), 200, TRUE),
    wage = rexp(200, 1 / 30000)
  )
  people$hired <- rbinom(200, 1, 0.5)
  alone <- fs_audit(people, outcome = "wage", sensitive_features = "sex", strata = "town")
  means <- fs_means(
    people,
    y = "wage",
    sensitive_features = "sex",
    contrast = "ratio",
    strata = "town"
  )
  expect_identical(alone$metric, c("mean", "mean_stratified"))
  for (column in c("estimate", "ci_low", "ci_high", "pvalue", "verdict")) {
    expect_identical(alone[[column]][1L], means[[column]])
    expect_identical(alone[[column]][2L], attr(means, "stratified")[[column]])
  }
  expect_equal(alone$value[1L], mean(people$wage[people$sex == alone$group[1L]]))
  both <- fs_audit(people, y_pred = "hired", outcome = "wage", sensitive_features = "sex")
  expect_true(all(c("disparate_impact", "mean") %in% both$metric))
  expect_error(fs_audit(people, sensitive_features = "sex"), "outcome")
  expect_error(
    fs_audit(people, y_pred = "hired", predicted = "wage", sensitive_features = "sex"),
    "beside `outcome`"
  )
  expect_error(
    fs_audit(people, outcome = "wage", sensitive_features = "sex", subgroups = "town"),
    "beside labels"
  )
  people$text <- "much"
  expect_error(
    fs_audit(people, outcome = "text", sensitive_features = "sex"),
    "`outcome`: got a char"
  )
  people$wage[3L] <- NA
  expect_error(fs_audit(people, outcome = "wage", sensitive_features = "sex"), "1 missing value")
  people$wage <- people$wage * 1e-300
  expect_error(
    fs_audit(people, outcome = "wage", sensitive_features = "sex", missing = "drop"),
    "change the unit"
  )
})
