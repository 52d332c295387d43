# Ratios, differences and distances between groups: from a formula, a data frame or vectors to a
# tidy table, with interval, test, adjusted p-value and verdict. The functions of the Python
# package, by independent code.

#' Ratios and differences of rates: from a data frame or vectors to a tidy table
#'
#' The functions of the Python package, in base R by independent code: one row per group against the
#' reference, with interval, two-sided test, adjusted p-value and verdict. Disparate impact compares
#' selection rates; conditional accuracy true positive rates (`label = 0`: true negative rates);
#' conditional use accuracy precisions (`prediction = 0`: negative predictive values). The
#' differences are those of selection rates (demographic parity), true positive rates (equal
#' opportunity), precisions (predictive parity), the mean of those of true and false positive rates
#' (average odds), and both of these (equalised odds). `fs_group_metric` compares any other.
#'
#' @param data A data frame whose columns the other arguments name; or `NULL`, and they are vectors.
#'   In its place a formula with the data frame second, as `hired ~ sex, people`: see
#'   [fairstats-formula].
#' @param sensitive_features A sensitive column or several, which are crossed; without `data` a
#'   vector, or a list or data frame of vectors.
#' @param y_true,y_pred Outcome and prediction, two values each.
#' @param label,prediction Label or prediction to condition on, 1 or 0.
#' @param agg `NULL`: signed differences against the reference; `"max"`: the largest gap between any
#'   two groups, with a simultaneous interval whose critical value is simulated; `"mean"`, of
#'   equalised odds: the mean of the largest gaps of both rates. `fs_group_metric` also has `"min"`
#'   of ratios, the smallest between any two groups (of several rates the smallest of all), and
#'   `"mean"`. These are fairlearn's `equalized_odds_ratio` and `demographic_parity_ratio`.
#' @param metric A metric of the table that R and Python share (`inst/metrics.json`):
#'   `"disparate_impact"`, ..., or a rate with `_ratio`, `_difference`, `_odds_ratio` or `_max`:
#'   `"fnr_ratio"`, `"f1_difference"`, `"tpr_odds_ratio"`, `"balanced_accuracy_max"`; or
#'   `"conditional_demographic_disparity"`, the share of each group among the rejected less that
#'   among
#'   the accepted, within `strata`. What is neither a rate nor a mean of rates is
#'   compared by the delta method.
#' @param reference Reference group, by default the largest; `"highest"` is the group with the
#'   highest rate, which the data choose: intervals and adjusted p-values then hold over all pairs.
#' @param comparisons `"reference"`, `"all"` pairs, or of ratios and differences `"rest"`: each
#'   group
#'   against all other rows together, and `"overall"`: all rows; not with a reference and
#'   `simultaneous = "max-z"`.
#' @param strata Column of the strata of a confounder: adds the comparisons within them by the
#'   stratified score as columns `adjusted`, `adjusted_ci_low`, `adjusted_ci_high`,
#'   `adjusted_pvalue`, `adjusted_verdict` and `pvalue_homogeneity`, and in full
#'   (Cochran-Mantel-Haenszel, exact conditional, homogeneity and Breslow-Day tests) in the
#'   attribute `"stratified"`; a sentence where both disagree is printed first. Of weighted and
#'   clustered rows by what they are worth; not of largest gaps. Functions of the cells are taken of
#'   the cells of each group standardised to common strata (weights of Mantel and Haenszel of the
#'   rows), and compared by the delta method; so are means over classes that share cases, and ratios
#'   of means, each rate by the weights of its own cases. Where the data choose the reference
#'   (`"highest"`), comparisons within strata hold over all pairs, too (Bonferroni).
#'
#' @param comparisons `"reference"`: each other group against it; `"all"` pairs; `"rest"`: each
#'   group
#'   against all other rows; `"overall"`: against all rows, its own among them, with the groups'
#'   shares held fixed.
#'
#' @param planned Rows that are expected in all, fixed before the first look: needed by
#'   `method = "anytime"`, whose limits are narrowest about this number. It says nothing before 5
#'   successes and 5 failures of both groups; `"anytime-exact"` needs no plan, and is wider.
#'
#' @param classes Of labels with several values: `"one-vs-rest"`, each class against all others;
#'   `"ordered"`, each cut of ordered classes, all from a class on against those before; `"macro"`,
#'   the mean of the rate over the classes (of accuracy the share of right predictions). All classes
#'   and groups are one family; the column `class` names them. `label_values` declares the classes
#'   and their order; `pos_label` counts where there are two of them only, of which the answer is
#'   that without `classes`. With `strata` each class, or cut, or the mean within them.
#'
#' @inheritParams fs_audit
#'
#' @return A data frame of class `fairstats_audit`, as from [fs_audit()].
#'
#' @references Besse, del Barrio, Gordaliza, Loubes (2018). Confidence intervals for testing
#'   disparate impact in fair learning. arXiv:1807.06362. Miettinen, Nurminen (1985). Comparative
#'   analysis of two rates. Statistics in Medicine 4, 213-226. Mantel, Haenszel (1959). Statistical
#'   aspects of the analysis of data from retrospective studies of disease. Journal of the National
#'   Cancer Institute 22, 719-748.
#'
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' fs_disparate_impact(people, "hired", "origin", reference = "north")
#' fs_disparate_impact(hired ~ origin, people, reference = "north")
#' with(people, fs_equal_opportunity_difference(
#'   y_true = qualified == "yes", y_pred = hired, sensitive_features = origin
#' ))
#' fs_equalized_odds_difference(people, "qualified", "hired", "origin",
#'   pos_label = list(y_true = "yes", y_pred = 1), agg = "max"
#' )
#' fs_disparate_impact(hired ~ origin + strata(qualified), people, reference = "north")
#' fs_group_metric(people, "f1_difference", "qualified", "hired", "sex",
#'   pos_label = list(y_true = "yes", y_pred = 1)
#' )
#' people$grade <- cut(people$score, c(-Inf, 0.4, 0.6, Inf), c("low", "medium", "high"))
#' fs_disparate_impact(grade ~ sex, people, classes = "one-vs-rest")
#' @export
fs_disparate_impact <- function(
  data = NULL,
  y_pred,
  sensitive_features,
  strata = NULL,
  reference = NULL,
  pos_label = 1,
  sample_weight = NULL,
  cluster = NULL,
  confidence_level = 0.95,
  threshold = 0.8,
  method = NULL,
  comparisons = "reference",
  simultaneous = "none",
  adjust = "holm",
  missing = "raise",
  label_values = NULL,
  seed = 1,
  planned = NULL,
  classes = NULL
) {
  arguments <- given_arguments()
  compare_rates("disparate_impact", arguments)
}

