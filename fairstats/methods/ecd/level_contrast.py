"""The likelihood ratio of a difference between two groups' return levels.

With D_a(r) and D_b(r) the deviances of each group's return level of m observations (rate, scale and shape profiled),
the deviance of the difference δ is min over r of D_a(r + δ) + D_b(r). Its signed root is standardised by mean and
standard deviation in samples from the fitted tails: the χ² law is too short for small ones, on one side more.

With x and y the parameters of the two tails, h(x) and k(y) their levels and η a multiplier, both that minimum and the
largest δ of a given deviance satisfy ∇F = η∇h, ∇G = −η∇k, beside h − k = δ or F + G = D/2: Newton's method on these
seven equations, many differences at once. Where it does not settle, or where the edge ξ = −1 is likely, the profiles of
both levels are searched.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairstats.numerics.evt.contour import Chart, Lagrange, level_interest
from fairstats.numerics.evt.distributions import Floats, Rows, Triple, exponential_scale_partials, power_ratio
from fairstats.numerics.evt.gpd import GpdLikelihood
from fairstats.numerics.evt.intervals import TailLikelihood
from fairstats.numerics.evt.likelihood import ProfilePoints, Samples, level_profile
from fairstats.numerics.evt.optimise import find_crossings
from fairstats.numerics.evt.tail import FittedTail

#: Roots of the deviance, on each side of the estimate, that a level is interpolated between.
_NODES = np.array([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0])
#: Grids of a search, each 18 times finer than the one before; as many as the moments of simulated roots need.
_POINTS, _ZOOMS, _ROUGHLY = 41, 5, 3
#: Differences that lie so many standard errors off are searched at once.
_FAR_OFF = 12.0


@dataclass(frozen=True)
class _Side:
    """One group in Q problems: the likelihood of its return level, in the units of the data.

    `standard` holds one sample for each problem, or one for all, `origin` their thresholds; `likelihood`: of the data.
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

    def at(self, rows: Rows, levels: Floats) -> ProfilePoints:
        """Fall of the profile log-likelihood at the levels, its slope (NaN where ξ = −1), and where it is."""
        unit = self.unit[rows]
        d = (levels - self.origin[rows]) / unit
        points = level_profile(self.standard, rows, d, np.full(d.size, self.log_period))
        return replace(points, value=points.value - self.standard.minimum()[rows], slope=points.slope / unit)

    def point(self, rows: Rows, levels: Floats, at: ProfilePoints, which: Rows) -> Triple:
        """(θ, ν, ℓ) of some points of the profile."""
        theta, nu = at.theta[which], at.nu[which]
        d = (levels[which] - self.origin[rows[which]]) / self.unit[rows[which]]
        return theta, nu, nu * exponential_scale_partials(d[:, None], theta)[0][:, 0] - self.log_period

    def chart(self, rows: Rows) -> Chart:
        """The likelihood and the level, in standard units, of the samples `rows`."""
        interest = level_interest(np.full(rows.size, self.log_period), rate_known=self.standard.rate_known)
        return Chart(self.standard, rows, interest)

    def by_root(self, root: Floats) -> Floats:
        """Levels with these standardised signed roots, by a spline; NaN beyond the largest root."""
        from scipy.interpolate import CubicSpline

        period, centre = np.full(_NODES.size, self.log_period), float(self.estimate()[0])
        low, high = self.likelihood.level_interval(period, _NODES**2, standardised=True)
        levels, roots = np.concatenate([low[::-1], high]), np.concatenate([-_NODES[::-1], _NODES])
        # an end of the parameter space repeats itself; infinity is no level
        near = np.isfinite(levels) & (np.abs(levels - centre) < 1e12 * np.abs(low[1] - centre))
        levels, roots = levels[near], roots[near]
        rising = np.append(True, levels[1:] > np.maximum.accumulate(levels)[:-1])
        unit = float(centre - low[1])
        stretched = CubicSpline(roots[rising], np.arcsinh((levels[rising] - centre) / unit), extrapolate=False)
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
        excesses = Samples.from_excesses(scale[:, None] * power_ratio(above, shape[:, None]) - threshold[:, None])
        standard = GpdLikelihood.from_samples(excesses, total[rows], self.standard.rate_term)
        return _Side(standard, self.origin[rows] + threshold, self.log_period, self.likelihood)


