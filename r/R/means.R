# Numbers by group: means and errors by Welch's statistic with the transformation of Hall (1992,
# JRSS B 54, 221-228), and quantiles by order statistics. Computed from the definitions: limits are
# roots of the statistic, where Python has closed forms.

# Below so many effective units of a group nothing is compared.
FEWEST_UNITS <- 20

#' Means, quantiles and errors of predictions by group, from a data frame or vectors
#'
#' `fs_means`: means, medians or other quantiles of a number (a wage, a price) of every group
#' against the reference. `fs_prediction_errors`: mean absolute error, mean residual or root mean
#' squared error of predicted numbers.
#'
#' @param data A data frame whose columns the other arguments name; or `NULL`, and they are vectors.
#'   In its place a formula with the data frame second: see [fairstats-formula].
#' @param y The number, in any unit.
#' @param y_true,y_pred Outcome and prediction, numbers in one unit.
#' @param sensitive_features A sensitive column or several, which are crossed; without `data` a
#'   vector, or a list or data frame of vectors.
#' @param statistic `"mean"`, `"median"`, or the order of a quantile; or `"selection_rate"`, the
#'   share of a group that is selected at cut-offs at quantiles of all rows: with
#'   `contrast = "ratio"` the adverse impact ratio by quantile of lending.
#' @param metric `"mean_absolute_error"`, `"mean_residual"` (prediction less outcome),
#'   `"root_mean_squared_error"` or `"r_squared"`, the share of the group's own variance that is
#'   predicted (differences only).
#' @param contrast `"difference"`, in the unit of the number, or `"ratio"`; of means also
#'   `"standardised_difference"`, in standard deviations (the root of the mean of both variances).
#' @param comparisons `"reference"` or `"all"` pairs; `"rest"`, all other rows; or `"overall"`, all
#'   rows, the group's own among them, where other groups of fewer than 20 units count as one, which
#'   the smallest of the rest joins while these are too few.
#' @param strata Confounder: adds the comparison
#'   within strata as columns `adjusted`, `adjusted_ci_low`, `adjusted_ci_high`, `adjusted_pvalue`,
#'   `adjusted_verdict` and `pvalue_homogeneity`, and in full as attribute `"stratified"`; a sentence
#'   where both disagree is printed first. Each mean is sum(w m) / sum(w) over the strata, with the
#'   weights of Mantel and Haenszel, w = w1 w0 / (w1 + w0), of the rows of both groups or their
#'   weights; quantiles, variances and mean squared errors are summed alike, and rates at a cut-off
#'   compared by the stratified score. `"rest"`: all other rows of every stratum; `"overall"`: means
#'   or quantiles of a group and of everybody, summed by the rows of the group. Clusters may lie in
#'   several strata.
#' @param margin Of differences: up to it a difference counts as fair.
#' @param threshold Of ratios: from it to its inverse they count as fair.
#' @param quantiles Of selection rates: orders of the cut-offs among all rows; by default the
#'   deciles.
#' @param larger_is_better Of selection rates: whether rows from the cut-off on are selected, or
#'   those up to it.
#' @param n_resamples Draws of the rows, or clusters, of each group, for the studentised bootstrap of
#'   standardised differences and R squared.
#'
#' @inheritParams fs_audit
#'
#' @return A data frame of class `fairstats_audit`, as from [fs_audit()]; `rate` and
#'   `rate_reference` are the values of both groups.
#'
#' @references Hall (1992). On the removal of skewness by transformation. JRSS B 54, 221-228.
#'
#' @examples
#' people <- data.frame(wage = c(10:40, 12:50), sex = rep(c("f", "m"), c(31, 39)))
#' fs_means(people, "wage", "sex", contrast = "ratio")
#' fs_means(wage ~ sex, people, statistic = "median")
#' @export
fs_means <- function(
  data = NULL,
  y,
  sensitive_features,
  statistic = "mean",
  contrast = "difference",
  reference = NULL,
  comparisons = "reference",
  margin = 0,
  threshold = 0.8,
  confidence_level = 0.95,
  simultaneous = "none",
  adjust = "holm",
  sample_weight = NULL,
  cluster = NULL,
  strata = NULL,
  missing = "raise",
  quantiles = NULL,
  larger_is_better = TRUE,
  n_resamples = 999,
  seed = 1
) {
  arguments <- given_arguments()
  order <- NULL
  if (is.character(statistic)) {
    choice_of(statistic, "statistic", c("mean", "median", "selection_rate"))
    if (statistic == "median") order <- 0.5
  } else {
    order <- numbers_in(statistic, "statistic", 0, 1, open = BOTH)
  }
  choice_of(contrast, "contrast", c("difference", "ratio", "standardised_difference"))
  scene <- read_number_columns(arguments, "y")
  if (identical(statistic, "selection_rate")) {
    return(selection_by_quantile(scene$numbers$y, scene, arguments))
  }
  if (!is.null(quantiles)) {
    stop_argument("quantiles", "quantiles", "NULL but with statistic = \"selection_rate\"")
  }
  if (contrast == "standardised_difference") {
    if (!is.null(order)) {
      stop_argument("contrast", "a standardised difference of quantiles", "of means")
    }
    return(smooth_table("standardised_mean_difference", scene$numbers$y, NULL, scene, arguments))
  }
  name <- if (is.null(order)) {
    "mean"
  } else if (order == 0.5) {
    "median"
  } else {
    paste0("quantile_", format(order))
  }
  number_table(name, list(y = scene$numbers$y), "y", scene, arguments, order = order)
}

#' @rdname fs_means
#' @export
fs_prediction_errors <- function(
  data = NULL,
  y_true,
  y_pred,
  sensitive_features,
  metric = "mean_absolute_error",
  contrast = "difference",
  reference = NULL,
  comparisons = "reference",
  margin = 0,
  threshold = 0.8,
  confidence_level = 0.95,
  simultaneous = "none",
  adjust = "holm",
  sample_weight = NULL,
  cluster = NULL,
  strata = NULL,
  missing = "raise",
  n_resamples = 999,
  seed = 1
) {
  arguments <- given_arguments()
  metrics <- c("mean_absolute_error", "mean_residual", "root_mean_squared_error", "r_squared")
  choice_of(metric, "metric", metrics)
  scene <- read_number_columns(arguments, c("y_true", "y_pred"))
  residual <- scene$numbers$y_pred - scene$numbers$y_true
  if (metric == "r_squared") {
    if (contrast != "difference") {
      stop_argument("contrast", "\"ratio\" of R squared", "their difference: they have both signs")
    }
    return(smooth_table(metric, scene$numbers$y_true, residual^2, scene, arguments))
  }
  error <- switch(metric, mean_absolute_error = abs(residual), mean_residual = residual, residual^2)
  number_table(
    metric,
    list(error = error),
    "error",
    scene,
    arguments,
    root = metric == "root_mean_squared_error"
  )
}

