"""Worst-case bounds of every estimate when rows were left out for missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fairstats.ground.counts import CellCounts
from fairstats.ground.results import Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.rates.bounds import bounded_rate, worst_case_rows
from fairstats.methods.rates.result import ComparisonResult


@serialisable
@dataclass(frozen=True)
class WorstCase:
    """Range of one estimate (on the complete rows) whatever the `n` rows left out hold."""

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
    lacks: ClassVar[Mapping[str, str]] = {
        "confidence_interval": "worst-case bounds are none; each comparison has low and high",
        "std_error": "worst-case bounds hold no sampling error",
        "statistic": "nothing is tested",
        "pvalue": "nothing is tested",
        "verdict": "the comparisons of the rates themselves are judged",
        "plot": "its table is in to_frame()",
    }

    @property
    def comparisons(self) -> tuple[WorstCase, ...]:
        """One per estimate."""
        return self.bounds

    def sentences(self) -> list[str]:
        """One sentence per estimate."""
        return [
            f"{b.metric}, {b.group} against {b.reference}: {b.estimate:.3f} on the complete rows, between "
            f"{b.low:.3f} and {b.high:.3f} whatever the {b.n:,} rows left out hold."
            for b in self.bounds
        ]

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
        if result.counts.missing.patterns and all(bounded_rate(c.metric) for c in result.comparisons):
            found += [
                WorstCase(*row.values())
                for row in worst_case_rows(result.counts, result.comparisons, result.scale)
            ]
    return [WorstCaseResult("worst_case", tuple(found))] if found else []
