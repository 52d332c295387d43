# Rates and other functions of confusion cells: values with their covariance, comparisons of pairs, families, largest
# gaps. The audit and the recheck of a report both stand on these.

# Cell totals and rows of every group: tp, fp, fn, tn, or selected and not; under weights or clusters also the
# scatter of the totals over the sampling units.
audit_cells <- function(input, grouping) {
  given <- if (is.null(input$y_pred)) input$y_true else input$y_pred
  both <- !is.null(input$y_pred) && !is.null(input$y_true)
  cell <- if (both) c(4, 2, 3, 1)[1 + input$y_pred + 2 * input$y_true] else 2 - given
  size <- if (both) 4L else 2L
  count <- length(grouping$groups)
  place <- (match(grouping$labels, grouping$groups) - 1L) * size + cell
  rows <- matrix(tabulate(place, count * size), count, byrow = TRUE)
  found <- list(
    totals = rows, rows = rows, scatter = NULL, units = 0, clustered = !is.null(input$cluster), groups = grouping$groups,
    group_units = rowSums(rows)
  )
  if (is.null(input$weight) && is.null(input$cluster)) return(found)
  w <- if (is.null(input$weight)) rep(1, input$n) else input$weight
  member <- matrix(0, input$n, count * size)
  member[cbind(seq_len(input$n), place)] <- w
  by_unit <- if (is.null(input$cluster)) member else rowsum(member, input$cluster, reorder = FALSE)
  found$totals <- matrix(colSums(by_unit), count, byrow = TRUE)
  found$units <- nrow(by_unit)
  if (found$units < 2L) stop_argument("cluster", "one sampling unit", "two or more: a variance needs them")
  if (!is.null(input$cluster)) {
    pairs <- unique(data.frame(unit = input$cluster, group = match(grouping$labels, grouping$groups)))
    found$group_units <- tabulate(pairs$group, count)
  }
  found$scatter <- crossprod(by_unit)
  found
}

# A metric of every group, with its influence on the cells and the covariance: a rate, the mean of several, or a smooth
# function, differentiated symbolically (delta method).
cell_metric <- function(totals, metric, rows = totals, scatter = NULL, units = 0, clusters = NULL, add = TRUE) {
  found <- if (is.null(metric$parts)) {
    list(smooth_values(totals, rows, metric$formula))
  } else {
    lapply(metric$parts, function(p) cell_rates(totals, rows, p$success, p$case, scatter, units))
  }
  cases <- if (is.null(metric$parts)) list(seq_len(ncol(totals))) else lapply(metric$parts, `[[`, "case")
  worth <- lapply(cases, function(case) effective_units(totals, case, scatter))
  least <- Reduce(pmin, worth)
  found <- Map(function(part, own) {
    part$units <- own
    part$clusters <- if (is.null(clusters)) rep(units, nrow(totals)) else clusters
    part$inflation <- inflation_of(own, units)
    part
  }, found, worth)
  influence <- Reduce(`+`, lapply(found, `[[`, "influence")) / length(found)
  list(
    # intervals without weights of a function and of a ratio of means are the wider of those about the values with half a
    # row and a whole one more in every cell
    added = if (add && length(metric$parts) != 1L && is.null(scatter)) {
      lapply(c(0.5, 1), function(more) cell_metric(totals + more, metric, rows, add = FALSE))
    },
    parts = if (!is.null(metric$parts)) found, rate = Reduce(`+`, lapply(found, `[[`, "rate")) / length(found),
    rows = Reduce(`+`, lapply(found, `[[`, "rows")), influence = influence,
    covariance = cell_covariance(influence, influence, totals, scatter, units),
    units = least, inflation = inflation_of(least, units), df = if (is.null(scatter)) Inf else units - 1
  )
}

# What the sampling units behind the cases of each group are worth: (sum d)^2 / sum d^2 of their weighted cases (Kish
# 1965), which gives degrees of freedom, and the inflation of a variance of linearised residuals, in place of the factor of
# all units (Bell and McCaffrey 2002, Survey Methodology 28, 169-181, for units whose sizes vary).
effective_units <- function(totals, case, scatter) {
  if (is.null(scatter)) return(rep(Inf, nrow(totals)))
  vapply(seq_len(nrow(totals)), function(g) {
    at <- (g - 1L) * ncol(totals) + case
    sum(totals[g, case])^2 / sum(scatter[at, at])
  }, 0)
}

