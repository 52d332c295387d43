# The audit of predictions for differences between groups, in base R alone: what `fs.audit` is in
# Python.

#' Audit predictions for differences between groups, in base R alone
#'
#' The R side of the Python package's `fs.audit`, by independent code: ratios and differences of
#' rates against a reference with intervals, tests, adjusted p-values and verdicts, the largest
#' gaps, posteriors, with a score MADD and the area between ROC curves, with features HFM, and with
#' counterfactual scores extreme counterfactual discrimination; for every sensitive column, and for
#' all of them crossed. [fs_compare()] sets it beside the JSON that the Python side writes.
#'
#' @details
#' The intervals are by the score method; where a cell has fewer than 10 rows verdicts rest on the
#' exact unconditional test. Under weights or clusters variances are linearised and the score takes
#' effective counts; no answer is given below 8 effective clusters or 10 effective successes or
#' failures in a group; scores, their extremes and posteriors are left out. What is random (the
#' critical value of the gaps, limits and tests of MADD and ABROCA, posteriors, limits and tests of
#' ECD) uses `seed`, and has its Monte Carlo error in columns that begin with `mc_`: that of a
#' difference from another run of the same size.
#'
#' A fact is what is asked of two groups, whatever the scale: ratio, difference and gap of the same
#' two rates are one fact, and so are a rate and its complement, and one rate that stands in two
#' metrics. The largest of several gaps is a fact of its own. Equality has one p-value per fact, the
#' largest of its rows; a verdict keeps that of its row. Over the facts of all sensitive columns, of
#' their crossing, and of all methods, Holm's procedure keeps the probability of any false claim at
#' most the error when all is fair, whatever `adjust` is.
#'
#' Within strata the estimate is that of Mantel and Haenszel, interval and verdict are by the
#' stratified score (see [fs_group_metric()]), in a family of their own beside the crude rows of the
#' same metric. Crude and adjusted disagree where their verdicts differ, or where the adjusted
#' estimate lies outside the crude interval and on the other side of equality, or only one of both
#' differs from it.
#'
#' Counterfactual scores are what the model gives the same rows with another value of the sensitive
#' column. The section `"ecd"` has the average gain of every group, its difference from the
#' reference's, and ECD: the difference of the levels of 1,000 interactions, whose likelihood ratio
#' is standardised by 200 samples from the fitted tails (see [fs_ecd()], which takes Student's t),
#' judged at 0.05 and adjusted over the groups; beyond the horizon of a tail there is no verdict.
#' Also the largest, the answers with half and twice the exceedances (by Student's t), and every
#' group's levels, shape, type of tail and horizon. A tail whose likelihood is largest at shape -1
#' has neither type nor interval of the shape here, and thinning by weights is Python's alone.
#'
#' An audit is of one model; [fs_compare_models()] compares several on the same people, which the
#' Python audit has as a section of its own.
#'
#' @param data A data frame; the other arguments name its columns. Or a formula, with the data frame
#'   second: see [fairstats-formula]. Or a tally from
#'   [fs_read_tally()], which knows them.
#' @param y_true,y_pred Outcome and prediction, two values each; at least one of them, or `outcome`.
#' @param score Score between 0 and 1, larger for the favourable outcome.
#' @param sensitive_features Sensitive columns.
#' @param reference Reference group; for several columns a vector or list
#'   `c(sex = "Male", race = "White")`. Default: the largest group.
#' @param pos_label The value of outcome and prediction that is good for the person, or
#'   `list(y_true = ..., y_pred = ...)`.
#' @param sample_weight,cluster Columns of weights and of sampling units.
#' @param features Feature columns: with outcome and prediction they add HFM, the distance between
#'   groups as sets.
#' @param counterfactual_score Column of the score that the row would have with another value of the
#'   one sensitive column; for several a vector or list `c(sex = "score_if_other_sex")`. It needs
#'   `score`.
#' @param confidence_level Level of the intervals; verdicts use one-sided bounds at this level.
#' @param threshold For ratios: below it lies a violation.
#' @param margin For differences, gaps and areas: beyond it lies a violation; for MADD beyond twice
#'   of it.
#' @param method Interval method of ratios and differences; default `"score"`. One of `"log"`,
#'   `"score"`, `"koopman"`, `"delta"`, as in the Python audit; in functions of one metric of rates
#'   also `"anytime"` and `"anytime-exact"`, whose limits, p-values and verdicts hold at every look.
#' @param comparisons `"reference"` or `"all"` pairs; `"rest"`: each group against all others; in
#'   the audit also `"overall"`: against all rows, its own among them, with the groups' shares held
#'   fixed. There what has no such comparison (areas, amplification, posteriors; with `"overall"`
#'   also scores) is compared with the largest group. The last two
#'   without `reference` and `simultaneous = "max-z"`.
#' @param simultaneous `"none"`, or `"bonferroni"` or `"max-z"`: the intervals of one metric hold at
#'   once.
#' @param adjust Adjustment of the p-values of a metric: `"holm"`, `"bonferroni"`, `"sidak"`,
#'   `"hommel"`, `"fdr_bh"` or `"none"`.
#' @param missing `"raise"`: missing values are an error; `"drop"`: rows with one are left out, for
#'   every set of groups by itself; `"group"`: missing sensitive values are a group of their own.
#'   NA, NaN and empty text are missing.
#' @param intersections Whether several sensitive columns are crossed, too.
#' @param n_resamples Permutations of MADD (default 1999) and resamples of the ROC curves (default
#'   999).
#' @param draws Draws of the posteriors; 0 for none.
#' @param max_bins Largest number of bins that MADD's search looks at.
#' @param seed Seed of what is random; R's generator is put back as it was.
#' @param label_values Labels that may occur, or `list(y_true = ..., y_pred = ...)`: more is an
#'   error, and a favourable one that no row has is a rate of 0, with a warning. Where a column has
#'   several labels beside `pos_label`, they are counted and named at the head.
#' @param strata Column of the strata of a confounder: every ratio and difference of rates, and of
#'   their means, also within them, as rows whose metric ends with `_stratified`.
#'   A tally brings its own.
#' @param subgroups Columns whose values, crossed up to three at a time, make subgroups that are all
#'   compared with the rest, in a section of its own: names, or a list with `NULL` or the cuts of
#'   each, as `list(sex = NULL, age = c(25, 40, 60), income = 4)`; see [fs_subgroups()]. Their flags
#'   and simultaneous limits are a family of their own. Not with weights or clusters.
#' @param outcome,predicted Columns of an outcome that is a number (a wage, a price), with labels or
#'   without any, and of its prediction: the section `"numbers"` compares means, mean absolute errors
#'   and mean residuals, as [fs_means()] and [fs_prediction_errors()] do. Ratios of what is never
#'   below 0; differences of what is are judged by whether they are shown at all, since no margin is
#'   known in their unit.
#' @param score_range Scale of the scores, its worse end first: `c(300, 850)`, or `c(10, 1)` of
#'   risks. Other scales than from 0 to 1 need the score as a column of `data`.
#'
#' @return A data frame of class `fairstats_audit` with the tidy columns of the Python report:
#'   section, sensitive_features, metric, group, reference, estimate, std_error, ci_low, ci_high,
#'   statistic, pvalue, pvalue_adjusted, n, method, ..., verdict; of rows within strata also crude
#'   (the estimate without strata), crude_verdict, n_strata and pvalue_homogeneity. Beside the
#'   family of its metric every row says what holds over the whole audit: `pvalue_audit` and
#'   `real_over_audit` (whether rates differ), `pvalue_verdict_audit` and `holds_over_audit`
#'   (whether the verdict "violated" or "satisfied" holds), by Holm over the facts of the audit; NA
#'   where nothing is tested or decided. The attribute `"head"` has the sentences that are printed
#'   first: what holds over the audit and what for its metric alone (also the attribute `"claims"`),
#'   where strata change the answer, and which labels counted as unfavourable; `"notes"` every
#'   disagreement of strata; `"stratified"` the comparisons within strata with all their tests.
#'
#' @section Several classes:
#'   Labels with three to 20 values, of which none is 1 or `TRUE`, and no `pos_label`: rates of each
#'   class against the
#'   others, of cuts where the classes have an order (`label_values`, an ordered factor, numbers),
#'   and
#'   their mean over classes, in the section `classes`: see `classes` of [fs_disparate_impact()].
#'   With `strata` each class, and each cut, also within them.
#'
#' @seealso [fs_read_report()], [fs_compare()], [fs_disparate_impact()]
#'
#' @examples
#' set.seed(1)
#' people <- data.frame(sex = sample(c("f", "m"), 400, TRUE), qualified = rbinom(400, 1, 0.5))
#' people$hired <- rbinom(400, 1, ifelse(people$sex == "m", 0.5, 0.3))
#' fs_audit(people, y_true = "qualified", y_pred = "hired", sensitive_features = "sex",
#'   reference = "m", draws = 0
#' )
#' @export
fs_audit <- function(
  data,
  y_true = NULL,
  y_pred = NULL,
  score = NULL,
  sensitive_features = NULL,
  reference = NULL,
  pos_label = 1,
  sample_weight = NULL,
  cluster = NULL,
  features = NULL,
  counterfactual_score = NULL,
  confidence_level = 0.95,
  threshold = 0.8,
  margin = 0.1,
  method = NULL,
  comparisons = "reference",
  simultaneous = "none",
  adjust = "holm",
  missing = c("raise", "drop", "group"),
  intersections = TRUE,
  n_resamples = NULL,
  draws = 10000,
  max_bins = 1000,
  seed = 1,
  label_values = NULL,
  strata = NULL,
  subgroups = NULL,
  score_range = c(0, 1),
  outcome = NULL,
  predicted = NULL
) {
  pos_label_left_out <- base::missing(pos_label)
  arguments <- given_arguments()
  data <- arguments$data
  y_true <- arguments$y_true
  y_pred <- arguments$y_pred
  score <- arguments$score
  sensitive_features <- arguments$sensitive_features
  strata <- arguments$strata
  check_number_columns(outcome, predicted)
  missing <- choice_of(missing, "missing", MISSING_POLICIES)
  if (!isTRUE(intersections) && !isFALSE(intersections)) {
    stop_argument("intersections", listed(intersections), "TRUE or FALSE")
  }
  counted <- if (inherits(data, "fairstats_tally")) data
  if (!is.null(counted)) {
    if (is.null(sensitive_features)) {
      sensitive_features <- data$attributes
    }
    if (is.null(strata)) {
      strata <- data$strata
    }
    data <- tally_rows(data)
    if ("y_true" %in% names(data)) {
      y_true <- "y_true"
    }
    if ("y_pred" %in% names(data)) y_pred <- "y_pred"
  }
  options <- audit_options(
    confidence_level,
    threshold,
    margin,
    method,
    comparisons,
    simultaneous,
    adjust,
    n_resamples,
    draws,
    max_bins,
    pooled = TRUE
  )
  check_pooled_options(options, reference)
  if (length(y_pred) > 1L && is.character(y_pred) && all(y_pred %in% names(data))) {
    stop_argument(
      "y_pred",
      paste("the columns", listed(y_pred)),
      "one; fs_compare_models() compares several models"
    )
  }
  if (is.null(y_true) && is.null(y_pred) && is.null(outcome)) {
    stop_argument(
      "y_pred",
      "NULL, and so are `y_true` and `outcome`",
      "the column of the predictions, of the outcomes, or both; or `outcome`, a number"
    )
  }
  data <- scores_on_unit(checked_frame(data), c(score, unlist(counterfactual_score)), score_range)
  names <- names(sensitive_columns(data, sensitive_features, missing))
  sets <- c(as.list(names), if (intersections && length(names) > 1L) list(names))
  check_reference_names(reference, sets)
  if (!is.null(strata) && (!is.character(strata) || length(strata) != 1L)) {
    stop_argument("strata", listed(strata), "the name of one column")
  }
  inputs <- lapply(sets, function(set) {
    changed <- counterfactual_column(counterfactual_score, set, sets, score)
    columns <- unlist(list(
      y_true,
      y_pred,
      score,
      sample_weight,
      cluster,
      strata,
      outcome,
      predicted,
      features,
      set,
      changed
    ))
    whole <- list(
      y_true = column_of(data, y_true, "y_true"),
      y_pred = column_of(data, y_pred, "y_pred")
    )
    if (missing == "drop") {
      data <- complete_rows(data, columns)
    }
    if (missing == "group") {
      data[set] <- lapply(data[set], with_missing_group)
    }
    labelled <- !is.null(y_true) || !is.null(y_pred)
    several <- if (pos_label_left_out && labelled) {
      several_classes(data, y_true, y_pred, label_values)
    }
    labels <- if (is.null(several)) list(y_true, y_pred) else list(NULL, NULL)
    input <- read_columns(
      data,
      labels[[1L]],
      labels[[2L]],
      score,
      set,
      pos_label,
      sample_weight,
      cluster,
      label_values,
      whole
    )
    if (!is.null(several)) {
      input[names(several)] <- several
    }
    if (!is.null(changed)) {
      changed <- checked_numbers(
        column_of(data, changed, "counterfactual_score"),
        "counterfactual_score",
        0,
        1
      )
      input$discrimination <- changed - input$score
    }
    if (!is.null(features)) {
      input$features <- feature_columns(data, features, input$n)
    }
    input$stratum <- read_strata(data, strata, input, strata)
    if (!is.null(outcome)) {
      amounts <- checked_amounts(column_of(data, outcome, "outcome"), "outcome")
      if (!is.null(predicted)) {
        checked_amounts(column_of(data, predicted, "predicted"), "predicted")
      }
      input$numbers <- list(
        data = data,
        sensitive_features = set,
        outcome = outcome,
        predicted = predicted,
        sample_weight = sample_weight,
        cluster = cluster,
        strata = strata,
        negative = any(amounts < 0)
      )
    }
    input
  })
  audits <- with_seed(
    seed,
    Map(
      function(input, set) {
        audit_set(input, set, reference_of(reference, set, length(sets)), options)
      },
      inputs,
      sets
    )
  )
  within <- bind_rows(lapply(audits, `[[`, "within"))
  # settings that a comparison with a report looks at
  kept <- options[c("confidence_level", "threshold", "margin", "comparisons", "adjust")]
  table <- with_claims(bind_rows(lapply(audits, `[[`, "rows")), options$confidence_level)
  claims <- attr(table, "claims")
  searched <- NULL
  if (!is.null(subgroups)) {
    if (is.null(y_true) && is.null(y_pred)) {
      stop_argument(
        "subgroups",
        "subgroups without `y_true` and `y_pred`",
        "subgroups beside labels: they are compared by a rate"
      )
    }
    if (!is.null(sample_weight) || !is.null(cluster)) {
      stop_argument("subgroups", "subgroups of weighted or clustered rows", "rows of equal weight")
    }
    searched <- audited_subgroups(
      subgroups,
      list(
        data = data,
        y_true = y_true,
        y_pred = y_pred,
        pos_label = pos_label,
        confidence_level = confidence_level,
        missing = missing,
        label_values = label_values,
        seed = seed
      )
    )
    about <- paste(sets[[length(sets)]], collapse = INTERSECTION)
    rows <- cbind(section = "subgroups", sensitive_features = about, searched$rows)
    table <- bind_rows(list(table, rows))
  }
  found <- structure(
    table,
    class = c("fairstats_audit", "data.frame"),
    settings = kept,
    claims = claims
  )
  if (nrow(within)) {
    attr(found, "stratified") <- within
    attr(found, "notes") <- strata_notes(within)
  }
  labels <- inputs[[1L]]$unfavourable
  names <- list(y_true = y_true, y_pred = y_pred)
  if (!is.null(counted)) {
    labels <- counted$missing$unfavourable
    names <- counted$columns
  }
  attr(found, "labels") <- words_of_labels(labels, names)
  within_strata <- strata_sentence(within$disagreement, nrow(within))
  with_head(found, c(claims, within_strata, searched$sentence, attr(found, "labels")))
}

