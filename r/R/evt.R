# Fits of extreme value laws: in base R by symbolic derivatives, and careful calls of extRemes and
# evd. Shape xi > 0 is the heavy tail throughout.

#' Fit a generalised Pareto law to excesses over a threshold
#'
#' A careful call of extRemes or evd: the excesses are divided by their median, the optimiser starts
#' at the estimate of another implementation (base R's, if `start` is not given), and what comes
#' back is vetted. Where the package does not confirm that estimate, it starts at others, too, and
#' again at its end until the likelihood stands still. Standard errors are those of the package
#' (observed information).
#'
#' @details
#' Plain calls report convergence far from the maximum in up to 6% of fits, and wrong standard
#' errors at small scales. Intervals of the packages are not used at all: extRemes' normal interval
#' for return levels has a wrong gradient for the exceedance rate.
#'
#' @param excess Excesses x - u > 0, at least ten and not all equal.
#' @param method `"mle"` or `"lmoments"` (not with evd; no standard errors).
#' @param source `"extRemes"` (default), `"evd"`, or `"base"`: R itself, with standard errors by
#'   symbolic derivatives.
#' @param grid Width of a grid that the values are rounded to, above a threshold half a width below
#'   the least of them: the likelihood is that of their cells (only by `"base"`). 0: values as they
#'   are.
#' @param start Estimate of another implementation, in the units of the data: where the package
#'   starts. `NULL`: that of base R.
#'
#' @return A list: `estimate` (scale, shape; shape > 0 is the heavy tail), `std_error`, `covariance`
#'   (`NA` where no regular standard error exists: shape <= -0.5, or rejected), `nll` (minus log
#'   likelihood at the estimate, computed here), `regular`, `notes`, `version`, `at_boundary`:
#'   whether shape -1 with scale `max(excess)`, the edge beyond which the likelihood has no bound,
#'   is the best point.
#'
#' @examples
#' if (requireNamespace("evd", quietly = TRUE)) {
#'   set.seed(1)
#'   fs_fit_gpd(rexp(100), source = "evd")$estimate
#' }
#' @export
fs_fit_gpd <- function(
  excess,
  method = c("mle", "lmoments"),
  source = c("extRemes", "evd", "base"),
  grid = 0,
  start = NULL
) {
  need_arguments()
  fit_law(LAWS$GP, excess, "excess", method, source, start, grid)
}

#' Fit a generalised extreme value law to block maxima
#'
#' Called as carefully as [fs_fit_gpd()]: on (x - median) / (distance of the nearer quartile).
#'
#' @param x Block maxima, at least ten and not all equal.
#' @param method `"mle"` or `"lmoments"` (not with evd; no standard errors).
#' @param source `"extRemes"` (default), `"evd"`, or `"base"`: R itself, with standard errors by
#'   symbolic derivatives.
#' @param start Estimate of another implementation, in the units of the data: where the package
#'   starts. `NULL`: that of base R.
#'
#' @return As [fs_fit_gpd()], with `estimate` = location, scale, shape.
#'
#' @examples
#' if (requireNamespace("evd", quietly = TRUE)) {
#'   set.seed(1)
#'   fs_fit_gev(evd::rgev(100), source = "evd")$estimate
#' }
#' @export
fs_fit_gev <- function(
  x,
  method = c("mle", "lmoments"),
  source = c("extRemes", "evd", "base"),
  start = NULL
) {
  need_arguments()
  fit_law(LAWS$GEV, x, "x", method, source, start)
}

