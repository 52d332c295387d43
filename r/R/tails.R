# Tails above a threshold in base R: their return levels, and differences of levels, by profiles of
# the likelihood.

# (rate^shape - 1) / shape and its derivative with respect to shape.
box_cox <- function(rate, shape) {
  l <- log(rate)
  a <- shape * l
  if (abs(a) < 1e-4) {
    return(list(value = l * (1 + a / 2 + a^2 / 6), slope = l^2 * (1 / 2 + a / 3 + a^2 / 8)))
  }
  list(value = expm1(a) / shape, slope = (l * exp(a) * shape - expm1(a)) / shape^2)
}

# Likelihood of a return level: rate, scale and shape of one group with the level in place of the
# scale.
level_fall <- function(excess, n, threshold, m, law, grid = 0, tail = tail_twin(excess, grid)) {
  k <- length(excess)
  par <- tail$estimate
  cells <- cells_of(excess, grid)
  nll <- function(rate, scale, shape) {
    of_rate <- if (law == "poisson") {
      n * rate - k * log(rate)
    } else {
      if (k < n) -k * log(rate) - (n - k) * log1p(-rate) else 0
    }
    value <- tail_nll(excess, scale, shape, cells) + of_rate
    if (is.finite(value) && shape >= -1) value else 1e10
  }
  at <- function(level, p) {
    rate <- exp(p[1L])
    if (rate >= 1 || p[2L] < -1) {
      return(1e10)
    }
    grown <- box_cox(m * rate, p[2L])$value
    if (!is.finite(grown) || grown <= 0 || level <= threshold) {
      1e10
    } else {
      nll(rate, (level - threshold) / grown, p[2L])
    }
  }
  estimate <- threshold + par[[1L]] * box_cox(m * (k / n), par[[2L]])$value
  least <- nll(k / n, par[[1L]], par[[2L]])
  list(estimate = estimate, least = least, start = c(log(k / n), par[[2L]]), tail = tail, at = at)
}

# Quasi-Newton steps from two places; where their ends do not meet (at an edge of the space),
# simplex and BFGS by turns.
minimise <- function(fall, start, step) {
  how <- list(rel.tol = 1e-14, x.tol = 1e-9, eval.max = 500, iter.max = 300)
  descend <- function(from) {
    found <- stats::nlminb(from, fall, scale = 1 / step, control = how)
    list(par = found$par, value = found$objective)
  }
  simplex <- function(from, reltol, step) {
    stats::optim(
      from,
      fall,
      method = "Nelder-Mead",
      control = list(reltol = reltol, maxit = 3000, parscale = step)
    )
  }
  best <- descend(start)
  again <- descend(best$par + step / 20)
  near <- abs(best$value - again$value) < 1e-9
  if (again$value < best$value) {
    best <- again
  }
  if (near && best$value < 1e9) {
    return(best)
  }
  best <- simplex(if (best$value < 1e9) best$par else start, 1e-13, step)
  how <- list(reltol = 1e-15, maxit = 500, parscale = step, ndeps = rep(1e-4, length(start)))
  for (turn in 1:4) {
    polished <- stats::optim(best$par, fall, method = "BFGS", control = how)
    gain <- best$value - polished$value
    if (gain > 0) {
      best <- polished
    }
    renewed <- simplex(best$par, 1e-14, step / 10)
    if (renewed$value < best$value) {
      best <- renewed
    }
    if (gain < 1e-10 && best$value - renewed$value > -1e-10) break
  }
  best
}

# Mean a / sqrt(k) and standard deviation sqrt(1 + b / k) of the signed root sign(estimate - psi) *
# sqrt(deviance) of a level with s = log(m * rate), from k excesses of a shape: a and b are
# quadratic in the shape and linear between the knots of s, simulated by tests/calibration/roots.py.
# Shape and end point are as the last knot.
ROOT_KNOTS <- c(0.3, 0.7, 1.5, 3, 5, 8)
ROOT_MEAN <- rbind(
  c(0.16, -0.49, 0.27),
  c(0.41, -0.88, 0.54),
  c(-0.13, -0.97, 0.67),
  c(-1.79, 1.09, -0.42),
  c(-2.35, 2.49, -1.62),
  c(-2.46, 2.77, -1.86)
)
ROOT_VARIANCE <- rbind(
  c(-0.2, 0.3, -0.1),
  c(0.6, -0.9, 1),
  c(4.4, -6.1, 5.3),
  c(6.2, -8.5, 6.1),
  c(4.2, -0.7, -2.1),
  c(3.7, -1.2, -0.9)
)

