# Comparisons within strata of what has limits in each stratum (quantiles, slopes and intercepts of
# calibration) or is drawn (standardised differences, R squared), and at each of several cut-offs.
# With the weights of Mantel and Haenszel, w = w1 w0 / (w1 + w0), the value of a group is
# sum(w v) / sum(w); its limits come from those of the strata by MOVER (Zou, Donner 2008, Statistics
# in Medicine 27, 1693-1702).

# Rows of a stratum on either side of its quantile, rows of either label that a regression needs in
# one, and units that a stratum needs to be drawn, and to have a say on standardised differences.
FEWEST_BEYOND_QUANTILE <- 5
FEWEST_OF_REGRESSION <- 20
FEWEST_OF_DRAWN_STRATUM <- 5
FEWEST_OF_DRAWN_HOMOGENEITY <- 20

# The p-value of one difference in all strata (Cochran 1954), with how many have a say.
cochran_test <- function(differences, variances) {
  kept <- is.finite(differences) & is.finite(variances) & variances > 0
  if (sum(kept) < 2L) {
    return(c(sum(kept), NaN, NaN))
  }
  d <- differences[kept]
  q <- sum((d - stats::weighted.mean(d, 1 / variances[kept]))^2 / variances[kept])
  c(sum(kept), q, stats::pchisq(q, sum(kept) - 1, lower.tail = FALSE))
}

# A comparison of two groups, of which `cells` has for every crossing of stratum and group: value,
# own(k, critical), enough, positive, n, weight, and of regressions bias and size. `pair`: the
# crossings of the group and then those of the reference, or of all others where `cells` has all rows
# of every stratum in `all`: with these the group is then compared, with its own weights.
compare_adjusted_limits <- function(cells, pair, contrast, limit, level, together) {
  of_all <- !is.null(cells$all)
  half <- length(pair) / 2
  at <- list(pair[seq_len(half)], pair[half + seq_len(half)])
  used <- which(cells$enough[at[[1L]]] & cells$enough[at[[2L]]])
  at <- lapply(at, function(k) k[used])
  weight <- lapply(at, function(k) cells$weight[k])
  share <- weight[[1L]] * if (of_all) 1 else weight[[2L]] / (weight[[1L]] + weight[[2L]])
  share <- share / sum(share)
  everybody <- cells$all[used]
  # a bias is as 1 / n: what one stratum of all these rows would not have is taken away
  raw <- lapply(at, function(k) cells$value[k])
  bias <- lapply(at, function(k) cells$bias[k])
  size <- lapply(at, function(k) cells$size[k])
  if (of_all) {
    raw[[2L]] <- vapply(everybody, `[[`, 0, "value")
    bias[[2L]] <- vapply(everybody, `[[`, 0, "bias")
    squares <- weight[[1L]]^2 / size[[1L]] + weight[[2L]]^2 / size[[2L]]
    size[[2L]] <- (weight[[1L]] + weight[[2L]])^2 / squares
  }
  shift <- Map(
    function(b, n) if (is.null(cells$bias)) rep(0, length(used)) else b * (1 - n / sum(n)),
    bias,
    size
  )
  of_strata <- Map(`-`, raw, shift)
  limits_of <- function(g, critical) {
    ends <- if (of_all && g == 2L) {
      vapply(everybody, function(all) all$own(critical), c(0, 0))
    } else {
      vapply(at[[g]], function(k) cells$own(k, critical), c(0, 0))
    }
    ends - rep(shift[[g]], each = 2L)
  }
  value <- vapply(of_strata, function(v) if (length(used)) sum(share * v) else NaN, 0)
  over_strata <- function(g, ends, correlations = NULL) {
    reach <- function(gap) root_of_distances(share * pmax(gap, 0), correlations)
    value[g] + c(-reach(of_strata[[g]] - ends[1L, ]), reach(ends[2L, ] - of_strata[[g]]))
  }
  # of strata that share clusters
  shared <- !is.null(cells$moves) && length(used) > 0L
  related <- if (shared) {
    list(
      correlations_of(cells$moves[at[[1L]]]),
      correlations_of(if (of_all) lapply(everybody, `[[`, "moves") else cells$moves[at[[2L]]])
    )
  }
  own <- function(g, critical) {
    if (!length(used)) {
      return(c(NaN, NaN))
    }
    over_strata(g, limits_of(g, critical), related[[g]])
  }
  ratio <- contrast == "ratio"
  none <- !length(used) || (ratio && !all(cells$positive[unlist(at)]))
  values <- mover_values(
    value,
    rep(NaN, 2L),
    vapply(at, function(k) sum(cells$n[k]), 0),
    rep(none, 2L),
    own,
    cells$method
  )
  if (of_all) {
    values$n[2L] <- sum(values$n)
    values$against <- function(g, reference, ratio) {
      list(
        value = value[2L],
        n = values$n[2L],
        own = function(critical) own(2L, critical),
        contrast = if (!none) {
          contrast_over_strata(everybody, value, shift, share, over_strata, ratio, shared)
        }
      )
    }
  }
  found <- c(0, NaN, NaN)
  if (!none && !of_all && !share_units(Filter(Negate(is.null), related))) {
    scale <- if (ratio) log else identity
    widths <- vapply(1:2, function(g) diff(scale(limits_of(g, 2)))^2 / 16, numeric(length(used)))
    found <- cochran_test(
      scale(of_strata[[1L]]) - scale(of_strata[[2L]]),
      rowSums(matrix(widths, length(used)))
    )
  }
  compare_adjusted(values, contrast, limit, level, together, c(length(used), found))
}

