# Groups against pooled ones: each against all others ("rest"), or against everybody, its own rows
# among them ("overall"). With f the group's share of the cases, held fixed, r - r_all = (1 - f)(r -
# r_others), and r/r_all = rho/(f rho + 1 - f) with rho = r/r_others: a comparison with everybody,
# which depends on the group, is one with all others, which does not, at other null values and on
# another scale.

POOLED <- c("rest", "overall")
# Null values of all others beyond which a limit lies nowhere: of a group that is nearly everybody.
NEARLY_ONE <- 1 - 1e-9
LARGEST_RATIO <- 1e9

# Sums over groups of the cells of a table and of their scatter: a row of `pooling` for every new
# group, a column for every old one.
pool_groups <- function(cells, pooling) {
  of_cells <- kronecker(pooling, diag(ncol(cells$totals)))
  for (name in c("totals", "rows", "squares")) {
    if (!is.null(cells[[name]])) cells[[name]] <- pooling %*% cells[[name]]
  }
  if (!is.null(cells$scatter)) {
    cells$scatter <- of_cells %*% cells$scatter %*% t(of_cells)
  }
  cells
}

# Below every group all other groups together.
beside_rest <- function(cells) {
  count <- nrow(cells$totals)
  cells <- pool_groups(cells, rbind(diag(count), 1 - diag(count)))
  cells$group_units <- NULL
  cells$groups <- c(cells$groups, paste("all but", cells$groups))
  cells
}

# The groups of a table that has all others behind them.
first_groups <- function(cells) {
  groups <- seq_len(nrow(cells$totals) / 2)
  places <- seq_len(length(groups) * ncol(cells$totals))
  for (name in c("totals", "rows", "squares")) {
    if (!is.null(cells[[name]])) cells[[name]] <- cells[[name]][groups, , drop = FALSE]
  }
  if (!is.null(cells$scatter)) {
    cells$scatter <- cells$scatter[places, places]
  }
  cells
}

# The cells without weights that change none of these comparisons: where groups are pooled, those
# that are equal in all.
without_idle_weights <- function(cells, comparisons) {
  if (is.null(cells$scatter)) {
    return(cells)
  }
  if (comparisons %in% POOLED) {
    rows <- rowSums(cells$rows)
    weight <- (rowSums(cells$totals) / rows)[rows > 0]
    alike <- all(even_groups(cells$totals, cells$rows, cells$squares)[rows > 0]) &&
      max(abs(weight / weight[1L] - 1)) < 1e-12
    if (!alike) return(cells)
  }
  without_even_weights(cells)
}

# The cells that pairs of groups and pooled ones are compared by.
compared_cells <- function(cells) if (is.null(cells$scatter)) cells else without_even_weights(cells)

# Whether a comparison with everybody is by the delta method: of functions, and of ratios of means.
is_by_delta <- function(metric, contrast) {
  !length(metric$parts) || (contrast == "ratio" && length(metric$parts) > 1L)
}

# A metric of all rows together: the shares of the groups in the cases of each of its rates, and the
# value; of what is by the delta method `values` of every group and, behind them, of everybody.
everybody_of <- function(cells, metric, level, contrast = "difference") {
  value_of <- function(cells) {
    cell_metric(
      cells$totals,
      metric,
      cells$rows,
      cells$scatter,
      cells$units,
      cells$squares,
      cells$clustered
    )
  }
  own <- own_limits(value_of(together(cells)), level)
  if (is_by_delta(metric, contrast)) {
    values <- values_beside_all(cells, metric)
    behind <- nrow(cells$totals) + 1L
    return(list(
      by_delta = TRUE,
      values = values,
      value = values$rate[behind],
      rows = values$rows[behind],
      own = own
    ))
  }
  one <- value_of(cells)
  shares <- lapply(one$parts, function(part) part$cases / sum(part$cases))
  values <- mapply(
    function(part, share) sum(part$rate[share > 0] * share[share > 0]),
    one$parts,
    shares
  )
  list(
    shares = shares,
    value = mean(values),
    parts = one$parts,
    cells = cells,
    rows = sum(one$rows),
    rate = one$rate,
    own = own
  )
}

