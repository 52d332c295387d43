"""The scale of a forest plot: range, ticks, and where a value lies, in percent of the width."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Axis", "Tick", "difference_axis", "distance_axis", "gap_axis", "ratio_axis"]

#: Width in pixels that tick labels are spaced for: the plot on a phone.
_NARROW = 310.0
_CHARACTER = 7.0
_PADDING = 0.05
_RATIO_STEPS = (2.0, 4.0, 8.0, 16.0)
_DIFFERENCE_STEPS = (0.2, 0.3, 0.4, 0.5, 0.75, 1.0)
_DISTANCE_STEPS = (*_DIFFERENCE_STEPS, 1.5, 2.0)
_ROUND = (0.5, 0.25, 0.3, 0.2)


@dataclass(frozen=True)
class Tick:
    """A tick: its value, its label, its place in percent."""

    value: float
    label: str
    place: float


@dataclass(frozen=True)
class Axis:
    """A linear or logarithmic scale from 0 to 100 percent.

    Attributes
    ----------
    low, high : float
        Ends, padding included.
    log : bool
    neutral : float
        Value of equality: 1 or 0.
    band : tuple of float
        Values between which a comparison passes.
    tick_values : tuple of float
        The more important first.
    signed : bool
        Whether tick labels carry a sign; never on a logarithmic scale.
    """

    low: float
    high: float
    log: bool
    neutral: float
    band: tuple[float, float]
    tick_values: tuple[float, ...]
    signed: bool = True

    @property
    def limits(self) -> tuple[float, ...]:
        """Ends of the band that are thresholds, not equality."""
        return tuple(v for v in self.band if v != self.neutral)

    def place(self, value: float) -> float:
        """Percent of the width, held within [0, 100]."""
        low, high = self.low, self.high
        if self.log:
            value = math.log(value) if value > 0 else -math.inf
            low, high = math.log(low), math.log(high)
        return float(min(max(100 * (value - low) / (high - low), 0.0), 100.0))

    def holds(self, value: float) -> bool:
        """Whether the value lies on the axis."""
        return self.low <= value <= self.high

    @property
    def ticks(self) -> list[Tick]:
        """Ticks whose labels do not collide on a phone, from left to right."""
        kept: list[Tick] = []
        for value in self.tick_values:
            if not self.holds(value):
                continue
            tick = Tick(value, _label(value, signed=self.signed and not self.log), self.place(value))
            if all(_apart(tick, other) for other in kept):
                kept.append(tick)
        return sorted(kept, key=lambda tick: tick.place)


def _label(value: float, *, signed: bool) -> str:
    text = f"{value:+.3g}" if signed and value else f"{value:.3g}"
    return text.replace("-", "−")


def _apart(tick: Tick, other: Tick) -> bool:
    distance = abs(tick.place - other.place) / 100 * _NARROW
    return distance >= (len(tick.label) + len(other.label)) / 2 * _CHARACTER + 3


def ratio_axis(estimates: Iterable[float], ends: Iterable[float], threshold: float) -> Axis:
    """Logarithmic scale that holds the ratios and most of the ends of their intervals.

    Parameters
    ----------
    estimates, ends : iterable of float
        NaN and infinity are passed over.
    threshold : float
        In (0, 1].
    """
    points = [v for v in estimates if math.isfinite(v) and v > 0]
    limits = [v for v in ends if math.isfinite(v) and v > 0]
    below = _step([1 / v for v in points], [1 / v for v in limits], _RATIO_STEPS)
    above = _step(points, limits, _RATIO_STEPS)
    below = max(below, min(1.25 / threshold, 32.0))
    padding = (below * above) ** _PADDING
    candidates = (1.0, threshold, 1 / below, above, 1 / threshold, 0.5, 2.0, 0.25, 4.0, 0.125, 8.0)
    return Axis(1 / below / padding, above * padding, True, 1.0, (threshold, 1 / threshold), candidates)


def difference_axis(estimates: Iterable[float], ends: Iterable[float], tolerance: float) -> Axis:
    """Linear scale, symmetric around 0."""
    points = [abs(v) for v in estimates if math.isfinite(v)]
    limits = [abs(v) for v in ends if math.isfinite(v)]
    reach = max(_step(points, limits, _DIFFERENCE_STEPS), min(1.5 * tolerance, 1.0))
    candidates = (0.0, -tolerance, tolerance, -reach, reach, *(s * v for v in _ROUND for s in (-1, 1)))
    width = reach * (1 + 2 * _PADDING)
    return Axis(-width, width, False, 0.0, (-tolerance, tolerance), candidates)


def gap_axis(estimates: Iterable[float], ends: Iterable[float], tolerance: float) -> Axis:
    """Linear scale from 0 to 1 at most, for sizes without sign."""
    return _axis_from_0(estimates, ends, tolerance, _DIFFERENCE_STEPS)


def distance_axis(estimates: Iterable[float], ends: Iterable[float], tolerance: float) -> Axis:
    """Linear scale from 0 to 2 at most, for distances between distributions."""
    return _axis_from_0(estimates, ends, tolerance, _DISTANCE_STEPS)


def _axis_from_0(
    estimates: Iterable[float], ends: Iterable[float], tolerance: float, steps: Sequence[float]
) -> Axis:
    points = [v for v in estimates if math.isfinite(v)]
    limits = [v for v in ends if math.isfinite(v)]
    reach = max(_step(points, limits, steps), min(1.5 * tolerance, steps[-1]))
    candidates = (0.0, tolerance, reach, *_ROUND)
    return Axis(
        -_PADDING * reach, reach * (1 + _PADDING), False, 0.0, (0.0, tolerance), candidates, signed=False
    )


def _step(points: Sequence[float], limits: Sequence[float], steps: Sequence[float]) -> float:
    """Least step that holds every point and nine tenths of the limits; the largest where none does."""
    wanted = max([*points, float(np.quantile(limits, 0.9)) if limits else 0.0, 0.0])
    return next((step for step in steps if wanted <= step), steps[-1])
