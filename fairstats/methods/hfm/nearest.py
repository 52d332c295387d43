"""Nearest rows, by blocks of BLAS or by a k-d tree, and the row that is farthest from its nearest.

The directed distance max_q min_t |q − t| is the minimum of *one* row. Once some row is known to
have a minimum of L, every row with any target within L is out of the race. So:

Of not so many pairs all rows go to SciPy's loop, which leaves a row at its first target within L, or
to a tree where rows are near copies of targets or tied: a few rows tell (`settle_at_once`). Of more:

Directly, in few dimensions: some rows are scanned exactly, then all rows that are left meet portions
of the targets in random order, each as large as all before, and after each portion the rows with
the largest minima so far are scanned, so that L rises. A row meets few targets where many are
within L. How many rows a portion takes out says what the rest costs; where a tree, or blocks of
BLAS, would settle it in less time, they do. By blocks:

1. a few rows are scanned exactly: L, and the targets that are nearest to them;
2. all rows meet those targets first (in hubs of the data, they are near to most rows);
3. the rows that are left with the largest upper bounds are scanned: L rises;
4. where many are left, rows that both sets hold are looked for: their minimum is 0;
5. rows and targets are put into cells, by their nearest hub: a row meets targets of its own cell;
6. what is still left goes through the other targets in blocks, or through a tree.

A row is dropped only if a target within L is certain, and L comes from exact scans only. Blocks or
tree is a fixed rule of numbers (rows, dimension, pairs, share of the targets near a row), never of
the clock, so that the way taken does not depend on what else the machine does; a wrong choice costs
time, never exactness. Its constants are nanoseconds on one core (OpenBLAS, SciPy 1.17); what counts
is their ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from fairstats.ground.checks import Floats
from fairstats.methods.hfm.at_once import settle_at_once
from fairstats.methods.hfm.blocks import TIE, Targets, Work, squared_pairs
from fairstats.methods.hfm.race import (
    DIRECT_CELLS,
    MIDDLE_OF,
    ROWS_OF_SCAN,
    SEED,
    SINGLE_PRECISION_BELOW,
    Farthest,
    FarthestRace,
    settle_on_line,
    through_tree,
)
from fairstats.methods.hfm.rows import Indices, portions
from fairstats.methods.hfm.trees import (
    FLAT,
    TreeTargets,
    in_clumps,
    reaches_of,
    share_visited_of,
    tree_is_cheaper,
)

#: A scan of all pairs takes this many times as long per pair as blocks that drop rows.
_FULL_SCAN_COST = 1.2
#: Rows of a scan, and rows by which the cost of all minima is judged.
_SCAN_ROWS = 128
_TRIAL_ROWS = 16
#: More dimensions than this and lists of neighbours come quicker from all pairs than from a tree.
_LISTED_BY_TREE = 6
_CELLS_AT_ONCE = 1 << 20
#: Rows whose lists of neighbours are made at a time.
_LISTED_AT_ONCE = 1 << 12
#: Rows that are scanned first: at random, and far from the centre.
_PILOT_ROWS = 8
_FAR_ROWS = 8
#: Targets that all rows meet first; rows among which the far ones are sought; targets for the pilot
#: rows.
_HUB_TARGETS = 32
_ROWS_LOOKED_AT = 1024
_LOOKED_AT = 4096
#: Most rounds of scanning the rows with the largest upper bounds.
_ROUNDS = 8
#: Fewer rows are scanned at once; with more it is worth looking for those that both sets hold.
_FEW_ROWS = 48
_MANY_ROWS = 4_000
#: Targets of its own cell that a row meets first, and then where these are not near enough.
_TARGETS_OF_CELL = (32, 1024)
#: Cells, about so many.
_HUBS_OF_CELLS = 128
#: Cells are made where a row would meet more targets than this before it is out.
_WORTH_CELLS = 150
#: Fewer pairs than this are all evaluated.
FEW_PAIRS = 200_000
#: Cells of one block of the filter.
_FILTER_CELLS = 1 << 19
_BLOCK_ROWS = 256
#: In no more dimensions than this, rows meet targets directly before blocks are prepared.
DIRECT_DIMENSIONS = 24
#: Far and random rows that are scanned first, targets of the first portion, rows scanned after each.
_DIRECT_PILOT = 4
_FIRST_PORTION = 16
_SCANNED_BETWEEN = 8
#: Other ways are considered after the first portion only where more pairs than this are expected.
_MANY_PAIRS = 150
#: From so many dimensions on, portions after the first are met by blocks of BLAS.
_BOUNDED_FROM = 6
#: Up to so many pairs rows are settled at once where they can be; in few dimensions portions of more
#: are as quick.
_PAIRS_AT_ONCE = 1 << 24
_PAIRS_AT_ONCE_FLAT = 1 << 22
#: Nanoseconds that blocks of BLAS need before their first row.
_BLOCKS_BEGIN = 1e7


def row_minima(queries: Floats, targets: Targets) -> tuple[Floats, Indices]:
    """Squared distance of every query to its nearest target by direct differences, and that
    target.
    """
    n_queries = len(queries)
    if targets.d == 1:
        return nearest_on_line(queries, targets)
    sample = queries[np.random.default_rng(SEED).integers(0, n_queries, size=_TRIAL_ROWS)]
    squared, _ = targets.scan(sample)
    if tree_is_cheaper(
        lambda: share_visited_of(sample, reaches_of(squared, near=False), targets.rows),
        targets,
        pairs=_FULL_SCAN_COST * targets.n,
        n_left=n_queries,
    ):
        return TreeTargets(targets).nearest(queries)
    squared = np.empty(n_queries)
    nearest = np.empty(n_queries, dtype=np.intp)
    for portion in portions(n_queries, _SCAN_ROWS):
        squared[portion], nearest[portion] = targets.scan(queries[portion])
    return squared, nearest


def nearest_on_line(queries: Floats, targets: Targets) -> tuple[Floats, Indices]:
    """`row_minima` in one dimension: the neighbours in sorted order."""
    sorted_order = np.argsort(targets.rows[:, 0])
    query_values = queries[:, 0]
    target_values = targets.rows[sorted_order, 0]
    above_places = np.searchsorted(target_values, query_values)
    below_places = np.maximum(above_places - 1, 0)
    above_places = np.minimum(above_places, target_values.size - 1)
    nearest_places = np.where(
        np.abs(target_values[below_places] - query_values)
        <= np.abs(target_values[above_places] - query_values),
        below_places,
        above_places,
    )
    targets.work.distances += 2 * query_values.size
    return (target_values[nearest_places] - query_values) ** 2, sorted_order[nearest_places]


def nearest_rows(
    queries: Floats,
    targets: Floats,
    k: int,
    *,
    same: bool = False,
) -> tuple[Floats, NDArray[np.int32]]:
    """The k nearest targets of every query, nearest first.

    Squared distances and rows, shape (m, k).

    With `same` both are the same rows, and a row is not its own neighbour.
    """
    neighbours = np.empty((len(queries), k), dtype=np.int32)
    squared = np.empty((len(queries), k))
    for portion, squared_of_portion, of_portion in nearest_by_portions(
        queries, targets, k, same=same
    ):
        squared[portion] = squared_of_portion
        neighbours[portion] = of_portion
    return squared, neighbours


def nearest_by_portions(
    queries: Floats,
    targets: Floats,
    k: int,
    *,
    same: bool = False,
) -> Iterator[tuple[slice | Indices, Floats, NDArray[np.int32]]]:
    """`nearest_rows` of some queries after the other, so that no more than theirs is held."""
    if targets.shape[1] <= _LISTED_BY_TREE:
        lists = _listed_by_tree(queries, targets, k, same)
    else:
        lists = _listed_by_blocks(queries, targets, k, same)
    for portion, squared, neighbours in lists:
        nearest_first = np.argsort(squared, axis=1, kind="stable")
        yield (
            portion,
            np.take_along_axis(squared, nearest_first, axis=1),
            np.take_along_axis(neighbours, nearest_first, axis=1),
        )


def _listed_by_blocks(
    queries: Floats, targets: Floats, k: int, same: bool
) -> Iterator[tuple[slice | Indices, Floats, NDArray[np.int32]]]:
    """Neighbours in any order, from bounds of all pairs."""
    n_targets = len(targets)
    prepared_targets = Targets(targets, queries, Work())
    target_block = prepared_targets.block(targets, np.float64, -1)
    for portion in portions(len(queries), max(_CELLS_AT_ONCE // n_targets, 1)):
        own_queries = queries[portion]
        own_numbers = np.arange(len(own_queries))
        prepared, squared_norms = prepared_targets.prepare(own_queries, np.float64)
        lower_bounds = prepared @ target_block.T
        if same:
            lower_bounds[own_numbers, portion.start + own_numbers] = np.inf
        neighbours = np.empty((len(own_queries), k), dtype=np.int32)
        neighbours[:] = (
            np.argpartition(lower_bounds, k - 1, axis=1)[:, :k]
            if k < n_targets
            else np.arange(n_targets)
        )
        squared = squared_pairs(
            own_queries, np.repeat(own_numbers, k), targets, neighbours.ravel()
        ).reshape(-1, k)
        np.put_along_axis(lower_bounds, neighbours, np.inf, axis=1)
        squared_limit = squared.max(axis=1) * prepared_targets.unit**2 * (1 - 10 * TIE)
        squared_limit -= squared_norms * (1 - prepared_targets.gamma(np.float64))
        # rows far from the others leave rounding that hides who is near: then every pair is
        # evaluated
        for own_number in np.flatnonzero(lower_bounds.min(axis=1) < squared_limit):
            row_number = portion.start + own_number
            exact_squared = squared_pairs(
                queries, np.full(n_targets, row_number), targets, np.arange(n_targets)
            )
            if same:
                exact_squared[row_number] = np.inf
            neighbours[own_number] = np.argpartition(exact_squared, k - 1)[:k]
            squared[own_number] = exact_squared[neighbours[own_number]]
        yield portion, squared, neighbours


def _listed_by_tree(
    queries: Floats, targets: Floats, k: int, same: bool
) -> Iterator[tuple[slice | Indices, Floats, NDArray[np.int32]]]:
    """Neighbours in any order, from a tree.

    Rows that lie together ask one after the other: what they visit is in the cache, and many rows
    take a third of the time.
    """
    tree = cKDTree(targets)
    order = tree.indices if same else in_clumps(queries)
    for portion in portions(len(queries), _LISTED_AT_ONCE):
        row_numbers = order[portion]
        found = np.asarray(tree.query(queries.take(row_numbers, axis=0), k=k + same)[1])
        neighbours = found.reshape(row_numbers.size, k + same).astype(np.int32)
        if same:
            is_own_row = neighbours == row_numbers[:, None]
            # among more than k equal rows: leave out the last instead
            is_own_row[~is_own_row.any(axis=1), -1] = True
            neighbours = neighbours[~is_own_row].reshape(row_numbers.size, k)
        squared = squared_pairs(queries, np.repeat(row_numbers, k), targets, neighbours.ravel())
        yield row_numbers, squared.reshape(-1, k), neighbours


def farthest_row(
    queries: Floats,
    targets: Targets,
    only_here: Callable[[], Indices] | None = None,
    *,
    floor: float = -1.0,
) -> Farthest:
    """The query whose nearest target is farthest, exactly: to about 10⁻¹¹, by direct differences.

    `only_here` says which queries are the first of their kind and no target equals them, shape
    (m,); it is asked only where many queries are left. `floor`: squared distance that is the answer
    if no query exceeds it.
    """
    race = FarthestRace(queries, targets, floor)
    n_queries = len(queries)
    if targets.d == 1:
        settle_on_line(race)
        return race.best
    few_dimensions = targets.d <= DIRECT_DIMENSIONS
    if few_dimensions and n_queries * targets.n <= FEW_PAIRS:
        race.scan_directly(np.arange(n_queries))
        return race.best
    if n_queries * targets.n <= FEW_PAIRS or n_queries <= _FEW_ROWS:
        race.scan_all(np.arange(n_queries), max(FEW_PAIRS // targets.n, ROWS_OF_SCAN))
        return race.best
    most_pairs = _PAIRS_AT_ONCE_FLAT if targets.d <= FLAT else _PAIRS_AT_ONCE
    if n_queries * targets.n <= most_pairs and settle_at_once(race):
        return race.best
    if few_dimensions:
        meeting = _meet_directly(race)
        rows_left = meeting.rows
        # also of rows that have met all targets: bounds from blocks of BLAS are above their minima
        if not rows_left.size:
            return race.best
        upper_bounds = meeting.upper_bounds()
        pilot_rows = meeting.pilot_rows
        pilot_squared = meeting.pilot_squared
    else:
        upper_bounds, pilot_rows, pilot_squared = _first_bounds(race)
        rows_left = np.flatnonzero(upper_bounds > race.dropped_at)
    rows_left = _scan_largest(race, rows_left, upper_bounds)
    if only_here is not None and rows_left.size > _MANY_ROWS:
        rows_left = _scan_largest(
            race, np.intersect1d(rows_left, only_here(), assume_unique=True), upper_bounds
        )
    if rows_left.size <= _FEW_ROWS:
        return race.best
    expected_pairs = _expected_pairs(queries[pilot_rows], targets, race.best.squared)
    if rows_left.size > _MANY_ROWS and expected_pairs > _WORTH_CELLS:
        rows_left = _drop_within_cells(race, rows_left, upper_bounds)
        if rows_left.size <= _FEW_ROWS:
            return race.best
    reaches = reaches_of(pilot_squared, near=targets.d > FLAT)
    if tree_is_cheaper(
        lambda: share_visited_of(queries[pilot_rows], reaches, targets.rows),
        targets,
        pairs=expected_pairs,
        n_left=rows_left.size,
    ):
        through_tree(race, TreeTargets(targets), rows_left)
    else:
        race.scan_all(rows_left, _FILTER_CELLS // _BLOCK_ROWS)
    return race.best


class _DirectMeeting:
    """Rows that meet random targets by direct differences, in portions of which each is as large
    as all before.

    `rows`, (k,): those that are left; `bounds`, (k,): their least squared distance so far;
    `pilot_rows`, `pilot_squared`: some random rows and their squared minima.
    """

    def __init__(self, race: FarthestRace) -> None:
        self.race = race
        queries = race.queries
        targets = race.targets.rows
        generator = np.random.default_rng(SEED)
        some_rows = generator.integers(0, len(queries), size=min(_ROWS_LOOKED_AT, len(queries)))
        centred = queries.take(some_rows, axis=0)
        centred -= targets[:: max(len(targets) // MIDDLE_OF, 1)].mean(axis=0)
        norms = np.einsum("ij,ij->i", centred, centred)
        farthest_last = np.argpartition(norms, norms.size - _DIRECT_PILOT)
        self.pilot_rows = some_rows[:_DIRECT_PILOT]
        first_scanned = np.concatenate([self.pilot_rows, some_rows[farthest_last[-_DIRECT_PILOT:]]])
        squared = race.scan_directly(first_scanned)
        self.pilot_squared = squared[:_DIRECT_PILOT]
        self.rows = np.arange(len(queries))
        self.bounds = np.full(len(queries), np.inf)
        self.bounds[first_scanned] = -np.inf
        self._order = generator.permutation(len(targets))
        self.n_met = 0
        self._prepared: tuple[NDArray[Any], Floats] | None = None

    def meet_portion(self) -> float:
        """Meet the next portion; then the rows with the largest bounds are scanned, so that L rises.

        So many targets a row that is left is expected to meet before it is out, if all are out as
        likely at each.
        """
        race = self.race
        n_before = self.rows.size
        size = max(self.n_met, _FIRST_PORTION)
        places = self._order[self.n_met : self.n_met + size]
        least = self._least(race.targets.rows.take(places, axis=0))
        self.n_met += places.size
        np.minimum(self.bounds, least, out=self.bounds)
        self._drop()
        if self.rows.size > _SCANNED_BETWEEN:
            largest_last = np.argpartition(self.bounds, self.rows.size - _SCANNED_BETWEEN)
            scanned = largest_last[-_SCANNED_BETWEEN:]
        else:
            scanned = np.arange(self.rows.size)
        if scanned.size:
            race.scan_directly(self.rows[scanned])
            self.bounds[scanned] = -np.inf
            self._drop()
        share_left = min(self.rows.size / n_before, 1 - 1 / n_before)
        if share_left == 0:
            return 0.0
        return float(min(places.size / -np.log(share_left), race.targets.n))

    def _least(self, met: Floats) -> Floats:
        """Least squared distance of every row that is left to some targets, or a bound above it.

        By direct differences in few dimensions, else by blocks of BLAS. Minima over columns of a
        wide table are ten times as quick as over its rows.
        """
        race = self.race
        targets = race.targets
        targets.work.distances += self.rows.size * len(met)
        # to prepare all rows pays where many go on after the first portion
        many_go_on = self.n_met > 0 and 4 * self.rows.size > len(race.queries)
        if self._prepared is None and many_go_on and targets.d >= _BOUNDED_FROM:
            self._prepared = targets.prepare(race.queries, race.scan_type())
        if self._prepared is None:
            everything = race.queries
            block = met
        else:
            everything, norms = self._prepared
            scan_type = everything.dtype.type
            block = targets.block(met, scan_type, +1)
        least = np.empty(self.rows.size)
        for portion in portions(self.rows.size, max(DIRECT_CELLS // len(met), 1)):
            if self.rows.size == len(everything):
                rows = everything[portion]
            else:
                rows = everything.take(self.rows[portion], axis=0)
            if self._prepared is None:
                least[portion] = cdist(block, rows, "sqeuclidean").min(axis=0)
            else:
                least[portion] = (block @ rows.T).min(axis=0)
        if self._prepared is not None:
            least += norms.take(self.rows) * (1 + targets.gamma(scan_type))
            least /= targets.unit**2
        return least

    def _drop(self) -> None:
        """Drop the rows that are out."""
        in_race = self.bounds > self.race.dropped_at
        self.rows = self.rows[in_race]
        self.bounds = self.bounds[in_race]

    def upper_bounds(self) -> Floats:
        """Of the squared minima of all rows; those that are out have none."""
        bounds = np.full(len(self.race.queries), -np.inf)
        bounds[self.rows] = self.bounds
        return bounds


def _meet_directly(race: FarthestRace) -> _DirectMeeting:
    """Let all rows meet random targets until the race is over, or a tree has settled it, or blocks
    of BLAS are cheaper: only then rows are left.
    """
    targets = race.targets
    meeting = _DirectMeeting(race)
    if targets.d >= _BOUNDED_FROM:
        pair_cost = 1.5
    else:
        pair_cost = 1.2 + 0.23 * targets.d
    share_visited = cache(
        lambda: share_visited_of(
            race.queries[meeting.pilot_rows],
            reaches_of(meeting.pilot_squared, near=targets.d > FLAT),
            targets.rows,
        )
    )
    while meeting.n_met < targets.n and meeting.rows.size:
        pairs = meeting.meet_portion()
        n_left = meeting.rows.size
        if meeting.n_met == _FIRST_PORTION and pairs < _MANY_PAIRS:
            continue
        if tree_is_cheaper(share_visited, targets, pairs=pairs, n_left=n_left, pair_cost=pair_cost):
            through_tree(race, TreeTargets(targets), meeting.rows)
            meeting.rows = meeting.rows[:0]
        blocks_cost = _BLOCKS_BEGIN + n_left * pairs * (2 + 0.03 * targets.d)
        if n_left * pairs * pair_cost > blocks_cost:
            break
    return meeting


def _expected_pairs(queries: Floats, targets: Targets, squared_level: float) -> float:
    """Targets that a row meets on average before one lies within L, from some rows.

    `squared_level` is L².
    """
    prepared, squared_norms = targets.prepare(queries, np.float32)
    bounds = (
        prepared @ targets.block(targets.rows[:: max(targets.n // _LOOKED_AT, 1)], np.float32, +1).T
    )
    targets.work.distances += bounds.size
    near_shares = (bounds <= (squared_level * targets.unit**2 - squared_norms)[:, None]).mean(
        axis=1
    )
    return float(np.mean(1 / np.maximum(near_shares, 1 / targets.n)))


def _first_bounds(race: FarthestRace) -> tuple[Floats, Indices, Floats]:
    """Upper bounds of all squared minima from the hubs, after a pilot of rows.

    The rows of the pilot, and their minima.
    """
    queries = race.queries
    targets = race.targets
    n_queries = len(queries)
    generator = np.random.default_rng(SEED)
    pilot_rows, some_rows = (
        np.unique(generator.integers(0, n_queries, size=sample_size))
        for sample_size in (_PILOT_ROWS, _ROWS_LOOKED_AT)
    )
    _, squared_norms = targets.prepare(queries[some_rows], np.float64)
    far_rows = some_rows[np.argsort(squared_norms)[-_FAR_ROWS:]]
    squared, nearest = targets.scan(queries[pilot_rows])
    race.offer(pilot_rows, squared, nearest)
    _, of_far = race.scan(far_rows)
    other_targets = generator.integers(0, targets.n, size=_HUB_TARGETS - _PILOT_ROWS - _FAR_ROWS)
    hub_targets = np.unique(np.concatenate([nearest, of_far, other_targets]))
    upper_bounds = np.empty(n_queries)
    scan_type = race.scan_type()
    hub_block = targets.block(targets.rows[hub_targets], scan_type, +1)
    for portion in portions(n_queries, _FILTER_CELLS // hub_targets.size):
        prepared, squared_norms = targets.prepare(queries[portion], scan_type)
        targets.work.distances += hub_targets.size * len(prepared)
        nearest_hub = (hub_block @ prepared.T).min(axis=0).astype(np.float64)
        upper_bounds[portion] = nearest_hub + squared_norms * (1 + targets.gamma(scan_type))
    upper_bounds /= targets.unit**2
    upper_bounds[pilot_rows] = upper_bounds[far_rows] = -np.inf
    return upper_bounds, pilot_rows, squared


class _Cells:
    """Rows and targets by the nearest of some targets, the hubs.

    In rows that lie in clumps nearly all targets that are near a row are in its own cell. About
    its hub norms are small, and so is what single precision rounds. A hub that is wrong by rounding
    costs time only.
    """

    def __init__(self, race: FarthestRace, rows: Indices) -> None:
        self.race = race
        targets = race.targets
        self.hubs = targets.rows[:: max(targets.n // _HUBS_OF_CELLS, 1)]
        self.cell_of_row = np.zeros(len(race.queries), dtype=np.intp)
        self.cell_of_row[rows] = self._nearest_hub(race.queries[rows])
        cell_of_target = self._nearest_hub(targets.rows)
        in_order = np.argsort(cell_of_target, kind="stable")
        self.cell_of_target = cell_of_target[in_order]
        self.targets = targets.rows[in_order]

    def _nearest_hub(self, rows: Floats) -> Indices:
        """The nearest hub of every row, up to rounding."""
        targets = self.race.targets
        hub_block = targets.block(self.hubs, np.float32, +1)
        nearest = np.empty(len(rows), dtype=np.intp)
        for portion in portions(len(rows), _FILTER_CELLS // len(self.hubs)):
            prepared, _ = targets.prepare(rows[portion], np.float32)
            targets.work.distances += len(self.hubs) * len(prepared)
            nearest[portion] = (prepared @ hub_block.T).argmin(axis=1)
        return nearest

    def meet(self, rows: Indices, most_targets: int, upper_bounds: Floats) -> None:
        """Lower the upper bounds of rows by some targets of their cells, in place."""
        targets = self.race.targets
        rows = rows[np.argsort(self.cell_of_row[rows], kind="stable")]
        cell_of_row = self.cell_of_row[rows]
        sizes = np.bincount(self.cell_of_target, minlength=len(self.hubs))
        place_in_cell = np.arange(targets.n) - (np.cumsum(sizes) - sizes)[self.cell_of_target]
        every = -(-sizes // most_targets)
        occupied = np.zeros(len(self.hubs), dtype=bool)
        occupied[cell_of_row] = True
        chosen = place_in_cell % np.maximum(every, 1)[self.cell_of_target] == 0
        met = np.flatnonzero(chosen & occupied[self.cell_of_target])
        cell_of_met = self.cell_of_target[met]
        queries = self.race.queries[rows]
        rounding = 4 * targets.gamma(np.float32)
        least = SINGLE_PRECISION_BELOW * self.race.best.squared * targets.unit**2
        scan_type: type[np.floating[Any]] = np.float32
        prepared, squared_norms = targets.prepare(queries, scan_type, self.hubs[cell_of_row])
        if rounding * np.median(squared_norms) > least:
            scan_type = np.float64
            prepared, squared_norms = targets.prepare(queries, scan_type, self.hubs[cell_of_row])
        block = targets.block(self.targets[met], scan_type, +1, self.hubs[cell_of_met])
        cells = np.arange(len(self.hubs) + 1)
        row_ends = np.searchsorted(cell_of_row, cells).tolist()
        met_ends = np.searchsorted(cell_of_met, cells).tolist()
        bounds = np.full(rows.size, np.inf)
        for cell in np.unique(cell_of_row).tolist():
            of_cell = block[met_ends[cell] : met_ends[cell + 1]]
            own_rows = range(row_ends[cell], row_ends[cell + 1])
            if not len(of_cell):
                continue
            targets.work.distances += len(of_cell) * len(own_rows)
            for portion in portions(len(own_rows), _FILTER_CELLS // most_targets):
                own = slice(own_rows[portion][0], own_rows[portion][-1] + 1)
                bounds[own] = (of_cell @ prepared[own].T).min(axis=0)
        bounds += squared_norms * (1 + targets.gamma(scan_type))
        upper_bounds[rows] = np.minimum(upper_bounds[rows], bounds / targets.unit**2)


def _drop_within_cells(race: FarthestRace, rows_left: Indices, upper_bounds: Floats) -> Indices:
    """Let rows meet targets of their own cells, first few, then, after L has risen, many.

    The rows that are left.
    """
    cells = _Cells(race, rows_left)
    for most_targets in _TARGETS_OF_CELL:
        cells.meet(rows_left, most_targets, upper_bounds)
        rows_left = rows_left[upper_bounds[rows_left] > race.dropped_at]
        rows_left = _scan_largest(race, rows_left, upper_bounds)
        if rows_left.size <= _FEW_ROWS:
            break
    return rows_left


def _scan_largest(race: FarthestRace, rows_left: Indices, upper_bounds: Floats) -> Indices:
    """Scan the rows with the largest bounds while that takes many others out.

    The rows that are left.
    """
    for _ in range(_ROUNDS):
        if not rows_left.size:
            return rows_left
        squared_before = race.best.squared
        n_before = rows_left.size
        n_scanned = min(ROWS_OF_SCAN, rows_left.size)
        largest_places = np.argpartition(upper_bounds[rows_left], rows_left.size - n_scanned)[
            rows_left.size - n_scanned :
        ]
        race.scan(rows_left[largest_places])
        upper_bounds[rows_left[largest_places]] = -np.inf
        rows_left = rows_left[upper_bounds[rows_left] > race.dropped_at]
        if rows_left.size > _FEW_ROWS and (
            race.best.squared <= squared_before * 1.01 or rows_left.size > 0.9 * n_before
        ):
            break
    while 0 < rows_left.size <= _FEW_ROWS:
        race.scan(rows_left[:ROWS_OF_SCAN])
        rows_left = rows_left[ROWS_OF_SCAN:][
            upper_bounds[rows_left[ROWS_OF_SCAN:]] > race.dropped_at
        ]
    return rows_left
