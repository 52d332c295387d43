# Extremes of counterfactual discrimination as a section of an audit, by the parts of fs_ecd:
# averages, levels, and their differences against the reference, with the defaults of fairstats.ecd
# in Python.

ECD_MARGIN <- 0.05
ECD_PERIODS <- c(500, 1000, 2000, 10000)
ECD_PERIOD <- 1000
WORST <- 0.95
# Levels are known while their interval is narrower than this share of them and ends below 1; sought
# so far.
HORIZON_WIDTH <- 0.5
HORIZON_FARTHEST <- 1e6

# The scores of the rows with another value of the one sensitive column of a set; NULL where there
# are none.
counterfactual_column <- function(given, set, sets, score) {
  if (is.null(given)) {
    return(NULL)
  }
  known <- unlist(sets[lengths(sets) == 1L])
  given <- as.list(given)
  if (is.null(names(given)) && length(given) == 1L && length(known) == 1L) {
    names(given) <- known
  }
  if (is.null(score) || is.null(names(given)) || !all(names(given) %in% known)) {
    stop_argument(
      "counterfactual_score",
      paste0(listed(unlist(given)), if (is.null(score)) " without `score`"),
      "with `score`: a column for one sensitive column, or c(column = score column, ...)"
    )
  }
  if (length(set) == 1L && set %in% names(given)) given[[set]]
}

# Rows of the section: `cd` has the values of every group, the reference last.
ecd_rows <- function(cd, options) {
  level <- options$confidence_level
  last <- length(cd)
  cd <- lapply(cd, tied_alike)
  # equal shares of the rows of both in each comparison; beside the groups the reference with the
  # highest threshold
  ks <- lapply(lengths(cd)[-last], function(n) exceedances_of_pair(c(n, length(cd[[last]]))))
  of_last <- vapply(ks, `[`, 0, 2L)
  k <- c(vapply(ks, `[`, 0, 1L), min(of_last))
  tails <- Map(group_tail, cd, k, ECD_PERIOD, level)
  references <- lapply(of_last, function(k) {
    if (k == min(of_last)) tails[[last]] else group_tail(cd[[last]], k, ECD_PERIOD, level)
  })
  about <- lapply(tails, tail_characteristics, level)
  alike <- all(of_last == min(of_last))
  each <- level_of_each(vapply(tails, `[[`, 0, "std_error"), level, alike)
  rows <- lapply(seq_len(last - 1L), function(g) {
    pair <- c(g, last)
    both <- list(tails[[g]], references[[g]])
    found <- contrast_tails(
      both[[1L]],
      both[[2L]],
      ECD_PERIOD,
      level,
      ECD_MARGIN,
      TRUE,
      each,
      Map(tail_at, cd[pair], both, ECD_PERIOD, each)
    )
    alone <- found$test == "none" && options$adjust == "none"
    if (alone) {
      found[c("bound_low", "bound_high")] <- found[c("ci_low", "ci_high")]
    }
    other <- if (of_last[[g]] == min(of_last)) {
      about[[last]]
    } else {
      tail_characteristics(references[[g]], level)
    }
    found$beyond <- is_beyond(both[[1L]], about[[g]]$horizon) ||
      is_beyond(both[[2L]], other$horizon)
    differences <- unlist(
      lapply(c(mean_of_people, function(x) worst_mean(x, WORST)), function(of) {
        mean_columns(apart(of(cd[[g]]), of(cd[[last]])), level)[c(
          "estimate",
          "ci_low",
          "ci_high",
          "pvalue"
        )]
      }),
      FALSE
    )
    names(differences) <- paste0(
      rep(c("acd", "cvar"), each = 4L),
      c("", "_low", "_high", "_pvalue")
    )
    found$method <- c(
      `likelihood ratio` = "likelihood ratio, standardised signed root",
      `draws of a power tail` = "likelihood ratio and draws of a power tail, the less sure of both",
      none = "none"
    )[[found$test]]
    do.call(
      tidy_row,
      c(
        list(
          "ECD",
          names(cd)[g],
          names(cd)[last],
          n = sum(lengths(cd[pair])),
          interactions = ECD_PERIOD
        ),
        found[names(found) != "test"],
        differences,
        about[[g]]
      )
    )
  })
  rows <- ecd_verdicts(bind_rows(rows), options)
  bind_rows(c(
    average_rows(cd, level),
    list(rows[!names(rows) %in% c("side", "beyond")]),
    largest_row(rows, sum(lengths(cd))),
    unlist(
      lapply(seq_len(last - 1L), function(g) {
        sensitivity_rows(cd[c(g, last)], list(tails[[g]], references[[g]]), level)
      }),
      FALSE
    ),
    unlist(Map(level_rows, names(cd), cd, tails, about, level), FALSE)
  ))
}

