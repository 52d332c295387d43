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
from fairstats.methods.rates.stratified import StratifiedRatioResult
from fairstats.numerics.paired.change import OVERALL, PairedChange
from fairstats.report.crosscheck.check import Check, Line, Place, ends
from fairstats.report.crosscheck.distances import madd
from fairstats.report.crosscheck.door import ADJUSTED, VERDICT, Bench, column, rows_of
from fairstats.report.crosscheck.rates import WORST, adjusted, comparisons, design, table_arguments

if TYPE_CHECKING:
    _Compared = ModelComparison | MitigationResult

_SCORES = "crosscheck_paired_scores"
_POINTS = (Line("before", "before"), Line("after", "after"), Line("estimate", "estimate"))
#: A change of rates, AUC or Brier score, but for its joint interval.
_CLOSED = (
    *_POINTS, Line("standard error", "std_error"), *ends("interval", "confidence_interval"),
    Line("statistic", "statistic"), Line("p-value", "pvalue"),
)  # fmt: skip
_JOINT = ends("simultaneous interval", "simultaneous", "joint_")
_DRAWN = (
    *_POINTS,
    Line("standard error", "std_error", error="std_error_error"),
    *ends("interval", "confidence_interval", random=True),
)
_LARGEST = "crosscheck_largest"
_GAP = (
    Line("estimate", "estimate"),
    Line("statistic", "statistic", relative=1e-7),
    *ends("interval", "confidence_interval", "interval_", random=True),
    *ends("one-sided bound", "bounds", "bounds_", random=True),
    Line("p-value (simultaneous)", "pvalue", "pvalue", "pvalue_error"),
)
_BAND = (Line("critical value", "critical_value", "critical", "critical_error"),)
#: Every difference under the maximum, at the critical value of the report.
_COMPONENT = (
    Line("difference ({0.rate})", "estimate", "difference"),
    Line("standard error ({0.rate})", "std_error"),
    Line("band, lower end ({0.rate})", "low", relative=1e-7),
    Line("band, upper end ({0.rate})", "high", relative=1e-7),
)
_CHANGE = (
    *_CLOSED, Line("change of the distance from parity", "distance_change", "distance"),
    *ends("its interval", "distance_interval", "distance_"), *_JOINT,
)  # fmt: skip
_PAIRED = "crosscheck_paired"
_STRATIFIED = "crosscheck_stratified"
_RATES = (Line("rate", "rate"), Line("rate of the reference", "rate_reference"))
_OVER_STRATA = (
    Line("estimate", "estimate"),
    Line("standard error", "std_error"),
    *ends("one-sided limit", "bounds", "bound_"),
)
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
#: Alternative, or beginning of a test's name → statistic and p-value of the twin, and the function behind it.
_TESTS = {
    "less": ("z", "p_less", _STRATIFIED), "greater": ("z", "p_greater", _STRATIFIED),
    "two-sided": ("z_equal", "p_equal", _STRATIFIED),
    "Cochran–Mantel–Haenszel": ("cmh", "cmh_p", "stats::mantelhaen.test"),
    "Cochran's Q": ("q", "q_p", _STRATIFIED), "Breslow–Day": ("tarone", "tarone_p", _STRATIFIED),
}  # fmt: skip
_IMPACT = "crosscheck_impact"
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
        ("low", "smallest value"), ("high", "largest value"),
        ("ci_low", "interval, lower end"), ("ci_high", "interval, upper end"),
    )
)  # fmt: skip
_SHARE = (Line("estimate", "estimate"),)
_EXACT_SHARE = ends("interval", "confidence_interval", of=" (Clopper–Pearson)")
_CLUSTERED = "clustered by person: needs every answer of the model"


def score_change(result: _Compared, c: PairedChange, family: int, place: Place, bench: Bench) -> Iterator[Check]:
    """One change of AUC, Brier score, MADD or ABROCA."""
    name = c.metric.removesuffix("_change")
    rows = _rows(bench, labelled=name != "madd")
    if rows is None or not {c.model, c.baseline} <= set(rows[1]):
        yield place.needs_data("estimate", c.estimate, "scores of single rows: pass data=")
        return
    group, scores, y = rows
    named = [g for g in (c.group, c.reference) if g and g != OVERALL]
    members = [np.flatnonzero(group == g) + 1 for g in named] or [np.arange(group.size) + 1]
    level = result.confidence_level
    levels = [level, 1 - (1 - level) / family]
    both = [np.asarray(scores[m], dtype=np.float64) for m in (c.baseline, c.model)]
    asked = (result.settings.n_resamples, getattr(result.settings, "grid_bins", None))
    found = bench.call(_SCORES, name, both, y, [list(m) for m in members], levels, *asked)
    yield from bench.compare(place, _DRAWN if name in ("madd", "abroca") else (*_CLOSED, *_JOINT), c, found, _SCORES)


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


