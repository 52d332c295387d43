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
from fairstats.report.crosscheck.check import ADJUSTED, VERDICT, Bench, Check, Line, column, ends, rows_of
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
#: Limits by exact tests follow p-values that agree to `EXACT_PVALUE`.
LIMITS_OF_EXACT_TESTS: dict[str, Any] = {"relative": 1e-3, "absolute": 5e-4}
_EXACT_BOUNDS = ends("one-sided limit", "bounds", "bound_", _BOUNDS_OF, **LIMITS_OF_EXACT_TESTS)
_EXACT_ONE_SIDED = ends("interval", "confidence_interval", "side_", _INTERVAL_OF, random=True, **LIMITS_OF_EXACT_TESTS)
_EXACT_INTERVALS = {
    "two-sided": ends("interval", "confidence_interval", "", _INTERVAL_OF, random=True, **LIMITS_OF_EXACT_TESTS),
    "less": _EXACT_ONE_SIDED[1:],
    "greater": _EXACT_ONE_SIDED[:1],
}
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
#: Unconditional exact tests maximise over the nuisance rate on an interpolated grid here, by `optimize` there.
EXACT_PVALUE = 2e-4
#: Iteratively reweighted least squares, run until the deviance stands still.
_GLM = 1e-6
_BY_GLM = (
    Line("estimate", "estimate", relative=_GLM),
    *ends("interval", "confidence_interval", of=" (log)", relative=_GLM),
)
_WORST_LINES = (
    Line("smallest value", "low"), Line("largest value", "high"), *ends("interval", "confidence_interval", "ci_")
)  # fmt: skip
#: Score method → whether it has the factor N/(N − 1), which `prop.test` has not.
_FACTORS = {"score": True, "mee": False, "koopman": False}
#: Ends of the bootstrap's interval and bounds, in the order of its twin's answer.
_BOOTSTRAP_ENDS = ("low", "high", "bound_low", "bound_high")


def comparisons(result: ComparisonResult, bench: Bench) -> Iterator[Check]:
    """Every number of the comparisons of one metric."""
    counts: Any = result.counts
    rows = result.comparisons
    rates = {c.metric: _rate_of(counts, c.metric) for c in rows}
    known = {metric: rate for metric, rate in rates.items() if rate is not None}
    if len(known) < len(rates):
        for c in rows:
            yield bench.place_of(c).left_out("estimate", c.estimate, "a function of the user's: R has no twin")
        yield from adjusted(result, bench)
        return
    found = rows_of(bench.call(
        _TWIN, *table_arguments(counts), [rate.name for rate in known.values()],
        [list(known).index(c.metric) + 1 for c in rows], *positions(counts, rows),
        **_choices(result), **design(counts), clustered=bool(counts.clustered),
    ))  # fmt: skip
    for c, row in zip(rows, found, strict=True):
        yield from _one(c, row, result, bench)
        yield from _exact(c, result, known[c.metric], bench)
        yield from _bootstrap(c, result, known[c.metric], bench)
    for c in rows:
        yield from _known_functions(c, result, known[c.metric], bench)
    yield from adjusted(result, bench, found)


def _rate_of(counts: Any, name: str) -> Rate | None:
    """The rate that a metric compares; None for a function of the user's."""
    if isinstance(counts, SelectionCounts):
        return SELECTED
    metric = find_metric(name)
    return None if metric is None else RATES[metric.rates[0]]


def table_arguments(counts: CellCounts) -> tuple[Any, Any]:
    """Totals and rows per group and cell, as R takes them."""
    return np.asarray(counts.totals, dtype=np.float64), np.asarray(counts.rows, dtype=np.float64)


def positions(counts: Any, rows: Sequence[Any]) -> tuple[list[int], list[int]]:
    """Groups and references of comparisons by their position, from 1."""
    groups = counts.groups
    return [groups.index(c.group) + 1 for c in rows], [groups.index(c.reference) + 1 for c in rows]


def design(counts: CellCounts) -> dict[str, Any]:
    """Scatter and sampling units under weights or clusters, of clusters also the squared weights of rows."""
    if counts.scatter is None:
        return {}
    found = {"scatter": np.asarray(counts.scatter, dtype=np.float64), "units": float(counts.n_units)}
    known = counts.clustered and counts.squares is not None
    return {**found, "squares": np.asarray(counts.squares, dtype=np.float64)} if known else found


