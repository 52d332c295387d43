"""ABROCA. Witnesses: scikit-learn's curves integrated on a fine grid, closed forms, differences of
AUC.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.metrics import roc_auc_score, roc_curve
from statsmodels.stats.multitest import multipletests

import fairstats as fs
from fairstats.ground.errors import DataWarning
from fairstats.ground.outcomes import Outcomes
from fairstats.ground.scores import ScoreCounts
from fairstats.methods.rates.abroca import hidden_by_rows
from fairstats.methods.rates.curve_noise import (
    CurveDraws,
    Grid,
    locate_among_negatives,
    no_draw_moves,
)
from fairstats.methods.rates.own_scores import OwnScores
from fairstats.methods.rates.roc import FALSE_POSITIVE_GRID, RocCurve, area_between, roc_on_grid
from fairstats.numerics.paired.distance import AucGap, auc_variance

#: A score of each label in each group, and as many more as wanted; few values, so that there are
#: ties.
ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 10), st.sampled_from("ab")), max_size=80
).map(lambda rows: [*rows, (0, 2, "a"), (1, 5, "a"), (0, 3, "b"), (1, 3, "b")])


def columns(rows: list[tuple[int, int, str]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    y, score, g = zip(*rows, strict=True)
    return np.array(y), np.array(score) / 10, np.array(g)


def curve(y: np.ndarray, score: np.ndarray) -> RocCurve:
    values, place = np.unique(score, return_inverse=True)
    counts = [np.bincount(place[y == label], minlength=values.size) for label in (0, 1)]
    return RocCurve._from_counts(counts[0], counts[1])


def sklearn_area(y: np.ndarray, score: np.ndarray, g: np.ndarray, grid: np.ndarray) -> float:
    """∫|ROC_a − ROC_b| by the midpoint rule over scikit-learn's curves."""
    at = []
    for group in "ab":
        fpr, tpr, _ = roc_curve(y[g == group], score[g == group], drop_intermediate=False)
        # At a jump `interp` takes the upper or lower end: of no weight under a midpoint rule off
        # the knots.
        at.append(np.interp(grid, fpr, tpr))
    return float(np.mean(np.abs(at[0] - at[1])))


@settings(max_examples=60)
@given(ROWS)
def test_area_as_scikit_learn_on_a_fine_grid(rows: list[tuple[int, int, str]]) -> None:
    """200,000 midpoints; the integrand has at most 20 jumps and slopes ≤ 80: error below 1e-4."""
    y, score, g = columns(rows)
    grid = (np.arange(200_000) + 0.5) / 200_000
    found = area_between(curve(y[g == "a"], score[g == "a"]), curve(y[g == "b"], score[g == "b"]))
    assert found == pytest.approx(sklearn_area(y, score, g, grid), abs=2e-4)


@settings(max_examples=60)
@given(ROWS)
def test_auc_as_scikit_learn(rows: list[tuple[int, int, str]]) -> None:
    y, score, g = columns(rows)
    for group in "ab":
        part = g == group
        assert curve(y[part], score[part]).auc == pytest.approx(
            roc_auc_score(y[part], score[part]), abs=1e-12
        )


@settings(max_examples=60)
@given(ROWS)
def test_area_is_a_distance_above_the_difference_of_aucs(rows: list[tuple[int, int, str]]) -> None:
    y, score, g = columns(rows)
    a, b = (curve(y[g == group], score[g == group]) for group in "ab")
    found = area_between(a, b)
    assert found == pytest.approx(area_between(b, a), abs=1e-14)
    assert area_between(a, a) == 0
    assert abs(a.auc - b.auc) - 1e-12 <= found <= 1


def test_areas_known_in_closed_form() -> None:
    perfect, diagonal, worst = (
        RocCurve._from_counts(np.array(n), np.array(p))
        for n, p in (([4, 0], [0, 3]), ([4], [3]), ([0, 4], [3, 0]))
    )
    assert area_between(perfect, diagonal) == pytest.approx(0.5)
    assert area_between(perfect, worst) == pytest.approx(1.0)
    # (0,0)–(½,1)–(1,1) against (0,0)–(½,0)–(1,1): two triangles of ¼… the area between them is ½.
    upper = RocCurve._from_counts(np.array([2, 2]), np.array([0, 5]))
    lower = RocCurve._from_counts(np.array([2, 2]), np.array([5, 0]))
    assert area_between(upper, lower) == pytest.approx(0.5)
    # Crossing at (½, ½): (0,0)–(0,½)–(1,½)–(1,1) against the diagonal, two triangles of ⅛.
    crossing = RocCurve._from_counts(np.array([0, 4, 0]), np.array([2, 0, 2]))
    assert area_between(crossing, diagonal) == pytest.approx(0.25)


# ---------------------------------------------------------------- the public function


