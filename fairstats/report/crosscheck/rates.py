"""Ratios and differences of rates: every rate, estimate, interval, bound, test and adjusted p-value."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.counts import SelectionCounts
from fairstats.methods.rates.definitions import RATES, SELECTION_ONLY, Rate
from fairstats.report.crosscheck.adjusted import ADJUSTED, adjusted_in_r
from fairstats.report.crosscheck.bench import Bench, column
from fairstats.report.crosscheck.check import Check, Place
from fairstats.report.crosscheck.rates_bootstrap import bootstrap_checks
from fairstats.report.crosscheck.rates_known import known_functions
from fairstats.report.crosscheck.smooth import smooth_checks

if TYPE_CHECKING:
    from fairstats.ground.counts import CellCounts
    from fairstats.methods.rates.result import Comparison, ComparisonResult

__all__ = ["checks", "design", "parts_of", "positions", "table_arguments"]

_TWIN = "crosscheck_comparisons"
#: Metric → rates whose mean, or single value, it compares.
_PARTS = {
    "disparate_impact": ("selection_rate",),
    "disparate_impact_labels": ("base_rate",),
    "demographic_parity_difference_labels": ("base_rate",),
    "conditional_accuracy_1": ("tpr",),
    "conditional_accuracy_0": ("tnr",),
    "conditional_use_accuracy_1": ("ppv",),
    "conditional_use_accuracy_0": ("npv",),
    "demographic_parity_difference": ("selection_rate",),
    "equal_opportunity_difference": ("tpr",),
    "predictive_parity_difference": ("ppv",),
    "average_odds_difference": ("tpr", "fpr"),
    **{f"{key}_difference": (key,) for key in RATES},
}
#: Alternative → (statistic, p-value) of the twin.
_TESTS = {
    "less": ("z_less", "p_less"),
    "greater": ("z_greater", "p_greater"),
    "two-sided": ("z_equal", "p_equal"),
    "equivalence": ("z_inner", "p_tost"),
}
#: The statistic of the MOVER interval is a root of a root: both sides stop at about 1e-10.
_MOVER = 1e-7
#: Unconditional exact tests maximise over the nuisance rate on a refined grid here, by `optimize` there.
_EXACT = 1e-5


def checks(result: ComparisonResult, bench: Bench) -> Iterator[Check]:
    """Every number of the comparisons of one metric."""
    metrics = list(dict.fromkeys(c.metric for c in result.comparisons))
    counts: Any = result.counts
    if any(name not in _PARTS for name in metrics) or result.backend == "statsmodels":
        yield from smooth_checks(result, bench)
        yield from _adjusted(result, bench)
        return
    rates = {name: parts_of(counts, name) for name in metrics}
    found = bench.call(
        _TWIN, *table_arguments(counts), [positions(counts, rates[name]) for name in metrics],
        [metrics.index(c.metric) + 1 for c in result.comparisons],
        [counts.groups.index(c.group) + 1 for c in result.comparisons],
        [counts.groups.index(c.reference) + 1 for c in result.comparisons],
        **_choices(result), **design(counts),
    )  # fmt: skip
    twin = {name: column(found, name) for name in found}
    for k, c in enumerate(result.comparisons):
        place = bench.place(c.metric, c.group, c.reference)
        row = {name: values[k] for name, values in twin.items()}
        yield from _one(c, row, place, bench, result.settings.alternative)
        yield from _exact(c, result, place, bench, rates[c.metric])
        yield from bootstrap_checks(c, result, rates[c.metric], place, bench)
    yield from known_functions(result, rates, bench)
    yield from _adjusted(result, bench)


def parts_of(counts: CellCounts, metric: str) -> list[Rate]:
    """The rates that a metric compares, or is the mean of."""
    if isinstance(counts, SelectionCounts):
        return [SELECTION_ONLY]
    return [RATES[key] for key in _PARTS.get(metric, (metric,))]


def table_arguments(counts: CellCounts) -> tuple[Any, Any]:
    """Totals and rows per group and cell, as R takes them."""
    return np.asarray(counts.totals, dtype=np.float64), np.asarray(counts.rows, dtype=np.float64)


def positions(counts: CellCounts, parts: list[Rate]) -> list[dict[str, Any]]:
    """Columns (from 1) of the cells that each rate counts."""
    place = {cell: k + 1 for k, cell in enumerate(counts.cells)}
    return [
        {"success": [place[c] for c in rate.successes], "case": [place[c] for c in rate.cases]}
        for rate in parts
    ]


def design(counts: CellCounts) -> dict[str, Any]:
    """Scatter and sampling units under weights or clusters."""
    if counts.scatter is None:
        return {}
    return {"scatter": np.asarray(counts.scatter, dtype=np.float64), "units": float(counts.n_units)}


def _choices(result: ComparisonResult) -> dict[str, Any]:
    s = result.settings
    groups = result.counts.groups
    simultaneous = s.simultaneous
    first = [(groups.index(c.group), groups.index(c.reference)) for c in result.comparisons]
    pairs = list(dict.fromkeys(first))
    if s.reference_rule == "highest":
        simultaneous = simultaneous or "max-z"
        pairs = list(combinations(range(len(groups)), 2))
    return {
        "contrast": result.scale,
        "shown": [_method(c, c.interval.method) for c in result.comparisons],
        "judged": [_method(c, c.bounds.method) for c in result.comparisons],
        "level": s.confidence_level,
        "threshold": s.threshold,
        "simultaneous": simultaneous or "none",
        "family_first": [i + 1 for i, _ in pairs],
        "family_second": [j + 1 for _, j in pairs],
    }


def _method(c: Comparison, name: str) -> str:
    """The twin's word for a method; "none" where there is nothing to compute, or only at random."""
    if not c.tests or name.startswith("bootstrap"):
        return "none"
    return name