# The values of metrics, where everybody is by the delta method those with everybody behind the
# groups.
with_everybody <- function(values, everybody) {
  for (place in seq_along(everybody)) {
    if (!is.null(everybody[[place]]$by_delta)) {
      values[[place]] <- everybody[[place]]$values
    }
  }
  values
}

# Values of a function of the cells, or of a mean of rates, of every group, and behind them of
# everybody beside each. With t and u the cells of the group and of all others, of n and m rows that
# are held fixed, the cells of everybody are n t/sum(t) + m u/sum(u); limits are about more rows in
# every cell of both.
values_beside_all <- function(cells, metric) {
  count <- nrow(cells$totals)
  everybody <- pool_groups(cells, rbind(diag(count), matrix(1, count, count)))
  both <- beside_rest(cells)
  value_of <- function(totals, table, add = FALSE) {
    cell_metric(
      totals,
      metric,
      table$rows,
      table$scatter,
      table$units,
      table$squares,
      table$clustered,
      add = add
    )
  }
  of_all <- value_of(everybody$totals, everybody)
  with_more <- function(more) {
    found <- of_all
    found$added <- NULL
    share <- if (is.null(metric$share)) added_share(cells$totals) else metric$share
    totals <- both$totals + rep(share * more, each = 2L * count)
    first <- seq_len(count)
    own <- totals[first, , drop = FALSE]
    others <- totals[count + first, , drop = FALSE]
    of_own <- value_of(own, list(rows = own))
    of_everybody <- value_of(own + others, list(rows = own))
    influence <- matrix(0, 2L * count, length(totals))
    for (g in first) {
      at <- (g - 1L) * ncol(totals) + seq_len(ncol(totals))
      behind <- (count + g - 1L) * ncol(totals) + seq_len(ncol(totals))
      slope <- of_everybody$influence[g, at]
      influence[g, at] <- of_own$influence[g, at]
      influence[count + g, at] <- slope - sum(slope * own[g, ]) / sum(own[g, ])
      influence[count + g, behind] <- slope - sum(slope * others[g, ]) / sum(others[g, ])
    }
    found$rate <- c(of_own$rate, of_everybody$rate)
    found$influence <- influence
    found$covariance <- cell_covariance(influence, totals, both$scatter, both$units)
    found
  }
  values <- with_more(0)
  if (is.null(cells$scatter)) {
    of_classes <- ncol(cells$totals) > 4L && is.null(metric$share)
    values$added <- lapply(c(if (of_classes) 0, 0.5, 1), with_more)
  }
  values
}

# Estimate and standard error of a group against everybody, their shares held fixed.
contrast_with_all <- function(everybody, i, contrast) {
  rate <- everybody$rate[i]
  estimate <- switch(
    contrast,
    ratio = rate / everybody$value,
    odds_ratio = odds_beside(rate, everybody$value),
    rate - everybody$value
  )
  of_group <- 1
  of_all <- -1
  if (contrast == "ratio") {
    of_group <- 1 / everybody$value
    of_all <- -rate / everybody$value^2
  }
  if (contrast == "odds_ratio") {
    of_group <- estimate / (rate * (1 - rate))
    of_all <- -estimate / (everybody$value * (1 - everybody$value))
  }
  influence <- 0
  count <- length(everybody$parts)
  for (k in seq_len(count)) {
    slopes <- of_all * everybody$shares[[k]]
    slopes[i] <- slopes[i] + of_group
    known <- is.finite(everybody$parts[[k]]$rate)
    influence <- influence +
      slopes[known] %*% everybody$parts[[k]]$influence[known, , drop = FALSE] / count
  }
  cells <- everybody$cells
  s <- sqrt(max(0, cell_covariance(influence, cells$totals, cells$scatter, cells$units)))
  list(
    estimate = estimate,
    std_error = s
  )
}