#' Fit a point process of exceedances
#'
#' Its maximum likelihood estimate is the one of the generalised Pareto law, transformed: with
#' lambda = block_size * k / n, scale = scale_gpd * lambda^shape and location = u + (scale -
#' scale_gpd) / shape. The covariance is propagated with the Poisson variance of the rate. (Fitted
#' directly, both packages report convergence up to 75 units of log likelihood below the maximum.)
#'
#' @param excess Excesses over the threshold.
#' @param n Number of observations that they come from.
#' @param threshold The threshold u.
#' @param block_size Observations per block.
#' @param method `"mle"` or `"lmoments"` (not with evd; no standard errors).
#' @param source `"extRemes"` (default), `"evd"`, or `"base"`: R itself, with standard errors by
#'   symbolic derivatives.
#'
#' @return As [fs_fit_gpd()], with `estimate` = location, scale, shape of the block maximum.
#'
#' @examples
#' if (requireNamespace("evd", quietly = TRUE)) {
#'   set.seed(1)
#'   fs_fit_point_process(rexp(100), 5000, threshold = 3, block_size = 500, source = "evd")$estimate
#' }
#' @export
fs_fit_point_process <- function(
  excess,
  n,
  threshold,
  block_size,
  method = c("mle", "lmoments"),
  source = c("extRemes", "evd", "base")
) {
  need_arguments()
  k <- length(excess)
  numbers_in(n, "n", max(k, 1L))
  numbers_in(threshold, "threshold")
  numbers_in(block_size, "block_size", 0, open = "low")
  tail <- fs_fit_gpd(excess, method, source)
  s <- tail$estimate[["scale"]]
  shape <- tail$estimate[["shape"]]
  rate <- block_size * k / n
  g <- box_cox(rate, shape)
  tail$estimate <- c(location = threshold + s * g$value, scale = s * rate^shape, shape = shape)
  # rows: location, scale, shape; columns: log rate, scale, shape
  jacobian <- rbind(
    location = c(s * rate^shape, g$value, s * g$slope),
    scale = c(shape * s * rate^shape, rate^shape, s * rate^shape * log(rate)),
    shape = c(0, 0, 1)
  )
  inner <- rbind(c(1 / k, 0, 0), cbind(0, tail$covariance))
  tail$covariance <- jacobian %*% inner %*% t(jacobian)
  tail$std_error <- sqrt(diag(tail$covariance))
  tail$nll <- tail$nll + k - k * log(rate)
  tail
}

# A fit of (x - centre) / unit, in the units of x: plain calls of the packages report convergence
# far from the maximum, and wrong standard errors at small scales.
fit_law <- function(law, x, argument, method, source, start, grid = NULL) {
  method <- choice_of(method, "method", c("mle", "lmoments"))
  source <- choice_of(source, "source", c("extRemes", "evd", "base"))
  if (source != "base") {
    need_package(source)
  }
  x <- check_sample(x, argument)
  twin <- source == "base" && method == "mle"
  if (!is.null(grid)) {
    numbers_in(grid, "grid", 0)
    if (any(x <= 0)) {
      stop_argument(argument, "values of 0 or less", "values above 0")
    }
    if (grid > 0 && !twin) stop_argument("grid", grid, 'source "base" and method "mle", or 0')
  }
  if (twin) {
    return(if (isTRUE(grid > 0)) grid_twin(x, grid) else law$twin(x))
  }
  centre <- law$centre(x)
  unit <- law$unit(x)
  z <- (x - centre) / unit
  by <- c(location = unit, scale = unit, shape = 1)[law$names]
  from <- c(location = centre, scale = 0, shape = 0)[law$names]
  if (method == "lmoments") {
    if (source == "evd") {
      stop_argument("method", method, 'with source "evd" only "mle"')
    }
    par <- if (source == "base") {
      law$from_lmoments(z)
    } else {
      law$extRemes(z, method = "Lmoments")$results
    }
    found <- list(par = par, covariance = NA_real_, notes = character(), at_boundary = FALSE)
  } else {
    known <- if (is.null(start)) {
      law$twin(x)$estimate
    } else {
      numbers_in(start, "start", size = length(law$names))
    }
    known <- stats::setNames((as.numeric(known) - from) / by, law$names)
    found <- careful(law, z, if (source == "extRemes") extremes_fit else evd_fit, known)
  }
  estimate <- from + by * found$par[law$names]
  # at the edge the density of the largest value is known as a limit only
  nll <- if (found$at_boundary) found$value + length(x) * log(unit) else nll_of(law, x, estimate)
  version <- if (source == "base") {
    paste("base R", getRversion())
  } else {
    paste(source, version_of(source))
  }
  fit_of(estimate, found$covariance * outer(by, by), nll, found$notes, found$at_boundary, version)
}

