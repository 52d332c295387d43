"""Likelihoods of the two tails in standard units, many samples at once, and their profiles.

Both are functions of θ = ξ/σ, ν = 1/σ and ℓ: the logarithm of the exceedance rate λ (excesses over a
threshold) or of q = 1/mean(e^(−νv)) (block maxima). With v(y; θ) = log(1 + θy)/θ the level at d of the period
whose logarithm is τ ties them: ℓ = ν·v(d; θ) − τ. `gpd` and `gev` say what each likelihood is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from fairstats.numerics.evt.distributions import Flags, Floats, Rows, Triple, exponential_scale_partials
from fairstats.numerics.evt.optimise import find_crossings, minimise_over_tail, newton_in_bracket

#: Below this shape the likelihood has no regular maximum (Smith 1985).
REGULAR_ABOVE = -0.5


@dataclass(frozen=True)
class Samples:
    """Values of P samples in standard units: (x − centre)/unit.

    `y`, (P, N): standardised values; rows of excesses shorter than N end in zeros; `n`: values per sample; `centre`,
    `unit`: 0 and the mean of excesses; mean and standard deviation of block maxima; `lower`, `upper`: lower end of the
    standardised values (0 for excesses: the threshold), and the largest; all of shape (P,).
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
        x = np.atleast_2d(np.asarray(excesses, dtype=np.float64))
        count = np.full(x.shape[0], float(x.shape[1])) if n is None else np.asarray(n, dtype=np.float64)
        unit = x.sum(axis=1) / count
        y = x / unit[:, None]
        return cls(y, count, np.zeros_like(unit), unit, np.zeros_like(unit), y.max(axis=1))

    @classmethod
    def from_maxima(cls, maxima: Floats) -> Self:
        """Standardise block maxima of shape (P, n)."""
        x = np.atleast_2d(np.asarray(maxima, dtype=np.float64))
        centre = x.mean(axis=1)
        x = x - centre[:, None]
        reach = np.abs(x).max(axis=1)  # squares of the values themselves may overflow
        unit = np.sqrt(np.mean((x / reach[:, None]) ** 2, axis=1)) * reach
        y = x / unit[:, None]
        n = np.full(x.shape[0], float(x.shape[1]))
        return cls(y, n, centre, unit, y.min(axis=1), y.max(axis=1))

    def take(self, rows: Rows) -> Samples:
        """The samples `rows` (all of them without a copy)."""
        if rows.size == self.n.size and (rows.size == 1 or np.array_equal(rows, np.arange(rows.size))):
            return self
        return Samples(*(field[rows] for field in vars(self).values()))