# A group beside everybody over strata: the distances that each stratum's contrast has, by MOVER.
contrast_over_strata <- function(everybody, value, shift, share, over_strata, ratio, shared) {
  parts <- lapply(everybody, function(all) all$contrast(if (ratio) value))
  related <- if (shared) {
    lapply(1:2, function(k) correlations_of(lapply(parts, function(part) part$moves[[k]])))
  }
  scale <- if (ratio) function(x) log(pmax(x, 0)) else identity
  back <- if (ratio) exp else identity
  found <- mover_of_two(
    scale(value),
    function(k, critical) {
      ends <- vapply(parts, function(part) back(part$limits_of(k, critical)), c(0, 0))
      scale(over_strata(k, ends - rep(shift[[k]], each = 2L), related[[k]]))
    },
    back,
    scale
  )
  # a jackknife has a standard error of its own
  if (!is.null(everybody[[1L]]$has_error)) {
    errors <- vapply(parts, `[[`, 0, "std_error")
    found$std_error <- root_of_distances(share * errors, related[[1L]])
  }
  found
}

weight_of_cells <- function(cell, count, weight) {
  as.vector(tapply(
    if (is.null(weight)) rep(1, length(cell)) else weight,
    factor(cell, seq_len(count)),
    sum,
    default = 0
  ))
}

# Quantiles of all crossings.
quantiles_of_cells <- function(y, cell, count, order, weight = NULL, cluster = NULL) {
  samples <- samples_of(y, cell, count, FALSE, weight, cluster)
  values <- quantile_values(samples, order)
  moves <- if (!is.null(cluster) && lies_in_several(cell, cluster)) {
    Map(
      function(s, value) {
        kept <- if (is.null(s$w)) rep(TRUE, length(s$x)) else s$w > 0
        list(unit = s$unit[kept], x = excess_below(s, value))
      },
      samples,
      values$value
    )
  }
  rarer <- min(order, 1 - order)
  least <- max(ceiling(FEWEST_BEYOND_QUANTILE / rarer - 1e-9), FEWEST_UNITS)
  list(
    value = values$value,
    own = values$own,
    enough = values$rows >= least - 1e-9 & values$size >= FEWEST_UNITS - 1e-9,
    positive = !is.na(values$least) & values$least > 0,
    n = values$n,
    weight = weight_of_cells(cell, count, weight),
    moves = moves,
    method = values$method
  )
}

# What compares group `g` with all rows of each of `count` strata by quantiles.
quantiles_of_all_in_strata <- function(y, stratum, place, count, order, weight, cluster, g, ratio) {
  lapply(seq_len(count), function(h) {
    here <- stratum == h
    groups <- sort(unique(place[here]))
    unit <- if (!is.null(cluster)) cluster[here]
    samples <- unname(samples_of(
      y[here],
      match(place[here], groups),
      length(groups),
      FALSE,
      weight[here],
      unit
    ))
    pick <- function(name) unlist(lapply(samples, `[[`, name))
    all <- list(x = pick("x"), w = pick("w"), unit = pick("unit"))
    everybody <- quantile_of_sample(all, order)
    at <- match(g, groups)
    list(
      value = everybody$value,
      own = everybody$own,
      bias = 0,
      moves = if (!is.null(all$unit)) {
        kept <- if (is.null(all$w)) rep(TRUE, length(all$x)) else all$w > 0
        list(unit = all$unit[kept], x = excess_below(all, everybody$value))
      },
      contrast = function(scales) {
        own <- quantile_of_sample(samples[[at]], order)
        quantile_beside_all(samples, at, own, all, everybody, ratio, scales)
      }
    )
  })
}

# The same by slopes or intercepts.
regressions_of_all_in_strata <- function(
  metric,
  y,
  score,
  stratum,
  place,
  count,
  weight,
  cluster,
  g
) {
  lapply(seq_len(count), function(h) {
    here <- stratum == h
    unit <- if (!is.null(cluster)) cluster[here]
    rows <- rows_of_groups(y[here], score[here], place[here], max(place), weight[here], unit)
    all <- attr(rows, "all")
    fitted <- regression_values(list(all), metric)
    list(
      value = fitted$value,
      own = function(critical) fitted$own(1L, critical),
      bias = bias_of_regression(all, metric),
      moves = if (!is.null(unit)) moves_of_regression(all, metric),
      has_error = TRUE,
      contrast = function(scales) coefficient_beside_all(all, g, metric)
    )
  })
}

