"""Quantiles of rows with weights or in clusters, with limits by the weighted share below each value.

Rows ascend, w the weights, W their sum and F(x) the share of W up to x. The quantile is that of
Hyndman and Fan's seventh rule with weights: F of the rows below each, by W less the last weight,
straight between (R's type 7 where weights are equal).

A share q below the true quantile has the variance q(1 − q)/n, and n is the effective number of rows.
If the true quantile is x, then with a and b the mean weights (by weight) of the rows below and above,

    n(x) = W/((1 − q)·a(x) + q·b(x)),        a = Σ w²/Σ w below x,   b alike above.

Of n(x), that at the quantile itself and Kish's W²/Σ w² the least counts: the one knows weights that
go with the number, the others do not hang on a few rows beyond x. Clusters divide it by the ratio of
the variances of the share below the quantile by cluster and by row, if above 1. As Korn and Graubard
do, n is multiplied by (t_{N−1}/t_{f})² at the error of the limit, N the rows, f Kish's number of rows
(or clusters) less one. The limits are then those of `quantiles.py`, with n·F in place of the number
of rows up to a value, and the binomial law by the beta function: with equal weights the same.

References: Woodruff (1952), JASA 47, 635–646; Francisco, Fuller (1991), Annals of Statistics 19,
454–469; Korn, Graubard (1998), Survey Methodology 24, 193–201.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, ndtr, stdtrit

from fairstats.ground.checks import Floats
from fairstats.numerics.means.quantiles import CountedValues, quantile_limits

#: So many ranks are looked at first, and then those between two of them.
_COARSE = 1_000
#: Weights that differ by no more than this, as a share, are equal.
_EQUAL = 1e-12


class SampleQuantile(Protocol):
    """A quantile of one sample."""

    @property
    def size(self) -> float:
        """(Effective) number of sampling units."""

    @property
    def rows(self) -> float:
        """(Effective) number of rows."""

    @property
    def smallest(self) -> float:
        """The least value, NaN without rows."""

    @property
    def value(self) -> float:
        """The quantile, NaN without rows."""

    def limits(self, z: float) -> tuple[float, float]:
        """Limits at the one-sided level Φ(z) each, z ≥ 0; NaN without rows."""


@dataclass(frozen=True, eq=False)
class QuantileOfRows:
    """A quantile of rows that weigh alike."""

    sample: CountedValues
    order: float

    @property
    def size(self) -> float:
        """Number of rows."""
        return self.sample.size

    @property
    def rows(self) -> float:
        """Number of rows."""
        return self.sample.size

    @property
    def smallest(self) -> float:
        """The least value, NaN without rows."""
        return float(self.sample.values[0]) if self.sample.size else math.nan

    @property
    def value(self) -> float:
        """R's type 7."""
        return self.sample.quantile(self.order) if self.sample.size else math.nan

    def limits(self, z: float) -> tuple[float, float]:
        """Interpolated order statistics."""
        if not self.sample.size:
            return math.nan, math.nan
        return quantile_limits(self.sample, self.order, z)


@dataclass(frozen=True, eq=False)
class WeightedQuantile:
    """A quantile of rows with weights or in clusters.

    `values` of the rows, ascending, shape (n,); `shares` of the weight below each row, and 1, shape
    (n + 1,); `numbers`: effective rows n(x) where x lies behind so many rows, shape (n + 1,);
    `size`, `rows`: Kish's number of sampling units and of rows; `is_weighted`: whether weights are
    unequal.
    """

    values: Floats
    shares: Floats
    numbers: Floats
    order: float
    size: float
    rows: float
    is_weighted: bool

    @property
    def effective_rows(self) -> float:
        """Effective rows at the quantile."""
        return float(np.interp(self.order, self.shares, self.numbers))

    @property
    def smallest(self) -> float:
        """The least value."""
        return float(self.values[0])

    @property
    def value(self) -> float:
        """By the seventh rule of Hyndman and Fan, with weights."""
        places = self.shares[:-1]
        if places.size > 1:
            places = places / places[-1]
        return float(np.interp(self.order, places, self.values))

    def limits(self, z: float) -> tuple[float, float]:
        """Values at which the weighted share below is no longer likely."""
        degrees_of_freedom = self.size - 1
        if not degrees_of_freedom > 1e-9:
            return -math.inf, math.inf
        error = float(ndtr(-z))
        numbers = self.numbers
        # at an error of one half both quantiles of Student's t are 0
        if error < 0.5:
            factor = stdtrit(self.values.size - 1, error) / stdtrit(degrees_of_freedom, error)
            numbers = numbers * float(factor) ** 2
        low = _lower_limit(self.values, self.shares, numbers, self.order, error)
        # the upper limit is the lower one of −X
        high = 0.0 - _lower_limit(
            -self.values[::-1], 1 - self.shares[::-1], numbers[::-1], 1 - self.order, error
        )
        return low, high