# The version of a package, read once: its description is a file.
VERSIONS <- new.env(parent = emptyenv())
version_of <- function(package) {
  if (is.null(VERSIONS[[package]])) {
    assign(package, as.character(utils::packageVersion(package)), VERSIONS)
  }
  VERSIONS[[package]]
}

# The fit from the first start, where its likelihood is that of the `known` estimate of another
# implementation; else the best of all, restarted from its end until the likelihood stands still; or
# the edge of shape -1, where that is better.
careful <- function(law, z, fit, known) {
  edge <- law$edge(z)
  goal <- nll_of(law, z, known)
  if (!is.finite(goal)) {
    goal <- edge$value
  }
  best <- list(value = 1e9)
  attempt <- function(start) {
    found <- tryCatch(suppressWarnings(fit(law, z, start)), error = function(e) NULL)
    # below shape -1 the likelihood has no bound: what is found there is no estimate
    value <- if (is.null(found) || !(found$par[["shape"]] > -1)) Inf else nll_of(law, z, found$par)
    gain <- best$value - value
    if (is.finite(value) && gain > 0) {
      best <<- c(found, value = value)
    }
    is.finite(value) && gain > 1e-11
  }
  confirmed <- function() best$value <= goal + 2e-11
  # a known estimate is a start as it is, but for shapes nearer to 0, where the gradient of extRemes
  # loses its digits
  attempt(feasible(known, z, 1e-3))
  if (!confirmed()) {
    for (start in lapply(c(list(law$from_lmoments(z)), law$starts(z)), feasible, z)) {
      attempt(start)
      if (confirmed()) break
    }
  }
  if (!is.null(best$par) && !confirmed()) {
    for (again in 1:5) {
      if (!attempt(feasible(best$par, z))) break
    }
  }
  if (is.null(best$par) || best$value >= edge$value) {
    return(c(edge, list(covariance = NA_real_, notes = EDGE, at_boundary = TRUE)))
  }
  covariance <- tryCatch(best$covariance(), error = function(e) NULL)
  square <- is.matrix(covariance) && nrow(covariance) == length(known)
  error <- if (square) sqrt(pmax(diag(covariance), 0)) else NA
  notes <- if (best$par[["shape"]] <= -0.5) {
    IRREGULAR
  } else if (anyNA(error) || any(error == 0)) {
    "the package gave no usable standard error"
  } else if (any(error < 1e-5)) {
    "standard errors rejected: artefacts of the penalty outside the support"
  }
  list(
    par = best$par,
    covariance = if (is.null(notes)) unname(covariance) else NA_real_,
    notes = as.character(notes),
    at_boundary = FALSE
  )
}

IRREGULAR <- "shape <= -0.5: no regular standard error exists"
EDGE <- "no maximum with shape > -1"

# The step of numerical derivatives is 1e-4, not optim's 1e-3: near the end of the support that one
# makes standard errors wrong by 0.2% at shape -0.3.
bfgs <- function(size) {
  list(method = "BFGS", control = list(reltol = 1e-14, maxit = 2000L, ndeps = rep(1e-4, size)))
}
SIMPLEX <- list(method = "Nelder-Mead", control = list(reltol = 1e-15, maxit = 2000L))

