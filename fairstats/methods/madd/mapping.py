"""The map of section 6: group distributions moved towards the one of everybody, F_s^λ = (1 − λ)F_s + λF.

A score p of group s becomes (F_s^λ)⁻¹(F_s(p)): its rank within the group stays, the distribution changes. F_s
is the mid-distribution function of the fitted scores (the share below a value plus half the share at it),
linear between fitted values and up to (0, 0) and (1, 1); F = Σ_s (n_s/n)·F_s. All are defined on [0, 1],
increase strictly and so map new scores, fitted or not, without ties that were not there before.

The losses are computed for many λ at once: a mapped score lies below e exactly where F_s(p) < F_s^λ(e). So
the counts of the mapped scores at the bin edges, and the rows predicted 0, are places of F_s^λ(e) among the
sorted ranks F_s(p): no score is mapped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.methods.madd.binning import bin_edges

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAST_PROBABILITY = 1e-15


@dataclass(frozen=True, eq=False)
class GroupCdf:
    """F_s, piecewise linear.

    `values`, `heights`, shape (k,): its corners, both strictly ascending; `n`: rows that it was fitted to.
    """

    values: NDArray[np.float64]
    heights: NDArray[np.float64]
    n: int

    @classmethod
    def fit(cls, scores: NDArray[np.float64]) -> GroupCdf:
        """Mid-distribution function of scores in [0, 1]."""
        values, counts = np.unique(scores, return_counts=True)
        heights = (np.cumsum(counts) - counts / 2) / scores.size
        if values[0] > 0:
            values, heights = np.concatenate([[0.0], values]), np.concatenate([[0.0], heights])
        if values[-1] < 1:
            values, heights = np.concatenate([values, [1.0]]), np.concatenate([heights, [1.0]])
        return cls(values, heights, int(scores.size))

    def __call__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """F_s(x)."""
        return np.asarray(np.interp(x, self.values, self.heights))


@dataclass(frozen=True, eq=False)
class MixtureCdfs:
    """F_s of every group and F of all.

    `cdfs`, length G; `corners`, shape (k,): corners of all functions together; `heights`, shape (G, k): F_s
    at the corners.
    """

    cdfs: tuple[GroupCdf, ...]
    corners: NDArray[np.float64]
    heights: NDArray[np.float64]

    @classmethod
    def fit(cls, samples: list[NDArray[np.float64]]) -> MixtureCdfs:
        """Fit every group; each sample has at least one score."""
        cdfs = tuple(GroupCdf.fit(s) for s in samples)
        corners = np.unique(np.concatenate([c.values for c in cdfs]))
        return cls(cdfs, corners, np.vstack([c(corners) for c in cdfs]))

    @property
    def shares(self) -> NDArray[np.float64]:
        """n_s/n, shape (G,)."""
        sizes = np.array([c.n for c in self.cdfs], dtype=np.float64)
        return np.asarray(sizes / sizes.sum())

    def pooled(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """F(x)."""
        return np.asarray(self.shares @ np.vstack([c(x) for c in self.cdfs]))

    def towards(
        self, group: int, lambdas: NDArray[np.float64], x: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """F_s^λ(x) = (1 − λ)F_s(x) + λF(x), shape (λ, x)."""
        own, all_groups = self.cdfs[group](x), self.pooled(x)
        return np.asarray(np.multiply.outer(1 - lambdas, own) + np.multiply.outer(lambdas, all_groups))

    def map(self, scores: NDArray[np.float64], group: int, lambda_: float) -> NDArray[np.float64]:
        """(F_s^λ)⁻¹(F_s(p)) of scores of one group, ascending in p; λ = 0 changes nothing."""
        if lambda_ == 0:
            return scores.copy()
        heights = (1 - lambda_) * self.heights[group] + lambda_ * (self.shares @ self.heights)
        mapped = np.interp(self.cdfs[group](scores), heights, self.corners)
        return np.asarray(np.clip(mapped, 0.0, 1.0))


class LabelledSample(NamedTuple):
    """Scores of one group, ascending, and labels, 1 where favourable, shape (n,)."""

    scores: NDArray[np.float64]
    labels: NDArray[np.uint8]


def fairness_losses(
    maps: MixtureCdfs, samples: Sequence[LabelledSample], lambdas: NDArray[np.float64], n_bins: int
) -> NDArray[np.float64]:
    """MADD/2 of the mapped scores (equation 19), the largest over pairs of groups, in [0, 1], shape (λ,)."""
    edges = bin_edges(n_bins)
    shares = []
    for g, sample in enumerate(samples):
        inner = np.searchsorted(maps.cdfs[g](sample.scores), maps.towards(g, lambdas, edges))
        shares.append(np.diff(inner, axis=1, prepend=0, append=sample.scores.size) / sample.scores.size)
    distances = [np.abs(first - second).sum(axis=1) for first, second in combinations(shares, 2)]
    return np.asarray(np.max(distances, axis=0) / 2)


def error_losses(
    maps: MixtureCdfs, samples: Sequence[LabelledSample], lambdas: NDArray[np.float64], threshold: float
) -> NDArray[np.float64]:
    """Share of wrong predictions, mapped scores from `threshold` on predicting 1 (equation 18), (λ,)."""
    cut = np.array([threshold])
    wrong = np.zeros(lambdas.size, dtype=np.int64)
    for g, sample in enumerate(samples):
        predicted_0 = np.searchsorted(maps.cdfs[g](sample.scores), maps.towards(g, lambdas, cut)[:, 0])
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
    """Any loss of (labels, mapped scores), one λ after the other, shape (λ,).

    Raises InputError if it is no finite number for some λ.
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
