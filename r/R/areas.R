# Areas under ROC curves: of rows with weights or in clusters, of all other rows, and of all rows.
# From all pairs of a row with label 1 and one with label 0.

# Rows of every group as data frames, and behind them all others of each where `rest`.
rows_of_groups <- function(y, score, place, count, weight = NULL, cluster = NULL, rest = FALSE) {
  all_rows <- data.frame(y = y, score = score, place = place)
  all_rows$w <- weight
  all_rows$unit <- cluster
  rows <- lapply(seq_len(count), function(g) all_rows[place == g, ])
  if (rest) {
    rows <- c(rows, lapply(seq_len(count), function(g) all_rows[place != g, ]))
  }
  attr(rows, "all") <- all_rows
  rows
}

weights_of <- function(r) if (is.null(r$w)) rep(1, nrow(r)) else r$w

# Weighted share of the other label that a row lies on the right side of, ties half.
weighted_placements <- function(r) {
  w <- weights_of(r)
  vapply(
    seq_len(nrow(r)),
    function(i) {
      others <- r$y != r$y[i]
      gap <- (r$score[i] - r$score[others]) * (if (r$y[i] == 1) 1 else -1)
      sum(w[others] * ((gap > 0) + (gap == 0) / 2)) / sum(w[others])
    },
    0
  )
}

# What every row adds to the error of an area: its placement less the mean of its stratum and label,
# by its share of the label's weight.
errors_of_area <- function(r, v, stratum) {
  w <- weights_of(r)
  cell <- interaction(stratum, r$y, drop = TRUE)
  centre <- as.vector(tapply(w * v, cell, sum) / tapply(w, cell, sum))[as.integer(cell)]
  w * (v - ifelse(is.finite(centre), centre, 0)) / stats::ave(w, r$y, FUN = sum)
}

# Variance of a sum of errors of independent rows, or of clusters (Obuchowski 1997, Biometrics 53,
# 567-578), with n/(n - 1) in every stratum and label.
variance_of_errors <- function(e, y, stratum, unit = NULL) {
  enlarged <- function(n) if (n > 1) n / (n - 1) else 1
  total <- 0
  for (s in unique(stratum)) {
    inside <- stratum == s
    sums <- list()
    for (label in 0:1) {
      here <- inside & y == label
      parts <- if (is.null(unit)) e[here] else as.vector(tapply(e[here], unit[here], sum))
      total <- total + enlarged(length(parts)) * sum(parts^2)
    }
    if (!is.null(unit)) {
      units <- factor(unit[inside])
      both <- vapply(
        split(data.frame(e = e[inside], y = y[inside]), units),
        function(d) c(sum(d$e[d$y == 1]), sum(d$e[d$y == 0])),
        c(0, 0)
      )
      total <- total + 2 * enlarged(nlevels(units)) * sum(both[1L, ] * both[2L, ])
    }
  }
  total
}

kish <- function(w) sum(w)^2 / sum(w^2)

# The area of a group with its variance, rows or clusters of both labels, and their effective numbers.
area_of <- function(r, stratum = rep(1, nrow(r))) {
  labels <- lapply(1:0, function(label) r$y == label)
  counted <- vapply(
    labels,
    function(here) if (is.null(r$unit)) sum(here) else length(unique(r$unit[here])),
    0
  )
  found <- list(value = NaN, variance = NaN, counted = counted, sizes = c(0, 0), df = NULL)
  w <- weights_of(r)
  if (min(vapply(labels, sum, 0)) < 2 || min(vapply(labels, function(here) sum(w[here]), 0)) <= 0) {
    return(found)
  }
  v <- weighted_placements(r)
  found$value <- stats::weighted.mean(v[r$y == 1], w[r$y == 1])
  e <- errors_of_area(r, v, stratum)
  found$variance <- variance_of_errors(e, r$y, stratum, r$unit)
  found$sizes <- vapply(labels, function(here) kish(w[here]), 0)
  if (is.null(r$unit) && diff(range(w)) < 1e-7 * mean(w)) {
    return(found)
  }
  units <- found$sizes
  if (!is.null(r$unit)) {
    units <- vapply(
      labels,
      function(here) kish(as.vector(tapply(w[here], r$unit[here], sum))),
      0
    )
    of_rows <- variance_of_errors(e, r$y, stratum)
    found$sizes <- if (found$variance > 0 && of_rows > 0) {
      found$sizes * min(of_rows / found$variance, 1)
    } else {
      units
    }
  }
  found$df <- max(min(units) - 1, 1)
  found
}

# Limits are the wider of two: of the logit with the variance of DeLong, DeLong and Clarke-Pearson
# (1988, Biometrics 44, 837-845) and Student's t of the rarer label, and the values that the
# variance of Hanley and McNeil does not reject (Newcombe 2006, Statistics in Medicine 25, 559-573,
# method 5). Under weights and clusters of effective rows, both with Student's t.
limits_of_area <- function(area, critical) {
  a <- area$value
  k <- area$sizes
  if (is.nan(a)) {
    return(c(NaN, NaN))
  }
  student <- function(df) -stats::qt(stats::pnorm(-critical), df)
  plain <- is.null(area$df)
  by_logit <- student(if (plain) min(k) - 1 else area$df)
  by_score <- if (plain) critical else student(area$df)
  wider_limits_of_area(a, area$variance, by_logit, by_score, k[1L], k[2L])
}

