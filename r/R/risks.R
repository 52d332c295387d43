# Risks by group: parts of the Brier score and calibration curves by isotonic regression, net
# benefit and rates along cut-offs. From the rows and the definitions: stats::isoreg, stats::qbeta
# over all runs of blocks, curves that leave a row out fitted one by one.

#' How good and how well calibrated risks are by group, from a data frame or vectors
#'
#' `fs_scores`: AUC, Brier score and its parts, logarithmic loss, balance, calibration in the large;
#' net benefit and rates of selecting the rows from a cut-off on, at many cut-offs at once.
#' `fs_calibration`: slope or intercept of a logistic regression on the logit of the score, or
#' isotonic curves with a test that groups have one.
#'
#' @param data A data frame whose columns the other arguments name; or `NULL`, and they are vectors.
#'   In its place a formula with the data frame second: see [fairstats-formula].
#' @param y_true Outcome, two values.
#' @param score Score between 0 and 1, the probability of the favourable outcome.
#' @param sensitive_features A sensitive column or several, which are crossed; without `data` a
#'   vector, or a list or data frame of vectors.
#' @param metric Of `fs_scores` `"auc"`, `"brier_score"`, `"log_loss"`, `"balance_positive"`,
#'   `"balance_negative"`, `"calibration_in_the_large"`, `"miscalibration"`, `"discrimination"`,
#'   `"uncertainty"`; along cut-offs `"net_benefit"`, or a rate as `"selection_rate"`, `"tpr"`,
#'   `"ppv"`. Of `fs_calibration` `"slope"`, `"intercept"` or `"isotonic"`.
#' @param cutoffs,at Cut-offs, or scores at which curves are compared; default up to 19 quantiles of
#'   all scores.
#' @param contrast `"difference"` or `"ratio"`, the latter not of what can be 0 or negative.
#' @param margin Of differences: up to it a difference counts as fair.
#' @param threshold Of ratios: from it to its inverse they count as fair.
#' @param comparisons `"reference"` or `"all"` pairs; `"rest"`, all other rows; `"overall"`, all rows,
#'   its own among them.
#' @param strata Confounder, as in [fs_means()], of all but isotonic curves; of AUC with the weights
#'   p1 p0 / (p1 + p0) of the rows with a favourable label, beside everybody p1.
#' @param n_resamples Draws of labels that test equal curves.
#'
#' @inheritParams fs_audit
#'
#' @return A data frame of class `fairstats_audit`, as from [fs_audit()]; `rate` and
#'   `rate_reference` are the values of both groups, `cutoff` where there are several. Tests of
#'   equal
#'   curves stand in the attribute `"equality"`.
#'
#' @references Dimitriadis, Gneiting, Jordan (2021). Stable reliability diagrams for probabilistic
#'   classifiers. PNAS 118. Vickers, Elkin (2006). Decision curve analysis. Medical Decision Making
#'   26, 565-574.
#'
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' fs_scores(people, "qualified", "score", "sex", metric = "miscalibration", pos_label = "yes")
#' fs_scores(people, "qualified", "score", "sex", metric = "tpr", cutoffs = c(0.4, 0.6), pos_label = "yes")
#' fs_calibration(people, "qualified", "score", "sex", metric = "isotonic", at = c(0.4, 0.6),
#'   pos_label = "yes", n_resamples = 199)
#' @export
fs_scores <- function(
  data = NULL,
  y_true,
  score,
  sensitive_features,
  metric = "auc",
  cutoffs = NULL,
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
  pos_label = 1,
  missing = "raise",
  seed = 1
) {
  arguments <- given_arguments()
  choice_of(metric, "metric", c("auc", MEANS_OF_SCORES, BRIER_PARTS, "net_benefit", RATES_ALONG))
  risk_table(metric, arguments, cutoffs)
}

#' @rdname fs_scores
#' @export
fs_calibration <- function(
  data = NULL,
  y_true,
  score,
  sensitive_features,
  metric = "slope",
  at = NULL,
  reference = NULL,
  comparisons = "reference",
  margin = 0,
  confidence_level = 0.95,
  simultaneous = "none",
  adjust = "holm",
  sample_weight = NULL,
  cluster = NULL,
  strata = NULL,
  pos_label = 1,
  missing = "raise",
  n_resamples = 999,
  seed = 1
) {
  arguments <- given_arguments()
  choice_of(metric, "metric", c("slope", "intercept", "isotonic"))
  arguments[c("contrast", "threshold")] <- list("difference", 0.8)
  risk_table(
    if (metric == "isotonic") "isotonic_calibration" else paste0("calibration_", metric),
    arguments,
    at
  )
}

MEANS_OF_SCORES <- c(
  "brier_score",
  "log_loss",
  "balance_positive",
  "balance_negative",
  "calibration_in_the_large"
)
BRIER_PARTS <- c("miscalibration", "discrimination", "uncertainty")
RATES_ALONG <- c(
  "selection_rate",
  "accuracy",
  "tpr",
  "fnr",
  "tnr",
  "fpr",
  "ppv",
  "npv",
  "false_omission_rate"
)

