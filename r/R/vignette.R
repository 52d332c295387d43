# A vignette about the user's data with Python and R chunks, written by the command line of the
# Python side.

#' Write a vignette about your own data
#'
#' An R Markdown file with Python and R chunks side by side: data, rates, scores, posteriors,
#' cross-check, limits. The sentences that it prints are computed from the data. It is written by
#' the command line of the Python side, and built by `rmarkdown::render()`, or by
#' `fairstats vignettes build`, also without R; next month's rows are a parameter of its head,
#' `rmarkdown::render(path, params = list(data = "july.csv"))`.
#'
#' @param path The file to write, `.Rmd` or `.qmd`.
#' @param data File with one row per person.
#' @param sensitive_features Its sensitive columns.
#' @param y_true,y_pred,score Columns of outcome, prediction and score.
#' @param reference,pos_label Reference group and favourable value.
#' @param ... Further options of `fairstats vignettes new`, as `margin = 0.05`.
#' @param overwrite Whether a file that is there may be replaced; the file of the data never is.
#' @param command The program of the Python side.
#'
#' @return The path, invisibly.
#'
#' @examples
#' if (nzchar(Sys.which("fairstats"))) {
#'   people <- system.file("extdata", "people.csv", package = "fairstats")
#'   fs_vignette(tempfile(fileext = ".Rmd"), people, "sex", y_pred = "hired")
#' }
#' @export
fs_vignette <- function(
  path,
  data,
  sensitive_features,
  y_true = NULL,
  y_pred = NULL,
  score = NULL,
  reference = NULL,
  pos_label = NULL,
  ...,
  overwrite = FALSE,
  command = "fairstats"
) {
  need_arguments()
  if (!nzchar(Sys.which(command))) {
    stop_argument(
      "command",
      paste0('"', command, '", which is not on PATH'),
      "the program of pip install fairstats[cli]"
    )
  }
  given <- Filter(
    Negate(is.null),
    c(
      list(
        data = data,
        y_true = y_true,
        y_pred = y_pred,
        score = score,
        reference = reference,
        pos_label = pos_label
      ),
      list(...),
      stats::setNames(as.list(sensitive_features), rep("group", length(sensitive_features)))
    )
  )
  flags <- unlist(Map(
    function(name, value) c(name, shQuote(as.character(value))),
    paste0("--", gsub("_", "-", names(given), fixed = TRUE)),
    given
  ))
  if (!isTRUE(overwrite) && !identical(overwrite, FALSE)) {
    stop_argument("overwrite", listed(overwrite), "TRUE or FALSE")
  }
  if (overwrite) {
    flags <- c(flags, "--overwrite")
  }
  said <- suppressWarnings(system2(
    command,
    c("vignettes", "new", shQuote(path), flags),
    stdout = TRUE,
    stderr = TRUE
  ))
  if (!is.null(attr(said, "status"))) {
    stop(paste(said, collapse = "\n"), call. = FALSE)
  }
  invisible(path)
}
