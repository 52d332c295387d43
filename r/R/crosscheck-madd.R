# MADD for fairstats.crosscheck(), from the histogram counts of a report, or from scores.

# Counts (groups x cells between `edges`) on a grid of m bins.
counts_on_grid <- function(counts, edges, m) {
  middle <- (c(0, edges) + c(edges, 1)) / 2
  bin <- findInterval(middle, (0:m) / m, rightmost.closed = TRUE)
  t(rowsum(t(counts), factor(bin, seq_len(m)), reorder = TRUE))
}

# One comparison of plain rows on a grid: distance, exact mean of alike groups, permutation p-value, limits.
# c0, c1: rows per bin. Permuted tables come from stats::r2dtable.
crosscheck_madd_pair <- function(c0, c1, level, resamples) {
  n0 <- sum(c0)
  n1 <- sum(c1)
  m <- length(c0)
  d <- c0 / n0 - c1 / n1
  observed <- sum(abs(d))
  used <- c0 + c1 > 0
  drawn <- vapply(
    stats::r2dtable(resamples, c(n0, n1), (c0 + c1)[used]),
    function(x) sum(abs(x[1L, ] / n0 - x[2L, ] / n1)), 0
  )
  limits <- madd_limits(c0, c1, level, resamples)
  again <- colSums(abs(stats::rmultinom(resamples, n0, c0) / n0 - stats::rmultinom(resamples, n1, c1) / n1))
  c(list(
    contributions = d, madd = observed, null_mean = madd_null_mean(c0 + c1, n0, n1),
    h_sup = madd_bandwidth_order(n0, n1), bias_corrected = max(2 * observed - mean(again), 0),
    bias_error = stats::sd(again) * sqrt(2 / resamples)
  ), permutation_p(observed, drawn), sd_with_error(again), limits)
}

permutation_p <- function(observed, drawn) {
  n <- length(drawn)
  more <- sum(drawn > observed + 1e-12)
  ties <- sum(drawn >= observed - 1e-12) - more
  p <- (1 + ties + more) / (n + 1)
  list(
    pvalue = p, mid = (more + (1 + ties) / 2) / (n + 1), pvalue_error = sqrt(2 * (p * (1 - p) + 1 / n) / n)
  )
}

sd_with_error <- function(x) {
  n <- length(x)
  v <- mean((x - mean(x))^2)
  fourth <- mean((x - mean(x))^4)
  list(sd = sqrt(v), sd_error = if (v > 0) sqrt(max(fourth - v^2, 0) / (4 * v) * 2 / n) else 0)
}

# Confidence limits of the binned distance: below by the directional delta method, above by the worst signs.
madd_limits <- function(c0, c1, level, resamples, pseudo = 4) {
  n <- c(sum(c0), sum(c1))
  shares <- rbind(c0 / n[1L], c1 / n[2L])
  pooled <- (c0 + c1) / sum(n)
  d <- shares[1L, ] - shares[2L, ]
  error <- sqrt(pmax(pooled * (1 - pooled) * sum(1 / n), colSums(shares * (1 - shares) / n)))
  near <- abs(d) <= max(2.5, sqrt(log(min(n))), sqrt(2 * log(length(d)))) * error
  law <- lapply(1:2, function(g) {
    p <- (rbind(c0, c1)[g, ] + pseudo * pooled) / (n[g] + pseudo)
    if (any(near)) p[near] <- sum(p[near]) * pooled[near] / max(sum(pooled[near]), 1e-300)
    p / sum(p)
  })
  noise <- stats::rmultinom(resamples, n[1L], law[[1L]]) / n[1L] - law[[1L]] -
    (stats::rmultinom(resamples, n[2L], law[[2L]]) / n[2L] - law[[2L]])
  excess <- colSums(abs(noise[near, , drop = FALSE])) + colSums(noise * ifelse(near, 0, sign(d)))
  spread <- vapply(1:2, function(g) {
    mean <- max(abs(sum(law[[g]] * ifelse(near, 0, sign(d)))) - sum(law[[g]][near]), 0)
    (1 - mean^2) / n[g]
  }, 0)
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
  list(
    low = both[1L], low_error = both[2L], high = upper((1 + level) / 2),
    bound_low = one[1L], bound_low_error = one[2L], bound_high = upper(level)
  )
}

# All groups at once: largest standardised MADD over permutations of all labels. counts: groups x fine cells.
crosscheck_madd_largest <- function(counts, edges, first, second, bins, resamples) {
  sizes <- rowSums(counts)
  pooled <- colSums(counts)
  used <- pooled > 0
  middle <- (c(0, edges) + c(edges, 1)) / 2
  bin <- lapply(bins, function(m) findInterval(middle, (0:m) / m, rightmost.closed = TRUE))
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

# The stable stretch of bandwidths of two samples of scores, by the twins of the package.
crosscheck_madd_search <- function(score0, score1, max_bins, min_points, width) {
  curve <- madd_curve(score0, score1, max_bins)
  found <- madd_stable(curve$bandwidth, curve$madd, length(score0), length(score1), min_points, width)
  c(found, list(curve = curve$madd, lowest = min(curve$madd)))
}
