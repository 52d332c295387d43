"""What two groups' numbers are compared by: an estimate, statistics of any value, and limits.

All are standard normal numbers, so that one rule decides whatever the law behind them is.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import scipy

from fairstats.ground.multiplicity import normal_cdf, normal_quantile
from fairstats.numerics.means.hall import Moments, Statistics, hall_limits, hall_statistics

#: Beyond so many standard errors a limit is open, and a statistic says no more.
_LARGEST_Z = 30.0


class NumberContrast(Protocol):
    """A difference or ratio of the numbers of two groups."""

    @property
    def estimate(self) -> float:
        """The difference or ratio."""

    @property
    def std_error(self) -> float:
        """Its standard error."""

    def statistics(self, value: float) -> Statistics:
        """Of H0: the contrast has this value."""

    def limits(self, z: float) -> tuple[float, float]:
        """Both limits, each at the one-sided level Φ(z)."""


@dataclass(frozen=True)
class MeanDifference:
    """m₁ − m₀ by Welch's statistic, mended for skewness; (1 − share)·m₁ − m₀ against all."""

    group: Moments
    reference: Moments
    share: float = 0.0

    @property
    def estimate(self) -> float:
        """The difference of the means."""
        return float((1 - self.share) * self.group.mean - self.reference.mean)

    @property
    def std_error(self) -> float:
        """Root of the sum of both variances."""
        return math.sqrt((1 - self.share) ** 2 * self.group.variance + self.reference.variance)

    def statistics(self, value: float) -> Statistics:
        """Of H0: the difference has this value."""
        return hall_statistics(self.group, self.reference, difference=value, share=self.share)

    def limits(self, z: float) -> tuple[float, float]:
        """Both limits, each at the one-sided level Φ(z)."""
        low, high = hall_limits(self.group, self.reference, z, share=self.share)
        return float(low), float(high)


@dataclass(frozen=True)
class MeanRatio:
    """m₁/m₀ of numbers that are not negative, as Fieller does it: by the law of m₁ − θ·m₀.

    `root`: that of the square roots, √(m₁/m₀); `share`: of the group in the mean of all.
    """

    group: Moments
    reference: Moments
    share: float = 0.0
    root: bool = False

    @property
    def estimate(self) -> float:
        """The ratio of the means, or of their roots."""
        ratio = float(self.group.mean / (self.reference.mean + self.share * self.group.mean))
        return math.sqrt(ratio) if self.root else ratio

    @property
    def std_error(self) -> float:
        """By the delta method."""
        # m₁/(m₀ + f·m₁) has the derivatives m₀/D² and −m₁/D², D the denominator
        denominator = self.reference.mean + self.share * self.group.mean
        from_group = self.reference.mean**2 * self.group.variance
        from_reference = self.group.mean**2 * self.reference.variance
        std_error = math.sqrt(from_group + from_reference) / denominator**2
        return float(std_error / (2 * self.estimate) if self.root else std_error)

    def statistics(self, value: float) -> Statistics:
        """Of H0: the ratio has this value."""
        ratio = value**2 if self.root else value
        return hall_statistics(self.group, self.reference, ratio=ratio, share=self.share)

    def limits(self, z: float) -> tuple[float, float]:
        """Both limits, each at the one-sided level Φ(z); 0 and ∞ where the data exclude nothing."""
        largest = 1 / self.share if self.share else math.inf
        if self.root:
            largest = math.sqrt(largest)
        return _limits_of_ratio(self, z, largest)


def _limits_of_ratio(contrast: NumberContrast, z: float, largest: float) -> tuple[float, float]:
    """Where the statistics of a ratio, which is at most `largest`, are ±z."""
    estimate = contrast.estimate
    low = _find_crossing(lambda value: float(contrast.statistics(value).above) - z, estimate)
    high = _find_crossing(
        lambda value: -float(contrast.statistics(1 / value).below) - z, 1 / estimate
    )
    return (low, min(1 / high if high > 0 else math.inf, largest))


@dataclass(frozen=True)
class ExpectedRatio:
    """Σ ω·m₁ by what everybody's means make it expected to be, or the root of that.

    `value`, `error`: the ratio and its standard error; `of_ratio`: statistics of H0: the ratio has
    a value; `largest`: what it is at most.
    """

    value: float
    error: float
    of_ratio: Callable[[float], Statistics]
    largest: float
    root: bool = False

    @property
    def estimate(self) -> float:
        """The ratio, or its root."""
        return math.sqrt(self.value) if self.root else self.value

    @property
    def std_error(self) -> float:
        """By the delta method."""
        return self.error / (2 * self.estimate) if self.root else self.error

    def statistics(self, value: float) -> Statistics:
        """Of H0: the ratio has this value."""
        return self.of_ratio(value**2 if self.root else value)

    def limits(self, z: float) -> tuple[float, float]:
        """Both limits, each at the one-sided level Φ(z)."""
        return _limits_of_ratio(self, z, math.sqrt(self.largest) if self.root else self.largest)


def contrast_by_mover(
    value: Callable[[int], float],
    interval: Callable[[int, float], tuple[float, float]],
    pair: tuple[int, int],
    *,
    ratio: bool,
) -> MoverContrast:
    """Two groups by the limits of each; a ratio on the logarithmic scale.

    `value` and `interval`: of a group, the latter at Φ(z) each.
    """

    def limits_of(position: int, z: float) -> tuple[float, float]:
        low, high = interval(position, z)
        if not ratio:
            return low, high
        log_low = math.log(low) if low > 0 else -math.inf
        return log_low, math.log(high)

    group, reference = pair
    values = (value(group), value(reference))
    if ratio:
        values = (math.log(values[0]), math.log(values[1]))
    return MoverContrast(
        values, lambda z: limits_of(group, z), lambda z: limits_of(reference, z), logarithms=ratio
    )