# The calls of extRemes and evd on standardised data. Their covariance is a function: asked for
# once, at the best fit. fevd has differentiated its gradient with our step at the end of its
# search; `parcov.fevd` would do so again, with a step ten times as long.
extremes_fit <- function(law, z, start) {
  fit <- law$extRemes(z, method = "MLE", initial = start, optim.args = bfgs(length(start)))
  covariance <- function() {
    found <- solve(fit$results$hessian)
    if (any(diag(found) <= 0)) extRemes::parcov.fevd(fit) else found
  }
  list(par = fit$results$par, covariance = covariance)
}

# evd has no gradient: a simplex search finishes what BFGS leaves.
evd_fit <- function(law, z, start) {
  fit <- function(start, how, std.err = FALSE) {
    law$evd(
      z,
      start = as.list(start),
      std.err = std.err,
      method = how$method,
      control = how$control
    )
  }
  names(start) <- sub("location", "loc", names(start), fixed = TRUE)
  first <- fit(start, bfgs(length(start)))
  last <- fit(first$estimate, SIMPLEX)
  if (last$deviance > first$deviance) {
    last <- first
  }
  par <- stats::setNames(last$estimate, sub("^loc$", "location", names(last$estimate)))
  # one more search from the end, for the curvature there; it must not move
  list(par = par, covariance = function() fit(last$estimate, bfgs(length(par)), TRUE)$var.cov)
}

# Minus log likelihood of excesses (> 0) under the generalised Pareto law.
gpd_nll <- function(excess, scale, shape) {
  z <- excess / scale
  if (!is.finite(scale + shape) || scale <= 0 || any(1 + shape * z <= 0)) {
    return(Inf)
  }
  length(excess) *
    log(scale) +
    sum(if (abs(shape) < 1e-9) z else (1 + 1 / shape) * log1p(shape * z))
}

# Cells of excesses that are rounded to a grid, above a threshold half a width below the least; NULL
# without a grid.
cells_of <- function(excess, grid) {
  if (!(grid > 0)) {
    return(NULL)
  }
  place <- round(excess / grid - 0.5)
  from <- sort(unique(place))
  list(from = from * grid, to = (from + 1) * grid, count = tabulate(match(place, from)))
}

# Minus log likelihood of excesses as they are or, where there are cells, of the masses of these.
tail_nll <- function(excess, scale, shape, cells = NULL) {
  if (is.null(cells)) {
    return(gpd_nll(excess, scale, shape))
  }
  inside <- function(y) 1 + shape * y / scale
  if (!is.finite(scale + shape) || scale <= 0 || any(inside(cells$from) <= 0)) {
    return(Inf)
  }
  depth <- function(y) if (abs(shape) < 1e-9) y / scale else log(pmax(inside(y), 1e-300)) / shape
  start <- depth(cells$from)
  # beyond the end point there is nothing
  end <- ifelse(inside(cells$to) > 0, depth(cells$to), Inf)
  sum(cells$count * (start - log(-expm1(start - end))))
}

# Minus log likelihood of block maxima under the generalised extreme value law.
gev_nll <- function(x, location, scale, shape) {
  z <- (x - location) / scale
  if (!is.finite(location + scale + shape) || scale <= 0 || any(1 + shape * z <= 0)) {
    return(Inf)
  }
  t <- if (abs(shape) < 1e-9) z else log1p(shape * z) / shape
  length(x) * log(scale) + sum((1 + shape) * t + exp(-t))
}

