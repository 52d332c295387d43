# Two binomial rates: score statistics and intervals, BCa, exact tests, and well-known functions of R as witnesses.

# z of the null hypothesis that ratio or difference of two rates has the value `null`, positive where the estimate lies
# above it: Miettinen and Nurminen (1985), Statistics in Medicine 4, 213-226; without the factor N / (N - 1) Koopman
# (1984), Biometrics 40, 513-517, and Mee (1984), Biometrics 40, 1175-1176. The constrained maximum of the likelihood is
# found by bisection of the score equation; many tables at once.
score_z <- function(k0, n0, k1, n1, contrast, null, correction = TRUE) {
  ratio <- contrast == "ratio"
  pull <- function(count, distance) count / pmax.int(distance, 1e-300) # no count, no pole
  slope <- function(p) {
    rising <- if (ratio) pull(k0 + k1, p) else pull(k0, p + null) + pull(k1, p)
    rising - pull(n0 - k0, if (ratio) 1 / null - p else 1 - null - p) - pull(n1 - k1, 1 - p)
  }
  ends <- nuisance_range(contrast, null)
  low <- rep(ends[1L], length(k0))
  high <- rep(ends[2L], length(k0))
  for (step in seq_len(56L)) {
    middle <- (low + high) / 2
    rising <- slope(middle) > 0
    low[rising] <- middle[rising]
    high[!rising] <- middle[!rising]
  }
  p <- (low + high) / 2
  p[slope(rep(ends[1L] + 1e-15 * diff(ends), length(p))) <= 0] <- ends[1L]
  p[slope(rep(ends[2L] - 1e-15 * diff(ends), length(p))) >= 0] <- ends[2L]
  p0 <- pmin(1, pmax(0, if (ratio) null * p else p + null))
  distance <- if (ratio) k0 / n0 - null * (k1 / n1) else k0 / n0 - k1 / n1 - null
  variance <- p0 * (1 - p0) / n0 + (if (ratio) null^2 else 1) * p * (1 - p) / n1
  if (correction) variance <- variance * (n0 + n1) / (n0 + n1 - 1)
  ifelse(variance > 0, distance / sqrt(variance), ifelse(abs(distance) < 1e-14, 0, sign(distance) * Inf))
}

# Where the rate of the reference may lie under the null hypothesis.
nuisance_range <- function(contrast, null)
  if (contrast == "ratio") c(0, min(1, 1 / null)) else c(max(0, -null), min(1, 1 - null))

