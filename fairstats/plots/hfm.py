"""HFM: D, D_f and HFM with their stability ranges; ApproxDist against the exact distance, values and time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairstats.ground.checks import check_choice
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import Axes
from fairstats.plots.picture import axes_or_new, finished

_POINT, _RANGE, _LINE = "#0072b2", "#56b4e9", "0.4"
_NAMES = {"D": "D", "D_f": "$D_f$", "HFM": "HFM = $D_f/D$ − 1"}


def plot_hfm(result: Any, *, quantity: str = "HFM", ax: Axes | None = None) -> Axes:
    """D, D_f or HFM of every entry, with the range over subsamples of 80% of the rows.

    `quantity`, {"HFM", "D", "D_f"}. The bars are stability ranges, not confidence intervals, and the axis says so. An
    infinite HFM is named at the edge. Raises InputError for another quantity.
    """
    check_choice("quantity", quantity, _NAMES)
    ax = axes_or_new(ax)
    entries = result.entries
    place = np.arange(len(entries))[::-1]
    for y, entry in zip(place, entries, strict=True):
        value = {"D": entry.d, "D_f": entry.d_f, "HFM": entry.hfm}[quantity]
        stable = [s for s in entry.stability if s.quantity == quantity]
        if stable and np.isfinite([stable[0].low, stable[0].high]).all():
            ax.hlines(y, stable[0].low, stable[0].high, color=_RANGE, linewidth=5, alpha=0.6)
        if np.isfinite(value):
            ax.plot(value, y, "o", color=_POINT)
        else:
            ax.text(0.98, y, "∞", transform=ax.get_yaxis_transform(), ha="right", va="center", color=_POINT)
    if quantity == "HFM":
        ax.axvline(0, color=_LINE, linewidth=0.8)
    ax.set_yticks(place, [f"{e.attribute}: {e.group}" for e in entries])
    ranged = " (bar: range over subsamples of 80%)" if any(e.stability for e in entries) else ""
    return finished(ax, legend=False, ylim=(-0.6, len(entries) - 0.4), xlabel=_NAMES[quantity] + ranged)


def _axes_of(exact: Sequence[Any], approximate: Sequence[Any], ax: Axes | None) -> Axes:
    """Axes for pairs of distances, which have to be as many of either."""
    if len(exact) != len(approximate) or not len(exact):
        got = f"{len(approximate)} distances, {len(exact)} exact ones"
        cure = "pass results of set_distance and approx_set_distance of the same sets, in one order"
        raise InputError("approximate", got=got, allowed="as many of either, at least one", cure=cure)
    return axes_or_new(ax)


def plot_approximation(exact: Sequence[Any], approximate: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """Approximate against exact distances of the same pairs of sets, with the identity line (figure 3a)."""
    ax = _axes_of(exact, approximate, ax)
    x, y = ([d.value for d in distances] for distances in (exact, approximate))
    top = max(*x, *y) * 1.05 or 1.0
    ax.plot([0, top], [0, top], color=_LINE, linewidth=0.8, label="equal")
    ax.plot(x, y, "o", color=_POINT, alpha=0.8)
    if len(x) > 2 and np.std(x) > 0 and np.std(y) > 0:
        ax.plot([], [], " ", label=f"correlation {np.corrcoef(x, y)[0, 1]:.3f}")
    return finished(ax, xlim=(0, top), ylim=(0, top), xlabel="exact distance", ylabel="ApproxDist")


def plot_approximation_error(exact: Sequence[Any], approximate: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """Relative error of ApproxDist against the exact distance (figure 3b), of pairs of sets with a distance."""
    ax = _axes_of(exact, approximate, ax)
    pairs = [(d.value, a.value / d.value - 1) for d, a in zip(exact, approximate, strict=True) if d.value > 0]
    ax.axhline(0, color=_LINE, linewidth=0.8)
    ax.plot([x for x, _ in pairs], [100 * y for _, y in pairs], "o", color=_POINT, alpha=0.8)
    return finished(ax, legend=False, xlabel="exact distance", ylabel="ApproxDist too large by (%)")


def plot_approximation_time(exact: Sequence[Any], approximate: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """Time of ApproxDist against that of the exact distance, logarithmic (the paper's figures 3c and 3d)."""
    ax = _axes_of(exact, approximate, ax)
    x, y = ([max(d.seconds, 1e-6) for d in distances] for distances in (exact, approximate))
    ends = [min(*x, *y) / 2, max(*x, *y) * 2]
    ax.plot(ends, ends, color=_LINE, linewidth=0.8, label="equal")
    ax.plot(x, y, "o", color=_POINT, alpha=0.8)
    limits: dict[str, Any] = {"xscale": "log", "yscale": "log", "xlim": ends, "ylim": ends}
    return finished(ax, xlabel="exact distance (s)", ylabel="ApproxDist (s)", **limits)


def plot_ranks(result: Any, *, ax: Axes | None = None) -> Axes:
    """Friedman chart: average ranks; rules whose bars do not overlap differ significantly (figure 2a)."""
    ax = axes_or_new(ax)
    place = np.arange(len(result.rules))[::-1]
    half = result.critical_difference / 2
    for y, rank in zip(place, result.ranks, strict=True):
        ax.hlines(y, rank - half, rank + half, color=_RANGE, linewidth=3)
        ax.plot(rank, y, "o", color=_POINT)
    ax.set_yticks(place, list(result.rules))
    return finished(ax, legend=False, xlabel=f"average rank, 1 the best (CD = {result.critical_difference:.2f})")


def plot_tradeoff(frame: Any, *, ax: Axes | None = None) -> Axes:
    """Cost of what every rule chooses over α, of `HfmExperiment.tradeoff` (figure 1c); smaller is better."""
    ax = axes_or_new(ax)
    for rule, part in frame.groupby("rule", sort=False):
        (line,) = ax.plot(part["alpha"], part["cost"], label=rule)
        ax.fill_between(part["alpha"], part["ci_low"], part["ci_high"], color=line.get_color(), alpha=0.12)
    ax.set(xlabel="α, weight of the error", ylabel="α·error + (1 − α)·|fairness|, test rows")
    ax.legend(fontsize="small")
    return ax


def plot_hyperparameter(
    exact: Any, approximate: Sequence[Any], *, name: str = "m2", quantity: str = "value", ax: Axes | None = None
) -> Axes:
    """ApproxDist of the same sets over `name`, {"m1", "m2"}, beside the exact distance (the paper's figure 4).

    Runs with one value of `name` are joined by their mean; `quantity`, {"value", "seconds"}.
    """
    check_choice("name", name, ("m1", "m2"))
    check_choice("quantity", quantity, ("value", "seconds"))
    ax = _axes_of(approximate, approximate, ax)
    runs: dict[int, list[float]] = {}
    for found in approximate:
        runs.setdefault(getattr(found, name), []).append(getattr(found, quantity))
    ax.axhline(getattr(exact, quantity), color=_LINE, linewidth=0.8, label="exact")
    ax.plot(sorted(runs), [np.mean(runs[m]) for m in sorted(runs)], color=_RANGE)
    points = [(m, value) for m, values in runs.items() for value in values]
    ax.plot(*zip(*points, strict=True), "o", color=_POINT, alpha=0.6, label="ApproxDist")
    ylabel, yscale = ("distance", "linear") if quantity == "value" else ("time (s)", "log")
    return finished(ax, xlabel=name, ylabel=ylabel, yscale=yscale)


def plot_time_curve(exact: Sequence[Any], approximate: Sequence[Any], *, ax: Axes | None = None) -> Axes:
    """Time of both over the number of rows, logarithmic."""
    ax = _axes_of(exact, approximate, ax)
    for label, distances, color in (("exact", exact, _POINT), ("ApproxDist", approximate, _RANGE)):
        points = sorted((d.n_a + d.n_b, max(d.seconds, 1e-6)) for d in distances)
        ax.plot(*zip(*points, strict=True), "o-", color=color, label=label)
    return finished(ax, xscale="log", yscale="log", xlabel="rows", ylabel="time (s)")
