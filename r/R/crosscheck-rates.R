# What fairstats.crosscheck() of the Python package asks R for: comparisons of rates, from the cells of a report.

# A rate of every group from cell totals; success, case: columns of the cells that it counts.
cell_rates <- function(totals, rows, success, case, scatter = NULL, units = 0) {
  hits <- rowSums(totals[, success, drop = FALSE])
  cases <- rowSums(totals[, case, drop = FALSE])
  rate <- ifelse(cases > 0, hits / cases, NaN)
  size <- nrow(totals)
  influence <- matrix(0, size, length(totals))
  for (g in seq_len(size)) {
    place <- (g - 1) * ncol(totals) + case
    influence[g, place] <- ((case %in% success) - rate[g]) / cases[g]
  }
  list(
    successes = hits, cases = cases, rows = rowSums(rows[, case, drop = FALSE]), rate = rate,
    influence = influence, covariance = cell_covariance(influence, influence, totals, scatter, units),
    df = if (is.null(scatter)) Inf else units - 1
  )
}

# Covariance of linear functions of the cell totals: Poisson without weights, linearised over units with them.
cell_covariance <- function(first, second, totals, scatter, units) {
  inner <- if (is.null(scatter)) diag(as.vector(t(totals)), length(totals)) else scatter * (units / (units - 1))
  known1 <- is.finite(rowSums(first))
  known2 <- is.finite(rowSums(second))
  found <- matrix(NaN, nrow(first), nrow(second))
  found[known1, known2] <- first[known1, , drop = FALSE] %*% inner %*% t(second[known2, , drop = FALSE])
  found
}

# The rates of one metric: one part, or the mean of several (average odds).
cell_metric <- function(totals, rows, parts, scatter = NULL, units = 0) {
  found <- lapply(parts, function(p) cell_rates(totals, rows, p$success, p$case, scatter, units))
  influence <- Reduce(`+`, lapply(found, `[[`, "influence")) / length(found)
  list(
    parts = found, rate = Reduce(`+`, lapply(found, `[[`, "rate")) / length(found),
    rows = Reduce(`+`, lapply(found, `[[`, "rows")), influence = influence,
    covariance = cell_covariance(influence, influence, totals, scatter, units), df = found[[1L]]$df
  )
}

# Successes and cases of a pair; under weights the effective ones of Korn and Graubard.
effective_table <- function(part, i, j) {
  if (is.infinite(part$df)) {
    k <- part$successes[c(i, j)]
    n <- part$cases[c(i, j)]
  } else {
    v <- diag(part$covariance)[c(i, j)]
    r <- part$rate[c(i, j)]
    n <- ifelse(v > 0, r * (1 - r) / v, part$rows[c(i, j)])
    k <- r * n
  }
  c(min(k[1L], n[1L]), n[1L], min(k[2L], n[2L]), n[2L])
}

# Ends at a critical value and statistic at a null value, by one method.
pair_method <- function(metric, i, j, contrast, method, continuity = FALSE) {
  r <- metric$rate[c(i, j)]
  v <- metric$covariance[c(i, j), c(i, j)]
  ratio <- contrast == "ratio"
  gradient <- if (ratio) c(1, -1) / r else c(1, -1)
  s <- sqrt(max(0, sum(outer(gradient, gradient) * v)))
  estimate <- if (ratio) r[1L] / r[2L] else r[1L] - r[2L]
  if (method == "log") {
    return(list(
      ends = function(c) estimate * exp(base::c(-1, 1) * c * s), z = function(null) log(estimate / null) / s
    ))
  }
  if (method == "delta") {
    spread <- if (ratio) estimate * s else s
    return(list(
      ends = function(c) estimate + base::c(-1, 1) * c * spread,
      z = function(null) if (estimate == null) 0 else (estimate - null) / spread
    ))
  }
  corrected <- !startsWith(method, "koopman") && !startsWith(method, "mee")
  scores <- lapply(metric$parts, function(p) {
    t <- effective_table(p, i, j)
    small <- min(t[1L], t[2L] - t[1L], t[3L], t[4L] - t[3L]) < 5
    score_method(t[1L], t[2L], t[3L], t[4L], contrast, corrected, continuity && small)
  })
  if (length(scores) == 1L) scores[[1L]] else mover_method(scores)
}

