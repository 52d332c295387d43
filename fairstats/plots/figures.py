"""What a report draws of scores (histograms, MADD, ROC, calibration), posteriors, tails of groups and power."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairstats.plots.ecd import level_curve
from fairstats.plots.madd import bin_ends
from fairstats.plots.picture import LIMIT, NEUTRAL, Picture, contours, mark

_POINTS = 20
_DIAGONAL = mark("line", (0, 1), (0, 1), NEUTRAL)
_UNIT = (0.0, 1.0)


def score_histograms(comparison: Any) -> Picture:
    """Histograms of the two sides of a MADD in the bins that are judged; what differs is MADD."""
    edges = bin_ends(comparison)
    shares = [side / max(side.sum(), 1e-300) / np.diff(edges) for side in np.asarray(comparison.counts)]
    names = comparison.group, comparison.reference
    marks = [mark("steps", edges, share, k, name) for k, (share, name) in enumerate(zip(shares, names, strict=True))]
    apart = np.repeat(np.maximum(*shares), 2), np.repeat(np.minimum(*shares), 2)
    x = np.repeat(edges, 2)[1:-1]
    label = f"where they differ: MADD {comparison.estimate:.3f} of 2"
    marks.append(mark("band", x, apart[0], LIMIT, label, low=apart[1]))
    top = 1.05 * max(float(np.max(shares)), 1e-9)
    return Picture(f"Scores of {names[0]} and {names[1]}", "score", "density", _UNIT, (0.0, top), tuple(marks))


def madd_by_bandwidth(result: Any, comparison: Any) -> Picture:
    """MADD at every bandwidth whose bins the result has counted, with the stable stretch and h_sup."""
    counts = result.counts
    sides, inner, found = counts._sides(comparison.group, comparison.reference), set(counts.edges.tolist()), []
    for m in range(1, 101):
        if all(k / m in inner for k in range(1, m)):
            a, b = (counts._on(m)[list(side)].sum(axis=0) for side in sides)
            found.append((1 / m, float(np.abs(a / a.sum() - b / b.sum()).sum())))
    h, madd = np.array(found[::-1]).T
    marks = [mark("line", h, madd, 0), mark("dots", h, madd, 0, "MADD")]
    stable = comparison.bandwidth
    if stable is not None:
        x = np.array([stable.low, stable.high])
        marks.append(mark("band", x, [2.0, 2.0], 2, "stable stretch of bandwidths", low=[0.0, 0.0]))
        marks.append(mark("line", x, [stable.mean, stable.mean], 2, f"its mean, {stable.mean:.3f}"))
    if np.isfinite(comparison.h_sup):
        marks.append(mark("rule", comparison.h_sup, (), LIMIT, f"best order of bandwidth, {comparison.h_sup:.3f}"))
    lowest = min(0.01, *(() if stable is None else (stable.low,)))
    title = f"MADD of {comparison.group} and {comparison.reference} by bandwidth"
    top = min(2.0, 1.25 * max(float(madd.max()), 0.08))
    return Picture(title, "bandwidth h (width of a bin)", "MADD", (lowest, 1.0), (0.0, top), tuple(marks), log=True)


def roc_curves(result: Any, comparison: Any) -> Picture:
    """ROC curves of the two sides of a comparison of an `AbrocaResult`, with the area between them."""
    curves = [result.roc(name) for name in (comparison.group, comparison.reference)]
    lines = [(np.repeat(c.fpr, 2), np.column_stack([c.low, c.high]).ravel()) for c in curves]
    (x0, y0), (x1, y1) = lines
    label = f"area between them: ABROCA {comparison.estimate:.3f}"
    marks = [mark("area", np.concatenate([x0, x1[::-1]]), np.concatenate([y0, y1[::-1]]), LIMIT, label)]
    for k, ((x, y), name) in enumerate(zip(lines, (comparison.group, comparison.reference), strict=True)):
        marks.append(mark("line", x, y, k, f"{name}, AUC {curves[k].auc:.3f}"))
    title = f"ROC curves of {comparison.group} and {comparison.reference}"
    axes = "false positive rate", "true positive rate"
    return Picture(title, *axes, _UNIT, _UNIT, (_DIAGONAL, *marks))


def calibration_curves(result: Any, comparison: Any) -> Picture:
    """Favourable outcomes by score of an `AbrocaResult`'s two sides, with Wilson's interval of every bin as a band."""
    level = result.settings.confidence_level
    marks = [_DIAGONAL]
    for k, name in enumerate((comparison.group, comparison.reference)):
        score, _, rate, low, high = result.counts._calibration(result.counts.groups.index(name), level)
        marks.append(mark("band", score, high, k, low=low))
        marks += [mark("line", score, rate, k, name), mark("dots", score, rate, k)]
        if score.size == 1:  # no band without a second bin
            marks.append(mark("line", score[[0, 0]], [low[0], high[0]], k))
    title = f"Calibration of {comparison.group} and {comparison.reference} (bands: {100 * level:g}%)"
    return Picture(title, "score", "share with Y = 1", _UNIT, _UNIT, tuple(marks))


def posterior_plane(region: Any, names: Sequence[str], rope: Sequence[float], title: str) -> Picture:
    """An `HdrResult` of two differences, with the box of practical equivalence of half-widths `rope`."""
    x, y = region.axes
    marks = [mark("rule", 0.0, (), NEUTRAL), mark("rule", (), 0.0, NEUTRAL)]
    reach = [[-rope[0], rope[0]], [-rope[1], rope[1]]]
    for k, part in enumerate(sorted(region.regions, key=lambda r: r.prob)):
        label = f"{100 * part.prob:g}% region"
        for xs, ys in contours(x, y, region.values, part.falpha):
            marks.append(mark("area", xs, ys, 0))
            marks.append(mark("line", xs, ys, k, label))
            label = ""
            reach = [[*reach[0], xs.min(), xs.max()], [*reach[1], ys.min(), ys.max()]]
    marks.append(mark("dots", region.mode[0], region.mode[1], 0, "most probable"))
    box = np.array([-rope[0], rope[0]]), np.array([-rope[1], rope[1]])
    marks.append(mark("box", *box, LIMIT, f"practically equal: within ±{rope[0]:g}"))
    xlim, ylim = ((min(v) - 0.06 * np.ptp(v), max(v) + 0.06 * np.ptp(v)) for v in reach)
    return Picture(title, names[0], names[1], xlim, ylim, tuple(marks))


def return_levels(result: Any, group: str) -> Picture:
    """Return levels of a group and the reference of an `EcdResult` by interactions, with bands and horizons."""
    m = result.settings.interactions
    tails = [result[group], result.tails[-1]]
    marks, ends, top = [], [m], 0.0
    for k, tail in enumerate(tails):
        at, estimate, low, high = level_curve(tail, m, _POINTS)
        marks.append(mark("band", at, np.minimum(high, 9.0), k, low=low))
        marks.append(mark("line" if tail.fit is not None else "dots", at, estimate, k, tail.group))
        ends += at.tolist()
        top = max(top, float(estimate.max()), float(np.nanmin([high[at <= m].max(initial=0.0), 1.0])))
        if tail.type is not None and np.isfinite(tail.type.horizon) and tail.type.horizon <= at[-1]:
            marks.append(mark("rule", tail.type.horizon, (), k, f"horizon of {tail.group}: no claim beyond"))
    marks.append(mark("rule", m, (), NEUTRAL, f"the question: {m:,.0f} interactions"))
    limits = (min(ends), max(ends)), (0.0, min(1.15 * top, 1.05) or 1.0)
    words = "interactions", "largest discrimination to expect"
    title = f"Return levels of {group} and {tails[-1].group}"
    return Picture(title, *words, *limits, tuple(marks), log=True)


def power_curves(curves: Sequence[tuple[str, Any, Any]], threshold: float) -> Picture:
    """Chance of the verdict that is right, by true ratio; `curves`: name, ratios, chances of each group."""
    marks = [mark("rule", threshold, (), LIMIT, f"threshold {threshold:g}"), mark("rule", (), 0.8, NEUTRAL)]
    marks += [mark("line", x, y, k, name) for k, (name, x, y) in enumerate(curves)]
    words = "true ratio of the selection rates", "chance of the right verdict"
    lowest = min(float(np.min(x)) for _, x, _ in curves)
    return Picture("What this audit could have shown", *words, (lowest, 1.0), (0.0, 1.0), tuple(marks))
