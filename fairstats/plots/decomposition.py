"""Gaps and their parts: what circumstances explain, and the rest, one bar behind the other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from fairstats.plots.picture import NEUTRAL, Mark, Picture, mark

#: Half the height of a bar, and how far the intervals of its parts lie from its middle.
_HALF_HEIGHT = 0.16
_OFFSET = 0.27
#: Place among the colours of each part.
_SERIES = {"explained": 0, "rest": 1}


def parts_of_gaps(result: Any) -> Picture:
    """One bar a pair of groups: explained from 0 on, then the rest up to the gap; intervals beside.

    `result`: with `comparisons` (metric "gap", "explained" or "rest", estimate,
    confidence_interval), and `settings`.
    """
    pairs = list(dict.fromkeys((row.group, row.reference) for row in result.comparisons))
    level = f"{100 * result.settings.confidence_level:g}%"
    return Picture(
        title=result.title,
        xlabel=f"difference [bars: parts of the gap; lines: {level} intervals of the parts]",
        ylabel="",
        xlim=_reach(result),
        ylim=(-0.7, len(pairs) - 0.3),
        marks=tuple(_marks(result, pairs)),
        ynames=tuple(f"{group} against {reference}" for group, reference in pairs[::-1]),
    )


def _marks(result: Any, pairs: list[tuple[str, str]]) -> Iterator[Mark]:
    """For each pair of groups a bar for the explained part and one for the rest, end to end."""
    yield mark("rule", 0.0, (), NEUTRAL)
    labelled = set()
    for place, pair in enumerate(pairs[::-1]):
        parts = {}
        for row in result.comparisons:
            if (row.group, row.reference) == pair:
                parts[row.metric] = row
        if not all(math.isfinite(row.estimate) for row in parts.values()):
            continue
        explained = parts["explained"].estimate
        spans = {"explained": (0.0, explained), "rest": (explained, parts["gap"].estimate)}
        for part, (start, end) in spans.items():
            # parts of opposite signs overlap: the rest then lies below
            bottom = place - _HALF_HEIGHT * (1.0 if part == "explained" else 0.5)
            top = place + _HALF_HEIGHT * (1.0 if part == "explained" else 0.5)
            label = "" if part in labelled else part
            labelled.add(part)
            corners = [start, end, end, start], [bottom, bottom, top, top]
            yield mark("area", *corners, _SERIES[part], label)
        for part, offset in (("explained", _OFFSET), ("rest", -_OFFSET)):
            low, high = parts[part].confidence_interval
            if math.isfinite(low) and math.isfinite(high):
                height = place + offset
                yield mark("line", [low, high], [height, height], _SERIES[part])
                yield mark("dots", parts[part].estimate, height, _SERIES[part])


def _reach(result: Any) -> tuple[float, float]:
    """Ends of the axis: 0, all estimates and all intervals that are drawn."""
    values = [0.0]
    for row in result.comparisons:
        for value in (row.estimate, *row.confidence_interval):
            if math.isfinite(value):
                values.append(value)
    gap = 0.05 * max(max(values) - min(values), 1e-9)
    return min(values) - gap, max(values) + gap
