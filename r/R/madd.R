# Model absolute density distance (MADD) of two samples of scores (Verger, Fan, Lalle, Bouchet,
# Luengo 2024. A comprehensive study on evaluating and mitigating algorithmic unfairness with the
# MADD metric. JEDM 16(1), 365-409).

#' Model absolute density distance of two samples of scores, and its curve over bins
#'
#' MADD is the sum over bins of the absolute difference of the shares of either sample. Bins are
#' `[0, 1/m)`, ..., `[(m-1)/m, 1]`, the last one closed. `fs_madd_curve` has it for every number of
#' bins
#' from 1 on.
#'
#' @details
#' `fs_stable_bandwidth` is Algorithm 1. With bandwidths ascending, every stretch from i to j is
#' looked at whose end j lies at least `min_points` places after i and reaches at least the last
#' bandwidth not above h_i + `width` * h_sup; the one with the least population standard deviation
#' of MADD wins, the first of equals. `fs_madd_null_mean` is the mean of MADD over all permutations
#' of the group labels: given the pooled count of every bin, the count of group 0 is hypergeometric;
#' its mean absolute deviation is summed over its whole range.
#'
#' @param score0,score1 Scores between 0 and 1 of the two groups.
#' @param max_bins Largest number of bins.
#' @param bandwidth,madd Bandwidths, in any order, and MADD at each.
#' @param n0,n1 Rows of the two groups.
#' @param min_points Least number of places between i and j.
#' @param width Least width as a multiple of h_sup.
#' @param count Rows per bin, both groups together.
#'
#' @return `fs_madd_curve`: a data frame with n_bins (ascending), bandwidth = 1 / n_bins and madd.
#'   `fs_stable_bandwidth`: a list, low, high (bandwidths), mean, std (of MADD), n_points, h_sup.
#'   `fs_madd_null_mean`: what groups with one score distribution would show on average.
#'
#' @references Verger, Fan, Lalle, Bouchet, Luengo (2024). A comprehensive study on evaluating and
#'   mitigating algorithmic unfairness with the MADD metric. JEDM 16(1), 365-409: equations 1 to 3,
#'   section 4.3, Algorithm 1.
#'
#' @seealso [fs_madd()]
#'
#' @examples
#' set.seed(1)
#' curve <- fs_madd_curve(rbeta(500, 2, 4), rbeta(500, 4, 2), max_bins = 200)
#' fs_stable_bandwidth(curve$bandwidth, curve$madd, 500, 500)[c("low", "high", "mean")]
#' fs_madd_null_mean(c(2, 2), 2, 2)
#' @export
fs_madd_curve <- function(score0, score1, max_bins = 1000) {
  need_arguments()
  for (name in c("score0", "score1")) {
    checked_numbers(get(name), name, 0, 1)
  }
  bins <- seq_len(numbers_in(max_bins, "max_bins", 1, whole = TRUE))
  values <- sort(unique(c(score0, score1)))
  rows <- function(score) tabulate(match(score, values), length(values))
  each <- cbind(rows(score0), rows(score1))
  madd <- vapply(
    bins,
    function(m) {
      counts <- rowsum(each, bin_of(values, m), reorder = FALSE)
      counts_madd(counts[, 1L], counts[, 2L])
    },
    0
  )
  data.frame(n_bins = bins, bandwidth = 1 / bins, madd = madd)
}

# MADD on a grid of m bins, and its bins; `weight`: of the scores.
madd <- function(score0, score1, n_bins, weight0 = NULL, weight1 = NULL) {
  sum(abs(madd_contributions(score0, score1, n_bins, weight0, weight1)))
}

madd_contributions <- function(score0, score1, n_bins, weight0 = NULL, weight1 = NULL) {
  for (name in c("score0", "score1")) {
    checked_numbers(get(name), name, 0, 1)
  }
  numbers_in(n_bins, "n_bins", 1, whole = TRUE)
  bin_shares(score0, n_bins, weight0) - bin_shares(score1, n_bins, weight1)
}