# Columns, groups and pairs of a call whose outcomes are numbers.
read_number_columns <- function(arguments, names) {
  names_of_columns <- c(names, "sensitive_features", "sample_weight", "cluster", "strata")
  columns <- arguments[intersect(names(arguments), names_of_columns)]
  read <- settle_missing(arguments$data, columns, arguments$missing)
  kind <- choice_of(arguments$comparisons, "comparisons", c("reference", "all", "rest", "overall"))
  scene <- read_scene(
    read$data,
    NULL,
    NULL,
    NULL,
    read$sensitive_features,
    arguments$reference,
    1,
    if (kind == "all") "all" else "reference",
    read$sample_weight,
    read$cluster
  )
  data <- if (!is.null(read$data)) checked_frame(read$data)
  scene$numbers <- lapply(stats::setNames(nm = names), function(name) {
    x <- checked_amounts(column_of(data, read[[name]], name), name)
    if (length(x) != scene$input$n) {
      stop_argument(name, paste(length(x), "values"), "one for each row")
    }
    x
  })
  scene$stratum <- stratum_of_numbers(
    data,
    read$strata,
    scene$input$n,
    arguments$strata
  )
  groups <- seq_along(scene$grouping$groups)
  if (kind == "rest") {
    scene$pairs <- cbind(groups, -1L)
  }
  if (kind == "overall") {
    scene$pairs <- cbind(groups, -2L)
  }
  scene
}

# Numbers whose cubes can be summed: none beyond 1e80, and some beyond 1e-80 unless all are 0.
checked_amounts <- function(x, argument) {
  x <- checked_numbers(x, argument, -1e80, 1e80)
  largest <- max(abs(x))
  if (largest > 0 && largest < 1e-80) {
    stop_argument(
      argument,
      paste("no number beyond", format(largest)),
      "some beyond 1e-80; change the unit"
    )
  }
  x
}

# A comparison of numbers as a row of the tidy table; `n`: rows of the group.
tidy_numbers <- function(metric, group, reference, row, n, options) {
  tidy_row(
    metric,
    group,
    reference,
    estimate = row$estimate,
    std_error = row$std_error,
    ci_low = row$low,
    ci_high = row$high,
    statistic = row$z_equal,
    pvalue = row$p_equal,
    n = n,
    n_reference = row$n_reference,
    method = row$method,
    rate = row$rate,
    rate_reference = row$rate_reference,
    bound_low = row$bound_low,
    bound_high = row$bound_high,
    confidence_level = options$confidence_level,
    p_below = row$p_below,
    p_above = row$p_above,
    p_inside = row$p_inside
  )
}

number_table <- function(metric, numbers, column, scene, arguments, order = NULL, root = FALSE) {
  groups <- scene$grouping$groups
  place <- match(scene$grouping$labels, groups)
  if (is.null(order)) {
    moments <- number_moments(
      numbers[[column]],
      place,
      length(groups),
      scene$input$weight,
      scene$input$cluster
    )
    values <- mean_values(moments, root)
  } else {
    is_rest <- arguments$comparisons == "rest"
    if (arguments$comparisons %in% POOLED && arguments$simultaneous == "max-z") {
      stop_argument("simultaneous", "\"max-z\" beside all other rows, or all", "\"bonferroni\"")
    }
    input <- scene$input
    one_group_each(input$cluster, place)
    values <- quantile_values(
      samples_of(numbers[[column]], place, length(groups), is_rest, input$weight, input$cluster),
      order
    )
  }
  adjust <- NULL
  if (!is.null(scene$stratum)) {
    adjust <- function(crude, about) {
      about$root <- root
      compare <- if (is.null(order)) {
        means_in_strata(numbers[[column]])
      } else {
        quantiles_in_strata(numbers[[column]], order, place)
      }
      adjusted_rows(compare, place, scene$stratum, scene$input, groups, crude, about)
    }
  }
  table_of_values(metric, function() values, scene, arguments, arguments$contrast, adjust)
}

# Of what is drawn: standardised differences of means, or R squared.
smooth_table <- function(metric, x, squared_error, scene, arguments) {
  groups <- scene$grouping$groups
  resamples <- numbers_in(arguments$n_resamples, "n_resamples", 199, whole = TRUE)
  if (is.null(squared_error)) {
    squared_error <- 0
    if (arguments$simultaneous == "max-z") {
      stop_argument("simultaneous", "\"max-z\" of standardised differences", "\"bonferroni\"")
    }
  }
  values <- function() {
    drawn_values(
      metric,
      x,
      squared_error,
      match(scene$grouping$labels, groups),
      length(groups),
      scene$input$weight,
      scene$input$cluster,
      resamples
    )
  }
  adjust <- NULL
  if (!is.null(scene$stratum)) {
    adjust <- function(crude, about) {
      compare <- draws_in_strata(metric, x, squared_error, resamples, arguments$seed)
      place <- match(scene$grouping$labels, groups)
      adjusted_rows(compare, place, scene$stratum, scene$input, groups, crude, about)
    }
  }
  table_of_values(metric, values, scene, arguments, "difference", adjust)
}

# `make_values`: what draws, draws by the seed; `adjust`: makes the rows within strata.
table_of_values <- function(
  metric,
  make_values,
  scene,
  arguments,
  contrast,
  adjust = NULL
) {
  choice_of(contrast, "contrast", c("difference", "ratio"))
  numbers_in(arguments$margin, "margin", 0)
  numbers_in(arguments$threshold, "threshold", 0, 1, open = "low")
  options <- audit_options(
    arguments$confidence_level,
    simultaneous = arguments$simultaneous,
    adjust = arguments$adjust
  )
  limit <- if (contrast == "ratio") arguments$threshold else arguments$margin
  groups <- scene$grouping$groups
  highest <- isTRUE(attr(scene$pairs, "highest"))
  values <- with_seed(arguments$seed, make_values())
  if (highest) {
    top <- which.max(values$value)
    scene$pairs <- cbind(setdiff(seq_along(groups), top), top)
  }
  family <- if (highest) t(utils::combn(length(groups), 2L)) else scene$pairs
  simultaneous <- if (highest && options$simultaneous == "none") "max-z" else options$simultaneous
  compare <- function(pvalues) {
    compare_numbers(
      values,
      scene$pairs,
      contrast,
      limit,
      options$confidence_level,
      simultaneous,
      family,
      pvalues
    )
  }
  rows <- with_seed(arguments$seed, compare(NULL))
  if (highest) {
    rows <- with_seed(arguments$seed, compare(vapply(rows, `[[`, 0, "p_equal")))
  }
  found <- bind_rows(lapply(seq_along(rows), function(k) {
    row <- rows[[k]]
    pair <- scene$pairs[k, ]
    reference <- if (pair[2L] > 0) groups[pair[2L]] else c("the rest", "all")[-pair[2L]]
    tidy_numbers(metric, groups[pair[1L]], reference, row, values$n[pair[1L]], options)
  }))
  chosen_among <- if (highest) nrow(family) else 0
  found$pvalue_adjusted <- adjust_pvalues(found$pvalue, options$adjust)
  if (highest) {
    found$pvalue_adjusted <- vapply(rows, `[[`, 0, "p_joint")
  }
  one_value <- contrast == "ratio" && limit == 1
  crude <- settle_rows(found, options, chosen_among, one_value)
  about <- list(
    options = options,
    contrast = contrast,
    limit = limit,
    among = chosen_among,
    comparisons = arguments$comparisons
  )
  within <- if (!is.null(adjust)) adjust(crude, about)
  with_adjusted_means(crude, within, function(rows) as_audit(rows, "numbers", scene$input))
}

