# Two binomial rates: score statistics and intervals, BCa, exact tests, and well-known functions of R as witnesses.

# z of the null hypothesis that ratio or difference of two rates has the value `null`, positive where the estimate lies
# above it: Miettinen and Nurminen (1985), Statistics in Medicine 4, 213-226; without the factor N / (N - 1) Koopman
# (1984), Biometrics 40, 513-517, and Mee (1984), Biometrics 40, 1175-1176. Many tables at once.
score_z <- function(k0, n0, k1, n1, contrast, null, correction = TRUE) {
  ratio <- contrast == "ratio"
  rates <- constrained_rates(k0, n0, k1, n1, contrast, null)
  p <- rates$p1
  p0 <- rates$p0
  distance <- if (ratio) k0 / n0 - null * (k1 / n1) else k0 / n0 - k1 / n1 - null
  variance <- p0 * (1 - p0) / n0 + (if (ratio) null^2 else 1) * p * (1 - p) / n1
  if (correction) variance <- variance * (n0 + n1) / (n0 + n1 - 1)
  ifelse(variance > 0, distance / sqrt(variance), ifelse(abs(distance) < 1e-14, 0, sign(distance) * Inf))
}

# Both rates where the likelihood is largest under the null hypothesis: p0 of the group, p1 of the reference. The root
# of the score equation in closed form, two steps of Newton's method against its rounding, and the ends where the slope
# of the likelihood points out of the range.
constrained_rates <- function(k0, n0, k1, n1, contrast, null) {
  ratio <- contrast == "ratio"
  k0 <- k0 + 0 * k1
  ends <- nuisance_range(contrast, null)
  root <- if (ratio) root_of_ratio else root_of_difference
  p <- pmin(pmax(root(k0, n0, k1, n1, null), ends[1L]), ends[2L])
  beside <- if (ratio) 0 else null
  most <- if (ratio) 1 / null else 1 - null
  tiny <- 1e-300 # no count, no pole
  pull <- function(p, power) list(
    k0 / ((p + beside)^power + tiny), k1 / (p^power + tiny),
    (n0 - k0) / ((most - p)^power + tiny), (n1 - k1) / ((1 - p)^power + tiny)
  )
  slope <- function(p) {
    of <- pull(p, 1)
    of[[1L]] + of[[2L]] - of[[3L]] - of[[4L]]
  }
  for (step in 1:2) {
    better <- p + slope(p) / Reduce(`+`, pull(p, 2))
    inside <- which(better > ends[1L] & better < ends[2L])
    p[inside] <- better[inside]
  }
  p[slope(ends[1L] + 1e-15 * diff(ends)) <= 0] <- ends[1L]
  p[slope(ends[2L] - 1e-15 * diff(ends)) >= 0] <- ends[2L]
  list(p0 = pmin(1, pmax(0, if (ratio) null * p else p + null)), p1 = p)
}

# Roots of the score equation, a quadratic for a ratio and a cubic for a difference.
root_of_ratio <- function(k0, n0, k1, n1, null) {
  linear <- null * (n0 + k1) + n1 + k0
  2 * (k0 + k1) / (linear + sqrt(pmax(linear^2 - 4 * null * (n0 + n1) * (k0 + k1), 0)))
}

root_of_difference <- function(k0, n0, k1, n1, null) {
  n <- n0 + n1
  by <- null * (1 - null)
  of_square <- -(k0 - n0 * null + n0 + k1 + n1 * (1 - 2 * null)) / n
  of_one <- (k0 - n0 * null + k1 * (1 - 2 * null) - n1 * by) / n
  of_none <- k1 * by / n
  q <- (of_square / 3)^3 - of_square * of_one / 6 + of_none / 2
  p <- ifelse(q < 0, -1, 1) * sqrt(pmax((of_square / 3)^2 - of_one / 3, 0))
  angle <- acos(pmin(pmax(ifelse(p == 0, 0, q / p^3), -1), 1))
  2 * p * cos((pi + angle) / 3) - of_square / 3
}

# Where the rate of the reference may lie under the null hypothesis.
nuisance_range <- function(contrast, null)
  if (contrast == "ratio") c(0, min(1, 1 / null)) else c(max(0, -null), min(1, 1 - null))

