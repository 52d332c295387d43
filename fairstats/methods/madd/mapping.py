"""The map of section 6: group distributions moved towards the one of everybody, F_s^λ = (1 − λ)F_s + λF.

A score p of group s becomes (F_s^λ)⁻¹(F_s(p)): its rank within the group stays, the distribution changes. F_s
is the mid-distribution function of the fitted scores (the share below a value plus half the share at it),
linear between fitted values and up to (0, 0) and (1, 1); F = Σ_s (n_s/n)·F_s. All are defined on [0, 1],
increase strictly and so map new scores, fitted or not, without ties that were not there before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GroupCdf", "MixtureCdfs"]


@dataclass(frozen=True, eq=False)
class GroupCdf:
    """F_s, piecewise linear.

    Attributes
    ----------
    values, heights : ndarray, shape (k,)
        Its corners, both strictly ascending.
    n : int
        Rows that it was fitted to.
    """

    values: NDArray[np.float64]
    heights: NDArray[np.float64]
    n: int

    @classmethod
    def fit(cls, scores: NDArray[np.float64]) -> GroupCdf:
        """Mid-distribution function of scores in [0, 1].

        Examples
        --------
        >>> import numpy as np
        >>> cdf = GroupCdf.fit(np.array([0.2, 0.2, 0.6, 1.0]))
        >>> cdf.values, cdf.heights
        (array([0. , 0.2, 0.6, 1. ]), array([0.   , 0.25 , 0.625, 0.875]))
        """
        values, counts = np.unique(scores, return_counts=True)
        heights = (np.cumsum(counts) - counts / 2) / scores.size
        if values[0] > 0:
            values, heights = np.concatenate([[0.0], values]), np.concatenate([[0.0], heights])
        if values[-1] < 1:
            values, heights = np.concatenate([values, [1.0]]), np.concatenate([heights, [1.0]])
        return cls(values, heights, int(scores.size))

    def __call__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """F_s(x)."""
        return np.asarray(np.interp(x, self.values, self.heights))


@dataclass(frozen=True, eq=False)
class MixtureCdfs:
    """F_s of every group and F of all.

    Attributes
    ----------
    cdfs : tuple of GroupCdf, length G
    corners : ndarray, shape (k,)
        Corners of all functions together.
    heights : ndarray, shape (G, k)
        F_s at the corners.
    """

    cdfs: tuple[GroupCdf, ...]
    corners: NDArray[np.float64]
    heights: NDArray[np.float64]

    @classmethod
    def fit(cls, samples: list[NDArray[np.float64]]) -> MixtureCdfs:
        """Fit every group; each sample has at least one score."""
        cdfs = tuple(GroupCdf.fit(s) for s in samples)
        corners = np.unique(np.concatenate([c.values for c in cdfs]))
        return cls(cdfs, corners, np.vstack([c(corners) for c in cdfs]))

    @property
    def shares(self) -> NDArray[np.float64]:
        """n_s/n, shape (G,)."""
        sizes = np.array([c.n for c in self.cdfs], dtype=np.float64)
        return np.asarray(sizes / sizes.sum())

    def pooled(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """F(x)."""
        return np.asarray(self.shares @ np.vstack([c(x) for c in self.cdfs]))

    def towards(
        self, group: int, lambdas: NDArray[np.float64], x: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """F_s^λ(x) = (1 − λ)F_s(x) + λF(x), shape (λ, x)."""
        own, all_groups = self.cdfs[group](x), self.pooled(x)
        return np.asarray(np.multiply.outer(1 - lambdas, own) + np.multiply.outer(lambdas, all_groups))

    def map(self, scores: NDArray[np.float64], group: int, lambda_: float) -> NDArray[np.float64]:
        """(F_s^λ)⁻¹(F_s(p)) of scores of one group; ascending in p.

        Parameters
        ----------
        scores : ndarray, shape (n,)
            In [0, 1].
        group : int
        lambda_ : float
            In [0, 1]; 0 changes nothing.
        """
        if lambda_ == 0:
            return scores.copy()
        heights = (1 - lambda_) * self.heights[group] + lambda_ * (self.shares @ self.heights)
        mapped = np.interp(self.cdfs[group](scores), heights, self.corners)
        return np.asarray(np.clip(mapped, 0.0, 1.0))
