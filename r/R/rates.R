# Rates and other functions of confusion cells: values with their covariance, comparisons of pairs,
# families, largest gaps. The audit and the recheck of a report both stand on these.

# Cell totals and rows of every group: tp, fp, fn, tn, or selected and not; under weights or
# clusters also the scatter of the totals over the sampling units.
audit_cells <- function(input, grouping, comparisons = "reference") {
  both <- !is.null(input$y_pred) && !is.null(input$y_true)
  cell <- if (both) 4 - 2 * input$y_pred - input$y_true else 2 - c(input$y_pred, input$y_true)
  size <- if (both) 4L else 2L
  if (!is.null(input$classes)) {
    # labels and predictions are positions of classes
    size <- length(input$classes)
    cell <- if (both) (input$y_true - 1) * size + input$y_pred else c(input$y_pred, input$y_true)
    if (both) size <- size^2
  }
  count <- length(grouping$groups)
  group <- match(grouping$labels, grouping$groups)
  place <- (group - 1L) * size + cell
  rows <- matrix(tabulate(place, count * size), count, byrow = TRUE)
  found <- list(
    totals = rows,
    rows = rows,
    units = 0,
    clustered = !is.null(input$cluster),
    groups = grouping$groups,
    group_units = rowSums(rows)
  )
  if (is.null(input$weight) && !found$clustered) {
    return(found)
  }
  weight <- if (is.null(input$weight)) rep(1, input$n) else input$weight
  squares <- numeric(count * size)
  summed <- rowsum(weight^2, place)
  squares[as.integer(rownames(summed))] <- summed
  by_unit <- matrix(0, input$n, count * size)
  by_unit[cbind(seq_len(input$n), place)] <- weight
  if (found$clustered) {
    by_unit <- rowsum(by_unit, input$cluster, reorder = FALSE)
    found$group_units <- tabulate(unique(cbind(input$cluster, group))[, 2L], count)
  }
  if (nrow(by_unit) < 2L) {
    stop_argument("cluster", "one sampling unit", "two or more: a variance needs them")
  }
  found$totals <- matrix(colSums(by_unit), count, byrow = TRUE)
  found$squares <- matrix(squares, count, byrow = TRUE)
  found <- c(
    found[names(found) != "units"],
    list(units = nrow(by_unit), scatter = crossprod(by_unit))
  )
  without_idle_weights(found, comparisons)
}

# Groups in which all rows have one weight: n sum(w^2) = (sum w)^2 by the inequality of Cauchy and
# Schwarz, up to the rounding of sums.
even_groups <- function(totals, rows, squares) {
  n <- rowSums(rows)
  total <- rowSums(totals)
  rounding <- pmax(4 * .Machine$double.eps * n, 1e-12)
  (total > 0 | n == 0) & n * rowSums(squares) - total^2 <= rounding * total^2
}

# Weights that are equal within a group drop out of all comparisons of groups with each other.
without_even_weights <- function(cells) {
  even <- even_groups(cells$totals, cells$rows, cells$squares)
  if (!any(even)) {
    return(cells)
  }
  weight <- ifelse(
    even & rowSums(cells$rows) > 0,
    rowSums(cells$totals) / pmax(rowSums(cells$rows), 1),
    1
  )
  cells$totals[even, ] <- cells$rows[even, ]
  cells$squares[even, ] <- cells$rows[even, ]
  if (all(even) && !cells$clustered) {
    cells[c("scatter", "squares")] <- NULL
    cells$units <- 0
    return(cells)
  }
  of_cells <- rep(weight, each = ncol(cells$totals))
  counted <- rep(even, each = ncol(cells$totals))
  scatter <- cells$scatter / outer(of_cells, of_cells)
  cells$scatter <- ifelse(outer(counted, counted), round(scatter), scatter)
  cells
}

cell_sums <- function(counts, cells) rowSums(counts[, cells, drop = FALSE])
numbers_of <- function(lists, name) vapply(lists, `[[`, 0, name)
as_columns <- function(lists) {
  sapply(
    names(lists[[1L]]),
    function(name) vapply(lists, function(x) as.numeric(x[[name]]), 0),
    simplify = FALSE
  )
}

# A metric of every group, with its influence on the cells and the covariance: a rate, the mean of
# several, or a smooth function, differentiated symbolically (delta method).
cell_metric <- function(
  totals,
  metric,
  rows = totals,
  scatter = NULL,
  units = 0,
  squares = NULL,
  clustered = FALSE,
  add = TRUE
) {
  if (!is.null(scatter) && !clustered) {
    squares <- matrix(diag(scatter), nrow(totals), byrow = TRUE)
  }
  parts <- lapply(metric$parts, cell_rates, totals, rows, scatter, units, squares, clustered)
  found <- if (length(parts)) {
    parts
  } else {
    list(smooth_values(metric$formula, totals, rows, scatter, metric$places))
  }
  all_of <- function(name, join = `+`) Reduce(join, lapply(found, `[[`, name))
  influence <- all_of("influence") / length(found)
  worth <- all_of("units", pmin)
  list(
    # intervals without weights of a function and of a ratio of means are the wider of those about
    # the values with half a row and a whole one more in every cell
    added = if (add && length(parts) != 1L && is.null(scatter)) {
      # of one class among several the cells of two labels have so many more
      share <- if (is.null(metric$share)) {
        added_share(totals)
      } else {
        rep(metric$share, each = nrow(totals))
      }
      of_classes <- ncol(totals) > 4L && is.null(metric$share)
      lapply(c(if (of_classes) 0, 0.5, 1), function(more) {
        cell_metric(totals + share * more, metric, rows, add = FALSE)
      })
    },
    fewest = if (!is.null(metric$places) && ncol(totals) > 4L && is.null(metric$share)) {
      rarest_class(rows)
    },
    parts = if (length(parts)) parts,
    range = metric$range,
    rate = all_of("rate") / length(found),
    rows = all_of("rows"),
    influence = influence,
    covariance = cell_covariance(influence, totals, scatter, units),
    units = worth,
    inflation = inflation_of(worth, units),
    df = if (is.null(scatter)) Inf else units - 1,
    clustered = clustered,
    even = if (is.null(scatter) || is.null(squares)) {
      rep(FALSE, nrow(totals))
    } else {
      even_groups(totals, rows, squares)
    }
  )
}

# Of several classes as many rows more in all cells as of two.
added_share <- function(totals) min(1, 4 / ncol(totals))

