"""Ratios and differences of rates.

Every rate, estimate, interval, bound, test and adjusted p-value.

Which rates a metric compares stands in the registry, which R reads for itself: a new metric needs
no line here. Beside the base-R twins `prop.test` and a log-binomial `glm` give what they know.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from fairstats.ground.counts import CellCounts, SelectionCounts
from fairstats.ground.registry import RATES, SELECTED, Rate, find_metric, without_class
from fairstats.ground.results import Comparison
from fairstats.ground.tallies.classes import ClassCounts
from fairstats.methods.rates.classes.rates import ClassRate, rates_of_classes
from fairstats.methods.rates.limits import ScaleOfAll
from fairstats.methods.rates.overall import OVERALL
from fairstats.methods.rates.result import ANYTIME_METHODS, ComparisonResult, RateComparison
from fairstats.methods.rates.setup import ALL_BUT
from fairstats.methods.rates.worst_case import WorstCaseResult
from fairstats.numerics.rates.odds_of_all import odds_of_others
from fairstats.report.crosscheck.check import (
    ADJUSTED,
    VERDICT,
    Bench,
    Check,
    Line,
    column,
    ends,
    rows_of,
)

_TWIN = "crosscheck_comparisons"
WORST = "crosscheck_worst_case"
_RATES = (Line("rate", "rate"), Line("rate of the reference", "rate_reference"))
#: Intervals of both by themselves; of functions of the cells by numerical derivatives here.
_OWN_VALUES = (
    *ends("interval of the rate", "value_interval", "rate_", relative=1e-6),
    *ends(
        "interval of the rate of the reference",
        "value_reference_interval",
        "rate_reference_",
        relative=1e-6,
    ),
)
_ESTIMATE = (Line("estimate", "estimate"),)
_ERROR = (Line("standard error", "std_error"),)
_INTERVAL_OF = " ({0.confidence_interval.method})"
_BOUNDS_OF = " ({0.bounds.method})"
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
_EXACT_ONE_SIDED = ends(
    "interval", "confidence_interval", "side_", _INTERVAL_OF, random=True, **LIMITS_OF_EXACT_TESTS
)
_EXACT_INTERVALS = {
    "two-sided": ends(
        "interval", "confidence_interval", "", _INTERVAL_OF, random=True, **LIMITS_OF_EXACT_TESTS
    ),
    "less": _EXACT_ONE_SIDED[1:],
    "greater": _EXACT_ONE_SIDED[:1],
}
_BOOTSTRAP_BOUNDS = ends("one-sided limit", "bounds", "bound_", _BOUNDS_OF, random=True)
#: Direction of a verdict → its p-value in the twin.
EVIDENCE_OF_TWIN = {"below": "p_below", "above": "p_above", "inside": "p_inside"}
#: Alternative → (statistic, p-value) of the twin.
TESTS_OF_TWIN = {
    "less": ("z_less", "p_less"),
    "greater": ("z_greater", "p_greater"),
    "two-sided": ("z_equal", "p_equal"),
    "equivalence": ("z_inner", "p_tost"),
}
#: Python differentiates smooth functions numerically, with central differences.
_NUMERICAL = 1e-6
#: The statistic of the MOVER interval is a root of a root: both sides stop at about 1e-10.
_MOVER = 1e-7
#: Unconditional exact tests maximise over the nuisance rate on an interpolated grid here, by
#: `optimize` there.
EXACT_PVALUE = 2e-4
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
#: The twin of limits at every look; alternative → ends of its interval.
_ANYTIME = "crosscheck_anytime"
_ENDS_AT_EVERY_LOOK = ends("interval", "confidence_interval", "", _INTERVAL_OF)
_INTERVALS_AT_EVERY_LOOK = {
    "two-sided": _ENDS_AT_EVERY_LOOK,
    "less": _ENDS_AT_EVERY_LOOK[1:],
    "greater": _ENDS_AT_EVERY_LOOK[:1],
}
#: Score method → whether it has the factor N/(N − 1), which `prop.test` has not.
_FACTORS = {"score": True, "mee": False, "koopman": False}
#: Ends of the bootstrap's interval and bounds, in the order of its twin's answer.
_BOOTSTRAP_ENDS = ("low", "high", "bound_low", "bound_high")


def comparisons(result: ComparisonResult, bench: Bench) -> Iterator[Check]:
    """Every number of the comparisons of one metric."""
    counts: Any = result.counts
    rows = result.comparisons
    rates = _rates_of(result)
    known_rates = {}
    for metric, rate in rates.items():
        if rate is not None:
            known_rates[metric] = rate
    if len(known_rates) < len(rates):
        for comparison in rows:
            yield bench.place_of(comparison).left_out(
                "estimate", comparison.estimate, "a function of the user's: R has no twin"
            )
        yield from adjusted(result, bench)
        return
    if result.settings.method in ANYTIME_METHODS:
        yield from _compare_at_every_look(result, known_rates, bench)
        yield from adjusted(result, bench)
        return
    answer = rows_of(
        bench.call(
            _TWIN,
            *table_arguments(counts),
            [name_in_r(rate) for rate in known_rates.values()],
            [list(known_rates).index(comparison.metric) + 1 for comparison in rows],
            *positions(counts, rows),
            **_choices_for_r(result),
            **design(counts),
            clustered=bool(counts.clustered),
            comparisons=result.settings.comparisons,
        )
    )
    for comparison, row in zip(rows, answer, strict=True):
        yield from compare_row_of_rates(
            comparison, row, result, known_rates[comparison.metric], bench
        )
        place = bench.place_of(comparison)
        yield from place.compare_all(_own_values_of(comparison), comparison, row, _TWIN)
        yield from _compare_exact_tests(comparison, result, known_rates[comparison.metric], bench)
        yield from _compare_bootstrap(comparison, result, known_rates[comparison.metric], bench)
    for comparison in rows:
        yield from _known_functions(comparison, result, known_rates[comparison.metric], bench)
    yield from adjusted(result, bench, answer)


def _compare_at_every_look(
    result: ComparisonResult, known_rates: Mapping[str, Rate], bench: Bench
) -> Iterator[Check]:
    """Limits, statistics and p-values that hold at every look, of what has an answer."""
    counts: Any = result.counts
    settings = result.settings
    answered = []
    for comparison in result.comparisons:
        if comparison.tests:
            answered.append(comparison)
    if not answered:
        return
    interval_level = settings.confidence_level
    if settings.simultaneous:
        interval_level = 1 - (1 - interval_level) / len(result.comparisons)
    answer = bench.call(
        _ANYTIME,
        *table_arguments(counts),
        [rate.name for rate in known_rates.values()],
        [list(known_rates).index(comparison.metric) + 1 for comparison in answered],
        *positions(counts, answered),
        result.scale,
        settings.method,
        settings.confidence_level,
        interval_level,
        settings.limit,
        float(settings.planned or 1),
        **design(counts),
        clustered=bool(counts.clustered),
    )
    for comparison, row in zip(answered, rows_of(answer), strict=True):
        place = bench.place_of(comparison)
        lines = [
            *_RATES,
            *_ESTIMATE,
            *_ERROR,
            *_INTERVALS_AT_EVERY_LOOK[settings.alternative],
            *_BOUNDS,
        ]
        yield from place.compare_all(lines, comparison, row, _ANYTIME)
        for test in comparison.tests:
            statistic_name, pvalue_name = TESTS_OF_TWIN[test.alternative]
            words = f"({test.alternative}, {test.method})"
            yield place.compare(
                f"statistic {words}", test.statistic, row[statistic_name], _ANYTIME, relative=1e-7
            )
            yield place.compare(
                f"p-value {words}", test.pvalue, row[pvalue_name], _ANYTIME, relative=1e-6
            )
        yield place.compare(
            f"{VERDICT} ({comparison.direction})",
            comparison.pvalue_verdict,
            row[EVIDENCE_OF_TWIN[comparison.direction]],
            _ANYTIME,
            relative=1e-6,
        )


def _rates_of(result: ComparisonResult) -> dict[str, Rate | None]:
    """Name of the rows → the rate that they compare; None of a function of the user's."""
    counts = result.counts
    if isinstance(counts, ClassCounts):
        return rates_by_row(counts, result)
    rates: dict[str, Rate | None] = {}
    for comparison in result.comparisons:
        rates[comparison.metric] = _rate_of(counts, comparison.metric)
    return rates


