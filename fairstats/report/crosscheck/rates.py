"""Ratios and differences of rates: every rate, estimate, interval, bound, test and adjusted p-value.

Which rates a metric compares stands in the registry, which R reads for itself: a new metric needs no line
here. Beside the base-R twins `prop.test` and a log-binomial `glm` give what they know.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from fairstats.ground.counts import CellCounts, SelectionCounts
from fairstats.ground.registry import RATES, SELECTED, Rate, find_metric
from fairstats.methods.rates.result import ComparisonResult, RateComparison
from fairstats.report.crosscheck.check import Check, Line, ends
from fairstats.report.crosscheck.door import ADJUSTED, VERDICT, VERDICT_ADJUSTED, Bench, column, rows_of
from fairstats.report.sections.rates import WorstCaseResult

_TWIN, WORST = "crosscheck_comparisons", "crosscheck_worst_case"
_RATES = (Line("rate", "rate"), Line("rate of the reference", "rate_reference"))
_ESTIMATE = (Line("estimate", "estimate"),)
_ERROR = (Line("standard error", "std_error"),)
_INTERVAL_OF, _BOUNDS_OF = " ({0.confidence_interval.method})", " ({0.bounds.method})"
_ONE_SIDED = ends("interval", "confidence_interval", "side_", _INTERVAL_OF, random=True)
#: Alternative → ends of its interval: the one at its open side is no estimate.
_INTERVALS = {
    "two-sided": ends("interval", "confidence_interval", "", _INTERVAL_OF, random=True),
    "less": _ONE_SIDED[1:],
    "greater": _ONE_SIDED[:1],
}
_BOUNDS = ends("one-sided limit", "bounds", "bound_", _BOUNDS_OF)
#: Limits by exact tests lie on multiples of one step, or beside the score limit, where the search begins.
_EXACT_BOUNDS = ends("one-sided limit", "bounds", "bound_", _BOUNDS_OF, relative=1e-6, absolute=1e-7)
_BOOTSTRAP_BOUNDS = ends("one-sided limit", "bounds", "bound_", _BOUNDS_OF, random=True)
#: Direction of a verdict → its p-value in the twin.
_EVIDENCE = {"below": "p_below", "above": "p_above", "inside": "p_inside"}
#: Alternative → (statistic, p-value) of the twin.
_TESTS = {
    "less": ("z_less", "p_less"), "greater": ("z_greater", "p_greater"), "two-sided": ("z_equal", "p_equal"),
    "equivalence": ("z_inner", "p_tost"),
}  # fmt: skip
#: Python differentiates smooth functions numerically, with central differences.
_NUMERICAL = 1e-6
#: The statistic of the MOVER interval is a root of a root: both sides stop at about 1e-10.
_MOVER = 1e-7
#: Unconditional exact tests maximise over the nuisance rate on a refined grid here, by `optimize` there.
_EXACT = 1e-5
#: Iteratively reweighted least squares, run until the deviance stands still.
_GLM = 1e-6
_BY_GLM = (
    Line("estimate", "estimate", relative=_GLM),
    *ends("interval", "confidence_interval", of=" (log)", relative=_GLM),
)
_WORST_LINES = (
    Line("smallest value", "low"),
    Line("largest value", "high"),
    *ends("interval", "confidence_interval", "ci_"),
)
#: Score method → whether it has the factor N/(N − 1), which `prop.test` has not.
_FACTORS = {"score": True, "mee": False, "koopman": False}
#: Ends of the bootstrap's interval and bounds, in the order of its twin's answer.
_BOOTSTRAP_ENDS = ("low", "high", "bound_low", "bound_high")


def comparisons(result: ComparisonResult, bench: Bench) -> Iterator[Check]:
    """Every number of the comparisons of one metric."""
    counts: Any = result.counts
    rates = {c.metric: _rate_of(counts, c.metric) for c in result.comparisons}
    known = {metric: rate for metric, rate in rates.items() if rate is not None}
    if len(known) < len(rates):
        for c in result.comparisons:
            yield bench.place_of(c).left_out("estimate", c.estimate, "a function of the user's: R has no twin")
        yield from adjusted(result, bench)
        return
    found = bench.call(
        _TWIN, *table_arguments(counts), [rate.name for rate in known.values()],
        [list(known).index(c.metric) + 1 for c in result.comparisons],
        [counts.groups.index(c.group) + 1 for c in result.comparisons],
        [counts.groups.index(c.reference) + 1 for c in result.comparisons],
        **_choices(result), **design(counts), clustered=bool(counts.clustered),
    )  # fmt: skip
    found = rows_of(found)
    for c, row in zip(result.comparisons, found, strict=True):
        yield from _one(c, row, result, bench)
        yield from _exact(c, result, known[c.metric], bench)
        yield from _bootstrap(c, result, known[c.metric], bench)
    for c in result.comparisons:
        yield from _known_functions(c, result, known[c.metric], bench)
    yield from adjusted(result, bench, found)


def _rate_of(counts: CellCounts, name: str) -> Rate | None:
    """The rate that a metric compares; None for a function of the user's."""
    if isinstance(counts, SelectionCounts):
        return SELECTED
    metric = find_metric(name)
    return None if metric is None else RATES[metric.rates[0]]