# What the sampling units behind the cases of each group are worth: (sum d)^2 / sum d^2 of their
# weighted cases (Kish 1965), which gives degrees of freedom, and the inflation of a variance of
# linearised residuals, in place of the factor of all units (Bell and McCaffrey 2002, Survey
# Methodology 28, 169-181, for units whose sizes vary).
effective_units <- function(totals, case, scatter) {
  if (is.null(scatter)) {
    return(rep(Inf, nrow(totals)))
  }
  vapply(
    seq_len(nrow(totals)),
    function(g) {
      at <- (g - 1L) * ncol(totals) + case
      sum(totals[g, case])^2 / sum(scatter[at, at])
    },
    0
  )
}

inflation_of <- function(worth, units) {
  ifelse(is.infinite(worth), 1, (units - 1) / units / pmax(1 - 2 / worth, 0.25))
}

# A rate of every group; part: columns of the cells that it counts as success and case.
cell_rates <- function(part, totals, rows, scatter, units, squares = NULL, clustered = FALSE) {
  hits <- cell_sums(totals, part$success)
  cases <- cell_sums(totals, part$case)
  rate <- ifelse(cases > 0, hits / cases, NaN)
  influence <- matrix(0, nrow(totals), length(totals))
  for (g in seq_along(rate)) {
    influence[g, (g - 1) * ncol(totals) + part$case] <- ((part$case %in% part$success) - rate[g]) /
      cases[g]
  }
  worth <- effective_units(totals, part$case, scatter)
  by_weights <- if (is.null(squares)) {
    cell_sums(rows, part$case)
  } else {
    cases^2 / cell_sums(squares, part$case)
  }
  found <- list(
    successes = hits,
    cases = cases,
    rows = cell_sums(rows, part$case),
    rate = rate,
    influence = influence,
    variance = diag(cell_covariance(influence, totals, scatter, units)),
    weighted = !is.null(scatter),
    units = worth,
    inflation = inflation_of(worth, units)
  )
  if (found$weighted) {
    even <- if (is.null(squares)) rep(FALSE, nrow(totals)) else even_groups(totals, rows, squares)
    found$effective <- effective_cases(found, by_weights, units, clustered, even)
  }
  found
}

# Effective cases of every group: the fewer of r(1 - r)/Var(r) (Korn and Graubard 1998) and of the
# units u by their weights (Kish 1965), or by what clusters are worth, u/tau: tau is the variance of
# the mean of a cluster over r(1 - r), by all groups together; of larger clusters than theirs it is
# taken to be less, as of independent rows. Of a rate of 0 or 1 the units.
effective_cases <- function(part, by_weights, units, clustered, even) {
  r <- part$rate
  u <- part$units
  v <- part$variance * part$inflation
  varies <- is.finite(v) & part$variance > ROUNDING * r * (1 - r)
  shown <- ifelse(varies, r * (1 - r) / v, Inf)
  allowed <- u
  if (clustered) {
    t <- pmin(part$variance * (units - 1) / units * u / (u - 1) * u / (r * (1 - r)), 1)
    usable <- is.finite(t) & varies & u > 1
    size <- by_weights / u
    if (any(usable)) {
      allowed <- u /
        vapply(
          seq_along(u),
          function(g) {
            fewer_rows <- pmin(size[usable] / size[g], 1)
            sum((u[usable] - 1) * t[usable] * ifelse(is.nan(fewer_rows), 1, fewer_rows)) /
              sum(u[usable] - 1)
          },
          0
        )
    }
  }
  n <- ifelse(varies, pmin(shown, allowed, na.rm = TRUE), u)
  if (clustered) n else ifelse(even, part$rows, n)
}

# `places`: of each class which of tp, fp, fn, tn every cell belongs to; the value is then the mean
# over them.
smooth_values <- function(formula, totals, rows, scatter, places = NULL) {
  if (is.null(places)) {
    places <- list(1:4)
  }
  derived <- stats::deriv(formula, CELLS)
  cells <- seq_len(ncol(totals))
  influence <- matrix(0, nrow(totals), length(totals))
  rate <- numeric(nrow(totals))
  for (g in seq_along(rate)) {
    of_classes <- lapply(places, function(place) {
      sums <- vapply(1:4, function(cell) sum(totals[g, place == cell]), 0)
      eval(derived, stats::setNames(as.list(sums), CELLS))
    })
    value <- mean(vapply(of_classes, as.numeric, 0))
    rate[g] <- value
    slopes <- Map(function(of, place) as.vector(attr(of, "gradient"))[place], of_classes, places)
    influence[g, (g - 1) * length(cells) + cells] <- Reduce(`+`, slopes) / length(places)
  }
  list(
    rows = rowSums(rows),
    rate = rate,
    influence = influence,
    units = effective_units(totals, cells, scatter)
  )
}

# Covariance of linear functions of the cell totals: Poisson without weights; with them linearised
# over sampling units, drawn with replacement (Woodruff 1971, Journal of the American Statistical
# Association 66, 411-414).
cell_covariance <- function(slopes, totals, scatter, units) {
  inner <- if (is.null(scatter)) {
    diag(as.vector(t(totals)), length(totals))
  } else {
    scatter * (units / (units - 1))
  }
  known <- is.finite(rowSums(slopes))
  found <- matrix(NaN, nrow(slopes), nrow(slopes))
  found[known, known] <- slopes[known, , drop = FALSE] %*%
    inner %*%
    t(slopes[known, , drop = FALSE])
  found
}

# Successes and cases of a pair; under weights and clusters the effective ones.
effective_table <- function(part, i, j) {
  k <- part$successes[c(i, j)]
  n <- part$cases[c(i, j)]
  if (part$weighted) {
    n <- part$effective[c(i, j)]
    k <- part$rate[c(i, j)] * n
  }
  c(min(k[1L], n[1L]), n[1L], min(k[2L], n[2L]), n[2L])
}

smallest_cell <- function(cells) {
  min(cells[1L], cells[2L] - cells[1L], cells[3L], cells[4L] - cells[3L])
}

# Estimate and standard error of a pair; for a ratio also that of its logarithm.
pair_estimate <- function(metric, i, j, contrast) {
  r <- metric$rate[c(i, j)]
  ratio <- contrast != "difference"
  gradient <- c(1, -1) / spread_of_terms(r, contrast)
  s <- sqrt(max(0, sum(outer(gradient, gradient) * metric$covariance[c(i, j), c(i, j)])))
  odds <- if (contrast == "odds_ratio") r / (1 - r) else r
  estimate <- if (ratio) odds[1L] / odds[2L] else r[1L] - r[2L]
  on_scale <- if (!ratio) {
    s
  } else if (is.finite(estimate) && estimate > 0) {
    estimate * s
  } else {
    NaN
  }
  list(estimate = estimate, s = s, std_error = on_scale)
}

