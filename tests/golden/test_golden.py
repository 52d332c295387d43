"""Today's results against the golden file, one test per case."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from tests.golden.cases import load_cases, run
from tests.golden.compare import differences
from tests.golden.record import load

FILE = Path(__file__).with_name("golden.json.gz")
MOST_SHOWN = 25


@lru_cache(maxsize=1)
def _recorded() -> dict[str, Any]:
    return load(FILE)


def _parameters() -> list[Any]:
    return [
        pytest.param(name, marks=[pytest.mark.slow] if case.slow else [], id=name)
        for name, case in load_cases().items()
    ]


@pytest.mark.parametrize("name", _parameters())
def test_agrees_with_the_golden_file(name: str) -> None:
    recorded = _recorded()[name]
    today = run(load_cases()[name])
    before = {"value": recorded["value"], "warnings": recorded["warnings"]}
    found = differences(name, recorded["kind"], before, today, recorded.get("spread"))
    more = [f"… and {len(found) - MOST_SHOWN} more"] if len(found) > MOST_SHOWN else []
    assert not found, "\n".join([f"{len(found)} fields differ", *found[:MOST_SHOWN], *more])


def test_every_recorded_case_is_still_computed() -> None:
    assert sorted(_recorded()) == sorted(load_cases())


@pytest.mark.parametrize(
    ("kind", "today", "found"),
    [
        ("closed", {"class": "A", "x": 1.0 + 1e-13, "text": "a"}, 0),
        ("closed", {"class": "A", "x": 1.0 + 1e-11, "text": "a"}, 1),
        ("optimised", {"class": "A", "x": 1.0 + 1e-9, "text": "a"}, 0),
        ("optimised", {"class": "A", "x": 1.0 + 1e-7, "text": "a"}, 1),
        ("seeded", {"class": "A", "x": 1.4, "text": "a"}, 0),  # the recorded seeds scatter by 0.1
        ("seeded", {"class": "A", "x": 1.9, "text": "a"}, 1),
        ("closed", {"class": "A", "x": 1.0, "text": "b", "new": 3}, 1),
        ("closed", {"class": "B", "text": "a"}, 2),
        ("closed", {"class": "A", "x": "NaN", "text": "a"}, 1),
    ],
)
def test_the_comparison_sees_what_it_should(kind: str, today: dict[str, Any], found: int) -> None:
    recorded = {"class": "A", "x": 1.0, "text": "a"}
    spread = {"/x": [1.0, 0.1, 16]} if kind == "seeded" else None
    assert len(differences("case", kind, recorded, today, spread)) == found
