"""Worst-case bounds: every value that a ratio or difference could take, whatever the missing values are.

Rows left out under ``missing="drop"`` are kept as a table of what is known of them (group, label, prediction,
or not). Each could fall in any cell that agrees with it; the bounds are the extremes over all assignments
(Manski 2003).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.counts import CellCounts, SelectionCounts
from fairstats.ground.errors import InputError
from fairstats.ground.registry import RATES, Rate, find_metric
from fairstats.ground.results import Comparison
from fairstats.methods.rates.estimates import rate_in
from fairstats.methods.rates.score import Contrast

_CELL = {(1, 1): "tp", (0, 1): "fp", (1, 0): "fn", (0, 0): "tn"}
_MAX_SPLITS = 2_000


def worst_case_range(
    counts: CellCounts, rate: Rate, group: int, reference: int, contrast: Contrast
) -> tuple[float, float]:
    """Smallest and largest value of the contrast over all assignments of the missing values.

    The rate is a proportion, or a mean of such: then the range is the mean of theirs and may not be attained.
    NaN where a group stays without cases; counts are unweighted, with the patterns of the rows left out.
    """
    rate = rate_in(counts, rate)
    if rate.parts:
        ranges = [worst_case_range(counts, part, group, reference, contrast) for part in rate.parts]
        low, high = np.mean(ranges, axis=0).tolist()
        return low, high
    k, d = (counts.total(*cells)[[group, reference]] for cells in (rate.successes, rate.cases))
    base = np.stack([k, d - k], axis=1).ravel()
    patterns = counts.missing.patterns
    options = [(_places(known, counts, rate, group, reference), n) for *known, n in patterns]
    low = _extreme(base, options, contrast, helpful=("fail", "reference success"), sign=-1)
    high = _extreme(base, options, contrast, helpful=("success", "reference fail"), sign=1)
    return low, high


def bounded_rate(name: str) -> Rate | None:
    """The rate behind a metric whose worst-case bounds are known; None for any other metric."""
    metric = find_metric(name)
    if metric is None or metric.contrast == "gap" or not metric.rates:
        return None
    rate = RATES[metric.rates[0]]
    mean_in_ratio = bool(rate.parts) and metric.contrast == "ratio"
    return None if rate.no_bounds or mean_in_ratio else rate


def worst_case_rows(counts: Any, comparisons: Sequence[Comparison], scale: str) -> list[dict[str, Any]]:
    """Range of every estimate of the comparisons of one metric, over all values of what is missing.

    `counts`: cell counts that know what was left out; `scale`: "ratio", or else differences.
    """
    rates = [bounded_rate(c.metric) for c in comparisons]
    weighted = isinstance(counts, CellCounts) and counts.weighted
    if not isinstance(counts, CellCounts) or weighted or None in rates:
        raise InputError(
            "worst_case_bounds",
            got=comparisons[0].metric + (" with weights or clusters" if weighted else ""),
            allowed="unweighted ratios and differences of rates",
            cure="leave out the weights, or look at the rates one by one",
        )
    contrast: Contrast = "ratio" if scale == "ratio" else "difference"
    rows = []
    for c, rate in zip(comparisons, rates, strict=True):
        if rate is None:
            continue
        i, j = counts.groups.index(c.group), counts.groups.index(c.reference)
        low, high = worst_case_range(counts, rate, i, j, contrast)
        row = {"metric": c.metric, "group": c.group, "reference": c.reference, "estimate": c.estimate}
        rows.append({**row, "low": low, "high": high, "n_missing": counts.missing.n_dropped})
    return rows


_PLACES = ("success", "fail", "reference success", "reference fail")


def _places(
    known: Sequence[int], counts: CellCounts, rate: Rate, group: int, reference: int
) -> frozenset[str]:
    """Where a row with these known values could fall: one of `_PLACES`, or "outside"."""
    g, label, prediction = known
    in_groups = range(len(counts.groups)) if g < 0 else (g,)
    labels = (0, 1) if label < 0 else (label,)
    predictions = (0, 1) if prediction < 0 else (prediction,)
    found = set()
    for where, y, p in product(in_groups, labels, predictions):
        cell = ("selected" if p else "not_selected") if isinstance(counts, SelectionCounts) else _CELL[(y, p)]
        if where not in (group, reference) or cell not in rate.cases:
            found.add("outside")
            continue
        outcome = "success" if cell in rate.successes else "fail"
        found.add(outcome if where == group else f"reference {outcome}")
    return frozenset(found)


def _extreme(
    base: NDArray[np.float64],
    options: Sequence[tuple[frozenset[str], int]],
    contrast: Contrast,
    *,
    helpful: tuple[str, str],
    sign: int,
) -> float:
    """Extreme value when every row goes where it pushes hardest; rows with a real choice are split."""
    cells = base.copy()
    choices: dict[tuple[str, str], int] = {}
    other = tuple(place for place in _PLACES if place not in helpful)
    for places, count in options:
        best = [place for place in helpful if place in places]
        if not best and "outside" in places:
            continue
        best = best or [place for place in other if place in places]
        if len(best) == 1:
            cells[_PLACES.index(best[0])] += count
        else:
            pair = (best[0], best[1])
            choices[pair] = choices.get(pair, 0) + count
    tables = cells[None, :]
    for (first, second), count in choices.items():
        share = np.unique(np.linspace(0, count, min(count, _MAX_SPLITS) + 1).round())
        split = np.zeros((share.size, 4))
        split[:, _PLACES.index(first)], split[:, _PLACES.index(second)] = share, count - share
        tables = (tables[:, None, :] + split[None, :, :]).reshape(-1, 4)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = tables[:, 0] / (tables[:, 0] + tables[:, 1])
        rate_reference = tables[:, 2] / (tables[:, 2] + tables[:, 3])
        values = rate / rate_reference if contrast == "ratio" else rate - rate_reference
    values = values[~np.isnan(values)] * sign
    return sign * float(values.max()) if values.size else float("nan")
