"""Maximum likelihood for the generalised extreme value distribution, many samples at once.

With θ = ξ/σ', ν = 1/σ' and v = log(1 + θy)/θ of the centred maxima y, the distribution of v is
Gumbel with scale 1/ν. The negative log-likelihood of n maxima is n·[−log ν + (θ + ν)·mean(v) − ℓ +
e^ℓ·mean(e^(−νv))], ℓ = log q, lowest at q = 1/mean(e^(−νv)), which leaves a function that is convex
in ν for fixed θ: one variable is left. Here σ' is the scale seen from the centre c of the data: σ =
σ'·q^ξ and μ = c + σ'(q^ξ − 1)/ξ. The level that a block maximum exceeds with probability 1/m ties q
to the tail: ℓ = ν·v(d; θ) − τ, d being the level less c and τ = −log(−log(1 − 1/m)) ≈ log m; again
the rest is convex in ν. The location is the level with τ = 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairstats.numerics.evt import distributions as law
from fairstats.numerics.evt import likelihood as tails
from fairstats.numerics.evt.distributions import (
    Flags,
    Floats,
    Rows,
    Triple,
    exponential_scale_partials,
    power_ratio,
)
from fairstats.numerics.evt.likelihood import SampleFits, SampleLikelihood, Samples
from fairstats.numerics.evt.optimise import minimise_convex, minimise_over_tail, tail_parameter

#: Elements handled at a time, and size of the samples that are searched on the whole grid, if
#: smaller.
_CHUNK_SIZE = 1 << 16
_SEARCH_BELOW = 30
#: Gumbel and three heavier tails, in units of log n.
_HEAVIER = np.array([0.0, 1.0, 2.0, 3.0])


def gumbel_partials(
    theta: Floats,
    nu: Floats,
    v: Triple,
    ell: Floats | None = None,
) -> tuple[Floats, ...]:
    """Mean negative log-likelihood F with F_θ, F_ν, F_ℓ, F_θθ, F_θν, F_νν, F_θℓ, F_νℓ, F_ℓℓ.

    `v`, shape (..., n): the maxima on the exponential scale of θ with θ-derivatives. Default ℓ:
    where F is lowest.
    """
    v0, v1, v2 = v
    if ell is None:
        ell = lowest_log_q(nu, v0)
    d0 = v0.mean(-1)
    d1 = v1.mean(-1)
    d2 = v2.mean(-1)
    theta_plus_nu = theta + nu
    e = np.exp(ell[..., None] - nu[..., None] * v0)
    e_v0 = e * v0
    e_v1 = e * v1
    e0 = e.mean(-1)
    ev0 = e_v0.mean(-1)
    ev1 = e_v1.mean(-1)
    f_tt = 2.0 * d1 + theta_plus_nu * d2 - nu * (e * v2).mean(-1) + nu**2 * (e_v1 * v1).mean(-1)
    f_tv = d1 - ev1 + nu * (e_v0 * v1).mean(-1)
    f_vv = 1.0 / nu**2 + (e_v0 * v0).mean(-1)
    first_partials = d0 + theta_plus_nu * d1 - nu * ev1, d0 - 1.0 / nu - ev0, e0 - 1.0
    return (
        theta_plus_nu * d0 - np.log(nu) - ell + e0,
        *first_partials,
        f_tt,
        f_tv,
        f_vv,
        -nu * ev1,
        -ev0,
        e0,
    )


def lowest_log_q(nu: Floats, v: Floats) -> Floats:
    """ℓ = −log mean(e^(−νv)), where the likelihood of `v` (sample along the last axis) is
    highest.
    """
    lowest_v = v.min(-1)
    mean_exponentials = np.exp(-nu[..., None] * (v - lowest_v[..., None])).mean(-1)
    return np.asarray(lowest_v * nu - np.log(mean_exponentials))


def without_log_q(joint: tuple[Floats, ...]) -> tuple[Floats, ...]:
    """F, F_θ, F_ν, F_θθ, F_θν, F_νν minimised over ℓ, from the derivatives of all three at the
    minimum.
    """
    f, f_t, f_v, _, f_tt, f_tv, f_vv, f_tl, f_vl, f_ll = joint
    return f, f_t, f_v, f_tt - f_tl**2 / f_ll, f_tv - f_tl * f_vl / f_ll, f_vv - f_vl**2 / f_ll


def _best_gumbel_nu(v: Floats) -> Floats:
    """1/scale of the Gumbel distribution that fits `v` best (sample along the last axis)."""
    lowest_v = v.min(-1, keepdims=True)
    centred_v = v - lowest_v
    mean_centred = centred_v.mean(-1)

    def derivatives(nu: Floats) -> tuple[Floats, Floats]:
        weights = np.exp(-nu[..., None] * centred_v)
        weights /= weights.sum(-1, keepdims=True)
        weighted_mean = (weights * centred_v).sum(-1)
        weighted_variance = (weights * centred_v * centred_v).sum(
            -1
        ) - weighted_mean * weighted_mean
        return mean_centred - 1.0 / nu - weighted_mean, 1.0 / nu**2 + weighted_variance

    return minimise_convex(derivatives, np.pi / (np.sqrt(6.0) * centred_v.std(-1)))


def profile_in_theta(samples: Samples, theta: Floats) -> tuple[Floats, ...]:
    """Mean negative log-likelihood minimised over ν ≥ −θ, slope and curvature in θ, and ν.

    Shape (P, K).
    """
    profile_values = np.empty((4, *theta.shape))
    for row_slice in _row_slices(samples, theta):
        theta_part = theta[row_slice]
        v = exponential_scale_partials(samples.y[row_slice, None, :], theta_part)
        free_nu = _best_gumbel_nu(v[0])
        nu = np.maximum(free_nu, -theta_part)
        f, *f_partials = without_log_q(gumbel_partials(theta_part, nu, v))
        profile_values[:, row_slice] = f, *tails.along_theta(free_nu < -theta_part, *f_partials), nu
    return tuple(profile_values)


def _row_slices(samples: Samples, theta: Floats) -> Iterator[slice]:
    """The rows in parts that fit the processor's cache, `theta` having shape (rows, K)."""
    rows_at_a_time = max(1, _CHUNK_SIZE // (samples.y.shape[1] * theta.shape[1]))
    return (
        slice(first_row, first_row + rows_at_a_time)
        for first_row in range(0, theta.shape[0], rows_at_a_time)
    )


def fit_gev_samples(
    samples: Samples, *, covariance: bool = True, penalised: bool = False
) -> SampleFits:
    """Best point of every sample of block maxima in the region ξ ≥ −1.

    Below −1 the likelihood has no bound (the end point may approach the largest maximum); at −1 the
    best end point is the largest maximum and the best scale its mean distance from the others:
    `at_boundary` where that edge beats the lowest interior minimum. For ξ → ∞ it has no bound
    either, with a scale that shrinks around the smallest maximum, so local maxima are sought;
    `unbounded` where there is none, and the edge is not the best point either. `penalised`: by the
    likelihood of Coles and Dixon, which has a maximum there too, unless at ξ < 0; `nll` is without
    the penalty.
    """

    def objective(rows: Rows, theta: Floats) -> Triple:
        with np.errstate(all="ignore"):
            f, slope, curvature, _ = profile_in_theta(samples.take(rows), theta)
        return f, slope, curvature

    log_n = np.log(samples.n)
    top = samples.upper
    inner_theta, lowest_inside = minimise_over_tail(
        objective, samples.lower, top, log_n, _start_from_lmoments(samples)
    )
    # the mean distance from the largest is top, since the mean is 0
    edge_values = np.log(top) + 1.0
    at_boundary = ~(lowest_inside < edge_values)
    unbounded = at_boundary.copy()
    unbounded[at_boundary] = _has_better_inside(
        samples, np.flatnonzero(at_boundary), edge_values, log_n
    )
    theta = np.where(at_boundary, 0.0, inner_theta)
    lowest_values, _, _, nu = (
        profile_part[:, 0] for profile_part in profile_in_theta(samples, theta[:, None])
    )
    xi = np.where(at_boundary, -1.0, theta / nu)
    v = exponential_scale_partials(samples.y, theta)
    log_q = lowest_log_q(nu, v[0])
    locations = np.where(at_boundary, 0.0, power_ratio(log_q, xi) / nu)
    scales = np.where(at_boundary, top, np.exp(xi * log_q) / nu)
    params = np.stack([samples.centre + samples.unit * locations, samples.unit * scales, xi], -1)
    nll = samples.n * (np.where(at_boundary, edge_values, lowest_values) + np.log(samples.unit))
    covariances = np.full((samples.unit.size, 3, 3), np.nan)
    if covariance:
        is_regular = xi > tails.REGULAR_ABOVE
        covariances[is_regular] = _parameter_covariance(samples, theta, nu, log_q, v)[is_regular]
    theta_and_nu = np.where(at_boundary, -1.0 / top, theta), np.where(at_boundary, 1.0 / top, nu)
    sample_fits = SampleFits(params, nll, at_boundary, unbounded, *theta_and_nu, covariances)
    if penalised:
        return _with_penalised_fits(samples, sample_fits)
    return sample_fits


def _with_penalised_fits(samples: Samples, fits: SampleFits) -> SampleFits:
    """The fits with the penalised estimates where these differ."""
    changed_rows, shapes, nu, penalty_information = tails.coles_dixon(GevLikelihood(samples, fits))
    changed_samples = samples.take(changed_rows)
    theta = shapes * nu
    v = exponential_scale_partials(changed_samples.y, theta)
    log_q = lowest_log_q(nu, v[0])
    mean_values = gumbel_partials(theta, nu, v, log_q)[0] + np.log(changed_samples.unit)
    locations = power_ratio(log_q, shapes) / nu
    scales = np.exp(shapes * log_q) / nu
    params = np.stack(
        [
            changed_samples.centre + changed_samples.unit * locations,
            changed_samples.unit * scales,
            shapes,
        ],
        -1,
    )
    changed_fields = {
        "params": params,
        "nll": changed_samples.n * mean_values,
        "theta": theta,
        "nu": nu,
    }
    changed_fields |= {"at_boundary": np.zeros_like(nu), "unbounded": np.zeros_like(nu)}
    return fits.with_rows(
        changed_rows,
        {
            **changed_fields,
            "covariance": _parameter_covariance(
                changed_samples, theta, nu, log_q, v, penalty_information
            ),
        },
    )


def _has_better_inside(samples: Samples, rows: Rows, edge: Floats, log_n: Floats) -> Flags:
    """Whether points without a minimum near them, Gumbel's and heavier, beat the edge ξ = −1."""
    if not rows.size:
        return np.zeros(0, dtype=bool)
    edge_samples = samples.take(rows)
    theta, _, _ = tail_parameter(
        _HEAVIER * log_n[rows, None], edge_samples.lower[:, None], edge_samples.upper[:, None]
    )
    with np.errstate(all="ignore"):
        return np.asarray((profile_in_theta(edge_samples, theta)[0] < edge[rows, None]).any(axis=1))


def _start_from_lmoments(samples: Samples) -> Floats | None:
    """θ of the L-moment fit; small samples, where it may miss the basin, are searched on the
    grid.
    """
    if samples.y.shape[1] < _SEARCH_BELOW:
        return None
    params = law.gev_from_lmoments(*law.sample_lmoments(np.sort(samples.y, axis=1)))
    locations, scales, shapes = np.moveaxis(params, -1, 0)
    return np.asarray(shapes / (scales - shapes * locations))


def _parameter_covariance(
    samples: Samples,
    theta: Floats,
    nu: Floats,
    log_q: Floats,
    v: Triple,
    extra: tuple[Floats, ...] = (),
) -> Floats:
    """Inverse observed information of (θ, ν, log q), carried to (μ, σ, ξ); shape (P, 3, 3).

    μ = (q^ξ − 1)/θ and σ = q^ξ/ν with ξ = θ/ν. `extra`: what a penalty adds to the information of
    (θ, ν).
    """
    xi = theta / nu
    second_partials = gumbel_partials(theta, nu, v, log_q)[4:]
    hessian = tails.symmetric(
        *(
            second_partial + penalty_part / samples.n
            for second_partial, penalty_part in zip(second_partials, extra, strict=False)
        ),
        *second_partials[len(extra) :],
    )
    power = np.exp(xi * log_q)
    ratio = power_ratio(log_q, xi)
    ratio_xi = law.power_ratio_shape_derivative(log_q, xi)
    xi_t = 1.0 / nu
    xi_v = -xi / nu
    zeros = np.zeros_like(nu)
    of_location = [ratio_xi * xi_t / nu, ratio_xi * xi_v / nu - ratio / nu**2, power / nu]
    of_scale = [
        power * log_q * xi_t / nu,
        power * log_q * xi_v / nu - power / nu**2,
        xi * power / nu,
    ]
    jacobian = np.stack([*of_location, *of_scale, xi_t, xi_v, zeros], -1).reshape(-1, 3, 3)
    jacobian[:, :2] *= samples.unit[:, None, None]
    with np.errstate(all="ignore"):
        information = hessian * samples.n[:, None, None]
        is_invertible = np.isfinite(information).all((1, 2)) & (np.abs(np.linalg.det(hessian)) > 0)
        inverse = np.full_like(hessian, np.nan)
        inverse[is_invertible] = np.linalg.inv(information[is_invertible])
    return np.asarray(jacobian @ inverse @ jacobian.transpose(0, 2, 1))


@dataclass(frozen=True)
class GevLikelihood(SampleLikelihood):
    """Likelihood of block maxima, standardised."""

    samples: Samples
    fits: SampleFits

    @classmethod
    def from_samples(cls, samples: Samples) -> GevLikelihood:
        """Fit the samples and wrap them."""
        return cls(samples, fit_gev_samples(samples, covariance=False))

    @property
    def log_rate(self) -> Floats:
        """ℓ = log q at the maximum, shape (P,)."""
        return lowest_log_q(
            self.fits.nu, exponential_scale_partials(self.samples.y, self.fits.theta)[0]
        )

    def minimum(self) -> Floats:
        """Lowest negative log-likelihood in standard units, shape (P,)."""
        return self.fits.nll - self.samples.n * np.log(self.samples.unit)

    def boundary(self) -> Floats:
        """Lowest value with ξ = −1: the end point at the largest maximum; shape (P,)."""
        return self.samples.n * (np.log(self.samples.upper) + 1.0)

    def free(self, rows: Rows, theta: Floats) -> Triple:
        """Profile in θ alone, with slope and curvature."""
        sample_sizes = self.samples.n[rows, None]
        mean_values, mean_slopes, mean_curvatures, _ = profile_in_theta(
            self.samples.take(rows), theta
        )
        return (
            sample_sizes * mean_values,
            sample_sizes * mean_slopes,
            sample_sizes * mean_curvatures,
        )

    def partials(self, rows: Rows, theta: Floats, nu: Floats) -> tuple[Floats, ...]:
        """F, F_θ, F_ν, F_θθ, F_θν, F_νν with the location eliminated, shape (Q, K)."""
        lowest = without_log_q(gumbel_partials(theta, nu, self.prepared(rows, theta)))
        return tuple(self.samples.n[rows, None] * partial_values for partial_values in lowest)

    def prepared(self, rows: Rows, theta: Floats) -> Triple:
        """The maxima on the exponential scale of θ, with θ-derivatives; shape (Q, K, n)."""
        return exponential_scale_partials(self.samples.take(rows).y[:, None, :], theta)

    def joint(
        self,
        rows: Rows,
        data: Triple,
        theta: Floats,
        nu: Floats,
        ell: Floats,
    ) -> tuple[Floats, ...]:
        """F and its derivatives in (θ, ν, ℓ); see `SampleLikelihood.joint`."""
        result = []
        for partial_values in gumbel_partials(theta, nu, data, ell):
            result.append(self.samples.n[rows, None] * partial_values)
        return tuple(result)

    def level(self, rows: Rows, theta: Floats, d: Floats, offset: Floats) -> tuple[Floats, ...]:
        """Profile in θ with the level at d for τ = `offset`; see `SampleLikelihood.level`."""
        level_values = np.empty((6, *theta.shape))
        for row_slice in _row_slices(self.samples, theta):
            level_values[:, row_slice] = super().level(
                rows[row_slice], theta[row_slice], d[row_slice], offset[row_slice]
            )
        return tuple(level_values)

    def best_nu(self, rows: Rows, data: Triple, v: Floats, offset: Floats) -> Floats:
        """ν that minimises at fixed θ where ℓ = νv − offset; shape (Q, K)."""
        v_gaps = v[..., None] - data[0]
        mean_gaps = v_gaps.mean(-1)

        def derivatives(nu: Floats) -> tuple[Floats, Floats]:
            exponentials = np.exp(np.minimum(nu[..., None] * v_gaps - offset[..., None], 500.0))
            return (exponentials * v_gaps).mean(-1) - mean_gaps - 1.0 / nu, 1.0 / nu**2 + (
                exponentials * v_gaps * v_gaps
            ).mean(-1)

        return minimise_convex(derivatives, np.pi / (np.sqrt(6.0) * data[0].std(-1)))

    def inside(self, rows: Rows, ell: Floats) -> Flags:
        """Every log q is possible."""
        return np.isfinite(ell)

    def edge(self, rows: Rows, d: Floats, offset: Floats) -> Floats:
        """Value at ξ = −1 with the end point at the largest maximum.

        +inf where d lies beyond it.
        """
        top = self.samples.upper[rows]
        # t = (top − y)/σ with σ chosen so that t(d) = e^(−τ)
        with np.errstate(all="ignore"):
            edge_scales = np.where(d < top, top - d, 1.0) * np.exp(offset)
            # the mean of y is 0
            edge_values = self.samples.n[rows] * (np.log(edge_scales) + top / edge_scales)
        return np.where(d < top, edge_values, np.inf)
