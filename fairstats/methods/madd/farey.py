"""MADD for m = 1 … M at once: the edges of all grids are Farey fractions, met once each.

The M(M − 1)/2 inner edges k/m of all grids are only about 3M²/π² distinct numbers (304,191 instead of 499,500
for M = 1,000). Counts below these are taken once; every grid then picks its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FareyGrid", "distances_from_below", "farey_grid", "grid_counts"]


#: Edges looked at together: arrays of this size stay in the processor's cache.
_CELLS = 1 << 16


@dataclass(frozen=True, eq=False)
class FareyGrid:
    """All edges of the grids with 1 … M bins.

    Attributes
    ----------
    edges : ndarray of float, shape (e,)
        The distinct inner edges, ascending.
    pick : ndarray of int, shape (M(M + 1)/2 + 1,)
        For every grid in turn: 0 for the end at 0, then 1 + position in `edges` of each inner edge; the end
        at 1 is the 0 that opens the next grid.
    starts : ndarray of int, shape (M,)
        Where each grid starts in `pick`.
    """

    edges: NDArray[np.float64]
    pick: NDArray[np.int32]
    starts: NDArray[np.int64]


@lru_cache(maxsize=4)
def farey_grid(max_bins: int) -> FareyGrid:
    """The edges of the grids with 1 … `max_bins` bins; kept for the next call.

    Distinct fractions with denominators up to M lie further apart than 1/M², so that ⌊M²·k/m⌋ is a different
    whole number for each: they are put in order by counting, without a sort.
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
) -> NDArray[np.float64]:
    """MADD of every grid from counts below the edges.

    Parameters
    ----------
    grid : FareyGrid
    below0, below1 : ndarray, shape (e,)
        Rows (or weight) of either group below each edge. Of whole counts MADD is computed in integers and
        rounded once, so that equal values are equal to the last bit.
    total0, total1 : float
        Rows (or weight) of either group.

    Returns
    -------
    ndarray, shape (M,)
        MADD with 1 … M bins.
    """
    whole = below0.dtype.kind == "i" and below1.dtype.kind == "i"
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


def grid_counts(
    grid: FareyGrid, below: NDArray[np.int64], total: int, fewest: int, most: int
) -> NDArray[np.int64]:
    """Rows per bin of the grids with `fewest` to `most` bins, one after the other.

    Parameters
    ----------
    grid : FareyGrid
    below : ndarray of int, shape (e,)
        Rows below each edge.
    total : int
        Rows.
    fewest, most : int
        Numbers of bins, from 1 to the grid's M.

    Examples
    --------
    >>> import numpy as np
    >>> grid = farey_grid(3)
    >>> grid_counts(grid, np.array([5, 6, 9]), 10, 2, 3)
    array([6, 4, 5, 4, 1])
    """
    start = int(grid.starts[fewest - 1])
    stop = int(grid.starts[most - 1]) + most
    counts = np.diff(np.concatenate([[0], below])[grid.pick[start : stop + 1]])
    ends = np.append(grid.starts[fewest:most], stop) - 1 - start
    counts[ends] += total
    return np.asarray(counts)
