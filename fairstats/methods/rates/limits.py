"""Ways to the limits of one pair of rates: each is an interval and the statistic that it inverts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import scipy
from scipy.special import ndtr, ndtri

from fairstats.ground.checks import Floats
from fairstats.ground.multiplicity import normal_quantile
from fairstats.numerics.rates import score
from fairstats.numerics.rates.score import Contrast, Table

#: Largest statistic that is looked for.
_FAR = 30.0


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
        return distance / self.std_error if self.std_error > 0 else math.copysign(math.inf, distance)


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

    `correction`, `continuity`: as in `score`; `scale` multiplies the statistic where the estimate lies above and below
    the null: of groups that share clusters the standard error if they were independent over their own.
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
        limit = score.ratio_limit if self.contrast == "ratio" else score.difference_limit
        return limit(self.table, critical, self.correction, side=side, continuity=self.continuity)

    def statistic(self, null: float) -> float:
        """Score statistic."""
        statistic = score.ratio_statistic if self.contrast == "ratio" else score.difference_statistic
        z = statistic(self.table, null, self.correction, self.continuity)
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
        below, above = (math.hypot(*(s.limit(critical, side) - d for d, s in self.parts)) / 2 for side in (-1, 1))
        return max(self.estimate - below, -1.0), min(self.estimate + above, 1.0)

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
            return math.copysign(_FAR, distance)

        def z(x: float) -> tuple[float, float]:
            far = zip(self.parts, (x, max(size**2 - x**2, 0.0) ** 0.5), most, strict=True)
            first, second = (min(abs(s.statistic(d + side * min(reach, room))), _FAR) for (d, s), reach, room in far)
            return first, second

        def excess(x: float) -> float:
            first, second = z(x)
            return first - second

        x, last = max(size**2 - most[1] ** 2, 0.0) ** 0.5, min(size, most[0])
        if excess(x) < 0:  # else the second limit is at its end
            x = last if excess(last) <= 0 else scipy.optimize.brentq(excess, x, last, xtol=1e-16)
        return math.copysign(max(z(x)), distance)


@dataclass(frozen=True, eq=False)
class BcaDistribution:
    """BCa bootstrap (Efron 1987): sorted replicates with bias correction z₀ and acceleration a.

    The four cells (successes and failures of both groups) are resampled as one multinomial, which is what
    resampling rows does; the jackknife has only four distinct values and is closed.
    """

    replicates: Floats
    bias: float
    acceleration: float

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """BCa interval."""
        tail = (1 - confidence_level) / 2
        shifted = self.bias + ndtri([tail, 1 - tail])
        ends = ndtr(self.bias + shifted / (1 - self.acceleration * shifted))
        with np.errstate(invalid="ignore"):  # between a finite and an infinite replicate
            smooth = np.quantile(self.replicates, ends, method="median_unbiased")
        steps = np.quantile(self.replicates, ends, method="inverted_cdf")
        low, high = np.where(np.isfinite(smooth), smooth, steps).tolist()
        return low, high

    def statistic(self, null: float) -> float:
        """Statistic z of H0: θ = null: the critical value at which `null` is an end of the interval.

        Where replicates are tied the share below `null` is a range: the end nearer to the middle counts, so
        that the interval excludes `null` exactly when |z| is beyond the critical value.
        """
        n = self.replicates.size
        finite = self.replicates[np.isfinite(self.replicates)]
        if null > finite[-1]:  # beyond it the quantile jumps to infinity
            shares = (finite.size / n,) * 2
        elif null <= finite[0]:
            shares = (0.0, self._share(finite, null, "right") if null == finite[0] else (1 - 1 / 3) / (n + 1 / 3))
        else:
            shares = self._share(finite, null, "left"), self._share(finite, null, "right")
        shifted = ndtri(np.clip(shares, 0.5 / n, 1 - 0.5 / n)) - self.bias
        high, low = self.bias - shifted / (1 + self.acceleration * shifted)
        return float(low) if low > 0 else float(min(high, 0.0))

    def _share(self, finite: Floats, null: float, side: Literal["left", "right"]) -> float:
        """Where the median-unbiased quantile function passes `null`: its first place, or its last."""
        n, k = self.replicates.size, int(np.searchsorted(finite, null, side))
        if k == finite.size:  # up to the largest finite one; the next, infinite one is a jump
            return k / n if k < n else (k - 1 / 3) / (n + 1 / 3)
        low, high = finite[k - 1], finite[k]
        return float((k - 1 / 3 + (null - low) / (high - low)) / (n + 1 / 3))


#: Each offers a two-sided interval at a confidence level, and the statistic z of H0: θ = null that it inverts.
PairMethod: TypeAlias = Wald | LogRatio | Fieller | Widest | Score | Mover | BcaDistribution


def bca_distribution(
    k0: float, n0: float, k1: float, n1: float, *, contrast: Contrast, n_resamples: int, rng: np.random.Generator
) -> BcaDistribution:
    """Bootstrap distribution of r₀/r₁ or r₀ − r₁, from successes and cases of both; no cell may be 0."""
    cells = np.array([k0, n0 - k0, k1, n1 - k1])
    estimate = float(contrast_of(cells, contrast))
    draws = rng.multinomial(int(cells.sum()), cells / cells.sum(), size=n_resamples).astype(np.float64)
    replicates = np.sort(contrast_of(draws, contrast))
    replicates = replicates[~np.isnan(replicates)]
    share = (np.sum(replicates < estimate) + 0.5 * np.sum(replicates == estimate)) / replicates.size
    bias = float(ndtri(np.clip(share, 0.5 / replicates.size, 1 - 0.5 / replicates.size)))
    # the acceleration: skewness of the jackknife values over 6; of the influence values where it has no ratio
    left_out = contrast_of(cells - np.eye(4), contrast)
    if np.isfinite(left_out).all():
        deviation = np.average(left_out, weights=cells) - left_out
    else:
        k, n = cells[::2], cells[::2] + cells[1::2]
        deviation = (np.stack([1 / k - 1 / n, -1 / n]) * [1, -1]).T.ravel()
    acceleration = float((cells @ deviation**3) / (6 * (cells @ deviation**2) ** 1.5))
    return BcaDistribution(replicates, bias, acceleration)


def contrast_of(cells: Floats, contrast: Contrast) -> Floats:
    """Ratio or difference of the rates, of successes and failures of both groups, shape (…, 4)."""
    k0, f0, k1, f1 = np.moveaxis(cells, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        r0, r1 = k0 / (k0 + f0), k1 / (k1 + f1)
        return np.asarray(r0 / r1 if contrast == "ratio" else r0 - r1)