# Ends (side -1 and 1) at a critical value and z at a null value by the score; `continuity`: half a step of the
# difference.
score_method <- function(k0, n0, k1, n1, contrast, correction, continuity = FALSE) {
  force(continuity) # limits are asked for later, when the caller may have gone on to another table
  ratio <- contrast == "ratio"
  centre <- if (ratio) (k0 / n0) / (k1 / n1) else k0 / n0 - k1 / n1
  z <- function(null) {
    plain <- score_z(k0, n0, k1, n1, contrast, null, correction)
    if (!continuity) return(plain)
    distance <- abs(if (ratio) k0 / n0 - null * k1 / n1 else centre - null)
    step <- (1 / n0 + (if (ratio) null else 1) / n1) / 2
    if (distance <= step) 0 else plain * (distance - step) / distance
  }
  # ratios are searched on the log scale
  to <- if (ratio) exp else identity
  bounded <- function(x) max(-1e6, min(1e6, z(to(x))))
  edge <- if (ratio) 40 else 1 - 1e-14
  from <- if (!ratio) centre else if (k0 > 0 && k1 > 0) log(k0 / n0) - log(k1 / n1) else if (k1 == 0) edge else -edge
  end <- function(critical, side) {
    open <- if (ratio) (if (side < 0) k0 else k1) == 0 else side * bounded(side * edge) >= -critical
    if (open) return(if (!ratio) side else if (side < 0) 0 else Inf)
    to(root_between(function(x) bounded(x) + side * critical, min(side * edge, from), max(side * edge, from)))
  }
  list(estimate = centre, z = z, end = end, ends = function(critical) c(end(critical, -1), end(critical, 1)))
}

root_between <- function(f, low, high) stats::uniroot(f, c(low, high), tol = 1e-14, maxiter = 10000L)$root

# Mean of differences from the limits of each (MOVER: Zou and Donner 2008, Statistics in Medicine 27, 1693-1702).
mover_method <- function(scores) {
  if (length(scores) == 1L) return(scores[[1L]])
  d <- vapply(scores, `[[`, 0, "estimate")
  end <- function(critical, side) {
    limits <- vapply(scores, function(s) s$end(critical, side), 0)
    max(-1, min(1, mean(d) + side * sqrt(sum(((limits - d) / length(d))^2))))
  }
  z <- function(null) {
    side <- if (mean(d) > null) -1 else 1
    critical_at(mean(d) - null, function(critical) side * (null - end(critical, side)), 1e-6, 1e-10)
  }
  list(end = end, ends = function(critical) c(end(critical, -1), end(critical, 1)), z = z)
}

# Critical value at which an interval ends at a value, from its distance to the estimate and from how far the end lies
# on the side of the estimate by critical value; signed as the distance.
critical_at <- function(distance, reach, least, tolerance) {
  if (abs(distance) < 1e-14 || reach(least) <= 0) return(0)
  sign(distance) * (if (reach(30) > 0) 30 else stats::uniroot(reach, c(least, 30), tol = tolerance)$root)
}

# Interval of two rates by "log", "delta", "score", or the score without correction ("koopman", "mee"). The delta method
# of the ratio is that of Besse, del Barrio, Gordaliza, Loubes (2018), theorem 3.1.
rate_interval <- function(k0, n0, k1, n1, contrast, method, level = 0.95) {
  counts <- c(k0, n0, k1, n1)
  if (!all(is.finite(counts)) || any(counts < 0) || k0 > n0 || k1 > n1 || n0 <= 0 || n1 <= 0)
    stop("needs 0 <= k <= n and n > 0 in both groups", call. = FALSE)
  numbers_in(level, "level", 0, 1, open = BOTH)
  of <- cell_metric(rbind(c(k0, n0 - k0), c(k1, n1 - k1)), as_metric("selection_rate", 2L))
  pair_method(of, 1L, 2L, contrast, method)$ends(stats::qnorm((1 + level) / 2))
}

