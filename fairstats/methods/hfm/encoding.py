"""Everything that HFM needs of the data, as arrays: features as coordinates, labels, predictions, groups."""

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
_OTHER = "(other)"
#: A column of text with more levels than this, and with one for this share of the rows, identifies them.
_FEW_LEVELS, _IDENTIFIES = 20, 0.9


@dataclass(frozen=True)
class _Numeric:
    """x → (x − low)/(high − low)."""

    name: str
    low: float
    width: float

    @property
    def names(self) -> list[str]:
        return [self.name]

    def encode(self, column: Any, argument: str) -> list[Floats]:
        return [(_finite(column, argument, self.name) - self.low) / self.width]


@dataclass(frozen=True)
class _Categorical:
    """One 0/1 column per category, and one for all that the reference data do not have."""

    name: str
    levels: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        return [f"{self.name}={level}" for level in (*self.levels, _OTHER)]

    def encode(self, column: Any, argument: str) -> list[Floats]:
        texts = _texts(column, argument, self.name)
        found = [np.asarray(texts == level, dtype=np.float64) for level in self.levels]
        other = 1 - np.sum(found, axis=0)
        if other.any():
            values = ", ".join(sorted(set(texts[other > 0].tolist()))[:5])
            text = f"`{argument}`: {int(other.sum()):,} rows have values of {self.name!r} that the reference"
            caution(f"{text} data do not have ({values}); they share one column of their own.", DataWarning)
        return [*found, other]


