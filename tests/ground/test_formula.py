"""Formulas as text: what they may hold, and what is read off them."""

from __future__ import annotations

import numpy as np
import pytest

from fairstats.ground.errors import InputError
from fairstats.ground.registry import evaluate, shape_of

CELLS = {"tp": 30.0, "fp": 12.0, "fn": 9.0, "tn": 50.0}


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("tp + fp - fn", 33.0),
        ("-tp / 2", -15.0),
        ("2 * tp * (fn + 1.5)", 630.0),
        ("sqrt(tp * fp + 1)", 19.0),
        ("fn / (tp - tp)", np.inf),
    ],
)
def test_arithmetic(formula: str, expected: float) -> None:
    assert evaluate(formula, CELLS) == expected


def test_zero_over_zero_is_nan_and_arrays_keep_their_shape() -> None:
    values = evaluate("tp / (tp + fn)", {"tp": np.array([[0, 3]]), "fn": np.array([[0, 1]])})
    assert values.shape == (1, 2)
    assert np.isnan(values[0, 0])
    assert values[0, 1] == 0.75


def test_derivatives_by_complex_steps_pass_through() -> None:
    step = evaluate("sqrt(tp) / fp", {**CELLS, "tp": 30.0 + 1e-30j})
    assert step.imag / 1e-30 == pytest.approx(0.5 / np.sqrt(30.0) / 12.0, rel=1e-14)


@pytest.mark.parametrize(
    "formula",
    ["tp ** 2", "abs(tp)", "tp.real", "n", "tp if fp else fn", "sqrt(tp, fp)", "'tp'", "tp // fp"],
)
def test_anything_else_is_refused(formula: str) -> None:
    with pytest.raises(InputError, match="formula"):
        evaluate(formula, CELLS)


@pytest.mark.parametrize(
    ("formula", "shape"),
    [
        ("(tp + fp) / (tp + fp + fn + tn)", (("tp", "fp"), ("tp", "fp", "fn", "tn"), ())),
        ("(tp / (tp + fn) + tn / (tn + fp)) / 2", ((), (), ("tp / (tp + fn)", "tn / (tn + fp)"))),
        ("fn / fp", ((), (), ())),
        ("2 * tp / (2 * tp + fp + fn)", ((), (), ())),
        ("(tp / (tp + fn) + tn / (tn + fp)) / 3", ((), (), ())),
        ("(tp / (tp + fn) + tp / (tp + fp)) / 2", ((), (), ())),
        ("(tp / (tp + fn) + fp) / 2", ((), (), ())),
        ("sqrt(tp / (tp + fn))", ((), (), ())),
        ("", ((), (), ())),
    ],
)
def test_shapes(formula: str, shape: tuple[tuple[str, ...], ...]) -> None:
    assert shape_of(formula) == shape