def sample(
    rng: np.random.Generator, n: int, shift: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Normal scores squeezed into (0, 1); the positives of group b lie `shift` lower."""
    y = rng.integers(0, 2, n)
    g = np.tile(["a", "b"], n // 2)
    z = rng.standard_normal(n) + y * (1.0 - shift * (g == "b"))
    return y, 1 / (1 + np.exp(-z)), g


def test_the_result(rng: np.random.Generator) -> None:
    y, score, g = sample(rng, 600, 0.6)
    result = fs.abroca(y, score, sensitive_features=g, reference="a", n_resamples=299, rng=4)
    grid = (np.arange(200_000) + 0.5) / 200_000
    assert result.estimate == pytest.approx(sklearn_area(y, score, g, grid), abs=1e-4)
    comparison = result.comparisons[0]
    assert comparison.rate == pytest.approx(roc_auc_score(y[g == "b"], score[g == "b"]), abs=1e-12)
    assert comparison.rate_reference == pytest.approx(
        roc_auc_score(y[g == "a"], score[g == "a"]), abs=1e-12
    )
    low, high = result.confidence_interval
    assert 0 <= low < result.estimate < high <= 1
    assert 0 < result.expected_if_equal[0] < result.estimate
    assert result.pvalue < 0.05
    assert result.settings.seed == 4


def test_only_the_order_of_the_scores_counts(rng: np.random.Generator) -> None:
    y, score, g = sample(rng, 300, 0.5)
    first = fs.abroca(y, score, sensitive_features=g, n_resamples=100, rng=1)
    other = fs.abroca(y, score**3, sensitive_features=g, n_resamples=100, rng=1)
    assert other.estimate == pytest.approx(first.estimate, abs=1e-14)
    assert other.confidence_interval == first.confidence_interval


def test_the_seed_and_the_reference(rng: np.random.Generator) -> None:
    y, score, g = sample(rng, 200, 0.5)
    options: dict[str, Any] = {"sensitive_features": g, "n_resamples": 199}
    first = fs.abroca(y, score, rng=1, **options)
    assert first.confidence_interval == fs.abroca(y, score, rng=1, **options).confidence_interval
    assert first.confidence_interval != fs.abroca(y, score, rng=2, **options).confidence_interval
    swapped = [fs.abroca(y, score, reference=r, rng=1, **options) for r in "ab"]
    assert swapped[0].estimate == pytest.approx(swapped[1].estimate, abs=1e-14)
    # The same draws with the opposite sign.
    assert tuple(swapped[0].confidence_interval) == pytest.approx(
        tuple(swapped[1].confidence_interval), abs=1e-12
    )


def test_many_groups_and_all_pairs(rng: np.random.Generator) -> None:
    y, score, _ = sample(rng, 300, 0.0)
    g = np.tile(["a", "b", "c"], 100)
    result = fs.abroca(y, score, sensitive_features=g, comparisons="all", n_resamples=100, rng=1)
    assert [(c.group, c.reference) for c in result.comparisons] == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]
    frame = result.to_frame()
    assert (frame["pvalue_adjusted"] >= frame["pvalue"]).all()
    assert frame["expected_if_equal"].between(0, 0.2).all()


def test_a_pooled_sample_split_at_random_is_what_equal_curves_show(
    rng: np.random.Generator,
) -> None:
    """`expected_if_equal` against the mean area of 200 random splits.

    Four standard errors of that mean.
    """
    y, score, _ = sample(rng, 400, 0.0)
    areas = []
    for _ in range(200):
        g = rng.permutation(np.tile(["a", "b"], 200))
        areas.append(area_between(*(curve(y[g == k], score[g == k]) for k in "ab")))
    result = fs.abroca(
        y, score, sensitive_features=np.tile(["a", "b"], 200), n_resamples=400, rng=1
    )
    # The bootstrap of two fixed curves stands for the split of one: 10% for that.
    assert result.expected_if_equal[0] == pytest.approx(
        np.mean(areas), rel=0.1, abs=4 * np.std(areas) / np.sqrt(200)
    )


@pytest.mark.parametrize("rows", [10, 29, 30])
@pytest.mark.parametrize("kind", ["separated", "reversed", "all equal"])
def test_without_noise_the_limit_is_that_of_the_rows(kind: str, rows: int) -> None:
    """Witness: (1 − d/2)²ᵏ = .05 solved for d, which is .095 < .1 from k = 30 on."""
    y = np.repeat([0, 1, 0, 1], [rows, 70, 50, 40])
    score = {"separated": 0.3 + 0.4 * y, "reversed": 0.7 - 0.4 * y, "all equal": 0.5 + 0.0 * y}[
        kind
    ]
    g = np.repeat(["a", "b"], [rows + 70, 90])
    with pytest.warns(DataWarning, match=rf"shows no noise\. {rows} rows of a label"):
        result = fs.abroca(y, score, sensitive_features=g, n_resamples=199, rng=1)
    (c,) = result.comparisons
    assert c.estimate == 0
    assert tuple(c.confidence_interval) == pytest.approx(
        (0, 2 - 2 * 0.05 ** (0.5 / rows)), rel=1e-12
    )
    assert c.pvalue == 1
    assert c.pvalue_verdict == pytest.approx(max(0.95 ** (2 * rows), 1 / 200), rel=1e-12)
    assert c.verdict == ("satisfied" if rows == 30 else "undecided")
    assert np.isnan(c.std_error)


def test_one_perfect_group_and_a_group_with_errors() -> None:
    """Its rows count where the other group shows noise, too.

    With an error in each nothing is said.
    """
    y = np.repeat([0, 1, 0, 1], [40, 10, 300, 200])
    score = 0.3 + 0.4 * y
    g = np.repeat(["a", "b"], [50, 500])
    score[60] = 0.9
    with pytest.warns(DataWarning, match="^abroca: a: the scores separate"):
        (c,) = fs.abroca(y, score, sensitive_features=g, n_resamples=199, rng=1).comparisons
    assert c.std_error > 0
    assert c.confidence_interval.high - c.estimate == pytest.approx(2 - 2 * 0.05**0.05, rel=1e-12)
    score[0] = 0.9
    (c,) = fs.abroca(y, score, sensitive_features=g, n_resamples=199, rng=1).comparisons
    assert not c.note


@pytest.mark.slow
def test_limits_cover_where_most_samples_are_perfect() -> None:
    """Of 20 positives each 5% may lie below all negatives, in group b never: an area of .05, and
    36% of the samples show none. 300 samples: [0, 0] of those covered .64; three standard errors
    below .95 are .91."""
    rng = np.random.default_rng(8)
    held = 0
    y = np.repeat([0, 1, 0, 1], [40, 20, 60, 60])
    g = np.repeat(["a", "b"], [60, 120])
    for run in range(300):
        low = (rng.random(180) < 0.05) & (y == 1) & (g == "a")
        score = np.where(low, 0.1, 0.3 + 0.4 * y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            interval = fs.abroca(
                y, score, sensitive_features=g, n_resamples=100, rng=run
            ).confidence_interval
        held += interval.low <= 0.05 <= interval.high
    assert held / 300 > 0.91


def wrong_labels(bad: int, other: int = 400) -> Any:
    """40 rows of either label in group a, of which `bad` positives lie below all negatives.

    b is perfect.
    """
    y = np.repeat([0, 1, 0, 1], [40, 40, other, other])
    score = 0.3 + 0.4 * y
    score[40 : 40 + bad] = 0.1
    group = np.repeat(["a", "b"], [80, 2 * other])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return fs.abroca(y, score, sensitive_features=group, n_resamples=999, rng=1).comparisons[0]


@pytest.mark.parametrize("bad", [1, 2, 3, 5])
def test_few_wrong_labels_have_clopper_and_pearsons_limit(bad: int) -> None:
    """Witness: SciPy's exact upper limit of x of 40, one-sided.

    Draws reach to 3 where it is 4.7.
    """
    c = wrong_labels(bad)
    assert c.estimate == pytest.approx(bad / 40, rel=1e-12)
    end = stats.binomtest(bad, 40).proportion_ci(0.9, method="exact").high
    assert c.confidence_interval.high == pytest.approx(end, rel=1e-9)


def test_limits_cover_where_few_labels_are_wrong() -> None:
    """Exact by the binomial law of the wrong labels.

    4.2 expected of 40 covered .79 by draws, 6 .94.
    """
    limits = np.array([wrong_labels(bad).confidence_interval.high for bad in range(14)])
    for expected in (3.1, 4.2, 5, 6):
        law = stats.binom(40, expected / 40).pmf(np.arange(14))
        assert law[limits < expected / 40].sum() < 0.05


def test_the_variance_of_an_auc_is_that_of_exponential_scores() -> None:
    """Hanley and McNeil's Q₁ = θ/(2 − θ) and Q₂ = 2θ²/(1 + θ), both labels counted alike."""
    n = 20.0
    m = 30.0
    auc = 0.8
    first = auc / (2 - auc) - auc**2
    second = 2 * auc**2 / (1 + auc) - auc**2
    witness = (auc * (1 - auc) + 24 * first + 24 * second) / (n * m)
    assert auc_variance(auc, n, m) == pytest.approx(witness, rel=1e-12)
    assert auc_variance(auc, np.inf, np.inf) == 0


@pytest.mark.parametrize("auc", [0.45, 0.8, 0.97])
def test_the_limit_of_one_auc_is_newcombes(auc: float) -> None:
    """Beside a known AUC of .99 with 20 rows a label.

    θ with θ̂ − θ = 1.96·√V(θ), V no lower than up to .5.
    """
    gap = AucGap(auc, 0.99, (20.0, 20.0), (np.inf, np.inf))
    z = norm.ppf(0.975)

    def lacks(theta: float) -> float:
        at = min(max(theta, 0.5), auc)
        return auc - theta - z * np.sqrt(auc_variance(at, 20.0, 20.0))

    low = brentq(lacks, -1.0, auc)
    assert gap.upper(0.05) == pytest.approx(0.99 - low, abs=1e-9)
    assert gap.pvalue(gap.upper(0.05)) == pytest.approx(0.05, abs=1e-9)
    assert gap.pvalue(0.99 - auc) == 1.0
    # nothing is known of one label of a single row beside it: no limit below 1; and none above what
    # is known
    assert AucGap(0.3, 0.99, (2.0, 2.0), (2.0, 2.0)).upper(0.01) == 1.0
    assert AucGap(0.5, 0.7, (np.inf, np.inf), (np.inf, np.inf)).upper(0.05) == pytest.approx(0.2)


@pytest.mark.slow
def test_limits_beside_a_nearly_perfect_curve() -> None:
    """20 rows a label, AUC .8, beside 200 of .99, 100 samples: 2.5% + 3 errors.

    7.5% lay above before.
    """
    rng = np.random.default_rng(6)
    above = 0
    shift = np.sqrt(2) * norm.ppf([0.8, 0.99])
    truth = 0.99 - 0.8
    for _ in range(100):
        z = np.concatenate(
            [
                np.r_[rng.normal(size=n), rng.normal(d, 1, n)]
                for n, d in zip((20, 200), shift, strict=True)
            ]
        )
        y = np.concatenate([np.repeat([0, 1], n) for n in (20, 200)])
        g = np.repeat(["a", "b"], [40, 400])
        (c,) = fs.abroca(
            y, norm.cdf(z / 2), sensitive_features=g, rng=rng, n_resamples=199, margin=truth
        ).comparisons
        above += c.confidence_interval.high < truth
        assert (c.verdict == "satisfied") == (c.confidence_interval.high < truth)
    assert above <= 7


@pytest.mark.parametrize("reverse", [False, True])
def test_misplaced_rows_of_a_curve(rng: np.random.Generator, reverse: bool) -> None:
    """Witness: every pair of rows compared, ties half; reversed scores have the same errors."""
    y = np.repeat([0, 1], [30, 50])
    score = (rng.normal(0, 1, 80) + 2 * y).round(1) * (-1 if reverse else 1)
    wrong = np.sign(score[y == 0][:, None] - score[y == 1][None]) / 2 + 0.5
    wrong = 1 - wrong if reverse else wrong
    for k, (mean, square) in enumerate(curve(y, score).misplaced):
        shares = wrong.mean(axis=1 - k)
        assert (mean, square) == pytest.approx((shares.mean(), (shares**2).mean()), rel=1e-12)


def test_more_values_than_bins(rng: np.random.Generator) -> None:
    """The bootstrap merges scores into 1,000 bins; the estimate stays exact."""
    y, score, g = sample(rng, 6_000, 0.3)
    assert np.unique(score).size > 2_048
    result = fs.abroca(y, score, sensitive_features=g, n_resamples=100, rng=1)
    wanted = area_between(*(curve(y[g == k], score[g == k]) for k in "ba"))
    assert result.estimate == pytest.approx(wanted, abs=1e-12)
    low, high = result.confidence_interval
    assert low < wanted < high


# ---------------------------------------------------------------- noise, p-values and limits


@settings(max_examples=40)
@given(ROWS)
def test_curves_on_a_grid_as_one_by_one(rows: list[tuple[int, int, str]]) -> None:
    """All curves of one search, from counts and from shares, against scikit-learn's.

    Off their jumps.
    """
    y, score, _ = columns(rows)
    values, place = np.unique(score, return_inverse=True)
    counts = [np.bincount(place[y == label], minlength=values.size) for label in (0, 1)]
    twice = [np.stack([c, c[::-1]]) for c in counts]
    found = roc_on_grid(*twice)
    shares = roc_on_grid(*(c / c.sum(axis=1, keepdims=True) for c in twice))
    for row, of_shares, s in zip(found, shares, (score, -score), strict=True):
        fpr, tpr, _ = roc_curve(y, s, drop_intermediate=False)
        off = np.abs(FALSE_POSITIVE_GRID[:, None] - fpr).min(axis=1) > 1e-9
        for one in (row, of_shares):
            np.testing.assert_allclose(
                one[off], np.interp(FALSE_POSITIVE_GRID, fpr, tpr)[off], atol=1e-12
            )


def test_p_values_and_limits_speak_with_one_voice() -> None:
    """p ≤ α exactly where the limit excludes the value: of equality, and of both verdicts."""
    seen = set()
    for seed in range(60):
        y, score, g = sample(np.random.default_rng(seed), 160, (seed % 4) * 0.6)
        result = fs.abroca(
            y, score, sensitive_features=g, reference="a", margin=0.15, n_resamples=199, rng=seed
        )
        (c,) = result.comparisons
        assert (c.pvalue <= 0.05) == (c.confidence_interval.low > 0)
        shown = {"above": c.bounds.low > 0.15, "inside": c.bounds.high < 0.15}[c.direction]
        assert (c.pvalue_verdict <= 0.05) == shown
        assert c.verdict == (
            "undecided" if not shown else {"above": "violated", "inside": "satisfied"}[c.direction]
        )
        assert tuple(c.bounds) == tuple(c.confidence_interval)
        assert c.bounds.confidence_level == 0.95
        seen.add((c.direction, c.verdict, c.pvalue <= 0.05))
    assert len(seen) >= 3


def test_the_limits_at_any_level_are_those_of_the_p_values(rng: np.random.Generator) -> None:
    """The ends of the interval at level p̂ from both sides.

    1 − p of the estimate brings the limit to 0.
    """
    y, score, g = sample(rng, 300, 0.7)
    options: dict[str, Any] = {
        "sensitive_features": g,
        "reference": "a",
        "n_resamples": 399,
        "rng": 3,
    }
    p = fs.abroca(y, score, **options).pvalue
    assert 0 < p < 0.4
    assert fs.abroca(y, score, confidence_level=1 - p - 1e-3, **options).confidence_interval.low > 0
    assert (
        fs.abroca(y, score, confidence_level=1 - p + 1e-3, **options).confidence_interval.low == 0
    )


def test_with_few_draws_a_high_level_is_no_answer(rng: np.random.Generator) -> None:
    y, score, g = sample(rng, 200, 2.0)
    options: dict[str, Any] = {"sensitive_features": g, "n_resamples": 100, "rng": 1}
    assert tuple(fs.abroca(y, score, confidence_level=0.995, **options).confidence_interval) == (
        0,
        1,
    )
    assert fs.abroca(y, score, confidence_level=0.98, **options).confidence_interval.low > 0


def test_the_standard_error_is_that_of_the_estimate() -> None:
    """Against the spread of the estimate over 300 samples with far-apart curves: 12% for 300
    samples and for the bootstrap. The spread of the noise alone is half of that."""
    areas = []
    errors = []
    for seed in range(300):
        y, score, g = sample(np.random.default_rng(seed), 300, 1.2)
        areas.append(area_between(*(curve(y[g == k], score[g == k]) for k in "ab")))
        if seed < 40:
            errors.append(
                fs.abroca(y, score, sensitive_features=g, n_resamples=150, rng=seed).std_error
            )
    assert np.mean(errors) == pytest.approx(np.std(areas), rel=0.12)


def test_groups_of_other_scores_with_one_curve_are_alike(rng: np.random.Generator) -> None:
    """Exchange is by place among the negatives.

    Any monotone change of one group's scores changes nothing.
    """
    y, score, g = sample(rng, 200, 0.4)
    shifted = np.where(g == "b", 0.2 * score, 0.7 + 0.3 * score**2)
    options: dict[str, Any] = {"sensitive_features": g, "n_resamples": 199, "rng": 1}
    first, other = (fs.abroca(y, s, **options) for s in (score, shifted))
    assert other.pvalue == first.pvalue
    assert tuple(other.confidence_interval) == pytest.approx(
        tuple(first.confidence_interval), abs=1e-12
    )
    assert other.std_error == pytest.approx(first.std_error, abs=1e-12)


def test_exchange_is_within_labels(rng: np.random.Generator) -> None:
    """The law of `expected_if_equal` is that of the permutation test: drawn here row by row."""
    y, score, g = sample(rng, 120, 0.0)
    place = np.empty(120)
    for k in "ab":
        negatives = np.sort(score[(g == k) & (y == 0)])
        left, right = (
            np.searchsorted(negatives, score[g == k], side) for side in ("left", "right")
        )
        place[g == k] = (left + right) / 2 / negatives.size
    areas = []
    for _ in range(600):
        mixed = g.copy()
        for label in (0, 1):
            mixed[y == label] = rng.permutation(mixed[y == label])
        areas.append(area_between(*(curve(y[mixed == k], place[mixed == k]) for k in "ab")))
    found = fs.abroca(y, score, sensitive_features=g, n_resamples=600, rng=1).expected_if_equal[0]
    assert found == pytest.approx(np.mean(areas), abs=4 * np.std(areas) * np.sqrt(2 / 600))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:abroca.*separate:fairstats.ground.errors.DataWarning")
def test_size_with_ten_positives_beside_a_hundred() -> None:
    """200 samples of equal curves at an AUC of .9, where the bootstrap alone rejects .13: with
    that, fewer than 12 of 200 come once in 2,000 times."""
    rejected = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1, 0, 1], [40, 10, 200, 100])
        g = np.repeat(["a", "b"], [50, 300])
        score = norm.cdf(rng.standard_normal(350) + 1.81 * y)
        rejected += (
            fs.abroca(y, score, sensitive_features=g, n_resamples=100, rng=seed).pvalue <= 0.05
        )
    assert rejected / 200 < 0.06