def _choices(result: ComparisonResult) -> dict[str, Any]:
    s, rows = result.settings, result.comparisons
    simultaneous = s.simultaneous
    pairs = list(dict.fromkeys(zip(*positions(result.counts, rows), strict=True)))
    together: dict[str, Any] = {}
    if s.reference_rule == "highest":
        simultaneous = simultaneous or "max-z"
        pairs = list(combinations(range(1, len(result.counts.groups) + 1), 2))
        sides = 2.0 if s.alternative == "two-sided" else 1.0
        together = {"pvalues": [c.pvalue for c in rows], "sides": sides}
    return together | {
        "contrast": result.scale,
        # none where there is nothing to compute, or only at random
        "method": [_method_in_r(c) for c in rows],
        "exact": [c.procedure.exact for c in rows],
        "level": s.confidence_level, "threshold": s.limit, "simultaneous": simultaneous or "none",
        "family_first": [i for i, _ in pairs], "family_second": [j for _, j in pairs],
    }  # fmt: skip


def _method_in_r(c: RateComparison) -> str:
    """What R computes a row by; beside exact tests the score, which gives the width of the fair range."""
    if not c.tests or _drawn(c):
        return "none"
    return "score" if c.procedure.exact else c.confidence_interval.method


def _drawn(c: RateComparison) -> bool:
    return c.procedure.kind == "bootstrap"


def _one(c: RateComparison, row: dict[str, float], result: ComparisonResult, bench: Bench) -> Iterator[Check]:
    place = bench.place_of(c)
    numerical, exact = result.backend == "statsmodels", c.procedure.exact
    yield from place.compare_all(_RATES, c, row, _TWIN)
    if not c.tests:
        return
    lines = [*_ERROR]
    if not _drawn(c):
        lines += (_EXACT_INTERVALS if exact else _INTERVALS)[result.settings.alternative]
        lines += _EXACT_BOUNDS if exact else _BOUNDS
    yield from place.compare_all(_ESTIMATE, c, row, _TWIN)
    yield from place.compare_all(lines, c, row, _TWIN, relative=_NUMERICAL if numerical else 0.0)
    for test in c.tests:
        if test.exact or _drawn(c):
            continue
        z, p = _TESTS[test.alternative]
        loose = 10 * _NUMERICAL if numerical else _MOVER if "MOVER" in test.method else 1e-8
        of = f"({test.alternative}, {test.method})"
        yield place.compare(f"statistic {of}", test.statistic, row[z], _TWIN, relative=loose)
        yield place.compare(f"p-value {of}", test.pvalue, row[p], _TWIN, relative=10 * loose)
    if c.direction and not _drawn(c):
        shown = row[_EVIDENCE[c.direction]]
        loose = EXACT_PVALUE if exact else 1e-5 if numerical else 1e-6
        yield place.compare(f"{VERDICT} ({c.direction})", c.pvalue_verdict, shown, _TWIN, relative=loose)


def _table(c: RateComparison, counts: Any, rate: Rate) -> tuple[Any, ...]:
    """Successes and cases of the group and its reference."""
    k, n = counts.total(*rate.successes), counts.total(*rate.cases)
    return tuple(total[counts.groups.index(g)] for g in (c.group, c.reference) for total in (k, n))


def _exact(c: RateComparison, result: ComparisonResult, rate: Rate, bench: Bench) -> Iterator[Check]:
    null, twin = result.settings._nulls(result.scale), "exact_unconditional"
    # equivalence is both ends of the fair range: the limits and the p-value of the verdict have them
    tests = [t for t in c.tests if t.exact and t.alternative in null]
    if not tests:
        return
    found = bench.call(
        twin, *map(int, _table(c, result.counts, rate)), result.scale,
        [null[t.alternative] for t in tests], [t.alternative for t in tests],
    )  # fmt: skip
    for test, pvalue in zip(tests, np.atleast_1d(found).tolist(), strict=True):
        quantity = f"p-value ({test.alternative}, {test.method})"
        yield bench.place_of(c).compare(quantity, test.pvalue, pvalue, twin, relative=EXACT_PVALUE)


def _bootstrap(c: RateComparison, result: ComparisonResult, rate: Rate, bench: Bench) -> Iterator[Check]:
    """BCa interval, bounds and statistics, within their Monte Carlo error; nothing for any other method."""
    s, interval, place, twin = result.settings, c.confidence_interval, bench.place_of(c), "crosscheck_bca"
    if not _drawn(c):
        return
    if not _plain(result):
        yield place.left_out("interval, lower end", interval.low, "simultaneous or one-sided, by bootstrap")
        return
    null = s._nulls(result.scale)
    tests = [t for t in c.tests if t.method == interval.method and t.alternative in null]
    levels = [s.confidence_level, 2 * c.bounds.confidence_level - 1]
    found = bench.call(
        twin, *map(float, _table(c, result.counts, rate)), result.scale, levels,
        [null[t.alternative] for t in tests] or [1.0], int(s.n_resamples),
    )  # fmt: skip
    value, error = column(found, "value"), column(found, "error")
    row = dict(zip(_BOOTSTRAP_ENDS, value, strict=False))
    row |= {f"{name}_error": size for name, size in zip(_BOOTSTRAP_ENDS, error, strict=False)}
    lines = _INTERVALS["two-sided"] + _BOOTSTRAP_BOUNDS
    yield from place.compare_all(lines, c, row, twin)
    for at, test in enumerate(tests, start=len(_BOOTSTRAP_ENDS)):
        words = f"statistic ({test.alternative}, {test.method})"
        yield place.compare(words, test.statistic, value[at], twin, error=error[at])


