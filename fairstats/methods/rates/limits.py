"""Ways to the limits of one pair of rates: each is an interval and the statistic that it inverts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy

from fairstats.ground.multiplicity import normal_quantile
from fairstats.methods.rates.score import (
    Contrast,
    Table,
    difference_limit,
    difference_statistic,
    ratio_limit,
    ratio_statistic,
)

#: Largest statistic that is looked for.
_FAR = 30.0


class PairMethod(Protocol):
    """What every method offers."""

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """Two-sided interval."""

    def statistic(self, null: float) -> float:
        """Statistic z of H0: θ = null, positive where the estimate lies above."""


@dataclass(frozen=True)
class _ByCritical(ABC):
    """A method whose interval follows from a critical value of the normal or t."""

    degrees_of_freedom: float

    @abstractmethod
    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value."""

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """Two-sided interval."""
        return self.limits(normal_quantile((1 + confidence_level) / 2, self.degrees_of_freedom))


@dataclass(frozen=True)
class Wald(_ByCritical):
    """θ̂ ± z·s (for the ratio: Theorem 3.1 of Besse et al.)."""

    estimate: float
    std_error: float

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value."""
        return self.estimate - critical * self.std_error, self.estimate + critical * self.std_error

    def statistic(self, null: float) -> float:
        """(θ̂ − null)/s."""
        distance = self.estimate - null
        if distance == 0:
            return 0.0
        return distance / self.std_error if self.std_error > 0 else float(np.copysign(np.inf, distance))


@dataclass(frozen=True)
class LogRatio(_ByCritical):
    """θ̂·exp(±z·s) with s the standard error of log θ̂."""

    estimate: float
    std_error: float

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value."""
        reach = float(np.exp(self.std_error * critical))
        return self.estimate / reach, self.estimate * reach

    def statistic(self, null: float) -> float:
        """log(θ̂/null)/s."""
        return float(np.log(self.estimate / null)) / self.std_error


@dataclass(frozen=True)
class Fieller(_ByCritical):
    """All θ ≥ 0 with |a − θb| ≤ z·√(v₁ + θ²v₀): a ratio of independent values a, b > 0 (Fieller 1954).

    Of a reference that may be zero (b ≤ z·√v₀) there is no upper end.
    """

    values: tuple[float, float]
    variances: tuple[float, float]

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value."""
        (a, b), (v, w) = self.values, (critical**2 * variance for variance in self.variances)
        # roots of (b² − w)θ² − 2abθ + (a² − v), of which the discriminant is never negative where b² > w
        square, last, middle = b**2 - w, a**2 - v, a * b
        root = math.sqrt(max(middle**2 - square * last, 0.0))
        low = last / (middle + root) if last > 0 else 0.0
        return low, (middle + root) / square if square > 0 else math.inf

    def statistic(self, null: float) -> float:
        """(a − θb)/√(v₁ + θ²v₀)."""
        (a, b), (v, w) = self.values, self.variances
        return (a - null * b) / math.sqrt(v + null**2 * w)


@dataclass(frozen=True)
class Widest(_ByCritical):
    """What neither of two methods rejects."""

    both: tuple[Wald | LogRatio | Fieller, Wald | LogRatio | Fieller]

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value."""
        lows, highs = zip(*(each.limits(critical) for each in self.both), strict=True)
        return min(lows), max(highs)

    def statistic(self, null: float) -> float:
        """The smaller one; 0 where they lie on different sides."""
        low, high = sorted(each.statistic(null) for each in self.both)
        return low if low > 0 else min(high, 0.0)


@dataclass(frozen=True)
class Score(_ByCritical):
    """All θ that the score test does not reject.

    `correction` is the factor N/(N−1); `continuity` takes (1/n₀ + 1/n₁)/2 off the distance from the estimate (of ratios
    (1/n₀ + θ/n₁)/2). `scale` multiplies the statistic where the estimate lies above and below the null: of groups that
    share clusters the standard error if they were independent over their own, and `shrinkage`.
    """

    table: Table
    contrast: Contrast
    correction: bool
    continuity: bool = False
    scale: tuple[float, float] = (1.0, 1.0)

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends of {θ : |z(θ)| ≤ critical}."""
        return self.limit(critical, -1), self.limit(critical, 1)

    def limit(self, critical: float, side: int) -> float:
        """The lower (side −1) or the upper end (side 1)."""
        critical /= self.scale[side > 0]
        if self.contrast == "ratio":
            return ratio_limit(self.table, critical, self.correction, side, self.continuity)
        return difference_limit(self.table, critical, self.correction, self.continuity, side)

    def statistic(self, null: float) -> float:
        """Score statistic."""
        if self.contrast == "ratio":
            z = ratio_statistic(self.table, null, self.correction, self.continuity)
        else:
            z = difference_statistic(self.table, null, self.correction, self.continuity)
        return self.scale[z < 0] * z


@dataclass(frozen=True)
class Mover(_ByCritical):
    """Mean of two differences from their own score intervals (MOVER; Zou & Donner 2008).

    With halves d_m/2 and limits l_m, u_m of each: low = Σd_m/2 − √Σ((d_m − l_m)/2)², high likewise. For
    independent parts; never of zero width in small samples.
    """

    parts: tuple[tuple[float, Score], tuple[float, Score]]

    @property
    def estimate(self) -> float:
        """Mean of the differences."""
        return sum(difference for difference, _ in self.parts) / len(self.parts)

    def limits(self, critical: float) -> tuple[float, float]:
        """Ends at a critical value of the score statistics."""
        low, high = (self.estimate + side * self._width(critical, side) for side in (-1, 1))
        return max(low, -1.0), min(high, 1.0)

    def _width(self, critical: float, side: int) -> float:
        """How far the lower (side −1) or upper end (side 1) lies from the estimate."""
        squares = ((score.limit(critical, side) - difference) ** 2 for difference, score in self.parts)
        return math.sqrt(sum(squares)) / 2

    def statistic(self, null: float) -> float:
        """Value of z at which the interval ends at `null`, at most 30 in size.

        There both parts have the same z, at distances x and √(size² − x²) from their differences: the x is
        looked for, as each limit is itself the root of a search.
        """
        distance = self.estimate - null
        if abs(distance) < 1e-12:
            return 0.0
        size, side = 2 * abs(distance), -1 if distance > 0 else 1
        most = [1 - side * difference for difference, _ in self.parts]
        if most[0] ** 2 + most[1] ** 2 < size**2:
            return float(np.copysign(_FAR, distance))

        def z(x: float) -> tuple[float, float]:
            far = x, max(size**2 - x**2, 0.0) ** 0.5
            ends = (side * min(reach, room) for reach, room in zip(far, most, strict=True))
            of_both = zip(self.parts, ends, strict=True)
            first, second = (min(abs(s.statistic(d + end)), _FAR) for (d, s), end in of_both)
            return first, second

        def excess(x: float) -> float:
            first, second = z(x)
            return first - second

        low, high = max(size**2 - most[1] ** 2, 0.0) ** 0.5, min(size, most[0])
        if excess(low) >= 0:  # the second limit is at its end
            return float(np.copysign(z(low)[0], distance))
        if excess(high) <= 0:
            return float(np.copysign(z(high)[1], distance))
        return float(np.copysign(max(z(scipy.optimize.brentq(excess, low, high, xtol=1e-16))), distance))
