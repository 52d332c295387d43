# Ratios, differences and distances between groups: from a data frame or vectors to a tidy table, with interval, test,
# adjusted p-value and verdict. The functions of the Python package, by independent code.

# Ratio of selection rates (Besse, del Barrio, Gordaliza, Loubes 2018, arXiv:1807.06362).
fs_disparate_impact <- function(data = NULL, y_pred, sensitive_features, ...)
  fs_group_metric(data, "disparate_impact", NULL, y_pred, sensitive_features, ...)

# Ratio of true positive rates, for label 0 of true negative rates.
fs_conditional_accuracy <- function(data = NULL, y_true, y_pred, sensitive_features, label = 1, ...) {
  name <- paste0("conditional_accuracy_", zero_or_one(label, "label"))
  fs_group_metric(data, name, y_true, y_pred, sensitive_features, ...)
}

# Ratio of precisions, for prediction 0 of negative predictive values.
fs_conditional_use_accuracy <- function(data = NULL, y_true, y_pred, sensitive_features, prediction = 1, ...) {
  name <- paste0("conditional_use_accuracy_", zero_or_one(prediction, "prediction"))
  fs_group_metric(data, name, y_true, y_pred, sensitive_features, ...)
}

# Difference of selection rates; here and below agg = "max" is the largest gap between any two groups.
fs_demographic_parity_difference <- function(data = NULL, y_pred, sensitive_features, agg = NULL, ...)
  fs_group_metric(data, with_ending("demographic_parity", agg), NULL, y_pred, sensitive_features, ...)

# Difference of true positive rates.
fs_equal_opportunity_difference <- function(data = NULL, y_true, y_pred, sensitive_features, agg = NULL, ...)
  fs_group_metric(data, with_ending("equal_opportunity", agg), y_true, y_pred, sensitive_features, ...)

# Difference of precisions.
fs_predictive_parity_difference <- function(data = NULL, y_true, y_pred, sensitive_features, agg = NULL, ...)
  fs_group_metric(data, with_ending("predictive_parity", agg), y_true, y_pred, sensitive_features, ...)

# Difference of the mean of true and false positive rates.
fs_average_odds_difference <- function(data = NULL, y_true, y_pred, sensitive_features, agg = NULL, ...)
  fs_group_metric(data, with_ending("average_odds", agg), y_true, y_pred, sensitive_features, ...)

# Differences of true and of false positive rates.
fs_equalized_odds_difference <- function(data = NULL, y_true, y_pred, sensitive_features, agg = NULL, ...)
  fs_group_metric(data, with_ending("equalized_odds", agg), y_true, y_pred, sensitive_features, ...)

# Any metric of the table that R and Python share (inst/metrics.json), or a rate with an ending.
# With strata the comparisons within them stand beside the crude ones, and in full in the attribute "stratified".
fs_group_metric <- function(data = NULL, metric, y_true = NULL, y_pred = NULL, sensitive_features, strata = NULL, ...) {
  within <- NULL
  make <- function(input, grouping, pairs, options) {
    what <- find_metric(metric)
    if (!length(what$rates)) stop_argument("metric", metric, "a metric of rates; fs_audit() has the others")
    needs <- c(if (any(what$rates != "selection_rate")) "y_true", if (any(what$rates != "base_rate")) "y_pred")
    for (name in needs) if (is.null(input[[name]])) stop_argument(name, "NULL", paste("a column:", metric, "needs it"))
    found <- metric_rows(audit_cells(input, grouping), pairs, what, options)
    if (is.null(strata)) return(found)
    if (!can_be_adjusted(what)) stop_argument("strata", paste("strata with", metric),
      "ratios and differences of rates, or differences of their means")
    within <<- stratified_rows(input$stratum, input, grouping, pairs, what, options, found)
    beside_strata(found, within)
  }
  found <- of_frame(data, y_true, y_pred, NULL, sensitive_features, ..., strata = strata, section = "rates", make = make,
    plain = FALSE)
  if (is.null(within)) return(found)
  attr(found, "stratified") <- within
  with_head(found, c(strata_sentence(within$disagreement, nrow(within)), attr(found, "head")))
}

