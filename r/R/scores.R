# Scores of an audit: MADD, distances between the score distributions of groups, and ABROCA, the
# area between ROC curves (Gardner, Brooks, Baker 2019, LAK19, 225-234).

# A row of every pair: MADD at the quantiles of the pooled scores, with limits, test and verdict,
# and MADD as published (`headline`) beside it; for several pairs the largest.
madd_rows <- function(input, grouping, pairs, options) {
  scores <- lapply(grouping$groups, function(g) sort(input$score[grouping$labels == g]))
  n_groups <- length(scores)
  # against all others: their scores together, behind those of the groups
  if (any(pairs > n_groups) && n_groups == 2L) {
    pairs <- cbind(1L, 2L)
  } else if (any(pairs > n_groups)) {
    others <- lapply(seq_len(n_groups), function(g) sort(unlist(scores[-g])))
    scores <- c(scores, others)
    grouping$groups <- c(grouping$groups, rep("all others", n_groups))
  }
  compared <- lapply(seq_len(nrow(pairs)), function(k) {
    madd_pair(scores[[pairs[k, 1L]]], scores[[pairs[k, 2L]]], grouping$groups[pairs[k, ]], options)
  })
  count <- length(compared)
  of <- function(name) vapply(compared, function(row) row[[name]], 0)
  adjusted <- adjust_pvalues(of("pvalue"), options$adjust)
  judged <- adjust_pvalues(of("pvalue_verdict"), options$adjust)
  # who is shown to lie beyond the margin is shown to differ, also among the others
  beyond <- vapply(compared, function(row) isTRUE(row$verdict == "violated"), NA) &
    is.finite(adjusted)
  judged[beyond] <- pmax(judged[beyond], adjusted[beyond])
  # an adjusted p-value may be that of another row, with the error of that row
  error <- count * max(0, of("mc_pvalue_verdict"), na.rm = TRUE)
  rows <- lapply(seq_len(count), function(k) {
    row <- compared[[k]]
    row[c(
      "pvalue_adjusted",
      "mc_pvalue_adjusted",
      "pvalue_verdict_adjusted",
      "mc_pvalue_verdict_adjusted"
    )] <-
      c(adjusted[k], count * row$mc_pvalue, judged[k], error)
    if (is.finite(judged[k]) && judged[k] > 1 - options$confidence_level) {
      row$verdict <- "undecided"
    }
    row
  })
  bind_rows(c(rows, list(largest_madd_row(scores, pairs, grouping, options, n_groups))))
}

counts_between <- function(score, edges) {
  tabulate(findInterval(score, edges) + 1L, length(edges) + 1L)
}

# Whether scores are tied, five rows to a value, and yet no value occurs in both samples.
no_common_score <- function(first, second) {
  values <- list(unique(first), unique(second))
  5 * length(unlist(values)) <= length(first) + length(second) &&
    !any(values[[1L]] %in% values[[2L]])
}

madd_pair <- function(first, second, names, options) {
  n0 <- length(first)
  n1 <- length(second)
  level <- options$confidence_level
  row <- function(...) {
    tidy_row("madd", names[1L], names[2L], n = n0, n_reference = n1, confidence_level = level, ...)
  }
  if (!n0 || !n1) {
    return(row(
      ci_low = 0,
      ci_high = 2,
      bound_low = 0,
      bound_high = 2,
      pvalue_verdict = NaN,
      pvalue = NaN,
      verdict = "insufficient evidence"
    ))
  }
  edges <- pooled_edges(first, second)
  found <- crosscheck_madd_pair(
    counts_between(first, edges),
    counts_between(second, edges),
    level,
    options$n_resamples,
    2 * options$margin,
    no_common_score(first, second)
  )
  side <- if (min(n0, n1) < 2L) {
    3L
  } else if (found$p_above <= found$p_inside) {
    1L
  } else {
    2L
  }
  stable <- crosscheck_madd_search(first, second, options$max_bins)
  row(
    estimate = found$madd,
    std_error = found$sd,
    ci_low = found$low,
    ci_high = found$high,
    statistic = found$madd,
    pvalue = found$pvalue,
    method = "directional delta",
    bound_low = found$bound_low,
    bound_high = found$bound_high,
    pvalue_verdict = c(found$p_above, found$p_inside, NaN)[side],
    verdict = c("violated", "satisfied", "insufficient evidence")[side],
    null_mean = found$null_mean,
    bias_corrected = found$bias_corrected,
    mid_pvalue = found$mid,
    n_bins = length(edges) + 1,
    h_low = stable$low,
    h_high = stable$high,
    h_sup = stable$h_sup,
    headline = stable$mean,
    headline_null_mean = stretch_null_mean(first, second, stable),
    mc_std_error = found$sd_error,
    mc_ci_low = found$low_error,
    mc_bound_low = found$bound_low_error,
    mc_pvalue = found$pvalue_error,
    mc_mid_pvalue = found$mid_error,
    mc_pvalue_verdict = c(found$p_above_error, found$p_inside_error, NaN)[side],
    mc_bias_corrected = found$bias_error
  )
}

