"""Means, quantiles and errors of numbers: every value, interval, limit, test and p-value."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_given
from fairstats.ground.encoding import label_text
from fairstats.ground.multiplicity import normal_quantile
from fairstats.ground.tallies.moments import MomentCounts
from fairstats.ground.tallies.stratum_moments import OF_ERRORS, StratumMoments
from fairstats.ground.values import factorize
from fairstats.methods.rates.numbers.areas import AREA_METHOD
from fairstats.methods.rates.numbers.bootstrap import BOOTSTRAPS, STUDENTISED, SYMMETRIC
from fairstats.methods.rates.numbers.compare import HALL_MOVER, OVERALL, REST
from fairstats.methods.rates.numbers.decomposition import (
    DecompositionResult,
    encode_circumstances,
)
from fairstats.methods.rates.numbers.isotonic import BAND_METHOD, BRIER_PARTS
from fairstats.methods.rates.numbers.regressions import CALIBRATIONS
from fairstats.methods.rates.numbers.result import (
    STANDARDISED,
    NumberDifferenceResult,
    NumberRatioResult,
)
from fairstats.methods.rates.numbers.smooth import DETERMINATION
from fairstats.methods.rates.numbers.strata_areas import StratumAreas
from fairstats.methods.rates.numbers.strata_pairs import PairNames, names_of_pair
from fairstats.methods.rates.numbers.stratified import (
    ROOTS,
    StratifiedNumberDifferenceResult,
    StratifiedNumberRatioResult,
)
from fairstats.methods.rates.setup import POOLED
from fairstats.methods.rates.strata.compare import together_of
from fairstats.methods.rates.strata.result import ENDING
from fairstats.report.crosscheck.check import VERDICT, Bench, Check, Line, ends, rows_of
from fairstats.report.crosscheck.rates import EVIDENCE_OF_TWIN, TESTS_OF_TWIN, adjusted

_TWIN = "crosscheck_means"
_TWIN_OF_QUANTILES = "crosscheck_quantiles"
_TWIN_OF_RISKS = "crosscheck_risks"
_TWIN_WITHIN_STRATA = "crosscheck_adjusted_means"
_TWIN_OF_ADJUSTED_AREAS = "crosscheck_adjusted_areas"
_TWIN_OF_ADJUSTED_QUANTILES = "crosscheck_adjusted_quantiles"
_TWIN_OF_ADJUSTED_FITS = "crosscheck_adjusted_regressions"
_TWIN_OF_ADJUSTED_PARTS = "crosscheck_adjusted_parts"
_TWIN_OF_ADJUSTED_DRAWS = "crosscheck_adjusted_draws"
_TWINS_WITH_EVERYBODY = (
    _TWIN_OF_ADJUSTED_QUANTILES,
    _TWIN_OF_ADJUSTED_FITS,
    _TWIN_OF_ADJUSTED_PARTS,
)
_TWIN_OF_SPLITS = "crosscheck_decomposition"
_TWIN_OF_DRAWN = "crosscheck_smooth"
#: Twins that take every row, with its weight and cluster.
_TWINS_OF_ROWS = (_TWIN_OF_QUANTILES, _TWIN_OF_RISKS)
#: Rows of a decomposition for each pair of groups.
_N_PARTS = 3
#: Limits are roots in R and closed forms, or other roots, here; tails of t and z are both inverted.
_ROOT = 1e-7
_NEAR_ZERO = 1e-8
#: Statistics by MOVER are found by halving on both sides, of limits that are roots in R.
_HALVED = 1e-6
VALUES = (
    Line("value", "rate"),
    Line("value of the reference", "rate_reference"),
    *ends("interval of the value", "value_interval", "value_", relative=_ROOT, absolute=1e-8),
    *ends(
        "interval of the value of the reference",
        "value_reference_interval",
        "value_reference_",
        relative=_ROOT,
        absolute=1e-8,
    ),
)
_ESTIMATE = (Line("estimate", "estimate"), Line("standard error", "std_error", relative=_ROOT))
_INTERVAL_OF = " ({0.confidence_interval.method})"
_ONE_SIDED = ends(
    "interval", "confidence_interval", "side_", _INTERVAL_OF, random=True, relative=_ROOT
)
_INTERVALS = {
    "two-sided": ends(
        "interval", "confidence_interval", "", _INTERVAL_OF, random=True, relative=_ROOT
    ),
    "less": _ONE_SIDED[1:],
    "greater": _ONE_SIDED[:1],
}
_BOUNDS = ends("one-sided limit", "bounds", "bound_", relative=_ROOT)
#: Alternative → statistic and p-value of a test in the twin.
_TESTS = {**TESTS_OF_TWIN, "heterogeneity": ("q", "q_p")}
_OVER_STRATA = (
    Line("strata of both", "n_strata"),
    Line("informative strata", "n_informative"),
    Line("p-value, one contrast in all strata", "pvalue_homogeneity", "q_p", relative=_HALVED),
)
_NEEDS_ROWS = "quantiles, areas and regressions need every row"
_NEEDS_FUNCTION = "a metric that is a function is known to Python only"
#: Positions, in R, of what is no group.
PLACES_OF_POOLED = {REST: -1, OVERALL: -2}


def numbers(result: NumberDifferenceResult | NumberRatioResult, bench: Bench) -> Iterator[Check]:
    """Every number of the comparisons of one statistic."""
    if _twin_of(result) == _TWIN_OF_DRAWN:
        yield from _drawn_numbers(result, bench)
        return
    is_bootstrap = result.method in BOOTSTRAPS.values()
    twin = _twin_of(result)
    arguments = None if is_bootstrap else _arguments_for_r(result, bench)
    if arguments is None:
        reason = _NEEDS_FUNCTION if is_bootstrap else _NEEDS_ROWS
        for comparison in result.comparisons:
            place = bench.place_of(comparison)
            yield place.needs_data("estimate", comparison.estimate, reason)
        yield from adjusted(result, bench)
        return
    design = design_of_rows(result, bench) if twin in _TWINS_OF_ROWS else {}
    answer = bench.call(twin, *arguments, **_choices_for_r(result), **(design or {}))
    joint_rows = rows_of(answer)
    for comparison, row in zip(result.comparisons, joint_rows, strict=True):
        yield from compare_row_of_numbers(comparison, row, result, twin, bench)
    yield from adjusted(result, bench, joint_rows)


def stratified(
    result: StratifiedNumberDifferenceResult | StratifiedNumberRatioResult, bench: Bench
) -> Iterator[Check]:
    """Every comparison within strata, from the moments of both groups in all strata, or the rows."""
    if result.stratum_values is not None:
        yield from _stratified_of_rows(result, bench)
        return
    within = result.stratum_moments
    together = together_of(result)
    for comparison in result.comparisons:
        if result.stratum_areas is None:
            yield from compare_adjusted_mean(comparison, within, result, together, bench)
            continue
        places = _places_of_pair(comparison, within, result.settings.comparisons)
        arguments, design = _areas_for_r(result.stratum_areas, within.cells.n, places)
        names = names_of_pair(
            within, comparison.group, comparison.reference, result.settings.comparisons
        )
        design.update(_shared_areas_for_r(result.stratum_areas, names))
        choices = {"contrast": result.scale, **_choices_of_strata(result, together), **design}
        twin = _TWIN_OF_ADJUSTED_AREAS
        (row,) = rows_of(bench.call(twin, *arguments, **choices))
        yield from compare_row_of_numbers(comparison, row, result, twin, bench)
        yield from bench.place_of(comparison).compare_all(_OVER_STRATA, comparison, row, twin)
    yield from adjusted(result, bench)


def compare_adjusted_mean(
    comparison: Any, within: StratumMoments, result: Any, together: int, bench: Bench
) -> Iterator[Check]:
    """Every number of two adjusted means, from the moments of both groups in all strata."""
    places = _places_of_pair(comparison, within, result.settings.comparisons)
    of_pair = within.cells._take_groups(places.tolist())
    answer = bench.call(
        _TWIN_WITHIN_STRATA,
        *_moments_for_r(of_pair, result.column),
        **_shared_for_r(within, places, result.column),
        contrast=result.scale,
        root=result.metric.removesuffix(ENDING) in ROOTS,
        of_all=result.settings.comparisons == "overall",
        **_choices_of_strata(result, together),
    )
    (row,) = rows_of(answer)
    yield from compare_row_of_numbers(comparison, row, result, _TWIN_WITHIN_STRATA, bench)
    yield from bench.place_of(comparison).compare_all(
        _OVER_STRATA, comparison, row, _TWIN_WITHIN_STRATA
    )


def _shared_for_r(within: StratumMoments, places: NDArray[np.intp], column: str) -> dict[str, Any]:
    """Sums of products over clusters that lie in several of these crossings."""
    shared = within.shared
    if shared is None:
        return {}
    size = len(within.cells.groups)
    of_errors = shared.products[OF_ERRORS, within.cells.columns.index(column)]
    found = {}
    for name, sums in (("shared_weights", shared.weights), ("shared_errors", of_errors)):
        table = np.zeros((size, size))
        first, second = shared.places.T
        table[first, second] = sums
        table[second, first] = sums
        found[name] = table[np.ix_(places, places)].ravel()
    return found


def _places_of_pair(comparison: Any, within: StratumMoments, comparisons: str) -> NDArray[np.intp]:
    """Crossings of the group and then of its reference."""
    first_cells = np.arange(len(within.strata)) * len(within.groups)
    names = names_of_pair(within, comparison.group, comparison.reference, comparisons)
    return np.concatenate([first_cells + names.places[0], first_cells + names.places[1]])


def _choices_of_strata(result: Any, together: int) -> dict[str, Any]:
    settings = result.settings
    return {
        "limit": settings.limit,
        "level": settings.confidence_level,
        "together": together,
    }


def _areas_for_r(
    areas: StratumAreas, n: NDArray[np.int64], places: NDArray[np.intp]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Areas of both groups in all strata, and what rows with weights or in clusters have besides."""
    columns = (areas.area, areas.variance, areas.positives, areas.negatives, n)
    arguments = tuple(np.asarray(column, dtype=np.float64).ravel()[places] for column in columns)
    design = {}
    if areas.counted is not None and areas.weight is not None and areas.df is not None:
        counted = areas.counted.reshape(2, -1)[:, places].astype(np.float64)
        design = {
            "counted": counted.ravel(order="F"),
            "weight": areas.weight.ravel()[places],
            "df": areas.df.ravel()[places],
        }
    return arguments, design