# Verdicts of all groups together; none beyond the horizon.
ecd_verdicts <- function(rows, options) {
  for (name in c("pvalue", "pvalue_verdict")) {
    error <- rows[[paste0("mc_", name)]]
    adjusted <- function(off) adjust_pvalues(pmin(pmax(rows[[name]] + off, 0), 1), options$adjust)
    own <- rows[[paste0(name, "_adjusted")]] <- adjusted(0)
    if (is.null(error)) {
      next
    }
    rows[[paste0("mc_", name, "_adjusted")]] <- pmax(
      own - adjusted(-5 * error),
      adjusted(5 * error) - own
    ) /
      5
  }
  outside <- which(rows$side < 3L & is.finite(rows$pvalue_adjusted))
  rows$pvalue_verdict_adjusted[outside] <-
    pmax(rows$pvalue_verdict_adjusted[outside], rows$pvalue_adjusted[outside])
  verdict <- mapply(
    ecd_verdict,
    rows$pvalue_verdict_adjusted,
    rows$side,
    rows$bound_low,
    rows$bound_high,
    level = options$confidence_level,
    margin = ECD_MARGIN
  )
  verdict[is.nan(rows$estimate)] <- "insufficient evidence"
  rows$verdict <- ifelse(
    rows$beyond & !is.nan(rows$pvalue) & verdict != "insufficient evidence",
    "undecided",
    verdict
  )
  rows
}

# Whether the number of interactions lies beyond the horizon of a tail, and its level is not known
# closely either.
is_beyond <- function(tail, horizon) {
  !tail$empirical &&
    !isTRUE(ECD_PERIOD <= horizon) &&
    tail$ci_high - tail$ci_low > HORIZON_WIDTH * ECD_MARGIN
}

# Level of every interval so that those of all groups against the last hold together: the largest of
# correlated normal statistics, which share the reference, by one integral; Bonferroni where a level
# has no standard error, and where the reference has another threshold beside each (not `alike`).
level_of_each <- function(std_error, level, alike = TRUE) {
  others <- length(std_error) - 1L
  if (others == 1L) {
    return(level)
  }
  if (!alike || !all(is.finite(std_error) & std_error > 0)) {
    return(1 - (1 - level) / others)
  }
  shared <- std_error[others + 1L] / sqrt(std_error[seq_len(others)]^2 + std_error[others + 1L]^2)
  inside <- function(q) {
    stats::integrate(
      function(t) {
        each <- lapply(shared, function(b) {
          stats::pnorm((q + b * t) / sqrt(1 - b^2)) - stats::pnorm((b * t - q) / sqrt(1 - b^2))
        })
        stats::dnorm(t) * Reduce(`*`, each)
      },
      -9,
      9,
      rel.tol = 1e-10,
      subdivisions = 1000L
    )$value
  }
  2 * stats::pnorm(stats::uniroot(function(q) inside(q) - level, c(0.01, 9), tol = 1e-9)$root) - 1
}