root_moments <- function(shape, s, k) {
  shape <- min(max(shape, -0.5), 0.8)
  at <- function(table) {
    sum(
      apply(table, 2L, function(column) stats::approx(ROOT_KNOTS, column, s, rule = 2)$y) *
        shape^(0:2)
    )
  }
  list(mean = at(ROOT_MEAN) / sqrt(k), sd = sqrt(1 + at(ROOT_VARIANCE) / k))
}

# Root of the deviance less its goal at an end on that side (-1 below, 1 above): there the
# standardised root is +-z.
beyond_root <- function(deviance, side, level, moments) {
  sqrt(max(deviance, 0)) - max(moments$sd * stats::qnorm((1 + level) / 2) - side * moments$mean, 0)
}

# Level of m observations: estimate, delta standard error, likelihood interval by the standardised
# signed root.
tail_level <- function(excess, n, threshold, m, level, law = "poisson", grid = 0) {
  group <- level_fall(excess, n, threshold, m, law, grid)
  tail <- group$tail
  if (tail$at_boundary) {
    return(list(estimate = group$estimate, std_error = NaN, low = NaN, high = NaN))
  }
  k <- length(excess)
  rate <- k / n
  scale <- tail$estimate[[1L]]
  grown <- box_cox(m * rate, tail$estimate[[2L]])
  gradient <- c(scale * (m * rate)^tail$estimate[[2L]] / rate, grown$value, scale * grown$slope)
  of_rate <- if (k == n) 0 else rate / n * (if (law == "poisson") 1 else 1 - rate)
  std_error <- sqrt(max(
    0,
    drop(gradient %*% rbind(c(of_rate, 0, 0), cbind(0, tail$covariance)) %*% gradient)
  ))
  width <- if (is.finite(std_error) && std_error > 0) std_error else (max(excess) - min(excess)) / 4
  end <- function(side) {
    last <- group$start
    end_of(
      function(r) {
        fall <- function(p) group$at(r, p)
        # a start that was good for another level may be impossible here; without an end point none
        # is
        starts <- list(last, group$start, c(group$start[1L], 0))
        found <- minimise(fall, starts[[which.min(vapply(starts, fall, 0))]], rep(1 / sqrt(k), 2L))
        if (found$value < 1e9) {
          last <<- found$par
        }
        beyond_root(
          2 * (found$value - group$least),
          side,
          level,
          root_moments(found$par[2L], log(m * rate), k)
        )
      },
      group$estimate,
      width,
      side,
      threshold
    )
  }
  list(estimate = group$estimate, std_error = std_error, low = end(-1), high = end(1))
}

# Where a deviance (less its goal) crosses 0 on a side (-1 below, 1 above) of the centre, by growing
# steps; or infinity.
end_of <- function(deviance, centre, width, side, floor = -Inf) {
  near <- centre
  before <- deviance(centre)
  if (before >= 0) {
    return(centre)
  }
  reach <- width
  for (step in 1:40) {
    far <- centre + side * reach
    if (side < 0 && far <= floor) {
      far <- floor + (near - floor) / 64
    }
    value <- deviance(far)
    # the values as they were found: where a search begins depends on the one before
    if (value > 0) {
      return(
        stats::uniroot(
          deviance,
          sort(c(near, far)),
          f.lower = if (side < 0) value else before,
          f.upper = if (side < 0) before else value,
          tol = 1e-9 * width,
          maxiter = 200
        )$root
      )
    }
    if (far == floor) {
      break
    }
    near <- far
    before <- value
    reach <- reach * 1.6
  }
  side * Inf
}

