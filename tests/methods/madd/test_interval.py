"""Limits for the binned distance: variances by brute force, extreme data, why not percentile."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import fairstats as fs
from fairstats.methods.madd.noise import (
    DistanceLimits,
    MultinomialNoise,
    NormalNoise,
    distance_limits,
    noise_of,
)
from fairstats.methods.madd.scores import Sample, bin_edges
from fairstats.numerics.draws import SharedNormals

from ...calibration.madd import percentile_of_equal_groups


def largest_by_brute_force(covariance: np.ndarray, signs: np.ndarray, near: np.ndarray) -> float:
    free = np.flatnonzero(near)
    values = []
    for turn in product([-1.0, 1.0], repeat=free.size):
        s = signs.copy()
        s[free] = turn
        values.append(s @ covariance @ s)
    return float(max(values))


def multinomial_covariance(
    noise: MultinomialNoise, laws: tuple[np.ndarray, np.ndarray] | None = None
) -> np.ndarray:
    counts = (noise.counts0, noise.counts1)
    shares = [c / c.sum() for c in counts] if laws is None else laws
    return sum((np.diag(p) - np.outer(p, p)) / c.sum() for p, c in zip(shares, counts, strict=True))


@pytest.mark.parametrize("seed", range(6))
def test_worst_variance_bounds_every_choice_of_signs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    laws = rng.dirichlet(np.full(8, 2.0), size=2)
    noise = MultinomialNoise(rng.multinomial(60, laws[0]), rng.multinomial(90, laws[1]))
    near = rng.random(8) < 0.6
    covariance = multinomial_covariance(noise, tuple(noise.laws_of_groups[0]))
    best = largest_by_brute_force(covariance, np.sign(noise.difference), near)
    bound = noise.worst_variance(near)
    assert best <= bound + 1e-12
    assert bound <= 1 / 60 + 1 / 90 + 1e-12


@pytest.mark.parametrize("seed", range(8))
def test_turning_signs_finds_the_largest_variance(seed: int) -> None:
    """For weights and clusters: equal to brute force over 2⁸ patterns, or within 3% of it."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((8, 5))
    noise = NormalNoise(rng.standard_normal(8), root @ root.T)
    near = rng.random(8) < 0.7
    best = largest_by_brute_force(noise.covariance, np.where(noise.difference < 0, -1.0, 1.0), near)
    found = noise.worst_variance(near)
    assert found <= best * (1 + 1e-12)
    assert found >= 0.97 * best


def test_covariance_of_weighted_rows_is_that_of_linearisation(rng: np.random.Generator) -> None:
    """Σ_i u_i u_i' over rows, written out.

    Unit weights give the multinomial one times n/(n − 1).
    """
    edges = bin_edges(4)
    scores = np.sort(rng.random(30))
    weights = rng.gamma(2, 1, 30)
    other = Sample(np.sort(rng.random(20)), np.ones(20))
    noise = noise_of(Sample(scores, weights), other, edges)
    assert isinstance(noise, NormalNoise)
    indicator = np.eye(4)[np.searchsorted(edges, scores, side="right")]
    share = weights @ indicator / weights.sum()
    u = weights[:, None] * (indicator - share) / weights.sum()
    p = other.histogram(edges) / 20
    expected = u.T @ u * 30 / 29 + (np.diag(p) - np.outer(p, p)) / 19
    assert np.allclose(noise.covariance, expected)
    assert np.allclose(noise.difference, share - p)


@pytest.mark.parametrize("weighted", [False, True])
def test_covariance_of_clusters_is_that_of_their_contributions(
    weighted: bool, rng: np.random.Generator
) -> None:
    """Clusters of three rows that lie in both groups: Σ_c u_c u_c' by a loop."""
    edges = bin_edges(3)
    samples = []
    for n in (24, 18):
        weights = rng.gamma(2, 1, n) if weighted else None
        samples.append(Sample(np.sort(rng.random(n)), weights, rng.integers(0, 12, n)))
    noise = noise_of(samples[0], samples[1], edges)
    assert isinstance(noise, NormalNoise)
    codes = np.unique(np.concatenate([s.clusters for s in samples]))
    total = np.zeros((3, 3))
    for c in codes:
        u = np.zeros(3)
        for sign, s in zip((1, -1), samples, strict=True):
            w = np.ones(s.n) if s.weights is None else s.weights
            rows = np.asarray(s.clusters) == c
            indicator = np.eye(3)[np.searchsorted(edges, s.scores[rows], side="right")]
            share = s.histogram(edges) / s.total
            u += sign * (w[rows, None] * (indicator - share)).sum(axis=0) / w.sum()
        total += np.outer(u, u)
    assert np.allclose(noise.covariance, total * codes.size / (codes.size - 1))
    groups = [np.unique(c).size for c in (s.clusters for s in samples)]
    assert noise.degrees_of_freedom == min(groups) - 1


