# Likelihoods and starting values in base R. Shape xi > 0 is the heavy tail throughout.

# Minus log likelihood of excesses (> 0) under the generalised Pareto law.
gpd_nll <- function(excess, scale, shape) {
  if (!is.finite(scale) || !is.finite(shape) || scale <= 0) return(Inf)
  z <- excess / scale
  inside <- 1 + shape * z
  if (any(inside <= 0)) return(Inf)
  length(excess) * log(scale) + sum(if (abs(shape) < 1e-9) z else (1 + 1 / shape) * log1p(shape * z))
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
feasible_gpd <- function(start, excess) {
  shape <- away_from_zero(max(-0.95, min(1.5, start[["shape"]])))
  scale <- start[["scale"]]
  if (!is.finite(scale) || scale <= 0) scale <- mean(excess)
  if (shape < 0) scale <- max(scale, -shape * max(excess) * 1.02)
  list(scale = scale, shape = shape)
}

feasible_gev <- function(start, x) {
  shape <- away_from_zero(max(-0.9, min(0.9, start[["shape"]])))
  location <- start[["location"]]
  scale <- start[["scale"]]
  if (!is.finite(scale) || scale <= 0) scale <- stats::sd(x)
  if (!is.finite(location)) location <- mean(x)
  end <- if (shape < 0) max(x) - location else location - min(x)
  scale <- max(scale, abs(shape) * end * 1.02)
  list(location = location, scale = scale, shape = shape)
}

away_from_zero <- function(shape) {
  if (!is.finite(shape)) return(0.1)
  if (abs(shape) >= 0.01) shape else if (shape < 0) -0.01 else 0.01
}
