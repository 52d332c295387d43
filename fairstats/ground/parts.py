"""Parts of a tally beside cells and scores: largest values, and distinct rows of features."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import LARGEST, Floats, check_summand
from fairstats.ground.containers import as_column
from fairstats.ground.encoding import as_float_column
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import pd
from fairstats.ground.serialise import serialisable
from fairstats.ground.stored import check_amounts, check_counts, check_length, check_positions, check_shape
from fairstats.ground.values import factorize, label_text

#: Groups of up to this size are kept whole; of larger ones this share: the largest default of a tail, and the CVaR's.
LEAST_KEPT, KEPT_SHARE = 1_000, 0.05


@serialisable(eq=False)
class TailCounts:
    """Sums and largest values of one variable per group.

    `n`, `total`, `squares`, shape (G,): rows, Σx and Σx²; `largest`: the largest distinct values of every group in
    descending order, and `numbers` of rows with each; `complete`: the value from which on they are all there.
    """

    groups: tuple[str, ...]
    n: NDArray[np.int64]
    total: NDArray[np.float64]
    squares: NDArray[np.float64]
    largest: tuple[NDArray[np.float64], ...]
    numbers: tuple[NDArray[np.int64], ...]
    complete: tuple[float, ...]

    def check_stored(self) -> None:
        """Raise unless what was read from a file has its sums, values and numbers for every group."""
        n_groups = len(self.groups)
        for name in ("n", "total", "squares"):
            check_shape(self, name, getattr(self, name), (n_groups,))
        for name in ("largest", "numbers", "complete"):
            check_length(self, name, getattr(self, name), n_groups)
        check_counts(self, "n", self.n)
        check_amounts(self, "squares", self.squares)
        check_amounts(self, "total", self.total, least=-LARGEST)
        for values, numbers in zip(self.largest, self.numbers, strict=True):
            check_shape(self, "numbers", numbers, values.shape)
            check_amounts(self, "largest", values, least=-LARGEST)
            check_counts(self, "numbers", numbers)

    @classmethod
    def _from_values(
        cls, values: Floats, codes: NDArray[Any], groups: tuple[str, ...], *, n_exceedances: int = 50
    ) -> Self:
        """Sums of rows in the groups `codes`, and of each `number_kept` largest values."""
        parts = [values[codes == g] for g in range(len(groups))]
        n, total = np.array([part.size for part in parts], dtype=np.int64), np.array([part.sum() for part in parts])
        squares = np.array([np.square(part).sum() for part in parts])
        return cls(groups, n, total, squares, *zip(*(_largest(part, n_exceedances) for part in parts), strict=True))

    def _top(self, group: int) -> Floats:
        """The values kept of a group, with their ties, in ascending order."""
        return np.repeat(self.largest[group], self.numbers[group])[::-1]

    def _regrouped(self, groups: tuple[str, ...], position: Sequence[int]) -> TailCounts:
        """Groups merged, reordered or added: group g becomes group ``position[g]`` of `groups`."""
        members = [[g for g, place in enumerate(position) if place == new] for new in range(len(groups))]
        parts: Any = (self.n, self.total, self.squares)
        parts = (np.array([part[own].sum() for own in members], dtype=part.dtype) for part in parts)
        return TailCounts(groups, *parts, *zip(*map(self._joined, members), strict=True))

    def _joined(self, members: list[int]) -> tuple[Floats, NDArray[np.int64], float]:
        """What is known of several groups together: from the highest of their ends upwards."""
        complete = max((self.complete[g] for g in members), default=-np.inf)
        values = np.concatenate([np.zeros(0), *(self.largest[g] for g in members)])
        numbers = np.concatenate([np.zeros(0, dtype=np.int64), *(self.numbers[g] for g in members)])
        known = values >= complete
        distinct, place = np.unique(values[known], return_inverse=True)
        joined = np.bincount(place, numbers[known], distinct.size).astype(np.int64)
        return distinct[::-1], joined[::-1], complete

    def __add__(self, other: TailCounts) -> TailCounts:
        """Those of two sets of rows with the same groups; values that one side may lack are let go."""
        check_summand(self, other, "groups")
        both: Any = zip(vars(self).values(), vars(other).values(), strict=True)
        parts: Any = ((*a, *b) if isinstance(a, tuple) else np.concatenate([a, b]) for a, b in both)
        return TailCounts(*parts)._regrouped(self.groups, [*range(len(self.groups))] * 2)


def number_kept(n: int, n_exceedances: int = 50) -> int:
    """Largest values that are kept of n: 2k + 1 at least, k exceedances, and a twentieth; small groups whole."""
    return max(LEAST_KEPT, 2 * n_exceedances + 1, int(np.ceil(KEPT_SHARE * n)) + 1)


def _largest(values: Floats, n_exceedances: int) -> tuple[Floats, NDArray[np.int64], float]:
    """Distinct largest values in descending order, their numbers, and from where on they are all."""
    kept = number_kept(values.size, n_exceedances)
    complete = -np.inf
    if kept < values.size:
        complete = float(np.partition(values, values.size - kept)[values.size - kept])
    distinct, numbers = np.unique(values[values >= complete], return_counts=True)
    return distinct[::-1], numbers[::-1].astype(np.int64), complete


#: Units of NumPy's dates and durations in a day.
_PER_DAY = {"D": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def dates_as_days(values: Any) -> Floats | None:
    """Dates, times and durations of any frame as days (since 1970), NaN where missing; None for others."""
    if getattr(getattr(values, "dtype", None), "kind", "O") in "biuf":  # plain numbers, without a Series
        return None
    column = pd.Series(values)
    kind = getattr(column.dtype, "kind", "O")
    if isinstance(column.dtype, pd.CategoricalDtype) or kind not in "MmO":
        return None
    if kind == "O":
        inferred = pd.api.types.infer_dtype(column, skipna=True)
        if inferred not in ("date", "datetime", "datetime64", "timedelta", "timedelta64", "period"):
            return None
        if isinstance(column.dtype, pd.PeriodDtype):
            return _in_days(column.dt.start_time.to_numpy())
        factor = factorize(column, "features")
        days = np.array([*map(_days, factor.levels), np.nan])
        return np.asarray(days[factor.codes])
    if kind == "M" and column.dt.tz is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return _in_days(column.to_numpy(f"{kind}8[{getattr(column.dt, 'unit', 'ns')}]"))


def _in_days(moments: NDArray[Any]) -> Floats:
    """NumPy's dates or durations in days: of any year, since it is their whole numbers that are divided."""
    unit = np.datetime_data(moments.dtype)[0]
    if unit not in _PER_DAY:
        unit = "s"
    whole = moments.astype(f"{moments.dtype.kind}8[{unit}]")
    days, rest = np.divmod(whole.view(np.int64), _PER_DAY[unit])
    return np.where(np.isnat(whole), np.nan, days + rest / _PER_DAY[unit])


