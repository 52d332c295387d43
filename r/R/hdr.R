#' Kernel densities on a given grid, at a given bandwidth
#'
#' `density_1d` is [stats::density()] with the coordinates of R before 4.4, as hdrcde has used it; `density_2d`
#' is the binned estimate of the ks package with a diagonal bandwidth; `shifted_histogram` is the averaged
#' shifted histogram that `hdrcde::hdr.2d` uses by default (20 x 20 bins, 5 x 5 shifts).
#'
#' @param x Samples; a matrix of two columns in the plane.
#' @param bandwidth Standard deviation of the kernel, one per column. Always explicit: hdrcde's own choice is
#'   random and is handed the coverage where it documents one minus it.
#' @param low,high First and last grid point, one per column.
#' @param size Number of grid points, one per column.
#' @return A list: `grid` and `values`, or `x`, `y` and the matrix `values`.
#' @examples
#' d <- density_1d(c(-1, 0, 1), 0.5, -4, 4, 101)
#' d$values[51]
#' @export
density_1d <- function(x, bandwidth, low, high, size) {
  args <- list(x = as.numeric(x), bw = bandwidth, from = low, to = high, n = size)
  if (getRversion() >= "4.4.0") args$old.coords <- TRUE
  found <- do.call(stats::density, args)
  list(grid = found$x, values = found$y)
}

#' @rdname density_1d
#' @export
density_2d <- function(x, bandwidth, low, high, size) {
  need_package("ks")
  found <- ks::kde(x,
    H = diag(bandwidth^2), xmin = low, xmax = high, gridsize = size, bgridsize = size, binned = TRUE
  )
  list(x = found$eval.points[[1L]], y = found$eval.points[[2L]], values = pmax(found$estimate, 0))
}

#' @rdname density_1d
#' @export
shifted_histogram <- function(x, low, high) {
  need_package("ash")
  found <- ash::ash2(ash::bin2(x, cbind(low, high), c(20, 20)), c(5, 5))
  list(x = found$x, y = found$y, values = found$z)
}

#' Levels of highest density regions by hdrcde
#'
#' The level f_alpha such that a share `prob` of the samples has a density above it, from a density on a grid.
#' hdrcde is called with percentages in ascending order, which every version reads alike. Samples outside the
#' grid have density 0.
#'
#' @param grid,values Density on a line.
#' @param x Samples.
#' @param prob Probability contents in (0, 1), in any order.
#' @return A list: `falpha` in the order of `prob`, `at_samples` the density at the samples.
#' @references Hyndman (1996). Computing and graphing highest density regions. The American Statistician 50,
#'   120-126.
#' @examples
#' if (requireNamespace("hdrcde", quietly = TRUE)) {
#'   d <- density_1d(c(-1, 0, 1), 0.5, -4, 4, 101)
#'   hdr_levels_1d(d$grid, d$values, c(-1, 0, 1), 0.5)$falpha
#' }
#' @export
hdr_levels_1d <- function(grid, values, x, prob) {
  need_package("hdrcde")
  x <- as.numeric(x)
  at <- stats::approx(grid, values, xout = x, yleft = 0, yright = 0)$y
  if (min(x) < grid[1L] || max(x) > grid[length(grid)]) {
    return(list(falpha = unname(stats::quantile(at, 1 - prob)), at_samples = at))
  }
  percent <- ascending_percent(prob)
  found <- suppressWarnings(hdrcde::hdr(x = x, den = list(x = grid, y = values), prob = percent))
  list(falpha = pick_levels(found$falpha, percent, prob), at_samples = at)
}

#' @rdname hdr_levels_1d
#' @param gx,gy Grid of a density on a plane, equally spaced; `values` then is a matrix, and `x` a matrix of
#'   two columns.
#' @export
hdr_levels_2d <- function(gx, gy, values, x, prob) {
  need_package("hdrcde")
  inside <- x[, 1L] >= gx[1L] & x[, 1L] <= gx[length(gx)] & x[, 2L] >= gy[1L] & x[, 2L] <= gy[length(gy)]
  percent <- ascending_percent(prob)
  found <- hdrcde::hdr.2d(x[inside, 1L], x[inside, 2L], prob = percent, den = list(x = gx, y = gy, z = values))
  at <- numeric(nrow(x))
  at[inside] <- found$fxy
  if (all(inside)) {
    falpha <- pick_levels(found$falpha, percent, prob)
  } else {
    falpha <- unname(stats::quantile(at, 1 - prob))
  }
  list(falpha = falpha, at_samples = at)
}

# One percentage far above 1 is always among them: without it hdrcde takes percentages for fractions.
ascending_percent <- function(prob) sort(unique(c(100 * prob, 99)))

# hdrcde returns the levels by ascending 1 - prob.
pick_levels <- function(falpha, percent, prob) {
  unname(rev(as.numeric(falpha))[match(100 * prob, percent)])
}
