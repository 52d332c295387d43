# Extreme counterfactual discrimination: the difference of the return levels of two groups'
# generalised Pareto tails, with its likelihood ratio (Monjezi, Trivedi, Kreinovich, Tizpaz-Niari.
# Fairness testing through extreme value theory).

#' Extreme counterfactual discrimination of two groups
#'
#' From the counterfactual discrimination of every person (score with another value of the sensitive
#' attribute minus own score): the difference of the return levels of `interactions` persons, whose
#' tails are generalised Pareto laws above the (k + 1)-th largest value of either group, their
#' number a binomial one. Test and interval by the likelihood ratio with rate, scale and shape of
#' both groups profiled, whose signed root is standardised by its mean and standard deviation near
#' each difference, which are tabulated, and compared with Student's t of three degrees of freedom
#' less than the smaller tail has values. Beside it the answers with half and twice the values above
#' the thresholds. Also the averages, and the mean of the worst share. All in base R, as
#' `fairstats.ecd` in Python.
#'
#' @details
#' Values on a grid with four distinct ones or more in the tail have the likelihood of their cells,
#' above a threshold half a width below the least of them. A tail of other ties, of a constant or of
#' fewer than ten values has no model, and a level above 1 none that holds: an order statistic
#' stands in, with a binomial interval, and there is neither standard error nor test; the interval
#' of the difference then comes from the two intervals. Tails with a near end point (shape below
#' -1/2), where likelihoods cover too little, have the levels of a power tail: medians and quantiles
#' of 2,000 draws, and of the likelihood ratio and independent draws of both levels the wider
#' interval and the larger p-value stand (`set.seed()` makes them the same again); where a fit ends
#' at the shape -1 the draws stand alone, which Python does not: its intervals are wider there.
#' The horizon is Python's alone.
#'
#' @param unprivileged,privileged Counterfactual discrimination of the persons of either group,
#'   between
#'   -1 and 1.
#' @param interactions Number of interactions m, the same for both groups.
#' @param threshold k, the same in both groups, raised where k values come less than once in m
#'   interactions; by default both groups have the same share of their values above it: 1.25% of the
#'   smaller group, at least 30 but no more than 5% of its values (ten at least), at most 50; of the
#'   larger group at most 1,000.
#' @param confidence_level Level of the intervals and of the verdict, whose one-sided bounds count
#'   both directions.
#' @param margin Beyond it lies a violation.
#' @param worst The mean of the worst share 1 - `worst` is given, too.
#' @param grid Width of the grid that the values of both groups lie on, that of rounded scores; 0
#'   takes values as they are. By default it is found in each tail where more than half of its
#'   values are tied, or the largest.
#' @param calibrated Whether the signed root is standardised; `FALSE`: as it is, which rejects equal
#'   tails in up to .15 of samples.
#' @param sensitivity Further answers, with the values above both thresholds multiplied by these.
#'
#' @return A list of class `fairstats_ecd`: estimate, std_error (delta method), ci_low, ci_high,
#'   bound_low, bound_high, statistic and pvalue of the likelihood ratio, pvalue_verdict, test (what
#'   was done), verdict; `tails`, a data frame with threshold, rate, scale, shape, return level and
#'   its interval per group, and why there is no model of a tail (`degenerate`); `averages`, a data
#'   frame with mean, interval and t-test per group and of their difference, and the conditional
#'   value at risk; `sensitivity`, a data frame with the answers by Student's t at other numbers of
#'   values above the thresholds, and whether each differs (another verdict, or an estimate outside
#'   the interval): no row where a tail is near its end point, has no model or cannot be had.
#'
#' @references Monjezi, Trivedi, Kreinovich, Tizpaz-Niari. Fairness testing through extreme value
#'   theory. Coles (2001). An introduction to statistical modeling of extreme values. Grimshaw
#'   (1993). Computing maximum likelihood estimates for the generalized Pareto distribution.
#'   Technometrics 35, 185-191. Zou, Donner (2008). Construction of confidence limits about effect
#'   measures. Statistics in Medicine 27, 1693-1702. Rockafellar, Uryasev (2000). Optimization of
#'   conditional value-at-risk. Journal of Risk 2, 21-41.
#'
#' @examples
#' set.seed(1)
#' fs_ecd(0.5 * rbeta(3000, 2, 8), 0.3 * rbeta(8000, 2, 8))
#' @export
fs_ecd <- function(
  unprivileged,
  privileged,
  interactions = 1000,
  threshold = NULL,
  confidence_level = 0.95,
  margin = 0.05,
  worst = 0.95,
  grid = NULL,
  calibrated = TRUE,
  sensitivity = c(0.5, 2)
) {
  need_arguments()
  if (!isTRUE(calibrated) && !identical(calibrated, FALSE)) {
    stop_argument("calibrated", listed(calibrated), "TRUE or FALSE")
  }
  for (times in sensitivity) {
    numbers_in(times, "sensitivity", 0, open = "low")
  }
  audit_options(confidence_level, margin = margin)
  numbers_in(interactions, "interactions", 1, open = "low")
  numbers_in(worst, "worst", 0, 1, open = "high")
  if (!is.null(threshold)) {
    numbers_in(threshold, "threshold", LEAST_TAIL)
  }
  groups <- list(unprivileged = unprivileged, privileged = privileged)
  for (name in names(groups)) {
    groups[[name]] <- checked_numbers(groups[[name]], name, -1, 1)
  }
  if (!is.null(grid)) {
    numbers_in(grid, "grid", 0, 1)
  }
  for (x in if (isTRUE(grid > 0)) groups) {
    cells <- (tied_alike(x) - max(tied_alike(x))) / grid
    if (max(abs(cells - round(cells))) > 1e-6) {
      stop_argument("grid", grid, "the width of a grid that all values lie on")
    }
  }
  k <- if (is.null(threshold)) exceedances_of_pair(lengths(groups)) else rep(threshold, 2L)
  tails <- Map(group_tail, groups, k, interactions, confidence_level, list(grid))
  for (name in names(tails)) {
    why <- tails[[name]]$degenerate
    if (nzchar(why)) warning(name, ": ", why, ". No tail is fitted.", call. = FALSE)
  }
  found <- contrast_tails(
    tails[[1L]],
    tails[[2L]],
    interactions,
    confidence_level,
    margin,
    calibrated
  )
  verdict <- ecd_verdict(
    found$pvalue_verdict,
    found$side,
    found$bound_low,
    found$bound_high,
    confidence_level,
    margin
  )
  columns <- c(
    "n",
    "threshold",
    "exceedances",
    "rate",
    "scale",
    "shape",
    "shape_std_error",
    "return_level",
    "std_error",
    "ci_low",
    "ci_high",
    "degenerate"
  )
  structure(
    c(
      found[!grepl("^(side|simultaneous|mc_)", names(found))],
      list(
        verdict = verdict,
        tails = cbind(group = names(tails), bind_rows(lapply(unname(tails), `[`, columns))),
        averages = ecd_averages(groups, worst, confidence_level),
        interactions = interactions,
        sensitivity = other_answers(
          groups,
          tails,
          sensitivity,
          found,
          interactions,
          confidence_level,
          margin,
          grid
        )
      )
    ),
    class = "fairstats_ecd"
  )
}

