"""What a value is as a label.

The one rule by which columns of any container become groups and labels.

A column of a frame, an array, an Arrow or polars column, an engine's answer or an R vector holds
*typed* values. This module says what each is, and nothing else in the package does. (Text files
have no types: they are read as text, and the roles of the columns decide; see
`fairstats.read_table`.)

====================  ==================================================================================
value                 label
====================  ==================================================================================
text                  as it is written: "01" is not "1", "NA" is a value, blanks and line ends count
bytes                 their text in UTF-8, an error where they are none
integers              their digits, exactly: also beside nulls and beyond 2^53, never by way of a float
floats                whole ones below 2^64 as integers (1.0 is "1", -0.0 is "0"), others by the shortest
                      digits that give the same double; infinity is "inf"
decimals              as the number that they are: 1.50 is "1.5", 2.00 is "2"
booleans              "True", "False"
days and moments      "2020-01-02"; a moment at midnight is its day, others are "2020-01-02 12:00:00.5", with
                      as many digits of a second as it has (nanoseconds are kept); with a time zone,
                      the moment in UTC with "+00:00"
times of a day        "12:00:00", "12:00:00.000000001"
categories            as their values; the order that a categorical declares is kept
other objects         their ``str``
====================  ==================================================================================

Missing, in every container: None, NaN (also within text and categories, within nullable and Arrow
columns), NaT, pd.NA, nulls of Arrow, polars and engines, masked entries, decimal NaN, **empty
text**, and R's NA of every type: the objects of rpy2, and the smallest 32-bit integer in a column
of 32-bit integers while R is in the process (which is what pandas2ri and reticulate make of NA).
NumPy makes the text "nan" of NaN in ``np.array(["A", np.nan])``, and 32 characters wide; in text
arrays of that width or more "nan" is missing, in narrower ones it is text.

Values of two kinds that are written alike (1 beside "1", b"a" beside "a") are refused in one
column; a day and its midnight, and numbers of several types, are one value. Lone surrogates, which
no file can hold, are refused.

Which label is the favourable one (`find_labels`): the label that is written as `pos_label` is; if
none is, those that mean true where `pos_label` does, or false: True, "True", "true", "TRUE", 1,
"1", 1.0, "1.0", and False, "False", "false", "FALSE", 0, "0", 0.0, "0.0". No `pos_label` is needed
for the labels 0/1 and −1/1, in text also 0.0/1.0 and −1.0/1.0 (as text files have them where a
column of 0/1 had missing values), and False/True, false/true, FALSE/TRUE (`encoding`). Two
spellings in one column, as "0" beside "1.0", are two labels that say nothing by themselves.
"""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.containers import R_NA_INTEGER, as_column, objects, r_is_here, without_zeros
from fairstats.ground.errors import InputError
from fairstats.ground.factors import (
    MISSING,
    SMALL_RANGE,
    Factor,
    code_type,
    factor_of_few,
    factor_of_range,
)
from fairstats.ground.lazy import pd

#: Whole floats below this are written as integers: no integer type of a frame goes further.
_AS_INTEGER = 2.0**64
#: Characters of NumPy's text arrays that a float was put into.
_WIDTH_OF_FLOATS = 32
#: NumPy's texts of at most so many letters, seven bits each, are numbers of 64 bits.
_PACKED_LETTERS = 9
_BITS_OF_ASCII = 7
#: What means true, and what means false, as text.
TRUE_LIKE = frozenset({"True", "true", "TRUE", "1", "1.0"})
FALSE_LIKE = frozenset({"False", "false", "FALSE", "0", "0.0"})
#: Values that are one where they are written alike.
_NUMBER_TYPES: tuple[type, ...] = (int, float, Decimal)
_MOMENT_TYPES: tuple[type, ...] = (datetime.date, np.datetime64)


# ---------------------------------------------------------------- one value


