"""Maximum likelihood for the generalised extreme value distribution, many samples at once.

With θ = ξ/σ', ν = 1/σ' and v = log(1 + θy)/θ of the centred maxima y, the distribution of v is Gumbel with scale 1/ν.
The negative log-likelihood of n maxima is n·[−log ν + (θ + ν)·mean(v) − ℓ + e^ℓ·mean(e^(−νv))], ℓ = log q,
lowest at q = 1/mean(e^(−νv)), which leaves a function that is convex in ν for fixed θ: one variable is left.
Here σ' is the scale seen from the centre c of the data: σ = σ'·q^ξ and μ = c + σ'(q^ξ − 1)/ξ. The level that
a block maximum exceeds with probability 1/m ties q to the tail: ℓ = ν·v(d; θ) − τ, d being the level less c
and τ = −log(−log(1 − 1/m)) ≈ log m; again the rest is convex in ν. The location is the level with τ = 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairstats.numerics.evt import distributions as law
from fairstats.numerics.evt import likelihood as tails
from fairstats.numerics.evt.distributions import Flags, Floats, Rows, Triple, exponential_scale_partials, power_ratio
from fairstats.numerics.evt.likelihood import SampleFits, SampleLikelihood, Samples
from fairstats.numerics.evt.optimise import minimise_convex, minimise_over_tail, tail_parameter

#: Elements handled at a time, and size of the samples that are searched on the whole grid, if smaller.
_CHUNK, _SEARCH_BELOW = 1 << 16, 30
#: Gumbel and three heavier tails, in units of log n.
_HEAVIER = np.array([0.0, 1.0, 2.0, 3.0])


def gumbel_partials(theta: Floats, nu: Floats, v: Triple, ell: Floats | None = None) -> tuple[Floats, ...]:
    """Mean negative log-likelihood F with F_θ, F_ν, F_ℓ, F_θθ, F_θν, F_νν, F_θℓ, F_νℓ, F_ℓℓ.

    `v`, shape (..., n): the maxima on the exponential scale of θ with θ-derivatives. Default ℓ: where F is lowest.
    """
    v0, v1, v2 = v
    if ell is None:
        ell = lowest_log_q(nu, v0)
    d0, d1, d2 = v0.mean(-1), v1.mean(-1), v2.mean(-1)
    both = theta + nu
    e = np.exp(ell[..., None] - nu[..., None] * v0)
    e_v0, e_v1 = e * v0, e * v1
    e0, ev0, ev1 = e.mean(-1), e_v0.mean(-1), e_v1.mean(-1)
    f_tt = 2.0 * d1 + both * d2 - nu * (e * v2).mean(-1) + nu**2 * (e_v1 * v1).mean(-1)
    f_tv, f_vv = d1 - ev1 + nu * (e_v0 * v1).mean(-1), 1.0 / nu**2 + (e_v0 * v0).mean(-1)
    first = d0 + both * d1 - nu * ev1, d0 - 1.0 / nu - ev0, e0 - 1.0
    return both * d0 - np.log(nu) - ell + e0, *first, f_tt, f_tv, f_vv, -nu * ev1, -ev0, e0


def lowest_log_q(nu: Floats, v: Floats) -> Floats:
    """ℓ = −log mean(e^(−νv)), where the likelihood of `v` (sample along the last axis) is highest."""
    low = v.min(-1)
    mean = np.exp(-nu[..., None] * (v - low[..., None])).mean(-1)
    return np.asarray(low * nu - np.log(mean))


def without_log_q(joint: tuple[Floats, ...]) -> tuple[Floats, ...]:
    """F, F_θ, F_ν, F_θθ, F_θν, F_νν minimised over ℓ, from the derivatives of all three at the minimum."""
    f, f_t, f_v, _, f_tt, f_tv, f_vv, f_tl, f_vl, f_ll = joint
    return f, f_t, f_v, f_tt - f_tl**2 / f_ll, f_tv - f_tl * f_vl / f_ll, f_vv - f_vl**2 / f_ll


def _best_gumbel_nu(v: Floats) -> Floats:
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


def profile_in_theta(samples: Samples, theta: Floats) -> tuple[Floats, ...]:
    """Mean negative log-likelihood minimised over ν ≥ −θ, slope and curvature in θ, and ν; shape (P, K)."""
    out = np.empty((4, *theta.shape))
    for part in _chunks(samples, theta):
        t = theta[part]
        v = exponential_scale_partials(samples.y[part, None, :], t)
        best = _best_gumbel_nu(v[0])
        nu = np.maximum(best, -t)
        f, *rest = without_log_q(gumbel_partials(t, nu, v))
        out[:, part] = f, *tails.along_theta(best < -t, *rest), nu
    return tuple(out)


def _chunks(samples: Samples, theta: Floats) -> Iterator[slice]:
    """The rows in parts that fit the processor's cache, `theta` having shape (rows, K)."""
    step = max(1, _CHUNK // (samples.y.shape[1] * theta.shape[1]))
    return (slice(first, first + step) for first in range(0, theta.shape[0], step))


def fit_gev_samples(samples: Samples, *, covariance: bool = True, penalised: bool = False) -> SampleFits:
    """Best point of every sample of block maxima in the region ξ ≥ −1.

    Below −1 the likelihood has no bound (the end point may approach the largest maximum); at −1 the best end point is
    the largest maximum and the best scale its mean distance from the others: `at_boundary` where that edge beats the
    lowest interior minimum. For ξ → ∞ it has no bound either, with a scale that shrinks around the smallest maximum, so
    local maxima are sought; `unbounded` where there is none, and the edge is not the best point either. `penalised`: by
    the likelihood of Coles and Dixon, which has a maximum there too, unless at ξ < 0; `nll` is without the penalty.
    """

    def objective(rows: Rows, theta: Floats) -> Triple:
        with np.errstate(all="ignore"):
            f, slope, curvature, _ = profile_in_theta(samples.take(rows), theta)
        return f, slope, curvature

    log_n, top = np.log(samples.n), samples.upper
    inner, lowest = minimise_over_tail(objective, samples.lower, top, log_n, _start_from_lmoments(samples))
    edge = np.log(top) + 1.0  # the mean distance from the largest is top, since the mean is 0
    at_boundary = ~(lowest < edge)
    unbounded = at_boundary.copy()
    unbounded[at_boundary] = _has_better_inside(samples, np.flatnonzero(at_boundary), edge, log_n)
    theta = np.where(at_boundary, 0.0, inner)
    value, _, _, nu = (a[:, 0] for a in profile_in_theta(samples, theta[:, None]))
    xi = np.where(at_boundary, -1.0, theta / nu)
    v = exponential_scale_partials(samples.y, theta)
    log_q = lowest_log_q(nu, v[0])
    location = np.where(at_boundary, 0.0, power_ratio(log_q, xi) / nu)
    scale = np.where(at_boundary, top, np.exp(xi * log_q) / nu)
    params = np.stack([samples.centre + samples.unit * location, samples.unit * scale, xi], -1)
    nll = samples.n * (np.where(at_boundary, edge, value) + np.log(samples.unit))
    cov = np.full((samples.unit.size, 3, 3), np.nan)
    if covariance:
        regular = xi > tails.REGULAR_ABOVE
        cov[regular] = _covariance(samples, theta, nu, log_q, v)[regular]
    place = np.where(at_boundary, -1.0 / top, theta), np.where(at_boundary, 1.0 / top, nu)
    fits = SampleFits(params, nll, at_boundary, unbounded, *place, cov)
    return _penalised(samples, fits) if penalised else fits


def _penalised(samples: Samples, fits: SampleFits) -> SampleFits:
    """The fits with the penalised estimates where these differ."""
    rows, shape, nu, extra = tails.coles_dixon(GevLikelihood(samples, fits))
    part, theta = samples.take(rows), shape * nu
    v = exponential_scale_partials(part.y, theta)
    log_q = lowest_log_q(nu, v[0])
    value = gumbel_partials(theta, nu, v, log_q)[0] + np.log(part.unit)
    location, scale = power_ratio(log_q, shape) / nu, np.exp(shape * log_q) / nu
    params = np.stack([part.centre + part.unit * location, part.unit * scale, shape], -1)
    changed = {"params": params, "nll": part.n * value, "theta": theta, "nu": nu}
    changed |= {"at_boundary": np.zeros_like(nu), "unbounded": np.zeros_like(nu)}
    return fits.with_rows(rows, {**changed, "covariance": _covariance(part, theta, nu, log_q, v, extra)})


def _has_better_inside(samples: Samples, rows: Rows, edge: Floats, log_n: Floats) -> Flags:
    """Whether points without a minimum near them, Gumbel's and heavier, beat the edge ξ = −1."""
    if not rows.size:
        return np.zeros(0, dtype=bool)
    part = samples.take(rows)
    theta, _, _ = tail_parameter(_HEAVIER * log_n[rows, None], part.lower[:, None], part.upper[:, None])
    with np.errstate(all="ignore"):
        return np.asarray((profile_in_theta(part, theta)[0] < edge[rows, None]).any(axis=1))


def _start_from_lmoments(samples: Samples) -> Floats | None:
    """θ of the L-moment fit; small samples, where it may miss the basin, are searched on the grid."""
    if samples.y.shape[1] < _SEARCH_BELOW:
        return None
    params = law.gev_from_lmoments(*law.sample_lmoments(np.sort(samples.y, axis=1)))
    location, scale, shape = np.moveaxis(params, -1, 0)
    return np.asarray(shape / (scale - shape * location))


def _covariance(
    samples: Samples, theta: Floats, nu: Floats, log_q: Floats, v: Triple, extra: tuple[Floats, ...] = ()
) -> Floats:
    """Inverse observed information of (θ, ν, log q), carried to (μ, σ, ξ); shape (P, 3, 3).

    μ = (q^ξ − 1)/θ and σ = q^ξ/ν with ξ = θ/ν. `extra`: what a penalty adds to the information of (θ, ν).
    """
    xi = theta / nu
    second = gumbel_partials(theta, nu, v, log_q)[4:]
    h = tails.symmetric(*(s + a / samples.n for s, a in zip(second, extra, strict=False)), *second[len(extra) :])
    power = np.exp(xi * log_q)
    ratio, ratio_xi = power_ratio(log_q, xi), law.power_ratio_shape_derivative(log_q, xi)
    xi_t, xi_v, none = 1.0 / nu, -xi / nu, np.zeros_like(nu)
    of_location = [ratio_xi * xi_t / nu, ratio_xi * xi_v / nu - ratio / nu**2, power / nu]
    of_scale = [power * log_q * xi_t / nu, power * log_q * xi_v / nu - power / nu**2, xi * power / nu]
    jacobian = np.stack([*of_location, *of_scale, xi_t, xi_v, none], -1).reshape(-1, 3, 3)
    jacobian[:, :2] *= samples.unit[:, None, None]
    with np.errstate(all="ignore"):
        information = h * samples.n[:, None, None]
        good = np.isfinite(information).all((1, 2)) & (np.abs(np.linalg.det(h)) > 0)
        inverse = np.full_like(h, np.nan)
        inverse[good] = np.linalg.inv(information[good])
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
        return lowest_log_q(self.fits.nu, exponential_scale_partials(self.samples.y, self.fits.theta)[0])

    def minimum(self) -> Floats:
        """Lowest negative log-likelihood in standard units, shape (P,)."""
        return self.fits.nll - self.samples.n * np.log(self.samples.unit)

    def boundary(self) -> Floats:
        """Lowest value with ξ = −1: the end point at the largest maximum; shape (P,)."""
        return self.samples.n * (np.log(self.samples.upper) + 1.0)

    def free(self, rows: Rows, theta: Floats) -> Triple:
        """Profile in θ alone, with slope and curvature."""
        n = self.samples.n[rows, None]
        value, slope, curvature, _ = profile_in_theta(self.samples.take(rows), theta)
        return n * value, n * slope, n * curvature

    def partials(self, rows: Rows, theta: Floats, nu: Floats) -> tuple[Floats, ...]:
        """F, F_θ, F_ν, F_θθ, F_θν, F_νν with the location eliminated, shape (Q, K)."""
        lowest = without_log_q(gumbel_partials(theta, nu, self.prepared(rows, theta)))
        return tuple(self.samples.n[rows, None] * f for f in lowest)

    def prepared(self, rows: Rows, theta: Floats) -> Triple:
        """The maxima on the exponential scale of θ, with θ-derivatives; shape (Q, K, n)."""
        return exponential_scale_partials(self.samples.take(rows).y[:, None, :], theta)

    def joint(self, rows: Rows, data: Triple, theta: Floats, nu: Floats, ell: Floats) -> tuple[Floats, ...]:
        """F and its derivatives in (θ, ν, ℓ); see `SampleLikelihood.joint`."""
        return tuple(self.samples.n[rows, None] * f for f in gumbel_partials(theta, nu, data, ell))

    def level(self, rows: Rows, theta: Floats, d: Floats, offset: Floats) -> tuple[Floats, ...]:
        """Profile in θ with the level at d for τ = `offset`; see `SampleLikelihood.level`."""
        out = np.empty((6, *theta.shape))
        for part in _chunks(self.samples, theta):
            out[:, part] = super().level(rows[part], theta[part], d[part], offset[part])
        return tuple(out)

    def best_nu(self, rows: Rows, data: Triple, v: Floats, offset: Floats) -> Floats:
        """ν that minimises at fixed θ where ℓ = νv − offset; shape (Q, K)."""
        gap = v[..., None] - data[0]
        mean = gap.mean(-1)

        def derivatives(nu: Floats) -> tuple[Floats, Floats]:
            e = np.exp(np.minimum(nu[..., None] * gap - offset[..., None], 500.0))
            return (e * gap).mean(-1) - mean - 1.0 / nu, 1.0 / nu**2 + (e * gap * gap).mean(-1)

        return minimise_convex(derivatives, np.pi / (np.sqrt(6.0) * data[0].std(-1)))

    def inside(self, rows: Rows, ell: Floats) -> Flags:
        """Every log q is possible."""
        return np.isfinite(ell)

    def edge(self, rows: Rows, d: Floats, offset: Floats) -> Floats:
        """Value at ξ = −1 with the end point at the largest maximum; +inf where d lies beyond it."""
        top = self.samples.upper[rows]
        # t = (top − y)/σ with σ chosen so that t(d) = e^(−τ)
        with np.errstate(all="ignore"):
            scale = np.where(d < top, top - d, 1.0) * np.exp(offset)
            value = self.samples.n[rows] * (np.log(scale) + top / scale)  # the mean of y is 0
        return np.where(d < top, value, np.inf)
