"""Nearest rows by SciPy's k-d tree: the best there is in few dimensions, hopeless in many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairstats.methods.hfm.blocks import Targets, squared_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TreeTargets"]

#: A row this many times (plus one) farther than the nearest is near enough to bound the minimum.
_NEAR = 1.0
_PORTION = 1 << 17


class TreeTargets:
    """A k-d tree of the targets.

    Parameters
    ----------
    targets : Targets
    """

    def __init__(self, targets: Targets) -> None:
        from scipy.spatial import cKDTree

        self._targets = targets
        self._tree = cKDTree(targets.rows, balanced_tree=False, compact_nodes=targets.d > 3)

    def near(self, queries: NDArray[np.float64]) -> NDArray[np.float64]:
        """Squared distance of every query to some row at most twice as far as its nearest."""
        return self._query(queries, _NEAR)[0]

    def nearest(self, queries: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Squared distance of every query to its nearest row, and that row."""
        return self._query(queries, 0.0)

    def _query(
        self, queries: NDArray[np.float64], eps: float
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        squared = np.empty(len(queries))
        nearest = np.empty(len(queries), dtype=np.intp)
        for start in range(0, len(queries), _PORTION):
            part = slice(start, start + _PORTION)
            _, nearest[part] = self._tree.query(queries[part], eps=eps)
            rows = np.arange(len(queries))[part]
            squared[part] = squared_pairs(queries, rows, self._targets.rows, nearest[part])
        self._targets.work.tree_queries += len(queries)
        return squared, nearest
