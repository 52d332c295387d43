#' Audit predictions for differences between groups, in base R alone
#'
#' The R side of the Python package's `fs.audit`, by independent code: ratios and differences of rates against a
#' reference with intervals, tests, adjusted p-values and verdicts, the largest gaps, posteriors, with a score MADD
#' and the area between ROC curves, with features HFM, and with counterfactual scores extreme counterfactual
#' discrimination; for every sensitive column, and for all of them crossed.
#' [fs_compare()] sets it beside the JSON that the Python side writes.
#'
#' The intervals are by the score method; where a cell has fewer than 10 rows verdicts rest on the exact
#' unconditional test. Under weights or clusters variances are linearised and the score takes effective counts; no answer
#' is given below 8 effective clusters or 10 effective successes or failures in a group; scores, their extremes and
#' posteriors are left out. What is random (the critical value of the gaps, limits and tests of MADD and ABROCA,
#' posteriors, limits and tests of ECD) uses `seed`, and has its Monte Carlo error in columns that begin with `mc_`:
#' that of a difference from another run of the same size.
#'
#' Counterfactual scores are what the model gives the same rows with another value of the sensitive column. The section
#' `"ecd"` has the average gain of every group, its difference from the reference's, and ECD: the difference of the
#' levels of 1,000 interactions, whose likelihood ratio is standardised by 200 samples from the fitted tails (see
#' [fs_ecd()], which takes Student's t), judged at 0.05 and adjusted over the groups; beyond the horizon of a tail
#' there is no verdict. Also the largest, the answers with half and twice the exceedances (by Student's t), and every
#' group's levels, shape, type of tail and horizon. A tail whose likelihood is largest at shape -1 has neither type nor
#' interval of the shape here, and thinning by weights is Python's alone.
#'
#' An audit is of one model; [fs_compare_models()] compares several on the same people, which the Python audit has as a
#' section of its own.
#'
#' @param data A data frame; the other arguments name its columns. Or a tally from [fs_read_tally()], which knows them.
#' @param y_true,y_pred Outcome and prediction, two values each; at least one of them.
#' @param score Score in \[0, 1\], larger for the favourable outcome.
#' @param sensitive_features Sensitive columns.
#' @param reference Reference group; for several columns a vector or list `c(sex = "Male", race = "White")`.
#'   Default: the largest group.
#' @param pos_label The value of outcome and prediction that is good for the person, or
#'   `list(y_true = ..., y_pred = ...)`.
#' @param sample_weight,cluster Columns of weights and of sampling units.
#' @param features Feature columns: with outcome and prediction they add HFM, the distance between groups as sets.
#' @param counterfactual_score Column of the score that the row would have with another value of the one sensitive
#'   column; for several a vector or list `c(sex = "score_if_other_sex")`. It needs `score`.
#' @param confidence_level Level of the intervals; verdicts use one-sided bounds at this level.
#' @param threshold For ratios: below it lies a violation.
#' @param margin For differences, gaps and areas: beyond it lies a violation; for MADD beyond twice of it.
#' @param missing `"raise"`: missing values are an error; `"drop"`: rows with one are left out, for every set of
#'   groups by itself.
#' @param simultaneous `"none"`, or `"bonferroni"` or `"max-z"`: the intervals of one metric hold at once.
#' @param method Interval method of ratios and differences; default `"score"`. One of `"log"`, `"score"`, `"koopman"`, `"delta"`, as in the Python audit.
#' @param comparisons `"reference"` or `"all"` pairs.
#' @param adjust Adjustment of the p-values of a metric: `"holm"`, `"bonferroni"`, `"hommel"`, `"fdr_bh"` or `"none"`.
#' @param intersections Whether several sensitive columns are crossed, too.
#' @param n_resamples Permutations of MADD (default 1999) and resamples of the ROC curves (default 999).
#' @param draws Draws of the posteriors; 0 for none.
#' @param max_bins Largest number of bins that MADD's search looks at.
#' @param seed Seed of what is random; R's generator is put back as it was.
#' @return A data frame of class `fairstats_audit` with the tidy columns of the Python report: section,
#'   sensitive_features, metric, group, reference, estimate, std_error, ci_low, ci_high, statistic, pvalue,
#'   pvalue_adjusted, n, method, ..., verdict.
#' @seealso [fs_read_report()], [fs_compare()], [fs_disparate_impact()]
#' @examples
#' set.seed(1)
#' people <- data.frame(sex = sample(c("f", "m"), 400, TRUE), qualified = rbinom(400, 1, 0.5))
#' people$hired <- rbinom(400, 1, ifelse(people$sex == "m", 0.5, 0.3))
#' fs_audit(people, y_true = "qualified", y_pred = "hired", sensitive_features = "sex", reference = "m", draws = 0)
#' @export
fs_audit <- function(data, y_true = NULL, y_pred = NULL, score = NULL, sensitive_features = NULL, reference = NULL,
                     pos_label = 1, sample_weight = NULL, cluster = NULL, features = NULL, counterfactual_score = NULL,
                     confidence_level = 0.95, threshold = 0.8, margin = 0.1, method = NULL,
                     comparisons = "reference", simultaneous = "none", adjust = "holm",
                     missing = c("raise", "drop"), intersections = TRUE,
                     n_resamples = NULL, draws = 10000, max_bins = 1000, seed = 1) {
  missing <- choice_of(missing, "missing", c("raise", "drop"))
  if (!isTRUE(intersections) && !isFALSE(intersections)) stop_argument("intersections", listed(intersections), "TRUE or FALSE")
  if (inherits(data, "fairstats_tally")) {
    if (is.null(sensitive_features)) sensitive_features <- data$attributes
    data <- tally_rows(data)
    if ("y_true" %in% names(data)) y_true <- "y_true"
    if ("y_pred" %in% names(data)) y_pred <- "y_pred"
  }
  options <- audit_options(
    confidence_level, threshold, margin, method, comparisons, simultaneous, adjust, n_resamples, draws, max_bins
  )
  if (length(y_pred) > 1L && is.character(y_pred) && all(y_pred %in% names(data))) {
    stop_argument("y_pred", paste("the columns", listed(y_pred)), "one; fs_compare_models() compares several models")
  }
  if (is.null(y_true) && is.null(y_pred)) {
    stop_argument("y_pred", "NULL, and so is `y_true`", "the column of the predictions, of the outcomes, or both")
  }
  data <- checked_frame(data)
  sets <- attribute_sets(names(sensitive_columns(data, sensitive_features, missing)), intersections)
  check_reference_names(reference, sets)
  found <- with_seed(seed, lapply(sets, function(set) {
    changed <- counterfactual_column(counterfactual_score, set, sets, score)
    columns <- unlist(list(y_true, y_pred, score, sample_weight, cluster, features, set, changed))
    rows <- if (missing == "drop") complete_rows(data, columns) else data
    input <- read_columns(rows, y_true, y_pred, score, set, pos_label, sample_weight, cluster)
    if (!is.null(changed)) {
      changed <- checked_numbers(column_of(rows, changed, "counterfactual_score"), "counterfactual_score", 0, 1)
      input$discrimination <- changed - input$score
    }
    if (!is.null(features)) input$features <- feature_columns(rows, features, input$n)
    audit_set(input, set, reference_of(reference, set, length(sets)), options)
  }))
  found <- bind_rows(found)
  class(found) <- c("fairstats_audit", "data.frame")
  attr(found, "settings") <- options[SETTINGS]
  found
}