def test_verdicts_are_over_all_groups(rng: np.random.Generator) -> None:
    y, score, _ = sample(rng, 1_200, 0.0)
    g = np.tile(["a", "b", "c", "d"], 300)
    score = np.where((g == "b") & (y == 1), score * 0.93, score)
    options: dict[str, Any] = {"sensitive_features": g, "reference": "a", "margin": 0.12, "rng": 1}
    family, alone = (fs.abroca(y, score, adjust=a, **options).to_frame() for a in ("holm", "none"))
    np.testing.assert_array_equal(family["pvalue_verdict"], alone["pvalue_verdict"])
    np.testing.assert_allclose(
        family["pvalue_verdict_adjusted"], multipletests(family["pvalue_verdict"], method="holm")[1]
    )
    assert (alone["pvalue_verdict_adjusted"] == alone["pvalue_verdict"]).all()


def test_the_highest_area_as_reference_counts_all_pairs(rng: np.random.Generator) -> None:
    y, score, _ = sample(rng, 600, 0.0)
    g = np.tile(["a", "b", "c"], 200)
    options: dict[str, Any] = {"sensitive_features": g, "rng": 1}
    result = fs.abroca(y, score, reference="highest", **options)
    named = fs.abroca(y, score, reference=result.reference, adjust="none", **options)
    narrow = fs.abroca(
        y, score, reference=result.reference, confidence_level=1 - 0.05 / 3, **options
    )
    for c, d, e in zip(result.comparisons, named.comparisons, narrow.comparisons, strict=True):
        assert c.pvalue == d.pvalue
        assert c.pvalue_adjusted == pytest.approx(min(3 * d.pvalue, 1))
        assert c.pvalue_verdict_adjusted == pytest.approx(min(3 * d.pvalue_verdict, 1))
        assert tuple(c.confidence_interval) == tuple(e.confidence_interval)


