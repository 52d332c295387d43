# What every fs_ function reads: columns of a data frame by name, or vectors.

INTERSECTION <- " & "

# A column: the name of one where there is a data frame, else the vector itself; NULL stays NULL.
column_of <- function(data, x, argument) {
  if (is.null(x)) return(NULL)
  if (is.null(data)) return(plain_column(x, argument))
  if (length(x) == 1L && is.character(x)) {
    if (!x %in% names(data)) {
      stop_argument(
        argument, paste0('"', x, '", which is no column of `data`'), paste("one of", listed(names(data)))
      )
    }
    return(plain_column(data[[x]], argument))
  }
  if (length(x) == nrow(data)) return(plain_column(x, argument))
  stop_argument(argument, paste(length(x), "values"), "the name of a column of `data`")
}

# One number, label, date or truth value per row: no list, matrix, complex number or raw byte.
plain_column <- function(x, argument) {
  kinds <- is.numeric(x) || is.character(x) || is.logical(x) || is.factor(x) || is_date(x)
  if (!kinds || length(dim(x)) > 1L) {
    got <- if (length(dim(x)) > 1L) paste("a", class(x)[1L], "of shape", paste(dim(x), collapse = " x ")) else {
      paste("a", class(x)[1L])
    }
    stop_argument(argument, got, "a vector: one number, label or date per row")
  }
  x
}

is_date <- function(x) inherits(x, c("Date", "POSIXt", "difftime"))

# The text of a value as Python's side writes it. Numbers keep all digits that tell them apart, whatever the user's
# options are: as.character makes one text of 0.3 and 0.1 + 0.2, and "1e+05" of 100000.
label_text <- function(x) {
  if (is.logical(x)) return(ifelse(x, "True", "False"))
  if (!is.numeric(x) || is.factor(x) || is_date(x)) return(as.character(x))
  values <- unique(x)
  number_text(as.numeric(values))[match(x, values)]
}

number_text <- function(values) {
  text <- ifelse(
    values == round(values) & abs(values) < 1e15, sprintf("%.0f", values), sprintf("%.15g", values)
  )
  longer <- which(is.finite(values) & suppressWarnings(as.numeric(text)) != values)
  text[longer] <- sprintf("%.17g", values[longer])
  text[is.na(values)] <- NA_character_
  text
}

# Position of every row's value among the different ones; NA stays NA.
codes_of <- function(x) {
  codes <- match(x, unique(x))
  codes[is.na(x)] <- NA_integer_
  codes
}

# Labels or predictions as 0 and 1; `favorable` is the value that is good for the person.
favorable_codes <- function(x, favorable, argument) {
  if (is.null(x)) return(NULL)
  if (!is.atomic(favorable) || length(favorable) != 1L || is.na(favorable)) {
    stop_argument("pos_label", listed(favorable), paste0("one value of `", argument, "`"))
  }
  if (anyNA(x)) stop_argument(argument, paste(sum(is.na(x)), "missing values"), "none: leave those rows out first")
  values <- sort(unique(label_text(x)))
  wanted <- label_text(favorable)
  if (wanted == "1" && all(values %in% c("True", "False"))) wanted <- "True"
  if (wanted == "1" && setequal(values, c("-1", "1"))) wanted <- values[values != "-1"]
  binary <- c("0", "1", "True", "False")
  if (!wanted %in% c(values, if (all(values %in% binary)) binary)) {
    stop_argument(
      "pos_label", paste0(wanted, ", which does not occur in `", argument, "`"),
      paste("one of its values,", listed(values))
    )
  }
  as.numeric(label_text(x) %in% wanted)
}

