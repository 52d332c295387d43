"""Simultaneous critical values and adjusted p-values over several comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairstats.ground.results import check_choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ADJUSTMENTS", "adjust_pvalues", "max_z_quantile", "normal_quantile", "two_sided_pvalue"]

ADJUSTMENTS = ("holm", "bonferroni", "sidak", "hommel", "fdr_bh", "none")
_N_DRAWS = 1 << 17
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


def max_z_quantile(
    covariance: NDArray[np.float64], confidence_level: float, degrees_of_freedom: float = np.inf
) -> float:
    """Value c with P(max_j |Z_j| ≤ c) = confidence_level for estimates with this covariance.

    Simulated with a fixed seed (2^17 draws: c is right to about .01) and never above the Bonferroni value. For
    one comparison it is the plain quantile.

    Parameters
    ----------
    covariance : ndarray, shape (J, J)
        Covariance of the estimates; may be singular. Estimates without a variance are left out.
    confidence_level : float
        In (0, 1).
    degrees_of_freedom : float
        Finite for a multivariate t.

    Returns
    -------
    float
    """
    variance = np.diag(covariance)
    keep = np.isfinite(variance) & (variance > 0)
    n_kept = int(keep.sum())
    if n_kept <= 1:
        return normal_quantile((1 + confidence_level) / 2, degrees_of_freedom)
    bonferroni = normal_quantile(1 - (1 - confidence_level) / (2 * n_kept), degrees_of_freedom)
    scale = np.sqrt(variance[keep])
    correlation = covariance[np.ix_(keep, keep)] / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(correlation)
    used = values > 1e-12 * values[-1]
    factor = (vectors[:, used] * np.sqrt(values[used])).T
    largest = _simulated_maxima(factor, degrees_of_freedom)
    return min(bonferroni, float(np.quantile(largest, confidence_level)))


def _simulated_maxima(factor: NDArray[np.float64], degrees_of_freedom: float) -> NDArray[np.float64]:
    rng = np.random.default_rng(_SEED)
    maxima = np.empty(_N_DRAWS)
    block = max(1, (1 << 22) // factor.shape[1])
    for start in range(0, _N_DRAWS, block):
        size = min(block, _N_DRAWS - start)
        z = np.abs(rng.standard_normal((size, factor.shape[0])) @ factor)
        maxima[start : start + size] = z.max(axis=1)
    if np.isfinite(degrees_of_freedom):
        maxima /= np.sqrt(rng.chisquare(degrees_of_freedom, _N_DRAWS) / degrees_of_freedom)
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

    adjusted[known] = multipletests(values[known], method=method)[1]
    return adjusted


def _holm(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Holm's step-down, as `multipletests` gives it, without its import."""
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
