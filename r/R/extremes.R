# One number for all groups and rates, as fairlearn makes it: of each rate the largest difference or
# the smallest ratio between two groups; of several rates the mean of these, or of ratios the
# smallest. Limits from those of all pairs.

SMALLEST_PVALUE <- 1e-12
LARGEST_ERROR <- 0.49

# Limits of every pair of groups in one rate, each at an error; nothing is known of pairs without
# cases.
pairs_of_rate <- function(metric, contrast) {
  everything <- if (contrast == "difference") c(-1, 1) else c(0, Inf)
  pairs <- utils::combn(length(metric$rate), 2L)
  lapply(seq_len(ncol(pairs)), function(k) {
    i <- pairs[1L, k]
    j <- pairs[2L, k]
    has_limits <- all(is.finite(metric$rate[c(i, j)])) && !too_few(metric, i, j)
    if (!has_limits) {
      return(function(error) everything)
    }
    pair_metric <- metric_of_pair(metric, i, j)
    # few counted cases: the score with the continuity correction
    corrected <- is.infinite(pair_metric$df) &&
      smallest_expected(effective_table(pair_metric$parts[[1L]], i, j)) < CORRECTED_BELOW
    method <- pair_method(pair_metric, i, j, contrast, "score", corrected)
    df <- pair_df(metric, i, j, contrast, linear = FALSE)
    function(error) method$ends(stats::qt(1 - min(error, LARGEST_ERROR), df))
  })
}

# The number and its limits at any error: `farther`, on the side of equality, by all pairs;
# `nearer`, by the pairs that attain it, one of each rate, or for the smallest of all one.
extreme_of <- function(rates, contrast, agg) {
  pairs <- lapply(rates, pairs_of_rate, contrast)
  count <- sum(lengths(pairs))
  difference <- contrast == "difference"
  together <- function(x) if (agg == "mean") mean(x) else min(x)
  far_of_pair <- function(ends) {
    if (difference) {
      return(max(ends[1L], -ends[2L], 0))
    }
    if (ends[1L] > 1) 1 / ends[1L] else min(ends[2L], 1)
  }
  near_of_pair <- function(ends) {
    if (difference) min(max(-ends[1L], ends[2L]), 1) else min(ends[1L], 1 / ends[2L])
  }
  over <- function(error, of_pair) {
    together(vapply(
      pairs,
      function(of_rate) {
        values <- vapply(of_rate, function(limits) of_pair(limits(error)), 0)
        if (difference) max(values) else min(values)
      },
      0
    ))
  }
  values <- vapply(
    rates,
    function(one) {
      known <- one$rate[is.finite(one$rate)]
      if (length(known) < 2L) {
        return(NaN)
      }
      if (difference) {
        max(known) - min(known)
      } else if (max(known) > 0) {
        min(known) / max(known)
      } else {
        NaN
      }
    },
    0
  )
  list(
    estimate = together(values),
    values = values,
    farther = function(error) over(error / (2 * count), far_of_pair),
    nearer = function(error) over(error / if (agg == "mean") length(pairs) else 1, near_of_pair)
  )
}

# The smallest error at which a limit excludes a value: `beyond` says so.
smallest_error <- function(beyond) {
  if (!beyond(1)) {
    return(1)
  }
  if (beyond(SMALLEST_PVALUE)) {
    return(SMALLEST_PVALUE)
  }
  ends <- c(log(SMALLEST_PVALUE), 0)
  for (step in 1:40) {
    middle <- mean(ends)
    ends[if (beyond(exp(middle))) 2L else 1L] <- middle
  }
  exp(ends[2L])
}

# Every number of such a result.
crosscheck_extremes <- function(
  totals,
  rows,
  metrics,
  contrast,
  agg,
  level,
  limit,
  scatter = NULL,
  units = 0,
  clustered = FALSE,
  squares = NULL
) {
  rates <- lapply(metrics, function(m) {
    cell_metric(totals, as_metric(m, ncol(totals)), rows, scatter, units, squares, clustered)
  })
  of <- extreme_of(rates, contrast, agg)
  if (is.nan(of$estimate)) {
    return(list(
      estimate = NaN,
      values = of$values,
      low = 0,
      high = 1,
      bound_low = 0,
      bound_high = 1,
      p_outside = NaN,
      p_inside = NaN,
      pvalue = NaN
    ))
  }
  difference <- contrast == "difference"
  range_at <- function(error) {
    ends <- c(of$farther(error), of$nearer(error))
    if (difference) ends else rev(ends)
  }
  farther <- function(value) {
    smallest_error(function(error) {
      if (difference) of$farther(error) > value else of$farther(error) < value
    })
  }
  nearer <- function(value) {
    smallest_error(function(error) {
      if (difference) of$nearer(error) < value else of$nearer(error) > value
    })
  }
  interval <- range_at((1 - level) / 2)
  p_equal <- min(1, 2 * farther(if (difference) 0 else 1))
  # what lies outside the fair range differs from equality
  fair <- if (difference) c(-limit, limit) else c(limit, Inf)
  bounds <- reach_fair_range(range_at(1 - level), p_equal, fair, 1 - level)
  list(
    estimate = of$estimate,
    values = of$values,
    low = interval[1L],
    high = interval[2L],
    bound_low = bounds[1L],
    bound_high = bounds[2L],
    p_outside = max(farther(limit), p_equal),
    p_inside = nearer(limit),
    pvalue = p_equal
  )
}

# The same as a row of the tidy table.
extreme_row <- function(cells, metric, agg, options) {
  ratio <- metric$contrast == "ratio"
  parts <- lengths(lapply(metric$rates, function(rate) as_metric(rate, ncol(cells$totals))$parts))
  fits <- all(parts == 1L) &&
    ((ratio && agg %in% c("min", "mean")) || (metric$contrast == "difference" && agg == "mean"))
  if (!fits) {
    stop_argument("agg", agg, '"min" and "mean" of ratios of rates, "mean" of their differences')
  }
  level <- options$confidence_level
  limit <- if (ratio) options$threshold else options$margin
  found <- crosscheck_extremes(
    cells$totals,
    cells$rows,
    metric$rates,
    metric$contrast,
    agg,
    level,
    limit,
    cells$scatter,
    cells$units,
    cells$clustered,
    cells$squares
  )
  row <- tidy_row(
    metric$name,
    NA_character_,
    NA_character_,
    n = sum(cells$rows),
    method = "limits of all pairs",
    confidence_level = level,
    estimate = found$estimate,
    ci_low = found$low,
    ci_high = found$high,
    bound_low = found$bound_low,
    bound_high = found$bound_high,
    pvalue = found$pvalue,
    pvalue_adjusted = found$pvalue,
    verdict = "insufficient evidence"
  )
  if (!is.nan(found$estimate)) {
    sides <- data.frame(
      p_below = if (ratio) found$p_outside else NaN,
      p_above = if (ratio) NaN else found$p_outside,
      p_inside = found$p_inside
    )
    same <- c("pvalue_verdict", "pvalue_verdict_adjusted", "verdict")
    row[same] <- settle_rows(sides, list(confidence_level = level, adjust = "none"))[same]
  }
  row$n_differences <- NA
  bind_rows(list(row))
}
