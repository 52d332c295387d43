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
from fairstats.ground.reading.text import MISSING_TOKENS
from fairstats.ground.values import (
    factorize,
    find_labels,
    is_missing,
    label_text,
    label_texts,
    labels_of,
    missing_rows,
)

__all__ = [
    "ABSENT",
    "MISSING",
    "MOST_CLASSES",
    "ClassNames",
    "Factor",
    "LabelCodes",
    "are_classes",
    "as_array",
    "as_column",
    "as_float_column",
    "as_frame_columns",
    "as_narwhals",
    "binary_codes",
    "binary_columns",
    "check_columns",
    "check_labels",
    "class_columns",
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
    """Float column; missing values become NaN, what is no number (text, dates, complex ones) is an
    error.
    """
    column = as_column(values, argument)
    if getattr(column, "dtype", None) == np.int32 and r_is_here():
        column = np.where(np.asarray(column) == R_NA_INTEGER, nan, np.asarray(column))
    try:
        if not isinstance(column, np.ndarray):
            dates = getattr(column.dtype, "kind", "O") in "Mm" or isinstance(
                column.dtype, pd.PeriodDtype
            )
            if dates or pd.api.types.is_complex_dtype(column.dtype):
                raise TypeError(f"type {column.dtype}")
            holds_labels = isinstance(column.dtype, (pd.StringDtype, pd.CategoricalDtype))
            as_objects = (
                isinstance(column, pd.Categorical) or holds_labels or column.dtype == object
            )
            if as_objects:
                column = np.asarray(column, dtype=object)
            else:
                column = column.to_numpy(np.float64, na_value=np.nan)
        if column.dtype.kind == "O":
            column = np.array(
                [
                    nan if is_missing(each_value) else as_number(each_value)
                    for each_value in column.tolist()
                ],
                dtype=np.float64,
            )
        elif column.dtype.kind not in "biuf":
            raise TypeError(f"type {column.dtype}")
        return np.asarray(column, dtype=np.float64)
    # NotImplementedError is Arrow's, of columns such as intervals of months
    except (TypeError, ValueError, OverflowError, NotImplementedError) as problem:
        received = f"values that are not numbers ({problem})"
        advice = f"convert {argument} to a numeric column"
        raise InputError(
            argument,
            got=received,
            allowed="one number per row",
            cure=advice,
        ) from problem


#: Labels that say by themselves which is favourable: (not favourable, favourable). "0.0" and "1.0"
#: stand in text files where a column of 0/1 had missing values.
_SELF_EVIDENT_PAIRS = (
    ("0", "1"),
    ("-1", "1"),
    ("0.0", "1.0"),
    ("-1.0", "1.0"),
    ("False", "True"),
    ("false", "true"),
    ("FALSE", "TRUE"),
)
#: Labels that are listed in an error.
_MAX_LISTED_LABELS = 8


@dataclass(frozen=True)
class LabelCodes(Factor):
    """Codes 0/1 of a label column, -1 where missing; `levels` holds the values that occurred.

    `beside`: where several values count as not favourable, the codes and values of the column as it
    came.
    """

    beside: Factor | None = None

    def unfavourable_labels(self, number: NDArray[Any] | None = None) -> dict[str, int]:
        """Rows of each label that counts as not favourable, none where there is one such label
        only.
        """
        if self.beside is None:
            return {}
        return rows_of_labels(self.beside, self.codes == 0, number)


def rows_of_labels(
    labels: Factor, chosen: NDArray[np.bool_], number: NDArray[Any] | None = None
) -> dict[str, int]:
    """How many of the chosen rows have each label, the most frequent first; `number`: rows that
    each stands for.
    """
    rows_per_label = np.bincount(
        labels.codes[chosen], None if number is None else number[chosen], len(labels.levels)
    )
    frequency_order = sorted(
        range(rows_per_label.size), key=lambda label_position: -int(rows_per_label[label_position])
    )
    return {
        label_text(labels.levels[label_position]): int(rows_per_label[label_position])
        for label_position in frequency_order
        if rows_per_label[label_position]
    }


def binary_columns(
    pos_label: Any, label_values: Any = None, /, **columns: Any
) -> dict[str, LabelCodes | None]:
    """Codes 0/1 of several label columns that share `pos_label` and `label_values`.

    None stays None.

    Each may be one for all, or a mapping from the name of a column; a favourable value that no row
    has is an error unless it is known to be possible (`_is_possible`), and then a warning.
    """
    favourable = _value_by_column("pos_label", pos_label, columns, "one value")
    for favourable_value in favourable.values():
        allowed_words = "one value of the labels, or a mapping {'y_true': …, 'y_pred': …}"
        checks.check_label("pos_label", favourable_value, allowed_words, "1")
    declared_values = declared_labels(label_values, **columns)
    codes: dict[str, LabelCodes | None] = dict.fromkeys(columns)
    for column_label, column in columns.items():
        if column is not None:
            codes[column_label] = binary_codes(
                column, column_label, favourable[column_label], declared_values[column_label]
            )
    levels = {}
    for column_label, labels in codes.items():
        if labels is not None:
            levels[column_label] = labels.levels
    for column_label, labels in codes.items():
        if labels is not None and favourable[column_label] is not None:
            possible_labels = (*(declared_values[column_label] or ()), *labels.declared)
            levels_of_others = []
            for other_column, other_levels in levels.items():
                if other_column != column_label:
                    levels_of_others.append(other_levels)
            _check_occurs(
                favourable[column_label],
                column_label,
                labels.levels,
                possible_labels,
                levels_of_others,
            )
    return codes


#: Labels with more values than this are no classes.
MOST_CLASSES = 20


@dataclass(frozen=True)
class ClassNames:
    """Classes that labels and predictions have in common, in their order.

    `ordered`: whether the order means something: declared by `label_values` or a categorical
    column that says so, or that of numbers.
    """

    names: tuple[str, ...]
    ordered: bool


def are_classes(pos_label: Any, label_values: Any, /, **columns: Any) -> bool:
    """Whether labels are of several classes, where nobody says what they are.

    They are where a column has three values or more, none is named as favourable, and columns share
    values.
    """
    if pos_label is not None:
        return False
    texts = []
    for column_label, column in columns.items():
        if column is not None:
            texts.append(set(map(label_text, factorize(column, column_label).levels)))
    for declared in declared_labels(label_values, **columns).values():
        if declared is not None:
            texts.append(set(map(label_text, declared)))
    n_most = max((len(of_column) for of_column in texts), default=0)
    return 2 < n_most <= MOST_CLASSES and bool(set.intersection(*texts))


def class_columns(
    pos_label: Any, label_values: Any = None, /, **columns: Any
) -> tuple[dict[str, Factor | None], ClassNames]:
    """Codes of several label columns that share their classes, -1 where missing, and the classes.

    Their order is that of `label_values`, else the declared one of a categorical column, else of
    numbers, else of the alphabet. Two classes are labels as `binary_columns` takes them, the
    favourable one last.
    """
    factors = {}
    for column_label, column in columns.items():
        if column is not None:
            factors[column_label] = factorize(column, column_label)
    declared_values = declared_labels(label_values, **columns)
    for column_label, factor in factors.items():
        of_column = declared_values[column_label]
        if of_column is not None:
            _check_declared(factor.levels, column_label, of_column, factor)
    names = _order_classes(factors, declared_values, columns)
    _check_classes(names.names, factors)
    if len(names.names) == 2:
        favourable = one_label(pos_label, "y_true", "y_pred")
        positive = find_labels(names.names, favourable) if favourable is not None else []
        if not positive:
            binary_columns(pos_label, label_values, **columns)  # raises, or it is the last
            positive = _favourable_by_itself(names.names, next(iter(factors)), ())
        if positive == [0]:
            names = ClassNames(names.names[::-1], ordered=True)
        else:
            names = ClassNames(names.names, ordered=True)
    code_of = {name: code for code, name in enumerate(names.names)}
    coded: dict[str, Factor | None] = dict.fromkeys(columns)
    for column_label, factor in factors.items():
        places = [code_of[label_text(level)] for level in factor.levels]
        codes = np.array([*places, MISSING], dtype=np.int16)[factor.codes]
        coded[column_label] = Factor(codes, names.names)
    return coded, names


def _order_classes(
    factors: Mapping[str, Factor],
    declared_values: Mapping[str, tuple[Hashable, ...] | None],
    columns: Mapping[str, Any],
) -> ClassNames:
    """The classes of all columns in one order."""
    declared: list[str] = []
    for of_column in declared_values.values():
        declared.extend(map(label_text, of_column or ()))
    is_ordered = bool(declared)
    if not declared:
        for column_label, factor in factors.items():
            if factor.ordered_by_user:
                declared.extend(map(label_text, factor.declared))
                is_ordered = _says_ordered(columns[column_label])
                break
    occurring = {label_text(level): None for factor in factors.values() for level in factor.levels}
    undeclared = [name for name in occurring if name not in declared]
    if not declared:
        try:
            numbers = {name: float(name) for name in undeclared}
        except ValueError:
            return ClassNames(tuple(sorted(undeclared)), ordered=False)
        return ClassNames(tuple(sorted(undeclared, key=numbers.__getitem__)), ordered=True)
    names = tuple(dict.fromkeys((*declared, *sorted(undeclared))))
    return ClassNames(names, ordered=is_ordered and not undeclared)


def _says_ordered(column: Any) -> bool:
    """Whether a categorical column says that its order means something."""
    native = nw.to_native(column, pass_through=True)
    dtype = getattr(native, "dtype", None)
    if type(dtype).__name__ == "Enum":
        return True
    return bool(getattr(dtype, "ordered", getattr(native, "ordered", False)))


def _check_classes(names: Sequence[str], factors: Mapping[str, Factor]) -> None:
    """Raise where labels are no classes: one, too many, or others in every column."""
    argument = ", ".join(factors)
    if not 2 <= len(names) <= MOST_CLASSES:
        raise InputError(
            argument,
            got=f"{len(names)} values, {listed(names, _MAX_LISTED_LABELS)}",
            allowed=f"two to {MOST_CLASSES} classes",
            cure="label_values= says which may occur; pos_label= asks about one of many",
        )
    levels = [set(map(label_text, factor.levels)) for factor in factors.values()]
    if not set.intersection(*levels):
        described = "; ".join(
            f"{column_label} has {listed(factor.levels, _MAX_LISTED_LABELS)}"
            for column_label, factor in factors.items()
        )
        raise InputError(
            argument,
            got=described,
            allowed="the same classes in both columns",
            cure='recode one of them, or pos_label={"y_true": …, "y_pred": …}',
        )


def _value_by_column(
    argument: str,
    value: Any,
    columns: Mapping[str, Any],
    one_allowed: str = "one list",
) -> dict[str, Any]:
    """What is said for each column, of one for all or of a mapping.

    A mapping may also name both usual columns.
    """
    if not isinstance(value, Mapping):
        return dict.fromkeys(columns, value)
    if set(value) - set(columns) - {"y_true", "y_pred"}:
        received = f"a mapping with {sorted(map(str, value))}"
        allowed = f"a mapping with the keys {', '.join(map(repr, columns))}, or {one_allowed}"
        advice = "name the favourable value of each column"
        raise InputError(argument, got=received, allowed=allowed, cure=advice)
    return {column_label: value.get(column_label) for column_label in columns}


def one_label(pos_label: Any, *columns: str) -> Any:
    """The favourable value where only one is asked for.

    Of a mapping that of the first of `columns` that it names.
    """
    return _of_one("pos_label", pos_label, columns, "one value", "pos_label=1")


def _of_one(
    argument: str,
    value: Any,
    columns: Sequence[str],
    one_allowed: str,
    advice: str,
) -> Any:
    """What is said where only one column is judged.

    Of a mapping that of the first of `columns` that it names.
    """
    if not isinstance(value, Mapping):
        return value
    allowed = f"{one_allowed}, or a mapping with the keys {', '.join(map(repr, columns))}"
    # one key after the other: a missing value cannot be compared with text
    names = all(
        isinstance(column_role, str) and column_role in ("y_true", "y_pred")
        for column_role in value
    )
    checks.check_that(names and len(value) > 0, argument, value, allowed, advice)
    return next((value[column_label] for column_label in columns if column_label in value), None)


def declared_labels(label_values: Any, /, **columns: Any) -> dict[str, tuple[Hashable, ...] | None]:
    """The labels that may occur in each column, checked; None where they are not declared."""
    result: dict[str, tuple[Hashable, ...] | None] = {}
    for column_label, values in _value_by_column("label_values", label_values, columns).items():
        result[column_label] = _check_label_values(values)
    return result


def labels_of_one(label_values: Any, *columns: str) -> tuple[Hashable, ...] | None:
    """The labels that may occur where only one column is judged, checked.

    Of a mapping as `one_label`.
    """
    return _check_label_values(
        _of_one("label_values", label_values, columns, "one list", _DECLARE_EXAMPLE)
    )


#: How labels are declared.
_DECLARE_EXAMPLE = 'label_values=["no", "yes"]'


def _check_label_values(values: Any) -> tuple[Hashable, ...] | None:
    """The labels that may occur, checked."""
    if values is None:
        return None
    allowed = "a list of the labels that may occur"
    is_list = isinstance(values, (list, tuple, set, frozenset, np.ndarray, pd.Index, pd.Series))
    # an array of no dimension is a single value
    checks.check_that(
        is_list and getattr(values, "ndim", 1) > 0,
        "label_values",
        values,
        allowed,
        _DECLARE_EXAMPLE,
    )
    declared_levels = tuple(factorize(list(values), "label_values").levels)
    checks.check_that(len(declared_levels) > 0, "label_values", values, allowed, _DECLARE_EXAMPLE)
    return declared_levels


def binary_codes(
    values: Any,
    argument: str,
    pos_label: Any = None,
    label_values: Sequence[Hashable] | None = None,
) -> LabelCodes:
    """Codes 0/1 of a label column, -1 where missing; `levels` holds the values that occurred.

    `pos_label`, the favourable value, may be left out for labels in {0, 1}, {False, True} or {-1,
    1}, also as text; `label_values`: what may occur, more is an error.
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
    if pos_label is not None and len(levels) > len(positive) + 1:
        beside = factor
    else:
        beside = None
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


def _favourable_by_itself(
    levels: Sequence[Hashable], argument: str, declared: Sequence[Hashable]
) -> list[int]:
    """The position of the label that is favourable without being named, of 0/1 and their like.

    Empty where no row.
    """
    texts = [label_text(level) for level in levels]
    all_texts = {*texts, *map(label_text, declared)}
    for label_pair in _SELF_EVIDENT_PAIRS:
        if all_texts <= set(label_pair):
            favourable: list[int] = []
            for position, level_text in enumerate(texts):
                if level_text == label_pair[1]:
                    favourable.append(position)
            return favourable
    received = f"the values {listed(levels, _MAX_LISTED_LABELS)}"
    advice = f"pass pos_label= (one of {listed(levels, _MAX_LISTED_LABELS)})"
    allowed = (
        "labels 0/1, False/True or -1/1, or any labels with `pos_label` naming the favourable one"
    )
    raise InputError(argument, got=received, allowed=allowed, cure=advice)


def _check_declared(
    levels: Sequence[Hashable],
    argument: str,
    declared: Sequence[Hashable],
    factor: Factor | None = None,
) -> None:
    """Raise where a label occurs that is not among those that may; of a column with its rows."""
    declared_texts = {label_text(declared_value) for declared_value in declared}
    undeclared_positions = []
    for position, level in enumerate(levels):
        if label_text(level) not in declared_texts:
            undeclared_positions.append(position)
    if not undeclared_positions:
        return
    undeclared_words = []
    for position in undeclared_positions[:_MAX_LISTED_LABELS]:
        undeclared_words.append(repr(levels[position]))
    advice = "add the value to label_values="
    if factor is not None:
        rows_per_level = np.bincount(factor.codes[factor.codes >= 0], minlength=len(levels))
        undeclared_words = []
        for position in undeclared_positions[:_MAX_LISTED_LABELS]:
            undeclared_words.append(f"{levels[position]!r} in {rows_per_level[position]:,} rows")
        advice = "correct those rows, or add the value to label_values="
    allowed = f"what label_values declares: {listed(list(declared), _MAX_LISTED_LABELS)}"
    raise InputError(
        argument,
        got=", ".join(undeclared_words),
        allowed=allowed,
        cure=checks.nearest(levels[undeclared_positions[0]], declared) or advice,
    )


def check_labels(
    factor: Factor,
    argument: str,
    pos_label: Any,
    label_values: Any,
) -> tuple[Hashable, ...] | None:
    """The labels that may occur in a column of any number of labels; None where nothing says so.

    Raises where a row has another one, and where no row has the favourable one, which is not known
    to be possible (otherwise it warns): as `binary_columns` does of columns with two labels.
    """
    declared_values = labels_of_one(label_values, "y_true", "y_pred")
    if declared_values is not None:
        _check_declared(factor.levels, argument, declared_values, factor)
    possible_labels = (*(declared_values or ()), *factor.declared)
    if pos_label is not None:
        _check_occurs(pos_label, argument, factor.levels, possible_labels, [])
    return possible_labels or None


#: The position of a favourable class that a classifier does not have, although it may occur.
ABSENT = -1


def favourable_class(
    classes: Sequence[Hashable],
    argument: str,
    pos_label: Any = None,
    label_values: Any = None,
) -> int | None:
    """Position of the favourable one of the classes of a classifier, which are judged as the labels
    of a column are.

    None where it is not named: of two classes it is the second. `ABSENT`, with a warning, where the
    classifier has no such class, but rows may have: its probability is 0.
    """
    favourable = one_label(pos_label, "y_pred", "y_true")
    checks.check_label(
        "pos_label", favourable, f"one of the classes {list(classes)!r}", "pos_label=1"
    )
    declared_values = labels_of_one(label_values, "y_pred", "y_true")
    if declared_values is not None:
        _check_declared(classes, argument, declared_values)
    if favourable is None:
        return _class_by_itself(classes, argument, declared_values or ())
    class_positions = find_labels(classes, favourable)
    if len(class_positions) == 1:
        return class_positions[0]
    if class_positions or not classes:
        allowed = f"a class of the classifier: {list(classes)!r}"
        advice = "name the favourable class as the classifier knows it"
        raise InputError("pos_label", got=repr(favourable), allowed=allowed, cure=advice)
    _check_occurs(favourable, argument, classes, declared_values or (), [])
    return ABSENT


def _class_by_itself(
    classes: Sequence[Hashable], argument: str, declared: Sequence[Hashable]
) -> int | None:
    """The favourable class where none is named.

    A single one must say by itself which of two it is.
    """
    if len(classes) > 2:
        received = f"None for a classifier with the classes {list(classes)!r}"
        raise InputError(
            "pos_label",
            got=received,
            allowed="one of its classes",
            cure=f"pos_label={classes[0]!r}",
        )
    if len(classes) != 1:
        return None
    if _favourable_by_itself(classes, argument, declared):
        return 0
    warning_text = (
        f"{argument} has the class {classes[0]!r} only: the favourable label has the probability 0."
    )
    caution(warning_text, DataWarning)
    return ABSENT


def _check_occurs(
    pos_label: Any,
    column_label: str,
    levels: Sequence[Hashable],
    declared: Sequence[Hashable],
    others: Sequence[Sequence[Hashable]],
) -> None:
    """Where no row has the favourable value.

    A warning if it is known to be possible, else an error.
    """
    if not levels or find_labels(levels, pos_label):
        return
    occurring_labels = listed(list(levels), _MAX_LISTED_LABELS)
    if _is_possible(pos_label, levels, declared, others):
        warning_text = f"`pos_label` {pos_label!r} does not occur in {column_label}, which has {occurring_labels}: "
        caution(f"{warning_text}every row of {column_label} counts as unfavourable.", DataWarning)
        return
    advice = (
        "name the favourable value (a mapping {'y_true': …, 'y_pred': …} where the columns differ),"
        " or declare "
    )
    advice += f"what may occur: label_values=[{listed([*levels[:2], pos_label])}]"
    similar_label = checks.nearest(pos_label, levels)
    if label_text(pos_label) in MISSING_TOKENS:
        others_missing = "" if label_text(pos_label) == "NA" else "NA"
        similar_label = (
            f"{pos_label!r} reads as missing in a text file unless na_values= says otherwise:"
            f" na_values=[{others_missing!r}]."
        )
    raise InputError(
        "pos_label",
        got=f"{pos_label!r}, which does not occur in {column_label}",
        allowed=f"a value that occurs; {column_label} has {occurring_labels}",
        cure=f"{similar_label} Or {advice}" if similar_label else advice,
    )


def _is_possible(
    pos_label: Any,
    levels: Sequence[Hashable],
    declared: Sequence[Hashable],
    others: Sequence[Sequence[Hashable]],
) -> bool:
    """Whether a favourable value that no row has could have occurred.

    It is declared, by categories or label_values; or the labels are 0/1 and their like, and it is
    one of them; or another label column has it. That column must share a label with this one:
    ">50K." beside ">50K" is another spelling, and not a favourable value that nobody was given.
    """
    if find_labels(declared, pos_label):
        return True
    texts = {label_text(level) for level in levels}
    if any(
        texts <= set(label_pair) and find_labels(label_pair, pos_label)
        for label_pair in _SELF_EVIDENT_PAIRS
    ):
        return True
    return any(
        find_labels(other_levels, pos_label) and texts & set(map(label_text, other_levels))
        for other_levels in others
    )


def check_columns(
    argument: str,
    names: Sequence[Hashable],
    have: Sequence[Hashable],
    cure: str = "check the spelling",
) -> None:
    """Raise unless every name is among those that a table has."""
    lacking = []
    for wanted_name in names:
        if not checks.is_plain(wanted_name) or wanted_name not in have:
            lacking.append(wanted_name)
    if lacking:
        received = f"no column {', '.join(dict.fromkeys(map(checks.shown, lacking)))}"
        if cure == "check the spelling":
            cure = checks.nearest(lacking[0], have) or cure
        raise InputError(argument, got=received, allowed=f"its columns: {listed(have)}", cure=cure)


def as_frame_columns(frame: Any, names: Sequence[str], argument: str) -> pd.DataFrame:
    """The named columns of a frame of any kind, as pandas."""
    if is_of_r(frame):
        frame = from_r(frame, argument)
    if isinstance(frame, pd.DataFrame) and frame.columns.is_unique:
        check_columns(argument, names, list(frame.columns))
        return frame[list(dict.fromkeys(names))]
    narwhals_frame = as_narwhals(frame, argument, collect=False)
    if not isinstance(narwhals_frame, (nw.DataFrame, nw.LazyFrame)):
        checks.check_type(
            argument, frame, nw.DataFrame, "a pandas, polars or pyarrow table", "pass a data frame"
        )
    check_columns(argument, names, narwhals_frame.collect_schema().names())
    chosen_columns = as_narwhals(narwhals_frame.select(*dict.fromkeys(names)))
    if isinstance(nw.to_native(chosen_columns), pd.DataFrame):
        return nw.to_native(chosen_columns)  # type: ignore[no-any-return]
    return pd.DataFrame(
        {
            column_label: as_column(chosen_columns[column_label].to_native(), column_label)
            for column_label in chosen_columns.columns
        }
    )