# BCa bootstrap of two rates, the four cells drawn again as one multinomial: intervals at several levels and statistics
# at several null values, as means over batches of one run's size, and the Monte Carlo error of one run.
crosscheck_bca <- function(k0, n0, k1, n1, contrast, levels, nulls, resamples, batches = 20) {
  cells <- c(k0, n0 - k0, k1, n1 - k1)
  contrast_of <- function(x) {
    r0 <- x[1L, ] / (x[1L, ] + x[2L, ])
    r1 <- x[3L, ] / (x[3L, ] + x[4L, ])
    if (contrast == "ratio") r0 / r1 else r0 - r1
  }
  estimate <- contrast_of(cbind(cells))
  a <- acceleration_of(cells, contrast_of, contrast)
  found <- replicate(batches, {
    drawn <- sort(contrast_of(stats::rmultinom(resamples, sum(cells), cells)))
    n <- length(drawn)
    place <- function(x) stats::qnorm(min(max((sum(drawn < x) + sum(drawn <= x)) / 2 / n, 0.5 / n), 1 - 0.5 / n))
    bias <- place(estimate)
    ends <- vapply(levels, function(level) {
      z <- bias + stats::qnorm(c((1 - level) / 2, (1 + level) / 2))
      stats::quantile(drawn, stats::pnorm(bias + z / (1 - a * z)), type = 8, names = FALSE)
    }, c(0, 0))
    z <- vapply(nulls, function(null) bias - (place(null) - bias) / (1 + a * (place(null) - bias)), 0)
    c(as.numeric(ends), z)
  })
  list(value = rowMeans(found), error = apply(found, 1L, stats::sd) * sqrt(1 + 1 / batches))
}

# Skewness of the jackknife over 6; leaving out a row of a cell gives one of four values.
acceleration_of <- function(cells, contrast_of, contrast) {
  left <- vapply(1:4, function(k) contrast_of(cbind(replace(cells, k, cells[k] - 1))), 0)
  off <- sum(cells * left) / sum(cells) - left
  if (!all(is.finite(left))) {
    n <- c(cells[1L] + cells[2L], cells[3L] + cells[4L])
    r <- cells[c(1L, 3L)] / n
    by <- (if (contrast == "ratio") 1 / r else c(1, 1)) / n
    off <- c(c(1 - r[1L], -r[1L]) * by[1L], -c(1 - r[2L], -r[2L]) * by[2L])
  }
  sum(cells * off^3) / (6 * sum(cells * off^2)^1.5)
}

# Unconditional exact tests of two rates: tables ordered by the score statistic (Chan 1998, Statistics in Medicine 17,
# 1403-1413), the p-value the largest over the rate of the larger group within its Clopper-Pearson interval of level
# 1 - gamma, plus gamma (Berger and Boos 1994, JASA 89, 1012-1016). One p-value per null value and alternative.
exact_unconditional <- function(k0, n0, k1, n1, contrast, nulls, alternatives)
  mapply(function(null, alternative) exact_pvalue(k0, n0, k1, n1, contrast, null, alternative), nulls, alternatives)

# Error of the nuisance rate's interval, part of every p-value.
EXACT_GAMMA <- 1e-7

