"""`strata=`: crude and adjusted side by side.

Witnesses: statsmodels, the kernel, R, closed forms.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from statsmodels.stats.contingency_tables import StratifiedTable

import fairstats as fs
from fairstats.numerics.rates.score_limits import ratio_limit
from fairstats.numerics.rates.strata import Strata, guarded_statistic, score_limit, score_statistic

#: stratum → (k₀, n₀, k₁, n₁): group a against reference b.
Tables = dict[str, tuple[int, int, int, int]]
STRATA: Tables = {"easy": (40, 60, 70, 90), "middle": (25, 70, 30, 60), "hard": (10, 80, 9, 50)}
#: Admissions to Berkeley, 1973: women and men (Bickel, Hammel, O'Connell 1975; R's UCBAdmissions).
BERKELEY: Tables = {
    "A": (89, 108, 512, 825),
    "B": (17, 25, 353, 560),
    "C": (202, 593, 120, 325),
    "D": (131, 375, 138, 417),
    "E": (94, 393, 53, 191),
    "F": (24, 341, 22, 373),
}
#: No success of the group in either stratum: twice the smaller exact conditional tail is .0556 (R:
#: mantelhaen.test).
FEW_IN_STRATA: Tables = {"x": (0, 6, 3, 7), "y": (0, 6, 2, 6)}


def expand(strata: Tables) -> dict[str, np.ndarray]:
    chosen = []
    group = []
    stratum = []
    for name, (k0, n0, k1, n1) in strata.items():
        chosen += [*(np.arange(n0) < k0), *(np.arange(n1) < k1)]
        group += ["a"] * n0 + ["b"] * n1
        stratum += [name] * (n0 + n1)
    return {
        "y_pred": np.array(chosen),
        "sensitive_features": np.array(group),
        "strata": np.array(stratum),
    }


def ratio(strata: Tables, **options: Any) -> Any:
    return fs.disparate_impact(**expand(strata), reference="b", **options)


def kernel(strata: Tables) -> Strata:
    return Strata.of(*np.array(list(strata.values())).T)


def test_berkeley_crude_and_by_department() -> None:
    """Crude .68, by department 1.06: R's mantelhaen.test p = .2169.

    Breslow–Day p = .00207 (statsmodels).
    """
    result = ratio(BERKELEY)
    (crude,), (within,) = result.comparisons, result.stratified.comparisons
    assert crude.estimate == pytest.approx((557 / 1835) / (1198 / 2691), rel=1e-12)
    assert crude.verdict == "violated"
    assert within.estimate == pytest.approx(1.058307, abs=1e-6)
    assert within.verdict == "satisfied"
    assert within.pvalue == pytest.approx(0.2169, abs=5e-5)
    assert within.crude == crude.estimate
    (row,) = result.to_frame().to_dict("records")
    assert (row["adjusted"], row["adjusted_verdict"]) == (within.estimate, "satisfied")
    assert (row["adjusted_ci_low"], row["adjusted_ci_high"]) == tuple(within.confidence_interval)
    (sentence,) = result.disagreements()
    assert "crude ratio 0.682 (violated), within 6 strata 1.058" in sentence
    assert result.sentences()[0].endswith(sentence)
    assert "Strata differ" in sentence
    tests = within.tests
    found = {test.method.partition(" ")[0]: test.pvalue for test in tests}
    assert found["exact"] == pytest.approx(2 * 0.11599367, abs=1e-6)
    assert found["Breslow–Day"] == pytest.approx(0.0020714, abs=1e-7)


def test_estimate_limits_and_verdict_are_those_of_the_kernel() -> None:
    (within,) = ratio(STRATA).stratified.comparisons
    tables = kernel(STRATA)
    witness = StratifiedTable(
        [np.array([[k0, n0 - k0], [k1, n1 - k1]]) for k0, n0, k1, n1 in STRATA.values()]
    )
    assert within.estimate == pytest.approx(witness.riskratio_pooled, rel=1e-12)
    limits = [float(score_limit(tables, norm.ppf(0.975), "ratio", side=side)) for side in (-1, 1)]
    assert tuple(within.confidence_interval) == pytest.approx(limits, rel=1e-12)
    assert within.pvalue == pytest.approx(
        witness.test_null_odds(correction=False).pvalue, rel=1e-10
    )
    z_low, z_high = (float(guarded_statistic(tables, end, "ratio")) for end in (0.8, 1.25))
    below = norm.cdf(z_low) + norm.cdf(z_low - (z_low - z_high))
    assert within.direction == "below" or within.direction == "inside"
    if within.direction == "below":
        assert within.pvalue_verdict == pytest.approx(below, rel=1e-9)
    assert within.rate / within.rate_reference == pytest.approx(within.estimate, rel=1e-12)


@pytest.mark.parametrize(
    ("threshold", "level"), [(0.8, 0.95), (0.95, 0.9), (1.0, 0.95), (0.99, 0.8)]
)
@pytest.mark.parametrize(
    "tables", [STRATA, {"x": (2, 12, 30, 80), "y": (5, 11, 44, 70)}], ids=["many", "few"]
)
def test_p_value_limits_and_verdict_of_a_row_agree(
    tables: Tables, threshold: float, level: float
) -> None:
    """The verdict's p is below α exactly where a bound leaves the fair range.

    The interval holds 1 where p > α.
    """
    (c,) = ratio(tables, threshold=threshold, confidence_level=level).stratified.comparisons
    shown = c.bounds.high < threshold or c.bounds.low > 1 / threshold
    assert (c.pvalue_verdict <= 1 - level) == (shown or c.verdict == "satisfied")
    low, high = c.confidence_interval
    assert (low <= 1 <= high) == (c.pvalue > 1 - level)


def test_a_confounder_is_taken_out() -> None:
    """Equal rates within each stratum, different strata: crude ratio 0.5, adjusted 1."""
    result = ratio({"easy": (80, 100, 320, 400), "hard": (40, 400, 10, 100)})
    assert result.stratified.estimate == pytest.approx(1.0)
    assert result.stratified.crude[0] == result.estimate == pytest.approx((120 / 500) / (330 / 500))
    assert len(result.disagreements()) == 1


def test_crude_and_adjusted_that_agree_say_nothing() -> None:
    result = ratio({"one": (50, 100, 100, 100), "two": (25, 100, 50, 100)})
    assert result.disagreements() == []
    assert result.verdict == result.stratified.verdict == "violated"


def test_zeros_are_answered() -> None:
    """D7: R's mantelhaen.test χ² 24.923, p 6.0e-7; exact 1.1e-7."""
    (c,) = ratio({"x": (0, 50, 10, 50), "y": (0, 40, 12, 40)}).stratified.comparisons
    assert (c.estimate, c.verdict) == (0, "violated")
    found = {test.method.partition(" ")[0]: (test.statistic, test.pvalue) for test in c.tests}
    assert found["Cochran–Mantel–Haenszel"] == pytest.approx((24.9227305, 5.96746602e-07), rel=1e-8)
    assert found["exact"][1] == pytest.approx(1.10059203e-07, rel=1e-8)


