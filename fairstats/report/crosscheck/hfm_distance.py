"""One distance between two sets of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fairstats.report.crosscheck.bench import Bench
from fairstats.report.crosscheck.check import Check

if TYPE_CHECKING:
    from fairstats.methods.hfm.set_distance import SetDistance

__all__ = ["checks"]


def checks(result: SetDistance, bench: Bench) -> Iterator[Check]:
    """The distance in both directions, by all pairs; the data are the sets `a` and `b`."""
    place = bench.place(f"set distance ({result.statistic})", "a", "b")
    given = bench.given("a", "b")
    if given is None or not result.exact:
        if result.exact:
            yield place.needs_data("estimate", result.value, "a distance between sets of rows")
        else:
            yield place.left_out("estimate", result.value, "ApproxDist rests on Python's random projections")
        return
    a, b = (np.asarray(rows, dtype=np.float64) for rows in given)
    found = bench.call("set_distance", a, b, result.statistic)
    source = bench.source("set_distance")
    yield place.compare("estimate", result.value, found["value"], source)
    yield place.compare("from a to b", result.a_to_b.value, found["a_to_b"], source)
    yield place.compare("from b to a", result.b_to_a.value, found["b_to_a"], source)
