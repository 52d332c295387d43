# Reports that the Python side writes (`AuditReport.to_json`): read without Python, and set beside an audit in R.

# The JSON file of a report, gzipped or not, as R objects: settings, tidy table, raw results.
fs_read_report <- function(path) {
  raw <- read_written(path, "AuditReport")
  version <- from_tagged(raw$versions)$fairstats
  if (is.null(version)) version <- NA_character_
  if (is.null(raw[["table"]])) {
    anew <- " (AuditReport.from_json(path).to_json(path) in Python writes it anew)"
    stop_argument("path", paste0("a report of fairstats ", version, " without `table`"),
      paste0("a report of fairstats ", own_version(), anew))
  }
  if (!is.na(own_version()) && !identical(version, own_version()))
    warning("the report was written by fairstats ", version, ", this is ", own_version(),
      ": columns that one of them lacks are NA", call. = FALSE)
  results <- unlist(lapply(raw$sections, function(section) {
    lapply(section$results, function(r) {
      c(from_tagged(r), list(section = section$key, attributes = unlist(section$attributes)))
    })
  }), recursive = FALSE)
  # records are named lists with NULL for missing
  table <- bind_rows(raw[["table"]])
  numbers <- names(table) %in% NUMBERS | vapply(table, is.integer, NA)
  table[numbers] <- lapply(table[numbers], as.numeric)
  columns <- from_tagged(raw$columns)
  within <- reported_strata(results)
  labels <- if (length(raw$tables)) from_tagged(raw$tables[[1L]]$missing)$unfavourable
  found <- list(title = raw$title, created = raw$created, version = version, columns = columns,
    settings = from_tagged(raw$settings), table = table, results = results, notes = unlist(raw$notes),
    stratified = within, labels = words_of_labels(labels, columns))
  found$head <- c(strata_sentence(within$disagreement, NROW(within)), found$labels)
  structure(found, class = "fairstats_report")
}

# The comparisons within strata of a report, with the sentence where crude and adjusted disagree; NULL without strata.
reported_strata <- function(results) {
  bind_rows(unlist(lapply(results, function(result) lapply(result$comparisons, function(c) {
    if (is.character(c$disagreement)) list(section = result$section,
      sensitive_features = paste(result$attributes, collapse = INTERSECTION), metric = c$metric, group = c$group,
      reference = c$reference, disagreement = c$disagreement)
  })), recursive = FALSE))
}

# The JSON that `to_json` of a class of Python wrote.
read_written <- function(path, class) {
  refuse <- function(got) stop_argument("path", got, paste0("the JSON file that ", class, ".to_json wrote in Python"))
  if (!is.character(path) || length(path) != 1L || is.na(path)) refuse(listed(path))
  if (!file.exists(path) || dir.exists(path)) refuse(paste0('"', path, '", which is no file'))
  no_json <- function(problem) refuse("a file that is no JSON")
  raw <- tryCatch(jsonlite::fromJSON(whole_text(path), simplifyVector = FALSE), error = no_json)
  found <- if (is.list(raw)) raw$class
  if (!identical(found, class)) refuse(if (is.character(found)) paste("a", found) else "JSON of something else")
  raw
}

# A file as one string, gzipped or not.
whole_text <- function(path) {
  connection <- gzfile(path, "r")
  on.exit(close(connection))
  paste(readLines(connection, encoding = "UTF-8", warn = FALSE), collapse = "\n")
}

# Version of this package; NA where its files are read without being installed.
own_version <- function() tryCatch(as.character(utils::packageVersion("fairstats")), error = function(e) NA_character_)

# What the Python side tags as an array, a mapping or a float that JSON lacks.
from_tagged <- function(x) {
  if (!is.list(x)) return(x)
  if (identical(names(x), "float")) return(as.numeric(sub("inity", "", x$float)))
  if (identical(names(x), "mapping")) return(lapply(x$mapping, from_tagged))
  if (!setequal(names(x), c("array", "dtype", "shape"))) return(lapply(x, from_tagged))
  values <- unlist(from_tagged(x$array))
  shape <- unlist(x$shape)
  if (length(shape) < 2L) values else aperm(array(values, rev(shape)), rev(seq_along(shape)))
}

