"""Highest density regions and posteriors: the density, with the regions filled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairstats.ground.checks import Floats
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import Axes
from fairstats.plots.picture import axes_or_new, finished

COLOUR = "C0"
_SHOWN = 2_000


def plot_hdr(result: Any, ax: Axes | None = None) -> Axes:
    """Draw highest density regions of one or two quantities; InputError for more, and for discrete draws of two.

    One quantity: the density with the regions below it filled, the larger the paler, their ends marked with
    two Monte Carlo standard errors to either side. Two: the regions as filled contours, with the mode.
    Discrete draws of one quantity: the probability of each value, those outside the largest region grey.
    """
    if result.dimension > 2 or (result.kind == "discrete" and result.dimension > 1):
        got = f"a {result.kind} region of {result.dimension} quantities"
        allowed = "regions of one quantity, or of two continuous ones"
        raise InputError("result", got=got, allowed=allowed, cure="call hdr() on the columns to be shown")
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
            y = np.interp(x, grid, values)
            ax.fill_between(x, y, color=COLOUR, alpha=shade, linewidth=0, label=label)
        ends = region.intervals.ravel()
        spread = 2 * np.where(np.isfinite(region.errors), region.errors, 0.0).ravel()
        style: dict[str, Any] = {"fmt": "|", "color": "0.2", "capsize": 2, "markersize": 8}
        ax.errorbar(ends, np.full(ends.size, region.falpha), xerr=spread, **style)
    ax.plot(grid, values, color=COLOUR)
    ax.set(ylim=(0, None), ylabel="density")
    ax.legend(title="region")


def _draw_plane(result: Any, ax: Axes) -> None:
    x, y = result.axes
    regions = _largest_first(result)
    levels = sorted({region.falpha for region in regions})
    top = float(result.values.max())
    for k, level in enumerate(levels):
        if level < top:
            shade = 0.15 + 0.45 * (k + 1) / len(levels)
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
    ax.set(ylim=(0, None), ylabel="probability")
    ax.legend(title="region")


def plot_posterior(region: Any, names: Sequence[str], ax: Axes | None = None) -> Axes:
    """Draw the density of one metric with its highest density region, or the joint region of two; no more."""
    if region.dimension > 2:
        got, allowed = f"{region.dimension} columns of draws", "one metric, or two with one value each"
        raise InputError("metrics", got=got, allowed=allowed, cure="choose two at a time")
    ax = plot_hdr(region, ax)
    labels = list(names) if len(names) == region.dimension else [f"{names[0]} (TPR)", f"{names[0]} (FPR)"]
    words = dict(zip(("xlabel", "ylabel")[: region.dimension], labels, strict=False))
    return finished(ax, legend=False, **words)


def plot_comparison(result: Any, region: Any, ax: Axes | None = None) -> Axes:
    """Draw ΔΘ of two metrics with the `region` of its draws, the RoPE and the events (the paper's figure 3)."""
    if len(result.metrics) != 2 or region is None:
        got = f"a comparison in {len(result.metrics)} metrics"
        cure = "compare in two metrics, or draw result.delta"
        raise InputError("metrics", got=got, allowed="two metrics", cure=cure)
    ax = axes_or_new(ax)
    from matplotlib.patches import Rectangle

    delta = result.delta[:_SHOWN]
    ax.scatter(delta[:, 0], delta[:, 1], s=2, color="0.6", alpha=0.4, linewidths=0)
    if region.kind == "density":
        for part in region.regions:
            ax.contour(*region.axes, region.values.T, levels=[part.falpha], colors=["C0"])
    (wide, high), (a, b) = result.rope, result.names
    ax.add_patch(Rectangle((-wide, -high), 2 * wide, 2 * high, fill=False, edgecolor="C3", label="RoPE"))
    ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    ax.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    xlim, ylim = (_limits(*pair) for pair in zip(delta.T, result.rope, strict=True))
    corners = {0: (0.98, 0.98, "right", "top"), 1: (0.02, 0.02, "left", "bottom")}
    corners |= {3: (0.98, 0.02, "right", "bottom"), 4: (0.02, 0.98, "left", "top")}
    events = [f"P({event.name}) = {event.probability:.2f}" for event in result.events]
    for k, (x0, y0, across, along) in corners.items():
        ax.text(x0, y0, events[k], transform=ax.transAxes, ha=across, va=along)
    x, y = (f"Δ {metric} ({a} − {b})" for metric in result.metrics)
    given = f", given {result.given}" if result.given else ""
    ax.set(title=events[2] + given, xlabel=x, ylabel=f"{y}, larger better", xlim=xlim, ylim=ylim)
    ax.legend(loc="center right")
    return ax


def plane_of_estimators(
    clouds: dict[str, Any], names: Sequence[str], metrics: Sequence[str], ax: Axes | None = None
) -> Axes:
    """Medians and 95% intervals of one or two objectives: a colour per estimator, a shade per target.

    `clouds`: target → draws (n, estimators, objectives), larger better; `names`: of the estimators.
    """
    ax = axes_or_new(ax)
    for shade, (target, draws) in enumerate(clouds.items()):
        ends = np.nanquantile(draws, [0.025, 0.5, 0.975], axis=0)
        for k, name in enumerate(names):
            low, middle, high = ends[:, k]
            place = middle if len(metrics) == 2 else [middle[0], -k - 0.2 * shade]
            reach = [[[m - a], [b - m]] for a, m, b in zip(low, middle, high, strict=True)]
            style: dict[str, Any] = {"color": f"C{k}", "alpha": 0.45 if shade else 1.0, "fmt": "os"[shade]}
            style |= dict(zip(("xerr", "yerr"), reach, strict=False))
            ax.errorbar(place[0], place[1], label=f"{name}, {target}", **style)
    ax.set(**{f"{axis}label": f"{metric}, larger better" for axis, metric in zip("xy", metrics, strict=False)})
    if len(metrics) == 1:
        ax.set_yticks([])
    ax.legend(title="medians, 95%")
    return ax


def _limits(values: Floats, width: float) -> tuple[float, float]:
    """Ends of an axis that shows the draws, the origin and the RoPE."""
    low, high = min(float(values.min()), -1.2 * width), max(float(values.max()), 1.2 * width)
    room = 0.08 * max(high - low, np.finfo(float).tiny)
    return low - room, high + room
