# What every fs_ function reads: columns of a data frame by name, or vectors.

INTERSECTION <- " & "

# A column: the name of one where there is a data frame, else the vector itself; NULL stays NULL.
column_of <- function(data, x, argument) {
  if (is.null(x)) {
    return(NULL)
  }
  if (is.null(data)) {
    return(plain_column(x, argument))
  }
  if (length(x) == 1L && is.character(x)) {
    if (x %in% names(data)) {
      return(plain_column(data[[x]], argument))
    }
    stop_argument(
      argument,
      paste0('"', x, '", which is no column of `data`'),
      paste("one of", listed(names(data)))
    )
  }
  if (length(x) == nrow(data)) {
    return(plain_column(x, argument))
  }
  stop_argument(argument, paste(length(x), "values"), "the name of a column of `data`")
}

# One number, label, date or truth value per row: no list, matrix, complex number or raw byte.
plain_column <- function(x, argument) {
  square <- length(dim(x)) > 1L
  kinds <- is.numeric(x) || is.character(x) || is.logical(x) || is.factor(x) || is_date(x)
  if (kinds && !square) {
    return(known_values(x))
  }
  got <- paste(
    c("a", class(x)[1L], if (square) c("of shape", paste(dim(x), collapse = " x "))),
    collapse = " "
  )
  stop_argument(argument, got, "a vector: one number, label or date per row")
}

# Empty text is missing, as NA is.
known_values <- function(x) {
  if (is.factor(x)) {
    levels(x)[levels(x) == ""] <- NA
  }
  if (is.character(x)) {
    x[!is.na(x) & !nzchar(x)] <- NA
  }
  x
}

is_date <- function(x) inherits(x, c("Date", "POSIXt", "difftime"))

# The text of a value as Python's side writes it (fairstats/ground/values.py says the rule). Numbers
# keep all digits that tell them apart, whatever the user's options are: as.character makes one text
# of 0.3 and 0.1 + 0.2, and "1e+05" of 100000. Whole ones below 2^64 are written as integers, 0
# without a sign; a moment at midnight is its day.
label_text <- function(x) {
  if (is.logical(x)) {
    return(ifelse(x, "True", "False"))
  }
  if (inherits(x, c("POSIXct", "POSIXlt"))) {
    return(sub(" 00:00:00$", "", format(x, "%Y-%m-%d %H:%M:%S")))
  }
  if (!is.numeric(x) || is.factor(x) || is_date(x) || inherits(x, "integer64")) {
    return(as.character(x))
  }
  values <- as.numeric(unique(x)) + 0
  whole <- !is.na(values) & values == round(values) & abs(values) < 2^64
  text <- sprintf(c("%.15g", "%.0f")[1L + whole], values)
  longer <- which(is.finite(values) & suppressWarnings(as.numeric(text)) != values)
  text[longer] <- sprintf("%.17g", values[longer])
  text[is.na(values)] <- NA_character_
  text[match(x, unique(x))]
}

# Position of every row's value among the different ones; NA stays NA.
codes_of <- function(x) ifelse(is.na(x), NA_integer_, match(x, unique(x)))

# Labels that mean true and false, and pairs of labels of which either is known to be possible where
# the other occurs.
TRUE_LIKE <- c("True", "true", "TRUE", "1", "1.0")
FALSE_LIKE <- c("False", "false", "FALSE", "0", "0.0")
LABEL_PAIRS <- list(
  c("0", "1"),
  c("-1", "1"),
  c("0.0", "1.0"),
  c("-1.0", "1.0"),
  c("False", "True"),
  c("false", "true"),
  c("FALSE", "TRUE")
)

# Which labels a favorable value names: those that are written as it is; if none is, those that mean
# true or false with it.
labels_named <- function(values, wanted) {
  if (wanted %in% values) {
    return(wanted)
  }
  for (alike in list(TRUE_LIKE, FALSE_LIKE)) {
    if (wanted %in% alike) return(intersect(values, alike))
  }
  character()
}

