# A small JSON writer: every number with 17 significant digits, so that doubles survive.

json <- function(x) {
  if (is.null(x)) {
    return("null")
  }
  if (is.list(x)) {
    parts <- vapply(x, json, "")
    if (is.null(names(x))) {
      return(paste0("[", paste(parts, collapse = ","), "]"))
    }
    return(paste0("{", paste0(json_text(names(x)), ":", parts, collapse = ",\n"), "}"))
  }
  if (is.matrix(x)) {
    return(json(unname(apply(x, 1L, function(row) I(row), simplify = FALSE))))
  }
  if (!length(x)) {
    return("[]")
  }
  array <- inherits(x, "AsIs") || length(x) != 1L
  values <- if (is.character(x)) {
    json_text(x)
  } else if (is.logical(x)) {
    tolower(x)
  } else {
    json_number(x)
  }
  values[is.na(x) & !is.nan(x)] <- "null"
  if (array) paste0("[", paste(values, collapse = ","), "]") else values
}

json_number <- function(x) {
  if (is.factor(x)) {
    stop("a factor is not a number")
  }
  values <- if (is.integer(x)) sprintf("%d", x) else sprintf("%.17g", x)
  values[is.nan(x)] <- "{\"float\":\"NaN\"}"
  values[is.infinite(x)] <- ifelse(
    x[is.infinite(x)] > 0,
    "{\"float\":\"Infinity\"}",
    "{\"float\":\"-Infinity\"}"
  )
  values
}

json_text <- function(x) {
  x <- gsub("\\", "\\\\", enc2utf8(x), fixed = TRUE)
  x <- gsub("\"", "\\\"", x, fixed = TRUE)
  paste0("\"", gsub("\n", "\\n", x, fixed = TRUE), "\"")
}

write_json <- function(x, path) {
  writeLines(json(x), path, useBytes = TRUE)
  cat("wrote", path, file.size(path), "bytes\n")
}

# Folder of this script, to find its neighbours wherever it is called from.
here <- function() {
  file <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))
  if (length(file)) dirname(normalizePath(file)) else file.path("r", "reference")
}

package_versions <- function(packages) {
  there <- packages[vapply(packages, requireNamespace, NA, quietly = TRUE)]
  c(
    list(
      R = R.version.string,
      platform = R.version$platform,
      RNGkind = paste(RNGkind(), collapse = "/")
    ),
    lapply(setNames(nm = there), function(p) as.character(utils::packageVersion(p)))
  )
}
