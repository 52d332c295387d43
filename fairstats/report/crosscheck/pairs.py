"""Largest gaps, two models on the same people, ratios over strata, and shares of changed predictions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.counts import SelectionCounts
from fairstats.ground.registry import find_metric
from fairstats.methods.hfm.risk import DiscriminativeRiskResult
from fairstats.methods.madd.mitigation import MitigationResult
from fairstats.methods.rates.employment.result import AdverseImpact, ImpactTable
from fairstats.methods.rates.maxima import MaximumResult
from fairstats.methods.rates.models.result import AMPLIFICATION, QUANTITIES, ModelComparison
from fairstats.methods.rates.result import RatioResult
from fairstats.methods.rates.stratified import together_of
from fairstats.methods.rates.stratified_result import StratifiedDifferenceResult, StratifiedRatioResult, tables_of
from fairstats.numerics.paired.change import OVERALL, PairedChange
from fairstats.report.crosscheck.check import ADJUSTED, VERDICT, Bench, Check, Line, Place, column, ends, rows_of
from fairstats.report.crosscheck.distances import madd
from fairstats.report.crosscheck.rates import (
    EXACT_PVALUE,
    LIMITS_OF_EXACT_TESTS,
    WORST,
    adjusted,
    comparisons,
    design,
    positions,
    table_arguments,
)

if TYPE_CHECKING:
    _Compared = ModelComparison | MitigationResult

_POINTS = (Line("before", "before"), Line("after", "after"), Line("estimate", "estimate"))
#: A change of rates, AUC or Brier score, but for its joint interval.
_CLOSED = (
    *_POINTS, Line("standard error", "std_error"), *ends("interval", "confidence_interval"),
    Line("statistic", "statistic"), Line("p-value", "pvalue"),
)  # fmt: skip
_JOINT = ends("simultaneous interval", "simultaneous", "joint_")
_DRAWN = (
    *_POINTS, Line("standard error", "std_error", error="std_error_error"),
    *ends("interval", "confidence_interval", random=True),
)  # fmt: skip
_CHANGE = (
    *_CLOSED, Line("change of the distance from parity", "distance_change", "distance"),
    *ends("its interval", "distance_interval", "distance_"), *_JOINT,
)  # fmt: skip
_GAP = (
    Line("estimate", "estimate"),
    Line("statistic", "statistic", relative=1e-7),
    *ends("interval", "confidence_interval", "interval_", random=True, **LIMITS_OF_EXACT_TESTS),
    *ends("one-sided bound", "bounds", "bounds_", random=True, **LIMITS_OF_EXACT_TESTS),
    Line("p-value (simultaneous)", "pvalue", "pvalue", "pvalue_error", relative=EXACT_PVALUE),
)

_BAND = (Line("critical value", "critical_value", "critical", "critical_error"),)
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
_RATES = (Line("rate", "rate"), Line("rate of the reference", "rate_reference"))
_OVER_STRATA = (
    Line("estimate", "estimate"), Line("standard error", "std_error"), *ends("one-sided limit", "bounds", "bound_")
)  # fmt: skip
_ONE_SIDED = ends("interval", "confidence_interval", "side_")
#: Alternative → ends of its interval: the one at its open side is no estimate.
_INTERVALS = {
    "two-sided": ends("interval", "confidence_interval"), "less": _ONE_SIDED[1:], "greater": _ONE_SIDED[:1],
}  # fmt: skip
#: Direction of a verdict → its p-value in the twin.
_EVIDENCE = {
    side: (Line(f"{VERDICT} ({side})", "pvalue_verdict", f"p_{side}", relative=1e-7),)
    for side in ("below", "above", "inside")
}
#: Alternative, or beginning of a test's name → statistic and p-value of the twin.
_TESTS = {
    "less": ("z", "p_less"),
    "greater": ("z_greater", "p_greater"),
    "two-sided": ("z_equal", "p_equal"),
    "Cochran–Mantel–Haenszel": ("cmh", "cmh_p"),  # by stats::mantelhaen.test
    "exact conditional": ("sum", "exact_p"),
    "score test of homogeneity": ("q", "q_p"),
    "Breslow–Day": ("tarone", "tarone_p"),
}
#: R's `fisher.test` counts tables as extreme up to a relative error of 1e-7, SciPy's of 1e-14.
_IMPACT_LINES = (
    Line("p-value (Fisher)", "fisher", relative=1e-6), Line("p-value (mid-P)", "mid_p", relative=1e-6),
    Line("z (pooled)", "z"), Line("p-value (z)", "z_pvalue"), Line("Cohen's h", "cohen_h"), Line("phi", "phi"),
    Line("shortfall to the pooled rate", "shortfall"),
    Line("selections to be moved to the threshold", "shortfall_four_fifths"),
    Line("one other decision changes the verdict", "one_decision"), Line("flip-flop", "flip_flop"),
    Line("power at the threshold", "power", relative=1e-6),
)  # fmt: skip
_UNKNOWN = tuple(
    Line(f"{words}, people of unknown category", name)
    for name, words in (
        ("low", "smallest value"), ("high", "largest value"),
        ("ci_low", "interval, lower end"), ("ci_high", "interval, upper end"),
    )
)  # fmt: skip
_SHARE = (Line("estimate", "estimate"),)
_EXACT_SHARE = ends("interval", "confidence_interval", of=" (Clopper–Pearson)")
_CLUSTERED = "clustered by person: needs every answer of the model"


def largest_gap(result: MaximumResult, bench: Bench) -> Iterator[Check]:
    """Every number of a largest gap between any two groups."""
    place, metric, twin = bench.place(result.metric), find_metric(result.metric), "crosscheck_largest"
    counts: Any = result.counts
    if metric is None or not result.components:
        yield place.left_out("estimate", result.estimate, "no difference is known")
        return
    rates = ["selection_rate"] if isinstance(counts, SelectionCounts) else list(metric.rates)
    found = bench.call(
        twin, *table_arguments(counts), rates, result.settings.confidence_level, result.critical_value,
        counts.clustered, margin=result.settings.limit, **design(counts),
    )  # fmt: skip
    for key in ("interval", "bounds"):
        ends_with_errors = (f"{key}_{name}" for name in ("low", "high", "low_error", "high_error"))
        found |= dict(zip(ends_with_errors, column(found, key), strict=True))
    (top,) = result.comparisons
    yield from place.compare_all(_GAP, top, found, twin)
    yield from place.compare_all(_BAND, result, found, twin)
    if top.direction:
        shown, error = found[f"p_{top.direction}"], found[f"p_{top.direction}_error"]
        said = f"{VERDICT} ({top.direction})"
        yield place.compare(said, top.pvalue_verdict, shown, twin, error=error, relative=EXACT_PVALUE)
    if bench.adjusted_here:
        adjusted, error = found["pvalue"], found["pvalue_error"]
        yield place.compare(ADJUSTED, top.pvalue_adjusted, adjusted, twin, error=error, relative=EXACT_PVALUE)
    names = ("metric", "first", "second", "difference", "std_error", "low", "high")
    groups = counts.groups
    differences = {
        (rates[int(row["metric"]) - 1], groups[int(row["first"]) - 1], groups[int(row["second"]) - 1]): row
        for row in rows_of({name: found[name] for name in names})
    }
    for c in result.components:
        at = bench.place(result.metric, c.group, c.reference)
        lines = _EXACT_COMPONENT if top.procedure.exact else _COMPONENT
        yield from at.compare_all(lines, c, differences[c.rate, c.group, c.reference], twin)


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
    for c in result.comparisons:
        name = _name(c)  # the changes of a metric are adjusted together
        family = (m for m in result.metrics if (known := find_metric(m)) and name in known.row_names)
        by_metric.setdefault(next(family, name), []).append(c)
    for rows in by_metric.values():
        for c in rows:
            yield from _change(result, c, len(rows), bench)
        if _chosen_among(result, rows[0]) <= 1:  # else chosen pairs count too: as the simultaneous intervals
            yield from bench.adjusted(rows, lambda c: _place(c, bench), result.adjust)


def _place(c: PairedChange, bench: Bench) -> Place:
    named = c.metric if c.metric == AMPLIFICATION else f"{c.metric}, {c.model} against {c.baseline}"
    return bench.place(named, c.group, c.reference)


def _name(c: PairedChange) -> str:
    return "disparate_impact" if c.metric == AMPLIFICATION else c.metric.removesuffix("_change")


def _change(result: _Compared, c: PairedChange, family: int, bench: Bench) -> Iterator[Check]:
    """One change of a rate; of scores where the rows are given."""
    place, name, twin = _place(c, bench), _name(c), "crosscheck_paired"
    if math.isnan(c.estimate):
        yield place.left_out("estimate", c.estimate, c.note)
        return
    if name in QUANTITIES and name != "accuracy":
        yield from _score_change(result, c, family, place, bench)
        return
    metric, counts = find_metric(name), result.pair(c.model, c.baseline).counts
    if counts is None:
        return
    if c.group == OVERALL:
        counts = counts._regrouped((OVERALL,), [0] * len(counts.groups))
    level, chosen = result.confidence_level, _chosen_among(result, c)
    joint = 1 - (1 - level) / (family * chosen)
    levels = [joint if chosen > 1 else level, joint, level if result.adjust == "none" and chosen <= 1 else joint]
    units = {"scatter": counts.scatter, "n_units": float(counts.n_units)}
    tables = np.asarray(counts.totals), np.asarray(counts.rows, dtype=np.float64)
    if metric is not None and metric.contrast == "gap":
        found = bench.call(f"{twin}_gap", *tables, list(counts.cells), list(metric.rates), levels, **units)
    else:
        rate, kind = ("accuracy", "level") if metric is None else (metric.rates[0], metric.contrast)
        at = [counts.groups.index(g) + 1 for g in (c.group, c.reference) if g]
        found = bench.call(twin, *tables, at, list(counts.cells), rate, kind, levels, **units)
    yield from place.compare_all(_CHANGE, c, found, twin)


def _chosen_among(result: _Compared, c: PairedChange) -> float:
    """Pairs of groups that the data could have chosen, per one that was compared."""
    if result.settings.reference_rule != "highest" or c.metric.endswith("_max_change") or not c.reference:
        return 1.0
    groups = {g for one in result.comparisons for g in (one.group, one.reference) if one.metric == c.metric}
    return len(groups) / 2


def _score_change(result: _Compared, c: PairedChange, family: int, place: Place, bench: Bench) -> Iterator[Check]:
    """One change of AUC, Brier score, MADD or ABROCA."""
    name, twin = c.metric.removesuffix("_change"), "crosscheck_paired_scores"
    rows = _rows(bench, labelled=name != "madd")
    if rows is None or not {c.model, c.baseline} <= set(rows[1]):
        yield place.needs_data("estimate", c.estimate, "scores of single rows: pass data=")
        return
    group, scores, y = rows
    named = [g for g in (c.group, c.reference) if g and g != OVERALL]
    members = [np.flatnonzero(group == g) + 1 for g in named] or [np.arange(group.size) + 1]
    levels = [result.confidence_level, 1 - (1 - result.confidence_level) / family]
    both = [np.asarray(scores[m], dtype=np.float64) for m in (c.baseline, c.model)]
    settings = result.settings
    equal_bins = getattr(settings, "n_bins", None) if getattr(settings, "equal_width", False) else None
    asked = (settings.n_resamples, getattr(settings, "grid_bins", None), equal_bins)
    found = bench.call(twin, name, both, y, [list(m) for m in members], levels, *asked)
    yield from place.compare_all(_DRAWN if name in ("madd", "abroca") else (*_CLOSED, *_JOINT), c, found, twin)


def _rows(bench: Bench, *, labelled: bool) -> tuple[Any, Mapping[str, Any], Any] | None:
    """Group, scores by model, and label of every row: those of a report, or the arguments of a call."""
    known = bench.given("models")
    if known is not None:
        out = known[0].outcomes
        return np.array(out.groups.labels)[out.groups.codes], known[0].scores, known[0].labels.astype(float)
    found = bench.given("sensitive_features", "score", *(("y_true",) if labelled else ()))
    if found is None or not isinstance(found[1], Mapping):
        return None
    group = np.asarray(found[0]).astype(str)
    return group, found[1], np.asarray(found[2], dtype=np.float64) if labelled else np.zeros(group.size)


# ---------------------------------------------------------------- strata, shares, adverse impact


def stratified(result: StratifiedRatioResult | StratifiedDifferenceResult, bench: Bench) -> Iterator[Check]:
    """Every comparison within strata with its tests, from the cells of the strata."""
    s = result.settings
    together = together_of(result)
    for c in result.comparisons:
        place = bench.place_of(c)
        parts = tables_of(result, c)
        columns = [np.concatenate(column).tolist() for column in zip(*parts, strict=True)]
        found = bench.call(_STRATIFIED, *columns, len(parts), result.scale, s.confidence_level, s.limit, together)
        if math.isnan(c.estimate):
            yield place.compare("estimate", c.estimate, found["estimate"], _STRATIFIED)
            continue
        lines = (*_RATES, *_OVER_STRATA, *_INTERVALS[s.alternative], *_EVIDENCE.get(c.direction, ()))
        yield from place.compare_all(lines, c, found, _STRATIFIED)
        for test in c.tests:
            if test.alternative == "equivalence":
                continue  # the larger of two tails that the verdict's p-value holds
            key = next(k for k in _TESTS if k == test.alternative or test.method.startswith(k))
            statistic, pvalue = _TESTS[key]
            of = f" ({test.alternative}, {test.method})"
            yield place.compare(f"statistic{of}", test.statistic, found[statistic], _STRATIFIED, relative=1e-7)
            yield place.compare(f"p-value{of}", test.pvalue, found[pvalue], _STRATIFIED, relative=1e-6)
    yield from adjusted(result, bench)


def risk(result: DiscriminativeRiskResult, bench: Bench) -> Iterator[Check]:
    """Every share of changed predictions, with its interval where a person counts once."""
    for e in result.comparisons:
        place, interval = bench.place(e.metric, e.group, e.attribute), e.confidence_interval
        found = bench.call("known_share", e.n_changed, e.n_draws, interval.confidence_level)
        once = e.n == e.n_draws
        if once or (e.n_draws % e.n == 0 and result.draws == "all"):
            yield from place.compare_all(_SHARE, e, found, "stats::binom.test")
        if once:
            yield from place.compare_all(_EXACT_SHARE, e, found, "stats::binom.test")
            continue
        yield place.left_out("interval, lower end", interval.low, _CLUSTERED)
        yield place.left_out("interval, upper end", interval.high, _CLUSTERED)


def adverse_impact(result: AdverseImpact, bench: Bench) -> Iterator[Check]:
    """Every table: ratios with their verdicts, practitioners' figures, bounds, ratios over strata."""
    for table in result.tables:
        found: list[Check] = []
        if table.result is not None:
            found += [*comparisons(table.result, bench), *_figures(table, table.result, result, bench)]
            found += _of_unknown(table, table.result, result, bench)
        if table.stratified is not None:
            found += stratified(table.stratified, bench)
        yield from (replace(check, metric=f"{check.metric}, {table.name}") for check in found)


