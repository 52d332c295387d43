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


def largest_test(
    samples: Sequence[Sample], pairs: Sequence[tuple[tuple[int, ...], tuple[int, ...], Floats]],
    n_resamples: int, rng: np.random.Generator,
) -> DistributionTest | None:  # fmt: skip
    """Exact test that all groups have one distribution, by the largest standardised MADD.

    Each MADD is centred and scaled over the permutations and the data, so that a small, noisy group does not drown the
    others. `pairs`: groups on either side, inner edges. None under weights, or clusters in several groups.
    """
    clustered = samples[0].clusters is not None
    if any(s.weights is not None for s in samples) or (clustered and not nested(samples)):
        return None
    edges = np.unique(np.concatenate([own for *_, own in pairs]))
    observed = np.vstack([s.histogram(edges) for s in samples])

    def distances(counts: NDArray[np.int64]) -> Floats:
        """Every MADD of counts on the finest grid, (G, B, K) → (pairs, B)."""
        found = []
        for first, second, own in pairs:
            starts = np.concatenate([[0], np.searchsorted(edges, own) + 1])
            sides = (counts[list(side)].sum(axis=0) for side in (first, second))
            found.append(histogram_distance(*(np.add.reduceat(s, starts, axis=-1) for s in sides)))
        return np.vstack(found)

    values = [distances(observed[:, None])]
    at_a_time = max(_MOST_CELLS // observed.size, 1)
    for start in range(0, n_resamples, at_a_time):
        count = min(at_a_time, n_resamples - start)
        if clustered:
            drawn = permuted_cluster_counts(samples, edges, count, rng)
        else:
            drawn = permuted_counts(observed.sum(axis=0), [s.n for s in samples], count, rng)
        values.append(distances(drawn))
    together = np.concatenate(values, axis=1)
    spread = together.std(axis=1, keepdims=True)
    varying = spread >= _ROUNDING
    centred = together - together.mean(axis=1, keepdims=True)
    largest = np.where(varying, centred / np.where(varying, spread, 1.0), 0.0).max(axis=0)
    what = "permutation of whole clusters" if clustered else "exact permutation"
    return DistributionTest(
        float(largest[0]), *pvalues(float(largest[0]), largest[1:]),
        float(together[:, 1:].max(axis=0).mean()), f"{what}, largest standardised MADD",
    )  # fmt: skip
