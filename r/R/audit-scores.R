# MADD of an audit: distances between the score distributions of groups.

# Rows of every pair: "madd", the mean over the stable stretch, and "madd_binned" on a grid that does not depend on
# the labels, with limits and test; for several pairs the largest.
madd_rows <- function(input, grouping, pairs, options) {
  scores <- lapply(grouping$groups, function(g) sort(input$score[grouping$labels == g]))
  compared <- lapply(seq_len(nrow(pairs)), function(k) {
    madd_pair(scores[[pairs[k, 1L]]], scores[[pairs[k, 2L]]], grouping$groups[pairs[k, ]], options)
  })
  adjusted <- adjust_pvalues(vapply(compared, function(pair) pair[[2L]]$pvalue, 0), options$adjust)
  rows <- list()
  for (k in seq_along(compared)) {
    of_grid <- compared[[k]][[2L]]
    of_grid$pvalue_adjusted <- adjusted[k]
    of_grid$mc_pvalue_adjusted <- length(compared) * of_grid$mc_pvalue
    rows <- c(rows, list(compared[[k]][[1L]], of_grid))
  }
  bind_rows(c(rows, list(largest_madd_row(scores, pairs, grouping, options))))
}

# Bins of a grid that depends on the group sizes only.
grid_bins <- function(n0, n1) max(ceiling(1 / madd_bandwidth_order(n0, n1)), 2)

bin_counts <- function(score, n_bins) {
  tabulate(findInterval(score, (0:n_bins) / n_bins, rightmost.closed = TRUE), n_bins)
}

madd_pair <- function(first, second, names, options) {
  n0 <- length(first)
  n1 <- length(second)
  level <- options$confidence_level
  row <- function(metric, ...) {
    tidy_row(metric, names[1L], names[2L], n = n0, n_reference = n1, confidence_level = level, ...)
  }
  if (!n0 || !n1) {
    open <- list(ci_low = 0, ci_high = 2, bound_low = 0, bound_high = 2)
    return(list(do.call(row, c("madd", open)), do.call(row, c("madd_binned", open, verdict = "insufficient evidence"))))
  }
  bins <- grid_bins(n0, n1)
  found <- crosscheck_madd_pair(bin_counts(first, bins), bin_counts(second, bins), level, options$n_resamples)
  verdict <- verdict_of(found$bound_low, found$bound_high, "difference", 2 * options$tolerance)
  stable <- searched_madd(first, second, options$max_bins)
  list(
    row("madd",
      estimate = stable$mean, ci_low = found$bound_low, ci_high = 2, statistic = stable$mean,
      method = "lower limit for the L1 distance", bound_low = found$bound_low, bound_high = 2,
      null_mean = stable$null_mean, h_low = stable$low, h_high = stable$high, h_sup = stable$h_sup,
      mc_ci_low = found$bound_low_error, mc_bound_low = found$bound_low_error
    ),
    row("madd_binned",
      estimate = found$madd, std_error = found$sd, ci_low = found$low, ci_high = found$high, statistic = found$madd,
      pvalue = found$pvalue, method = "directional delta", bound_low = found$bound_low, bound_high = found$bound_high,
      verdict = if (min(n0, n1) < 2L) "insufficient evidence" else verdict, null_mean = found$null_mean,
      bias_corrected = found$bias_corrected, mid_pvalue = found$mid, n_bins = bins, h_low = 1 / bins,
      h_high = 1 / bins, h_sup = stable$h_sup, mc_std_error = found$sd_error, mc_ci_low = found$low_error,
      mc_bound_low = found$bound_low_error, mc_pvalue = found$pvalue_error, mc_mid_pvalue = found$pvalue_error,
      mc_bias_corrected = found$bias_error
    )
  )
}

# MADD of two rows of counts, summed in whole numbers: equal values are equal in every digit.
counts_madd <- function(c0, c1) {
  n0 <- sum(c0)
  n1 <- sum(c1)
  sum(abs(c0 * n1 - c1 * n0)) / (n0 * n1)
}

