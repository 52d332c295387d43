"""Worst-case bounds: every value that a ratio or difference could take, whatever the missing values are.

Rows left out under ``missing="drop"`` are kept as a table of what is known of them. Each could fall in any cell that
agrees with it; the bounds are the extremes over all assignments (Manski 2003). Around them lies an interval for the
true value, which is somewhere between the bounds of the population (Imbens & Manski 2004, Stoye 2009).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import scipy

from fairstats.ground.checks import Floats
from fairstats.ground.counts import CellCounts, SelectionCounts
from fairstats.ground.errors import InputError
from fairstats.ground.multiplicity import normal_cdf, normal_quantile
from fairstats.ground.registry import RATES, Rate, find_metric
from fairstats.ground.results import Comparison
from fairstats.methods.rates.estimates import rate_in
from fairstats.methods.rates.limits import Mover, Score, contrast_of
from fairstats.numerics.rates.score import Contrast, Table

_CELL = {(1, 1): "tp", (0, 1): "fp", (1, 0): "fn", (0, 0): "tn"}
_MAX_SPLITS = 2_000
#: Bounds so many standard errors apart are one-sided each.
_FAR = 10.0


class Bounds(NamedTuple):
    """Smallest and largest value over all assignments, and the interval for the true one."""

    low: float
    high: float
    ci_low: float
    ci_high: float


def worst_case_range(
    counts: CellCounts, rate: Rate, group: int, reference: int, contrast: Contrast, level: float = 0.95
) -> Bounds:
    """Smallest and largest value of the contrast over all assignments of the missing values, with sampling.

    The rate is a proportion, or a mean of such: then the range is the mean of theirs and may not be attained. NaN where
    a group stays without cases. An assignment gives each row one place, so that the extreme table has two independent
    binomial counts, given their sizes: its limits are those of the score with the continuity correction, whose
    one-sided errors are at most .048 at each of 1,200 settings enumerated (5 to 2,000 cases a group, rates .01 to .98;
    without it up to .113), at the critical value of `imbens_manski`.
    """
    rate = rate_in(counts, rate)
    ends: tuple[list[tuple[float, Score]], ...] = ([], [])
    for part in rate.parts or (rate,):
        k, d = (counts.total(*cells)[[group, reference]] for cells in (part.successes, part.cases))
        base = np.stack([k, d - k], axis=1).ravel()
        options = [(_places(known, counts, part, group, reference), n) for *known, n in counts.missing.patterns]
        for found, sign, helpful in zip(ends, (-1, 1), _HELPFUL, strict=True):
            value, table = _extreme(base, options, contrast, helpful, sign)
            found.append((value, Score(math.inf, table, contrast, correction=True, continuity=True)))
    low, high = (float(np.mean([value for value, _ in found])) for found in ends)
    if math.isnan(low) or math.isnan(high):
        return Bounds(low, high, math.nan, math.nan)
    width = min(_standard_errors(*pair) for pair in zip(*ends, strict=True))
    critical = imbens_manski(width, level, n=counts.n + counts.missing.n_dropped)
    if len(ends[0]) == 1:
        return Bounds(low, high, ends[0][0][1].limit(critical, -1), ends[1][0][1].limit(critical, 1))
    movers = [Mover(math.inf, (found[0], found[1])).limits(critical) for found in ends]
    return Bounds(low, high, movers[0][0], movers[1][1])


def imbens_manski(width: float, level: float, *, n: int) -> float:
    """Critical value c of both ends of an interval for a value of which the data give bounds.

    Φ(c + width) − Φ(−c) = level (Imbens & Manski 2004, eq. 6): from the two-sided quantile for bounds that meet to the
    one-sided one for bounds far apart; `width`: in standard errors of the less certain one. Less than √(2 log log n),
    for n rows, counts as none: so the interval keeps its level where the width goes to 0 (Stoye 2009, section 3).

    Examples
    --------
    >>> print(*(f"{imbens_manski(width, 0.95, n=1000):.4f}" for width in (0.0, 1.9, 2.0, 9.0)))
    1.9600 1.9600 1.6461 1.6449
    """
    if width < math.sqrt(2 * math.log(math.log(max(n, 16)))):
        return normal_quantile((1 + level) / 2)
    ends = normal_quantile(level) - 1e-9, normal_quantile((1 + level) / 2)
    return float(scipy.optimize.brentq(lambda c: normal_cdf(c + width) - normal_cdf(-c) - level, *ends, xtol=1e-14))


def _standard_errors(low: tuple[float, Score], high: tuple[float, Score]) -> float:
    """How far the bounds lie apart, in standard errors of the less certain one."""
    if low[0] == high[0]:
        return 0.0
    both = ((low, high[0]), (high, low[0]))
    scores = (replace(score, continuity=False) for (_, score), _ in both)
    return min(
        _FAR if not 0 < abs(other) < math.inf and score.contrast == "ratio" else abs(score.statistic(other))
        for score, (_, other) in zip(scores, both, strict=True)
    )


def bounded_rate(name: str) -> Rate | None:
    """The rate behind a metric whose worst-case bounds are known; None for any other metric."""
    metric = find_metric(name)
    if metric is None or metric.contrast == "gap" or not metric.rates:
        return None
    rate = RATES[metric.rates[0]]
    return None if rate.no_bounds or (rate.parts and metric.contrast == "ratio") else rate


def worst_case_rows(counts: Any, comparisons: Sequence[Comparison], scale: str, level: float) -> list[dict[str, Any]]:
    """Range of every estimate of the comparisons of one metric, over all values of what is missing.

    `scale`: "ratio", or else differences; `level`: of the interval for the true value.
    """
    rates = [bounded_rate(c.metric) for c in comparisons]
    weighted = isinstance(counts, CellCounts) and counts.weighted
    if not isinstance(counts, CellCounts) or weighted or None in rates:
        got, allowed = " with weights or clusters" if weighted else "", "unweighted ratios and differences of rates"
        cure = "leave out the weights, or look at the rates one by one"
        raise InputError("worst_case_bounds", got=comparisons[0].metric + got, allowed=allowed, cure=cure)
    contrast: Contrast = "ratio" if scale == "ratio" else "difference"
    rows = []
    for c, rate in ((c, rate) for c, rate in zip(comparisons, rates, strict=True) if rate):
        i, j = counts.groups.index(c.group), counts.groups.index(c.reference)
        bounds = worst_case_range(counts, rate, i, j, contrast, level)
        row = {"metric": c.metric, "group": c.group, "reference": c.reference, "estimate": c.estimate}
        rows.append({**row, **bounds._asdict(), "n_missing": counts.missing.n_dropped})
    return rows


_PLACES = ("success", "fail", "reference success", "reference fail")
#: Places that make the value smallest, and largest.
_HELPFUL = (("fail", "reference success"), ("success", "reference fail"))


def _places(known: Sequence[int], counts: CellCounts, rate: Rate, group: int, reference: int) -> frozenset[str]:
    """Where a row with these known values could fall: one of `_PLACES`, or "outside"."""
    g, label, prediction = known
    in_groups = range(len(counts.groups)) if g < 0 else (g,)
    labels, predictions = ((0, 1) if value < 0 else (value,) for value in (label, prediction))
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
    base: Floats, options: Sequence[tuple[frozenset[str], int]], contrast: Contrast, helpful: tuple[str, str], sign: int
) -> tuple[float, Table]:
    """Extreme value when every row goes where it pushes hardest, and its table (k₀, n₀, k₁, n₁).

    Rows with a real choice are split. NaN where a group has no cases.
    """
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
            choices[best[0], best[1]] = choices.get((best[0], best[1]), 0) + count
    tables = cells[None, :]
    for (first, second), count in choices.items():
        share = np.linspace(0, count, min(count, _MAX_SPLITS) + 1).round()
        split = np.zeros((share.size, 4))
        split[:, _PLACES.index(first)], split[:, _PLACES.index(second)] = share, count - share
        tables = (tables[:, None, :] + split[None, :, :]).reshape(-1, 4)
    values = contrast_of(tables, contrast)
    if np.isnan(values).all():
        return math.nan, (0.0, 0.0, 0.0, 0.0)
    at = int(np.nanargmax(values * sign))
    k0, f0, k1, f1 = tables[at].tolist()
    return float(values[at]), (k0, k0 + f0, k1, k1 + f1)
