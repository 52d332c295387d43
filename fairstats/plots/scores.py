"""Scores of two groups: histograms with the MADD area, MADD by bandwidth, ROC curves, calibration."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairstats.plots.picture import LIMIT, NEUTRAL, Picture, mark

_DIAGONAL = mark("line", (0, 1), (0, 1), NEUTRAL)
_UNIT = (0.0, 1.0)


def score_histograms(result: Any, comparison: Any) -> Picture:
    """Histograms of the two sides of a comparison in its own bins; what differs is MADD.

    `result`: a `MaddResult`, read by its `counts`.
    """
    counts = result.counts
    bins = comparison.grid_bins
    edges = np.concatenate([[0.0], counts.grid(bins), [1.0]])
    if counts.atoms is not None:  # a score reaches half way to the next
        edges = np.concatenate([[0.0], (counts.atoms[1:] + counts.atoms[:-1]) / 2, [1.0]])
    sides = [counts.on_grid(bins)[list(g)].sum(axis=0) for g in counts.sides(comparison.group, comparison.reference)]
    shares = [side / max(side.sum(), 1e-300) / np.diff(edges) for side in sides]
    names = comparison.group, comparison.reference
    marks = [mark("steps", edges, share, k, name) for k, (share, name) in enumerate(zip(shares, names, strict=True))]
    apart = np.repeat(np.maximum(*shares), 2), np.repeat(np.minimum(*shares), 2)
    x = np.repeat(edges, 2)[1:-1]
    label = f"where they differ: MADD {comparison.binned:.3f} of 2"
    marks.append(mark("band", x, apart[0], LIMIT, label, low=apart[1]))
    top = 1.05 * max(float(np.max(shares)), 1e-9)
    title = f"Scores of {names[0]} and {names[1]}"
    return Picture(title, "score", "density", _UNIT, (0.0, top), tuple(marks))


def madd_by_bandwidth(result: Any, comparison: Any) -> Picture:
    """MADD at every bandwidth whose bins the result has counted, with the stable stretch and h_sup."""
    counts = result.counts
    first, second = counts.sides(comparison.group, comparison.reference)
    inner = set(counts.edges.tolist())
    found = []
    for m in range(1, 101):
        if m == 1 or all(k / m in inner for k in range(1, m)):
            table = counts.on(m)
            a, b = (table[list(side)].sum(axis=0) for side in (first, second))
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
    """ROC curves of the two sides with the area between them.

    `result`: an `AbrocaResult`, read by its `roc(group)`.
    """
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
    """Share of favourable outcomes by score of the two sides, with Wilson's interval of every bin as a band.

    `result`: an `AbrocaResult`, read by its `counts` and `settings`.
    """
    level = result.settings.confidence_level
    marks = [_DIAGONAL]
    for k, name in enumerate((comparison.group, comparison.reference)):
        score, _, rate, low, high = result.counts.calibration(result.counts.groups.index(name), level)
        marks.append(mark("band", score, high, k, low=low))
        marks += [mark("line", score, rate, k, name), mark("dots", score, rate, k)]
        if score.size == 1:  # no band without a second bin
            marks.append(mark("line", score[[0, 0]], [low[0], high[0]], k))
    title = f"Calibration of {comparison.group} and {comparison.reference} (bands: {100 * level:g}%)"
    return Picture(title, "score", "share with Y = 1", _UNIT, _UNIT, tuple(marks))