def is_missing(value: Any) -> bool:
    """Whether a single value is missing, whatever container it came from."""
    if value is None or value is np.ma.masked:
        return True
    if isinstance(value, (str, bytes)):
        return len(value) == 0
    if type(value).__module__.startswith("rpy2."):
        return type(value).__name__.startswith("NA")
    if type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (float, np.floating, Decimal, np.datetime64, np.timedelta64)):
        return bool(value != value)
    return False


def as_level(value: Any) -> Hashable:
    """The plain Python value of one that is not missing.

    Of NumPy scalars, whole floats, decimals and enumerations.
    """
    if type(value) in (str, int, bool):
        return value  # type: ignore[no-any-return]
    if isinstance(value, np.datetime64):
        return _as_moment(value)
    if isinstance(value, np.timedelta64):
        return pd.Timedelta(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Enum) and isinstance(value, (str, int)):
        value = value.value
    if isinstance(value, float):
        if value.is_integer() and abs(value) < _AS_INTEGER:
            return int(value)
        return float(value)
    if isinstance(value, Decimal) and value.is_finite():
        if value == value.to_integral_value():
            return int(value)
        nearest_float = float(value)
        if Decimal(repr(nearest_float)) == value:
            return nearest_float
        return value
    return value  # type: ignore[no-any-return]


def _as_moment(value: np.datetime64) -> Hashable:
    try:
        return pd.Timestamp(value)
    except ValueError:  # beyond what pandas can hold
        return str(np.datetime_as_string(value)).replace("T", " ")


def label_text(value: Hashable) -> str:
    """The text of a value in tables, by the rule of this module.

    1, 1.0 and ``np.float64(1)`` are written alike.
    """
    value_type = type(value)
    if value_type is str:
        return value  # type: ignore[return-value]
    if value_type is int or value_type is bool:
        return str(value)
    level = as_level(value)
    if isinstance(level, str):
        return str(level)
    if isinstance(level, bytes):
        return level.decode("utf-8", "surrogateescape")
    if isinstance(level, Decimal) and level.is_finite():
        return f"{level.normalize():f}"
    if isinstance(level, datetime.date):
        return _text_of_moment(level)
    if isinstance(level, datetime.time):
        return without_zeros(level.isoformat())
    return str(level)


def _text_of_moment(level: datetime.date) -> str:
    if not isinstance(level, datetime.datetime):
        return level.isoformat()
    if level.tzinfo is not None:
        try:
            level = level.astimezone(datetime.UTC)
        except (OverflowError, ValueError):  # within a day of the year 1 or 9999
            return without_zeros(level.isoformat(sep=" "))
        moment_part, _, offset_part = level.isoformat(sep=" ").partition("+")
        return f"{without_zeros(moment_part)}+{offset_part}"
    moment_text = level.isoformat(sep=" ")  # of pandas' moments with nanoseconds
    if moment_text.endswith(" 00:00:00"):
        return moment_text.removesuffix(" 00:00:00")
    return without_zeros(moment_text)


def find_labels(levels: Sequence[Hashable], pos_label: Any) -> list[int]:
    """Positions of the labels of a column that `pos_label` names, by the rule of this module.

    Empty for none.
    """
    wanted_text = label_text(pos_label)
    texts = [label_text(level) for level in levels]
    if wanted_text in texts:
        result: list[int] = []
        for position, level_text in enumerate(texts):
            if level_text == wanted_text:
                result.append(position)
        return result
    for like_labels in (TRUE_LIKE, FALSE_LIKE):
        if wanted_text in like_labels:
            labels: list[int] = []
            for position, level_text in enumerate(texts):
                if level_text in like_labels:
                    labels.append(position)
            return labels
    return []


def check_texts(texts: Iterable[str], argument: str) -> None:
    """Raise for text that no file can hold: lone surrogates, and bytes that are no UTF-8."""
    texts = tuple(texts)
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        bad_text = next(each_text for each_text in texts if not _is_encodable(each_text))
        received = f"{bad_text!a}, which is no UTF-8 (a lone surrogate, or other bytes)"
        advice = (
            "read the source with its encoding, or clean the text: .str.encode('utf-8',"
            " 'replace').str.decode('utf-8')"
        )
        raise InputError(
            argument,
            got=received,
            allowed="text that UTF-8 can hold",
            cure=advice,
        ) from None


