"""The nuisance rates of exact tests: those of the larger group that its counts leave.

They and the tails of its law depend on that group alone, so that they are computed once for all
groups beside it and all null values.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from math import asin, ceil, floor, pi, sin, sqrt

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.numerics.rates.binomial import binomial_run, clopper_pearson

#: Error of the nuisance rate's interval, part of every p-value.
GAMMA = 1e-7
#: Spacing of nuisance rates, in standard errors of the larger group's rate on the angular scale.
SPACING = 0.22
#: Fewest nuisance rates.
_FEWEST = 24
#: P(X ≥ Mx) is about exp(−2M(arcsin √x − arcsin √q)²): beyond this angle times 1/√M some 1e-13 is
#: left. Near rates of 0 and 1 the exponent is half of that: where all M are left out, at least one
#: count further, (cos(4.87/√M))^2M ≤ 5e-11, beside the 1e-7 of GAMMA that every p-value has in it.
REACH = 3.87
#: Tail probabilities of so many counts and rates are tabulated; more are computed one by one.
_MOST_TABULATED = 400_000
#: Larger groups that are kept: one reference beside many groups, or each of many.
_KEPT = 64


@dataclass(frozen=True, eq=False)
class LargerGroup:
    """Nuisance rates of a group with k₀ of n₀, and the tails of its law.

    Attributes
    ----------
    angle_ends : tuple of float
        Ends of the rate's interval of level 1 − γ (Clopper & Pearson), as arcsin √rate.
    rates : ndarray, shape (G,)
        Nuisance rates, even in that angle.
    first_count, last_count : int
        Counts that are not all but impossible at any of them.
    tails : ndarray, shape (2·T, G), or None
        P(X < first_count + t), of t = 0, …, T − 1 = last_count − first_count + 1, and below them
        P(X ≥ first_count + t); None where there are too many.
    lost : ndarray, shape (G,)
        What rounding loses of a total of 1 (1e-11 of 20,000 cases).
    """

    angle_ends: tuple[float, float]
    rates: Floats
    first_count: int
    last_count: int
    tails: Floats | None
    lost: Floats

    @classmethod
    def of(cls, k0: int, n0: int) -> LargerGroup:
        """Those of one group."""
        low, high = clopper_pearson(k0, n0, GAMMA)
        angle_ends = asin(sqrt(low)), asin(sqrt(high))
        standard_errors = 2 * sqrt(n0) * (angle_ends[1] - angle_ends[0])
        points = max(ceil(standard_errors / SPACING), _FEWEST - 1) + 1
        rates = np.sin(np.linspace(*angle_ends, points)) ** 2
        reach = REACH / sqrt(n0)
        first_count = floor(n0 * sin(max(angle_ends[0] - reach, 0.0)) ** 2)
        last_count = ceil(n0 * sin(min(angle_ends[1] + reach, pi / 2)) ** 2)
        tails = None
        lost = np.zeros(points)
        if (last_count - first_count + 1) * points <= _MOST_TABULATED:
            counts = np.arange(first_count, last_count + 1.0)
            from_top = 2 * k0 > n0
            if from_top:
                counts = counts[::-1]
            masses = binomial_run(counts, n0, rates, descending=from_top)
            if from_top:
                masses = masses[::-1]
            number = len(masses) + 1
            tails = np.zeros((2 * number, points))
            np.cumsum(masses, axis=0, out=tails[1:number])
            np.subtract(1.0, tails[:number], out=tails[number:])
            lost = tails[-1]
        return cls(
            angle_ends=angle_ends,
            rates=rates,
            first_count=first_count,
            last_count=last_count,
            tails=tails,
            lost=lost,
        )


@functools.lru_cache(maxsize=_KEPT)
def larger_group(k0: int, n0: int) -> LargerGroup:
    """`LargerGroup.of`, kept for the next group beside it."""
    return LargerGroup.of(k0, n0)


class Tails:
    """The tables of several larger groups with as many nuisance rates, one below the other.

    Attributes
    ----------
    table : ndarray, shape (T, G), or None
        None where they have none.
    """

    def __init__(self, groups: Sequence[LargerGroup]) -> None:
        self._offsets: dict[int, int] = {}
        tables = []
        rows = 0
        for group in groups:
            self._offsets[id(group)] = rows
            if group.tails is not None:
                tables.append(group.tails)
                rows += len(group.tails)
        self.table: Floats | None = None
        if tables:
            self.table = tables[0] if len(tables) == 1 else np.concatenate(tables)

    def offsets(self, groups: Sequence[LargerGroup]) -> NDArray[np.int64]:
        """First row of each group's table, shape (R, 1)."""
        return np.array([[self._offsets[id(group)]] for group in groups])