def draws_of(counts: Any, n: int, seed: int, *, smooth: bool = True) -> CurveDraws:
    """Drawn curves of these counts; with `smooth` by bridges where rows are many."""
    curves = [RocCurve._from_counts(*group_counts) for group_counts in counts]
    draws = CurveDraws(counts, curves, n, np.random.default_rng(seed))
    if not smooth:
        draws._smooth = [None, None]
    return draws


@pytest.mark.parametrize(
    ("rows", "separation"), [(200, 0.8), (400, 1.6), (1_000, 2.3)], ids=["few", "some", "many"]
)
def test_bridges_move_a_curve_as_counts_do(rows: int, separation: float) -> None:
    """Both laws of 2,000 draws by Brownian bridges, of groups of `rows` and 2·`rows` a label.

    Witness: every row drawn, compared at 257 rates. Means and 95% points: 2%, and three standard
    errors as below.
    """
    rng = np.random.default_rng(1)
    tables = []
    for size in (rows, 2 * rows):
        z = np.concatenate([rng.normal(size=size), rng.normal(separation, 1, size)])
        label = np.repeat([0, 1], size)[np.argsort(z)]
        tables.append(np.array([1 - label, label]))
    bridges = draws_of(tables, 2_000, seed=2)
    assert None not in bridges._smooth
    witness = draws_of(tables, 2_000, seed=3, smooth=False)
    witness._known_cells = dict(enumerate(tables))
    witness.grid = Grid(FALSE_POSITIVE_GRID, np.full(257, 1 / 257))
    error = 3 * 0.5 * np.sqrt(2 / 2_000)
    for found, wanted in zip(
        bridges.noise(0, 1, np.inf).laws, witness.noise(0, 1, np.inf).laws, strict=True
    ):
        assert found.mean() == pytest.approx(wanted.mean(), rel=0.02 + error)
        assert np.quantile(found, 0.95) == pytest.approx(
            np.quantile(wanted, 0.95), rel=0.02 + 1.6 * error
        )


