# Two models on the same people. Within a group the change of a rate has the limits of the paired
# score test: for ratios Nam and Blackwelder (2002), for differences Tango (1998); groups are
# combined by MOVER (Zou and Donner 2008). A part is an estimate with its limits at a critical
# value.

# Cells of label x prediction A x prediction B.
PAIRED_CELLS <- c("111", "110", "101", "100", "011", "010", "001", "000")

# Score statistic of H0: p_B / p_A = theta; counts: success of both, of A only, of B only, of
# neither.
paired_ratio_z <- function(counts, theta) {
  n <- sum(counts)
  m <- sum(counts[1:3])
  if (m == 0) {
    return(0)
  }
  s <- m / n
  shift <- (theta - 1) * s
  # the constrained likelihood is largest at the larger root
  linear <- (1 + theta) * shift * (counts[1L] + counts[2L]) - s * (counts[2L] + counts[3L])
  a <- min(
    max(larger_root((1 + theta) * m, linear, -counts[2L] * shift * s), 0, -shift),
    s / (1 + theta)
  )
  variance <- theta * (a + (a + shift) / theta) / n
  standardised((counts[1L] + counts[3L] - theta * (counts[1L] + counts[2L])) / n, variance)
}

# Score statistic of H0: p_B - p_A = delta.
paired_difference_z <- function(counts, delta) {
  n <- sum(counts)
  only_a <- counts[2L]
  only_b <- counts[3L]
  linear <- -only_b - only_a + (2 * n - only_b + only_a) * delta
  a <- larger_root(2 * n, linear, -only_a * delta * (1 - delta))
  standardised((only_b - only_a) / n - delta, (2 * max(a, 0, -delta) + delta * (1 - delta)) / n)
}

# Larger root of square x^2 + linear x + constant, without cancellation.
larger_root <- function(square, linear, constant) {
  root <- sqrt(max(linear^2 - 4 * square * constant, 0))
  if (linear > 0) -2 * constant / (linear + root) else (root - linear) / (2 * square)
}

standardised <- function(distance, variance) {
  if (variance > 0) {
    distance / sqrt(variance)
  } else if (abs(distance) < 1e-15) {
    0
  } else {
    sign(distance) * Inf
  }
}

# Where the decreasing statistic z meets a value, between two ends; the outer end where it does not.
paired_root <- function(z, target, left, right) {
  distance <- function(x) min(max(z(x), -1e6), 1e6) - target
  if (left == right || distance(left) * distance(right) > 0) {
    return(if (target > 0) left else right)
  }
  stats::uniroot(distance, c(left, right), tol = 1e-14, maxiter = 2000)$root
}

# Change of one group on the scale of the comparison (logarithm for ratios).
change_within <- function(counts, ratio) {
  if (!ratio) {
    at <- (counts[3L] - counts[2L]) / sum(counts)
    z <- function(x) paired_difference_z(counts, x)
    return(list(estimate = at, limits = function(c) {
      c(paired_root(z, c, -1, at), paired_root(z, -c, at, 1))
    }))
  }
  a <- counts[1L] + counts[2L]
  b <- counts[1L] + counts[3L]
  z <- function(x) paired_ratio_z(counts, exp(x))
  list(estimate = log(b) - log(a), limits = function(c) {
    if (a == 0 && b == 0) {
      return(c(-Inf, Inf))
    }
    centre <- if (a == 0) {
      60
    } else if (b == 0) {
      -60
    } else {
      log(b / a)
    }
    c(
      if (b == 0) -Inf else paired_root(z, c, -60, centre),
      if (a == 0) Inf else paired_root(z, -c, centre, 60)
    )
  })
}

# Sum of both models' rates (of their logarithms) in one group: Wilson's limits of each, correlated
# as the table is.
sum_within <- function(counts, ratio) {
  n <- sum(counts)
  k <- c(counts[1L] + counts[2L], counts[1L] + counts[3L])
  spread <- prod(k, n - k)
  together <- if (spread > 0) {
    (counts[1L] * counts[4L] - counts[2L] * counts[3L]) / sqrt(spread)
  } else {
    1
  }
  scale <- if (ratio) log else identity
  at <- scale(k / n)
  list(estimate = sum(at), limits = function(c) {
    centre <- (k + c^2 / 2) / (n + c^2)
    reach <- c * sqrt(k * (1 - k / n) + c^2 / 4) / (n + c^2)
    high <- scale(pmin(centre + reach, 1))
    if (!all(is.finite(at))) {
      return(c(-Inf, sum(high)))
    }
    low <- scale(ifelse(k == 0, 0, pmax(centre - reach, 0)))
    width <- function(d) sqrt(max(sum(d^2) + 2 * together * prod(d), 0))
    sum(at) + c(-width(at - low), width(high - at))
  })
}

