"""Nearest rows, by blocks of BLAS or by a k-d tree, and the row that is farthest from its nearest.

The directed distance max_q min_t |q − t| is the minimum of *one* row. Once some row is known to have a minimum of L,
every row with any target within L is out of the race. So:

1. a few rows are scanned exactly: L, and the targets that are nearest to them;
2. all rows meet those targets first (in hubs of the data, they are near to most rows);
3. the rows that are left with the largest upper bounds are scanned: L rises;
4. where many are left, rows that both sets hold are looked for: their minimum is 0;
5. what is still left goes through the other targets in blocks, or through a tree.

A row is dropped only if a target within L is certain, and L comes from exact scans only. Blocks or tree is a fixed rule
of numbers (rows, dimension, pairs, share of the targets near a row), never of the clock, so that the way taken does not
depend on what else the machine does; a wrong choice costs time, never exactness. Its constants are nanoseconds on one
core (OpenBLAS, SciPy 1.17); what counts is their ratio.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from fairstats.ground.checks import Floats
from fairstats.methods.hfm.blocks import TIE, Targets, Work, squared_pairs
from fairstats.methods.hfm.rows import Indices, portions

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
#: Rows that are scanned first: at random, and far from the centre.
_PILOT, _FAR = 8, 8
#: Targets that all rows meet first; rows among which the far ones are sought; targets for the pilot rows.
_HUBS, _SOME, _LOOKED_AT = 32, 1024, 4096
#: Most rounds of scanning the rows with the largest upper bounds, and rows of one scan.
_ROUNDS, _SCANNED = 8, 16
#: Fewer rows are scanned at once; with more it is worth looking for those that both sets hold.
_FEW, _MANY = 48, 4_000
#: Fewer pairs than this are all evaluated.
_SMALL = 200_000
#: Cells of one block of the filter.
_FILTERED, _BLOCK = 1 << 19, 256
#: Single precision may bound a distance only where its rounding is below this share of L².
_SINGLE = 0.02


class TreeTargets:
    """A k-d tree of the targets."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self._tree = cKDTree(targets.rows, balanced_tree=False, compact_nodes=targets.d > FLAT)

    def nearest(self, queries: Floats, eps: float = 0.0) -> tuple[Floats, Indices]:
        """Squared distance of every query to its nearest row, or to one at most 1 + eps times as far; that row."""
        squared, nearest = np.empty(len(queries)), np.empty(len(queries), dtype=np.intp)
        for part in portions(len(queries), _PORTION):
            _, nearest[part] = self._tree.query(queries[part], eps=eps)
            rows = np.arange(len(queries))[part]
            squared[part] = squared_pairs(queries, rows, self._targets.rows, nearest[part])
        self._targets.work.tree_queries += len(queries)
        return squared, nearest


