"""Feature tables: what a model is given, with some columns of some rows replaced.

pandas frames, NumPy arrays and whatever narwhals reads (polars, Arrow) keep their own type, so that a model
is called with what it was trained on. Replaced values take the column's own type.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstats.ground.encoding import as_column
from fairstats.ground.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.signedinteger[Any]]

__all__ = ["FeatureTable", "as_features"]

#: Column → (values, code of the value for each row).
Replacement = Mapping[Hashable, tuple[Sequence[Any], "Codes"]]


class FeatureTable(ABC):
    """Rows of features, read block by block."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def columns(self) -> list[Hashable]:
        """Names of the columns (positions for arrays)."""

    def labels_of(self, positions: NDArray[np.intp]) -> NDArray[Any]:
        """Labels of some rows: from the index of a pandas frame, else their positions."""
        return positions

    @abstractmethod
    def column(self, name: Hashable) -> Any:
        """One column, in its own type."""

    @abstractmethod
    def block(self, start: int, stop: int, replaced: Replacement | None = None) -> Any:
        """Rows start…stop as the model takes them; replaced columns have codes for exactly these rows."""

    @abstractmethod
    def rows(self, positions: NDArray[np.intp]) -> Any:
        """Some rows, in the table's own type."""

    def check_columns(self, names: Sequence[Hashable], argument: str) -> None:
        """Raise unless every name is a column."""
        have = self.columns
        lacking = [name for name in names if name not in have]
        if lacking:
            raise InputError(
                argument,
                got=f"no column {', '.join(map(repr, lacking))} in X",
                allowed=f"its columns: {', '.join(map(repr, have[:20]))}" + (", …" if len(have) > 20 else ""),
                cure="check the spelling; positions name the columns of an array",
            )


@dataclass(frozen=True)
class _ArrayTable(FeatureTable):
    array: NDArray[Any]

    @property
    def n_rows(self) -> int:
        return int(self.array.shape[0])

    @property
    def columns(self) -> list[Hashable]:
        return list(range(self.array.shape[1]))

    def column(self, name: Hashable) -> Any:
        return self.array[:, name]  # type: ignore[index]

    def rows(self, positions: NDArray[np.intp]) -> Any:
        return self.array[positions]

    def block(self, start: int, stop: int, replaced: Replacement | None = None) -> Any:
        part = self.array[start:stop]
        if not replaced:
            return part
        part = part.copy()
        for name, (values, codes) in replaced.items():
            part[:, name] = _as_type(values, part.dtype, name)[codes]  # type: ignore[index]
        return part


@dataclass(frozen=True)
class _PandasTable(FeatureTable):
    frame: pd.DataFrame

    @property
    def n_rows(self) -> int:
        return len(self.frame)

    @property
    def columns(self) -> list[Hashable]:
        return list(self.frame.columns)

    def labels_of(self, positions: NDArray[np.intp]) -> NDArray[Any]:
        index = self.frame.index
        if isinstance(index, pd.RangeIndex) and (index.start, index.step) == (0, 1):
            return positions
        return index.take(positions).to_numpy()

    def column(self, name: Hashable) -> Any:
        return self.frame[name]

    def rows(self, positions: NDArray[np.intp]) -> Any:
        return self.frame.iloc[positions]

    def block(self, start: int, stop: int, replaced: Replacement | None = None) -> Any:
        part = self.frame.iloc[start:stop]
        if not replaced:
            return part
        part = part.copy(deep=False)
        for name, (values, codes) in replaced.items():
            levels = _as_series(values, self.frame[name].dtype, name)
            part[name] = levels.take(codes).set_axis(part.index)  # a series keeps its type
        return part


@dataclass(frozen=True)
class _NarwhalsTable(FeatureTable):
    frame: Any

    @property
    def n_rows(self) -> int:
        return len(self.frame)

    @property
    def columns(self) -> list[Hashable]:
        return list(self.frame.columns)

    def column(self, name: Hashable) -> Any:
        return as_column(self.frame[name].to_native(), str(name))

    def rows(self, positions: NDArray[np.intp]) -> Any:
        return self.frame[positions.tolist()].to_native()

    def block(self, start: int, stop: int, replaced: Replacement | None = None) -> Any:
        import narwhals as nw

        part = self.frame[start:stop]
        for name, (values, codes) in (replaced or {}).items():
            dtype, backend = self.frame.schema[name], nw.get_native_namespace(self.frame)
            levels = nw.new_series(str(name), list(values), dtype, backend=backend)
            part = part.with_columns(levels[codes.tolist()].alias(str(name)))
        return part.to_native()


def as_features(X: Any, argument: str = "X") -> FeatureTable:
    """Wrap a table of features.

    Parameters
    ----------
    X : data frame or array-like, shape (n, p)
        pandas, polars, Arrow, or a two-dimensional array.
    argument : str
        Name for error messages.

    Raises
    ------
    InputError
        No table, no rows, or columns of one name.
    """
    import narwhals as nw

    allowed = "a data frame (pandas, polars, Arrow) or a two-dimensional array"
    if isinstance(X, pd.DataFrame):
        table: FeatureTable = _PandasTable(X)
        if not X.columns.is_unique:
            raise InputError(
                argument, got="two columns of one name", allowed="unique names", cure="rename one of them"
            )
    else:
        native = nw.from_native(X, pass_through=True)
        if isinstance(native, nw.LazyFrame):
            native = native.collect()
        if isinstance(native, nw.DataFrame):
            table = _NarwhalsTable(native)
        else:
            array = np.asarray(X)
            if array.ndim != 2:
                raise InputError(
                    argument,
                    got=f"{type(X).__name__} of shape {array.shape}",
                    allowed=allowed,
                    cure="one row per person, one column per feature (scipy.sparse: X.toarray())",
                )
            table = _ArrayTable(array)
    if table.n_rows == 0:
        raise InputError(argument, got="a table without rows", allowed="at least one row")
    return table


def _as_type(values: Sequence[Any], dtype: np.dtype[Any], name: Hashable) -> NDArray[Any]:
    """Values in the type of the array, exactly."""
    if dtype.kind == "O":
        found = np.empty(len(values), dtype=object)
        found[:] = list(values)
        return found
    wanted = np.asarray(values)
    try:
        found = wanted.astype(dtype)
    except (TypeError, ValueError):
        found = None  # type: ignore[assignment]
    if found is None or not np.array_equal(found, wanted):
        raise _does_not_fit(values, dtype, name)
    return found


def _as_series(values: Sequence[Any], dtype: Any, name: Hashable) -> Any:
    """Values in the type of the column, exactly."""
    if isinstance(dtype, pd.CategoricalDtype) and not set(values) <= set(dtype.categories):
        raise _does_not_fit(values, dtype, name)
    try:
        series = pd.Series(list(values), dtype=dtype)
    except (TypeError, ValueError) as problem:
        raise _does_not_fit(values, dtype, name) from problem
    if series.isna().any() or list(series) != list(values):
        raise _does_not_fit(values, dtype, name)
    return series


def _does_not_fit(values: Sequence[Any], dtype: Any, name: Hashable) -> InputError:
    return InputError(
        "protected",
        got=f"values {list(values)!r} for column {name!r} of type {dtype}",
        allowed="values that the column's type holds exactly",
        cure="write them as the column has them, or convert the column before training and here",
    )