# What the standard error of a rate is divided by on the scale of a contrast: r for log r, r(1 - r)
# for the log odds.
spread_of_terms <- function(rate, contrast) {
  switch(contrast, ratio = rate, odds_ratio = rate * (1 - rate), rep(1, length(rate)))
}

# Variances of both terms of a contrast, of log rates or log odds for ratios.
pair_terms <- function(variance, rate, i, j, contrast) {
  variance[c(i, j)] / spread_of_terms(rate[c(i, j)], contrast)^2
}

# Whether a comparison of two groups has to do with clusters or unequal weights.
is_uneven <- function(metric, i, j) {
  is.finite(metric$df) && (metric$clustered || !all(metric$even[c(i, j)]))
}

# Degrees of freedom of a pair under weights or clusters: effective units of the smaller group less
# 1, or of methods that are linear in the rates those of Satterthwaite (1946, Biometrics Bulletin 2,
# 110-114).
pair_df <- function(metric, i, j, contrast, linear) {
  if (is.infinite(metric$df) || !is_uneven(metric, i, j)) {
    return(Inf)
  }
  if (!linear) {
    return(min(metric$units[c(i, j)]) - 1)
  }
  v <- pair_terms(diag(metric$covariance), metric$rate, i, j, contrast)
  df <- sum(v)^2 / sum(v^2 / pmax(metric$units[c(i, j)] - 1, 1))
  if (is.finite(df)) df else metric$df
}

# The estimates that a comparison of two groups is made of: without weights where both have equal
# ones.
metric_of_pair <- function(metric, i, j) {
  if (is.infinite(metric$df) || is_uneven(metric, i, j) || is.null(metric$parts)) {
    return(metric)
  }
  plain <- function(part) {
    part$variance <- part$rate * (1 - part$rate) / part$cases
    part$weighted <- FALSE
    part$inflation <- 1 + 0 * part$rate
    part
  }
  metric$parts <- lapply(metric$parts, plain)
  metric$covariance <- diag(
    Reduce(`+`, lapply(metric$parts, `[[`, "variance")) / length(metric$parts)^2,
    length(metric$rate)
  )
  metric$inflation <- 1 + 0 * metric$rate
  metric$df <- Inf
  metric
}

# A method without what its name says of effective counts and degrees of freedom.
bare_method <- function(method) {
  sub(" \\((Satterthwaite|effective rows|effective clusters)\\)$", "", method)
}

# Ends at a critical value and statistic at a null value, by one method.
# `shares`: of a group in the cases of each part, where it is compared with everybody and j is all
# others.
pair_method <- function(metric, i, j, contrast, method, continuity = FALSE, shares = NULL) {
  ratio <- contrast == "ratio"
  smooth <- is.null(metric$parts)
  if (!is.null(metric$added) && (ratio || smooth)) {
    added <- metric$added
    if (length(added) > 2L) {
      added <- Filter(function(m) isTRUE(pair_estimate(m, i, j, contrast)$s > 0), added)
    }
    return(widest_method(lapply(added, pair_method, i, j, contrast, method)))
  }
  variance <- diag(metric$covariance)
  if (method == "fieller") {
    return(fieller_method(metric$rate[c(i, j)], variance[c(i, j)], metric$covariance[i, j]))
  }
  pair <- pair_estimate(metric, i, j, contrast)
  estimate <- pair$estimate
  terms <- pair_terms(variance, metric$rate, i, j, contrast)
  s <- pair$s
  if (isTRUE(sum(terms) > 0)) {
    s <- s * sqrt(sum(terms * metric$inflation[c(i, j)]) / sum(terms))
  }
  method <- bare_method(method)
  if (method == "log") {
    return(list(ends = function(z) estimate * exp(c(-z, z) * s), z = function(null) {
      log(estimate / null) / s
    }))
  }
  if (method == "delta" || smooth) {
    if (ratio) {
      s <- estimate * s
    }
    z <- function(null) if (estimate == null) 0 else (estimate - null) / s
    return(list(ends = function(z) estimate + c(-z, z) * s, z = z))
  }
  continuity <- continuity || is_corrected_mean(metric, i, j)
  scores <- lapply(metric$parts, function(p) {
    t <- effective_table(p, i, j)
    corrected <- !grepl("^(koopman|mee)", method)
    score_method(t[1L], t[2L], t[3L], t[4L], contrast, corrected, continuity)
  })
  of_all <- function(scores, scale_of = function(slope) 1) {
    if (is.null(shares)) {
      return(scores)
    }
    if (contrast == "odds_ratio") {
      return(list(odds_of_all(effective_table(metric$parts[[1L]], i, j), shares, scale_of)))
    }
    Map(function(score, share) score_of_all(score, scale_of_all(contrast, share)), scores, shares)
  }
  if (is.infinite(metric$df)) {
    return(mover_method(of_all(scores)))
  }
  # groups that share clusters depend on each other
  varied <- vapply(
    metric$parts,
    function(p) {
      any((p$variance > ROUNDING * p$rate * (1 - p$rate))[c(i, j)], na.rm = TRUE)
    },
    NA
  )
  scale_of <- if (all(varied)) scale_of_shared(metric, i, j) else function(slope) 1
  slope_of <- function(null) {
    switch(
      contrast,
      ratio = null,
      odds_ratio = slope_of_odds(effective_table(metric$parts[[1L]], i, j), null),
      1
    )
  }
  mover_method(of_all(
    lapply(scores, function(score) {
      scale_at <- function(null) scale_of(slope_of(null))
      end <- function(critical, side) end_of_shared(score, critical, side, contrast, scale_at)
      z <- function(null) scale_at(null) * score$z(null)
      list(estimate = score$estimate, end = end, ends = function(c) c(end(c, -1), end(c, 1)), z = z)
    }),
    scale_of
  ))
}

