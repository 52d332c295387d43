"""BCa bootstrap of a ratio or difference of two rates, on cell counts (Efron 1987).

The four cells (successes and failures of both groups) are resampled as one multinomial, which is what
resampling rows does; the jackknife has only four distinct values and is closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BcaDistribution", "bca_distribution"]

Contrast = Literal["ratio", "difference"]


@dataclass(frozen=True, eq=False)
class BcaDistribution:
    """Sorted bootstrap replicates with bias correction z₀ and acceleration a."""

    replicates: NDArray[np.float64]
    bias: float
    acceleration: float

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """BCa interval."""
        from scipy.special import ndtr, ndtri

        tail = (1 - confidence_level) / 2
        ends = []
        for probability in (tail, 1 - tail):
            shifted = self.bias + ndtri(probability)
            ends.append(ndtr(self.bias + shifted / (1 - self.acceleration * shifted)))
        low, high = np.quantile(self.replicates, ends, method="median_unbiased")
        return float(low), float(high)

    def statistic(self, null: float) -> float:
        """Statistic z of H0: θ = null: the normal quantile whose BCa limit is `null` (positive above it)."""
        from scipy.special import ndtri

        count = self.replicates.size
        below = np.searchsorted(self.replicates, null, "left")
        through = np.searchsorted(self.replicates, null, "right")
        share = np.clip((below + through) / 2 / count, 0.5 / count, 1 - 0.5 / count)
        shifted = ndtri(share) - self.bias
        return float(self.bias - shifted / (1 + self.acceleration * shifted))


def bca_distribution(
    k0: float,
    n0: float,
    k1: float,
    n1: float,
    *,
    contrast: Contrast,
    n_resamples: int,
    rng: np.random.Generator,
) -> BcaDistribution:
    """Bootstrap distribution of r₀/r₁ or r₀ − r₁.

    Parameters
    ----------
    k0, n0, k1, n1 : float
        Successes and cases of group and reference; no cell may be 0.
    contrast : {"ratio", "difference"}
    n_resamples : int
        Number of resamples.
    rng : numpy.random.Generator
    """
    from scipy.special import ndtri

    cells = np.array([k0, n0 - k0, k1, n1 - k1])
    estimate = float(_contrast(cells, contrast))
    draws = rng.multinomial(int(cells.sum()), cells / cells.sum(), size=n_resamples).astype(np.float64)
    replicates = np.sort(_contrast(draws, contrast))
    replicates = replicates[~np.isnan(replicates)]
    share = (np.sum(replicates < estimate) + 0.5 * np.sum(replicates == estimate)) / replicates.size
    bias = float(ndtri(np.clip(share, 0.5 / replicates.size, 1 - 0.5 / replicates.size)))
    left_out = _contrast(cells - np.eye(4), contrast)
    deviation = np.average(left_out, weights=cells) - left_out
    acceleration = float((cells @ deviation**3) / (6 * (cells @ deviation**2) ** 1.5))
    return BcaDistribution(replicates, bias, acceleration)


def _contrast(cells: NDArray[np.float64], contrast: Contrast) -> NDArray[np.float64]:
    """Ratio or difference of the rates, cells (…, 4)."""
    k0, f0, k1, f1 = np.moveaxis(cells, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        r0, r1 = k0 / (k0 + f0), k1 / (k1 + f1)
        return np.asarray(r0 / r1 if contrast == "ratio" else r0 - r1)
