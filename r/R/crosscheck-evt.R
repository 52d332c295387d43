# Tails for fairstats.crosscheck(), in base R: likelihoods with symbolic derivatives, profiles by optim and uniroot.

# Generalised Pareto fit: the likelihood is profiled to one parameter, theta = -shape / scale.
crosscheck_gpd <- function(excess) {
  unit <- mean(excess)
  y <- excess / unit
  shape_of <- function(theta) mean(log1p(-theta * y))
  fall <- function(theta) {
    if (abs(theta) < 1e-10) return(log(mean(y)) + 1)
    shape <- shape_of(theta)
    if (shape < -1) return(1e10)
    log(-shape / theta) + shape + 1
  }
  # fine near the end of the support, where shapes below 0 lie
  grid <- sort(unique(c(-exp(seq(-8, 6, length.out = 60)), 0, (1 - exp(seq(-12, 0, length.out = 80))) / max(y))))
  value <- vapply(grid, fall, 0)
  top <- which.min(value)
  ends <- grid[c(max(top - 1, 1), min(top + 1, length(grid)))]
  theta <- stats::optimize(fall, ends, tol = 1e-12)$minimum
  par <- c(scale = -shape_of(theta) / theta, shape = shape_of(theta))
  par <- newton(par, function(p) derivatives_of(gpd_terms, list(x = y), p))
  hessian <- derivatives_of(gpd_terms, list(x = y), par)$hessian
  covariance <- tryCatch(solve(hessian), error = function(e) matrix(NaN, 2L, 2L))
  estimate <- par * c(unit, 1)
  covariance <- covariance * outer(c(unit, 1), c(unit, 1))
  list(
    estimate = estimate, covariance = covariance, std_error = sqrt(pmax(diag(covariance), 0)),
    nll = gpd_nll(excess, estimate[[1L]], estimate[[2L]])
  )
}

gpd_terms <- function() quote(log(scale) + (1 + 1 / shape) * log(1 + shape * x / scale))
gev_terms <- function() {
  quote(log(scale) + (1 + 1 / shape) * log(1 + shape * (x - location) / scale) +
    (1 + shape * (x - location) / scale)^(-1 / shape))
}

# Sum of the terms of a likelihood with gradient and Hessian, by stats::deriv3.
derivatives_of <- function(terms, data, par) {
  derived <- stats::deriv3(terms(), names(par))
  value <- eval(derived, c(data, as.list(par)))
  list(
    value = sum(value), gradient = colSums(attr(value, "gradient")),
    hessian = apply(attr(value, "hessian"), c(2L, 3L), sum)
  )
}

# A few Newton steps from a good start; kept where the value does not rise.
newton <- function(par, at) {
  here <- at(par)
  for (step in 1:20) {
    move <- tryCatch(solve(here$hessian, here$gradient), error = function(e) NULL)
    if (is.null(move) || any(!is.finite(move))) break
    next_par <- par - move
    there <- suppressWarnings(at(next_par))
    if (!is.finite(there$value) || there$value > here$value + 1e-12) break
    moved <- max(abs(move) / pmax(abs(par), 1e-3))
    par <- next_par
    here <- there
    if (moved < 1e-13) break
  }
  par
}

# Generalised extreme value fit on standardised maxima: BFGS from L-moments, then Newton.
crosscheck_gev <- function(maxima) {
  centre <- stats::median(maxima)
  unit <- stats::sd(maxima)
  z <- (maxima - centre) / unit
  start <- unlist(feasible_gev(as.list(gev_from_lmoments(z)), z))
  fall <- function(p) min(gev_nll(z, p[1L], p[2L], p[3L]), 1e10)
  found <- stats::optim(start, fall, method = "Nelder-Mead", control = list(reltol = 1e-12, maxit = 5000))
  found <- stats::optim(found$par, fall, method = "BFGS", control = list(reltol = 1e-14, ndeps = rep(1e-5, 3)))
  par <- newton(found$par, function(p) derivatives_of(gev_terms, list(x = z), p))
  covariance <- solve(derivatives_of(gev_terms, list(x = z), par)$hessian) * outer(c(unit, unit, 1), c(unit, unit, 1))
  estimate <- c(location = centre, scale = 0, shape = 0) + par * c(unit, unit, 1)
  list(
    estimate = estimate, covariance = covariance, std_error = sqrt(pmax(diag(covariance), 0)),
    nll = gev_nll(maxima, estimate[[1L]], estimate[[2L]], estimate[[3L]])
  )
}

