# Two binomial rates: score statistics and intervals, BCa, exact tests, and well-known functions of
# R as witnesses.

# z of the null hypothesis that ratio or difference of two rates has the value `null`, positive
# where the estimate lies above it: Miettinen and Nurminen (1985), Statistics in Medicine 4,
# 213-226; without the factor N / (N - 1) Koopman (1984), Biometrics 40, 513-517, and Mee (1984),
# Biometrics 40, 1175-1176. Many tables at once.
score_z <- function(k0, n0, k1, n1, contrast, null, correction = TRUE) {
  if (contrast == "odds_ratio") {
    return(odds_ratio_z(k0, n0, k1, n1, null, correction))
  }
  ratio <- contrast == "ratio"
  rates <- constrained_rates(k0, n0, k1, n1, contrast, null)
  p <- rates$p1
  p0 <- rates$p0
  distance <- if (ratio) k0 / n0 - null * (k1 / n1) else k0 / n0 - k1 / n1 - null
  variance <- p0 * (1 - p0) / n0 + (if (ratio) null^2 else 1) * p * (1 - p) / n1
  # groups whose effective cases are not worth one case together exclude nothing
  if (correction) {
    n <- n0 + n1 + 0 * variance # as many as there are tables
    variance <- ifelse(n > 1, variance * n / (n - 1), Inf)
  }
  z <- distance / sqrt(variance)
  none <- which(variance <= 0)
  z[none] <- ifelse(abs(distance[none]) < 1e-14, 0, sign(distance[none]) * Inf)
  z
}

# z of an odds ratio, with the counts that are expected under it (Cornfield 1956, Proceedings of the
# Third Berkeley Symposium 4, 135-148): each of the four by its own equation, so that none loses
# digits beside another.
odds_ratio_z <- function(k0, n0, k1, n1, null, correction) {
  hits <- k0 + k1
  n <- n0 + n1
  hits_of_group <- expected_count(n0, n1, hits, null)
  inverse <- 1 /
    hits_of_group +
    1 / expected_count(n0, n1, n - hits, 1 / null) +
    1 / expected_count(n1, n0, hits, 1 / null) +
    1 / expected_count(n1, n0, n - hits, null)
  z <- (k0 - hits_of_group) * sqrt(inverse)
  if (correction) {
    z <- z * sqrt((n - 1) / n)
  }
  z[hits == 0 | hits == n] <- 0
  z
}

# The count x of the first group with x(n1 - h + x) = psi (n0 - x)(h - x).
expected_count <- function(n0, n1, hits, psi) {
  square <- 1 - psi
  middle <- n1 - hits + psi * (n0 + hits)
  last <- psi * n0 * hits
  root <- sqrt(pmax(middle^2 + 4 * square * last, 0))
  ifelse(middle > 0, 2 * last / (middle + root), (root - middle) / (2 * square))
}

# Both rates where the likelihood is largest under the null hypothesis: p0 of the group, p1 of the
# reference; for many tables, and for many null values. The root of the score equation in closed
# form, two steps of Newton's method against its rounding, and the ends where the slope of the
# likelihood points out of the range.
constrained_rates <- function(k0, n0, k1, n1, contrast, null) {
  ratio <- contrast == "ratio"
  k0 <- k0 + numeric(max(length(k1), length(null)))
  ends <- nuisance_ends(contrast, null)
  low <- ends$low
  high <- ends$high
  root <- if (ratio) root_of_ratio else root_of_difference
  p <- root(k0, n0, k1, n1, null)
  p <- if (length(null) == 1L) within_ends(p, low, high) else pmin.int(pmax.int(p, low), high)
  beside <- if (ratio) 0 else null
  most <- if (ratio) 1 / null else 1 - null
  tiny <- 1e-300 # no count, no pole
  for (step in 1:2) {
    hits <- p + beside + tiny
    hits_of_reference <- p + tiny
    misses <- most - p + tiny
    misses_of_reference <- 1 - p + tiny
    from_group <- k0 / hits
    from_reference <- k1 / hits_of_reference
    to_group <- (n0 - k0) / misses
    to_reference <- (n1 - k1) / misses_of_reference
    bend <- from_group /
      hits +
      from_reference / hits_of_reference +
      to_group / misses +
      to_reference / misses_of_reference
    better <- p + (from_group + from_reference - to_group - to_reference) / bend
    inside <- which(better > low & better < high)
    p[inside] <- better[inside]
  }
  # the likelihood falls from the end of its range on: only where no count has a pole there
  slope_at <- function(p) {
    k0 /
      (p + beside + tiny) +
      k1 / (p + tiny) -
      (n0 - k0) / (most - p + tiny) -
      (n1 - k1) / (1 - p + tiny)
  }
  near <- 1e-15 * (high - low)
  if (any((low + beside == 0) * k0 + (low == 0) * k1 == 0)) {
    p <- ifelse(slope_at(low + near) <= 0, low, p)
  }
  if (any((high == most) * (n0 - k0) + (high == 1) * (n1 - k1) == 0)) {
    p <- ifelse(slope_at(high - near) >= 0, high, p)
  }
  list(p0 = within_ends(if (ratio) null * p else p + null, 0, 1), p1 = p)
}

