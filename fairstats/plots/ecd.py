"""Counterfactual discrimination.

Values with thresholds, densities of the extremes, return levels, Q-Q.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairstats.ground.checks import Floats, check_that
from fairstats.ground.lazy import Axes
from fairstats.plots.picture import axes_or_new, finished, panels_or_new

_GROUP_COLOURS = ("C3", "C0", "C2", "C4", "C1")
#: More points than this are drawn as a random share: the eye sees no more, and a picture stays
#: small.
_MOST_POINTS = 5_000
#: Points of a return-level curve.
_CURVE_POINTS = 40


def plot_discrimination(sample: Any, tails: Sequence[Any] = (), ax: Axes | None = None) -> Axes:
    """CD of every row, one panel of points per group, thresholds as lines (figure 1 of Monjezi et
    al.).

    `sample`: read by its groups; `tails`: thresholds; values above them are drawn in full, the
    others as at most 5,000 points a group.
    """
    ax = axes_or_new(ax)
    are_fits = isinstance(tails, (list, tuple)) and all(
        hasattr(fitted_tail, "threshold") for fitted_tail in tails
    )
    check_that(are_fits, "tails", tails, "a list of fitted tails", "plot(fs.ecd(sample, …).tails)")
    threshold = {fitted_tail.group: fitted_tail.threshold for fitted_tail in tails}
    # colours as in `plot_ecd`
    colour_order = list(
        dict.fromkeys([*threshold, *(sample_group.group for sample_group in sample.groups)])
    )
    panel_start = 0.0
    tick_labels = []
    for group in sample.groups:
        discriminations = group.values()
        if not discriminations.size:
            continue
        colour = _GROUP_COLOURS[colour_order.index(group.group) % len(_GROUP_COLOURS)]
        group_threshold = threshold.get(group.group, np.inf)
        above_threshold = np.flatnonzero(discriminations > group_threshold)
        below_threshold = np.flatnonzero(discriminations <= group_threshold)
        if below_threshold.size > _MOST_POINTS:
            below_threshold = np.random.default_rng(0).choice(
                below_threshold, _MOST_POINTS, replace=False
            )
        row_places = panel_start + np.linspace(0.0, 1.0, discriminations.size)
        ax.plot(
            row_places[below_threshold],
            discriminations[below_threshold],
            ".",
            color=colour,
            alpha=0.25,
            markersize=2,
            rasterized=True,
        )
        ax.plot(
            row_places[above_threshold],
            discriminations[above_threshold],
            "o",
            color=colour,
            markersize=3,
            label=group.group,
        )
        if np.isfinite(group_threshold):
            ax.plot(
                [panel_start, panel_start + 1.0],
                [group_threshold, group_threshold],
                color="0.2",
                linewidth=1.0,
            )
        tick_labels.append((panel_start + 0.5, f"{group.group}\nN = {discriminations.size:,}"))
        panel_start += 1.15
    ax.axhline(0.0, color="0.6", linewidth=0.8)
    ax.set_xticks(
        [fitted_tail for fitted_tail, _ in tick_labels],
        [tick_label for _, tick_label in tick_labels],
    )
    axis_words = {
        "ylabel": "CD: score with another value − score",
        "title": "Counterfactual discrimination",
    }
    return finished(ax, legend=False, **axis_words)


def plot_extremes(result: Any, ax: Axes | None = None) -> Axes:
    """Densities of the largest CD in m interactions, by group (figure 2 of Monjezi et al.).

    P(max ≤ x) = exp(−m·λ·(1 − F(x))), with F of the fitted excesses; a dashed line marks the return
    level.
    """
    ax = axes_or_new(ax)
    m = result.settings.interactions
    for colour, group_tail in zip(_GROUP_COLOURS, result.tails, strict=False):
        if group_tail.fit is None:
            ax.axvline(
                group_tail.level.estimate,
                color=colour,
                linestyle=":",
                label=f"{group_tail.group}: no model",
            )
            continue
        count = m * group_tail.rate
        lowest_shown, highest_shown = (
            group_tail.fit.quantile(max(1.0 + np.log(probability) / count, 0.0))
            for probability in (0.001, 0.995)
        )
        extreme_values = np.linspace(float(lowest_shown), float(highest_shown), 400)
        distribution = np.exp(-count * group_tail.fit.sf(extreme_values))
        ax.plot(
            extreme_values,
            np.gradient(distribution, extreme_values),
            color=colour,
            label=group_tail.group,
        )
        ax.axvline(group_tail.level.estimate, color=colour, linestyle="--", linewidth=1.0)
    return finished(
        ax,
        xlabel=f"largest CD in {m:,.0f} interactions",
        ylabel="density",
        title="Extremes",
    )


def level_curve(tail: Any, m: float, points: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Numbers of interactions up to far beyond m, return levels there, and both ends of their
    intervals.
    """
    if tail.fit is None:
        levels = tail.ordered_levels
        interactions = np.array([level.interactions for level in levels])
    else:
        interactions = np.geomspace(1.05 / tail.rate, max(20.0 * m, 50.0 / tail.rate), points)
        levels = [tail.fit.return_level(float(n_interactions)) for n_interactions in interactions]
    lower_ends, upper_ends = np.array([list(level.confidence_interval) for level in levels]).T
    return interactions, np.array([level.estimate for level in levels]), lower_ends, upper_ends


