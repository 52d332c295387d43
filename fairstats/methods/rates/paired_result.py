"""Result of a paired comparison of two models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairstats.ground.counts import PairedCounts
from fairstats.ground.results import Interval, Result
from fairstats.ground.serialise import serialisable

__all__ = ["PairedChange", "PairedResult"]


@serialisable
@dataclass(frozen=True)
class PairedChange:
    """Change of one comparison from model A to model B.

    Attributes
    ----------
    group, reference : str
    before, after : float
        The metric of model A and of model B.
    estimate, std_error : float
        after − before for a difference, after / before for a ratio.
    interval : Interval
    statistic, pvalue, pvalue_adjusted : float
        Of H0: no change.
    distance_change : float
        |after| − |before|, or |log after| − |log before| for a ratio: negative is closer to parity.
    distance_interval : Interval
        Its interval; not regular where a model is at parity.
    verdict : {"closer to parity", "further from parity", "undecided", "insufficient evidence"}
    n : int
        Rows of the group and the reference together.
    note : str
    """

    group: str
    reference: str
    before: float
    after: float
    estimate: float
    std_error: float
    interval: Interval
    statistic: float
    pvalue: float
    pvalue_adjusted: float
    distance_change: float
    distance_interval: Interval
    verdict: str
    n: int
    note: str = ""


@serialisable
@dataclass(frozen=True, eq=False)
class PairedResult(Result):
    """Paired comparison of two models on the same rows."""

    metric: str
    contrast: str
    changes: tuple[PairedChange, ...]
    confidence_level: float
    adjust: str
    counts: PairedCounts
    backend: str = "numpy"

    title: ClassVar[str] = "Two models on the same people"

    @property
    def estimate(self) -> Any:
        """Change: a float for one comparison, else an array."""
        values = [c.estimate for c in self.changes]
        return values[0] if len(values) == 1 else np.array(values)

    @property
    def pvalue(self) -> Any:
        """p-value of no change: a float for one comparison, else an array."""
        values = [c.pvalue for c in self.changes]
        return values[0] if len(values) == 1 else np.array(values)

    @property
    def confidence_interval(self) -> Any:
        """Interval of the change, or a tuple of them."""
        values = tuple(c.interval for c in self.changes)
        return values[0] if len(values) == 1 else values

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table."""
        return [
            {
                "metric": f"{self.metric}_change",
                "group": c.group,
                "reference": c.reference,
                "estimate": c.estimate,
                "std_error": c.std_error,
                "ci_low": c.interval.low,
                "ci_high": c.interval.high,
                "statistic": c.statistic,
                "pvalue": c.pvalue,
                "pvalue_adjusted": c.pvalue_adjusted,
                "n": c.n,
                "method": c.interval.method,
                "backend": self.backend,
                "before": c.before,
                "after": c.after,
                "distance_change": c.distance_change,
                "distance_low": c.distance_interval.low,
                "distance_high": c.distance_interval.high,
                "confidence_level": self.confidence_level,
                "verdict": c.verdict,
                "note": c.note,
            }
            for c in self.changes
        ]

    def sentences(self) -> list[str]:
        """One sentence per comparison."""
        lines = []
        for c in self.changes:
            if c.verdict == "insufficient evidence":
                lines.append(f"{c.group} against {c.reference}: insufficient evidence. {c.note}".strip())
                continue
            lines.append(
                f"{c.group} against {c.reference}: {self.metric} {c.before:.3f} before, {c.after:.3f} after; "
                f"change {c.estimate:.3f} ({100 * self.confidence_level:g}% interval {c.interval.low:.3f} to "
                f"{c.interval.high:.3f}): {c.verdict}."
            )
        return lines

    def notes(self) -> list[str]:
        """Sentences below the table."""
        kind = "after / before" if self.contrast == "ratio" else "after − before"
        lines = [f"The estimate is {kind}; the interval uses that both models saw the same rows."]
        return lines + sorted({c.note for c in self.changes if c.note})
