"""Columns of every container, with their types and their nulls.

NumPy, pandas, Arrow, polars, lists, R.

What their values are as labels, and what is missing, is said by `values`; here nothing is turned
into anything else than NumPy's or pandas' column of the same values, so that no integer passes
through a float.
"""

from __future__ import annotations

import datetime
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import check_different, check_that
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import pd

#: R's NA in an integer column.
R_NA_INTEGER = -(2**31)


def as_column(values: Any, argument: str) -> Any:
    """One-dimensional NumPy array, pandas Series or pandas Categorical of a column of any kind.

    Integers and booleans with nulls come as pandas' nullable columns. What a masked array hides is
    missing. Raises InputError, about `argument`, for more dimensions than one.
    """
    if type(values) is np.ndarray and values.ndim == 1:
        return values
    if isinstance(values, (pd.Series, pd.Index, pd.Categorical)) and not isinstance(
        values, pd.MultiIndex
    ):
        return values
    if isinstance(values, pd.api.extensions.ExtensionArray):
        return pd.Series(values)
    if is_of_r(values):
        return from_r(values, argument)
    received_type = f"a value of type {type(values).__name__}"
    if not isinstance(values, (np.ndarray, list, tuple, pd.MultiIndex)):
        values = _through_narwhals(values, argument)
    if isinstance(values, pd.Series):
        return values
    if isinstance(values, (list, tuple)):
        values = _from_list(values, argument)
    if isinstance(values, np.ma.MaskedArray):
        values = without_mask(values)
    if isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] == 1:
        values = np.asarray(values)[:, 0]  # a matrix would keep two dimensions
    if isinstance(values, pd.MultiIndex) or (isinstance(values, np.ndarray) and values.ndim != 1):
        if values.ndim == 0:
            received = received_type
        else:
            received = f"an array of shape {values.shape}"
        allowed = (
            "one value per row: a list, a NumPy (n,) array, a pandas, polars or pyarrow column"
        )
        raise InputError(
            argument,
            got=received,
            allowed=allowed,
            cure=f"pass {argument} as a single column",
        )
    return values


def is_of_r(values: Any) -> bool:
    """Whether a value is an object of rpy2, which is not imported to know it."""
    return type(values).__module__.startswith("rpy2.")


def from_r(values: Any, argument: str) -> Any:
    """A vector of R as a pandas column, a data frame of R as a pandas frame.

    NA is missing, factors have labels.
    """
    from fairstats.ground.rdoor.vectors import column_of

    try:
        return column_of(values)
    except (TypeError, ValueError) as problem:
        received = f"an R object of type {type(values).__name__}"
        allowed = "a vector, a factor or a data frame of R"
        raise InputError(
            argument,
            got=received,
            allowed=allowed,
            cure="convert it first",
        ) from problem


def r_is_here() -> bool:
    """Whether R runs in this process: by rpy2, or around it (reticulate)."""
    return "rpy2" in sys.modules or "rpytools" in sys.modules


def without_mask(values: Any) -> Any:
    """The values of a masked array with what it hides as missing: NaN, NaT or None.

    Others as they are.
    """
    if not isinstance(values, np.ma.MaskedArray):
        return values
    mask_array = np.ma.getmaskarray(values)
    unmasked_data = np.asarray(values.data)
    if not mask_array.any():
        return unmasked_data
    dtype_kind = unmasked_data.dtype.kind
    missing_value: Any
    if dtype_kind in "fc":
        visible_values = unmasked_data.copy()
        missing_value = np.nan
    elif dtype_kind in "Mm":
        visible_values = unmasked_data.copy()
        missing_value = np.array("NaT", unmasked_data.dtype)
    else:
        visible_values = unmasked_data.astype(object)
        missing_value = None
    visible_values[mask_array] = missing_value
    return visible_values


def as_narwhals(values: Any, argument: str = "frame", *, collect: bool = True) -> Any:
    """A frame or column of narwhals, in memory.

    `values` themselves where it does not know their library.
    """
    type_name = type(values).__name__
    if (
        type(values).__module__ == "pyarrow.lib"
        and type_name.endswith("Array")
        and not type_name.startswith("Chunked")
    ):
        # narwhals knows no other arrays of Arrow
        values = import_module("pyarrow").chunked_array([values])
    try:
        native = nw.from_native(values, allow_series=True, pass_through=True)
        if collect and isinstance(native, nw.LazyFrame):
            return native.collect()
        return native
    except nw.exceptions.NarwhalsError as problem:
        check_different(argument, getattr(values, "column_names", getattr(values, "columns", ())))
        raise InputError(argument, got=f"{problem}", allowed="a column or a frame") from problem


def _through_narwhals(values: Any, argument: str) -> Any:
    native = as_narwhals(values, argument)
    if isinstance(native, nw.DataFrame) and native.shape[1] == 1:
        native = native[native.columns[0]]
    if isinstance(native, nw.Series):
        return _of_series(native, argument)
    if isinstance(native, nw.DataFrame):
        return native.to_numpy()
    return as_array(values, argument)


