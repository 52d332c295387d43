# A gap between groups split by the regression of the reference (Oaxaca 1973, International Economic
# Review 14, 693-709;
# Blinder 1973, Journal of Human Resources 8, 436-455): by stats::glm, with the influence of every
# row.

# Effective rows (clusters) that a group needs, and those of the reference for each coefficient.
LEAST_UNITS <- 20
LEAST_FOR_EACH <- 10
SPLIT_METHOD <- "delta, HC3 (Satterthwaite)"
# Part of the gap -> coefficients of the three values.
PARTS_OF_GAP <- list(gap = c(1, 0, -1), explained = c(0, 1, -1), rest = c(1, -1, 0))
PLACES_OF_PART <- list(gap = c(1, 3), explained = c(2, 3), rest = c(1, 2))

#' A gap between groups, what circumstances explain of it, and the rest
#'
#' Explained is what the gap would be if the reference's regression held for both groups, whose
#' circumstances differ; the rest is what remains at equal circumstances (Oaxaca, Blinder; with one
#' circumstance of several kinds Kitagawa's standardisation of rates). A split describes: rank or
#' department may be the result of unequal treatment, and a rest may be due to circumstances that
#' were not recorded. Neither part is a cause.
#'
#' @param data A data frame whose columns the other arguments name.
#' @param y A number, or 0/1.
#' @param circumstances Names of columns that may explain a gap; text and factors enter by an
#'   indicator for each value.
#' @param regression `"linear"` or `"logistic"`, of the reference's rows; by default logistic where
#'   every `y` is 0 or 1.
#' @param comparisons `"reference"`; `"all"` pairs, the regression that of the second of each; or
#'   `"rest"`, each group against all other rows, whose regression is used.
#' @param method `"delta"`, or `"bootstrap"`: the studentised bootstrap of rows or clusters, with a
#'   regression for each resample.
#' @param margin Up to it a difference counts as fair.
#' @param simultaneous `"none"`, or `"bonferroni"`: the intervals of each part hold for all
#'   comparisons at once.
#' @param n_resamples Draws of the bootstrap.
#'
#' @inheritParams fs_means
#'
#' @return A data frame of class `fairstats_audit`, with the rows "gap", "explained" and "rest" of
#'   every group; `rate_reference` of "rest" is the standardised value, the reference's regression
#'   at the group's circumstances.
#'
#' @references Oaxaca (1973). Male-female wage differentials in urban labor markets. International
#'   Economic Review 14, 693-709. Blinder (1973). Wage discrimination: reduced form and structural
#'   estimates. Journal of Human Resources 8, 436-455. Kitagawa (1955). Components of a difference
#'   between two rates. JASA 50, 1168-1194.
#'
#' @examples
#' people <- data.frame(sex = rep(c("f", "m"), c(60, 90)), years = c(rep(1:12, 5), rep(1:15, 6)))
#' people$wage <- 15 + people$years / 2 - (people$sex == "f") + sin(seq_len(150))
#' fs_decompose(people, "wage", "sex", "years")
#' @export
fs_decompose <- function(
  data,
  y,
  sensitive_features,
  circumstances,
  regression = NULL,
  reference = NULL,
  comparisons = "reference",
  method = "delta",
  margin = 0,
  confidence_level = 0.95,
  simultaneous = "none",
  adjust = "holm",
  sample_weight = NULL,
  cluster = NULL,
  missing = "raise",
  n_resamples = 999,
  seed = 1
) {
  need_arguments()
  choice_of(comparisons, "comparisons", c("reference", "all", "rest"))
  choice_of(method, "method", c("delta", "bootstrap"))
  choice_of(simultaneous, "simultaneous", c("none", "bonferroni"))
  numbers_in(n_resamples, "n_resamples", 199, whole = TRUE)
  if (!is.data.frame(data)) {
    stop_argument("data", class(data)[1L], "a data frame")
  }
  unknown <- setdiff(circumstances, names(data))
  if (!is.character(circumstances) || !length(circumstances) || length(unknown)) {
    stop_argument("circumstances", listed(unknown), "names of columns of the data")
  }
  choice_of(missing, "missing", c("raise", "drop"))
  lacking <- !stats::complete.cases(data[circumstances])
  if (any(lacking)) {
    if (missing == "raise") {
      stop_argument("circumstances", paste(sum(lacking), "rows with missing values"), "none")
    }
    data <- data[!lacking, , drop = FALSE]
  }
  arguments <- list(
    data = data,
    y = y,
    sensitive_features = sensitive_features,
    reference = reference,
    comparisons = comparisons,
    missing = "raise"
  )
  arguments$sample_weight <- sample_weight
  arguments$cluster <- cluster
  if (missing == "drop") {
    data <- arguments$data <- without_missing(
      data,
      c(y, sensitive_features, sample_weight, cluster)
    )
  }
  scene <- read_number_columns(arguments, "y")
  options <- audit_options(confidence_level, adjust = adjust)
  numbers_in(margin, "margin", 0)
  outcome <- scene$numbers$y
  binary <- all(outcome %in% 0:1)
  if (is.null(regression)) {
    regression <- if (binary) "logistic" else "linear"
  }
  choice_of(regression, "regression", c("linear", "logistic"))
  if (regression == "logistic" && !binary) {
    stop_argument("y", "numbers other than 0 and 1", "0 and 1 by a logistic regression")
  }
  if (isTRUE(attr(scene$pairs, "highest"))) {
    stop_argument("reference", '"highest"', "a group, or the largest")
  }
  x <- stats::model.matrix(~., data[circumstances])[, -1L, drop = FALSE]
  groups <- scene$grouping$groups
  place <- match(scene$grouping$labels, groups)
  weight <- if (is.null(scene$input$weight)) rep(1, length(outcome)) else scene$input$weight
  unit <- if (is.null(scene$input$cluster)) seq_along(outcome) else scene$input$cluster
  count <- if (simultaneous == "bonferroni") nrow(scene$pairs) else 1
  resamples <- if (method == "bootstrap") n_resamples else 0
  found <- with_seed(
    seed,
    lapply(seq_len(nrow(scene$pairs)), function(k) {
      pair <- scene$pairs[k, ]
      rows <- split_rows(outcome, x, weight, unit, place, pair[1L], pair[2L])
      split <- split_of(rows, regression)
      draws <- if (resamples > 0) draws_of_splits(split, rows, regression, resamples)
      lapply(names(PARTS_OF_GAP), function(part) {
        row <- part_of_gap(split, part, margin, confidence_level, count, draws)
        tidy_row(
          part,
          groups[pair[1L]],
          if (pair[2L] > 0) groups[pair[2L]] else "the rest",
          estimate = row$estimate,
          std_error = row$std_error,
          ci_low = row$low,
          ci_high = row$high,
          statistic = row$z_equal,
          pvalue = row$p_equal,
          n = sum(place == pair[1L]),
          n_reference = sum(if (pair[2L] > 0) place == pair[2L] else place != pair[1L]),
          method = if (resamples > 0) BY_DRAWS else SPLIT_METHOD,
          rate = row$rate,
          rate_reference = row$rate_reference,
          bound_low = row$bound_low,
          bound_high = row$bound_high,
          confidence_level = confidence_level,
          p_below = row$p_below,
          p_above = row$p_above,
          p_inside = row$p_inside
        )
      })
    })
  )
  # each part is a family of its own
  settled <- lapply(names(PARTS_OF_GAP), function(part) {
    of_part <- bind_rows(lapply(found, `[[`, match(part, names(PARTS_OF_GAP))))
    of_part$pvalue_adjusted <- adjust_pvalues(of_part$pvalue, adjust)
    settle_rows(of_part, options)
  })
  rows <- do.call(rbind, settled)
  rows <- rows[order(rep(seq_along(found), length(settled))), ]
  rownames(rows) <- NULL
  words <- paste0(
    "A description, not a cause. Explained: by a ",
    regression,
    " regression on ",
    paste(circumstances, collapse = ", "),
    " of the rows of ",
    if (comparisons == "rest") "all other groups." else "the reference."
  )
  with_head(as_audit(rows, "numbers", scene$input), words)
}

