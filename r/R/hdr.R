#' Kernel densities on a given grid, at a given bandwidth
#'
#' `fs_density_1d` is [stats::density()] with the coordinates of R before 4.4, as hdrcde has used it; `fs_density_2d`
#' is the binned estimate of the ks package with a diagonal bandwidth; `fs_shifted_histogram` is the averaged
#' shifted histogram that `hdrcde::hdr.2d` uses by default (20 x 20 bins, 5 x 5 shifts).
#'
#' @param x Samples; a matrix of two columns in the plane.
#' @param bandwidth Standard deviation of the kernel, one per column. Always explicit: hdrcde's own choice is
#'   random and is handed the coverage where it documents one minus it.
#' @param low,high First and last grid point, one per column.
#' @param size Number of grid points, one per column.
#' @return A list: `grid` and `values`, or `x`, `y` and the matrix `values`.
#' @examples
#' d <- fs_density_1d(c(-1, 0, 1), 0.5, -4, 4, 101)
#' d$values[51]
#' @export
fs_density_1d <- function(x, bandwidth, low, high, size) {
  numbers_in(x, "x", size = NA)
  numbers_in(bandwidth, "bandwidth", .Machine$double.xmin)
  numbers_in(low, "low")
  numbers_in(high, "high", low)
  numbers_in(size, "size", 2, whole = TRUE)
  args <- list(x = as.numeric(x), bw = bandwidth, from = low, to = high, n = size)
  if (getRversion() >= "4.4.0") args$old.coords <- TRUE
  found <- do.call(stats::density, args)
  list(grid = found$x, values = found$y)
}

#' @rdname fs_density_1d
#' @export
fs_density_2d <- function(x, bandwidth, low, high, size) {
  need_package("ks")
  x <- in_plane(x, low, high)
  numbers_in(bandwidth, "bandwidth", .Machine$double.xmin, size = 2L)
  found <- ks::kde(x,
    H = diag(bandwidth^2), xmin = low, xmax = high, gridsize = size, bgridsize = size, binned = TRUE
  )
  list(x = found$eval.points[[1L]], y = found$eval.points[[2L]], values = pmax(found$estimate, 0))
}

#' @rdname fs_density_1d
#' @export
fs_shifted_histogram <- function(x, low, high) {
  need_package("ash")
  x <- in_plane(x, low, high)
  found <- ash::ash2(ash::bin2(x, cbind(low, high), c(20, 20)), c(5, 5))
  list(x = found$x, y = found$y, values = found$z)
}

# Samples in the plane, and the corners of their grid.
in_plane <- function(x, low = c(0, 0), high = c(1, 1)) {
  if (is.data.frame(x)) x <- as.matrix(x)
  numbers_in(x, "x", size = NA)
  if (length(dim(x)) != 2L || ncol(x) != 2L) stop_argument("x", paste(length(x), "numbers"), "a matrix of two columns")
  numbers_in(low, "low", size = 2L)
  numbers_in(high, "high", size = 2L)
  if (any(low >= high)) stop_argument("high", listed(high), paste("numbers above", listed(low)))
  x
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
#'   d <- fs_density_1d(c(-1, 0, 1), 0.5, -4, 4, 101)
#'   fs_hdr_levels_1d(d$grid, d$values, c(-1, 0, 1), 0.5)$falpha
#' }
#' @export
fs_hdr_levels_1d <- function(grid, values, x, prob) {
  need_package("hdrcde")
  numbers_in(x, "x", size = NA)
  if (length(x) < 2L) stop_argument("x", "one value", "two or more")
  numbers_in(prob, "prob", 0, 1, size = NA, open = BOTH)
  numbers_in(grid, "grid", size = NA)
  numbers_in(values, "values", 0, size = length(grid))
  x <- as.numeric(x)
  at <- stats::approx(grid, values, xout = x, yleft = 0, yright = 0)$y
  if (min(x) < grid[1L] || max(x) > grid[length(grid)]) {
    return(list(falpha = unname(stats::quantile(at, 1 - prob)), at_samples = at))
  }
  percent <- ascending_percent(prob)
  found <- suppressWarnings(hdrcde::hdr(x = x, den = list(x = grid, y = values), prob = percent))
  list(falpha = pick_levels(found$falpha, percent, prob), at_samples = at)
}

#' @rdname fs_hdr_levels_1d
#' @param gx,gy Grid of a density on a plane, equally spaced; `values` then is a matrix, and `x` a matrix of
#'   two columns.
#' @export
fs_hdr_levels_2d <- function(gx, gy, values, x, prob) {
  need_package("hdrcde")
  x <- in_plane(x)
  numbers_in(prob, "prob", 0, 1, size = NA, open = BOTH)
  numbers_in(gx, "gx", size = NA)
  numbers_in(gy, "gy", size = NA)
  numbers_in(values, "values", 0, size = length(gx) * length(gy))
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

# Highest density regions for fairstats.crosscheck(), from a density on a grid, in base R.

# Where the straight lines between grid points cross a level: ends of the intervals with density above it.
level_crossings <- function(grid, values, level) {
  above <- values >= level
  change <- which(above[-1L] != above[-length(above)])
  share <- (level - values[change]) / (values[change + 1L] - values[change])
  at <- grid[change] + share * (grid[change + 1L] - grid[change])
  ends <- sort(c(if (above[1L]) grid[1L], at, if (above[length(above)]) grid[length(grid)]))
  matrix(ends, ncol = 2L, byrow = TRUE)
}

# Level f_alpha such that the region above it holds a share of the density's mass, by uniroot on exact masses.
grid_level <- function(grid, values, prob) {
  total <- sum(diff(grid) * (values[-1L] + values[-length(values)]) / 2)
  mass <- function(level) mass_above(grid, values, level) / total - prob
  stats::uniroot(mass, c(0, max(values)), tol = 1e-15)$root
}

mass_above <- function(grid, values, level) {
  ends <- level_crossings(grid, values, level)
  points <- sort(unique(c(grid, as.numeric(ends))))
  height <- stats::approx(grid, values, points, rule = 2)$y
  middle <- (points[-1L] + points[-length(points)]) / 2
  inside <- stats::approx(grid, values, middle, rule = 2)$y >= level
  sum((diff(points) * (height[-1L] + height[-length(height)]) / 2)[inside])
}

# Level from samples: the type-7 quantile of the density at them.
sample_level <- function(grid, values, x, prob, bandwidth = NA, support = c(-Inf, Inf)) {
  at <- stats::approx(grid, values, xout = x, yleft = 0, yright = 0)$y
  if (!is.na(bandwidth)) {
    # the kernel on each value is left out; it was binned linearly, and is read in the same cell
    step <- min(diff(grid))
    u <- ((x - grid[1]) / step) %% 1
    kernel <- function(d) stats::dnorm(d, sd = bandwidth)
    own <- (u^2 + (1 - u)^2) * kernel(0) + 2 * u * (1 - u) * kernel(step)
    for (bound in support) if (is.finite(bound)) own <- own + kernel(2 * (bound - x))
    at <- pmax(length(x) * at - own, 0) / (length(x) - 1)
  }
  unname(stats::quantile(at, 1 - prob))
}
