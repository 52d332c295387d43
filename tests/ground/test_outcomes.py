"""Validated columns: lengths, weights, scores, and what is done about missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairstats.ground.errors import DataWarning, InputError, MissingValuesWarning
from fairstats.ground.outcomes import MissingReport, Outcomes, on_unit_interval

Y = [1, 0, 1, 0, 1]
P = [1, 1, 0, 0, 1]
G = ["a", "a", "b", "b", "b"]


def outcomes(**changes: Any) -> Outcomes:
    given_columns: dict[str, Any] = {"y_true": Y, "y_pred": P, "sensitive_features": G}
    return Outcomes.from_arrays(**{**given_columns, **changes})


def test_columns_become_codes() -> None:
    found = outcomes(
        score=[0.1, 0.2, 0.3, 0.4, 1.0], sample_weight=[1, 2, 3, 4, 0], cluster=list("xxyyz")
    )
    assert found.n_rows == 5
    assert found.y_true is not None
    assert found.y_true.tolist() == Y
    assert found.y_pred is not None
    assert found.y_pred.tolist() == P
    assert found.score is not None
    assert found.score.tolist() == [0.1, 0.2, 0.3, 0.4, 1.0]
    assert found.weight is not None
    assert found.weight.tolist() == [1, 2, 3, 4, 0]
    assert found.cluster is not None
    assert found.cluster.codes.tolist() == [0, 0, 1, 1, 2]
    assert [found.groups.labels[c] for c in found.groups.codes] == G
    assert found.missing == MissingReport(n_rows=5, by_column=found.missing.by_column)
    assert found.missing.n_dropped == 0


# ---------------------------------------------------------------- bad input: argument → (change,
# words of the message)
BAD = {
    "lengths differ": ({"y_pred": P[:4]}, "different lengths: .*y_true 5, y_pred 4"),
    "groups too short": ({"sensitive_features": G[:3]}, "different lengths: sensitive_features 3"),
    "weights too long": ({"sample_weight": [1.0] * 6}, "sample_weight 6"),
    "no rows": ({"y_true": [], "y_pred": [], "sensitive_features": []}, "0 rows.* pass data"),
    "no groups": ({"sensitive_features": None}, "`sensitive_features`: got None"),
    "negative weights": (
        {"sample_weight": [1, -1, 1, 1, 1]},
        r"`sample_weight`: got 1 negative values \(least -1\)",
    ),
    "NaN weights": (
        {"sample_weight": [1, np.nan, 1, 1, 1]},
        "`sample_weight`: got 1 values that are NaN",
    ),
    "infinite weights": (
        {"sample_weight": [1, np.inf, 1, 1, 1]},
        "`sample_weight`: got 1 values that are NaN or inf",
    ),
    "all weights zero": ({"sample_weight": [0] * 5}, "`sample_weight`: got only zeros"),
    "weights of text": (
        {"sample_weight": list("abcde")},
        "`sample_weight`: got values that are not numbers",
    ),
    "weights beyond squares": (
        {"sample_weight": [1e308] * 5},
        "`sample_weight`: got a largest weight of 1e[+]308",
    ),
    "weights that vanish": (
        {"sample_weight": [1e-300] * 5},
        "`sample_weight`: got a largest weight of 1e-300",
    ),
    "weights of text numbers": (
        {"sample_weight": ["1"] * 5},
        "`sample_weight`: got values that are not numbers",
    ),
    "weights of a MultiIndex": (
        {"sample_weight": pd.MultiIndex.from_tuples([(1, 2)] * 5)},
        "`sample_weight`: got an array of shape",
    ),
    "score masked": (
        {"score": np.ma.array([0.1, 140, 0.3, 0.4, 0.5], mask=[0, 1, 0, 0, 0])},
        r"`score`: got missing values: score \(1\) of 5 rows",
    ),
    "label masked": (
        {"y_true": np.ma.array(Y, mask=[0, 1, 0, 0, 1])},
        r"`y_true`: got missing values: y_true \(2\)",
    ),
    "group masked": (
        {"sensitive_features": np.ma.array(G, mask=[0, 1, 0, 0, 0])},
        r"`sensitive_features`: got missing values: sensitive_features \(1\)",
    ),
    "favourable value NA": (
        {"pos_label": pd.NA},
        "`pos_label`: got <NA>; allowed: one value of the labels",
    ),
    "favourable values": ({"pos_label": np.array([1, 0])}, "`pos_label`: got ndarray of shape"),
    "score above 1": (
        {"score": [0.1, 0.2, 3.0, 0.4, 0.5]},
        r"`score`: got values from 0.1 to 3; .*\[0, 1\].*rescale",
    ),
    "score below 0": ({"score": [-0.1, 0.2, 0.3, 0.4, 0.5]}, "`score`: got values from -0.1"),
    "score infinite": (
        {"score": [0.1, np.inf, 0.3, 0.4, 0.5]},
        "`score`: got values from 0.1 to inf",
    ),
    "score NaN": (
        {"score": [0.1, np.nan, 0.3, 0.4, 0.5]},
        r"`score`: got missing values: score \(1\) of 5 rows",
    ),
    "label NaN": (
        {"y_true": [1, np.nan, 1, 0, 1]},
        r"`y_true`: got missing values: y_true \(1\).*missing=\"drop\"",
    ),
    "prediction None": (
        {"y_pred": [1, None, 1, 0, 1]},
        r"`y_pred`: got missing values: y_pred \(1\)",
    ),
    "group None": (
        {"sensitive_features": ["a", None, *G[2:]]},
        r'sensitive_features \(1\).*or missing="group"',
    ),
    "cluster None": (
        {"cluster": ["x", None, "y", "y", "z"]},
        r"`cluster`: got missing values: cluster \(1\)",
    ),
    "stratum None": (
        {"strata": ["x", None, "y", "y", "z"]},
        r"`strata`: got missing values: strata \(1\)",
    ),
    "policy unknown": (
        {"missing": "ignore"},
        "`missing`: got 'ignore'; allowed: 'raise', 'drop', 'group'",
    ),
    "three classes": (
        {"y_true": [0, 1, 2, 0, 1]},
        r"`y_true`: got the values 0, 1, 2; .*pos_label",
    ),
    "text labels": (
        {"y_true": list("ynyny")},
        "`y_true`: got the values 'y', 'n'.* pass pos_label=",
    ),
    "all missing": (
        {"y_true": [None] * 5, "missing": "drop"},
        "`y_true`: got no complete row among 5",
    ),
    "label NaN under group": (
        {"y_true": [1, None, 1, 0, 1], "missing": "group"},
        "`y_true`: got missing values",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    change, words = BAD[case]
    with pytest.raises(InputError, match=words) as caught:
        outcomes(**change)
    assert "allowed: " in str(caught.value)
    assert "To fix: " in str(caught.value)


# ---------------------------------------------------------------- missing="drop"


def test_drop_leaves_rows_out_and_counts_them() -> None:
    with pytest.warns(
        MissingValuesWarning, match=r"2 of 5 rows left out .*\(.*y_true: 1.*y_pred: 2"
    ):
        found = outcomes(y_true=[None, 0, 1, 0, 1], y_pred=[None, 1, 0, None, 1], missing="drop")
    assert found.n_rows == 3
    assert found.y_true is not None
    assert found.y_true.tolist() == [0, 1, 1]
    assert found.missing.n_dropped == 2
    assert found.missing.n_rows == 5
    assert found.missing.by_column["y_pred"] == 2
    assert found.missing.by_column["sensitive_features"] == 0


def test_drop_keeps_what_is_known_of_the_rows_left_out() -> None:
    """Group, label, prediction and how many: enough for worst-case bounds, and no row."""
    with pytest.warns(MissingValuesWarning):
        found = outcomes(
            y_true=[None, 0, 1, None, 1],
            y_pred=[1, None, 0, 1, 1],
            sensitive_features=["a", "a", "b", None, "b"],
            missing="drop",
        )
    a = found.groups.labels.index("a")
    assert sorted(found.missing.patterns) == sorted([(a, -1, 1, 1), (a, 0, -1, 1), (-1, -1, 1, 1)])


def test_a_group_that_loses_all_its_rows_stays_in_the_table() -> None:
    with pytest.warns(MissingValuesWarning):
        found = outcomes(y_true=[None, None, 1, 0, 1], missing="drop")
    assert set(found.groups.labels) == {"a", "b"}
    assert np.bincount(found.groups.codes, minlength=2)[found.groups.labels.index("a")] == 0


def test_drop_without_missing_values_says_nothing() -> None:
    assert outcomes(missing="drop").missing.n_dropped == 0


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 1, None]),
            st.sampled_from([0, 1, None]),
            st.sampled_from(["a", "b", None]),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_dropping_is_dropping_the_incomplete_rows(rows: list[tuple[Any, Any, Any]]) -> None:
    """Witness: pandas' `dropna`."""
    frame = pd.DataFrame(rows, columns=["y", "p", "g"], dtype=object)
    complete = frame.dropna()
    columns = {"y_true": frame["y"], "y_pred": frame["p"], "sensitive_features": frame["g"]}
    if complete.empty:
        with pytest.raises(InputError, match="no complete row"):
            Outcomes.from_arrays(**columns, missing="drop")
        return
    if len(complete) == len(frame):
        found = Outcomes.from_arrays(**columns, missing="drop")
    else:
        with pytest.warns(
            MissingValuesWarning, match=f"{len(frame) - len(complete)} of {len(frame)} rows"
        ):
            found = Outcomes.from_arrays(**columns, missing="drop")
    assert found.y_true is not None
    assert found.y_pred is not None
    assert found.y_true.tolist() == complete["y"].tolist()
    assert found.y_pred.tolist() == complete["p"].tolist()
    assert [found.groups.labels[c] for c in found.groups.codes] == complete["g"].tolist()
    assert found.missing.n_dropped == len(frame) - len(complete)
    assert sum(count for *_, count in found.missing.patterns) == found.missing.n_dropped