# pmin(pmax(x, low), high) for two numbers, which takes a tenth of the time.
within_ends <- function(x, low, high) {
  x[x < low] <- low
  x[x > high] <- high
  x
}

# Roots of the score equation, a quadratic for a ratio and a cubic for a difference.
root_of_ratio <- function(k0, n0, k1, n1, null) {
  linear <- null * (n0 + k1) + n1 + k0
  2 * (k0 + k1) / (linear + sqrt(within_ends(linear^2 - 4 * null * (n0 + n1) * (k0 + k1), 0, Inf)))
}

root_of_difference <- function(k0, n0, k1, n1, null) {
  n <- n0 + n1
  by <- null * (1 - null)
  of_square <- -(k0 - n0 * null + n0 + k1 + n1 * (1 - 2 * null)) / n
  of_one <- (k0 - n0 * null + k1 * (1 - 2 * null) - n1 * by) / n
  of_none <- k1 * by / n
  q <- (of_square / 3)^3 - of_square * of_one / 6 + of_none / 2
  p <- (1 - 2 * (q < 0)) * sqrt(within_ends((of_square / 3)^2 - of_one / 3, 0, Inf))
  cosine <- q / (p * p * p)
  cosine[p == 0] <- 0
  angle <- acos(within_ends(cosine, -1, 1))
  2 * p * cos((pi + angle) / 3) - of_square / 3
}

# Where the rate of the reference may lie under the null hypothesis: both ends, of many null values.
nuisance_ends <- function(contrast, null) {
  if (contrast == "odds_ratio") {
    return(list(low = 0, high = 1))
  }
  if (contrast == "ratio") {
    return(list(low = 0, high = pmin.int(1, 1 / null)))
  }
  list(low = pmax.int(0, -null), high = pmin.int(1, 1 - null))
}

# Ends (side -1 and 1) at a critical value and z at a null value by the score; `continuity`: half a
# step of the difference.
score_method <- function(k0, n0, k1, n1, contrast, correction, continuity = FALSE) {
  force(continuity) # limits are asked for later, when the caller may have gone on to another table
  ratio <- contrast != "difference"
  # what a ratio is made of; of an odds ratio the products of counts
  above <- if (contrast == "odds_ratio") k0 * (n1 - k1) else k0 / n0
  below <- if (contrast == "odds_ratio") k1 * (n0 - k0) else k1 / n1
  centre <- if (ratio) above / below else above - below
  z <- function(null) {
    plain <- score_z(k0, n0, k1, n1, contrast, null, correction)
    if (!continuity) {
      return(plain)
    }
    distance <- abs(if (ratio) k0 / n0 - null * k1 / n1 else centre - null)
    step <- (1 / n0 + (if (ratio) null else 1) / n1) / 2
    if (distance <= step) 0 else plain * (distance - step) / distance
  }
  edge <- if (ratio) 40 else 1 - 1e-14
  from <- if (!ratio) {
    centre
  } else if (above > 0 && below > 0) {
    log(above) - log(below)
  } else if (below == 0) {
    edge
  } else {
    -edge
  }
  at_end <- function(side) (if (side < 0) above else below) == 0
  about <- wald_on_scale(k0, n0, k1, n1, contrast)
  if (!ratio) {
    # of the difference itself, not of its scale in searches
    about$error <- about$error * (1 - tanh(about$centre / 2)^2) / 2
    about$centre <- tanh(about$centre / 2)
  }
  ends_by_score(centre, z, ratio, edge, from, at_end, about)
}

