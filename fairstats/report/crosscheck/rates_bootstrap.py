"""BCa intervals of two rates and their tests, within their Monte Carlo error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fairstats.report.crosscheck.bench import Bench, column
from fairstats.report.crosscheck.check import Check, Place

if TYPE_CHECKING:
    from fairstats.methods.rates.definitions import Rate
    from fairstats.methods.rates.result import Comparison, ComparisonResult

__all__ = ["bootstrap_checks"]

_TWIN = "crosscheck_bca"


def bootstrap_checks(
    c: Comparison, result: ComparisonResult, parts: list[Rate], place: Place, bench: Bench
) -> Iterator[Check]:
    """Interval, bounds and statistics of a comparison by bootstrap; nothing for any other."""
    s = result.settings
    if not c.interval.method.startswith("bootstrap"):
        return
    if s.simultaneous is not None or s.reference_rule == "highest" or s.alternative != "two-sided":
        yield place.left_out("interval, lower end", c.interval.low, "simultaneous or one-sided, by bootstrap")
        return
    counts: Any = result.counts
    k, n = (counts.total(*cells) for cells in (parts[0].successes, parts[0].cases))
    i, j = counts.groups.index(c.group), counts.groups.index(c.reference)
    tests = [t for t in c.tests if t.method == c.interval.method and t.alternative in _nulls(result)]
    nulls = [_nulls(result)[t.alternative] for t in tests]
    found = bench.call(
        _TWIN, float(k[i]), float(n[i]), float(k[j]), float(n[j]), result.scale,
        [s.confidence_level, 2 * s.confidence_level - 1], nulls or [1.0], int(s.n_resamples),
    )  # fmt: skip
    value, error = column(found, "value"), column(found, "error")
    source = bench.source(_TWIN)
    compared = [("interval", c.interval, 0)]
    if c.bounds.method.startswith("bootstrap"):
        compared.append(("one-sided bound", c.bounds, 2))
    for quantity, mine, at in compared:
        for shift, (end, words) in enumerate((("low", "lower end"), ("high", "upper end"))):
            name = f"{quantity}, {words} ({mine.method})"
            mean, spread = value[at + shift], error[at + shift]
            yield place.compare(name, getattr(mine, end), mean, source, error=spread)
    for at, test in enumerate(tests, start=4):
        words = f"statistic ({test.alternative}, {test.method})"
        yield place.compare(words, test.statistic, value[at], source, error=error[at])


def _nulls(result: ComparisonResult) -> dict[str, float]:
    """Alternative → null value."""
    threshold = result.settings.threshold
    ratio = result.scale == "ratio"
    return {"less": threshold if ratio else -threshold, "greater": threshold, "two-sided": float(ratio)}
