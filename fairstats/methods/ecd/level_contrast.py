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

from fairstats.numerics.evt.contour import Chart, Lagrange, level_interest
from fairstats.numerics.evt.distributions import Floats, Rows, Triple, power_ratio
from fairstats.numerics.evt.gpd import GpdLikelihood
from fairstats.numerics.evt.intervals import TailLikelihood
from fairstats.numerics.evt.likelihood import Samples, level_profile
from fairstats.numerics.evt.optimise import find_crossings
from fairstats.numerics.evt.tail import FittedTail

#: Roots of the deviance, on each side of the estimate, that a level is interpolated between.
_NODES = np.array([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0])
#: Grids of a search, each 18 times finer than the one before; as many as the moments of simulated roots need.
_POINTS, _ZOOMS, _ROUGHLY = 41, 5, 3


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
        """Fall of the profile log-likelihood at the levels, and its slope (NaN where ξ = −1); shape (Q,)."""
        unit = self.unit[rows]
        d = (levels - self.origin[rows]) / unit
        offset = np.full(d.size, self.log_period)
        points = level_profile(self.standard, rows, d, offset)
        return points.value - self.standard.minimum()[rows], points.slope / unit

    def chart(self, rows: Rows) -> Chart:
        """The likelihood and the level, in standard units, of the samples `rows`."""
        interest = level_interest(np.full(rows.size, self.log_period), rate_known=self.standard.rate_known)
        return Chart(self.standard, rows, interest)

    def by_root(self, root: Floats) -> Floats:
        """Levels with these standardised signed roots, by a spline; NaN beyond the largest root."""
        from scipy.interpolate import CubicSpline

        period = np.full(_NODES.size, self.log_period)
        low, high = self.likelihood.level_interval(period, _NODES**2, standardised=True)
        centre = float(self.estimate()[0])
        levels = np.concatenate([low[::-1], high])
        roots = np.concatenate([-_NODES[::-1], _NODES])
        # an end of the parameter space repeats itself; infinity is no level
        near = np.isfinite(levels) & (np.abs(levels - centre) < 1e12 * np.abs(low[1] - centre))
        levels, roots = levels[near], roots[near]
        rising = np.append(True, levels[1:] > np.maximum.accumulate(levels)[:-1])
        unit = float(centre - low[1])
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

    def ends(self, sides: Floats, roots: Floats, farthest: float = np.inf) -> Floats:
        """Differences below (−1) or above (+1) the estimate with these root deviances, shape (Q,).

        Those beyond ±`farthest` need not be found: it, or one beyond, stands for them.
        """
        rows = np.zeros(roots.size, dtype=np.intp)
        _, found, _ = _lagrange(self.first, self.second, (rows, rows), sides * roots, by_root=True)
        lost = (np.isnan(found) | ~(roots**2 < _at_edge(self.first, self.second, (rows, rows)))) & (roots > 0)
        if lost.any():
            found[lost] = self._sought(sides[lost], roots[lost], found[lost], farthest)
        return np.where(roots > 0, found, self.estimate)

    def _sought(self, sides: Floats, roots: Floats, guess: Floats, farthest: float) -> Floats:
        """`ends` by a bracketed search on the deviance, from a guess or NaN."""

        def deviance(which: Rows, at: Floats) -> tuple[Floats, Floats]:
            rows = np.zeros(at.size, dtype=np.intp)
            return _deviances(self.first, self.second, (rows, rows), at)

        step = 0.2 * float(np.hypot(self.first.unit[0], self.second.unit[0]))
        centre = np.full(roots.size, self.estimate)
        start = np.where(np.isnan(guess), step * sides, (guess - centre) / roots)
        far = centre + 1e3 * step * sides
        if not np.isfinite(farthest):
            chosen = np.arange(roots.size)
        else:
            far = np.where(sides < 0, np.maximum(far, -farthest), np.minimum(far, farthest))
            # one look says which ends lie beyond
            chosen = np.flatnonzero(~(deviance(np.arange(roots.size), far)[0] < roots**2))
        found = far.copy()
        found[chosen] = find_crossings(
            deviance, centre[chosen], start[chosen], roots[chosen] ** 2, limit=far[chosen], tolerance=1e-6,
            max_iterations=25,
        )  # fmt: skip
        return found

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
    zooms: int = _ZOOMS,
) -> tuple[Floats, Floats]:
    """Twice the fall of the log-likelihood at the differences, for these samples of the sides; its slope."""
    found, _, multiplier = _lagrange(first, second, rows, difference)
    slope = 2.0 * multiplier
    lost = np.flatnonzero(~(found < _at_edge(first, second, rows)))
    if lost.size:
        own = rows[0][lost], rows[1][lost]
        sought, level = _searched(first, second, own, difference[lost], zooms)
        lower = ~(found[lost] <= sought)
        lost, level, own = lost[lower], level[lower], (own[0][lower], own[1][lower])
        found[lost] = sought[lower]
        own_slope, other = (
            side.at(r, at)[1]
            for side, r, at in ((first, own[0], level + difference[lost]), (second, own[1], level))
        )
        # the two cancel at the minimum; at its edge a profile has none
        slope[lost] = 2.0 * np.where(np.isnan(own_slope), -other, own_slope)
    return np.maximum(found, 0.0), slope


