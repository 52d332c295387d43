# Posteriors of confusion counts (Barrainkua, Gordaliza, Lozano, Quadrianto 2024. Uncertainty
# matters: stable conclusions under unstable assessment of fairness results. AISTATS 27).

#' Posterior draws of confusion counts, metrics of them, and events of a comparison
#'
#' Per group the cell probabilities have the posterior Dirichlet(prior + counts), drawn here as a
#' chain of beta variables (stick breaking). `target = "predictive"` goes on to draw the counts of
#' another test set.
#'
#' @param counts Matrix with one row per group and the columns tp, fp, fn, tn, in this order or
#'   named; effective counts need not be whole. For `fs_um_metric` what `fs_um_draws` gives, or any
#'   list of matrices tp, fp, fn, tn.
#' @param draws Number of draws.
#' @param prior Dirichlet parameter of every cell, above 0 unless the cell is not empty; or
#'   `"uniform"` (1), `"jeffreys"` (1/2), `"perks"` (1/4).
#' @param target `"parameter"` (expected counts) or `"predictive"`.
#' @param metric Names of rates or scores of the table of metrics: accuracy, balanced_accuracy, f1,
#'   mcc, tpr, tnr, fpr, fnr, ppv, npv, selection_rate, base_rate, ...; of several the largest gap
#'   (contrast `"max"`).
#' @param contrast `"overall"` (all groups together), `"group"` (one column per group),
#'   `"difference"`, `"absolute"`, `"ratio"` (against `reference`, one column per other group) or
#'   `"max"` (largest gap between two groups).
#' @param reference Number of the reference group.
#' @param delta Matrix of draws of the differences A - B, one column per metric, larger better for
#'   A.
#' @param rope Half-widths of the region of practical equivalence, one per metric.
#'
#' @return `fs_um_draws`: a list of four matrices tp, fp, fn, tn with one row per draw and one
#'   column per group. `fs_um_metric`: a vector with one number per draw, or a matrix with one
#'   column per group; 0/0 is `NaN`. `fs_um_events`: a list, a_better, b_better, equivalent, mixed
#'   (they sum to 1), and `patterns`, a data frame of the patterns of signs that occur with their
#'   probability.
#'
#' @references Barrainkua, Gordaliza, Lozano, Quadrianto (2024). Uncertainty matters: stable
#'   conclusions under unstable assessment of fairness results. AISTATS 27: equation 1, sections 2.1
#'   and 3.
#'
#' @examples
#' set.seed(1)
#' counts <- rbind(men = c(42, 12, 8, 38), women = c(15, 7, 5, 23))
#' x <- fs_um_draws(counts, 1000)
#' mean(fs_um_metric(x, "tpr", "max") < 0.05)
#' fs_um_events(cbind(c(0.02, 0, -0.02), c(0.02, 0, 0.02)), c(0.01, 0.01))[1:4]
#' @export
fs_um_draws <- function(counts, draws = 10000, prior = 1, target = "parameter") {
  need_arguments()
  if (is.data.frame(counts)) {
    counts <- as.matrix(counts)
  }
  if (setequal(colnames(counts), CELLS)) {
    counts <- counts[, CELLS, drop = FALSE]
  }
  fine <- is.matrix(counts) && is.numeric(counts) && ncol(counts) == 4L && nrow(counts) > 0L
  if (!fine || any(!is.finite(counts)) || any(counts < 0)) {
    stop_argument(
      "counts",
      listed(counts),
      paste("a matrix of finite numbers >= 0 with the columns", listed(CELLS))
    )
  }
  target <- choice_of(target, "target", c("parameter", "predictive"))
  numbers_in(draws, "draws", 1, whole = TRUE)
  if (is.character(prior)) {
    prior <- UM_PRIORS[[choice_of(prior, "prior", names(UM_PRIORS))]]
  }
  if (
    !is.numeric(prior) ||
      !all(is.finite(prior)) ||
      (length(prior) != 1L && !identical(dim(prior), dim(counts)))
  ) {
    stop_argument(
      "prior",
      listed(prior),
      "a finite number, one for each cell of `counts`, or a name"
    )
  }
  alpha <- counts + prior
  if (any(alpha < 0) || any(rowSums(alpha) <= 0)) {
    stop("`prior` must not be negative, nor 0 for a group without rows", call. = FALSE)
  }
  sizes <- if (target == "parameter") rowSums(counts) else round(rowSums(counts))
  dirichlet_counts(alpha, sizes, target, sizes, draws)
}