def tree_is_cheaper(
    queries: Floats, squared: Floats, targets: Targets, *, pairs: float, n_left: int, near: bool
) -> bool:
    """Whether a tree is expected to settle rows in less time than blocks of BLAS.

    `queries`, `squared`: a few rows, and the squared distance of each to its nearest target; `pairs` per
    row that blocks would evaluate; `n_left` rows to be settled; `near`: whether a near target is enough.

    Blocks: n_left·pairs·(2 + 0.03·d). Tree: 25·n·log₂ n to build it, and per row the smaller of 300·1.5^d (what uniform
    rows take in few dimensions) and 0.8·d per target visited, at least 3,000. A tree visits the cells within a row's
    distance: few in few dimensions, and in any where rows are near copies of targets; nearly all of them otherwise.
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


def row_minima(queries: Floats, targets: Targets) -> tuple[Floats, Indices]:
    """Squared distance of every query to its nearest target by direct differences, and that target."""
    m = len(queries)
    if targets.d == 1:
        return nearest_on_line(queries, targets)
    sample = queries[np.random.default_rng(_SEED).integers(0, m, size=_TRIAL)]
    squared, _ = targets.scan(sample)
    if tree_is_cheaper(sample, squared, targets, pairs=_DOUBLE * targets.n, n_left=m, near=False):
        return TreeTargets(targets).nearest(queries)
    squared, nearest = np.empty(m), np.empty(m, dtype=np.intp)
    for part in portions(m, _BATCH):
        squared[part], nearest[part] = targets.scan(queries[part])
    return squared, nearest


def nearest_on_line(queries: Floats, targets: Targets) -> tuple[Floats, Indices]:
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
        index[:] = _listed_by_tree(queries, targets, k, same)
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


def _listed_by_tree(queries: Floats, targets: Floats, k: int, same: bool) -> NDArray[Any]:
    found = np.asarray(cKDTree(targets).query(queries, k=k + same)[1]).reshape(len(queries), k + same)
    if not same:
        return found
    own = found == np.arange(len(queries))[:, None]
    own[~own.any(axis=1), -1] = True  # among more than k equal rows: leave out the last instead
    return np.asarray(found[~own]).reshape(len(queries), k)


class Farthest(NamedTuple):
    """The row that is farthest from the targets: its squared minimum, the row, its nearest target."""

    squared: float
    query: int
    target: int


class _Race:
    """Rows still in the race, and the best of those that were scanned."""

    def __init__(self, queries: Floats, targets: Targets, floor: float) -> None:
        self.queries, self.targets, self.best = queries, targets, Farthest(floor, 0, 0)

    @property
    def dropped_at(self) -> float:
        """Squared distance of a target that takes a row out of the race: L², and what is a tie."""
        return self.best.squared * (1 + TIE)

    def scan(self, rows: Indices) -> tuple[Floats, Indices]:
        """Scan rows; L rises where one of them is farther. Rows are left as soon as they are out."""
        squared, nearest = self.targets.scan(self.queries[rows], at_least=self.dropped_at)
        self.offer(rows, squared, nearest)
        return squared, nearest

    def scan_all(self, rows: Indices, size: int) -> None:
        """Scan many rows, so many at a time."""
        for part in portions(rows.size, size):
            self.scan(rows[part])

    def offer(self, rows: Indices, squared: Floats, nearest: Indices) -> None:
        """Exact minima of rows."""
        k = int(squared.argmax())
        if squared[k] > self.dropped_at:
            self.best = Farthest(float(squared[k]), int(rows[k]), int(nearest[k]))


def farthest_row(
    queries: Floats, targets: Targets, only_here: Callable[[], Indices] | None = None, *, floor: float = -1.0
) -> Farthest:
    """The query whose nearest target is farthest, exactly: to about 10⁻¹¹, by direct differences.

    `only_here` says which queries are the first of their kind and no target equals them, shape (m,); it is asked only
    where many queries are left. `floor`: squared distance that is the answer if no query exceeds it.
    """
    race = _Race(queries, targets, floor)
    m = len(queries)
    if targets.d == 1:
        race.offer(np.arange(m), *nearest_on_line(queries, targets))
        return race.best
    if m * targets.n <= _SMALL or m <= _FEW:
        race.scan_all(np.arange(m), max(_SMALL // targets.n, _SCANNED))
        return race.best
    upper, pilot, of_pilot = _first_bounds(race)
    left = _scan_largest(race, np.flatnonzero(upper > race.dropped_at), upper)
    if only_here is not None and left.size > _MANY:
        left = _scan_largest(race, np.intersect1d(left, only_here(), assume_unique=True), upper)
    if left.size <= _FEW:
        return race.best
    pairs = _expected_pairs(queries[pilot], targets, race.best.squared)
    near = targets.d > FLAT
    if tree_is_cheaper(queries[pilot], of_pilot, targets, pairs=pairs, n_left=left.size, near=near):
        _through_tree(race, TreeTargets(targets), left)
    else:
        race.scan_all(left, _FILTERED // _BLOCK)
    return race.best


def _expected_pairs(queries: Floats, targets: Targets, level: float) -> float:
    """Targets that a row meets on average before one lies within L, from some rows; `level` is L²."""
    ready, norms = targets.prepare(queries, np.float32)
    cells = ready @ targets.block(targets.rows[:: max(targets.n // _LOOKED_AT, 1)], np.float32, +1).T
    targets.work.distances += cells.size
    share = (cells <= (level * targets.unit**2 - norms)[:, None]).mean(axis=1)
    return float(np.mean(1 / np.maximum(share, 1 / targets.n)))


def _first_bounds(race: _Race) -> tuple[Floats, Indices, Floats]:
    """Upper bounds of all squared minima from the hubs, after a pilot of rows; these, and their minima."""
    queries, targets = race.queries, race.targets
    m = len(queries)
    rng = np.random.default_rng(_SEED)
    sample, some = (np.unique(rng.integers(0, m, size=size)) for size in (_PILOT, _SOME))
    _, norms = targets.prepare(queries[some], np.float64)
    far = some[np.argsort(norms)[-_FAR:]]
    squared, nearest = targets.scan(queries[sample])
    race.offer(sample, squared, nearest)
    _, of_far = race.scan(far)
    others = rng.integers(0, targets.n, size=_HUBS - _PILOT - _FAR)
    hubs = np.unique(np.concatenate([nearest, of_far, others]))
    upper = np.empty(m)
    rounding = 4 * targets.gamma(np.float32) * targets.typical_norm / targets.unit**2
    single = np.float32 if rounding < _SINGLE * race.best.squared else np.float64
    block = targets.block(targets.rows[hubs], single, +1)
    for part in portions(m, _FILTERED // hubs.size):
        ready, norms = targets.prepare(queries[part], single)
        targets.work.distances += hubs.size * len(ready)
        nearest_hub = (block @ ready.T).min(axis=0).astype(np.float64)
        upper[part] = nearest_hub + norms * (1 + targets.gamma(single))
    upper /= targets.unit**2
    upper[sample] = upper[far] = -np.inf
    return upper, sample, squared


def _scan_largest(race: _Race, left: Indices, upper: Floats) -> Indices:
    """Scan the rows with the largest bounds while that takes many others out; the rows that are left."""
    for _ in range(_ROUNDS):
        if not left.size:
            return left
        level, before = race.best.squared, left.size
        size = min(_SCANNED, left.size)
        last = np.argpartition(upper[left], left.size - size)[left.size - size :]
        race.scan(left[last])
        upper[left[last]] = -np.inf
        left = left[upper[left] > race.dropped_at]
        if left.size > _FEW and (race.best.squared <= level * 1.01 or left.size > 0.9 * before):
            break
    while 0 < left.size <= _FEW:
        race.scan(left[:_SCANNED])
        left = left[_SCANNED:][upper[left[_SCANNED:]] > race.dropped_at]
    return left


def _through_tree(race: _Race, tree: TreeTargets, left: Indices) -> None:
    """Bound every row by a near target of a tree, then settle those that are left."""
    if race.targets.d <= FLAT:
        race.offer(left, *tree.nearest(race.queries[left]))
        return
    upper, _ = tree.nearest(race.queries[left], _NEAR)
    order = np.argsort(-upper)
    start, size = 0, _SCANNED
    while start < (stop := int(np.count_nonzero(upper > race.dropped_at))):
        rows = left[order[start : min(start + size, stop)]]
        race.offer(rows, *tree.nearest(race.queries[rows]))
        start, size = start + size, 2 * size
