"""Permutation tests: against the enumeration of every split."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import hypergeom

import fairstats as fs
from fairstats.ground.scores import label_blind_bins, pooled_bins
from fairstats.methods.madd import labellings
from fairstats.methods.madd.curve import curve_of, stable_bandwidth, stable_means
from fairstats.methods.madd.noise import NormalNoise
from fairstats.methods.madd.permutation import (
    Sides,
    cell_distance,
    largest_test,
    multiplier_test,
    nested,
    null_moments,
    pair_test,
    permuted_cluster_counts,
    permuted_counts,
    pvalues,
    search_test,
)
from fairstats.methods.madd.scores import Sample, bin_edges, histogram, histogram_distance
from fairstats.numerics.draws import SharedNormals


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
    first = scores[:4]
    second = scores[4:]
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
    test = pair_test(sample(first), sample(second), bin_edges(5), 20_000, SharedNormals(rng))
    assert test is not None
    assert test.statistic == pytest.approx(observed)
    assert abs(test.pvalue - exact) < 4 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4
    assert abs(test.mid_pvalue - exact_mid) < 4 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4
    assert test.null_mean == pytest.approx(values.mean(), rel=1e-12)
    assert test.method == "exact permutation"


def test_whole_clusters_are_permuted(rng: np.random.Generator) -> None:
    """Six clusters, three per group.

    The 20 splits of clusters are the law, whatever their sizes.
    """
    clusters = [[0.1] * 3, [0.1, 0.9], [0.2] * 2, [0.9] * 4, [0.8], [0.9, 0.4]]
    labels = np.repeat(np.arange(6), [len(c) for c in clusters])
    scores = np.concatenate(clusters)
    edges = bin_edges(4)
    per_cluster = np.array([histogram(np.sort(c), edges) for c in clusters])
    values = []
    for rows in combinations(range(6), 3):
        inside = np.isin(np.arange(6), rows)
        values.append(
            float(
                histogram_distance(
                    per_cluster[inside].sum(axis=0), per_cluster[~inside].sum(axis=0)
                )
            )
        )
    observed = values[0]
    exact = np.mean(np.array(values) >= observed - 1e-12)
    first, second = (sample(scores[rows], labels[rows]) for rows in (labels < 3, labels >= 3))
    test = pair_test(first, second, bin_edges(4), 10_000, SharedNormals(rng))
    assert test is not None
    assert test.method == "permutation of whole clusters"
    assert abs(test.pvalue - exact) < 4 * np.sqrt(exact * (1 - exact) / 10_000) + 1e-3
    drawn = permuted_cluster_counts((first, second), edges, 50, rng)
    assert (drawn.sum(axis=0) == per_cluster.sum(axis=0)).all()


def test_clusters_in_several_groups_cannot_be_permuted(rng: np.random.Generator) -> None:
    first = sample([0.1, 0.2], [0, 1])
    second = sample([0.3, 0.4], [1, 2])
    assert not nested((first, second))
    assert pair_test(first, second, bin_edges(4), 99, SharedNormals(rng)) is None
    assert largest_test((first, second), [Sides((0,), (1,), 4)], 99, rng) is None


def test_weights_cannot_be_permuted(rng: np.random.Generator) -> None:
    weighted = Sample(np.array([0.1, 0.9]), np.array([1.0, 2.0]))
    assert pair_test(weighted, weighted, bin_edges(4), 99, SharedNormals(rng)) is None
    assert largest_test((weighted, weighted), [Sides((0,), (1,), 4)], 99, rng) is None


def test_scores_that_do_not_vary_have_p_1(rng: np.random.Generator) -> None:
    test = pair_test(sample([0.5] * 5), sample([0.5] * 7), bin_edges(8), 99, SharedNormals(rng))
    assert test is not None
    assert (test.pvalue, test.mid_pvalue, test.statistic, test.null_mean) == (1.0, 0.5, 0.0, 0.0)


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")
def test_what_is_violated_differs_however_few_permutations_are_asked_for() -> None:
    """Of ten pairs an adjusted p-value of 99 permutations would be at least .10."""
    rng = np.random.default_rng(2)
    group = np.repeat(list("abcde"), 60)
    scores = rng.random(300) ** np.repeat([1, 1, 1, 5, 5], 60)
    for weights in (None, rng.lognormal(0.0, 0.3, 300)):
        result = fs.madd(
            scores, sensitive_features=group, sample_weight=weights, n_resamples=99, rng=1
        )
        rows = [*result.comparisons, result.largest]
        violated = [row.pvalue_adjusted for row in rows if row.verdict == "violated"]
        assert len(violated) > 4
        assert max(violated) <= 0.05
        assert any("at least 99 resamples" in note for note in result.notes())


def largest(
    groups: list[Sample], pairs: list[Sides], n: int, rng: np.random.Generator, **how: bool
) -> Any:
    found = largest_test(groups, pairs, n, rng, **how)
    assert found is not None
    return found[0]


def test_groups_of_one_row_do_not_drown_the_others(rng: np.random.Generator) -> None:
    """Four groups of two laws beside groups of five rows, two and one: p is what it is without
    the latter, the smallest of 199 permutations.
    """
    sizes = [358, 287, 154, 45, 5, 2, 1]
    shifts = [0.0, 3.0, 3.0, 0.0, 0.0, 3.0, 0.0]
    groups = [
        sample(1 / (1 + np.exp(-rng.normal(shift, 1.0, size))))
        for size, shift in zip(sizes, shifts, strict=True)
    ]
    for n_groups in (4, 7):
        pairs = [
            Sides((i,), (j,), label_blind_bins(sizes[i], sizes[j]))
            for i, j in combinations(range(n_groups), 2)
        ]
        test = largest(groups[:n_groups], pairs, 199, rng)
        assert test.pvalue == 1 / 200
        assert test.statistic > 10


@pytest.mark.parametrize("equal_width", [True, False])
def test_largest_of_one_pair_is_that_pair(equal_width: bool, rng: np.random.Generator) -> None:
    """70 rows are cells of their own, so that quantiles are found again exactly.

    Both p by 20,000 draws.
    """
    first = sample(rng.random(30))
    second = sample(rng.beta(2, 3, 40))
    edges = bin_edges(6) if equal_width else Sample.joined([first, second]).quantile_bins(6).edges
    pair = pair_test(first, second, edges, 20_000, SharedNormals(rng))
    test = largest([first, second], [Sides((0,), (1,), 6)], 20_000, rng, equal_width=equal_width)
    assert pair is not None
    assert abs(pair.pvalue - test.pvalue) < 0.02
    assert test.null_mean == pytest.approx(pair.null_mean, rel=0.01)


def test_the_distance_of_cells_is_that_of_the_pooled_bins(rng: np.random.Generator) -> None:
    """Every permutation by itself: bins of its pooled rows by `pooled_bins`, histograms by NumPy.

    Ties, few rows.
    """
    for n_values, sizes, n_bins in (
        (60, (12, 9, 30), 4),
        (5, (40, 25, 3), 3),
        (5, (40, 25, 3), 7),
        (9, (2, 2, 50), 3),
    ):
        values = np.sort(rng.random(n_values))
        pooled = rng.multinomial(sum(sizes), np.full(n_values, 1 / n_values))
        drawn = permuted_counts(pooled, sizes, 40, rng)
        for sides in (Sides((0,), (1,), n_bins), Sides((1,), (0, 2), n_bins)):
            found = cell_distance(np.cumsum(drawn, axis=-1), sides, equal_width=False)
            for b in range(40):
                a, c = (drawn[list(side), b].sum(axis=0) for side in (sides.first, sides.second))
                ends = [0.0, *pooled_bins(values, n_bins, a + c).edges, 1.0]
                rows = [np.histogram(np.repeat(values, n), ends)[0] / n.sum() for n in (a, c)]
                assert found[b] == pytest.approx(np.abs(rows[0] - rows[1]).sum(), abs=1e-12)


@pytest.mark.parametrize(
    ("n0", "n1", "pooled"),
    [
        (20, 200, [70, 60, 50, 40]),
        (500, 500, [200] * 5),
        (40, 400, [400, 10, 10, 10, 10]),
        (30, 30, [2] * 30),
    ],
)
def test_moments_of_the_permutation_law(n0: int, n1: int, pooled: list[int]) -> None:
    """40,000 permutations: their mean to 4 errors, their standard deviation to 2% and 4 errors."""
    drawn = histogram_distance(
        *permuted_counts(np.array(pooled), (n0, n1), 40_000, np.random.default_rng(2))
    )
    mean, sd = null_moments(np.array(pooled), n0, n1)
    assert mean == pytest.approx(drawn.mean(), abs=4 * drawn.std() / 200)
    assert sd == pytest.approx(drawn.std(), rel=0.02 + 4 / np.sqrt(80_000))


def test_moments_of_two_bins_are_exact() -> None:
    """The hypergeometric law summed by SciPy."""
    x = np.arange(0, 11)
    share = hypergeom(40, 38, 10).pmf(x)
    distance = 2 * np.abs(x / 10 - (38 - x) / 30)
    mean = float(share @ distance)
    sd = np.sqrt(share @ distance**2 - mean**2)
    assert null_moments(np.array([38, 2]), 10, 30) == pytest.approx((mean, sd), rel=1e-12)


def test_p_of_the_largest_varies_as_its_draws_do() -> None:
    """D13: what standardises is no draw.

    40 seeds: the variance of p is the binomial one, to 4 errors of a χ².
    """
    rng = np.random.default_rng(7)
    groups = [sample(rng.beta(2, b, n)) for b, n in ((3.0, 200), (3.5, 150), (2.7, 60))]
    pairs = [Sides((0,), (1,), 5), Sides((0,), (2,), 4), Sides((1,), (2,), 4)]
    p = np.array(
        [largest(groups, pairs, 199, np.random.default_rng(seed)).pvalue for seed in range(40)]
    )
    exact = largest(groups, pairs, 20_000, rng).pvalue
    assert 0.03 < exact < 0.9
    assert p.mean() == pytest.approx(exact, abs=0.005 + 4 * np.sqrt(exact * (1 - exact) / 199 / 40))
    assert p.var() < exact * (1 - exact) / 199 * (1 + 4 * np.sqrt(2 / 39))


def test_largest_finds_the_group_that_differs_beside_a_tiny_one(rng: np.random.Generator) -> None:
    """The MADD of the group of 6 is larger; standardised it does not hide the real difference."""
    groups = [sample(rng.beta(2, 3, 800)), sample(rng.beta(3, 2, 800)), sample(rng.beta(2, 3, 6))]
    pairs = [Sides((0,), (1,), 10), Sides((0,), (2,), 10), Sides((1,), (2,), 10)]
    assert largest(groups, pairs, 999, rng).pvalue == 1 / 1000
    rest = [Sides((0,), (1, 2), 10), Sides((1,), (0, 2), 10), Sides((2,), (0, 1), 10)]
    assert largest(groups, rest, 999, rng).pvalue == 1 / 1000


def test_the_same_pair_twice_is_no_second_look(rng: np.random.Generator) -> None:
    groups = [sample(rng.random(40)), sample(rng.random(40))]
    one = largest(groups, [Sides((0,), (1,), 7)], 999, np.random.default_rng(3))
    two = largest(
        groups, [Sides((0,), (1,), 7), Sides((1,), (0,), 7)], 999, np.random.default_rng(3)
    )
    assert one.pvalue == two.pvalue


def test_largest_of_clusters_of_one_row_is_that_of_rows(rng: np.random.Generator) -> None:
    """Symmetry: a cluster a row is no clustering.

    Of 1,500 draws each p and mean agree within 4 errors.
    """
    parts = [rng.beta(2, b, n) for b, n in ((3.0, 40), (3.0, 30), (2.0, 35))]
    pairs = [Sides((0,), (1,), 5), Sides((2,), (0, 1), 4)]
    names = np.split(np.arange(105), [40, 70])
    plain = largest([sample(x) for x in parts], pairs, 1_500, np.random.default_rng(1))
    alone = [sample(x, own) for x, own in zip(parts, names, strict=True)]
    found = largest(alone, pairs, 1_500, np.random.default_rng(2))
    assert 0.001 < plain.pvalue < 0.9
    assert found.pvalue == pytest.approx(plain.pvalue, abs=4 * np.sqrt(2 * 0.25 / 1_500))
    assert found.statistic == pytest.approx(
        plain.statistic, rel=0.1
    )  # E|D| as of a normal variable
    assert found.null_mean == pytest.approx(
        plain.null_mean, rel=0.03
    )  # 4 of a mean with sd 20% of it
    assert plain.method == "exact permutation, largest standardised MADD"
    assert found.method == "permutation of whole clusters, largest standardised MADD"
    # every row twice in a cluster is the same table of clusters, whatever the rows are named
    twice = [
        sample(np.repeat(x, 2), np.repeat(own, 2)) for x, own in zip(parts, names, strict=True)
    ]
    doubled = largest(twice, pairs, 1_500, np.random.default_rng(2))
    assert doubled.pvalue == pytest.approx(found.pvalue, abs=4 * np.sqrt(2 * 0.25 / 1_500))
    assert doubled.statistic == pytest.approx(found.statistic, rel=1e-9)
    torn = [sample(x, np.arange(x.size)) for x in parts]
    assert largest_test(torn, pairs, 99, rng) is None


@pytest.mark.parametrize("edges", [False, True])
def test_search_runs_again_in_every_permutation(
    edges: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each permuted curve is that of the relabelled rows, by runs of rows and by edges."""
    if edges:
        monkeypatch.setattr(labellings, "_BINS_OF_A_CURVE", 0)
    rng = np.random.default_rng(5)
    first = sample(rng.beta(2, 3, 25).round(2))
    second = sample(rng.beta(3, 2, 35))
    seen: list[np.ndarray] = []

    def estimates_of(curves: np.ndarray) -> np.ndarray:
        seen.extend(curves)
        return curves[:, -1]

    search_test(first, second, 0.5, estimates_of, 30, 5, np.random.default_rng(11))
    pooled = np.sort(np.concatenate([first.scores, second.scores]))
    labels = np.tile(np.repeat([True, False], [25, 35]), (5, 1))
    permuted = np.random.default_rng(11).permuted(labels, axis=1)
    assert len(seen) == 5
    for madd, in_first in zip(seen, permuted, strict=True):
        sides = (Sample(pooled[in_first]), Sample(pooled[~in_first]))
        assert np.array_equal(madd, curve_of(*sides, 30, ("a", "b")).madd)


