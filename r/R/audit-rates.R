# Ratios, differences and largest gaps of an audit: one method for interval, tests and verdict of every pair; where a cell
# is small, verdicts of the score are by exact tests. Limits and texts as in Python.

SMALL_CELL <- 5
EXACT_BELOW <- 10
EXACT_CASES <- 2000
EXACT_NEAR <- 4
MIN_UNITS <- 8
MIN_EFFECTIVE <- 10
FULL_EFFECTIVE <- 20
DELTA_ROWS <- 10
DELTA_CASES <- 3
EDGEWORTH <- 0.7

# Whether weighted or clustered rows of a pair are too few: effective sampling units, successes, failures.
too_few <- function(metric, i, j, clustered) {
  if (is.infinite(metric$df)) return(FALSE)
  few <- vapply(metric$parts, function(p) any(enough_share(p, i, j, clustered) < MIN_EFFECTIVE / FULL_EFFECTIVE), NA)
  any(few, metric$units[c(i, j)] < MIN_UNITS)
}

# Name of the method of a pair, NA where it is not defined there.
chosen_method <- function(metric, i, j, contrast, method, clustered) {
  weighted <- is.finite(metric$df)
  suffix <- if (weighted) " (Satterthwaite)" else ""
  if (weighted) {
    if (too_few(metric, i, j, clustered)) return(NA_character_)
    if (!isTRUE(pair_estimate(metric, i, j, contrast)$s > 0)) return(NA_character_)
  }
  if (is.null(metric$parts) || (length(metric$parts) > 1L && contrast == "ratio")) {
    cases <- if (is.null(metric$parts)) Inf else vapply(metric$parts, function(p) min(p$cases[c(i, j)]), 0)
    if (!weighted && (min(metric$rows[c(i, j)]) < DELTA_ROWS || min(cases) < DELTA_CASES)) return(NA_character_)
    return(paste0(if (contrast == "difference") "delta" else if (weighted) "log" else "fieller", suffix))
  }
  if (method %in% c("score", "koopman", "mee")) {
    return(paste0(method, if (length(metric$parts) > 1L) " (MOVER)" else "", suffix))
  }
  empty <- any(vapply(metric$parts, function(p) {
    any(p$successes[c(i, j)] <= 0 | p$successes[c(i, j)] >= p$cases[c(i, j)])
  }, NA))
  s <- pair_estimate(metric, i, j, contrast)$std_error
  if (empty || !isTRUE(s > 0)) return(NA_character_)
  paste0(method, suffix)
}

# Whether the verdict of a pair is by exact tests.
exactly <- function(metric, i, j, contrast, method, threshold, level, chosen_among = 1) {
  if (method != "score") return(FALSE)
  cells <- effective_table(metric$parts[[1L]], i, j)
  if (smallest_cell(cells) >= EXACT_BELOW || min(cells[2L], cells[4L]) > EXACT_CASES) return(FALSE)
  fair <- fair_range(contrast, threshold)
  by <- pair_method(metric, i, j, contrast, method)
  shows <- evidence_of(by$z(fair[1L]), by$z(fair[2L]), metric$df, level)
  isTRUE(min(shows$p_below, shows$p_above, shows$p_inside) <= EXACT_NEAR * (1 - level) / chosen_among)
}

# One comparison as a row of the tidy table.
compare_row <- function(of, i, j, name, groups, contrast, method, options, clustered, critical) {
  row <- tidy_row(name, groups[i], groups[j],
    n = of$rows[i], n_reference = of$rows[j], method = method, confidence_level = options$confidence_level,
    rate = of$rate[i], rate_reference = of$rate[j], verdict = "insufficient evidence", p_below = NaN, p_above = NaN,
    p_inside = NaN
  )
  r <- of$rate[c(i, j)]
  if (!all(is.finite(r))) return(row)
  if (contrast == "ratio" && all(r == 0)) {
    row[c("ci_low", "ci_high", "bound_low", "bound_high")] <- list(0, Inf, 0, Inf)
    return(row)
  }
  pair <- pair_estimate(of, i, j, contrast)
  row[c("estimate", "std_error")] <- pair[c("estimate", "std_error")]
  way <- chosen_method(of, i, j, contrast, method, clustered)
  if (is.na(way)) return(row)
  threshold <- if (contrast == "ratio") options$threshold else options$margin
  level <- options$confidence_level
  chosen <- if (is.null(options$chosen_among)) 1 else options$chosen_among
  exact <- exactly(of, i, j, contrast, way, threshold, level, chosen)
  found <- compare_pair(of, i, j, contrast, way, exact, critical, threshold, level, clustered)
  row[c("ci_low", "ci_high", "bound_low", "bound_high", "statistic", "pvalue")] <-
    found[c("low", "high", "bound_low", "bound_high", "z_equal", "p_equal")]
  row[c("mc_ci_low", "mc_ci_high")] <- found[c("low_error", "high_error")]
  row[c("p_below", "p_above", "p_inside")] <- found[c("p_below", "p_above", "p_inside")]
  row$method <- way
  row
}

# Verdicts of the rows of one metric: the smallest of three p-values (below, above, inside the fair range) names the
# direction; those are adjusted together, or multiplied by the number of comparisons that the data chose from.
settle_rows <- function(found, options, chosen_among = 0) {
  sides <- c(p_below = "below", p_above = "above", p_inside = "inside")
  p <- as.matrix(found[names(sides)])
  side <- apply(p, 1L, function(x) if (any(is.finite(x))) which.min(x) else NA_integer_)
  found$pvalue_verdict <- p[cbind(seq_len(nrow(p)), side)]
  found$pvalue_verdict_adjusted <- if (chosen_among) pmin(chosen_among * found$pvalue_verdict, 1) else {
    adjust_pvalues(found$pvalue_verdict, options$adjust)
  }
  shown <- found$pvalue_verdict_adjusted <= 1 - options$confidence_level
  found$verdict <- ifelse(is.na(shown), "insufficient evidence", ifelse(
    !shown, "undecided", ifelse(side == 3L, "satisfied", "violated")
  ))
  found[setdiff(names(found), names(sides))]
}