def _plain(result: ComparisonResult) -> bool:
    """Whether intervals are those of single comparisons, two-sided."""
    s = result.settings
    return s.simultaneous is None and s.reference_rule != "highest" and s.alternative == "two-sided"


def _known_functions(c: RateComparison, result: ComparisonResult, rate: Rate, bench: Bench) -> Iterator[Check]:
    """What `prop.test` and `glm` give, too: of unweighted rows and single rates, they know no others."""
    counts: Any = result.counts
    if counts.weighted or not rate.successes or not c.tests or result.backend == "statsmodels":
        return
    place, interval, level = bench.place_of(c), c.confidence_interval, result.settings.confidence_level
    table, function = tuple(map(float, _table(c, counts, rate))), "stats::prop.test"
    found = bench.call("known_prop_test", *table, level)
    share, other = column(found, "estimate")
    yield from place.compare_all(_RATES, c, {"rate": share, "rate_reference": other}, function)
    if result.scale == "difference" and interval.method == "delta" and _plain(result):
        low, high = column(found, "interval")  # prop.test ends at −1 and 1
        yield place.compare("interval, lower end (delta)", max(interval.low, -1.0), low, function)
        yield place.compare("interval, upper end (delta)", min(interval.high, 1.0), high, function)
    equal = next((t for t in c.tests if t.alternative == "two-sided" and t.method in _FACTORS), None)
    if equal is not None and math.isfinite(found["chisq"]):
        total = table[1] + table[3]
        factor = (total - 1) / total if _FACTORS[equal.method] else 1.0
        quantity = f"squared statistic (two-sided, {equal.method})"
        yield place.compare(quantity, equal.statistic**2, float(found["chisq"]) * factor, function)
    if interval.method == "log" and _plain(result):
        found = bench.call("known_log_binomial", *table, level)
        if found is not None:  # else no convergence
            yield from place.compare_all(_BY_GLM, c, found, "stats::glm")


def adjusted(result: ComparisonResult, bench: Bench, joint: Sequence[Mapping[str, float]] = ()) -> Iterator[Check]:
    """Adjusted p-values of equality and of the verdicts; `joint`: of each row over pairs chosen from."""
    highest, rows = result.settings.reference_rule == "highest", result.comparisons
    method, factor = result.settings.adjust, 1.0
    if highest:  # the pairs that could have been chosen count too
        method, factor = "none", math.comb(len(result.counts.groups), 2) * len({c.metric for c in rows})
    if not (highest and joint):
        yield from bench.adjusted(rows, bench.place_of, method, factor=factor)
    elif bench.adjusted_here:
        line = Line(ADJUSTED, "pvalue_adjusted", "p_joint", "p_joint_error", relative=1e-6)
        for c, row in zip(rows, joint, strict=True):
            yield from bench.place_of(c).compare_all([line], c, row, _TWIN)
    yield from bench.adjusted(rows, bench.place_of, method, "pvalue_verdict", factor)


def worst_case(result: WorstCaseResult, bench: Bench) -> Iterator[Check]:
    """Every range over the values of what is missing, with the interval around it."""
    counts, rows = result.counts, result.bounds
    patterns = np.array(counts.missing.patterns, dtype=np.float64).T
    known = [(find_metric(c.metric), _rate_of(counts, c.metric)) for c in rows]
    scales = ["ratio" if metric and metric.contrast == "ratio" else "difference" for metric, _ in known]
    rates = [rate.name if rate else "" for _, rate in known]
    level = rows[0].confidence_interval.confidence_level
    totals, at = table_arguments(counts)[0], positions(counts, rows)
    found = bench.call(WORST, totals, *map(list, patterns), rates, *at, scales, level)
    for c, row in zip(rows, rows_of(found), strict=True):
        yield from bench.place(f"worst_case_{c.metric}", c.group, c.reference).compare_all(_WORST_LINES, c, row, WORST)
