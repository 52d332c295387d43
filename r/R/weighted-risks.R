# Isotonic calibration and parts of the Brier score of rows with weights or in clusters, by effective
# rows: those for which the limits of independent rows hold (Korn, Graubard 1998, Survey Methodology
# 24, 193-201). Written from the definitions; pool adjacent violators by hand, for stats::isoreg()
# has no weights.

# Of very many units so many are left out, and of very many scores so many are kept.
MOST_LEFT_OUT <- 2000
MOST_SCORES <- 1000

# Rows of a group with weights above 0, of mean 1.
weighted_risks <- function(r) {
  w <- weights_of(r)
  r <- r[w > 0, , drop = FALSE]
  w <- w[w > 0]
  unit <- if (is.null(r$unit)) seq_len(nrow(r)) else match(r$unit, sort(unique(r$unit)))
  at <- sort(unique(r$score))
  list(score = at, place = match(r$score, at), y = r$y, w = w / mean(w), unit = unit)
}

sums_at <- function(x, place, count) {
  as.vector(tapply(x, factor(place, seq_len(count)), sum, default = 0))
}

# The isotonic regression of y with weights w by pooling adjacent violators.
pooled_fit <- function(y, w) {
  level <- weight <- numeric(0)
  number <- integer(0)
  for (i in seq_along(y)) {
    level <- c(level, y[i])
    weight <- c(weight, w[i])
    number <- c(number, 1L)
    k <- length(level)
    while (k > 1L && level[k - 1L] >= level[k]) {
      both <- weight[k - 1L] + weight[k]
      level[k - 1L] <- (weight[k - 1L] * level[k - 1L] + weight[k] * level[k]) / both
      weight[k - 1L] <- both
      number[k - 1L] <- number[k - 1L] + number[k]
      k <- k - 1L
      level <- level[seq_len(k)]
      weight <- weight[seq_len(k)]
      number <- number[seq_len(k)]
    }
  }
  rep(level, number)
}

weighted_curve <- function(r) {
  count <- length(r$score)
  w <- sums_at(r$w, r$place, count)
  pooled_fit(sums_at(r$w * r$y, r$place, count) / w, w)
}

kish_of_units <- function(r) kish(as.vector(tapply(r$w, r$unit, sum)))

# The weighted share of label 1 of some rows, the number of rows that it is worth, and for a limit
# with some error as many as Student's t leaves.
effective_share <- function(y, w, unit) {
  p <- sum(w * y) / sum(w)
  n <- length(y)
  kish_units <- kish(as.vector(tapply(w, unit, sum)))
  number <- kish_units
  moved <- as.vector(tapply(w * (y - p), unit, sum))
  m <- length(moved)
  if (p > 0 && p < 1 && m > 1L) {
    v <- sum(moved^2) / sum(w)^2 * (1 - 1 / n) / (1 - 1 / m)
    if (v > 0) number <- min(kish(w), p * (1 - p) / v)
  }
  at <- function(error) {
    if (!kish_units - 1 > 1e-9) {
      return(0)
    }
    if (error >= 0.5) {
      return(number)
    }
    number * (stats::qt(error, n - 1) / stats::qt(error, kish_units - 1))^2
  }
  list(share = p, number = number, at = at)
}

# As honest_band(), of weighted rows.
weighted_band <- function(r, points) {
  count <- length(r$score)
  w <- sums_at(r$w, r$place, count)
  starts <- block_starts(w, min(max(round(2 * kish(r$w)^(1 / 3)), 5), 100))
  ends <- c(starts[-1L] - 1L, count)
  block <- findInterval(r$place, starts)
  lengths <- 2^(0:floor(log2(length(starts))))
  function(score, error) {
    each <- error / (points * length(lengths))
    limit <- function(label, blocks) {
      found <- vapply(
        lengths[lengths <= length(blocks)],
        function(run) {
          here <- block %in% blocks[seq_len(run)]
          share <- effective_share(as.numeric(r$y[here] == label), r$w[here], r$unit[here])
          n <- share$at(each)
          if (!(share$share > 0 && n > 0)) {
            return(0)
          }
          stats::qbeta(each, n * share$share, n * (1 - share$share) + 1)
        },
        0
      )
      max(found, 0)
    }
    c(
      limit(1, rev(which(r$score[ends] <= score))),
      1 - limit(0, which(r$score[starts] >= score))
    )
  }
}

