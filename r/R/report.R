#' Read the report that the Python side writes
#'
#' The JSON file of `AuditReport.to_json` (`fairstats audit --json`, `fairstats demo --json`), gzipped or not, as R
#' objects. Nothing of Python is needed.
#'
#' @param path The file.
#' @return A list of class `fairstats_report`: `title`, `created`, `version` (of fairstats that wrote it), `columns`,
#'   `settings`, `table` (data frame: the tidy table of all results), `results` (the raw lists, one per result, with
#'   `section` and `attributes`), `notes`. Infinite values in `table` are missing, as JSON has none; `results` has
#'   them.
#' @seealso [fs_compare()]
#' @examples
#' path <- system.file("extdata", "report.json.gz", package = "fairstats")
#' report <- fs_read_report(path)
#' report
#' report$table[1:3, c("metric", "group", "estimate", "verdict")]
#' @export
fs_read_report <- function(path) {
  raw <- read_written(path, "AuditReport")
  versions <- from_tagged(raw$versions)
  version <- if (is.null(versions$fairstats)) NA_character_ else versions$fairstats
  if (is.null(raw[["table"]])) {
    stop_argument(
      "path", paste0("a report of fairstats ", version, " without `table`"),
      paste0(
        "a report of fairstats ", own_version(), " (AuditReport.from_json(path).to_json(path) in Python writes it anew)"
      )
    )
  }
  if (!is.na(own_version()) && !identical(version, own_version())) {
    warning(
      "the report was written by fairstats ", version, ", this is ", own_version(),
      ": columns that one of them lacks are NA", call. = FALSE
    )
  }
  results <- unlist(lapply(raw$sections, function(section) {
    lapply(section$results, function(r) {
      c(from_tagged(r), list(section = section$key, attributes = unlist(section$attributes)))
    })
  }), recursive = FALSE)
  structure(
    list(
      title = raw$title, created = raw$created, version = version, columns = from_tagged(raw$columns),
      settings = from_tagged(raw$settings), table = records(raw[["table"]]), results = results,
      notes = unlist(raw$notes)
    ),
    class = "fairstats_report"
  )
}

# The JSON that `to_json` of a class of Python wrote.
read_written <- function(path, class) {
  allowed <- paste0("the JSON file that ", class, ".to_json wrote in Python")
  if (!is.character(path) || length(path) != 1L || is.na(path)) stop_argument("path", listed(path), allowed)
  if (!file.exists(path) || dir.exists(path)) stop_argument("path", paste0('"', path, '", which is no file'), allowed)
  raw <- tryCatch(
    jsonlite::fromJSON(whole_text(path), simplifyVector = FALSE),
    error = function(e) stop_argument("path", "a file that is no JSON", allowed)
  )
  found <- if (is.list(raw)) raw$class
  if (!identical(found, class)) {
    stop_argument("path", if (is.character(found)) paste("a", found) else "JSON of something else", allowed)
  }
  raw
}

# A file as one string, gzipped or not.
whole_text <- function(path) {
  connection <- gzfile(path, "r")
  on.exit(close(connection))
  paste(readLines(connection, encoding = "UTF-8", warn = FALSE), collapse = "\n")
}

# Version of this package; NA where its files are read without being installed.
own_version <- function() {
  tryCatch(as.character(utils::packageVersion("fairstats")), error = function(e) NA_character_)
}

# Records (named lists with NULL for missing) as a data frame.
records <- function(rows) {
  found <- bind_rows(rows)
  numbers <- names(found) %in% NUMBERS | vapply(found, is.integer, NA)
  found[numbers] <- lapply(found[numbers], as.numeric)
  found
}

# What the Python side tags as an array, a mapping or a float that JSON lacks.
from_tagged <- function(x) {
  if (!is.list(x)) return(x)
  if (identical(names(x), "float")) return(as.numeric(sub("inity", "", x$float)))
  if (identical(names(x), "mapping")) return(lapply(x$mapping, from_tagged))
  if (setequal(names(x), c("array", "dtype", "shape"))) return(from_array(x))
  lapply(x, from_tagged)
}