complete_rows <- function(data, columns) {
  found <- data[stats::complete.cases(data[intersect(columns, names(data))]), , drop = FALSE]
  if (!nrow(found)) {
    stop_argument("data", "no row without missing values", "at least one")
  }
  found
}

audit_options <- function(
  confidence_level = 0.95,
  threshold = 0.8,
  margin = 0.1,
  method = NULL,
  comparisons = "reference",
  simultaneous = "none",
  adjust = "holm",
  n_resamples = NULL,
  draws = 10000,
  max_bins = 1000,
  planned = NULL,
  pooled = FALSE
) {
  numbers_in(confidence_level, "confidence_level", 0.5, 1, open = BOTH)
  numbers_in(threshold, "threshold", 0, 1, open = "low")
  numbers_in(margin, "margin", 0, 1, open = BOTH)
  if (!is.null(n_resamples)) {
    numbers_in(n_resamples, "n_resamples", 99, whole = TRUE)
  }
  numbers_in(draws, "draws", 0, whole = TRUE)
  numbers_in(max_bins, "max_bins", 51, whole = TRUE)
  if (!is.null(method)) {
    choice_of(method, "method", c("log", "score", "koopman", "mee", "delta", ANYTIME_METHODS))
  }
  if (!is.null(planned)) {
    if (is.null(method) || !(method %in% ANYTIME_METHODS)) {
      stop_argument("planned", planned, 'a number of rows with method = "anytime"')
    }
    numbers_in(planned, "planned", 1, whole = TRUE)
  }
  choice_of(comparisons, "comparisons", c("reference", "all", if (pooled) POOLED))
  if (is.null(simultaneous)) {
    simultaneous <- "none"
  }
  choice_of(simultaneous, "simultaneous", c("none", "bonferroni", "max-z"))
  choice_of(adjust, "adjust", c("holm", "bonferroni", "sidak", "hommel", "fdr_bh", "none"))
  list(
    confidence_level = confidence_level,
    threshold = threshold,
    margin = margin,
    method = method,
    comparisons = comparisons,
    simultaneous = simultaneous,
    adjust = adjust,
    draws = draws,
    max_bins = max_bins,
    planned = planned,
    n_resamples = if (is.null(n_resamples)) 1999 else n_resamples,
    curve_resamples = if (is.null(n_resamples)) 999 else n_resamples
  )
}