# As equal_curves(), of weighted rows: rows add w^2 p (1 - p) to the variance, or what the mean weights
# of both labels would; clusters the products of all pairs, times the correlation within them.
equal_weighted_curves <- function(one, zero, resamples) {
  sides <- list(weighted_risks(one), weighted_risks(zero))
  at <- sort(unique(c(sides[[1L]]$score, sides[[2L]]$score)))
  score <- unlist(lapply(sides, function(r) r$score[r$place]))
  y <- unlist(lapply(sides, `[[`, "y"))
  w <- unlist(lapply(sides, `[[`, "w"))
  side <- rep(1:2, c(length(sides[[1L]]$y), length(sides[[2L]]$y)))
  unit <- c(sides[[1L]]$unit, max(sides[[1L]]$unit) + sides[[2L]]$unit)
  place <- match(score, at)
  if (length(at) > MOST_SCORES) {
    starts <- block_starts(sums_at(w, place, length(at)), MOST_SCORES)
    place <- findInterval(place, starts)
    at <- at[starts]
  }
  count <- length(at)
  starts <- block_starts(sums_at(w, place, count), 10)
  ends <- c(starts[-1L] - 1L, count)
  block <- findInterval(place, starts)
  runs <- expand.grid(last = seq_along(starts), first = seq_along(starts))
  runs <- runs[runs$first <= runs$last, ]
  cells <- function(x) {
    rbind(
      sums_at(x[side == 1L], place[side == 1L], count),
      sums_at(x[side == 2L], place[side == 2L], count)
    )
  }
  of_block <- findInterval(seq_len(count), starts)
  per_block <- function(m) {
    rbind(
      sums_at(m[1L, ], of_block, length(starts)),
      sums_at(m[2L, ], of_block, length(starts))
    )
  }
  weight <- cells(w)
  squares <- cells(w^2)
  size <- per_block(weight)
  counted <- ifelse(size > 0, size, 1)
  h <- ifelse(size[1L, ] > 0 & size[2L, ] > 0, size[1L, ] * size[2L, ] / colSums(size), 0)
  over <- function(x) c(0, cumsum(x))[runs$last + 1L] - c(0, cumsum(x))[runs$first]
  mean_weight <- function(label) {
    vapply(
      1:2,
      function(g) {
        here <- side == g & y == label
        if (any(here)) sum(w[here]^2) / sum(w[here]) else 0
      },
      0
    )
  }
  by_label <- lapply(1:0, mean_weight)
  # sum of the products of all pairs of rows of a unit, of every group
  pairs_of_units <- function(x) {
    vapply(
      1:2,
      function(g) {
        here <- side == g
        sum(tapply(x[here], unit[here], sum)^2) - sum(x[here]^2)
      },
      0
    )
  }
  of_clusters <- function(p) {
    if (!anyDuplicated(unit)) {
      return(numeric(nrow(runs)))
    }
    s <- w * sqrt(pmax(p * (1 - p), 0))
    possible <- pairs_of_units(s)
    rho <- ifelse(possible > 0, pmax(pairs_of_units(w * (y - p)) / possible, 0), 0)
    moved <- s * (rep(h, each = 2L) / counted)[cbind(side, block)]
    vapply(
      seq_len(nrow(runs)),
      function(k) {
        in_run <- block >= runs$first[k] & block <= runs$last[k]
        sum(rho * pairs_of_units(ifelse(in_run, moved, 0)))
      },
      0
    )
  }
  scan <- function(y, drawn) {
    positives <- cells(w * y)
    p <- pooled_fit(colSums(positives) / colSums(weight), colSums(weight))
    each <- rep(p, each = 2L)
    spread <- squares * each * (1 - each)
    added <- 0
    if (!drawn) {
      mixed <- outer(by_label[[1L]], 1 - p) + outer(by_label[[2L]], p)
      spread <- pmax(spread, weight * each * (1 - each) * mixed)
      added <- of_clusters(p[place])
    }
    rest <- per_block(positives - weight * each) / counted
    variance <- over(h^2 * colSums(per_block(spread) / counted^2)) + added
    gap <- over(h * (rest[1L, ] - rest[2L, ]))
    known <- variance > 1e-12
    if (!any(known)) {
      return(list(largest = NaN))
    }
    z <- ifelse(known, abs(gap) / sqrt(pmax(variance, 1e-300)), 0)
    # runs that differ by rounding are one
    top <- which(z >= max(z) - 1e-9)[1L]
    list(
      largest = z[top],
      low = at[starts[runs$first[top]]],
      high = at[ends[runs$last[top]]],
      difference = gap[top] / over(h)[top],
      p = p
    )
  }
  seen <- scan(y, FALSE)
  if (is.nan(seen$largest)) {
    nothing <- c("statistic", "pvalue", "low", "high", "difference")
    return(c(stats::setNames(as.list(rep(NaN, 5L)), nothing), pvalue_error = 0))
  }
  df <- max(min(vapply(sides, kish_of_units, 0)) - 1, 1)
  statistic <- -stats::qnorm(stats::pt(-seen$largest, df))
  chance <- seen$p[place]
  drawn <- vapply(
    seq_len(resamples),
    function(b) scan(as.numeric(stats::runif(length(chance)) < chance), TRUE)$largest,
    0
  )
  p <- (sum(drawn >= statistic - 1e-9, na.rm = TRUE) + 1) / (resamples + 1)
  list(
    statistic = statistic,
    pvalue = p,
    low = seen$low,
    high = seen$high,
    difference = seen$difference,
    pvalue_error = sqrt(2 * max(p * (1 - p), 1 / resamples) / resamples)
  )
}