inflation_of <- function(worth, units) {
  ifelse(is.infinite(worth), 1, (units - 1) / units / pmax(1 - 2 / worth, 0.25))
}

# A rate of every group; success, case: columns of the cells that it counts.
cell_rates <- function(totals, rows, success, case, scatter, units) {
  hits <- rowSums(totals[, success, drop = FALSE])
  cases <- rowSums(totals[, case, drop = FALSE])
  rate <- ifelse(cases > 0, hits / cases, NaN)
  influence <- matrix(0, nrow(totals), length(totals))
  for (g in seq_len(nrow(totals))) {
    influence[g, (g - 1) * ncol(totals) + case] <- ((case %in% success) - rate[g]) / cases[g]
  }
  list(
    successes = hits, cases = cases, rows = rowSums(rows[, case, drop = FALSE]), rate = rate, influence = influence,
    variance = diag(cell_covariance(influence, influence, totals, scatter, units)), weighted = !is.null(scatter)
  )
}

smooth_values <- function(totals, rows, formula) {
  derived <- stats::deriv(formula, CELLS)
  influence <- matrix(0, nrow(totals), length(totals))
  rate <- numeric(nrow(totals))
  for (g in seq_len(nrow(totals))) {
    value <- eval(derived, stats::setNames(as.list(totals[g, ]), CELLS))
    rate[g] <- if (is.finite(value)) as.numeric(value) else NaN
    influence[g, (g - 1) * length(CELLS) + seq_along(CELLS)] <- attr(value, "gradient")
  }
  list(rows = rowSums(rows), rate = rate, influence = influence)
}

# Covariance of linear functions of the cell totals: Poisson without weights; with them linearised over sampling units,
# drawn with replacement (Woodruff 1971, Journal of the American Statistical Association 66, 411-414).
cell_covariance <- function(first, second, totals, scatter, units) {
  inner <- if (is.null(scatter)) diag(as.vector(t(totals)), length(totals)) else scatter * (units / (units - 1))
  known1 <- is.finite(rowSums(first))
  known2 <- is.finite(rowSums(second))
  found <- matrix(NaN, nrow(first), nrow(second))
  found[known1, known2] <- first[known1, , drop = FALSE] %*% inner %*% t(second[known2, , drop = FALSE])
  found
}

# Successes and cases of a pair; under weights the effective ones of Korn and Graubard.
effective_table <- function(part, i, j) {
  k <- part$successes[c(i, j)]
  n <- part$cases[c(i, j)]
  if (part$weighted) {
    v <- (part$variance * part$inflation)[c(i, j)]
    r <- part$rate[c(i, j)]
    n <- ifelse(v > 0, r * (1 - r) / v, part$units[c(i, j)])
    k <- r * n
  }
  c(min(k[1L], n[1L]), n[1L], min(k[2L], n[2L]), n[2L])
}

# Effective successes and failures of both groups over those from which on statistics are not shrunk: near the limit below
# which nothing is answered, the samples that do answer are a selection. Unequal weights make totals skew: as many more.
# Clusters of unequal size do so as well, at most as if rows of a cluster were copies; a group with fewer of the rarer kind than
# expected then shows less variance: Edgeworth's first term of the statistic.
effective_share <- function(part, i, j, clustered) {
  enough <- enough_share(part, i, j, clustered)
  if (!clustered) return(enough)
  t <- effective_table(part, i, j)
  n <- t[c(2L, 4L)]
  r <- t[c(1L, 3L)] / n
  uneven <- (part$clusters / part$units)[c(i, j)]
  skew <- ifelse(r > 0 & r < 1, 2 * (uneven - 1) * (1 - 2 * r) / sqrt(r * (1 - r) * n), 0)
  enough / (1 + EDGEWORTH * pmax(c(-skew[1L], skew[1L], -skew[2L], skew[2L]), 0))
}

