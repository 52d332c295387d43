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
from fairstats.ground.stored import (
    check_amounts,
    check_counts,
    check_length,
    check_positions,
    check_shape,
)
from fairstats.ground.values import factorize, label_text

#: Groups of up to this size are kept whole; of larger ones this share: the largest default of a
#: tail, and the CVaR's.
LEAST_KEPT = 1_000
KEPT_SHARE = 0.05


@serialisable(eq=False)
class TailCounts:
    """Sums and largest values of one variable per group.

    `n`, `total`, `squares`, shape (G,): rows, Σx and Σx²; `largest`: the largest distinct values of
    every group in descending order, and `numbers` of rows with each; `complete`: the value from
    which on they are all there.
    """

    groups: tuple[str, ...]
    n: NDArray[np.int64]
    total: NDArray[np.float64]
    squares: NDArray[np.float64]
    largest: tuple[NDArray[np.float64], ...]
    numbers: tuple[NDArray[np.int64], ...]
    complete: tuple[float, ...]

    def check_stored(self) -> None:
        """Raise unless what was read from a file has its sums, values and numbers for every
        group.
        """
        n_groups = len(self.groups)
        for field_name in ("n", "total", "squares"):
            check_shape(self, field_name, getattr(self, field_name), (n_groups,))
        for field_name in ("largest", "numbers", "complete"):
            check_length(self, field_name, getattr(self, field_name), n_groups)
        check_counts(self, "n", self.n)
        check_amounts(self, "squares", self.squares)
        check_amounts(self, "total", self.total, least=-LARGEST)
        for values, numbers in zip(self.largest, self.numbers, strict=True):
            check_shape(self, "numbers", numbers, values.shape)
            check_amounts(self, "largest", values, least=-LARGEST)
            check_counts(self, "numbers", numbers)

    @classmethod
    def _from_values(
        cls,
        values: Floats,
        codes: NDArray[Any],
        groups: tuple[str, ...],
        *,
        n_exceedances: int = 50,
    ) -> Self:
        """Sums of rows in the groups `codes`, and of each `number_kept` largest values."""
        values_by_group = [values[codes == group_index] for group_index in range(len(groups))]
        rows_per_group = np.array(
            [group_values.size for group_values in values_by_group], dtype=np.int64
        )
        group_sums = np.array([group_values.sum() for group_values in values_by_group])
        squares = np.array([np.square(group_values).sum() for group_values in values_by_group])
        return cls(
            groups,
            rows_per_group,
            group_sums,
            squares,
            *zip(
                *(_keep_largest(group_values, n_exceedances) for group_values in values_by_group),
                strict=True,
            ),
        )

    def _largest_ascending(self, group: int) -> Floats:
        """The values kept of a group, with their ties, in ascending order."""
        return np.repeat(self.largest[group], self.numbers[group])[::-1]

    def _with_new_groups(self, groups: tuple[str, ...], position: Sequence[int]) -> TailCounts:
        """Groups merged, reordered or added: group g becomes group ``position[g]`` of `groups`."""
        members = []
        for new_group in range(len(groups)):
            members.append(
                [
                    old_group
                    for old_group, new_place in enumerate(position)
                    if new_place == new_group
                ]
            )
        merged_arrays: Any = (self.n, self.total, self.squares)
        merged_arrays = (
            np.array(
                [old_array[group_members].sum() for group_members in members], dtype=old_array.dtype
            )
            for old_array in merged_arrays
        )
        return TailCounts(
            groups, *merged_arrays, *zip(*map(self._merge_groups, members), strict=True)
        )

    def _merge_groups(self, members: list[int]) -> tuple[Floats, NDArray[np.int64], float]:
        """What is known of several groups together: from the highest of their ends upwards."""
        complete = max((self.complete[member_group] for member_group in members), default=-np.inf)
        values = np.concatenate(
            [np.zeros(0), *(self.largest[member_group] for member_group in members)]
        )
        numbers = np.concatenate(
            [np.zeros(0, dtype=np.int64), *(self.numbers[member_group] for member_group in members)]
        )
        is_complete = values >= complete
        distinct, value_codes = np.unique(values[is_complete], return_inverse=True)
        joined = np.bincount(value_codes, numbers[is_complete], distinct.size).astype(np.int64)
        return distinct[::-1], joined[::-1], complete

    def __add__(self, other: TailCounts) -> TailCounts:
        """Those of two sets of rows with the same groups.

        Values that one side may lack are let go.
        """
        check_summand(self, other, "groups")
        array_pairs: Any = zip(vars(self).values(), vars(other).values(), strict=True)
        joined_arrays: Any = (
            (*own_array, *other_array)
            if isinstance(own_array, tuple)
            else np.concatenate([own_array, other_array])
            for own_array, other_array in array_pairs
        )
        return TailCounts(*joined_arrays)._with_new_groups(
            self.groups, [*range(len(self.groups))] * 2
        )


