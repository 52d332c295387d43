# Tables from files: the rule of the Python package (fairstats/ground/reading/text.py), by
# independent code.

# What reads as missing in a text file beside the empty field, unless na_values says otherwise.
MISSING_TOKENS <- c(
  "#N/A",
  "#N/A N/A",
  "#NA",
  "-1.#IND",
  "-1.#QNAN",
  "-NaN",
  "-nan",
  "1.#IND",
  "1.#QNAN",
  "<NA>",
  "N/A",
  "NA",
  "NULL",
  "NaN",
  "None",
  "n/a",
  "nan",
  "null"
)

# A decimal number in ASCII, with blanks and tabs around it.
NUMBER <- "^[ \t]*[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?[ \t]*$"

#' Read a text file as the Python side reads it
#'
#' By base R, with the rule of `fairstats.read_table`: every field is text; the column's use decides
#' whether it becomes a number. The same file gives the same groups in R as in every engine of the
#' Python side.
#'
#' @param file A file with a line of names; also compressed by gzip, bzip2 or xz.
#' @param columns Names of the columns to read, by default all; those of `numbers` and `features`
#'   are read, too.
#' @param numbers Names of columns that are numbers: a field that is none is an error that shows its
#'   row.
#' @param features Names of columns that are numbers where every field is one, and categories where
#'   none is.
#' @param na_values What reads as missing beside the empty field, in place of the list of the Python
#'   side (NA, N/A, NaN, nan, null, NULL, None and others); `""`: the empty field alone.
#' @param sep Separator; by default a comma (in .tsv a tab), or what splits the first lines into
#'   equally many fields.
#' @param decimal Decimal mark of the numbers.
#' @param encoding Encoding of the file.
#'
#' @return A data frame; every column but `numbers` and numeric `features` is text as it is written:
#'   "01" and "1" are two labels.
#'
#' @seealso [fs_audit()]
#'
#' @examples
#' file <- tempfile(fileext = ".csv")
#' writeLines(c("code,score,hired", "01,0.5,NA", "1,0.25,yes"), file)
#' fs_read_table(file, numbers = "score")
#' @export
fs_read_table <- function(
  file,
  columns = NULL,
  numbers = character(),
  features = character(),
  na_values = NULL,
  sep = NULL,
  decimal = ".",
  encoding = "UTF-8"
) {
  need_arguments()
  if (
    !is.character(file) ||
      length(file) != 1L ||
      is.na(file) ||
      !file.exists(file) ||
      dir.exists(file)
  ) {
    stop_argument("file", listed(file), "an existing text file with a line of names")
  }
  tokens <- if (is.null(na_values)) MISSING_TOKENS else as.character(na_values)
  if (is.null(sep)) {
    sep <- recognised_separator(file, encoding)
  }
  check_lengths(file, sep, encoding)
  rows <- tryCatch(
    utils::read.table(
      file,
      header = TRUE,
      sep = sep,
      quote = "\"",
      dec = ".",
      fill = FALSE,
      comment.char = "",
      check.names = FALSE,
      colClasses = "character",
      na.strings = c("", tokens),
      strip.white = FALSE,
      blank.lines.skip = TRUE,
      fileEncoding = if (identical(encoding, "UTF-8")) "UTF-8-BOM" else encoding,
      stringsAsFactors = FALSE,
      row.names = NULL
    ),
    error = function(problem) {
      stop_argument(
        "file",
        paste0('"', file, '", which cannot be read (', conditionMessage(problem), ")"),
        "lines of as many fields as the first"
      )
    }
  )
  if (anyDuplicated(names(rows))) {
    stop_argument("file", "more than one column of a name", "columns with names of their own")
  }
  numbers <- as.character(numbers)
  features <- as.character(features)
  wanted <- unique(c(columns, numbers, features))
  unknown <- setdiff(wanted, names(rows))
  if (length(unknown)) {
    stop_argument(
      "file",
      paste("no column", listed(unknown)),
      paste("its columns", listed(names(rows)))
    )
  }
  if (!nrow(rows)) {
    stop_argument("file", "0 rows", "at least one row")
  }
  if (!is.null(columns)) {
    rows <- rows[wanted]
  }
  # a quoted empty field is empty, too: read.table keeps it as text of no letters
  rows[] <- lapply(rows, function(x) replace(x, !is.na(x) & !nzchar(x), NA_character_))
  for (name in numbers) {
    rows[[name]] <- text_to_numbers(rows[[name]], name, decimal, mixed = FALSE)
  }
  for (name in setdiff(features, numbers)) {
    fits <- is_number(rows[[name]], decimal) | is.na(rows[[name]])
    none <- !any(is_number(rows[[name]], decimal))
    if (all(fits) || !none) {
      rows[[name]] <- text_to_numbers(rows[[name]], name, decimal, mixed = !all(fits))
    }
  }
  rows
}

