"""Curves along cut-offs: every value, interval, limit, test and p-value, from the rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from fairstats.ground.registry import RATES
from fairstats.ground.tallies.stratum_moments import StratumMoments
from fairstats.methods.rates.numbers.curves import CurveDifferenceResult, CurveRatioResult
from fairstats.methods.rates.numbers.cutoffs import BY_QUANTILE, NET_BENEFIT
from fairstats.methods.rates.numbers.isotonic import ISOTONIC
from fairstats.methods.rates.numbers.stratified_curves import (
    StratifiedCurveDifferenceResult,
    StratifiedCurveRatioResult,
)
from fairstats.methods.rates.setup import POOLED
from fairstats.methods.rates.strata.result import sums_of_units, tables_of
from fairstats.report.crosscheck.check import Bench, Check, Line, rows_of
from fairstats.report.crosscheck.numbers import (
    PLACES_OF_POOLED,
    VALUES,
    compare_adjusted_mean,
    compare_row_of_numbers,
    design_of_rows,
)
from fairstats.report.crosscheck.pairs import compare_stratified
from fairstats.report.crosscheck.rates import adjusted, compare_row_of_rates, method_in_r

_TWIN = "crosscheck_curves"
_TWIN_OF_RATES = "crosscheck_rate_curve"
_TWIN_OF_OWN = "crosscheck_adjusted_rates"
_TWIN_OF_DESIGNS = "crosscheck_designed_rates"
_TWIN_OF_EQUALITY = "crosscheck_equal_curves"
EQUALITY = (
    Line("statistic of equal curves", "test.statistic", "statistic"),
    Line(
        quantity="p-value of equal curves",
        attribute="test.pvalue",
        twin="pvalue",
        error="pvalue_error",
    ),
    Line("scores that differ most, from", "low", "low"),
    Line("scores that differ most, to", "high", "high"),
    Line("difference at equal scores", "difference", "difference"),
)


def curves(result: CurveDifferenceResult | CurveRatioResult, bench: Bench) -> Iterator[Check]:
    """Every number of the comparisons at every cut-off, and of the tests of equal curves."""
    columns = _columns_for_r(result, bench)
    if columns is None:
        for comparison in result.comparisons:
            place = bench.place_of(comparison)
            yield place.needs_data("estimate", comparison.estimate, "a curve needs every row")
        yield from adjusted(result, bench)
        return
    if result.metric in (NET_BENEFIT, ISOTONIC):
        yield from _compare_numbers(result, columns, bench)
    else:
        yield from _compare_rates(result, columns, bench)
    yield from adjusted(result, bench)


def _columns_for_r(result: Any, bench: Bench) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Labels, scores and groups of the rows, and their weights and clusters; None without."""
    by_quantile = result.metric.endswith(BY_QUANTILE)
    names = ("y",) if by_quantile else ("y_true", "score")
    given = bench.given(*names, "sensitive_features")
    if given is None:
        return None
    *numbers, group = given
    score = np.asarray(numbers[-1], dtype=np.float64)
    # shares of rows need no labels, and rows up to a cut-off are those from its negative on
    label = np.zeros(score.size) if by_quantile else numbers[0]
    sign = 1.0 if result.larger_is_better else -1.0
    design = design_of_rows(result, bench)
    if design is None:
        return None
    return (
        np.asarray(label, dtype=np.float64),
        sign * score,
        [str(name) for name in np.asarray(group).tolist()],
        list(result.moments.groups),
        list(dict.fromkeys(sign * comparison.cutoff for comparison in result.comparisons)),
        *_positions(result),
    ), design


def _positions(result: Any) -> tuple[list[int], list[int]]:
    """Groups and references of the pairs, from 1."""
    groups = result.moments.groups
    pairs = result.pairs()
    first = [groups.index(pair[0]) + 1 for pair in pairs]
    if result.settings.comparisons in POOLED:
        if not result.rate:
            return first, [PLACES_OF_POOLED[pair[1]] for pair in pairs]
        # behind the groups stand all others of each
        return first, [len(groups) + position for position in first]
    second = [groups.index(pair[1]) + 1 for pair in pairs]
    return first, second


