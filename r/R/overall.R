# Groups against pooled ones: each against all others ("rest"), or against everybody, its own rows among them
# ("overall"). With f the group's share of the cases, held fixed, r - r_all = (1 - f)(r - r_others), and r/r_all =
# rho/(f rho + 1 - f) with rho = r/r_others: a comparison with everybody, which depends on the group, is one with all
# others, which does not, at other null values and on another scale.

POOLED <- c("rest", "overall")
# Null values of all others beyond which a limit lies nowhere: of a group that is nearly everybody.
NEARLY_ONE <- 1 - 1e-9
LARGEST_RATIO <- 1e9

# Below every group all other groups together.
beside_rest <- function(cells) {
  count <- length(cells$groups)
  pooling <- rbind(diag(count), 1 - diag(count))
  of_cells <- kronecker(pooling, diag(ncol(cells$totals)))
  for (name in c("totals", "rows", "squares")) {
    if (!is.null(cells[[name]])) cells[[name]] <- pooling %*% cells[[name]]
  }
  if (!is.null(cells$scatter)) cells$scatter <- of_cells %*% cells$scatter %*% t(of_cells)
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
  if (!is.null(cells$scatter)) cells$scatter <- cells$scatter[places, places]
  cells
}

# The cells without weights that change none of these comparisons: where groups are pooled, those that are equal in all.
without_idle_weights <- function(cells, comparisons) {
  if (is.null(cells$scatter)) return(cells)
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

# A metric of all rows together: the shares of the groups in the cases of each of its rates, and the value.
everybody_of <- function(cells, metric) {
  one <- cell_metric(cells$totals, metric, cells$rows, cells$scatter, cells$units, cells$squares, cells$clustered)
  shares <- lapply(one$parts, function(part) part$cases / sum(part$cases))
  values <- mapply(function(part, share) sum(part$rate[share > 0] * share[share > 0]), one$parts, shares)
  list(shares = shares, value = mean(values), parts = one$parts, cells = cells, rows = sum(one$rows), rate = one$rate)
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
    influence <- influence + slopes[known] %*% everybody$parts[[k]]$influence[known, , drop = FALSE] / count
  }
  cells <- everybody$cells
  s <- sqrt(max(0, cell_covariance(influence, cells$totals, cells$scatter, cells$units)))
  list(estimate = if (contrast == "ratio") rate / everybody$value else rate - everybody$value, std_error = s)
}

# From contrasts with all others to those with everybody, and back.
scale_of_all <- function(contrast, share) {
  rest <- 1 - share
  if (contrast == "difference") return(list(
    value = function(x) rest * x,
    null = function(x) pmin(pmax(x / rest, -NEARLY_ONE), NEARLY_ONE)))
  list(
    value = function(x) ifelse(is.infinite(x), 1 / share, x / (share * x + rest)),
    null = function(x) ifelse(x * rest >= LARGEST_RATIO * (1 - share * x), LARGEST_RATIO, x * rest / (1 - share * x)))
}

# A score against all others as one against everybody.
score_of_all <- function(score, scale) {
  list(estimate = scale$value(score$estimate), end = function(critical, side) scale$value(score$end(critical, side)),
    ends = function(critical) scale$value(score$ends(critical)), z = function(null) score$z(scale$null(null)))
}

# What comparisons with pooled groups go with.
check_pooled <- function(options, reference, strata, metric) {
  if (!(options$comparisons %in% POOLED)) return(invisible())
  if (!is.null(reference)) stop_argument("reference", listed(reference), "NULL: each group is compared with pooled rows")
  if (!is.null(strata)) stop_argument("strata", "a column", "NULL: each group is compared with pooled rows")
  if (options$simultaneous == "max-z") stop_argument("simultaneous", '"max-z"', '"none" or "bonferroni": groups overlap')
  if (metric$contrast == "gap") stop_argument("comparisons", options$comparisons, "signed differences, or ratios")
  if (options$comparisons == "rest") return(invisible())
  if (!is.null(options$method) && options$method != "score") stop_argument("method", options$method, '"score"')
  parts <- lengths(lapply(metric$rates, function(rate) as_metric(rate, 4L)$parts))
  fits <- (metric$contrast == "ratio" && all(parts == 1L)) || (metric$contrast == "difference" && all(parts > 0L))
  if (!fits) stop_argument("comparisons", '"overall"', "ratios and differences of rates, and differences of their means")
}
