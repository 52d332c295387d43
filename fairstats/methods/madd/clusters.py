"""Rows in clusters: histograms per cluster, permuted whole, and the covariance of bin shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.methods.madd.scores import Sample

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["cluster_covariance", "nested", "permuted_cluster_counts"]


def _codes(samples: Sequence[Sample]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cluster of every row, counted from 0, and group of every row."""
    clusters = np.concatenate([np.asarray(s.clusters) for s in samples])
    group = np.repeat(np.arange(len(samples)), [s.n for s in samples])
    return np.unique(clusters, return_inverse=True)[1], group


def nested(samples: Sequence[Sample]) -> bool:
    """Whether every cluster lies in one group."""
    cluster, group = _codes(samples)
    groups_of = np.zeros((int(cluster.max()) + 1, len(samples)), dtype=bool)
    groups_of[cluster, group] = True
    return bool((groups_of.sum(axis=1) == 1).all())


def permuted_cluster_counts(
    samples: Sequence[Sample], edges: NDArray[np.float64], n_resamples: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Bin counts of every group when group labels are permuted over whole clusters.

    Parameters
    ----------
    samples : sequence of Sample, length G
        One per group, with clusters, each of which lies in one group.
    edges : ndarray, shape (m − 1,)
        Inner edges of the bins.
    n_resamples : int
        B.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int, shape (G, B, m)
        The number of clusters per group is kept; the number of rows need not be.
    """
    cluster, group = _codes(samples)
    n_bins, n_groups = edges.size + 1, len(samples)
    bins = np.concatenate([np.searchsorted(edges, s.scores, side="right") for s in samples])
    cells, counts = np.unique(cluster * n_bins + bins, return_counts=True)
    cluster_of, bin_of = cells // n_bins, cells % n_bins
    label = np.empty(int(cluster.max()) + 1, dtype=np.int64)
    label[cluster] = group
    drawn = np.empty((n_groups, n_resamples, n_bins), dtype=np.int64)
    for b in range(n_resamples):
        place = rng.permutation(label)[cluster_of] * n_bins + bin_of
        found = np.bincount(place, weights=counts, minlength=n_groups * n_bins)
        drawn[:, b] = np.rint(found).reshape(n_groups, n_bins)
    return drawn


def cluster_covariance(
    first: Sample, second: Sample, edges: NDArray[np.float64]
) -> tuple[NDArray[np.float64], int]:
    """Covariance of the differences of bin shares over clusters, and the number of clusters.

    With u_c the contribution of cluster c to the differences, C/(C − 1)·Σ_c u_c u_c'. A cluster may lie in
    both groups.

    Parameters
    ----------
    first, second : Sample
        With clusters, with or without weights.
    edges : ndarray, shape (m − 1,)

    Returns
    -------
    covariance : ndarray, shape (m, m)
    n_clusters : int
    """
    from scipy.sparse import csr_matrix

    samples = (first, second)
    cluster, group = _codes(samples)
    n_clusters, n_bins = int(cluster.max()) + 1, edges.size + 1
    bins = np.concatenate([np.searchsorted(edges, s.scores, side="right") for s in samples])
    weight = np.concatenate([_shares(s) for s in samples]) * np.where(group == 0, 1.0, -1.0)
    shape: Any = (n_clusters, n_bins)
    rows = csr_matrix((weight, (cluster, bins)), shape=shape)
    totals = csr_matrix((weight, (cluster, group)), shape=(n_clusters, 2))
    shares = np.vstack([s.histogram(edges) / s.total for s in samples])
    cross = (rows.T @ totals).toarray() @ shares
    own = shares.T @ (totals.T @ totals).toarray() @ shares
    covariance = (rows.T @ rows).toarray() - cross - cross.T + own
    return covariance * n_clusters / max(n_clusters - 1, 1), n_clusters


def _shares(sample: Sample) -> NDArray[np.float64]:
    """Share of the group that each row stands for."""
    if sample.weights is None:
        return np.full(sample.n, 1 / sample.n)
    return sample.weights / sample.total
