# Rates of several classes: one class is the question of pos_label, whose answers have witnesses of
# their own.

classes <- c("low", "medium", "high")
rows <- function(n = 400) {
  set.seed(35, "Mersenne-Twister", "Inversion", "Rejection")
  y <- sample(classes, n, TRUE, c(0.5, 0.35, 0.15))
  hat <- ifelse(runif(n) < 0.65, y, sample(classes, n, TRUE))
  data.frame(
    y,
    hat,
    g = sample(c("a", "b", "c"), n, TRUE, c(0.5, 0.35, 0.15)),
    unit = rep(seq_len(n / 4), each = 4),
    stringsAsFactors = FALSE
  )
}
same <- c("estimate", "std_error", "ci_low", "ci_high", "pvalue", "rate", "rate_reference", "n")

test_that("one class against the others is the question of pos_label", {
  d <- rows()
  for (metric in c(
    "selection_rate_ratio",
    "tpr_difference",
    "f1_difference",
    "average_odds_difference"
  )) {
    for (unit in list(NULL, "unit")) {
      found <- fs_group_metric(
        d,
        metric,
        "y",
        "hat",
        "g",
        classes = "one-vs-rest",
        cluster = unit,
        adjust = "none"
      )
      for (name in classes) {
        alone <- fs_group_metric(
          d,
          metric,
          "y",
          "hat",
          "g",
          pos_label = name,
          cluster = unit,
          adjust = "none"
        )
        expect_equal(
          as.list(found[found$class == name, same]),
          as.list(alone[same]),
          tolerance = 1e-10,
          ignore_attr = TRUE
        )
      }
    }
  }
})

test_that("two classes are two labels, and their mean is balanced accuracy", {
  d <- rows()
  d$two <- ifelse(d$hat == "high", "yes", "no")
  d$truth <- ifelse(d$y == "high", "yes", "no")
  expect_equal(
    as.data.frame(fs_disparate_impact(d, "two", "g", classes = "ordered", pos_label = "yes")),
    as.data.frame(fs_disparate_impact(d, "two", "g", pos_label = "yes"))
  )
  mean <- fs_group_metric(
    d,
    "tpr_difference",
    "truth",
    "two",
    "g",
    classes = "macro",
    pos_label = "yes"
  )
  balanced <- fs_group_metric(
    d,
    "balanced_accuracy_difference",
    "truth",
    "two",
    "g",
    pos_label = "yes"
  )
  expect_equal(mean$ci_low, balanced$ci_low)
  expect_equal(mean$pvalue, balanced$pvalue)
})

test_that("means and cuts by hand", {
  d <- rows()
  found <- fs_group_metric(d, "tpr_difference", "y", "hat", "g", classes = "macro", reference = "a")
  of_group <- function(g) {
    mean(vapply(classes, function(k) mean(d$hat[d$y == k & d$g == g] == k), 0))
  }
  expect_equal(found$rate, c(of_group("b"), of_group("c")))
  right <- fs_group_metric(
    d,
    "accuracy_difference",
    "y",
    "hat",
    "g",
    classes = "macro",
    reference = "a"
  )
  expect_equal(right$rate_reference[1L], mean((d$y == d$hat)[d$g == "a"]))
  cuts <- fs_disparate_impact(
    d,
    "hat",
    "g",
    classes = "ordered",
    label_values = classes,
    reference = "a"
  )
  expect_equal(cuts$class, rep(c("from medium on", "from high on"), each = 2L))
  expect_equal(cuts$rate[1L], mean(d$hat[d$g == "b"] != "low"))
  expect_equal(
    as.data.frame(fs_disparate_impact(
      hat ~ g,
      d,
      classes = "ordered",
      label_values = classes,
      reference = "a"
    )),
    as.data.frame(cuts)
  )
})

test_that("the largest gap is over classes and groups", {
  d <- rows()
  gap <- fs_demographic_parity_difference(d, "hat", "g", agg = "max", classes = "one-vs-rest")
  shares <- prop.table(table(d$g, d$hat), 1L)
  widest <- apply(shares, 2L, function(share) diff(range(share)))
  expect_equal(gap$estimate, max(widest))
  expect_equal(gap$attained_by, paste("selection_rate of", names(which.max(widest))))
})

