"""BCa bootstrap of a ratio or difference of two rates, on cell counts (Efron 1987).

The four cells (successes and failures of both groups) are resampled as one multinomial, which is what
resampling rows does; the jackknife has only four distinct values and is closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from fairstats.methods.rates.score import Contrast


@dataclass(frozen=True, eq=False)
class BcaDistribution:
    """Sorted bootstrap replicates with bias correction z₀ and acceleration a."""

    replicates: NDArray[np.float64]
    bias: float
    acceleration: float

    def interval(self, confidence_level: float) -> tuple[float, float]:
        """BCa interval."""
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
        """Statistic z of H0: θ = null: the critical value at which `null` is an end of the interval.

        Where replicates are tied the share below `null` is a range: the end nearer to the middle counts, so
        that the interval excludes `null` exactly when |z| is beyond the critical value.
        """
        n = self.replicates.size
        finite = self.replicates[np.isfinite(self.replicates)]
        if null > finite[-1]:  # beyond it the quantile jumps to infinity
            shares = (finite.size / n,) * 2
        elif null <= finite[0]:
            first = (1 - 1 / 3) / (n + 1 / 3)
            shares = (0.0, self._share(finite, null, "right") if null == finite[0] else first)
        else:
            shares = self._share(finite, null, "left"), self._share(finite, null, "right")
        shifted = ndtri(np.clip(shares, 0.5 / n, 1 - 0.5 / n)) - self.bias
        high, low = self.bias - shifted / (1 + self.acceleration * shifted)
        return float(low) if low > 0 else float(min(high, 0.0))

    def _share(self, finite: NDArray[np.float64], null: float, side: Literal["left", "right"]) -> float:
        """Where the median-unbiased quantile function passes `null`: its first place, or its last."""
        n, k = self.replicates.size, int(np.searchsorted(finite, null, side))
        if k == finite.size:  # up to the largest finite one; the next, infinite one is a jump
            return k / n if k < n else (k - 1 / 3) / (n + 1 / 3)
        low, high = finite[k - 1], finite[k]
        return float((k - 1 / 3 + (null - low) / (high - low)) / (n + 1 / 3))


def bca_distribution(
    k0: float, n0: float, k1: float, n1: float, *, contrast: Contrast, n_resamples: int, rng: np.random.Generator
) -> BcaDistribution:
    """Bootstrap distribution of r₀/r₁ or r₀ − r₁.

    From successes and cases of group and reference; no cell may be 0.
    """
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
        k, n = cells[::2], cells[::2] + cells[1::2]
        deviation = (np.stack([1 / k - 1 / n, -1 / n]) * [1, -1]).T.ravel()
    return float((cells @ deviation**3) / (6 * (cells @ deviation**2) ** 1.5))


def _contrast(cells: NDArray[np.float64], contrast: Contrast) -> NDArray[np.float64]:
    """Ratio or difference of the rates, cells (…, 4)."""
    k0, f0, k1, f1 = np.moveaxis(cells, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        r0, r1 = k0 / (k0 + f0), k1 / (k1 + f1)
        return np.asarray(r0 / r1 if contrast == "ratio" else r0 - r1)
