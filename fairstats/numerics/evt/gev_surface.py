"""The extreme value likelihood with a return level held fixed.

With q = 1/mean(e^(−νv)) free, n maxima have the negative log-likelihood n·[−log ν + (θ + ν)·mean(v) − log q
+ q·mean(e^(−νv))]. The level r exceeded by a block maximum with probability 1/m ties q to the tail: log q =
ν·v(d; θ) − τ, d being r less the centre of the data and τ = −log(−log(1 − 1/m)) ≈ log m. What is left is
convex in ν for fixed θ. The location parameter is the level with τ = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairstats.numerics.evt.convex import minimise_convex
from fairstats.numerics.evt.gev import (
    GevFits,
    GevSamples,
    fit_gev_samples,
    gumbel_partials,
    profile_in_theta,
)
from fairstats.numerics.evt.stretch import stretch
from fairstats.numerics.evt.surface import SampleSurface

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.intp]
    Triple = tuple[Floats, Floats, Floats]

__all__ = ["GevSurface"]

#: Elements handled at a time: what fits the processor's cache.
_CHUNK = 1 << 16


@dataclass(frozen=True)
class GevSurface(SampleSurface):
    """Likelihood of P samples of block maxima, standardised.

    Attributes
    ----------
    samples : GevSamples
        Standardised maxima.
    fits : GevFits
        Maximum likelihood fits.
    """

    samples: GevSamples
    fits: GevFits

    @classmethod
    def from_samples(cls, samples: GevSamples) -> GevSurface:
        """Fit the samples and wrap them."""
        return cls(samples, fit_gev_samples(samples, covariance=False))

    @property
    def lower(self) -> Floats:
        """Smallest standardised maximum."""
        return self.samples.smallest

    def minimum(self) -> Floats:
        """Lowest negative log-likelihood in standard units, shape (P,)."""
        return self.fits.nll - self.n * np.log(self.samples.unit)

    def boundary(self) -> Floats:
        """Lowest value with ξ = −1: the end point at the largest maximum; shape (P,)."""
        return self.n * (np.log(self.upper) + 1.0)

    def free(self, rows: Rows, theta: Floats) -> Triple:
        """Profile in θ alone, with slope and curvature."""
        part = self.samples.take(rows)
        n = part.n[:, None]
        value, slope, curvature, _ = profile_in_theta(part, theta)
        return n * value, n * slope, n * curvature

    def partials(self, rows: Rows, theta: Floats, nu: Floats) -> tuple[Floats, ...]:
        """F, F_θ, F_ν, F_θθ, F_θν, F_νν with the location eliminated, shape (rows, K)."""
        part = self.samples.take(rows)
        n = part.n[:, None]
        return tuple(n * f for f in gumbel_partials(theta, nu, stretch(part.y[:, None, :], theta)))

    def level(self, rows: Rows, theta: Floats, d: Floats, offset: Floats) -> tuple[Floats, ...]:
        """Profile in θ with the level at d for τ = `offset`; see `GpdSurface.level`."""
        part = self.samples.take(rows)
        out = np.empty((6, *theta.shape))
        step = max(1, _CHUNK // (part.y.shape[1] * theta.shape[1]))
        for first in range(0, rows.size, step):
            some = slice(first, first + step)
            out[:, some] = _level(part.y[some], theta[some], d[some], offset[some])
        return tuple(out)

    def whole(self, rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> Triple:
        """F, gradient and Hessian in (θ, ν, ℓ = log q), nothing eliminated; see `GpdSurface.whole`."""
        part = self.samples.take(rows)
        v0, v1, v2 = stretch(part.y, theta)
        d0, d1, d2 = v0.mean(-1), v1.mean(-1), v2.mean(-1)
        e = np.exp(ell[:, None] - nu[:, None] * v0)
        e0, ev0, ev1 = e.mean(-1), (e * v0).mean(-1), (e * v1).mean(-1)
        both = theta + nu
        f = both * d0 - np.log(nu) - ell + e0
        gradient = np.stack([d0 + both * d1 - nu * ev1, d0 - 1.0 / nu - ev0, e0 - 1.0], -1)
        hessian = np.empty((nu.size, 3, 3))
        hessian[:, 0, 0] = 2.0 * d1 + both * d2 - nu * (e * v2).mean(-1) + nu**2 * (e * v1 * v1).mean(-1)
        hessian[:, 0, 1] = hessian[:, 1, 0] = d1 - ev1 + nu * (e * v0 * v1).mean(-1)
        hessian[:, 1, 1] = 1.0 / nu**2 + (e * v0 * v0).mean(-1)
        hessian[:, 0, 2] = hessian[:, 2, 0] = -nu * ev1
        hessian[:, 1, 2] = hessian[:, 2, 1] = -ev0
        hessian[:, 2, 2] = e0
        n = part.n
        return n * f, n[:, None] * gradient, n[:, None, None] * hessian

    @property
    def log_rate(self) -> Floats:
        """ℓ = log q at the maximum, q = 1/mean e^(−νv)."""
        v = stretch(self.samples.y, self.theta)[0]
        low = v.min(-1)
        mean = np.exp(-self.nu[:, None] * (v - low[:, None])).mean(-1)
        return np.asarray(low * self.nu - np.log(mean))

    def inside(self, rows: Rows, ell: Floats) -> NDArray[np.bool_]:
        """Every log q is possible."""
        return np.isfinite(ell)

    def edge(self, rows: Rows, d: Floats, offset: Floats) -> Floats:
        """Value at ξ = −1 with the end point at the largest maximum; +inf where d lies beyond it."""
        part = self.samples.take(rows)
        top = part.largest
        inside = d < top
        gap = np.where(inside, top - d, 1.0)
        # t = (top − y)/σ with σ chosen so that t(d) = e^(−τ)
        with np.errstate(all="ignore"):
            scale = gap * np.exp(offset)
            value = part.n * (np.log(scale) + top / scale)  # the mean of y is 0
        return np.where(inside, value, np.inf)


def _level(y: Floats, theta: Floats, d: Floats, offset: Floats) -> tuple[Floats, ...]:
    """`GevSurface.level` of a few samples: value, slope, curvature, slopes in d and τ, ν."""
    v = stretch(y[:, None, :], theta)
    at0, at1, at2 = (x[..., 0] for x in stretch(d[:, None, None], theta))
    nu = _best_nu(v[0], at0, -offset[:, None])
    clamped = nu < -theta
    nu = np.maximum(nu, -theta)
    gap = nu[..., None] * (at0[..., None] - v[0]) - offset[:, None, None]
    f, f_t, f_v, f_d, f_a, f_tt, f_tv, f_vv = _level_partials(theta, nu, d[:, None], v, (at0, at1, at2), gap)
    n = float(y.shape[1])
    slope = np.where(clamped, f_t - f_v, f_t)
    curvature = np.where(clamped, f_tt - 2.0 * f_tv + f_vv, f_tt - f_tv**2 / f_vv)
    return n * (f + offset[:, None]), n * slope, n * curvature, n * f_d, -n * f_a, nu


def _best_nu(v: Floats, at: Floats, a: Floats) -> Floats:
    """ν that minimises at fixed θ, shape of `at`; a = −τ."""
    gap = at[..., None] - v
    mean = gap.mean(-1)

    def derivatives(nu: Floats) -> tuple[Floats, Floats]:
        e = np.exp(np.minimum(a[..., None] + nu[..., None] * gap, 500.0))
        return (e * gap).mean(-1) - mean - 1.0 / nu, 1.0 / nu**2 + (e * gap * gap).mean(-1)

    return minimise_convex(derivatives, np.pi / (np.sqrt(6.0) * v.std(-1)))


def _level_partials(
    theta: Floats, nu: Floats, d: Floats, v: Triple, at: Triple, log_e: Floats
) -> tuple[Floats, ...]:
    """Mean of F (less τ): value, F_θ, F_ν, F_d, −F_τ, F_θθ, F_θν, F_νν; `log_e` = ν(v(d) − v) − τ."""
    v0, v1, v2 = v
    a0, a1, a2 = at
    e = np.exp(log_e)
    g0, g1, g2 = a0[..., None] - v0, a1[..., None] - v1, a2[..., None] - v2
    d0, d1, d2 = v0.mean(-1), v1.mean(-1), v2.mean(-1)
    both = theta + nu
    e0, eg0, eg1 = e.mean(-1), (e * g0).mean(-1), (e * g1).mean(-1)
    return (
        both * d0 - np.log(nu) - nu * a0 + e0,
        d0 + both * d1 - nu * a1 + nu * eg1,
        d0 - 1.0 / nu - a0 + eg0,
        nu / (1.0 + theta * d) * (e0 - 1.0),
        e0 - 1.0,
        2.0 * d1 + both * d2 - nu * a2 + nu * (e * g2).mean(-1) + nu**2 * (e * g1 * g1).mean(-1),
        d1 - a1 + eg1 + nu * (e * g0 * g1).mean(-1),
        1.0 / nu**2 + (e * g0 * g0).mean(-1),
    )
