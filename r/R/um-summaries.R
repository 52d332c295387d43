# Summaries of posteriors: rows of an audit, and the recheck of a report's posteriors and comparisons.

# A rate of every group, and criteria of fairness as differences of their rates.
UM_METRICS <- c("accuracy", "demographic_parity", "equal_opportunity", "predictive_equality", "predictive_parity")

um_counts <- function(input, grouping) {
  counts <- audit_cells(input[c("y_true", "y_pred", "n")], grouping)$totals
  matrix(as.numeric(counts), nrow(counts), dimnames = list(grouping$groups, CELLS))
}

um_rows <- function(counts, draws, reference, options) {
  groups <- rownames(counts)
  seen <- lapply(stats::setNames(CELLS, CELLS), function(k) t(counts[, k]))
  sizes <- rowSums(counts)
  others <- setdiff(seq_along(groups), reference)
  rows <- list()
  for (metric in UM_METRICS) {
    rate <- unlist(registry("criteria")[[metric]]$rates)
    contrast <- if (is.null(rate)) "group" else "difference"
    if (is.null(rate)) rate <- metric
    of <- function(x, contrast) as.matrix(fs_um_metric(x, rate, contrast, reference))
    values <- of(draws, contrast)
    observed <- as.vector(of(seen, contrast))
    if (contrast == "group") {
      values <- cbind(of(draws, "overall"), values)
      observed <- c(of(seen, "overall"), observed)
      labels <- c("all", groups)
      rows_of <- c(sum(sizes), sizes)
    } else {
      labels <- groups[others]
      rows_of <- sizes[others] + sizes[reference]
    }
    for (k in seq_along(labels)) {
      rows <- c(rows, list(um_row(
        metric, labels[k], if (contrast == "group") "" else groups[reference], values[, k], observed[k],
        rows_of[k], if (contrast == "difference") options$margin, options$confidence_level
      )))
    }
  }
  bind_rows(rows)
}

um_row <- function(metric, group, reference, draws, observed, n, rope, level) {
  known <- draws[!is.na(draws)]
  # the ends of a shortest interval vary as the cube root of the draws, not their square root
  tenths <- vapply(split(known, rep_len(1:10, length(known))), shortest_interval, numeric(2), level = level)
  wide <- sqrt(2) * apply(tenths, 1L, stats::sd) / 10^(1 / 3)
  s <- posterior_summary(draws, level, if (is.null(rope)) NA_real_ else rope)
  inside <- s[[6L]]
  tidy_row(metric, group, reference,
    estimate = s[[1L]], std_error = s[[2L]], ci_low = s[[3L]], ci_high = s[[4L]], n = n,
    method = "parameter, HDI", confidence_level = level, median = s[[5L]], observed = observed,
    rope = if (is.null(rope)) NA_real_ else rope, p_rope = inside, rate = NA_real_, rate_reference = NA_real_,
    undefined = s[[7L]], mc_estimate = sqrt(2 / length(known)) * s[[2L]],
    mc_std_error = sd_with_error(known)$sd_error, mc_ci_low = wide[1L], mc_ci_high = wide[2L],
    mc_median = sqrt(pi / length(known)) * s[[2L]],
    mc_p_rope = sqrt(2 * max(inside * (1 - inside), 1 / length(known)) / length(known)),
    mc_undefined = sqrt(2 * mean(is.na(draws)) / length(draws))
  )
}

# The shortest interval between draws that spans floor(level * n) steps.
shortest_interval <- function(draws, level) {
  x <- sort(draws)
  n <- length(x)
  if (!n) return(c(NaN, NaN))
  span <- min(floor(level * n), n - 1)
  first <- which.min(x[(span + 1):n] - x[1:(n - span)])
  c(x[first], x[first + span])
}