UM_PRIORS <- c(uniform = 1, jeffreys = 1 / 2, perks = 1 / 4)

# Dirichlet draws as expected counts, or counts of a next test set of `totals` rows, scaled to
# `sizes`, cell by cell.
dirichlet_counts <- function(alpha, sizes, target, totals, draws) {
  cells <- ncol(alpha)
  out <- rep(list(matrix(0, draws, nrow(alpha))), cells)
  if (cells == 4L) {
    names(out) <- CELLS
  }
  for (g in seq_len(nrow(alpha))) {
    # what is left of the stick, or of the rows of the test set
    left <- rep(if (target == "predictive") round(totals[g]) else 1, draws)
    scale <- sizes[g] / max(left[1L], 1)
    for (k in seq_len(cells)) {
      rest <- sum(alpha[g, seq_len(cells) > k])
      share <- if (alpha[g, k] == 0) {
        0
      } else if (rest == 0) {
        1
      } else {
        stats::rbeta(draws, alpha[g, k], rest)
      }
      hits <- if (target == "predictive") stats::rbinom(draws, left, share) else left * share
      out[[k]][, g] <- hits * scale
      left <- if (target == "predictive") left - hits else left * (1 - share)
    }
  }
  out
}

# Partial pooling of one rate (Gelman et al. 2013, Bayesian Data Analysis, section 5.3): x_g of n_g
# successes, rates from Beta(k m, k (1 - m)), m from Beta(1/2, 1/2), log k normal. Mean and standard
# deviation of every group's rate a posteriori, by sums over a rectangle of logit m and log k that
# is narrowed to where the density is.
um_pool <- function(successes, trials, median = 5, spread = 1.5, points = 160) {
  seen <- trials > 0
  x <- successes[seen]
  n <- trials[seen]
  ends <- list(logit = c(-40, 40), log_k = log(median) + c(-10, 10) * spread)
  for (narrowing in 1:8) {
    logit <- seq(ends$logit[1L], ends$logit[2L], length.out = points)
    log_k <- seq(ends$log_k[1L], ends$log_k[2L], length.out = points)
    # outer(): rows are values of m, columns values of k
    a <- exp(outer(stats::plogis(logit, log.p = TRUE), log_k, "+"))
    b <- exp(outer(stats::plogis(-logit, log.p = TRUE), log_k, "+"))
    density <- (stats::plogis(logit, log.p = TRUE) + stats::plogis(-logit, log.p = TRUE)) / 2
    density <- density + rep(stats::dnorm(log_k, log(median), spread, log = TRUE), each = points)
    for (g in seq_along(x)) {
      density <- density +
        log_rising(a, x[g]) +
        log_rising(b, n[g] - x[g]) -
        log_rising(a + b, n[g])
    }
    near <- which(density > max(density) - 30, arr.ind = TRUE)
    rows <- pmin(pmax(range(near[, 1L]) + c(-1, 1), 1), points)
    columns <- pmin(pmax(range(near[, 2L]) + c(-1, 1), 1), points)
    ends <- list(logit = logit[rows], log_k = log_k[columns])
  }
  weight <- exp(density - max(density))
  weight <- weight / sum(weight)
  moments <- vapply(
    seq_along(trials),
    function(g) {
      first <- (a + successes[g]) / (a + b + trials[g])
      second <- first * (a + successes[g] + 1) / (a + b + trials[g] + 1)
      c(sum(weight * first), sum(weight * second))
    },
    numeric(2)
  )
  list(mean = moments[1L, ], sd = sqrt(moments[2L, ] - moments[1L, ]^2))
}

