"""The largest of the row minima, exactly, without computing most of them.

The directed distance max_q min_t |q − t| is the minimum of *one* row. Once some row is known to have a
minimum of L, every row with any target within L is out of the race. So:

1. a few rows are scanned exactly: L, and the targets that are nearest to them;
2. all rows meet those targets first (in hubs of the data, they are near to most rows);
3. the rows that are left with the largest upper bounds are scanned: L rises;
4. where many are left, rows that both sets hold are looked for: their minimum is 0;
5. what is still left goes through the other targets in blocks, or through a tree, by the rule of `nearest`.

A row is dropped only if a target within L is certain, and L comes from exact scans only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairstats.methods.hfm.blocks import TIE, Targets
from fairstats.methods.hfm.nearest import FLAT, TreeTargets, nearest_on_line, tree_is_cheaper
from fairstats.methods.hfm.rows import portions

_SEED = 3
#: Rows that are scanned first: at random, and far from the centre.
_PILOT, _FAR = 8, 8
#: Targets that all rows meet first; rows among which the far ones are sought; targets for the pilot rows.
_HUBS, _SOME, _SAMPLE = 32, 1024, 4096
#: Most rounds of scanning the rows with the largest upper bounds, and rows of one scan.
_ROUNDS, _BATCH = 8, 16
#: Fewer rows are scanned at once; with more it is worth looking for those that both sets hold.
_FEW, _MANY = 48, 4_000
#: Fewer pairs than this are all evaluated.
_SMALL = 200_000
#: Cells of one block of the filter.
_CELLS, _BLOCK = 1 << 19, 256
#: Single precision may bound a distance only where its rounding is below this share of L².
_SINGLE = 0.02


class Farthest(NamedTuple):
    """The row that is farthest from the targets: its squared minimum, the row, its nearest target."""

    squared: float
    query: int
    target: int


class _Race:
    """Rows still in the race, and the best of those that were scanned."""

    def __init__(self, queries: NDArray[np.float64], targets: Targets, floor: float) -> None:
        self.queries = queries
        self.targets = targets
        self.best = Farthest(floor, 0, 0)

    @property
    def dropped_at(self) -> float:
        """Squared distance of a target that takes a row out of the race: L², and what is a tie."""
        return self.best.squared * (1 + TIE)

    def scan(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Scan rows; L rises where one of them is farther. Rows are left as soon as they are out."""
        squared, nearest = self.targets.scan(self.queries[rows], at_least=self.dropped_at)
        self.offer(rows, squared, nearest)
        return squared, nearest

    def scan_all(self, rows: NDArray[np.intp], size: int) -> None:
        """Scan many rows, so many at a time."""
        for part in portions(rows.size, size):
            self.scan(rows[part])

    def offer(self, rows: NDArray[np.intp], squared: NDArray[np.float64], nearest: NDArray[np.intp]) -> None:
        """Exact minima of rows."""
        k = int(squared.argmax())
        if squared[k] > self.dropped_at:
            self.best = Farthest(float(squared[k]), int(rows[k]), int(nearest[k]))


def farthest_row(
    queries: NDArray[np.float64], targets: Targets, only_here: Callable[[], NDArray[np.intp]] | None = None,
    *, floor: float = -1.0,
) -> Farthest:  # fmt: skip
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
        race.scan_all(np.arange(m), max(_SMALL // targets.n, _BATCH))
        return race.best
    upper, pilot, of_pilot = _first_bounds(race)
    left = np.flatnonzero(upper > race.dropped_at)
    left = _scan_largest(race, left, upper)
    if only_here is not None and left.size > _MANY:
        left = np.intersect1d(left, only_here(), assume_unique=True)
        left = _scan_largest(race, left, upper)
    if left.size <= _FEW:
        return race.best
    pairs = _expected_pairs(queries[pilot], targets, race.best.squared)
    near = targets.d > FLAT
    if tree_is_cheaper(queries[pilot], of_pilot, targets, pairs=pairs, n_left=left.size, near=near):
        _through_tree(race, TreeTargets(targets), left)
    else:
        race.scan_all(left, _CELLS // _BLOCK)
    return race.best


def _expected_pairs(queries: NDArray[np.float64], targets: Targets, level: float) -> float:
    """Targets that a row meets on average before one lies within L, from some rows; `level` is L²."""
    ready, norms = targets.prepare(queries, np.float32)
    block = targets.block(targets.rows[:: max(targets.n // _SAMPLE, 1)], np.float32, +1)
    cells = ready @ block.T
    targets.work.distances += cells.size
    share = (cells <= (level * targets.unit**2 - norms)[:, None]).mean(axis=1)
    return float(np.mean(1 / np.maximum(share, 1 / targets.n)))


def _first_bounds(race: _Race) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.float64]]:
    """Upper bounds of all squared minima from the hubs, after a pilot of rows; these, and their minima."""
    queries, targets = race.queries, race.targets
    m = len(queries)
    rng = np.random.default_rng(_SEED)
    sample = np.unique(rng.integers(0, m, size=_PILOT))
    some = np.unique(rng.integers(0, m, size=_SOME))
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
    for part in portions(m, _CELLS // hubs.size):
        ready, norms = targets.prepare(queries[part], single)
        targets.work.distances += hubs.size * len(ready)
        nearest_hub = (block @ ready.T).min(axis=0).astype(np.float64)
        upper[part] = nearest_hub + norms * (1 + targets.gamma(single))
    upper /= targets.unit**2
    upper[sample] = upper[far] = -np.inf
    return upper, sample, squared


def _scan_largest(race: _Race, left: NDArray[np.intp], upper: NDArray[np.float64]) -> NDArray[np.intp]:
    """Scan the rows with the largest bounds while that takes many others out; the rows that are left."""
    for _ in range(_ROUNDS):
        if not left.size:
            return left
        level, before = race.best.squared, left.size
        size = min(_BATCH, left.size)
        last = np.argpartition(upper[left], left.size - size)[left.size - size :]
        race.scan(left[last])
        upper[left[last]] = -np.inf
        left = left[upper[left] > race.dropped_at]
        if left.size > _FEW and (race.best.squared <= level * 1.01 or left.size > 0.9 * before):
            break
    while 0 < left.size <= _FEW:
        race.scan(left[:_BATCH])
        left = left[_BATCH:]
        left = left[upper[left] > race.dropped_at]
    return left


def _through_tree(race: _Race, tree: TreeTargets, left: NDArray[np.intp]) -> None:
    """Bound every row by a near target of a tree, then settle those that are left."""
    if race.targets.d <= FLAT:
        race.offer(left, *tree.nearest(race.queries[left]))
        return
    upper = tree.near(race.queries[left])
    order = np.argsort(-upper)
    start, size = 0, _BATCH
    while start < (stop := int(np.count_nonzero(upper > race.dropped_at))):
        rows = left[order[start : min(start + size, stop)]]
        race.offer(rows, *tree.nearest(race.queries[rows]))
        start, size = start + size, 2 * size
