"""Intervals, and the base of every result: one tidy table, everything else derived from it."""

from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError, dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.checks import check_choice, check_confidence_level
from fairstats.ground.errors import FairstatsError, InputError, ResultAttributeError
from fairstats.ground.results import (
    TIDY_COLUMNS,
    Comparison,
    HypothesisTest,
    Interval,
    Result,
    printed,
)
from fairstats.ground.serialise import serialisable


@serialisable()
class Small(Result):
    """A result for these tests."""

    values: tuple[float, ...] = (0.5,)

    @property
    def title(self) -> str:  # type: ignore[override]
        return "Small <b>result</b>"

    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "metric": "m<i>",
                "group": "a & b",
                "estimate": v,
                "n": 3,
                "method": "x",
                "colour": "red",
            }
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
    for shown in ("0.5", "123456", "1.00e-07", "∞", "—"):
        assert shown in text
    assert "pvalue" not in text


def test_an_end_is_printed_whatever_the_other_one_is() -> None:
    """Only what is nothing beside a finite end is 0 in print.

    Beside an infinite one every number counts.
    """
    frame = pd.DataFrame(
        {"metric": list("abc"), "ci_low": [0.846, 1e-20, 0.0], "ci_high": [math.inf, 2.0, math.inf]}
    )
    rows = [line.split() for line in printed("T", frame, []).splitlines()[2:]]
    assert rows == [["a", "0.846", "∞"], ["b", "0", "2"], ["c", "0", "∞"]]


def test_a_p_value_below_what_a_float_holds_is_not_printed_as_0() -> None:
    """Doubles end at 5e-324; a difference of 0 is one."""
    frame = pd.DataFrame(
        {"metric": list("abc"), "estimate": [0.0, 1.0, 2.0], "pvalue": [0.0, 1e-12, math.nan]}
    )
    rows = [line.split() for line in printed("T", frame, []).splitlines()[2:]]
    assert rows == [["a", "0", "<1e-300"], ["b", "1", "1.00e-12"], ["c", "2", "—"]]


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
    "data",
    [Interval(0.0, 1.0, 0.9, "log"), "text", 3, None, [1, 2]],
    ids=lambda v: type(v).__name__,
)
def test_from_dict_refuses_something_else(data: Any) -> None:
    from fairstats.ground.serialise import encode

    with pytest.raises(InputError, match="`data`: got a"):
        Small.from_dict(encode(data))


def test_from_dict_refuses_a_dictionary_that_lacks_fields() -> None:
    with pytest.raises(InputError):
        Result.from_dict({"class": "Interval", "low": 0.0})


def test_the_base_class_has_no_rows() -> None:
    with pytest.raises(ResultAttributeError, match="Result has no `comparisons`"):
        Result().rows()


@dataclass(frozen=True)
class Pairs(Result):
    """A result of comparisons without a p-value."""

    comparisons: tuple[Comparison, ...] = ()
    lacks: ClassVar[dict[str, str]] = {"pvalue": "nothing is tested; see estimate"}


def test_a_result_answers_from_its_comparisons() -> None:
    one = Comparison(
        group="a", reference="c", estimate=1.0, confidence_interval=Interval(0, 2, 0.95, "x")
    )
    two = Comparison(group="b", reference="c", estimate=3.0, verdict="undecided")
    assert Pairs((one,)).estimate == 1.0
    assert Pairs((one,)).confidence_interval == one.confidence_interval
    both = Pairs((one, two))
    np.testing.assert_array_equal(both.estimate, [1.0, 3.0])
    assert both.verdict == ("", "undecided")
    assert both["b"] is two
    assert both["b", "c"] is two


def test_what_a_result_lacks_is_an_attribute_error_of_ours() -> None:
    result = Pairs((Comparison(group="a"),))
    with pytest.raises(
        FairstatsError, match="Pairs has no `pvalue`: nothing is tested; see estimate"
    ):
        result.pvalue  # noqa: B018
    assert not hasattr(result, "pvalue")
    assert not hasattr(result, "plot")
    assert "pvalue" not in dir(result)
    assert {"estimate", "comparisons", "sentences"} <= set(dir(result))
    with pytest.raises(AttributeError, match="no attribute 'typo'"):
        result.typo  # noqa: B018
    again = pickle.loads(pickle.dumps(result))  # noqa: S301
    assert again.comparisons[0].group == "a"


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


def test_results_of_other_data_are_not_equal() -> None:
    """Results hold arrays: two are equal where they are one object."""
    first = fs.disparate_impact(counts={"a": (4, 6), "b": (5, 5)})
    second = fs.disparate_impact(counts={"a": (4, 6), "b": (1, 9)})
    assert first in [first]
    assert first != second
    x = np.random.default_rng(1).pareto(3, 500)
    at_one = fs.evt.fit_gpd(x, 1.0, backend="scipy")
    assert at_one != fs.evt.fit_gpd(x, 2.0, backend="scipy")
