"""Curves of MADD of the same rows under many labellings: what a search permutes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.methods.madd.scores import (
    MOST_WHOLE,
    FareyGrid,
    Sample,
    distances_from_below,
    farey_grid,
)

#: A curve through all edges of all grids costs as much as so many bins with several rows; a run of
#: rows that is met for the first time as much as so many.
_BINS_OF_A_CURVE = 750_000
_BINS_OF_A_RUN = 5


@dataclass(frozen=True, eq=False)
class LabelledCurves:
    """Pooled rows in the order of their scores, and where they lie in 1 … M bins.

    `position`, shape (e,): rows below each edge of the `grid`; `starts`, `ends`, shape (R,): the
    distinct runs of two and more rows that are a bin of some grid; `runs_of_grids`, shape (M, R): 1
    where a run is a bin of a grid; None where these are so many that the edges are cheaper.
    """

    grid: FareyGrid
    position: NDArray[np.int64]
    n_rows: int
    n_first: int
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    runs_of_grids: Any

    @classmethod
    def of(cls, pooled: Sample, n_first: int, max_bins: int) -> LabelledCurves:
        """Of `n` plain rows, of which `n_first` belong to the first group in any labelling."""
        grid = farey_grid(max_bins)
        position = pooled.below(grid.edges)
        # each bin begins where an edge lies, and ends where the next one does, or with the rows
        picked = np.concatenate([[0], position])[grid.pick]
        bin_starts = picked[:-1]
        bin_ends = picked[1:].copy()
        bin_ends[np.append(grid.starts[1:], bin_ends.size) - 1] = pooled.n
        several = np.flatnonzero(bin_ends - bin_starts > 1)
        run_codes = bin_starts[several] * (pooled.n + 1) + bin_ends[several]
        runs, run_of_bin = np.unique(run_codes, return_inverse=True)
        runs_of_grids = None
        if runs.size * _BINS_OF_A_RUN + several.size < _BINS_OF_A_CURVE:
            grid_of_bin = np.searchsorted(grid.starts, several, side="right") - 1
            runs_of_grids = scipy.sparse.csr_matrix(
                (np.ones(several.size, dtype=np.int64), (grid_of_bin, run_of_bin)),
                shape=(max_bins, runs.size),
            )
        return cls(
            grid=grid,
            position=position,
            n_rows=pooled.n,
            n_first=n_first,
            starts=runs // (pooled.n + 1),
            ends=runs % (pooled.n + 1),
            runs_of_grids=runs_of_grids,
        )

    def distances(self, labels: NDArray[np.bool_]) -> Floats:
        """MADD with 1 … M bins of every labelling, (B, n) → (B, M); true: of the first group."""
        n_second = self.n_rows - self.n_first
        if self.runs_of_grids is None or 2 * self.n_first * n_second >= MOST_WHOLE:
            return np.stack([self._distances_by_edges(one_labelling) for one_labelling in labels])
        # With weights n1 of a row in the first group and −n0 of one in the second, n0·n1·MADD is the
        # sum of |Σ weights| over bins: 2·n0·n1 if every row had a bin of its own, less what rows of
        # both groups cancel in bins that they share.
        below = np.zeros((len(labels), self.n_rows + 1), dtype=np.int64)
        np.cumsum(labels, axis=1, out=below[:, 1:])
        first_rows = below[:, self.ends] - below[:, self.starts]
        second_rows = (self.ends - self.starts) - first_rows
        cancelled = 2 * np.minimum(first_rows * n_second, second_rows * self.n_first)
        total = self.n_first * n_second
        return np.asarray((2 * total - (self.runs_of_grids @ cancelled.T).T) / total)

    def _distances_by_edges(self, labels: NDArray[np.bool_]) -> Floats:
        """The same of one labelling, from the rows below every edge."""
        below_first = np.concatenate([[0], np.cumsum(labels)])[self.position]
        return distances_from_below(
            self.grid,
            below_first,
            self.position - below_first,
            self.n_first,
            self.n_rows - self.n_first,
        )
