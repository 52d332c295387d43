"""Maximum likelihood for the generalised Pareto distribution, many samples at once.

With θ = ξ/σ and ν = 1/σ that of n excesses is n·[−log ν + (θ + ν)·D(θ)], D(θ) the mean of v(y; θ) = log(1 + θy)/θ, so
that ν = 1/D(θ) and one variable is left (Grimshaw 1993). The rate λ = e^ℓ of exceedances adds a binomial or Poisson
term R(ℓ). A return level r of m observations ties the rate to the tail: log(mλ) = ν·v(r − u; θ), and for fixed θ the
sum is convex in ν, which leaves one variable again. The exceedance probability p of a value x is the same at m = 1/p,
r = x.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fairstats.numerics.evt import distributions as law
from fairstats.numerics.evt.distributions import SMALL, Flags, Floats, Numbers, Rows, Triple
from fairstats.numerics.evt.likelihood import REGULAR_ABOVE, SampleFits, SampleLikelihood, Samples, coles_dixon
from fairstats.numerics.evt.optimise import OneObjective, minimise_convex, minimise_over_tail

RateTerm = Literal["binomial", "poisson", "fixed"]

#: With more excesses than this in all, the coarse search looks at about `_THIN_TO` of each sample.
_THIN_ABOVE, _THIN_TO = 2000, 200


def mean_partials(samples: Samples, theta: Floats) -> Triple:
    """D(θ) and its two derivatives, for `theta` of shape (P, K)."""
    return law.mean_exponential_scale(samples.y, samples.n, samples.upper, theta)


def profile_in_theta(theta: Floats, d: Triple) -> Triple:
    """Negative log-likelihood per excess minimised over ν: log D + θD + 1, with slope and curvature in θ."""
    d0, d1, d2 = d
    ratio = d1 / d0
    return (np.log(d0) + theta * d0 + 1.0, ratio + d0 + theta * d1, d2 / d0 - ratio**2 + 2.0 * d1 + theta * d2)


def fit_gpd_samples(samples: Samples, *, covariance: bool = True, penalised: bool = False) -> SampleFits:
    """Best point of every sample of excesses in the region ξ ≥ −1.

    For ξ < −1 the likelihood grows without bound as the end point approaches the largest excess, so the region ends at
    −1, where the best scale is the largest excess itself (Grimshaw 1993); `at_boundary` where that point is better than
    the lowest interior minimum. `penalised`: by the likelihood of Coles and Dixon; `nll` is without the penalty.
    """
    inner, lowest = _interior_minimum(samples, np.log(samples.n), _start_from_thinned(samples))
    boundary = np.log(samples.upper)
    at_boundary = ~(lowest < boundary)
    theta = np.where(at_boundary, 0.0, inner)
    d = mean_partials(samples, theta[:, None])
    nu = np.where(at_boundary, 1.0 / samples.upper, 1.0 / d[0][:, 0])
    theta = np.where(at_boundary, -nu, theta)
    shape = np.where(at_boundary, -1.0, theta / nu)
    nll = samples.n * (np.where(at_boundary, boundary, lowest) + np.log(samples.unit))
    cov = np.full((samples.n.size, 2, 2), np.nan)
    if covariance:
        regular = shape > REGULAR_ABOVE
        cov[regular] = _covariance(samples, theta, nu, d)[regular]
    params = np.stack([samples.unit / nu, shape], -1)
    fits = SampleFits(params, nll, at_boundary, np.zeros_like(at_boundary), theta, nu, cov)
    return _penalised(samples, fits) if penalised else fits


def _penalised(samples: Samples, fits: SampleFits) -> SampleFits:
    """The fits with the penalised estimates where these differ."""
    rows, shape, nu, extra = coles_dixon(GpdLikelihood(samples, fits, samples.n, "fixed"))
    part, theta = samples.take(rows), shape * nu
    d = mean_partials(part, theta[:, None])
    nll = part.n * ((theta + nu) * d[0][:, 0] - np.log(nu) + np.log(part.unit))
    changed = {"params": np.stack([part.unit / nu, shape], -1), "nll": nll, "theta": theta, "nu": nu}
    return fits.with_rows(rows, {**changed, "covariance": _covariance(part, theta, nu, d, extra)})


def _interior_minimum(samples: Samples, log_n: Floats, start: Floats | None = None) -> tuple[Floats, Floats]:
    def objective(rows: Rows, theta: Floats) -> Triple:
        return profile_in_theta(theta, mean_partials(samples.take(rows), theta))

    one = _objective_of_one(samples) if log_n.size == 1 and samples.n[0] == samples.y.shape[1] else None
    return minimise_over_tail(objective, samples.lower, samples.upper, log_n, start, one)


def _objective_of_one(samples: Samples) -> OneObjective:
    """`profile_in_theta` of an only sample in plain numbers."""
    y, largest = samples.y[0], float(samples.upper[0])

    def objective(theta: float) -> tuple[float, float, float]:
        if abs(theta) * largest < SMALL:
            f, slope, curvature = profile_in_theta(t := np.array([[theta]]), mean_partials(samples, t))
            return float(f[0, 0]), float(slope[0, 0]), float(curvature[0, 0])
        z = theta * y
        d0 = float(np.log1p(z).sum()) / y.size / theta
        z += 1.0
        slopes = y / z
        d1 = (float(slopes.sum()) / y.size - d0) / theta
        d2 = -(float(slopes @ slopes) / y.size + 2.0 * d1) / theta
        ratio, value = d1 / d0, math.log(d0) + theta * d0 + 1.0
        return value, ratio + d0 + theta * d1, d2 / d0 - ratio**2 + 2.0 * d1 + theta * d2

    return objective


def _start_from_thinned(samples: Samples) -> Floats | None:
    """θ by every so many-th excess of large samples, enough to find the basin; None where all are small."""
    rows, width = samples.y.shape
    if width <= 2 * _THIN_TO or rows * width <= _THIN_ABOVE:
        return None
    step = width // _THIN_TO
    thin = replace(samples, y=samples.y[:, ::step], n=np.ceil(samples.n / step))
    return _interior_minimum(thin, np.log(samples.n))[0]


def _covariance(
    samples: Samples, theta: Floats, nu: Floats, d: Triple, extra: tuple[Numbers, ...] = (0.0, 0.0, 0.0)
) -> Floats:
    """Inverse observed information of (θ, ν), with what a penalty adds, carried to (σ, ξ) = (1/ν, θ/ν)."""
    d1, d2, n = d[1][:, 0], d[2][:, 0], samples.n
    h_tt, h_tv = n * (2.0 * d1 + (theta + nu) * d2) + extra[0], n * d1 + extra[1]
    h_vv = n / nu**2 + extra[2]
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = h_tt * h_vv - h_tv**2
        v_tt, v_tv, v_vv = h_vv / determinant, -h_tv / determinant, h_tt / determinant
        sigma, xi = 1.0 / nu, theta / nu
        var_scale = sigma**4 * v_vv * samples.unit**2
        covar = -(sigma**2) * sigma * (v_tv - xi * v_vv) * samples.unit
        var_shape = sigma**2 * (v_tt - 2.0 * xi * v_tv + xi**2 * v_vv)
    return np.stack([var_scale, covar, covar, var_shape], -1).reshape(-1, 2, 2)


@dataclass(frozen=True)
class GpdLikelihood(SampleLikelihood):
    """Likelihood of excesses and of their number, in units of the mean excess above the threshold.

    `total`, shape (P,): N, the number of observations, exceeding or not; `rate_term`: law of the number of exceedances;
    "fixed" takes λ = k/N as known.
    """

    samples: Samples
    fits: SampleFits
    total: Floats
    rate_term: RateTerm

    @classmethod
    def from_samples(cls, samples: Samples, total: Floats, rate_term: RateTerm) -> GpdLikelihood:
        """Fit the samples and wrap them."""
        return cls(samples, fit_gpd_samples(samples, covariance=False), total, rate_term)

    @property
    def rate_known(self) -> bool:
        """Whether λ = k/N is taken as known."""
        return self.rate_term == "fixed"

    @property
    def log_rate(self) -> Floats:
        """ℓ = log λ at the maximum, shape (P,)."""
        return np.log(self.samples.n / self.total)

    def minimum(self) -> Floats:
        """Lowest negative log-likelihood, that of the rate included; shape (P,)."""
        return self.fits.nll - self.samples.n * np.log(self.samples.unit) + self._lowest_of_rate()

    def boundary(self) -> Floats:
        """Lowest value with ξ = −1: end point at the largest excess, rate at its own maximum; shape (P,)."""
        return self.samples.n * np.log(self.samples.upper) + self._lowest_of_rate()

    def free(self, rows: Rows, theta: Floats) -> Triple:
        """Profile in θ alone, with slope and curvature; the rate at its own maximum."""
        d = self.prepared(rows, theta)
        clamped = theta * d[0] < -1.0  # the region ends at ξ = −1: ν = −θ
        safe, n = np.where(clamped, theta, -1.0), self.samples.n[rows, None]
        edge = -np.log(-safe), -1.0 / safe, 1.0 / safe**2
        within = profile_in_theta(theta, d)
        value, slope, curvature = (n * np.where(clamped, a, b) for a, b in zip(edge, within, strict=True))
        return value + self._lowest_of_rate()[rows, None], slope, curvature

    def partials(self, rows: Rows, theta: Floats, nu: Floats) -> tuple[Floats, ...]:
        """F, F_θ, F_ν, F_θθ, F_θν, F_νν with the rate at its own maximum; all of shape (Q, K)."""
        f, *rest = self._excesses(rows, theta, nu)
        return f + self._lowest_of_rate()[rows, None], *rest

    def _excesses(self, rows: Rows, theta: Floats, nu: Floats, data: Triple | None = None) -> tuple[Floats, ...]:
        """n·[−log ν + (θ + ν)D] and its derivatives F_θ, F_ν, F_θθ, F_θν, F_νν; `data`: D where it is known."""
        d0, d1, d2 = self.prepared(rows, theta) if data is None else data
        n, both = self.samples.n[rows, None], theta + nu
        in_theta = n * (d0 + both * d1), n * (2.0 * d1 + both * d2)
        return n * (both * d0 - np.log(nu)), in_theta[0], n * (d0 - 1.0 / nu), in_theta[1], n * d1, n / nu**2

    def prepared(self, rows: Rows, theta: Floats) -> Triple:
        """D(θ) and its two derivatives."""
        return mean_partials(self.samples.take(rows), theta)

    def joint(self, rows: Rows, data: Triple, theta: Floats, nu: Floats, ell: Floats) -> tuple[Floats, ...]:
        """F and its derivatives in (θ, ν, ℓ); see `SampleLikelihood.joint`."""
        f, f_t, f_v, f_tt, f_tv, f_vv = self._excesses(rows, theta, nu, data)
        r, r1, r2 = self._rate(ell, self.samples.n[rows, None], self.total[rows, None])
        nothing = np.zeros_like(f)
        if self.rate_known:
            r2 = np.ones_like(r2)  # ℓ stays where it is
        return f + r, f_t, f_v, r1, f_tt, f_tv, f_vv, nothing, nothing, r2

    def level(self, rows: Rows, theta: Floats, d: Floats, offset: Floats) -> tuple[Floats, ...]:
        """Profile in θ with the return level at d; see `SampleLikelihood.level`."""
        if not self.rate_known:
            return super().level(rows, theta, d, offset)
        # log(mλ) = s is known: ν = s/v(d; θ)
        v0, v1, v2 = (a[..., 0] for a in law.exponential_scale_partials(d[:, None, None], theta))
        s = offset[:, None] + self.log_rate[rows, None]
        nu, nu1, nu2 = s / v0, -s * v1 / v0**2, -s * v2 / v0**2 + 2.0 * s * v1**2 / v0**3
        f, f_t, f_v, f_tt, f_tv, f_vv = self.partials(rows, theta, nu)
        curvature = f_tt + 2.0 * f_tv * nu1 + f_vv * nu1**2 + f_v * nu2
        in_d = f_v * (-s / v0**2) / (1.0 + theta * d[:, None])
        return f, f_t + f_v * nu1, curvature, in_d, f_v / v0, nu

    def best_nu(self, rows: Rows, data: Triple, v: Floats, offset: Floats) -> Floats:
        """ν that minimises at fixed θ: between the optimum of the excesses, 1/D, and that of the rate."""
        d0, n, total = data[0], self.samples.n[rows, None], self.total[rows, None]
        wanted = offset + np.log(n / total)  # log(mλ) at the rate's own optimum
        by_excess = 1.0 / d0
        tied = np.abs(v) > 1e-12 * d0
        safe = np.where(tied, v, 1.0)
        by_rate = np.where(tied, wanted / safe, by_excess)
        barrier = tied & (v > 0) & (self.rate_term == "binomial")
        cap = np.where(barrier, offset / np.where(barrier, v, 1.0), np.inf)
        weight = wanted**2 / (1.0 + wanted**2)
        between = by_excess ** (1.0 - weight) * np.maximum(by_rate, 1e-300) ** weight
        start = np.where(by_rate > 0, between, 0.5 * by_excess)
        start = np.minimum(start, 0.5 * (cap + np.clip(by_rate, 0.0, cap)))

        def derivatives(nu: Floats) -> tuple[Floats, Floats]:
            _, r1, r2 = self._rate(nu * v - offset, n, total)
            return n * (d0 - 1.0 / nu) + r1 * v, n / nu**2 + r2 * v**2

        return minimise_convex(derivatives, start, cap)

    def free_nu(self, rows: Rows, theta: Floats) -> Floats:
        """ν that minimises at fixed θ, at least −θ, where ξ = −1; shape (Q, K)."""
        return np.maximum(1.0 / self.prepared(rows, theta)[0], -theta)

    def inside(self, rows: Rows, ell: Floats) -> Flags:
        """Whether ℓ is a possible log rate."""
        return (ell < 0) | (self.rate_term == "poisson")

    def edge(self, rows: Rows, d: Floats, offset: Floats) -> Floats:
        """Value at ξ = −1 with the end point at the largest excess; +inf where d lies beyond it."""
        top, n = self.samples.upper[rows], self.samples.n[rows]
        if self.rate_known:
            return np.full(rows.size, np.inf)
        inside = d < top
        log_rate = -np.log(1.0 - np.where(inside, d, 0.0) / top) - offset
        with np.errstate(all="ignore"):
            value = n * np.log(top) + self._rate(log_rate, n, self.total[rows])[0]
        return np.where(inside & self.inside(rows, log_rate), value, np.inf)

    def _lowest_of_rate(self) -> Floats:
        return self._rate(self.log_rate, self.samples.n, self.total)[0]

    def _rate(self, log_rate: Floats, k: Floats, total: Floats) -> Triple:
        """Negative log-likelihood of the rate, with two derivatives in log λ (zero where it is known)."""
        if self.rate_known:
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
