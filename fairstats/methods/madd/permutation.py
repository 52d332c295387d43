"""Tests of "the groups have one score distribution", exact by permutation: one pair, the largest of many.

The grid must not depend on the labels. Then every split of the pooled rows (or of whole clusters) is as likely as the
one observed, and p = (1 + #{MADD* ≥ MADD})/(B + 1) is exact: P(p ≤ α) ≤ α. Given the pooled count c_k of every bin, a
random split of n rows into n0 and n1 puts X_k ~ hypergeometric(n, c_k, n0) of them into group 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln
from tqdm import tqdm

from fairstats.ground.checks import Floats
from fairstats.methods.madd.noise import Noise
from fairstats.methods.madd.scores import (
    MOST_WHOLE,
    Sample,
    bin_edges,
    cluster_codes,
    distances_from_below,
    farey_grid,
    histogram_distance,
)
from fairstats.numerics.draws import split_each, split_rows

#: Values of MADD that differ by less are equal.
_ROUNDING = 1e-12
#: Counts of permutations held in memory at a time.
_MOST_CELLS = 5_000_000
#: Cells of the scores of all groups from which the largest MADD finds the quantiles of every pair, per bin; and the
#: fewest and the most of them. Counts of every group in every cell are drawn: fewer cells for small groups are cheap.
CELLS_PER_BIN = 16
FEWEST_CELLS = 64
MOST_CELLS = 256


def permuted_counts(
    pooled: NDArray[np.int64], sizes: Sequence[int], n_resamples: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Bin counts of every group, (G, B, m), with labels permuted; `pooled`: rows per bin, `sizes`: rows per group."""
    drawn = np.empty((len(sizes), n_resamples, pooled.size), dtype=np.int64)
    drawn[0] = split_rows(pooled, sizes[0], n_resamples, rng)
    left = pooled - drawn[0]
    for g, size in enumerate(sizes[1:-1], start=1):
        drawn[g] = split_each(left, size, rng)
        left -= drawn[g]
    drawn[-1] = left
    return drawn


