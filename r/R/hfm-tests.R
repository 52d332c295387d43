#' Tests of the harmonic fairness measure
#'
#' `hfm_permutation_test`: are the groups further apart than random ones? The group labels are permuted among the
#' rows, which gives D and D_f of groups of the same sizes. `hfm_exchange_test`: does the classifier add distance?
#' In every row label and prediction change places with probability one half, which gives HFM of a classifier that
#' adds none. Both are exact up to Monte Carlo error, p = (1 + #\{drawn >= observed\}) / (1 + B); with few rows all
#' permutations or exchanges are taken instead, p = #\{all >= observed\} / their number.
#'
#' All pairwise distances are computed once (memory grows with the square of the rows).
#'
#' @inheritParams hfm
#' @param n_resamples Number of draws B.
#' @param exact Take all permutations (exchanges); default where they are at most 10,000.
#' @return A list: observed and p-value of each quantity (`d`, `d_f` with `p_d`, `p_d_f`; `hfm` with `p_hfm`),
#'   `drawn` (the values drawn, a matrix or vector), `n_resamples`, `exact`, and `error`: the Monte Carlo error of
#'   the difference of two such p-values, 0 where they are exact.
#' @references Bian and Luo (2024), section 3; Phipson and Smyth (2010). Permutation p-values should never be zero.
#'   Statistical Applications in Genetics and Molecular Biology 9, article 39.
#' @examples
#' set.seed(1)
#' x <- matrix(rnorm(80), 40)
#' group <- rep(c(TRUE, FALSE), 20)
#' y_true <- rbinom(40, 1, 0.5)
#' y_pred <- ifelse(group, y_true, 1)
#' hfm_permutation_test(x, y_true, y_pred, group, n_resamples = 199)[c("d", "p_d", "d_f", "p_d_f")]
#' hfm_exchange_test(x, y_true, y_pred, group, n_resamples = 199)[c("hfm", "p_hfm")]
#' @export
hfm_permutation_test <- function(x, y_true, y_pred, in_group, n_resamples = 999, scale = TRUE, statistic = "max",
                                 exact = NULL) {
  pairs <- hfm_pairs(x, y_true, y_pred, in_group, scale)
  n <- length(pairs$in_group)
  size <- sum(pairs$in_group)
  if (is.null(exact)) exact <- choose(n, size) <= 10000
  draws <- if (exact) {
    utils::combn(n, size, simplify = FALSE)
  } else {
    replicate(n_resamples, sample.int(n, size), simplify = FALSE)
  }
  both <- list(pairs$features + pairs$apart(y_true), pairs$features + pairs$apart(y_pred))
  observed <- vapply(both, function(m) side_distance(m, pairs$in_group, statistic), 0)
  drawn <- t(vapply(draws, function(rows) {
    chosen <- replace(logical(n), rows, TRUE)
    vapply(both, function(m) side_distance(m, chosen, statistic), 0)
  }, numeric(2)))
  p <- c(upper_share(observed[1L], drawn[, 1L], exact), upper_share(observed[2L], drawn[, 2L], exact))
  list(
    d = observed[1L], d_f = observed[2L], p_d = p[1L], p_d_f = p[2L], drawn = drawn, n_resamples = nrow(drawn),
    exact = exact, error = if (exact) c(0, 0) else sqrt(2 * (p * (1 - p) + 1 / nrow(drawn)) / nrow(drawn))
  )
}

#' @rdname hfm_permutation_test
#' @export
hfm_exchange_test <- function(x, y_true, y_pred, in_group, n_resamples = 999, scale = TRUE, statistic = "max",
                              exact = NULL) {
  pairs <- hfm_pairs(x, y_true, y_pred, in_group, scale)
  # rows where both agree do not change
  movers <- which(y_true != y_pred)
  if (is.null(exact)) exact <- 2^length(movers) <= 10000
  count <- if (exact) 2^length(movers) else n_resamples
  measure <- function(first, second) {
    d <- side_distance(pairs$features + pairs$apart(first), pairs$in_group, statistic)
    d_f <- side_distance(pairs$features + pairs$apart(second), pairs$in_group, statistic)
    harmonic_measure(d, d_f)
  }
  observed <- measure(y_true, y_pred)
  drawn <- vapply(seq_len(count), function(b) {
    swap <- if (exact) {
      movers[bitwAnd(b - 1L, bitwShiftL(1L, seq_along(movers) - 1L)) > 0L]
    } else {
      movers[stats::runif(length(movers)) < 0.5]
    }
    first <- replace(y_true, swap, y_pred[swap])
    second <- replace(y_pred, swap, y_true[swap])
    measure(first, second)
  }, 0)
  p <- upper_share(observed, drawn, exact)
  list(
    hfm = observed, p_hfm = p, drawn = drawn, n_resamples = count, exact = exact,
    error = if (exact) 0 else sqrt(2 * (p * (1 - p) + 1 / count) / count)
  )
}

