"""What a model is asked with and what it answers: tables of features, favourable probabilities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_different, check_that
from fairstats.ground.encoding import (
    ABSENT,
    as_array,
    as_column,
    as_narwhals,
    check_columns,
    favourable_class,
)
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import pd

#: Column → (values, code of the value for each row).
Replacement = Mapping[Hashable, tuple[Sequence[Any], NDArray[np.signedinteger[Any]]]]


@dataclass(frozen=True)
class FeatureTable(ABC):
    """Rows of features, read block by block."""

    data: Any

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.data)

    @property
    def columns(self) -> list[Hashable]:
        """Names of the columns (positions for arrays)."""
        return list(self.data.columns)

    def labels_of(self, positions: NDArray[np.intp]) -> NDArray[Any]:
        """Labels of some rows: from the index of a pandas frame, else their positions."""
        return positions

    @abstractmethod
    def column(self, name: Hashable) -> Any:
        """One column, in its own type."""

    @abstractmethod
    def block(self, start: int, stop: int, replaced: Replacement | None = None) -> Any:
        """Rows start…stop as the model takes them.

        Replaced columns have codes for exactly these rows.
        """

    @abstractmethod
    def rows(self, positions: NDArray[np.intp]) -> Any:
        """Some rows, in the table's own type."""

    def check_columns(self, names: Sequence[Hashable], argument: str) -> None:
        """Raise unless every name is a column."""
        check_columns(
            argument,
            names,
            self.columns,
            "check the spelling; positions name the columns of an array",
        )


class _ArrayTable(FeatureTable):
    @property
    def columns(self) -> list[Hashable]:
        return list(range(self.data.shape[1]))

    def column(self, name: Hashable) -> Any:
        return self.data[:, name]

    def rows(self, positions: NDArray[np.intp]) -> Any:
        return self.data[positions]

    def block(self, start: int, stop: int, replaced: Replacement | None = None) -> Any:
        if replaced:
            block_rows = self.data[start:stop].copy()
        else:
            block_rows = self.data[start:stop]
        for column_number, (values, codes) in (replaced or {}).items():
            block_rows[:, column_number] = _as_type(values, block_rows.dtype, column_number)[codes]
        return block_rows


class _PandasTable(FeatureTable):
    def labels_of(self, positions: NDArray[np.intp]) -> NDArray[Any]:
        frame_index = self.data.index
        if isinstance(frame_index, pd.RangeIndex) and (frame_index.start, frame_index.step) == (
            0,
            1,
        ):
            return positions
        return np.asarray(frame_index.take(positions))

    def column(self, name: Hashable) -> Any:
        return self.data[name]

    def rows(self, positions: NDArray[np.intp]) -> Any:
        return self.data.iloc[positions]

    def block(self, start: int, stop: int, replaced: Replacement | None = None) -> Any:
        if replaced:
            block_rows = self.data.iloc[start:stop].copy(deep=False)
        else:
            block_rows = self.data.iloc[start:stop]
        for column_label, (values, codes) in (replaced or {}).items():
            levels = _as_series(values, self.data[column_label].dtype, column_label)
            # a series keeps its type
            block_rows[column_label] = levels.take(codes).set_axis(block_rows.index)
        return block_rows


class _NarwhalsTable(FeatureTable):
    def column(self, name: Hashable) -> Any:
        return as_column(self.data[name].to_native(), str(name))

    def rows(self, positions: NDArray[np.intp]) -> Any:
        return self.data[positions.tolist()].to_native()

    def block(self, start: int, stop: int, replaced: Replacement | None = None) -> Any:
        block_rows = self.data[start:stop]
        for column_label, (values, codes) in (replaced or {}).items():
            column_type = self.data.schema[column_label]
            backend = nw.get_native_namespace(self.data)
            levels = nw.new_series(str(column_label), list(values), column_type, backend=backend)
            block_rows = block_rows.with_columns(levels[codes.tolist()].alias(str(column_label)))
        return block_rows.to_native()


def as_features(X: Any, argument: str = "X") -> FeatureTable:
    """Wrap a table of features: pandas, polars, Arrow, or a two-dimensional array.

    An error where it has no rows.
    """
    if isinstance(X, pd.DataFrame):
        table: FeatureTable = _PandasTable(X)
        check_different(argument, X.columns)
    elif isinstance(narwhals_table := as_narwhals(X, argument), nw.DataFrame):
        table = _NarwhalsTable(narwhals_table)
    else:
        table = _ArrayTable(as_array(X, argument))
        if np.ma.is_masked(X):
            allowed = "values that the model sees"
            advice = "X.filled(…), or leave those rows out"
            raise InputError(argument, got="a masked array", allowed=allowed, cure=advice)
        if table.data.ndim != 2:
            received = f"{type(X).__name__} of shape {table.data.shape}"
            allowed = "a data frame (pandas, polars, Arrow) or a two-dimensional array"
            advice = "one row per person, one column per feature (scipy.sparse: X.toarray())"
            raise InputError(argument, got=received, allowed=allowed, cure=advice)
    if table.n_rows == 0:
        raise InputError(argument, got="a table without rows", allowed="at least one row")
    return table


