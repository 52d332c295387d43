# Standardised differences of means, and R squared, by a studentised bootstrap of rows or clusters
# (Hall 1988, Annals of Statistics 16, 927-953), from the influence of every unit on the statistic.
# Limits of R squared have the standard error of the jackknife, and lie at least as far from the
# estimate as symmetric ones (Hall 1988, Journal of the Royal Statistical Society B 50, 35-45).

# Below so many effective units of a group nothing is drawn.
FEWEST_DRAWN <- 40
BY_DRAWS <- "studentised bootstrap"
BY_SYMMETRIC_DRAWS <- "studentised bootstrap, at least symmetric"
# Share of resamples that may have no value.
LARGEST_LOST <- 0.05

# Sums over the rows of each unit of w, w x, w x^2 and w e^2 (e: error of a prediction).
unit_sums <- function(x, squared_error, weight, unit, rows) {
  columns <- cbind(w = weight, s = weight * x, q = weight * x^2, e = weight * squared_error)
  rowsum(columns[rows, , drop = FALSE], unit[rows])
}

sums_of_side <- function(table, times) {
  total <- colSums(table * times)
  mean <- total[["s"]] / total[["w"]]
  v <- max(total[["q"]] / total[["w"]] - mean^2, 0)
  list(w = total[["w"]], mean = mean, v = v, e = total[["e"]], spread = v * total[["w"]])
}

# What each unit adds to the squares about the mean.
squares_of_units <- function(table, mean) {
  table[, "q"] - 2 * mean * table[, "s"] + mean^2 * table[, "w"]
}

r_squared_of <- function(side) {
  if (side$v > 1e-12 * (1 + side$mean^2)) 1 - side$e / side$spread else NaN
}

# The statistic of two sides, and the influence of every unit of each of them.
standardised_difference <- function(tables, times, sides) {
  one <- sides[[1L]]
  zero <- sides[[2L]]
  s2 <- (one$v + zero$v) / 2
  d <- if (s2 > 0) (one$mean - zero$mean) / sqrt(s2) else NaN
  influence <- lapply(1:2, function(k) {
    side <- sides[[k]]
    table <- tables[[k]]
    by_mean <- (table[, "s"] - side$mean * table[, "w"]) / side$w
    by_variance <- (squares_of_units(table, side$mean) - side$v * table[, "w"]) / side$w
    c(1, -1)[k] * by_mean / sqrt(s2) - d / (4 * s2) * by_variance
  })
  list(value = d, influence = influence)
}

difference_of_r_squared <- function(tables, times, sides) {
  value <- vapply(sides, r_squared_of, 0)
  influence <- lapply(seq_along(sides), function(k) {
    side <- sides[[k]]
    unexplained <- side$e / side$spread
    squares <- squares_of_units(tables[[k]], side$mean)
    c(1, -1)[k] * (unexplained * squares - tables[[k]][, "e"]) / side$spread
  })
  list(value = if (length(value) == 2L) value[1L] - value[2L] else value, influence = influence)
}

# `members`: for each side the groups whose units it has; `times`: how often each unit of each group
# was drawn. Groups are drawn by themselves, so that influences are centred within each.
smooth_contrast <- function(tables, members, times, statistic) {
  stacked <- lapply(members, function(groups) do.call(rbind, tables[groups]))
  drawn <- lapply(members, function(groups) unlist(times[groups]))
  sides <- Map(sums_of_side, stacked, drawn)
  found <- statistic(stacked, drawn, sides)
  variance <- 0
  for (group in unique(unlist(members))) {
    count <- nrow(tables[[group]])
    own <- numeric(count)
    for (k in seq_along(members)) {
      at <- match(group, members[[k]])
      if (!is.na(at)) {
        before <- sum(vapply(tables[members[[k]][seq_len(at - 1L)]], nrow, 0L))
        own <- own + found$influence[[k]][before + seq_len(count)]
      }
    }
    n <- times[[group]]
    centred <- own - sum(n * own) / count
    variance <- variance + sum(n * centred^2) * count / max(count - 1, 1)
  }
  c(found$value, variance)
}

# The jackknife's variance of a difference of R squared: what it would be without each unit.
jackknife_of_r_squared <- function(tables, members) {
  totals <- lapply(members, function(groups) colSums(do.call(rbind, tables[groups])))
  used <- unique(unlist(members))
  sum(vapply(
    used,
    function(group) {
      table <- tables[[group]]
      values <- lapply(seq_along(members), function(k) {
        left_out <- if (group %in% members[[k]]) table else 0 * table
        rest <- matrix(totals[[k]], nrow(table), 4L, byrow = TRUE) - left_out
        1 - rest[, 4L] / (rest[, 3L] - rest[, 2L]^2 / rest[, 1L])
      })
      change <- if (length(values) == 2L) values[[1L]] - values[[2L]] else values[[1L]]
      (nrow(table) - 1) / nrow(table) * sum((change - mean(change))^2)
    },
    0
  ))
}

# Estimate, standard error and the draws of (theta* - theta) / s*, in order; of R squared the
# jackknife's standard error, and the draws with either sign beside them.
studentised_draws <- function(tables, members, statistic, resamples) {
  once <- lapply(tables, function(table) rep(1, nrow(table)))
  sample <- smooth_contrast(tables, members, once, statistic)
  used <- unique(unlist(members))
  times <- once
  drawn <- vapply(
    seq_len(resamples),
    function(k) {
      for (group in used) {
        count <- nrow(tables[[group]])
        times[[group]] <- tabulate(sample.int(count, count, TRUE), count)
      }
      again <- smooth_contrast(tables, members, times, statistic)
      if (is.finite(again[2L]) && again[2L] > 0) (again[1L] - sample[1L]) / sqrt(again[2L]) else NaN
    },
    0
  )
  known <- sort(drawn)
  lost <- 1 - length(known) / resamples
  laws <- list(known)
  if (identical(statistic, difference_of_r_squared)) {
    sample[2L] <- jackknife_of_r_squared(tables, members)
    laws <- list(known, sort(c(known, -known)))
  }
  list(estimate = sample[1L], std_error = sqrt(sample[2L]), laws = laws, lost = lost)
}

