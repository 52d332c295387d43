"""MADD: histograms and densities of groups, MADD against h, losses against λ, before and after."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_that
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import Axes
from fairstats.plots.picture import axes_or_new, finished

#: Colours that stay apart without red and green; further groups go on with matplotlib's.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_APART, _STABLE, _LIMIT = "#c8102e", "#17663f", "#a3161b"
#: Bins that densities are smoothed from; every result of MADD counts them.
_FINE = 100
#: Bins of the histograms of more than two groups.
_SEVERAL = 20
#: Group names are cut here.
_LONGEST_NAME = 40


def _colour(position: int) -> str:
    return COLOURS[position] if position < len(COLOURS) else f"C{position}"


def _name(group: Any) -> str:
    """Name of a group as text of a legend: no mathematics, not too long, never hidden by an underscore."""
    text = str(group)
    text = text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")


def _shares(counts: NDArray[Any]) -> Floats:
    return counts / counts.sum() if counts.sum() > 0 else np.zeros(counts.size)


def _density(counts: NDArray[Any], n: float) -> tuple[Floats, Floats]:
    """Gaussian kernel density of counts in equal bins of [0, 1], reflected at both ends (Silverman)."""
    shares = _shares(counts)
    centres = (np.arange(shares.size) + 0.5) / shares.size
    variance = max(float(shares @ centres**2 - (shares @ centres) ** 2), 0.0)
    width = max(0.9 * variance**0.5 * max(n, 1.0) ** -0.2, 1 / shares.size)
    x = np.linspace(0, 1, 401)

    def kernel(places: Floats) -> Floats:
        z = (x[:, None] - places) / width
        return np.asarray(np.exp(-0.5 * z * z) / (width * np.sqrt(2 * np.pi)))

    return x, np.asarray((kernel(centres) + kernel(-centres) + kernel(2 - centres)) @ shares)


def bin_ends(comparison: Any) -> Floats:
    """Ends of the bins of a comparison, shape (m + 1,)."""
    return np.concatenate([[0.0], comparison.edges, [1.0]])


def plot_histograms(result: Any, *, n_bins: int | None = None, densities: bool = True, ax: Axes | None = None) -> Axes:
    """Histograms of every group with smoothed densities (the paper's figures 2 and 7).

    `result`: read by its `counts` and `comparisons`; `n_bins`: bins of the histograms, equally wide: those that were
    asked for, 100 or a divisor of it; default for two groups the bins that are judged, for more 20; `densities`: also
    draw densities, smoothed from the counts in 100 bins. With two groups the area where the histograms differ is
    hatched: it is MADD. Raises InputError for bins that the result did not count.
    """
    ax = axes_or_new(ax)
    counts = result.counts
    two = len(result.comparisons) == 1 and len(counts.groups) == 2
    if n_bins is None and two:
        (comparison,) = result.comparisons
        edges = bin_ends(comparison)
        rows = [comparison.counts[[comparison.group, comparison.reference].index(g)] for g in counts.groups]
    else:
        edges = np.linspace(0, 1, (n_bins or _SEVERAL) + 1)
        rows = list(counts._on(n_bins or _SEVERAL))
    heights = [_shares(row) / np.diff(edges) for row in rows]
    fine = counts._on(_FINE)
    opacity = 0.3 if len(heights) == 2 else 0.12
    for g, (group, height) in enumerate(zip(counts.groups, heights, strict=True)):
        ax.stairs(height, edges, fill=True, alpha=opacity, color=_colour(g), label=_name(group))
        ax.stairs(height, edges, color=_colour(g), linewidth=1)
        if densities and fine[g].sum() > 0:
            ax.plot(*_density(fine[g], float(counts.sizes[g])), color=_colour(g), linewidth=1.8)
    if len(heights) == 2:
        style: dict[str, Any] = {"facecolor": "none", "edgecolor": _APART, "hatch": "///", "linewidth": 0}
        low, high = np.minimum(*heights), np.maximum(*heights)
        ax.stairs(high, edges, baseline=low, fill=True, label=f"MADD in {edges.size - 1} bins", **style)
    return finished(ax, xlim=(0, 1), ylim=(0, None), xlabel="score", ylabel="density")


def plot_contributions(result: Any, *, ax: Axes | None = None) -> Axes:
    """What every bin adds to MADD in the first comparison of a `result`, with sign."""
    ax = axes_or_new(ax)
    first = result.comparisons[0]
    values = np.asarray(first.contributions)
    edges = bin_ends(first)
    for sign, colour, group in ((1, _colour(0), first.group), (-1, _colour(1), first.reference)):
        part = np.where(sign * values > 0, values, 0.0)
        ax.stairs(part, edges, fill=True, color=colour, alpha=0.6, label=f"more of {_name(group).strip()}")
    ax.axhline(0, color="0.2", linewidth=0.8)
    return finished(ax, xlim=(0, 1), xlabel="score", ylabel="difference of shares")


def plot_search(result: Any, *, ax: Axes | None = None) -> Axes:
    """MADD against h with the stable stretch, of the first comparison; InputError if the result holds no curve."""
    first = result.comparisons[0]
    if first.curve is None:
        got = "'curve' of a result without one: of given bins, or of an audit"
        cure = "call madd with bandwidth='auto', or madd_curve(...).plot()"
        raise InputError("kind", got=got, allowed="a result of madd with bandwidth='auto'", cure=cure)
    return plot_curve(first.curve, stable=first.bandwidth, ax=ax)


def plot_curve(curve: Any, *, stable: Any = None, ax: Axes | None = None) -> Axes:
    """MADD against the bandwidth (the paper's figures 10, 12 and 13).

    `curve`: read by its `bandwidth` and `madd`; `stable`: its stretch is marked, with its mean, and h_sup.
    The bandwidth is logarithmic, as the search is: most bandwidths are small.
    """
    ax = axes_or_new(ax)
    cure = "plot(stable=fs.stable_bandwidth(curve))"
    check_that(stable is None or hasattr(stable, "h_sup"), "stable", stable, "a StableBandwidth", cure)
    h, madd = np.asarray(curve.bandwidth)[::-1], np.asarray(curve.madd)[::-1]
    ax.step(h, madd, where="post", color="0.15", linewidth=1)
    if stable is not None:
        ax.axvspan(stable.low, stable.high, color=_STABLE, alpha=0.12, linewidth=0)
        label = f"mean {stable.mean:.3f} for h from {stable.low:.3f} to {stable.high:.3f}"
        ax.hlines(stable.mean, stable.low, stable.high, color=_STABLE, linewidth=2, label=label)
        label = f"$h_{{\\mathrm{{sup}}}}$ = {stable.h_sup:.3f}"
        ax.axvline(stable.h_sup, color=_LIMIT, linestyle=":", label=label)
    words: dict[str, Any] = {"xlim": (h[0], 1), "ylim": (0, 2), "xlabel": "bandwidth h", "ylabel": "MADD"}
    return finished(ax, legend=stable is not None, xscale="log", **words)


def plot_losses(mitigator: Any, *, ax: Axes | None = None) -> Axes:
    """The three losses of a fitted mitigator against λ (the paper's figures 18c and 19c), with their bands."""
    ax = axes_or_new(ax)
    curve = mitigator.loss_curve_
    ax.plot(curve["lambda_"], curve["loss"], color="0.15", label="objective")
    for k, (name, label) in enumerate((("accuracy", "accuracy loss"), ("fairness", "fairness loss, MADD/2"))):
        ax.plot(curve["lambda_"], curve[f"{name}_loss"], color=_colour(k), label=label)
        ends = curve[f"{name}_low"], curve[f"{name}_high"]
        ax.fill_between(curve["lambda_"], *ends, color=_colour(k), alpha=0.15, linewidth=0)
    label = f"$\\lambda^*$ = {mitigator.lambda_:.3f}"
    ax.axvline(mitigator.lambda_, color=_STABLE, linestyle="--", label=label)
    return finished(ax, xlim=(-0.01, 1.01), ylim=(0, None), xlabel="$\\lambda$", ylabel="loss, cross-fitted")


def plot_trade_off(mitigator: Any, *, ax: Axes | None = None) -> Axes:
    """Fairness loss against accuracy loss over λ, with the limits of either at λ = 0, the chosen one and 1."""
    ax = axes_or_new(ax)
    curve = mitigator.loss_curve_
    ax.plot(curve["accuracy_loss"], curve["fairness_loss"], color="0.15", linewidth=1)
    chosen = int(np.abs(curve["lambda_"] - mitigator.lambda_).argmin())
    for place, colour in ((0, _colour(0)), (chosen, _STABLE), (len(curve) - 1, _colour(1))):
        at = curve.iloc[place]
        losses = ((at[f"{n}_low"], at[f"{n}_loss"], at[f"{n}_high"]) for n in ("accuracy", "fairness"))
        reach = [[[value - low], [high - value]] for low, value, high in losses]
        label = f"$\\lambda$ = {at['lambda_']:.3f}"
        style: dict[str, Any] = {"xerr": reach[0], "yerr": reach[1], "fmt": "o", "color": colour}
        ax.errorbar(at["accuracy_loss"], at["fairness_loss"], **style, label=label)
    return finished(ax, ylim=(0, None), xlabel="accuracy loss", ylabel="fairness loss, MADD/2")


def plot_before_after(result: Any, *, ax: Axes | None = None) -> Axes:
    """Densities of every group before (dashed) and after (solid) a mitigation; `result` is read by these names."""
    ax = axes_or_new(ax)
    for when, style in (("before", "--"), ("after", "-")):
        of_stage = getattr(result, when).counts
        for g, counts in enumerate(of_stage._on(_FINE)):
            if counts.sum() > 0:
                curve = _density(counts, float(of_stage.sizes[g]))
                ax.plot(*curve, style, color=_colour(g), label=f"{_name(of_stage.groups[g])}, {when}")
    return finished(ax, xlim=(0, 1), ylim=(0, None), xlabel="score", ylabel="density")
