"""Rows that occur twice, or in both sets: their distance is 0, and nothing has to be computed for them.

Rows are compared through a 64-bit hash of their bits; equal hashes are verified, so that the answer is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CommonRows", "find_common_rows"]

_SEED = 5
#: Numbers that are handled at a time: they fit into the cache.
_CHUNK = 1 << 15


@dataclass(frozen=True)
class CommonRows:
    """Distinct rows of two sets, and those that both hold.

    Attributes
    ----------
    distinct_a, distinct_b : ndarray of int
        The first row of every group of equal rows.
    only_a, only_b : ndarray of int
        Those of them that the other set does not hold.
    inverse_a, inverse_b : ndarray of int, shape (n,)
        Position in `distinct_a`, `distinct_b` of every row.
    common : tuple of int or None
        One row of either set that are equal.
    """

    distinct_a: NDArray[np.intp]
    distinct_b: NDArray[np.intp]
    only_a: NDArray[np.intp]
    only_b: NDArray[np.intp]
    inverse_a: NDArray[np.intp]
    inverse_b: NDArray[np.intp]
    common: tuple[int, int] | None


def find_common_rows(a: NDArray[np.float64], b: NDArray[np.float64]) -> CommonRows:
    """Distinct rows of `a` and `b` and those that both hold.

    Parameters
    ----------
    a, b : ndarray of float, shape (n, d), (m, d)
        Finite rows.

    Returns
    -------
    CommonRows
        Two different rows with one hash (about one pair of sets in 10⁷ at 10⁶ rows) are kept as distinct
        rows: that costs time, not exactness.

    Examples
    --------
    >>> import numpy as np
    >>> rows = find_common_rows(np.array([[0.0], [1.0], [0.0]]), np.array([[-0.0], [2.0]]))
    >>> rows.only_a.tolist(), rows.only_b.tolist(), rows.common
    ([1], [1], (0, 0))
    """
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
    only_a = np.ones(distinct_a.size, dtype=bool)
    only_b = np.ones(distinct_b.size, dtype=bool)
    only_a[both_a] = False
    only_b[both_b] = False
    common = (int(distinct_a[both_a[0]]), int(distinct_b[both_b[0]])) if both_a.size else None
    return CommonRows(
        distinct_a, distinct_b, distinct_a[only_a], distinct_b[only_b], inverse_a, inverse_b, common
    )


def _hashes(rows: NDArray[np.float64]) -> NDArray[np.uint64]:
    """A 64-bit hash of every row: mixed bits times odd numbers, added."""
    n, d = rows.shape
    odd = np.random.default_rng(_SEED).integers(0, 2**63, size=d, dtype=np.uint64) * np.uint64(2) + np.uint64(
        1
    )
    found = np.empty(n, dtype=np.uint64)
    step = max(_CHUNK // d, 1)
    for start in range(0, n, step):
        bits = (rows[start : start + step] + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
        bits ^= bits >> np.uint64(32)
        bits *= odd
        bits ^= bits >> np.uint64(29)
        found[start : start + step] = (bits * odd).sum(axis=1, dtype=np.uint64)
    return found


def _distinct(
    rows: NDArray[np.float64], keys: NDArray[np.uint64]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.uint64]]:
    """First row of every group of equal rows, the group of every row, and the hash of every group."""
    n = keys.size
    order = np.argsort(keys)
    in_order = keys[order]
    new = np.empty(n, dtype=bool)
    new[:1] = True
    np.not_equal(in_order[1:], in_order[:-1], out=new[1:])
    if new.all():
        everything = np.arange(n)
        return everything, everything, keys
    starts = np.flatnonzero(new)
    first = np.minimum.reduceat(order, starts)[np.cumsum(new) - 1]  # of the group of every row, in hash order
    new[:] = first == order
    repeated = np.flatnonzero(first != order)
    new[repeated[~_rows_equal(rows, order[repeated], rows, first[repeated])]] = True
    representative = np.empty(n, dtype=np.intp)
    representative[order] = np.where(new, order, first)
    distinct = np.sort(order[new])
    return distinct, np.searchsorted(distinct, representative), keys[distinct]


def _rows_equal(
    a: NDArray[np.float64], rows_a: NDArray[np.intp], b: NDArray[np.float64], rows_b: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Whether a[rows_a[i]] equals b[rows_b[i]], a portion at a time."""
    equal = np.empty(rows_a.size, dtype=bool)
    step = max(_CHUNK // a.shape[1], 1)
    for start in range(0, rows_a.size, step):
        part = slice(start, start + step)
        equal[part] = (a[rows_a[part]] == b[rows_b[part]]).all(axis=1)
    return equal