def test_homogeneity_never_vanishes_without_a_word() -> None:
    """D17: a pooled odds ratio of exactly 1 has its test; one of 0 has none, and a note says so."""
    even = ratio(
        {"one": (7, 10, 3, 10), "two": (3, 10, 7, 10), "nobody": (0, 8, 0, 9), "all": (8, 8, 9, 9)}
    )
    tests = {t.method.partition(" ")[0]: t for t in even.stratified.comparisons[0].tests}
    assert tests["Breslow–Day"].statistic == pytest.approx(6.4, rel=1e-12)
    assert "2 informative strata" in tests["Breslow–Day"].null
    none = ratio({"x": (0, 50, 10, 50), "y": (0, 40, 12, 40)}).stratified
    assert any(
        "Breslow–Day" in note and "not defined where the pooled odds ratio is 0" in note
        for note in none.notes()
    )
    single = ratio({"x": (4, 50, 10, 50), "nobody": (0, 8, 0, 9)}).stratified
    assert any("not defined for 1 informative strata" in note for note in single.notes())


def test_strata_that_differ_are_told() -> None:
    result = ratio({"one": (20, 100, 80, 100), "two": (80, 100, 20, 100)})
    assert any("one ratio does not describe all strata" in note for note in result.notes())
    assert not any("does not describe" in note for note in ratio(STRATA).notes())


@pytest.mark.parametrize("alternative", ["less", "greater"])
def test_one_sided(alternative: str) -> None:
    (c,) = ratio(STRATA, alternative=alternative).stratified.comparisons
    z = float(guarded_statistic(kernel(STRATA), 0.8, "ratio"))
    assert c.pvalue == pytest.approx(norm.cdf(z) if alternative == "less" else norm.sf(z), rel=1e-9)
    low, high = c.confidence_interval
    end = high if alternative == "less" else low
    at_end = float(guarded_statistic(kernel(STRATA), end, "ratio"))
    assert at_end == pytest.approx(norm.ppf(0.05) * (1 if alternative == "less" else -1), rel=1e-8)
    assert (low == 0) == (alternative == "less")
    assert (high == math.inf) == (alternative == "greater")


def test_strata_with_one_group_say_nothing() -> None:
    more = ratio({**STRATA, "only a": (5, 9, 0, 0), "only b": (0, 0, 3, 7)}).stratified
    plain = ratio(STRATA).stratified
    assert more.estimate == pytest.approx(plain.estimate, rel=1e-12)
    assert tuple(more.confidence_interval) == pytest.approx(
        tuple(plain.confidence_interval), rel=1e-12
    )
    assert len(more.strata) == 5
    assert more.comparisons[0].n_strata == 3


