"""All row minima: what means and quantiles of the distance need, and what they cost.

The maximum is decided by one row; a mean rests on every row. Nothing can be left out, so this takes a query
of a tree per row in few dimensions, and all pairs (in blocks of BLAS) in many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairstats.methods.hfm.blocks import Targets
from fairstats.methods.hfm.choose import cheaper_tree

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["row_minima"]

_BATCH = 128
_SEED = 3
_TRIAL = 256
#: A scan of all pairs takes this many times as long per pair as blocks that drop rows.
_DOUBLE = 1.2


def row_minima(
    queries: NDArray[np.float64], targets: Targets
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Squared distance of every query to its nearest target, and that target.

    Parameters
    ----------
    queries : ndarray of float, shape (m, d)
    targets : Targets

    Returns
    -------
    squared : ndarray of float, shape (m,)
        By direct differences.
    nearest : ndarray of int, shape (m,)
    """
    m = len(queries)
    sample = np.random.default_rng(_SEED).integers(0, m, size=_TRIAL)
    tree = cheaper_tree(queries[sample], targets, _DOUBLE * targets.n, m, near=False)
    if tree is not None:
        return tree.nearest(queries)
    squared = np.empty(m)
    nearest = np.empty(m, dtype=np.intp)
    for start in range(0, m, _BATCH):
        part = slice(start, start + _BATCH)
        squared[part], nearest[part] = targets.scan(queries[part])
    return squared, nearest
