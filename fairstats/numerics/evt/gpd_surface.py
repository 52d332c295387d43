"""The likelihood of (rate λ, scale, shape) with the return level held fixed.

A return level r of m observations ties the rate to the tail: log(mλ) = ν·v(d; θ) with d = r − u, so the
negative log-likelihood is

    k·[−log ν + (θ + ν)·D(θ)] + R(ν·v(d; θ)),

R being the binomial or Poisson term for the number k of exceedances among N. For fixed θ it is convex in ν,
which leaves one variable.  The exceedance probability p of a value x is the same surface at m = 1/p, d = x
− u.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fairstats.numerics.evt.convex import minimise_convex
from fairstats.numerics.evt.gpd import GpdFits, GpdSamples, fit_gpd_samples, profile_in_theta
from fairstats.numerics.evt.stretch import stretch
from fairstats.numerics.evt.surface import SampleSurface

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.intp]
    Triple = tuple[Floats, Floats, Floats]

__all__ = ["GpdSurface", "RateTerm"]

RateTerm = Literal["binomial", "poisson", "fixed"]


@dataclass(frozen=True)
class GpdSurface(SampleSurface):
    """Likelihood of P samples, in units of the mean excess above the threshold.

    Attributes
    ----------
    samples : GpdSamples
        Standardised excesses.
    total : ndarray of float, shape (P,)
        N, the number of observations, exceeding or not.
    rate_term : {"binomial", "poisson", "fixed"}
        Law of the number of exceedances; "fixed" takes λ = k/N as known.
    fits : GpdFits
        Maximum likelihood fits.
    """

    samples: GpdSamples
    total: Floats
    rate_term: RateTerm
    fits: GpdFits

    @classmethod
    def from_samples(cls, samples: GpdSamples, total: Floats, rate_term: RateTerm) -> GpdSurface:
        """Fit the samples and wrap them."""
        return cls(samples, total, rate_term, fit_gpd_samples(samples, covariance=False))

    @property
    def lower(self) -> Floats:
        """Lower end of the data in standard units: the threshold."""
        return np.zeros_like(self.samples.largest)

    def minimum(self) -> Floats:
        """Lowest negative log-likelihood (standard units, rate term included), shape (P,)."""
        rate = self._rate(self.log_rate, self.n, self.total)[0]
        return self.fits.nll - self.n * np.log(self.samples.unit) + rate

    def boundary(self) -> Floats:
        """Lowest value with ξ = −1: end point at the largest excess, rate at its own maximum; shape (P,)."""
        return self.n * np.log(self.upper) + self._rate(self.log_rate, self.n, self.total)[0]

    def free(self, rows: Rows, theta: Floats) -> Triple:
        """Profile in θ alone, with slope and curvature; the rate at its own maximum."""
        part = self.samples.take(rows)
        n = part.n[:, None]
        d = part.stretch(theta)
        value, slope, curvature = profile_in_theta(theta, d)
        clamped = theta * d[0] < -1.0  # the region ends at ξ = −1: ν = −θ
        safe = np.where(clamped, theta, -1.0)
        value = np.where(clamped, -np.log(-safe), value)
        slope = np.where(clamped, -1.0 / safe, slope)
        curvature = np.where(clamped, 1.0 / safe**2, curvature)
        with np.errstate(divide="ignore"):
            log_rate = np.log(n / self.total[rows, None])
        return (
            n * value + self._rate(log_rate, n, self.total[rows, None])[0],
            n * slope,
            n * curvature,
        )

    def partials(self, rows: Rows, theta: Floats, nu: Floats) -> tuple[Floats, ...]:
        """F, F_θ, F_ν, F_θθ, F_θν, F_νν without the rate term; all of shape (rows, K)."""
        part = self.samples.take(rows)
        n = part.n[:, None]
        d0, d1, d2 = part.stretch(theta)
        return _excess_partials(n, theta, nu, d0, d1, d2)

    def level(self, rows: Rows, theta: Floats, d: Floats, offset: Floats) -> tuple[Floats, ...]:
        """Profile in θ with the return level at d, for log m = `offset`.

        Parameters
        ----------
        rows : ndarray of int, shape (Q,)
            Samples.
        theta : ndarray of float, shape (Q, K)
            θ.
        d, offset : ndarray of float, shape (Q,)
            Return level less threshold (standard units), and log m.

        Returns
        -------
        value, slope in θ, curvature in θ, slope in d, slope in log m, ν : ndarray of float, shape (Q, K)
        """
        part = self.samples.take(rows)
        n, total, log_m = part.n[:, None], self.total[rows, None], offset[:, None]
        d0, d1, d2 = part.stretch(theta)
        v0, v1, v2 = (a[..., 0] for a in stretch(d[:, None, None], theta))
        if self.rate_term == "fixed":
            return self._level_at_fixed_rate(n, total, log_m, theta, d[:, None], (d0, d1, d2), (v0, v1, v2))
        nu = self._best_nu(n, total, log_m, d0, v0)
        clamped = nu < -theta  # the region ends at ξ = −1
        nu = np.maximum(nu, -theta)
        s = nu * v0
        f, f_t, f_v, f_tt, f_tv, f_vv = _excess_partials(n, theta, nu, d0, d1, d2)
        r, r1, r2 = self._rate(s - log_m, n, total)
        f_t = f_t + r1 * nu * v1
        f_v = f_v + r1 * v0
        f_tt = f_tt + r2 * (nu * v1) ** 2 + r1 * nu * v2
        f_tv = f_tv + r2 * nu * v0 * v1 + r1 * v1
        f_vv = f_vv + r2 * v0**2
        slope = np.where(clamped, f_t - f_v, f_t)
        curvature = np.where(clamped, f_tt - 2.0 * f_tv + f_vv, f_tt - f_tv**2 / f_vv)
        return f + r, slope, curvature, r1 * nu / (1.0 + theta * d[:, None]), -r1, nu

    def whole(self, rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> Triple:
        """F, gradient (Q, 3) and Hessian (Q, 3, 3) in (θ, ν, ℓ = log λ) at points of shape (Q,)."""
        part = self.samples.take(rows)
        d = (a[:, 0] for a in part.stretch(theta[:, None]))
        f, f_t, f_v, f_tt, f_tv, f_vv = _excess_partials(part.n, theta, nu, *d)
        r, r1, r2 = self._rate(ell, part.n, self.total[rows])
        if self.rate_term == "fixed":
            r2 = np.ones_like(r2)  # ℓ stays where it is
        hessian = np.zeros((nu.size, 3, 3))
        hessian[:, 0, 0], hessian[:, 1, 1], hessian[:, 2, 2] = f_tt, f_vv, r2
        hessian[:, 0, 1] = hessian[:, 1, 0] = f_tv
        return f + r, np.stack([f_t, f_v, r1], -1), hessian

    @property
    def log_rate(self) -> Floats:
        """ℓ = log λ at the maximum."""
        return np.log(self.n / self.total)

    def inside(self, rows: Rows, ell: Floats) -> NDArray[np.bool_]:
        """Whether ℓ is a possible log rate."""
        return (ell < 0) | (self.rate_term == "poisson")

    def edge(self, rows: Rows, d: Floats, offset: Floats) -> Floats:
        """Value at ξ = −1 with the end point at the largest excess; +inf where d lies beyond it."""
        top, n = self.samples.largest[rows], self.samples.n[rows]
        if self.rate_term == "fixed":
            return np.full(rows.size, np.inf)
        inside = d < top
        gap = np.where(inside, 1.0 - np.where(inside, d, 0.0) / top, 1.0)
        log_rate = -np.log(gap) - offset
        with np.errstate(all="ignore"):
            value = n * np.log(top) + self._rate(log_rate, n, self.total[rows])[0]
        feasible = inside & ((log_rate < 0) | (self.rate_term == "poisson"))
        return np.where(feasible, value, np.inf)

    def _level_at_fixed_rate(
        self, n: Floats, total: Floats, log_m: Floats, theta: Floats, d: Floats, dd: Triple, vv: Triple
    ) -> tuple[Floats, ...]:
        """As `level`, with log(mλ) known: ν = log(mλ)/v(d; θ)."""
        (d0, d1, d2), (v0, v1, v2) = dd, vv
        s = log_m + np.log(n / total)
        nu = s / v0
        nu1 = -s * v1 / v0**2
        nu2 = -s * v2 / v0**2 + 2.0 * s * v1**2 / v0**3
        f, f_t, f_v, f_tt, f_tv, f_vv = _excess_partials(n, theta, nu, d0, d1, d2)
        slope = f_t + f_v * nu1
        curvature = f_tt + 2.0 * f_tv * nu1 + f_vv * nu1**2 + f_v * nu2
        in_d = f_v * (-s / v0**2) / (1.0 + theta * d)
        return f, slope, curvature, in_d, f_v / v0, nu

    def _rate(self, log_rate: Floats, k: Floats, total: Floats) -> Triple:
        """Negative log-likelihood of the rate, with two derivatives in log λ (zero where it is known)."""
        if self.rate_term == "fixed":
            zero = np.zeros_like(log_rate)
            return zero, zero, zero
        rate = np.exp(log_rate)
        if self.rate_term == "poisson":
            return total * rate - k * log_rate, total * rate - k, total * rate
        rest = total - k
        below = np.where(rest > 0, 1.0 - rate, 1.0)
        with np.errstate(divide="ignore"):
            value = -k * log_rate - np.where(rest > 0, rest * np.log(np.maximum(below, 0.0)), 0.0)
        return value, rest * rate / below - k, rest * rate / below**2

    def _best_nu(self, n: Floats, total: Floats, log_m: Floats, d0: Floats, v: Floats) -> Floats:
        """ν that minimises at fixed θ: between the optimum of the excesses, 1/D, and that of the rate."""
        wanted = log_m + np.log(n / total)  # log(mλ) at the rate's own optimum
        by_excess = 1.0 / d0
        tied = np.abs(v) > 1e-12 * d0
        safe = np.where(tied, v, 1.0)
        by_rate = np.where(tied, wanted / safe, by_excess)
        barrier = tied & (v > 0) & (self.rate_term == "binomial")
        cap = np.where(barrier, log_m / np.where(barrier, v, 1.0), np.inf)
        weight = wanted**2 / (1.0 + wanted**2)
        between = by_excess ** (1.0 - weight) * np.maximum(by_rate, 1e-300) ** weight
        start = np.where(by_rate > 0, between, 0.5 * by_excess)
        start = np.minimum(start, 0.5 * (cap + np.clip(by_rate, 0.0, cap)))

        def derivatives(nu: Floats) -> tuple[Floats, Floats]:
            _, r1, r2 = self._rate(nu * v - log_m, n, total)
            return n * (d0 - 1.0 / nu) + r1 * v, n / nu**2 + r2 * v**2

        return minimise_convex(derivatives, start, cap)


def _excess_partials(
    n: Floats, theta: Floats, nu: Floats, d0: Floats, d1: Floats, d2: Floats
) -> tuple[Floats, ...]:
    """n·[−log ν + (θ + ν)D] and its derivatives F_θ, F_ν, F_θθ, F_θν, F_νν."""
    both = theta + nu
    return (
        n * (both * d0 - np.log(nu)),
        n * (d0 + both * d1),
        n * (d0 - 1.0 / nu),
        n * (2.0 * d1 + both * d2),
        n * d1,
        n / nu**2,
    )