# Columns of the table that hold numbers, in the order in which they are compared.
NUMBERS <- c("estimate", "std_error", "ci_low", "ci_high", "statistic", "pvalue", "pvalue_adjusted", "n", "n_reference",
  "rate", "rate_reference", "bound_low", "bound_high", "pvalue_verdict", "pvalue_verdict_adjusted", "null_mean",
  "bias_corrected", "mid_pvalue", "n_bins", "headline", "headline_null_mean", "h_low", "h_high", "h_sup", "median",
  "observed", "p_rope", "undefined",
  "expected_if_equal", "confidence_level", "interactions", "maximum", "n_synthetic", "simultaneous_low",
  "simultaneous_high", "acd", "acd_low", "acd_high", "acd_pvalue", "cvar", "cvar_low", "cvar_high", "cvar_pvalue",
  "location", "location_std_error", "scale", "scale_std_error", "shape", "shape_std_error", "threshold", "horizon",
  "crude", "n_strata", "pvalue_homogeneity")

print.fairstats_report <- function(x, ...) {
  cat(x$title, "\nfairstats ", x$version, " (Python), ", x$created, "\n", sep = "")
  print_sentences(x$head)
  counts <- table(factor(x$table$section, unique(x$table$section)))
  cat(nrow(x$table), " rows: ", paste(names(counts), counts, collapse = ", "), "\n", sep = "")
  # as in Python's report: changes between models, and from outcomes to predictions, are judged otherwise
  judged <- x$table$section != "models" & !grepl("amplification", x$table$metric)
  verdicts <- table(factor(x$table$verdict[judged], c("violated", "undecided", "insufficient evidence", "satisfied")))
  cat(paste(verdicts, names(verdicts), collapse = ", "), "\n", sep = "")
  invisible(x)
}

# An audit in R beside the report of the Python side, quantity by quantity; where the audit is the data or their file,
# they are audited with the columns and settings of the report first.
fs_compare <- function(report, audit, tolerance = 1e-6, quantities = NULL, na_values = NULL) {
  if (is.character(report)) report <- fs_read_report(report)
  if (!inherits(report, "fairstats_report"))
    stop_argument("report", paste("a", class(report)[1L]), "what fs_read_report() returned, or the path of the file")
  if (is.character(audit) && length(audit) == 1L && file.exists(audit))
    audit <- rows_of_report(report, audit, na_values)
  allowed <- "what fs_audit() returned, the data, or the path of their file"
  if (!is.list(audit)) stop_argument("audit", paste("a", class(audit)[1L]), allowed)
  if (!all(c("sensitive_features", "metric", "group") %in% names(audit))) audit <- audit_as_reported(report, audit)
  numbers_in(tolerance, "tolerance", 0)
  if (is.null(quantities)) quantities <- NUMBERS
  keys <- row_keys(report$table)
  own <- row_keys(audit)
  quantities <- quantities[quantities %in% names(report$table) & quantities %in% names(audit)]
  any_exact <- any(grepl("exact", as_text(report$table$method)))
  found <- do.call(rbind, c(list(compared_as(report$table[0L, ])), lapply(keys[keys %in% own], function(key) {
    compare_rows(report$table[match(key, keys), ], audit[match(key, own), ], quantities, tolerance, any_exact)
  })))
  found <- rbind(found, compared_strata(report$stratified, attr(audit, "stratified")),
    compared_labels(report$labels, attr(audit, "labels")))
  rownames(found) <- NULL
  place <- function(rows) unique(paste(rows$section, rows$sensitive_features, rows$metric, sep = ": "))
  missing <- list(python_only = place(report$table[!keys %in% own, ]), r_only = place(audit[!own %in% keys, ]))
  settings <- attr(audit, "settings")
  different <- Filter(function(name) !isTRUE(all.equal(report$settings[[name]], settings[[name]])),
    intersect(names(report$settings), names(settings)))
  structure(found, class = c("fairstats_comparison", "data.frame"), missing = missing, settings = different)
}