def table_arguments(counts: CellCounts) -> tuple[Any, Any]:
    """Totals and rows per group and cell, as R takes them."""
    return np.asarray(counts.totals, dtype=np.float64), np.asarray(counts.rows, dtype=np.float64)


def design(counts: CellCounts) -> dict[str, Any]:
    """Scatter and sampling units under weights or clusters, the clusters of each group where known."""
    if counts.scatter is None:
        return {}
    found = {"scatter": np.asarray(counts.scatter, dtype=np.float64), "units": float(counts.n_units)}
    known = counts.clustered and counts.group_units is not None
    return {**found, "clusters": np.asarray(counts.group_units, dtype=np.float64)} if known else found


def _choices(result: ComparisonResult) -> dict[str, Any]:
    s = result.settings
    groups = result.counts.groups
    simultaneous = s.simultaneous
    pairs = list(dict.fromkeys((groups.index(c.group), groups.index(c.reference)) for c in result.comparisons))
    together: dict[str, Any] = {}
    if s.reference_rule == "highest":
        simultaneous = simultaneous or "max-z"
        pairs = list(combinations(range(len(groups)), 2))
        sides = 2.0 if s.alternative == "two-sided" else 1.0
        together = {"pvalues": [c.pvalue for c in result.comparisons], "sides": sides}
    return together | {
        "contrast": result.scale,
        "method": [_method(c, c.confidence_interval.method) for c in result.comparisons],
        "exact": [c.bounds.method.startswith("exact") for c in result.comparisons],
        "level": s.confidence_level, "threshold": s.limit, "simultaneous": simultaneous or "none",
        "family_first": [i + 1 for i, _ in pairs], "family_second": [j + 1 for _, j in pairs],
    }  # fmt: skip


def _method(c: RateComparison, name: str) -> str:
    """The twin's word for a method; "none" where there is nothing to compute, or only at random."""
    return "none" if not c.tests or name.startswith("bootstrap") else name


def _one(c: RateComparison, row: dict[str, float], result: ComparisonResult, bench: Bench) -> Iterator[Check]:
    place = bench.place_of(c)
    numerical = result.backend == "statsmodels"
    yield from bench.compare(place, _RATES, c, row, _TWIN)
    if not c.tests:
        return
    lines = [*_ERROR]
    if not c.confidence_interval.method.startswith("bootstrap"):
        lines += _INTERVALS[result.settings.alternative]
    if c.bounds.method.startswith("exact"):
        lines += _EXACT_BOUNDS
    elif not c.bounds.method.startswith("bootstrap"):
        lines += _BOUNDS
    yield from bench.compare(place, _ESTIMATE, c, row, _TWIN)
    yield from bench.compare(place, lines, c, row, _TWIN, relative=_NUMERICAL if numerical else 0.0)
    for test in c.tests:
        if test.method.startswith("exact") or "bootstrap" in test.method:
            continue
        z, p = _TESTS[test.alternative]
        loose = 10 * _NUMERICAL if numerical else _MOVER if "MOVER" in test.method else 1e-8
        words = f"{test.alternative}, {test.method}"
        source = bench.source(_TWIN)
        yield place.compare(f"statistic ({words})", test.statistic, row[z], source, relative=loose)
        yield place.compare(f"p-value ({words})", test.pvalue, row[p], source, relative=10 * loose)
    if c.direction and not c.bounds.method.startswith("bootstrap"):
        exact = c.bounds.method.startswith("exact")
        shown, loose = row[_EVIDENCE[c.direction]], 1e-5 if numerical or exact else 1e-6
        words = f"{VERDICT} ({c.direction})"
        yield place.compare(words, c.pvalue_verdict, shown, bench.source(_TWIN), relative=loose)


