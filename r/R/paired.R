# Two models on the same people. Within a group the change of a rate has the limits of the paired score test: for ratios
# Nam and Blackwelder (2002), for differences Tango (1998); groups are combined by MOVER (Zou and Donner 2008).

# Score statistic of H0: p_B / p_A = theta; counts: success of both, of A only, of B only, of neither.
paired_ratio_z <- function(counts, theta) {
  n <- sum(counts)
  m <- sum(counts[1:3])
  if (m == 0) return(0)
  s <- m / n
  shift <- (theta - 1) * s
  # the constrained likelihood is largest at the larger root
  square <- (1 + theta) * m
  linear <- (1 + theta) * shift * (counts[1L] + counts[2L]) - s * (counts[2L] + counts[3L])
  a <- max(larger_root(square, linear, -counts[2L] * shift * s), 0, -shift)
  a <- min(a, s / (1 + theta))
  variance <- theta * (a + (a + shift) / theta) / n
  standardised((counts[1L] + counts[3L] - theta * (counts[1L] + counts[2L])) / n, variance)
}

# Score statistic of H0: p_B - p_A = delta.
paired_difference_z <- function(counts, delta) {
  n <- sum(counts)
  only_a <- counts[2L]
  only_b <- counts[3L]
  a <- larger_root(
    2 * n, -only_b - only_a + (2 * n - only_b + only_a) * delta, -only_a * delta * (1 - delta)
  )
  standardised((only_b - only_a) / n - delta, (2 * max(a, 0, -delta) + delta * (1 - delta)) / n)
}

# Larger root of square x^2 + linear x + constant, without cancellation.
larger_root <- function(square, linear, constant) {
  root <- sqrt(max(linear^2 - 4 * square * constant, 0))
  if (linear > 0) -2 * constant / (linear + root) else (root - linear) / (2 * square)
}

standardised <- function(distance, variance) {
  if (variance > 0) distance / sqrt(variance) else if (abs(distance) < 1e-15) 0 else sign(distance) * Inf
}

# Where the decreasing statistic z meets a value, between two ends; the outer end where it does not.
paired_root <- function(z, target, left, right) {
  distance <- function(x) min(max(z(x), -1e6), 1e6) - target
  if (left == right || distance(left) * distance(right) > 0) return(if (target > 0) left else right)
  stats::uniroot(distance, c(left, right), tol = 1e-14, maxiter = 2000)$root
}

# Change of one group on the scale of the comparison (logarithm for ratios): estimate, and limits at a critical value.
change_within <- function(counts, ratio) {
  if (!ratio) {
    at <- (counts[3L] - counts[2L]) / sum(counts)
    z <- function(x) paired_difference_z(counts, x)
    return(list(estimate = at, limits = function(c) c(paired_root(z, c, -1, at), paired_root(z, -c, at, 1))))
  }
  a <- counts[1L] + counts[2L]
  b <- counts[1L] + counts[3L]
  z <- function(x) paired_ratio_z(counts, exp(x))
  list(estimate = log(b) - log(a), limits = function(c) {
    if (a == 0 && b == 0) return(c(-Inf, Inf))
    centre <- if (a == 0) 60 else if (b == 0) -60 else log(b / a)
    c(if (b == 0) -Inf else paired_root(z, c, -60, centre), if (a == 0) Inf else paired_root(z, -c, centre, 60))
  })
}

# Sum of both models' rates (of their logarithms) in one group: Wilson's limits of each, correlated as the table is.
sum_within <- function(counts, ratio) {
  n <- sum(counts)
  k <- c(counts[1L] + counts[2L], counts[1L] + counts[3L])
  spread <- prod(k, n - k)
  together <- if (spread > 0) (counts[1L] * counts[4L] - counts[2L] * counts[3L]) / sqrt(spread) else 1
  scale <- if (ratio) log else identity
  at <- scale(k / n)
  list(estimate = sum(at), limits = function(c) {
    centre <- (k + c^2 / 2) / (n + c^2)
    reach <- c * sqrt(k * (1 - k / n) + c^2 / 4) / (n + c^2)
    high <- scale(pmin(centre + reach, 1))
    if (!all(is.finite(at))) return(c(-Inf, sum(high)))
    low <- scale(ifelse(k == 0, 0, pmax(centre - reach, 0)))
    width <- function(d) sqrt(max(sum(d^2) + 2 * together * prod(d), 0))
    sum(at) + c(-width(at - low), width(high - at))
  })
}

