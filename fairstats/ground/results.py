"""Intervals, tests and the base of every result.

A result is a frozen dataclass. `to_frame()` is the one table; summary, HTML and reports read it.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.serialise import decode, encode, serialisable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TIDY_COLUMNS", "HypothesisTest", "Interval", "Result", "check_choice", "check_confidence_level"]

#: The columns that every `to_frame()` begins with.
TIDY_COLUMNS = (
    "metric",
    "group",
    "reference",
    "estimate",
    "std_error",
    "ci_low",
    "ci_high",
    "statistic",
    "pvalue",
    "pvalue_adjusted",
    "n",
    "method",
    "backend",
)


@serialisable
@dataclass(frozen=True)
class Interval:
    """A confidence interval.

    Attributes
    ----------
    low, high : float
        Ends; infinite where the interval has no end.
    confidence_level : float
        Nominal level in (0, 1).
    method : str
        How it was computed.

    Examples
    --------
    >>> from fairstats.ground.results import Interval
    >>> interval = Interval(0.34, 0.39, 0.95, "log")
    >>> low, high = interval
    >>> 0.8 in interval
    False
    """

    low: float
    high: float
    confidence_level: float
    method: str

    @property
    def width(self) -> float:
        """Distance between the ends."""
        return self.high - self.low

    def __iter__(self) -> Iterator[float]:
        yield self.low
        yield self.high

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@serialisable
@dataclass(frozen=True)
class HypothesisTest:
    """One test of one null hypothesis.

    Attributes
    ----------
    null : str
        The null hypothesis in words, e.g. ``"ratio >= 0.8"``.
    alternative : {"less", "greater", "two-sided", "equivalence"}
        What a small p-value speaks for.
    statistic : float
        Value of the test statistic (the larger one-sided one for equivalence).
    pvalue : float
        In [0, 1], NaN where the data cannot give it.
    method : str
        Name of the test.
    """

    null: str
    alternative: str
    statistic: float
    pvalue: float
    method: str


@dataclass(frozen=True)
class Result:
    """Base of every result: one tidy table, and everything else derived from it."""

    #: One line above the table.
    title: ClassVar[str] = "Result"

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the tidy table, one per estimate."""
        raise TypeError(f"{type(self).__name__} defines no rows")

    def to_frame(self) -> pd.DataFrame:
        """Tidy table: one row per estimate.

        Returns
        -------
        DataFrame
            Columns `TIDY_COLUMNS` in that order, then those of the method.
        """
        import pandas as pd

        rows = self.rows()
        extra = [name for name in dict.fromkeys(k for row in rows for k in row) if name not in TIDY_COLUMNS]
        return pd.DataFrame(rows, columns=[*TIDY_COLUMNS, *extra])

    def summary(self) -> str:
        """The result as text: title, table, notes."""
        frame = self.to_frame()
        shown = frame[self.summary_columns(frame)]
        table = shown.to_string(index=False, float_format=_short, na_rep="—")
        return "\n".join([self.title, table, *self.notes()])

    def summary_columns(self, frame: pd.DataFrame) -> list[str]:
        """Columns that the printed table shows: those that say something."""
        hidden = {"backend", "method"}
        return [c for c in frame.columns if c not in hidden and not frame[c].isna().all()]

    def notes(self) -> list[str]:
        """Sentences below the table: settings, reference, what could not be computed."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready dictionary with every field and the sufficient statistics; `from_dict` undoes it."""
        return encode(self)  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The result that `to_dict` wrote.

        Raises
        ------
        InputError
            If the dictionary holds something else.
        """
        value = decode(data)
        if not isinstance(value, cls):
            raise InputError(
                "data",
                got=f"a {type(value).__name__}",
                allowed=f"what {cls.__name__}.to_dict() returns",
                cure="use the from_dict of the right class",
            )
        return value

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        frame = self.to_frame()
        table = frame[self.summary_columns(frame)].to_html(
            index=False, float_format=_short, na_rep="—", border=0
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes())
        return f"<section><h4>{html.escape(self.title)}</h4>{table}{notes}</section>"


def _short(value: float) -> str:
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4g}"
    return f"{value:.2e}" if np.isfinite(value) else ("∞" if value > 0 else "-∞")


def check_confidence_level(confidence_level: float) -> float:
    """Return the level, or raise unless it lies in (0, 1)."""
    try:
        level = float(confidence_level)
    except (TypeError, ValueError):
        level = float("nan")
    if not 0 < level < 1:
        raise InputError(
            "confidence_level",
            got=repr(confidence_level),
            allowed="a number between 0 and 1, both excluded",
            cure="0.95 for a 95% interval",
        )
    return level


def check_choice(argument: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Raise unless `value` is one of `choices`."""
    if value not in choices:
        raise InputError(
            argument,
            got=repr(value),
            allowed=", ".join(map(repr, choices)),
            cure="choose one of them",
        )
