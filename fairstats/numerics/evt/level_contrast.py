"""The likelihood ratio of a difference between two groups' return levels.

With D_a(r) and D_b(r) the deviances of each group's return level of m observations (everything else profiled:
rate, scale, shape), the deviance of the difference δ is min over r of D_a(r + δ) + D_b(r). Its χ² quantile
gives the interval of δ and its value at 0 the test of equal levels. The χ² law is too short for small tails,
on one side more than on the other: samples from the fitted tails give the mean and the standard deviation of
the signed root, by which it is standardised.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fairstats.numerics.evt.distributions import Flags, Floats, Rows, power_ratio
from fairstats.numerics.evt.gpd import GpdLikelihood
from fairstats.numerics.evt.intervals import TailLikelihood
from fairstats.numerics.evt.likelihood import Samples, level_profile
from fairstats.numerics.evt.optimise import find_crossings
from fairstats.numerics.evt.tail import FittedTail

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline

_STEPS = 60
#: Roots of the deviance, on each side of the estimate, that a level is interpolated between.
_NODES = np.array([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0])
_TOLERANCE = 1e-10
#: Enough for the moments of simulated roots.
_ROUGHLY = 1e-3


@dataclass(frozen=True)
class _ByRoot:
    """A level and the signed root of its deviance, by splines in y = arsinh((level − centre)/unit)."""

    centre: float
    unit: float
    stretched: CubicSpline
    roots: CubicSpline

    def level(self, root: Floats) -> Floats:
        """NaN beyond the largest root."""
        return np.asarray(self.centre + self.unit * np.sinh(self.stretched(root)))

    def root(self, level: Floats) -> Floats:
        """NaN beyond the level of the largest root."""
        return np.asarray(self.roots(np.arcsinh((level - self.centre) / self.unit)))

    def bend(self, level: Floats) -> Floats:
        """Second derivative of half the deviance in the level."""
        z = (level - self.centre) / self.unit
        y, first = np.arcsinh(z), 1.0 / (self.unit * np.sqrt(1.0 + z * z))
        root, slope, curve = (self.roots(y, order) for order in (0, 1, 2))
        return np.asarray((slope * first) ** 2 + root * first**2 * (curve - slope * np.tanh(y)))


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

    @cached_property
    def by_root(self) -> _ByRoot:
        """The level as a function of the signed root of its deviance."""
        from scipy.interpolate import CubicSpline

        low, high = self.likelihood.level_interval(np.full(_NODES.size, self.log_period), _NODES**2)
        centre = float(self.estimate()[0])
        levels = np.concatenate([low[::-1], [centre], high])
        roots = np.concatenate([-_NODES[::-1], [0.0], _NODES])
        # an end of the parameter space repeats itself; infinity is no level
        known = np.isfinite(levels) & (np.abs(levels - centre) < 1e12 * np.abs(low[0] - centre))
        levels, roots = levels[known], roots[known]
        rising = np.append(True, levels[1:] > np.maximum.accumulate(levels)[:-1])
        unit = float(centre - low[0])
        y, roots = np.arcsinh((levels[rising] - centre) / unit), roots[rising]
        splines = CubicSpline(roots, y, extrapolate=False), CubicSpline(y, roots, extrapolate=False)
        return _ByRoot(centre, unit, *splines)

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
        level, near = self._nearest(difference)
        known = np.flatnonzero(near)
        found = np.empty(difference.size)
        rows = np.zeros(known.size, dtype=np.intp)
        for _ in range(3):  # the interpolated place is near the minimum
            value, slope, bend = np.zeros((3, known.size))
            for side, shift in ((self.first, difference[known]), (self.second, 0.0)):
                fall, rise = side.at(rows, level[known] + shift)
                value, slope = value + fall, slope + rise
                bend = bend + side.by_root.bend(level[known] + shift)
            step = np.where(bend > 0, slope / bend, 0.0)
            found[known] = 2.0 * value - slope * step  # less what is left to the minimum
            level[known] -= step
            if (np.abs(slope * step) <= 1e-7 * (1.0 + value)).all():
                break
        rest = np.flatnonzero(~near)
        if rest.size:
            found[rest] = _deviance(self.first, self.second, difference[rest])[0]
        return np.maximum(found, 0.0)

    def _nearest(self, difference: Floats) -> tuple[Floats, Flags]:
        """The second side's most likely level, by the interpolated roots; and whether they reach it."""
        first, second = self.first.by_root, self.second.by_root
        centre, width = np.zeros(difference.size), float(_NODES[-1])
        total = np.full(difference.size, np.inf)
        for points in (201, 41, 41, 41):
            grid = centre[:, None] + width * np.linspace(-1.0, 1.0, points)
            other = first.root(second.level(grid) + difference[:, None])
            squares = np.nan_to_num(other**2 + grid**2, nan=np.inf)
            best = squares.argmin(axis=1)
            row = np.arange(difference.size)
            centre, total = grid[row, best], squares[row, best]
            width *= 2.0 / (points - 1)
        return second.level(centre), np.isfinite(total) & (total < _NODES[-1] ** 2)

    def interval(self, target: float) -> tuple[float, float]:
        """Differences whose deviance is at most `target`."""
        low, high = self.ends(np.array([-1.0, 1.0]), np.full(2, np.sqrt(target)))
        return float(low), float(high)

    def ends(self, sides: Floats, roots: Floats) -> Floats:
        """Differences below (−1) or above (+1) the estimate with these root deviances, shape (Q,).

        At an end the two groups share the deviance as target·sin²φ and target·cos²φ, with the φ that takes
        the difference furthest. Each group's level as a function of its signed root deviance is smooth and is
        interpolated; secant steps with the deviance itself make the ends exact.
        """
        first, second = self.first.by_root, self.second.by_root
        outermost = np.array([_outermost(first, second, s, r) for s, r in zip(sides, roots, strict=True)])
        found, slope = outermost.T
        active = np.arange(found.size)
        for _ in range(3):
            miss = np.sqrt(self.deviance(found[active])) - roots[active]
            active, miss = (v[np.abs(miss) >= 1e-9 * roots[active]] for v in (active, miss))
            if not active.size:
                break
            found[active] -= slope[active] * miss
        else:
            # a profile that is not smooth, or that the interpolation does not reach
            lost = active[~(np.abs(np.sqrt(self.deviance(found[active])) - roots[active]) < 1e-6)]
            if lost.size:
                found[lost] = self._sought(sides[lost], roots[lost])
        return np.asarray(found)

    def _sought(self, sides: Floats, roots: Floats) -> Floats:
        """`ends` by a bracketed search on the deviance."""

        def deviance(which: Rows, at: Floats) -> tuple[Floats, Floats]:
            return _deviance(self.first, self.second, at)[0], np.full(at.size, np.nan)

        step = 0.2 * np.hypot(self.first.by_root.unit, self.second.by_root.unit)
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
    deviance = _deviance(*drawn, true, _ROUGHLY)[0]
    roots = np.copysign(np.sqrt(deviance), drawn[0].estimate() - drawn[1].estimate() - true)
    return np.asarray(roots.reshape(-1, replicates))


