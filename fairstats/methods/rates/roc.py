"""ROC curves from score counts, and the exact area between two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RocCurve", "area_between"]


@dataclass(frozen=True, eq=False)
class RocCurve:
    """Piecewise linear ROC curve; tied scores give its slanted pieces.

    Attributes
    ----------
    fpr : ndarray, shape (m,)
        Distinct false positive rates, ascending from 0 to 1.
    low, high : ndarray, shape (m,)
        Lowest and highest true positive rate there (they differ where the curve jumps).
    """

    fpr: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def from_counts(cls, negatives: NDArray[Any], positives: NDArray[Any]) -> RocCurve:
        """Curve from counts per ascending score, shape (m,) each; both sums above 0."""
        false = np.concatenate([[0], np.cumsum(negatives[::-1])])
        true = np.concatenate([[0], np.cumsum(positives[::-1])])
        first = np.flatnonzero(np.diff(false, prepend=-1))
        last = np.append(first[1:] - 1, false.size - 1)
        return cls(false[first] / false[-1], true[first] / true[-1], true[last] / true[-1])

    @property
    def auc(self) -> float:
        """Area under the curve."""
        return float(np.sum(np.diff(self.fpr) * (self.high[:-1] + self.low[1:]) / 2))

    def ends(self, at: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Limits from the left and from the right at false positive rates `at`."""
        right = np.searchsorted(self.fpr, at, side="left")
        right = np.minimum(right, self.fpr.size - 1)
        left = np.maximum(right - 1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (at - self.fpr[left]) / (self.fpr[right] - self.fpr[left])
        between = self.high[left] + np.where(right > left, share, 0.0) * (self.low[right] - self.high[left])
        met = self.fpr[right] == at
        return np.where(met, self.low[right], between), np.where(met, self.high[right], between)

    def at(self, grid: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean of the two limits on a grid."""
        low, high = self.ends(grid)
        return (low + high) / 2


def area_between(first: RocCurve, second: RocCurve) -> float:
    """∫ |ROC₁ − ROC₂| over the false positive rate, exact for piecewise linear curves."""
    at = np.union1d(first.fpr, second.fpr)
    left1, right1 = first.ends(at)
    left2, right2 = second.ends(at)
    start, stop = (right1 - right2)[:-1], (left1 - left2)[1:]
    size = np.abs(start) + np.abs(stop)
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = np.where(size > 0, (start**2 + stop**2) / (2 * size), 0.0)
    height = np.where(start * stop >= 0, size / 2, crossing)
    return float(np.sum(np.diff(at) * height))
