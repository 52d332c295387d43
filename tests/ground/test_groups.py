"""Groups: intersections, and an order that is never an accident."""

from __future__ import annotations

import datetime
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairstats.ground.encoding import MISSING
from fairstats.ground.errors import DataWarning, InputError
from fairstats.ground.groups import (
    MAX_CROSSED,
    Grouping,
    encode_groups,
    find_reference,
    group_index,
)

pl = pytest.importorskip("polars", reason="polars is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

SEX = ["F", "M", "M", "F", "M", "M"]
RACE = ["x", "x", "y", "y", "x", "y"]


def labels_of(grouping: Grouping) -> list[str | None]:
    """Label of each row; None where missing."""
    return [None if code == MISSING else grouping.labels[code] for code in grouping.codes.tolist()]


# ---------------------------------------------------------------- one column


def test_the_largest_group_comes_first_and_equal_ones_by_label() -> None:
    grouping = encode_groups(["c", "b", "b", "a", "c", "d"])
    assert grouping.labels == ("b", "c", "a", "d")


@given(
    st.lists(st.sampled_from("abcde"), min_size=1, max_size=30), st.randoms(use_true_random=False)
)
def test_the_order_of_the_rows_does_not_matter(letters: list[str], random: Any) -> None:
    """Witness: counting with `collections.Counter`."""
    shuffled = random.sample(letters, len(letters))
    wanted = tuple(sorted(set(letters), key=lambda v: (-Counter(letters)[v], v)))
    assert encode_groups(letters).labels == encode_groups(shuffled).labels == wanted
    assert labels_of(encode_groups(shuffled)) == shuffled


@pytest.mark.parametrize(
    "column",
    [
        pl.Series(["a", "b", "b"], dtype=pl.Categorical),
        pa.chunked_array([pa.array(["a", "b", "b"]).dictionary_encode()]),
        pd.Series(["a", "b", "b"], dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
    ],
    ids=["polars Categorical", "pyarrow dictionary", "pandas arrow dictionary"],
)
def test_the_order_of_appearance_is_no_declared_order(column: Any) -> None:
    """Dictionary-encoded text lists its values as they came; that is an accident of the rows."""
    assert encode_groups(column).labels == ("b", "a")


def test_a_declared_order_is_kept_without_its_empty_groups() -> None:
    column = pd.Categorical(["a", "a", "c"], categories=["c", "b", "a"], ordered=True)
    with pytest.warns(
        DataWarning, match="group: of the declared values 'b' has no rows, and no place"
    ):
        assert encode_groups(column).labels == ("c", "a")
    assert encode_groups(column, groups=["c", "b", "a"]).labels == ("c", "b", "a")


def test_groups_gives_the_order() -> None:
    grouping = encode_groups(["a", "b", "b"], groups=["a", "b"])
    assert grouping.labels == ("a", "b")
    assert labels_of(grouping) == ["a", "b", "b"]


def test_groups_declares_a_group_without_rows() -> None:
    grouping = encode_groups(["a", "b", "b"], groups=["a", "z", "b"])
    assert grouping.labels == ("a", "z", "b")
    assert labels_of(grouping) == ["a", "b", "b"]


@pytest.mark.parametrize(
    "values", [[1, 2, 2], [True, False, False], [1.5, 2.5, 2.5], np.array([1, 2, 2])], ids=str
)
def test_groups_by_value_and_by_label(values: Any) -> None:
    levels = list(dict.fromkeys(np.asarray(values).tolist()))
    assert encode_groups(values, groups=levels).labels == tuple(map(str, levels))
    assert encode_groups(values, groups=[str(v) for v in levels]).labels == tuple(map(str, levels))


@pytest.mark.parametrize("groups", [["a"], ["a", "a", "b"], [], ["a", "z"]], ids=str)
def test_groups_that_leave_one_out_or_name_one_twice(groups: list[str]) -> None:
    with pytest.raises(InputError, match=r"`groups`: got .* To fix: list all groups"):
        encode_groups(["a", "b", "b"], groups=groups)


@pytest.mark.parametrize("groups", [5, 1.5, np.array("a")], ids=repr)
def test_groups_that_are_no_list(groups: Any) -> None:
    with pytest.raises(InputError, match="`groups`"):
        encode_groups(["a", "b", "b"], groups=groups)


ONE = [1, 1.0, np.float64(1), np.int8(1), True, np.bool_(True), "1"]


@pytest.mark.parametrize("group", ONE, ids=repr)
@pytest.mark.parametrize(
    "column", [[0, 1, 1], [0.0, 1.0, 1.0], np.array([0, 1, 1], dtype="u1")], ids=str
)
def test_a_group_is_found_by_its_value(column: Any, group: Any) -> None:
    labels = encode_groups(column).labels
    assert labels[group_index(labels, group, "reference")] == "1"
    assert labels[find_reference(labels, group, sizes=np.array([2, 1]))[0]] == "1"
    assert encode_groups(column, groups=[0, group]).labels == ("0", "1")


@pytest.mark.parametrize("group", [*ONE[:-1], "True"], ids=repr)
def test_a_truth_value_is_found_by_its_value(group: Any) -> None:
    labels = encode_groups([False, True, True]).labels
    assert labels[group_index(labels, group, "reference")] == "True"
    assert encode_groups([False, True, True], groups=[0, group]).labels == ("False", "True")


@pytest.mark.parametrize(
    "day", [datetime.date(2020, 1, 2), np.datetime64("2020-01-02"), pd.Timestamp("2020-01-02")]
)
def test_a_day_is_found_by_its_value(day: Any) -> None:
    labels = encode_groups(pd.to_datetime(["2020-01-02", "2021-01-01"])).labels
    assert group_index(labels, day, "reference") == labels.index("2020-01-02")


@pytest.mark.parametrize(
    "group",
    [np.array([1, 2]), pd.NA, float("nan"), [1], {1}, pd.Series([1]), object(), None, 1 + 2j],
    ids=lambda v: type(v).__name__,
)
def test_what_names_no_group_is_refused(group: Any) -> None:
    with pytest.raises(
        InputError, match="^`pair`: got .*; allowed: one of '1', '2'. To fix: name an existing"
    ):
        group_index(("1", "2"), group, "pair")
    if group is not None and not isinstance(group, list):  # in groups=, a list is an intersection
        with pytest.raises(InputError, match="^`reference`: got "):
            find_reference(("1", "2"), group, sizes=np.array([2, 1]), rates=np.array([0.5, 0.5]))
        with pytest.raises(InputError, match="^`groups`: got "):
            encode_groups([1, 2], groups=[group, 2])


def test_a_real_value_missing_is_not_merged_with_missing_ones() -> None:
    grouping = encode_groups(["(missing)", None, "a", "(missing)"], missing="group")
    assert labels_of(grouping) == ["(missing)", "((missing))", "a", "(missing)"]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(SEX, name="sex"),
        pl.Series("sex", SEX),
        pd.DataFrame({"sex": SEX}),
        pl.DataFrame({"sex": SEX}),
        pl.LazyFrame({"sex": SEX}),
        pa.table({"sex": SEX}),
        {"sex": SEX},
        pd.Index(SEX, name="sex"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_the_column_brings_its_name(column: Any) -> None:
    grouping = encode_groups(column)
    assert grouping.attributes == ("sex",)
    assert grouping.labels == ("M", "F")


@pytest.mark.parametrize(
    "column",
    [SEX, tuple(SEX), np.array(SEX), pa.array(SEX), pd.Series(SEX), pl.Series(SEX)],
    ids=lambda v: type(v).__name__,
)
def test_a_nameless_column_is_called_group(column: Any) -> None:
    assert encode_groups(column).attributes == ("group",)


# ---------------------------------------------------------------- missing values


def test_missing_is_a_group_only_when_asked_for() -> None:
    assert encode_groups(["a", None, "a"]).codes.tolist() == [0, MISSING, 0]
    grouping = encode_groups(["a", None, "a"], missing="group")
    assert labels_of(grouping) == ["a", "(missing)", "a"]
    assert grouping.n_missing == 1
    assert encode_groups(["a", "b"], missing="group").labels == ("a", "b")


def test_missing_in_one_of_two_attributes_makes_an_intersection() -> None:
    grouping = encode_groups({"sex": ["F", None, "M"], "race": ["x", "x", None]}, missing="group")
    assert labels_of(grouping) == ["F & x", "(missing) & x", "M & (missing)"]
    assert grouping.n_missing == 2
    assert encode_groups({"sex": ["F", None, "M"], "race": ["x", "x", None]}).codes.tolist()[
        1:
    ] == [MISSING, MISSING]


# ---------------------------------------------------------------- intersections

TWO_COLUMNS = {
    "pandas": pd.DataFrame({"sex": SEX, "race": RACE}),
    "pandas, categories": pd.DataFrame(
        {"sex": pd.Categorical(SEX, ["M", "F"]), "race": pd.Categorical(RACE)}
    ),
    "polars": pl.DataFrame({"sex": SEX, "race": RACE}),
    "polars lazy": pl.LazyFrame({"sex": SEX, "race": RACE}),
    "pyarrow": pa.table({"sex": SEX, "race": RACE}),
    "mapping": {"sex": SEX, "race": np.array(RACE)},
    "numpy": np.array([SEX, RACE]).T,
    "rows": [list(pair) for pair in zip(SEX, RACE, strict=True)],
    "tuples": list(zip(SEX, RACE, strict=True)),
}


@pytest.mark.parametrize("kind", TWO_COLUMNS)
def test_two_columns_are_crossed(kind: str) -> None:
    grouping = encode_groups(TWO_COLUMNS[kind])
    assert labels_of(grouping) == [f"{s} & {r}" for s, r in zip(SEX, RACE, strict=True)]
    assert set(grouping.labels) == {"F & x", "M & x", "M & y", "F & y"}
    assert set(grouping.levels) == set(product("FM", "xy"))
    if kind not in {"numpy", "rows", "tuples"}:
        assert grouping.attributes == ("sex", "race")


def test_the_largest_intersection_comes_first_unless_all_columns_declare_an_order() -> None:
    assert encode_groups({"s": SEX, "r": RACE}).labels == ("M & x", "M & y", "F & x", "F & y")
    declared = encode_groups(
        {"s": pd.Categorical(SEX, ["F", "M"]), "r": pd.Categorical(RACE, ["y", "x"])}
    )
    assert declared.labels == ("F & y", "F & x", "M & y", "M & x")


def test_an_intersection_without_rows_is_kept_while_there_are_few() -> None:
    grouping = encode_groups({"s": ["F", "M"], "r": ["x", "y"]})
    assert len(grouping.labels) == 4
    many = encode_groups({"s": list(range(20)), "r": list(range(20))})
    assert MAX_CROSSED < 20 * 20
    assert len(many.labels) == 20


def test_three_columns() -> None:
    grouping = encode_groups({"a": [1, 2], "b": ["x", "y"], "c": [True, False]})
    assert labels_of(grouping) == ["1 & x & True", "2 & y & False"]


def test_very_many_intersections_are_right_or_refused() -> None:
    """10^5 levels in each of five columns.

    Their product has 25 digits, more than an integer holds.
    """
    rng = np.random.default_rng(1)
    columns = {
        f"c{j}": np.concatenate([rng.permutation(100_000)[:200], np.arange(100_000)])
        for j in range(5)
    }
    rows = list(zip(*(c[:50].tolist() for c in columns.values()), strict=True))
    try:
        grouping = encode_groups(columns)
    except InputError as problem:
        assert "sensitive_features" in str(problem)  # noqa: PT017
    else:
        assert [grouping.levels[code] for code in grouping.codes[:50]] == rows


@pytest.mark.parametrize(
    "order",
    [
        [("M", "x"), ("F", "y"), ("F", "x"), ("M", "y")],
        ["M & x", "F & y", "F & x", "M & y"],
        [["M", "x"], ["F", "y"], ["F", "x"], ["M", "y"]],
    ],
    ids=str,
)
def test_intersections_in_a_given_order(order: list[Any]) -> None:
    grouping = encode_groups({"s": SEX, "r": RACE}, groups=order)
    assert grouping.labels == ("M & x", "F & y", "F & x", "M & y")
    assert labels_of(grouping) == [f"{s} & {r}" for s, r in zip(SEX, RACE, strict=True)]


@pytest.mark.parametrize(
    "columns",
    [{"s": SEX, "r": RACE[:4]}, [["F", "x"], ["M"], ["M", "y"]], [("F",), ("M", "x")]],
    ids=["mapping", "ragged rows", "ragged tuples"],
)
def test_columns_of_different_lengths(columns: Any) -> None:
    """A ragged row must not make the other rows lose their second attribute."""
    with pytest.raises(InputError, match="`sensitive_features`"):
        encode_groups(columns)


def test_an_empty_mapping() -> None:
    with pytest.raises(InputError, match="`sensitive_features`: got no columns"):
        encode_groups({})


def test_columns_of_one_name() -> None:
    """Two columns of one name are two attributes, or an error of ours; never one of them."""
    frame = pd.DataFrame(np.array([SEX, RACE]).T, columns=["s", "s"])
    try:
        labels = labels_of(encode_groups(frame))
    except InputError as problem:
        assert "sensitive_features" in str(problem)  # noqa: PT017
    else:
        assert labels == [f"{s} & {r}" for s, r in zip(SEX, RACE, strict=True)]


# ---------------------------------------------------------------- naming a group


def test_group_index_by_value_and_label() -> None:
    assert group_index(("F", "M"), "M", "reference") == 1
    assert group_index(("0", "1"), 1, "reference") == 1
    assert group_index(("F & x", "M & x"), ("M", "x"), "reference") == 1
    assert group_index(("a", "b"), 7, "reference", levels=(3, 7)) == 1


def test_an_unknown_group_is_told_with_those_that_are_there() -> None:
    with pytest.raises(InputError, match="`reference`: got 'Martian'; allowed: one of 'F', 'M'"):
        group_index(("F", "M"), "Martian", "reference")


SIZES = np.array([5, 9, 9])
RATES = np.array([0.9, 0.2, np.nan])


@pytest.mark.parametrize(
    ("reference", "wanted"),
    [
        (None, (1, "largest")),
        ("largest", (1, "largest")),
        ("highest", (0, "highest")),
        ("c", (2, "named")),
    ],
)
def test_find_reference(reference: Any, wanted: tuple[int, str]) -> None:
    assert find_reference(("a", "b", "c"), reference, sizes=SIZES, rates=RATES) == wanted


def test_a_group_called_like_a_rule_is_that_group() -> None:
    assert find_reference(("highest", "largest", "c"), "highest", sizes=SIZES, rates=RATES) == (
        0,
        "named",
    )
    assert find_reference(("x", "largest", "y"), "largest", sizes=np.array([9, 1, 1])) == (
        1,
        "named",
    )


def test_highest_without_any_rate_is_the_largest() -> None:
    assert find_reference(
        ("a", "b"), "highest", sizes=np.array([1, 2]), rates=np.full(2, np.nan)
    ) == (1, "largest")


def test_an_unknown_reference() -> None:
    with pytest.raises(InputError, match="`reference`: got 'z'; allowed: one of 'a', 'b', 'c'"):
        find_reference(("a", "b", "c"), "z", sizes=SIZES, rates=RATES)


NO_COLUMNS = {
    "a frame without columns": pd.DataFrame(index=range(3)),
    "an array without columns": np.zeros((3, 0)),
    "rows without values": [[], [], []],
    "names that read alike": {1: [1, 2], "1": [1, 2]},
    "lists as values": np.array([[1], [1, 2], None], dtype=object)[:2],
    "a MultiIndex": pd.MultiIndex.from_tuples([(1, 2), (3, 4)]),
    "a number": 3,
    "a text": "sex",
}


@pytest.mark.parametrize("kind", NO_COLUMNS)
def test_no_columns_of_groups(kind: str) -> None:
    with pytest.raises(
        InputError, match="^`sensitive_features`: got .*; allowed: (one|columns) .* To fix: "
    ):
        encode_groups(NO_COLUMNS[kind])