def rates_by_row(counts: ClassCounts, result: Any) -> dict[str, Rate | None]:
    """The same of several classes."""
    rates: dict[str, Rate | None] = {}
    for comparison in result.comparisons:
        rate = _rate_of(None, without_class(comparison.metric))
        rates[comparison.metric] = None
        for of_class in [] if rate is None else rates_of_classes(counts, [rate], result.kind):
            if of_class.label == comparison.label:
                rates[comparison.metric] = of_class
    return rates


def name_in_r(rate: Rate) -> str:
    """What R knows a rate by."""
    if isinstance(rate, ClassRate):
        return rate.name_in_r
    return rate.name


def _rate_of(counts: Any, name: str) -> Rate | None:
    """The rate that a metric compares; None for a function of the user's."""
    if isinstance(counts, SelectionCounts):
        return SELECTED
    metric = find_metric(name)
    if metric is None:
        return None
    return RATES[metric.rates[0]]


def table_arguments(counts: CellCounts) -> tuple[Any, Any]:
    """Totals and rows per group and cell, as R takes them."""
    return np.asarray(counts.totals, dtype=np.float64), np.asarray(counts.rows, dtype=np.float64)


def positions(counts: Any, rows: Sequence[Any]) -> tuple[list[int], list[int]]:
    """Groups and references of comparisons by their position, from 1."""
    groups = counts.groups
    first = [groups.index(comparison.group) + 1 for comparison in rows]
    second = []
    for comparison in rows:
        second.append(groups.index(_compared_with(comparison, counts)) + 1)
    return first, second


