# Methods of what the functions return: print, summary, confint, plot, as.data.frame; and tidy and
# glance, which are registered when the package `generics` is loaded (by broom, for one).

#' Methods of results
#'
#' `print` shows the answer, `summary` counts the verdicts and names the violations, `confint` gives
#' the limits as a matrix, `plot` draws estimates with their limits, and `as.data.frame` the plain
#' table. With the package `generics` (or `broom`, which brings it) `tidy` gives a row for each
#' comparison under the names of that package, and `glance` one row for the whole.
#'
#' Intervals are of the level that the function was called with, since a table does not hold what
#' another level needs: `confint(x, level = 0.9)` of a table at 95\% is an error, and
#' `fs_audit(..., confidence_level = 0.9)` the cure. Fits of extreme value laws have intervals of
#' any level, from their standard errors.
#'
#' @param object,x What a function of this package returned.
#' @param parm Which limits: metrics or row names as text, or numbers of rows. By default all.
#' @param level Level of the limits; by default that of the result.
#' @param row.names,optional As in [as.data.frame()].
#' @param digits Digits after the point.
#' @param most At most so many rows are shown.
#' @param ... Passed on, or nothing.
#'
#' @return `confint`: a matrix with one row per comparison. `summary`: a list of class
#'   `fairstats_summary` with `verdicts` (a table of metrics by verdicts), `violations` (a data
#'   frame), `confidence_level` and `head`. `tidy`, `glance`, `as.data.frame`: data frames. `print`
#'   and `plot`: the object, invisibly.
#'
#' @name fairstats-methods
#'
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' found <- fs_disparate_impact(hired ~ origin, people, reference = "north")
#' summary(found)
#' confint(found)
#' if (requireNamespace("generics", quietly = TRUE)) generics::tidy(found)
NULL

VERDICTS <- c("violated", "undecided", "insufficient evidence", "satisfied")

# Tables ------------------------------------------------------------------------------------------

#' @rdname fairstats-methods
#' @export
print.fairstats_table <- function(x, ...) {
  print_sentences(attr(x, "head"))
  print.data.frame(x, ...)
  invisible(x)
}

#' @rdname fairstats-methods
#' @export
as.data.frame.fairstats_audit <- function(x, row.names = NULL, optional = FALSE, ...) {
  plain_table(x)
}

#' @rdname fairstats-methods
#' @export
as.data.frame.fairstats_table <- function(x, row.names = NULL, optional = FALSE, ...) {
  plain_table(x)
}

#' @rdname fairstats-methods
#' @export
as.data.frame.fairstats_comparison <- function(x, row.names = NULL, optional = FALSE, ...) {
  plain_table(x)
}

#' @rdname fairstats-methods
#' @export
as.data.frame.fairstats_report <- function(x, row.names = NULL, optional = FALSE, ...) {
  x$table
}

# A data frame with the columns and nothing else.
plain_table <- function(x) {
  attributes(x) <- list(names = names(x), row.names = attr(x, "row.names"), class = "data.frame")
  x
}

#' @rdname fairstats-methods
#' @export
summary.fairstats_audit <- function(object, ...) summary_of_table(object, attr(object, "head"))

#' @rdname fairstats-methods
#' @export
summary.fairstats_table <- function(object, ...) summary_of_table(object, attr(object, "head"))

#' @rdname fairstats-methods
#' @export
summary.fairstats_report <- function(object, ...) summary_of_table(object$table, object$head)

# Verdicts by metric, and the violations in full, the surest first.
summary_of_table <- function(table, head) {
  table <- as.data.frame(table)
  table$verdict <- column_or(table, "verdict", NA_character_)
  table$metric <- column_or(table, "metric", "estimate")
  judged <- table[table$verdict %in% VERDICTS, , drop = FALSE]
  metric <- factor(judged$metric, unique(judged$metric))
  verdicts <- table(metric = metric, verdict = factor(judged$verdict, VERDICTS))
  violations <- judged[judged$verdict == "violated", , drop = FALSE]
  if (!is.null(violations$pvalue_verdict)) {
    violations <- violations[order(violations$pvalue_verdict), , drop = FALSE]
  }
  columns <- c(
    "sensitive_features",
    "by",
    "step",
    "metric",
    "group",
    "reference",
    "estimate",
    "ci_low",
    "ci_high"
  )
  violations <- violations[intersect(columns, names(violations))]
  rownames(violations) <- NULL
  summary <- list(
    verdicts = verdicts,
    violations = violations,
    comparisons = sum(!is.na(table$estimate)),
    confidence_level = level_of_table(table),
    head = head
  )
  structure(summary, class = "fairstats_summary")
}