# Likelihood interval of the shape, by the standardised signed root.
tail_shape <- function(excess, level, grid = 0) {
  tail <- tail_twin(excess, grid)
  if (tail$at_boundary) {
    return(list(low = NaN, high = NaN))
  }
  cells <- cells_of(excess, grid)
  deviance <- function(shape, side) {
    if (shape < -1) {
      return(1e10)
    }
    least <- if (shape < 0) -shape * (max(excess) - grid / 2) * (1 + 1e-12) else 1e-8 * mean(excess)
    points <- seq(log(least), log(max(excess) * 50), length.out = 200)
    found <- lowest_near(function(l) tail_nll(excess, exp(l), shape, cells), points, 1e-11)
    above <- 2 * (min(found$objective, found$least) - tail$nll)
    beyond_root(above, side, level, root_moments(shape, Inf, length(excess)))
  }
  spread <- tail$std_error[[2L]]
  if (!is.finite(spread) || spread <= 0) {
    spread <- 0.2
  }
  end <- function(side) {
    end_of(function(shape) deviance(shape, side), tail$estimate[[2L]], spread, side, -1)
  }
  list(low = end(-1), high = end(1))
}

# Two groups' levels of m observations under a difference d: `deviance(d)`, twice the fall of the
# log likelihood, and `likely(d)`, the second level with log rate and shape of both tails there.
# Beside the inner minimum either tail may be at its edge, shape -1 with the end point at the
# largest excess: the least of all is taken.
level_pair <- function(excess1, n1, u1, excess2, n2, u2, m, law, grid1 = 0, grid2 = 0) {
  first <- level_fall(excess1, n1, u1, m, law, grid1)
  second <- level_fall(excess2, n2, u2, m, law, grid2)
  first$edge <- edge_fall(excess1, n1, u1, m, law, grid1)
  second$edge <- edge_fall(excess2, n2, u2, m, law, grid2)
  estimate <- first$estimate - second$estimate
  lowest <- function(group, at_edge) if (at_edge) group$edge(group$estimate)$value else group$least
  edge_of <- c(grid1 == 0 && first$tail$at_boundary, grid2 == 0 && second$tail$at_boundary)
  least <- lowest(first, edge_of[1L]) + lowest(second, edge_of[2L])
  k <- lengths(list(excess1, excess2))
  step <- c((second$estimate - u2) / sqrt(k[2L]), rep(1 / sqrt(k), each = 2))
  begin <- c(second$estimate, first$start, second$start)
  last <- begin
  inner <- function(d) {
    fall <- function(p) first$at(p[1L] + d, p[2:3]) + second$at(p[1L], p[4:5])
    start <- last
    if (fall(start) >= 1e9) {
      start[1L] <- max(start[1L], u2 + 1e-9, u1 - d + 1e-9)
    }
    other <- c(first$estimate - d, first$start, second$start)
    # a minimum next to an edge is no smooth one, and the edge itself is asked below
    if (any(edge_of)) {
      inside <- c(1, 1, 1, 1, 1)
      inside[c(3L, 5L)[edge_of]] <- 0.9
      middle <- other
      middle[1L] <- (second$estimate + first$estimate - d) / 2
      found <- descend_from(
        fall,
        list(start, start * inside, other * inside, middle * inside),
        step
      )
    } else {
      found <- minimise(fall, start, step)
      again <- minimise(fall, other, step)
      if (again$value < found$value) found <- again
    }
    if (found$value < 1e9) {
      last <<- found$par
    }
    found
  }
  search <- function(d) {
    found <- inner(d)
    edges <- edge_of | (c(grid1, grid2) == 0 & found$par[c(3L, 5L)] < EDGE_NEAR)
    if (!any(edges)) {
      return(found)
    }
    levels <- second$estimate + (first$estimate - d - second$estimate) * c(0, 0.1, 0.5, 0.9, 1)
    tried <- list(found)
    if (edges[1L]) {
      fall <- function(p) first$edge(p[1L] + d)$value + second$at(p[1L], p[2:3])
      at <- descend_from(fall, lapply(levels, c, second$start), step[c(1L, 4L, 5L)])
      tried[[2L]] <- list(
        value = at$value,
        par = c(at$par[1L], first$edge(at$par[1L] + d)$par, at$par[2:3])
      )
    }
    if (edges[2L]) {
      fall <- function(p) first$at(p[1L] + d, p[2:3]) + second$edge(p[1L])$value
      at <- descend_from(fall, lapply(levels, c, first$start), step[1:3])
      tried[[length(tried) + 1L]] <- list(
        value = at$value,
        par = c(at$par, second$edge(at$par[1L])$par)
      )
    }
    if (all(edges)) {
      both <- function(level) first$edge(level + d)$value + second$edge(level)$value
      level <- least_between(both, sort(levels))
      tried[[length(tried) + 1L]] <- list(
        value = both(level),
        par = c(level, first$edge(level + d)$par, second$edge(level)$par)
      )
    }
    tried[[which.min(vapply(tried, `[[`, 0, "value"))]]
  }
  deviance <- function(d) max(2 * (search(d)$value - least), 0)
  width <- sqrt(sum(c(first$estimate - u1, second$estimate - u2)^2 / k)) * 2
  restart <- function() last <<- begin
  list(
    estimate = estimate,
    deviance = deviance,
    likely = function(d) search(d)$par,
    width = width,
    restart = restart,
    end = function(side, root) {
      restart()
      end_of(function(d) deviance(d) - max(root, 0)^2, estimate, width, side)
    }
  )
}

