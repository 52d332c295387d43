"""From columns of any kind to codes: values, labels and their favourable value, columns of any frame."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairstats.ground import checks
from fairstats.ground.checks import as_number, check_different, check_that, listed
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.lazy import pd

#: Code of a missing value.
MISSING = -1
_BLOCK = 1 << 20
_SMALL_RANGE = 1 << 16
#: Floats between −_FEW and _FEW are looked at as whole numbers first.
_FEW = 31
#: Whole floats below this are exact.
_EXACT = 2.0**53


@dataclass(frozen=True)
class Factor:
    """Integer codes and the values that they stand for.

    `codes`, shape (n,): position in `levels`, -1 where missing; `levels`: the distinct values, in order of
    appearance or size, or (`ordered_by_user`) as a categorical column declared them; `declared`: its categories
    then, with those that no row has (they are no levels: a filter leaves them behind).
    """

    codes: NDArray[np.signedinteger[Any]]
    levels: tuple[Hashable, ...]
    ordered_by_user: bool = False
    declared: tuple[Hashable, ...] = ()

    @property
    def has_missing(self) -> bool:
        """Whether any value is missing."""
        return bool(self.codes.size) and int(self.codes.min()) == MISSING


def as_column(values: Any, argument: str) -> Any:
    """One-dimensional NumPy array, pandas Series or pandas Categorical of a column of any kind.

    What a masked array hides is missing. Raises InputError, about `argument`, for more dimensions than one.
    """
    if isinstance(values, (pd.Series, pd.Index, pd.Categorical)) and not isinstance(values, pd.MultiIndex):
        return values
    came = f"a value of type {type(values).__name__}"
    if not isinstance(values, (np.ndarray, list, tuple, pd.MultiIndex)):
        values = _through_narwhals(values, argument)
    if isinstance(values, (list, tuple)):
        values = _from_list(values, argument)
    if isinstance(values, np.ma.MaskedArray):
        values = without_mask(values)
    if isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] == 1:
        values = np.asarray(values)[:, 0]  # a matrix would keep two dimensions
    if isinstance(values, pd.MultiIndex) or (isinstance(values, np.ndarray) and values.ndim != 1):
        got = came if values.ndim == 0 else f"an array of shape {values.shape}"
        allowed = "one value per row: a list, a NumPy (n,) array, a pandas, polars or pyarrow column"
        raise InputError(argument, got=got, allowed=allowed, cure=f"pass {argument} as a single column")
    return values


def without_mask(values: Any) -> Any:
    """The values of a masked array with what it hides as missing: NaN, NaT or None; others as they are."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    mask, data = np.ma.getmaskarray(values), np.asarray(values.data)
    if not mask.any():
        return data
    kind = data.dtype.kind
    seen = data.copy() if kind in "fcMm" else data.astype(object)
    seen[mask] = np.nan if kind in "fc" else np.array("NaT", data.dtype) if kind in "Mm" else None
    return seen


def as_narwhals(values: Any, argument: str = "frame", *, collect: bool = True) -> Any:
    """A frame or column of narwhals, in memory; `values` themselves where it does not know their library."""
    try:
        native = nw.from_native(values, allow_series=True, pass_through=True)
        return native.collect() if collect and isinstance(native, nw.LazyFrame) else native
    except nw.exceptions.NarwhalsError as problem:
        check_different(argument, getattr(values, "column_names", getattr(values, "columns", ())))
        raise InputError(argument, got=f"{problem}", allowed="a column or a frame") from problem


def _through_narwhals(values: Any, argument: str) -> Any:
    native = as_narwhals(values, argument)
    if isinstance(native, nw.DataFrame) and native.shape[1] == 1:
        native = native[native.columns[0]]
    if isinstance(native, nw.Series):
        check_that(not native.dtype.is_nested(), argument, native.dtype, "one label or number per row", "unnest it")
        if isinstance(native.dtype, nw.Enum):
            return pd.Categorical(native.to_list(), categories=list(native.dtype.categories))
        text = isinstance(native.dtype, nw.Categorical)  # dictionary-encoded text: no declared order
        if text or (native.null_count() and not native.dtype.is_numeric()):
            return np.array(native.to_list(), dtype=object)
    if isinstance(native, (nw.Series, nw.DataFrame)):
        return native.to_numpy()
    return as_array(values, argument)