def test_ties_few_rows_and_rare_errors_are_drawn_as_counts(rng: np.random.Generator) -> None:
    """Bridges know neither equal scores nor the single rows that are misplaced."""
    label = rng.integers(0, 2, 1_000)
    plain = np.array([1 - label, label])
    few = plain[:, :150]
    tied = np.add.reduceat(plain, np.arange(0, 1_000, 50), axis=1)
    rare = np.zeros((2, 1_000), dtype=np.int64)
    rare[0, :500] = 1
    rare[1, 490:] = 1
    drawn = draws_of([plain, few, tied, rare], 9, seed=1)
    assert drawn._smooth[0] is not None
    assert drawn._smooth[1:] == [None, None, None]


def test_counts_by_group_are_those_of_the_dense_table(rng: np.random.Generator) -> None:
    """Rows counted at each group's own scores, and in the bins of a result."""
    y, score, g = sample(rng, 25_000, 0.3)
    score = score.round(5)
    outcomes = Outcomes.from_arrays(y, None, score=score, sensitive_features=g)
    dense = OwnScores.of_counts(ScoreCounts._from_outcomes(outcomes))
    sparse = OwnScores.of_rows(outcomes)
    for found, wanted in zip(sparse.counts, dense.counts, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert dense.binned.lower is not None
    for name in ("counts", "values", "lower"):
        np.testing.assert_array_equal(getattr(sparse.binned, name), getattr(dense.binned, name))
    assert sparse.sizes.tolist() == dense.sizes.tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("separation", "positive", "shift", "second"),
    [(1.0, 0.4, 0.0, 0.3), (3.0, 0.01, 0.0, 0.3), (2.3, 0.99, 0.0, 0.3), (1.5, 0.3, 2.0, 0.02)],
    ids=["plain", "rare positives", "rare negatives", "a small group of high scores"],
)
def test_the_noise_of_128_intervals_is_that_of_500(separation, positive, shift, second):
    """Counts of 2·10⁶ rows in 5,000 scores.

    Witness: the law over 500 intervals of the scores of both groups.

    Means and 95% points of 4,000 draws each: 1%, and three standard errors of a difference (a draw
    varies by less than half of its mean, and a 95% point by 1.6 times the error of the mean)."""
    rng = np.random.default_rng(1)
    z = np.linspace(-4, 9, 5_000)
    cells = []
    for mean, size in ((0.0, 2e6 * (1 - second)), (shift, 2e6 * second)):
        for at, share in ((mean, 1 - positive), (mean + separation, positive)):
            law = norm.pdf(z - at)
            cells.append(rng.multinomial(int(size * share), law / law.sum()))
    table = ScoreCounts(("a", "b"), (z + 4) / 13, np.array(cells).reshape(2, 2, -1))
    few = draws_of(table.counts, 4_000, seed=2, smooth=False)
    many = draws_of(table.counts, 4_000, seed=3, smooth=False)
    assert few._count_cells(0).shape[1] <= 128
    many._known_cells = dict(enumerate(table._merge_into_bins(500).counts))
    many.grid = Grid(FALSE_POSITIVE_GRID, np.full(257, 1 / 257))
    for found, wanted in zip(
        few.noise(0, 1, np.inf).laws, many.noise(0, 1, np.inf).laws, strict=True
    ):
        error = 3 * 0.5 * np.sqrt(2 / 4_000)
        assert found.mean() == pytest.approx(wanted.mean(), rel=0.01 + error)
        assert np.quantile(found, 0.95) == pytest.approx(
            np.quantile(wanted, 0.95), rel=0.01 + 1.6 * error
        )


