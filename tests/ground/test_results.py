"""Intervals, and the base of every result: one tidy table, everything else derived from it."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import numpy as np
import pytest

from fairstats.ground.errors import InputError
from fairstats.ground.results import (
    TIDY_COLUMNS,
    HypothesisTest,
    Interval,
    Result,
    check_choice,
    check_confidence_level,
)
from fairstats.ground.serialise import serialisable


@serialisable
@dataclass(frozen=True)
class Small(Result):
    """A result for these tests."""

    values: tuple[float, ...] = (0.5,)

    @property
    def title(self) -> str:  # type: ignore[override]
        return "Small <b>result</b>"

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"metric": "m<i>", "group": "a & b", "estimate": v, "n": 3, "method": "x", "colour": "red"}
            for v in self.values
        ]

    def notes(self) -> list[str]:
        return ["A note with <script>alert(1)</script>."]


def test_an_interval_unpacks_contains_and_has_a_width() -> None:
    interval = Interval(0.25, 0.75, 0.9, "log")
    low, high = interval
    assert (low, high) == (0.25, 0.75)
    assert interval.width == 0.5
    assert 0.25 in interval
    assert 0.75 in interval
    assert 0.2 not in interval
    assert math.nan not in interval
    assert Interval(0.0, math.inf, 0.9, "score").width == math.inf


def test_results_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Interval(0.0, 1.0, 0.9, "log").low = 3.0  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        HypothesisTest("a", "less", 0.0, 0.5, "z").pvalue = 0.01  # type: ignore[misc]


def test_the_tidy_table_begins_with_the_common_columns() -> None:
    frame = Small((0.5, 0.25)).to_frame()
    assert tuple(frame.columns[: len(TIDY_COLUMNS)]) == TIDY_COLUMNS
    assert frame.columns[-1] == "colour"
    assert frame["estimate"].tolist() == [0.5, 0.25]


def test_the_summary_is_title_table_notes() -> None:
    text = str(Small((0.5, 123456.0, 1e-7, math.inf, math.nan)))
    lines = text.splitlines()
    assert lines[0] == "Small <b>result</b>"
    assert lines[-1] == "A note with <script>alert(1)</script>."
    for shown in ("0.5", "1.23e+05", "1.00e-07", "∞", "—"):
        assert shown in text
    assert "pvalue" not in text


def test_html_is_escaped() -> None:
    html = Small()._repr_html_()
    assert "<script>" not in html
    assert "<b>" not in html
    assert "m&lt;i&gt;" in html
    assert "a &amp; b" in html


def test_from_dict_undoes_to_dict() -> None:
    result = Small((0.5, math.inf))
    assert Small.from_dict(result.to_dict()) == result
    assert Result.from_dict(result.to_dict()) == result


@pytest.mark.parametrize(
    "data", [Interval(0.0, 1.0, 0.9, "log"), "text", 3, None, [1, 2]], ids=lambda v: type(v).__name__
)
def test_from_dict_refuses_something_else(data: Any) -> None:
    from fairstats.ground.serialise import encode

    with pytest.raises(InputError, match="`data`: got a"):
        Small.from_dict(encode(data))


def test_from_dict_refuses_a_dictionary_that_lacks_fields() -> None:
    with pytest.raises(InputError):
        Result.from_dict({"class": "Interval", "low": 0.0})


def test_the_base_class_has_no_rows() -> None:
    with pytest.raises(TypeError, match="Result defines no rows"):
        Result().to_frame()


@pytest.mark.parametrize("level", [0.5, 0.95, np.float64(0.99)], ids=str)
def test_confidence_levels_that_pass(level: float) -> None:
    assert check_confidence_level(level) == level


@pytest.mark.parametrize(
    "level", [0, 1, -0.1, 95, math.nan, math.inf, None, "high", "0.95x", [0.95, 0.9]], ids=repr
)
def test_confidence_levels_that_do_not(level: Any) -> None:
    with pytest.raises(
        InputError, match=r"`confidence_level`: got .*between 0 and 1.*0\.95 for a 95% interval"
    ):
        check_confidence_level(level)


def test_choices() -> None:
    check_choice("method", "log", ("log", "delta"))
    with pytest.raises(
        InputError, match="`method`: got 'lgo'; allowed: 'log', 'delta'. To fix: choose one of them"
    ):
        check_choice("method", "lgo", ("log", "delta"))
    with pytest.raises(InputError, match="`method`"):
        check_choice("method", ["log"], ("log", "delta"))
