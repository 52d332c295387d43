# Comparisons of two rates that hold at every look at growing counts: by the score with a normal
# mixture (Robbins 1970, Annals of Mathematical Statistics 41, 1397-1409), or from counts alone, by
# Jeffreys's mixture over the likelihood of the sequence.

ANYTIME_METHODS <- c("anytime", "anytime-exact")
LEAST_CASES <- 5
TUNING <- 8

# One comparison. By the score, with tau = 8 n / planned: |z| counts where it reaches sqrt((1 + 1 /
# tau) log((1 + tau) / alpha^2)), and 1 / p = exp(z^2 tau / (2 (1 + tau))) / sqrt(1 + tau).
# `n_rows`: of all groups so far; `interval_level`: of the printed interval; NULL before 5 successes
# and 5 failures of both groups.
anytime_pair <- function(
  metric,
  i,
  j,
  contrast,
  method,
  n_rows,
  planned,
  level,
  interval_level,
  threshold
) {
  ratio <- contrast == "ratio"
  pair <- pair_estimate(metric, i, j, contrast)
  if (method == "anytime") {
    cells <- vapply(metric$parts, function(p) smallest_cell(effective_table(p, i, j)), 0)
    if (min(cells) < LEAST_CASES - 1e-9) {
      return(NULL)
    }
    tau <- TUNING * n_rows / planned
    score <- pair_method(metric, i, j, contrast, "score")
    statistic <- score$z
    log_e <- function(null) statistic(null)^2 * tau / (2 * (1 + tau)) - log(1 + tau) / 2
    ends <- function(level) score$ends(sqrt((1 + 1 / tau) * log((1 + tau) / (1 - level)^2)))
  } else {
    cells <- effective_table(metric$parts[[1L]], i, j)
    log_e <- function(null) anytime_log_e(cells, contrast, null)
    ends <- function(level) anytime_limits(cells, contrast, pair$estimate, level)
    statistic <- log_e
  }
  p <- function(null) exp(-max(log_e(null), 0))
  below <- function(null) if (pair$estimate < null) p(null) else 1
  above <- function(null) if (pair$estimate > null) p(null) else 1
  fair <- fair_range(contrast, threshold)
  equal <- if (ratio) 1 else 0
  greater <- if (ratio) fair[1L] else fair[2L]
  limits <- ends(interval_level)
  bounds <- ends(level)
  inner <- c(above(fair[1L]), below(fair[2L]))
  larger <- if (inner[1L] >= inner[2L] * (1 - 1e-9)) 1L else 2L
  shows <- list(p_below = below(fair[1L]), p_above = above(fair[2L]), p_inside = max(inner))
  shows <- beside_equality(shows, p(equal), fair)
  list(
    estimate = pair$estimate,
    std_error = pair$std_error,
    low = limits[1L],
    high = limits[2L],
    bound_low = bounds[1L],
    bound_high = bounds[2L],
    p_below = shows$p_below,
    p_above = shows$p_above,
    p_inside = shows$p_inside,
    z_less = statistic(fair[1L]),
    p_less = below(fair[1L]),
    z_greater = statistic(greater),
    p_greater = above(greater),
    z_equal = statistic(equal),
    p_equal = p(equal),
    z_inner = statistic(fair[larger]),
    p_tost = inner[larger]
  )
}

# log of B(k + 1/2, n - k + 1/2) B(k0 + 1/2, n0 - k0 + 1/2) / B(1/2, 1/2)^2 over the largest
# likelihood of the sequence at ratio or difference `null`.
anytime_log_e <- function(cells, contrast, null) {
  k <- cells[c(1L, 3L)]
  n <- cells[c(2L, 4L)]
  p <- unlist(constrained_rates(cells[1L], cells[2L], cells[3L], cells[4L], contrast, null))
  by <- function(count, rate) ifelse(count == 0, 0, count * log(rate))
  sum(lbeta(k + 0.5, n - k + 0.5) - lbeta(0.5, 0.5) - by(k, p) - by(n - k, 1 - p))
}

# All values with E < 1 / alpha, by halving; an end where nothing is rejected is open.
anytime_limits <- function(cells, contrast, estimate, level) {
  ratio <- contrast == "ratio"
  value <- function(x) if (ratio) exp(x) else x
  rejected <- function(x) anytime_log_e(cells, contrast, value(x)) >= -log(1 - level)
  most <- if (ratio) 60 else 1
  start <- if (!ratio) estimate else max(min(log(estimate), most), -most)
  if (is.nan(start)) {
    start <- 0
  }
  vapply(
    c(-1, 1),
    function(side) {
      outer <- side * most
      if (!rejected(outer)) {
        return(
          if (!ratio) {
            outer
          } else if (side < 0) {
            0
          } else {
            Inf
          }
        )
      }
      inner <- start
      for (step in 1:64) {
        middle <- (inner + outer) / 2
        if (rejected(middle)) outer <- middle else inner <- middle
      }
      value(outer)
    },
    0
  )
}

