"""Codes and what they stand for, and how integers and small whole floats are coded without hashing."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Code of a missing value.
MISSING = -1
#: Rows that are coded at a time, so that memory stays small.
_BLOCK = 1 << 20
#: Integers within so many values are coded by position instead of by hashing.
SMALL_RANGE = 1 << 16
#: Floats between −_FEW and _FEW are looked at as whole numbers first.
_FEW = 31


@dataclass(frozen=True)
class Factor:
    """Integer codes and the values that they stand for.

    `codes`, shape (n,): position in `levels`, -1 where missing; `levels`: the distinct values, in order of
    appearance or size, or (`ordered_by_user`) as a categorical column declared them; `declared`: its categories
    then, with those that no row has (they are no levels: a filter leaves them behind).
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
    present = np.zeros(n_values, dtype=bool)
    blocks = [slice(start, start + _BLOCK) for start in range(0, array.size, _BLOCK)]
    for block in blocks:
        present |= np.bincount(array[block].astype(np.int64) - low, minlength=n_values) > 0
    values = np.flatnonzero(present)
    code_of = np.full(n_values, MISSING, dtype=code_type(values.size))
    code_of[values] = np.arange(values.size)
    codes = np.empty(array.size, dtype=code_type(values.size))
    for block in blocks:
        codes[block] = code_of[array[block].astype(np.int64) - low]
    return Factor(codes, tuple(bool(v) if as_bool else int(v) + low for v in values))


def factor_of_few(array: NDArray[Any]) -> Factor | None:
    """Codes of floats that are small whole numbers, as encoded categories are; levels by first appearance."""
    low, high = (float(array.min()), float(array.max())) if array.size else (np.nan, np.nan)
    if not (-_FEW <= low <= high <= _FEW and low.is_integer() and high.is_integer()):  # NaN, too
        return None
    whole = array.astype(np.int8)
    if not np.array_equal(whole, array):
        return None
    between = range(int(low), int(high) + 1)
    first = {value: int(at.argmax()) for value in between if (at := whole == value).any()}
    code_of = np.zeros(2 * _FEW + 1, dtype=np.int8)
    levels = sorted(first, key=first.__getitem__)
    code_of[np.array(levels) + _FEW] = np.arange(len(levels))
    return Factor(code_of[whole + np.int8(_FEW)], tuple(levels))
