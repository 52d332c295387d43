"""A quantile of a group beside that of all rows, its own among them: what each adds to the error.

With F₁ and F the laws of the group and of all rows, s the group's share in all weight (fixed), and
Bahadur's form of a quantile,

    Q̂₁ − Q₁ ≈ (q − F̂₁(Q₁))/f₁,        Q̂ − Q ≈ Σ_g s_g·(F_g(Q) − F̂_g(Q))/f,

the difference has from the rows of the group the error (F̂₁(Q₁) − q)/f₁ − s·(F̂₁(Q) − F₁(Q))/f, and
from all others Σ s_g·(F̂_g(Q) − F_g(Q))/f. Variances and the covariance of F̂₁(Q₁) and F̂₁(Q) are
those of sums over sampling units of w·(1{x ≤ Q} − F); the densities f₁ and f come from the widths of
both quantiles' limits. Each distance between a quantile and its limit counts by the share of its
error that the difference has from it (MOVER).

References: Bahadur (1966), A note on quantiles in large samples, Annals of Mathematical Statistics
37, 577–580; Zou, Donner (2008), Statistics in Medicine 27, 1693–1702.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats

#: Standard errors at which the width of limits stands for one: at one few order statistics lie
#: between them.
_Z_OF_WIDTHS = 2.0
#: Numbers that differ by no more than this, as a share, are one.
_ROUNDING = 1e-12


class PartOfQuantiles(NamedTuple):
    """Factors of the distances to the limits of the group and of all rows.

    `moves`: what every row adds to the error of the difference, shape (n,).
    """

    own: float
    others: float
    moves: Floats


@dataclass(frozen=True, eq=False)
class NumbersOfAll:
    """All rows; arrays of shape (n,).

    `numbers`; `weights` (1 of rows without); `units`: sampling unit of each row, which lies within
    one group; `group`: its group.
    """

    numbers: Floats
    weights: Floats
    units: NDArray[np.intp]
    group: NDArray[np.intp]

    def part(
        self,
        group: int,
        value: float,
        value_of_all: float,
        widths: tuple[float, float],
        scales: tuple[float, float] | None = None,
    ) -> PartOfQuantiles:
        """Of one group, whose quantile is `value`.

        `widths`: of the limits of both quantiles at two standard errors; `scales`: where logarithms
        are compared, what errors of both are divided by: their values.
        """
        own = self.group == group
        by_own_value = self._excess(own, value)
        by_value_of_all = self._excess(own, value_of_all)
        own_variance = self._product(by_own_value, by_own_value)
        # how far a quantile moves where the share below it moves by one
        slope = _slope(widths[0], math.sqrt(own_variance))
        slope_of_all = _slope(widths[1], math.sqrt(self._variance_of_all(value_of_all)))
        if scales is not None:
            slope /= scales[0]
            slope_of_all /= scales[1]
        share = float(self.weights[own].sum() / self.weights.sum())
        factor = share * slope_of_all
        from_group = (
            slope**2 * own_variance
            - 2 * slope * factor * self._product(by_own_value, by_value_of_all)
            + factor**2 * self._product(by_value_of_all, by_value_of_all)
        )
        moves = np.empty(self.numbers.size)
        moves[own] = slope * self._row_excess(own, value) - factor * self._row_excess(
            own, value_of_all
        )
        from_others = 0.0
        for other in np.unique(self.group).tolist():
            if other != group:
                rows = self.group == other
                excess = self._excess(rows, value_of_all)
                of_other = float(self.weights[rows].sum() / self.weights.sum())
                from_others += (of_other * slope_of_all) ** 2 * self._product(excess, excess)
                moves[rows] = of_other * slope_of_all * self._row_excess(rows, value_of_all)
        return PartOfQuantiles(
            own=_root_of_share(from_group, slope**2 * own_variance),
            others=_root_of_share(
                from_others, slope_of_all**2 * self._variance_of_all(value_of_all)
            ),
            moves=moves,
        )

    def moves(self, value: float) -> Floats:
        """What every row adds to the error of the quantile of all, in units of its density."""
        return self._row_excess(np.ones(self.numbers.size, dtype=bool), value)

    def _row_excess(self, rows: NDArray[np.bool_], value: float) -> Floats:
        """The excess w·(1{x ≤ value} − F)/W of every row of a group."""
        return excess_below(self.numbers[rows], self.weights[rows], value)

    def _excess(self, rows: NDArray[np.bool_], value: float) -> Floats:
        """Its sum over the rows of every unit."""
        units = np.unique(self.units[rows], return_inverse=True)[1]
        return np.bincount(units, self._row_excess(rows, value)).astype(np.float64)

    def _product(self, first: Floats, second: Floats) -> float:
        """Σ over units, with Bessel's factor."""
        return float(first @ second) * first.size / max(first.size - 1, 1)

    def _variance_of_all(self, value: float) -> float:
        """Of the share of all rows below a value, as one sample."""
        excess = self._excess(np.ones(self.numbers.size, dtype=bool), value)
        return self._product(excess, excess)


def excess_below(numbers: Floats, weights: Floats, value: float) -> Floats:
    """The excess w·(1{x ≤ value} − F)/W of every row."""
    if not numbers.size:
        return np.zeros(0)
    # a quantile that is one of the numbers may come out one digit below it
    below = (numbers <= value + _ROUNDING * abs(value)).astype(np.float64)
    return np.asarray(weights * (below - weights @ below / weights.sum()) / weights.sum())


def _slope(width: float, error: float) -> float:
    """From the width of limits at two standard errors on either side."""
    return width / (2 * _Z_OF_WIDTHS * error) if error > 0 else 0.0


def _root_of_share(variance: float, whole: float) -> float:
    return math.sqrt(max(variance, 0.0) / whole) if whole > 0 else 1.0
