"""The profile of a group's return level, found once at some sixty levels, and what follows from two
of them.

With F(ℓ) the fall of the log-likelihood from its maximum where the return level is ℓ (rate, scale
and shape profiled), the deviance of a difference δ of two levels is

    D(δ) = 2 · min over ℓ of F₁(ℓ + δ) + F₂(ℓ),    dD/dδ = 2·F₁′(ℓ + δ) at the minimum.

F and F′ are exact at the nodes, which lie a quarter of a signed root apart (further out more), and
cubic between them: roots are right to about 4e-4, and a last step to every end is by the exact
deviance. It and those that give p-values have the exact F at places about the ℓ found so, and the
least of the parabola through the lowest three. That costs a hundredth of a second, and asks neither
for smooth profiles nor for a maximum inside the parameter space.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairstats.methods.ecd.level_contrast import LevelContrast, _Side
from fairstats.numerics.evt.contour import root_moments
from fairstats.numerics.evt.distributions import Flags, Floats, Rows
from fairstats.numerics.evt.grid import GridLikelihood
from fairstats.numerics.evt.likelihood import ProfilePoints
from fairstats.numerics.evt.quick_ends import profile_from
from fairstats.numerics.evt.tail import FittedTail

#: Levels farther from the estimate than this are asked for by no difference within [−2, 2]; where
#: mean excesses are large, so many of them.
_FARTHEST = 4.0
_FARTHEST_IN_UNITS = 20.0
#: Levels on either side that place the nodes, and the least of their distances, in mean excesses
#: over √k.
_COARSE = 14
_NEAREST = 0.01
#: Signed roots at the nodes, on each side of the estimate.
_NODES = np.concatenate([np.arange(0.25, 6.01, 0.25), [7.0, 8.0, 10.0, 13.0, 17.0, 23.0, 32.0]])
#: Grid of θ of the rough search, in log(1 + θ·largest), and its points.
_REACH = (-9.0, 7.0)
_THETAS = 129
#: Levels among which the least sum of two falls is sought, and how often again between neighbours.
_SOUGHT = 64
_ZOOMS = 3
#: Differences whose deviances place the ends, and corrections after that.
_DIFFERENCES = 41
#: The last step towards an end, as a share of its distance, is at most this.
_LONGEST_STEP = 0.02
_STILL = 1e-8
#: Places about the least sum between nodes, in distances of nodes, at which it is exact.
_NEARBY = np.linspace(-0.25, 0.25, 9)
_CORRECTIONS = 6
#: Nodes whose φ = log(1 + θ·largest) are farther apart than this lie in two valleys.
_SAME_VALLEY = 1.0
#: Last step of Newton's method for ν, relative: what is left of it is its square, and of F the
#: square of that.
_ROUGH_TOLERANCE = 1e-4
#: A profile that is so much above that with ξ = −1 on a grid of θ is so exactly.
_FAR_ABOVE_EDGE = 0.5


@dataclass(frozen=True)
class LevelCurve:
    """Profile of one group's return level of m observations.

    `side`: likelihood and fit; `exceedances`: k of `total` values; `log_period`: log m; `estimate`:
    the level at the maximum. At ascending `levels`, shape (J,): `falls`, F; `slopes`, F′; `start`, the tails where
    the least of F lies; `cubic`, shape (4, J − 1): coefficients of F between them.
    """

    side: _Side
    exceedances: int
    total: float
    log_period: float
    estimate: float
    levels: Floats
    falls: Floats
    slopes: Floats
    start: _NodeTails
    cubic: Floats

    @classmethod
    def of_side(cls, side: _Side) -> LevelCurve:
        """Profile of one side of a `LevelContrast`."""
        centre = float(side.estimate()[0])
        n_exceedances = float(side.standard.samples.n[0])
        nearest = _NEAREST * float(side.unit[0]) / np.sqrt(n_exceedances)
        farthest = max(_FARTHEST, _FARTHEST_IN_UNITS * float(side.unit[0]))
        distances = np.geomspace(nearest, farthest, _COARSE)
        coarse_levels = np.concatenate([(centre - distances)[::-1], [centre], centre + distances])
        coarse = _RoughProfile.of(side, coarse_levels)
        roots = np.sqrt(2.0 * np.clip(coarse.falls, 0.0, 1e8))
        below = centre - _distances_of_nodes(roots[:_COARSE][::-1], distances)
        above = centre + _distances_of_nodes(roots[_COARSE + 1 :], distances)
        levels = np.concatenate([below[::-1], [centre], above])
        node_tails = _NodeTails.between(
            side, coarse_levels, coarse.thetas, coarse.nus, coarse.at_edge
        )
        exact = node_tails.profile(levels)
        falls = np.maximum(exact.value, 0.0)
        slopes = np.where(np.isnan(exact.slope), np.gradient(falls, levels), exact.slope)
        node_tails = _NodeTails.between(side, levels, exact.theta, exact.nu, np.isnan(exact.slope))
        return cls(
            side=side,
            exceedances=int(n_exceedances),
            total=float(side.standard.total[0]),
            log_period=side.log_period,
            estimate=centre,
            levels=levels,
            falls=falls,
            slopes=slopes,
            start=node_tails,
            cubic=_hermite_coefficients(levels, falls, slopes),
        )

    @property
    def shapes(self) -> Floats:
        """ξ where the least of F lies at each node."""
        return self.start.thetas / self.start.nus

    @property
    def log_rates(self) -> Floats:
        """Log λ there."""
        return self.start.log_rates

    def fall(self, levels: Floats) -> Floats:
        """F at levels of any shape; beyond the last node F is straight."""
        inside, cell = self._cell_of(levels)
        x = inside - self.levels[cell]
        constant, linear, square, cube = self.cubic
        value = constant[cell] + x * (linear[cell] + x * (square[cell] + x * cube[cell]))
        beyond = levels - inside
        if beyond.any():
            value = value + beyond * np.where(beyond > 0.0, self.slopes[-1], self.slopes[0])
        return np.asarray(value)

    def slope(self, levels: Floats) -> Floats:
        """F′ at levels of any shape."""
        inside, cell = self._cell_of(levels)
        x = inside - self.levels[cell]
        _, linear, square, cube = self.cubic
        return np.asarray(linear[cell] + x * (2.0 * square[cell] + 3.0 * x * cube[cell]))

    def _cell_of(self, levels: Floats) -> tuple[Floats, Rows]:
        """The levels, or the last node before them, and the cells that they lie in."""
        inside = np.minimum(np.maximum(levels, self.levels[0]), self.levels[-1])
        return inside, np.searchsorted(self.levels[1:-1], inside)

    def spacing(self, levels: Floats) -> Floats:
        """Distance of the nodes on both sides of levels, shape (Q,)."""
        cell = self._cell_of(levels)[1]
        return np.asarray(self.levels[cell + 1] - self.levels[cell])

    def profile(self, levels: Floats) -> ProfilePoints:
        """The profile at the levels, exact."""
        return self.start.profile(levels)

    def law_at(self, levels: Floats) -> tuple[Floats, Floats, Floats]:
        """σ, ξ and log λ of the tail that is most likely with a level, exact."""
        return _tail_laws(self.side, levels, self.profile(levels))

    def levels_of_root(self, roots: Floats) -> Floats:
        """Levels with these standardised signed roots, which rise with the level; the last
        nodes beyond them.
        """
        from scipy.interpolate import PchipInterpolator

        plain_roots = np.sign(self.levels - self.estimate) * np.sqrt(2.0 * self.falls)
        mean, deviation = root_moments(
            self.shapes, self.log_rates + self.log_period, float(self.exceedances)
        )
        # the root of the likelihood falls in the level, −`plain_roots`
        standardised = (plain_roots + mean) / deviation
        rising = np.append(True, standardised[1:] > np.maximum.accumulate(standardised)[:-1])
        nodes = standardised[rising]
        between = PchipInterpolator(nodes, self.levels[rising])
        return np.asarray(between(np.clip(roots, nodes[0], nodes[-1])))


@dataclass(frozen=True)
class CurveContrast:
    """Difference of the return levels of two groups, first − second, by the profiles of both."""

    first: LevelCurve
    second: LevelCurve

    @classmethod
    def of_fits(cls, first: FittedTail, second: FittedTail, m: float) -> CurveContrast:
        """Contrast of two fits above thresholds, by maximum likelihood, for m observations."""
        exact = LevelContrast.of(first, second, m)
        return cls(first=LevelCurve.of_side(exact.first), second=LevelCurve.of_side(exact.second))

    @property
    def estimate(self) -> float:
        """Difference of the return levels at the maximum."""
        return self.first.estimate - self.second.estimate

    def deviance(self, differences: Floats) -> Floats:
        """Twice the fall of the log-likelihood at the differences, shape (Q,), exact."""
        return self.lowest(differences)[0]

    def lowest(self, differences: Floats) -> tuple[Floats, Floats]:
        """Exact deviances at the differences, and the second's level there; each (Q,)."""
        between_nodes, _, level = self.least(differences)
        return self._lowest_about(differences, between_nodes, level)

    def _lowest_about(
        self,
        differences: Floats,
        between_nodes: Floats,
        level: Floats,
    ) -> tuple[Floats, Floats]:
        """`lowest` from the least sums of the curves and the second's levels there.

        The least of the parabola through the lowest three of nine sums about them.
        """
        spacing = np.minimum(self.first.spacing(level + differences), self.second.spacing(level))
        levels = level[:, None] + spacing[:, None] * _NEARBY
        levels_of_first = levels + differences[:, None]
        of_first = self.first.profile(levels_of_first.ravel()).value
        of_second = self.second.profile(levels.ravel()).value
        total = np.nan_to_num((of_first + of_second).reshape(levels.shape), nan=np.inf)
        rows = np.arange(differences.size)
        place = np.clip(total.argmin(axis=1), 1, _NEARBY.size - 2)
        left, middle, right = (total[rows, place + step] for step in (-1, 0, 1))
        with np.errstate(invalid="ignore", divide="ignore"):
            bend = left - 2.0 * middle + right
            vertex = middle - (left - right) ** 2 / (8.0 * bend)
            shift = (left - right) / (2.0 * bend)
        inside = np.isfinite(vertex) & (middle <= np.minimum(left, right))
        deviance = 2.0 * np.maximum(np.where(inside, vertex, total.min(axis=1)), 0.0)
        step = spacing * (_NEARBY[1] - _NEARBY[0])
        lowest = levels[rows, total.argmin(axis=1)]
        lowest = np.where(inside, levels[rows, place] + shift * step, lowest)
        is_known = np.isfinite(deviance)
        return np.where(is_known, deviance, between_nodes), np.where(is_known, lowest, level)

    def least(self, differences: Floats) -> tuple[Floats, Floats, Floats]:
        """Deviances at the differences, their slopes, and the second's level there; each (Q,).

        The minimum lies between the two estimates, and often next to that of the larger tail.
        """
        low = np.full(differences.size, self.second.estimate)
        high = self.first.estimate - differences
        shares = np.broadcast_to(
            0.5 - 0.5 * np.cos(np.pi * np.linspace(0.0, 1.0, _SOUGHT)), (differences.size, _SOUGHT)
        )
        rows = np.arange(differences.size)
        steps = np.linspace(0.0, 1.0, _SOUGHT)
        for _ in range(_ZOOMS):
            levels = low[:, None] + (high - low)[:, None] * shares
            total = self.first.fall(levels + differences[:, None]) + self.second.fall(levels)
            place = total.argmin(axis=1)
            left = shares[rows, np.maximum(place - 1, 0)]
            right = shares[rows, np.minimum(place + 1, _SOUGHT - 1)]
            shares = left[:, None] + (right - left)[:, None] * steps
        level = levels[rows, place]
        slope = self.first.slope(level + differences)
        return 2.0 * np.maximum(total[rows, place], 0.0), 2.0 * slope, level

    def ends(self, sides: Floats, roots: Floats, farthest: float) -> Floats:
        """Differences below (−1) or above (+1) the estimate with these root deviances, (Q,).

        Those beyond ±`farthest` are ±`farthest`, and none is farther than `_FARTHEST` from it.
        """
        reach = np.minimum(farthest - sides * self.estimate, _FARTHEST)
        wanted = np.flatnonzero((roots > 0.0) & (reach > 0.0))
        ends = np.full(roots.size, self.estimate)
        if wanted.size:
            distances = self._distances_of(roots[wanted], sides[wanted], reach[wanted])
            distances = self._correct(distances, roots[wanted], sides[wanted], reach[wanted])
            ends[wanted] += sides[wanted] * distances
        return ends

    def _correct(self, distances: Floats, roots: Floats, sides: Floats, reach: Floats) -> Floats:
        """Distances after one step of Newton's method on the root of the exact deviance."""
        differences = self.estimate + sides * distances
        between_nodes, slopes_between, level = self.least(differences)
        reached = np.sqrt(self._lowest_about(differences, between_nodes, level)[0])
        slopes = sides * slopes_between
        with np.errstate(all="ignore"):
            steps = 2.0 * reached * (reached - roots) / slopes
        # a longer step tells of a kink between the nodes, where the slope does not lead on
        leads = (distances < reach) & (np.abs(steps) < _LONGEST_STEP * distances)
        return np.where(
            leads, np.minimum(distances - np.where(leads, steps, 0.0), reach), distances
        )

    def _distances_of(self, roots: Floats, sides: Floats, reach: Floats) -> Floats:
        """Distances from the estimate, at most `reach`, where the deviance has these roots."""
        of_first, of_second = (
            float(np.ptp(curve.levels[curve.falls < 0.5])) for curve in (self.first, self.second)
        )
        width = float(np.hypot(of_first, of_second))
        low, high, distance = np.empty((3, roots.size))
        groups = []
        for side in (-1.0, 1.0):
            if (sides == side).any():
                groups.append((side, np.flatnonzero(sides == side)))
        grids = []
        for _, side_rows in groups:
            farthest = reach[side_rows[0]]
            grid = np.geomspace(1e-3 * min(width, farthest), farthest, _DIFFERENCES)
            grids.append(np.append(0.0, grid))
        signed = [side * grid for (side, _), grid in zip(groups, grids, strict=True)]
        deviances = np.split(self.least(self.estimate + np.concatenate(signed))[0], len(groups))
        for (_, side_rows), grid, deviance in zip(groups, grids, deviances, strict=True):
            risen_roots = np.maximum.accumulate(np.sqrt(deviance))
            after = np.searchsorted(risen_roots, roots[side_rows])
            low[side_rows] = grid[np.clip(after - 1, 0, grid.size - 1)]
            high[side_rows] = grid[np.clip(after, 0, grid.size - 1)]
            distance[side_rows] = np.interp(roots[side_rows], risen_roots, grid)
        beyond = low >= reach
        for _ in range(_CORRECTIONS):
            value, slope, _ = self.least(self.estimate + sides * distance)
            root = np.sqrt(value)
            low = np.where(root < roots, distance, low)
            high = np.where(root < roots, high, distance)
            with np.errstate(all="ignore"):
                moved = distance - 2.0 * root * (root - roots) / (sides * slope)
            inside = (moved >= low) & (moved <= high)
            before = distance
            distance = np.where(inside, moved, 0.5 * (low + high))
            if (np.abs(distance - before) <= _STILL * distance).all():
                break
        return np.where(beyond, reach, distance)


