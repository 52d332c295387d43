"""Effective counts of a K-fold cross-validation, C^e = ΣC^(k) / (1 + (K−1)ρ), and the strategies for ρ.

With u = 1 + (K−1)ρ⁰ of the reference and r = Var[A1]/Var[A0], the method under test over the reference, the
relative correlation fulfils 1 + (K−1)ρ¹ = r·u. The paper's equation 3 prints r the other way round; an
unstable method must get a larger ρ and fewer effective rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "STRATEGIES",
    "averaged_factor",
    "correlation_of",
    "effective_factor",
    "relative_average",
    "relative_correlation",
    "strategy_factors",
]

STRATEGIES = ("1/K", "uniform", "relative", "relative-uniform")


def effective_factor(rho: float, folds: int) -> float:
    """1 / (1 + (K−1)ρ): effective over summed counts (equation 2)."""
    return 1.0 / (1.0 + (folds - 1) * rho)


def averaged_factor(low: float, high: float, folds: int) -> float:
    """Average of 1/(1 + (K−1)ρ) over ρ uniform on [low, high]; the point value where they meet."""
    u, v = 1.0 + (folds - 1) * low, 1.0 + (folds - 1) * high
    return float(np.log1p((v - u) / u) / (v - u)) if v != u else 1.0 / u


def correlation_of(factor: float, folds: int) -> float:
    """The ρ of a factor."""
    return (1.0 / factor - 1.0) / (folds - 1)


def relative_correlation(ratio: float, reference: float, folds: int) -> float:
    """ρ¹ = ((r − 1) + r(K−1)ρ⁰)/(K−1), before it is clipped to [0, 1) (equation 3)."""
    return ((ratio - 1.0) + ratio * (folds - 1) * reference) / (folds - 1)


def relative_average(ratio: float, low: float, high: float, folds: int) -> tuple[float, float]:
    """Average factor of the relative correlation over ρ⁰ uniform on [low, high], and the share clipped.

    The average of 1/clip(r·u, 1, K) over u = 1 + (K−1)ρ⁰: 1 where r·u < 1, logarithmic between, 1/K above.
    """
    start, end = 1.0 + (folds - 1) * low, 1.0 + (folds - 1) * high
    if end == start:
        scaled = ratio * start
        return 1.0 / min(max(scaled, 1.0), folds), float(not 1.0 <= scaled < folds)
    first = min(max(1.0 / ratio, start), end)
    last = min(max(folds / ratio, start), end)
    middle = np.log(last / first) / ratio if last > first else 0.0
    total = (first - start) + middle + (end - last) / folds
    return float(total / (end - start)), float(((first - start) + (end - last)) / (end - start))


def strategy_factors(
    strategy: str, folds: int, ratio: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Factor per group under a strategy, and the share of the range of ρ that was clipped.

    Parameters
    ----------
    strategy : {"1/K", "uniform", "relative", "relative-uniform"}
        ρ = 1/K; uniform on [0, 1/K]; relative to a reference with ρ⁰ = 1/K; relative with ρ⁰ uniform on
        [0, 1/K].
    folds : int
        K.
    ratio : ndarray, shape (G,)
        r per group; used by the relative strategies.
    """
    clipped = np.zeros(len(ratio))
    if strategy == "1/K":
        return np.full(len(ratio), effective_factor(1.0 / folds, folds)), clipped
    if strategy == "uniform":
        return np.full(len(ratio), averaged_factor(0.0, 1.0 / folds, folds)), clipped
    low = 1.0 / folds if strategy == "relative" else 0.0
    pairs = [relative_average(float(r), low, 1.0 / folds, folds) for r in ratio]
    return np.array([f for f, _ in pairs]), np.array([c for _, c in pairs])