# Rates whose cases depend on the prediction, and smooth functions: the value of B plus (sign 1) or minus that of A by the
# delta method, half a row added to every cell. `members`: for A and B the confusion cell of every cell, 8 x 4.
smoothed_within <- function(cells, members, metric, ratio, sign) {
  scale <- if (ratio) log else identity
  of <- function(cells) lapply(members, function(m) cell_metric(matrix(cells %*% m, 1L), metric))
  plain <- vapply(of(cells), `[[`, 0, "rate")
  rough <- of(cells + 0.5)
  r <- vapply(rough, `[[`, 0, "rate")
  slope <- lapply(1:2, function(k) drop(members[[k]] %*% drop(rough[[k]]$influence)) / (if (ratio) r[k] else 1))
  s <- sqrt(sum((cells + 0.5) * (slope[[2L]] + sign * slope[[1L]])^2))
  value <- sum(c(sign, 1) * scale(r))
  list(estimate = sum(c(sign, 1) * scale(plain)), limits = function(c) value + c(-c, c) * s)
}

# Mean of independent parts.
mean_of_parts <- function(parts) {
  if (length(parts) == 1L) return(parts[[1L]])
  at <- mean(vapply(parts, `[[`, 0, "estimate"))
  list(estimate = at, limits = function(c) {
    reach <- vapply(parts, function(p) p$limits(c) - p$estimate, c(0, 0))
    at + c(-1, 1) * sqrt(rowSums(reach^2)) / length(parts)
  })
}

normal_part <- function(at, s) list(estimate = at, limits = function(c) at + c(-c, c) * s)

# Cells of label x prediction A x prediction B.
PAIRED_CELLS <- c("111", "110", "101", "100", "011", "010", "001", "000")

# Group minus reference from the limits of each.
mover <- function(one, other) {
  estimate <- one$estimate - other$estimate
  limits <- function(c) {
    a <- one$limits(c)
    b <- other$limits(c)
    if (is.finite(one$estimate) && is.finite(other$estimate)) {
      down <- pmax(c(one$estimate - a[1L], b[2L] - other$estimate), 0)
      up <- pmax(c(a[2L] - one$estimate, other$estimate - b[1L]), 0)
      return(estimate + c(-sqrt(sum(down^2)), sqrt(sum(up^2))))
    }
    ends <- a - rev(b)
    ifelse(is.nan(ends), c(-Inf, Inf), ends)
  }
  list(estimate = estimate, limits = limits)
}

# Critical value at which the interval of a part ends at 0, signed as the estimate.
part_statistic <- function(part) {
  if (is.nan(part$estimate)) return(NaN)
  if (abs(part$estimate) < 1e-14) return(0)
  reach <- function(c) min(max(if (part$estimate > 0) part$limits(c)[1L] else -part$limits(c)[2L], -1e6), 1e6)
  if (reach(1e-9) <= 0) return(0)
  sign(part$estimate) * (if (reach(30) > 0) 30 else stats::uniroot(reach, c(1e-9, 30), tol = 1e-12)$root)
}

# Range of |after| - |before| where the change and the sum lie in their intervals.
distance_limits <- function(change, total) {
  corners <- as.vector(outer(change, total, function(c, s) sign(c) * sign(s) * pmin(abs(c), abs(s))))
  if (prod(sign(change)) <= 0 || prod(sign(total)) <= 0) corners <- c(corners, 0)
  range(corners)
}

