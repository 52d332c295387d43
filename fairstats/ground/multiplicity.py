"""Several comparisons at once.

Pairs, contrasts, simultaneous critical values, adjusted p-values.
"""

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
#: Of families whose statistics depend on each other in any way: of subgroups, not of verdicts.
BENJAMINI_YEKUTIELI = "fdr_by"
#: Those that hold the expected share of false verdicts, not the chance of any.
FALSE_DISCOVERY = ("fdr_bh",)
_FIXED_SEED = 20180721
#: Draws of a simulated maximum, and fewest where there are many statistics: draws × statistics is
#: bounded.
_N_DRAWS = 1 << 16
_FEWEST_DRAWS = 1 << 13
_MOST_VALUES = 1 << 28
#: Draws of so few estimates are kept: 4 MB at most, twice (of two numbers of estimates).
_FEW_ESTIMATES = 8
#: Beyond this number of statistics there is Bonferroni alone. Numbers that are drawn at once.
_MOST_STATISTICS = 1 << 20
_BLOCK_SIZE = 1 << 16
#: With more pairs than this per independent estimate, few pairs are looked at (`_MostPairs`).
_PAIRS_PER_ESTIMATE = 80


def make_pairs(n_groups: int, reference: int, comparisons: str) -> list[tuple[int, int]]:
    """Pairs (group, reference): each other group against the reference, or all pairs.

    "rest", "overall": each of the first half of the groups and its partner in the second.
    """
    if comparisons in ("rest", "overall"):
        half = n_groups // 2
        return [(group_index, half + group_index) for group_index in range(half)]
    if comparisons == "all":
        return list(combinations(range(n_groups), 2))
    pairs: list[tuple[int, int]] = []
    for group_index in range(n_groups):
        if group_index != reference:
            pairs.append((group_index, reference))
    return pairs


@functools.lru_cache(maxsize=1 << 10)
def normal_quantile(probability: float, degrees_of_freedom: float = np.inf) -> float:
    """Quantile of the standard normal, or of Student's t where the degrees of freedom are
    finite.
    """
    is_normal = degrees_of_freedom == math.inf
    return float(ndtri(probability) if is_normal else stdtrit(degrees_of_freedom, probability))


def normal_cdf(z: float, degrees_of_freedom: float = np.inf) -> float:
    """P(Z ≤ z) of the standard normal, or of Student's t."""
    return float(ndtr(z) if degrees_of_freedom == math.inf else stdtr(degrees_of_freedom, z))


def two_sided_pvalue(z: float, degrees_of_freedom: float = np.inf) -> float:
    """P(|Z| ≥ |z|)."""
    return 2 * normal_cdf(-abs(z), degrees_of_freedom)


class MaxZ:
    """Distribution of max_j |Z_j| for jointly normal (or t) estimates, or for differences of pairs
    of them.

    Simulated with a fixed seed and bounded by Bonferroni, which also serves the far tail. The
    estimates are drawn, never the pairs, so that neither time nor memory grows with the square of
    the pairs. 2^16 draws (quantiles are right to about .01), fewer beyond 2^12 statistics (at least
    2^13: to about .02), and Bonferroni alone beyond 2^20.

    `covariance`, shape (m, m), may be singular; or variances, shape (m,), of independent estimates;
    `pairs`, shape (J, 2): positions of the estimates whose differences are taken. What has no known
    variance is left out.
    """

    def __init__(
        self,
        covariance: ArrayLike,
        degrees_of_freedom: float = np.inf,
        pairs: ArrayLike | None = None,
    ) -> None:
        self.degrees_of_freedom = degrees_of_freedom
        has_variance, covariance_root = _covariance_root(np.asarray(covariance, dtype=np.float64))
        positions = np.arange(has_variance.size)
        if pairs is None:
            first_estimates = positions
            second_estimates = None
        else:
            first_estimates, second_estimates = np.asarray(pairs, dtype=np.intp).T
        variance = np.where(
            has_variance,
            (covariance_root**2).sum(axis=1) if covariance_root.ndim == 2 else covariance_root**2,
            np.nan,
        )
        variance_sums = variance[first_estimates]
        if second_estimates is not None:
            variance_sums = variance[first_estimates] + variance[second_estimates]
            if covariance_root.ndim == 2:
                pair_covariance = (
                    covariance_root[first_estimates] * covariance_root[second_estimates]
                ).sum(axis=1)
            else:
                pair_covariance = 0.0
            variance = variance_sums - 2 * pair_covariance
        has_spread = variance > 1e-12 * variance_sums
        self.n_estimates = int(has_spread.sum())
        self._maxima = None
        if 1 < self.n_estimates <= _MOST_STATISTICS:
            if second_estimates is None:
                second_estimates = None
            else:
                second_estimates = second_estimates[has_spread]
            self._maxima = _draw_maxima(
                covariance_root,
                first_estimates[has_spread],
                second_estimates,
                np.sqrt(variance[has_spread]),
                degrees_of_freedom,
            )

    def quantile(self, confidence_level: float) -> float:
        """Value c with P(max_j |Z_j| ≤ c) = confidence_level."""
        count = max(self.n_estimates, 1)
        bonferroni = normal_quantile(
            1 - (1 - confidence_level) / (2 * count), self.degrees_of_freedom
        )
        if self._maxima is None:
            return bonferroni
        # beyond this draw, and not before, `pvalue` is at most 1 − confidence_level
        n_beyond = int((1 - confidence_level) * (1 + self._maxima.size) + 1e-9)
        return min(bonferroni, float(self._maxima[-max(n_beyond, 1)]))

    def pvalue(self, statistic: float) -> float:
        """P(max_j |Z_j| ≥ statistic), NaN where no estimate has a variance."""
        if self.n_estimates == 0:
            return float("nan")
        bonferroni = min(
            1.0, self.n_estimates * two_sided_pvalue(statistic, self.degrees_of_freedom)
        )
        if self._maxima is None:
            return bonferroni
        n_reached = int(np.sum(self._maxima >= statistic))
        return min(bonferroni, (1 + n_reached) / (1 + self._maxima.size))


