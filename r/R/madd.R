# Model absolute density distance (MADD) of two samples of scores (Verger, Fan, Lalle, Bouchet, Luengo 2024. A
# comprehensive study on evaluating and mitigating algorithmic unfairness with the MADD metric. JEDM 16(1), 365-409).

# MADD for every number of bins from 1 on (equations 1 to 3).
fs_madd_curve <- function(score0, score1, max_bins = 1000) {
  for (name in c("score0", "score1")) checked_numbers(get(name), name, 0, 1)
  bins <- seq_len(numbers_in(max_bins, "max_bins", 1, whole = TRUE))
  values <- sort(unique(c(score0, score1)))
  rows <- function(score) tabulate(match(score, values), length(values))
  each <- cbind(rows(score0), rows(score1))
  madd <- vapply(bins, function(m) {
    counts <- rowsum(each, bin_of(values, m), reorder = FALSE)
    counts_madd(counts[, 1L], counts[, 2L])
  }, 0)
  data.frame(n_bins = bins, bandwidth = 1 / bins, madd = madd)
}

# MADD on a grid of m bins, and its bins; `weight`: of the scores.
madd <- function(score0, score1, n_bins, weight0 = NULL, weight1 = NULL)
  sum(abs(madd_contributions(score0, score1, n_bins, weight0, weight1)))

madd_contributions <- function(score0, score1, n_bins, weight0 = NULL, weight1 = NULL) {
  for (name in c("score0", "score1")) checked_numbers(get(name), name, 0, 1)
  numbers_in(n_bins, "n_bins", 1, whole = TRUE)
  bin_shares(score0, n_bins, weight0) - bin_shares(score1, n_bins, weight1)
}

bin_shares <- function(score, n_bins, weight = NULL) {
  if (is.null(weight)) return(bin_counts(score, n_bins) / length(score))
  as.numeric(tapply(weight, factor(bin_of(score, n_bins), seq_len(n_bins)), sum, default = 0)) / sum(weight)
}

# Bins are [0, 1/m), ..., [(m-1)/m, 1], the last one closed.
bin_of <- function(score, n_bins) findInterval(score, (0:n_bins) / n_bins, rightmost.closed = TRUE)
bin_counts <- function(score, n_bins) tabulate(bin_of(score, n_bins), n_bins)

# MADD of two rows of counts, summed in whole numbers: equal values are equal in every digit.
counts_madd <- function(c0, c1) sum(abs(c0 * sum(c1) - c1 * sum(c0))) / (sum(c0) * sum(c1))

# The stretch of bandwidths with the least standard deviation of MADD (Algorithm 1), the first of equals.
fs_stable_bandwidth <- function(bandwidth, madd, n0, n1, min_points = 50, width = 0.45) {
  numbers_in(bandwidth, "bandwidth", 0, size = NA)
  numbers_in(madd, "madd", size = length(bandwidth))
  for (name in c("n0", "n1")) numbers_in(get(name), name, 1)
  for (name in c("min_points", "width")) numbers_in(get(name), name, 0)
  h <- sort(bandwidth)
  value <- madd[order(bandwidth)]
  size <- length(h)
  h_sup <- madd_bandwidth_order(n0, n1)
  least <- Inf
  for (i in which(h <= h[size] - width * h_sup)) {
    first <- max(sum(h <= h[i] + width * h_sup), i + min_points)
    if (first > size) next
    shifted <- value[i:size] - value[i]
    count <- seq_along(shifted)
    variance <- cumsum(shifted^2) / count - (cumsum(shifted) / count)^2
    eligible <- pmax(variance[first:size - i + 1], 0)
    if (min(eligible) < least) {
      least <- min(eligible)
      best <- i:(first + which.min(eligible) - 1)
    }
  }
  if (is.infinite(least)) stop(
    "no stretch of bandwidths is eligible: search more of them, or lower `min_points` or `width`", call. = FALSE)
  inside <- value[best]
  list(low = h[best[1L]], high = h[best[length(best)]], mean = mean(inside),
    std = sqrt(mean((inside - mean(inside))^2)), n_points = length(inside), h_sup = h_sup)
}

# Bandwidth of the optimal order, and the bins of a grid that depends on the group sizes only.
madd_bandwidth_order <- function(n0, n1) ((sqrt(n0) + sqrt(n1)) / sqrt(n0 * n1))^(2 / 3)
grid_bins <- function(n0, n1) max(ceiling(1 / madd_bandwidth_order(n0, n1)), 2)