# A part of the Brier score of weighted rows, with what a difference is made about and its limits.
weighted_part <- function(r, metric) {
  w <- r$w
  if (metric == "uncertainty") {
    share <- effective_share(r$y, w, r$unit)
    p <- share$share
    own <- function(critical) {
      n <- share$at(stats::pnorm(-critical))
      if (!n > 0) {
        return(c(0, 0.25))
      }
      uncertainty_limits(n, p, critical)
    }
    return(list(value = p * (1 - p), number = share$number, own = own))
  }
  forecast <- r$score[r$place]
  if (metric == "discrimination") {
    forecast <- rep(sum(w * r$y) / sum(w), length(w))
  }
  gain <- (r$y - forecast)^2 - (r$y - weighted_curve(r)[r$place])^2
  mean_gain <- sum(w * gain) / sum(w)
  moved <- as.vector(tapply(w * (gain - mean_gain), r$unit, sum))
  m <- max(length(moved), 2)
  error <- sqrt(sum(moved^2) * m / (m - 1)) / sum(w)
  df <- max(kish_of_units(r) - 1, 1)
  brier_part(mean_gain, mean_gain - optimism_of_units(r), error, df)
}

# Mean squared error of the curves that leave each unit out, at its rows, less that of the curve.
optimism_of_units <- function(r) {
  count <- length(r$score)
  if (count > MOST_SCORES) {
    starts <- block_starts(sums_at(r$w, r$place, count), MOST_SCORES)
    r$place <- findInterval(r$place, starts)
    count <- length(starts)
  }
  weight <- sums_at(r$w, r$place, count)
  positives <- sums_at(r$w * r$y, r$place, count)
  fit <- pooled_fit(positives / weight, weight)
  rows <- unname(split(seq_along(r$y), r$unit))
  if (anyDuplicated(r$unit)) {
    number <- rep(1, length(rows))
    rows <- rows[order(vapply(rows, function(k) mean(r$place[k]), 0))]
  } else {
    kind <- paste(r$place, r$y, sprintf("%a", r$w))
    first <- which(!duplicated(kind))
    number <- as.vector(table(match(kind, kind[first])))
    ascending <- order(r$place[first], r$y[first], r$w[first])
    rows <- as.list(first[ascending])
    number <- number[ascending]
  }
  if (length(rows) > MOST_LEFT_OUT) {
    kept <- unique(round(seq(1, length(rows), length.out = MOST_LEFT_OUT)))
    rows <- rows[kept]
    number <- number[kept]
  }
  without <- function(k) {
    place <- r$place[k]
    left <- weight - sums_at(r$w[k], place, count)
    remains <- left > 1e-9 * weight
    if (!any(remains)) {
      return(rep(0.5, length(k)))
    }
    share <- (positives - sums_at(r$w[k] * r$y[k], place, count))[remains] / left[remains]
    curve <- pooled_fit(pmin(pmax(share, 0), 1), left[remains])
    before <- cumsum(remains)[place]
    within <- function(i) pmin(pmax(i, 1L), length(curve))
    (curve[within(before)] + curve[within(before + !remains[place])]) / 2
  }
  sums <- vapply(
    seq_along(rows),
    function(i) {
      k <- rows[[i]]
      gain <- (r$y[k] - without(k))^2 - (r$y[k] - fit[r$place[k]])^2
      number[i] * c(sum(r$w[k] * gain), sum(r$w[k]))
    },
    c(0, 0)
  )
  sum(sums[1L, ]) / sum(sums[2L, ])
}

# ---------------------------------------------------------------- within strata

