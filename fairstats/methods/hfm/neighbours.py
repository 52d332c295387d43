"""Nearest rows of every row, once: then the distance of any two groups of these rows costs next to nothing.

Under a permutation of the labels a row's nearest row of the other group is the first of its neighbours with
another label. A row all of whose listed neighbours bear its own label is settled by the exact methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairstats.methods.hfm.blocks import Targets, Work, squared_pairs
from fairstats.methods.hfm.early_break import farthest_row
from fairstats.methods.hfm.minima import row_minima
from fairstats.methods.hfm.set_distance import Statistic, over_minima

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NeighbourLists", "nearest_rows"]

#: Neighbours per row.
_LISTED = 32
#: Neighbours that nearly always suffice.
_FIRST = 6
#: More dimensions than this and all pairs are quicker than a tree.
_FLAT = 6
_CELLS = 1 << 20


def nearest_rows(
    queries: NDArray[np.float64], targets: NDArray[np.float64], k: int, *, same: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """The k nearest targets of every query, nearest first.

    Parameters
    ----------
    queries, targets : ndarray of float, shape (m, d), (n, d)
    k : int
        At most n, or n − 1 with `same`.
    same : bool, default False
        Both are the same rows, and a row is not its own neighbour.

    Returns
    -------
    squared : ndarray of float, shape (m, k)
        Squared distances by direct differences, ascending.
    index : ndarray of int, shape (m, k)
    """
    m, n = len(queries), len(targets)
    index = np.empty((m, k), dtype=np.int32)
    if targets.shape[1] <= _FLAT:
        _listed_by_tree(queries, targets, index, same)
    else:
        space = Targets(targets, queries, Work())
        block = space.block(targets, np.float64, -1)
        step = max(_CELLS // n, 1)
        for start in range(0, m, step):
            ready, _ = space.prepare(queries[start : start + step], np.float64)
            lower = ready @ block.T
            if same:
                lower[np.arange(len(lower)), start + np.arange(len(lower))] = np.inf
            index[start : start + step] = (
                np.argpartition(lower, k - 1, axis=1)[:, :k] if k < n else np.arange(n)
            )
    rows = np.repeat(np.arange(m), k)
    squared = squared_pairs(queries, rows, targets, index.ravel()).reshape(m, k)
    order = np.argsort(squared, axis=1, kind="stable")
    return np.take_along_axis(squared, order, axis=1), np.take_along_axis(index, order, axis=1)


def _listed_by_tree(
    queries: NDArray[np.float64], targets: NDArray[np.float64], index: NDArray[np.int32], same: bool
) -> None:
    from scipy.spatial import cKDTree

    k = index.shape[1]
    _, found = cKDTree(targets).query(queries, k=k + same)
    found = np.asarray(found).reshape(len(queries), k + same)
    if not same:
        index[:] = found
        return
    own = found == np.arange(len(queries))[:, None]
    own[~own.any(axis=1), -1] = True  # among more than k equal rows: leave out the last instead
    index[:] = found[~own].reshape(len(queries), k)


class NeighbourLists:
    """Rows and the nearest of all other rows of each.

    Parameters
    ----------
    rows : ndarray of float, shape (n, d)
        At least two.
    """

    def __init__(self, rows: NDArray[np.float64]) -> None:
        self.rows = rows
        k = min(_LISTED, len(rows) - 1)
        self.squared, self.index = nearest_rows(rows, rows, k, same=True)

    def distance(
        self, in_first: NDArray[np.bool_], statistic: Statistic, present: NDArray[np.bool_] | None = None
    ) -> float:
        """Exact distance of two groups of rows.

        Parameters
        ----------
        in_first : ndarray of bool, shape (n,)
            Rows of the first group; all others form the second.
        statistic : "max", "mean" or float
        present : ndarray of bool, shape (n,), optional
            Rows of a subsample.

        Returns
        -------
        float
            NaN where a group is empty.
        """
        here = np.arange(len(self.rows)) if present is None else np.flatnonzero(present)
        n_first = int(np.count_nonzero(in_first[here]))
        if n_first in (0, here.size):
            return float("nan")
        squared = np.full(len(self.rows), np.nan)
        left = here
        for columns in (slice(0, _FIRST), slice(_FIRST, None)):
            listed = self.index[left, columns]
            if not listed.size:
                break
            other = in_first[listed] != in_first[left, None]
            if present is not None:
                other &= present[listed]
            place = other.argmax(axis=1)
            found = other[np.arange(left.size), place]
            squared[left[found]] = self.squared[left[found], place[found] + columns.start]
            left = left[~found]
        highest = self._settle(squared, left, here, in_first, statistic)
        if statistic == "max":
            return float(np.sqrt(highest))
        sides = (here[in_first[here]], here[~in_first[here]])
        return max(over_minima(np.sqrt(squared[side]), statistic) for side in sides)

    def _settle(
        self,
        squared: NDArray[np.float64],
        left: NDArray[np.intp],
        here: NDArray[np.intp],
        in_first: NDArray[np.bool_],
        statistic: Statistic,
    ) -> float:
        """Rows without a listed row of the other group: the largest minimum of all, or all their minima."""
        highest = float(np.nanmax(squared[here], initial=0.0))
        for side in (True, False):
            queries = left[in_first[left] == side]
            if queries.size:
                own = self.rows[queries]
                targets = Targets(self.rows[here[in_first[here] != side]], own, Work())
                if statistic == "max":
                    highest = farthest_row(own, targets, floor=highest).squared
                else:
                    squared[queries], _ = row_minima(own, targets)
        return highest
