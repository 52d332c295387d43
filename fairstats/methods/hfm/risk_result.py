"""The result of a discriminative risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fairstats.ground.results import Interval, Result
from fairstats.ground.serialise import serialisable

__all__ = ["ALL_ROWS", "DiscriminativeRiskResult", "RiskEntry"]

ALL_ROWS = "all rows"


@serialisable
@dataclass(frozen=True)
class RiskEntry:
    """Discriminative risk of one attribute, or of all disturbed together.

    Attributes
    ----------
    attribute : str
        What was disturbed; "all attributes" for all at once.
    group : str
        Rows it was disturbed in: "all rows", or those with one value of the attribute.
    estimate : float
        Share of disturbed predictions that differ, mean over persons of their means.
    interval : Interval
        Wilson's score interval; with the effective number of rows where a person counts several times.
    n : int
        Persons.
    n_draws : int
        Disturbed rows.
    n_changed : int
        Disturbed rows whose prediction differs.
    """

    attribute: str
    group: str
    estimate: float
    interval: Interval
    n: int
    n_draws: int
    n_changed: int


@serialisable
@dataclass(frozen=True)
class DiscriminativeRiskResult(Result):
    """Discriminative risk of a model.

    Attributes
    ----------
    entries : tuple of RiskEntry
        Of every attribute: all rows, then each value; last all attributes together, where there are several.
    draws : int or "all"
    seed : int or None
    """

    title: ClassVar[str] = "Discriminative risk: predictions that change with the sensitive attribute alone"

    entries: tuple[RiskEntry, ...]
    draws: int | str
    seed: int | None

    @property
    def estimate(self) -> float:
        """Risk over all rows, all attributes disturbed together."""
        return self._overall.estimate

    @property
    def confidence_interval(self) -> Interval:
        """Its interval."""
        return self._overall.interval

    @property
    def _overall(self) -> RiskEntry:
        return [e for e in self.entries if e.group == ALL_ROWS][-1]

    def rows(self) -> list[dict[str, Any]]:
        """One row per entry."""
        return [
            {
                "metric": "discriminative_risk",
                "group": e.group,
                "reference": None,
                "estimate": e.estimate,
                "ci_low": e.interval.low,
                "ci_high": e.interval.high,
                "n": e.n,
                "method": e.interval.method,
                "backend": "statsmodels",
                "attribute": e.attribute,
                "n_draws": e.n_draws,
                "n_changed": e.n_changed,
            }
            for e in self.entries
        ]

    def notes(self) -> list[str]:
        """How the attribute was disturbed."""
        how = (
            "Every row was predicted with every other value of the attribute."
            if self.draws == "all"
            else f"Every row was predicted with {self.draws} other value(s) of the attribute, drawn evenly "
            "from the others" + ("." if self.seed is None else f" (seed {self.seed}).")
        )
        return [how, f"Intervals at {self.confidence_interval.confidence_level:.0%}; one person is one unit."]
