"""Counterfactual discrimination: values with thresholds, densities of the extremes, return levels, Q-Q."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairstats.ground.checks import Floats, check_that
from fairstats.ground.lazy import Axes
from fairstats.plots.picture import axes_or_new, finished, panels_or_new

_GROUPS = ("C3", "C0", "C2", "C4", "C1")
#: More points than this are drawn as a random share: the eye sees no more, and a picture stays small.
_MOST_POINTS = 5_000
#: Points of a return-level curve.
_CURVE = 40


def plot_discrimination(sample: Any, tails: Sequence[Any] = (), ax: Axes | None = None) -> Axes:
    """CD of every row, one panel of points per group, thresholds as lines (figure 1 of Monjezi et al.).

    `sample`: read by its groups; `tails`: thresholds; values above them are drawn in full, the others as at
    most 5,000 points a group.
    """
    ax = axes_or_new(ax)
    fine = isinstance(tails, (list, tuple)) and all(hasattr(t, "threshold") for t in tails)
    check_that(fine, "tails", tails, "a list of fitted tails", "plot(fs.ecd(sample, …).tails)")
    threshold = {t.group: t.threshold for t in tails}
    order = list(dict.fromkeys([*threshold, *(g.group for g in sample.groups)]))  # colours as in `plot_ecd`
    start, ticks = 0.0, []
    for group in sample.groups:
        cd = group.values()
        if not cd.size:
            continue
        colour = _GROUPS[order.index(group.group) % len(_GROUPS)]
        u = threshold.get(group.group, np.inf)
        above, below = np.flatnonzero(cd > u), np.flatnonzero(cd <= u)
        if below.size > _MOST_POINTS:
            below = np.random.default_rng(0).choice(below, _MOST_POINTS, replace=False)
        place = start + np.linspace(0.0, 1.0, cd.size)
        ax.plot(place[below], cd[below], ".", color=colour, alpha=0.25, markersize=2, rasterized=True)
        ax.plot(place[above], cd[above], "o", color=colour, markersize=3, label=group.group)
        if np.isfinite(u):
            ax.plot([start, start + 1.0], [u, u], color="0.2", linewidth=1.0)
        ticks.append((start + 0.5, f"{group.group}\nN = {cd.size:,}"))
        start += 1.15
    ax.axhline(0.0, color="0.6", linewidth=0.8)
    ax.set_xticks([t for t, _ in ticks], [name for _, name in ticks])
    words = {"ylabel": "CD: score with another value − score", "title": "Counterfactual discrimination"}
    return finished(ax, legend=False, **words)


def plot_extremes(result: Any, ax: Axes | None = None) -> Axes:
    """Densities of the largest CD in m interactions, by group (figure 2 of Monjezi et al.).

    P(max ≤ x) = exp(−m·λ·(1 − F(x))), with F of the fitted excesses; a dashed line marks the return level.
    """
    ax = axes_or_new(ax)
    m = result.settings.interactions
    for colour, tail in zip(_GROUPS, result.tails, strict=False):
        if tail.fit is None:
            ax.axvline(tail.level.estimate, color=colour, linestyle=":", label=f"{tail.group}: no model")
            continue
        count = m * tail.rate
        low, high = (tail.fit.quantile(max(1.0 + np.log(p) / count, 0.0)) for p in (0.001, 0.995))
        x = np.linspace(float(low), float(high), 400)
        cdf = np.exp(-count * tail.fit.sf(x))
        ax.plot(x, np.gradient(cdf, x), color=colour, label=tail.group)
        ax.axvline(tail.level.estimate, color=colour, linestyle="--", linewidth=1.0)
    return finished(ax, xlabel=f"largest CD in {m:,.0f} interactions", ylabel="density", title="Extremes")


def level_curve(tail: Any, m: float, points: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Numbers of interactions up to far beyond m, return levels there, and both ends of their intervals."""
    if tail.fit is None:
        levels = tail.ordered_levels
        at = np.array([level.interactions for level in levels])
    else:
        at = np.geomspace(1.05 / tail.rate, max(20.0 * m, 50.0 / tail.rate), points)
        levels = [tail.fit.return_level(float(v)) for v in at]
    low, high = np.array([list(level.confidence_interval) for level in levels]).T
    return at, np.array([level.estimate for level in levels]), low, high