# Everything for one set of attributes: `rows` of the table, and `within` of the comparisons within
# strata in full.
audit_set <- function(input, set, reference, options) {
  grouping <- make_groups(input$attributes)
  pairs_of_kind <- function(kind) {
    check_reference_chosen_before(make_pairs(grouping, reference, kind))
  }
  against <- function() make_pairs(grouping, reference, "reference")
  asked <- options$comparisons
  # where groups are pooled each group has a counterpart of its own
  among_groups <- if (asked %in% POOLED) "reference" else asked
  pairs <- pairs_of_kind(among_groups)
  cells <- audit_cells(input, grouping)
  labels <- !is.null(input$y_true) && is.null(input$classes)
  both <- labels && !is.null(input$y_pred)
  plain <- is.null(input$weight) && is.null(input$cluster)
  scored <- plain && !is.null(input$score)
  of_labels <- !is.null(input$y_true) || !is.null(input$y_pred)
  metrics <- if (is.null(input$classes) && of_labels) audited_metrics(input)
  rates <- lapply(metrics, function(metric) {
    options$comparisons <- comparisons_of(metric, asked)
    metric_rows(
      audit_cells(input, grouping, options$comparisons),
      pairs_of_kind(options$comparisons),
      metric,
      options
    )
  })
  within <- NULL
  if (!is.null(input$stratum) && length(metrics)) {
    within <- bind_rows(Map(
      function(metric, crude) {
        if (can_be_adjusted(metric)) {
          options$comparisons <- comparisons_of(metric, asked)
          of_kind <- pairs_of_kind(options$comparisons)
          stratified_rows(input$stratum, input, grouping, of_kind, metric, options, crude)
        }
      },
      metrics,
      rates
    ))
  }
  sections <- list()
  if (of_labels) {
    sections$rates <- bind_rows(c(
      rates,
      list(
        if (both) amplification_rows(cells, pairs, options),
        if (scored && labels) abroca_rows(input, grouping, pairs, options),
        within[!names(within) %in% BESIDE_ROWS]
      )
    ))
  }
  if (!is.null(input$classes)) {
    of_classes <- audited_classes(input, grouping, pairs_of_kind, options)
    within <- of_classes$within
    sections <- list(classes = of_classes$rows)
  }
  if (!is.null(input$numbers)) {
    of_numbers <- audited_numbers(input$numbers, reference, options)
    within <- bind_rows(list(within, of_numbers$within))
    sections$numbers <- of_numbers$rows
  }
  if (scored) {
    of_scores <- if (asked == "rest") pairs_of_kind("rest") else pairs
    sections$madd <- madd_rows(input, grouping, of_scores, options)
  }
  if (both && !is.null(input$features)) {
    filled <- sum(grouping$sizes > 0)
    work <- input$n * (if (filled == 2L) 1 else filled)
    resamples <- if (work <= 20000) {
      199
    } else if (work <= 100000) {
      99
    } else {
      0
    }
    sections$hfm <- hfm_rows(input$features, input, grouping, resamples, 0, "minmax", "max", 2000)
  }
  if (both && plain && options$draws > 0) {
    counts <- um_counts(input, grouping)
    sections$um <- um_rows(counts, fs_um_draws(counts, options$draws), against()[1L, 2L], options)
  }
  if (plain && !is.null(input$discrimination)) {
    order <- grouping$groups[c(against()[, 1L], against()[1L, 2L])]
    sections$ecd <- ecd_rows(split(input$discrimination, factor(grouping$labels, order)), options)
  }
  found <- bind_rows(Map(
    function(name, rows) cbind(section = name, rows),
    names(sections),
    sections
  ))
  about <- paste(set, collapse = INTERSECTION)
  list(
    rows = cbind(found["section"], sensitive_features = about, found[names(found) != "section"]),
    within = if (NROW(within)) {
      within_section <- if (is.null(input$classes)) "rates" else "classes"
      of_numbers <- within$metric %in% paste0(AUDITED_NUMBERS, WITHIN_STRATA)
      cbind(
        section = ifelse(of_numbers, "numbers", within_section),
        sensitive_features = about,
        within
      )
    }
  )
}