# Of groups in the same clusters the standard error of r - slope * r0 as of independent rates over its
# own, as a function of the slope: at the null value that of a ratio is the ratio, of a difference 1,
# of an odds ratio p(1 - p)/(p0(1 - p0)) of the most likely rates, so that equality is one question.
scale_of_shared <- function(metric, i, j) {
  apart <- Reduce(`+`, lapply(metric$parts, function(p) p$variance[c(i, j)])) /
    length(metric$parts)^2
  covariance <- (sum(apart) - sum(c(1, -1, -1, 1) * metric$covariance[c(i, j), c(i, j)])) / 2
  if (!isTRUE(abs(covariance) > ROUNDING * sum(apart))) {
    return(function(slope) 1)
  }
  function(slope) {
    weights <- if (slope > 1) c(1 / slope, 1) else c(1, slope)
    alone <- sum(weights^2 * apart)
    together <- alone - 2 * prod(weights) * covariance
    if (together <= ROUNDING * alone) 1 else sqrt(alone / together)
  }
}

# p(1 - p)/(p0(1 - p0)) of the most likely rates with an odds ratio and the observed sum of successes.
slope_of_odds <- function(cells, ratio) {
  if (!is.finite(ratio) || ratio <= 0) {
    return(1)
  }
  n <- cells[2L]
  n0 <- cells[4L]
  hits <- cells[1L] + cells[3L]
  misses <- n + n0 - hits
  products <- c(
    expected_count(n, n0, hits, ratio) * expected_count(n, n0, misses, 1 / ratio) / n^2,
    expected_count(n0, n, hits, 1 / ratio) * expected_count(n0, n, misses, ratio) / n0^2
  )
  if (isTRUE(products[2L] > 0)) products[1L] / products[2L] else 1
}

# The end of an interval where the statistic is as large as the critical value: the standard error
# changes with the null value.
end_of_shared <- function(score, critical, side, contrast, scale_at) {
  if (contrast == "difference") {
    return(score$end(critical / scale_at(0), side))
  }
  excess <- function(apart) apart * scale_at(score$end(apart, side)) - critical
  most <- critical * sqrt(2)
  if (!(most > 0 && is.finite(most)) || excess(most) <= 0) {
    return(score$end(most, side))
  }
  # at 0 is the estimate
  found <- stats::uniroot(excess, c(0, most), f.lower = -critical, tol = 1e-14)
  score$end(found$root, side)
}

# Means of more than two rates, as over classes, have the continuity correction where fewer cases
# are expected of one.
CORRECTED_IN_MEANS <- 20
is_corrected_mean <- function(metric, i, j) {
  if (length(metric$parts) <= 2L) {
    return(FALSE)
  }
  any(vapply(
    metric$parts,
    function(p) smallest_expected(effective_table(p, i, j)) < CORRECTED_IN_MEANS,
    NA
  ))
}

# All ratios t >= 0 of values a, b with |a - tb| <= c sqrt(v1 - 2 t v10 + t^2 v0) (Fieller 1954, J. R.
# Stat. Soc. B 16, 175-185), v10 their covariance.
fieller_method <- function(rate, variance, covariance = 0) {
  ends <- function(critical) {
    square <- rate[2L]^2 - critical^2 * variance[2L]
    last <- rate[1L]^2 - critical^2 * variance[1L]
    middle <- prod(rate) - critical^2 * covariance
    root <- sqrt(max(middle^2 - square * last, 0))
    c(
      if (last > 0) last / (middle + root) else 0,
      if (square > 0) (middle + root) / square else Inf
    )
  }
  list(ends = ends, z = function(null) {
    spread <- variance[1L] - 2 * null * covariance + null^2 * variance[2L]
    (rate[1L] - null * rate[2L]) / sqrt(spread)
  })
}

# What neither of several methods rejects.
widest_method <- function(methods) {
  ends <- function(critical) {
    ends <- vapply(methods, function(m) m$ends(critical), c(0, 0))
    c(min(ends[1L, ]), max(ends[2L, ]))
  }
  z <- function(null) {
    z <- range(vapply(methods, function(m) m$z(null), 0))
    if (z[1L] > 0) z[1L] else min(z[2L], 0)
  }
  list(ends = ends, z = z)
}

# Ends of the values that count as fair: a ratio against a threshold in (0, 1], a difference against
# a margin.
fair_range <- function(contrast, threshold) {
  if (contrast == "difference") c(-threshold, threshold) else c(threshold, 1 / threshold)
}

# p-values of a quantity below, above and inside its fair range, from z at both ends, and the
# critical value of the one-sided limits that belong to them. At an end of a range of d standard
# errors z is beyond -c or c with probability P(Z < -c) + P(Z < -c - d) (interval hypothesis: Hodges
# and Lehmann 1954, J. R. Stat. Soc. B 16, 261-268).
evidence_of <- function(z_low, z_high, df, level) {
  d <- z_low - z_high
  if (is.nan(d)) {
    return(list(p_below = NaN, p_above = NaN, p_inside = NaN, critical = NaN, width = NaN))
  }
  tail <- function(z) stats::pt(-z, df) + stats::pt(-z - d, df)
  critical <- stats::qt(level, df)
  if (stats::pt(-critical - d, df) >= 1e-12) {
    ends <- c(critical - 1e-9, stats::qt((1 + level) / 2, df) + 1e-9)
    critical <- stats::uniroot(function(c) tail(c) - (1 - level), ends, tol = 1e-13)$root
  }
  p <- pmin(1, tail(c(-z_low, z_high, z_low, -z_high)))
  list(p_below = p[1L], p_above = p[2L], p_inside = max(p[3:4]), critical = critical, width = d)
}

# p-values outside the fair range beside that of equality: who lies outside differs, so that neither
# is smaller; where one value is fair both are one question, and the side of the estimate has the
# p-value of equality.
beside_equality <- function(shows, p_equal, fair) {
  outside <- c("p_below", "p_above")
  p <- unlist(shows[outside])
  if (is.nan(p_equal) || all(is.nan(p))) {
    return(shows)
  }
  shows[outside] <- if (fair[1L] < fair[2L]) {
    pmax(p, p_equal)
  } else if (p[1L] < p[2L]) {
    c(p_equal, 1)
  } else {
    c(1, p_equal)
  }
  shows
}

# One-sided limits that leave the fair range only where the p-value of equality is at most their
# error.
reach_fair_range <- function(limits, p_equal, fair, error) {
  if (is.nan(p_equal) || p_equal <= error || is.nan(limits[1L])) {
    return(limits)
  }
  c(min(limits[1L], fair[2L]), max(limits[2L], fair[1L]))
}

# The row of one comparison; arguments are those of planned_pair.
compare_pair <- function(...) {
  rows_of_pairs(list(planned_pair(...)))[[1L]]
}

# Rows of planned comparisons, whose exact limits are searched side by side.
rows_of_pairs <- function(planned) {
  exact_limits(unlist(lapply(planned, `[[`, "searches")))
  lapply(planned, function(one) one$row())
}