risk_table <- function(metric, arguments, cutoffs) {
  contrast <- choice_of(arguments$contrast, "contrast", c("difference", "ratio"))
  if (
    contrast == "ratio" && metric %in% c("calibration_in_the_large", BRIER_PARTS, "net_benefit")
  ) {
    stop_argument(
      "contrast",
      paste("a ratio of", metric),
      "its difference: it has both signs, or can be 0"
    )
  }
  numbers_in(arguments$margin, "margin", 0)
  numbers_in(arguments$threshold, "threshold", 0, 1, open = "low")
  options <- audit_options(
    arguments$confidence_level,
    simultaneous = arguments$simultaneous,
    adjust = arguments$adjust
  )
  names_of_columns <- c(
    "y_true",
    "score",
    "sensitive_features",
    "sample_weight",
    "cluster",
    "strata"
  )
  read <- settle_missing(
    arguments$data,
    arguments[intersect(names(arguments), names_of_columns)],
    arguments$missing
  )
  coefficients <- c("calibration_slope", "calibration_intercept")
  kind <- choice_of(
    arguments$comparisons,
    "comparisons",
    c("reference", "all", POOLED)
  )
  if (
    kind %in%
      POOLED &&
      arguments$simultaneous == "max-z" &&
      !metric %in% c(MEANS_OF_SCORES, "net_benefit", "isotonic_calibration", RATES_ALONG)
  ) {
    stop_argument("simultaneous", "\"max-z\" beside pooled rows", "\"bonferroni\"")
  }
  if (kind %in% POOLED && !is.null(arguments$reference)) {
    stop_argument("reference", "a group", "NULL: each group is compared with pooled rows")
  }
  scene <- read_scene(
    read$data,
    read$y_true,
    NULL,
    read$score,
    read$sensitive_features,
    arguments$reference,
    arguments$pos_label,
    if (kind == "all") "all" else "reference",
    read$sample_weight,
    read$cluster
  )
  if (metric %in% RATES_ALONG) {
    scene$pairs <- pairs_with_rest(scene, kind)
  } else if (kind %in% POOLED) {
    scene$pairs <- cbind(seq_along(scene$grouping$groups), -match(kind, POOLED))
  }
  input <- scene$input
  if (isTRUE(attr(scene$pairs, "highest"))) {
    stop_argument("reference", "\"highest\"", "a group, or NULL for the largest")
  }
  stratum <- stratum_of_numbers(
    if (!is.null(read$data)) checked_frame(read$data),
    read$strata,
    input$n,
    arguments$strata,
    if (metric == "isotonic_calibration") metric
  )
  scene$stratum <- stratum
  if (!metric %in% c(MEANS_OF_SCORES, "net_benefit", RATES_ALONG)) {
    input$weight <- weights_that_count(input$weight, scene$grouping$labels, kind)
  }
  limit <- if (contrast == "ratio") arguments$threshold else arguments$margin
  groups <- scene$grouping$groups
  place <- match(scene$grouping$labels, groups)
  y <- input$y_true
  score <- input$score
  along <- metric %in% c("net_benefit", "isotonic_calibration", RATES_ALONG)
  if (!along && !is.null(cutoffs)) {
    stop_argument(
      "cutoffs",
      "cut-offs",
      paste("NULL for", metric, "which does not go along the scores")
    )
  }
  if (metric %in% RATES_ALONG) {
    return(rate_curve(metric, scene, arguments, options, cutoffs))
  }
  if (along) {
    cutoffs <- chosen_cutoffs(score, cutoffs, metric == "net_benefit")
    by_itself <- metric == "isotonic_calibration"
    if (by_itself) {
      options$adjust <- "none"
    }
    blocks <- curve_rows(
      metric,
      y,
      score,
      place,
      length(groups),
      cutoffs,
      scene$pairs,
      limit,
      options$confidence_level,
      input$weight,
      input$cluster
    )
  } else {
    values <- if (metric %in% MEANS_OF_SCORES) {
      mean_values(moments_of_score(metric, y, score, place, length(groups), input))
    } else {
      values_of_risks(
        metric,
        y,
        score,
        place,
        length(groups),
        input$weight,
        input$cluster,
        kind == "rest"
      )
    }
    blocks <- list(list(
      cutoff = NULL,
      n = values$n,
      rows = with_seed(
        arguments$seed,
        compare_numbers(
          values,
          scene$pairs,
          contrast,
          limit,
          options$confidence_level,
          options$simultaneous,
          scene$pairs
        )
      )
    ))
  }
  found <- bind_rows(unlist(
    lapply(blocks, function(block) {
      lapply(seq_along(block$rows), function(k) {
        row <- block$rows[[k]]
        pair <- scene$pairs[k, ]
        n <- block$n[pair[1L]]
        reference <- if (pair[2L] > 0) groups[pair[2L]] else c("the rest", "all")[-pair[2L]]
        tidy <- tidy_numbers(metric, groups[pair[1L]], reference, row, n, options)
        if (along) {
          tidy$cutoff <- block$cutoff
        }
        tidy
      })
    }),
    recursive = FALSE
  ))
  found$pvalue_adjusted <- adjust_pvalues(found$pvalue, options$adjust)
  crude <- settle_rows(found, options)
  within <- NULL
  if (!is.null(stratum)) {
    about <- list(
      options = options,
      contrast = contrast,
      limit = limit,
      among = 0,
      root = FALSE,
      comparisons = kind
    )
    numbers <- numbers_of_score(metric, y, score)
    rows <- which(numbers$kept)
    stratum <- structure(stratum[rows], name = attr(stratum, "name"))
    design <- list(weight = input$weight[rows], cluster = input$cluster[rows])
    if (metric == "net_benefit") {
      within <- adjusted_benefits(y, score, place, stratum, design, groups, crude, about)
    } else {
      compare <- if (metric == "auc") {
        areas_in_strata(y, score, place)
      } else if (metric %in% MEANS_OF_SCORES) {
        means_in_strata(numbers$x[rows])
      } else if (metric %in% BRIER_PARTS) {
        parts_in_strata(metric, y, score, place)
      } else {
        regressions_in_strata(metric, y, score, place)
      }
      within <- adjusted_rows(compare, place[rows], stratum, design, groups, crude, about)
    }
  }
  table <- with_adjusted_means(crude, within, function(rows) as_audit(rows, "scores", input))
  if (metric == "isotonic_calibration") {
    rows <- rows_of_groups(
      y,
      score,
      place,
      length(groups),
      input$weight,
      input$cluster,
      rest = kind %in% POOLED
    )
    test <- if (is_designed(rows)) equal_weighted_curves else equal_curves
    tests <- with_seed(
      arguments$seed,
      lapply(seq_len(nrow(scene$pairs)), function(k) {
        pair <- scene$pairs[k, ]
        second <- if (kind %in% POOLED) length(groups) + pair[1L] else pair[2L]
        found <- test(rows[[pair[1L]]], rows[[second]], arguments$n_resamples)
        reference <- switch(kind, rest = "the rest", overall = "all", groups[pair[2L]])
        data.frame(group = groups[pair[1L]], reference = reference, found)
      })
    )
    attr(table, "equality") <- do.call(rbind, tests)
  }
  table
}