# The two limits of an area, or of a mean of areas with shares that have one law: `by_logit` and
# `by_score` are the critical values of either.
wider_limits_of_area <- function(a, variance, by_logit, by_score, positives, negatives, share = 1) {
  of_logit <- c(a, a)
  if (a > 0 && a < 1 && variance > 0) {
    of_logit <- stats::plogis(
      stats::qlogis(a) + c(-1, 1) * by_logit * sqrt(variance) / (a * (1 - a))
    )
  }
  m <- (positives + negatives) / 2 - 1
  spread <- function(t) {
    law <- t * (1 - t) * (1 + m * (1 - t) / (2 - t) + m * t / (1 + t)) / (positives * negatives)
    sqrt(sum(share^2 * law))
  }
  beyond <- function(t) abs(a - t) - by_score * spread(t)
  end <- function(side) {
    if (a == side || beyond(side) <= 0) {
      return(side)
    }
    # an area of 0 or 1 is a root itself
    from <- if (a == 1 - side) abs(a - 1e-9) else a
    stats::uniroot(beyond, sort(c(from, side)), tol = 1e-14)$root
  }
  c(min(of_logit[1L], end(0)), max(of_logit[2L], end(1)))
}

area_values <- function(rows, count = length(rows)) {
  areas <- lapply(unname(rows), area_of)
  small <- vapply(areas, function(area) min(area$counted), 0) < FEWEST_OF_LABEL
  mover_values(
    vapply(areas, `[[`, 0, "value"),
    vapply(areas, `[[`, 0, "variance"),
    vapply(rows, nrow, 0L),
    small,
    function(g, critical) limits_of_area(areas[[g]], critical),
    "logit DeLong and Newcombe (MOVER)",
    count,
    function(g, ratio) area_beside_all(attr(rows, "all"), g, small, areas[[g]], ratio)
  )
}

# A group against all rows, its own among them: the shares of the groups in the rows of a label are
# fixed, groups with few rows are one stratum. Each one's limits count by the share of its variance
# that the difference has from it.
area_beside_all <- function(r, g, small, own_area, ratio) {
  everybody <- area_of(r)
  found <- list(
    value = everybody$value,
    n = nrow(r),
    own = function(critical) limits_of_area(everybody, critical)
  )
  if (small[g]) {
    return(found)
  }
  shared <- shared_with_all(r, g, small)
  areas <- list(own_area, shared$of_all)
  found$contrast <- contrast_of_areas(
    c(own_area$value, shared$of_all$value),
    function(k, critical) limits_of_area(areas[[k]], critical),
    c(own_area$variance, shared$of_all$variance, shared$parts),
    ratio
  )
  found
}

# The area of all rows as a group is compared with it, and what rows of the group, and all others, add
# to its variance, with the covariance of both areas.
shared_with_all <- function(r, g, small) {
  stratum <- ifelse(small[r$place] & r$place != g, 0, r$place)
  inside <- r$place == g
  e_all <- errors_of_area(r, weighted_placements(r), stratum)
  mine <- r[inside, ]
  one <- rep(1, nrow(mine))
  e_own <- errors_of_area(mine, weighted_placements(mine), one)
  of_mine <- function(e) variance_of_errors(e, mine$y, one, mine$unit)
  others <- variance_of_errors(e_all[!inside], r$y[!inside], stratum[!inside], r$unit[!inside])
  covariance <- (of_mine(e_own + e_all[inside]) - of_mine(e_own - e_all[inside])) / 4
  list(of_all = area_of(r, stratum), parts = c(of_mine(e_all[inside]), others, covariance))
}

# The contrast of a group's area and that of all rows. `variance`: of the group's, of that of all, what
# either rows add to this, and the covariance of both.
contrast_of_areas <- function(value, limits, variance, ratio) {
  by <- if (ratio) value else c(1, 1)
  from_group <- variance[1L] / by[1L]^2 - 2 * variance[5L] / prod(by) + variance[3L] / by[2L]^2
  from_others <- variance[4L] / by[2L]^2
  part <- pmax(c(from_group, from_others), 0)
  whole <- variance[1:2] / by^2
  shares <- ifelse(whole > 0, sqrt(part / whole), 1)
  scale <- if (ratio) log else identity
  values <- scale(value)
  contrast <- mover_of_two(
    values,
    function(k, critical) values[k] + shares[k] * (scale(limits(k, critical)) - values[k]),
    if (ratio) exp else identity,
    scale
  )
  contrast$std_error <- sqrt(sum(part)) * (if (ratio) contrast$estimate else 1)
  contrast
}