def _compare_numbers(
    result: Any, columns: tuple[tuple[Any, ...], dict[str, Any]], bench: Bench
) -> Iterator[Check]:
    rows, design = columns
    settings = result.settings
    answer = bench.call(
        _TWIN, result.metric, *rows, settings.confidence_level, settings.limit, **design
    )
    for comparison, row in zip(result.comparisons, rows_of(answer), strict=True):
        yield from compare_row_of_numbers(comparison, row, result, _TWIN, bench)
    if not result.equality:
        return
    label, score, group, groups, _, first, second = rows
    tests = bench.call(
        _TWIN_OF_EQUALITY,
        label,
        score,
        group,
        groups,
        first,
        second,
        settings.n_resamples,
        **design,
    )
    for equality, row in zip(result.equality, rows_of(tests), strict=True):
        place = bench.place(result.metric, equality.group, equality.reference)
        if np.isfinite(equality.test.statistic):
            yield from place.compare_all(EQUALITY, equality, row, _TWIN_OF_EQUALITY, relative=1e-8)


def _compare_rates(
    result: Any, columns: tuple[tuple[Any, ...], dict[str, Any]], bench: Bench
) -> Iterator[Check]:
    rows, design = columns
    settings = result.settings
    rate = RATES[result.rate]
    answer = bench.call(
        _TWIN_OF_RATES,
        rate.name,
        *rows,
        result.scale,
        [method_in_r(comparison) for comparison in result.comparisons],
        [comparison.procedure.exact for comparison in result.comparisons],
        settings.confidence_level,
        settings.limit,
        **design,
        comparisons=settings.comparisons,
    )
    for comparison, row in zip(result.comparisons, rows_of(answer), strict=True):
        place = bench.place_of(comparison)
        yield from place.compare_all(VALUES[2:], comparison, row, _TWIN_OF_RATES)
        yield from compare_row_of_rates(comparison, row, result, rate, bench, _TWIN_OF_RATES)


def stratified_curves(
    result: StratifiedCurveDifferenceResult | StratifiedCurveRatioResult, bench: Bench
) -> Iterator[Check]:
    """Every comparison within strata at every cut-off, from the cells or moments of the strata."""
    together = len(result.comparisons)
    n_pairs = together // len(result.stratum_parts)
    for place, comparison in enumerate(result.comparisons):
        part = result.stratum_parts[place // n_pairs]
        if isinstance(part, StratumMoments):
            yield from compare_adjusted_mean(comparison, part, result, together, bench)
            continue
        of_cutoff = result._at_one_cutoff(part, [comparison])
        (renamed,) = of_cutoff.comparisons
        yield from compare_stratified(
            of_cutoff, renamed, bench.place_of(comparison), together, bench
        )
        yield from _compare_own_rates(comparison, of_cutoff, renamed, bench)
    yield from adjusted(result, bench)


def _compare_own_rates(comparison: Any, result: Any, renamed: Any, bench: Bench) -> Iterator[Check]:
    """Intervals of both adjusted rates, by effective counts of weighted or clustered rows."""
    if math.isnan(comparison.value_interval.low):
        return
    settings = result.settings
    options = {
        "level": settings.confidence_level,
        "of_all": settings.comparisons == "overall",
    }
    sums = sums_of_units(result, renamed)
    if sums is None:
        twin = _TWIN_OF_OWN
        (table,) = tables_of(result, renamed)
        columns = [np.asarray(column, dtype=np.float64) for column in table]
        answer = bench.call(twin, *columns, **options)
    else:
        twin = _TWIN_OF_DESIGNS
        answer = bench.call(twin, *sums, contrast=result.scale, **options)
    lines = (VALUES[2], VALUES[3], VALUES[4], VALUES[5])
    yield from bench.place_of(comparison).compare_all(lines, comparison, answer, twin)
