"""Histograms of scores on [0, 1]: bins [0, 1/m), …, [(m−1)/m, 1], and the distance between two of them.

Everything rests on counts below edges, so that one sort serves every number of bins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MOST_BINS", "below", "bin_edges", "check_bins", "histogram", "histogram_distance"]

#: More bins than this are asked for by mistake.
MOST_BINS = 100_000
#: From this many edges per score on, it is cheaper to look the scores up among the edges.
_EDGES_PER_SCORE = 2


def check_bins(argument: str, n_bins: Any, *, least: int = 1, most: int = MOST_BINS) -> int:
    """Return the number of bins m, or raise unless it is a whole number from `least` to `most`."""
    whole = isinstance(n_bins, (int, np.integer)) and not isinstance(n_bins, bool)
    if not whole or not least <= n_bins <= most:
        raise InputError(
            argument,
            got=repr(n_bins),
            allowed=f"a whole number of bins from {least} to {most:,}",
            cure="20 bins are a bandwidth h of 0.05",
        )
    return int(n_bins)


def bin_edges(n_bins: int) -> NDArray[np.float64]:
    """Inner edges k/m, k = 1 … m − 1, each rounded once (k·(1/m) would be rounded twice)."""
    return np.arange(1, n_bins) / n_bins


def below(
    scores: NDArray[np.float64], edges: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> NDArray[Any]:
    """Rows (or weight) with a score below each edge.

    Parameters
    ----------
    scores : ndarray, shape (n,)
        Ascending.
    edges : ndarray, shape (e,)
        Ascending.
    weights : ndarray, shape (n,), optional
        Weight of each score.

    Returns
    -------
    ndarray of int64 (of float64 under weights), shape (e,)
    """
    if edges.size > _EDGES_PER_SCORE * scores.size:
        place = np.searchsorted(edges, scores, side="right")
        counts = np.bincount(place, weights=weights, minlength=edges.size + 1)[: edges.size]
        return np.cumsum(counts, out=counts)  # in place: new pages cost more than the sum
    position = np.searchsorted(scores, edges, side="left")
    if weights is None:
        return position
    return np.concatenate([[0.0], np.cumsum(weights)])[position]


def histogram(
    scores: NDArray[np.float64], edges: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> NDArray[Any]:
    """Rows (or weight) per bin between inner edges, shape (e + 1,); the last bin is closed.

    Examples
    --------
    >>> import numpy as np
    >>> histogram(np.array([0.0, 0.3, 0.5, 1.0]), bin_edges(2))
    array([2, 2])
    """
    total = scores.size if weights is None else weights.sum()
    inner = below(scores, edges, weights)
    return np.diff(np.concatenate([[0], inner, [total]]))


def histogram_distance(counts0: NDArray[Any], counts1: NDArray[Any]) -> Any:
    """MADD = Σ_k |d0_k − d1_k| of counts in the same bins (equation 3), along the last axis.

    Parameters
    ----------
    counts0, counts1 : ndarray, shape (…, m)
        Rows or weight per bin, each with a positive sum.

    Returns
    -------
    float or ndarray, shape (…)
        In [0, 2]. Of whole counts it is computed in integers and rounded once.

    Examples
    --------
    >>> import numpy as np
    >>> float(histogram_distance(np.array([2, 2]), np.array([1, 3])))
    0.5
    """
    n0 = counts0.sum(axis=-1, keepdims=True)
    n1 = counts1.sum(axis=-1, keepdims=True)
    if counts0.dtype.kind != "i" or counts1.dtype.kind != "i":
        return np.abs(counts0 / n0 - counts1 / n1).sum(axis=-1)
    crossed = np.abs(counts0 * n1 - counts1 * n0).sum(axis=-1)
    return crossed / (n0[..., 0] * n1[..., 0])