# The weights, NULL where they change no comparison: equal within every group, where groups are pooled
# in all of them.
weights_that_count <- function(weight, labels, kind) {
  if (is.null(weight)) {
    return(NULL)
  }
  among <- if (kind %in% POOLED) rep("all", length(weight)) else labels
  spread <- vapply(split(weight, among), function(w) diff(range(w)) / mean(w), 0)
  if (all(is.finite(spread)) && max(spread) < 1e-7) NULL else weight
}

# The number per row that a metric is the mean of, and the rows that it is over.
numbers_of_score <- function(metric, y, score) {
  kept <- switch(metric, balance_positive = y == 1, balance_negative = y == 0, rep(TRUE, length(y)))
  x <- switch(
    metric,
    brier_score = (y - score)^2,
    log_loss = -log(ifelse(y == 1, score, 1 - score)),
    calibration_in_the_large = y - score,
    score
  )
  if (any(is.infinite(x))) {
    stop_argument("score", "rows whose label had the probability 0", "other scores")
  }
  list(x = x, kept = kept)
}

# Their moments.
moments_of_score <- function(metric, y, score, place, count, input) {
  numbers <- numbers_of_score(metric, y, score)
  kept <- numbers$kept
  number_moments(numbers$x[kept], place[kept], count, input$weight[kept], input$cluster[kept])
}

# ---------------------------------------------------------------- isotonic curves

# Rows of a group at each of its scores, ascending: n rows, k of which have label 1.
counted_risks <- function(rows) {
  at <- sort(unique(rows$score))
  place <- match(rows$score, at)
  list(score = at, n = tabulate(place, length(at)), k = tabulate(place[rows$y == 1], length(at)))
}

# The isotonic regression of k/n with weights n: every row has the mean of its score, so that ties
# weigh.
isotonic_fit <- function(k, n) {
  if (!length(n)) {
    return(numeric(0))
  }
  place <- rep(seq_along(n), n)
  fit <- stats::isoreg(seq_along(place), (k / n)[place])$yf
  fit[cumsum(n)]
}

# First places of up to `count` blocks of about equal size, by the share of rows up to each score.
block_starts <- function(n, count) {
  share <- cumsum(n) / sum(n)
  last <- unique(findInterval(seq_len(count) / count - 1e-12, share, left.open = TRUE) + 1L)
  c(1L, pmin(last, length(share))[-length(last)] + 1L)
}

merged_risks <- function(r, starts) {
  block <- findInterval(seq_along(r$n), starts)
  n <- as.vector(tapply(r$n, block, sum))
  list(
    score = as.vector(tapply(r$n * r$score, block, sum)) / n,
    n = n,
    k = as.vector(tapply(r$k, block, sum))
  )
}

