"""Columns as the rest takes them: numbers, labels as 0 and 1, and the named columns of any frame.

What a value is as a label, and what is missing, is said by `values`, in one place.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairstats.ground import checks
from fairstats.ground.checks import as_number, listed
from fairstats.ground.containers import (
    R_NA_INTEGER,
    as_array,
    as_column,
    as_narwhals,
    from_r,
    is_of_r,
    r_is_here,
    without_mask,
)
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.factors import MISSING, Factor
from fairstats.ground.lazy import pd
from fairstats.ground.values import factorize, find_labels, is_missing, label_text, label_texts, labels_of, missing_rows

__all__ = [
    "ABSENT",
    "MISSING",
    "Factor",
    "LabelCodes",
    "as_array",
    "as_column",
    "as_float_column",
    "as_frame_columns",
    "as_narwhals",
    "binary_codes",
    "binary_columns",
    "check_columns",
    "check_labels",
    "declared_labels",
    "factorize",
    "favourable_class",
    "label_text",
    "label_texts",
    "labels_of",
    "labels_of_one",
    "missing_rows",
    "one_label",
    "without_mask",
]


def as_float_column(values: Any, argument: str) -> NDArray[np.float64]:
    """Float column; missing values become NaN, what is no number (text, dates, complex ones) is an error."""
    column = as_column(values, argument)
    if getattr(column, "dtype", None) == np.int32 and r_is_here():
        column = np.where(np.asarray(column) == R_NA_INTEGER, nan, np.asarray(column))
    try:
        if not isinstance(column, np.ndarray):
            dates = getattr(column.dtype, "kind", "O") in "Mm" or isinstance(column.dtype, pd.PeriodDtype)
            if dates or pd.api.types.is_complex_dtype(column.dtype):
                raise TypeError(f"type {column.dtype}")
            text = isinstance(column.dtype, (pd.StringDtype, pd.CategoricalDtype))
            raw = isinstance(column, pd.Categorical) or text or column.dtype == object
            column = np.asarray(column, dtype=object) if raw else column.to_numpy(np.float64, na_value=np.nan)
        if column.dtype.kind == "O":
            column = np.array([nan if is_missing(v) else as_number(v) for v in column.tolist()], dtype=np.float64)
        elif column.dtype.kind not in "biuf":
            raise TypeError(f"type {column.dtype}")
        return np.asarray(column, dtype=np.float64)
    # NotImplementedError is Arrow's, of columns such as intervals of months
    except (TypeError, ValueError, OverflowError, NotImplementedError) as problem:
        got, cure = f"values that are not numbers ({problem})", f"convert {argument} to a numeric column"
        raise InputError(argument, got=got, allowed="one number per row", cure=cure) from problem


#: Labels that say by themselves which is favourable: (not favourable, favourable). "0.0" and "1.0" stand in text files
#: where a column of 0/1 had missing values.
_PAIRS = (
    ("0", "1"),
    ("-1", "1"),
    ("0.0", "1.0"),
    ("-1.0", "1.0"),
    ("False", "True"),
    ("false", "true"),
    ("FALSE", "TRUE"),
)
#: Labels that are listed in an error.
_LISTED = 8


@dataclass(frozen=True)
class LabelCodes(Factor):
    """Codes 0/1 of a label column, -1 where missing; `levels` holds the values that occurred.

    `beside`: where several values count as not favourable, the codes and values of the column as it came.
    """

    beside: Factor | None = None

    def unfavourable_labels(self, number: NDArray[Any] | None = None) -> dict[str, int]:
        """Rows of each label that counts as not favourable, none where there is one such label only."""
        return {} if self.beside is None else rows_of_labels(self.beside, self.codes == 0, number)


def rows_of_labels(labels: Factor, chosen: NDArray[np.bool_], number: NDArray[Any] | None = None) -> dict[str, int]:
    """How many of the chosen rows have each label, the most frequent first; `number`: rows that each stands for."""
    rows = np.bincount(labels.codes[chosen], None if number is None else number[chosen], len(labels.levels))
    order = sorted(range(rows.size), key=lambda at: -int(rows[at]))
    return {label_text(labels.levels[at]): int(rows[at]) for at in order if rows[at]}


def binary_columns(pos_label: Any, label_values: Any = None, /, **columns: Any) -> dict[str, LabelCodes | None]:
    """Codes 0/1 of several label columns that share `pos_label` and `label_values`; None stays None.

    Each may be one for all, or a mapping from the name of a column; a favourable value that no row has is an error
    unless it is known to be possible (`_is_possible`), and then a warning.
    """
    favourable = _by_column("pos_label", pos_label, columns, "one value")
    for value in favourable.values():
        words = "one value of the labels, or a mapping {'y_true': …, 'y_pred': …}"
        checks.check_label("pos_label", value, words, "1")
    declared = declared_labels(label_values, **columns)
    codes: dict[str, LabelCodes | None] = dict.fromkeys(columns)
    for name, column in columns.items():
        if column is not None:
            codes[name] = binary_codes(column, name, favourable[name], declared[name])
    levels = {name: labels.levels for name, labels in codes.items() if labels is not None}
    for name, labels in codes.items():
        if labels is not None and favourable[name] is not None:
            possible = (*(declared[name] or ()), *labels.declared)
            others = [own for other, own in levels.items() if other != name]
            _check_occurs(favourable[name], name, labels.levels, possible, others)
    return codes


def _by_column(argument: str, value: Any, columns: Mapping[str, Any], one: str = "one list") -> dict[str, Any]:
    """What is said for each column, of one for all or of a mapping; a mapping may also name both usual columns."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(columns, value)
    if set(value) - set(columns) - {"y_true", "y_pred"}:
        got = f"a mapping with {sorted(map(str, value))}"
        allowed = f"a mapping with the keys {', '.join(map(repr, columns))}, or {one}"
        cure = "name the favourable value of each column"
        raise InputError(argument, got=got, allowed=allowed, cure=cure)
    return {name: value.get(name) for name in columns}