def test_one_row_per_cluster_is_no_cluster(rng: np.random.Generator) -> None:
    scores = [np.sort(rng.random(n)) for n in (40, 30)]
    plain = noise_of(*(Sample(s) for s in scores), bin_edges(5))
    single = noise_of(
        Sample(scores[0], None, np.arange(40)),
        Sample(scores[1], None, np.arange(40, 70)),
        bin_edges(5),
    )
    assert isinstance(plain, MultinomialNoise)
    assert isinstance(single, NormalNoise)
    assert np.allclose(single.covariance * 69 / 70, multinomial_covariance(plain))


@pytest.mark.parametrize("kind", ["multinomial", "normal"])
def test_draws_have_the_covariance_of_the_noise(kind: str, rng: np.random.Generator) -> None:
    base = MultinomialNoise(np.array([30, 20, 50]), np.array([10, 60, 30]))
    covariance = multinomial_covariance(base)
    noise = base if kind == "multinomial" else NormalNoise(base.difference, covariance)
    drawn = noise.draws(40_000, SharedNormals(rng), "limits")[0].T
    expected = (
        covariance
        if kind == "normal"
        else multinomial_covariance(base, tuple(base.laws_of_groups[0]))
    )
    assert np.allclose(drawn.mean(axis=0), 0, atol=1e-3)
    assert np.allclose(np.cov(drawn.T), expected, atol=1.5e-4)
    assert np.allclose(expected, covariance, atol=3e-4)
    noisy = np.abs(base.difference + drawn).sum(axis=1).mean()
    assert noise.distances(40_000, SharedNormals(rng)).mean() == pytest.approx(noisy, abs=0.005)


def test_an_empty_bin_of_a_small_group_has_noise(rng: np.random.Generator) -> None:
    """With the pooled share; by the group's own law with that share of four rows more."""
    noise = MultinomialNoise(np.array([0, 10, 10]), np.array([200, 900, 900]))
    pooled = 200 / 2020
    drawn = noise.draws(20_000, SharedNormals(rng), "limits")[1].T
    assert drawn[:, 0].var() == pytest.approx(pooled * (1 - pooled) * (1 / 20 + 1 / 2000), rel=0.05)
    own, other = noise.laws_of_groups[:, 0]
    assert own == pytest.approx([4 * pooled / 24, *[(10 + 4 * 910 / 2020) / 24] * 2])
    assert other == pytest.approx([pooled, *[(1 - pooled) / 2] * 2])
    assert noise.laws_of_groups[1, 1] == pytest.approx(noise.laws_of_groups[0, 1])
    assert len(MultinomialNoise(np.array([10, 10]), np.array([90, 30])).laws_of_groups) == 1


def test_the_law_that_reaches_further_counts() -> None:
    """A bin that the small group misses: by its own law the lower limit would lie 0.1 higher."""
    noise = MultinomialNoise(np.array([100, 0]), np.array([8_700, 1_300]))
    limits = distance_limits(noise, 100, 1_999, SharedNormals(np.random.default_rng(1)))
    pooled = 1_300 / 10_100
    spread = 2 * np.sqrt(pooled * (1 - pooled) * (1 / 100 + 1 / 10_000))
    assert limits.estimate == pytest.approx(0.26)
    assert limits.lower(0.95) == pytest.approx(0.26 - 1.6449 * spread, abs=0.02)