# ---------------------------------------------------------------- laws of means

# Sums of every group over its sampling units u of weight W_u and excess e_u = sum w (x - mean): sum
# W^k, sum e^2, sum e^3, and those that a shift of the mean needs.
number_moments <- function(x, group, count, weight = NULL, cluster = NULL) {
  w <- if (is.null(weight)) rep(1, length(x)) else weight
  unit <- if (is.null(cluster)) seq_along(x) else as.integer(factor(cluster))
  over <- function(v, by, size) {
    vapply(split(v, factor(by, seq_len(size))), sum, 0, USE.NAMES = FALSE)
  }
  units <- max(unit)
  group_of <- integer(units)
  group_of[unit] <- group
  if (any(group_of[unit] != group)) {
    stop_argument("cluster", "clusters in several groups", "clusters within groups")
  }
  mean <- over(w * x, group, count) / over(w, group, count)
  big <- over(w, unit, units)
  e <- over(w * (x - mean[group]), unit, units)
  sums <- function(v) over(v, group_of, count)
  list(
    mean = mean,
    n = tabulate(group, count),
    units = tabulate(group_of, count),
    weights = rbind(sums(big), sums(big^2), sums(big^3)),
    centred = rbind(sums(e^2), sums(e^3), sums(e * big), sums(e^2 * big), sums(e * big^2)),
    negative = over(as.numeric(x < 0), group, count)
  )
}

# Several groups as one: their excesses about the common mean are e - shift * W.
pool_moments <- function(m, groups) {
  w <- m$weights[, groups, drop = FALSE]
  mean <- sum(w[1L, ] * m$mean[groups]) / sum(w[1L, ])
  d <- mean - m$mean[groups]
  s <- m$centred[, groups, drop = FALSE]
  squares <- s[1L, ] - 2 * d * s[3L, ] + d^2 * w[2L, ]
  cubes <- s[2L, ] - 3 * d * s[4L, ] + 3 * d^2 * s[5L, ] - d^3 * w[3L, ]
  list(
    mean = mean,
    n = sum(m$n[groups]),
    units = sum(m$units[groups]),
    weights = matrix(rowSums(w)),
    centred = matrix(c(sum(squares), sum(cubes), NaN, NaN, NaN)),
    negative = sum(m$negative[groups])
  )
}

# Mean, its variance and third cumulant, and Kish's number of units.
law_of_mean <- function(m, g = 1L) {
  u <- m$units[g]
  w <- m$weights[, g]
  s <- m$centred[, g]
  list(
    mean = m$mean[g],
    v = u / (u - 1) * s[1L] / w[1L]^2,
    k = u^2 / ((u - 1) * (u - 2)) * s[2L] / w[1L]^3,
    size = w[1L]^2 / w[2L]
  )
}

hall <- function(x, a) x + a / 6 + a * x^2 / 3 + a^2 * x^3 / 27

# The statistic of H0: (1 - ratio * share) * m1 - ratio * m0 = difference as standard normal
# numbers: what speaks for above, what for below, and Welch's. By the skewness of the difference, by
# one shape of both groups, and by none: what rejects least counts.
welch_hall <- function(one, zero, difference = 0, ratio = 1, share = 0) {
  a <- 1 - ratio * share
  v <- c(a^2 * one$v, ratio^2 * zero$v)
  s <- sqrt(sum(v))
  df <- sum(v)^2 / sum(v^2 / (c(one$size, zero$size) - 1))
  shape <- function(m) if (m$v > 0) m$k * sqrt(m$size) / m$v^1.5 else 0
  shapes <- c(shape(one), shape(zero))
  larger <- shapes[which.max(abs(shapes))]
  own <- (a^3 * one$k - ratio^3 * zero$k) / s^3
  alike <- larger *
    (a^3 * one$v^1.5 / sqrt(one$size) - ratio^3 * zero$v^1.5 / sqrt(zero$size)) /
    s^3
  x <- (a * one$mean - ratio * zero$mean - difference) / s
  normal <- function(t) {
    if (t > 0) -stats::qnorm(stats::pt(-t, df)) else stats::qnorm(stats::pt(t, df))
  }
  mended <- hall(x, c(own, alike, 0))
  c(above = normal(min(mended)), below = normal(max(mended)), plain = normal(x))
}

# Root of a function between two points, widened by a factor until its sign changes.
root_beyond <- function(f, from, step) {
  for (k in 0:60) {
    to <- from + step * 2^k
    if (f(from) * f(to) <= 0) {
      return(stats::uniroot(f, sort(c(from, to)), tol = 1e-13 * abs(step))$root)
    }
  }
  sign(step) * Inf
}

mean_difference <- function(one, zero, share = 0) {
  estimate <- (1 - share) * one$mean - zero$mean
  s <- sqrt((1 - share)^2 * one$v + zero$v)
  z <- function(value) welch_hall(one, zero, difference = value, share = share)
  limits <- function(critical) {
    c(
      root_beyond(function(value) z(value)[["above"]] - critical, estimate + s, -s),
      root_beyond(function(value) z(value)[["below"]] + critical, estimate - s, s)
    )
  }
  list(estimate = estimate, std_error = s, z = z, limits = limits)
}

mean_ratio <- function(one, zero, share = 0, root = FALSE) {
  whole <- zero$mean + share * one$mean
  estimate <- one$mean / whole
  s <- sqrt(zero$mean^2 * one$v + one$mean^2 * zero$v) / whole^2
  back <- if (root) sqrt else identity
  square <- if (root) function(x) x^2 else identity
  z <- function(value) welch_hall(one, zero, ratio = square(value), share = share)
  list(
    estimate = back(estimate),
    std_error = if (root) s / (2 * sqrt(estimate)) else s,
    z = z,
    limits = limits_of_ratio(back(estimate), z, if (share > 0) back(1 / share) else Inf)
  )
}

# On the logarithmic scale; 0 and infinity where nothing is excluded.
limits_of_ratio <- function(estimate, z, largest) {
  function(critical) {
    low <- root_beyond(
      function(v) z(exp(v))[["above"]] - critical,
      log(estimate) + 1e-3,
      -0.01
    )
    high <- root_beyond(
      function(v) z(exp(v))[["below"]] + critical,
      log(estimate) - 1e-3,
      0.01
    )
    c(exp(low), min(exp(high), largest))
  }
}

# Limits of one mean by its own skewness or none, whichever is wider.
mean_limits <- function(one, critical) {
  s <- sqrt(one$v)
  if (!s > 0) {
    return(c(one$mean, one$mean))
  }
  a <- one$k / s^3
  q <- -stats::qt(stats::pnorm(-critical), one$size - 1)
  back <- function(y) {
    if (a == 0) {
      return(y)
    }
    # hall(x) is beyond x / 4
    reach <- max(1e3, 4 * abs(y) + abs(a))
    stats::uniroot(function(x) hall(x, a) - y, c(-reach, reach), tol = 1e-13)$root
  }
  one$mean - s * c(max(back(q), q), min(back(-q), -q))
}

