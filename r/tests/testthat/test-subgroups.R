# Subgroups against fisher.test, binom.test and counts by hand.

crossed_people <- function(n = 900, seed = 3) {
  set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")
  data <- data.frame(
    sex = sample(c("f", "m"), n, TRUE),
    age = sample(c("old", "young"), n, TRUE),
    region = sample(c("north", "south", "west"), n, TRUE)
  )
  data$hired <- rbinom(n, 1, ifelse(data$sex == "f" & data$age == "old", 0.25, 0.5))
  data
}
COLUMNS_CROSSED <- c("sex", "age", "region")

test_that("every subgroup is that of its rows, by fisher.test and p.adjust", {
  data <- crossed_people()
  found <- fs_subgroups(data, y_pred = "hired", sensitive_features = COLUMNS_CROSSED)
  expect_equal(nrow(found), 7 + 4 + 6 + 6 + 12)
  at <- match("age = old & sex = f", sub("sex = f & age = old", "age = old & sex = f", found$group))
  inside <- data$sex == "f" & data$age == "old"
  table <- table(!inside, data$hired == 0)
  tails <- vapply(
    c("less", "greater"),
    function(side) stats::fisher.test(table, alternative = side)$p.value,
    0
  )
  expect_equal(found$pvalue[at], 2 * min(tails), tolerance = 1e-8)
  expect_equal(found$estimate[at], mean(data$hired[inside]) - mean(data$hired[!inside]))
  expect_equal(found$pvalue_adjusted, stats::p.adjust(found$pvalue, "BY"))
  expect_equal(found$flagged, found$pvalue_adjusted <= 0.05)
  expect_identical(at, 1L)
})

test_that("limits are recovered from those of binom.test at the critical value", {
  data <- crossed_people()
  found <- fs_subgroups(data, y_pred = "hired", sensitive_features = COLUMNS_CROSSED)
  level <- 1 - 2 * stats::pnorm(-attr(found, "critical"))
  k <- round(found$rate[1L] * found$n[1L])
  own <- stats::binom.test(k, found$n[1L], conf.level = level)$conf.int
  other <- stats::binom.test(
    sum(data$hired) - k,
    found$n_reference[1L],
    conf.level = level
  )$conf.int
  low <- found$estimate[1L] -
    sqrt((found$rate[1L] - own[1L])^2 + (other[2L] - found$rate_reference[1L])^2)
  expect_equal(found$ci_low[1L], low, tolerance = 1e-8)
  expect_equal(attr(found, "certificate"), min(found$ci_low))
})

test_that("the critical value is that of the covariance of all contrasts", {
  data <- crossed_people()
  found <- fs_subgroups(
    data,
    y_pred = "hired",
    sensitive_features = COLUMNS_CROSSED,
    n_resamples = 20000
  )
  cell <- interaction(data[COLUMNS_CROSSED], drop = TRUE)
  first <- match(levels(cell), cell)
  inside <- vapply(
    found$group,
    function(group) {
      parts <- strsplit(strsplit(group, " & ", fixed = TRUE)[[1L]], " = ", fixed = TRUE)
      Reduce(`&`, lapply(parts, function(part) data[[part[1L]]][first] == part[2L])) + 0
    },
    numeric(length(first))
  )
  set.seed(1)
  expected <- crosscheck_subgroup_critical(as.numeric(table(cell)), inside, 0.95)
  expect_lt(abs(attr(found, "critical") - expected$value), 0.06)
})

test_that("a formula, vectors and a seed give the same, and the session's random numbers stay", {
  data <- crossed_people()
  found <- fs_subgroups(data, y_pred = "hired", sensitive_features = COLUMNS_CROSSED)
  set.seed(4)
  before <- .Random.seed
  vectors <- fs_subgroups(y_pred = data$hired, sensitive_features = data[COLUMNS_CROSSED])
  expect_identical(.Random.seed, before)
  formula <- fs_subgroups(hired ~ sex + age + region, data)
  expect_equal(as.data.frame(vectors), as.data.frame(found))
  expect_equal(as.data.frame(formula), as.data.frame(found))
})