def _days(value: Any) -> float:
    """A date, a moment or a duration of Python or pandas in days."""
    if isinstance(value, datetime.timedelta):
        return float(_in_days(np.array([pd.Timedelta(value).to_timedelta64()]))[0])
    moment = pd.Timestamp(value)
    if moment.tzinfo is not None:
        moment = moment.tz_convert("UTC").tz_localize(None)
    return float(_in_days(np.array([moment.to_datetime64()]))[0])


def _text_array(texts: Any) -> NDArray[Any]:
    """Text as NumPy's, or as objects where it ends in a zero character, which NumPy would lose."""
    objects = np.array(list(texts), dtype=object)
    return objects if any(text.endswith("\0") for text in objects) else objects.astype(np.str_)


#: Columns of the table that are no features.
GROUP, TRUE, PRED, NUMBER = "__group__", "__y_true__", "__y_pred__", "__number__"


@serialisable(eq=False)
class RowCounts:
    """Distinct rows, raw: scaled and encoded where a distance is computed; all of shape (d,).

    `features`: values (numbers or text) of each of `columns`; `levels`: its categories in their order, empty for
    numbers; `group`, `y_true`, `y_pred` (0 and 1, or None), `numbers`: group and labels, and how many rows are alike.
    """

    groups: tuple[str, ...]
    columns: tuple[str, ...]
    features: tuple[NDArray[Any], ...]
    levels: tuple[tuple[str, ...], ...]
    group: NDArray[np.int64]
    y_true: NDArray[np.int64] | None
    y_pred: NDArray[np.int64] | None
    numbers: NDArray[np.int64]

    def check_stored(self) -> None:
        """Raise unless the rows that were read from a file have an entry in every column."""
        n_rows = (self.numbers.size,)
        check_length(self, "features", self.features, len(self.columns))
        check_length(self, "levels", self.levels, len(self.columns))
        for values in self.features:
            check_shape(self, "features", values, n_rows)
        for name in ("group", "y_true", "y_pred", "numbers"):
            check_shape(self, name, getattr(self, name), n_rows)
        check_positions(self, "group", self.group, len(self.groups))
        check_positions(self, "y_true", self.y_true, 2)
        check_positions(self, "y_pred", self.y_pred, 2)
        check_counts(self, "numbers", self.numbers)

    @classmethod
    def _from_frame(
        cls, features: pd.DataFrame, codes: NDArray[Any], groups: tuple[str, ...],
        y_true: NDArray[Any] | None, y_pred: NDArray[Any] | None, numbers: NDArray[np.int64] | None = None,
    ) -> Self:  # fmt: skip
        """Count the rows of a frame of features that are alike in everything; `numbers`: rows of each."""
        raw = cls._raw(features, codes, groups, y_true, y_pred, numbers)
        return raw._counted(raw._table(), groups, raw.levels)

    @classmethod
    def _order(
        cls, features: pd.DataFrame, codes: NDArray[Any], y_true: NDArray[Any], y_pred: NDArray[Any]
    ) -> NDArray[np.intp]:
        """Positions of rows in the order in which `frame` gives them, so that draws fall on the same rows."""
        raw = cls._raw(features, codes, (), y_true, y_pred, None)
        return raw._table().sort_values(raw._keys, kind="stable").index.to_numpy(dtype=np.intp)

    @classmethod
    def _raw(
        cls, features: pd.DataFrame, codes: NDArray[Any], groups: tuple[str, ...],
        y_true: NDArray[Any] | None, y_pred: NDArray[Any] | None, numbers: NDArray[np.int64] | None,
    ) -> Self:  # fmt: skip
        """The rows as they come."""
        table: dict[str, NDArray[Any]] = {}
        levels: list[tuple[str, ...]] = []
        for name, column in features.items():
            column = as_column(column, "features")
            days = dates_as_days(column)
            if days is not None or pd.api.types.is_numeric_dtype(column.dtype):
                table[str(name)] = as_float_column(column, "features") if days is None else days
                levels.append(())
            else:
                factor = factorize(column, "features")
                if factor.has_missing:
                    got, cure = f"missing values in {name!r}", 'missing="drop" leaves those rows out and counts them'
                    raise InputError("features", got=got, allowed="a value in every row", cure=cure)
                texts = [label_text(level) for level in factor.levels]
                declared = [label_text(level) for level in factor.declared]
                levels.append(tuple(declared if factor.ordered_by_user else sorted(texts)))
                table[str(name)] = _text_array(texts)[factor.codes]
        numbers = np.ones(len(features), dtype=np.int64) if numbers is None else numbers
        return cls(groups, tuple(table), tuple(table.values()), tuple(levels), codes, y_true, y_pred, numbers)

    @property
    def _keys(self) -> list[str]:
        return [*self.columns, GROUP, TRUE, PRED]

    def _counted(self, table: pd.DataFrame, groups: tuple[str, ...], levels: tuple[tuple[str, ...], ...]) -> Self:
        found = table.groupby(self._keys, as_index=False, sort=True, dropna=False, observed=True)[NUMBER].sum()

        def labels(name: str) -> NDArray[np.int64] | None:
            values = found[name].to_numpy(dtype=np.int64)
            return None if (values < 0).any() else values

        kinds = zip(self.columns, levels, strict=True)
        return replace(
            self, groups=groups,
            features=tuple(_text_array(found[c]) if own else found[c].to_numpy(np.float64) for c, own in kinds),
            levels=levels, group=found[GROUP].to_numpy(dtype=np.int64), y_true=labels(TRUE),
            y_pred=labels(PRED), numbers=found[NUMBER].to_numpy(dtype=np.int64),
        )  # fmt: skip

    def _table(self) -> pd.DataFrame:
        table: dict[str, Any] = dict(zip(self.columns, self.features, strict=True))
        table |= {GROUP: self.group, NUMBER: self.numbers}
        table[TRUE] = -1 if self.y_true is None else self.y_true
        table[PRED] = -1 if self.y_pred is None else self.y_pred
        return pd.DataFrame(table)

    def frame(self) -> pd.DataFrame:
        """Features as a frame, one row per person: numbers, and text as categories."""
        columns = {
            name: pd.Categorical(values, categories=list(own)) if own else values
            for name, values, own in zip(self.columns, self.features, self.levels, strict=True)
        }
        rows = np.repeat(np.arange(self.numbers.size), self.numbers)
        return pd.DataFrame(columns).loc[rows].reset_index(drop=True)

    def _column(self, values: NDArray[Any]) -> NDArray[Any]:
        """A column of distinct rows, one entry per person."""
        return np.repeat(values, self.numbers)

    def _regrouped(self, groups: tuple[str, ...], position: Sequence[int]) -> RowCounts:
        """Groups merged, reordered or added: group g becomes group ``position[g]`` of `groups`."""
        moved = replace(self, group=np.asarray(position, dtype=np.int64)[self.group])
        return self._counted(moved._table(), groups, self.levels)

    def __add__(self, other: RowCounts) -> RowCounts:
        """Distinct rows of two sets of rows with the same groups and columns."""
        check_summand(self, other, "groups", "columns")
        levels = tuple(tuple(sorted({*a, *b})) for a, b in zip(self.levels, other.levels, strict=True))
        table = pd.concat([self._table(), other._table()], ignore_index=True)
        return self._counted(table, self.groups, levels)