# Confusion cell of every cell of label x prediction A x prediction B under either model, 8 x 4 each; cells are named by
# three digits.
confusion_members <- function(cells) {
  lapply(1:2, function(model) {
    seen <- paste0(substr(cells, 1L, 1L), substr(cells, 1L + model, 1L + model))
    outer(c("11" = "tp", "10" = "fn", "01" = "fp", "00" = "tn")[seen], CELLS, "==") + 0
  })
}

# What is asked of a rate of two models: values, slopes in the cells, and the part of a group from its cells.
paired_rate <- function(totals, cells, metric, ratio) {
  metric <- as_metric(metric, 4L)
  members <- confusion_members(cells)
  found <- lapply(members, function(m) cell_metric(totals %*% m, metric))
  slopes <- lapply(1:2, function(k) {
    f <- found[[k]]
    (f$influence %*% kronecker(diag(nrow(totals)), t(members[[k]]))) / (if (ratio) f$rate else 1)
  })
  parts <- if (ratio && length(metric$parts) > 1L) NULL else metric$parts
  fixed <- length(parts) && all(vapply(parts, function(p) {
    setequal(p$case, 1:4) || setequal(p$case, c(1, 3)) || setequal(p$case, c(2, 4))
  }, NA))
  part <- function(counts, sign) {
    if (!fixed) return(smoothed_within(counts, members, metric, ratio, sign))
    mean_of_parts(lapply(parts, function(p) {
      hit <- lapply(members, function(m) rowSums(m[, p$success, drop = FALSE]) > 0)
      case <- rowSums(members[[1L]][, p$case, drop = FALSE]) > 0
      count <- function(which) sum(counts[case & which])
      a <- hit[[1L]]
      b <- hit[[2L]]
      table <- c(count(a & b), count(a & !b), count(!a & b), count(!a & !b))
      if (sign < 0) change_within(table, ratio) else sum_within(table, ratio)
    }))
  }
  cases <- if (length(metric$parts) == 1L) metric$parts[[1L]]$case else 1:4
  counted <- function(case) rowSums(do.call(cbind, lapply(members, function(m) m[, case, drop = FALSE]))) > 0
  each <- if (length(metric$parts) > 1L) lapply(metric$parts, function(p) counted(p$case)) else list(counted(cases))
  values <- matrix(unlist(lapply(found, `[[`, "rate")), nrow(totals))
  list(values = values, slopes = slopes, part = part, counted = counted(cases), each = each)
}