# Tails of shapes below this are asked for their edge, too.
EDGE_NEAR <- -0.9

# The lowest of quasi-Newton searches from several places.
descend_from <- function(fall, starts, step) {
  ends <- lapply(starts, function(start) {
    found <- stats::nlminb(
      start,
      fall,
      scale = 1 / step,
      control = list(rel.tol = 1e-12, iter.max = 200, eval.max = 300)
    )
    list(par = found$par, value = found$objective)
  })
  ends[[which.min(vapply(ends, `[[`, 0, "value"))]]
}

# Value at shape -1 with the end point at the largest excess, as a function of the level of m
# observations, with log rate and shape; beyond what can be where the level is not below that end.
edge_fall <- function(excess, n, threshold, m, law, grid = 0) {
  k <- length(excess)
  top <- max(excess)
  function(level) {
    d <- level - threshold
    log_rate <- if (d < top) -log1p(-d / top) - log(m) else Inf
    if (grid > 0 || log_rate >= 0) {
      return(list(value = 1e10, par = c(NaN, -1)))
    }
    of_rate <- if (law == "poisson") {
      n * exp(log_rate) - k * log_rate
    } else {
      if (k < n) -k * log_rate - (n - k) * log1p(-exp(log_rate)) else -k * log_rate
    }
    list(value = k * log(top) + of_rate, par = c(log_rate, -1))
  }
}

# Least of a function between two ends: a grid that is denser at both, and a search next to its
# lowest point.
least_between <- function(of, ends) {
  if (ends[1L] == ends[2L]) {
    return(ends[1L])
  }
  points <- ends[1L] + diff(ends) * (1 - cos(pi * (0:16) / 16)) / 2
  values <- vapply(points, of, 0)
  at <- which.min(values)
  found <- stats::optimize(
    of,
    points[c(max(at - 1L, 1L), min(at + 1L, 17L))],
    tol = 1e-10 * diff(ends) + 1e-14
  )
  if (found$objective < values[at]) found$minimum else points[at]
}

# Difference of two groups' levels of m observations: likelihood ratio of no difference, intervals
# at every `level`, bounds and verdict by the first. The signed root of the ratio, less a mean and
# divided by a standard deviation (of the roots `at`, linear between them), has a t distribution
# with the smaller tail's excesses less three parameters as degrees of freedom.
level_contrast <- function(
  excess1,
  n1,
  u1,
  excess2,
  n2,
  u2,
  m,
  level,
  law,
  margin = 0.05,
  mean = 0,
  sd = 1,
  df = min(length(excess1), length(excess2)) - 3,
  grid1 = 0,
  grid2 = 0,
  at = 0
) {
  pair <- level_pair(excess1, n1, u1, excess2, n2, u2, m, law, grid1, grid2)
  estimate <- pair$estimate
  moment <- function(values, root) {
    if (length(values) < 2L) {
      values
    } else {
      stats::approx(at, values, pmin(pmax(root, min(at)), max(at)))$y
    }
  }
  z_of <- function(root) (root - moment(mean, root)) / moment(sd, root)
  # the signed root falls in the difference: it is positive at the lower end
  root_of <- function(z) stats::uniroot(function(root) z_of(root) - z, c(-60, 60), tol = 1e-10)$root
  end <- function(side, reach) pair$end(side, -side * root_of(-side * reach))
  standardised <- function(d) {
    pair$restart()
    z_of(sign(estimate - d) * sqrt(pair$deviance(d)))
  }
  verdict <- side_of(standardised(-margin), standardised(margin), level[1L], df)
  both <- stats::qt((1 + level) / 2, df)
  pair$restart()
  list(
    estimate = estimate,
    statistic = pair$deviance(0),
    pvalue = 2 * stats::pt(-abs(standardised(0)), df),
    low = vapply(both, end, 0, side = -1),
    high = vapply(both, end, 0, side = 1),
    bound_low = end(-1, verdict$one),
    bound_high = end(1, verdict$one),
    pvalue_verdict = verdict$pvalue,
    side = verdict$side
  )
}