def plot_levels(result: Any, ax: Axes | None = None) -> Axes:
    """Return levels of both groups against the number of interactions, intervals as bands."""
    ax = axes_or_new(ax)
    m = result.settings.interactions
    for colour, tail in zip(_GROUPS, result.tails, strict=False):
        at, estimate, low, high = level_curve(tail, m, _CURVE)
        ax.plot(at, estimate, "-" if tail.fit is not None else "o:", color=colour, label=tail.group)
        ax.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
    ax.axvline(m, color="0.6", linewidth=0.8)
    ax.axhline(1.0, color="0.6", linewidth=0.8, linestyle=":")
    return finished(ax, xscale="log", xlabel="interactions", ylabel="return level of CD", title="Return levels")


def plot_tail_quantiles(result: Any, ax: Axes | None = None) -> Axes:
    """Q-Q of both groups' exceedances against their fits."""
    ax = axes_or_new(ax)
    ends = []
    for colour, tail in zip(_GROUPS, result.tails, strict=False):
        if tail.fit is None:
            continue
        observed = np.asarray(tail.fit.sample)
        model = tail.fit.quantile((np.arange(1, observed.size + 1) - 0.5) / observed.size)
        ax.plot(model, observed, "o", color=colour, markersize=3.5, alpha=0.8, label=tail.group)
        ends += [float(model[0]), float(model[-1])]
    if ends:
        ax.plot([min(ends), max(ends)], [min(ends), max(ends)], color="0.3", linewidth=1.0)
    title = "Quantiles of the exceedances"
    return finished(ax, legend=bool(ends), xlabel="fitted quantile", ylabel="observed", title=title)


def plot_sensitivity(result: Any, ax: Axes | None = None) -> Axes:
    """ECD with its interval against the exceedances of the group, and the margin as lines.

    `result`: of `fairstats.ecd(…, sensitivity=(0.25, 0.5, 0.7, 1.4, 2, 4))`, whose answers are drawn beside
    the one that is reported (filled). Where they drift with k, the tail is not generalised Pareto there.
    """
    ax = axes_or_new(ax)
    for colour, chosen in zip(_GROUPS, result.comparisons, strict=False):
        others = [c for c in result.sensitivity if c.group == chosen.group]
        drawn = sorted([chosen, *others], key=lambda c: c.exceedances[0])
        k, (low, high) = [c.exceedances[0] for c in drawn], zip(*(c.confidence_interval for c in drawn), strict=True)
        ax.plot(k, [c.estimate for c in drawn], "o-", color=colour, fillstyle="none", label=chosen.group)
        ax.fill_between(k, low, high, color=colour, alpha=0.15, linewidth=0)
        ax.plot(chosen.exceedances[0], chosen.estimate, "o", color=colour)
    for line in (-result.settings.margin, 0.0, result.settings.margin):
        ax.axhline(line, color="0.6", linewidth=0.8, linestyle="-" if line == 0.0 else ":")
    return finished(ax, xlabel="exceedances of the group", ylabel="ECD", title="ECD by the number of exceedances")


def plot_ecd(result: Any, axes: Any = None) -> Any:
    """Draw three panels of an ECD: densities of the extremes, return levels, Q-Q.

    Returns an array of shape (3,), or the axes that were given; raises InputError if those are not three.
    """
    axes, panels = panels_or_new(axes, (1, 3), "three", figsize=(13.0, 4.0))
    for plot, panel in zip((plot_extremes, plot_levels, plot_tail_quantiles), panels, strict=True):
        plot(result, panel)
    return axes