def _covariance_root(
    covariance: NDArray[np.float64],
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which estimates have a known variance, and R with R Rᵀ the covariance.

    Of independent ones their standard errors.

    R is the triangular factor of Cholesky, with a column of zeros where an estimate depends on
    those before it: eigenvectors have signs, and in ties directions, that differ between machines,
    and so would the draws.
    """
    if covariance.ndim == 1:
        variance = covariance
    else:
        variance = np.diag(covariance)
    has_variance = np.isfinite(variance) & (variance >= 0)
    standard_errors = np.sqrt(np.where(has_variance, variance, 0.0))
    if covariance.ndim == 1:
        return has_variance, standard_errors
    drawn = np.flatnonzero(standard_errors > 0)
    correlation = covariance[np.ix_(drawn, drawn)] / np.outer(
        standard_errors[drawn], standard_errors[drawn]
    )
    if np.array_equal(correlation, np.diag(np.diag(correlation))):
        return has_variance, standard_errors
    root = np.zeros((standard_errors.size, drawn.size))
    for j, row in enumerate(drawn):
        remaining_variance = correlation[j, j] - root[row] @ root[row]
        if remaining_variance > 1e-10:
            root[row, j] = np.sqrt(remaining_variance)
            later_rows = drawn[j + 1 :]
            root[later_rows, j] = (correlation[j + 1 :, j] - root[later_rows] @ root[row]) / root[
                row, j
            ]
    return has_variance, root * standard_errors[:, None]


@functools.lru_cache(maxsize=2)
def _kept_draws(n_draws: int, n_estimates: int) -> NDArray[np.float64]:
    """The draws of a fixed seed, which every metric of an audit needs, (draws, n)."""
    normal_draws = np.random.default_rng(_FIXED_SEED).standard_normal((n_draws, n_estimates))
    # every later result rests on them
    normal_draws.flags.writeable = False
    return normal_draws


def _draw_maxima(
    covariance_root: NDArray[np.float64],
    first: NDArray[np.intp],
    second: NDArray[np.intp] | None,
    standard_errors: NDArray[np.float64],
    degrees_of_freedom: float,
) -> NDArray[np.float32]:
    """Sorted draws of max_j |Z_j|, in blocks that stay in the processor's cache."""
    n_draws = int(np.clip(_MOST_VALUES // standard_errors.size, _FEWEST_DRAWS, _N_DRAWS))
    generator = np.random.default_rng(_FIXED_SEED)
    most_pairs: _MostPairs | None = None
    if (
        second is not None
        and covariance_root.ndim == 1
        and first.size > _PAIRS_PER_ESTIMATE * covariance_root.size
    ):
        most_pairs = _MostPairs(covariance_root, first, second, standard_errors)
        pair_ends = np.zeros(0, dtype=np.intp)
    elif second is None:
        pair_ends = np.full(first.size, -1)
    else:
        pair_ends = second
    # statistics that share their second estimate are looked at together
    members = []
    for shared_end in np.unique(pair_ends):
        members.append((shared_end, np.flatnonzero(pair_ends == shared_end)))
    maxima = np.zeros(n_draws, dtype=np.float32)
    block_size = max(64, _BLOCK_SIZE // covariance_root.shape[0])
    n_normal = covariance_root.shape[-1]
    for block_start in range(0, n_draws, block_size):
        size = min(block_size, n_draws - block_start)
        if n_normal <= _FEW_ESTIMATES:
            normal_draws = _kept_draws(n_draws, n_normal)[block_start : block_start + size]
        else:
            normal_draws = generator.standard_normal((size, n_normal))
        drawn = (
            normal_draws * covariance_root
            if covariance_root.ndim == 1
            else normal_draws @ covariance_root.T
        ).T.astype(np.float32, order="C")
        block_maxima = maxima[block_start : block_start + size]
        if most_pairs is not None:
            block_maxima[:] = most_pairs.maxima(drawn.T)
            continue
        for shared_end, own_pairs in members:
            z = drawn[first[own_pairs]]
            if shared_end >= 0:
                z -= drawn[shared_end]
            np.abs(z, out=z)
            z /= standard_errors[own_pairs, None].astype(np.float32)
            np.maximum(block_maxima, z.max(axis=0), out=block_maxima)
    if np.isfinite(degrees_of_freedom):
        chi_square_draws = np.random.default_rng(_FIXED_SEED + 1).chisquare(
            degrees_of_freedom, n_draws
        )
        maxima /= np.sqrt(chi_square_draws / degrees_of_freedom)
    maxima.sort()
    return maxima


class _MostPairs:
    """The largest |x_i − x_j|/√(s_i² + s_j²) over pairs of many independent estimates x.

    With z = x/s it is at most √(z_i² + z_j²) (Cauchy and Schwarz). So once a value M has been found
    among the estimates with the K largest |z|, and z_(1)² + z_(K+1)² ≤ M², no other pair exceeds it:
    few of the n² pairs are looked at, and the answer is that of all.
    """

    def __init__(
        self,
        spreads: NDArray[np.float64],
        first: NDArray[np.intp],
        second: NDArray[np.intp],
        standard_errors: NDArray[np.float64],
    ) -> None:
        self._inverse_spreads = np.divide(
            1.0, spreads, out=np.zeros_like(spreads), where=spreads > 0
        ).astype(np.float32)
        # pairs that are not asked for have no statistic
        self._errors = np.full((spreads.size, spreads.size), np.inf, dtype=np.float32)
        self._errors[first, second] = standard_errors
        self._errors[second, first] = standard_errors

    def maxima(self, estimates: NDArray[np.float32], n_best: int = 32) -> NDArray[np.float32]:
        """The maximum of each draw, (draws, n) → (draws,)."""
        n_draws, n_estimates = estimates.shape
        n_best = min(n_best, n_estimates)
        sizes = np.abs(estimates * self._inverse_spreads)
        if n_best < n_estimates:
            order = np.argpartition(sizes, n_estimates - n_best - 1, axis=1)
            best = order[:, n_estimates - n_best :]
            next_size = np.take_along_axis(
                sizes, order[:, n_estimates - n_best - 1 : n_estimates - n_best], axis=1
            )[:, 0]
        else:
            best = np.broadcast_to(np.arange(n_estimates), sizes.shape)
            next_size = np.zeros(n_draws, dtype=np.float32)
        largest = np.empty(n_draws, dtype=np.float32)
        at_a_time = max(_BLOCK_SIZE // n_best**2, 1)
        for start in range(0, n_draws, at_a_time):
            chosen = best[start : start + at_a_time]
            values = np.take_along_axis(estimates[start : start + at_a_time], chosen, axis=1)
            statistics = np.abs(values[:, :, None] - values[:, None, :])
            statistics /= self._errors[chosen[:, :, None], chosen[:, None, :]]
            largest[start : start + at_a_time] = statistics.max(axis=(1, 2))
        if n_best < n_estimates:
            beyond = sizes.max(axis=1).astype(np.float64) ** 2 + next_size.astype(np.float64) ** 2
            open_draws = np.flatnonzero(beyond * (1 + 1e-5) > largest.astype(np.float64) ** 2)
            if open_draws.size:
                largest[open_draws] = self.maxima(estimates[open_draws], 4 * n_best)
        return largest


def adjust_pvalues(pvalues: Sequence[float], method: str) -> NDArray[np.float64]:
    """Adjusted p-values of one family; missing ones stay missing and do not count in it."""
    check_choice("adjust", method, (*ADJUSTMENTS, BENJAMINI_YEKUTIELI))
    adjusted = np.array(pvalues, dtype=np.float64)
    if adjusted.size < 2:
        return adjusted
    known_positions = np.flatnonzero(np.isfinite(adjusted))
    if method == "none" or known_positions.size < 2:
        return adjusted
    values = adjusted[known_positions]
    if method == "holm":  # as `multipletests` gives it, without its import
        ascending_order = np.argsort(values, kind="stable")
        stepwise_pvalues = np.maximum.accumulate(
            values[ascending_order] * np.arange(values.size, 0, -1)
        )
        adjusted[known_positions[ascending_order]] = np.minimum(stepwise_pvalues, 1.0)
        return adjusted
    from statsmodels.stats.multitest import multipletests

    with np.errstate(divide="ignore"):  # log(1 - p) at p = 1 inside statsmodels
        adjusted[known_positions] = multipletests(values, method=method)[1]
    return adjusted
