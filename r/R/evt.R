#' Fit a generalised Pareto law to excesses over a threshold
#'
#' A careful call of extRemes or evd: the excesses are divided by their median, the optimiser starts at the estimate of
#' another implementation (base R's, if `start` is not given), and what comes back is vetted. Where the package does not
#' confirm that estimate, it starts at others, too, and again at its end until the likelihood stands still. Standard
#' errors are those of the package (observed information).
#'
#' Plain calls report convergence far from the maximum in up to 6% of fits, and wrong standard errors at small
#' scales. Intervals of the packages are not used at all: extRemes' normal interval for return levels has a
#' wrong gradient for the exceedance rate.
#'
#' @param excess Excesses x - u > 0, at least ten and not all equal.
#' @param method `"mle"` or `"lmoments"` (not with evd; no standard errors).
#' @param source `"extRemes"` (default), `"evd"`, or `"base"`: R itself, with standard errors by symbolic derivatives.
#' @param grid Width of a grid that the values are rounded to, above a threshold half a width below the least of them: the
#'   likelihood is that of their cells (only by `"base"`). 0: values as they are.
#' @param start Estimate of another implementation, in the units of the data: where the package starts. `NULL`: that
#'   of base R.
#' @return A list: `estimate` (scale, shape; shape > 0 is the heavy tail), `std_error`, `covariance` (`NA`
#'   where no regular standard error exists: shape <= -0.5, or rejected), `nll` (minus log likelihood at the
#'   estimate, computed here), `regular`, `notes`, `version`, `at_boundary`: whether shape -1 with scale
#'   `max(excess)`, the edge beyond which the likelihood has no bound, is the best point.
#' @examples
#' if (requireNamespace("evd", quietly = TRUE)) {
#'   set.seed(1)
#'   fs_fit_gpd(rexp(100), source = "evd")$estimate
#' }
#' @export
fs_fit_gpd <- function(excess, method = c("mle", "lmoments"), source = c("extRemes", "evd", "base"), grid = 0,
                       start = NULL) {
  method <- choice_of(method, "method", c("mle", "lmoments"))
  source <- choice_of(source, "source", c("extRemes", "evd", "base"))
  if (source != "base") need_package(source)
  excess <- check_sample(excess, "excess")
  numbers_in(grid, "grid", 0)
  if (any(excess <= 0)) stop_argument("excess", "values of 0 or less", "values above 0")
  if (grid > 0 && !(source == "base" && method == "mle")) stop_argument("grid", grid, 'source "base" and method "mle", or 0')
  if (source == "base" && method == "mle") return(tail_twin(excess, grid))
  # the packages differentiate with a fixed step: the scale must be near 1 for heavy tails, too
  fit_law(LAWS$GP, excess, 0, stats::median(excess), method, source, start)
}

#' Fit a generalised extreme value law to block maxima
#'
#' Called as carefully as [fs_fit_gpd()]: on (x - median) / (distance of the nearer quartile).
#'
#' @param x Block maxima, at least ten and not all equal.
#' @inheritParams fs_fit_gpd
#' @return As [fs_fit_gpd()], with `estimate` = location, scale, shape.
#' @examples
#' if (requireNamespace("evd", quietly = TRUE)) {
#'   set.seed(1)
#'   fs_fit_gev(evd::rgev(100), source = "evd")$estimate
#' }
#' @export
fs_fit_gev <- function(x, method = c("mle", "lmoments"), source = c("extRemes", "evd", "base"), start = NULL) {
  method <- choice_of(method, "method", c("mle", "lmoments"))
  source <- choice_of(source, "source", c("extRemes", "evd", "base"))
  if (source != "base") need_package(source)
  x <- check_sample(x, "x")
  if (source == "base" && method == "mle") return(gev_twin(x))
  centre <- stats::median(x)
  # the nearer quartile: with the interquartile range the scale of a heavy tail would be far below 1
  unit <- min(abs(stats::quantile(x, c(0.25, 0.75), names = FALSE) - centre))
  if (unit <= 0) unit <- stats::sd(x)
  fit_law(LAWS$GEV, x, centre, unit, method, source, start)
}

