"""Subgroups against the rest: evidence, flags and simultaneous limits once more in R."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairstats.ground.checks import Floats
from fairstats.ground.counts import ConfusionCounts
from fairstats.ground.registry import RATES
from fairstats.methods.rates.crossing import name_of
from fairstats.methods.rates.estimates import rate_in
from fairstats.methods.rates.subgroups import SubgroupComparison, SubgroupResult
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
_SHRINKAGE = "crosscheck_shrunken_rates"
_SHRUNKEN = (Line("shrunken rate", "shrunken_rate"),)
#: What rests on the draws that the critical value rests on.
_LEFT_OUT = {"pvalue_search": "of the draws of the critical value, which R draws once more"}


def subgroups(result: SubgroupResult, bench: Bench) -> Iterator[Check]:
    """Every number of every subgroup, and the critical value of the limits."""
    rows = result.comparisons
    total_cases = rows[0].n + rows[0].n_reference
    successes = [round(comparison.rate * comparison.n) for comparison in rows]
    reference_cases = round(rows[0].rate_reference * rows[0].n_reference)
    answer = bench.call(
        _TWIN,
        [float(value) for value in successes],
        [float(comparison.n) for comparison in rows],
        float(successes[0] + reference_cases),
        float(total_cases),
        result.settings.adjust,
        result.critical,
    )
    shrunken = _shrunken_by_r(result, bench)
    # R sums over a rectangle of its own where mean and concentration are integrated
    relative = 1e-4 if result.settings.shrinkage == "um_hierarchical" else 0.0
    for comparison, row in zip(rows, rows_of(answer), strict=True):
        place = bench.place_of(comparison)
        yield from place.compare_all(_LINES, comparison, row, _TWIN)
        by_r = {"shrunken_rate": shrunken[comparison.group]}
        yield from place.compare_all(_SHRUNKEN, comparison, by_r, _SHRINKAGE, relative=relative)
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


def _shrunken_by_r(result: SubgroupResult, bench: Bench) -> dict[str, float]:
    """Name of a subgroup → its rate, drawn to those of the others that fix the same attributes.

    A partition has all of its subgroups, also those that are too small to be compared.
    """
    successes, cases = _cells(result)
    shrunken: dict[str, float] = {}
    for attributes in dict.fromkeys(_partition_of(result, one) for one in result.comparisons):
        places = [result.counts.attributes.index(name) for name in attributes]
        sums: dict[str, list[float]] = {}
        for level, k, n in zip(result.counts.levels, successes, cases, strict=True):
            values = [level[place] for place in places]
            name = values[0] if result.settings.search == "tree" else name_of(attributes, values)
            of_name = sums.setdefault(name, [0.0, 0.0])
            of_name[0] += k
            of_name[1] += n
        answer = bench.call(
            _SHRINKAGE,
            [k for k, _ in sums.values()],
            [n for _, n in sums.values()],
            result.settings.shrinkage,
        )
        shrunken.update(zip(sums, np.atleast_1d(answer).tolist(), strict=True))
    return shrunken


def _partition_of(result: SubgroupResult, comparison: SubgroupComparison) -> tuple[str, ...]:
    """The attributes of the table whose values part its rows as this subgroup and its like do."""
    if result.settings.search == "tree":
        return result.counts.attributes
    return comparison.attributes


def _cells(result: SubgroupResult) -> tuple[list[float], list[float]]:
    """Successes and cases of every cell."""
    counts = result.counts
    if isinstance(counts.cells, ConfusionCounts):
        cells = counts.confusion()
    else:
        cells = counts.selection()  # type: ignore[assignment]
    rate = rate_in(cells, RATES[result.rate_name])
    return cells.total(*rate.successes).tolist(), cells.total(*rate.cases).tolist()


def _cases_of_cells(result: SubgroupResult) -> Floats:
    return np.asarray(_cells(result)[1], dtype=np.float64)


def _membership(result: SubgroupResult) -> Floats:
    """1 where a cell lies in a subgroup, shape (cells, subgroups)."""
    counts = result.counts
    columns = {}
    for position, name in enumerate(counts.attributes):
        columns[name] = np.array([level[position] for level in counts.levels], dtype=str)
    inside = np.ones((len(counts.levels), len(result.comparisons)))
    for position, comparison in enumerate(result.comparisons):
        if result.settings.search == "tree":
            inside[:, position] = columns[counts.attributes[0]] == comparison.group
            continue
        for attribute, value in zip(comparison.attributes, comparison.values, strict=True):
            inside[:, position] *= columns[attribute] == value
    return inside
