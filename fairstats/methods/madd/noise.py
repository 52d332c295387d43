"""Sampling noise of the differences of bin shares D̂_k = d0_k − d1_k, and limits for the binned
distance.

The noise is multinomial for plain rows (drawn as normal where every count varies by 30 and more);
normal, by linearisation, under weights and clusters. The
limits are for δ_m = Σ_k |p0_k − p1_k| on a grid chosen without the labels. |·| has a kink at 0, so
the percentile bootstrap fails where groups are alike: resamples add noise, the limits lie above the
truth. Those here hold for alike and distant groups:

* lower, by the directional delta method: MADD − δ_m ≤ Σ_near |h_k| + Σ_far sign(D_k)·h_k with h the
  noise of D̂. The quantile of the right side, |·| kept in the bins near 0, is subtracted.
* upper: Σ_k |D̂_k| ≥ Σ_k s_k D̂_k = δ_m + Σ_k s_k h_k for the true signs s, whatever they are. The
  largest standard error of Σ s_k h_k over the signs that the data leave open is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.multiplicity import normal_cdf, normal_quantile
from fairstats.ground.verdict import Evidence
from fairstats.methods.madd.scores import Sample, cluster_codes
from fairstats.numerics.draws import QUANTILES_FROM, SharedNormals, drawn_rows

#: Pooled rows added to either group before its noise is drawn (z² ≈ 4, as Agresti and Coull add).
PSEUDO_ROWS = 4.0
#: A bin in which a group has fewer rows than this may be one that it misses by chance.
FEW_ROWS = 10
#: Groups with fewer effective rows, or clusters, give no lower limit but 0, and under weights or
#: clusters no upper one but 2: a variance of so few units is a guess.
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
    def tail_scale(self) -> float:
        """σ of the bound that holds for the noise of any sum of signs, √(1/n0 + 1/n1)."""
        return float(np.sqrt((1 / self._counts_and_sizes[1]).sum()))

    @cached_property
    def _bin_shares_of_groups(self) -> Floats:
        counts, group_sizes = self._counts_and_sizes
        return counts / group_sizes

    @cached_property
    def difference(self) -> Floats:
        """D̂, shape (m,)."""
        shares_0, shares_1 = self._bin_shares_of_groups
        return np.asarray(shares_0 - shares_1)

    def std_errors(self) -> Floats:
        """Standard error of every D̂_k, the larger of that with and without pooling."""
        counts, group_sizes = self._counts_and_sizes
        shares = self._bin_shares_of_groups
        pooled_shares = counts.sum(axis=0) / group_sizes.sum()
        pooled_variance = pooled_shares * (1 - pooled_shares) * (1 / group_sizes).sum()
        return np.asarray(
            np.sqrt(np.maximum(pooled_variance, (shares * (1 - shares) / group_sizes).sum(axis=0)))
        )

    def distances(self, n_resamples: int, normals: SharedNormals) -> Floats:
        """Bootstrap draws of MADD, shape (B,): both groups drawn again from their own shares."""
        if self._is_normal(self._bin_shares_of_groups):
            drawn_noise = self._normal_draws(
                self._bin_shares_of_groups, n_resamples, normals, "bootstrap"
            )
            drawn_noise += self.difference[:, None]
            return np.asarray(np.abs(drawn_noise, out=drawn_noise).sum(axis=0))
        groups = zip(self._counts_and_sizes[1], self._bin_shares_of_groups, strict=True)
        first_shares, second_shares = (
            drawn_rows(int(group_size[0]), shares, n_resamples, normals.rng) / group_size
            for group_size, shares in groups
        )
        return np.asarray(np.abs(first_shares - second_shares).sum(axis=1))

    def _is_normal(self, law_of_groups: Floats) -> bool:
        """Whether counts of this law, shape (2, m), vary so much that their noise is normal."""
        _, group_sizes = self._counts_and_sizes
        variances = group_sizes * law_of_groups * (1 - law_of_groups)
        return bool((variances >= QUANTILES_FROM).all())

    def _normal_draws(
        self,
        law_of_groups: Floats,
        n_resamples: int,
        normals: SharedNormals,
        purpose: str,
    ) -> Floats:
        """Normal noise of D̂ with the covariance Σ_g (diag(p_g) − p_g p_g')/n_g, shape (m, B)."""
        _, group_sizes = self._counts_and_sizes
        covariance = np.diag((law_of_groups / group_sizes).sum(axis=0))
        covariance -= (law_of_groups / group_sizes).T @ law_of_groups
        values, vectors = np.linalg.eigh(covariance)
        # the symmetric root, which no rounding turns: eigenvectors change sign by it
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        return np.asarray(root @ normals.rows(purpose, len(root), n_resamples))

    @cached_property
    def laws_of_groups(self) -> Floats:
        """Bin probabilities that the noise is drawn with, shape (laws, 2 groups, m).

        One law, or two.

        First each group's own shares, shrunk towards the pooled ones as if by `PSEUDO_ROWS` more
        rows. Where a group has few rows in a bin, then with the pooled share there, if larger: what
        it misses by chance has hardly noise.
        """
        counts, group_sizes = self._counts_and_sizes
        pooled_shares = counts.sum(axis=0) / group_sizes.sum()
        shrunk_shares = (counts + PSEUDO_ROWS * pooled_shares) / (group_sizes + PSEUDO_ROWS)
        is_raised = (counts < FEW_ROWS) & (pooled_shares > shrunk_shares)
        if not is_raised.any():
            return np.asarray(shrunk_shares[None])
        free_mass = 1 - np.where(is_raised, pooled_shares, 0.0).sum(axis=1, keepdims=True)
        unraised_shares = np.where(is_raised, 0.0, shrunk_shares)
        raised_law = np.where(
            is_raised,
            pooled_shares,
            unraised_shares
            * free_mass
            / np.maximum(unraised_shares.sum(axis=1, keepdims=True), 1e-300),
        )
        return np.stack([shrunk_shares, raised_law])

    def draws(self, n_resamples: int, normals: SharedNormals, purpose: str) -> Floats:
        """Draws of the noise by each of the `laws_of_groups`, shape (laws, m, B)."""
        group_sizes = self._counts_and_sizes[1][:, 0]
        noise_by_law = []
        for number, law_of_groups in enumerate(self.laws_of_groups):
            if self._is_normal(law_of_groups):
                noise_by_law.append(
                    self._normal_draws(law_of_groups, n_resamples, normals, f"{purpose} {number}")
                )
                continue
            groups = zip(
                group_sizes, law_of_groups / law_of_groups.sum(axis=1, keepdims=True), strict=True
            )
            first_noise, second_noise = (
                drawn_rows(int(group_size), probabilities, n_resamples, normals.rng) / group_size
                - probabilities
                for group_size, probabilities in groups
            )
            noise_by_law.append((first_noise - second_noise).T)
        return np.stack(noise_by_law)

    def worst_variance(self, near: NDArray[np.bool_]) -> float:
        """Bound on the variance of Σ s_k D̂_k for all signs that the data leave open.

        Far from 0 s_k = sign(D̂_k); in the bins `near` it is anything in [−1, 1]. A variable with
        |s| ≤ 1 and mean μ has a variance of at most 1 − μ²; with a near share of b_g the mean of
        group g comes as close to 0 as |a_g| − b_g.
        """
        own_law = self.laws_of_groups[0]
        far_signs = np.where(near, 0.0, np.sign(self.difference))
        least_mean = np.maximum(np.abs(own_law @ far_signs) - own_law[:, near].sum(axis=1), 0.0)
        return float(np.maximum((1 - least_mean**2) / self._counts_and_sizes[1][:, 0], 0.0).sum())


@dataclass(frozen=True, eq=False)
class NormalNoise:
    """Jointly normal D̂ by linearisation.

    `degrees_of_freedom`: units of the smaller group (clusters, effective rows) less one; `units`:
    those of both groups; `pooled`, shape (m,): shares of the bins in both. A group whose rows all
    lie in one bin shows no variance; with units known, what it may miss by chance is added as
    `PSEUDO_ROWS` units with the pooled shares.
    """

    difference: NDArray[np.float64]
    covariance: NDArray[np.float64]
    degrees_of_freedom: float = np.inf
    units: tuple[float, ...] = ()
    pooled: NDArray[np.float64] | None = None

    linearised: ClassVar[bool] = True
    #: No bound is known where the covariance is estimated.
    tail_scale: ClassVar[float] = np.inf

    def std_errors(self) -> NDArray[np.float64]:
        """Standard error of every D̂_k."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    def distances(self, n_resamples: int, normals: SharedNormals) -> NDArray[np.float64]:
        """Bootstrap draws of MADD, shape (B,)."""
        drawn_noise = self.draws(n_resamples, normals, "bootstrap")[0]
        return np.asarray(np.abs(self.difference[:, None] + drawn_noise).sum(axis=0))

    def draws(self, n_resamples: int, normals: SharedNormals, purpose: str) -> NDArray[np.float64]:
        """Draws of the noise, shape (1, m, B)."""
        values, vectors = np.linalg.eigh(self.covariance + self._unseen_covariance())
        # the symmetric root, which no rounding turns: eigenvectors change sign by it
        symmetric_root = (
            vectors * np.sqrt(np.where(values > 1e-12 * values[-1], values, 0.0))
        ) @ vectors.T
        drawn_noise = symmetric_root @ normals.rows(purpose, len(symmetric_root), n_resamples)
        if np.isfinite(self.degrees_of_freedom):
            chi2 = normals.rng.chisquare(self.degrees_of_freedom, n_resamples)
            drawn_noise *= np.sqrt(self.degrees_of_freedom / chi2)
        return np.asarray(drawn_noise[None])

    def _unseen_covariance(self) -> Floats:
        """Covariance of `PSEUDO_ROWS` more units of either group.

        diag(q) − qq' with q the pooled shares.
        """
        if self.pooled is None:
            return np.zeros_like(self.covariance)
        q = self.pooled
        return (np.diag(q) - np.outer(q, q)) * sum(
            PSEUDO_ROWS / n_units**2 for n_units in self.units
        )

    def _least_variance(self) -> float:
        """Variance of 2·(share that a group may have elsewhere), by `PSEUDO_ROWS` units.

        4p(1 − p)/n a group.
        """
        shares = [PSEUDO_ROWS / (n_units + PSEUDO_ROWS) for n_units in self.units]
        return sum(
            4 * share * (1 - share) / n_units
            for share, n_units in zip(shares, self.units, strict=True)
        )

    def worst_variance(self, near: NDArray[np.bool_]) -> float:
        """Largest variance of Σ s_k D̂_k over signs in the bins `near`.

        A convex form is largest at signs ±1.
        """
        fixed_signs = np.where(self.difference < 0, -1.0, 1.0)
        free_bins = np.flatnonzero(near)
        leading = np.linalg.eigh(self.covariance)[1][:, -1]
        # rounding chooses the sign of an eigenvector: both are tried
        leading = np.where(leading < 0, -1.0, 1.0)
        starts = (
            fixed_signs,
            leading,
            -leading,
            np.where(np.arange(fixed_signs.size) % 2, -1.0, 1.0),
        )
        largest = max(
            self._climb_by_signs(np.where(near, start_signs, fixed_signs), free_bins)
            for start_signs in starts
        )
        return max(largest, self._least_variance())

    def _climb_by_signs(self, signs: NDArray[np.float64], free_bins: NDArray[np.int64]) -> float:
        gradient = self.covariance @ signs
        variances = np.diag(self.covariance)
        for _ in range(20 * max(free_bins.size, 1)):
            gains = 4 * (variances[free_bins] - signs[free_bins] * gradient[free_bins])
            if not free_bins.size or gains.max() <= 1e-12 * max(float(variances.max()), 1e-300):
                break
            best_bin = free_bins[int(np.argmax(gains))]
            signs[best_bin] = -signs[best_bin]
            gradient += 2 * signs[best_bin] * self.covariance[:, best_bin]
        return max(float(signs @ gradient), 0.0)


Noise = MultinomialNoise | NormalNoise


def noise_of(
    first: Sample,
    second: Sample,
    edges: NDArray[np.float64],
    counts: Sequence[NDArray[Any]] | None = None,
) -> Noise:
    """Noise of two samples on a grid: multinomial for plain rows, else linearised.

    `counts`: rows (or weight) of both in the bins, where they are known.
    """
    if counts is None:
        counts = [sample.histogram(edges) for sample in (first, second)]
    if first.plain:
        return MultinomialNoise(counts[0], counts[1])
    difference = np.asarray(counts[0] / first.total - counts[1] / second.total)
    if first.clusters is not None:
        covariance = _cluster_covariance(first, second, edges)
    else:
        covariance = _weighted_covariance(first, edges) + _weighted_covariance(second, edges)
    units_of_groups = (first.n_units, second.n_units)
    amounts = np.sum(counts, axis=0)
    return NormalNoise(
        difference=difference,
        covariance=covariance,
        degrees_of_freedom=max(min(units_of_groups) - 1, 1.0),
        units=units_of_groups,
        pooled=amounts / amounts.sum(),
    )


def _weighted_covariance(sample: Sample, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Covariance of weighted bin shares by linearisation, Σ_i w_i²(e_i − d)(e_i − d)'/W² · n/(n −
    1).
    """
    squares = Sample(sample.scores, sample.square_shares).histogram(edges)
    shares = sample.histogram(edges) / sample.total
    cross_products = np.outer(squares, shares)
    covariance = (
        np.diag(squares)
        - cross_products
        - cross_products.T
        + squares.sum() * np.outer(shares, shares)
    )
    return np.asarray(covariance * sample.n / max(sample.n - 1, 1))


def _cluster_covariance(
    first: Sample, second: Sample, edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Covariance over clusters, C/(C − 1)·Σ_c u_c u_c', u_c what c adds to D̂.

    A cluster may lie in both groups.
    """
    samples = (first, second)
    cluster_codes_of_rows, group_codes = cluster_codes(samples)
    n_clusters = int(cluster_codes_of_rows.max()) + 1
    n_bins = edges.size + 1
    bin_codes = np.concatenate(
        [np.searchsorted(edges, sample.scores, side="right") for sample in samples]
    )
    own_shares = []
    for sample in samples:
        own_shares.append(
            (np.ones(sample.n) if sample.weights is None else sample.weights) / sample.total
        )
    signed_weights = np.concatenate(own_shares) * np.where(group_codes == 0, 1.0, -1.0)
    weights_by_bin = scipy.sparse.csr_matrix(
        (signed_weights, (cluster_codes_of_rows, bin_codes)), shape=(n_clusters, n_bins)
    )
    weights_by_group = scipy.sparse.csr_matrix(
        (signed_weights, (cluster_codes_of_rows, group_codes)), shape=(n_clusters, 2)
    )
    bin_shares = np.vstack([sample.histogram(edges) / sample.total for sample in samples])
    cross_products = (weights_by_bin.T @ weights_by_group).toarray() @ bin_shares
    group_products = bin_shares.T @ (weights_by_group.T @ weights_by_group).toarray() @ bin_shares
    covariance = (
        (weights_by_bin.T @ weights_by_bin).toarray()
        - cross_products
        - cross_products.T
        + group_products
    )
    return np.asarray(covariance * n_clusters / max(n_clusters - 1, 1))


@dataclass(frozen=True, eq=False)
class DistanceLimits:
    """Where confidence limits for δ_m come from.

    `excess`, shape (B,): draws that bound MADD − δ_m from above in distribution, ascending; 2 in
    tiny groups; `shortfall`: largest standard error of Σ s_k D̂_k over the open signs; infinite
    where it cannot be told.

    `tail_scale`: σ = √(1/n0 + 1/n1) of plain rows in families of many comparisons, else infinite. A
    row that changes its bin
    moves the excess by at most 2/n_g, so that P(excess ≥ mean + t) ≤ exp(−t²/(2σ²)) by the
    inequality of bounded differences (McDiarmid 1989): for levels that the draws are too few for.
    """

    estimate: float
    excess: NDArray[np.float64]
    shortfall: float
    degrees_of_freedom: float
    tail_scale: float = np.inf

    @cached_property
    def _mean_excess(self) -> float:
        return float(self.excess.mean())

    def lower(self, probability: float) -> float:
        """Limit that lies below δ_m with at least this probability, in [0, 2].

        0 if the draws are too few.
        """
        beyond = int((1 - probability) * (self.excess.size + 1) + 1e-9)  # 1 − 0.9 is less than 0.1
        excess_quantile = 2.0
        if beyond:
            excess_quantile = float(self.excess[-beyond])
        elif np.isfinite(self.tail_scale) and probability < 1:
            reach = self.tail_scale * float(np.sqrt(-2 * np.log1p(-probability)))
            excess_quantile = self._mean_excess + reach
        return min(max(self.estimate - excess_quantile, 0.0), 2.0)

    def upper(self, probability: float) -> float:
        """Limit that lies above δ_m with at least this probability, in [0, 2]."""
        critical_value = normal_quantile(probability, self.degrees_of_freedom)
        return min(max(self.estimate + critical_value * self.shortfall, 0.0), 2.0)

    def evidence(self, margin: float) -> Evidence:
        """p-values of δ_m against a margin.

        At most α exactly where the limit at 1 − α excludes it.
        """
        n_exceeding = int(np.count_nonzero(self.excess >= self.estimate - margin))
        pvalue_above = (1 + n_exceeding) / (1 + self.excess.size)
        beyond_mean = self.estimate - margin - self._mean_excess
        if n_exceeding == 0 and beyond_mean > 0:
            bound = float(np.exp(-((beyond_mean / self.tail_scale) ** 2) / 2))
            pvalue_above = min(pvalue_above, bound)
        return Evidence(above=pvalue_above, inside=self._pvalue_inside(margin))

    def _pvalue_inside(self, margin: float) -> float:
        """p-value of "the distance is not below the margin", by the upper limit."""
        if not np.isfinite(self.shortfall):
            return 1.0
        if self.shortfall == 0:  # a distance without noise lies where it lies
            return 0.0 if self.estimate < margin else 1.0
        return normal_cdf((self.estimate - margin) / self.shortfall, self.degrees_of_freedom)


def distance_limits(
    noise: Noise,
    smallest: float,
    n_resamples: int,
    normals: SharedNormals,
    *,
    bounded: bool = False,
) -> DistanceLimits:
    """Confidence limits for the binned distance; `smallest`: effective rows, or clusters, of either
    group. `bounded`: levels that the draws are too few for have the bound of bounded differences.
    """
    # a difference within so many standard errors may be 0
    near_distance = max(
        3.0, float(np.sqrt(np.log(smallest))), float(np.sqrt(2 * np.log(noise.difference.size)))
    )
    is_near = np.asarray(np.abs(noise.difference) <= near_distance * noise.std_errors())
    drawn_noise = noise.draws(n_resamples, normals, "limits")
    if is_near.all():
        excess_by_law = np.abs(drawn_noise, out=drawn_noise).sum(axis=1)
    else:
        far_noise = np.where(is_near, 0.0, np.sign(noise.difference)) @ drawn_noise
        excess_by_law = np.abs(drawn_noise[:, is_near]).sum(axis=1) + far_noise
    # of several laws of the noise the one that reaches further
    excess = np.sort(excess_by_law, axis=-1).max(axis=0)
    shortfall = float(np.sqrt(noise.worst_variance(is_near)))
    if smallest < SMALLEST_GROUP:
        excess = np.full(n_resamples, 2.0)
        if noise.linearised:
            shortfall = np.inf
    return DistanceLimits(
        estimate=float(np.abs(noise.difference).sum()),
        excess=excess,
        shortfall=shortfall,
        degrees_of_freedom=noise.degrees_of_freedom,
        tail_scale=noise.tail_scale if bounded and smallest >= SMALLEST_GROUP else np.inf,
    )