# Violated, satisfied or undecided by two one-sided bounds, for what is not judged by p-values.
verdict_of <- function(low, high, contrast, threshold) {
  if (is.na(low) || is.na(high)) return("insufficient evidence")
  fair <- fair_range(contrast, threshold)
  if (high < fair[1L] || low > fair[2L]) return("violated")
  if (fair[1L] < low && high < fair[2L]) "satisfied" else "undecided"
}

# All comparisons of a metric; those of its rates (TPR and FPR of equalised odds) are one family, which shares critical
# value and adjustment.
compare_metric <- function(cells, pairs, metric, options) {
  values <- lapply(metric$rates, function(rate) {
    cell_metric(
      cells$totals, as_metric(rate, ncol(cells$totals)), cells$rows, cells$scatter, cells$units, cells$group_units
    )
  })
  critical <- critical_values(values, cells, pairs, metric$contrast, options$simultaneous, options$confidence_level)
  method <- method_of(options$method, metric$contrast)
  found <- bind_rows(unlist(Map(function(of, name) {
    lapply(seq_len(nrow(pairs)), function(k) {
      compare_row(
        of, pairs[k, 1L], pairs[k, 2L], name, cells$groups, metric$contrast, method, options, cells$clustered, critical
      )
    })
  }, values, metric$rows), recursive = FALSE))
  found$pvalue_adjusted <- adjust_pvalues(found$pvalue, options$adjust)
  settle_rows(found, options)
}

# Rows of a metric: against the reference, or the largest gap.
metric_rows <- function(cells, pairs, metric, options) {
  if (metric$contrast == "gap") gap_row(cells, metric, options) else compare_metric(cells, pairs, metric, options)
}

# The method of a contrast where one is asked for that the other contrast knows.
method_of <- function(method, contrast) {
  if (is.null(method)) return("score")
  if (contrast == "ratio") return(if (method == "mee") "koopman" else method)
  switch(method, log = "score", koopman = "mee", method)
}

# Largest absolute difference of any of the rates between any two groups, as a row of the tidy table. Its band is
# simulated, with a Monte Carlo error.
gap_row <- function(cells, metric, options) {
  level <- options$confidence_level
  rates <- metric$rates
  row <- tidy_row(metric$name, NA_character_, NA_character_,
    n = sum(cells$rows), method = "simultaneous band", confidence_level = level, verdict = "insufficient evidence"
  )
  row[c("ci_low", "ci_high", "bound_low", "bound_high")] <- list(0, 1, 0, 1)
  found <- crosscheck_largest(
    cells$totals, cells$rows, rates, level, stats::qnorm((1 + level) / 2), cells$clustered, cells$scatter, cells$units,
    cells$group_units
  )
  if (is.null(found)) return(bind_rows(list(row)))
  top <- order(-abs(found$difference))[1L]
  row$group <- cells$groups[found$first[top]]
  row$reference <- cells$groups[found$second[top]]
  row$estimate <- found$estimate
  row$std_error <- found$std_error[top]
  row[c("ci_low", "ci_high", "mc_ci_low", "mc_ci_high")] <- as.list(found$interval)
  row[c("bound_low", "bound_high", "mc_bound_low", "mc_bound_high")] <- as.list(found$bounds)
  row$statistic <- found$statistic
  row$pvalue <- row$pvalue_adjusted <- found$pvalue
  row$mc_pvalue <- row$mc_pvalue_adjusted <- found$pvalue_error
  if (!is.nan(row$pvalue)) row$verdict <- verdict_of(row$bound_low, row$bound_high, "difference", options$margin)
  row$attained_by <- rates[found$metric[top]]
  bind_rows(list(row))
}

tidy_row <- function(metric, group, reference, ...) {
  row <- list(
    metric = metric, group = group, reference = reference, estimate = NaN, std_error = NaN, ci_low = NaN,
    ci_high = NaN, statistic = NaN, pvalue = NaN, pvalue_adjusted = NaN, n = NA_real_, method = "",
    n_reference = NA_real_, rate = NaN, rate_reference = NaN, bound_low = NaN, bound_high = NaN,
    confidence_level = NaN, pvalue_verdict = NaN, pvalue_verdict_adjusted = NaN, verdict = NA_character_
  )
  given <- list(...)
  row[names(given)] <- given
  row
}

# Rows or data frames, which may have different columns, as one data frame; NULL for missing.
bind_rows <- function(rows) {
  rows <- unname(rows[lengths(rows) > 0L])
  names <- unique(unlist(lapply(rows, names)))
  columns <- lapply(names, function(name) {
    unlist(lapply(rows, function(row) if (is.null(row[[name]])) rep(NA, length(row[[1L]])) else unname(row[[name]])))
  })
  names(columns) <- names
  as.data.frame(columns, stringsAsFactors = FALSE, optional = TRUE)
}

# Adjusted p-values of one family; missing ones stay missing and do not count.
adjust_pvalues <- function(p, adjust) {
  known <- is.finite(p)
  p[known] <- if (adjust == "sidak") 1 - (1 - p[known])^sum(known) else {
    stats::p.adjust(p[known], if (adjust == "fdr_bh") "BH" else adjust)
  }
  p
}