# Ends (side -1 and 1) at a critical value and z at a null value by the score; `continuity`: half a step of the
# difference.
score_method <- function(k0, n0, k1, n1, contrast, correction, continuity = FALSE) {
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
# 1635-1650), the p-value the largest over the rate of the larger group within its Clopper-Pearson interval of level
# 1 - GAMMA, plus GAMMA (Berger and Boos 1994, Journal of the American Statistical Association 89, 1012-1016). One
# p-value per null value and alternative.
GAMMA <- 1e-7

exact_unconditional <- function(k0, n0, k1, n1, contrast, nulls, alternatives)
  mapply(function(null, alternative) exact_pvalue(k0, n0, k1, n1, contrast, null, alternative), nulls, alternatives)

exact_pvalue <- function(k0, n0, k1, n1, contrast, null, alternative) {
  ends <- if (contrast == "ratio") c(0, Inf) else c(-1, 1)
  if (null <= ends[1L] || null >= ends[2L]) return(1)
  z <- function(a, b) score_z(a, n0, b, n1, contrast, null, FALSE)
  observed <- z(k0, k1)
  slack <- if (is.finite(observed)) 1e-9 * max(1, abs(observed)) else 0
  # z rises with the count of the group and falls with that of the reference: for each count of the smaller group the
  # extreme counts of the other are a run from one end
  few <- min(n0, n1)
  many <- max(n0, n1)
  swap <- n0 > n1
  first <- function(true) first_where(function(j) true(if (swap) z(j, 0:few) else z(0:few, j)), few + 1, many)
  # runs [from, to] of the larger group's counts, with z as small as observed (1), as large (-1), or either
  runs <- lapply(c(1, -1)[c(alternative != "greater", alternative != "less")], function(side) {
    limit <- slack + if (alternative == "two-sided") -abs(observed) else side * observed
    if (swap == (side > 0)) return(list(0, first(function(v) side * v > limit) - 1))
    list(first(function(v) side * v <= limit), many)
  })
  if (alternative == "two-sided" && abs(observed) <= slack) return(1)
  # the larger group's rate within its interval, as rates of the reference
  # (of two equal groups the one that the null says to have the larger rate counts as the larger group)
  turned <- if (contrast == "ratio") 1 / null else -null
  of_group <- n0 > n1 || (n0 == n1 && (k0 > k1 || (k0 == k1 && null < turned)))
  within <- if (of_group) clopper_pearson(k0, n0, GAMMA) else clopper_pearson(k1, n1, GAMMA)
  if (of_group) within <- if (contrast == "ratio") within / null else within - null
  range <- nuisance_range(contrast, null)
  within <- pmin(pmax(within, range[1L]), range[2L])
  probability <- function(rate) {
    vapply(rate, function(p) {
      p0 <- min(1, max(0, if (contrast == "ratio") p * null else p + null))
      at <- if (swap) c(p, p0) else c(p0, p)
      inside <- lapply(runs, function(run) {
        pmax(stats::pbinom(run[[2L]], many, at[2L]) - stats::pbinom(run[[1L]] - 1, many, at[2L]), 0)
      })
      sum(stats::dbinom(0:few, few, at[1L]) * Reduce(`+`, inside))
    }, 0)
  }
  # several to a standard error of the larger group, on the scale on which that is the same everywhere
  angles <- asin(sqrt(within))
  count <- 48 + ceiling(12 * sqrt(many) * diff(angles))
  grid <- unique(c(within[1L], sin(seq(angles[1L], angles[2L], length.out = count))^2, within[2L]))
  value <- probability(grid)
  inner <- c(-1, value, -1)
  peaks <- which(value >= inner[seq_along(value)] & value >= inner[seq_along(value) + 2L])
  best <- vapply(utils::head(peaks[order(value[peaks], decreasing = TRUE)], 4L), function(top) {
    near <- grid[c(max(top - 1, 1), min(top + 1, length(grid)))]
    if (diff(near) <= 0) return(value[top])
    stats::optimize(probability, near, maximum = TRUE, tol = 1e-10 * diff(near))$objective
  }, 0)
  min(max(value, best) + GAMMA, 1)
}

clopper_pearson <- function(k, n, error)
  c(if (k == 0) 0 else stats::qbeta(error / 2, k, n - k + 1), if (k == n) 1 else stats::qbeta(1 - error / 2, k + 1, n - k))

# Whether two rates are compared by exact tests: by the smallest expected cell, more as the error falls that the decision
# has after adjustment for its family, less where both groups are of one size (enumerated for switch.py of Python).
needs_exact <- function(n0, n1, expected, error)
  expected < 120 * (0.05 / error)^0.68 * max(0.5, abs(n0 - n1) / (n0 + n1))

# Limits by exact tests are sought on multiples of it: steps of log theta, or of 2 atanh of a difference.
LIMIT_STEP <- 2^-14

# Scale on which limits are sought, and back.
to_search <- function(contrast) if (contrast == "ratio") log else function(x) 2 * atanh(max(-1 + 1e-15, min(1 - 1e-15, x)))
from_search <- function(contrast) if (contrast == "ratio") exp else function(x) tanh(x / 2)

# Where an exact test begins to reject, upwards (side 1) or downwards (-1). p: p-value at a value; anchors: values on
# whose side that the test says the limit lies: where p jumps back and forth over the error there are several limits.
# start: where it is about.
exact_limit <- function(p, error, side, anchors, start, contrast) {
  to <- to_search(contrast)
  back <- from_search(contrast)
  # outwards is up: what the test rejects lies above the limit
  excess <- function(x) p(back(side * x)) - error
  ends <- side * vapply(anchors, to, 0)
  kept <- vapply(ends, excess, 0) >= 0
  start <- side * to(start)
  # doubling steps in a direction, from `from` to where the test keeps or rejects
  walk <- function(from, direction, keeps) {
    step <- 0.05
    while ((excess(from) >= 0) != keeps && abs(from) <= 60) {
      from <- from + direction * step
      step <- 2 * step
    }
    from
  }
  from <- if (any(kept)) max(ends[kept]) else walk(min(start, ends - 1e-9), -1, TRUE)
  until <- if (!all(kept)) min(ends[!kept]) else walk(max(start, from + 1e-9), 1, FALSE)
  if (until > 60) return(back(side * 60))
  # by halves over multiples of a fixed step, on the scale before the change of sides
  from <- side * from
  until <- side * until
  repeat {
    first <- floor(min(from, until) / LIMIT_STEP) + 1
    last <- ceiling(max(from, until) / LIMIT_STEP) - 1
    if (first > last) return(back((from + until) / 2))
    middle <- floor((first + last) / 2) * LIMIT_STEP
    if (excess(side * middle) >= 0) from <- middle else until <- middle
  }
}

# Whether no count shows that a contrast is not at the lower (-1) or the upper end of its range.
unlimited <- function(cells, contrast, side) {
  k <- cells[c(1L, 3L)]
  n <- cells[c(2L, 4L)]
  if (contrast == "ratio") return(k[if (side > 0) 2L else 1L] == 0)
  if (side > 0) k[1L] == n[1L] && k[2L] == 0 else k[1L] == 0 && k[2L] == n[2L]
}

# About where limits lie: the score's, or with half a case more where there is none.
limits_about <- function(cells, contrast, critical = 1.8) {
  score_method(cells[1L] + 0.5, cells[2L] + 1, cells[3L] + 0.5, cells[4L] + 1, contrast, TRUE)$ends(critical)
}

# One-sided limits by exact tests, each with this error.
exact_one_sided <- function(cells, contrast, anchors, error) {
  n <- round(cells)
  about <- limits_about(n, contrast)
  open <- if (contrast == "ratio") c(0, Inf) else c(-1, 1)
  vapply(1:2, function(k) {
    side <- c(-1, 1)[k]
    if (unlimited(n, contrast, side)) return(open[k])
    alternative <- c("greater", "less")[k]
    p <- function(null) exact_pvalue(n[1L], n[2L], n[3L], n[4L], contrast, null, alternative)
    exact_limit(p, error, side, anchors, about[k], contrast)
  }, 0)
}

# p-value of equal rates, and the two-sided interval that the same test gives: equality bounds the end that lies between
# it and the estimate, or lies within both.
exact_equality <- function(cells, contrast) {
  n <- round(cells)
  exact_pvalue(n[1L], n[2L], n[3L], n[4L], contrast, if (contrast == "ratio") 1 else 0, "two-sided")
}

exact_interval <- function(cells, contrast, error) {
  n <- round(cells)
  equal <- if (contrast == "ratio") 1 else 0
  p <- function(null) exact_pvalue(n[1L], n[2L], n[3L], n[4L], contrast, null, "two-sided")
  kept <- p(equal) >= error
  above <- n[1L] / n[2L] > n[3L] / n[4L]
  about <- limits_about(n, contrast)
  open <- if (contrast == "ratio") c(0, Inf) else c(-1, 1)
  # a value between the limits, from which the search goes outwards where equality says nothing of an end
  middle <- mean(vapply(about, to_search(contrast), 0))
  vapply(1:2, function(k) {
    side <- c(-1, 1)[k]
    if (unlimited(n, contrast, side)) return(open[k])
    speaks <- kept || (side < 0) == above
    anchor <- if (speaks) equal else from_search(contrast)(middle)
    exact_limit(p, error, side, anchor, about[k], contrast)
  }, 0)
}

# p-values and one-sided limits of a verdict by exact tests, at the level and the width that the score has given; on the
# side of the ends of the fair range that p says, so that limits and p-values give one verdict.
exact_evidence <- function(cells, contrast, fair, shows) {
  n <- round(cells)
  tail <- function(end, alternative) {
    p <- exact_pvalue(n[1L], n[2L], n[3L], n[4L], contrast, fair[end], alternative)
    min(1, p + stats::pnorm(stats::qnorm(p) - shows$width))
  }
  list(p_below = tail(1L, "less"), p_above = tail(2L, "greater"), p_inside = max(tail(1L, "greater"), tail(2L, "less")),
    limits = exact_one_sided(cells, contrast, fair, stats::pnorm(-shows$critical)))
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