# Strata and groups of rows that stand once in the crossings of all groups with the strata, and once
# more among all others of each: `count` crossings, `pair` as that of compare_adjusted_limits().
places_of_crossings <- function(cell, count, pair) {
  sides <- count / (length(pair) / 2)
  place <- (cell - 1L) %% sides + 1L
  list(
    once = place <= sides / 2,
    stratum = (cell - 1L) %/% sides + 1L,
    place = place,
    count = count / sides,
    g = (pair[1L] - 1L) %% sides + 1L
  )
}

# Regressions of all crossings.
regressions_of_cells <- function(metric, y, score, cell, count, weight = NULL, cluster = NULL) {
  rows <- unname(rows_of_groups(y, score, cell, count, weight, cluster))
  enough <- vapply(rows, fewest_of_label, 0) >= FEWEST_OF_REGRESSION &
    weight_of_cells(cell, count, weight) > 0
  values <- rep(NaN, count)
  bias <- rep(0, count)
  size <- vapply(
    rows,
    function(r) {
      if (is.null(r$unit)) {
        kish(weights_of(r))
      } else {
        kish(as.vector(tapply(weights_of(r), r$unit, sum)))
      }
    },
    0
  )
  fitted <- regression_values(rows[enough], metric)
  values[enough] <- fitted$value
  bias[enough] <- vapply(rows[enough], bias_of_regression, 0, metric)
  place <- cumsum(enough)
  moves <- vector("list", count)
  if (!is.null(cluster) && lies_in_several(cell, cluster)) {
    moves[enough] <- lapply(rows[enough], moves_of_regression, metric)
  } else {
    moves <- NULL
  }
  list(
    moves = moves,
    value = values,
    own = function(k, critical) fitted$own(place[k], critical),
    enough = enough & abs(values) < 50,
    positive = rep(TRUE, count),
    n = vapply(rows, nrow, 0L),
    weight = weight_of_cells(cell, count, weight),
    bias = bias,
    size = size,
    method = fitted$method
  )
}

# The bias of the last coefficient to the first order (Cox, Snell 1968, JRSS B 30, 248-275): by the
# third derivatives of the log likelihood and the covariance matrix of the estimate.
bias_of_regression <- function(r, metric) {
  r$w <- weights_of(r)
  r$x <- stats::qlogis(r$score)
  r <- r[r$w > 0, ]
  model <- if (metric == "calibration_slope") y ~ x else y ~ offset(x)
  w <- r$w / mean(r$w)
  fit <- stats::glm(model, stats::quasibinomial(), r, weights = w, epsilon = 1e-14, maxit = 100)
  x <- stats::model.matrix(fit)
  p <- stats::fitted(fit)
  whole <- crossprod(x, w * p * (1 - p) * x)
  covariance <- solve(whole)
  if (!is.null(r$unit) || diff(range(w)) > 1e-7) {
    steps <- steps_of_jackknife(x, r$y, w, p, r$unit)
    n <- ncol(steps)
    covariance <- (n - 1) / n * tcrossprod(steps)
  }
  spread <- rowSums((x %*% covariance) * x)
  moved <- -solve(whole, crossprod(x, w * p * (1 - p) * (1 - 2 * p) * spread)) / 2
  moved[ncol(x)]
}

# What each cluster moves the last coefficient by.
moves_of_regression <- function(r, metric) {
  r$w <- weights_of(r)
  r$x <- stats::qlogis(r$score)
  r <- r[r$w > 0, ]
  model <- if (metric == "calibration_slope") y ~ x else y ~ offset(x)
  w <- r$w / mean(r$w)
  fit <- stats::glm(model, stats::quasibinomial(), r, weights = w, epsilon = 1e-14, maxit = 100)
  x <- stats::model.matrix(fit)
  steps <- steps_of_jackknife(x, r$y, w, stats::fitted(fit), r$unit)
  list(unit = sort(unique(r$unit)), x = steps[nrow(steps), ])
}

# What each unit moves the coefficients by, a column each: (H - H_u)^-1 s_u.
steps_of_jackknife <- function(x, y, w, p, unit = NULL) {
  unit <- if (is.null(unit)) seq_along(y) else as.integer(factor(unit))
  whole <- crossprod(x, w * p * (1 - p) * x)
  moved <- vapply(
    split(seq_along(unit), unit),
    function(here) {
      part <- x[here, , drop = FALSE]
      own <- crossprod(part, (w * p * (1 - p))[here] * part)
      as.vector(solve(whole - own, crossprod(part, (w * (y - p))[here])))
    },
    numeric(ncol(x))
  )
  matrix(moved, ncol(x))
}

