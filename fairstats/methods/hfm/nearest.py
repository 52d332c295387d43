"""Nearest rows: by blocks of BLAS or by a k-d tree, as a fixed rule of size and dimension expects.

The rule knows numbers only (rows, dimension, pairs that blocks would evaluate, the share of the targets near
a row), never the clock, so that the way taken, and with it the time, does not depend on what else the machine
does. A wrong choice costs time, never exactness. Its constants are nanoseconds on one core (OpenBLAS, SciPy
1.17); what counts is their ratio.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from fairstats.ground.checks import Floats
from fairstats.methods.hfm.blocks import TIE, Targets, Work, squared_pairs
from fairstats.methods.hfm.rows import portions

#: In no more dimensions than this the nearest target is as quick to find as a near one.
FLAT = 3
#: A row this many times (plus one) farther than the nearest is near enough to bound the minimum.
_NEAR = 1.0
_PORTION = 1 << 17
#: Cells into which a sample of the targets is cut, and the sample.
_CUTS, _SAMPLE = 6, 2048
#: A scan of all pairs takes this many times as long per pair as blocks that drop rows.
_DOUBLE = 1.2
#: Rows of a scan, and rows by which the cost of all minima is judged.
_BATCH, _TRIAL, _SEED = 128, 16, 3
#: More dimensions than this and lists of neighbours come quicker from all pairs than from a tree.
_LISTED_BY_TREE = 6
_CELLS = 1 << 20


class TreeTargets:
    """A k-d tree of the targets."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self._tree = cKDTree(targets.rows, balanced_tree=False, compact_nodes=targets.d > FLAT)

    def near(self, queries: Floats) -> Floats:
        """Squared distance of every query to some row at most twice as far as its nearest."""
        return self._query(queries, _NEAR)[0]

    def nearest(self, queries: Floats) -> tuple[Floats, NDArray[np.intp]]:
        """Squared distance of every query to its nearest row, and that row."""
        return self._query(queries, 0.0)

    def _query(self, queries: Floats, eps: float) -> tuple[Floats, NDArray[np.intp]]:
        squared = np.empty(len(queries))
        nearest = np.empty(len(queries), dtype=np.intp)
        for part in portions(len(queries), _PORTION):
            _, nearest[part] = self._tree.query(queries[part], eps=eps)
            rows = np.arange(len(queries))[part]
            squared[part] = squared_pairs(queries, rows, self._targets.rows, nearest[part])
        self._targets.work.tree_queries += len(queries)
        return squared, nearest


def tree_is_cheaper(
    queries: Floats, squared: Floats, targets: Targets, *, pairs: float,
    n_left: int, near: bool,
) -> bool:  # fmt: skip
    """Whether a tree is expected to settle rows in less time than blocks of BLAS.

    `queries`, `squared`: a few rows, and the squared distance of each to its nearest target; `pairs` per
    row that blocks would evaluate; `n_left` rows to be settled; `near`: whether a near target is enough.

    Blocks: n_left·pairs·(2 + 0.03·d). Tree: 25·n·log₂ n to build it, and per row the smaller of 300·1.5^d
    (what uniform rows take in few dimensions) and 0.8·d per target visited, at least 3,000. A tree visits
    the cells within a row's distance: few in few dimensions, and few in any dimension where rows lie much
    nearer to their nearest target than targets to one another (near copies); nearly all of them otherwise.
    """
    n, d = targets.n, targets.d
    blocks = n_left * pairs * (2 + 0.03 * d)
    build = 25 * n * np.log2(max(n, 2))
    if blocks <= build:
        return False
    per_row = 300 * 1.5**d
    if n_left * per_row + build > blocks:
        reach = np.sqrt(squared) / (1 + _NEAR * near)
        per_row = min(per_row, max(0.8 * d * n * _share_visited(queries, reach, targets.rows), 3000))
    return bool(n_left * per_row + build < blocks)