# Rates whose cases depend on the prediction, and smooth functions: the value of B plus (sign 1) or
# minus that of A by the delta method, half a row added to every cell. `members`: for A and B the
# confusion cell of every cell, 8 x 4.
smoothed_within <- function(cells, members, metric, ratio, sign) {
  scale <- if (ratio) log else identity
  of <- function(cells) lapply(members, function(m) cell_metric(matrix(cells %*% m, 1L), metric))
  total <- function(found) sum(c(sign, 1) * scale(numbers_of(found, "rate")))
  rough <- of(cells + 0.5)
  slope <- Map(
    function(m, of) drop(m %*% drop(of$influence)) / (if (ratio) of$rate else 1),
    members,
    rough
  )
  s <- sqrt(sum((cells + 0.5) * (slope[[2L]] + sign * slope[[1L]])^2))
  list(estimate = total(of(cells)), limits = normal_part(total(rough), s)$limits)
}

# Mean of independent parts.
mean_of_parts <- function(parts) {
  if (length(parts) == 1L) {
    return(parts[[1L]])
  }
  at <- mean(numbers_of(parts, "estimate"))
  list(estimate = at, limits = function(c) {
    reach <- vapply(parts, function(p) p$limits(c) - p$estimate, c(0, 0))
    at + c(-1, 1) * sqrt(rowSums(reach^2)) / length(parts)
  })
}

normal_part <- function(at, s) list(estimate = at, limits = function(c) at + c(-c, c) * s)

# The part of a group, or of one minus the other from the limits of each.
mover <- function(parts) {
  if (length(parts) == 1L) {
    return(parts[[1L]])
  }
  at <- numbers_of(parts, "estimate")
  list(estimate = at[1L] - at[2L], limits = function(c) {
    a <- parts[[1L]]$limits(c)
    b <- parts[[2L]]$limits(c)
    if (!all(is.finite(at))) {
      return(ifelse(is.nan(a - rev(b)), c(-Inf, Inf), a - rev(b)))
    }
    down <- pmax(c(at[1L] - a[1L], b[2L] - at[2L]), 0)
    up <- pmax(c(a[2L] - at[1L], at[2L] - b[1L]), 0)
    at[1L] - at[2L] + c(-sqrt(sum(down^2)), sqrt(sum(up^2)))
  })
}

# Critical value at which the interval of a part ends at 0, signed as the estimate.
part_statistic <- function(part) {
  if (is.nan(part$estimate)) {
    return(NaN)
  }
  reach <- function(c) {
    min(max(if (part$estimate > 0) part$limits(c)[1L] else -part$limits(c)[2L], -1e6), 1e6)
  }
  critical_at(part$estimate, reach, 1e-9)
}

# Range of |after| - |before| where the change and the sum lie in their intervals.
distance_limits <- function(change, total) {
  corners <- as.vector(outer(change, total, function(c, s) {
    sign(c) * sign(s) * pmin(abs(c), abs(s))
  }))
  if (prod(sign(change)) <= 0 || prod(sign(total)) <= 0) {
    corners <- c(corners, 0)
  }
  range(corners)
}

# What is asked of a rate of two models: values, slopes in the cells, which cells are cases, and the
# part of a group from its cells, which are named by three digits.
paired_rate <- function(totals, cells, metric, ratio) {
  metric <- as_metric(metric, 4L)
  # confusion cell of every cell under either model, 8 x 4 each
  members <- lapply(2:3, function(place) {
    seen <- paste0(substr(cells, 1L, 1L), substr(cells, place, place))
    outer(c("11" = "tp", "10" = "fn", "01" = "fp", "00" = "tn")[seen], CELLS, "==") + 0
  })
  found <- lapply(members, function(m) cell_metric(totals %*% m, metric))
  slopes <- Map(
    function(m, of) {
      (of$influence %*% kronecker(diag(nrow(totals)), t(m))) / (if (ratio) of$rate else 1)
    },
    members,
    found
  )
  of_labels <- vapply(
    metric$parts,
    function(p) any(vapply(list(1:4, c(1, 3), c(2, 4)), setequal, NA, p$case)),
    NA
  )
  part <- function(counts, sign) {
    if (!length(of_labels) || !all(of_labels) || (ratio && length(of_labels) > 1L)) {
      return(smoothed_within(counts, members, metric, ratio, sign))
    }
    mean_of_parts(lapply(metric$parts, function(p) {
      hit <- lapply(members, function(m) cell_sums(m, p$success) > 0)
      a <- hit[[1L]]
      b <- hit[[2L]]
      case <- cell_sums(members[[1L]], p$case) > 0
      table <- vapply(
        list(a & b, a & !b, !a & b, !a & !b),
        function(which) sum(counts[case & which]),
        0
      )
      if (sign < 0) change_within(table, ratio) else sum_within(table, ratio)
    }))
  }
  counted <- function(case) cell_sums(members[[1L]] + members[[2L]], case) > 0
  each <- if (length(metric$parts)) {
    lapply(metric$parts, function(p) counted(p$case))
  } else {
    list(counted(1:4))
  }
  list(
    values = vapply(found, `[[`, numeric(nrow(totals)), "rate"),
    slopes = slopes,
    part = part,
    each = each,
    counted = if (length(each) == 1L) each[[1L]] else counted(1:4)
  )
}

