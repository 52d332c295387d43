# Kernel densities on a given grid, and highest density regions.

#' Kernel densities on a given grid, at a given bandwidth
#'
#' `fs_density_1d` is [stats::density()] with the coordinates of R before 4.4, as hdrcde has used
#' it; `fs_density_2d` is the binned estimate of the ks package with a diagonal bandwidth;
#' `fs_shifted_histogram` is the averaged shifted histogram that `hdrcde::hdr.2d` uses by default
#' (20 x 20 bins, 5 x 5 shifts).
#'
#' @param x Samples; a matrix of two columns in the plane.
#' @param bandwidth Standard deviation of the kernel, one per column. Always explicit: hdrcde's own
#'   choice is random and is handed the coverage where it documents one minus it.
#' @param low,high First and last grid point, one per column.
#' @param size Number of grid points, one per column.
#'
#' @return A list: `grid` and `values`, or `x`, `y` and the matrix `values`.
#'
#' @examples
#' d <- fs_density_1d(c(-1, 0, 1), 0.5, -4, 4, 101)
#' d$values[51]
#' @export
fs_density_1d <- function(x, bandwidth, low, high, size) {
  need_arguments()
  numbers_in(x, "x", size = NA)
  numbers_in(bandwidth, "bandwidth", .Machine$double.xmin)
  numbers_in(low, "low")
  numbers_in(high, "high", low)
  numbers_in(size, "size", 2, whole = TRUE)
  old <- if (getRversion() >= "4.4.0") list(old.coords = TRUE)
  found <- do.call(
    stats::density,
    c(list(as.numeric(x), bw = bandwidth, from = low, to = high, n = size), old)
  )
  list(grid = found$x, values = found$y)
}

# How often a kernel of this bandwidth goes around a circle, to either side, before it is nothing.
turns_around <- function(bandwidth, period) ceiling(8 * bandwidth / period)

# The density of a wrapped kernel on a circle, at `size` points from 0 to the period: that of the
# line, cut and added up.
wrapped_density <- function(x, bandwidth, period, size) {
  turns <- turns_around(bandwidth, period)
  steps <- size - 1
  wide <- fs_density_1d(
    x %% period,
    bandwidth,
    -turns * period,
    (1 + turns) * period,
    steps * (1 + 2 * turns) + 1
  )
  values <- wide$values
  once <- rowSums(matrix(values[-length(values)], steps))
  once[1L] <- once[1L] + values[length(values)]
  list(grid = seq(0, period, length.out = size), values = c(once, once[1L]))
}

# The binned estimate of the ks package with a diagonal bandwidth.
#' @rdname fs_density_1d
#' @export
fs_density_2d <- function(x, bandwidth, low, high, size) {
  need_arguments()
  need_package("ks")
  x <- in_plane(x, low, high)
  numbers_in(bandwidth, "bandwidth", .Machine$double.xmin, size = 2L)
  found <- ks::kde(
    x,
    diag(bandwidth^2),
    xmin = low,
    xmax = high,
    gridsize = size,
    bgridsize = size,
    binned = TRUE
  )
  list(x = found$eval.points[[1L]], y = found$eval.points[[2L]], values = pmax(found$estimate, 0))
}

# The averaged shifted histogram that hdrcde::hdr.2d uses by default.
#' @rdname fs_density_1d
#' @export
fs_shifted_histogram <- function(x, low, high) {
  need_arguments()
  need_package("ash")
  x <- in_plane(x, low, high)
  found <- ash::ash2(ash::bin2(x, cbind(low, high), c(20, 20)), c(5, 5))
  list(x = found$x, y = found$y, values = found$z)
}

# Samples in the plane, and the corners of their grid.
in_plane <- function(x, low = c(0, 0), high = c(1, 1)) {
  if (is.data.frame(x)) {
    x <- as.matrix(x)
  }
  numbers_in(x, "x", size = NA)
  if (length(dim(x)) != 2L || ncol(x) != 2L) {
    stop_argument("x", paste(length(x), "numbers"), "a matrix of two columns")
  }
  for (name in c("low", "high")) {
    numbers_in(get(name), name, size = 2L)
  }
  if (any(low >= high)) {
    stop_argument("high", listed(high), paste("numbers above", listed(low)))
  }
  x
}

