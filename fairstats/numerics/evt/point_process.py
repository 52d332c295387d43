"""The point process of exceedances, as a transformed generalised Pareto fit.

With λ the rate of exceedances per observation and blocks of b observations, blocks have GEV maxima with the
parameters σ = σ_u·(bλ)^ξ and μ = u + (σ − σ_u)/ξ (Coles 2001, section 7.3); μ is the return level of b
observations. The maximum of the likelihood is that of the excesses with λ = k/N, which is independent of
them and has the Poisson variance λ/N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairstats.numerics.evt.stretch import power_ratio, power_ratio_shape_derivative

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["excess_covariance", "excess_parameters", "point_process_nll", "to_point_process"]


def to_point_process(
    params: Floats, covariance: Floats, threshold: float, k: int, total: int, block_size: float
) -> tuple[Floats, Floats]:
    """(μ, σ, ξ) and their covariance from (σ_u, ξ) and theirs.

    Parameters
    ----------
    params : ndarray of float, shape (2,)
        σ_u and ξ of the excesses.
    covariance : ndarray of float, shape (2, 2)
        Of (σ_u, ξ).
    threshold : float
        u.
    k, total : int
        Exceedances and observations.
    block_size : float
        b, observations in a block.

    Returns
    -------
    params, covariance : ndarray of float, shapes (3,) and (3, 3)

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt.point_process import to_point_process
    >>> params, _ = to_point_process(np.array([2.0, 0.0]), np.eye(2), 10.0, 50, 1000, 20.0)
    >>> params
    array([10.,  2.,  0.])
    """
    sigma_u, xi = params
    s = np.log(block_size * k / total)
    power = np.exp(xi * s)
    ratio = float(power_ratio(s, xi))
    ratio_xi = float(power_ratio_shape_derivative(s, xi))
    new = np.array([threshold + sigma_u * ratio, sigma_u * power, xi])
    # rows μ, σ, ξ; columns σ_u, ξ, log λ
    jacobian = np.array(
        [
            [ratio, sigma_u * ratio_xi, sigma_u * power],
            [power, sigma_u * power * s, sigma_u * power * xi],
            [0.0, 1.0, 0.0],
        ]
    )
    full = np.zeros((3, 3))
    full[:2, :2] = covariance
    full[2, 2] = 1.0 / k
    return new, jacobian @ full @ jacobian.T


def excess_parameters(params: Floats, threshold: float) -> Floats:
    """(σ_u, ξ) from (μ, σ, ξ): σ_u = σ + ξ(u − μ)."""
    location, scale, xi = params
    return np.array([scale + xi * (threshold - location), xi])


def excess_covariance(params: Floats, covariance: Floats, threshold: float) -> Floats:
    """Covariance of (σ_u, ξ) from that of (μ, σ, ξ)."""
    location, _, xi = params
    jacobian = np.array([[-xi, 1.0, threshold - location], [0.0, 0.0, 1.0]])
    return np.asarray(jacobian @ covariance @ jacobian.T)


def point_process_nll(excess_nll: float, k: int, total: int, block_size: float) -> float:
    """Negative log-likelihood of the process at λ = k/N, from that of the excesses."""
    return excess_nll - k * float(np.log(block_size * k / total)) + k
