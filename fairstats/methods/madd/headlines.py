"""MADD as published, of many pairs together: the curve over the numbers of bins, its stable stretch,
and what alike groups would show there.

Of groups that are compared all with all, the shares of the scores in a block of grids are counted
once, and the sums of

    MADD_m(g, h) = Σ_k |d_gk − d_hk|,      k = 1 … m,

taken for all pairs at once: a pair then costs its additions alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.methods.madd.scores import (
    Sample,
    distances_of_pair,
    farey_grid,
    pair_places,
)

#: Pairs for each group from which counting the shares of all groups together pays.
_PAIRS_FOR_A_GROUP = 2
#: Shares of all groups held in memory at a time.
_SHARES_AT_ONCE = 500_000
#: Products of sizes up to which a distance, rounded some thousand times, tells the whole number
#: that it was divided by.
_WHOLE_UP_TO = 1e11


def curves_of_pairs(pairs: Sequence[tuple[Sample, Sample]], max_bins: int) -> Floats:
    """MADD with 1 … `max_bins` bins of every pair of samples, shape (P, M)."""
    samples: list[Sample] = []
    places: dict[int, int] = {}
    for sample in (sample for pair in pairs for sample in pair):
        if id(sample) not in places:
            places[id(sample)] = len(samples)
            samples.append(sample)
    if len(pairs) <= _PAIRS_FOR_A_GROUP * len(samples):
        return np.stack([distances_of_pair(*pair, max_bins) for pair in pairs])
    first = np.array([places[id(pair[0])] for pair in pairs])
    second = np.array([places[id(pair[1])] for pair in pairs])
    return _curves_together(samples, first, second, max_bins)


def _curves_together(
    samples: Sequence[Sample],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    max_bins: int,
) -> Floats:
    """Curves of the pairs (first[p], second[p]) of the samples."""
    from scipy.spatial.distance import pdist

    place = pair_places(first, second, len(samples))
    curves = np.empty((first.size, max_bins))
    totals = np.array([sample.total for sample in samples])
    for grids, counts, starts in _counts_in_blocks(samples, max_bins):
        shares = counts / totals[:, None]
        distances = np.empty((len(grids), first.size))
        for row, (n_bins, start) in enumerate(zip(grids, starts, strict=True)):
            of_all = pdist(shares[:, start : start + n_bins], "cityblock")
            of_all.take(place, out=distances[row], mode="clip")
        # columns side by side: one by one each value would need a line of the cache
        curves[:, grids.start - 1 : grids.stop - 1] = distances.T
    whole = np.array([sample.weights is None for sample in samples])
    products = totals[first] * totals[second]
    exact = whole[first] & whole[second] & (products < _WHOLE_UP_TO)
    # n0·n1·MADD is a whole number: that is rounded once, as it is for a single pair
    products = products[exact, None]
    curves[exact] = np.rint(curves[exact] * products) / products
    return curves


def _counts_in_blocks(
    samples: Sequence[Sample], max_bins: int
) -> Iterator[tuple[range, NDArray[Any], list[int]]]:
    """Rows (or weight) of all samples in the bins of some grids after the other, (G, bins).

    With the numbers of bins of these grids, and where each of them starts.
    """
    grid = farey_grid(max_bins)
    n_samples = len(samples)
    sample_of_score = np.repeat(np.arange(n_samples), [len(sample.scores) for sample in samples])
    # a score in cell c lies below the edges from c on
    cells = np.concatenate([np.cumsum(sample.grid_runs(max_bins)[:-1]) for sample in samples])
    amounts = _amounts_of(samples)
    fewest = 1
    for most in _block_ends(max_bins, _SHARES_AT_ONCE // n_samples):
        pick = grid.pick[grid.starts[fewest - 1] : grid.starts[most - 1] + most]
        is_met = np.zeros(grid.edges.size + 1, dtype=bool)
        is_met[pick] = True
        is_met[0] = False
        # rank[p]: edges of the block up to the p-th; 0 for the end at 0
        rank = np.cumsum(is_met, dtype=np.int32)
        n_edges = int(rank[-1])
        flat = np.bincount(
            sample_of_score * (n_edges + 1) + rank.take(cells),
            weights=amounts,
            minlength=n_samples * (n_edges + 1),
        )
        if amounts is None:
            flat = flat.astype(np.int32)
        rows_below = np.cumsum(flat.reshape(n_samples, -1), axis=1, dtype=flat.dtype)
        totals = rows_below[:, -1].copy()
        # below the end at 0 lies nothing: its place is that of all rows, which none needs
        rows_below[:, -1] = 0
        at_edges = rows_below.take(rank.take(pick) - 1, axis=1)
        counts = np.empty_like(at_edges)
        np.subtract(at_edges[:, 1:], at_edges[:, :-1], out=counts[:, :-1])
        counts[:, -1] = -at_edges[:, -1]
        numbers_of_bins = range(fewest, most + 1)
        starts = np.concatenate([[0], np.cumsum(numbers_of_bins)])
        counts[:, starts[1:] - 1] += totals[:, None]
        yield numbers_of_bins, counts, starts[:-1].tolist()
        fewest = most + 1


def _amounts_of(samples: Sequence[Sample]) -> NDArray[Any] | None:
    """Rows, or weight, of each score of all samples; None for one row each."""
    if all(sample.weights is None and sample.counts is None for sample in samples):
        return None
    amounts = []
    for sample in samples:
        amount = sample.counts if sample.weights is None else sample.weights
        amounts.append(np.ones(len(sample.scores)) if amount is None else amount)
    return np.concatenate(amounts)


def _block_ends(max_bins: int, most_bins: int) -> Iterator[int]:
    """The last grid of blocks of at most so many bins together, and at least one grid each."""
    in_block = 0
    for n_bins in range(1, max_bins + 1):
        if in_block and in_block + n_bins > most_bins:
            yield n_bins - 1
            in_block = 0
        in_block += n_bins
    yield max_bins
