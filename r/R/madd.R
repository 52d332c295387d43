#' Model absolute density distance of two samples of scores, and its curve over bins
#'
#' MADD is the sum over bins of the absolute difference of the shares of either sample. Bins are
#' \[0, 1/m), ..., \[(m-1)/m, 1\], the last one closed. `fs_madd_curve` has it for every number of bins from 1 on.
#'
#' `fs_stable_bandwidth` is Algorithm 1. With bandwidths ascending, every stretch from i to j is looked at whose end j
#' lies at least `min_points` places after i and reaches at least the last bandwidth not above h_i + `width` * h_sup; the
#' one with the least population standard deviation of MADD wins, the first of equals. `fs_madd_null_mean` is the mean of
#' MADD over all permutations of the group labels: given the pooled count of every bin, the count of group 0 is
#' hypergeometric; its mean absolute deviation is summed over its whole range.
#'
#' @param score0,score1 Scores in \[0, 1\] of the two groups.
#' @param max_bins Largest number of bins.
#' @return `fs_madd_curve`: a data frame with n_bins (ascending), bandwidth = 1 / n_bins and madd.
#'   `fs_stable_bandwidth`: a list, low, high (bandwidths), mean, std (of MADD), n_points, h_sup.
#'   `fs_madd_null_mean`: what groups with one score distribution would show on average.
#' @references Verger, Fan, Lalle, Bouchet, Luengo (2024). A comprehensive study on evaluating and mitigating
#'   algorithmic unfairness with the MADD metric. JEDM 16(1), 365-409: equations 1 to 3, section 4.3, Algorithm 1.
#' @seealso [fs_madd()]
#' @examples
#' set.seed(1)
#' curve <- fs_madd_curve(rbeta(500, 2, 4), rbeta(500, 4, 2), max_bins = 200)
#' fs_stable_bandwidth(curve$bandwidth, curve$madd, 500, 500)[c("low", "high", "mean")]
#' fs_madd_null_mean(c(2, 2), 2, 2)
#' @export
fs_madd_curve <- function(score0, score1, max_bins = 1000) {
  checked_numbers(score0, "score0", 0, 1)
  checked_numbers(score1, "score1", 0, 1)
  numbers_in(max_bins, "max_bins", 1, whole = TRUE)
  values <- sort(unique(c(score0, score1)))
  each <- vapply(list(score0, score1), function(s) tabulate(match(s, values), length(values)), integer(length(values)))
  each <- matrix(each, ncol = 2L)
  value <- vapply(seq_len(max_bins), function(m) {
    counts <- counts_on_grid(values, each, m)
    counts_madd(counts[, 1L], counts[, 2L])
  }, 0)
  data.frame(n_bins = seq_len(max_bins), bandwidth = 1 / seq_len(max_bins), madd = value)
}

# MADD on a grid of m bins, and its bins; `weight`: of the scores.
madd <- function(score0, score1, n_bins, weight0 = NULL, weight1 = NULL) {
  sum(abs(madd_contributions(score0, score1, n_bins, weight0, weight1)))
}

madd_contributions <- function(score0, score1, n_bins, weight0 = NULL, weight1 = NULL) {
  checked_numbers(score0, "score0", 0, 1)
  checked_numbers(score1, "score1", 0, 1)
  numbers_in(n_bins, "n_bins", 1, whole = TRUE)
  bin_shares(score0, n_bins, weight0) - bin_shares(score1, n_bins, weight1)
}

bin_shares <- function(score, n_bins, weight = NULL) {
  if (is.null(weight)) return(bin_counts(score, n_bins) / length(score))
  sums <- tapply(weight, factor(bin_of(score, n_bins), seq_len(n_bins)), sum, default = 0)
  as.numeric(sums) / sum(weight)
}

bin_of <- function(score, n_bins) findInterval(score, (0:n_bins) / n_bins, rightmost.closed = TRUE)

bin_counts <- function(score, n_bins) tabulate(bin_of(score, n_bins), n_bins)

# Rows per bin, from rows per distinct score.
counts_on_grid <- function(values, each, m) rowsum(each, bin_of(values, m), reorder = FALSE)

# MADD of two rows of counts, summed in whole numbers: equal values are equal in every digit.
counts_madd <- function(c0, c1) {
  n0 <- sum(c0)
  n1 <- sum(c1)
  sum(abs(c0 * n1 - c1 * n0)) / (n0 * n1)
}

