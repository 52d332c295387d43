# Ratios, differences and largest gaps of an audit: the method of every pair, as the Python side chooses it.
#
# With a cell below 5 tests and verdict rest on the score; where the log interval is not defined, it is the score's.

SMALL_CELL <- 5

# The metrics of an audit: rate, contrast, and what they need.
RATE_METRICS <- list(
  disparate_impact = c("selection_rate", "ratio", "pred"),
  disparate_impact_labels = c("base_rate", "ratio", "true"),
  conditional_accuracy_1 = c("tpr", "ratio", "both"),
  conditional_accuracy_0 = c("tnr", "ratio", "both"),
  conditional_use_accuracy_1 = c("ppv", "ratio", "both"),
  conditional_use_accuracy_0 = c("npv", "ratio", "both"),
  demographic_parity_difference = c("selection_rate", "difference", "pred"),
  demographic_parity_difference_labels = c("base_rate", "difference", "labels only"),
  equal_opportunity_difference = c("tpr", "difference", "both"),
  predictive_parity_difference = c("ppv", "difference", "both"),
  average_odds_difference = c("average_odds", "difference", "both"),
  tpr_difference = c("tpr", "difference", "both"),
  fpr_difference = c("fpr", "difference", "both")
)

# Cells tp, fp, fn, tn that a rate counts as successes and as cases.
RATE_CELLS <- list(
  selection_rate = list(list(success = 1:2, case = 1:4)),
  base_rate = list(list(success = c(1, 3), case = 1:4)),
  tpr = list(list(success = 1, case = c(1, 3))),
  fpr = list(list(success = 2, case = c(2, 4))),
  tnr = list(list(success = 4, case = c(2, 4))),
  ppv = list(list(success = 1, case = 1:2)),
  npv = list(list(success = 4, case = 3:4)),
  average_odds = list(list(success = 1, case = c(1, 3)), list(success = 2, case = c(2, 4)))
)

parts_of <- function(cells, rate) {
  if (ncol(cells$totals) == 2L) list(list(success = 1, case = 1:2)) else RATE_CELLS[[rate]]
}

# Which metrics the given columns allow.
possible_metrics <- function(input) {
  has <- c(
    pred = !is.null(input$y_pred), true = !is.null(input$y_true),
    both = !is.null(input$y_pred) && !is.null(input$y_true),
    "labels only" = is.null(input$y_pred) && !is.null(input$y_true)
  )
  names(RATE_METRICS)[vapply(RATE_METRICS, function(m) has[[m[[3L]]]], NA)]
}

# Cell totals and rows of every group: tp, fp, fn, tn, or selected and not; under weights or clusters also the
# scatter of the totals over the sampling units.
audit_cells <- function(input, grouping) {
  given <- if (is.null(input$y_pred)) input$y_true else input$y_pred
  both <- !is.null(input$y_pred) && !is.null(input$y_true)
  cell <- if (both) c(4, 2, 3, 1)[1 + input$y_pred + 2 * input$y_true] else 2 - given
  size <- if (both) 4L else 2L
  count <- length(grouping$groups)
  place <- (match(grouping$labels, grouping$groups) - 1L) * size + cell
  rows <- matrix(tabulate(place, count * size), count, byrow = TRUE)
  found <- list(
    totals = rows, rows = rows, scatter = NULL, units = 0, clustered = !is.null(input$cluster), groups = grouping$groups
  )
  if (is.null(input$weight) && is.null(input$cluster)) return(found)
  w <- if (is.null(input$weight)) rep(1, input$n) else input$weight
  member <- matrix(0, input$n, count * size)
  member[cbind(seq_len(input$n), place)] <- w
  by_unit <- if (is.null(input$cluster)) member else rowsum(member, input$cluster, reorder = FALSE)
  found$totals <- matrix(colSums(by_unit), count, byrow = TRUE)
  found$units <- nrow(by_unit)
  if (found$units < 2L) stop_argument("cluster", "one sampling unit", "two or more: a variance needs them")
  found$scatter <- crossprod(sweep(by_unit, 2L, colMeans(by_unit)))
  found
}

smallest_cell <- function(cells) min(cells[1L], cells[2L] - cells[1L], cells[3L], cells[4L] - cells[3L])