without_missing <- function(data, columns) {
  data[stats::complete.cases(data[unlist(columns)]), , drop = FALSE]
}

# Rows of a group (side 1) and of its reference (side 2): another group, or all others (-1).
split_rows <- function(y, x, weight, unit, place, group, reference) {
  side <- ifelse(place == group, 1L, if (reference > 0) ifelse(place == reference, 2L, 0L) else 2L)
  used <- side > 0L
  list(
    y = y[used],
    x = x[used, , drop = FALSE],
    weight = weight[used],
    unit = unit[used],
    side = side[used]
  )
}

split_of <- function(rows, regression, check = TRUE) {
  split_gap(rows$y, rows$x, rows$weight, rows$unit, rows$side, 1L, 2L, regression, check)
}

# Draws of (theta* - theta) / s* of every part, by resamples of the units of both sides.
draws_of_splits <- function(split, rows, regression, resamples) {
  if (is.null(split)) {
    return(NULL)
  }
  of_unit <- lapply(1:2, function(side) {
    own <- which(rows$side == side & rows$weight > 0)
    split(own, rows$unit[own])
  })
  drawn <- vapply(
    seq_len(resamples),
    function(k) {
      chosen <- lapply(of_unit, function(units) units[sample.int(length(units), replace = TRUE)])
      chosen <- unlist(chosen, recursive = FALSE)
      at <- unlist(chosen, use.names = FALSE)
      again <- split_of(
        list(
          y = rows$y[at],
          x = rows$x[at, , drop = FALSE],
          weight = rows$weight[at],
          unit = rep(seq_along(chosen), lengths(chosen)),
          side = rows$side[at]
        ),
        regression,
        check = FALSE
      )
      if (is.null(again)) {
        return(rep(NaN, length(PARTS_OF_GAP)))
      }
      vapply(
        PARTS_OF_GAP,
        function(a) {
          s <- sqrt(sum(a * (again$covariance %*% a)))
          sum(a * (again$values - split$values)) / s
        },
        0
      )
    },
    numeric(length(PARTS_OF_GAP))
  )
  rownames(drawn) <- names(PARTS_OF_GAP)
  drawn
}