def test_a_group_of_close_scores_has_intervals_of_its_own() -> None:
    """1,000 scores of one group in [0, .001]; of 99 others none: 128 intervals all the same."""
    rng = np.random.default_rng(1)
    close = np.sort(rng.random(1_000)) / 1_000
    far = 0.5 + np.sort(rng.random(9_900)) / 2
    counts = np.zeros((2, 2, 10_900), dtype=np.int64)
    counts[0, rng.integers(0, 2, 1_000), np.arange(1_000)] = 1
    counts[1, rng.integers(0, 2, 9_900), np.arange(1_000, 10_900)] = 1
    scores = ScoreCounts(("a", "b"), np.concatenate([close, far]), counts)
    draws = draws_of(OwnScores.of_counts(scores).counts, 19, seed=1)
    for group_number in range(2):
        cells = draws._count_cells(group_number)
        assert 120 <= cells.shape[1] <= 128
        np.testing.assert_array_equal(cells.sum(axis=1), counts[group_number].sum(axis=1))


def test_places_among_the_negatives_count_ties_half() -> None:
    """Negatives at 1, 2, 2, 4; positives at 0, 2, 3, 3, 4: by hand."""
    cells = np.array([[0, 1, 2, 0, 1], [1, 0, 1, 2, 1]])
    places, counts = locate_among_negatives(cells)
    np.testing.assert_allclose(places, [0, 0.125, 0.5, 0.75, 0.875])
    np.testing.assert_array_equal(counts, cells)
    # two positives between the same negatives share their place
    places, counts = locate_among_negatives(np.array([[1, 0, 0, 1], [0, 1, 2, 0]]))
    np.testing.assert_allclose(places, [0.25, 0.5, 0.75])
    np.testing.assert_array_equal(counts, [[1, 0, 1], [0, 3, 0]])