# The largest of several comparisons in their bins: Bonferroni for its limits, and the exact test of
# the largest standardised MADD with the labels of all groups permuted together, from 64 to 256
# cells of all scores; of more than ten groups from as many as the comparison with the most bins
# has.
largest_madd_row <- function(scores, pairs, grouping, options, n_groups) {
  sizes <- lengths(scores)
  own <- seq_len(n_groups)
  at <- pairs[sizes[pairs[, 1L]] > 0 & sizes[pairs[, 2L]] > 0, , drop = FALSE]
  count <- nrow(at)
  if (count < 2L) {
    return(NULL)
  }
  every <- count == nrow(pairs)
  level <- options$confidence_level
  # as many draws as the limits of all comparisons together need
  draws <- max(options$n_resamples, ceiling(2 * nrow(pairs) / (1 - level)))
  limits <- lapply(seq_len(count), function(k) {
    both <- scores[at[k, ]]
    sides <- lapply(both, counts_between, pooled_edges(both[[1L]], both[[2L]]))
    found <- madd_limits(
      sides[[1L]],
      sides[[2L]],
      1 - (1 - level) / count,
      draws,
      2 * options$margin
    )
    if (no_common_score(both[[1L]], both[[2L]])) {
      found[c("high", "bound_high", "p_inside")] <- c(2, 2, 1)
    }
    c(found, madd = counts_madd(sides[[1L]], sides[[2L]]))
  })
  of <- function(name) numbers_of(limits, name)
  highest <- function(name) if (every) max(of(name)) else 2
  error <- function(name) max(of(paste0(name, "_error")))
  present <- which(sizes[own] > 0)
  bins <- vapply(seq_len(count), function(k) grid_bins(sizes[at[k, 1L]], sizes[at[k, 2L]]), 0)
  count_cells <- if (length(present) > 10L) max(bins) else min(max(16 * max(bins), 64), 256)
  cells <- pooled_edges(unlist(scores[own]), numeric(0), count_cells)
  fine <- t(vapply(scores[present], counts_between, numeric(length(cells) + 1L), cells))
  if (!length(cells)) {
    fine <- t(fine)
  }
  # a group, or all but the one that a place behind the groups stands for
  groups_at <- function(place) if (place > n_groups) setdiff(own, place - n_groups) else place
  sides <- lapply(1:2, function(side) {
    lapply(at[, side], function(place) match(intersect(groups_at(place), present), present))
  })
  test <- crosscheck_madd_largest(fine, sides[[1L]], sides[[2L]], bins, options$n_resamples)
  top <- which.max(of("madd"))
  p <- pmin(count * c(min(of("p_above")), if (every) max(of("p_inside")) else 1), 1)
  joint <- list(
    p_above = p[1L],
    p_above_error = count * error("p_above"),
    low = max(of("low")),
    low_error = error("low"),
    bound_low = max(of("bound_low")),
    bound_low_error = error("bound_low")
  )
  joint <- madd_beside_equality(joint, test, 1 - level, 2 * options$margin)
  p[1L] <- joint$p_above
  side <- which.min(p)
  verdict <- if (p[side] > 1 - level) "undecided" else c("violated", "satisfied")[side]
  tidy_row(
    "madd_max",
    grouping$groups[at[top, 1L]],
    grouping$groups[at[top, 2L]],
    estimate = max(of("madd")),
    ci_low = joint$low,
    ci_high = highest("high"),
    statistic = test$statistic,
    pvalue = test$pvalue,
    n = sum(sizes[own]),
    method = "exact permutation, largest standardised MADD",
    bound_low = joint$bound_low,
    bound_high = highest("bound_high"),
    confidence_level = level,
    pvalue_verdict = p[side],
    pvalue_verdict_adjusted = p[side],
    verdict = verdict,
    null_mean = test$null_mean,
    mid_pvalue = test$mid,
    mc_ci_low = joint$low_error,
    mc_bound_low = joint$bound_low_error,
    mc_pvalue_verdict = joint$p_above_error,
    mc_pvalue_verdict_adjusted = joint$p_above_error,
    mc_pvalue = test$pvalue_error,
    mc_mid_pvalue = test$mid_error,
    mc_null_mean = test$null_mean_error
  )
}