#' Fit a point process of exceedances
#'
#' Its maximum likelihood estimate is the one of the generalised Pareto law, transformed: with
#' lambda = block_size * k / n, scale = scale_gpd * lambda^shape and location = u + (scale - scale_gpd) /
#' shape. The covariance is propagated with the Poisson variance of the rate. (Fitted directly, both packages
#' report convergence up to 75 units of log likelihood below the maximum.)
#'
#' @param excess Excesses over the threshold.
#' @param n Number of observations that they come from.
#' @param threshold The threshold u.
#' @param block_size Observations per block.
#' @inheritParams fs_fit_gpd
#' @return As [fs_fit_gpd()], with `estimate` = location, scale, shape of the block maximum.
#' @examples
#' if (requireNamespace("evd", quietly = TRUE)) {
#'   set.seed(1)
#'   fs_fit_point_process(rexp(100), 5000, threshold = 3, block_size = 500, source = "evd")$estimate
#' }
#' @export
fs_fit_point_process <- function(excess, n, threshold, block_size, method = c("mle", "lmoments"),
                              source = c("extRemes", "evd", "base")) {
  k <- length(excess)
  numbers_in(n, "n", max(k, 1L))
  numbers_in(threshold, "threshold")
  numbers_in(block_size, "block_size", 0, open = "low")
  tail <- fs_fit_gpd(excess, method, source)
  s <- tail$estimate[["scale"]]
  shape <- tail$estimate[["shape"]]
  rate <- block_size * k / n
  g <- box_cox(rate, shape)
  estimate <- c(location = threshold + s * g$value, scale = s * rate^shape, shape = shape)
  # rows: location, scale, shape; columns: log rate, scale, shape
  jacobian <- rbind(
    c(s * rate^shape, g$value, s * g$slope),
    c(shape * s * rate^shape, rate^shape, s * rate^shape * log(rate)),
    c(0, 0, 1)
  )
  inner <- matrix(0, 3L, 3L)
  inner[1L, 1L] <- 1 / k
  inner[2:3, 2:3] <- tail$covariance
  covariance <- jacobian %*% inner %*% t(jacobian)
  dimnames(covariance) <- list(names(estimate), names(estimate))
  tail$estimate <- estimate
  tail$covariance <- covariance
  tail$std_error <- sqrt(diag(covariance))
  # at the edge of the support the density of the largest value is known as a limit only
  tail$nll <- if (isTRUE(tail$at_boundary)) {
    tail$nll - k * log(rate) + k
  } else {
    point_process_nll(excess, n, threshold, block_size, estimate[[1L]], estimate[[2L]], shape)
  }
  tail
}

# What is known of a law: its parameters, minus log likelihood, starts for standardised data, the edge of shape -1 with the
# likelihood there, and how the packages are asked.
LAWS <- list(
  GP = list(
    names = c("scale", "shape"), nll = function(x, par) gpd_nll(x, par[["scale"]], par[["shape"]]),
    from_lmoments = function(x) gpd_from_lmoments(x), feasible = function(par, x, ...) feasible_gpd(par, x, ...),
    twin = function(x) gpd_twin(x),
    starts = function(x) list(c(scale = 0.8, shape = 0.2), c(scale = 1.3, shape = -0.3)),
    edge = function(x) list(par = c(scale = max(x), shape = -1), value = length(x) * log(max(x))),
    extRemes = function(x, ...) extRemes::fevd(x, threshold = 0, type = "GP", time.units = "years", ...),
    evd = function(x, ...) evd::fpot(x, 0, ...)
  ),
  GEV = list(
    names = c("location", "scale", "shape"),
    nll = function(x, par) gev_nll(x, par[["location"]], par[["scale"]], par[["shape"]]),
    from_lmoments = function(x) gev_from_lmoments(x), feasible = function(par, x, ...) feasible_gev(par, x, ...),
    twin = function(x) gev_twin(x),
    starts = function(x) {
      moments <- c(location = mean(x) - 0.45 * stats::sd(x), scale = 0.78 * stats::sd(x))
      list(c(moments, shape = 0.1), c(moments, shape = -0.2))
    },
    edge = function(x) {
      gap <- max(x) - mean(x)
      list(par = c(location = max(x) - gap, scale = gap, shape = -1), value = length(x) * (log(gap) + 1))
    },
    extRemes = function(x, ...) extRemes::fevd(x, type = "GEV", ...),
    evd = function(x, ...) evd::fgev(x, ...)
  )
)

# A fit of (x - centre) / unit, in the units of x.
fit_law <- function(law, x, centre, unit, method, source, start = NULL) {
  z <- (x - centre) / unit
  by <- c(location = unit, scale = unit, shape = 1)[law$names]
  from <- c(location = centre, scale = 0, shape = 0)[law$names]
  if (method == "lmoments") {
    if (source == "evd") stop_argument("method", method, 'with source "evd" only "mle"')
    par <- if (source == "base") law$from_lmoments(z) else law$extRemes(z, method = "Lmoments")$results
    size <- length(law$names)
    found <- list(par = par[law$names], covariance = matrix(NA_real_, size, size), notes = character())
  } else {
    known <- if (is.null(start)) law$twin(x)$estimate else numbers_in(start, "start", size = length(law$names))
    known <- stats::setNames((as.numeric(known) - from) / by, law$names)
    starts <- lapply(c(list(law$from_lmoments(z)), law$starts(z)), law$feasible, z)
    starts <- c(list(law$feasible(known, z, NEAR)), starts)
    fit <- if (source == "extRemes") extremes_fit else evd_fit
    found <- careful(
      function(start) fit(law, z, start), function(par) law$nll(z, par), starts, function(par) law$feasible(par, z),
      law$edge(z), law$nll(z, known)
    )
  }
  finish(found, by, from, source, length(x), function(par) law$nll(x, par))
}