bin_shares <- function(score, n_bins, weight = NULL) {
  if (is.null(weight)) {
    return(bin_counts(score, n_bins) / length(score))
  }
  as.numeric(tapply(weight, factor(bin_of(score, n_bins), seq_len(n_bins)), sum, default = 0)) /
    sum(weight)
}

# Bins are [0, 1/m), ..., [(m-1)/m, 1], the last one closed.
bin_of <- function(score, n_bins) findInterval(score, (0:n_bins) / n_bins, rightmost.closed = TRUE)
bin_counts <- function(score, n_bins) tabulate(bin_of(score, n_bins), n_bins)

# MADD of two rows of counts, summed in whole numbers: equal values are equal in every digit.
counts_madd <- function(c0, c1) sum(abs(c0 * sum(c1) - c1 * sum(c0))) / (sum(c0) * sum(c1))

# The stretch of bandwidths with the least standard deviation of MADD (Algorithm 1), the first of
# equals.
#' @rdname fs_madd_curve
#' @export
fs_stable_bandwidth <- function(bandwidth, madd, n0, n1, min_points = 50, width = 0.45) {
  need_arguments()
  numbers_in(bandwidth, "bandwidth", 0, size = NA)
  numbers_in(madd, "madd", size = length(bandwidth))
  for (name in c("n0", "n1")) {
    numbers_in(get(name), name, 1)
  }
  for (name in c("min_points", "width")) {
    numbers_in(get(name), name, 0)
  }
  h <- sort(bandwidth)
  value <- madd[order(bandwidth)]
  size <- length(h)
  h_sup <- madd_bandwidth_order(n0, n1)
  least <- Inf
  for (i in which(h <= h[size] - width * h_sup)) {
    first <- max(sum(h <= h[i] + width * h_sup), i + min_points)
    if (first > size) {
      next
    }
    shifted <- value[i:size] - value[i]
    count <- seq_along(shifted)
    variance <- cumsum(shifted^2) / count - (cumsum(shifted) / count)^2
    eligible <- pmax(variance[first:size - i + 1], 0)
    if (min(eligible) < least) {
      least <- min(eligible)
      best <- i:(first + which.min(eligible) - 1)
    }
  }
  if (is.infinite(least)) {
    stop(
      "no stretch of bandwidths is eligible: search more of them, or lower `min_points` or `width`",
      call. = FALSE
    )
  }
  inside <- value[best]
  as_numbers(list(
    low = h[best[1L]],
    high = h[best[length(best)]],
    mean = mean(inside),
    std = sqrt(mean((inside - mean(inside))^2)),
    n_points = length(inside),
    h_sup = h_sup
  ))
}

# Bandwidth of the optimal order, and the bins of a grid that depends on the group sizes only.
madd_bandwidth_order <- function(n0, n1) ((sqrt(n0) + sqrt(n1)) / sqrt(n0 * n1))^(2 / 3)
grid_bins <- function(n0, n1) max(ceiling(1 / madd_bandwidth_order(n0, n1)), 2)

# Inner edges of the bins in which MADD is judged: up to `most` (0: by the group sizes) quantiles of
# the pooled scores. Bin k ends with the first score whose share of pooled rows reaches k/most; no
# more distinct scores than that are bins themselves. An edge lies half way between two scores.
pooled_edges <- function(score0, score1, most = 0) {
  if (!most) {
    most <- grid_bins(length(score0), length(score1))
  }
  pooled <- c(score0, score1)
  values <- sort(unique(pooled))
  if (length(values) <= most) {
    last <- seq_along(values)[-length(values)]
  } else {
    below <- cumsum(tabulate(match(pooled, values), length(values)))
    last <- cells_that_end_bins(below, most)
    last <- last[last < length(values)]
  }
  low <- values[last]
  middle <- low + (values[last + 1L] - low) / 2
  ifelse(middle > low, middle, values[last + 1L])
}

# Last of the cells of every bin, from rows up to the end of each cell: the first that has k/m of
# the rows.
cells_that_end_bins <- function(below, m) {
  wanted <- ceiling(seq_len(m) * below[length(below)] / m - 1e-9)
  unique(findInterval(wanted, below, left.open = TRUE) + 1L)
}