# pos_label: one value, or list(y_true = ..., y_pred = ...).
favorable_of <- function(favorable, argument) {
  if (!is.atomic(favorable) && !is.list(favorable)) stop_argument("pos_label", listed(favorable), "one value")
  if (length(favorable) == 1L && is.null(names(favorable))) return(favorable[[1L]])
  if (is.null(names(favorable)) || !all(names(favorable) %in% c("y_true", "y_pred"))) {
    got <- paste(length(favorable), "values")
    stop_argument("pos_label", got, "one value, or list(y_true = ..., y_pred = ...)")
  }
  if (argument %in% names(favorable)) favorable[[argument]] else 1
}

# Every column, checked: numbers 0 and 1, scores in [0, 1], one length, nothing missing.
read_columns <- function(data, y_true, y_pred, score, sensitive_features, pos_label, sample_weight = NULL,
                         cluster = NULL) {
  if (!is.null(data)) data <- checked_frame(data)
  score <- column_of(data, score, "score")
  weight <- column_of(data, sample_weight, "sample_weight")
  cluster <- column_of(data, cluster, "cluster")
  found <- list(
    y_true = favorable_codes(column_of(data, y_true, "y_true"), favorable_of(pos_label, "y_true"), "y_true"),
    y_pred = favorable_codes(column_of(data, y_pred, "y_pred"), favorable_of(pos_label, "y_pred"), "y_pred"),
    score = if (!is.null(score)) checked_numbers(score, "score", 0, 1),
    weight = if (!is.null(weight)) checked_numbers(weight, "sample_weight", 0, Inf),
    cluster = if (!is.null(cluster)) codes_of(cluster),
    attributes = sensitive_columns(data, sensitive_features)
  )
  lengths <- c(
    vapply(found[c("y_true", "y_pred", "score", "weight", "cluster")], length, 0L),
    sensitive_features = length(found$attributes[[1L]])
  )
  lengths <- lengths[lengths > 0L]
  if (length(unique(lengths)) > 1L) {
    stop_argument(
      names(lengths)[lengths != lengths[["sensitive_features"]]][1L],
      paste(paste(names(lengths), lengths), collapse = ", "), "columns of one length"
    )
  }
  if (!is.null(cluster) && anyNA(cluster)) stop_argument("cluster", "missing values", "the sampling unit of every row")
  found$n <- lengths[["sensitive_features"]]
  found
}

checked_frame <- function(data) {
  if (!is.list(data) || is.null(names(data))) {
    stop_argument("data", paste("a", class(data)[1L]), "a data frame")
  }
  twice <- names(data)[duplicated(names(data))]
  if (length(twice)) {
    stop_argument("data", paste("more than one column named", listed(unique(twice))), "columns with names of their own")
  }
  data <- tryCatch(as.data.frame(data, stringsAsFactors = FALSE, optional = TRUE), error = function(e) {
    stop_argument("data", paste0("columns that make no data frame (", conditionMessage(e), ")"), "columns of one length")
  })
  if (!nrow(data)) stop_argument("data", "0 rows", "at least one row")
  data
}

# Named list of sensitive columns.
sensitive_columns <- function(data, sensitive_features, missing = "raise") {
  x <- sensitive_features
  if (is.null(x) || !length(x)) stop_argument("sensitive_features", "nothing", "one sensitive column or several")
  if (!is.null(data) && is.character(x) && length(x) < nrow(data)) {
    if (anyDuplicated(x)) stop_argument("sensitive_features", listed(x), "each column once")
    columns <- lapply(x, function(name) column_of(data, name, "sensitive_features"))
    names(columns) <- x
  } else if (is.list(x)) {
    columns <- as.list(x)
    if (anyDuplicated(names(columns))) stop_argument("sensitive_features", listed(names(columns)), "each column once")
    if (is.null(names(columns))) names(columns) <- paste0("feature_", seq_along(columns) - 1L)
  } else {
    columns <- list(group = x)
  }
  if (!length(columns[[1L]])) stop_argument("sensitive_features", "0 rows", "at least one row")
  for (column in columns) {
    plain_column(column, "sensitive_features")
    if (anyNA(column) && missing == "raise") {
      stop_argument(
        "sensitive_features", paste(sum(is.na(column)), "missing values"), "none: leave those rows out first"
      )
    }
  }
  columns
}

