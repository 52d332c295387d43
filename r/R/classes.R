# Rates of several classes: of one class against the others, of a cut of ordered ones, their mean over classes. Each
# counts cells of the J x J table of labels and predictions (label a, prediction b: cell (a - 1) J + b), or of one column
# of J classes.

# What cell_metric() takes, of a name as "tpr@2/3", the second of three classes; "tpr@2+3/3", all from the second on;
# "tpr@mean/3", the mean over classes, which of accuracy is the share of right predictions.
as_class_metric <- function(name, n_cells) {
  words <- strsplit(name, "[@/]")[[1L]]
  rate <- words[1L]
  classes <- as.integer(words[3L])
  places_of <- function(favourable) class_places(favourable, classes, n_cells)
  if (words[2L] != "mean") {
    place <- places_of(as.integer(strsplit(words[2L], "+", fixed = TRUE)[[1L]]))
    if (n_cells == classes) return(list(parts = list(list(success = which(place == 1L), case = seq_len(classes)))))
    formula <- formula_of(rate)
    share <- 1 / tabulate(place, 4L)[place]
    return(list(parts = parts_at(formula, place), formula = formula, places = list(place), share = share))
  }
  if (rate %in% c("selection_rate", "base_rate"))
    stop_argument("classes", paste("the mean of the", rate), "a rate that differs: this mean is 1 / J in every group")
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
  list(parts = if (disjoint) parts, formula = formula, places = places)
}

# Which of tp, fp, fn, tn each cell belongs to, where some classes are favourable; of one column, whether it is one.
class_places <- function(favourable, classes, n_cells) {
  is_favourable <- seq_len(classes) %in% favourable
  if (n_cells == classes) return(ifelse(is_favourable, 1L, 2L))
  label <- rep(is_favourable, each = classes)
  prediction <- rep(is_favourable, classes)
  4L - 2L * prediction - label
}

# Success and case cells of a formula of two labels, among those of several classes; NULL for other functions.
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
