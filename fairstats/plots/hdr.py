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
_MAX_SHOWN_DRAWS = 2_000


def plot_hdr(result: Any, ax: Axes | None = None) -> Axes:
    """Draw highest density regions of one or two quantities.

    InputError for more, and for discrete draws of two.

    One quantity: the density with the regions below it filled, the larger the paler, their ends
    marked with two Monte Carlo standard errors to either side. Two: the regions as filled contours,
    with the mode. Discrete draws of one quantity: the probability of each value, those outside the
    largest region grey.
    """
    if result.dimension > 2 or (result.kind == "discrete" and result.dimension > 1):
        received = f"a {result.kind} region of {result.dimension} quantities"
        allowed = "regions of one quantity, or of two continuous ones"
        raise InputError(
            "result",
            got=received,
            allowed=allowed,
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
    """The density of one quantity, its regions shaded, their ends with Monte Carlo errors."""
    density_grid = result.axes[0]
    values = result.values
    regions = _largest_first(result)
    for region_number, region in enumerate(regions):
        opacity = 0.15 + 0.45 * (region_number + 1) / len(regions)
        for piece_number, (piece_low, piece_high) in enumerate(result.pieces(region.prob)):
            piece_points = np.concatenate(
                [
                    [piece_low],
                    density_grid[(density_grid > piece_low) & (density_grid < piece_high)],
                    [piece_high],
                ]
            )
            if piece_number == 0:
                label = f"{100 * region.prob:g}%"
            else:
                label = None
            piece_density = np.interp(piece_points, density_grid, values)
            ax.fill_between(
                piece_points,
                piece_density,
                color=COLOUR,
                alpha=opacity,
                linewidth=0,
                label=label,
            )
        interval_ends = region.intervals.ravel()
        if result.period is not None:
            interval_ends = np.where(
                interval_ends > result.period, interval_ends - result.period, interval_ends
            )
        end_errors = 2 * np.where(np.isfinite(region.errors), region.errors, 0.0).ravel()
        errorbar_style: dict[str, Any] = {"fmt": "|", "color": "0.2", "capsize": 2, "markersize": 8}
        ax.errorbar(
            interval_ends,
            np.full(interval_ends.size, region.falpha),
            xerr=end_errors,
            **errorbar_style,
        )
    ax.plot(density_grid, values, color=COLOUR)
    ax.set(ylim=(0, None), ylabel="density")
    ax.legend(title="region")


def _draw_plane(result: Any, ax: Axes) -> None:
    x, y = result.axes
    regions = _largest_first(result)
    levels = sorted({region.falpha for region in regions})
    highest_density = float(result.values.max())
    for level_number, level in enumerate(levels):
        if level < highest_density:
            opacity = 0.15 + 0.45 * (level_number + 1) / len(levels)
            ax.contourf(
                x,
                y,
                result.values.T,
                levels=[level, highest_density],
                colors=[COLOUR],
                alpha=opacity,
            )
            ax.contour(x, y, result.values.T, levels=[level], colors=[COLOUR], linewidths=1)
    ax.plot(*result.mode, marker="+", color="0.2", linestyle="none", label="mode")
    ax.set_title("regions: " + ", ".join(f"{100 * region.prob:g}%" for region in regions))
    ax.legend()


def _draw_frequencies(result: Any, ax: Axes) -> None:
    values = result.axes[0][:, 0]
    probabilities = result.values
    largest_region = _largest_first(result)[0]
    in_region = probabilities >= largest_region.falpha
    for chosen_values, colour, label in (
        (in_region, COLOUR, f"{100 * largest_region.prob:g}%"),
        (~in_region, "0.6", "outside"),
    ):
        if chosen_values.any():
            ax.vlines(
                values[chosen_values],
                0,
                probabilities[chosen_values],
                color=colour,
                linewidth=4,
                label=label,
            )
    ax.set(ylim=(0, None), ylabel="probability")
    ax.legend(title="region")


def plot_posterior(region: Any, names: Sequence[str], ax: Axes | None = None) -> Axes:
    """Draw the density of one metric with its highest density region, or the joint region of two.

    No more.
    """
    if region.dimension > 2:
        received = f"{region.dimension} columns of draws"
        allowed = "one metric, or two with one value each"
        raise InputError("metrics", got=received, allowed=allowed, cure="choose two at a time")
    ax = plot_hdr(region, ax)
    if len(names) == region.dimension:
        labels = list(names)
    else:
        labels = [f"{names[0]} (TPR)", f"{names[0]} (FPR)"]
    axis_words = dict(zip(("xlabel", "ylabel")[: region.dimension], labels, strict=False))
    return finished(ax, legend=False, **axis_words)


def plot_comparison(result: Any, region: Any, ax: Axes | None = None) -> Axes:
    """Draw ΔΘ of two metrics with the `region` of its draws, the RoPE and the events (the paper's
    figure 3).
    """
    if len(result.metrics) != 2 or region is None:
        received = f"a comparison in {len(result.metrics)} metrics"
        advice = "compare in two metrics, or draw result.delta"
        raise InputError("metrics", got=received, allowed="two metrics", cure=advice)
    ax = axes_or_new(ax)
    from matplotlib.patches import Rectangle

    delta_draws = result.delta[:_MAX_SHOWN_DRAWS]
    ax.scatter(delta_draws[:, 0], delta_draws[:, 1], s=2, color="0.6", alpha=0.4, linewidths=0)
    if region.kind == "density":
        for density_region in region.regions:
            ax.contour(*region.axes, region.values.T, levels=[density_region.falpha], colors=["C0"])
    rope_width, rope_height = result.rope
    first_name, second_name = result.names
    ax.add_patch(
        Rectangle(
            (-rope_width, -rope_height),
            2 * rope_width,
            2 * rope_height,
            fill=False,
            edgecolor="C3",
            label="RoPE",
        )
    )
    ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    ax.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    x_limits, y_limits = (
        _axis_limits(*draws_and_rope)
        for draws_and_rope in zip(delta_draws.T, result.rope, strict=True)
    )
    corners = {0: (0.98, 0.98, "right", "top"), 1: (0.02, 0.02, "left", "bottom")}
    corners |= {3: (0.98, 0.02, "right", "bottom"), 4: (0.02, 0.98, "left", "top")}
    events = [f"P({event.name}) = {event.probability:.2f}" for event in result.events]
    for event_number, (text_x, text_y, horizontal_align, vertical_align) in corners.items():
        ax.text(
            text_x,
            text_y,
            events[event_number],
            transform=ax.transAxes,
            ha=horizontal_align,
            va=vertical_align,
        )
    x_label, y_label = (f"Δ {metric} ({first_name} − {second_name})" for metric in result.metrics)
    if result.given:
        condition_words = f", given {result.given}"
    else:
        condition_words = ""
    ax.set(
        title=events[2] + condition_words,
        xlabel=x_label,
        ylabel=f"{y_label}, larger better",
        xlim=x_limits,
        ylim=y_limits,
    )
    ax.legend(loc="center right")
    return ax


def plane_of_estimators(
    clouds: dict[str, Any],
    names: Sequence[str],
    metrics: Sequence[str],
    ax: Axes | None = None,
) -> Axes:
    """Medians and 95% intervals of one or two objectives.

    A colour per estimator, a shade per target.

    `clouds`: target → draws (n, estimators, objectives), larger better; `names`: of the estimators.
    """
    ax = axes_or_new(ax)
    for target_number, (target, draws) in enumerate(clouds.items()):
        interval_quantiles = np.nanquantile(draws, [0.025, 0.5, 0.975], axis=0)
        for estimator_number, estimator_name in enumerate(names):
            lower_ends, medians, upper_ends = interval_quantiles[:, estimator_number]
            if len(metrics) == 2:
                point_place = medians
            else:
                point_place = [medians[0], -estimator_number - 0.2 * target_number]
            error_lengths = []
            for lower_end, median, upper_end in zip(lower_ends, medians, upper_ends, strict=True):
                error_lengths.append([[median - lower_end], [upper_end - median]])
            errorbar_style: dict[str, Any] = {
                "color": f"C{estimator_number}",
                "alpha": 0.45 if target_number else 1.0,
                "fmt": "os"[target_number],
            }
            errorbar_style |= dict(zip(("xerr", "yerr"), error_lengths, strict=False))
            ax.errorbar(
                point_place[0],
                point_place[1],
                label=f"{estimator_name}, {target}",
                **errorbar_style,
            )
    ax.set(
        **{
            f"{axis_letter}label": f"{metric}, larger better"
            for axis_letter, metric in zip("xy", metrics, strict=False)
        }
    )
    if len(metrics) == 1:
        ax.set_yticks([])
    ax.legend(title="medians, 95%")
    return ax


def _axis_limits(values: Floats, rope_width: float) -> tuple[float, float]:
    """Ends of an axis that shows the draws, the origin and the RoPE."""
    axis_low = min(float(values.min()), -1.2 * rope_width)
    axis_high = max(float(values.max()), 1.2 * rope_width)
    margin_width = 0.08 * max(axis_high - axis_low, np.finfo(float).tiny)
    return axis_low - margin_width, axis_high + margin_width
