# Posteriors of confusion counts: Barrainkua, Gordaliza, Lozano, Quadrianto (2024), AISTATS 27.

#' Posterior draws of confusion counts, metrics of them, and events of a comparison
#'
#' Per group the cell probabilities have the posterior Dirichlet(prior + counts), drawn here as a chain of beta
#' variables (stick breaking). `target = "predictive"` goes on to draw the counts of another test set.
#'
#' @param counts Matrix with one row per group and the columns tp, fp, fn, tn, in this order or named; effective counts
#'   need not be whole. For `fs_um_metric` what `fs_um_draws` gives, or any list of matrices tp, fp, fn, tn.
#' @param draws Number of draws.
#' @param prior Dirichlet parameter of every cell, above 0 unless the cell is not empty; or `"uniform"` (1),
#'   `"jeffreys"` (1/2), `"perks"` (1/4).
#' @param target `"parameter"` (expected counts) or `"predictive"`.
#' @return `fs_um_draws`: a list of four matrices tp, fp, fn, tn with one row per draw and one column per group.
#'   `fs_um_metric`: a vector with one number per draw, or a matrix with one column per group; 0/0 is `NaN`.
#'   `fs_um_events`: a list, a_better, b_better, equivalent, mixed (they sum to 1), and `patterns`, a data frame of the
#'   patterns of signs that occur with their probability.
#' @references Barrainkua, Gordaliza, Lozano, Quadrianto (2024). Uncertainty matters: stable conclusions under
#'   unstable assessment of fairness results. AISTATS 27: equation 1, sections 2.1 and 3.
#' @examples
#' set.seed(1)
#' counts <- rbind(men = c(42, 12, 8, 38), women = c(15, 7, 5, 23))
#' x <- fs_um_draws(counts, 1000)
#' mean(fs_um_metric(x, "tpr", "max") < 0.05)
#' fs_um_events(cbind(c(0.02, 0, -0.02), c(0.02, 0, 0.02)), c(0.01, 0.01))[1:4]
#' @export
fs_um_draws <- function(counts, draws = 10000, prior = 1, target = "parameter") {
  if (is.data.frame(counts)) counts <- as.matrix(counts)
  if (setequal(colnames(counts), CELLS)) counts <- counts[, CELLS, drop = FALSE]
  fine <- is.matrix(counts) && is.numeric(counts) && ncol(counts) == 4L && nrow(counts) > 0L
  if (!fine || any(!is.finite(counts)) || any(counts < 0)) {
    stop_argument("counts", listed(counts), paste("a matrix of finite numbers >= 0 with the columns", listed(CELLS)))
  }
  target <- choice_of(target, "target", c("parameter", "predictive"))
  numbers_in(draws, "draws", 1, whole = TRUE)
  if (is.character(prior)) prior <- UM_PRIORS[[choice_of(prior, "prior", names(UM_PRIORS))]]
  if (!is.numeric(prior) || !all(is.finite(prior)) || (length(prior) != 1L && !identical(dim(prior), dim(counts)))) {
    stop_argument("prior", listed(prior), "a finite number, one for each cell of `counts`, or a name")
  }
  alpha <- counts + prior
  if (any(alpha < 0) || any(rowSums(alpha) <= 0)) {
    stop("`prior` must not be negative, nor 0 for a group without rows", call. = FALSE)
  }
  sizes <- if (target == "parameter") rowSums(counts) else round(rowSums(counts))
  dirichlet_counts(alpha, sizes, target, sizes, draws)
}

UM_PRIORS <- c(uniform = 1, jeffreys = 1 / 2, perks = 1 / 4)

# Dirichlet draws as expected counts, or counts of a next test set of `totals` rows, on the scale of `sizes`; a list of
# matrices, one per cell.
dirichlet_counts <- function(alpha, sizes, target, totals, draws) {
  cells <- ncol(alpha)
  out <- lapply(seq_len(cells), function(k) matrix(0, draws, nrow(alpha)))
  if (cells == 4L) names(out) <- CELLS
  for (g in seq_len(nrow(alpha))) {
    left <- rep(1, draws)
    trials <- rep(round(totals[g]), draws)
    by <- if (round(totals[g]) > 0) sizes[g] / round(totals[g]) else 1
    for (k in seq_len(cells)) {
      rest <- sum(alpha[g, seq_len(cells) > k])
      share <- if (alpha[g, k] == 0) 0 else if (rest == 0) 1 else stats::rbeta(draws, alpha[g, k], rest)
      if (target != "predictive") {
        out[[k]][, g] <- left * share * sizes[g]
        left <- left * (1 - share)
      } else {
        hits <- stats::rbinom(draws, trials, share)
        out[[k]][, g] <- hits * by
        trials <- trials - hits
      }
    }
  }
  out
}