# Difference of two estimates from the limits of each (Zou and Donner 2008), on a scale whose
# inverse is `back`.
mover_of_two <- function(values, limits_of, back = identity, scale = identity, floor = FALSE) {
  ends <- function(critical) {
    l <- limits_of(1L, critical)
    r <- limits_of(2L, critical)
    d <- values[1L] - values[2L]
    # near 0 limits of a quantile may lie on the other side of it: no distance then
    away <- pmax(
      c(values[1L] - l[1L], r[2L] - values[2L], l[2L] - values[1L], values[2L] - r[1L]),
      0
    )
    found <- c(d - sqrt(sum(away[1:2]^2)), d + sqrt(sum(away[3:4]^2)))
    # the distance to a limit of 0 is no noise
    if (floor && l[1L] <= 0) {
      found[1L] <- min(found[1L], l[1L] - r[2L])
    }
    if (floor && r[1L] <= 0) {
      found[2L] <- max(found[2L], l[2L] - r[1L])
    }
    found
  }
  z <- function(value) {
    gap <- values[1L] - values[2L] - scale(value)
    if (gap == 0) {
      return(c(above = 0, below = 0, plain = 0))
    }
    side <- if (gap > 0) 1L else 2L
    open <- function(critical) sign(gap) * (ends(critical)[side] - scale(value))
    size <- if (open(30) > 0) {
      30
    } else {
      between <- c(0, 30)
      for (k in 1:60) {
        middle <- mean(between)
        if (open(middle) <= 0) between[2L] <- middle else between[1L] <- middle
      }
      between[1L]
    }
    c(above = sign(gap) * size, below = sign(gap) * size, plain = sign(gap) * size)
  }
  limits <- function(critical) back(ends(critical))
  list(
    limits_of = limits_of,
    estimate = back(values[1L] - values[2L]),
    std_error = diff(limits(1)) / 2,
    z = z,
    limits = limits
  )
}

# Limits of one mean by Student's t, or of its root.
t_limits <- function(law, critical, root) {
  ends <- law$mean + c(-1, 1) * -stats::qt(stats::pnorm(-critical), law$size - 1) * sqrt(law$v)
  if (root) sqrt(pmax(ends, 0)) else ends
}

# Two laws of means as a difference or ratio, or that of their roots.
two_means <- function(one, zero, ratio, root) {
  if (ratio) {
    return(mean_ratio(one, zero, root = root))
  }
  if (!root) {
    return(mean_difference(one, zero))
  }
  both <- list(one, zero)
  mover_of_two(sqrt(c(one$mean, zero$mean)), function(k, critical) {
    sqrt(pmax(mean_limits(both[[k]], critical), 0))
  })
}

# The root of a group's mean square less that of all rows, m = f m1 + others.
roots_beside_all <- function(one, others, share, shares) {
  sum_of <- function(laws, w) {
    v <- w^2 * vapply(laws, `[[`, 0, "v")
    sizes <- vapply(laws, `[[`, 0, "size")
    list(
      mean = sum(w * vapply(laws, `[[`, 0, "mean")),
      v = sum(v),
      k = sum(w^3 * vapply(laws, `[[`, 0, "k")),
      size = 1 + if (sum(v) > 0) sum(v)^2 / sum(v^2 / (sizes - 1)) else sum(sizes - 1)
    )
  }
  all <- sum_of(c(list(one), others), c(share, shares))
  rest <- sum_of(others, shares)
  variances <- c(0, 0)
  # a root of 0 has no slope: all its errors are 0
  if (one$mean > 0 && all$mean > 0) {
    own <- 1 / (2 * sqrt(one$mean)) - share / (2 * sqrt(all$mean))
    variances <- c(own^2 * one$v, rest$v / (4 * all$mean))
  }
  roots_by_parts(one, rest, all, share, variances)
}

# sqrt(m1) - sqrt(m) by MOVER, each distance to a limit the larger of two: what the difference becomes
# at the limits of the one, with which m moves by `slope`, or of the others' part of m, `rest`; and that
# of either root to its own limit, by the root of the share of its variance that the difference has
# from it (`variances`).
roots_by_parts <- function(one, rest, all, slope, variances) {
  value <- sqrt(c(one$mean, all$mean))
  difference <- function(own, others) {
    moved <- all$mean + slope * (own - one$mean) + others - rest$mean
    sqrt(own) - sqrt(pmax(moved, 0))
  }
  centre <- value[1L] - value[2L]
  laws <- list(one, all)
  of_roots <- c(one$v, all$v) / (4 * value^2)
  varies <- is.finite(of_roots) & of_roots > 0
  counted <- ifelse(varies, sqrt(variances / ifelse(varies, of_roots, 1)), 1)
  found <- mover_of_two(value, function(k, critical) {
    moved <- if (k == 1L) {
      difference(limits_of_mean_square(one, critical), rest$mean) - centre
    } else {
      centre - difference(one$mean, limits_of_mean_square(rest, critical))
    }
    ends <- sqrt(pmax(mean_limits(laws[[k]], critical), 0))
    by_share <- counted[k] * (ends - value[k])
    value[k] + c(min(moved[1L], by_share[1L]), max(moved[2L], by_share[2L]))
  })
  found$std_error <- sqrt(sum(variances))
  found
}

# Limits of a mean of squares: the wider of those by its skewness and those of chi-squared with
# 2 m^2 / v degrees of freedom.
limits_of_mean_square <- function(law, critical) {
  if (!law$v > 0 || !law$mean > 0) {
    return(c(law$mean, law$mean))
  }
  df <- 2 * law$mean^2 / law$v
  ends <- mean_limits(law, critical)
  error <- stats::pnorm(-critical)
  of_chi <- c(stats::qchisq(error, df, lower.tail = FALSE), max(stats::qchisq(error, df), 1e-300))
  of_chi <- df * law$mean / of_chi
  c(max(min(ends[1L], of_chi[1L]), 0), max(ends[2L], of_chi[2L]))
}

