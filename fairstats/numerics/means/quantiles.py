"""Quantiles of one sample, with limits that are (interpolated) order statistics.

B of n rows lie at or below the quantile Q of order q, B binomial (n, q), so that P(X₍ᵣ₎ > Q) =
π_r = P(B ≤ r − 1) for a continuous law, and at most that for any. With π_r ≤ α < π_{r+1} the lower
limit at the error α is

    (1 − λ)·X₍ᵣ₎ + λ·X₍ᵣ₊₁₎,      1/λ = 1 + r·(1 − q)·(π_{r+1} − α)/((n − r)·q·(α − π_r)),

and −∞ where α < π_1. The upper limit is that of −X and 1 − q.

References: Hettmansperger, Sheather (1986), Statistics & Probability Letters 4, 75–79; Nyblom
(1992), Statistics & Probability Letters 14, 355–357.
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtr

from fairstats.ground.checks import Floats


@dataclass(frozen=True, eq=False)
class CountedValues:
    """A sample as distinct `values`, ascending, with the rows up to each, `rows_up_to`."""

    values: Floats
    rows_up_to: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.rows_up_to[-1]) if self.rows_up_to.size else 0

    def order_statistic(self, rank: int) -> float:
        """X₍ᵣ₎ of the rank r, from 1 to n."""
        return float(self.values[np.searchsorted(self.rows_up_to, rank)])

    def quantile(self, order: float) -> float:
        """The quantile as R's type 7 and NumPy's default have it."""
        place = (self.size - 1) * order
        below = math.floor(place)
        lower = self.order_statistic(below + 1)
        if place == below:
            return lower
        return lower + (place - below) * (self.order_statistic(below + 2) - lower)


def quantile_limits(sample: CountedValues, order: float, z: float) -> tuple[float, float]:
    """Limits of the quantile, each at the one-sided level Φ(z), z ≥ 0."""
    size = sample.size
    error = float(ndtr(-z))
    rank, share = place_of_limit(size, order, error)
    low = -math.inf
    if rank > 0:
        low = _between(sample.order_statistic(rank), sample.order_statistic(rank + 1), share)
    # the upper limit is the lower one of −X, whose r-th value is the r-th from above
    rank, share = place_of_limit(size, 1 - order, error)
    high = math.inf
    if rank > 0:
        here = sample.order_statistic(size + 1 - rank)
        high = _between(here, sample.order_statistic(size - rank), share)
    return low, high


def place_of_limit(size: int, order: float, error: float) -> tuple[int, float]:
    """Rank r of the lower limit and the share λ of the next value; r = 0 where there is none."""

    def probability_up_to(rows: int) -> float:
        """π_{r+1} = P(B ≤ r)."""
        return float(bdtr(rows, size, order))

    # by halves: of many rows nearly all of these probabilities are asked by nobody
    rank = bisect.bisect_right(range(size + 1), error, key=probability_up_to)
    if rank == 0:
        return 0, 0.0
    # of large errors, which no limit of use has: the last pair of values
    rank = min(rank, size - 1)
    probability_here = probability_up_to(rank - 1)
    probability_next = probability_up_to(rank)
    if error <= probability_here:
        return rank, 0.0
    odds = rank * (1 - order) * (probability_next - error)
    odds /= (size - rank) * order * (error - probability_here)
    return rank, min(1 / (1 + max(odds, 0.0)), 1.0)


def _between(here: float, following: float, share: float) -> float:
    """(1 − λ)·here + λ·following; equal values stay what they are."""
    return here + share * (following - here)
