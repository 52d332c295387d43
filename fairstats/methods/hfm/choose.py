"""Which way is cheaper, by dimension and data.

The constants are nanoseconds on one core (OpenBLAS, SciPy 1.17); what counts is their ratio, and a wrong
choice costs time, never exactness. Where a tree might pay, it is built and tried on a few rows: in many
dimensions nothing else tells data on a thin sheet, where trees are quick, from a cloud, where they are not.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from fairstats.methods.hfm.trees import TreeTargets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.methods.hfm.blocks import Targets

__all__ = ["FLAT", "cheaper_tree", "expected_comparisons"]

#: Targets that the pilot rows are compared with.
_SAMPLE = 4096
#: Rows that a tree is tried on.
_TRIAL = 32
#: In no more dimensions than this a query takes about so many nanoseconds, and needs no trial.
FLAT, _FLAT_QUERY = 3, 1_500
#: Nanoseconds below which a trial is repeated with more rows.
_QUICK = 2_000_000
#: A tree is built and tried only where blocks would take this many times as long as that.
_WORTH = 4


def _block_cost(d: int) -> float:
    """Nanoseconds per pair in a block of single precision."""
    return 2.0 + 0.03 * d


def _build_cost(n: int) -> float:
    """Nanoseconds that a tree of n rows takes to build."""
    return float(25 * n * np.log2(max(n, 2)))


def _worst_trial(n: int, d: int) -> float:
    """Nanoseconds of trying a tree that has to visit every row, at most."""
    share = min(1.0, (d / 16) ** 2)
    return 3 * share * _TRIAL * n * d


def expected_comparisons(queries: NDArray[np.float64], targets: Targets, level: float) -> float:
    """Targets that a row meets on average before one lies within L.

    Parameters
    ----------
    queries : ndarray, shape (s, d)
        Some rows.
    targets : Targets
    level : float
        L².
    """
    step = max(targets.n // _SAMPLE, 1)
    ready, norms = targets.prepare(queries, np.float32)
    block = targets.block(targets.rows[::step], np.float32, +1)
    cells = ready @ block.T
    targets.work.distances += cells.size
    share = (cells <= (level * targets.unit**2 - norms)[:, None]).mean(axis=1)
    return float(np.mean(1 / np.maximum(share, 1 / targets.n)))


def cheaper_tree(
    queries: NDArray[np.float64], targets: Targets, comparisons: float, n_left: int, *, near: bool
) -> TreeTargets | None:
    """A tree of the targets, if it is likely to settle `n_left` rows in less time than blocks of BLAS.

    Parameters
    ----------
    queries : ndarray, shape (s, d)
        A few hundred of the rows.
    targets : Targets
    comparisons : float
        Pairs per row that blocks would evaluate.
    n_left : int
    near : bool
        Whether a near target is enough, or the nearest is needed.
    """
    blocks = n_left * comparisons * _block_cost(targets.d)
    if blocks < _build_cost(targets.n) + _WORTH * _worst_trial(targets.n, targets.d):
        return None
    tree = TreeTargets(targets)
    if targets.d <= FLAT:
        return tree if n_left * _FLAT_QUERY < blocks else None
    per_row = np.inf
    for size in (_TRIAL, len(queries)):  # a quick trial is mostly the overhead of a first call: try again
        start = time.perf_counter_ns()
        (tree.near if near else tree.nearest)(queries[:size])
        taken = time.perf_counter_ns() - start
        per_row = taken / min(size, len(queries))
        if taken > _QUICK:
            break
    return tree if n_left * per_row < blocks else None