# Limits at a score, each side with this error at `points` scores at once: those of Clopper and
# Pearson over the runs of 1, 2, 4, 8 ... blocks next to it, above and below.
honest_band <- function(r, points) {
  size <- sum(r$n)
  starts <- block_starts(r$n, min(max(round(2 * size^(1 / 3)), 5), 100))
  ends <- c(starts[-1L] - 1L, length(r$n))
  block <- findInterval(seq_along(r$n), starts)
  n <- as.vector(tapply(r$n, block, sum))
  k <- as.vector(tapply(r$k, block, sum))
  lengths <- 2^(0:floor(log2(length(n))))
  function(score, error) {
    each <- error / (points * length(lengths))
    limit <- function(success, blocks) {
      if (!length(blocks)) {
        return(0)
      }
      found <- vapply(
        lengths[lengths <= length(blocks)],
        function(run) {
          used <- blocks[seq_len(run)]
          x <- sum(success[used])
          if (x == 0) 0 else stats::qbeta(each, x, sum(n[used]) - x + 1)
        },
        0
      )
      max(found)
    }
    c(
      limit(k, rev(which(r$score[ends] <= score))),
      1 - limit(n - k, which(r$score[starts] >= score))
    )
  }
}

# A difference by the one's limit less the other's, each with half the error.
limits_apart <- function(values, limits_of) {
  limits <- function(critical) {
    each <- -stats::qnorm(stats::pnorm(-critical) / 2)
    one <- limits_of(1L, each)
    zero <- limits_of(2L, each)
    c(one[1L] - zero[2L], one[2L] - zero[1L])
  }
  z <- function(null) {
    gap <- values[1L] - values[2L] - null
    side <- if (gap > 0) 1L else 2L
    open <- function(critical) sign(gap) * (limits(critical)[side] - null)
    size <- if (gap == 0 || open(0) <= 0) {
      0
    } else if (open(30) > 0) {
      30
    } else {
      stats::uniroot(open, c(0, 30), tol = 1e-12)$root
    }
    c(above = sign(gap) * size, below = sign(gap) * size, plain = sign(gap) * size)
  }
  list(estimate = values[1L] - values[2L], std_error = diff(limits(1)) / 2, z = z, limits = limits)
}

rows_in <- function(r) if (is.null(r$w)) sum(r$n) else length(r$w)

# Whether rows of groups have weights or clusters.
is_designed <- function(rows) !is.null(rows[[1L]]$w) || !is.null(rows[[1L]]$unit)

# Curves of all groups at a score; differences by MOVER of the bands, each at the error of one of
# `n_pairs`.
band_values <- function(risks, bands, score, n_pairs, count) {
  value <- vapply(
    risks,
    function(r) {
      curve <- if (is.null(r$w)) isotonic_fit(r$k, r$n) else weighted_curve(r)
      if (length(curve) > 1L) stats::approx(r$score, curve, score, rule = 2)$y else curve
    },
    0
  )
  own <- function(g, critical) bands[[g]](score, stats::pnorm(-critical))
  against <- function(g, reference, ratio) {
    beside_all <- reference == -2L
    if (reference == -1L) {
      reference <- count + g
    }
    # behind the groups stands everybody, whose own rows are among those of each
    if (beside_all) {
      reference <- length(risks)
    }
    limits_of <- function(k, critical) {
      bands[[c(g, reference)[k]]](score, stats::pnorm(-critical) / n_pairs)
    }
    compare <- if (beside_all) limits_apart else mover_of_two
    contrast <- compare(value[c(g, reference)], limits_of)
    list(
      value = value[reference],
      n = rows_in(risks[[reference]]),
      own = function(critical) own(reference, critical),
      contrast = contrast
    )
  }
  list(
    value = value,
    n = vapply(risks, rows_in, 0),
    variance = rep(NaN, length(risks)),
    share = NULL,
    against = against,
    own = own,
    method = "honest band (MOVER)"
  )
}

