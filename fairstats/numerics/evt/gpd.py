"""Maximum likelihood for the generalised Pareto distribution, many samples at once.

With θ = ξ/σ and ν = 1/σ that of n excesses is n·[−log ν + (θ + ν)·D(θ)], D(θ) the mean of v(y; θ) =
log(1 + θy)/θ, so that ν = 1/D(θ) and one variable is left (Grimshaw 1993). The rate λ = e^ℓ of
exceedances adds a binomial or Poisson term R(ℓ). A return level r of m observations ties the rate
to the tail: log(mλ) = ν·v(r − u; θ), and for fixed θ the sum is convex in ν, which leaves one
variable again. The exceedance probability p of a value x is the same at m = 1/p, r = x.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fairstats.numerics.evt import distributions as law
from fairstats.numerics.evt.distributions import SMALL, Flags, Floats, Numbers, Rows, Triple
from fairstats.numerics.evt.likelihood import (
    REGULAR_ABOVE,
    SampleFits,
    SampleLikelihood,
    Samples,
    coles_dixon,
)
from fairstats.numerics.evt.optimise import (
    CONVEX_TOLERANCE,
    OneObjective,
    minimise_convex,
    minimise_over_tail,
)

RateTerm = Literal["binomial", "poisson", "fixed"]

#: With more excesses than this in all, the coarse search looks at about `_THIN_TO` of each sample.
_THIN_ABOVE = 2000
_THIN_TO = 200


def mean_partials(samples: Samples, theta: Floats) -> Triple:
    """D(θ) and its two derivatives, for `theta` of shape (P, K)."""
    return law.mean_exponential_scale(samples.y, samples.n, samples.upper, theta)


def profile_in_theta(theta: Floats, d: Triple) -> Triple:
    """Negative log-likelihood per excess minimised over ν.

    Log D + θD + 1, with slope and curvature in θ.
    """
    d0, d1, d2 = d
    ratio = d1 / d0
    return (
        np.log(d0) + theta * d0 + 1.0,
        ratio + d0 + theta * d1,
        d2 / d0 - ratio**2 + 2.0 * d1 + theta * d2,
    )


def fit_gpd_samples(
    samples: Samples,
    *,
    covariance: bool = True,
    penalised: bool = False,
    start: Floats | None = None,
) -> SampleFits:
    """Best point of every sample of excesses in the region ξ ≥ −1.

    For ξ < −1 the likelihood grows without bound as the end point approaches the largest excess, so
    the region ends at −1, where the best scale is the largest excess itself (Grimshaw 1993);
    `at_boundary` where that point is better than the lowest interior minimum. `penalised`: by the
    likelihood of Coles and Dixon; `nll` is without the penalty. `start`: θ of the standardised
    excesses, shape (P,), near the maximum, as that of the law from which they were simulated is.
    """
    if start is None:
        start = _start_from_thinned(samples)
    inner_theta, lowest_inside = _interior_minimum(samples, np.log(samples.n), start)
    boundary_values = np.log(samples.upper)
    at_boundary = ~(lowest_inside < boundary_values)
    theta = np.where(at_boundary, 0.0, inner_theta)
    d = mean_partials(samples, theta[:, None])
    nu = np.where(at_boundary, 1.0 / samples.upper, 1.0 / d[0][:, 0])
    theta = np.where(at_boundary, -nu, theta)
    shapes = np.where(at_boundary, -1.0, theta / nu)
    nll = samples.n * (np.where(at_boundary, boundary_values, lowest_inside) + np.log(samples.unit))
    covariances = np.full((samples.n.size, 2, 2), np.nan)
    if covariance:
        is_regular = shapes > REGULAR_ABOVE
        covariances[is_regular] = _parameter_covariance(samples, theta, nu, d)[is_regular]
    params = np.stack([samples.unit / nu, shapes], -1)
    sample_fits = SampleFits(
        params=params,
        nll=nll,
        at_boundary=at_boundary,
        unbounded=np.zeros_like(at_boundary),
        theta=theta,
        nu=nu,
        covariance=covariances,
    )
    if penalised:
        return _with_penalised_fits(samples, sample_fits)
    return sample_fits


def _with_penalised_fits(samples: Samples, fits: SampleFits) -> SampleFits:
    """The fits with the penalised estimates where these differ."""
    changed_rows, shapes, nu, penalty_information = coles_dixon(
        GpdLikelihood(samples=samples, fits=fits, total=samples.n, rate_term="fixed")
    )
    changed_samples = samples.take(changed_rows)
    theta = shapes * nu
    d = mean_partials(changed_samples, theta[:, None])
    nll = changed_samples.n * (
        (theta + nu) * d[0][:, 0] - np.log(nu) + np.log(changed_samples.unit)
    )
    changed_fields = {
        "params": np.stack([changed_samples.unit / nu, shapes], -1),
        "nll": nll,
        "theta": theta,
        "nu": nu,
    }
    return fits.with_rows(
        changed_rows,
        {
            **changed_fields,
            "covariance": _parameter_covariance(changed_samples, theta, nu, d, penalty_information),
        },
    )


def _interior_minimum(
    samples: Samples, log_n: Floats, start: Floats | None = None
) -> tuple[Floats, Floats]:
    def objective(rows: Rows, theta: Floats) -> Triple:
        return profile_in_theta(theta, mean_partials(samples.take(rows), theta))

    if log_n.size == 1 and samples.n[0] == samples.y.shape[1]:
        single_objective = _objective_of_one(samples)
    else:
        single_objective = None
    return minimise_over_tail(
        objective, samples.lower, samples.upper, log_n, start, single_objective
    )


def _objective_of_one(samples: Samples) -> OneObjective:
    """`profile_in_theta` of an only sample in plain numbers."""
    y = samples.y[0]
    largest = float(samples.upper[0])

    def objective(theta: float) -> tuple[float, float, float]:
        if abs(theta) * largest < SMALL:
            mean_values, slope, curvature = profile_in_theta(
                theta_array := np.array([[theta]]), mean_partials(samples, theta_array)
            )
            return float(mean_values[0, 0]), float(slope[0, 0]), float(curvature[0, 0])
        z = theta * y
        d0 = float(np.log1p(z).sum()) / y.size / theta
        z += 1.0
        slopes = y / z
        d1 = (float(slopes.sum()) / y.size - d0) / theta
        d2 = -(float(slopes @ slopes) / y.size + 2.0 * d1) / theta
        ratio = d1 / d0
        profile_value = math.log(d0) + theta * d0 + 1.0
        return profile_value, ratio + d0 + theta * d1, d2 / d0 - ratio**2 + 2.0 * d1 + theta * d2

    return objective


def _start_from_thinned(samples: Samples) -> Floats | None:
    """θ by every so many-th excess of large samples, enough to find the basin.

    None where all are small.
    """
    n_rows, n_columns = samples.y.shape
    if n_columns <= 2 * _THIN_TO or n_rows * n_columns <= _THIN_ABOVE:
        return None
    thinning_step = n_columns // _THIN_TO
    thinned_samples = replace(
        samples, y=samples.y[:, ::thinning_step], n=np.ceil(samples.n / thinning_step)
    )
    return _interior_minimum(thinned_samples, np.log(samples.n))[0]


def _parameter_covariance(
    samples: Samples,
    theta: Floats,
    nu: Floats,
    d: Triple,
    extra: tuple[Numbers, ...] = (0.0, 0.0, 0.0),
) -> Floats:
    """Inverse observed information of (θ, ν), with what a penalty adds, carried to (σ, ξ) = (1/ν,
    θ/ν).
    """
    d1 = d[1][:, 0]
    d2 = d[2][:, 0]
    n = samples.n
    h_tt = n * (2.0 * d1 + (theta + nu) * d2) + extra[0]
    h_tv = n * d1 + extra[1]
    h_vv = n / nu**2 + extra[2]
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = h_tt * h_vv - h_tv**2
        v_tt = h_vv / determinant
        v_tv = -h_tv / determinant
        v_vv = h_tt / determinant
        sigma = 1.0 / nu
        xi = theta / nu
        var_scale = sigma**4 * v_vv * samples.unit**2
        scale_shape_term = -(sigma**2) * sigma * (v_tv - xi * v_vv) * samples.unit
        var_shape = sigma**2 * (v_tt - 2.0 * xi * v_tv + xi**2 * v_vv)
    return np.stack([var_scale, scale_shape_term, scale_shape_term, var_shape], -1).reshape(
        -1, 2, 2
    )


@dataclass(frozen=True)
class GpdLikelihood(SampleLikelihood):
    """Likelihood of excesses and of their number, in units of the mean excess above the threshold.

    `total`, shape (P,): N, the number of observations, exceeding or not; `rate_term`: law of the
    number of exceedances; "fixed" takes λ = k/N as known.
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
        """Lowest value with ξ = −1: end point at the largest excess, rate at its own maximum.

        Shape (P,).
        """
        return self.samples.n * np.log(self.samples.upper) + self._lowest_of_rate()

    def free(self, rows: Rows, theta: Floats) -> Triple:
        """Profile in θ alone, with slope and curvature; the rate at its own maximum."""
        d = self.prepared(rows, theta)
        is_clamped = theta * d[0] < -1.0  # the region ends at ξ = −1: ν = −θ
        safe_theta = np.where(is_clamped, theta, -1.0)
        sample_sizes = self.samples.n[rows, None]
        edge_profile = -np.log(-safe_theta), -1.0 / safe_theta, 1.0 / safe_theta**2
        inner_profile = profile_in_theta(theta, d)
        profile_values, profile_slopes, curvature = (
            sample_sizes * np.where(is_clamped, edge_part, inner_part)
            for edge_part, inner_part in zip(edge_profile, inner_profile, strict=True)
        )
        return profile_values + self._lowest_of_rate()[rows, None], profile_slopes, curvature

    def partials(self, rows: Rows, theta: Floats, nu: Floats) -> tuple[Floats, ...]:
        """F, F_θ, F_ν, F_θθ, F_θν, F_νν with the rate at its own maximum; all of shape (Q, K)."""
        f, *f_partials = self._excess_partials(rows, theta, nu)
        return f + self._lowest_of_rate()[rows, None], *f_partials

    def _excess_partials(
        self,
        rows: Rows,
        theta: Floats,
        nu: Floats,
        data: Triple | None = None,
    ) -> tuple[Floats, ...]:
        """n·[−log ν + (θ + ν)D] and its derivatives F_θ, F_ν, F_θθ, F_θν, F_νν; `data`: D where it
        is known.
        """
        if data is None:
            d0, d1, d2 = self.prepared(rows, theta)
        else:
            d0, d1, d2 = data
        n = self.samples.n[rows, None]
        theta_plus_nu = theta + nu
        in_theta = n * (d0 + theta_plus_nu * d1), n * (2.0 * d1 + theta_plus_nu * d2)
        return (
            n * (theta_plus_nu * d0 - np.log(nu)),
            in_theta[0],
            n * (d0 - 1.0 / nu),
            in_theta[1],
            n * d1,
            n / nu**2,
        )

    def prepared(self, rows: Rows, theta: Floats) -> Triple:
        """D(θ) and its two derivatives."""
        return mean_partials(self.samples.take(rows), theta)

    def joint(
        self,
        rows: Rows,
        data: Triple,
        theta: Floats,
        nu: Floats,
        ell: Floats,
    ) -> tuple[Floats, ...]:
        """F and its derivatives in (θ, ν, ℓ); see `SampleLikelihood.joint`."""
        f, f_t, f_v, f_tt, f_tv, f_vv = self._excess_partials(rows, theta, nu, data)
        rate_value, rate_slope, rate_curvature = self._rate_partials(
            ell, self.samples.n[rows, None], self.total[rows, None]
        )
        zeros = np.zeros_like(f)
        if self.rate_known:
            rate_curvature = np.ones_like(rate_curvature)  # ℓ stays where it is
        return f + rate_value, f_t, f_v, rate_slope, f_tt, f_tv, f_vv, zeros, zeros, rate_curvature

    def level(self, rows: Rows, theta: Floats, d: Floats, offset: Floats) -> tuple[Floats, ...]:
        """Profile in θ with the return level at d; see `SampleLikelihood.level`."""
        if not self.rate_known:
            return super().level(rows, theta, d, offset)
        # log(mλ) = s is known: ν = s/v(d; θ)
        v0, v1, v2 = (
            partial_v[..., 0]
            for partial_v in law.exponential_scale_partials(d[:, None, None], theta)
        )
        s = offset[:, None] + self.log_rate[rows, None]
        nu = s / v0
        nu1 = -s * v1 / v0**2
        nu2 = -s * v2 / v0**2 + 2.0 * s * v1**2 / v0**3
        f, f_t, f_v, f_tt, f_tv, f_vv = self.partials(rows, theta, nu)
        curvature = f_tt + 2.0 * f_tv * nu1 + f_vv * nu1**2 + f_v * nu2
        in_d = f_v * (-s / v0**2) / (1.0 + theta * d[:, None])
        return f, f_t + f_v * nu1, curvature, in_d, f_v / v0, nu

    def best_nu(
        self,
        rows: Rows,
        data: Triple,
        v: Floats,
        offset: Floats,
        tolerance: float = CONVEX_TOLERANCE,
    ) -> Floats:
        """ν that minimises at fixed θ; `tolerance`: of its last step, as a share of it.

        Between the optimum of the excesses, 1/D, and that of the rate.
        """
        d0 = data[0]
        sample_sizes = self.samples.n[rows, None]
        n_observations = self.total[rows, None]
        # log(mλ) at the rate's own optimum
        wanted_log = offset + np.log(sample_sizes / n_observations)
        by_excess = 1.0 / d0
        is_tied = np.abs(v) > 1e-12 * d0
        safe_v = np.where(is_tied, v, 1.0)
        by_rate = np.where(is_tied, wanted_log / safe_v, by_excess)
        has_barrier = is_tied & (v > 0) & (self.rate_term == "binomial")
        nu_cap = np.where(has_barrier, offset / np.where(has_barrier, v, 1.0), np.inf)
        rate_weight = wanted_log**2 / (1.0 + wanted_log**2)
        between_optima = (
            by_excess ** (1.0 - rate_weight) * np.maximum(by_rate, 1e-300) ** rate_weight
        )
        start_nu = np.where(by_rate > 0, between_optima, 0.5 * by_excess)
        start_nu = np.minimum(start_nu, 0.5 * (nu_cap + np.clip(by_rate, 0.0, nu_cap)))

        def derivatives(nu: Floats) -> tuple[Floats, Floats]:
            _, rate_slope, rate_curvature = self._rate_partials(
                nu * v - offset, sample_sizes, n_observations
            )
            return sample_sizes * (
                d0 - 1.0 / nu
            ) + rate_slope * v, sample_sizes / nu**2 + rate_curvature * v**2

        return minimise_convex(derivatives, start_nu, nu_cap, tolerance)

    def free_nu(self, rows: Rows, theta: Floats) -> Floats:
        """ν that minimises at fixed θ, at least −θ, where ξ = −1; shape (Q, K)."""
        return np.maximum(1.0 / self.prepared(rows, theta)[0], -theta)

    def inside(self, rows: Rows, ell: Floats) -> Flags:
        """Whether ℓ is a possible log rate."""
        return (ell < 0) | (self.rate_term == "poisson")

    def edge(self, rows: Rows, d: Floats, offset: Floats) -> Floats:
        """Value at ξ = −1 with the end point at the largest excess; +inf where d lies beyond it."""
        largest_excess = self.samples.upper[rows]
        sample_sizes = self.samples.n[rows]
        if self.rate_known:
            return np.full(rows.size, np.inf)
        is_inside = d < largest_excess
        log_rate = -np.log(1.0 - np.where(is_inside, d, 0.0) / largest_excess) - offset
        with np.errstate(all="ignore"):
            edge_values = (
                sample_sizes * np.log(largest_excess)
                + self._rate_partials(log_rate, sample_sizes, self.total[rows])[0]
            )
        return np.where(is_inside & self.inside(rows, log_rate), edge_values, np.inf)

    def _lowest_of_rate(self) -> Floats:
        return self._rate_partials(self.log_rate, self.samples.n, self.total)[0]

    def _rate_partials(self, log_rate: Floats, k: Floats, total: Floats) -> Triple:
        """Negative log-likelihood of the rate, with two derivatives in log λ (zero where it is
        known).
        """
        if self.rate_known:
            zeros = np.zeros_like(log_rate)
            return zeros, zeros, zeros
        rate_values = np.exp(log_rate)
        if self.rate_term == "poisson":
            return total * rate_values - k * log_rate, total * rate_values - k, total * rate_values
        n_below = total - k
        share_below = 1.0 - rate_values
        all_exceed = np.asarray(~(n_below > 0))
        if all_exceed.any():
            share_below = np.where(all_exceed, 1.0, share_below)
        with np.errstate(divide="ignore"):
            of_others = n_below * np.log(np.maximum(share_below, 0.0))
        odds = n_below * rate_values / share_below
        return -k * log_rate - of_others, odds - k, odds / share_below