@dataclass(frozen=True)
class FrameEncoder:
    """How the columns of a frame become coordinates; `constant`: columns with one value in the reference data."""

    columns: tuple[_Numeric | _Categorical, ...]
    scale: str
    constant: tuple[str, ...] = ()

    @classmethod
    def fit(
        cls, reference: Any, *, scale: str = "minmax", leave_out: Collection[str] = (), argument: str = "X"
    ) -> FrameEncoder:
        """Learn bounds, which "minmax" maps to [0, 1], and categories; dates are numbers; `leave_out` is left out."""
        check_choice("scale", scale, SCALES)
        frame = _frame_of(reference, argument)
        columns: list[_Numeric | _Categorical] = []
        constant = []
        for name in frame.columns.difference(list(leave_out), sort=False):
            column = frame[name]
            text = isinstance(column.dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(column.dtype)
            if text and dates_as_days(column) is None:
                levels = sorted(set(_texts(column, argument, name).tolist()))
                _refuse_identifier(len(levels), len(column), argument, name)
                columns.append(_Categorical(name, tuple(levels)))
                width = len(levels) - 1.0
            else:
                values = _finite(column, argument, name)
                low, width = float(values.min()), float(np.ptp(values))
                columns.append(_Numeric(name, low, width or 1.0) if scale == "minmax" else _Numeric(name, 0.0, 1.0))
            if width == 0:
                constant.append(name)
        if not columns:
            got = "no columns" + (f" beside {', '.join(map(repr, leave_out))}" if leave_out else "")
            allowed = "at least one column that is not sensitive"
            raise InputError(argument, got=got, allowed=allowed, cure="pass the features that the model sees")
        return cls(tuple(columns), scale, tuple(constant))

    def encode(self, frame: Any, *, leave_out: Collection[str] = (), argument: str = "X") -> Rows:
        """The coordinates of a frame with the columns of the fit; a column "(other)" only where it is needed."""
        data = _frame_of(frame, argument)
        known = [code.name for code in self.columns]
        unknown = sorted(set(data.columns) - set(known) - set(leave_out))
        lacking = [name for name in known if name not in data.columns]
        if unknown or lacking:
            got = "no column" if lacking else "columns that the reference data do not have:"
            got += f" {', '.join(map(repr, lacking or unknown))}"
            allowed, cure = "the columns of the reference data", "pass the same columns in both"
            raise InputError(argument, got=got, allowed=allowed, cure=cure)
        parts: list[tuple[str, Floats]] = []
        for code in self.columns:
            encoded = code.encode(data[code.name], argument)
            named = zip(code.names, encoded, strict=True)
            parts += [(name, part) for name, part in named if not name.endswith(f"={_OTHER}") or part.any()]
            was_constant = isinstance(code, _Numeric) and code.name in self.constant
            if was_constant and self.scale == "minmax" and np.ptp(encoded[0]) > 0:
                text = f"`{argument}`: {code.name!r} is constant in the reference data, so nothing scales it"
                caution(f"{text}; it enters in its own unit.", DataWarning)
        index = None if isinstance(frame, (np.ndarray, list, tuple)) else data.index
        names, columns = zip(*parts, strict=True)
        return Rows(np.ascontiguousarray(np.column_stack(columns)), index, names)


def _finite(column: Any, argument: str, name: str) -> Floats:
    """The numbers of a column, or raise where there are none, or some that are not finite."""
    days = dates_as_days(column)
    values = as_float_column(column, f"{argument}[{name!r}]") if days is None else days
    bad = int((~np.isfinite(values)).sum())
    if bad or not values.size:
        got = f"{bad:,} values that are NaN or infinite in {name!r}" if values.size else "0 rows"
        cure = "drop or impute those rows first, and say so"
        raise InputError(argument, got=got, allowed="finite numbers", cure=cure)
    return values


def _frame_of(values: Any, argument: str) -> pd.DataFrame:
    frame = as_pandas(values, argument)
    if frame is None:
        rows = as_rows(values, argument)
        return pd.DataFrame(rows.values, columns=[f"x{j}" for j in range(rows.values.shape[1])])
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    check_unique(frame, argument)
    return frame


def _refuse_identifier(n_levels: int, n: int, argument: str, name: str) -> None:
    """Raise where nearly every row has a value of its own: then all rows are equally far apart."""
    if n_levels > _FEW_LEVELS and n_levels >= _IDENTIFIES * n:
        got = f"a column {name!r} with {n_levels:,} different values in {n:,} rows, an identifier"
        allowed = "numbers, dates, and categories that several rows share"
        cure = f"leave {name!r} out, convert it to numbers, or group its values"
        raise InputError(argument, got=got, allowed=allowed, cure=cure)


def _texts(column: Any, argument: str, name: str) -> NDArray[Any]:
    """The categories as text."""
    factor = factorize(column, f"{argument}[{name!r}]")
    refuse_missing(factor.codes, argument, f" in {name!r}")
    return np.asarray(np.array([label_text(level) for level in factor.levels], dtype=object)[factor.codes])


def refuse_missing(codes: NDArray[Any], argument: str, where: str = "") -> None:
    """Raise where a category, label or group is missing in some row."""
    missing = int((codes == MISSING).sum())
    if missing:
        got = f"{missing:,} missing values{where}"
        cure = "drop those rows and say so, or make the missing ones a value: .fillna('missing')"
        raise InputError(argument, got=got, allowed="a value in every row", cure=cure)


def counted_rows(counts: Tally) -> RowCounts:
    """The rows that a tally counted; raises InputError if it is none, or has no features."""
    return check_type("counts", counts, Tally, "a Tally with features", "fs.tally(…, features=[…])").rows()


def pair_of_groups(counts: Tally) -> tuple[Rows, Rows]:
    """The features of the two groups of a tally: numbers as they are, categories one-hot."""
    part = counted_rows(counts)
    if len(part.groups) != 2:
        allowed, cure = "two groups: the two sets", "fs.hfm(counts=…) compares every group with all others"
        raise InputError("counts", got=f"a tally of {len(part.groups)} groups", allowed=allowed, cure=cure)
    frame, group = part.frame(), part._column(part.group)
    rows = FrameEncoder.fit(frame, scale="none", argument="counts").encode(frame, argument="counts")
    first, second = (Rows(np.ascontiguousarray(rows.values[group == g]), None, rows.columns) for g in (0, 1))
    return first, second


def encode_labels(y_true: Any, y_pred: Any) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Labels and predictions as coordinates, and their levels: different labels are 1 apart (three: one-hot by √2)."""
    factors = [factorize(y_true, "y_true"), factorize(y_pred, "y_pred")]
    for factor, name in zip(factors, ("y_true", "y_pred"), strict=True):
        refuse_missing(factor.codes, name)
    levels = tuple(sorted({label_text(level) for f in factors for level in f.levels}))
    if len(levels) > _MOST_LABELS:
        got, allowed = f"{len(levels):,} different values", f"labels: at most {_MOST_LABELS} values"
        raise InputError("y_pred", got=got, allowed=allowed, cure="pass predicted labels, not scores")
    places = np.eye(len(levels)) / np.sqrt(2) if len(levels) > 2 else np.array([[0.0], [1.0]])
    true, pred = (
        places[np.array([levels.index(label_text(level)) for level in f.levels], dtype=np.intp)[f.codes]]
        for f in factors
    )
    return true, pred, levels


@dataclass(frozen=True, eq=False)
class Side:
    """One value of an attribute, which `rows` have, against all others; `crossed`: of several attributes at once."""

    attribute: str
    group: str
    reference: str
    rows: Mask
    crossed: bool = False


@dataclass(frozen=True)
class Comparison:
    """One entry of the result: a side, or the maximum over several; `members` are their positions."""

    attribute: str
    group: str
    reference: str
    members: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Scene:
    """Validated data of an HFM.

    `features`: encoded; `true`, `pred`: labels and predictions as coordinates, shape (n, c); `sides`: one per value of
    every attribute, or for both of two; `left_out`: sensitive columns of X; `constant`: columns with a single value.
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
        """The entries: every side, the maximum over the values of an attribute, that over all attributes."""
        found: list[Comparison] = []
        for attribute in dict.fromkeys(side.attribute for side in self.sides):
            own = {k: side for k, side in enumerate(self.sides) if side.attribute == attribute}
            found += [Comparison(attribute, side.group, side.reference, (k,)) for k, side in own.items()]
            if len(own) > 1:
                found.append(Comparison(attribute, ANY_VALUE, REST, tuple(own)))
        single = tuple(k for k, side in enumerate(self.sides) if not side.crossed)
        if len({self.sides[k].attribute for k in single}) > 1:
            found.append(Comparison(JOINT, ANY_VALUE, REST, single))
        return found


def make_scene(
    X: Any, y_true: Any, y_pred: Any, *, sensitive_features: Any, counts: Tally | None = None, scale: str,
    reference_data: Any, intersections: bool,
) -> Scene:  # fmt: skip
    """Validate and encode what `hfm` was given."""
    if counts_or_rows(
        counts, needs="X, y_true, y_pred, sensitive_features",
        X=X, y_true=y_true, y_pred=y_pred, sensitive_features=sensitive_features,
    ):  # fmt: skip
        X, y_true, y_pred, sensitive_features = _columns_of(counts)  # type: ignore[arg-type]
    check_row_labels(X=X, y_true=y_true, y_pred=y_pred, sensitive_features=sensitive_features)
    columns = sensitive_columns(sensitive_features)
    frame = as_pandas(X, "X")
    present = () if frame is None else tuple(str(c) for c in frame.columns if str(c) in columns)
    argument, reference = ("X", X) if reference_data is None else ("reference_data", reference_data)
    encoder = FrameEncoder.fit(reference, scale=scale, leave_out=present, argument=argument)
    features = encoder.encode(X, leave_out=present)
    true, pred, levels = encode_labels(y_true, y_pred)
    _check_lengths(X=len(features.values), y_true=len(true), y_pred=len(pred))
    attributes = {name: {name: column} for name, column in columns.items()}
    if intersections and len(columns) > 1:
        attributes[" × ".join(columns)] = columns
    sides = [side for name, own in attributes.items() for side in _sides(name, own, len(true))]
    return Scene(features, true, pred, levels, tuple(sides), present, encoder.constant)


def _columns_of(counts: Tally) -> tuple[Any, Any, Any, dict[str, NDArray[Any]]]:
    """Features, labels, predictions and sensitive columns from the distinct rows of a tally."""
    part = counted_rows(counts)
    for name, labels in (("y_true", part.y_true), ("y_pred", part.y_pred)):
        if labels is None:
            allowed = "distinct rows of features, labels and predictions"
            cure = f"name the column when counting: fs.tally(frame, {name}=…, features=…)"
            raise InputError("counts", got=f"a tally without {name}", allowed=allowed, cure=cure)
    group = part._column(part.group)
    levels = counts.by(*counts.sensitive).levels if counts.stratified else counts.levels
    sensitive = {
        name: np.array([level[k] for level in levels], dtype=object)[group] for k, name in enumerate(counts.sensitive)
    }
    return part.frame(), part._column(part.y_true), part._column(part.y_pred), sensitive  # type: ignore[arg-type]


def _check_lengths(**lengths: int) -> None:
    if len(set(lengths.values())) > 1:
        got = "different lengths: " + ", ".join(f"{name} {n:,}" for name, n in lengths.items())
        cure = "take all of them from the same rows"
        raise InputError(", ".join(lengths), got=got, allowed="one entry per row", cure=cure)


def _sides(name: str, columns: dict[str, Any], n: int) -> list[Side]:
    grouping = encode_groups(columns)
    _check_lengths(X=n, sensitive_features=grouping.codes.size)
    refuse_missing(grouping.codes, "sensitive_features", f" in {name!r}")
    sizes = np.bincount(grouping.codes, minlength=len(grouping.labels))
    groups = [g for g in range(len(grouping.labels)) if sizes[g]]
    if len(groups) < 2:
        sized = ", ".join(f"{label!r} {size:,}" for label, size in zip(grouping.labels, sizes, strict=True))
        got, allowed = f"one group with rows in {name!r}: {sized}", "at least two groups with rows"
        cure = "the distance to an empty group is not defined; look at how the rows were chosen"
        raise InputError("sensitive_features", got=got, allowed=allowed, cure=cure)
    crossed = len(columns) > 1
    if len(groups) == 2:  # the distance is symmetric
        first, second = grouping.labels[groups[1]], grouping.labels[groups[0]]
        return [Side(name, first, second, grouping.codes == groups[1], crossed)]
    return [Side(name, grouping.labels[g], REST, grouping.codes == g, crossed) for g in groups]