# Names of the methods of a pair: of the interval that is shown, and of what tests and verdict rest on.
chosen_methods <- function(metric, i, j, contrast, method, clustered) {
  score <- if (length(metric$parts) > 1L) "score (MOVER)" else "score"
  if (method %in% c("score", "koopman", "mee")) {
    if (clustered) stop_argument("method", paste0('"', method, '" with clusters'), '"log" or "delta"')
    name <- sub("score", method, score, fixed = TRUE)
    return(c(shown = name, judged = name))
  }
  empty <- any(vapply(metric$parts, function(p) {
    any(p$successes[c(i, j)] <= 0 | p$successes[c(i, j)] >= p$cases[c(i, j)])
  }, NA))
  small <- min(vapply(metric$parts, function(p) smallest_cell(effective_table(p, i, j)), 0)) < SMALL_CELL
  judged <- if (empty || (small && !clustered)) score else method
  usable <- contrast == "difference" || all(metric$rate[c(i, j)] > 0)
  if ((method == "log" && empty) || !usable) return(c(shown = score, judged = score))
  c(shown = method, judged = judged)
}

# One comparison as a row of the tidy table.
compare_row <- function(of_rate, i, j, name, groups, contrast, method, options, clustered, critical) {
  level <- options$confidence_level
  row <- tidy_row(name, groups[i], groups[j],
    n = of_rate$rows[i], n_reference = of_rate$rows[j], method = method, confidence_level = level,
    rate = of_rate$rate[i], rate_reference = of_rate$rate[j], verdict = "insufficient evidence"
  )
  r <- of_rate$rate[c(i, j)]
  if (!all(is.finite(r))) return(row)
  if (contrast == "ratio" && all(r == 0)) {
    row[c("ci_low", "ci_high", "bound_low", "bound_high")] <- list(0, Inf, 0, Inf)
    return(row)
  }
  methods <- chosen_methods(of_rate, i, j, contrast, method, clustered)
  row$estimate <- if (contrast == "ratio") r[1L] / r[2L] else r[1L] - r[2L]
  gradient <- if (contrast == "ratio") c(1, -1) / r else c(1, -1)
  s <- sqrt(max(0, sum(outer(gradient, gradient) * of_rate$covariance[c(i, j), c(i, j)])))
  if (s == 0 && methods[["judged"]] %in% c("log", "delta")) return(row)
  row$std_error <- if (contrast == "difference") s else if (all(r > 0)) row$estimate * s else NaN
  shown <- pair_method(of_rate, i, j, contrast, methods[["shown"]])
  judged <- pair_method(of_rate, i, j, contrast, methods[["judged"]])
  row[c("ci_low", "ci_high", "mc_ci_low", "mc_ci_high")] <- ends_with_error(shown$ends, critical$two_sided)
  row[c("bound_low", "bound_high", "mc_bound_low", "mc_bound_high")] <- ends_with_error(judged$ends, critical$one_sided)
  row$statistic <- judged$z(if (contrast == "ratio") 1 else 0)
  row$pvalue <- 2 * stats::pt(-abs(row$statistic), of_rate$df)
  row$method <- methods[["shown"]]
  row$verdict <- verdict_of(
    row$bound_low, row$bound_high, contrast, if (contrast == "ratio") options$threshold else options$tolerance
  )
  row
}

# Critical values of the intervals and of the one-sided bounds of a family of rates.
critical_values <- function(cells, rates, pairs, contrast, options) {
  metrics <- lapply(rates, function(rate) {
    cell_metric(cells$totals, cells$rows, parts_of(cells, rate), cells$scatter, cells$units)
  })
  at <- function(level) {
    family_critical(
      metrics, cells$totals, cells$scatter, cells$units, pairs[, 1L], pairs[, 2L], contrast, options$simultaneous, level
    )
  }
  list(two_sided = at(options$confidence_level), one_sided = at(2 * options$confidence_level - 1))
}

# Violated, satisfied or undecided by two one-sided bounds.
verdict_of <- function(low, high, contrast, threshold) {
  if (is.na(low) || is.na(high)) return("insufficient evidence")
  if (contrast == "ratio") {
    return(if (high < threshold) "violated" else if (low > threshold) "satisfied" else "undecided")
  }
  if (high < -threshold || low > threshold) return("violated")
  if (-threshold < low && high < threshold) "satisfied" else "undecided"
}

