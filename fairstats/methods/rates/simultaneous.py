"""Simultaneous critical values and adjusted p-values over several comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from fairstats.ground.results import check_choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ADJUSTMENTS",
    "MaxZ",
    "adjust_pvalues",
    "normal_cdf",
    "normal_quantile",
    "two_sided_pvalue",
]

ADJUSTMENTS = ("holm", "bonferroni", "sidak", "hommel", "fdr_bh", "none")
_N_DRAWS = 1 << 16
_SEED = 20180721


def normal_quantile(probability: float, degrees_of_freedom: float = np.inf) -> float:
    """Quantile of the standard normal, or of Student's t where the degrees of freedom are finite."""
    from scipy.special import ndtri, stdtrit

    if np.isinf(degrees_of_freedom):
        return float(ndtri(probability))
    return float(stdtrit(degrees_of_freedom, probability))


def normal_cdf(z: float, degrees_of_freedom: float = np.inf) -> float:
    """P(Z ≤ z) of the standard normal, or of Student's t."""
    from scipy.special import ndtr, stdtr

    return float(ndtr(z) if np.isinf(degrees_of_freedom) else stdtr(degrees_of_freedom, z))


def two_sided_pvalue(z: float, degrees_of_freedom: float = np.inf) -> float:
    """P(|Z| ≥ |z|)."""
    return 2 * normal_cdf(-abs(z), degrees_of_freedom)


class MaxZ:
    """Distribution of max_j |Z_j| for jointly normal (or t) estimates.

    Simulated with a fixed seed (2^16 draws: quantiles are right to about .01) and bounded by Bonferroni,
    which also serves the far tail. For one estimate it is the plain normal or t.

    Parameters
    ----------
    covariance : ndarray, shape (J, J)
        Covariance of the estimates; may be singular. Estimates without a variance are left out.
    degrees_of_freedom : float
        Finite for a multivariate t.
    """

    def __init__(self, covariance: NDArray[np.float64], degrees_of_freedom: float = np.inf) -> None:
        self.degrees_of_freedom = degrees_of_freedom
        self.n_estimates, factor = _factor(covariance)
        self._maxima = _simulated_maxima(factor, degrees_of_freedom) if self.n_estimates > 1 else None

    def quantile(self, confidence_level: float) -> float:
        """Value c with P(max_j |Z_j| ≤ c) = confidence_level."""
        count = max(self.n_estimates, 1)
        bonferroni = normal_quantile(1 - (1 - confidence_level) / (2 * count), self.degrees_of_freedom)
        if self._maxima is None:
            return bonferroni
        return min(bonferroni, float(np.quantile(self._maxima, confidence_level)))

    def pvalue(self, statistic: float) -> float:
        """P(max_j |Z_j| ≥ statistic), NaN where no estimate has a variance."""
        if self.n_estimates == 0:
            return float("nan")
        bonferroni = min(1.0, self.n_estimates * two_sided_pvalue(statistic, self.degrees_of_freedom))
        if self._maxima is None:
            return bonferroni
        return min(bonferroni, float((1 + np.sum(self._maxima >= statistic)) / (1 + _N_DRAWS)))


def _factor(covariance: NDArray[np.float64]) -> tuple[int, NDArray[np.float64]]:
    """Number of estimates with a variance, and a matrix square root of their correlation, (rank, J)."""
    variance = np.diag(covariance)
    keep = np.isfinite(variance) & (variance > 0)
    scale = np.sqrt(variance[keep])
    correlation = covariance[np.ix_(keep, keep)] / np.outer(scale, scale)
    if not scale.size:
        return 0, np.empty((0, 0))
    values, vectors = np.linalg.eigh(correlation)
    used = values > 1e-12 * values[-1]
    return int(keep.sum()), (vectors[:, used] * np.sqrt(values[used])).T


@lru_cache(maxsize=4)
def _normal_draws(rank: int) -> NDArray[np.float64]:
    """Fixed standard normal draws, shape (draws, rank)."""
    draws = np.random.default_rng(_SEED).standard_normal((_N_DRAWS, rank))
    draws.flags.writeable = False
    return draws


def _simulated_maxima(factor: NDArray[np.float64], degrees_of_freedom: float) -> NDArray[np.float64]:
    """Sorted draws of max_j |Z_j|."""
    draws = _normal_draws(factor.shape[0])
    maxima = np.zeros(_N_DRAWS)
    for column in factor.T:
        np.maximum(maxima, np.abs(draws @ column), out=maxima)
    if np.isfinite(degrees_of_freedom):
        chi2 = np.random.default_rng(_SEED + 1).chisquare(degrees_of_freedom, _N_DRAWS)
        maxima /= np.sqrt(chi2 / degrees_of_freedom)
    maxima.sort()
    return maxima


def adjust_pvalues(pvalues: Sequence[float], method: str) -> NDArray[np.float64]:
    """Adjusted p-values; missing ones stay missing and do not count in the family.

    Parameters
    ----------
    pvalues : sequence of float
        One family.
    method : {"holm", "bonferroni", "sidak", "hommel", "fdr_bh", "none"}
        By statsmodels' `multipletests`.
    """
    check_choice("adjust", method, ADJUSTMENTS)
    values = np.asarray(pvalues, dtype=np.float64)
    known = np.isfinite(values)
    adjusted = values.copy()
    if method == "none" or known.sum() < 2:
        return adjusted
    if method == "holm":
        adjusted[known] = _holm(values[known])
        return adjusted
    from statsmodels.stats.multitest import multipletests

    with np.errstate(divide="ignore"):  # log(1 - p) at p = 1 inside statsmodels
        adjusted[known] = multipletests(values[known], method=method)[1]
    return adjusted


def _holm(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Holm's step-down, as `multipletests` gives it, without its import."""
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
