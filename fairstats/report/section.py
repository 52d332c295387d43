"""The results of one method for one set of sensitive attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairstats.ground.groups import INTERSECTION
from fairstats.ground.results import Result
from fairstats.ground.serialise import serialisable

__all__ = ["VERDICTS", "Section", "rests_on_score_bounds"]

#: Every verdict, gravest first.
VERDICTS = ("violated", "undecided", "insufficient evidence", "satisfied")


@serialisable
@dataclass(frozen=True, eq=False)
class Section:
    """Results of one method for one set of attributes.

    Attributes
    ----------
    key, title : str
        Of the method.
    attributes : tuple of str
        The sensitive columns; several are crossed.
    results : tuple of Result
    warnings : tuple of str
        Warnings that no result repeats in its notes.
    """

    key: str
    title: str
    attributes: tuple[str, ...]
    results: tuple[Result, ...]
    warnings: tuple[str, ...] = ()

    @property
    def attribute_text(self) -> str:
        """Name of the set of attributes."""
        return INTERSECTION.join(self.attributes)

    def verdicts(self) -> dict[str, int]:
        """Number of comparisons per verdict."""
        counted = dict.fromkeys(VERDICTS, 0)
        for result in self.results:
            frame = result.to_frame()
            for verdict in frame["verdict"] if "verdict" in frame.columns else ():
                if verdict in counted:
                    counted[verdict] += 1
        return counted


def rests_on_score_bounds(comparison: Any) -> bool:
    """Whether the verdict rests on score bounds although the interval is of another method: too few cases."""
    bounds, shown = comparison.bounds.method, comparison.interval.method
    return bool(bounds != shown and bounds.startswith(("score", "koopman", "mee")))