def as_array(values: Any, argument: str) -> NDArray[Any]:
    """NumPy's array of what is no column of a known library, or an error of ours."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of masked entries in lists, and what NumPy will refuse later
            return np.asarray(values)
    except (TypeError, ValueError, OverflowError, Warning) as problem:
        got, cure = f"a {type(values).__name__} that NumPy cannot read ({problem})", "pass single labels or numbers"
        raise InputError(argument, got=got, allowed="one value per row", cure=cure) from problem


def _from_list(values: Sequence[Any], argument: str) -> NDArray[Any]:
    types = set(map(type, values))
    if types and all(issubclass(t, str) for t in types):
        return _objects(values)  # Python's own strings are hashed faster than NumPy's
    if np.ma.core.MaskedConstant in types:
        values = [None if v is np.ma.masked else v for v in values]
        types = set(map(type, values))
    array = as_array(values, argument)
    if array.dtype.kind in "US" and not all(issubclass(t, str if array.dtype.kind == "U" else bytes) for t in types):
        return _objects(values)  # mixed types: keep None, NaN, numbers and bytes
    return array


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    return np.fromiter(values, dtype=object, count=len(values))


def factorize(values: Any, argument: str) -> Factor:
    """Integer codes of a column; integers with a small range and booleans are coded without hashing."""
    column = as_column(values, argument)
    if isinstance(column, pd.Categorical) or isinstance(getattr(column, "dtype", None), pd.CategoricalDtype):
        return _factor_of_categories(column if isinstance(column, pd.Categorical) else pd.Categorical(column))
    plain = isinstance(column, (pd.Series, pd.Index)) and isinstance(column.dtype, np.dtype)
    array = column.to_numpy() if plain else column
    kind = array.dtype.kind if isinstance(array, np.ndarray) else ""
    if kind == "b":
        return _factor_of_range(array.view(np.uint8), 0, 1, as_bool=True)
    if kind in ("i", "u") and array.size:
        low, high = int(array.min()), int(array.max())
        if high - low < _SMALL_RANGE and high <= np.iinfo(np.int64).max:
            return _factor_of_range(array, low, high)
    if kind == "f" and (factor := _factor_of_few(array)) is not None:
        return factor
    if kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(np.float64)  # pandas knows no other widths
    try:
        codes, uniques = pd.factorize(array, sort=False, use_na_sentinel=True)
    except (TypeError, ValueError, NotImplementedError) as problem:  # the last is Arrow's, of nested types
        got, allowed = f"values that cannot be told apart ({problem})", "one label or number per row"
        cure = f"make every element of {argument} a single label or number"
        raise InputError(argument, got=got, allowed=allowed, cure=cure) from problem
    levels = tuple(_plain(v) for v in uniques)
    _check_told_apart(levels, argument)
    return Factor(codes.astype(_code_type(len(levels)), copy=False), levels)


def _factor_of_categories(column: pd.Categorical) -> Factor:
    """Codes of the categories that some row has, in their declared order."""
    declared = tuple(_plain(v) for v in column.categories)
    codes = np.asarray(column.codes)
    seen = np.bincount(codes[codes >= 0], minlength=len(declared)) > 0
    if seen.all():
        return Factor(codes, declared, True, declared)
    place = np.full(len(declared) + 1, MISSING, dtype=codes.dtype)
    place[:-1][seen] = np.arange(int(seen.sum()))
    levels = tuple(level for level, there in zip(declared, seen, strict=True) if there)
    return Factor(place[codes], levels, True, declared)


def _check_told_apart(levels: tuple[Hashable, ...], argument: str) -> None:
    """Raise where values of two types read alike, as 1 and "1", or b"a" and "a"."""
    if len(set(map(type, levels))) < 2:
        return
    known: dict[str, Hashable] = {}
    for level in levels:
        text = level.decode(errors="replace") if isinstance(level, bytes) else label_text(level)
        if text in known:
            got = f"both {known[text]!r} and {level!r} in one column"
            cure = f"convert {argument} to one type, e.g. .astype(str)"
            raise InputError(argument, got=got, allowed="values of one type", cure=cure)
        known[text] = level


def _code_type(n_levels: int) -> type[np.signedinteger[Any]]:
    if n_levels < 127:
        return np.int8
    return np.int16 if n_levels < 32_767 else np.int32


def _factor_of_range(array: NDArray[Any], low: int, high: int, *, as_bool: bool = False) -> Factor:
    """Codes of integers in [low, high], block by block so that memory stays small."""
    n_values = high - low + 1
    present = np.zeros(n_values, dtype=bool)
    blocks = [slice(start, start + _BLOCK) for start in range(0, array.size, _BLOCK)]
    for block in blocks:
        present |= np.bincount(array[block].astype(np.int64) - low, minlength=n_values) > 0
    values = np.flatnonzero(present)
    code_of = np.full(n_values, MISSING, dtype=_code_type(values.size))
    code_of[values] = np.arange(values.size)
    codes = np.empty(array.size, dtype=_code_type(values.size))
    for block in blocks:
        codes[block] = code_of[array[block].astype(np.int64) - low]
    return Factor(codes, tuple(bool(v) if as_bool else int(v) + low for v in values))


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
    if isinstance(value, (np.datetime64, np.timedelta64)):
        value = pd.Timestamp(value) if isinstance(value, np.datetime64) else pd.Timedelta(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    return value  # type: ignore[no-any-return]


def label_text(value: Hashable) -> str:
    """Text that stands for a value in tables: 1, 1.0 and ``np.float64(1)`` read alike."""
    return value if isinstance(value, str) else str(_plain(value))


def as_float_column(values: Any, argument: str) -> NDArray[np.float64]:
    """Float column; missing values become NaN, what is no number (text, dates, complex ones) is an error."""
    column = as_column(values, argument)
    try:
        if not isinstance(column, np.ndarray):
            dates = getattr(column.dtype, "kind", "O") in "Mm" or isinstance(column.dtype, pd.PeriodDtype)
            if dates or pd.api.types.is_complex_dtype(column.dtype):
                raise TypeError(f"type {column.dtype}")
            text = isinstance(column.dtype, (pd.StringDtype, pd.CategoricalDtype))
            raw = isinstance(column, pd.Categorical) or text or column.dtype == object
            column = np.asarray(column, dtype=object) if raw else column.to_numpy(np.float64, na_value=np.nan)
        if column.dtype.kind == "O":
            column = np.array([as_number(v) for v in column.tolist()], dtype=np.float64)
        elif column.dtype.kind not in "biuf":
            raise TypeError(f"type {column.dtype}")
        return np.asarray(column, dtype=np.float64)
    # NotImplementedError is Arrow's, of columns such as intervals of months
    except (TypeError, ValueError, OverflowError, NotImplementedError) as problem:
        got, cure = f"values that are not numbers ({problem})", f"convert {argument} to a numeric column"
        raise InputError(argument, got=got, allowed="one number per row", cure=cure) from problem


def binary_columns(pos_label: Any, /, **columns: Any) -> dict[str, Factor | None]:
    """Codes 0/1 of several label columns that share `pos_label`; None stays None."""
    if isinstance(pos_label, Mapping) and set(pos_label) - set(columns):
        got, cure = (f"a mapping with {sorted(map(str, pos_label))}", "name the favourable value of each column")
        allowed = f"a mapping with the keys {', '.join(map(repr, columns))}, or one value"
        raise InputError("pos_label", got=got, allowed=allowed, cure=cure)
    labels = {name: pos_label.get(name) if isinstance(pos_label, Mapping) else pos_label for name in columns}
    for label in labels.values():
        words = "one value of the labels, or a mapping {'y_true': …, 'y_pred': …}"
        checks.check_label("pos_label", label, words, "1")
    codes = {name: None if own is None else binary_codes(own, name, labels[name]) for name, own in columns.items()}
    _check_pos_label_occurs(pos_label, labels, {name: own for name, own in codes.items() if own is not None})
    return codes


def binary_codes(values: Any, argument: str, pos_label: Any = None) -> Factor:
    """Codes 0/1 of a label column, -1 where missing; `levels` holds the values that occurred.

    `pos_label`, the favourable value, may be left out for labels in {0, 1}, {False, True} or {-1, 1}.
    """
    factor = factorize(values, argument)
    levels = factor.levels
    if pos_label is not None:
        positive = next((k for k, level in enumerate(levels) if _same(level, pos_label)), -2)
    elif set(levels) <= {0, 1} or set(levels) <= {-1, 1}:
        positive = levels.index(1) if 1 in levels else -2  # it does not occur
    else:
        got, cure = f"the values {listed(levels, 8)}", f"pass pos_label= (one of {listed(levels, 8)})"
        allowed = "labels 0/1, False/True or -1/1, or any labels with `pos_label` naming the favourable one"
        raise InputError(argument, got=got, allowed=allowed, cure=cure)
    if factor.codes.size and not factor.has_missing:
        codes: Any = (factor.codes == positive).view(np.uint8)
    else:
        codes = np.where(factor.codes == MISSING, MISSING, factor.codes == positive).astype(np.int8)
    return Factor(codes, levels)


def _same(level: Hashable, pos_label: Any) -> bool:
    """Whether a value is the favourable one: equal, or the same text."""
    return bool(level == pos_label) or label_text(level) == label_text(pos_label)


def _check_pos_label_occurs(pos_label: Any, labels: Mapping[str, Any], given: Mapping[str, Factor]) -> None:
    named = {name: factor.levels for name, factor in given.items() if labels[name] is not None}
    absent = [name for name, levels in named.items() if not any(_same(level, labels[name]) for level in levels)]
    if not absent:
        return
    name, have = absent[0], listed(named[absent[0]], 8)
    if len(absent) == len(given) or isinstance(pos_label, Mapping) or len(named[name]) > 1:
        got = f"{labels[name]!r}, which does not occur in {name}"
        cure = "name the favourable value; a mapping {'y_true': …, 'y_pred': …} where the columns differ"
        raise InputError("pos_label", got=got, allowed=f"a value that occurs; {name} has {have}", cure=cure)
    text = f"`pos_label` {pos_label!r} does not occur in {name}, whose only value is {have}: "
    caution(f"{text}every row of {name} counts as unfavourable.", DataWarning)


def check_columns(
    argument: str, names: Sequence[Hashable], have: Sequence[Hashable], cure: str = "check the spelling"
) -> None:
    """Raise unless every name is among those that a table has."""
    lacking = [name for name in names if not checks.is_plain(name) or name not in have]
    if lacking:
        got = f"no column {', '.join(dict.fromkeys(map(checks.shown, lacking)))}"
        if cure == "check the spelling":
            cure = checks.nearest(lacking[0], have) or cure
        raise InputError(argument, got=got, allowed=f"its columns: {listed(have)}", cure=cure)


def as_frame_columns(frame: Any, names: Sequence[str], argument: str) -> pd.DataFrame:
    """The named columns of a frame of any kind, as pandas."""
    if isinstance(frame, pd.DataFrame) and frame.columns.is_unique:
        check_columns(argument, names, list(frame.columns))
        return frame[list(dict.fromkeys(names))]
    native = as_narwhals(frame, argument, collect=False)
    if not isinstance(native, (nw.DataFrame, nw.LazyFrame)):
        checks.check_type(argument, frame, nw.DataFrame, "a pandas, polars or pyarrow table", "pass a data frame")
    check_columns(argument, names, native.collect_schema().names())
    chosen = as_narwhals(native.select(*dict.fromkeys(names)))
    if isinstance(nw.to_native(chosen), pd.DataFrame):
        return nw.to_native(chosen)  # type: ignore[no-any-return]
    return pd.DataFrame({name: as_column(chosen[name].to_native(), name) for name in chosen.columns})
