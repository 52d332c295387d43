"""Maximum likelihood for the generalised extreme value distribution, many samples at once.

With θ = ξ/σ', ν = 1/σ' and v = log(1 + θy)/θ of the centred maxima y, the distribution of v is Gumbel with
scale 1/ν, and its location has a closed form. The negative log-likelihood of n maxima, location eliminated,
is

    n·[−log ν + (θ + ν)·mean(v) + log mean(e^(−νv)) + 1],

convex in ν for fixed θ, which leaves one variable. Here σ' is the scale seen from the centre c of the data:
with q = 1/mean(e^(−νv)), σ = σ'·q^ξ and μ = c + σ'(q^ξ − 1)/ξ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairstats.numerics.evt.convex import minimise_convex
from fairstats.numerics.evt.gpd import REGULAR_ABOVE
from fairstats.numerics.evt.lmoments import gev_from_lmoments, sample_lmoments
from fairstats.numerics.evt.minimise import minimise_over_tail, tail_parameter
from fairstats.numerics.evt.stretch import (
    power_ratio,
    power_ratio_shape_derivative,
    stretch,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.intp]

__all__ = ["GevFits", "GevSamples", "fit_gev_samples", "gumbel_partials"]

_CHUNK = 1 << 16
#: Samples smaller than this are searched on the whole grid.
_SEARCH_BELOW = 30
#: Gumbel and three heavier tails, in units of log n.
_HEAVIER = np.array([0.0, 1.0, 2.0, 3.0])


@dataclass(frozen=True)
class GevSamples:
    """Block maxima of P samples, centred by the mean and divided by the standard deviation.

    Attributes
    ----------
    y : ndarray of float, shape (P, n)
        Standardised maxima.
    centre, unit : ndarray of float, shape (P,)
        Mean and standard deviation.
    smallest, largest : ndarray of float, shape (P,)
        Of the standardised maxima.
    """

    y: Floats
    centre: Floats
    unit: Floats
    smallest: Floats
    largest: Floats

    @classmethod
    def from_maxima(cls, maxima: Floats) -> GevSamples:
        """Standardise `maxima` of shape (P, n)."""
        x = np.atleast_2d(np.asarray(maxima, dtype=np.float64))
        centre = x.mean(axis=1)
        x = x - centre[:, None]
        unit = np.sqrt(np.mean((x / np.abs(x).max(axis=1)[:, None]) ** 2, axis=1)) * np.abs(x).max(axis=1)
        y = x / unit[:, None]
        return cls(y, centre, unit, y.min(axis=1), y.max(axis=1))

    @property
    def n(self) -> Floats:
        """Maxima per sample, shape (P,)."""
        return np.full(self.y.shape[0], float(self.y.shape[1]))

    def take(self, rows: Rows) -> GevSamples:
        """The samples `rows` (all of them without a copy)."""
        if rows.size == self.unit.size and (rows.size == 1 or np.array_equal(rows, np.arange(rows.size))):
            return self
        return GevSamples(
            self.y[rows], self.centre[rows], self.unit[rows], self.smallest[rows], self.largest[rows]
        )


@dataclass(frozen=True)
class GevFits:
    """Maximum likelihood fits of P samples.

    Attributes
    ----------
    location, scale, shape : ndarray of float, shape (P,)
        μ, σ, ξ (positive is heavy).
    nll : ndarray of float, shape (P,)
        Negative log-likelihood.
    at_boundary : ndarray of bool, shape (P,)
        Whether ξ = −1 with the end point at the largest maximum is the best point of the region ξ ≥ −1.
    unbounded : ndarray of bool, shape (P,)
        Whether there is no maximum at all: the likelihood rises towards ever heavier tails that start at the
        smallest value. Small or tied samples do that; all other fields mean nothing then.
    theta, nu : ndarray of float, shape (P,)
        θ and ν of the standardised maxima.
    covariance : ndarray of float, shape (P, 3, 3)
        Of (μ, σ, ξ) by the observed information; NaN where ξ ≤ −1/2.
    """

    location: Floats
    scale: Floats
    shape: Floats
    nll: Floats
    at_boundary: NDArray[np.bool_]
    unbounded: NDArray[np.bool_]
    theta: Floats
    nu: Floats
    covariance: Floats


def gumbel_partials(theta: Floats, nu: Floats, v: tuple[Floats, Floats, Floats]) -> tuple[Floats, ...]:
    """Mean negative log-likelihood with the location eliminated, and F_θ, F_ν, F_θθ, F_θν, F_νν.

    `v` are the stretched maxima and their θ-derivatives, the sample along the last axis; the others lack it.
    """
    v0, v1, v2 = v
    d0, d1, d2 = v0.mean(-1), v1.mean(-1), v2.mean(-1)
    low = v0.min(-1, keepdims=True)
    w = np.exp(-nu[..., None] * (v0 - low))
    total = w.sum(-1)
    w /= total[..., None]
    m0, m1, m2 = (w * v0).sum(-1), (w * v1).sum(-1), (w * v2).sum(-1)
    c0, c1 = v0 - m0[..., None], v1 - m1[..., None]
    both = theta + nu
    log_mean = np.log(total / v0.shape[-1]) - nu * low[..., 0]
    return (
        both * d0 - np.log(nu) + log_mean + 1.0,
        d0 + both * d1 - nu * m1,
        d0 - 1.0 / nu - m0,
        2.0 * d1 + both * d2 - nu * m2 + nu**2 * (w * c1 * c1).sum(-1),
        d1 - m1 + nu * (w * c0 * c1).sum(-1),
        1.0 / nu**2 + (w * c0 * c0).sum(-1),
    )


def best_gumbel_nu(v: Floats) -> Floats:
    """1/scale of the Gumbel distribution that fits `v` best (sample along the last axis)."""
    low = v.min(-1, keepdims=True)
    centred = v - low
    mean = centred.mean(-1)

    def derivatives(nu: Floats) -> tuple[Floats, Floats]:
        w = np.exp(-nu[..., None] * centred)
        w /= w.sum(-1, keepdims=True)
        m = (w * centred).sum(-1)
        second = (w * centred * centred).sum(-1) - m * m
        return mean - 1.0 / nu - m, 1.0 / nu**2 + second

    return minimise_convex(derivatives, np.pi / (np.sqrt(6.0) * centred.std(-1)))


def profile_in_theta(samples: GevSamples, theta: Floats) -> tuple[Floats, ...]:
    """Mean negative log-likelihood minimised over ν ≥ −θ, slope and curvature in θ, and ν; shape (P, K)."""
    rows, width = samples.y.shape
    out = np.empty((4, *theta.shape))
    step = max(1, _CHUNK // (width * theta.shape[1]))
    for first in range(0, rows, step):
        part = slice(first, first + step)
        t = theta[part]
        v = stretch(samples.y[part, None, :], t)
        nu = best_gumbel_nu(v[0])
        clamped = nu < -t
        nu = np.maximum(nu, -t)
        f, f_t, f_v, f_tt, f_tv, f_vv = gumbel_partials(t, nu, v)
        out[0, part] = f
        out[1, part] = np.where(clamped, f_t - f_v, f_t)
        out[2, part] = np.where(clamped, f_tt - 2.0 * f_tv + f_vv, f_tt - f_tv**2 / f_vv)
        out[3, part] = nu
    return tuple(out)


def fit_gev_samples(samples: GevSamples, *, covariance: bool = True) -> GevFits:
    """Best point of every sample in the region ξ ≥ −1.

    Below −1 the likelihood has no bound (the end point may approach the largest maximum); at −1 the best
    end point is the largest maximum and the best scale its mean distance from the others. Where that edge
    beats the lowest interior minimum, `at_boundary` is set.

    For ξ → ∞ it has no bound either: a scale that shrinks around the smallest maximum raises its density
    faster than log ξ lowers the others'. That is no estimate, so local maxima are sought; where there is
    none, and the edge is not the best point either, `unbounded` is set.
    """

    def objective(rows: Rows, theta: Floats) -> tuple[Floats, Floats, Floats]:
        with np.errstate(all="ignore"):
            f, slope, curvature, _ = profile_in_theta(samples.take(rows), theta)
        return f, slope, curvature

    log_n = np.log(samples.n)
    start = _start_from_lmoments(samples)
    found = minimise_over_tail(objective, samples.smallest, samples.largest, log_n, start)
    gap = samples.largest  # mean distance from the largest, since the mean is 0
    edge = np.log(gap) + 1.0
    at_boundary = ~(found.value < edge)
    unbounded = at_boundary.copy()
    unbounded[at_boundary] = _has_better_inside(samples, np.flatnonzero(at_boundary), edge, log_n)
    theta = np.where(at_boundary, 0.0, found.theta)
    value, _, _, nu = (a[:, 0] for a in profile_in_theta(samples, theta[:, None]))
    xi = np.where(at_boundary, -1.0, theta / nu)
    v = stretch(samples.y, theta)
    low = v[0].min(-1)
    log_q = low * nu - np.log(np.exp(-nu[:, None] * (v[0] - low[:, None])).mean(-1))
    location = np.where(at_boundary, 0.0, power_ratio(log_q, xi) / nu)
    scale = np.where(at_boundary, gap, np.exp(xi * log_q) / nu)
    nll = samples.n * (np.where(at_boundary, edge, value) + np.log(samples.unit))
    cov = np.full((samples.unit.size, 3, 3), np.nan)
    if covariance:
        regular = xi > REGULAR_ABOVE
        cov[regular] = _covariance(samples, theta, nu, log_q, v)[regular]
    top = samples.largest
    return GevFits(
        samples.centre + samples.unit * location,
        samples.unit * scale,
        xi,
        nll,
        at_boundary,
        unbounded,
        np.where(at_boundary, -1.0 / top, theta),
        np.where(at_boundary, 1.0 / top, nu),
        cov,
    )


def _has_better_inside(samples: GevSamples, rows: Rows, edge: Floats, log_n: Floats) -> NDArray[np.bool_]:
    """Whether points without a minimum near them, Gumbel's and heavier, beat the edge ξ = −1."""
    if not rows.size:
        return np.zeros(0, dtype=bool)
    part = samples.take(rows)
    phi = _HEAVIER * log_n[rows, None]
    theta, _, _ = tail_parameter(phi, part.smallest[:, None], part.largest[:, None])
    with np.errstate(all="ignore"):
        value = profile_in_theta(part, theta)[0]
    return np.asarray((value < edge[rows, None]).any(axis=1))


