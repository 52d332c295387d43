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
  if (!is.character(path) || length(path) != 1L || is.na(path) || !file.exists(path)) {
    stop_argument("path", paste0('"', path, '", which is no file'), "the JSON file of a report")
  }
  raw <- tryCatch(
    jsonlite::fromJSON(whole_text(path), simplifyVector = FALSE),
    error = function(e) stop_argument("path", "a file that is no JSON", "what AuditReport.to_json wrote in Python")
  )
  if (!is.list(raw) || !identical(raw$class, "AuditReport")) {
    stop_argument(
      "path", if (is.null(raw$class)) "JSON without a report" else paste("a", raw$class),
      "what AuditReport.to_json wrote in Python; a single result is saved with a report around it"
    )
  }
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

# Records (a list of named lists with NULL for missing) as a data frame.
records <- function(rows) {
  names <- unique(unlist(lapply(rows, names)))
  columns <- lapply(names, function(name) {
    unlist(lapply(rows, function(row) if (is.null(row[[name]])) NA else row[[name]]))
  })
  names(columns) <- names
  columns <- lapply(columns, function(x) if (is.integer(x)) as.numeric(x) else x)
  found <- as.data.frame(columns, stringsAsFactors = FALSE, optional = TRUE)
  numbers <- intersect(NUMBERS, names(found))
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
  "rate_reference", "bound_low", "bound_high", "null_mean", "bias_corrected", "mid_pvalue", "n_bins", "h_low", "h_high",
  "h_sup", "median", "observed", "p_rope", "undefined", "expected_if_equal", "confidence_level"
)

#' @export
print.fairstats_report <- function(x, ...) {
  cat(x$title, "\n", sep = "")
  cat("fairstats ", x$version, " (Python), ", x$created, "\n", sep = "")
  sections <- factor(x$table$section, unique(x$table$section))
  counts <- table(sections)
  cat(nrow(x$table), " rows: ", paste(names(counts), counts, collapse = ", "), "\n", sep = "")
  verdicts <- table(factor(x$table$verdict, c("violated", "undecided", "insufficient evidence", "satisfied")))
  cat(paste(verdicts, names(verdicts), collapse = ", "), "\n", sep = "")
  invisible(x)
}
