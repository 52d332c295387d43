"""Exact unconditional tests for two rates: the p-value is the largest over the nuisance rate (Chan 1998).

Tables are ordered by the score statistic; for a ratio of 1 (or a difference of 0) the p-value is that of
 `scipy.stats.barnard_exact` with pooled variance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fairstats.methods.rates.score import difference_score_statistic, ratio_score_statistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_TABLES", "exact_unconditional_pvalue"]

#: Largest number of tables (n₀+1)(n₁+1) that is enumerated.
MAX_TABLES = 40_000
#: Points of the first grid of nuisance rates, then of each refinement around its maximum.
_GRIDS = (160, 32, 32, 32)


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
        (found on a grid of 160 points refined three times around its maximum).

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
    best = 0.0
    for size in _GRIDS:
        grid = np.linspace(low, high, size)
        rate0 = grid * null if contrast == "ratio" else grid + null
        probability = _probability(extreme, np.clip(rate0, 0.0, 1.0), grid)
        top = int(np.argmax(probability))
        best = max(best, float(probability[top]))
        low, high = float(grid[max(top - 1, 0)]), float(grid[min(top + 1, size - 1)])
    return observed, min(best, 1.0)


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