# Whether both say the same where crude and adjusted comparison disagree: a row for each that either says.
compared_strata <- function(theirs, ours) {
  if (!NROW(theirs) || !NROW(ours)) return(NULL)
  at <- match(row_keys(theirs), row_keys(ours))
  theirs <- theirs[!is.na(at), ]
  said <- cbind(theirs$disagreement, ours$disagreement[at[!is.na(at)]])
  any_said <- nzchar(said[, 1L]) | nzchar(said[, 2L])
  theirs <- theirs[any_said, ]
  other <- as.numeric(said[any_said, 1L] != said[any_said, 2L])
  if (!length(other)) return(NULL)
  none <- rep(NA_real_, length(other))
  compared_as(theirs, rep("sentence", length(other)), none, none, other, 0 * other, other == 0)
}

# Whether both name the same labels that count as unfavourable, where both had several: other codes of the same outcome
# are no disagreement.
compared_labels <- function(theirs, ours) {
  if (!length(theirs) || !length(ours)) return(NULL)
  other <- as.numeric(!identical(theirs, ours))
  about <- data.frame(section = "head", sensitive_features = "", metric = "labels", group = "", reference = "")
  compared_as(about, "sentence", NA_real_, NA_real_, other, 0, other == 0)
}

# The rows of a report from their file, each column read as what the report used it for.
rows_of_report <- function(report, path, na_values) {
  columns <- report$columns
  numbers <- c(columns$score, columns$sample_weight, columns$model_scores, columns$counterfactual_scores)
  labels <- c(columns$sensitive_features, columns$y_true, columns$y_pred, columns$cluster, columns$strata,
    columns$models)
  fs_read_table(path, columns = unique(unlist(labels)), numbers = unique(unlist(numbers)),
    features = unlist(columns$features), na_values = na_values)
}

# The audit of the data with the columns and settings of a report.
audit_as_reported <- function(report, data) {
  columns <- report$columns
  settings <- report$settings
  if (any(unlist(settings$references) == "highest") || identical(settings$missing, "group"))
    stop_argument("report", 'a report with reference "highest" or missing = "group"',
      "one with a named or the largest reference")
  own <- function(value) if (is.null(value)) 1 else value
  names <- unlist(columns$sensitive_features)
  alike <- c("confidence_level", "threshold", "margin", "method", "comparisons", "simultaneous", "adjust", "missing",
    "n_resamples")
  found <- do.call(fs_audit, c(list(data, sensitive_features = names, reference = unlist(settings$references),
    pos_label = list(y_true = own(columns$pos_label_true), y_pred = own(columns$pos_label_pred)),
    features = unlist(columns$features), label_values = if (length(columns$label_values)) columns$label_values,
    counterfactual_score = if (length(columns$counterfactual_scores)) columns$counterfactual_scores,
    intersections = paste(names, collapse = INTERSECTION) %in% report$table$sensitive_features),
    columns[intersect(c("y_true", "y_pred", "score", "sample_weight", "cluster", "strata"), names(columns))],
    settings[intersect(alike, names(settings))]))
  # adjusted over the whole audit, with p-values that are random among them
  if (identical(settings$family, "audit")) found$pvalue_adjusted <- NA_real_
  found
}

as_text <- function(x) ifelse(is.na(x), "", as.character(x))

# What identifies a row, the number of interactions of a level among it; the groups of a largest gap have no order, and
# are a result.
row_keys <- function(table) {
  unordered <- function(groups) ifelse(grepl("_max$", table$metric), "", as_text(groups))
  interactions <- if (is.null(table$interactions)) "" else as_text(table$interactions)
  paste(table$section, table$sensitive_features, table$metric, unordered(table$group), unordered(table$reference),
    interactions, sep = "\r")
}

# Rows of a comparison: quantities of a row of the report in both.
compared_as <- function(theirs, quantity = character(), python = numeric(), r = numeric(), difference = numeric(),
                        tolerance = numeric(), agree = logical()) {
  data.frame(section = theirs$section, sensitive_features = theirs$sensitive_features, metric = theirs$metric,
    group = as_text(theirs$group), reference = as_text(theirs$reference), quantity = quantity, python = python, r = r,
    difference = difference, tolerance = tolerance, agree = agree, stringsAsFactors = FALSE)
}