# log Gamma(shape + cases) - log Gamma(shape); lbeta() is infinite for shapes as small as those of a
# mean near 0.
log_rising <- function(shape, cases) {
  if (cases == 0) 0 * shape else lgamma(shape + cases) - lgamma(shape)
}

# Draws for models fitted anew, multivariate t with as many degrees of freedom as half splits.
# favourable, unfavourable: one row per split and one column per group: what models fitted to one
# half predict more favourably than those of the other, of rows with either label, on the logit
# scale.
um_refit <- function(counts, favourable, unfavourable) {
  n <- nrow(counts$tp)
  splits <- nrow(as.matrix(favourable))
  # the mean square of J differences of two is four times the variance at all rows
  by <- matrix(stats::rnorm(n * splits), n) *
    sqrt(splits / stats::rchisq(n, splits)) /
    sqrt(4 * splits)
  move <- function(hit, miss, shift) {
    share <- stats::plogis(log(hit) - log(miss) + by %*% as.matrix(shift))
    share[hit + miss == 0] <- 0
    (hit + miss) * share
  }
  tp <- move(counts$tp, counts$fn, favourable)
  fp <- move(counts$fp, counts$tn, unfavourable)
  list(tp = tp, fp = fp, fn = counts$tp + counts$fn - tp, tn = counts$fp + counts$tn - fp)
}

# A metric of every draw; of several metrics the largest gap.
#' @rdname fs_um_draws
#' @export
fs_um_metric <- function(counts, metric, contrast = "overall", reference = 1) {
  need_arguments()
  contrast <- choice_of(
    contrast,
    "contrast",
    c("overall", "group", "difference", "absolute", "ratio", "max")
  )
  if (
    !is.list(counts) ||
      !all(CELLS %in% names(counts)) ||
      !all(vapply(counts[CELLS], is.numeric, NA))
  ) {
    stop_argument(
      "counts",
      listed(counts),
      "what fs_um_draws() returned, or a list of tp, fp, fn and tn"
    )
  }
  if (!is.character(metric) || !length(metric)) {
    stop_argument("metric", listed(metric), "names of rates")
  }
  counts <- lapply(counts[CELLS], as.matrix)
  if (contrast == "overall") {
    return(as.vector(um_rate(lapply(counts, rowSums), metric[1L])))
  }
  rates <- lapply(metric, function(name) um_rate(counts, name))
  if (contrast == "max") {
    return(do.call(pmax, lapply(rates, function(rate) row_max(rate) + row_max(-rate))))
  }
  rate <- rates[[1L]]
  if (contrast == "group") {
    return(rate)
  }
  numbers_in(reference, "reference", 1, ncol(rate), whole = TRUE)
  others <- rate[, -reference, drop = FALSE]
  base <- rate[, reference]
  defined(switch(
    contrast,
    difference = others - base,
    absolute = abs(others - base),
    ratio = others / base
  ))
}

row_max <- function(x) do.call(pmax, lapply(seq_len(ncol(x)), function(g) x[, g]))

# One metric of four cells, by its formula.
um_rate <- function(counts, metric) defined(eval(formula_of(metric), counts))
defined <- function(value) {
  # a sum is finite where all are
  if (is.finite(sum(value))) value else replace(value, !is.finite(value), NaN)
}

# Probabilities that A or B is better in some metric, and worse in none (section 3), and of the
# patterns of signs.
#' @rdname fs_um_draws
#' @export
fs_um_events <- function(delta, rope) {
  need_arguments()
  if (!(is.numeric(delta) || is.data.frame(delta)) || !length(delta) || anyNA(delta)) {
    stop_argument("delta", listed(delta), "a matrix of numbers, none missing")
  }
  delta <- as.matrix(delta)
  if (!is.numeric(delta)) {
    stop_argument("delta", "text", "a matrix of numbers, none missing")
  }
  numbers_in(rope, "rope", 0, size = ncol(delta))
  patterns <- table(apply(beyond_rope(delta, rope), 1L, paste, collapse = ",")) / nrow(delta)
  patterns <- data.frame(pattern = names(patterns), probability = as.numeric(patterns))
  as_numbers(c(event_shares(delta, rope), list(patterns = patterns)))
}