# Ratio of true positive rates, for label 0 of true negative rates.
#' @rdname fs_disparate_impact
#' @export
fs_conditional_accuracy <- function(
  data = NULL,
  y_true,
  y_pred,
  sensitive_features,
  label = 1,
  strata = NULL,
  reference = NULL,
  pos_label = 1,
  sample_weight = NULL,
  cluster = NULL,
  confidence_level = 0.95,
  threshold = 0.8,
  method = NULL,
  comparisons = "reference",
  simultaneous = "none",
  adjust = "holm",
  missing = "raise",
  label_values = NULL,
  seed = 1,
  planned = NULL,
  classes = NULL
) {
  arguments <- given_arguments()
  name <- paste0("conditional_accuracy_", zero_or_one(label, "label"))
  compare_rates(name, arguments)
}

# Ratio of precisions, for prediction 0 of negative predictive values.
#' @rdname fs_disparate_impact
#' @export
fs_conditional_use_accuracy <- function(
  data = NULL,
  y_true,
  y_pred,
  sensitive_features,
  prediction = 1,
  strata = NULL,
  reference = NULL,
  pos_label = 1,
  sample_weight = NULL,
  cluster = NULL,
  confidence_level = 0.95,
  threshold = 0.8,
  method = NULL,
  comparisons = "reference",
  simultaneous = "none",
  adjust = "holm",
  missing = "raise",
  label_values = NULL,
  seed = 1,
  planned = NULL,
  classes = NULL
) {
  arguments <- given_arguments()
  name <- paste0("conditional_use_accuracy_", zero_or_one(prediction, "prediction"))
  compare_rates(name, arguments)
}

