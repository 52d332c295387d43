#' Rates per group with their covariance
#'
#' The mean of `outcome` over the rows `cases`, per group, with the covariance of these means: binomial
#' variances for independent unweighted rows; under `weight` or `cluster` the with-replacement linearisation
#' of survey sampling, written here in base R.
#'
#' @param outcome Numeric 0/1 vector: which rows are successes.
#' @param cases Logical vector: which rows belong to the denominator.
#' @param group Vector of group labels.
#' @param weight Optional sampling weights.
#' @param cluster Optional sampling units.
#' @param groups Order of the groups; default sorted.
#' @return A list: `groups`, `successes`, `cases` (weighted totals), `rows`, `rate`, `covariance`, and `df`,
#'   the sampling units minus one (`Inf` without weights and clusters).
#' @references Woodruff (1971). A simple method for approximating the variance of a complicated estimate.
#'   Journal of the American Statistical Association 66, 411-414.
#' @examples
#' group_rates(c(1, 0, 1, 1), rep(TRUE, 4), c("a", "a", "b", "b"))$rate
#' @export
group_rates <- function(outcome, cases, group, weight = NULL, cluster = NULL, groups = NULL) {
  outcome <- as.numeric(outcome)
  group <- as.character(group)
  cases <- as.logical(cases)
  check_columns(outcome, cases, group, weight, cluster)
  if (is.null(groups)) groups <- sort(unique(group), method = "radix")
  w <- if (is.null(weight)) rep(1, length(outcome)) else as.numeric(weight)
  member <- outer(group, groups, "==") & cases
  total <- colSums(member * w)
  hits <- colSums(member * (w * outcome))
  rate <- hits / total
  if (is.null(weight) && is.null(cluster)) {
    covariance <- diag(rate * (1 - rate) / total, length(groups))
    df <- Inf
  } else {
    influence <- t(t(member * (w * outcome) - t(t(member * w) * rate)) / total)
    spread <- linearised_covariance(influence, cluster)
    covariance <- spread$covariance
    df <- spread$df
  }
  list(
    groups = groups, successes = hits, cases = total, rows = colSums(member), rate = rate,
    covariance = covariance, df = df
  )
}

# Covariance of column totals over independent sampling units: n / (n - 1) times the centred cross product.
linearised_covariance <- function(influence, cluster) {
  units <- if (is.null(cluster)) influence else rowsum(influence, as.character(cluster))
  n <- nrow(units)
  if (n < 2L) stop("a variance needs at least two sampling units, got ", n, call. = FALSE)
  centred <- sweep(units, 2L, colMeans(units))
  list(covariance = crossprod(centred) * (n / (n - 1)), df = n - 1)
}

check_columns <- function(outcome, cases, group, weight, cluster) {
  n <- length(outcome)
  lengths <- c(cases = length(cases), group = length(group), weight = length(weight), cluster = length(cluster))
  wrong <- names(lengths)[lengths != n & !(lengths == 0L & names(lengths) %in% c("weight", "cluster"))]
  if (length(wrong)) stop("all columns must have one length; `", wrong[1L], "` differs", call. = FALSE)
  if (n == 0L) stop("no rows", call. = FALSE)
  if (anyNA(outcome) || anyNA(cases) || anyNA(group) || anyNA(weight) || anyNA(cluster)) {
    stop("missing values: leave those rows out first", call. = FALSE)
  }
  if (!all(outcome %in% c(0, 1))) stop("labels and predictions must be 0 or 1", call. = FALSE)
  if (!is.null(weight) && (any(weight < 0) || !any(weight > 0) || any(is.infinite(weight)))) {
    stop("weights must be finite, at least 0, and not all 0", call. = FALSE)
  }
  invisible(NULL)
}

# Name of a rate -> its outcome and its denominator.
rate_columns <- function(rate, y_true, y_pred) {
  all <- rep(TRUE, length(if (is.null(y_pred)) y_true else y_pred))
  switch(rate,
    selection_rate = list(y_pred, all),
    base_rate = list(y_true, all),
    accuracy = list(as.numeric(y_true == y_pred), all),
    tpr = list(y_pred, y_true == 1),
    fpr = list(y_pred, y_true == 0),
    fnr = list(1 - y_pred, y_true == 1),
    tnr = list(1 - y_pred, y_true == 0),
    ppv = list(y_true, y_pred == 1),
    npv = list(1 - y_true, y_pred == 0),
    stop("unknown rate: ", rate, call. = FALSE)
  )
}

# Group that the others are compared with: the one named, else the largest.
reference_index <- function(reference, groups, sizes) {
  if (is.null(reference)) return(which.max(sizes))
  index <- match(as.character(reference), groups)
  if (is.na(index)) {
    stop("`reference` is ", reference, "; the groups are ", paste(groups, collapse = ", "), call. = FALSE)
  }
  index
}
