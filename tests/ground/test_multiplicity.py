"""Several comparisons at once: adjusted p-values, Bonferroni and max-|z| intervals.

Witnesses: statsmodels' `multipletests`; `scipy.stats.dunnett` (critical values of many-to-one
comparisons), `scipy.stats.studentized_range` (all pairs), the χ² distribution (perfectly known
cases)."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, multivariate_t, norm, studentized_range, t
from statsmodels.stats.multitest import multipletests

import fairstats as fs
from fairstats.ground import multiplicity
from fairstats.ground.multiplicity import (
    ADJUSTMENTS,
    MaxZ,
    adjust_pvalues,
    normal_cdf,
    normal_quantile,
    two_sided_pvalue,
)

#: What `MaxZ` states: its quantiles are right to about .01 (and a little more where a t has few
#: degrees).
MAX_Z_ERROR = 0.015


# ---------------------------------------------------------------- adjusted p-values


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=12),
    st.sampled_from([a for a in ADJUSTMENTS if a != "none"]),
)
def test_adjusted_as_statsmodels(pvalues: list[float], method: str) -> None:
    with np.errstate(divide="ignore"):  # statsmodels takes log(1 − p) for Šidák
        wanted = multipletests(pvalues, method=method)[1] if len(pvalues) > 1 else pvalues
    np.testing.assert_allclose(adjust_pvalues(pvalues, method), wanted, rtol=1e-12, atol=1e-300)


@given(
    st.lists(st.one_of(st.floats(0, 1), st.just(float("nan"))), max_size=12),
    st.sampled_from(ADJUSTMENTS),
)
def test_missing_p_values_do_not_count_in_the_family(pvalues: list[float], method: str) -> None:
    found = adjust_pvalues(pvalues, method)
    known = np.isfinite(pvalues)
    np.testing.assert_array_equal(np.isnan(found), ~known)
    np.testing.assert_array_equal(
        found[known], adjust_pvalues(np.asarray(pvalues)[known].tolist(), method)
    )


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=8),
    st.sampled_from(["holm", "bonferroni", "sidak", "hommel"]),
)
def test_adjusting_never_lowers_a_p_value_and_keeps_the_order(
    pvalues: list[float], method: str
) -> None:
    found = adjust_pvalues(pvalues, method)
    assert (found >= np.asarray(pvalues) - 1e-12).all()
    assert (found <= 1).all()
    assert (np.diff(found[np.argsort(pvalues, kind="stable")]) >= -1e-12).all()


def test_an_unknown_adjustment() -> None:
    with pytest.raises(fs.InputError, match="`adjust`: got 'tukey'; allowed: 'holm', 'bonferroni'"):
        adjust_pvalues([0.1], "tukey")


def test_normal_and_t() -> None:
    """Witness: `scipy.stats`."""
    for p in (0.001, 0.5, 0.975):
        assert normal_quantile(p) == pytest.approx(norm.ppf(p), rel=1e-12, abs=1e-15)
        assert normal_quantile(p, 7) == pytest.approx(t.ppf(p, 7), rel=1e-9, abs=1e-12)
    for z in (-5.0, 0.0, 1.3):
        assert normal_cdf(z) == pytest.approx(norm.cdf(z), rel=1e-12)
        assert normal_cdf(z, 7) == pytest.approx(t.cdf(z, 7), rel=1e-12)
        assert two_sided_pvalue(z) == pytest.approx(2 * norm.sf(abs(z)), rel=1e-12)


# ---------------------------------------------------------------- max-|z|


def many_to_one(n_groups: int) -> np.ndarray:
    """Covariance of group_g − control with equal variances: 1 + identity."""
    return np.ones((n_groups, n_groups)) + np.eye(n_groups)


def two_sided_probability(c: float, correlation: np.ndarray, df: float = np.inf) -> float:
    """P(|Z_j| ≤ c for all j) by scipy's integration of the multivariate normal or t."""
    ends = np.full(len(correlation), c)
    if np.isinf(df):
        return float(multivariate_normal.cdf(ends, cov=correlation, lower_limit=-ends, abseps=1e-6))
    return float(
        multivariate_t.cdf(ends, shape=correlation, df=df, lower_limit=-ends, random_state=1)
    )


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("n_groups", [2, 3, 6])
def test_many_to_one_as_dunnett(n_groups: int, level: float) -> None:
    """Dunnett's distribution for known variance.

    Correlation ½ between comparisons with one control.
    """
    covariance = many_to_one(n_groups)
    c = MaxZ(covariance).quantile(level)
    # At the quantile the exact probability is the level: an error of .015 in c is φ(c)·2·J·.015 at
    # most.
    exact = two_sided_probability(c, covariance / 2)
    assert exact == pytest.approx(level, abs=2 * n_groups * norm.pdf(c) * MAX_Z_ERROR)