#' @rdname fairstats-methods
#' @export
print.fairstats_summary <- function(x, digits = 3L, ...) {
  print_sentences(x$head)
  level <- if (!is.na(x$confidence_level)) sprintf(", %g%% intervals", 100 * x$confidence_level)
  cat(
    x$comparisons,
    if (x$comparisons == 1L) " comparison" else " comparisons",
    level,
    "\n",
    sep = ""
  )
  if (length(x$verdicts)) {
    print(x$verdicts[, colSums(x$verdicts) > 0, drop = FALSE])
  }
  if (nrow(x$violations)) {
    cat("\nViolated:\n")
    print.data.frame(x$violations, digits = digits, row.names = FALSE)
  }
  invisible(x)
}

# The level of the intervals of a table, NA where it is not known or not the same everywhere.
level_of_table <- function(table) {
  levels <- unique(table$confidence_level)
  levels <- levels[is.finite(levels)]
  if (length(levels) == 1L) {
    return(levels)
  }
  NA_real_
}

# A column, or one value for all rows where there is none.
column_or <- function(table, name, value) {
  if (is.null(table[[name]])) {
    return(rep(value, nrow(table)))
  }
  table[[name]]
}

# "disparate_impact: south against north", and where that is not one row also what it is about.
row_labels <- function(table) {
  table$metric <- column_or(table, "metric", "estimate")
  table$reference <- column_or(table, "reference", "")
  against <- ifelse(table$reference %in% c("", NA), "", paste(" against", table$reference))
  labels <- paste0(table$metric, ": ", table$group, against)
  about <- table[intersect(c("sensitive_features", "by", "step", "attribute"), names(table))]
  if (!anyDuplicated(labels) || !length(about)) {
    return(make.unique(labels))
  }
  make.unique(paste0(do.call(paste, c(unname(about), sep = ", ")), ": ", labels))
}

#' @rdname fairstats-methods
#' @export
confint.fairstats_audit <- function(object, parm = NULL, level = NULL, ...) {
  limits_of_table(object, parm, level, level_of_table(object))
}

#' @rdname fairstats-methods
#' @export
confint.fairstats_table <- function(object, parm = NULL, level = NULL, ...) {
  limits_of_table(object, parm, level, level_of_table(object))
}

#' @rdname fairstats-methods
#' @export
confint.fairstats_report <- function(object, parm = NULL, level = NULL, ...) {
  limits_of_table(object$table, parm, level, object$settings$confidence_level)
}

# Rows without limits are left out.
limits_of_table <- function(table, parm, level, own_level) {
  table <- as.data.frame(table)
  check_own_level(level, own_level)
  labels <- row_labels(table)
  limits <- cbind(table$ci_low, table$ci_high)
  dimnames(limits) <- list(labels, limit_names(own_level))
  wanted <- !is.na(table$estimate)
  if (is.character(parm)) {
    known <- parm %in% c(table$metric, labels)
    if (!all(known)) {
      stop_argument("parm", listed(parm), listed(unique(table$metric)))
    }
    wanted <- table$metric %in% parm | labels %in% parm
  } else if (!is.null(parm)) {
    wanted <- numbers_in(parm, "parm", 1, nrow(table), size = NA, whole = TRUE)
  }
  limits[wanted, , drop = FALSE]
}

# A table has the limits of one level.
check_own_level <- function(level, own_level) {
  if (is.null(level) || isTRUE(all.equal(level, own_level))) {
    return(invisible(NULL))
  }
  cure <- paste0(format(own_level), ", the level of these limits: call again with confidence_level")
  stop_argument("level", listed(level), cure)
}