def largest_gap(result: MaximumResult, bench: Bench) -> Iterator[Check]:
    """Every number of a largest gap between any two groups."""
    place, metric = bench.place(result.metric), find_metric(result.metric)
    counts: Any = result.counts
    if metric is None or not result.components:
        yield place.left_out("estimate", result.estimate, "no difference is known")
        return
    rates = ["selection_rate"] if isinstance(counts, SelectionCounts) else list(metric.rates)
    found = bench.call(
        _LARGEST, *table_arguments(counts), rates, result.settings.confidence_level, result.critical_value,
        counts.clustered, **design(counts),
    )  # fmt: skip
    for key in ("interval", "bounds"):
        ends_with_errors = (f"{key}_{name}" for name in ("low", "high", "low_error", "high_error"))
        found |= dict(zip(ends_with_errors, column(found, key), strict=True))
    (top,) = result.comparisons
    yield from bench.compare(place, _GAP, top, found, _LARGEST)
    yield from bench.compare(place, _BAND, result, found, _LARGEST)
    if bench.adjusted_here:
        error = found["pvalue_error"]
        yield place.compare(ADJUSTED, top.pvalue_adjusted, found["pvalue"], bench.source(_LARGEST), error=error)
    names = ("metric", "first", "second", "difference", "std_error", "low", "high")
    groups = counts.groups
    twin = {
        (rates[int(row["metric"]) - 1], groups[int(row["first"]) - 1], groups[int(row["second"]) - 1]): row
        for row in rows_of({name: found[name] for name in names})
    }
    for c in result.components:
        at = bench.place(result.metric, c.group, c.reference)
        yield from bench.compare(at, _COMPONENT, c, twin[c.rate, c.group, c.reference], _LARGEST)


def mitigation(result: MitigationResult, bench: Bench) -> Iterator[Check]:
    """Every change of a mitigation, and MADD before and after from its histograms."""
    for stage in (result.before, result.after):
        for check in madd(stage, replace(bench, data=None)):
            yield replace(check, metric=f"{check.metric}, {'before' if stage is result.before else 'after'}")
    yield from models(result, bench)


def models(result: _Compared, bench: Bench) -> Iterator[Check]:
    """Metrics of models on the same people, their change, and the paired intervals."""
    by_metric: dict[str, list[PairedChange]] = {}
    for c in result.comparisons:
        by_metric.setdefault(_family(result, c), []).append(c)
    for rows in by_metric.values():
        for c in rows:
            yield from _change(result, c, len(rows), bench)
        yield from _adjusted_changes(result, rows, bench)


def _family(result: _Compared, c: PairedChange) -> str:
    """The metric whose changes are adjusted together."""
    name = _name(c)
    return next((m for m in result.metrics if (known := find_metric(m)) and name in known.row_names), name)


def _place(c: PairedChange, bench: Bench) -> Place:
    named = c.metric if c.metric == AMPLIFICATION else f"{c.metric}, {c.model} against {c.baseline}"
    return bench.place(named, c.group, c.reference)


def _name(c: PairedChange) -> str:
    return "disparate_impact" if c.metric == AMPLIFICATION else c.metric.removesuffix("_change")


def _adjusted_changes(result: _Compared, rows: list[PairedChange], bench: Bench) -> Iterator[Check]:
    if not bench.adjusted_here or _chosen_among(result, rows[0]) > 1:
        return  # the pairs that could have been chosen count too: as the simultaneous intervals
    found, source = bench.p_adjust([c.pvalue for c in rows], result.adjust)
    for c, theirs in zip(rows, found, strict=True):
        yield _place(c, bench).compare(ADJUSTED, c.pvalue_adjusted, theirs, source)


def _change(result: _Compared, c: PairedChange, family: int, bench: Bench) -> Iterator[Check]:
    """One change of a rate; of scores where the rows are given."""
    place, name = _place(c, bench), _name(c)
    if math.isnan(c.estimate):
        yield place.left_out("estimate", c.estimate, c.note)
        return
    if name in QUANTITIES and name != "accuracy":
        yield from score_change(result, c, family, place, bench)
        return
    metric = find_metric(name)
    counts = result.pair(c.model, c.baseline).counts
    if counts is None:
        return
    if c.group == OVERALL:
        counts = counts.regrouped((OVERALL,), [0] * len(counts.groups))
    level = result.confidence_level
    chosen = _chosen_among(result, c)
    joint = 1 - (1 - level) / (family * chosen)
    levels = [joint if chosen > 1 else level, joint]
    levels += [level if result.adjust == "none" and chosen <= 1 else joint]
    design = {"scatter": counts.scatter, "n_units": float(counts.n_units)}
    tables = np.asarray(counts.totals), np.asarray(counts.rows, dtype=np.float64)
    if metric is not None and metric.contrast == "gap":
        found = bench.call(f"{_PAIRED}_gap", *tables, list(counts.cells), list(metric.rates), levels, **design)
    else:
        rate = "accuracy" if metric is None else metric.rates[0]
        at = [counts.groups.index(g) + 1 for g in (c.group, c.reference) if g]
        kind = "level" if metric is None else metric.contrast
        found = bench.call(_PAIRED, *tables, at, list(counts.cells), rate, kind, levels, **design)
    yield from bench.compare(place, _CHANGE, c, found, _PAIRED)


