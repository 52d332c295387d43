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
_DIFFERENCE_COLOUR = "#c8102e"
_STABLE_COLOUR = "#17663f"
_LIMIT_COLOUR = "#a3161b"
#: Bins that densities are smoothed from; every result of MADD counts them.
_FINE_BINS = 100
#: Bins of the histograms of more than two groups.
_BINS_OF_SEVERAL_GROUPS = 20
#: Group names are cut here.
_LONGEST_NAME = 40


def _group_colour(position: int) -> str:
    if position < len(COLOURS):
        return COLOURS[position]
    return f"C{position}"


def _legend_name(group: Any) -> str:
    """Name of a group as text of a legend.

    No mathematics, not too long, never hidden by an underscore.
    """
    group_text = str(group)
    if not (len(group_text) <= _LONGEST_NAME):
        group_text = group_text[: _LONGEST_NAME - 1] + "…"
    return (" " if group_text.startswith("_") else "") + group_text.replace("$", r"\$")


def _bin_shares(counts: NDArray[Any]) -> Floats:
    return counts / counts.sum() if counts.sum() > 0 else np.zeros(counts.size)


def _kernel_density(counts: NDArray[Any], n: float) -> tuple[Floats, Floats]:
    """Gaussian kernel density of counts in equal bins of [0, 1], reflected at both ends
    (Silverman).
    """
    bin_shares = _bin_shares(counts)
    bin_centres = (np.arange(bin_shares.size) + 0.5) / bin_shares.size
    variance = max(float(bin_shares @ bin_centres**2 - (bin_shares @ bin_centres) ** 2), 0.0)
    kernel_width = max(0.9 * variance**0.5 * max(n, 1.0) ** -0.2, 1 / bin_shares.size)
    score_grid = np.linspace(0, 1, 401)

    def kernel(places: Floats) -> Floats:
        standardised = (score_grid[:, None] - places) / kernel_width
        return np.asarray(
            np.exp(-0.5 * standardised * standardised) / (kernel_width * np.sqrt(2 * np.pi))
        )

    return score_grid, np.asarray(
        (kernel(bin_centres) + kernel(-bin_centres) + kernel(2 - bin_centres)) @ bin_shares
    )


def bin_ends(comparison: Any) -> Floats:
    """Ends of the bins of a comparison, shape (m + 1,)."""
    return np.concatenate([[0.0], comparison.edges, [1.0]])