# What every group has, and what compares two: means of moments, or their roots.
mean_values <- function(m, root = FALSE) {
  count <- length(m$mean)
  laws <- lapply(seq_len(count), function(g) law_of_mean(m, g))
  share <- m$weights[1L, ] / sum(m$weights[1L, ])
  back <- function(x) if (root) sqrt(pmax(x, 0)) else x
  variance <- vapply(laws, `[[`, 0, "v")
  interval <- function(law, critical) t_limits(law, critical, root)
  # why a law is not compared: too few units, or no ratio
  refused <- function(law, negative, ratio) {
    law$size < FEWEST_UNITS - 1e-9 || (ratio && (negative > 0 || !law$mean > 0))
  }
  two <- function(one, zero, ratio) two_means(one, zero, ratio, root)
  against <- function(g, reference, ratio) {
    others <- setdiff(seq_len(count), g)
    if (reference == -1L) {
      pooled <- pool_moments(m, others)
      rest <- law_of_mean(pooled)
      fine <- !refused(laws[[g]], m$negative[g], ratio) && !refused(rest, pooled$negative, ratio)
      return(list(
        value = back(rest$mean),
        n = pooled$n,
        own = function(critical) interval(rest, critical),
        contrast = if (fine) two(laws[[g]], rest, ratio)
      ))
    }
    if (reference == -2L) {
      sets <- with_small_together(m, laws, others)
      of_sets <- lapply(sets, function(set) {
        if (length(set) == 1L) laws[[set]] else law_of_mean(pool_moments(m, set))
      })
      negative <- vapply(sets, function(set) as.numeric(sum(m$negative[set])), 0)
      fine <- !refused(laws[[g]], m$negative[g], ratio) &&
        !any(mapply(refused, of_sets, negative, ratio))
      weight <- vapply(sets, function(set) sum(share[set]), 0)
      v <- weight^2 * vapply(of_sets, `[[`, 0, "v")
      sizes <- vapply(of_sets, `[[`, 0, "size")
      parts <- list(
        mean = sum(share[others] * m$mean[others]),
        v = sum(v),
        k = sum(weight^3 * vapply(of_sets, `[[`, 0, "k")),
        size = sum(v)^2 / sum(v^2 / (sizes - 1)) + 1
      )
      of_all <- if (!fine) {
        NULL
      } else if (root && !ratio) {
        roots_beside_all(laws[[g]], of_sets, share[g], weight)
      } else if (ratio) {
        mean_ratio(laws[[g]], parts, share[g], root)
      } else {
        mean_difference(laws[[g]], parts, share[g])
      }
      everybody <- law_of_mean(pool_moments(m, seq_len(count)))
      return(list(
        value = back(sum(share * m$mean)),
        n = sum(m$n),
        own = function(critical) interval(everybody, critical),
        contrast = of_all
      ))
    }
    fine <- !refused(laws[[g]], m$negative[g], ratio) &&
      !refused(laws[[reference]], m$negative[reference], ratio)
    list(
      value = back(m$mean[reference]),
      n = m$n[reference],
      own = function(critical) interval(laws[[reference]], critical),
      contrast = if (fine) two(laws[[g]], laws[[reference]], ratio)
    )
  }
  own <- function(g, critical) interval(laws[[g]], critical)
  list(
    value = back(m$mean),
    n = m$n,
    variance = variance,
    share = share,
    against = against,
    own = own,
    method = "Welch, Hall's transformation"
  )
}

# Other groups as sets: those of too few units are one, which the smallest of the others join while
# all of these are too few, too.
with_small_together <- function(m, laws, others) {
  units <- vapply(laws[others], `[[`, 0, "size")
  ascending <- others[order(units)]
  together <- integer()
  enough <- TRUE
  for (place in ascending) {
    if (enough && laws[[place]]$size >= FEWEST_UNITS - 1e-9) {
      break
    }
    together <- c(together, place)
    enough <- law_of_mean(pool_moments(m, together))$size >= FEWEST_UNITS - 1e-9
  }
  if (!length(together)) {
    return(as.list(others))
  }
  c(list(together), as.list(setdiff(others, together)))
}

# The rows of every group, and behind them those of all others of each where `rest`.
samples_of <- function(x, place, count, rest, weight = NULL, cluster = NULL) {
  sample_of <- function(rows) list(x = x[rows], w = weight[rows], unit = cluster[rows])
  samples <- lapply(seq_len(count), function(g) sample_of(place == g))
  if (!rest) {
    return(samples)
  }
  c(samples, lapply(seq_len(count), function(g) sample_of(place != g)))
}

# Clusters within groups, whose quantiles are independent then.
one_group_each <- function(cluster, place) {
  if (!is.null(cluster) && any(rowSums(table(cluster, place) > 0) > 1)) {
    stop_argument("cluster", "clusters in several groups", "clusters within groups")
  }
}

# A quantile of one sample, with own(critical), the (effective) numbers of sampling units and rows,
# and the least value. Equal weights and clusters of one row change nothing.
quantile_of_sample <- function(sample, order) {
  x <- sample$x
  w <- if (is.null(sample$w)) rep(1, length(x)) else sample$w
  unit <- sample$unit[w > 0]
  x <- x[w > 0]
  w <- w[w > 0]
  if (!anyDuplicated(unit)) {
    unit <- NULL
  }
  if (is.null(unit) && (!length(w) || diff(range(w)) <= 1e-12 * w[1L])) {
    return(quantile_of_equal_rows(x, order))
  }
  quantile_of_weighted_rows(x, w, unit, order)
}

# Type 7, limits by interpolated order statistics (Nyblom 1992).
quantile_of_equal_rows <- function(x, order) {
  n <- length(x)
  if (!n) {
    return(list(
      value = NaN,
      size = 0,
      rows = 0,
      least = NaN,
      own = function(critical) c(NaN, NaN)
    ))
  }
  lower <- function(x, p, error) {
    x <- sort(x)
    beyond <- function(r) stats::pbinom(r, n, p) # P(X(r + 1) > Q)
    # the last rank that is no likelier than that, by halves (qbinom errs where the error is tiny)
    first <- 0
    too_late <- n + 1
    while (too_late - first > 1) {
      middle <- (first + too_late) %/% 2
      if (beyond(middle - 1) <= error) first <- middle else too_late <- middle
    }
    between_ranks(x, first, beyond, identity, function(r) n, p, error)
  }
  own <- function(critical) {
    error <- stats::pnorm(-critical)
    c(lower(x, order, error), -lower(-x, 1 - order, error))
  }
  list(
    value = stats::quantile(x, order, names = FALSE, type = 7L),
    size = n,
    rows = n,
    least = min(x),
    own = own
  )
}

# The lower limit of a quantile of order p, ascending x: after the rank `first`, where `beyond`, the
# probability that X(r + 1) > Q, passes the error; `counted(r)` of `n(r)` rows are the first r.
between_ranks <- function(x, first, beyond, counted, n, p, error) {
  if (first == 0L) {
    return(-Inf)
  }
  r <- min(first, length(x) - 1L)
  if (r == 0L || error <= beyond(r - 1)) {
    return(x[max(r, 1L)])
  }
  k <- counted(r)
  odds <- k * (1 - p) * (beyond(r) - error) / ((n(r) - k) * p * (error - beyond(r - 1)))
  x[r] + (x[r + 1L] - x[r]) / (1 + max(odds, 0))
}

