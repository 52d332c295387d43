"""Codes and what they stand for, and how integers and small whole floats are coded without
hashing.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Code of a missing value.
MISSING = -1
#: Rows that are coded at a time, so that memory stays small.
_BLOCK_ROWS = 1 << 20
#: Integers within so many values are coded by position instead of by hashing.
SMALL_RANGE = 1 << 16
#: Floats between −_FEW and _FEW are looked at as whole numbers first.
_LARGEST_SMALL_FLOAT = 31


@dataclass(frozen=True)
class Factor:
    """Integer codes and the values that they stand for.

    `codes`, shape (n,): position in `levels`, -1 where missing; `levels`: the distinct values, in
    order of appearance or size, or (`ordered_by_user`) as a categorical column declared them;
    `declared`: its categories then, with those that no row has (they are no levels: a filter leaves
    them behind).
    """

    codes: NDArray[np.signedinteger[Any]]
    levels: tuple[Hashable, ...]
    ordered_by_user: bool = False
    declared: tuple[Hashable, ...] = ()

    @property
    def has_missing(self) -> bool:
        """Whether any value is missing."""
        return bool(self.codes.size) and int(self.codes.min()) == MISSING


def code_type(n_levels: int) -> type[np.signedinteger[Any]]:
    """The smallest type of integers that can number so many levels."""
    if n_levels < 127:
        return np.int8
    return np.int16 if n_levels < 32_767 else np.int32


def factor_of_range(array: NDArray[Any], low: int, high: int, *, as_bool: bool = False) -> Factor:
    """Codes of integers in [low, high], block by block so that memory stays small."""
    n_values = high - low + 1
    is_present = np.zeros(n_values, dtype=bool)
    block_slices = []
    for block_start in range(0, array.size, _BLOCK_ROWS):
        block_slices.append(slice(block_start, block_start + _BLOCK_ROWS))
    for block_rows in block_slices:
        is_present |= np.bincount(array[block_rows].astype(np.int64) - low, minlength=n_values) > 0
    values = is_present.nonzero()[0].tolist()
    type_of_codes = code_type(len(values))
    code_of = np.full(n_values, MISSING, dtype=type_of_codes)
    code_of[is_present] = np.arange(len(values))
    codes = np.empty(array.size, dtype=type_of_codes)
    for block_rows in block_slices:
        codes[block_rows] = code_of[array[block_rows].astype(np.int64) - low]
    if as_bool:
        return Factor(codes, tuple(map(bool, values)))
    return Factor(codes, tuple([value + low for value in values]))


def factor_of_few(array: NDArray[Any]) -> Factor | None:
    """Codes of floats that are small whole numbers, as encoded categories are.

    Levels by first appearance.
    """
    if array.size:
        smallest = float(array.min())
        greatest = float(array.max())
    else:
        smallest = np.nan
        greatest = np.nan
    # NaN, too
    if not (
        -_LARGEST_SMALL_FLOAT <= smallest <= greatest <= _LARGEST_SMALL_FLOAT
        and smallest.is_integer()
        and greatest.is_integer()
    ):
        return None
    whole_numbers = array.astype(np.int8)
    if not np.array_equal(whole_numbers, array):
        return None
    candidate_values = range(int(smallest), int(greatest) + 1)
    first_position = {
        candidate: int(is_value.argmax())
        for candidate in candidate_values
        if (is_value := whole_numbers == candidate).any()
    }
    code_of = np.zeros(2 * _LARGEST_SMALL_FLOAT + 1, dtype=np.int8)
    levels = sorted(first_position, key=first_position.__getitem__)
    code_of[np.array(levels) + _LARGEST_SMALL_FLOAT] = np.arange(len(levels))
    return Factor(code_of[whole_numbers + np.int8(_LARGEST_SMALL_FLOAT)], tuple(levels))
