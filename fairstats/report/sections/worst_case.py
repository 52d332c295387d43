"""Worst-case bounds of every estimate when rows were left out for missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fairstats.ground.counts import CellCounts
from fairstats.ground.results import Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.rates.bounds import RATE_OF_METRIC, worst_case_range
from fairstats.methods.rates.definitions import RATES
from fairstats.methods.rates.result import ComparisonResult

__all__ = ["WorstCase", "WorstCaseResult", "worst_case"]

#: Rates behind each metric; of two (average odds) the range is the mean of theirs.
_RATES_OF: dict[str, tuple[str, ...]] = {
    **RATE_OF_METRIC,
    **{f"{key}_difference": (key,) for key in RATES},
    "disparate_impact_labels": ("base_rate",),
    "demographic_parity_difference_labels": ("base_rate",),
}


@serialisable
@dataclass(frozen=True)
class WorstCase:
    """Range of one estimate over all values that the missing entries could have.

    Attributes
    ----------
    metric, group, reference : str
    estimate, low, high : float
        On the complete rows, and its extremes.
    n : int
        Rows left out in all.
    """

    metric: str
    group: str
    reference: str
    estimate: float
    low: float
    high: float
    n: int


@serialisable
@dataclass(frozen=True)
class WorstCaseResult(Result):
    """Worst-case bounds, one row per estimate; they are no confidence intervals.

    Attributes
    ----------
    metric : str
    bounds : tuple of WorstCase
    """

    metric: str
    bounds: tuple[WorstCase, ...]

    title: ClassVar[str] = "Worst-case bounds for the missing values"

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table."""
        return [
            {
                "metric": f"worst_case_{b.metric}",
                "group": b.group,
                "reference": b.reference,
                "estimate": b.estimate,
                "n": b.n,
                "method": "worst case",
                "backend": "numpy",
                "bound_low": b.low,
                "bound_high": b.high,
            }
            for b in self.bounds
        ]

    def notes(self) -> list[str]:
        """Sentences below the table."""
        return [
            "Bounds: the estimate if every missing value were what makes it smallest, or largest. They are "
            "no confidence intervals: sampling error comes on top."
        ]


def worst_case(results: Sequence[Result]) -> list[Result]:
    """Bounds of all comparisons of rates whose counts know what was left out; an empty list for none."""
    found = []
    for result in results:
        if not isinstance(result, ComparisonResult) or not isinstance(result.counts, CellCounts):
            continue
        if not result.counts.missing.patterns:
            continue
        groups = result.counts.groups
        contrast: Any = result.scale
        for c in result.comparisons:
            i, j = groups.index(c.group), groups.index(c.reference)
            ranges = [
                worst_case_range(result.counts, RATES[key], i, j, contrast)
                for key in _RATES_OF.get(c.metric, ())
            ]
            if ranges:
                low, high = (sum(ends) / len(ranges) for ends in zip(*ranges, strict=True))
                n = result.counts.missing.n_dropped
                found.append(WorstCase(c.metric, c.group, c.reference, c.estimate, low, high, n))
    return [WorstCaseResult("worst_case", tuple(found))] if found else []
