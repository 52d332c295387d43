"""Accuracy and fairness losses of the map, for many λ at once.

A mapped score lies below e exactly where F_s(p) < F_s^λ(e). So the counts of the mapped scores at the bin
edges, and the rows predicted 0, are places of F_s^λ(e) among the sorted ranks F_s(p): no score is mapped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.methods.madd.binning import bin_edges
from fairstats.methods.madd.mapping import MixtureCdfs

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LabelledSample", "error_losses", "fairness_losses", "log_loss", "mapped_losses"]

_LEAST_PROBABILITY = 1e-15


@dataclass(frozen=True, eq=False)
class LabelledSample:
    """Scores and labels of one group.

    Attributes
    ----------
    scores : ndarray, shape (n,)
        Ascending.
    labels : ndarray of uint8, shape (n,)
        1 where favourable.
    """

    scores: NDArray[np.float64]
    labels: NDArray[np.uint8]


def _places(
    maps: MixtureCdfs,
    ranks: NDArray[np.float64],
    group: int,
    lambdas: NDArray[np.float64],
    x: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Rows of a group whose mapped score lies below each x, shape (λ, x)."""
    return np.searchsorted(ranks, maps.towards(group, lambdas, x), side="left")


def fairness_losses(
    maps: MixtureCdfs, samples: Sequence[LabelledSample], lambdas: NDArray[np.float64], n_bins: int
) -> NDArray[np.float64]:
    """MADD/2 of the mapped scores (equation 19), the largest over pairs of groups.

    Parameters
    ----------
    maps : MixtureCdfs
    samples : sequence of LabelledSample, length G
    lambdas : ndarray, shape (l,)
    n_bins : int

    Returns
    -------
    ndarray, shape (l,)
        In [0, 1].
    """
    edges = bin_edges(n_bins)
    shares = []
    for g, sample in enumerate(samples):
        inner = _places(maps, maps.cdfs[g](sample.scores), g, lambdas, edges)
        shares.append(np.diff(inner, axis=1, prepend=0, append=sample.scores.size) / sample.scores.size)
    distances = [np.abs(shares[i] - shares[j]).sum(axis=1) for i, j in combinations(range(len(shares)), 2)]
    return np.asarray(np.max(distances, axis=0) / 2)


def error_losses(
    maps: MixtureCdfs, samples: Sequence[LabelledSample], lambdas: NDArray[np.float64], threshold: float
) -> NDArray[np.float64]:
    """Share of wrong predictions, mapped scores from `threshold` on predicting 1 (equation 18), (l,)."""
    cut = np.array([threshold])
    wrong = np.zeros(lambdas.size, dtype=np.int64)
    for g, sample in enumerate(samples):
        predicted_0 = _places(maps, maps.cdfs[g](sample.scores), g, lambdas, cut)[:, 0]
        positives = np.concatenate([[0], np.cumsum(sample.labels, dtype=np.int64)])
        negatives = np.arange(sample.labels.size + 1) - positives
        wrong += positives[predicted_0] + negatives[-1] - negatives[predicted_0]
    return np.asarray(wrong / sum(s.labels.size for s in samples))


def log_loss(labels: NDArray[np.uint8], scores: NDArray[np.float64]) -> float:
    """Binary cross-entropy, natural logarithm; scores are kept 1e-15 from 0 and 1."""
    p = np.clip(scores, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    return float(-np.mean(np.where(labels == 1, np.log(p), np.log1p(-p))))


def mapped_losses(
    maps: MixtureCdfs,
    samples: Sequence[LabelledSample],
    lambdas: NDArray[np.float64],
    loss: Callable[[NDArray[Any], NDArray[np.float64]], float],
) -> NDArray[np.float64]:
    """Any loss of (labels, mapped scores), one λ after the other, shape (l,).

    Raises
    ------
    InputError
        If it is no finite number for some λ.
    """
    labels = np.concatenate([s.labels for s in samples])
    found = np.empty(lambdas.size)
    for k, v in enumerate(lambdas.tolist()):
        value = loss(labels, np.concatenate([maps.map(s.scores, g, v) for g, s in enumerate(samples)]))
        if not np.isscalar(value) or not np.isfinite(value):
            raise InputError(
                "loss",
                got=f"{value!r} for λ = {v:g}",
                allowed="a function of (labels, scores) that returns a finite number",
                cure="let it return a float",
            )
        found[k] = value
    return found