# Inner edges of the bins in which MADD is judged: up to `most` (0: by the group sizes) quantiles of the pooled scores.
# Bin k ends with the first score whose share of pooled rows reaches k/most; no more distinct scores than that are bins
# themselves. An edge lies half way between two scores.
pooled_edges <- function(score0, score1, most = 0) {
  if (!most) most <- grid_bins(length(score0), length(score1))
  pooled <- c(score0, score1)
  values <- sort(unique(pooled))
  if (length(values) <= most) {
    last <- seq_along(values)[-length(values)]
  } else {
    below <- cumsum(tabulate(match(pooled, values), length(values)))
    last <- quantile_cells(below, most)
    last <- last[last < length(values)]
  }
  low <- values[last]
  middle <- low + (values[last + 1L] - low) / 2
  ifelse(middle > low, middle, values[last + 1L])
}

# Last of the cells of every bin, from rows up to the end of each cell: the first that has k/m of the rows.
quantile_cells <- function(below, m) {
  wanted <- ceiling(seq_len(m) * below[length(below)] / m - 1e-9)
  unique(findInterval(wanted, below, left.open = TRUE) + 1L)
}

# Mean and standard deviation of MADD over all permutations of the labels: mean and variance of each |D_k| exact, their
# covariances as of normal variables (Nabeya 1951); of two bins exact.
madd_null_moments <- function(count, n0, n1) {
  n <- n0 + n1
  m <- vapply(count, mean_deviation, 0, n0 = n0, n1 = n1)
  p <- count / n
  v <- p * (1 - p) * n / max(n - 1, 1) * (1 / n0 + 1 / n1)
  odds <- p / pmax(1 - p, 1e-300)
  rho <- -sqrt(pmin(outer(odds, odds), 1))
  covariance <- outer(m, m) * (sqrt(1 - rho^2) + rho * asin(rho) - 1)
  if (length(m) == 2L) covariance[] <- v[1L] - m[1L]^2
  diag(covariance) <- v - m^2
  c(mean = sum(m), sd = sqrt(max(sum(covariance), 0)))
}

# Mean of MADD over all permutations of the group labels: given the rows of a bin those of group 0 are hypergeometric.
fs_madd_null_mean <- function(count, n0, n1) {
  numbers_in(count, "count", 0, size = NA, whole = TRUE)
  for (name in c("n0", "n1")) numbers_in(get(name), name, 1, whole = TRUE)
  if (sum(count) != n0 + n1) stop_argument("count", paste("a sum of", sum(count)), "a sum of n0 + n1")
  sum(vapply(count, mean_deviation, 0, n0 = n0, n1 = n1))
}

# Mean absolute difference of the shares of a bin that holds `count` rows in all.
mean_deviation <- function(count, n0, n1) {
  x <- max(0, count - n1):min(count, n0)
  sum(abs(x / n0 - (count - x) / n1) * stats::dhyper(x, count, n0 + n1 - count, n0))
}

# The stable stretch of two samples of scores, with the curve.
crosscheck_madd_search <- function(score0, score1, max_bins, min_points = 50, width = 0.45) {
  curve <- fs_madd_curve(score0, score1, max_bins)
  found <- fs_stable_bandwidth(curve$bandwidth, curve$madd, length(score0), length(score1), min_points, width)
  c(found, list(curve = curve$madd, lowest = min(curve$madd)))
}

# What alike groups would show on the grids of a stable stretch.
stretch_null_mean <- function(score0, score1, stable) {
  grids <- round(1 / stable$high):round(1 / stable$low)
  pooled <- unlist(lapply(grids, function(m) bin_counts(c(score0, score1), m)))
  counts <- unique(pooled)
  deviation <- vapply(counts, mean_deviation, 0, n0 = length(score0), n1 = length(score1))
  sum(deviation * tabulate(match(pooled, counts))) / length(grids)
}

# One comparison of plain rows on a grid: distance, exact mean of alike groups, permutation p-value, limits.
# c0, c1: rows per bin. Permuted tables come from stats::r2dtable. p_above, p_inside: of the verdict's null hypotheses,
# "not above the margin" and "not below it".
crosscheck_madd_pair <- function(c0, c1, level, resamples, margin = 0.2, apart = FALSE) {
  n0 <- sum(c0)
  n1 <- sum(c1)
  observed <- sum(abs(c0 / n0 - c1 / n1))
  used <- c0 + c1 > 0
  # with all rows in one bin every permutation is the table itself, which r2dtable refuses
  drawn <- if (sum(used) < 2L) numeric(resamples) else {
    vapply(stats::r2dtable(resamples, c(n0, n1), (c0 + c1)[used]), function(x) sum(abs(x[1L, ] / n0 - x[2L, ] / n1)), 0)
  }
  limits <- madd_limits(c0, c1, level, resamples, margin)
  # tied scores without a common one: no upper limit
  if (apart) limits[c("high", "bound_high", "p_inside")] <- list(2, 2, 1)
  again <- colSums(abs(stats::rmultinom(resamples, n0, c0) / n0 - stats::rmultinom(resamples, n1, c1) / n1))
  c(list(contributions = c0 / n0 - c1 / n1, madd = observed, null_mean = fs_madd_null_mean(c0 + c1, n0, n1),
    h_sup = madd_bandwidth_order(n0, n1), bias_corrected = max(2 * observed - mean(again), 0),
    bias_error = stats::sd(again) * sqrt(2 / resamples)), permutation_p(observed, drawn), sd_with_error(again), limits)
}

