"""Tests of "the groups have one score distribution", exact by permutation: one pair, the largest of many.

The grid must not depend on the labels. Then, under the hypothesis, every split of the pooled rows (or of
whole clusters) is as likely as the one observed, and p = (1 + #{MADD* ≥ MADD})/(B + 1) is exact: P(p ≤ α) ≤
α.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairstats.methods.madd.binning import bin_edges, histogram_distance
from fairstats.methods.madd.clusters import nested, permuted_cluster_counts
from fairstats.methods.madd.farey import FareyGrid, distances_from_below, farey_grid
from fairstats.methods.madd.hypergeometric import null_mean, permuted_counts
from fairstats.methods.madd.noise import Noise
from fairstats.methods.madd.scores import Sample

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "DistributionTest",
    "largest_test",
    "multiplier_test",
    "pair_test",
    "pvalues",
    "search_test",
]

#: Values of MADD that differ by less are equal.
_ROUNDING = 1e-12
#: Counts of permutations held in memory at a time.
_MOST_CELLS = 5_000_000


@dataclass(frozen=True)
class DistributionTest:
    """A test of equal distributions.

    Attributes
    ----------
    statistic : float
    pvalue : float
        (1 + #{T* ≥ T})/(B + 1).
    mid_pvalue : float
        Half of the ties counted: uniform on average where p is conservative.
    null_mean : float
        Mean of MADD if the groups were alike: exact for plain rows, else over the draws.
    method : str
    """

    statistic: float
    pvalue: float
    mid_pvalue: float
    null_mean: float
    method: str


def pvalues(observed: float, drawn: NDArray[np.float64]) -> tuple[float, float]:
    """The p-value (1 + #{T* ≥ T})/(B + 1), and the mid-p value, which counts half of the ties.

    Examples
    --------
    >>> import numpy as np
    >>> pvalues(2.0, np.array([1.0, 2.0, 3.0]))
    (0.75, 0.5)
    """
    more = int((drawn > observed + _ROUNDING).sum())
    ties = int((drawn >= observed - _ROUNDING).sum()) - more
    count = drawn.size + 1
    return (1 + ties + more) / count, (more + (1 + ties) / 2) / count


def pair_test(
    first: Sample, second: Sample, n_bins: int, n_resamples: int, rng: np.random.Generator
) -> DistributionTest | None:
    """Exact permutation test of two groups on a grid; None under weights or clusters that lie in both groups.

    Parameters
    ----------
    first, second : Sample
    n_bins : int
        m, chosen without the labels.
    n_resamples : int
        B.
    rng : numpy.random.Generator
    """
    if first.weights is not None or second.weights is not None:
        return None
    edges = bin_edges(n_bins)
    counts = [s.histogram(edges) for s in (first, second)]
    observed = float(histogram_distance(counts[0], counts[1]))
    if first.clusters is not None:
        if not nested((first, second)):
            return None
        drawn = permuted_cluster_counts((first, second), edges, n_resamples, rng)
        distances = histogram_distance(drawn[0], drawn[1])
        return DistributionTest(
            observed, *pvalues(observed, distances), float(distances.mean()), "permutation of whole clusters"
        )
    pooled = counts[0] + counts[1]
    drawn = permuted_counts(pooled, (first.n, second.n), n_resamples, rng)
    distances = histogram_distance(drawn[0], drawn[1])
    expected = null_mean(pooled, first.n, second.n)
    return DistributionTest(observed, *pvalues(observed, distances), expected, "exact permutation")


def multiplier_test(noise: Noise, n_resamples: int, rng: np.random.Generator) -> DistributionTest:
    """Bootstrap test where no permutation is allowed: MADD against Σ|h_k| of the noise alone."""
    observed = float(np.abs(noise.difference).sum())
    near = np.ones(noise.difference.size, dtype=bool)
    distances = np.abs(noise.draws(near, n_resamples, rng)).sum(axis=1)
    return DistributionTest(
        observed, *pvalues(observed, distances), float(distances.mean()), "multiplier bootstrap"
    )


def search_test(
    first: Sample,
    second: Sample,
    observed: float,
    estimate_of: Callable[[NDArray[np.float64]], float],
    max_bins: int,
    n_resamples: int,
    rng: np.random.Generator,
) -> DistributionTest:
    """Exact permutation test of the searched estimate: Algorithm 1 runs again in every permutation.

    Parameters
    ----------
    first, second : Sample
        Plain rows.
    observed : float
        Mean of MADD over the stable stretch.
    estimate_of : callable
        The same of a curve, ndarray (M,) in the order of ascending m → float.
    max_bins, n_resamples : int
    rng : numpy.random.Generator
    """
    from tqdm import tqdm

    grid = farey_grid(max_bins)
    n0, n1 = first.n, second.n
    position = Sample.joined([first, second]).below(grid.edges)
    labels = np.repeat([1, 0], [n0, n1])
    distances = np.empty(n_resamples)
    for b in tqdm(range(n_resamples), desc="MADD permutations", leave=False, disable=None, delay=2.0):
        distances[b] = estimate_of(_relabelled(grid, position, rng.permutation(labels), n0, n1))
    return DistributionTest(
        observed, *pvalues(observed, distances), float(distances.mean()), "exact permutation of the search"
    )


def _relabelled(
    grid: FareyGrid, position: NDArray[np.int64], labels: NDArray[np.int64], n0: int, n1: int
) -> NDArray[np.float64]:
    """MADD curve when `labels` (1 = group 0) are given to the pooled rows in the order of their scores."""
    below0 = np.concatenate([[0], np.cumsum(labels)])[position]
    return distances_from_below(grid, below0, position - below0, n0, n1)


@dataclass(frozen=True, eq=False)
class _Statistic:
    """One MADD under the maximum: two sets of groups and the bins of its grid as slices of finer ones."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    starts: NDArray[np.int64]

    def of(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """MADD of counts on the fine grid, (G, …, K) → (…)."""
        sides = [
            np.add.reduceat(counts[list(groups)].sum(axis=0), self.starts, axis=-1)
            for groups in (self.first, self.second)
        ]
        return np.asarray(histogram_distance(sides[0], sides[1]))


def largest_test(
    samples: Sequence[Sample],
    pairs: Sequence[tuple[tuple[int, ...], tuple[int, ...], int]],
    n_resamples: int,
    rng: np.random.Generator,
) -> DistributionTest | None:
    """Exact test that all groups have one distribution, by the largest standardised MADD.

    It accounts for the search of the largest.     The labels of all groups are permuted together. Each MADD
    is centred and scaled by its mean and standard deviation over the permutations and the data, so that a
    small, noisy group does not drown the others.

    Parameters
    ----------
    samples : sequence of Sample, length G
        Groups with rows.
    pairs : sequence of (groups, groups, bins)
        Positions of the groups on either side, and the bins of the grid.
    n_resamples : int
    rng : numpy.random.Generator

    Returns
    -------
    DistributionTest or None
        Its statistic is the largest standardised MADD, its `null_mean` the mean of the largest MADD. None
        under weights, or clusters that lie in several groups.
    """
    if any(s.weights is not None for s in samples):
        return None
    clustered = samples[0].clusters is not None
    if clustered and not nested(samples):
        return None
    edges = np.unique(np.concatenate([bin_edges(n_bins) for *_, n_bins in pairs]))
    observed = np.vstack([s.histogram(edges) for s in samples])
    statistics = [
        _Statistic(first, second, np.concatenate([[0], np.searchsorted(edges, bin_edges(n_bins)) + 1]))
        for first, second, n_bins in pairs
    ]
    values = [np.array([[s.of(observed)] for s in statistics])]
    for count in _portions(n_resamples, observed.size):
        if clustered:
            drawn = permuted_cluster_counts(samples, edges, count, rng)
        else:
            drawn = permuted_counts(observed.sum(axis=0), [s.n for s in samples], count, rng)
        values.append(np.vstack([s.of(drawn) for s in statistics]))
    together = np.concatenate(values, axis=1)
    largest = _standardised(together).max(axis=0)
    what = "permutation of whole clusters" if clustered else "exact permutation"
    return DistributionTest(
        float(largest[0]),
        *pvalues(float(largest[0]), largest[1:]),
        float(together[:, 1:].max(axis=0).mean()),
        f"{what}, largest standardised MADD",
    )


def _portions(n_resamples: int, cells: int) -> Iterator[int]:
    """Numbers of permutations that are held in memory at a time."""
    at_a_time = max(_MOST_CELLS // cells, 1)
    for start in range(0, n_resamples, at_a_time):
        yield min(at_a_time, n_resamples - start)


def _standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows centred and scaled; 0 where a row does not vary."""
    spread = values.std(axis=1, keepdims=True)
    flat = spread < _ROUNDING
    centred = values - values.mean(axis=1, keepdims=True)
    return np.asarray(np.where(flat, 0.0, centred / np.where(flat, 1.0, spread)))
