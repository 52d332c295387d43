"""Several comparisons at once: pairs, contrasts, simultaneous critical values, adjusted p-values."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from fairstats.ground.checks import check_choice

ADJUSTMENTS = ("holm", "bonferroni", "sidak", "hommel", "fdr_bh", "none")
_SEED = 20180721
#: Draws of a simulated maximum, and fewest where there are many statistics: draws × statistics is bounded.
_N_DRAWS, _FEWEST_DRAWS, _MOST_VALUES = 1 << 16, 1 << 13, 1 << 28
#: Beyond this number of statistics there is Bonferroni alone. Numbers that are drawn at once.
_MOST, _BLOCK = 1 << 20, 1 << 16


def make_pairs(n_groups: int, reference: int, comparisons: str) -> list[tuple[int, int]]:
    """Pairs (group, reference): each other group against the reference, or all pairs."""
    if comparisons == "all":
        return list(combinations(range(n_groups), 2))
    return [(g, reference) for g in range(n_groups) if g != reference]


@functools.lru_cache(maxsize=1 << 10)
def normal_quantile(probability: float, degrees_of_freedom: float = np.inf) -> float:
    """Quantile of the standard normal, or of Student's t where the degrees of freedom are finite."""
    normal = degrees_of_freedom == math.inf
    return float(ndtri(probability) if normal else stdtrit(degrees_of_freedom, probability))


def normal_cdf(z: float, degrees_of_freedom: float = np.inf) -> float:
    """P(Z ≤ z) of the standard normal, or of Student's t."""
    return float(ndtr(z) if degrees_of_freedom == math.inf else stdtr(degrees_of_freedom, z))


def two_sided_pvalue(z: float, degrees_of_freedom: float = np.inf) -> float:
    """P(|Z| ≥ |z|)."""
    return 2 * normal_cdf(-abs(z), degrees_of_freedom)


class MaxZ:
    """Distribution of max_j |Z_j| for jointly normal (or t) estimates, or for differences of pairs of them.

    Simulated with a fixed seed and bounded by Bonferroni, which also serves the far tail. The estimates are
    drawn, never the pairs, so that neither time nor memory grows with the square of the pairs. 2^16 draws
    (quantiles are right to about .01), fewer beyond 2^12 statistics (at least 2^13: to about .02), and
    Bonferroni alone beyond 2^20.

    `covariance`, shape (m, m), may be singular; or variances, shape (m,), of independent estimates; `pairs`, shape
    (J, 2): positions of the estimates whose differences are taken. What has no known variance is left out.
    """

    def __init__(
        self, covariance: ArrayLike, degrees_of_freedom: float = np.inf, pairs: ArrayLike | None = None
    ) -> None:
        self.degrees_of_freedom = degrees_of_freedom
        known, root = _root(np.asarray(covariance, dtype=np.float64))
        positions = np.arange(known.size)
        first, second = (positions, None) if pairs is None else np.asarray(pairs, dtype=np.intp).T
        variance = np.where(known, (root**2).sum(axis=1) if root.ndim == 2 else root**2, np.nan)
        sums = variance[first]
        if second is not None:
            sums = variance[first] + variance[second]
            between = (root[first] * root[second]).sum(axis=1) if root.ndim == 2 else 0.0
            variance = sums - 2 * between
        keep = variance > 1e-12 * sums
        self.n_estimates = int(keep.sum())
        self._maxima = None
        if 1 < self.n_estimates <= _MOST:
            second = None if second is None else second[keep]
            self._maxima = _maxima(root, first[keep], second, np.sqrt(variance[keep]), degrees_of_freedom)

    def quantile(self, confidence_level: float) -> float:
        """Value c with P(max_j |Z_j| ≤ c) = confidence_level."""
        count = max(self.n_estimates, 1)
        bonferroni = normal_quantile(1 - (1 - confidence_level) / (2 * count), self.degrees_of_freedom)
        if self._maxima is None:
            return bonferroni
        # beyond this draw, and not before, `pvalue` is at most 1 − confidence_level
        beyond = int((1 - confidence_level) * (1 + self._maxima.size) + 1e-9)
        return min(bonferroni, float(self._maxima[-max(beyond, 1)]))

    def pvalue(self, statistic: float) -> float:
        """P(max_j |Z_j| ≥ statistic), NaN where no estimate has a variance."""
        if self.n_estimates == 0:
            return float("nan")
        bonferroni = min(1.0, self.n_estimates * two_sided_pvalue(statistic, self.degrees_of_freedom))
        if self._maxima is None:
            return bonferroni
        reached = int(np.sum(self._maxima >= statistic))
        return min(bonferroni, (1 + reached) / (1 + self._maxima.size))