# Signs of differences, 0 inside the region of practical equivalence.
beyond_rope <- function(delta, rope) {
  sign(delta) * (abs(delta) > rep(rope + 1e-12, each = nrow(delta)))
}

# A better in some metric by more than the region of practical equivalence, and worse in none.
outperforms <- function(delta, rope) {
  signs <- beyond_rope(delta, rope)
  rowSums(signs > 0) > 0 & rowSums(signs < 0) == 0
}

event_shares <- function(delta, rope) {
  first <- mean(outperforms(delta, rope))
  second <- mean(outperforms(-delta, rope))
  same <- mean(rowSums(abs(beyond_rope(delta, rope))) == 0)
  list(a_better = first, b_better = second, equivalent = same, mixed = 1 - first - second - same)
}

#' Effective counts of a K-fold cross-validation, over summed counts
#'
#' The factor 1 / (1 + (K - 1) rho), averaged by numerical integration where rho has a range. The
#' relative correlation uses r = Var(method) / Var(reference); the paper's equation 3 prints the
#' ratio the other way round.
#'
#' @param strategy `"1/K"`, `"uniform"`, `"relative"` or `"relative-uniform"`.
#' @param folds Number of folds K.
#' @param ratio r of each group, for the relative strategies.
#' @param splits Number J of half splits behind `ratio`: the factor is averaged over ratio * F(J,
#'   J).
#' @param reference Correlation of the reference algorithm.
#'
#' @return The factor for each element of `ratio`.
#'
#' @references Barrainkua et al. (2024), sections 2.3 and 5.1, equations 2 and 3.
#'
#' @examples
#' fs_um_effective_factor("relative", 10, c(0.8, 1, 1.5))
#' @export
fs_um_effective_factor <- function(strategy, folds, ratio = 1, splits = NULL) {
  need_arguments()
  numbers_in(folds, "folds", 2, whole = TRUE)
  numbers_in(ratio, "ratio", 0, size = NA)
  strategy <- choice_of(strategy, "strategy", c("1/K", "uniform", "relative", "relative-uniform"))
  relative <- startsWith(strategy, "relative")
  if (!is.null(splits)) {
    numbers_in(splits, "splits", 1)
    return(vapply(
      ratio,
      function(r) {
        kinks <- stats::pf(outer(c(1, folds), c(1, 2 - 1 / folds), "/") / r, splits, splits)
        at <- function(p) fs_um_effective_factor(strategy, folds, r * stats::qf(p, splits, splits))
        integral(at, sort(c(0, kinks, 1)), 1e-8)
      },
      0
    ))
  }
  vapply(
    ratio,
    function(r) {
      factor_at <- function(rho) {
        if (relative) {
          rho <- fs_um_correlation(r, rho, folds)
        }
        1 / (1 + (folds - 1) * pmin(pmax(rho, 0), 1))
      }
      if (strategy %in% c("1/K", "relative")) {
        return(factor_at(1 / folds))
      }
      kinks <- (c(1, folds) / r - 1) / (folds - 1)
      integral(
        factor_at,
        sort(c(0, kinks[relative & kinks > 0 & kinks < 1 / folds], 1 / folds)),
        1e-10
      ) *
        folds
    },
    0
  )
}

# Integral of a function with kinks over the stretches between them.
integral <- function(f, ends, rel.tol) {
  sum(vapply(
    seq_along(ends[-1L]),
    function(i) {
      if (ends[i + 1L] > ends[i]) {
        stats::integrate(f, ends[i], ends[i + 1L], rel.tol = rel.tol)$value
      } else {
        0
      }
    },
    0
  ))
}