# Metrics of a number in an audit.
AUDITED_NUMBERS <- c("mean", "mean_absolute_error", "mean_residual")

check_number_columns <- function(outcome, predicted) {
  columns <- list(outcome = outcome, predicted = predicted)
  for (name in names(columns)) {
    column <- columns[[name]]
    if (!is.null(column) && (!is.character(column) || length(column) != 1L)) {
      stop_argument(name, listed(column), "the name of one column")
    }
  }
  if (!is.null(predicted) && is.null(outcome)) {
    stop_argument("predicted", predicted, "a prediction beside `outcome`, the number it is of")
  }
}

# Means of the outcome, and errors of its prediction: `rows` of the table, those within strata among
# them, and `within` with all that a comparison within strata says.
audited_numbers <- function(numbers, reference, options) {
  shared <- c(
    numbers[c("data", "sensitive_features", "sample_weight", "cluster", "strata")],
    options[c("comparisons", "threshold", "confidence_level", "simultaneous", "adjust")],
    list(reference = reference, margin = 0)
  )
  found <- list(do.call(
    fs_means,
    c(shared, y = numbers$outcome, contrast = if (numbers$negative) "difference" else "ratio")
  ))
  if (!is.null(numbers$predicted)) {
    columns <- c(shared, y_true = numbers$outcome, y_pred = numbers$predicted)
    contrasts <- c(mean_absolute_error = "ratio", mean_residual = "difference")
    for (metric in names(contrasts)) {
      errors <- do.call(
        fs_prediction_errors,
        c(columns, metric = metric, contrast = contrasts[[metric]])
      )
      found <- c(found, list(errors))
    }
  }
  as_values <- function(rows) {
    places <- match(c("rate", "rate_reference"), names(rows))
    names(rows)[places] <- c("value", "value_reference")
    rows
  }
  within <- bind_rows(lapply(found, function(one) {
    rows <- attr(one, "stratified")
    if (!is.null(rows)) as_values(rows)
  }))
  kept <- lapply(found, function(one) {
    one <- as_values(as.data.frame(unclass(one), stringsAsFactors = FALSE))
    one[!names(one) %in% c("section", "sensitive_features", ADJUSTED_BESIDE)]
  })
  list(rows = bind_rows(c(kept, list(within[!names(within) %in% BESIDE_ROWS]))), within = within)
}

