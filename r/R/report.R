# Reports that the Python side writes (`AuditReport.to_json`): read without Python, and set beside
# an audit in R.

#' Read the report that the Python side writes
#'
#' The JSON file of `AuditReport.to_json` (`fairstats audit --json`, `fairstats demo --json`),
#' gzipped or not, as R objects. Nothing of Python is needed.
#'
#' @param path The file.
#'
#' @return A list of class `fairstats_report`: `title`, `created`, `version` (of fairstats that
#'   wrote it), `columns`, `settings`, `table` (data frame: the tidy table of all results),
#'   `results` (the raw lists, one per result, with `section` and `attributes`), `notes`,
#'   `stratified` (comparisons within strata, with the sentence where crude and adjusted disagree),
#'   `labels`, `claims` (the sentence of what holds over the whole audit) and `head` (the sentences
#'   that are printed first). Infinite values in `table` are missing, as JSON has none; `results`
#'   has them.
#'
#' @seealso [fs_compare()]
#'
#' @examples
#' path <- system.file("extdata", "report.json.gz", package = "fairstats")
#' report <- fs_read_report(path)
#' report
#' report$table[1:3, c("metric", "group", "estimate", "verdict")]
#' @export
fs_read_report <- function(path) {
  need_arguments()
  raw <- read_written(path, "AuditReport")
  version <- from_tagged(raw$versions)$fairstats
  if (is.null(version)) {
    version <- NA_character_
  }
  if (is.null(raw[["table"]])) {
    anew <- " (AuditReport.from_json(path).to_json(path) in Python writes it anew)"
    stop_argument(
      "path",
      paste0("a report of fairstats ", version, " without `table`"),
      paste0("a report of fairstats ", own_version(), anew)
    )
  }
  if (!is.na(own_version()) && !identical(version, own_version())) {
    warning(
      "the report was written by fairstats ",
      version,
      ", this is ",
      own_version(),
      ": columns that one of them lacks are NA",
      call. = FALSE
    )
  }
  results <- unlist(
    lapply(raw$sections, function(section) {
      lapply(section$results, function(r) {
        c(from_tagged(r), list(section = section$key, attributes = unlist(section$attributes)))
      })
    }),
    recursive = FALSE
  )
  # records are named lists with NULL for missing
  table <- bind_rows(records_of(raw[["table"]]))
  numbers <- names(table) %in% NUMBERS | vapply(table, is.integer, NA)
  table[numbers] <- lapply(table[numbers], as.numeric)
  columns <- from_tagged(raw$columns)
  within <- reported_strata(results)
  labels <- if (length(raw$tables)) from_tagged(raw$tables[[1L]]$missing)$unfavourable
  found <- list(
    title = raw$title,
    created = raw$created,
    version = version,
    columns = columns,
    settings = from_tagged(raw$settings),
    table = table,
    results = results,
    notes = unlist(raw$notes),
    stratified = within,
    labels = words_of_labels(labels, columns),
    claims = raw[["claims"]]
  )
  found$head <- c(found$claims, strata_sentence(within$disagreement, NROW(within)), found$labels)
  structure(found, class = "fairstats_report")
}

# The comparisons within strata of a report, with the sentence where crude and adjusted disagree;
# NULL without strata.
reported_strata <- function(results) {
  bind_rows(unlist(
    lapply(results, function(result) {
      lapply(result$comparisons, function(c) {
        if (is.character(c$disagreement)) {
          list(
            section = result$section,
            sensitive_features = paste(result$attributes, collapse = INTERSECTION),
            metric = c$metric,
            group = c$group,
            reference = c$reference,
            disagreement = c$disagreement
          )
        }
      })
    }),
    recursive = FALSE
  ))
}