# Mean and standard deviation of the signed root where it is -2, 0 and 2 (linear between), as
# functions of the tails that are most likely under each difference: the tables of
# fairstats.methods.ecd.root_law, where their formulas are.
tabulated_moments <- function(first, second, n, m) {
  pair <- level_pair(
    first$excess,
    n[[1L]],
    first$origin,
    second$excess,
    n[[2L]],
    second$origin,
    m,
    "binomial",
    first$grid,
    second$grid
  )
  ends <- pmin(pmax(c(pair$end(1, 2), pair$estimate, pair$end(-1, 2)), -2), 2)
  pair$restart()
  at <- vapply(ends, function(d) sign(pair$estimate - d) * sqrt(pair$deviance(d)), 0)
  at[2L] <- 0
  kept <- abs(at) > 0.1 | seq_along(at) == 2L
  found <- vapply(
    ends[kept],
    function(d) {
      pair$restart()
      likely <- pair$likely(d)
      contrast_moments(
        tail_under(first, n[[1L]], likely[1L] + d, likely[2:3], m),
        tail_under(second, n[[2L]], likely[1L], likely[4:5], m)
      )
    },
    numeric(2L)
  )
  list(at = at[kept], mean = found[1L, ], sd = found[2L, ])
}

# A tail with this level, log rate and shape: exceedances, shape, s = log(m rate), and the level's
# standard error by the expected information.
tail_under <- function(tail, n, level, par, m) {
  k <- length(tail$excess)
  shape <- par[2L]
  s <- par[1L] + log(m)
  grown <- box_cox(exp(s), shape)
  scale <- (level - tail$origin) / grown$value
  regular <- 1 + max(shape, ROOT_REGULAR)
  in_shape <- scale * grown$slope
  of_excesses <- regular *
    (2 * (scale * grown$value)^2 - 2 * scale * grown$value * in_shape + regular * in_shape^2)
  of_rate <- (scale * exp(shape * s))^2 * -expm1(par[1L])
  list(k = k, shape = shape, s = s, error = sqrt((of_excesses + of_rate) / k))
}

contrast_moments <- function(first, second) {
  tails <- list(first, second)
  errors <- c(first$error, second$error)
  share <- errors / sqrt(sum(errors^2))
  k <- c(first$k, second$k)
  of_each <- function(f) vapply(tails, f, 0)
  mean <- of_each(function(x) in_table(PAIR_MEAN, x)) / sqrt(k)
  variance <- 1 +
    (of_each(function(x) in_table(PAIR_VARIANCE, x)) - 1) * pmin(max(PAIR_EXCEEDANCES) / k, 1)
  bend <- of_each(function(x) bend_of(PAIR_BEND_OF_MEAN, x)) / sqrt(k)
  spread <- of_each(function(x) bend_of(PAIR_BEND_OF_VARIANCE, x)) / k
  both <- share[1L] * share[2L]
  c(
    share[1L] *
      mean[1L] -
      share[2L] * mean[2L] +
      both * (share[2L] * bend[1L] - share[1L] * bend[2L]),
    sqrt(max(sum(share^2 * variance) + both^2 * sum(spread), ROOT_LEAST_VARIANCE))
  )
}