# A part of the Brier score of all crossings of strata and groups.
parts_of_cells <- function(metric, y, score, cell, count, weight = NULL, cluster = NULL) {
  rows <- unname(rows_of_groups(y, score, cell, count, weight, cluster))
  designed <- !is.null(weight) || !is.null(cluster)
  enough <- vapply(rows, fewest_of_label, 0) >= FEWEST_OF_LABEL &
    weight_of_cells(cell, count, weight) > 0
  parts <- vector("list", count)
  parts[enough] <- lapply(rows[enough], function(r) {
    if (designed) weighted_part(weighted_risks(r), metric) else plain_part(r, metric)
  })
  moves <- NULL
  if (!is.null(cluster) && lies_in_several(cell, cluster)) {
    moves <- vector("list", count)
    moves[enough] <- lapply(rows[enough], moves_of_part, metric)
  }
  units <- function(r) {
    w <- weights_of(r)
    kish(if (is.null(r$unit)) w else as.vector(tapply(w, r$unit, sum)))
  }
  list(
    metric = metric,
    moves = moves,
    parts = parts,
    enough = enough,
    n = vapply(rows, nrow, 0L),
    size = vapply(rows, units, 0),
    weight = weight_of_cells(cell, count, weight)
  )
}

# What rows of clusters move a part by; of y(1 - y) they move y.
moves_of_part <- function(r, metric) {
  kept <- weights_of(r) > 0
  found <- weighted_risks(r)
  gain <- found$y
  if (metric != "uncertainty") {
    forecast <- found$score[found$place]
    if (metric == "discrimination") {
      forecast <- rep(sum(found$w * found$y) / sum(found$w), length(forecast))
    }
    gain <- (found$y - forecast)^2 - (found$y - weighted_curve(found)[found$place])^2
  }
  list(unit = r$unit[kept], x = found$w * (gain - stats::weighted.mean(gain, found$w)))
}

# One comparison within strata: sums over strata of parts and of their variances; of uncertainty of
# its limits by MOVER, less the bias that one stratum of all rows would not have.
compare_adjusted_parts <- function(cells, pair, limit, level, together) {
  # `all`: everybody in every stratum, beside whom the group is compared with its own weights
  of_all <- !is.null(cells$all)
  half <- length(pair) / 2
  at <- list(pair[seq_len(half)], pair[half + seq_len(half)])
  used <- which(cells$enough[at[[1L]]] & cells$enough[at[[2L]]])
  at <- lapply(at, function(k) k[used])
  weight <- lapply(at, function(k) cells$weight[k])
  share <- weight[[1L]] * if (of_all) 1 else weight[[2L]] / (weight[[1L]] + weight[[2L]])
  share <- share / sum(share)
  size <- lapply(at, function(k) cells$size[k])
  of_strata <- lapply(at, function(k) cells$parts[k])
  if (of_all) {
    size[[2L]] <- Reduce(`+`, weight)^2 / Reduce(`+`, Map(function(w, n) w^2 / n, weight, size))
    of_strata[[2L]] <- lapply(cells$all[used], `[[`, "part")
  }
  apart <- cells$metric == "uncertainty"
  # correlations of strata that share clusters; of y(1 - y) without their signs
  moves_of <- function(m) {
    found <- correlations_of(m)
    if (apart) abs(found) else found
  }
  shared <- !is.null(cells$moves) && length(used) > 0L
  related <- list(NULL, NULL)
  if (shared) {
    related[[1L]] <- moves_of(cells$moves[at[[1L]]])
    related[[2L]] <- moves_of(
      if (of_all) lapply(cells$all[used], `[[`, "moves") else cells$moves[at[[2L]]]
    )
  }
  join <- if (length(used)) {
    function(parts, size, correlations) {
      pick <- function(name) vapply(parts, `[[`, 0, name)
      value <- pick("value")
      if (apart) {
        rows <- pick("number")
        shift <- -value / pmax(rows, 1) * (1 - size / sum(size))
        v <- sum(share * (value - shift))
        own <- function(critical) {
          ends <- vapply(parts, function(p) p$own(critical), c(0, 0)) - rep(shift, each = 2L)
          reach <- function(gap) root_of_distances(share * pmax(gap, 0), correlations)
          away <- value - shift
          pmin(pmax(v + c(-reach(away - ends[1L, ]), reach(ends[2L, ] - away)), 0), 0.25)
        }
        return(list(value = v, own = own))
      }
      error <- share * pick("error")
      v <- error^2
      df <- pick("df")
      squares <- sum(v^2 / df)
      if (!is.null(correlations)) {
        v <- error * drop(correlations %*% error)
        squares <- sum(outer(v / sqrt(df), v / sqrt(df)) * correlations^2)
      }
      total <- if (all(is.infinite(df))) {
        Inf
      } else if (squares > 0) {
        sum(v)^2 / squares
      } else {
        sum(df)
      }
      brier_part(sum(share * value), sum(share * pick("inner")), sqrt(sum(v)), total)
    }
  }
  none <- !length(used)
  sides <- if (!none) Map(join, of_strata, size, related)
  n <- vapply(at, function(k) sum(cells$n[k]), 0)
  if (of_all) {
    n[2L] <- sum(n)
  }
  own <- function(g, critical) if (none) c(NaN, NaN) else sides[[g]]$own(critical)
  value <- if (none) c(NaN, NaN) else vapply(sides, `[[`, 0, "value")
  contrast <- NULL
  if (!none && apart) {
    contrast <- limits_apart(value, own)
  }
  if (!none && !apart) {
    if (of_all) {
      both <- lapply(cells$all[used], `[[`, "both")
      sides_of_contrast <- lapply(1:2, function(k) {
        moved <- lapply(cells$all[used], function(all) all$beside[[k]])
        join(lapply(both, `[[`, k), size[[k]], if (shared) correlations_of(moved))
      })
    } else {
      sides_of_contrast <- sides
    }
    contrast <- mover_of_two(
      vapply(sides_of_contrast, `[[`, 0, "centre"),
      function(k, critical) sides_of_contrast[[k]]$own(critical),
      floor = TRUE
    )
    contrast$estimate <- value[1L] - value[2L]
  }
  values <- list(
    value = value,
    n = n,
    own = own,
    method = "isotonic, left-out rows (MOVER)",
    against = function(g, reference, ratio) {
      list(
        value = value[2L],
        n = n[2L],
        own = function(critical) own(2L, critical),
        contrast = contrast
      )
    }
  )
  compare_adjusted(values, "difference", limit, level, together, c(length(used), 0, NaN, NaN))
}