# Correlation of folds of an algorithm from that of the reference algorithm and the ratio of their
# variances.
#' @rdname fs_um_effective_factor
#' @export
fs_um_correlation <- function(ratio, reference, folds) {
  need_arguments()
  numbers_in(ratio, "ratio", 0, size = NA)
  numbers_in(reference, "reference", size = NA)
  numbers_in(folds, "folds", 2, whole = TRUE)
  ((ratio - 1) + ratio * (folds - 1) * reference) / (folds - 1)
}

#' Variance ratio of two algorithms from half splits, with its jackknife interval
#'
#' Variance ratio of two algorithms from half splits, with its jackknife interval
#'
#' @param method,reference Lists of two matrices, one row per half split and one column per group:
#'   the cross-validated metric in either half.
#' @param level Confidence level.
#'
#' @return A list: ratio, low, high, one number per group.
#'
#' @references Nadeau and Bengio (2003). Inference for the generalization error. Machine Learning
#'   52, 239-281.
#'
#' @examples
#' a <- list(cbind(c(0.8, 0.7, 0.75)), cbind(c(0.7, 0.72, 0.8)))
#' b <- list(cbind(c(0.8, 0.78, 0.75)), cbind(c(0.76, 0.75, 0.8)))
#' fs_um_variance_ratio(a, b)$ratio
#' @export
fs_um_variance_ratio <- function(method, reference, level = 0.95) {
  need_arguments()
  numbers_in(level, "level", 0, 1)
  for (name in c("method", "reference")) {
    x <- get(name)
    fine <- is.list(x) && length(x) == 2L && all(vapply(x, is.numeric, NA))
    if (!fine || length(unique(lapply(c(method, x), function(m) dim(as.matrix(m))))) != 1L) {
      stop_argument(name, listed(x), "a list of two numeric matrices of one shape")
    }
  }
  squares <- lapply(list(method, reference), function(x) {
    (as.matrix(x[[1L]]) - as.matrix(x[[2L]]))^2
  })
  splits <- nrow(squares[[1L]])
  ratio_of <- function(rows) {
    Reduce(`/`, lapply(squares, function(x) colMeans(x[rows, , drop = FALSE])))
  }
  ratio <- ratio_of(seq_len(splits))
  left <- matrix(
    vapply(seq_len(splits), function(j) log(ratio_of(-j)), numeric(length(ratio))),
    length(ratio)
  )
  spread <- sqrt((splits - 1)^2 / splits * apply(left, 1L, stats::var))
  reach <- stats::qt(0.5 + level / 2, splits - 1) * spread
  as_numbers(list(ratio = ratio, low = ratio * exp(-reach), high = ratio * exp(reach)))
}

# A rate of every group, and criteria of fairness as differences of their rates: rows of an audit.
UM_METRICS <- c(
  "accuracy",
  "demographic_parity",
  "equal_opportunity",
  "predictive_equality",
  "predictive_parity"
)

um_counts <- function(input, grouping) {
  counts <- audit_cells(input[c("y_true", "y_pred", "n")], grouping)$totals
  matrix(as.numeric(counts), nrow(counts), dimnames = list(grouping$groups, CELLS))
}

um_rows <- function(counts, draws, reference, options) {
  groups <- rownames(counts)
  seen <- lapply(stats::setNames(CELLS, CELLS), function(k) t(counts[, k]))
  sizes <- rowSums(counts)
  bind_rows(unlist(
    lapply(UM_METRICS, function(metric) {
      rates <- unlist(registry("criteria")[[metric]]$rates)
      of <- function(x, contrast) {
        as.matrix(fs_um_metric(x, if (is.null(rates)) metric else rates, contrast, reference))
      }
      of_all <- function(x) {
        if (is.null(rates)) cbind(of(x, "overall"), of(x, "group")) else of(x, "difference")
      }
      labels <- if (is.null(rates)) c("all", groups) else groups[-reference]
      n <- if (is.null(rates)) c(sum(sizes), sizes) else sizes[-reference] + sizes[reference]
      lapply(seq_along(labels), function(k) {
        um_row(
          metric,
          labels[k],
          if (is.null(rates)) "" else groups[reference],
          of_all(draws)[, k],
          of_all(seen)[k],
          n[k],
          if (!is.null(rates)) options$margin,
          options$confidence_level
        )
      })
    }),
    FALSE
  ))
}