# ---------------------------------------------------------------- missing="group"


def test_group_makes_a_group_of_missing_sensitive_values() -> None:
    found = outcomes(sensitive_features=["a", None, "b", "b", "b"], missing="group")
    assert set(found.groups.labels) == {"a", "b", "(missing)"}
    assert found.n_rows == 5
    assert found.missing.by_column["sensitive_features"] == 1
    assert "form a group of their own" in found.missing.sentence


def test_sentences() -> None:
    assert MissingReport().sentence == "No rows were left out for missing values."
    dropped = MissingReport("drop", 10, 3, {"y_true": 2, "y_pred": 0, "score": 1})
    assert dropped.sentence == "3 of 10 rows left out for missing values (y_true: 2, score: 1)."


def test_take_keeps_the_rows_asked_for() -> None:
    found = outcomes(score=[0.1, 0.2, 0.3, 0.4, 0.5], cluster=list("xxyyz"), strata=list("sstts"))
    part = found.take(np.array([True, False, True, False, True]))
    assert part.y_true is not None
    assert part.y_true.tolist() == [1, 1, 1]
    assert part.score is not None
    assert part.score.tolist() == [0.1, 0.3, 0.5]
    assert part.cluster is not None
    assert part.cluster.codes.tolist() == [0, 1, 2]