def label_texts(values: Iterable[Hashable], argument: str) -> tuple[str, ...]:
    """The texts of values, which a file can hold: lone surrogates are an error about `argument`."""
    texts = tuple(map(label_text, values))
    check_texts(texts, argument)
    return texts


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# ---------------------------------------------------------------- codes of a column, of any
# container


def factorize(values: Any, argument: str) -> Factor:
    """Codes and labels of a column.

    Integers with a small range and booleans are coded without hashing.
    """
    column = as_column(values, argument)
    if not isinstance(column, np.ndarray):
        if isinstance(column, pd.Categorical):
            return _factor_of_categories(column, argument)
        if isinstance(column.dtype, pd.CategoricalDtype):
            return _factor_of_categories(pd.Categorical(column), argument)
    plain_array = _plain_array(column, argument)
    if isinstance(plain_array, np.ndarray):
        dtype_kind = plain_array.dtype.kind
    else:
        dtype_kind = ""
    if dtype_kind == "b":
        return factor_of_range(plain_array.view(np.uint8), 0, 1, as_bool=True)
    if dtype_kind in ("i", "u") and plain_array.size:
        smallest = int(plain_array.min())
        greatest = int(plain_array.max())
        if smallest == R_NA_INTEGER and plain_array.dtype == np.int32 and r_is_here():
            return _without_level(_factor_by_hashing(plain_array, argument), R_NA_INTEGER, argument)
        if greatest - smallest < SMALL_RANGE and greatest <= np.iinfo(np.int64).max:
            return factor_of_range(plain_array, smallest, greatest)
    if dtype_kind == "f":
        factor = factor_of_few(plain_array)
        if factor is not None:
            return factor
        if plain_array.dtype.itemsize not in (4, 8):
            plain_array = plain_array.astype(np.float64)  # pandas knows no other widths
    factor = _factor_by_hashing(plain_array, argument)
    if dtype_kind == "U" and plain_array.dtype.itemsize >= 4 * _WIDTH_OF_FLOATS:
        return _without_level(factor, "nan", argument)
    return factor


def holds_numbers(values: Any, argument: str) -> bool:
    """Whether all values of a column that are not missing are numbers; booleans are labels."""
    column = as_column(values, argument)
    if not hasattr(column, "codes"):
        plain_array = _plain_array(column, argument)
        if isinstance(plain_array, np.ndarray) and plain_array.dtype.kind in "iuf":
            return True
    return all(_is_number(level) for level in factorize(column, argument).levels)


def _is_number(level: Hashable) -> bool:
    return isinstance(level, (int, float, np.number)) and not isinstance(level, (bool, np.bool_))


def labels_of(values: Any, argument: str) -> NDArray[Any]:
    """The label of every row as text, None where missing; shape (n,), objects."""
    factor = factorize(values, argument)
    texts: list[str | None] = [label_text(level) for level in factor.levels]
    return np.asarray(objects([*texts, None])[factor.codes])


def missing_rows(values: Any, argument: str) -> NDArray[np.bool_]:
    """Which rows of a column are missing, shape (n,)."""
    column = as_column(values, argument)
    plain_array: Any = column if hasattr(column, "codes") else _plain_array(column, argument)
    if isinstance(plain_array, np.ndarray) and plain_array.dtype.kind == "f":
        return np.asarray(np.isnan(plain_array))
    if isinstance(plain_array, np.ndarray) and plain_array.dtype.kind in "bu":
        return np.zeros(plain_array.size, dtype=bool)
    return np.asarray(factorize(column, argument).codes == MISSING)