def one_label(pos_label: Any, *columns: str) -> Any:
    """The favourable value where only one is asked for: of a mapping that of the first of `columns` that it names."""
    return _of_one("pos_label", pos_label, columns, "one value", "pos_label=1")


def _of_one(argument: str, value: Any, columns: Sequence[str], one: str, cure: str) -> Any:
    """What is said where only one column is judged: of a mapping that of the first of `columns` that it names."""
    if not isinstance(value, Mapping):
        return value
    allowed = f"{one}, or a mapping with the keys {', '.join(map(repr, columns))}"
    # one key after the other: a missing value cannot be compared with text
    names = all(isinstance(key, str) and key in ("y_true", "y_pred") for key in value)
    checks.check_that(names and len(value) > 0, argument, value, allowed, cure)
    return next((value[name] for name in columns if name in value), None)


def declared_labels(label_values: Any, /, **columns: Any) -> dict[str, tuple[Hashable, ...] | None]:
    """The labels that may occur in each column, checked; None where they are not declared."""
    return {name: _declared(values) for name, values in _by_column("label_values", label_values, columns).items()}


def labels_of_one(label_values: Any, *columns: str) -> tuple[Hashable, ...] | None:
    """The labels that may occur where only one column is judged, checked; of a mapping as `one_label`."""
    return _declared(_of_one("label_values", label_values, columns, "one list", _DECLARE))


#: How labels are declared.
_DECLARE = 'label_values=["no", "yes"]'


def _declared(values: Any) -> tuple[Hashable, ...] | None:
    """The labels that may occur, checked."""
    if values is None:
        return None
    allowed = "a list of the labels that may occur"
    several = isinstance(values, (list, tuple, set, frozenset, np.ndarray, pd.Index, pd.Series))
    # an array of no dimension is a single value
    checks.check_that(several and getattr(values, "ndim", 1) > 0, "label_values", values, allowed, _DECLARE)
    found = tuple(factorize(list(values), "label_values").levels)
    checks.check_that(len(found) > 0, "label_values", values, allowed, _DECLARE)
    return found