# From contrasts with all others to those with everybody, and back.
scale_of_all <- function(contrast, share) {
  rest <- 1 - share
  if (contrast == "difference") {
    return(list(
      value = function(x) rest * x,
      null = function(x) pmin(pmax(x / rest, -NEARLY_ONE), NEARLY_ONE)
    ))
  }
  list(
    value = function(x) ifelse(is.infinite(x), 1 / share, x / (share * x + rest)),
    null = function(x) {
      ifelse(x * rest >= LARGEST_RATIO * (1 - share * x), LARGEST_RATIO, x * rest / (1 - share * x))
    }
  )
}

# A score against all others as one against everybody.
score_of_all <- function(score, scale) {
  list(
    estimate = scale$value(score$estimate),
    end = function(critical, side) scale$value(score$end(critical, side)),
    ends = function(critical) scale$value(score$ends(critical)),
    z = function(null) score$z(scale$null(null))
  )
}

# Of exact tests, which compare with all others: null values and limits of contrasts with all others
# that belong to those with everybody; of odds ratios those at the most likely rates.
exact_scale_of_all <- function(contrast, share, cells) {
  if (contrast != "odds_ratio") {
    return(scale_of_all(contrast, share))
  }
  null <- function(x) {
    vapply(
      x,
      function(null) {
        at <- likely_beside_all(cells, share, null)
        above <- at$r * (1 - at$others)
        below <- (1 - at$r) * at$others
        if (above * LARGEST_RATIO <= below) {
          return(1 / LARGEST_RATIO)
        }
        if (below > 0) min(above / below, LARGEST_RATIO) else LARGEST_RATIO
      },
      0
    )
  }
  value_of <- function(x) {
    if (x %in% c(0, 1, Inf)) {
      return(x)
    }
    # there, whatever the rates
    ends <- sort(c(x / (share * x + 1 - share), share + (1 - share) * x))
    excess <- function(log_null) log(null(exp(log_null)) / x)
    near <- log(ends) + c(-1e-9, 1e-9)
    if (excess(near[1L]) >= 0) {
      return(ends[1L])
    }
    if (excess(near[2L]) <= 0) {
      return(ends[2L])
    }
    exp(stats::uniroot(excess, near, tol = 1e-12)$root)
  }
  list(value = function(x) vapply(x, value_of, 0), null = null)
}

# The odds of a rate over those of everybody's.
odds_beside <- function(rate, all) {
  if (rate >= 1) {
    return(if (all < 1) Inf else NaN)
  }
  if (all <= 0 || all >= 1) {
    return(NaN)
  }
  rate / (1 - rate) * (1 - all) / all
}

# The most likely rates of a group, all others and everybody (p) whose odds ratio with everybody is
# `null`: r = null p/d, d = 1 + p (null - 1), all others (p - f r)/(1 - f).
likely_beside_all <- function(cells, share, null) {
  rates_at <- function(p) {
    r <- null * p / (1 + p * (null - 1))
    list(r = r, others = pmin(pmax((p - share * r) / (1 - share), 0), 1), p = p)
  }
  lowest <- if (null > 1) max(0, (share * null - 1) / (null - 1)) else 0
  highest <- if (null < 1) min(1, (1 - share) / (1 - null)) else 1
  slope <- function(p) {
    at <- rates_at(p)
    d <- 1 + p * (null - 1)
    spread <- at$others * (1 - at$others)
    if (!(spread > 0)) {
      return(0)
    }
    (cells[1L] - cells[2L] * at$r) /
      (p * (1 - p)) +
      (cells[3L] - cells[4L] * at$others) * (1 - share * null / d^2) / (1 - share) / spread
  }
  times_log <- function(k, x) if (k == 0) 0 * x else k * log(x)
  points <- lowest + (highest - lowest) * (1 - cos(pi * (1:99) / 100)) / 2
  at <- rates_at(points)
  likelihood <- times_log(cells[1L], at$r) +
    times_log(cells[2L] - cells[1L], (1 - points) / (1 + points * (null - 1))) +
    times_log(cells[3L], at$others) +
    times_log(cells[4L] - cells[3L], 1 - at$others)
  best <- which.max(likelihood)
  ends <- c(
    if (best > 1L) points[best - 1L] else lowest + (points[1L] - lowest) * 1e-9,
    if (best < 99L) points[best + 1L] else highest + (points[99L] - highest) * 1e-9
  )
  slopes <- c(slope(ends[1L]), slope(ends[2L]))
  if (slopes[1L] > 0 && slopes[2L] < 0) {
    return(rates_at(
      stats::uniroot(
        slope,
        ends,
        f.lower = slopes[1L],
        f.upper = slopes[2L],
        tol = .Machine$double.eps * diff(ends)
      )$root
    ))
  }
  rates_at(if (slopes[1L] <= 0) ends[1L] else ends[2L])
}

