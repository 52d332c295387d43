"""Are the groups further apart than random ones: D and D_f when the sensitive values are permuted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairstats.methods.hfm.neighbours import NeighbourLists
from fairstats.methods.hfm.set_distance import Statistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.methods.hfm.scene import Comparison, Scene

__all__ = ["label_permutation", "of_comparisons", "upper_pvalue"]

#: Relative difference below which two distances are one.
_TIE = 1e-9


def upper_pvalue(observed: float, drawn: NDArray[np.float64]) -> float:
    """(1 + #{drawn ≥ observed}) / (1 + B), ties within rounding counted.

    Examples
    --------
    >>> import numpy as np
    >>> upper_pvalue(2.0, np.array([1.0, 2.0, 3.0]))
    0.75
    """
    limit = observed if np.isinf(observed) else observed - _TIE * max(abs(observed), 1.0)
    return float((1 + np.count_nonzero(drawn >= limit)) / (1 + drawn.size))


def of_comparisons(of_sides: NDArray[np.float64], comparisons: list[Comparison]) -> NDArray[np.float64]:
    """Maxima over the members of every comparison: (…, sides) → (…, comparisons)."""
    return np.stack([of_sides[..., list(c.members)].max(axis=-1) for c in comparisons], axis=-1)


def label_permutation(
    scene: Scene,
    lists: tuple[NeighbourLists, NeighbourLists],
    statistic: Statistic,
    n_resamples: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """D and D_f of every side when the rows' sensitive values, all attributes together, are permuted.

    Parameters
    ----------
    scene : Scene
    lists : tuple of NeighbourLists
        Of the rows (x, y) and (x, ŷ).
    statistic : "max", "mean" or float
    n_resamples : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of float, shape (2, n_resamples, sides)
    """
    from tqdm import tqdm

    drawn = np.empty((2, n_resamples, len(scene.sides)))
    for b in tqdm(range(n_resamples), desc="HFM permutations", leave=False, disable=None, delay=2.0):
        order = rng.permutation(scene.n)
        for k, side in enumerate(scene.sides):
            in_first = side.rows[order]
            for which, neighbours in enumerate(lists):
                drawn[which, b, k] = neighbours.distance(in_first, statistic)
    return drawn