# The answers with other numbers of values above the thresholds, and whether each differs from what
# was found.
other_answers <- function(groups, tails, sensitivity, found, m, level, margin, told) {
  own <- verdict_of(found$bound_low, found$bound_high, "difference", margin)
  rows <- lapply(sensitivity, function(times) {
    other <- contrast_again(groups, tails, times, m, level, margin, told)
    if (is.null(other)) {
      return(NULL)
    }
    ends <- c(possible(other$low), possible(other$high))
    bounds <- c(possible(other$bound_low), possible(other$bound_high))
    data.frame(
      times = times,
      exceedances_first = other$exceedances[1L],
      exceedances_second = other$exceedances[2L],
      estimate = other$estimate,
      ci_low = ends[1L],
      ci_high = ends[2L],
      statistic = other$statistic,
      pvalue = other$pvalue,
      differs = verdict_of(bounds[1L], bounds[2L], "difference", margin) != own ||
        other$estimate < found$ci_low ||
        other$estimate > found$ci_high
    )
  })
  empty <- data.frame(
    times = numeric(),
    exceedances_first = numeric(),
    exceedances_second = numeric(),
    estimate = numeric(),
    ci_low = numeric(),
    ci_high = numeric(),
    statistic = numeric(),
    pvalue = numeric(),
    differs = logical()
  )
  do.call(rbind, c(list(empty), rows))
}

