"""How far the ends of an estimated region are from those that infinitely many draws would give.

Let x_1 … x_m be the ends of R = {f ≥ f_α}, s_k = |f'(x_k)|, and draws X_1 … X_n independent. To first
order the level and an end move with draw i by

    δ_i = [ (1{X_i ∈ R} − prob)/f_α + Σ_k (K_h(x_k − X_i) − f(x_k))/s_k ] / Σ_k 1/s_k,
    Δ_ik = [ K_h(x_k − X_i) − f(x_k) − δ_i ]/s_k        (outwards positive),

because the share of the draws in the region is held at `prob`. The Monte Carlo error is the standard
deviation of these influence values over √n (infinitesimal jackknife). It covers the noise of the kernel
estimate at the end, of the level, and their covariance; the bandwidth is held fixed, and smoothing bias
is no Monte Carlo error.

The mass the region gains or loses at its boundary makes up for the draws in it, and the density there is f_α:
length (or area, in any dimension) therefore has the error √(prob(1 − prob)/n)/f_α.

The asymptotic displacement is in Samworth and Wand (2010), Annals of Statistics 38, section 2.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fairstats.numerics.hdr.contract import FloatArray
from fairstats.numerics.hdr.scipy_backend import gaussian

__all__ = ["displacement_errors", "level_error", "size_error"]

#: A slope below this share of f_α per bandwidth is flat: the end is not determined.
FLAT = 1e-6


def displacement_errors(
    samples: FloatArray,
    in_region: NDArray[np.bool_],
    ends: FloatArray,
    slopes: FloatArray,
    level: float,
    bandwidth: float,
    support: tuple[float, float],
) -> tuple[FloatArray, float]:
    """Monte Carlo errors of the ends of a region and of its level.

    Parameters
    ----------
    samples : array, shape (n,)
        Draws.
    in_region : array of bool, shape (n,)
        Whether each draw lies in the region.
    ends, slopes : array, shape (m,)
        Ends inside the support, and the slope of the density there.
    level : float
        f_α.
    bandwidth : float
        Of the kernel.
    support : tuple of float
        Bounds at which the kernel is reflected.

    Returns
    -------
    errors : array, shape (m,)
        In the units of the samples; infinite where the density is flat.
    level_error : float
        Of f_α.
    """
    n = samples.size
    steep = np.abs(slopes)
    steep = np.where(steep > FLAT * level / bandwidth, steep, 0.0)
    if ends.size == 0 or not steep.all():
        return np.full(ends.size, math.inf), math.inf
    kernels = np.empty((ends.size, n))
    for k, end in enumerate(ends):
        kernels[k] = gaussian(samples - end, bandwidth)
        for bound in support:
            if math.isfinite(bound):
                kernels[k] += gaussian(2 * bound - samples - end, bandwidth)
    kernels -= kernels.mean(axis=1, keepdims=True)
    inside = (in_region.astype(np.float64) - in_region.mean()) / level
    shift = (inside + (kernels / steep[:, None]).sum(axis=0)) / (1 / steep).sum()
    moves = (kernels - shift) / steep[:, None]
    errors: FloatArray = moves.std(axis=1) / math.sqrt(n)
    return errors, float(shift.std()) / math.sqrt(n)


def level_error(at_samples: FloatArray, prob: float) -> float:
    """Monte Carlo error of f_α as a quantile of a given density at the draws (Woodruff's order statistics).

    Half the distance between the quantiles at 1 − prob ± √(prob(1 − prob)/n).

    Examples
    --------
    >>> import numpy as np
    >>> round(level_error(np.arange(401.0), 0.5), 2)
    9.99
    """
    error = math.sqrt(prob * (1 - prob) / at_samples.size)
    around = np.clip([1 - prob - error, 1 - prob + error], 0.0, 1.0)
    low, high = np.quantile(at_samples, around)
    return float(high - low) / 2


def size_error(prob: float, n: int, level: float) -> float:
    """Monte Carlo error of a region's length, area or volume: √(prob(1 − prob)/n)/f_α."""
    return math.sqrt(prob * (1 - prob) / n) / level if level > 0 else math.inf
