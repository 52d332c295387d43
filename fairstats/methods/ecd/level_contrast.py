"""The likelihood ratio of a difference between two groups' return levels.

With D_a(r) and D_b(r) the deviances of each group's return level of m observations (rate, scale and
shape profiled), the deviance of the difference δ is min over r of D_a(r + δ) + D_b(r). `root_law`
has the law of its signed root: χ² is too short for small tails, on one side more.

With x and y the parameters of the two tails, h(x) and k(y) their levels and η a multiplier, both
that minimum and the largest δ of a given deviance satisfy ∇F = η∇h, ∇G = −η∇k, beside h − k = δ or
F + G = D/2: Newton's method on these seven equations, many differences at once. Where it does not
settle, or where the edge ξ = −1 is likely, the profiles of both levels are searched.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairstats.numerics.evt.contour import Chart, Lagrange, level_interest
from fairstats.numerics.evt.distributions import (
    Floats,
    Rows,
    Triple,
    exponential_scale_partials,
    power_ratio,
)
from fairstats.numerics.evt.gpd import GpdLikelihood
from fairstats.numerics.evt.intervals import TailLikelihood
from fairstats.numerics.evt.likelihood import ProfilePoints, level_profile
from fairstats.numerics.evt.optimise import find_crossings
from fairstats.numerics.evt.tail import FittedTail

#: Grids of a search, each 18 times finer than the one before.
_POINTS = 41
_ZOOMS = 5
#: Differences that lie so many standard errors off are searched at once.
_FAR_OFF = 12.0


@dataclass(frozen=True)
class _Side:
    """One group in Q problems: the likelihood of its return level, in the units of the data.

    `standard` holds one sample for each problem, or one for all, `origin` their thresholds;
    `likelihood`: of the data.
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
        s = self.log_period + self.standard.log_rate
        fits = self.standard.fits
        return np.asarray(self.origin + self.unit * power_ratio(s / fits.nu, fits.theta))

    def at(self, rows: Rows, levels: Floats, start: Floats | None = None) -> ProfilePoints:
        """Fall of the profile log-likelihood at the levels, its slope (NaN where ξ = −1), and where
        it is.

        `start`: θ near it.
        """
        unit = self.unit[rows]
        d = (levels - self.origin[rows]) / unit
        points = level_profile(
            self.standard, rows, d, np.full(d.size, self.log_period), start=start
        )
        return replace(
            points, value=points.value - self.standard.minimum()[rows], slope=points.slope / unit
        )

    def point(self, rows: Rows, levels: Floats, at: ProfilePoints, which: Rows) -> Triple:
        """(θ, ν, ℓ) of some points of the profile."""
        theta = at.theta[which]
        nu = at.nu[which]
        d = (levels[which] - self.origin[rows[which]]) / self.unit[rows[which]]
        return (
            theta,
            nu,
            nu * exponential_scale_partials(d[:, None], theta)[0][:, 0] - self.log_period,
        )

    def chart(self, rows: Rows) -> Chart:
        """The likelihood and the level, in standard units, of the samples `rows`."""
        interest = level_interest(
            np.full(rows.size, self.log_period), rate_known=self.standard.rate_known
        )
        return Chart(self.standard, rows, interest)


@dataclass(frozen=True)
class LevelContrast:
    """Difference of the return levels of two groups, first − second, for one number m of
    observations.
    """

    first: _Side
    second: _Side

    @classmethod
    def of(cls, first: FittedTail, second: FittedTail, m: float) -> LevelContrast:
        """Contrast of two fits above thresholds, by maximum likelihood, for m observations."""
        return cls(_make_side(first, m), _make_side(second, m))

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
        return _find_deviances(self.first, self.second, (rows, rows), difference)

    def ends(self, sides: Floats, roots: Floats, farthest: float = np.inf) -> Floats:
        """Differences below (−1) or above (+1) the estimate with these root deviances, shape (Q,).

        Those beyond ±`farthest` need not be found: it, or one beyond, stands for them.
        """
        rows = np.zeros(roots.size, dtype=np.intp)
        search, origin = _make_equations(
            self.first, self.second, (rows, rows), sides * roots, by_root=True
        )
        end_differences = search.solved()[1] + origin
        is_lost = (
            np.isnan(end_differences)
            | ~(roots**2 < _deviance_at_edge(self.first, self.second, (rows, rows)))
        ) & (roots > 0)
        if is_lost.any():
            end_differences[is_lost] = self._search_ends(
                sides[is_lost], roots[is_lost], end_differences[is_lost], farthest
            )
        return np.where(roots > 0, end_differences, self.estimate)

    def _search_ends(self, sides: Floats, roots: Floats, guess: Floats, farthest: float) -> Floats:
        """`ends` by a bracketed search on the deviance, from a guess or NaN."""
        step = 0.2 * float(np.hypot(self.first.unit[0], self.second.unit[0]))
        centre = np.full(roots.size, self.estimate)
        start = np.where(np.isnan(guess), step * sides, (guess - centre) / roots)
        far_differences = centre + 1e3 * step * sides
        if not np.isfinite(farthest):
            chosen = np.arange(roots.size)
        else:
            far_differences = np.where(
                sides < 0,
                np.maximum(far_differences, -farthest),
                np.minimum(far_differences, farthest),
            )
            # one look says which ends lie beyond
            chosen = np.flatnonzero(~(self.deviance(far_differences) < roots**2))
        end_differences = far_differences.copy()
        search_arguments = centre[chosen], start[chosen], roots[chosen] ** 2
        end_differences[chosen] = find_crossings(
            lambda _, at: self._at(at),
            *search_arguments,
            limit=far_differences[chosen],
            tolerance=1e-6,
            max_iterations=25,
        )
        return end_differences


