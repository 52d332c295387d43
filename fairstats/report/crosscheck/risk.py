"""Discriminative risk: shares of changed predictions with their score intervals, by `prop.test`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fairstats.report.crosscheck.bench import Bench
from fairstats.report.crosscheck.check import Check

if TYPE_CHECKING:
    from fairstats.methods.hfm.risk_result import DiscriminativeRiskResult

__all__ = ["checks"]

_CLUSTERED = "clustered by person: needs every answer of the model"


def checks(result: DiscriminativeRiskResult, bench: Bench) -> Iterator[Check]:
    """Every share, and its interval where a person counts once."""
    source = bench.source("stats::prop.test")
    for e in result.entries:
        place = bench.place("discriminative_risk", e.group, "" if e.attribute == "" else e.attribute)
        found = bench.call("known_wilson", e.n_changed, e.n_draws, e.interval.confidence_level)
        if e.n == e.n_draws:
            yield place.compare("estimate", e.estimate, found["estimate"], source)
            yield place.compare("interval, lower end (Wilson)", e.interval.low, found["low"], source)
            yield place.compare("interval, upper end (Wilson)", e.interval.high, found["high"], source)
            continue
        if e.n_draws % e.n == 0 and result.draws == "all":
            yield place.compare("estimate", e.estimate, found["estimate"], source)
        yield place.left_out("interval, lower end", e.interval.low, _CLUSTERED)
        yield place.left_out("interval, upper end", e.interval.high, _CLUSTERED)