@dataclass(frozen=True)
class _NodeTails:
    """Tails that are most likely at ascending levels, shape (J,), from which those between them are
    found; `smooth`, shape (J − 1,): whether both ends of a cell lie in one valley, off the edge.
    """

    side: _Side
    levels: Floats
    thetas: Floats
    nus: Floats
    log_rates: Floats
    smooth: Flags

    @classmethod
    def between(
        cls,
        side: _Side,
        levels: Floats,
        thetas: Floats,
        nus: Floats,
        at_edge: Flags,
    ) -> _NodeTails:
        """With tails at levels, and which of them have ξ = −1."""
        d = (levels - side.origin[0]) / side.unit[0]
        with np.errstate(all="ignore"):
            log_rates = nus * _to_exponential_scale(d, thetas) - side.log_period
            phi = np.log1p(thetas * side.standard.samples.upper[0])
            is_near = np.abs(np.diff(phi)) < _SAME_VALLEY
        smooth = is_near & ~(at_edge[1:] | at_edge[:-1]) & (d[1:] * d[:-1] > 0.0)
        return cls(
            side=side,
            levels=levels,
            thetas=thetas,
            nus=nus,
            log_rates=log_rates,
            smooth=smooth,
        )

    def profile(self, levels: Floats) -> ProfilePoints:
        """The profile at the levels, exact; from a grid of θ where the cell is not smooth."""
        side = self.side
        if isinstance(side.standard, GridLikelihood):
            return _profile_from_grid(side, levels)
        cell = np.searchsorted(self.levels[1:-1], levels)
        within = (levels >= self.levels[0]) & (levels <= self.levels[-1])
        quick = np.flatnonzero(self.smooth[cell] & within)
        value, slope, theta, nu = np.full((4, levels.size), np.nan)
        if quick.size:
            thetas = np.interp(levels[quick], self.levels, self.thetas)
            log_rates = np.interp(levels[quick], self.levels, self.log_rates)
            points = _profile_from_tails(side, levels[quick], thetas, log_rates)
            value[quick] = points.value
            slope[quick] = points.slope
            theta[quick] = points.theta
            nu[quick] = points.nu
        others = np.flatnonzero(np.isnan(value))
        if others.size:
            points = _profile_from_grid(side, levels[others])
            value[others] = points.value
            slope[others] = points.slope
            theta[others] = points.theta
            nu[others] = points.nu
        return ProfilePoints(value=value, slope=slope, theta=theta, nu=nu)