# One comparison by its method ("none": nothing). `exact`: everything that the row says is by exact
# tests: limits and p-values of the verdict, the two-sided interval, p_row of equality; the tests by
# score stand beside. p_tost: two one-sided tests within the threshold. `everybody`: what j, all
# others, and the group make together, if the group is compared with that.
# Answer: the searches of the exact limits that the row has, and the row, which asks for them.
planned_pair <- function(
  metric,
  i,
  j,
  contrast,
  method,
  exact,
  critical,
  threshold,
  level,
  everybody = NULL,
  one_sided = FALSE
) {
  table_df <- metric$df
  metric <- metric_of_pair(metric, i, j)
  pair <- pair_estimate(metric, i, j, contrast)
  out <- c(
    list(rate = metric$rate[i], rate_reference = metric$rate[j]),
    pair[c("estimate", "std_error")]
  )
  shares <- NULL
  scale <- list(value = identity, null = identity)
  if (!is.null(everybody) && is.null(everybody$by_delta)) {
    shares <- vapply(everybody$shares, `[`, 0, i)
    cells_of_pair <- if (exact) effective_table(metric$parts[[1L]], i, j)
    scale <- exact_scale_of_all(contrast, shares[1L], cells_of_pair)
    out$rate_reference <- everybody$value
    out[c("estimate", "std_error")] <- contrast_with_all(everybody, i, contrast)
  }
  ends <- c("low", "high", "low_error", "high_error")
  tests <- c("less", "greater", "equal")
  sides <- c("p_below", "p_above", "p_inside")
  out[c(
    ends,
    paste0("side_", ends),
    "bound_low",
    "bound_high",
    sides,
    paste0("z_", tests),
    paste0("p_", tests),
    "z_inner",
    "p_tost",
    "p_row"
  )] <- NaN
  if (method == "none") {
    return(list(row = function() out))
  }
  linear <- is.null(metric$parts) || !grepl("^(score|koopman|mee)", method)
  df <- pair_df(metric, i, j, contrast, linear)
  by <- pair_method(metric, i, j, contrast, method, shares = shares)
  fair <- fair_range(contrast, threshold)
  if (df != table_df) {
    at_df <- function(one) {
      list(value = -stats::qt(stats::pt(-one$value, table_df), df), error = one$error)
    }
    critical[c("two_sided", "one_sided")] <- lapply(critical[c("two_sided", "one_sided")], at_df)
  }
  both <- c(by$z(fair[1L]), by$z(fair[2L]))
  shows <- evidence_of(both[1L], both[2L], df, level)
  searches <- NULL
  if (exact) {
    cells <- effective_table(metric$parts[[1L]], i, j)
    # of exact tests, which compare with all others
    fair_of_others <- scale$null(fair)
    # a critical value is a level: that of both sides, or of one
    both_sides <- function(value, near = NULL) {
      interval_searches(cells, contrast, 2 * stats::pt(-value, df), near)
    }
    one_side <- function(value, near = NULL) {
      one_sided_searches(cells, contrast, fair_of_others[1L], stats::pt(-value, df), near)
    }
    searches <- c(
      both_sides(critical$two_sided$value),
      if (one_sided) one_side(critical$one_sided$value),
      evidence_searches(cells, contrast, fair_of_others, shows),
      if (fair[1L] == fair[2L]) interval_searches(cells, contrast, 1 - level)
    )
  }
  row <- function() {
    ends_at <- function(critical, searches_at) {
      if (!exact) {
        return(ends_with_error(function(value, near) by$ends(value), critical))
      }
      limits <- function(value, near) exact_limits(searches_at(value, near))
      ends_with_error(limits, critical, scale$value)
    }
    out[ends] <- ends_at(critical$two_sided, both_sides)
    if (one_sided) {
      out[paste0("side_", ends)] <- ends_at(critical$one_sided, one_side)
    }
    if (exact) {
      shows <- exact_evidence(cells, contrast, fair_of_others, shows)
      limits <- scale$value(shows$limits)
    } else {
      limits <- by$ends(shows$critical)
    }
    z <- c(both[1L], if (contrast == "difference") c(both[2L], by$z(0)) else c(both[1L], by$z(1)))
    out[paste0("z_", tests)] <- z
    p <- c(
      stats::pt(z[1L], df),
      stats::pt(z[2L], df, lower.tail = FALSE),
      2 * stats::pt(-abs(z[3L]), df)
    )
    out[paste0("p_", tests)] <- p
    out$p_row <- if (exact) exact_equality(cells, contrast) else p[3L]
    out[sides] <- beside_equality(shows, out$p_row, fair)[sides]
    if (exact && fair[1L] == fair[2L]) {
      limits <- scale$value(exact_limits(interval_searches(cells, contrast, 1 - level)))
    }
    limits <- reach_fair_range(limits, out$p_row, fair, 1 - level)
    out[c("bound_low", "bound_high")] <- as.list(limits)
    if (fair[1L] < fair[2L]) {
      p <- c(stats::pt(both[1L], df, lower.tail = FALSE), stats::pt(both[2L], df))
      # of an estimate in the middle of the fair range both are alike, but for rounding
      larger <- if (p[1L] >= p[2L] * (1 - 1e-9)) 1L else 2L
      out[c("z_inner", "p_tost")] <- c(both[larger], p[larger])
    }
    out
  }
  list(searches = searches, row = row)
}

