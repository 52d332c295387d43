"""Pictures of Uncertainty Matters: posteriors with their regions, and comparisons with their RoPE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.plots.canvas import axes_or_new
from fairstats.plots.hdr import plot_hdr

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHOWN = 2_000


def plot_posterior(region: Any, names: Sequence[str], ax: Axes | None = None) -> Axes:
    """Draw the density of one metric with its highest density region, or the joint region of two.

    `region`: of one or two metrics; `names`: of the metrics; `ax`: where to draw; default a new figure's.
    Raises InputError for more than two metrics; Raises MissingDependencyError without matplotlib.
    """
    if region.dimension > 2:
        raise InputError(
            "metrics",
            got=f"{region.dimension} columns of draws",
            allowed="one metric, or two with one value each",
            cure="choose two at a time",
        )
    ax = plot_hdr(region, ax)
    labels = list(names) if len(names) == region.dimension else [f"{names[0]} (TPR)", f"{names[0]} (FPR)"]
    ax.set_xlabel(labels[0])
    if region.dimension == 2:
        ax.set_ylabel(labels[1])
    return ax


def plot_comparison(result: Any, region: Any, ax: Axes | None = None) -> Axes:
    """Draw ΔΘ of two metrics with its highest density region, the RoPE and the events (the paper's figure 3).

    `result`: read by its attributes `delta`, `rope`, `names`, `metrics`, `events`, `given`; `region`: of
    `result.delta`; `ax`: where to draw; default a new figure's. Raises InputError for other than two metrics;
    Raises MissingDependencyError without matplotlib.
    """
    if len(result.metrics) != 2 or region is None:
        raise InputError(
            "metrics",
            got=f"a comparison in {len(result.metrics)} metrics",
            allowed="two metrics",
            cure="compare in two metrics, or draw result.delta",
        )
    ax = axes_or_new(ax)
    from matplotlib.patches import Rectangle

    delta = result.delta[:_SHOWN]
    ax.scatter(delta[:, 0], delta[:, 1], s=2, color="0.6", alpha=0.4, linewidths=0)
    if region.kind == "density":
        x, y = region.axes
        for part in region.regions:
            ax.contour(x, y, region.values.T, levels=[part.falpha], colors=["C0"])
    (wide, high), (a, b) = result.rope, result.names
    ax.add_patch(Rectangle((-wide, -high), 2 * wide, 2 * high, fill=False, edgecolor="C3", label="RoPE"))
    ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    ax.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    _limits(ax, delta, (wide, high))
    corners = {0: (0.98, 0.98, "right", "top"), 1: (0.02, 0.02, "left", "bottom")}
    corners |= {3: (0.98, 0.02, "right", "bottom"), 4: (0.02, 0.98, "left", "top")}
    for k, (x0, y0, across, along) in corners.items():
        event = result.events[k]
        text = f"P({event.name}) = {event.probability:.2f}"
        ax.text(x0, y0, text, transform=ax.transAxes, ha=across, va=along)
    equivalent = result.events[2]
    given = f", given {result.given}" if result.given else ""
    ax.set_title(f"P({equivalent.name}) = {equivalent.probability:.2f}{given}")
    ax.set_xlabel(f"Δ {result.metrics[0]} ({a} − {b})")
    ax.set_ylabel(f"Δ {result.metrics[1]} ({a} − {b}), larger better")
    ax.legend(loc="center right")
    return ax


def _limits(ax: Axes, delta: Any, rope: tuple[float, float]) -> None:
    """Axes that show the draws, the origin and the RoPE."""
    ends = []
    for values, width in zip(delta.T, rope, strict=True):
        low, high = min(float(values.min()), -1.2 * width), max(float(values.max()), 1.2 * width)
        room = 0.08 * max(high - low, np.finfo(float).tiny)
        ends.append((low - room, high + room))
    ax.set_xlim(*ends[0])
    ax.set_ylim(*ends[1])