um_row <- function(metric, group, reference, draws, observed, n, rope, level) {
  known <- draws[!is.na(draws)]
  # the ends of a shortest interval vary as the cube root of the draws, not their square root
  tenths <- vapply(
    split(known, rep_len(1:10, length(known))),
    shortest_interval,
    numeric(2),
    level = level
  )
  wide <- sqrt(2) * apply(tenths, 1L, stats::sd) / 10^(1 / 3)
  if (is.null(rope)) {
    rope <- NA_real_
  }
  s <- posterior_summary(draws, level, rope)
  tidy_row(
    metric,
    group,
    reference,
    estimate = s[[1L]],
    std_error = s[[2L]],
    ci_low = s[[3L]],
    ci_high = s[[4L]],
    n = n,
    method = "parameter, HDI",
    confidence_level = level,
    median = s[[5L]],
    observed = observed,
    rope = rope,
    p_rope = s[[6L]],
    rate = NA_real_,
    rate_reference = NA_real_,
    undefined = s[[7L]],
    mc_estimate = sqrt(2 / length(known)) * s[[2L]],
    mc_std_error = sd_with_error(known)$sd_error,
    mc_ci_low = wide[1L],
    mc_ci_high = wide[2L],
    mc_median = sqrt(pi / length(known)) * s[[2L]],
    mc_p_rope = sqrt(2 * max(s[[6L]] * (1 - s[[6L]]), 1 / length(known)) / length(known)),
    mc_undefined = sqrt(2 * mean(is.na(draws)) / length(draws))
  )
}

# The shortest interval between draws that spans floor(level * n) steps.
shortest_interval <- function(draws, level, sorted = FALSE) {
  x <- if (sorted) draws else sort(draws)
  n <- length(x)
  if (!n) {
    return(c(NaN, NaN))
  }
  span <- min(floor(level * n), n - 1)
  x[which.min(x[(span + 1):n] - x[1:(n - span)]) + c(0, span)]
}

# Draws in batches as large as Python's run: the spread between batches is the Monte Carlo error of
# one run.
# wanted: list of (rates, contrast, group): contrast "overall", "group", "difference", "absolute",
# "ratio", "max".
crosscheck_um <- function(
  cells,
  sizes,
  prior,
  target,
  reference,
  wanted,
  draws,
  prob,
  rope,
  batches = 20,
  shifts = NULL
) {
  found <- replicate(
    batches,
    {
      counts <- refitted(
        dirichlet_counts(cells + prior, sizes, target, rowSums(cells), draws),
        shifts
      )
      # a metric of all groups is asked for once per group
      metric_of <- remembered_metric(counts, reference)
      vapply(
        wanted,
        function(w) posterior_summary(column_of_group(metric_of(w), w, reference), prob, rope),
        numeric(7)
      )
    },
    simplify = "array"
  )
  whole <- cells * ifelse(rowSums(cells) > 0, sizes / rowSums(cells), 1)
  seen <- stats::setNames(lapply(1:4, function(k) matrix(whole[, k], 1L)), CELLS)
  list(
    value = t(rowMeans(found, dims = 2L)),
    error = t(apply(found, 1:2, stats::sd)) * sqrt(1 + 1 / batches),
    observed = vapply(
      wanted,
      function(w) column_of_group(remembered_metric(seen, reference)(w), w, reference),
      0
    )
  )
}