# The JSON that `to_json` of a class of Python wrote.
read_written <- function(path, class) {
  refuse <- function(got) {
    stop_argument("path", got, paste0("the JSON file that ", class, ".to_json wrote in Python"))
  }
  if (!is.character(path) || length(path) != 1L || is.na(path)) {
    refuse(listed(path))
  }
  if (!file.exists(path) || dir.exists(path)) {
    refuse(paste0('"', path, '", which is no file'))
  }
  no_json <- function(problem) refuse("a file that is no JSON")
  raw <- tryCatch(jsonlite::fromJSON(whole_text(path), simplifyVector = FALSE), error = no_json)
  raw <- tryCatch(unpacked(raw), error = no_json)
  found <- if (is.list(raw)) raw$class
  if (!identical(found, class)) {
    refuse(if (is.character(found)) paste("a", found) else "JSON of something else")
  }
  raw
}

# The rows of a table that is written by columns; rows stay what they are.
records_of <- function(table) {
  if (is.null(names(table))) {
    return(table)
  }
  lapply(seq_along(table[[1L]]), function(row) lapply(table, function(column) column[[row]]))
}

# What `fairstats.report.packed` of Python stated once, as often as it stands there: objects by
# columns, equal values, texts by number, numbers by their bytes.
unpacked <- function(x) {
  if (!is.list(x)) {
    return(x)
  }
  keys <- names(x)
  if ("@numbers" %in% keys) {
    return(read_numbers(x))
  }
  if ("@codes" %in% keys) {
    return(x[["@levels"]][unlist(unpacked(x[["@codes"]])) + 1L])
  }
  if (!"@rows" %in% keys) {
    return(lapply(x, unpacked))
  }
  count <- x[["@rows"]]
  if ("@same" %in% keys) {
    return(rep(list(unpacked(x[["@same"]])), count))
  }
  columns <- lapply(if ("@columns" %in% keys) x[["@columns"]] else x[["@entries"]], unpacked)
  lapply(seq_len(count), function(row) lapply(columns, function(column) column[[row]]))
}