# The likelihood ratio by Student's t with so many times the values above both thresholds; NULL
# where there is none.
contrast_again <- function(cd, tails, times, m, level, margin, told = NULL) {
  if (any(vapply(tails, function(tail) tail$empirical || tail$power, NA))) {
    return(NULL)
  }
  again <- Map(tail_again, cd, tails, times, m, list(told))
  if (any(lengths(again) == 0L)) {
    return(NULL)
  }
  exceedances <- unname(lengths(lapply(again, `[[`, "excess")))
  c(
    likelihood_contrast(again[[1L]], again[[2L]], m, level, margin, FALSE),
    list(exceedances = exceedances)
  )
}

# By the verdict's p-value and side; by the limits where there is none.
ecd_verdict <- function(p, side, low, high, level, margin) {
  if (is.na(p)) {
    return(verdict_of(low, high, "difference", margin))
  }
  if (p > 1 - level) {
    "undecided"
  } else if (side == 3L) {
    "satisfied"
  } else {
    "violated"
  }
}

# Fewer values than this are no tail; values closer than the tie are one.
LEAST_TAIL <- 10
TIE <- 1e-12
# Above this share of the values tails that are not generalised Pareto bias the level.
LARGE_SHARE <- 0.05

# Exceedances of two groups of these numbers of rows: equal shares, as far as there are rows.
exceedances_of_pair <- function(rows) {
  fewest <- min(rows)
  least <- min(30, floor(LARGE_SHARE * fewest))
  smaller <- min(50, max(LEAST_TAIL, least, ceiling(0.0125 * fewest)))
  share <- min(smaller / max(fewest, 1), LARGE_SHARE)
  pmin(pmax(smaller, round(share * rows)), 1000)
}

# .93 - .84 is not .92 - .83 in floating point.
tied_alike <- function(x) {
  near <- round(x, 12L)
  if (length(unique(near)) < length(unique(x))) near else x
}

