#' Power and sample size of the disparate-impact test
#'
#' The logarithm of the estimated ratio is taken as normal with variance (1 - r0) / (n r0) + (1 - r1) /
#' (n_reference r1) at the assumed rates. `sample_size_ratio` finds the smallest group size with the wanted power.
#'
#' @param rate_reference Assumed rate of the reference, in (0, 1).
#' @param ratio Assumed true ratio, in the alternative.
#' @param n,n_reference Cases in the group and in the reference.
#' @param threshold Null value of the one-sided tests; the two-sided one asks whether the ratio is 1.
#' @param alternative `"less"` (show a violation), `"greater"` (show compliance) or `"two-sided"`.
#' @param level The test has size 1 - `level`.
#' @return `power_ratio`: the power. `sample_size_ratio`: a list with n, n_reference and the power that they reach.
#' @examples
#' power_ratio(0.5, 0.7, n = 400)
#' sample_size_ratio(0.5, 0.7, power = 0.8)$n
#' @export
power_ratio <- function(rate_reference, ratio, n, n_reference = n, threshold = 0.8,
                        alternative = c("less", "greater", "two-sided"), level = 0.95) {
  alternative <- match.arg(alternative)
  null <- checked_plan(rate_reference, ratio, threshold, alternative)
  if (!(n >= 1 && n_reference >= 1)) stop_argument("n", listed(c(n, n_reference)), "1 or more cases")
  odds <- function(p) (1 - p) / p
  s <- sqrt(odds(rate_reference * ratio) / n + odds(rate_reference) / n_reference)
  z <- (log(ratio) - log(null)) / s
  switch(alternative,
    less = stats::pnorm(stats::qnorm(1 - level), z), greater = stats::pnorm(stats::qnorm(level), z, lower.tail = FALSE),
    # chi square with one degree of freedom, not centred
    "two-sided" = stats::pchisq(stats::qchisq(level, 1), 1, ncp = z^2, lower.tail = FALSE)
  )
}

#' @rdname power_ratio
#' @param power Wanted power.
#' @param allocation Cases in the reference per case in the group.
#' @export
sample_size_ratio <- function(rate_reference, ratio, power = 0.8, allocation = 1, threshold = 0.8,
                              alternative = c("less", "greater", "two-sided"), level = 0.95) {
  alternative <- match.arg(alternative)
  if (!(power > 1 - level && power < 1)) stop_argument("power", listed(power), "a number between 1 - level and 1")
  if (!(allocation > 0)) stop_argument("allocation", listed(allocation), "a number above 0")
  lacks <- function(n) {
    power_ratio(rate_reference, ratio, n, max(allocation * n, 1), threshold, alternative, level) - power
  }
  high <- 2
  while (lacks(high) < 0) high <- 2 * high
  n <- if (lacks(1) >= 0) 1 else ceiling(stats::uniroot(lacks, c(1, high), tol = 1e-9)$root - 1e-6)
  n <- max(n, 2)
  list(
    n = n, n_reference = ceiling(allocation * n),
    power = power_ratio(rate_reference, ratio, n, ceiling(allocation * n), threshold, alternative, level)
  )
}

checked_plan <- function(rate_reference, ratio, threshold, alternative) {
  if (!(rate_reference > 0 && rate_reference < 1)) {
    stop_argument("rate_reference", listed(rate_reference), "a rate in (0, 1)")
  }
  if (!(threshold > 0)) stop_argument("threshold", listed(threshold), "a ratio above 0")
  if (!(ratio > 0 && ratio < 1 / rate_reference)) {
    stop_argument("ratio", listed(ratio), "above 0 and below 1 / rate_reference")
  }
  null <- if (alternative == "two-sided") 1 else threshold
  if (ratio == null || (alternative == "less" && ratio > null) || (alternative == "greater" && ratio < null)) {
    stop_argument("ratio", listed(ratio), "a ratio in the alternative")
  }
  null
}