def plain_laws(counts: np.ndarray) -> list[list[list[float]]]:
    """Shares shrunk by four rows of the pooled ones.

    Bins with fewer than ten rows raised to those.
    """
    n = counts.sum(axis=1)
    pooled = counts.sum(axis=0) / counts.sum()
    first = []
    second = []
    any_raised = False
    for g in range(2):
        own = [(counts[g, k] + 4 * pooled[k]) / (n[g] + 4) for k in range(counts.shape[1])]
        raised = [counts[g, k] < 10 and pooled[k] > own[k] for k in range(counts.shape[1])]
        free = 1 - sum(p for p, up in zip(pooled, raised, strict=True) if up)
        rest = sum(p for p, up in zip(own, raised, strict=True) if not up)
        first.append(own)
        second.append(
            [q if up else p * free / rest for p, q, up in zip(own, pooled, raised, strict=True)]
        )
        any_raised = any_raised or any(raised)
    return [first, second] if any_raised else [first]


@pytest.mark.parametrize(
    "counts",
    [[[60, 9, 31], [200, 150, 50]], [[60, 40, 30], [20, 15, 50]], [[4, 9, 2], [50, 3, 900]]],
    ids=str,
)
def test_laws_and_excess_one_by_one(counts: list[list[int]]) -> None:
    """Witness: plain loops over groups, bins and draws, with the same draws of the noise."""
    table = np.array(counts)
    noise = MultinomialNoise(*table)
    np.testing.assert_allclose(noise.laws_of_groups, plain_laws(table), rtol=1e-12)
    smallest = float(table.sum(axis=1).min())
    limits = distance_limits(noise, smallest, 50, SharedNormals(np.random.default_rng(8)))
    drawn = noise.draws(50, SharedNormals(np.random.default_rng(8)), "limits").transpose(0, 2, 1)
    shares = table / table.sum(axis=1, keepdims=True)
    difference = shares[0] - shares[1]
    near = [abs(d) <= 3 * e for d, e in zip(difference, noise.std_errors(), strict=True)]
    wanted = []
    for law in drawn:
        reach = [
            sum(
                abs(x) if close else np.sign(d) * x
                for x, close, d in zip(z, near, difference, strict=True)
            )
            for z in law
        ]
        wanted.append(sorted(reach))
    np.testing.assert_allclose(limits.excess, np.max(wanted, axis=0), atol=1e-12)
    assert limits.estimate == pytest.approx(np.abs(difference).sum())
    assert limits.shortfall == pytest.approx(np.sqrt(noise.worst_variance(np.array(near))))


@pytest.mark.parametrize(
    ("smallest", "bins", "reach"), [(8_000, 12, 3.0), (1e6, 12, 3.717), (100, 200, 3.255)]
)
def test_from_where_on_a_sign_is_known(smallest: float, bins: int, reach: float) -> None:
    """The largest of 3, √log n and √(2 log m), written down: a sign that is known is not turned."""
    errors = np.full(bins, 0.01)
    for change, known in ((0.999, False), (1.001, True)):
        difference = np.zeros(bins)
        difference[0] = reach * 0.01 * change
        noise = NormalNoise(difference, np.diag(errors**2), np.inf)
        drawn = noise.draws(40, SharedNormals(np.random.default_rng(1)), "limits")[0].T
        limits = distance_limits(noise, smallest, 40, SharedNormals(np.random.default_rng(1)))
        turned = np.abs(drawn[:, 1:]).sum(axis=1) + (drawn[:, 0] if known else np.abs(drawn[:, 0]))
        np.testing.assert_allclose(limits.excess, np.sort(turned), rtol=1e-9)


@pytest.mark.parametrize("turned", [False, True])
def test_the_smaller_group_decides_whether_there_is_a_lower_limit(turned: bool) -> None:
    """Written down: 4 rows far from 300 have none, 5 have one, whichever group is named first."""
    score = np.r_[np.full(300, 0.1), np.full(5, 0.9)]
    names = np.where(np.arange(305) < 300, *(("b", "a") if turned else ("a", "b")))
    few, enough = (
        fs.madd(score[keep], sensitive_features=names[keep], n_resamples=99, rng=1, adjust="none")
        for keep in (np.arange(305) != 300, np.arange(305) >= 0)
    )
    assert few.comparisons[0].lower_limit == 0
    assert enough.comparisons[0].lower_limit > 1


