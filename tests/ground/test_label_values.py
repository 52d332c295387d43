"""`label_values=`, what may occur, is judged alike wherever there is a `pos_label=`."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.encoding import ABSENT, favourable_class
from fairstats.ground.errors import DataWarning, InputError
from tests.fuzz.public import methods, public_classes

RNG = np.random.default_rng(7)
N = 240
X = pd.DataFrame({"sex": np.resize(["f", "m"], N), "x": RNG.random(N).round(3)})
SCORE = RNG.random(N)
LABELS = np.where(RNG.random(N) < SCORE, "yes", "no")


class Model:
    """A classifier that looks at the sensitive column.

    Its classes are those of `y`, or as many as are said.
    """

    def __init__(self, classes: Any = ("no", "yes")) -> None:
        self.classes_ = np.array(classes)
        self.classes = classes

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"classes": self.classes}

    def set_params(self, **params: Any) -> Model:
        return self

    def fit(self, X: Any, y: Any) -> Model:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.repeat(self.classes_[0], len(X))

    def predict_proba(self, X: Any) -> Any:
        second = 0.2 + 0.3 * (X["sex"] == "f").to_numpy() + 0.2 * X["x"].to_numpy()
        several = np.column_stack(
            [1 - second, *([second / (len(self.classes_) - 1)] * (len(self.classes_) - 1))]
        )
        return several if len(self.classes_) > 1 else np.ones((len(X), 1))


def mitigate(labels: Any, **options: Any) -> Any:
    mitigator = fs.MaddMitigator(n_lambdas=5, bandwidth=0.2, splits=1, random_state=1, **options)
    return mitigator.fit(SCORE, labels, sensitive_features=X["sex"])


def search(labels: Any, **options: Any) -> Any:
    searched = fs.EcdSearch(
        Model(),
        {"classes": [("no", "yes")]},
        sensitive_features="sex",
        privileged="f",
        unprivileged="m",
        objective="acd",
        n_iter=1,
        interactions=10,
        threshold=10,
        backend="scipy",
        **options,
    )
    return searched.fit(X, labels)


def counterfactual(labels: Any, **options: Any) -> Any:
    return fs.counterfactual_discrimination(
        Model(np.unique(labels)), X, sensitive_features="sex", **options
    )


def tail(labels: Any, **options: Any) -> Any:
    return fs.sample_tail(
        Model(np.unique(labels)),
        X,
        sensitive_features="sex",
        group="f",
        k_min=3,
        k_max=20,
        n_resamples=99,
        rng=1,
        **options,
    )


#: What takes labels, or a classifier of such labels, and the argument that an undeclared one is an
#: error about.
TAKES: dict[str, tuple[Callable[..., Any], str]] = {
    "MaddMitigator": (mitigate, "y_true"),
    "EcdSearch": (search, "y"),
    "counterfactual_discrimination": (counterfactual, "predict.classes_"),
    "sample_tail": (tail, "predict.classes_"),
}


def test_every_pos_label_has_label_values_beside_it() -> None:
    functions = {name: getattr(fs, name) for name in fs.__all__}
    functions |= {
        f"{kind.__name__}.{name}": getattr(kind, name)
        for kind in public_classes()
        for name in methods(kind)
    }
    lacking = []
    for name, function in functions.items():
        if not (inspect.isroutine(function) or inspect.isclass(function)):
            continue
        try:
            parameters = inspect.signature(function).parameters
        except ValueError:  # an exception class without a signature
            continue
        if "pos_label" in parameters and "label_values" not in parameters:
            lacking.append(name)
    assert lacking == []


@pytest.mark.parametrize("name", TAKES)
def test_declared_labels_change_nothing(name: str) -> None:
    call, _ = TAKES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fs.FairstatsWarning)  # the rows are few
        plain = call(LABELS, pos_label="yes")
        declared = call(LABELS, pos_label="yes", label_values=["no", "yes", "later"])
    for attribute in ("lambda_", "accuracy_", "estimate", "statistic"):
        if attribute not in getattr(plain, "lacks", {}) and hasattr(plain, attribute):
            np.testing.assert_array_equal(getattr(plain, attribute), getattr(declared, attribute))


@pytest.mark.parametrize("name", TAKES)
def test_more_than_declared_is_an_error_that_names_it(name: str) -> None:
    call, argument = TAKES[name]
    labels = np.where(np.arange(N) % 5 == 0, "Yes", LABELS)
    with pytest.raises(InputError) as refusal:
        call(labels, pos_label="yes", label_values=["no", "yes"])
    assert refusal.value.argument == argument
    assert "'Yes'" in refusal.value.got
    assert refusal.value.cure == "did you mean 'yes'?"


@pytest.mark.parametrize("name", TAKES)
def test_a_declared_favourable_label_that_does_not_occur_is_a_warning(name: str) -> None:
    call, _ = TAKES[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(np.repeat("no", N), pos_label="yes", label_values=["no", "yes"])
    messages = [str(w.message) for w in caught if issubclass(w.category, DataWarning)]
    assert any("'yes' does not occur in" in message for message in messages), messages


@pytest.mark.parametrize("name", TAKES)
def test_an_undeclared_favourable_label_that_does_not_occur_is_an_error(name: str) -> None:
    call, _ = TAKES[name]
    with pytest.raises(InputError) as refusal:
        call(LABELS, pos_label="Yes!")
    assert refusal.value.argument == "pos_label"
    assert "label_values=" in str(refusal.value.cure)


@pytest.mark.parametrize("name", TAKES)
@pytest.mark.parametrize("odd", ["yes", [], {"y": ["no", "yes"]}, 3])
def test_what_declares_nothing_is_refused(name: str, odd: Any) -> None:
    call, _ = TAKES[name]
    with pytest.raises(InputError) as refusal:
        call(LABELS, pos_label="yes", label_values=odd)
    assert refusal.value.argument == "label_values"


def test_the_probability_of_a_class_that_is_not_there_is_zero() -> None:
    """By hand: the model never gives "yes", so the score is 0 for everybody, and so is every
    difference.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        sample = counterfactual(np.repeat("no", N), pos_label="yes", label_values=["no", "yes"])
    assert sample["f"].actual.tolist() == [0.0] * (N // 2)
    assert sample["f"].values().tolist() == [0.0] * (N // 2)


def test_a_function_knows_no_labels() -> None:
    with pytest.raises(InputError) as refusal:
        fs.counterfactual_discrimination(
            lambda x: np.full(len(x), 0.5), X, sensitive_features="sex", label_values=["no", "yes"]
        )
    assert refusal.value.argument == "label_values"
    assert "pass the classifier itself" in str(refusal.value.cure)


@pytest.mark.parametrize(
    ("classes", "pos_label", "label_values", "position"),
    [
        (["no", "yes"], None, None, None),
        (["no", "yes"], "no", None, 0),
        ([0, 1], True, [0, 1], 1),
        (["no", "yes"], {"y_pred": "yes", "y_true": "no"}, {"y_pred": ["no", "yes"]}, 1),
        ([1], None, None, 0),
        (["1.0"], None, None, 0),
    ],
)
def test_the_favourable_class(
    classes: list[Any], pos_label: Any, label_values: Any, position: Any
) -> None:
    """Written down by the rule of label columns."""
    assert favourable_class(classes, "predict.classes_", pos_label, label_values) == position


@pytest.mark.parametrize(("classes", "pos_label"), [([0], None), ([0], 1), (["False"], True)])
def test_of_zero_and_one_a_class_may_be_absent(classes: list[Any], pos_label: Any) -> None:
    """A classifier of one class gives a column of ones.

    Of class 0 this is no probability of the favourable one.
    """
    with pytest.warns(DataWarning):
        assert favourable_class(classes, "predict.classes_", pos_label) == ABSENT


def test_a_single_class_that_does_not_say_what_it_is_needs_a_name() -> None:
    with pytest.raises(InputError, match="pos_label="):
        favourable_class(["no"], "predict.classes_")


def test_the_mitigator_predicts_the_declared_labels() -> None:
    with pytest.warns(DataWarning, match="'yes' does not occur"):
        mitigator = mitigate(np.repeat("no", N), pos_label="yes", label_values=["no", "yes"])
    assert mitigator.classes_.tolist() == ["no", "yes"]