# The contrast of two rates, half a success and half a failure more in each, and its standard error by
# Wald: of log ratios, and of differences d as 2 atanh d.
wald_on_scale <- function(k0, n0, k1, n1, contrast) {
  r <- (c(k0, k1) + 0.5) / (c(n0, n1) + 1)
  v <- r * (1 - r) / (c(n0, n1) + 1)
  switch(
    contrast,
    ratio = list(centre = log(r[1L] / r[2L]), error = sqrt(sum(v / r^2))),
    odds_ratio = list(
      centre = log(r[1L] / (1 - r[1L])) - log(r[2L] / (1 - r[2L])),
      error = sqrt(sum(v / (r * (1 - r))^2))
    ),
    list(
      centre = 2 * atanh(r[1L] - r[2L]),
      error = sqrt(sum(v)) * 2 / (1 - (r[1L] - r[2L])^2)
    )
  )
}

# An estimate with its statistic `z` of a null value, and the ends of its interval, where z is a
# critical value. Ratios are searched on the log scale, up to `edge` on either side of the place
# `from`; `at_end(side)`: whether the estimate is the end of their range, which is then the limit.
# `about`: a place about which the limits lie, and a standard error, on the scale of the search.
ends_by_score <- function(estimate, z, ratio, edge, from, at_end, about = NULL) {
  to <- if (ratio) exp else identity
  bounded <- function(x) max(-1e6, min(1e6, z(to(x))))
  end <- function(critical, side) {
    open <- if (ratio) at_end(side) else side * bounded(side * edge) >= -critical
    if (open) {
      return(
        if (!ratio) {
          side
        } else if (side < 0) {
          0
        } else {
          Inf
        }
      )
    }
    excess <- function(x) bounded(x) + side * critical
    if (is.null(about)) {
      return(to(root_between(excess, min(side * edge, from), max(side * edge, from))))
    }
    guess <- about$centre + side * critical * about$error
    to(falling_root(excess, min(side * edge, from), max(side * edge, from), guess, about$error))
  }
  list(estimate = estimate, z = z, end = end, ends = function(critical) {
    c(end(critical, -1), end(critical, 1))
  })
}

root_between <- function(f, low, high) {
  stats::uniroot(f, c(low, high), tol = 1e-14, maxiter = 10000L)$root
}

# Root of a function that falls and is all but a line about a guess: secants within the bracket, which
# is halved where they do not halve it.
falling_root <- function(f, low, high, guess, spread) {
  x <- guess
  before <- NaN
  at_before <- NaN
  slow <- 0
  for (pass in 1:200) {
    if (!isTRUE(x > low && x < high) || slow > 2) {
      x <- (low + high) / 2
    }
    at <- f(x)
    width <- high - low
    if (at > 0) {
      low <- x
    } else {
      high <- x
    }
    slow <- if (slow <= 2 && high - low > 0.5 * width) slow + 1 else 0
    step <- -at * (if (pass == 1L) -spread else (x - before) / (at - at_before))
    if (at == 0 || high - low <= 1e-15 * abs(x)) {
      return(x)
    }
    before <- x
    at_before <- at
    x <- x + step
    # a step from two equal values is infinite
    if (is.finite(step) && abs(step) <= 1e-11 * (spread + abs(x))) {
      return(min(max(x, low), high))
    }
  }
  x
}

# Mean of differences from the limits of each (MOVER: Zou and Donner 2008, Statistics in Medicine
# 27, 1693-1702).
mover_method <- function(scores) {
  if (length(scores) == 1L) {
    return(scores[[1L]])
  }
  d <- vapply(scores, `[[`, 0, "estimate")
  end <- function(critical, side) {
    limits <- vapply(scores, function(s) s$end(critical, side), 0)
    max(-1, min(1, mean(d) + side * sqrt(sum(((limits - d) / length(d))^2))))
  }
  z <- function(null) {
    side <- if (mean(d) > null) -1 else 1
    critical_at(mean(d) - null, function(critical) side * (null - end(critical, side)), 1e-6)
  }
  list(end = end, ends = function(critical) c(end(critical, -1), end(critical, 1)), z = z)
}

