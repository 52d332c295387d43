"""Tests of "the groups have one score distribution", exact by permutation.

One pair, the largest of many.

The grid must not depend on the labels. Then every split of the pooled rows (or of whole clusters)
is as likely as the one observed, and p = (1 + #{MADD* ≥ MADD})/(B + 1) is exact: P(p ≤ α) ≤ α.
Given the pooled count c_k of every bin, a random split of n rows into n0 and n1 puts X_k ~
hypergeometric(n, c_k, n0) of them into group 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import betaln

from fairstats.ground.checks import Floats
from fairstats.ground.progress import each_of
from fairstats.methods.madd.labellings import LabelledCurves
from fairstats.methods.madd.noise import Noise
from fairstats.methods.madd.scores import (
    MOST_WHOLE,
    Sample,
    bin_edges,
    cluster_codes,
    histogram_distance,
    pair_places,
)
from fairstats.numerics.draws import SharedNormals, resample_blocks, split_each, split_rows

#: What a test permutes or draws: names of tests, by which a report chooses its words.
EXACT_PERMUTATION = "exact permutation"
SEARCH_PERMUTATION = "exact permutation of the search"
CLUSTER_PERMUTATION = "permutation of whole clusters"
MULTIPLIER = "multiplier bootstrap"
_LARGEST = "largest standardised MADD"
LARGEST_CLUSTER_PERMUTATION = f"{CLUSTER_PERMUTATION}, {_LARGEST}"
#: Values of MADD that differ by less are equal.
_EQUAL_WITHIN = 1e-12
#: Groups up to which the largest MADD has the quantiles of every pair; as many as "auto" compares
#: all with all.
FEW_GROUPS = 10
#: Counts of permutations held in memory at a time.
_CELLS_IN_MEMORY = 1_000_000
#: Where n·n0 is less, the sum of whole numbers of at most 2·n0·n1 is exact in floating point.
_MOST_WHOLE_FLOAT = 2**52
#: Numbers of rows whose mean deviations are computed together.
_COUNTS_TOGETHER = 20_000
#: Cells of the scores of all groups from which the largest MADD finds the quantiles of every pair,
#: per bin; and the fewest and the most of them. Counts of every group in every cell are drawn:
#: fewer cells for small groups are cheap.
CELLS_PER_BIN = 16
FEWEST_CELLS = 64
MOST_CELLS = 256
#: So many of the first permutations show that a p-value is not small.
ENOUGH_REACHED = 20
#: Pairs for each group from which the distances of all pairs are taken together.
_PAIRS_FOR_A_GROUP = 2
#: Least standard deviation that a MADD is standardised by, in 1/n² of the side with n units, the
#: fewer: of one row that is as much as it could be, of more rows far less than it is.
_LEAST_SCALE = 0.5


def permuted_counts(
    pooled: NDArray[np.int64],
    sizes: Sequence[int],
    n_resamples: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Bin counts of every group, (G, B, m), with labels permuted; `pooled`: rows per bin, `sizes`:
    rows per group.
    """
    permuted = np.empty((len(sizes), n_resamples, pooled.size), dtype=np.int64)
    permuted[0] = split_rows(pooled, sizes[0], n_resamples, rng)
    remaining = pooled - permuted[0]
    for group_index, group_size in enumerate(sizes[1:-1], start=1):
        permuted[group_index] = split_each(remaining, group_size, rng)
        remaining -= permuted[group_index]
    permuted[-1] = remaining
    return permuted


def mean_deviation(count: NDArray[Any], n0: Any, n1: Any) -> Floats:
    """E|X − EX| of X ~ hypergeometric(n0 + n1, count, n0).

    2a(n1 − c + a)/n · P(X = a), a = ⌊EX⌋ + 1 (De Moivre).
    """
    n = n0 + n1
    c = np.asarray(count, dtype=np.int64)
    if float(np.max(n)) * float(np.max(n0)) < MOST_WHOLE:
        a = c * n0 // n + 1
    else:
        a = (c * (n0 / n)).astype(np.int64) + 1
    possible = (a <= np.minimum(c, n0)) & (c > 0)
    safe = np.where(possible, a, 0)

    def log_choose(top: Any, chosen: Any) -> Any:
        return -np.log1p(top) - betaln(chosen + 1, top - chosen + 1)

    log_pmf = log_choose(c, safe) + log_choose(n - c, n0 - safe) - log_choose(n, n0)
    return np.where(possible, 2.0 * safe * (n1 - c + safe) / n * np.exp(log_pmf), 0.0)


def null_mean(pooled: NDArray[np.signedinteger[Any]], n0: int, n1: int) -> float:
    """Mean of MADD over all permutations of the labels, Σ_k E|X_k/n0 − (c_k − X_k)/n1|.

    What alike groups show.
    """
    return float(null_means([(pooled, n0, n1)])[0])