# Threshold, fit and level of one group, or why there is no fit and which order statistic stands in.
# `told`: the grid.
group_tail <- function(x, k, m, level, told = NULL) {
  x <- tied_alike(x)
  n <- length(x)
  if (is.null(k)) {
    k <- min(50, max(LEAST_TAIL, floor(LARGE_SHARE * n)))
  }
  # at m rate = 1 exactly the level would be the threshold itself
  if (k * m < n) {
    k <- ceiling(1.2 * n / m)
  }
  k <- min(k, n - 1)
  threshold <- if (k < LEAST_TAIL) NaN else sort(x, decreasing = TRUE)[k + 1L]
  above <- x[which(x > threshold)]
  tied <- x[which(x >= threshold)]
  # on a grid the threshold lies between two cells
  if (length(above) < k && (grid <- tail_grid(tied, told = told)) > 0) {
    threshold <- threshold - grid / 2
    above <- tied
  }
  grid <- tail_grid(above, told = told)
  origin <- if (grid > 0) min(above) - grid / 2 else threshold
  excess <- above - origin
  out <- list(
    n = n,
    threshold = threshold,
    origin = origin,
    exceedances = length(above),
    rate = length(above) / n,
    scale = NaN,
    shape = NaN,
    shape_std_error = NaN,
    excess = excess,
    grid = grid,
    empirical = TRUE,
    power = FALSE,
    degenerate = degenerate_tail(x, above, threshold, told)
  )
  if (!nzchar(out$degenerate)) {
    fit <- tail_twin(excess, grid)
    power <- grid == 0 && !fit$regular
    largest <- sum(excess == max(excess))
    if (fit$at_boundary && grid > 0) {
      out$degenerate <- "its end point is reached: the likelihood has no maximum with a shape above -1"
    } else if (power && largest > 1L) {
      shown <- format(max(above), digits = 4L)
      out$degenerate <- sprintf(
        "%d values share the largest, %s, and its end point is near",
        largest,
        shown
      )
    } else {
      out[c("scale", "shape", "shape_std_error", "power", "covariance")] <- list(
        fit$estimate[[1L]],
        fit$estimate[[2L]],
        fit$std_error[[2L]],
        power,
        fit$covariance
      )
    }
  }
  utils::modifyList(out, tail_at(x, out, m, level, told))
}

# Level of a group for m interactions; an order statistic where its tail gives none. `errors`: Monte
# Carlo errors.
tail_at <- function(x, tail, m, level, told = NULL) {
  at <- if (!nzchar(tail$degenerate) && m * tail$rate >= 1) level_at(tail, m, level)
  empirical <- is.null(at) || at$estimate > 1
  if (empirical) {
    at <- bounded_level(x, m, level, told)
  }
  list(
    empirical = empirical,
    return_level = at$estimate,
    std_error = at$std_error,
    ci_low = at$low,
    ci_high = min(at$high, 1),
    off = max(0, at$off),
    errors = if (tail$power && !empirical) at$errors else c(0, 0, 0)
  )
}

# The level by the model of a tail; with a near end point it is the median of the `drawn` ones,
# between their quantiles.
level_at <- function(tail, m, level, drawn = power_draws(tail)) {
  if (!tail$power) {
    return(tail_level(tail$excess, tail$n, tail$origin, m, level, "binomial", tail$grid))
  }
  shares <- c(0.5, 0.5 - level / 2, 0.5 + level / 2)
  ends <- stats::quantile(drawn(m), shares, names = FALSE)
  list(
    estimate = ends[1L],
    std_error = NaN,
    low = ends[2L],
    high = ends[3L],
    errors = drawn_errors(drawn(m), shares)
  )
}

power_draws <- function(tail) power_tail(tail$excess + tail$origin, tail$n)

degenerate_tail <- function(x, above, threshold, told = NULL) {
  if (max(abs(x)) <= TIE) {
    return(paste("all", length(x), "values are 0: the scores do not change with the attribute"))
  }
  if (max(x) - min(x) <= TIE) {
    return(paste("all", length(x), "values equal", format(max(x), digits = 3L)))
  }
  tied <- sum(x == threshold)
  k <- length(above)
  if (k < LEAST_TAIL) {
    return(
      if (!is.nan(threshold) && tied > 1) {
        paste(tied, "values are tied at the threshold and", k, "lie above it: ties, no tail")
      } else {
        paste(k, "values lie above the threshold, fewer than", LEAST_TAIL)
      }
    )
  }
  distinct <- 1 + sum(diff(sort(above)) > TIE * max(1, abs(above)))
  if (distinct >= max(LEAST_TAIL, k / 2) || tail_grid(above, told = told) > 0) {
    return("")
  }
  what <- if (distinct > 1) paste("are", distinct, "distinct ones") else "are one and the same"
  paste("its", k, "largest values", paste0(what, ":"), "ties, not a continuous tail")
}