#' @rdname fs_madd_curve
#' @param bandwidth,madd Bandwidths, in any order, and MADD at each.
#' @param n0,n1 Rows of the two groups.
#' @param min_points Least number of places between i and j.
#' @param width Least width as a multiple of h_sup.
#' @export
fs_stable_bandwidth <- function(bandwidth, madd, n0, n1, min_points = 50, width = 0.45) {
  numbers_in(bandwidth, "bandwidth", 0, size = NA)
  numbers_in(madd, "madd", size = length(bandwidth))
  numbers_in(n0, "n0", 1)
  numbers_in(n1, "n1", 1)
  numbers_in(min_points, "min_points", 0)
  numbers_in(width, "width", 0)
  ascending <- order(bandwidth)
  h <- bandwidth[ascending]
  value <- madd[ascending]
  size <- length(h)
  h_sup <- madd_bandwidth_order(n0, n1)
  least <- Inf
  best <- NULL
  for (i in seq_len(size)) {
    if (h[i] > h[size] - width * h_sup) break
    first <- max(sum(h <= h[i] + width * h_sup), i + min_points)
    if (first > size) next
    shifted <- value[i:size] - value[i]
    count <- seq_along(shifted)
    variance <- cumsum(shifted^2) / count - (cumsum(shifted) / count)^2
    ends <- first:size
    eligible <- pmax(variance[ends - i + 1], 0)
    if (min(eligible) < least) {
      least <- min(eligible)
      best <- c(i, ends[which.min(eligible)])
    }
  }
  if (is.null(best)) {
    stop("no stretch of bandwidths is eligible: search more of them, or lower `min_points` or `width`",
      call. = FALSE
    )
  }
  inside <- value[best[1L]:best[2L]]
  list(
    low = h[best[1L]], high = h[best[2L]], mean = mean(inside),
    std = sqrt(mean((inside - mean(inside))^2)), n_points = length(inside), h_sup = h_sup
  )
}

# Bandwidth of the optimal order, and the bins of a grid that depends on the group sizes only.
madd_bandwidth_order <- function(n0, n1) ((sqrt(n0) + sqrt(n1)) / sqrt(n0 * n1))^(2 / 3)

grid_bins <- function(n0, n1) max(ceiling(1 / madd_bandwidth_order(n0, n1)), 2)

#' @rdname fs_madd_curve
#' @param count Rows per bin, both groups together.
#' @export
fs_madd_null_mean <- function(count, n0, n1) {
  numbers_in(count, "count", 0, size = NA, whole = TRUE)
  numbers_in(n0, "n0", 1, whole = TRUE)
  numbers_in(n1, "n1", 1, whole = TRUE)
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
  m <- length(c0)
  d <- c0 / n0 - c1 / n1
  observed <- sum(abs(d))
  used <- c0 + c1 > 0
  # with all rows in one bin every permutation is the table itself, which r2dtable refuses
  drawn <- if (sum(used) < 2L) numeric(resamples) else vapply(
    stats::r2dtable(resamples, c(n0, n1), (c0 + c1)[used]),
    function(x) sum(abs(x[1L, ] / n0 - x[2L, ] / n1)), 0
  )
  limits <- madd_limits(c0, c1, level, resamples, margin)
  # tied scores without a common one: no upper limit
  if (apart) limits[c("high", "bound_high", "p_inside")] <- list(2, 2, 1)
  again <- colSums(abs(stats::rmultinom(resamples, n0, c0) / n0 - stats::rmultinom(resamples, n1, c1) / n1))
  c(list(
    contributions = d, madd = observed, null_mean = fs_madd_null_mean(c0 + c1, n0, n1),
    h_sup = madd_bandwidth_order(n0, n1), bias_corrected = max(2 * observed - mean(again), 0),
    bias_error = stats::sd(again) * sqrt(2 / resamples)
  ), permutation_p(observed, drawn), sd_with_error(again), limits)
}

permutation_p <- function(observed, drawn) {
  n <- length(drawn)
  more <- sum(drawn > observed + 1e-12)
  ties <- sum(drawn >= observed - 1e-12) - more
  p <- (1 + ties + more) / (n + 1)
  mid <- (more + (1 + ties) / 2) / (n + 1)
  list(pvalue = p, mid = mid, pvalue_error = share_error(p, n), mid_error = share_error(mid, n))
}