# ABROCA of every pair in an audit. Its limits hold every area whose distance from the estimate is
# not larger than both laws of that distance allow: from a bootstrap of the curves, and from
# exchanging groups within labels.
abroca_rows <- function(input, grouping, pairs, options) {
  level <- options$confidence_level
  counts <- abroca_counts(input$score, input$y_true, grouping$labels, grouping$groups)
  smallest <- apply(apply(counts, 1:2, sum), 1L, min)
  of_pairs <- crosscheck_abroca(
    counts,
    pairs[, 1L],
    pairs[, 2L],
    level,
    options$curve_resamples,
    options$margin
  )
  found <- bind_rows(lapply(seq_len(nrow(pairs)), function(k) {
    found <- lapply(of_pairs, `[[`, k)
    size <- grouping$sizes[pairs[k, ]]
    row <- tidy_row(
      "abroca",
      grouping$groups[pairs[k, 1L]],
      grouping$groups[pairs[k, 2L]],
      ci_low = 0,
      ci_high = 1,
      bound_low = 0,
      bound_high = 1,
      n = size[1L],
      n_reference = size[2L],
      method = "bootstrap and exchange of groups",
      rate = found$auc,
      rate_reference = found$auc_reference,
      confidence_level = level,
      expected_if_equal = NaN,
      p_below = NaN,
      p_above = NaN,
      p_inside = NaN
    )
    # the bootstrap of fewer than ten rows of a label understates the noise
    if (min(smallest[pairs[k, ]]) < 10) {
      return(row)
    }
    row[c("ci_low", "bound_low")] <- max(found$estimate - found$reach, 0)
    row[c("ci_high", "bound_high")] <- min(found$upper, 1)
    row[c("estimate", "statistic")] <- found$estimate
    row[c("std_error", "expected_if_equal", "mc_std_error")] <- found[c("sd", "mean", "sd_error")]
    row[c("mc_ci_low", "mc_ci_high", "mc_bound_low", "mc_bound_high")] <- found$reach_error
    row[c("pvalue", "p_above", "p_inside")] <- found[c("pvalue", "p_above", "p_inside")]
    row[c("p_below", "mc_pvalue", "mc_expected_if_equal")] <- c(
      1,
      found$pvalue_error,
      found$mean_error
    )
    row$mc_pvalue_verdict <- max(found$p_above_error, found$p_inside_error)
    row
  }))
  found$pvalue_adjusted <- adjust_pvalues(found$pvalue, options$adjust)
  if (!is.null(found$mc_pvalue)) {
    found$mc_pvalue_adjusted <- nrow(found) * found$mc_pvalue
    found$mc_pvalue_verdict_adjusted <- nrow(found) * found$mc_pvalue_verdict
  }
  settle_rows(found, options)
}

# ROC curve: false and true positive rates by descending score, from (0, 0) to (1, 1).
roc_points <- function(negatives, positives) {
  list(
    x = c(0, cumsum(rev(negatives))) / sum(negatives),
    y = c(0, cumsum(rev(positives))) / sum(positives)
  )
}

# Height between jumps, by linear interpolation.
roc_at <- function(curve, x) {
  left <- findInterval(x, curve$x, rightmost.closed = TRUE)
  from <- curve$x[left]
  share <- (x - from) / (curve$x[left + 1L] - from)
  share[!is.finite(share)] <- 0
  from <- curve$y[left]
  from + share * (curve$y[left + 1L] - from)
}

# Numbers of a matrix of curves that are held at once.
MOST_HEIGHTS <- 1e6

# Draws of curves in portions that are handled at once; `places`: numbers that a curve has.
portions_of_draws <- function(draws, places) {
  at_once <- max(MOST_HEIGHTS %/% places, 1)
  split(seq_len(draws), (seq_len(draws) - 1) %/% at_once)
}