#' One ratio of selection rates over strata, and the change between two models
#'
#' `fs_stratified_ratio`: the Mantel-Haenszel ratio over strata of a confounder with the variance of Greenland and
#' Robins, the Cochran-Mantel-Haenszel test, Cochran's Q and the Breslow-Day test with Tarone's adjustment.
#' `fs_compare_models`: how a metric changes from one model to another on the same people, by the delta method on
#' the cells of label and both predictions, so that their covariance is part of the variance.
#'
#' @inheritParams fs_disparate_impact
#' @param strata Column of the strata.
#' @param y_pred_a,y_pred_b Predictions of the two models.
#' @param metric `"disparate_impact"`, `"demographic_parity_difference"`, `"equal_opportunity_difference"` or
#'   `"predictive_parity_difference"`.
#' @param reference,favorable_label,confidence_level,threshold,adjust As in [fs_audit()].
#' @return A data frame: group, reference, estimate, std_error, ci_low, ci_high, statistic, pvalue,
#'   pvalue_adjusted, and for strata crude (the ratio that leaves them out), cmh_p, q_p, tarone_p; for models
#'   before, after, and distance, distance_low, distance_high (change of the distance from parity, on the log scale
#'   for ratios).
#' @references Greenland, Robins (1985). Estimation of a common effect parameter from sparse follow-up data.
#'   Biometrics 41, 55-68. Leisenring, Alonzo, Pepe (2000). Comparisons of predictive values of binary medical
#'   diagnostic tests for paired designs. Biometrics 56, 345-351.
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' fs_stratified_ratio(people, "hired", "origin", "qualified", reference = "north")
#' people$stricter <- as.numeric(people$score > 0.6)
#' fs_compare_models(people, "qualified", "hired", "stricter", "sex", favorable_label = list(y_true = "yes", y_pred
#' = 1))
#' @export
fs_stratified_ratio <- function(data = NULL, y_pred, sensitive_features, strata, reference = NULL, favorable_label = 1,
                                confidence_level = 0.95, threshold = 0.8, adjust = "holm") {
  audit_options(confidence_level, threshold, adjust = adjust)
  input <- read_columns(data, NULL, y_pred, NULL, sensitive_features, favorable_label)
  stratum <- label_text(column_of(data, strata, "strata"))
  if (length(stratum) != input$n || anyNA(stratum)) {
    stop_argument("strata", "missing values or another length", "the stratum of every row")
  }
  grouping <- make_groups(input$attributes)
  pairs <- make_pairs(grouping, reference_of(reference, names(input$attributes), 1L), "reference")
  cells <- table(factor(stratum), factor(grouping$labels, grouping$groups), factor(input$y_pred, 1:0))
  cells <- array(as.numeric(cells), dim(cells))
  found <- bind_rows(lapply(seq_len(nrow(pairs)), function(k) {
    one <- crosscheck_stratified(cells[, pairs[k, ], , drop = FALSE], confidence_level, threshold)
    list(
      metric = "disparate_impact_stratified", group = grouping$groups[pairs[k, 1L]],
      reference = grouping$groups[pairs[k, 2L]], estimate = one$estimate, std_error = one$std_error, ci_low = one$low,
      ci_high = one$high, statistic = one$z_equal, pvalue = one$p_equal,
      verdict = verdict_of(one$bound_low, one$bound_high, "ratio", threshold), crude = one$crude, cmh_p = one$cmh_p,
      q_p = one$q_p, tarone_p = one$tarone_p
    )
  }))
  with_adjusted(found, adjust)
}

with_adjusted <- function(found, adjust) {
  at <- match("pvalue", names(found))
  adjusted <- data.frame(pvalue_adjusted = adjust_pvalues(found$pvalue, adjust))
  cbind(found[seq_len(at)], adjusted, found[-seq_len(at)])
}

PAIRED_METRICS <- list(
  disparate_impact = c("selection_rate", "ratio"),
  demographic_parity_difference = c("selection_rate", "difference"),
  equal_opportunity_difference = c("tpr", "difference"),
  predictive_parity_difference = c("ppv", "difference")
)

#' @rdname fs_stratified_ratio
#' @export
fs_compare_models <- function(data = NULL, y_true, y_pred_a, y_pred_b, sensitive_features, metric = "disparate_impact",
                              reference = NULL, favorable_label = 1, confidence_level = 0.95, adjust = "holm") {
  audit_options(confidence_level, adjust = adjust)
  if (!metric %in% names(PAIRED_METRICS)) stop_argument("metric", listed(metric), listed(names(PAIRED_METRICS)))
  input <- read_columns(data, y_true, y_pred_a, NULL, sensitive_features, favorable_label)
  second <- read_columns(data, NULL, y_pred_b, NULL, sensitive_features, favorable_label)$y_pred
  grouping <- make_groups(input$attributes)
  pairs <- make_pairs(grouping, reference_of(reference, names(input$attributes), 1L), "reference")
  cells <- c("111", "110", "101", "100", "011", "010", "001", "000")
  counts <- table(
    factor(grouping$labels, grouping$groups), factor(paste0(input$y_true, input$y_pred, second), cells)
  )
  totals <- matrix(as.numeric(counts), nrow(counts))
  covariance <- diag(as.vector(t(totals)), length(totals))
  of <- RATE_CELLS[[PAIRED_METRICS[[metric]][1L]]][[1L]]
  kinds <- c("tp", "fp", "fn", "tn")
  found <- bind_rows(lapply(seq_len(nrow(pairs)), function(k) {
    one <- crosscheck_paired(
      totals, covariance, pairs[k, 1L], pairs[k, 2L], cells, kinds[of$success], kinds[of$case],
      PAIRED_METRICS[[metric]][2L], confidence_level, Inf
    )
    list(
      metric = metric, group = grouping$groups[pairs[k, 1L]], reference = grouping$groups[pairs[k, 2L]],
      before = one$before, after = one$after, estimate = one$estimate, std_error = one$std_error, ci_low = one$low,
      ci_high = one$high, statistic = one$statistic, pvalue = one$pvalue, distance = one$distance,
      distance_low = one$distance_low, distance_high = one$distance_high
    )
  }))
  with_adjusted(found, adjust)
}
