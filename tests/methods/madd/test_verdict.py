"""Verdicts of MADD: their p-values and limits say the same, families, and few distinct scores as
bins.

Witnesses: limits against p-values (two ways to one statement), Holm by statsmodels, counts by hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

import fairstats as fs
from fairstats.methods.madd.noise import MultinomialNoise, NormalNoise, distance_limits, noise_of
from fairstats.methods.madd.scores import Sample
from fairstats.numerics.draws import SharedNormals


@pytest.mark.parametrize("seed", range(30))
def test_p_is_at_most_alpha_exactly_where_the_limit_excludes_the_margin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    laws = rng.dirichlet(np.ones(4), 2)
    counts = [
        rng.multinomial(int(n), law) for n, law in zip(rng.integers(6, 300, 2), laws, strict=True)
    ]
    limits = distance_limits(MultinomialNoise(*counts), 50, 199, SharedNormals(rng))
    for margin in (0.05, 0.2, 0.5, 1.0, limits.estimate):
        evidence = limits.evidence(margin)
        for level in (0.8, 0.9, 0.95, 0.99):
            assert (evidence.above <= 1 - level + 1e-12) == (limits.lower(level) > margin)
            assert (evidence.inside <= 1 - level) == (limits.upper(level) < margin)


def test_tiny_groups_show_nothing_but_what_the_upper_limit_shows() -> None:
    noise = NormalNoise(np.array([0.1, -0.1]), np.full((2, 2), 0.01), 1.0)
    evidence = distance_limits(noise, 3, 99, SharedNormals(np.random.default_rng(1))).evidence(0.2)
    assert (evidence.above, evidence.inside) == (1.0, 1.0)


class _Asked:
    """Noise that keeps which bins it was told lie near 0."""

    linearised = False
    degrees_of_freedom = np.inf

    def __init__(self, difference: np.ndarray) -> None:
        self.difference = difference
        self.near = np.empty(0)

    def std_errors(self) -> np.ndarray:
        return np.ones(self.difference.size)

    def draws(self, n_resamples: int, normals: SharedNormals, purpose: str) -> np.ndarray:
        return np.zeros((1, self.difference.size, n_resamples))

    def worst_variance(self, near: np.ndarray) -> float:
        self.near = near
        return 1.0


@pytest.mark.parametrize(
    ("n_bins", "smallest", "kappa"),
    [
        pytest.param(4, 100, 3.0, id="at least 3"),
        pytest.param(4, np.exp(16.0), 4.0, id="root of log n"),
        pytest.param(1000, 100, np.sqrt(2 * np.log(1000)), id="root of 2 log m"),
    ],
)
def test_which_bins_may_be_alike(n_bins: int, smallest: float, kappa: float) -> None:
    """|.| is kept for bins within κ standard errors of 0, on both sides, and for no other."""
    difference = np.zeros(n_bins)
    difference[:4] = np.array([0.999, -0.999, 1.001, -1.001]) * kappa
    noise = _Asked(difference)
    distance_limits(noise, smallest, 99, SharedNormals(np.random.default_rng(1)))  # type: ignore[arg-type]
    assert noise.near.tolist() == [True, True, False, False, *[True] * (n_bins - 4)]


def test_verdicts_hold_together() -> None:
    rng = np.random.default_rng(3)
    group = np.repeat(list("abcd"), 600)
    score = np.concatenate([rng.beta(2, 3, 1200), rng.beta(2.6, 3, 600), rng.beta(3, 2, 600)])
    result = fs.madd(score, sensitive_features=group, n_bins=8, rng=1)
    alone = fs.madd(score, sensitive_features=group, n_bins=8, rng=1, adjust="none")
    raw = [c.pvalue_verdict for c in result.comparisons]
    adjusted = [c.pvalue_verdict_adjusted for c in result.comparisons]
    assert adjusted == pytest.approx(multipletests(raw, method="holm")[1])
    assert raw == [c.pvalue_verdict_adjusted for c in alone.comparisons]
    for together, single in zip(result.comparisons, alone.comparisons, strict=True):
        low, high = single.bounds
        shown = "violated" if low > 0.2 else "satisfied" if high < 0.2 else "undecided"
        assert (single.verdict, single.bounds.confidence_level) == (shown, 0.95)
        assert together.verdict in (shown, "undecided")
    assert {"violated", "undecided"} <= set(result.verdict)
    largest = result.largest
    assert largest is not None
    assert largest.pvalue_verdict == min(6 * min(raw), 1)
    assert (
        (largest.pvalue_verdict <= 0.05)
        == (largest.bounds.low > 0.2)
        == (largest.verdict == "violated")
    )


def test_the_rows_that_are_judged_show_what_is_judged() -> None:
    rng = np.random.default_rng(4)
    score = rng.random(300)
    group = np.repeat(["a", "b"], 150)
    (row,) = fs.madd(score, sensitive_features=group, rng=1).rows()
    asked = fs.madd(score, sensitive_features=group, grid_bins=row["n_bins"], n_bins=30, rng=1)
    assert (row["estimate"], row["ci_low"], row["pvalue"]) == (
        asked.estimate,
        asked.confidence_interval.low,
        asked.pvalue,
    )
    assert row["headline"] != asked.headline
    ranks = (
        np.argsort(np.argsort(score)) + 0.5
    ) / 300  # pooled mid-ranks in equal bins are the same rows
    by_rank = fs.madd(ranks, sensitive_features=group, n_bins=row["n_bins"], rng=1)
    assert (by_rank.estimate, by_rank.null_mean) == (row["estimate"], row["null_mean"])
    assert row["ci_low"] <= row["estimate"] <= row["ci_high"]


def test_few_scores_are_the_bins() -> None:
    """Counted by hand: shares .2, .5, .3 against .5, .2, .3."""
    score = np.repeat([0.31, 0.32, 0.9, 0.31, 0.32, 0.9], [20, 50, 30, 50, 20, 30])
    result = fs.madd(score, sensitive_features=np.repeat(["a", "b"], 100), rng=1)
    (c,) = result.comparisons
    assert (c.grid_bins, c.atoms.tolist(), c.estimate) == (3, [0.31, 0.32, 0.9], pytest.approx(0.6))
    assert c.edges == pytest.approx([0.315, 0.61])
    table = result.contributions()
    assert table["contribution"].to_numpy() == pytest.approx([-0.3, 0.3, 0.0])
    assert table["low"].tolist() == table["high"].tolist() == [0.31, 0.32, 0.9]
    assert "3 distinct scores" in result.sentences()[0]
    again = fs.madd(score, sensitive_features=np.repeat(["b", "a"], 100), rng=1)
    assert again.comparisons[0].grid_bins == 3
    given = fs.madd(score, sensitive_features=np.repeat(["a", "b"], 100), grid_bins=2, rng=1)
    assert given.comparisons[0].atoms is None
    assert given.comparisons[0].edges == pytest.approx(
        [0.61]
    )  # half of the rows lie at .31 and .32
    assert given.estimate == pytest.approx(0.0)


@pytest.mark.parametrize("step", [0.1, 0.01, 0.002])
@pytest.mark.parametrize("bins", [None, 4])
def test_groups_without_a_common_score_are_never_shown_alike(step: float, bins: int | None) -> None:
    """Neighbouring marks of one scale: in coarse bins the groups look the same."""
    marks = np.arange(0, 1 - step / 2, step)
    score = np.tile(marks, 4_000 // marks.size)
    group = np.where(np.tile(np.arange(marks.size) % 2, 4_000 // marks.size) == 0, "even", "odd")
    result = fs.madd(score, sensitive_features=group, grid_bins=bins, rng=1)
    assert result.verdict != "satisfied"
    assert result.comparisons[0].bounds.high == 2.0
    assert "no score in common" in result.comparisons[0].note


def test_many_comparisons_can_be_settled() -> None:
    """105 pairs of 15 groups: the smallest p-value has to reach 5% of 105."""
    rng = np.random.default_rng(5)
    group = np.repeat([f"g{k:02}" for k in range(15)], 200)
    score = np.where(group == "g03", rng.beta(9, 1, group.size), rng.beta(2, 3, group.size))
    result = fs.madd(score, sensitive_features=group, n_bins=5, n_resamples=199, rng=1)
    judged = {(c.group, c.reference): c.verdict for c in result.comparisons}
    assert {pair for pair, verdict in judged.items() if verdict == "violated"} == {
        pair for pair in judged if "g03" in pair
    }
    assert result.largest is not None
    assert result.largest.verdict == "violated"


@pytest.mark.parametrize("adjust", ["holm", "bonferroni", "sidak", "hommel", "fdr_bh", "none"])
def test_every_adjustment_of_p_1(adjust: str) -> None:
    """A p-value of 1 has no logarithm of its complement; warnings are errors."""
    score = np.tile([0.1, 0.4, 0.8], 60)
    result = fs.madd(score, sensitive_features=np.repeat(list("abc"), 60), adjust=adjust, rng=1)
    assert [c.pvalue for c in result.comparisons] == [1.0] * 3
    assert [c.pvalue_adjusted for c in result.comparisons] == pytest.approx([1.0] * 3)


def test_the_smaller_group_gives_the_degrees_of_freedom() -> None:
    scores = np.linspace(0, 1, 40)
    sides = [Sample(scores, None, np.repeat(np.arange(k), 40 // k) + 100 * k) for k in (4, 20)]
    assert noise_of(sides[0], sides[1], np.array([0.5])).degrees_of_freedom == 3


def test_the_largest_is_shown_small_only_where_all_are() -> None:
    """Two large groups alike, and one of 30 rows that settles nothing."""
    score = np.concatenate([np.tile([0.2, 0.7], 2_000), np.tile([0.2, 0.7], 15)])
    group = np.repeat(["a", "b", "c"], [2_000, 2_000, 30])
    result = fs.madd(score, sensitive_features=group, rng=1)
    assert result.verdict == ("satisfied", "undecided", "undecided")
    assert result.largest is not None
    assert result.largest.verdict == "undecided"


def test_groups_that_share_no_score_are_violated() -> None:
    """D10: once "satisfied", with a binned distance of 0, p = 1 and a headline of 1.973.

    Two groups without a common score have all of each in other bins of the pooled quantiles but the
    one between them: 2 · (1 − 1/5) of five bins or more. Nor do low scores hide a shift: a mean
    of 1.6 %, and a shift of .7 logits.
    """
    rng = np.random.default_rng(1)
    group = np.repeat(["a", "b"], 500)
    apart = np.r_[rng.uniform(0.94, 0.96, 500), rng.uniform(0.97, 0.99, 500)]
    result = fs.madd(apart, sensitive_features=group, rng=1)
    assert result.verdict == "violated"
    assert result.pvalue < 0.001
    assert result.estimate >= 1.6
    for _ in range(3):
        logit = -4.6 + 0.5 * rng.normal(size=1_000) + np.repeat([0.0, 0.7], 500)
        low = 1 / (1 + np.exp(-logit))
        assert low.mean() < 0.02
        assert fs.madd(low, sensitive_features=group, rng=1).verdict == "violated"


def test_a_row_of_small_alike_groups_is_of_one_quantity() -> None:
    """D11: once an estimate of 1.912 beside an interval from 0 to .634."""
    group = np.repeat(["a", "b"], 25)
    for seed in range(5):
        score = np.random.default_rng(seed).uniform(size=50)
        result = fs.madd(score, sensitive_features=group, rng=1)
        interval = result.confidence_interval
        assert interval.low <= result.estimate <= interval.high
        # 5 bins at most 5 a group: the mean distance of alike groups is about .45
        assert result.estimate < 1.0
        assert result.verdict != "violated"


@pytest.mark.filterwarnings("ignore::fairstats.FairstatsWarning")
@pytest.mark.parametrize(
    ("score", "group", "options"),
    [
        (
            np.r_[np.linspace(0, 1, 30), np.full(40, 0.97)],
            np.repeat(["a", "b", "c"], [30, 20, 20]),
            {"sample_weight": np.tile([1, 2], 35)},
        ),
        (
            np.ones(300),
            np.repeat(["a", "b", "c"], 100),
            {"sample_weight": np.tile([1, 2], 150), "bandwidth": 0.5},
        ),
    ],
    ids=["a pile of scores", "one score"],
)
def test_weights_that_leave_no_shortfall_are_answered(
    score: np.ndarray, group: np.ndarray, options: dict[str, Any]
) -> None:
    """D12: once ZeroDivisionError. By hand: a score that all share lies at a distance of 0."""
    result = fs.madd(score, sensitive_features=group, **options, n_resamples=199, rng=1)
    assert result.largest is not None
    pvalues = [c.pvalue for c in result.comparisons]
    assert all(0 < p <= 1 for p in pvalues)
    distances = [c.estimate for c in result.comparisons]
    if np.ptp(score) == 0:
        assert distances == [0.0] * 3
        assert pvalues == [1.0] * 3
    else:
        # all of b and c have the pile's score, of a none but the last one
        of_groups = {frozenset((c.group, c.reference)): c.estimate for c in result.comparisons}
        assert of_groups[frozenset("bc")] == 0
        assert of_groups[frozenset("ab")] == of_groups[frozenset("ac")] > 1.5


def test_a_bound_stands_for_draws_that_are_too_few() -> None:
    """McDiarmid by hand: exp(−t²/(2σ²)), t beyond the mean of the draws, σ² = 1/n0 + 1/n1; p is at
    most α exactly where the limit excludes the margin.
    """
    noise = MultinomialNoise(np.array([300, 100, 100]), np.array([100, 200, 300]))
    limits = distance_limits(noise, 500, 199, SharedNormals(np.random.default_rng(1)), bounded=True)
    scale = np.sqrt(1 / 500 + 1 / 600)
    reach = limits.excess.mean() + scale * np.sqrt(2 * np.log(1e6))
    assert limits.lower(1 - 1e-6) == pytest.approx(limits.estimate - reach, rel=1e-9)
    beyond = limits.estimate - 0.2 - limits.excess.mean()
    assert limits.evidence(0.2).above == pytest.approx(np.exp(-((beyond / scale) ** 2) / 2))
    for level in (1e-4, 1e-5, 1e-6):
        assert limits.evidence(limits.lower(1 - level) - 1e-9).above < level
        assert limits.evidence(limits.lower(1 - level) + 1e-9).above > level
    plain = distance_limits(noise, 500, 199, SharedNormals(np.random.default_rng(1)))
    assert plain.lower(1 - 1e-6) == 0
    assert plain.evidence(0.2).above == 1 / 200