limit_names <- function(level) {
  if (is.na(level)) {
    return(c("low", "high"))
  }
  paste(format(100 * c((1 - level) / 2, (1 + level) / 2), trim = TRUE, digits = 3L), "%")
}

#' @rdname fairstats-methods
#' @exportS3Method generics::tidy
tidy.fairstats_audit <- function(x, ...) tidy_of_table(x)

#' @rdname fairstats-methods
#' @exportS3Method generics::tidy
tidy.fairstats_table <- function(x, ...) tidy_of_table(x)

#' @rdname fairstats-methods
#' @exportS3Method generics::tidy
tidy.fairstats_report <- function(x, ...) tidy_of_table(x$table)

# Columns of a table by the names that `broom` gives them.
TIDY_NAMES <- c(
  estimate = "estimate",
  std_error = "std.error",
  statistic = "statistic",
  pvalue = "p.value",
  pvalue_adjusted = "adj.p.value",
  ci_low = "conf.low",
  ci_high = "conf.high"
)

tidy_of_table <- function(table) {
  table <- as.data.frame(table)
  about <- c(
    "section",
    "sensitive_features",
    "attribute",
    "by",
    "step",
    "metric",
    "model",
    "baseline",
    "group",
    "reference"
  )
  columns <- c(about, names(TIDY_NAMES), "n", "method", "verdict")
  columns <- intersect(columns, names(table))
  tidied <- cbind(term = row_labels(table), table[columns], stringsAsFactors = FALSE)
  renamed <- names(tidied) %in% names(TIDY_NAMES)
  names(tidied)[renamed] <- TIDY_NAMES[names(tidied)[renamed]]
  tidied
}

#' @rdname fairstats-methods
#' @exportS3Method generics::glance
glance.fairstats_audit <- function(x, ...) glance_of_table(x, level_of_table(x))

#' @rdname fairstats-methods
#' @exportS3Method generics::glance
glance.fairstats_table <- function(x, ...) glance_of_table(x, level_of_table(x))

#' @rdname fairstats-methods
#' @exportS3Method generics::glance
glance.fairstats_report <- function(x, ...) {
  glance_of_table(x$table, x$settings$confidence_level)
}

glance_of_table <- function(table, level) {
  table <- as.data.frame(table)
  counts <- as.list(table(factor(table$verdict, VERDICTS)))
  names(counts) <- gsub(" ", ".", names(counts), fixed = TRUE)
  adjusted <- c(table$pvalue_adjusted, table$pvalue)
  adjusted <- adjusted[seq_len(nrow(table))]
  smallest <- if (any(is.finite(adjusted))) min(adjusted, na.rm = TRUE) else NA_real_
  data.frame(
    comparisons = sum(!is.na(table$estimate)),
    groups = length(setdiff(c(table$group, table$reference), c("", NA))),
    counts,
    smallest.adj.p.value = smallest,
    conf.level = level
  )
}

#' @rdname fairstats-methods
#' @export
summary.fairstats_comparison <- function(object, ...) {
  counts <- table(
    section = factor(object$section, unique(object$section)),
    agree = factor(object$agree, c(TRUE, FALSE), c("agree", "differ"))
  )
  structure(
    list(counts = counts, missing = attr(object, "missing")),
    class = "fairstats_comparison_summary"
  )
}

#' @rdname fairstats-methods
#' @export
print.fairstats_comparison_summary <- function(x, ...) {
  print(x$counts)
  print_only_one_side(x$missing)
  invisible(x)
}

# Extreme counterfactual discrimination ------------------------------------------------------------

#' @rdname fairstats-methods
#' @export
as.data.frame.fairstats_ecd <- function(x, row.names = NULL, optional = FALSE, ...) {
  columns <- c("estimate", "std_error", "ci_low", "ci_high", "statistic", "pvalue", "verdict")
  tails <- x$tails
  data.frame(
    metric = "ECD",
    group = tails$group[1L],
    reference = tails$group[2L],
    x[columns],
    n = sum(tails$n),
    interactions = x$interactions,
    method = x$test,
    stringsAsFactors = FALSE
  )
}