sd_with_error <- function(x) {
  n <- length(x)
  v <- mean((x - mean(x))^2)
  fourth <- mean((x - mean(x))^4)
  list(sd = sqrt(v), sd_error = if (v > 0) sqrt(max(fourth - v^2, 0) / (4 * v) * 2 / n) else 0)
}

# Confidence limits of the binned distance: below by the directional delta method, above by the worst signs.
madd_limits <- function(c0, c1, level, resamples, margin = 0.2, pseudo = 4) {
  n <- c(sum(c0), sum(c1))
  shares <- rbind(c0 / n[1L], c1 / n[2L])
  pooled <- (c0 + c1) / sum(n)
  d <- shares[1L, ] - shares[2L, ]
  error <- sqrt(pmax(pooled * (1 - pooled) * sum(1 / n), colSums(shares * (1 - shares) / n)))
  near <- abs(d) <= max(3, sqrt(log(min(n))), sqrt(2 * log(length(d)))) * error
  own <- lapply(1:2, function(g) (rbind(c0, c1)[g, ] + pseudo * pooled) / (n[g] + pseudo))
  # a group that misses a bin by chance has the pooled share there; of both laws what reaches further counts
  other <- lapply(1:2, function(g) {
    raised <- rbind(c0, c1)[g, ] < 10 & pooled > own[[g]]
    rest <- ifelse(raised, 0, own[[g]])
    ifelse(raised, pooled, rest * (1 - sum(pooled[raised])) / max(sum(rest), 1e-300))
  })
  by_law <- lapply(list(own, other), function(law) {
    noise <- stats::rmultinom(resamples, n[1L], law[[1L]]) / n[1L] - law[[1L]] -
      (stats::rmultinom(resamples, n[2L], law[[2L]]) / n[2L] - law[[2L]])
    excess <- colSums(abs(noise[near, , drop = FALSE])) + colSums(noise * ifelse(near, 0, sign(d)))
    spread <- vapply(1:2, function(g) {
      mean <- max(abs(sum(law[[g]] * ifelse(near, 0, sign(d)))) - sum(law[[g]][near]), 0)
      (1 - mean^2) / n[g]
    }, 0)
    list(excess = sort(excess), spread = sum(pmax(spread, 0)))
  })
  excess <- pmax(by_law[[1L]]$excess, by_law[[2L]]$excess)
  spread <- by_law[[1L]]$spread
  if (min(n) < 5) excess[] <- 2
  observed <- sum(abs(d))
  lower <- function(p) {
    if ((1 - p) * (resamples + 1) < 1) return(c(0, 0))
    step <- sqrt(2 * p * (1 - p) / resamples)
    reach <- stats::quantile(excess, pmin(pmax(p + c(0, -step, step), 0), 1), names = FALSE)
    # tied counts: a quantile may jump by one step of the distances
    c(max(min(observed - reach[1L], 2), 0), (reach[3L] - reach[2L]) / 2 + 1 / min(n) / 6)
  }
  upper <- function(p) max(min(observed + stats::qnorm(p) * sqrt(sum(pmax(spread, 0))), 2), 0)
  both <- lower((1 + level) / 2)
  one <- lower(level)
  above <- (1 + sum(excess >= observed - margin)) / (1 + resamples)
  # beside the draws: counts are whole, and so a distance may tie with the margin
  tie <- mean(abs(excess - (observed - margin)) < 1e-9)
  list(
    p_above = above, p_above_error = share_error(above, resamples) + tie,
    p_inside = stats::pnorm((observed - margin) / sqrt(sum(pmax(spread, 0)))), p_inside_error = 0,
    low = both[1L], low_error = both[2L], high = upper((1 + level) / 2),
    bound_low = one[1L], bound_low_error = one[2L], bound_high = upper(level)
  )
}