test_that("means that share cases are of Mantel and Haenszel's rates within strata", {
  d <- rows()
  d$half <- rep(c("x", "y", "z"), length.out = nrow(d))
  found <- fs_group_metric(
    d,
    "fpr_difference",
    "y",
    "hat",
    "g",
    classes = "macro",
    strata = "half",
    reference = "a"
  )
  for (group in found$group) {
    by_class <- vapply(
      unique(d$y),
      function(class) {
        parts <- vapply(
          unique(d$half),
          function(half) {
            rate <- function(g) {
              cases <- d[d$half == half & d$g == g & d$y != class, ]
              c(mean(cases$hat == class), nrow(cases))
            }
            one <- rate(group)
            other <- rate("a")
            c(one[1L] - other[1L], one[2L] * other[2L] / (one[2L] + other[2L]))
          },
          c(0, 0)
        )
        sum(parts[1L, ] * parts[2L, ]) / sum(parts[2L, ])
      },
      0
    )
    expect_equal(found$adjusted[found$group == group], mean(by_class))
  }
  d$one <- 1
  alone <- fs_group_metric(
    d,
    "fpr_ratio",
    "y",
    "hat",
    "g",
    classes = "macro",
    strata = "one",
    reference = "a"
  )
  expect_equal(alone$adjusted, alone$estimate)
  expect_equal(alone$adjusted_ci_low, alone$ci_low, tolerance = 1e-10)
})

test_that("what cannot be asked", {
  d <- rows()
  expect_error(fs_disparate_impact(d, "hat", "g", classes = "micro"), "classes")
  expect_error(fs_disparate_impact(d, "hat", "g", classes = "ordered"), "order is not known")
  expect_error(fs_disparate_impact(d, "hat", "g", classes = "macro"), "every group")
  expect_error(
    fs_group_metric(d, "fpr_max", "y", "hat", "g", classes = "macro", strata = "half"),
    "strata"
  )
  expect_error(
    fs_disparate_impact(d, "hat", "g", classes = "one-vs-rest", reference = "highest"),
    "by name"
  )
  expect_error(
    fs_disparate_impact(d, "hat", "g", classes = "one-vs-rest", label_values = "low"),
    "medium"
  )
  expect_error(
    fs_group_metric(d, "f1_max", "y", "hat", "g", classes = "macro"),
    "successes among cases"
  )
  expect_error(
    fs_disparate_impact(d, "hat", "g", classes = "one-vs-rest", method = "anytime", planned = 9),
    "method"
  )
  d$many <- seq_len(nrow(d))
  expect_error(fs_disparate_impact(d, "many", "g", classes = "one-vs-rest"), "two to 20")
  expect_error(
    fs_disparate_impact(
      data.frame(hat = c("a", NA, "b", "c"), g = 1:2),
      "hat",
      "g",
      classes = "macro"
    ),
    "missing"
  )
})

test_that("an audit of several classes", {
  d <- rows()
  found <- fs_audit(d, "y", "hat", sensitive_features = "g", reference = "a")
  alone <- fs_conditional_accuracy(d, "y", "hat", "g", reference = "a", classes = "one-vs-rest")
  shown <- found[startsWith(found$metric, "conditional_accuracy_1["), ]
  expect_equal(shown$pvalue_adjusted, alone$pvalue_adjusted)
  expect_false(any(grepl("from", found$metric)))
  cuts <- fs_audit(d, "y", "hat", sensitive_features = "g", label_values = classes)
  expect_true("disparate_impact[from high on]" %in% cuts$metric)
  expect_match(attr(cuts, "claims"), "Over the whole audit")
  one <- fs_audit(d, "y", "hat", sensitive_features = "g", pos_label = "high", draws = 0)
  expect_false(any(grepl("[", one$metric, fixed = TRUE)))
  d$half <- rep(c("x", "y"), length.out = nrow(d))
  within <- fs_audit(d, "y", "hat", sensitive_features = "g", strata = "half")
  of_classes <- within[startsWith(within$metric, "disparate_impact["), ]
  expect_equal(nrow(of_classes), 6L)
  expect_true(all(is.finite(of_classes$adjusted)))
})

test_that("each class within strata is that class as one of two labels", {
  d <- rows()
  d$half <- rep(c("x", "y"), length.out = nrow(d))
  found <- fs_disparate_impact(d, "hat", "g", classes = "one-vs-rest", strata = "half")
  within <- attr(found, "stratified")
  for (class in unique(found$class)) {
    d$one <- as.integer(d$hat == class)
    two <- attr(fs_disparate_impact(d, "one", "g", strata = "half", pos_label = 1), "stratified")
    own <- within[within$class == class, ]
    expect_equal(own$estimate, two$estimate)
    expect_equal(own$pvalue, two$pvalue)
    expect_equal(own$pvalue_homogeneity, two$pvalue_homogeneity)
  }
  expect_match(within$metric[1L], "^disparate_impact_stratified\\[")
})
