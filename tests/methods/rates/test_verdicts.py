"""Tests and verdicts: both directions, equality, equivalence, and a verdict that never contradicts its bound.

Witnesses: the definitions in METHODS §0 ("violated / satisfied at level α means a one-sided α bound"), the
intervals themselves, statsmodels' one-sided z-tests.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import test_proportions_2indep as proportions_2indep

import fairstats as fs

RATIO_METHODS = ("log", "delta", "score", "koopman", "bootstrap")
DIFFERENCE_METHODS = ("score", "delta", "mee", "bootstrap")
CELLS = st.tuples(*[st.integers(5, 400)] * 4)


def infer(contrast: str, cells: tuple[int, int, int, int], **options: Any) -> Any:
    function = fs.disparate_impact if contrast == "ratio" else fs.demographic_parity_difference
    return function(counts={"a": cells[:2], "b": cells[2:]}, reference="b", **options)


CASES = [("ratio", m) for m in RATIO_METHODS[:-1]] + [("difference", m) for m in DIFFERENCE_METHODS[:-1]]


@pytest.mark.parametrize(("contrast", "method"), CASES)
@given(
    cells=CELLS,
    level=st.sampled_from([0.8, 0.9, 0.95, 0.99]),
    threshold=st.sampled_from([0.05, 0.1, 0.3, 0.8]),
)
def test_tests_bounds_and_verdict_agree(
    contrast: str, method: str, cells: tuple[int, int, int, int], level: float, threshold: float
) -> None:
    result = infer(contrast, cells, method=method, confidence_level=level, threshold=threshold)
    comparison = result.comparisons[0]
    alpha = 1 - level
    tests = {test.alternative: test for test in comparison.tests if test.method != "exact unconditional"}
    low, high = comparison.bounds
    less_null, greater_null = (threshold, threshold) if contrast == "ratio" else (-threshold, threshold)
    equal = 1.0 if contrast == "ratio" else 0.0
    margin = (threshold, 1 / threshold) if contrast == "ratio" else (-threshold, threshold)
    assert (tests["less"].pvalue < alpha) == (high < less_null)
    assert (tests["greater"].pvalue < alpha) == (low > greater_null)
    two_low, two_high = comparison.interval
    assert (tests["two-sided"].pvalue < alpha) == (not two_low <= equal <= two_high)
    assert (tests["equivalence"].pvalue < alpha) == (margin[0] < low and high < margin[1])
    below, above = tests["less"].pvalue < alpha, tests["greater"].pvalue < alpha
    if contrast == "ratio":
        wanted = "violated" if below else ("satisfied" if above else "undecided")
    else:
        inside = tests["equivalence"].pvalue < alpha
        wanted = "violated" if below or above else ("satisfied" if inside else "undecided")
    assert comparison.verdict == wanted


@pytest.mark.parametrize(("contrast", "method"), [("ratio", "bootstrap"), ("difference", "bootstrap")])
def test_bootstrap_tests_agree_with_its_bounds(contrast: str, method: str) -> None:
    """Ties among replicates move z by a few hundredths: p-values within .002 of α are not judged."""
    for cells in [(60, 140, 120, 80), (90, 110, 100, 100), (100, 100, 104, 96), (30, 70, 60, 60)]:
        comparison = infer(contrast, cells, method=method, rng=3).comparisons[0]
        tests = {test.alternative: test for test in comparison.tests}
        null = 0.8 if contrast == "ratio" else -0.1
        if abs(tests["less"].pvalue - 0.05) > 0.002:
            assert (tests["less"].pvalue < 0.05) == (comparison.bounds.high < null)


@given(CELLS)
def test_score_z_as_statsmodels_tests(cells: tuple[int, int, int, int]) -> None:
    """One-sided score test of a ratio, without the factor N/(N−1)."""
    k0, f0, k1, f1 = cells
    result = infer("ratio", cells, method="koopman").comparisons[0]
    for alternative, sign in (("less", "smaller"), ("greater", "larger")):
        wanted = proportions_2indep(
            k0,
            k0 + f0,
            k1,
            k1 + f1,
            value=0.8,
            compare="ratio",
            method="score",
            alternative=sign,
            correction=False,
        )
        found = next(t for t in result.tests if t.alternative == alternative)
        assert found.statistic == pytest.approx(wanted.statistic, rel=1e-8, abs=1e-8)
        assert found.pvalue == pytest.approx(wanted.pvalue, rel=1e-7, abs=1e-12)


@given(CELLS)
def test_both_directions_add_up(cells: tuple[int, int, int, int]) -> None:
    """One null value for a ratio: p(less) + p(greater) = 1."""
    tests = {t.alternative: t for t in infer("ratio", cells).comparisons[0].tests}
    assert tests["less"].pvalue + tests["greater"].pvalue == pytest.approx(1, abs=1e-12)
    assert tests["less"].null == "ratio >= 0.8"
    assert tests["greater"].null == "ratio <= 0.8"
    assert tests["two-sided"].null == "ratio = 1"
    assert tests["equivalence"].null == "ratio outside (0.8, 1.25)"


@given(CELLS)
def test_tost_is_the_larger_of_two(cells: tuple[int, int, int, int]) -> None:
    """The two one-sided tests at the margins are the tests at those thresholds."""
    tests = {t.alternative: t for t in infer("ratio", cells).comparisons[0].tests}
    above_low = {t.alternative: t for t in infer("ratio", cells, threshold=0.8).comparisons[0].tests}[
        "greater"
    ]
    below_high = {t.alternative: t for t in infer("ratio", cells, threshold=1.25).comparisons[0].tests}[
        "less"
    ]
    assert tests["equivalence"].pvalue == pytest.approx(max(above_low.pvalue, below_high.pvalue), rel=1e-9)


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize(("contrast", "method"), CASES)
def test_the_tidy_table_shows_the_test_asked_for(contrast: str, method: str, alternative: str) -> None:
    result = infer(contrast, (60, 140, 120, 80), method=method, alternative=alternative)
    comparison = result.comparisons[0]
    chosen = next(t for t in comparison.tests if t.alternative == alternative)
    frame = result.to_frame()
    assert frame.loc[0, "pvalue"] == result.pvalue == chosen.pvalue
    assert frame.loc[0, "statistic"] == result.statistic == chosen.statistic
    assert (frame.loc[0, "ci_low"], frame.loc[0, "ci_high"]) == tuple(comparison.interval)
    assert frame.loc[0, "confidence_level"] == 0.95


def test_one_level_is_honoured_everywhere() -> None:
    for level, contrast in product((0.8, 0.99), ("ratio", "difference")):
        comparison = infer(contrast, (60, 140, 120, 80), confidence_level=level).comparisons[0]
        assert comparison.interval.confidence_level == level
        assert comparison.bounds.confidence_level == pytest.approx(2 * level - 1)
    counts = {"a": (60, 140), "b": (120, 80)}
    gap = fs.demographic_parity_difference(counts=counts, agg="max", confidence_level=0.8)
    assert gap.confidence_interval.confidence_level == 0.8
    assert gap.width < fs.demographic_parity_difference(counts=counts, agg="max").width


@pytest.mark.parametrize(
    ("cells", "threshold", "wanted"),
    [
        ((300, 700, 600, 400), 0.8, "violated"),
        ((600, 400, 600, 400), 0.8, "satisfied"),
        ((480, 520, 600, 400), 0.8, "undecided"),
        ((900, 100, 600, 400), 1.25, "violated"),  # a threshold above 1 asks whether the group is favoured
        ((600, 400, 600, 400), 1.25, "satisfied"),
    ],
)
def test_verdicts_of_ratios(cells: tuple[int, int, int, int], threshold: float, wanted: str) -> None:
    result = infer("ratio", cells, threshold=threshold)
    assert result.verdict == wanted
    assert wanted in result.sentences()[0]


@pytest.mark.parametrize(
    ("cells", "wanted"),
    [
        ((300, 700, 600, 400), "violated"),
        ((600, 400, 300, 700), "violated"),
        ((600, 400, 600, 400), "satisfied"),
        ((500, 500, 600, 400), "undecided"),
    ],
)
def test_verdicts_of_differences(cells: tuple[int, int, int, int], wanted: str) -> None:
    result = infer("difference", cells)
    assert result.verdict == wanted
    assert wanted in result.sentences()[0]


def test_the_verdict_is_simultaneous_where_the_intervals_are() -> None:
    """Bounds at the simultaneous level, which is what a band that holds for all groups allows to say."""
    counts = {"ref": (600, 400), **{f"g{j}": (440, 560) for j in range(12)}}
    alone = fs.disparate_impact(counts=counts, reference="ref")
    together = fs.disparate_impact(counts=counts, reference="ref", simultaneous="bonferroni")
    assert all(
        c.bounds.high > d.bounds.high for c, d in zip(together.comparisons, alone.comparisons, strict=True)
    )


# ---------------------------------------------------------------- reference groups


COUNTS = {"a": (60, 140), "b": (150, 100), "c": (45, 55), "d": (9, 1)}


def test_the_largest_group_is_the_reference_and_says_so() -> None:
    result = fs.disparate_impact(counts=COUNTS)
    assert result.reference == "b"
    assert [c.group for c in result.comparisons] == ["a", "c", "d"]
    assert result.settings.reference_rule == "largest"
    assert "Reference: b (the largest group)" in str(result)
    assert (
        fs.disparate_impact(counts=COUNTS, reference="largest").estimate.tolist() == result.estimate.tolist()
    )


def test_a_named_reference() -> None:
    result = fs.disparate_impact(counts=COUNTS, reference="c")
    assert result.reference == "c"
    assert "named by the user" in str(result)
    np.testing.assert_allclose(result.estimate, [0.3 / 0.45, 0.6 / 0.45, 0.9 / 0.45], rtol=1e-14)


def test_the_highest_rate_as_reference_is_paid_for() -> None:
    """Chosen by the data: intervals hold over all six pairs, p-values are multiplied by six."""
    result = fs.disparate_impact(counts=COUNTS, reference="highest", method="log")
    assert result.reference == "d"
    assert "the highest rate: chosen by the data" in str(result)
    named = fs.disparate_impact(counts=COUNTS, reference="d", method="log")
    for chosen, plain in zip(result.comparisons, named.comparisons, strict=True):
        assert chosen.estimate == plain.estimate
        assert chosen.interval.low < plain.interval.low
        assert chosen.interval.high > plain.interval.high
        assert chosen.pvalue_adjusted == pytest.approx(min(1, 6 * plain.pvalue), rel=1e-12)
    every = fs.disparate_impact(counts=COUNTS, comparisons="all", simultaneous="max-z", method="log")
    pair = every["a", "d"]
    assert tuple(result["a"].interval) == pytest.approx(tuple(pair.interval), rel=1e-9)
    bonferroni = fs.disparate_impact(counts=COUNTS, reference="highest", simultaneous="bonferroni")
    by_hand = fs.disparate_impact(counts=COUNTS, reference="d", confidence_level=1 - 0.05 / 6)
    assert tuple(bonferroni["a"].interval) == pytest.approx(tuple(by_hand["a"].interval), rel=1e-9)


def test_all_pairs() -> None:
    result = fs.demographic_parity_difference(counts=COUNTS, comparisons="all")
    assert [(c.group, c.reference) for c in result.comparisons] == [
        ("a", "b"),
        ("a", "c"),
        ("a", "d"),
        ("b", "c"),
        ("b", "d"),
        ("c", "d"),
    ]
    rate = {g: k / (k + f) for g, (k, f) in COUNTS.items()}
    for c in result.comparisons:
        assert c.estimate == pytest.approx(rate[c.group] - rate[c.reference], abs=1e-14)
        assert result[c.group, c.reference] is c
    assert "All pairs of groups are compared" in str(result)


def test_equalised_odds_with_the_highest_rate_counts_both_rates() -> None:
    """The reference is the group of the highest TPR; the family is all pairs of both rates."""
    counts = {"a": (40, 20, 10, 30), "b": (35, 15, 15, 35), "c": (20, 5, 25, 50)}
    result = fs.equalized_odds_difference(counts=counts, reference="highest")
    assert result.reference == "a"
    named = fs.equalized_odds_difference(counts=counts, reference="a")
    for chosen, plain in zip(result.comparisons, named.comparisons, strict=True):
        assert chosen.interval.low < plain.interval.low
        assert chosen.pvalue_adjusted >= min(1, 6 * plain.pvalue) - 1e-12