def _chosen_among(result: _Compared, c: PairedChange) -> float:
    """Pairs of groups that the data could have chosen, per one that was compared."""
    if result.settings.reference_rule != "highest" or c.metric.endswith("_max_change") or not c.reference:
        return 1.0
    groups = {g for one in result.comparisons for g in (one.group, one.reference) if one.metric == c.metric}
    return len(groups) / 2


def stratified(result: StratifiedRatioResult, bench: Bench) -> Iterator[Check]:
    """The Mantel–Haenszel ratio over strata with its tests, also by R's `mantelhaen.test`."""
    groups, s = result.counts.groups, result.settings
    cells = np.asarray(result.stratum_counts, dtype=np.float64)
    for c, crude in zip(result.comparisons, result.crude, strict=True):
        place = bench.place_of(c)
        i, j = groups.index(c.group), groups.index(c.reference)
        found = bench.call(_STRATIFIED, cells[:, [i, j], :], s.confidence_level, s.limit)
        yield from bench.compare(place, _RATES, c, found, _STRATIFIED)
        yield place.compare("ratio without strata", crude, found["crude"], bench.source(_STRATIFIED))
        if math.isnan(c.estimate):
            continue
        lines = (*_OVER_STRATA, *_INTERVALS[s.alternative], *_EVIDENCE.get(c.direction, ()))
        yield from bench.compare(place, lines, c, found, _STRATIFIED)
        for test in c.tests:
            key = next(k for k in _TESTS if k == test.alternative or test.method.startswith(k))
            statistic, pvalue, function = _TESTS[key]
            of = " ({0.alternative}, {0.method})"
            lines = (
                Line(f"statistic{of}", "statistic", statistic),
                Line(f"p-value{of}", "pvalue", pvalue, relative=1e-7),
            )
            yield from bench.compare(place, lines, test, found, function)
    yield from adjusted(result, bench)


def risk(result: DiscriminativeRiskResult, bench: Bench) -> Iterator[Check]:
    """Every share of changed predictions, with its interval where a person counts once."""
    for e in result.comparisons:
        place = bench.place(e.metric, e.group, e.attribute)
        interval = e.confidence_interval
        found = bench.call("known_share", e.n_changed, e.n_draws, interval.confidence_level)
        once = e.n == e.n_draws
        if once or (e.n_draws % e.n == 0 and result.draws == "all"):
            yield from bench.compare(place, _SHARE, e, found, "stats::binom.test")
        if once:
            yield from bench.compare(place, _EXACT_SHARE, e, found, "stats::binom.test")
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
    counts: Any = of.counts
    at = [[counts.groups.index(name) for name in (c.group, c.reference)] for c in of.comparisons]
    k, n = counts.totals[:, 0], counts.totals.sum(axis=1)
    columns = [list(map(float, values[[pair[g] for pair in at]])) for g in (0, 1) for values in (k, n)]
    found = bench.call(_IMPACT, *columns, result.threshold, result.confidence_level)
    for c, figures, row in zip(of.comparisons, table.figures, rows_of(found), strict=True):
        yield from bench.compare(bench.place_of(c), _IMPACT_LINES, figures, row, _IMPACT)


def _of_unknown(table: ImpactTable, of: RatioResult, result: AdverseImpact, bench: Bench) -> Iterator[Check]:
    """Bounds of each ratio: to whichever group would have the highest rate, or to the named one."""
    counts: Any = of.counts
    highest = of.settings.reference_rule == "highest"
    patterns = np.array(counts.missing.patterns, dtype=np.float64).T
    for group in table.bounds:
        others = [g for g in counts.groups if g != group] if highest else [of.reference]
        pairs = [[counts.groups.index(group) + 1] * len(others), [counts.groups.index(g) + 1 for g in others]]
        rates, scales = (["selection_rate"] * len(others), ["ratio"] * len(others))
        level = 1 - (1 - result.confidence_level) / len(others)
        totals = table_arguments(counts)[0]
        found = bench.call(WORST, totals, *map(list, patterns), rates, *pairs, scales, level)
        least = {name: float(np.fmin.reduce(column(found, name))) for name in found}
        least = {name: min(value, 1.0) if highest else value for name, value in least.items()}
        place = bench.place("adverse_impact", group, "" if highest else of.reference)
        yield from bench.compare(place, _UNKNOWN, table.bounds_of(group), least, WORST)
