"""The map of scores to a common distribution, and its losses: of rows of the fit, or of rows left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.errors import InputError
from fairstats.ground.multiplicity import normal_quantile
from fairstats.methods.madd.binning import bin_edges
from fairstats.numerics.paired.distance import effective_rows

_LEAST_PROBABILITY = 1e-15
#: A difference of bin shares within so many standard errors of 0 may be 0.
_NEAR = 3.0


@dataclass(frozen=True, eq=False)
class GroupCdf:
    """F_s, piecewise linear.

    `values`, `heights`, shape (k,): its corners, both strictly ascending; `n`: rows (or weight) that it was fitted to.
    """

    values: NDArray[np.float64]
    heights: NDArray[np.float64]
    n: float

    @classmethod
    def fit(cls, scores: Floats, weights: Floats | None = None) -> GroupCdf:
        """Mid-distribution function of scores in [0, 1]; weights are above 0."""
        values, place = np.unique(scores, return_inverse=True)
        counts = np.bincount(place, weights)
        total = scores.size if weights is None else float(weights.sum())
        heights = (np.cumsum(counts) - counts / 2) / total
        if values[0] > 0:
            values, heights = np.concatenate([[0.0], values]), np.concatenate([[0.0], heights])
        if values[-1] < 1:
            values, heights = np.concatenate([values, [1.0]]), np.concatenate([heights, [1.0]])
        return cls(values, heights, total)

    def __call__(self, x: Floats) -> Floats:
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
    def fit(cls, scores: Sequence[Floats], weights: Sequence[Floats | None] = ()) -> MixtureCdfs:
        """Fit every group; each has at least one score."""
        cdfs = tuple(map(GroupCdf.fit, scores, weights or [None] * len(scores)))
        corners = np.unique(np.concatenate([c.values for c in cdfs]))
        return cls(cdfs, corners, np.vstack([c(corners) for c in cdfs]))

    @property
    def shares(self) -> Floats:
        """n_s/n, shape (G,)."""
        sizes = np.array([c.n for c in self.cdfs], dtype=np.float64)
        return np.asarray(sizes / sizes.sum())

    def pooled(self, x: Floats) -> Floats:
        """F(x)."""
        return np.asarray(self.shares @ np.vstack([c(x) for c in self.cdfs]))

    def towards(self, group: int, lambdas: Floats, x: Floats) -> Floats:
        """F_s^λ(x) = (1 − λ)F_s(x) + λF(x), shape (λ, x)."""
        own, all_groups = self.cdfs[group](x), self.pooled(x)
        return np.asarray(np.multiply.outer(1 - lambdas, own) + np.multiply.outer(lambdas, all_groups))

    def map(self, scores: Floats, group: int, lambda_: float) -> Floats:
        """(F_s^λ)⁻¹(F_s(p)) of scores of one group, ascending in p; λ = 0 changes nothing."""
        if lambda_ == 0:
            return scores.copy()
        heights = (1 - lambda_) * self.heights[group] + lambda_ * (self.shares @ self.heights)
        mapped = np.interp(self.cdfs[group](scores), heights, self.corners)
        return np.asarray(np.clip(mapped, 0.0, 1.0))


class LabelledSample(NamedTuple):
    """Scores of one group, ascending, labels, 1 where favourable, and weights, shape (n,)."""

    scores: NDArray[np.float64]
    labels: NDArray[np.uint8]
    weights: NDArray[np.float64] | None = None

    def below(self, values: NDArray[Any] | None = None) -> NDArray[Any]:
        """Sum of values (default 1 per row) times weights of the first 0, 1, …, n rows, shape (n + 1,)."""
        own = np.ones(self.scores.size, dtype=np.int64) if values is None else values
        return np.concatenate([[0], np.cumsum(own if self.weights is None else own * self.weights)])

    @property
    def n_effective(self) -> float:
        """Rows that an unweighted sample of the same precision has."""
        return self.scores.size if self.weights is None else effective_rows(self.weights)

    def rows(self, keep: NDArray[np.bool_]) -> LabelledSample:
        """Some of the rows."""
        return LabelledSample(*(None if part is None else part[keep] for part in self))  # type: ignore[arg-type]


#: Maps, each with the rows that it is judged by: those of its fit, or rows left out of it.
Fitted = Sequence[tuple[MixtureCdfs, Sequence[LabelledSample]]]


def left_out(samples: Sequence[LabelledSample], splits: int, rng: np.random.Generator) -> Fitted:
    """Random halves of every group, each with the maps of the other half.

    Halves, each judged by itself: pooled over the folds of a cross-validation the errors of the maps would
    cancel, Σ_k (F_k − F_−k) = 0, and small folds would add their own noise to MADD.
    """
    fitted = []
    for _ in range(splits):
        codes = [rng.permutation(np.arange(s.scores.size) % 2) for s in samples]
        halves = [[s.rows(c == side) for s, c in zip(samples, codes, strict=True)] for side in (0, 1)]
        for own, rest in (halves, halves[::-1]):
            fitted.append((MixtureCdfs.fit([s.scores for s in rest], [s.weights for s in rest]), own))
    return fitted


def _bin_shares(maps: MixtureCdfs, samples: Sequence[LabelledSample], lambdas: Floats, n_bins: int) -> Floats:
    """Shares of every group in bins of the mapped scores, shape (G, λ, m)."""
    edges, found = bin_edges(n_bins), []
    for g, sample in enumerate(samples):
        inner = np.searchsorted(maps.cdfs[g](sample.scores), maps.towards(g, lambdas, edges))
        ends = sample.below()
        found.append(np.diff(ends[inner], axis=1, prepend=0, append=ends[-1]) / ends[-1])
    return np.array(found)


def fairness_losses(fitted: Fitted, lambdas: Floats, n_bins: int) -> Floats:
    """MADD/2 of the mapped scores (equation 19), the largest over pairs of groups, in [0, 1], shape (λ,)."""
    return np.asarray(fairness_limits(fitted, lambdas, n_bins)[0])


def fairness_limits(fitted: Fitted, lambdas: Floats, n_bins: int, confidence_level: float = 0.95) -> Floats:
    """The fairness losses with their limits, shape (3, λ): loss, low, high.

    Means over the maps; of several pairs of groups the largest. The limits are those of MADD (`noise`), at
    every λ by itself, given the maps, with normal differences D_k of bin shares: below by the larger of z
    standard errors of Σ sign(D_k)·D_k and, where differences near 0 may be 0, mean plus z spreads of their
    sizes; above by z of the largest standard error that the open signs allow. Over pairs by Bonferroni.
    """
    pairs = list(combinations(range(len(fitted[0][1])), 2))
    z = normal_quantile(1 - (1 - confidence_level) / (2 * len(pairs)))
    found = np.zeros((len(pairs), 3, lambdas.size))
    for maps, samples in fitted:
        shares = _bin_shares(maps, samples, lambdas, n_bins)
        for k, pair in enumerate(pairs):
            n = np.array([samples[g].n_effective for g in pair])[:, None]
            found[k] += _limits(shares[list(pair)], n, z)
    return np.asarray(np.clip(found.max(axis=0) / (2 * len(fitted)), 0.0, 1.0))


def _limits(p: Floats, n: Floats, z: float) -> Floats:
    """MADD and its limits, shape (3, λ); `p`, shape (2, λ, m): bin shares; `n`, shape (2, 1): rows."""
    d, pooled = p[0] - p[1], (p * n[:, None]).sum(axis=0) / n.sum()
    variance = np.maximum((p * (1 - p) / n[:, None]).sum(axis=0), pooled * (1 - pooled) * (1 / n).sum())
    reach = max(_NEAR, np.log(n.min()) ** 0.5, (2 * np.log(p.shape[2])) ** 0.5)
    near, signs = np.abs(d) <= reach * variance**0.5, np.sign(d)
    far = np.where(near, 0.0, signs)
    smooth, fixed = (((p * s**2).sum(axis=2) - (p * s).sum(axis=2) ** 2) / n for s in (signs, far))
    spread = fixed.sum(axis=0) + (1 - 2 / np.pi) * (variance * near).sum(axis=1)
    excess = (2 / np.pi) ** 0.5 * (variance**0.5 * near).sum(axis=1) + z * spread**0.5
    least = np.maximum(np.abs((p * far).sum(axis=2)) - (p * near).sum(axis=2), 0.0)
    worst = ((1 - np.minimum(least, 1.0) ** 2) / n).sum(axis=0)
    below = np.maximum(excess, z * np.maximum(smooth.sum(axis=0), 0.0) ** 0.5)
    madd = np.abs(d).sum(axis=1)
    return np.stack([madd, np.maximum(madd - below, 0.0), np.minimum(madd + z * worst**0.5, 2.0)])


def error_losses(fitted: Fitted, lambdas: Floats, threshold: float) -> Floats:
    """Share of wrong predictions, mapped scores from `threshold` on predicting 1 (equation 18), (λ,)."""
    cut, wrong, total = np.array([threshold]), np.zeros(lambdas.size), 0.0
    for maps, samples in fitted:
        for g, sample in enumerate(samples):
            predicted_0 = np.searchsorted(maps.cdfs[g](sample.scores), maps.towards(g, lambdas, cut)[:, 0])
            rows, positives = sample.below(), sample.below(sample.labels.astype(np.int64))
            negatives = rows - positives
            wrong += positives[predicted_0] + negatives[-1] - negatives[predicted_0]
            total += rows[-1]
    return np.asarray(wrong / total)


def log_loss(labels: NDArray[np.uint8], scores: Floats, sample_weight: Floats | None = None) -> float:
    """Binary cross-entropy, natural logarithm; scores are kept 1e-15 from 0 and 1."""
    p = np.clip(scores, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    return float(-np.average(np.where(labels == 1, np.log(p), np.log1p(-p)), weights=sample_weight))


def mapped_losses(fitted: Fitted, lambdas: Floats, loss: Callable[..., float]) -> Floats:
    """Any loss of (labels, mapped scores), mean over the maps, one λ after the other, shape (λ,).

    Weights are passed as `sample_weight`, as scikit-learn's losses take it. Raises InputError if the loss is
    no finite number for some λ.
    """
    found = np.zeros(lambdas.size)
    for maps, samples in fitted:
        labels = np.concatenate([s.labels for s in samples])
        weights = [s.weights for s in samples if s.weights is not None]
        given = {"sample_weight": np.concatenate(weights)} if weights else {}
        for k, v in enumerate(lambdas.tolist()):
            mapped = np.concatenate([maps.map(s.scores, g, v) for g, s in enumerate(samples)])
            value = loss(labels, mapped, **given)
            if not np.isscalar(value) or not np.isfinite(value):
                got = f"{value!r} for λ = {v:g}"
                allowed = "a function of (labels, scores) that returns a finite number"
                raise InputError("loss", got=got, allowed=allowed, cure="let it return a float")
            found[k] += float(value) / len(fitted)  # type: ignore[arg-type]
    return found