# Settings that a comparison with a report looks at.
SETTINGS <- c("confidence_level", "threshold", "margin", "comparisons", "adjust")

complete_rows <- function(data, columns) {
  known <- intersect(columns, names(data))
  found <- data[stats::complete.cases(data[known]), , drop = FALSE]
  if (!nrow(found)) stop_argument("data", "no row without missing values", "at least one")
  found
}

audit_options <- function(confidence_level = 0.95, threshold = 0.8, margin = 0.1, method = NULL,
                          comparisons = "reference", simultaneous = "none", adjust = "holm", n_resamples = NULL,
                          draws = 10000, max_bins = 1000) {
  numbers_in(confidence_level, "confidence_level", 0.5, 1, open = BOTH)
  numbers_in(threshold, "threshold", 0, 1, open = "low")
  numbers_in(margin, "margin", 0, 1, open = BOTH)
  if (!is.null(n_resamples)) numbers_in(n_resamples, "n_resamples", 99, whole = TRUE)
  numbers_in(draws, "draws", 0, whole = TRUE)
  numbers_in(max_bins, "max_bins", 51, whole = TRUE)
  if (!is.null(method)) choice_of(method, "method", c("log", "score", "koopman", "mee", "delta"))
  choice_of(comparisons, "comparisons", c("reference", "all"))
  if (is.null(simultaneous)) simultaneous <- "none"
  choice_of(simultaneous, "simultaneous", c("none", "bonferroni", "max-z"))
  choice_of(adjust, "adjust", c("holm", "bonferroni", "hommel", "fdr_bh", "none"))
  list(
    confidence_level = confidence_level, threshold = threshold, margin = margin, method = method,
    comparisons = comparisons, simultaneous = simultaneous, adjust = adjust,
    n_resamples = if (is.null(n_resamples)) 1999 else n_resamples,
    curve_resamples = if (is.null(n_resamples)) 999 else n_resamples, draws = draws, max_bins = max_bins
  )
}

