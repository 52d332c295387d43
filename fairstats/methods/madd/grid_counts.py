"""Histogram counts of every group: the sufficient statistics that a result of MADD carries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.outcomes import MissingReport
from fairstats.ground.serialise import serialisable
from fairstats.methods.madd.binning import bin_edges
from fairstats.methods.madd.scores import GroupScores

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GridCounts"]

#: Bins that pictures are drawn from, besides those of the grids.
PICTURE_BINS = 100


@serialisable
@dataclass(frozen=True, eq=False)
class GridCounts:
    """Rows (or weight) per group and bin.

    Attributes
    ----------
    groups : tuple of str, length G
    edges : ndarray of float, shape (e,)
        Inner edges: those of every grid of the result, and of 100 bins for pictures.
    counts : ndarray, shape (G, e + 1)
        Whole numbers; sums of weights where rows are weighted.
    sizes : ndarray of int, shape (G,)
        Rows per group.
    weighted : bool
    missing : MissingReport
        What was left out.
    """

    groups: tuple[str, ...]
    edges: NDArray[np.float64]
    counts: NDArray[Any]
    sizes: NDArray[np.int64]
    weighted: bool = False
    missing: MissingReport = field(default_factory=MissingReport)

    @classmethod
    def of(cls, scores: GroupScores, grids: Iterable[int]) -> GridCounts:
        """Count at the edges of the grids with these numbers of bins."""
        wanted = sorted({*grids, PICTURE_BINS})
        edges = np.unique(np.concatenate([bin_edges(m) for m in wanted]))
        counts = np.vstack([s.histogram(edges) for s in scores.samples])
        return cls(scores.groups, edges, counts, scores.sizes, scores.weighted, scores.missing)

    @property
    def group_sizes(self) -> NDArray[np.int64]:
        """Rows per group, shape (G,)."""
        return self.sizes

    def on(self, n_bins: int) -> NDArray[Any]:
        """Counts on a grid of `n_bins` bins, shape (G, n_bins).

        Raises
        ------
        InputError
            If the counts were not taken at its edges.
        """
        wanted = bin_edges(n_bins)
        place = np.searchsorted(self.edges, wanted)
        if wanted.size and not (place[-1] < self.edges.size and np.array_equal(self.edges[place], wanted)):
            raise InputError(
                "n_bins",
                got=repr(n_bins),
                allowed=f"a grid that the result was computed on, or {PICTURE_BINS}",
                cure="call madd again with this n_bins or grid_bins",
            )
        return np.add.reduceat(self.counts, np.concatenate([[0], place + 1]), axis=1)