def number_kept(n: int, n_exceedances: int = 50) -> int:
    """Largest values that are kept of n: 2k + 1 at least, k exceedances, and a twentieth.

    Small groups whole.
    """
    return max(LEAST_KEPT, 2 * n_exceedances + 1, int(np.ceil(KEPT_SHARE * n)) + 1)


def _keep_largest(values: Floats, n_exceedances: int) -> tuple[Floats, NDArray[np.int64], float]:
    """Distinct largest values in descending order, their numbers, and from where on they are
    all.
    """
    n_kept = number_kept(values.size, n_exceedances)
    complete = -np.inf
    if n_kept < values.size:
        complete = float(np.partition(values, values.size - n_kept)[values.size - n_kept])
    distinct, numbers = np.unique(values[values >= complete], return_counts=True)
    return distinct[::-1], numbers[::-1].astype(np.int64), complete


#: Units of NumPy's dates and durations in a day.
_PER_DAY = {"D": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def dates_as_days(values: Any) -> Floats | None:
    """Dates, times and durations of any frame as days (since 1970), NaN where missing.

    None for others.
    """
    # plain numbers, without a Series
    if getattr(getattr(values, "dtype", None), "kind", "O") in "biuf":
        return None
    column = pd.Series(values)
    dtype_kind = getattr(column.dtype, "kind", "O")
    if isinstance(column.dtype, pd.CategoricalDtype) or dtype_kind not in "MmO":
        return None
    if dtype_kind == "O":
        inferred = pd.api.types.infer_dtype(column, skipna=True)
        if inferred not in ("date", "datetime", "datetime64", "timedelta", "timedelta64", "period"):
            return None
        if isinstance(column.dtype, pd.PeriodDtype):
            return _in_days(column.dt.start_time.to_numpy())
        factor = factorize(column, "features")
        days = np.array([*map(_as_days, factor.levels), np.nan])
        return np.asarray(days[factor.codes])
    if dtype_kind == "M" and column.dt.tz is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return _in_days(column.to_numpy(f"{dtype_kind}8[{getattr(column.dt, 'unit', 'ns')}]"))


def _in_days(moments: NDArray[Any]) -> Floats:
    """NumPy's dates or durations in days.

    Of any year, since it is their whole numbers that are divided.
    """
    time_unit = np.datetime_data(moments.dtype)[0]
    if time_unit not in _PER_DAY:
        time_unit = "s"
    whole_units = moments.astype(f"{moments.dtype.kind}8[{time_unit}]")
    days, remainder = np.divmod(whole_units.view(np.int64), _PER_DAY[time_unit])
    return np.where(np.isnat(whole_units), np.nan, days + remainder / _PER_DAY[time_unit])


def _as_days(value: Any) -> float:
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
    if any(each_text.endswith("\0") for each_text in objects):
        return objects
    return objects.astype(np.str_)


#: Columns of the table that are no features.
GROUP = "__group__"
TRUE = "__y_true__"
PRED = "__y_pred__"
NUMBER = "__number__"


@serialisable(eq=False)
class RowCounts:
    """Distinct rows, raw: scaled and encoded where a distance is computed; all of shape (d,).

    `features`: values (numbers or text) of each of `columns`; `levels`: its categories in their
    order, empty for numbers; `group`, `y_true`, `y_pred` (0 and 1, or None), `numbers`: group and
    labels, and how many rows are alike.
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
        for field_name in ("group", "y_true", "y_pred", "numbers"):
            check_shape(self, field_name, getattr(self, field_name), n_rows)
        check_positions(self, "group", self.group, len(self.groups))
        check_positions(self, "y_true", self.y_true, 2)
        check_positions(self, "y_pred", self.y_pred, 2)
        check_counts(self, "numbers", self.numbers)

    @classmethod
    def _from_frame(
        cls,
        features: pd.DataFrame,
        codes: NDArray[Any],
        groups: tuple[str, ...],
        y_true: NDArray[Any] | None,
        y_pred: NDArray[Any] | None,
        numbers: NDArray[np.int64] | None = None,
    ) -> Self:
        """Count the rows of a frame of features that are alike in everything; `numbers`: rows of
        each.
        """
        uncounted_rows = cls._raw(features, codes, groups, y_true, y_pred, numbers)
        return uncounted_rows._count_distinct(
            uncounted_rows._table(), groups, uncounted_rows.levels
        )

    @classmethod
    def _order(
        cls,
        features: pd.DataFrame,
        codes: NDArray[Any],
        y_true: NDArray[Any],
        y_pred: NDArray[Any],
    ) -> NDArray[np.intp]:
        """Positions of rows in the order in which `frame` gives them, so that draws fall on the
        same rows.
        """
        uncounted_rows = cls._raw(features, codes, (), y_true, y_pred, None)
        return (
            uncounted_rows._table()
            .sort_values(uncounted_rows._key_columns, kind="stable")
            .index.to_numpy(dtype=np.intp)
        )

    @classmethod
    def _raw(
        cls,
        features: pd.DataFrame,
        codes: NDArray[Any],
        groups: tuple[str, ...],
        y_true: NDArray[Any] | None,
        y_pred: NDArray[Any] | None,
        numbers: NDArray[np.int64] | None,
    ) -> Self:
        """The rows as they come."""
        table: dict[str, NDArray[Any]] = {}
        levels: list[tuple[str, ...]] = []
        for feature_name, column in features.items():
            column = as_column(column, "features")
            days = dates_as_days(column)
            if days is not None or pd.api.types.is_numeric_dtype(column.dtype):
                table[str(feature_name)] = (
                    as_float_column(column, "features") if days is None else days
                )
                levels.append(())
            else:
                factor = factorize(column, "features")
                if factor.has_missing:
                    received = f"missing values in {feature_name!r}"
                    advice = 'missing="drop" leaves those rows out and counts them'
                    raise InputError(
                        "features",
                        got=received,
                        allowed="a value in every row",
                        cure=advice,
                    )
                texts = [label_text(level) for level in factor.levels]
                declared_texts = [label_text(level) for level in factor.declared]
                levels.append(tuple(declared_texts if factor.ordered_by_user else sorted(texts)))
                table[str(feature_name)] = _text_array(texts)[factor.codes]
        if numbers is None:
            numbers = np.ones(len(features), dtype=np.int64)
        return cls(
            groups,
            tuple(table),
            tuple(table.values()),
            tuple(levels),
            codes,
            y_true,
            y_pred,
            numbers,
        )

    @property
    def _key_columns(self) -> list[str]:
        return [*self.columns, GROUP, TRUE, PRED]

    def _count_distinct(
        self,
        table: pd.DataFrame,
        groups: tuple[str, ...],
        levels: tuple[tuple[str, ...], ...],
    ) -> Self:
        """Rows that are alike become one, with their number."""
        distinct_rows = table.groupby(
            self._key_columns,
            as_index=False,
            sort=True,
            dropna=False,
            observed=True,
        )[NUMBER].sum()

        def labels(name: str) -> NDArray[np.int64] | None:
            values = distinct_rows[name].to_numpy(dtype=np.int64)
            return None if (values < 0).any() else values

        column_orders = zip(self.columns, levels, strict=True)
        return replace(
            self,
            groups=groups,
            features=tuple(
                _text_array(distinct_rows[feature_name])
                if column_levels
                else distinct_rows[feature_name].to_numpy(np.float64)
                for feature_name, column_levels in column_orders
            ),
            levels=levels,
            group=distinct_rows[GROUP].to_numpy(dtype=np.int64),
            y_true=labels(TRUE),
            y_pred=labels(PRED),
            numbers=distinct_rows[NUMBER].to_numpy(dtype=np.int64),
        )

    def _table(self) -> pd.DataFrame:
        table: dict[str, Any] = dict(zip(self.columns, self.features, strict=True))
        table |= {GROUP: self.group, NUMBER: self.numbers}
        table[TRUE] = -1 if self.y_true is None else self.y_true
        table[PRED] = -1 if self.y_pred is None else self.y_pred
        return pd.DataFrame(table)

    def frame(self) -> pd.DataFrame:
        """Features as a frame, one row per person: numbers, and text as categories."""
        columns = {}
        for feature_name, values, column_levels in zip(
            self.columns, self.features, self.levels, strict=True
        ):
            columns[feature_name] = (
                pd.Categorical(values, categories=list(column_levels)) if column_levels else values
            )
        row_positions = np.repeat(np.arange(self.numbers.size), self.numbers)
        return pd.DataFrame(columns).loc[row_positions].reset_index(drop=True)

    def _repeat_per_person(self, values: NDArray[Any]) -> NDArray[Any]:
        """A column of distinct rows, one entry per person."""
        return np.repeat(values, self.numbers)

    def _with_new_groups(self, groups: tuple[str, ...], position: Sequence[int]) -> RowCounts:
        """Groups merged, reordered or added: group g becomes group ``position[g]`` of `groups`."""
        moved_rows = replace(self, group=np.asarray(position, dtype=np.int64)[self.group])
        return self._count_distinct(moved_rows._table(), groups, self.levels)

    def __add__(self, other: RowCounts) -> RowCounts:
        """Distinct rows of two sets of rows with the same groups and columns."""
        check_summand(self, other, "groups", "columns")
        levels = tuple(
            tuple(sorted({*own_levels, *other_levels}))
            for own_levels, other_levels in zip(self.levels, other.levels, strict=True)
        )
        table = pd.concat([self._table(), other._table()], ignore_index=True)
        return self._count_distinct(table, self.groups, levels)
