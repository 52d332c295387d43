"""Worst-case bounds: every value that a ratio or difference could take, whatever the missing values are.

Rows left out under ``missing="drop"`` are kept as a table of what is known of them (group, label, prediction,
or not). Each could fall in any cell that agrees with it; the bounds are the extremes over all assignments
(Manski 2003).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from fairstats.ground.counts import CellCounts, SelectionCounts
from fairstats.ground.errors import InputError
from fairstats.ground.scores import ScoreCounts
from fairstats.methods.rates.definitions import RATES, SELECTION_ONLY, Rate

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from fairstats.methods.rates.pair import Contrast
    from fairstats.methods.rates.result import ComparisonResult

__all__ = ["worst_case_frame", "worst_case_range"]

#: Rates behind each metric; the range of average odds is the mean of the ranges of its parts.
RATE_OF_METRIC: dict[str, tuple[str, ...]] = {
    "disparate_impact": ("selection_rate",),
    "conditional_accuracy_1": ("tpr",),
    "conditional_accuracy_0": ("tnr",),
    "conditional_use_accuracy_1": ("ppv",),
    "conditional_use_accuracy_0": ("npv",),
    "demographic_parity_difference": ("selection_rate",),
    "equal_opportunity_difference": ("tpr",),
    "predictive_parity_difference": ("ppv",),
    "average_odds_difference": ("tpr", "fpr"),
}

_CELL = {(1, 1): "tp", (0, 1): "fp", (1, 0): "fn", (0, 0): "tn"}
_MAX_SPLITS = 2_000


def worst_case_range(
    counts: CellCounts, rate: Rate, group: int, reference: int, contrast: Contrast
) -> tuple[float, float]:
    """Smallest and largest value of the contrast over all assignments of the missing values.

    Parameters
    ----------
    counts : CellCounts
        Unweighted counts with the patterns of the rows that were left out.
    rate : Rate
    group, reference : int
        Positions.
    contrast : {"ratio", "difference"}

    Returns
    -------
    low, high : float
        NaN where a group stays without cases.
    """
    if isinstance(counts, SelectionCounts):
        rate = SELECTION_ONLY
    k = counts.total(*rate.successes)[[group, reference]]
    d = counts.total(*rate.cases)[[group, reference]]
    base = np.array([k[0], d[0] - k[0], k[1], d[1] - k[1]])
    options = [
        (_places(pattern[:3], counts, rate, group, reference), pattern[3])
        for pattern in counts.missing.patterns
    ]
    low = _extreme(base, options, contrast, helpful=("fail", "reference success"), sign=-1)
    high = _extreme(base, options, contrast, helpful=("success", "reference fail"), sign=1)
    return low, high


def worst_case_frame(result: ComparisonResult) -> pd.DataFrame:
    """Range of every estimate of a result, as `ComparisonResult.worst_case_bounds` returns it."""
    import pandas as pd

    counts = result.counts
    rates = {**RATE_OF_METRIC, **{f"{key}_difference": (key,) for key in RATES}}
    if isinstance(counts, ScoreCounts):
        raise InputError(
            "worst_case_bounds",
            got=result.metric,
            allowed="ratios and differences of rates",
            cure="use those",
        )
    if counts.weighted or any(c.metric not in rates for c in result.comparisons):
        raise InputError(
            "worst_case_bounds",
            got=f"{result.metric}" + (" with weights or clusters" if counts.weighted else ""),
            allowed="unweighted ratios and differences of rates",
            cure="leave out the weights, or look at the rates one by one",
        )
    contrast: Contrast = "ratio" if result.scale == "ratio" else "difference"
    rows = []
    for c in result.comparisons:
        i, j = counts.groups.index(c.group), counts.groups.index(c.reference)
        keys = rates[c.metric]
        ranges = np.array([worst_case_range(counts, RATES[key], i, j, contrast) for key in keys])
        low, high = ranges.mean(axis=0)
        rows.append(
            {
                "metric": c.metric,
                "group": c.group,
                "reference": c.reference,
                "estimate": c.estimate,
                "low": float(low),
                "high": float(high),
                "n_missing": counts.missing.n_dropped,
            }
        )
    return pd.DataFrame(rows)


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
    values = values[~np.isnan(values)]
    if not values.size:
        return float("nan")
    return float(values.max() if sign > 0 else values.min())
