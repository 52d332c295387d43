# Rates of several classes: of one class against the others, of a cut of ordered ones, their mean
# over classes. Each counts cells of the J x J table of labels and predictions (label a, prediction
# b: cell (a - 1) J + b), or of one column of J classes.

# What cell_metric() takes, of a name as "tpr@2/3", the second of three classes; "tpr@2+3/3", all
# from the second on;
# "tpr@mean/3", the mean over classes, which of accuracy is the share of right predictions.
as_class_metric <- function(name, n_cells) {
  words <- strsplit(name, "[@/]")[[1L]]
  rate <- words[1L]
  classes <- as.integer(words[3L])
  places_of <- function(favourable) class_places(favourable, classes, n_cells)
  if (words[2L] != "mean") {
    place <- places_of(as.integer(strsplit(words[2L], "+", fixed = TRUE)[[1L]]))
    if (n_cells == classes) {
      return(list(parts = list(list(success = which(place == 1L), case = seq_len(classes)))))
    }
    formula <- formula_of(rate)
    share <- 1 / tabulate(place, 4L)[place]
    return(list(
      parts = parts_at(formula, place),
      formula = formula,
      places = list(place),
      share = share
    ))
  }
  if (rate %in% c("selection_rate", "base_rate")) {
    stop_argument(
      "classes",
      paste("the mean of the", rate),
      "a rate that differs: this mean is 1 / J in every group"
    )
  }
  if (rate == "accuracy") {
    diagonal <- (seq_len(classes) - 1L) * (classes + 1L) + 1L
    return(list(parts = list(list(success = diagonal, case = seq_len(n_cells)))))
  }
  formula <- formula_of(rate)
  places <- lapply(seq_len(classes), places_of)
  parts <- unlist(lapply(places, parts_at, formula = formula), recursive = FALSE)
  cases <- unlist(lapply(parts, `[[`, "case"))
  # of rates whose cases overlap, a smooth function
  disjoint <- length(parts) == classes && !anyDuplicated(cases)
  # of rates whose cases overlap, a smooth function, within strata the mean of these rates
  list(
    parts = if (disjoint) parts,
    rates = if (length(parts) >= classes) parts,
    formula = formula,
    places = places
  )
}

# Which of tp, fp, fn, tn each cell belongs to, where some classes are favourable; of one column,
# whether it is one.
class_places <- function(favourable, classes, n_cells) {
  is_favourable <- seq_len(classes) %in% favourable
  if (n_cells == classes) {
    return(ifelse(is_favourable, 1L, 2L))
  }
  label <- rep(is_favourable, each = classes)
  prediction <- rep(is_favourable, classes)
  4L - 2L * prediction - label
}

# Success and case cells of a formula of two labels, among those of several classes; NULL for other
# functions.
parts_at <- function(formula, place) {
  lapply(quotients_of(formula), function(part) {
    list(success = which(place %in% part$success), case = which(place %in% part$case))
  })
}

# Rows of the label that each group has fewest of.
rarest_class <- function(rows) {
  classes <- sqrt(ncol(rows))
  apply(rows, 1L, function(of_group) min(colSums(matrix(of_group, classes))))
}

# How several classes are asked about.
CLASS_KINDS <- c("one-vs-rest", "macro", "ordered")
# Labels with more values than this are no classes.
MOST_CLASSES <- 20L

# A metric of several classes of all groups, from the arguments of a public function. Of two classes
# the answer is that of two labels, but for means.
compare_class_rates <- function(metric, arguments) {
  kind <- choice_of(arguments$classes, "classes", CLASS_KINDS)
  arguments$classes <- NULL
  columns <- arguments[intersect(names(arguments), COLUMNS)]
  read <- settle_missing(arguments$data, columns, arguments$missing)
  found <- read_classes(read, arguments$label_values)
  if (length(found$classes) == 2L && kind != "macro") {
    return(compare_rates(metric, arguments))
  }
  if (kind == "ordered" && !found$ordered) {
    stop_argument(
      "classes",
      paste0('"ordered" of ', listed(found$classes), ", whose order is not known"),
      "classes that are numbers, an ordered factor, or declared in their order by label_values"
    )
  }
  if (identical(arguments$reference, "highest") && kind != "macro") {
    stop_argument(
      "reference",
      '"highest" of several classes',
      "a group by name: each class may have another highest one"
    )
  }
  if (!is.null(arguments$method) && arguments$method %in% ANYTIME_METHODS) {
    stop_argument("method", arguments$method, "NULL of several classes")
  }
  if (!is.null(arguments$strata)) {
    if (!can_be_adjusted(find_metric(metric))) {
      stop_argument("strata", paste("strata with", metric), "ratios and differences of rates")
    }
  }
  within <- NULL
  make <- function(input, grouping, pairs, options) {
    check_pooled_options(options, arguments$reference)
    if (options$comparisons %in% POOLED && find_metric(metric)$contrast == "gap") {
      stop_argument("comparisons", options$comparisons, "signed differences, or ratios")
    }
    input <- c(
      input[setdiff(names(input), c("y_true", "y_pred"))],
      found[c("y_true", "y_pred", "classes")]
    )
    rows <- class_rows(rate_metric(metric, input), input, grouping, pairs, options, kind)
    within <<- attr(rows, "stratified")
    if (is.null(within)) rows else beside_strata(rows, within)
  }
  arguments[c("y_true", "y_pred", "label_values")] <- list(NULL)
  if (length(found$classes) == 2L) {
    arguments$pos_label <- found$classes[2L]
  }
  rows <- audit_section("rates", make, arguments, highest = kind == "macro", pooled = TRUE)
  if (is.null(within)) {
    return(rows)
  }
  attr(rows, "stratified") <- within
  sentence <- strata_sentence(within$disagreement, nrow(within))
  with_head(rows, c(sentence, attr(rows, "head")))
}