def _shared_areas_for_r(areas: StratumAreas, names: PairNames) -> dict[str, Any]:
    """Areas of all rows beside which a group is compared, and what strata share of clusters."""
    found = {}
    if areas.covariance is not None:
        sides = [_between_for_r(areas, place) for place in names.places]
        found["between"] = np.concatenate(sides)
    if not names.of_all:
        return found
    everybody = check_given("everybody", areas.everybody)
    group = names.places[0]
    columns = [everybody.area, everybody.variance, everybody.positives, everybody.negatives]
    if everybody.df is not None:
        columns.append(everybody.df)
    of_all = np.array(columns, dtype=np.float64)
    found["as_one"] = of_all[:, :, 0].ravel()
    found["of_all"] = of_all[:, :, 1 + group].ravel()
    found["shared"] = check_given("shared", areas.shared)[:, :, group].ravel()
    if areas.shared_between is not None:
        found["between_all"] = _between_for_r(everybody, 0)
        found["shared_between"] = areas.shared_between[:, group].ravel()
    return found


def _between_for_r(areas: StratumAreas, place: int) -> Floats:
    """Covariance of the areas of strata, and products of shares in both labels."""
    covariance = check_given("covariance", areas.covariance)[place]
    units = check_given("units_between", areas.units_between)[:, place]
    return np.concatenate([covariance.ravel(), units.ravel()])