@pytest.mark.parametrize("score", [None, np.array([]), np.array([0.0, 1.0])], ids=str)
def test_probabilities_that_pass(score: Any) -> None:
    on_unit_interval(score, "score")


# ---------------------------------------------------------------- row labels of pandas


def series(values: Any, labels: Any) -> pd.Series:
    return pd.Series(values, index=labels)


def test_equal_row_labels_are_paired_without_a_word() -> None:
    labels = list("vwxyz")
    found = outcomes(
        y_true=series(Y, labels),
        y_pred=series(P, labels),
        sensitive_features=pd.DataFrame({"g": G}, labels),
    )
    assert found.n_rows == 5


def test_equal_labels_in_another_order_ask_how_they_are_aligned() -> None:
    """Rows stay paired by position, as in scikit-learn.

    The warning names both columns and the cure.
    """
    words = (
        r"y_true and y_pred have equal row labels in another order.*Aligned by label\? Pass"
        r" y_pred.loc"
    )
    with pytest.warns(DataWarning, match=words):
        found = outcomes(y_true=series(Y, range(5)), y_pred=series(P, [4, 3, 2, 1, 0]))
    assert found.y_pred is not None
    assert found.y_pred.tolist() == P


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"y_pred": series(P, range(5, 10))}, "y_true and y_pred"),
        (
            {"sensitive_features": {"sex": series(G, [0, 0, 1, 2, 3])}},
            r"y_true and sensitive_features\['sex'\]",
        ),
        (
            {"sensitive_features": pd.DataFrame({"g": G}, list("abcde"))},
            "y_true and sensitive_features",
        ),
        ({"sample_weight": series([1.0] * 5, list("abcde"))}, "y_true and sample_weight"),
        ({"cluster": series(list("xxyyz"), [9, 8, 7, 6, 5])}, "y_true and cluster"),
    ],
    ids=["y_pred", "mapping", "frame", "weights", "clusters"],
)
def test_other_row_labels_are_said(change: Any, names: str) -> None:
    with pytest.warns(
        DataWarning, match=f"{names} have different row labels, and were paired by position"
    ):
        outcomes(y_true=series(Y, range(5)), **change)


def test_masked_rows_are_left_out_as_missing_ones_are() -> None:
    hidden = [False, True, False, False, False]
    with pytest.warns(MissingValuesWarning, match="1 of 5 rows left out"):
        masked = outcomes(y_pred=np.ma.array(P, mask=hidden), missing="drop")
    with pytest.warns(MissingValuesWarning, match="1 of 5 rows left out"):
        absent = outcomes(y_pred=[1, None, 0, 0, 1], missing="drop")
    assert masked.missing == absent.missing