# Heights of many curves in the middles of `size` equal steps, a column a curve. negatives, positives:
# counts by score, a column a curve. Between two jumps a height is a line: which one holds at a place
# follows from how many places each jump lies beyond.
roc_heights <- function(negatives, positives, size) {
  down <- rev(seq_len(nrow(negatives)))
  x <- rbind(0, columns_summed(negatives[down, , drop = FALSE]))
  y <- rbind(0, columns_summed(positives[down, , drop = FALSE]))
  inner <- seq_len(nrow(negatives))
  slope <- (y[-1L, ] - y[inner, ]) / (x[-1L, ] - x[inner, ])
  slope[!is.finite(slope)] <- 0
  # places up to a jump; a jump at a place lies before it
  before <- ceiling(x * size - 0.5 - 1e-9)
  times <- before[-1L, ] - before[inner, ]
  curve <- y[inner, ] - x[inner, ] * slope
  places <- (seq_len(size) - 0.5) / size
  matrix(rep.int(curve, times) + rep.int(slope, times) * places, size)
}

# Shares of each column's sum up to and with each row.
columns_summed <- function(counts) {
  summed <- apply(counts, 2L, cumsum)
  dim(summed) <- dim(counts)
  summed / rep(summed[nrow(summed), ], each = nrow(summed))
}

# Exact area: between two neighbouring jumps both curves are straight, so two inner points tell
# their ends.
roc_area_between <- function(first, second) {
  at <- sort(unique(c(first$x, second$x)))
  width <- diff(at)
  inner <- lapply(1:2, function(k) {
    x <- at[-length(at)] + width * k / 3
    roc_at(first, x) - roc_at(second, x)
  })
  start <- 2 * inner[[1L]] - inner[[2L]]
  stop <- 2 * inner[[2L]] - inner[[1L]]
  size <- abs(start) + abs(stop)
  sum(
    width *
      ifelse(start * stop >= 0, size / 2, ifelse(size > 0, (start^2 + stop^2) / (2 * size), 0))
  )
}

# AUC as the probability that a favourable row has the larger score, ties counted half.
roc_auc <- function(negatives, positives) {
  below <- cumsum(negatives) - negatives
  sum(positives * (below + negatives / 2)) / (sum(positives) * sum(negatives))
}

# counts: groups x 2 x scores. Area and AUCs of every pair; `slack`: how far bins of scores may blur
# an area.
crosscheck_abroca <- function(counts, first, second, level, resamples, margin) {
  size <- 500
  groups <- lapply(seq_len(dim(counts)[1L]), function(g) {
    own <- matrix(counts[g, , ], 2L)
    rows <- rowSums(own)
    if (!all(rows > 0)) {
      return(list(auc = NaN, slack = 0))
    }
    curve <- roc_points(own[1L, ], own[2L, ])
    drawn <- lapply(1:2, function(label) stats::rmultinom(resamples, rows[label], own[label, ]))
    portions <- portions_of_draws(resamples, max(ncol(own), size))
    heights <- lapply(portions, function(draws) {
      roc_heights(drawn[[1L]][, draws, drop = FALSE], drawn[[2L]][, draws, drop = FALSE], size)
    })
    auc <- roc_auc(own[1L, ], own[2L, ])
    hidden <- hidden_by_few(own)
    # one score in all rows is no sample of a continuous law
    list(
      counts = own,
      curve = curve,
      height = as.vector(roc_heights(cbind(own[1L, ]), cbind(own[2L, ]), size)),
      drawn = do.call(cbind, heights),
      auc = auc,
      hidden = hidden,
      sample = if (hidden$still && auc == 0.5) c(Inf, Inf) else rows,
      slack = sum(own[1L, ] / rows[1L] * own[2L, ] / rows[2L]) / 2
    )
  })
  as_columns(lapply(seq_along(first), function(k) {
    pair <- groups[c(first[k], second[k])]
    a <- pair[[1L]]
    b <- pair[[2L]]
    out <- list(auc = a$auc, auc_reference = b$auc, slack = a$slack + b$slack)
    known <- c("reach", "pvalue", "mean", "sd", "p_above", "p_inside")
    out[c("estimate", "upper", known, paste0(known, "_error"))] <- NaN
    if (is.nan(a$auc) || is.nan(b$auc)) {
      return(out)
    }
    estimate <- roc_area_between(a$curve, b$curve)
    apart <- a$drawn - b$drawn
    laws <- list(
      colMeans(abs(apart - (a$height - b$height))),
      roc_exchanged(a$counts, b$counts, size, resamples)
    )
    hidden <- lapply(pair, `[[`, "hidden")
    found <- distance_summary(laws, colMeans(abs(apart)), estimate, level, margin, hidden)
    if (a$hidden$still && b$hidden$still) {
      found[c("sd", "sd_error")] <- NaN
    }
    gap <- auc_gap(c(a$auc, b$auc), lapply(pair, `[[`, "sample"))
    if (margin > estimate) {
      found$p_inside <- max(found$p_inside, gap$pvalue(margin))
    }
    found$upper <- max(estimate + found$reach, gap$upper(level))
    utils::modifyList(out, c(found, estimate = estimate))
  }))
}

