"""The Mantel–Haenszel ratio over strata with its tests, also by R's `mantelhaen.test`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.report.crosscheck.adjusted import ADJUSTED, adjusted_in_r
from fairstats.report.crosscheck.bench import Bench
from fairstats.report.crosscheck.check import Check

if TYPE_CHECKING:
    from fairstats.methods.rates.stratified import StratifiedRatioResult

__all__ = ["checks"]

_TWIN = "crosscheck_stratified"
#: Beginning of a test's name → statistic and p-value of the twin, and the function that gives them.
_TESTS = {
    "Cochran–Mantel–Haenszel": ("cmh", "cmh_p", "stats::mantelhaen.test"),
    "Cochran's Q": ("q", "q_p", _TWIN),
    "Breslow–Day": ("tarone", "tarone_p", _TWIN),
}


def checks(result: StratifiedRatioResult, bench: Bench) -> Iterator[Check]:
    """Every number of a ratio over strata."""
    groups = result.counts.groups
    cells = np.asarray(result.stratum_counts, dtype=np.float64)
    for k, c in enumerate(result.comparisons):
        place = bench.place(c.metric, c.group, c.reference)
        i, j = groups.index(c.group), groups.index(c.reference)
        found = bench.call(
            _TWIN, cells[:, [i, j], :], result.settings.confidence_level, result.settings.threshold
        )
        source = bench.source(_TWIN)
        yield place.compare("rate", c.rate, found["rate"], source)
        yield place.compare("rate of the reference", c.rate_reference, found["rate_reference"], source)
        yield place.compare("ratio without strata", result.crude[k], found["crude"], source)
        if math.isnan(c.estimate):
            continue
        yield place.compare("estimate", c.estimate, found["estimate"], source)
        yield place.compare("standard error", c.std_error, found["std_error"], source)
        if result.settings.alternative == "two-sided":
            yield place.compare("interval, lower end", c.interval.low, found["low"], source)
            yield place.compare("interval, upper end", c.interval.high, found["high"], source)
        yield place.compare("one-sided bound, lower end", c.bounds.low, found["bound_low"], source)
        yield place.compare("one-sided bound, upper end", c.bounds.high, found["bound_high"], source)
        for test in c.tests:
            yield from _test(test, found, place, bench)
    adjusted, of = adjusted_in_r(bench, [c.pvalue for c in result.comparisons], result.settings.adjust)
    if bench.adjusted_here:
        for c, p in zip(result.comparisons, adjusted, strict=True):
            yield bench.place(c.metric, c.group, c.reference).compare(ADJUSTED, c.pvalue_adjusted, p, of)


def _test(test: Any, found: dict[str, float], place: Any, bench: Bench) -> Iterator[Check]:
    plain = {"less": ("z", "p_less"), "greater": ("z", "p_greater"), "two-sided": ("z_equal", "p_equal")}
    if test.alternative in plain:
        statistic, pvalue = plain[test.alternative]
        function = _TWIN
    else:
        name = next(name for name in _TESTS if test.method.startswith(name))
        statistic, pvalue, function = _TESTS[name]
    source = bench.source(function)
    words = f"{test.alternative}, {test.method}"
    yield place.compare(f"statistic ({words})", test.statistic, found[statistic], source)
    yield place.compare(f"p-value ({words})", test.pvalue, found[pvalue], source, relative=1e-7)