# MADDs of many pairs of counts, cells x tables, each in at most m quantile bins of its pooled cells,
# or in bins that end at `fixed` cells.
madd_of_quantiles <- function(c0, c1, m, fixed = NULL) {
  cells <- nrow(c0)
  below <- lapply(list(c0, c1), function(counts) matrix(apply(counts, 2L, cumsum), cells))
  n0 <- below[[1L]][cells, 1L]
  n1 <- below[[2L]][cells, 1L]
  if (is.null(fixed)) {
    # the m-tiles that are reached up to each cell; where more are, a bin ends
    reached <- floor(((below[[1L]] + below[[2L]]) * m + 1e-9 * m) / (n0 + n1))
    before <- rbind(0, reached[-cells, , drop = FALSE])
    is_end <- reached > before
    is_end[, colSums(c0 + c1 > 0) <= m] <- TRUE
  } else {
    is_end <- matrix(seq_len(cells) %in% fixed, cells, ncol(c0))
  }
  # the difference of the shares up to each end, which is 0 at the last one
  apart <- below[[1L]] * n1 - below[[2L]] * n0
  steps <- 0 * apart
  steps[is_end] <- abs(diff(c(0, apart[is_end])))
  colSums(steps) / (n0 * n1)
}

# Mean and standard deviation of MADD over all permutations of the labels: mean and variance of each
# |D_k| exact, their covariances as of normal variables (Nabeya 1951); of two bins exact.
madd_null_moments <- function(count, n0, n1) {
  n <- n0 + n1
  m <- vapply(count, mean_deviation, 0, n0 = n0, n1 = n1)
  p <- count / n
  v <- p * (1 - p) * n / max(n - 1, 1) * (1 / n0 + 1 / n1)
  odds <- p / pmax(1 - p, 1e-300)
  rho <- -sqrt(pmin(outer(odds, odds), 1))
  covariance <- outer(m, m) * (sqrt(1 - rho^2) + rho * asin(rho) - 1)
  if (length(m) == 2L) {
    covariance[] <- v[1L] - m[1L]^2
  }
  diag(covariance) <- v - m^2
  c(mean = sum(m), sd = sqrt(max(sum(covariance), 0)))
}

# Mean of MADD over all permutations of the group labels: given the rows of a bin those of group 0
# are hypergeometric.
#' @rdname fs_madd_curve
#' @export
fs_madd_null_mean <- function(count, n0, n1) {
  need_arguments()
  numbers_in(count, "count", 0, size = NA, whole = TRUE)
  for (name in c("n0", "n1")) {
    numbers_in(get(name), name, 1, whole = TRUE)
  }
  if (sum(count) != n0 + n1) {
    stop_argument("count", paste("a sum of", sum(count)), "a sum of n0 + n1")
  }
  sum(vapply(count, mean_deviation, 0, n0 = n0, n1 = n1))
}

# Mean absolute difference of the shares of a bin that holds `count` rows in all.
mean_deviation <- function(count, n0, n1) {
  x <- max(0, count - n1):min(count, n0)
  sum(abs(x / n0 - (count - x) / n1) * stats::dhyper(x, count, n0 + n1 - count, n0))
}

#' Scores of numeric outcomes, or of predicted classes, for MADD
#'
#' `"rank"`: pooled mid-ranks of a numeric outcome; `"class"`: class c of K, sorted as text, at
#' (c - 1/2)/K, so that K equally wide bins hold one class each. The Python package's
#' `madd(scale=)` by independent code.
#'
#' @param values Numbers of any range for `"rank"`, classes for `"class"`; `NA` stays missing.
#' @param scale `"rank"` or `"class"`.
#'
#' @return Scores from 0 to 1, as many as there are values, for [fs_madd()] and [fs_madd_curve()].
#'
#' @examples
#' fs_madd_scale(c(30, 10, 10, NA))
#' fs_madd_scale(c("B", "A", "C", "A"), "class")
#' @export
fs_madd_scale <- function(values, scale = c("rank", "class")) {
  need_arguments()
  scale <- match.arg(scale)
  if (scale == "rank") {
    if (!is.numeric(values)) {
      stop_argument("values", class(values)[1L], "numbers, for scale = \"rank\"")
    }
    if (any(is.infinite(values))) {
      stop_argument("values", "infinite ones", "finite numbers")
    }
    return(
      (rank(values, na.last = "keep", ties.method = "average") - 0.5) / max(1, sum(!is.na(values)))
    )
  }
  classes <- sort(unique(as.character(values[!is.na(values)])), method = "radix")
  if (length(classes) < 2L) {
    stop_argument("values", paste(length(classes), "classes"), "two classes or more")
  }
  (match(as.character(values), classes) - 0.5) / length(classes)
}