# The same tail as a point process with blocks: parameters, covariance with the Poisson law of the count.
crosscheck_point_process <- function(excess, n, threshold, block) {
  tail <- crosscheck_gpd(excess)
  s <- tail$estimate[[1L]]
  shape <- tail$estimate[[2L]]
  k <- length(excess)
  transform <- function(p) {
    rate <- block * p[1L]
    c(threshold + p[2L] * box_cox(rate, p[3L])$value, p[2L] * rate^p[3L], p[3L])
  }
  at <- c(k / n, s, shape)
  inner <- matrix(0, 3L, 3L)
  inner[1L, 1L] <- k / n^2
  inner[2:3, 2:3] <- tail$covariance
  slope <- vapply(1:3, function(j) {
    step <- replace(numeric(3), j, 1e-4 * abs(at[j]))
    (8 * (transform(at + step) - transform(at - step)) - (transform(at + 2 * step) - transform(at - 2 * step))) /
      (12 * step[j])
  }, numeric(3))
  covariance <- slope %*% inner %*% t(slope)
  estimate <- transform(at)
  list(
    estimate = estimate, covariance = covariance, std_error = sqrt(pmax(diag(covariance), 0)),
    nll = point_process_nll(excess, n, threshold, block, estimate[1L], estimate[2L], shape)
  )
}

# Likelihood of a return level: rate, scale and shape of one group with the level in place of the scale.
level_fall <- function(excess, n, threshold, m, law) {
  k <- length(excess)
  tail <- crosscheck_gpd(excess)
  rate_term <- function(rate) {
    if (law == "poisson") n * rate - k * log(rate) else -k * log(rate) - (n - k) * log1p(-rate)
  }
  nll <- function(rate, scale, shape) {
    value <- gpd_nll(excess, scale, shape) + (if (k == n && law == "binomial") 0 else rate_term(rate))
    if (is.finite(value) && shape >= -1) value else 1e10
  }
  rate <- k / n
  s <- tail$estimate[[1L]]
  shape <- tail$estimate[[2L]]
  list(
    estimate = threshold + s * box_cox(m * rate, shape)$value, least = nll(rate, s, shape),
    start = c(log(rate), shape), scale = s,
    at = function(level, p) {
      rate <- exp(p[1L])
      if (rate >= 1 || p[2L] < -1) return(1e10)
      grown <- box_cox(m * rate, p[2L])$value
      if (!is.finite(grown) || grown <= 0 || level <= threshold) return(1e10)
      nll(rate, (level - threshold) / grown, p[2L])
    }
  )
}

minimise <- function(fall, start, step) {
  best <- stats::optim(start, fall, method = "Nelder-Mead", control = list(
    reltol = 1e-13, maxit = 3000, parscale = step
  ))
  for (again in 1:4) {
    polished <- stats::optim(best$par, fall, method = "BFGS", control = list(
      reltol = 1e-15, maxit = 500, parscale = step, ndeps = rep(1e-4, length(start))
    ))
    gain <- best$value - polished$value
    if (gain > 0) best <- polished
    renewed <- stats::optim(best$par, fall, method = "Nelder-Mead", control = list(
      reltol = 1e-14, maxit = 3000, parscale = step / 10
    ))
    if (renewed$value < best$value) best <- renewed
    if (gain < 1e-10 && best$value - renewed$value > -1e-10) break
  }
  best
}

# Level of m observations: estimate, delta standard error, likelihood interval.
crosscheck_level <- function(excess, n, threshold, m, level, law) {
  group <- level_fall(excess, n, threshold, m, law)
  tail <- crosscheck_gpd(excess)
  s <- tail$estimate[[1L]]
  shape <- tail$estimate[[2L]]
  k <- length(excess)
  rate <- k / n
  grown <- box_cox(m * rate, shape)
  gradient <- c(s * (m * rate)^shape / rate, grown$value, s * grown$slope)
  spread <- matrix(0, 3L, 3L)
  spread[1L, 1L] <- rate / n * (if (law == "poisson") 1 else 1 - rate)
  spread[2:3, 2:3] <- tail$covariance
  std_error <- sqrt(max(0, drop(gradient %*% spread %*% gradient)))
  if (k == n) std_error <- sqrt(max(0, drop(gradient[2:3] %*% tail$covariance %*% gradient[2:3])))
  goal <- stats::qchisq(level, 1)
  last <- group$start
  deviance <- function(r) {
    found <- minimise(function(p) group$at(r, p), last, c(1 / sqrt(k), 1 / sqrt(k)))
    if (found$value < 1e9) last <<- found$par
    2 * (found$value - group$least) - goal
  }
  width <- if (is.finite(std_error) && std_error > 0) std_error else (max(excess) - min(excess)) / 4
  c(list(estimate = group$estimate, std_error = std_error), ends_of(deviance, group$estimate, width, threshold))
}

# Where a deviance (less its goal) crosses 0 on either side; infinite where it does not within 60 widths.
ends_of <- function(deviance, centre, width, floor = -Inf) {
  side <- function(sign) {
    near <- centre
    reach <- width
    for (step in 1:40) {
      far <- centre + sign * reach
      if (sign < 0 && far <= floor) far <- floor + (near - floor) / 64
      value <- deviance(far)
      if (value > 0) {
        return(stats::uniroot(deviance, sort(c(near, far)), tol = 1e-9 * width, maxiter = 200)$root)
      }
      near <- far
      reach <- reach * 1.6
      if (far == floor) break
    }
    sign * Inf
  }
  list(low = side(-1), high = side(1))
}