# Linear in 1/sqrt(k), shape and s between the knots of a table (its first index runs slowest),
# constant beyond.
in_table <- function(table, tail) {
  cell <- function(value, knots) {
    value <- min(max(value, knots[1L]), knots[length(knots)])
    below <- min(max(sum(knots < value), 1L), length(knots) - 1L)
    list(below = below, share = (value - knots[below]) / (knots[below + 1L] - knots[below]))
  }
  cells <- list(
    cell(-1 / sqrt(tail$k), -1 / sqrt(PAIR_EXCEEDANCES)),
    cell(tail$shape, PAIR_SHAPES),
    cell(tail$s, PAIR_PERIODS)
  )
  sizes <- c(length(PAIR_SHAPES) * length(PAIR_PERIODS), length(PAIR_PERIODS), 1L)
  corners <- expand.grid(0:1, 0:1, 0:1)
  total <- 0
  for (i in seq_len(8L)) {
    up <- unlist(corners[i, ])
    weight <- prod(ifelse(
      up == 1,
      vapply(cells, `[[`, 0, "share"),
      1 - vapply(cells, `[[`, 0, "share")
    ))
    total <- total + weight * table[1L + sum((vapply(cells, `[[`, 0, "below") - 1 + up) * sizes)]
  }
  total
}

bend_of <- function(table, tail) {
  shape <- min(max(tail$shape, PAIR_BEND_SHAPES[1L]), PAIR_BEND_SHAPES[2L])
  sum(
    apply(table, 2L, function(column) {
      stats::approx(PAIR_BEND_PERIODS, column, tail$s, rule = 2)$y
    }) *
      shape^(0:2)
  )
}

# Below this shape the information about it is not finite; least variance that least squares may
# extrapolate to.
ROOT_REGULAR <- -0.45
ROOT_LEAST_VARIANCE <- 0.36

# Draws of the power tail x = end - c (n s)^g of exceedances, for a near end point (shape below
# -1/2), where likelihoods cover too little: the exponent solves the mean log spacing for the k
# smallest of n uniform values, and c goes through the order statistic next to the level of m
# observations, in the upper half (next to the least it would come of a spacing, near 0 in many
# draws). The levels of m, as a function: the same draws for every m.
power_tail <- function(x, n, draws = 2000L) {
  x <- sort(x, decreasing = TRUE)
  k <- length(x)
  observed <- mean(log((x[1L] - x[k]) / (x[1L] - x[2:(k - 1L)])))
  last <- stats::rbeta(draws, k, max(n - k + 1, 1))
  logs <- log(t(apply(matrix(stats::runif(draws * (k - 1L)), draws), 1L, sort)))
  # the mean rises with the exponent
  g <- exp(bisect(
    function(middle) {
      least <- exp(exp(middle) * logs[, 1L])
      gap <- pmax(exp(exp(middle) * logs[, -1L, drop = FALSE]) - least, 1e-300)
      log1p(-least) - rowMeans(log(gap))
    },
    rep(observed, draws),
    log(1e-3),
    log(50),
    50L
  ))
  gamma <- n * last
  function(m) {
    place <- min(max(round(n / m), 1), k %/% 2)
    near <- exp(g * (logs[, place] + log(gamma)))
    c <- (x[place] - x[k]) / (gamma^g - near)
    x[place] + c * near - c * (n / m)^g
  }
}

# Levels of m observations of a regular tail at standard normal draws of its standardised signed
# root, by interpolation.
root_draws <- function(excess, n, threshold, m, law, grid = 0, draws = 2000L) {
  group <- level_fall(excess, n, threshold, m, law, grid)
  k <- length(excess)
  last <- group$start
  deviance <- function(r) {
    found <- minimise(function(p) group$at(r, p), last, rep(1 / sqrt(k), 2L))
    if (found$value < 1e9) {
      last <<- found$par
    }
    max(2 * (found$value - group$least), 0)
  }
  width <- max(group$estimate - threshold, 1e-3 * mean(excess)) / 4
  far <- vapply(
    c(-1, 1),
    function(side) {
      end_of(function(r) deviance(r) - 4.2^2, group$estimate, width, side, threshold)
    },
    0
  )
  far <- pmin(pmax(far, threshold), group$estimate + 60 * width)
  levels <- sort(unique(c(
    seq(far[1L], group$estimate, length.out = 14L),
    seq(group$estimate, far[2L], length.out = 20L)
  )))
  last <- group$start
  root <- vapply(
    levels,
    function(r) {
      size <- sqrt(deviance(r))
      moments <- root_moments(last[2L], log(m * k / n), k)
      (sign(r - group$estimate) * size + moments$mean) / moments$sd
    },
    0
  )
  stats::approx(root, levels, stats::rnorm(draws), rule = 2, ties = mean)$y
}