def keep_features(estimator: Any, X: Any) -> None:
    """Set ``n_features_in_`` and, where all names are texts, ``feature_names_in_``."""
    names = list(as_features(X).columns)
    estimator.n_features_in_ = len(names)
    if all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _as_type(
    values: Sequence[Any], array_type: np.dtype[Any], column_label: Hashable
) -> NDArray[Any]:
    """Values in the type of the array, exactly."""
    if array_type.kind == "O":
        typed_values = np.empty(len(values), dtype=object)
        typed_values[:] = list(values)
        return typed_values
    untyped_values = np.asarray(values)
    try:
        typed_values = untyped_values.astype(array_type)
    except (TypeError, ValueError) as problem:
        raise _does_not_fit(values, array_type, column_label) from problem
    if not np.array_equal(typed_values, untyped_values):
        raise _does_not_fit(values, array_type, column_label)
    return typed_values


def _as_series(values: Sequence[Any], column_type: Any, column_label: Hashable) -> Any:
    """Values in the type of the column, exactly."""
    if isinstance(column_type, pd.CategoricalDtype) and not set(values) <= set(
        column_type.categories
    ):
        raise _does_not_fit(values, column_type, column_label)
    try:
        series = pd.Series(list(values), dtype=column_type)
    except (TypeError, ValueError) as problem:
        raise _does_not_fit(values, column_type, column_label) from problem
    if series.isna().any() or list(series) != list(values):
        raise _does_not_fit(values, column_type, column_label)
    return series


def _does_not_fit(values: Sequence[Any], column_type: Any, column_label: Hashable) -> InputError:
    received = f"values {list(values)!r} for column {column_label!r} of type {column_type}"
    allowed = "values that the column's type holds exactly"
    advice = "write them as the column has them, or convert the column before training and here"
    return InputError("sensitive_features", got=received, allowed=allowed, cure=advice)


#: A probability may miss [0, 1] by rounding.
_ROUNDING_TOLERANCE = 1e-9


def favourable_probability(
    predict: Any, pos_label: Hashable | None = None, label_values: Any = None
) -> Callable[[Any, int], Floats]:
    """Function (block of X, its rows) → probability of the favourable outcome, shape (n,), checked
    at each call.

    `predict`: a classifier, asked for `predict_proba`, or a callable, whose answer has shape (n,),
    (n, 1), or (n, classes); `pos_label`: the favourable class, default the second; of a callable
    the position of its column; `label_values`: the classes that a classifier may have.
    """
    column: Any
    if isinstance(predict, type):
        raise _no_probabilities(
            f"the class {predict.__name__}", "pass a fitted model, an object of this class"
        )
    if hasattr(predict, "predict_proba"):
        classes = list(getattr(predict, "classes_", ()))
        column = favourable_class(classes, "predict.classes_", pos_label, label_values)
        prediction_function = predict.predict_proba
        if column == ABSENT:
            return lambda _, n_rows: np.zeros(n_rows)
    elif callable(predict):
        allowed = "None with a function, whose answers are probabilities and no labels"
        advice = "leave label_values out, or pass the classifier itself"
        check_that(label_values is None, "label_values", label_values, allowed, advice)
        column = pos_label
        prediction_function = predict
    else:
        advice = "a classifier that gives scores only: wrap it, e.g. in CalibratedClassifierCV"
        if callable(getattr(predict, "predict", None)):
            advice = f"pass model.predict where it returns probabilities; {advice}"
        raise _no_probabilities(f"{type(predict).__name__} without predict_proba", advice)

    def probability(block: Any, n_rows: int) -> Floats:
        return _check_probabilities(prediction_function(block), n_rows, column)

    return probability


def _no_probabilities(received: str, advice: str) -> InputError:
    allowed = (
        "a function of X, or a classifier with predict_proba, that returns probabilities in [0, 1]"
    )
    return InputError("predict", got=received, allowed=allowed, cure=advice)


def _check_probabilities(returned: Any, n_rows: int, column: Any) -> Floats:
    """One probability per row, from what `predict` returned."""
    values = as_array(returned, "predict")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 2:
        values = values[:, _favourable_column(values.shape[1], column)]
    if values.shape != (n_rows,):
        received = f"an answer of shape {values.shape} for {n_rows:,} rows"
        allowed = "one probability per row"
        advice = "return shape (n,), or (n, 2) with the favourable class second"
        raise InputError("predict", got=received, allowed=allowed, cure=advice)
    if values.dtype.kind != "f":
        advice = "pass the classifier itself or its predict_proba, not its predict"
        raise _no_probabilities(f"values of type {values.dtype}, as labels have", advice)
    # NaN where there is one
    smallest = float(values.min())
    greatest = float(values.max())
    if smallest >= 0.0 and greatest <= 1.0:
        return values.astype(np.float64, copy=False)
    n_not_finite = int(n_rows - np.isfinite(values).sum())
    if n_not_finite:
        advice = "look at the rows of X that the model cannot judge"
        raise _no_probabilities(f"{n_not_finite:,} NaN or infinite values among {n_rows:,}", advice)
    if smallest < -_ROUNDING_TOLERANCE or greatest > 1 + _ROUNDING_TOLERANCE:
        advice = "turn scores into probabilities, e.g. by calibration"
        raise _no_probabilities(f"values from {smallest:.4g} to {greatest:.4g}", advice)
    return np.clip(values.astype(np.float64, copy=False), 0.0, 1.0)


def _favourable_column(columns: int, column: Any) -> int:
    if column is None and columns == 2:
        return 1
    if (
        isinstance(column, (int, np.integer))
        and not isinstance(column, bool)
        and 0 <= column < columns
    ):
        return int(column)
    received = f"{column!r} for an answer with {columns} columns"
    allowed = f"the position of the favourable class, 0 to {columns - 1}"
    raise InputError("pos_label", got=received, allowed=allowed, cure="pos_label=1")