# Labels or predictions as 0 and 1; `favorable` is the value that is good for the person,
# `label_values` what may occur, `others` the values of the other label columns: where a column
# shares some with them, theirs may occur in it, too.
favorable_codes <- function(x, favorable, argument, label_values = NULL, others = list()) {
  if (is.null(x)) {
    return(NULL)
  }
  check_favorable(favorable, argument)
  if (anyNA(x)) {
    stop_argument(
      argument,
      paste(sum(is.na(x)), "missing values"),
      "none: leave those rows out first"
    )
  }
  text <- label_text(x)
  values <- sort(unique(text))
  wanted <- label_text(favorable)
  declared <- if (!is.null(label_values)) label_text(label_values)
  more <- setdiff(values, declared)
  if (!is.null(declared) && length(more)) {
    rows <- vapply(more, function(value) sum(text == value), 0)
    stop_argument(
      argument,
      listed(paste0(dQuote(more, FALSE), " in ", thousands(rows), " rows")),
      paste("what label_values declares:", listed(declared))
    )
  }
  named <- labels_named(values, wanted)
  if (!length(named)) {
    alike <- Filter(function(other) any(values %in% other), others)
    pairs <- Filter(function(pair) all(values %in% pair), LABEL_PAIRS)
    possible <- c(list(declared, if (is.factor(x)) levels(x)), alike, pairs)
    got <- paste0(wanted, ", which does not occur in `", argument, "`")
    if (!any(vapply(possible, function(known) length(labels_named(known, wanted)) > 0L, NA))) {
      stop_argument(
        "pos_label",
        got,
        paste("one of its values,", listed(values), "or what label_values declares")
      )
    }
    warning("pos_label ", got, ": every row of it counts as unfavourable", call. = FALSE)
  }
  as.numeric(text %in% named)
}

check_favorable <- function(favorable, argument) {
  if (!is.atomic(favorable) || length(favorable) != 1L || is.na(favorable)) {
    stop_argument("pos_label", listed(favorable), paste0("one value of `", argument, "`"))
  }
}

thousands <- function(x) format(x, big.mark = ",", trim = TRUE, scientific = FALSE)

# The different labels of a column: as declared by factors, numbers by size, text as it comes.
labels_in_order <- function(x) {
  if (is.factor(x)) {
    return(intersect(levels(x), as.character(x)))
  }
  values <- unique(x[!is.na(x)])
  unique(label_text(if (is.numeric(values) || is.logical(values)) sort(values) else values))
}

# Rows of each label that counts as unfavourable among those `used`, the most frequent first; NULL
# unless the `whole` column has several.
unfavourable_rows <- function(whole, used, favorable) {
  values <- labels_in_order(whole)
  values <- setdiff(values, labels_named(values, label_text(favorable)))
  if (length(values) < 2L) {
    return(NULL)
  }
  rows <- tabulate(match(label_text(used), values), length(values))
  names(rows) <- values
  rows <- rows[rows > 0L]
  rows[order(-rows)]
}

# Labels that are named with their rows; of more only their number is said.
MOST_LABELS <- 8L

# "risk: counted as not favourable: Medium 1,200 rows, High 800.", a sentence for each column.
words_of_labels <- function(unfavourable, columns = NULL) {
  unlist(lapply(names(unfavourable), function(argument) {
    rows <- unlist(unfavourable[[argument]])
    if (!length(rows)) {
      return(NULL)
    }
    counted <- paste(names(rows), thousands(rows))
    counted[1L] <- paste(counted[1L], "rows")
    more <- length(counted) - MOST_LABELS
    if (more > 0L) {
      counted <- c(
        counted[seq_len(MOST_LABELS)],
        paste("and", thousands(more), "other", if (more == 1L) "label" else "labels")
      )
    }
    column <- if (is.null(columns[[argument]])) argument else columns[[argument]]
    paste0(column, ": counted as not favourable: ", paste(counted, collapse = ", "), ".")
  }))
}

# pos_label: one value, or list(y_true = ..., y_pred = ...).
favorable_of <- function(favorable, argument) {
  if (!is.atomic(favorable) && !is.list(favorable)) {
    stop_argument("pos_label", listed(favorable), "one value")
  }
  if (length(favorable) == 1L && is.null(names(favorable))) {
    return(favorable[[1L]])
  }
  if (is.null(names(favorable)) || !all(names(favorable) %in% c("y_true", "y_pred"))) {
    stop_argument(
      "pos_label",
      paste(length(favorable), "values"),
      "one value, or list(y_true = ..., y_pred = ...)"
    )
  }
  if (argument %in% names(favorable)) favorable[[argument]] else 1
}

# label_values: those of every column, or list(y_true = ..., y_pred = ...).
label_values_of <- function(label_values, argument) {
  values <- if (is.list(label_values)) label_values[[argument]] else label_values
  if (is.null(values)) {
    return(NULL)
  }
  if (!is.atomic(values) || !length(values) || anyNA(values)) {
    stop_argument(
      "label_values",
      listed(values),
      "the labels that may occur, or list(y_true = ..., y_pred = ...)"
    )
  }
  values
}