def _table(c: RateComparison, counts: Any, rate: Rate) -> tuple[int, int, int, int]:
    """Successes and cases of the group and its reference."""
    i, j = counts.groups.index(c.group), counts.groups.index(c.reference)
    k, n = counts.total(*rate.successes), counts.total(*rate.cases)
    return k[i], n[i], k[j], n[j]


def _exact(c: RateComparison, result: ComparisonResult, rate: Rate, bench: Bench) -> Iterator[Check]:
    tests = [t for t in c.tests if t.method.startswith("exact")]
    if not tests:
        return
    null = result.settings.nulls(result.scale)
    found = bench.call(
        "exact_unconditional", *map(int, _table(c, result.counts, rate)), result.scale,
        [null[t.alternative] for t in tests], [t.alternative for t in tests],
    )  # fmt: skip
    source = bench.source("exact_unconditional")
    for test, pvalue in zip(tests, np.atleast_1d(found).tolist(), strict=True):
        quantity = f"p-value ({test.alternative}, {test.method})"
        yield bench.place_of(c).compare(quantity, test.pvalue, pvalue, source, relative=_EXACT)


def _bootstrap(c: RateComparison, result: ComparisonResult, rate: Rate, bench: Bench) -> Iterator[Check]:
    """BCa interval, bounds and statistics, within their Monte Carlo error; nothing for any other method."""
    s, interval, place = result.settings, c.confidence_interval, bench.place_of(c)
    if not interval.method.startswith("bootstrap"):
        return
    if not _plain(result):
        why = "simultaneous or one-sided, by bootstrap"
        yield place.left_out("interval, lower end", interval.low, why)
        return
    null = s.nulls(result.scale)
    tests = [t for t in c.tests if t.method == interval.method and t.alternative in null]
    levels = [s.confidence_level, 2 * c.bounds.confidence_level - 1]
    found = bench.call(
        "crosscheck_bca", *map(float, _table(c, result.counts, rate)), result.scale, levels,
        [null[t.alternative] for t in tests] or [1.0], int(s.n_resamples),
    )  # fmt: skip
    value, error = column(found, "value"), column(found, "error")
    row = dict(zip(_BOOTSTRAP_ENDS, value, strict=False))
    row |= {f"{name}_error": size for name, size in zip(_BOOTSTRAP_ENDS, error, strict=False)}
    lines = _INTERVALS["two-sided"]
    lines += _BOOTSTRAP_BOUNDS if c.bounds.method.startswith("bootstrap") else ()
    yield from bench.compare(place, lines, c, row, "crosscheck_bca")
    source = bench.source("crosscheck_bca")
    for at, test in enumerate(tests, start=len(_BOOTSTRAP_ENDS)):
        words = f"statistic ({test.alternative}, {test.method})"
        yield place.compare(words, test.statistic, value[at], source, error=error[at])


def _plain(result: ComparisonResult) -> bool:
    """Whether intervals are those of single comparisons, two-sided."""
    s = result.settings
    return s.simultaneous is None and s.reference_rule != "highest" and s.alternative == "two-sided"