# Every record has as many fields as the line of names: read.table would shift or fill others.
check_lengths <- function(file, sep, encoding) {
  connection <- file(
    file,
    "rt",
    encoding = if (identical(encoding, "UTF-8")) "UTF-8-BOM" else encoding
  )
  on.exit(close(connection))
  # NA for the lines within quotes of a field that goes on
  fields <- utils::count.fields(connection, sep = sep, quote = "\"", comment.char = "")
  wrong <- which(!is.na(fields) & fields != fields[!is.na(fields)][1L])
  if (length(wrong)) {
    stop_argument(
      "file",
      paste0(
        '"',
        file,
        '", which cannot be read: ',
        fields[wrong[1L]],
        " fields in record ",
        wrong[1L]
      ),
      "lines of as many fields as the first"
    )
  }
}

is_number <- function(x, decimal = ".") {
  pattern <- if (decimal == ",") gsub("[.]", ",", NUMBER, fixed = TRUE) else NUMBER
  fits <- !is.na(x) & grepl(pattern, x)
  fits[fits] <- is.finite(as.numeric(plain_number(x[fits], decimal)))
  fits
}

plain_number <- function(x, decimal) {
  x <- gsub("^[ \t]+|[ \t]+$", "", x)
  if (decimal == ",") sub(",", ".", x, fixed = TRUE) else x
}

text_to_numbers <- function(x, name, decimal, mixed) {
  wrong <- which(!is.na(x) & !is_number(x, decimal))
  if (length(wrong)) {
    stop_argument(
      name,
      paste0('"', x[wrong[1L]], '" in row ', wrong[1L]),
      if (mixed) {
        "a feature whose fields are all numbers, or all categories"
      } else {
        "numbers, or fields that mean missing"
      }
    )
  }
  as.numeric(plain_number(x, decimal))
}

# The separator under which the first lines have equally many fields; a comma, or a tab in .tsv,
# where it fits.
recognised_separator <- function(file, encoding) {
  default <- if (grepl("[.]tsv([.][a-z0-9]+)?$", tolower(file))) "\t" else ","
  connection <- file(
    file,
    "rt",
    encoding = if (identical(encoding, "UTF-8")) "UTF-8-BOM" else encoding
  )
  on.exit(close(connection))
  lines <- readLines(connection, 50L, warn = FALSE)
  counts <- lapply(unique(c(default, ",", ";", "\t", "|", " ")), function(sep) {
    fields <- utils::count.fields(textConnection(lines), sep = sep, quote = "\"", comment.char = "")
    fields <- fields[!is.na(fields)]
    list(
      sep = sep,
      fits = length(fields) && fields[1L] > 1L && all(fields == fields[1L]),
      fields = fields[1L]
    )
  })
  fitting <- Filter(function(one) isTRUE(one$fits), counts)
  # A space stands within names and labels, too: it is one only where nothing else fits.
  if (length(fitting) > 1L) {
    fitting <- Filter(function(one) one$sep != " ", fitting)
  }
  if (!length(fitting)) {
    return(default)
  }
  if (fitting[[1L]]$sep == default) {
    return(default)
  }
  fitting[[which.max(vapply(fitting, function(one) one$fields, 0))]]$sep
}

# For Python: the names and rows of a data frame in an .rds file, and one column with the kind of
# its values.
rds_columns <- function(path) {
  rows <- rds_frame(path)
  list(names = as.list(names(rows)), n_rows = nrow(rows))
}

rds_column <- function(path, name) {
  x <- rds_frame(path)[[name]]
  if (is.factor(x)) {
    return(list(kind = "text", values = as.list(as.character(x))))
  }
  if (inherits(x, "Date")) {
    return(list(kind = "text", values = as.list(format(x, "%Y-%m-%d"))))
  }
  if (inherits(x, "POSIXt")) {
    return(list(kind = "text", values = as.list(format(x, "%Y-%m-%d %H:%M:%OS6"))))
  }
  if (is.logical(x)) {
    return(list(kind = "logical", values = as.numeric(x)))
  }
  if (is.integer(x)) {
    return(list(kind = "integer", values = as.numeric(x)))
  }
  if (is.numeric(x)) {
    return(list(kind = "double", values = as.numeric(x)))
  }
  if (is.character(x)) {
    return(list(kind = "text", values = as.list(x)))
  }
  stop_argument("file", paste("a column of class", class(x)[1L]), "vectors and factors")
}

rds_frame <- function(path) {
  rows <- readRDS(path)
  if (!is.data.frame(rows)) {
    stop_argument("file", paste("an object of class", class(rows)[1L]), "a data frame")
  }
  rows
}