# First three sample L-moments, from unbiased probability-weighted moments.
sample_lmoments <- function(x) {
  x <- sort(x)
  n <- length(x)
  i <- seq_len(n)
  b <- c(mean(x), mean((i - 1) / (n - 1) * x), mean((i - 1) * (i - 2) / ((n - 1) * (n - 2)) * x))
  c(b[1L], 2 * b[2L] - b[1L], 6 * b[3L] - 6 * b[2L] + b[1L])
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
  skewness <- function(k) {
    if (abs(k) < 1e-8) 2 * log(3) / log(2) - 3 else 2 * (1 - 3^-k) / (1 - 2^-k) - 3
  }
  found <- try(
    stats::uniroot(function(k) skewness(k) - ratio, c(-0.99, 20), tol = 1e-12),
    silent = TRUE
  )
  k <- if (inherits(found, "try-error")) 7.859 * (2 / (3 + ratio) - log(2) / log(3)) else found$root
  if (abs(k) < 1e-8) {
    scale <- l[2L] / log(2)
    return(c(location = l[1L] + digamma(1) * scale, scale = scale, shape = 0))
  }
  g <- gamma(1 + k)
  scale <- l[2L] * k / ((1 - 2^-k) * g)
  c(location = l[1L] - scale * (1 - g) / k, scale = scale, shape = -k)
}

# Starts away from shape 0, where optimisers lose the gradient, and inside the support.
feasible <- function(start, x, least = 0.01) {
  gev <- "location" %in% names(start)
  shape <- max(if (gev) -0.9 else -0.95, min(if (gev) 0.9 else 1.5, start[["shape"]]))
  if (!is.finite(shape)) {
    shape <- 0.1
  }
  if (abs(shape) < least) {
    shape <- if (shape < 0) -least else least
  }
  location <- if (!gev) {
    0
  } else if (is.finite(start[["location"]])) {
    start[["location"]]
  } else {
    mean(x)
  }
  scale <- start[["scale"]]
  if (!is.finite(scale) || scale <= 0) {
    scale <- if (gev) stats::sd(x) else mean(x)
  }
  end <- if (shape < 0) max(x) - location else location - min(x)
  c(
    if (gev) list(location = location),
    list(scale = max(scale, abs(shape) * end * 1.02), shape = shape)
  )
}

# The lowest point of a function between the neighbours of the best point of a grid, and the value
# there (`least`).
lowest_near <- function(fall, grid, tol) {
  value <- vapply(grid, fall, 0)
  top <- which.min(value)
  c(
    stats::optimize(fall, grid[c(max(top - 1, 1), min(top + 1, length(grid)))], tol = tol),
    least = value[top]
  )
}

# Generalised Pareto fit over shape >= -1: profiled to theta = -shape / scale inside, and the edge
# shape = -1, scale = max(excess), beyond which the likelihood has no bound (Grimshaw 1993).
gpd_twin <- function(excess) {
  unit <- mean(excess)
  y <- excess / unit
  largest <- max(y)
  shape_of <- function(theta) mean(log1p(-theta * y))
  fall <- function(theta) {
    if (abs(theta) < 1e-10) {
      return(1)
    }
    shape <- shape_of(theta)
    if (shape < -1) 1e10 else log(-shape / theta) + shape + 1
  }
  # fine near the end of the support, where shapes below 0 lie
  grid <- sort(unique(c(
    -exp(seq(-8, 20, length.out = 120)),
    0,
    (1 - exp(seq(-12, 0, length.out = 80))) / largest
  )))
  found <- lowest_near(fall, grid, 1e-12)
  if (found$objective >= log(largest)) {
    # at the edge the density is 1 / scale up to the largest value
    end <- largest * unit
    return(fit_of(c(scale = end, shape = -1), NULL, length(excess) * log(end), EDGE, TRUE))
  }
  theta <- if (abs(found$minimum) < 1e-10) 1e-10 else found$minimum
  start <- c(scale = -shape_of(theta) / theta, shape = shape_of(theta))
  twin_fit(start, GPD_TERMS, y, c(unit, 1), 0, function(...) gpd_nll(excess, ...))
}

