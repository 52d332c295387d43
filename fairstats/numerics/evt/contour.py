"""Largest and smallest value of a parameter of interest over a likelihood region.

A profile-likelihood interval of h(θ, ν, ℓ) ends where h is extreme on the contour F = F̂ + q/2. Newton's
method on the Lagrange conditions ∇h = η∇F, F = F̂ + q/2 finds both ends in a few evaluations, without
profiling (the idea of Venzon & Moolgavkar 1988, for a function instead of a coordinate). The contour is
approached in steps. Points that do not settle come back as NaN; the caller then searches the profile.
With ω = (ℓ + a)/ν the level of the period whose logarithm is a lies at d = (e^(θω) − 1)/θ from the origin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairstats.numerics.evt import distributions as law
from fairstats.numerics.evt.distributions import Flags, Floats, Numbers, Rows, Triple
from fairstats.numerics.evt.likelihood import SampleLikelihood, symmetric
from fairstats.numerics.evt.optimise import tail_parameter

#: Value (Q,), gradient (Q, 3) and Hessian (Q, 3, 3) in (θ, ν, ℓ) at points of the problems `rows`.
Interest = Callable[[Rows, Floats, Floats, Floats], Triple]
#: Critical values of all ends and numbers of those wanted → these; these → mean and sd of the signed root there.
Ends = Callable[[Floats, Rows], Floats]
Moments = Callable[[Floats, Rows], tuple[Floats, Floats]]
#: Numbers of problems and the shapes ξ at their points → signed roots of the deviance that are looked for.
Roots = Callable[[Rows, Floats], Floats]

#: s = log(m·λ) of the levels whose signed roots were simulated; shape and end point are as the last.
ROOT_KNOTS = (0.3, 0.7, 1.5, 3.0, 5.0, 8.0)
#: √k·mean and k·(variance − 1) of the roots of k excesses: coefficients of 1, ξ, ξ² at each knot.
ROOT_MEAN = (
    (0.16, -0.49, 0.27), (0.41, -0.88, 0.54), (-0.13, -0.97, 0.67),
    (-1.79, 1.09, -0.42), (-2.35, 2.49, -1.62), (-2.46, 2.77, -1.86),
)  # fmt: skip
ROOT_VARIANCE = (
    (-0.2, 0.3, -0.1), (0.6, -0.9, 1.0), (4.4, -6.1, 5.3),
    (6.2, -8.5, 6.1), (4.2, -0.7, -2.1), (3.7, -1.2, -0.9),
)  # fmt: skip
#: Shapes of the simulation, beyond which the moments stay.
ROOT_SHAPES = (-0.5, 0.8)
#: Standardised ends are found where their root would move by less (the rest of the way goes along the secant), or where
#: they themselves move by less than the third of their distance from the estimate, which is at least the second.
_SETTLED, _LEAST_ROOT, _STILL, _SECANTS = 1e-4, 1e-6, 1e-9, 30
#: Radii of the approach, as shares of the final one: two leaps first, small steps where they fail.
_APPROACHES, _ITERATIONS = ((0.5, 1.0), (0.12, 0.3, 0.5, 0.75, 1.0)), 15


def contour_extremes(
    likelihood: SampleLikelihood, samples: Rows, interest: Interest, side: Floats, target: Floats
) -> Floats:
    """Extreme values of a parameter of interest on the contour, NaN where the iteration does not settle.

    `samples` says which of the P samples of the likelihood each of the Q problems belongs to. `side` is +1 for the
    largest value, −1 for the smallest; `target` is q, the critical value of the deviance.
    """
    chart, one = Chart(likelihood, samples, interest), np.ones(samples.size)
    given = likelihood.minimum()[samples], side * np.sqrt(target)
    return Lagrange((chart,), (one,), *given, by_root=True).solved()[1]


def standardised_extremes(
    likelihood: SampleLikelihood, samples: Rows, interest: Interest, side: Floats, z: Floats, s: Numbers
) -> tuple[Floats, Floats]:
    """Extremes where the standardised signed root is ±z, and their deviances; NaN where nothing settles.

    As `contour_extremes`, on a contour that moves with the shape at the point, on which, with s = log(m·λ), the
    moments of the root depend.
    """
    k, s = likelihood.samples.n[samples], np.broadcast_to(s, z.shape)
    chart, one = Chart(likelihood, samples, interest), np.ones(samples.size)

    def roots(rows: Rows, shape: Floats) -> Floats:
        mean, sd = root_moments(shape, s[rows], k[rows])
        return side[rows] * np.maximum(sd * z[rows] - side[rows] * mean, _LEAST_ROOT)

    given = roots(np.arange(samples.size), (likelihood.fits.theta / likelihood.fits.nu)[samples])
    lowest = likelihood.minimum()[samples]
    deviance, found, _ = Lagrange((chart,), (one,), lowest, given, by_root=True, roots=roots).solved()
    return found, deviance


@dataclass(frozen=True)
class Chart:
    """F and a parameter of interest in the coordinates (φ, log ν, ℓ), in which both are nearly quadratic.

    `samples` says which of the P samples of the likelihood each of the Q problems belongs to.
    """

    likelihood: SampleLikelihood
    samples: Rows
    interest: Interest

    def tangent(self) -> tuple[Floats, ...]:
        """The maximum in the chart, H⁻¹∇h there, √(∇h·H⁻¹∇h), and h."""
        fits, samples, rows = self.likelihood.fits, self.samples, np.arange(self.samples.size)
        centre = self.placed(rows, fits.theta[samples], fits.nu[samples], self.likelihood.log_rate[samples])
        (_, _, f2), (h, h1, _), _ = self.at(rows, centre)
        direction = solved(*cofactors(f2), h1)
        return centre, direction, np.sqrt(dot(direction, h1)), h

    def ends(self, rows: Rows) -> tuple[Floats, Floats]:
        """Lower and upper ends of the standardised values."""
        samples = self.samples[rows]
        return self.likelihood.samples.lower[samples], self.likelihood.samples.upper[samples]

    def placed(self, rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> Floats:
        """Points of the chart, shape (Q, 3)."""
        low, high = self.ends(rows)
        return np.stack([np.log((1.0 + theta * high) / (1.0 + theta * low)), np.log(nu), ell], -1)

    def shape(self, rows: Rows, point: Floats) -> Floats:
        """ξ = θ/ν at points of the chart."""
        return tail_parameter(point[:, 0], *self.ends(rows))[0] / np.exp(point[:, 1])

    def at(self, rows: Rows, point: Floats) -> tuple[Triple, Triple, Flags]:
        """Value, gradient and Hessian of F and of h in the chart (φ, log ν, ℓ), and whether ξ > −1."""
        theta, chart, bend = tail_parameter(point[:, 0], *self.ends(rows))
        nu, ell = np.exp(point[:, 1]), point[:, 2]
        first = np.stack([chart, nu, np.ones_like(nu)], -1)
        second = np.stack([bend, nu, np.zeros_like(nu)], -1)
        f = self.likelihood.whole(self.samples[rows], theta, nu, ell)
        h = self.interest(rows, theta, nu, ell)
        return _in_chart(f, first, second), _in_chart(h, first, second), nu > -theta


class Lagrange:
    """Minima of a sum of likelihoods at values of a sum of interests, or extremes of that sum on a contour.

    `charts`, one or two, hold one sample each in Q problems; `units`, shape (Q,), multiply their interests; `minimum`
    is that of the sum of the likelihoods. `given` are the values or, where `by_root`, signed roots of the deviance;
    with `roots` these are first guesses, and what is sought moves with the shape at the point of the only chart.
    """

    def __init__(
        self, charts: tuple[Chart, ...], units: tuple[Floats, ...], minimum: Floats, given: Floats, *,
        by_root: bool = False, roots: Roots | None = None,
    ) -> None:  # fmt: skip
        self.charts, self.units, self.minimum, self.by_root, self.roots = charts, units, minimum, by_root, roots
        with np.errstate(all="ignore"):
            self.centres, self.directions, lengths, at = zip(*(chart.tangent() for chart in charts), strict=True)
            self.spread = np.sqrt(np.sum(np.square([u * t for u, t in zip(units, lengths, strict=True)]), axis=0))
            self.estimate = np.sum([u * h for u, h in zip(units, at, strict=True)], axis=0)
            self.radius = given if by_root else (given - self.estimate) / self.spread

    def solved(self, *, farthest: float = np.inf, patient: bool = True) -> Triple:
        """Deviances, sums of interests and multipliers, shape (Q,); NaN where nothing settles.

        Nor beyond `farthest` radii; where not `patient`, after the leaps only.
        """
        found = np.full((3, self.radius.size), np.nan)
        near = np.abs(self.radius) <= farthest
        with np.errstate(all="ignore"):
            for shares in _APPROACHES if patient else _APPROACHES[:1]:
                todo = np.flatnonzero(np.isnan(found[0]) & near)
                if todo.size:
                    found[:, todo] = self.approach(todo, shares)
        return found[0], found[1], found[2]

    def polished(self, rows: Rows, points: list[Triple], multiplier: Floats) -> tuple[Floats, Floats]:
        """Deviances and multipliers by Newton's method from near (θ, ν, ℓ); NaN where it does not settle."""
        with np.errstate(all="ignore"):
            near = [chart.placed(rows, *at) for chart, at in zip(self.charts, points, strict=True)]
            deviance, _, _, multiplier = self.newton(rows, near, multiplier, 1.0)
        return deviance, multiplier

    def approach(self, rows: Rows, shares: tuple[float, ...]) -> Triple:
        """Deviances, sums and multipliers at the last share of the radius, by way of the others."""
        eta = self.radius[rows] / self.spread[rows]
        points = previous = [c[rows] for c in self.centres]
        before, reached, multiplier = -1.0, 0.0, eta
        deviance = difference = np.full(rows.size, np.nan)
        for share in shares:
            ahead = (share - reached) / (reached - before)
            moves = [(new - old) * ahead for new, old in zip(points, previous, strict=True)]
            if reached == 0.0:
                along = zip(self.units, self.directions, strict=True)
                moves = [share * (u[rows, None] * d[rows] * eta[:, None]) for u, d in along]
                moves = [m * np.minimum(1.0, 2.0 / np.abs(m).max(-1))[:, None] for m in moves]
            previous, points = points, [x + move for x, move in zip(points, moves, strict=True)]
            multiplier = multiplier * share / reached if reached else eta * share
            before, reached = reached, share
            deviance, difference, points, multiplier = self.newton(rows, points, multiplier, share)
        return deviance, difference, multiplier

    def newton(
        self, rows: Rows, points: list[Floats], multiplier: Floats, share: float
    ) -> tuple[Floats, Floats, list[Floats], Floats]:
        """Newton's method at a share of the radius: deviances, sums of interests, points, multipliers."""
        radius, spread, estimate = (v[rows] for v in (self.radius, self.spread, self.estimate))
        goal = 0.5 * (share * radius) ** 2 if self.by_root else estimate + share * radius * spread
        rough = share < 1.0  # a way-point need not be exact
        tolerance = (1e-2 if rough else 1e-10) * (1.0 + radius**2 if self.by_root else spread)
        deviance, difference = np.full((2, rows.size), np.nan)
        points, multiplier = [x.copy() for x in points], multiplier.copy()
        a = np.flatnonzero(np.isfinite(multiplier))
        for _ in range(_ITERATIONS):
            if not a.size:
                break
            eta = multiplier[a]
            if self.roots is not None and not rough:
                radius[a] = self.roots(rows[a], self.charts[0].shape(rows[a], points[0][a]))
                goal[a] = 0.5 * radius[a] ** 2
            fall, (gap, base, slope, pull) = -self.minimum[rows[a]], np.zeros((4, a.size))
            regular, steps = np.ones(a.size, dtype=bool), []
            for chart, units, x in zip(self.charts, self.units, points, strict=True):
                (f, f1, f2), (h, h1, h2), inside = chart.at(rows[a], x[a])
                unit = units[rows[a]]
                towards = unit[:, None] * h1
                matrix = f2 - (eta * unit)[:, None, None] * h2
                inverse = cofactors(matrix)
                free, tied = solved(*inverse, eta[:, None] * towards - f1), solved(*inverse, towards)
                normal = f1 if self.by_root else towards
                base, slope = base + dot(normal, free), slope + dot(normal, tied)
                pull = pull + dot(towards, tied)
                fall, gap, regular = fall + f, gap + unit * h, regular & inside
                steps.append((free, tied, matrix))
            off = goal[a] - (fall if self.by_root else gap)
            eta_step = (off - base) / slope
            moves = [free + eta_step[:, None] * tied for free, tied, _ in steps]
            size = np.max([np.abs(move).max(-1) for move in moves], axis=0)
            settled = (np.abs(off) < tolerance[a]) & (size < (3e-2 if rough else 1e-6))
            if settled.any():
                which = np.flatnonzero(settled & regular & (eta * radius[a] >= 0))
                negative = np.sum([np.linalg.eigvalsh(m[which]) < 0 for *_, m in steps], axis=(0, 2))
                # the least of the likelihoods at its value
                which = which[(negative == 0) & (pull[which] > 0) | (negative == 1) & (pull[which] < 0)]
                deviance[a[which]], difference[a[which]] = 2.0 * fall[which], gap[which]
            shrink = np.minimum(1.0, 1.0 / size)
            for x, move in zip(points, moves, strict=True):
                x[a] += shrink[:, None] * move
            multiplier[a] += shrink * eta_step
            alive = ~settled & np.isfinite(size) & np.isfinite(eta_step)
            for chart, x in zip(self.charts, points, strict=True):
                alive &= chart.likelihood.inside(chart.samples[rows[a]], x[a, 2])
            a = a[alive]
        multiplier[np.isnan(deviance)] = np.nan
        return deviance, difference, points, multiplier