# Every column, checked: numbers 0 and 1, scores in [0, 1], one length, nothing missing. `whole`:
# the label columns before rows were left out, where some were.
read_columns <- function(
  data,
  y_true,
  y_pred,
  score,
  sensitive_features,
  pos_label,
  sample_weight = NULL,
  cluster = NULL,
  label_values = NULL,
  whole = NULL
) {
  if (!is.null(data)) {
    data <- checked_frame(data)
  }
  columns <- Filter(
    Negate(is.null),
    list(y_true = column_of(data, y_true, "y_true"), y_pred = column_of(data, y_pred, "y_pred"))
  )
  coded <- lapply(stats::setNames(nm = names(columns)), function(name) {
    others <- lapply(columns[names(columns) != name], function(x) unique(label_text(x)))
    declared <- label_values_of(label_values, name)
    favorable_codes(columns[[name]], favorable_of(pos_label, name), name, declared, others)
  })
  unfavourable <- lapply(stats::setNames(nm = names(columns)), function(name) {
    before <- if (is.null(whole[[name]])) columns[[name]] else whole[[name]]
    unfavourable_rows(before, columns[[name]], favorable_of(pos_label, name))
  })
  numbers <- function(x, name, high) if (!is.null(x)) checked_numbers(x, name, 0, high)
  score <- column_of(data, score, "score")
  weight <- column_of(data, sample_weight, "sample_weight")
  cluster <- column_of(data, cluster, "cluster")
  found <- list(
    y_true = coded$y_true,
    y_pred = coded$y_pred,
    unfavourable = Filter(Negate(is.null), unfavourable),
    score = numbers(score, "score", 1),
    weight = numbers(weight, "sample_weight", Inf),
    cluster = if (!is.null(cluster)) codes_of(cluster),
    attributes = sensitive_columns(data, sensitive_features)
  )
  lengths <- c(
    lengths(found[c("y_true", "y_pred", "score", "weight", "cluster")]),
    sensitive_features = length(found$attributes[[1L]])
  )
  lengths <- lengths[lengths > 0L]
  found$n <- lengths[["sensitive_features"]]
  other <- names(lengths)[lengths != found$n]
  if (length(other)) {
    stop_argument(
      other[1L],
      paste(names(lengths), lengths, collapse = ", "),
      "columns of one length"
    )
  }
  if (anyNA(cluster)) {
    stop_argument("cluster", "missing values", "the sampling unit of every row")
  }
  found
}

checked_frame <- function(data) {
  if (!is.list(data) || is.null(names(data))) {
    stop_argument("data", paste("a", class(data)[1L]), "a data frame")
  }
  twice <- unique(names(data)[duplicated(names(data))])
  if (length(twice)) {
    stop_argument(
      "data",
      paste("more than one column named", listed(twice)),
      "columns with names of their own"
    )
  }
  data <- tryCatch(
    as.data.frame(data, stringsAsFactors = FALSE, optional = TRUE),
    error = function(e) {
      got <- paste0("columns that make no data frame (", conditionMessage(e), ")")
      stop_argument("data", got, "columns of one length")
    }
  )
  if (!nrow(data)) {
    stop_argument("data", "0 rows", "at least one row")
  }
  data[] <- lapply(data, known_values)
  data
}

# The columns of a call by its policy for missing values: "raise" leaves them, and what reads them
# refuses; "drop" keeps the rows that lack none, with a warning that counts the others; "group"
# makes missing sensitive values a group. `columns`: argument -> name of a column, vector, or
# (features, models) several of them.
MISSING_POLICIES <- c("raise", "drop", "group")
MISSING_GROUP <- "(missing)"
settle_missing <- function(data, columns, missing) {
  missing <- choice_of(missing, "missing", MISSING_POLICIES)
  if (missing == "raise") {
    return(c(list(data = data), columns))
  }
  if (!is.null(data)) {
    data <- checked_frame(data)
  }
  sensitive <- sensitive_columns(data, columns$sensitive_features, "allow")
  rest <- columns[setdiff(names(columns), "sensitive_features")]
  rest <- Map(function(x, name) several_columns(data, x, name), rest, names(rest))
  if (missing == "group") {
    columns <- c(list(sensitive_features = lapply(sensitive, with_missing_group)), rest)
    return(c(list(data = NULL), columns))
  }
  parts <- c(
    sensitive,
    unlist(lapply(rest, function(x) if (is.list(x)) x else list(x)), recursive = FALSE)
  )
  parts <- Filter(Negate(is.null), parts)
  if (length(unique(lengths(parts))) > 1L) {
    stop_argument(
      names(columns)[1L],
      paste("columns of", listed(lengths(parts)), "rows"),
      "columns of one length"
    )
  }
  complete <- !Reduce(`|`, lapply(parts, is.na))
  if (!any(complete)) {
    stop_argument("missing", "no row without missing values", "at least one")
  }
  if (!all(complete)) {
    warning(
      sum(!complete),
      " of ",
      length(complete),
      " rows left out for missing values",
      call. = FALSE
    )
  }
  kept <- function(x) if (is.list(x)) lapply(x, `[`, complete) else x[complete]
  # which labels a column has does not depend on the rows that are left out
  whole <- rest[intersect(c("y_true", "y_pred"), names(rest))]
  c(list(data = NULL, whole = whole), lapply(c(list(sensitive_features = sensitive), rest), kept))
}