def mean_deviation(count: NDArray[Any], n0: int, n1: int) -> Floats:
    """E|X − EX| of X ~ hypergeometric(n0 + n1, count, n0): 2a(n1 − c + a)/n · P(X = a), a = ⌊EX⌋ + 1 (De Moivre)."""
    n = n0 + n1
    c = np.asarray(count, dtype=np.int64)
    a = (c * n0 // n if n * n0 < MOST_WHOLE else (c * (n0 / n)).astype(np.int64)) + 1
    possible = (a <= np.minimum(c, n0)) & (c > 0)
    safe = np.where(possible, a, 0)

    def log_choose(top: Any, chosen: Any) -> Any:
        return -np.log1p(top) - betaln(chosen + 1, top - chosen + 1)

    log_pmf = log_choose(c, safe) + log_choose(n - c, n0 - safe) - log_choose(n, n0)
    return np.where(possible, 2.0 * safe * (n1 - c + safe) / n * np.exp(log_pmf), 0.0)


def null_mean(pooled: NDArray[np.int64], n0: int, n1: int) -> float:
    """Mean of MADD over all permutations of the labels, Σ_k E|X_k/n0 − (c_k − X_k)/n1|: what alike groups show."""
    counts, times = np.unique(pooled, return_counts=True)
    return float(mean_deviation(counts, n0, n1) @ times * (n0 + n1) / (n0 * n1))


def nested(samples: Sequence[Sample]) -> bool:
    """Whether every cluster lies in one group."""
    cluster, group = cluster_codes(samples)
    groups_of = np.zeros((int(cluster.max()) + 1, len(samples)), dtype=bool)
    groups_of[cluster, group] = True
    return bool((groups_of.sum(axis=1) == 1).all())


def permuted_cluster_counts(
    samples: Sequence[Sample], edges: Floats, n_resamples: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Bin counts of every group when labels are permuted over whole clusters, each in one group, shape (G, B, m)."""
    cluster, group = cluster_codes(samples)
    n_bins, n_groups = edges.size + 1, len(samples)
    bins = np.concatenate([np.searchsorted(edges, s.scores, side="right") for s in samples])
    cells, counts = np.unique(cluster * n_bins + bins, return_counts=True)
    cluster_of, bin_of = cells // n_bins, cells % n_bins
    label = np.empty(int(cluster.max()) + 1, dtype=np.int64)
    label[cluster] = group
    drawn = np.empty((n_groups, n_resamples, n_bins), dtype=np.int64)
    for b in range(n_resamples):
        place = rng.permutation(label)[cluster_of] * n_bins + bin_of
        found = np.bincount(place, weights=counts, minlength=n_groups * n_bins)
        drawn[:, b] = np.rint(found).reshape(n_groups, n_bins)
    return drawn


@dataclass(frozen=True)
class DistributionTest:
    """A test of equal distributions; `null_mean`: of MADD if they are: exact for plain rows, else over the draws."""

    statistic: float
    pvalue: float
    mid_pvalue: float
    null_mean: float
    method: str


def pvalues(observed: float, drawn: Floats) -> tuple[float, float]:
    """The p-value (1 + #{T* ≥ T})/(B + 1), and the mid-p value: half of the ties, uniform on average."""
    more = int((drawn > observed + _ROUNDING).sum())
    ties = int((drawn >= observed - _ROUNDING).sum()) - more
    count = drawn.size + 1
    return (1 + ties + more) / count, (more + (1 + ties) / 2) / count


def _tested(observed: float, drawn: Floats, method: str, expected: float | None = None) -> DistributionTest:
    """The test by these draws; its mean under the hypothesis is theirs where it is not known."""
    mean = float(drawn.mean()) if expected is None else expected
    return DistributionTest(observed, *pvalues(observed, drawn), mean, method)


def pair_test(
    first: Sample, second: Sample, edges: Floats, n_resamples: int, rng: np.random.Generator
) -> DistributionTest | None:
    """Exact permutation test of two groups on a grid; None under weights or clusters that lie in both groups."""
    both = first, second
    if first.weights is not None or second.weights is not None or (first.clusters is not None and not nested(both)):
        return None
    counts = [s.histogram(edges) for s in both]
    observed = float(histogram_distance(counts[0], counts[1]))
    if first.clusters is not None:
        drawn = permuted_cluster_counts(both, edges, n_resamples, rng)
        return _tested(observed, histogram_distance(*drawn), "permutation of whole clusters")
    pooled = counts[0] + counts[1]
    drawn = permuted_counts(pooled, (first.n, second.n), n_resamples, rng)
    return _tested(observed, histogram_distance(*drawn), "exact permutation", null_mean(pooled, first.n, second.n))


def multiplier_test(noise: Noise, n_resamples: int, rng: np.random.Generator) -> DistributionTest:
    """Bootstrap test where no permutation is allowed: MADD against Σ|h_k| of the noise alone."""
    observed = float(np.abs(noise.difference).sum())
    drawn = np.abs(noise.draws(n_resamples, rng)[-1]).sum(axis=1)
    return _tested(observed, drawn, "multiplier bootstrap")


def search_test(
    first: Sample, second: Sample, observed: float, estimate_of: Callable[[Floats], float],
    max_bins: int, n_resamples: int, rng: np.random.Generator,
) -> DistributionTest:  # fmt: skip
    """Exact permutation test of the searched estimate: Algorithm 1, `estimate_of` a curve, runs again in every one."""
    grid, n0, n1 = farey_grid(max_bins), first.n, second.n
    position = Sample.joined([first, second]).below(grid.edges)
    labels = np.repeat([1, 0], [n0, n1])
    distances = np.empty(n_resamples)
    for b in tqdm(range(n_resamples), desc="MADD permutations", leave=False, disable=None, delay=2.0):
        # the labels (1 = group 0) of the pooled rows in the order of their scores
        below0 = np.concatenate([[0], np.cumsum(rng.permutation(labels))])[position]
        distances[b] = estimate_of(distances_from_below(grid, below0, position - below0, n0, n1))
    return _tested(observed, distances, "exact permutation of the search")


@dataclass(frozen=True)
class Sides:
    """What is compared in one MADD: positions of the groups on either side, and (at most) so many bins."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    n_bins: int


def largest_test(
    samples: Sequence[Sample],
    pairs: Sequence[Sides],
    n_resamples: int,
    rng: np.random.Generator,
    *,
    equal_width: bool = False,
    merged: bool = False,
) -> tuple[DistributionTest, NDArray[np.int64]] | None:
    """Exact test that all groups have one distribution, by the largest standardised MADD.

    T = max_j (MADD_j − μ_j)/σ_j with the mean and the standard deviation of the permutation law in closed form
    (`null_moments`), so that a small, noisy group does not drown the others, and p is as good as its draws. The labels
    of all groups are permuted together. Every MADD_j is that of the pooled quantiles of *its* two sides in that
    permutation, which 64 to 256 cells of the scores of all groups tell (exactly where there are fewer scores); with
    `equal_width` it is that of equally wide bins.

    Returns the test, and rows per group and cell, shape (G, cells); None under weights, or clusters in several groups.
    """
    clustered = samples[0].clusters is not None
    if any(s.weights is not None for s in samples) or (clustered and not nested(samples)):
        return None
    if equal_width:
        edges = bin_edges(pairs[0].n_bins)
    else:
        n_cells = CELLS_PER_BIN * max(sides.n_bins for sides in pairs)
        n_cells = min(max(n_cells, FEWEST_CELLS), MOST_CELLS)
        edges = Sample.joined(samples).quantile_bins(n_cells, merged=merged).edges
    cells = np.vstack([s.histogram(edges) for s in samples])
    if clustered:
        centres, scales = cluster_moments(samples, pairs, edges, equal_width=equal_width)
    else:
        moments = [expected_moments(cells, sides, equal_width=equal_width) for sides in pairs]
        centres, scales = np.array(moments).T

    def distances(counts: NDArray[np.int64]) -> Floats:
        """Every MADD of counts in the cells, (G, B, cells) → (pairs, B)."""
        below = np.cumsum(counts, axis=-1)
        return np.vstack([cell_distance(below, sides, equal_width=equal_width) for sides in pairs])

    def largest_standardised(values: Floats) -> Floats:
        varying = scales > _ROUNDING
        standardised = (values - centres[:, None]) / np.where(varying, scales, 1.0)[:, None]
        return np.asarray(np.where(varying[:, None], standardised, 0.0).max(axis=0))

    statistic = float(largest_standardised(distances(cells[:, None]))[0])
    drawn, most = np.empty(n_resamples), np.empty(n_resamples)
    at_a_time = max(_MOST_CELLS // cells.size, 1)
    for start in range(0, n_resamples, at_a_time):
        block = slice(start, min(start + at_a_time, n_resamples))
        count = block.stop - block.start
        if clustered:
            permuted = permuted_cluster_counts(samples, edges, count, rng)
        else:
            permuted = permuted_counts(cells.sum(axis=0), [s.n for s in samples], count, rng)
        values = distances(permuted)
        drawn[block] = largest_standardised(values)
        most[block] = values.max(axis=0)
    pvalue, mid_pvalue = pvalues(statistic, drawn)
    what = "permutation of whole clusters" if clustered else "exact permutation"
    test = DistributionTest(
        statistic=statistic,
        pvalue=pvalue,
        mid_pvalue=mid_pvalue,
        null_mean=float(most.mean()),
        method=f"{what}, largest standardised MADD",
    )
    return test, cells


def cell_distance(below: NDArray[np.int64], sides: Sides, *, equal_width: bool) -> Floats:
    """MADD of the two sides at their pooled quantiles, (G, B, cells) → (B,); `below`: rows up to the end of each cell.

    The rule of `fairstats.ground.scores.pooled_bins` for every permutation at once: bin k ends with the first cell up
    to which k/m of the pooled rows lie; up to m cells with rows are bins themselves.
    """
    first = below[list(sides.first)].sum(axis=0)
    second = below[list(sides.second)].sum(axis=0)
    n_first, n_second = first[:, -1:], second[:, -1:]
    n_cells = first.shape[1]
    if equal_width or n_cells <= sides.n_bins:
        return _distance_of_parts(first, second, n_first, n_second)
    pooled = first + second
    total = pooled[:, -1:]
    parts = np.arange(1, sides.n_bins)
    wanted = -(-parts * total // sides.n_bins)
    # rows of different permutations, one above the other, are one ascending array
    shift = np.arange(len(pooled))[:, None] * (int(total.max()) + 1)
    place = np.searchsorted((pooled + shift).ravel(), wanted + shift) - np.arange(len(pooled))[:, None] * n_cells
    ends = np.concatenate([place, np.full((len(place), 1), n_cells - 1)], axis=1)
    found = _distance_of_parts(
        np.take_along_axis(first, ends, axis=1), np.take_along_axis(second, ends, axis=1), n_first, n_second
    )
    used = np.count_nonzero(np.diff(pooled, axis=1, prepend=0), axis=1)
    few = used <= sides.n_bins
    if few.any():
        found[few] = _distance_of_parts(first[few], second[few], n_first[few], n_second[few])
    return found


def _distance_of_parts(
    first: NDArray[np.int64], second: NDArray[np.int64], n_first: NDArray[np.int64], n_second: NDArray[np.int64]
) -> Floats:
    """Σ_k |a_k/n0 − b_k/n1| from rows up to the end of each bin, shape (B, bins)."""
    if float(n_first.max()) * float(n_second.max()) < MOST_WHOLE:
        gap = first * n_second - second * n_first
        crossed = np.abs(np.diff(gap, axis=1, prepend=0)).sum(axis=1)
        return np.asarray(crossed / (n_first * n_second)[:, 0])
    gap_of_shares = first / n_first - second / n_second
    return np.asarray(np.abs(np.diff(gap_of_shares, axis=1, prepend=0.0)).sum(axis=1))


def null_moments(pooled: NDArray[Any], n0: int, n1: int) -> tuple[float, float]:
    """Mean and standard deviation of MADD = Σ_k |D_k| over all permutations of the labels.

    Given c_k rows of n = n0 + n1 in bin k, with p_k = c_k/n,

        Var D_k = p_k(1 − p_k)·n/(n − 1)·(1/n0 + 1/n1),      ρ_kl = −√(p_k p_l/((1 − p_k)(1 − p_l))),

    and E|D_k| is De Moivre's (`mean_deviation`): mean and Var|D_k| = Var D_k − (E|D_k|)² are exact. Covariances are
    those of two normal variables with the same means of |D_k| (Nabeya 1951),

        Cov(|D_k|, |D_l|) ≈ E|D_k|·E|D_l|·(√(1 − ρ²) + ρ·asin ρ − 1),

    exact for two bins; simulated, the standard deviation is right to 2% where groups have ten rows or more (to 7% for
    six beside 800).
    """
    counts = np.asarray(pooled)
    n = n0 + n1
    mean = mean_deviation(counts, n0, n1) * (n / (n0 * n1))
    p = counts / n
    variance = p * (1 - p) * n / max(n - 1, 1) * (1 / n0 + 1 / n1)
    odds = p / np.maximum(1 - p, 1e-300)
    with np.errstate(over="ignore"):  # it counts as 1
        correlation = -np.sqrt(np.minimum(np.outer(odds, odds), 1.0))
    return _moments(mean, variance, correlation)


def _moments(mean: Floats, variance: Floats, correlation: Floats) -> tuple[float, float]:
    """Mean and standard deviation of Σ_k |D_k| from E|D_k|, Var D_k and the correlations."""
    joint = np.sqrt(1 - correlation**2) + correlation * np.arcsin(correlation) - 1
    covariance = np.outer(mean, mean) * joint
    if mean.size == 2:  # D_1 = −D_2
        covariance[:] = variance[0] - mean[0] ** 2
    np.fill_diagonal(covariance, variance - mean**2)
    return float(mean.sum()), float(np.sqrt(max(covariance.sum(), 0.0)))


def expected_moments(cells: NDArray[np.int64], sides: Sides, *, equal_width: bool) -> tuple[float, float]:
    """`null_moments` of a comparison if its rows were spread over the bins as those of all groups are.

    They depend on the sizes of the groups and the scores of all of them, not on the labels: the test stays exact.
    """
    n0, n1 = (int(cells[list(side)].sum()) for side in (sides.first, sides.second))
    shares = _pooled_shares(cells.sum(axis=0), sides.n_bins, equal_width=equal_width)
    counts = np.rint(shares * (n0 + n1)).astype(np.int64)
    return null_moments(counts[counts > 0], n0, n1)


def _bin_ends(pooled: NDArray[np.int64], n_bins: int, *, equal_width: bool) -> NDArray[np.int64]:
    """Last cell of every bin, by the rule of `cell_distance`."""
    if equal_width or np.count_nonzero(pooled) <= n_bins:
        return np.arange(pooled.size)
    below = np.cumsum(pooled)
    wanted = -(-np.arange(1, n_bins + 1) * below[-1] // n_bins)
    return np.unique(np.searchsorted(below, wanted))


def _pooled_shares(pooled: NDArray[np.int64], n_bins: int, *, equal_width: bool) -> Floats:
    """Shares of all rows in their own bins."""
    ends = _bin_ends(pooled, n_bins, equal_width=equal_width)
    return np.asarray(np.diff(np.cumsum(pooled)[ends], prepend=0) / pooled.sum())


def cluster_moments(
    samples: Sequence[Sample], pairs: Sequence[Sides], edges: Floats, *, equal_width: bool
) -> tuple[Floats, Floats]:
    """The same where whole clusters are permuted, shape (pairs,) each, by linearisation and as if D_k were normal.

    With u_ck = (rows of cluster c in bin k − p_k·rows of c)/(mean rows of a cluster), Cov D = S(u)·(1/C0 + 1/C1).
    """
    cluster, group = cluster_codes(samples)
    n_cells = edges.size + 1
    cell = np.concatenate([np.searchsorted(edges, s.scores, side="right") for s in samples])
    n_clusters = int(cluster.max()) + 1
    rows = np.bincount(cluster * n_cells + cell, minlength=n_clusters * n_cells).reshape(n_clusters, n_cells)
    owner = np.zeros(n_clusters, dtype=np.int64)
    owner[cluster] = group
    in_group = np.bincount(owner, minlength=len(samples))
    pooled = rows.sum(axis=0)
    moments = []
    for sides in pairs:
        ends = _bin_ends(pooled, sides.n_bins, equal_width=equal_width)
        in_bins = np.diff(np.cumsum(rows, axis=1)[:, ends], axis=1, prepend=0)
        share = in_bins.sum(axis=0) / pooled.sum()
        u = (in_bins - rows.sum(axis=1, keepdims=True) * share) / (pooled.sum() / n_clusters)
        reach = sum(1 / in_group[list(side)].sum() for side in (sides.first, sides.second))
        covariance = u.T @ u / max(n_clusters - 1, 1) * reach
        variance = np.diag(covariance).copy()
        error = np.sqrt(variance)
        scale = np.where(error > 0, error, 1.0)
        correlation = np.clip(covariance / np.outer(scale, scale), -1.0, 1.0)
        moments.append(_moments(np.sqrt(2 / np.pi) * error, variance, correlation))
    centres, scales = np.array(moments).T
    return centres, scales
