# Arguments of a public function as a list, with the columns that a formula names:
# cbind(y_true, y_pred) ~ sex + race + strata(department).

#' Formulas in place of names of columns
#'
#' Every function that takes a data frame and names of columns takes a formula and a data frame as
#' well. On the left stands what is compared, on the right the sensitive columns, which `+` crosses.
#'
#' * `hired ~ sex`: one column is the prediction, or the score of [fs_madd()];
#' * `cbind(qualified, hired) ~ sex`: outcome and prediction, in this order; of [fs_abroca()]
#' outcome
#'   and score; of [fs_audit()] also outcome, prediction and score; of [fs_compare_models()] the
#'   outcome and the prediction of each model; of [fs_mitigation()] the outcome and the scores
#'   before
#'   and after;
#' * `hired ~ sex + origin`: the groups are combinations of both, in [fs_audit()] also those of
#' each;
#' * `hired ~ sex + strata(department)`, or `hired ~ sex | department`: comparisons within the
#' strata
#'   of a confounder, too; several columns are crossed.
#'
#' A term may be an expression, as `I(score > 0.5) ~ cut(age, c(0, 40, 100))`: it is evaluated in
#' the data, then where the formula was written. The data frame comes second, or as `data =`;
#' without one all terms are variables. Other columns (`sample_weight`, `cluster`, `features`) are
#' named as text, as they are without a formula.
#'
#' @name fairstats-formula
#'
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' fs_disparate_impact(hired ~ origin, people, reference = "north")
#' fs_equal_opportunity_difference(cbind(qualified == "yes", hired) ~ sex, people)
#' fs_disparate_impact(hired ~ sex + strata(qualified), people)
#' fs_madd(score ~ sex, people, reference = "male")
NULL

# What may stand on the left of a formula, in this order.
RESPONSES <- c("y_true", "before", "y_pred", "after", "score", "y")

# The arguments of the public function that calls, by name. A formula among those that come before
# the options is replaced by the columns that it names.
given_arguments <- function() {
  formal <- formals(sys.function(-1L))
  frame <- parent.frame()
  left_out <- arguments_left_out(formal, frame)
  arguments <- mget(setdiff(names(formal), left_out), frame)
  front <- names(formal)[seq_len(match("sensitive_features", names(formal)))]
  place <- formula_place(arguments[intersect(front, names(arguments))])
  if (!is.null(place)) {
    arguments <- with_formula(arguments, place, front, formal)
    left_out <- setdiff(left_out, names(arguments))
  }
  refuse_left_out(left_out)
  arguments
}

# Under which name a formula was given; NULL where none was.
formula_place <- function(arguments) {
  places <- names(arguments)[vapply(arguments, inherits, NA, "formula")]
  if (length(places)) places[1L]
}

# `place`: where the formula stands; `front`: names of the arguments that are data and columns. What
# was given by position beside the formula has slipped into the places of columns: first the data,
# then what is no column (the name of a metric).
with_formula <- function(arguments, place, front, formal) {
  formula <- arguments[[place]]
  beside <- Filter(Negate(is.null), arguments[setdiff(front, place)])
  at_data <- if ("data" %in% names(beside)) 1L else which(vapply(beside, is.list, NA))[1L]
  data <- if (!is.na(at_data)) beside[[at_data]]
  if (!is.na(at_data)) {
    beside <- beside[-at_data]
  }
  others <- setdiff(front, c("data", RESPONSES, "sensitive_features"))
  if (length(beside) > length(others)) {
    stop_argument(place, "a formula, and columns beside it", "a formula and its data, or columns")
  }
  columns <- formula_columns(formula, data)
  arguments <- arguments[setdiff(names(arguments), front)]
  arguments$data <- columns$data
  arguments[others[seq_along(beside)]] <- beside
  arguments$sensitive_features <- columns$groups
  arguments <- with_responses(arguments, columns$responses, front, formal)
  if (is.null(columns$strata)) {
    return(arguments)
  }
  if (!"strata" %in% names(formal)) {
    stop_argument("formula", "strata", "outcome ~ group: there are no comparisons within strata")
  }
  if (!is.null(arguments$strata)) {
    stop_argument("strata", "strata in the formula and beside it", "one of the two")
  }
  arguments$strata <- columns$strata
  arguments
}

