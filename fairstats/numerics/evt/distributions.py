"""The two tail distributions as functions of arrays: densities, quantiles, draws, L-moments; ξ > 0 is a heavy tail.

v(y; θ) = log(1 + θy)/θ turns generalised Pareto excesses into exponential ones and block maxima into Gumbel ones
(θ = ξ/σ); at θ = 0 it is y itself. Near 0 the quotient cancels, so a power series takes over. `power_ratio` is its
inverse. L-moments (Hosking & Wallis 1987; Hosking 1985) come from the unbiased probability-weighted moments b_r of
the ordered sample; κ = −ξ is the papers' shape.
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

#: Where |θy| stays below this, the series of `_TERMS` terms is exact to rounding.
SMALL, _TERMS = 0.02, 12
#: Fewer excesses than this make a simulated or resampled sample useless.
LEAST_DRAWN = 5
#: Elements handled at a time, what fits the processor's cache; z at the end point of ξ = −1, up to rounding.
_CHUNK, _END = 1 << 16, 1.0 + 1e-12


def exponential_scale_partials(y: Floats, theta: Floats) -> Triple:
    """v(y; θ) = log(1 + θy)/θ with two derivatives in θ, each of shape (..., n).

    `y` has shape (..., n) with 1 + θy > 0; `theta`, one value for each row of it, broadcasts.
    """
    t = np.asarray(theta, dtype=np.float64)[..., None]
    near_zero = np.abs(t) * np.max(np.abs(y), axis=-1, keepdims=True) < SMALL
    safe = np.where(near_zero, 1.0, t)
    z = np.where(near_zero, 0.0, t * y)
    with np.errstate(divide="ignore", invalid="ignore"):  # a value at its end point, where 1 + θy rounds to 0
        v = np.log1p(z) / safe
        slope = y / (1.0 + z)
        first = (slope - v) / safe
        second = -(slope * slope + 2.0 * first) / safe
    if near_zero.any():
        which = near_zero[..., 0]
        series = _series(t[which], np.broadcast_to(y, v.shape)[which])
        for target, values in zip((v, first, second), series, strict=True):
            target[which] = values
    return v, first, second


def _series(t: Floats, y: Floats) -> Triple:
    """Taylor series v = Σ_j (−θ)^j y^(j+1)/(j+1) and its derivatives, by Horner from the top."""
    z = np.clip(t * y, -SMALL, SMALL)
    v, first, second = np.zeros((3, *z.shape))
    for j in range(_TERMS, -1, -1):
        c = (-1.0) ** j / (j + 1)
        v = v * z + c
        if j >= 1:
            first = first * z + j * c
        if j >= 2:
            second = second * z + j * (j - 1) * c
    return v * y, first * y**2, second * y**3


def mean_exponential_scale(y: Floats, n: Floats, largest: Floats, theta: Floats) -> Triple:
    """Row means D of v(y; θ) and of its first two derivatives, several θ for each row; shape (P, K).

    `y`, shape (P, N), is not negative; rows with `n` < N values end in zeros, which add nothing. `largest`, shape (P,);
    `theta`, shape (P, K). One logarithm and one reciprocal per value: the derivatives follow from row sums, since
    ``θ v' = y/(1+θy) − v`` and ``θ v'' = −(y/(1+θy))² − 2v'``.
    """
    rows, width = y.shape
    log_sum, slope_sum, square_sum = np.empty((3, *theta.shape))
    step = max(1, _CHUNK // max(1, theta.shape[1] * width))
    for start in range(0, rows, step):
        part = slice(start, start + step)
        block = y[part, None, :]
        z = theta[part, :, None] * block
        log_sum[part] = np.log1p(z).sum(axis=-1)
        slope = block / (1.0 + z)
        slope_sum[part] = slope.sum(axis=-1)
        square_sum[part] = np.einsum("...i,...i->...", slope, slope)
    count = n[:, None]
    near_zero = np.abs(theta) * largest[:, None] < SMALL
    some = near_zero.any()
    safe = np.where(near_zero, 1.0, theta) if some else theta
    mean = log_sum / count / safe
    first = (slope_sum / count - mean) / safe
    second = -(square_sum / count + 2.0 * first) / safe
    if some:
        row, column = np.nonzero(near_zero)
        series = _mean_series(theta[row, column], _moments(y, n, row))
        for target, values in zip((mean, first, second), series, strict=True):
            target[row, column] = values
    return mean, first, second


def _moments(y: Floats, n: Floats, row: Rows) -> Floats:
    """Row means of y, y², … for the rows asked for, shape (len(row), terms)."""
    rows, inverse = np.unique(row, return_inverse=True)
    power = block = y[rows]
    moments = np.empty((rows.size, _TERMS + 1))
    for j in range(_TERMS + 1):
        moments[:, j] = power.sum(axis=1)
        power = power * block
    return np.asarray((moments / n[rows, None])[inverse])


def _mean_series(theta: Floats, moments: Floats) -> Triple:
    """The same series for means: y^(j+1) replaced by its row mean."""
    j = np.arange(moments.shape[1])
    c = (-1.0) ** j / (j + 1) * moments
    powers, terms = theta[:, None] ** j, (c, j[1:] * c[:, 1:], j[2:] * (j[2:] - 1) * c[:, 2:])
    v, first, second = (np.einsum("ij,ij->i", powers[:, : term.shape[1]], term) for term in terms)
    return v, first, second


def power_ratio(s: Floats, shape: Floats) -> Floats:
    """``(e^(ξs) − 1)/ξ``, s itself at ξ = 0: the excess at s exponential units; +inf where it overflows."""
    s, xi = np.broadcast_arrays(np.asarray(s, dtype=np.float64), np.asarray(shape, dtype=np.float64))
    safe = np.where(np.abs(xi) < 1e-300, 1.0, xi)
    with np.errstate(over="ignore"):
        return np.where(np.abs(xi) < 1e-300, s, np.expm1(xi * s) / safe)


def power_ratio_shape_derivative(s: Floats, shape: Floats) -> Floats:
    """Derivative of `power_ratio` in ξ: ``(s e^(ξs) − power_ratio)/ξ``, s²/2 at ξ = 0."""
    s, xi = np.broadcast_arrays(np.asarray(s, dtype=np.float64), np.asarray(shape, dtype=np.float64))
    z = xi * s
    small = np.abs(z) < 1e-2
    series = s * s * (0.5 + z * (1 / 3 + z * (1 / 8 + z * (1 / 30 + z * (1 / 144 + z / 840)))))
    safe = np.where(small, 1.0, xi)
    with np.errstate(over="ignore", invalid="ignore"):
        direct = (s * np.exp(z) - np.expm1(z) / safe) / safe
        return np.where(small, series, direct)


def exponential_scale(z: Numbers, shape: Numbers) -> Floats:
    """log(1 + ξz)/ξ, z itself at ξ = 0; −inf below and +inf above the support."""
    z, xi = np.broadcast_arrays(np.asarray(z, dtype=np.float64), np.asarray(shape, dtype=np.float64))
    product = xi * z
    small = np.abs(product) < 1e-8
    safe = np.where(small, 1.0, xi)
    with np.errstate(divide="ignore", invalid="ignore"):
        direct = np.log1p(np.maximum(product, -1.0)) / safe
    return np.where(small, z * (1.0 - 0.5 * product), direct)


def gpd_logpdf(y: Numbers, scale: Numbers, shape: Numbers) -> Floats:
    """Log density of an excess; −inf outside the support."""
    z = np.asarray(y, dtype=np.float64) / scale
    e = exponential_scale(z, shape)
    inside = (z >= 0) & np.isfinite(e)
    # at ξ = −1 the density is constant up to its end point, which belongs to it
    flat = (np.asarray(shape) == -1.0) & (z >= 0) & (z <= _END)
    with np.errstate(invalid="ignore"):
        value = -np.log(scale) - (1.0 + np.asarray(shape)) * np.where(inside, e, 0.0)
    return np.where(inside | flat, value, -np.inf)


def random_excesses(rng: np.random.Generator, size: tuple[int, ...], scale: Numbers, shape: Numbers) -> Floats:
    """Random excesses of the given size; scale and shape broadcast to it."""
    return np.asarray(scale * power_ratio(rng.standard_exponential(size), np.asarray(shape)))


def random_samples(
    rng: np.random.Generator, n: Floats | Counts, scale: Numbers, shape: Numbers
) -> tuple[Floats, Floats]:
    """Samples of `n` random excesses, at least `LEAST_DRAWN`, one a row and filled up with zeros; and `n`."""
    n = np.maximum(n, LEAST_DRAWN)
    excesses = random_excesses(rng, (n.size, int(n.max())), scale, shape)
    excesses[np.arange(excesses.shape[1]) >= n[:, None]] = 0.0
    return excesses, n.astype(np.float64)


def gev_logpdf(x: Numbers, location: Numbers, scale: Numbers, shape: Numbers) -> Floats:
    """Log density of a block maximum; −inf outside the support."""
    z = (np.asarray(x, dtype=np.float64) - location) / scale
    e = exponential_scale(z, shape)
    inside = np.isfinite(e)
    flat = (np.asarray(shape) == -1.0) & (z <= _END)
    e = np.where(inside, e, 0.0)
    with np.errstate(over="ignore"):
        value = -np.log(scale) - (1.0 + np.asarray(shape)) * e - np.where(inside, np.exp(-e), 0.0)
    return np.where(inside | flat, value, -np.inf)


def sample_lmoments(ordered: Floats, n: Floats | None = None) -> Triple:
    """l₁, l₂, l₃ of samples sorted along the last axis (Hosking 1990, eqs. 2.1–2.3).

    `n` counts the values of each row where rows begin with zeros that fill them up.
    """
    width = ordered.shape[-1]
    size = np.full(ordered.shape[:-1], float(width)) if n is None else n
    j = np.arange(width) - (width - size[..., None])  # rank from 0 among the values that count
    b0 = ordered.sum(-1) / size
    b1 = (ordered * j).sum(-1) / (size * (size - 1))
    b2 = (ordered * (j * (j - 1))).sum(-1) / (size * (size - 1) * (size - 2))
    return b0, 2.0 * b1 - b0, 6.0 * b2 - 6.0 * b1 + b0


def gpd_from_lmoments(l1: Floats, l2: Floats) -> Floats:
    """σ and ξ of excesses: κ = l₁/l₂ − 2, σ = (1 + κ)·l₁; shape (..., 2)."""
    kappa = l1 / l2 - 2.0
    return np.stack([(1.0 + kappa) * l1, -kappa], -1)


def gev_from_lmoments(l1: Floats, l2: Floats, l3: Floats) -> Floats:
    """μ, σ and ξ of block maxima, shape (..., 3).

    κ ≈ 7.8590c + 2.9554c² with c = 2/(3 + l₃/l₂) − log 2/log 3: Hosking's (1985) approximation, within
    9·10⁻⁴ of the exact solution and what the R packages use.
    """
    c = 2.0 / (3.0 + l3 / l2) - np.log(2.0) / np.log(3.0)
    kappa = 7.8590 * c + 2.9554 * c**2
    safe = np.where(np.abs(kappa) < 1e-7, 1e-7, kappa)
    g = gamma(1.0 + safe)
    scale = l2 * safe / (-np.expm1(-safe * np.log(2.0)) * g)
    location = l1 - scale * (1.0 - g) / safe
    return np.stack([location, scale, -safe], -1)


def jackknife_covariance(sample: Floats, model: str) -> Floats:
    """Covariance of the L-moment estimates by leaving out one value of the sample at a time; shape (p, p).

    `model` is "gpd" (a sample of excesses) or "gev" (block maxima). Sums without one value are those of the whole
    less its share, with the ranks above it moved down by one: cumulative sums give all n of them in O(n).
    """
    centre = float(sample.mean()) if model == "gev" else 0.0
    unit = float(np.max(np.abs(sample - centre))) if model == "gev" else float(sample.mean())
    x = np.sort((sample - centre) / unit)
    n, k = x.size, x.size - 1
    j = np.arange(n, dtype=np.float64)
    above1 = np.cumsum(x[::-1])[::-1] - x
    above2 = np.cumsum((x * j)[::-1])[::-1] - x * j
    b0 = (x.sum() - x) / k
    b1 = ((x * j).sum() - j * x - above1) / (k * (k - 1))
    # Σ j(j−1)x over ranks above i falls to Σ (j−1)(j−2)x = Σ j(j−1)x − 2Σ(j−1)x
    b2 = ((x * j * (j - 1)).sum() - j * (j - 1) * x - 2.0 * (above2 - above1)) / (k * (k - 1) * (k - 2))
    l1, l2 = b0, 2.0 * b1 - b0
    estimates = gpd_from_lmoments(l1, l2) if model == "gpd" else gev_from_lmoments(l1, l2, 6.0 * b2 - 6.0 * b1 + b0)
    units = np.array([unit, unit, 1.0])[-estimates.shape[1] :]
    centred = estimates - estimates.mean(axis=0)
    return np.asarray((n - 1) / n * centred.T @ centred * np.outer(units, units))
