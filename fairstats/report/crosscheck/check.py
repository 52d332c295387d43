"""One quantity, computed twice: the two values, how far they may lie apart, and the verdict.

A `Line` says how one number of a result is compared: quantity, attribute, and name in the answer of R. The
modules of this room are tables of lines, and the code that asks R.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from fairstats.ground.serialise import serialisable

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


#: Columns of the table.
COLUMNS = (
    "quantity", "section", "sensitive_features", "metric", "group", "reference", "python", "r", "source",
    "absolute_difference", "relative_difference", "tolerance", "verdict", "note",
)  # fmt: skip


@serialisable()
class Check:
    """One quantity.

    `quantity`: "estimate", "interval, lower end", "p-value (two-sided)", …; `python`, `r`: the two values,
    NaN where there is none; `source`: function of R and package with version; `tolerance`: largest absolute
    difference that is agreement; `note`: why it was not recomputed, or what the tolerance rests on;
    `section`, `sensitive_features`: of the report; empty for a single result.
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
        unknown = () if self.counted else ("absolute_difference", "relative_difference")
        return {name: math.nan if name in unknown else getattr(self, name) for name in COLUMNS}


@dataclass(frozen=True)
class Line:
    """One number of a result.

    `quantity`: in words; ``{0.…}`` stands for an attribute, "interval, lower end ({0.confidence_interval.method})";
    `attribute`: of the result or its row, with dots: "confidence_interval.low"; `twin`: name in the answer of R;
    default the attribute; `error`: name of its Monte Carlo error there; empty for what is not random; `relative`,
    `absolute`: tolerance of what is not random: the larger of `absolute` and `relative` times the value; `function`:
    function of R that gives it, where that is another than the one that was called.
    """

    quantity: str
    attribute: str
    twin: str = ""
    error: str = ""
    relative: float = RELATIVE
    absolute: float = ABSOLUTE
    function: str = ""


def ends(
    quantity: str, attribute: str, twin: str = "", of: str = "", *, random: bool = False, **how: Any
) -> tuple[Line, ...]:
    """Both ends of an interval; R names them `twin` + "low" and "high", and their errors with "_error"."""
    return tuple(
        Line(
            f"{quantity}, {words} end{of}",
            f"{attribute}.{end}",
            f"{twin}{end}",
            f"{twin}{end}_error" if random else "",
            **how,
        )
        for end, words in (("low", "lower"), ("high", "upper"))
    )


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
        """Compare two values: tolerances as in `Line`, `error` the Monte Carlo standard error itself."""
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

    def compare_lines(
        self,
        lines: Iterable[Line],
        ours: Any,
        found: Mapping[str, Any],
        source: Callable[[str], str],
        *,
        relative: float = 0.0,
        absolute: float = 0.0,
        note: str = "",
    ) -> Iterator[Check]:
        """Compare the numbers of `ours` with the answer of R, line by line.

        `source`: function of R (or empty for the one that was called) → its name with package and version;
        `relative`, `absolute`: at least so much tolerance on every line.
        """
        for line in lines:
            yield self.compare(
                line.quantity.format(ours),
                attrgetter(line.attribute)(ours),
                found[line.twin or line.attribute],
                source(line.function),
                relative=max(line.relative, relative),
                absolute=max(line.absolute, absolute),
                error=found[line.error] if line.error else 0.0,
                note=note,
            )

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