def _plain_array(column: Any, argument: str) -> Any:
    """The NumPy array of a column that has one with the same values; pandas' own arrays stay."""
    if isinstance(column, np.ndarray):
        return column
    column_type = column.dtype
    if isinstance(column_type, np.dtype):
        return column.to_numpy()
    if isinstance(column_type, pd.SparseDtype):
        return np.asarray(column)
    dtype_kind = getattr(column_type, "kind", "O")
    # nullable and Arrow-backed floats can hold NaN beside nulls: both are missing
    if dtype_kind == "f":
        return column.to_numpy(getattr(column_type, "numpy_dtype", np.float64), na_value=np.nan)
    if isinstance(column_type, pd.ArrowDtype):
        arrow_array = column.array.__arrow_array__()
        arrow_type = str(arrow_array.type)
        if arrow_type.startswith(("time32", "time64", "decimal", "halffloat")):
            return as_column(arrow_array, argument)
    elif dtype_kind in "iub" and hasattr(column_type, "numpy_dtype") and not column.isna().any():
        return column.to_numpy(column_type.numpy_dtype)
    return column


def _with_truths(object_array: Any, uniques: Sequence[Any]) -> NDArray[Any] | None:
    """Objects in which True is not 1, as it is for Python's hashes; None where no value is both."""
    if not isinstance(object_array, np.ndarray) or object_array.dtype != object:
        return None
    if not any(
        isinstance(unique_value, (bool, np.bool_, int, float)) and unique_value in (0, 1)
        for unique_value in uniques
    ):
        return None
    if pd.api.types.infer_dtype(object_array, skipna=True) not in ("mixed", "mixed-integer"):
        return None
    is_truth = [isinstance(each_value, (bool, np.bool_)) for each_value in object_array]
    if not any(is_truth):
        return None
    return objects(
        [
            _TruthValue(bool(unique_value)) if is_true_or_false else unique_value
            for unique_value, is_true_or_false in zip(object_array, is_truth, strict=True)
        ]
    )


@dataclass(frozen=True)
class _TruthValue:
    """True or False, which is not 1 or 0."""

    value: bool


def _pack_short_texts(array: Any) -> NDArray[np.int64] | None:
    """One whole number for each text of a NumPy array of at most nine ASCII letters; else None.

    Character j of seven bits is shifted by 7j bits: different texts have different numbers, and no
    string of Python has to be made for every row.
    """
    if not isinstance(array, np.ndarray) or array.dtype.kind != "U" or array.ndim != 1:
        return None
    width = array.dtype.itemsize // 4
    if not array.size or not array.dtype.isnative or not 0 < width <= _PACKED_LETTERS:
        return None
    letters = np.ascontiguousarray(array).view(np.uint32).reshape(-1, width)
    if int(letters.max()) >= 1 << _BITS_OF_ASCII:
        return None
    place_values = 1 << _BITS_OF_ASCII * np.arange(width, dtype=np.int64)
    packed: NDArray[np.int64] = np.einsum("ij,j->i", letters, place_values)
    return packed


def _unpack_short_text(packed: int) -> str:
    """The text that `_pack_short_texts` made the number of."""
    letters = []
    while packed:
        letters.append(chr(packed & ((1 << _BITS_OF_ASCII) - 1)))
        packed >>= _BITS_OF_ASCII
    return "".join(letters)


def _factor_by_hashing(array: Any, argument: str) -> Factor:
    """Codes and levels of labels, by a hash table of what they are."""
    packed = _pack_short_texts(array)
    if packed is not None:
        codes, numbers = pd.factorize(packed, sort=False)
        return _settle_levels(codes, [_unpack_short_text(n) for n in numbers.tolist()], argument)
    try:
        codes, uniques = pd.factorize(array, sort=False, use_na_sentinel=True)
    except (
        TypeError,
        ValueError,
        NotImplementedError,
    ) as problem:
        # the last is Arrow's, of nested types
        received = f"values that cannot be told apart ({problem})"
        allowed = "one label or number per row"
        advice = f"make every element of {argument} a single label or number"
        raise InputError(argument, got=received, allowed=allowed, cure=advice) from problem
    if isinstance(uniques, np.ndarray) and uniques.dtype.kind in "iuO":
        uniques = uniques.tolist()  # Python's own values
    wrapped_values = _with_truths(array, uniques)
    if wrapped_values is not None:
        codes, uniques = pd.factorize(wrapped_values, sort=False, use_na_sentinel=True)
        uniques = [value.value if isinstance(value, _TruthValue) else value for value in uniques]
    return _settle_levels(codes, uniques, argument)