# Draws for models fitted anew, multivariate t with as many degrees of freedom as half splits. favourable, unfavourable:
# one row per split and one column per group: what models fitted to one half predict more favourably than those of the
# other, of rows with either label, on the logit scale.
um_refit <- function(counts, favourable, unfavourable) {
  favourable <- as.matrix(favourable)
  n <- nrow(counts$tp)
  splits <- nrow(favourable)
  # the mean square of J differences of two is four times the variance at all rows
  by <- matrix(stats::rnorm(n * splits), n) * sqrt(splits / stats::rchisq(n, splits)) / sqrt(4 * splits)
  move <- function(hit, miss, shift) {
    share <- stats::plogis(log(hit) - log(miss) + by %*% shift)
    share[hit + miss == 0] <- 0
    (hit + miss) * share
  }
  tp <- move(counts$tp, counts$fn, favourable)
  fp <- move(counts$fp, counts$tn, as.matrix(unfavourable))
  list(tp = tp, fp = fp, fn = counts$tp + counts$fn - tp, tn = counts$fp + counts$tn - fp)
}

#' @rdname fs_um_draws
#' @param metric Names of rates or scores of the table of metrics: accuracy, balanced_accuracy, f1, mcc, tpr, tnr, fpr,
#'   fnr, ppv, npv, selection_rate, base_rate, ...; of several the largest gap (contrast `"max"`).
#' @param contrast `"overall"` (all groups together), `"group"` (one column per group), `"difference"`, `"absolute"`,
#'   `"ratio"` (against `reference`, one column per other group) or `"max"` (largest gap between two groups).
#' @param reference Number of the reference group.
#' @export
fs_um_metric <- function(counts, metric, contrast = "overall", reference = 1) {
  contrast <- choice_of(contrast, "contrast", c("overall", "group", "difference", "absolute", "ratio", "max"))
  if (!is.list(counts) || !all(CELLS %in% names(counts)) || !all(vapply(counts[CELLS], is.numeric, NA))) {
    stop_argument("counts", listed(counts), "what fs_um_draws() returned, or a list of tp, fp, fn and tn")
  }
  if (!is.character(metric) || !length(metric)) stop_argument("metric", listed(metric), "names of rates")
  counts <- lapply(counts[CELLS], as.matrix)
  if (contrast == "overall") return(as.vector(um_rate(lapply(counts, rowSums), metric[1L])))
  rates <- lapply(metric, function(name) um_rate(counts, name))
  if (contrast == "max") return(do.call(pmax, lapply(rates, function(rate) row_max(rate) + row_max(-rate))))
  rate <- rates[[1L]]
  if (contrast == "group") return(rate)
  numbers_in(reference, "reference", 1, ncol(rate), whole = TRUE)
  others <- rate[, -reference, drop = FALSE]
  base <- rate[, reference]
  value <- switch(contrast, difference = others - base, absolute = abs(others - base), ratio = others / base)
  value[!is.finite(value)] <- NaN
  value
}

row_max <- function(x) do.call(pmax, lapply(seq_len(ncol(x)), function(g) x[, g]))

# One metric of four cells, by its formula.
um_rate <- function(counts, metric) {
  value <- eval(formula_of(metric), counts)
  value[!is.finite(value)] <- NaN
  value
}

#' @rdname fs_um_draws
#' @param delta Matrix of draws of the differences A - B, one column per metric, larger better for A.
#' @param rope Half-widths of the region of practical equivalence, one per metric.
#' @export
fs_um_events <- function(delta, rope) {
  if (!(is.numeric(delta) || is.data.frame(delta)) || !length(delta) || anyNA(delta)) {
    stop_argument("delta", listed(delta), "a matrix of numbers, none missing")
  }
  delta <- as.matrix(delta)
  if (!is.numeric(delta)) stop_argument("delta", "text", "a matrix of numbers, none missing")
  numbers_in(rope, "rope", 0, size = ncol(delta))
  width <- rep(rope + 1e-12, each = nrow(delta))
  signs <- ifelse(abs(delta) <= width, 0, sign(delta))
  shares <- table(apply(signs, 1L, paste, collapse = ",")) / nrow(delta)
  c(event_shares(delta, rope), list(
    patterns = data.frame(pattern = names(shares), probability = as.numeric(shares))
  ))
}

# A better in some metric by more than the region of practical equivalence, and worse in none.
outperforms <- function(delta, rope) {
  width <- rep(rope + 1e-12, each = nrow(delta))
  rowSums(delta > width) > 0 & rowSums(delta < -width) == 0
}

event_shares <- function(delta, rope) {
  first <- mean(outperforms(delta, rope))
  second <- mean(outperforms(-delta, rope))
  same <- mean(rowSums(abs(delta) > rep(rope + 1e-12, each = nrow(delta))) == 0)
  list(a_better = first, b_better = second, equivalent = same, mixed = 1 - first - second - same)
}

