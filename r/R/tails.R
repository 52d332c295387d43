# Tails in base R: likelihoods and starting values, fits by symbolic derivatives, profiles by optim and uniroot.
# Shape xi > 0 is the heavy tail throughout.

# Minus log likelihood of excesses (> 0) under the generalised Pareto law.
gpd_nll <- function(excess, scale, shape) {
  if (!is.finite(scale) || !is.finite(shape) || scale <= 0) return(Inf)
  z <- excess / scale
  inside <- 1 + shape * z
  if (any(inside <= 0)) return(Inf)
  length(excess) * log(scale) + sum(if (abs(shape) < 1e-9) z else (1 + 1 / shape) * log1p(shape * z))
}

# Cells of excesses that are rounded to a grid, above a threshold half a width below the least; NULL without a grid.
cells_of <- function(excess, grid) {
  if (!(grid > 0)) return(NULL)
  place <- round(excess / grid - 0.5)
  from <- sort(unique(place))
  list(from = from * grid, to = (from + 1) * grid, count = tabulate(match(place, from)))
}

# Minus log likelihood of excesses as they are or, where there are cells, of the masses of these.
tail_nll <- function(excess, scale, shape, cells = NULL) {
  if (is.null(cells)) return(gpd_nll(excess, scale, shape))
  if (!is.finite(scale) || !is.finite(shape) || scale <= 0) return(Inf)
  low <- 1 + shape * cells$from / scale
  high <- 1 + shape * cells$to / scale
  if (any(low <= 0)) return(Inf)
  depth <- function(inside, y) if (abs(shape) < 1e-9) y / scale else log(inside) / shape
  start <- depth(low, cells$from)
  # beyond the end point there is nothing
  end <- depth(pmax(high, 1e-300), cells$to)
  end[high <= 0] <- Inf
  sum(cells$count * (start - log(-expm1(start - end))))
}

# Minus log likelihood of block maxima under the generalised extreme value law.
gev_nll <- function(x, location, scale, shape) {
  if (!all(is.finite(c(location, scale, shape))) || scale <= 0) return(Inf)
  z <- (x - location) / scale
  inside <- 1 + shape * z
  if (any(inside <= 0)) return(Inf)
  t <- if (abs(shape) < 1e-9) z else log1p(shape * z) / shape
  length(x) * log(scale) + sum((1 + shape) * t + exp(-t))
}

# Minus log likelihood of a point process with n / block_size blocks; excesses over the threshold.
point_process_nll <- function(excess, n, threshold, block_size, location, scale, shape) {
  if (!is.finite(scale) || scale <= 0) return(Inf)
  at <- function(x) 1 + shape * (x - location) / scale
  inside <- at(threshold + excess)
  if (any(inside <= 0) || at(threshold) <= 0) return(Inf)
  depth <- function(x) {
    z <- (x - location) / scale
    if (abs(shape) < 1e-9) z else log1p(shape * z) / shape
  }
  length(excess) * log(scale) + sum((1 + shape) * depth(threshold + excess)) +
    n / block_size * exp(-depth(threshold))
}

# First three sample L-moments, from unbiased probability-weighted moments.
sample_lmoments <- function(x) {
  x <- sort(x)
  n <- length(x)
  i <- seq_len(n)
  b0 <- mean(x)
  b1 <- mean((i - 1) / (n - 1) * x)
  b2 <- mean((i - 1) * (i - 2) / ((n - 1) * (n - 2)) * x)
  c(b0, 2 * b1 - b0, 6 * b2 - 6 * b1 + b0)
}

gpd_from_lmoments <- function(excess) {
  l <- sample_lmoments(excess)
  shape <- 2 - l[1L] / l[2L]
  c(scale = l[1L] * (1 - shape), shape = shape)
}