@dataclass(frozen=True)
class SampleFits:
    """Maximum likelihood fits of P samples in the region ξ ≥ −1.

    `params`, (P, p): (σ, ξ) of excesses, (μ, σ, ξ) of block maxima; `nll`: in the units of the data; `at_boundary`:
    whether ξ = −1, with the end point at the largest value, is the best point; `unbounded`: whether the likelihood of
    block maxima has no maximum, so that all other fields mean nothing; `theta`, `nu`: of the standardised values;
    `covariance`, (P, p, p): by the observed information; NaN where ξ ≤ −1/2.
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
        fields = {name: getattr(self, name).copy() for name in changed}
        for name, values in changed.items():
            fields[name][rows] = values
        return replace(self, **fields)


class SampleLikelihood(Protocol):
    """Likelihood of P samples in standard units; subclasses say what `joint` and its minima over ν are."""

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
        """Lowest negative log-likelihood in standard units, that of the rate included; shape (P,)."""

    def boundary(self) -> Floats:
        """Lowest value with ξ = −1, shape (P,)."""

    def free(self, rows: Rows, theta: Floats) -> Triple:
        """Profile in θ alone, with slope and curvature; (Q,) and (Q, K) → (Q, K)."""

    def partials(self, rows: Rows, theta: Floats, nu: Floats) -> tuple[Floats, ...]:
        """F minimised over ℓ, F_θ, F_ν, F_θθ, F_θν, F_νν; all of shape (Q, K)."""

    def prepared(self, rows: Rows, theta: Floats) -> Triple:
        """What `joint` and `best_nu` need of the samples at θ: functions of v(y; θ) and its derivatives."""

    def joint(self, rows: Rows, data: Triple, theta: Floats, nu: Floats, ell: Floats) -> tuple[Floats, ...]:
        """F, F_θ, F_ν, F_ℓ, F_θθ, F_θν, F_νν, F_θℓ, F_νℓ, F_ℓℓ; all of shape (Q, K)."""

    def best_nu(self, rows: Rows, data: Triple, v: Floats, offset: Floats) -> Floats:
        """ν that minimises at fixed θ where ℓ = νv − offset; shape (Q, K)."""

    def inside(self, rows: Rows, ell: Floats) -> Flags:
        """Whether ℓ is possible."""

    def edge(self, rows: Rows, d: Floats, offset: Floats) -> Floats:
        """Value at ξ = −1 with the end point at the largest value; +inf where d lies beyond it."""

    def level(self, rows: Rows, theta: Floats, d: Floats, offset: Floats) -> tuple[Floats, ...]:
        """Profile in θ with the return level at `d` (standard units), for the log period τ = `offset`.

        Value, slope and curvature in θ, slopes in d and in τ, and ν, each of shape (Q, K) as `theta`; the
        others have shape (Q,).
        """
        tau = offset[:, None]
        data = self.prepared(rows, theta)
        v0, v1, v2 = (a[..., 0] for a in exponential_scale_partials(d[:, None, None], theta))
        nu = self.best_nu(rows, data, v0, tau)
        clamped = nu < -theta  # the region ends at ξ = −1: ν = −θ
        nu = np.maximum(nu, -theta)
        f, f_t, f_v, f_l, f_tt, f_tv, f_vv, f_tl, f_vl, f_ll = self.joint(rows, data, theta, nu, nu * v0 - tau)
        # chain rule along ℓ = ν·v(d; θ) − τ, whose derivatives are ν·v1 in θ and v0 in ν
        t = nu * v1
        f_tt = f_tt + 2.0 * f_tl * t + f_ll * t**2 + f_l * nu * v2
        f_tv = f_tv + f_tl * v0 + f_vl * t + f_ll * t * v0 + f_l * v1
        f_vv = f_vv + 2.0 * f_vl * v0 + f_ll * v0**2
        f_t, f_v = f_t + f_l * t, f_v + f_l * v0
        slope, curvature = along_theta(clamped, f_t, f_v, f_tt, f_tv, f_vv)
        return f, slope, curvature, f_l * nu / (1.0 + theta * d[:, None]), -f_l, nu

    def whole(self, rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> Triple:
        """F, gradient (Q, 3) and Hessian (Q, 3, 3) in (θ, ν, ℓ) at points of shape (Q,)."""
        data = self.prepared(rows, theta[:, None])
        joint = self.joint(rows, data, theta[:, None], nu[:, None], ell[:, None])
        f, f_t, f_v, f_l, *second = (a[:, 0] for a in joint)
        return f, np.stack([f_t, f_v, f_l], -1), symmetric(*second)


def along_theta(
    clamped: Flags, f_t: Floats, f_v: Floats, f_tt: Floats, f_tv: Floats, f_vv: Floats
) -> tuple[Floats, Floats]:
    """Slope and curvature in θ where ν is at its best or, where `clamped`, at −θ: the region ends at ξ = −1."""
    curvature = np.where(clamped, f_tt - 2.0 * f_tv + f_vv, f_tt - f_tv**2 / f_vv)
    return np.where(clamped, f_t - f_v, f_t), curvature


def symmetric(tt: Floats, tv: Floats, vv: Floats, tl: Floats, vl: Floats, ll: Floats) -> Floats:
    """Symmetric 3 × 3 matrices from the entries of their upper half, shape (..., 3, 3)."""
    found = np.empty((*tt.shape, 3, 3))
    found[..., 0, 0], found[..., 1, 1], found[..., 2, 2] = tt, vv, ll
    found[..., 0, 1] = found[..., 1, 0] = tv
    found[..., 0, 2] = found[..., 2, 0] = tl
    found[..., 1, 2] = found[..., 2, 1] = vl
    return found


@dataclass(frozen=True)
class ProfilePoints:
    """Negative log-likelihood minimised over all but one parameter, at Q points.

    `value`, shape (Q,): negative log-likelihood; `slope`, shape (Q,): its derivative in the parameter of
    interest; NaN at the edge of the parameter space; `theta`, `nu`, shape (Q,): where the minimum lies.
    """

    value: Floats
    slope: Floats
    theta: Floats
    nu: Floats


def level_profile(
    likelihood: SampleLikelihood, rows: Rows, d: Floats, offset: Floats, *, start: Floats | None = None,
    in_offset: bool = False,
) -> ProfilePoints:  # fmt: skip
    """Profile of the return level at `d` (standard units) for the period whose logarithm is `offset`.

    `rows` says which sample each of the Q points belongs to; `start` is θ near the solution. The slope is in
    d or, where `in_offset` (for exceedance probabilities), in the offset.
    """

    def objective(which: Rows, theta: Floats) -> Triple:
        with np.errstate(all="ignore"):
            value, slope, curvature, *_ = likelihood.level(rows[which], theta, d[which], offset[which])
        return value, slope, curvature

    low, high = np.minimum(likelihood.samples.lower[rows], d), np.maximum(likelihood.samples.upper[rows], d)
    inner, lowest = minimise_over_tail(objective, low, high, np.log(likelihood.samples.n[rows]), start)
    theta = np.where(np.isfinite(inner), inner, 0.0)
    with np.errstate(all="ignore"):
        at = likelihood.level(rows, theta[:, None], d, offset)
    value, _, _, in_d, in_log_m, nu = (a[:, 0] for a in at)
    edge, inverse = likelihood.edge(rows, d, offset), 1.0 / likelihood.samples.upper[rows]
    at_edge = ~(lowest <= edge) & (np.isfinite(edge) | ~np.isfinite(lowest))
    slope = np.where(at_edge, np.nan, in_log_m if in_offset else in_d)
    place = np.where(at_edge, -inverse, theta), np.where(at_edge, inverse, nu)
    return ProfilePoints(np.where(at_edge, edge, value), slope, *place)


def shape_profile(likelihood: SampleLikelihood, rows: Rows, shape: Floats, start: Floats) -> ProfilePoints:
    """Profile of the shape ξ > −1: for fixed ξ one minimum along θ = ξν, from ν = `start`."""

    def objective(which: Rows, log_nu: Floats) -> Triple:
        nu, xi = np.exp(log_nu), shape[which, None]
        with np.errstate(all="ignore"):
            f, f_t, f_v, f_tt, f_tv, f_vv = likelihood.partials(rows[which], xi * nu, nu)
        along = nu * (f_v + xi * f_t)
        return f, along, nu**2 * (f_vv + 2.0 * xi * f_tv + xi**2 * f_tt) + along

    end = -shape * np.where(shape < 0, likelihood.samples.upper[rows], likelihood.samples.lower[rows])
    with np.errstate(divide="ignore"):
        log_cap = np.minimum(-np.log(end), 700.0)  # 1 + θy must stay positive
    start_log = np.minimum(np.log(start), log_cap - 0.1)
    log_nu = newton_in_bracket(objective, np.arange(rows.size), start_log, start_log - 30.0, log_cap)
    nu = np.exp(log_nu)[:, None]
    f, f_t, *_ = likelihood.partials(rows, shape[:, None] * nu, nu)
    return ProfilePoints(f[:, 0], (f_t * nu)[:, 0], (shape[:, None] * nu)[:, 0], nu[:, 0])


def scale_profile(likelihood: SampleLikelihood, rows: Rows, nu: Floats, start: Floats) -> ProfilePoints:
    """Profile of ν = 1/σ (generalised Pareto only); the slope is in ν."""

    def objective(which: Rows, theta: Floats) -> Triple:
        with np.errstate(all="ignore"):
            partials = likelihood.partials(rows[which], theta, np.broadcast_to(nu[which, None], theta.shape))
        return partials[0], partials[1], partials[3]

    low, high = likelihood.samples.lower[rows], likelihood.samples.upper[rows]
    inner, lowest = minimise_over_tail(objective, low, high, np.log(likelihood.samples.n[rows]), start)
    theta = np.where(np.isfinite(inner), inner, 0.0)
    f_v = likelihood.partials(rows, theta[:, None], nu[:, None])[2][:, 0]
    return ProfilePoints(lowest, np.where(np.isfinite(lowest), f_v, np.nan), theta, nu)


def coles_dixon(likelihood: SampleLikelihood) -> tuple[Rows, Floats, Floats, Triple]:
    """Estimates by Coles and Dixon's penalised likelihood, where they differ from those of the likelihood.

    exp(−P) multiplies the likelihood, P = ξ/(1 − ξ) for 0 < ξ < 1, 0 for ξ ≤ 0 and infinite for ξ ≥ 1. It only matters
    where the maximum has ξ > 0 or lies at infinity. Its slope at 0 is 1: where the profile log-likelihood rises more
    slowly, the estimate is ξ = 0. Returns the samples concerned, ξ and ν, and what P adds to the information of (θ, ν):
    entries θθ, θν, νν.
    """
    fits = likelihood.fits
    rows = np.flatnonzero((fits.shape > 0) | fits.unbounded)
    none = np.zeros(rows.size)
    flat = shape_profile(likelihood, rows, none, np.where(fits.unbounded[rows], 1.0, fits.nu[rows]))
    concerned = ~(fits.unbounded[rows] & (flat.slope > 0))  # there the estimate would be below 0
    rows, nu, at_zero = rows[concerned], flat.nu[concerned], flat.slope[concerned]
    shape = np.zeros(rows.size)
    inside = np.flatnonzero(at_zero < -1.0)
    highest = np.where(fits.unbounded[rows], 1.0, np.minimum(fits.shape[rows], 1.0))[inside] - 1e-12

    def objective(which: Rows, xi: Floats) -> Triple:
        at = shape_profile(likelihood, rows[which], xi[:, 0], nu[which])
        partials = likelihood.partials(rows[which], at.theta[:, None], at.nu[:, None])
        f_t, (f_tt, f_tv, f_vv) = partials[1], partials[3:]
        near, v = 1.0 - xi, at.nu[:, None]
        mixed = f_t + v * (f_tv + xi * f_tt)
        curvature = f_tt * v**2 - mixed**2 / (f_vv + 2.0 * xi * f_tv + xi**2 * f_tt)
        return at.value[:, None] + xi / near, at.slope[:, None] + near**-2, curvature + 2.0 * near**-3

    start = np.minimum(0.7 * highest, 0.5)
    shape[inside] = newton_in_bracket(objective, inside, start, np.zeros(inside.size), highest)
    points = shape_profile(likelihood, rows, shape, nu)
    first = np.where(shape > 0, (1.0 - shape) ** -2, -points.slope)
    second = np.where(shape > 0, 2.0 * (1.0 - shape) ** -3, 0.0)
    v = points.nu
    of_v = (second * shape**2 + 2.0 * first * shape) / v**2
    return rows, shape, v, (second / v**2, -(first + second * shape) / v**2, of_v)


def block_scale_end(standard: SampleLikelihood, period: float, side: float, target: float) -> float:
    """Log of the end for σ = e^(ξs)/ν, s = ℓ + τ, the scale of blocks with log period τ.

    In the coordinates (ξ, s), ν = e^(ξs)/σ is explicit, and what is left for a given σ is a minimum over two variables.
    """
    from scipy.optimize import minimize

    only, minimum = np.zeros(1, dtype=np.intp), float(standard.minimum()[0])
    xi, s = float(standard.fits.theta[0] / standard.fits.nu[0]), float(standard.log_rate[0]) + period
    centre = xi * s - np.log(standard.fits.nu)
    start = np.array([max(xi, -1.0 + 1e-6), s])
    low, high = float(standard.samples.lower[0]), float(standard.samples.upper[0])
    precise = {"xatol": 1e-7, "fatol": 1e-9, "maxiter": 2000, "maxfev": 2000}

    def value(point: Floats, log_scale: float) -> float:
        shape, s_here = point
        with np.errstate(all="ignore"):
            nu = np.exp(shape * s_here - log_scale)
            theta, ell = shape * nu, s_here - period
            inside = 1.0 + theta * high > 0 and 1.0 + theta * low > 0 and shape >= -1.0 and 0 < nu < 1e300
            if not inside or not bool(standard.inside(only, np.array([ell]))[0]):
                return 1e30  # finite, since the simplex compares differences
            f = standard.whole(only, np.array([theta]), np.array([nu]), np.array([ell]))[0][0]
        return float(f) if np.isfinite(f) else 1e30

    def deviance(which: Rows, log_scale: Floats) -> tuple[Floats, Floats]:
        # ξ = 0 has no end points, so it is possible at every scale
        starts, at = [start, np.array([0.0, start[1]]), np.array([0.0, s])], float(log_scale[0])
        first = starts[int(np.argmin([value(point, at) for point in starts]))]
        options = {**precise, "initial_simplex": first + np.array([[0.0, 0.0], [0.05, 0.0], [0.0, 0.05]])}
        best = minimize(value, first, args=(at,), method="Nelder-Mead", options=options)
        start[:] = best.x
        return np.array([2.0 * (best.fun - minimum)]), np.array([np.nan])

    return float(find_crossings(deviance, centre, np.array([0.1 * side]), np.array([target]))[0])