def test_scores_in_intervals_say_how_far_the_area_can_be_off(rng: np.random.Generator) -> None:
    """A tally sent on merges scores.

    Half the share of pairs of labels in one interval, by group.
    """
    y, score, g = sample(rng, 300, 0.1)
    frame = pd.DataFrame({"y": y, "s": score, "g": g})
    counted = fs.tally(frame, y_true="y", score="s", sensitive_features="g")
    with pytest.warns(DataWarning, match="scores are merged"):
        sent = fs.Tally.from_json(counted.to_json())
    cells = sent.histogram().counts
    error = sum(0.5 * (n * p).sum() / (n.sum() * p.sum()) for n, p in cells)
    exact = fs.abroca(counts=counted, n_resamples=100, rng=1)
    with pytest.warns(
        DataWarning, match=f"the area and the AUCs can be off by {error:.2g} at most"
    ):
        merged = fs.abroca(counts=sent, n_resamples=100, rng=1)
    assert 0 < abs(exact.estimate - merged.estimate) <= error


def test_what_few_errors_of_two_curves_hide(rng: np.random.Generator) -> None:
    """Witness: every pair of rows compared.

    Of each label (Σv)²/Σv² rows of size Σv²/Σv, v misplaced shares.

    A group with less than one whole error, k(1 − AUC) < 1, or that no draw moves, allows its rarer
    label's rows; a group of one score has equal errors, which are no rare ones."""
    y = np.repeat([0, 1], [30, 50])
    samples = {
        "noisy": rng.normal(0, 1, 80) + y,
        "one wrong": np.where(np.arange(80) == 3, 9.0, y + 0.01 * np.arange(80)),
        "less than one": np.where(np.arange(80) == 3, 1.5, y + np.arange(80) / 100 * y),
        "perfect": y.astype(float),
        "one score": np.zeros(80),
    }
    for names in (("noisy", "one wrong"), ("perfect", "noisy"), ("less than one", "one score")):
        errors = []
        whole = []
        for name in names:
            score = samples[name]
            wrong = np.sign(score[y == 0][:, None] - score[y == 1][None]) / 2 + 0.5
            if name == "perfect" or 30 * wrong.mean() < 1:
                whole.append(30.0)
            for v in (wrong.mean(axis=1), wrong.mean(axis=0)):
                if v.sum() > 0 and np.ptp(v) > 0:
                    errors.append((float(v.size), v.sum() ** 2 / (v @ v), (v @ v) / v.sum()))
        found = hidden_by_rows(
            [curve(y, samples[name]) for name in names],
            [(30, 50)] * 2,
            [name == "perfect" for name in names],
        )
        assert found.rows == min(whole, default=np.inf)
        np.testing.assert_allclose(np.ravel(found.errors), np.ravel(errors), rtol=1e-9)
    both = hidden_by_rows([curve(y, samples["noisy"])] * 2, [(12, 50), (30, 9)], [True, True])
    assert both.rows == 9.0


