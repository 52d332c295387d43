"""Tables of features and favourable probabilities, by hand.

What a model is shown, which answers count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairstats.ground.errors import InputError
from fairstats.ground.predictions import as_features, favourable_probability

FRAME = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "sex": ["f", "m", "f", "m"]}, index=list("abcd"))


def kinds() -> list[Any]:
    pl = pytest.importorskip("polars")
    return [FRAME, pl.from_pandas(FRAME), FRAME.to_numpy(dtype=object)]


def test_blocks_with_columns_replaced() -> None:
    """Of rows 1 and 2 the sex is given anew by codes; the table itself, and other columns, stay as
    " "they are."""
    codes = np.array([1, 0])
    for X in kinds():
        table = as_features(X)
        name: Any = 1 if isinstance(X, np.ndarray) else "sex"
        before = np.asarray(X, dtype=object).tolist()
        part = table.block(1, 3, {name: (("m", "f"), codes)})
        assert type(part) is type(X)
        assert np.asarray(part, dtype=object).tolist() == [[2.0, "f"], [3.0, "m"]]
        assert np.asarray(table.block(1, 3), dtype=object).tolist() == before[1:3]
        assert np.asarray(X, dtype=object).tolist() == before
        assert table.n_rows == 4
        assert table.columns == ([0, 1] if isinstance(X, np.ndarray) else ["x", "sex"])
        rows = table.rows(np.array([3, 0]))
        assert np.asarray(rows, dtype=object).tolist() == [before[3], before[0]]
        assert list(np.asarray(table.column(name))) == ["f", "m", "f", "m"]
        named = table.labels_of(np.array([3, 0])).tolist()
        assert named == (["d", "a"] if isinstance(X, pd.DataFrame) else [3, 0])
    plain, later = (FRAME.set_axis(pd.RangeIndex(k, 4 + k)) for k in (0, 2))
    assert as_features(plain).labels_of(np.array([2])).tolist() == [2]
    assert as_features(later).labels_of(np.array([2])).tolist() == [4]


class Model:
    """A classifier with the classes given, which answers with one column for each."""

    def __init__(self, classes: list[Any]) -> None:
        self.classes_ = classes

    def predict_proba(self, X: Any) -> np.ndarray:
        shares = np.arange(1, len(self.classes_) + 1) / sum(range(len(self.classes_) + 1))
        return np.tile(shares, (len(X), 1))


@pytest.mark.parametrize(
    ("model", "pos_label", "wanted"),
    [
        (Model(["no", "yes"]), None, 2 / 3),
        (Model(["no", "yes"]), "no", 1 / 3),
        (Model(["a", "b", "c"]), "c", 1 / 2),
        (lambda X: np.full(len(X), 0.25, dtype=np.float32), None, 0.25),
        (lambda X: np.full((len(X), 1), 0.25), None, 0.25),
        (lambda X: np.tile([0.25, 0.75], (len(X), 1)), None, 0.75),
        (lambda X: np.tile([0.25, 0.75], (len(X), 1)), 0, 0.25),
        (lambda X: np.tile([0.25, 0.5, 0.25], (len(X), 1)), 1, 0.5),
        (lambda X: np.full(len(X), 1 + 5e-10), None, 1.0),
        (lambda X: np.full(len(X), -5e-10), None, 0.0),
    ],
)
def test_the_favourable_probability_of_every_form(
    model: Any, pos_label: Any, wanted: float
) -> None:
    """Written down: the second class, the one named, or the column at a position.

    Rounding is cut off.
    """
    found = favourable_probability(model, pos_label)(np.zeros((3, 2)), 3)
    assert found.dtype == np.float64
    assert found.tolist() == pytest.approx([wanted] * 3, abs=0)


GIVES = "a function of X, or a classifier with predict_proba, that returns probabilities in [0, 1]"


@pytest.mark.parametrize(
    ("answer", "pos_label", "said"),
    [
        (
            np.zeros(2),
            None,
            (
                "`predict`: got an answer of shape (2,) for 3 rows; allowed: one probability per"
                " row. To fix: return shape (n,), or (n, 2) with the favourable class second."
            ),
        ),
        (
            np.zeros(3, dtype=int),
            None,
            (
                f"`predict`: got values of type int64, as labels have; allowed: {GIVES}. To fix:"
                " pass the classifier itself or its predict_proba, not its predict."
            ),
        ),
        (
            np.array([0.5, np.nan, np.inf]),
            None,
            (
                f"`predict`: got 2 NaN or infinite values among 3; allowed: {GIVES}. To fix: look"
                " at the rows of X that the model cannot judge."
            ),
        ),
        (
            np.array([0.5, -0.25, 1.5]),
            None,
            (
                f"`predict`: got values from -0.25 to 1.5; allowed: {GIVES}. To fix: turn scores"
                " into probabilities, e.g. by calibration."
            ),
        ),
        *(
            (
                np.array([0.5, *ends]),
                None,
                (
                    f"`predict`: got values from {min(ends)} to {max(ends)}; allowed: {GIVES}. To"
                    " fix: turn scores into probabilities, e.g. by calibration."
                ),
            )
            for ends in ((-0.25, 0.75), (0.25, 1.5))
        ),
        (
            np.zeros((3, 3)),
            None,
            (
                "`pos_label`: got None for an answer with 3 columns; allowed: the position of the "
                "favourable class, 0 to "
                "2. To fix: pos_label=1."
            ),
        ),
        (
            np.zeros((3, 2)),
            2,
            (
                "`pos_label`: got 2 for an answer with 2 columns; allowed: the position of the "
                "favourable class, 0 to 1. "
                "To fix: pos_label=1."
            ),
        ),
        (
            np.zeros((3, 2)),
            True,
            (
                "`pos_label`: got True for an answer with 2 columns; allowed: the position of the "
                "favourable class, 0 to "
                "1. To fix: pos_label=1."
            ),
        ),
    ],
)
def test_answers_that_are_no_probabilities(answer: np.ndarray, pos_label: Any, said: str) -> None:
    """Written down by hand."""
    with pytest.raises(InputError) as problem:
        favourable_probability(lambda X: answer, pos_label)(np.zeros((3, 1)), 3)
    assert str(problem.value) == said


class Labels:
    """Something that predicts labels only."""

    def predict(self, X: Any) -> Any:
        return X


WRAP = "a classifier that gives scores only: wrap it, e.g. in CalibratedClassifierCV"


@pytest.mark.parametrize(
    ("model", "pos_label", "said"),
    [
        (
            Model,
            None,
            (
                f"`predict`: got the class Model; allowed: {GIVES}. To fix: pass a fitted model, an"
                " object of this class."
            ),
        ),
        (
            Labels(),
            None,
            (
                f"`predict`: got Labels without predict_proba; allowed: {GIVES}. To fix: pass "
                "model.predict where it "
                f"returns probabilities; {WRAP}."
            ),
        ),
        (3, None, f"`predict`: got int without predict_proba; allowed: {GIVES}. To fix: {WRAP}."),
        (
            Model(["a", "b", "c"]),
            None,
            (
                "`pos_label`: got None for a classifier with the classes ['a', 'b', 'c']; allowed:"
                " one of its classes. To fix: pos_label='a'."
            ),
        ),
        (
            Model(["a", "b"]),
            "z",
            (
                "`pos_label`: got 'z', which does not occur in predict.classes_; allowed: a value"
                " that occurs; predict.classes_ has 'a', 'b'. To fix: name the favourable value (a"
                " mapping {'y_true': …, 'y_pred': …} where the columns differ), or declare what may"
                " occur: label_values=['a', 'b', 'z']."
            ),
        ),
    ],
    ids=["class", "labels", "number", "three classes", "no class"],
)
def test_what_does_not_predict(model: Any, pos_label: Any, said: str) -> None:
    """Written down by hand; nothing is called yet."""
    with pytest.raises(InputError) as problem:
        favourable_probability(model, pos_label)
    assert str(problem.value) == said


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (
            np.ma.masked_equal(np.eye(2), 1),
            (
                "`X`: got a masked array; allowed: values that the model sees. To fix: X.filled(…),"
                " or leave those rows out."
            ),
        ),
        (
            [1, 2],
            (
                "`X`: got list of shape (2,); allowed: a data frame (pandas, polars, Arrow) or a "
                "two-dimensional array. "
                "To fix: one row per person, one column per feature (scipy.sparse: X.toarray())."
            ),
        ),
        (FRAME.iloc[:0], "`X`: got a table without rows; allowed: at least one row."),
    ],
    ids=["masked", "list", "empty"],
)
def test_what_is_no_table_of_features(X: Any, said: str) -> None:
    """Written down by hand."""
    with pytest.raises(InputError) as problem:
        as_features(X)
    assert str(problem.value) == said


@pytest.mark.parametrize(
    ("X", "name", "values"),
    [
        (np.array([[1], [2]]), 0, (1, 1.5)),
        (np.array([[1], [2]]), 0, ("a", "b")),
        (pd.DataFrame({"x": [1, 2]}), "x", (1, 1.5)),
        (pd.DataFrame({"x": [1, 2]}), "x", (1, None)),
        (pd.DataFrame({"x": pd.Categorical(["a", "b"])}), "x", ("a", "c")),
    ],
)
def test_values_that_do_not_fit_a_column(X: Any, name: Any, values: tuple[Any, ...]) -> None:
    """Written down: nothing is rounded, cut or made missing on the way to the model."""
    with pytest.raises(InputError) as problem:
        as_features(X).block(0, 2, {name: (values, np.array([0, 1]))})
    kind = X.dtype if isinstance(X, np.ndarray) else X[name].dtype
    said = (
        f"got values {list(values)!r} for column {name!r} of type {kind}; allowed: values that the"
        " column's"
    )
    assert said in str(problem.value)