def _compared_with(comparison: Comparison, counts: Any) -> str:
    """The group of a table that a comparison is computed with: of everybody all others."""
    others: str = ALL_BUT + comparison.group
    if comparison.reference == OVERALL and others in counts.groups:
        return others
    return str(comparison.reference)


def _nulls_of_exact_tests(
    comparison: RateComparison,
    result: ComparisonResult,
    rate: Rate,
    nulls: list[float],
) -> list[float]:
    """The null values of a comparison with everybody as those of one with all others."""
    if result.settings.comparisons != "overall":
        return nulls
    counts: Any = result.counts
    cases = counts.total(*rate.cases)
    group, others = (
        cases[counts.groups.index(name)]
        for name in (comparison.group, _compared_with(comparison, counts))
    )
    contrast: Any = result.scale
    share = float(group / (group + others))
    if contrast == "odds_ratio":
        table = _table_of_pair(comparison, counts, rate)
        return [odds_of_others(table, share, null) for null in nulls]
    scale = ScaleOfAll(contrast, share)
    return [scale.null_of_others(null) for null in nulls]


def design(counts: CellCounts) -> dict[str, Any]:
    """Scatter and sampling units under weights or clusters, of clusters also the squared weights of
    rows.
    """
    if counts.scatter is None:
        return {}
    arguments = {
        "scatter": np.asarray(counts.scatter, dtype=np.float64),
        "units": float(counts.n_units),
    }
    has_squares = counts.clustered and counts.squares is not None
    if has_squares:
        return {**arguments, "squares": np.asarray(counts.squares, dtype=np.float64)}
    return arguments


