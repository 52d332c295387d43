"""Fitted tails: quantiles, probabilities, return levels with band, profile likelihood,
thresholds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairstats.ground.checks import Floats
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import Axes
from fairstats.plots.picture import axes_or_new, finished, panels_or_new

COLOUR = "C0"
_MARK_STYLE: dict[str, Any] = {
    "marker": "o",
    "markersize": 3.5,
    "linestyle": "none",
    "color": COLOUR,
    "alpha": 0.8,
}
_LINE_STYLE: dict[str, Any] = {"color": "0.3", "linewidth": 1.0}
#: Points of the return-level curve.
_CURVE_POINTS = 25


def plot_fit(fit: Any, axes: Any = None) -> Any:
    """Q-Q, P-P, return levels with band, profile likelihood of the shape, in four axes.

    InputError for any other.
    """
    axes, panels = panels_or_new(axes, (2, 2), "four", figsize=(9.0, 7.0))
    for draw_panel, panel_axes in zip(
        (plot_quantiles, plot_probabilities, plot_return_levels), panels, strict=False
    ):
        draw_panel(fit, panel_axes)
    if fit.method == "mle":
        plot_profile(fit.profile("shape"), panels[3])
    else:
        _plot_density(fit, panels[3])
    return axes


def plot_quantiles(fit: Any, ax: Axes | None = None) -> Axes:
    """Q-Q: the sample against the quantiles of the fit at (i − ½)/n."""
    ax = axes_or_new(ax)
    sample = fit.sample
    model_quantiles = fit.quantile(_plotting_positions(sample.size))
    ax.plot(model_quantiles, sample, **_MARK_STYLE)
    diagonal_ends = [min(model_quantiles[0], sample[0]), max(model_quantiles[-1], sample[-1])]
    ax.plot(diagonal_ends, diagonal_ends, **_LINE_STYLE)
    return finished(
        ax,
        legend=False,
        xlabel="fitted quantile",
        ylabel="observed",
        title="Quantiles",
    )


def plot_probabilities(fit: Any, ax: Axes | None = None) -> Axes:
    """P-P: the fitted distribution function at the sample against (i − ½)/n."""
    ax = axes_or_new(ax)
    ax.plot(_plotting_positions(fit.sample.size), fit.cdf(fit.sample), **_MARK_STYLE)
    ax.plot([0.0, 1.0], [0.0, 1.0], **_LINE_STYLE)
    axis_words = {
        "xlabel": "empirical probability",
        "ylabel": "fitted probability",
        "title": "Probabilities",
    }
    return finished(ax, legend=False, **axis_words)


def plot_return_levels(fit: Any, ax: Axes | None = None) -> Axes:
    """Return levels against their period (logarithmic), the interval as a band, and the sample."""
    ax = axes_or_new(ax)
    sample_size = fit.sample.size
    mean_spacing = 1.0 / fit.rate
    if fit.model == "gev":
        period_unit = "blocks"
    else:
        period_unit = "observations"
    if fit.model == "gev":
        first_period = 1.0
    else:
        first_period = mean_spacing
    periods = np.geomspace(first_period * 1.01, 10.0 * first_period * sample_size, _CURVE_POINTS)
    levels, lower_ends, upper_ends = _level_band(fit, periods)
    ax.fill_between(periods, lower_ends, upper_ends, color=COLOUR, alpha=0.2, linewidth=0)
    ax.plot(periods, levels, color=COLOUR)
    ax.plot(
        mean_spacing / (1.0 - _plotting_positions(sample_size)),
        fit.sample,
        **{**_MARK_STYLE, "color": "0.3"},
    )
    highest_level = np.nanmax(np.append(fit.sample[-1], levels))
    highest_end = np.nanmax(np.where(np.isfinite(upper_ends), upper_ends, highest_level))
    lowest_end = float(np.nanmin(np.append(fit.sample[0], lower_ends)))
    level_limits = (
        lowest_end,
        float(min(highest_end, lowest_end + 4.0 * (highest_level - lowest_end))),
    )
    title = f"Return levels, {100 * fit.confidence_level:g}% band"
    return finished(
        ax,
        legend=False,
        xscale="log",
        xlabel=period_unit,
        ylabel="return level",
        title=title,
        ylim=level_limits,
    )


def plot_profile(curve: Any, ax: Axes | None = None) -> Axes:
    """Deviance of a parameter, with the critical value and the interval that it cuts."""
    ax = axes_or_new(ax)
    ax.plot(curve.values, curve.deviance, color=COLOUR)
    ax.axhline(curve.critical_value, **_LINE_STYLE)
    ax.axvline(curve.estimate, linestyle=":", **_LINE_STYLE)
    for interval_end in curve.confidence_interval:
        if np.isfinite(interval_end):
            ax.axvline(interval_end, linestyle="--", **_LINE_STYLE)
    title = f"Profile likelihood, {100 * curve.confidence_interval.confidence_level:g}% interval"
    return finished(
        ax,
        legend=False,
        xlabel=curve.parameter,
        ylabel="deviance",
        title=title,
        ylim=(0.0, None),
    )


def plot_mean_residual_life(life: Any, ax: Axes | None = None) -> Axes:
    """Mean excess over each threshold, with its interval."""
    ax = axes_or_new(ax)
    ax.fill_between(life.thresholds, life.low, life.high, color=COLOUR, alpha=0.2, linewidth=0)
    ax.plot(life.thresholds, life.mean_excess, color=COLOUR)
    return finished(
        ax,
        legend=False,
        xlabel="threshold",
        ylabel="mean excess",
        title="Mean residual life",
    )


def plot_threshold_stability(stability: Any, axes: Any = None) -> Any:
    """Shape and modified scale over thresholds, two panels, with intervals."""
    axes, panels = panels_or_new(axes, (2, 1), "two", sharex=True)
    table = stability.to_frame()
    for panel_axes, parameter_name in zip(panels, ("shape", "modified scale"), strict=True):
        parameter_rows = table[table["metric"] == parameter_name]
        distance_below = parameter_rows["estimate"] - parameter_rows["ci_low"]
        distance_above = parameter_rows["ci_high"] - parameter_rows["estimate"]
        error_lengths = np.maximum([distance_below.fillna(0.0), distance_above.fillna(0.0)], 0.0)
        marker_style: dict[str, Any] = {
            "fmt": "o",
            "color": COLOUR,
            "markersize": 3.5,
            "linewidth": 1.0,
        }
        panel_axes.errorbar(
            parameter_rows["threshold"],
            parameter_rows["estimate"],
            yerr=error_lengths,
            **marker_style,
        )
        panel_axes.set_ylabel(parameter_name)
    panels[1].set_xlabel("threshold")
    return axes


def plot_averaged_level(averaged: Any, ax: Axes | None = None) -> Axes:
    """Level above each threshold with its interval, as dark as its weight, and the average as a
    band.
    """
    ax = axes_or_new(ax)
    ax.axhspan(*averaged.confidence_interval, color=COLOUR, alpha=0.12, linewidth=0)
    ax.axhline(averaged.estimate, color=COLOUR, linewidth=1.0)
    weight_shades = averaged.weights / averaged.weights.max()
    for threshold, (interval_low, level_estimate, interval_high), relative_weight in zip(
        averaged.thresholds, averaged.levels, weight_shades, strict=True
    ):
        line_style: dict[str, Any] = {
            "color": COLOUR,
            "alpha": 0.15 + 0.85 * float(relative_weight),
        }
        ax.vlines(threshold, interval_low, interval_high, linewidth=1.0, **line_style)
        ax.plot(threshold, level_estimate, "o", markersize=3.5, **line_style)
    title = "Averaged over thresholds, as dark as their weights"
    return finished(
        ax,
        legend=False,
        xlabel="threshold",
        ylabel=f"return level of {averaged.m:g}",
        title=title,
    )


def _plot_density(fit: Any, ax: Axes) -> None:
    sample = fit.sample
    bin_edges = np.linspace(sample[0], sample[-1], int(np.clip(np.sqrt(sample.size), 8, 60)) + 1)
    ax.hist(sample, bins=bin_edges.tolist(), density=True, color=COLOUR, alpha=0.3)
    ax.stairs(np.diff(fit.cdf(bin_edges)) / np.diff(bin_edges), bin_edges, color=COLOUR)
    ax.set(xlabel="value", ylabel="density", title="Density")


def _level_band(fit: Any, periods: Floats) -> Floats:
    """Levels and interval ends, shape (3, K); delta intervals for fits without likelihood."""
    if fit.by_root:
        interval_method = "signed_root"
    else:
        interval_method = "profile" if fit.method == "mle" else "delta"
    level_and_ends = np.full((3, periods.size), np.nan)
    for period_number, return_period in enumerate(periods):
        try:
            level = fit.return_level(return_period, method=interval_method)
        except InputError:
            level_and_ends[0, period_number] = fit.quantile(1.0 - 1.0 / (return_period * fit.rate))
            continue
        level_and_ends[:, period_number] = (
            level.estimate,
            level.confidence_interval.low,
            level.confidence_interval.high,
        )
    return level_and_ends


def _plotting_positions(n: int) -> Floats:
    return (np.arange(1, n + 1) - 0.5) / n
