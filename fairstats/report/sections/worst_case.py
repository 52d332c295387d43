"""Worst-case bounds of every estimate when rows were left out for missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fairstats.ground.counts import CellCounts
from fairstats.ground.results import Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.rates.bounds import worst_case_range
from fairstats.methods.rates.definitions import RATES
from fairstats.methods.rates.differencing import DIFFERENCE_METRICS
from fairstats.methods.rates.ratios import RATIO_METRICS
from fairstats.methods.rates.result import ComparisonResult

__all__ = ["WorstCase", "WorstCaseResult", "worst_case"]

_RATE_OF = {
    **{metric: rate for metric, (rate, _) in RATIO_METRICS.items()},
    **{metric: rates[0] for metric, (rates, _) in DIFFERENCE_METRICS.items() if len(rates) == 1},
    "disparate_impact_labels": "base_rate",
    "demographic_parity_difference_labels": "base_rate",
    "tpr_difference": "tpr",
    "fpr_difference": "fpr",
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
    """Bounds of all single-rate comparisons whose counts know what was left out; an empty list for none."""
    found = []
    for result in results:
        if not isinstance(result, ComparisonResult) or not isinstance(result.counts, CellCounts):
            continue
        if not result.counts.missing.patterns:
            continue
        groups = result.counts.groups
        for c in result.comparisons:
            key = _RATE_OF.get(c.metric)
            if key is None or key not in RATES:
                continue
            contrast: Any = result.scale
            low, high = worst_case_range(
                result.counts, RATES[key], groups.index(c.group), groups.index(c.reference), contrast
            )
            n = result.counts.missing.n_dropped
            found.append(WorstCase(c.metric, c.group, c.reference, c.estimate, low, high, n))
    return [WorstCaseResult("worst_case", tuple(found))] if found else []
