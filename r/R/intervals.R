# Two binomial rates: score statistics and intervals, BCa, exact tests, and well-known functions of R as witnesses.

# z of the null hypothesis that ratio or difference of two rates has the value `null`, positive where the estimate lies
# above it: Miettinen and Nurminen (1985), Statistics in Medicine 4, 213-226; without the factor N / (N - 1) Koopman
# (1984), Biometrics 40, 513-517, and Mee (1984), Biometrics 40, 1175-1176. The constrained maximum of the likelihood is
# found by bisection of the score equation; many tables at once.
score_z <- function(k0, n0, k1, n1, contrast, null, correction = TRUE) {
  ratio <- contrast == "ratio"
  # no count, no pole
  pull <- function(count, distance) {
    distance[distance < 1e-300] <- 1e-300
    count / distance
  }
  slope <- if (ratio) {
    function(p) pull(k0 + k1, p) - pull(n0 - k0, 1 / null - p) - pull(n1 - k1, 1 - p)
  } else {
    function(p) pull(k0, p + null) + pull(k1, p) - pull(n0 - k0, 1 - null - p) - pull(n1 - k1, 1 - p)
  }
  ends <- if (ratio) c(0, min(1, 1 / null)) else c(max(0, -null), min(1, 1 - null))
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
  z <- distance / sqrt(variance)
  flat <- variance <= 0
  z[flat] <- ifelse(abs(distance[flat]) < 1e-14, 0, sign(distance[flat]) * Inf)
  z
}

# Ends at a critical value and z at a null value by the score; `continuity`: half a step of the difference.
score_method <- function(k0, n0, k1, n1, contrast, correction, continuity = FALSE) {
  ratio <- contrast == "ratio"
  centre <- if (ratio) (k0 / n0) / (k1 / n1) else k0 / n0 - k1 / n1
  step <- if (continuity) (1 / n0 + 1 / n1) / 2 else 0
  z <- function(null) {
    plain <- score_z(k0, n0, k1, n1, contrast, null, correction)
    distance <- abs(centre - null)
    if (step == 0) plain else if (distance <= step) 0 else plain * (distance - step) / distance
  }
  # ratios are searched on the log scale
  to <- if (ratio) exp else identity
  bounded <- function(x) max(-1e6, min(1e6, z(to(x))))
  edge <- if (ratio) 40 else 1 - 1e-14
  from <- if (!ratio) centre else if (k0 > 0 && k1 > 0) log(k0 / n0) - log(k1 / n1) else if (k1 == 0) edge else -edge
  end <- function(c, side) {
    if (side == 1L) {
      if (if (ratio) k0 == 0 else bounded(-edge) <= c) return(if (ratio) 0 else -1)
      return(to(root_between(function(x) bounded(x) - c, -edge, from)))
    }
    if (if (ratio) k1 == 0 else bounded(edge) >= -c) return(if (ratio) Inf else 1)
    to(root_between(function(x) bounded(x) + c, from, edge))
  }
  list(estimate = centre, z = z, end = end, ends = function(c) base::c(end(c, 1L), end(c, 2L)))
}

root_between <- function(f, low, high) stats::uniroot(f, c(low, high), tol = 1e-14, maxiter = 10000L)$root

# Mean of differences from the limits of each (MOVER: Zou and Donner 2008, Statistics in Medicine 27, 1693-1702).
mover_method <- function(scores) {
  m <- length(scores)
  d <- vapply(scores, `[[`, 0, "estimate")
  end <- function(c, side) {
    limits <- vapply(scores, function(s) s$end(c, side), 0)
    max(-1, min(1, mean(d) + (if (side == 1L) -1 else 1) * sqrt(sum(((limits - d) / m)^2))))
  }
  z <- function(null) {
    side <- if (mean(d) > null) 1L else 2L
    reach <- function(c) (end(c, side) - null) * (if (side == 1L) 1 else -1)
    if (abs(mean(d) - null) < 1e-12 || reach(1e-6) <= 0) return(0)
    size <- if (reach(30) > 0) 30 else stats::uniroot(reach, base::c(1e-6, 30), tol = 1e-10)$root
    size * sign(mean(d) - null)
  }
  list(ends = function(c) base::c(end(c, 1L), end(c, 2L)), z = z)
}