def binary_codes(
    values: Any, argument: str, pos_label: Any = None, label_values: Sequence[Hashable] | None = None
) -> LabelCodes:
    """Codes 0/1 of a label column, -1 where missing; `levels` holds the values that occurred.

    `pos_label`, the favourable value, may be left out for labels in {0, 1}, {False, True} or {-1, 1}, also as text;
    `label_values`: what may occur, more is an error.
    """
    factor = factorize(values, argument)
    levels = factor.levels
    if label_values is not None:
        _check_declared(levels, argument, label_values, factor)
    if pos_label is not None:
        positive = find_labels(levels, pos_label)
    else:
        positive = _favourable_by_itself(levels, argument, label_values or ())
    codes = _as_zero_one(factor, positive)
    beside = factor if pos_label is not None and len(levels) > len(positive) + 1 else None
    return LabelCodes(codes, levels, declared=factor.declared, beside=beside)


def _as_zero_one(factor: Factor, positive: Sequence[int]) -> NDArray[Any]:
    """1 where the code is one of `positive`, else 0, and -1 where it is missing."""
    if not positive:
        favourable = np.zeros(factor.codes.size, dtype=bool)
    elif len(positive) == 1:
        favourable = factor.codes == positive[0]
    else:
        favourable = np.isin(factor.codes, positive)
    if factor.codes.size and not factor.has_missing:
        return favourable.view(np.uint8)
    return np.where(factor.codes == MISSING, MISSING, favourable).astype(np.int8)


def _favourable_by_itself(levels: Sequence[Hashable], argument: str, declared: Sequence[Hashable]) -> list[int]:
    """The position of the label that is favourable without being named, of 0/1 and their like; empty where no row."""
    texts = [label_text(level) for level in levels]
    every = {*texts, *map(label_text, declared)}
    for pair in _PAIRS:
        if every <= set(pair):
            return [position for position, text in enumerate(texts) if text == pair[1]]
    got, cure = f"the values {listed(levels, _LISTED)}", f"pass pos_label= (one of {listed(levels, _LISTED)})"
    allowed = "labels 0/1, False/True or -1/1, or any labels with `pos_label` naming the favourable one"
    raise InputError(argument, got=got, allowed=allowed, cure=cure)


def _check_declared(
    levels: Sequence[Hashable], argument: str, declared: Sequence[Hashable], factor: Factor | None = None
) -> None:
    """Raise where a label occurs that is not among those that may; of a column with its rows."""
    known = {label_text(value) for value in declared}
    more = [position for position, level in enumerate(levels) if label_text(level) not in known]
    if not more:
        return
    shown = [repr(levels[position]) for position in more[:_LISTED]]
    cure = "add the value to label_values="
    if factor is not None:
        rows = np.bincount(factor.codes[factor.codes >= 0], minlength=len(levels))
        shown = [f"{levels[position]!r} in {rows[position]:,} rows" for position in more[:_LISTED]]
        cure = "correct those rows, or add the value to label_values="
    allowed = f"what label_values declares: {listed(list(declared), _LISTED)}"
    raise InputError(
        argument, got=", ".join(shown), allowed=allowed, cure=checks.nearest(levels[more[0]], declared) or cure
    )


def check_labels(factor: Factor, argument: str, pos_label: Any, label_values: Any) -> tuple[Hashable, ...] | None:
    """The labels that may occur in a column of any number of labels; None where nothing says so.

    Raises where a row has another one, and where no row has the favourable one, which is not known to be possible
    (otherwise it warns): as `binary_columns` does of columns with two labels.
    """
    declared = labels_of_one(label_values, "y_true", "y_pred")
    if declared is not None:
        _check_declared(factor.levels, argument, declared, factor)
    possible = (*(declared or ()), *factor.declared)
    if pos_label is not None:
        _check_occurs(pos_label, argument, factor.levels, possible, [])
    return possible or None


