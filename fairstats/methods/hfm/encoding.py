"""Everything that HFM needs of the data, as arrays.

Features as coordinates, labels, predictions, groups.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_choice, check_type
from fairstats.ground.encoding import MISSING, as_float_column, factorize, label_text
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.groups import encode_groups, sensitive_columns
from fairstats.ground.lazy import pd
from fairstats.ground.outcomes import check_row_labels
from fairstats.ground.parts import RowCounts, dates_as_days
from fairstats.ground.tally import Tally, counts_or_rows
from fairstats.methods.hfm.rows import Mask, Rows, as_pandas, as_rows, check_unique

SCALES = ("minmax", "none")
#: The other side of a comparison of one value with all others.
REST = "all others"
#: The group of an entry that is the maximum over the values of its attribute.
ANY_VALUE = "maximum over values"
#: The attribute of the entry that is the maximum over attributes.
JOINT = "all attributes"
#: Labels with more values than this are scores.
_MOST_LABELS = 100
_OTHER_LEVEL = "(other)"
#: A column of text with more levels than this, and with one for this share of the rows, identifies
#: them.
_FEW_LEVELS = 20
_IDENTIFYING_SHARE = 0.9


@dataclass(frozen=True)
class _NumericColumn:
    """x → (x − low)/(high − low)."""

    name: str
    low: float
    width: float

    @property
    def names(self) -> list[str]:
        return [self.name]

    def encode(self, column: Any, argument: str) -> list[Floats]:
        return [(_finite_numbers(column, argument, self.name) - self.low) / self.width]


@dataclass(frozen=True)
class _CategoricalColumn:
    """One 0/1 column per category, and one for all that the reference data do not have."""

    name: str
    levels: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        return [f"{self.name}={level}" for level in (*self.levels, _OTHER_LEVEL)]

    def encode(self, column: Any, argument: str) -> list[Floats]:
        texts = _categories_as_text(column, argument, self.name)
        level_columns = [np.asarray(texts == level, dtype=np.float64) for level in self.levels]
        other_column = 1 - np.sum(level_columns, axis=0)
        if other_column.any():
            values = ", ".join(sorted(set(texts[other_column > 0].tolist()))[:5])
            warning_text = (
                f"`{argument}`: {int(other_column.sum()):,} rows have values of {self.name!r} that the"
                " reference"
            )
            caution(
                f"{warning_text} data do not have ({values}); they share one column of their own.",
                DataWarning,
            )
        return [*level_columns, other_column]


@dataclass(frozen=True)
class FrameEncoder:
    """How the columns of a frame become coordinates; `constant`: columns with one value in the
    reference data.
    """

    columns: tuple[_NumericColumn | _CategoricalColumn, ...]
    scale: str
    constant: tuple[str, ...] = ()

    @classmethod
    def fit(
        cls,
        reference: Any,
        *,
        scale: str = "minmax",
        leave_out: Collection[str] = (),
        argument: str = "X",
    ) -> FrameEncoder:
        """Learn bounds, which "minmax" maps to [0, 1], and categories; dates are numbers.

        `leave_out` is left out.
        """
        check_choice("scale", scale, SCALES)
        frame = _frame_of(reference, argument)
        columns: list[_NumericColumn | _CategoricalColumn] = []
        constant = []
        for column_name in frame.columns.difference(list(leave_out), sort=False):
            column = frame[column_name]
            is_text = isinstance(
                column.dtype, pd.CategoricalDtype
            ) or not pd.api.types.is_numeric_dtype(column.dtype)
            if is_text and dates_as_days(column) is None:
                levels = sorted(set(_categories_as_text(column, argument, column_name).tolist()))
                _refuse_identifier(len(levels), len(column), argument, column_name)
                columns.append(_CategoricalColumn(column_name, tuple(levels)))
                value_range = len(levels) - 1.0
            else:
                values = _finite_numbers(column, argument, column_name)
                lowest = float(values.min())
                value_range = float(np.ptp(values))
                columns.append(
                    _NumericColumn(column_name, lowest, value_range or 1.0)
                    if scale == "minmax"
                    else _NumericColumn(column_name, 0.0, 1.0)
                )
            if value_range == 0:
                constant.append(column_name)
        if not columns:
            received = "no columns" + (
                f" beside {', '.join(map(repr, leave_out))}" if leave_out else ""
            )
            allowed = "at least one column that is not sensitive"
            raise InputError(
                argument,
                got=received,
                allowed=allowed,
                cure="pass the features that the model sees",
            )
        return cls(tuple(columns), scale, tuple(constant))

    def encode(self, frame: Any, *, leave_out: Collection[str] = (), argument: str = "X") -> Rows:
        """The coordinates of a frame with the columns of the fit.

        A column "(other)" only where it is needed.
        """
        feature_frame = _frame_of(frame, argument)
        known_names = [column_code.name for column_code in self.columns]
        unknown = sorted(set(feature_frame.columns) - set(known_names) - set(leave_out))
        lacking = []
        for column_name in known_names:
            if column_name not in feature_frame.columns:
                lacking.append(column_name)
        if unknown or lacking:
            if lacking:
                received = "no column"
            else:
                received = "columns that the reference data do not have:"
            received += f" {', '.join(map(repr, lacking or unknown))}"
            allowed = "the columns of the reference data"
            suggestion = "pass the same columns in both"
            raise InputError(argument, got=received, allowed=allowed, cure=suggestion)
        named_parts: list[tuple[str, Floats]] = []
        for column_code in self.columns:
            encoded = column_code.encode(feature_frame[column_code.name], argument)
            named_columns = zip(column_code.names, encoded, strict=True)
            for column_name, coordinates in named_columns:
                if not column_name.endswith(f"={_OTHER_LEVEL}") or coordinates.any():
                    named_parts.append((column_name, coordinates))
            was_constant = (
                isinstance(column_code, _NumericColumn) and column_code.name in self.constant
            )
            if was_constant and self.scale == "minmax" and np.ptp(encoded[0]) > 0:
                warning_text = (
                    f"`{argument}`: {column_code.name!r} is constant in the reference data, so nothing"
                    " scales it"
                )
                caution(f"{warning_text}; it enters in its own unit.", DataWarning)
        if isinstance(frame, (np.ndarray, list, tuple)):
            row_index = None
        else:
            row_index = feature_frame.index
        coordinate_names, columns = zip(*named_parts, strict=True)
        return Rows(np.ascontiguousarray(np.column_stack(columns)), row_index, coordinate_names)


def _finite_numbers(column: Any, argument: str, column_name: str) -> Floats:
    """The numbers of a column, or raise where there are none, or some that are not finite."""
    date_numbers = dates_as_days(column)
    if date_numbers is None:
        values = as_float_column(column, f"{argument}[{column_name!r}]")
    else:
        values = date_numbers
    n_not_finite = int((~np.isfinite(values)).sum())
    if n_not_finite or not values.size:
        if values.size:
            received = f"{n_not_finite:,} values that are NaN or infinite in {column_name!r}"
        else:
            received = "0 rows"
        suggestion = "drop or impute those rows first, and say so"
        raise InputError(argument, got=received, allowed="finite numbers", cure=suggestion)
    return values


def _frame_of(values: Any, argument: str) -> pd.DataFrame:
    frame = as_pandas(values, argument)
    if frame is None:
        numeric_rows = as_rows(values, argument)
        return pd.DataFrame(
            numeric_rows.values,
            columns=[f"x{column_number}" for column_number in range(numeric_rows.values.shape[1])],
        )
    frame = frame.set_axis([str(column_name) for column_name in frame.columns], axis=1)
    check_unique(frame, argument)
    return frame


def _refuse_identifier(n_levels: int, n_rows: int, argument: str, column_name: str) -> None:
    """Raise where nearly every row has a value of its own: then all rows are equally far apart."""
    if n_levels > _FEW_LEVELS and n_levels >= _IDENTIFYING_SHARE * n_rows:
        received = f"a column {column_name!r} with {n_levels:,} different values in {n_rows:,} rows, an identifier"
        allowed = "numbers, dates, and categories that several rows share"
        suggestion = f"leave {column_name!r} out, convert it to numbers, or group its values"
        raise InputError(argument, got=received, allowed=allowed, cure=suggestion)


def _categories_as_text(column: Any, argument: str, column_name: str) -> NDArray[Any]:
    """The categories as text."""
    factor = factorize(column, f"{argument}[{column_name!r}]")
    refuse_missing(factor.codes, argument, f" in {column_name!r}")
    return np.asarray(
        np.array([label_text(level) for level in factor.levels], dtype=object)[factor.codes]
    )


def refuse_missing(codes: NDArray[Any], argument: str, where: str = "") -> None:
    """Raise where a category, label or group is missing in some row."""
    missing = int((codes == MISSING).sum())
    if missing:
        received = f"{missing:,} missing values{where}"
        suggestion = (
            "drop those rows and say so, or make the missing ones a value: .fillna('missing')"
        )
        raise InputError(argument, got=received, allowed="a value in every row", cure=suggestion)


def counted_rows(counts: Tally) -> RowCounts:
    """The rows that a tally counted; raises InputError if it is none, or has no features."""
    return check_type(
        "counts", counts, Tally, "a Tally with features", "fs.tally(…, features=[…])"
    ).rows()


def pair_of_groups(counts: Tally) -> tuple[Rows, Rows]:
    """The features of the two groups of a tally: numbers as they are, categories one-hot."""
    row_counts = counted_rows(counts)
    if len(row_counts.groups) != 2:
        allowed = "two groups: the two sets"
        suggestion = "fs.hfm(counts=…) compares every group with all others"
        raise InputError(
            "counts",
            got=f"a tally of {len(row_counts.groups)} groups",
            allowed=allowed,
            cure=suggestion,
        )
    frame = row_counts.frame()
    group_codes = row_counts._repeat_per_person(row_counts.group)
    encoded = FrameEncoder.fit(frame, scale="none", argument="counts").encode(
        frame, argument="counts"
    )
    first_rows, second_rows = (
        Rows(
            np.ascontiguousarray(encoded.values[group_codes == group_index]), None, encoded.columns
        )
        for group_index in (0, 1)
    )
    return first_rows, second_rows


def encode_labels(y_true: Any, y_pred: Any) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Labels and predictions as coordinates, and their levels.

    Different labels are 1 apart (three: one-hot by √2).
    """
    factors = [factorize(y_true, "y_true"), factorize(y_pred, "y_pred")]
    for factor, argument_name in zip(factors, ("y_true", "y_pred"), strict=True):
        refuse_missing(factor.codes, argument_name)
    levels = tuple(
        sorted({label_text(level) for label_factor in factors for level in label_factor.levels})
    )
    if len(levels) > _MOST_LABELS:
        received = f"{len(levels):,} different values"
        allowed = f"labels: at most {_MOST_LABELS} values"
        raise InputError(
            "y_pred",
            got=received,
            allowed=allowed,
            cure="pass predicted labels, not scores",
        )
    if len(levels) > 2:
        places = np.eye(len(levels)) / np.sqrt(2)
    else:
        places = np.array([[0.0], [1.0]])
    true_places, predicted_places = (
        places[
            np.array(
                [levels.index(label_text(level)) for level in label_factor.levels], dtype=np.intp
            )[label_factor.codes]
        ]
        for label_factor in factors
    )
    return true_places, predicted_places, levels