# Hosking, Wallis, Wood (1985): the shape from a quadratic approximation, refined by a root.
gev_from_lmoments <- function(x) {
  l <- sample_lmoments(x)
  ratio <- l[3L] / l[2L]
  skewness <- function(k) if (abs(k) < 1e-8) 2 * log(3) / log(2) - 3 else 2 * (1 - 3^-k) / (1 - 2^-k) - 3
  found <- try(stats::uniroot(function(k) skewness(k) - ratio, c(-0.99, 20), tol = 1e-12), silent = TRUE)
  k <- if (inherits(found, "try-error")) 7.859 * (2 / (3 + ratio) - log(2) / log(3)) else found$root
  if (abs(k) < 1e-8) {
    scale <- l[2L] / log(2)
    return(c(location = l[1L] + digamma(1) * scale, scale = scale, shape = 0))
  }
  g <- gamma(1 + k)
  scale <- l[2L] * k / ((1 - 2^-k) * g)
  c(location = l[1L] - scale * (1 - g) / k, scale = scale, shape = -k)
}

# Away from 0, where optimisers lose the gradient, and inside the support.
feasible_gpd <- function(start, excess, least = 0.01) {
  shape <- away_from_zero(max(-0.95, min(1.5, start[["shape"]])), least)
  scale <- start[["scale"]]
  if (!is.finite(scale) || scale <= 0) scale <- mean(excess)
  if (shape < 0) scale <- max(scale, -shape * max(excess) * 1.02)
  list(scale = scale, shape = shape)
}

feasible_gev <- function(start, x, least = 0.01) {
  shape <- away_from_zero(max(-0.9, min(0.9, start[["shape"]])), least)
  location <- start[["location"]]
  scale <- start[["scale"]]
  if (!is.finite(scale) || scale <= 0) scale <- stats::sd(x)
  if (!is.finite(location)) location <- mean(x)
  end <- if (shape < 0) max(x) - location else location - min(x)
  scale <- max(scale, abs(shape) * end * 1.02)
  list(location = location, scale = scale, shape = shape)
}

away_from_zero <- function(shape, least) {
  if (!is.finite(shape)) return(0.1)
  if (abs(shape) >= least) shape else if (shape < 0) -least else least
}

# Generalised Pareto fit over shape >= -1: profiled to theta = -shape / scale inside, and the edge shape = -1,
# scale = max(excess), beyond which the likelihood has no bound (Grimshaw 1993). No standard errors where the law
# is not regular (Smith 1985).
gpd_twin <- function(excess) {
  unit <- mean(excess)
  y <- excess / unit
  largest <- max(y)
  shape_of <- function(theta) mean(log1p(-theta * y))
  fall <- function(theta) {
    if (abs(theta) < 1e-10) return(1)
    shape <- shape_of(theta)
    if (shape < -1) return(1e10)
    log(-shape / theta) + shape + 1
  }
  # fine near the end of the support, where shapes below 0 lie
  grid <- sort(unique(c(-exp(seq(-8, 20, length.out = 120)), 0, (1 - exp(seq(-12, 0, length.out = 80))) / largest)))
  value <- vapply(grid, fall, 0)
  top <- which.min(value)
  ends <- grid[c(max(top - 1, 1), min(top + 1, length(grid)))]
  found <- stats::optimize(fall, ends, tol = 1e-12)
  at_boundary <- found$objective >= log(largest)
  theta <- if (abs(found$minimum) < 1e-10) 1e-10 else found$minimum
  par <- if (at_boundary) c(scale = largest, shape = -1) else c(scale = -shape_of(theta) / theta, shape = shape_of(theta))
  if (!at_boundary) par <- newton(par, function(p) derivatives_of(gpd_terms, list(x = y), p))
  twin_fit(par, gpd_terms, list(x = y), c(scale = unit, shape = 1), 0, at_boundary, function(p) {
    # at the edge the density is 1 / scale up to the largest value
    if (at_boundary) length(excess) * log(p[["scale"]]) else gpd_nll(excess, p[["scale"]], p[["shape"]])
  })
}