def _hermite_coefficients(levels: Floats, falls: Floats, slopes: Floats) -> Floats:
    """Hermite's cubics in x from the left node: f₀ + x·(f₀′ + x·(c + x·e)), shape (4, J − 1).

    With w the width and Δ = f₁ − f₀: c = (3Δ/w − 2f₀′ − f₁′)/w, e = (f₀′ + f₁′ − 2Δ/w)/w².
    """
    width = np.diff(levels)
    mean_slope = np.diff(falls) / width
    first = slopes[:-1]
    last = slopes[1:]
    square = (3.0 * mean_slope - 2.0 * first - last) / width
    cube = (first + last - 2.0 * mean_slope) / width**2
    return np.stack([falls[:-1], first, square, cube])


def _tail_laws(side: _Side, levels: Floats, points: ProfilePoints) -> tuple[Floats, Floats, Floats]:
    """σ, ξ and log λ at points of the profile of the levels."""
    d = (levels - side.origin[0]) / side.unit[0]
    log_rates = points.nu * _to_exponential_scale(d, points.theta) - side.log_period
    return side.unit[0] / points.nu, points.theta / points.nu, log_rates


def _profile_from_grid(side: _Side, levels: Floats) -> ProfilePoints:
    """The profile at the levels, exact; by Newton's method from a grid of θ."""
    rows = np.zeros(levels.size, dtype=np.intp)
    if isinstance(side.standard, GridLikelihood):
        return side.at(rows, levels)
    rough = _search_roughly(side, levels, every=2)
    value, slope, theta, nu = np.full((4, levels.size), np.nan)
    # where the edge is far below what the grid has, or the grid's own least lies on it, nothing
    # inside is looked for
    on_edge = rough.at_edge & (rough.nus <= -rough.thetas)
    inner = np.flatnonzero((rough.above_edge < _FAR_ABOVE_EDGE) & ~on_edge)
    inside = _profile_from_tails(side, levels[inner], rough.thetas[inner], rough.log_rates[inner])
    value[inner] = inside.value
    slope[inner] = inside.slope
    theta[inner] = inside.theta
    nu[inner] = inside.nu
    exact = ProfilePoints(value=value, slope=slope, theta=theta, nu=nu)
    edge = _fall_at_edge(side, levels)
    lost_rows = np.flatnonzero(np.isnan(exact.value) & ~rough.at_edge)
    if lost_rows.size:
        searched = side.at(rows[lost_rows], levels[lost_rows], start=rough.thetas[lost_rows])
        for part in ("value", "slope", "theta", "nu"):
            getattr(exact, part)[lost_rows] = getattr(searched, part)
    at_edge = ~(exact.value <= edge)
    top = float(side.standard.samples.upper[0])
    return ProfilePoints(
        value=np.where(at_edge, edge, exact.value),
        slope=np.where(at_edge, np.nan, exact.slope),
        theta=np.where(at_edge, -1.0 / top, exact.theta),
        nu=np.where(at_edge, 1.0 / top, exact.nu),
    )


