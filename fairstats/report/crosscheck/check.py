"""One quantity, computed twice: the two values, how far they may lie apart, and the verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from fairstats.ground.serialise import serialisable

__all__ = ["AGREEING", "COUNTED", "Check", "Place"]

AGREES, DISAGREES, WITHIN = "agrees", "disagrees", "within Monte Carlo error"
NEEDS_DATA, NOT_RECOMPUTED = "needs --data", "not recomputed"
#: Verdicts that count as agreement, and those that count at all.
AGREEING = (AGREES, WITHIN)
COUNTED = (*AGREEING, DISAGREES)
#: Both sides solve the same equations in double precision; root finders stop at about 1e-12.
RELATIVE, ABSOLUTE = 1e-8, 1e-10
#: Monte Carlo standard errors that two values may lie apart: of 1,000 right pairs, one in 500 reports is
#: called wrong at 5 if the errors are known; they are estimated, hence 6.
ERRORS = 6.0


@serialisable
@dataclass(frozen=True)
class Check:
    """One quantity.

    Attributes
    ----------
    quantity : str
        "estimate", "interval, lower end", "p-value (two-sided)", …
    metric, group, reference : str
        Where it stands in the report.
    python, r : float
        The two values; NaN where there is none.
    source : str
        Function of R and package with version.
    tolerance : float
        Largest absolute difference that is agreement.
    verdict : {"agrees", "within Monte Carlo error", "disagrees", "needs --data", "not recomputed"}
    note : str
        Why it was not recomputed, or what the tolerance rests on.
    section, sensitive_features : str
        Of the report; empty for a single result.
    """

    quantity: str
    metric: str
    group: str
    reference: str
    python: float
    r: float
    source: str
    tolerance: float
    verdict: str
    note: str = ""
    section: str = ""
    sensitive_features: str = ""

    @property
    def absolute_difference(self) -> float:
        """|Python − R|; 0 where both are the same infinity or both are unknown."""
        return _distance(self.python, self.r)

    @property
    def relative_difference(self) -> float:
        """|Python − R| over the larger size; 0 where both are 0."""
        size = max(abs(self.python), abs(self.r))
        distance = self.absolute_difference
        return distance / size if size > 0 and math.isfinite(size) else distance

    @property
    def counted(self) -> bool:
        """Whether R gave a value to compare with."""
        return self.verdict in COUNTED

    @property
    def agreed(self) -> bool:
        """Whether the two values agree."""
        return self.verdict in AGREEING

    def row(self) -> dict[str, Any]:
        """Row of the table."""
        return {
            "quantity": self.quantity,
            "section": self.section,
            "sensitive_features": self.sensitive_features,
            "metric": self.metric,
            "group": self.group,
            "reference": self.reference,
            "python": self.python,
            "r": self.r,
            "source": self.source,
            "absolute_difference": self.absolute_difference if self.counted else math.nan,
            "relative_difference": self.relative_difference if self.counted else math.nan,
            "tolerance": self.tolerance,
            "verdict": self.verdict,
            "note": self.note,
        }


@dataclass(frozen=True)
class Place:
    """Where checks belong: metric, group, reference; and the user's tolerance."""

    metric: str
    group: str = ""
    reference: str = ""
    tolerance: float | None = None

    def compare(
        self,
        quantity: str,
        python: Any,
        r: Any,
        source: str,
        *,
        relative: float = RELATIVE,
        absolute: float = ABSOLUTE,
        error: Any = 0.0,
        note: str = "",
    ) -> Check:
        """Compare two values.

        Parameters
        ----------
        quantity : str
        python, r : float
        source : str
        relative, absolute : float
            Tolerance of what is not random: the larger of `absolute` and `relative` times the value.
        error : float
            Monte Carlo standard error of the difference; 0 for what is not random.
        """
        ours, theirs, spread = _number(python), _number(r), _number(error)
        spread = spread if math.isfinite(spread) else 0.0
        size = max((abs(v) for v in (ours, theirs) if math.isfinite(v)), default=0.0)
        exact = max(absolute, relative * size)
        if self.tolerance is not None:
            exact = self.tolerance * max(1.0, size)
        allowed = exact + ERRORS * spread
        near = _distance(ours, theirs) <= allowed
        verdict = (WITHIN if spread > 0 else AGREES) if near else DISAGREES
        return self._check(quantity, ours, theirs, source, allowed, verdict, note)

    def needs_data(self, quantity: str, python: Any, note: str) -> Check:
        """A quantity that the report's counts cannot give."""
        return self._check(quantity, _number(python), math.nan, "", math.nan, NEEDS_DATA, note)

    def left_out(self, quantity: str, python: Any, note: str) -> Check:
        """A quantity that R does not recompute."""
        return self._check(quantity, _number(python), math.nan, "", math.nan, NOT_RECOMPUTED, note)

    def _check(
        self, quantity: str, python: float, r: float, source: str, allowed: float, verdict: str, note: str
    ) -> Check:
        group, reference = self.group or "", self.reference or ""
        return Check(quantity, self.metric, group, reference, python, r, source, allowed, verdict, note)


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _distance(first: float, second: float) -> float:
    if first == second or (math.isnan(first) and math.isnan(second)):
        return 0.0
    if math.isnan(first) or math.isnan(second):
        return math.inf
    return abs(first - second)