def _find_crossing(function: Callable[[float], float], start: float) -> float:
    """Where a function that falls crosses 0 below a start where it is not above; 0 if nowhere."""
    high = start
    for _ in range(60):
        low = high / 2
        if function(low) > 0:
            return float(scipy.optimize.brentq(function, low, high, xtol=1e-15, rtol=1e-13))
        high = low
    return 0.0


@dataclass(frozen=True)
class MoverContrast:
    """The difference of two estimates from the limits of each (MOVER; Zou, Donner 2008).

    With estimates e and limits l, u of both groups: e₁ − e₀ − √((e₁ − l₁)² + (u₀ − e₀)²), and
    e₁ − e₀ + √((u₁ − e₁)² + (e₀ − l₀)²). `of_group`, `of_reference`: limits at Φ(z); `logarithms`:
    estimates and limits are logarithms, and the contrast is the ratio.
    """

    estimates: tuple[float, float]
    of_group: Callable[[float], tuple[float, float]]
    of_reference: Callable[[float], tuple[float, float]]
    logarithms: bool = False

    @property
    def estimate(self) -> float:
        """The difference, or the ratio."""
        difference = self.estimates[0] - self.estimates[1]
        return math.exp(difference) if self.logarithms else difference

    @property
    def std_error(self) -> float:
        """Half the width of the limits at one standard error."""
        low, high = self.limits(1.0)
        return (high - low) / 2

    def statistics(self, value: float) -> Statistics:
        """Of H0: the contrast has this value: the z at which a limit lies there."""
        if self.logarithms:
            value = math.log(value)
        distance = self.estimates[0] - self.estimates[1] - value
        if distance == 0:
            return Statistics(above=0.0, below=0.0, plain=0.0)
        side = 0 if distance > 0 else 1
        towards = math.copysign(1.0, distance)

        @functools.cache  # asked again for the ends of the search
        def reach(z: float) -> float:
            gap = towards * (self._limits_of_difference(z)[side] - value)
            return max(gap, -1.0 - abs(distance))  # an open limit is as good as any beyond

        # limits of quantiles are open from some z on: there it ends at the last that is not
        size = _LARGEST_Z
        if reach(0.0) <= 0:
            # a quantile between two order statistics is not the limit at one half
            size = 0.0
        elif reach(size) <= 0:
            size = float(scipy.optimize.brentq(reach, 0.0, _LARGEST_Z, xtol=1e-12, rtol=1e-12))
        z = towards * size
        return Statistics(above=z, below=z, plain=z)

    def limits(self, z: float) -> tuple[float, float]:
        """Both limits, each at the one-sided level Φ(z)."""
        low, high = self._limits_of_difference(z)
        if self.logarithms:
            return math.exp(low), math.exp(high) if high < math.log(1e300) else math.inf
        return low, high

    def _limits_of_difference(self, z: float) -> tuple[float, float]:
        group, reference = self.estimates
        group_low, group_high = self.of_group(z)
        reference_low, reference_high = self.of_reference(z)
        difference = group - reference
        # near z = 0 limits of a quantile may lie on the other side of it: no distance then
        below = (max(group - group_low, 0.0), max(reference_high - reference, 0.0))
        above = (max(group_high - group, 0.0), max(reference - reference_low, 0.0))
        return difference - math.hypot(*below), difference + math.hypot(*above)


@dataclass(frozen=True)
class PartContrast(MoverContrast):
    """The value of a group less that of all rows, or their ratio, by MOVER.

    Limits of either count by the share of its variance that the difference has from it; `error`:
    the standard error.
    """

    error: float = math.nan

    @property
    def std_error(self) -> float:
        """From what the rows of the group, and all others, add to both values."""
        return self.error * self.estimate if self.logarithms else self.error


@dataclass(frozen=True)
class CentredContrast(MoverContrast):
    """The difference of two biased estimates that are not below 0: by MOVER, about less bias.

    `estimates`: with less bias, for one that lies above all that is likely would take most of its
    own limit's distance; `biased`: the estimates themselves. Where a lower limit is 0 its distance
    is no noise that may be added in squares: then the one's limit less the other's counts.
    """

    biased: tuple[float, float] = (math.nan, math.nan)

    @property
    def estimate(self) -> float:
        """The difference of the estimates themselves."""
        return self.biased[0] - self.biased[1]

    def _limits_of_difference(self, z: float) -> tuple[float, float]:
        low, high = super()._limits_of_difference(z)
        group_low, group_high = self.of_group(z)
        reference_low, reference_high = self.of_reference(z)
        if group_low <= 0:
            low = min(low, group_low - reference_high)
        if reference_low <= 0:
            high = max(high, group_high - reference_low)
        return low, high


@dataclass(frozen=True)
class LimitContrast(MoverContrast):
    """The difference of two values by the one's limit less the other's, each with half the error.

    It holds wherever both limits do, whatever their law.
    """

    def _limits_of_difference(self, z: float) -> tuple[float, float]:
        z_of_side = -normal_quantile(normal_cdf(-z) / 2)
        group_low, group_high = self.of_group(z_of_side)
        reference_low, reference_high = self.of_reference(z_of_side)
        return group_low - reference_high, group_high - reference_low