# The rows of a metric, each with its class: rates and names of the rows are those of every class,
# or cut, or the mean.
class_rows <- function(what, input, grouping, pairs, options, kind) {
  classes <- input$classes
  count <- length(classes)
  events <- switch(
    kind,
    "one-vs-rest" = as.list(seq_len(count)),
    ordered = lapply(seq_len(count - 1L) + 1L, seq, to = count),
    macro = list("mean")
  )
  labels <- switch(
    kind,
    "one-vs-rest" = classes,
    ordered = paste("from", classes[-1L], "on"),
    macro = ""
  )
  codes <- vapply(events, paste, "", collapse = "+")
  rates <- what$rates
  class_metric <- what
  class_metric$rates <- as.vector(outer(codes, rates, function(code, rate) {
    paste0(rate, "@", code, "/", count)
  }))
  shown <- if (kind == "macro") "mean over classes" else labels
  class_metric$rows <- as.vector(outer(shown, what$rows[seq_along(rates)], function(label, row) {
    paste0(row, "[", label, "]")
  }))
  check_class_contrast(class_metric, count, input)
  rows <- metric_rows(
    audit_cells(input, grouping, options$comparisons),
    pairs,
    class_metric,
    options
  )
  rows$n_differences <- NULL
  if (what$contrast == "gap") {
    all <- c("one-vs-rest" = "all classes", macro = "mean over classes", ordered = "all cuts")[[
      kind
    ]]
    rows$metric <- paste0(what$name, "[", all, "]")
    named <- paste(rep(rates, each = length(labels)), "of", rep(labels, length(rates)))
    if (kind == "macro") {
      named <- paste("mean of", rates)
    }
    rows$attained_by <- named[match(rows$attained_by, class_metric$rates)]
    return(rows)
  }
  rows$class <- rep(rep(labels, length(rates)), each = nrow(rows) / length(class_metric$rates))
  if (is.null(input$stratum)) {
    return(rows)
  }
  within <- stratified_rows(input$stratum, input, grouping, pairs, class_metric, options, rows)
  within$class <- rows$class
  structure(rows, stratified = within)
}

# A largest gap is of rates and means of rates, an odds ratio of rates.
check_class_contrast <- function(metric, classes, input) {
  if (!metric$contrast %in% c("gap", "odds_ratio")) {
    return(invisible(NULL))
  }
  both <- !is.null(input$y_true) && !is.null(input$y_pred)
  n_cells <- if (both) classes^2 else classes
  parts <- vapply(metric$rates, function(rate) length(as_metric(rate, n_cells)$parts), 0L)
  if (any(parts == 0L) || (metric$contrast == "odds_ratio" && any(parts != 1L))) {
    stop_argument(
      "metric",
      metric$name,
      "rates, which are successes among cases; of gaps also their means"
    )
  }
}