def test_a_group_that_no_draw_moves_is_one_whose_labels_do_not_mix() -> None:
    """Separated labels in either order, and one score alone.

    One shared score among others moves.
    """
    for cells, still in (
        ([[5, 3, 0, 0], [0, 0, 2, 7]], True),
        ([[0, 0, 2, 7], [5, 3, 0, 0]], True),
        ([[0, 8, 0, 0], [0, 9, 0, 0]], True),
        ([[5, 3, 0, 0], [0, 1, 2, 7]], False),
        ([[0, 3, 2, 0], [0, 9, 0, 0]], False),
        ([[0, 9, 0, 0], [0, 3, 2, 0]], False),
        ([[1, 0, 1, 0], [0, 4, 0, 0]], False),
    ):
        assert no_draw_moves(np.array(cells)) is still


def test_an_area_is_told_without_a_lower_group() -> None:
    """The whole sentence of each verdict.

    Curves may cross, so that no group has "the lower value".
    """
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 800)
    g = np.repeat(["a", "b"], 400)
    score = norm.cdf(rng.normal(size=800) + y * np.where(g == "a", 3.0, 0.3))
    for margin, tail in (
        (0.1, "violated; the data show an area above 0.1."),
        (0.6, "satisfied; the data show an area below 0.6."),
        (0.42, "undecided; the data do not settle on which side of 0.42 it lies."),
    ):
        result = fs.abroca(y, score, sensitive_features=g, reference="b", margin=margin, rng=1)
        (c,) = result.comparisons
        low, high = c.confidence_interval
        auc = [roc_auc_score(y[g == k], score[g == k]) for k in "ab"]
        assert result.sentences() == [
            f"a against b: area between the ROC curves {c.estimate:.3f} (95% interval {low:.3f} to "
            f"{high:.3f}; AUC {auc[0]:.3f} and {auc[1]:.3f}): {tail}"
        ]