# Largest standardised difference of the mean residuals of two groups about their common curve, over
# all runs of ten blocks of their scores; its p-value from labels drawn by that curve, with its
# Monte Carlo error.
equal_curves <- function(one, zero, resamples) {
  both <- rbind(one, zero)
  at <- sort(unique(both$score))
  count <- function(rows) tabulate(match(rows$score, at), length(at))
  n <- rbind(count(one), count(zero))
  k <- rbind(count(one[one$y == 1, ]), count(zero[zero$y == 1, ]))
  merge <- function(m, block) t(apply(m, 1L, function(x) as.vector(tapply(x, block, sum))))
  if (length(at) > 1000) {
    starts <- block_starts(colSums(n), 1000)
    block <- findInterval(seq_along(at), starts)
    n <- merge(n, block)
    k <- merge(k, block)
    at <- at[starts]
  }
  starts <- block_starts(colSums(n), 10)
  ends <- c(starts[-1L] - 1L, length(at))
  block <- findInterval(seq_along(at), starts)
  runs <- expand.grid(last = seq_along(starts), first = seq_along(starts))
  runs <- runs[runs$first <= runs$last, ]
  per_block <- function(m) {
    if (length(at) == 1L) matrix(rowSums(m), 2L) else matrix(merge(m, block), 2L)
  }
  size <- per_block(n)
  weight <- ifelse(size[1L, ] > 0 & size[2L, ] > 0, size[1L, ] * size[2L, ] / colSums(size), 0)
  over <- function(x) c(0, cumsum(x))[runs$last + 1L] - c(0, cumsum(x))[runs$first]
  scan <- function(k) {
    p <- isotonic_fit(colSums(k), colSums(n))
    rest <- per_block(k - t(t(n) * p)) / pmax(size, 1)
    spread <- per_block(t(t(n) * p * (1 - p))) / pmax(size, 1)^2
    variance <- over(weight^2 * colSums(spread))
    gap <- over(weight * (rest[1L, ] - rest[2L, ]))
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
      difference = gap[top] / over(weight)[top],
      p = p
    )
  }
  seen <- scan(k)
  if (is.nan(seen$largest)) {
    return(list(
      statistic = NaN,
      pvalue = NaN,
      low = NaN,
      high = NaN,
      difference = NaN,
      pvalue_error = 0
    ))
  }
  drawn <- vapply(
    seq_len(resamples),
    function(b) {
      scan(matrix(
        stats::rbinom(length(n), n, rep(pmin(pmax(seen$p, 0), 1), each = 2L)),
        2L
      ))$largest
    },
    0
  )
  p <- (sum(drawn >= seen$largest - 1e-9, na.rm = TRUE) + 1) / (resamples + 1)
  list(
    statistic = seen$largest,
    pvalue = p,
    low = seen$low,
    high = seen$high,
    difference = seen$difference,
    pvalue_error = sqrt(2 * max(p * (1 - p), 1 / resamples) / resamples)
  )
}

# ---------------------------------------------------------------- parts of the Brier score

# A part with its standard error, `inner` the estimate less its optimism.
brier_part <- function(estimate, inner, error, df = Inf) {
  top <- max(estimate, 0)
  list(
    value = top,
    inner = inner,
    error = error,
    df = df,
    centre = max((top + inner) / 2, 0),
    own = function(critical) {
      reach <- -stats::qt(stats::pnorm(-critical), df) * error
      pmax(0, c(inner - reach, top + reach))
    }
  )
}

# S(s) - S(p) and S(mean) - S(p) with limits from the estimate less its optimism to the estimate,
# differences about the middle of both; and y(1 - y) by Wilson's limits of the mean, differences by
# the one's limit less the other's.
part_values <- function(rows, metric, count = length(rows)) {
  designed <- is_designed(rows)
  part_of <- function(r) {
    if (designed) weighted_part(weighted_risks(r), metric) else plain_part(r, metric)
  }
  all_rows <- attr(rows, "all")
  parts <- lapply(rows, part_of)
  value <- unname(vapply(parts, `[[`, 0, "value"))
  small <- vapply(rows, fewest_of_label, 0) < FEWEST_OF_LABEL
  own <- function(g, critical) if (small[g]) c(NaN, NaN) else parts[[g]]$own(critical)
  against <- function(g, reference, ratio) {
    if (reference == -2L) {
      everybody <- part_of(all_rows)
      return(list(
        value = everybody$value,
        n = nrow(all_rows),
        own = everybody$own,
        contrast = if (!small[g]) part_beside_all(parts[[g]], everybody, all_rows, g, metric)
      ))
    }
    if (reference == -1L) {
      reference <- count + g
    }
    both <- c(g, reference)
    contrast <- NULL
    if (!any(small[both])) {
      if (metric == "uncertainty") {
        contrast <- limits_apart(value[both], function(k, critical) own(both[k], critical))
      } else {
        centres <- vapply(parts[both], `[[`, 0, "centre")
        contrast <- mover_of_two(
          unname(centres),
          function(k, critical) own(both[k], critical),
          floor = TRUE
        )
        contrast$estimate <- value[g] - value[reference]
      }
    }
    list(
      value = value[reference],
      n = nrow(rows[[reference]]),
      own = function(critical) own(reference, critical),
      contrast = contrast
    )
  }
  variance <- vapply(seq_along(parts), function(g) (diff(own(g, 1)) / 2)^2, 0)
  list(
    value = value,
    n = unname(vapply(rows, nrow, 0L)),
    variance = variance,
    share = NULL,
    against = against,
    own = own,
    method = "isotonic, left-out rows (MOVER)"
  )
}

# A group beside everybody. The gains of a row by the curve of its group and of everybody, each less
# the mean of the row's group, make the errors of the group's rows and of all others apart.
part_beside_all <- function(own, everybody, rows, g, metric) {
  if (metric == "uncertainty") {
    both <- list(own, everybody)
    values <- c(own$value, everybody$value)
    return(limits_apart(values, function(k, critical) both[[k]]$own(critical)))
  }
  both <- both_beside_all(own, everybody, rows, g, metric)
  found <- mover_of_two(
    vapply(both, `[[`, 0, "centre"),
    function(k, critical) both[[k]]$own(critical),
    floor = TRUE
  )
  found$estimate <- own$value - everybody$value
  found
}