def plot_levels(result: Any, ax: Axes | None = None) -> Axes:
    """Return levels of both groups against the number of interactions, intervals as bands."""
    ax = axes_or_new(ax)
    m = result.settings.interactions
    for colour, group_tail in zip(_GROUP_COLOURS, result.tails, strict=False):
        interactions, estimate, lower_ends, upper_ends = level_curve(group_tail, m, _CURVE_POINTS)
        ax.plot(
            interactions,
            estimate,
            "-" if group_tail.fit is not None else "o:",
            color=colour,
            label=group_tail.group,
        )
        ax.fill_between(interactions, lower_ends, upper_ends, color=colour, alpha=0.15, linewidth=0)
    ax.axvline(m, color="0.6", linewidth=0.8)
    ax.axhline(1.0, color="0.6", linewidth=0.8, linestyle=":")
    return finished(
        ax,
        xscale="log",
        xlabel="interactions",
        ylabel="return level of CD",
        title="Return levels",
    )


def plot_tail_quantiles(result: Any, ax: Axes | None = None) -> Axes:
    """Q-Q of both groups' exceedances against their fits."""
    ax = axes_or_new(ax)
    diagonal_ends = []
    for colour, group_tail in zip(_GROUP_COLOURS, result.tails, strict=False):
        if group_tail.fit is None:
            continue
        observed = np.asarray(group_tail.fit.sample)
        model_quantiles = group_tail.fit.quantile(
            (np.arange(1, observed.size + 1) - 0.5) / observed.size
        )
        ax.plot(
            model_quantiles,
            observed,
            "o",
            color=colour,
            markersize=3.5,
            alpha=0.8,
            label=group_tail.group,
        )
        diagonal_ends += [float(model_quantiles[0]), float(model_quantiles[-1])]
    if diagonal_ends:
        ax.plot(
            [min(diagonal_ends), max(diagonal_ends)],
            [min(diagonal_ends), max(diagonal_ends)],
            color="0.3",
            linewidth=1.0,
        )
    title = "Quantiles of the exceedances"
    return finished(
        ax,
        legend=bool(diagonal_ends),
        xlabel="fitted quantile",
        ylabel="observed",
        title=title,
    )


def plot_sensitivity(result: Any, ax: Axes | None = None) -> Axes:
    """ECD with its interval against the exceedances of the group, and the margin as lines.

    `result`: of `fairstats.ecd(…, sensitivity=(0.25, 0.5, 0.7, 1.4, 2, 4))`, whose answers are
    drawn beside the one that is reported (filled). Where they drift with k, the tail is not
    generalised Pareto there.
    """
    ax = axes_or_new(ax)
    for colour, chosen_comparison in zip(_GROUP_COLOURS, result.comparisons, strict=False):
        other_comparisons = [
            comparison
            for comparison in result.sensitivity
            if comparison.group == chosen_comparison.group
        ]
        drawn = sorted(
            [chosen_comparison, *other_comparisons],
            key=lambda comparison: comparison.exceedances[0],
        )
        exceedances = [comparison.exceedances[0] for comparison in drawn]
        intervals = [comparison.confidence_interval for comparison in drawn]
        lower_ends, upper_ends = zip(*intervals, strict=True)
        ax.plot(
            exceedances,
            [comparison.estimate for comparison in drawn],
            "o-",
            color=colour,
            fillstyle="none",
            label=chosen_comparison.group,
        )
        ax.fill_between(exceedances, lower_ends, upper_ends, color=colour, alpha=0.15, linewidth=0)
        ax.plot(chosen_comparison.exceedances[0], chosen_comparison.estimate, "o", color=colour)
    for margin_line in (-result.settings.margin, 0.0, result.settings.margin):
        ax.axhline(
            margin_line,
            color="0.6",
            linewidth=0.8,
            linestyle="-" if margin_line == 0.0 else ":",
        )
    return finished(
        ax,
        xlabel="exceedances of the group",
        ylabel="ECD",
        title="ECD by the number of exceedances",
    )


def plot_ecd(result: Any, axes: Any = None) -> Any:
    """Draw three panels of an ECD: densities of the extremes, return levels, Q-Q.

    Returns an array of shape (3,), or the axes that were given; raises InputError if those are not
    three.
    """
    axes, panels = panels_or_new(axes, (1, 3), "three", figsize=(13.0, 4.0))
    for draw_panel, panel_axes in zip(
        (plot_extremes, plot_levels, plot_tail_quantiles), panels, strict=True
    ):
        draw_panel(result, panel_axes)
    return axes