def _of_series(column: Any, argument: str) -> Any:
    """A column of polars, Arrow and others as NumPy or pandas hold it, value by value where their
    types know less.
    """
    dtype = column.dtype
    check_that(not dtype.is_nested(), argument, dtype, "one label or number per row", "unnest it")
    if isinstance(dtype, nw.Enum):
        return pd.Categorical(column.to_list(), categories=list(dtype.categories))
    # dictionary-encoded text has no declared order; NumPy has neither decimals nor integers of 128
    # bits
    if (
        isinstance(dtype, nw.Categorical)
        or dtype.is_decimal()
        or isinstance(dtype, (nw.Int128, nw.UInt128))
    ):
        return objects(column.to_list())
    if isinstance(dtype, nw.Time):
        return _times_as_text(column)
    n_missing = column.null_count()
    if n_missing and (dtype.is_integer() or isinstance(dtype, nw.Boolean)):
        return _as_nullable_column(column, n_missing)
    if isinstance(dtype, nw.Datetime) and dtype.time_zone:
        return pd.Series(column.to_numpy()).dt.tz_localize("UTC")
    if n_missing and not (
        dtype.is_numeric() or dtype.is_temporal() or isinstance(dtype, nw.Unknown)
    ):
        return objects(column.to_list())
    try:
        return column.to_numpy()
    except (NotImplementedError, TypeError, ValueError):  # Arrow's intervals of months, say
        return objects(column.to_list())


def _as_nullable_column(column: Any, n_missing: int) -> Any:
    """Integers or booleans with nulls.

    The values, and a mask beside them, so that none becomes a float.
    """
    if n_missing == len(column):
        return np.full(n_missing, None, dtype=object)
    null_mask = column.is_null().to_numpy()
    filled = column.fill_null(column.min()).to_numpy()
    array_class = pd.arrays.BooleanArray if filled.dtype.kind == "b" else pd.arrays.IntegerArray
    return pd.Series(array_class(np.array(filled), np.array(null_mask, dtype=bool)))


def _times_as_text(column: Any) -> NDArray[Any]:
    """Times of a day as text: Python's own have no nanoseconds."""
    native = column.to_native()
    if type(native).__module__ == "pyarrow.lib":  # in the unit of their type, of 32 bits or 64
        pyarrow_module = import_module("pyarrow")
        numbers = native.cast(pyarrow_module.time64("ns")).cast(pyarrow_module.int64()).to_pylist()
    else:
        numbers = column.cast(nw.Int64).to_list()
    texts: dict[Any, str | None] = {}
    for number in set(numbers) - {None}:
        texts[number] = text_of_nanoseconds(number)
    texts[None] = None
    return objects([texts[number] for number in numbers])


def as_array(values: Any, argument: str) -> NDArray[Any]:
    """NumPy's array of what is no column of a known library, or an error of ours."""
    try:
        with warnings.catch_warnings():
            # of masked entries in lists, and what NumPy will refuse later
            warnings.simplefilter("error")
            return np.asarray(values)
    except (TypeError, ValueError, OverflowError, Warning) as problem:
        received = f"a {type(values).__name__} that NumPy cannot read ({problem})"
        advice = "pass single labels or numbers"
        raise InputError(
            argument,
            got=received,
            allowed="one value per row",
            cure=advice,
        ) from problem


def _from_list(values: Sequence[Any], argument: str) -> NDArray[Any]:
    """An array of a list's values that loses nothing of them."""
    value_types = set(map(type, values))
    if value_types and all(issubclass(value_type, str) for value_type in value_types):
        return objects(values)  # Python's own strings are hashed faster than NumPy's
    if np.ma.core.MaskedConstant in value_types:
        values = [None if each_value is np.ma.masked else each_value for each_value in values]
        value_types = set(map(type, values))
    if any(
        value_type.__module__.startswith("rpy2.") for value_type in value_types
    ) or _mixes_numbers(value_types):
        return objects(values)
    if value_types & {bytes, datetime.datetime, datetime.date}:
        # NumPy's bytes lose the zeros that end them, its dates their time zones
        return objects(values)
    plain_array = as_array(values, argument)
    if plain_array.dtype.kind in "US" and not all(
        issubclass(value_type, str if plain_array.dtype.kind == "U" else bytes)
        for value_type in value_types
    ):
        return objects(values)  # mixed types: keep None, NaN, numbers and bytes
    return plain_array


def _mixes_numbers(types: set[type]) -> bool:
    """Whether NumPy would make one type of several.

    Booleans of numbers, floats of integers beside them.
    """
    booleans = any(issubclass(value_type, (bool, np.bool_)) for value_type in types)
    integers = any(
        issubclass(value_type, (int, np.integer)) and not issubclass(value_type, bool)
        for value_type in types
    )
    floats = any(issubclass(value_type, (float, np.floating)) for value_type in types)
    return booleans + integers + floats > 1


def objects(values: Sequence[Any]) -> NDArray[Any]:
    """An array of objects, shape (n,)."""
    return np.fromiter(values, dtype=object, count=len(values))


def without_zeros(text: str) -> str:
    """The text of a time without the zeros that end its fraction of a second."""
    if "." in text:
        return text.rstrip("0").rstrip(".")
    return text


def text_of_nanoseconds(nanoseconds: int) -> str:
    """The text of a time of a day, from its nanoseconds since midnight."""
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    hours, remaining_seconds = divmod(seconds, 3_600)
    time_text = f"{hours:02}:{remaining_seconds // 60:02}:{remaining_seconds % 60:02}"
    return without_zeros(f"{time_text}.{fraction:09}")