# What compares two groups within strata, for adjusted_rows().
quantiles_in_strata <- function(y, order, place) {
  function(cell, count, design, about, together) {
    cells <- quantiles_of_cells(y, cell, count, order, design$weight, design$cluster)
    if (identical(about$comparisons, "overall")) {
      cells$all <- quantiles_of_all_in_strata(
        y,
        (cell - 1L) %/% 2L + 1L,
        place,
        count / 2,
        order,
        design$weight,
        design$cluster,
        place[cell %% 2L == 1L][1L],
        about$contrast == "ratio"
      )
    }
    function(pair) {
      level <- about$options$confidence_level
      compare_adjusted_limits(cells, pair, about$contrast, about$limit, level, together)
    }
  }
}

regressions_in_strata <- function(metric, y, score, place) {
  function(cell, count, design, about, together) {
    cells <- regressions_of_cells(metric, y, score, cell, count, design$weight, design$cluster)
    if (identical(about$comparisons, "overall")) {
      cells$all <- regressions_of_all_in_strata(
        metric,
        y,
        score,
        (cell - 1L) %/% 2L + 1L,
        place,
        count / 2,
        design$weight,
        design$cluster,
        place[cell %% 2L == 1L][1L]
      )
    }
    function(pair) {
      level <- about$options$confidence_level
      compare_adjusted_limits(cells, pair, about$contrast, about$limit, level, together)
    }
  }
}

# Every number of a comparison of a report, from the rows; `cell`: the crossing of each row, `pair`:
# those of the group and then of its reference.
crosscheck_adjusted_quantiles <- function(
  y,
  cell,
  count,
  order,
  weight,
  cluster,
  pair,
  contrast,
  ...,
  of_all = FALSE
) {
  if (!is.null(cluster)) {
    cluster <- as.integer(factor(cluster))
  }
  cells <- quantiles_of_cells(y, cell, count, order, weight, cluster)
  if (of_all) {
    at <- places_of_crossings(cell, count, pair)
    cells$all <- quantiles_of_all_in_strata(
      y[at$once],
      at$stratum[at$once],
      at$place[at$once],
      at$count,
      order,
      weight[at$once],
      cluster[at$once],
      at$g,
      contrast == "ratio"
    )
  }
  row <- compare_adjusted_limits(cells, pair, contrast, ...)
  as_columns(list(row[names(row) != "method"]))
}

# What `compute` finds of everybody in the strata of these crossings.
scores_of_all_at <- function(compute, at, metric, y, score, weight, unit) {
  compute(
    metric,
    y[at$once],
    score[at$once],
    at$stratum[at$once],
    at$place[at$once],
    at$count,
    weight[at$once],
    unit[at$once],
    at$g
  )
}

crosscheck_adjusted_regressions <- function(
  metric,
  y,
  score,
  cell,
  count,
  weight,
  cluster,
  pair,
  ...,
  of_all = FALSE
) {
  cells <- regressions_of_cells(metric, y, score, cell, count, weight, cluster)
  if (of_all) {
    at <- places_of_crossings(cell, count, pair)
    cells$all <- scores_of_all_at(
      regressions_of_all_in_strata,
      at,
      metric,
      y,
      score,
      weight,
      cluster
    )
  }
  row <- compare_adjusted_limits(cells, pair, ...)
  as_columns(list(row[names(row) != "method"]))
}

# ---------------------------------------------------------------- standardised differences and R^2

# n / (n - 1) in every stratum, by that of all of them: the variance then lacks what one of all would.
kept_unbiased <- function(units) units / (units - 1) * (sum(units) - 1) / sum(units)

# The sums over strata of both sides that a standardised difference, or R squared, is a function of,
# with the influence of every unit of every crossing on it. `sides`: of every stratum of the group
# and then of the reference, of sums_of_side(); `tables` alike.
adjusted_smooth <- function(tables, sides, share, spread, of_determination) {
  count <- length(sides) / 2
  side <- rep(1:2, each = count)
  pick <- function(name) vapply(sides, `[[`, 0, name)
  over <- function(x) as.vector(tapply(x, side, sum))
  share <- rep(share, 2L)
  variance <- over(spread * pick("v"))
  if (of_determination) {
    loss <- over(share * pick("e") / pick("w"))
    floor <- 1e-12 * over(spread * (1 + pick("mean")^2))
    r_squared <- ifelse(variance > floor, 1 - loss / variance, NaN)
    value <- r_squared[1L] - r_squared[2L]
  } else {
    mean <- over(share * pick("mean"))
    s2 <- sum(variance) / 2
    # a stratum of which no cluster is drawn has none
    value <- if (isTRUE(s2 > 0)) (mean[1L] - mean[2L]) / sqrt(s2) else NaN
  }
  influence <- lapply(seq_along(sides), function(k) {
    own <- sides[[k]]
    table <- tables[[k]]
    by_mean <- (table[, "s"] - own$mean * table[, "w"]) / own$w
    by_variance <- (squares_of_units(table, own$mean) - own$v * table[, "w"]) / own$w
    sign <- c(1, -1)[side[k]]
    if (!of_determination) {
      return(sign * share[k] * by_mean / sqrt(s2) - value * spread[k] / (4 * s2) * by_variance)
    }
    by_error <- (table[, "e"] - own$e / own$w * table[, "w"]) / own$w
    g <- side[k]
    sign *
      (loss[g] * spread[k] * by_variance / variance[g]^2 - share[k] * by_error / variance[g])
  })
  list(value = value, each = if (of_determination) r_squared, influence = influence)
}