# Fit of rounded excesses over shape >= -1: simplex and BFGS from several starts, curvature by
# differences.
grid_twin <- function(excess, grid) {
  unit <- mean(excess)
  cells <- cells_of(excess, grid)
  fall <- function(p) {
    if (p[2L] < -1) 1e10 else min(tail_nll(excess, exp(p[1L]) * unit, p[2L], cells), 1e10)
  }
  found <- lapply(c(-0.7, -0.2, 0.2), function(shape) {
    minimise(fall, c(log(max(1, -shape * max(excess) / unit)), shape), c(0.1, 0.1))
  })
  best <- found[[which.min(vapply(found, `[[`, 0, "value"))]]
  par <- c(scale = exp(best$par[1L]) * unit, shape = best$par[2L])
  regular <- par[["shape"]] > -0.5
  covariance <- if (regular) {
    near <- function(p) tail_nll(excess, p[1L] * par[["scale"]], p[2L], cells)
    curvature <- stats::optimHess(c(1, par[["shape"]]), near, control = list(ndeps = c(1e-4, 1e-4)))
    solve(curvature) * outer(c(par[["scale"]], 1), c(par[["scale"]], 1))
  }
  fit_of(
    par,
    covariance,
    best$value,
    if (regular) character() else IRREGULAR,
    par[["shape"]] <= -1 + 1e-6
  )
}

tail_twin <- function(excess, grid = 0) if (grid > 0) grid_twin(excess, grid) else gpd_twin(excess)

# Generalised extreme value fit on standardised maxima: simplex and BFGS from L-moments, then
# Newton.
gev_twin <- function(maxima) {
  centre <- stats::median(maxima)
  unit <- stats::sd(maxima)
  z <- (maxima - centre) / unit
  start <- unlist(feasible(gev_from_lmoments(z), z))
  fall <- function(p) min(gev_nll(z, p[1L], p[2L], p[3L]), 1e10)
  found <- stats::optim(
    start,
    fall,
    method = "Nelder-Mead",
    control = list(reltol = 1e-12, maxit = 5000)
  )
  found <- stats::optim(
    found$par,
    fall,
    method = "BFGS",
    control = list(reltol = 1e-14, ndeps = rep(1e-5, 3))
  )
  twin_fit(found$par, GEV_TERMS, z, c(unit, unit, 1), c(centre, 0, 0), function(...) {
    gev_nll(maxima, ...)
  })
}

# A fit on standardised data in the units of the data; no standard errors where the law is not
# regular (Smith 1985).
twin_fit <- function(start, terms, x, unit, centre, nll) {
  found <- newton(start, terms, x)
  estimate <- centre + found$par * unit
  regular <- estimate[["shape"]] > -0.5
  covariance <- if (regular && !is.null(found$inverse)) found$inverse * outer(unit, unit)
  fit_of(
    estimate,
    covariance,
    do.call(nll, unname(as.list(estimate))),
    if (regular) character() else IRREGULAR,
    FALSE
  )
}

# What every fit returns.
fit_of <- function(
  estimate,
  covariance,
  nll,
  notes,
  at_boundary,
  version = paste("base R", getRversion())
) {
  empty <- outer(estimate, estimate) * NaN
  covariance <- if (is.null(covariance)) empty else replace(empty, TRUE, covariance)
  fit <- list(
    estimate = estimate,
    std_error = sqrt(pmax(diag(covariance), 0)),
    covariance = covariance,
    nll = nll,
    regular = estimate[["shape"]] > -0.5 && !at_boundary,
    at_boundary = at_boundary,
    notes = notes,
    version = version
  )
  structure(fit, class = "fairstats_fit")
}

# A maximum likelihood fit by `source` whose numbers are one vector, which passes the door to Python
# in a third of the time that they take one by one: estimate, covariance by columns, nll, regular,
# at the edge.
fit_in_numbers <- function(law, x, argument, source, start) {
  found <- fit_law(law, x, argument, "mle", source, start)
  list(
    numbers = c(
      found$estimate,
      found$covariance,
      found$nll,
      found$regular,
      found$at_boundary,
      use.names = FALSE
    ),
    notes = found$notes
  )
}
gpd_in_numbers <- function(x, source, start) fit_in_numbers(LAWS$GP, x, "excess", source, start)
gev_in_numbers <- function(x, source, start) fit_in_numbers(LAWS$GEV, x, "x", source, start)