def test_dunnett_by_scipy() -> None:
    """`scipy.stats.dunnett` on data with 3 × 400 observations.

    P-values to its Monte Carlo error.
    """
    from scipy.stats import dunnett

    rng = np.random.default_rng(4)
    control = rng.normal(0, 1, 400)
    first = rng.normal(0.14, 1, 400)
    second = rng.normal(0.2, 1, 400)
    witness = dunnett(first, second, control=control, rng=np.random.default_rng(1))
    maximum = MaxZ(many_to_one(2), degrees_of_freedom=1_197)
    found = [maximum.pvalue(abs(z)) for z in witness.statistic]
    np.testing.assert_allclose(found, witness.pvalue, atol=0.005)


@pytest.mark.parametrize("n_groups", [3, 4, 6])
@pytest.mark.parametrize("df", [np.inf, 20.0])
def test_all_pairs_as_the_studentised_range(n_groups: int, df: float) -> None:
    """max |x̄_i − x̄_j|/(s√(2/n)) is the range divided by √2 (Tukey)."""
    pairs = [(i, j) for i in range(n_groups) for j in range(i)]
    contrast = np.zeros((len(pairs), n_groups))
    for row, (i, j) in enumerate(pairs):
        contrast[row, i], contrast[row, j] = 1, -1
    maximum = MaxZ(contrast @ contrast.T, df)
    for level in (0.9, 0.95, 0.99):
        law = studentized_range(n_groups, 1e6 if np.isinf(df) else df)
        wanted = law.ppf(level) / np.sqrt(2)
        # Three standard errors of the quantile of 2¹⁶ draws.
        error = (
            3 * np.sqrt(level * (1 - level) / 2**16) / (law.pdf(wanted * np.sqrt(2)) * np.sqrt(2))
        )
        assert maximum.quantile(level) == pytest.approx(wanted, abs=error)
        assert maximum.pvalue(wanted) == pytest.approx(1 - level, abs=0.004)


def test_independent_estimates_as_sidak() -> None:
    """P(max ≤ c) = P(|Z| ≤ c)^J."""
    for n in (2, 5, 12):
        wanted = norm.ppf((1 + 0.95 ** (1 / n)) / 2)
        assert MaxZ(np.diag(np.arange(1.0, n + 1))).quantile(0.95) == pytest.approx(
            wanted, abs=MAX_Z_ERROR
        )


def test_identical_estimates_are_one() -> None:
    assert MaxZ(np.ones((4, 4))).quantile(0.95) == pytest.approx(norm.ppf(0.975), abs=MAX_Z_ERROR)


def test_one_estimate_needs_no_simulation() -> None:
    maximum = MaxZ(np.array([[3.0]]))
    assert maximum.quantile(0.95) == pytest.approx(norm.ppf(0.975), rel=1e-12)
    assert maximum.pvalue(1.7) == pytest.approx(2 * norm.sf(1.7), rel=1e-12)
    assert MaxZ(np.array([[3.0]]), 9).quantile(0.95) == pytest.approx(t.ppf(0.975, 9), rel=1e-9)


def test_the_scale_does_not_matter() -> None:
    covariance = many_to_one(3)
    scale = np.array([0.001, 1.0, 50.0])
    scaled = covariance * np.outer(scale, scale)
    assert MaxZ(scaled).quantile(0.95) == pytest.approx(
        MaxZ(covariance).quantile(0.95), abs=MAX_Z_ERROR
    )


def test_never_beyond_bonferroni_not_even_in_the_far_tail() -> None:
    maximum = MaxZ(np.eye(5))
    for level in (0.5, 0.9, 0.999, 1 - 1e-9):
        assert maximum.quantile(level) <= norm.ppf(1 - (1 - level) / 10) + 1e-12
    for z in (1.0, 4.0, 9.0):
        assert maximum.pvalue(z) <= min(1.0, 10 * norm.sf(z))
    assert maximum.pvalue(12.0) > 0


def test_the_same_numbers_every_time() -> None:
    assert MaxZ(many_to_one(4)).quantile(0.95) == MaxZ(many_to_one(4)).quantile(0.95)