# All groups at once: largest standardised MADD over permutations of all labels. counts: groups x fine cells; bins:
# inner edges of the grid of each comparison.
crosscheck_madd_largest <- function(counts, edges, first, second, bins, resamples) {
  sizes <- rowSums(counts)
  pooled <- colSums(counts)
  used <- pooled > 0
  middle <- (c(0, edges) + c(edges, 1)) / 2
  bin <- lapply(bins, function(own) findInterval(middle, own))
  distances <- function(x) {
    vapply(seq_along(bins), function(k) {
      a <- colSums(x[first[[k]], , drop = FALSE])
      b <- colSums(x[second[[k]], , drop = FALSE])
      sum(abs(rowsum(a / sum(a) - b / sum(b), bin[[k]])))
    }, 0)
  }
  value <- distances(counts)
  drawn <- vapply(stats::r2dtable(resamples, sizes, pooled[used]), function(x) {
    whole <- matrix(0, length(sizes), length(pooled))
    whole[, used] <- x
    distances(whole)
  }, numeric(length(bins)))
  drawn <- matrix(drawn, length(bins))
  together <- cbind(value, drawn)
  centre <- rowMeans(together)
  spread <- sqrt(rowMeans((together - centre)^2))
  flat <- spread < 1e-12
  standard <- (together - centre) / ifelse(flat, 1, spread)
  standard[flat, ] <- 0
  largest <- apply(standard, 2L, max)
  top <- which.max(standard[, 1L])
  n <- length(largest) - 1
  # the statistic is random through the mean and spread it is standardised with
  tail <- mean(standard[top, ]^4)
  error <- sqrt(2 / n * (1 + largest[1L]^2 * max(tail - 1, 2) / 4))
  most <- apply(drawn, 2L, max)
  c(permutation_p(largest[1L], largest[-1L]), list(
    estimate = max(value), statistic = largest[1L], statistic_error = error, null_mean = mean(most),
    null_mean_error = stats::sd(most) * sqrt(2 / n)
  ))
}

#' Move the scores of every group towards the distribution of all
#'
#' With F_s the mid-distribution function of the fitted scores of group s, linear between them and up to (0, 0)
#' and (1, 1), and F = sum of n_s / n * F_s, a score p becomes the x with
#' (1 - lambda) * F_s(x) + lambda * F(x) = F_s(p). The equation is solved by bisection.
#'
#' @param score,group Scores in \[0, 1\] to fit on, and their groups.
#' @param lambda From 0 (no change) to 1 (one distribution).
#' @param new_score,new_group Scores to map, and their groups; default those of the fit.
#' @return Mapped scores in \[0, 1\].
#' @references Verger et al. (2024), section 6.
#' @examples
#' fs_madd_map(c(0.1, 0.2, 0.3, 0.6, 0.8, 0.9), rep(c("a", "b"), each = 3), lambda = 1)
#' @export
fs_madd_map <- function(score, group, lambda, new_score = score, new_group = group) {
  checked_numbers(score, "score", 0, 1)
  checked_numbers(new_score, "new_score", 0, 1)
  numbers_in(lambda, "lambda", 0, 1)
  sides <- list(group = group, new_group = new_group)
  for (name in names(sides)) {
    plain_column(sides[[name]], name)
    rows <- length(if (name == "group") score else new_score)
    if (anyNA(sides[[name]]) || length(sides[[name]]) != rows) {
      stop_argument(name, "missing values or another length", paste("the group of each of the", rows, "scores"))
    }
  }
  group <- label_text(group)
  new_group <- label_text(new_group)
  groups <- unique(group)
  unknown <- setdiff(new_group, groups)
  if (length(unknown)) stop("no scores were fitted for group ", unknown[1L], call. = FALSE)
  cdf <- lapply(groups, function(g) mid_cdf(score[group == g]))
  share <- vapply(groups, function(g) mean(group == g), 0)
  pooled <- function(x) Reduce(`+`, Map(function(f, w) w * f(x), cdf, share))
  mapped <- numeric(length(new_score))
  for (s in seq_along(groups)) {
    rows <- new_group == groups[s]
    target <- function(x) (1 - lambda) * cdf[[s]](x) + lambda * pooled(x)
    mapped[rows] <- bisect(target, cdf[[s]](new_score[rows]))
  }
  mapped
}

# Mid-distribution function of scores, linear between them.
mid_cdf <- function(score) {
  values <- sort(unique(score))
  height <- vapply(values, function(v) mean(score < v) + mean(score == v) / 2, 0)
  if (values[1L] > 0) {
    values <- c(0, values)
    height <- c(0, height)
  }
  if (values[length(values)] < 1) {
    values <- c(values, 1)
    height <- c(height, 1)
  }
  stats::approxfun(values, height, rule = 2)
}

# x in [0, 1] with f(x) = y, for f that increases; an end where there is none.
bisect <- function(f, y) {
  low <- rep(0, length(y))
  high <- rep(1, length(y))
  for (step in seq_len(60L)) {
    middle <- (low + high) / 2
    below <- f(middle) < y
    low[below] <- middle[below]
    high[!below] <- middle[!below]
  }
  (low + high) / 2
}
