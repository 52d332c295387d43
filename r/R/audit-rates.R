# Ratios, differences and largest gaps of an audit: one method for interval, tests and verdict of
# every pair; where few cases are expected all of them are by exact tests. Limits and texts as in
# Python.

# a variance below this share of r(1 - r) is the rounding of sums
ROUNDING <- 1e-12
MIN_UNITS <- 3
MIN_UNITS_LINEAR <- 8
DELTA_ROWS <- 10
DELTA_CASES <- 3
CLASS_ROWS <- 10

# Whether weighted or clustered rows of a pair are too few, by the effective sampling units alone.
too_few <- function(metric, i, j, linear = is.null(metric$parts)) {
  if (!is_uneven(metric, i, j)) {
    return(FALSE)
  }
  any(metric$units[c(i, j)] < (if (linear) MIN_UNITS_LINEAR else MIN_UNITS) - 1e-9)
}

# Name of the method of a pair, NA where it is not defined there.
chosen_method <- function(metric, i, j, contrast, method, clustered) {
  at <- c(i, j)
  weighted <- is_uneven(metric, i, j)
  metric <- metric_of_pair(metric, i, j)
  several <- length(metric$parts) > 1L
  smooth <- is.null(metric$parts) || (several && contrast == "ratio")
  linear <- smooth || !(method %in% c("score", "koopman", "mee"))
  suffix <- if (!weighted) {
    ""
  } else if (linear) {
    " (Satterthwaite)"
  } else if (clustered) {
    " (effective clusters)"
  } else {
    " (effective rows)"
  }
  s <- pair_estimate(metric, i, j, contrast)
  if (weighted && too_few(metric, i, j, linear)) {
    return(NA_character_)
  }
  if (smooth) {
    if (weighted && !isTRUE(s$s > 0)) {
      return(NA_character_)
    }
    cases <- if (several) vapply(metric$parts, function(p) min(p$cases[at]), 0) else Inf
    if (!weighted && (min(metric$rows[at]) < DELTA_ROWS || min(cases) < DELTA_CASES)) {
      return(NA_character_)
    }
    if (!weighted && !is.null(metric$fewest) && min(metric$fewest[at]) < CLASS_ROWS) {
      return(NA_character_)
    }
    return(paste0(
      if (contrast == "difference") {
        "delta"
      } else if (weighted) {
        "log"
      } else {
        "fieller"
      },
      suffix
    ))
  }
  if (!linear) {
    return(paste0(method, if (several) " (MOVER)", suffix))
  }
  empty <- vapply(
    metric$parts,
    function(p) any(p$successes[at] <= 0 | p$successes[at] >= p$cases[at]),
    NA
  )
  if (any(empty) || !isTRUE(s$std_error > 0)) NA_character_ else paste0(method, suffix)
}

# Whether a pair is judged by exact tests: whole counts, few cases expected at the pooled rate,
# never the observed cell.
# `error`: what the smallest p-value of the family is held to.
exactly <- function(metric, i, j, method, error) {
  if (method != "score" || length(metric$parts) != 1L || is.finite(metric$df)) {
    return(FALSE)
  }
  cells <- effective_table(metric$parts[[1L]], i, j)
  if (any(cells != round(cells))) {
    return(FALSE)
  }
  needs_exact(cells[2L], cells[4L], smallest_expected(cells), error)
}

# What the smallest p-value of a family is held to.
sharpest_error <- function(level, count, adjust, chosen_among = 0) {
  if (chosen_among > 0) {
    return((1 - level) / chosen_among)
  }
  if (adjust == "none") 1 - level else (1 - level) / max(count, 1)
}

# The error that says which tests of a metric are exact. A rate may stand in several metrics, alone
# and beside another, and equal rates are one question with one p-value: so its family counts as large
# as the largest that it stands in, which is that of equalised odds.
error_of_switch <- function(metric, options, count, chosen = FALSE) {
  # of several classes each rate has the codes of its class
  rate <- unique(sub("@.*", "", metric$rates))
  if (length(rate) == 1L && rate %in% c("tpr", "fnr", "fpr", "tnr")) {
    count <- 2 * count
  }
  sharpest_error(options$confidence_level, count, options$adjust, if (chosen) count else 0)
}

# The same of a gap of which one difference is known, where the difference is asked for itself.
error_of_gap <- function(metric, options, n_groups, chosen) {
  pairs <- if (chosen || options$comparisons == "all") choose(n_groups, 2) else n_groups - 1
  error_of_switch(metric, options, length(metric$rates) * pairs, chosen)
}