test_that("conditional rates need the outcome, and what cannot be used is named", {
  data <- crossed_people()
  data$able <- rep(0:1, length.out = nrow(data))
  found <- fs_subgroups(
    data,
    "able",
    "hired",
    COLUMNS_CROSSED,
    "equal_opportunity_difference",
    depth = 1
  )
  women <- data$sex == "f" & data$able == 1
  expect_equal(found$rate[found$group == "sex = f"], mean(data$hired[women]))
  expect_equal(nrow(found), 7)
  refused <- function(metric) fs_subgroups(hired ~ sex, data, metric = metric)
  expect_error(refused("equal_opportunity_difference"), "y_true")
  expect_error(refused("disparate_impact"), "metric")
  expect_error(fs_subgroups(data, y_pred = "hired", sensitive_features = "sex", depth = 0), "depth")
  expect_error(
    fs_subgroups(data, y_pred = "hired", sensitive_features = "sex", min_rows = 1000),
    "min_rows"
  )
})

test_that("numbers are cut as cut() does, at points and into groups of equal size", {
  data <- crossed_people()
  data$years <- rep(18:77, 15)
  found <- fs_subgroups(
    data,
    y_pred = "hired",
    sensitive_features = c("sex", "years"),
    cuts = list(years = c(40, 60)),
    depth = 1
  )
  by_cut <- table(cut(data$years, c(-Inf, 40, 60, Inf), right = FALSE))
  words <- paste("years =", c("below 40", "40 to below 60", "60 or more"))
  expect_equal(found$n[match(words, found$group)], as.numeric(by_cut))
  halves <- fs_subgroups(
    data,
    y_pred = "hired",
    sensitive_features = c("sex", "years"),
    cuts = list(years = 2),
    depth = 1
  )
  expect_true(paste("years = below", stats::median(data$years)) %in% halves$group)
  expect_error(
    fs_subgroups(
      data,
      y_pred = "hired",
      sensitive_features = c("sex", "years"),
      cuts = list(sex = 2)
    ),
    "cuts"
  )
  expect_error(
    fs_subgroups(
      data,
      y_pred = "hired",
      sensitive_features = c("sex", "years"),
      cuts = list(years = c(3, 1))
    ),
    "increasing"
  )
})

test_that("shrunken rates lie between the rate and that of the partition, by both models", {
  data <- crossed_people()
  for (shrinkage in c("conjugate", "um_hierarchical")) {
    found <- fs_subgroups(
      data,
      y_pred = "hired",
      sensitive_features = "region",
      shrinkage = shrinkage
    )
    pooled <- if (shrinkage == "conjugate") mean(data$hired) else mean(range(found$rate))
    expect_true(all(abs(found$shrunken_rate - pooled) <= abs(found$rate - pooled) + 0.01))
  }
  by_hand <- crosscheck_shrunken_rates(c(20, 40), c(100, 100), "conjugate")
  strength <- 0.21 / 0.0179 - 1
  expect_equal(by_hand, c(20 + 0.3 * strength, 40 + 0.3 * strength) / (100 + strength))
})

test_that("the head says how many of the flagged fare worse, and how many better", {
  people <- expand.grid(id = 1:400, site = c("a", "b", "c"), stringsAsFactors = FALSE)
  people$hired <- as.integer(people$id <= c(a = 300, b = 200, c = 199)[people$site])
  found <- fs_subgroups(hired ~ site, people, n_resamples = 199)
  expect_equal(sum(found$flagged), 3L)
  expect_match(attr(found, "head")[1], "3 of 3 subgroups are flagged", fixed = TRUE)
  expect_match(attr(found, "head")[1], " (2 worse, 1 better); with", fixed = TRUE)
})