# The score of an odds ratio with everybody: Pearson's chi-squared of both samples at the most likely
# rates (Rao 1948), with the factor (N - 1)/N. `scale_of`: of groups in the same clusters, by the
# slope of all others.
odds_of_all <- function(cells, share, scale_of) {
  rate <- cells[1L] / cells[2L]
  estimate <- odds_beside(rate, share * rate + (1 - share) * cells[3L] / cells[4L])
  pearson <- function(k, n, r) {
    spread <- n * r * (1 - r)
    if (spread > 0) {
      (k - n * r)^2 / spread
    } else if (abs(k - n * r) < 1e-9 * max(n, 1)) {
      0
    } else {
      Inf
    }
  }
  z <- function(null) {
    at <- likely_beside_all(cells, share, null)
    squared <- pearson(cells[1L], cells[2L], at$r) + pearson(cells[3L], cells[4L], at$others)
    n <- cells[2L] + cells[4L]
    spread <- c(at$r * (1 - at$r), at$p * (1 - at$p))
    slope <- 1
    if (all(spread > 0) && 1 / spread[1L] > share / spread[2L]) {
      slope <- (1 - share) / spread[2L] / (1 / spread[1L] - share / spread[2L])
    }
    sign(estimate - null) * sqrt(squared * (n - 1) / n) * scale_of(slope)
  }
  end <- function(critical, side) {
    if ((side < 0 && estimate == 0) || (side > 0 && is.infinite(estimate))) {
      return(estimate)
    }
    excess <- function(x) -side * z(exp(x)) - critical
    inner <- log(min(max(estimate, 1 / LARGEST_RATIO), LARGEST_RATIO))
    step <- 0.5
    outer <- inner + side * step
    while (excess(outer) <= 0) {
      inner <- outer
      step <- 2 * step
      outer <- outer + side * step
      if (abs(outer) > log(LARGEST_RATIO)) {
        return(if (side < 0) 0 else Inf)
      }
    }
    if (excess(inner) >= 0) {
      return(exp(inner))
    }
    exp(stats::uniroot(excess, sort(c(inner, outer)), tol = 1e-12)$root)
  }
  list(
    estimate = estimate,
    end = end,
    ends = function(critical) c(end(critical, -1), end(critical, 1)),
    z = z
  )
}

# The comparisons that are asked for where a metric has them, else those with the reference.
comparisons_of <- function(metric, asked) {
  if (asked %in% POOLED && metric$contrast == "gap") "reference" else asked
}

# What comparisons with pooled groups go with, whatever the metric.
check_pooled_options <- function(options, reference) {
  if (!(options$comparisons %in% POOLED)) {
    return(invisible())
  }
  if (!is.null(reference)) {
    stop_argument("reference", listed(reference), "NULL: each group is compared with pooled rows")
  }
  if (options$simultaneous == "max-z") {
    stop_argument("simultaneous", '"max-z"', '"none" or "bonferroni": groups overlap')
  }
  if (options$comparisons == "overall" && !is.null(options$method) && options$method != "score") {
    stop_argument("method", options$method, '"score"')
  }
}