# All comparisons of one metric.
compare_metric <- function(cells, pairs, name, options) {
  what <- RATE_METRICS[[name]]
  contrast <- what[[2L]]
  of_rate <- cell_metric(cells$totals, cells$rows, parts_of(cells, what[[1L]]), cells$scatter, cells$units)
  method <- options$method
  if (contrast == "ratio") {
    if (is.null(method)) method <- "log"
    if (method == "mee") method <- "koopman"
  } else {
    if (is.null(method) || method == "log") method <- if (is.null(cells$scatter)) "score" else "delta"
    if (method == "koopman") method <- "mee"
  }
  odds <- c("tpr", "fpr")
  family <- if (name %in% paste0(odds, "_difference")) odds else what[[1L]]
  critical <- critical_values(cells, family, pairs, contrast, options)
  found <- bind_rows(lapply(seq_len(nrow(pairs)), function(k) {
    compare_row(
      of_rate, pairs[k, 1L], pairs[k, 2L], name, cells$groups, contrast, method, options, cells$clustered, critical
    )
  }))
  found$pvalue_adjusted <- adjust_pvalues(found$pvalue, options$adjust)
  found
}

# Some ratios and differences; those of TPR and FPR are one family.
compare_metrics <- function(cells, pairs, names, options) {
  found <- do.call(rbind, lapply(names, function(name) compare_metric(cells, pairs, name, options)))
  odds <- found$metric %in% c("tpr_difference", "fpr_difference")
  found$pvalue_adjusted[odds] <- adjust_pvalues(found$pvalue[odds], options$adjust)
  found
}

# Largest absolute difference of any of the rates between any two groups, as a row of the tidy table. Its band is
# simulated, with a Monte Carlo error.
gap_row <- function(cells, rates, name, options) {
  level <- options$confidence_level
  row <- tidy_row(name, NA_character_, NA_character_,
    n = sum(cells$rows), method = "simultaneous band", confidence_level = level, verdict = "insufficient evidence"
  )
  metrics <- lapply(rates, function(rate) parts_of(cells, rate))
  known <- vapply(metrics, function(parts) sum(is.finite(cell_metric(cells$totals, cells$rows, parts)$rate)), 0)
  if (!any(known > 1)) {
    row[c("ci_low", "ci_high", "bound_low", "bound_high")] <- list(0, 1, 0, 1)
    return(row)
  }
  found <- crosscheck_largest(
    cells$totals, cells$rows, metrics, level, stats::qnorm((1 + level) / 2), cells$clustered, cells$scatter, cells$units
  )
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
  row$verdict <- verdict_of(row$bound_low, row$bound_high, "difference", options$tolerance)
  row$attained_by <- rates[found$metric[top]]
  row
}

tidy_row <- function(metric, group, reference, ...) {
  row <- list(
    metric = metric, group = group, reference = reference, estimate = NaN, std_error = NaN, ci_low = NaN,
    ci_high = NaN, statistic = NaN, pvalue = NaN, pvalue_adjusted = NaN, n = NA_real_, method = "",
    n_reference = NA_real_, rate = NaN, rate_reference = NaN, bound_low = NaN, bound_high = NaN,
    confidence_level = NaN, verdict = NA_character_
  )
  given <- list(...)
  row[names(given)] <- given
  row
}

# Rows, which may have different columns, as one data frame.
bind_rows <- function(rows) {
  rows <- rows[lengths(rows) > 0L]
  names <- unique(unlist(lapply(rows, names)))
  columns <- lapply(names, function(name) {
    unlist(lapply(rows, function(row) if (is.null(row[[name]])) NA else unname(row[[name]])))
  })
  names(columns) <- names
  as.data.frame(columns, stringsAsFactors = FALSE)
}

# Adjusted p-values of one family; missing ones stay missing and do not count.
adjust_pvalues <- function(p, adjust) {
  known <- is.finite(p)
  p[known] <- stats::p.adjust(p[known], if (adjust == "fdr_bh") "BH" else adjust)
  p
}
