# Set distances for fairstats.crosscheck(), on many rows: blocks of all pairs, the nearest refined from differences.

block_minima <- function(a, b, cells = 4e6) {
  b2 <- rowSums(b^2)
  size <- max(1L, floor(cells / nrow(b)))
  out <- numeric(nrow(a))
  for (start in seq(1L, nrow(a), by = size)) {
    rows <- start:min(start + size - 1L, nrow(a))
    part <- a[rows, , drop = FALSE]
    # |a|^2 is the same for all of b, so that it is left out of the search
    nearest <- max.col(2 * tcrossprod(part, b) - rep(b2, each = length(rows)), ties.method = "first")
    out[rows] <- sqrt(rowSums((part - b[nearest, , drop = FALSE])^2))
  }
  out
}

block_distance <- function(a, b, statistic = "max") {
  check_rows(a, b)
  if (nrow(a) * nrow(b) <= 1e6) return(set_distance(a, b, statistic)$value)
  max(over_minima(block_minima(a, b), statistic)$value, over_minima(block_minima(b, a), statistic)$value)
}

# Columns of a frame as coordinates: numbers to [0, 1], every category a 0/1 column; labels 1 apart.
crosscheck_rows <- function(columns, scale) {
  do.call(cbind, lapply(columns, function(x) {
    if (is.character(x)) return(outer(x, sort(unique(x), method = "radix"), "==") + 0)
    cbind(if (scale == "minmax") unit_scale(as.numeric(x)) else as.numeric(x))
  }))
}

crosscheck_labels <- function(y, levels) {
  if (length(levels) <= 2L) cbind(match(y, levels) - 1) else outer(y, levels, "==") / sqrt(2)
}

# D, D_f of one value against all others.
crosscheck_hfm <- function(columns, y_true, y_pred, group, value, scale, statistic) {
  x <- crosscheck_rows(columns, scale)
  levels <- sort(unique(c(y_true, y_pred)), method = "radix")
  inside <- group == value
  between <- function(y) {
    z <- cbind(x, crosscheck_labels(y, levels))
    block_distance(z[inside, , drop = FALSE], z[!inside, , drop = FALSE], statistic)
  }
  d <- between(y_true)
  d_f <- between(y_pred)
  list(d = d, d_f = d_f, hfm = if (d == 0 && d_f == 0) 0 else d_f / d - 1, n = sum(inside))
}

# Score interval of a share, by prop.test.
known_wilson <- function(k, n, level) {
  found <- suppressWarnings(stats::prop.test(k, n, correct = FALSE, conf.level = level))
  list(estimate = unname(found$estimate), low = found$conf.int[1L], high = found$conf.int[2L])
}

# HFM of two distances.
harmonic_measure <- function(d, d_f) if (d == 0 && d_f == 0) 0 else d_f / d - 1