# Both parts with what their difference has of either's variance.
both_beside_all <- function(own, everybody, rows, g, metric) {
  w <- weights_of(rows)
  gain <- function(here) {
    at <- sort(unique(rows$score[here]))
    place <- match(rows$score, at)
    weight <- sums_at(w[here], place[here], length(at))
    fit <- pooled_fit(sums_at((w * rows$y)[here], place[here], length(at)) / weight, weight)[place]
    forecast <- if (metric == "miscalibration") {
      rows$score
    } else {
      sum((w * rows$y)[here]) / sum(w[here])
    }
    ifelse(here, (rows$y - forecast)^2 - (rows$y - fit)^2, 0)
  }
  centred <- function(x) {
    x - stats::ave(w * x, rows$place, FUN = sum) / stats::ave(w, rows$place, FUN = sum)
  }
  inside <- rows$place == g
  moved <- w * -centred(gain(w > 0)) / sum(w)
  moved[inside] <- (moved + w * centred(gain(inside & w > 0)) / sum(w[inside]))[inside]
  spread <- function(h) {
    here <- rows$place == h
    units <- if (is.null(rows$unit)) seq_len(nrow(rows)) else rows$unit
    of_units <- tapply(moved[here], units[here], sum)
    sum(of_units^2) * length(of_units) / max(length(of_units) - 1, 1)
  }
  others <- setdiff(unique(rows$place), g)
  both <- list(
    brier_part(own$value, own$inner, sqrt(spread(g)), own$df),
    brier_part(everybody$value, everybody$inner, sqrt(sum(vapply(others, spread, 0))), everybody$df)
  )
  structure(both, moved = moved)
}

plain_part <- function(r, metric) {
  counted <- counted_risks(r)
  if (metric == "uncertainty") {
    return(uncertainty_of(counted))
  }
  fit <- isotonic_fit(counted$k, counted$n)
  forecast <- if (metric == "miscalibration") {
    counted$score
  } else {
    rep(sum(counted$k) / sum(counted$n), length(fit))
  }
  place <- match(r$score, counted$score)
  gain <- (r$y - forecast[place])^2 - (r$y - fit[place])^2
  error <- stats::sd(gain) / sqrt(length(gain))
  brier_part(mean(gain), mean(gain) - left_out_loss(counted), error)
}

# Mean squared error of the curves that leave each row out, less that of the curve.
left_out_loss <- function(r) {
  if (length(r$n) > 1000) {
    r <- merged_risks(r, block_starts(r$n, 1000))
  }
  fit <- isotonic_fit(r$k, r$n)
  without <- function(i, label) {
    n <- r$n
    k <- r$k
    n[i] <- n[i] - 1
    k[i] <- k[i] - label
    if (n[i] > 0) {
      return(isotonic_fit(k, n)[i])
    }
    if (length(n) == 1L) {
      return(0.5)
    }
    curve <- isotonic_fit(k[-i], n[-i])
    mean(curve[c(max(i - 1L, 1L), min(i, length(curve)))])
  }
  loss <- 0
  for (i in seq_along(r$n)) {
    for (label in 0:1) {
      rows <- if (label == 1) r$k[i] else r$n[i] - r$k[i]
      if (rows > 0) loss <- loss + rows * ((label - without(i, label))^2 - (label - fit[i])^2)
    }
  }
  loss / sum(r$n)
}

uncertainty_of <- function(r) {
  n <- sum(r$n)
  share <- sum(r$k) / n
  list(
    value = share * (1 - share),
    number = n,
    own = function(critical) uncertainty_limits(n, share, critical)
  )
}

# Limits of p(1 - p) from Wilson's of a share of n rows.
uncertainty_limits <- function(n, share, critical) {
  wilson <- function(z) {
    centre <- (n * share + z^2 / 2) / (n + z^2)
    pmin(1, pmax(0, centre + c(-1, 1) * z * sqrt(n * share * (1 - share) + z^2 / 4) / (n + z^2)))
  }
  low <- wilson(critical)
  high <- wilson(-stats::qnorm(stats::pnorm(-critical) / 2))
  c(
    min(low * (1 - low)),
    if (high[1L] <= 0.5 && high[2L] >= 0.5) 0.25 else max(high * (1 - high))
  )
}

# ---------------------------------------------------------------- along cut-offs

# Cut-offs as they were given, or up to 19 quantiles of all scores.
chosen_cutoffs <- function(score, cutoffs, below_one = FALSE) {
  if (!is.null(cutoffs)) {
    return(sort(unique(numbers_in(
      cutoffs,
      "cutoffs",
      0,
      1,
      size = NA,
      open = if (below_one) "high"
    ))))
  }
  chosen <- unique(quantiles_of_all(score, seq_len(19) / 20))
  if (below_one) {
    chosen <- chosen[chosen < 1]
  }
  if (!length(chosen)) {
    stop_argument("cutoffs", "scores of 1 only", "cut-offs below 1")
  }
  chosen
}