# Every comparison of a report's result. metrics: names; which: the metric of each comparison;
# first, second: its groups; family_first, family_second: the pairs whose intervals hold at once;
# pvalues: one- or two-sided ones (sides), whose values over these pairs are asked for as p_joint;
# one_sided: whether one-sided intervals are asked for.
crosscheck_comparisons <- function(
  totals,
  rows,
  metrics,
  which,
  first,
  second,
  contrast,
  method,
  exact,
  level,
  threshold,
  simultaneous,
  family_first,
  family_second,
  scatter = NULL,
  units = 0,
  clustered = FALSE,
  pvalues = NULL,
  sides = 2,
  squares = NULL,
  comparisons = "reference",
  one_sided = TRUE
) {
  if (!is.null(scatter) && !clustered) {
    squares <- matrix(diag(scatter), nrow(totals), byrow = TRUE)
  }
  cells <- list(
    totals = totals,
    rows = rows,
    scatter = scatter,
    units = units,
    squares = squares,
    clustered = clustered
  )
  everybody <- NULL
  if (comparisons == "overall") {
    of_groups <- first_groups(cells)
    everybody <- lapply(metrics, function(m) {
      everybody_of(of_groups, as_metric(m, ncol(totals)), level, contrast)
    })
  }
  if (comparisons %in% POOLED) {
    cells <- compared_cells(cells)
  }
  found <- lapply(metrics, function(m) {
    cell_metric(
      cells$totals,
      as_metric(m, ncol(totals)),
      rows,
      cells$scatter,
      cells$units,
      cells$squares,
      clustered
    )
  })
  found <- with_everybody(found, everybody)
  critical <- critical_values(
    found,
    cells,
    cbind(family_first, family_second),
    contrast,
    simultaneous,
    level
  )
  own <- lapply(found, own_limits, level)
  rows <- rows_of_pairs(lapply(seq_along(first), function(k) {
    planned_pair(
      found[[as.integer(which[k])]],
      first[k],
      second[k],
      contrast,
      method[k],
      exact[k],
      critical,
      threshold,
      level,
      everybody[[which[k]]],
      one_sided
    )
  }))
  as_columns(lapply(seq_along(first), function(k) {
    own_limits_of_pair <- own_columns(
      own[[as.integer(which[k])]],
      first[k],
      second[k],
      everybody[[which[k]]]
    )
    joint <- if (!is.null(pvalues)) joint_pvalue(pvalues[k], sides, critical)
    c(rows[[k]], own_limits_of_pair, joint)
  }))
}

# Monte Carlo errors of a critical value within which jumps of limits are looked for.
REACH_OF_ERRORS <- 4

# Ends at a critical value, and how far they move with its Monte Carlo error. Limits by exact tests
# do so in jumps (of .002 to .05 where groups are small), so that the end four errors away counts,
# by a quarter. `ends`: of a critical value, and of the ends at another one nearby (NULL), from which
# only the distance is asked for; `scale`: of the ends, where it is not their own.
ends_with_error <- function(ends, critical, scale = identity) {
  at <- ends(critical$value, NULL)
  if (critical$error == 0) {
    return(as.list(c(scale(at), 0, 0)))
  }
  away <- critical$value + c(-1, 1) * REACH_OF_ERRORS * critical$error
  moved <- vapply(away, function(value) abs(scale(ends(value, at)) - scale(at)), c(0, 0))
  as.list(c(scale(at), apply(moved, 1L, max) / REACH_OF_ERRORS))
}

# The p-value of one comparison over its family, where its simultaneous interval ends at the null,
# with its error.
joint_pvalue <- function(p, sides, critical) {
  if (is.nan(p) || is.null(critical$tail)) {
    return(list(p_joint = min(critical$count * p, 1), p_joint_error = 0))
  }
  found <- critical$tail(-stats::qt(min(p / sides, 0.5), critical$df))
  # no group's rate varies
  if (is.nan(found$value)) {
    return(list(p_joint = min(critical$count * p, 1), p_joint_error = 0))
  }
  list(p_joint = max(found$value * sides / 2, p), p_joint_error = found$error * sides / 2)
}

# Critical values of the intervals and of the one-sided bounds of a family of metrics, with their
# Monte Carlo errors.
critical_values <- function(metrics, cells, pairs, contrast, simultaneous, level) {
  df <- metrics[[1L]]$df
  count <- if (simultaneous == "none") 1 else length(metrics) * nrow(pairs)
  joint <- NULL
  if (count > 1 && simultaneous == "max-z") {
    slopes <- do.call(
      rbind,
      lapply(metrics, function(m) {
        on_scale <- m$influence / spread_of_terms(m$rate, contrast)
        on_scale[pairs[, 1L], , drop = FALSE] - on_scale[pairs[, 2L], , drop = FALSE]
      })
    )
    if (all(is.finite(slopes))) {
      joint <- max_z(cell_covariance(slopes, cells$totals, cells$scatter, cells$units), df)
    }
  }
  at <- function(level) {
    if (level <= 0) {
      return(list(value = 0, error = 0))
    }
    if (is.null(joint)) {
      list(value = stats::qt(1 - (1 - level) / count / 2, df), error = 0)
    } else {
      joint$quantile(level)
    }
  }
  list(
    two_sided = at(level),
    one_sided = at(2 * level - 1),
    tail = joint$tail,
    df = df,
    count = count
  )
}

# Largest |Z_j| of jointly normal (or t) estimates: quantile(level) and tail(statistic), each with
# its error, that of a difference from Python's draws, which are as many.
max_z <- function(covariance, df, draws = 2^16) {
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
    for (k in seq_len(count)) {
      largest <- pmax(largest, abs(noise %*% root[, k]))
    }
    if (is.finite(df)) {
      largest <- largest / sqrt(stats::rchisq(draws, df) / df)
    }
    largest <- sort(largest)
  }
  quantile <- function(level) {
    bonferroni <- stats::qt(1 - (1 - level) / (2 * max(count, 1)), df)
    if (count < 2L) {
      return(list(value = bonferroni, error = 0))
    }
    step <- sqrt(level * (1 - level) * 2 / draws)
    near <- stats::quantile(largest, pmin(pmax(level + c(0, -step, step), 0), 1), names = FALSE)
    list(value = min(bonferroni, near[1L]), error = (near[3L] - near[2L]) / 2)
  }
  tail <- function(statistic) {
    if (count == 0L) {
      return(list(value = NaN, error = 0))
    }
    bound <- min(1, count * 2 * stats::pt(-abs(statistic), df))
    if (count < 2L || bound <= 1 / (1 + draws)) {
      return(list(value = bound, error = 0))
    }
    p <- (1 + sum(largest >= statistic)) / (1 + draws)
    list(value = min(bound, p), error = sqrt((p * (1 - p) + 1 / draws) * 2 / draws))
  }
  list(quantile = quantile, tail = tail)
}

# A p-value by the score that is above so many times the error is far from a decision.
GAP_NEAR <- 4
# Likewise of one among several, whose error is known as Bonferroni's share, up to half of the
# simulated one.
GAP_NEAR_OF_EACH <- 8
# Limits by the score have the continuity correction where fewer cases than this are expected in a
# cell.
CORRECTED_BELOW <- 10