# Refuses what limits at every look do not hold for; see `check_watchable` of the Python package.
check_watchable <- function(metric, values, cells, pairs, options) {
  smooth <- any(vapply(values, function(v) is.null(v$parts), NA))
  several <- any(vapply(values, function(v) length(v$parts) > 1L, NA))
  alone <- options$method == "anytime-exact" || metric$contrast == "ratio"
  if (smooth || (several && alone)) {
    stop_argument("method", options$method, "ratios and differences of rates")
  }
  if (any(vapply(values, function(v) is.finite(v$df), NA))) {
    stop_argument("method", options$method, "independent rows of equal weight")
  }
  if (options$method == "anytime" && is.null(options$planned)) {
    stop_argument("planned", "NULL", "the rows that are expected, fixed before the first look")
  }
  chosen <- length(cells$groups) > 2L &&
    !isTRUE(options$reference_named) &&
    options$comparisons == "reference"
  if (chosen || isTRUE(attr(pairs, "highest"))) {
    stop_argument(
      "reference",
      "chosen by the data",
      "a group by its name with limits at every look"
    )
  }
  if (isTRUE(options$strata_asked)) {
    stop_argument("strata", "strata", "crude comparisons with limits at every look")
  }
  if (!(options$adjust %in% c("holm", "bonferroni", "none"))) {
    stop_argument(
      "adjust",
      options$adjust,
      '"holm", "bonferroni" or "none" with limits at every look'
    )
  }
  if (options$simultaneous == "max-z") {
    stop_argument("simultaneous", "max-z", '"none" or "bonferroni" with limits at every look')
  }
}

# One comparison as a row of the tidy table; without an answer p-values of 1, since it counts in its
# family from the first look.
anytime_row <- function(row, of, i, j, contrast, options, count) {
  level <- options$confidence_level
  row$method <- options$method
  threshold <- if (contrast == "ratio") options$threshold else options$margin
  interval_level <- if (options$simultaneous == "none") level else 1 - (1 - level) / count
  found <- anytime_pair(
    of,
    i,
    j,
    contrast,
    options$method,
    options$n_rows,
    options$planned,
    level,
    interval_level,
    threshold
  )
  if (is.null(found)) {
    return(row)
  }
  row[c("ci_low", "ci_high", "statistic", "pvalue")] <- found[c(
    "low",
    "high",
    "z_equal",
    "p_equal"
  )]
  same <- c("bound_low", "bound_high", "p_below", "p_above", "p_inside")
  row[same] <- found[same]
  row
}

# Every comparison of a report's result, as `crosscheck_comparisons`; of clusters, which arrived
# whole, by effective counts.
crosscheck_anytime <- function(
  totals,
  rows,
  metrics,
  which,
  first,
  second,
  contrast,
  method,
  level,
  interval_level,
  threshold,
  planned,
  scatter = NULL,
  units = 0,
  squares = NULL,
  clustered = FALSE
) {
  found <- lapply(metrics, function(m) {
    cell_metric(totals, as_metric(m, ncol(totals)), rows, scatter, units, squares, clustered)
  })
  as_columns(lapply(seq_along(first), function(at) {
    of <- found[[as.integer(which[at])]]
    row <- anytime_pair(
      of,
      first[at],
      second[at],
      contrast,
      method,
      sum(rows),
      planned,
      level,
      interval_level,
      threshold
    )
    c(list(rate = of$rate[first[at]], rate_reference = of$rate[second[at]]), row)
  }))
}

# A change of selection rates split into case mix and treatment (Kitagawa 1955, Journal of the
# American Statistical Association 50, 1168-1194), with standard errors by the delta method in all
# four cells of both periods: the gradient by stats::deriv, the covariance multinomial. before,
# after: tp, fp, fn, tn.
kitagawa_split <- function(before, after) {
  names <- c("tp1", "fp1", "fn1", "tn1", "tp2", "fp2", "fn2", "tn2")
  share <- function(t) sprintf("((tp%d + fn%d) / (tp%d + fp%d + fn%d + tn%d))", t, t, t, t, t, t)
  high <- function(t) sprintf("(tp%d / (tp%d + fn%d))", t, t, t)
  low <- function(t) sprintf("(fp%d / (fp%d + tn%d))", t, t, t)
  mean_of <- function(f) sprintf("((%s + %s) / 2)", f(1L), f(2L))
  step <- function(f) sprintf("(%s - %s)", f(2L), f(1L))
  mix <- sprintf("%s * (%s - %s)", step(share), mean_of(high), mean_of(low))
  treatment <- sprintf(
    "%s * %s + (1 - %s) * %s",
    mean_of(share),
    step(high),
    mean_of(share),
    step(low)
  )
  totals <- stats::setNames(as.list(c(before, after)), names)
  covariance <- function(cells) diag(cells) - outer(cells, cells) / sum(cells)
  found <- lapply(c(paste(mix, "+", treatment), mix, treatment), function(text) {
    value <- eval(stats::deriv(parse(text = text)[[1L]], names), totals)
    slope <- as.vector(attr(value, "gradient"))
    variance <- sum(slope[1:4] * (covariance(before) %*% slope[1:4])) +
      sum(slope[5:8] * (covariance(after) %*% slope[5:8]))
    data.frame(estimate = as.numeric(value), std_error = sqrt(variance))
  })
  cbind(quantity = c("change", "case mix", "treatment"), do.call(rbind, found))
}
