"""Checks of numbers and choices: what passes, and what the error says."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.checks import (
    check_choice,
    check_confidence_level,
    check_flag,
    check_given,
    check_names,
    check_number,
    check_one_length,
    check_rows,
    check_share,
    check_that,
    check_two_groups,
    check_type,
    check_whole,
    finite_array,
    shown,
)
from fairstats.ground.errors import (
    DataWarning,
    FairstatsError,
    InputError,
    MissingDependencyError,
    ResultAttributeError,
    caution,
)


@pytest.mark.parametrize("value", [100, np.int64(100)])
def test_a_whole_number_comes_back_as_a_python_integer(value):
    assert type(check_whole("draws", value, low=100, high=100)) is int


@pytest.mark.parametrize("value", [True, 100.0, 99, 1001, "100", None, np.nan])
def test_what_is_not_whole_or_outside_is_refused(value):
    with pytest.raises(
        InputError, match=r"`draws`: got .*; allowed: a whole number from 100 to 1,000"
    ):
        check_whole("draws", value, low=100, high=1000)


@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf, "0.1", True, None])
def test_a_number_outside_an_open_range_is_refused(value):
    with pytest.raises(InputError, match="`margin`.*above 0"):
        check_number("margin", value, low=0, open_low=True)


def test_closed_ends_belong_to_the_range_and_open_ones_do_not():
    assert check_number("x", 0, low=0, high=1) == 0.0
    assert check_share("share", 1, closed=True) == 1.0
    for value in (0, 1):
        with pytest.raises(InputError, match="both excluded"):
            check_share("share", value)
    with pytest.raises(InputError, match="1 excluded"):
        check_number("x", 1, low=0, high=1, open_high=True)


NOT_CHOSEN = [
    np.array(["a", "b"]),
    pd.NA,
    float("nan"),
    pd.Series(["a"]),
    ["a"],
    {"a": 1},
    {"a"},
    object,
    1j,
    b"a",
]


@pytest.mark.parametrize("value", NOT_CHOSEN, ids=lambda v: type(v).__name__)
def test_arrays_and_what_does_not_equal_itself_are_no_choice(value):
    with pytest.raises(
        InputError, match="^`adjust`: got .*; allowed: 'a', 'b'. To fix: choose one of them"
    ):
        check_choice("adjust", value, ("a", "b"))


NOT_NUMBERS = [
    "0.7",
    b"1",
    1j,
    np.complex64(1),
    np.array([0.7]),
    pd.NA,
    pd.NaT,
    10**400,
    [0.7],
    np.datetime64("2020"),
]


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=lambda v: type(v).__name__)
def test_what_is_no_number_is_refused(value):
    with pytest.raises(InputError, match="^`margin`: got .*; allowed: a finite number"):
        check_number("margin", value)
    with pytest.raises(InputError, match="^`draws`: got .*; allowed: a whole number from 1 to 5"):
        check_whole("draws", value, low=1, high=5)


def test_a_flag_is_true_or_false():
    assert check_flag("progress", np.True_) is True
    for value in (1, "yes", None, np.array([True]), pd.NA):
        with pytest.raises(InputError, match="`progress`: got .*; allowed: True or False"):
            check_flag("progress", value)


def test_long_values_are_cut_in_an_error():
    assert len(shown(list(range(10_000)))) < 250
    assert shown(np.zeros((3, 2))) == "ndarray of shape (3, 2)"
    assert shown(np.float64(0.5)) == repr(np.float64(0.5))  # no column: NumPy 1 writes it as 0.5


def test_a_label_as_long_as_a_book_is_cut_wherever_it_stands():
    long = "x" * 100_000
    columns = {"sensitive_features": ["a", long, "a", long], "reference": "b"}
    with pytest.raises(InputError) as raised:
        fs.disparate_impact([1, 0, 1, 1], **columns)
    assert len(str(raised.value)) < 4_000
    assert raised.value.got == "'b'"
    error = InputError(
        "reference", got=repr(long), allowed=f"one of {long!r}", cure=f"pass {long!r}"
    )
    assert len(str(error)) < 4_000
    with pytest.warns(DataWarning) as warned:
        caution(f"{long} is long", DataWarning)
    assert len(str(warned[0].message)) < 1_300
    assert str(warned[0].message).endswith("x is long")


def test_a_level_says_what_a_level_is():
    assert check_confidence_level(0.9) == 0.9
    with pytest.raises(InputError, match=r"`confidence_level`: got 95.*0\.95 for a 95% interval"):
        check_confidence_level(95)


@pytest.mark.parametrize("value", ["c", None, np.array(["a", "b"])])
def test_a_choice_lists_the_choices(value):
    with pytest.raises(InputError, match="'a', 'b'"):
        check_choice("method", value, ("a", "b"))


def test_what_is_fine_passes_and_what_is_not_is_shown():
    check_that(True, "splits", (0.6, 0.4), "two shares")
    with pytest.raises(
        InputError, match=r"`splits`: got \(0\.6, 0\.5\); allowed: two shares\. To fix: half"
    ):
        check_that(False, "splits", (0.6, 0.5), "two shares", "half")


def test_a_type_comes_back_or_is_named():
    assert check_type("counts", {}, dict, "a mapping") == {}
    assert check_type("counts", 1, (dict, int), "a mapping or 1") == 1
    with pytest.raises(InputError, match="`counts`: got a value of type list; allowed: a mapping"):
        check_type("counts", [], dict, "a mapping")


def test_what_is_lacking_is_asked_for():
    assert check_given("y", 0) == 0
    with pytest.raises(
        InputError, match="`y`: got None; allowed: one label per row. To fix: pass y"
    ):
        check_given("y", None, "one label per row")


def test_names_are_known_and_different():
    check_names("columns", ["b", "a"], "abc")
    with pytest.raises(
        InputError, match="got no 'd', 'e'; allowed: different ones of 'a', 'b', 'c'"
    ):
        check_names("columns", ["d", "a", "e", "d"], "abc")
    with pytest.raises(InputError, match=r"got \['a', 'a'\], with repeats"):
        check_names("columns", ["a", "a"], "abc")
    with pytest.raises(InputError, match=r"18, 19, …\."):
        check_names("columns", [21], range(21))
    for names in ("abc", 1, None, [["a"]], np.array(1)):
        with pytest.raises(InputError, match="`columns`: got .*'c'"):
            check_names("columns", names, "abc")


@pytest.mark.parametrize(
    ("values", "got"),
    [
        ([1, 2], "2 values for 3 rows"),
        (np.zeros(4), "4 values"),
        (np.zeros((3, 1)), r"shape \(3, 1\)"),
    ],
)
def test_one_entry_for_each_row(values, got):
    check_rows("person", [1, 2, 3], 3)
    check_rows("person", np.zeros(3), 3)
    with pytest.raises(InputError, match=f"`person`: got {got}.*one label per row"):
        check_rows("person", values, 3, per_row="label")


def test_one_group_has_nothing_to_compare_with():
    check_two_groups(["f", "m"])
    with pytest.raises(InputError, match=r"one group \('f'\); allowed: two groups or more"):
        check_two_groups(["f"])


def test_finite_numbers_of_any_shape_come_back_as_floats():
    given = np.array([[1, 2]])
    array = finite_array("x", given, "numbers")
    assert array.dtype == np.float64
    assert array.shape == (1, 2)
    assert not np.shares_memory(array, given)
    assert finite_array("x", np.ma.array([1.0, 2.0]), "numbers").tolist() == [1.0, 2.0]
    assert finite_array("x", [], "numbers").size == 0


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (np.ma.array([1.0, 2.0], mask=[True, False]), "a masked array"),
        (["a"], "values of type <U1"),
        (np.array(["0.7"], dtype=object), "values of type object"),
        ([1j], "values of type complex128"),
        ([[1], [1, 2]], "a ragged list"),
        ([10**400], "values of type object"),
        ([pd.NA], "1 NaN or infinite values among 1"),
        (np.array([{}], dtype=object), "values of type object"),
        ([1.0, np.nan, -np.inf], "2 NaN or infinite values among 3"),
        ([-1e101], "values beyond 1e[+]100"),
    ],
)
def test_what_is_no_finite_number_is_refused(value, got):
    with pytest.raises(InputError, match=f"`x`: got {got}; allowed: numbers"):
        finite_array("x", value, "numbers")


def test_columns_of_different_lengths_are_listed():
    check_one_length("x, y", {"x": 3, "y": 3})
    with pytest.raises(InputError, match="`x, y`: got different lengths: x 3, y 1,000"):
        check_one_length("x, y", {"x": 3, "y": 1000})


@pytest.mark.parametrize(
    "error",
    [
        InputError("x", got="1", allowed="2", cure="3"),
        ResultAttributeError("Result", "plot", "why"),
        MissingDependencyError("pymc", extra="bayes", purpose="sampling"),
    ],
)
def test_errors_go_through_pickle(error: FairstatsError):
    error.add_note("more")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(again) is type(error)
    assert str(again) == str(error)