# The largest absolute difference over several metrics and all pairs. Of one difference (two groups,
# one rate) it is its size. Otherwise, if every difference lies within its limits at the critical
# value c, the maximum lies between the largest distance of the limits from 0 on the near side and
# on the far side, so that its coverage is at least nominal. `critical`: of the band that is given
# for every difference, by default its own. `method`: "score", or "mee", which is the score without
# its factor N/(N - 1) and has no exact tests. `error`: of the switch to exact tests where one
# difference is known; `exact`: whether it is judged by them.
crosscheck_largest <- function(
  totals,
  rows,
  metrics,
  level,
  critical,
  clustered,
  scatter = NULL,
  units = 0,
  squares = NULL,
  margin = 0.1,
  method = "score",
  error = 1 - level,
  exact = NULL
) {
  values_of <- function(totals) {
    lapply(metrics, function(m) {
      cell_metric(totals, as_metric(m, ncol(totals)), rows, scatter, units, squares, clustered)
    })
  }
  found <- values_of(totals)
  pairs <- utils::combn(nrow(totals), 2L)
  terms <- data.frame(
    metric = rep(seq_along(metrics), each = ncol(pairs)),
    first = pairs[1L, ],
    second = pairs[2L, ]
  )
  over <- function(f, from = found, ...) {
    Map(function(m, i, j) f(from[[m]], i, j, ...), terms$metric, terms$first, terms$second)
  }
  difference <- unlist(over(function(of, i, j) of$rate[i] - of$rate[j]))
  known <- is.finite(difference)
  if (!any(known)) {
    return(NULL)
  }
  terms <- terms[known, ]
  difference <- difference[known]
  few <- unlist(over(too_few))
  complete <- all(known) && !any(few)
  if (length(difference) == 1L && !few) {
    if (is.null(exact)) {
      exact <- exactly(found[[terms$metric]], terms$first, terms$second, method, error)
    }
    return(size_of_difference(found, terms, level, margin, complete, method, exact))
  }
  slopes <- function(from) {
    do.call(rbind, over(function(of, i, j) of$influence[i, ] - of$influence[j, ], from))
  }
  # of all units together, for the law of the largest; of the two groups of each difference
  table_df <- if (is.null(scatter)) Inf else found[[1L]]$df
  df <- unlist(over(pair_df, contrast = "difference", linear = FALSE))
  df[few] <- table_df
  smoothed <- if (is.null(scatter)) totals + 0.5 * added_share(totals) else totals
  joint <- max_z(cell_covariance(slopes(values_of(smoothed)), smoothed, scatter, units), table_df)
  variance <- diag(cell_covariance(slopes(found), totals, scatter, units))
  # of each term whether its limits are corrected and whether its rows are too few
  method_of <- function(continuity) {
    Map(
      function(m, i, j, corrected, few) {
        if (few) {
          return(list(ends = function(critical) c(-1, 1), z = function(null) 0))
        }
        pair_method(found[[m]], i, j, "difference", method, corrected)
      },
      terms$metric,
      terms$first,
      terms$second,
      continuity,
      few
    )
  }
  plain <- method_of(rep(FALSE, nrow(terms)))
  z_at <- function(null) vapply(plain, function(how) how$z(null), 0)
  z <- list(low = z_at(-margin), high = z_at(margin), equal = z_at(0))
  # `error`: Monte Carlo error of the critical value, where jumps of limits are looked for
  decided <- function(critical, error = 0) {
    # what the smallest p-value is held to; whether tests are exact does not depend on what is
    # simulated
    each <- 2 * stats::pt(-critical, table_df)
    share <- (1 - level) / nrow(terms)
    small <- method == "score" &
      !few &
      is.null(scatter) &
      unlist(over(function(of, i, j) {
        any(vapply(
          of$parts,
          function(part) {
            t <- effective_table(part, i, j)
            needs_exact(t[2L], t[4L], smallest_expected(t), share)
          },
          NA
        ))
      }))
    corrected <- !few &
      is.null(scatter) &
      unlist(over(function(of, i, j) {
        any(vapply(
          of$parts,
          function(part) {
            smallest_expected(effective_table(part, i, j)) < CORRECTED_BELOW
          },
          NA
        ))
      }))
    moved <- if (error > 0) 2 * stats::pt(-critical + c(-1, 1) * REACH_OF_ERRORS * error, table_df)
    gap_decision(
      found,
      terms,
      method_of(corrected),
      z,
      small,
      few,
      df,
      each,
      margin,
      level,
      complete,
      moved
    )
  }
  own <- joint$quantile(level)
  if (is.null(critical)) {
    critical <- own$value
  }
  at <- decided(critical, own$error)
  same <- isTRUE(all.equal(own$value, critical, tolerance = 0.02))
  interval <- if (same) at else decided(own$value, own$error)
  top <- max(abs(difference))
  # an end moves with c by about its distance from the estimate over c; those by exact tests in
  # jumps
  with_error <- function(range, jumps) {
    smooth <- 1.5 *
      abs(range - top) /
      max(own$value, 0.1) *
      (own$error + same * abs(own$value - critical))
    c(range, pmax(smooth, jumps))
  }
  over_all <- function(p) {
    tail <- joint$tail(-stats::qt(min(p, 1) / 2, table_df))
    list(value = max(tail$value, p), error = tail$error)
  }
  equal <- over_all(at$equal)
  above <- over_all(at$outside)
  c(
    terms,
    list(
      difference = difference,
      std_error = sqrt(pmax(variance, 0)),
      low = at$low,
      high = at$high,
      estimate = top,
      range = at$range,
      critical = own$value,
      critical_error = own$error,
      interval = with_error(interval$range, interval$jumps[1:2]),
      bounds = with_error(interval$bounds, c(interval$jumps[3L], 0)),
      statistic = at$statistic,
      pvalue = if (all(few)) NaN else equal$value,
      pvalue_error = equal$error,
      p_above = if (all(few)) NaN else above$value,
      p_above_error = above$error,
      p_inside = if (all(few)) {
        NaN
      } else if (complete) {
        at$inside
      } else {
        1
      },
      p_inside_error = 0
    )
  )
}