#' Effective counts of a K-fold cross-validation, over summed counts
#'
#' The factor 1 / (1 + (K - 1) rho), averaged by numerical integration where rho has a range. The relative
#' correlation uses r = Var(method) / Var(reference); the paper's equation 3 prints the ratio the other way round.
#'
#' @param strategy `"1/K"`, `"uniform"`, `"relative"` or `"relative-uniform"`.
#' @param folds Number of folds K.
#' @param ratio r of each group, for the relative strategies.
#' @param splits Number J of half splits behind `ratio`: the factor is averaged over ratio * F(J, J).
#' @return The factor for each element of `ratio`.
#' @references Barrainkua et al. (2024), sections 2.3 and 5.1, equations 2 and 3.
#' @examples
#' fs_um_effective_factor("relative", 10, c(0.8, 1, 1.5))
#' @export
fs_um_effective_factor <- function(strategy, folds, ratio = 1, splits = NULL) {
  numbers_in(folds, "folds", 2, whole = TRUE)
  numbers_in(ratio, "ratio", 0, size = NA)
  strategy <- choice_of(strategy, "strategy", c("1/K", "uniform", "relative", "relative-uniform"))
  if (!is.null(splits)) {
    numbers_in(splits, "splits", 1)
    return(vapply(ratio, function(r) {
      at <- function(p) fs_um_effective_factor(strategy, folds, r * stats::qf(p, splits, splits))
      kinks <- stats::pf(outer(c(1, folds), c(1, 2 - 1 / folds), "/") / r, splits, splits)
      ends <- sort(c(0, kinks, 1))
      sum(vapply(seq_len(length(ends) - 1L), function(i) {
        stats::integrate(at, ends[i], ends[i + 1L], rel.tol = 1e-8)$value
      }, 0))
    }, 0))
  }
  relative <- startsWith(strategy, "relative")
  factor_at <- function(rho0, r) {
    rho <- if (relative) fs_um_correlation(r, rho0, folds) else rho0
    1 / (1 + (folds - 1) * pmin(pmax(rho, 0), 1))
  }
  vapply(ratio, function(r) {
    if (strategy %in% c("1/K", "relative")) return(factor_at(1 / folds, r))
    kinks <- (c(1, folds) / r - 1) / (folds - 1)
    ends <- sort(c(0, kinks[relative & kinks > 0 & kinks < 1 / folds], 1 / folds))
    parts <- vapply(seq_len(length(ends) - 1L), function(i) {
      stats::integrate(factor_at, ends[i], ends[i + 1L], r = r, rel.tol = 1e-10)$value
    }, 0)
    sum(parts) * folds
  }, 0)
}

#' @rdname fs_um_effective_factor
#' @param reference Correlation of the reference algorithm.
#' @export
fs_um_correlation <- function(ratio, reference, folds) {
  numbers_in(ratio, "ratio", 0, size = NA)
  numbers_in(reference, "reference", size = NA)
  numbers_in(folds, "folds", 2, whole = TRUE)
  ((ratio - 1) + ratio * (folds - 1) * reference) / (folds - 1)
}

#' Variance ratio of two algorithms from half splits, with its jackknife interval
#'
#' @param method,reference Lists of two matrices, one row per half split and one column per group: the
#'   cross-validated metric in either half.
#' @param level Confidence level.
#' @return A list: ratio, low, high, one number per group.
#' @references Nadeau and Bengio (2003). Inference for the generalization error. Machine Learning 52, 239-281.
#' @examples
#' a <- list(cbind(c(0.8, 0.7, 0.75)), cbind(c(0.7, 0.72, 0.8)))
#' b <- list(cbind(c(0.8, 0.78, 0.75)), cbind(c(0.76, 0.75, 0.8)))
#' fs_um_variance_ratio(a, b)$ratio
#' @export
fs_um_variance_ratio <- function(method, reference, level = 0.95) {
  numbers_in(level, "level", 0, 1)
  for (name in c("method", "reference")) {
    x <- get(name)
    fine <- is.list(x) && length(x) == 2L && all(vapply(x, is.numeric, NA))
    if (!fine || length(unique(lapply(c(method, x), function(m) dim(as.matrix(m))))) != 1L) {
      stop_argument(name, listed(x), "a list of two numeric matrices of one shape")
    }
  }
  squares <- lapply(list(method, reference), function(x) (as.matrix(x[[1L]]) - as.matrix(x[[2L]]))^2)
  splits <- nrow(squares[[1L]])
  ratio_without <- function(kept) {
    colMeans(squares[[1L]][kept, , drop = FALSE]) / colMeans(squares[[2L]][kept, , drop = FALSE])
  }
  ratio <- ratio_without(seq_len(splits))
  left <- vapply(seq_len(splits), function(j) log(ratio_without(-j)), numeric(length(ratio)))
  left <- matrix(left, length(ratio))
  spread <- sqrt((splits - 1)^2 / splits * apply(left, 1L, stats::var))
  reach <- stats::qt(0.5 + level / 2, splits - 1) * spread
  list(ratio = ratio, low = ratio * exp(-reach), high = ratio * exp(reach))
}