def quantile_of_rows(
    numbers: Floats, weights: Floats | None, units: NDArray[np.intp] | None, order: float
) -> SampleQuantile:
    """A quantile of one sample; weights and clusters that change nothing drop out.

    `units`: sampling unit of every row, None where each row is one.
    """
    if weights is None:
        weights = np.ones(numbers.size)
    counted = weights > 0
    if not counted.all():
        numbers = numbers[counted]
        weights = weights[counted]
        units = None if units is None else units[counted]
    if units is not None:
        _, units = np.unique(units, return_inverse=True)
        if np.unique(units).size == units.size:
            units = None
    is_even = not weights.size or bool(np.ptp(weights) <= _EQUAL * weights[0])
    if is_even and units is None:
        values, rows = np.unique(numbers, return_counts=True)
        return QuantileOfRows(CountedValues(values, np.cumsum(rows)), order)
    ascending = np.argsort(numbers, kind="stable")
    values = numbers[ascending]
    weights = weights[ascending] / weights.sum()
    starts = np.flatnonzero(np.append(True, values[1:] > values[:-1]))
    shares = _summed_evenly(weights, starts)
    shares[-1] = 1.0
    effective = _effective_numbers(shares, _summed_evenly(weights**2, starts), order)
    weights_of_units = weights
    if units is not None:
        units = units[ascending]
        weights_of_units = np.bincount(units, weights)
        chance = _chance_below(shares, starts, order)
        effective = effective / _design_effect(weights, units, chance, order)
    return WeightedQuantile(
        values=values,
        shares=shares,
        numbers=effective,
        order=order,
        size=_kish_number(weights_of_units),
        rows=_kish_number(weights),
        is_weighted=not is_even,
    )


def _kish_number(weights: Floats) -> float:
    """(Σ w)²/Σ w²."""
    return float(weights.sum()) ** 2 / float(weights @ weights)


def _summed_evenly(terms: Floats, starts: NDArray[np.intp]) -> Floats:
    """Sums up to each row, from 0, of terms that the rows of one value share evenly."""
    rows = np.diff(np.append(starts, terms.size))
    even = np.repeat(np.add.reduceat(terms, starts) / rows, rows)
    return np.append(0.0, np.cumsum(even))


def _effective_numbers(shares: Floats, squares: Floats, order: float) -> Floats:
    """The least of n(x), n at the quantile and Kish's number; `squares`: sums of w² up to each row."""
    total = float(squares[-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        below = squares / shares
        above = (total - squares) / (1 - shares)
    # with no row on a side its weights are as those of all
    below[0] = total
    above[-1] = total
    of_value = 1 / ((1 - order) * below + order * above)
    square = float(np.interp(order, shares, squares))
    of_quantile = 1 / ((1 - order) * square / order + order * (total - square) / (1 - order))
    return np.minimum(of_value, min(of_quantile, 1 / total))


def _chance_below(shares: Floats, starts: NDArray[np.intp], order: float) -> Floats:
    """The part of every row that lies below the quantile; rows of one value share it."""
    ends = np.append(starts[1:], shares.size - 1)
    width = shares[ends] - shares[starts]
    has_width = width > 0
    # a weight too small to move the sum of the others lies wholly on one side
    is_below = (shares[starts] < order).astype(np.float64)
    of_values = np.divide(order - shares[starts], width, out=is_below, where=has_width)
    return np.repeat(np.clip(of_values, 0.0, 1.0), ends - starts)


def _design_effect(weights: Floats, units: NDArray[np.intp], chance: Floats, order: float) -> float:
    """Variance of the share below the quantile by cluster, over that by row; at least 1.

    A row that lies below by a chance c adds w²·c(1 − c) to both.
    """
    excess = weights * (chance - order)
    by_chance = float(weights**2 @ (chance * (1 - chance)))
    by_row = float(excess @ excess) + by_chance
    of_units = np.bincount(units, excess)
    by_unit = float(of_units @ of_units) + by_chance
    # Bessel's factor, which is 1 of clusters of one row
    lost = (1 - 1 / units.size) / (1 - 1 / of_units.size) if of_units.size > 1 else 1.0
    return max(by_unit / by_row * lost, 1.0)


def _lower_limit(
    values: Floats, shares: Floats, numbers: Floats, order: float, error: float
) -> float:
    """The lower limit at an error, −∞ where there is none; `shares`, `numbers`: shape (n + 1,)."""

    def probability(ranks: NDArray[np.intp]) -> Floats:
        """π of the rank r + 1: that no more effective rows than n·F lie below the quantile."""
        below = numbers[ranks] * shares[ranks]
        above = np.maximum(numbers[ranks] - below, 1e-300)
        return np.where(ranks == values.size, 1.0, betainc(above, below + 1, 1 - order))

    first = _first_above(probability, values.size, error)
    if first == 0:
        return -math.inf
    # of large errors, which no limit of use has: the last pair of values
    rank = min(first, values.size - 1)
    here, following = probability(np.array([rank - 1, rank])).tolist()
    if error <= here:
        return float(values[rank - 1])
    count = float(numbers[rank] * shares[rank])
    odds = count * (1 - order) * (following - error)
    odds /= (float(numbers[rank]) - count) * order * (error - here)
    share = min(1 / (1 + max(odds, 0.0)), 1.0)
    return float(values[rank - 1] + share * (values[rank] - values[rank - 1]))


def _first_above(function: Callable[[NDArray[np.intp]], Floats], last: int, level: float) -> int:
    """The first of 0 … `last` at which a function that (nearly) rises is above a level."""
    step = max(last // _COARSE, 1)
    grid = np.append(np.arange(0, last, step), last)
    place = int(np.argmax(function(grid) > level))
    start = int(grid[max(place - 1, 0)])
    between = np.arange(start, int(grid[place]) + 1)
    return start + int(np.argmax(function(between) > level))