# Hyndman and Fan's seventh rule with weights, as survey::svyquantile(qrule = "hf7") has it, limits
# where the weighted share below a value is no longer likely (Woodruff 1952): that of a binomial law
# of the effective rows, by the beta function as Korn and Graubard (1998) do.
quantile_of_weighted_rows <- function(x, w, unit, order) {
  ascending <- order(x)
  x <- x[ascending]
  w <- w[ascending] / sum(w)
  unit <- unit[ascending]
  n <- length(x)
  # rows of one value share their weight, and its square, evenly
  share <- cumsum(c(0, stats::ave(w, x)))
  share[n + 1L] <- 1
  square <- cumsum(c(0, stats::ave(w^2, x)))
  all <- sum(w^2)
  effective <- function(share, square) {
    below <- ifelse(share > 0, square / share, all)
    above <- ifelse(share < 1, (all - square) / (1 - share), all)
    1 / ((1 - order) * below + order * above)
  }
  at_quantile <- effective(order, stats::approx(share, square, order)$y)
  counted <- pmin(effective(share, square), at_quantile, 1 / all)
  size <- kish(w)
  if (!is.null(unit)) {
    size <- kish(as.vector(tapply(w, unit, sum)))
    first <- stats::ave(utils::head(share, -1L), x, FUN = min)
    span <- stats::ave(w, x, FUN = sum)
    chance <- pmin(pmax((order - first) / span, 0), 1)
    by_chance <- sum(w^2 * chance * (1 - chance))
    moved <- w * (chance - order)
    of_units <- as.vector(tapply(moved, unit, sum))
    m <- length(of_units)
    bessel <- if (m > 1L) (1 - 1 / n) / (1 - 1 / m) else 1
    effect <- (sum(of_units^2) + by_chance) / (sum(moved^2) + by_chance) * bessel
    counted <- counted / max(effect, 1)
  }
  lower <- function(x, share, n, p, error) {
    beyond <- stats::pbeta(1 - p, pmax(n - n * share, 1e-300), n * share + 1)
    beyond[length(beyond)] <- 1
    at <- function(values) function(r) values[r + 1L]
    first <- which(beyond > error)[1L] - 1L
    between_ranks(x, first, at(beyond), at(n * share), at(n), p, error)
  }
  own <- function(critical) {
    if (!size - 1 > 1e-9) {
      return(c(-Inf, Inf))
    }
    error <- stats::pnorm(-critical)
    if (error < 0.5) {
      counted <- counted * (stats::qt(error, n - 1) / stats::qt(error, size - 1))^2
    }
    c(
      lower(x, share, counted, order, error),
      0 - lower(-rev(x), 1 - rev(share), rev(counted), 1 - order, error)
    )
  }
  at <- utils::head(share, -1L)
  value <- if (n > 1L) stats::approx(at / at[n], x, order, rule = 2)$y else x
  list(value = value, size = size, rows = kish(w), least = x[1L], own = own)
}

# The quantile of a group less that of all rows, its own among them, or their ratio. By Bahadur's form
# (1966, Annals of Mathematical Statistics 37, 577-580) errors are those of the shares below both
# quantiles, over densities that come from the widths of limits; the distance to each limit counts by
# the share of its error that the difference has from it.
quantile_beside_all <- function(samples, g, own, all, everybody, ratio, scales = NULL) {
  weights <- function(s) if (is.null(s$w)) rep(1, length(s$x)) else s$w
  excess <- function(s, value) {
    e <- excess_below(s, value)
    if (is.null(s$unit)) e else as.vector(rowsum(e, s$unit[weights(s) > 0]))
  }
  product <- function(a, b) sum(a * b) * length(a) / max(length(a) - 1, 1)
  both <- list(own, everybody)
  values <- vapply(both, `[[`, 0, "value")
  share <- vapply(samples, function(s) sum(weights(s)), 0) / sum(weights(all))
  here <- lapply(values, function(value) excess(samples[[g]], value))
  of_all <- excess(all, values[2L])
  variance <- c(product(here[[1L]], here[[1L]]), product(of_all, of_all))
  widths <- vapply(both, function(q) diff(q$own(2)), 0)
  slope <- ifelse(variance > 0, widths / (4 * sqrt(variance)), 0)
  moves <- function() {
    # what rows of the group, and all others, add to the error of the difference, or of the ratio here
    here <- slope / if (ratio) values else 1
    of_rows <- function(k, by) {
      s <- samples[[k]]
      list(unit = s$unit[weights(s) > 0], x = by * excess_below(s, values[2L]))
    }
    own <- of_rows(g, -share[g] * here[2L])
    own$x <- own$x + here[1L] * excess_below(samples[[g]], values[1L])
    others <- lapply(setdiff(seq_along(samples), g), function(k) of_rows(k, share[k] * here[2L]))
    pick <- function(name) unlist(lapply(others, `[[`, name))
    list(own, list(unit = pick("unit"), x = pick("x")))
  }
  moves <- if (!is.null(all$unit)) moves()
  # of sums over strata errors are divided by these
  if (ratio) {
    slope <- slope / if (is.null(scales)) values else scales
  }
  common <- share[g] * slope[2L]
  from_group <- slope[1L]^2 *
    variance[1L] -
    2 * slope[1L] * common * product(here[[1L]], here[[2L]]) +
    common^2 * product(here[[2L]], here[[2L]])
  from_others <- sum(vapply(
    setdiff(seq_along(samples), g),
    function(k) {
      e <- excess(samples[[k]], values[2L])
      (share[k] * slope[2L])^2 * product(e, e)
    },
    0
  ))
  whole <- slope^2 * variance
  counted <- ifelse(whole > 0, sqrt(pmax(c(from_group, from_others), 0) / whole), 1)
  scale <- if (ratio) function(x) ifelse(x > 0, suppressWarnings(log(x)), -Inf) else identity
  found <- mover_of_two(
    scale(values),
    function(k, critical) {
      centre <- scale(values[k])
      if (counted[k] == 0) {
        return(c(centre, centre))
      }
      ends <- scale(both[[k]]$own(critical))
      centre + counted[k] * c(-pmax(centre - ends[1L], 0), pmax(ends[2L] - centre, 0))
    },
    if (ratio) exp else identity,
    scale
  )
  found$moves <- moves
  found
}

# w (1 of those up to a value - their share) / sum(w) of every row that has a weight.
excess_below <- function(s, value) {
  w <- if (is.null(s$w)) rep(1, length(s$x)) else s$w
  # a quantile that is one of the numbers may come out one digit below it
  below <- as.numeric(s$x <= value + 1e-12 * abs(value))
  (w * (below - stats::weighted.mean(below, w)) / sum(w))[w > 0]
}

# What every sample has, and what compares two.
quantile_values <- function(samples, order) {
  found <- lapply(unname(samples), quantile_of_sample, order)
  value <- vapply(found, `[[`, 0, "value")
  n <- vapply(unname(samples), function(sample) length(sample$x), 0L)
  own <- function(g, critical) found[[g]]$own(critical)
  against <- function(g, reference, ratio) {
    if (reference == -2L) {
      pick <- function(name) unlist(unname(lapply(samples, `[[`, name)))
      all <- list(x = pick("x"), w = pick("w"), unit = pick("unit"))
      everybody <- quantile_of_sample(all, order)
      fine <- found[[g]]$size >= FEWEST_UNITS - 1e-9 && !(ratio && everybody$least <= 0)
      return(list(
        value = everybody$value,
        n = sum(n),
        own = everybody$own,
        contrast = if (fine) {
          quantile_beside_all(unname(samples), g, found[[g]], all, everybody, ratio)
        }
      ))
    }
    # behind the groups stand all others of each
    if (reference == -1L) {
      reference <- length(samples) / 2 + g
    }
    fine <- all(vapply(
      found[c(g, reference)],
      function(sample) {
        sample$size >= FEWEST_UNITS - 1e-9 && !(ratio && sample$least <= 0)
      },
      NA
    ))
    scale <- if (ratio) function(x) ifelse(x > 0, suppressWarnings(log(x)), -Inf) else identity
    contrast <- if (fine) {
      mover_of_two(
        scale(value[c(g, reference)]),
        function(k, critical) scale(own(c(g, reference)[k], critical)),
        if (ratio) exp else identity,
        scale
      )
    }
    list(
      value = value[[reference]],
      n = n[[reference]],
      own = function(critical) own(reference, critical),
      contrast = contrast
    )
  }
  list(
    value = value,
    n = n,
    variance = vapply(seq_along(samples), function(g) (diff(own(g, 1)) / 2)^2, 0),
    share = NULL,
    size = vapply(found, `[[`, 0, "size"),
    rows = vapply(found, `[[`, 0, "rows"),
    least = vapply(found, `[[`, 0, "least"),
    against = against,
    own = own,
    method = "order statistics (MOVER)"
  )
}