# What every unit adds to a group and to everybody, from what those of each side of a stratum add;
# `n`: units of the group in every stratum, and of all others.
influence_of_cells <- function(influence, n) {
  count <- length(n) / 2
  both <- influence[count + seq_len(count)]
  of_group <- Map(function(own, all) own + all[seq_along(own)], influence[seq_len(count)], both)
  of_others <- Map(function(all, own) all[-seq_len(own)], both, n[seq_len(count)])
  c(of_group, of_others)
}

# One comparison within strata by draws of the units of every crossing. `tables`: sums of the units
# of the group's crossings and then of the reference's, `moments`: of their numbers. Where these have
# `shared`, clusters lie in several strata: whole clusters are drawn, or left out, of all strata.
compare_adjusted_draws <- function(
  metric,
  tables,
  moments,
  resamples,
  limit,
  level,
  together,
  of_all = FALSE
) {
  of_determination <- metric == "r_squared"
  count <- length(tables) / 2
  units <- vapply(tables, function(t) if (nrow(t)) kish(t[, "w"]) else 0, 0)
  enough <- units >= FEWEST_OF_DRAWN_STRATUM - 1e-9
  used <- which(enough[seq_len(count)] & enough[count + seq_len(count)])
  cells <- c(used, count + used)
  half <- seq_along(used)
  units <- units[cells]
  drawn_from <- tables[cells]
  total <- moments$weights[1L, cells]
  others <- total[length(used) + half]
  share <- if (of_all) total[half] else total[half] * others / (total[half] + others)
  share <- share / sum(share)
  sizes <- list(units[half], units[length(used) + half])
  if (of_all) {
    of_both <- total[half]^2 / sizes[[1L]] + others^2 / sizes[[2L]]
    sizes[[2L]] <- (total[half] + others)^2 / of_both
  }
  spread <- rep(share, 2L) * c(kept_unbiased(sizes[[1L]]), kept_unbiased(sizes[[2L]]))
  # what is on either side of a stratum: of everybody the units of the group, and of all others
  joined <- function(x, bind) {
    if (!of_all) {
      return(x)
    }
    c(x[half], Map(bind, x[half], x[length(used) + half]))
  }
  of_sides <- joined(drawn_from, rbind)
  across <- !is.null(moments$shared)
  side_cells <- list(half, length(used) + half)
  # of all strata, also of those that are not used
  clusters <- lapply(list(seq_len(count), count + seq_len(count)), function(k) {
    unique(unlist(lapply(tables[k], rownames)))
  })
  statistic <- function(times) {
    sides <- Map(sums_of_side, of_sides, joined(times, c))
    found <- adjusted_smooth(of_sides, sides, share, spread, of_determination)
    squares <- function(influence) {
      if (across) {
        return(unlist(lapply(1:2, function(g) {
          k <- side_cells[[g]]
          squares_of_clusters(k, influence, drawn_from, times, length(clusters[[g]]))
        })))
      }
      vapply(
        seq_along(cells),
        function(k) {
          moved <- influence[[k]]
          n <- nrow(drawn_from[[k]])
          n / (n - 1) * (sum(times[[k]] * moved^2) - sum(times[[k]] * moved)^2 / n)
        },
        0
      )
    }
    if (!of_all) {
      return(c(found$value, squares(found$influence), found$each))
    }
    # the same units move a group's value and everybody's: its own value moves by the one alone
    n <- vapply(drawn_from, nrow, 0L)
    alone <- lapply(1:2, function(g) {
      lapply(seq_along(cells), function(k) {
        found$influence[[k]] * if (g == 1L) k <= length(used) else k > length(used)
      })
    })
    c(
      found$value,
      squares(influence_of_cells(found$influence, n)),
      found$each,
      unlist(lapply(alone, function(own) squares(influence_of_cells(own, n))))
    )
  }
  once <- lapply(drawn_from, function(t) rep(1, nrow(t)))
  few <- vapply(
    1:2,
    function(g) {
      k <- side_cells[[g]]
      if (!length(k)) {
        return(TRUE)
      }
      beyond <- if (of_all) sum(sizes[[g]] - 1) else sum(units[k] - 1)
      if (across) {
        # a cluster in several strata counts once
        members <- if (of_all && g == 2L) unlist(side_cells) else k
        weight <- unlist(lapply(drawn_from[members], function(t) t[, "w"]))
        id <- unlist(lapply(drawn_from[members], rownames))
        beyond <- min(beyond, kish(as.vector(tapply(weight, id, sum))) - 1)
      }
      beyond < FEWEST_DRAWN - 1 - 1e-9
    },
    NA
  )
  resample <- function() {
    if (!across) {
      return(lapply(drawn_from, function(t) {
        n <- nrow(t)
        tabulate(sample.int(n, n, TRUE), n)
      }))
    }
    times <- once
    for (g in 1:2) {
      k <- side_cells[[g]]
      id <- clusters[[g]]
      drawn <- tabulate(sample.int(length(id), length(id), TRUE), length(id))
      times[k] <- lapply(drawn_from[k], function(t) drawn[match(rownames(t), id)])
    }
    times
  }
  law <- function(sample, draws, columns, difference) {
    variances <- rowSums(draws$values[, columns, drop = FALSE])
    value <- draws$values[, difference]
    ok <- is.finite(variances) & variances > 0
    drawn <- ifelse(ok, (value - sample) / sqrt(variances), NaN)
    known <- sort(drawn)
    laws <- if (of_determination) list(known, sort(c(known, -known))) else list(known)
    list(laws = laws, lost = 1 - length(known) / length(drawn))
  }
  none <- length(used) == 0L
  values <- list(value = c(NaN, NaN), own = function(g, critical) c(NaN, NaN))
  contrast <- NULL
  if (!none) {
    at_sample <- statistic(once)
    n_cells <- length(cells)
    draws <- t(vapply(
      seq_len(resamples),
      function(k) {
        statistic(resample())
      },
      at_sample
    ))
    drawn <- list(values = draws)
    sides <- list(half, length(used) + half)
    drawn_sides <- if (of_all) list(half, seq_len(n_cells)) else sides
    jackknife <- function(members, which) {
      if (across) {
        return(sum(vapply(
          Filter(function(g) all(side_cells[[g]] %in% members), 1:2),
          function(g) {
            k <- side_cells[[g]]
            id <- clusters[[g]]
            n <- length(id)
            change <- vapply(
              id,
              function(u) {
                times <- once
                times[k] <- lapply(drawn_from[k], function(t) as.numeric(rownames(t) != u))
                statistic(times)[which]
              },
              0
            )
            (n - 1) / n * sum((change - mean(change))^2)
          },
          0
        )))
      }
      sum(vapply(
        members,
        function(k) {
          n <- nrow(drawn_from[[k]])
          change <- vapply(
            seq_len(n),
            function(u) {
              times <- once
              times[[k]][u] <- 0
              statistic(times)[which]
            },
            0
          )
          (n - 1) / n * sum((change - mean(change))^2)
        },
        0
      ))
    }
    of_law <- function(members, which, columns = 1L + members) {
      found <- law(at_sample[which], drawn, columns, which)
      found$estimate <- at_sample[which]
      found$std_error <- sqrt(
        if (of_determination) jackknife(members, which) else sum(at_sample[1L + members])
      )
      found
    }
    contrast <- of_law(seq_len(n_cells), 1L)
    if (of_determination) {
      first <- if (of_all) c(3L + n_cells, 3L + 2L * n_cells) else c(1L, 1L)
      each <- lapply(1:2, function(g) {
        members <- drawn_sides[[g]]
        of_law(members, 1L + n_cells + g, first[g] + members)
      })
      values$value <- vapply(each, `[[`, 0, "estimate")
      few <- few | vapply(each, function(f) !is.finite(f$estimate) || !f$std_error > 0, NA)
      few <- few | vapply(each, function(f) f$lost > LARGEST_LOST, NA)
      values$own <- function(g, critical) pmin(contrast_of_draws(each[[g]])$limits(critical), 1)
    } else {
      laws <- lapply(1:2, function(g) {
        of_strata <- lapply(half, function(h) {
          k <- sides[[g]][h]
          if (of_all && g == 2L) {
            law_of_mean(pool_moments(moments, cells[c(h, k)]))
          } else {
            law_of_mean(moments, cells[k])
          }
        })
        shared <- if (!across) {
          NULL
        } else if (of_all && g == 2L) {
          shared_by_strata(moments$all, used)
        } else {
          shared_by_strata(moments, cells[sides[[g]]])
        }
        if (across && of_all && g == 2L) {
          of_strata <- lapply(used, function(h) law_of_mean(moments$all, h))
        }
        adjusted_law(of_strata, share, shared)
      })
      values$value <- vapply(laws, `[[`, 0, "mean")
      values$own <- function(g, critical) t_limits(laws[[g]], critical, FALSE)
    }
  }
  n <- vapply(list(used, count + used), function(k) sum(moments$n[k]), 0)
  if (of_all) {
    n[2L] <- sum(n)
  }
  values$n <- n
  values$method <- if (of_determination) BY_SYMMETRIC_DRAWS else BY_DRAWS
  values$against <- function(g, reference, ratio) {
    list(
      value = values$value[2L],
      n = n[2L],
      own = function(critical) values$own(2L, critical),
      contrast = if (!none && !any(few)) contrast_of_draws(contrast)
    )
  }
  found <- c(0, NaN, NaN)
  if (!of_determination && !none && !of_all && !across) {
    by_stratum <- vapply(
      half,
      function(h) {
        k <- c(h, length(used) + h)
        if (min(units[k]) < FEWEST_OF_DRAWN_HOMOGENEITY - 1e-9) {
          return(c(NaN, NaN))
        }
        sides <- Map(sums_of_side, drawn_from[k], once[k])
        alone <- standardised_difference(drawn_from[k], once[k], sides)
        c(
          alone$value,
          sum(vapply(alone$influence, function(i) length(i) * stats::var(i), 0))
        )
      },
      c(0, 0)
    )
    found <- cochran_test(by_stratum[1L, ], by_stratum[2L, ])
  }
  compare_adjusted(values, "difference", limit, level, together, c(length(used), found))
}

