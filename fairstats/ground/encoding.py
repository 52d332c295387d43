"""Turn one column of any kind into integer codes and the values that they stand for.

NumPy arrays, lists, pandas, polars and pyarrow columns come in (the last three through narwhals);
small integer codes and plain Python values go out. Nothing else in the package looks at user types.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstats.ground.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MISSING", "Factor", "as_column", "as_float_column", "factorize", "label_text"]

#: Code of a missing value.
MISSING = -1
_BLOCK = 1 << 20
_SMALL_RANGE = 1 << 16
#: Floats between −_FEW and _FEW are looked at as whole numbers first.
_FEW = 31


@dataclass(frozen=True)
class Factor:
    """Integer codes and the values that they stand for.

    Attributes
    ----------
    codes : ndarray of int, shape (n,)
        Position in `levels`; -1 where the value is missing.
    levels : tuple
        The distinct values, in category order when `ordered_by_user`, else in order of appearance or size.
    ordered_by_user : bool
        Whether the column itself declared the order (a categorical type).
    """

    codes: NDArray[np.signedinteger[Any]]
    levels: tuple[Hashable, ...]
    ordered_by_user: bool = False

    @property
    def has_missing(self) -> bool:
        """Whether any value is missing."""
        return bool(self.codes.size) and int(self.codes.min()) == MISSING


def as_column(values: Any, argument: str) -> Any:
    """One-dimensional NumPy array, pandas Series or pandas Categorical of `values`.

    Parameters
    ----------
    values : array-like or Series
        NumPy, list, tuple, pandas, polars or pyarrow column.
    argument : str
        Name for error messages.

    Raises
    ------
    InputError
        If the values have no single dimension.
    """
    if isinstance(values, (pd.Series, pd.Index, pd.Categorical)):
        return values
    if not isinstance(values, (np.ndarray, list, tuple)):
        values = _through_narwhals(values)
    if isinstance(values, (list, tuple)):
        values = _from_list(values, argument)
    if isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise InputError(
            argument,
            got=f"an array of shape {values.shape}",
            allowed="one value per row: a list, a NumPy (n,) array, a pandas, polars or pyarrow column",
            cure=f"pass {argument} as a single column",
        )
    return values


def _through_narwhals(values: Any) -> Any:
    import narwhals as nw

    native = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    if isinstance(native, nw.DataFrame) and native.shape[1] == 1:
        native = native[native.columns[0]]
    if isinstance(native, nw.Series):
        if isinstance(native.dtype, nw.Enum):
            return pd.Categorical(native.to_list(), categories=list(native.dtype.categories))
        if isinstance(native.dtype, nw.Categorical):  # dictionary-encoded text: no declared order
            return np.array(native.to_list(), dtype=object)
        if native.null_count() and not native.dtype.is_numeric():
            return np.array(native.to_list(), dtype=object)
        return native.to_numpy()
    if isinstance(native, nw.DataFrame):
        return native.to_numpy()
    return np.asarray(values)


def _from_list(values: Sequence[Any], argument: str) -> NDArray[Any]:
    types = set(map(type, values))
    if types and all(issubclass(t, str) for t in types):
        return _objects(values)  # Python's own strings are hashed faster than NumPy's
    try:
        array = np.asarray(values)
    except ValueError as problem:
        raise InputError(
            argument,
            got=f"a list that NumPy cannot read ({problem})",
            allowed="one value per row",
            cure=f"make every element of {argument} a single label or number",
        ) from problem
    if array.dtype.kind in "US" and any(not issubclass(t, (str, bytes)) for t in types):
        return _objects(values)  # mixed types: keep None, NaN and numbers
    return array


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    return np.fromiter(values, dtype=object, count=len(values))


def factorize(values: Any, argument: str) -> Factor:
    """Integer codes of a column.

    Parameters
    ----------
    values : array-like
        A column, as `as_column` takes it.
    argument : str
        Name for error messages.

    Returns
    -------
    Factor
        Codes and levels. Integers with a small range and booleans are coded without hashing.
    """
    column = as_column(values, argument)
    if isinstance(column, pd.Categorical) or isinstance(getattr(column, "dtype", None), pd.CategoricalDtype):
        categorical = column if isinstance(column, pd.Categorical) else pd.Categorical(column)
        levels = tuple(_plain(v) for v in categorical.categories)
        return Factor(np.asarray(categorical.codes), levels, ordered_by_user=True)
    array = column.to_numpy() if _is_plain_numeric(column) else column
    if isinstance(array, np.ndarray) and array.dtype.kind == "b":
        return _factor_of_range(array.view(np.uint8), 0, 1, as_bool=True)
    if isinstance(array, np.ndarray) and array.dtype.kind in "iu" and array.size:
        low, high = int(array.min()), int(array.max())
        if high - low < _SMALL_RANGE and high <= np.iinfo(np.int64).max:
            return _factor_of_range(array, low, high)
    if isinstance(array, np.ndarray) and array.dtype.kind == "f":
        factor = _factor_of_few(array)
        if factor is not None:
            return factor
    codes, uniques = pd.factorize(array, sort=False, use_na_sentinel=True)
    levels = tuple(_plain(v) for v in uniques)
    return Factor(codes.astype(_code_type(len(levels)), copy=False), levels)


def _is_plain_numeric(column: Any) -> bool:
    return isinstance(column, (pd.Series, pd.Index)) and isinstance(column.dtype, np.dtype)


def _code_type(n_levels: int) -> type[np.signedinteger[Any]]:
    if n_levels < 127:
        return np.int8
    return np.int16 if n_levels < 32_767 else np.int32


def _factor_of_range(array: NDArray[Any], low: int, high: int, *, as_bool: bool = False) -> Factor:
    """Codes of integers in [low, high], block by block so that memory stays small."""
    n_values = high - low + 1
    present = np.zeros(n_values, dtype=bool)
    for start in range(0, array.size, _BLOCK):
        block = array[start : start + _BLOCK].astype(np.int64) - low
        present |= np.bincount(block, minlength=n_values) > 0
    values = np.flatnonzero(present)
    code_type = _code_type(values.size)
    code_of = np.full(n_values, MISSING, dtype=code_type)
    code_of[values] = np.arange(values.size, dtype=code_type)
    codes = np.empty(array.size, dtype=code_type)
    for start in range(0, array.size, _BLOCK):
        block = array[start : start + _BLOCK].astype(np.int64) - low
        codes[start : start + _BLOCK] = code_of[block]
    levels: tuple[Hashable, ...] = tuple(bool(v) if as_bool else int(v) + low for v in values)
    return Factor(codes, levels)


def _factor_of_few(array: NDArray[Any]) -> Factor | None:
    """Codes of floats that are small whole numbers, as encoded categories are; levels by first appearance."""
    low, high = (float(array.min()), float(array.max())) if array.size else (np.nan, np.nan)
    if not (-_FEW <= low <= high <= _FEW and low.is_integer() and high.is_integer()):  # NaN, too
        return None
    whole = array.astype(np.int8)
    if not np.array_equal(whole, array):
        return None
    between = range(int(low), int(high) + 1)
    first = {value: int(at.argmax()) for value in between if (at := whole == value).any()}
    code_of = np.zeros(2 * _FEW + 1, dtype=np.int8)
    levels = sorted(first, key=first.__getitem__)
    code_of[np.array(levels) + _FEW] = np.arange(len(levels))
    return Factor(code_of[whole + np.int8(_FEW)], tuple(levels))


def _plain(value: Any) -> Hashable:
    """Python value of a NumPy scalar; whole floats become integers (a column with NaN turns 1 into 1.0)."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value  # type: ignore[no-any-return]


def label_text(value: Hashable) -> str:
    """Text that stands for a value in tables."""
    return value if isinstance(value, str) else str(value)


def as_float_column(values: Any, argument: str) -> NDArray[np.float64]:
    """Float column; missing values become NaN.

    Raises
    ------
    InputError
        If the values are not numbers.
    """
    column = as_column(values, argument)
    try:
        if isinstance(column, (pd.Series, pd.Index)):
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise InputError(
            argument,
            got=f"values that are not numbers ({problem})",
            allowed="one number per row",
            cure=f"convert {argument} to a numeric column",
        ) from problem