def _choices_for_r(result: ComparisonResult) -> dict[str, Any]:
    """Settings as the twin in R takes them; the family is all pairs where the data chose the
    reference.
    """
    settings = result.settings
    rows = result.comparisons
    simultaneous = settings.simultaneous
    pairs = list(dict.fromkeys(zip(*positions(result.counts, rows), strict=True)))
    together: dict[str, Any] = {}
    if settings.reference_rule == "highest":
        simultaneous = simultaneous or "max-z"
        pairs = list(combinations(range(1, len(result.counts.groups) + 1), 2))
        if settings.alternative == "two-sided":
            sides = 2.0
        else:
            sides = 1.0
        together = {"pvalues": [comparison.pvalue for comparison in rows], "sides": sides}
    return together | {
        "contrast": result.scale,
        # none where there is nothing to compute, or only at random
        "method": [method_in_r(comparison) for comparison in rows],
        "exact": [comparison.procedure.exact for comparison in rows],
        "level": settings.confidence_level,
        "threshold": settings.limit,
        "simultaneous": simultaneous or "none",
        "family_first": [first for first, _ in pairs],
        "family_second": [second for _, second in pairs],
        "one_sided": settings.alternative != "two-sided",
    }


def method_in_r(comparison: RateComparison) -> str:
    """What R computes a row by; beside exact tests the score, which gives the width of the fair
    range.
    """
    if not comparison.tests or _is_drawn(comparison):
        return "none"
    if comparison.procedure.exact:
        return "score"
    return comparison.confidence_interval.method


def _is_drawn(comparison: RateComparison) -> bool:
    return comparison.procedure.kind == "bootstrap"


def compare_row_of_rates(
    comparison: RateComparison,
    row: dict[str, float],
    result: ComparisonResult,
    rate: Rate,
    bench: Bench,
    twin: str = _TWIN,
) -> Iterator[Check]:
    """Every number of a comparison of rates."""
    place = bench.place_of(comparison)
    # a mean of two rates by the scores of both
    by_mover = bool(rate.parts) and comparison.procedure.kind == "score"
    numerical = result.backend == "statsmodels"
    exact = comparison.procedure.exact
    yield from place.compare_all(_RATES, comparison, row, twin)
    if not comparison.tests:
        return
    lines = [*_ERROR]
    if not _is_drawn(comparison):
        lines += (_EXACT_INTERVALS if exact else _INTERVALS)[result.settings.alternative]
        lines += _EXACT_BOUNDS if exact else _BOUNDS
    yield from place.compare_all(_ESTIMATE, comparison, row, twin)
    yield from place.compare_all(
        lines, comparison, row, twin, relative=_NUMERICAL if numerical else 0.0
    )
    for test in comparison.tests:
        if test.exact or _is_drawn(comparison):
            continue
        statistic_name, pvalue_name = TESTS_OF_TWIN[test.alternative]
        if numerical:
            relative_tolerance = 10 * _NUMERICAL
        elif by_mover:
            relative_tolerance = _MOVER
        else:
            relative_tolerance = 1e-8
        test_words = f"({test.alternative}, {test.method})"
        yield place.compare(
            f"statistic {test_words}",
            test.statistic,
            row[statistic_name],
            twin,
            relative=relative_tolerance,
        )
        yield place.compare(
            f"p-value {test_words}",
            test.pvalue,
            row[pvalue_name],
            twin,
            relative=10 * relative_tolerance,
        )
    if comparison.direction and not _is_drawn(comparison):
        their_pvalue = row[EVIDENCE_OF_TWIN[comparison.direction]]
        if exact:
            relative_tolerance = EXACT_PVALUE
        elif numerical:
            relative_tolerance = 1e-5
        else:
            relative_tolerance = 1e-6
        yield place.compare(
            f"{VERDICT} ({comparison.direction})",
            comparison.pvalue_verdict,
            their_pvalue,
            twin,
            relative=relative_tolerance,
        )


def _own_values_of(comparison: RateComparison) -> tuple[Line, ...]:
    """Lines of the intervals that a comparison has: a file of before had none."""
    return _OWN_VALUES if comparison.value_interval.method else ()


def _table_of_pair(comparison: RateComparison, counts: Any, rate: Rate) -> tuple[Any, ...]:
    """Successes and cases of the group and its reference."""
    counts = counts.without_even_weights()
    successes = counts.total(*rate.successes)
    cases = counts.total(*rate.cases)
    table = []
    for group in (comparison.group, _compared_with(comparison, counts)):
        for total in (successes, cases):
            table.append(total[counts.groups.index(group)])
    return tuple(table)