# Mean of the group (1), the reference's regression at the group's circumstances (2), mean of the
# reference (3), with their covariance; NULL where rows are too few, or where the regression does
# not reach the group's circumstances.
split_gap <- function(
  y,
  x,
  weight,
  unit,
  place,
  group,
  reference,
  regression,
  check = TRUE
) {
  weight_of <- function(g) weight * (place == g)
  effective <- function(g) {
    d <- rowsum(weight_of(g), unit)
    sum(d)^2 / sum(d^2)
  }
  units <- c(effective(group), effective(reference))
  if (
    check &&
      (is.nan(units[1L]) ||
        units[1L] < LEAST_UNITS - 1e-9 ||
        units[2L] < LEAST_UNITS + LEAST_FOR_EACH * ncol(x) - 1e-9)
  ) {
    return(NULL)
  }
  own <- place == group & weight > 0
  of_reference <- place == reference & weight > 0
  design <- cbind(1, x)
  if (qr(design[own | of_reference, ])$rank > qr(design[of_reference, ])$rank) {
    return(NULL)
  }
  family <- if (regression == "logistic") stats::quasibinomial() else stats::gaussian()
  fit <- suppressWarnings(stats::glm.fit(
    design[of_reference, ],
    y[of_reference],
    weight[of_reference],
    family = family,
    control = stats::glm.control(epsilon = 1e-14, maxit = 200)
  ))
  known <- !is.na(fit$coefficients)
  design <- design[, known, drop = FALSE]
  eta <- as.vector(design %*% fit$coefficients[known])
  mean_at <- family$linkinv(eta)
  slope <- family$mu.eta(eta)
  if (
    regression == "logistic" && any(mean_at[of_reference] < 1e-8 | mean_at[of_reference] > 1 - 1e-8)
  ) {
    return(NULL)
  }
  share <- weight_of(group) / sum(weight_of(group))
  share_reference <- weight_of(reference) / sum(weight_of(reference))
  values <- c(sum(share * y), sum(share * mean_at), sum(share_reference * y))
  w <- weight_of(reference)
  bread <- solve(crossprod(design * sqrt(w * slope)))
  hat <- w * slope * rowSums((design %*% bread) * design)
  towards <- bread %*% crossprod(design, share * slope)
  by_coefficients <- w * (y - mean_at) / (1 - hat) * as.vector(design %*% towards)
  influence <- cbind(
    share * (y - values[1L]),
    share * (mean_at - values[2L]) + by_coefficients,
    share_reference * (y - values[3L])
  )
  products <- function(rows) crossprod(rowsum(influence * rows, unit))
  of_each <- list(products(place == group), products(place == reference))
  factors <- units / pmax(units - 1, 1)
  used <- place == group | place == reference
  covariance <- products(used) +
    of_each[[1L]] * (factors[1L] - 1) +
    of_each[[2L]] * (factors[2L] - 1)
  df <- vapply(
    PARTS_OF_GAP,
    function(a) {
      v <- mapply(function(m, f) f * sum(a * (m %*% a)), of_each, factors)
      sum(v)^2 / sum(v^2 / pmax(c(units[1L] - 1, units[2L] - sum(known)), 1))
    },
    0
  )
  list(values = values, covariance = covariance, df = df)
}