permutation_p <- function(observed, drawn) {
  n <- length(drawn)
  p <- (1 + sum(drawn >= observed - 1e-12)) / (n + 1)
  # ties count half
  mid <- (p + sum(drawn > observed + 1e-12) / (n + 1)) / 2
  list(pvalue = p, mid = mid, pvalue_error = share_error(p, n), mid_error = share_error(mid, n))
}

sd_with_error <- function(x) {
  v <- mean((x - mean(x))^2)
  fourth <- mean((x - mean(x))^4)
  list(sd = sqrt(v), sd_error = if (v > 0) sqrt(max(fourth - v^2, 0) / (4 * v) * 2 / length(x)) else 0)
}

# Confidence limits of the binned distance: below by the directional delta method, above by the worst signs.
madd_limits <- function(c0, c1, level, resamples, margin = 0.2, pseudo = 4) {
  counts <- rbind(c0, c1)
  n <- c(sum(c0), sum(c1))
  pooled <- (c0 + c1) / sum(n)
  d <- c0 / n[1L] - c1 / n[2L]
  error <- sqrt(pmax(pooled * (1 - pooled) * sum(1 / n), colSums(counts / n * (1 - counts / n) / n)))
  near <- abs(d) <= max(3, sqrt(log(min(n))), sqrt(2 * log(length(d)))) * error
  far <- ifelse(near, 0, sign(d))
  own <- lapply(1:2, function(g) (counts[g, ] + pseudo * pooled) / (n[g] + pseudo))
  # a group that misses a bin by chance has the pooled share there; of both laws what reaches further counts
  other <- lapply(1:2, function(g) {
    raised <- counts[g, ] < 10 & pooled > own[[g]]
    rest <- ifelse(raised, 0, own[[g]])
    ifelse(raised, pooled, rest * (1 - sum(pooled[raised])) / max(sum(rest), 1e-300))
  })
  excess <- do.call(pmax, lapply(list(own, other), function(law) {
    noise <- lapply(1:2, function(g) stats::rmultinom(resamples, n[g], law[[g]]) / n[g] - law[[g]])
    noise <- noise[[1L]] - noise[[2L]]
    sort(colSums(abs(noise[near, , drop = FALSE])) + colSums(noise * far))
  }))
  if (min(n) < 5) excess[] <- 2
  mean <- vapply(own, function(law) max(abs(sum(law * far)) - sum(law[near]), 0), 0)
  spread <- sqrt(sum(pmax((1 - mean^2) / n, 0)))
  observed <- sum(abs(d))
  lower <- function(p) {
    if ((1 - p) * (resamples + 1) < 1) return(c(0, 0))
    step <- sqrt(2 * p * (1 - p) / resamples)
    reach <- stats::quantile(excess, pmin(pmax(p + c(0, -step, step), 0), 1), names = FALSE)
    # tied counts: a quantile may jump by one step of the distances
    c(max(min(observed - reach[1L], 2), 0), (reach[3L] - reach[2L]) / 2 + 1 / min(n) / 6)
  }
  upper <- function(p) max(min(observed + stats::qnorm(p) * spread, 2), 0)
  both <- lower((1 + level) / 2)
  one <- lower(level)
  above <- (1 + sum(excess >= observed - margin)) / (1 + resamples)
  # beside the draws: counts are whole, and so a distance may tie with the margin
  tie <- mean(abs(excess - (observed - margin)) < 1e-9)
  list(p_above = above, p_above_error = share_error(above, resamples) + tie,
    p_inside = stats::pnorm((observed - margin) / spread), p_inside_error = 0, low = both[1L], low_error = both[2L],
    high = upper((1 + level) / 2), bound_low = one[1L], bound_low_error = one[2L], bound_high = upper(level))
}

