"""What is possible where groups are inferred: bounds, their interval and the estimate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from fairstats.plots.picture import LIMIT, NEUTRAL, Mark, Picture, mark

#: No axis of ratios reaches further from 1 than this factor.
_FARTHEST = 16.0
#: Half the height of the bar of what is possible.
_HALF_HEIGHT = 0.08


def inferred_picture(result: Any) -> Picture:
    """Bounds (thick), their interval and the estimate of each comparison, one below the other.

    `result`: with `comparisons` (set_low, set_high, estimate, confidence_interval, n_audited),
    `settings` with a fair range, and `scale`.
    """
    rows = result.comparisons
    names = []
    for comparison in rows[::-1]:
        names.append(f"{comparison.group} against {comparison.reference}")
    level = f"{100 * result.settings.confidence_level:g}%"
    return Picture(
        title=result.title,
        xlabel=f"{result.scale} [thick: possible; thin: {level} interval; dot: estimate]",
        ylabel="",
        xlim=_reach(result),
        ylim=(-0.7, len(rows) - 0.3),
        marks=tuple(_marks(result)),
        log=result.scale == "ratio",
        ynames=tuple(names),
    )


def _marks(result: Any) -> Iterator[Mark]:
    fair_low, fair_high = result.settings._fair_range(result.scale)
    least, greatest = _reach(result)
    yield mark("rule", fair_low, (), LIMIT, f"fair: {fair_low:.3g} to {fair_high:.3g}")
    yield mark("rule", fair_high, (), LIMIT)
    yield mark("rule", 1.0 if result.scale == "ratio" else 0.0, (), NEUTRAL)
    for place, comparison in enumerate(result.comparisons[::-1]):
        low, high = comparison.confidence_interval
        if not math.isnan(low):
            ends = [min(max(low, least), greatest), max(min(high, greatest), least)]
            yield mark("line", ends, [place, place], 0)
        if not comparison.n_audited and not math.isnan(comparison.set_low):
            start = min(max(comparison.set_low, least), greatest)
            end = max(min(comparison.set_high, greatest), least)
            bottom = place - _HALF_HEIGHT
            top = place + _HALF_HEIGHT
            yield mark("area", [start, end, end, start], [bottom, bottom, top, top], 0)
        if math.isfinite(comparison.estimate):
            yield mark("dots", min(max(comparison.estimate, least), greatest), place, 1)


def _reach(result: Any) -> tuple[float, float]:
    """Ends of the axis: all finite figures, within `_FARTHEST` of a ratio of 1."""
    values = list(result.settings._fair_range(result.scale))
    for comparison in result.comparisons:
        for value in (*comparison.confidence_interval, comparison.estimate):
            if math.isfinite(value):
                values.append(value)
    if result.scale == "ratio":
        within = [min(max(value, 1 / _FARTHEST), _FARTHEST) for value in values]
        return min(within) / 1.1, max(within) * 1.1
    return min(values) - 0.03, max(values) + 0.03
