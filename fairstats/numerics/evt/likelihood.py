"""Likelihoods of the two tails in standard units, many samples at once, and their profiles.

Both are functions of θ = ξ/σ, ν = 1/σ and ℓ: the logarithm of the exceedance rate λ (excesses over
a threshold) or of q = 1/mean(e^(−νv)) (block maxima). With v(y; θ) = log(1 + θy)/θ the level at d
of the period whose logarithm is τ ties them: ℓ = ν·v(d; θ) − τ. `gpd` and `gev` say what each
likelihood is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from fairstats.numerics.evt.distributions import (
    Flags,
    Floats,
    Rows,
    Triple,
    exponential_scale_partials,
)
from fairstats.numerics.evt.optimise import find_crossings, minimise_over_tail, newton_in_bracket

#: Below this shape the likelihood has no regular maximum (Smith 1985).
REGULAR_ABOVE = -0.5


@dataclass(frozen=True)
class Samples:
    """Values of P samples in standard units: (x − centre)/unit.

    `y`, (P, N): standardised values; rows of excesses shorter than N end in zeros; `n`: values per
    sample; `centre`, `unit`: 0 and the mean of excesses; mean and standard deviation of block
    maxima; `lower`, `upper`: lower end of the standardised values (0 for excesses: the threshold),
    and the largest; all of shape (P,).
    """

    y: Floats
    n: Floats
    centre: Floats
    unit: Floats
    lower: Floats
    upper: Floats

    @classmethod
    def from_excesses(cls, excesses: Floats, n: Floats | None = None) -> Self:
        """Standardise `excesses` of shape (P, N); `n` where rows end in padding zeros."""
        excess_rows = np.atleast_2d(np.asarray(excesses, dtype=np.float64))
        if n is None:
            row_counts = np.full(excess_rows.shape[0], float(excess_rows.shape[1]))
        else:
            row_counts = np.asarray(n, dtype=np.float64)
        row_means = excess_rows.sum(axis=1) / row_counts
        standardised = excess_rows / row_means[:, None]
        return cls(
            standardised,
            row_counts,
            np.zeros_like(row_means),
            row_means,
            np.zeros_like(row_means),
            standardised.max(axis=1),
        )

    @classmethod
    def from_maxima(cls, maxima: Floats) -> Self:
        """Standardise block maxima of shape (P, n)."""
        maxima_rows = np.atleast_2d(np.asarray(maxima, dtype=np.float64))
        row_centres = maxima_rows.mean(axis=1)
        maxima_rows = maxima_rows - row_centres[:, None]
        # squares of the values themselves may overflow
        largest_distance = np.abs(maxima_rows).max(axis=1)
        row_units = (
            np.sqrt(np.mean((maxima_rows / largest_distance[:, None]) ** 2, axis=1))
            * largest_distance
        )
        standardised = maxima_rows / row_units[:, None]
        row_counts = np.full(maxima_rows.shape[0], float(maxima_rows.shape[1]))
        return cls(
            standardised,
            row_counts,
            row_centres,
            row_units,
            standardised.min(axis=1),
            standardised.max(axis=1),
        )

    def take(self, rows: Rows) -> Samples:
        """The samples `rows` (all of them without a copy)."""
        if rows.size == self.n.size and (
            rows.size == 1 or np.array_equal(rows, np.arange(rows.size))
        ):
            return self
        return Samples(*(field_values[rows] for field_values in vars(self).values()))


@dataclass(frozen=True)
class SampleFits:
    """Maximum likelihood fits of P samples in the region ξ ≥ −1.

    `params`, (P, p): (σ, ξ) of excesses, (μ, σ, ξ) of block maxima; `nll`: in the units of the
    data; `at_boundary`: whether ξ = −1, with the end point at the largest value, is the best point;
    `unbounded`: whether the likelihood of block maxima has no maximum, so that all other fields
    mean nothing; `theta`, `nu`: of the standardised values; `covariance`, (P, p, p): by the
    observed information; NaN where ξ ≤ −1/2.
    """

    params: Floats
    nll: Floats
    at_boundary: Flags
    unbounded: Flags
    theta: Floats
    nu: Floats
    covariance: Floats

    @property
    def scale(self) -> Floats:
        """σ, shape (P,)."""
        return self.params[:, -2]

    @property
    def shape(self) -> Floats:
        """ξ, shape (P,)."""
        return self.params[:, -1]

    def with_rows(self, rows: Rows, changed: dict[str, Floats]) -> SampleFits:
        """The fits with other values in some rows of some fields."""
        new_fields = {field_name: getattr(self, field_name).copy() for field_name in changed}
        for field_name, new_values in changed.items():
            new_fields[field_name][rows] = new_values
        return replace(self, **new_fields)


class SampleLikelihood(Protocol):
    """Likelihood of P samples in standard units.

    Subclasses say what `joint` and its minima over ν are.
    """

    samples: Samples
    fits: SampleFits

    @property
    def rate_known(self) -> bool:
        """Whether the rate is taken as known, so that ℓ does not vary."""
        return False

    @property
    def log_rate(self) -> Floats:
        """ℓ at the maximum, shape (P,)."""

    def minimum(self) -> Floats:
        """Lowest negative log-likelihood in standard units, that of the rate included.

        Shape (P,).
        """

    def boundary(self) -> Floats:
        """Lowest value with ξ = −1, shape (P,)."""

    def free(self, rows: Rows, theta: Floats) -> Triple:
        """Profile in θ alone, with slope and curvature; (Q,) and (Q, K) → (Q, K)."""

    def partials(self, rows: Rows, theta: Floats, nu: Floats) -> tuple[Floats, ...]:
        """F minimised over ℓ, F_θ, F_ν, F_θθ, F_θν, F_νν; all of shape (Q, K)."""

    def prepared(self, rows: Rows, theta: Floats) -> Triple:
        """What `joint` and `best_nu` need of the samples at θ.

        Functions of v(y; θ) and its derivatives.
        """

    def joint(
        self,
        rows: Rows,
        data: Triple,
        theta: Floats,
        nu: Floats,
        ell: Floats,
    ) -> tuple[Floats, ...]:
        """F, F_θ, F_ν, F_ℓ, F_θθ, F_θν, F_νν, F_θℓ, F_νℓ, F_ℓℓ; all of shape (Q, K)."""

    def best_nu(self, rows: Rows, data: Triple, v: Floats, offset: Floats) -> Floats:
        """ν that minimises at fixed θ where ℓ = νv − offset; shape (Q, K)."""

    def inside(self, rows: Rows, ell: Floats) -> Flags:
        """Whether ℓ is possible."""

    def edge(self, rows: Rows, d: Floats, offset: Floats) -> Floats:
        """Value at ξ = −1 with the end point at the largest value; +inf where d lies beyond it."""

    def level(self, rows: Rows, theta: Floats, d: Floats, offset: Floats) -> tuple[Floats, ...]:
        """Profile in θ with the return level at `d` (standard units), for the log period τ =
        `offset`.

        Value, slope and curvature in θ, slopes in d and in τ, and ν, each of shape (Q, K) as
        `theta`; the others have shape (Q,).
        """
        tau = offset[:, None]
        prepared_data = self.prepared(rows, theta)
        v0, v1, v2 = (
            partial_v[..., 0] for partial_v in exponential_scale_partials(d[:, None, None], theta)
        )
        nu = self.best_nu(rows, prepared_data, v0, tau)
        is_clamped = nu < -theta  # the region ends at ξ = −1: ν = −θ
        nu = np.maximum(nu, -theta)
        f, f_t, f_v, f_l, f_tt, f_tv, f_vv, f_tl, f_vl, f_ll = self.joint(
            rows, prepared_data, theta, nu, nu * v0 - tau
        )
        # chain rule along ℓ = ν·v(d; θ) − τ, whose derivatives are ν·v1 in θ and v0 in ν
        ell_in_theta = nu * v1
        f_tt = f_tt + 2.0 * f_tl * ell_in_theta + f_ll * ell_in_theta**2 + f_l * nu * v2
        f_tv = f_tv + f_tl * v0 + f_vl * ell_in_theta + f_ll * ell_in_theta * v0 + f_l * v1
        f_vv = f_vv + 2.0 * f_vl * v0 + f_ll * v0**2
        f_t = f_t + f_l * ell_in_theta
        f_v = f_v + f_l * v0
        slope, curvature = along_theta(is_clamped, f_t, f_v, f_tt, f_tv, f_vv)
        return f, slope, curvature, f_l * nu / (1.0 + theta * d[:, None]), -f_l, nu

    def whole(self, rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> Triple:
        """F, gradient (Q, 3) and Hessian (Q, 3, 3) in (θ, ν, ℓ) at points of shape (Q,)."""
        prepared_data = self.prepared(rows, theta[:, None])
        joint_partials = self.joint(rows, prepared_data, theta[:, None], nu[:, None], ell[:, None])
        f, f_t, f_v, f_l, *second_partials = (
            partial_values[:, 0] for partial_values in joint_partials
        )
        return f, np.stack([f_t, f_v, f_l], -1), symmetric(*second_partials)


def along_theta(
    clamped: Flags,
    f_t: Floats,
    f_v: Floats,
    f_tt: Floats,
    f_tv: Floats,
    f_vv: Floats,
) -> tuple[Floats, Floats]:
    """Slope and curvature in θ where ν is at its best or, where `clamped`, at −θ.

    The region ends at ξ = −1.
    """
    curvature = np.where(clamped, f_tt - 2.0 * f_tv + f_vv, f_tt - f_tv**2 / f_vv)
    return np.where(clamped, f_t - f_v, f_t), curvature


def symmetric(tt: Floats, tv: Floats, vv: Floats, tl: Floats, vl: Floats, ll: Floats) -> Floats:
    """Symmetric 3 × 3 matrices from the entries of their upper half, shape (..., 3, 3)."""
    matrices = np.empty((*tt.shape, 3, 3))
    matrices[..., 0, 0] = tt
    matrices[..., 1, 1] = vv
    matrices[..., 2, 2] = ll
    matrices[..., 0, 1] = matrices[..., 1, 0] = tv
    matrices[..., 0, 2] = matrices[..., 2, 0] = tl
    matrices[..., 1, 2] = matrices[..., 2, 1] = vl
    return matrices


@dataclass(frozen=True)
class ProfilePoints:
    """Negative log-likelihood minimised over all but one parameter, at Q points.

    `value`, shape (Q,): negative log-likelihood; `slope`, shape (Q,): its derivative in the
    parameter of interest; NaN at the edge of the parameter space; `theta`, `nu`, shape (Q,): where
    the minimum lies.
    """

    value: Floats
    slope: Floats
    theta: Floats
    nu: Floats


def level_profile(
    likelihood: SampleLikelihood,
    rows: Rows,
    d: Floats,
    offset: Floats,
    *,
    start: Floats | None = None,
    in_offset: bool = False,
) -> ProfilePoints:
    """Profile of the return level at `d` (standard units) for the period whose logarithm is
    `offset`.

    `rows` says which sample each of the Q points belongs to; `start` is θ near the solution. The
    slope is in d or, where `in_offset` (for exceedance probabilities), in the offset.
    """

    def objective(which: Rows, theta: Floats) -> Triple:
        with np.errstate(all="ignore"):
            profile_values, profile_slopes, curvature, *_ = likelihood.level(
                rows[which], theta, d[which], offset[which]
            )
        return profile_values, profile_slopes, curvature

    lower_ends = np.minimum(likelihood.samples.lower[rows], d)
    upper_ends = np.maximum(likelihood.samples.upper[rows], d)
    inner_theta, lowest_inside = minimise_over_tail(
        objective, lower_ends, upper_ends, np.log(likelihood.samples.n[rows]), start
    )
    theta = np.where(np.isfinite(inner_theta), inner_theta, 0.0)
    with np.errstate(all="ignore"):
        level_values = likelihood.level(rows, theta[:, None], d, offset)
    profile_values, _, _, in_d, in_log_m, nu = (level_part[:, 0] for level_part in level_values)
    edge_values = likelihood.edge(rows, d, offset)
    inverse_upper = 1.0 / likelihood.samples.upper[rows]
    is_at_edge = ~(lowest_inside <= edge_values) & (
        np.isfinite(edge_values) | ~np.isfinite(lowest_inside)
    )
    profile_slopes = np.where(is_at_edge, np.nan, in_log_m if in_offset else in_d)
    theta_and_nu = (
        np.where(is_at_edge, -inverse_upper, theta),
        np.where(is_at_edge, inverse_upper, nu),
    )
    return ProfilePoints(
        np.where(is_at_edge, edge_values, profile_values), profile_slopes, *theta_and_nu
    )


def shape_profile(
    likelihood: SampleLikelihood,
    rows: Rows,
    shape: Floats,
    start: Floats,
) -> ProfilePoints:
    """Profile of the shape ξ > −1: for fixed ξ one minimum along θ = ξν, from ν = `start`."""

    def objective(which: Rows, log_nu: Floats) -> Triple:
        nu = np.exp(log_nu)
        xi = shape[which, None]
        with np.errstate(all="ignore"):
            f, f_t, f_v, f_tt, f_tv, f_vv = likelihood.partials(rows[which], xi * nu, nu)
        log_nu_slope = nu * (f_v + xi * f_t)
        return f, log_nu_slope, nu**2 * (f_vv + 2.0 * xi * f_tv + xi**2 * f_tt) + log_nu_slope

    end_terms = -shape * np.where(
        shape < 0, likelihood.samples.upper[rows], likelihood.samples.lower[rows]
    )
    with np.errstate(divide="ignore"):
        log_cap = np.minimum(-np.log(end_terms), 700.0)  # 1 + θy must stay positive
    start_log = np.minimum(np.log(start), log_cap - 0.1)
    log_nu = newton_in_bracket(
        objective, np.arange(rows.size), start_log, start_log - 30.0, log_cap
    )
    nu = np.exp(log_nu)[:, None]
    f, f_t, *_ = likelihood.partials(rows, shape[:, None] * nu, nu)
    return ProfilePoints(
        value=f[:, 0], slope=(f_t * nu)[:, 0], theta=(shape[:, None] * nu)[:, 0], nu=nu[:, 0]
    )


def scale_profile(
    likelihood: SampleLikelihood,
    rows: Rows,
    nu: Floats,
    start: Floats,
) -> ProfilePoints:
    """Profile of ν = 1/σ (generalised Pareto only); the slope is in ν."""

    def objective(which: Rows, theta: Floats) -> Triple:
        with np.errstate(all="ignore"):
            partials = likelihood.partials(
                rows[which], theta, np.broadcast_to(nu[which, None], theta.shape)
            )
        return partials[0], partials[1], partials[3]

    lower_ends = likelihood.samples.lower[rows]
    upper_ends = likelihood.samples.upper[rows]
    inner_theta, lowest_values = minimise_over_tail(
        objective, lower_ends, upper_ends, np.log(likelihood.samples.n[rows]), start
    )
    theta = np.where(np.isfinite(inner_theta), inner_theta, 0.0)
    f_v = likelihood.partials(rows, theta[:, None], nu[:, None])[2][:, 0]
    return ProfilePoints(
        value=lowest_values,
        slope=np.where(np.isfinite(lowest_values), f_v, np.nan),
        theta=theta,
        nu=nu,
    )


def coles_dixon(likelihood: SampleLikelihood) -> tuple[Rows, Floats, Floats, Triple]:
    """Estimates by Coles and Dixon's penalised likelihood, where they differ from those of the
    likelihood.

    exp(−P) multiplies the likelihood, P = ξ/(1 − ξ) for 0 < ξ < 1, 0 for ξ ≤ 0 and infinite for ξ ≥
    1. It only matters where the maximum has ξ > 0 or lies at infinity. Its slope at 0 is 1: where
    the profile log-likelihood rises more slowly, the estimate is ξ = 0. Returns the samples
    concerned, ξ and ν, and what P adds to the information of (θ, ν): entries θθ, θν, νν.
    """
    fits = likelihood.fits
    sample_rows = np.flatnonzero((fits.shape > 0) | fits.unbounded)
    zeros = np.zeros(sample_rows.size)
    zero_shape_profile = shape_profile(
        likelihood,
        sample_rows,
        zeros,
        np.where(fits.unbounded[sample_rows], 1.0, fits.nu[sample_rows]),
    )
    # there the estimate would be below 0
    is_concerned = ~(fits.unbounded[sample_rows] & (zero_shape_profile.slope > 0))
    sample_rows = sample_rows[is_concerned]
    nu = zero_shape_profile.nu[is_concerned]
    slopes_at_zero = zero_shape_profile.slope[is_concerned]
    shapes = np.zeros(sample_rows.size)
    inner_rows = np.flatnonzero(slopes_at_zero < -1.0)
    highest_shapes = (
        np.where(fits.unbounded[sample_rows], 1.0, np.minimum(fits.shape[sample_rows], 1.0))[
            inner_rows
        ]
        - 1e-12
    )

    def objective(which: Rows, xi: Floats) -> Triple:
        profile_at = shape_profile(likelihood, sample_rows[which], xi[:, 0], nu[which])
        partials = likelihood.partials(
            sample_rows[which], profile_at.theta[:, None], profile_at.nu[:, None]
        )
        f_t = partials[1]
        f_tt, f_tv, f_vv = partials[3:]
        distance_to_one = 1.0 - xi
        nu_values = profile_at.nu[:, None]
        mixed_slope = f_t + nu_values * (f_tv + xi * f_tt)
        curvature = f_tt * nu_values**2 - mixed_slope**2 / (f_vv + 2.0 * xi * f_tv + xi**2 * f_tt)
        return (
            profile_at.value[:, None] + xi / distance_to_one,
            profile_at.slope[:, None] + distance_to_one**-2,
            curvature + 2.0 * distance_to_one**-3,
        )

    start_shapes = np.minimum(0.7 * highest_shapes, 0.5)
    shapes[inner_rows] = newton_in_bracket(
        objective, inner_rows, start_shapes, np.zeros(inner_rows.size), highest_shapes
    )
    profile_points = shape_profile(likelihood, sample_rows, shapes, nu)
    penalty_slope = np.where(shapes > 0, (1.0 - shapes) ** -2, -profile_points.slope)
    penalty_curvature = np.where(shapes > 0, 2.0 * (1.0 - shapes) ** -3, 0.0)
    nu_values = profile_points.nu
    nu_information = (penalty_curvature * shapes**2 + 2.0 * penalty_slope * shapes) / nu_values**2
    return (
        sample_rows,
        shapes,
        nu_values,
        (
            penalty_curvature / nu_values**2,
            -(penalty_slope + penalty_curvature * shapes) / nu_values**2,
            nu_information,
        ),
    )


def block_scale_end(standard: SampleLikelihood, period: float, side: float, target: float) -> float:
    """Log of the end for σ = e^(ξs)/ν, s = ℓ + τ, the scale of blocks with log period τ.

    In the coordinates (ξ, s), ν = e^(ξs)/σ is explicit, and what is left for a given σ is a minimum
    over two variables.
    """
    from scipy.optimize import minimize

    only_row = np.zeros(1, dtype=np.intp)
    lowest_value = float(standard.minimum()[0])
    xi = float(standard.fits.theta[0] / standard.fits.nu[0])
    s = float(standard.log_rate[0]) + period
    centre = xi * s - np.log(standard.fits.nu)
    start_point = np.array([max(xi, -1.0 + 1e-6), s])
    lower_end = float(standard.samples.lower[0])
    upper_end = float(standard.samples.upper[0])
    simplex_settings = {"xatol": 1e-7, "fatol": 1e-9, "maxiter": 2000, "maxfev": 2000}

    def value(trial_point: Floats, log_scale: float) -> float:
        shape, s_here = trial_point
        with np.errstate(all="ignore"):
            nu = np.exp(shape * s_here - log_scale)
            theta = shape * nu
            ell = s_here - period
            is_inside = (
                1.0 + theta * upper_end > 0
                and 1.0 + theta * lower_end > 0
                and shape >= -1.0
                and 0 < nu < 1e300
            )
            if not is_inside or not bool(standard.inside(only_row, np.array([ell]))[0]):
                return 1e30  # finite, since the simplex compares differences
            total_value = standard.whole(
                only_row, np.array([theta]), np.array([nu]), np.array([ell])
            )[0][0]
        if np.isfinite(total_value):
            return float(total_value)
        return 1e30

    def deviance(which: Rows, log_scale: Floats) -> tuple[Floats, Floats]:
        # ξ = 0 has no end points, so it is possible at every scale
        start_points = [start_point, np.array([0.0, start_point[1]]), np.array([0.0, s])]
        log_scale_value = float(log_scale[0])
        first_point = start_points[
            int(np.argmin([value(trial_point, log_scale_value) for trial_point in start_points]))
        ]
        simplex_options = {
            **simplex_settings,
            "initial_simplex": first_point + np.array([[0.0, 0.0], [0.05, 0.0], [0.0, 0.05]]),
        }
        best_fit = minimize(
            value,
            first_point,
            args=(log_scale_value,),
            method="Nelder-Mead",
            options=simplex_options,
        )
        start_point[:] = best_fit.x
        return np.array([2.0 * (best_fit.fun - lowest_value)]), np.array([np.nan])

    return float(find_crossings(deviance, centre, np.array([0.1 * side]), np.array([target]))[0])
