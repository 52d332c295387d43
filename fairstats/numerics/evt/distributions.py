"""The two tail distributions as functions of arrays: densities, distribution functions, quantiles, draws.

ξ > 0 is a heavy tail. SciPy's `genpareto` has the same sign, its `genextreme` the opposite one; neither is
used here, so that nothing needs converting, the exponential limit is continuous, and arrays of samples cost
one call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairstats.numerics.evt.stretch import power_ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Numbers = Floats | float

__all__ = [
    "exponential_scale",
    "gev_cdf",
    "gev_logpdf",
    "gev_quantile",
    "gev_sf",
    "gpd_cdf",
    "gpd_logpdf",
    "gpd_quantile",
    "gpd_sf",
    "random_excesses",
]

#: z at the end point of ξ = −1, up to rounding.
_END = 1.0 + 1e-12


def exponential_scale(z: Numbers, shape: Numbers) -> Floats:
    """log(1 + ξz)/ξ, z itself at ξ = 0; −inf below and +inf above the support."""
    z, xi = np.broadcast_arrays(np.asarray(z, dtype=np.float64), np.asarray(shape, dtype=np.float64))
    product = xi * z
    small = np.abs(product) < 1e-8
    safe = np.where(small, 1.0, xi)
    with np.errstate(divide="ignore", invalid="ignore"):
        direct = np.log1p(np.maximum(product, -1.0)) / safe
    return np.where(small, z * (1.0 - 0.5 * product), direct)


def gpd_cdf(y: Numbers, scale: Numbers, shape: Numbers) -> Floats:
    """P(excess ≤ y) = 1 − (1 + ξy/σ)^(−1/ξ)."""
    z = np.maximum(np.asarray(y, dtype=np.float64) / scale, 0.0)
    return -np.expm1(-exponential_scale(z, shape))


def gpd_sf(y: Numbers, scale: Numbers, shape: Numbers) -> Floats:
    """P(excess > y) = (1 + ξy/σ)^(−1/ξ)."""
    z = np.maximum(np.asarray(y, dtype=np.float64) / scale, 0.0)
    return np.exp(-exponential_scale(z, shape))


def gpd_logpdf(y: Numbers, scale: Numbers, shape: Numbers) -> Floats:
    """Log density of an excess; −inf outside the support.

    Examples
    --------
    >>> from fairstats.numerics.evt.distributions import gpd_logpdf
    >>> float(gpd_logpdf(2.0, 1.0, 0.0))
    -2.0
    """
    z = np.asarray(y, dtype=np.float64) / scale
    e = exponential_scale(z, shape)
    inside = (z >= 0) & np.isfinite(e)
    # at ξ = −1 the density is constant up to its end point, which belongs to it
    flat = (np.asarray(shape) == -1.0) & (z >= 0) & (z <= _END)
    with np.errstate(invalid="ignore"):
        value = -np.log(scale) - (1.0 + np.asarray(shape)) * np.where(inside, e, 0.0)
    return np.where(inside | flat, value, -np.inf)


def gpd_quantile(p: Numbers, scale: Numbers, shape: Numbers) -> Floats:
    """Excess that is not exceeded with probability p: σ((1 − p)^(−ξ) − 1)/ξ."""
    with np.errstate(divide="ignore"):
        return np.asarray(scale * power_ratio(-np.log1p(-np.asarray(p, dtype=np.float64)), np.asarray(shape)))


def random_excesses(
    rng: np.random.Generator, size: tuple[int, ...], scale: Numbers, shape: Numbers
) -> Floats:
    """Random excesses of the given size; scale and shape broadcast to it."""
    return np.asarray(scale * power_ratio(rng.standard_exponential(size), np.asarray(shape)))


def gev_cdf(x: Numbers, location: Numbers, scale: Numbers, shape: Numbers) -> Floats:
    """P(block maximum ≤ x) = exp(−(1 + ξ(x − μ)/σ)^(−1/ξ))."""
    z = (np.asarray(x, dtype=np.float64) - location) / scale
    with np.errstate(over="ignore"):
        return np.exp(-np.exp(-exponential_scale(z, shape)))


def gev_sf(x: Numbers, location: Numbers, scale: Numbers, shape: Numbers) -> Floats:
    """P(block maximum > x)."""
    z = (np.asarray(x, dtype=np.float64) - location) / scale
    with np.errstate(over="ignore"):
        return -np.expm1(-np.exp(-exponential_scale(z, shape)))


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


def gev_quantile(p: Numbers, location: Numbers, scale: Numbers, shape: Numbers) -> Floats:
    """Level that a block maximum does not exceed with probability p."""
    with np.errstate(divide="ignore"):
        s = -np.log(-np.log(np.asarray(p, dtype=np.float64)))
    return np.asarray(location + scale * power_ratio(s, np.asarray(shape)))
