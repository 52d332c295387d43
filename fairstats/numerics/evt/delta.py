"""Delta-method intervals for return levels, the variance of the rate included.

For r = u + σ·((mλ)^ξ − 1)/ξ the gradient in (σ, ξ, λ) is (((mλ)^ξ − 1)/ξ, σ·∂/∂ξ, σ·(mλ)^ξ/λ) (Coles 2001,
eq. 4.15). They are for display: the likelihood interval is skewed and covers better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairstats.numerics.evt.stretch import power_ratio, power_ratio_shape_derivative

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["excess_level_error", "maxima_level_error"]


def excess_level_error(
    scale: Floats, shape: Floats, covariance: Floats, rate: Floats, rate_variance: Floats, m: float
) -> Floats:
    """Standard error of the return level of m observations.

    Parameters
    ----------
    scale, shape : ndarray of float, shape (...)
        σ and ξ of the excesses.
    covariance : ndarray of float, shape (..., 2, 2)
        Of (σ, ξ).
    rate, rate_variance : ndarray of float, shape (...)
        λ and its variance: λ(1 − λ)/N binomial, λ/N Poisson, 0 where the rate is taken as known.
    m : float
        Observations.
    """
    s = np.log(m * rate)
    in_scale = power_ratio(s, shape)
    in_shape = scale * power_ratio_shape_derivative(s, shape)
    in_rate = scale * np.exp(shape * s) / rate
    variance = (
        in_scale**2 * covariance[..., 0, 0]
        + 2.0 * in_scale * in_shape * covariance[..., 0, 1]
        + in_shape**2 * covariance[..., 1, 1]
        + in_rate**2 * rate_variance
    )
    return np.sqrt(variance)


def maxima_level_error(scale: float, shape: float, covariance: Floats, log_period: float) -> float:
    """Standard error of a return level of block maxima; `covariance` of (μ, σ, ξ)."""
    s, xi = np.asarray(log_period), np.asarray(shape)
    gradient = np.array([1.0, float(power_ratio(s, xi)), scale * float(power_ratio_shape_derivative(s, xi))])
    return float(np.sqrt(gradient @ covariance @ gradient))