exact_pvalue <- function(k0, n0, k1, n1, contrast, null, alternative) {
  if (!is_inner_null(contrast, null)) return(1)
  z <- function(a, b) score_z(a, n0, b, n1, contrast, null, FALSE)
  observed <- z(k0, k1)
  slack <- if (is.finite(observed)) 1e-9 * max(1, abs(observed)) else 0
  # z rises with the count of the group and falls with that of the reference: for each count of the smaller group the
  # extreme counts of the other are a run from one end
  # (of two equal groups the one that the null says to have the larger rate counts as the larger group)
  turned <- if (contrast == "ratio") 1 / null else -null
  swap <- n0 > n1 || (n0 == n1 && (k0 > k1 || (k0 == k1 && null < turned)))
  few <- if (swap) n1 else n0
  many <- if (swap) n0 else n1
  first <- function(true) first_where(function(j) true(if (swap) z(j, 0:few) else z(0:few, j)), few + 1, many)
  # the larger group's counts with z as small as observed, and as large: up to a count, or from one on
  up_to <- rep(-1, few + 1)
  from <- rep(many + 1, few + 1)
  for (side in c(1, -1)[c(alternative != "greater", alternative != "less")]) {
    limit <- slack + if (alternative == "two-sided") -abs(observed) else side * observed
    if (swap == (side > 0)) {
      up_to <- first(function(v) side * v > limit) - 1
    } else {
      from <- first(function(v) side * v <= limit)
    }
  }
  if (alternative == "two-sided" && abs(observed) <= slack) up_to <- rep(many, few + 1)
  lower <- any(up_to >= 0)
  upper <- any(from <= many)
  rates <- larger_group_rates(if (swap) k0 else k1, many, contrast, null, swap)
  probability <- function(rate) {
    vapply(rate, function(q) {
      own <- min(1, max(0, other_rate(q, contrast, null, swap)))
      inside <- (if (lower) stats::pbinom(up_to, many, q) else 0) +
        (if (upper) stats::pbinom(from - 1, many, q, lower.tail = FALSE) else 0)
      sum(stats::dbinom(0:few, few, own) * pmin.int(inside, 1))
    }, 0)
  }
  value <- probability(rates)
  best <- 0
  if (length(rates) > 1) {
    inner <- c(-1, value, -1)
    peaks <- which(value >= inner[seq_along(value)] & value >= inner[seq_along(value) + 2L])
    # between two rates of the grid a peak is higher by less than a tenth
    peaks <- peaks[value[peaks] >= 0.9 * max(value)]
    best <- vapply(utils::head(peaks[order(value[peaks], decreasing = TRUE)], 3L), function(top) {
      near <- rates[c(max(top - 1, 1), min(top + 1, length(rates)))]
      stats::optimize(probability, near, maximum = TRUE, tol = 1e-5 * diff(near))$objective
    }, 0)
  }
  min(max(value, best) + EXACT_GAMMA, 1)
}

is_inner_null <- function(contrast, null) if (contrast == "ratio") null > 0 && is.finite(null) else abs(null) < 1

# Rate of the smaller group where that of the larger one is q and the contrast, group against reference, is `null`;
# `swap`: the group is the larger one.
other_rate <- function(q, contrast, null, swap) {
  if (contrast == "ratio") return(if (swap) q / null else q * null)
  if (swap) q - null else q + null
}

# Rates of the larger group that are tried: its Clopper-Pearson interval on the angular scale, within what the null
# hypothesis allows; where it allows none of them, the nearest that it does.
larger_group_rates <- function(k, n, contrast, null, swap) {
  ends <- clopper_pearson(k, n, EXACT_GAMMA)
  allowed <- nuisance_range(contrast, null)
  if (swap) allowed <- if (contrast == "ratio") allowed * null else allowed + null
  if (ends[1L] > allowed[2L]) return(allowed[2L])
  if (ends[2L] < allowed[1L]) return(allowed[1L])
  angles <- asin(sqrt(pmin(pmax(ends, allowed[1L]), allowed[2L])))
  points <- max(24, ceiling(2 * sqrt(n) * diff(angles) / 0.22) + 1)
  sin(seq(angles[1L], angles[2L], length.out = points))^2
}

clopper_pearson <- function(k, n, error) c(
  if (k == 0) 0 else stats::qbeta(error / 2, k, n - k + 1),
  if (k == n) 1 else stats::qbeta(1 - error / 2, k + 1, n - k)
)

# Whether the score's error at this level needs an exact test: by the smallest expected cell of the pooled rate, more as
# the level of the adjusted decision falls, less where both groups are of one size. As in Python, where the errors are
# enumerated (fairstats/numerics/rates/switch.py).
needs_exact <- function(n, n0, expected, level)
  expected < 125 * (0.05 / level)^0.68 * max(0.5, abs(n - n0) / (n + n0))

# Fewest successes or failures that the smaller group has on average at the pooled rate.
smallest_expected <- function(cells) {
  pooled <- (cells[1L] + cells[3L]) / (cells[2L] + cells[4L])
  min(cells[2L], cells[4L]) * min(pooled, 1 - pooled)
}

# Limits by exact tests are sought on multiples of it: steps of log theta, or of 2 atanh of a difference.
LIMIT_STEP <- 2^-14

