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
sample_level <- function(grid, values, x, prob) {
  at <- stats::approx(grid, values, xout = x, yleft = 0, yright = 0)$y
  unname(stats::quantile(at, 1 - prob))
}