#' MADD of several columns of scores at once
#'
#' Probabilities of several classes, a column each, or several outcomes on the same rows: each
#' column
#' in the bins at its own pooled quantiles, and the largest standardised MADD of all by permutations
#' of whole rows, so that the columns of a row stay together. The Python package's `madd` of a
#' matrix
#' by independent code.
#'
#' @param scores A matrix or data frame of scores between 0 and 1, two columns or more.
#' @param group The group of each row, two of them.
#' @param resamples Number of permutations.
#'
#' @return A list: `columns`, a data frame with `column`, `n_bins`, `madd` and `null_mean`;
#'   `largest`,
#'   a list with `column`, `estimate`, `statistic`, `pvalue`, `mid` and `null_mean`.
#'
#' @seealso [fs_madd()], [fs_madd_scale()] for numeric outcomes
#'
#' @examples
#' set.seed(1)
#' low <- rbeta(200, 2, 4)
#' scores <- data.frame(low = low, other = 1 - low)
#' fs_madd_columns(scores, rep(c("a", "b"), each = 100), resamples = 199)$columns
#' @export
fs_madd_columns <- function(scores, group, resamples = 1999) {
  need_arguments()
  table <- is.data.frame(scores) || is.matrix(scores)
  if (!table || ncol(scores) < 2L) {
    stop_argument("scores", class(scores)[1L], "a matrix or data frame of two columns or more")
  }
  names <- if (is.null(colnames(scores))) {
    as.character(seq_len(ncol(scores)) - 1L)
  } else {
    colnames(scores)
  }
  columns <- lapply(seq_len(ncol(scores)), function(k) checked_numbers(scores[, k], "scores", 0, 1))
  group <- labels_of(group, "group", nrow(scores))
  numbers_in(resamples, "resamples", 1, whole = TRUE)
  groups <- sort(unique(group), method = "radix")
  if (length(groups) != 2L) {
    stop_argument("group", paste(length(groups), "groups"), "two groups")
  }
  first <- group == groups[1L]
  n <- c(sum(first), sum(!first))
  most <- grid_bins(n[1L], n[2L])
  parts <- lapply(columns, function(score) {
    edges <- pooled_edges(score[first], score[!first])
    bins <- findInterval(score, edges) + 1L
    counts <- rbind(
      tabulate(bins[first], length(edges) + 1L),
      tabulate(bins[!first], length(edges) + 1L)
    )
    # 64 to 256 cells stand for the scores in every permutation
    edges <- pooled_edges(score[first], score[!first], min(max(16 * most, 64), 256))
    cell <- findInterval(score, edges) + 1L
    pooled <- tabulate(cell, length(edges) + 1L)
    below <- cumsum(pooled)
    ends <- if (length(pooled) <= most) seq_along(pooled) else cells_that_end_bins(below, most)
    expected <- diff(c(0, below[ends]))
    list(
      madd = counts_madd(counts[1L, ], counts[2L, ]),
      n_bins = ncol(counts),
      null_mean = sum(vapply(colSums(counts), mean_deviation, 0, n0 = n[1L], n1 = n[2L])),
      cell = cell,
      below = below,
      ends = ends,
      moments = madd_null_moments(expected[expected > 0], n[1L], n[2L])
    )
  })
  distances <- function(chosen) {
    vapply(
      parts,
      function(part) {
        below <- cumsum(tabulate(part$cell[chosen], length(part$below)))[part$ends]
        counts_madd(diff(c(0, below)), diff(c(0, part$below[part$ends] - below)))
      },
      0
    )
  }
  moments <- vapply(parts, function(part) part$moments, c(mean = 0, sd = 0))
  standard <- function(values) {
    max((values - moments["mean", ]) / pmax(moments["sd", ], 0.5 / min(n)^2))
  }
  statistic <- standard(distances(first))
  drawn <- vapply(
    seq_len(resamples),
    function(draw) distances(sample(first)),
    numeric(length(parts))
  )
  madd <- vapply(parts, function(part) part$madd, 0)
  list(
    columns = data.frame(
      column = names,
      n_bins = vapply(parts, function(part) part$n_bins, 0L),
      madd = madd,
      null_mean = vapply(parts, function(part) part$null_mean, 0)
    ),
    largest = c(
      list(column = names[which.max(madd)], estimate = max(madd), statistic = statistic),
      permutation_p(statistic, apply(drawn, 2L, standard))[c("pvalue", "mid")],
      list(null_mean = mean(apply(drawn, 2L, max)))
    )
  )
}

