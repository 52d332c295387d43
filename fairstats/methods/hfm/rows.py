"""The rows of one set, as the distances take them: finite numbers, and a label for every row."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstats.ground.encoding import as_float_column
from fairstats.ground.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Rows", "as_pair", "as_pandas", "as_rows"]


@dataclass(frozen=True, eq=False)
class Rows:
    """Numeric rows.

    Attributes
    ----------
    values : ndarray of float, shape (n, d)
        Finite, C-contiguous.
    index : sequence or None
        Labels of the rows, where they came with a frame.
    columns : tuple of str or None
        Names of the columns, where they came with a frame.
    """

    values: NDArray[np.float64]
    index: Any = None
    columns: tuple[str, ...] | None = None

    def label(self, row: int) -> Hashable:
        """Label of a row: that of the frame, or its position."""
        if self.index is None:
            return row
        label = self.index[row]
        if isinstance(label, np.generic):
            label = label.item()
        return label if isinstance(label, (str, int, float, bool, tuple)) else str(label)


def as_rows(values: Any, argument: str) -> Rows:
    """Validated rows of an array or a data frame of numbers.

    Raises
    ------
    InputError
        For text, NaN, no rows, no columns, or an array without two dimensions.
    """
    frame = as_pandas(values)
    if frame is not None:
        if not frame.columns.is_unique:
            raise InputError(
                argument,
                got=f"two columns of one name: {list(frame.columns)!r}",
                allowed="columns with different names",
                cure="rename one of them",
            )
        columns = [_numeric(frame[name], argument, name) for name in frame.columns]
        array = np.column_stack(columns) if columns else np.empty((len(frame), 0))
        found = Rows(np.ascontiguousarray(array), frame.index, tuple(map(str, frame.columns)))
    else:
        found = Rows(_as_array(values, argument))
    _check(found, argument)
    return found


def as_pair(a: Any, b: Any, names: tuple[str, str] = ("a", "b")) -> tuple[Rows, Rows]:
    """Two sets of rows with the same columns; those of the second frame in the order of the first.

    Raises
    ------
    InputError
        If the columns differ.
    """
    first, second = as_rows(a, names[0]), as_rows(b, names[1])
    if first.columns is not None and second.columns is not None and first.columns != second.columns:
        if set(first.columns) != set(second.columns):
            apart = sorted(set(first.columns) ^ set(second.columns))
            raise InputError(
                names[1],
                got=f"other columns than {names[0]}: {', '.join(map(repr, apart))} in one of them only",
                allowed="the same columns in both",
                cure="encode both from one frame, so that every category has its column in both",
            )
        order = [second.columns.index(name) for name in first.columns]
        second = Rows(np.ascontiguousarray(second.values[:, order]), second.index, first.columns)
    if first.values.shape[1] != second.values.shape[1]:
        raise InputError(
            names[1],
            got=f"{second.values.shape[1]} columns, {names[0]} has {first.values.shape[1]}",
            allowed="the same columns in both",
            cure="encode both in one way",
        )
    return first, second


def as_pandas(values: Any) -> pd.DataFrame | None:
    """A data frame of any kind as pandas; None for anything else."""
    if isinstance(values, pd.DataFrame):
        return values
    if isinstance(values, (np.ndarray, list, tuple)):
        return None
    import narwhals as nw

    native = nw.from_native(values, pass_through=True, allow_series=True)
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    if isinstance(native, nw.DataFrame):
        return pd.DataFrame({name: native[name].to_numpy() for name in native.columns})
    return None


def _numeric(column: Any, argument: str, name: object) -> NDArray[np.float64]:
    kind = getattr(column.dtype, "kind", "O")
    if isinstance(column.dtype, pd.CategoricalDtype) or kind not in "biuf":
        raise InputError(
            argument,
            got=f"a column {name!r} of type {column.dtype}",
            allowed="numbers in every column",
            cure="encode categories first: fs.hfm does it, or fairstats.methods.hfm.encoding.FrameEncoder",
        )
    return as_float_column(column, f"{argument}[{name!r}]")


def _as_array(values: Any, argument: str) -> NDArray[np.float64]:
    allowed = "an (n, d) array or a data frame of finite numbers"
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biuf":
            if array.dtype.kind != "O":
                raise ValueError(f"values of type {array.dtype}")
            array = np.asarray([[float(v) for v in row] for row in array])
        array = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise InputError(
            argument,
            got=f"values that are not numbers ({problem})",
            allowed=allowed,
            cure="encode categories first: fs.hfm does it for the columns of a frame",
        ) from problem
    if array.ndim != 2:
        raise InputError(
            argument,
            got=f"an array of shape {array.shape}",
            allowed=allowed,
            cure="reshape(-1, 1) for one column, reshape(1, -1) for one row",
        )
    return array


def _check(rows: Rows, argument: str) -> None:
    n, d = rows.values.shape
    if n == 0 or d == 0:
        raise InputError(
            argument,
            got=f"{n:,} rows and {d:,} columns",
            allowed="at least one row and one column",
            cure="the distance to an empty set is not defined; look at how the set was chosen",
        )
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(rows.values.sum()):
            return
    bad = ~np.isfinite(rows.values)
    if bad.any():
        row, column = (int(v[0]) for v in np.nonzero(bad))
        name = repr(rows.columns[column]) if rows.columns else str(column)
        raise InputError(
            argument,
            got=f"{int(bad.sum()):,} values that are NaN or infinite, the first in row "
            f"{rows.label(row)!r}, column {name}",
            allowed="finite numbers",
            cure="drop or impute those rows first, and say so",
        )