def _fall_at_edge(side: _Side, levels: Floats) -> Floats:
    """The fall at levels with ξ = −1, where the largest value is the end point."""
    rows = np.zeros(levels.size, dtype=np.intp)
    d = (levels - side.origin[0]) / side.unit[0]
    edge = side.standard.edge(rows, d, np.full(levels.size, side.log_period))
    return np.asarray(edge - side.standard.minimum()[0])


def _profile_from_tails(
    side: _Side,
    levels: Floats,
    thetas: Floats,
    log_rates: Floats,
) -> ProfilePoints:
    """The profile in the units of the data from tails near it; NaN where that does not settle."""
    d = (levels - side.origin[0]) / side.unit[0]
    points = profile_from(side.standard, d, side.log_period, thetas, log_rates)
    return replace(
        points, value=points.value - side.standard.minimum()[0], slope=points.slope / side.unit[0]
    )


@dataclass(frozen=True)
class _RoughProfile:
    """The profile at levels by a grid of θ: fall, θ, ν and log λ where it is least, and by
    how much it is above that with ξ = −1; each (J,).
    """

    falls: Floats
    thetas: Floats
    nus: Floats
    log_rates: Floats
    above_edge: Floats

    @property
    def at_edge(self) -> Flags:
        """Whether ξ = −1 is lower than what the grid has."""
        return self.above_edge > 0.0

    @classmethod
    def of(cls, side: _Side, levels: Floats) -> _RoughProfile:
        """Right to about a hundredth of a signed root; of values on a grid exact."""
        if isinstance(side.standard, GridLikelihood):
            points = side.at(np.zeros(levels.size, dtype=np.intp), levels)
            return cls(
                falls=points.value,
                thetas=points.theta,
                nus=points.nu,
                log_rates=np.full(levels.size, np.nan),
                above_edge=np.where(np.isnan(points.slope), np.inf, -np.inf),
            )
        return _search_roughly(side, levels)