def _figures(table: ImpactTable, of: RatioResult, result: AdverseImpact, bench: Bench) -> Iterator[Check]:
    counts, twin = of.counts, "crosscheck_impact"
    totals = np.asarray(counts.totals)
    k, n = totals[:, 0], totals.sum(axis=1)
    columns = [list(map(float, v[np.array(at) - 1])) for at in positions(counts, of.comparisons) for v in (k, n)]
    found = bench.call(twin, *columns, result.threshold, result.confidence_level)
    for c, figures, row in zip(of.comparisons, table.figures, rows_of(found), strict=True):
        yield from bench.place_of(c).compare_all(_IMPACT_LINES, figures, row, twin)


def _of_unknown(table: ImpactTable, of: RatioResult, result: AdverseImpact, bench: Bench) -> Iterator[Check]:
    """Bounds of each ratio: to whichever group would have the highest rate, or to the named one."""
    counts: Any = of.counts
    highest = of.settings.reference_rule == "highest"
    patterns = np.array(counts.missing.patterns, dtype=np.float64).T
    for group in table.bounds:
        others = [g for g in counts.groups if g != group] if highest else [of.reference]
        n = len(others)
        pairs = [[counts.groups.index(group) + 1] * n, [counts.groups.index(g) + 1 for g in others]]
        level, totals = 1 - (1 - result.confidence_level) / n, table_arguments(counts)[0]
        found = bench.call(WORST, totals, *map(list, patterns), ["selection_rate"] * n, *pairs, ["ratio"] * n, level)
        least = {name: float(np.fmin.reduce(column(found, name))) for name in found}
        least = {name: min(value, 1.0) if highest else value for name, value in least.items()}
        place = bench.place("adverse_impact", group, "" if highest else of.reference)
        yield from place.compare_all(_UNKNOWN, table.bounds_of(group), least, WORST)
