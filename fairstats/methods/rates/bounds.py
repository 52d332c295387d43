"""Worst-case bounds: every value that a ratio or difference could take, whatever the missing values
are.

Rows left out under ``missing="drop"`` are kept as a table of what is known of them. Each could fall
in any cell that agrees with it; the bounds are the extremes over all assignments (Manski 2003).
Around them lies an interval for the true value, which is somewhere between the bounds of the
population (Imbens & Manski 2004, Stoye 2009).
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

_CELL_OF_OUTCOME = {(1, 1): "tp", (0, 1): "fp", (1, 0): "fn", (0, 0): "tn"}
_MAX_SPLITS = 2_000
#: Bounds so many standard errors apart are one-sided each.
_FAR_APART = 10.0


class Bounds(NamedTuple):
    """Smallest and largest value over all assignments, and the interval for the true one."""

    low: float
    high: float
    ci_low: float
    ci_high: float


def worst_case_range(
    counts: CellCounts,
    rate: Rate,
    group: int,
    reference: int,
    contrast: Contrast,
    level: float = 0.95,
) -> Bounds:
    """Smallest and largest value of the contrast over all assignments of the missing values, with
    sampling.

    The rate is a proportion, or a mean of such: then the range is the mean of theirs and may not be
    attained. NaN where a group stays without cases. An assignment gives each row one place, so that
    the extreme table has two independent binomial counts, given their sizes: its limits are those
    of the score with the continuity correction, whose one-sided errors are at most .048 at each of
    1,200 settings enumerated (5 to 2,000 cases a group, rates .01 to .98; without it up to .113),
    at the critical value of `imbens_manski`.
    """
    rate = rate_in(counts, rate)
    lower_and_upper: tuple[list[tuple[float, Score]], ...] = ([], [])
    for part_rate in rate.parts or (rate,):
        successes, cases = (
            counts.total(*cell_names)[[group, reference]]
            for cell_names in (part_rate.successes, part_rate.cases)
        )
        known_cells = np.stack([successes, cases - successes], axis=1).ravel()
        possible_places = []
        for *known_values, n_rows in counts.missing.patterns:
            possible_places.append(
                (_possible_places(known_values, counts, part_rate, group, reference), n_rows)
            )
        for scores_of_end, direction, helpful in zip(
            lower_and_upper, (-1, 1), _HELPFUL, strict=True
        ):
            extreme_value, extreme_table = _extreme_value(
                known_cells, possible_places, contrast, helpful, direction
            )
            scores_of_end.append(
                (
                    extreme_value,
                    Score(math.inf, extreme_table, contrast, correction=True, continuity=True),
                )
            )
    low_bound, high_bound = (
        float(np.mean([extreme_value for extreme_value, _ in scores_of_end]))
        for scores_of_end in lower_and_upper
    )
    if math.isnan(low_bound) or math.isnan(high_bound):
        return Bounds(low=low_bound, high=high_bound, ci_low=math.nan, ci_high=math.nan)
    width_in_errors = min(
        _distance_in_std_errors(*both_ends) for both_ends in zip(*lower_and_upper, strict=True)
    )
    critical = imbens_manski(width_in_errors, level, n=counts.n + counts.missing.n_dropped)
    if len(lower_and_upper[0]) == 1:
        return Bounds(
            low=low_bound,
            high=high_bound,
            ci_low=lower_and_upper[0][0][1].limit(critical, -1),
            ci_high=lower_and_upper[1][0][1].limit(critical, 1),
        )
    movers = []
    for scores_of_end in lower_and_upper:
        movers.append(Mover(math.inf, (scores_of_end[0], scores_of_end[1])).limits(critical))
    return Bounds(low=low_bound, high=high_bound, ci_low=movers[0][0], ci_high=movers[1][1])


def imbens_manski(
    width: float, level: float, *, n: float, degrees_of_freedom: float = math.inf
) -> float:
    """Critical value c of both ends of an interval for a value of which the data give bounds.

    Φ(c + width) − Φ(−c) = level (Imbens & Manski 2004, eq. 6), Φ the normal law or Student's: from
    the two-sided quantile for bounds that meet to the one-sided one for bounds far apart; `width`:
    in standard errors of the less certain one. Less than √(2 log log n), for n rows, counts as
    none: so the interval keeps its level where the width goes to 0 (Stoye 2009, section 3).

    Examples
    --------
    >>> print(*(f"{imbens_manski(width, 0.95, n=1000):.4f}" for width in (0.0, 1.9, 2.0, 9.0)))
    1.9600 1.9600 1.6461 1.6449
    """
    if width < math.sqrt(2 * math.log(math.log(max(n, 16)))):
        return normal_quantile((1 + level) / 2, degrees_of_freedom)
    one_sided = normal_quantile(level, degrees_of_freedom) - 1e-9
    two_sided = normal_quantile((1 + level) / 2, degrees_of_freedom)

    def excess(critical: float) -> float:
        within = normal_cdf(critical + width, degrees_of_freedom)
        return within - normal_cdf(-critical, degrees_of_freedom) - level

    return float(scipy.optimize.brentq(excess, one_sided, two_sided, xtol=1e-14))


def _distance_in_std_errors(low_end: tuple[float, Score], high_end: tuple[float, Score]) -> float:
    """How far the bounds lie apart, in standard errors of the less certain one."""
    if low_end[0] == high_end[0]:
        return 0.0
    scores_and_others = ((low_end, high_end[0]), (high_end, low_end[0]))
    scores = (replace(score_method, continuity=False) for (_, score_method), _ in scores_and_others)
    return min(
        _FAR_APART
        if not 0 < abs(other_bound) < math.inf and score_method.contrast == "ratio"
        else abs(score_method.statistic(other_bound))
        for score_method, (_, other_bound) in zip(scores, scores_and_others, strict=True)
    )


def bounded_rate(name: str) -> Rate | None:
    """The rate behind a metric whose worst-case bounds are known; None for any other metric."""
    metric = find_metric(name)
    if metric is None or metric.contrast in ("gap", "odds_ratio") or not metric.rates:
        return None
    rate = RATES[metric.rates[0]]
    if rate.no_bounds or (rate.parts and metric.contrast == "ratio"):
        return None
    return rate


def worst_case_rows(
    counts: Any,
    comparisons: Sequence[Comparison],
    scale: str,
    level: float,
) -> list[dict[str, Any]]:
    """Range of every estimate of the comparisons of one metric, over all values of what is missing.

    `scale`: "ratio", or else differences; `level`: of the interval for the true value.
    """
    rates_behind = [bounded_rate(comparison.metric) for comparison in comparisons]
    weighted = isinstance(counts, CellCounts) and counts.weighted
    if not isinstance(counts, CellCounts) or weighted or None in rates_behind:
        if weighted:
            received = " with weights or clusters"
        else:
            received = ""
        allowed = "unweighted ratios and differences of rates"
        suggestion = "leave out the weights, or look at the rates one by one"
        raise InputError(
            "worst_case_bounds",
            got=comparisons[0].metric + received,
            allowed=allowed,
            cure=suggestion,
        )
    contrast: Contrast = "ratio" if scale == "ratio" else "difference"
    table_rows = []
    for comparison, rate_behind in (
        (comparison, rate_behind)
        for comparison, rate_behind in zip(comparisons, rates_behind, strict=True)
        if rate_behind
    ):
        group_index = counts.groups.index(comparison.group)
        reference_index = counts.groups.index(comparison.reference)
        bounds = worst_case_range(
            counts, rate_behind, group_index, reference_index, contrast, level
        )
        table_row = {
            "metric": comparison.metric,
            "group": comparison.group,
            "reference": comparison.reference,
            "estimate": comparison.estimate,
        }
        table_rows.append({**table_row, **bounds._asdict(), "n_missing": counts.missing.n_dropped})
    return table_rows


_PLACES = ("success", "fail", "reference success", "reference fail")
#: Places that make the value smallest, and largest.
_HELPFUL = (("fail", "reference success"), ("success", "reference fail"))


def _possible_places(
    known_values: Sequence[int],
    counts: CellCounts,
    rate: Rate,
    group: int,
    reference: int,
) -> frozenset[str]:
    """Where a row with these known values could fall: one of `_PLACES`, or "outside"."""
    known_group, known_label, known_prediction = known_values
    in_groups = range(len(counts.groups)) if known_group < 0 else (known_group,)
    labels, predictions = (
        (0, 1) if known_value < 0 else (known_value,)
        for known_value in (known_label, known_prediction)
    )
    places_found = set()
    for group_index, label_value, predicted_value in product(in_groups, labels, predictions):
        if isinstance(counts, SelectionCounts):
            cell_name = "selected" if predicted_value else "not_selected"
        else:
            cell_name = _CELL_OF_OUTCOME[(label_value, predicted_value)]
        if group_index not in (group, reference) or cell_name not in rate.cases:
            places_found.add("outside")
            continue
        if cell_name in rate.successes:
            outcome = "success"
        else:
            outcome = "fail"
        places_found.add(outcome if group_index == group else f"reference {outcome}")
    return frozenset(places_found)


def _extreme_value(
    known_cells: Floats,
    possible_places: Sequence[tuple[frozenset[str], int]],
    contrast: Contrast,
    helpful: tuple[str, str],
    direction: int,
) -> tuple[float, Table]:
    """Extreme value when every row goes where it pushes hardest, and its table (k₀, n₀, k₁, n₁).

    Rows with a real choice are split. NaN where a group has no cases.
    """
    sure_cells = known_cells.copy()
    choices: dict[tuple[str, str], int] = {}
    unhelpful = tuple(place for place in _PLACES if place not in helpful)
    for places_of_rows, n_rows in possible_places:
        best_places = []
        for place in helpful:
            if place in places_of_rows:
                best_places.append(place)
        if not best_places and "outside" in places_of_rows:
            continue
        best_places = best_places or [place for place in unhelpful if place in places_of_rows]
        if len(best_places) == 1:
            sure_cells[_PLACES.index(best_places[0])] += n_rows
        else:
            choices[best_places[0], best_places[1]] = (
                choices.get((best_places[0], best_places[1]), 0) + n_rows
            )
    tables = sure_cells[None, :]
    for (first_place, second_place), n_rows in choices.items():
        split_sizes = np.linspace(0, n_rows, min(n_rows, _MAX_SPLITS) + 1).round()
        split_cells = np.zeros((split_sizes.size, 4))
        split_cells[:, _PLACES.index(first_place)] = split_sizes
        split_cells[:, _PLACES.index(second_place)] = n_rows - split_sizes
        tables = (tables[:, None, :] + split_cells[None, :, :]).reshape(-1, 4)
    values = contrast_of(tables, contrast)
    if np.isnan(values).all():
        return math.nan, (0.0, 0.0, 0.0, 0.0)
    extreme_index = int(np.nanargmax(values * direction))
    k0, f0, k1, f1 = tables[extreme_index].tolist()
    return float(values[extreme_index]), (k0, k0 + f0, k1, k1 + f1)