# Difference of selection rates; here and below agg = "max" is the largest gap between two groups.
#' @rdname fs_disparate_impact
#' @export
fs_demographic_parity_difference <- function(
  data = NULL,
  y_pred,
  sensitive_features,
  agg = NULL,
  strata = NULL,
  reference = NULL,
  pos_label = 1,
  sample_weight = NULL,
  cluster = NULL,
  confidence_level = 0.95,
  margin = 0.1,
  method = NULL,
  comparisons = "reference",
  simultaneous = "none",
  adjust = "holm",
  missing = "raise",
  label_values = NULL,
  seed = 1,
  planned = NULL,
  classes = NULL
) {
  arguments <- given_arguments()
  compare_rates(with_ending("demographic_parity", agg), arguments)
}

# Difference of true positive rates.
#' @rdname fs_disparate_impact
#' @export
fs_equal_opportunity_difference <- function(
  data = NULL,
  y_true,
  y_pred,
  sensitive_features,
  agg = NULL,
  strata = NULL,
  reference = NULL,
  pos_label = 1,
  sample_weight = NULL,
  cluster = NULL,
  confidence_level = 0.95,
  margin = 0.1,
  method = NULL,
  comparisons = "reference",
  simultaneous = "none",
  adjust = "holm",
  missing = "raise",
  label_values = NULL,
  seed = 1,
  planned = NULL,
  classes = NULL
) {
  arguments <- given_arguments()
  compare_rates(with_ending("equal_opportunity", agg), arguments)
}

# Difference of precisions.
#' @rdname fs_disparate_impact
#' @export
fs_predictive_parity_difference <- function(
  data = NULL,
  y_true,
  y_pred,
  sensitive_features,
  agg = NULL,
  strata = NULL,
  reference = NULL,
  pos_label = 1,
  sample_weight = NULL,
  cluster = NULL,
  confidence_level = 0.95,
  margin = 0.1,
  method = NULL,
  comparisons = "reference",
  simultaneous = "none",
  adjust = "holm",
  missing = "raise",
  label_values = NULL,
  seed = 1,
  planned = NULL,
  classes = NULL
) {
  arguments <- given_arguments()
  compare_rates(with_ending("predictive_parity", agg), arguments)
}

# Difference of the mean of true and false positive rates.
#' @rdname fs_disparate_impact
#' @export
fs_average_odds_difference <- function(
  data = NULL,
  y_true,
  y_pred,
  sensitive_features,
  agg = NULL,
  strata = NULL,
  reference = NULL,
  pos_label = 1,
  sample_weight = NULL,
  cluster = NULL,
  confidence_level = 0.95,
  margin = 0.1,
  method = NULL,
  comparisons = "reference",
  simultaneous = "none",
  adjust = "holm",
  missing = "raise",
  label_values = NULL,
  seed = 1,
  planned = NULL,
  classes = NULL
) {
  arguments <- given_arguments()
  compare_rates(with_ending("average_odds", agg), arguments)
}

# Differences of true and of false positive rates.
#' @rdname fs_disparate_impact
#' @export
fs_equalized_odds_difference <- function(
  data = NULL,
  y_true,
  y_pred,
  sensitive_features,
  agg = NULL,
  strata = NULL,
  reference = NULL,
  pos_label = 1,
  sample_weight = NULL,
  cluster = NULL,
  confidence_level = 0.95,
  margin = 0.1,
  method = NULL,
  comparisons = "reference",
  simultaneous = "none",
  adjust = "holm",
  missing = "raise",
  label_values = NULL,
  seed = 1,
  planned = NULL,
  classes = NULL
) {
  arguments <- given_arguments()
  ending <- if (identical(agg, "mean")) NULL else agg
  compare_rates(with_ending("equalized_odds", ending), arguments)
}

