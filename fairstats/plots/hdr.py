"""Highest density regions: the density, with the regions filled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.plots.canvas import axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOUR = "C0"


def plot_hdr(result: Any, ax: Axes | None = None) -> Axes:
    """Draw highest density regions of one or two quantities.

    One quantity: the density with the regions below it filled, the larger the paler, their ends marked with
    two Monte Carlo standard errors to either side. Two: the regions as filled contours, with the mode.
    Discrete draws of one quantity: the probability of each value, those outside the largest region grey.

    `result`: read by its attributes `dimension`, `kind`, `regions`, `axes`, `values`, `mode`; `ax`: where to
    draw; default a new figure's. Raises InputError for three or more quantities, and for discrete draws of
    two; Raises MissingDependencyError without matplotlib.
    """
    if result.dimension > 2 or (result.kind == "discrete" and result.dimension > 1):
        raise InputError(
            "result",
            got=f"a {result.kind} region of {result.dimension} quantities",
            allowed="regions of one quantity, or of two continuous ones",
            cure="call hdr() on the columns to be shown",
        )
    ax = axes_or_new(ax)
    if result.kind == "discrete":
        _draw_frequencies(result, ax)
    elif result.dimension == 1:
        _draw_line(result, ax)
    else:
        _draw_plane(result, ax)
    return ax


def _largest_first(result: Any) -> list[Any]:
    return sorted(result.regions, key=lambda region: region.falpha)


def _draw_line(result: Any, ax: Axes) -> None:
    grid, values = result.axes[0], result.values
    regions = _largest_first(result)
    for k, region in enumerate(regions):
        shade = 0.15 + 0.45 * (k + 1) / len(regions)
        for j, (low, high) in enumerate(region.intervals):
            x = np.concatenate([[low], grid[(grid > low) & (grid < high)], [high]])
            label = f"{100 * region.prob:g}%" if j == 0 else None
            ax.fill_between(
                x, np.interp(x, grid, values), color=COLOUR, alpha=shade, linewidth=0, label=label
            )
        ends = region.intervals.ravel()
        spread = 2 * np.where(np.isfinite(region.errors), region.errors, 0.0).ravel()
        style: dict[str, Any] = {"fmt": "|", "color": "0.2", "capsize": 2, "markersize": 8}
        ax.errorbar(ends, np.full(ends.size, region.falpha), xerr=spread, **style)
    ax.plot(grid, values, color=COLOUR)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("density")
    ax.legend(title="region")


def _draw_plane(result: Any, ax: Axes) -> None:
    x, y = result.axes
    regions = _largest_first(result)
    levels = sorted({region.falpha for region in regions})
    top = float(result.values.max())
    shades = [0.15 + 0.45 * (k + 1) / len(levels) for k in range(len(levels))]
    for level, shade in zip(levels, shades, strict=True):
        if level < top:
            ax.contourf(x, y, result.values.T, levels=[level, top], colors=[COLOUR], alpha=shade)
            ax.contour(x, y, result.values.T, levels=[level], colors=[COLOUR], linewidths=1)
    ax.plot(*result.mode, marker="+", color="0.2", linestyle="none", label="mode")
    ax.set_title("regions: " + ", ".join(f"{100 * region.prob:g}%" for region in regions))
    ax.legend()


def _draw_frequencies(result: Any, ax: Axes) -> None:
    values, masses = result.axes[0][:, 0], result.values
    largest = _largest_first(result)[0]
    inside = masses >= largest.falpha
    for chosen, colour, label in ((inside, COLOUR, f"{100 * largest.prob:g}%"), (~inside, "0.6", "outside")):
        if chosen.any():
            ax.vlines(values[chosen], 0, masses[chosen], color=colour, linewidth=4, label=label)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("probability")
    ax.legend(title="region")