def plot_histograms(
    result: Any,
    *,
    n_bins: int | None = None,
    densities: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Histograms of every group with smoothed densities (the paper's figures 2 and 7).

    `result`: read by its `counts` and `comparisons`; `n_bins`: bins of the histograms, equally
    wide: those that were asked for, 100 or a divisor of it; default for two groups the bins that
    are judged, for more 20; `densities`: also draw densities, smoothed from the counts in 100 bins.
    With two groups the area where the histograms differ is hatched: it is MADD. Raises InputError
    for bins that the result did not count.
    """
    ax = axes_or_new(ax)
    counts = result.counts
    is_one_pair = len(result.comparisons) == 1 and len(counts.groups) == 2
    if n_bins is None and is_one_pair:
        (comparison,) = result.comparisons
        bin_edges = bin_ends(comparison)
        counts_by_group = []
        for group_index in counts.groups:
            counts_by_group.append(
                comparison.counts[[comparison.group, comparison.reference].index(group_index)]
            )
    else:
        bin_edges = np.linspace(0, 1, (n_bins or _BINS_OF_SEVERAL_GROUPS) + 1)
        counts_by_group = list(counts._counts_on_grid(n_bins or _BINS_OF_SEVERAL_GROUPS))
    heights = [_bin_shares(group_counts) / np.diff(bin_edges) for group_counts in counts_by_group]
    fine_counts = counts._counts_on_grid(_FINE_BINS)
    fill_opacity = 0.3 if len(heights) == 2 else 0.12
    for group_index, (group, group_heights) in enumerate(zip(counts.groups, heights, strict=True)):
        ax.stairs(
            group_heights,
            bin_edges,
            fill=True,
            alpha=fill_opacity,
            color=_group_colour(group_index),
            label=_legend_name(group),
        )
        ax.stairs(group_heights, bin_edges, color=_group_colour(group_index), linewidth=1)
        if densities and fine_counts[group_index].sum() > 0:
            ax.plot(
                *_kernel_density(fine_counts[group_index], float(counts.sizes[group_index])),
                color=_group_colour(group_index),
                linewidth=1.8,
            )
    if len(heights) == 2:
        hatch_style: dict[str, Any] = {
            "facecolor": "none",
            "edgecolor": _DIFFERENCE_COLOUR,
            "hatch": "///",
            "linewidth": 0,
        }
        lower_heights = np.minimum(*heights)
        upper_heights = np.maximum(*heights)
        ax.stairs(
            upper_heights,
            bin_edges,
            baseline=lower_heights,
            fill=True,
            label=f"MADD in {bin_edges.size - 1} bins",
            **hatch_style,
        )
    return finished(ax, xlim=(0, 1), ylim=(0, None), xlabel="score", ylabel="density")


def plot_contributions(result: Any, *, ax: Axes | None = None) -> Axes:
    """What every bin adds to MADD in the first comparison of a `result`, with sign."""
    ax = axes_or_new(ax)
    first_comparison = result.comparisons[0]
    values = np.asarray(first_comparison.contributions)
    bin_edges = bin_ends(first_comparison)
    for side_sign, colour, group in (
        (1, _group_colour(0), first_comparison.group),
        (-1, _group_colour(1), first_comparison.reference),
    ):
        side_contributions = np.where(side_sign * values > 0, values, 0.0)
        ax.stairs(
            side_contributions,
            bin_edges,
            fill=True,
            color=colour,
            alpha=0.6,
            label=f"more of {_legend_name(group).strip()}",
        )
    ax.axhline(0, color="0.2", linewidth=0.8)
    return finished(ax, xlim=(0, 1), xlabel="score", ylabel="difference of shares")


def plot_search(result: Any, *, ax: Axes | None = None) -> Axes:
    """MADD against h with the stable stretch, of the first comparison.

    InputError if the result holds no curve.
    """
    first_comparison = result.comparisons[0]
    if first_comparison.curve is None:
        received = "'curve' of a result without one: of given bins, or of an audit"
        advice = "call madd with bandwidth='auto', or madd_curve(...).plot()"
        raise InputError(
            "kind",
            got=received,
            allowed="a result of madd with bandwidth='auto'",
            cure=advice,
        )
    return plot_curve(first_comparison.curve, stable=first_comparison.bandwidth, ax=ax)


def plot_curve(curve: Any, *, stable: Any = None, ax: Axes | None = None) -> Axes:
    """MADD against the bandwidth (the paper's figures 10, 12 and 13).

    `curve`: read by its `bandwidth` and `madd`; `stable`: its stretch is marked, with its mean, and
    h_sup. The bandwidth is logarithmic, as the search is: most bandwidths are small.
    """
    ax = axes_or_new(ax)
    advice = "plot(stable=fs.stable_bandwidth(curve))"
    check_that(
        stable is None or hasattr(stable, "h_sup"), "stable", stable, "a StableBandwidth", advice
    )
    bandwidths = np.asarray(curve.bandwidth)[::-1]
    madd = np.asarray(curve.madd)[::-1]
    ax.step(bandwidths, madd, where="post", color="0.15", linewidth=1)
    if stable is not None:
        ax.axvspan(stable.low, stable.high, color=_STABLE_COLOUR, alpha=0.12, linewidth=0)
        label = f"mean {stable.mean:.3f} for h from {stable.low:.3f} to {stable.high:.3f}"
        ax.hlines(
            stable.mean,
            stable.low,
            stable.high,
            color=_STABLE_COLOUR,
            linewidth=2,
            label=label,
        )
        label = f"$h_{{\\mathrm{{sup}}}}$ = {stable.h_sup:.3f}"
        ax.axvline(stable.h_sup, color=_LIMIT_COLOUR, linestyle=":", label=label)
    axis_words: dict[str, Any] = {
        "xlim": (bandwidths[0], 1),
        "ylim": (0, 2),
        "xlabel": "bandwidth h",
        "ylabel": "MADD",
    }
    return finished(ax, legend=stable is not None, xscale="log", **axis_words)


def plot_losses(mitigator: Any, *, ax: Axes | None = None) -> Axes:
    """The three losses of a fitted mitigator against λ (the paper's figures 18c and 19c), with
    their bands.
    """
    ax = axes_or_new(ax)
    curve = mitigator.loss_curve_
    ax.plot(curve["lambda_"], curve["loss"], color="0.15", label="objective")
    for loss_number, (loss_name, label) in enumerate(
        (("accuracy", "accuracy loss"), ("fairness", "fairness loss, MADD/2"))
    ):
        ax.plot(
            curve["lambda_"],
            curve[f"{loss_name}_loss"],
            color=_group_colour(loss_number),
            label=label,
        )
        interval_ends = curve[f"{loss_name}_low"], curve[f"{loss_name}_high"]
        ax.fill_between(
            curve["lambda_"],
            *interval_ends,
            color=_group_colour(loss_number),
            alpha=0.15,
            linewidth=0,
        )
    label = f"$\\lambda^*$ = {mitigator.lambda_:.3f}"
    ax.axvline(mitigator.lambda_, color=_STABLE_COLOUR, linestyle="--", label=label)
    return finished(
        ax,
        xlim=(-0.01, 1.01),
        ylim=(0, None),
        xlabel="$\\lambda$",
        ylabel="loss, cross-fitted",
    )


def plot_trade_off(mitigator: Any, *, ax: Axes | None = None) -> Axes:
    """Fairness loss against accuracy loss over λ, with the limits of either at λ = 0, the chosen
    one and 1.
    """
    ax = axes_or_new(ax)
    curve = mitigator.loss_curve_
    ax.plot(curve["accuracy_loss"], curve["fairness_loss"], color="0.15", linewidth=1)
    chosen_row = int(np.abs(curve["lambda_"] - mitigator.lambda_).argmin())
    for curve_row, colour in (
        (0, _group_colour(0)),
        (chosen_row, _STABLE_COLOUR),
        (len(curve) - 1, _group_colour(1)),
    ):
        loss_row = curve.iloc[curve_row]
        both_losses = (
            (
                loss_row[f"{loss_name}_low"],
                loss_row[f"{loss_name}_loss"],
                loss_row[f"{loss_name}_high"],
            )
            for loss_name in ("accuracy", "fairness")
        )
        error_lengths = []
        for loss_low, loss_value, loss_high in both_losses:
            error_lengths.append([[loss_value - loss_low], [loss_high - loss_value]])
        label = f"$\\lambda$ = {loss_row['lambda_']:.3f}"
        errorbar_style: dict[str, Any] = {
            "xerr": error_lengths[0],
            "yerr": error_lengths[1],
            "fmt": "o",
            "color": colour,
        }
        ax.errorbar(
            loss_row["accuracy_loss"], loss_row["fairness_loss"], **errorbar_style, label=label
        )
    return finished(ax, ylim=(0, None), xlabel="accuracy loss", ylabel="fairness loss, MADD/2")


def plot_before_after(result: Any, *, ax: Axes | None = None) -> Axes:
    """Densities of every group before (dashed) and after (solid) a mitigation.

    `result` is read by these names.
    """
    ax = axes_or_new(ax)
    for stage, line_style in (("before", "--"), ("after", "-")):
        stage_counts = getattr(result, stage).counts
        for group_index, counts in enumerate(stage_counts._counts_on_grid(_FINE_BINS)):
            if counts.sum() > 0:
                curve = _kernel_density(counts, float(stage_counts.sizes[group_index]))
                ax.plot(
                    *curve,
                    line_style,
                    color=_group_colour(group_index),
                    label=f"{_legend_name(stage_counts.groups[group_index])}, {stage}",
                )
    return finished(ax, xlim=(0, 1), ylim=(0, None), xlabel="score", ylabel="density")