# All groups at once: largest standardised MADD over permutations of all labels. counts: groups x cells of the scores of
# all groups; every MADD is that of the pooled quantiles of its sides, at most `bins`, found again in every permutation,
# or, if `equal`, that of the cells. It is standardised as if its rows were spread over bins as those of all groups are.
crosscheck_madd_largest <- function(counts, first, second, bins, resamples, equal = FALSE) {
  counts <- as.matrix(counts)
  pooled <- colSums(counts)
  used <- pooled > 0
  ends <- function(below, m) {
    if (equal || sum(diff(c(0, below)) > 0) <= m) seq_along(below) else quantile_cells(below, m)
  }
  distances <- function(x) {
    mapply(function(one, other, m) {
      below <- lapply(list(one, other), function(rows) cumsum(colSums(x[rows, , drop = FALSE])))
      at <- ends(below[[1L]] + below[[2L]], m)
      counts_madd(diff(c(0, below[[1L]][at])), diff(c(0, below[[2L]][at])))
    }, first, second, bins)
  }
  moments <- mapply(function(one, other, m) {
    n <- c(sum(counts[one, ]), sum(counts[other, ]))
    below <- cumsum(pooled)
    expected <- round(diff(c(0, below[ends(below, m)])) / sum(pooled) * sum(n))
    madd_null_moments(expected[expected > 0], n[1L], n[2L])
  }, first, second, bins)
  standard <- function(values)
    max(ifelse(moments[2L, ] > 1e-12, (values - moments[1L, ]) / pmax(moments[2L, ], 1e-12), 0))
  value <- distances(counts)
  drawn <- if (sum(used) < 2L) matrix(value, length(bins), resamples) else {
    matrix(vapply(stats::r2dtable(resamples, rowSums(counts), pooled[used]), function(x) {
      counts[, used] <- x
      distances(counts)
    }, numeric(length(bins))), length(bins))
  }
  statistic <- standard(value)
  most <- apply(drawn, 2L, max)
  c(permutation_p(statistic, apply(drawn, 2L, standard)), list(estimate = max(value), statistic = statistic,
    null_mean = mean(most), null_mean_error = stats::sd(most) * sqrt(2 / resamples)))
}

# Scores p of every group moved towards the distribution of all (section 6): the x with (1 - lambda) F_s(x) +
# lambda F(x) = F_s(p), for mid-distribution functions F_s of the groups and F of all.
fs_madd_map <- function(score, group, lambda, new_score = score, new_group = group) {
  for (name in c("score", "new_score")) checked_numbers(get(name), name, 0, 1)
  numbers_in(lambda, "lambda", 0, 1)
  group <- labels_of(group, "group", length(score))
  new_group <- labels_of(new_group, "new_group", length(new_score))
  groups <- unique(group)
  unknown <- setdiff(new_group, groups)
  if (length(unknown)) stop("no scores were fitted for group ", unknown[1L], call. = FALSE)
  cdf <- lapply(groups, function(g) mid_cdf(score[group == g]))
  share <- vapply(groups, function(g) mean(group == g), 0)
  pooled <- function(x) Reduce(`+`, Map(function(f, w) w * f(x), cdf, share))
  mapped <- numeric(length(new_score))
  for (s in seq_along(groups)) {
    rows <- new_group == groups[s]
    mapped[rows] <- bisect(function(x) (1 - lambda) * cdf[[s]](x) + lambda * pooled(x), cdf[[s]](new_score[rows]))
  }
  mapped
}

# One label for each of so many scores, as text.
labels_of <- function(x, argument, rows) {
  plain_column(x, argument)
  if (!anyNA(x) && length(x) == rows) return(label_text(x))
  stop_argument(argument, "missing values or another length", paste("the group of each of the", rows, "scores"))
}

# Mid-distribution function of scores, linear between them and up to (0, 0) and (1, 1).
mid_cdf <- function(score) {
  values <- sort(unique(score))
  height <- vapply(values, function(v) mean(score < v) + mean(score == v) / 2, 0)
  low <- if (values[1L] > 0) 0
  high <- if (values[length(values)] < 1) 1
  stats::approxfun(c(low, values, high), c(low, height, high), rule = 2)
}

# x between low and high with f(x) = y, for f that increases; an end where there is none.
bisect <- function(f, y, low = 0, high = 1, steps = 60L) {
  low <- rep(low, length(y))
  high <- rep(high, length(y))
  for (step in seq_len(steps)) {
    middle <- (low + high) / 2
    below <- f(middle) < y
    low <- ifelse(below, middle, low)
    high <- ifelse(below, high, middle)
  }
  (low + high) / 2
}