# All rows of each of `count` strata: their part, and of group `g` and of all what makes the contrast.
parts_of_all_in_strata <- function(metric, y, score, stratum, place, count, weight, cluster, g) {
  designed <- !is.null(weight) || !is.null(cluster)
  lapply(seq_len(count), function(h) {
    here <- stratum == h
    unit <- if (!is.null(cluster)) cluster[here]
    rows <- rows_of_groups(y[here], score[here], place[here], max(place), weight[here], unit)
    of_rows <- function(r) {
      if (designed) weighted_part(weighted_risks(r), metric) else plain_part(r, metric)
    }
    all <- attr(rows, "all")
    if (fewest_of_label(rows[[g]]) < FEWEST_OF_LABEL) {
      return(NULL)
    }
    own <- of_rows(rows[[g]])
    everybody <- of_rows(all)
    both <- if (metric != "uncertainty") both_beside_all(own, everybody, all, g, metric)
    beside <- if (!is.null(both) && !is.null(unit)) {
      inside <- all$place == g
      moved <- attr(both, "moved")
      lapply(list(inside, !inside), function(k) list(unit = unit[k], x = moved[k]))
    }
    list(
      part = everybody,
      both = both,
      moves = if (!is.null(unit)) moves_of_part(all, metric),
      beside = beside
    )
  })
}

parts_in_strata <- function(metric, y, score, place) {
  function(cell, count, design, about, together) {
    cells <- parts_of_cells(metric, y, score, cell, count, design$weight, design$cluster)
    if (identical(about$comparisons, "overall")) {
      cells$all <- parts_of_all_in_strata(
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
      compare_adjusted_parts(cells, pair, about$limit, about$options$confidence_level, together)
    }
  }
}

# Every number of a comparison of a report, from the rows.
crosscheck_adjusted_parts <- function(
  metric,
  y,
  score,
  cell,
  count,
  weight,
  cluster,
  pair,
  contrast,
  limit,
  level,
  together,
  of_all = FALSE
) {
  unit <- if (!is.null(cluster)) as.integer(factor(cluster))
  cells <- parts_of_cells(metric, y, score, cell, count, weight, unit)
  if (of_all) {
    at <- places_of_crossings(cell, count, pair)
    cells$all <- scores_of_all_at(parts_of_all_in_strata, at, metric, y, score, weight, unit)
  }
  row <- compare_adjusted_parts(cells, pair, limit, level, together)
  as_columns(list(row[names(row) != "method"]))
}
