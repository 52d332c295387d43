"""Largest gaps, two models on the same people, ratios over strata, and shares of changed
predictions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.counts import SelectionCounts
from fairstats.ground.registry import RATES, find_metric
from fairstats.methods.hfm.risk import DiscriminativeRiskResult
from fairstats.methods.madd.mitigation import MitigationResult
from fairstats.methods.rates.classes.rates import rates_of_classes
from fairstats.methods.rates.classes.result import ClassMaximumResult
from fairstats.methods.rates.disparity import DisparityResult
from fairstats.methods.rates.employment.result import AdverseImpact, ImpactTable
from fairstats.methods.rates.extremes import ExtremeResult
from fairstats.methods.rates.maxima import BAND_BY_MEE, MaximumResult
from fairstats.methods.rates.models.result import AMPLIFICATION, QUANTITIES, ModelComparison
from fairstats.methods.rates.result import RatioResult
from fairstats.methods.rates.strata.compare import together_of
from fairstats.methods.rates.strata.result import (
    BRESLOW_DAY,
    COCHRAN_MANTEL_HAENSZEL,
    CONDITIONAL,
    HOMOGENEITY,
    StratifiedComparison,
    StratifiedDifferenceResult,
    StratifiedOddsRatioResult,
    StratifiedRatioResult,
    cells_of,
    sums_of_units,
    tables_of,
)
from fairstats.numerics.paired.change import OVERALL, PairedChange
from fairstats.report.crosscheck.check import (
    ADJUSTED,
    VERDICT,
    Bench,
    Check,
    Line,
    Place,
    column,
    ends,
    rows_of,
)
from fairstats.report.crosscheck.distances import madd
from fairstats.report.crosscheck.rates import (
    EXACT_PVALUE,
    LIMITS_OF_EXACT_TESTS,
    TESTS_OF_TWIN,
    WORST,
    adjusted,
    comparisons,
    design,
    name_in_r,
    positions,
    table_arguments,
)

if TYPE_CHECKING:
    _Compared = ModelComparison | MitigationResult

_POINTS = (Line("before", "before"), Line("after", "after"), Line("estimate", "estimate"))
#: A change of rates, AUC or Brier score, but for its joint interval.
_CLOSED = (
    *_POINTS,
    Line("standard error", "std_error"),
    *ends("interval", "confidence_interval"),
    Line("statistic", "statistic"),
    Line("p-value", "pvalue"),
)
_JOINT = ends("simultaneous interval", "simultaneous", "joint_")
_DRAWN = (
    *_POINTS,
    Line("standard error", "std_error", error="std_error_error"),
    *ends("interval", "confidence_interval", random=True),
)
_CHANGE = (
    *_CLOSED,
    Line("change of the distance from parity", "distance_change", "distance"),
    *ends("its interval", "distance_interval", "distance_"),
    *_JOINT,
)
_GAP = (
    Line("estimate", "estimate"),
    Line("statistic", "statistic", relative=1e-7),
    *ends("interval", "confidence_interval", "interval_", random=True, **LIMITS_OF_EXACT_TESTS),
    *ends("one-sided bound", "bounds", "bounds_", random=True, **LIMITS_OF_EXACT_TESTS),
    Line(
        quantity="p-value (simultaneous)",
        attribute="pvalue",
        twin="pvalue",
        error="pvalue_error",
        relative=EXACT_PVALUE,
    ),
)

_BAND = (
    Line(
        quantity="critical value",
        attribute="critical_value",
        twin="critical",
        error="critical_error",
    ),
)
#: Every difference under the maximum, at the critical value of the report.
_COMPONENT = (
    Line("difference ({0.rate})", "estimate", "difference"),
    Line("standard error ({0.rate})", "std_error"),
    Line("band, lower end ({0.rate})", "low", relative=1e-7),
    Line("band, upper end ({0.rate})", "high", relative=1e-7),
)
_EXACT_COMPONENT = (
    *_COMPONENT[:2],
    Line("band, lower end ({0.rate})", "low", **LIMITS_OF_EXACT_TESTS),
    Line("band, upper end ({0.rate})", "high", **LIMITS_OF_EXACT_TESTS),
)
_STRATIFIED = "crosscheck_strata"
_DESIGNED = "crosscheck_designed_strata"
#: Of functions of the cells, and of means by the delta method.
_BY_DELTA = "crosscheck_strata_values"
#: Python differentiates functions by differences, R by symbols.
_DIFFERENTIATED = 1e-6
_RATES = (Line("rate", "rate"), Line("rate of the reference", "rate_reference"))
_OVER_STRATA = (
    Line("estimate", "estimate"),
    Line("standard error", "std_error"),
    *ends("one-sided limit", "bounds", "bound_"),
)
_ONE_SIDED = ends("interval", "confidence_interval", "side_")
#: Alternative → ends of its interval: the one at its open side is no estimate.
_INTERVALS = {
    "two-sided": ends("interval", "confidence_interval"),
    "less": _ONE_SIDED[1:],
    "greater": _ONE_SIDED[:1],
}
#: Direction of a verdict → its p-value in the twin.
_EVIDENCE = {
    side: (Line(f"{VERDICT} ({side})", "pvalue_verdict", f"p_{side}", relative=1e-7),)
    for side in ("below", "above", "inside")
}
#: Alternative → statistic and p-value of the stratified score in the twin.
_SCORE_TESTS = {
    "less": ("z", "p_less"),
    "greater": ("z_greater", "p_greater"),
    "two-sided": ("z_equal", "p_equal"),
}
#: Other test → the same.
_OTHER_TESTS = {
    COCHRAN_MANTEL_HAENSZEL: ("cmh", "cmh_p"),  # by stats::mantelhaen.test
    CONDITIONAL: ("sum", "exact_p"),
    HOMOGENEITY: ("q", "q_p"),
    BRESLOW_DAY: ("tarone", "tarone_p"),
}
#: R's `fisher.test` counts tables as extreme up to a relative error of 1e-7, SciPy's of 1e-14.
_IMPACT_LINES = (
    Line("p-value (Fisher)", "fisher", relative=1e-6),
    Line("p-value (mid-P)", "mid_p", relative=1e-6),
    Line("z (pooled)", "z"),
    Line("p-value (z)", "z_pvalue"),
    Line("Cohen's h", "cohen_h"),
    Line("phi", "phi"),
    Line("shortfall to the pooled rate", "shortfall"),
    Line("selections to be moved to the threshold", "shortfall_four_fifths"),
    Line("one other decision changes the verdict", "one_decision"),
    Line("flip-flop", "flip_flop"),
    Line("power at the threshold", "power", relative=1e-6),
)
_UNKNOWN = tuple(
    Line(f"{words}, people of unknown category", name)
    for name, words in (
        ("low", "smallest value"),
        ("high", "largest value"),
        ("ci_low", "interval, lower end"),
        ("ci_high", "interval, upper end"),
    )
)
_SHARE = (Line("estimate", "estimate"),)
_EXACT_SHARE = ends("interval", "confidence_interval", of=" (Clopper–Pearson)")
_CLUSTERED = "clustered by person: needs every answer of the model"


_DISPARITY = "crosscheck_disparity"
_TESTS_OF_DISPARITY = {
    "less": ("z_less", "p_less"),
    "greater": ("z_greater", "p_greater"),
    "two-sided": ("z_equal", "p_equal"),
}
#: Numbers of an extreme; p-values are found by halving on both sides.
_EXTREMES = "crosscheck_extremes"
_HALVED = 1e-6
_EXTREME = (
    Line("estimate", "estimate"),
    *ends("interval", "confidence_interval", relative=_HALVED, absolute=1e-9),
    *ends("one-sided limit", "bounds", "bound_", relative=_HALVED, absolute=1e-9),
    Line("p-value of equality", "pvalue", relative=_HALVED),
)
_EXTREME_NUMBERS = (
    "estimate",
    "low",
    "high",
    "bound_low",
    "bound_high",
    "pvalue",
    "p_outside",
    "p_inside",
)


def extreme(result: ExtremeResult, bench: Bench) -> Iterator[Check]:
    """Every number of a smallest ratio, or of a mean of extremes."""
    counts: Any = result.counts.without_even_weights()
    settings = result.settings
    (comparison,) = result.comparisons
    rates = [component.rate for component in result.components]
    contrast = "ratio" if result.scale == "ratio" else "difference"
    answer = bench.call(
        _EXTREMES,
        *table_arguments(counts),
        rates,
        contrast,
        result.agg,
        settings.confidence_level,
        settings.limit,
        **design(counts),
        clustered=bool(counts.clustered),
    )
    row = {name: float(np.atleast_1d(answer[name])[0]) for name in _EXTREME_NUMBERS}
    place = bench.place_of(comparison)
    yield from place.compare_all(_EXTREME, comparison, row, _EXTREMES)
    for component, value in zip(result.components, column(answer, "values"), strict=True):
        yield place.compare(f"estimate of {component.rate}", component.estimate, value, _EXTREMES)
    if comparison.direction:
        inside = comparison.direction == "inside"
        yield place.compare(
            f"{VERDICT} ({comparison.direction})",
            comparison.pvalue_verdict,
            row["p_inside" if inside else "p_outside"],
            _EXTREMES,
            relative=_HALVED,
        )


def largest_gap(result: MaximumResult, bench: Bench) -> Iterator[Check]:
    """Every number of a largest gap between any two groups."""
    place = bench.place(result.metric)
    metric = find_metric(result.metric)
    r_function = "crosscheck_largest"
    counts: Any = result.counts
    if metric is None or not result.components:
        yield place.left_out("estimate", result.estimate, "no difference is known")
        return
    if isinstance(counts, SelectionCounts):
        rates = ["selection_rate"]
    else:
        rates = list(metric.rates)
    names_in_r = rates
    if isinstance(result, ClassMaximumResult):
        kind: Any = result.kind
        of_classes = rates_of_classes(counts, [RATES[name] for name in metric.rates], kind)
        rates = [rate.name for rate in of_classes]
        names_in_r = [rate.name_in_r for rate in of_classes]
    options: dict[str, Any] = {}
    if result.settings.method == BAND_BY_MEE:
        options["method"] = "mee"
    if len(result.components) == 1:
        options["exact"] = any(comparison.procedure.exact for comparison in result.comparisons)
    answer = bench.call(
        r_function,
        *table_arguments(counts),
        names_in_r,
        result.settings.confidence_level,
        result.critical_value,
        counts.clustered,
        margin=result.settings.limit,
        **options,
        **design(counts),
    )
    for key in ("interval", "bounds"):
        ends_with_errors = (f"{key}_{name}" for name in ("low", "high", "low_error", "high_error"))
        answer |= dict(zip(ends_with_errors, column(answer, key), strict=True))
    (largest_gap_row,) = result.comparisons
    yield from place.compare_all(_GAP, largest_gap_row, answer, r_function)
    yield from place.compare_all(_BAND, result, answer, r_function)
    if largest_gap_row.direction:
        their_pvalue = answer[f"p_{largest_gap_row.direction}"]
        error = answer[f"p_{largest_gap_row.direction}_error"]
        quantity = f"{VERDICT} ({largest_gap_row.direction})"
        yield place.compare(
            quantity,
            largest_gap_row.pvalue_verdict,
            their_pvalue,
            r_function,
            error=error,
            relative=EXACT_PVALUE,
        )
    if bench.adjusted_here:
        adjusted = answer["pvalue"]
        error = answer["pvalue_error"]
        yield place.compare(
            ADJUSTED,
            largest_gap_row.pvalue_adjusted,
            adjusted,
            r_function,
            error=error,
            relative=EXACT_PVALUE,
        )
    names = ("metric", "first", "second", "difference", "std_error", "low", "high")
    groups = counts.groups
    differences = {}
    for row in rows_of({name: answer[name] for name in names}):
        differences[
            (
                rates[int(row["metric"]) - 1],
                groups[int(row["first"]) - 1],
                groups[int(row["second"]) - 1],
            )
        ] = row
    for comparison in result.components:
        place_of_groups = bench.place(result.metric, comparison.group, comparison.reference)
        if largest_gap_row.procedure.exact:
            lines = _EXACT_COMPONENT
        else:
            lines = _COMPONENT
        yield from place_of_groups.compare_all(
            lines,
            comparison,
            differences[comparison.rate, comparison.group, comparison.reference],
            r_function,
        )


# ---------------------------------------------------------------- two models on the same people


def mitigation(result: MitigationResult, bench: Bench) -> Iterator[Check]:
    """Every change of a mitigation, and MADD before and after from its histograms."""
    for name in ("before", "after"):
        for check in madd(getattr(result, name), replace(bench, data=None)):
            yield replace(check, metric=f"{check.metric}, {name}")
    yield from models(result, bench)


def models(result: _Compared, bench: Bench) -> Iterator[Check]:
    """Metrics of models on the same people, their change, and the paired intervals."""
    by_metric: dict[str, list[PairedChange]] = {}
    for comparison in result.comparisons:
        name = _metric_of_change(comparison)  # the changes of a metric are adjusted together
        family = (
            model
            for model in result.metrics
            if (known_metric := find_metric(model)) and name in known_metric.row_names
        )
        by_metric.setdefault(next(family, name), []).append(comparison)
    for rows in by_metric.values():
        for comparison in rows:
            yield from _compare_change(result, comparison, len(rows), bench)
        # else chosen pairs count too: as the simultaneous intervals
        if _chosen_among(result, rows[0]) <= 1:
            yield from bench.adjusted(
                rows, lambda comparison: _place_of_change(comparison, bench), result.adjust
            )


def _place_of_change(comparison: PairedChange, bench: Bench) -> Place:
    if comparison.metric == AMPLIFICATION:
        label = comparison.metric
    else:
        label = f"{comparison.metric}, {comparison.model} against {comparison.baseline}"
    return bench.place(label, comparison.group, comparison.reference)


def _metric_of_change(comparison: PairedChange) -> str:
    if comparison.metric == AMPLIFICATION:
        return "disparate_impact"
    return comparison.metric.removesuffix("_change")


def _compare_change(
    result: _Compared,
    comparison: PairedChange,
    family: int,
    bench: Bench,
) -> Iterator[Check]:
    """One change of a rate; of scores where the rows are given."""
    place = _place_of_change(comparison, bench)
    name = _metric_of_change(comparison)
    r_function = "crosscheck_paired"
    if math.isnan(comparison.estimate):
        yield place.left_out("estimate", comparison.estimate, comparison.note)
        return
    if name in QUANTITIES and name != "accuracy":
        yield from _score_change(result, comparison, family, place, bench)
        return
    metric = find_metric(name)
    counts = result.pair(comparison.model, comparison.baseline).counts
    if counts is None:
        return
    if comparison.group == OVERALL:
        counts = counts._with_new_groups((OVERALL,), [0] * len(counts.groups))
    level = result.confidence_level
    chosen = _chosen_among(result, comparison)
    joint = 1 - (1 - level) / (family * chosen)
    levels = [
        joint if chosen > 1 else level,
        joint,
        level if result.adjust == "none" and chosen <= 1 else joint,
    ]
    units = {"scatter": counts.scatter, "n_units": float(counts.n_units)}
    tables = np.asarray(counts.totals), np.asarray(counts.rows, dtype=np.float64)
    if metric is not None and metric.contrast == "gap":
        answer = bench.call(
            f"{r_function}_gap", *tables, list(counts.cells), list(metric.rates), levels, **units
        )
    else:
        if metric is None:
            rate = "accuracy"
            kind = "level"
        else:
            rate = metric.rates[0]
            kind = metric.contrast
        group_positions = []
        for group_name in (comparison.group, comparison.reference):
            if group_name:
                group_positions.append(counts.groups.index(group_name) + 1)
        answer = bench.call(
            r_function, *tables, group_positions, list(counts.cells), rate, kind, levels, **units
        )
    yield from place.compare_all(_CHANGE, comparison, answer, r_function)


def _chosen_among(result: _Compared, comparison: PairedChange) -> float:
    """Pairs of groups that the data could have chosen, per one that was compared."""
    if (
        result.settings.reference_rule != "highest"
        or _is_gap(comparison)
        or not comparison.reference
    ):
        return 1.0
    groups = set()
    for one in result.comparisons:
        for group_name in (one.group, one.reference):
            if one.metric == comparison.metric:
                groups.add(group_name)
    return len(groups) / 2


def _is_gap(comparison: PairedChange) -> bool:
    """Whether the change is that of a largest gap, which is sought over all pairs anyway."""
    metric = find_metric(_metric_of_change(comparison))
    return metric is not None and metric.contrast == "gap"


def _score_change(
    result: _Compared,
    comparison: PairedChange,
    family: int,
    place: Place,
    bench: Bench,
) -> Iterator[Check]:
    """One change of AUC, Brier score, MADD or ABROCA."""
    name = comparison.metric.removesuffix("_change")
    r_function = "crosscheck_paired_scores"
    rows = _rows_of_models(bench, labelled=name != "madd")
    if rows is None or not {comparison.model, comparison.baseline} <= set(rows[1]):
        yield place.needs_data("estimate", comparison.estimate, "scores of single rows: pass data=")
        return
    group, scores, label_values = rows
    named_groups = []
    for group_name in (comparison.group, comparison.reference):
        if group_name and group_name != OVERALL:
            named_groups.append(group_name)
    members = [np.flatnonzero(group == group_name) + 1 for group_name in named_groups] or [
        np.arange(group.size) + 1
    ]
    levels = [result.confidence_level, 1 - (1 - result.confidence_level) / family]
    both_scores = []
    for model in (comparison.baseline, comparison.model):
        both_scores.append(np.asarray(scores[model], dtype=np.float64))
    settings = result.settings
    if getattr(settings, "equal_width", False):
        equal_bins = getattr(settings, "n_bins", None)
    else:
        equal_bins = None
    settings_for_r = (settings.n_resamples, getattr(settings, "grid_bins", None), equal_bins)
    answer = bench.call(
        r_function,
        name,
        both_scores,
        label_values,
        [list(model) for model in members],
        levels,
        *settings_for_r,
    )
    yield from place.compare_all(
        _DRAWN if name in ("madd", "abroca") else (*_CLOSED, *_JOINT),
        comparison,
        answer,
        r_function,
    )


def _rows_of_models(bench: Bench, *, labelled: bool) -> tuple[Any, Mapping[str, Any], Any] | None:
    """Group, scores by model, and label of every row.

    Those of a report, or the arguments of a call.
    """
    model_rows = bench.given("models")
    if model_rows is not None:
        outcomes = model_rows[0].outcomes
        return (
            np.array(outcomes.groups.labels)[outcomes.groups.codes],
            model_rows[0].scores,
            model_rows[0].labels.astype(float),
        )
    arguments = bench.given("sensitive_features", "score", *(("y_true",) if labelled else ()))
    if arguments is None or not isinstance(arguments[1], Mapping):
        return None
    group = np.asarray(arguments[0]).astype(str)
    return (
        group,
        arguments[1],
        np.asarray(arguments[2], dtype=np.float64) if labelled else np.zeros(group.size),
    )


# ---------------------------------------------------------------- strata, shares, adverse impact


def stratified(
    result: StratifiedRatioResult | StratifiedDifferenceResult | StratifiedOddsRatioResult,
    bench: Bench,
) -> Iterator[Check]:
    """Every comparison within strata with its tests, from the cells of the strata."""
    together = together_of(result)
    for comparison in result.comparisons:
        place = bench.place_of(comparison)
        if not result._by_score:
            yield from _compare_by_delta(result, comparison, place, together, bench)
            continue
        yield from compare_stratified(result, comparison, place, together, bench)
    yield from adjusted(result, bench)


def compare_stratified(
    result: StratifiedRatioResult | StratifiedDifferenceResult | StratifiedOddsRatioResult,
    comparison: StratifiedComparison,
    place: Any,
    together: int,
    bench: Bench,
) -> Iterator[Check]:
    """Every number of one comparison within strata; `place`: what it is called in the table."""
    settings = result.settings
    twin, answer = _ask_of_strata(result, comparison, bench, together)
    if math.isnan(comparison.estimate):
        yield place.compare("estimate", comparison.estimate, answer["estimate"], twin)
        return
    lines = (
        *_RATES,
        *_OVER_STRATA,
        *_INTERVALS[settings.alternative],
        *_EVIDENCE.get(comparison.direction, ()),
    )
    yield from place.compare_all(lines, comparison, answer, twin)
    for test in comparison.tests:
        if test.alternative == "equivalence":
            continue  # the larger of two tails that the verdict's p-value holds
        if test.method in _OTHER_TESTS:
            statistic, pvalue = _OTHER_TESTS[test.method]
        else:
            statistic, pvalue = _SCORE_TESTS[test.alternative]
        quantity_suffix = f" ({test.alternative}, {test.method})"
        yield place.compare(
            f"statistic{quantity_suffix}",
            test.statistic,
            answer[statistic],
            twin,
            relative=1e-7,
        )
        yield place.compare(
            f"p-value{quantity_suffix}", test.pvalue, answer[pvalue], twin, relative=1e-6
        )


def _compare_by_delta(
    result: StratifiedRatioResult | StratifiedDifferenceResult | StratifiedOddsRatioResult,
    comparison: StratifiedComparison,
    place: Place,
    together: int,
    bench: Bench,
) -> Iterator[Check]:
    """Every number of one comparison of a function, or a mean by the delta method."""
    settings = result.settings
    quantity = result._quantity_or_none(comparison)
    if quantity is None:
        yield place.left_out(
            "estimate", comparison.estimate, "a function of the user's: R has no twin"
        )
        return
    rows, sums = cells_of(result, comparison)
    answer = bench.call(
        _BY_DELTA,
        *rows,
        name_in_r(quantity.rate),
        result.scale,
        settings.confidence_level,
        settings.limit,
        together,
        settings.comparisons == "overall",
        **sums,
    )
    if math.isnan(comparison.estimate):
        yield place.compare("estimate", comparison.estimate, answer["estimate"], _BY_DELTA)
        return
    lines = [*_RATES, *_OVER_STRATA[:1]]
    if comparison.tests:
        lines += [
            *_OVER_STRATA[1:],
            *_INTERVALS[settings.alternative],
            *_EVIDENCE.get(comparison.direction, ()),
        ]
    for line in lines:
        numerical = replace(line, relative=_DIFFERENTIATED, absolute=1e-9)
        yield from place.compare_all([numerical], comparison, answer, _BY_DELTA)
    for test in comparison.tests:
        if test.alternative == "equivalence":
            continue
        statistic, pvalue = TESTS_OF_TWIN[test.alternative]
        words = f"({test.alternative}, {test.method})"
        yield place.compare(
            f"statistic {words}",
            test.statistic,
            answer[statistic],
            _BY_DELTA,
            relative=_DIFFERENTIATED,
        )
        yield place.compare(
            f"p-value {words}", test.pvalue, answer[pvalue], _BY_DELTA, relative=_DIFFERENTIATED
        )


def _ask_of_strata(
    result: StratifiedRatioResult | StratifiedDifferenceResult | StratifiedOddsRatioResult,
    comparison: StratifiedComparison,
    bench: Bench,
    together: int,
) -> tuple[str, Any]:
    """The twin, and its answer on one comparison from the cells of the strata."""
    settings = result.settings
    of_pair = {
        "contrast": result.scale,
        "level": settings.confidence_level,
        "threshold": settings.limit,
        "together": together,
        "of_all": settings.comparisons == "overall",
    }
    sums = sums_of_units(result, comparison)
    if sums is None:
        parts = tables_of(result, comparison)
        columns = [np.concatenate(column).tolist() for column in zip(*parts, strict=True)]
        return _STRATIFIED, bench.call(_STRATIFIED, *columns, len(parts), **of_pair)
    return _DESIGNED, bench.call(_DESIGNED, *sums, **of_pair)


def disparity(result: DisparityResult, bench: Bench) -> Iterator[Check]:
    """Every group among the rejected and the accepted, from its rows in the strata."""
    counts = result.stratum_counts
    settings = result.settings
    rejected = counts.total("not_selected")
    accepted = counts.total("selected")
    usable = (rejected.sum(axis=1) > 0) & (accepted.sum(axis=1) > 0)
    for comparison in result.comparisons:
        if math.isnan(comparison.estimate):
            continue
        group = counts.groups.index(comparison.group)
        columns = (
            rejected[usable, group],
            rejected[usable].sum(axis=1),
            accepted[usable, group],
            accepted[usable].sum(axis=1),
        )
        answer = bench.call(
            _DISPARITY,
            *(column_of_strata.tolist() for column_of_strata in columns),
            settings.confidence_level,
            settings.limit,
            len(result.comparisons) if settings.simultaneous else 1,
        )
        place = bench.place_of(comparison)
        estimated = (*_RATES, *_OVER_STRATA[:2])
        yield from place.compare_all(estimated, comparison, answer, _DISPARITY)
        if not comparison.tests:
            continue
        lines = (
            *_INTERVALS[settings.alternative],
            *_OVER_STRATA[2:],
            *_EVIDENCE.get(comparison.direction, ()),
        )
        yield from place.compare_all(lines, comparison, answer, _DISPARITY)
        for test in comparison.tests:
            if test.alternative not in _TESTS_OF_DISPARITY:
                continue
            statistic, pvalue = _TESTS_OF_DISPARITY[test.alternative]
            words = f" ({test.alternative}, {test.method})"
            yield place.compare(
                f"statistic{words}", test.statistic, answer[statistic], _DISPARITY, relative=1e-7
            )
            yield place.compare(
                f"p-value{words}", test.pvalue, answer[pvalue], _DISPARITY, relative=1e-6
            )
    yield from adjusted(result, bench)


def risk(result: DiscriminativeRiskResult, bench: Bench) -> Iterator[Check]:
    """Every share of changed predictions, with its interval where a person counts once."""
    for entry in result.comparisons:
        place = bench.place(entry.metric, entry.group, entry.attribute)
        interval = entry.confidence_interval
        answer = bench.call(
            "known_share", entry.n_changed, entry.n_draws, interval.confidence_level
        )
        counted_once = entry.n == entry.n_draws
        if counted_once or (entry.n_draws % entry.n == 0 and result.draws == "all"):
            yield from place.compare_all(_SHARE, entry, answer, "stats::binom.test")
        if counted_once:
            yield from place.compare_all(_EXACT_SHARE, entry, answer, "stats::binom.test")
            continue
        yield place.left_out("interval, lower end", interval.low, _CLUSTERED)
        yield place.left_out("interval, upper end", interval.high, _CLUSTERED)


def adverse_impact(result: AdverseImpact, bench: Bench) -> Iterator[Check]:
    """Every table: ratios with their verdicts, practitioners' figures, bounds, ratios over
    strata.
    """
    for table in result.tables:
        checks: list[Check] = []
        if table.result is not None:
            checks += [
                *comparisons(table.result, bench),
                *_compare_figures(table, table.result, result, bench),
            ]
            checks += _of_unknown(table, table.result, result, bench)
        if table.stratified is not None:
            checks += stratified(table.stratified, bench)
        yield from (replace(check, metric=f"{check.metric}, {table.name}") for check in checks)


def _compare_figures(
    table: ImpactTable,
    ratios: RatioResult,
    result: AdverseImpact,
    bench: Bench,
) -> Iterator[Check]:
    counts = ratios.counts
    r_function = "crosscheck_impact"
    totals = np.asarray(counts.totals)
    successes = totals[:, 0]
    cases = totals.sum(axis=1)
    columns = []
    for group_positions in positions(counts, ratios.comparisons):
        for counts_of_groups in (successes, cases):
            columns.append(list(map(float, counts_of_groups[np.array(group_positions) - 1])))
    answer = bench.call(r_function, *columns, result.threshold, result.confidence_level)
    for comparison, figures, row in zip(
        ratios.comparisons, table.figures, rows_of(answer), strict=True
    ):
        yield from bench.place_of(comparison).compare_all(_IMPACT_LINES, figures, row, r_function)


def _of_unknown(
    table: ImpactTable,
    ratios: RatioResult,
    result: AdverseImpact,
    bench: Bench,
) -> Iterator[Check]:
    """Bounds of each ratio: to whichever group would have the highest rate, or to the named one."""
    counts: Any = ratios.counts
    highest = ratios.settings.reference_rule == "highest"
    patterns = np.array(counts.missing.patterns, dtype=np.float64).T
    for group in table.bounds:
        if highest:
            other_groups = []
            for group_name in counts.groups:
                if group_name != group:
                    other_groups.append(group_name)
        else:
            other_groups = [ratios.reference]
        n_others = len(other_groups)
        pairs = [
            [counts.groups.index(group) + 1] * n_others,
            [counts.groups.index(group_name) + 1 for group_name in other_groups],
        ]
        level = 1 - (1 - result.confidence_level) / n_others
        totals = table_arguments(counts)[0]
        answer = bench.call(
            WORST,
            totals,
            *map(list, patterns),
            ["selection_rate"] * n_others,
            *pairs,
            ["ratio"] * n_others,
            level,
        )
        bounds_of_group = {name: float(np.fmin.reduce(column(answer, name))) for name in answer}
        bounds_of_group = {
            name: min(value, 1.0) if highest else value for name, value in bounds_of_group.items()
        }
        place = bench.place("adverse_impact", group, "" if highest else ratios.reference)
        yield from place.compare_all(_UNKNOWN, table.bounds_of(group), bounds_of_group, WORST)