# p-values and one-sided limits of a verdict by exact tests, at the level and the width that the score has given.
exact_evidence <- function(cells, contrast, fair, shows, limits) {
  n <- round(cells)
  p <- function(null, alternative) exact_pvalue(n[1L], n[2L], n[3L], n[4L], contrast, null, alternative)
  sides <- list(less = vapply(fair, p, 0, "less"), greater = vapply(fair, p, 0, "greater"))
  tail <- function(p) pmin(1, p + stats::pnorm(stats::qnorm(p) - shows$width))
  alpha <- stats::pnorm(-shows$critical)
  limit <- function(alternative)
    exact_limit(n, contrast, alternative, if (alternative == "less") 1 else -1, alpha, fair, sides[[alternative]])
  list(p_below = tail(sides$less[1L]), p_above = tail(sides$greater[2L]),
    p_inside = max(tail(sides$greater[1L]), tail(sides$less[2L])), limits = c(limit("greater"), limit("less")))
}

# Two-sided interval: what the two-sided exact test does not reject, around the estimate; of equality it says what the
# test says.
exact_interval <- function(k0, n0, k1, n1, contrast, level = 0.95) {
  n <- c(k0, n0, k1, n1)
  equal <- if (contrast == "ratio") 1 else 0
  p <- exact_pvalue(k0, n0, k1, n1, contrast, equal, "two-sided")
  above <- k0 / n0 > k1 / n1
  vapply(c(-1, 1), function(side) {
    speaks <- p >= 1 - level || (side < 0) == above
    exact_limit(n, contrast, "two-sided", side, 1 - level, if (speaks) equal, if (speaks) p)
  }, 0)
}

# The limit on a side (1: upper) that lies between a null value that the test keeps and one that it rejects. By secants
# on qnorm(p), two values about the expected root at a time, farther apart where these did not halve the bracket, then
# by eighths; over multiples of LIMIT_STEP. Where p jumps back and forth over the error there are several limits: the
# anchors decide (null values with their p-values), then the innermost one that shows.
exact_limit <- function(n, contrast, alternative, side, error, anchors = NULL, pvalues = NULL) {
  ratio <- contrast == "ratio"
  k <- n[c(1L, 3L)]
  size <- n[c(2L, 4L)]
  unlimited <- if (ratio) k[if (side > 0) 2L else 1L] == 0 else all(k == if (side > 0) c(size[1L], 0) else c(0, size[2L]))
  outermost <- if (ratio) (if (side > 0) Inf else 0) else side
  if (unlimited) return(outermost)
  back <- if (ratio) exp else function(x) tanh(x / 2)
  to <- if (ratio) log else function(x) 2 * atanh(pmax(-1 + 1e-15, pmin(1 - 1e-15, x)))
  probit <- function(p) stats::qnorm(pmin(pmax(p, 1e-12), 1 - 1e-6))
  goal <- probit(error)
  # a two-sided test keeps the estimate and rejects again on its other side, where nothing is looked for
  estimate <- if (ratio) log(k[1L] * size[2L] / (k[2L] * size[1L])) else to(k[1L] / size[1L] - k[2L] / size[2L])
  innermost <- if (alternative == "two-sided" && is.finite(estimate)) ceiling(side * estimate / LIMIT_STEP) else -Inf
  p_at <- function(x) vapply(back(x), function(null) exact_pvalue(n[1L], n[2L], n[3L], n[4L], contrast, null, alternative), 0)

  r <- (k + 0.5) / (size + 1)
  v <- r * (1 - r) / (size + 1)
  centre <- if (ratio) log(r[1L] / r[2L]) else 2 * atanh(r[1L] - r[2L])
  s <- if (ratio) sqrt(sum(v / r^2)) else sqrt(sum(v)) * 2 / (1 - (r[1L] - r[2L])^2)

  # places outwards on the scale of the search, with the probit of p less that of the error: it falls outwards
  inner <- outer <- NULL
  places <- if (length(anchors)) side * to(anchors) else numeric(0)
  for (i in seq_along(places)) {
    point <- c(places[i], probit(pvalues[i]) - goal)
    if (pvalues[i] >= error && (is.null(inner) || point[1L] > inner[1L])) inner <- point
    if (pvalues[i] < error && (is.null(outer) || point[1L] < outer[1L])) outer <- point
  }
  if (!is.null(inner) && !is.null(outer) && inner[1L] > outer[1L]) {
    kept <- inner
    inner <- outer
    outer <- kept
  }
  root <- side * (centre + side * stats::qnorm(1 - error) * s)
  doubt <- 0.2 * s
  stride <- s
  width <- Inf
  misses <- 0
  repeat {
    places <- round((root + c(-1, 1) * doubt) / LIMIT_STEP)
    places[2L] <- max(places[2L], places[1L] + 1)
    if (!is.null(inner) && !is.null(outer)) {
      first <- floor(inner[1L] / LIMIT_STEP) + 1
      last <- ceiling(outer[1L] / LIMIT_STEP) - 1
      if (first > last) return(back(side * (inner[1L] + outer[1L]) / 2))
      misses <- if (outer[1L] - inner[1L] > 0.5 * width) misses + 1 else 0
      if (misses == 1) places <- round((root + c(-8, 8) * doubt) / LIMIT_STEP)
      if (misses > 1) places <- first + floor((last - first) * 1:7 / 8)
      width <- outer[1L] - inner[1L]
      places <- sort(unique(pmin(pmax(places, first), last)))
    } else if (!is.null(inner)) {
      # what lies within an anchor that is kept says nothing: p may go back and forth over the error there
      first <- floor(inner[1L] / LIMIT_STEP) + 1
      places[2L] <- max(places[2L], floor((inner[1L] + stride) / LIMIT_STEP))
      places <- sort(unique(pmax(places, first)))
      stride <- 2 * stride
    } else if (!is.null(outer)) {
      last <- ceiling(outer[1L] / LIMIT_STEP) - 1
      if (last < innermost) return(back(side * outer[1L]))
      places[1L] <- min(places[1L], ceiling((outer[1L] - stride) / LIMIT_STEP))
      places <- sort(unique(pmin(places, last)))
      stride <- 2 * stride
    }
    places <- sort(unique(pmax(places, innermost)))
    if (min(abs(places)) * LIMIT_STEP >= 60) return(outermost)
    x <- places * LIMIT_STEP
    p <- p_at(side * x)
    points <- cbind(x, probit(p) - goal)
    for (i in seq_along(x)) {
      if (p[i] < error) {
        if (is.null(outer) || x[i] < outer[1L]) outer <- points[i, ]
        break
      }
      if (is.null(inner) || x[i] > inner[1L]) inner <- points[i, ]
    }
    nearest <- points[which.min(abs(points[, 2L])), ]
    slope <- -1 / s
    if (length(x) > 1) {
      secant <- diff(points[c(1L, length(x)), 2L]) / diff(points[c(1L, length(x)), 1L])
      slope <- min(max(secant, -20 / s), -0.1 / s)
    }
    ahead <- -nearest[2L] / slope
    root <- nearest[1L] + ahead
    doubt <- max(0.06 * abs(ahead), 0.5 * LIMIT_STEP)
  }
}

