"""The largest of the row minima, exactly, without computing most of them.

The directed distance max_q min_t |q − t| is the minimum of *one* row. Once some row is known to have a
minimum of L, every row with any target within L is out of the race. So:

1. a few rows are scanned exactly: L, and the targets that are nearest to them;
2. all rows meet those targets first (in hubs of the data, they are near to most rows);
3. the rows that are left with the largest upper bounds are scanned: L rises;
4. where many are left, rows that both sets hold are looked for: their minimum is 0;
5. what is still left goes through the other targets in blocks, or through a tree, as `choose` predicts.

A row is dropped only if a target within L is certain, and L comes from exact scans only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairstats.methods.hfm.blocks import TIE, Targets, squared_pairs
from fairstats.methods.hfm.choose import FLAT, cheaper_tree, expected_comparisons

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.methods.hfm.trees import TreeTargets

__all__ = ["Farthest", "farthest_row"]

_SEED = 3
#: Rows that are scanned first: at random, and far from the centre.
_PILOT = 8
_FAR = 8
#: Targets that all rows meet first.
_HUBS = 32
#: Rows among which the far ones are sought.
_SOME = 1024
#: Rows that a tree is tried on.
_TRIAL = 256
#: Most rounds of scanning the rows with the largest upper bounds.
_ROUNDS = 8
#: Rows of one scan.
_BATCH = 16
#: Fewer rows than this are scanned without further ado.
_FEW = 48
#: More rows than this, and it is worth looking for those that both sets hold.
_MANY = 4_000
#: Fewer pairs than this are all evaluated.
_SMALL = 200_000
#: Cells of one block of the filter.
_CELLS = 1 << 19
_BLOCK = 256
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
    def level(self) -> float:
        """L²."""
        return self.best.squared

    @property
    def dropped_at(self) -> float:
        """Squared distance of a target that takes a row out of the race."""
        return self.level * (1 + TIE)

    def scan(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Scan rows; L rises where one of them is farther. Rows are left as soon as they are out."""
        squared, nearest = self.targets.scan(self.queries[rows], at_least=self.level)
        self.offer(rows, squared, nearest)
        return squared, nearest

    def offer(self, rows: NDArray[np.intp], squared: NDArray[np.float64], nearest: NDArray[np.intp]) -> None:
        """Exact minima of rows."""
        k = int(squared.argmax())
        if squared[k] > self.level:
            self.best = Farthest(float(squared[k]), int(rows[k]), int(nearest[k]))

    def precision(self) -> type[np.floating[Any]]:
        """Single precision where its rounding is small beside L²."""
        rounding = 4 * self.targets.gamma(np.float32) * self.targets.typical_norm / self.targets.unit**2
        return np.float32 if rounding < _SINGLE * self.level else np.float64


