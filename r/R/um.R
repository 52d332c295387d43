#' Posterior draws of confusion counts
#'
#' Per group the cell probabilities have the posterior Dirichlet(prior + counts), drawn here as a chain of beta
#' variables (stick breaking). `target = "predictive"` goes on to draw the counts of another test set.
#'
#' @param counts Matrix with one row per group and the columns tp, tn, fp, fn; effective counts need not be whole.
#' @param draws Number of draws.
#' @param prior Dirichlet parameter of every cell, above 0 unless the cell is not empty.
#' @param target `"parameter"` (expected counts) or `"predictive"`.
#' @return A list of four matrices tp, tn, fp, fn with one row per draw and one column per group.
#' @references Barrainkua, Gordaliza, Lozano, Quadrianto (2024). Uncertainty matters: stable conclusions under
#'   unstable assessment of fairness results. AISTATS 27: equation 1.
#' @examples
#' set.seed(1)
#' counts <- rbind(men = c(42, 38, 12, 8), women = c(15, 23, 7, 5))
#' x <- um_draws(counts, 1000)
#' colMeans(x$tp / (x$tp + x$fn))
#' @export
um_draws <- function(counts, draws = 10000, prior = 1, target = "parameter") {
  counts <- check_um_counts(counts)
  target <- match.arg(target, c("parameter", "predictive"))
  alpha <- counts + prior
  if (any(alpha < 0) || any(rowSums(alpha) <= 0)) {
    stop("`prior` must not be negative, nor 0 for a group without rows", call. = FALSE)
  }
  cells <- lapply(1:4, function(k) matrix(0, draws, nrow(counts)))
  names(cells) <- c("tp", "tn", "fp", "fn")
  for (g in seq_len(nrow(counts))) {
    left <- rep(1, draws)
    trials <- rep(round(sum(counts[g, ])), draws)
    for (k in 1:4) {
      rest <- sum(alpha[g, seq_len(4) > k])
      share <- if (alpha[g, k] == 0) 0 else if (rest == 0) 1 else stats::rbeta(draws, alpha[g, k], rest)
      if (target == "parameter") {
        cells[[k]][, g] <- left * share * sum(counts[g, ])
        left <- left * (1 - share)
      } else {
        cells[[k]][, g] <- stats::rbinom(draws, trials, share)
        trials <- trials - cells[[k]][, g]
      }
    }
  }
  cells
}

check_um_counts <- function(counts) {
  counts <- as.matrix(counts)
  if (ncol(counts) != 4L || !is.numeric(counts) || any(!is.finite(counts)) || any(counts < 0)) {
    stop("`counts` must be a matrix of finite numbers >= 0 with the columns tp, tn, fp, fn", call. = FALSE)
  }
  counts
}

#' Metrics of confusion counts, draw by draw
#'
#' @param tp,tn,fp,fn Matrices with one row per draw and one column per group, as in `um_draws`.
#' @param metric One of accuracy, balanced_accuracy, f1, mcc, tpr, tnr, fpr, fnr, ppv, npv, selection_rate,
#'   base_rate, error_ratio.
#' @param contrast `"overall"` (all groups together), `"group"` (one column per group), `"difference"`, `"ratio"`
#'   (against `reference`, one column per other group) or `"max"` (largest gap between two groups).
#' @param reference Number of the reference group.
#' @return A vector with one number per draw, or a matrix with one column per group. 0/0 is `NaN`.
#' @references Barrainkua et al. (2024), section 2.1.
#' @examples
#' um_metric(rbind(c(42, 15)), rbind(c(38, 23)), rbind(c(12, 7)), rbind(c(8, 5)), "tpr", "max")
#' @export
um_metric <- function(tp, tn, fp, fn, metric, contrast = "overall", reference = 1) {
  contrast <- match.arg(contrast, c("overall", "group", "difference", "ratio", "max"))
  if (contrast == "overall") {
    return(um_rate(rowSums(tp), rowSums(tn), rowSums(fp), rowSums(fn), metric))
  }
  rate <- um_rate(as.matrix(tp), as.matrix(tn), as.matrix(fp), as.matrix(fn), metric)
  if (contrast == "group") return(rate)
  if (contrast == "max") return(apply(rate, 1L, function(x) max(x) - min(x)))
  others <- rate[, -reference, drop = FALSE]
  base <- rate[, reference]
  if (contrast == "difference") others - base else others / base
}

