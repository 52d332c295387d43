"""The rows of one set, as the distances take them.

Finite, with labels, and which of them are equal.

Rows that occur twice, or in both sets, have distance 0, and nothing has to be computed for them.
Rows are compared through a 64-bit hash of their bits; equal hashes are verified, so that the answer
is exact.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, as_number, check_different, listed
from fairstats.ground.encoding import as_column, as_float_column, as_narwhals, without_mask
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import pd
from fairstats.ground.parts import dates_as_days

#: Positions of rows, and whether each is one of a set.
Indices: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]

_SEED = 5
#: Numbers that are handled at a time: they fit into the cache.
_NUMBERS_AT_ONCE = 1 << 15


@dataclass(frozen=True, eq=False)
class Rows:
    """Numeric rows: `values`, (n, d), finite, C-contiguous.

    Labels of rows and names of columns of a frame.
    """

    values: Floats
    index: Any = None
    columns: tuple[str, ...] | None = None

    def label(self, row: int) -> Hashable:
        """Label of a row: that of the frame, or its position."""
        if self.index is None:
            return row
        row_label = self.index[row]
        if isinstance(row_label, np.generic):
            row_label = row_label.item()
        if isinstance(row_label, (str, int, float, bool, tuple)):
            return row_label
        return str(row_label)


def as_rows(values: Any, argument: str) -> Rows:
    """Validated rows of an array or a data frame of numbers."""
    frame = as_pandas(values, argument)
    if frame is not None:
        columns = [
            _numeric_column(frame[column_name], argument, column_name)
            for column_name in frame.columns
        ]
        if columns:
            numbers = np.column_stack(columns)
        else:
            numbers = np.empty((len(frame), 0))
        numeric_rows = Rows(
            np.ascontiguousarray(numbers), frame.index, tuple(map(str, frame.columns))
        )
    else:
        numeric_rows = Rows(_as_array(values, argument))
    n_rows, n_columns = numeric_rows.values.shape
    if n_rows == 0 or n_columns == 0:
        received = f"{n_rows:,} rows and {n_columns:,} columns"
        suggestion = "the distance to an empty set is not defined; look at how the set was chosen"
        raise InputError(
            argument,
            got=received,
            allowed="at least one row and one column",
            cure=suggestion,
        )
    not_finite = ~np.isfinite(numeric_rows.values)
    if not_finite.any():
        row_number, column = (int(positions[0]) for positions in np.nonzero(not_finite))
        if numeric_rows.columns:
            column_name = repr(numeric_rows.columns[column])
        else:
            column_name = str(column)
        first_place = f"row {numeric_rows.label(row_number)!r}, column {column_name}"
        suggestion = "drop or impute those rows first, and say so"
        received = (
            f"{int(not_finite.sum()):,} values that are NaN or infinite, the first in {first_place}"
        )
        raise InputError(argument, got=received, allowed="finite numbers", cure=suggestion)
    return numeric_rows


def as_pair(a: Any, b: Any) -> tuple[Rows, Rows]:
    """Two sets of rows with the same columns.

    Those of the second frame in the order of the first.
    """
    first_rows = as_rows(a, "a")
    second_rows = as_rows(b, "b")
    if (
        first_rows.columns is not None
        and second_rows.columns is not None
        and first_rows.columns != second_rows.columns
    ):
        unshared_columns = sorted(set(first_rows.columns) ^ set(second_rows.columns))
        if unshared_columns:
            received = f"other columns than a: {', '.join(map(repr, unshared_columns))} in one of them only"
            suggestion = "encode both from one frame, so that every category has its column in both"
            raise InputError("b", got=received, allowed="the same columns in both", cure=suggestion)
        column_order = []
        for column_name in first_rows.columns:
            column_order.append(second_rows.columns.index(column_name))
        second_rows = Rows(
            np.ascontiguousarray(second_rows.values[:, column_order]),
            second_rows.index,
            first_rows.columns,
        )
    if first_rows.values.shape[1] != second_rows.values.shape[1]:
        received = f"{second_rows.values.shape[1]} columns, a has {first_rows.values.shape[1]}"
        raise InputError(
            "b",
            got=received,
            allowed="the same columns in both",
            cure="encode both in one way",
        )
    return first_rows, second_rows


def as_pandas(values: Any, argument: str) -> pd.DataFrame | None:
    """A data frame of any kind as pandas; None for anything else."""
    if isinstance(values, (np.ndarray, list, tuple)):
        return None
    if isinstance(values, pd.DataFrame):
        frame = values
    else:
        native = as_narwhals(values)
        if not isinstance(native, nw.DataFrame):
            return None
        frame = pd.DataFrame(
            {
                column_name: as_column(native[column_name].to_native(), argument)
                for column_name in native.columns
            }
        )
    check_unique(frame, argument)
    return frame


def check_unique(frame: pd.DataFrame, argument: str) -> None:
    """Raise where two columns bear one name, or names have several levels."""
    check_different(argument, frame.columns)
    if frame.columns.nlevels > 1:
        received = f"names of several levels: {listed(list(frame.columns))}"
        suggestion = "frame.columns.map(str)"
        raise InputError(
            argument,
            got=received,
            allowed="columns with names of one level",
            cure=suggestion,
        )


def _numeric_column(column: Any, argument: str, column_name: object) -> Floats:
    date_numbers = dates_as_days(column)
    if date_numbers is not None:
        return date_numbers
    type_kind = getattr(column.dtype, "kind", "O")
    if isinstance(column.dtype, pd.CategoricalDtype) or type_kind not in "biuf":
        received = f"a column {column_name!r} of type {column.dtype}"
        suggestion = (
            "encode categories first: fs.hfm does it, or"
            " fairstats.methods.hfm.encoding.FrameEncoder"
        )
        raise InputError(argument, got=received, allowed="numbers in every column", cure=suggestion)
    return as_float_column(column, f"{argument}[{column_name!r}]")


def _as_array(values: Any, argument: str) -> Floats:
    allowed = "an (n, d) array or a data frame of finite numbers"
    try:
        numbers = np.asarray(without_mask(values))
        if numbers.dtype.kind not in "biuf":
            if numbers.dtype.kind != "O":
                raise ValueError(f"values of type {numbers.dtype}")
            numbers = np.asarray(
                [[as_number(value) for value in value_row] for value_row in numbers]
            )
        numbers = np.ascontiguousarray(numbers, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        received = f"values that are not numbers ({problem})"
        suggestion = "encode categories first: fs.hfm does it for the columns of a frame"
        raise InputError(argument, got=received, allowed=allowed, cure=suggestion) from problem
    if numbers.ndim != 2:
        suggestion = "reshape(-1, 1) for one column, reshape(1, -1) for one row"
        raise InputError(
            argument,
            got=f"an array of shape {numbers.shape}",
            allowed=allowed,
            cure=suggestion,
        )
    return numbers


@dataclass(frozen=True)
class CommonRows:
    """Distinct rows of two sets, and those that both hold.

    `distinct`: the first row of every group of equal rows; `only`: those of them that the other set
    does not hold; `inverse`, shape (n,): position in the former of every row; `common`: one row of
    either set that are equal.
    """

    distinct_a: Indices
    distinct_b: Indices
    only_a: Indices
    only_b: Indices
    inverse_a: Indices
    inverse_b: Indices
    common: tuple[int, int] | None


def find_common_rows(a: Floats, b: Floats) -> CommonRows:
    """Distinct rows of `a` and `b`; different rows with one hash are kept.

    That costs time, not exactness.
    """
    hash_a = _row_hashes(a)
    hash_b = _row_hashes(b)
    together = np.sort(np.concatenate([hash_a, hash_b]))
    if not (together[1:] == together[:-1]).any():
        all_rows_a = np.arange(len(a))
        all_rows_b = np.arange(len(b))
        return CommonRows(
            distinct_a=all_rows_a,
            distinct_b=all_rows_b,
            only_a=all_rows_a,
            only_b=all_rows_b,
            inverse_a=all_rows_a,
            inverse_b=all_rows_b,
            common=None,
        )
    distinct_a, inverse_a, keys_a = _distinct_rows(a, hash_a)
    distinct_b, inverse_b, keys_b = _distinct_rows(b, hash_b)
    sorted_order = np.argsort(keys_b)
    sorted_b = keys_b[sorted_order]
    hash_places = np.minimum(np.searchsorted(sorted_b, keys_a), max(sorted_b.size - 1, 0))
    maybe_common = np.flatnonzero(sorted_b[hash_places] == keys_a)
    twins = sorted_order[hash_places[maybe_common]]
    are_equal = _rows_equal(a, distinct_a[maybe_common], b, distinct_b[twins])
    both_a = maybe_common[are_equal]
    both_b = twins[are_equal]
    if both_a.size:
        common = (int(distinct_a[both_a[0]]), int(distinct_b[both_b[0]]))
    else:
        common = None
    only_in_one = np.delete(distinct_a, both_a), np.delete(distinct_b, both_b)
    return CommonRows(distinct_a, distinct_b, *only_in_one, inverse_a, inverse_b, common)


def portions(n: int, size: int) -> Iterator[slice]:
    """Slices of `size` rows that make up `n`, the last one shorter."""
    return (slice(first_row, min(first_row + size, n)) for first_row in range(0, n, size))


def _row_hashes(rows: Floats) -> NDArray[np.uint64]:
    """A 64-bit hash of every row: mixed bits times odd numbers, added."""
    n_rows, n_columns = rows.shape
    odd_factors = np.random.default_rng(_SEED).integers(
        0, 2**63, size=n_columns, dtype=np.uint64
    ) * np.uint64(2) + np.uint64(1)
    hashes = np.empty(n_rows, dtype=np.uint64)
    for portion in portions(n_rows, max(_NUMBERS_AT_ONCE // n_columns, 1)):
        row_bits = (rows[portion] + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
        row_bits ^= row_bits >> np.uint64(32)
        row_bits *= odd_factors
        row_bits ^= row_bits >> np.uint64(29)
        hashes[portion] = (row_bits * odd_factors).sum(axis=1, dtype=np.uint64)
    return hashes


def _distinct_rows(
    rows: Floats, keys: NDArray[np.uint64]
) -> tuple[Indices, Indices, NDArray[np.uint64]]:
    """First row of every group of equal rows, the group of every row, and the hash of every
    group.
    """
    n_rows = keys.size
    sorted_order = np.argsort(keys)
    in_order = keys[sorted_order]
    starts_group = np.append(True, in_order[1:] != in_order[:-1])
    if starts_group.all():
        return np.arange(n_rows), np.arange(n_rows), keys
    starts = np.flatnonzero(starts_group)
    first_of_group = np.minimum.reduceat(sorted_order, starts)[
        np.cumsum(starts_group) - 1
    ]  # of the group of every row, in hash order
    starts_group[:] = first_of_group == sorted_order
    repeated = np.flatnonzero(first_of_group != sorted_order)
    starts_group[
        repeated[~_rows_equal(rows, sorted_order[repeated], rows, first_of_group[repeated])]
    ] = True
    representative = np.empty(n_rows, dtype=np.intp)
    representative[sorted_order] = np.where(starts_group, sorted_order, first_of_group)
    distinct = np.sort(sorted_order[starts_group])
    return distinct, np.searchsorted(distinct, representative), keys[distinct]


def _rows_equal(a: Floats, rows_a: Indices, b: Floats, rows_b: Indices) -> Mask:
    """Whether a[rows_a[i]] equals b[rows_b[i]], a portion at a time."""
    are_equal = np.empty(rows_a.size, dtype=bool)
    for portion in portions(rows_a.size, max(_NUMBERS_AT_ONCE // a.shape[1], 1)):
        are_equal[portion] = (a[rows_a[portion]] == b[rows_b[portion]]).all(axis=1)
    return are_equal