def farthest_row(
    queries: NDArray[np.float64],
    targets: Targets,
    only_here: Callable[[], NDArray[np.bool_]] | None = None,
    *,
    floor: float = -1.0,
) -> Farthest:
    """The query whose nearest target is farthest.

    Parameters
    ----------
    queries : ndarray of float, shape (m, d)
        At least one row.
    targets : Targets
    only_here : callable, optional
        Says which queries are the first of their kind and no target equals them, shape (m,). It is asked only
        where many queries are left.
    floor : float, default -1
        Squared distance that is of interest only where a query exceeds it.

    Returns
    -------
    Farthest
        Exact: the distance of the pair, by direct differences; equal to the true one to about 10⁻¹¹ of it.
        The floor, if no query exceeds it.
    """
    race = _Race(queries, targets, floor)
    m = len(queries)
    if m * targets.n <= _SMALL or m <= _FEW:
        for rows in _batches(np.arange(m), max(_SMALL // targets.n, _BATCH)):
            race.scan(rows)
        return race.best
    upper, sample = _first_bounds(race)
    left = np.flatnonzero(upper > race.dropped_at)
    left = _scan_largest(race, left, upper)
    if only_here is not None and left.size > _MANY:
        left = left[only_here()[left]]
        left = _scan_largest(race, left, upper)
    if left.size <= _FEW:
        return race.best
    comparisons = expected_comparisons(queries[sample], targets, race.level)
    tree = cheaper_tree(
        queries[left[:: max(left.size // _TRIAL, 1)]], targets, comparisons, left.size, near=targets.d > FLAT
    )
    if tree is None:
        _through_blocks(race, left)
    else:
        _through_tree(race, tree, left)
    return race.best


def _batches(rows: NDArray[np.intp], size: int) -> Iterator[NDArray[np.intp]]:
    for start in range(0, rows.size, size):
        yield rows[start : start + size]


def _first_bounds(race: _Race) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Upper bounds of all squared minima from the hubs, after a pilot of scanned rows (returned, too)."""
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
    hubs = np.unique(
        np.concatenate([nearest, of_far, rng.integers(0, targets.n, size=_HUBS - _PILOT - _FAR)])
    )
    upper = np.empty(m)
    single = race.precision()
    block = targets.block(targets.rows[hubs], single, +1)
    step = _CELLS // hubs.size
    for start in range(0, m, step):
        ready, norms = targets.prepare(queries[start : start + step], single)
        targets.work.distances += hubs.size * len(ready)
        nearest_hub = (block @ ready.T).min(axis=0).astype(np.float64)
        upper[start : start + step] = nearest_hub + norms * (1 + targets.gamma(single))
    upper /= targets.unit**2
    upper[sample] = -np.inf
    upper[far] = -np.inf
    return upper, sample


def _scan_largest(race: _Race, left: NDArray[np.intp], upper: NDArray[np.float64]) -> NDArray[np.intp]:
    """Scan the rows with the largest bounds while that takes many others out; the rows that are left."""
    for _ in range(_ROUNDS):
        if not left.size:
            return left
        level, before = race.level, left.size
        size = min(_BATCH, left.size)
        last = np.argpartition(upper[left], left.size - size)[left.size - size :]
        race.scan(left[last])
        upper[left[last]] = -np.inf
        left = left[upper[left] > race.dropped_at]
        if left.size > _FEW and (race.level <= level * 1.01 or left.size > 0.9 * before):
            break
    while 0 < left.size <= _FEW:
        race.scan(left[:_BATCH])
        left = left[_BATCH:]
        left = left[upper[left] > race.dropped_at]
    return left


def _through_blocks(race: _Race, left: NDArray[np.intp]) -> None:
    """Put rows through the targets in random order, block by block, dropping those that are out."""
    targets = race.targets
    order = np.random.default_rng(_SEED).permutation(targets.n)
    prepared = _Prepared(targets, order)
    for rows in _batches(left, _CELLS // _BLOCK):
        single = race.precision()
        ready, norms = targets.prepare(race.queries[rows], single)
        norms *= 1 + targets.gamma(single)
        alive = np.arange(rows.size)
        upper = np.full(rows.size, np.inf)
        start = 0
        while start < targets.n and alive.size > _FEW:
            stop = min(start + int(np.clip(_CELLS // alive.size, _BLOCK, 4 * _BLOCK)), targets.n)
            cells = prepared.block(start, stop, single) @ ready[alive].T
            targets.work.distances += cells.size
            found = (cells.min(axis=0) + norms[alive]) / targets.unit**2
            upper[alive] = np.minimum(upper[alive], found)
            out = upper[alive] <= race.dropped_at
            out |= _out_after_all(race, rows, alive, found, norms, cells, order[start:stop], out, single)
            alive = alive[~out]
            start = stop
        _scan_survivors(race, rows[alive], upper[alive])


def _out_after_all(
    race: _Race,
    rows: NDArray[np.intp],
    alive: NDArray[np.intp],
    found: NDArray[np.float64],
    norms: NDArray[np.float64],
    cells: NDArray[Any],
    order: NDArray[np.intp],
    out: NDArray[np.bool_],
    single: type[np.floating[Any]],
) -> NDArray[np.bool_]:
    """Which rows have a target within L after all, where rounding leaves it open."""
    targets = race.targets
    doubt = 4 * targets.gamma(single) * (norms[alive] + targets.typical_norm) / targets.unit**2
    doubtful = np.flatnonzero(~out & (found - doubt <= race.dropped_at))
    settled = np.zeros(alive.size, dtype=bool)
    if doubtful.size:
        candidates = order[cells[:, doubtful].argmin(axis=0)]
        exact = squared_pairs(race.queries, rows[alive[doubtful]], targets.rows, candidates)
        targets.work.distances += exact.size
        settled[doubtful] = exact <= race.dropped_at
    return settled


def _scan_survivors(race: _Race, rows: NDArray[np.intp], upper: NDArray[np.float64]) -> None:
    """Scan rows from the largest bound on; those that L overtakes are left out."""
    order = np.argsort(-upper)
    rows, upper = rows[order], upper[order]
    while rows.size:
        race.scan(rows[:_BATCH])
        rows, upper = rows[_BATCH:], upper[_BATCH:]
        keep = upper > race.dropped_at
        rows, upper = rows[keep], upper[keep]


class _Prepared:
    """Blocks of the targets in one order; the first of them are kept."""

    def __init__(self, targets: Targets, order: NDArray[np.intp]) -> None:
        self._targets = targets
        self._order = order
        self._ready: NDArray[Any] | None = None

    def block(self, start: int, stop: int, dtype: type[np.floating[Any]]) -> NDArray[Any]:
        """Targets start … stop of the order, prepared as upper bounds."""
        most = max(min(_CELLS * 16 // (self._targets.d + 1), self._targets.n), 1)
        if stop > most:
            return self._targets.block(self._targets.rows[self._order[start:stop]], dtype, +1)
        if self._ready is None or self._ready.dtype != dtype or len(self._ready) < stop:
            size = min(max(2 * stop, 4 * _BLOCK), most)
            self._ready = self._targets.block(self._targets.rows[self._order[:size]], dtype, +1)
        return self._ready[start:stop]


def _through_tree(race: _Race, tree: TreeTargets, left: NDArray[np.intp]) -> None:
    """Bound every row by a near target of a tree, then settle those that are left."""
    if race.targets.d <= FLAT:
        race.offer(left, *tree.nearest(race.queries[left]))
        return
    upper = tree.near(race.queries[left])
    keep = upper > race.dropped_at
    left, upper = left[keep], upper[keep]
    order = np.argsort(-upper)
    left, upper = left[order], upper[order]
    size = _BATCH
    while left.size:
        rows = left[:size]
        squared, nearest = tree.nearest(race.queries[rows])
        race.offer(rows, squared, nearest)
        left, upper = left[size:], upper[size:]
        keep = upper > race.dropped_at
        left, upper = left[keep], upper[keep]
        size *= 2