def _one(
    c: Comparison, row: dict[str, float], place: Place, bench: Bench, alternative: str
) -> Iterator[Check]:
    source = bench.source(_TWIN)
    yield place.compare("rate", c.rate, row["rate"], source)
    yield place.compare("rate of the reference", c.rate_reference, row["rate_reference"], source)
    if not c.tests:
        return
    yield place.compare("estimate", c.estimate, row["estimate"], source)
    yield place.compare("standard error", c.std_error, row["std_error"], source)
    yield from _interval(c, row, place, source, alternative)
    for test in c.tests:
        if test.method.startswith("exact"):
            continue
        if "bootstrap" in test.method:
            continue
        z, p = _TESTS[test.alternative]
        loose = _MOVER if "MOVER" in test.method else 1e-8
        words = f"{test.alternative}, {test.method}"
        yield place.compare(f"statistic ({words})", test.statistic, row[z], source, relative=loose)
        yield place.compare(f"p-value ({words})", test.pvalue, row[p], source, relative=10 * loose)


def _interval(
    c: Comparison, row: dict[str, float], place: Place, source: str, alternative: str
) -> Iterator[Check]:
    ends = ("low", "high")
    words = {"low": "lower end", "high": "upper end"}
    for name in ends:
        value = getattr(c.interval, name)
        if c.interval.method.startswith("bootstrap"):
            continue
        if alternative == "two-sided":
            wanted, error = row[name], row[f"{name}_error"]
        elif (alternative == "less") == (name == "high"):
            wanted, error = row[f"bound_{name}"], row[f"bound_{name}_error"]
        else:
            continue  # the open end of a one-sided interval
        quantity = f"interval, {words[name]} ({c.interval.method})"
        yield place.compare(quantity, value, wanted, source, error=error)
    for name in ends:
        if c.bounds.method.startswith("bootstrap"):
            continue
        quantity = f"one-sided bound, {words[name]} ({c.bounds.method})"
        value = getattr(c.bounds, name)
        yield place.compare(quantity, value, row[f"bound_{name}"], source, error=row[f"bound_{name}_error"])


def _exact(
    c: Comparison, result: ComparisonResult, place: Place, bench: Bench, parts: list[Rate]
) -> Iterator[Check]:
    counts: Any = result.counts
    tests = [t for t in c.tests if t.method.startswith("exact")]
    if not tests:
        return
    i, j = counts.groups.index(c.group), counts.groups.index(c.reference)
    k, n = (counts.total(*cells) for cells in (parts[0].successes, parts[0].cases))
    threshold = result.settings.threshold
    less = threshold if result.scale == "ratio" else -threshold
    null = {"less": less, "greater": threshold, "two-sided": 1.0 if result.scale == "ratio" else 0.0}
    found = bench.call(
        "exact_unconditional", int(k[i]), int(n[i]), int(k[j]), int(n[j]), result.scale,
        [null[t.alternative] for t in tests], [t.alternative for t in tests],
    )  # fmt: skip
    source = bench.source("exact_unconditional")
    for test, pvalue in zip(tests, np.atleast_1d(found).tolist(), strict=True):
        quantity = f"p-value ({test.alternative}, {test.method})"
        yield place.compare(quantity, test.pvalue, pvalue, source, relative=_EXACT)


def _adjusted(result: ComparisonResult, bench: Bench) -> Iterator[Check]:
    if not bench.adjusted_here:
        return
    s = result.settings
    raw = [c.pvalue for c in result.comparisons]
    method = s.adjust
    if s.reference_rule == "highest":
        n = len(result.counts.groups)
        family = n * (n - 1) / 2 * len({c.metric for c in result.comparisons})
        source = bench.source("stats::p.adjust")
        found = [
            p if math.isnan(p) else float(bench.call("stats::p.adjust", p, "bonferroni", family)) for p in raw
        ]
    else:
        found, source = adjusted_in_r(bench, raw, method)
    for c, adjusted in zip(result.comparisons, found, strict=True):
        place = bench.place(c.metric, c.group, c.reference)
        yield place.compare(ADJUSTED, c.pvalue_adjusted, adjusted, source)