# The stable stretch of two samples of scores, with the curve.
crosscheck_madd_search <- function(score0, score1, max_bins, min_points = 50, width = 0.45) {
  curve <- fs_madd_curve(score0, score1, max_bins)
  found <- fs_stable_bandwidth(
    curve$bandwidth,
    curve$madd,
    length(score0),
    length(score1),
    min_points,
    width
  )
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

# One comparison of plain rows on a grid: distance, exact mean of alike groups, permutation p-value,
# limits. c0, c1: rows per bin. Permuted tables come from stats::r2dtable. p_above, p_inside: of the
# verdict's null hypotheses, "not above the margin" and "not below it".
crosscheck_madd_pair <- function(c0, c1, level, resamples, margin = 0.2, apart = FALSE) {
  n0 <- sum(c0)
  n1 <- sum(c1)
  observed <- sum(abs(c0 / n0 - c1 / n1))
  used <- c0 + c1 > 0
  # with all rows in one bin every permutation is the table itself, which r2dtable refuses
  drawn <- if (sum(used) < 2L) {
    numeric(resamples)
  } else {
    vapply(
      stats::r2dtable(resamples, c(n0, n1), (c0 + c1)[used]),
      function(x) sum(abs(x[1L, ] / n0 - x[2L, ] / n1)),
      0
    )
  }
  limits <- madd_limits(c0, c1, level, resamples, margin)
  # tied scores without a common one: no upper limit
  if (apart) {
    limits[c("high", "bound_high", "p_inside")] <- list(2, 2, 1)
  }
  again <- colSums(abs(
    stats::rmultinom(resamples, n0, c0) / n0 - stats::rmultinom(resamples, n1, c1) / n1
  ))
  test <- permutation_p(observed, drawn)
  limits <- madd_beside_equality(limits, test, 1 - level, margin)
  c(
    list(
      contributions = c0 / n0 - c1 / n1,
      madd = observed,
      null_mean = fs_madd_null_mean(c0 + c1, n0, n1),
      h_sup = madd_bandwidth_order(n0, n1),
      bias_corrected = max(2 * observed - mean(again), 0),
      bias_error = stats::sd(again) * sqrt(2 / resamples)
    ),
    test,
    sd_with_error(again),
    limits
  )
}

# Limits and evidence of a distance beside the permutation test of equal distributions: where it
# does not show a difference, no interval is above 0, and no limit of the verdict above the margin.
madd_beside_equality <- function(limits, test, error, margin) {
  if (test$pvalue > limits$p_above) {
    limits$p_above <- test$pvalue
    limits$p_above_error <- max(limits$p_above_error, test$pvalue_error)
  }
  most <- c(low = 0, bound_low = margin)
  for (name in names(most)) {
    beyond <- limits[[name]] - most[[name]]
    if (beyond <= 0) {
      next
    }
    # another run may decide otherwise
    near <- abs(test$pvalue - error) <= 5 * test$pvalue_error
    name_of_error <- paste0(name, "_error")
    if (near) {
      limits[[name_of_error]] <- max(limits[[name_of_error]], beyond)
    }
    if (test$pvalue > error) limits[[name]] <- most[[name]]
  }
  limits
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
  list(
    sd = sqrt(v),
    sd_error = if (v > 0) sqrt(max(fourth - v^2, 0) / (4 * v) * 2 / length(x)) else 0
  )
}

# Confidence limits of the binned distance: below by the directional delta method, above by the
# worst signs.
madd_limits <- function(c0, c1, level, resamples, margin = 0.2, pseudo = 4) {
  counts <- rbind(c0, c1)
  n <- c(sum(c0), sum(c1))
  pooled <- (c0 + c1) / sum(n)
  d <- c0 / n[1L] - c1 / n[2L]
  error <- sqrt(pmax(
    pooled * (1 - pooled) * sum(1 / n),
    colSums(counts / n * (1 - counts / n) / n)
  ))
  near <- abs(d) <= max(3, sqrt(log(min(n))), sqrt(2 * log(length(d)))) * error
  far <- ifelse(near, 0, sign(d))
  own <- lapply(1:2, function(g) (counts[g, ] + pseudo * pooled) / (n[g] + pseudo))
  # a group that misses a bin by chance has the pooled share there; of both laws what reaches
  # further counts
  other <- lapply(1:2, function(g) {
    raised <- counts[g, ] < 10 & pooled > own[[g]]
    rest <- ifelse(raised, 0, own[[g]])
    ifelse(raised, pooled, rest * (1 - sum(pooled[raised])) / max(sum(rest), 1e-300))
  })
  excess <- do.call(
    pmax,
    lapply(list(own, other), function(law) {
      noise <- lapply(1:2, function(g) {
        stats::rmultinom(resamples, n[g], law[[g]]) / n[g] - law[[g]]
      })
      noise <- noise[[1L]] - noise[[2L]]
      sort(colSums(abs(noise[near, , drop = FALSE])) + colSums(noise * far))
    })
  )
  if (min(n) < 5) {
    excess[] <- 2
  }
  mean <- vapply(own, function(law) max(abs(sum(law * far)) - sum(law[near]), 0), 0)
  spread <- sqrt(sum(pmax((1 - mean^2) / n, 0)))
  observed <- sum(abs(d))
  lower <- function(p) {
    if ((1 - p) * (resamples + 1) < 1) {
      return(c(0, 0))
    }
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
  list(
    p_above = above,
    p_above_error = share_error(above, resamples) + tie,
    p_inside = stats::pnorm((observed - margin) / spread),
    p_inside_error = 0,
    low = both[1L],
    low_error = both[2L],
    high = upper((1 + level) / 2),
    bound_low = one[1L],
    bound_low_error = one[2L],
    bound_high = upper(level)
  )
}

# All groups at once: largest standardised MADD over permutations of all labels. counts: groups x
# cells of the scores of all groups; every MADD is that of the pooled quantiles of its sides, at
# most `bins`, found again in every permutation, or, if `equal`, that of the cells. Of more than ten
# groups it is that of the quantiles of the rows of all groups, which no permutation moves. It is
# standardised as if its rows were spread over bins as those of all groups are.
crosscheck_madd_largest <- function(counts, first, second, bins, resamples, equal = FALSE) {
  counts <- as.matrix(counts)
  pooled <- colSums(counts)
  used <- pooled > 0
  ends <- function(below, m) {
    if (equal || sum(diff(c(0, below)) > 0) <= m) {
      seq_along(below)
    } else {
      cells_that_end_bins(below, m)
    }
  }
  # of each pair the MADDs of many tables at once, groups x used cells x tables
  distances <- function(x) {
    mapply(
      function(one, other, m) {
        sides <- lapply(list(one, other), function(rows) {
          matrix(colSums(x[rows, , , drop = FALSE]), dim(x)[2L])
        })
        fixed <- if (equal) {
          seq_len(dim(x)[2L])
        } else if (nrow(counts) > 10L) {
          ends(cumsum(pooled[used]), m)
        }
        madd_of_quantiles(sides[[1L]], sides[[2L]], m, fixed)
      },
      first,
      second,
      bins
    )
  }
  moments <- mapply(
    function(one, other, m) {
      n <- c(sum(counts[one, ]), sum(counts[other, ]))
      below <- cumsum(pooled)
      expected <- round(diff(c(0, below[ends(below, m)])) / sum(pooled) * sum(n))
      # the MADD of a group of one row hardly varies, and would drown the others
      pmax(madd_null_moments(expected[expected > 0], n[1L], n[2L]), c(-Inf, 0.5 / min(n)^2))
    },
    first,
    second,
    bins
  )
  standard <- function(values) max((values - moments[1L, ]) / moments[2L, ])
  value <- as.vector(distances(array(counts[, used], c(nrow(counts), sum(used), 1L))))
  drawn <- if (sum(used) < 2L) {
    matrix(value, length(bins), resamples)
  } else {
    tables <- unlist(stats::r2dtable(resamples, rowSums(counts), pooled[used]))
    found <- distances(array(tables, c(nrow(counts), sum(used), resamples)))
    t(matrix(found, resamples))
  }
  statistic <- standard(value)
  most <- apply(drawn, 2L, max)
  c(
    permutation_p(statistic, apply(drawn, 2L, standard)),
    list(
      estimate = max(value),
      statistic = statistic,
      null_mean = mean(most),
      null_mean_error = stats::sd(most) * sqrt(2 / resamples)
    )
  )
}

#' Move the scores of every group towards the distribution of all
#'
#' With `F_s` the mid-distribution function of the fitted scores of group s, linear between them and
#' up to (0, 0) and (1, 1), and `F = sum of n_s / n * F_s`, a score p becomes the x with
#' `(1 - lambda) * F_s(x) + lambda * F(x) = F_s(p)`. The equation is solved by bisection.
#'
#' @param score,group Scores between 0 and 1 to fit on, and their groups.
#' @param lambda From 0 (no change) to 1 (one distribution).
#' @param new_score,new_group Scores to map, and their groups; default those of the fit.
#'
#' @return Mapped scores between 0 and 1.
#'
#' @references Verger et al. (2024), section 6.
#'
#' @examples
#' fs_madd_map(c(0.1, 0.2, 0.3, 0.6, 0.8, 0.9), rep(c("a", "b"), each = 3), lambda = 1)
#' @export
fs_madd_map <- function(score, group, lambda, new_score = score, new_group = group) {
  need_arguments()
  for (name in c("score", "new_score")) {
    checked_numbers(get(name), name, 0, 1)
  }
  numbers_in(lambda, "lambda", 0, 1)
  group <- labels_of(group, "group", length(score))
  new_group <- labels_of(new_group, "new_group", length(new_score))
  groups <- unique(group)
  unknown <- setdiff(new_group, groups)
  if (length(unknown)) {
    stop("no scores were fitted for group ", unknown[1L], call. = FALSE)
  }
  cdf <- lapply(groups, function(g) mid_cdf(score[group == g]))
  share <- vapply(groups, function(g) mean(group == g), 0)
  pooled <- function(x) Reduce(`+`, Map(function(f, w) w * f(x), cdf, share))
  mapped <- numeric(length(new_score))
  for (s in seq_along(groups)) {
    rows <- new_group == groups[s]
    mapped[rows] <- bisect(
      function(x) (1 - lambda) * cdf[[s]](x) + lambda * pooled(x),
      cdf[[s]](new_score[rows])
    )
  }
  mapped
}

# One label for each of so many scores, as text.
labels_of <- function(x, argument, rows) {
  plain_column(x, argument)
  if (!anyNA(x) && length(x) == rows) {
    return(label_text(x))
  }
  stop_argument(
    argument,
    "missing values or another length",
    paste("the group of each of the", rows, "scores")
  )
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