# Any metric of the table that R and Python share (inst/metrics.json), or a rate with an ending.
#' @rdname fs_disparate_impact
#' @export
fs_group_metric <- function(
  data = NULL,
  metric,
  y_true = NULL,
  y_pred = NULL,
  sensitive_features,
  agg = NULL,
  strata = NULL,
  reference = NULL,
  pos_label = 1,
  sample_weight = NULL,
  cluster = NULL,
  confidence_level = 0.95,
  threshold = 0.8,
  margin = 0.1,
  method = NULL,
  comparisons = "reference",
  simultaneous = "none",
  adjust = "holm",
  missing = "raise",
  label_values = NULL,
  seed = 1,
  planned = NULL,
  classes = NULL
) {
  arguments <- given_arguments()
  metric <- arguments$metric
  if (identical(arguments$agg, "max")) {
    metric <- sub("_difference$", "_max", metric)
  }
  if (!is.null(arguments$agg)) {
    choice_of(arguments$agg, "agg", c("max", "min", "mean"))
  }
  compare_rates(metric, arguments)
}

# A metric of rates of all groups, from the arguments of a public function. With strata the
# comparisons within them stand beside the crude ones, and in full in the attribute "stratified".
compare_rates <- function(metric, arguments) {
  if (!is.null(arguments$classes)) {
    return(compare_class_rates(metric, arguments))
  }
  within <- NULL
  make <- function(input, grouping, pairs, options) {
    if (identical(metric, CONDITIONAL_DISPARITY)) {
      if (is.null(input$y_pred)) {
        stop_argument("y_pred", "NULL", "a column: the decisions")
      }
      for (name in c("reference", "sample_weight", "cluster")) {
        if (!is.null(arguments[[name]])) {
          stop_argument(name, "a value", "NULL: the rejected are compared with the accepted")
        }
      }
      if (!is.null(input$weight) || !is.null(input$cluster)) {
        stop_argument("sample_weight", "weights or clusters", "rows of equal weight")
      }
      return(disparity_rows(input$y_pred, input$stratum, grouping, options))
    }
    what <- rate_metric(metric, input)
    options$reference_named <- !is.null(arguments$reference)
    options$strata_asked <- !is.null(input$stratum)
    agg <- arguments$agg
    if (!is.null(agg) && agg %in% c("min", "mean")) {
      for (name in c("reference", "strata")) {
        if (!is.null(arguments[[name]])) {
          stop_argument(name, listed(arguments[[name]]), "NULL: all pairs of groups count")
        }
      }
      row <- extreme_row(audit_cells(input, grouping), what, agg, options)
      return(row[names(row) != "n_differences"])
    }
    check_pooled(options, arguments$reference, what)
    crude <- metric_rows(audit_cells(input, grouping, options$comparisons), pairs, what, options)
    crude$n_differences <- NULL
    if (is.null(input$stratum)) {
      return(crude)
    }
    if (!can_be_adjusted(what)) {
      stop_argument(
        "strata",
        paste("strata with", metric),
        "ratios and differences of rates, or differences of their means"
      )
    }
    within <<- stratified_rows(input$stratum, input, grouping, pairs, what, options, crude)
    beside_strata(crude, within)
  }
  found <- audit_section("rates", make, arguments, highest = TRUE)
  if (is.null(within)) {
    return(found)
  }
  attr(found, "stratified") <- within
  sentence <- strata_sentence(within$disagreement, nrow(within))
  with_head(found, c(sentence, attr(found, "head")))
}