# Of what has comparisons with all others, and none with everybody.
check_rest_only <- function(options, reference, what) {
  if (options$comparisons == "overall") {
    stop_argument("comparisons", paste('"overall"', what), '"rest": each group against all others')
  }
  check_pooled_options(options, reference)
}

# What comparisons of a metric with pooled groups go with.
check_pooled <- function(options, reference, metric) {
  check_pooled_options(options, reference)
  if (!(options$comparisons %in% POOLED)) {
    return(invisible())
  }
  if (metric$contrast == "gap") {
    stop_argument("comparisons", options$comparisons, "signed differences, or ratios")
  }
}

# A group's own value with two-sided limits, a matrix with a row per group: Wilson's of effective
# counts, with Student's t under weights or clusters; of a mean of rates from those of each; of a
# function by the delta method about half a row and a whole one more in every cell.
own_limits <- function(metric, level) {
  count <- length(metric$rate)
  # Student's t with the units of a group that the rate has cases of
  critical_of <- function(units) {
    vapply(
      seq_len(count),
      function(g) {
        if (!is_uneven(metric, g, g)) {
          return(stats::qnorm((1 + level) / 2))
        }
        if (is.nan(units[g]) || units[g] < MIN_UNITS - 1e-9) {
          return(NaN)
        }
        stats::qt((1 + level) / 2, units[g] - 1)
      },
      0
    )
  }
  if (is.null(metric$parts)) {
    return(own_limits_by_delta(metric, critical_of(metric$units)))
  }
  of_parts <- lapply(metric$parts, function(part) {
    critical <- critical_of(part$units)
    t(vapply(
      seq_len(count),
      function(g) {
        cells <- effective_table(part, g, g)
        if (is.nan(part$rate[g]) || !isTRUE(cells[2L] > 0)) {
          return(c(NaN, NaN))
        }
        wilson_of(cells[1L] / cells[2L], cells[2L], critical[g])
      },
      c(0, 0)
    ))
  })
  if (length(of_parts) == 1L) {
    return(of_parts[[1L]])
  }
  squares <- Reduce(`+`, Map(function(part, limits) (limits - part$rate)^2, metric$parts, of_parts))
  metric$rate + sqrt(squares) / length(of_parts) * rep(c(-1, 1), each = count)
}

# Limits of the own values of a pair, as columns.
own_columns <- function(limits, i, j, everybody = NULL) {
  of_reference <- if (is.null(everybody)) limits[j, ] else everybody$own[1L, ]
  list(
    rate_low = limits[i, 1L],
    rate_high = limits[i, 2L],
    rate_reference_low = of_reference[1L],
    rate_reference_high = of_reference[2L]
  )
}

own_limits_by_delta <- function(metric, critical) {
  about <- if (length(metric$added)) metric$added else list(metric)
  reach <- lapply(about, function(one) critical * sqrt(diag(one$covariance)))
  low <- do.call(pmin, Map(function(one, by) one$rate - by, about, reach))
  high <- do.call(pmax, Map(function(one, by) one$rate + by, about, reach))
  limits <- cbind(low, high)
  limits[!is.finite(metric$rate), ] <- NaN
  range <- if (is.null(metric$range)) c(-Inf, Inf) else metric$range
  pmin(pmax(limits, range[1L]), range[2L])
}

# Roots of (p - r)^2 = z^2 p(1 - p)/n (Wilson 1927).
wilson_of <- function(r, n, z) {
  centre <- (r + z^2 / (2 * n)) / (1 + z^2 / n)
  half <- z / (1 + z^2 / n) * sqrt(r * (1 - r) / n + z^2 / (4 * n^2))
  c(if (r == 0) 0 else max(centre - half, 0), min(centre + half, 1))
}

# All groups as one, to which the rate of everybody belongs.
together <- function(cells) {
  pool_groups(cells, matrix(1, 1L, nrow(cells$totals)))
}