# Parts of the change and of the sum, standard error and degrees of freedom of one group, or of one
# against another (`at`). Under weights and clusters (`scatter` over `n_units` sampling units) by
# the delta method with Satterthwaite's degrees of freedom over effective units, standard errors
# wider by 1/sqrt(1 - 2/units); groups in which fewer than 20 effective units changed by score, with
# so many rows as give the change its variance (Korn and Graubard 1998), below five as their units
# are worth; where effective units are too few, or a rate is 0 in a ratio, no parts.
paired_parts <- function(totals, at, cells, metric, ratio, scatter, n_units) {
  known <- paired_rate(totals, cells, metric, ratio)
  values <- matrix(known$values, nrow(totals))[at, , drop = FALSE]
  ends <- if (length(at) == 1L) {
    values[1L, ]
  } else {
    Reduce(if (ratio) `/` else `-`, list(values[1L, ], values[2L, ]))
  }
  sides <- c(1, -1)[seq_along(at)]
  both <- seq_along(at)
  variance <- function(which, sign) {
    slope <- known$slopes[[2L]] + sign * known$slopes[[1L]]
    slope <- colSums(slope[at[which], , drop = FALSE] * sides[which])
    max(0, cell_covariance(rbind(slope), totals, scatter, n_units))
  }
  s <- sqrt(variance(both, -1))
  if (is.null(scatter)) {
    part <- function(sign) mover(lapply(at, function(g) known$part(totals[g, ], sign)))
    return(list(ends = ends, shift = part(-1), total = part(1), s = s, df = Inf))
  }
  worth <- function(which) {
    vapply(
      at,
      function(g) {
        min(vapply(
          known$each,
          function(own) {
            place <- (g - 1L) * length(cells) + which(own & which)
            weight <- sum(totals[g, own & which])
            if (weight > 0) weight^2 / sum(scatter[place, place]) else 0
          },
          0
        ))
      },
      0
    )
  }
  units <- worth(TRUE)
  if (any(units < 8) || (ratio && any(values == 0))) {
    return(list(ends = ends))
  }
  own <- vapply(both, variance, 0, sign = -1)
  moved <- worth(substr(cells, 2L, 2L) != substr(cells, 3L, 3L))
  scarce <- moved < 20 | own <= 0
  weight <- if (sum(own) > 0) own else rep(1, length(at))
  wide <- 1 / sqrt((1 - 2 / units) * n_units / (n_units - 1))
  part <- function(sign) {
    value <- if (ratio) log(values) else values
    value <- value[, 2L] + sign * value[, 1L]
    if (!any(scarce)) {
      overall <- sqrt(sum(weight * wide^2) / sum(weight))
      return(normal_part(sum(sides * value), overall * sqrt(variance(both, sign))))
    }
    mover(lapply(both, function(k) {
      if (!scarce[k]) {
        return(normal_part(value[k], wide[k] * sqrt(variance(k, sign))))
      }
      of <- totals[at[k], ]
      if (moved[k] < 5 || own[k] <= 0) {
        return(known$part(of * units[k] / sum(of[known$counted]), sign))
      }
      slope <- (known$slopes[[2L]] - known$slopes[[1L]])[
        at[k],
        (at[k] - 1L) * length(cells) + seq_along(cells)
      ]
      known$part(of * sum(of * slope^2) / (own[k] * wide[k]^2), sign)
    }))
  }
  list(
    ends = ends,
    shift = part(-1),
    total = part(1),
    s = s,
    df = sum(weight)^2 / sum(weight^2 / (units - 1))
  )
}

