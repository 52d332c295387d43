# The table of metrics that R and Python share, inst/metrics.json: rates with their formulas over
# the cells as text, criteria, and the metrics that compare rates between groups. A metric that is
# added there needs no line here.

CELLS <- c("tp", "fp", "fn", "tn")
# Contrast -> how the name of a metric ends that is made of a rate.
ENDINGS <- c(ratio = "_ratio", difference = "_difference", odds_ratio = "_odds_ratio", gap = "_max")

# Entries by name: registry("rates"), registry("criteria"), registry("metrics").
registry <- local({
  kept <- NULL
  function(part) {
    if (is.null(kept)) {
      kept <<- lapply(from_json(whole_text(registry_file())), function(entries) {
        stats::setNames(entries, vapply(entries, `[[`, "", "name"))
      })
    }
    kept[[part]]
  }
})

# Beside the sources where these are read without being installed (CODE_FOLDER: where), else of the
# package.
registry_file <- function() {
  beside <- file.path(get0("CODE_FOLDER"), "..", "inst", "metrics.json")
  found <- Filter(file.exists, c(beside, system.file("metrics.json", package = "fairstats")))
  if (!length(found)) {
    stop("inst/metrics.json, the table of metrics, is not there", call. = FALSE)
  }
  found[1L]
}

# JSON as R lists, in base R: its words outside of quotes are turned into R's.
from_json <- function(text) {
  words <- regmatches(text, gregexpr("\"(\\\\.|[^\"\\\\])*\"|[^\"]+", text, perl = TRUE))[[1L]]
  plain <- !startsWith(words, "\"")
  r <- c(
    "[[{]" = "list(",
    "[]}]" = ")",
    ":" = "=",
    "\\bnull\\b" = "NULL",
    "\\btrue\\b" = "TRUE",
    "\\bfalse\\b" = "FALSE",
    "\\bInfinity\\b" = "Inf",
    "\\bNaN\\b" = "NaN"
  )
  for (word in names(r)) {
    words[plain] <- gsub(word, r[[word]], words[plain], perl = TRUE)
  }
  words[!plain] <- gsub("\\\\/", "/", words[!plain]) # R has no escaped slash
  eval(str2lang(paste(words, collapse = "")), baseenv())
}

formula_of <- function(rate) {
  entry <- registry("rates")[[rate]]
  if (is.null(entry)) {
    stop_argument("metric", paste("the unknown rate", rate), listed(names(registry("rates")), 99L))
  }
  str2lang(entry$formula)
}

# Success and case cells (columns) of a quotient of sums of cells, the one among the other, or of
# the several quotients that a formula is the mean of; NULL for other functions.
quotients_of <- function(formula) {
  formula <- bare(formula)
  if (!is_call(formula, "/")) {
    return(NULL)
  }
  top <- terms_of(formula[[2L]])
  if (identical(formula[[3L]], as.numeric(length(top)))) {
    parts <- lapply(top, quotients_of)
    return(if (all(lengths(parts) == 1L)) unlist(parts, recursive = FALSE))
  }
  both <- lapply(list(top, terms_of(formula[[3L]])), function(side) {
    if (all(vapply(side, is.name, NA))) match(vapply(side, as.character, ""), CELLS)
  })
  if (anyNA(unlist(both)) || !length(both[[1L]]) || !all(both[[1L]] %in% both[[2L]])) {
    return(NULL)
  }
  list(list(success = both[[1L]], case = both[[2L]]))
}

is_call <- function(x, name) is.call(x) && identical(x[[1L]], as.name(name))
bare <- function(x) if (is_call(x, "(")) bare(x[[2L]]) else x
terms_of <- function(x) {
  x <- bare(x)
  if (is_call(x, "+") && length(x) == 3L) c(terms_of(x[[2L]]), terms_of(x[[3L]])) else list(x)
}

# What cell_metric() takes, of the name of a rate. A table of selected and not knows one rate.
as_metric <- function(rate, n_cells) {
  if (grepl("@", rate, fixed = TRUE)) {
    return(as_class_metric(rate, n_cells))
  }
  if (n_cells == 2L) {
    return(list(parts = list(list(success = 1, case = 1:2))))
  }
  formula <- formula_of(rate)
  list(parts = quotients_of(formula), formula = formula, range = range_of_rate(rate))
}

# The least and the largest value of a rate of the table; one without an end has none there.
range_of_rate <- function(rate) {
  entry <- registry("rates")[[rate]]
  end <- function(value, none) if (is.numeric(value)) value else none
  c(end(entry$low, -Inf), end(entry$high, Inf))
}

# A metric by its name, one of the table, or a rate or criterion with an ending: `rates`,
# `contrast`, and the names of its `rows`.
find_metric <- function(name) {
  if (!is.character(name) || length(name) != 1L) {
    stop_argument("metric", listed(name), 'one name, e.g. "disparate_impact"')
  }
  entry <- registry("metrics")[[name]]
  if (is.null(entry)) {
    known <- c(
      lapply(registry("criteria"), `[[`, "rates"),
      as.list(stats::setNames(nm = names(registry("rates"))))
    )
    at <- which(vapply(names(known), function(r) any(name %in% paste0(r, ENDINGS)), NA))[1L]
    all <- paste(
      "a rate with _ratio, _difference or _max, or",
      listed(names(registry("metrics")), 99L)
    )
    if (is.na(at)) {
      stop_argument("metric", listed(name), all)
    }
    rates <- unlist(known[[at]])
    contrast <- names(ENDINGS)[match(name, paste0(names(at), ENDINGS))]
    entry <- list(
      rates = rates,
      contrast = contrast,
      components = if (length(rates) > 1L) paste0(rates, ENDINGS[[contrast]])
    )
  }
  rates <- unlist(entry$rates)
  rows <- unlist(entry$components)
  list(
    name = name,
    rates = rates,
    contrast = entry$contrast,
    rows = if (length(rows)) rows else rep(name, max(length(rates), 1L))
  )
}

# The metrics of an audit that the given columns allow; those of scores apart.
audited_metrics <- function(input) {
  has <- c(labels = !is.null(input$y_true), predictions = !is.null(input$y_pred))
  wanted <- Filter(
    function(entry) {
      length(entry$rates) > 0L &&
        all(has[unlist(entry$needs)]) &&
        (entry$audit == "yes" || (entry$audit == "labels only" && !has[["predictions"]]))
    },
    registry("metrics")
  )
  lapply(names(wanted), find_metric)
}