# The gap where one difference is known: the size of it. Unless all are known (`complete`) it may be
# as large as 1.
size_of_difference <- function(found, terms, level, margin, complete, method, exact) {
  metric <- found[[terms$metric]]
  i <- terms$first
  j <- terms$second
  df <- pair_df(metric, i, j, "difference", linear = FALSE)
  at <- function(level) list(value = stats::qt((1 + level) / 2, metric$df), error = 0)
  critical <- list(two_sided = at(level), one_sided = at(2 * level - 1))
  row <- compare_pair(metric, i, j, "difference", method, exact, critical, margin, level)
  size <- function(low, high) {
    most <- min(max(abs(low), abs(high)), 1)
    c(max(low, -high, 0), if (complete) most else 1)
  }
  range <- size(row$low, row$high)
  list(
    metric = terms$metric,
    first = i,
    second = j,
    difference = row$estimate,
    std_error = row$std_error,
    low = row$low,
    high = row$high,
    estimate = abs(row$estimate),
    range = range,
    critical = stats::qt((1 + level) / 2, df),
    critical_error = 0,
    interval = c(range, 0, 0),
    bounds = c(size(row$bound_low, row$bound_high), 0, 0),
    statistic = abs(row$z_equal),
    pvalue = row$p_row,
    pvalue_error = 0,
    p_above = min(row$p_below, row$p_above),
    p_above_error = 0,
    p_inside = if (complete) row$p_inside else 1,
    p_inside_error = 0
  )
}

# The largest of several differences against the margin, at a critical value of their band. Above
# it: some difference is, the smallest p-value, to be taken over all of them. Inside: all are, the
# largest p-value as it is (intersection-union test: Berger 1982, Technometrics 24, 295-300). Exact
# tests replace the score where they are switched on and the score is not far from deciding. `df`:
# of each difference; a group of few units makes its own differences uncertain, not those of the
# others. The statistic is that of the smallest p-value by the score. `moved`: the error of each
# limit where the critical value is some Monte Carlo errors off; jumps: how far the ends of the
# interval, and the lower limit of the verdict, move to there, over the number of those errors.
gap_decision <- function(
  found,
  terms,
  by,
  z,
  small,
  few,
  df,
  each,
  margin,
  level,
  complete,
  moved = NULL
) {
  error <- 1 - level
  width <- pmax(z$low - z$high, 0)
  tails <- function(z, width) pmin(1, stats::pt(-z, df) + stats::pt(-z - width, df))
  outside <- pmin(tails(-z$low, width), tails(z$high, width))
  inside <- pmax(tails(z$low, width), tails(-z$high, width))
  equal <- 2 * stats::pt(-abs(z$equal), df)
  outside[few] <- inside[few] <- equal[few] <- 1
  ends_at <- function(critical) {
    ends <- vapply(seq_along(by), function(k) by[[k]]$ends(critical[k]), c(0, 0))
    rbind(pmax(ends[1L, ], -1), pmin(ends[2L, ], 1))
  }
  statistic <- abs(z$equal)[order(equal, -abs(z$equal))[1L]]
  band <- ends_at(stats::qt(1 - each / 2, df))
  bound <- function(error) mapply(one_sided_critical, width, error, df)
  of_all <- ends_at(bound(each))
  alone <- ends_at(bound(error))
  may_be_inside <- complete && all(inside <= GAP_NEAR * error)
  fair <- c(-margin, margin)
  of_one_rate <- vapply(found[terms$metric], function(of) length(of$parts) == 1L, NA)
  near_deciding <- pmin(outside, equal) <= GAP_NEAR_OF_EACH * error / nrow(terms) | may_be_inside
  exact <- which(small & of_one_rate & near_deciding)
  # of each difference by exact tests the searches of its limits: of both sides, of one, and of the
  # verdict
  searches <- lapply(exact, function(k) {
    part <- found[[terms$metric[k]]]$parts[[1L]]
    cells <- effective_table(part, terms$first[k], terms$second[k])
    shows <- list(width = width[k], critical = one_sided_critical(width[k], each, df[k]))
    list(
      cells = cells,
      shows = shows,
      two = function(error, near = NULL) interval_searches(cells, "difference", error, near),
      one = function(error, near = NULL) {
        tail <- stats::pnorm(-one_sided_critical(width[k], error, df[k]))
        one_sided_searches(cells, "difference", fair, tail, near)
      }
    )
  })
  names(searches) <- exact
  exact_limits(unlist(lapply(searches, function(of) {
    c(of$two(each), of$one(error), evidence_searches(of$cells, "difference", fair, of$shows))
  })))
  for (k in exact) {
    of <- searches[[paste(k)]]
    shows <- exact_evidence(of$cells, "difference", fair, of$shows)
    outside[k] <- min(shows$p_below, shows$p_above)
    inside[k] <- shows$p_inside
    equal[k] <- exact_equality(of$cells, "difference")
    band[, k] <- exact_limits(of$two(each))
    of_all[, k] <- shows$limits
    alone[, k] <- exact_limits(of$one(error))
  }
  # a difference beyond the margin is one, and the limits of what may be equal do not leave the fair
  # range
  outside <- pmax(outside, equal)
  same <- equal > each
  of_all[1L, same] <- pmin(of_all[1L, same], margin)
  of_all[2L, same] <- pmax(of_all[2L, same], -margin)
  range_of <- function(ends) {
    c(max(ends[1L, ], -ends[2L, ], 0), if (complete) min(max(abs(ends)), 1) else 1)
  }
  list(
    low = band[1L, ],
    high = band[2L, ],
    range = range_of(band),
    bounds = c(range_of(of_all)[1L], range_of(alone)[2L]),
    statistic = statistic,
    outside = min(outside),
    inside = max(inside),
    equal = min(equal),
    jumps = gap_jumps(list(band, band, of_all), searches, moved)
  )
}

# How far the near end of the band, its far end, and the near end of the limits of the verdict move
# where the error of each is another, over the number of Monte Carlo errors: of the difference that
# has each, if its limits are exact.
gap_jumps <- function(ends, searches, moved) {
  near <- function(limits) max(limits[1L], -limits[2L])
  sizes <- list(near, function(limits) max(abs(limits)), near)
  mapply(
    function(ends, size, sides) {
      at <- apply(ends, 2L, size)
      largest <- which.max(at)
      own <- searches[[paste(largest)]]
      if (is.null(moved) || is.null(own)) {
        return(0)
      }
      moved_sizes <- vapply(
        moved,
        function(error) size(exact_limits(own[[sides]](error, ends[, largest]))),
        0
      )
      max(abs(moved_sizes - max(at))) / REACH_OF_ERRORS
    },
    ends,
    sizes,
    c("two", "two", "one")
  )
}

# Critical value c with P(Z < -c) + P(Z < -c - width) = error.
one_sided_critical <- function(width, error, df) {
  least <- stats::qt(1 - error, df)
  excess <- function(c) stats::pt(-c, df) + stats::pt(-c - width, df) - error
  if (excess(least) <= 1e-12) {
    return(least)
  }
  stats::uniroot(excess, c(least - 1e-9, stats::qt(1 - error / 2, df) + 1e-9), tol = 1e-13)$root
}