def _stratified_of_rows(result: Any, bench: Bench) -> Iterator[Check]:
    """Quantiles, slopes, intercepts and what is drawn within strata, from the rows."""
    rows = _crossed_rows(result, bench)
    if rows is None:
        for comparison in result.comparisons:
            place = bench.place_of(comparison)
            yield place.needs_data("estimate", comparison.estimate, _NEEDS_ROWS)
        yield from adjusted(result, bench)
        return
    twin, arguments = rows
    for comparison in result.comparisons:
        places = (
            _places_of_pair(comparison, result.stratum_moments, result.settings.comparisons) + 1.0
        )
        choices = _choices_of_strata(result, together_of(result))
        if twin == _TWIN_OF_ADJUSTED_DRAWS:
            n_resamples = result.settings.n_resamples
            choices["of_all"] = result.settings.comparisons == "overall"
            answer = bench.call(twin, *arguments, float(n_resamples), places, **choices)
            (row,) = rows_of(answer)
            yield from compare_drawn_row(comparison, row, result, n_resamples, bench, twin)
            lines = _OVER_STRATA if comparison.tests else _OVER_STRATA[:1]
        else:
            choices["contrast"] = result.scale
            if twin in _TWINS_WITH_EVERYBODY:
                choices["of_all"] = result.settings.comparisons == "overall"
            (row,) = rows_of(bench.call(twin, *arguments, places, **choices))
            yield from compare_row_of_numbers(comparison, row, result, twin, bench)
            lines = _OVER_STRATA
        yield from bench.place_of(comparison).compare_all(lines, comparison, row, twin)
    yield from adjusted(result, bench)