# One comparison as a row of the tidy table.
compare_row <- function(
  of,
  i,
  j,
  name,
  groups,
  contrast,
  method,
  options,
  clustered,
  critical,
  everybody = NULL
) {
  level <- options$confidence_level
  row <- tidy_row(
    name,
    groups[i],
    groups[j],
    n = of$rows[i],
    n_reference = of$rows[j],
    method = method,
    confidence_level = level,
    rate = of$rate[i],
    rate_reference = of$rate[j],
    verdict = "insufficient evidence",
    p_below = NaN,
    p_above = NaN,
    p_inside = NaN
  )
  if (!is.null(everybody)) {
    row$reference <- "all"
    row[c("rate_reference", "n_reference")] <- everybody[c("value", "rows")]
  }
  r <- of$rate[c(i, j)]
  if (!all(is.finite(r))) {
    return(row)
  }
  if ((contrast != "difference" && all(r == 0)) || (contrast == "odds_ratio" && all(r == 1))) {
    row[c("ci_low", "ci_high", "bound_low", "bound_high")] <- c(0, Inf, 0, Inf)
    return(row)
  }
  estimated <- if (is.null(everybody) || !is.null(everybody$by_delta)) {
    pair_estimate(of, i, j, contrast)
  } else {
    contrast_with_all(everybody, i, contrast)
  }
  row[c("estimate", "std_error")] <- estimated[c("estimate", "std_error")]
  if (method %in% ANYTIME_METHODS) {
    return(anytime_row(row, of, i, j, contrast, options, options$count))
  }
  way <- chosen_method(of, i, j, contrast, method, clustered)
  if (is.na(way)) {
    return(row)
  }
  threshold <- if (contrast == "difference") options$margin else options$threshold
  exact <- exactly(metric_of_pair(of, i, j), i, j, way, options$error)
  found <- compare_pair(of, i, j, contrast, way, exact, critical, threshold, level, everybody)
  row$method <- if (exact) "exact unconditional" else way
  row[c("ci_low", "ci_high", "statistic", "pvalue", "mc_ci_low", "mc_ci_high")] <-
    found[c("low", "high", "z_equal", "p_row", "low_error", "high_error")]
  same <- c("bound_low", "bound_high", "p_below", "p_above", "p_inside")
  row[same] <- found[same]
  row
}

# Verdicts of the rows of one metric: the smallest of three p-values (below, above, inside the fair
# range) names the direction; those are adjusted together, or multiplied by the number of
# comparisons that the data chose from. Outside the fair range none is below the adjusted p-value of
# equality (column pvalue_adjusted), and where one value is fair it is that.
settle_rows <- function(found, options, chosen_among = 0, one_value = FALSE) {
  sides <- c("p_below", "p_above", "p_inside")
  p <- as.matrix(found[sides])
  side <- apply(p, 1L, function(x) if (any(is.finite(x))) which.min(x) else NA_integer_)
  found$pvalue_verdict <- p[cbind(seq_len(nrow(p)), side)]
  found$pvalue_verdict_adjusted <- if (chosen_among) {
    pmin(chosen_among * found$pvalue_verdict, 1)
  } else {
    adjust_answered(found$pvalue_verdict, options)
  }
  equality <- found$pvalue_adjusted
  if (!is.null(equality)) {
    outside <- which(side < 3L & is.finite(equality))
    own <- if (one_value) {
      equality[outside]
    } else {
      pmax(found$pvalue_verdict_adjusted[outside], equality[outside])
    }
    found$pvalue_verdict_adjusted[outside] <- own
    if (one_value && !is.null(found$mc_pvalue_adjusted)) {
      found$mc_pvalue_verdict_adjusted <- found$mc_pvalue_adjusted
    }
  }
  verdict <- ifelse(
    found$pvalue_verdict_adjusted <= 1 - options$confidence_level,
    c("violated", "violated", "satisfied")[side],
    "undecided"
  )
  found$verdict <- ifelse(is.na(verdict), "insufficient evidence", verdict)
  found[setdiff(names(found), sides)]
}

# Adjusted p-values of those that have one. With limits at every look what has no answer yet may
# have one at the next, and counts in the family from the first.
adjust_answered <- function(pvalues, options) {
  if (is.null(options$method) || !(options$method %in% ANYTIME_METHODS)) {
    return(adjust_pvalues(pvalues, options$adjust))
  }
  unanswered <- is.nan(pvalues) | is.na(pvalues)
  adjusted <- adjust_pvalues(ifelse(unanswered, 1, pvalues), options$adjust)
  adjusted[unanswered] <- NaN
  adjusted
}

