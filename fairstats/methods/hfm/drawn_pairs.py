"""Distances of the same few rows under many labellings at once, from all their pairs.

The sixteen nearest rows of every row are put in order once; the nearest row with a value is mostly
the first of them that bears it, else the nearest of all that do. Tables have the draws on their
last axis: a row's values under all draws lie together, and are copied and compared at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.methods.hfm.rows import Indices, Mask

#: Values of an attribute, times labels, up to which all draws are looked at together: every value
#: is looked for by itself.
MOST_CODES = 8
_FIRST_NEIGHBOURS = 16
#: Codes of neighbours in memory at a time.
_CODES_AT_A_TIME = 4_000_000
#: Pairs in memory at a time, of rows that have nothing of what they seek near.
_PAIRS_AT_A_TIME = 500_000
_ABSENT = -1

#: Codes of the rows under many draws, shape (n, B).
Codes = NDArray[np.int8]


class DrawnPairs:
    """`squared`, shape (n, n): squared distances of all rows; `parts`: as in `AllPairs`."""

    def __init__(self, squared: Floats, parts: list[tuple[Indices, int, list[int]]]) -> None:
        n_first = min(_FIRST_NEIGHBOURS, len(squared))
        nearest = np.argpartition(squared, n_first - 1, axis=1)[:, :n_first]
        distances = np.take_along_axis(squared, nearest, axis=1)
        in_order = np.argsort(distances, axis=1, kind="stable")
        #: The nearest rows of every row, nearest first, and their squared distances.
        self._order = np.take_along_axis(nearest, in_order, axis=1)
        self._squared = np.take_along_axis(distances, in_order, axis=1)
        self._all_squared = squared
        self._parts = []
        for codes, n_codes, side_codes in parts:
            self._parts.append((codes.astype(np.int8), n_codes, side_codes))

    def permuted(self, orders: Indices) -> Floats:
        """Largest distance of every side with the values of row ``orders[b, i]`` in row i, (B, n) →
        (B, sides).
        """
        drawn = []
        for block in self._blocks(orders):
            sides = []
            for codes, n_codes, side_codes in self._parts:
                sides.append(self._of_codes(codes[block], n_codes, side_codes))
            drawn.append(np.hstack(sides))
        return np.concatenate(drawn)

    def present(self, present: Mask) -> Floats:
        """The same of the rows that are present, (B, n) → (B, sides); NaN where a side is empty."""
        drawn = []
        for block in self._blocks(present):
            sides = []
            for codes, n_codes, side_codes in self._parts:
                drawn_codes = np.where(block, codes, np.int8(_ABSENT))
                sides.append(self._of_codes(drawn_codes, n_codes, side_codes))
            drawn.append(np.hstack(sides))
        return np.concatenate(drawn)

    def relabelled(self, labels: Indices, n_labels: int) -> Floats:
        """The same with labels, (B, n): rows whose labels differ are 1 further apart, squared."""
        drawn = []
        for block in self._blocks(labels.astype(np.int8)):
            drawn_labels = np.ascontiguousarray(block.T)
            label_codes = np.arange(n_labels, dtype=np.int8)
            differs = label_codes[:, None, None] != drawn_labels
            sides = []
            for codes, n_codes, side_codes in self._parts:
                drawn_codes = np.broadcast_to(codes[:, None], drawn_labels.shape)
                nearest = self._nearest(drawn_codes * n_labels + drawn_labels, n_codes * n_labels)
                nearest = nearest.reshape(n_codes, n_labels, *drawn_labels.shape)
                nearest += differs
                sides.append(_largest_of_sides(drawn_codes, nearest.min(axis=1), side_codes))
            drawn.append(np.hstack(sides))
        return np.concatenate(drawn)

    def _blocks(self, draws: NDArray[Any]) -> Iterator[NDArray[Any]]:
        """Draws whose neighbours' codes fit into memory."""
        at_a_time = max(_CODES_AT_A_TIME // (len(self._order) * _FIRST_NEIGHBOURS), 1)
        for start in range(0, len(draws), at_a_time):
            yield draws[start : start + at_a_time]

    def _of_codes(self, codes: Codes, n_codes: int, side_codes: list[int]) -> Floats:
        """Largest distance of every side under codes (B, n)."""
        drawn_codes = np.ascontiguousarray(codes.T)
        return _largest_of_sides(drawn_codes, self._nearest(drawn_codes, n_codes), side_codes)

    def _nearest(self, codes: Codes, n_codes: int) -> Floats:
        """Squared distance to the nearest row with every code, (n, B) → (codes, n, B).

        Infinite for none.
        """
        codes = codes.astype(np.int8, copy=False)
        n_rows, n_draws = codes.shape
        nearest = np.full((n_codes, n_rows, n_draws), np.inf)
        first_of_row = self._order.shape[1] * np.arange(n_rows)[:, None]
        for code in range(n_codes):
            bears_code = codes == code
            places, is_found = self._first_places(bears_code)
            places = np.where(is_found, places, 0)
            squared = self._squared.take(first_of_row + places)
            np.copyto(nearest[code], squared, where=is_found)
            occurs = bears_code.any(axis=0)
            open_rows, draws = np.nonzero(~is_found & occurs)
            for start in range(0, draws.size, _PAIRS_AT_A_TIME // n_rows + 1):
                chosen = slice(start, start + _PAIRS_AT_A_TIME // n_rows + 1)
                row = open_rows[chosen]
                bearers = bears_code.take(draws[chosen], axis=1).T
                of_bearers = np.where(bearers, self._all_squared.take(row, axis=0), np.inf)
                nearest[code, row, draws[chosen]] = of_bearers.min(axis=1)
        return nearest

    def _first_places(self, bears: Mask) -> tuple[NDArray[np.int8], Mask]:
        """The first of the sixteen nearest rows of every row that bears something, and whether one
        does, (n, B) → (n, B).

        The place is the number of rows that are passed before one is found.
        """
        places = np.zeros(bears.shape, dtype=np.int8)
        is_found = np.zeros(bears.shape, dtype=bool)
        for neighbours in self._order.T:
            is_found |= bears[neighbours]
            places += ~is_found
        return places, is_found


def _largest_of_sides(codes: Codes, nearest: Floats, side_codes: list[int]) -> Floats:
    """Largest distance of every side from the other rows, shape (B, sides); NaN where either has
    none.
    """
    bears = []
    for code in range(len(nearest)):
        bears.append(codes == code)
    # of a row's own value: the nearest row of any other
    of_others = np.full(codes.shape, np.inf)
    for bears_code, nearest_of_code in zip(bears, nearest, strict=True):
        np.minimum(of_others, nearest_of_code, out=of_others, where=~bears_code)
    is_present = codes >= 0
    n_present = is_present.sum(axis=0)
    distances = np.empty((codes.shape[1], len(side_codes)))
    for place, code in enumerate(side_codes):
        size = bears[code].sum(axis=0)
        squared = np.where(bears[code], of_others, nearest[code])
        largest = squared.max(axis=0, where=is_present, initial=-np.inf)
        lacking = (size == 0) | (size == n_present)
        with np.errstate(invalid="ignore"):
            distances[:, place] = np.sqrt(np.where(lacking, np.nan, largest))
    return distances
