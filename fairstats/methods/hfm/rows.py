"""The rows of one set, as the distances take them: finite, with labels, and which of them are equal.

Rows that occur twice, or in both sets, have distance 0, and nothing has to be computed for them. Rows are
compared through a 64-bit hash of their bits; equal hashes are verified, so that the answer is exact.
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
_CHUNK = 1 << 15


@dataclass(frozen=True, eq=False)
class Rows:
    """Numeric rows: `values`, (n, d), finite, C-contiguous; labels of rows and names of columns of a frame."""

    values: Floats
    index: Any = None
    columns: tuple[str, ...] | None = None

    def label(self, row: int) -> Hashable:
        """Label of a row: that of the frame, or its position."""
        if self.index is None:
            return row
        label = self.index[row]
        if isinstance(label, np.generic):
            label = label.item()
        return label if isinstance(label, (str, int, float, bool, tuple)) else str(label)


def as_rows(values: Any, argument: str) -> Rows:
    """Validated rows of an array or a data frame of numbers."""
    frame = as_pandas(values, argument)
    if frame is not None:
        columns = [_numeric(frame[name], argument, name) for name in frame.columns]
        array = np.column_stack(columns) if columns else np.empty((len(frame), 0))
        found = Rows(np.ascontiguousarray(array), frame.index, tuple(map(str, frame.columns)))
    else:
        found = Rows(_as_array(values, argument))
    n, d = found.values.shape
    if n == 0 or d == 0:
        got = f"{n:,} rows and {d:,} columns"
        cure = "the distance to an empty set is not defined; look at how the set was chosen"
        raise InputError(argument, got=got, allowed="at least one row and one column", cure=cure)
    bad = ~np.isfinite(found.values)
    if bad.any():
        row, column = (int(v[0]) for v in np.nonzero(bad))
        name = repr(found.columns[column]) if found.columns else str(column)
        first, cure = f"row {found.label(row)!r}, column {name}", "drop or impute those rows first, and say so"
        got = f"{int(bad.sum()):,} values that are NaN or infinite, the first in {first}"
        raise InputError(argument, got=got, allowed="finite numbers", cure=cure)
    return found


def as_pair(a: Any, b: Any) -> tuple[Rows, Rows]:
    """Two sets of rows with the same columns; those of the second frame in the order of the first."""
    first, second = as_rows(a, "a"), as_rows(b, "b")
    if first.columns is not None and second.columns is not None and first.columns != second.columns:
        apart = sorted(set(first.columns) ^ set(second.columns))
        if apart:
            got = f"other columns than a: {', '.join(map(repr, apart))} in one of them only"
            cure = "encode both from one frame, so that every category has its column in both"
            raise InputError("b", got=got, allowed="the same columns in both", cure=cure)
        order = [second.columns.index(name) for name in first.columns]
        second = Rows(np.ascontiguousarray(second.values[:, order]), second.index, first.columns)
    if first.values.shape[1] != second.values.shape[1]:
        got = f"{second.values.shape[1]} columns, a has {first.values.shape[1]}"
        raise InputError("b", got=got, allowed="the same columns in both", cure="encode both in one way")
    return first, second


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
        frame = pd.DataFrame({name: as_column(native[name].to_native(), argument) for name in native.columns})
    check_unique(frame, argument)
    return frame


def check_unique(frame: pd.DataFrame, argument: str) -> None:
    """Raise where two columns bear one name, or names have several levels."""
    check_different(argument, frame.columns)
    if frame.columns.nlevels > 1:
        got, cure = f"names of several levels: {listed(list(frame.columns))}", "frame.columns.map(str)"
        raise InputError(argument, got=got, allowed="columns with names of one level", cure=cure)


def _numeric(column: Any, argument: str, name: object) -> Floats:
    days = dates_as_days(column)
    if days is not None:
        return days
    kind = getattr(column.dtype, "kind", "O")
    if isinstance(column.dtype, pd.CategoricalDtype) or kind not in "biuf":
        got = f"a column {name!r} of type {column.dtype}"
        cure = "encode categories first: fs.hfm does it, or fairstats.methods.hfm.encoding.FrameEncoder"
        raise InputError(argument, got=got, allowed="numbers in every column", cure=cure)
    return as_float_column(column, f"{argument}[{name!r}]")


def _as_array(values: Any, argument: str) -> Floats:
    allowed = "an (n, d) array or a data frame of finite numbers"
    try:
        array = np.asarray(without_mask(values))
        if array.dtype.kind not in "biuf":
            if array.dtype.kind != "O":
                raise ValueError(f"values of type {array.dtype}")
            array = np.asarray([[as_number(v) for v in row] for row in array])
        array = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        got = f"values that are not numbers ({problem})"
        cure = "encode categories first: fs.hfm does it for the columns of a frame"
        raise InputError(argument, got=got, allowed=allowed, cure=cure) from problem
    if array.ndim != 2:
        cure = "reshape(-1, 1) for one column, reshape(1, -1) for one row"
        raise InputError(argument, got=f"an array of shape {array.shape}", allowed=allowed, cure=cure)
    return array


@dataclass(frozen=True)
class CommonRows:
    """Distinct rows of two sets, and those that both hold.

    `distinct`: the first row of every group of equal rows; `only`: those of them that the other set does not hold;
    `inverse`, shape (n,): position in the former of every row; `common`: one row of either set that are equal.
    """

    distinct_a: Indices
    distinct_b: Indices
    only_a: Indices
    only_b: Indices
    inverse_a: Indices
    inverse_b: Indices
    common: tuple[int, int] | None


def find_common_rows(a: Floats, b: Floats) -> CommonRows:
    """Distinct rows of `a` and `b`; different rows with one hash are kept: that costs time, not exactness."""
    hash_a, hash_b = _hashes(a), _hashes(b)
    together = np.sort(np.concatenate([hash_a, hash_b]))
    if not (together[1:] == together[:-1]).any():
        all_a, all_b = np.arange(len(a)), np.arange(len(b))
        return CommonRows(all_a, all_b, all_a, all_b, all_a, all_b, None)
    distinct_a, inverse_a, keys_a = _distinct(a, hash_a)
    distinct_b, inverse_b, keys_b = _distinct(b, hash_b)
    order = np.argsort(keys_b)
    sorted_b = keys_b[order]
    place = np.minimum(np.searchsorted(sorted_b, keys_a), max(sorted_b.size - 1, 0))
    maybe = np.flatnonzero(sorted_b[place] == keys_a)
    twin = order[place[maybe]]
    equal = _rows_equal(a, distinct_a[maybe], b, distinct_b[twin])
    both_a, both_b = maybe[equal], twin[equal]
    common = (int(distinct_a[both_a[0]]), int(distinct_b[both_b[0]])) if both_a.size else None
    only = np.delete(distinct_a, both_a), np.delete(distinct_b, both_b)
    return CommonRows(distinct_a, distinct_b, *only, inverse_a, inverse_b, common)


def portions(n: int, size: int) -> Iterator[slice]:
    """Slices of `size` rows that make up `n`, the last one shorter."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def _hashes(rows: Floats) -> NDArray[np.uint64]:
    """A 64-bit hash of every row: mixed bits times odd numbers, added."""
    n, d = rows.shape
    odd = np.random.default_rng(_SEED).integers(0, 2**63, size=d, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    found = np.empty(n, dtype=np.uint64)
    for part in portions(n, max(_CHUNK // d, 1)):
        bits = (rows[part] + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
        bits ^= bits >> np.uint64(32)
        bits *= odd
        bits ^= bits >> np.uint64(29)
        found[part] = (bits * odd).sum(axis=1, dtype=np.uint64)
    return found


def _distinct(rows: Floats, keys: NDArray[np.uint64]) -> tuple[Indices, Indices, NDArray[np.uint64]]:
    """First row of every group of equal rows, the group of every row, and the hash of every group."""
    n = keys.size
    order = np.argsort(keys)
    in_order = keys[order]
    new = np.append(True, in_order[1:] != in_order[:-1])
    if new.all():
        return np.arange(n), np.arange(n), keys
    starts = np.flatnonzero(new)
    first = np.minimum.reduceat(order, starts)[np.cumsum(new) - 1]  # of the group of every row, in hash order
    new[:] = first == order
    repeated = np.flatnonzero(first != order)
    new[repeated[~_rows_equal(rows, order[repeated], rows, first[repeated])]] = True
    representative = np.empty(n, dtype=np.intp)
    representative[order] = np.where(new, order, first)
    distinct = np.sort(order[new])
    return distinct, np.searchsorted(distinct, representative), keys[distinct]


def _rows_equal(a: Floats, rows_a: Indices, b: Floats, rows_b: Indices) -> Mask:
    """Whether a[rows_a[i]] equals b[rows_b[i]], a portion at a time."""
    equal = np.empty(rows_a.size, dtype=bool)
    for part in portions(rows_a.size, max(_CHUNK // a.shape[1], 1)):
        equal[part] = (a[rows_a[part]] == b[rows_b[part]]).all(axis=1)
    return equal
