"""Ends of likelihood intervals of generalised Pareto tails, and profiles of their levels, by
Newton's method in all parameters at once.

F(x, ψ) is the negative log-likelihood with F̂ its least value, x the nuisance parameters and ψ the
parameter of interest. With g = F_x, H = F_xx and c = F_xψ, each step takes the profile at ψ for

    P = F − ½·gᵀH⁻¹g,    P′ = F_ψ − cᵀH⁻¹g,    r = √(2(P − F̂)),    r′ = P′/r,

and moves ψ by Δ = (ρ − r)/(r′ − ρ′), x by −H⁻¹(g + c·Δ), until r is the size ρ of the signed root
that is looked for. Of a standardised root ρ = s(ξ)·z − side·μ(ξ) moves with the shape
(`root_moments`, at fixed log mλ a parabola in ξ). r is nearly linear in ψ, so that seven evaluations
do where the Lagrange conditions of `contour` with their way-points take twelve larger ones. Both
have the same solutions; what does not settle here comes back as NaN, and `contour` has it next.

Nuisance parameters are φ = log(1 + θ·top), with `top` the largest excess or the level beyond it,
and ℓ = log λ (log ν near the threshold); the interest of a level d is ψ = arsinh(d/unit), that of a
shape ξ, and that of an end point φ itself (ν follows from θ).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from fairstats.numerics.evt.contour import ROOT_KNOTS, ROOT_MEAN, ROOT_SHAPES, ROOT_VARIANCE
from fairstats.numerics.evt.distributions import Flags, Floats, Numbers, Rows
from fairstats.numerics.evt.gpd import GpdLikelihood, mean_partials, profile_in_theta
from fairstats.numerics.evt.likelihood import ProfilePoints, Samples

#: The way begins at this share of the root, by the curvature at the maximum.
_FIRST_SHARE = 0.5
_ITERATIONS = 40
_PROFILE_ITERATIONS = 12
#: Longest move of a parameter; the last one, and the error of half the deviance before it, are below
#: these: what is left is of the order of their squares.
_LONGEST_MOVE = 1.0
_LAST_MOVE = 1e-6
_TOLERANCE = 1e-7
#: Least root that is looked for, and that differences of likelihoods resolve; distance of the
#: minimum from which the slope of the profile is not yet known.
_LEAST_ROOT = 1e-6
_RESOLVED_ROOT = 1e-3
_FAR = 1.0
#: A step goes at most this share of the way back to the estimate.
_NEAREST_SHARE = 0.8
#: With fewer excesses in m observations than e to this, v(d; θ) may be 0 on the way.
_NEAR_THRESHOLD = 0.7


@dataclass(frozen=True)
class _RootSizes:
    """Sizes of the signed roots at the ends: s(ξ)·z − side·μ(ξ), or z where nothing is
    standardised.

    `z`, `side`, shape (Q,); `mean`, `variance`, shape (3, Q): coefficients of 1, ξ, ξ².
    """

    z: Floats
    side: Floats
    mean: Floats
    variance: Floats

    @classmethod
    def standardised(cls, z: Floats, side: Floats, s: Numbers, k: Numbers) -> _RootSizes:
        """With s = log(m·λ), ∞ for shapes and end points, of k excesses."""
        s = np.broadcast_to(np.asarray(s, dtype=np.float64), z.shape)
        mean, variance = (
            np.stack([np.interp(s, ROOT_KNOTS, column) for column in np.transpose(table)])
            for table in (ROOT_MEAN, ROOT_VARIANCE)
        )
        return cls(z=z, side=side, mean=mean / np.sqrt(k), variance=variance / k)

    @classmethod
    def plain(cls, z: Floats, side: Floats) -> _RootSizes:
        """Roots of the deviance itself."""
        zeros = np.zeros((3, z.size))
        return cls(z=z, side=side, mean=zeros, variance=zeros)

    def at(self, shape: Floats) -> tuple[Floats, Floats]:
        """ρ and its derivative in ξ, each (Q,)."""
        xi = np.minimum(np.maximum(shape, ROOT_SHAPES[0]), ROOT_SHAPES[1])
        mean = self.mean[0] + xi * (self.mean[1] + xi * self.mean[2])
        mean_slope = self.mean[1] + 2.0 * xi * self.mean[2]
        variance = 1.0 + self.variance[0] + xi * (self.variance[1] + xi * self.variance[2])
        variance_slope = self.variance[1] + 2.0 * xi * self.variance[2]
        deviation = np.sqrt(variance)
        size = deviation * self.z - self.side * mean
        slope = 0.5 * variance_slope / deviation * self.z - self.side * mean_slope
        moves = (xi == shape) & (size > _LEAST_ROOT)
        return np.maximum(size, _LEAST_ROOT), np.where(moves, slope, 0.0)


@dataclass(frozen=True)
class _Expansion:
    """F at Q points: its value, F_ψ, F_ψψ (at the maximum only), the gradient and Hessian of up to
    two nuisance parameters, F_xψ, ξ, and what ξ changes by with x and ψ.
    """

    value: Floats
    in_interest: Floats
    of_interest: Floats
    gradient: tuple[Floats, Floats]
    hessian: tuple[Floats, Floats, Floats]
    crossed: tuple[Floats, Floats]
    shape: Floats
    shape_slopes: tuple[Floats, Floats, Floats]

    def solve(self, vector: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """H⁻¹ of a vector."""
        a, b, c = self.hessian
        determinant = a * c - b * b
        first, second = vector
        return (c * first - b * second) / determinant, (a * second - b * first) / determinant

    def is_convex(self) -> Flags:
        """Whether H is positive definite."""
        a, b, c = self.hessian
        return np.asarray((a > 0.0) & (a * c - b * b > 0.0))

    def bent_up(self, convex: Flags) -> _Expansion:
        """With a positive definite matrix in place of H where that is not convex in φ, so that
        steps lead downwards there.
        """
        a, b, c = self.hessian
        bend = np.maximum(np.abs(a), 2.0 * b * b / np.abs(c))
        return replace(self, hessian=(np.where(convex, a, bend), b, np.where(convex, c, np.abs(c))))


#: Two nuisance parameters and the interest, each (Q,).
Point = tuple[Floats, Floats, Floats]


class _Problem(Protocol):
    """A parameter of interest of Q problems."""

    def centre(self) -> Point:
        """The maximum of the likelihood."""

    def lowest(self) -> Floats:
        """F̂, shape (Q,)."""

    def expand(self, point: Point) -> _Expansion:
        """F and its derivatives; NaN where a point is impossible."""

    def move(self, point: Point, step: Point) -> Point:
        """The point after a step in both nuisance parameters and ψ."""


def _find_ends(problem: _Problem, sizes: _RootSizes) -> tuple[Point, Floats]:
    """Points where the signed root has its size, on each problem's side, and deviances there.

    NaN where Newton's method does not settle at a minimum over the nuisance parameters.
    """
    side = sizes.side
    with np.errstate(all="ignore"):
        point = problem.centre()
        centre = point[2]
        lowest = problem.lowest()
        at_centre = problem.expand(point)
        response = at_centre.solve(at_centre.crossed)
        curvature = at_centre.of_interest - _inner_product(at_centre.crossed, response)
        first = side * _FIRST_SHARE * sizes.at(at_centre.shape)[0] / np.sqrt(curvature)
        step = (-response[0] * first, -response[1] * first, first)
        before = point
        point, step = _move_point(problem, before, step)
        settled = np.zeros(side.size, dtype=bool)
        deviance = np.full(side.size, np.nan)
        for _ in range(_ITERATIONS):
            now = problem.expand(point)
            convex = now.is_convex()
            if not convex.all():
                now = now.bent_up(convex)
            to_minimum = now.solve(now.gradient)
            response = now.solve(now.crossed)
            fall = now.value - 0.5 * _inner_product(now.gradient, to_minimum) - lowest
            root = np.sqrt(2.0 * np.maximum(fall, 1e-12))
            slope = (now.in_interest - _inner_product(now.crossed, to_minimum)) / root
            size, size_slope = sizes.at(now.shape)
            in_first, in_second, in_interest = now.shape_slopes
            shape_slope = in_interest - in_first * response[0] - in_second * response[1]
            change = (size - root) / (slope - size_slope * shape_slope)
            # far from the minimum over the nuisance parameters the slope leads nowhere
            leads = (slope * side > 0.0) & (fall > 0.0) & convex
            leads &= np.maximum(np.abs(to_minimum[0]), np.abs(to_minimum[1])) < _FAR
            # no step leads to the other side of the estimate
            nearest = (centre - point[2]) * _NEAREST_SHARE
            change = np.where(side > 0.0, np.maximum(change, nearest), np.minimum(change, nearest))
            change = np.where(leads, change, 0.0)
            wanted = (
                -to_minimum[0] - response[0] * change,
                -to_minimum[1] - response[1] * change,
                change,
            )
            largest = np.max(np.abs(wanted), axis=0)
            error = np.abs(now.value - lowest - 0.5 * size**2)
            ends_here = (error < _TOLERANCE * (1.0 + size**2)) & (largest < _LAST_MOVE)
            ends_here &= leads & ~settled & (size > _RESOLVED_ROOT)
            deviance[ends_here] = size[ends_here] ** 2
            possible = np.isfinite(largest)
            # from an impossible point back, most of the way
            start = _choose_point(possible, point, before)
            back = (0.25 * step[0], 0.25 * step[1], 0.25 * step[2])
            wanted = _choose_point(possible, wanted, back)
            moved, step = _move_point(problem, start, wanted)
            stays = settled
            settled = settled | ends_here
            before = start
            point = _choose_point(stays, point, moved)
            if settled.all():
                break
    lost = ~settled
    nothing = np.full(side.size, np.nan)
    return _choose_point(lost, (nothing, nothing, nothing), point), deviance


def _move_point(problem: _Problem, point: Point, step: Point) -> tuple[Point, Point]:
    """The point after a step, which is shortened where it is too long, and the step."""
    longest = np.max(np.abs(step), axis=0)
    share = np.minimum(1.0, _LONGEST_MOVE / longest)
    taken = (step[0] * share, step[1] * share, step[2] * share)
    return problem.move(point, taken), taken


def _choose_point(where: Flags, first: Point, second: Point) -> Point:
    """The first point where a condition holds, else the second."""
    return (
        np.where(where, first[0], second[0]),
        np.where(where, first[1], second[1]),
        np.where(where, first[2], second[2]),
    )


def _inner_product(a: tuple[Floats, Floats], b: tuple[Floats, Floats]) -> Floats:
    return a[0] * b[0] + a[1] * b[1]


@dataclass(frozen=True)
class _Excesses:
    """The samples of Q problems: one for all of them, or P samples as often as it goes into Q."""

    samples: Samples
    rows: Rows

    @property
    def n(self) -> Floats:
        """How many excesses each problem's sample has."""
        return self.samples.n[self.rows]

    @property
    def top(self) -> Floats:
        """The largest excess of each."""
        return self.samples.upper[self.rows]

    def means(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """D(θ) (`mean_partials`) and two derivatives, at one θ for each problem."""
        count = self.samples.n.size
        of_each = theta.reshape(-1, count).T
        d0, d1, d2 = mean_partials(self.samples, of_each)
        return d0.T.ravel(), d1.T.ravel(), d2.T.ravel()


def find_level_ends(
    likelihood: GpdLikelihood,
    log_period: Floats,
    unit: Floats,
    sides: Floats,
    z: Floats,
) -> tuple[Floats, Floats]:
    """Ends of levels where the standardised signed root is ±z, in standard units, and deviances.

    All arrays of shape (Q,); NaN where nothing settles.
    """
    ends, deviance = np.full((2, z.size), np.nan)
    s = log_period + likelihood.log_rate[0]
    is_near = s < _NEAR_THRESHOLD
    for near in (False, True):
        chosen = np.flatnonzero(is_near == near)
        if chosen.size:
            problem = _LevelProblem(
                likelihood=likelihood,
                log_period=log_period[chosen],
                unit=unit[chosen],
                near_threshold=near,
            )
            sizes = _RootSizes.standardised(
                z[chosen], sides[chosen], s[chosen], likelihood.samples.n[0]
            )
            point, deviance[chosen] = _find_ends(problem, sizes)
            ends[chosen] = problem.levels(point)
    return ends, deviance


def find_shape_ends(
    samples: Samples,
    theta: Floats,
    nu: Floats,
    edge_deviance: Floats,
    sides: Floats,
    z: Floats,
) -> Floats:
    """Ends of shapes where the standardised signed root is ±z, shape (Q,); NaN where none settles.

    P samples with their fits (θ, ν) and the deviances of ξ = −1, shape (P,), as often as they go
    into Q. Where ξ = −1 is likely, it is the lower end.
    """
    rows = np.arange(z.size) % samples.n.size
    excesses = _Excesses(samples, rows)
    sizes = _RootSizes.standardised(z, sides, np.inf, excesses.n)
    point, deviance = _find_ends(_ShapeProblem(excesses, theta, nu), sizes)
    return _end_at_edge(sizes, edge_deviance[rows], point[2], deviance, np.full(z.size, -1.0))


def find_end_points(samples: Samples, theta: float, edge_deviance: float, z: float) -> Floats:
    """Lower and upper end of the end point of one sample in standard units, shape (2,).

    Where ξ = −1 is likely, the largest value is the lower end; NaN where nothing settles.
    """
    sides = np.array([-1.0, 1.0])
    excesses = _Excesses(samples, np.zeros(2, dtype=np.intp))
    sizes = _RootSizes.standardised(np.full(2, z), sides, np.inf, excesses.n)
    point, deviance = _find_ends(_EndPointProblem(excesses, theta), sizes)
    is_finite = point[2] < 0.0
    ends = np.where(is_finite, -excesses.top / np.where(is_finite, np.expm1(point[2]), 1.0), np.inf)
    ends = np.where(np.isnan(point[2]), np.nan, ends)
    return _end_at_edge(sizes, np.full(2, edge_deviance), ends, deviance, excesses.top)


def _end_at_edge(
    sizes: _RootSizes,
    edge_deviance: Floats,
    ends: Floats,
    deviance: Floats,
    edge: Floats,
) -> Floats:
    """The ends, lower ones at the edge where ξ = −1 is likely; NaN where that is not plain."""
    is_lower = sizes.side < 0.0
    size_at_edge = sizes.at(np.full(ends.size, -1.0))[0]
    reaches_edge = is_lower & (edge_deviance <= size_at_edge**2)
    is_unclear = is_lower & ~reaches_edge & (edge_deviance <= deviance)
    return np.where(reaches_edge, edge, np.where(is_unclear, np.nan, ends))


@dataclass(frozen=True)
class _LevelProblem:
    """Return levels d of log periods τ, shape (Q,), by one sample; ψ = arsinh(d/unit).

    The second nuisance parameter is ℓ = log λ or, near the threshold, where v(d; θ) may be 0, log ν.
    """

    likelihood: GpdLikelihood
    log_period: Floats
    unit: Floats
    near_threshold: bool

    def centre(self) -> Point:
        theta = self.likelihood.fits.theta[0]
        nu = self.likelihood.fits.nu[0]
        log_rate = self.likelihood.log_rate[0]
        count = self.log_period.size
        d = _find_level((log_rate + self.log_period) / nu, theta)
        second = np.log(nu) if self.near_threshold else log_rate
        return np.full(count, theta), np.full(count, second), np.arcsinh(d / self.unit)

    def lowest(self) -> Floats:
        return np.full(self.log_period.size, self.likelihood.minimum()[0])

    def levels(self, point: Point) -> Floats:
        """D of points."""
        return np.asarray(self.unit * np.sinh(point[2]))

    def expand(self, point: Point) -> _Expansion:
        theta, second, psi = point
        d = self.unit * np.sinh(psi)
        d_slope = np.sqrt(self.unit**2 + d**2)
        parts_of = _expand_by_scale if self.near_threshold else _expand_by_rate
        at_level = parts_of(self.likelihood, theta, second, d, self.log_period)
        first, second, in_level = at_level.shape_slopes
        return replace(
            at_level,
            in_interest=at_level.in_interest * d_slope,
            # F_d = 0 at the maximum, so that the bend of d in ψ does not matter there
            of_interest=at_level.of_interest * d_slope**2,
            crossed=(at_level.crossed[0] * d_slope, at_level.crossed[1] * d_slope),
            shape_slopes=(first, second, in_level * d_slope),
        )

    def move(self, point: Point, step: Point) -> Point:
        theta, second, psi = point
        top = np.maximum(self.unit * np.sinh(psi), self.likelihood.samples.upper[0])
        # φ = log(1 + θ·top): θ changes by (θ + 1/top)·(e^Δφ − 1)
        moved = theta + (theta + 1.0 / top) * np.expm1(step[0])
        return moved, second + step[1], psi + step[2]


def _expand_by_rate(
    likelihood: GpdLikelihood,
    theta: Floats,
    log_rate: Floats,
    d: Floats,
    log_period: Floats,
) -> _Expansion:
    """F(φ, ℓ, d) = n[(θ + ν)·D(θ) − N] + R(ℓ) with N = log ν = log(ℓ + τ) − log v(d; θ)."""
    samples = likelihood.samples
    n = samples.n[0]
    d0, d1, d2 = (part[0] for part in mean_partials(samples, theta[None, :]))
    v, v1, v2 = _find_exponential_scale(d, theta)
    reach = log_rate + log_period
    nu = reach / v
    inverse = 1.0 / (1.0 + theta * d)
    # derivatives of N in θ, ℓ and d
    n_t = -v1 / v
    n_tt = n_t**2 - v2 / v
    n_l = 1.0 / reach
    n_d = -inverse / v
    n_dd = n_d**2 + theta * inverse**2 / v
    n_td = d * inverse**2 / v + n_t * n_d
    both = theta + nu
    a_n = n * (nu * d0 - 1.0)
    a_nn = n * nu * d0
    a_tn_n = n * nu * d1 + a_nn * n_t
    rate, rate_slope, rate_bend = likelihood._rate_partials(log_rate, n, likelihood.total[0])
    f_t = n * (d0 + both * d1) + a_n * n_t
    f_tt = n * (2.0 * d1 + both * d2) + (n * nu * d1 + a_tn_n) * n_t + a_n * n_tt
    # with φ = log(1 + θ·top) both derivatives of θ are θ + 1/top
    slope = theta + 1.0 / np.maximum(d, samples.upper[0])
    shape = theta / nu
    return _Expansion(
        value=n * (both * d0 - np.log(nu)) + rate,
        in_interest=a_n * n_d,
        of_interest=a_nn * n_d**2 + a_n * n_dd,
        gradient=(f_t * slope, a_n * n_l + rate_slope),
        hessian=(
            f_tt * slope**2 + f_t * slope,
            a_tn_n * n_l * slope,
            (a_nn - a_n) * n_l**2 + rate_bend,
        ),
        crossed=((a_tn_n * n_d + a_n * n_td) * slope, a_nn * n_l * n_d),
        shape=shape,
        shape_slopes=((1.0 / nu - shape * n_t) * slope, -shape * n_l, -shape * n_d),
    )


def _expand_by_scale(
    likelihood: GpdLikelihood,
    theta: Floats,
    log_nu: Floats,
    d: Floats,
    log_period: Floats,
) -> _Expansion:
    """F(φ, log ν, d) = n[(θ + ν)·D(θ) − log ν] + R(ℓ) with ℓ = ν·v(d; θ) − τ."""
    samples = likelihood.samples
    n = samples.n[0]
    nu = np.exp(log_nu)
    d0, d1, d2 = (part[0] for part in mean_partials(samples, theta[None, :]))
    v, v1, v2 = _find_exponential_scale(d, theta)
    ell = nu * v - log_period
    rate, rate_slope, rate_bend = likelihood._rate_partials(ell, n, likelihood.total[0])
    inverse = 1.0 / (1.0 + theta * d)
    both = theta + nu
    l_t = nu * v1
    l_d = nu * inverse
    f_t = n * (d0 + both * d1) + rate_slope * l_t
    f_v = n * (d0 - 1.0 / nu) + rate_slope * v
    f_tt = n * (2.0 * d1 + both * d2) + rate_bend * l_t**2 + rate_slope * nu * v2
    f_tv = n * d1 + rate_bend * l_t * v + rate_slope * v1
    f_vv = n / nu**2 + rate_bend * v**2
    f_td = rate_bend * l_t * l_d - rate_slope * nu * d * inverse**2
    f_vd = rate_bend * v * l_d + rate_slope * inverse
    slope = theta + 1.0 / np.maximum(d, samples.upper[0])
    shape = theta / nu
    return _Expansion(
        value=n * (both * d0 - log_nu) + rate,
        in_interest=rate_slope * l_d,
        of_interest=rate_bend * l_d**2 - rate_slope * l_d * theta * inverse,
        gradient=(f_t * slope, f_v * nu),
        hessian=(f_tt * slope**2 + f_t * slope, f_tv * slope * nu, f_vv * nu**2 + f_v * nu),
        crossed=(f_td * slope, f_vd * nu),
        shape=shape,
        shape_slopes=(slope / nu, -shape, np.zeros_like(shape)),
    )


def profile_from(
    likelihood: GpdLikelihood,
    d: Floats,
    log_period: float,
    theta: Floats,
    log_rate: Floats,
) -> ProfilePoints:
    """Profile at levels d ≠ 0 of one sample, shape (Q,), from (θ, ℓ) near it; slopes are in d.

    NaN where Newton's method does not settle inside the parameter space.
    """
    top = np.maximum(d, likelihood.samples.upper[0])
    periods = np.full(d.size, log_period)
    theta = theta.copy()
    value, slope = np.full((2, d.size), np.nan)
    active = np.arange(d.size)
    with np.errstate(all="ignore"):
        log_rate = np.where(log_rate < 0.0, log_rate, likelihood.log_rate[0])
        for _ in range(_PROFILE_ITERATIONS):
            now = _expand_by_rate(
                likelihood, theta[active], log_rate[active], d[active], periods[active]
            )
            step = now.solve(now.gradient)
            largest = np.maximum(np.abs(step[0]), np.abs(step[1]))
            ends_here = (largest < _LAST_MOVE) & now.is_convex()
            done = active[ends_here]
            value[done] = (now.value - 0.5 * _inner_product(now.gradient, step))[ends_here]
            slope[done] = (now.in_interest - _inner_product(now.crossed, step))[ends_here]
            share = np.minimum(1.0, _LONGEST_MOVE / largest)
            theta[active] += (theta[active] + 1.0 / top[active]) * np.expm1(-share * step[0])
            log_rate[active] -= share * step[1]
            active = active[~ends_here & np.isfinite(largest)]
            if not active.size:
                break
        nu = (log_rate + log_period) / _find_exponential_scale(d, theta)[0]
    inside = np.isfinite(value) & (nu > -theta)
    return ProfilePoints(
        value=np.where(inside, value, np.nan),
        slope=np.where(inside, slope, np.nan),
        theta=theta,
        nu=nu,
    )


@dataclass(frozen=True)
class _ShapeProblem:
    """Shapes ψ = ξ of P samples in Q problems: F(ν, ξ) with θ = ξν; the first nuisance parameter
    is none.
    """

    excesses: _Excesses
    theta: Floats
    nu: Floats

    def centre(self) -> Point:
        rows = self.excesses.rows
        theta = self.theta[rows]
        nu = self.nu[rows]
        return np.zeros(rows.size), np.log(nu), theta / nu

    def lowest(self) -> Floats:
        return self.expand(self.centre()).value

    def expand(self, point: Point) -> _Expansion:
        """F = n[(θ + ν)·D(θ) − log ν], θ = ξν, and its derivatives by ξ and log ν.

        NaN where the largest excess lies beyond the end point.
        """
        _, log_nu, xi = point
        nu = np.exp(log_nu)
        theta = xi * nu
        n = self.excesses.n
        d0, d1, d2 = self.excesses.means(theta)
        both = theta + nu
        f_t = n * (d0 + both * d1)
        f_v = n * (d0 - 1.0 / nu)
        f_tt = n * (2.0 * d1 + both * d2)
        f_tv = n * d1
        f_vv = n / nu**2
        in_log_nu = nu * (f_v + xi * f_t)
        possible = theta * self.excesses.top > -1.0
        zeros = np.zeros_like(nu)
        ones = np.ones_like(nu)
        return _Expansion(
            value=np.where(possible, n * (both * d0 - log_nu), np.nan),
            in_interest=nu * f_t,
            of_interest=nu**2 * f_tt,
            gradient=(zeros, in_log_nu),
            hessian=(ones, zeros, nu**2 * (f_vv + 2.0 * xi * f_tv + xi**2 * f_tt) + in_log_nu),
            crossed=(zeros, nu * f_t + nu**2 * (f_tv + xi * f_tt)),
            shape=xi,
            shape_slopes=(zeros, zeros, ones),
        )

    def move(self, point: Point, step: Point) -> Point:
        return point[0], point[1] + step[1], point[2] + step[2]


@dataclass(frozen=True)
class _EndPointProblem:
    """End points −1/θ of one sample in Q problems: ψ = φ = log(1 + θ·largest), ν at its best."""

    excesses: _Excesses
    theta: float

    def centre(self) -> Point:
        zeros = np.zeros(self.excesses.rows.size)
        return zeros, zeros, np.log1p(self.theta * self.excesses.top)

    def lowest(self) -> Floats:
        return self.expand(self.centre()).value

    def expand(self, point: Point) -> _Expansion:
        phi = point[2]
        top = self.excesses.top
        theta = np.expm1(phi) / top
        slope = np.exp(phi) / top
        means = self.excesses.means(theta)
        n = self.excesses.n
        value, in_theta, of_theta = (n * part for part in profile_in_theta(theta, means))
        shape = theta * means[0]  # ν = 1/D
        zeros = np.zeros_like(phi)
        ones = np.ones_like(phi)
        return _Expansion(
            value=value,
            in_interest=in_theta * slope,
            of_interest=of_theta * slope**2 + in_theta * slope,
            gradient=(zeros, zeros),
            hessian=(ones, zeros, ones),
            crossed=(zeros, zeros),
            shape=shape,
            shape_slopes=(zeros, zeros, (means[0] + theta * means[1]) * slope),
        )

    def move(self, point: Point, step: Point) -> Point:
        return point[0], point[1], point[2] + step[2]


def _find_exponential_scale(d: Floats, theta: Floats) -> tuple[Floats, Floats, Floats]:
    """v(d; θ) = log(1 + θd)/θ and two derivatives in θ; by its series near θ = 0.

    With z = θd: v = d(1 − z/2 + z²/3 − …), v₁ = −d²(1/2 − 2z/3 + 3z²/4 − …).
    """
    z = theta * d
    small = np.abs(z) < 0.02
    safe = np.where(small, 1.0, theta)
    v = np.log1p(z) / safe
    ratio = d / (1.0 + z)
    v1 = (ratio - v) / safe
    v2 = -(ratio**2 + 2.0 * v1) / safe
    if small.any():
        series = _sum_series(z[small], d[small])
        for whole, part in zip((v, v1, v2), series, strict=True):
            whole[small] = part
    return v, v1, v2


def _sum_series(z: Floats, d: Floats) -> tuple[Floats, Floats, Floats]:
    """Σ_j (−z)^j/(j + 1)·d and two derivatives in θ."""
    j = np.arange(13.0)
    signs = (-1.0) ** j / (j + 1.0)
    powers = z[:, None] ** j
    first = signs[1:] * j[1:]
    second = signs[2:] * j[2:] * (j[2:] - 1.0)
    return (d * (powers @ signs), d**2 * (powers[:, :-1] @ first), d**3 * (powers[:, :-2] @ second))


def _find_level(omega: Floats, theta: float) -> Floats:
    """(e^(θω) − 1)/θ."""
    return np.asarray(omega if theta == 0.0 else np.expm1(theta * omega) / theta)