# For models fitted anew, where there are shifts: the matrices of favourable and unfavourable labels
# side by side.
refitted <- function(counts, shifts) {
  if (is.null(shifts)) {
    return(counts)
  }
  groups <- seq_len(ncol(counts$tp))
  um_refit(
    counts,
    as.matrix(shifts)[, groups, drop = FALSE],
    as.matrix(shifts)[, -groups, drop = FALSE]
  )
}

# A function that computes what is wanted of these counts, and keeps the last of it.
remembered_metric <- function(counts, reference) {
  last <- NULL
  value <- NULL
  function(w) {
    asked <- list(unlist(w$rates), w$contrast)
    if (!identical(asked, last)) {
      value <<- fs_um_metric(counts, asked[[1L]], asked[[2L]], reference)
      last <<- asked
    }
    value
  }
}

column_of_group <- function(value, w, reference) {
  if (w$contrast %in% c("overall", "max")) {
    return(value)
  }
  value[, if (w$contrast == "group") w$group else w$group - (w$group > reference)]
}

# mean, sd, low, high of the shortest interval, median, P(|x| <= rope), share undefined
posterior_summary <- function(x, prob, rope) {
  known <- if (anyNA(x)) x[!is.nan(x)] else x
  undefined <- 1 - length(known) / length(x)
  if (length(known) < 2L) {
    return(c(rep(NaN, 6), undefined))
  }
  inside <- mean(abs(known) <= rope + 1e-12)
  known <- sort.int(known, method = "radix")
  middle <- (length(known) + 1) / 2
  c(
    mean(known),
    stats::sd(known),
    shortest_interval(known, prob, sorted = TRUE),
    mean(known[c(floor(middle), ceiling(middle))]),
    inside,
    undefined
  )
}

# Closed forms of a rate, Beta(a, b): mean, sd, median, and what the Monte Carlo errors of n draws
# are.
crosscheck_beta <- function(a, b, draws) {
  s <- sqrt(a * b / ((a + b)^2 * (a + b + 1)))
  q <- stats::qbeta(0.5, a, b)
  fourth <- 3 +
    6 * ((a - b)^2 * (a + b + 1) - a * b * (a + b + 2)) / (a * b * (a + b + 2) * (a + b + 3))
  list(
    mean = a / (a + b),
    mean_error = s / sqrt(draws),
    sd = s,
    sd_error = s * sqrt((fourth - 1) / (4 * draws)),
    median = q,
    median_error = 0.5 / sqrt(draws) / stats::dbeta(q, a, b)
  )
}

# Difference of two independent beta variables: mean, sd, and P(|difference| <= rope) by
# integration.
crosscheck_beta_difference <- function(a0, b0, a1, b1, rope, draws) {
  first <- crosscheck_beta(a0, b0, draws)
  second <- crosscheck_beta(a1, b1, draws)
  p <- integral(
    function(x) {
      stats::dbeta(x, a1, b1) *
        (stats::pbeta(pmin(x + rope, 1), a0, b0) - stats::pbeta(pmax(x - rope, 0), a0, b0))
    },
    stats::qbeta(seq(1e-12, 1 - 1e-12, length.out = 9), a1, b1),
    1e-8
  )
  s <- sqrt(first$sd^2 + second$sd^2)
  list(
    mean = first$mean - second$mean,
    mean_error = s / sqrt(draws),
    sd = s,
    sd_error = s / sqrt(draws),
    p_rope = p,
    p_rope_error = sqrt((p * (1 - p) + 1 / draws) / draws)
  )
}

# Probabilities of the events of a comparison: draws of the joint table of all algorithms, or
# independent ones.
# alphas: one matrix (groups x 4) per algorithm where independent; table: groups x 2^(m+1) where
# paired.
crosscheck_um_events <- function(
  alphas,
  sizes,
  table,
  target,
  totals,
  objectives,
  reference,
  rope,
  draws,
  batches = 20,
  shifts = NULL
) {
  batch_means(batches, draws, 4L + length(objectives), function() {
    theta <- joint_objectives(
      alphas,
      sizes,
      table,
      target,
      totals,
      objectives,
      reference,
      draws,
      shifts
    )
    delta <- theta[[1L]] - theta[[2L]]
    delta <- delta[!is.nan(rowSums(delta)), , drop = FALSE]
    inside <- 1 - colMeans(abs(beyond_rope(delta, rope)))
    c(unlist(event_shares(delta, rope)), inside, colMeans(delta), apply(delta, 2L, stats::sd))
  })
}