def _crossed_rows(result: Any, bench: Bench) -> tuple[str, tuple[Any, ...]] | None:
    """The twin, and its arguments from the rows; None where these were not given."""
    metric = result.metric.removesuffix(ENDING)
    drawn = metric in (STANDARDISED, DETERMINATION)
    names: tuple[str, ...] = ("y_true", "score")
    if metric == DETERMINATION:
        names = ("y_true", "y_pred")
    elif drawn or metric not in (*CALIBRATIONS, *BRIER_PARTS):
        names = ("y",)
    columns = bench.given(*names, "sensitive_features", "strata")
    design = design_of_rows(result, bench)
    if columns is None or design is None:
        return None
    *given, group, stratum = columns
    within = result.stratum_moments
    numbers = [np.asarray(column, dtype=np.float64) for column in given]
    strata = [within.strata.index(label_text(name)) for name in np.asarray(stratum).tolist()]
    groups = [within.groups.index(label_text(name)) for name in np.asarray(group).tolist()]
    sides = np.array(groups)
    weight = design.get("weight")
    cluster = design.get("cluster")
    rows = np.arange(sides.size)
    if result.settings.comparisons in POOLED:
        sides, rows = _beside_rests(sides, len(within.groups) // 2)
        numbers = [column[rows] for column in numbers]
        weight = None if weight is None else np.asarray(weight)[rows]
        if cluster is not None:
            own = np.asarray(cluster)[rows]
            cluster = np.unique(
                [f"{unit} {side}" for unit, side in zip(own, sides, strict=True)],
                return_inverse=True,
            )[1]
    cell = np.array(strata)[rows] * len(within.groups) + sides + 1.0
    count = float(len(within.strata) * len(within.groups))
    if drawn:
        squared_error = np.zeros(cell.size)
        if metric == DETERMINATION:
            squared_error = (numbers[1] - numbers[0]) ** 2
        arguments = (metric, numbers[0], squared_error, cell, count, weight, cluster)
        return _TWIN_OF_ADJUSTED_DRAWS, arguments
    if metric in CALIBRATIONS:
        return _TWIN_OF_ADJUSTED_FITS, (metric, *numbers, cell, count, weight, cluster)
    if metric in BRIER_PARTS:
        return _TWIN_OF_ADJUSTED_PARTS, (metric, *numbers, cell, count, weight, cluster)
    order = _order_of(metric)
    return _TWIN_OF_ADJUSTED_QUANTILES, (numbers[0], cell, count, order, weight, cluster)


def _beside_rests(
    groups: NDArray[np.intp], n_groups: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of all rows, and then of all others of each group behind the groups; and the rows."""
    sides = [groups]
    rows = [np.arange(groups.size)]
    for group in range(n_groups):
        others = np.flatnonzero(groups != group)
        sides.append(np.full(others.size, n_groups + group))
        rows.append(others)
    return np.concatenate(sides), np.concatenate(rows)


def _order_of(metric: str) -> float:
    return 0.5 if metric == "median" else float(metric.removeprefix("quantile_"))


def _drawn_numbers(result: Any, bench: Bench) -> Iterator[Check]:
    """Standardised differences and R², from the rows: limits and p-values within their draws' error."""
    rows = _drawn_rows_for_r(result, bench)
    if rows is None:
        for comparison in result.comparisons:
            place = bench.place_of(comparison)
            yield place.needs_data("estimate", comparison.estimate, "a bootstrap draws the rows")
        yield from adjusted(result, bench)
        return
    answer = bench.call(_TWIN_OF_DRAWN, rows, **_choices_for_r(result))
    n_resamples = result.settings.n_resamples
    joint_rows = rows_of(answer)
    for comparison, row in zip(result.comparisons, joint_rows, strict=True):
        yield from compare_drawn_row(comparison, row, result, n_resamples, bench, _TWIN_OF_DRAWN)
    yield from adjusted(result, bench, joint_rows)


def _drawn_rows_for_r(result: Any, bench: Bench) -> dict[str, Any] | None:
    """Arguments of R's `drawn_values`; None where the rows are not there."""
    columns = bench.given("y", "sensitive_features")
    squared_error: Any = 0.0
    if result.metric == DETERMINATION:
        columns = bench.given("y_true", "sensitive_features")
        predicted = bench.given("y_pred")
        if columns is None or predicted is None:
            return None
        residual = np.asarray(predicted[0], dtype=np.float64) - np.asarray(columns[0], float)
        squared_error = residual**2
    design = None if columns is None else _design_for_r(result, len(columns[0]), bench)
    if columns is None or design is None:
        return None
    names = list(result.moments.groups)
    places = [names.index(str(name)) + 1.0 for name in np.asarray(columns[1]).tolist()]
    weight, unit = design
    return {
        "metric": result.metric,
        "x": np.asarray(columns[0], dtype=np.float64),
        "squared_error": squared_error,
        "place": places,
        "count": len(names),
        "weight": weight,
        "cluster": unit,
        "resamples": result.settings.n_resamples,
    }


def compare_drawn_row(
    comparison: Any, row: dict[str, float], result: Any, n_resamples: int, bench: Bench, twin: str
) -> Iterator[Check]:
    """What is computed without draws, and limits, statistics and p-values within their errors."""
    place = bench.place_of(comparison)
    is_determination = result.metric.removesuffix(ENDING) == DETERMINATION
    own_lines = VALUES[:2] if is_determination else VALUES
    yield from place.compare_all(own_lines, comparison, row, twin)
    if is_determination:
        for attribute, name in (
            ("value_interval", "value"),
            ("value_reference_interval", "value_reference"),
        ):
            interval = getattr(comparison, attribute)
            yield from _compare_ends(
                place, f"interval of the {name}", interval, row, f"{name}_", n_resamples, twin
            )
    if not comparison.tests:
        return
    yield from place.compare_all(_ESTIMATE, comparison, row, twin)
    one_sided = result.settings.alternative != "two-sided"
    prefix = "side_" if one_sided else ""
    interval = comparison.confidence_interval
    yield from _compare_ends(place, "interval", interval, row, prefix, n_resamples, twin)
    yield from _compare_ends(
        place, "one-sided limit", comparison.bounds, row, "bound_", n_resamples, twin
    )
    for test in comparison.tests:
        if test.alternative == "heterogeneity":
            yield place.compare(f"statistic ({test.method})", test.statistic, row["q"], twin)
            yield place.compare(f"p-value ({test.method})", test.pvalue, row["q_p"], twin)
            continue
        statistic_name, pvalue_name = TESTS_OF_TWIN[test.alternative]
        words = f"({test.alternative}, {test.method})"
        error = _error_of_share(test.pvalue, n_resamples)
        density = float(np.exp(-(test.statistic**2) / 2) / np.sqrt(2 * np.pi))
        yield place.compare(
            f"statistic {words}",
            test.statistic,
            row[statistic_name],
            twin,
            error=error / max(density, 1e-6),
        )
        yield place.compare(f"p-value {words}", test.pvalue, row[pvalue_name], twin, error=error)
    if comparison.direction:
        yield place.compare(
            f"{VERDICT} ({comparison.direction})",
            comparison.pvalue_verdict,
            row[EVIDENCE_OF_TWIN[comparison.direction]],
            twin,
            error=2 * _error_of_share(comparison.pvalue_verdict, n_resamples),
        )


def _error_of_share(share: float, n_resamples: int) -> float:
    """Monte Carlo error of the difference of two shares of resamples; of none at all 1/K."""
    variance = share * max(1 - share, 0.0) + 1 / n_resamples
    return float(np.sqrt(2 * variance / n_resamples))


def _compare_ends(
    place: Any,
    quantity: str,
    interval: Any,
    row: dict[str, float],
    prefix: str,
    n_resamples: int,
    twin: str,
) -> Iterator[Check]:
    """Limits that are quantiles of draws: of the error √(p(1 − p)/K)/density, p the tail."""
    for end in ("low", "high"):
        limit = getattr(interval, end)
        if not np.isfinite(limit):
            continue
        tail = (1 - interval.confidence_level) / 2
        z = -normal_quantile(tail)
        width = interval.high - interval.low
        scale = width / (2 * z) if np.isfinite(width) else abs(limit)
        density = float(np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))
        yield place.compare(
            f"{quantity}, {end}",
            limit,
            row[f"{prefix}{end}"],
            twin,
            error=scale * _error_of_share(tail, n_resamples) / density,
        )


def _twin_of(result: Any) -> str:
    """The function of R that recomputes a result."""
    if result.metric == STANDARDISED and result.method == STUDENTISED:
        return _TWIN_OF_DRAWN
    if result.metric == DETERMINATION and result.method == SYMMETRIC:
        return _TWIN_OF_DRAWN
    if result.metric in ("auc", *CALIBRATIONS, *BRIER_PARTS):
        return _TWIN_OF_RISKS
    if result.order is not None:
        return _TWIN_OF_QUANTILES
    return _TWIN


def _arguments_for_r(result: Any, bench: Bench) -> tuple[Any, ...] | None:
    """Moments, or the rows; None where those are needed and were not given."""
    twin = _twin_of(result)
    if twin == _TWIN:
        return _moments_for_r(result.moments, result.column)
    numbers_needed = ("y",) if twin == _TWIN_OF_QUANTILES else ("y_true", "score")
    columns = bench.given(*numbers_needed, "sensitive_features")
    if columns is None or design_of_rows(result, bench) is None:
        return None
    *numbers_given, group = columns
    rows = (
        *(np.asarray(column, dtype=np.float64) for column in numbers_given),
        [str(name) for name in np.asarray(group).tolist()],
        list(result.moments.groups),
    )
    if twin == _TWIN_OF_QUANTILES:
        return (*rows, result.order)
    return (result.metric, *rows)


def design_of_rows(result: Any, bench: Bench) -> dict[str, Any] | None:
    """Weights and clusters of the rows, where they have some; None where these were not given."""
    design: dict[str, Any] = {}
    for argument, name, has_one in (
        ("sample_weight", "weight", result.moments.weighted),
        ("cluster", "cluster", result.moments.clustered),
    ):
        if not has_one:
            continue
        column = bench.given(argument)
        if column is None:
            return None
        values = np.asarray(column[0])
        if name == "weight":
            design[name] = values.astype(np.float64)
        else:
            design[name] = [str(value) for value in values.tolist()]
    return design


def _moments_for_r(moments: MomentCounts, name: str) -> tuple[Any, ...]:
    """Moments of one number, as R takes them."""
    column = moments.columns.index(name)
    return (
        moments.mean[column],
        moments.n.astype(np.float64),
        moments.units.astype(np.float64),
        moments.weights,
        moments.centred[:, column],
        moments.negative[column].astype(np.float64),
    )


def _choices_for_r(result: Any) -> dict[str, Any]:
    """Pairs, levels and limits; those of all pairs where the data chose the reference."""
    settings = result.settings
    groups = result.moments.groups
    rows = result.comparisons
    second_of = {name: place for place, name in enumerate(groups, start=1)}
    if settings.comparisons in ("rest", "overall"):
        second_of = PLACES_OF_POOLED
    first = [groups.index(comparison.group) + 1 for comparison in rows]
    second = [second_of[comparison.reference] for comparison in rows]
    family = list(zip(first, second, strict=True))
    simultaneous = settings.simultaneous
    if settings.reference_rule == "highest" and settings.comparisons == "reference":
        simultaneous = simultaneous or "max-z"
        family = list(combinations(range(1, len(groups) + 1), 2))
    choices = {
        "first": first,
        "second": second,
        "contrast": result.scale,
        "level": settings.confidence_level,
        "limit": settings.limit,
        "simultaneous": simultaneous or "none",
        "family_first": [pair[0] for pair in family],
        "family_second": [pair[1] for pair in family],
    }
    if settings.reference_rule == "highest":
        choices["pvalues"] = [comparison.pvalue for comparison in rows]
        choices["sides"] = 2.0 if settings.alternative == "two-sided" else 1.0
    if _twin_of(result) == _TWIN:
        choices["root"] = result.metric == "root_mean_squared_error"
    return choices


def compare_row_of_numbers(
    comparison: Any,
    row: dict[str, float],
    result: Any,
    twin: str,
    bench: Bench,
) -> Iterator[Check]:
    """Every number of a comparison of numbers."""
    place = bench.place_of(comparison)
    yield from place.compare_all(VALUES, comparison, row, twin)
    if not comparison.tests:
        return
    lines = (*_ESTIMATE, *_INTERVALS[result.settings.alternative], *_BOUNDS)
    # areas and coefficients have no unit: a limit near 0 is compared with their own size
    absolute = _NEAR_ZERO if twin == _TWIN_OF_RISKS else 0.0
    # and coefficients are the ends of two searches
    of_search = _HALVED if result.metric.removesuffix(ENDING) in CALIBRATIONS else 0.0
    yield from place.compare_all(
        lines, comparison, row, twin, absolute=absolute, relative=of_search
    )
    relative = _ROOT if _twin_of(result) == _TWIN else _HALVED
    if comparison.method == BAND_METHOD:
        relative = _HALVED
    if comparison.method in (HALL_MOVER, AREA_METHOD):
        relative = _HALVED
    for test in comparison.tests:
        statistic_name, pvalue_name = _TESTS[test.alternative]
        words = f"({test.alternative}, {test.method})"
        # the least Q is sought on both sides
        error = _HALVED if test.alternative == "heterogeneity" else relative
        yield place.compare(
            f"statistic {words}", test.statistic, row[statistic_name], twin, relative=error
        )
        yield place.compare(
            f"p-value {words}", test.pvalue, row[pvalue_name], twin, relative=10 * error
        )
    if comparison.direction:
        yield place.compare(
            f"{VERDICT} ({comparison.direction})",
            comparison.pvalue_verdict,
            row[EVIDENCE_OF_TWIN[comparison.direction]],
            twin,
            relative=10 * relative,
        )


def decomposition(result: DecompositionResult, bench: Bench) -> Iterator[Check]:
    """Every number of the parts of a gap, from the rows."""
    arguments = _rows_for_r(result, bench)
    if arguments is None:
        for comparison in result.comparisons:
            place = bench.place(comparison.metric, comparison.group, comparison.reference)
            yield place.needs_data("estimate", comparison.estimate, "a regression needs every row")
    else:
        settings = result.settings
        answer = bench.call(
            _TWIN_OF_SPLITS,
            *arguments,
            result.regression,
            settings.limit,
            settings.confidence_level,
            len(result.comparisons) / _N_PARTS if settings.simultaneous else 1.0,
            settings.n_resamples if result.method == STUDENTISED else 0,
        )
        for comparison, row in zip(result.comparisons, rows_of(answer), strict=True):
            if result.method == STUDENTISED:
                yield from compare_drawn_row(
                    comparison, row, result, settings.n_resamples, bench, _TWIN_OF_SPLITS
                )
            else:
                yield from compare_row_of_numbers(comparison, row, result, _TWIN_OF_SPLITS, bench)
    for part in dict.fromkeys(comparison.metric for comparison in result.comparisons):
        family = [comparison for comparison in result.comparisons if comparison.metric == part]
        for field in ("pvalue", "pvalue_verdict"):
            yield from bench.adjusted(family, bench.place_of, result.settings.adjust, field)


def _rows_for_r(result: DecompositionResult, bench: Bench) -> tuple[Any, ...] | None:
    """Outcome, circumstances, weights, units and groups of every row; None where they lack."""
    columns = bench.given("y", "sensitive_features", "circumstances")
    if columns is None:
        return None
    outcome, group, circumstances = columns
    y = np.asarray(outcome, dtype=np.float64)
    row_design = _design_for_r(result, y.size, bench)
    if row_design is None:
        return None
    design = [
        values for of_one in encode_circumstances(circumstances).values() for values in of_one
    ]
    names = list(result.moments.groups)
    places = [names.index(str(name)) + 1.0 for name in np.asarray(group).tolist()]
    pairs = list(dict.fromkeys((row.group, row.reference) for row in result.comparisons))
    is_rest = result.settings.comparisons == "rest"
    references = [-1.0 if is_rest else names.index(pair[1]) + 1.0 for pair in pairs]
    return (
        y,
        np.concatenate(design),
        *row_design,
        places,
        [names.index(pair[0]) + 1.0 for pair in pairs],
        references,
    )


def _design_for_r(result: Any, n_rows: int, bench: Bench) -> tuple[Floats, Floats] | None:
    """Weight and sampling unit of every row; None where the report had some that are not given."""
    weight: Floats = np.ones(n_rows)
    unit: Any = np.arange(n_rows)
    if result.moments.weighted:
        given = bench.given("sample_weight")
        if given is None:
            return None
        weight = np.asarray(given[0], dtype=np.float64)
    if result.moments.clustered:
        given = bench.given("cluster")
        if given is None:
            return None
        unit = factorize(given[0], "cluster").codes
    return weight, np.asarray(unit, dtype=np.float64)