# One metric of four cells.
um_rate <- function(tp, tn, fp, fn, metric) {
  value <- switch(metric,
    accuracy = (tp + tn) / (tp + tn + fp + fn),
    balanced_accuracy = (tp / (tp + fn) + tn / (tn + fp)) / 2,
    f1 = 2 * tp / (2 * tp + fp + fn),
    mcc = (tp * tn - fp * fn) / sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)),
    tpr = tp / (tp + fn),
    tnr = tn / (tn + fp),
    fpr = fp / (tn + fp),
    fnr = fn / (tp + fn),
    ppv = tp / (tp + fp),
    npv = tn / (tn + fn),
    selection_rate = (tp + fp) / (tp + tn + fp + fn),
    base_rate = (tp + fn) / (tp + tn + fp + fn),
    error_ratio = fn / fp,
    stop("unknown metric '", metric, "'", call. = FALSE)
  )
  value[!is.finite(value)] <- NaN
  value
}

#' Probabilities of the events of a comparison
#'
#' @param delta Matrix of draws of the differences A - B, one column per metric, larger better for A.
#' @param rope Half-widths of the region of practical equivalence, one per metric.
#' @return A list: a_better, b_better, equivalent, mixed (they sum to 1), and `patterns`, a data frame of the
#'   patterns of signs that occur with their probability.
#' @references Barrainkua et al. (2024), section 3.
#' @examples
#' um_events(cbind(c(0.02, 0, -0.02), c(0.02, 0, 0.02)), c(0.01, 0.01))[1:4]
#' @export
um_events <- function(delta, rope) {
  delta <- as.matrix(delta)
  if (length(rope) != ncol(delta) || any(!is.finite(rope)) || any(rope < 0)) {
    stop("`rope` must have one size >= 0 per metric", call. = FALSE)
  }
  sign_of <- function(x, e) ifelse(abs(x) <= e + 1e-12, 0, sign(x))
  signs <- vapply(seq_len(ncol(delta)), function(j) sign_of(delta[, j], rope[j]), numeric(nrow(delta)))
  signs <- matrix(signs, nrow(delta))
  up <- apply(signs == 1, 1L, any)
  down <- apply(signs == -1, 1L, any)
  pattern <- apply(signs, 1L, paste, collapse = ",")
  shares <- table(pattern) / nrow(delta)
  list(
    a_better = mean(up & !down), b_better = mean(down & !up), equivalent = mean(!up & !down),
    mixed = mean(up & down),
    patterns = data.frame(pattern = names(shares), probability = as.numeric(shares))
  )
}

#' Effective counts of a K-fold cross-validation, over summed counts
#'
#' The factor 1 / (1 + (K - 1) rho), averaged by numerical integration where rho has a range. The relative
#' correlation uses r = Var(method) / Var(reference); the paper's equation 3 prints the ratio the other way round.
#'
#' @param strategy `"1/K"`, `"uniform"`, `"relative"` or `"relative-uniform"`.
#' @param folds Number of folds K.
#' @param ratio r of each group, for the relative strategies.
#' @return The factor for each element of `ratio`.
#' @references Barrainkua et al. (2024), sections 2.3 and 5.1, equations 2 and 3.
#' @examples
#' um_effective_factor("relative", 10, c(0.8, 1, 1.5))
#' @export
um_effective_factor <- function(strategy, folds, ratio = 1) {
  strategy <- match.arg(strategy, c("1/K", "uniform", "relative", "relative-uniform"))
  relative <- startsWith(strategy, "relative")
  factor_at <- function(rho0, r) {
    rho <- if (relative) um_correlation(r, rho0, folds) else rho0
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

#' @rdname um_effective_factor
#' @param reference Correlation of the reference algorithm.
#' @export
um_correlation <- function(ratio, reference, folds) {
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
#' um_variance_ratio(a, b)$ratio
#' @export
um_variance_ratio <- function(method, reference, level = 0.95) {
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
