"""Columns of any kind become codes and plain levels; pandas' own factorisation is the witness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairstats.ground.encoding import (
    MISSING,
    Factor,
    as_column,
    as_float_column,
    factorize,
    label_text,
)
from fairstats.ground.errors import InputError

pl = pytest.importorskip("polars", reason="polars is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

LETTERS = ["b", "a", "b", "c", "a", "b"]
NUMBERS = [3, 1, 3, 2, 1, 3]


def values_of(factor: Factor) -> list[Any]:
    """The column that a factor stands for; None where missing."""
    return [None if code == MISSING else factor.levels[code] for code in factor.codes.tolist()]


# Every type that can hold the letters, without a missing value.
LETTER_COLUMNS = {
    "list": list(LETTERS),
    "tuple": tuple(LETTERS),
    "numpy str": np.array(LETTERS),
    "numpy object": np.array(LETTERS, dtype=object),
    "numpy (n, 1)": np.array(LETTERS)[:, None],
    "pandas object": pd.Series(LETTERS, dtype=object),
    "pandas str": pd.Series(LETTERS, dtype="str"),
    "pandas string[python]": pd.Series(LETTERS, dtype=pd.StringDtype("python")),
    "pandas string[pyarrow]": pd.Series(LETTERS, dtype=pd.StringDtype("pyarrow")),
    "pandas arrow": pd.Series(LETTERS, dtype=pd.ArrowDtype(pa.string())),
    "pandas category": pd.Series(LETTERS, dtype="category"),
    "pandas Categorical": pd.Categorical(LETTERS),
    "pandas Index": pd.Index(LETTERS),
    "pandas, index not 0…n-1": pd.Series(LETTERS, index=range(6, 0, -1)),
    "polars String": pl.Series(LETTERS),
    "polars Categorical": pl.Series(LETTERS, dtype=pl.Categorical),
    "polars Enum": pl.Series(LETTERS, dtype=pl.Enum(["c", "b", "a"])),
    "polars frame of one column": pl.DataFrame({"x": LETTERS}),
    "polars lazy frame of one column": pl.DataFrame({"x": LETTERS}).lazy(),
    "pyarrow array": pa.array(LETTERS),
    "pyarrow large string": pa.array(LETTERS, type=pa.large_string()),
    "pyarrow chunked": pa.chunked_array([LETTERS[:2], LETTERS[2:]]),
    "pyarrow dictionary": pa.array(LETTERS).dictionary_encode(),
    "pyarrow chunked dictionary": pa.chunked_array([pa.array(LETTERS).dictionary_encode()]),
    "pyarrow table of one column": pa.table({"x": LETTERS}),
}


@pytest.mark.parametrize("kind", LETTER_COLUMNS)
def test_every_kind_of_text_column_gives_the_same_values(kind: str) -> None:
    assert values_of(factorize(LETTER_COLUMNS[kind], "x")) == LETTERS


NUMBER_COLUMNS = {
    "list": list(NUMBERS),
    "list of floats": [float(v) for v in NUMBERS],
    "range": range(3),
    **{f"numpy {t}": np.array(NUMBERS, dtype=t) for t in ("i1", "u1", "i8", "u8", "f4", "f8", "O")},
    **{
        f"pandas {t}": pd.Series(NUMBERS, dtype=t)
        for t in ("int8", "int64", "Int64", "Float64", "float32", "UInt8")
    },
    "pandas arrow": pd.Series(NUMBERS, dtype=pd.ArrowDtype(pa.int32())),
    "pandas category": pd.Series(NUMBERS, dtype="category"),
    "polars": pl.Series(NUMBERS),
    "polars UInt8": pl.Series(NUMBERS, dtype=pl.UInt8),
    "pyarrow": pa.array(NUMBERS),
    "pyarrow chunked": pa.chunked_array([NUMBERS]),
}


@pytest.mark.parametrize("kind", NUMBER_COLUMNS)
def test_every_kind_of_number_column_gives_the_same_values(kind: str) -> None:
    wanted = list(range(3)) if kind == "range" else NUMBERS
    found = values_of(factorize(NUMBER_COLUMNS[kind], "x"))
    assert found == wanted
    assert {type(v) for v in found} == {int}, (
        "whole numbers are told by whole numbers, whatever held them"
    )


BOOLEANS = [True, False, True, True]
BOOLEAN_COLUMNS = {
    "list": list(BOOLEANS),
    "numpy": np.array(BOOLEANS),
    "numpy object": np.array(BOOLEANS, dtype=object),
    "pandas bool": pd.Series(BOOLEANS),
    "pandas boolean": pd.Series(BOOLEANS, dtype="boolean"),
    "pandas arrow": pd.Series(BOOLEANS, dtype=pd.ArrowDtype(pa.bool_())),
    "polars": pl.Series(BOOLEANS),
    "pyarrow": pa.array(BOOLEANS),
    "pyarrow chunked": pa.chunked_array([BOOLEANS]),
}


@pytest.mark.parametrize("kind", BOOLEAN_COLUMNS)
def test_every_kind_of_boolean_column_gives_the_same_values(kind: str) -> None:
    found = values_of(factorize(BOOLEAN_COLUMNS[kind], "x"))
    assert found == BOOLEANS
    assert {type(v) for v in found} == {bool}


MISSING_COLUMNS = {
    "list with None": ["a", None, "b"],
    "list with NaN": ["a", float("nan"), "b"],
    "numpy object": np.array(["a", None, "b"], dtype=object),
    "pandas object": pd.Series(["a", None, "b"], dtype=object),
    "pandas str": pd.Series(["a", None, "b"], dtype="str"),
    "pandas string": pd.Series(["a", pd.NA, "b"], dtype="string"),
    "pandas category": pd.Series(["a", None, "b"], dtype="category"),
    "polars String": pl.Series(["a", None, "b"]),
    "polars Categorical": pl.Series(["a", None, "b"], dtype=pl.Categorical),
    "polars Enum": pl.Series(["a", None, "b"], dtype=pl.Enum(["a", "b"])),
    "pyarrow": pa.array(["a", None, "b"]),
    "pyarrow chunked": pa.chunked_array([["a", None, "b"]]),
    "pyarrow dictionary": pa.array(["a", None, "b"]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", MISSING_COLUMNS)
def test_missing_text_is_missing_in_every_kind(kind: str) -> None:
    factor = factorize(MISSING_COLUMNS[kind], "x")
    assert values_of(factor) == ["a", None, "b"]
    assert factor.has_missing


MISSING_NUMBERS = {
    "list with None": [1, None, 0],
    "list with NaN": [1, float("nan"), 0],
    "numpy": np.array([1.0, np.nan, 0.0]),
    "pandas float": pd.Series([1.0, np.nan, 0.0]),
    "pandas Int64": pd.Series([1, pd.NA, 0], dtype="Int64"),
    "pandas arrow": pd.Series([1, None, 0], dtype=pd.ArrowDtype(pa.int64())),
    "polars": pl.Series([1, None, 0]),
    "polars NaN": pl.Series([1.0, float("nan"), 0.0]),
    "pyarrow": pa.array([1, None, 0]),
    "pyarrow chunked": pa.chunked_array([[1, None, 0]]),
}


@pytest.mark.parametrize("kind", MISSING_NUMBERS)
def test_missing_numbers_are_missing_in_every_kind(kind: str) -> None:
    assert values_of(factorize(MISSING_NUMBERS[kind], "x")) == [1, None, 0]


MISSING_BOOLEANS = {
    "list": [True, None, False],
    "pandas boolean": pd.Series([True, pd.NA, False], dtype="boolean"),
    "polars": pl.Series([True, None, False]),
    "pyarrow": pa.array([True, None, False]),
    "pyarrow chunked": pa.chunked_array([[True, None, False]]),
}


@pytest.mark.parametrize("kind", MISSING_BOOLEANS)
def test_missing_booleans_are_missing_in_every_kind(kind: str) -> None:
    assert values_of(factorize(MISSING_BOOLEANS[kind], "x")) == [True, None, False]


def test_declared_categories_keep_their_order_and_lose_the_empty_ones() -> None:
    """An ordinary filter leaves categories without rows behind; they are no levels."""
    enum = pl.Series(["a", "c", "a"], dtype=pl.Enum(["c", "b", "a"]))
    for column in (pd.Categorical(["a", "c", "a"], categories=["c", "b", "a"]), enum):
        factor = factorize(column, "x")
        assert factor.levels == ("c", "a")
        assert factor.codes.tolist() == [1, 0, 1]
        assert factor.declared == ("c", "b", "a")
        assert factor.ordered_by_user


def test_a_polars_categorical_knows_only_its_own_values() -> None:
    """polars keeps the categories of all columns in one place.

    Those of other columns are not groups here.
    """
    other = pl.Series(["zebra", "gnu"], dtype=pl.Categorical)
    factor = factorize(pl.Series(["a", "b", "a"], dtype=pl.Categorical), "x")
    assert set(factor.levels) == {"a", "b"}
    assert other.len() == 2


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=40))
def test_integers_as_pandas_factorises_them(numbers: list[int]) -> None:
    factor = factorize(np.array(numbers), "x")
    assert values_of(factor) == numbers
    assert len(factor.levels) == len(pd.unique(np.array(numbers)))


def test_unsigned_integers_beyond_the_signed_range() -> None:
    numbers = [2**64 - 1, 2**64 - 2, 2**64 - 1]
    assert values_of(factorize(np.array(numbers, dtype="u8"), "x")) == numbers


@given(
    st.lists(
        st.one_of(st.text(st.characters(codec="utf-8"), max_size=3), st.none()),
        min_size=1,
        max_size=30,
    )
)
def test_text_with_gaps_comes_back(letters: list[str | None]) -> None:
    assert values_of(factorize(np.array(letters, dtype=object), "x")) == [
        letter or None for letter in letters
    ]


def test_mixed_types_in_a_list_stay_apart() -> None:
    """NumPy would make text of all of them."""
    assert values_of(factorize([1, "a", None, 2.5, b"b"], "x")) == [1, "a", None, 2.5, b"b"]


@pytest.mark.parametrize(
    ("values", "both"),
    [
        ([1, "1"], "both 1 and '1'"),
        (["a", b"a"], "both 'a' and b'a'"),
        ([True, "True"], "both True and"),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "kind", [list, pd.Series, lambda v: np.array(v, dtype=object)], ids=["list", "pandas", "object"]
)
def test_values_of_two_types_that_read_alike_are_refused(values: Any, both: str, kind: Any) -> None:
    with pytest.raises(InputError, match=f"`x`: got {both}.*To fix: convert x to one type"):
        factorize(kind(values), "x")


MASK = [False, True, False]
MASKED = {
    "floats": (np.ma.array([1.0, 9.0, 0.0], mask=MASK), [1, None, 0]),
    "whole numbers": (np.ma.array([1, 9, 0], mask=MASK), [1, None, 0]),
    "booleans": (np.ma.array([True, True, False], mask=MASK), [True, None, False]),
    "text": (np.ma.array(["a", "z", "b"], mask=MASK), ["a", None, "b"]),
    "objects": (np.ma.array(["a", "z", 2], mask=MASK, dtype=object), ["a", None, 2]),
    "list with a masked entry": ([1, np.ma.masked, 0], [1, None, 0]),
    "nothing hidden": (np.ma.array([1, 9, 0]), [1, 9, 0]),
}


@pytest.mark.parametrize("kind", MASKED)
def test_what_a_mask_hides_is_missing(kind: str) -> None:
    column, wanted = MASKED[kind]
    assert values_of(factorize(column, "x")) == wanted


def test_what_a_mask_hides_is_no_number() -> None:
    for column in (
        np.ma.array([1.0, 9.0], mask=[0, 1]),
        np.ma.array([1, 9], mask=[0, 1]),
        [1.0, np.ma.masked],
    ):
        np.testing.assert_array_equal(as_float_column(column, "score"), [1.0, np.nan])


NO_NUMBERS = {
    "text that reads like a number": ["0.5", "0.7"],
    "bytes": [b"0.5", b"0.7"],
    "an array of text": np.array(["0.5", "0.7"]),
    "text among objects": np.array([0.5, "0.7"], dtype=object),
    "a column of text": pd.Series(["0.5", "0.7"]),
    "categories of text": pd.Series(["0.5", "0.7"], dtype="category"),
    "polars text": pl.Series(["0.5", "0.7"]),
    "complex numbers": np.array([0.5 + 1j, 0.7]),
    "a list of complex numbers": [0.5 + 1j, 0.7],
    "dates": pd.date_range("2020-01-01", periods=2),
    "NumPy's dates": np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"),
    "durations": pd.to_timedelta([1, 2], unit="D"),
    "a MultiIndex": pd.MultiIndex.from_tuples([(1, 2), (3, 4)]),
    "a generator": (v for v in [0.5, 0.7]),
    "a set": {0.5, 0.7},
    "lists": [[0.5], [0.7, 0.8]],
    "whole numbers beyond a float": [10**400, 1],
}


@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_what_is_no_number_is_refused(kind: str) -> None:
    with pytest.raises(InputError, match="^`score`: got .*; allowed: one .* To fix: ") as caught:
        as_float_column(NO_NUMBERS[kind], "score")
    assert caught.value.cure is not None


NO_LABELS = {
    "lists": np.array([[1], [2, 3], None], dtype=object)[:2],
    "sets": np.array([{1}, {2}], dtype=object),
    "a MultiIndex": pd.MultiIndex.from_tuples([(1, 2), (3, 4)]),
    "a generator": (v for v in "ab"),
    "a frame of two columns": pd.DataFrame({"a": [1], "b": [2]}),
}


@pytest.mark.parametrize("kind", NO_LABELS)
def test_what_cannot_be_told_apart_is_refused(kind: str) -> None:
    with pytest.raises(InputError, match="^`y_pred`: got .*; allowed: one .* To fix: "):
        factorize(NO_LABELS[kind], "y_pred")


def test_codes_are_as_small_as_they_can_be() -> None:
    assert factorize(np.arange(100), "x").codes.dtype == np.int8
    assert factorize(np.arange(1_000), "x").codes.dtype == np.int16
    assert factorize(np.arange(100_000) * 7, "x").codes.dtype == np.int32


@pytest.mark.parametrize(
    "values",
    [
        np.zeros((3, 2)),
        np.zeros((2, 2, 2)),
        np.array(1),
        1,
        None,
        "abc",
        {1, 2},
        pl.DataFrame({"x": [1], "y": [2]}),
    ],
    ids=str,
)
def test_more_or_less_than_one_dimension_is_refused(values: Any) -> None:
    with pytest.raises(
        InputError,
        match=(
            "`y_pred`: got (an array of shape|a value of type) .* To fix: pass y_pred as a single"
            " column"
        ),
    ):
        as_column(values, "y_pred")


def test_a_ragged_list_is_refused() -> None:
    with pytest.raises(InputError, match="`y_pred`: got a list that NumPy cannot read"):
        as_column([[1, 2], [3]], "y_pred")


@pytest.mark.parametrize(
    "values",
    [
        [0.25, 0.5],
        (0.25, 0.5),
        np.array([0.25, 0.5], dtype=np.float32),
        pd.Series([0.25, 0.5], dtype="Float64"),
        pd.Series([0.25, 0.5], dtype=pd.ArrowDtype(pa.float64())),
        pl.Series([0.25, 0.5]),
        pa.array([0.25, 0.5]),
        pa.chunked_array([[0.25], [0.5]]),
    ],
    ids=lambda v: type(v).__name__,
)
def test_float_columns(values: Any) -> None:
    found = as_float_column(values, "score")
    assert found.dtype == np.float64
    assert found.tolist() == [0.25, 0.5]


@pytest.mark.parametrize(
    "values",
    [
        [1, None],
        pd.Series([1, pd.NA], dtype="Int64"),
        pl.Series([1, None]),
        pa.array([1, None]),
        pa.chunked_array([[1, None]]),
    ],
    ids=lambda v: type(v).__name__,
)
def test_missing_numbers_become_nan(values: Any) -> None:
    np.testing.assert_array_equal(as_float_column(values, "score"), [1.0, np.nan])


def test_text_is_not_a_float_column() -> None:
    with pytest.raises(
        InputError, match="`score`: got values that are not numbers .* To fix: convert score"
    ):
        as_float_column(["high", "low"], "score")


def test_label_text() -> None:
    assert [label_text(v) for v in ("a", 1, True, 2.5)] == ["a", "1", "True", "2.5"]