def _compare_exact_tests(
    comparison: RateComparison,
    result: ComparisonResult,
    rate: Rate,
    bench: Bench,
) -> Iterator[Check]:
    null_values = result.settings._null_values(result.scale)
    r_function = "exact_unconditional"
    # equivalence is both ends of the fair range: the limits and the p-value of the verdict have
    # them
    tests = []
    for test in comparison.tests:
        if test.exact and test.alternative in null_values:
            tests.append(test)
    if not tests:
        return
    answer = bench.call(
        r_function,
        *map(int, _table_of_pair(comparison, result.counts, rate)),
        result.scale,
        _nulls_of_exact_tests(
            comparison,
            result,
            rate,
            [null_values[test.alternative] for test in tests],
        ),
        [test.alternative for test in tests],
    )
    for test, pvalue in zip(tests, np.atleast_1d(answer).tolist(), strict=True):
        quantity = f"p-value ({test.alternative}, {test.method})"
        yield bench.place_of(comparison).compare(
            quantity, test.pvalue, pvalue, r_function, relative=EXACT_PVALUE
        )


def _compare_bootstrap(
    comparison: RateComparison,
    result: ComparisonResult,
    rate: Rate,
    bench: Bench,
) -> Iterator[Check]:
    """BCa interval, bounds and statistics, within their Monte Carlo error.

    Nothing for any other method.
    """
    settings = result.settings
    interval = comparison.confidence_interval
    place = bench.place_of(comparison)
    r_function = "crosscheck_bca"
    if not _is_drawn(comparison):
        return
    if not _is_plain(result):
        yield place.left_out(
            "interval, lower end", interval.low, "simultaneous or one-sided, by bootstrap"
        )
        return
    null_values = settings._null_values(result.scale)
    tests = []
    for test in comparison.tests:
        if test.method == interval.method and test.alternative in null_values:
            tests.append(test)
    levels = [settings.confidence_level, 2 * comparison.bounds.confidence_level - 1]
    answer = bench.call(
        r_function,
        *map(float, _table_of_pair(comparison, result.counts, rate)),
        result.scale,
        levels,
        [null_values[test.alternative] for test in tests] or [1.0],
        int(settings.n_resamples),
    )
    value = column(answer, "value")
    error = column(answer, "error")
    row = dict(zip(_BOOTSTRAP_ENDS, value, strict=False))
    row |= {f"{name}_error": size for name, size in zip(_BOOTSTRAP_ENDS, error, strict=False)}
    lines = _INTERVALS["two-sided"] + _BOOTSTRAP_BOUNDS
    yield from place.compare_all(lines, comparison, row, r_function)
    for position, test in enumerate(tests, start=len(_BOOTSTRAP_ENDS)):
        words = f"statistic ({test.alternative}, {test.method})"
        yield place.compare(
            words, test.statistic, value[position], r_function, error=error[position]
        )


def _is_plain(result: ComparisonResult) -> bool:
    """Whether intervals are those of single comparisons, two-sided."""
    settings = result.settings
    return (
        settings.simultaneous is None
        and settings.reference_rule != "highest"
        and settings.alternative == "two-sided"
    )