def _at_edge(first: _Side, second: _Side, rows: tuple[Rows, Rows]) -> Floats:
    """Least deviance with the shape of either side at its edge, −1, where profiles are not smooth."""
    edges = [
        (side.standard.boundary() - side.standard.minimum())[own]
        for side, own in zip((first, second), rows, strict=True)
    ]
    return 2.0 * np.minimum(*edges)


def _lagrange(
    first: _Side, second: _Side, rows: tuple[Rows, Rows], given: Floats, *, by_root: bool = False
) -> Triple:
    """`Lagrange.solved` for levels in the units of the data: of differences or roots of deviances."""
    a, b = rows
    charts, units = (first.chart(a), second.chart(b)), (first.unit[a], -second.unit[b])
    lowest = first.standard.minimum()[a] + second.standard.minimum()[b]
    origin = first.origin[a] - second.origin[b]
    search = Lagrange(charts, units, lowest, given if by_root else given - origin, by_root=by_root)
    deviance, gap, multiplier = search.solved()
    return deviance, gap + origin, multiplier


def _side(fit: FittedTail, m: float) -> _Side:
    likelihood = fit.likelihood()
    standard = likelihood.standard
    if not isinstance(standard, GpdLikelihood):
        raise TypeError("return levels are compared above thresholds")
    return _Side(standard, np.array([fit.origin]), float(np.log(m)), likelihood)


def _searched(
    first: _Side, second: _Side, rows: tuple[Rows, Rows], difference: Floats, zooms: int
) -> tuple[Floats, Floats]:
    """Deviances by ever finer grids of the second side's level, and that level; valleys and kinks do no harm.

    The minimum lies between the two estimates, where one deviance falls and the other rises.
    """
    ends = second.estimate()[rows[1]], first.estimate()[rows[0]] - difference
    low, high = np.minimum(*ends)[:, None], np.maximum(*ends)[:, None]
    centre, width, steps = 0.5 * (low + high), 0.5 * (high - low), np.linspace(-1.0, 1.0, _POINTS)
    own, each = [np.repeat(r, _POINTS) for r in rows], np.arange(difference.size)
    total: Floats = np.empty((difference.size, _POINTS))
    for _ in range(zooms):
        grid = np.clip(centre + width * steps, low, high)
        there = (grid + difference[:, None]).ravel()
        total = first.at(own[0], there)[0] + second.at(own[1], grid.ravel())[0]
        total = total.reshape(-1, _POINTS)
        centre = grid[each, total.argmin(axis=1)][:, None]
        width = width * 2.2 / (_POINTS - 1)
    return 2.0 * total.min(axis=1), centre[:, 0]
