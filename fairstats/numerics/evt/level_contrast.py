"""The likelihood ratio of a difference between two groups' return levels.

With D_a(r) and D_b(r) the deviances of each group's return level of m observations (everything else profiled:
rate, scale, shape), the deviance of the difference δ is min over r of D_a(r + δ) + D_b(r). Its χ² quantile
gives the interval of δ and its value at 0 the test of equal levels. The χ² law is too short for small tails,
on one side more than on the other: samples from the fitted tails give the mean and the standard deviation of
the signed root, by which it is standardised.

With x and y the parameters of the two tails, h(x) and k(y) their levels and η a multiplier, both that minimum
and the largest δ of a given deviance satisfy ∇F = η∇h, ∇G = −η∇k, beside h − k = δ or F + G = D/2: Newton's
method on these seven equations, many differences at once. Where it does not settle, or where the edge ξ = −1
is likely, the profiles of both levels are searched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairstats.numerics.evt.contour import Chart, cofactors, dot, level_interest, solved
from fairstats.numerics.evt.distributions import Floats, Rows, Triple, power_ratio
from fairstats.numerics.evt.gpd import GpdLikelihood
from fairstats.numerics.evt.intervals import TailLikelihood
from fairstats.numerics.evt.likelihood import Samples, level_profile
from fairstats.numerics.evt.optimise import find_crossings
from fairstats.numerics.evt.tail import FittedTail

_STEPS = 60
#: Roots of the deviance, on each side of the estimate, that a level is interpolated between.
_NODES = np.array([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0])
_TOLERANCE = 1e-9
#: Enough for the moments of simulated roots.
_ROUGHLY = 1e-3
#: Shares of the way to a goal: two leaps first, smaller steps where these fail.
_APPROACHES = ((0.5, 1.0), (0.2, 0.4, 0.6, 0.8, 1.0))
_ITERATIONS = 12


@dataclass(frozen=True)
class _Side:
    """One group in Q problems: the likelihood of its return level, in the units of the data.

    `standard` holds one sample for each problem, or one for all of them, and `origin` their thresholds;
    `likelihood` is that of the data.
    """

    standard: GpdLikelihood
    origin: Floats
    log_period: float
    likelihood: TailLikelihood

    @property
    def unit(self) -> Floats:
        return self.standard.samples.unit

    def estimate(self) -> Floats:
        """Return level at the maximum of each sample, shape (P,)."""
        s, fits = self.log_period + self.standard.log_rate, self.standard.fits
        return np.asarray(self.origin + self.unit * power_ratio(s / fits.nu, fits.theta))

    def at(self, rows: Rows, levels: Floats) -> tuple[Floats, Floats]:
        """Fall of the profile log-likelihood at the levels, and its slope; shape (Q,)."""
        unit = self.unit[rows]
        d = (levels - self.origin[rows]) / unit
        offset = np.full(d.size, self.log_period)
        points = level_profile(self.standard, rows, d, offset)
        slope = points.slope
        edge = np.flatnonzero(~np.isfinite(slope))
        if edge.size:  # ξ = −1: the profile has a kink there, and no slope of its own
            step = 1e-6 * (1.0 + np.abs(d[edge]))
            after, before = (
                level_profile(self.standard, rows[edge], d[edge] + side * step, offset[edge]).value
                for side in (1.0, -1.0)
            )
            slope = slope.copy()
            slope[edge] = (after - before) / (2.0 * step)
        return points.value - self.standard.minimum()[rows], slope / unit

    def chart(self, rows: Rows) -> Chart:
        """The likelihood and the level, in standard units, of the samples `rows`."""
        interest = level_interest(np.full(rows.size, self.log_period), rate_known=self.standard.rate_known)
        return Chart(self.standard, rows, interest)

    def by_root(self, root: Floats) -> Floats:
        """Levels with these signed roots of their deviance, by a spline; NaN beyond the largest root."""
        from scipy.interpolate import CubicSpline

        low, high = self.likelihood.level_interval(np.full(_NODES.size, self.log_period), _NODES**2)
        centre = float(self.estimate()[0])
        levels = np.concatenate([low[::-1], [centre], high])
        roots = np.concatenate([-_NODES[::-1], [0.0], _NODES])
        # an end of the parameter space repeats itself; infinity is no level
        near = np.isfinite(levels) & (np.abs(levels - centre) < 1e12 * np.abs(low[0] - centre))
        levels, roots = levels[near], roots[near]
        rising = np.append(True, levels[1:] > np.maximum.accumulate(levels)[:-1])
        unit = float(centre - low[0])
        known = np.arcsinh((levels[rising] - centre) / unit)
        stretched = CubicSpline(roots[rising], known, extrapolate=False)
        return np.asarray(centre + unit * np.sinh(stretched(root)))

    def redrawn(self, replicates: int, rng: np.random.Generator) -> _Side:
        """New samples from every free fit: the k + 1 largest of N values, whose threshold moves."""
        fits, samples, total = self.standard.fits, self.standard.samples, self.standard.total
        k, rows = samples.n[0], np.repeat(np.arange(total.size), replicates)
        scale, shape = (self.unit / fits.nu)[rows], (fits.theta / fits.nu)[rows]
        # the survival probability of the (k + 1)-th largest, beside the rate
        drawn = rng.beta(k + 1.0, np.maximum(total - k, 1.0), (replicates, total.size)).T
        base = np.where((total > k)[:, None], drawn, 1.0)
        depth = np.log((k / total)[:, None] / base).ravel()
        threshold = scale * power_ratio(depth, shape)
        above = depth[:, None] + rng.standard_exponential((rows.size, int(k)))
        values = scale[:, None] * power_ratio(above, shape[:, None])
        excesses = Samples.from_excesses(values - threshold[:, None])
        standard = GpdLikelihood.from_samples(excesses, total[rows], self.standard.rate_term)
        return _Side(standard, self.origin[rows] + threshold, self.log_period, self.likelihood)


@dataclass(frozen=True)
class LevelContrast:
    """Difference of the return levels of two groups, for one number m of observations.

    `first`, `second`: the difference is first − second.
    """

    first: _Side
    second: _Side

    @classmethod
    def of(cls, first: FittedTail, second: FittedTail, m: float) -> LevelContrast:
        """Contrast of two fits above thresholds, by maximum likelihood, for m observations."""
        return cls(_side(first, m), _side(second, m))

    @property
    def estimate(self) -> float:
        """Difference of the return levels at the maximum."""
        return float(self.first.estimate()[0] - self.second.estimate()[0])

    def deviance(self, difference: Floats) -> Floats:
        """Twice the fall of the log-likelihood at the differences, shape (Q,)."""
        rows = np.zeros(difference.size, dtype=np.intp)
        return _deviances(self.first, self.second, (rows, rows), difference)[0]

    def interval(self, target: float) -> tuple[float, float]:
        """Differences whose deviance is at most `target`."""
        low, high = self.ends(np.array([-1.0, 1.0]), np.full(2, np.sqrt(target)))
        return float(low), float(high)

    def ends(self, sides: Floats, roots: Floats) -> Floats:
        """Differences below (−1) or above (+1) the estimate with these root deviances, shape (Q,)."""
        rows = np.zeros(roots.size, dtype=np.intp)
        _, found, _ = _lagrange(self.first, self.second, (rows, rows), sides * roots, by_root=True)
        lost = (np.isnan(found) | ~(roots**2 < _at_edge(self.first, self.second, (rows, rows)))) & (roots > 0)
        if lost.any():
            found[lost] = self._sought(sides[lost], roots[lost])
        return np.where(roots > 0, found, self.estimate)

    def _sought(self, sides: Floats, roots: Floats) -> Floats:
        """`ends` by a bracketed search on the deviance."""

        def deviance(which: Rows, at: Floats) -> tuple[Floats, Floats]:
            rows = np.zeros(at.size, dtype=np.intp)
            return _deviances(self.first, self.second, (rows, rows), at)

        step = 0.2 * float(np.hypot(self.first.unit[0], self.second.unit[0]))
        centre = np.full(roots.size, self.estimate)
        far = centre + 1e3 * step * sides
        return find_crossings(deviance, centre, step * sides, roots**2, limit=far, max_iterations=30)

    def root_moments(self, replicates: int, rng: np.random.Generator) -> tuple[float, float]:
        """Mean and standard deviation of the signed root of the deviance at the true difference.

        In samples from the free fit, whose difference is the estimate. One simulation serves all differences:
        (root(δ) − mean)/sd is much nearer to normal than the root itself (DiCiccio, Martin & Stern 2001).
        """
        roots = simulated_roots(self.first, self.second, replicates, rng)[0]
        return float(roots.mean()), float(roots.std(ddof=1))


def simulated_roots(first: _Side, second: _Side, replicates: int, rng: np.random.Generator) -> Floats:
    """Signed roots at the true difference in samples from the free fits, shape (P, replicates)."""
    true = np.repeat(first.estimate() - second.estimate(), replicates)
    drawn = first.redrawn(replicates, rng), second.redrawn(replicates, rng)
    rows = np.arange(true.size)
    deviance = _deviances(*drawn, (rows, rows), true, _ROUGHLY)[0]
    roots = np.copysign(np.sqrt(deviance), drawn[0].estimate() - drawn[1].estimate() - true)
    return np.asarray(roots.reshape(-1, replicates))


def _deviances(
    first: _Side,
    second: _Side,
    rows: tuple[Rows, Rows],
    difference: Floats,
    tolerance: float = _TOLERANCE,
) -> tuple[Floats, Floats]:
    """Twice the fall of the log-likelihood at the differences, for these samples of the sides; its slope."""
    found, _, multiplier = _lagrange(first, second, rows, difference)
    slope = 2.0 * multiplier
    lost = np.flatnonzero(~(found < _at_edge(first, second, rows)))
    if lost.size:
        own = rows[0][lost], rows[1][lost]
        sought, level = _deviance(first, second, difference[lost], own, tolerance)
        lower = ~(found[lost] <= sought)
        lost, level, own = lost[lower], level[lower], (own[0][lower], own[1][lower])
        found[lost] = sought[lower]
        slope[lost] = 2.0 * first.at(own[0], level + difference[lost])[1]
    return np.maximum(found, 0.0), slope


def _at_edge(first: _Side, second: _Side, rows: tuple[Rows, Rows]) -> Floats:
    """Least deviance with the shape of either side at its edge, −1, where profiles are not smooth."""
    edges = [
        (side.standard.boundary() - side.standard.minimum())[own]
        for side, own in zip((first, second), rows, strict=True)
    ]
    return 2.0 * np.minimum(*edges)


def _lagrange(
    first: _Side,
    second: _Side,
    rows: tuple[Rows, Rows],
    given: Floats,
    *,
    by_root: bool = False,
) -> Triple:
    """Deviances, differences and multipliers; NaN where lost.

    `given` are the differences or, where `by_root`, signed roots of the deviances.
    """
    with np.errstate(all="ignore"):
        search = _Lagrange.of(first, second, rows, given, by_root)
        found = np.full((3, rows[0].size), np.nan)
        for shares in _APPROACHES:
            todo = np.flatnonzero(np.isnan(found[0]))
            if todo.size:
                found[:, todo] = search.approach(todo, shares)
    return found[0], found[1], found[2]


@dataclass(frozen=True)
class _Lagrange:
    """Minima of F + G at differences, or extremes of the difference at deviances, in Q problems.

    `charts` of the two sides; `units` of their levels, the second one negative, so that the difference is
    `origin` + Σ unit·level; `centres`, `directions` as `Chart.tangent` has them, `spread` their length in the
    difference. `radius`: the signed root of the deviance at the goal, or nearly so; `goal`: a difference or,
    where `by_root`, half a deviance, and `minimum` that of F + G.
    """

    charts: tuple[Chart, Chart]
    units: tuple[Floats, Floats]
    origin: Floats
    centres: tuple[Floats, Floats]
    directions: tuple[Floats, Floats]
    spread: Floats
    estimate: Floats
    radius: Floats
    by_root: bool
    minimum: Floats

    @classmethod
    def of(
        cls, first: _Side, second: _Side, rows: tuple[Rows, Rows], given: Floats, by_root: bool
    ) -> _Lagrange:
        """Problems at the maximum."""
        a, b = rows
        charts = first.chart(a), second.chart(b)
        units = first.unit[a], -second.unit[b]
        (centre, ahead, length), (other, back, reach) = (chart.tangent() for chart in charts)
        spread = np.hypot(units[0] * length, units[1] * reach)
        estimate = first.estimate()[a] - second.estimate()[b]
        radius = given if by_root else (given - estimate) / spread
        lowest = first.standard.minimum()[a] + second.standard.minimum()[b]
        return cls(
            charts, units, first.origin[a] - second.origin[b], (centre, other), (ahead, back), spread,
            estimate, radius, by_root, lowest,
        )  # fmt: skip

    def approach(self, rows: Rows, shares: tuple[float, ...]) -> Triple:
        """Deviances, differences and multipliers at the last share of the radius, by way of the others."""
        eta = self.radius[rows] / self.spread[rows]
        tangent = [
            u[rows, None] * d[rows] * eta[:, None] for u, d in zip(self.units, self.directions, strict=True)
        ]
        points = previous = [c[rows] for c in self.centres]
        before, reached, multiplier = -1.0, 0.0, eta
        deviance = difference = np.full(rows.size, np.nan)
        for share in shares:
            ahead = (share - reached) / (reached - before)
            moves = [(new - old) * ahead for new, old in zip(points, previous, strict=True)]
            if reached == 0.0:
                moves = [share * t for t in tangent]
                moves = [m * np.minimum(1.0, 2.0 / np.abs(m).max(-1))[:, None] for m in moves]
            previous, points = points, [x + move for x, move in zip(points, moves, strict=True)]
            multiplier = multiplier * share / reached if reached else eta * share
            before, reached = reached, share
            deviance, difference, points, multiplier = self.newton(rows, points, multiplier, share)
        return deviance, difference, multiplier

    def newton(
        self, rows: Rows, points: list[Floats], multiplier: Floats, share: float
    ) -> tuple[Floats, Floats, list[Floats], Floats]:
        """Newton's method at a share of the radius: deviances, differences, points and multipliers."""
        radius, spread, estimate = (v[rows] for v in (self.radius, self.spread, self.estimate))
        goal = 0.5 * (share * radius) ** 2 if self.by_root else estimate + share * radius * spread
        rough = share < 1.0  # a way-point need not be exact
        tolerance = (1e-2 if rough else 1e-10) * (1.0 + radius**2 if self.by_root else spread)
        deviance, difference = np.full(rows.size, np.nan), np.full(rows.size, np.nan)
        points, multiplier = [x.copy() for x in points], multiplier.copy()
        a = np.flatnonzero(np.isfinite(multiplier))
        for _ in range(_ITERATIONS):
            if not a.size:
                break
            eta = multiplier[a]
            fall, gap, (base, slope, pull) = (
                -self.minimum[rows[a]],
                self.origin[rows[a]],
                np.zeros((3, a.size)),
            )
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
            size = np.maximum(*(np.abs(move).max(-1) for move in moves))
            settled = (np.abs(off) < tolerance[a]) & (size < (3e-2 if rough else 1e-6))
            if settled.any():
                which = np.flatnonzero(settled & regular & (eta * radius[a] >= 0))
                negative = np.sum([np.linalg.eigvalsh(m[which]) < 0 for *_, m in steps], axis=(0, 2))
                # the least of F + G at its difference
                least = (negative == 0) & (pull[which] > 0) | (negative == 1) & (pull[which] < 0)
                which = which[least]
                deviance[a[which]], difference[a[which]] = 2.0 * fall[which], gap[which]
            shrink = np.minimum(1.0, 1.0 / size)
            for x, move in zip(points, moves, strict=True):
                x[a] += shrink[:, None] * move
            multiplier[a] += shrink * eta_step
            alive = ~settled & np.isfinite(size) & np.isfinite(eta_step)
            for chart, x in zip(self.charts, points, strict=True):
                alive &= chart.likelihood.inside(chart.samples[rows[a]], x[a, 2])
            a = a[alive]
        lost = np.isnan(deviance)
        multiplier[lost] = np.nan
        return deviance, difference, points, multiplier