GPD_TERMS <- quote(log(scale) + (1 + 1 / shape) * log(1 + shape * x / scale))
GEV_TERMS <- quote(
  log(scale) +
    (1 + 1 / shape) * log(1 + shape * (x - location) / scale) +
    (1 + shape * (x - location) / scale)^(-1 / shape)
)

# Sum of the terms of a likelihood with gradient and Hessian, by stats::deriv3.
derivatives_of <- function(terms, x, par) {
  value <- eval(stats::deriv3(terms, names(par)), c(list(x = x), as.list(par)))
  hessian <- apply(attr(value, "hessian"), c(2L, 3L), sum)
  list(value = sum(value), gradient = colSums(attr(value, "gradient")), hessian = hessian)
}

# A few Newton steps from a good start, kept where the value does not rise; their end, with the
# inverse of the Hessian.
newton <- function(par, terms, x) {
  here <- derivatives_of(terms, x, par)
  for (step in 1:20) {
    move <- tryCatch(solve(here$hessian, here$gradient), error = function(e) NULL)
    if (is.null(move) || any(!is.finite(move))) {
      break
    }
    there <- suppressWarnings(derivatives_of(terms, x, par - move))
    if (!is.finite(there$value) || there$value > here$value + 1e-12) {
      break
    }
    moved <- max(abs(move) / pmax(abs(par), 1e-3))
    par <- par - move
    here <- there
    if (moved < 1e-13) break
  }
  list(par = par, inverse = tryCatch(solve(here$hessian), error = function(e) NULL))
}

# What is known of a law: its parameters, minus log likelihood, fit in base R, starts for
# standardised data, the edge of shape -1 with the likelihood there, and how the packages are asked.
# They differentiate with a fixed step: the scale of standardised data must be near 1 for heavy
# tails, too.
LAWS <- list(
  GP = list(
    names = c("scale", "shape"),
    nll = gpd_nll,
    twin = gpd_twin,
    from_lmoments = gpd_from_lmoments,
    centre = function(x) 0,
    unit = stats::median,
    starts = function(x) list(c(scale = 0.8, shape = 0.2), c(scale = 1.3, shape = -0.3)),
    edge = function(x) list(par = c(scale = max(x), shape = -1), value = length(x) * log(max(x))),
    extRemes = function(x, ...) {
      extRemes::fevd(x, threshold = 0, type = "GP", time.units = "years", ...)
    },
    evd = function(x, ...) evd::fpot(x, 0, ...)
  ),
  GEV = list(
    names = c("location", "scale", "shape"),
    nll = gev_nll,
    twin = gev_twin,
    from_lmoments = gev_from_lmoments,
    centre = stats::median,
    # the nearer quartile: with the interquartile range the scale of a heavy tail would be far below
    # 1
    unit = function(x) {
      unit <- min(abs(stats::quantile(x, c(0.25, 0.75), names = FALSE) - stats::median(x)))
      if (unit <= 0) stats::sd(x) else unit
    },
    starts = function(x) {
      moments <- c(location = mean(x) - 0.45 * stats::sd(x), scale = 0.78 * stats::sd(x))
      list(c(moments, shape = 0.1), c(moments, shape = -0.2))
    },
    edge = function(x) {
      gap <- max(x) - mean(x)
      list(
        par = c(location = max(x) - gap, scale = gap, shape = -1),
        value = length(x) * (log(gap) + 1)
      )
    },
    extRemes = function(x, ...) extRemes::fevd(x, type = "GEV", ...),
    evd = function(x, ...) evd::fgev(x, ...)
  )
)

# Minus log likelihood at a vector of parameters.
nll_of <- function(law, x, par) do.call(law$nll, c(list(x), as.list(par)))