def null_means(
    pairs: Iterable[tuple[NDArray[np.signedinteger[Any]], int, int]],
) -> Floats:
    """The same of many pairs, shape (P,): of each (pooled rows per bin, n0, n1).

    Bins with the same number of rows are looked at once, those of many pairs together.
    """
    means: list[Floats] = []
    block: list[_PooledBins] = []
    n_counts = 0
    for pooled, n0, n1 in pairs:
        if int(pooled.max()) < pooled.size:
            bins_of_count = np.bincount(pooled)
            counts = np.flatnonzero(bins_of_count)
            multiplicities = bins_of_count[counts]
        else:
            counts, multiplicities = np.unique(pooled, return_counts=True)
        block.append(_PooledBins(counts, multiplicities, n0, n1))
        n_counts += counts.size
        if n_counts >= _COUNTS_TOGETHER:
            means.append(_null_means_of_block(block))
            block = []
            n_counts = 0
    if block:
        means.append(_null_means_of_block(block))
    return np.concatenate(means) if means else np.empty(0)


class _PooledBins(NamedTuple):
    """Numbers of rows that bins of a pair have, shape (c,), and how many bins have each."""

    counts: NDArray[np.int64]
    multiplicities: NDArray[np.int64]
    n0: int
    n1: int


def _null_means_of_block(block: Sequence[_PooledBins]) -> Floats:
    """Means of MADD of these pairs, shape (P,)."""
    lengths = [bins.counts.size for bins in block]
    n0 = np.array([bins.n0 for bins in block], dtype=np.int64)
    n1 = np.array([bins.n1 for bins in block], dtype=np.int64)
    deviations = mean_deviation(
        np.concatenate([bins.counts for bins in block]),
        np.repeat(n0, lengths),
        np.repeat(n1, lengths),
    )
    deviations *= np.concatenate([bins.multiplicities for bins in block])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    sizes = n0.astype(float) * n1
    return np.asarray(np.add.reduceat(deviations, starts) * (n0 + n1) / sizes)


def nested(samples: Sequence[Sample]) -> bool:
    """Whether every cluster lies in one group."""
    cluster_numbers, group_codes = cluster_codes(samples)
    groups_of = np.zeros((int(cluster_numbers.max()) + 1, len(samples)), dtype=bool)
    groups_of[cluster_numbers, group_codes] = True
    return bool((groups_of.sum(axis=1) == 1).all())


