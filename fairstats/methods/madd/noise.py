"""Sampling noise of the differences of bin shares D̂_k = d0_k − d1_k, and limits for the binned distance.

The noise is multinomial for plain rows; normal, by linearisation, under weights and clusters. The limits are for δ_m =
Σ_k |p0_k − p1_k| on a grid chosen without the labels. |·| has a kink at 0, so the percentile bootstrap fails where
groups are alike: resamples add noise, the limits lie above the truth. Those here hold for alike and distant groups:

* lower, by the directional delta method: MADD − δ_m ≤ Σ_near |h_k| + Σ_far sign(D_k)·h_k with h the noise of D̂. The
  quantile of the right side, |·| kept in the bins near 0, is subtracted.
* upper: Σ_k |D̂_k| ≥ Σ_k s_k D̂_k = δ_m + Σ_k s_k h_k for the true signs s, whatever they are. The largest standard
  error of Σ s_k h_k over the signs that the data leave open is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.multiplicity import normal_cdf, normal_quantile
from fairstats.ground.verdict import Evidence
from fairstats.methods.madd.scores import Sample, cluster_codes
from fairstats.numerics.draws import drawn_rows

#: Pooled rows added to either group before its noise is drawn (z² ≈ 4, as Agresti and Coull add).
PSEUDO_ROWS = 4.0
#: A bin in which a group has fewer rows than this may be one that it misses by chance.
FEW_ROWS = 10
#: Groups with fewer effective rows, or clusters, give no lower limit but 0, and under weights or clusters no
#: upper one but 2: a variance of so few units is a guess.
SMALLEST_GROUP = 5


@dataclass(frozen=True, eq=False)
class MultinomialNoise:
    """Two independent multinomial samples; `counts0`, `counts1`, shape (m,): rows per bin."""

    counts0: NDArray[np.int64]
    counts1: NDArray[np.int64]

    #: Of a t quantile: normal ones are taken.
    degrees_of_freedom: ClassVar[float] = np.inf
    #: Whether the covariance was estimated by linearisation: the law is known.
    linearised: ClassVar[bool] = False

    @cached_property
    def _counts_and_sizes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of either group per bin, shape (2, m), and in all, shape (2, 1)."""
        counts = np.vstack((self.counts0, self.counts1))
        return counts, counts.sum(axis=1, keepdims=True)

    @property
    def _shares(self) -> Floats:
        counts, n = self._counts_and_sizes
        return counts / n

    @property
    def difference(self) -> Floats:
        """D̂, shape (m,)."""
        d0, d1 = self._shares
        return np.asarray(d0 - d1)

    def std_errors(self) -> Floats:
        """Standard error of every D̂_k, the larger of that with and without pooling."""
        (counts, n), d = self._counts_and_sizes, self._shares
        pooled = counts.sum(axis=0) / n.sum()
        alike = pooled * (1 - pooled) * (1 / n).sum()
        return np.asarray(np.sqrt(np.maximum(alike, (d * (1 - d) / n).sum(axis=0))))

    def distances(self, n_resamples: int, rng: np.random.Generator) -> Floats:
        """Bootstrap draws of MADD, shape (B,): both groups drawn again from their own shares."""
        groups = zip(self._counts_and_sizes[1], self._shares, strict=True)
        first, second = (drawn_rows(int(n[0]), d, n_resamples, rng) / n for n, d in groups)
        return np.asarray(np.abs(first - second).sum(axis=1))

    def laws(self) -> Floats:
        """Bin probabilities that the noise is drawn with, shape (laws, 2 groups, m): one law, or two.

        First each group's own shares, shrunk towards the pooled ones as if by `PSEUDO_ROWS` more rows. Where a group
        has few rows in a bin, then with the pooled share there, if larger: what it misses by chance has hardly noise.
        """
        counts, n = self._counts_and_sizes
        pooled = counts.sum(axis=0) / n.sum()
        own = (counts + PSEUDO_ROWS * pooled) / (n + PSEUDO_ROWS)
        raised = (counts < FEW_ROWS) & (pooled > own)
        if not raised.any():
            return np.asarray(own[None])
        free = 1 - np.where(raised, pooled, 0.0).sum(axis=1, keepdims=True)
        rest = np.where(raised, 0.0, own)
        other = np.where(raised, pooled, rest * free / np.maximum(rest.sum(axis=1, keepdims=True), 1e-300))
        return np.stack([own, other])

    def draws(self, n_resamples: int, rng: np.random.Generator) -> Floats:
        """Draws of the noise by each of the `laws`, shape (laws, B, m)."""
        sizes, drawn = self._counts_and_sizes[1][:, 0], []
        for laws in self.laws():
            groups = zip(sizes, laws / laws.sum(axis=1, keepdims=True), strict=True)
            first, second = (drawn_rows(int(n), p, n_resamples, rng) / n - p for n, p in groups)
            drawn.append(first - second)
        return np.stack(drawn)

    def worst_variance(self, near: NDArray[np.bool_]) -> float:
        """Bound on the variance of Σ s_k D̂_k for all signs that the data leave open.

        Far from 0 s_k = sign(D̂_k); in the bins `near` it is anything in [−1, 1]. A variable with |s| ≤ 1 and mean μ has
        a variance of at most 1 − μ²; with a near share of b_g the mean of group g comes as close to 0 as |a_g| − b_g.
        """
        laws = self.laws()[0]
        signs = np.where(near, 0.0, np.sign(self.difference))
        least_mean = np.maximum(np.abs(laws @ signs) - laws[:, near].sum(axis=1), 0.0)
        return float(np.maximum((1 - least_mean**2) / self._counts_and_sizes[1][:, 0], 0.0).sum())