# Two rates by prop.test: estimates, chi square of equal rates, Wald interval of the difference.
known_prop_test <- function(k0, n0, k1, n1, level = 0.95) {
  found <- suppressWarnings(stats::prop.test(c(k0, k1), c(n0, n1), correct = FALSE, conf.level = level))
  list(estimate = unname(found$estimate), chisq = unname(found$statistic), pvalue = found$p.value,
    interval = as.numeric(found$conf.int))
}

# The ratio of two rates and its Wald interval on the log scale, by a binomial model with log link; NULL where it does
# not converge.
known_log_binomial <- function(k0, n0, k1, n1, level = 0.95) {
  y <- cbind(c(k1, k0), c(n1 - k1, n0 - k0))
  group <- c(0, 1)
  start <- c(log(k1 / n1), log(k0 / n0) - log(k1 / n1))
  fit <- tryCatch(suppressWarnings(
    stats::glm(y ~ group, stats::binomial("log"), start = start, epsilon = 1e-14, maxit = 100)
  ), error = function(e) NULL)
  if (is.null(fit)) return(NULL)
  s <- sqrt(diag(stats::vcov(fit)))[[2L]]
  ends <- exp(stats::coef(fit)[[2L]] + c(-1, 1) * stats::qnorm((1 + level) / 2) * s)
  list(estimate = exp(stats::coef(fit)[[2L]]), std_error = s, low = ends[1L], high = ends[2L])
}

# Exact interval of a share, by binom.test.
known_share <- function(k, n, level) {
  found <- stats::binom.test(k, n, conf.level = level)
  list(estimate = unname(found$estimate), low = found$conf.int[1L], high = found$conf.int[2L])
}