# The same from independent draws, a share of them beyond a difference as a normal statistic; with
# Monte Carlo errors.
drawn_contrast <- function(first, second, level, margin) {
  n <- length(first)
  drawn <- first - second
  drawn <- drawn[is.finite(drawn)]
  # a statistic is the normal quantile of a share, no nearer to an end than half a draw
  normal <- function(share, n) stats::qnorm(pmin(pmax(share, 0.5 / n), 1 - 0.5 / n))
  z <- function(null) normal(mean(drawn > null) + mean(drawn == null) / 2, length(drawn))
  verdict <- side_of(z(-margin), z(margin), level[1L])
  pvalue <- 2 * stats::pnorm(-abs(z(0)))
  shares <- c((1 - level) / 2, (1 + level) / 2, stats::pnorm(c(-1, 1) * verdict$one))
  ends <- c("low", "high", "bound_low", "bound_high")
  by_end <- function(x) split(x, factor(rep(ends, c(length(level), length(level), 1L, 1L)), ends))
  above <- stats::pnorm(z(0))
  far <- normal(above + c(-5, 0, 5) * sqrt(2 * max(above * (1 - above), 1e-3) / n), n)
  # a p-value is twice a share of the draws, on either side
  p_error <- function(p) sqrt(4 * max(p, 1e-3) / n)
  errors <- list(
    pvalue = p_error(pvalue),
    pvalue_verdict = p_error(verdict$pvalue),
    statistic = max(diff(far)) / 5
  )
  c(
    list(statistic = z(0), pvalue = pvalue, pvalue_verdict = verdict$pvalue, side = verdict$side),
    by_end(stats::quantile(drawn, shares, names = FALSE)),
    list(errors = c(by_end(drawn_errors(drawn, shares)), errors))
  )
}

# Monte Carlo errors of the difference between two runs: of quantiles, and of two-sided p-values
# that are shares.
drawn_errors <- function(drawn, shares) {
  step <- sqrt(2 * shares * (1 - shares) / length(drawn))
  at <- function(p) stats::quantile(drawn, pmin(pmax(p, 0), 1), names = FALSE)
  (at(shares + step) - at(shares - step)) / 2
}

# From the statistics of both ends of the fair range: the verdict's p-value and side (below, above,
# inside), and the quantile of its limits; both directions count.
side_of <- function(z_low, z_high, level, df = Inf) {
  both_tails <- function(x) pmin(stats::pt(-x, df) + stats::pt(-x - (z_low - z_high), df), 1)
  verdict <- c(both_tails(-z_low), both_tails(z_high), max(both_tails(z_low), both_tails(-z_high)))
  one <- stats::uniroot(function(x) both_tails(x) - (1 - level), c(0, 1e3), tol = 1e-12)$root
  list(pvalue = min(verdict), side = which.min(verdict), one = one)
}

# Quantile of a series with its binomial interval.
empirical_level <- function(x, m, level) {
  p <- 1 - 1 / m
  place <- stats::qbinom(c(0.5 - level / 2, 0.5 + level / 2), length(x), p) + c(0, 1)
  ends <- c(-Inf, sort(x), Inf)[place + 1]
  list(estimate = stats::quantile(x, p, names = FALSE), low = ends[1L], high = ends[2L])
}

# Interval of a mean by Student's t, and the t-test of mean 0.
mean_inference <- function(estimate, std_error, level, df = Inf) {
  reach <- stats::qt((1 + level) / 2, df) * std_error
  t <- if (is.finite(std_error) && std_error > 0) estimate / std_error else NaN
  list(
    low = estimate - reach,
    high = estimate + reach,
    statistic = t,
    pvalue = 2 * stats::pt(-abs(t), df)
  )
}

# A mean with its standard error, over people where they have several rows: people less one degrees
# of freedom, as many as their unequal numbers of rows are worth.
mean_of_people <- function(x, cluster = NULL) {
  total <- if (is.null(cluster)) x - mean(x) else as.numeric(rowsum(x - mean(x), cluster))
  people <- length(total)
  rows <- if (is.null(cluster)) rep(1, people) else as.numeric(table(cluster))
  if (people < 2L) {
    return(list(estimate = mean(x), std_error = NaN, df = Inf))
  }
  list(
    estimate = mean(x),
    std_error = sqrt(sum(total^2) * people / (people - 1)) / length(x),
    df = sum(rows)^2 / sum(rows^2) - 1
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
