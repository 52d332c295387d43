# summary, confint, as.data.frame, plot, tidy and glance of what the functions return.

rows <- data.frame(
  hit = rep(c(1, 0, 1, 0, 1, 0), c(50, 50, 20, 80, 45, 55)),
  group = rep(c("a", "b", "c"), each = 100)
)
impact <- fs_disparate_impact(hit ~ group, rows, reference = "a")
drawn <- function(x, ...) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_invisible(plot(x, ...))
}

test_that("confint has the limits of the table, by row and by metric", {
  limits <- confint(impact)
  expect_equal(
    dimnames(limits),
    list(
      c("disparate_impact: b against a", "disparate_impact: c against a"),
      c("2.5 %", "97.5 %")
    )
  )
  expect_equal(unname(limits), cbind(impact$ci_low, impact$ci_high))
  expect_equal(confint(impact, "disparate_impact: c against a"), limits[2L, , drop = FALSE])
  expect_equal(confint(impact, 1), limits[1L, , drop = FALSE])
  expect_equal(confint(impact, "disparate_impact", level = 0.95), limits)
  wide <- fs_disparate_impact(hit ~ group, rows, reference = "a", confidence_level = 0.9)
  expect_equal(colnames(confint(wide)), c("5 %", "95 %"))
  expect_error(confint(impact, level = 0.9), "`level`: got 0.9; allowed: 0.95")
  expect_error(confint(impact, "nope"), "`parm`: got nope")
  expect_error(confint(impact, 3), "`parm`: got 3")
})

test_that("summary counts the verdicts and names the violations", {
  found <- summary(impact)
  # 20 against 50 of 100 is far below four fifths, 45 against 50 is not decided
  expect_equal(
    found$verdicts["disparate_impact", ],
    c(violated = 1, undecided = 1, "insufficient evidence" = 0, satisfied = 0)
  )
  expect_equal(found$violations$group, "b")
  expect_equal(found$violations$estimate, 20 / 50)
  expect_equal(c(found$comparisons, found$confidence_level), c(2, 0.95))
  expect_output(print(found), "2 comparisons, 95% intervals")
  expect_output(print(found), "Violated:\n +sensitive_features.*disparate_impact +b +a +0.4")
})

test_that("as.data.frame is plain", {
  plain <- as.data.frame(impact)
  expect_identical(class(plain), "data.frame")
  expect_setequal(names(attributes(plain)), c("names", "row.names", "class"))
  expect_equal(plain$estimate, c(0.4, 0.9))
})

test_that("tidy and glance have the names of broom", {
  skip_if_not_installed("generics")
  tidied <- generics::tidy(impact)
  expect_true(all(
    c("term", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high") %in%
      names(tidied)
  ))
  expect_equal(tidied$estimate, c(20 / 50, 45 / 50))
  expect_equal(tidied$adj.p.value, stats::p.adjust(tidied$p.value, "holm"))
  whole <- generics::glance(impact)
  expect_equal(nrow(whole), 1L)
  expect_equal(
    whole[c("comparisons", "groups", "violated", "undecided", "conf.level")],
    data.frame(comparisons = 2L, groups = 3L, violated = 1L, undecided = 1L, conf.level = 0.95)
  )
  fit <- fs_fit_gpd(stats::qexp((1:50 - 0.5) / 50), source = "base")
  expect_equal(generics::tidy(fit)$estimate, unname(fit$estimate))
  expect_equal(generics::glance(fit)$AIC, stats::AIC(fit))
})

test_that("a fit answers as fits in R do", {
  fit <- fs_fit_gpd(stats::qexp((1:50 - 0.5) / 50), source = "base")
  expect_equal(stats::coef(fit), fit$estimate)
  expect_equal(sqrt(diag(stats::vcov(fit))), fit$std_error, ignore_attr = TRUE)
  # Wald's limits by hand
  limits <- confint(fit, "scale", level = 0.9)
  expect_equal(
    c(limits),
    fit$estimate[["scale"]] + c(-1, 1) * 1.644854 * fit$std_error[["scale"]],
    tolerance = 1e-6
  )
  expect_equal(stats::AIC(fit), 2 * fit$nll + 4)
  expect_output(print(fit), "negative log-likelihood")
  expect_error(confint(fit, "nope"), "`parm`")
  drawn(fit)
})

test_that("tables of models, of selection and of risk have them, too", {
  rows$other <- 1 - rows$hit
  models <- fs_compare_models(cbind(hit, hit, other) ~ group, transform(rows, y = hit))
  expect_equal(unname(confint(models)), cbind(models$ci_low, models$ci_high))
  impact <- fs_adverse_impact(rows, "hit", sex = "group")
  # the highest rate is a's
  expect_equal(
    rownames(confint(impact)),
    c("adverse_impact: b against a", "adverse_impact: c against a")
  )
  expect_equal(sum(summary(impact)$verdicts), 2)
  risk <- fs_discriminative_risk(function(rows) rows$group == "a", rows, "group")
  expect_s3_class(risk, "fairstats_table")
  for (x in list(models, impact, risk)) {
    drawn(x)
  }
})

test_that("tails, tallies, thresholds and lists of numbers are printed and drawn", {
  set.seed(2)
  tails <- fs_ecd(0.5 * stats::rbeta(600, 2, 8), 0.3 * stats::rbeta(900, 2, 8))
  expect_equal(unname(confint(tails)[1L, ]), c(tails$ci_low, tails$ci_high))
  expect_equal(as.data.frame(tails)$estimate, tails$estimate)
  expect_s3_class(summary(tails), "fairstats_summary")
  tally <- fs_read_tally(system.file("extdata", "tally.json", package = "fairstats"))
  expect_equal(sum(summary(tally)$n), 600)
  expect_equal(summary(tally)$selection_rate, c((17 + 101) / 240, (24 + 163) / 360))
  expect_output(print(tally), "600 rows counted by sex")
  chosen <- fs_choose_threshold(stats::qexp((1:200 - 0.5) / 200), "k_largest", k = 20)
  expect_output(print(chosen), "exceeded by 20 of 200 values")
  expect_equal(as.data.frame(chosen)$n, 20)
  for (x in list(tally, chosen)) {
    drawn(x)
  }
  size <- fs_sample_size_ratio(0.5, 0.6)
  expect_output(print(size), paste("n:", size$n))
  expect_equal(as.data.frame(size)$n, size$n)
})

test_that("reports and comparisons with them have them, too", {
  path <- system.file("extdata", "report.json.gz", package = "fairstats")
  report <- fs_read_report(path)
  expect_equal(as.data.frame(report), report$table)
  expect_equal(sum(summary(report)$verdicts), sum(report$table$verdict %in% VERDICTS))
  limits <- confint(report, "disparate_impact")
  expect_equal(nrow(limits), sum(report$table$metric == "disparate_impact"))
  people <- utils::read.csv(system.file("extdata", "people.csv", package = "fairstats"))
  compared <- fs_compare(report, fs_disparate_impact(hired ~ sex, people, reference = "male"))
  expect_equal(unname(summary(compared)$counts["rates", ]), c(nrow(compared), 0))
  expect_output(print(summary(compared)), "Only in the report")
  expect_identical(class(as.data.frame(compared)), "data.frame")
  drawn(compared)
})
