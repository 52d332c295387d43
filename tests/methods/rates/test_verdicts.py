"""Tests and verdicts: both directions, equality, equivalence, and a verdict that never contradicts
its bound.

Witnesses: the intervals themselves, p-values by hand, statsmodels' one-sided z-tests and Holm.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm as normal
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import test_proportions_2indep as proportions_2indep

import fairstats as fs
from fairstats.numerics.rates.exact import exact_pvalue
from fairstats.numerics.rates.score import ratio_score_statistic

RATIO_METHODS = ("log", "delta", "score", "koopman", "bootstrap")
DIFFERENCE_METHODS = ("score", "delta", "mee", "bootstrap")
CELLS = st.tuples(*[st.integers(5, 400)] * 4)


def infer(contrast: str, cells: tuple[int, int, int, int], **options: Any) -> Any:
    function = fs.disparate_impact if contrast == "ratio" else fs.demographic_parity_difference
    if contrast != "ratio" and "threshold" in options:
        options["margin"] = options.pop("threshold")
    return function(counts={"a": cells[:2], "b": cells[2:]}, reference="b", **options)


CASES = [("ratio", m) for m in RATIO_METHODS[:-1]] + [
    ("difference", m) for m in DIFFERENCE_METHODS[:-1]
]


@pytest.mark.parametrize(("contrast", "method"), CASES)
@given(
    cells=CELLS,
    level=st.sampled_from([0.8, 0.9, 0.95, 0.99]),
    threshold=st.sampled_from([0.05, 0.1, 0.3, 0.8, 0.95]),
)
def test_tests_bounds_and_verdict_agree(
    contrast: str, method: str, cells: tuple[int, int, int, int], level: float, threshold: float
) -> None:
    result = infer(contrast, cells, method=method, confidence_level=level, threshold=threshold)
    comparison = result.comparisons[0]
    alpha = 1 - level
    tests = {
        test.alternative: test for test in comparison.tests if test.method != "exact unconditional"
    }
    low, high = comparison.bounds
    equal = 1.0 if contrast == "ratio" else 0.0
    least, most = (threshold, 1 / threshold) if contrast == "ratio" else (-threshold, threshold)
    two_low, two_high = comparison.confidence_interval
    assert (tests["two-sided"].pvalue < alpha) == (not two_low <= equal <= two_high)
    shown = {"below": high < least, "above": low > most, "inside": least < low and high < most}
    decided = comparison.pvalue_verdict < alpha
    assert decided == any(shown.values())
    if decided:
        assert shown[comparison.direction]
    wanted = (
        {"inside": "satisfied"}.get(comparison.direction, "violated") if decided else "undecided"
    )
    assert comparison.verdict == wanted
    assert comparison.pvalue_verdict == comparison.pvalue_verdict_adjusted


def test_a_narrow_range_is_judged_two_sided() -> None:
    """At θ = 1 nothing lies inside, and the p-value of the verdict is that of equality."""
    comparison = infer("ratio", (60, 140, 90, 110), threshold=1.0, method="score").comparisons[0]
    assert comparison.direction == "below"
    assert comparison.pvalue_verdict == pytest.approx(comparison.pvalue, rel=1e-12)
    assert comparison.bounds.confidence_level == pytest.approx(0.975, abs=1e-9)
    assert tuple(comparison.bounds) == pytest.approx(
        tuple(comparison.confidence_interval), rel=1e-6
    )


def test_p_values_of_verdicts_by_hand() -> None:
    """z of the log ratio at 0.8 and 1.25.

    Φ(z_low) + Φ(z_high) below, and the larger of two inside.
    """
    comparison = infer("ratio", (60, 140, 90, 110), method="log", threshold=0.8).comparisons[0]
    error = np.sqrt(0.7 / 60 + 0.55 / 90)
    z = [float(np.log(60 / 90 / end) / error) for end in (0.8, 1.25)]
    assert comparison.pvalue_verdict == pytest.approx(
        normal.cdf(z[0]) + normal.cdf(z[1]), rel=1e-10
    )
    middle = infer("ratio", (480, 320, 490, 310), method="log", threshold=0.8).comparisons[0]
    error = np.sqrt(0.4 / 480 + 0.3875 / 490)
    low, high = (float(np.log(480 / 490 / end) / error) for end in (0.8, 1.25))
    assert middle.direction == "inside"
    wanted = max(
        normal.sf(low) + normal.sf(low + low - high),
        normal.cdf(high) + normal.cdf(high - low + high),
    )
    assert middle.pvalue_verdict == pytest.approx(wanted, rel=1e-9)


def test_verdicts_are_family_wise() -> None:
    """Holm over the p-values of the verdicts; adjust="none" judges each by itself."""
    counts = {"ref": (600, 400), **{f"g{j}": (440, 560) for j in range(12)}}
    family = fs.disparate_impact(counts=counts, reference="ref")
    single = fs.disparate_impact(counts=counts, reference="ref", adjust="none")
    raw = [c.pvalue_verdict for c in single.comparisons]
    wanted = multipletests(raw, method="holm")[1]
    assert [c.pvalue_verdict_adjusted for c in family.comparisons] == pytest.approx(
        wanted.tolist(), rel=1e-12
    )
    assert {c.verdict for c in single.comparisons} == {"violated"}
    assert {c.verdict for c in family.comparisons} == {"undecided"}
    assert all(
        "over all comparisons of the metric it is undecided" in line for line in family.sentences()
    )
    assert "each verdict by itself" in str(single)


def test_both_rates_of_equalised_odds_are_one_family() -> None:
    counts = {"a": (80, 20, 20, 80), "b": (60, 26, 40, 74)}
    result = fs.equalized_odds_difference(counts=counts, reference="a", margin=0.05)
    raw = [c.pvalue_verdict for c in result.comparisons]
    assert [c.metric for c in result.comparisons] == ["tpr_difference", "fpr_difference"]
    wanted = multipletests(raw, method="holm")[1]
    assert [c.pvalue_verdict_adjusted for c in result.comparisons] == pytest.approx(wanted.tolist())


def test_sentences_say_who_has_the_lower_rate() -> None:
    counts = {"a": (20, 5, 80, 95), "b": (60, 40, 40, 60)}
    below = fs.disparate_impact(counts=counts, reference="b").sentences()[0]
    assert "a has the lower selection rate, to the disadvantage of a" in below
    above = fs.disparate_impact(counts=counts, reference="a").sentences()[0]
    assert (
        "show a ratio above 1.25: a has the lower selection rate, to the disadvantage of a" in above
    )
    negative = fs.conditional_accuracy(counts=counts, label=0, reference="b").sentences()[0]
    assert "b has the lower true negative rate." in negative
    named = fs.group_metric(
        metric=lambda tp, fp, fn, tn: tp / (tp + fp + fn), counts=counts, reference="b"
    )
    assert "a has the lower value" in named.sentences()[0]
    difference = fs.demographic_parity_difference(counts=counts, reference="b").sentences()[0]
    assert "show a difference below -0.1: a has the lower selection rate" in difference


def test_a_largest_gap_says_who_is_lower_in_the_rate_that_attains_it() -> None:
    """TPR .80 and .78, FPR .60 and .10.

    b is lower in both, and the gap is one of false positive rates.
    """
    counts = {"a": (80, 60, 20, 40), "b": (78, 10, 22, 90)}
    (line,) = fs.equalized_odds_difference(counts=counts, agg="max").sentences()
    assert "in false positive rate: violated" in line
    assert line.endswith("b has the lower false positive rate.")
    assert "disadvantage" not in line


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_a_largest_gap_names_the_lower_group_whatever_their_order(order: str) -> None:
    """Of 100 people 15 in one group and 50 in the other.

    The first has the lower rate, named first or not.
    """
    low, high = order
    counts = dict(sorted({low: (15, 85), high: (50, 50)}.items()))
    result = fs.demographic_parity_difference(counts=counts, agg="max")
    assert result.components[0].estimate == pytest.approx(-0.35 if order == "ab" else 0.35)
    (said,) = result.sentences()
    assert said.endswith(f"{low} has the lower selection rate, to the disadvantage of {low}.")


def test_a_row_whose_interval_and_verdict_seem_to_differ_says_why() -> None:
    """90/100 against 160/250: the two-sided interval holds 0.8, the one-sided limit does not."""
    result = fs.disparate_impact(
        counts={"a": (160, 90), "b": (90, 10)}, reference="b", method="score"
    )
    low, high = result.confidence_interval
    assert result.verdict == "violated"
    assert low < 0.8 < high
    assert "The verdict rests on the one-sided limits" in result.sentences()[0]


def test_a_chosen_reference_is_paid_for_by_the_verdicts() -> None:
    """All pairs that could have been chosen count: p-values of verdicts are multiplied by six."""
    chosen = fs.disparate_impact(counts=COUNTS, reference="highest", method="log")
    named = fs.disparate_impact(counts=COUNTS, reference="d", method="log", adjust="none")
    for one, other in zip(chosen.comparisons, named.comparisons, strict=True):
        assert one.pvalue_verdict == other.pvalue_verdict
        assert one.pvalue_verdict_adjusted == pytest.approx(
            min(1, 6 * other.pvalue_verdict), rel=1e-12
        )
        assert (one.verdict == "violated") == (6 * other.pvalue_verdict <= 0.05)
    counts = {"a": (719, 281), "b": (800, 200), "c": (790, 210), "d": (850, 150)}
    row = fs.disparate_impact(counts=counts, reference="highest")["a"]
    assert row.pvalue_verdict < 0.05 < row.pvalue_verdict_adjusted == 6 * row.pvalue_verdict
    assert row.verdict == "undecided"


def test_an_exact_verdict_counts_both_directions_where_the_range_is_narrow() -> None:
    """p + Φ(Φ⁻¹(p) − Δ), Δ the standard errors between the ends (Hodges & Lehmann).

    p by enumeration.
    """
    (row,) = fs.disparate_impact(
        counts={"a": (6, 34), "b": (100, 100)}, reference="b", threshold=0.95
    ).comparisons
    z_low, z_high = (float(ratio_score_statistic(6, 40, 100, 200, end)) for end in (0.95, 1 / 0.95))
    p = exact_pvalue(6, 40, 100, 200, contrast="ratio", null=0.95, alternative="less")
    both = p + normal.cdf(normal.ppf(p) - (z_low - z_high))
    assert both > 1.1 * p
    assert row.pvalue_verdict == pytest.approx(both, rel=1e-9)


@pytest.mark.parametrize(
    ("contrast", "method"), [("ratio", "bootstrap"), ("difference", "bootstrap")]
)
def test_bootstrap_tests_agree_with_its_bounds(contrast: str, method: str) -> None:
    """Ties among replicates move z by a few hundredths.

    P-values within .002 of α are not judged.
    """
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
    """The two one-sided tests at the ends.

    That at 1/θ is the one at θ with the groups exchanged.
    """
    tests = {t.alternative: t for t in infer("ratio", cells, method="log").comparisons[0].tests}
    exchanged = {
        t.alternative: t
        for t in infer("ratio", (*cells[2:], *cells[:2]), method="log").comparisons[0].tests
    }
    both = tests["greater"].pvalue, exchanged["greater"].pvalue
    assert tests["equivalence"].pvalue == pytest.approx(max(both), rel=1e-9)


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize(("contrast", "method"), CASES)
def test_the_tidy_table_shows_the_test_asked_for(
    contrast: str, method: str, alternative: str
) -> None:
    result = infer(contrast, (60, 140, 120, 80), method=method, alternative=alternative)
    comparison = result.comparisons[0]
    chosen = next(t for t in comparison.tests if t.alternative == alternative)
    frame = result.to_frame()
    assert frame.loc[0, "pvalue"] == result.pvalue == chosen.pvalue
    assert frame.loc[0, "statistic"] == result.statistic == chosen.statistic
    assert (frame.loc[0, "ci_low"], frame.loc[0, "ci_high"]) == tuple(
        comparison.confidence_interval
    )
    assert frame.loc[0, "confidence_level"] == 0.95


def test_one_level_is_honoured_everywhere() -> None:
    for level, contrast in product((0.8, 0.99), ("ratio", "difference")):
        comparison = infer(contrast, (60, 140, 120, 80), confidence_level=level).comparisons[0]
        assert comparison.confidence_interval.confidence_level == level
        assert level <= comparison.bounds.confidence_level <= (1 + level) / 2
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
        ((900, 100, 600, 400), 0.8, "violated"),  # the reference has less than four fifths
        ((740, 260, 600, 400), 0.8, "undecided"),
        ((600, 400, 600, 400), 1.0, "undecided"),  # nothing lies inside
    ],
)
def test_verdicts_of_ratios(
    cells: tuple[int, int, int, int], threshold: float, wanted: str
) -> None:
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


# ---------------------------------------------------------------- reference groups


COUNTS = {"a": (60, 140), "b": (150, 100), "c": (45, 55), "d": (90, 10)}


def test_the_largest_group_is_the_reference_and_says_so() -> None:
    result = fs.disparate_impact(counts=COUNTS)
    assert result.reference == "b"
    assert [c.group for c in result.comparisons] == ["a", "c", "d"]
    assert result.settings.reference_rule == "largest"
    assert "Reference: b (the largest group)" in str(result)
    assert (
        fs.disparate_impact(counts=COUNTS, reference="largest").estimate.tolist()
        == result.estimate.tolist()
    )


def test_a_named_reference() -> None:
    result = fs.disparate_impact(counts=COUNTS, reference="c")
    assert result.reference == "c"
    assert "named by the user" in str(result)
    np.testing.assert_allclose(result.estimate, [0.3 / 0.45, 0.6 / 0.45, 0.9 / 0.45], rtol=1e-14)


def test_the_highest_rate_as_reference_is_paid_for() -> None:
    """Chosen by the data: intervals and adjusted p-values hold over all six pairs, by one law."""
    result = fs.disparate_impact(counts=COUNTS, reference="highest", method="log")
    assert result.reference == "d"
    assert "the highest rate: chosen by the data" in str(result)
    named = fs.disparate_impact(counts=COUNTS, reference="d", method="log")
    for chosen, plain in zip(result.comparisons, named.comparisons, strict=True):
        assert chosen.estimate == plain.estimate
        assert chosen.confidence_interval.low < plain.confidence_interval.low
        assert chosen.confidence_interval.high > plain.confidence_interval.high
        assert plain.pvalue < chosen.pvalue_adjusted <= min(1, 6 * plain.pvalue)
    every = fs.disparate_impact(
        counts=COUNTS, comparisons="all", simultaneous="max-z", method="log"
    )
    pair = every["a", "d"]
    assert tuple(result["a"].confidence_interval) == pytest.approx(
        tuple(pair.confidence_interval), rel=1e-9
    )
    bonferroni = fs.disparate_impact(counts=COUNTS, reference="highest", simultaneous="bonferroni")
    by_hand = fs.disparate_impact(counts=COUNTS, reference="d", confidence_level=1 - 0.05 / 6)
    assert tuple(bonferroni["a"].confidence_interval) == pytest.approx(
        tuple(by_hand["a"].confidence_interval), rel=1e-9
    )


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
        assert chosen.confidence_interval.low < plain.confidence_interval.low
        assert plain.pvalue < chosen.pvalue_adjusted <= min(1, 6 * plain.pvalue)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"alternative": "less"},
        {"alternative": "greater"},
        {"cluster": True},
        {"method": "log"},
        {"alternative": "less", "cluster": True},
        {"simultaneous": "bonferroni"},
    ],
    ids=str,
)
def test_an_adjusted_p_value_is_below_alpha_where_its_simultaneous_limits_exclude_the_null(
    options: dict[str, Any], rng: np.random.Generator
) -> None:
    """Tables of two to five groups with the highest rate as reference.

    Ratios, and both rates of the odds.
    """
    seen = []
    for _ in range(12):
        sizes = rng.integers(150, 900, rng.integers(2, 6))
        group = np.repeat([f"g{k}" for k in range(sizes.size)], sizes)
        y_true = rng.random(group.size) < 0.5
        y_pred = rng.random(group.size) < np.repeat(rng.uniform(0.3, 0.8, sizes.size), sizes)
        how: dict[str, Any] = {**options, "sensitive_features": group, "reference": "highest"}
        if "cluster" in options:
            how["cluster"] = rng.permutation(np.arange(group.size) // 3)
        results: list[Any] = [fs.disparate_impact(y_pred, threshold=0.6, **how)]
        if "method" not in options:
            results.append(fs.equalized_odds_difference(y_true, y_pred, margin=0.2, **how))
        for result in results:
            null = result.settings._null_values(result.scale)[
                options.get("alternative", "two-sided")
            ]
            for c in result.comparisons:
                excluded = not c.confidence_interval.low <= null <= c.confidence_interval.high
                assert np.isnan(c.pvalue) or (c.pvalue_adjusted < 0.05) == excluded, (c, null)
                seen.append(excluded)
    assert 4 < sum(seen) < len(seen) - 4