def _find_deviances(
    first: _Side,
    second: _Side,
    rows: tuple[Rows, Rows],
    difference: Floats,
) -> tuple[Floats, Floats]:
    """Twice the fall of the log-likelihood at the differences, for these samples of the sides.

    Its slope.
    """
    search, _ = _make_equations(first, second, rows, difference)
    deviances, _, multiplier = search.solved(farthest=_FAR_OFF, patient=False)
    lost_rows = np.flatnonzero(~(deviances < _deviance_at_edge(first, second, rows)))
    if lost_rows.size:
        searched_deviances, slope = _search_levels(
            first, second, rows, difference, search, lost_rows
        )
        is_lower = ~(deviances[lost_rows] <= searched_deviances)
        deviances[lost_rows[is_lower]] = searched_deviances[is_lower]
        multiplier[lost_rows[is_lower]] = slope[is_lower]
    return np.maximum(deviances, 0.0), 2.0 * multiplier


def _deviance_at_edge(first: _Side, second: _Side, rows: tuple[Rows, Rows]) -> Floats:
    """Least deviance with the shape of either side at its edge, −1, where profiles are not
    smooth.
    """
    (a, at_a), (b, at_b) = zip((first.standard, second.standard), rows, strict=True)
    return 2.0 * np.minimum((a.boundary() - a.minimum())[at_a], (b.boundary() - b.minimum())[at_b])


def _make_equations(
    first: _Side,
    second: _Side,
    rows: tuple[Rows, Rows],
    targets: Floats,
    *,
    by_root: bool = False,
) -> tuple[Lagrange, Floats]:
    """The equations for these differences or, `by_root`, roots of deviances.

    The difference of the thresholds.
    """
    a, b = rows
    charts = (first.chart(a), second.chart(b))
    units = (first.unit[a], -second.unit[b])
    lowest = first.standard.minimum()[a] + second.standard.minimum()[b]
    origin = first.origin[a] - second.origin[b]
    return Lagrange(
        charts, units, lowest, targets if by_root else targets - origin, by_root=by_root
    ), origin


def _make_side(fit: FittedTail, m: float) -> _Side:
    likelihood = fit._profile_likelihood()
    standard = likelihood.standard
    if not isinstance(standard, GpdLikelihood):
        raise TypeError("return levels are compared above thresholds")
    return _Side(
        standard=standard,
        origin=np.array([fit.origin]),
        log_period=float(np.log(m)),
        likelihood=likelihood,
    )


def _search_levels(
    first: _Side,
    second: _Side,
    rows: tuple[Rows, Rows],
    difference: Floats,
    search: Lagrange,
    chosen: Rows,
) -> tuple[Floats, Floats]:
    """Least falls twice, and multipliers, by grids of the second side's level.

    Valleys and kinks do no harm.

    The minimum lies between the two estimates. Grids grow finer until Newton's method settles from
    their lowest point: only where none next to it is at the edge.
    """
    ends = second.estimate()[rows[1]], first.estimate()[rows[0]] - difference
    low = np.minimum(*ends)[chosen, None]
    high = np.maximum(*ends)[chosen, None]
    centre = 0.5 * (low + high)
    width = 0.5 * (high - low)
    steps = np.linspace(-1.0, 1.0, _POINTS)
    deviances, multiplier = np.full((2, chosen.size), np.nan)
    active = np.arange(chosen.size)
    for _ in range(_ZOOMS):
        problems = chosen[active]
        first_points = _POINTS * np.arange(active.size)
        grid = np.clip(centre[active] + width[active] * steps, low[active], high[active])
        levels = (grid + difference[problems, None]).ravel(), grid.ravel()
        side_rows = [np.repeat(sample_rows[problems], _POINTS) for sample_rows in rows]
        of_first, of_second = (
            side.at(sample_rows, side_levels)
            for side, sample_rows, side_levels in zip(
                (first, second), side_rows, levels, strict=True
            )
        )
        total = of_first.value + of_second.value
        lowest_places = total.reshape(-1, _POINTS).argmin(axis=1)
        lowest_points = first_points + lowest_places
        deviances[active] = 2.0 * total[lowest_points]
        centre[active] = grid.ravel()[lowest_points][:, None]
        # the two cancel at the minimum; at its edge a profile has none
        multiplier[active] = np.where(
            np.isnan(of_first.slope[lowest_points]),
            -of_second.slope[lowest_points],
            of_first.slope[lowest_points],
        )
        neighbours = first_points[:, None] + np.clip(
            lowest_places[:, None] + [-1, 0, 1], 0, _POINTS - 1
        )
        smooth = np.isfinite(of_first.slope[neighbours] + of_second.slope[neighbours]).all(axis=1)
        smooth_points = lowest_points[smooth]
        sides = zip((first, second), side_rows, levels, (of_first, of_second), strict=True)
        points = []
        for side, sample_rows, side_levels, profile in sides:
            points.append(side.point(sample_rows, side_levels, profile, smooth_points))
        deviance, exact = search.polished(
            problems[smooth],
            points,
            0.5 * (of_first.slope[smooth_points] - of_second.slope[smooth_points]),
        )
        is_lower = deviance <= deviances[active[smooth]] * (1.0 + 1e-12)
        settled = active[smooth][is_lower]
        deviances[settled] = deviance[is_lower]
        multiplier[settled] = exact[is_lower]
        active = np.setdiff1d(active, settled)
        width = width * 2.2 / (_POINTS - 1)
        if not active.size:
            break
    return deviances, multiplier