# Likelihood interval of the shape.
crosscheck_shape <- function(excess, level) {
  tail <- crosscheck_gpd(excess)
  goal <- stats::qchisq(level, 1)
  largest <- max(excess)
  deviance <- function(shape) {
    if (shape < -1) return(1e10)
    least <- if (shape < 0) -shape * largest * (1 + 1e-12) else 1e-8 * mean(excess)
    fall <- function(l) gpd_nll(excess, exp(l), shape)
    range <- log(c(least, max(excess) * 50))
    grid <- seq(range[1L], range[2L], length.out = 200)
    value <- vapply(grid, fall, 0)
    top <- which.min(value)
    around <- grid[c(max(top - 1, 1), min(top + 1, length(grid)))]
    2 * (min(stats::optimize(fall, around, tol = 1e-11)$objective, value[top]) - tail$nll) - goal
  }
  shape <- tail$estimate[[2L]]
  spread <- if (is.finite(tail$std_error[2L]) && tail$std_error[2L] > 0) tail$std_error[2L] else 0.2
  ends_of(deviance, shape, spread, -1)
}

# Difference of two groups' levels of m observations: likelihood ratio of no difference, and its interval. The
# signed root has a t distribution whose degrees of freedom are the smaller tail's excesses less three parameters.
crosscheck_level_contrast <- function(excess1, n1, u1, excess2, n2, u2, m, level, law) {
  first <- level_fall(excess1, n1, u1, m, law)
  second <- level_fall(excess2, n2, u2, m, law)
  estimate <- first$estimate - second$estimate
  least <- first$least + second$least
  k <- c(length(excess1), length(excess2))
  step <- c((second$estimate - u2) / sqrt(k[2L]), rep(1 / sqrt(k[1L]), 2), rep(1 / sqrt(k[2L]), 2))
  last <- c(second$estimate, first$start, second$start)
  deviance <- function(d) {
    fall <- function(p) first$at(p[1L] + d, p[2:3]) + second$at(p[1L], p[4:5])
    start <- last
    if (fall(start) >= 1e9) start[1L] <- max(start[1L], u2 + 1e-9, u1 - d + 1e-9)
    found <- minimise(fall, start, step)
    other <- minimise(fall, c(first$estimate - d, first$start, second$start), step)
    if (other$value < found$value) found <- other
    if (found$value < 1e9) last <<- found$par
    2 * (found$value - least)
  }
  statistic <- max(deviance(0), 0)
  width <- sqrt((first$estimate - u1)^2 / k[1L] + (second$estimate - u2)^2 / k[2L]) * 2
  interval <- function(level) {
    last <<- c(second$estimate, first$start, second$start)
    goal <- stats::qt((1 + level) / 2, min(k) - 3)^2
    ends_of(function(d) deviance(d) - goal, estimate, width)
  }
  both <- interval(level)
  one <- interval(2 * level - 1)
  list(
    estimate = estimate, statistic = statistic, pvalue = 2 * stats::pt(-sqrt(statistic), min(k) - 3),
    low = both$low, high = both$high, bound_low = one$low, bound_high = one$high
  )
}

# Level of block maxima: estimate and delta standard error.
crosscheck_gev_level <- function(fit_estimate, covariance, m) {
  t <- -log(-log1p(-1 / m))
  b <- box_cox(exp(t), fit_estimate[3L])
  gradient <- c(1, b$value, fit_estimate[2L] * b$slope)
  list(
    estimate = fit_estimate[1L] + fit_estimate[2L] * b$value,
    std_error = sqrt(max(0, drop(gradient %*% covariance %*% gradient)))
  )
}

# Quantile of a series with its binomial interval.
crosscheck_quantile <- function(x, m, level) {
  x <- sort(x)
  n <- length(x)
  p <- 1 - 1 / m
  low <- stats::qbinom(0.5 - level / 2, n, p)
  high <- stats::qbinom(0.5 + level / 2, n, p) + 1
  list(
    estimate = stats::quantile(x, p, names = FALSE), low = if (low >= 1) x[low] else -Inf,
    high = if (high <= n) x[high] else Inf
  )
}

# A mean with its standard error, over people where they have several rows; normal interval and z-test.
crosscheck_mean <- function(estimate, std_error, level) {
  reach <- stats::qnorm((1 + level) / 2) * std_error
  z <- if (is.finite(std_error) && std_error > 0) estimate / std_error else NaN
  list(low = estimate - reach, high = estimate + reach, statistic = z, pvalue = 2 * stats::pnorm(-abs(z)))
}

mean_of_people <- function(x, person = NULL) {
  off <- x - mean(x)
  total <- if (is.null(person)) off else as.numeric(rowsum(off, person))
  people <- length(total)
  list(
    estimate = mean(x),
    std_error = if (people < 2L) NaN else sqrt(sum(total^2) * people / (people - 1)) / length(x)
  )
}

# Interval of a difference from the intervals of its two terms (Zou and Donner 2008).
square_and_add <- function(a, a_low, a_high, b, b_low, b_high) {
  c(a - b - sqrt((a - a_low)^2 + (b_high - b)^2), a - b + sqrt((a_high - a)^2 + (b - b_low)^2))
}