# P(row better than column) of all pairs, by columns, then the probability of being outperformed by
# none.
crosscheck_um_ranking <- function(
  alphas,
  sizes,
  table,
  target,
  totals,
  objectives,
  reference,
  rope,
  draws,
  batches = 20,
  shifts = NULL
) {
  each <- seq_len(nrow(sizes))
  batch_means(batches, draws, length(each)^2 + length(each), function() {
    theta <- joint_objectives(
      alphas,
      sizes,
      table,
      target,
      totals,
      objectives,
      reference,
      draws,
      shifts
    )
    known <- !is.nan(Reduce(`+`, lapply(theta, rowSums)))
    theta <- lapply(theta, function(x) x[known, , drop = FALSE])
    beaten <- lapply(each, function(j) {
      do.call(
        cbind,
        lapply(each, function(i) {
          if (i == j) logical(sum(known)) else outperforms(theta[[i]] - theta[[j]], rope)
        })
      )
    })
    c(
      unlist(lapply(beaten, colMeans)),
      1 - vapply(beaten, function(by) mean(apply(by, 1L, any)), 0)
    )
  })
}

# Means over batches with the Monte Carlo error of one batch; the first are shares, never exact by
# chance near 0 and 1.
batch_means <- function(batches, draws, shares, of) {
  found <- replicate(batches, of())
  value <- rowMeans(found)
  error <- apply(found, 1L, stats::sd) * sqrt(1 + 1 / batches)
  first <- seq_len(shares)
  error[first] <- pmax(error[first], sqrt((value[first] * (1 - value[first]) + 1 / draws) / draws))
  list(value = value, error = error)
}

# Draws of every objective of every algorithm: a list of matrices draws x objectives.
joint_objectives <- function(
  alphas,
  sizes,
  table,
  target,
  totals,
  objectives,
  reference,
  draws,
  shifts = NULL
) {
  each <- seq_len(nrow(sizes))
  counts <- if (is.null(table)) {
    lapply(each, function(a) dirichlet_counts(alphas[[a]], sizes[a, ], target, totals[a, ], draws))
  } else {
    whole <- dirichlet_counts(table, sizes[1L, ], target, totals[1L, ], draws)
    lapply(each, function(a) algorithm_margin(whole, length(each), a))
  }
  lapply(each, function(a) {
    one <- refitted(counts[[a]], shifts[[a]])
    vapply(objectives, function(o) signed_objective(one, o, reference), numeric(draws))
  })
}

# A metric oriented so that larger is better; a fairness metric is minus its largest gap.
signed_objective <- function(counts, o, reference) {
  rates <- unlist(o$rates)
  if (o$contrast == "overall") {
    return(o$sign * fs_um_metric(counts, rates))
  }
  if (o$contrast == "max") {
    return(-fs_um_metric(counts, rates, "max"))
  }
  -do.call(
    pmax,
    lapply(rates, function(name) {
      value <- fs_um_metric(counts, name, o$contrast, reference)
      row_max(abs(if (o$contrast == "ratio") log(value) else value))
    })
  )
}

# The cells of one algorithm from the joint table: cell y 2^m + sum of predictions 2^(m - k), from
# 0.
algorithm_margin <- function(whole, m, algorithm) {
  code <- seq_along(whole) - 1L
  predicted <- (code %/% 2^(m - algorithm)) %% 2
  part <- function(y, hat) Reduce(`+`, whole[code %/% 2^m == y & predicted == hat])
  list(tp = part(1, 1), fp = part(0, 1), fn = part(1, 0), tn = part(0, 0))
}
