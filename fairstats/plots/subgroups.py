"""Subgroups with the most evidence, each below the larger one that holds it, and named by what it
adds to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairstats.ground.groups import INTERSECTION
from fairstats.ground.lazy import Axes
from fairstats.plots.picture import (
    COLOURS,
    NEUTRAL,
    Mark,
    Picture,
    axes_or_new,
    finished,
    mark,
)

#: Subgroups that are drawn, and that a picture of a report has room for.
MOST_DRAWN = 20
_MOST_IN_REPORT = 12
_INCHES_PER_ROW = 0.3
_INDENT = "    "


def order_in_families(comparisons: Any) -> list[tuple[int, Any]]:
    """Comparisons with their depth below others, parents before children.

    A subgroup is a child of the one with the most evidence, among those that are drawn, whose values
    are some of its own. In every family the order of evidence stays.
    """
    drawn = list(comparisons)
    values = [dict(zip(one.attributes, one.values, strict=True)) for one in drawn]
    parent_of: dict[int, int] = {}
    for position in range(len(drawn)):
        for other in range(len(drawn)):
            is_larger = values[other].items() < values[position].items()
            if is_larger:
                parent_of[position] = other
                break
    ordered: list[tuple[int, Any]] = []

    def add(position: int, depth: int) -> None:
        ordered.append((depth, drawn[position]))
        for child in range(len(drawn)):
            if parent_of.get(child) == position:
                add(child, depth + 1)

    for position in range(len(drawn)):
        if position not in parent_of:
            add(position, 0)
    return ordered


def names_in_families(ordered: Sequence[tuple[int, Any]]) -> list[str]:
    """What each is called below its parent: what it fixes beyond it, and all of it at the top."""
    names = []
    above: list[Any] = []
    for depth, comparison in ordered:
        del above[depth:]
        fixed_above = set(above[-1].attributes) if above else set()
        family_names = []
        for attribute, value in zip(comparison.attributes, comparison.values, strict=True):
            if attribute not in fixed_above:
                family_names.append(f"{attribute} = {value}")
        joined = INTERSECTION.join(family_names)
        names.append(f"{_INDENT * depth}& {joined}" if depth else joined)
        above.append(comparison)
    return names


def picture_of_subgroups(result: Any) -> Picture:
    """Estimates and simultaneous limits of the subgroups with the most evidence, as in
    `draw_subgroups`.

    `result`: with `comparisons` in the order of evidence.
    """
    ordered = order_in_families(result.comparisons[:_MOST_IN_REPORT])
    places = np.arange(len(ordered), dtype=np.float64)[::-1]
    estimates = np.array([comparison.estimate for _, comparison in ordered])
    low = np.array([comparison.confidence_interval.low for _, comparison in ordered])
    high = np.array([comparison.confidence_interval.high for _, comparison in ordered])
    flagged = np.array([comparison.flagged for _, comparison in ordered], dtype=bool)
    marks: list[Mark] = [mark("rule", 0.0, (), NEUTRAL, "the rest")]
    for series, chosen, label in ((0, ~flagged, "not flagged"), (1, flagged, "flagged")):
        if chosen.any():
            marks.append(mark("span", low[chosen], places[chosen], series, label, low=high[chosen]))
            marks.append(mark("dots", estimates[chosen], places[chosen], series))
    names = []
    for name in names_in_families(ordered):
        indent = len(name) - len(name.lstrip(" "))
        names.append("\N{NO-BREAK SPACE}" * indent + name.lstrip(" "))
    lowest = min(float(low.min()), -0.01)
    highest = max(float(high.max()), 0.01)
    span = highest - lowest
    level = 100 * result.settings.confidence_level
    return Picture(
        title=result.title,
        xlabel=f"difference from the rest, limits that hold together ({level:g}%)",
        ylabel="",
        xlim=(lowest - 0.7 * span, highest + 0.04 * span),  # names stand on the left
        ylim=(-0.6, len(ordered) - 0.4),
        marks=tuple(marks),
        ynames=tuple(names)[::-1],
    )


def draw_subgroups(result: Any, ax: Axes | None = None) -> Axes:
    """Draw estimates and simultaneous limits of the subgroups with the most evidence.

    Filled dots are flagged. `result`: with `comparisons` in the order of evidence.
    """
    ordered = order_in_families(result.comparisons[:MOST_DRAWN])
    ax = axes_or_new(ax, figsize=(8.0, 1.4 + _INCHES_PER_ROW * len(ordered)))
    for place, (_, comparison) in enumerate(ordered):
        low, high = comparison.confidence_interval
        colour = COLOURS[1] if comparison.flagged else COLOURS[0]
        ax.plot([low, high], [place, place], color=colour, linewidth=1.2)
        face = colour if comparison.flagged else "white"
        ax.plot([comparison.estimate], [place], "o", color=colour, markerfacecolor=face)
    ax.axvline(0.0, color="0.4", linewidth=1)
    labels = []
    for name in names_in_families(ordered):
        labels.append(name.replace("$", r"\$"))
    ax.set_yticks(range(len(ordered)), labels, ha="left")
    ax.tick_params(axis="y", length=0, pad=max(map(len, labels)) * 5.5)
    ax.set_ylim(len(ordered) - 0.3, -0.7)
    ax.spines[["top", "right", "left"]].set_visible(False)
    level = 100 * result.settings.confidence_level
    return finished(
        ax,
        legend=False,
        xlabel=f"Difference from the rest [simultaneous {level:g}% limits; filled: flagged]",
        title=result.title,
    )