def _search_roughly(side: _Side, levels: Floats, every: int = 1) -> _RoughProfile:
    """The least on a grid of θ, or on every so many-th point of it.

    F(θ, ν, λ) = k[−log ν + (θ + ν)·D̄(θ)] − k log λ − (N − k) log(1 − λ) with log(mλ) =
    ν·log(1 + θd)/θ, d the level above the threshold: D̄ is found once for all levels. Between the
    points of the grid the least is that of the parabola through three of them.
    """
    standard = side.standard
    first = np.zeros(1, dtype=np.intp)
    largest = float(standard.samples.upper[0])
    theta = np.expm1(np.linspace(*_REACH, _THETAS)[::every]) / largest
    theta = np.where(np.abs(theta) < 1e-9, 1e-9, theta)[None, :]
    data = standard.prepared(first, theta)
    d = ((levels - side.origin[0]) / side.unit[0])[:, None]
    inside = 1.0 + theta * d
    possible = inside > 0.0
    v = np.log(np.where(possible, inside, 1.0)) / theta
    with np.errstate(all="ignore"):
        periods = np.full((levels.size, 1), side.log_period)
        nu = standard.best_nu(first, data, v, periods, _ROUGH_TOLERANCE)
        nu = np.maximum(nu, -theta)
        n = standard.samples.n[0]
        rate = standard._rate_partials(nu * v - side.log_period, n, standard.total[0])[0]
        value = n * ((theta + nu) * data[0] - np.log(nu)) + rate
    value = np.where(possible & np.isfinite(value), value, np.inf)
    rows = np.arange(levels.size)
    place = value.argmin(axis=1)
    inner_places = np.clip(place, 1, theta.size - 2)
    left = value[rows, inner_places - 1]
    middle = value[rows, inner_places]
    right = value[rows, inner_places + 1]
    with np.errstate(all="ignore"):
        # the vertex of the parabola, and not far below its middle point: there is no other least
        bent = middle - 0.125 * (left - right) ** 2 / (left - 2.0 * middle + right)
    least = np.where(np.isfinite(bent) & (bent > middle - 0.5), bent, value[rows, place])
    least = np.minimum(least, value[rows, place])
    lowest = standard.minimum()[0]
    edge = standard.edge(
        np.zeros(levels.size, dtype=np.intp), d[:, 0], np.full(levels.size, side.log_period)
    )
    at_edge = edge < least
    return _RoughProfile(
        falls=np.where(at_edge, edge, least) - lowest,
        thetas=theta[0, place],
        nus=nu[rows, place],
        log_rates=nu[rows, place] * v[rows, place] - side.log_period,
        above_edge=np.where(np.isfinite(edge), least - edge, -np.inf),
    )


def _distances_of_nodes(roots: Floats, distances_away: Floats) -> Floats:
    """Distances at which the signed root is that of the nodes, as far as the profile rises."""
    risen_roots = np.maximum.accumulate(roots)
    rising = np.append(True, risen_roots[1:] > risen_roots[:-1])
    nodes = _NODES[(risen_roots[0] < _NODES) & (risen_roots[-1] > _NODES)]
    inner = np.exp(np.interp(nodes, risen_roots[rising], np.log(distances_away[rising])))
    return np.unique(np.concatenate([distances_away[:1], inner, distances_away[-1:]]))


def _to_exponential_scale(d: Floats, theta: Floats) -> Floats:
    """log(1 + θd)/θ, and d at θ = 0."""
    flat = np.abs(theta * d) < 1e-8
    safe = np.where(flat, 1.0, theta)
    with np.errstate(all="ignore"):
        return np.asarray(np.where(flat, d, np.log1p(theta * d) / safe))