# Critical value at which an interval ends at a value, from its distance to the estimate and from
# how far the end lies on the side of the estimate by critical value; signed as the distance.
critical_at <- function(distance, reach, least) {
  if (abs(distance) < 1e-14 || reach(least) <= 0) {
    return(0)
  }
  # how far an end moves with the critical value
  step <- abs(distance) - reach(1)
  rises <- isTRUE(step > 0)
  guess <- if (rises) abs(distance) / step else 30
  if (guess > 15 && reach(30) > 0) {
    return(sign(distance) * 30)
  }
  sign(distance) * falling_root(reach, least, 30, guess, if (rises) 1 / step else 1)
}

# Interval of two rates by "log", "delta", "score", or the score without correction ("koopman",
# "mee"). The delta method of the ratio is that of Besse, del Barrio, Gordaliza, Loubes (2018),
# theorem 3.1.
rate_interval <- function(k0, n0, k1, n1, contrast, method, level = 0.95) {
  counts <- c(k0, n0, k1, n1)
  if (!all(is.finite(counts)) || any(counts < 0) || k0 > n0 || k1 > n1 || n0 <= 0 || n1 <= 0) {
    stop("needs 0 <= k <= n and n > 0 in both groups", call. = FALSE)
  }
  numbers_in(level, "level", 0, 1, open = BOTH)
  of <- cell_metric(rbind(c(k0, n0 - k0), c(k1, n1 - k1)), as_metric("selection_rate", 2L))
  pair_method(of, 1L, 2L, contrast, method)$ends(stats::qnorm((1 + level) / 2))
}

# BCa bootstrap of two rates, the four cells drawn again as one multinomial: intervals at several
# levels and statistics at several null values, as means over batches of one run's size, and the
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
  found <- replicate(batches, {
    drawn <- sort(contrast_of(stats::rmultinom(resamples, sum(cells), cells)))
    n <- length(drawn)
    place <- function(x) {
      stats::qnorm(min(max((sum(drawn < x) + sum(drawn <= x)) / 2 / n, 0.5 / n), 1 - 0.5 / n))
    }
    bias <- place(estimate)
    ends <- vapply(
      levels,
      function(level) {
        z <- bias + stats::qnorm(c((1 - level) / 2, (1 + level) / 2))
        stats::quantile(drawn, stats::pnorm(bias + z / (1 - a * z)), type = 8, names = FALSE)
      },
      c(0, 0)
    )
    z <- vapply(
      nulls,
      function(null) bias - (place(null) - bias) / (1 + a * (place(null) - bias)),
      0
    )
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

# Two rates by prop.test: estimates, chi square of equal rates, Wald interval of the difference.
known_prop_test <- function(k0, n0, k1, n1, level = 0.95) {
  found <- suppressWarnings(stats::prop.test(
    c(k0, k1),
    c(n0, n1),
    correct = FALSE,
    conf.level = level
  ))
  list(
    estimate = unname(found$estimate),
    chisq = unname(found$statistic),
    pvalue = found$p.value,
    interval = as.numeric(found$conf.int)
  )
}

# The ratio of two rates and its Wald interval on the log scale, by a binomial model with log link;
# NULL where it does not converge.
known_log_binomial <- function(k0, n0, k1, n1, level = 0.95) {
  y <- cbind(c(k1, k0), c(n1 - k1, n0 - k0))
  group <- c(0, 1)
  start <- c(log(k1 / n1), log(k0 / n0) - log(k1 / n1))
  fit <- tryCatch(
    suppressWarnings(
      stats::glm(y ~ group, stats::binomial("log"), start = start, epsilon = 1e-14, maxit = 100)
    ),
    error = function(e) NULL
  )
  if (is.null(fit)) {
    return(NULL)
  }
  s <- sqrt(diag(stats::vcov(fit)))[[2L]]
  ends <- exp(stats::coef(fit)[[2L]] + c(-1, 1) * stats::qnorm((1 + level) / 2) * s)
  list(estimate = exp(stats::coef(fit)[[2L]]), std_error = s, low = ends[1L], high = ends[2L])
}

# Exact interval of a share, by binom.test.
known_share <- function(k, n, level) {
  found <- stats::binom.test(k, n, conf.level = level)
  list(estimate = unname(found$estimate), low = found$conf.int[1L], high = found$conf.int[2L])
}