# A part of the gap: estimate, limits, and the evidence of its verdict; `count`: comparisons whose
# intervals hold at once; `draws`: of a bootstrap.
part_of_gap <- function(split, part, margin, level, count = 1, draws = NULL) {
  names <- c(
    "rate",
    "rate_reference",
    "estimate",
    "std_error",
    "low",
    "high",
    "side_low",
    "side_high",
    "bound_low",
    "bound_high",
    "z_less",
    "z_greater",
    "z_equal",
    "z_inner",
    "p_less",
    "p_greater",
    "p_equal",
    "p_tost",
    "p_below",
    "p_above",
    "p_inside",
    "value_low",
    "value_high",
    "value_reference_low",
    "value_reference_high"
  )
  out <- as.list(stats::setNames(rep(NaN, length(names)), names))
  # nothing is simulated
  out[c("low_error", "high_error", "side_low_error", "side_high_error")] <- 0
  if (is.null(split)) {
    return(out)
  }
  a <- PARTS_OF_GAP[[part]]
  at <- PLACES_OF_PART[[part]]
  df <- split$df[[part]]
  s <- sqrt(sum(a * (split$covariance %*% a)))
  d <- sum(a * split$values)
  out[c("rate", "rate_reference")] <- split$values[at]
  out[c("estimate", "std_error")] <- c(d, s)
  at_once <- 1 - (1 - level) / count
  out[c("low", "high")] <- d + c(-1, 1) * stats::qt((1 + at_once) / 2, df) * s
  out[c("side_low", "side_high")] <- d + c(-1, 1) * stats::qt(at_once, df) * s
  reach <- stats::qt((1 + level) / 2, split$df[["rest"]]) * sqrt(diag(split$covariance))[at]
  out[c("value_low", "value_reference_low")] <- split$values[at] - reach
  out[c("value_high", "value_reference_high")] <- split$values[at] + reach
  if (!is.null(draws)) {
    known <- sort(draws[part, ])
    if (1 - length(known) / ncol(draws) > LARGEST_LOST) {
      out[c("estimate", "std_error")] <- c(d, s)
      return(out)
    }
    by <- contrast_of_draws(list(estimate = d, std_error = s, laws = list(known)))
    value_of <- function(level) list(value = stats::qnorm(1 - (1 - level) / count / 2), error = 0)
    critical <- list(two_sided = value_of(level), one_sided = value_of(2 * level - 1))
    drawn <- row_of_contrast(by, "difference", margin, level, critical)
    out[names(drawn)] <- drawn
    return(out)
  }
  z <- c((d + margin) / s, (d - margin) / s, d / s)
  out[c("z_less", "z_greater", "z_equal")] <- z
  out[c("p_less", "p_greater", "p_equal")] <-
    c(
      stats::pt(z[1L], df),
      stats::pt(z[2L], df, lower.tail = FALSE),
      2 * stats::pt(-abs(z[3L]), df)
    )
  shows <- evidence_of(z[1L], z[2L], df, level)
  bounds <- d + c(-1, 1) * shows$critical * s
  fair <- c(-margin, margin)
  out[c("bound_low", "bound_high")] <- reach_fair_range(bounds, out$p_equal, fair, 1 - level)
  shows <- beside_equality(shows, out$p_equal, fair)
  out[c("p_below", "p_above", "p_inside")] <- shows[c("p_below", "p_above", "p_inside")]
  if (margin > 0) {
    p <- c(stats::pt(z[1L], df, lower.tail = FALSE), stats::pt(z[2L], df))
    larger <- if (p[1L] >= p[2L] * (1 - 1e-9)) 1L else 2L
    out[c("z_inner", "p_tost")] <- c(z[larger], p[larger])
  }
  out
}

# Every row of a report's decomposition, from the rows of the data.
crosscheck_decomposition <- function(
  y,
  x,
  weight,
  unit,
  place,
  group,
  reference,
  regression,
  margin,
  level,
  count = 1,
  resamples = 0
) {
  x <- matrix(x, length(y))
  as_columns(unlist(
    Map(
      function(g, h) {
        rows <- split_rows(y, x, weight, unit, place, g, h)
        split <- split_of(rows, regression)
        draws <- if (resamples > 0) draws_of_splits(split, rows, regression, resamples)
        lapply(names(PARTS_OF_GAP), function(part) {
          part_of_gap(split, part, margin, level, count, draws)
        })
      },
      group,
      reference
    ),
    recursive = FALSE
  ))
}