score_method <- function(k0, n0, k1, n1, contrast, corrected, continuity = FALSE) {
  if (contrast == "ratio") {
    return(list(
      estimate = (k0 / n0) / (k1 / n1),
      ends = function(c) invert_ratio(k0, n0, k1, n1, c, corrected),
      z = function(null) ratio_score(k0, n0, k1, n1, null, corrected)
    ))
  }
  step <- if (continuity) (1 / n0 + 1 / n1) / 2 else 0
  centre <- k0 / n0 - k1 / n1
  z <- function(null) {
    plain <- difference_score(k0, n0, k1, n1, null, corrected)
    distance <- abs(centre - null)
    if (step == 0) plain else if (distance <= step) 0 else plain * (distance - step) / distance
  }
  bounded <- function(x) max(-1e6, min(1e6, z(x)))
  edge <- 1 - 1e-14
  end <- function(c, side) {
    if (side == 1L) {
      if (bounded(-edge) <= c) -1 else solve_from(function(x) bounded(x) - c, -edge, centre)
    } else {
      if (bounded(edge) >= -c) 1 else solve_from(function(x) bounded(x) + c, centre, edge)
    }
  }
  list(estimate = centre, z = z, end = end, ends = function(c) base::c(end(c, 1L), end(c, 2L)))
}

# Mean of differences from the limits of each (Zou and Donner 2008).
mover_method <- function(scores) {
  m <- length(scores)
  d <- vapply(scores, `[[`, 0, "estimate")
  end <- function(c, side) {
    limits <- vapply(scores, function(s) s$end(c, side), 0)
    max(-1, min(1, mean(d) + (if (side == 1L) -1 else 1) * sqrt(sum(((limits - d) / m)^2))))
  }
  z <- function(null) {
    side <- if (mean(d) > null) 1L else 2L
    reach <- function(c) (end(c, side) - null) * (if (side == 1L) 1 else -1)
    if (abs(mean(d) - null) < 1e-12 || reach(1e-6) <= 0) return(0)
    size <- if (reach(30) > 0) 30 else stats::uniroot(reach, base::c(1e-6, 30), tol = 1e-10)$root
    size * sign(mean(d) - null)
  }
  list(ends = function(c) base::c(end(c, 1L), end(c, 2L)), z = z)
}