# Violated, satisfied or undecided by two one-sided bounds, for what is not judged by p-values.
verdict_of <- function(low, high, contrast, threshold) {
  if (is.na(low) || is.na(high)) {
    return("insufficient evidence")
  }
  fair <- fair_range(contrast, threshold)
  if (high < fair[1L] || low > fair[2L]) {
    return("violated")
  }
  if (fair[1L] < low && high < fair[2L]) "satisfied" else "undecided"
}

# Rows of a metric: the largest gap, or all comparisons; those of its rates (TPR and FPR of
# equalised odds) are one family, which shares critical value and adjustment. A reference that the
# data choose, the group with the highest (first) rate, could have been any group: intervals and
# adjusted p-values then hold over all pairs, by the law of the largest |z|, and verdicts by
# Bonferroni over all pairs.
metric_rows <- function(cells, pairs, metric, options) {
  watched <- !is.null(options$method) && options$method %in% ANYTIME_METHODS
  if (metric$contrast == "gap") {
    if (watched) {
      stop_argument("method", options$method, "ratios and differences of rates")
    }
    return(gap_row(cells, metric, options, isTRUE(attr(pairs, "highest"))))
  }
  n_rows <- sum(cells$rows)
  everybody <- NULL
  if (options$comparisons == "overall") {
    everybody <- lapply(metric$rates, function(rate) {
      everybody_of(
        cells,
        as_metric(rate, ncol(cells$totals)),
        options$confidence_level,
        metric$contrast
      )
    })
  }
  if (options$comparisons %in% POOLED) {
    cells <- compared_cells(beside_rest(cells))
  }
  values <- with_everybody(values_of_cells(metric, cells), everybody)
  contrast <- metric$contrast
  if (contrast == "odds_ratio") {
    if (!all(vapply(values, function(v) length(v$parts) == 1L, NA))) {
      stop_argument(
        "metric",
        metric$name,
        "an odds ratio of rates, which are successes among cases"
      )
    }
    if (!is.null(options$method) && options$method != "score") {
      stop_argument("method", options$method, '"score"')
    }
  }
  if (watched) {
    check_watchable(metric, values, cells, pairs, options)
  }
  chosen <- chosen_pairs(pairs, values, options)
  pairs <- chosen$pairs
  family <- chosen$family
  chosen_among <- chosen$among
  if (chosen_among > 0 && options$simultaneous == "none") {
    options$simultaneous <- "max-z"
  }
  critical <- critical_values(
    values,
    cells,
    family,
    contrast,
    options$simultaneous,
    options$confidence_level
  )
  options$count <- length(values) * nrow(family)
  options$n_rows <- n_rows
  options$error <- error_of_switch(
    metric,
    options,
    length(values) * nrow(family),
    chosen_among > 0
  )
  # the method that is asked for, or the one of this contrast that is alike
  method <- if (is.null(options$method)) "score" else options$method
  alike <- if (contrast == "ratio") c(mee = "koopman") else c(log = "score", koopman = "mee")
  if (method %in% names(alike)) {
    method <- alike[[method]]
  }
  found <- bind_rows(unlist(
    lapply(seq_along(values), function(place) {
      own <- own_limits(values[[place]], options$confidence_level)
      lapply(seq_len(nrow(pairs)), function(k) {
        i <- pairs[k, 1L]
        j <- pairs[k, 2L]
        row <- compare_row(
          values[[place]],
          i,
          j,
          metric$rows[place],
          cells$groups,
          contrast,
          method,
          options,
          cells$clustered,
          critical,
          everybody[[place]]
        )
        c(row, own_columns(own, i, j, everybody[[place]]))
      })
    }),
    recursive = FALSE
  ))
  if (chosen_among > 0) {
    over_all <- as_columns(lapply(found$pvalue, joint_pvalue, sides = 2, critical = critical))
    found$pvalue_adjusted <- over_all$p_joint
    found$mc_pvalue_adjusted <- over_all$p_joint_error
  } else {
    found$pvalue_adjusted <- adjust_answered(found$pvalue, options)
  }
  settle_rows(found, options, chosen_among, contrast != "difference" && options$threshold == 1)
}

# Every rate of a metric, of all groups.
values_of_cells <- function(metric, cells) {
  lapply(metric$rates, function(rate) {
    rate <- as_metric(rate, ncol(cells$totals))
    cell_metric(
      cells$totals,
      rate,
      cells$rows,
      cells$scatter,
      cells$units,
      cells$squares,
      cells$clustered
    )
  })
}