def test_search_pvalue_of_distant_groups_is_the_least_possible() -> None:
    rng = np.random.default_rng(6)
    first = sample(rng.beta(2, 5, 150))
    second = sample(rng.beta(5, 2, 150))
    curve = curve_of(first, second, 120, ("a", "b"))
    stable = stable_bandwidth(curve)
    test = search_test(
        first, second, stable.mean, lambda curves: stable_means(curves, stable.h_sup), 120, 99, rng
    )
    assert test.pvalue == 1 / 100


def test_means_of_many_curves_are_those_of_each(rng: np.random.Generator) -> None:
    """Algorithm 1 of one curve after the other; plain, coarse and constant curves."""
    curves = [
        curve_of(sample(rng.random(n)), sample(rng.beta(2, 3, n)), 150, ("a", "b"))
        for n in (12, 40, 400)
    ]
    madd = np.stack([curve.madd for curve in curves] + [np.ones(150), curves[0].madd.round(1)])
    h_sup = 0.3
    found = stable_means(madd, h_sup)
    for mean, values in zip(found, madd, strict=True):
        # sizes that have this h_sup
        n = (2 / h_sup**1.5) ** 2
        one = type(curves[0])(curves[0].n_bins, values, n, n, ("a", "b"))
        assert stable_bandwidth(one).h_sup == pytest.approx(h_sup)
        assert mean == stable_bandwidth(one).mean