# u / (u - 1) of the squares of what whole clusters add, of the crossings `k` of one side: in the place
# of the first, 0 in those of the others. `times`: how often the units of every crossing are drawn; `n`:
# clusters of that side.
squares_of_clusters <- function(k, influence, tables, times, n) {
  id <- unlist(lapply(tables[k], rownames))
  moved <- as.vector(tapply(unlist(influence[k]), id, sum))
  drawn <- as.vector(tapply(unlist(times[k]), id, max))
  total <- n / (n - 1) * (sum(drawn * moved^2) - sum(drawn * moved)^2 / n)
  c(total, rep(0, length(k) - 1))
}

# Sums of units and moments of all crossings; numbers are centred and scaled by all rows.
drawn_cells <- function(x, squared_error, cell, count, weight = NULL, cluster = NULL) {
  w <- if (is.null(weight)) rep(1, length(x)) else weight
  unit <- if (is.null(cluster)) seq_along(x) else as.integer(factor(cluster))
  scale <- sqrt(mean((x - mean(x))^2))
  scale <- if (scale > 0) scale else 1
  list(
    tables = lapply(seq_len(count), function(g) {
      unit_sums((x - mean(x)) / scale, squared_error / scale^2, w, unit, cell == g)
    }),
    moments = moments_in_strata(x, cell, count, list(weight = weight, cluster = cluster))
  )
}