# Squared distances of the features of all pairs of rows, and what labels add to them: 1 where they differ.
hfm_pairs <- function(x, y_true, y_pred, in_group, scale) {
  in_group <- as.logical(in_group)
  n <- nrow(x)
  if (length(in_group) != n || length(y_true) != n || length(y_pred) != n) {
    stop("x, y_true, y_pred and in_group must have one entry per row", call. = FALSE)
  }
  if (!any(in_group) || all(in_group)) stop("`in_group` must be TRUE for some rows and FALSE for others", call. = FALSE)
  check_rows(x, x)
  if (scale) x <- apply(x, 2, unit_scale)
  list(
    features = as.matrix(stats::dist(x))^2, in_group = in_group,
    apart = function(y) outer(y, y, "!=") + 0
  )
}

# The larger direction of the distance of one side to the other, from squared distances of all pairs.
side_distance <- function(squared, chosen, statistic) {
  between <- squared[chosen, !chosen, drop = FALSE]
  there <- sqrt(between[cbind(seq_len(nrow(between)), max.col(-between, "first"))])
  back <- t(between)
  back <- sqrt(back[cbind(seq_len(nrow(back)), max.col(-back, "first"))])
  max(over_minima(there, statistic)$value, over_minima(back, statistic)$value)
}

# Share of values that are at least the observed one, ties within rounding counted.
upper_share <- function(observed, drawn, exact) {
  limit <- if (is.infinite(observed)) observed else observed - 1e-9 * max(abs(observed), 1)
  if (exact) mean(drawn >= limit) else (1 + sum(drawn >= limit)) / (1 + length(drawn))
}

#' How much distances depend on the rows that happen to be there
#'
#' D, D_f and HFM in random subsamples without replacement: 5%, 50% and 95% quantiles (values that occurred), and the
#' drift of the median from the value on all rows. No confidence is claimed.
#'
#' @inheritParams hfm_permutation_test
#' @param share Share of the rows in a subsample.
#' @param n_subsamples Number of subsamples.
#' @return A data frame: quantity ("D", "D_f", "HFM"), share, low, median, high, drift, n_subsamples (those in
#'   which both groups occur).
#' @examples
#' set.seed(1)
#' x <- matrix(rnorm(80), 40)
#' hfm_stability(x, rbinom(40, 1, 0.5), rbinom(40, 1, 0.5), rep(c(TRUE, FALSE), 20), n_subsamples = 50)
#' @export
hfm_stability <- function(x, y_true, y_pred, in_group, share = 0.8, n_subsamples = 200, scale = TRUE,
                          statistic = "max") {
  if (!(share > 0 && share <= 1)) stop("`share` must lie in (0, 1]", call. = FALSE)
  pairs <- hfm_pairs(x, y_true, y_pred, in_group, scale)
  both <- list(pairs$features + pairs$apart(y_true), pairs$features + pairs$apart(y_pred))
  n <- nrow(x)
  of_rows <- function(rows) {
    chosen <- pairs$in_group[rows]
    if (!any(chosen) || all(chosen)) return(c(NA, NA, NA))
    d <- vapply(both, function(m) side_distance(m[rows, rows], chosen, statistic), 0)
    c(d, harmonic_measure(d[1L], d[2L]))
  }
  observed <- of_rows(seq_len(n))
  size <- max(round(share * n), 2)
  drawn <- vapply(seq_len(n_subsamples), function(b) of_rows(sample.int(n, size)), numeric(3))
  rows <- lapply(1:3, function(k) {
    known <- drawn[k, !is.na(drawn[k, ])]
    q <- if (length(known)) stats::quantile(known, c(0.05, 0.5, 0.95), type = 1, names = FALSE) else rep(NaN, 3)
    data.frame(
      quantity = c("D", "D_f", "HFM")[k], share = share, low = q[1L], median = q[2L], high = q[3L],
      drift = if (is.finite(q[2L]) && is.finite(observed[k])) q[2L] - observed[k] else NaN, n_subsamples = length(known)
    )
  })
  do.call(rbind, rows)
}
