"""Worst-case bounds of comparisons as a result: what an audit shows of rows that were left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from fairstats.ground.counts import CellCounts
from fairstats.ground.registry import METRICS
from fairstats.ground.results import Interval, Result
from fairstats.ground.serialise import serialisable
from fairstats.methods.rates.bounds import bounded_rate, worst_case_rows
from fairstats.methods.rates.result import ComparisonResult
from fairstats.methods.rates.setup import POOLED


@serialisable()
class WorstCase:
    """Range of one estimate (on the complete rows) whatever the `n` rows left out hold.

    `confidence_interval`: of the true value, which lies somewhere in the population's range.
    """

    metric: str
    group: str
    reference: str
    estimate: float
    low: float
    high: float
    confidence_interval: Interval
    n: int


@serialisable()
class WorstCaseResult(Result):
    """Worst-case bounds with intervals around them, one row per estimate.

    Attributes
    ----------
    metric : str
    bounds : tuple of WorstCase
    counts : CellCounts
        The sufficient statistics: complete rows, and what is known of those left out.
    """

    metric: str
    bounds: tuple[WorstCase, ...]
    counts: CellCounts

    title: ClassVar[str] = "Worst-case bounds for the missing values"
    lacks: ClassVar[Mapping[str, str]] = {
        "std_error": "the ends of a range have one each: see confidence_interval",
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
        result: list[str] = []
        for b in self.bounds:
            result.append(
                f"{METRICS[b.metric].label}, {b.group} against {b.reference}:"
                f" {b.estimate:.3f} on the complete rows, between {b.low:.3f} and {b.high:.3f} whatever"
                f" the {b.n:,} rows left out hold ({b.confidence_interval.words()})."
            )
        return result

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table."""
        result: list[dict[str, Any]] = []
        for b in self.bounds:
            result.append(
                {
                    "metric": f"worst_case_{b.metric}",
                    "group": b.group,
                    "reference": b.reference,
                    "estimate": b.estimate,
                    "ci_low": b.confidence_interval.low,
                    "ci_high": b.confidence_interval.high,
                    "n": b.n,
                    "method": "worst case",
                    "backend": "numpy",
                    "bound_low": b.low,
                    "bound_high": b.high,
                }
            )
        return result

    def notes(self) -> list[str]:
        """Sentences below the table."""
        return [
            "Bounds: the estimate if every missing value were what makes it smallest, or largest."
            " The interval around them adds the sampling error: it holds the true value, which lies"
            " somewhere between the bounds of the population (Imbens and Manski 2004, Stoye 2009)."
        ]


def bound_comparisons(results: Sequence[Result]) -> list[WorstCaseResult]:
    """Bounds of all comparisons of rates whose counts know what was left out.

    An empty list for none.
    """
    bounds: list[WorstCase] = []
    for result in results:
        if not isinstance(result, ComparisonResult) or not isinstance(result.counts, CellCounts):
            continue
        if result.settings.comparisons in POOLED:
            continue  # which rows are missing is known by group
        counts = result.counts
        level = result.settings.confidence_level
        bounded = all(bounded_rate(comparison.metric) for comparison in result.comparisons)
        if not counts.missing.patterns or not bounded:
            continue
        for row in worst_case_rows(counts, result.comparisons, result.scale, level):
            bounds.append(
                WorstCase(
                    metric=row["metric"],
                    group=row["group"],
                    reference=row["reference"],
                    estimate=row["estimate"],
                    low=row["low"],
                    high=row["high"],
                    confidence_interval=Interval(
                        low=row["ci_low"],
                        high=row["ci_high"],
                        confidence_level=level,
                        method="Imbens–Manski, Stoye",
                    ),
                    n=row["n_missing"],
                )
            )
    if not bounds:
        return []
    return [WorstCaseResult(metric="worst_case", bounds=tuple(bounds), counts=counts)]