def dot(a: Floats, b: Floats) -> Floats:
    """Inner products of the rows."""
    return np.asarray(np.einsum("ij,ij->i", a, b))


def _in_chart(of: Triple, first: Floats, second: Floats) -> Triple:
    """Value, gradient and Hessian after the change of each variable by itself."""
    value, gradient, hessian = of
    changed, i = hessian * first[:, :, None] * first[:, None, :], np.arange(3)
    changed[:, i, i] += gradient * second
    return value, gradient * first, changed


def cofactors(matrix: Floats) -> tuple[Floats, Floats]:
    """Adjugate and determinant of symmetric 3 × 3 matrices."""
    a, b, c = matrix[:, 0, 0], matrix[:, 0, 1], matrix[:, 0, 2]
    d, e, f = matrix[:, 1, 1], matrix[:, 1, 2], matrix[:, 2, 2]
    adjugate = symmetric(d * f - e * e, c * e - b * f, a * f - c * c, b * e - c * d, b * c - a * e, a * d - b * b)
    return adjugate, np.asarray(dot(matrix[:, 0], adjugate[:, 0]))


def solved(adjugate: Floats, determinant: Floats, vector: Floats) -> Floats:
    """Solutions by cofactors: one singular matrix of a batch gives NaN, not an exception."""
    return np.asarray(np.einsum("ijk,ik->ij", adjugate, vector) / determinant[:, None])


