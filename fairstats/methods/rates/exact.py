"""Exact unconditional tests for two rates: the p-value is the largest over the nuisance rate (Chan 1998).

Tables are ordered by the score statistic; for a ratio of 1 (or a difference of 0) the p-value is that of
 `scipy.stats.barnard_exact` with pooled variance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fairstats.methods.rates.score import difference_score_statistic, ratio_score_statistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_TABLES", "exact_unconditional_pvalue"]

#: Largest number of tables (n₀+1)(n₁+1) that is enumerated.
MAX_TABLES = 40_000
#: Points of the first grid of nuisance rates, besides one per standard error; of each refinement.
_FIRST, _REFINED = 160, (24, 24, 24)
#: Local maxima of the first grid that are refined.
_PEAKS = 3


def exact_unconditional_pvalue(
    k0: int,
    n0: int,
    k1: int,
    n1: int,
    *,
    contrast: Literal["ratio", "difference"] = "ratio",
    null: float = 1.0,
    alternative: Literal["less", "greater", "two-sided"] = "two-sided",
) -> tuple[float, float]:
    """Exact unconditional test of H0: contrast = null.

    Parameters
    ----------
    k0, n0, k1, n1 : int
        Successes and cases of group and reference.
    contrast : {"ratio", "difference"}
    null : float
        Value under the null hypothesis (> 0 for a ratio, in (−1, 1) for a difference).
    alternative : {"less", "greater", "two-sided"}
        "less": tables with a statistic as small as the observed one count as extreme.

    Returns
    -------
    statistic, pvalue : float
        Score statistic of the table; largest probability of an equally extreme table over the nuisance rate
        (found on a grid, equally spaced in arcsine √p, that is refined three times around its three highest
        local maxima).

    Examples
    --------
    >>> from fairstats.methods.rates.exact import exact_unconditional_pvalue
    >>> statistic, pvalue = exact_unconditional_pvalue(1, 10, 7, 10, alternative="less")
    >>> print(f"{pvalue:.5f}")
    0.00398
    """
    all0, all1 = np.meshgrid(np.arange(n0 + 1), np.arange(n1 + 1), indexing="ij")
    test = ratio_score_statistic if contrast == "ratio" else difference_score_statistic
    z = test(all0, n0, all1, n1, null, correction=False)
    observed = float(z[k0, k1])
    slack = 1e-9 * max(1.0, abs(observed)) if np.isfinite(observed) else 0.0
    if alternative == "less":
        extreme = z <= observed + slack
    elif alternative == "greater":
        extreme = z >= observed - slack
    else:
        extreme = np.abs(z) >= abs(observed) - slack
    low, high = (
        (0.0, min(1.0, 1.0 / null)) if contrast == "ratio" else (max(0.0, -null), min(1.0, 1.0 - null))
    )

    def probability(grid: NDArray[np.float64]) -> NDArray[np.float64]:
        rate0 = grid * null if contrast == "ratio" else grid + null
        return _probability(extreme, np.clip(rate0, 0.0, 1.0), grid)

    best = _largest(probability, low, high, max(n0, n1))
    return observed, min(best, 1.0)


def _largest(
    probability: Callable[[NDArray[np.float64]], NDArray[np.float64]], low: float, high: float, n: int
) -> float:
    """Largest value on [low, high]; peaks near the ends are as narrow as 1/n."""
    size = _FIRST + int(np.pi * np.sqrt(n))
    grid = low + (high - low) * np.sin(np.linspace(0.0, np.pi / 2, size)) ** 2
    value = probability(grid)
    padded = np.concatenate([[-1.0], value, [-1.0]])
    peaks = np.flatnonzero((value >= padded[:-2]) & (value >= padded[2:]))
    best = float(value.max())
    for top in peaks[np.argsort(-value[peaks], kind="stable")[:_PEAKS]].tolist():
        left, right = float(grid[max(top - 1, 0)]), float(grid[min(top + 1, size - 1)])
        for points in _REFINED:
            finer = np.linspace(left, right, points)
            values = probability(finer)
            at = int(np.argmax(values))
            best = max(best, float(values[at]))
            left, right = float(finer[max(at - 1, 0)]), float(finer[min(at + 1, points - 1)])
    return best


def _probability(
    extreme: NDArray[np.bool_], rate0: NDArray[np.float64], rate1: NDArray[np.float64]
) -> NDArray[np.float64]:
    """P(table is extreme) at each pair of rates.

    Sums over the counts of the smaller group; for each of them the extreme counts of the larger group are a
    few runs of neighbours, whose probability is a difference of distribution functions.
    """
    if extreme.shape[0] > extreme.shape[1]:
        extreme, rate0, rate1 = extreme.T, rate1, rate0
    n_large = extreme.shape[1] - 1
    edges = np.diff(np.pad(extreme.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    row, first = np.nonzero(edges == 1)
    last = np.nonzero(edges == -1)[1] - 1
    pmf = _binomial_pmf(extreme.shape[0] - 1, rate0)
    run = _at_most(last, n_large, rate1) - _at_most(first - 1, n_large, rate1)
    return np.asarray(np.sum(pmf[:, row] * run, axis=1))


def _at_most(k: NDArray[Any], n: int, rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """Binomial distribution function, shape (rates, counts); 0 below 0."""
    from scipy.special import bdtr

    return np.where(k < 0, 0.0, bdtr(np.maximum(k, 0).astype(np.float64), n, rate[:, None]))


def _binomial_pmf(n: int, rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """Binomial probabilities, shape (rates, n+1)."""
    from scipy.special import gammaln, xlog1py, xlogy

    k = np.arange(n + 1)
    log_choose = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    pmf: NDArray[np.float64] = np.exp(log_choose + xlogy(k, rate[:, None]) + xlog1py(n - k, -rate[:, None]))
    return pmf