moments_of_cells <- function(m, cells) {
  list(
    mean = m$mean[cells],
    n = m$n[cells],
    units = m$units[cells],
    weights = m$weights[, cells],
    centred = m$centred[, cells],
    negative = m$negative[cells],
    shared = if (!is.null(m$shared)) lapply(m$shared, function(s) s[cells, cells])
  )
}

draws_in_strata <- function(metric, x, squared_error, resamples, seed) {
  function(cell, count, design, about, together) {
    cells <- drawn_cells(x, squared_error, cell, count, design$weight, design$cluster)
    of_all <- if (identical(about$comparisons, "overall")) {
      moments_in_strata(x, (cell - 1L) %/% 2L + 1L, count / 2, design)
    }
    function(pair) {
      moments <- moments_of_cells(cells$moments, pair)
      moments$all <- of_all
      with_seed(
        seed,
        compare_adjusted_draws(
          metric,
          cells$tables[pair],
          moments,
          resamples,
          about$limit,
          about$options$confidence_level,
          together,
          identical(about$comparisons, "overall")
        )
      )
    }
  }
}

crosscheck_adjusted_draws <- function(
  metric,
  x,
  squared_error,
  cell,
  count,
  weight,
  cluster,
  resamples,
  pair,
  limit,
  level,
  together,
  of_all = FALSE
) {
  cells <- drawn_cells(x, squared_error, cell, count, weight, cluster)
  moments <- moments_of_cells(cells$moments, pair)
  if (of_all) {
    at <- places_of_crossings(cell, count, pair)
    design <- list(weight = weight[at$once], cluster = cluster[at$once])
    moments$all <- moments_in_strata(x[at$once], at$stratum[at$once], at$count, design)
  }
  row <- compare_adjusted_draws(
    metric,
    cells$tables[pair],
    moments,
    resamples,
    limit,
    level,
    together,
    of_all
  )
  as_columns(list(row[names(row) != "method"]))
}

# ---------------------------------------------------------------- along cut-offs

# Net benefit within strata, a mean of a number per row, at every cut-off of the `crude` rows.
adjusted_benefits <- function(y, score, place, stratum, design, groups, crude, about) {
  about$options$simultaneous <- "bonferroni"
  about$family <- nrow(crude)
  found <- bind_rows(lapply(unique(crude$cutoff), function(cutoff) {
    benefit <- (score >= cutoff) * ifelse(y == 1, 1, -cutoff / (1 - cutoff))
    here <- crude[crude$cutoff == cutoff, ]
    rows <- adjusted_rows(means_in_strata(benefit), place, stratum, design, groups, here, about)
    rows$cutoff <- cutoff
    rows
  }))
  found <- as_one_family(found, about$options)
  with_disagreements(found, crude, stratum, "difference", "%+.4g")
}