@dataclass(frozen=True, eq=False)
class NormalNoise:
    """Jointly normal D̂ by linearisation.

    `degrees_of_freedom`: units of the smaller group (clusters, effective rows) less one; `units`: those of both
    groups; `pooled`, shape (m,): shares of the bins in both. A group whose rows all lie in one bin shows no variance;
    with units known, what it may miss by chance is added as `PSEUDO_ROWS` units with the pooled shares.
    """

    difference: NDArray[np.float64]
    covariance: NDArray[np.float64]
    degrees_of_freedom: float = np.inf
    units: tuple[float, ...] = ()
    pooled: NDArray[np.float64] | None = None

    linearised: ClassVar[bool] = True

    def std_errors(self) -> NDArray[np.float64]:
        """Standard error of every D̂_k."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    def distances(self, n_resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Bootstrap draws of MADD, shape (B,)."""
        return np.asarray(np.abs(self.difference + self.draws(n_resamples, rng)[0]).sum(axis=1))

    def draws(self, n_resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draws of the noise, shape (1, B, m)."""
        values, vectors = np.linalg.eigh(self.covariance + self._unseen())
        # the symmetric root, which no rounding turns: eigenvectors change sign by it
        root = (vectors * np.sqrt(np.where(values > 1e-12 * values[-1], values, 0.0))) @ vectors.T
        drawn = rng.standard_normal((n_resamples, root.shape[1])) @ root.T
        if np.isfinite(self.degrees_of_freedom):
            chi2 = rng.chisquare(self.degrees_of_freedom, n_resamples)
            drawn *= np.sqrt(self.degrees_of_freedom / chi2)[:, None]
        return np.asarray(drawn[None])

    def _unseen(self) -> Floats:
        """Covariance of `PSEUDO_ROWS` more units of either group: diag(q) − qq' with q the pooled shares."""
        if self.pooled is None:
            return np.zeros_like(self.covariance)
        q = self.pooled
        return (np.diag(q) - np.outer(q, q)) * sum(PSEUDO_ROWS / n**2 for n in self.units)

    def _least_variance(self) -> float:
        """Variance of 2·(share that a group may have elsewhere), by `PSEUDO_ROWS` units: 4p(1 − p)/n a group."""
        shares = [PSEUDO_ROWS / (n + PSEUDO_ROWS) for n in self.units]
        return sum(4 * p * (1 - p) / n for p, n in zip(shares, self.units, strict=True))

    def worst_variance(self, near: NDArray[np.bool_]) -> float:
        """Largest variance of Σ s_k D̂_k over signs in the bins `near`: a convex form is largest at signs ±1."""
        fixed, free = np.where(self.difference < 0, -1.0, 1.0), np.flatnonzero(near)
        leading = np.linalg.eigh(self.covariance)[1][:, -1]
        # rounding chooses the sign of an eigenvector: both are tried
        leading = np.where(leading < 0, -1.0, 1.0)
        starts = (fixed, leading, -leading, np.where(np.arange(fixed.size) % 2, -1.0, 1.0))
        largest = max(self._climbed(np.where(near, start, fixed), free) for start in starts)
        return max(largest, self._least_variance())

    def _climbed(self, signs: NDArray[np.float64], free: NDArray[np.int64]) -> float:
        slope, own = self.covariance @ signs, np.diag(self.covariance)
        for _ in range(20 * max(free.size, 1)):
            gain = 4 * (own[free] - signs[free] * slope[free])
            if not free.size or gain.max() <= 1e-12 * max(float(own.max()), 1e-300):
                break
            k = free[int(np.argmax(gain))]
            signs[k] = -signs[k]
            slope += 2 * signs[k] * self.covariance[:, k]
        return max(float(signs @ slope), 0.0)


Noise = MultinomialNoise | NormalNoise


def noise_of(first: Sample, second: Sample, edges: NDArray[np.float64]) -> Noise:
    """Noise of two samples on a grid: multinomial for plain rows, else linearised."""
    counts = [s.histogram(edges) for s in (first, second)]
    if first.plain:
        return MultinomialNoise(counts[0], counts[1])
    difference = np.asarray(counts[0] / first.total - counts[1] / second.total)
    if first.clusters is not None:
        covariance = _cluster_covariance(first, second, edges)
    else:
        covariance = _weighted(first, edges) + _weighted(second, edges)
    units = (first.n_units, second.n_units)
    amounts = np.sum(counts, axis=0)
    return NormalNoise(
        difference=difference,
        covariance=covariance,
        degrees_of_freedom=max(min(units) - 1, 1.0),
        units=units,
        pooled=amounts / amounts.sum(),
    )


def _weighted(sample: Sample, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Covariance of weighted bin shares by linearisation, Σ_i w_i²(e_i − d)(e_i − d)'/W² · n/(n − 1)."""
    squares = Sample(sample.scores, sample.square_shares).histogram(edges)
    shares = sample.histogram(edges) / sample.total
    outer = np.outer(squares, shares)
    covariance = np.diag(squares) - outer - outer.T + squares.sum() * np.outer(shares, shares)
    return np.asarray(covariance * sample.n / max(sample.n - 1, 1))


def _cluster_covariance(first: Sample, second: Sample, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Covariance over clusters, C/(C − 1)·Σ_c u_c u_c', u_c what c adds to D̂; a cluster may lie in both groups."""
    samples = (first, second)
    cluster, group = cluster_codes(samples)
    n_clusters, n_bins = int(cluster.max()) + 1, edges.size + 1
    bins = np.concatenate([np.searchsorted(edges, s.scores, side="right") for s in samples])
    own_shares = [(np.ones(s.n) if s.weights is None else s.weights) / s.total for s in samples]
    weight = np.concatenate(own_shares) * np.where(group == 0, 1.0, -1.0)
    rows = scipy.sparse.csr_matrix((weight, (cluster, bins)), shape=(n_clusters, n_bins))
    totals = scipy.sparse.csr_matrix((weight, (cluster, group)), shape=(n_clusters, 2))
    shares = np.vstack([s.histogram(edges) / s.total for s in samples])
    cross = (rows.T @ totals).toarray() @ shares
    own = shares.T @ (totals.T @ totals).toarray() @ shares
    covariance = (rows.T @ rows).toarray() - cross - cross.T + own
    return np.asarray(covariance * n_clusters / max(n_clusters - 1, 1))


@dataclass(frozen=True, eq=False)
class DistanceLimits:
    """Where confidence limits for δ_m come from.

    `excess`, shape (B,): draws that bound MADD − δ_m from above in distribution, ascending; 2 in tiny groups;
    `shortfall`: largest standard error of Σ s_k D̂_k over the open signs; infinite where it cannot be told.
    """

    estimate: float
    excess: NDArray[np.float64]
    shortfall: float
    degrees_of_freedom: float

    def lower(self, probability: float) -> float:
        """Limit that lies below δ_m with at least this probability, in [0, 2]; 0 if the draws are too few."""
        beyond = int((1 - probability) * (self.excess.size + 1) + 1e-9)  # 1 − 0.9 is less than 0.1
        reach = float(self.excess[-beyond]) if beyond else 2.0
        return float(np.clip(self.estimate - reach, 0.0, 2.0))

    def upper(self, probability: float) -> float:
        """Limit that lies above δ_m with at least this probability, in [0, 2]."""
        z = normal_quantile(probability, self.degrees_of_freedom)
        return float(np.clip(self.estimate + z * self.shortfall, 0.0, 2.0))

    def evidence(self, margin: float) -> Evidence:
        """p-values of δ_m against a margin: at most α exactly where the limit at 1 − α excludes it."""
        over = int(np.count_nonzero(self.excess >= self.estimate - margin))
        above = (1 + over) / (1 + self.excess.size)
        return Evidence(above=above, inside=self._inside(margin))

    def _inside(self, margin: float) -> float:
        """p-value of "the distance is not below the margin", by the upper limit."""
        if not np.isfinite(self.shortfall):
            return 1.0
        if self.shortfall == 0:  # a distance without noise lies where it lies
            return 0.0 if self.estimate < margin else 1.0
        return normal_cdf((self.estimate - margin) / self.shortfall, self.degrees_of_freedom)


def distance_limits(noise: Noise, smallest: float, n_resamples: int, rng: np.random.Generator) -> DistanceLimits:
    """Confidence limits for the binned distance; `smallest`: effective rows, or clusters, of either group."""
    # a difference within so many standard errors may be 0
    kappa = max(3.0, float(np.sqrt(np.log(smallest))), float(np.sqrt(2 * np.log(noise.difference.size))))
    near = np.asarray(np.abs(noise.difference) <= kappa * noise.std_errors())
    drawn = noise.draws(n_resamples, rng)
    signed = drawn @ np.where(near, 0.0, np.sign(noise.difference))
    # of several laws of the noise the one that reaches further
    excess = np.sort(np.abs(drawn[..., near]).sum(axis=-1) + signed, axis=-1).max(axis=0)
    shortfall = float(np.sqrt(noise.worst_variance(near)))
    if smallest < SMALLEST_GROUP:
        excess = np.full(n_resamples, 2.0)
        shortfall = np.inf if noise.linearised else shortfall
    return DistanceLimits(float(np.abs(noise.difference).sum()), excess, shortfall, noise.degrees_of_freedom)