@dataclass(frozen=True, eq=False)
class Side:
    """One value of an attribute, which `rows` have, against all others; `crossed`: of several
    attributes at once.
    """

    attribute: str
    group: str
    reference: str
    rows: Mask
    crossed: bool = False


@dataclass(frozen=True)
class Comparison:
    """One entry of the result: a side, or the maximum over several.

    `members` are their positions.
    """

    attribute: str
    group: str
    reference: str
    members: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Scene:
    """Validated data of an HFM.

    `features`: encoded; `true`, `pred`: labels and predictions as coordinates, shape (n, c);
    `sides`: one per value of every attribute, or for both of two; `left_out`: sensitive columns of
    X; `constant`: columns with a single value.
    """

    features: Rows
    true: Floats
    pred: Floats
    label_levels: tuple[str, ...]
    sides: tuple[Side, ...]
    left_out: tuple[str, ...]
    constant: tuple[str, ...]

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.true)

    @property
    def with_true(self) -> Floats:
        """Rows (x, y), shape (n, p + c)."""
        return np.hstack([self.features.values, self.true])

    @property
    def with_pred(self) -> Floats:
        """Rows (x, ŷ), shape (n, p + c)."""
        return np.hstack([self.features.values, self.pred])

    def comparisons(self) -> list[Comparison]:
        """The entries: every side, the maximum over the values of an attribute, that over all
        attributes.
        """
        entries: list[Comparison] = []
        for attribute in dict.fromkeys(side.attribute for side in self.sides):
            sides_of_attribute = {}
            for side_index, side in enumerate(self.sides):
                if side.attribute == attribute:
                    sides_of_attribute[side_index] = side
            for side_index, side in sides_of_attribute.items():
                entries.append(Comparison(attribute, side.group, side.reference, (side_index,)))
            if len(sides_of_attribute) > 1:
                entries.append(Comparison(attribute, ANY_VALUE, REST, tuple(sides_of_attribute)))
        single_sides = tuple(
            side_index for side_index, side in enumerate(self.sides) if not side.crossed
        )
        if len({self.sides[side_index].attribute for side_index in single_sides}) > 1:
            entries.append(Comparison(JOINT, ANY_VALUE, REST, single_sides))
        return entries