#' @rdname fairstats-methods
#' @export
summary.fairstats_ecd <- function(object, ...) summary_of_table(as.data.frame(object), NULL)

#' @rdname fairstats-methods
#' @export
confint.fairstats_ecd <- function(object, parm = NULL, level = NULL, ...) {
  tails <- object$tails
  levels <- data.frame(
    metric = "return level",
    group = tails$group,
    reference = "",
    estimate = tails$return_level,
    ci_low = tails$ci_low,
    ci_high = tails$ci_high
  )
  whole <- as.data.frame(object)[names(levels)]
  limits_of_table(rbind(whole, levels), parm, level, own_level_of(object))
}

# What a result says of its level; NA where it does not.
own_level_of <- function(result) {
  if (is.null(result$confidence_level)) {
    return(NA_real_)
  }
  result$confidence_level
}

#' @rdname fairstats-methods
#' @exportS3Method generics::tidy
tidy.fairstats_ecd <- function(x, ...) tidy_of_table(as.data.frame(x))

#' @rdname fairstats-methods
#' @exportS3Method generics::glance
glance.fairstats_ecd <- function(x, ...) glance_of_table(as.data.frame(x), own_level_of(x))

# Fits of extreme value laws ----------------------------------------------------------------------

#' @rdname fairstats-methods
#' @export
print.fairstats_fit <- function(x, digits = 4L, ...) {
  print(cbind(estimate = x$estimate, std_error = x$std_error), digits = digits)
  cat("negative log-likelihood ", format(x$nll, digits = 8L), ", ", x$version, "\n", sep = "")
  print_sentences(x$notes)
  invisible(x)
}

#' @rdname fairstats-methods
#' @export
coef.fairstats_fit <- function(object, ...) object$estimate

#' @rdname fairstats-methods
#' @export
vcov.fairstats_fit <- function(object, ...) {
  covariance <- object$covariance
  dimnames(covariance) <- list(names(object$estimate), names(object$estimate))
  covariance
}

#' @rdname fairstats-methods
#' @export
logLik.fairstats_fit <- function(object, ...) {
  structure(-object$nll, df = length(object$estimate), class = "logLik")
}

#' @rdname fairstats-methods
#' @export
confint.fairstats_fit <- function(object, parm = NULL, level = 0.95, ...) {
  numbers_in(level, "level", 0, 1, open = BOTH)
  reach <- stats::qnorm((1 + level) / 2) * object$std_error
  limits <- cbind(object$estimate - reach, object$estimate + reach)
  dimnames(limits) <- list(names(object$estimate), limit_names(level))
  if (is.null(parm)) {
    return(limits)
  }
  if (is.character(parm)) {
    parm <- match(parm, rownames(limits))
  }
  if (anyNA(parm)) {
    stop_argument("parm", "an unknown name", listed(rownames(limits)))
  }
  limits[numbers_in(parm, "parm", 1, nrow(limits), size = NA, whole = TRUE), , drop = FALSE]
}

#' @rdname fairstats-methods
#' @export
as.data.frame.fairstats_fit <- function(x, row.names = NULL, optional = FALSE, ...) {
  limits <- confint.fairstats_fit(x)
  data.frame(
    parameter = names(x$estimate),
    estimate = unname(x$estimate),
    std_error = unname(x$std_error),
    ci_low = unname(limits[, 1L]),
    ci_high = unname(limits[, 2L]),
    stringsAsFactors = FALSE
  )
}

#' @rdname fairstats-methods
#' @export
summary.fairstats_fit <- function(object, ...) as.data.frame.fairstats_fit(object)

#' @rdname fairstats-methods
#' @export
plot.fairstats_fit <- function(x, ...) {
  draw_intervals(as.data.frame.fairstats_fit(x), "parameter", 0, ...)
  invisible(x)
}

#' @rdname fairstats-methods
#' @exportS3Method generics::tidy
tidy.fairstats_fit <- function(x, ...) {
  tidied <- as.data.frame.fairstats_fit(x)
  names(tidied) <- c("term", "estimate", "std.error", "conf.low", "conf.high")
  tidied
}

