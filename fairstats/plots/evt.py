"""Fitted tails: quantiles, probabilities, return levels with band, profile likelihood, thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairstats.ground.checks import Floats
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import Axes
from fairstats.plots.picture import axes_or_new, finished, panels_or_new

COLOUR = "C0"
_MARKS: dict[str, Any] = {"marker": "o", "markersize": 3.5, "linestyle": "none", "color": COLOUR, "alpha": 0.8}
_LINE: dict[str, Any] = {"color": "0.3", "linewidth": 1.0}
#: Points of the return-level curve.
_POINTS = 25


def plot_fit(fit: Any, axes: Any = None) -> Any:
    """Q-Q, P-P, return levels with band, profile likelihood of the shape, in four axes; InputError for any other."""
    axes, panels = panels_or_new(axes, (2, 2), "four", figsize=(9.0, 7.0))
    for plot, panel in zip((plot_quantiles, plot_probabilities, plot_return_levels), panels, strict=False):
        plot(fit, panel)
    if fit.method == "mle":
        plot_profile(fit.profile("shape"), panels[3])
    else:
        _plot_density(fit, panels[3])
    return axes


def plot_quantiles(fit: Any, ax: Axes | None = None) -> Axes:
    """Q-Q: the sample against the quantiles of the fit at (i − ½)/n."""
    ax = axes_or_new(ax)
    sample = fit.sample
    model = fit.quantile(_positions(sample.size))
    ax.plot(model, sample, **_MARKS)
    ends = [min(model[0], sample[0]), max(model[-1], sample[-1])]
    ax.plot(ends, ends, **_LINE)
    return finished(ax, legend=False, xlabel="fitted quantile", ylabel="observed", title="Quantiles")


def plot_probabilities(fit: Any, ax: Axes | None = None) -> Axes:
    """P-P: the fitted distribution function at the sample against (i − ½)/n."""
    ax = axes_or_new(ax)
    ax.plot(_positions(fit.sample.size), fit.cdf(fit.sample), **_MARKS)
    ax.plot([0.0, 1.0], [0.0, 1.0], **_LINE)
    words = {"xlabel": "empirical probability", "ylabel": "fitted probability", "title": "Probabilities"}
    return finished(ax, legend=False, **words)


def plot_return_levels(fit: Any, ax: Axes | None = None) -> Axes:
    """Return levels against their period (logarithmic), the interval as a band, and the sample."""
    ax = axes_or_new(ax)
    n, per, unit = fit.sample.size, 1.0 / fit.rate, "blocks" if fit.model == "gev" else "observations"
    first = 1.0 if fit.model == "gev" else per
    periods = np.geomspace(first * 1.01, 10.0 * first * n, _POINTS)
    levels, low, high = _level_band(fit, periods)
    ax.fill_between(periods, low, high, color=COLOUR, alpha=0.2, linewidth=0)
    ax.plot(periods, levels, color=COLOUR)
    ax.plot(per / (1.0 - _positions(n)), fit.sample, **{**_MARKS, "color": "0.3"})
    top = np.nanmax(np.append(fit.sample[-1], levels))
    reach = np.nanmax(np.where(np.isfinite(high), high, top))
    bottom = float(np.nanmin(np.append(fit.sample[0], low)))
    ylim = (bottom, float(min(reach, bottom + 4.0 * (top - bottom))))
    title = f"Return levels, {100 * fit.confidence_level:g}% band"
    return finished(ax, legend=False, xscale="log", xlabel=unit, ylabel="return level", title=title, ylim=ylim)


def plot_profile(curve: Any, ax: Axes | None = None) -> Axes:
    """Deviance of a parameter, with the critical value and the interval that it cuts."""
    ax = axes_or_new(ax)
    ax.plot(curve.values, curve.deviance, color=COLOUR)
    ax.axhline(curve.critical_value, **_LINE)
    ax.axvline(curve.estimate, linestyle=":", **_LINE)
    for end in curve.confidence_interval:
        if np.isfinite(end):
            ax.axvline(end, linestyle="--", **_LINE)
    title = f"Profile likelihood, {100 * curve.confidence_interval.confidence_level:g}% interval"
    return finished(ax, legend=False, xlabel=curve.parameter, ylabel="deviance", title=title, ylim=(0.0, None))


def plot_mean_residual_life(life: Any, ax: Axes | None = None) -> Axes:
    """Mean excess over each threshold, with its interval."""
    ax = axes_or_new(ax)
    ax.fill_between(life.thresholds, life.low, life.high, color=COLOUR, alpha=0.2, linewidth=0)
    ax.plot(life.thresholds, life.mean_excess, color=COLOUR)
    return finished(ax, legend=False, xlabel="threshold", ylabel="mean excess", title="Mean residual life")


def plot_threshold_stability(stability: Any, axes: Any = None) -> Any:
    """Shape and modified scale over thresholds, two panels, with intervals."""
    axes, panels = panels_or_new(axes, (2, 1), "two", sharex=True)
    table = stability.to_frame()
    for panel, name in zip(panels, ("shape", "modified scale"), strict=True):
        rows = table[table["metric"] == name]
        low, high = rows["estimate"] - rows["ci_low"], rows["ci_high"] - rows["estimate"]
        reach = np.maximum([low.fillna(0.0), high.fillna(0.0)], 0.0)
        style: dict[str, Any] = {"fmt": "o", "color": COLOUR, "markersize": 3.5, "linewidth": 1.0}
        panel.errorbar(rows["threshold"], rows["estimate"], yerr=reach, **style)
        panel.set_ylabel(name)
    panels[1].set_xlabel("threshold")
    return axes


def plot_averaged_level(averaged: Any, ax: Axes | None = None) -> Axes:
    """Level above each threshold with its interval, as dark as its weight, and the average as a band."""
    ax = axes_or_new(ax)
    ax.axhspan(*averaged.confidence_interval, color=COLOUR, alpha=0.12, linewidth=0)
    ax.axhline(averaged.estimate, color=COLOUR, linewidth=1.0)
    shade = averaged.weights / averaged.weights.max()
    for u, (below, at, above), dark in zip(averaged.thresholds, averaged.levels, shade, strict=True):
        style: dict[str, Any] = {"color": COLOUR, "alpha": 0.15 + 0.85 * float(dark)}
        ax.vlines(u, below, above, linewidth=1.0, **style)
        ax.plot(u, at, "o", markersize=3.5, **style)
    title = "Averaged over thresholds, as dark as their weights"
    return finished(ax, legend=False, xlabel="threshold", ylabel=f"return level of {averaged.m:g}", title=title)


def _plot_density(fit: Any, ax: Axes) -> None:
    sample = fit.sample
    bins = np.linspace(sample[0], sample[-1], int(np.clip(np.sqrt(sample.size), 8, 60)) + 1)
    ax.hist(sample, bins=bins.tolist(), density=True, color=COLOUR, alpha=0.3)
    ax.stairs(np.diff(fit.cdf(bins)) / np.diff(bins), bins, color=COLOUR)
    ax.set(xlabel="value", ylabel="density", title="Density")


def _level_band(fit: Any, periods: Floats) -> Floats:
    """Levels and interval ends, shape (3, K); delta intervals for fits without likelihood."""
    method = "signed_root" if fit.by_root else "profile" if fit.method == "mle" else "delta"
    out = np.full((3, periods.size), np.nan)
    for i, m in enumerate(periods):
        try:
            level = fit.return_level(m, method=method)
        except InputError:
            out[0, i] = fit.quantile(1.0 - 1.0 / (m * fit.rate))
            continue
        out[:, i] = level.estimate, level.confidence_interval.low, level.confidence_interval.high
    return out


def _positions(n: int) -> Floats:
    return (np.arange(1, n + 1) - 0.5) / n
