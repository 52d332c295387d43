"""The scale of a forest plot: range, ticks, and where a value lies, in percent of the width."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

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

    `low`, `high`: ends, padding included; `neutral`: value of equality: 1 or 0; `band`: values between which
    a comparison passes; `tick_values`: the more important first; `signed`: whether tick labels carry a sign;
    never on a logarithmic scale.
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
    """Logarithmic scale that holds the ratios and most of the ends of their intervals."""
    points = [v for v in estimates if math.isfinite(v) and v > 0]
    limits = [v for v in ends if math.isfinite(v) and v > 0]
    below = _step([1 / v for v in points], [1 / v for v in limits], _RATIO_STEPS)
    above = _step(points, limits, _RATIO_STEPS)
    below = max(below, min(1.25 / threshold, 32.0))
    padding = (below * above) ** _PADDING
    candidates = (1.0, threshold, 1 / below, above, 1 / threshold, 0.5, 2.0, 0.25, 4.0, 0.125, 8.0)
    return Axis(1 / below / padding, above * padding, True, 1.0, (threshold, 1 / threshold), candidates)


def difference_axis(estimates: Iterable[float], ends: Iterable[float], margin: float) -> Axis:
    """Linear scale, symmetric around 0."""
    points = [abs(v) for v in estimates if math.isfinite(v)]
    limits = [abs(v) for v in ends if math.isfinite(v)]
    reach = max(_step(points, limits, _DIFFERENCE_STEPS), min(1.5 * margin, 1.0))
    candidates = (0.0, -margin, margin, -reach, reach, *(s * v for v in _ROUND for s in (-1, 1)))
    width = reach * (1 + 2 * _PADDING)
    return Axis(-width, width, False, 0.0, (-margin, margin), candidates)


def gap_axis(
    estimates: Iterable[float],
    ends: Iterable[float],
    margin: float,
    *,
    steps: Sequence[float] = _DIFFERENCE_STEPS,
) -> Axis:
    """Linear scale from 0 to the last of `steps` at most, for sizes without sign and distances."""
    points = [v for v in estimates if math.isfinite(v)]
    limits = [v for v in ends if math.isfinite(v)]
    reach = max(_step(points, limits, steps), min(1.5 * margin, steps[-1]))
    candidates = (0.0, margin, reach, *_ROUND)
    low, high = -_PADDING * reach, reach * (1 + _PADDING)
    return Axis(low, high, False, 0.0, (0.0, margin), candidates, signed=False)


#: The same up to 2, for distances between distributions.
distance_axis = partial(gap_axis, steps=_DISTANCE_STEPS)


def _step(points: Sequence[float], limits: Sequence[float], steps: Sequence[float]) -> float:
    """Least step that holds every point and nine tenths of the limits; the largest where none does."""
    wanted = max([*points, float(np.quantile(limits, 0.9)) if limits else 0.0, 0.0])
    return next((step for step in steps if wanted <= step), steps[-1])