# One column, or several with their names.
several_columns <- function(data, x, argument) {
  if (is.null(x)) {
    return(NULL)
  }
  if (is.list(x)) {
    return(lapply(x, function(column) column_of(data, column, argument)))
  }
  named <- is.character(x) && !is.null(data) && length(x) != nrow(data)
  if (named && (length(x) > 1L || argument == "features")) {
    return(lapply(stats::setNames(x, if (is.null(names(x))) x else names(x)), function(n) {
      column_of(data, n, argument)
    }))
  }
  column_of(data, x, argument)
}

with_missing_group <- function(x) {
  x <- known_values(x)
  if (!anyNA(x)) {
    return(x)
  }
  known <- unique(label_text(x))
  label <- MISSING_GROUP
  while (label %in% known) {
    label <- paste0("(", label, ")")
  }
  if (is.factor(x)) {
    levels(x) <- c(levels(x), label)
    x[is.na(x)] <- label
    return(x)
  }
  ifelse(is.na(x), label, label_text(x))
}

# Named list of sensitive columns.
sensitive_columns <- function(data, sensitive_features, missing = "raise") {
  x <- sensitive_features
  refuse <- function(got, allowed) stop_argument("sensitive_features", got, allowed)
  if (!length(x)) {
    refuse("nothing", "one sensitive column or several")
  }
  named <- !is.null(data) && is.character(x) && length(x) < nrow(data)
  columns <- if (named) {
    stats::setNames(as.list(x), x)
  } else if (is.list(x)) {
    as.list(x)
  } else {
    list(group = x)
  }
  if (is.null(names(columns))) {
    names(columns) <- paste0("feature_", seq_along(columns) - 1L)
  }
  if (anyDuplicated(names(columns))) {
    refuse(listed(names(columns)), "each column once")
  }
  if (named) {
    columns <- lapply(columns, function(name) column_of(data, name, "sensitive_features"))
  }
  if (!length(columns[[1L]])) {
    refuse("0 rows", "at least one row")
  }
  columns <- lapply(columns, plain_column, "sensitive_features")
  for (column in columns) {
    if (anyNA(column) && missing == "raise") {
      refuse(paste(sum(is.na(column)), "missing values"), "none: leave those rows out first")
    }
  }
  columns
}

# Groups of one column, or of several crossed, in order: as declared by ordered factors, else by
# size. Declared levels without rows are no groups; a combination without rows is kept while there
# are at most 256.
make_groups <- function(columns) {
  texts <- lapply(columns, label_text)
  levels <- Map(
    function(x, text) if (is.factor(x)) base::levels(x) else unique(text),
    columns,
    texts
  )
  for (name in names(columns)) {
    empty <- setdiff(levels[[name]], texts[[name]])
    if (length(empty)) {
      warning(
        name,
        ": of the declared values ",
        listed(empty),
        " have no rows, and are no groups",
        call. = FALSE
      )
    }
  }
  levels <- unname(Map(intersect, levels, texts))
  labels <- do.call(paste, c(unname(texts), sep = INTERSECTION))
  every <- Reduce(function(a, b) as.vector(t(outer(a, b, paste, sep = INTERSECTION))), levels)
  if (length(every) > 256L) {
    every <- every[every %in% labels]
  }
  size <- tabulate(factor(labels, every), length(every))
  if (!all(vapply(columns, is.ordered, NA))) {
    order <- order(-size, every, method = "radix")
    every <- every[order]
    size <- size[order]
  }
  if (length(every) < 2L) {
    stop_argument("sensitive_features", paste("one group,", every), "two groups or more")
  }
  list(labels = labels, groups = every, sizes = size)
}