# Every comparison of a result: rates, estimate, interval, bounds, statistics and p-values.
# metrics: one list of parts per comparison's rate; which: the metric of each; first, second: groups.
crosscheck_comparisons <- function(totals, rows, metrics, which, first, second, contrast, shown, judged,
                                   level, threshold, simultaneous, family_first, family_second, scatter = NULL,
                                   units = 0) {
  which <- as.integer(which)
  found <- lapply(metrics, function(parts) cell_metric(totals, rows, parts, scatter, units))
  df <- found[[1L]]$df
  critical <- family_critical(found, totals, scatter, units, family_first, family_second, contrast, simultaneous, level)
  one_sided <- family_critical(
    found, totals, scatter, units, family_first, family_second, contrast, simultaneous, 2 * level - 1
  )
  ratio <- contrast == "ratio"
  low <- if (ratio) min(threshold, 1 / threshold) else -threshold
  high <- if (ratio) max(threshold, 1 / threshold) else threshold
  nulls <- if (ratio) c(threshold, threshold, 1) else c(low, high, 0)
  one <- function(k) {
    metric <- found[[which[k]]]
    i <- first[k]
    j <- second[k]
    r <- metric$rate[c(i, j)]
    gradient <- if (ratio) c(1, -1) / r else c(1, -1)
    s <- sqrt(max(0, sum(outer(gradient, gradient) * metric$covariance[c(i, j), c(i, j)])))
    estimate <- if (ratio) r[1L] / r[2L] else r[1L] - r[2L]
    out <- list(
      rate = r[1L], rate_reference = r[2L], estimate = estimate,
      std_error = if (!ratio) s else if (is.finite(estimate) && estimate > 0) estimate * s else NaN
    )
    names <- c("low", "high", "bound_low", "bound_high")
    names <- c(names, paste0(names, "_error"))
    tests <- c("less", "greater", "equal")
    out[c(names, paste0("z_", tests), paste0("p_", tests), "z_inner", "p_tost")] <- NaN
    if (shown[k] != "none") {
      by <- pair_method(metric, i, j, contrast, shown[k])
      out[names[c(1, 2, 5, 6)]] <- ends_with_error(by$ends, critical)
    }
    if (judged[k] == "none") return(out)
    by <- pair_method(metric, i, j, contrast, judged[k])
    out[names[c(3, 4, 7, 8)]] <- ends_with_error(by$ends, one_sided)
    z <- vapply(nulls, by$z, 0)
    out[paste0("z_", tests)] <- z
    out$p_less <- stats::pt(z[[1L]], df)
    out$p_greater <- stats::pt(z[[2L]], df, lower.tail = FALSE)
    out$p_equal <- 2 * stats::pt(-abs(z[[3L]]), df)
    if (low < high) {
      both <- c(by$z(low), by$z(high))
      p <- c(stats::pt(both[1L], df, lower.tail = FALSE), stats::pt(both[2L], df))
      out$z_inner <- both[which.max(p)]
      out$p_tost <- max(p)
    }
    out
  }
  lists <- lapply(seq_along(first), one)
  columns <- names(lists[[1L]])
  stats::setNames(lapply(columns, function(name) vapply(lists, function(x) as.numeric(x[[name]]), 0)), columns)
}

# Ends at a critical value, and how far they move with its Monte Carlo error.
ends_with_error <- function(ends, critical) {
  at <- ends(critical$value)
  if (critical$error == 0) return(as.list(c(at, 0, 0)))
  as.list(c(at, abs(ends(critical$value + critical$error) - at)))
}

# Critical value of the intervals of a result, with its Monte Carlo error.
family_critical <- function(metrics, totals, scatter, units, first, second, contrast, simultaneous, level) {
  df <- metrics[[1L]]$df
  count <- length(metrics) * length(first)
  if (level <= 0) return(list(value = 0, error = 0))
  if (simultaneous == "none" || count < 2) return(list(value = stats::qt((1 + level) / 2, df), error = 0))
  gradients <- do.call(rbind, lapply(metrics, function(m) {
    scale <- if (contrast == "ratio") m$rate else rep(1, length(m$rate))
    m$influence[first, , drop = FALSE] / scale[first] - m$influence[second, , drop = FALSE] / scale[second]
  }))
  bonferroni <- stats::qt(1 - (1 - level) / count / 2, df)
  if (simultaneous == "bonferroni" || any(!is.finite(gradients))) return(list(value = bonferroni, error = 0))
  max_z(cell_covariance(gradients, gradients, totals, scatter, units), df)$quantile(level)
}

# Largest |Z_j| of jointly normal (or t) estimates: quantile(level) and tail(statistic), each with its error.
max_z <- function(covariance, df, draws = 2^16, python_draws = 2^16) {
  v <- diag(covariance)
  keep <- is.finite(v) & v > 0
  count <- sum(keep)
  if (count > 1L) {
    s <- sqrt(v[keep])
    spectrum <- eigen(covariance[keep, keep] / outer(s, s), symmetric = TRUE)
    used <- spectrum$values > 1e-12 * spectrum$values[1L]
    root <- t(spectrum$vectors[, used, drop = FALSE]) * sqrt(spectrum$values[used])
    noise <- matrix(stats::rnorm(draws * nrow(root)), draws)
    largest <- 0
    for (k in seq_len(count)) largest <- pmax(largest, abs(noise %*% root[, k]))
    if (is.finite(df)) largest <- largest / sqrt(stats::rchisq(draws, df) / df)
    largest <- sort(largest)
  }
  bonferroni <- function(level) stats::qt(1 - (1 - level) / (2 * max(count, 1)), df)
  list(
    count = count,
    quantile = function(level) {
      if (count < 2L) return(list(value = bonferroni(level), error = 0))
      step <- sqrt(level * (1 - level) * (1 / draws + 1 / python_draws))
      near <- stats::quantile(largest, pmin(pmax(level + c(0, -step, step), 0), 1), names = FALSE)
      list(value = min(bonferroni(level), near[1L]), error = (near[3L] - near[2L]) / 2)
    },
    tail = function(statistic) {
      if (count == 0L) return(list(value = NaN, error = 0))
      bound <- min(1, count * 2 * stats::pt(-abs(statistic), df))
      if (count < 2L) return(list(value = bound, error = 0))
      p <- (1 + sum(largest >= statistic)) / (1 + draws)
      if (bound <= 1 / (1 + draws)) return(list(value = bound, error = 0))
      list(value = min(bound, p), error = sqrt((p * (1 - p) + 1 / draws) * (1 / draws + 1 / python_draws)))
    }
  )
}