# A metric of rates by its name, for which the columns suffice.
rate_metric <- function(metric, input) {
  what <- find_metric(metric)
  if (!length(what$rates)) {
    stop_argument("metric", metric, "a metric of rates; fs_audit() has the others")
  }
  of_outcome <- any(what$rates != "selection_rate")
  of_prediction <- any(what$rates != "base_rate")
  for (name in c("y_true", "y_pred")[c(of_outcome, of_prediction)]) {
    if (is.null(input[[name]])) stop_argument(name, "NULL", paste("a column:", metric, "needs it"))
  }
  what
}

#' Distances between the score distributions of groups, from a data frame or vectors
#'
#' `fs_madd`: MADD of every group against the reference, by the search of Algorithm 1 and on a grid
#' that does not depend on the groups, with limits, an exact permutation test and what alike groups
#' would show. `fs_abroca`: the area between ROC curves, with limits from a bootstrap.
#'
#' @param data A data frame whose columns the other arguments name; or `NULL`, and they are vectors.
#'   In its place a formula with the data frame second: see [fairstats-formula].
#' @param score Score between 0 and 1, larger for the favourable outcome.
#' @param sensitive_features A sensitive column or several, which are crossed; without `data` a
#'   vector, or a list or data frame of vectors.
#' @param margin For the area; the verdict of MADD is about twice of it.
#' @param y_true Outcome, two values.
#'
#' @inheritParams fs_audit
#'
#' @return A data frame of class `fairstats_audit`, as from [fs_audit()]; also `null_mean`,
#'   `bias_corrected`, `mid_pvalue`, `n_bins`, `h_low` and `h_high` (the stable stretch), or
#'   `expected_if_equal`.
#'
#' @references Verger, Fan, Lalle, Bouchet, Luengo (2024). A comprehensive study on evaluating and
#'   mitigating algorithmic unfairness with the MADD metric. JEDM 16(1), 365-409.
#'
#' @seealso [fs_madd_curve()]
#'
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' fs_madd(people, "score", "sex", reference = "male")
#' fs_abroca(people, "qualified", "score", "sex", pos_label = "yes", n_resamples = 199)
#' @export
fs_madd <- function(
  data = NULL,
  score,
  sensitive_features,
  reference = NULL,
  confidence_level = 0.95,
  margin = 0.1,
  comparisons = "reference",
  adjust = "holm",
  missing = "raise",
  n_resamples = NULL,
  max_bins = 1000,
  seed = 1
) {
  arguments <- given_arguments()
  make <- function(input, grouping, pairs, options) {
    check_rest_only(options, arguments$reference, "of distributions")
    madd_rows(input, grouping, pairs, options)
  }
  audit_section("madd", make, arguments, pooled = TRUE)
}

#' @rdname fs_madd
#' @export
fs_abroca <- function(
  data = NULL,
  y_true,
  score,
  sensitive_features,
  reference = NULL,
  pos_label = 1,
  confidence_level = 0.95,
  margin = 0.1,
  comparisons = "reference",
  adjust = "holm",
  missing = "raise",
  label_values = NULL,
  n_resamples = NULL,
  seed = 1
) {
  arguments <- given_arguments()
  audit_section("rates", abroca_rows, arguments)
}