#: The position of a favourable class that a classifier does not have, although it may occur.
ABSENT = -1


def favourable_class(
    classes: Sequence[Hashable], argument: str, pos_label: Any = None, label_values: Any = None
) -> int | None:
    """Position of the favourable one of the classes of a classifier, which are judged as the labels of a column are.

    None where it is not named: of two classes it is the second. `ABSENT`, with a warning, where the classifier has no
    such class, but rows may have: its probability is 0.
    """
    favourable = one_label(pos_label, "y_pred", "y_true")
    checks.check_label("pos_label", favourable, f"one of the classes {list(classes)!r}", "pos_label=1")
    declared = labels_of_one(label_values, "y_pred", "y_true")
    if declared is not None:
        _check_declared(classes, argument, declared)
    if favourable is None:
        return _class_by_itself(classes, argument, declared or ())
    named = find_labels(classes, favourable)
    if len(named) == 1:
        return named[0]
    if named or not classes:
        allowed = f"a class of the classifier: {list(classes)!r}"
        cure = "name the favourable class as the classifier knows it"
        raise InputError("pos_label", got=repr(favourable), allowed=allowed, cure=cure)
    _check_occurs(favourable, argument, classes, declared or (), [])
    return ABSENT


def _class_by_itself(classes: Sequence[Hashable], argument: str, declared: Sequence[Hashable]) -> int | None:
    """The favourable class where none is named; a single one must say by itself which of two it is."""
    if len(classes) > 2:
        got = f"None for a classifier with the classes {list(classes)!r}"
        raise InputError("pos_label", got=got, allowed="one of its classes", cure=f"pos_label={classes[0]!r}")
    if len(classes) != 1:
        return None
    if _favourable_by_itself(classes, argument, declared):
        return 0
    text = f"{argument} has the class {classes[0]!r} only: the favourable label has the probability 0."
    caution(text, DataWarning)
    return ABSENT


def _check_occurs(
    pos_label: Any, name: str, levels: Sequence[Hashable], declared: Sequence[Hashable],
    others: Sequence[Sequence[Hashable]],
) -> None:  # fmt: skip
    """Where no row has the favourable value: a warning if it is known to be possible, else an error."""
    if not levels or find_labels(levels, pos_label):
        return
    have = listed(list(levels), _LISTED)
    if _is_possible(pos_label, levels, declared, others):
        text = f"`pos_label` {pos_label!r} does not occur in {name}, which has {have}: "
        caution(f"{text}every row of {name} counts as unfavourable.", DataWarning)
        return
    cure = "name the favourable value (a mapping {'y_true': …, 'y_pred': …} where the columns differ), or declare "
    cure += f"what may occur: label_values=[{listed([*levels[:2], pos_label])}]"
    near = checks.nearest(pos_label, levels)
    raise InputError(
        "pos_label", got=f"{pos_label!r}, which does not occur in {name}",
        allowed=f"a value that occurs; {name} has {have}", cure=f"{near} Or {cure}" if near else cure,
    )  # fmt: skip


def _is_possible(
    pos_label: Any, levels: Sequence[Hashable], declared: Sequence[Hashable], others: Sequence[Sequence[Hashable]]
) -> bool:
    """Whether a favourable value that no row has could have occurred.

    It is declared, by categories or label_values; or the labels are 0/1 and their like, and it is one of them; or
    another label column has it. That column must share a label with this one: ">50K." beside ">50K" is another
    spelling, and not a favourable value that nobody was given.
    """
    if find_labels(declared, pos_label):
        return True
    texts = {label_text(level) for level in levels}
    if any(texts <= set(pair) and find_labels(pair, pos_label) for pair in _PAIRS):
        return True
    return any(find_labels(other, pos_label) and texts & set(map(label_text, other)) for other in others)


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
    if is_of_r(frame):
        frame = from_r(frame, argument)
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
