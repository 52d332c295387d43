"""The registry of cases, and how one of them is run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal

import fairstats as fs
from tests.golden.plain import plain

__all__ = ["Case", "Room", "load_cases", "run"]

Kind = Literal["closed", "optimised", "seeded"]


@dataclass(frozen=True)
class Case:
    """One named computation.

    Attributes
    ----------
    name : str
        ``room/what/variant``.
    function : callable
        Takes a seed, which closed forms leave unread; returns a result, or a dictionary of them.
    kind : {"closed", "optimised", "seeded"}
        How near today's numbers must be.
    repeats : int
        Seeds with which a seeded case is recorded: they give the Monte Carlo errors.
    slow : bool
    """

    name: str
    function: Callable[[int], Any]
    kind: Kind
    repeats: int = 1
    slow: bool = False


class Room:
    """The cases of one room: each file ``cases_<room>.py`` fills one, called ``ROOM``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cases: dict[str, Case] = {}

    def add(
        self,
        name: str,
        function: Callable[[int], Any],
        kind: Kind,
        *,
        repeats: int = 6,
        slow: bool = False,
    ) -> None:
        """Add the case ``room/name``."""
        full = f"{self.name}/{name}"
        if full in self.cases:
            raise ValueError(f"two cases are called {full!r}")
        self.cases[full] = Case(full, function, kind, repeats if kind == "seeded" else 1, slow)


_ROOMS = ("rates", "madd", "hfm", "um", "ecd", "evt", "hdr", "audit", "numbers")


@cache
def load_cases() -> dict[str, Case]:
    """Every case of every room."""
    rooms = (import_module(f"tests.golden.cases_{name}").ROOM for name in _ROOMS)
    return {name: case for room in rooms for name, case in room.cases.items()}


@contextmanager
def _caught() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def run(case: Case, seed: int = 1) -> dict[str, Any]:
    """Result and warnings of a case, as plain JSON."""
    with _caught() as caught, fs.use_backend("scipy"):
        result = plain(case.function(seed))
    said = {
        f"{type(w.message).__name__}: {w.message}"
        for w in caught
        if issubclass(w.category, fs.FairstatsWarning)
    }
    return {"value": result, "warnings": sorted(plain(text) for text in said)}