# MADD of every group against the reference (Verger, Fan, Lalle, Bouchet, Luengo 2024, JEDM 16(1), 365-409).
fs_madd <- function(data = NULL, score, sensitive_features, ...)
  of_frame(data, NULL, NULL, score, sensitive_features, ..., section = "madd", make = madd_rows)

# Area between ROC curves (Gardner, Brooks, Baker 2019, LAK19, 225-234).
fs_abroca <- function(data = NULL, y_true, score, sensitive_features, ...)
  of_frame(data, y_true, NULL, score, sensitive_features, ..., section = "rates", make = abroca_rows)

# Posteriors of accuracy and fairness from Dirichlet draws of every group's confusion counts (Barrainkua, Gordaliza,
# Lozano, Quadrianto 2024, AISTATS 27).
fs_um_posterior <- function(data = NULL, y_true, y_pred, sensitive_features, prior = 1, draws = 10000, ...) {
  kept <- NULL
  make <- function(input, grouping, pairs, options) {
    counts <- um_counts(input, grouping)
    kept <<- fs_um_draws(counts, options$draws, prior)
    um_rows(counts, kept, pairs[1L, 2L], options)
  }
  found <- of_frame(data, y_true, y_pred, NULL, sensitive_features, draws = draws, ..., section = "um", make = make)
  structure(found, draws = kept)
}

zero_or_one <- function(x, argument) {
  if (is.logical(x)) x <- as.integer(x)
  as.integer(numbers_in(x, argument, 0, 1, whole = TRUE))
}

with_ending <- function(name, agg) {
  if (!is.null(agg) && !identical(agg, "max")) stop_argument("agg", listed(agg), 'NULL or "max"')
  paste0(name, if (is.null(agg)) "_difference" else "_max")
}

# One section for the groups of all sensitive columns together: reads, checks, makes the rows, names them. `plain`:
# whether weights and clusters are refused.
of_frame <- function(data, y_true, y_pred, score, sensitive_features, reference = NULL, pos_label = 1,
                     sample_weight = NULL, cluster = NULL, missing = "raise", label_values = NULL, strata = NULL, ...,
                     seed = 1, section, make, plain = TRUE) {
  options <- audit_options(...)
  columns <- list(y_true = y_true, y_pred = y_pred, score = score, sensitive_features = sensitive_features,
    sample_weight = sample_weight, cluster = cluster, strata = strata)
  read <- settle_missing(data, columns, missing)
  scene <- read_scene(read$data, read$y_true, read$y_pred, read$score, read$sensitive_features, reference, pos_label,
    options$comparisons, read$sample_weight, read$cluster, label_values, read$whole)
  independent <- "none: the rows must be independent draws"
  if (plain && !is.null(scene$input$weight)) stop_argument("sample_weight", "weights", independent)
  if (plain && !is.null(scene$input$cluster)) stop_argument("cluster", "clusters", independent)
  scene$input$stratum <- read_strata(read$data, read$strata, scene$input, strata)
  rows <- with_seed(seed, make(scene$input, scene$grouping, scene$pairs, options))
  as_audit(rows, section, scene$input)
}

as_audit <- function(rows, section, input) {
  set <- paste(names(input$attributes), collapse = INTERSECTION)
  found <- structure(cbind(section = section, sensitive_features = set, rows),
    class = c("fairstats_audit", "data.frame"))
  with_head(found, words_of_labels(input$unfavourable))
}

# A table of another shape, with the labels that counted as unfavourable at its head.
as_table <- function(rows, unfavourable)
  with_head(structure(rows, class = c("fairstats_table", "data.frame")), words_of_labels(unfavourable))

print.fairstats_table <- function(x, ...) {
  print_sentences(attr(x, "head"))
  print.data.frame(x, ...)
  invisible(x)
}

# Sentences that stand at the head of what is printed.
with_head <- function(found, sentences) {
  if (length(sentences)) attr(found, "head") <- sentences
  found
}