# Fit of rounded excesses over shape >= -1: simplex and BFGS from several starts, curvature by differences.
grid_twin <- function(excess, grid) {
  unit <- mean(excess)
  cells <- cells_of(excess, grid)
  fall <- function(p) if (p[2L] < -1) 1e10 else min(tail_nll(excess, exp(p[1L]) * unit, p[2L], cells), 1e10)
  found <- lapply(c(-0.7, -0.2, 0.2), function(shape) {
    minimise(fall, c(log(max(1, -shape * max(excess) / unit)), shape), c(0.1, 0.1))
  })
  best <- found[[which.min(vapply(found, `[[`, 0, "value"))]]
  par <- c(scale = exp(best$par[1L]) * unit, shape = best$par[2L])
  at_boundary <- par[["shape"]] <= -1 + 1e-6
  regular <- par[["shape"]] > -0.5
  covariance <- matrix(NaN, 2L, 2L, dimnames = list(names(par), names(par)))
  if (regular) {
    curvature <- stats::optimHess(c(1, par[["shape"]]), function(p) {
      tail_nll(excess, p[1L] * par[["scale"]], p[2L], cells)
    }, control = list(ndeps = c(1e-4, 1e-4)))
    covariance[] <- solve(curvature) * outer(c(par[["scale"]], 1), c(par[["scale"]], 1))
  }
  fit_of(par, covariance, best$value, if (regular) character() else IRREGULAR, at_boundary)
}

tail_twin <- function(excess, grid = 0) if (grid > 0) grid_twin(excess, grid) else gpd_twin(excess)

# A fit on standardised data in the units of the data, as the fits of the packages come.
twin_fit <- function(par, terms, data, unit, centre, at_boundary, nll) {
  regular <- par[["shape"]] > -0.5 && !at_boundary
  covariance <- matrix(NaN, length(par), length(par), dimnames = list(names(par), names(par)))
  if (regular) {
    inverse <- tryCatch(solve(derivatives_of(terms, data, par)$hessian), error = function(e) NULL)
    if (!is.null(inverse)) covariance[] <- inverse * outer(unit, unit)
  }
  estimate <- centre + par * unit
  notes <- if (at_boundary) EDGE else if (!regular) IRREGULAR else character()
  fit_of(estimate, covariance, nll(estimate), notes, at_boundary)
}

