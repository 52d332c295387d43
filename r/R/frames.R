#' Ratios and differences of rates: from a data frame or vectors to a tidy table
#'
#' The functions of the Python package, in base R by independent code: one row per group against the reference, with
#' interval, two-sided test, adjusted p-value and verdict. Disparate impact compares selection rates; conditional
#' accuracy true positive rates (`label = 0`: true negative rates); conditional use accuracy precisions
#' (`prediction = 0`: negative predictive values). The differences are those of selection rates (demographic parity),
#' true positive rates (equal opportunity), precisions (predictive parity), the mean of those of true and false
#' positive rates (average odds), and both of these (equalised odds). `fs_group_metric` compares any other.
#'
#' @param data A data frame whose columns the other arguments name; or `NULL`, and they are vectors.
#' @param y_true,y_pred Outcome and prediction, two values each.
#' @param sensitive_features A sensitive column or several, which are crossed; without `data` a vector, or a list or
#'   data frame of vectors.
#' @param label,prediction Label or prediction to condition on, 1 or 0.
#' @param agg `NULL`: signed differences against the reference; `"max"`: the largest gap between any two groups, with
#'   a simultaneous interval whose critical value is simulated.
#' @param metric A metric of the table that R and Python share (`inst/metrics.json`): `"disparate_impact"`, ..., or a
#'   rate with `_ratio`, `_difference` or `_max`: `"fnr_ratio"`, `"f1_difference"`, `"balanced_accuracy_max"`. What is
#'   neither a rate nor a mean of rates is compared by the delta method.
#' @param ... Options, as in [fs_audit()]: `reference`, `pos_label`, `sample_weight`, `cluster`,
#'   `confidence_level`, `threshold` (for ratios), `margin` (for differences), `method`, `comparisons`, `adjust`,
#'   `seed`.
#' @return A data frame of class `fairstats_audit`, as from [fs_audit()].
#' @references Besse, del Barrio, Gordaliza, Loubes (2018). Confidence intervals for testing disparate impact
#'   in fair learning. arXiv:1807.06362.
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' fs_disparate_impact(people, "hired", "origin", reference = "north")
#' with(people, fs_equal_opportunity_difference(
#'   y_true = qualified == "yes", y_pred = hired, sensitive_features = origin
#' ))
#' fs_equalized_odds_difference(people, "qualified", "hired", "origin",
#'   pos_label = list(y_true = "yes", y_pred = 1), agg = "max"
#' )
#' fs_group_metric(people, "f1_difference", "qualified", "hired", "sex", pos_label = list(y_true = "yes", y_pred = 1))
#' @export
fs_disparate_impact <- function(data = NULL, y_pred, sensitive_features, ...) {
  fs_group_metric(data, "disparate_impact", NULL, y_pred, sensitive_features, ...)
}

#' @rdname fs_disparate_impact
#' @export
fs_conditional_accuracy <- function(data = NULL, y_true, y_pred, sensitive_features, label = 1, ...) {
  name <- paste0("conditional_accuracy_", zero_or_one(label, "label"))
  fs_group_metric(data, name, y_true, y_pred, sensitive_features, ...)
}

#' @rdname fs_disparate_impact
#' @export
fs_conditional_use_accuracy <- function(data = NULL, y_true, y_pred, sensitive_features, prediction = 1, ...) {
  name <- paste0("conditional_use_accuracy_", zero_or_one(prediction, "prediction"))
  fs_group_metric(data, name, y_true, y_pred, sensitive_features, ...)
}

#' @rdname fs_disparate_impact
#' @export
fs_demographic_parity_difference <- function(data = NULL, y_pred, sensitive_features, agg = NULL, ...) {
  fs_group_metric(data, with_ending("demographic_parity", agg), NULL, y_pred, sensitive_features, ...)
}

#' @rdname fs_disparate_impact
#' @export
fs_equal_opportunity_difference <- function(data = NULL, y_true, y_pred, sensitive_features, agg = NULL, ...) {
  fs_group_metric(data, with_ending("equal_opportunity", agg), y_true, y_pred, sensitive_features, ...)
}

#' @rdname fs_disparate_impact
#' @export
fs_predictive_parity_difference <- function(data = NULL, y_true, y_pred, sensitive_features, agg = NULL, ...) {
  fs_group_metric(data, with_ending("predictive_parity", agg), y_true, y_pred, sensitive_features, ...)
}

#' @rdname fs_disparate_impact
#' @export
fs_average_odds_difference <- function(data = NULL, y_true, y_pred, sensitive_features, agg = NULL, ...) {
  fs_group_metric(data, with_ending("average_odds", agg), y_true, y_pred, sensitive_features, ...)
}

#' @rdname fs_disparate_impact
#' @export
fs_equalized_odds_difference <- function(data = NULL, y_true, y_pred, sensitive_features, agg = NULL, ...) {
  fs_group_metric(data, with_ending("equalized_odds", agg), y_true, y_pred, sensitive_features, ...)
}

#' @rdname fs_disparate_impact
#' @export
fs_group_metric <- function(data = NULL, metric, y_true = NULL, y_pred = NULL, sensitive_features, ...) {
  of_frame(data, y_true, y_pred, NULL, sensitive_features, ..., section = "rates", make = function(x) {
    what <- find_metric(metric)
    if (!length(what$rates)) stop_argument("metric", metric, "a metric of rates; fs_audit() has the others")
    needs <- c(if (any(what$rates != "selection_rate")) "y_true", if (any(what$rates != "base_rate")) "y_pred")
    for (name in needs) if (is.null(x$input[[name]])) stop_argument(name, "NULL", paste("a column:", metric, "needs it"))
    metric_rows(audit_cells(x$input, x$grouping), x$pairs, what, x$options)
  })
}