# Width of the grid of tied values that a tail can be fitted to, 0 where there is none: the largest
# that all differences are multiples of, by Euclid's algorithm, in floating point; the answer is
# checked. The values are differences of rounded scores: with fewer than four cells they say too
# little of a shape.
tail_grid <- function(above, least = 4L, told = NULL) {
  cells <- length(unique(round(above / TIE)))
  if (cells < least) {
    return(0)
  }
  if (!is.null(told)) {
    return(if (told > 0 && cells < 0.05 * diff(range(above)) / told) 0 else told)
  }
  near <- round(above, 9L)
  if (length(unique(near)) >= length(above) / 2 && sum(near == max(near)) < 2L) {
    return(0)
  }
  distinct <- sort(unique(above))
  range <- distinct[length(distinct)] - distinct[1L]
  noise <- 8 * .Machine$double.eps * max(1, abs(distinct))
  steps <- unique(diff(distinct))
  steps <- sort(steps[steps > noise])
  width <- steps[1L]
  for (step in steps) {
    pair <- c(step, width)
    while (pair[2L] > 1e3 * noise) {
      pair <- c(pair[2L], abs(pair[1L] - pair[2L] * round(pair[1L] / pair[2L])))
    }
    width <- pair[1L]
    if (width * 1e5 < range) return(0)
  }
  cells <- (distinct - distinct[1L]) / width
  last <- cells[length(cells)]
  if (last > 1e5 || max(abs(cells - round(cells))) > max(1e-6, noise / width)) {
    return(0)
  }
  # a few fractions have a common divisor, too, but their grid is empty
  if (length(distinct) < 0.05 * last) {
    return(0)
  }
  # coarser values are decisions, or votes of a few: they are what they are, and no rounded
  # probabilities
  if (range / round(last) > 0.2 + TIE) 0 else range / round(last)
}

# An order statistic in place of the model's level: counterfactual discrimination lies in [-1, 1].
bounded_level <- function(x, m, level, told = NULL) {
  if (length(x) < LEAST_TAIL) {
    return(list(estimate = NaN, std_error = NaN, low = -1, high = 1))
  }
  found <- empirical_level(x, m, level)
  width <- if (is.null(told)) tail_grid(x, 3L) else told # both scores of a row are off by up to half a width
  # the highest cell is the answer where it holds the tail
  in_top <- width > 0 && sum(x > max(x) - width / 2) >= max(LEAST_TAIL, LARGE_SHARE * length(x))
  high <- if (in_top) min(found$high, max(x)) else found$high
  list(
    estimate = if (m >= length(x)) max(x) else found$estimate,
    std_error = NaN,
    low = max(found$low - width, -1),
    high = min(high + width, 1),
    off = width
  )
}