# Two-sided p-value and upper limit of the difference of two AUCs, below which no area is, with the
# variance of Hanley and McNeil at the limit (Newcombe 2006, Statistics in Medicine 25, 559-573,
# method 5). `rows`: of either label, for each AUC.
auc_gap <- function(auc, rows) {
  up <- order(auc)
  auc <- auc[up]
  variance <- function(a, k) {
    if (is.infinite(k[1L])) {
      return(0)
    }
    many <- sum(k) / 2 - 1
    a * (1 - a) * (1 + many * (1 - a) / (2 - a) + many * a / (1 + a)) / prod(k)
  }
  seen <- auc[2L] - auc[1L]
  pvalue <- function(gap) {
    distance <- gap - seen
    if (distance <= 0) {
      return(1)
    }
    # the values nearest to .5, where the variance is largest, of those that either may have
    lower <- min(max(0.5, auc[1L] - distance), auc[1L])
    upper <- max(min(0.5, auc[2L] + distance), auc[2L])
    2 *
      stats::pnorm(
        -distance / sqrt(variance(lower, rows[[up[1L]]]) + variance(upper, rows[[up[2L]]]))
      )
  }
  upper <- function(level) {
    if (pvalue(1) > 1 - level) {
      return(1)
    }
    if (pvalue(seen + 1e-12) < 1 - level) {
      return(seen)
    } # no noise
    stats::uniroot(function(gap) pvalue(gap) - (1 - level), c(seen + 1e-12, 1), tol = 1e-13)$root
  }
  list(pvalue = pvalue, upper = upper)
}

# Areas after exchanging groups within labels, where every score is its place among the negatives of
# its group, so that only the curves count (Venkatraman 2000, Biometrics 56, 1134-1138). a, b:
# counts, labels x scores; size: places of the curves.
roc_exchanged <- function(a, b, size, resamples) {
  place <- function(counts) round((cumsum(counts[1L, ]) - counts[1L, ] / 2) / sum(counts[1L, ]), 12)
  at <- sort(unique(c(place(a), place(b))))
  spot <- c(match(place(a), at), match(place(b), at))
  drawn <- lapply(1:2, function(label) {
    counts <- as.vector(rowsum(c(a[label, ], b[label, ]), spot))
    exchanged_counts(counts, sum(a[label, ]), resamples)
  })
  portions <- portions_of_draws(resamples, max(length(at), size))
  areas <- lapply(portions, function(draws) {
    chosen <- lapply(drawn, function(of) of$chosen(draws))
    left <- Map(function(of, chosen) of$counts - chosen, drawn, chosen)
    apart <- roc_heights(chosen[[1L]], chosen[[2L]], size) -
      roc_heights(left[[1L]], left[[2L]], size)
    colMeans(abs(apart))
  })
  unlist(areas, use.names = FALSE)
}

# Up to so many places their counts are drawn, one place after the other in all draws at once.
FEW_PLACES <- 200

# Of `counts` rows at each place `size` drawn without replacement, as a function of the draws.
exchanged_counts <- function(counts, size, draws) {
  places <- length(counts)
  chosen <- matrix(0, places, draws)
  if (places > FEW_PLACES) {
    rows <- rep(seq_len(places), counts)
    for (draw in seq_len(draws)) {
      chosen[, draw] <- tabulate(rows[sample.int(length(rows), size)], places)
    }
  } else {
    left <- rep(size, draws)
    after <- rev(cumsum(rev(counts))) - counts
    for (place in seq_len(places)) {
      chosen[place, ] <- stats::rhyper(draws, counts[place], after[place], left)
      left <- left - chosen[place, ]
    }
  }
  list(counts = counts, chosen = function(draws) chosen[, draws, drop = FALSE])
}