zero_or_one <- function(x, argument) {
  if (is.logical(x)) x <- as.integer(x)
  as.integer(numbers_in(x, argument, 0, 1, whole = TRUE))
}

with_ending <- function(name, agg) {
  if (!is.null(agg) && !identical(agg, "max")) stop_argument("agg", listed(agg), 'NULL or "max"')
  paste0(name, if (is.null(agg)) "_difference" else "_max")
}

# One section for the groups of all sensitive columns together: reads, checks, makes the rows, names them.
of_frame <- function(data, y_true, y_pred, score, sensitive_features, reference = NULL, pos_label = 1,
                     sample_weight = NULL, cluster = NULL, ..., seed = 1, section, make) {
  options <- audit_options(...)
  input <- read_columns(data, y_true, y_pred, score, sensitive_features, pos_label, sample_weight, cluster)
  set <- names(input$attributes)
  grouping <- make_groups(input$attributes)
  pairs <- make_pairs(grouping, reference_in(reference, set), options$comparisons)
  rows <- with_seed(seed, make(list(input = input, grouping = grouping, pairs = pairs, options = options)))
  as_audit(rows, section, set)
}

as_audit <- function(rows, section, set) {
  found <- cbind(section = section, sensitive_features = paste(set, collapse = INTERSECTION), rows)
  structure(found, class = c("fairstats_audit", "data.frame"))
}

#' Distances between the score distributions of groups, from a data frame or vectors
#'
#' `fs_madd`: MADD of every group against the reference, by the search of Algorithm 1 and on a grid that does not
#' depend on the groups, with limits, an exact permutation test and what alike groups would show. `fs_abroca`: the
#' area between ROC curves, with limits from a bootstrap.
#'
#' @inheritParams fs_disparate_impact
#' @param y_true Outcome, two values.
#' @param score Score in \[0, 1\], larger for the favourable outcome.
#' @param ... Options, as in [fs_audit()]: `reference`, `pos_label` (for `fs_abroca`), `confidence_level`,
#'   `margin` (the verdict of MADD is about twice of it), `comparisons`, `adjust`, `n_resamples`, `max_bins`,
#'   `seed`.
#' @return A data frame of class `fairstats_audit`, as from [fs_audit()]; also `null_mean`, `bias_corrected`,
#'   `mid_pvalue`, `n_bins`, `h_low` and `h_high` (the stable stretch), or `expected_if_equal`.
#' @references Verger, Fan, Lalle, Bouchet, Luengo (2024). A comprehensive study on evaluating and mitigating
#'   algorithmic unfairness with the MADD metric. JEDM 16(1), 365-409.
#' @seealso [fs_madd_curve()]
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' fs_madd(people, "score", "sex", reference = "male")
#' fs_abroca(people, "qualified", "score", "sex", pos_label = "yes", n_resamples = 199)
#' @export
fs_madd <- function(data = NULL, score, sensitive_features, ...) {
  of_frame(data, NULL, NULL, score, sensitive_features, ..., section = "madd", make = function(x) {
    without_design(x$input)
    madd_rows(x$input, x$grouping, x$pairs, x$options)
  })
}

#' @rdname fs_madd
#' @export
fs_abroca <- function(data = NULL, y_true, score, sensitive_features, ...) {
  of_frame(data, y_true, NULL, score, sensitive_features, ..., section = "rates", make = function(x) {
    without_design(x$input)
    abroca_rows(x$input, x$grouping, x$pairs, x$options)
  })
}

without_design <- function(input) {
  if (!is.null(input$weight)) stop_argument("sample_weight", "weights", "none: the rows must be independent draws")
  if (!is.null(input$cluster)) stop_argument("cluster", "clusters", "none: the rows must be independent draws")
}

#' Posteriors of accuracy and fairness, from a data frame or vectors
#'
#' Draws of the Dirichlet posterior of the confusion counts of every group, and the metrics of every draw: mean,
#' standard deviation, shortest interval, and the share inside the region of practical equivalence.
#'
#' @inheritParams fs_disparate_impact
#' @param prior Dirichlet parameter of every cell.
#' @param draws Number of draws.
#' @param ... Options, as in [fs_audit()]: `reference`, `pos_label`, `confidence_level` (the share of the
#'   interval), `margin` (half-width of the region of practical equivalence), `seed`.
#' @return A data frame of class `fairstats_audit`, as from [fs_audit()]; its attribute `draws` is the list of
#'   matrices of [fs_um_draws()], for [fs_um_metric()] and [fs_um_events()].
#' @references Barrainkua, Gordaliza, Lozano, Quadrianto (2024). Uncertainty matters: stable conclusions under
#'   unstable assessment of fairness results. AISTATS 27.
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' posterior <- fs_um_posterior(people, "qualified", "hired", "sex",
#'   pos_label = list(y_true = "yes", y_pred = 1)
#' )
#' posterior
#' x <- attr(posterior, "draws")
#' mean(fs_um_metric(x, "tpr", "max") < 0.05)
#' @export
fs_um_posterior <- function(data = NULL, y_true, y_pred, sensitive_features, prior = 1, draws = 10000, ...) {
  kept <- NULL
  make <- function(x) {
    without_design(x$input)
    counts <- um_counts(x$input, x$grouping)
    kept <<- fs_um_draws(counts, x$options$draws, prior)
    um_rows(counts, kept, x$pairs[1L, 2L], x$options)
  }
  found <- of_frame(data, y_true, y_pred, NULL, sensitive_features, draws = draws, ..., section = "um", make = make)
  attr(found, "draws") <- kept
  found
}
