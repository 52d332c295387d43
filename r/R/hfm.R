#' Distance between two sets of rows
#'
#' The distance of every row to its nearest row in the other set, summed up over the rows of either set; the
#' larger direction counts. With the maximum it is the symmetric Hausdorff distance. All pairs are computed,
#' from differences, one row at a time.
#'
#' @param a,b Numeric matrices with the same columns.
#' @param statistic "max", "mean", or a number in (0, 1]: the smallest distance that at least this share of
#'   the rows do not exceed.
#' @return A list: value; a_to_b and b_to_a, the two directions; row_a_to_b, nearest_a_to_b, row_b_to_a,
#'   nearest_b_to_a, the first rows that attain them (NA for the mean).
#' @references Bian and Luo (2024). Does machine bring in extra bias in learning? Equations 1 and 2.
#' @examples
#' set_distance(rbind(c(0, 0), c(1, 0)), rbind(c(0, 0), c(1, 2)))$value
#' @export
set_distance <- function(a, b, statistic = "max") {
  check_rows(a, b)
  ab <- row_minima(a, b)
  ba <- row_minima(b, a)
  first <- over_minima(ab$distance, statistic)
  second <- over_minima(ba$distance, statistic)
  list(
    value = max(first$value, second$value),
    a_to_b = first$value, b_to_a = second$value,
    row_a_to_b = first$row, nearest_a_to_b = ab$nearest[first$row],
    row_b_to_a = second$row, nearest_b_to_a = ba$nearest[second$row]
  )
}

# Distance of every row of a to its nearest row of b, and that row.
row_minima <- function(a, b) {
  columns <- t(b)
  found <- vapply(seq_len(nrow(a)), function(i) {
    squared <- colSums((columns - a[i, ])^2)
    nearest <- which.min(squared)
    c(sqrt(squared[nearest]), nearest)
  }, numeric(2))
  list(distance = found[1, ], nearest = as.integer(found[2, ]))
}

over_minima <- function(distance, statistic) {
  if (identical(statistic, "max")) {
    row <- which.max(distance)
    return(list(value = distance[row], row = row))
  }
  if (identical(statistic, "mean")) return(list(value = mean(distance), row = NA_integer_))
  if (!is.numeric(statistic) || length(statistic) != 1L || is.na(statistic) || statistic <= 0 || statistic > 1) {
    stop('`statistic` must be "max", "mean" or a number in (0, 1]', call. = FALSE)
  }
  place <- max(ceiling(statistic * length(distance) * (1 - 1e-15)), 1)
  row <- order(distance)[place]
  list(value = distance[row], row = row)
}

check_rows <- function(a, b) {
  for (rows in list(a, b)) {
    if (!is.matrix(rows) || !is.numeric(rows)) stop("the sets must be numeric matrices", call. = FALSE)
    if (!nrow(rows) || !ncol(rows)) stop("a set is empty", call. = FALSE)
    if (!all(is.finite(rows))) stop("the sets must hold finite numbers only", call. = FALSE)
  }
  if (ncol(a) != ncol(b)) stop("the sets must have the same columns", call. = FALSE)
  invisible(NULL)
}

#' One projection of the approximate distance between two sets (Algorithm 2)
#'
#' Rows are sorted by their projection; each is compared with at most `m2` rows of the other set whose
#' projection is not larger and `m2` whose projection is not smaller. The result never lies below
#' [set_distance()].
#'
#' @inheritParams set_distance
#' @param w Weights of the projection, with absolute values that sum to 1.
#' @param m2 Number of neighbours on either side.
#' @return A number.
#' @references Bian and Luo (2024), Algorithm 2.
#' @examples
#' accele_dist(rbind(c(0, 0), c(1, 0)), rbind(c(0, 0), c(1, 2)), c(0.4, 0.6), 1)
#' @export
accele_dist <- function(a, b, w, m2) {
  check_rows(a, b)
  rows <- rbind(a, b)
  group <- rep(1:2, c(nrow(a), nrow(b)))
  along <- drop(rows %*% w)
  sorted <- order(along)
  nearest <- vapply(seq_along(along), function(i) {
    other <- sorted[group[sorted] != group[i]]
    below <- utils::tail(other[along[other] <= along[i]], m2)
    above <- utils::head(other[along[other] >= along[i]], m2)
    compared <- unique(c(below, above))
    min(sqrt(colSums((t(rows[compared, , drop = FALSE]) - rows[i, ])^2)))
  }, 0)
  max(nearest)
}

#' Harmonic fairness measure via manifolds
#'
#' D is the distance between the rows (x, y) of one group and of all others, D_f the same with predictions in
#' place of labels, and HFM = D_f / D - 1: 0 where both are 0, infinite where only D is.
#'
#' @param x Numeric matrix of features, without sensitive ones.
#' @param y_true,y_pred Labels and predictions, 0 or 1.
#' @param in_group Logical: rows of the group.
#' @param scale Whether every column of x is mapped to \[0, 1\] by its bounds; a constant one becomes 0.
#' @param statistic As in [set_distance()].
#' @return A list: d, d_f, hfm.
#' @references Bian and Luo (2024), equations 1 to 3.
#' @examples
#' x <- matrix(c(0, 0.2, 0.6, 1))
#' hfm(x, c(0, 0, 1, 1), c(0, 1, 1, 1), c(TRUE, FALSE, TRUE, FALSE))
#' @export
hfm <- function(x, y_true, y_pred, in_group, scale = TRUE, statistic = "max") {
  in_group <- as.logical(in_group)
  if (length(in_group) != nrow(x) || length(y_true) != nrow(x) || length(y_pred) != nrow(x)) {
    stop("x, y_true, y_pred and in_group must have one entry per row", call. = FALSE)
  }
  if (scale) x <- apply(x, 2, unit_scale)
  between <- function(y) {
    z <- cbind(x, y)
    set_distance(z[in_group, , drop = FALSE], z[!in_group, , drop = FALSE], statistic)$value
  }
  d <- between(y_true)
  d_f <- between(y_pred)
  list(d = d, d_f = d_f, hfm = if (d == 0 && d_f == 0) 0 else d_f / d - 1)
}

unit_scale <- function(x) {
  width <- max(x) - min(x)
  if (width == 0) numeric(length(x)) else (x - min(x)) / width
}