# Draws in batches as large as Python's run: the spread between batches is the Monte Carlo error of one run.
# wanted: list of (rates, contrast, group): contrast "overall", "group", "difference", "absolute", "ratio", "max".
crosscheck_um <- function(cells, sizes, prior, target, reference, wanted, draws, prob, rope, batches = 20,
                          shifts = NULL) {
  found <- lapply(seq_len(batches), function(b) {
    counts <- refitted(dirichlet_counts(cells + prior, sizes, target, rowSums(cells), draws), shifts)
    lapply(wanted, function(w) posterior_summary(posterior_metric(counts, w, reference), prob, rope))
  })
  out <- lapply(seq_along(wanted), function(k) {
    columns <- vapply(found, function(b) b[[k]], numeric(7))
    spread <- apply(columns, 1L, stats::sd)
    list(value = rowMeans(columns), error = spread * sqrt(1 + 1 / batches))
  })
  whole <- cells * ifelse(rowSums(cells) > 0, sizes / rowSums(cells), 1)
  seen <- stats::setNames(lapply(1:4, function(k) matrix(whole[, k], 1L)), CELLS)
  list(
    value = t(vapply(out, `[[`, numeric(7), "value")), error = t(vapply(out, `[[`, numeric(7), "error")),
    observed = vapply(wanted, function(w) posterior_metric(seen, w, reference), 0)
  )
}

# For models fitted anew, where there are shifts: the matrices of favourable and unfavourable labels side by side.
refitted <- function(counts, shifts) {
  if (is.null(shifts)) return(counts)
  shifts <- as.matrix(shifts)
  groups <- seq_len(ncol(shifts) / 2)
  um_refit(counts, shifts[, groups, drop = FALSE], shifts[, -groups, drop = FALSE])
}

posterior_metric <- function(counts, w, reference) {
  value <- fs_um_metric(counts, unlist(w$rates), w$contrast, reference)
  if (w$contrast %in% c("overall", "max")) return(value)
  value[, if (w$contrast == "group") w$group else w$group - (w$group > reference)]
}

# mean, sd, low, high of the shortest interval, median, P(|x| <= rope), share undefined
posterior_summary <- function(x, prob, rope) {
  known <- x[!is.nan(x)]
  n <- length(known)
  if (n < 2L) return(c(rep(NaN, 6), 1 - n / length(x)))
  c(
    mean(known), stats::sd(known), shortest_interval(known, prob), stats::median(known),
    mean(abs(known) <= rope + 1e-12), 1 - n / length(x)
  )
}

# Closed forms of a rate that is the share of `hit` among `hit` and `miss`: Beta(a, b). Mean, sd, median, and what
# the Monte Carlo errors of n draws are.
crosscheck_beta <- function(a, b, draws) {
  m <- a / (a + b)
  s <- sqrt(a * b / ((a + b)^2 * (a + b + 1)))
  q <- stats::qbeta(0.5, a, b)
  fourth <- 3 + 6 * ((a - b)^2 * (a + b + 1) - a * b * (a + b + 2)) / (a * b * (a + b + 2) * (a + b + 3))
  list(
    mean = m, mean_error = s / sqrt(draws), sd = s, sd_error = s * sqrt((fourth - 1) / (4 * draws)), median = q,
    median_error = 0.5 / sqrt(draws) / stats::dbeta(q, a, b)
  )
}

# Difference of two independent beta variables: mean, sd, and P(|difference| <= rope) by integration.
crosscheck_beta_difference <- function(a0, b0, a1, b1, rope, draws) {
  first <- crosscheck_beta(a0, b0, draws)
  second <- crosscheck_beta(a1, b1, draws)
  inside <- function(x) {
    stats::dbeta(x, a1, b1) * (stats::pbeta(pmin(x + rope, 1), a0, b0) - stats::pbeta(pmax(x - rope, 0), a0, b0))
  }
  cuts <- stats::qbeta(seq(1e-12, 1 - 1e-12, length.out = 9), a1, b1)
  p <- sum(vapply(seq_len(8L), function(k) {
    if (cuts[k + 1L] > cuts[k]) stats::integrate(inside, cuts[k], cuts[k + 1L], rel.tol = 1e-8)$value else 0
  }, 0))
  s <- sqrt(first$sd^2 + second$sd^2)
  list(
    mean = first$mean - second$mean, mean_error = s / sqrt(draws), sd = s, sd_error = s / sqrt(draws), p_rope = p,
    p_rope_error = sqrt((p * (1 - p) + 1 / draws) / draws)
  )
}