from_array <- function(x) {
  values <- unlist(lapply(x$array, flat_numbers))
  shape <- unlist(x$shape)
  if (length(shape) < 2L) values else aperm(array(values, rev(shape)), rev(seq_along(shape)))
}

flat_numbers <- function(x) {
  if (!is.list(x)) return(x)
  if (identical(names(x), "float")) return(from_tagged(x))
  unlist(lapply(x, flat_numbers))
}

# Columns of the table that hold numbers, in the order in which they are compared.
NUMBERS <- c(
  "estimate", "std_error", "ci_low", "ci_high", "statistic", "pvalue", "pvalue_adjusted", "n", "n_reference", "rate",
  "rate_reference", "bound_low", "bound_high", "pvalue_verdict", "pvalue_verdict_adjusted", "null_mean",
  "bias_corrected", "mid_pvalue", "n_bins", "h_low", "h_high", "h_sup", "median", "observed", "p_rope", "undefined", "expected_if_equal", "confidence_level",
  "interactions", "maximum", "n_synthetic", "simultaneous_low", "simultaneous_high", "acd", "acd_low", "acd_high",
  "acd_pvalue", "cvar", "cvar_low", "cvar_high", "cvar_pvalue", "location", "location_std_error", "scale",
  "scale_std_error", "shape", "shape_std_error", "threshold", "horizon"
)

#' @export
print.fairstats_report <- function(x, ...) {
  cat(x$title, "\n", sep = "")
  cat("fairstats ", x$version, " (Python), ", x$created, "\n", sep = "")
  sections <- factor(x$table$section, unique(x$table$section))
  counts <- table(sections)
  cat(nrow(x$table), " rows: ", paste(names(counts), counts, collapse = ", "), "\n", sep = "")
  # as in Python's report: changes between models, and from outcomes to predictions, are judged otherwise
  judged <- x$table$section != "models" & !grepl("amplification", x$table$metric)
  verdicts <- table(factor(x$table$verdict[judged], c("violated", "undecided", "insufficient evidence", "satisfied")))
  cat(paste(verdicts, names(verdicts), collapse = ", "), "\n", sep = "")
  invisible(x)
}

#' Set an audit in R beside the report of the Python side
#'
#' Every number that both give, quantity by quantity. What is deterministic must agree within `tolerance`, relative to
#' the larger of 1e-3 and the number itself; what is random within five Monte Carlo errors of the difference of two
#' runs (the `mc_` columns of the audit) more than that. What is fitted to the tails of the section `"ecd"` may differ
#' by 100 times `tolerance`, as two optimisers do, and standard errors there by 10,000 times (second derivatives by
#' differences). Verdicts are compared as text. What one side lacks is
#' listed and not counted as agreement.
#'
#' @param report From [fs_read_report()], or the path of the file.
#' @param audit From [fs_audit()], with the same columns and settings; or the data frame that the report was made
#'   from, or its CSV file as pandas writes it, which is then audited with the columns and settings of the report.
#' @param tolerance Relative tolerance of what is deterministic.
#' @param quantities Columns to compare; default all numbers of the tidy table.
#' @return A data frame of class `fairstats_comparison`: section, sensitive_features, metric, group, reference,
#'   quantity, python, r, difference (absolute), tolerance (absolute), agree. A verdict that agrees has difference 0.
#'   Its attribute `missing` lists rows that only one side has; it prints the disagreements and "N of N agree".
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' report <- fs_read_report(system.file("extdata", "report.json.gz", package = "fairstats"))
#' audit <- fs_audit(people,
#'   y_true = "qualified", y_pred = "hired", sensitive_features = c("sex", "origin"),
#'   reference = c(sex = "male", origin = "north"), pos_label = list(y_true = "yes", y_pred = 1),
#'   draws = 0
#' )
#' compared <- fs_compare(report, audit)
#' head(as.data.frame(compared)[, c("metric", "group", "quantity", "python", "r")], 3)
#' compared
#' \donttest{
#' fs_compare(report, people)
#' }
#' @export
fs_compare <- function(report, audit, tolerance = 1e-6, quantities = NULL) {
  if (is.character(report)) report <- fs_read_report(report)
  if (!inherits(report, "fairstats_report")) {
    stop_argument("report", paste("a", class(report)[1L]), "what fs_read_report() returned, or the path of the file")
  }
  if (is.character(audit) && length(audit) == 1L && file.exists(audit)) audit <- written_rows(audit)
  if (!is.list(audit)) {
    stop_argument("audit", paste("a", class(audit)[1L]), "what fs_audit() returned, the data, or the path of their file")
  }
  if (!all(c("sensitive_features", "metric", "group") %in% names(audit))) audit <- audit_as_reported(report, audit)
  numbers_in(tolerance, "tolerance", 0)
  if (is.null(quantities)) quantities <- NUMBERS
  keys <- row_keys(report$table)
  own <- row_keys(audit)
  quantities <- quantities[quantities %in% names(report$table) & quantities %in% names(audit)]
  shared <- keys[keys %in% own]
  found <- lapply(shared, function(key) {
    compare_rows(report$table[match(key, keys), ], audit[match(key, own), ], quantities, tolerance)
  })
  nothing <- compare_rows(report$table[0L, ], audit[0L, ], character(), tolerance)
  found <- if (length(found)) do.call(rbind, found) else nothing
  rownames(found) <- NULL
  structure(found,
    class = c("fairstats_comparison", "data.frame"),
    missing = list(
      python_only = place(report$table[!keys %in% own, ]), r_only = place(audit[!own %in% keys, ])
    ),
    settings = different_settings(report$settings, attr(audit, "settings"))
  )
}

