"""Comparisons of smooth functions of the counts (F1, MCC, …): the delta method with symbolic derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.report.crosscheck.bench import Bench
from fairstats.report.crosscheck.check import Check

if TYPE_CHECKING:
    from fairstats.methods.rates.result import ComparisonResult

__all__ = ["smooth_checks"]

_TWIN = "crosscheck_smooth"
_ENDINGS = ("_difference", "_ratio")
_FUNCTIONS = (
    "f1", "balanced_accuracy", "mcc", "treatment_equality", "selection_rate", "base_rate", "accuracy", "tpr",
    "fnr", "tnr", "fpr", "ppv", "npv",
)  # fmt: skip
#: Python differentiates numerically, with central differences.
_NUMERICAL = 1e-6


def smooth_checks(result: ComparisonResult, bench: Bench) -> Iterator[Check]:
    """Every number of the comparisons of one function of the counts."""
    counts: Any = result.counts
    for c in result.comparisons:
        place = bench.place(c.metric, c.group, c.reference)
        name = c.metric
        for ending in _ENDINGS:
            name = name.removesuffix(ending)
        if name not in _FUNCTIONS or result.settings.simultaneous:
            why = "a function of the user's" if name not in _FUNCTIONS else "simultaneous intervals of it"
            yield place.left_out("estimate", c.estimate, f"{why}: R has no twin")
            continue
        i, j = counts.groups.index(c.group), counts.groups.index(c.reference)
        s = result.settings
        found = bench.call(
            _TWIN, np.asarray(counts.totals), np.asarray(counts.covariance()), i + 1, j + 1, name,
            result.scale, s.confidence_level, s.threshold, counts.degrees_of_freedom,
        )  # fmt: skip
        source = bench.source(_TWIN)
        yield place.compare("value", c.rate, found["value"], source)
        yield place.compare("value of the reference", c.rate_reference, found["value_reference"], source)
        if not c.tests:
            continue
        yield place.compare("estimate", c.estimate, found["estimate"], source)
        loose: dict[str, Any] = {"relative": _NUMERICAL}
        yield place.compare("standard error", c.std_error, found["std_error"], source, **loose)
        if s.alternative == "two-sided":
            for end, words in (("low", "lower end"), ("high", "upper end")):
                quantity = f"interval, {words} ({c.interval.method})"
                yield place.compare(quantity, getattr(c.interval, end), found[end], source, **loose)
        for test in c.tests:
            key = {"less": "p_less", "greater": "p_greater", "two-sided": "p_equal"}.get(test.alternative)
            if key:
                quantity = f"p-value ({test.alternative}, {test.method})"
                yield place.compare(quantity, test.pvalue, found[key], source, relative=100 * _NUMERICAL)
