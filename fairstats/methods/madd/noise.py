"""Sampling noise of the differences of bin shares D̂_k = d0_k − d1_k.

Multinomial for plain rows; normal, by linearisation, under weights and clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fairstats.methods.madd.clusters import cluster_covariance
from fairstats.methods.madd.scores import Sample

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PSEUDO_ROWS", "MultinomialNoise", "Noise", "NormalNoise", "noise_of"]

#: Pooled rows added to either group before its noise is drawn (z² ≈ 4, as Agresti and Coull add).
PSEUDO_ROWS = 4.0


class Noise(Protocol):
    """What the inference needs to know of the noise."""

    @property
    def difference(self) -> NDArray[np.float64]:
        """D̂, shape (m,)."""

    @property
    def degrees_of_freedom(self) -> float:
        """Of a t quantile; infinite for a normal one."""

    @property
    def linearised(self) -> bool:
        """Whether its covariance was estimated by linearisation."""

    def std_errors(self) -> NDArray[np.float64]:
        """Standard error of every D̂_k, the larger of that with and without pooling."""

    def distances(self, n_resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Bootstrap draws of MADD = Σ|D̂_k|, shape (B,)."""

    def draws(
        self, near: NDArray[np.bool_], n_resamples: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Draws of the noise, shape (B, m), the groups alike in the bins `near` where that is possible."""

    def worst_variance(self, near: NDArray[np.bool_]) -> float:
        """Largest variance of Σ s_k D̂_k over signs s that are free in the bins `near`."""


@dataclass(frozen=True, eq=False)
class MultinomialNoise:
    """Two independent multinomial samples.

    Attributes
    ----------
    counts0, counts1 : ndarray of int, shape (m,)
        Rows per bin.
    """

    counts0: NDArray[np.int64]
    counts1: NDArray[np.int64]

    @property
    def sizes(self) -> tuple[int, int]:
        """Rows of either group."""
        return int(self.counts0.sum()), int(self.counts1.sum())

    @property
    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Shares d0 and d1 of the rows per bin."""
        n0, n1 = self.sizes
        return self.counts0 / n0, self.counts1 / n1

    @property
    def difference(self) -> NDArray[np.float64]:
        """D̂, shape (m,)."""
        d0, d1 = self.shares
        return d0 - d1

    @property
    def degrees_of_freedom(self) -> float:
        """Infinite: normal quantiles."""
        return np.inf

    @property
    def linearised(self) -> bool:
        """False: the law is known."""
        return False

    def std_errors(self) -> NDArray[np.float64]:
        """Standard error of every D̂_k, the larger of that with and without pooling."""
        (n0, n1), (d0, d1) = self.sizes, self.shares
        pooled = (self.counts0 + self.counts1) / (n0 + n1)
        alike = pooled * (1 - pooled) * (1 / n0 + 1 / n1)
        return np.sqrt(np.maximum(alike, d0 * (1 - d0) / n0 + d1 * (1 - d1) / n1))

    def distances(self, n_resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Bootstrap draws of MADD, shape (B,): both groups drawn again from their own shares."""
        (n0, n1), (d0, d1) = self.sizes, self.shares
        first = rng.multinomial(n0, d0, size=n_resamples) / n0
        second = rng.multinomial(n1, d1, size=n_resamples) / n1
        return np.asarray(np.abs(first - second).sum(axis=1))

    def laws(self, near: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bin probabilities of either group that its noise is drawn with.

        Shares are shrunk towards the pooled ones as if by `PSEUDO_ROWS` more rows, and within the bins `near`
        take the pooled shape: an empty bin of a small group would otherwise have no noise at all.
        """
        pooled = (self.counts0 + self.counts1) / sum(self.sizes)
        found = []
        for counts, n in zip((self.counts0, self.counts1), self.sizes, strict=True):
            law = (counts + PSEUDO_ROWS * pooled) / (n + PSEUDO_ROWS)
            law[near] = law[near].sum() * pooled[near] / max(float(pooled[near].sum()), 1e-300)
            found.append(law / law.sum())
        return found[0], found[1]

    def draws(
        self, near: NDArray[np.bool_], n_resamples: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Draws of the noise, shape (B, m), by `laws`."""
        first, second = (
            rng.multinomial(n, law, size=n_resamples) / n - law
            for n, law in zip(self.sizes, self.laws(near), strict=True)
        )
        return np.asarray(first - second)

    def worst_variance(self, near: NDArray[np.bool_]) -> float:
        """Bound on the variance of Σ s_k D̂_k for all signs that the data leave open.

        Far from 0 s_k = sign(D̂_k); in the bins `near` it is anything in [−1, 1]. A variable with |s| ≤ 1 and
        mean μ has a variance of at most 1 − μ²; with a near share of b_g the mean of group g comes as close
        to 0 as |a_g| − b_g.
        """
        sizes, laws = np.array(self.sizes), np.vstack(self.laws(near))
        signs = np.where(near, 0.0, np.sign(self.difference))
        least_mean = np.maximum(np.abs(laws @ signs) - laws[:, near].sum(axis=1), 0.0)
        return float(np.maximum((1 - least_mean**2) / sizes, 0.0).sum())


@dataclass(frozen=True, eq=False)
class NormalNoise:
    """Jointly normal differences, by linearisation over weighted rows or clusters.

    Attributes
    ----------
    difference : ndarray, shape (m,)
        D̂.
    covariance : ndarray, shape (m, m)
    degrees_of_freedom : float
        Clusters less the two groups; infinite without clusters.
    """

    difference: NDArray[np.float64]
    covariance: NDArray[np.float64]
    degrees_of_freedom: float = np.inf

    @property
    def linearised(self) -> bool:
        """True."""
        return True

    def std_errors(self) -> NDArray[np.float64]:
        """Standard error of every D̂_k."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    def distances(self, n_resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Bootstrap draws of MADD, shape (B,)."""
        return np.asarray(np.abs(self.difference + self._normal(n_resamples, rng)).sum(axis=1))

    def draws(
        self, near: NDArray[np.bool_], n_resamples: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Draws of the noise, shape (B, m); `near` changes nothing here."""
        return self._normal(n_resamples, rng)

    def _normal(self, n_resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        drawn = rng.standard_normal((n_resamples, root.shape[1])) @ root.T
        if np.isfinite(self.degrees_of_freedom):
            chi2 = rng.chisquare(self.degrees_of_freedom, n_resamples)
            drawn *= np.sqrt(self.degrees_of_freedom / chi2)[:, None]
        return np.asarray(drawn)

    def worst_variance(self, near: NDArray[np.bool_]) -> float:
        """Largest variance of Σ s_k D̂_k found by turning signs in the bins `near`, from several starts.

        A convex form is largest at signs ±1; each turn that raises it is taken until none does.
        """
        fixed = np.where(self.difference < 0, -1.0, 1.0)
        free = np.flatnonzero(near)
        leading = np.linalg.eigh(self.covariance)[1][:, -1]
        starts = (fixed, np.where(leading < 0, -1.0, 1.0), np.where(np.arange(fixed.size) % 2, -1.0, 1.0))
        return max(self._climbed(np.where(near, start, fixed), free) for start in starts)

    def _climbed(self, signs: NDArray[np.float64], free: NDArray[np.int64]) -> float:
        slope = self.covariance @ signs
        own = np.diag(self.covariance)
        for _ in range(20 * max(free.size, 1)):
            gain = 4 * (own[free] - signs[free] * slope[free])
            if not free.size or gain.max() <= 1e-12 * max(float(own.max()), 1e-300):
                break
            k = free[int(np.argmax(gain))]
            signs[k] = -signs[k]
            slope += 2 * signs[k] * self.covariance[:, k]
        return max(float(signs @ slope), 0.0)


def noise_of(first: Sample, second: Sample, edges: NDArray[np.float64]) -> MultinomialNoise | NormalNoise:
    """Noise of two samples on a grid: multinomial for plain rows, else linearised."""
    counts = [s.histogram(edges) for s in (first, second)]
    if first.clusters is None and first.weights is None:
        return MultinomialNoise(counts[0], counts[1])
    difference = np.asarray(counts[0] / first.total - counts[1] / second.total)
    if first.clusters is not None:
        covariance, n_clusters = cluster_covariance(first, second, edges)
        return NormalNoise(difference, covariance, float(max(n_clusters - 2, 1)))
    return NormalNoise(difference, _weighted(first, edges) + _weighted(second, edges))


def _weighted(sample: Sample, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Covariance of weighted bin shares by linearisation, Σ_i w_i²(e_i − d)(e_i − d)'/W² · n/(n − 1)."""
    weights: Any = sample.weights
    squares = Sample(sample.scores, (weights / sample.total) ** 2).histogram(edges)
    shares = sample.histogram(edges) / sample.total
    outer = np.outer(squares, shares)
    covariance = np.diag(squares) - outer - outer.T + squares.sum() * np.outer(shares, shares)
    return np.asarray(covariance * sample.n / max(sample.n - 1, 1))