#' Levels of highest density regions by hdrcde
#'
#' The level f_alpha such that a share `prob` of the samples has a density above it, from a density
#' on a grid. hdrcde is called with percentages in ascending order, which every version reads alike.
#' Samples outside the grid have density 0.
#'
#' @param grid,values Density on a line.
#' @param x Samples.
#' @param prob Probability contents in (0, 1), in any order.
#' @param gx,gy Grid of a density on a plane, equally spaced; `values` then is a matrix, and `x` a
#'   matrix of two columns.
#'
#' @return A list: `falpha` in the order of `prob`, `at_samples` the density at the samples.
#'
#' @references Hyndman (1996). Computing and graphing highest density regions. The American
#'   Statistician 50, 120-126.
#'
#' @examples
#' if (requireNamespace("hdrcde", quietly = TRUE)) {
#'   d <- fs_density_1d(c(-1, 0, 1), 0.5, -4, 4, 101)
#'   fs_hdr_levels_1d(d$grid, d$values, c(-1, 0, 1), 0.5)$falpha
#' }
#' @export
fs_hdr_levels_1d <- function(grid, values, x, prob) {
  need_arguments()
  need_package("hdrcde")
  numbers_in(x, "x", size = NA)
  if (length(x) < 2L) {
    stop_argument("x", "one value", "two or more")
  }
  numbers_in(prob, "prob", 0, 1, size = NA, open = BOTH)
  numbers_in(grid, "grid", size = NA)
  numbers_in(values, "values", 0, size = length(grid))
  x <- as.numeric(x)
  found <- if (min(x) >= grid[1L] && max(x) <= grid[length(grid)]) {
    suppressWarnings(hdrcde::hdr(
      x = x,
      den = list(x = grid, y = values),
      prob = ascending_percent(prob)
    ))
  }
  levels_at(stats::approx(grid, values, xout = x, yleft = 0, yright = 0)$y, prob, found$falpha)
}

# The same in the plane.
#' @rdname fs_hdr_levels_1d
#' @export
fs_hdr_levels_2d <- function(gx, gy, values, x, prob) {
  need_arguments()
  need_package("hdrcde")
  x <- in_plane(x)
  numbers_in(prob, "prob", 0, 1, size = NA, open = BOTH)
  for (name in c("gx", "gy")) {
    numbers_in(get(name), name, size = NA)
  }
  numbers_in(values, "values", 0, size = length(gx) * length(gy))
  inside <- x[, 1L] >= gx[1L] &
    x[, 1L] <= gx[length(gx)] &
    x[, 2L] >= gy[1L] &
    x[, 2L] <= gy[length(gy)]
  density <- list(x = gx, y = gy, z = values)
  found <- hdrcde::hdr.2d(
    x[inside, 1L],
    x[inside, 2L],
    prob = ascending_percent(prob),
    den = density
  )
  levels_at(replace(numeric(nrow(x)), inside, found$fxy), prob, if (all(inside)) found$falpha)
}

# One percentage far above 1 is always among them: without it hdrcde takes percentages for
# fractions.
ascending_percent <- function(prob) sort(unique(c(100 * prob, 99)))

# hdrcde returns the levels by ascending 1 - prob; where samples lie outside the grid they are
# quantiles of the density.
levels_at <- function(at, prob, falpha) {
  falpha <- if (is.null(falpha)) {
    stats::quantile(at, 1 - prob)
  } else {
    rev(as.numeric(falpha))[match(100 * prob, ascending_percent(prob))]
  }
  list(falpha = unname(falpha), at_samples = at)
}

# Where the straight lines between grid points cross a level: ends of the intervals with density
# above it.
level_crossings <- function(grid, values, level) {
  above <- values >= level
  change <- which(above[-1L] != above[-length(above)])
  share <- (level - values[change]) / (values[change + 1L] - values[change])
  at <- grid[change] + share * (grid[change + 1L] - grid[change])
  ends <- sort(c(if (above[1L]) grid[1L], at, if (above[length(above)]) grid[length(grid)]))
  matrix(ends, ncol = 2L, byrow = TRUE)
}

# Level f_alpha such that the region above it holds a share of the density's mass, by uniroot on
# exact masses.
grid_level <- function(grid, values, prob) {
  total <- sum(diff(grid) * (values[-1L] + values[-length(values)]) / 2)
  mass <- function(level) mass_above(grid, values, level) / total - prob
  stats::uniroot(mass, c(0, max(values)), tol = 1e-15)$root
}

mass_above <- function(grid, values, level) {
  points <- sort(unique(c(grid, as.numeric(level_crossings(grid, values, level)))))
  height <- function(at) stats::approx(grid, values, at, rule = 2)$y
  left <- points[-length(points)]
  right <- points[-1L]
  inside <- height((left + right) / 2) >= level
  sum(((right - left) * (height(left) + height(right)) / 2)[inside])
}

# Level from samples: the type-7 quantile of the density at them.
sample_level <- function(
  grid,
  values,
  x,
  prob,
  bandwidth = NA,
  support = c(-Inf, Inf),
  period = NA
) {
  at <- stats::approx(grid, values, xout = x, yleft = 0, yright = 0)$y
  if (!is.na(bandwidth)) {
    # the kernel on each value is left out; it was binned linearly, and is read in the same cell
    step <- min(diff(grid))
    u <- ((x - grid[1]) / step) %% 1
    kernel <- function(d) stats::dnorm(d, sd = bandwidth)
    own <- (u^2 + (1 - u)^2) * kernel(0) + 2 * u * (1 - u) * kernel(step)
    for (bound in support) {
      if (is.finite(bound)) own <- own + kernel(2 * (bound - x))
    }
    if (!is.na(period)) {
      own <- own + 2 * sum(kernel(seq_len(turns_around(bandwidth, period)) * period))
    }
    at <- pmax(length(x) * at - own, 0) / (length(x) - 1)
  }
  unname(stats::quantile(at, 1 - prob))
}
