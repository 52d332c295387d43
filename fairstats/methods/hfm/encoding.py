"""Columns of a frame as coordinates: one-hot categories, min-max numbers, bounds learnt on reference data."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairstats.ground.caution import caution
from fairstats.ground.encoding import MISSING, as_float_column, factorize, label_text
from fairstats.ground.errors import DataWarning, InputError
from fairstats.ground.results import check_choice
from fairstats.methods.hfm.rows import Rows, as_pandas, as_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SCALES", "FrameEncoder", "encode_labels"]

SCALES = ("minmax", "none")
#: Labels with more values than this are scores.
_MOST_LABELS = 100
_OTHER = "(other)"


@dataclass(frozen=True)
class _Numeric:
    """x → (x − low)/(high − low)."""

    name: str
    low: float
    width: float

    @property
    def names(self) -> list[str]:
        return [self.name]

    def encode(self, column: Any, argument: str) -> list[NDArray[np.float64]]:
        values = as_float_column(column, f"{argument}[{self.name!r}]")
        if not np.isfinite(values).all():
            raise InputError(
                argument,
                got=f"{int((~np.isfinite(values)).sum()):,} values that are NaN or infinite in {self.name!r}",
                allowed="finite numbers",
                cure="drop or impute those rows first, and say so",
            )
        return [(values - self.low) / self.width]


@dataclass(frozen=True)
class _Categorical:
    """One 0/1 column per category, and one for all that the reference data do not have."""

    name: str
    levels: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        return [f"{self.name}={level}" for level in (*self.levels, _OTHER)]

    def encode(self, column: Any, argument: str) -> list[NDArray[np.float64]]:
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

    Attributes
    ----------
    columns : tuple
        One code per column.
    scale : {"minmax", "none"}
    constant : tuple of str
        Columns with one value in the reference data.
    """

    columns: tuple[_Numeric | _Categorical, ...]
    scale: str
    constant: tuple[str, ...] = ()

    @classmethod
    def fit(
        cls, reference: Any, *, scale: str = "minmax", leave_out: Collection[str] = (), argument: str = "X"
    ) -> FrameEncoder:
        """Learn bounds and categories.

        Parameters
        ----------
        reference : data frame or array of numbers, shape (n, p)
        scale : {"minmax", "none"}, default "minmax"
            Whether numbers are mapped to [0, 1] by their bounds here.
        leave_out : collection of str
            Columns that are no coordinates.
        argument : str
            Name for error messages.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"age": [20, 40, 30], "city": ["Ulm", "Bern", "Ulm"]})
        >>> encoder = FrameEncoder.fit(frame)
        >>> rows = encoder.encode(frame)
        >>> rows.columns
        ('age', 'city=Bern', 'city=Ulm')
        >>> rows.values[2].tolist()
        [0.5, 0.0, 1.0]
        """
        check_choice("scale", scale, SCALES)
        frame = _frame_of(reference, argument)
        columns: list[_Numeric | _Categorical] = []
        constant = []
        for name in map(str, frame.columns):
            if name in leave_out:
                continue
            column = frame[name]
            if _is_categorical(column):
                levels = sorted(set(_texts(column, argument, name).tolist()))
                columns.append(_Categorical(name, tuple(levels)))
                single = len(levels) == 1
            else:
                code = _numeric_code(column, argument, name, scale)
                columns.append(code)
                single = code.width == 0
                columns[-1] = _Numeric(name, code.low, code.width or 1.0)
            if single:
                constant.append(name)
        if not columns:
            raise InputError(
                argument,
                got="no columns" + (f" beside {', '.join(map(repr, leave_out))}" if leave_out else ""),
                allowed="at least one column that is not sensitive",
                cure="pass the features that the model sees",
            )
        return cls(tuple(columns), scale, tuple(constant))

    def encode(self, frame: Any, *, leave_out: Collection[str] = (), argument: str = "X") -> Rows:
        """The coordinates of a frame; a column "(other)" only where it is needed.

        Raises
        ------
        InputError
            For columns other than those of the fit and `leave_out`, NaN, or another type than at the fit.
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
        parts: list[NDArray[np.float64]] = []
        for code in self.columns:
            encoded = code.encode(data[code.name], argument)
            for name, part in zip(code.names, encoded, strict=True):
                if not name.endswith(f"={_OTHER}") or part.any():
                    names.append(name)
                    parts.append(part)
            self._say_if_constant_no_more(code, encoded, argument)
        index = as_pandas(frame).index if as_pandas(frame) is not None else None  # type: ignore[union-attr]
        return Rows(np.ascontiguousarray(np.column_stack(parts)), index, tuple(names))

    def _say_if_constant_no_more(
        self, code: _Numeric | _Categorical, encoded: list[NDArray[np.float64]], argument: str
    ) -> None:
        if isinstance(code, _Numeric) and code.name in self.constant and self.scale == "minmax":
            part = encoded[0]
            if part.size and np.ptp(part) > 0:
                caution(
                    f"`{argument}`: {code.name!r} is constant in the reference data, so nothing scales "
                    "it; it enters in its own unit.",
                    DataWarning,
                )


def _numeric_code(column: Any, argument: str, name: str, scale: str) -> _Numeric:
    values = as_float_column(column, f"{argument}[{name!r}]")
    if not values.size or not np.isfinite(values).all():
        raise InputError(
            argument,
            got=f"{int((~np.isfinite(values)).sum()):,} values that are NaN or infinite in {name!r}"
            if values.size
            else "0 rows",
            allowed="finite numbers",
            cure="drop or impute those rows first, and say so",
        )
    low, high = float(values.min()), float(values.max())
    if scale == "none":
        return _Numeric(name, 0.0, 1.0 if high > low else 0.0)
    return _Numeric(name, low, high - low)


def _frame_of(values: Any, argument: str) -> pd.DataFrame:
    frame = as_pandas(values)
    if frame is None:
        rows = as_rows(values, argument)
        return pd.DataFrame(rows.values, columns=[f"x{j}" for j in range(rows.values.shape[1])])
    if not frame.columns.is_unique:
        raise InputError(
            argument,
            got=f"two columns of one name: {list(frame.columns)!r}",
            allowed="columns with different names",
            cure="rename one of them",
        )
    return frame.rename(columns=str)


def _is_categorical(column: Any) -> bool:
    return isinstance(column.dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(column.dtype)


def _texts(column: Any, argument: str, name: str) -> NDArray[Any]:
    """The categories as text."""
    factor = factorize(column, f"{argument}[{name!r}]")
    if factor.has_missing:
        raise InputError(
            argument,
            got=f"{int((factor.codes == MISSING).sum()):,} missing values in {name!r}",
            allowed="no missing values",
            cure=f"make them a category: frame[{name!r}].fillna('missing'), or drop those rows and say so",
        )
    texts = np.array([label_text(level) for level in factor.levels], dtype=object)
    return np.asarray(texts[factor.codes])


def encode_labels(
    y_true: Any, y_pred: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64], tuple[str, ...]]:
    """Labels and predictions as coordinates: two different labels are 1 apart.

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        Labels of any type, two or more values.

    Returns
    -------
    true, pred : ndarray of float, shape (n, 1) or (n, k)
        0/1 for two values, one-hot divided by √2 for more.
    levels : tuple of str
        Their values.
    """
    codes = []
    factors = [factorize(y, name) for y, name in ((y_true, "y_true"), (y_pred, "y_pred"))]
    for factor, name in zip(factors, ("y_true", "y_pred"), strict=True):
        if factor.has_missing:
            raise InputError(
                name,
                got=f"{int((factor.codes == MISSING).sum()):,} missing values",
                allowed="a label in every row",
                cure="drop those rows first, and say so",
            )
    levels = tuple(sorted({label_text(level) for f in factors for level in f.levels}))
    if len(levels) > _MOST_LABELS:
        raise InputError(
            "y_pred",
            got=f"{len(levels):,} different values",
            allowed=f"labels: at most {_MOST_LABELS} values",
            cure="pass predicted labels, not scores",
        )
    for factor in factors:
        place = np.array([levels.index(label_text(level)) for level in factor.levels], dtype=np.intp)
        codes.append(place[factor.codes])
    if len(levels) <= 2:
        true, pred = (code[:, None].astype(np.float64) for code in codes)
    else:
        true, pred = (np.eye(len(levels))[code] / np.sqrt(2) for code in codes)
    return true, pred, levels