# The difference of two levels: by likelihood ratio, or from the two intervals where one is an order
# statistic. `calibrated`: the signed root is standardised by its law; `each`: level of the
# simultaneous interval; `wider`: the two levels with their intervals at `each`. Columns that begin
# with mc_: errors of the difference from another run.
contrast_tails <- function(
  first,
  second,
  m,
  level,
  margin,
  calibrated = FALSE,
  each = level,
  wider = list(first, second)
) {
  out <- list(estimate = first$return_level - second$return_level, std_error = NaN)
  drawn_estimate <- sqrt(first$errors[1L]^2 + second$errors[1L]^2)
  if (first$empirical || second$empirical) {
    ends <- function(a, b) {
      square_and_add(
        a$return_level,
        a$ci_low,
        min(a$ci_high, 1),
        b$return_level,
        b$ci_low,
        min(b$ci_high, 1),
        c(a$off, b$off)
      )
    }
    own <- ends(first, second)
    all <- ends(wider[[1L]], wider[[2L]])
    error <- sqrt(sum(first$errors^2, second$errors^2))
    return(c(
      out,
      list(
        ci_low = own[1L],
        ci_high = own[2L],
        bound_low = all[1L],
        bound_high = all[2L],
        statistic = NaN,
        pvalue = NaN,
        pvalue_verdict = NaN,
        side = NA,
        test = "none",
        simultaneous_low = all[1L],
        simultaneous_high = all[2L],
        mc_estimate = drawn_estimate,
        mc_ci_low = error,
        mc_ci_high = error,
        mc_bound_low = error,
        mc_bound_high = error
      )
    ))
  }
  levels <- unique(c(level, each))
  joint <- length(levels)
  if (first$power || second$power) {
    draws_of <- function(tail) {
      if (tail$power) {
        power_draws(tail)(m)
      } else {
        root_draws(tail$excess, tail$n, tail$origin, m, "binomial", tail$grid)
      }
    }
    found <- drawn_contrast(draws_of(first), draws_of(second), levels, margin)
    # which tails look as if their end point were near is chance: the likelihood ratio is asked, too
    found <- less_sure(found, likelihood_contrast(first, second, m, levels, margin, calibrated))
    test <- "draws of a power tail"
  } else {
    out$std_error <- sqrt(first$std_error^2 + second$std_error^2)
    found <- likelihood_contrast(first, second, m, levels, margin, calibrated)
    out$estimate <- found$estimate
    test <- "likelihood ratio"
  }
  error <- function(name, i = 1L) if (is.null(found$errors)) 0 else found$errors[[name]][i]
  # who is shown to lie beyond the margin is shown to differ
  if (found$side < 3L) {
    found$pvalue_verdict <- max(found$pvalue_verdict, found$pvalue)
  }
  bounds <- reach_fair_range(
    c(found$bound_low, found$bound_high),
    found$pvalue,
    c(-margin, margin),
    1 - level
  )
  found[c("bound_low", "bound_high")] <- as.list(bounds)
  c(
    out,
    list(
      ci_low = possible(found$low[1L]),
      ci_high = possible(found$high[1L]),
      bound_low = possible(found$bound_low),
      bound_high = possible(found$bound_high),
      statistic = found$statistic,
      pvalue = found$pvalue,
      pvalue_verdict = found$pvalue_verdict,
      side = found$side,
      test = test,
      simultaneous_low = possible(found$low[joint]),
      simultaneous_high = possible(found$high[joint]),
      mc_estimate = drawn_estimate,
      mc_ci_low = error("low"),
      mc_ci_high = error("high"),
      mc_bound_low = error("bound_low"),
      mc_bound_high = error("bound_high"),
      mc_pvalue = error("pvalue"),
      mc_statistic = error("statistic"),
      mc_pvalue_verdict = error("pvalue_verdict"),
      mc_simultaneous_low = error("low", joint),
      mc_simultaneous_high = error("high", joint)
    )
  )
}

# The wider intervals and the larger p-values of draws and of a likelihood ratio.
less_sure <- function(draws, ratio) {
  wider <- c(low = -1, high = 1, bound_low = -1, bound_high = 1, pvalue = 1, pvalue_verdict = 1)
  out <- draws
  for (name in names(wider)) {
    chosen <- wider[[name]] * (possible(ratio[[name]]) - possible(draws[[name]])) > 0
    out[[name]] <- ifelse(chosen, ratio[[name]], draws[[name]])
    errors <- pmax(draws$errors[[name]], if (is.null(ratio$errors)) 0 else ratio$errors[[name]])
    out$errors[[name]] <- errors
  }
  if (ratio$pvalue_verdict > draws$pvalue_verdict) {
    out$side <- ratio$side
  }
  out$statistic <- ratio$statistic
  out$errors$statistic <- 0
  out
}

# Differences of what lies in [-1, 1].
possible <- function(x) pmin(pmax(x, -2), 2)