# The columns on the left of a formula under the names of the arguments that they are.
with_responses <- function(arguments, columns, front, formal) {
  responses <- intersect(RESPONSES, front)
  optional <- responses[vapply(formal[responses], is.null, NA)]
  arguments[optional] <- list(NULL)
  if (is_several(formal)) {
    models <- columns[-1L]
    arguments[c("y_true", "y_pred")] <- list(columns[1L], stats::setNames(models, models))
    return(arguments)
  }
  if (length(columns) < length(responses) && length(optional)) {
    of_outcome <- grepl("^base_rate", c(arguments[["metric"]], "")[1L])
    one <- if (of_outcome) "y_true" else "y_pred"
    responses <- if (length(columns) == 1L) one else c("y_true", "y_pred")
  }
  if (length(columns) != length(responses)) {
    wanted <- if (length(responses) == 1L) responses else paste0("cbind(", listed(responses), ")")
    stop_argument("formula", paste(listed(columns), "on the left"), paste(wanted, "~ group"))
  }
  arguments[responses] <- as.list(columns)
  arguments
}

# Whether a function compares several models, so that several predictions stand on the left.
is_several <- function(formal) "baseline" %in% names(formal)

# Names of the columns of a formula, and the data with those that are expressions or variables.
formula_columns <- function(formula, data) {
  terms <- formula_terms(formula)
  if (!is.null(data)) {
    data <- checked_frame(data)
  }
  values <- lapply(unlist(terms, use.names = FALSE), term_value, data, environment(formula))
  labels <- lapply(terms, function(part) vapply(part, term_label, ""))
  names(values) <- unlist(labels)
  values <- values[!duplicated(names(values))]
  if (length(labels$strata) > 1L) {
    crossed <- paste(labels$strata, collapse = INTERSECTION)
    values[[crossed]] <- cross_values(values[labels$strata])
    labels$strata <- crossed
  }
  if (is.null(data)) {
    data <- checked_frame(values)
  } else {
    for (name in setdiff(names(values), names(data))) {
      if (length(values[[name]]) != nrow(data)) {
        got <- paste(length(values[[name]]), "values of", name)
        stop_argument("formula", got, paste("one for each of the", nrow(data), "rows"))
      }
      data[[name]] <- values[[name]]
    }
  }
  strata <- if (length(labels$strata)) labels$strata
  list(data = data, responses = labels$responses, groups = labels$groups, strata = strata)
}

# The terms of a formula as calls: `responses`, `groups` and `strata`.
formula_terms <- function(formula) {
  if (length(formula) != 3L) {
    stop_argument("formula", deparse1(formula), "two sides: outcome ~ group")
  }
  left <- formula[[2L]]
  right <- bare(formula[[3L]])
  bar <- is_call(right, "|")
  sides <- if (bar) as.list(right)[-1L] else list(right)
  terms <- summands(sides[[1L]], formula)
  within <- vapply(terms, is_call, NA, "strata")
  strata <- unlist(lapply(terms[within], function(term) as.list(term)[-1L]))
  if (bar) {
    strata <- c(strata, summands(sides[[2L]], formula))
  }
  groups <- terms[!within]
  if (!length(groups)) {
    stop_argument("formula", deparse1(formula), "a sensitive column on the right")
  }
  list(
    responses = if (is_call(left, "cbind")) as.list(left)[-1L] else list(left),
    groups = groups,
    strata = strata
  )
}

# What `+` joins. Other operators of model formulas have no meaning here.
summands <- function(term, formula) {
  term <- bare(term)
  if (is_call(term, "+") && length(term) == 3L) {
    return(c(summands(term[[2L]], formula), summands(term[[3L]], formula)))
  }
  foreign <- vapply(c("*", ":", "-", "^", "/", "%in%", "|", "~"), is_call, NA, x = term)
  if (any(foreign) || identical(term, quote(.)) || is.numeric(term)) {
    stop_argument("formula", deparse1(formula), "columns joined by +, strata(...), or | and strata")
  }
  list(term)
}

term_label <- function(term) if (is.name(term)) as.character(term) else deparse1(term)

# The values of a term: from the data, then from where the formula was written.
term_value <- function(term, data, where) {
  value <- tryCatch(eval(term, data, where), error = function(problem) {
    got <- paste0(term_label(term), ", which cannot be evaluated (", conditionMessage(problem), ")")
    stop_argument("formula", got, paste("columns of the data,", listed(names(data))))
  })
  class(value) <- setdiff(oldClass(value), "AsIs")
  value
}

# Combinations of the values of several columns, missing where one of them is.
cross_values <- function(columns) {
  crossed <- do.call(paste, c(unname(lapply(columns, label_text)), sep = INTERSECTION))
  crossed[Reduce(`|`, lapply(columns, is.na))] <- NA
  crossed
}
