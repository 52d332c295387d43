"""Two models on the same people: the metric of either, its change, and the paired interval."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fairstats.methods.rates.definitions import RATES
from fairstats.report.crosscheck.adjusted import ADJUSTED, adjusted_in_r
from fairstats.report.crosscheck.bench import Bench
from fairstats.report.crosscheck.check import Check

if TYPE_CHECKING:
    from fairstats.methods.rates.paired_result import PairedResult

__all__ = ["checks"]

_TWIN = "crosscheck_paired"
#: Metric → the rate that it compares between groups.
_RATES = {
    "disparate_impact": "selection_rate",
    "conditional_accuracy_1": "tpr",
    "conditional_accuracy_0": "tnr",
    "conditional_use_accuracy_1": "ppv",
    "conditional_use_accuracy_0": "npv",
    "demographic_parity_difference": "selection_rate",
    "equal_opportunity_difference": "tpr",
    "predictive_parity_difference": "ppv",
}


def checks(result: PairedResult, bench: Bench) -> Iterator[Check]:
    """Every number of a paired comparison."""
    counts = result.counts
    rate = RATES[_RATES[result.metric]]
    for c in result.changes:
        place = bench.place(f"{result.metric}_change", c.group, c.reference)
        if math.isnan(c.estimate):
            yield place.left_out("estimate", c.estimate, c.note)
            continue
        found = bench.call(
            _TWIN, np.asarray(counts.totals), np.asarray(counts.covariance()),
            counts.groups.index(c.group) + 1, counts.groups.index(c.reference) + 1, list(counts.cells),
            list(rate.successes), list(rate.cases), result.contrast, result.confidence_level,
            counts.degrees_of_freedom,
        )  # fmt: skip
        source = bench.source(_TWIN)
        yield place.compare("before", c.before, found["before"], source)
        yield place.compare("after", c.after, found["after"], source)
        yield place.compare("estimate", c.estimate, found["estimate"], source)
        yield place.compare("standard error", c.std_error, found["std_error"], source)
        yield place.compare("interval, lower end", c.interval.low, found["low"], source)
        yield place.compare("interval, upper end", c.interval.high, found["high"], source)
        yield place.compare("statistic", c.statistic, found["statistic"], source)
        yield place.compare("p-value", c.pvalue, found["pvalue"], source)
        yield place.compare(
            "change of the distance from parity", c.distance_change, found["distance"], source
        )
        yield place.compare("its interval, lower end", c.distance_interval.low, found["distance_low"], source)
        yield place.compare(
            "its interval, upper end", c.distance_interval.high, found["distance_high"], source
        )
    adjusted, of = adjusted_in_r(bench, [c.pvalue for c in result.changes], result.adjust)
    for c, p in zip(result.changes, adjusted, strict=True):
        place = bench.place(f"{result.metric}_change", c.group, c.reference)
        yield place.compare(ADJUSTED, c.pvalue_adjusted, p, of)
