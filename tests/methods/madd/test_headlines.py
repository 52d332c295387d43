"""MADD of many pairs together: the same numbers as one pair after the other."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import fairstats as fs
from fairstats.methods.madd import headlines
from fairstats.methods.madd.curve import curve_of, curves_of, stable_bandwidth, stable_bandwidths
from fairstats.methods.madd.permutation import _distances_of_groups
from fairstats.methods.madd.scores import Sample, bin_edges, histogram, histogram_distance
from fairstats.numerics.draws import SharedNormals, split_rows


def groups_of(kind: str, rng: np.random.Generator) -> list[Sample]:
    """Seven groups of 1 to 300 scores, of which some lie on edges of the grids."""
    samples = []
    for size in (1, 2, 17, 60, 100, 150, 300):
        scores = np.sort(rng.beta(2, 3, size))
        if kind == "tied":
            scores = np.sort(rng.integers(0, 13, size) / 12)
        weights = rng.random(size) + 0.5 if kind == "weighted" else None
        counts = rng.integers(1, 9, size) if kind == "counted" else None
        samples.append(Sample(scores, weights=weights, counts=counts))
    return samples


@pytest.mark.parametrize("kind", ["plain", "tied", "weighted", "counted"])
@pytest.mark.parametrize("at_once", [30, 500_000])
def test_curves_of_all_pairs_are_those_of_each(
    kind: str, at_once: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Witness: the histograms of each grid, one after the other; whole rows to the last digit."""
    monkeypatch.setattr(headlines, "_SHARES_AT_ONCE", at_once)
    pairs = list(combinations(groups_of(kind, rng), 2))
    together = curves_of(pairs, 40, [("", "")] * len(pairs))
    assert len(pairs) > headlines._PAIRS_FOR_A_GROUP * 7  # so that they are taken together
    for curve, (first, second) in zip(together, pairs, strict=True):
        alone = curve_of(first, second, 40, ("", ""))
        if kind == "weighted":
            np.testing.assert_allclose(curve.madd, alone.madd, rtol=0, atol=1e-13)
        else:
            assert curve.madd.tolist() == alone.madd.tolist()
        for n_bins in (1, 2, 7, 12, 40):
            counts = []
            for sample in (first, second):
                amounts = sample.counts if sample.weights is None else sample.weights
                counts.append(histogram(sample.scores, bin_edges(n_bins), amounts))
            wanted = histogram_distance(*counts)
            assert curve.madd[n_bins - 1] == pytest.approx(wanted, abs=1e-13)


def test_stretches_of_many_curves_are_those_of_each(rng: np.random.Generator) -> None:
    """The least width of a stretch follows from the sizes of each pair."""
    samples = groups_of("plain", rng)[2:]
    pairs = list(combinations(samples, 2))
    curves = curves_of(pairs, 200, [("", "")] * len(pairs))
    assert stable_bandwidths(curves, min_points=50, width=0.45) == [
        stable_bandwidth(curve) for curve in curves
    ]


def test_distances_of_all_groups_are_those_of_each_pair(rng: np.random.Generator) -> None:
    shares = rng.dirichlet(np.ones(5), (8, 11))  # groups, draws
    pairs = np.array(list(combinations(range(8), 2)))
    swapped = pairs[rng.permutation(len(pairs))][:, ::-1]
    for first, second in (pairs.T, swapped.T, swapped[:3].T):
        wanted = np.abs(shares[first] - shares[second]).sum(axis=-1)
        np.testing.assert_allclose(_distances_of_groups(shares, first, second), wanted, atol=1e-14)


def test_shared_normal_values_stay_and_grow(rng: np.random.Generator) -> None:
    normals = SharedNormals(rng)
    few = normals.rows("limits", 3, 10).copy()
    many = normals.rows("limits", 5, 10)
    assert (many[:3] == few).all()
    assert (normals.rows("limits", 2, 10) == few[:2]).all()
    assert not (normals.rows("bootstrap", 3, 10) == few).any()
    # they are not written into
    counts = np.full(5, 4_000)
    split_rows(counts, 9_000, 10, rng, lambda: many)
    assert (normals.rows("limits", 3, 10) == few).all()


@pytest.mark.parametrize("rows_of_cell", [300, 4_000])
def test_splits_by_given_normal_values_have_the_law(
    rows_of_cell: int, rng: np.random.Generator
) -> None:
    """Witness: mean and covariance of the multivariate hypergeometric law, in closed form."""
    counts = np.array([1, 2, 3]) * rows_of_cell
    n = counts.sum()
    size = int(n // 3)
    normals = SharedNormals(rng)
    drawn = split_rows(counts, size, 40_000, rng, lambda: normals.rows("", 3, 40_000))
    assert (drawn.sum(axis=1) == size).all()
    share = counts / n
    np.testing.assert_allclose(drawn.mean(axis=0), size * share, rtol=2e-3)
    covariance = size * (n - size) / (n - 1) * (np.diag(share) - np.outer(share, share))
    np.testing.assert_allclose(np.cov(drawn.T), covariance, rtol=0.05)


@pytest.mark.slow
def test_families_of_alike_groups_keep_their_level(rng: np.random.Generator) -> None:
    """Comparisons share normal values: over 12 groups and 250 data sets some difference is shown
    in at most 5%, and 2.6 standard errors, of them.
    """
    shown = 0
    for _ in range(250):
        group = np.repeat(np.arange(12), 400)
        result = fs.madd(
            rng.random(4_800),
            sensitive_features=group,
            comparisons="reference",
            n_bins=4,
            n_resamples=299,
            rng=rng,
        )
        shown += min(c.pvalue_adjusted for c in result.comparisons) <= 0.05
    assert shown / 250 <= 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / 250)
