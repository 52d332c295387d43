"""Subgroups against the rest: evidence, flags and simultaneous limits once more in R."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairstats.ground.checks import Floats
from fairstats.ground.counts import ConfusionCounts
from fairstats.ground.registry import RATES
from fairstats.methods.rates.estimates import rate_in
from fairstats.methods.rates.subgroups import SubgroupResult
from fairstats.report.crosscheck.check import Bench, Check, Line, ends, rows_of

_TWIN = "crosscheck_subgroups"
_CRITICAL = "crosscheck_subgroup_critical"
_LINES = (
    Line("rate", "rate"),
    Line("rate of the reference", "rate_reference"),
    Line("estimate", "estimate"),
    Line("standard error", "std_error"),
    Line("statistic", "statistic"),
    *ends("interval", "confidence_interval"),
    Line("p-value", "pvalue"),
    Line("p-value, adjusted", "pvalue_adjusted"),
)
#: Cells × subgroups of which R makes the covariance.
_MOST_ENTRIES = 500_000
#: What rests on the draws that the critical value rests on, and on moments.
_LEFT_OUT = {
    "pvalue_search": "of the draws of the critical value, which R draws once more",
    "shrunken_rate": "a posterior mean beside the estimate",
}


def subgroups(result: SubgroupResult, bench: Bench) -> Iterator[Check]:
    """Every number of every subgroup, and the critical value of the limits."""
    rows = result.comparisons
    total_cases = rows[0].n + rows[0].n_reference
    successes = [round(comparison.rate * comparison.n) for comparison in rows]
    rest = round(rows[0].rate_reference * rows[0].n_reference)
    answer = bench.call(
        _TWIN,
        [float(value) for value in successes],
        [float(comparison.n) for comparison in rows],
        float(successes[0] + rest),
        float(total_cases),
        result.settings.adjust,
        result.critical,
    )
    for comparison, row in zip(rows, rows_of(answer), strict=True):
        place = bench.place_of(comparison)
        yield from place.compare_all(_LINES, comparison, row, _TWIN)
        for name, reason in _LEFT_OUT.items():
            yield place.left_out(name.replace("_", " "), getattr(comparison, name), reason)
    yield _compare_critical(result, bench)


def _compare_critical(result: SubgroupResult, bench: Bench) -> Check:
    """The quantile of the largest |z|, from the covariance of all contrasts."""
    place = bench.place(result.metric)
    cases = _cases_of_cells(result)
    if cases.size * len(result.comparisons) > _MOST_ENTRIES:
        return place.left_out("critical value", result.critical, "a covariance of too many")
    level = result.settings.confidence_level
    answer = bench.call(_CRITICAL, cases, _membership(result), level)
    # the density of the largest |z| near its quantile is about (1 − level)·c: one draw of the
    # quantile has this standard error here, and R's own there
    n_draws = result.settings.n_resamples
    error = float(np.sqrt(level / (1 - level) / n_draws)) / result.critical
    return place.compare(
        "critical value",
        result.critical,
        float(answer["value"]),
        _CRITICAL,
        error=error + float(answer["error"]),
    )


def _cases_of_cells(result: SubgroupResult) -> Floats:
    counts = result.counts
    if isinstance(counts.cells, ConfusionCounts):
        cells = counts.confusion()
    else:
        cells = counts.selection()  # type: ignore[assignment]
    rate = rate_in(cells, RATES[result.rate_name])
    return np.asarray(cells.total(*rate.cases), dtype=np.float64)


def _membership(result: SubgroupResult) -> Floats:
    """1 where a cell lies in a subgroup, shape (cells, subgroups)."""
    counts = result.counts
    columns = {}
    for position, name in enumerate(counts.attributes):
        columns[name] = np.array([level[position] for level in counts.levels], dtype=str)
    inside = np.ones((len(counts.levels), len(result.comparisons)))
    for position, comparison in enumerate(result.comparisons):
        for attribute, value in zip(comparison.attributes, comparison.values, strict=True):
            inside[:, position] *= columns[attribute] == value
    return inside
