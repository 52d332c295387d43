"""A k-d tree of targets, and whether it settles rows in less time than blocks of BLAS."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial import cKDTree

from fairstats.ground.checks import Floats
from fairstats.methods.hfm.blocks import Targets, squared_pairs
from fairstats.methods.hfm.rows import Indices, portions

#: In no more dimensions than this the nearest target is as quick to find as a near one.
FLAT = 3
#: A row this many times (plus one) farther than the nearest is near enough to bound the minimum.
NEAR_FACTOR = 1.0
#: Rows that are put to a tree at a time.
_PORTION = 1 << 17
#: Cells into which a sample of the targets is cut, and the sample.
_CUTS_OF_SAMPLE = 6
_SAMPLE_SIZE = 2048
#: So many targets and their tree fit into the cache: a query takes half the time. A smaller sample
#: then says how much of it is visited.
SMALL_TREE = 10_000
_SMALL_SAMPLE = 256


class TreeTargets:
    """A k-d tree of the targets."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self._tree = cKDTree(targets.rows, balanced_tree=False, compact_nodes=targets.d > FLAT)

    def nearest(self, queries: Floats, eps: float = 0.0) -> tuple[Floats, Indices]:
        """Squared distance of every query to its nearest row, or to one at most 1 + eps times as
        far; that row.
        """
        squared = np.empty(len(queries))
        nearest = np.empty(len(queries), dtype=np.intp)
        order = in_clumps(queries)
        for portion in portions(len(queries), _PORTION):
            row_numbers = order[portion]
            _, found = self._tree.query(queries.take(row_numbers, axis=0), eps=eps)
            nearest[row_numbers] = found
            squared[row_numbers] = squared_pairs(queries, row_numbers, self._targets.rows, found)
        self._targets.work.tree_queries += len(queries)
        return squared, nearest


def tree_is_cheaper(
    share_visited: Callable[[], float],
    targets: Targets,
    *,
    pairs: float,
    n_left: int,
    pair_cost: float | None = None,
) -> bool:
    """Whether a tree is expected to settle rows in less time than blocks of BLAS.

    `share_visited`: asked for the share of the targets that a row visits, where that counts;
    `pairs` per row that blocks would evaluate; `n_left` rows to be settled; `pair_cost`:
    nanoseconds a pair takes, by default in blocks.

    Blocks: n_left·pairs·(2 + 0.03·d). Tree: 25·n·log₂ n to build it, and per row the smaller of
    300·1.5^d (what uniform rows take in few dimensions) and 0.8·d per target visited, at least
    3,000; half of the first, and n/8, where the tree is small. A tree visits the cells within a
    row's distance: few in few dimensions, and in any where rows are near copies of targets; nearly
    all of them otherwise.
    """
    n_targets = targets.n
    n_dimensions = targets.d
    if pair_cost is None:
        pair_cost = 2 + 0.03 * n_dimensions
    blocks_cost = n_left * pairs * pair_cost
    build_cost = 25 * n_targets * np.log2(max(n_targets, 2))
    if blocks_cost <= build_cost:
        return False
    cost_per_row = (150 if n_targets <= SMALL_TREE else 300) * 1.5**n_dimensions
    if n_left * cost_per_row + build_cost > blocks_cost:
        cost_per_row = min(
            cost_per_row,
            max(0.8 * n_dimensions * n_targets * share_visited(), min(3000, n_targets / 8)),
        )
    return bool(n_left * cost_per_row + build_cost < blocks_cost)


def reaches_of(squared: Floats, *, near: bool) -> Floats:
    """How far rows look, of the squared distances to their nearest targets; `near`: whether a near
    target is enough.
    """
    return np.sqrt(squared) / (1 + NEAR_FACTOR * near)


def share_visited_of(queries: Floats, reaches: Floats, rows: Floats) -> float:
    """Mean share of the cells of a coarse tree that lie within a query's reach."""
    small = len(rows) <= SMALL_TREE
    tree_cells = rows[:: max(len(rows) // (_SMALL_SAMPLE if small else _SAMPLE_SIZE), 1)][None]
    for _ in range(_CUTS_OF_SAMPLE - small):
        if tree_cells.shape[1] < 2:
            break
        tree_cells = _cut_in_halves(tree_cells)
    lower_corners = tree_cells.min(axis=1)
    upper_corners = tree_cells.max(axis=1)
    query_rows = queries[:, None, :]
    beyond = np.maximum(np.maximum(lower_corners - query_rows, query_rows - upper_corners), 0.0)
    return float((np.sqrt((beyond**2).sum(axis=2)) <= reaches[:, None]).mean())


def _cut_in_halves(tree_cells: Floats) -> Floats:
    """Every cell cut at the median of its widest side, (cells, rows, d) → (2·cells, rows/2, d).

    Of an odd number of rows the last one is left out.
    """
    n_cells, n_rows, n_dimensions = tree_cells.shape
    widest = np.ptp(tree_cells, axis=1).argmax(axis=1)
    along_widest = tree_cells[np.arange(n_cells), :, widest]
    half = n_rows // 2
    order = np.argsort(along_widest, axis=1)[:, : 2 * half]
    in_order = tree_cells[np.arange(n_cells)[:, None], order]
    return in_order.reshape(2 * n_cells, half, n_dimensions)


def in_clumps(rows: Floats) -> Indices:
    """An order of rows in which those that lie together stand together."""
    if len(rows) <= SMALL_TREE:
        return np.arange(len(rows))
    return np.asarray(cKDTree(rows, balanced_tree=False, compact_nodes=False).indices)
