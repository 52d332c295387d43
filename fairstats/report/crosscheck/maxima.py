"""The largest gap between any two groups: every difference under it, critical value, interval and test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fairstats.ground.counts import SelectionCounts
from fairstats.report.crosscheck.adjusted import ADJUSTED
from fairstats.report.crosscheck.bench import Bench, column
from fairstats.report.crosscheck.check import Check
from fairstats.report.crosscheck.rates import design, parts_of, positions, table_arguments

if TYPE_CHECKING:
    from fairstats.methods.rates.maxima import MaximumResult

__all__ = ["checks"]

_TWIN = "crosscheck_largest"
#: Metric → rates that the maximum runs over.
_RATES = {
    "demographic_parity_max": ("selection_rate",),
    "equal_opportunity_max": ("tpr",),
    "predictive_parity_max": ("ppv",),
    "average_odds_max": ("average_odds_difference",),
    "equalized_odds_max": ("tpr", "fpr"),
}


def checks(result: MaximumResult, bench: Bench) -> Iterator[Check]:
    """Every number of a largest gap."""
    place = bench.place(result.metric)
    names = _RATES.get(result.metric)
    counts: Any = result.counts
    if names is None or not result.components:
        why = "R has no twin of it" if names is None else "no difference is known"
        yield place.left_out("estimate", result.estimate, why)
        return
    keys = [parts_of(counts, name) for name in names]
    found = bench.call(
        _TWIN, *table_arguments(counts), [positions(counts, parts) for parts in keys],
        result.settings.confidence_level, result.critical_value, counts.clustered, **design(counts),
    )  # fmt: skip
    source = bench.source(_TWIN)
    yield place.compare("estimate", result.estimate, found["estimate"], source)
    yield place.compare("statistic", result.statistic, found["statistic"], source, relative=1e-7)
    yield place.compare(
        "critical value", result.critical_value, found["critical"], source, error=found["critical_error"]
    )
    for quantity, mine, key in (
        ("interval", result.confidence_interval, "interval"),
        ("one-sided bound", result.bounds, "bounds"),
    ):
        low, high, low_error, high_error = column(found, key)
        yield place.compare(f"{quantity}, lower end", mine.low, low, source, error=low_error)
        yield place.compare(f"{quantity}, upper end", mine.high, high, source, error=high_error)
    yield place.compare(
        "p-value (simultaneous)", result.pvalue, found["pvalue"], source, error=found["pvalue_error"]
    )
    if bench.adjusted_here:
        yield place.compare(
            ADJUSTED, result.pvalue_adjusted, found["pvalue"], source, error=found["pvalue_error"]
        )
    yield from _components(result, found, names, bench)


def _components(
    result: MaximumResult, found: dict[str, Any], names: tuple[str, ...], bench: Bench
) -> Iterator[Check]:
    """Every difference under the maximum, at the critical value of the report."""
    groups = result.counts.groups
    rates = ["average_odds" if name == "average_odds_difference" else name for name in names]
    if isinstance(result.counts, SelectionCounts):
        rates = ["selection_rate"]
    twin = {
        name: column(found, name)
        for name in ("metric", "first", "second", "difference", "std_error", "low", "high")
    }
    rows = {
        (rates[int(m) - 1], groups[int(i) - 1], groups[int(j) - 1]): k
        for k, (m, i, j) in enumerate(zip(twin["metric"], twin["first"], twin["second"], strict=True))
    }
    source = bench.source(_TWIN)
    for c in result.components:
        place = bench.place(result.metric, c.group, c.reference)
        k = rows[c.rate, c.group, c.reference]
        yield place.compare(f"difference ({c.rate})", c.estimate, twin["difference"][k], source)
        yield place.compare(f"standard error ({c.rate})", c.std_error, twin["std_error"][k], source)
        yield place.compare(f"band, lower end ({c.rate})", c.low, twin["low"][k], source, relative=1e-7)
        yield place.compare(f"band, upper end ({c.rate})", c.high, twin["high"][k], source, relative=1e-7)
