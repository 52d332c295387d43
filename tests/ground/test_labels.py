"""Which value of a label column counts as favourable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairstats.ground.encoding import MISSING, binary_codes, binary_columns
from fairstats.ground.errors import DataWarning, InputError


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([0, 1, 1], [0, 1, 1]),
        ([0.0, 1.0, 1.0], [0, 1, 1]),
        ([False, True, True], [0, 1, 1]),
        ([-1, 1, 1], [0, 1, 1]),
        ([0, 0, 0], [0, 0, 0]),
        ([1, 1, 1], [1, 1, 1]),
        ([-1, -1, -1], [0, 0, 0]),
        (pd.Series([0, 1, 1], dtype="category"), [0, 1, 1]),
        *(
            ([no, yes, yes], [0, 1, 1])
            for no, yes in ("01", ("False", "True"), ("false", "true"), ("FALSE", "TRUE"))
        ),
    ],
    ids=str,
)
def test_labels_that_need_no_pos_label(values: Any, codes: list[int]) -> None:
    assert binary_codes(values, "y_true").codes.tolist() == codes


@pytest.mark.parametrize(
    ("values", "pos_label"),
    [
        (["no", "yes", "yes"], "yes"),
        ([2, 1, 1], 1),
        ([1, 0, 0], 0),
        ([True, False, False], False),
        ([False, True, True], True),
        (pd.Categorical(["bad", "good", "good"], categories=["good", "bad"]), "good"),
    ],
    ids=str,
)
def test_pos_label_names_the_favourable_value(values: Any, pos_label: Any) -> None:
    assert binary_codes(values, "y_true", pos_label).codes.tolist() == [0, 1, 1]


# A value is favourable when it equals pos_label, whatever type holds it: 1, 1.0, True and their
# columns.
@pytest.mark.parametrize(
    "pos_label", [1, 1.0, True, np.int64(1), np.float64(1), np.bool_(True)], ids=repr
)
@pytest.mark.parametrize(
    "values",
    [[0, 1, 1], [0.0, 1.0, 1.0], [False, True, True], np.array([0, 1, 1], dtype="f4")],
    ids=repr,
)
def test_pos_label_is_compared_by_value(values: Any, pos_label: Any) -> None:
    found = binary_columns(pos_label, y_true=values, y_pred=values)
    for factor in found.values():
        assert factor is not None
        assert factor.codes.tolist() == [0, 1, 1]


def test_three_classes_with_pos_label_are_one_against_the_rest() -> None:
    assert binary_codes(["a", "b", "c", "b"], "y_true", "b").codes.tolist() == [0, 1, 0, 1]


def test_missing_labels_are_minus_one() -> None:
    assert binary_codes([1, None, 0], "y_true").codes.tolist() == [1, MISSING, 0]
    assert binary_codes(["y", None, "n"], "y_true", "y").codes.tolist() == [1, MISSING, 0]


@pytest.mark.parametrize(
    "values", [["no", "yes"], [1, 2], [0, 1, 2], [0.5, 1.0], [-1, 0, 1], ["0", "yes"]], ids=str
)
def test_the_favourable_value_is_never_guessed(values: Any) -> None:
    with pytest.raises(InputError, match=r"`y_pred`: got the values .* To fix: pass pos_label="):
        binary_codes(values, "y_pred")


def test_many_values_are_not_all_listed() -> None:
    with pytest.raises(InputError, match=r"0, 1, 2, 3, 4, 5, 6, 7, …"):
        binary_codes(list(range(20)), "y_true")


def test_a_mapping_gives_each_column_its_own() -> None:
    found = binary_columns(
        {"y_true": "good", "y_pred": 2}, y_true=["good", "bad", "good"], y_pred=[1, 2, 2]
    )
    assert found["y_true"] is not None
    assert found["y_pred"] is not None
    assert found["y_true"].codes.tolist() == [1, 0, 1]
    assert found["y_pred"].codes.tolist() == [0, 1, 1]


def test_a_mapping_with_an_unknown_column_is_refused() -> None:
    with pytest.raises(InputError, match=r"`pos_label`: got a mapping with \['label'\]"):
        binary_columns({"label": 1}, y_true=[0, 1], y_pred=[0, 1])


def test_pos_label_that_occurs_nowhere_is_refused() -> None:
    with pytest.raises(
        InputError, match="`pos_label`: got 'maybe', which does not occur in y_true"
    ):
        binary_columns("maybe", y_true=["no", "yes"], y_pred=["no", "yes"])


def test_pos_label_that_one_column_spells_differently_is_refused() -> None:
    """Otherwise every prediction would count as unfavourable."""
    with pytest.raises(InputError, match="does not occur in y_pred; .*a mapping"):
        binary_columns(">50K", y_true=["<=50K", ">50K"], y_pred=["<=50K.", ">50K."])


def test_a_constant_column_without_the_favourable_value_is_told() -> None:
    with pytest.warns(DataWarning, match="every row of y_pred counts as unfavourable"):
        found = binary_columns("yes", y_true=["no", "yes"], y_pred=["no", "no"])
    assert found["y_pred"] is not None
    assert found["y_pred"].codes.tolist() == [0, 0]


def test_none_stays_none() -> None:
    assert binary_columns(None, y_true=None, y_pred=[0, 1])["y_true"] is None