def level_interest(log_period: Floats, *, rate_known: bool = False) -> Interest:
    """The level d = (e^(θω) − 1)/θ in standard units."""

    def interest(rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> Triple:
        omega, in_nu, in_ell, nu_nu, nu_ell = _omega(nu, ell + log_period[rows])
        d, in_omega = law.power_ratio(omega, theta), np.exp(theta * omega)
        in_theta = law.power_ratio_shape_derivative(omega, theta)
        power = 1.0 + theta * d
        bend, mixed = theta * power, omega * power  # ∂²d/∂ω² and ∂²d/∂θ∂ω
        gradient = np.stack([in_theta, in_omega * in_nu, in_omega * in_ell], -1)
        in_both = bend * (in_nu * in_nu) + in_omega * nu_nu, bend * (in_nu * in_ell) + in_omega * nu_ell
        in_theta2, in_ell2 = _second_in_theta(theta, omega, in_theta, in_omega), bend * (in_ell * in_ell)
        hessian = symmetric(in_theta2, mixed * in_nu, in_both[0], mixed * in_ell, in_both[1], in_ell2)
        if rate_known:  # ℓ is held
            varies = np.array([1.0, 1.0, 0.0])
            gradient, hessian = gradient * varies, hessian * varies * varies[:, None]
        return d, gradient, hessian

    return interest


def return_level_interest(log_period: Floats, unit: Floats, *, rate_known: bool = False) -> Interest:
    """Interest arsinh(d/unit): as monotone as d, and straight enough for heavy tails."""
    level = level_interest(log_period, rate_known=rate_known)

    def interest(rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> Triple:
        d, gradient, hessian = level(rows, theta, nu, ell)
        z = d / unit[rows]
        root = np.sqrt(1.0 + z * z)
        outer1, outer2 = 1.0 / (root * unit[rows]), -z / root**3 / unit[rows] ** 2
        square = gradient[:, :, None] * gradient[:, None, :]
        second = outer1[:, None, None] * hessian + outer2[:, None, None] * square
        return np.arcsinh(z), outer1[:, None] * gradient, second

    return interest


def log_exceedance_interest(d: Floats) -> Interest:
    """Log p = ℓ − ν·v(d; θ): how often a value at d is exceeded."""

    def interest(rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> Triple:
        v0, v1, v2 = (a[:, 0] for a in law.exponential_scale_partials(d[rows, None], theta))
        none = np.zeros_like(v0)
        value = np.where(1.0 + theta * d[rows] > 0, ell - nu * v0, np.nan)
        hessian = symmetric(-nu * v2, -v1, none, none, none, none)
        return value, np.stack([-nu * v1, -v0, np.ones_like(v0)], -1), hessian

    return interest


def shape_interest() -> Interest:
    """ξ = θ/ν."""

    def interest(rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> Triple:
        none = np.zeros_like(nu)
        hessian = symmetric(none, -1.0 / nu**2, 2.0 * theta / nu**3, none, none, none)
        return theta / nu, np.stack([1.0 / nu, -theta / nu**2, none], -1), hessian

    return interest


def log_scale_interest(log_period: Floats | None) -> Interest:
    """Log σ: −log ν of the excesses, or θω − log ν for maxima of blocks with log length `log_period`."""

    def interest(rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> Triple:
        none = np.zeros_like(nu)
        if log_period is None:
            hessian = symmetric(none, none, 1.0 / nu**2, none, none, none)
            return -np.log(nu), np.stack([none, -1.0 / nu, none], -1), hessian
        omega, in_nu, in_ell, nu_nu, nu_ell = _omega(nu, ell + log_period[rows])
        gradient = np.stack([omega, -1.0 / nu + theta * in_nu, theta * in_ell], -1)
        hessian = symmetric(none, in_nu, 1.0 / nu**2 + theta * nu_nu, in_ell, theta * nu_ell, none)
        return -np.log(nu) + theta * omega, gradient, hessian

    return interest


def _omega(nu: Floats, s: Floats) -> tuple[Floats, ...]:
    """ω = s/ν with ω_ν, ω_ℓ, ω_νν and ω_νℓ."""
    omega = s / nu
    return omega, -omega / nu, 1.0 / nu, 2.0 * omega / nu**2, -1.0 / nu**2


def _second_in_theta(theta: Floats, omega: Floats, in_theta: Floats, in_omega: Floats) -> Floats:
    """∂²/∂θ² of (e^(θω) − 1)/θ from its first derivatives; ω³/3 at θ = 0."""
    z = theta * omega
    small = np.abs(z) < 0.05
    series = omega**3 * (1 / 3 + z * (1 / 4 + z * (1 / 10 + z * (1 / 36 + z * (1 / 168 + z / 960)))))
    safe = np.where(small, 1.0, theta)
    return np.where(small, series, (omega**2 * in_omega - 2.0 * in_theta) / safe)


def root_moments(shape: Numbers, s: Numbers, k: Numbers) -> tuple[Floats, Floats]:
    """Mean and standard deviation of the signed root of a level with s = log(m·λ), for k excesses of shape ξ.

    mean = a(ξ, s)/√k, variance = 1 + b(ξ, s)/k, where a and b are quadratic in ξ and linear between the knots of s
    (simulated: `tests/calibration/roots.py`). At s = ∞ those of the shape and of the end point. They broadcast.
    """
    xi, s = np.broadcast_arrays(np.clip(shape, *ROOT_SHAPES), s)
    powers = np.stack([np.ones_like(xi), xi, xi**2], -1)
    a, b = (
        (powers * np.stack([np.interp(s, ROOT_KNOTS, column) for column in np.transpose(table)], -1)).sum(-1)
        for table in (ROOT_MEAN, ROOT_VARIANCE)
    )
    return a / np.sqrt(k), np.sqrt(1.0 + b / k)


def standardised_ends(
    ends: Ends, moments: Moments, found: Floats, centre: Floats, side: Floats, z: Floats, shape: Numbers, s: Numbers,
    k: Numbers,
) -> Floats:  # fmt: skip
    """Ends below (side −1) and above (+1) the estimate where the standardised root is ±z, shape (Q,).

    The moments at an end say which critical value belongs to it: a fixed point, by secants, from the moments at the
    fitted `shape`. The interval holds the estimate `centre` also where z is less than the mean. `ends` and `moments`
    are asked for the ends that still move; those `found` already are left as they are.
    """
    mean, sd = (np.broadcast_to(m, z.shape) for m in root_moments(shape, s, k))
    root = np.maximum(sd * z - side * mean, _LEAST_ROOT)
    before, off_before, last = np.full((3, *z.shape), np.nan)
    a = np.flatnonzero(np.isnan(found))
    for _ in range(_SECANTS if a.size else 0):
        last[a], found[a] = found[a], ends(root**2, a)
        mean, sd = moments(found[a], a)
        off = np.maximum(sd * z[a] - side[a] * mean, _LEAST_ROOT) - root[a]
        with np.errstate(all="ignore"):
            slope = (off - off_before[a]) / (root[a] - before[a])
            step = np.where(slope < -0.25, -off / slope, off)
            moved = found[a] - last[a]
            reach = np.abs(found[a] - centre[a])
            still = np.abs(moved) <= np.where(np.isfinite(reach), _STILL * reach, 0.0)
            done = (np.abs(step) <= _SETTLED) & ~np.isnan(off_before[a]) | still
            rest = np.where(still, 0.0, step * moved / (root[a] - before[a]))
        found[a[done]] += np.where(np.isfinite(rest), rest, 0.0)[done]
        before[a], off_before[a], root[a] = root[a], off, np.maximum(root[a] + step, _LEAST_ROOT)
        a = a[~done]
        if not a.size:
            break
    return found