# The first factor: of the numbers alone.
enough_share <- function(part, i, j, clustered) {
  t <- effective_table(part, i, j)
  enough <- c(t[1L], t[2L] - t[1L], t[3L], t[4L] - t[3L]) / FULL_EFFECTIVE
  if (!clustered) enough <- enough * rep((part$units / part$rows)[c(i, j)], each = 2L)
  pmin(enough, 1)
}

smallest_cell <- function(cells) min(cells[1L], cells[2L] - cells[1L], cells[3L], cells[4L] - cells[3L])

# Estimate and standard error of a pair; for a ratio also that of its logarithm.
pair_estimate <- function(metric, i, j, contrast) {
  r <- metric$rate[c(i, j)]
  ratio <- contrast == "ratio"
  gradient <- if (ratio) c(1, -1) / r else c(1, -1)
  s <- sqrt(max(0, sum(outer(gradient, gradient) * metric$covariance[c(i, j), c(i, j)])))
  estimate <- if (ratio) r[1L] / r[2L] else r[1L] - r[2L]
  list(
    estimate = estimate, s = s,
    std_error = if (!ratio) s else if (is.finite(estimate) && estimate > 0) estimate * s else NaN
  )
}

# Variances of both terms of a contrast, of log rates for a ratio.
pair_terms <- function(variance, rate, i, j, contrast) {
  variance[c(i, j)] / (if (contrast == "ratio") rate[c(i, j)]^2 else 1)
}

# Degrees of freedom of a pair under weights or clusters (Satterthwaite 1946, Biometrics Bulletin 2, 110-114).
pair_df <- function(metric, i, j, contrast) {
  if (is.infinite(metric$df)) return(metric$df)
  v <- pair_terms(diag(metric$covariance), metric$rate, i, j, contrast)
  df <- sum(v)^2 / sum(v^2 / pmax(metric$units[c(i, j)] - 1, 1))
  if (is.finite(df)) df else metric$df
}

# Ends at a critical value and statistic at a null value, by one method.
pair_method <- function(metric, i, j, contrast, method, continuity = FALSE, clustered = FALSE) {
  if (!is.null(metric$added) && (contrast == "ratio" || is.null(metric$parts))) {
    return(widest_method(lapply(metric$added, pair_method, i, j, contrast, method)))
  }
  if (method == "fieller") return(fieller_method(metric$rate[c(i, j)], diag(metric$covariance)[c(i, j)]))
  pair <- pair_estimate(metric, i, j, contrast)
  estimate <- pair$estimate
  method <- sub(" (Satterthwaite)", "", method, fixed = TRUE)
  linear <- pair$s
  terms <- pair_terms(diag(metric$covariance), metric$rate, i, j, contrast)
  if (isTRUE(sum(terms) > 0)) pair$s <- linear * sqrt(sum(terms * metric$inflation[c(i, j)]) / sum(terms))
  if (method == "log") {
    return(list(
      ends = function(c) estimate * exp(base::c(-1, 1) * c * pair$s), z = function(null) log(estimate / null) / pair$s
    ))
  }
  if (method == "delta" || is.null(metric$parts)) {
    spread <- if (contrast == "ratio") estimate * pair$s else pair$s
    return(list(
      ends = function(c) estimate + base::c(-1, 1) * c * spread,
      z = function(null) if (estimate == null) 0 else (estimate - null) / spread
    ))
  }
  corrected <- !startsWith(method, "koopman") && !startsWith(method, "mee")
  scores <- lapply(metric$parts, function(p) {
    t <- effective_table(p, i, j)
    score_method(t[1L], t[2L], t[3L], t[4L], contrast, corrected, continuity && smallest_cell(t) < SMALL_CELL)
  })
  if (is.finite(metric$df)) {
    # groups that share clusters depend on each other
    apart <- lapply(metric$parts, function(p) sum(pair_terms(p$variance, p$rate, i, j, contrast)))
    scale <- sqrt(Reduce(`+`, apart)) / length(apart) / linear
    if (!is.finite(scale) || scale == 0) scale <- 1
    scores <- Map(function(s, p) {
      enough <- effective_share(p, i, j, clustered)
      scales <- scale * c(min(enough[1L], enough[4L]), min(enough[2L], enough[3L]))
      end <- function(c, side) s$end(c / scales[side], side)
      list(
        estimate = s$estimate, end = end, ends = function(c) base::c(end(c, 1L), end(c, 2L)),
        z = function(null) {
          z <- s$z(null)
          if (z < 0) scales[2L] * z else scales[1L] * z
        }
      )
    }, scores, metric$parts)
  }
  if (length(scores) == 1L) scores[[1L]] else mover_method(scores)
}

