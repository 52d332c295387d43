"""How much D, D_f and HFM depend on the rows that happen to be there: quantiles over subsamples.

The maximum has no confidence interval: the distance of samples does not estimate that of populations at
usable n (it shrinks as rows are added, ever more slowly in more dimensions). What can be said is how far the
value moves when rows are left out, and which way it drifts with their number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairstats.methods.hfm.entries import StabilityRange, harmonic
from fairstats.methods.hfm.neighbours import NeighbourLists
from fairstats.methods.hfm.permutation import of_comparisons
from fairstats.methods.hfm.set_distance import Statistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.methods.hfm.scene import Comparison, Scene

__all__ = ["SHARES", "harmonics", "stability_ranges", "subsample_distances"]

#: Sizes of the subsamples.
SHARES = (0.8, 0.4)
_QUANTILES = (0.05, 0.5, 0.95)


def harmonics(d: NDArray[np.float64], d_f: NDArray[np.float64]) -> NDArray[np.float64]:
    """HFM elementwise; NaN where a distance is."""
    both = np.column_stack([d.ravel(), d_f.ravel()])
    return np.array([np.nan if np.isnan(pair).any() else harmonic(*pair.tolist()) for pair in both]).reshape(
        d.shape
    )


def subsample_distances(
    scene: Scene,
    lists: tuple[NeighbourLists, NeighbourLists],
    statistic: Statistic,
    share: float,
    n_subsamples: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """D and D_f of every side in random subsamples without replacement; NaN where a group is empty.

    Returns
    -------
    ndarray of float, shape (2, n_subsamples, sides)
    """
    from tqdm import tqdm

    size = max(round(share * scene.n), 2)
    drawn = np.empty((2, n_subsamples, len(scene.sides)))
    for b in tqdm(range(n_subsamples), desc="HFM subsamples", leave=False, disable=None, delay=2.0):
        present = np.zeros(scene.n, dtype=bool)
        present[rng.choice(scene.n, size=size, replace=False)] = True
        for k, side in enumerate(scene.sides):
            for which, neighbours in enumerate(lists):
                drawn[which, b, k] = neighbours.distance(side.rows, statistic, present)
    return drawn


def stability_ranges(
    scene: Scene,
    comparisons: list[Comparison],
    values: NDArray[np.float64],
    lists: tuple[NeighbourLists, NeighbourLists],
    statistic: Statistic,
    n_subsamples: int,
    rng: np.random.Generator,
) -> list[tuple[StabilityRange, ...]]:
    """Stability ranges of every comparison.

    Parameters
    ----------
    values : ndarray, shape (3, comparisons)
        D, D_f, HFM on all rows.

    Returns
    -------
    list of tuple of StabilityRange
        For every comparison six: D, D_f, HFM at either size.
    """
    found: list[list[StabilityRange]] = [[] for _ in comparisons]
    for share in SHARES:
        drawn = subsample_distances(scene, lists, statistic, share, n_subsamples, rng)
        d, d_f = of_comparisons(drawn[0], comparisons), of_comparisons(drawn[1], comparisons)
        for row, quantity, of_all in zip(
            (d, d_f, harmonics(d, d_f)), ("D", "D_f", "HFM"), values, strict=True
        ):
            for k, value in enumerate(of_all.tolist()):
                found[k].append(_range_of(row[:, k], quantity, share, value))
    return [tuple(ranges) for ranges in found]


def _range_of(drawn: NDArray[np.float64], quantity: str, share: float, value: float) -> StabilityRange:
    usable = drawn[~np.isnan(drawn)]
    if not usable.size:
        nothing = float("nan")
        return StabilityRange(quantity, share, nothing, nothing, nothing, nothing, 0)
    low, median, high = (
        float(np.quantile(usable, q, method="inverted_cdf")) for q in _QUANTILES
    )  # a value that occurred: infinite ones cannot be interpolated
    drift = median - value if np.isfinite(median) and np.isfinite(value) else float("nan")
    return StabilityRange(quantity, share, low, median, high, drift, int(usable.size))
