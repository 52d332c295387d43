"""Rows in the race for the largest distance to the nearest target, and the best one so far."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from fairstats.ground.checks import Floats
from fairstats.methods.hfm.blocks import TIE, Targets, squared_pairs
from fairstats.methods.hfm.rows import Indices, portions
from fairstats.methods.hfm.trees import FLAT, NEAR_FACTOR, TreeTargets

#: Single precision may bound a distance only where its rounding is below this share of L².
SINGLE_PRECISION_BELOW = 0.02
#: Distances computed directly at a time.
DIRECT_CELLS = 1 << 17
#: Rows of one scan.
ROWS_OF_SCAN = 16
#: Of random rows and targets, so that the same sets always take the same way.
SEED = 3
#: Targets whose mean is a middle from which rows are far.
MIDDLE_OF = 256


class Farthest(NamedTuple):
    """The row that is farthest from the targets.

    Its squared minimum, the row, its nearest target.
    """

    squared: float
    query: int
    target: int


class FarthestRace:
    """Rows still in the race, and the best of those that were scanned."""

    def __init__(self, queries: Floats, targets: Targets, floor: float) -> None:
        self.queries = queries
        self.targets = targets
        self.best = Farthest(floor, 0, 0)

    @property
    def dropped_at(self) -> float:
        """Squared distance of a target that takes a row out of the race: L², and what is a tie."""
        return self.best.squared * (1 + TIE)

    def scan_type(self) -> type[np.floating[Any]]:
        """Single precision where its rounding is small beside L, as it is so far."""
        targets = self.targets
        rounding = 4 * targets.gamma(np.float32) * targets.typical_norm / targets.unit**2
        if rounding < SINGLE_PRECISION_BELOW * self.best.squared:
            return np.float32
        return np.float64

    def scan(self, rows: Indices) -> tuple[Floats, Indices]:
        """Scan rows; L rises where one of them is farther.

        Rows are left as soon as they are out.
        """
        squared, nearest = self.targets.scan(self.queries[rows], at_least=self.dropped_at)
        self.offer(rows, squared, nearest)
        return squared, nearest

    def scan_directly(self, rows: Indices) -> Floats:
        """Scan few rows by direct differences, to the end; L rises where one of them is farther.

        Their squared minima.
        """
        squared = np.empty(rows.size)
        nearest = np.empty(rows.size, dtype=np.intp)
        for portion in portions(rows.size, max(DIRECT_CELLS // self.targets.n, 1)):
            distances = cdist(self.queries[rows[portion]], self.targets.rows, "sqeuclidean")
            self.targets.work.distances += distances.size
            nearest[portion] = distances.argmin(axis=1)
            squared[portion] = squared_pairs(
                self.queries, rows[portion], self.targets.rows, nearest[portion]
            )
        self.offer(rows, squared, nearest)
        return squared

    def scan_all(self, rows: Indices, size: int) -> None:
        """Scan many rows, so many at a time."""
        for portion in portions(rows.size, size):
            self.scan(rows[portion])

    def offer(self, rows: Indices, squared: Floats, nearest: Indices) -> None:
        """Exact minima of rows."""
        farthest_place = int(squared.argmax())
        if squared[farthest_place] > self.dropped_at:
            self.best = Farthest(
                float(squared[farthest_place]),
                int(rows[farthest_place]),
                int(nearest[farthest_place]),
            )


def settle_on_line(race: FarthestRace) -> None:
    """Settle all rows in one dimension: values in order are quicker than their places."""
    target_values = np.sort(race.targets.rows[:, 0])
    query_values = race.queries[:, 0]
    places = np.searchsorted(target_values, query_values)
    above = target_values.take(places, mode="clip")
    below = target_values.take(places - 1, mode="clip")
    gaps = np.minimum(np.abs(above - query_values), np.abs(query_values - below))
    race.targets.work.distances += 2 * query_values.size
    row = np.array([gaps.argmax()])
    nearest = np.array([np.abs(race.targets.rows[:, 0] - query_values[row]).argmin()])
    race.offer(row, squared_pairs(race.queries, row, race.targets.rows, nearest), nearest)


def through_tree(race: FarthestRace, tree: TreeTargets, rows_left: Indices) -> None:
    """Bound every row by a near target of a tree, then settle those that are left."""
    if race.targets.d <= FLAT:
        race.offer(rows_left, *tree.nearest(race.queries[rows_left]))
        return
    upper_bounds, _ = tree.nearest(race.queries[rows_left], NEAR_FACTOR)
    largest_first = np.argsort(-upper_bounds)
    first_place = 0
    n_scanned = ROWS_OF_SCAN
    while first_place < (n_open := int(np.count_nonzero(upper_bounds > race.dropped_at))):
        row_numbers = rows_left[largest_first[first_place : min(first_place + n_scanned, n_open)]]
        race.offer(row_numbers, *tree.nearest(race.queries[row_numbers]))
        first_place = first_place + n_scanned
        n_scanned = 2 * n_scanned