# What few errors of a curve do not show, counts: labels x scores. `still`: no draw moves the curve,
# for scores separate the labels, or are all equal; `rows`: of the rarer label, there and with less
# than one whole error; `errors`: of either label rows k, misplaced ones x and the size c of each,
# from the share of the other label on their wrong side.
hidden_by_few <- function(counts) {
  seen <- lapply(1:2, function(label) range(which(counts[label, ] > 0)))
  size <- rowSums(counts)
  apart <- seen[[1L]][2L] < seen[[2L]][1L] || seen[[2L]][2L] < seen[[1L]][1L]
  still <- apart || diff(range(seen)) == 0
  below <- function(x) (cumsum(x) - x / 2) / sum(x)
  wrong <- list(below(counts[2L, ]), 1 - below(counts[1L, ]))
  if (roc_auc(counts[1L, ], counts[2L, ]) < 0.5) {
    wrong <- lapply(wrong, function(v) 1 - v)
  }
  moments <- vapply(
    1:2,
    function(k) colSums(counts[k, ] * cbind(wrong[[k]], wrong[[k]]^2)) / size[k],
    c(0, 0)
  )
  # equal errors of all rows (one score) are no rare ones
  rare <- moments[1L, ] > 1e-15 & moments[1L, ]^2 < (1 - 1e-9) * moments[2L, ]
  errors <- rbind(size, size * moments[1L, ]^2 / moments[2L, ], moments[2L, ] / moments[1L, ])[,
    rare,
    drop = FALSE
  ]
  list(
    still = still,
    rows = if (still || min(size) * moments[1L, 1L] < 1) min(size) else Inf,
    errors = errors
  )
}

# Reach, p-values, mean and standard deviation from two laws of the distance and the drawn areas,
# with the Monte Carlo errors of a difference between two simulations of this size. `hidden`: of
# either curve, what few errors do not show: k pairs of a row of each label all have their order
# with a probability of (1 - d)^k at most; two such curves d apart, (1 - d/2)^(2k); and Clopper and
# Pearson's limit of x of k rows misplaced.
distance_summary <- function(laws, areas, observed, level, margin, hidden) {
  n <- length(areas)
  rows <- min(numbers_of(hidden, "rows"))
  errors <- do.call(cbind, lapply(hidden, `[[`, "errors"))
  of <- list(
    errors[1L, ] - errors[2L, ],
    errors[2L, ] + 1,
    errors[2L, ] / errors[1L, ],
    errors[3L, ]
  )
  right <- function(d) stats::pbeta(pmax(1 - of[[3L]] - d / of[[4L]], 0), of[[1L]], of[[2L]])
  share <- function(x) {
    if (x <= 0) {
      return(1)
    }
    above <- vapply(laws, function(law) (1 + sum(law >= x - 1e-12)) / (1 + n), 0)
    max(above, (1 - min(x, 1) / 2)^(2 * rows), right(x))
  }
  beyond <- floor((1 - level) * (1 + n) + 1e-9)
  reach <- vapply(laws, function(law) if (beyond) sort(law, decreasing = TRUE)[beyond] else 1, 0)
  floors <- if (beyond) {
    c(
      2 - 2 * (1 - level)^(0.5 / rows),
      of[[4L]] * (1 - stats::qbeta(1 - level, of[[1L]], of[[2L]]) - of[[3L]])
    )
  }
  step <- sqrt(2 * level * (1 - level) / n)
  near <- stats::quantile(
    laws[[which.max(reach)]],
    pmin(pmax(level + c(-step, step), 0), 1),
    names = FALSE
  )
  s <- stats::sd(areas)
  fourth <- mean((areas - mean(areas))^4)
  p <- vapply(c(observed, observed - margin, margin - observed), share, 0)
  list(
    reach = max(reach, floors),
    reach_error = diff(near) / 2,
    pvalue = p[1L],
    pvalue_error = share_error(p[1L], n),
    p_above = p[2L],
    p_above_error = share_error(p[2L], n),
    p_inside = p[3L],
    p_inside_error = share_error(p[3L], n),
    mean = mean(laws[[2L]]),
    mean_error = stats::sd(laws[[2L]]) * sqrt(2 / n),
    sd = s,
    sd_error = sqrt(max(fourth - s^4, 0) / (4 * s^2) * 2 / n)
  )
}

# Rows to counts per group, label and distinct score.
abroca_counts <- function(score, y, group, groups) {
  values <- sort(unique(score))
  # by position: scores that differ in the last digit only have one text, and so would be one level
  # of a factor
  counts <- table(
    factor(group, groups),
    factor(y, 0:1),
    factor(match(score, values), seq_along(values))
  )
  array(as.numeric(counts), dim(counts))
}
