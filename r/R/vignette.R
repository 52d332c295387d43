# A vignette about the user's data with Python and R chunks, written by the command line of the Python side.
fs_vignette <- function(path, data, sensitive_features, y_true = NULL, y_pred = NULL, score = NULL, reference = NULL,
                        pos_label = NULL, ..., overwrite = FALSE, command = "fairstats") {
  if (!nzchar(Sys.which(command))) stop_argument("command", paste0('"', command, '", which is not on PATH'),
    "the program of pip install fairstats[cli]")
  given <- Filter(Negate(is.null), c(
    list(data = data, y_true = y_true, y_pred = y_pred, score = score, reference = reference, pos_label = pos_label),
    list(...), stats::setNames(as.list(sensitive_features), rep("group", length(sensitive_features)))))
  flags <- unlist(Map(function(name, value) c(name, shQuote(as.character(value))), paste0("--",
    gsub("_", "-", names(given), fixed = TRUE)), given))
  if (!isTRUE(overwrite) && !identical(overwrite, FALSE)) stop_argument("overwrite", listed(overwrite), "TRUE or FALSE")
  if (overwrite) flags <- c(flags, "--overwrite")
  said <- suppressWarnings(system2(command, c("vignettes", "new", shQuote(path), flags), stdout = TRUE, stderr = TRUE))
  if (!is.null(attr(said, "status"))) stop(paste(said, collapse = "\n"), call. = FALSE)
  invisible(path)
}
