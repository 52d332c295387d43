# Counts of outcome and prediction per group that the Python side made where the data are
# (`Tally.to_json`), without a row of a person; fs_audit() takes them in place of a data frame.

#' Read a tally that the Python side wrote
#'
#' The JSON file of `Tally.to_json` (`fairstats tally FILE --out t.json`): counts of outcome and
#' prediction per group, made where the data are, without a row of a person. [fs_audit()] takes what
#' it returns in place of a data frame.
#'
#' @param path The file.
#'
#' @return A list of class `fairstats_tally`: `attributes` (names of the sensitive columns),
#'   `strata` (that of the strata, where there is one), `cells` (data frame: a column for each
#'   attribute, `y_true` and `y_pred` as 0 and 1 where they were counted, and the number of rows
#'   `n`), `columns` (their names in the table that was counted), `missing`.
#'
#' @seealso [fs_audit()], [fs_read_report()]
#'
#' @examples
#' path <- system.file("extdata", "tally.json", package = "fairstats")
#' counted <- fs_read_tally(path)
#' counted$cells
#' fs_audit(counted, reference = "male", draws = 0)
#' @export
fs_read_tally <- function(path) {
  need_arguments()
  raw <- read_written(path, "Tally")
  if (is.null(raw$cells)) {
    stop_argument("path", "a tally without cells", "a tally of outcomes or predictions")
  }
  if (!is.null(raw$cells$scatter)) {
    stop_argument("path", "a tally of weighted or clustered rows", "a tally of plain rows")
  }
  cells <- tally_cells(unlist(raw$cells$cells), isTRUE(raw$of_labels))
  attributes <- unlist(raw$attributes)
  levels <- matrix(
    unlist(raw$levels),
    ncol = length(attributes),
    byrow = TRUE,
    dimnames = list(NULL, attributes)
  )
  counts <- from_tagged(raw$cells$rows)
  found <- do.call(
    rbind,
    lapply(seq_len(nrow(counts)), function(g) {
      data.frame(
        as.list(levels[g, ]),
        cells,
        n = counts[g, ],
        check.names = FALSE,
        stringsAsFactors = FALSE
      )
    })
  )
  found <- stats::aggregate(found["n"], found[names(found) != "n"], sum) # the second prediction, if any, is summed over
  strata <- NULL
  if (isTRUE(raw$stratified)) {
    strata <- attributes[length(attributes)]
    attributes <- attributes[-length(attributes)]
  }
  structure(
    list(
      attributes = attributes,
      strata = strata,
      cells = found,
      columns = from_tagged(raw$columns),
      missing = from_tagged(raw$cells$missing)
    ),
    class = "fairstats_tally"
  )
}

# Outcome and prediction of every cell, in the order of the columns of the counts.
tally_cells <- function(cell, of_labels) {
  if (length(cell) == 2L) {
    return(stats::setNames(data.frame(c(1L, 0L)), if (of_labels) "y_true" else "y_pred"))
  }
  if (length(cell) == 4L) {
    return(data.frame(y_true = c(1L, 0L, 1L, 0L), y_pred = c(1L, 1L, 0L, 0L)))
  }
  data.frame(y_true = as.integer(substr(cell, 1L, 1L)), y_pred = as.integer(substr(cell, 2L, 2L)))
}

# The rows that a tally stands for, at most so many.
MOST_ROWS <- 2e7

tally_rows <- function(tally) {
  n <- tally$cells$n
  if (sum(n) > MOST_ROWS) {
    stop_argument(
      "data",
      paste("a tally of", format(sum(n), big.mark = ","), "rows"),
      "20,000,000 rows at most"
    )
  }
  rows <- tally$cells[rep(seq_along(n), n), names(tally$cells) != "n", drop = FALSE]
  rownames(rows) <- NULL
  rows
}