# Rows of all pairs at every cut-off, net benefit or isotonic curves.
curve_rows <- function(
  metric,
  y,
  score,
  place,
  count,
  cutoffs,
  pairs,
  limit,
  level,
  weight = NULL,
  cluster = NULL,
  sides = 2
) {
  isotonic <- metric == "isotonic_calibration"
  if (isotonic) {
    rows <- rows_of_groups(y, score, place, count, weight, cluster, any(pairs[, 2L] == -1))
    designed <- is_designed(rows)
    if (any(pairs[, 2L] == -2)) {
      rows <- c(rows, list(attr(rows, "all")))
    }
    risks <- unname(lapply(rows, if (designed) weighted_risks else counted_risks))
    bands <- lapply(risks, if (designed) weighted_band else honest_band, length(cutoffs))
  }
  family <- pairs[rep(seq_len(nrow(pairs)), length(cutoffs)), , drop = FALSE]
  lapply(cutoffs, function(cutoff) {
    values <- if (isotonic) {
      band_values(risks, bands, cutoff, nrow(pairs), count)
    } else {
      benefit <- (score >= cutoff) * ifelse(y == 1, 1, -cutoff / (1 - cutoff))
      mean_values(number_moments(benefit, place, count, weight, cluster))
    }
    rows <- compare_numbers(
      values,
      pairs,
      "difference",
      limit,
      level,
      if (isotonic) "none" else "bonferroni",
      family,
      NULL,
      sides
    )
    list(cutoff = cutoff, n = values$n, rows = rows)
  })
}

# A rate at every cut-off as the rates of predictions are compared, all as one family.
# `sign`: -1 where rows up to a cut-off are selected, those from its negative on.
rate_curve <- function(rate, scene, arguments, options, cutoffs, by = "cutoff", sign = 1) {
  input <- scene$input
  if (by == "cutoff") {
    cutoffs <- chosen_cutoffs(input$score, cutoffs)
  }
  contrast <- arguments$contrast
  name <- paste0(rate, "_", contrast, "_by_", by)
  pooled <- any(scene$pairs > length(scene$grouping$groups))
  comparisons <- if (pooled) arguments$comparisons else "reference"
  of <- lapply(cutoffs, function(cutoff) {
    rate_at_cutoff(rate, input, scene$grouping, cutoff, comparisons, options$confidence_level)
  })
  options$margin <- arguments$margin
  options$threshold <- arguments$threshold
  count <- length(cutoffs) * nrow(scene$pairs)
  options$count <- count
  options$error <- sharpest_error(options$confidence_level, count, options$adjust)
  critical <- critical_values(
    lapply(of, `[[`, "values"),
    of[[1L]]$cells,
    scene$pairs,
    contrast,
    "bonferroni",
    options$confidence_level
  )
  found <- bind_rows(unlist(
    lapply(seq_along(cutoffs), function(at) {
      lapply(seq_len(nrow(scene$pairs)), function(k) {
        row <- compare_row(
          of[[at]]$values,
          scene$pairs[k, 1L],
          scene$pairs[k, 2L],
          name,
          of[[at]]$cells$groups,
          contrast,
          "score",
          options,
          !is.null(input$cluster),
          critical,
          of[[at]]$everybody
        )
        row$cutoff <- sign * cutoffs[at]
        row
      })
    }),
    recursive = FALSE
  ))
  found$pvalue_adjusted <- adjust_pvalues(found$pvalue, options$adjust)
  crude <- settle_rows(found, options)
  within <- NULL
  if (!is.null(scene$stratum)) {
    options$simultaneous <- "bonferroni"
    within <- adjusted_rates(rate, scene, contrast, options, cutoffs, crude, arguments$comparisons)
  }
  with_adjusted_means(crude, within, function(rows) as_audit(rows, "scores", input))
}

# The pairs of rates along cut-offs: behind the groups stand all others of each.
pairs_with_rest <- function(scene, kind) {
  count <- length(scene$grouping$groups)
  if (kind %in% POOLED) cbind(seq_len(count), count + seq_len(count)) else scene$pairs
}

# Shares of each group that cut-offs at quantiles of all rows select; cut-offs are taken as given.
selection_by_quantile <- function(x, scene, arguments) {
  choice_of(arguments$contrast, "contrast", c("difference", "ratio"))
  scene$pairs <- pairs_with_rest(scene, arguments$comparisons)
  numbers_in(arguments$margin, "margin", 0)
  numbers_in(arguments$threshold, "threshold", 0, 1, open = "low")
  options <- audit_options(
    arguments$confidence_level,
    simultaneous = arguments$simultaneous,
    adjust = arguments$adjust
  )
  if (isTRUE(attr(scene$pairs, "highest"))) {
    stop_argument("reference", "\"highest\"", "a group, or NULL for the largest")
  }
  orders <- arguments$quantiles
  if (is.null(orders)) {
    orders <- seq_len(9) / 10
  }
  orders <- sort(unique(numbers_in(orders, "quantiles", 0, 1, size = NA, open = BOTH)))
  cutoffs <- unique(quantiles_of_all(x, orders))
  # rows up to a cut-off are those from its negative on
  sign <- if (arguments$larger_is_better) 1 else -1
  scene$input$score <- sign * x
  rate_curve(
    "selection_rate",
    scene,
    arguments,
    options,
    sign * cutoffs,
    by = "quantile",
    sign = sign
  )
}