def test_multiplier_test_against_the_normal_law(rng: np.random.Generator) -> None:
    """Two bins: MADD = 2|h|, so p is that of |Z|."""
    from scipy.special import ndtr

    noise = NormalNoise(np.array([0.02, -0.02]), np.array([[1e-4, -1e-4], [-1e-4, 1e-4]]))
    test = multiplier_test(noise, 40_000, SharedNormals(rng))
    assert test.pvalue == pytest.approx(2 * ndtr(-2), abs=0.004)


@pytest.mark.slow
def test_size_of_the_largest_of_many_groups() -> None:
    """Twelve groups of 40 to 600 rows with one law, each against the last: 300 samples.

    Three standard errors of .05 are .038.
    """
    rng = np.random.default_rng(12)
    sizes = [40, 40, 60, 80, 100, 150, 200, 300, 400, 500, 600, 600]
    pairs = [Sides((k,), (11,), label_blind_bins(sizes[k], 600)) for k in range(11)]
    rejected = 0
    for _ in range(300):
        groups = [sample(rng.beta(2, 3, n)) for n in sizes]
        rejected += largest(groups, pairs, 199, rng).pvalue <= 0.05
    assert rejected / 300 == pytest.approx(0.05, abs=0.038)


def test_largest_of_many_groups_has_the_quantiles_of_all(rng: np.random.Generator) -> None:
    """The observed statistic by hand: histograms in the quantiles of all rows, standardised by
    `null_moments`; and a group that differs is found.
    """
    groups = [sample(rng.beta(2, 3, n)) for n in (300, 200, 400, *[150] * 9)]
    groups[3] = sample(rng.beta(3, 2, 150))
    pairs = [Sides((k,), (2,), 6) for k in range(12) if k != 2]
    test = largest(groups, pairs, 99, rng)
    edges = Sample.joined(groups).quantile_bins(6).edges
    counts = [one.histogram(edges) for one in groups]
    shares = np.sum(counts, axis=0) / sum(one.n for one in groups)
    statistics = []
    for sides in pairs:
        (first,) = sides.first
        n = (groups[first].n, 400)
        mean, sd = null_moments(np.rint(shares * sum(n)).astype(int), *n)
        statistics.append((histogram_distance(counts[first], counts[2]) - mean) / sd)
    assert test.statistic == pytest.approx(max(statistics), rel=1e-12)
    assert test.pvalue == 0.01
