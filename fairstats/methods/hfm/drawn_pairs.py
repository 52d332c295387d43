"""Distances of the same few rows under many labellings at once, from all their pairs.

The rows are put in the order of their distance from every row once; the nearest row with a value is
then the first in that order that bears it, mostly among the first sixteen.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
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
_ABSENT = -1


class DrawnPairs:
    """`squared`, shape (n, n): squared distances of all rows; `parts`: as in `AllPairs`."""

    def __init__(self, squared: Floats, parts: list[tuple[Indices, int, list[int]]]) -> None:
        self._order = np.argsort(squared, axis=1, kind="stable")
        self._squared = np.take_along_axis(squared, self._order, axis=1)
        self._parts = parts

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
                sides.append(self._of_codes(np.where(block, codes, _ABSENT), n_codes, side_codes))
            drawn.append(np.hstack(sides))
        return np.concatenate(drawn)

    def relabelled(self, labels: Indices, n_labels: int) -> Floats:
        """The same with labels, (B, n): rows whose labels differ are 1 further apart, squared."""
        drawn = []
        for block in self._blocks(labels):
            differs = np.arange(n_labels)[:, None] != block[:, None, :]
            sides = []
            for codes, n_codes, side_codes in self._parts:
                nearest = self._nearest(codes * n_labels + block, n_codes * n_labels)
                nearest = nearest.reshape(len(block), n_codes, n_labels, -1)
                nearest += differs[:, None]
                sides.append(
                    _largest_of_sides(
                        np.broadcast_to(codes, block.shape), nearest.min(axis=2), side_codes
                    )
                )
            drawn.append(np.hstack(sides))
        return np.concatenate(drawn)

    def _blocks(self, draws: NDArray[Any]) -> Iterator[NDArray[Any]]:
        """Draws whose neighbours' codes fit into memory."""
        at_a_time = max(_CODES_AT_A_TIME // (len(self._order) * _FIRST_NEIGHBOURS), 1)
        for start in range(0, len(draws), at_a_time):
            yield draws[start : start + at_a_time]

    def _of_codes(self, codes: Indices, n_codes: int, side_codes: list[int]) -> Floats:
        return _largest_of_sides(codes, self._nearest(codes, n_codes), side_codes)

    def _nearest(self, codes: Indices, n_codes: int) -> Floats:
        """Squared distance to the nearest row with every code, (B, n) → (B, codes, n).

        Infinite for none.
        """
        small_codes = codes.astype(np.int8)
        n_draws, n_rows = codes.shape
        seen = small_codes[:, self._order[:, :_FIRST_NEIGHBOURS]]
        nearest = np.full((n_draws, n_codes, n_rows), np.inf)
        rows = np.arange(n_rows)
        for code in range(n_codes):
            first = _first_places(seen == code)
            found = first < seen.shape[2]
            first = np.where(found, first, 0)
            np.copyto(nearest[:, code], self._squared[rows, first], where=found)
            occurs = (small_codes == code).any(axis=1)
            draws, open_rows = np.nonzero(~found & occurs[:, None])
            for start in range(0, draws.size, _CODES_AT_A_TIME // n_rows + 1):
                chosen = slice(start, start + _CODES_AT_A_TIME // n_rows + 1)
                row = open_rows[chosen]
                bears_code = small_codes[draws[chosen, None], self._order[row]] == code
                first_place = bears_code.argmax(axis=1)
                nearest[draws[chosen], code, row] = self._squared[row, first_place]
        return nearest


def _first_places(bears: NDArray[np.bool_]) -> NDArray[np.int8]:
    """First place of up to 16 that is true, on the last axis, (…, k) → (…); 16 for none.

    Sixteen truth values are one number of 16 bits, whose lowest bit a table knows.
    """
    packed = np.packbits(bears, axis=-1, bitorder="little")
    bits = packed[..., 0].astype(np.uint16)
    if packed.shape[-1] > 1:
        bits |= packed[..., 1].astype(np.uint16) << np.uint16(8)
    return np.asarray(_lowest_bits().take(bits))


@cache
def _lowest_bits() -> NDArray[np.int8]:
    """Place of the lowest bit of every number of 16 bits; 16 for 0."""
    places = np.full(1 << _FIRST_NEIGHBOURS, _FIRST_NEIGHBOURS, dtype=np.int8)
    for place in reversed(range(_FIRST_NEIGHBOURS)):
        places[1 << place :: 2 << place] = place
    return places


def _largest_of_sides(codes: Indices, nearest: Floats, side_codes: list[int]) -> Floats:
    """Largest distance of every side from the other rows, shape (B, sides); NaN where either has
    none.
    """
    n_codes = nearest.shape[1]
    is_present = codes >= 0
    own = np.maximum(codes, 0)[:, None]
    np.put_along_axis(nearest, own, np.inf, axis=1)
    # of a row's own value: the nearest row of any other
    np.put_along_axis(nearest, own, nearest.min(axis=1, keepdims=True), axis=1)
    largest = np.where(is_present[:, None], nearest, -np.inf).max(axis=2)
    sizes = np.stack([(codes == code).sum(axis=1) for code in range(n_codes)], axis=1)
    lacking = (sizes == 0) | (sizes == is_present.sum(axis=1)[:, None])
    with np.errstate(invalid="ignore"):
        distances = np.sqrt(np.where(lacking, np.nan, largest))
    return np.asarray(distances[:, side_codes])