average_rows <- function(cd, level) {
  row <- function(metric, group, reference, mean, n, ...) {
    do.call(
      tidy_row,
      c(
        list(metric, group, reference, n = n, method = "mean, t-test", ...),
        mean_columns(mean, level)
      )
    )
  }
  last <- length(cd)
  means <- lapply(cd, mean_of_people)
  c(
    lapply(seq_len(last), function(g) {
      row(
        "average causal discrimination",
        names(cd)[g],
        NA_character_,
        means[[g]],
        length(cd[[g]]),
        maximum = max(cd[[g]]),
        n_synthetic = 0
      )
    }),
    lapply(seq_len(last - 1L), function(g) {
      row(
        "difference of ACD",
        names(cd)[g],
        names(cd)[last],
        apart(means[[g]], means[[last]]),
        sum(lengths(cd[c(g, last)]))
      )
    })
  )
}

# The largest size over the groups: its limits are the largest of theirs.
largest_row <- function(rows, n) {
  if (nrow(rows) < 2L) {
    return(NULL)
  }
  low <- ifelse(is.nan(rows$simultaneous_low), -Inf, rows$simultaneous_low)
  high <- ifelse(is.nan(rows$simultaneous_high), Inf, rows$simultaneous_high)
  top <- which.max(ifelse(is.nan(rows$estimate), -1, abs(rows$estimate)))
  error <- function(at) {
    max(rows$mc_simultaneous_low[at], rows$mc_simultaneous_high[at], 0, na.rm = TRUE)
  }
  list(tidy_row(
    "largest |ECD|",
    rows$group[top],
    rows$reference[top],
    estimate = abs(rows$estimate[top]),
    ci_low = max(low, -high, 0),
    ci_high = min(max(-low, high), 2),
    n = n,
    method = "max over groups",
    interactions = ECD_PERIOD,
    mc_estimate = rows$mc_estimate[top],
    mc_ci_low = error(which.max(pmax(low, -high))),
    mc_ci_high = error(which.max(pmax(-low, high)))
  ))
}

# The same difference with half and with twice the exceedances, by Student's t.
sensitivity_rows <- function(cd, tails, level) {
  lapply(c(half = 0.5, twice = 2), function(times) {
    found <- contrast_again(cd, tails, times, ECD_PERIOD, level, ECD_MARGIN)
    if (is.null(found)) {
      return(NULL)
    }
    least <- min(found$exceedances)
    tidy_row(
      paste0("ECD, ", if (times < 1) "half" else "twice", " the exceedances"),
      names(cd)[1L],
      names(cd)[2L],
      estimate = found$estimate,
      ci_low = max(found$low, -2),
      ci_high = min(found$high, 2),
      statistic = found$statistic,
      pvalue = found$pvalue,
      n = sum(lengths(cd)),
      interactions = ECD_PERIOD,
      method = sprintf("likelihood ratio, t with %d degrees of freedom", least - 3L)
    )
  })
}

# A tail with so many times the exceedances, where it is regular and has the level; else NULL.
tail_again <- function(x, tail, times, m, told = NULL) {
  k <- floor(times * tail$exceedances)
  if (k < LEAST_TAIL || k >= length(x) || k * m < length(x)) {
    return(NULL)
  }
  origin <- sort(x, decreasing = TRUE)[k + 1L]
  above <- x[x > origin]
  if (nzchar(degenerate_tail(x, above, origin, told))) {
    return(NULL)
  }
  grid <- tail_grid(above, told = told)
  if (grid > 0) {
    origin <- min(above) - grid / 2
  }
  level <- level_fall(above - origin, length(x), origin, m, "binomial", grid)
  irregular <- level$tail$at_boundary || (grid == 0 && !level$tail$regular)
  if (irregular || length(above) * m < length(x) || level$estimate > 1) {
    return(NULL)
  }
  list(excess = above - origin, n = length(x), origin = origin, grid = grid)
}