def test_tiny_groups_give_no_lower_limit() -> None:
    noise = MultinomialNoise(np.array([1, 0]), np.array([0, 500]))
    limits = distance_limits(noise, 1, 499, SharedNormals(np.random.default_rng(1)))
    assert limits.estimate == 2.0
    assert limits.lower(0.975) == 0.0
    assert limits.upper(0.975) == 2.0


def test_scores_that_do_not_vary_still_have_an_upper_limit() -> None:
    noise = MultinomialNoise(np.array([100, 0]), np.array([100, 0]))
    limits = distance_limits(noise, 100, 499, SharedNormals(np.random.default_rng(1)))
    assert limits.lower(0.95) == 0.0
    assert limits.upper(0.95) == pytest.approx(1.6449 * np.sqrt(2 / 100), rel=1e-3)


def test_distant_groups_have_the_plain_delta_interval() -> None:
    """All signs known: ± z·√(Σ_g (1 − μ_g²)/n_g), which the bootstrap quantile meets within 2%."""
    noise = MultinomialNoise(np.array([800, 150, 50]), np.array([100, 300, 600]))
    limits = distance_limits(noise, 1000, 40_000, SharedNormals(np.random.default_rng(1)))
    signs = np.sign(noise.difference)
    spread = 1.96 * float(np.sqrt(signs @ multinomial_covariance(noise) @ signs))
    assert limits.upper(0.975) - limits.estimate == pytest.approx(spread, rel=0.01)
    assert limits.estimate - limits.lower(0.975) == pytest.approx(spread, rel=0.03)


def test_more_confidence_is_wider() -> None:
    rng = np.random.default_rng(1)
    noise = MultinomialNoise(
        rng.multinomial(300, np.full(9, 1 / 9)), rng.multinomial(200, np.full(9, 1 / 9))
    )
    limits = distance_limits(noise, 200, 999, SharedNormals(rng))
    levels = [0.6, 0.8, 0.9, 0.95, 0.99]
    assert np.all(np.diff([limits.upper(v) for v in levels]) > 0)
    assert np.all(np.diff([limits.lower(v) for v in levels]) <= 0)


def test_why_the_percentile_interval_is_not_offered() -> None:
    """Equal groups: the lower percentile limit always lies above the true distance 0."""
    assert percentile_of_equal_groups(250, 15, replicates=200, seed=1) == 0.0


def test_evidence_counts_the_observed_distance() -> None:
    """(1 + #)/(1 + B): never 0; and at most α exactly where the limit at 1 − α excludes the
    margin.
    """
    limits = DistanceLimits(0.5, np.sort(np.random.default_rng(3).exponential(0.05, 99)), 0.1, 20.0)
    assert limits.evidence(0.0).above == 0.01
    for margin in np.linspace(0.2, 0.5, 31):
        above = limits.evidence(margin).above
        for alpha in (0.05, 0.1):
            assert (above <= alpha) == (limits.lower(1 - alpha) > margin)


def test_bins_of_fewer_than_ten_rows_are_drawn_with_the_pooled_share() -> None:
    """By hand: a bin with 9 of 100 rows beside one of 30%, and one with 10."""
    for rows, laws in ((9, 2), (10, 1)):
        noise = MultinomialNoise(np.array([rows, 100 - rows]), np.array([300, 700]))
        found = noise.laws_of_groups
        assert found.shape == (laws, 2, 2)
        if laws == 2:
            assert found[1, 0, 0] == pytest.approx((rows + 300) / 1100)


def test_std_errors_are_the_larger_of_pooled_and_own() -> None:
    """By hand: 10 and 90 of 100 rows beside 500 and 500 of 1,000; a bin that one group misses."""
    noise = MultinomialNoise(np.array([10, 90, 0]), np.array([500, 480, 20]))
    own = [
        0.1 * 0.9 / 100 + 0.5 * 0.5 / 1000,
        0.9 * 0.1 / 100 + 0.48 * 0.52 / 1000,
        0.02 * 0.98 / 1000,
    ]
    pooled = [p * (1 - p) * (1 / 100 + 1 / 1000) for p in (510 / 1100, 570 / 1100, 20 / 1100)]
    assert pooled[2] > own[2]
    np.testing.assert_allclose(noise.std_errors(), np.sqrt(np.maximum(own, pooled)), rtol=1e-12)