def _share_visited(queries: Floats, reach: Floats, rows: Floats) -> float:
    """Mean share of the cells of a coarse tree that lie within a query's reach."""
    cells = [rows[:: max(len(rows) // _SAMPLE, 1)]]
    for _ in range(_CUTS):
        cells = [half for cell in cells for half in _halves(cell)]
    low, high = (np.array([end(cell, axis=0) for cell in cells]) for end in (np.min, np.max))
    q = queries[:, None, :]
    beyond = np.maximum(np.maximum(low - q, q - high), 0.0)
    return float((np.sqrt((beyond**2).sum(axis=2)) <= reach[:, None]).mean())


def _halves(cell: Floats) -> list[Floats]:
    """A cell cut at the median of its widest side."""
    if len(cell) < 2:
        return [cell]
    order = np.argsort(cell[:, np.ptp(cell, axis=0).argmax()], kind="stable")
    return [cell[order[: len(cell) // 2]], cell[order[len(cell) // 2 :]]]


def row_minima(queries: Floats, targets: Targets) -> tuple[Floats, NDArray[np.intp]]:
    """Squared distance of every query to its nearest target by direct differences, and that target.

    What means and quantiles of the distance need. The maximum is decided by one row; a mean rests on every
    row: nothing can be left out.
    """
    m = len(queries)
    if targets.d == 1:
        return nearest_on_line(queries, targets)
    sample = queries[np.random.default_rng(_SEED).integers(0, m, size=_TRIAL)]
    squared, _ = targets.scan(sample)
    if tree_is_cheaper(sample, squared, targets, pairs=_DOUBLE * targets.n, n_left=m, near=False):
        return TreeTargets(targets).nearest(queries)
    squared = np.empty(m)
    nearest = np.empty(m, dtype=np.intp)
    for part in portions(m, _BATCH):
        squared[part], nearest[part] = targets.scan(queries[part])
    return squared, nearest


def nearest_on_line(queries: Floats, targets: Targets) -> tuple[Floats, NDArray[np.intp]]:
    """`row_minima` in one dimension: the neighbours in sorted order."""
    order = np.argsort(targets.rows[:, 0])
    x, t = queries[:, 0], targets.rows[order, 0]
    above = np.searchsorted(t, x)
    below, above = np.maximum(above - 1, 0), np.minimum(above, t.size - 1)
    place = np.where(np.abs(t[below] - x) <= np.abs(t[above] - x), below, above)
    targets.work.distances += 2 * x.size
    return (t[place] - x) ** 2, order[place]


def nearest_rows(queries: Floats, targets: Floats, k: int, *, same: bool = False) -> tuple[Floats, NDArray[np.int32]]:
    """The k nearest targets of every query, nearest first: squared distances and rows, shape (m, k).

    With `same` both are the same rows, and a row is not its own neighbour.
    """
    m, n = len(queries), len(targets)
    index, squared = np.empty((m, k), dtype=np.int32), np.empty((m, k))
    if targets.shape[1] <= _LISTED_BY_TREE:
        _listed_by_tree(queries, targets, index, same)
        squared[:] = squared_pairs(queries, np.repeat(np.arange(m), k), targets, index.ravel()).reshape(m, k)
    else:
        space = Targets(targets, queries, Work())
        block = space.block(targets, np.float64, -1)
        for part in portions(m, max(_CELLS // n, 1)):
            own, at = queries[part], np.arange(len(queries[part]))
            ready, norms = space.prepare(own, np.float64)
            lower = ready @ block.T
            if same:
                lower[at, part.start + at] = np.inf
            index[part] = np.argpartition(lower, k - 1, axis=1)[:, :k] if k < n else np.arange(n)
            squared[part] = squared_pairs(own, np.repeat(at, k), targets, index[part].ravel()).reshape(-1, k)
            np.put_along_axis(lower, index[part], np.inf, axis=1)
            limit = squared[part].max(axis=1) * space.unit**2 * (1 - 10 * TIE)
            limit -= norms * (1 - space.gamma(np.float64))
            # rows far from the others leave rounding that hides who is near: then every pair is evaluated
            for row in part.start + np.flatnonzero(lower.min(axis=1) < limit):
                exact = squared_pairs(queries, np.full(n, row), targets, np.arange(n))
                if same:
                    exact[row] = np.inf
                index[row] = np.argpartition(exact, k - 1)[:k]
                squared[row] = exact[index[row]]
    order = np.argsort(squared, axis=1, kind="stable")
    return np.take_along_axis(squared, order, axis=1), np.take_along_axis(index, order, axis=1)


def _listed_by_tree(queries: Floats, targets: Floats, index: NDArray[np.int32], same: bool) -> None:
    k = index.shape[1]
    _, found = cKDTree(targets).query(queries, k=k + same)
    found = np.asarray(found).reshape(len(queries), k + same)
    if not same:
        index[:] = found
        return
    own = found == np.arange(len(queries))[:, None]
    own[~own.any(axis=1), -1] = True  # among more than k equal rows: leave out the last instead
    index[:] = found[~own].reshape(len(queries), k)
