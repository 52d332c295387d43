#' Model absolute density distance of two samples of scores
#'
#' MADD is the sum over bins of the absolute difference of the shares of either sample. Bins are
#' \[0, 1/m), ..., \[(m-1)/m, 1\], the last one closed.
#'
#' @param score0,score1 Scores in \[0, 1\] of the two groups.
#' @param n_bins Number of bins m.
#' @param weight0,weight1 Optional weights of the scores.
#' @return A number in \[0, 2\].
#' @references Verger, Fan, Lalle, Bouchet, Luengo (2024). A comprehensive study on evaluating and mitigating
#'   algorithmic unfairness with the MADD metric. JEDM 16(1), 365-409: equations 1 to 3.
#' @examples
#' madd(c(0.1, 0.2, 0.3, 0.4), c(0.4, 0.6, 0.9), n_bins = 2)
#' @export
madd <- function(score0, score1, n_bins, weight0 = NULL, weight1 = NULL) {
  sum(abs(madd_contributions(score0, score1, n_bins, weight0, weight1)))
}

#' @rdname madd
#' @export
madd_contributions <- function(score0, score1, n_bins, weight0 = NULL, weight1 = NULL) {
  check_scores(score0, "score0")
  check_scores(score1, "score1")
  check_bin_number(n_bins)
  bin_shares(score0, n_bins, weight0) - bin_shares(score1, n_bins, weight1)
}

# Share of the scores in each of m bins.
bin_shares <- function(score, n_bins, weight = NULL) {
  bin <- findInterval(score, (0:n_bins) / n_bins, rightmost.closed = TRUE)
  if (is.null(weight)) return(tabulate(bin, n_bins) / length(score))
  sums <- numeric(n_bins)
  totals <- tapply(weight, bin, sum)
  sums[as.integer(names(totals))] <- totals
  sums / sum(weight)
}

#' MADD for every number of bins from 1 to `max_bins`
#'
#' @inheritParams madd
#' @param max_bins Largest number of bins.
#' @return A data frame with n_bins (ascending), bandwidth = 1 / n_bins and madd.
#' @references Verger et al. (2024), section 4.3.
#' @examples
#' madd_curve(c(0.1, 0.2, 0.3, 0.4), c(0.4, 0.6, 0.9), max_bins = 5)
#' @export
madd_curve <- function(score0, score1, max_bins = 1000) {
  check_scores(score0, "score0")
  check_scores(score1, "score1")
  check_bin_number(max_bins)
  bins <- seq_len(max_bins)
  value <- vapply(bins, function(m) sum(abs(bin_shares(score0, m) - bin_shares(score1, m))), 0)
  data.frame(n_bins = bins, bandwidth = 1 / bins, madd = value)
}

#' The stretch of bandwidths over which MADD varies least (Algorithm 1)
#'
#' With bandwidths ascending, every stretch from i to j is looked at whose end j lies at least `min_points`
#' places after i and reaches at least the last bandwidth not above h_i + `width` * h_sup; the one with the
#' least population standard deviation of MADD wins, the first of equals.
#'
#' @param bandwidth,madd Bandwidths, in any order, and MADD at each.
#' @param n0,n1 Rows of the two groups.
#' @param min_points Least number of places between i and j.
#' @param width Least width as a multiple of h_sup.
#' @return A list: low, high (bandwidths), mean, std (of MADD), n_points, h_sup.
#' @references Verger et al. (2024), Algorithm 1.
#' @examples
#' set.seed(1)
#' curve <- madd_curve(rbeta(500, 2, 4), rbeta(500, 4, 2), max_bins = 200)
#' madd_stable(curve$bandwidth, curve$madd, 500, 500)[c("low", "high", "mean")]
#' @export
madd_stable <- function(bandwidth, madd, n0, n1, min_points = 50, width = 0.45) {
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

#' @rdname madd_stable
#' @export
madd_bandwidth_order <- function(n0, n1) {
  ((sqrt(n0) + sqrt(n1)) / sqrt(n0 * n1))^(2 / 3)
}

#' Mean of MADD over all permutations of the group labels
#'
#' Given the pooled count of every bin, the count of group 0 is hypergeometric; its mean absolute deviation
#' is summed over its whole range.
#'
#' @param count Rows per bin, both groups together.
#' @param n0,n1 Rows of the two groups.
#' @return What groups with one score distribution would show on average.
#' @examples
#' madd_null_mean(c(2, 2), 2, 2)
#' @export
madd_null_mean <- function(count, n0, n1) {
  if (sum(count) != n0 + n1) stop("`count` must sum to n0 + n1", call. = FALSE)
  sum(vapply(count, mean_deviation, 0, n0 = n0, n1 = n1))
}

# Mean absolute difference of the shares of a bin that holds `count` rows in all.
mean_deviation <- function(count, n0, n1) {
  x <- max(0, count - n1):min(count, n0)
  sum(abs(x / n0 - (count - x) / n1) * stats::dhyper(x, count, n0 + n1 - count, n0))
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
#' madd_map(c(0.1, 0.2, 0.3, 0.6, 0.8, 0.9), rep(c("a", "b"), each = 3), lambda = 1)
#' @export
madd_map <- function(score, group, lambda, new_score = score, new_group = group) {
  check_scores(score, "score")
  check_scores(new_score, "new_score")
  if (!(lambda >= 0 && lambda <= 1)) stop("`lambda` must lie in [0, 1]", call. = FALSE)
  group <- as.character(group)
  new_group <- as.character(new_group)
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

check_scores <- function(score, name) {
  if (!length(score)) stop("`", name, "` is empty", call. = FALSE)
  if (anyNA(score)) stop("`", name, "` has missing values", call. = FALSE)
  if (any(score < 0 | score > 1)) stop("`", name, "` must lie in [0, 1]", call. = FALSE)
  invisible(NULL)
}

check_bin_number <- function(n_bins) {
  if (length(n_bins) != 1L || is.na(n_bins) || n_bins < 1 || n_bins != round(n_bins)) {
    stop("the number of bins must be a whole number of at least 1", call. = FALSE)
  }
  invisible(NULL)
}