compare_rows <- function(theirs, ours, quantities, tolerance, any_exact) {
  p <- vapply(quantities, function(q) as.numeric(theirs[[q]]), 0)
  r <- vapply(quantities, function(q) as.numeric(ours[[q]]), 0)
  random <- vapply(quantities, function(q) max(ours[[paste0("mc_", q)]], 0, na.rm = TRUE), 0)
  # what two optimisers find of a tail, and their second derivatives, which packages take by differences
  fitted <- theirs$section == "ecd" && !grepl("ACD|average", theirs$metric)
  loose <- if (fitted) ifelse(grepl("std_error$", quantities), 1e4, 1e2) else {
    exact_looseness(theirs, quantities, any_exact)
  }
  # limits by exact tests move by steps of the search, also near 0
  least <- ifelse(loose == LOOSE_LIMIT, 0.5, 1e-3)
  allowed <- loose * tolerance * pmax(abs(p), least) + 5 * random
  apart <- abs(p - r)
  # JSON has no infinity: there the table is missing
  keep <- !is.na(p) & is.finite(r)
  found <- if (any(keep))
    compared_as(theirs, quantities[keep], p[keep], r[keep], apart[keep], allowed[keep], apart[keep] <= allowed[keep])
  if (!is.null(theirs$crude_verdict) && !is.null(ours$crude_verdict) && !is.na(theirs$crude_verdict)) {
    other <- as.numeric(!identical(theirs$crude_verdict, ours$crude_verdict))
    found <- rbind(found, compared_as(theirs, "crude_verdict", NA_real_, NA_real_, other, 0, other == 0))
  }
  verdicts <- c(as_text(theirs$verdict), as_text(ours$verdict))
  if (!all(nzchar(verdicts))) return(found)
  other <- verdicts[1L] != verdicts[2L]
  # it may differ where a random bound lies within its error of the border, and so on both sides of it
  errors <- random[names(random) %in% c("bound_low", "bound_high")]
  moved <- abs(c(theirs$bound_low - ours$bound_low, theirs$bound_high - ours$bound_high))
  near <- any(errors > 0) && all(moved[!is.na(moved)] <= 5 * max(errors))
  agree <- !other || near
  rbind(found, compared_as(theirs, "verdict", NA_real_, NA_real_, as.numeric(other), as.numeric(other && agree), agree))
}

# How many times the tolerance of other numbers limits by exact tests have.
LOOSE_LIMIT <- 1000

# How many times the tolerance of other numbers exact tests have. Their p-values are maxima over nuisance rates, which
# either side seeks on a grid of its own; limits follow them, and jump where p does. An adjusted p-value may be that of
# another row, where `any_exact` of the report is by such tests.
exact_looseness <- function(theirs, quantities, any_exact) {
  # a largest gap may rest on exact tests of its pairs
  exact <- theirs$section == "rates" && (grepl("exact", as_text(theirs$method)) || grepl("_max$", theirs$metric))
  loose <- rep(1, length(quantities))
  if (theirs$section == "rates" && any_exact) loose[grepl("pvalue.*_adjusted$", quantities)] <- 200
  if (!exact) return(loose)
  loose[grepl("pvalue", quantities)] <- 200
  loose[grepl("^(ci|bound)_", quantities)] <- LOOSE_LIMIT
  loose
}

print.fairstats_comparison <- function(x, most = 20L, ...) {
  if (!all(c("agree", "quantity") %in% names(x))) return(print.data.frame(x, ...))
  settings <- attr(x, "settings")
  missing <- attr(x, "missing")
  if (length(settings)) cat("Different settings: ", paste(settings, collapse = ", "), "\n", sep = "")
  if (length(missing$python_only)) cat("Only in the report: ", listed(missing$python_only), "\n", sep = "")
  if (length(missing$r_only)) cat("Only in R: ", listed(missing$r_only), "\n", sep = "")
  wrong <- x[!x$agree, c("sensitive_features", "metric", "group", "quantity", "python", "r", "tolerance")]
  if (nrow(wrong)) print.data.frame(utils::head(as.data.frame(wrong), most), row.names = FALSE)
  if (nrow(wrong) > most) cat("...\n")
  cat(sum(x$agree), " of ", nrow(x), " agree\n", sep = "")
  invisible(x)
}
