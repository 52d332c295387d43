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
        with np.errstate(invalid="ignore"):  # between a finite and an infinite replicate
            low, high = np.quantile(self.replicates, ends, method="median_unbiased")
        steps = np.quantile(self.replicates, ends, method="inverted_cdf")
        return float(low if np.isfinite(low) else steps[0]), float(high if np.isfinite(high) else steps[1])

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
    return BcaDistribution(replicates, bias, _acceleration(cells, contrast))


def _acceleration(cells: NDArray[np.float64], contrast: Contrast) -> float:
    """Skewness of the jackknife values over 6; of the influence values where the jackknife has no ratio."""
    left_out = _contrast(cells - np.eye(4), contrast)
    if np.isfinite(left_out).all():
        deviation = np.average(left_out, weights=cells) - left_out
    else:
        k0, f0, k1, f1 = cells
        n0, n1 = k0 + f0, k1 + f1
        r0, r1 = k0 / n0, k1 / n1
        scale0, scale1 = (1 / r0, 1 / r1) if contrast == "ratio" else (1.0, 1.0)
        group = np.array([(1 - r0) / n0, -r0 / n0]) * scale0
        reference = np.array([(1 - r1) / n1, -r1 / n1]) * scale1
        deviation = np.concatenate([group, -reference])
    return float((cells @ deviation**3) / (6 * (cells @ deviation**2) ** 1.5))


def _contrast(cells: NDArray[np.float64], contrast: Contrast) -> NDArray[np.float64]:
    """Ratio or difference of the rates, cells (…, 4)."""
    k0, f0, k1, f1 = np.moveaxis(cells, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        r0, r1 = k0 / (k0 + f0), k1 / (k1 + f1)
        return np.asarray(r0 / r1 if contrast == "ratio" else r0 - r1)
