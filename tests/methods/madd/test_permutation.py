"""Permutation tests: against the enumeration of every split."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from fairstats.methods.madd.curve import curve_of, stable_bandwidth
from fairstats.methods.madd.noise import NormalNoise
from fairstats.methods.madd.permutation import (
    largest_test,
    multiplier_test,
    nested,
    pair_test,
    permuted_cluster_counts,
    pvalues,
    search_test,
)
from fairstats.methods.madd.scores import Sample, bin_edges, histogram, histogram_distance


def sample(values: object, clusters: object = None) -> Sample:
    x = np.asarray(values, dtype=float)
    order = np.argsort(x, kind="stable")
    codes = None if clusters is None else np.asarray(clusters)[order]
    return Sample(x[order], None, codes)


def test_pvalue_and_mid_pvalue() -> None:
    drawn = np.array([0.1, 0.2, 0.2, 0.3])
    assert pvalues(0.2, drawn) == (4 / 5, 2.5 / 5)
    assert pvalues(0.5, drawn) == (1 / 5, 0.5 / 5)
    assert pvalues(0.2 + 1e-15, drawn) == pvalues(0.2, drawn)  # rounding is no difference


def test_pair_test_agrees_with_all_splits(rng: np.random.Generator) -> None:
    """C(10, 4) = 210 splits; 20,000 draws put p within four Monte Carlo errors."""
    scores = np.array([0.05, 0.1, 0.15, 0.2, 0.3, 0.45, 0.6, 0.7, 0.8, 0.95])
    first, second = scores[:4], scores[4:]
    edges = bin_edges(5)
    observed = float(histogram_distance(histogram(first, edges), histogram(second, edges)))
    everything = []
    for rows in combinations(range(10), 4):
        chosen = np.isin(np.arange(10), rows)
        counts = [histogram(scores[chosen], edges), histogram(scores[~chosen], edges)]
        everything.append(float(histogram_distance(*counts)))
    values = np.array(everything)
    exact = np.mean(values >= observed - 1e-12)
    exact_mid = np.mean(values > observed + 1e-12) + np.mean(np.abs(values - observed) < 1e-12) / 2
    test = pair_test(sample(first), sample(second), bin_edges(5), 20_000, rng)
    assert test is not None
    assert test.statistic == pytest.approx(observed)
    assert abs(test.pvalue - exact) < 4 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4
    assert abs(test.mid_pvalue - exact_mid) < 4 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4
    assert test.null_mean == pytest.approx(values.mean(), rel=1e-12)
    assert test.method == "exact permutation"


def test_whole_clusters_are_permuted(rng: np.random.Generator) -> None:
    """Six clusters, three per group: the 20 splits of clusters are the law, whatever their sizes."""
    clusters = [[0.1] * 3, [0.1, 0.9], [0.2] * 2, [0.9] * 4, [0.8], [0.9, 0.4]]
    labels = np.repeat(np.arange(6), [len(c) for c in clusters])
    scores = np.concatenate(clusters)
    edges = bin_edges(4)
    per_cluster = np.array([histogram(np.sort(c), edges) for c in clusters])
    values = []
    for rows in combinations(range(6), 3):
        inside = np.isin(np.arange(6), rows)
        values.append(float(histogram_distance(per_cluster[inside].sum(axis=0), per_cluster[~inside].sum(axis=0))))
    observed = values[0]
    exact = np.mean(np.array(values) >= observed - 1e-12)
    first, second = (sample(scores[rows], labels[rows]) for rows in (labels < 3, labels >= 3))
    test = pair_test(first, second, bin_edges(4), 10_000, rng)
    assert test is not None
    assert test.method == "permutation of whole clusters"
    assert abs(test.pvalue - exact) < 4 * np.sqrt(exact * (1 - exact) / 10_000) + 1e-3
    drawn = permuted_cluster_counts((first, second), edges, 50, rng)
    assert (drawn.sum(axis=0) == per_cluster.sum(axis=0)).all()


def test_clusters_in_several_groups_cannot_be_permuted(rng: np.random.Generator) -> None:
    first, second = sample([0.1, 0.2], [0, 1]), sample([0.3, 0.4], [1, 2])
    assert not nested((first, second))
    assert pair_test(first, second, bin_edges(4), 99, rng) is None
    pairs = [((0,), (1,), bin_edges(4))]
    assert largest_test((first, second), pairs, 99, rng) is None


def test_weights_cannot_be_permuted(rng: np.random.Generator) -> None:
    weighted = Sample(np.array([0.1, 0.9]), np.array([1.0, 2.0]))
    assert pair_test(weighted, weighted, bin_edges(4), 99, rng) is None
    assert largest_test((weighted, weighted), [((0,), (1,), bin_edges(4))], 99, rng) is None


def test_scores_that_do_not_vary_have_p_1(rng: np.random.Generator) -> None:
    test = pair_test(sample([0.5] * 5), sample([0.5] * 7), bin_edges(8), 99, rng)
    assert test is not None
    assert (test.pvalue, test.mid_pvalue, test.statistic, test.null_mean) == (1.0, 0.5, 0.0, 0.0)


def test_largest_of_one_pair_is_that_pair(rng: np.random.Generator) -> None:
    first, second = sample(rng.random(30)), sample(rng.beta(2, 3, 40))
    pair = pair_test(first, second, bin_edges(6), 20_000, rng)
    largest = largest_test([first, second], [((0,), (1,), bin_edges(6))], 20_000, rng)
    assert pair is not None
    assert largest is not None
    assert abs(pair.pvalue - largest.pvalue) < 0.02


def test_largest_finds_the_group_that_differs_beside_a_tiny_one(rng: np.random.Generator) -> None:
    """The MADD of the group of 6 is larger; standardised it does not hide the real difference."""
    groups = [sample(rng.beta(2, 3, 800)), sample(rng.beta(3, 2, 800)), sample(rng.beta(2, 3, 6))]
    pairs = [((0,), (1,), bin_edges(10)), ((0,), (2,), bin_edges(10)), ((1,), (2,), bin_edges(10))]
    test = largest_test(groups, pairs, 999, rng)
    assert test is not None
    assert test.pvalue == 1 / 1000
    rest = [((0,), (1, 2), bin_edges(10)), ((1,), (0, 2), bin_edges(10)), ((2,), (0, 1), bin_edges(10))]
    against_rest = largest_test(groups, rest, 999, rng)
    assert against_rest is not None
    assert against_rest.pvalue == 1 / 1000


def test_largest_on_different_grids_aggregates_one_permutation(rng: np.random.Generator) -> None:
    """The same pair on the same grid twice is no second look: p as for one."""
    groups = [sample(rng.random(40)), sample(rng.random(40))]
    one = largest_test(groups, [((0,), (1,), bin_edges(7))], 999, np.random.default_rng(3))
    two = largest_test(groups, [((0,), (1,), bin_edges(7)), ((1,), (0,), bin_edges(7))], 999, np.random.default_rng(3))
    assert one is not None
    assert two is not None
    assert one.pvalue == two.pvalue


def test_largest_of_clusters_of_one_row_is_that_of_rows(rng: np.random.Generator) -> None:
    """Symmetry: a cluster a row is no clustering; of 1,500 draws each p and mean agree within 4 errors."""
    edges = np.linspace(0.1, 0.9, 9)
    parts = [rng.beta(2, b, n) for b, n in ((3.0, 40), (3.0, 30), (2.0, 35))]
    pairs = [((0,), (1,), edges), ((2,), (0, 1), edges[::2])]
    names = np.split(np.arange(105), [40, 70])
    plain = largest_test([sample(x) for x in parts], pairs, 1_500, np.random.default_rng(1))
    alone = [sample(x, own) for x, own in zip(parts, names, strict=True)]
    found = largest_test(alone, pairs, 1_500, np.random.default_rng(2))
    assert plain is not None
    assert found is not None
    assert 0.02 < plain.pvalue < 0.9
    assert found.pvalue == pytest.approx(plain.pvalue, abs=4 * np.sqrt(2 * 0.25 / 1_500))
    assert found.statistic == pytest.approx(plain.statistic, rel=0.1)  # 4 errors of a standard deviation
    assert found.null_mean == pytest.approx(plain.null_mean, rel=0.03)  # 4 of a mean with sd 20% of it
    assert plain.method == "exact permutation, largest standardised MADD"
    assert found.method == "permutation of whole clusters, largest standardised MADD"
    # every row twice in a cluster is the same table of clusters, whatever the rows are named
    twice = [sample(np.repeat(x, 2), np.repeat(own, 2)) for x, own in zip(parts, names, strict=True)]
    doubled = largest_test(twice, pairs, 1_500, np.random.default_rng(2))
    assert doubled is not None
    assert doubled.pvalue == pytest.approx(found.pvalue, abs=4 * np.sqrt(2 * 0.25 / 1_500))
    assert doubled.null_mean == pytest.approx(found.null_mean, rel=0.03)
    torn = [sample(x, np.arange(x.size)) for x in parts]
    assert largest_test(torn, pairs, 99, rng) is None


def test_search_runs_again_in_every_permutation() -> None:
    """Each permuted estimate is what the curve of relabelled rows gives."""
    rng = np.random.default_rng(5)
    first, second = sample(rng.beta(2, 3, 25)), sample(rng.beta(3, 2, 35))
    seen: list[np.ndarray] = []

    def estimate_of(madd: np.ndarray) -> float:
        seen.append(madd)
        return float(madd[-1])

    search_test(first, second, 0.5, estimate_of, 30, 5, np.random.default_rng(11))
    pooled = np.sort(np.concatenate([first.scores, second.scores]))
    again = np.random.default_rng(11)
    for madd in seen:
        labels = again.permutation(np.repeat([1, 0], [25, 35]))
        sides = (Sample(pooled[labels == 1]), Sample(pooled[labels == 0]))
        assert np.array_equal(madd, curve_of(*sides, 30, ("a", "b")).madd)


def test_search_pvalue_of_distant_groups_is_the_least_possible() -> None:
    rng = np.random.default_rng(6)
    first, second = sample(rng.beta(2, 5, 150)), sample(rng.beta(5, 2, 150))
    curve = curve_of(first, second, 120, ("a", "b"))
    observed = stable_bandwidth(curve).mean

    def estimate_of(madd: np.ndarray) -> float:
        return stable_bandwidth(type(curve)(curve.n_bins, madd, curve.n0, curve.n1, curve.groups)).mean

    test = search_test(first, second, observed, estimate_of, 120, 99, rng)
    assert test.pvalue == 1 / 100


def test_multiplier_test_against_the_normal_law(rng: np.random.Generator) -> None:
    """Two bins: MADD = 2|h|, so p is that of |Z|."""
    from scipy.special import ndtr

    noise = NormalNoise(np.array([0.02, -0.02]), np.array([[1e-4, -1e-4], [-1e-4, 1e-4]]))
    test = multiplier_test(noise, 40_000, rng)
    assert test.pvalue == pytest.approx(2 * ndtr(-2), abs=0.004)
