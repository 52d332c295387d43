"""Averages of counterfactual discrimination: means from rows, intervals and tests from means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.report.crosscheck.bench import Bench
from fairstats.report.crosscheck.check import Check, Place

if TYPE_CHECKING:
    from fairstats.methods.ecd.sample import CounterfactualSample, GroupSample

__all__ = ["checks"]

_MEAN, _NORMAL = "mean_of_people", "crosscheck_mean"


def checks(result: CounterfactualSample, bench: Bench) -> Iterator[Check]:
    """Every number of the averages."""
    for g in result.groups:
        place = bench.place("average causal discrimination", g.group, "")
        yield from _mean(g, place, bench)
        interval, test = g.average.inference(result.confidence_level)
        yield from _normal(
            (g.average.estimate, g.average.std_error), interval, test, result.confidence_level, place, bench
        )
    first = result.groups[0]
    if result.pairing == "all":
        return
    for g in result.groups[1:]:
        value, interval, test = result.difference(g.group, first.group)
        spread = float(np.hypot(g.average.std_error, first.average.std_error))
        place = bench.place("difference of averages", g.group, first.group)
        yield from _normal((value, spread), interval, test, result.confidence_level, place, bench)


def _mean(g: GroupSample, place: Place, bench: Bench) -> Iterator[Check]:
    given = bench.given("score", "counterfactual_score", "sensitive_features")
    member = None if given is None else np.asarray(given[2]).astype(str) == g.group
    if given is None or member is None or int(member.sum()) != g.n:
        yield place.needs_data("estimate", g.average.estimate, "a mean over rows")
        yield place.needs_data("standard error", g.average.std_error, "a mean over rows")
        return
    cd = (np.asarray(given[1], dtype=float) - np.asarray(given[0], dtype=float))[member]
    person: Any = bench.data.get("cluster") if bench.data is not None else None
    found = bench.call(_MEAN, cd, None if person is None else np.asarray(person)[member])
    source = bench.source(_MEAN)
    yield place.compare("estimate", g.average.estimate, found["estimate"], source)
    yield place.compare("standard error", g.average.std_error, found["std_error"], source)


def _normal(
    mean: tuple[float, float], interval: Any, test: Any, level: float, place: Place, bench: Bench
) -> Iterator[Check]:
    found = bench.call(_NORMAL, *mean, level)
    source = bench.source("stats::pnorm")
    yield place.compare("interval, lower end", interval.low, found["low"], source)
    yield place.compare("interval, upper end", interval.high, found["high"], source)
    yield place.compare("statistic (z)", test.statistic, found["statistic"], source)
    yield place.compare("p-value", test.pvalue, found["pvalue"], source)
