"""Histograms of scores on [0, 1]: bins [0, 1/m), …, [(m−1)/m, 1], and the distance between two of them.

Everything rests on counts below edges, so that one sort serves every number of bins. The M(M − 1)/2 inner edges k/m of
the grids with 1 … M bins are only about 3M²/π² distinct numbers, the Farey fractions: counts below these are taken
once, and every grid picks its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats, check_whole

#: More bins than this are asked for by mistake.
MOST_BINS = 100_000
#: From this many edges per score on, it is cheaper to look the scores up among the edges.
_EDGES_PER_SCORE = 2
#: Products of counts from here on (two groups of 2·10⁹ rows) would not fit a whole number of NumPy.
MOST_WHOLE = 2**62
#: Edges looked at together: arrays of this size stay in the processor's cache.
_CELLS = 1 << 16


def check_bins(argument: str, n_bins: Any, *, least: int = 1, most: int = MOST_BINS) -> int:
    """Return the number of bins m, or raise unless it is a whole number from `least` to `most`."""
    return check_whole(argument, n_bins, low=least, high=most, cure="20 bins are a bandwidth h of 0.05")


def bin_edges(n_bins: int) -> Floats:
    """Inner edges k/m, k = 1 … m − 1, each rounded once (k·(1/m) would be rounded twice)."""
    return np.arange(1, n_bins) / n_bins


def below(scores: Floats, edges: Floats, weights: NDArray[Any] | None = None) -> NDArray[Any]:
    """Rows (or weight; whole `weights` are rows) with a score below each edge, (e,); scores and edges ascend."""
    if edges.size > _EDGES_PER_SCORE * scores.size:
        place = np.searchsorted(edges, scores, side="right")
        counts = np.bincount(place, weights=weights, minlength=edges.size + 1)[: edges.size]
        if weights is not None and weights.dtype.kind == "i":
            counts = np.rint(counts).astype(np.int64)
        return np.cumsum(counts, out=counts)  # in place: new pages cost more than the sum
    position = np.searchsorted(scores, edges, side="left")
    if weights is None:
        return position
    return np.concatenate([[0], np.cumsum(weights)])[position]


def histogram(scores: Floats, edges: Floats, weights: NDArray[Any] | None = None) -> NDArray[Any]:
    """Rows (or weight) per bin between inner edges, shape (e + 1,); the last bin is closed."""
    total = scores.size if weights is None else weights.sum()
    inner = below(scores, edges, weights)
    return np.diff(np.concatenate([[0], inner, [total]]))


def histogram_distance(counts0: NDArray[Any], counts1: NDArray[Any]) -> Any:
    """MADD = Σ_k |d0_k − d1_k| of counts in the same bins (equation 3), on the last axis; of integers rounded once."""
    n0, n1 = (counts.sum(axis=-1, keepdims=True) for counts in (counts0, counts1))
    whole = counts0.dtype.kind == "i" and counts1.dtype.kind == "i"
    if not (whole and float(n0.max()) * float(n1.max()) < MOST_WHOLE):
        return np.abs(counts0 / n0 - counts1 / n1).sum(axis=-1)
    crossed = np.abs(counts0 * n1 - counts1 * n0).sum(axis=-1)
    return crossed / (n0[..., 0] * n1[..., 0])


@dataclass(frozen=True, eq=False)
class FareyGrid:
    """All edges of the grids with 1 … M bins.

    `edges`, shape (e,): the distinct inner edges, ascending; `pick`, shape (M(M + 1)/2 + 1,): for every grid in turn 0
    for the end at 0, then 1 + position in `edges` of each inner edge (the end at 1 is the 0 that opens the next grid);
    `starts`, shape (M,): where each grid starts in `pick`.
    """

    edges: NDArray[np.float64]
    pick: NDArray[np.int32]
    starts: NDArray[np.int64]


@lru_cache(maxsize=4)
def farey_grid(max_bins: int) -> FareyGrid:
    """The edges of the grids with 1 … `max_bins` bins; kept for the next call.

    Distinct fractions with denominators up to M lie further apart than 1/M², so that ⌊M²·k/m⌋ is a different whole
    number for each: they are put in order by counting, without a sort.
    """
    grids = range(1, max_bins + 1)
    starts = np.concatenate([[0], np.cumsum(grids)])
    steps = np.arange(max_bins, dtype=np.int64)
    met = np.zeros(max_bins**2, dtype=bool)
    for m in grids:
        met[steps[:m] * max_bins**2 // m] = True
    rank = np.cumsum(met, dtype=np.int32)  # 1 for the end at 0
    pick = np.zeros(starts[-1] + 1, dtype=np.int32)
    edges = np.empty(int(rank[-1]))
    for m, start in zip(grids, starts.tolist(), strict=False):
        place = rank[steps[:m] * max_bins**2 // m] - 1
        pick[start : start + m] = place
        edges[place] = steps[:m] / m
    edges = edges[1:]
    for array in (edges, pick, starts):
        array.flags.writeable = False
    return FareyGrid(edges, pick, starts[:-1])


def distances_from_below(
    grid: FareyGrid, below0: NDArray[Any], below1: NDArray[Any], total0: float, total1: float
) -> Floats:
    """MADD with 1 … M bins, (M,), from rows (or weight) below the edges and in all; of integers rounded once."""
    whole = below0.dtype.kind == "i" and below1.dtype.kind == "i" and total0 * total1 < MOST_WHOLE
    gap = np.zeros(below0.size + 1, dtype=np.int64 if whole else np.float64)
    for start in range(0, below0.size, _CELLS):
        part0, part1 = below0[start : start + _CELLS], below1[start : start + _CELLS]
        crossed = part0 * int(total1) - part1 * int(total0) if whole else part0 / total0 - part1 / total1
        gap[start + 1 : start + 1 + crossed.size] = crossed
    distances = np.empty(grid.starts.size, dtype=gap.dtype)
    ends = np.append(grid.starts, grid.pick.size - 1)
    cuts = np.searchsorted(ends, np.arange(0, ends[-1] + _CELLS, _CELLS)).clip(max=grid.starts.size)
    for first, last in pairwise(np.unique(cuts).tolist()):
        low, high = ends[first], ends[last]
        steps = np.abs(np.diff(gap[grid.pick[low : high + 1]]))
        distances[first:last] = np.add.reduceat(steps, grid.starts[first:last] - low)
    return np.asarray(distances / (int(total0) * int(total1)) if whole else distances)


def grid_counts(grid: FareyGrid, below: NDArray[np.int64], total: int, fewest: int, most: int) -> NDArray[np.int64]:
    """Rows per bin of the grids with `fewest` to `most` bins in turn, from rows below the edges."""
    start = int(grid.starts[fewest - 1])
    stop = int(grid.starts[most - 1]) + most
    counts = np.diff(np.concatenate([[0], below])[grid.pick[start : stop + 1]])
    ends = np.append(grid.starts[fewest:most], stop) - 1 - start
    counts[ends] += total
    return np.asarray(counts)