# Labels and predictions as positions of the classes that they share; `classes` in the order of
# label_values, else of a factor, else of numbers, else of the alphabet; `ordered`: whether that
# order means something.
read_classes <- function(read, label_values) {
  columns <- Filter(
    Negate(is.null),
    list(
      y_true = column_of(read$data, read$y_true, "y_true"),
      y_pred = column_of(read$data, read$y_pred, "y_pred")
    )
  )
  if (!length(columns)) {
    stop_argument("y_pred", "NULL", "a column of labels or predictions")
  }
  for (name in names(columns)) {
    if (anyNA(columns[[name]])) {
      stop_argument(
        name,
        paste(sum(is.na(columns[[name]])), "missing values"),
        "none: leave those rows out first"
      )
    }
  }
  texts <- lapply(columns, label_text)
  occurring <- unique(unlist(texts, use.names = FALSE))
  declared <- if (is.list(label_values)) unlist(label_values, use.names = FALSE) else label_values
  declared <- unique(label_text(declared))
  ordered <- length(declared) > 0L
  more <- setdiff(occurring, declared)
  if (ordered && length(more)) {
    stop_argument(
      names(columns)[1L],
      listed(dQuote(more, FALSE)),
      paste("what label_values declares:", listed(declared))
    )
  }
  factors <- Filter(is.factor, columns)
  if (!length(declared) && length(factors)) {
    declared <- levels(factors[[1L]])
    ordered <- is.ordered(factors[[1L]])
  }
  if (!length(declared)) {
    numbers <- suppressWarnings(as.numeric(occurring))
    ordered <- !anyNA(numbers)
    declared <- if (ordered) occurring[order(numbers)] else sort(occurring, method = "radix")
  }
  classes <- unique(c(declared, sort(setdiff(occurring, declared), method = "radix")))
  if (length(classes) < 2L || length(classes) > MOST_CLASSES) {
    stop_argument(
      names(columns)[1L],
      paste(length(classes), "values"),
      paste("two to", MOST_CLASSES, "classes")
    )
  }
  if (length(texts) == 2L && !any(texts[[1L]] %in% texts[[2L]])) {
    stop_argument(
      "y_true, y_pred",
      "columns that share no value",
      "the same classes in both columns"
    )
  }
  c(
    lapply(texts, match, classes),
    list(classes = classes, ordered = ordered && all(occurring %in% declared))
  )
}

# What an audit asks of classes: metric and kind, as in Python.
AUDITED_CLASSES <- list(
  c("disparate_impact", "one-vs-rest"),
  c("disparate_impact_labels", "one-vs-rest"),
  c("conditional_accuracy_1", "one-vs-rest"),
  c("conditional_use_accuracy_1", "one-vs-rest"),
  c("accuracy_difference", "macro"),
  c("equal_opportunity_difference", "macro"),
  c("demographic_parity_max", "one-vs-rest"),
  c("equal_opportunity_max", "one-vs-rest")
)
AUDITED_CUTS <- list(c("disparate_impact", "ordered"), c("conditional_accuracy_1", "ordered"))

# The classes of the labels of an audit that names no favourable one; NULL where the labels are two,
# too many, or one of them is 1 or TRUE, which is favourable without being named.
several_classes <- function(data, y_true, y_pred, label_values) {
  columns <- Filter(
    Negate(is.null),
    list(column_of(data, y_true, "y_true"), column_of(data, y_pred, "y_pred"))
  )
  texts <- lapply(columns, function(x) unique(label_text(x[!is.na(x)])))
  declared <- if (is.list(label_values)) {
    lapply(label_values, label_text)
  } else {
    list(label_text(label_values))
  }
  every <- c(texts, Filter(length, declared))
  most <- max(lengths(every))
  named <- length(labels_named(unique(unlist(texts)), "1"))
  if (most < 3L || most > MOST_CLASSES || named || !length(Reduce(intersect, every))) {
    return(NULL)
  }
  read_classes(list(data = data, y_true = y_true, y_pred = y_pred), label_values)
}

# The `rows` of every metric of classes that the columns allow, those within strata at their end, and
# these in full, `within`.
audited_classes <- function(input, grouping, pairs_of_kind, options) {
  given <- c(labels = !is.null(input$y_true), predictions = !is.null(input$y_pred))
  asked <- c(AUDITED_CLASSES, if (input$ordered) AUDITED_CUTS)
  rows <- lapply(asked, function(one) {
    needs <- unlist(registry("metrics")[[one[1L]]]$needs)
    if (is.null(needs)) {
      needs <- names(given)
    }
    if (!all(given[needs])) {
      return(NULL)
    }
    # what needs one column is of that column, as where no other is there
    own <- input
    if (!"labels" %in% needs) {
      own$y_true <- NULL
    }
    if (!"predictions" %in% needs) {
      own$y_pred <- NULL
    }
    if (one[2L] == "macro" && one[1L] != "accuracy_difference") {
      options["method"] <- list(NULL)
    }
    metric <- find_metric(one[1L])
    options$comparisons <- comparisons_of(metric, options$comparisons)
    pairs <- pairs_of_kind(options$comparisons)
    if (!can_be_adjusted(metric)) {
      own$stratum <- NULL
    }
    rows <- class_rows(metric, own, grouping, pairs, options, one[2L])
    rows$n_differences <- NULL
    rows
  })
  within <- bind_rows(lapply(rows, attr, "stratified"))
  list(
    rows = bind_rows(c(rows, list(within[!names(within) %in% BESIDE_ROWS]))),
    within = within
  )
}