read_numbers <- function(x) {
  shape <- unlist(x[["@shape"]])
  bytes <- memDecompress(jsonlite::base64_dec(x[["@bytes"]]), "gzip")
  whole <- x[["@numbers"]] == "i4"
  values <- readBin(
    bytes,
    if (whole) "integer" else "double",
    prod(shape),
    if (whole) 4L else 8L,
    endian = "little"
  )
  nested <- function(values, shape) {
    if (length(shape) < 2L) {
      return(as.list(values))
    }
    size <- prod(shape[-1L])
    lapply(seq_len(shape[1L]), function(k) {
      nested(values[(k - 1L) * size + seq_len(size)], shape[-1L])
    })
  }
  nested(values, shape)
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

# What the Python side tags as an array, a mapping or a float that JSON lacks.
from_tagged <- function(x) {
  if (!is.list(x)) {
    return(x)
  }
  if (identical(names(x), "float")) {
    return(as.numeric(sub("inity", "", x$float)))
  }
  if (identical(names(x), "mapping")) {
    return(lapply(x$mapping, from_tagged))
  }
  if (!setequal(names(x), c("array", "dtype", "shape"))) {
    return(lapply(x, from_tagged))
  }
  values <- unlist(from_tagged(x$array))
  shape <- unlist(x$shape)
  if (length(shape) < 2L) values else aperm(array(values, rev(shape)), rev(seq_along(shape)))
}

# p-values over the whole audit: of the same rows alone they are alike.
OVER_AUDIT <- c("pvalue_audit", "pvalue_verdict_audit")

# Columns of the table that hold numbers, in the order in which they are compared.
NUMBERS <- c(
  "estimate",
  "std_error",
  "ci_low",
  "ci_high",
  "statistic",
  "pvalue",
  "pvalue_adjusted",
  "n",
  "n_reference",
  "rate",
  "rate_reference",
  "value",
  "value_reference",
  "share",
  "shrunken_rate",
  "pvalue_search",
  "bound_low",
  "bound_high",
  "pvalue_verdict",
  "pvalue_verdict_adjusted",
  "null_mean",
  "bias_corrected",
  "mid_pvalue",
  "n_bins",
  "headline",
  "headline_null_mean",
  "h_low",
  "h_high",
  "h_sup",
  "median",
  "observed",
  "p_rope",
  "undefined",
  "expected_if_equal",
  "confidence_level",
  "interactions",
  "maximum",
  "n_synthetic",
  "simultaneous_low",
  "simultaneous_high",
  "acd",
  "acd_low",
  "acd_high",
  "acd_pvalue",
  "cvar",
  "cvar_low",
  "cvar_high",
  "cvar_pvalue",
  "location",
  "location_std_error",
  "scale",
  "scale_std_error",
  "shape",
  "shape_std_error",
  "threshold",
  "horizon",
  "crude",
  "n_strata",
  "pvalue_homogeneity",
  OVER_AUDIT
)

#' @rdname fairstats-methods
#' @export
print.fairstats_report <- function(x, ...) {
  cat(x$title, "\nfairstats ", x$version, " (Python), ", x$created, "\n", sep = "")
  print_sentences(x$head)
  counts <- table(factor(x$table$section, unique(x$table$section)))
  cat(nrow(x$table), " rows: ", paste(names(counts), counts, collapse = ", "), "\n", sep = "")
  # as in Python's report: changes between models, and from outcomes to predictions, are judged
  # otherwise
  judged <- x$table$section != "models" & !grepl("amplification", x$table$metric)
  verdicts <- table(factor(
    x$table$verdict[judged],
    c("violated", "undecided", "insufficient evidence", "satisfied")
  ))
  cat(paste(verdicts, names(verdicts), collapse = ", "), "\n", sep = "")
  invisible(x)
}

#' Set an audit in R beside the report of the Python side
#'
#' Every number that both give, quantity by quantity. What is deterministic must agree within
#' `tolerance`, relative to the larger of 1e-3 and the number itself; what is random within five
#' Monte Carlo errors of the difference of two runs (the `mc_` columns of the audit) more than that.
#' What is fitted to the tails of the section `"ecd"` may differ by 100 times `tolerance`, as two
#' optimisers do, and standard errors there by 10,000 times (second derivatives by differences).
#' Verdicts are compared as text, and so are the sentences of both where crude and adjusted
#' comparisons disagree, and which labels counted as unfavourable. What holds over the whole audit
#' (p-values, claims and the sentence at the head) is compared where the rows with a p-value are the
#' same in both. What one side lacks is listed and not counted as agreement.
#'
#' @param report From [fs_read_report()], or the path of the file.
#' @param audit From [fs_audit()], with the same columns and settings; or the data frame that the
#'   report was made from, or its CSV file, read by [fs_read_table()], which is then audited with
#'   the columns and settings of the report.
#' @param tolerance Relative tolerance of what is deterministic.
#' @param quantities Columns to compare; default all numbers of the tidy table.
#' @param na_values What reads as missing in that file, as in [fs_read_table()].
#'
#' @return A data frame of class `fairstats_comparison`: section, sensitive_features, metric, group,
#'   reference, quantity, python, r, difference (absolute), tolerance (absolute), agree. A verdict
#'   that agrees has difference 0. Its attribute `missing` lists rows that only one side has,
#'   `not_compared` what base R bounds no error of (tails whose fit ends at the shape -1); it prints
#'   the disagreements and "N of N agree".
#'
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' report <- fs_read_report(system.file("extdata", "report.json.gz", package = "fairstats"))
#' audit <- fs_audit(cbind(qualified, hired) ~ sex, people, reference = "male",
#'   pos_label = list(y_true = "yes", y_pred = 1), draws = 0
#' )
#' compared <- fs_compare(report, audit)
#' head(as.data.frame(compared)[, c("metric", "group", "quantity", "python", "r")], 3)
#' compared
#' # with the data in place of an audit all of it is computed, which takes half a minute:
#' # fs_compare(report, people)
#' @export
fs_compare <- function(report, audit, tolerance = 1e-6, quantities = NULL, na_values = NULL) {
  need_arguments()
  if (is.character(report)) {
    report <- fs_read_report(report)
  }
  if (!inherits(report, "fairstats_report")) {
    stop_argument(
      "report",
      paste("a", class(report)[1L]),
      "what fs_read_report() returned, or the path of the file"
    )
  }
  if (is.character(audit) && length(audit) == 1L && file.exists(audit)) {
    audit <- rows_of_report(report, audit, na_values)
  }
  allowed <- "what fs_audit() returned, the data, or the path of their file"
  if (!is.list(audit)) {
    stop_argument("audit", paste("a", class(audit)[1L]), allowed)
  }
  numbers_in(tolerance, "tolerance", 0)
  if (!all(c("sensitive_features", "metric", "group") %in% names(audit))) {
    audit <- audit_as_reported(report, audit)
  }
  if (is.null(quantities)) {
    quantities <- NUMBERS
  }
  keys <- row_keys(report$table)
  own <- row_keys(audit)
  quantities <- quantities[quantities %in% names(report$table) & quantities %in% names(audit)]
  same_family <- same_family_of(report, audit, keys, own)
  if (!same_family) {
    quantities <- setdiff(quantities, OVER_AUDIT)
  }
  any_exact <- any(grepl("exact", as_text(report$table$method)))
  error <- 1 - report$settings$confidence_level
  found <- do.call(
    rbind,
    c(
      list(compared_as(report$table[0L, ])),
      lapply(keys[keys %in% own], function(key) {
        compare_rows(
          report$table[match(key, keys), ],
          audit[match(key, own), ],
          quantities,
          tolerance,
          any_exact,
          error
        )
      })
    )
  )
  found <- rbind(
    found,
    compared_strata(report$stratified, attr(audit, "stratified")),
    compared_labels(report$labels, attr(audit, "labels"))
  )
  if (same_family) {
    found <- rbind(found, compared_claims(report$claims, attr(audit, "claims"), found))
  }
  # what has no bound on its Monte Carlo error here would agree with anything
  unbounded <- is.infinite(found$tolerance)
  not_compared <- unique(paste0(found$sensitive_features, ": ", found$metric, ", ", found$quantity)[
    unbounded
  ])
  found <- found[!unbounded, ]
  rownames(found) <- NULL
  place <- function(rows) {
    unique(paste(rows$section, rows$sensitive_features, rows$metric, sep = ": "))
  }
  missing <- list(
    python_only = place(report$table[!keys %in% own, ]),
    r_only = place(audit[!own %in% keys, ])
  )
  settings <- attr(audit, "settings")
  different <- Filter(
    function(name) !isTRUE(all.equal(report$settings[[name]], settings[[name]])),
    intersect(names(report$settings), names(settings))
  )
  structure(
    found,
    class = c("fairstats_comparison", "data.frame"),
    missing = missing,
    settings = different,
    not_compared = not_compared
  )
}

# Whether both say the same where crude and adjusted comparison disagree: a row for each that either
# says.
compared_strata <- function(theirs, ours) {
  if (!NROW(theirs) || !NROW(ours)) {
    return(NULL)
  }
  at <- match(row_keys(theirs), row_keys(ours))
  theirs <- theirs[!is.na(at), ]
  said <- cbind(theirs$disagreement, ours$disagreement[at[!is.na(at)]])
  any_said <- nzchar(said[, 1L]) | nzchar(said[, 2L])
  theirs <- theirs[any_said, ]
  other <- as.numeric(said[any_said, 1L] != said[any_said, 2L])
  if (!length(other)) {
    return(NULL)
  }
  none <- rep(NA_real_, length(other))
  compared_as(theirs, rep("sentence", length(other)), none, none, other, 0 * other, other == 0)
}

# Whether the rows with a p-value are the same in both, at one level: what holds over one audit says
# nothing about another.
same_family_of <- function(report, audit, keys, own) {
  tested <- function(table, keys) sort(keys[!is.na(table$pvalue) | !is.na(table$pvalue_verdict)])
  level <- attr(audit, "settings")$confidence_level
  all(OVER_AUDIT %in% names(report$table)) &&
    isTRUE(all.equal(level, report$settings$confidence_level)) &&
    identical(tested(report$table, keys), tested(audit, own))
}

# Whether both say the same of the whole audit. The sentences may differ where a random p-value lies
# at the border, which `found` has as a claim that differs within its error.
compared_claims <- function(theirs, ours, found) {
  if (!length(theirs) || !length(ours)) {
    return(NULL)
  }
  other <- as.numeric(!identical(theirs, ours))
  at_border <- any(
    found$agree & found$difference > 0 & found$quantity %in% c("verdict", CLAIM_FLAGS)
  )
  about <- data.frame(
    section = "head",
    sensitive_features = "",
    metric = "claims",
    group = "",
    reference = ""
  )
  agree <- other == 0 || at_border
  compared_as(about, "sentence", NA_real_, NA_real_, other, as.numeric(other && agree), agree)
}

# Whether both name the same labels that count as unfavourable, where both had several: other codes
# of the same outcome are no disagreement.
compared_labels <- function(theirs, ours) {
  if (!length(theirs) || !length(ours)) {
    return(NULL)
  }
  other <- as.numeric(!identical(theirs, ours))
  about <- data.frame(
    section = "head",
    sensitive_features = "",
    metric = "labels",
    group = "",
    reference = ""
  )
  compared_as(about, "sentence", NA_real_, NA_real_, other, 0, other == 0)
}

# The rows of a report from their file, each column read as what the report used it for.
rows_of_report <- function(report, path, na_values) {
  columns <- report$columns
  numbers <- c(
    columns$score,
    columns$sample_weight,
    columns$model_scores,
    columns$counterfactual_scores
  )
  labels <- c(
    columns$sensitive_features,
    columns$y_true,
    columns$y_pred,
    columns$cluster,
    columns$strata,
    columns$models
  )
  fs_read_table(
    path,
    columns = unique(unlist(labels)),
    numbers = unique(unlist(numbers)),
    features = unlist(columns$features),
    na_values = na_values
  )
}

# The audit of the data with the columns and settings of a report.
audit_as_reported <- function(report, data) {
  columns <- report$columns
  settings <- report$settings
  if (any(unlist(settings$references) == "highest") || identical(settings$missing, "group")) {
    stop_argument(
      "report",
      'a report with reference "highest" or missing = "group"',
      "one with a named or the largest reference"
    )
  }
  own <- function(value) if (is.null(value)) 1 else value
  names <- unlist(columns$sensitive_features)
  alike <- c(
    "confidence_level",
    "threshold",
    "margin",
    "method",
    "comparisons",
    "simultaneous",
    "adjust",
    "missing",
    "n_resamples"
  )
  found <- do.call(
    fs_audit,
    c(
      list(
        data,
        sensitive_features = names,
        reference = if (!isTRUE(settings$comparisons %in% POOLED)) unlist(settings$references),
        features = unlist(columns$features),
        label_values = if (length(columns$label_values)) columns$label_values,
        counterfactual_score = if (length(columns$counterfactual_scores)) {
          columns$counterfactual_scores
        },
        intersections = paste(names, collapse = INTERSECTION) %in% report$table$sensitive_features,
        subgroups = subgroups_as_reported(report),
        score_range = if (length(columns$score_range)) {
          as.numeric(unlist(columns$score_range))
        } else {
          c(0, 1)
        }
      ),
      # without it labels with several values are classes
      if (!"classes" %in% report$table$section) {
        list(
          pos_label = list(
            y_true = own(columns$pos_label_true),
            y_pred = own(columns$pos_label_pred)
          )
        )
      },
      columns[intersect(
        c(
          "y_true",
          "y_pred",
          "score",
          "sample_weight",
          "cluster",
          "strata",
          "outcome",
          "predicted"
        ),
        names(columns)
      )],
      settings[intersect(alike, names(settings))]
    )
  )
  # adjusted over the whole audit, with p-values that are random among them
  if (identical(settings$family, "audit")) {
    found$pvalue_adjusted <- NA_real_
  }
  found
}

# Columns of the subgroups of a report, with the cuts that it states; NULL for none.
subgroups_as_reported <- function(report) {
  names <- unlist(report$columns$subgroups)
  if (!length(names)) {
    return(NULL)
  }
  asked <- stats::setNames(vector("list", length(names)), names)
  searched <- Filter(function(result) identical(result$section, "subgroups"), report$results)
  cuts <- if (length(searched)) searched[[1L]]$settings$cuts
  for (name in intersect(names(cuts), names)) {
    asked[[name]] <- as.numeric(unlist(cuts[[name]]))
  }
  asked
}

as_text <- function(x) ifelse(is.na(x), "", as.character(x))

# What identifies a row, the number of interactions of a level among it; the groups of a largest gap
# have no order, and are a result.
row_keys <- function(table) {
  unordered <- function(groups) ifelse(grepl("_max$", table$metric), "", as_text(groups))
  interactions <- if (is.null(table$interactions)) "" else as_text(table$interactions)
  paste(
    table$section,
    table$sensitive_features,
    table$metric,
    unordered(table$group),
    unordered(table$reference),
    interactions,
    sep = "\r"
  )
}

# Rows of a comparison: quantities of a row of the report in both.
compared_as <- function(
  theirs,
  quantity = character(),
  python = numeric(),
  r = numeric(),
  difference = numeric(),
  tolerance = numeric(),
  agree = logical()
) {
  data.frame(
    section = theirs$section,
    sensitive_features = theirs$sensitive_features,
    metric = theirs$metric,
    group = as_text(theirs$group),
    reference = as_text(theirs$reference),
    quantity = quantity,
    python = python,
    r = r,
    difference = difference,
    tolerance = tolerance,
    agree = agree,
    stringsAsFactors = FALSE
  )
}

compare_rows <- function(theirs, ours, quantities, tolerance, any_exact, error) {
  p <- vapply(quantities, function(q) as.numeric(theirs[[q]]), 0)
  r <- vapply(quantities, function(q) as.numeric(ours[[q]]), 0)
  random <- vapply(quantities, function(q) max(ours[[paste0("mc_", q)]], 0, na.rm = TRUE), 0)
  # what two optimisers find of a tail, and their second derivatives, which packages take by
  # differences
  fitted <- theirs$section == "ecd" && !grepl("ACD|average", theirs$metric)
  loose <- exact_looseness(theirs, quantities, any_exact)
  if (fitted) {
    loose <- pmax(loose, ifelse(grepl("std_error$", quantities), 1e4, 1e2))
  }
  # limits by exact tests move by steps of the search, also near 0
  least <- ifelse(loose == LOOSE_LIMIT, 0.5, 1e-3)
  allowed <- loose * tolerance * pmax(abs(p), least) + 5 * random
  apart <- abs(p - r)
  # JSON has no infinity: there the table is missing
  keep <- !is.na(p) & is.finite(r)
  found <- if (any(keep)) {
    compared_as(
      theirs,
      quantities[keep],
      p[keep],
      r[keep],
      apart[keep],
      allowed[keep],
      apart[keep] <= allowed[keep]
    )
  }
  if (
    !is.null(theirs$crude_verdict) && !is.null(ours$crude_verdict) && !is.na(theirs$crude_verdict)
  ) {
    other <- as.numeric(!identical(theirs$crude_verdict, ours$crude_verdict))
    found <- rbind(
      found,
      compared_as(theirs, "crude_verdict", NA_real_, NA_real_, other, 0, other == 0)
    )
  }
  found <- rbind(found, compared_flags(theirs, ours, quantities, allowed, error))
  verdicts <- c(as_text(theirs$verdict), as_text(ours$verdict))
  if (!all(nzchar(verdicts))) {
    return(found)
  }
  other <- verdicts[1L] != verdicts[2L]
  # it may differ where a random bound lies within its error of the border, and so on both sides of
  # it
  errors <- random[names(random) %in% c("bound_low", "bound_high")]
  moved <- abs(c(theirs$bound_low - ours$bound_low, theirs$bound_high - ours$bound_high))
  near <- any(errors > 0) && all(moved[!is.na(moved)] <= 5 * max(errors))
  agree <- !other || near
  rbind(
    found,
    compared_as(
      theirs,
      "verdict",
      NA_real_,
      NA_real_,
      as.numeric(other),
      as.numeric(other && agree),
      agree
    )
  )
}

# What holds over the whole audit, and the p-value that says so.
CLAIM_FLAGS <- c("real_over_audit", "holds_over_audit")

# Whether both claim the same of a row; either may where a p-value lies within what is allowed of
# the error.
compared_flags <- function(theirs, ours, quantities, allowed, error) {
  do.call(
    rbind,
    Map(
      function(flag, pvalue) {
        at <- match(pvalue, quantities)
        said <- c(as.logical(theirs[[flag]]), as.logical(ours[[flag]]))
        if (is.na(at) || anyNA(said)) {
          return(NULL)
        }
        other <- said[1L] != said[2L]
        near <- isTRUE(abs(as.numeric(theirs[[pvalue]]) - error) <= allowed[at])
        agree <- !other || near
        compared_as(
          theirs,
          flag,
          NA_real_,
          NA_real_,
          as.numeric(other),
          as.numeric(other && agree),
          agree
        )
      },
      CLAIM_FLAGS,
      OVER_AUDIT
    )
  )
}

# How many times the tolerance of other numbers limits by exact tests have.
LOOSE_LIMIT <- 1000

# How many times the tolerance of other numbers exact tests have. Their p-values are maxima over
# nuisance rates, which either side seeks on a grid of its own; limits follow them, and jump where p
# does. An adjusted p-value may be that of another row, where `any_exact` of the report is by such
# tests.
exact_looseness <- function(theirs, quantities, any_exact) {
  # a largest gap may rest on exact tests of its pairs
  exact <- theirs$section == "rates" &&
    (grepl("exact", as_text(theirs$method)) || grepl("_max$", theirs$metric))
  loose <- rep(1, length(quantities))
  if (theirs$section == "rates" && any_exact) {
    loose[grepl("pvalue.*_adjusted$", quantities)] <- 200
  }
  # over the audit any row may be the one that decides
  loose[quantities %in% OVER_AUDIT] <- 200
  if (!exact) {
    return(loose)
  }
  loose[grepl("pvalue", quantities)] <- 200
  loose[grepl("^(ci|bound)_", quantities)] <- LOOSE_LIMIT
  loose
}

# What is only in the report of Python, or only in the audit in R.
print_only_one_side <- function(absent) {
  if (length(absent$python_only)) {
    cat("Only in the report: ", listed(absent$python_only), "\n", sep = "")
  }
  if (length(absent$r_only)) cat("Only in R: ", listed(absent$r_only), "\n", sep = "")
}

#' @rdname fairstats-methods
#' @export
print.fairstats_comparison <- function(x, most = 20L, ...) {
  if (!all(c("agree", "quantity") %in% names(x))) {
    return(print.data.frame(x, ...))
  }
  settings <- attr(x, "settings")
  if (length(settings)) {
    cat("Different settings: ", paste(settings, collapse = ", "), "\n", sep = "")
  }
  print_only_one_side(attr(x, "missing"))
  left <- attr(x, "not_compared")
  if (length(left)) {
    cat("Not compared, since no error bounds them in R: ", listed(left), "\n", sep = "")
  }
  wrong <- x[
    !x$agree,
    c("sensitive_features", "metric", "group", "quantity", "python", "r", "tolerance")
  ]
  if (nrow(wrong)) {
    print.data.frame(utils::head(as.data.frame(wrong), most), row.names = FALSE)
  }
  if (nrow(wrong) > most) {
    cat("...\n")
  }
  cat(sum(x$agree), " of ", nrow(x), " agree\n", sep = "")
  invisible(x)
}