@dataclass(frozen=True)
class LevelContrast:
    """Difference of the return levels of two groups, first − second, for one number m of observations."""

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
        return self._at(difference)[0]

    def _at(self, difference: Floats) -> tuple[Floats, Floats]:
        """The deviance at the differences, and its slope."""
        rows = np.zeros(difference.size, dtype=np.intp)
        return _deviances(self.first, self.second, (rows, rows), difference)

    def ends(self, sides: Floats, roots: Floats, farthest: float = np.inf) -> Floats:
        """Differences below (−1) or above (+1) the estimate with these root deviances, shape (Q,).

        Those beyond ±`farthest` need not be found: it, or one beyond, stands for them.
        """
        rows = np.zeros(roots.size, dtype=np.intp)
        search, origin = _problem(self.first, self.second, (rows, rows), sides * roots, by_root=True)
        found = search.solved()[1] + origin
        lost = (np.isnan(found) | ~(roots**2 < _at_edge(self.first, self.second, (rows, rows)))) & (roots > 0)
        if lost.any():
            found[lost] = self._sought(sides[lost], roots[lost], found[lost], farthest)
        return np.where(roots > 0, found, self.estimate)

    def _sought(self, sides: Floats, roots: Floats, guess: Floats, farthest: float) -> Floats:
        """`ends` by a bracketed search on the deviance, from a guess or NaN."""
        step = 0.2 * float(np.hypot(self.first.unit[0], self.second.unit[0]))
        centre = np.full(roots.size, self.estimate)
        start = np.where(np.isnan(guess), step * sides, (guess - centre) / roots)
        far = centre + 1e3 * step * sides
        if not np.isfinite(farthest):
            chosen = np.arange(roots.size)
        else:
            far = np.where(sides < 0, np.maximum(far, -farthest), np.minimum(far, farthest))
            # one look says which ends lie beyond
            chosen = np.flatnonzero(~(self.deviance(far) < roots**2))
        found = far.copy()
        about = centre[chosen], start[chosen], roots[chosen] ** 2
        found[chosen] = find_crossings(
            lambda _, at: self._at(at), *about, limit=far[chosen], tolerance=1e-6, max_iterations=25
        )
        return found

    def root_moments(self, replicates: int, rng: np.random.Generator) -> tuple[float, float]:
        """Mean and standard deviation of the signed root at the true difference, in samples from the free fit.

        One simulation serves all differences (DiCiccio, Martin & Stern 2001).
        """
        roots = simulated_roots(self.first, self.second, replicates, rng)[0]
        return float(roots.mean()), float(roots.std(ddof=1))


def simulated_roots(first: _Side, second: _Side, replicates: int, rng: np.random.Generator) -> Floats:
    """Signed roots at the true difference in samples from the free fits, shape (P, replicates)."""
    true = np.repeat(first.estimate() - second.estimate(), replicates)
    drawn, rows = (first.redrawn(replicates, rng), second.redrawn(replicates, rng)), np.arange(true.size)
    deviance = _deviances(*drawn, (rows, rows), true, _ROUGHLY)[0]
    roots = np.copysign(np.sqrt(deviance), drawn[0].estimate() - drawn[1].estimate() - true)
    return np.asarray(roots.reshape(-1, replicates))


def _deviances(
    first: _Side, second: _Side, rows: tuple[Rows, Rows], difference: Floats, zooms: int = _ZOOMS
) -> tuple[Floats, Floats]:
    """Twice the fall of the log-likelihood at the differences, for these samples of the sides; its slope."""
    search, _ = _problem(first, second, rows, difference)
    found, _, multiplier = search.solved(farthest=_FAR_OFF, patient=False)
    lost = np.flatnonzero(~(found < _at_edge(first, second, rows)))
    if lost.size:
        sought, slope = _searched(first, second, rows, difference, search, lost, zooms)
        lower = ~(found[lost] <= sought)
        found[lost[lower]], multiplier[lost[lower]] = sought[lower], slope[lower]
    return np.maximum(found, 0.0), 2.0 * multiplier