def _known_functions(
    comparison: RateComparison,
    result: ComparisonResult,
    rate: Rate,
    bench: Bench,
) -> Iterator[Check]:
    """What `prop.test` and `glm` give, too.

    Of unweighted rows and single rates, they know no others.
    """
    counts: Any = result.counts
    if (
        counts.weighted
        or not rate.successes
        or not comparison.tests
        or result.backend == "statsmodels"
        or result.settings.comparisons == "overall"
    ):
        return
    place = bench.place_of(comparison)
    interval = comparison.confidence_interval
    level = result.settings.confidence_level
    table = tuple(map(float, _table_of_pair(comparison, counts, rate)))
    function = "stats::prop.test"
    answer = bench.call("known_prop_test", *table, level)
    rate_of_group, rate_of_reference = column(answer, "estimate")
    yield from place.compare_all(
        _RATES, comparison, {"rate": rate_of_group, "rate_reference": rate_of_reference}, function
    )
    if result.scale == "difference" and interval.method == "delta" and _is_plain(result):
        low, high = column(answer, "interval")  # prop.test ends at −1 and 1
        yield place.compare("interval, lower end (delta)", max(interval.low, -1.0), low, function)
        yield place.compare("interval, upper end (delta)", min(interval.high, 1.0), high, function)
    test_of_equality = next(
        (
            test
            for test in comparison.tests
            if test.alternative == "two-sided" and test.method in _FACTORS
        ),
        None,
    )
    if test_of_equality is not None and math.isfinite(answer["chisq"]):
        total = table[1] + table[3]
        if _FACTORS[test_of_equality.method]:
            factor = (total - 1) / total
        else:
            factor = 1.0
        quantity = f"squared statistic (two-sided, {test_of_equality.method})"
        yield place.compare(
            quantity, test_of_equality.statistic**2, float(answer["chisq"]) * factor, function
        )
    if interval.method == "log" and _is_plain(result):
        answer = bench.call("known_log_binomial", *table, level)
        if answer is not None:  # else no convergence
            yield from place.compare_all(_BY_GLM, comparison, answer, "stats::glm")


def adjusted(
    result: ComparisonResult, bench: Bench, joint: Sequence[Mapping[str, float]] = ()
) -> Iterator[Check]:
    """Adjusted p-values of equality and of the verdicts; `joint`: of each row over pairs chosen
    from.
    """
    highest = result.settings.reference_rule == "highest"
    rows = result.comparisons
    method = result.settings.adjust
    factor = 1.0
    if highest:  # the pairs that could have been chosen count too
        method = "none"
        factor = math.comb(len(result.counts.groups), 2) * len(
            {comparison.metric for comparison in rows}
        )
    counts_all = result.settings.method in ANYTIME_METHODS
    if not (highest and joint):
        yield from bench.adjusted(
            rows, bench.place_of, method, factor=factor, counts_all=counts_all
        )
    elif bench.adjusted_here:
        line = Line(
            quantity=ADJUSTED,
            attribute="pvalue_adjusted",
            twin="p_joint",
            error="p_joint_error",
            relative=1e-6,
        )
        for comparison, row in zip(rows, joint, strict=True):
            yield from bench.place_of(comparison).compare_all([line], comparison, row, _TWIN)
    if highest and joint and result.settings.threshold == 1:
        # equality alone is fair: the verdicts ask what the tests of equality do
        line = Line(
            quantity=f"{VERDICT}, adjusted",
            attribute="pvalue_verdict_adjusted",
            twin="p_joint",
            error="p_joint_error",
            relative=1e-6,
        )
        for comparison, row in zip(rows, joint, strict=True):
            yield from bench.place_of(comparison).compare_all([line], comparison, row, _TWIN)
        return
    yield from bench.adjusted(
        rows, bench.place_of, method, "pvalue_verdict", factor, counts_all=counts_all
    )


def worst_case(result: WorstCaseResult, bench: Bench) -> Iterator[Check]:
    """Every range over the values of what is missing, with the interval around it."""
    counts = result.counts
    rows = result.bounds
    patterns = np.array(counts.missing.patterns, dtype=np.float64).T
    known_rates = []
    for comparison in rows:
        known_rates.append((find_metric(comparison.metric), _rate_of(counts, comparison.metric)))
    scales = []
    for metric, _ in known_rates:
        scales.append("ratio" if metric and metric.contrast == "ratio" else "difference")
    rates = []
    for _, rate in known_rates:
        rates.append(rate.name if rate else "")
    level = rows[0].confidence_interval.confidence_level
    totals = table_arguments(counts)[0]
    group_positions = positions(counts, rows)
    answer = bench.call(WORST, totals, *map(list, patterns), rates, *group_positions, scales, level)
    for comparison, row in zip(rows, rows_of(answer), strict=True):
        yield from bench.place(
            f"worst_case_{comparison.metric}", comparison.group, comparison.reference
        ).compare_all(_WORST_LINES, comparison, row, WORST)
