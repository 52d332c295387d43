# Posteriors of confusion counts for fairstats.crosscheck(). Counts in the order tp, tn, fp, fn.

# Draws in batches as large as Python's run: the spread between batches is the Monte Carlo error of one run.
# wanted: list of (metric, contrast, group): contrast "overall", "group", "difference", "absolute", "ratio", "max".
crosscheck_um <- function(cells, sizes, prior, target, reference, wanted, draws, prob, rope, batches = 20) {
  found <- lapply(seq_len(batches), function(b) {
    counts <- scaled_draws(cells, sizes, prior, target, draws)
    lapply(wanted, function(w) posterior_summary(posterior_metric(counts, w, reference), prob, rope))
  })
  out <- lapply(seq_along(wanted), function(k) {
    columns <- vapply(found, function(b) b[[k]], numeric(7))
    spread <- apply(columns, 1L, stats::sd)
    list(value = rowMeans(columns), error = spread * sqrt(1 + 1 / batches))
  })
  list(
    value = t(vapply(out, `[[`, numeric(7), "value")), error = t(vapply(out, `[[`, numeric(7), "error")),
    observed = vapply(wanted, function(w) {
      whole <- cells * ifelse(rowSums(cells) > 0, sizes / rowSums(cells), 1)
      one <- lapply(1:4, function(k) matrix(whole[, k], 1L))
      posterior_metric(stats::setNames(one, c("tp", "tn", "fp", "fn")), w, reference)
    }, 0)
  )
}

# Expected counts, or counts of the next test set, on the scale of the rows evaluated.
scaled_draws <- function(cells, sizes, prior, target, draws) {
  totals <- rowSums(cells)
  counts <- um_draws(cells, draws, prior, target)
  by <- if (target == "parameter") totals else round(totals)
  scale <- ifelse(by > 0, sizes / by, 1)
  lapply(counts, function(x) t(t(x) * scale))
}

posterior_metric <- function(counts, w, reference) {
  rates <- lapply(w$rates, function(name) {
    if (w$contrast == "overall") {
      um_rate(rowSums(counts$tp), rowSums(counts$tn), rowSums(counts$fp), rowSums(counts$fn), name)
    } else {
      um_rate(counts$tp, counts$tn, counts$fp, counts$fn, name)
    }
  })
  gap <- function(rate) {
    columns <- lapply(seq_len(ncol(rate)), function(g) rate[, g])
    do.call(pmax, columns) - do.call(pmin, columns)
  }
  switch(w$contrast,
    overall = rates[[1L]],
    group = rates[[1L]][, w$group],
    difference = rates[[1L]][, w$group] - rates[[1L]][, reference],
    absolute = abs(rates[[1L]][, w$group] - rates[[1L]][, reference]),
    ratio = {
      value <- rates[[1L]][, w$group] / rates[[1L]][, reference]
      value[!is.finite(value)] <- NaN
      value
    },
    max = do.call(pmax, lapply(rates, gap))
  )
}