def test_no_common_stratum() -> None:
    with pytest.warns(fs.FairstatsWarning, match="no stratum has cases of both"):
        result = ratio({"only a": (5, 9, 0, 0), "only b": (0, 0, 3, 7)})
    assert result.stratified.verdict == "insufficient evidence"


def test_everyone_selected_is_a_ratio_of_one() -> None:
    result = ratio({"one": (25, 25, 66, 66), "two": (30, 30, 40, 40)}).stratified
    assert (result.estimate, result.pvalue) == (1, 1)


def test_too_few_cases_have_an_exact_test_of_equality_and_no_verdict() -> None:
    with pytest.warns(fs.FairstatsWarning, match="8 cases of the smaller group"):
        result = ratio({"x": (0, 4, 30, 30), "y": (0, 4, 29, 30)}).stratified
    assert result.verdict == "insufficient evidence"
    assert result.pvalue < 1e-4
    assert result.estimate == 0


def test_differences_odds_and_rates_of_labels() -> None:
    """Against the kernel: TPR within strata; average odds by MOVER lie between their parts."""
    rng = np.random.default_rng(2)
    n = 4_000
    frame = pd.DataFrame({"g": rng.choice(list("abc"), n), "s": rng.choice(["x", "y", "z"], n)})
    frame["y"] = (rng.random(n) < 0.5).astype(int)
    frame["p"] = (rng.random(n) < 0.3 + 0.2 * frame["y"] + 0.1 * (frame["s"] == "x")).astype(int)
    columns = {"sensitive_features": frame["g"], "strata": frame["s"], "reference": "a"}
    result = fs.equal_opportunity_difference(frame["y"], frame["p"], **columns).stratified
    assert len(result.comparisons) == 2
    positive = frame[frame["y"] == 1]
    counts = positive.groupby(["s", "g"])["p"].agg(["sum", "count"])
    for c in result.comparisons:
        own = counts.xs(c.group, level="g")
        other = counts.xs("a", level="g")
        tables = Strata.of(own["sum"], own["count"], other["sum"], other["count"])
        assert c.pvalue == pytest.approx(
            2 * norm.sf(abs(float(score_statistic(tables, 0.0, "difference")))), rel=1e-9
        )
    odds = fs.equalized_odds_difference(frame["y"], frame["p"], **columns).stratified
    assert len(odds.comparisons) == 4
    average = fs.average_odds_difference(frame["y"], frame["p"], **columns).stratified
    for k, c in enumerate(average.comparisons):
        parts = [odds.comparisons[k], odds.comparisons[k + 2]]
        assert c.estimate == pytest.approx(np.mean([part.estimate for part in parts]), rel=1e-12)
        assert c.confidence_interval.width < max(part.confidence_interval.width for part in parts)
    precision = fs.group_metric(
        frame["y"], frame["p"], metric="ppv", contrast="ratio", **columns
    ).stratified
    assert precision.comparisons[0].metric == "ppv_ratio_stratified"


def test_by_stratum() -> None:
    table = ratio(BERKELEY).stratified.by_stratum()
    assert table["stratum"].tolist() == list("ABCDEF")
    first = table.iloc[0]
    assert (first["successes"], first["n"], first["rate_reference"]) == (89, 108, 512 / 825)
    assert first["estimate"] == pytest.approx((89 / 108) / (512 / 825))
    z = norm.ppf(0.975)
    alone = [
        ratio_limit((89, 108, 512, 825), z, True, side=side, continuity=False) for side in (-1, 1)
    ]
    assert (first["ci_low"], first["ci_high"]) == pytest.approx(alone, rel=1e-9)
    assert table["informative"].all()


def test_a_tally_brings_its_strata_along() -> None:
    frame = pd.DataFrame(expand(BERKELEY)).rename(
        columns={"strata": "dept", "sensitive_features": "sex"}
    )
    counted = fs.tally(frame, y_pred="y_pred", sensitive_features="sex", strata="dept")
    result = fs.disparate_impact(counts=fs.Tally.from_json(counted.to_json()), reference="b")
    rows = fs.disparate_impact(
        frame["y_pred"], sensitive_features=frame["sex"], strata=frame["dept"], reference="b"
    )
    pd.testing.assert_frame_equal(result.to_frame(), rows.to_frame())
    assert "within 6 strata of dept" in result.disagreements()[0]
    with pytest.raises(fs.InputError, match="both counts and rows"):
        fs.disparate_impact(counts=counted, strata=frame["dept"])


def test_results_survive_json() -> None:
    result = ratio(BERKELEY)
    again = type(result).from_dict(result.to_dict())
    pd.testing.assert_frame_equal(again.to_frame(), result.to_frame())
    pd.testing.assert_frame_equal(again.stratified.by_stratum(), result.stratified.by_stratum())