def _known_functions(c: RateComparison, result: ComparisonResult, rate: Rate, bench: Bench) -> Iterator[Check]:
    """What `prop.test` and `glm` give, too: of unweighted rows and single rates, they know no others."""
    counts: Any = result.counts
    if counts.weighted or not rate.successes or not c.tests or result.backend == "statsmodels":
        return
    table = tuple(map(float, _table(c, counts, rate)))
    yield from _prop_test(c, result, table, bench)
    if c.confidence_interval.method == "log" and _plain(result):
        found = bench.call("known_log_binomial", *table, result.settings.confidence_level)
        if found is not None:  # else no convergence
            yield from bench.compare(bench.place_of(c), _BY_GLM, c, found, "stats::glm")


def _prop_test(c: RateComparison, result: ComparisonResult, table: tuple[float, ...], bench: Bench) -> Iterator[Check]:
    place, source = bench.place_of(c), bench.source("stats::prop.test")
    found = bench.call("known_prop_test", *table, result.settings.confidence_level)
    share, other = column(found, "estimate")
    yield from bench.compare(place, _RATES, c, {"rate": share, "rate_reference": other}, "stats::prop.test")
    interval = c.confidence_interval
    if result.scale == "difference" and interval.method == "delta" and _plain(result):
        low, high = column(found, "interval")  # prop.test ends at −1 and 1
        yield place.compare("interval, lower end (delta)", max(interval.low, -1.0), low, source)
        yield place.compare("interval, upper end (delta)", min(interval.high, 1.0), high, source)
    equal = next((t for t in c.tests if t.alternative == "two-sided" and t.method in _FACTORS), None)
    if equal is not None and math.isfinite(found["chisq"]):
        total = table[1] + table[3]
        factor = (total - 1) / total if _FACTORS[equal.method] else 1.0
        quantity = f"squared statistic (two-sided, {equal.method})"
        yield place.compare(quantity, equal.statistic**2, float(found["chisq"]) * factor, source)


def adjusted(result: ComparisonResult, bench: Bench, joint: Sequence[Mapping[str, float]] = ()) -> Iterator[Check]:
    """Adjusted p-values of equality and of the verdicts; `joint`: of each row over pairs chosen from."""
    highest, rows = result.settings.reference_rule == "highest", result.comparisons
    n = len(result.counts.groups)
    # the pairs that could have been chosen count too
    family = n * (n - 1) / 2 * len({c.metric for c in rows})
    if highest and joint and bench.adjusted_here:
        line = Line(ADJUSTED, "pvalue_adjusted", "p_joint", "p_joint_error", relative=1e-6)
        for c, row in zip(rows, joint, strict=True):
            yield from bench.compare(bench.place_of(c), [line], c, row, _TWIN)
    for quantity, name in ((ADJUSTED, "pvalue"), (VERDICT_ADJUSTED, "pvalue_verdict")):
        if name == "pvalue" and (not bench.adjusted_here or (highest and joint)):
            continue
        values = [getattr(c, name) for c in rows]
        found, source = bench.p_adjust(values, "none" if highest else result.settings.adjust)
        for c, p in zip(rows, found, strict=True):
            wanted = min(family * p, 1.0) if highest and not math.isnan(p) else p
            yield bench.place_of(c).compare(quantity, getattr(c, f"{name}_adjusted"), wanted, source)


def worst_case(result: WorstCaseResult, bench: Bench) -> Iterator[Check]:
    """Every range over the values of what is missing, with the interval around it."""
    counts, rows = result.counts, result.bounds
    patterns = np.array(counts.missing.patterns, dtype=np.float64).T
    groups = counts.groups
    at = ([groups.index(c.group) + 1 for c in rows], [groups.index(c.reference) + 1 for c in rows])
    known = [(find_metric(c.metric), _rate_of(counts, c.metric)) for c in rows]
    scales = ["ratio" if metric and metric.contrast == "ratio" else "difference" for metric, _ in known]
    rates = [rate.name if rate else "" for _, rate in known]
    level = rows[0].confidence_interval.confidence_level
    found = bench.call(WORST, table_arguments(counts)[0], *map(list, patterns), rates, *at, scales, level)
    for c, row in zip(rows, rows_of(found), strict=True):
        place = bench.place(f"worst_case_{c.metric}", c.group, c.reference)
        yield from bench.compare(place, _WORST_LINES, c, row, WORST)
