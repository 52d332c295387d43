"""Maximum likelihood for the generalised Pareto distribution, many samples at once.

With θ = ξ/σ and ν = 1/σ the negative log-likelihood of n excesses is

    n·[−log ν + (θ + ν)·D(θ)],   D(θ) = mean of log(1 + θy)/θ,

so that ν = 1/D(θ) and one variable is left (Grimshaw 1993). Inside, excesses are divided by their mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairstats.numerics.evt.minimise import minimise_over_tail
from fairstats.numerics.evt.stretch import mean_stretch, mean_stretch_of_one

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["GpdFits", "GpdSamples", "fit_gpd_samples"]

#: Below this shape the likelihood has no regular maximum (Smith 1985).
REGULAR_ABOVE = -0.5
#: With more excesses than this in all, the coarse search looks at about `_THIN_TO` of each sample.
_THIN_ABOVE, _THIN_TO = 2000, 200


@dataclass(frozen=True)
class GpdSamples:
    """Excesses of P samples, each divided by its mean.

    Attributes
    ----------
    y : ndarray of float, shape (P, N)
        Standardised excesses; rows shorter than N end in zeros.
    n : ndarray of float, shape (P,)
        Excesses per sample.
    unit : ndarray of float, shape (P,)
        The mean excess that they were divided by.
    largest : ndarray of float, shape (P,)
        Largest standardised excess.
    """

    y: Floats
    n: Floats
    unit: Floats
    largest: Floats

    @classmethod
    def from_excesses(cls, excesses: Floats, n: Floats | None = None) -> GpdSamples:
        """Standardise `excesses` of shape (P, N); `n` where rows end in padding zeros."""
        x = np.atleast_2d(np.asarray(excesses, dtype=np.float64))
        count = np.full(x.shape[0], float(x.shape[1])) if n is None else np.asarray(n, dtype=np.float64)
        unit = x.sum(axis=1) / count
        y = x / unit[:, None]
        return cls(y, count, unit, y.max(axis=1))

    def stretch(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """D(θ) and its two derivatives, for `theta` of shape (P, K)."""
        return mean_stretch(self.y, self.n, self.largest, theta)

    def thinned(self, step: int) -> GpdSamples:
        """Every `step`-th excess: enough to find the basin of the minimum (the end point stays)."""
        return GpdSamples(self.y[:, ::step], np.ceil(self.n / step), self.unit, self.largest)

    def take(self, rows: NDArray[np.intp]) -> GpdSamples:
        """The samples `rows` (all of them without a copy)."""
        if rows.size == self.n.size and (rows.size == 1 or np.array_equal(rows, np.arange(rows.size))):
            return self
        return GpdSamples(self.y[rows], self.n[rows], self.unit[rows], self.largest[rows])


@dataclass(frozen=True)
class GpdFits:
    """Maximum likelihood fits of P samples.

    Attributes
    ----------
    scale, shape : ndarray of float, shape (P,)
        σ and ξ (positive is heavy).
    nll : ndarray of float, shape (P,)
        Negative log-likelihood.
    at_boundary : ndarray of bool, shape (P,)
        Whether ξ = −1, σ = largest excess is the best point of the region ξ ≥ −1.
    theta, nu : ndarray of float, shape (P,)
        ξ/σ and 1/σ of the standardised excesses.
    covariance : ndarray of float, shape (P, 2, 2)
        Of (σ, ξ) by the observed information; NaN where ξ ≤ −1/2.
    """

    scale: Floats
    shape: Floats
    nll: Floats
    at_boundary: NDArray[np.bool_]
    theta: Floats
    nu: Floats
    covariance: Floats


def profile_in_theta(theta: Floats, d: tuple[Floats, Floats, Floats]) -> tuple[Floats, Floats, Floats]:
    """Negative log-likelihood per excess minimised over ν: log D + θD + 1, with slope and curvature in θ."""
    d0, d1, d2 = d
    ratio = d1 / d0
    return (
        np.log(d0) + theta * d0 + 1.0,
        ratio + d0 + theta * d1,
        d2 / d0 - ratio**2 + 2.0 * d1 + theta * d2,
    )


def fit_gpd_samples(samples: GpdSamples, *, covariance: bool = True) -> GpdFits:
    """Best point of every sample in the region ξ ≥ −1.

    For ξ < −1 the likelihood grows without bound as the end point approaches the largest excess, so the
    region ends at −1, where the best scale is the largest excess itself (Grimshaw 1993). The lowest
    interior minimum and that boundary point are compared; where the boundary wins, `at_boundary` is set.
    """

    def objective(rows: NDArray[np.intp], theta: Floats) -> tuple[Floats, Floats, Floats]:
        part = samples.take(rows)
        return profile_in_theta(theta, part.stretch(theta))

    low = np.zeros_like(samples.largest)
    minimum = minimise_over_tail(
        objective,
        low,
        samples.largest,
        np.log(samples.n),
        start=_start_from_thinned(samples),
        one=_objective_of_one(samples),
    )
    boundary = np.log(samples.largest)
    at_boundary = ~(minimum.value < boundary)
    theta = np.where(at_boundary, 0.0, minimum.theta)
    d = samples.stretch(theta[:, None])
    nu = np.where(at_boundary, 1.0 / samples.largest, 1.0 / d[0][:, 0])
    theta = np.where(at_boundary, -nu, theta)
    shape = np.where(at_boundary, -1.0, theta / nu)
    value = np.where(at_boundary, boundary, minimum.value)
    cov = np.full((samples.n.size, 2, 2), np.nan)
    if covariance:
        regular = shape > REGULAR_ABOVE
        cov[regular] = _covariance(samples, theta, nu, d)[regular]
    return GpdFits(
        samples.unit / nu,
        shape,
        samples.n * (value + np.log(samples.unit)),
        at_boundary,
        theta,
        nu,
        cov,
    )


def _objective_of_one(samples: GpdSamples) -> Callable[[float], tuple[float, float, float]] | None:
    """The objective of the only sample in plain numbers; None where there are several."""
    if samples.n.size > 1 or samples.n[0] < samples.y.shape[1]:
        return None
    y, largest = samples.y[0], float(samples.largest[0])

    def objective(theta: float) -> tuple[float, float, float]:
        d0, d1, d2 = mean_stretch_of_one(y, largest, theta)
        ratio = d1 / d0
        value = math.log(d0) + theta * d0 + 1.0
        return value, ratio + d0 + theta * d1, d2 / d0 - ratio**2 + 2.0 * d1 + theta * d2

    return objective


def _start_from_thinned(samples: GpdSamples) -> Floats | None:
    """θ from a few hundred excesses of each large sample, None where the samples are small."""
    rows, width = samples.y.shape
    if width <= 2 * _THIN_TO or rows * width <= _THIN_ABOVE:
        return None
    thin = samples.thinned(width // _THIN_TO)

    def objective(rows: NDArray[np.intp], theta: Floats) -> tuple[Floats, Floats, Floats]:
        part = thin.take(rows)
        return profile_in_theta(theta, part.stretch(theta))

    low = np.zeros_like(thin.largest)
    return minimise_over_tail(objective, low, thin.largest, np.log(samples.n)).theta


def _covariance(samples: GpdSamples, theta: Floats, nu: Floats, d: tuple[Floats, Floats, Floats]) -> Floats:
    """Inverse observed information of (θ, ν), carried to (σ, ξ) = (1/ν, θ/ν); shape (P, 2, 2)."""
    d1, d2 = d[1][:, 0], d[2][:, 0]
    n = samples.n
    h_tt, h_tv, h_vv = n * (2.0 * d1 + (theta + nu) * d2), n * d1, n / nu**2
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = h_tt * h_vv - h_tv**2
        v_tt, v_tv, v_vv = h_vv / determinant, -h_tv / determinant, h_tt / determinant
        sigma, xi = 1.0 / nu, theta / nu
        var_scale = sigma**4 * v_vv * samples.unit**2
        covar = -(sigma**2) * sigma * (v_tv - xi * v_vv) * samples.unit
        var_shape = sigma**2 * (v_tt - 2.0 * xi * v_tv + xi**2 * v_vv)
    covariance = np.empty((n.size, 2, 2))
    covariance[:, 0, 0], covariance[:, 1, 1] = var_scale, var_shape
    covariance[:, 0, 1] = covariance[:, 1, 0] = covar
    return covariance