# Parts of the change and of the sum, standard error and degrees of freedom of one group, or of one against another (`at`).
# Under weights and clusters (`scatter` over `n_units` sampling units) by the delta method with Satterthwaite's degrees of
# freedom over effective units, standard errors wider by 1/sqrt(1 - 2/units); groups in which fewer than 20 effective units
# changed by score, with so many rows as give the change its variance (Korn and Graubard 1998), below five as their units
# are worth; where effective units are too few, or a rate is 0 in a ratio, no parts.
paired_parts <- function(totals, rows, at, cells, metric, ratio, scatter = NULL, n_units = 0) {
  scale <- if (ratio) log else identity
  known <- paired_rate(totals, cells, metric, ratio)
  values <- known$values[at, , drop = FALSE]
  ends <- if (length(at) == 1L) values[1L, ] else if (ratio) values[1L, ] / values[2L, ] else values[1L, ] - values[2L, ]
  inner <- if (is.null(scatter)) diag(as.vector(t(totals)), length(totals)) else scatter * n_units / (n_units - 1)
  sides <- c(1, -1)[seq_along(at)]
  variance <- function(which, sign) {
    slope <- known$slopes[[2L]] + sign * known$slopes[[1L]]
    g <- colSums(slope[at[which], , drop = FALSE] * sides[which])
    max(0, drop(g %*% inner %*% g))
  }
  both <- seq_along(at)
  df <- Inf
  part <- function(sign) {
    made <- lapply(at, function(g) known$part(totals[g, ], sign))
    if (length(at) == 1L) made[[1L]] else mover(made[[1L]], made[[2L]])
  }
  if (!is.null(scatter)) {
    worth <- function(which) {
      vapply(at, function(g) {
        min(vapply(known$each, function(own) {
          place <- (g - 1L) * length(cells) + which(own & which)
          if (length(place) && any(totals[g, own & which] > 0)) {
            sum(totals[g, own & which])^2 / sum(scatter[place, place])
          } else {
            0
          }
        }, 0))
      }, 0)
    }
    units <- worth(rep(TRUE, length(cells)))
    if (any(units < 8) || (ratio && any(values == 0))) return(list(ends = ends))
    own <- vapply(both, variance, 0, sign = -1)
    moved <- worth(substr(cells, 2L, 2L) != substr(cells, 3L, 3L))
    scarce <- moved < 20 | own <= 0
    weight <- if (sum(own) > 0) own else rep(1, length(at))
    df <- sum(weight)^2 / sum(weight^2 / (units - 1))
    wide <- 1 / sqrt((1 - 2 / units) * n_units / (n_units - 1))
    overall <- sqrt(sum(weight * wide^2) / sum(weight))
    part <- function(sign) {
      value <- scale(values[, 2L]) + sign * scale(values[, 1L])
      if (!any(scarce)) return(normal_part(sum(sides * value), overall * sqrt(variance(both, sign))))
      made <- lapply(both, function(k) {
        if (!scarce[k]) return(normal_part(value[k], wide[k] * sqrt(variance(k, sign))))
        of <- totals[at[k], ]
        if (moved[k] < 5 || own[k] <= 0) return(known$part(of * units[k] / sum(of[known$counted]), sign))
        slope <- (known$slopes[[2L]] - known$slopes[[1L]])[at[k], (at[k] - 1L) * length(cells) + seq_along(cells)]
        known$part(of * sum(of * slope^2) / (own[k] * wide[k]^2), sign)
      })
      if (length(at) == 1L) made[[1L]] else mover(made[[1L]], made[[2L]])
    }
  }
  list(ends = ends, shift = part(-1), total = part(1), s = sqrt(variance(both, -1)), df = df)
}

# Change of a rate from model A to B in a group, or of its comparison with the reference. `levels`: of the interval, of the
# simultaneous one, and of the distance from parity.
crosscheck_paired <- function(totals, rows, at, cells, metric, contrast, levels, scatter = NULL, n_units = 0) {
  ratio <- contrast == "ratio"
  scale <- if (ratio) log else identity
  natural <- if (ratio) exp else identity
  p <- paired_parts(totals, rows, at, cells, metric, ratio, scatter, n_units)
  moved <- if (ratio) abs(log(p$ends)) else abs(p$ends)
  known <- list(
    before = p$ends[1L], after = p$ends[2L], estimate = if (ratio) p$ends[2L] / p$ends[1L] else p$ends[2L] - p$ends[1L],
    std_error = NaN, low = if (ratio) 0 else -Inf, high = Inf, joint_low = if (ratio) 0 else -Inf, joint_high = Inf,
    statistic = NaN, pvalue = NaN, distance = moved[2L] - moved[1L], distance_low = -Inf, distance_high = Inf
  )
  if (is.null(p$shift)) return(known)
  q <- stats::qt((1 + levels) / 2, p$df)
  interval <- natural(p$shift$limits(q[1L]))
  joint <- natural(p$shift$limits(q[2L]))
  distance <- p$shift$limits(q[3L])
  if (length(at) > 1L) distance <- distance_limits(distance, p$total$limits(q[3L]))
  z <- part_statistic(p$shift)
  utils::modifyList(known, list(
    estimate = natural(p$shift$estimate), std_error = p$s * (if (ratio) exp(p$shift$estimate) else 1), low = interval[1L],
    high = interval[2L], joint_low = joint[1L], joint_high = joint[2L], statistic = z,
    pvalue = 2 * stats::pt(-abs(z), p$df), distance_low = distance[1L], distance_high = distance[2L]
  ))
}

