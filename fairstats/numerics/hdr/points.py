"""Three and more dimensions: the density at the points, and its quantile (Hyndman's quantile approach).

No grid: a point belongs to the region when its estimated density is at least f_α, the 1 − prob quantile
of the densities at the draws. A draw's own kernel is left out of its density. In these dimensions it
would be a large part of it, f_α would be too high and the region would hold too little of new draws.

References
----------
Hyndman, R. J. (1996). Computing and graphing highest density regions. The American Statistician 50, 120–126.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.numerics.hdr.contract import FloatArray

__all__ = ["MOST_CENTRES", "PointDensity", "normal_reference_bandwidth"]

#: Kernels are put on at most this many draws: every k-th in lexicographic order, in whatever order rows come.
MOST_CENTRES = 2_500
#: Distances computed at a time: as many as fit the processor's cache.
BLOCK = 2**18
#: exp(−100) is nothing beside any kernel that matters, and quicker than numbers that underflow.
NEGLIGIBLE = -100.0


def normal_reference_bandwidth(samples: FloatArray) -> FloatArray:
    """Bandwidths that are best for a normal density: sd_j·(4/((d + 2)·n))^(1/(d + 4)), shape (d,).

    n is the number of kernels, `MOST_CENTRES` at most.
    """
    d = samples.shape[1]
    n = min(len(samples), MOST_CENTRES)
    bandwidth: FloatArray = samples.std(axis=0, ddof=1) * (4 / ((d + 2) * n)) ** (1 / (d + 4))
    return bandwidth


@dataclass(frozen=True)
class PointDensity:
    """Gaussian kernel density in d dimensions, with the draws' correlation in the kernel.

    Attributes
    ----------
    centres : array, shape (m, d)
        Kernel centres, whitened: the kernel is N(0, I) around each.
    whiten : array, shape (d, d)
        Maps draws to that scale: ``draw @ whiten``.
    height : float
        Density at the centre of one kernel of mass 1, in the units of the draws.
    """

    centres: FloatArray
    whiten: FloatArray
    height: float

    @classmethod
    def of(cls, samples: FloatArray, bandwidth: FloatArray) -> PointDensity:
        """Kernels on the draws, N(0, H) with H_ij = h_i·h_j·ρ_ij.

        Raises
        ------
        InputError
            If the columns are linearly dependent.
        """
        correlation = np.corrcoef(samples.T)
        if float(np.linalg.eigvalsh(correlation)[0]) < 1e-10:
            raise InputError(
                "samples",
                got="columns of which one is a linear combination of the others",
                allowed="draws with a density",
                cure="leave that column out",
            )
        root = np.linalg.cholesky(correlation) * bandwidth[:, None]
        whiten: FloatArray = np.asarray(np.linalg.inv(root).T, dtype=np.float64)
        chosen = samples[_every_kth(samples)]
        height = abs(float(np.linalg.det(whiten))) / (2 * math.pi) ** (samples.shape[1] / 2)
        return cls(chosen @ whiten, whiten, height)

    def at(self, points: FloatArray) -> FloatArray:
        """Density at any points, shape (k, d) → (k,)."""
        return self._sum(points) * (self.height / len(self.centres))

    def at_own(self, samples: FloatArray) -> FloatArray:
        """Density at the draws themselves, each without the kernel on it."""
        total = self._sum(samples)
        m = len(self.centres)
        own = np.zeros(len(samples), dtype=bool)
        own[_every_kth(samples)] = True
        return np.where(own, np.maximum(total - 1, 0.0) / (m - 1), total / m) * self.height

    def _sum(self, points: FloatArray) -> FloatArray:
        """Sum of exp(−½·squared distance) over the centres."""
        white = points @ self.whiten
        ones = np.ones((len(white), 1))
        half = 0.5 * np.einsum("ij,ij->i", white, white)
        left = np.hstack([white, ones, half[:, None]])
        half = 0.5 * np.einsum("ij,ij->i", self.centres, self.centres)
        right = np.vstack([self.centres.T, -half, -np.ones(len(self.centres))])
        total = np.empty(len(white))
        rows = max(BLOCK // len(self.centres), 1)
        for start in range(0, len(white), rows):
            exponent = left[start : start + rows] @ right
            np.clip(exponent, NEGLIGIBLE, 0.0, out=exponent)
            total[start : start + rows] = np.exp(exponent, out=exponent).sum(axis=1)
        return total


def _every_kth(samples: FloatArray) -> np.ndarray:
    """Rows that get a kernel: all, or every k-th in lexicographic order up to `MOST_CENTRES`."""
    every = math.ceil(len(samples) / MOST_CENTRES)
    if every == 1:
        return np.arange(len(samples))
    order: np.ndarray = np.lexsort(samples.T[::-1])
    return order[::every]
