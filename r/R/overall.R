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
  count <- length(cells$groups)
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

# A metric of all rows together: the shares of the groups in the cases of each of its rates, and the
# value.
everybody_of <- function(cells, metric, level) {
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
    own = own_limits(value_of(together(cells)), level)
  )
}

# Estimate and standard error of a group against everybody, their shares held fixed.
contrast_with_all <- function(everybody, i, contrast) {
  rate <- everybody$rate[i]
  of_group <- if (contrast == "ratio") 1 / everybody$value else 1
  of_all <- if (contrast == "ratio") -rate / everybody$value^2 else -1
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
    estimate = if (contrast == "ratio") rate / everybody$value else rate - everybody$value,
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

# Whether a metric has a comparison with everybody.
has_overall <- function(metric) {
  parts <- lengths(lapply(metric$rates, function(rate) as_metric(rate, 4L)$parts))
  (metric$contrast == "ratio" && all(parts == 1L)) ||
    (metric$contrast == "difference" && all(parts > 0L))
}

# The comparisons that are asked for where a metric has them, else those with the reference.
comparisons_of <- function(metric, asked) {
  lacks <- (asked %in% POOLED && metric$contrast == "gap") ||
    (asked == "overall" && !has_overall(metric))
  if (lacks) "reference" else asked
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
  if (options$comparisons == "overall" && !has_overall(metric)) {
    stop_argument(
      "comparisons",
      '"overall"',
      "ratios and differences of rates, and differences of their means"
    )
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
  cbind(low, high)
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