check_reference_names <- function(reference, sets) {
  if (is.null(names(reference))) return(invisible(NULL))
  keys <- vapply(sets, paste, "", collapse = INTERSECTION)
  unknown <- setdiff(names(reference), keys)
  if (length(unknown)) stop_argument("reference", paste("the name", unknown[1L]), paste("the names", listed(keys)))
  invisible(NULL)
}

# Everything for one set of attributes.
audit_set <- function(input, set, reference, options) {
  grouping <- make_groups(input$attributes)
  pairs <- make_pairs(grouping, reference, options$comparisons)
  cells <- audit_cells(input, grouping)
  rates <- lapply(audited_metrics(input), metric_rows, cells = cells, pairs = pairs, options = options)
  weighted <- !is.null(input$weight) || !is.null(input$cluster)
  if (!is.null(input$y_true) && !is.null(input$y_pred)) rates <- c(rates, list(amplification_rows(cells, pairs, options)))
  sections <- list(rates = bind_rows(rates))
  if (!is.null(input$score) && !weighted) {
    if (!is.null(input$y_true)) {
      sections$rates <- bind_rows(list(sections$rates, abroca_rows(input, grouping, pairs, options)))
    }
    sections$madd <- madd_rows(input, grouping, pairs, options)
  }
  if (!is.null(input$y_true) && !is.null(input$y_pred) && !is.null(input$features)) {
    work <- input$n * (if (sum(grouping$sizes > 0) == 2L) 1 else sum(grouping$sizes > 0))
    resamples <- if (work <= 20000) 199 else if (work <= 100000) 99 else 0
    sections$hfm <- hfm_rows(input$features, input, grouping, resamples, 0, "minmax", "max", 2000)
  }
  if (!is.null(input$y_true) && !is.null(input$y_pred) && !weighted && options$draws > 0) {
    at <- make_pairs(grouping, reference, "reference")[1L, 2L]
    counts <- um_counts(input, grouping)
    sections$um <- um_rows(counts, fs_um_draws(counts, options$draws), at, options)
  }
  if (!is.null(input$discrimination) && !weighted) {
    at <- make_pairs(grouping, reference, "reference")
    order <- grouping$groups[c(at[, 1L], at[1L, 2L])]
    sections$ecd <- ecd_rows(split(input$discrimination, factor(grouping$labels, order)), options)
  }
  found <- bind_rows(Map(function(name, rows) cbind(section = name, rows), names(sections), sections))
  cbind(
    section = found$section, sensitive_features = paste(set, collapse = INTERSECTION), found[names(found) != "section"]
  )
}

# Evaluate with a seed, and put the generator back.
with_seed <- function(seed, expression) {
  numbers_in(seed, "seed", -.Machine$integer.max, .Machine$integer.max, whole = TRUE)
  before <- if (exists(".Random.seed", globalenv(), inherits = FALSE)) get(".Random.seed", globalenv())
  on.exit(if (is.null(before)) {
    suppressWarnings(rm(".Random.seed", envir = globalenv()))
  } else {
    assign(".Random.seed", before, envir = globalenv())
  })
  set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")
  expression
}

#' @export
print.fairstats_audit <- function(x, digits = 3L, ...) {
  if (!all(c("metric", "group", "estimate", "ci_low", "ci_high", "verdict") %in% names(x))) {
    return(print.data.frame(x, ...))
  }
  number <- function(value) ifelse(is.na(value), "", formatC(value, digits = digits, format = "f"))
  for (name in unique(x$sensitive_features)) {
    part <- x[x$sensitive_features == name, ]
    gap <- grepl("_max$", part$metric)
    references <- setdiff(unique(part$reference[!gap]), c("", NA))
    one <- length(references) == 1L
    cat(name, if (one) paste0(" (reference: ", references, ")"), "\n", sep = "")
    shown <- data.frame(
      metric = part$metric,
      group = if (one) ifelse(gap, paste(part$group, "-", part$reference), part$group) else part$group,
      estimate = number(part$estimate),
      interval = ifelse(is.na(part$ci_low), "", paste0("[", number(part$ci_low), ", ", number(part$ci_high), "]")),
      p = ifelse(is.na(part$pvalue), "", format.pval(part$pvalue, digits = 2L, eps = 1e-4)),
      verdict = ifelse(is.na(part$verdict), "", part$verdict)
    )
    if (!one) shown <- cbind(shown[1:2], reference = part$reference, shown[-(1:2)])
    print.data.frame(shown, row.names = FALSE, right = FALSE)
    cat("\n")
  }
  counts <- table(factor(x$verdict, c("violated", "undecided", "insufficient evidence", "satisfied")))
  if (any(counts > 0)) cat(paste(counts, names(counts), collapse = ", "), "\n", sep = "")
  invisible(x)
}