def _outermost(first: _ByRoot, second: _ByRoot, side: float, root: float) -> tuple[float, float]:
    """Furthest difference within a root deviance, by the interpolated levels; and its slope in the root."""

    def reached(phi: Floats, size: float) -> Floats:
        return np.asarray(
            side * (first.level(side * size * np.sin(phi)) - second.level(-side * size * np.cos(phi)))
        )

    centre, width = 0.25 * np.pi, 0.25 * np.pi
    for _ in range(5):
        phi = np.clip(centre + width * np.linspace(-1.0, 1.0, 41), 0.0, 0.5 * np.pi)
        centre, width = float(phi[np.nanargmax(reached(phi, root))]), width / 20.0
    far, less = (float(side * reached(np.array([centre]), size)[0]) for size in (root, 0.999 * root))
    return far, (far - less) / (0.001 * root)


def _side(fit: FittedTail, m: float) -> _Side:
    likelihood = fit.likelihood()
    standard = likelihood.standard
    if not isinstance(standard, GpdLikelihood):
        raise TypeError("return levels are compared above thresholds")
    return _Side(standard, np.array([fit.origin]), float(np.log(m)), likelihood)


def _deviance(
    first: _Side, second: _Side, difference: Floats, tolerance: float = _TOLERANCE
) -> tuple[Floats, Floats]:
    """Deviance of each difference, and the second side's level at its minimum.

    The minimum lies between the two estimates, where one deviance falls and the other rises: a root of the
    sum of the slopes, found by regula falsi (Illinois) with bisection.
    """
    count = difference.size
    rows_1, rows_2 = (_rows(side, count) for side in (first, second))
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