# Rows of all pairs; family: those whose intervals hold at once.
compare_numbers <- function(
  values,
  pairs,
  contrast,
  limit,
  level,
  simultaneous,
  family,
  pvalues = NULL,
  sides = 2
) {
  ratio <- contrast == "ratio"
  count <- if (simultaneous == "none") 1 else nrow(family)
  joint <- NULL
  if (count > 1 && simultaneous == "max-z") {
    slopes <- t(apply(family, 1L, function(pair) {
      row <- numeric(length(values$value))
      if (pair[2L] == -1L) {
        row <- -values$share / (1 - values$share[pair[1L]])
      }
      if (pair[2L] == -2L) {
        row <- -values$share
      }
      if (pair[2L] == -2L) {
        row[pair[1L]] <- row[pair[1L]] + 1
      } else {
        row[pair[1L]] <- 1
      }
      if (pair[2L] > 0) {
        row[pair[2L]] <- -1
      }
      row
    }))
    variance <- values$variance / (if (ratio) values$value^2 else 1)
    if (all(is.finite(variance))) joint <- max_z(slopes %*% (variance * t(slopes)), Inf)
  }
  at <- function(level) {
    if (is.null(joint)) {
      return(list(value = stats::qnorm(1 - (1 - level) / count / 2), error = 0))
    }
    joint$quantile(level)
  }
  critical <- list(
    two_sided = at(level),
    one_sided = at(2 * level - 1),
    tail = joint$tail,
    df = Inf,
    count = count
  )
  lapply(seq_len(nrow(pairs)), function(k) {
    g <- pairs[k, 1L]
    found <- values$against(g, pairs[k, 2L], ratio)
    out <- list(
      rate = values$value[g],
      rate_reference = found$value,
      n_reference = found$n,
      method = values$method
    )
    own <- values$own(g, stats::qnorm((1 + level) / 2))
    out[c("value_low", "value_high")] <- as.list(own)
    out[c("value_reference_low", "value_reference_high")] <- as.list(found$own(stats::qnorm(
      (1 + level) / 2
    )))
    out[c("p_joint", "p_joint_error")] <- if (is.null(pvalues)) {
      list(NaN, 0)
    } else {
      joint_pvalue(pvalues[k], sides, critical)
    }
    by <- found$contrast
    c(out, row_of_contrast(by, contrast, limit, level, critical))
  })
}

# What a row says of a contrast: estimate, limits at the critical values, evidence and tests; NaN of
# none.
row_of_contrast <- function(by, contrast, limit, level, critical) {
  ratio <- contrast == "ratio"
  out <- list()
  known <- c(
    "estimate",
    "std_error",
    "low",
    "high",
    "low_error",
    "high_error",
    "side_low",
    "side_high",
    "side_low_error",
    "side_high_error",
    "bound_low",
    "bound_high",
    "p_below",
    "p_above",
    "p_inside",
    "z_less",
    "z_greater",
    "z_equal",
    "z_inner",
    "p_less",
    "p_greater",
    "p_equal",
    "p_tost"
  )
  out[known] <- NaN
  if (is.null(by) || !by$std_error > 0) {
    return(out)
  }
  out[c("estimate", "std_error")] <- by[c("estimate", "std_error")]
  limits <- function(value, near) by$limits(value)
  out[known[3:6]] <- ends_with_error(limits, critical$two_sided)
  out[known[7:10]] <- ends_with_error(limits, critical$one_sided)
  fair <- fair_range(contrast, limit)
  low <- by$z(fair[1L])
  high <- by$z(fair[2L])
  equal <- by$z(if (ratio) 1 else 0)
  d <- low[["plain"]] - high[["plain"]]
  tail <- function(z) pmin(1, stats::pnorm(-z) + stats::pnorm(-z - d))
  shows <- evidence_of(low[["plain"]], high[["plain"]], Inf, level)
  shows$p_below <- tail(-low[["below"]])
  shows$p_above <- tail(high[["above"]])
  shows$p_inside <- max(tail(low[["above"]]), tail(-high[["below"]]))
  greater <- if (ratio) low[["above"]] else high[["above"]]
  z <- if (equal[["plain"]] > 0) max(equal[["above"]], 0) else min(equal[["below"]], 0)
  p_equal <- 2 * stats::pnorm(-abs(z))
  sides <- c("p_below", "p_above", "p_inside")
  out[sides] <- beside_equality(shows, p_equal, fair)[sides]
  bounds <- reach_fair_range(by$limits(shows$critical), p_equal, fair, 1 - level)
  out[c("bound_low", "bound_high")] <- as.list(bounds)
  out[c("z_less", "z_greater", "z_equal")] <- c(low[["below"]], greater, z)
  out[c("p_less", "p_greater", "p_equal")] <- c(
    stats::pnorm(low[["below"]]),
    stats::pnorm(-greater),
    p_equal
  )
  if (fair[1L] < fair[2L]) {
    p <- c(stats::pnorm(-low[["above"]]), stats::pnorm(high[["below"]]))
    larger <- if (p[1L] >= p[2L] * (1 - 1e-9)) 1L else 2L
    out[c("z_inner", "p_tost")] <- list(c(low[["above"]], high[["below"]])[larger], p[larger])
  }
  out
}

# Every comparison of a report's result of means, from its moments; `...`: of numbers_as_columns().
crosscheck_means <- function(
  mean,
  n,
  units,
  weights,
  centred,
  negative,
  root,
  ...
) {
  m <- list(
    mean = mean,
    n = n,
    units = units,
    weights = weights,
    centred = centred,
    negative = negative
  )
  numbers_as_columns(
    mean_values(m, root),
    ...
  )
}

# Of quantiles, from the rows.
crosscheck_quantiles <- function(
  y,
  group,
  groups,
  order,
  first,
  second,
  ...,
  weight = NULL,
  cluster = NULL
) {
  samples <- samples_of(
    y,
    match(group, groups),
    length(groups),
    any(second == -1),
    weight,
    if (!is.null(cluster)) as.integer(factor(cluster))
  )
  numbers_as_columns(
    quantile_values(samples, order),
    first,
    second,
    ...
  )
}

# Areas under ROC curves, or calibration by logistic regression, from the rows.
crosscheck_risks <- function(
  metric,
  y,
  score,
  group,
  groups,
  first,
  second,
  ...,
  weight = NULL,
  cluster = NULL
) {
  values <- values_of_risks(
    metric,
    y,
    score,
    match(group, groups),
    length(groups),
    weight,
    cluster,
    any(second == -1)
  )
  numbers_as_columns(
    values,
    first,
    second,
    ...
  )
}

