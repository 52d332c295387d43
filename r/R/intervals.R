#' Confidence interval for the ratio of two independent binomial rates
#'
#' @param k0,n0 Successes and cases of the group.
#' @param k1,n1 Successes and cases of the reference.
#' @param level Confidence level.
#' @param method `"log"`: T exp(-/+ z s) with s^2 = (1 - r0) / k0 + (1 - r1) / k1; `"delta"`: T -/+ z T s
#'   (Besse et al. 2018, Theorem 3.1); `"score"`: Miettinen and Nurminen; `"koopman"`: the same without the
#'   factor N / (N - 1).
#' @return Numeric vector: lower and upper end.
#' @references Besse, del Barrio, Gordaliza, Loubes (2018). Confidence intervals for testing disparate impact
#'   in fair learning. arXiv:1807.06362.
#'
#'   Miettinen, Nurminen (1985). Comparative analysis of two rates. Statistics in Medicine 4, 213-226.
#'
#'   Koopman (1984). Confidence intervals for the ratio of two binomial proportions. Biometrics 40, 513-517.
#' @examples
#' ratio_interval(8, 30, 15, 30, method = "score")
#' @export
ratio_interval <- function(k0, n0, k1, n1, level = 0.95, method = c("log", "delta", "score", "koopman")) {
  method <- match.arg(method)
  check_table(k0, n0, k1, n1, level)
  z <- stats::qnorm((1 + level) / 2)
  estimate <- (k0 / n0) / (k1 / n1)
  s <- sqrt((1 - k0 / n0) / k0 + (1 - k1 / n1) / k1)
  switch(method,
    log = estimate * exp(c(-1, 1) * z * s),
    delta = estimate + c(-1, 1) * z * estimate * s,
    score = invert_ratio(k0, n0, k1, n1, z, TRUE),
    koopman = invert_ratio(k0, n0, k1, n1, z, FALSE)
  )
}

#' Confidence interval for the difference of two independent binomial rates
#'
#' @inheritParams ratio_interval
#' @param method `"delta"`: the Wald interval; `"score"`: Miettinen and Nurminen; `"mee"`: the same without
#'   the factor N / (N - 1).
#' @return Numeric vector: lower and upper end.
#' @references Miettinen, Nurminen (1985). Comparative analysis of two rates. Statistics in Medicine 4, 213-226.
#'
#'   Mee (1984). Confidence bounds for the difference between two probabilities. Biometrics 40, 1175-1176.
#' @examples
#' difference_interval(15, 100, 25, 100, method = "score")
#' @export
difference_interval <- function(k0, n0, k1, n1, level = 0.95, method = c("delta", "score", "mee")) {
  method <- match.arg(method)
  check_table(k0, n0, k1, n1, level)
  z <- stats::qnorm((1 + level) / 2)
  p0 <- k0 / n0
  p1 <- k1 / n1
  switch(method,
    delta = p0 - p1 + c(-1, 1) * z * sqrt(p0 * (1 - p0) / n0 + p1 * (1 - p1) / n1),
    score = invert_difference(k0, n0, k1, n1, z, TRUE),
    mee = invert_difference(k0, n0, k1, n1, z, FALSE)
  )
}

#' Score statistics for the ratio and the difference of two rates
#'
#' z of the null hypothesis that the ratio or difference has the given value, with both rates at their
#' maximum likelihood values under it. The constrained maximum is found as the root of the score equation.
#'
#' @inheritParams ratio_interval
#' @param null Value under the null hypothesis.
#' @param correction Use the factor N / (N - 1) of Miettinen and Nurminen.
#' @return z, positive where the estimate lies above `null`.
#' @examples
#' ratio_score(8, 30, 15, 30, null = 0.8)
#' @export
ratio_score <- function(k0, n0, k1, n1, null, correction = TRUE) {
  # log likelihood in p = p1 with p0 = null p; its derivative falls from +Inf (k > 0) to -Inf
  p <- falling_root(
    function(p) part(k0, p) + part(k1, p) - part(n0 - k0, 1 / null - p) - part(n1 - k1, 1 - p),
    0, min(1, 1 / null)
  )
  p0 <- min(1, null * p)
  variance <- p0 * (1 - p0) / n0 + null^2 * p * (1 - p) / n1
  standardise(k0 / n0 - null * k1 / n1, variance, n0 + n1, correction)
}