# The first value up to which each share of the rows lies.
quantiles_of_all <- function(x, orders) {
  at <- sort(unique(x))
  share <- cumsum(tabulate(match(x, at), length(at))) / length(x)
  at[pmin(findInterval(orders - 1e-12, share, left.open = TRUE) + 1L, length(at))]
}

rate_at_cutoff <- function(rate, input, grouping, cutoff, comparisons, level) {
  input$y_pred <- as.integer(input$score >= cutoff)
  cells <- audit_cells(input, grouping, comparisons)
  everybody <- NULL
  if (comparisons == "overall") {
    everybody <- everybody_of(cells, as_metric(rate, ncol(cells$totals)), level)
  }
  if (comparisons %in% POOLED) {
    cells <- compared_cells(beside_rest(cells))
  }
  list(
    cells = cells,
    everybody = everybody,
    values = cell_metric(
      cells$totals,
      as_metric(rate, ncol(cells$totals)),
      cells$rows,
      cells$scatter,
      cells$units,
      cells$squares,
      cells$clustered
    )
  )
}

# Every comparison of a report's curves of net benefit or isotonic calibration, from the rows:
# cut-offs by pairs.
crosscheck_curves <- function(
  metric,
  y,
  score,
  group,
  groups,
  cutoffs,
  first,
  second,
  level,
  limit,
  weight = NULL,
  cluster = NULL,
  sides = 2
) {
  place <- match(group, groups)
  blocks <- curve_rows(
    metric,
    y,
    score,
    place,
    length(groups),
    cutoffs,
    cbind(first, second),
    limit,
    level,
    weight,
    if (!is.null(cluster)) as.integer(factor(cluster)),
    sides
  )
  as_columns(lapply(unlist(lapply(blocks, `[[`, "rows"), recursive = FALSE), function(row) {
    row[names(row) != "method"]
  }))
}

# Of rates along cut-offs; method, exact: of every comparison, cut-offs by pairs.
crosscheck_rate_curve <- function(
  rate,
  y,
  score,
  group,
  groups,
  cutoffs,
  first,
  second,
  contrast,
  method,
  exact,
  level,
  limit,
  weight = NULL,
  cluster = NULL,
  comparisons = "reference"
) {
  input <- list(
    y_true = y,
    score = score,
    weight = weight,
    n = length(y),
    cluster = if (!is.null(cluster)) as.integer(factor(cluster))
  )
  grouping <- list(groups = groups, labels = group)
  of <- lapply(cutoffs, function(cutoff) {
    rate_at_cutoff(rate, input, grouping, cutoff, comparisons, level)
  })
  critical <- critical_values(
    lapply(of, `[[`, "values"),
    of[[1L]]$cells,
    cbind(first, second),
    contrast,
    "bonferroni",
    level
  )
  as_columns(lapply(seq_along(method), function(row) {
    at <- (row - 1L) %/% length(first) + 1L
    k <- (row - 1L) %% length(first) + 1L
    values <- of[[at]]$values
    found <- compare_pair(
      values,
      first[k],
      second[k],
      contrast,
      method[row],
      exact[row],
      critical,
      limit,
      level,
      of[[at]]$everybody,
      one_sided = TRUE
    )
    found[c("value_low", "value_high")] <- own_interval(values, first[k], level)
    found[c("value_reference_low", "value_reference_high")] <- if (comparisons == "overall") {
      of[[at]]$everybody$own[1L, ]
    } else {
      own_interval(values, second[k], level)
    }
    found
  }))
}

# Wilson's interval of a group's own rate; under weights and clusters from its effective cases, at
# most its effective units, with Student's t.
own_interval <- function(values, g, level) {
  rate <- values$rate[g]
  if (!is.finite(rate)) {
    return(c(NaN, NaN))
  }
  z <- stats::qnorm((1 + level) / 2)
  cases <- values$rows[g]
  if (is.finite(values$units[g])) {
    units <- values$units[g]
    v <- values$covariance[g, g]
    cases <- if (v > 0 && rate > 0 && rate < 1) min(rate * (1 - rate) / v, units) else units
    z <- stats::qt((1 + level) / 2, max(units - 1, 1))
  }
  centre <- (rate * cases + z^2 / 2) / (cases + z^2)
  pmin(
    1,
    pmax(0, centre + c(-1, 1) * z * sqrt(cases * rate * (1 - rate) + z^2 / 4) / (cases + z^2))
  )
}

# Tests of equal curves of all pairs.
crosscheck_equal_curves <- function(
  y,
  score,
  group,
  groups,
  first,
  second,
  resamples,
  weight = NULL,
  cluster = NULL
) {
  count <- length(groups)
  unit <- if (!is.null(cluster)) as.integer(factor(cluster))
  rows <- rows_of_groups(
    y,
    score,
    match(group, groups),
    count,
    weight,
    unit,
    any(second < 0)
  )
  test <- if (is_designed(rows)) equal_weighted_curves else equal_curves
  as_columns(lapply(seq_along(first), function(k) {
    other <- if (second[k] < 0) count + first[k] else second[k]
    test(rows[[first[k]]], rows[[other]], resamples)
  }))
}