def _start_from_lmoments(samples: GevSamples) -> Floats | None:
    """θ of the L-moment fit; small samples, where it may miss the basin, are searched on the grid."""
    if samples.y.shape[1] < _SEARCH_BELOW:
        return None
    location, scale, shape = np.moveaxis(
        gev_from_lmoments(*sample_lmoments(np.sort(samples.y, axis=1))), -1, 0
    )
    return np.asarray(shape / (scale - shape * location))


def _covariance(
    samples: GevSamples, theta: Floats, nu: Floats, log_q: Floats, v: tuple[Floats, Floats, Floats]
) -> Floats:
    """Inverse observed information of (θ, ν, log q), carried to (μ, σ, ξ); shape (P, 3, 3).

    q = 1/mean e^(−νv), μ = (q^ξ − 1)/θ and σ = q^ξ/ν with ξ = θ/ν.
    """
    n, xi = samples.n, theta / nu
    f, _, _, f_tt, f_tv, f_vv = gumbel_partials(theta, nu, v)
    # F = n[(θ+ν)D − log ν − log q + q·mean e^(−νv)]: its Hessian at the optimum.
    w = np.exp(log_q[:, None] - nu[:, None] * v[0]) / v[0].shape[-1]  # sums to one
    m0, m1 = (w * v[0]).sum(-1), (w * v[1]).sum(-1)
    h_tq, h_vq, h_qq = -nu * m1, -m0, np.ones_like(f)
    h = np.empty((f.size, 3, 3))
    h[:, 0, 0] = f_tt + h_tq**2
    h[:, 0, 1] = h[:, 1, 0] = f_tv + h_tq * h_vq
    h[:, 1, 1] = f_vv + h_vq**2
    h[:, 0, 2] = h[:, 2, 0] = h_tq
    h[:, 1, 2] = h[:, 2, 1] = h_vq
    h[:, 2, 2] = h_qq
    power = np.exp(xi * log_q)
    ratio, ratio_xi = power_ratio(log_q, xi), power_ratio_shape_derivative(log_q, xi)
    xi_t, xi_v = 1.0 / nu, -xi / nu
    jacobian = np.empty((f.size, 3, 3))
    jacobian[:, 0, 0] = ratio_xi * xi_t / nu
    jacobian[:, 0, 1] = ratio_xi * xi_v / nu - ratio / nu**2
    jacobian[:, 0, 2] = power / nu
    jacobian[:, 1, 0] = power * log_q * xi_t / nu
    jacobian[:, 1, 1] = power * log_q * xi_v / nu - power / nu**2
    jacobian[:, 1, 2] = xi * power / nu
    jacobian[:, 2, 0] = xi_t
    jacobian[:, 2, 1] = xi_v
    jacobian[:, 2, 2] = 0.0
    units = np.stack([samples.unit, samples.unit, np.ones_like(samples.unit)], -1)
    jacobian *= units[:, :, None]
    with np.errstate(all="ignore"):
        information = h * n[:, None, None]
        good = np.isfinite(information).all((1, 2)) & (np.abs(np.linalg.det(h)) > 0)
        inverse = np.full_like(h, np.nan)
        inverse[good] = np.linalg.inv(information[good])
    return np.asarray(jacobian @ inverse @ jacobian.transpose(0, 2, 1))