# The search of Algorithm 1 over 1, ..., max_bins bins, from the distinct scores; what alike groups would show on
# the same grids.
searched_madd <- function(first, second, max_bins) {
  n0 <- length(first)
  n1 <- length(second)
  values <- sort(unique(c(first, second)))
  each <- cbind(tabulate(match(first, values), length(values)), tabulate(match(second, values), length(values)))
  on_grid <- function(m) rowsum(each, findInterval(values, (0:m) / m, rightmost.closed = TRUE), reorder = FALSE)
  madd <- vapply(seq_len(max_bins), function(m) {
    counts <- on_grid(m)
    counts_madd(counts[, 1L], counts[, 2L])
  }, 0)
  stable <- madd_stable(1 / seq_len(max_bins), madd, n0, n1)
  grids <- round(1 / stable$high):round(1 / stable$low)
  pooled <- table(unlist(lapply(grids, function(m) rowSums(on_grid(m)))))
  deviation <- vapply(as.numeric(names(pooled)), mean_deviation, 0, n0 = n0, n1 = n1)
  stable$null_mean <- sum(deviation * as.numeric(pooled)) / length(grids)
  stable
}

# The largest of several comparisons on their grids: Bonferroni for its limits, and the exact test of the largest
# standardised MADD with the labels of all groups permuted together.
largest_madd_row <- function(scores, pairs, grouping, options) {
  sizes <- lengths(scores)
  known <- which(sizes[pairs[, 1L]] > 0 & sizes[pairs[, 2L]] > 0)
  if (length(known) < 2L) return(NULL)
  at <- pairs[known, , drop = FALSE]
  level <- options$confidence_level
  bins <- mapply(function(i, j) grid_bins(sizes[i], sizes[j]), at[, 1L], at[, 2L])
  limits <- lapply(seq_along(known), function(k) {
    sides <- lapply(at[k, ], function(g) bin_counts(scores[[g]], bins[k]))
    c(
      madd_limits(sides[[1L]], sides[[2L]], 1 - (1 - level) / length(known), options$n_resamples),
      madd = counts_madd(sides[[1L]], sides[[2L]])
    )
  })
  of <- function(name) vapply(limits, `[[`, 0, name)
  highest <- function(name) if (length(known) == nrow(pairs)) max(of(name)) else 2
  error <- function(name) limits[[which.max(of(name))]][[paste0(name, "_error")]]
  edges <- sort(unique(unlist(lapply(unique(bins), function(m) seq_len(m - 1L) / m))))
  present <- which(sizes > 0)
  fine <- t(vapply(present, function(g) {
    tabulate(findInterval(scores[[g]], edges) + 1L, length(edges) + 1L)
  }, numeric(length(edges) + 1L)))
  test <- crosscheck_madd_largest(
    fine, edges, as.list(match(at[, 1L], present)), as.list(match(at[, 2L], present)), bins, options$n_resamples
  )
  top <- which.max(of("madd"))
  tidy_row("madd_max", grouping$groups[at[top, 1L]], grouping$groups[at[top, 2L]],
    estimate = max(of("madd")), ci_low = max(of("low")), ci_high = highest("high"), statistic = test$statistic,
    pvalue = test$pvalue, n = sum(sizes), method = "exact permutation, largest standardised MADD",
    bound_low = max(of("bound_low")), bound_high = highest("bound_high"), confidence_level = level,
    verdict = verdict_of(max(of("bound_low")), highest("bound_high"), "difference", 2 * options$tolerance),
    null_mean = test$null_mean, mid_pvalue = test$mid, mc_ci_low = error("low"), mc_bound_low = error("bound_low"),
    mc_statistic = test$statistic_error, mc_pvalue = test$pvalue_error, mc_mid_pvalue = test$pvalue_error,
    mc_null_mean = test$null_mean_error
  )
}

#' Exact permutation test of two histograms
#'
#' Given the pooled count of every bin, every split of the pooled rows is as likely as the one observed, if the groups
#' have one distribution. Splits are drawn by `stats::r2dtable`.
#'
#' @param count0,count1 Rows per bin of the two groups, on a grid that does not depend on the labels.
#' @param n_resamples Number of permutations B.
#' @return A list: statistic (MADD), pvalue = (1 + #\{MADD* >= MADD\}) / (B + 1), mid_pvalue (half of the ties
#'   counted), null_mean (exact), and error, the Monte Carlo error of the difference of two such p-values.
#' @examples
#' set.seed(1)
#' madd_permutation_test(c(30, 20, 10), c(15, 20, 25), 999)$pvalue
#' @export
madd_permutation_test <- function(count0, count1, n_resamples = 1999) {
  if (length(count0) != length(count1) || !sum(count0) || !sum(count1)) {
    stop("`count0` and `count1` must be the counts of the same bins, neither of them empty", call. = FALSE)
  }
  found <- crosscheck_madd_pair(count0, count1, 0.95, n_resamples)
  list(
    statistic = found$madd, pvalue = found$pvalue, mid_pvalue = found$mid, null_mean = found$null_mean,
    error = found$pvalue_error
  )
}
