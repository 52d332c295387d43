"""What is possible where groups are inferred: bounds, their interval and the estimate."""

from __future__ import annotations

import math
from typing import Any

from fairstats.ground.lazy import Axes
from fairstats.plots.forest import STYLES
from fairstats.plots.picture import axes_or_new, finished

_INCHES_PER_ROW = 0.4
_BAND_COLOUR = "#eaf3ee"


def draw_inferred(result: Any, ax: Axes | None = None) -> Axes:
    """Draw bounds (thick), their interval (thin) and the estimate (dot) of each comparison.

    `result`: with `comparisons` (set_low, set_high, estimate, confidence_interval, verdict),
    `settings` with a fair range, and `scale`.
    """
    rows = result.comparisons
    ax = axes_or_new(ax, figsize=(7.2, 1.6 + _INCHES_PER_ROW * len(rows)))
    fair_low, fair_high = result.settings._fair_range(result.scale)
    is_ratio = result.scale == "ratio"
    if is_ratio:
        ax.set_xscale("log")
    least, greatest = _reach(rows, fair_low, fair_high, is_ratio)
    ax.axvspan(fair_low, fair_high, color=_BAND_COLOUR, zorder=0)
    ax.axvline(1.0 if is_ratio else 0.0, color="0.4", linewidth=1)
    labels = []
    for place, comparison in enumerate(rows):
        colour, marker, face = STYLES[comparison.verdict]
        low, high = comparison.confidence_interval
        if not math.isnan(low):
            ends = [max(low, least), min(high, greatest)]
            ax.plot(ends, [place, place], color=colour, linewidth=1.2)
        if not comparison.n_audited and not math.isnan(comparison.set_low):
            ends = [max(comparison.set_low, least), min(comparison.set_high, greatest)]
            ax.plot(ends, [place, place], color=colour, linewidth=6, alpha=0.45, solid_capstyle="butt")
        ax.plot([comparison.estimate], [place], marker, color=colour, markerfacecolor=face)
        label = f"{comparison.group} against {comparison.reference}"
        labels.append(label.replace("$", r"\$"))
    ax.set_xlim(least, greatest)
    ax.set_yticks(range(len(rows)), labels)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(rows) - 0.3, -0.7)
    ax.spines[["top", "right", "left"]].set_visible(False)
    level = 100 * result.settings.confidence_level
    return finished(
        ax,
        legend=False,
        xlabel=f"{result.scale.capitalize()} [thick: possible; thin: {level:g}% interval; dot: estimate]",
        title=result.title.replace("$", r"\$"),
    )


def _reach(rows: Any, fair_low: float, fair_high: float, is_ratio: bool) -> tuple[float, float]:
    """Ends of the axis: all finite figures, within a factor of 16 of a ratio of 1."""
    values = [fair_low, fair_high]
    for comparison in rows:
        for value in (*comparison.confidence_interval, comparison.estimate):
            if math.isfinite(value):
                values.append(value)
    if is_ratio:
        within = [min(max(value, 1 / 16), 16.0) for value in values]
        return min(within) / 1.1, max(within) * 1.1
    return min(values) - 0.03, max(values) + 0.03