def make_scene(
    X: Any,
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    counts: Tally | None = None,
    scale: str,
    reference_data: Any,
    intersections: bool,
) -> Scene:
    """Validate and encode what `hfm` was given."""
    if counts_or_rows(
        counts,
        needs="X, y_true, y_pred, sensitive_features",
        X=X,
        y_true=y_true,
        y_pred=y_pred,
        sensitive_features=sensitive_features,
    ):
        X, y_true, y_pred, sensitive_features = _columns_of(counts)  # type: ignore[arg-type]
    check_row_labels(X=X, y_true=y_true, y_pred=y_pred, sensitive_features=sensitive_features)
    columns = sensitive_columns(sensitive_features)
    feature_frame = as_pandas(X, "X")
    present = (
        ()
        if feature_frame is None
        else tuple(str(label) for label in feature_frame.columns if str(label) in columns)
    )
    argument, reference = ("X", X) if reference_data is None else ("reference_data", reference_data)
    encoder = FrameEncoder.fit(reference, scale=scale, leave_out=present, argument=argument)
    features = encoder.encode(X, leave_out=present)
    true_places, predicted_places, levels = encode_labels(y_true, y_pred)
    _check_lengths(X=len(features.values), y_true=len(true_places), y_pred=len(predicted_places))
    attributes = {}
    for attribute_name, column in columns.items():
        attributes[attribute_name] = {attribute_name: column}
    if intersections and len(columns) > 1:
        attributes[" × ".join(columns)] = columns
    sides = []
    for attribute_name, own_columns in attributes.items():
        for side in _sides_of_attribute(attribute_name, own_columns, len(true_places)):
            sides.append(side)
    return Scene(
        features=features,
        true=true_places,
        pred=predicted_places,
        label_levels=levels,
        sides=tuple(sides),
        left_out=present,
        constant=encoder.constant,
    )