# The draw below which a share p lies, infinite beyond the last.
quantile_of_draws <- function(draws, p) {
  place <- (length(draws) + 1) * p
  if (place < 1) {
    return(-Inf)
  }
  if (place > length(draws)) {
    return(Inf)
  }
  lower <- floor(place)
  upper <- min(lower + 1, length(draws))
  draws[lower] + (place - lower) * (draws[upper] - draws[lower])
}

share_at_most <- function(draws, value) {
  min(1 + sum(draws <= value), length(draws)) / (length(draws) + 1)
}

contrast_of_draws <- function(found) {
  z <- function(value) {
    plain <- (found$estimate - value) / found$std_error
    at_most <- function(sign) {
      vapply(found$laws, function(law) share_at_most(sign * law, sign * plain), 0)
    }
    c(
      above = -stats::qnorm(max(at_most(-1))),
      below = stats::qnorm(max(at_most(1))),
      plain = plain
    )
  }
  limits <- function(critical) {
    p <- stats::pnorm(critical)
    ends <- c(
      max(vapply(found$laws, quantile_of_draws, 0, p = p)),
      min(vapply(found$laws, quantile_of_draws, 0, p = 1 - p))
    )
    found$estimate - ends * found$std_error
  }
  list(estimate = found$estimate, std_error = found$std_error, z = z, limits = limits)
}

# Values of every group for compare_numbers(); `x`: the number, or the outcome; `squared_error`: of
# its prediction.
drawn_values <- function(
  metric,
  x,
  squared_error,
  place,
  count,
  weight = NULL,
  cluster = NULL,
  resamples = 999
) {
  w <- if (is.null(weight)) rep(1, length(x)) else weight
  unit <- if (is.null(cluster)) seq_along(x) else as.integer(factor(cluster))
  moments <- number_moments(x, place, count, weight, cluster)
  means <- mean_values(moments)
  # about the mean of all, so that squares of large numbers do not cancel
  scale <- sqrt(mean((x - mean(x))^2))
  scale <- if (scale > 0) scale else 1
  standardised <- (x - mean(x)) / scale
  of_determination <- metric == "r_squared"
  statistic <- if (of_determination) difference_of_r_squared else standardised_difference
  tables <- lapply(seq_len(count), function(g) {
    unit_sums(standardised, squared_error / scale^2, w, unit, place == g)
  })
  effective <- function(table) sum(table[, "w"])^2 / sum(table[, "w"]^2)
  few <- function(table) !nrow(table) || effective(table) < FEWEST_DRAWN - 1e-9
  everyone <- seq_len(count)
  own_draws <- lapply(everyone, function(g) {
    if (of_determination && !few(tables[[g]])) {
      studentised_draws(tables, list(g), difference_of_r_squared, resamples)
    }
  })
  lacking <- function(found) {
    is.null(found) ||
      !is.finite(found$estimate) ||
      !found$std_error > 0 ||
      found$lost > LARGEST_LOST
  }
  refused <- function(g) few(tables[[g]]) || (of_determination && lacking(own_draws[[g]]))
  value_of <- function(groups) {
    table <- do.call(rbind, tables[groups])
    r_squared_of(sums_of_side(table, rep(1, nrow(table))))
  }
  limits_of <- function(found, critical) {
    if (lacking(found)) c(NaN, NaN) else pmin(contrast_of_draws(found)$limits(critical), 1)
  }
  own <- function(g, critical) {
    if (of_determination) limits_of(own_draws[[g]], critical) else means$own(g, critical)
  }
  against <- function(g, reference, ratio) {
    pooled <- means$against(g, reference, FALSE)
    others <- if (reference > 0) {
      reference
    } else if (reference == -1L) {
      setdiff(everyone, g)
    } else {
      everyone
    }
    drawn_from <- tables
    members <- list(g, others)
    if (reference == -1L) {
      # all other rows are drawn as one sample
      drawn_from <- c(tables, list(do.call(rbind, tables[others])))
      members <- list(g, count + 1L)
    }
    small <- if (reference == -1L) {
      refused(g) || few(drawn_from[[count + 1L]])
    } else {
      any(vapply(union(g, others), refused, NA))
    }
    reached <- pooled$own
    if (of_determination) {
      pooled$value <- value_of(others)
      together <- if (reference > 0) {
        own_draws[[reference]]
      } else {
        studentised_draws(drawn_from, members[2L], difference_of_r_squared, resamples)
      }
      reached <- function(critical) limits_of(together, critical)
    }
    contrast <- if (!small) {
      contrast_of_draws(studentised_draws(drawn_from, members, statistic, resamples))
    }
    list(value = pooled$value, n = pooled$n, own = reached, contrast = contrast)
  }
  list(
    value = if (of_determination) vapply(everyone, value_of, 0) else means$value,
    n = moments$n,
    variance = if (of_determination) {
      vapply(own_draws, function(found) if (is.null(found)) NaN else found$std_error^2, 0)
    } else {
      rep(NaN, count)
    },
    share = means$share,
    against = against,
    own = own,
    method = if (of_determination) BY_SYMMETRIC_DRAWS else BY_DRAWS
  )
}

# Every comparison of a report's result; `rows`: a list of arguments of drawn_values().
crosscheck_smooth <- function(rows, ...) {
  numbers_as_columns(do.call(drawn_values, rows), ...)
}
