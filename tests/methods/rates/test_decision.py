"""One rule for every decision.

The cases that failed in the field, and false verdicts of families, enumerated.

Witnesses: enumeration over the binomial counts of the smaller groups, and over the quantiles of the
large reference's; the p-values of Barnard's test by SciPy for the smallest tables."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import binom, norm
from statsmodels.stats.proportion import tost_proportions_2indep

import fairstats as fs
from fairstats.ground.counts import SelectionCounts
from fairstats.ground.multiplicity import adjust_pvalues
from fairstats.ground.registry import RATES
from fairstats.ground.verdict import (
    Evidence,
    Procedure,
    decide,
    fair_range,
    judge,
    settle,
    sharpest_level,
    side_of,
)
from fairstats.methods.rates.decision import decide_by_method, decide_exactly, exact_pair
from fairstats.methods.rates.estimates import estimate_rate
from fairstats.methods.rates.pair import pair_method
from fairstats.methods.rates.result import Inference

pytestmark = pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")

#: Weights and quantiles of the reference's count: its law is smooth over the rejection regions.
N_NODES = 5


# ---------------------------------------------------------------- two groups


def test_a_largest_gap_of_two_groups_is_their_difference() -> None:
    """D1: once "undecided" as a difference, "violated" as a gap."""
    counts = {"big": (2500, 2500), "small": (5, 13)}
    (difference,) = fs.demographic_parity_difference(counts=counts, margin=0.02).comparisons
    (gap,) = fs.demographic_parity_difference(counts=counts, margin=0.02, agg="max").comparisons
    low, high = difference.confidence_interval
    bound_low, bound_high = difference.bounds
    assert gap.verdict == difference.verdict == "undecided"
    assert gap.pvalue_verdict == pytest.approx(difference.pvalue_verdict, abs=1e-12)
    assert gap.pvalue == pytest.approx(difference.pvalue, abs=1e-12)
    assert tuple(gap.confidence_interval) == pytest.approx(
        (max(low, -high, 0.0), max(abs(low), abs(high)))
    )
    assert tuple(gap.bounds) == pytest.approx(
        (max(bound_low, -bound_high, 0.0), max(abs(bound_low), abs(bound_high)))
    )


@pytest.mark.parametrize("margin", [0.02, 0.1])
@pytest.mark.parametrize(
    "counts",
    [
        {"a": (40, 60), "b": (55, 45)},
        {"a": (0, 12), "b": (300, 200)},
        {"a": (9, 1), "b": (2, 9)},
        {"a": (3000, 7000), "b": (3100, 6900)},
    ],
)
def test_gap_and_difference_of_two_groups_say_the_same(
    counts: dict[str, tuple[int, int]], margin: float
) -> None:
    (difference,) = fs.demographic_parity_difference(
        counts=counts, margin=margin, reference="b"
    ).comparisons
    (gap,) = fs.demographic_parity_difference(counts=counts, margin=margin, agg="max").comparisons
    assert gap.verdict == difference.verdict
    assert gap.pvalue_verdict == pytest.approx(difference.pvalue_verdict, rel=1e-6)
    assert gap.pvalue == pytest.approx(difference.pvalue, rel=1e-6)
    assert gap.procedure.kind == difference.procedure.kind


@pytest.mark.parametrize(
    ("counts", "pvalue"),
    [
        ({"c": (1, 0), "a": (0, 300)}, 0.0012242),  # sup of p(1 − p)³⁰⁰ is (300/301)³⁰⁰/301
        ({"c": (2, 0), "a": (1, 399)}, 1.1e-5),
    ],
)
def test_one_person_beside_many_has_no_tiny_pvalue(
    counts: dict[str, tuple[int, int]], pvalue: float
) -> None:
    """D5: one named ordering serves verdict, p-value and interval.

    The score's p were 3.3e-67 and 6e-60.
    """
    for compare in (fs.disparate_impact, fs.demographic_parity_difference):
        (row,) = compare(counts=counts, reference="a").comparisons
        assert row.pvalue == pytest.approx(pvalue, rel=0.04)
        assert row.procedure.exact
        assert row.procedure.kind == "exact"
        assert "ordered by the score" in row.procedure.name
    assert pytest.approx(0.0012242, abs=1e-7) == (300 / 301) ** 300 / 301


def test_the_interval_beside_an_exact_verdict_is_of_the_same_test() -> None:
    """Where equality is rejected it lies outside, and nowhere else."""
    for k in range(13):
        (row,) = fs.disparate_impact(
            counts={"a": (k, 12 - k), "b": (150, 150)}, reference="b"
        ).comparisons
        low, high = row.confidence_interval
        assert row.procedure.exact
        assert (not low <= 1.0 <= high) == (row.pvalue <= 0.05)
        assert judge(*row.bounds, fair=fair_range("ratio", 0.8)) == row.verdict


# ---------------------------------------------------------------- false verdicts, enumerated


@functools.lru_cache(maxsize=1 << 14)
def evidence_of(
    k: int, n: int, k0: int, n0: int, contrast: str, limit: float, error: float
) -> Evidence:
    """What a pair shows in a family whose smallest p-value is held to `error`."""
    settings = Inference(threshold=limit) if contrast == "ratio" else Inference(margin=limit)
    estimates = estimate_rate(
        SelectionCounts.from_counts({"g": (k, n - k), "h": (k0, n0 - k0)}), RATES["selection_rate"]
    )
    exact = exact_pair(estimates, 0, 1, error)
    if exact is not None:
        return exact.evidence(contrast, settings._fair_range(contrast))
    by = pair_method(estimates, 0, 1, contrast, "score", n_resamples=0, rng=None)
    return decide_by_method(by, contrast, settings, (0.95, 0.9)).evidence


def last_true(condition: object, low: int, high: int) -> int:
    """Last whole number from `low` to `high` at which a falling condition holds.

    Low − 1 for nowhere.
    """
    low -= 1
    while low < high:
        middle = (low + high + 1) // 2
        if condition(middle):  # type: ignore[operator]
            low = middle
        else:
            high = middle - 1
    return low


def chance_of_violated(
    n: int, rate: float, k0: int, n0: int, contrast: str, limit: float, error: float
) -> float:
    """P("violated" at this error | the reference's count), of a group at its true rate."""
    last_below = last_true(
        lambda k: evidence_of(k, n, k0, n0, contrast, limit, error).below <= error, 0, n
    )
    last_not_above = last_true(
        lambda k: evidence_of(k, n, k0, n0, contrast, limit, error).above > error, 0, n
    )
    return float(binom.cdf(last_below, n, rate) + binom.sf(last_not_above, n, rate))


def any_violated(
    sizes: Sequence[int], n0: int, rate0: float, contrast: str, limit: float, rate: float
) -> float:
    """P(any of the groups is falsely "violated"), all at one rate.

    Holm rejects some exactly where Bonferroni does.
    """
    error = 0.05 / len(sizes)
    nodes = binom.ppf((np.arange(N_NODES) + 0.5) / N_NODES, n0, rate0).astype(int)
    total = 0.0
    for k0 in nodes.tolist():
        none = 1.0
        for n in sizes:
            none *= 1 - chance_of_violated(n, rate, k0, n0, contrast, limit, error)
        total += (1 - none) / N_NODES
    return total


def test_no_gap_of_a_small_group_is_falsely_violated() -> None:
    """D2: 18 beside 5,000 at .5, margin .02: .092 by the score in one direction."""
    for rate in (0.48, 0.52):
        assert any_violated([18], 5000, 0.5, "difference", 0.02, rate) <= 0.055


def test_high_rates_are_judged_by_exact_tests() -> None:
    """D4: 52 beside 5,000 at .985, where many failures are the evidence: .069 by the score."""
    assert any_violated([52], 5000, 0.985, "ratio", 0.85, 0.985 * 0.85) <= 0.055
    assert any_violated([52], 5000, 0.985, "difference", 0.1, 0.885) <= 0.055


@pytest.mark.slow
def test_a_family_of_twelve_keeps_its_error() -> None:
    """D3: 12 groups of 25 to 450 beside 20,000 at .9, all at the end of the fair range.

    .074 and .069 by the score.
    """
    sizes = np.linspace(25, 450, 12).astype(int).tolist()
    assert any_violated(sizes, 20_000, 0.9, "ratio", 0.9, 0.81) <= 0.055
    assert any_violated(sizes, 20_000, 0.9, "difference", 0.1, 0.8) <= 0.055


@pytest.mark.slow
def test_equality_keeps_its_error_over_thirty_small_groups() -> None:
    """Adjusted p-values of equality, groups of 1 to 30 beside 300 at .1: up to .33 by the score."""
    sizes = list(range(1, 31))
    error = 0.05 / len(sizes)
    nodes = binom.ppf((np.arange(N_NODES) + 0.5) / N_NODES, 300, 0.1).astype(int)
    total = 0.0
    for k0 in nodes.tolist():
        none = 1.0
        for n in sizes:
            counts = SelectionCounts.from_counts
            rejects = 0.0
            for k in range(n + 1):
                estimates = estimate_rate(
                    counts({"g": (k, n - k), "h": (k0, 300 - k0)}), RATES["selection_rate"]
                )
                pair = exact_pair(estimates, 0, 1, error)
                assert pair is not None
                if pair.equality() <= error:
                    rejects += float(binom.pmf(k, n, 0.1))
            none *= 1 - rejects
        total += (1 - none) / N_NODES
    assert total <= 0.055


# ---------------------------------------------------------------- the rule itself


def test_a_family_chosen_by_the_data_is_settled_by_bonferroni() -> None:
    family = [Evidence(below=0.004), Evidence(above=0.02)]
    first, second = decide(family, confidence_level=0.95, chosen_among=10)
    assert (first.verdict, first.pvalue_adjusted) == ("violated", pytest.approx(0.04))
    assert (second.verdict, second.pvalue_adjusted) == ("undecided", pytest.approx(0.2))
    assert decide(family, confidence_level=0.95) == settle(family, confidence_level=0.95)


@pytest.mark.parametrize(
    ("count", "adjust", "chosen", "error"),
    [(5, "holm", 0, 0.01), (5, "none", 0, 0.05), (1, "holm", 0, 0.05), (4, "holm", 10, 0.005)],
)
def test_the_error_that_a_test_must_be_right_at(
    count: int, adjust: str, chosen: int, error: float
) -> None:
    assert sharpest_level(0.95, count, adjust, chosen_among=chosen) == pytest.approx(error)


def test_limits_say_on_which_side_they_lie() -> None:
    fair = (-0.1, 0.1)
    limits = {"below": (-0.3, -0.2), "above": (0.2, 0.3), "inside": (-0.05, 0.05), "": (-0.2, 0.05)}
    assert {side: side_of(*ends, fair=fair) for side, ends in limits.items()} == {
        side: side for side in limits
    }


def test_a_procedure_says_what_was_used() -> None:
    (row,) = fs.disparate_impact(
        counts={"a": (300, 700), "b": (400, 600)}, reference="b"
    ).comparisons
    assert row.procedure == Procedure("score", "score", exact=False, df=math.inf)
    (row,) = fs.disparate_impact(
        counts={"a": (300, 700), "b": (400, 600)}, reference="b", method="log"
    ).comparisons
    assert row.procedure.kind == "standard error"


def test_the_largest_of_several_gaps_is_over_all_pairs() -> None:
    """Above: the smallest p-value over pairs is not less than alone, and at most Bonferroni's.

    Inside: the largest.
    """
    counts = {"a": (300, 700), "b": (400, 600), "c": (410, 590)}
    (gap,) = fs.demographic_parity_difference(counts=counts, agg="max", margin=0.05).comparisons
    pairs = fs.demographic_parity_difference(
        counts=counts, comparisons="all", margin=0.05
    ).comparisons
    smallest = min(c.pvalue_verdict for c in pairs if c.direction in ("below", "above"))
    assert gap.verdict == "violated"
    assert smallest <= gap.pvalue_verdict <= 3 * smallest
    (gap,) = fs.demographic_parity_difference(counts=counts, agg="max", margin=0.3).comparisons
    pairs = fs.demographic_parity_difference(
        counts=counts, comparisons="all", margin=0.3
    ).comparisons
    assert gap.verdict == "satisfied"
    assert gap.pvalue_verdict == pytest.approx(max(c.pvalue_verdict for c in pairs), rel=1e-9)


def test_adjusted_pvalues_of_equality_follow_the_exact_tests() -> None:
    counts = {"a": (150, 150), "b": (0, 6), "c": (1, 0), "d": (70, 30)}
    rows = fs.disparate_impact(counts=counts, reference="a").comparisons
    assert all(row.procedure.exact for row in rows if row.n < 10)
    expected = adjust_pvalues([row.pvalue for row in rows], "holm")
    assert [row.pvalue_adjusted for row in rows] == pytest.approx(expected.tolist())


def test_a_test_of_many_rows_is_the_score_test() -> None:
    (row,) = fs.demographic_parity_difference(
        counts={"a": (3000, 7000), "b": (3200, 6800)}, reference="b"
    ).comparisons
    pooled = 6200 / 20_000
    z = -0.02 / math.sqrt(pooled * (1 - pooled) * (2 / 10_000) * 20_000 / 19_999)
    assert row.pvalue == pytest.approx(2 * norm.sf(abs(z)), rel=1e-9)


def test_exact_decisions_name_every_test() -> None:
    estimates = estimate_rate(
        SelectionCounts.from_counts({"g": (3, 9), "h": (90, 110)}), RATES["selection_rate"]
    )
    pair = exact_pair(estimates, 0, 1, 0.05)
    assert pair is not None
    by = pair_method(estimates, 0, 1, "ratio", "score", n_resamples=0, rng=None)
    decision = decide_exactly(pair, by, "ratio", Inference(threshold=0.8), (0.95, 0.9))
    exact = [test.alternative for test in decision.tests if test.exact]
    assert exact == ["less", "greater", "two-sided", "equivalence"]
    assert [test.alternative for test in decision.tests if not test.exact] == exact


# ---------------------------------------------------------------- two one-sided tests


def test_equivalence_is_the_test_that_decides_with_its_own_sign() -> None:
    """Witness: statsmodels' `tost_proportions_2indep`, statistic and p-value.

    Estimates below and above the middle.
    """
    for k, k0 in ((15, 28), (44, 28)):
        counts = {"a": (k, 100 - k), "b": (k0, 120 - k0)}
        result = fs.demographic_parity_difference(
            counts=counts, reference="b", margin=0.3, method="delta"
        )
        (test,) = (
            test for test in result.comparisons[0].tests if test.alternative == "equivalence"
        )
        other = tost_proportions_2indep(k, 100, k0, 120, -0.3, 0.3, compare="diff", method="wald")
        assert test.pvalue == pytest.approx(other.pvalue, rel=1e-10)
        assert test.statistic == pytest.approx(other.statistic, rel=1e-10)


@pytest.mark.parametrize("upside_down", [False, True])
def test_equivalence_has_one_sign_in_score_exact_and_stratified_rows(upside_down: bool) -> None:
    """Positive where the lower end of the fair range decides, negative where the upper end does.

    Witness of the exact row: p-values of both one-sided tests by `fs.rates`; of strata: the normal
    law."""
    counts = {"a": (20, 15), "b": (380, 240)}
    if upside_down:
        counts = {name: (failures, successes) for name, (successes, failures) in counts.items()}
    (row,) = fs.demographic_parity_difference(counts=counts, reference="b", margin=0.3).comparisons
    exact, score = (test for test in row.tests if test.alternative == "equivalence")
    assert exact.exact
    assert exact.statistic == score.statistic
    assert (exact.statistic < 0) == upside_down
    (k, f), (k0, f0) = counts.values()
    null, alternative = (0.3, "less") if upside_down else (-0.3, "greater")
    expected = fs.rates.pvalue(
        k,
        k + f,
        k0,
        k0 + f0,
        contrast="difference",
        null=null,
        alternative=alternative,
        method="exact",
    )
    assert exact.pvalue == pytest.approx(expected, rel=1e-12)

    groups = np.repeat(["a", "b"], [400, 800])
    chosen = np.concatenate([np.arange(400) < 190, np.arange(800) < 400]) != upside_down
    stratum = np.arange(1_200) % 3
    result = fs.demographic_parity_difference(
        y_pred=chosen.astype(int),
        sensitive_features=groups,
        strata=stratum,
        reference="b",
        margin=0.1,
    )
    (test,) = (
        test for test in result.stratified.comparisons[0].tests if test.alternative == "equivalence"
    )
    assert (test.statistic < 0) == upside_down
    assert test.pvalue == pytest.approx(norm.sf(abs(test.statistic)), rel=1e-12)
    assert test.pvalue < 0.05