def _settle_levels(codes: NDArray[Any], values: Sequence[Any], argument: str) -> Factor:
    """The factor of distinct values.

    Those that are missing are none, those that are one label are one.
    """
    levels, level_of_value = _place_values(values, argument)
    if level_of_value is not None:
        codes = level_of_value[codes]
    return Factor(codes.astype(code_type(len(levels)), copy=False), levels)


def _place_values(
    values: Sequence[Any], argument: str
) -> tuple[tuple[Hashable, ...], NDArray[np.int64] | None]:
    """Levels of distinct values, and the level of each (the last: of a missing one).

    None where all stay in place.
    """
    values = list(values)  # to look into an index of pandas costs more than all the rest
    value_types = set(map(type, values))
    if len(value_types) == 1 and value_types <= {int, bool}:
        return tuple(values), None
    if value_types == {float}:
        return tuple(map(as_level, values)), None
    if value_types == {str}:
        check_texts(values, argument)
        if "" not in values:
            return tuple(values), None
    level_of_value = np.full(len(values) + 1, MISSING, dtype=np.int64)
    levels: list[Hashable] = []
    position_of_text: dict[str, int] = {}
    for position, value in enumerate(values):
        if is_missing(value):
            continue
        level = as_level(value)
        value_text = label_text(level)
        level_position = position_of_text.setdefault(value_text, len(levels))
        if level_position == len(levels):
            levels.append(level)
        elif not _are_one(levels[level_position], level):
            received = f"both {levels[level_position]!r} and {level!r} in one column"
            advice = f"convert {argument} to one type, e.g. .astype(str)"
            raise InputError(argument, got=received, allowed="values of one type", cure=advice)
        level_of_value[position] = level_position
    check_texts(position_of_text, argument)
    has_merged = len(levels) < len(values)
    return tuple(levels), level_of_value if has_merged else None


def _are_one(first_value: Hashable, second_value: Hashable) -> bool:
    """Whether two values that are written alike are one value, and not of two kinds, as 1 and
    "1".
    """
    numbers = (
        isinstance(first_value, _NUMBER_TYPES)
        and isinstance(second_value, _NUMBER_TYPES)
        and isinstance(first_value, bool) == isinstance(second_value, bool)
    )
    both_moments = isinstance(first_value, _MOMENT_TYPES) and isinstance(
        second_value, _MOMENT_TYPES
    )
    return numbers or both_moments or type(first_value) is type(second_value)


def _without_level(factor: Factor, level: Hashable, argument: str) -> Factor:
    """The same factor where one level is missing."""
    if level not in factor.levels:
        return factor
    return _settle_levels(
        factor.codes,
        [None if each_level == level else each_level for each_level in factor.levels],
        argument,
    )


def _factor_of_categories(column: Any, argument: str) -> Factor:
    """Codes of the categories that some row has, in their declared order."""
    declared, level_of_category = _place_values(column.categories.tolist(), argument)
    codes = np.asarray(column.codes)
    if level_of_category is not None:
        codes = level_of_category.astype(code_type(len(declared)))[codes]
    is_present = np.bincount(codes[codes >= 0], minlength=len(declared)) > 0
    if is_present.all():
        return Factor(codes=codes, levels=declared, ordered_by_user=True, declared=declared)
    position = np.full(len(declared) + 1, MISSING, dtype=codes.dtype)
    position[:-1][is_present] = np.arange(int(is_present.sum()))
    levels = tuple(level for level, occurs in zip(declared, is_present, strict=True) if occurs)
    return Factor(codes=position[codes], levels=levels, ordered_by_user=True, declared=declared)