# The pairs that are shown, the pairs that could have been (`family`), and how many comparisons the
# data chose from; 0 where the reference was fixed before.
chosen_pairs <- function(pairs, values, options) {
  rates <- values[[1L]]$rate
  if (!isTRUE(attr(pairs, "highest")) || all(is.nan(rates))) {
    return(list(pairs = pairs, family = pairs, among = 0))
  }
  top <- which.max(rates)
  if (options$comparisons != "all") {
    pairs <- cbind(setdiff(seq_along(rates), top), top, deparse.level = 0)
  }
  family <- t(utils::combn(length(rates), 2L))
  list(pairs = pairs, family = family, among = length(values) * nrow(family))
}

# Largest absolute difference of any of the rates between any two groups, as a row of the tidy
# table. Its band is simulated, with a Monte Carlo error. `chosen`: whether the rows beside it have
# the group with the highest rate for their reference.
gap_row <- function(cells, metric, options, chosen = FALSE) {
  level <- options$confidence_level
  by_mee <- isTRUE(options$method %in% c("koopman", "mee"))
  band <- if (by_mee) "simultaneous band (mee)" else "simultaneous band"
  row <- tidy_row(
    metric$name,
    NA_character_,
    NA_character_,
    n = sum(cells$rows),
    method = band,
    confidence_level = level,
    verdict = "insufficient evidence",
    ci_low = 0,
    ci_high = 1,
    bound_low = 0,
    bound_high = 1
  )
  found <- crosscheck_largest(
    cells$totals,
    cells$rows,
    metric$rates,
    level,
    NULL,
    cells$clustered,
    cells$scatter,
    cells$units,
    cells$squares,
    options$margin,
    method = if (by_mee) "mee" else "score",
    error = error_of_gap(metric, options, length(cells$groups), chosen)
  )
  if (is.null(found)) {
    return(bind_rows(list(row)))
  }
  top <- which.max(abs(found$difference))
  row[c("group", "reference")] <- cells$groups[c(found$first[top], found$second[top])]
  row[c("estimate", "std_error", "statistic")] <- c(
    found$estimate,
    found$std_error[top],
    found$statistic
  )
  row[c("ci_low", "ci_high", "mc_ci_low", "mc_ci_high")] <- found$interval
  row[c("bound_low", "bound_high", "mc_bound_low", "mc_bound_high")] <- found$bounds
  row[c("pvalue", "pvalue_adjusted")] <- found$pvalue
  row[c("mc_pvalue_adjusted", "mc_pvalue")] <- found$pvalue_error
  shows <- data.frame(p_below = NaN, p_above = found$p_above, p_inside = found$p_inside)
  if (!is.nan(row$pvalue)) {
    same <- c("pvalue_verdict", "pvalue_verdict_adjusted", "verdict")
    row[same] <- settle_rows(shows, list(confidence_level = level, adjust = "none"))[same]
    if (isTRUE(row$pvalue_verdict == found$p_above)) {
      row[c("mc_pvalue_verdict", "mc_pvalue_verdict_adjusted")] <- found$p_above_error
    }
  }
  row$attained_by <- metric$rates[found$metric[top]]
  row$n_differences <- length(found$difference)
  bind_rows(list(row))
}

tidy_row <- function(metric, group, reference, ...) {
  row <- list(
    metric = metric,
    group = group,
    reference = reference,
    estimate = NaN,
    std_error = NaN,
    ci_low = NaN,
    ci_high = NaN,
    statistic = NaN,
    pvalue = NaN,
    pvalue_adjusted = NaN,
    n = NA_real_,
    method = "",
    n_reference = NA_real_,
    rate = NaN,
    rate_reference = NaN,
    bound_low = NaN,
    bound_high = NaN,
    confidence_level = NaN,
    pvalue_verdict = NaN,
    pvalue_verdict_adjusted = NaN,
    verdict = NA_character_
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
    unlist(lapply(rows, function(row) {
      if (is.null(row[[name]])) rep(NA, length(row[[1L]])) else unname(row[[name]])
    }))
  })
  as.data.frame(stats::setNames(columns, names), stringsAsFactors = FALSE, optional = TRUE)
}

# Adjusted p-values of one family; missing ones stay missing and do not count.
adjust_pvalues <- function(p, adjust) {
  known <- is.finite(p)
  # 1 - (1 - p)^m without the rounding of 1 - p (Sidak 1967, JASA 62, 626-633)
  p[known] <- if (adjust == "sidak") {
    -expm1(sum(known) * log1p(-p[known]))
  } else {
    stats::p.adjust(p[known], if (adjust == "fdr_bh") "BH" else adjust)
  }
  p
}