# Rows of a CSV file that Python wrote: only an empty cell is missing, and a number is one without a zero before it.
written_rows <- function(path) {
  number <- "^-?(0|[1-9][0-9]*)([.][0-9]+)?(e[+-]?[0-9]+)?$"
  rows <- utils::read.csv(path,
    check.names = FALSE, colClasses = "character", na.strings = "", encoding = "UTF-8", strip.white = FALSE
  )
  rows[] <- lapply(rows, function(x) if (all(is.na(x) | grepl(number, x))) as.numeric(x) else x)
  rows
}

# The audit of the data with the columns and settings of a report.
audit_as_reported <- function(report, data) {
  columns <- report$columns
  settings <- report$settings
  if (any(unlist(settings$references) == "highest") || identical(settings$missing, "group")) {
    stop_argument(
      "report", 'a report with reference "highest" or missing = "group"', "one with a named or the largest reference"
    )
  }
  own <- function(value) if (is.null(value)) 1 else value
  names <- unlist(columns$sensitive_features)
  found <- fs_audit(data,
    y_true = columns$y_true, y_pred = columns$y_pred, score = columns$score, sensitive_features = names,
    reference = unlist(settings$references),
    pos_label = list(y_true = own(columns$pos_label_true), y_pred = own(columns$pos_label_pred)),
    sample_weight = columns$sample_weight, cluster = columns$cluster, features = unlist(columns$features),
    counterfactual_score = if (length(columns$counterfactual_scores)) columns$counterfactual_scores,
    confidence_level = settings$confidence_level,
    threshold = settings$threshold, margin = settings$margin, method = settings$method,
    comparisons = settings$comparisons, simultaneous = settings$simultaneous, adjust = settings$adjust,
    missing = settings$missing, n_resamples = settings$n_resamples,
    intersections = paste(names, collapse = INTERSECTION) %in% report$table$sensitive_features
  )
  # adjusted over the whole audit, with p-values that are random among them
  if (identical(settings$family, "audit")) found$pvalue_adjusted <- NA_real_
  found
}

# What identifies a row, the number of interactions of a level among it; the groups of a largest gap have no order, and
# are a result.
row_keys <- function(table) {
  gap <- grepl("_max$", table$metric)
  paste(
    table$section, table$sensitive_features, table$metric, ifelse(gap, "", as_text(table$group)),
    ifelse(gap, "", as_text(table$reference)),
    if (is.null(table$interactions)) "" else as_text(table$interactions), sep = "\r"
  )
}

