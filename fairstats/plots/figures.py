"""What a report draws of scores (histograms, MADD, ROC, calibration), posteriors, tails of groups
and power.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairstats.ground.registry import Title
from fairstats.plots.ecd import level_curve
from fairstats.plots.madd import bin_ends
from fairstats.plots.picture import LIMIT, NEUTRAL, Picture, contours, mark

_CURVE_POINTS = 20
#: No axis of ratios reaches further.
_LARGEST_RATIO = 4.0
_DIAGONAL_LINE = mark("line", (0, 1), (0, 1), NEUTRAL)
_UNIT_RANGE = (0.0, 1.0)


def score_histograms(comparison: Any) -> Picture:
    """Histograms of the two sides of a MADD in the bins that are judged; what differs is MADD."""
    bin_edges = bin_ends(comparison)
    densities = []
    for side_counts in np.asarray(comparison.counts):
        densities.append(side_counts / max(side_counts.sum(), 1e-300) / np.diff(bin_edges))
    names = comparison.group, comparison.reference
    picture_marks = []
    for side_number, (density, group_name) in enumerate(zip(densities, names, strict=True)):
        picture_marks.append(mark("steps", bin_edges, density, side_number, group_name))
    differing_heights = np.repeat(np.maximum(*densities), 2), np.repeat(np.minimum(*densities), 2)
    step_edges = np.repeat(bin_edges, 2)[1:-1]
    label = f"where they differ: MADD {comparison.estimate:.3f} of 2"
    picture_marks.append(
        mark("band", step_edges, differing_heights[0], LIMIT, label, low=differing_heights[1])
    )
    density_limit = 1.05 * max(float(np.max(densities)), 1e-9)
    return Picture(
        title=f"Scores of {names[0]} and {names[1]}",
        xlabel="score",
        ylabel="density",
        xlim=_UNIT_RANGE,
        ylim=(0.0, density_limit),
        marks=tuple(picture_marks),
    )


def madd_by_bandwidth(result: Any, comparison: Any) -> Picture:
    """MADD at every bandwidth whose bins the result has counted, with the stable stretch and
    h_sup.
    """
    counts = result.counts
    group_rows = counts._sides(comparison.group, comparison.reference)
    inner_edges = set(counts.edges.tolist())
    madd_of_bandwidth = []
    for n_bins in range(1, 101):
        if all(edge_number / n_bins in inner_edges for edge_number in range(1, n_bins)):
            first_counts, second_counts = (
                counts._counts_on_grid(n_bins)[list(side_rows)].sum(axis=0)
                for side_rows in group_rows
            )
            madd_of_bandwidth.append(
                (
                    1 / n_bins,
                    float(
                        np.abs(
                            first_counts / first_counts.sum() - second_counts / second_counts.sum()
                        ).sum()
                    ),
                )
            )
    bandwidths, madd_values = np.array(madd_of_bandwidth[::-1]).T
    picture_marks = [
        mark("line", bandwidths, madd_values, 0),
        mark("dots", bandwidths, madd_values, 0, "MADD"),
    ]
    stable_stretch = comparison.bandwidth
    if stable_stretch is not None:
        stable_ends = np.array([stable_stretch.low, stable_stretch.high])
        picture_marks.append(
            mark("band", stable_ends, [2.0, 2.0], 2, "stable stretch of bandwidths", low=[0.0, 0.0])
        )
        picture_marks.append(
            mark(
                "line",
                stable_ends,
                [stable_stretch.mean, stable_stretch.mean],
                2,
                f"its mean, {stable_stretch.mean:.3f}",
            )
        )
    if np.isfinite(comparison.h_sup):
        picture_marks.append(
            mark(
                "rule",
                comparison.h_sup,
                (),
                LIMIT,
                f"best order of bandwidth, {comparison.h_sup:.3f}",
            )
        )
    lowest_bandwidth = min(0.01, *(() if stable_stretch is None else (stable_stretch.low,)))
    title = f"MADD of {comparison.group} and {comparison.reference} by bandwidth"
    madd_limit = min(2.0, 1.25 * max(float(madd_values.max()), 0.08))
    return Picture(
        title=title,
        xlabel="bandwidth h (width of a bin)",
        ylabel="MADD",
        xlim=(lowest_bandwidth, 1.0),
        ylim=(0.0, madd_limit),
        marks=tuple(picture_marks),
        log=True,
    )


def roc_curves(result: Any, comparison: Any) -> Picture:
    """ROC curves of the two sides of a comparison of an `AbrocaResult`, with the area between
    them.
    """
    curves = [result.roc(group_name) for group_name in (comparison.group, comparison.reference)]
    lines = []
    for roc_curve in curves:
        lines.append(
            (np.repeat(roc_curve.fpr, 2), np.column_stack([roc_curve.low, roc_curve.high]).ravel())
        )
    (x0, y0), (x1, y1) = lines
    label = f"area between them: ABROCA {comparison.estimate:.3f}"
    picture_marks = [
        mark("area", np.concatenate([x0, x1[::-1]]), np.concatenate([y0, y1[::-1]]), LIMIT, label)
    ]
    for curve_number, ((x, y), group_name) in enumerate(
        zip(lines, (comparison.group, comparison.reference), strict=True)
    ):
        picture_marks.append(
            mark("line", x, y, curve_number, f"{group_name}, AUC {curves[curve_number].auc:.3f}")
        )
    title = f"ROC curves of {comparison.group} and {comparison.reference}"
    axis_words = "false positive rate", "true positive rate"
    return Picture(title, *axis_words, _UNIT_RANGE, _UNIT_RANGE, (_DIAGONAL_LINE, *picture_marks))


def calibration_curves(result: Any, comparison: Any) -> Picture:
    """Favourable outcomes by score of an `AbrocaResult`'s two sides, with Wilson's interval of
    every bin as a band.
    """
    level = result.settings.confidence_level
    picture_marks = [_DIAGONAL_LINE]
    for side_number, group_name in enumerate((comparison.group, comparison.reference)):
        score, _, favourable_shares, lower_ends, upper_ends = result.counts._calibration_bins(
            result.counts.groups.index(group_name), level
        )
        picture_marks.append(mark("band", score, upper_ends, side_number, low=lower_ends))
        picture_marks += [
            mark("line", score, favourable_shares, side_number, group_name),
            mark("dots", score, favourable_shares, side_number),
        ]
        if score.size == 1:  # no band without a second bin
            picture_marks.append(
                mark("line", score[[0, 0]], [lower_ends[0], upper_ends[0]], side_number)
            )
    title = (
        f"Calibration of {comparison.group} and {comparison.reference} (bands: {100 * level:g}%)"
    )
    return Picture(
        title=title,
        xlabel="score",
        ylabel="share with Y = 1",
        xlim=_UNIT_RANGE,
        ylim=_UNIT_RANGE,
        marks=tuple(picture_marks),
    )


def posterior_plane(
    region: Any,
    names: Sequence[str],
    rope: Sequence[float],
    title: str,
) -> Picture:
    """An `HdrResult` of two differences, with the box of practical equivalence of half-widths
    `rope`.
    """
    x, y = region.axes
    picture_marks = [mark("rule", 0.0, (), NEUTRAL), mark("rule", (), 0.0, NEUTRAL)]
    shown_values = [[-rope[0], rope[0]], [-rope[1], rope[1]]]
    for region_number, inner_region in enumerate(
        sorted(region.regions, key=lambda each_region: each_region.prob)
    ):
        label = f"{100 * inner_region.prob:g}% region"
        for contour_x, contour_y in contours(x, y, region.values, inner_region.falpha):
            picture_marks.append(mark("area", contour_x, contour_y, 0))
            picture_marks.append(mark("line", contour_x, contour_y, region_number, label))
            label = ""
            shown_values = [
                [*shown_values[0], contour_x.min(), contour_x.max()],
                [*shown_values[1], contour_y.min(), contour_y.max()],
            ]
    picture_marks.append(mark("dots", region.mode[0], region.mode[1], 0, "most probable"))
    box_ends = np.array([-rope[0], rope[0]]), np.array([-rope[1], rope[1]])
    picture_marks.append(mark("box", *box_ends, LIMIT, f"practically equal: within ±{rope[0]:g}"))
    xlim, ylim = (
        (
            min(axis_values) - 0.06 * np.ptp(axis_values),
            max(axis_values) + 0.06 * np.ptp(axis_values),
        )
        for axis_values in shown_values
    )
    return Picture(
        title=title,
        xlabel=names[0],
        ylabel=names[1],
        xlim=xlim,
        ylim=ylim,
        marks=tuple(picture_marks),
    )


def return_levels(result: Any, group: str) -> Picture:
    """Return levels of a group and the reference of an `EcdResult` by interactions, with bands and
    horizons.
    """
    m = result.settings.interactions
    both_tails = [result[group], result.tails[-1]]
    picture_marks = []
    shown_interactions = [m]
    highest_level = 0.0
    for tail_number, group_tail in enumerate(both_tails):
        curve_interactions, estimate, lower_ends, upper_ends = level_curve(
            group_tail, m, _CURVE_POINTS
        )
        picture_marks.append(
            mark(
                "band", curve_interactions, np.minimum(upper_ends, 9.0), tail_number, low=lower_ends
            )
        )
        picture_marks.append(
            mark(
                "line" if group_tail.fit is not None else "dots",
                curve_interactions,
                estimate,
                tail_number,
                group_tail.group,
            )
        )
        shown_interactions += curve_interactions.tolist()
        highest_level = max(
            highest_level,
            float(estimate.max()),
            float(np.nanmin([upper_ends[curve_interactions <= m].max(initial=0.0), 1.0])),
        )
        if (
            group_tail.type is not None
            and np.isfinite(group_tail.type.horizon)
            and group_tail.type.horizon <= curve_interactions[-1]
        ):
            picture_marks.append(
                mark(
                    "rule",
                    group_tail.type.horizon,
                    (),
                    tail_number,
                    f"horizon of {group_tail.group}: no claim beyond",
                )
            )
    picture_marks.append(mark("rule", m, (), NEUTRAL, f"the question: {m:,.0f} interactions"))
    limits = (
        (min(shown_interactions), max(shown_interactions)),
        (0.0, min(1.15 * highest_level, 1.05) or 1.0),
    )
    axis_words = "interactions", "largest discrimination to expect"
    title = f"Return levels of {group} and {both_tails[-1].group}"
    return Picture(title, *axis_words, *limits, tuple(picture_marks), log=True)


def power_curves(curves: Sequence[tuple[str, Any, Any]], threshold: float) -> Picture:
    """Chance of the verdict that is right, by true ratio; `curves`: name, ratios, chances of each
    group.
    """
    picture_marks = [
        mark("rule", threshold, (), LIMIT, f"threshold {threshold:g}"),
        mark("rule", (), 0.8, NEUTRAL),
    ]
    for curve_number, (curve_name, true_ratios, chances) in enumerate(curves):
        picture_marks.append(mark("line", true_ratios, chances, curve_number, curve_name))
    axis_words = "true ratio of the selection rates", "chance of the right verdict"
    lowest_ratio = min(float(np.min(true_ratios)) for _, true_ratios, _ in curves)
    return Picture(
        "What this audit could have shown",
        *axis_words,
        (lowest_ratio, 1.0),
        (0.0, 1.0),
        tuple(picture_marks),
    )


def difference_along_cutoffs(result: Any, rows: Sequence[Any]) -> Picture:
    """The difference or ratio of two groups by cut-off with its band, and the fair range.

    `rows`: comparisons of one pair of a curve, by ascending cut-off.
    """
    cutoffs = np.array([row.cutoff for row in rows])
    estimates = np.array([row.estimate for row in rows])
    low = np.array([row.confidence_interval.low for row in rows])
    high = np.array([row.confidence_interval.high for row in rows])
    lowest_fair, highest_fair = result.settings._fair_range(result.scale)
    shown = np.concatenate([low, high, estimates, [lowest_fair, highest_fair]])
    shown = shown[np.isfinite(shown)]
    if result.scale == "ratio":
        shown = shown[shown <= _LARGEST_RATIO]
    reach = (float(shown.min()), float(shown.max()))
    gap = 0.06 * max(reach[1] - reach[0], 1e-9)
    limits = (reach[0] - gap, reach[1] + gap)
    picture_marks = []
    finite = np.isfinite(estimates)
    level = f"{100 * result.settings.confidence_level:g}% band"
    if finite.any():
        ends = np.clip(low[finite], *limits), np.clip(high[finite], *limits)
        picture_marks.append(mark("band", cutoffs[finite], ends[1], 0, level, low=ends[0]))
        picture_marks.append(mark("line", cutoffs[finite], estimates[finite], 0, result.scale))
    for place in sorted({lowest_fair, highest_fair}):
        picture_marks.append(mark("rule", (), place, NEUTRAL))
    is_violated = np.array([row.verdict == "violated" for row in rows])
    for chosen, series, label in (
        (is_violated, LIMIT, "parity violated"),
        (np.array([row.verdict == "satisfied" for row in rows]), 2, "parity satisfied"),
    ):
        if chosen.any():
            picture_marks.append(mark("dots", cutoffs[chosen], estimates[chosen], series, label))
    first = rows[0]
    return Picture(
        title=f"{first.group} against {first.reference}: {_quantity_of(result)}",
        xlabel="score",
        ylabel=result.scale,
        xlim=_span_of(cutoffs),
        ylim=limits,
        marks=tuple(picture_marks),
    )


def values_along_cutoffs(result: Any, rows: Sequence[Any]) -> Picture:
    """The values of both groups of a curve by cut-off, with the interval of each."""
    cutoffs = np.array([row.cutoff for row in rows])
    picture_marks = []
    shown = []
    first = rows[0]
    for series, (name, value, interval) in enumerate(
        (
            (first.group, "rate", "value_interval"),
            (first.reference, "rate_reference", "value_reference_interval"),
        )
    ):
        values = np.array([getattr(row, value) for row in rows])
        low = np.array([getattr(row, interval).low for row in rows])
        high = np.array([getattr(row, interval).high for row in rows])
        finite = np.isfinite(values)
        if not finite.any():
            continue
        has_ends = finite & np.isfinite(low) & np.isfinite(high)
        if has_ends.any():
            picture_marks.append(
                mark("band", cutoffs[has_ends], high[has_ends], series, low=low[has_ends])
            )
        picture_marks.append(mark("line", cutoffs[finite], values[finite], series, name))
        shown += [*values[finite], *low[has_ends], *high[has_ends]]
    lowest = min(shown, default=0.0)
    highest = max(shown, default=1.0)
    gap = 0.06 * max(highest - lowest, 1e-9)
    return Picture(
        title=f"{first.group} and {first.reference}: {_quantity_of(result)}",
        xlabel="score",
        ylabel="value",
        xlim=_span_of(cutoffs),
        ylim=(lowest - gap, highest + gap),
        marks=tuple(picture_marks),
    )


def _span_of(cutoffs: Any) -> tuple[float, float]:
    """Ends of an axis of cut-offs, which may be one."""
    lowest = float(cutoffs.min())
    highest = float(cutoffs.max())
    gap = 0.03 * (highest - lowest) or 0.05
    return lowest - gap, highest + gap


def _quantity_of(result: Any) -> str:
    """What a curve shows: its title before the colon."""
    quantity = Title(result.title).label
    return quantity[:1].lower() + quantity[1:]
