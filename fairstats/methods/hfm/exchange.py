"""Does the classifier add distance: HFM when y and ŷ are exchanged at random in every row.

Only rows with y ≠ ŷ change. The distance of two rows is that of their features plus 1 (squared) where their
labels differ; for every row the nearest row of the other group among the unchanged ones of every label is
found once, and so are its neighbours among the changing ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairstats.methods.hfm.blocks import Targets, Work
from fairstats.methods.hfm.minima import row_minima
from fairstats.methods.hfm.neighbours import nearest_rows
from fairstats.methods.hfm.set_distance import Statistic, over_minima

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.methods.hfm.scene import Scene, Side

__all__ = ["label_exchange"]

_LISTED = 32


class _Exchangeable:
    """One side whose labels change.

    Attributes
    ----------
    unchanged : ndarray, shape (n, c)
        Squared distance of the features to the nearest unchanged row of the other group with each label.
    squared, index : ndarray, shape (n, k)
        The nearest changing rows of the other group.
    all_listed : ndarray of bool, shape (n,)
        Whether those are all of them.
    """

    def __init__(self, scene: Scene, side: Side, true: NDArray[np.intp], pred: NDArray[np.intp]) -> None:
        x = scene.features.values
        n, n_labels = len(x), max(len(scene.label_levels), 2)
        changing = true != pred
        self.x, self.rows = x, side.rows
        self.unchanged = np.full((n, n_labels), np.inf)
        self.squared = np.full((n, _LISTED), np.inf)
        self.index = np.zeros((n, _LISTED), dtype=np.int32)
        self.all_listed = np.ones(n, dtype=bool)
        self.others = {}
        for own in (True, False):
            queries = np.flatnonzero(side.rows == own)
            other = side.rows != own
            for label in range(n_labels):
                targets = np.flatnonzero(other & ~changing & (true == label))
                if targets.size:
                    self.unchanged[queries, label], _ = row_minima(
                        x[queries], Targets(x[targets], x[queries], Work())
                    )
            movers = np.flatnonzero(other & changing)
            self.others[own] = movers
            k = min(_LISTED, movers.size)
            if k:
                squared, index = nearest_rows(x[queries], x[movers], k)
                self.squared[queries, :k], self.index[queries, :k] = squared, movers[index]
                self.all_listed[queries] = movers.size <= _LISTED

    def distance(self, labels: NDArray[np.intp], statistic: Statistic) -> float:
        """Distance of the two groups under these labels."""
        minima = self.unchanged + 1
        place = np.arange(len(labels))
        minima[place, labels] -= 1
        best = minima.min(axis=1)
        listed = self.squared + (labels[self.index] != labels[:, None])
        best = np.minimum(best, listed.min(axis=1))
        open_rows = np.flatnonzero(~self.all_listed & (best > self.squared[:, -1]))
        if statistic == "max" and open_rows.size:
            settled = np.ones(len(labels), dtype=bool)
            settled[open_rows] = False
            level = float(best[settled].max(initial=0.0))
            open_rows = open_rows[best[open_rows] > level]
        if open_rows.size:
            self._settle(best, open_rows, labels)
        best = np.sqrt(best)
        return max(over_minima(best[self.rows == side], statistic) for side in (True, False))

    def _settle(self, best: NDArray[np.float64], rows: NDArray[np.intp], labels: NDArray[np.intp]) -> None:
        """Rows whose listed neighbours do not settle the minimum: all changing rows of the other group."""
        for own in (True, False):
            queries = rows[self.rows[rows] == own]
            movers = self.others[own]
            for label in np.unique(labels[movers]):
                targets = movers[labels[movers] == label]
                if queries.size:
                    squared, _ = row_minima(
                        self.x[queries], Targets(self.x[targets], self.x[queries], Work())
                    )
                    squared = squared + (labels[queries] != label)
                    best[queries] = np.minimum(best[queries], squared)


def label_exchange(
    scene: Scene, statistic: Statistic, n_resamples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """D and D_f of every side when y and ŷ change places in a random half of the rows.

    Parameters
    ----------
    scene : Scene
    statistic : "max", "mean" or float
    n_resamples : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of float, shape (2, n_resamples, sides)
    """
    from tqdm import tqdm

    true, pred = _codes(scene.true), _codes(scene.pred)
    sides = [_Exchangeable(scene, side, true, pred) for side in scene.sides]
    drawn = np.empty((2, n_resamples, len(sides)))
    for b in tqdm(range(n_resamples), desc="HFM exchanges", leave=False, disable=None, delay=2.0):
        swap = rng.random(scene.n) < 0.5
        pair = (np.where(swap, pred, true), np.where(swap, true, pred))
        for k, side in enumerate(sides):
            for which, labels in enumerate(pair):
                drawn[which, b, k] = side.distance(labels, statistic)
    return drawn


def _codes(labels: NDArray[np.float64]) -> NDArray[np.intp]:
    """Codes of label coordinates."""
    return labels[:, 0].astype(np.intp) if labels.shape[1] == 1 else labels.argmax(axis=1)