# Groups of one column, or of several crossed, in order: as declared by ordered factors, else by size. Declared levels
# without rows are no groups; a combination without rows is kept while there are at most 256.
make_groups <- function(columns) {
  texts <- lapply(columns, label_text)
  for (name in names(columns)) {
    empty <- setdiff(if (is.factor(columns[[name]])) base::levels(columns[[name]]), texts[[name]])
    if (length(empty)) {
      warning(name, ": of the declared values ", listed(empty), " have no rows, and are no groups", call. = FALSE)
    }
  }
  levels <- lapply(columns, function(x) {
    if (is.factor(x)) base::levels(x) else unique(label_text(x))
  })
  declared <- all(vapply(columns, is.ordered, NA))
  levels <- lapply(seq_along(columns), function(k) levels[[k]][levels[[k]] %in% texts[[k]]])
  labels <- do.call(paste, c(unname(texts), sep = INTERSECTION))
  every <- Reduce(function(a, b) as.vector(t(outer(a, b, paste, sep = INTERSECTION))), unname(levels))
  if (length(every) > 256L) every <- every[every %in% labels]
  size <- tabulate(factor(labels, every), length(every))
  if (!declared) {
    order <- order(-size, every, method = "radix")
    every <- every[order]
    size <- size[order]
  }
  if (length(every) < 2L) {
    stop_argument("sensitive_features", paste("one group,", every), "two groups or more")
  }
  list(labels = labels, groups = every, sizes = size)
}

# Sets of attributes: each by itself, then all crossed.
attribute_sets <- function(names, intersections) {
  sets <- as.list(names)
  if (intersections && length(names) > 1L) c(sets, list(names)) else sets
}

# Reference of a set: `reference` is NULL, one group, or a vector or list with a group per column.
reference_of <- function(reference, set, n_sets) {
  if (is.null(reference)) return(NULL)
  if ((!is.atomic(reference) && !is.list(reference)) || (length(reference) != 1L && is.null(names(reference)))) {
    stop_argument("reference", listed(reference), "one group, or c(column = group, ...)")
  }
  if (length(reference) == 1L && is.null(names(reference))) {
    if (n_sets > 1L && !identical(reference[[1L]], "largest")) {
      stop_argument("reference", paste0('"', reference, '" for several sensitive columns'), "c(column = group, ...)")
    }
    return(reference[[1L]])
  }
  key <- paste(set, collapse = INTERSECTION)
  if (key %in% names(reference)) return(reference[[key]])
  if (length(set) > 1L && all(set %in% names(reference))) {
    return(paste(vapply(reference[set], function(x) label_text(x), ""), collapse = INTERSECTION))
  }
  NULL
}

# Reference of one set, whose names must be its columns.
reference_in <- function(reference, set) {
  check_reference_names(reference, c(as.list(set), list(set)))
  reference_of(reference, set, 1L)
}

# Pairs (group, reference) as positions.
make_pairs <- function(grouping, reference, comparisons) {
  count <- length(grouping$groups)
  if (comparisons == "all") return(t(utils::combn(count, 2L)))
  if (!is.null(reference) && (!is.atomic(reference) || length(reference) != 1L)) {
    stop_argument("reference", listed(reference), paste("one of", listed(grouping$groups)))
  }
  named <- !is.null(reference) && (!identical(reference, "largest") || "largest" %in% grouping$groups)
  j <- which.max(grouping$sizes)
  if (named) {
    j <- match(label_text(reference), grouping$groups)
    if (is.na(j)) {
      stop_argument("reference", paste0('"', label_text(reference), '"'), paste("one of", listed(grouping$groups)))
    }
  }
  cbind(setdiff(seq_len(count), j), j, deparse.level = 0)
}
