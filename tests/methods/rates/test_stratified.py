"""Mantel–Haenszel ratio. Witnesses: statsmodels' StratifiedTable, one stratum in closed form, simulation,
R's epitools formula.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, norm
from statsmodels.stats.contingency_tables import StratifiedTable

import fairstats as fs

#: stratum → (k₀, n₀, k₁, n₁): group a against reference b.
STRATA = {"easy": (40, 60, 70, 90), "middle": (25, 70, 30, 60), "hard": (10, 80, 9, 50)}


def expand(strata: dict[str, tuple[int, int, int, int]]) -> dict[str, np.ndarray]:
    chosen, group, stratum = [], [], []
    for name, (k0, n0, k1, n1) in strata.items():
        chosen += [*(np.arange(n0) < k0), *(np.arange(n1) < k1)]
        group += ["a"] * n0 + ["b"] * n1
        stratum += [name] * (n0 + n1)
    return {"y_pred": np.array(chosen), "sensitive_features": np.array(group), "strata": np.array(stratum)}


def ratio(strata: dict[str, tuple[int, int, int, int]], **options: Any) -> Any:
    return fs.stratified_ratio(**expand(strata), reference="b", **options)


def tables(strata: dict[str, tuple[int, int, int, int]]) -> StratifiedTable:
    return StratifiedTable([np.array([[k0, n0 - k0], [k1, n1 - k1]]) for k0, n0, k1, n1 in strata.values()])


def greenland_robins(strata: dict[str, tuple[int, int, int, int]]) -> tuple[float, float]:
    """Ratio and Var(log ratio), Greenland & Robins (1985), eq. 13, term by term."""
    r = s = v = 0.0
    for k0, n0, k1, n1 in strata.values():
        n = n0 + n1
        r += k0 * n1 / n
        s += k1 * n0 / n
        v += ((k0 + k1) * n0 * n1 - k0 * k1 * n) / n**2
    return r / s, v / (r * s)


def test_estimate_as_statsmodels_and_variance_by_hand() -> None:
    result = ratio(STRATA)
    value, variance = greenland_robins(STRATA)
    assert result.estimate == pytest.approx(tables(STRATA).riskratio_pooled, rel=1e-12)
    assert result.estimate == pytest.approx(value, rel=1e-12)
    assert result.std_error == pytest.approx(value * np.sqrt(variance), rel=1e-12)
    reach = norm.ppf(0.975) * np.sqrt(variance)
    assert np.log(tuple(result.confidence_interval)) == pytest.approx([np.log(value) - reach, np.log(value) + reach])


def test_one_stratum_is_the_log_interval() -> None:
    strata = {"all": (40, 60, 70, 90)}
    result = ratio(strata)
    plain = fs.disparate_impact(counts={"a": (40, 20), "b": (70, 20)}, reference="b", method="log")
    assert tuple(result.confidence_interval) == pytest.approx(tuple(plain.confidence_interval), rel=1e-12)
    assert result.pvalue == pytest.approx(plain.pvalue, rel=1e-10)
    assert result.verdict == plain.verdict
    assert result.crude[0] == pytest.approx(plain.estimate)


def test_a_confounder_is_taken_out() -> None:
    """Equal rates within each stratum, different strata: crude ratio 0.5, adjusted 1."""
    result = ratio({"easy": (80, 100, 320, 400), "hard": (40, 400, 10, 100)})
    assert result.estimate == pytest.approx(1.0)
    assert result.crude[0] == pytest.approx((120 / 500) / (330 / 500))


def test_tests_as_statsmodels() -> None:
    found = ratio(STRATA).tests()
    witness = tables(STRATA)
    cmh = found[found["method"].str.startswith("Cochran–Mantel")].iloc[0]
    wanted = witness.test_null_odds(correction=False)
    assert (cmh["statistic"], cmh["pvalue"]) == pytest.approx((wanted.statistic, wanted.pvalue), rel=1e-10)
    tarone = found[found["method"].str.startswith("Breslow")].iloc[0]
    wanted = witness.test_equal_odds(adjust=True)
    assert (tarone["statistic"], tarone["pvalue"]) == pytest.approx((wanted.statistic, wanted.pvalue), rel=1e-10)


def test_cochrans_q_by_hand() -> None:
    logs, weights = [], []
    for k0, n0, k1, n1 in STRATA.values():
        logs.append(np.log((k0 / n0) / (k1 / n1)))
        weights.append(1 / (1 / k0 - 1 / n0 + 1 / k1 - 1 / n1))
    mean = np.average(logs, weights=weights)
    q = np.sum(np.array(weights) * (np.array(logs) - mean) ** 2)
    found = ratio(STRATA).tests()
    row = found[found["method"] == "Cochran's Q"].iloc[0]
    assert (row["statistic"], row["pvalue"]) == pytest.approx((q, chi2.sf(q, 2)), rel=1e-10)


def test_strata_that_differ_are_told() -> None:
    result = ratio({"one": (20, 100, 80, 100), "two": (80, 100, 20, 100)})
    assert any("one ratio does not describe all strata" in note for note in result.notes())
    assert not any("does not describe" in note for note in ratio(STRATA).notes())


def test_coverage_with_sparse_strata(rng: np.random.Generator) -> None:
    """30 strata of 6 + 8 rows, ratio 0.7 in all: what the Greenland–Robins variance is made for.

    1,500 samples: 95% within four binomial standard errors (2.3%).
    """
    hits = 0
    base = rng.uniform(0.2, 0.9, 30)
    for _ in range(1_500):
        k0, k1 = rng.binomial(6, 0.7 * base), rng.binomial(8, base)
        value, variance = greenland_robins({h: (k0[h], 6, k1[h], 8) for h in range(30)})  # type: ignore[misc]
        reach = norm.ppf(0.975) * np.sqrt(variance)
        hits += abs(np.log(value / 0.7)) <= reach
    assert hits / 1_500 == pytest.approx(0.95, abs=0.023)


@pytest.mark.parametrize("alternative", ["less", "greater"])
def test_one_sided(alternative: str) -> None:
    result = ratio(STRATA, alternative=alternative)
    value, variance = greenland_robins(STRATA)
    z = np.log(value / 0.8) / np.sqrt(variance)
    assert result.pvalue == pytest.approx(norm.cdf(z) if alternative == "less" else norm.sf(z), rel=1e-9)
    low, high = result.confidence_interval
    end = high if alternative == "less" else low
    reach = norm.ppf(0.95) * np.sqrt(variance) * (1 if alternative == "less" else -1)
    assert np.log(end) == pytest.approx(np.log(value) + reach, rel=1e-9)
    assert (low == 0) == (alternative == "less")
    assert (high == np.inf) == (alternative == "greater")


def test_strata_with_one_group_say_nothing() -> None:
    result = ratio({**STRATA, "only a": (5, 9, 0, 0), "only b": (0, 0, 3, 7)})
    assert result.estimate == pytest.approx(ratio(STRATA).estimate, rel=1e-12)
    assert result.std_error == pytest.approx(ratio(STRATA).std_error, rel=1e-12)
    assert len(result.strata) == 5


def test_no_common_stratum() -> None:
    with pytest.warns(fs.FairstatsWarning, match="no stratum where both occur"):
        result = ratio({"only a": (5, 9, 0, 0), "only b": (0, 0, 3, 7)})
    assert result.verdict == "insufficient evidence"


def test_everyone_selected() -> None:
    with pytest.warns(fs.FairstatsWarning, match="no failure in any stratum"):
        result = ratio({"one": (5, 5, 6, 6), "two": (3, 3, 4, 4)})
    assert result.verdict == "insufficient evidence"


def test_a_stratum_without_successes_does_not_break_the_tests() -> None:
    result = ratio({**STRATA, "nobody": (0, 10, 0, 12), "all": (10, 10, 12, 12)})
    assert not result.tests()["pvalue"].isna().any()
    value, _ = greenland_robins({**STRATA, "nobody": (0, 10, 0, 12), "all": (10, 10, 12, 12)})
    assert result.estimate == pytest.approx(value, rel=1e-12)


def test_many_groups_and_sufficient_statistics(rng: np.random.Generator) -> None:
    n = 600
    p, g, s = rng.integers(0, 2, n), rng.choice(list("abc"), n), rng.integers(0, 4, n)
    result = fs.stratified_ratio(p, sensitive_features=g, strata=s, reference="a")
    assert [c.group for c in result.comparisons] == [x for x in result.counts.groups if x != "a"]
    assert result.stratum_counts.shape == (4, 3, 2)
    assert result.stratum_counts.sum() == n
    np.testing.assert_array_equal(result.stratum_counts.sum(axis=0), result.counts.totals)
    assert result.strata == ("0", "1", "2", "3")


def test_strata_are_in_numeric_order() -> None:
    s = np.tile([2, 10, 1], 20)
    result = fs.stratified_ratio(np.tile([1, 0], 30), sensitive_features=list("aabb") * 15, strata=s)
    assert result.strata == ("1", "2", "10")


@pytest.mark.parametrize(("threshold", "level"), [(0.8, 0.95), (0.95, 0.9), (1.0, 0.95), (0.99, 0.8)])
def test_the_limits_behind_the_verdict_have_the_level_that_they_say(threshold: float, level: float) -> None:
    """Each end is the one-sided normal limit at the printed level, which lies between that of one test and of
    two; and the verdict's p-value is below α exactly where one of them excludes the fair range.
    """
    result = ratio(STRATA, threshold=threshold, confidence_level=level)
    value, variance = greenland_robins(STRATA)
    bounds = result.comparisons[0].bounds
    reach = norm.ppf(bounds.confidence_level) * np.sqrt(variance)
    assert np.log(tuple(bounds)) == pytest.approx([np.log(value) - reach, np.log(value) + reach], rel=1e-9)
    assert level - 1e-12 <= bounds.confidence_level <= (1 + level) / 2 + 1e-12
    width = 2 * abs(np.log(threshold)) / np.sqrt(variance)
    z = norm.ppf(bounds.confidence_level)
    assert norm.sf(z) + norm.sf(z + width) == pytest.approx(1 - level, abs=1e-9)
    (row,) = result.to_frame().to_dict("records")
    assert (row["bound_low"], row["bound_high"]) == tuple(bounds)
    shown = bounds.high < threshold or bounds.low > 1 / threshold
    assert (row["pvalue_verdict"] <= 1 - level) == (shown or row["verdict"] == "satisfied")
    below = norm.cdf(np.log(value / threshold) / np.sqrt(variance))
    above = norm.cdf(np.log(value * threshold) / np.sqrt(variance))
    assert result.comparisons[0].direction == "below"
    assert row["pvalue_verdict"] == pytest.approx(below + above, rel=1e-9)


def test_verdicts_over_strata_are_family_wise_and_in_both_directions() -> None:
    """Three groups against b: far below, alike, far above."""
    chosen, group, stratum = [], [], []
    for h, base in (("x", 0.3), ("y", 0.45)):
        for name, factor, n in (("a", 0.4, 300), ("b", 1.0, 3_000), ("c", 1.0, 3_000), ("d", 1.9, 300)):
            chosen += [*(np.arange(n) < round(n * base * factor))]
            group += [name] * n
            stratum += [h] * n
    result = fs.stratified_ratio(chosen, sensitive_features=group, strata=stratum, reference="b")
    found = {c.group: (c.verdict, c.direction) for c in result.comparisons}
    assert found == {"a": ("violated", "below"), "c": ("satisfied", "inside"), "d": ("violated", "above")}
    p = sorted(c.pvalue_verdict for c in result.comparisons)
    adjusted = sorted(c.pvalue_verdict_adjusted for c in result.comparisons)
    assert adjusted == pytest.approx(np.maximum.accumulate(np.array(p) * [3, 2, 1]))
    alone = fs.stratified_ratio(chosen, sensitive_features=group, strata=stratum, reference="b", adjust="none")
    assert all(c.pvalue_verdict == c.pvalue_verdict_adjusted for c in alone.comparisons)