#' @rdname fairstats-methods
#' @exportS3Method generics::glance
glance.fairstats_fit <- function(x, ...) {
  data.frame(
    logLik = -x$nll,
    AIC = 2 * x$nll + 2 * length(x$estimate),
    regular = x$regular,
    at.boundary = x$at_boundary,
    version = x$version,
    stringsAsFactors = FALSE
  )
}

# Tallies, thresholds, and lists of numbers -------------------------------------------------------

#' @rdname fairstats-methods
#' @export
print.fairstats_tally <- function(x, ...) {
  within <- if (length(x$strata)) paste0(" within ", x$strata)
  cat(thousands(sum(x$cells$n)), " rows counted by ", listed(x$attributes), within, "\n", sep = "")
  print.data.frame(x$cells, row.names = FALSE)
  invisible(x)
}

#' @rdname fairstats-methods
#' @export
as.data.frame.fairstats_tally <- function(x, row.names = NULL, optional = FALSE, ...) x$cells

#' @rdname fairstats-methods
#' @export
summary.fairstats_tally <- function(object, ...) {
  cells <- object$cells
  group <- do.call(paste, c(unname(as.list(cells[object$attributes])), sep = INTERSECTION))
  total <- tapply(cells$n, group, sum)
  rates <- data.frame(group = names(total), n = as.numeric(total), stringsAsFactors = FALSE)
  if (!is.null(cells$y_true)) {
    rates$base_rate <- as.numeric(tapply(cells$n * cells$y_true, group, sum) / total)
  }
  if (!is.null(cells$y_pred)) {
    rates$selection_rate <- as.numeric(tapply(cells$n * cells$y_pred, group, sum) / total)
  }
  rates
}

#' @rdname fairstats-methods
#' @export
plot.fairstats_tally <- function(x, ...) {
  rates <- summary.fairstats_tally(x)
  shown <- intersect(c("base_rate", "selection_rate"), names(rates))
  heights <- t(as.matrix(rates[shown]))
  graphics::barplot(
    heights,
    names.arg = rates$group,
    beside = TRUE,
    ylim = c(0, 1),
    col = SERIES[seq_along(shown)],
    legend.text = sub("_", " ", shown),
    ylab = "share",
    ...
  )
  invisible(x)
}

#' @rdname fairstats-methods
#' @export
print.fairstats_threshold <- function(x, digits = 4L, ...) {
  cat(
    "threshold ",
    format(x$threshold, digits = digits),
    ", exceeded by ",
    x$n_exceedances,
    " of ",
    x$n_total,
    " values (",
    x$rule,
    ")\n",
    sep = ""
  )
  print_sentences(x$notes)
  invisible(x)
}

#' @rdname fairstats-methods
#' @export
as.data.frame.fairstats_threshold <- function(x, row.names = NULL, optional = FALSE, ...) {
  x$candidates
}

#' @rdname fairstats-methods
#' @export
summary.fairstats_threshold <- function(object, ...) object$candidates

#' @rdname fairstats-methods
#' @export
plot.fairstats_threshold <- function(x, ...) {
  candidates <- x$candidates
  graphics::plot(
    candidates$threshold,
    candidates$pvalue,
    ylim = c(0, 1),
    pch = 19L,
    col = SERIES[1L],
    xlab = "threshold",
    ylab = "p-value of the fit above it",
    ...
  )
  graphics::abline(v = x$threshold, lty = 3L, col = "grey40")
  invisible(x)
}

#' @rdname fairstats-methods
#' @export
print.fairstats_numbers <- function(x, digits = 4L, ...) {
  for (name in names(x)) {
    value <- x[[name]]
    if (is.data.frame(value)) {
      cat(name, ":\n", sep = "")
      print.data.frame(value, digits = digits, row.names = FALSE)
    } else {
      cat(name, ": ", paste(format(value, digits = digits), collapse = ", "), "\n", sep = "")
    }
  }
  invisible(x)
}

#' @rdname fairstats-methods
#' @export
as.data.frame.fairstats_numbers <- function(x, row.names = NULL, optional = FALSE, ...) {
  vectors <- Filter(is.atomic, unclass(x))
  as.data.frame(vectors, stringsAsFactors = FALSE)
}