def _columns_of(counts: Tally) -> tuple[Any, Any, Any, dict[str, NDArray[Any]]]:
    """Features, labels, predictions and sensitive columns from the distinct rows of a tally."""
    row_counts = counted_rows(counts)
    for column_name, labels in (("y_true", row_counts.y_true), ("y_pred", row_counts.y_pred)):
        if labels is None:
            allowed = "distinct rows of features, labels and predictions"
            suggestion = (
                f"name the column when counting: fs.tally(frame, {column_name}=…, features=…)"
            )
            raise InputError(
                "counts",
                got=f"a tally without {column_name}",
                allowed=allowed,
                cure=suggestion,
            )
    group_codes = row_counts._repeat_per_person(row_counts.group)
    if counts.stratified:
        levels = counts.by(*counts.sensitive).levels
    else:
        levels = counts.levels
    sensitive = {}
    for position, column_name in enumerate(counts.sensitive):
        sensitive[column_name] = np.array([level[position] for level in levels], dtype=object)[
            group_codes
        ]
    y_true = row_counts._repeat_per_person(row_counts.y_true)  # type: ignore[arg-type]
    y_pred = row_counts._repeat_per_person(row_counts.y_pred)  # type: ignore[arg-type]
    return row_counts.frame(), y_true, y_pred, sensitive


def _check_lengths(**lengths: int) -> None:
    if len(set(lengths.values())) > 1:
        received = "different lengths: " + ", ".join(
            f"{column_name} {n_rows:,}" for column_name, n_rows in lengths.items()
        )
        suggestion = "take all of them from the same rows"
        raise InputError(
            ", ".join(lengths),
            got=received,
            allowed="one entry per row",
            cure=suggestion,
        )


def _sides_of_attribute(name: str, columns: dict[str, Any], n: int) -> list[Side]:
    grouping = encode_groups(columns)
    _check_lengths(X=n, sensitive_features=grouping.codes.size)
    refuse_missing(grouping.codes, "sensitive_features", f" in {name!r}")
    group_sizes = np.bincount(grouping.codes, minlength=len(grouping.labels))
    groups = []
    for group_index in range(len(grouping.labels)):
        if group_sizes[group_index]:
            groups.append(group_index)
    if len(groups) < 2:
        sizes_in_words = ", ".join(
            f"{group_label!r} {group_size:,}"
            for group_label, group_size in zip(grouping.labels, group_sizes, strict=True)
        )
        received = f"one group with rows in {name!r}: {sizes_in_words}"
        allowed = "at least two groups with rows"
        suggestion = (
            "the distance to an empty group is not defined; look at how the rows were chosen"
        )
        raise InputError("sensitive_features", got=received, allowed=allowed, cure=suggestion)
    crossed = len(columns) > 1
    if len(groups) == 2:  # the distance is symmetric
        first_label = grouping.labels[groups[1]]
        second_label = grouping.labels[groups[0]]
        return [Side(name, first_label, second_label, grouping.codes == groups[1], crossed)]
    sides: list[Side] = []
    for group_index in groups:
        sides.append(
            Side(name, grouping.labels[group_index], REST, grouping.codes == group_index, crossed)
        )
    return sides