def permuted_cluster_counts(
    samples: Sequence[Sample],
    edges: Floats,
    n_resamples: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Bin counts of every group when labels are permuted over whole clusters, each in one group,
    shape (G, B, m).
    """
    cluster_numbers, group_codes = cluster_codes(samples)
    n_bins = edges.size + 1
    n_groups = len(samples)
    bin_codes = np.concatenate(
        [np.searchsorted(edges, sample.scores, side="right") for sample in samples]
    )
    cluster_bins, counts = np.unique(cluster_numbers * n_bins + bin_codes, return_counts=True)
    cluster_of = cluster_bins // n_bins
    bin_of = cluster_bins % n_bins
    group_of_cluster = np.empty(int(cluster_numbers.max()) + 1, dtype=np.int64)
    group_of_cluster[cluster_numbers] = group_codes
    permuted = np.empty((n_groups, n_resamples, n_bins), dtype=np.int64)
    for resample in each_of(range(n_resamples), "MADD permutations of clusters"):
        permuted_cells = rng.permutation(group_of_cluster)[cluster_of] * n_bins + bin_of
        flat_counts = np.bincount(permuted_cells, weights=counts, minlength=n_groups * n_bins)
        permuted[:, resample] = np.rint(flat_counts).reshape(n_groups, n_bins)
    return permuted


@dataclass(frozen=True)
class DistributionTest:
    """A test of equal distributions; `null_mean`: of MADD if they are.

    Exact for plain rows, else over the draws.
    """

    statistic: float
    pvalue: float
    mid_pvalue: float
    null_mean: float
    method: str


def pvalues(observed: float, drawn: Floats) -> tuple[float, float]:
    """The p-value (1 + #{T* ≥ T})/(B + 1), and the mid-p value.

    Half of the ties, uniform on average.
    """
    n_larger = int((drawn > observed + _EQUAL_WITHIN).sum())
    n_ties = int((drawn >= observed - _EQUAL_WITHIN).sum()) - n_larger
    n_permutations = drawn.size + 1
    return (1 + n_ties + n_larger) / n_permutations, (n_larger + (1 + n_ties) / 2) / n_permutations


def _test_by_draws(
    observed: float,
    drawn: Floats,
    method: str,
    expected: float | None = None,
) -> DistributionTest:
    """The test by these draws; its mean under the hypothesis is theirs where it is not known."""
    if expected is None:
        expected_mean = float(drawn.mean())
    else:
        expected_mean = expected
    return DistributionTest(observed, *pvalues(observed, drawn), expected_mean, method)


def pair_test(
    first: Sample,
    second: Sample,
    edges: Floats,
    n_resamples: int,
    normals: SharedNormals,
    *,
    counts: Sequence[NDArray[Any]] | None = None,
    expected: float | None = None,
    fewest: int | None = None,
) -> DistributionTest | None:
    """Exact permutation test of two groups on a grid.

    None under weights or clusters that lie in both groups. `counts`: rows of both in the bins, and
    `expected`: their `null_mean`, where they are known; `fewest`: permutations after which it
    ends where `ENOUGH_REACHED` of them have as large a distance (Besag, Clifford 1991): a family of
    many comparisons needs the others for small p-values only.
    """
    fewest = n_resamples if fewest is None else min(fewest, n_resamples)
    both_samples = first, second
    if (
        first.weights is not None
        or second.weights is not None
        or (first.clusters is not None and not nested(both_samples))
    ):
        return None
    if counts is None:
        counts = [sample.histogram(edges) for sample in both_samples]
    observed = float(histogram_distance(counts[0], counts[1]))
    if first.clusters is not None:
        permuted = permuted_cluster_counts(both_samples, edges, n_resamples, normals.rng)
        return _test_by_draws(observed, histogram_distance(*permuted), CLUSTER_PERMUTATION)
    pooled = counts[0] + counts[1]
    sizes = (first.n, second.n)
    drawn = _split_distances(pooled, sizes, fewest, normals, "permutations")
    reached = int((drawn >= observed - _EQUAL_WITHIN).sum())
    if reached < ENOUGH_REACHED and n_resamples > fewest:
        further = _split_distances(
            pooled, sizes, n_resamples - fewest, normals, "further permutations"
        )
        drawn = np.concatenate([drawn, further])
    if expected is None:
        expected = null_mean(pooled, first.n, second.n)
    return _test_by_draws(observed, drawn, EXACT_PERMUTATION, expected)


def _split_distances(
    pooled: NDArray[np.int64],
    sizes: tuple[int, int],
    n_resamples: int,
    normals: SharedNormals,
    purpose: str,
) -> Floats:
    """MADD of two groups with their labels permuted, shape (B,)."""

    def values() -> Floats:
        return normals.rows(purpose, pooled.size, n_resamples)

    first_counts = split_rows(pooled, sizes[0], n_resamples, normals.rng, values)
    if sum(sizes) * sizes[0] >= MOST_WHOLE:
        return np.asarray(histogram_distance(first_counts, pooled - first_counts))
    # |x/n0 − (c − x)/n1| = |x·n − c·n0|/(n0·n1), in floating point as long as it is exact there
    kind = np.float64 if sum(sizes) * sizes[0] < _MOST_WHOLE_FLOAT else np.int64
    crossed = first_counts.T * kind(sum(sizes))
    crossed -= (pooled * sizes[0])[:, None]
    return np.asarray(np.abs(crossed, out=crossed).sum(axis=0) / (sizes[0] * sizes[1]))


def multiplier_test(noise: Noise, n_resamples: int, normals: SharedNormals) -> DistributionTest:
    """Bootstrap test where no permutation is allowed: MADD against Σ|h_k| of the noise alone."""
    observed = float(np.abs(noise.difference).sum())
    drawn_distances = np.abs(noise.draws(n_resamples, normals, "test")[-1]).sum(axis=0)
    return _test_by_draws(observed, drawn_distances, MULTIPLIER)


def search_test(
    first: Sample,
    second: Sample,
    observed: float,
    estimates_of: Callable[[Floats], Floats],
    max_bins: int,
    n_resamples: int,
    rng: np.random.Generator,
) -> DistributionTest:
    """Exact permutation test of the searched estimate.

    Algorithm 1 runs again in every permutation: `estimates_of` takes curves, shape (B, L).
    """
    permuted_curves = LabelledCurves.of(Sample.joined([first, second]), first.n, max_bins)
    labels = np.repeat([True, False], [first.n, second.n])
    drawn = []
    for size in resample_blocks(n_resamples, max(labels.size, max_bins), "MADD permutations"):
        # the labels of the pooled rows in the order of their scores
        permuted = rng.permuted(np.tile(labels, (size, 1)), axis=1)
        drawn.append(estimates_of(permuted_curves.distances(permuted)))
    return _test_by_draws(observed, np.concatenate(drawn), SEARCH_PERMUTATION)


@dataclass(frozen=True)
class Sides:
    """What is compared in one MADD.

    Positions of the groups on either side, and (at most) so many bins.
    """

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

    T = max_j (MADD_j − μ_j)/σ_j with the mean and the standard deviation of the permutation law in
    closed form (`null_moments`, at least 1/(2n²) of the smaller side's n), so that a small, noisy
    group does not drown the others, and p is as good as its draws. The labels of all groups are
    permuted together. Every MADD_j is that of the pooled quantiles of *its* two sides in that
    permutation, which 64 to 256 cells of the scores of all groups tell (exactly where there are
    fewer scores); with `equal_width` it is that of equally wide bins. Of more than ten groups it is
    that of quantiles of the scores of all groups, which no permutation moves, as many as the
    comparison with the most bins has (of these cells the others have their own quantiles): a tenth
    of the counts to draw.

    Returns the test, and rows per group and cell, shape (G, cells); None under weights, or clusters
    in several groups.
    """
    clustered = samples[0].clusters is not None
    if any(sample.weights is not None for sample in samples) or (clustered and not nested(samples)):
        return None
    fixed_bins = len(samples) > FEW_GROUPS and not equal_width
    if equal_width:
        cell_edges = bin_edges(pairs[0].n_bins)
    else:
        n_cells = max(sides_of_pair.n_bins for sides_of_pair in pairs)
        if not fixed_bins:
            n_cells = min(max(CELLS_PER_BIN * n_cells, FEWEST_CELLS), MOST_CELLS)
        cell_edges = Sample.joined(samples).quantile_bins(n_cells, merged=merged).edges
    cell_counts = np.vstack([sample.histogram(cell_edges) for sample in samples])
    if clustered:
        centres, scales = cluster_moments(samples, pairs, cell_edges, equal_width=equal_width)
    else:
        centres, scales = expected_moments(cell_counts, pairs, equal_width=equal_width)

    def distances(counts: NDArray[np.int64]) -> Floats:
        """Every MADD of counts in the cells, (G, B, cells) → (pairs, B)."""
        if fixed_bins:
            return _distances_in_fixed_bins(counts, cell_counts.sum(axis=0), pairs)
        rows_below = np.cumsum(counts, axis=-1)
        return np.vstack(
            [
                cell_distance(rows_below, sides_of_pair, equal_width=equal_width)
                for sides_of_pair in pairs
            ]
        )

    def largest_standardised(distances_of_pairs: Floats) -> Floats:
        standardised = (distances_of_pairs - centres[:, None]) / scales[:, None]
        return np.asarray(standardised.max(axis=0))

    statistic = float(largest_standardised(distances(cell_counts[:, None]))[0])
    drawn_statistics = np.empty(n_resamples)
    largest_distances = np.empty(n_resamples)
    at_a_time = max(_CELLS_IN_MEMORY // cell_counts.size, 1)
    for block_start in each_of(range(0, n_resamples, at_a_time), "MADD permutations"):
        block_rows = slice(block_start, min(block_start + at_a_time, n_resamples))
        block_size = block_rows.stop - block_rows.start
        if clustered:
            permuted = permuted_cluster_counts(samples, cell_edges, block_size, rng)
        else:
            permuted = permuted_counts(
                cell_counts.sum(axis=0), [sample.n for sample in samples], block_size, rng
            )
        distances_of_pairs = distances(permuted)
        drawn_statistics[block_rows] = largest_standardised(distances_of_pairs)
        largest_distances[block_rows] = distances_of_pairs.max(axis=0)
    pvalue, mid_pvalue = pvalues(statistic, drawn_statistics)
    distribution_test = DistributionTest(
        statistic=statistic,
        pvalue=pvalue,
        mid_pvalue=mid_pvalue,
        null_mean=float(largest_distances.mean()),
        method=_name_largest_test(clustered),
    )
    return distribution_test, cell_counts


def _name_largest_test(clustered: bool) -> str:
    if clustered:
        return LARGEST_CLUSTER_PERMUTATION
    return f"{EXACT_PERMUTATION}, {_LARGEST}"


@dataclass(frozen=True)
class ColumnSides:
    """What is compared in one MADD of one of several columns of scores."""

    column: int
    sides: Sides


def largest_test_of_columns(
    values: Floats,
    samples: Sequence[Sequence[Sample]],
    group_codes: NDArray[np.integer[Any]],
    units: NDArray[np.integer[Any]] | None,
    pairs: Sequence[ColumnSides],
    n_resamples: int,
    rng: np.random.Generator,
    *,
    equal_width: bool = False,
) -> DistributionTest | None:
    """`largest_test` over several columns of scores of the same rows.

    The labels of whole rows (or of sampling units, each in one group) are permuted, so that the
    columns of a row stay together: one law for all columns, whatever their dependence, and the test
    is exact. Statistic and bins are those of `largest_test` in every column.

    Parameters
    ----------
    values : shape (n, K)
        Scores of the rows.
    samples : K sequences of G samples
        The same by column and group.
    group_codes : shape (n,)
    units : shape (n,), optional
        Sampling unit of each row, counted from 0; None where rows are units.
    pairs : sequence of ColumnSides

    Returns
    -------
    DistributionTest or None
        None under weights, or where units lie in several groups.
    """
    clustered = units is not None
    if any(sample.weights is not None for sample in samples[0]):
        return None
    if clustered and not nested(samples[0]):
        return None
    if units is None:
        unit_of_row = np.arange(len(group_codes))
    else:
        unit_of_row = np.asarray(units)
    n_units = int(unit_of_row.max()) + 1
    group_of_unit = np.zeros(n_units, dtype=np.int64)
    group_of_unit[unit_of_row] = group_codes
    n_groups = len(samples[0])

    in_cells: list[Any] = []
    centres = np.empty(len(pairs))
    scales = np.empty(len(pairs))
    of_column: list[list[int]] = []
    for column, column_samples in enumerate(samples):
        places = []
        for place, pair in enumerate(pairs):
            if pair.column == column:
                places.append(place)
        sides = [pairs[place].sides for place in places]
        of_column.append(places)
        if not places:
            in_cells.append(None)
            continue
        if equal_width:
            cell_edges = bin_edges(sides[0].n_bins)
        else:
            n_cells = CELLS_PER_BIN * max(side.n_bins for side in sides)
            n_cells = min(max(n_cells, FEWEST_CELLS), MOST_CELLS)
            cell_edges = Sample.joined(column_samples).quantile_bins(n_cells).edges
        cell_of_row = np.searchsorted(cell_edges, values[:, column], side="right")
        # rows of every unit in every cell, shape (cells, units)
        in_cells.append(
            csr_matrix(
                (np.ones(len(cell_of_row), dtype=np.int64), (cell_of_row, unit_of_row)),
                shape=(cell_edges.size + 1, n_units),
            )
        )
        if clustered:
            centres[places], scales[places] = cluster_moments(
                column_samples, sides, cell_edges, equal_width=equal_width
            )
        else:
            counts = np.vstack([sample.histogram(cell_edges) for sample in column_samples])
            centres[places], scales[places] = expected_moments(
                counts, sides, equal_width=equal_width
            )

    def distances(labels: NDArray[np.int64]) -> Floats:
        """Every MADD under labels of the units, (B, units) → (pairs, B)."""
        found = np.empty((len(pairs), len(labels)))
        of_group = [(labels == group).T.astype(np.int64) for group in range(n_groups)]
        for column, places in enumerate(of_column):
            if not places:
                continue
            counts = np.stack([(in_cells[column] @ members).T for members in of_group])
            rows_below = np.cumsum(counts, axis=-1)
            for place in places:
                found[place] = cell_distance(
                    rows_below, pairs[place].sides, equal_width=equal_width
                )
        return found

    def largest_standardised(distances_of_pairs: Floats) -> Floats:
        standardised = (distances_of_pairs - centres[:, None]) / scales[:, None]
        return np.asarray(standardised.max(axis=0))

    statistic = float(largest_standardised(distances(group_of_unit[None]))[0])
    drawn_statistics = np.empty(n_resamples)
    largest_distances = np.empty(n_resamples)
    at_a_time = max(_CELLS_IN_MEMORY // n_units, 1)
    for block_start in each_of(range(0, n_resamples, at_a_time), "MADD permutations"):
        block_rows = slice(block_start, min(block_start + at_a_time, n_resamples))
        block_size = block_rows.stop - block_rows.start
        permuted = rng.permuted(np.tile(group_of_unit, (block_size, 1)), axis=1)
        distances_of_pairs = distances(permuted)
        drawn_statistics[block_rows] = largest_standardised(distances_of_pairs)
        largest_distances[block_rows] = distances_of_pairs.max(axis=0)
    pvalue, mid_pvalue = pvalues(statistic, drawn_statistics)
    return DistributionTest(
        statistic=statistic,
        pvalue=pvalue,
        mid_pvalue=mid_pvalue,
        null_mean=float(largest_distances.mean()),
        method=_name_largest_test(clustered),
    )


def cell_distance(below: NDArray[np.int64], sides: Sides, *, equal_width: bool) -> Floats:
    """MADD of the two sides at their pooled quantiles, (G, B, cells) → (B,); `below`: rows up to
    the end of each cell.

    The rule of `fairstats.ground.scores.pooled_bins` for every permutation at once: bin k ends with
    the first cell up to which k/m of the pooled rows lie; up to m cells with rows are bins
    themselves.
    """
    first_below = below[list(sides.first)].sum(axis=0)
    second_below = below[list(sides.second)].sum(axis=0)
    n_first = first_below[:, -1:]
    n_second = second_below[:, -1:]
    n_cells = first_below.shape[1]
    if equal_width or n_cells <= sides.n_bins:
        return _distance_of_parts(first_below, second_below, n_first, n_second)
    pooled_below = first_below + second_below
    pooled_total = pooled_below[:, -1:]
    bin_numbers = np.arange(1, sides.n_bins)
    rows_wanted = -(-bin_numbers * pooled_total // sides.n_bins)
    # rows of different permutations, one above the other, are one ascending array
    row_shift = np.arange(len(pooled_below))[:, None] * (int(pooled_total.max()) + 1)
    end_cells = (
        np.searchsorted((pooled_below + row_shift).ravel(), rows_wanted + row_shift)
        - np.arange(len(pooled_below))[:, None] * n_cells
    )
    bin_ends = np.concatenate([end_cells, np.full((len(end_cells), 1), n_cells - 1)], axis=1)
    distance_values = _distance_of_parts(
        np.take_along_axis(first_below, bin_ends, axis=1),
        np.take_along_axis(second_below, bin_ends, axis=1),
        n_first,
        n_second,
    )
    n_cells_used = np.count_nonzero(np.diff(pooled_below, axis=1, prepend=0), axis=1)
    has_few_cells = n_cells_used <= sides.n_bins
    if has_few_cells.any():
        distance_values[has_few_cells] = _distance_of_parts(
            first_below[has_few_cells],
            second_below[has_few_cells],
            n_first[has_few_cells],
            n_second[has_few_cells],
        )
    return distance_values


def _distance_of_parts(
    first_below: NDArray[np.int64],
    second_below: NDArray[np.int64],
    n_first: NDArray[np.int64],
    n_second: NDArray[np.int64],
) -> Floats:
    """Σ_k |a_k/n0 − b_k/n1| from rows up to the end of each bin, shape (B, bins)."""
    if float(n_first.max()) * float(n_second.max()) < MOST_WHOLE:
        crossed_gap = first_below * n_second - second_below * n_first
        crossed = np.abs(np.diff(crossed_gap, axis=1, prepend=0)).sum(axis=1)
        return np.asarray(crossed / (n_first * n_second)[:, 0])
    gap_of_shares = first_below / n_first - second_below / n_second
    return np.asarray(np.abs(np.diff(gap_of_shares, axis=1, prepend=0.0)).sum(axis=1))


def null_moments(pooled: NDArray[Any], n0: int, n1: int) -> tuple[float, float]:
    """Mean and standard deviation of MADD = Σ_k |D_k| over all permutations of the labels.

    Given c_k rows of n = n0 + n1 in bin k, with p_k = c_k/n,

        Var D_k = p_k(1 − p_k)·n/(n − 1)·(1/n0 + 1/n1),      ρ_kl = −√(p_k p_l/((1 − p_k)(1 − p_l))),

    and E|D_k| is De Moivre's (`mean_deviation`): mean and Var|D_k| = Var D_k − (E|D_k|)² are exact.
    Covariances are those of two normal variables with the same means of |D_k| (Nabeya 1951),

        Cov(|D_k|, |D_l|) ≈ E|D_k|·E|D_l|·(√(1 − ρ²) + ρ·asin ρ − 1),

    exact for two bins; simulated, the standard deviation is right to 2% where groups have ten rows
    or more (to 7% for six beside 800).
    """
    counts = np.asarray(pooled)
    centres, scales = _null_moments_of_pairs(counts[None], np.array([[n0]]), np.array([[n1]]))
    return float(centres[0]), float(scales[0])


def _null_moments_of_pairs(
    counts: NDArray[np.int64], n0: NDArray[np.int64], n1: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """The same of many pairs: counts of shape (pairs, bins), sizes of shape (pairs, 1)."""
    n = n0 + n1
    mean_of_bins = mean_deviation(counts, n0, n1) * (n / (n0.astype(float) * n1))
    shares = counts / n
    variance_of_bins = shares * (1 - shares) * n / np.maximum(n - 1, 1) * (1 / n0 + 1 / n1)
    odds = shares / np.maximum(1 - shares, 1e-300)
    with np.errstate(over="ignore"):  # it counts as 1
        correlation = -np.sqrt(np.minimum(odds[:, :, None] * odds[:, None, :], 1.0))
    correlation_factor = np.sqrt(1 - correlation**2) + correlation * np.arcsin(correlation) - 1
    covariance = mean_of_bins[:, :, None] * mean_of_bins[:, None, :] * correlation_factor
    variance_of_deviations = variance_of_bins - mean_of_bins**2
    bins = np.arange(counts.shape[1])
    covariance[:, bins, bins] = variance_of_deviations
    variances = covariance.sum(axis=(1, 2))
    # of two bins with rows D_1 = −D_2
    only_two = np.count_nonzero(counts, axis=1) == 2
    variances[only_two] = 4 * variance_of_deviations.max(axis=1)[only_two]
    return mean_of_bins.sum(axis=1), np.sqrt(np.maximum(variances, 0.0))


def _moments_of_sum(mean: Floats, variance: Floats, correlation: Floats) -> tuple[float, float]:
    """Mean and standard deviation of Σ_k |D_k| from E|D_k|, Var D_k and the correlations."""
    correlation_factor = np.sqrt(1 - correlation**2) + correlation * np.arcsin(correlation) - 1
    covariance = np.outer(mean, mean) * correlation_factor
    if mean.size == 2:  # D_1 = −D_2
        covariance[:] = variance[0] - mean[0] ** 2
    np.fill_diagonal(covariance, variance - mean**2)
    return float(mean.sum()), float(np.sqrt(max(covariance.sum(), 0.0)))


def expected_moments(
    cells: NDArray[np.int64], pairs: Sequence[Sides], *, equal_width: bool
) -> tuple[Floats, Floats]:
    """`null_moments` of each comparison if its rows were spread over the bins as those of all
    groups are, shape (pairs,) each; the standard deviations are those of `_at_least`.

    They depend on the sizes of the groups and the scores of all of them, not on the labels: the
    test stays exact.
    """
    sizes = cells.sum(axis=1)
    first_sizes, second_sizes = (
        np.array([sizes[list(side)].sum() for side in sides_of_pairs])
        for sides_of_pairs in (
            [sides_of_pair.first for sides_of_pair in pairs],
            [sides_of_pair.second for sides_of_pair in pairs],
        )
    )
    bins_of_pairs = np.array([sides_of_pair.n_bins for sides_of_pair in pairs])
    centres = np.empty(len(pairs))
    scales = np.empty(len(pairs))
    for n_bins in np.unique(bins_of_pairs).tolist():
        shares = _pooled_shares(cells.sum(axis=0), n_bins, equal_width=equal_width)
        alike = np.flatnonzero(bins_of_pairs == n_bins)
        at_a_time = max(_CELLS_IN_MEMORY // shares.size**2, 1)
        for block in np.split(alike, range(at_a_time, alike.size, at_a_time)):
            n_first = first_sizes[block, None]
            n_second = second_sizes[block, None]
            counts = np.rint(shares * (n_first + n_second)).astype(np.int64)
            centres[block], scales[block] = _null_moments_of_pairs(counts, n_first, n_second)
    return centres, _at_least(scales, np.minimum(first_sizes, second_sizes))


def _at_least(scales: Floats, fewest_units: Floats) -> Floats:
    """Standard deviations that a side of one unit does not make too small, shape (pairs,).

    The MADD of one row in two bins of the same size is 1 whatever the labels: its standard
    deviation is 0, or what rounding leaves of it, and any draw whose bins are a row larger would
    lie thousands of it above the mean, and drown the other comparisons.
    """
    return np.asarray(np.maximum(scales, _LEAST_SCALE / np.maximum(fewest_units, 1) ** 2))


def _distances_in_fixed_bins(
    counts: NDArray[np.int64], pooled: NDArray[np.int64], pairs: Sequence[Sides]
) -> Floats:
    """Every MADD in as many quantiles of the pooled rows, (G, B, cells) → (pairs, B)."""
    sizes = counts.sum(axis=-1, keepdims=True)
    distances = np.empty((len(pairs), counts.shape[1]))
    for n_bins in {sides_of_pair.n_bins for sides_of_pair in pairs}:
        starts = np.concatenate([[0], _bin_ends(pooled, n_bins, equal_width=False)[:-1] + 1])
        in_bins = counts
        if starts.size < pooled.size:
            in_bins = np.add.reduceat(counts, starts, axis=-1)
        places = [place for place, sides in enumerate(pairs) if sides.n_bins == n_bins]
        if all(len(pairs[place].first + pairs[place].second) == 2 for place in places):
            first = np.array([pairs[place].first[0] for place in places])
            second = np.array([pairs[place].second[0] for place in places])
            distances[places] = _distances_of_groups(in_bins / sizes, first, second)
            continue
        for place in places:
            first_shares, second_shares = (
                in_bins[list(side)].sum(axis=0) / sizes[list(side)].sum(axis=0)
                for side in (pairs[place].first, pairs[place].second)
            )
            distances[place] = np.abs(first_shares - second_shares).sum(axis=-1)
    return distances


def _distances_of_groups(
    shares: Floats, first: NDArray[np.int64], second: NDArray[np.int64]
) -> Floats:
    """Distances of pairs of groups in every draw, (G, B, m) → (pairs, B)."""
    distances = np.empty((first.size, shares.shape[1]))
    if first.size <= _PAIRS_FOR_A_GROUP * len(shares):
        for pair, (group, other) in enumerate(zip(first, second, strict=True)):
            gaps = shares[group] - shares[other]
            np.abs(gaps, out=gaps).sum(axis=-1, out=distances[pair])
        return distances
    # most pairs: those of one draw together
    from scipy.spatial.distance import pdist

    place = pair_places(first, second, len(shares))
    for draw, shares_of_draw in enumerate(np.ascontiguousarray(shares.transpose(1, 0, 2))):
        distances[:, draw] = pdist(shares_of_draw, "cityblock")[place]
    return distances


def _bin_ends(pooled: NDArray[np.int64], n_bins: int, *, equal_width: bool) -> NDArray[np.int64]:
    """Last cell of every bin, by the rule of `cell_distance`."""
    if equal_width or np.count_nonzero(pooled) <= n_bins:
        return np.arange(pooled.size)
    rows_below = np.cumsum(pooled)
    rows_wanted = -(-np.arange(1, n_bins + 1) * rows_below[-1] // n_bins)
    return np.unique(np.searchsorted(rows_below, rows_wanted))


def _pooled_shares(pooled: NDArray[np.int64], n_bins: int, *, equal_width: bool) -> Floats:
    """Shares of all rows in their own bins."""
    bin_ends = _bin_ends(pooled, n_bins, equal_width=equal_width)
    return np.asarray(np.diff(np.cumsum(pooled)[bin_ends], prepend=0) / pooled.sum())


def cluster_moments(
    samples: Sequence[Sample],
    pairs: Sequence[Sides],
    edges: Floats,
    *,
    equal_width: bool,
) -> tuple[Floats, Floats]:
    """The same where whole clusters are permuted, shape (pairs,) each, by linearisation and as if
    D_k were normal.

    With u_ck = (rows of cluster c in bin k − p_k·rows of c)/(mean rows of a cluster), Cov D =
    S(u)·(1/C0 + 1/C1).
    """
    cluster_numbers, group_codes = cluster_codes(samples)
    n_cells = edges.size + 1
    cell_codes = np.concatenate(
        [np.searchsorted(edges, sample.scores, side="right") for sample in samples]
    )
    n_clusters = int(cluster_numbers.max()) + 1
    rows_by_cluster = np.bincount(
        cluster_numbers * n_cells + cell_codes, minlength=n_clusters * n_cells
    ).reshape(n_clusters, n_cells)
    group_of_cluster = np.zeros(n_clusters, dtype=np.int64)
    group_of_cluster[cluster_numbers] = group_codes
    in_group = np.bincount(group_of_cluster, minlength=len(samples))
    pooled = rows_by_cluster.sum(axis=0)
    moments = []
    fewest_units = []
    for sides_of_pair in pairs:
        bin_ends = _bin_ends(pooled, sides_of_pair.n_bins, equal_width=equal_width)
        in_bins = np.diff(np.cumsum(rows_by_cluster, axis=1)[:, bin_ends], axis=1, prepend=0)
        bin_shares = in_bins.sum(axis=0) / pooled.sum()
        linearised = (in_bins - rows_by_cluster.sum(axis=1, keepdims=True) * bin_shares) / (
            pooled.sum() / n_clusters
        )
        units_of_sides = [
            int(in_group[list(group_side)].sum())
            for group_side in (sides_of_pair.first, sides_of_pair.second)
        ]
        fewest_units.append(min(units_of_sides))
        inverse_sizes = sum(1 / n_units for n_units in units_of_sides)
        covariance = linearised.T @ linearised / max(n_clusters - 1, 1) * inverse_sizes
        variance = np.diag(covariance).copy()
        std_errors = np.sqrt(variance)
        error_scale = np.where(std_errors > 0, std_errors, 1.0)
        correlation = np.clip(covariance / np.outer(error_scale, error_scale), -1.0, 1.0)
        moments.append(_moments_of_sum(np.sqrt(2 / np.pi) * std_errors, variance, correlation))
    centres, scales = np.array(moments).T
    return centres, _at_least(scales, np.array(fewest_units))