# Change of the largest gap between any two groups: all gaps under it at once (Bonferroni).
crosscheck_paired_gap <- function(totals, rows, cells, metrics, levels, scatter = NULL, n_units = 0) {
  pairs <- utils::combn(nrow(totals), 2L)
  made <- unlist(lapply(metrics, function(metric) {
    lapply(seq_len(ncol(pairs)), function(k) {
      paired_parts(totals, rows, pairs[, k], cells, metric, FALSE, scatter, n_units)
    })
  }), recursive = FALSE)
  made <- made[vapply(made, function(p) all(is.finite(p$ends)), NA)]
  gaps <- vapply(made, function(p) abs(p$ends), c(0, 0))
  df <- min(vapply(made, `[[`, 0, "df"))
  limits <- function(c) {
    critical <- stats::qt(stats::pt(-abs(c), df) / length(made), df, lower.tail = FALSE)
    ends <- vapply(made, function(p) distance_limits(p$shift$limits(critical), p$total$limits(critical)), c(0, 0))
    c(min(ends[1L, ]), max(ends[2L, ]))
  }
  before <- max(gaps[1L, ])
  after <- max(gaps[2L, ])
  q <- stats::qt((1 + levels) / 2, df)
  z <- part_statistic(list(estimate = after - before, limits = limits))
  list(
    before = before, after = after, estimate = after - before, std_error = made[[which.max(gaps[2L, ])]]$s,
    low = limits(q[1L])[1L], high = limits(q[1L])[2L], joint_low = limits(q[2L])[1L], joint_high = limits(q[2L])[2L],
    statistic = z, pvalue = 2 * stats::pt(-abs(z), df), distance = after - before, distance_low = limits(q[3L])[1L],
    distance_high = limits(q[3L])[2L]
  )
}

# Disparate impact of the predictions over that of the labels: labels and predictions as two models of the same people.
amplification_rows <- function(cells, pairs, options) {
  level <- options$confidence_level
  joint <- 1 - (1 - level) / nrow(pairs)
  levels <- c(level, joint, if (options$adjust == "none") level else joint)
  spread <- diag(8)[c(1, 7, 2, 8), ]
  whole <- kronecker(diag(nrow(cells$totals)), spread)
  scatter <- cells$scatter
  if (!is.null(scatter)) scatter <- t(whole) %*% scatter %*% whole
  rows <- lapply(seq_len(nrow(pairs)), function(k) {
    row <- tidy_row("disparate_impact_amplification", cells$groups[pairs[k, 1L]], cells$groups[pairs[k, 2L]],
      n = sum(cells$rows[pairs[k, ], ]), confidence_level = level, verdict = "insufficient evidence", before = NaN, after = NaN
    )
    one <- tryCatch(crosscheck_paired(
      cells$totals %*% spread, cells$rows %*% spread, pairs[k, ], PAIRED_CELLS, "selection_rate", "ratio", levels, scatter,
      cells$units
    ), error = function(problem) NULL)
    if (is.null(one) || is.nan(one$before) || is.nan(one$after)) return(row)
    row[c("estimate", "std_error", "statistic", "pvalue", "before", "after")] <-
      one[c("estimate", "std_error", "statistic", "pvalue", "before", "after")]
    row[c("ci_low", "ci_high")] <- one[c("low", "high")]
    if (one$low == 0 && one$high == Inf) return(row)
    row$verdict <- if (one$distance_high < 0) "reduced" else if (one$distance_low > 0) "amplified" else "undecided"
    row$method <- "paired score, MOVER"
    row
  })
  found <- bind_rows(rows)
  found$pvalue_adjusted <- adjust_pvalues(found$pvalue, options$adjust)
  found
}