# Change of a rate from model A to B in a group, or of its comparison with the reference. `levels`:
# of the interval, of the simultaneous one, and of the distance from parity.
crosscheck_paired <- function(
  totals,
  rows,
  at,
  cells,
  metric,
  contrast,
  levels,
  scatter = NULL,
  n_units = 0
) {
  ratio <- contrast == "ratio"
  natural <- if (ratio) exp else identity
  p <- paired_parts(totals, at, cells, metric, ratio, scatter, n_units)
  moved <- if (ratio) abs(log(p$ends)) else abs(p$ends)
  estimate <- if (ratio) p$ends[2L] / p$ends[1L] else p$ends[2L] - p$ends[1L]
  least <- if (ratio) 0 else -Inf
  if (is.null(p$shift)) {
    return(changed(
      p$ends,
      estimate,
      NaN,
      c(least, Inf),
      c(least, Inf),
      NaN,
      Inf,
      diff(moved),
      c(-Inf, Inf)
    ))
  }
  q <- stats::qt((1 + levels) / 2, p$df)
  distance <- p$shift$limits(q[3L])
  if (length(at) > 1L) {
    distance <- distance_limits(distance, p$total$limits(q[3L]))
  }
  at <- natural(p$shift$estimate)
  changed(
    p$ends,
    at,
    p$s * (if (ratio) at else 1),
    natural(p$shift$limits(q[1L])),
    natural(p$shift$limits(q[2L])),
    part_statistic(p$shift),
    p$df,
    diff(moved),
    distance
  )
}

changed <- function(ends, estimate, std_error, interval, joint, z, df, distance, limits) {
  list(
    before = ends[1L],
    after = ends[2L],
    estimate = estimate,
    std_error = std_error,
    low = interval[1L],
    high = interval[2L],
    joint_low = joint[1L],
    joint_high = joint[2L],
    statistic = z,
    pvalue = 2 * stats::pt(-abs(z), df),
    distance = distance,
    distance_low = limits[1L],
    distance_high = limits[2L]
  )
}

# Change of the largest gap between any two groups: all gaps under it at once (Bonferroni).
crosscheck_paired_gap <- function(
  totals,
  rows,
  cells,
  metrics,
  levels,
  scatter = NULL,
  n_units = 0
) {
  made <- unlist(
    lapply(metrics, function(metric) {
      utils::combn(
        nrow(totals),
        2L,
        paired_parts,
        simplify = FALSE,
        totals = totals,
        cells = cells,
        metric = metric,
        ratio = FALSE,
        scatter = scatter,
        n_units = n_units
      )
    }),
    recursive = FALSE
  )
  made <- Filter(function(p) all(is.finite(p$ends)), made)
  gaps <- vapply(made, function(p) abs(p$ends), c(0, 0))
  df <- min(numbers_of(made, "df"))
  limits <- function(c) {
    critical <- stats::qt(stats::pt(-abs(c), df) / length(made), df, lower.tail = FALSE)
    ends <- vapply(
      made,
      function(p) distance_limits(p$shift$limits(critical), p$total$limits(critical)),
      c(0, 0)
    )
    c(min(ends[1L, ]), max(ends[2L, ]))
  }
  ends <- c(max(gaps[1L, ]), max(gaps[2L, ]))
  z <- part_statistic(list(estimate = diff(ends), limits = limits))
  by_level <- lapply(stats::qt((1 + levels) / 2, df), limits)
  s <- made[[which.max(gaps[2L, ])]]$s
  changed(ends, diff(ends), s, by_level[[1L]], by_level[[2L]], z, df, diff(ends), by_level[[3L]])
}

# Disparate impact of the predictions over that of the labels: labels and predictions as two models
# of the same people.
amplification_rows <- function(cells, pairs, options) {
  level <- options$confidence_level
  joint <- 1 - (1 - level) / nrow(pairs)
  levels <- c(level, joint, if (options$adjust == "none") level else joint)
  spread <- diag(8)[c(1, 7, 2, 8), ]
  whole <- kronecker(diag(nrow(cells$totals)), spread)
  scatter <- if (!is.null(cells$scatter)) t(whole) %*% cells$scatter %*% whole
  found <- bind_rows(lapply(seq_len(nrow(pairs)), function(k) {
    row <- tidy_row(
      "disparate_impact_amplification",
      cells$groups[pairs[k, 1L]],
      cells$groups[pairs[k, 2L]],
      n = sum(cells$rows[pairs[k, ], ]),
      confidence_level = level,
      verdict = "insufficient evidence",
      before = NaN,
      after = NaN
    )
    one <- tryCatch(
      crosscheck_paired(
        cells$totals %*% spread,
        NULL,
        pairs[k, ],
        PAIRED_CELLS,
        "selection_rate",
        "ratio",
        levels,
        scatter,
        cells$units
      ),
      error = function(problem) NULL
    )
    if (is.null(one) || is.nan(one$before) || is.nan(one$after)) {
      return(row)
    }
    same <- c("estimate", "std_error", "statistic", "pvalue", "before", "after")
    row[c(same, "ci_low", "ci_high")] <- one[c(same, "low", "high")]
    if (one$low == 0 && one$high == Inf) {
      return(row)
    }
    row$verdict <- if (one$distance_high < 0) {
      "reduced"
    } else if (one$distance_low > 0) {
      "amplified"
    } else {
      "undecided"
    }
    row$method <- "paired score, MOVER"
    row
  }))
  found$pvalue_adjusted <- adjust_pvalues(found$pvalue, options$adjust)
  found
}
