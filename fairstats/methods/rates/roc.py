"""ROC curves: piecewise linear, the area between two, and many of them on a grid at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats

#: Curves whose arrays stay in the processor's cache.
_CURVES_AT_A_TIME = 128
#: False positive rates at which curves are compared where no other grid is named; a prime number,
#: so that few curves jump there.
FALSE_POSITIVE_GRID = (np.arange(257) + 0.5) / 257


@dataclass(frozen=True, eq=False)
class RocCurve:
    """Piecewise linear ROC curve; tied scores give its slanted pieces.

    `fpr`, shape (m,): distinct false positive rates, ascending from 0 to 1; `low`, `high`, shape
    (m,): lowest and highest true positive rate there (they differ where the curve jumps).
    """

    fpr: Floats
    low: Floats
    high: Floats

    @classmethod
    def _from_counts(cls, negatives: NDArray[Any], positives: NDArray[Any]) -> RocCurve:
        """Curve from counts per ascending score, shape (m,) each; both sums above 0."""
        false_positives = np.concatenate([[0], np.cumsum(negatives[::-1])])
        true_positives = np.concatenate([[0], np.cumsum(positives[::-1])])
        first_points = np.flatnonzero(np.diff(false_positives, prepend=-1))
        last_points = np.append(first_points[1:] - 1, false_positives.size - 1)
        return cls(
            false_positives[first_points] / false_positives[-1],
            true_positives[first_points] / true_positives[-1],
            true_positives[last_points] / true_positives[-1],
        )

    @property
    def auc(self) -> float:
        """Area under the curve."""
        return float(np.sum(np.diff(self.fpr) * (self.high[:-1] + self.low[1:]) / 2))

    @property
    def misplaced(self) -> tuple[tuple[float, float], ...]:
        """Of negatives and positives the mean share of the other label on the wrong side, and its
        square.

        Of scores that go the other way (AUC below one half) the wrong side is the other one.
        """
        caught = np.concatenate([self.high - self.low, self.low[1:] - self.high[:-1]])
        before = np.concatenate([self.fpr, (self.fpr[1:] + self.fpr[:-1]) / 2])
        fpr_steps = np.diff(self.fpr)
        behind = 1 - (self.high[:-1] + self.low[1:]) / 2
        if self.auc < 0.5:
            before = 1 - before
            behind = 1 - behind
        of_both = (fpr_steps, behind), (caught, before)
        result = []
        for weights, wrong_shares in of_both:
            result.append((float(weights @ wrong_shares), float(weights @ wrong_shares**2)))
        return tuple(result)

    def _heights_at(self, rates: Floats) -> Floats:
        """True positive rates at false positive rates in [0, 1]; where it jumps, either end."""
        points = np.repeat(self.fpr, 2)
        heights = np.column_stack([self.low, self.high]).ravel()
        return np.interp(rates, points, heights)

    def _ends(self, at: Floats) -> tuple[Floats, Floats]:
        """Limits from the left and from the right at ascending false positive rates in [0, 1]."""
        right_points = np.searchsorted(self.fpr, at)
        low_limits = self.low[right_points]
        high_limits = self.high[right_points]
        between = np.flatnonzero(self.fpr[right_points] > at)
        right_points = right_points[between]
        left_points = right_points - 1
        fractions = (at[between] - self.fpr[left_points]) / (
            self.fpr[right_points] - self.fpr[left_points]
        )
        low_limits[between] = high_limits[between] = self.high[left_points] + fractions * (
            self.low[right_points] - self.high[left_points]
        )
        return low_limits, high_limits


def area_between(first: RocCurve, second: RocCurve) -> float:
    """∫ |ROC₁ − ROC₂| over the false positive rate, exact for piecewise linear curves."""
    breakpoints = np.union1d(first.fpr, second.fpr)
    left_first, right_first = first._ends(breakpoints)
    left_second, right_second = second._ends(breakpoints)
    start_gap = (right_first - right_second)[:-1]
    stop_gap = (left_first - left_second)[1:]
    total_gap = np.abs(start_gap) + np.abs(stop_gap)
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = np.where(total_gap > 0, (start_gap**2 + stop_gap**2) / (2 * total_gap), 0.0)
    height = np.where(start_gap * stop_gap >= 0, total_gap / 2, crossing)
    return float(np.sum(np.diff(breakpoints) * height))


def roc_on_grid(
    negatives: NDArray[Any], positives: NDArray[Any], grid: Floats = FALSE_POSITIVE_GRID
) -> Floats:
    """ROC curves on a grid of false positive rates, shape (curves, grid), from counts by ascending
    score, (curves, scores).

    Shares do as well as counts: of either, the sum is the same for all curves.
    """
    blocks = range(0, len(negatives), _CURVES_AT_A_TIME)
    heights = np.empty((len(negatives), grid.size))
    for start in blocks:
        block = slice(start, start + _CURVES_AT_A_TIME)
        heights[block] = _heights_of_block(negatives[block], positives[block], grid)
    return heights


def _heights_of_block(negatives: NDArray[Any], positives: NDArray[Any], grid: Floats) -> Floats:
    """The same of so few curves that their arrays stay in the processor's cache."""
    n_curves = len(negatives)
    n_points = negatives.shape[1] + 1
    false_positives, true_positives = np.zeros((2, n_curves, n_points), dtype=negatives.dtype)
    for running_sums, counts in ((false_positives, negatives), (true_positives, positives)):
        np.cumsum(counts[:, ::-1], axis=1, out=running_sums[:, 1:])
    total_negatives = false_positives[0, -1]
    # how many points of a curve lie left of each place of the grid: a histogram, summed up
    point_places = _places_up_to(false_positives, grid)
    point_places += (grid.size + 1) * np.arange(n_curves)[:, None]
    n_points_before = np.bincount(
        point_places.ravel(), minlength=n_curves * (grid.size + 1)
    ).reshape(n_curves, -1)[:, :-1]
    left_points = np.cumsum(n_points_before, axis=1)
    left_points += (n_points * np.arange(n_curves) - 1)[:, None]
    # of the pieces that a place of the grid lies in, and no others: fewer than there are points
    runs_before = false_positives.take(left_points)
    rises_before = true_positives.take(left_points)
    left_points += 1
    runs = false_positives.take(left_points, mode="clip") - runs_before
    rises = true_positives.take(left_points, mode="clip") - rises_before
    # after the last point there is none
    slopes = np.divide(rises, runs, out=np.zeros(runs.shape), where=runs > 0)
    heights: Floats = slopes * (total_negatives * grid)
    heights += rises_before - slopes * runs_before
    heights /= true_positives[0, -1]
    return heights


def _places_up_to(false_positives: NDArray[Any], grid: Floats) -> NDArray[np.int64]:
    """How many places of the grid lie at or below each running sum of negatives."""
    total = false_positives[0, -1]
    if grid is FALSE_POSITIVE_GRID:
        # (g + 1/2)/size ≤ F/total: the whole part of size·F/total + 1/2
        half_steps = 2 * grid.size * false_positives + total
        return np.asarray(half_steps // (2 * total)).astype(np.int64)
    if false_positives.dtype.kind == "i" and total <= false_positives.size:
        # every sum that can occur is looked up once
        places = np.searchsorted(grid, np.arange(total + 1) / total, side="right")
        return np.asarray(places[false_positives], dtype=np.int64)
    return np.asarray(np.searchsorted(grid, false_positives / total, side="right"), dtype=np.int64)