# Of a tail: law of the largest of m values with standard errors, type and horizon.
tail_characteristics <- function(tail, level) {
  out <- list(
    location = tail$return_level,
    location_std_error = tail$std_error,
    scale = NaN,
    scale_std_error = NaN,
    shape = NaN,
    shape_std_error = NaN,
    threshold = tail$threshold,
    type = NA_character_,
    horizon = NaN,
    mc_horizon = 0,
    mc_location = tail$errors[1L]
  )
  if (nzchar(tail$degenerate)) {
    return(out)
  }
  s <- log(ECD_PERIOD * tail$rate)
  out$scale <- tail$scale * exp(tail$shape * s)
  gradient <- out$scale * c(1 / tail$scale, s, tail$shape)
  spread <- rbind(cbind(tail$covariance, 0), c(0, 0, 1 / tail$exceedances))
  out$scale_std_error <- sqrt(drop(gradient %*% spread %*% gradient))
  out[c("shape", "shape_std_error")] <- tail[c("shape", "shape_std_error")]
  out[c("horizon", "mc_horizon")] <- horizon_of(tail, level)
  if (is.nan(tail$shape_std_error) && tail$shape <= -1) {
    return(out)
  }
  ends <- tail_shape(tail$excess, level, tail$grid)
  out$type <- if (ends$high < 0) {
    "III"
  } else if (ends$low > 0) {
    "II, pre-asymptotic"
  } else {
    "undecided (I not excluded)"
  }
  c(out, shape_low = max(ends$low, -1), shape_high = ends$high)
}

# The largest number of interactions whose level is known. Of a power tail with its Monte Carlo
# error.
horizon_of <- function(tail, level) {
  drawn <- if (tail$power) power_draws(tail)
  horizon <- function(off) {
    farthest(
      function(s) {
        at <- level_at(tail, exp(s), level, drawn)
        error <- if (off == 0) 0 else off * max(at$errors)
        isTRUE(at$high - at$low + error < HORIZON_WIDTH * abs(at$estimate) && at$high + error < 1)
      },
      tail$rate
    )
  }
  found <- horizon(0)
  if (!tail$power) {
    return(list(found, 0))
  }
  far <- c(horizon(-5), horizon(5))
  list(found, if (all(is.finite(c(far, found)))) max(abs(far - found)) / 5 else Inf)
}

# The last before the first failure, by halving on three grids of the logarithm, each inside a cell
# of the one before.
farthest <- function(known, rate) {
  ends <- c(0, log(HORIZON_FARTHEST)) - log(rate)
  if (!known(ends[1L] + 1e-6)) {
    return(NaN)
  }
  if (known(ends[2L])) {
    return(Inf)
  }
  for (zoom in 1:3) {
    grid <- seq(ends[1L], ends[2L], length.out = 25L)
    cell <- c(1L, 25L)
    while (diff(cell) > 1L) {
      middle <- sum(cell) %/% 2L
      cell[if (known(grid[middle])) 1L else 2L] <- middle
    }
    ends <- grid[cell]
  }
  floor(exp(ends[1L]) * (1 + 1e-12))
}

# Levels of a group, and its shape.
level_rows <- function(group, x, tail, about, level) {
  rows <- lapply(ECD_PERIODS, function(m) {
    at <- if (m == ECD_PERIOD) tail else tail_at(x, tail, m, level)
    method <- if (!at$empirical) {
      if (tail$power) "power tail" else "standardised signed root"
    } else {
      paste0("binomial, between order statistics", if (tail_grid(x, 3L) > 0) " and their cells")
    }
    do.call(
      tidy_row,
      c(
        list(
          "return level",
          group,
          NA_character_,
          estimate = at$return_level,
          std_error = at$std_error,
          ci_low = at$ci_low,
          ci_high = at$ci_high,
          n = length(x),
          method = method,
          interactions = m,
          mc_estimate = at$errors[1L],
          mc_ci_low = at$errors[2L],
          mc_ci_high = at$errors[3L]
        ),
        if (m == ECD_PERIOD) about[!names(about) %in% c("shape_low", "shape_high")]
      )
    )
  })
  if (nzchar(tail$degenerate)) {
    return(rows)
  }
  c(
    rows,
    list(tidy_row(
      "shape",
      group,
      NA_character_,
      estimate = tail$shape,
      std_error = tail$shape_std_error,
      ci_low = c(about$shape_low, NaN)[1L],
      ci_high = c(about$shape_high, NaN)[1L],
      n = length(x),
      method = "standardised signed root"
    ))
  )
}