# The largest absolute difference over several rates and all pairs, its band, and its test.
crosscheck_largest <- function(totals, rows, metrics, level, critical, clustered, scatter = NULL, units = 0) {
  found <- lapply(metrics, function(parts) cell_metric(totals, rows, parts, scatter, units))
  smoothed <- if (is.null(scatter)) totals + 0.5 else totals
  of_smoothed <- lapply(metrics, function(parts) cell_metric(smoothed, rows, parts, scatter, units))
  pairs <- utils::combn(nrow(totals), 2L)
  terms <- expand.grid(pair = seq_len(ncol(pairs)), metric = seq_along(metrics))
  terms$first <- pairs[1L, terms$pair]
  terms$second <- pairs[2L, terms$pair]
  rate <- function(k, group) vapply(seq_along(k), function(a) found[[k[a]]]$rate[group[a]], 0)
  terms$estimate <- rate(terms$metric, terms$first) - rate(terms$metric, terms$second)
  complete <- all(is.finite(terms$estimate))
  terms <- terms[is.finite(terms$estimate), ]
  gradient <- function(from) {
    t(vapply(seq_len(nrow(terms)), function(a) {
      of <- from[[terms$metric[a]]]$influence
      of[terms$first[a], ] - of[terms$second[a], ]
    }, numeric(length(totals))))
  }
  plain <- gradient(found)
  terms$std_error <- sqrt(pmax(diag(cell_covariance(plain, plain, totals, scatter, units)), 0))
  rough <- gradient(of_smoothed)
  joint <- max_z(cell_covariance(rough, rough, smoothed, scatter, units), found[[1L]]$df)
  by <- lapply(seq_len(nrow(terms)), function(a) {
    method <- if (clustered) "delta" else "score"
    pair_method(found[[terms$metric[a]]], terms$first[a], terms$second[a], "difference", method, TRUE)
  })
  band <- function(c) {
    ends <- vapply(by, function(how) how$ends(c), c(0, 0))
    low <- pmax(ends[1L, ], -1)
    high <- pmin(ends[2L, ], 1)
    list(low = low, high = high, range = c(
      max(low, -high, 0), if (complete) min(max(abs(low), abs(high)), 1) else 1
    ))
  }
  at <- band(critical)
  own <- joint$quantile(level)
  inner <- joint$quantile(2 * level - 1)
  # an end moves with c by about its distance from the estimate over c
  top <- max(abs(terms$estimate))
  with_error <- function(c) {
    range <- band(c$value)$range
    c(range, 1.5 * abs(range - top) / max(c$value, 0.1) * c$error)
  }
  interval <- with_error(own)
  bounds <- with_error(inner)
  statistic <- max(vapply(by, function(how) abs(how$z(0)), 0))
  tail <- joint$tail(statistic)
  list(
    metric = terms$metric, first = terms$first, second = terms$second, difference = terms$estimate,
    std_error = terms$std_error, low = at$low, high = at$high,
    estimate = top, range = at$range, critical = own$value, critical_error = own$error,
    interval = interval, bounds = bounds, statistic = statistic,
    pvalue = tail$value, pvalue_error = tail$error
  )
}
