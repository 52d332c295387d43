# BCa bootstrap of two rates for fairstats.crosscheck(): the four cells drawn again as one multinomial.

# Intervals at several levels and statistics at several null values: means over batches of one run's size, and the
# Monte Carlo error of one run.
crosscheck_bca <- function(k0, n0, k1, n1, contrast, levels, nulls, resamples, batches = 20) {
  cells <- c(k0, n0 - k0, k1, n1 - k1)
  contrast_of <- function(x) {
    r0 <- x[1L, ] / (x[1L, ] + x[2L, ])
    r1 <- x[3L, ] / (x[3L, ] + x[4L, ])
    if (contrast == "ratio") r0 / r1 else r0 - r1
  }
  estimate <- contrast_of(cbind(cells))
  a <- acceleration_of(cells, contrast_of, contrast)
  one <- function(batch) {
    drawn <- sort(contrast_of(stats::rmultinom(resamples, sum(cells), cells)))
    n <- length(drawn)
    share <- (sum(drawn < estimate) + sum(drawn == estimate) / 2) / n
    bias <- stats::qnorm(min(max(share, 0.5 / n), 1 - 0.5 / n))
    ends <- vapply(levels, function(level) {
      z <- bias + stats::qnorm(c((1 - level) / 2, (1 + level) / 2))
      stats::quantile(drawn, stats::pnorm(bias + z / (1 - a * z)), type = 8, names = FALSE)
    }, c(0, 0))
    z <- vapply(nulls, function(null) {
      below <- (sum(drawn < null) + sum(drawn <= null)) / 2 / n
      shifted <- stats::qnorm(min(max(below, 0.5 / n), 1 - 0.5 / n)) - bias
      bias - shifted / (1 + a * shifted)
    }, 0)
    c(as.numeric(ends), z)
  }
  found <- vapply(seq_len(batches), one, numeric(2L * length(levels) + length(nulls)))
  list(value = rowMeans(found), error = apply(found, 1L, stats::sd) * sqrt(1 + 1 / batches))
}

# Skewness of the jackknife over 6; leaving out a row of a cell gives one of four values.
acceleration_of <- function(cells, contrast_of, contrast) {
  left <- vapply(1:4, function(k) contrast_of(cbind(replace(cells, k, cells[k] - 1))), 0)
  if (all(is.finite(left))) {
    off <- sum(cells * left) / sum(cells) - left
  } else {
    n <- c(cells[1L] + cells[2L], cells[3L] + cells[4L])
    r <- cells[c(1L, 3L)] / n
    by <- if (contrast == "ratio") 1 / r else c(1, 1)
    off <- c(c(1 - r[1L], -r[1L]) / n[1L] * by[1L], -c(1 - r[2L], -r[2L]) / n[2L] * by[2L])
  }
  sum(cells * off^3) / (6 * sum(cells * off^2)^1.5)
}