# Areas, regressions or parts of the Brier score of every group; `rest`: also of all others of each.
values_of_risks <- function(metric, y, score, place, count, weight, cluster, rest) {
  rows <- rows_of_groups(y, score, place, count, weight, cluster, rest)
  if (metric == "auc") {
    area_values(rows, count)
  } else if (metric %in% BRIER_PARTS) {
    part_values(rows, metric, count)
  } else {
    regression_values(rows, metric, count)
  }
}

FEWEST_OF_LABEL <- 10

# Slope, or intercept with the slope 1, of glm(y ~ qlogis(score), binomial). Of rows with weights or
# in clusters the jackknife over these, one step of Newton each: d = (H - H_u)^-1 s_u.
regression_values <- function(rows, metric, count = length(rows)) {
  designed <- !is.null(rows[[1L]]$w) || !is.null(rows[[1L]]$unit)
  fits <- lapply(rows, function(r) {
    r$w <- weights_of(r)
    r$x <- stats::qlogis(r$score)
    r <- r[r$w > 0, ]
    model <- if (metric == "calibration_slope") y ~ x else y ~ offset(x)
    family <- if (designed) stats::quasibinomial() else stats::binomial()
    fit <- stats::glm(
      model,
      family,
      r,
      weights = r$w / mean(r$w),
      epsilon = 1e-14,
      maxit = 100
    )
    if (!designed) {
      found <- summary(fit)$coefficients
      return(c(found[nrow(found), 1:2], Inf))
    }
    x <- stats::model.matrix(fit)
    p <- stats::fitted(fit)
    w <- r$w / mean(r$w)
    unit <- if (is.null(r$unit)) seq_len(nrow(r)) else as.integer(factor(r$unit))
    whole <- crossprod(x, w * p * (1 - p) * x)
    moved <- vapply(
      split(seq_along(unit), unit),
      function(here) {
        part <- x[here, , drop = FALSE]
        own <- crossprod(part, (w * p * (1 - p))[here] * part)
        step <- solve(whole - own, crossprod(part, (w * (r$y - p))[here]))
        step[nrow(step)]
      },
      0
    )
    n <- length(moved)
    sizes <- as.vector(tapply(w, unit, sum))
    c(
      stats::coef(fit)[[ncol(x)]],
      sqrt((n - 1) / n * sum(moved^2)),
      max(min(kish(sizes) - ncol(x), kish(moved^2)), 1)
    )
  })
  value <- unname(vapply(fits, `[[`, 0, 1L))
  error <- unname(vapply(fits, `[[`, 0, 2L))
  df <- unname(vapply(fits, `[[`, 0, 3L))
  small <- vapply(rows, fewest_of_label, 0) < FEWEST_OF_LABEL
  own <- function(g, critical) {
    q <- if (is.finite(df[g])) -stats::qt(stats::pnorm(-critical), df[g]) else critical
    value[g] + c(-1, 1) * q * error[g]
  }
  method <- if (designed) {
    "weighted logistic regression, jackknife"
  } else {
    "logistic regression, Wald"
  }
  with_all <- function(g, ratio) {
    everybody <- regression_values(list(attr(rows, "all")), metric)
    list(
      value = everybody$value,
      n = everybody$n,
      own = function(critical) everybody$own(1L, critical),
      contrast = if (!small[g]) coefficient_beside_all(attr(rows, "all"), g, metric)
    )
  }
  mover_values(value, error^2, vapply(rows, nrow, 0L), small, own, method, count, with_all)
}

# The coefficient of a group less that of all rows, its own among them, by the jackknife within
# groups: leaving out a unit of the group moves both, one of another that of all rows.
coefficient_beside_all <- function(all, g, metric) {
  all$w <- weights_of(all)
  all <- all[all$w > 0, ]
  unit <- if (is.null(all$unit)) seq_len(nrow(all)) else as.integer(factor(all$unit))
  moved <- numeric(max(unit))
  value <- c(0, 0)
  for (k in 1:2) {
    here <- if (k == 1L) all$place == g else rep(TRUE, nrow(all))
    r <- all[here, ]
    r$x <- stats::qlogis(r$score)
    r$w <- r$w / mean(r$w)
    model <- if (metric == "calibration_slope") y ~ x else y ~ offset(x)
    family <- stats::quasibinomial()
    fit <- stats::glm(model, family, r, weights = r$w, epsilon = 1e-14, maxit = 100)
    x <- stats::model.matrix(fit)
    steps <- steps_of_jackknife(x, r$y, r$w, stats::fitted(fit), unit[here])
    at <- sort(unique(unit[here]))
    moved[at] <- moved[at] + c(1, -1)[k] * steps[nrow(steps), ]
    value[k] <- stats::coef(fit)[[ncol(x)]]
  }
  group <- all$place[match(seq_along(moved), unit)]
  terms <- unlist(lapply(split(moved, group), function(m) {
    (length(m) - 1) / length(m) * (m - mean(m))^2
  }))
  sizes <- as.vector(tapply(all$w[all$place == g], unit[all$place == g], sum))
  df <- max(min(kish(sizes) - ncol(x), sum(terms)^2 / sum(terms^2)), 1)
  reach <- function(critical) -stats::qt(stats::pnorm(-critical), df) * sqrt(sum(terms))
  found <- mover_of_two(value, function(k, critical) {
    value[k] + c(-1, 1) * if (k == 1L) reach(critical) else 0
  })
  found$std_error <- sqrt(sum(terms))
  if (!is.null(all$unit)) {
    found$moves <- rep(list(list(unit = sort(unique(all$unit)), x = moved)), 2L)
  }
  found
}

# Rows of the rarer label; clusters that have some.
fewest_of_label <- function(r) {
  units <- if (is.null(r$unit)) seq_len(nrow(r)) else r$unit
  min(vapply(0:1, function(label) length(unique(units[r$y == label])), 0L)) + 0
}

# Values whose contrasts come from the limits of both groups. Behind the first `count`, which are
# groups, all others of each; `with_all`: what compares a group with all rows.
mover_values <- function(
  value,
  variance,
  n,
  small,
  own,
  method,
  count = length(value),
  with_all = NULL
) {
  against <- function(g, reference, ratio) {
    if (reference == -2L) {
      return(with_all(g, ratio))
    }
    if (reference == -1L) {
      reference <- count + g
    }
    # a limit of 0 or below is open on the logarithmic scale
    scale <- if (ratio) function(x) log(pmax(x, 0)) else identity
    contrast <- if (!small[g] && !small[reference]) {
      mover_of_two(
        scale(value[c(g, reference)]),
        function(k, critical) scale(own(c(g, reference)[k], critical)),
        if (ratio) exp else identity,
        scale
      )
    }
    list(
      value = value[reference],
      n = n[[reference]],
      own = function(critical) own(reference, critical),
      contrast = contrast
    )
  }
  list(
    value = value,
    n = unname(n),
    variance = variance,
    share = NULL,
    against = against,
    own = own,
    method = method
  )
}

numbers_as_columns <- function(
  values,
  first,
  second,
  contrast,
  level,
  limit,
  simultaneous,
  family_first,
  family_second,
  pvalues = NULL,
  sides = 2
) {
  rows <- compare_numbers(
    values,
    cbind(first, second),
    contrast,
    limit,
    level,
    simultaneous,
    cbind(family_first, family_second),
    pvalues,
    sides
  )
  as_columns(lapply(rows, function(row) row[names(row) != "method"]))
}