def _root(covariance: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which estimates have a known variance, and R with R Rᵀ the covariance; of independent ones their standard errors.

    R is the triangular factor of Cholesky, with a column of zeros where an estimate depends on those before it:
    eigenvectors have signs, and in ties directions, that differ between machines, and so would the draws.
    """
    variance = covariance if covariance.ndim == 1 else np.diag(covariance)
    known = np.isfinite(variance) & (variance >= 0)
    scale = np.sqrt(np.where(known, variance, 0.0))
    if covariance.ndim == 1:
        return known, scale
    drawn = np.flatnonzero(scale > 0)
    correlation = covariance[np.ix_(drawn, drawn)] / np.outer(scale[drawn], scale[drawn])
    if np.array_equal(correlation, np.diag(np.diag(correlation))):
        return known, scale
    root = np.zeros((scale.size, drawn.size))
    for j, row in enumerate(drawn):
        left = correlation[j, j] - root[row] @ root[row]
        if left > 1e-10:
            root[row, j] = np.sqrt(left)
            after = drawn[j + 1 :]
            root[after, j] = (correlation[j + 1 :, j] - root[after] @ root[row]) / root[row, j]
    return known, root * scale[:, None]


def _maxima(
    root: NDArray[np.float64], first: NDArray[np.intp], second: NDArray[np.intp] | None,
    scale: NDArray[np.float64], degrees_of_freedom: float,
) -> NDArray[np.float32]:  # fmt: skip
    """Sorted draws of max_j |Z_j|, in blocks that stay in the processor's cache."""
    n_draws = int(np.clip(_MOST_VALUES // scale.size, _FEWEST_DRAWS, _N_DRAWS))
    rng = np.random.default_rng(_SEED)
    # statistics that share their second estimate are looked at together
    ends = np.full(first.size, -1) if second is None else second
    members = [(end, np.flatnonzero(ends == end)) for end in np.unique(ends)]
    maxima = np.zeros(n_draws, dtype=np.float32)
    step = max(64, _BLOCK // root.shape[0])
    for start in range(0, n_draws, step):
        size = min(step, n_draws - start)
        normal = rng.standard_normal((size, root.shape[-1]))
        drawn = (normal * root if root.ndim == 1 else normal @ root.T).T.astype(np.float32, order="C")
        block = maxima[start : start + size]
        for end, own in members:
            z = drawn[first[own]]
            if end >= 0:
                z -= drawn[end]
            np.abs(z, out=z)
            z /= scale[own, None].astype(np.float32)
            np.maximum(block, z.max(axis=0), out=block)
    if np.isfinite(degrees_of_freedom):
        chi2 = np.random.default_rng(_SEED + 1).chisquare(degrees_of_freedom, n_draws)
        maxima /= np.sqrt(chi2 / degrees_of_freedom)
    maxima.sort()
    return maxima


def adjust_pvalues(pvalues: Sequence[float], method: str) -> NDArray[np.float64]:
    """Adjusted p-values of one family; missing ones stay missing and do not count in it."""
    check_choice("adjust", method, ADJUSTMENTS)
    adjusted = np.array(pvalues, dtype=np.float64)
    known = np.flatnonzero(np.isfinite(adjusted))
    if method == "none" or known.size < 2:
        return adjusted
    values = adjusted[known]
    if method == "holm":  # as `multipletests` gives it, without its import
        order = np.argsort(values, kind="stable")
        stepped = np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1))
        adjusted[known[order]] = np.minimum(stepped, 1.0)
        return adjusted
    from statsmodels.stats.multitest import multipletests

    with np.errstate(divide="ignore"):  # log(1 - p) at p = 1 inside statsmodels
        adjusted[known] = multipletests(values, method=method)[1]
    return adjusted
