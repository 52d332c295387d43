"""All rows settled at once by SciPy's loop or by a tree, where there are not so many pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist, directed_hausdorff

from fairstats.methods.hfm.blocks import TIE, squared_pairs
from fairstats.methods.hfm.race import MIDDLE_OF, SEED, FarthestRace, through_tree
from fairstats.methods.hfm.rows import Indices
from fairstats.methods.hfm.trees import FLAT, TreeTargets

#: Rows by which it is judged what is quickest, targets for the leaves of a tree, and rows of SciPy's
#: loop that decide where it is in doubt.
_JUDGED_ROWS = 5
_JUDGED_TARGETS = 400
_FIRST_OF_LOOP = 16
#: Squared distance to the nearest target, of that to the 16th, up to which a row is a near copy.
_NEAR_COPY = 1e-3
#: Nanoseconds of a row of the loop besides its targets.
_LOOP_ROW = 40
#: The loop is taken before other ways that are expected to be up to so many times as quick: L rises
#: more than the first rows tell.
_LOOP_BEFORE = 2.5
#: Nanoseconds of a row put to a tree at least, whose leaves have so many targets; targets that a row
#: visits up to which leaves need not be compact.
_TREE_ROW = 350
_FEW_VISITED = 24
_LEAF = 16


def settle_at_once(race: FarthestRace) -> bool:
    """Settle all of not so many rows by SciPy's loop or by a tree, where either is quicker than
    blocks; whether it did.

    The loop (Taha & Hanbury 2015) leaves a row at its first target within L, L rising with each
    row. Portions and blocks need fewer nanoseconds a pair, but a millisecond of calls. How many
    targets a row meets there, and how many it visits in a tree, is judged by a few rows:
    n·(40 + pairs·(1 + d/4)) nanoseconds the loop, m·(50 + 2d) + n·max(350, .8·d·visited) a tree,
    n·m·(1 + .016·d) blocks.
    """
    targets = race.targets
    n = len(race.queries)
    trial = _Trial(race)
    loop_cost = trial.loop_cost(float(trial.least.max()))
    blocks_cost = n * targets.n * (1 + 0.016 * targets.d)
    least_tree_cost = trial.build_cost + n * _TREE_ROW
    if loop_cost <= _LOOP_BEFORE * min(blocks_cost, least_tree_cost):
        _loop(race)
        return True
    tree = trial.ask_about_tree()
    quick_enough = _LOOP_BEFORE * min(blocks_cost, tree.cost)
    if loop_cost <= quick_enough:
        _loop(race)
        return True
    if not tree.meets_near_copies:
        # L of few rows is low: some more, and a far one, tell what becomes of it
        _loop(race, _spread_and_far_rows(race))
    if trial.loop_cost(race.best.squared) <= quick_enough:
        _loop(race)
        return True
    if blocks_cost < tree.cost:
        return False
    if targets.d <= FLAT or tree.visited <= _FEW_VISITED:
        _by_plain_tree(race)
    else:
        through_tree(race, TreeTargets(targets), np.arange(n))
    return True


class _TreeOutlook(NamedTuple):
    """What a tree is expected to need.

    `cost`: nanoseconds; `visited`: targets that a row visits; `meets_near_copies`: whether rows are
    near copies of targets.
    """

    cost: float
    visited: float
    meets_near_copies: bool


class _Trial:
    """A few rows, by which it is judged what the ways cost, in nanoseconds.

    `squared`, shape (5, m): their squared distances; `least`, (5,): of these the minima.
    """

    def __init__(self, race: FarthestRace) -> None:
        self._n = len(race.queries)
        self._targets = race.targets
        rows = (np.arange(_JUDGED_ROWS) * self._n + self._n // 2) // _JUDGED_ROWS
        self.squared = cdist(race.queries.take(rows, axis=0), race.targets.rows, "sqeuclidean")
        race.targets.work.distances += self.squared.size
        self.least = self.squared.min(axis=1)
        self.build_cost = race.targets.n * (50 + 2 * race.targets.d)

    def loop_cost(self, squared_level: float) -> float:
        """Of SciPy's loop over all rows, once L² is so large."""
        # of the row that is farthest L itself is the minimum: the median leaves it out
        near = np.count_nonzero(self.squared < squared_level * (1 - TIE), axis=1)
        pairs = self._targets.n / max(float(np.median(near)), 1.0)
        return float(self._n * (_LOOP_ROW + pairs * (1 + 0.25 * self._targets.d)))

    def ask_about_tree(self) -> _TreeOutlook:
        """What a tree needs, which opens leaves about as wide as a row is from its 16th target."""
        n_targets = self._targets.n
        some = self.squared[:, :: max(n_targets // _JUDGED_TARGETS, 1)]
        place_of_leaf = min(max(_LEAF * some.shape[1] // n_targets, 1), some.shape[1] - 1)
        leaf = np.partition(some, place_of_leaf, axis=1)[:, place_of_leaf]
        reach = np.square(np.sqrt(self.least) + np.sqrt(leaf))
        visited = np.count_nonzero(some <= reach[:, None]) * n_targets / some.size
        cost_per_row = max(_TREE_ROW, 0.8 * self._targets.d * visited)
        return _TreeOutlook(
            cost=self.build_cost + self._n * cost_per_row,
            visited=visited,
            meets_near_copies=bool(self.least.max() <= _NEAR_COPY * leaf.min()),
        )


def _spread_and_far_rows(race: FarthestRace) -> Indices:
    """Some rows at even places, and the one that is farthest from the middle of the targets."""
    n = len(race.queries)
    spread = (np.arange(_FIRST_OF_LOOP) * n + n // 3) // _FIRST_OF_LOOP
    targets = race.targets
    centred = race.queries - targets.rows[:: max(targets.n // MIDDLE_OF, 1)].mean(axis=0)
    norms = np.einsum("ij,ij->i", centred, centred)
    return np.append(spread, norms.argmax())


def _by_plain_tree(race: FarthestRace) -> None:
    """Settle all rows by a tree whose leaves are not made compact: quicker where few are opened."""
    targets = race.targets
    tree = cKDTree(targets.rows, balanced_tree=False, compact_nodes=False)
    distances, nearest = tree.query(race.queries)
    targets.work.tree_queries += len(distances)
    row = np.array([distances.argmax()])
    squared = squared_pairs(race.queries, row, targets.rows, nearest[row])
    race.offer(row, squared, nearest[row])


def _loop(race: FarthestRace, rows: Indices | None = None) -> None:
    """Settle some rows, or all, by SciPy's loop."""
    targets = race.targets
    queries = race.queries if rows is None else race.queries.take(rows, axis=0)
    # a generator is a tenth of the time of the seed of one
    generator = np.random.default_rng(SEED)
    _, place, target = directed_hausdorff(queries, targets.rows, rng=generator)
    targets.work.loop_rows += len(queries)
    row = np.array([place if rows is None else rows[place]])
    nearest = np.array([target])
    race.offer(row, squared_pairs(race.queries, row, targets.rows, nearest), nearest)
