"""Rates by functions of R that everybody knows: `prop.test`, and `glm` with a logarithmic link."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fairstats.report.crosscheck.bench import Bench, column
from fairstats.report.crosscheck.check import Check, Place

if TYPE_CHECKING:
    from fairstats.methods.rates.definitions import Rate
    from fairstats.methods.rates.result import Comparison, ComparisonResult

__all__ = ["known_functions"]

#: Iteratively reweighted least squares, run until the deviance stands still.
_GLM = 1e-6


def known_functions(result: ComparisonResult, rates: dict[str, list[Rate]], bench: Bench) -> Iterator[Check]:
    """The rates, delta intervals, log intervals and score tests that `prop.test` and `glm` give, too.

    Only for unweighted rows and single rates: they know no others.
    """
    counts: Any = result.counts
    if counts.weighted:
        return
    for c in result.comparisons:
        parts = rates[c.metric]
        if len(parts) > 1 or not c.tests:
            continue
        i, j = counts.groups.index(c.group), counts.groups.index(c.reference)
        k, n = counts.total(*parts[0].successes), counts.total(*parts[0].cases)
        table = (float(k[i]), float(n[i]), float(k[j]), float(n[j]))
        place = bench.place(c.metric, c.group, c.reference)
        yield from _prop_test(c, result, table, place, bench)
        if c.interval.method == "log" and _plain(result):
            yield from _glm(c, result, table, place, bench)


def _plain(result: ComparisonResult) -> bool:
    """Whether intervals are those of single comparisons, two-sided."""
    s = result.settings
    return s.simultaneous is None and s.reference_rule != "highest" and s.alternative == "two-sided"


def _prop_test(
    c: Comparison, result: ComparisonResult, table: tuple[float, ...], place: Place, bench: Bench
) -> Iterator[Check]:
    found = bench.call("known_prop_test", *table, result.settings.confidence_level)
    source = bench.source("stats::prop.test")
    share, other = column(found, "estimate")
    yield place.compare("rate", c.rate, share, source)
    yield place.compare("rate of the reference", c.rate_reference, other, source)
    if result.scale == "difference" and c.interval.method == "delta" and _plain(result):
        low, high = column(found, "interval")
        yield place.compare("interval, lower end (delta)", max(c.interval.low, -1.0), low, source)
        yield place.compare("interval, upper end (delta)", min(c.interval.high, 1.0), high, source)
    equal = next((t for t in c.tests if t.alternative == "two-sided" and t.method in _FACTORS), None)
    if equal is not None and math.isfinite(found["chisq"]):
        total = table[1] + table[3]
        factor = (total - 1) / total if _FACTORS[equal.method] else 1.0
        chisq = float(found["chisq"]) * factor
        yield place.compare(
            f"squared statistic (two-sided, {equal.method})", equal.statistic**2, chisq, source
        )


#: Score method → whether it has the factor N/(N − 1), which `prop.test` has not.
_FACTORS = {"score": True, "mee": False, "koopman": False}


def _glm(
    c: Comparison, result: ComparisonResult, table: tuple[float, ...], place: Place, bench: Bench
) -> Iterator[Check]:
    found = bench.call("known_log_binomial", *table, result.settings.confidence_level)
    source = bench.source("stats::glm")
    if found is None:  # no convergence
        return
    yield place.compare("estimate", c.estimate, found["estimate"], source, relative=_GLM)
    yield place.compare("interval, lower end (log)", c.interval.low, found["low"], source, relative=_GLM)
    yield place.compare("interval, upper end (log)", c.interval.high, found["high"], source, relative=_GLM)