# What every fit returns.
fit_of <- function(estimate, covariance, nll, notes, at_boundary, version = paste("base R", getRversion())) {
  list(
    estimate = estimate, std_error = sqrt(pmax(diag(covariance), 0)), covariance = covariance, nll = nll,
    regular = estimate[["shape"]] > -0.5 && !at_boundary, at_boundary = at_boundary, notes = notes, version = version
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

# Generalised extreme value fit on standardised maxima: simplex and BFGS from L-moments, then Newton.
gev_twin <- function(maxima) {
  centre <- stats::median(maxima)
  unit <- stats::sd(maxima)
  z <- (maxima - centre) / unit
  start <- unlist(feasible_gev(as.list(gev_from_lmoments(z)), z))
  fall <- function(p) min(gev_nll(z, p[1L], p[2L], p[3L]), 1e10)
  found <- stats::optim(start, fall, method = "Nelder-Mead", control = list(reltol = 1e-12, maxit = 5000))
  found <- stats::optim(found$par, fall, method = "BFGS", control = list(reltol = 1e-14, ndeps = rep(1e-5, 3)))
  par <- newton(found$par, function(p) derivatives_of(gev_terms, list(x = z), p))
  twin_fit(par, gev_terms, list(x = z), c(unit, unit, 1), c(centre, 0, 0), FALSE, function(p) {
    gev_nll(maxima, p[[1L]], p[[2L]], p[[3L]])
  })
}

# (rate^shape - 1) / shape and its derivative with respect to shape.
box_cox <- function(rate, shape) {
  l <- log(rate)
  a <- shape * l
  if (abs(a) < 1e-4) {
    return(list(value = l * (1 + a / 2 + a^2 / 6), slope = l^2 * (1 / 2 + a / 3 + a^2 / 8)))
  }
  list(value = expm1(a) / shape, slope = (l * exp(a) * shape - expm1(a)) / shape^2)
}

# Likelihood of a return level: rate, scale and shape of one group with the level in place of the scale.
level_fall <- function(excess, n, threshold, m, law, grid = 0, tail = tail_twin(excess, grid)) {
  k <- length(excess)
  cells <- cells_of(excess, grid)
  rate_term <- function(rate) {
    if (law == "poisson") n * rate - k * log(rate) else -k * log(rate) - (n - k) * log1p(-rate)
  }
  nll <- function(rate, scale, shape) {
    value <- tail_nll(excess, scale, shape, cells) + (if (k == n && law == "binomial") 0 else rate_term(rate))
    if (is.finite(value) && shape >= -1) value else 1e10
  }
  rate <- k / n
  s <- tail$estimate[[1L]]
  shape <- tail$estimate[[2L]]
  list(
    estimate = threshold + s * box_cox(m * rate, shape)$value, least = nll(rate, s, shape),
    start = c(log(rate), shape), tail = tail,
    at = function(level, p) {
      rate <- exp(p[1L])
      if (rate >= 1 || p[2L] < -1) return(1e10)
      grown <- box_cox(m * rate, p[2L])$value
      if (!is.finite(grown) || grown <= 0 || level <= threshold) return(1e10)
      nll(rate, (level - threshold) / grown, p[2L])
    }
  )
}

# By quasi-Newton steps from the start and from beside where they end; where those two do not meet (at the edge of the
# parameter space), simplex and BFGS by turns.
minimise <- function(fall, start, step) {
  descend <- function(from) {
    stats::nlminb(from, fall, scale = 1 / step, control = list(rel.tol = 1e-14, x.tol = 1e-9, eval.max = 500, iter.max = 300))
  }
  best <- descend(start)
  again <- descend(best$par + step / 20)
  near <- abs(best$objective - again$objective) < 1e-9
  if (again$objective < best$objective) best <- again
  best$value <- best$objective
  if (near && best$value < 1e9) return(best)
  best <- stats::optim(if (best$value < 1e9) best$par else start, fall, method = "Nelder-Mead", control = list(
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

# Mean and standard deviation of the signed root sign(estimate - psi) * sqrt(deviance) of a level with s = log(m * rate),
# for k excesses of a shape: 0 + a / sqrt(k) and sqrt(1 + b / k), where a and b are quadratic in the shape and linear between
# the knots of s. Shape and end point are as the last knot. The numbers are those of fairstats.numerics.evt.contour,
# simulated by tests/calibration/roots.py.
ROOT_KNOTS <- c(0.3, 0.7, 1.5, 3, 5, 8)
ROOT_MEAN <- rbind(
  c(0.16, -0.49, 0.27), c(0.41, -0.88, 0.54), c(-0.13, -0.97, 0.67),
  c(-1.79, 1.09, -0.42), c(-2.35, 2.49, -1.62), c(-2.46, 2.77, -1.86)
)
ROOT_VARIANCE <- rbind(
  c(-0.2, 0.3, -0.1), c(0.6, -0.9, 1), c(4.4, -6.1, 5.3),
  c(6.2, -8.5, 6.1), c(4.2, -0.7, -2.1), c(3.7, -1.2, -0.9)
)

root_moments <- function(shape, s, k) {
  shape <- min(max(shape, -0.5), 0.8)
  at <- function(table) {
    sum(apply(table, 2L, function(column) stats::approx(ROOT_KNOTS, column, s, rule = 2)$y) * shape^(0:2))
  }
  list(mean = at(ROOT_MEAN) / sqrt(k), sd = sqrt(1 + at(ROOT_VARIANCE) / k))
}

# Root of the deviance less its goal at an end on that side (-1 below the estimate, 1 above): the standardised root is +-z.
beyond_root <- function(deviance, side, z, moments) {
  sqrt(max(deviance, 0)) - max(moments$sd * z - side * moments$mean, 0)
}

# Level of m observations: estimate, delta standard error, likelihood interval by the standardised signed root.
tail_level <- function(excess, n, threshold, m, level, law = "poisson", grid = 0) {
  group <- level_fall(excess, n, threshold, m, law, grid)
  out <- list(estimate = group$estimate, std_error = NaN, low = NaN, high = NaN)
  tail <- group$tail
  if (tail$at_boundary) return(out)
  s <- tail$estimate[[1L]]
  shape <- tail$estimate[[2L]]
  k <- length(excess)
  rate <- k / n
  grown <- box_cox(m * rate, shape)
  gradient <- c(s * (m * rate)^shape / rate, grown$value, s * grown$slope)
  spread <- matrix(0, 3L, 3L)
  spread[1L, 1L] <- rate / n * (if (law == "poisson") 1 else 1 - rate)
  spread[2:3, 2:3] <- tail$covariance
  out$std_error <- sqrt(max(0, drop(gradient %*% spread %*% gradient)))
  if (k == n) out$std_error <- sqrt(max(0, drop(gradient[2:3] %*% tail$covariance %*% gradient[2:3])))
  z <- stats::qnorm((1 + level) / 2)
  end <- function(side) {
    last <- group$start
    ends_of(function(r) {
      # a start that was good for another level may be impossible here; without an end point none is
      starts <- list(last, group$start, c(group$start[1L], 0))
      start <- starts[[which.min(vapply(starts, function(p) group$at(r, p), 0))]]
      found <- minimise(function(p) group$at(r, p), start, c(1 / sqrt(k), 1 / sqrt(k)))
      if (found$value < 1e9) last <<- found$par
      beyond_root(2 * (found$value - group$least), side, z, root_moments(found$par[2L], log(m * rate), k))
    }, group$estimate, width, threshold, c(end = side))$end
  }
  width <- if (is.finite(out$std_error) && out$std_error > 0) out$std_error else (max(excess) - min(excess)) / 4
  utils::modifyList(out, list(low = end(-1), high = end(1)))
}

# Where a deviance (less its goal) crosses 0 on either side; infinite where it does not within 60 widths.
ends_of <- function(deviance, centre, width, floor = -Inf, sides = c(low = -1, high = 1)) {
  side <- function(sign) {
    near <- centre
    before <- deviance(centre)
    if (before >= 0) return(centre)
    reach <- width
    for (step in 1:40) {
      far <- centre + sign * reach
      if (sign < 0 && far <= floor) far <- floor + (near - floor) / 64
      value <- deviance(far)
      if (value > 0) {
        # as they were found: where a search begins depends on the one before
        known <- if (sign < 0) c(value, before) else c(before, value)
        return(stats::uniroot(
          deviance, sort(c(near, far)), f.lower = known[1L], f.upper = known[2L], tol = 1e-9 * width, maxiter = 200
        )$root)
      }
      near <- far
      before <- value
      reach <- reach * 1.6
      if (far == floor) break
    }
    sign * Inf
  }
  lapply(sides, side)
}

# Likelihood interval of the shape, by the standardised signed root.
tail_shape <- function(excess, level, grid = 0) {
  tail <- tail_twin(excess, grid)
  if (tail$at_boundary) return(list(low = NaN, high = NaN))
  z <- stats::qnorm((1 + level) / 2)
  largest <- max(excess) - grid / 2
  cells <- cells_of(excess, grid)
  deviance <- function(shape, side) {
    if (shape < -1) return(1e10)
    least <- if (shape < 0) -shape * largest * (1 + 1e-12) else 1e-8 * mean(excess)
    fall <- function(l) tail_nll(excess, exp(l), shape, cells)
    range <- log(c(least, max(excess) * 50))
    points <- seq(range[1L], range[2L], length.out = 200)
    value <- vapply(points, fall, 0)
    top <- which.min(value)
    around <- points[c(max(top - 1, 1), min(top + 1, length(points)))]
    lowest <- min(stats::optimize(fall, around, tol = 1e-11)$objective, value[top])
    beyond_root(2 * (lowest - tail$nll), side, z, root_moments(shape, Inf, length(excess)))
  }
  shape <- tail$estimate[[2L]]
  spread <- if (is.finite(tail$std_error[2L]) && tail$std_error[2L] > 0) tail$std_error[2L] else 0.2
  list(
    low = ends_of(function(x) deviance(x, -1), shape, spread, -1, c(low = -1))$low,
    high = ends_of(function(x) deviance(x, 1), shape, spread, -1, c(high = 1))$high
  )
}

# Difference of two groups' levels of m observations: likelihood ratio of no difference, and its interval. The
# signed root of the ratio, less a mean and divided by a standard deviation, has a t distribution; by itself with the
# smaller tail's excesses less three parameters as degrees of freedom, standardised by simulation with infinitely many.
# Intervals at every `level`; bounds and verdict by the first.
level_contrast <- function(excess1, n1, u1, excess2, n2, u2, m, level, law, margin = 0.05, mean = 0, sd = 1,
                           df = min(length(excess1), length(excess2)) - 3, grid1 = 0, grid2 = 0) {
  first <- level_fall(excess1, n1, u1, m, law, grid1)
  second <- level_fall(excess2, n2, u2, m, law, grid2)
  estimate <- first$estimate - second$estimate
  if ((grid1 == 0 && first$tail$at_boundary) || (grid2 == 0 && second$tail$at_boundary)) {
    open <- rep(NaN, 8L)
    return(c(list(estimate = estimate), stats::setNames(as.list(open), c(
      "statistic", "pvalue", "low", "high", "bound_low", "bound_high", "pvalue_verdict", "side"
    ))))
  }
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
    max(2 * (found$value - least), 0)
  }
  statistic <- deviance(0)
  width <- sqrt((first$estimate - u1)^2 / k[1L] + (second$estimate - u2)^2 / k[2L]) * 2
  again <- function() last <<- c(second$estimate, first$start, second$start)
  # the signed root falls in the difference: it is mean + reach at the lower end, mean - reach at the upper one
  end <- function(side, reach) {
    again()
    ends_of(function(d) deviance(d) - max(sd * reach - side * mean, 0)^2, estimate, width, sides = side)[[1L]]
  }
  standardised <- function(d) {
    again()
    (sign(estimate - d) * sqrt(deviance(d)) - mean) / sd
  }
  # at the ends of the fair range, and the tail of both directions together
  z <- vapply(c(-margin, margin), standardised, 0)
  verdict <- side_of(z[1L], z[2L], level[1L], df)
  both <- stats::qt((1 + level) / 2, df)
  list(
    estimate = estimate, statistic = statistic, pvalue = 2 * stats::pt(-abs(standardised(0)), df),
    low = vapply(both, end, 0, side = -1), high = vapply(both, end, 0, side = 1), bound_low = end(-1, verdict$one), bound_high = end(1, verdict$one), pvalue_verdict = verdict$pvalue,
    side = verdict$side
  )
}

# Mean and standard deviation of the signed root of the likelihood ratio at the true difference of two levels, in samples
# from the fitted tails (the k + 1 largest of n values, whose threshold moves), and their Monte Carlo errors.
simulated_moments <- function(first, second, n, m, samples = 200L) {
  true <- first$return_level - second$return_level
  roots <- replicate(samples, {
    a <- redrawn_level(first, n[[1L]], m)
    b <- redrawn_level(second, n[[2L]], m)
    fall <- function(p) a$at(p[1L] + true, p[2:3]) + b$at(p[1L], p[4:5])
    levels <- c(b$estimate, a$estimate - true, (b$estimate + a$estimate - true) / 2)
    # a level that was good for another shape may be impossible here; without an end point none is
    starts <- c(
      lapply(levels, c, a$start, b$start), lapply(levels, c, a$start[1L], 0.05, b$start[1L], 0.05)
    )
    found <- stats::nlminb(starts[[which.min(vapply(starts, fall, 0))]], fall)
    if (found$objective > 1e9) NA else {
      sign(a$estimate - b$estimate - true) * sqrt(2 * max(found$objective - a$least - b$least, 0))
    }
  })
  roots <- roots[!is.na(roots)]
  sd <- stats::sd(roots)
  off <- roots - mean(roots)
  c(
    mean = mean(roots), sd = sd, mean_error = sd / sqrt(samples),
    sd_error = sqrt((mean(off^4) - mean(off^2)^2) / samples) / (2 * sd)
  )
}

redrawn_level <- function(tail, n, m) {
  k <- tail$exceedances
  excess_at <- function(depth) tail$scale * (if (abs(tail$shape) < 1e-9) depth else expm1(tail$shape * depth) / tail$shape)
  depth <- if (k < n) log(k / n / stats::rbeta(1L, k + 1, n - k)) else 0
  excess <- excess_at(depth + stats::rexp(k)) - excess_at(depth)
  start <- feasible_gpd(tail[c("scale", "shape")], excess)
  fit <- stats::nlminb(c(log(start$scale), start$shape), function(p) {
    if (p[2L] < -1) 1e10 else min(gpd_nll(excess, exp(p[1L]), p[2L]), 1e10)
  })
  level_fall(excess, n, tail$origin + excess_at(depth), m, "binomial", tail = list(
    estimate = c(exp(fit$par[1L]), fit$par[2L])
  ))
}

# Draws of the power tail x = end - c (n s)^g of exceedances, for a near end point (shape below -1/2), where likelihoods
# cover too little: the exponent solves the mean log spacing for the k smallest of n uniform values, and c goes through
# the order statistic of the upper half next to the level of m observations (next to the least it would come of a spacing,
# near 0 in many draws). The levels of m, as a function: the same draws for every m.
power_tail <- function(x, n, draws = 2000L) {
  x <- sort(x, decreasing = TRUE)
  k <- length(x)
  inner <- x[2:(k - 1L)]
  observed <- mean(log((x[1L] - x[k]) / (x[1L] - inner)))
  last <- stats::rbeta(draws, k, max(n - k + 1, 1))
  share <- t(apply(matrix(stats::runif(draws * (k - 1L)), draws), 1L, sort))
  logs <- log(share)
  low <- rep(log(1e-3), draws)
  high <- rep(log(50), draws)
  for (step in 1:50) { # the mean rises with the exponent
    middle <- (low + high) / 2
    least <- exp(exp(middle) * logs[, 1L])
    gap <- pmax(exp(exp(middle) * logs[, -1L, drop = FALSE]) - least, 1e-300)
    less <- log1p(-least) - rowMeans(log(gap)) < observed
    low <- ifelse(less, middle, low)
    high <- ifelse(less, high, middle)
  }
  g <- exp((low + high) / 2)
  gamma <- n * last
  function(m) {
    place <- min(max(round(n / m), 1), k %/% 2)
    near <- exp(g * (logs[, place] + log(gamma)))
    c <- (x[place] - x[k]) / (gamma^g - near)
    x[place] + c * near - c * (n / m)^g
  }
}

# Levels of m observations of a regular tail at standard normal draws of its standardised signed root, by interpolation.
root_draws <- function(excess, n, threshold, m, law, grid = 0, draws = 2000L) {
  group <- level_fall(excess, n, threshold, m, law, grid)
  last <- group$start
  step <- rep(1 / sqrt(length(excess)), 2L)
  deviance <- function(r) {
    found <- minimise(function(p) group$at(r, p), last, step)
    if (found$value < 1e9) last <<- found$par
    max(2 * (found$value - group$least), 0)
  }
  width <- max(group$estimate - threshold, 1e-3 * mean(excess)) / 4
  far <- unlist(ends_of(function(r) deviance(r) - 4.2^2, group$estimate, width, threshold))
  far <- pmin(pmax(far, threshold), group$estimate + 60 * width)
  ends <- sort(unique(c(seq(far[1L], group$estimate, length.out = 14L), seq(group$estimate, far[2L], length.out = 20L))))
  last <- group$start
  root <- vapply(ends, function(r) {
    size <- sign(r - group$estimate) * sqrt(deviance(r))
    moments <- root_moments(last[2L], log(m * length(excess) / n), length(excess))
    (size + moments$mean) / moments$sd
  }, 0)
  stats::approx(root, ends, stats::rnorm(draws), rule = 2, ties = mean)$y
}

# Difference of two groups' levels from independent draws: limits, and the share of draws beyond a difference as a
# normal statistic.
drawn_contrast <- function(first, second, level, margin) {
  drawn <- first - second
  drawn <- drawn[is.finite(drawn)]
  least <- 0.5 / length(drawn)
  z <- function(null) stats::qnorm(min(max(mean(drawn > null) + mean(drawn == null) / 2, least), 1 - least))
  verdict <- side_of(z(-margin), z(margin), level[1L])
  shares <- c((1 - level) / 2, (1 + level) / 2, stats::pnorm(c(-1, 1) * verdict$one))
  ends <- stats::quantile(drawn, shares, names = FALSE)
  errors <- drawn_errors(drawn, shares)
  p <- 2 * stats::pnorm(-abs(z(0)))
  i <- seq_along(level)
  j <- length(level) + i
  b <- 2L * length(level) + 1:2
  list(
    statistic = z(0), pvalue = p, low = ends[i], high = ends[j], bound_low = ends[b[1L]], bound_high = ends[b[2L]],
    pvalue_verdict = verdict$pvalue, side = verdict$side,
    errors = list(low = errors[i], high = errors[j], bound_low = errors[b[1L]], bound_high = errors[b[2L]])
  )
}

# Monte Carlo errors of the difference between two runs: of quantiles, and of two-sided p-values that are shares.
drawn_errors <- function(drawn, shares) {
  step <- sqrt(2 * shares * (1 - shares) / length(drawn))
  at <- function(p) stats::quantile(drawn, pmin(pmax(p, 0), 1), names = FALSE)
  (at(shares + step) - at(shares - step)) / 2
}

# From the statistics of both ends of the fair range: the verdict's p-value and side (below, above, inside), and the
# quantile of its limits; both directions count.
side_of <- function(z_low, z_high, level, df = Inf) {
  both_tails <- function(x) pmin(stats::pt(-x, df) + stats::pt(-x - (z_low - z_high), df), 1)
  verdict <- c(both_tails(-z_low), both_tails(z_high), max(both_tails(z_low), both_tails(-z_high)))
  one <- stats::uniroot(function(x) both_tails(x) - (1 - level), c(0, 1e3), tol = 1e-12)$root
  list(pvalue = min(verdict), side = which.min(verdict), one = one)
}

# Quantile of a series with its binomial interval.
empirical_level <- function(x, m, level) {
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
mean_inference <- function(estimate, std_error, level) {
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
square_and_add <- function(a, a_low, a_high, b, b_low, b_high, off = c(0, 0)) {
  joined <- function(parts) {
    sure <- pmin(parts, off)
    sum(sure) + sqrt(sum((parts - sure)^2))
  }
  c(a - b - joined(c(a - a_low, b_high - b)), a - b + joined(c(a_high - a, b - b_low)))
}