# A rate within strata at every cut-off, by the stratified score.
adjusted_rates <- function(rate, scene, contrast, options, cutoffs, crude, comparisons) {
  input <- scene$input
  groups <- scene$grouping$groups
  stratum <- scene$stratum
  labelled <- !is.null(input$y_true)
  size <- if (labelled) 4L else 2L
  limit <- if (contrast == "ratio") options$threshold else options$margin
  level <- options$confidence_level
  count <- nrow(crude) / length(cutoffs)
  of_all <- identical(comparisons, "overall")
  found <- bind_rows(lapply(seq_len(nrow(crude)), function(k) {
    row <- crude[k, ]
    selected <- as.integer(input$score >= cutoffs[(k - 1L) %/% count + 1L])
    cell <- if (labelled) 4 - 2 * selected - input$y_true else 2 - selected
    cells <- stratum_cells(stratum, scene$grouping$labels, groups, cell, size)
    labels <- scene$grouping$labels
    rows <- list(stratum = stratum, labels = labels, groups = groups, cell = cell)
    pair <- as.list(match(c(row$group, row$reference), groups))
    if (comparisons %in% POOLED) {
      pair[[2L]] <- setdiff(seq_along(groups), pair[[1L]])
    }
    of_pair <- tables_of_pair(
      cells,
      as_metric(rate, size)$parts,
      pair,
      rows,
      input,
      contrast,
      of_all
    )
    tables <- of_pair$tables
    design <- of_pair$design
    one <- compare_strata(
      tables,
      contrast,
      level,
      limit,
      nrow(crude),
      one_sided = FALSE,
      design = design
    )
    name <- row$metric
    c(
      stratified_row(one, tables, name, row$group, row$reference, level, row, design),
      one[c("p_below", "p_above", "p_inside")],
      cutoff = row$cutoff
    )
  }))
  found <- as_one_family(found, options, contrast == "ratio" && limit == 1)
  with_disagreements(found, crude, stratum, contrast)
}

# Adjusted p-values and verdicts of rows at all cut-offs.
as_one_family <- function(found, options, one_value = FALSE) {
  found$pvalue_adjusted <- adjust_pvalues(found$pvalue, options$adjust)
  settle_rows(found, options, 0, one_value)
}

# Every number of a report's comparison of a rate within strata at a cut-off stands in
# crosscheck_strata(); this has the intervals of both adjusted rates, by MOVER of Wilson's limits.
crosscheck_adjusted_rates <- function(k1, n1, k0, n0, level, of_all = FALSE) {
  share <- if (of_all) n1 else n1 * n0 / (n1 + n0)
  share <- share / sum(share)
  if (of_all) {
    k0 <- k1 + k0
    n0 <- n1 + n0
  }
  wilson <- function(k, n) {
    suppressWarnings(vapply(
      seq_along(k),
      function(i) stats::prop.test(k[i], n[i], conf.level = level, correct = FALSE)$conf.int,
      c(0, 0)
    ))
  }
  of_one <- function(k, n) {
    ends <- wilson(k, n)
    value <- sum(share * k / n)
    reach <- function(gap) sqrt(sum((share * gap)^2))
    value + c(-reach(k / n - ends[1L, ]), reach(ends[2L, ] - k / n))
  }
  own_values(of_one(k1, n1), of_one(k0, n0))
}

# The same of weighted or clustered rows, from what crosscheck_designed_strata() takes: Wilson's limits
# of effective counts, with Student's t.
crosscheck_designed_rates <- function(..., contrast, level, of_all = FALSE) {
  found <- designed_of_arrays(..., contrast = contrast, of_all = of_all)
  t <- found$tables[[1L]]
  df <- found$design$df
  share <- t$w / sum(t$w)
  critical <- stats::qt((1 + level) / 2, df)
  of_one <- function(rate, cases) {
    ends <- vapply(seq_along(rate), function(h) wilson_of(rate[h], cases[h], critical), c(0, 0))
    reach <- function(gap) sqrt(sum((share * gap)^2))
    sum(share * rate) + c(-reach(rate - ends[1L, ]), reach(ends[2L, ] - rate))
  }
  group <- t$k1 / t$n1
  reference <- t$k0 / t$n0
  cases <- t$n0
  if (of_all) {
    reference <- t$f * group + (1 - t$f) * reference
    cases <- 1 / (t$f^2 / t$n1 + (1 - t$f)^2 / t$n0)
  }
  own_values(of_one(group, t$n1), of_one(reference, cases))
}

own_values <- function(one, zero) {
  list(
    value_low = one[1L],
    value_high = one[2L],
    value_reference_low = zero[1L],
    value_reference_high = zero[2L]
  )
}