#' Posteriors of accuracy and fairness, from a data frame or vectors
#'
#' Draws of the Dirichlet posterior of the confusion counts of every group, and the metrics of every
#' draw: mean, standard deviation, shortest interval, and the share inside the region of practical
#' equivalence.
#'
#' @param data A data frame whose columns the other arguments name; or `NULL`, and they are vectors.
#'   In its place a formula with the data frame second: see [fairstats-formula].
#' @param y_true,y_pred Outcome and prediction, two values each.
#' @param sensitive_features A sensitive column or several, which are crossed; without `data` a
#'   vector, or a list or data frame of vectors.
#' @param prior Dirichlet parameter of every cell.
#' @param draws Number of draws.
#' @param confidence_level The share of the interval.
#' @param margin Half-width of the region of practical equivalence.
#'
#' @inheritParams fs_audit
#'
#' @return A data frame of class `fairstats_audit`, as from [fs_audit()]; its attribute `draws` is
#'   the list of matrices of [fs_um_draws()], for [fs_um_metric()] and [fs_um_events()].
#'
#' @references Barrainkua, Gordaliza, Lozano, Quadrianto (2024). Uncertainty matters: stable
#'   conclusions under unstable assessment of fairness results. AISTATS 27.
#'
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' posterior <- fs_um_posterior(people, "qualified", "hired", "sex",
#'   pos_label = list(y_true = "yes", y_pred = 1)
#' )
#' posterior
#' x <- attr(posterior, "draws")
#' mean(fs_um_metric(x, "tpr", "max") < 0.05)
#' @export
fs_um_posterior <- function(
  data = NULL,
  y_true,
  y_pred,
  sensitive_features,
  prior = 1,
  draws = 10000,
  reference = NULL,
  pos_label = 1,
  confidence_level = 0.95,
  margin = 0.1,
  missing = "raise",
  label_values = NULL,
  seed = 1
) {
  arguments <- given_arguments()
  drawn <- NULL
  make <- function(input, grouping, pairs, options) {
    counts <- um_counts(input, grouping)
    drawn <<- fs_um_draws(counts, options$draws, prior)
    um_rows(counts, drawn, pairs[1L, 2L], options)
  }
  found <- audit_section("um", make, arguments)
  structure(found, draws = drawn)
}

zero_or_one <- function(x, argument) {
  if (is.logical(x)) {
    x <- as.integer(x)
  }
  as.integer(numbers_in(x, argument, 0, 1, whole = TRUE))
}

with_ending <- function(name, agg) {
  if (!is.null(agg) && !identical(agg, "max")) {
    stop_argument("agg", listed(agg), 'NULL or "max"')
  }
  paste0(name, if (is.null(agg)) "_difference" else "_max")
}

# One section for the groups of all sensitive columns together: reads, checks, makes the rows, names
# them. `highest`: whether the reference may be the group with the highest rate; `pooled`: whether
# groups may be compared with pooled ones.
audit_section <- function(section, make, arguments, highest = FALSE, pooled = highest) {
  of_options <- intersect(names(arguments), names(formals(audit_options)))
  options <- do.call(audit_options, c(arguments[of_options], list(pooled = pooled)), quote = TRUE)
  columns <- arguments[intersect(names(arguments), COLUMNS)]
  read <- settle_missing(arguments$data, columns, arguments$missing)
  pos_label <- if (is.null(arguments$pos_label)) 1 else arguments$pos_label
  scene <- read_scene(
    read$data,
    read$y_true,
    read$y_pred,
    read$score,
    read$sensitive_features,
    arguments$reference,
    pos_label,
    options$comparisons,
    read$sample_weight,
    read$cluster,
    arguments$label_values,
    read$whole
  )
  if (!highest) {
    check_reference_chosen_before(scene$pairs)
  }
  scene$input$stratum <- read_strata(read$data, read$strata, scene$input, arguments$strata)
  rows <- with_seed(arguments$seed, make(scene$input, scene$grouping, scene$pairs, options))
  as_audit(rows, section, scene$input)
}

# Arguments that are columns, one value per row.
COLUMNS <- c(
  "y_true",
  "y_pred",
  "score",
  "sensitive_features",
  "sample_weight",
  "cluster",
  "strata"
)

as_audit <- function(rows, section, input) {
  set <- paste(names(input$attributes), collapse = INTERSECTION)
  found <- structure(
    cbind(section = section, sensitive_features = set, rows),
    class = c("fairstats_audit", "data.frame")
  )
  with_head(found, words_of_labels(input$unfavourable))
}

# A table of another shape, with the labels that counted as unfavourable at its head.
as_table <- function(rows, unfavourable = NULL) {
  table <- structure(rows, class = c("fairstats_table", "data.frame"))
  with_head(table, words_of_labels(unfavourable))
}

# Sentences that stand at the head of what is printed.
with_head <- function(found, sentences) {
  if (length(sentences)) {
    attr(found, "head") <- sentences
  }
  found
}