# mean, sd, low, high of the shortest interval, median, P(|x| <= rope), share undefined
posterior_summary <- function(x, prob, rope) {
  known <- sort(x[!is.nan(x)])
  n <- length(known)
  if (n < 2L) return(c(rep(NaN, 6), 1 - n / length(x)))
  span <- min(floor(prob * n), n - 1)
  width <- known[(1 + span):n] - known[1:(n - span)]
  first <- which.min(width)
  c(
    mean(known), stats::sd(known), known[first], known[first + span], stats::median(known),
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
                                 batches = 20) {
  m <- length(objectives)
  found <- vapply(seq_len(batches), function(b) {
    theta <- joint_objectives(alphas, sizes, table, target, totals, objectives, reference, draws)
    delta <- theta[[1L]] - theta[[2L]]
    delta <- delta[!is.nan(rowSums(delta)), , drop = FALSE]
    inside <- colMeans(abs(delta) <= rep(rope + 1e-12, each = nrow(delta)))
    c(event_shares(delta, rope), inside, colMeans(delta), apply(delta, 2L, stats::sd))
  }, numeric(4L + 3L * m))
  batch_means(found, seq_len(4L + m), draws)
}

# P(row better than column) of all pairs, by columns, then the probability of being outperformed by none.
crosscheck_um_ranking <- function(alphas, sizes, table, target, totals, objectives, reference, rope, draws,
                                  batches = 20) {
  m <- nrow(sizes)
  found <- vapply(seq_len(batches), function(b) {
    theta <- joint_objectives(alphas, sizes, table, target, totals, objectives, reference, draws)
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

# A better in some metric by more than the region of practical equivalence, and worse in none.
outperforms <- function(delta, rope) {
  width <- rep(rope + 1e-12, each = nrow(delta))
  rowSums(delta > width) > 0 & rowSums(delta < -width) == 0
}

event_shares <- function(delta, rope) {
  first <- mean(outperforms(delta, rope))
  second <- mean(outperforms(-delta, rope))
  same <- mean(rowSums(abs(delta) > rep(rope + 1e-12, each = nrow(delta))) == 0)
  c(first, second, same, 1 - first - second - same)
}

# Draws of every objective of every algorithm: a list of matrices draws x objectives.
joint_objectives <- function(alphas, sizes, table, target, totals, objectives, reference, draws) {
  counts <- if (is.null(table)) {
    lapply(seq_along(alphas), function(a) dirichlet_counts(alphas[[a]], sizes[a, ], target, totals[a, ], draws))
  } else {
    whole <- dirichlet_counts(table, sizes[1L, ], target, totals[1L, ], draws)
    m <- nrow(sizes)
    lapply(seq_len(m), function(a) algorithm_margin(whole, m, a))
  }
  lapply(counts, function(one) {
    vapply(objectives, function(o) {
      value <- signed_objective(one, o, reference)
      value
    }, numeric(draws))
  })
}

# A metric oriented so that larger is better; a fairness metric is minus its largest gap.
signed_objective <- function(counts, o, reference) {
  if (o$contrast == "overall") return(o$sign * posterior_metric(counts, o, reference))
  if (o$contrast == "max") return(-abs(posterior_metric(counts, o, reference)))
  others <- setdiff(seq_len(ncol(counts$tp)), reference)
  gaps <- list()
  for (name in o$rates) {
    for (g in others) {
      w <- list(rates = name, contrast = o$contrast, group = g)
      value <- posterior_metric(counts, w, reference)
      gaps <- c(gaps, list(abs(if (o$contrast == "ratio") log(value) else value)))
    }
  }
  -do.call(pmax, gaps)
}

# Dirichlet draws by gamma variables, as expected counts or counts of a next test set; list of matrices per cell.
dirichlet_counts <- function(alpha, sizes, target, totals, draws) {
  cells <- ncol(alpha)
  out <- lapply(seq_len(cells), function(k) matrix(0, draws, nrow(alpha)))
  for (g in seq_len(nrow(alpha))) {
    drawn <- vapply(alpha[g, ], function(a) stats::rgamma(draws, a), numeric(draws))
    p <- drawn / rowSums(drawn)
    if (target == "parameter") {
      value <- p * sizes[g]
    } else {
      trials <- round(totals[g])
      value <- matrix(0, draws, cells)
      left <- rep(trials, draws)
      rest <- rep(1, draws)
      for (k in seq_len(cells)) {
        share <- pmin(1, ifelse(rest > 0, p[, k] / rest, 0))
        value[, k] <- if (k == cells) left else stats::rbinom(draws, left, share)
        left <- left - value[, k]
        rest <- rest - p[, k]
      }
      value <- value * (if (trials > 0) sizes[g] / trials else 1)
    }
    for (k in seq_len(cells)) out[[k]][, g] <- value[, k]
  }
  if (cells == 4L) names(out) <- c("tp", "tn", "fp", "fn")
  out
}

# tp, tn, fp, fn of one algorithm from the joint table: cell y 2^m + sum of predictions 2^(m - k), from 0.
algorithm_margin <- function(whole, m, algorithm) {
  code <- seq_along(whole) - 1L
  y <- code %/% 2^m
  predicted <- (code %/% 2^(m - algorithm)) %% 2
  part <- function(a, b) Reduce(`+`, whole[y == a & predicted == b])
  list(tp = part(1, 1), tn = part(0, 0), fp = part(0, 1), fn = part(1, 0))
}