# Reference of a set: `reference` is NULL, one group, or a vector or list with a group per column.
reference_of <- function(reference, set, n_sets = 1L) {
  if (is.null(reference)) {
    return(NULL)
  }
  bare <- is.null(names(reference))
  if ((!is.atomic(reference) && !is.list(reference)) || (length(reference) != 1L && bare)) {
    stop_argument("reference", listed(reference), "one group, or c(column = group, ...)")
  }
  if (bare) {
    if (n_sets == 1L || identical(reference[[1L]], "largest")) {
      return(reference[[1L]])
    }
    stop_argument(
      "reference",
      paste0('"', reference, '" for several sensitive columns'),
      "c(column = group, ...)"
    )
  }
  key <- paste(set, collapse = INTERSECTION)
  if (key %in% names(reference)) {
    return(reference[[key]])
  }
  if (all(set %in% names(reference))) {
    paste(vapply(reference[set], label_text, ""), collapse = INTERSECTION)
  }
}

# The rows with every score on the scale from 0 to 1, where another one was named, its worse end
# first.
scores_on_unit <- function(data, columns, score_range) {
  if (
    !is.numeric(score_range) ||
      length(score_range) != 2L ||
      anyNA(score_range) ||
      score_range[1L] == score_range[2L]
  ) {
    stop_argument(
      "score_range",
      listed(score_range),
      "two different numbers, the worse end first, as c(1, 10)"
    )
  }
  if (identical(as.numeric(score_range), c(0, 1)) || is.null(columns)) {
    return(data)
  }
  if (!is.character(columns) || !all(columns %in% names(data))) {
    stop_argument(
      "score",
      "values",
      "the name of a column of `data`, where `score_range` is another than c(0, 1)"
    )
  }
  for (name in unique(columns)) {
    scores <- plain_column(data[[name]], name)
    if (!is.numeric(scores)) {
      stop_argument("score", listed(utils::head(scores, 3L)), "numbers")
    }
    data[[name]] <- (scores - score_range[1L]) / (score_range[2L] - score_range[1L])
  }
  data
}

check_reference_names <- function(reference, sets) {
  keys <- vapply(sets, paste, "", collapse = INTERSECTION)
  unknown <- setdiff(names(reference), keys)
  if (length(unknown)) {
    stop_argument("reference", paste("the name", unknown[1L]), paste("the names", listed(keys)))
  }
}

# Pairs (group, reference) as positions. Which group has the highest rate, each metric says for
# itself (metric_rows):
# with reference = "highest" the pairs against the largest group come with the attribute "highest".
make_pairs <- function(grouping, reference, comparisons) {
  count <- length(grouping$groups)
  if (comparisons %in% POOLED) {
    return(cbind(seq_len(count), count + seq_len(count), deparse.level = 0))
  }
  highest <- identical(reference, "highest") && !"highest" %in% grouping$groups
  if (highest) {
    return(structure(make_pairs(grouping, NULL, comparisons), highest = TRUE))
  }
  if (comparisons == "all") {
    return(t(utils::combn(count, 2L)))
  }
  # of all other rows metric_rows() makes groups of their own
  if (comparisons == "rest") {
    return(cbind(seq_len(count), count + seq_len(count)))
  }
  allowed <- paste("one of", listed(grouping$groups))
  if (!is.null(reference) && (!is.atomic(reference) || length(reference) != 1L)) {
    stop_argument("reference", listed(reference), allowed)
  }
  largest <- is.null(reference) ||
    (identical(reference, "largest") && !"largest" %in% grouping$groups)
  j <- if (largest) which.max(grouping$sizes) else match(label_text(reference), grouping$groups)
  if (is.na(j)) {
    stop_argument("reference", paste0('"', label_text(reference), '"'), allowed)
  }
  cbind(setdiff(seq_len(count), j), j, deparse.level = 0)
}

# The group with the highest rate is a reference of comparisons of rates alone.
check_reference_chosen_before <- function(pairs) {
  if (isTRUE(attr(pairs, "highest"))) {
    stop_argument(
      "reference",
      '"highest"',
      'a group or "largest"; fs_group_metric() and its kin have the highest rate'
    )
  }
  pairs
}

# What is compared, read and checked: columns, groups, and the pairs of the groups of all sensitive
# columns together.
read_scene <- function(
  data,
  y_true,
  y_pred,
  score,
  sensitive_features,
  reference,
  pos_label,
  comparisons = "reference",
  sample_weight = NULL,
  cluster = NULL,
  label_values = NULL,
  whole = NULL
) {
  input <- read_columns(
    data,
    y_true,
    y_pred,
    score,
    sensitive_features,
    pos_label,
    sample_weight,
    cluster,
    label_values,
    whole
  )
  set <- names(input$attributes)
  grouping <- make_groups(input$attributes)
  check_reference_names(reference, c(as.list(set), list(set)))
  list(
    input = input,
    grouping = grouping,
    pairs = make_pairs(grouping, reference_of(reference, set), comparisons)
  )
}