def test_many_groups_and_sufficient_statistics(rng: np.random.Generator) -> None:
    n = 600
    p = rng.integers(0, 2, n)
    g = rng.choice(list("abc"), n)
    s = rng.integers(0, 4, n)
    result = fs.disparate_impact(p, sensitive_features=g, strata=s, reference="a").stratified
    assert [c.group for c in result.comparisons] == [x for x in result.counts.groups if x != "a"]
    assert result.stratum_counts.rows.shape == (4, 3, 2)
    np.testing.assert_array_equal(result.stratum_counts.rows.sum(axis=0), result.counts.totals)
    assert result.strata == ("0", "1", "2", "3")
    pairs = fs.disparate_impact(p, sensitive_features=g, strata=s, comparisons="all").stratified
    assert len(pairs.comparisons) == 3


def test_strata_are_in_numeric_order() -> None:
    s = np.tile([2, 10, 1], 20)
    result = fs.disparate_impact(
        np.tile([1, 0], 30), sensitive_features=list("aabb") * 15, strata=s
    )
    assert result.stratified.strata == ("1", "2", "10")


def test_verdicts_over_strata_are_family_wise_and_in_both_directions() -> None:
    """Three groups against b: far below, alike, far above."""
    chosen = []
    group = []
    stratum = []
    for h, base in (("x", 0.3), ("y", 0.45)):
        for name, factor, n in (
            ("a", 0.4, 300),
            ("b", 1.0, 3_000),
            ("c", 1.0, 3_000),
            ("d", 1.9, 300),
        ):
            chosen += [*(np.arange(n) < round(n * base * factor))]
            group += [name] * n
            stratum += [h] * n
    columns = {"sensitive_features": group, "strata": stratum, "reference": "b"}
    result = fs.disparate_impact(chosen, **columns).stratified
    found = {c.group: (c.verdict, c.direction) for c in result.comparisons}
    assert found == {
        "a": ("violated", "below"),
        "c": ("satisfied", "inside"),
        "d": ("violated", "above"),
    }
    p = sorted(c.pvalue_verdict for c in result.comparisons)
    adjusted = sorted(c.pvalue_verdict_adjusted for c in result.comparisons)
    assert adjusted == pytest.approx(np.maximum.accumulate(np.array(p) * [3, 2, 1]))
    alone = fs.disparate_impact(chosen, **columns, adjust="none").stratified
    assert all(c.pvalue_verdict == c.pvalue_verdict_adjusted for c in alone.comparisons)


def test_worst_case_bounds_are_those_of_the_crude_comparison() -> None:
    with pytest.raises(fs.InputError, match="`strata`"):
        ratio(STRATA).stratified.worst_case_bounds()


def test_at_a_threshold_of_one_the_exact_test_speaks_in_the_limits_too() -> None:
    """The exact conditional test keeps equality, the score alone would not (.0215, mantelhaen.test
    without correction).

    Once the limits of the verdict left out 1, and its p-value said that nothing is shown.
    """
    (c,) = ratio(FEW_IN_STRATA, threshold=1.0).stratified.comparisons
    tests = {test.method: test.pvalue for test in c.tests}
    assert tests["Cochran–Mantel–Haenszel"] == pytest.approx(0.02150372, abs=1e-8)
    assert tests["exact conditional (twice the smaller tail)"] == pytest.approx(
        0.05562619, abs=1e-8
    )
    assert c.pvalue_verdict == pytest.approx(0.05562619, abs=1e-8)
    assert c.verdict == "undecided"
    assert c.bounds.low <= 1.0 <= c.bounds.high
    assert c.confidence_interval.low <= 1.0 <= c.confidence_interval.high


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")
def test_intervals_beside_a_chosen_reference_say_what_the_adjusted_test_says() -> None:
    """With the reference of the highest rate and Bonferroni, every interval holds at once: none
    leaves equality out where the exact conditional test, times all pairs, does not reject it. (Of
    these 50 comparisons three did.)"""
    n_between = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        groups = np.repeat(list("abcdef"), [20, 20, 15, 15, 12, 12])
        strata = rng.integers(0, 3, groups.size)
        rates = np.select([groups == "a", groups == "b"], [0.95, 0.35], 0.7)
        found = fs.demographic_parity_difference(
            None,
            (rng.random(groups.size) < rates).astype(int),
            sensitive_features=groups,
            strata=strata,
            reference="highest",
            adjust="bonferroni",
        )
        for comparison in found.stratified.comparisons:
            low, high = comparison.confidence_interval
            n_between += comparison.pvalue < 0.05 < comparison.pvalue_adjusted
            assert low <= 0 <= high or comparison.pvalue_adjusted <= 0.05
    assert n_between > 5
