"""The likelihood ratio of a difference between two groups' return levels.

With D_a(r) and D_b(r) the deviances of each group's return level of m observations (everything else profiled:
rate, scale, shape), the deviance of the difference δ is min over r of D_a(r + δ) + D_b(r). Its χ² quantile
gives the interval of δ, its value at 0 the test of equal levels, and samples from the model with equal levels
the law of that value where the χ² law is too short.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairstats.numerics.evt.distributions import random_excesses
from fairstats.numerics.evt.gpd import GpdSamples
from fairstats.numerics.evt.gpd_surface import GpdSurface
from fairstats.numerics.evt.profile import level_profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.interpolate import CubicSpline

    from fairstats.numerics.evt.gpd_surface import RateTerm
    from fairstats.numerics.evt.result import EvtFit
    from fairstats.numerics.evt.tail_likelihood import TailLikelihood

    Floats = NDArray[np.float64]

__all__ = ["LevelContrast"]

_STEPS = 60
#: Points on each side of the estimate that a level is interpolated between.
_NODES = 24
_TOLERANCE = 1e-10
#: Fewer excesses than this make a simulated sample useless.
_LEAST = 5


@dataclass(frozen=True)
class _Side:
    """One group in Q problems: the likelihood of its return level, in the units of the data.

    `surface` holds one sample for each problem, or one for all of them, and `origin` their thresholds;
    `likelihood` is that of the data.
    """

    surface: GpdSurface
    origin: Floats
    log_period: float
    likelihood: TailLikelihood

    @property
    def unit(self) -> Floats:
        return self.surface.samples.unit

    def estimate(self) -> Floats:
        """Return level at the maximum of each sample, shape (P,)."""
        s = self.log_period + self.surface.log_rate
        theta, nu = self.surface.theta, self.surface.nu
        flat = np.abs(theta) < 1e-12
        safe = np.where(flat, 1.0, theta)
        grown = np.where(flat, s / nu, np.expm1(s * theta / nu) / safe)
        return np.asarray(self.origin + self.unit * grown)

    def at(self, rows: NDArray[np.intp], levels: Floats) -> tuple[Floats, Floats]:
        """Fall of the profile log-likelihood at the levels, and its slope; shape (Q,)."""
        unit = self.unit[rows]
        d = (levels - self.origin[rows]) / unit
        offset = np.full(d.size, self.log_period)
        points = level_profile(self.surface, rows, d, offset)
        slope = points.slope
        edge = np.flatnonzero(~np.isfinite(slope))
        if edge.size:  # ξ = −1: the profile has a kink there, and no slope of its own
            step = 1e-6 * (1.0 + np.abs(d[edge]))
            after, before = (
                level_profile(self.surface, rows[edge], d[edge] + side * step, offset[edge]).value
                for side in (1.0, -1.0)
            )
            slope = slope.copy()
            slope[edge] = (after - before) / (2.0 * step)
        return points.value - self.surface.minimum()[rows], slope / unit

    def by_root(self, target: float) -> CubicSpline:
        """Level as a function of the signed root of its deviance, up to ± the root of `target`."""
        from scipy.interpolate import CubicSpline

        low, high = (
            float(end[0])
            for end in self.likelihood.level_interval(np.array([self.log_period]), np.array([target]))
        )
        centre = float(self.estimate()[0])
        share = np.linspace(-1.0, 1.0, 2 * _NODES + 1)
        levels = centre + np.abs(share) * np.where(share < 0, low - centre, high - centre)
        fall, _ = self.at(np.zeros(levels.size, dtype=np.intp), levels)
        roots = np.sign(share) * np.sqrt(np.maximum(2.0 * fall, 0.0))
        roots[_NODES] = 0.0
        rising = np.concatenate([[True], roots[1:] > np.maximum.accumulate(roots)[:-1]])
        return CubicSpline(roots[rising], levels[rising])

    def parameters_at(self, level: float) -> tuple[float, float, float]:
        """Rate, scale and shape that are most likely when the return level is `level`."""
        rows = np.zeros(1, dtype=np.intp)
        d = (level - self.origin) / self.unit
        points = level_profile(self.surface, rows, d, np.array([self.log_period]))
        theta, nu = float(points.theta[0]), float(points.nu[0])
        stretched = float(np.log1p(theta * d[0]) / theta) if abs(theta) > 1e-12 else float(d[0])
        rate = float(np.exp(nu * stretched - self.log_period))
        return min(rate, 1.0), float(self.unit[0]) / nu, theta / nu


@dataclass(frozen=True)
class LevelContrast:
    """Difference of the return levels of two groups, for one number m of observations.

    Attributes
    ----------
    first, second : _Side
        The difference is first − second.
    """

    first: _Side
    second: _Side

    @classmethod
    def of(cls, first: EvtFit, second: EvtFit, m: float) -> LevelContrast:
        """Contrast of two fits above thresholds, by maximum likelihood.

        Parameters
        ----------
        first, second : EvtFit
        m : float
            Observations, the same for both.
        """
        return cls(_side(first, m), _side(second, m))

    @property
    def estimate(self) -> float:
        """Difference of the return levels at the maximum."""
        return float(self.first.estimate()[0] - self.second.estimate()[0])

    def deviance(self, difference: Floats) -> Floats:
        """Twice the fall of the log-likelihood at the differences, shape (Q,)."""
        return _deviance(self.first, self.second, difference)[0]

    def interval(self, target: float) -> tuple[float, float]:
        """Differences whose deviance is at most `target`."""
        return self.intervals([target])[0]

    def intervals(self, targets: Sequence[float]) -> list[tuple[float, float]]:
        """The same for several targets at once, which costs little more than one.

        At an end the two groups share the deviance as target·sin²φ and target·cos²φ, with the φ that takes
        the difference furthest. Each group's level as a function of its signed root deviance is smooth and is
        interpolated; secant steps with the deviance itself make the ends exact.
        """
        first, second = (side.by_root(max(targets)) for side in (self.first, self.second))
        roots = np.repeat(np.sqrt(targets), 2)
        sides = np.tile([-1.0, 1.0], len(targets))
        outermost = np.array([_outermost(first, second, s, r) for s, r in zip(sides, roots, strict=True)])
        found, slope = outermost.T
        active = np.arange(found.size)
        for _ in range(3):
            miss = np.sqrt(self.deviance(found[active])) - roots[active]
            active, miss = (v[np.abs(miss) >= 1e-9 * roots[active]] for v in (active, miss))
            if not active.size:
                break
            found[active] -= slope[active] * miss
        return [(float(low), float(high)) for low, high in found.reshape(-1, 2)]

    def simulated_deviances(self, replicates: int, rng: np.random.Generator) -> Floats:
        """Deviances of difference 0 in samples from the most likely model with equal levels.

        Parameters
        ----------
        replicates : int
        rng : Generator

        Returns
        -------
        ndarray of float, shape (replicates,)
        """
        common = float(_deviance(self.first, self.second, np.zeros(1))[1][0])
        first, second = (_simulated(side, common, replicates, rng) for side in (self.first, self.second))
        return _deviance(first, second, np.zeros(replicates))[0]


def _outermost(first: CubicSpline, second: CubicSpline, side: float, root: float) -> tuple[float, float]:
    """Furthest difference within a root deviance, by the interpolated levels; and its slope in the root."""
    from scipy.optimize import minimize_scalar

    def reached(phi: float, size: float = root) -> float:
        return float(first(side * size * np.sin(phi)) - second(-side * size * np.cos(phi)))

    grid = np.linspace(0.0, 0.5 * np.pi, 25)
    over_grid = first(side * root * np.sin(grid)) - second(-side * root * np.cos(grid))
    best = grid[int(np.argmax(side * over_grid))]
    step = float(grid[1])
    phi = float(
        minimize_scalar(
            lambda phi: -side * reached(phi),
            bounds=(max(best - step, 0.0), min(best + step, 0.5 * np.pi)),
            method="bounded",
            options={"xatol": 1e-9},
        ).x
    )
    found = reached(phi)
    return found, (found - reached(phi, 0.999 * root)) / (0.001 * root)


def _side(fit: EvtFit, m: float) -> _Side:
    likelihood = fit.likelihood()
    surface = likelihood.surface
    if not isinstance(surface, GpdSurface):
        raise TypeError("return levels are compared above thresholds")
    return _Side(surface, np.array([fit.origin]), float(np.log(m)), likelihood)


def _deviance(first: _Side, second: _Side, difference: Floats) -> tuple[Floats, Floats]:
    """Deviance of each difference, and the second side's level at its minimum.

    The minimum lies between the two estimates, where one deviance falls and the other rises: a root of the
    sum of the slopes, found by regula falsi (Illinois) with bisection.
    """
    count = difference.size
    rows_1, rows_2 = (_rows(side, count) for side in (first, second))
    ends = second.estimate()[rows_2], first.estimate()[rows_1] - difference
    low, high = np.minimum(*ends), np.maximum(*ends)

    def slopes(which: NDArray[np.intp], level: Floats) -> tuple[Floats, Floats]:
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
        open_ = np.abs(s) * (high[active] - low[active]) > _TOLERANCE * (1.0 + value[active])
        active = active[open_ & (s != 0)]
    return np.maximum(2.0 * value, 0.0), best


def _rows(side: _Side, count: int) -> NDArray[np.intp]:
    return np.arange(count) if side.unit.size == count else np.zeros(count, dtype=np.intp)


def _simulated(side: _Side, level: float, replicates: int, rng: np.random.Generator) -> _Side:
    """New samples from the most likely model whose return level is `level`."""
    rate, scale, shape = side.parameters_at(level)
    total = float(side.surface.total[0])
    law: RateTerm = side.surface.rate_term
    if law == "fixed":
        n = np.full(replicates, float(side.surface.n[0]))
    else:
        drawn = rng.poisson(total * rate, replicates) if law == "poisson" else None
        n = np.asarray(rng.binomial(int(total), rate, replicates) if drawn is None else drawn, dtype=float)
    n = np.maximum(n, _LEAST)
    excesses = random_excesses(rng, (replicates, int(n.max())), scale, shape)
    excesses[np.arange(excesses.shape[1]) >= n[:, None]] = 0.0
    surface = GpdSurface.from_samples(GpdSamples.from_excesses(excesses, n), np.full(replicates, total), law)
    return _Side(surface, np.full(replicates, side.origin[0]), side.log_period, side.likelihood)