#' @rdname ratio_score
#' @export
difference_score <- function(k0, n0, k1, n1, null, correction = TRUE) {
  p <- falling_root(
    function(p) part(k0, p + null) + part(k1, p) - part(n0 - k0, 1 - null - p) - part(n1 - k1, 1 - p),
    max(0, -null), min(1, 1 - null)
  )
  p0 <- min(1, max(0, p + null))
  variance <- p0 * (1 - p0) / n0 + p * (1 - p) / n1
  standardise(k0 / n0 - k1 / n1 - null, variance, n0 + n1, correction)
}

# count / distance, where no count means no pole
part <- function(count, distance) if (count > 0) count / distance else 0

standardise <- function(distance, variance, total, correction) {
  if (correction) variance <- variance * total / (total - 1)
  if (variance > 0) distance / sqrt(variance) else if (distance == 0) 0 else sign(distance) * Inf
}

# Root of a falling function between low and high, or the end at which it keeps its sign.
falling_root <- function(f, low, high) {
  width <- high - low
  if (width <= 0) return(low)
  near <- c(low + width * 1e-15, high - width * 1e-15)
  at <- vapply(near, f, 0)
  if (!is.finite(at[1L])) at[1L] <- .Machine$double.xmax
  if (!is.finite(at[2L])) at[2L] <- -.Machine$double.xmax
  if (at[1L] <= 0) return(low)
  if (at[2L] >= 0) return(high)
  bounded <- function(p) max(-1e300, min(1e300, f(p)))
  stats::uniroot(bounded, near, tol = .Machine$double.eps, maxiter = 10000L)$root
}

invert_ratio <- function(k0, n0, k1, n1, z, correction) {
  if (k0 == 0 && k1 == 0) return(c(0, Inf))
  statistic <- function(x) max(-1e6, min(1e6, ratio_score(k0, n0, k1, n1, exp(x), correction)))
  centre <- if (k0 > 0 && k1 > 0) log(k0 / n0) - log(k1 / n1) else if (k1 == 0) 40 else -40
  c(
    if (k0 == 0) 0 else exp(solve_from(function(x) statistic(x) - z, -40, centre)),
    if (k1 == 0) Inf else exp(solve_from(function(x) statistic(x) + z, centre, 40))
  )
}

invert_difference <- function(k0, n0, k1, n1, z, correction) {
  statistic <- function(x) max(-1e6, min(1e6, difference_score(k0, n0, k1, n1, x, correction)))
  centre <- k0 / n0 - k1 / n1
  edge <- 1 - 1e-14
  c(
    if (centre == -1) -1 else solve_from(function(x) statistic(x) - z, -edge, centre),
    if (centre == 1) 1 else solve_from(function(x) statistic(x) + z, centre, edge)
  )
}

solve_from <- function(f, low, high) {
  stats::uniroot(f, c(low, high), tol = 1e-14, maxiter = 10000L)$root
}

check_table <- function(k0, n0, k1, n1, level) {
  counts <- c(k0, n0, k1, n1)
  if (!all(is.finite(counts)) || any(counts < 0) || k0 > n0 || k1 > n1 || n0 <= 0 || n1 <= 0) {
    stop("needs 0 <= k <= n and n > 0 in both groups", call. = FALSE)
  }
  if (!(level > 0 && level < 1)) stop("`level` must lie between 0 and 1", call. = FALSE)
  invisible(NULL)
}