# A known estimate is a start as it is, but for shapes nearer to 0, where the gradient of extRemes loses its digits.
NEAR <- 1e-3

# The fit from the first start, where its likelihood is the `known` one of another implementation; else the best of all
# starts, restarted from its end until the likelihood stands still; or the edge of shape -1, beyond which the
# likelihood has no bound, where nothing inside is above it.
careful <- function(fit, nll, starts, feasible, edge, known) {
  if (!is.finite(known)) known <- edge$value
  best <- NULL
  better <- function(found) {
    # below shape -1 the likelihood has no bound: what is found there is no estimate
    if (is.null(found) || !(found$par[["shape"]] > -1)) return(FALSE)
    value <- nll(found$par)
    is.finite(value) && value < 1e9 && (is.null(best) || value < best$value)
  }
  attempt <- function(start) {
    found <- tryCatch(suppressWarnings(fit(start)), error = function(e) NULL)
    if (!better(found)) return(FALSE)
    gain <- if (is.null(best)) Inf else best$value - nll(found$par)
    best <<- c(found, list(value = nll(found$par)))
    gain > 1e-11
  }
  for (start in starts) {
    attempt(start)
    confirmed <- !is.null(best) && best$value <= known + 2e-11
    if (confirmed) break
  }
  if (!is.null(best) && !confirmed) for (k in 1:5) if (!attempt(feasible(best$par))) break
  if (is.null(best) || best$value >= edge$value) {
    covariance <- matrix(NA_real_, length(edge$par), length(edge$par))
    return(c(edge, list(covariance = covariance, notes = EDGE, at_boundary = TRUE)))
  }
  best$covariance <- best$covariance()
  best$notes <- vet(best)
  if (length(best$notes)) best$covariance[] <- NA_real_
  best
}

# Reasons not to believe the standard errors.
vet <- function(found) {
  v <- diag(found$covariance)
  if (found$par[["shape"]] <= -0.5) return(IRREGULAR)
  if (anyNA(v) || any(v <= 0)) return("the package gave no usable standard error")
  if (any(sqrt(v) < 1e-5)) return("standard errors rejected: artefacts of the penalty outside the support")
  character()
}

finish <- function(found, unit, centre, source, size, nll) {
  estimate <- centre + unit * found$par[names(unit)]
  covariance <- found$covariance * outer(unit, unit)
  dimnames(covariance) <- list(names(unit), names(unit))
  at_boundary <- isTRUE(found$at_boundary)
  # at the edge the density of the largest value is known as a limit only
  nll <- if (at_boundary) found$value + size * log(unit[["scale"]]) else nll(estimate)
  version <- if (source == "base") paste("base R", getRversion()) else paste(source, utils::packageVersion(source))
  fit_of(estimate, covariance, nll, found$notes, at_boundary, version)
}

IRREGULAR <- "shape <= -0.5: no regular standard error exists"
EDGE <- "no maximum with shape > -1"

# The calls of extRemes and evd, each on standardised data from a given start.

# The step of numerical derivatives is 1e-4, not optim's 1e-3: near the end of the support that one makes standard
# errors wrong by 0.2% at shape -0.3.
bfgs <- function(size) {
  list(method = "BFGS", control = list(reltol = 1e-14, maxit = 2000L, ndeps = rep(1e-4, size)))
}
SIMPLEX <- list(method = "Nelder-Mead", control = list(reltol = 1e-15, maxit = 2000L))

# The covariance is a function: it is asked for once, at the best fit.
extremes_fit <- function(law, z, start) {
  fit <- law$extRemes(z, method = "MLE", initial = start, optim.args = bfgs(length(start)))
  par <- fit$results$par
  list(par = par, covariance = function() {
    square(tryCatch(extRemes::parcov.fevd(fit), error = function(e) NULL), length(par))
  })
}

# evd has no gradient: a simplex search finishes what BFGS leaves.
evd_fit <- function(law, z, start) {
  fit <- function(start, std.err, how) {
    law$evd(z, start = start, std.err = std.err, method = how$method, control = how$control)
  }
  names(start) <- sub("location", "loc", names(start), fixed = TRUE)
  first <- fit(start, FALSE, bfgs(length(start)))
  last <- fit(as.list(first$estimate), FALSE, SIMPLEX)
  if (last$deviance > first$deviance) last <- first
  par <- last$estimate
  names(par) <- sub("^loc$", "location", names(par))
  list(par = par, covariance = function() {
    # one more search from the end, for the curvature there; it must not move
    again <- tryCatch(fit(as.list(last$estimate), TRUE, bfgs(length(par))), error = function(e) NULL)
    square(again$var.cov, length(par))
  })
}

square <- function(covariance, size) {
  if (is.matrix(covariance) && nrow(covariance) == size) unname(covariance) else matrix(NA_real_, size, size)
}
