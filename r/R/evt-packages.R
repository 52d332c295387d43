# The calls of extRemes and evd, each on standardised data from a given start.

# The step of numerical derivatives is 1e-4, not optim's 1e-3: near the end of the support that one makes standard
# errors wrong by 0.2% at shape -0.3.
bfgs <- function(size) {
  list(method = "BFGS", control = list(reltol = 1e-14, maxit = 2000L, ndeps = rep(1e-4, size)))
}
SIMPLEX <- list(method = "Nelder-Mead", control = list(reltol = 1e-15, maxit = 2000L))

extremes_gpd <- function(y, start) {
  extremes_result(extRemes::fevd(y,
    threshold = 0, type = "GP", method = "MLE", initial = start, optim.args = bfgs(2L), time.units = "years"
  ))
}

extremes_gev <- function(z, start) {
  extremes_result(extRemes::fevd(z, type = "GEV", method = "MLE", initial = start, optim.args = bfgs(3L)))
}

# The covariance is a function: it is asked for once, at the best fit.
extremes_result <- function(fit) {
  par <- fit$results$par
  list(par = par, covariance = function() {
    square(tryCatch(extRemes::parcov.fevd(fit), error = function(e) NULL), length(par))
  })
}

extremes_lmoments <- function(x, type) {
  if (type == "GP") {
    extRemes::fevd(x, threshold = 0, type = "GP", method = "Lmoments", time.units = "years")$results
  } else {
    extRemes::fevd(x, type = "GEV", method = "Lmoments")$results
  }
}

evd_gpd <- function(y, start) {
  evd_result(function(start, std.err, how) {
    evd::fpot(y, 0, start = start, std.err = std.err, method = how$method, control = how$control)
  }, start)
}

evd_gev <- function(z, start) {
  evd_result(function(start, std.err, how) {
    evd::fgev(z, start = start, std.err = std.err, method = how$method, control = how$control)
  }, start)
}

# evd has no gradient: a simplex search finishes what BFGS leaves.
evd_result <- function(fit, start) {
  theirs <- function(names) sub("location", "loc", names, fixed = TRUE)
  names(start) <- theirs(names(start))
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