# Interval of two rates by "log", "delta", "score", or the score without correction ("koopman", "mee"). The delta
# method of the ratio is that of Besse, del Barrio, Gordaliza, Loubes (2018), theorem 3.1.
rate_interval <- function(k0, n0, k1, n1, contrast, method, level = 0.95) {
  counts <- c(k0, n0, k1, n1)
  if (!all(is.finite(counts)) || any(counts < 0) || k0 > n0 || k1 > n1 || n0 <= 0 || n1 <= 0) {
    stop("needs 0 <= k <= n and n > 0 in both groups", call. = FALSE)
  }
  numbers_in(level, "level", 0, 1, open = BOTH)
  of <- cell_metric(rbind(c(k0, n0 - k0), c(k1, n1 - k1)), list(parts = SELECTED))
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
  one <- function(batch) {
    drawn <- sort(contrast_of(stats::rmultinom(resamples, sum(cells), cells)))
    n <- length(drawn)
    quantile_of <- function(share) stats::qnorm(min(max(share, 0.5 / n), 1 - 0.5 / n))
    bias <- quantile_of((sum(drawn < estimate) + sum(drawn == estimate) / 2) / n)
    ends <- vapply(levels, function(level) {
      z <- bias + stats::qnorm(c((1 - level) / 2, (1 + level) / 2))
      stats::quantile(drawn, stats::pnorm(bias + z / (1 - a * z)), type = 8, names = FALSE)
    }, c(0, 0))
    z <- vapply(nulls, function(null) {
      shifted <- quantile_of((sum(drawn < null) + sum(drawn <= null)) / 2 / n) - bias
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

# Unconditional exact tests of two rates (Chan 1998): tables ordered by the score statistic, the p-value the largest
# over the nuisance rate. One p-value per null value and alternative.
exact_unconditional <- function(k0, n0, k1, n1, contrast, nulls, alternatives) {
  mapply(function(null, alternative) exact_pvalue(k0, n0, k1, n1, contrast, null, alternative), nulls, alternatives)
}

exact_pvalue <- function(k0, n0, k1, n1, contrast, null, alternative) {
  z <- function(a, b) score_z(a, n0, b, n1, contrast, null, FALSE)
  observed <- z(k0, k1)
  slack <- if (is.finite(observed)) 1e-9 * max(1, abs(observed)) else 0
  # z rises with the count of the group and falls with that of the reference: for each count of the smaller group the
  # extreme counts of the other are a run from one end
  few <- min(n0, n1)
  many <- max(n0, n1)
  own <- 0:few
  swap <- n0 > n1
  of <- function(j) if (swap) z(j, own) else z(own, j)
  first <- function(true) first_where(function(j) true(of(j)), few + 1, many)
  small <- alternative != "greater"
  large <- alternative != "less"
  down <- if (alternative == "two-sided") -abs(observed) + slack else observed + slack
  up <- if (alternative == "two-sided") abs(observed) - slack else observed - slack
  # runs [from, to] of the larger group's counts
  runs <- list()
  if (small) {
    runs <- c(runs, list(if (swap) list(0, first(function(v) v > down) - 1) else list(first(function(v) v <= down), many)))
  }
  if (large) {
    runs <- c(runs, list(if (swap) list(first(function(v) v >= up), many) else list(0, first(function(v) v < up) - 1)))
  }
  if (alternative == "two-sided" && abs(observed) <= slack) runs <- list(list(0, many))
  range <- if (contrast == "ratio") c(0, min(1, 1 / null)) else c(max(0, -null), min(1, 1 - null))
  probability <- function(rate) {
    vapply(rate, function(p) {
      p0 <- min(1, max(0, if (contrast == "ratio") p * null else p + null))
      at <- if (swap) c(p, p0) else c(p0, p)
      inside <- 0
      for (run in runs) {
        inside <- inside + pmax(stats::pbinom(run[[2L]], many, at[2L]) - stats::pbinom(run[[1L]] - 1, many, at[2L]), 0)
      }
      sum(stats::dbinom(own, few, at[1L]) * inside)
    }, 0)
  }
  # dense near both ends, where peaks are narrow, and evenly between
  grid <- sort(unique(c(
    range[1L] + diff(range) * stats::plogis(seq(-14, 14, length.out = 169)), seq(range[1L], range[2L], length.out = 101)
  )))
  value <- probability(grid)
  inner <- c(-1, value, -1)
  peaks <- which(value >= inner[seq_along(value)] & value >= inner[seq_along(value) + 2L])
  best <- max(value)
  for (top in utils::head(peaks[order(value[peaks], decreasing = TRUE)], 5L)) {
    near <- grid[c(max(top - 1, 1), min(top + 1, length(grid)))]
    best <- max(best, stats::optimize(probability, near, maximum = TRUE, tol = 1e-10 * diff(near))$objective)
  }
  min(best, 1)
}

# Limits by exact tests are sought on multiples of it: steps of log theta, or of 2 atanh of a difference.
LIMIT_STEP <- 2^-14

# p-values and one-sided limits of a verdict by exact tests, at the level and the width that the score has given. Where
# p jumps back and forth over the level there are several limits: searched for from the ends of the fair range, on the
# side of them that p says, so that limits and p-values give one verdict.
exact_evidence <- function(cells, contrast, fair, shows, limits) {
  p <- function(null, alternative) {
    if (contrast != "ratio" && abs(null) >= 1) return(1)
    exact_pvalue(round(cells[1L]), round(cells[2L]), round(cells[3L]), round(cells[4L]), contrast, null, alternative)
  }
  tail <- function(p) min(1, p + stats::pnorm(stats::qnorm(p) - shows$width))
  alpha <- stats::pnorm(-shows$critical)
  to <- if (contrast == "ratio") log else function(x) 2 * atanh(max(-1 + 1e-15, min(1 - 1e-15, x)))
  back <- if (contrast == "ratio") exp else function(x) tanh(x / 2)
  limit <- function(alternative, start) {
    if (!is.finite(start) || start == 0 && contrast == "ratio" || abs(start) == 1 && contrast != "ratio") return(start)
    side <- if (alternative == "less") 1 else -1
    # outwards is up: what the test rejects lies above the limit
    excess <- function(x) p(back(side * x), alternative) - alpha
    ends <- side * vapply(fair, to, 0)
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
      if (first > last) break
      middle <- floor((first + last) / 2) * LIMIT_STEP
      if (excess(side * middle) >= 0) from <- middle else until <- middle
    }
    back((from + until) / 2)
  }
  list(
    p_below = tail(p(fair[1L], "less")), p_above = tail(p(fair[2L], "greater")),
    p_inside = max(tail(p(fair[1L], "greater")), tail(p(fair[2L], "less"))),
    limits = c(limit("greater", limits[1L]), limit("less", limits[2L]))
  )
}

# Two rates by prop.test: estimates, chi square of equal rates, Wald interval of the difference.
known_prop_test <- function(k0, n0, k1, n1, level = 0.95) {
  found <- suppressWarnings(stats::prop.test(c(k0, k1), c(n0, n1), correct = FALSE, conf.level = level))
  list(
    estimate = unname(found$estimate), chisq = unname(found$statistic), pvalue = found$p.value,
    interval = as.numeric(found$conf.int)
  )
}

# The ratio of two rates and its Wald interval on the log scale, by a binomial model with log link; NULL where it
# does not converge.
known_log_binomial <- function(k0, n0, k1, n1, level = 0.95) {
  y <- cbind(c(k1, k0), c(n1 - k1, n0 - k0))
  group <- c(0, 1)
  start <- c(log(k1 / n1), log(k0 / n0) - log(k1 / n1))
  fit <- tryCatch(
    suppressWarnings(stats::glm(y ~ group, stats::binomial("log"), start = start, epsilon = 1e-14, maxit = 100)),
    error = function(e) NULL
  )
  if (is.null(fit)) return(NULL)
  s <- sqrt(diag(stats::vcov(fit)))[[2L]]
  reach <- stats::qnorm((1 + level) / 2) * s
  b <- stats::coef(fit)[[2L]]
  list(estimate = exp(b), std_error = s, low = exp(b - reach), high = exp(b + reach))
}

# Exact interval of a share, by binom.test.
known_share <- function(k, n, level) {
  found <- stats::binom.test(k, n, conf.level = level)
  list(estimate = unname(found$estimate), low = found$conf.int[1L], high = found$conf.int[2L])
}