# The likelihood ratio of two tails; `calibrated`: standardised by the law of its root.
likelihood_contrast <- function(first, second, m, levels, margin, calibrated) {
  compare <- function(...) {
    level_contrast(
      first$excess,
      first$n,
      first$origin,
      second$excess,
      second$n,
      second$origin,
      m,
      levels,
      "binomial",
      margin,
      grid1 = first$grid,
      grid2 = second$grid,
      ...
    )
  }
  if (!calibrated) {
    return(compare())
  }
  root <- tabulated_moments(first, second, c(first$n, second$n), m)
  compare(root$mean, root$sd, at = root$at)
}

# Difference of two independent means, with the degrees of freedom of Welch and Satterthwaite.
apart <- function(a, b) {
  std_error <- sqrt(a$std_error^2 + b$std_error^2)
  share <- (a$std_error / std_error)^4 / a$df + (b$std_error / std_error)^4 / b$df
  list(
    estimate = a$estimate - b$estimate,
    std_error = std_error,
    df = if (isTRUE(share > 0)) 1 / share else Inf
  )
}

# A mean as columns of a table: interval and test by Student's t.
mean_columns <- function(found, level) {
  inference <- mean_inference(found$estimate, found$std_error, level, found$df)
  c(
    found[c("estimate", "std_error")],
    stats::setNames(inference, c("ci_low", "ci_high", "statistic", "pvalue"))
  )
}

ecd_averages <- function(groups, worst, level) {
  rows <- function(quantity, found) {
    do.call(
      rbind,
      lapply(names(found), function(group) {
        data.frame(quantity = quantity, group = group, mean_columns(found[[group]], level))
      })
    )
  }
  means <- lapply(groups, mean_of_people)
  difference <- list(`unprivileged - privileged` = apart(means[[1L]], means[[2L]]))
  risks <- rows("conditional value at risk", lapply(groups, worst_mean, worst))
  risks[c("statistic", "pvalue")] <- NaN
  rbind(rows("mean", means), rows("difference of means", difference), risks)
}

# Mean of the worst share.
worst_mean <- function(x, worst) {
  # the value of rank ceiling(n * worst) minimises q + mean(pmax(x - q, 0)) / (1 - worst)
  q <- sort(x)[[max(ceiling(length(x) * worst - 1e-9), 1)]]
  beyond <- mean_of_people(pmax(x - q, 0) / (1 - worst))
  list(estimate = q + beyond$estimate, std_error = beyond$std_error, df = beyond$df)
}

#' @rdname fairstats-methods
#' @export
print.fairstats_ecd <- function(x, digits = 3L, ...) {
  cat(
    "Extreme counterfactual discrimination in ",
    format(x$interactions, big.mark = ","),
    " interactions: ",
    formatC(x$estimate, digits, format = "f"),
    " [",
    formatC(x$ci_low, digits, format = "f"),
    ", ",
    formatC(x$ci_high, digits, format = "f"),
    "], ",
    if (is.nan(x$pvalue)) "no test" else paste("p =", format.pval(x$pvalue, 2L, 1e-4)),
    ", ",
    x$verdict,
    "\n",
    sep = ""
  )
  shown <- if (any(nzchar(x$tails$degenerate))) x$tails else x$tails[names(x$tails) != "degenerate"]
  print.data.frame(shown, digits = digits, row.names = FALSE)
  print.data.frame(x$averages, digits = digits, row.names = FALSE)
  others <- x$sensitivity[x$sensitivity$differs, ]
  if (NROW(others)) {
    answers <- sprintf(
      "%g times the values above: %s (%s to %s)",
      others$times,
      formatC(others$estimate, digits, format = "f"),
      formatC(others$ci_low, digits, format = "f"),
      formatC(others$ci_high, digits, format = "f")
    )
    cat(
      "The answer depends on the threshold: with ",
      paste(answers, collapse = "; "),
      ".\n",
      sep = ""
    )
  }
  invisible(x)
}