# All ratios t >= 0 of independent values a, b with |a - tb| <= c sqrt(v1 + t^2 v0) (Fieller 1954, J. R. Stat. Soc. B 16,
# 175-185).
fieller_method <- function(rate, variance) {
  list(
    ends = function(c) {
      square <- rate[2L]^2 - c^2 * variance[2L]
      last <- rate[1L]^2 - c^2 * variance[1L]
      middle <- prod(rate)
      root <- sqrt(max(middle^2 - square * last, 0))
      base::c(if (last > 0) last / (middle + root) else 0, if (square > 0) (middle + root) / square else Inf)
    },
    z = function(null) (rate[1L] - null * rate[2L]) / sqrt(variance[1L] + null^2 * variance[2L])
  )
}

# What neither of several methods rejects.
widest_method <- function(methods) {
  list(
    ends = function(c) {
      ends <- vapply(methods, function(m) m$ends(c), c(0, 0))
      base::c(min(ends[1L, ]), max(ends[2L, ]))
    },
    z = function(null) {
      z <- range(vapply(methods, function(m) m$z(null), 0))
      if (z[1L] > 0) z[1L] else min(z[2L], 0)
    }
  )
}

# Ends of the values that count as fair: a ratio against a threshold in (0, 1], a difference against a margin.
fair_range <- function(contrast, threshold) if (contrast == "ratio") c(threshold, 1 / threshold) else c(-threshold, threshold)

# p-values of a quantity below, above and inside its fair range, from z at both ends, and the critical value of the
# one-sided limits that belong to them. At an end of a range of d standard errors z is beyond -c or c with probability
# P(Z < -c) + P(Z < -c - d) (interval hypothesis: Hodges and Lehmann 1954, J. R. Stat. Soc. B 16, 261-268).
evidence_of <- function(z_low, z_high, df, level) {
  d <- z_low - z_high
  if (is.nan(d)) return(list(p_below = NaN, p_above = NaN, p_inside = NaN, critical = NaN, width = NaN))
  tail <- function(z) min(1, stats::pt(-z, df) + stats::pt(-z - d, df))
  plain <- stats::qt(level, df)
  critical <- if (stats::pt(-plain - d, df) < 1e-12) plain else {
    stats::uniroot(
      function(c) stats::pt(-c, df) + stats::pt(-c - d, df) - (1 - level),
      c(plain - 1e-9, stats::qt((1 + level) / 2, df) + 1e-9), tol = 1e-13
    )$root
  }
  list(
    p_below = tail(-z_low), p_above = tail(z_high), p_inside = max(tail(z_low), tail(-z_high)), critical = critical,
    width = d
  )
}

