"""Columns of a frame as coordinates: one-hot categories, min-max numbers, bounds learnt on reference data."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_choice, check_type
from fairstats.ground.encoding import MISSING, as_float_column, factorize, label_text
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.lazy import pd
from fairstats.ground.parts import RowCounts, dates_as_days
from fairstats.ground.tally import Tally
from fairstats.methods.hfm.rows import Rows, as_pandas, as_rows, check_unique

SCALES = ("minmax", "none")
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
            values = sorted(set(texts[other > 0].tolist()))
            caution(
                f"`{argument}`: {int(other.sum()):,} rows have values of {self.name!r} that the reference "
                f"data do not have ({', '.join(values[:5])}); they share one column of their own.",
                DataWarning,
            )
        return [*found, other]


@dataclass(frozen=True)
class FrameEncoder:
    """How the columns of a frame become coordinates.

    `columns`: one code per column; `scale`: "minmax" or "none"; `constant`: columns with one value in the
    reference data.
    """

    columns: tuple[_Numeric | _Categorical, ...]
    scale: str
    constant: tuple[str, ...] = ()

    @classmethod
    def fit(
        cls, reference: Any, *, scale: str = "minmax", leave_out: Collection[str] = (), argument: str = "X"
    ) -> FrameEncoder:
        """Learn bounds and categories from a frame or an array of numbers.

        With "minmax" numbers are mapped to [0, 1] by their bounds here; dates are numbers (days); columns to
        `leave_out` are no coordinates. Raises InputError for text that identifies the rows.
        """
        check_choice("scale", scale, SCALES)
        frame = _frame_of(reference, argument)
        columns: list[_Numeric | _Categorical] = []
        constant = []
        for name in frame.columns.difference(list(leave_out), sort=False):
            column = frame[name]
            kind = column.dtype
            text = isinstance(kind, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(kind)
            if text and dates_as_days(column) is None:
                levels = sorted(set(_texts(column, argument, name).tolist()))
                _refuse_identifier(len(levels), len(column), argument, name)
                columns.append(_Categorical(name, tuple(levels)))
                single = len(levels) == 1
            else:
                values = _finite(column, argument, name)
                low, width = float(values.min()), float(np.ptp(values))
                single = width == 0
                bounds = (low, width or 1.0) if scale == "minmax" else (0.0, 1.0)
                columns.append(_Numeric(name, *bounds))
            if single:
                constant.append(name)
        if not columns:
            got = "no columns" + (f" beside {', '.join(map(repr, leave_out))}" if leave_out else "")
            allowed = "at least one column that is not sensitive"
            raise InputError(argument, got=got, allowed=allowed, cure="pass the features that the model sees")
        return cls(tuple(columns), scale, tuple(constant))

    def encode(self, frame: Any, *, leave_out: Collection[str] = (), argument: str = "X") -> Rows:
        """The coordinates of a frame; a column "(other)" only where it is needed.

        Raises InputError for columns other than those of the fit and `leave_out`, NaN, or another type than there.
        """
        data = _frame_of(frame, argument)
        known = [code.name for code in self.columns]
        unknown = sorted(set(data.columns) - set(known) - set(leave_out))
        lacking = [name for name in known if name not in data.columns]
        if unknown or lacking:
            raise InputError(
                argument,
                got=f"no column {', '.join(map(repr, lacking))}"
                if lacking
                else f"columns that the reference data do not have: {', '.join(map(repr, unknown))}",
                allowed="the columns of the reference data",
                cure="pass the same columns in both",
            )
        names: list[str] = []
        parts: list[Floats] = []
        for code in self.columns:
            encoded = code.encode(data[code.name], argument)
            for name, part in zip(code.names, encoded, strict=True):
                if not name.endswith(f"={_OTHER}") or part.any():
                    names.append(name)
                    parts.append(part)
            was_constant = isinstance(code, _Numeric) and code.name in self.constant
            if was_constant and self.scale == "minmax" and np.ptp(encoded[0]) > 0:
                caution(
                    f"`{argument}`: {code.name!r} is constant in the reference data, so nothing scales "
                    "it; it enters in its own unit.",
                    DataWarning,
                )
        index = None if isinstance(frame, (np.ndarray, list, tuple)) else data.index
        return Rows(np.ascontiguousarray(np.column_stack(parts)), index, tuple(names))


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
        raise InputError(
            argument,
            got=f"a column {name!r} with {n_levels:,} different values in {n:,} rows, an identifier",
            allowed="numbers, dates, and categories that several rows share",
            cure=f"leave {name!r} out, convert it to numbers, or group its values",
        )


def _texts(column: Any, argument: str, name: str) -> NDArray[Any]:
    """The categories as text."""
    factor = factorize(column, f"{argument}[{name!r}]")
    refuse_missing(factor.codes, argument, f" in {name!r}")
    texts = np.array([label_text(level) for level in factor.levels], dtype=object)
    return np.asarray(texts[factor.codes])


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
    """The features of the two groups of a tally: numbers as they are, categories one-hot.

    Raises InputError if the tally has no features, or not two groups.
    """
    part = counted_rows(counts)
    if len(part.groups) != 2:
        allowed, cure = "two groups: the two sets", "fs.hfm(counts=…) compares every group with all others"
        raise InputError("counts", got=f"a tally of {len(part.groups)} groups", allowed=allowed, cure=cure)
    frame, group = part.frame(), part.column(part.group)
    rows = FrameEncoder.fit(frame, scale="none", argument="counts").encode(frame, argument="counts")
    first, second = (Rows(np.ascontiguousarray(rows.values[group == g]), None, rows.columns) for g in (0, 1))
    return first, second


def encode_labels(y_true: Any, y_pred: Any) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Labels and predictions as coordinates, and their levels: two different labels are 1 apart.

    Shape (n, 1), 0/1, for two values; (n, k), one-hot divided by √2, for more.
    """
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