as_text <- function(x) ifelse(is.na(x), "", as.character(x))

place <- function(rows) {
  unique(paste(rows$section, rows$sensitive_features, rows$metric, sep = ": "))
}

compare_rows <- function(theirs, ours, quantities, tolerance) {
  head <- function(quantity, ...) {
    data.frame(
      section = theirs$section, sensitive_features = theirs$sensitive_features, metric = theirs$metric,
      group = as_text(theirs$group), reference = as_text(theirs$reference), quantity = quantity, ...,
      stringsAsFactors = FALSE
    )
  }
  if (!nrow(theirs)) {
    return(head(
      character(),
      python = numeric(), r = numeric(), difference = numeric(), tolerance = numeric(), agree = logical()
    ))
  }
  p <- vapply(quantities, function(q) as.numeric(theirs[[q]]), 0)
  r <- vapply(quantities, function(q) as.numeric(ours[[q]]), 0)
  # JSON has no infinity: there the table is missing
  keep <- !is.na(p) & !is.na(r) & is.finite(r)
  random <- vapply(quantities, function(q) {
    error <- ours[[paste0("mc_", q)]]
    if (is.null(error) || is.na(error)) 0 else error
  }, 0)
  # what two optimisers find of a tail, and their second derivatives, which packages take by differences
  fitted <- theirs$section == "ecd" && !grepl("ACD|average", theirs$metric)
  loose <- if (fitted) ifelse(grepl("std_error$", quantities), 1e4, 1e2) else 1
  allowed <- loose * tolerance * pmax(abs(p), 1e-3) + 5 * random
  difference <- abs(p - r)
  found <- NULL
  if (any(keep)) {
    found <- head(
      quantities[keep],
      python = p[keep], r = r[keep], difference = difference[keep], tolerance = allowed[keep],
      agree = difference[keep] <= allowed[keep]
    )
  }
  verdicts <- c(as_text(theirs$verdict), as_text(ours$verdict))
  if (all(nzchar(verdicts))) {
    same <- verdicts[1L] == verdicts[2L]
    close <- same || near_border(theirs, ours, random)
    found <- rbind(found, head(
      "verdict",
      python = NA_real_, r = NA_real_, difference = as.numeric(!same), tolerance = as.numeric(close && !same),
      agree = close
    ))
  }
  found
}

# A verdict may differ where a random bound lies within its error of the border, and so on both sides of it.
near_border <- function(theirs, ours, random) {
  errors <- random[names(random) %in% c("bound_low", "bound_high")]
  moved <- abs(c(theirs$bound_low - ours$bound_low, theirs$bound_high - ours$bound_high))
  any(errors > 0) && all(moved[!is.na(moved)] <= 5 * max(errors))
}

different_settings <- function(theirs, ours) {
  names <- intersect(names(theirs), names(ours))
  names[!vapply(names, function(n) isTRUE(all.equal(theirs[[n]], ours[[n]])), NA)]
}

#' @export
print.fairstats_comparison <- function(x, most = 20L, ...) {
  if (!all(c("agree", "quantity") %in% names(x))) return(print.data.frame(x, ...))
  settings <- attr(x, "settings")
  if (length(settings)) cat("Different settings: ", paste(settings, collapse = ", "), "\n", sep = "")
  missing <- attr(x, "missing")
  if (length(missing$python_only)) cat("Only in the report: ", listed(missing$python_only), "\n", sep = "")
  if (length(missing$r_only)) cat("Only in R: ", listed(missing$r_only), "\n", sep = "")
  wrong <- x[!x$agree, c("sensitive_features", "metric", "group", "quantity", "python", "r", "tolerance")]
  if (nrow(wrong)) print.data.frame(utils::head(as.data.frame(wrong), most), row.names = FALSE)
  if (nrow(wrong) > most) cat("...\n")
  cat(sum(x$agree), " of ", nrow(x), " agree\n", sep = "")
  invisible(x)
}
