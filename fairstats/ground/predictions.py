"""Probability of the favourable outcome from any model: a callable or a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["favourable_probability"]

#: A probability may miss [0, 1] by rounding.
_ROUNDING = 1e-9
_PROBABILITIES = "a function of X, or a classifier with predict_proba, that returns probabilities in [0, 1]"


def favourable_probability(
    predict: Any, favorable_label: Hashable | None = None
) -> Callable[[Any, int], NDArray[np.float64]]:
    """Function (block of X, its rows) → probability of the favourable outcome, checked.

    Parameters
    ----------
    predict : callable or classifier
        A classifier is asked for `predict_proba`. What comes back has shape (n,), (n, 1), or (n, classes).
    favorable_label : optional
        Class of the classifier that is favourable; default its second one (`classes_[1]`). For a callable
        with two columns or more: the position of the column, default 1 of two.

    Returns
    -------
    callable
        Its result has shape (n,), in [0, 1].

    Raises
    ------
    InputError
        Something that does not predict; at the call: labels, NaN, values outside [0, 1], a wrong shape.
    """
    column: Any
    if hasattr(predict, "predict_proba"):
        classes = list(getattr(predict, "classes_", ()))
        column = _column_of(classes, favorable_label)
        call = predict.predict_proba
    elif callable(predict):
        column, call = favorable_label, predict
    else:
        raise InputError(
            "predict",
            got=f"{type(predict).__name__} without predict_proba",
            allowed=_PROBABILITIES,
            cure="a classifier that gives scores only: wrap it, e.g. in CalibratedClassifierCV",
        )

    def probability(block: Any, n_rows: int) -> NDArray[np.float64]:
        return _checked(call(block), n_rows, column)

    return probability


def _column_of(classes: list[Any], favorable_label: Hashable | None) -> int | None:
    if favorable_label is None:
        if len(classes) > 2:
            raise InputError(
                "favorable_label",
                got=f"None for a classifier with the classes {classes!r}",
                allowed="one of its classes",
                cure=f"favorable_label={classes[0]!r}",
            )
        return None
    if favorable_label not in classes:
        raise InputError(
            "favorable_label",
            got=repr(favorable_label),
            allowed=f"a class of the classifier: {classes!r}",
            cure="name the favourable class as the classifier knows it",
        )
    return classes.index(favorable_label)


def _checked(returned: Any, n_rows: int, column: Any) -> NDArray[np.float64]:
    values = np.asarray(returned)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 2:
        values = values[:, _chosen(values.shape[1], column)]
    if values.shape != (n_rows,):
        raise InputError(
            "predict",
            got=f"an answer of shape {values.shape} for {n_rows:,} rows",
            allowed="one probability per row",
            cure="return shape (n,), or (n, 2) with the favourable class second",
        )
    if values.dtype.kind != "f":
        raise InputError(
            "predict",
            got=f"values of type {values.dtype}, as labels have",
            allowed=_PROBABILITIES,
            cure="pass the classifier itself or its predict_proba, not its predict",
        )
    low, high = float(values.min()), float(values.max())  # NaN where there is one
    if low >= 0.0 and high <= 1.0:
        return values.astype(np.float64, copy=False)
    bad = int(n_rows - np.isfinite(values).sum())
    if bad:
        raise InputError(
            "predict",
            got=f"{bad:,} NaN or infinite values among {n_rows:,}",
            allowed=_PROBABILITIES,
            cure="look at the rows of X that the model cannot judge",
        )
    if low < -_ROUNDING or high > 1 + _ROUNDING:
        raise InputError(
            "predict",
            got=f"values from {low:.4g} to {high:.4g}",
            allowed=_PROBABILITIES,
            cure="turn scores into probabilities, e.g. by calibration",
        )
    return np.clip(values.astype(np.float64, copy=False), 0.0, 1.0)


def _chosen(columns: int, column: Any) -> int:
    if column is None and columns == 2:
        return 1
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and 0 <= column < columns:
        return int(column)
    raise InputError(
        "favorable_label",
        got=f"{column!r} for an answer with {columns} columns",
        allowed=f"the position of the favourable class, 0 to {columns - 1}",
        cure="favorable_label=1",
    )