# Probabilities of the events of a comparison: draws of the joint table of all algorithms, or independent ones.
# alphas: one matrix (groups x 4) per algorithm where independent; table: groups x 2^(m+1) where paired.
crosscheck_um_events <- function(alphas, sizes, table, target, totals, objectives, reference, rope, draws,
                                 batches = 20, shifts = NULL) {
  m <- length(objectives)
  found <- vapply(seq_len(batches), function(b) {
    theta <- joint_objectives(alphas, sizes, table, target, totals, objectives, reference, draws, shifts)
    delta <- theta[[1L]] - theta[[2L]]
    delta <- delta[!is.nan(rowSums(delta)), , drop = FALSE]
    inside <- colMeans(abs(delta) <= rep(rope + 1e-12, each = nrow(delta)))
    c(unlist(event_shares(delta, rope)), inside, colMeans(delta), apply(delta, 2L, stats::sd))
  }, numeric(4L + 3L * m))
  batch_means(found, seq_len(4L + m), draws)
}

# P(row better than column) of all pairs, by columns, then the probability of being outperformed by none.
crosscheck_um_ranking <- function(alphas, sizes, table, target, totals, objectives, reference, rope, draws,
                                  batches = 20, shifts = NULL) {
  m <- nrow(sizes)
  found <- vapply(seq_len(batches), function(b) {
    theta <- joint_objectives(alphas, sizes, table, target, totals, objectives, reference, draws, shifts)
    known <- !is.nan(Reduce(`+`, lapply(theta, rowSums)))
    theta <- lapply(theta, function(x) x[known, , drop = FALSE])
    better <- matrix(0, m, m)
    beaten <- matrix(FALSE, sum(known), m)
    for (i in seq_len(m)) {
      for (j in setdiff(seq_len(m), i)) {
        above <- outperforms(theta[[i]] - theta[[j]], rope)
        better[i, j] <- mean(above)
        beaten[, j] <- beaten[, j] | above
      }
    }
    c(as.numeric(better), 1 - colMeans(beaten))
  }, numeric(m^2 + m))
  batch_means(found, seq_len(m^2 + m), draws)
}

# Means over batches with the Monte Carlo error of one batch; shares do not agree by chance near 0 and 1.
batch_means <- function(found, shares, draws) {
  value <- rowMeans(found)
  error <- apply(found, 1L, stats::sd) * sqrt(1 + 1 / ncol(found))
  p <- value[shares]
  error[shares] <- pmax(error[shares], sqrt((p * (1 - p) + 1 / draws) / draws))
  list(value = value, error = error)
}

# Draws of every objective of every algorithm: a list of matrices draws x objectives.
joint_objectives <- function(alphas, sizes, table, target, totals, objectives, reference, draws, shifts = NULL) {
  counts <- if (is.null(table)) {
    lapply(seq_along(alphas), function(a) dirichlet_counts(alphas[[a]], sizes[a, ], target, totals[a, ], draws))
  } else {
    whole <- dirichlet_counts(table, sizes[1L, ], target, totals[1L, ], draws)
    m <- nrow(sizes)
    lapply(seq_len(m), function(a) algorithm_margin(whole, m, a))
  }
  lapply(seq_along(counts), function(a) {
    one <- refitted(counts[[a]], if (is.null(shifts)) NULL else shifts[[a]])
    vapply(objectives, function(o) signed_objective(one, o, reference), numeric(draws))
  })
}

# A metric oriented so that larger is better; a fairness metric is minus its largest gap.
signed_objective <- function(counts, o, reference) {
  rates <- unlist(o$rates)
  if (o$contrast == "overall") return(o$sign * fs_um_metric(counts, rates))
  if (o$contrast == "max") return(-fs_um_metric(counts, rates, "max"))
  gaps <- lapply(rates, function(name) {
    value <- fs_um_metric(counts, name, o$contrast, reference)
    row_max(abs(if (o$contrast == "ratio") log(value) else value))
  })
  -do.call(pmax, gaps)
}

# The cells of one algorithm from the joint table: cell y 2^m + sum of predictions 2^(m - k), from 0.
algorithm_margin <- function(whole, m, algorithm) {
  code <- seq_along(whole) - 1L
  y <- code %/% 2^m
  predicted <- (code %/% 2^(m - algorithm)) %% 2
  part <- function(a, b) Reduce(`+`, whole[y == a & predicted == b])
  list(tp = part(1, 1), fp = part(0, 1), fn = part(1, 0), tn = part(0, 0))
}