def _at_edge(first: _Side, second: _Side, rows: tuple[Rows, Rows]) -> Floats:
    """Least deviance with the shape of either side at its edge, −1, where profiles are not smooth."""
    (a, at_a), (b, at_b) = zip((first.standard, second.standard), rows, strict=True)
    return 2.0 * np.minimum((a.boundary() - a.minimum())[at_a], (b.boundary() - b.minimum())[at_b])


def _problem(
    first: _Side, second: _Side, rows: tuple[Rows, Rows], given: Floats, *, by_root: bool = False
) -> tuple[Lagrange, Floats]:
    """The equations for these differences or, `by_root`, roots of deviances; the difference of the thresholds."""
    a, b = rows
    charts, units = (first.chart(a), second.chart(b)), (first.unit[a], -second.unit[b])
    lowest = first.standard.minimum()[a] + second.standard.minimum()[b]
    origin = first.origin[a] - second.origin[b]
    return Lagrange(charts, units, lowest, given if by_root else given - origin, by_root=by_root), origin


def _side(fit: FittedTail, m: float) -> _Side:
    likelihood = fit._likelihood()
    standard = likelihood.standard
    if not isinstance(standard, GpdLikelihood):
        raise TypeError("return levels are compared above thresholds")
    return _Side(standard, np.array([fit.origin]), float(np.log(m)), likelihood)


def _searched(
    first: _Side, second: _Side, rows: tuple[Rows, Rows], difference: Floats, search: Lagrange, chosen: Rows, zooms: int
) -> tuple[Floats, Floats]:
    """Least falls twice, and multipliers, by grids of the second side's level; valleys and kinks do no harm.

    The minimum lies between the two estimates. Grids grow finer until Newton's method settles from their lowest point:
    only where none next to it is at the edge.
    """
    ends = second.estimate()[rows[1]], first.estimate()[rows[0]] - difference
    low, high = np.minimum(*ends)[chosen, None], np.maximum(*ends)[chosen, None]
    centre, width, steps = 0.5 * (low + high), 0.5 * (high - low), np.linspace(-1.0, 1.0, _POINTS)
    found, multiplier = np.full((2, chosen.size), np.nan)
    a = np.arange(chosen.size)
    for _ in range(zooms):
        of, each = chosen[a], _POINTS * np.arange(a.size)
        grid = np.clip(centre[a] + width[a] * steps, low[a], high[a])
        levels = (grid + difference[of, None]).ravel(), grid.ravel()
        own = [np.repeat(r[of], _POINTS) for r in rows]
        one, other = (side.at(r, x) for side, r, x in zip((first, second), own, levels, strict=True))
        total = one.value + other.value
        best = total.reshape(-1, _POINTS).argmin(axis=1)
        at = each + best
        found[a], centre[a] = 2.0 * total[at], grid.ravel()[at][:, None]
        # the two cancel at the minimum; at its edge a profile has none
        multiplier[a] = np.where(np.isnan(one.slope[at]), -other.slope[at], one.slope[at])
        near = each[:, None] + np.clip(best[:, None] + [-1, 0, 1], 0, _POINTS - 1)
        smooth = np.isfinite(one.slope[near] + other.slope[near]).all(axis=1)
        there = at[smooth]
        sides = zip((first, second), own, levels, (one, other), strict=True)
        points = [side.point(r, x, profile, there) for side, r, x, profile in sides]
        deviance, exact = search.polished(of[smooth], points, 0.5 * (one.slope[there] - other.slope[there]))
        lower = deviance <= found[a[smooth]] * (1.0 + 1e-12)
        done = a[smooth][lower]
        found[done], multiplier[done] = deviance[lower], exact[lower]
        a, width = np.setdiff1d(a, done), width * 2.2 / (_POINTS - 1)
        if not a.size:
            break
    return found, multiplier
