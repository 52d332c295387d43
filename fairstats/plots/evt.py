"""Fitted tails: quantiles, probabilities, return levels with band, profile likelihood, thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.errors import InputError
from fairstats.ground.lazy import Axes
from fairstats.plots.picture import axes_or_new, panels_or_new

COLOUR = "C0"
_MARKS: dict[str, Any] = {
    "marker": "o", "markersize": 3.5, "linestyle": "none", "color": COLOUR, "alpha": 0.8,
}  # fmt: skip
_LINE: dict[str, Any] = {"color": "0.3", "linewidth": 1.0}
#: Points of the return-level curve.
_POINTS = 25


def plot_fit(fit: Any, axes: Any = None) -> Any:
    """Draw the four panels of a fit: Q-Q, P-P, return levels with band, profile likelihood of the shape.

    `fit` is read by its attributes and methods; `axes` are four to draw in, by default those of a new figure
    of two by two, which are returned. Raises InputError if `axes` are not four, and MissingDependencyError
    without matplotlib (extra ``report``).

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import numpy as np
    >>> from fairstats.numerics.evt import fit_gpd
    >>> x = np.random.default_rng(1).exponential(size=2000)
    >>> fit_gpd(x, threshold=2.0, backend="scipy").plot().shape
    (2, 2)
    """
    axes, panels = panels_or_new(axes, (2, 2), "four", figsize=(9.0, 7.0))
    plot_quantiles(fit, panels[0])
    plot_probabilities(fit, panels[1])
    plot_return_levels(fit, panels[2])
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
    ax.set(xlabel="fitted quantile", ylabel="observed", title="Quantiles")
    return ax


def plot_probabilities(fit: Any, ax: Axes | None = None) -> Axes:
    """P-P: the fitted distribution function at the sample against (i − ½)/n."""
    ax = axes_or_new(ax)
    ax.plot(_positions(fit.sample.size), fit.cdf(fit.sample), **_MARKS)
    ax.plot([0.0, 1.0], [0.0, 1.0], **_LINE)
    ax.set(xlabel="empirical probability", ylabel="fitted probability", title="Probabilities")
    return ax


def plot_return_levels(fit: Any, ax: Axes | None = None) -> Axes:
    """Return levels against their period (logarithmic), the interval as a band, and the sample."""
    ax = axes_or_new(ax)
    n, per = fit.sample.size, 1.0 / fit.rate
    observed = per / (1.0 - _positions(n))
    periods = np.geomspace(per * 1.01, 10.0 * per * n, _POINTS)
    if fit.model == "gev":
        periods = np.geomspace(1.01, 10.0 * n, _POINTS)
    band = _level_band(fit, periods)
    ax.fill_between(periods, band[1], band[2], color=COLOUR, alpha=0.2, linewidth=0)
    ax.plot(periods, band[0], color=COLOUR)
    ax.plot(observed, fit.sample, **{**_MARKS, "color": "0.3"})
    ax.set_xscale("log")
    ax.set(
        xlabel="blocks" if fit.model == "gev" else "observations",
        ylabel="return level",
        title=f"Return levels, {100 * fit.confidence_level:g}% band",
    )
    top = np.nanmax(np.append(fit.sample[-1], band[0]))
    reach = np.nanmax(np.where(np.isfinite(band[2]), band[2], top))
    bottom = float(np.nanmin(np.append(fit.sample[0], band[1])))
    ax.set_ylim(bottom, float(min(reach, bottom + 4.0 * (top - bottom))))
    return ax


def plot_profile(curve: Any, ax: Axes | None = None) -> Axes:
    """Deviance of a parameter, with the critical value and the interval that it cuts.

    `curve`: read by `parameter`, `estimate`, `values`, `deviance`, `critical_value`, `confidence_interval`.
    """
    ax = axes_or_new(ax)
    ax.plot(curve.values, curve.deviance, color=COLOUR)
    ax.axhline(curve.critical_value, **_LINE)
    ax.axvline(curve.estimate, linestyle=":", **_LINE)
    for end in curve.confidence_interval:
        if np.isfinite(end):
            ax.axvline(end, linestyle="--", **_LINE)
    ax.set(
        xlabel=curve.parameter,
        ylabel="deviance",
        title=f"Profile likelihood, {100 * curve.confidence_interval.confidence_level:g}% interval",
    )
    ax.set_ylim(bottom=0.0)
    return ax


def plot_mean_residual_life(life: Any, ax: Axes | None = None) -> Axes:
    """Mean excess over each threshold, with its interval."""
    ax = axes_or_new(ax)
    ax.fill_between(life.thresholds, life.low, life.high, color=COLOUR, alpha=0.2, linewidth=0)
    ax.plot(life.thresholds, life.mean_excess, color=COLOUR)
    ax.set(xlabel="threshold", ylabel="mean excess", title="Mean residual life")
    return ax


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
    low, high = averaged.confidence_interval
    ax.axhspan(low, high, color=COLOUR, alpha=0.12, linewidth=0)
    ax.axhline(averaged.estimate, color=COLOUR, linewidth=1.0)
    shade = averaged.weights / averaged.weights.max()
    for u, (below, at, above), dark in zip(averaged.thresholds, averaged.levels, shade, strict=True):
        style: dict[str, Any] = {"color": COLOUR, "alpha": 0.15 + 0.85 * float(dark)}
        ax.vlines(u, below, above, linewidth=1.0, **style)
        ax.plot(u, at, "o", markersize=3.5, **style)
    title = "Averaged over thresholds, as dark as their weights"
    ax.set(xlabel="threshold", ylabel=f"return level of {averaged.m:g}", title=title)
    return ax


def _plot_density(fit: Any, ax: Axes) -> None:
    sample = fit.sample
    bins = np.linspace(sample[0], sample[-1], int(np.clip(np.sqrt(sample.size), 8, 60)) + 1)
    ax.hist(sample, bins=bins.tolist(), density=True, color=COLOUR, alpha=0.3)
    ax.stairs(np.diff(fit.cdf(bins)) / np.diff(bins), bins, color=COLOUR)
    ax.set(xlabel="value", ylabel="density", title="Density")


def _level_band(fit: Any, periods: NDArray[np.float64]) -> NDArray[np.float64]:
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


def _positions(n: int) -> NDArray[np.float64]:
    return (np.arange(1, n + 1) - 0.5) / n