def test_kept_draws_are_those_of_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws of few estimates, which are kept, are what the generator gives block by block."""
    covariance = many_to_one(4)
    kept = MaxZ(covariance)
    monkeypatch.setattr(multiplicity, "_FEW_ESTIMATES", 0)
    drawn_anew = MaxZ(covariance)
    for level in (0.5, 0.9, 0.999):
        assert kept.quantile(level) == drawn_anew.quantile(level)
    for statistic in (0.5, 2.0, 3.0):
        assert kept.pvalue(statistic) == drawn_anew.pvalue(statistic)


def test_estimates_without_a_variance_are_left_out() -> None:
    covariance = np.array(
        [[1.0, 0.5, 0, np.nan], [0.5, 1, 0, np.nan], [0, 0, 0, np.nan], [np.nan] * 4]
    )
    maximum = MaxZ(covariance)
    assert maximum.n_estimates == 2
    assert maximum.quantile(0.95) == MaxZ(covariance[:2, :2]).quantile(0.95)
    assert np.isnan(MaxZ(np.zeros((2, 2))).pvalue(1.0))


@pytest.mark.parametrize("n_groups", [3, 8, 50])
def test_pairs_of_independent_groups_as_the_studentised_range(n_groups: int) -> None:
    """Differences of groups that are drawn, not the pairs; at 50 groups there are 1,225 of them."""
    maximum = MaxZ(np.full(n_groups, 2.0), pairs=list(combinations(range(n_groups), 2)))
    for level in (0.9, 0.95):
        wanted = studentized_range.ppf(level, n_groups, np.inf) / np.sqrt(2)
        assert maximum.quantile(level) == pytest.approx(wanted, abs=MAX_Z_ERROR)


@pytest.mark.parametrize("df", [np.inf, 12.0])
def test_pairs_are_their_own_covariance(df: float, rng: np.random.Generator) -> None:
    """Of correlated estimates with different variances: A Σ Aᵀ written out."""
    root = rng.normal(size=(5, 5)) * [1, 2, 3, 4, 5]
    pairs = np.array([(0, 1), (4, 2), (3, 0), (1, 2), (2, 4)])
    contrast = np.zeros((len(pairs), 5))
    contrast[np.arange(len(pairs)), pairs[:, 0]] = 1.0
    contrast[np.arange(len(pairs)), pairs[:, 1]] = -1.0
    written = MaxZ(contrast @ root @ root.T @ contrast.T, df)
    maximum = MaxZ(root @ root.T, df, pairs)
    for level in (0.5, 0.9, 0.95):
        assert maximum.quantile(level) == pytest.approx(
            written.quantile(level), abs=2 * MAX_Z_ERROR
        )


def test_pairs_of_two_rates_in_closed_form() -> None:
    """Two independent differences of two groups each: P(max ≤ c) = P(|Z| ≤ c)²."""
    maximum = MaxZ(np.array([1.0, 3.0, 0.2, 7.0]), pairs=[(0, 1), (2, 3)])
    assert maximum.quantile(0.95) == pytest.approx(norm.ppf((1 + 0.95**0.5) / 2), abs=MAX_Z_ERROR)


def test_pairs_with_an_unknown_or_no_variance_are_left_out() -> None:
    variance = np.array([1.0, np.nan, 2.0, 0.0, 0.0])
    maximum = MaxZ(variance, pairs=[(0, 1), (0, 2), (3, 4), (0, 3)])
    assert maximum.n_estimates == 2
    covariance = np.ones((3, 3))
    assert MaxZ(covariance, pairs=[(0, 1), (1, 2)]).n_estimates == 0


def test_beyond_a_million_pairs_bonferroni() -> None:
    pairs = np.column_stack(np.triu_indices(1_500, 1))
    maximum = MaxZ(np.ones(1_500), pairs=pairs)
    assert maximum.quantile(0.95) == pytest.approx(norm.isf(0.025 / len(pairs)), rel=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_p_is_below_alpha_exactly_beyond_the_quantile(level: float) -> None:
    maximum = MaxZ(np.ones(4), pairs=list(combinations(range(4), 2)))
    c = maximum.quantile(level)
    assert maximum.pvalue(c) > 1 - level
    assert maximum.pvalue(np.nextafter(np.float32(c), np.float32(9))) <= 1 - level


# ---------------------------------------------------------------- through the public functions

COUNTS = {"a": (60, 140), "b": (80, 120), "c": (45, 105), "d": (30, 20)}


def intervals(**options: Any) -> np.ndarray:
    result = fs.demographic_parity_difference(counts=COUNTS, reference="a", **options)
    return np.array([tuple(c.confidence_interval) for c in result.comparisons])


def test_bonferroni_is_a_higher_level_for_each() -> None:
    np.testing.assert_allclose(
        intervals(simultaneous="bonferroni"), intervals(confidence_level=1 - 0.05 / 3), rtol=1e-10
    )
    np.testing.assert_allclose(
        intervals(simultaneous="bonferroni", comparisons="all"),
        intervals(confidence_level=1 - 0.05 / 6, comparisons="all"),
        rtol=1e-10,
    )


def test_max_z_lies_between_one_at_a_time_and_bonferroni() -> None:
    widths = [np.diff(intervals(simultaneous=s)) for s in (None, "max-z", "bonferroni")]
    assert (widths[0] < widths[1]).all()
    assert (widths[1] < widths[2]).all()


def test_max_z_uses_the_correlation_through_the_reference() -> None:
    """Witness: c from scipy's multivariate normal with the covariance of the three Wald
    differences.
    """
    p = {g: k / (k + f) for g, (k, f) in COUNTS.items()}
    v = {g: p[g] * (1 - p[g]) / sum(COUNTS[g]) for g in COUNTS}
    covariance = np.full((3, 3), v["a"]) + np.diag([v["b"], v["c"], v["d"]])
    scale = np.sqrt(np.diag(covariance))
    result = fs.demographic_parity_difference(
        counts=COUNTS, reference="a", method="delta", simultaneous="max-z"
    )
    critical = {
        (c.confidence_interval.high - c.estimate) / s
        for c, s in zip(result.comparisons, scale, strict=True)
    }
    assert max(critical) - min(critical) < 1e-9
    exact = two_sided_probability(max(critical), covariance / np.outer(scale, scale))
    assert exact == pytest.approx(0.95, abs=0.003)


def test_the_table_says_what_the_intervals_are() -> None:
    result = fs.demographic_parity_difference(counts=COUNTS, reference="a", simultaneous="max-z")
    assert "simultaneous (max-z)" in str(result)
    assert "p-values adjusted by holm over metric" in str(result)


@pytest.mark.parametrize("adjust", ADJUSTMENTS)
def test_the_family_is_all_comparisons_of_one_metric(adjust: str) -> None:
    result = fs.disparate_impact(counts=COUNTS, reference="a", adjust=adjust)
    raw = [c.pvalue for c in result.comparisons]
    with np.errstate(
        divide="ignore"
    ):  # one of them is 1, and statsmodels takes log(1 − p) for Šidák
        wanted = raw if adjust == "none" else multipletests(raw, method=adjust)[1]
    np.testing.assert_allclose([c.pvalue_adjusted for c in result.comparisons], wanted, rtol=1e-12)


def test_equalised_odds_is_one_family() -> None:
    counts = {"a": (40, 20, 10, 30), "b": (35, 15, 15, 35), "c": (20, 5, 25, 50)}
    result = fs.equalized_odds_difference(counts=counts, reference="a")
    assert [c.metric for c in result.comparisons] == ["tpr_difference"] * 2 + ["fpr_difference"] * 2
    wanted = multipletests([c.pvalue for c in result.comparisons], method="holm")[1]
    np.testing.assert_allclose([c.pvalue_adjusted for c in result.comparisons], wanted, rtol=1e-12)


def test_equalised_odds_intervals_are_simultaneous_over_both_rates() -> None:
    """One family: Bonferroni over all four differences, not over the two of each rate."""
    counts = {"a": (40, 20, 10, 30), "b": (35, 15, 15, 35), "c": (20, 5, 25, 50)}
    together = fs.equalized_odds_difference(counts=counts, reference="a", simultaneous="bonferroni")
    apart = fs.equalized_odds_difference(
        counts=counts, reference="a", confidence_level=1 - 0.05 / 4
    )
    np.testing.assert_allclose(
        [tuple(c.confidence_interval) for c in together.comparisons],
        [tuple(c.confidence_interval) for c in apart.comparisons],
        rtol=1e-10,
    )


def test_a_group_without_cases_leaves_the_others_simultaneous() -> None:
    counts = {"a": (60, 140), "b": (80, 120), "empty": (0, 0)}
    with pytest.warns(fs.FairstatsWarning, match="empty: no rows"):
        result = fs.demographic_parity_difference(
            counts=counts, reference="a", simultaneous="max-z"
        )
    assert result["empty"].verdict == "insufficient evidence"
    low, high = result["b"].confidence_interval
    alone = fs.demographic_parity_difference(counts={g: counts[g] for g in "ab"}, reference="a")
    assert low <= alone.confidence_interval.low
    assert high >= alone.confidence_interval.high
