"""The two tail distributions as functions of arrays: densities, quantiles, draws, L-moments.

ξ > 0 is a heavy tail.

v(y; θ) = log(1 + θy)/θ turns generalised Pareto excesses into exponential ones and block maxima
into Gumbel ones (θ = ξ/σ); at θ = 0 it is y itself. Near 0 the quotient cancels, so a power series
takes over. `power_ratio` is its inverse. L-moments (Hosking & Wallis 1987; Hosking 1985) come from
the unbiased probability-weighted moments b_r of the ordered sample; κ = −ξ is the papers' shape.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gamma

Floats: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
#: Numbers of rows: which sample, or which problem.
Rows: TypeAlias = NDArray[np.intp]
#: Often a function with its first two derivatives.
Triple: TypeAlias = tuple[Floats, Floats, Floats]
Numbers: TypeAlias = Floats | float

#: Where |θy| stays below this, the series of `_N_TERMS` terms is exact to rounding.
SMALL = 0.02
_N_TERMS = 12
#: Fewer excesses than this make a simulated or resampled sample useless.
LEAST_DRAWN = 5
#: Elements handled at a time, what fits the processor's cache; z at the end point of ξ = −1, up to
#: rounding.
_CHUNK_SIZE = 1 << 16
_END_POINT = 1.0 + 1e-12


def exponential_scale_partials(y: Floats, theta: Floats) -> Triple:
    """v(y; θ) = log(1 + θy)/θ with two derivatives in θ, each of shape (..., n).

    `y` has shape (..., n) with 1 + θy > 0; `theta`, one value for each row of it, broadcasts.
    """
    theta_column = np.asarray(theta, dtype=np.float64)[..., None]
    near_zero = np.abs(theta_column) * np.max(np.abs(y), axis=-1, keepdims=True) < SMALL
    safe_theta = np.where(near_zero, 1.0, theta_column)
    z = np.where(near_zero, 0.0, theta_column * y)
    # a value at its end point, where 1 + θy rounds to 0
    with np.errstate(divide="ignore", invalid="ignore"):
        v = np.log1p(z) / safe_theta
        slopes = y / (1.0 + z)
        first_derivative = (slopes - v) / safe_theta
        second_derivative = -(slopes * slopes + 2.0 * first_derivative) / safe_theta
    if near_zero.any():
        series_rows = near_zero[..., 0]
        series_partials = _taylor_series(
            theta_column[series_rows], np.broadcast_to(y, v.shape)[series_rows]
        )
        for target_array, series_values in zip(
            (v, first_derivative, second_derivative), series_partials, strict=True
        ):
            target_array[series_rows] = series_values
    return v, first_derivative, second_derivative


def _taylor_series(t: Floats, y: Floats) -> Triple:
    """Taylor series v = Σ_j (−θ)^j y^(j+1)/(j+1) and its derivatives, by Horner from the top."""
    z = np.clip(t * y, -SMALL, SMALL)
    v, first_derivative, second_derivative = np.zeros((3, *z.shape))
    for j in range(_N_TERMS, -1, -1):
        c = (-1.0) ** j / (j + 1)
        v = v * z + c
        if j >= 1:
            first_derivative = first_derivative * z + j * c
        if j >= 2:
            second_derivative = second_derivative * z + j * (j - 1) * c
    return v * y, first_derivative * y**2, second_derivative * y**3


def mean_exponential_scale(y: Floats, n: Floats, largest: Floats, theta: Floats) -> Triple:
    """Row means D of v(y; θ) and of its first two derivatives, several θ for each row.

    Shape (P, K).

    `y`, shape (P, N), is not negative; rows with `n` < N values end in zeros, which add nothing.
    `largest`, shape (P,); `theta`, shape (P, K). One logarithm and one reciprocal per value: the
    derivatives follow from row sums, since ``θ v' = y/(1+θy) − v`` and ``θ v'' = −(y/(1+θy))² −
    2v'``.
    """
    n_rows, n_columns = y.shape
    log_sum, slope_sum, square_sum = np.empty((3, *theta.shape))
    rows_at_a_time = max(1, _CHUNK_SIZE // max(1, theta.shape[1] * n_columns))
    for first_row in range(0, n_rows, rows_at_a_time):
        row_slice = slice(first_row, first_row + rows_at_a_time)
        value_block = y[row_slice, None, :]
        z = theta[row_slice, :, None] * value_block
        np.add.reduce(np.log1p(z), axis=-1, out=log_sum[row_slice])
        z += 1.0
        slopes = np.divide(value_block, z, out=z)
        np.add.reduce(slopes, axis=-1, out=slope_sum[row_slice])
        square_sum[row_slice] = np.einsum("...i,...i->...", slopes, slopes)
    row_counts = n[:, None]
    near_zero = np.abs(theta) * largest[:, None] < SMALL
    any_near_zero = near_zero.any()
    if any_near_zero:
        safe_theta = np.where(near_zero, 1.0, theta)
    else:
        safe_theta = theta
    row_means = log_sum / row_counts / safe_theta
    first_derivative = (slope_sum / row_counts - row_means) / safe_theta
    second_derivative = -(square_sum / row_counts + 2.0 * first_derivative) / safe_theta
    if any_near_zero:
        row_numbers, column_numbers = np.nonzero(near_zero)
        series_partials = _mean_series(
            theta[row_numbers, column_numbers], _row_moments(y, n, row_numbers)
        )
        for target_array, series_values in zip(
            (row_means, first_derivative, second_derivative), series_partials, strict=True
        ):
            target_array[row_numbers, column_numbers] = series_values
    return row_means, first_derivative, second_derivative


def _row_moments(y: Floats, n: Floats, row: Rows) -> Floats:
    """Row means of y, y², … for the rows asked for, shape (len(row), terms)."""
    if y.shape[0] == 1:
        powers = y[0] ** np.arange(1.0, _N_TERMS + 2.0)[:, None]
        return np.broadcast_to(powers.sum(axis=1) / n[0], (row.size, _N_TERMS + 1))
    distinct_rows, inverse = np.unique(row, return_inverse=True)
    row_powers = row_values = y[distinct_rows]
    moments = np.empty((distinct_rows.size, _N_TERMS + 1))
    for j in range(_N_TERMS + 1):
        moments[:, j] = row_powers.sum(axis=1)
        row_powers = row_powers * row_values
    return np.asarray((moments / n[distinct_rows, None])[inverse])


def _mean_series(theta: Floats, moments: Floats) -> Triple:
    """The same series for means: y^(j+1) replaced by its row mean."""
    j = np.arange(moments.shape[1])
    coefficients = (-1.0) ** j / (j + 1) * moments
    powers = theta[:, None] ** j
    series_terms = (
        coefficients,
        j[1:] * coefficients[:, 1:],
        j[2:] * (j[2:] - 1) * coefficients[:, 2:],
    )
    v, first_derivative, second_derivative = (
        np.einsum("ij,ij->i", powers[:, : series_term.shape[1]], series_term)
        for series_term in series_terms
    )
    return v, first_derivative, second_derivative


def power_ratio(s: Floats, shape: Floats) -> Floats:
    """``(e^(ξs) − 1)/ξ``, s itself at ξ = 0: the excess at s exponential units.

    +inf where it overflows.
    """
    s = np.asarray(s, dtype=np.float64)
    xi = np.asarray(shape, dtype=np.float64)
    is_flat = np.abs(xi) < 1e-300
    has_flat = bool(is_flat.any())
    safe_shape = np.where(is_flat, 1.0, xi) if has_flat else xi
    with np.errstate(over="ignore"):
        ratio = np.asarray(np.expm1(xi * s) / safe_shape)
    return np.where(is_flat, s, ratio) if has_flat else ratio


def power_ratio_shape_derivative(s: Floats, shape: Floats) -> Floats:
    """Derivative of `power_ratio` in ξ: ``(s e^(ξs) − power_ratio)/ξ``, s²/2 at ξ = 0."""
    s, xi = np.broadcast_arrays(
        np.asarray(s, dtype=np.float64), np.asarray(shape, dtype=np.float64)
    )
    z = xi * s
    is_small = np.abs(z) < 1e-2
    series_value = (
        s * s * (0.5 + z * (1 / 3 + z * (1 / 8 + z * (1 / 30 + z * (1 / 144 + z / 840)))))
    )
    safe_shape = np.where(is_small, 1.0, xi)
    with np.errstate(over="ignore", invalid="ignore"):
        direct_value = (s * np.exp(z) - np.expm1(z) / safe_shape) / safe_shape
        return np.where(is_small, series_value, direct_value)


def power_ratio_shape_curvature(s: Floats, shape: Floats, in_shape: Floats, in_s: Floats) -> Floats:
    """∂²/∂ξ² of `power_ratio` from its first derivatives in ξ and in s; s³/3 at ξ = 0."""
    z = shape * s
    is_small = np.abs(z) < 0.05
    series_value = s**3 * (
        1 / 3 + z * (1 / 4 + z * (1 / 10 + z * (1 / 36 + z * (1 / 168 + z / 960))))
    )
    safe_shape = np.where(is_small, 1.0, shape)
    return np.where(is_small, series_value, (s**2 * in_s - 2.0 * in_shape) / safe_shape)


def exponential_scale(z: Numbers, shape: Numbers) -> Floats:
    """log(1 + ξz)/ξ, z itself at ξ = 0; −inf below and +inf above the support."""
    z = np.asarray(z, dtype=np.float64)
    xi = np.asarray(shape, dtype=np.float64)
    product = xi * z
    is_small = np.abs(product) < 1e-8
    has_small = bool(is_small.any())
    safe_shape = np.where(is_small, 1.0, xi) if has_small else xi
    with np.errstate(divide="ignore", invalid="ignore"):
        direct_value = np.asarray(np.log1p(np.maximum(product, -1.0)) / safe_shape)
    return (
        np.where(is_small, z * (1.0 - 0.5 * product), direct_value) if has_small else direct_value
    )


def gpd_logpdf(y: Numbers, scale: Numbers, shape: Numbers) -> Floats:
    """Log density of an excess; −inf outside the support."""
    z = np.asarray(y, dtype=np.float64) / scale
    exponential_value = exponential_scale(z, shape)
    is_inside = (z >= 0) & np.isfinite(exponential_value)
    # at ξ = −1 the density is constant up to its end point, which belongs to it
    is_flat = (np.asarray(shape) == -1.0) & (z >= 0) & (z <= _END_POINT)
    with np.errstate(invalid="ignore"):
        log_density = -np.log(scale) - (1.0 + np.asarray(shape)) * np.where(
            is_inside, exponential_value, 0.0
        )
    return np.where(is_inside | is_flat, log_density, -np.inf)


def random_excesses(
    rng: np.random.Generator,
    size: tuple[int, ...],
    scale: Numbers,
    shape: Numbers,
) -> Floats:
    """Random excesses of the given size; scale and shape broadcast to it."""
    return np.asarray(scale * power_ratio(rng.standard_exponential(size), np.asarray(shape)))


def random_samples(
    rng: np.random.Generator,
    n: Floats | Counts,
    scale: Numbers,
    shape: Numbers,
) -> tuple[Floats, Floats]:
    """Samples of `n` random excesses, at least `LEAST_DRAWN`, one a row and filled up with zeros.

    And `n`.
    """
    n = np.maximum(n, LEAST_DRAWN)
    excesses = random_excesses(rng, (n.size, int(n.max())), scale, shape)
    excesses[np.arange(excesses.shape[1]) >= n[:, None]] = 0.0
    return excesses, n.astype(np.float64)


def gev_logpdf(x: Numbers, location: Numbers, scale: Numbers, shape: Numbers) -> Floats:
    """Log density of a block maximum; −inf outside the support."""
    z = (np.asarray(x, dtype=np.float64) - location) / scale
    exponential_value = exponential_scale(z, shape)
    is_inside = np.isfinite(exponential_value)
    is_flat = (np.asarray(shape) == -1.0) & (z <= _END_POINT)
    exponential_value = np.where(is_inside, exponential_value, 0.0)
    with np.errstate(over="ignore"):
        log_density = (
            -np.log(scale)
            - (1.0 + np.asarray(shape)) * exponential_value
            - np.where(is_inside, np.exp(-exponential_value), 0.0)
        )
    return np.where(is_inside | is_flat, log_density, -np.inf)


def sample_lmoments(ordered: Floats, n: Floats | None = None) -> Triple:
    """l₁, l₂, l₃ of samples sorted along the last axis (Hosking 1990, eqs. 2.1–2.3).

    `n` counts the values of each row where rows begin with zeros that fill them up.
    """
    n_columns = ordered.shape[-1]
    if n is None:
        row_sizes = np.full(ordered.shape[:-1], float(n_columns))
    else:
        row_sizes = n
    # rank from 0 among the values that count
    ranks = np.arange(n_columns) - (n_columns - row_sizes[..., None])
    b0 = ordered.sum(-1) / row_sizes
    b1 = (ordered * ranks).sum(-1) / (row_sizes * (row_sizes - 1))
    b2 = (ordered * (ranks * (ranks - 1))).sum(-1) / (row_sizes * (row_sizes - 1) * (row_sizes - 2))
    return b0, 2.0 * b1 - b0, 6.0 * b2 - 6.0 * b1 + b0


def gpd_from_lmoments(l1: Floats, l2: Floats) -> Floats:
    """σ and ξ of excesses: κ = l₁/l₂ − 2, σ = (1 + κ)·l₁; shape (..., 2)."""
    kappa = l1 / l2 - 2.0
    return np.stack([(1.0 + kappa) * l1, -kappa], -1)


def gev_from_lmoments(l1: Floats, l2: Floats, l3: Floats) -> Floats:
    """μ, σ and ξ of block maxima, shape (..., 3).

    κ ≈ 7.8590c + 2.9554c² with c = 2/(3 + l₃/l₂) − log 2/log 3: Hosking's (1985) approximation,
    within 9·10⁻⁴ of the exact solution and what the R packages use.
    """
    c = 2.0 / (3.0 + l3 / l2) - np.log(2.0) / np.log(3.0)
    kappa = 7.8590 * c + 2.9554 * c**2
    safe_kappa = np.where(np.abs(kappa) < 1e-7, 1e-7, kappa)
    gamma_value = gamma(1.0 + safe_kappa)
    scale = l2 * safe_kappa / (-np.expm1(-safe_kappa * np.log(2.0)) * gamma_value)
    location = l1 - scale * (1.0 - gamma_value) / safe_kappa
    return np.stack([location, scale, -safe_kappa], -1)


def jackknife_covariance(sample: Floats, model: str) -> Floats:
    """Covariance of the L-moment estimates by leaving out one value of the sample at a time.

    Shape (p, p).

    `model` is "gpd" (a sample of excesses) or "gev" (block maxima). Sums without one value are
    those of the whole less its share, with the ranks above it moved down by one: cumulative sums
    give all n of them in O(n).
    """
    if model == "gev":
        sample_centre = float(sample.mean())
    else:
        sample_centre = 0.0
    if model == "gev":
        sample_unit = float(np.max(np.abs(sample - sample_centre)))
    else:
        sample_unit = float(sample.mean())
    x = np.sort((sample - sample_centre) / sample_unit)
    n = x.size
    k = x.size - 1
    j = np.arange(n, dtype=np.float64)
    sums_above = np.cumsum(x[::-1])[::-1] - x
    rank_sums_above = np.cumsum((x * j)[::-1])[::-1] - x * j
    b0 = (x.sum() - x) / k
    b1 = ((x * j).sum() - j * x - sums_above) / (k * (k - 1))
    # Σ j(j−1)x over ranks above i falls to Σ (j−1)(j−2)x = Σ j(j−1)x − 2Σ(j−1)x
    b2 = ((x * j * (j - 1)).sum() - j * (j - 1) * x - 2.0 * (rank_sums_above - sums_above)) / (
        k * (k - 1) * (k - 2)
    )
    l1 = b0
    l2 = 2.0 * b1 - b0
    if model == "gpd":
        estimates = gpd_from_lmoments(l1, l2)
    else:
        estimates = gev_from_lmoments(l1, l2, 6.0 * b2 - 6.0 * b1 + b0)
    parameter_units = np.array([sample_unit, sample_unit, 1.0])[-estimates.shape[1] :]
    centred_estimates = estimates - estimates.mean(axis=0)
    return np.asarray(
        (n - 1)
        / n
        * centred_estimates.T
        @ centred_estimates
        * np.outer(parameter_units, parameter_units)
    )