# One comparison by its method ("none": nothing); `exact`: limits and p-values of the verdict are by exact tests; p_tost:
# two one-sided tests within the threshold.
compare_pair <- function(metric, i, j, contrast, method, exact, critical, threshold, level, clustered = FALSE) {
  ratio <- contrast == "ratio"
  pair <- pair_estimate(metric, i, j, contrast)
  out <- list(
    rate = metric$rate[i], rate_reference = metric$rate[j], estimate = pair$estimate, std_error = pair$std_error
  )
  ends <- c("low", "high", "low_error", "high_error")
  names <- c(ends, paste0("side_", ends), "bound_low", "bound_high", "p_below", "p_above", "p_inside")
  tests <- c("less", "greater", "equal")
  out[c(names, paste0("z_", tests), paste0("p_", tests), "z_inner", "p_tost")] <- NaN
  if (method == "none") return(out)
  df <- pair_df(metric, i, j, contrast)
  own <- function(c) {
    at <- c$value
    if (df != metric$df) at <- -stats::qt(stats::pt(-at, metric$df), df)
    list(value = at, error = c$error)
  }
  by <- pair_method(metric, i, j, contrast, method, clustered = clustered)
  out[ends] <- ends_with_error(by$ends, own(critical$two_sided))
  out[paste0("side_", ends)] <- ends_with_error(by$ends, own(critical$one_sided))
  fair <- fair_range(contrast, threshold)
  low <- fair[1L]
  high <- fair[2L]
  shows <- evidence_of(by$z(low), by$z(high), df, level)
  limits <- by$ends(shows$critical)
  if (exact) {
    found <- exact_evidence(effective_table(metric$parts[[1L]], i, j), contrast, fair, shows, limits)
    limits <- found$limits
    shows <- found
  }
  out[c("p_below", "p_above", "p_inside")] <- shows[c("p_below", "p_above", "p_inside")]
  out[c("bound_low", "bound_high")] <- as.list(limits)
  z <- vapply(if (ratio) c(threshold, threshold, 1) else c(low, high, 0), by$z, 0)
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

# Every comparison of a report's result. metrics: names, or lists of parts; which: the metric of each comparison;
# first, second: its groups; family_first, family_second: the pairs whose intervals hold at once; pvalues: one- or
# two-sided ones (sides), whose values over these pairs are asked for as p_joint.
crosscheck_comparisons <- function(totals, rows, metrics, which, first, second, contrast, method, exact,
                                   level, threshold, simultaneous, family_first, family_second, scatter = NULL,
                                   units = 0, clustered = FALSE, pvalues = NULL, sides = 2, clusters = NULL) {
  found <- lapply(metrics, function(m) cell_metric(totals, as_metric(m, ncol(totals)), rows, scatter, units, clusters))
  cells <- list(totals = totals, scatter = scatter, units = units)
  critical <- critical_values(found, cells, cbind(family_first, family_second), contrast, simultaneous, level)
  lists <- lapply(seq_along(first), function(k) {
    of <- found[[as.integer(which[k])]]
    row <- compare_pair(of, first[k], second[k], contrast, method[k], exact[k], critical, threshold, level, clustered)
    if (is.null(pvalues)) row else c(row, joint_pvalue(pvalues[k], sides, critical))
  })
  columns <- names(lists[[1L]])
  stats::setNames(lapply(columns, function(name) vapply(lists, function(x) as.numeric(x[[name]]), 0)), columns)
}

# Ends at a critical value, and how far they move with its Monte Carlo error.
ends_with_error <- function(ends, critical) {
  at <- ends(critical$value)
  if (critical$error == 0) return(as.list(c(at, 0, 0)))
  as.list(c(at, abs(ends(critical$value + critical$error) - at)))
}

# The p-value of one comparison over its family, where its simultaneous interval ends at the null, with its error.
joint_pvalue <- function(p, sides, critical) {
  if (is.nan(p) || is.null(critical$tail)) return(list(p_joint = min(critical$count * p, 1), p_joint_error = 0))
  found <- critical$tail(-stats::qt(min(p / sides, 0.5), critical$df))
  list(p_joint = max(found$value * sides / 2, p), p_joint_error = found$error * sides / 2)
}

# Critical values of the intervals and of the one-sided bounds of a family of metrics, with their Monte Carlo errors.
critical_values <- function(metrics, cells, pairs, contrast, simultaneous, level) {
  df <- metrics[[1L]]$df
  count <- if (simultaneous == "none") 1 else length(metrics) * nrow(pairs)
  joint <- NULL
  if (count > 1 && simultaneous == "max-z") {
    gradients <- do.call(rbind, lapply(metrics, function(m) {
      scale <- if (contrast == "ratio") m$rate else rep(1, length(m$rate))
      m$influence[pairs[, 1L], , drop = FALSE] / scale[pairs[, 1L]] -
        m$influence[pairs[, 2L], , drop = FALSE] / scale[pairs[, 2L]]
    }))
    if (all(is.finite(gradients))) {
      joint <- max_z(cell_covariance(gradients, gradients, cells$totals, cells$scatter, cells$units), df)
    }
  }
  at <- function(level) {
    if (level <= 0) return(list(value = 0, error = 0))
    if (is.null(joint)) return(list(value = stats::qt(1 - (1 - level) / count / 2, df), error = 0))
    joint$quantile(level)
  }
  list(two_sided = at(level), one_sided = at(2 * level - 1), tail = joint$tail, df = df, count = count)
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

# The largest absolute difference over several metrics and all pairs: if every difference lies within its limits at the
# critical value c, the maximum lies between the largest distance of the limits from 0 on the near side and on the far
# side, so that its coverage is at least nominal. `critical`: of the band that is given for every difference.
crosscheck_largest <- function(totals, rows, metrics, level, critical, clustered, scatter = NULL, units = 0,
                               clusters = NULL) {
  metrics <- lapply(metrics, as_metric, ncol(totals))
  found <- lapply(metrics, function(m) cell_metric(totals, m, rows, scatter, units, clusters))
  smoothed <- if (is.null(scatter)) totals + 0.5 else totals
  of_smoothed <- lapply(metrics, function(m) cell_metric(smoothed, m, rows, scatter, units))
  pairs <- utils::combn(nrow(totals), 2L)
  terms <- expand.grid(pair = seq_len(ncol(pairs)), metric = seq_along(metrics))
  terms$first <- pairs[1L, terms$pair]
  terms$second <- pairs[2L, terms$pair]
  rate <- function(k, group) vapply(seq_along(k), function(a) found[[k[a]]]$rate[group[a]], 0)
  terms$estimate <- rate(terms$metric, terms$first) - rate(terms$metric, terms$second)
  known <- is.finite(terms$estimate)
  if (!any(known)) return(NULL)
  terms <- terms[known, ]
  few <- vapply(seq_len(nrow(terms)), function(a) {
    too_few(found[[terms$metric[a]]], terms$first[a], terms$second[a], clustered)
  }, NA)
  complete <- all(known) && !any(few)
  gradient <- function(from) {
    t(vapply(seq_len(nrow(terms)), function(a) {
      of <- from[[terms$metric[a]]]$influence
      of[terms$first[a], ] - of[terms$second[a], ]
    }, numeric(length(totals))))
  }
  plain <- gradient(found)
  terms$std_error <- sqrt(pmax(diag(cell_covariance(plain, plain, totals, scatter, units)), 0))
  rough <- gradient(of_smoothed)
  df <- vapply(seq_len(nrow(terms)), function(a) {
    pair_df(found[[terms$metric[a]]], terms$first[a], terms$second[a], "difference")
  }, 0)
  df <- if (all(few)) found[[1L]]$df else min(df[!few])
  joint <- max_z(cell_covariance(rough, rough, smoothed, scatter, units), df)
  by <- lapply(seq_len(nrow(terms)), function(a) {
    if (few[a]) return(list(ends = function(c) base::c(-1, 1), z = function(null) 0))
    pair_method(found[[terms$metric[a]]], terms$first[a], terms$second[a], "difference", "score", TRUE, clustered)
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
  # an end moves with c by about its distance from the estimate over c
  top <- max(abs(terms$estimate))
  with_error <- function(c) {
    range <- band(c$value)$range
    c(range, 1.5 * abs(range - top) / max(c$value, 0.1) * c$error)
  }
  statistic <- max(vapply(by, function(how) abs(how$z(0)), 0))
  tail <- joint$tail(statistic)
  list(
    metric = terms$metric, first = terms$first, second = terms$second, difference = terms$estimate,
    std_error = terms$std_error, low = at$low, high = at$high,
    estimate = top, range = at$range, critical = own$value, critical_error = own$error,
    interval = with_error(own), bounds = with_error(joint$quantile(2 * level - 1)), statistic = statistic,
    pvalue = if (all(few)) NaN else tail$value, pvalue_error = tail$error
  )
}
