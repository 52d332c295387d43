"""HFM: D, D_f and HFM with their stability ranges.

ApproxDist against the exact distance, values and time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairstats.ground.checks import check_choice
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import Axes
from fairstats.plots.picture import axes_or_new, finished

_POINT_COLOUR = "#0072b2"
_RANGE_COLOUR = "#56b4e9"
_LINE_COLOUR = "0.4"
_QUANTITY_NAMES = {"D": "D", "D_f": "$D_f$", "HFM": "HFM = $D_f/D$ − 1"}


def plot_hfm(result: Any, *, quantity: str = "HFM", ax: Axes | None = None) -> Axes:
    """D, D_f or HFM of every entry, with the range over subsamples of 80% of the rows.

    `quantity`, {"HFM", "D", "D_f"}. The bars are stability ranges, not confidence intervals, and
    the axis says so. An infinite HFM is named at the edge. Raises InputError for another quantity.
    """
    check_choice("quantity", quantity, _QUANTITY_NAMES)
    ax = axes_or_new(ax)
    entries = result.entries
    row_places = np.arange(len(entries))[::-1]
    for row_place, each_entry in zip(row_places, entries, strict=True):
        entry_value = {"D": each_entry.d, "D_f": each_entry.d_f, "HFM": each_entry.hfm}[quantity]
        stability_ranges = []
        for each_range in each_entry.stability:
            if each_range.quantity == quantity:
                stability_ranges.append(each_range)
        if (
            stability_ranges
            and np.isfinite([stability_ranges[0].low, stability_ranges[0].high]).all()
        ):
            ax.hlines(
                row_place,
                stability_ranges[0].low,
                stability_ranges[0].high,
                color=_RANGE_COLOUR,
                linewidth=5,
                alpha=0.6,
            )
        if np.isfinite(entry_value):
            ax.plot(entry_value, row_place, "o", color=_POINT_COLOUR)
        else:
            ax.text(
                0.98,
                row_place,
                "∞",
                transform=ax.get_yaxis_transform(),
                ha="right",
                va="center",
                color=_POINT_COLOUR,
            )
    if quantity == "HFM":
        ax.axvline(0, color=_LINE_COLOUR, linewidth=0.8)
    ax.set_yticks(
        row_places, [f"{named_entry.attribute}: {named_entry.group}" for named_entry in entries]
    )
    if any(named_entry.stability for named_entry in entries):
        range_words = " (bar: range over subsamples of 80%)"
    else:
        range_words = ""
    return finished(
        ax,
        legend=False,
        ylim=(-0.6, len(entries) - 0.4),
        xlabel=_QUANTITY_NAMES[quantity] + range_words,
    )


def _axes_of(exact: Sequence[Any], approximate: Sequence[Any], ax: Axes | None) -> Axes:
    """Axes for pairs of distances, which have to be as many of either."""
    if len(exact) != len(approximate) or not len(exact):
        received = f"{len(approximate)} distances, {len(exact)} exact ones"
        advice = (
            "pass results of set_distance and approx_set_distance of the same sets, in one order"
        )
        raise InputError(
            "approximate",
            got=received,
            allowed="as many of either, at least one",
            cure=advice,
        )
    return axes_or_new(ax)


def plot_approximation(
    exact: Sequence[Any], approximate: Sequence[Any], *, ax: Axes | None = None
) -> Axes:
    """Approximate against exact distances of the same pairs of sets, with the identity line (figure
    3a).
    """
    ax = _axes_of(exact, approximate, ax)
    exact_values, approximate_values = (
        [set_distance.value for set_distance in distances] for distances in (exact, approximate)
    )
    axis_limit = max(*exact_values, *approximate_values) * 1.05 or 1.0
    ax.plot([0, axis_limit], [0, axis_limit], color=_LINE_COLOUR, linewidth=0.8, label="equal")
    ax.plot(exact_values, approximate_values, "o", color=_POINT_COLOUR, alpha=0.8)
    if len(exact_values) > 2 and np.std(exact_values) > 0 and np.std(approximate_values) > 0:
        ax.plot(
            [],
            [],
            " ",
            label=f"correlation {np.corrcoef(exact_values, approximate_values)[0, 1]:.3f}",
        )
    return finished(
        ax,
        xlim=(0, axis_limit),
        ylim=(0, axis_limit),
        xlabel="exact distance",
        ylabel="ApproxDist",
    )


def plot_approximation_error(
    exact: Sequence[Any], approximate: Sequence[Any], *, ax: Axes | None = None
) -> Axes:
    """Relative error of ApproxDist against the exact distance (figure 3b), of pairs of sets with a
    distance.
    """
    ax = _axes_of(exact, approximate, ax)
    distance_and_error = []
    for exact_distance, approximate_distance in zip(exact, approximate, strict=True):
        if exact_distance.value > 0:
            distance_and_error.append(
                (exact_distance.value, approximate_distance.value / exact_distance.value - 1)
            )
    ax.axhline(0, color=_LINE_COLOUR, linewidth=0.8)
    ax.plot(
        [each_distance for each_distance, _ in distance_and_error],
        [100 * relative_error for _, relative_error in distance_and_error],
        "o",
        color=_POINT_COLOUR,
        alpha=0.8,
    )
    return finished(ax, legend=False, xlabel="exact distance", ylabel="ApproxDist too large by (%)")


def plot_approximation_time(
    exact: Sequence[Any], approximate: Sequence[Any], *, ax: Axes | None = None
) -> Axes:
    """Time of ApproxDist against that of the exact distance, logarithmic (the paper's figures 3c
    and 3d).
    """
    ax = _axes_of(exact, approximate, ax)
    exact_seconds, approximate_seconds = (
        [max(set_distance.seconds, 1e-6) for set_distance in distances]
        for distances in (exact, approximate)
    )
    axis_ends = [
        min(*exact_seconds, *approximate_seconds) / 2,
        max(*exact_seconds, *approximate_seconds) * 2,
    ]
    ax.plot(axis_ends, axis_ends, color=_LINE_COLOUR, linewidth=0.8, label="equal")
    ax.plot(exact_seconds, approximate_seconds, "o", color=_POINT_COLOUR, alpha=0.8)
    limits: dict[str, Any] = {
        "xscale": "log",
        "yscale": "log",
        "xlim": axis_ends,
        "ylim": axis_ends,
    }
    return finished(ax, xlabel="exact distance (s)", ylabel="ApproxDist (s)", **limits)


def plot_ranks(result: Any, *, ax: Axes | None = None) -> Axes:
    """Friedman chart: average ranks.

    Rules whose bars do not overlap differ significantly (figure 2a).
    """
    ax = axes_or_new(ax)
    row_places = np.arange(len(result.rules))[::-1]
    half_difference = result.critical_difference / 2
    for row_place, rank in zip(row_places, result.ranks, strict=True):
        ax.hlines(
            row_place,
            rank - half_difference,
            rank + half_difference,
            color=_RANGE_COLOUR,
            linewidth=3,
        )
        ax.plot(rank, row_place, "o", color=_POINT_COLOUR)
    ax.set_yticks(row_places, list(result.rules))
    return finished(
        ax, legend=False, xlabel=f"average rank, 1 the best (CD = {result.critical_difference:.2f})"
    )


def plot_tradeoff(frame: Any, *, ax: Axes | None = None) -> Axes:
    """Cost of what every rule chooses over α, of `HfmExperiment.tradeoff` (figure 1c).

    Smaller is better.
    """
    ax = axes_or_new(ax)
    for rule_name, rule_rows in frame.groupby("rule", sort=False):
        (drawn_line,) = ax.plot(rule_rows["alpha"], rule_rows["cost"], label=rule_name)
        ax.fill_between(
            rule_rows["alpha"],
            rule_rows["ci_low"],
            rule_rows["ci_high"],
            color=drawn_line.get_color(),
            alpha=0.12,
        )
    ax.set(xlabel="α, weight of the error", ylabel="α·error + (1 − α)·|fairness|, test rows")
    ax.legend(fontsize="small")
    return ax


def plot_hyperparameter(
    exact: Any,
    approximate: Sequence[Any],
    *,
    name: str = "m2",
    quantity: str = "value",
    ax: Axes | None = None,
) -> Axes:
    """ApproxDist of the same sets over `name`, {"m1", "m2"}, beside the exact distance (the paper's
    figure 4).

    Runs with one value of `name` are joined by their mean; `quantity`, {"value", "seconds"}.
    """
    check_choice("name", name, ("m1", "m2"))
    check_choice("quantity", quantity, ("value", "seconds"))
    ax = _axes_of(approximate, approximate, ax)
    values_by_setting: dict[int, list[float]] = {}
    for approximation in approximate:
        values_by_setting.setdefault(getattr(approximation, name), []).append(
            getattr(approximation, quantity)
        )
    ax.axhline(getattr(exact, quantity), color=_LINE_COLOUR, linewidth=0.8, label="exact")
    ax.plot(
        sorted(values_by_setting),
        [np.mean(values_by_setting[setting]) for setting in sorted(values_by_setting)],
        color=_RANGE_COLOUR,
    )
    points = []
    for setting, values in values_by_setting.items():
        for run_value in values:
            points.append((setting, run_value))
    ax.plot(*zip(*points, strict=True), "o", color=_POINT_COLOUR, alpha=0.6, label="ApproxDist")
    if quantity == "value":
        ylabel = "distance"
        yscale = "linear"
    else:
        ylabel = "time (s)"
        yscale = "log"
    return finished(ax, xlabel=name, ylabel=ylabel, yscale=yscale)


def plot_time_curve(
    exact: Sequence[Any], approximate: Sequence[Any], *, ax: Axes | None = None
) -> Axes:
    """Time of both over the number of rows, logarithmic."""
    ax = _axes_of(exact, approximate, ax)
    for label, distances, series_colour in (
        ("exact", exact, _POINT_COLOUR),
        ("ApproxDist", approximate, _RANGE_COLOUR),
    ):
        points = sorted(
            (set_distance.n_a + set_distance.n_b, max(set_distance.seconds, 1e-6))
            for set_distance in distances
        )
        ax.plot(*zip(*points, strict=True), "o-", color=series_colour, label=label)
    return finished(ax, xscale="log", yscale="log", xlabel="rows", ylabel="time (s)")