# Evaluate with a seed, and put the generator back.
with_seed <- function(seed, expression) {
  numbers_in(seed, "seed", -.Machine$integer.max, .Machine$integer.max, whole = TRUE)
  before <- get0(".Random.seed", globalenv(), inherits = FALSE)
  on.exit(
    if (is.null(before)) {
      suppressWarnings(rm(".Random.seed", envir = globalenv()))
    } else {
      assign(".Random.seed", before, envir = globalenv())
    }
  )
  set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")
  expression
}

#' @rdname fairstats-methods
#' @export
print.fairstats_audit <- function(x, digits = 3L, ...) {
  if (!all(c("metric", "group", "estimate", "ci_low", "ci_high", "verdict") %in% names(x))) {
    return(print.data.frame(x, ...))
  }
  known <- function(value, text) ifelse(is.na(value), "", text)
  number <- function(value) known(value, formatC(value, digits = digits, format = "f"))
  print_sentences(attr(x, "head"))
  for (name in unique(x$sensitive_features)) {
    part <- as.data.frame(x)[x$sensitive_features == name, ]
    gap <- grepl("_max$", part$metric)
    references <- setdiff(unique(part$reference[!gap]), c("", NA))
    one <- length(references) == 1L
    cat(name, if (one) paste0(" (reference: ", references, ")"), "\n", sep = "")
    shown <- data.frame(
      metric = part$metric,
      group = ifelse(one & gap, paste(part$group, "-", part$reference), part$group),
      reference = part$reference,
      estimate = number(part$estimate),
      interval = known(
        part$ci_low,
        paste0("[", number(part$ci_low), ", ", number(part$ci_high), "]")
      ),
      p = known(part$pvalue, format.pval(part$pvalue, digits = 2L, eps = 1e-4)),
      verdict = known(part$verdict, part$verdict)
    )
    if (any(grepl("_stratified$", part$metric))) {
      shown$crude <- known(part$crude, paste0(number(part$crude), ", ", part$crude_verdict))
    }
    if ("adjusted" %in% names(part)) {
      ends <- paste0("[", number(part$adjusted_ci_low), ", ", number(part$adjusted_ci_high), "]")
      shown$adjusted <- known(
        part$adjusted,
        paste0(number(part$adjusted), " ", ends, ", ", part$adjusted_verdict)
      )
    }
    print.data.frame(
      if (one) shown[names(shown) != "reference"] else shown,
      row.names = FALSE,
      right = FALSE
    )
    cat("\n")
  }
  counts <- table(factor(
    x$verdict,
    c("violated", "undecided", "insufficient evidence", "satisfied")
  ))
  if (any(counts > 0)) {
    cat(paste(counts, names(counts), collapse = ", "), "\n", sep = "")
  }
  print_sentences(attr(x, "notes"))
  invisible(x)
}

print_sentences <- function(sentences) {
  for (sentence in sentences) {
    cat(strwrap(sentence, max(20, getOption("width") - 4L), exdent = 2L), sep = "\n")
  }
}