def _side(fit: FittedTail, m: float) -> _Side:
    likelihood = fit.likelihood()
    standard = likelihood.standard
    if not isinstance(standard, GpdLikelihood):
        raise TypeError("return levels are compared above thresholds")
    return _Side(standard, np.array([fit.origin]), float(np.log(m)), likelihood)


def _deviance(
    first: _Side,
    second: _Side,
    difference: Floats,
    rows: tuple[Rows, Rows] | None = None,
    tolerance: float = _TOLERANCE,
) -> tuple[Floats, Floats]:
    """Deviance of each difference, and the second side's level at its minimum.

    The minimum lies between the two estimates, where one deviance falls and the other rises: a root of the
    sum of the slopes, found by regula falsi (Illinois) with bisection.
    """
    count = difference.size
    rows_1, rows_2 = rows or (_rows(first, count), _rows(second, count))
    ends = second.estimate()[rows_2], first.estimate()[rows_1] - difference
    low, high = np.minimum(*ends), np.maximum(*ends)

    def slopes(which: Rows, level: Floats) -> tuple[Floats, Floats]:
        value_1, slope_1 = first.at(rows_1[which], level + difference[which])
        value_2, slope_2 = second.at(rows_2[which], level)
        return value_1 + value_2, slope_1 + slope_2

    everyone = np.arange(count)
    value_low, slope_low = slopes(everyone, low)
    value_high, slope_high = slopes(everyone, high)
    best = np.where(value_low < value_high, low, high)
    value = np.minimum(value_low, value_high)
    width = high - low
    active = everyone[(width > 0) & (slope_low < 0) & (slope_high > 0)]
    side = np.zeros(count)
    for step in range(_STEPS):
        if not active.size:
            break
        a, b, fa, fb = low[active], high[active], slope_low[active], slope_high[active]
        middle = 0.5 * (a + b) if step % 4 == 3 else (a * fb - b * fa) / (fb - fa)
        middle = np.where((middle > a) & (middle < b), middle, 0.5 * (a + b))
        f, s = slopes(active, middle)
        better = f < value[active]
        value[active] = np.where(better, f, value[active])
        best[active] = np.where(better, middle, best[active])
        left = s < 0
        low[active], slope_low[active] = np.where(left, middle, a), np.where(left, s, fa)
        high[active], slope_high[active] = np.where(left, b, middle), np.where(left, fb, s)
        again = side[active] == np.where(left, -1.0, 1.0)
        slope_high[active[again & left]] *= 0.5
        slope_low[active[again & ~left]] *= 0.5
        side[active] = np.where(left, -1.0, 1.0)
        # what is left to gain is at most |slope|·width
        open_ = np.abs(s) * (high[active] - low[active]) > tolerance * (1.0 + value[active])
        active = active[open_ & (s != 0)]
    return np.maximum(2.0 * value, 0.0), best


def _rows(side: _Side, count: int) -> Rows:
    return np.arange(count) if side.unit.size == count else np.zeros(count, dtype=np.intp)
