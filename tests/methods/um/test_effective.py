"""Effective counts and correlations.

Closed forms against integration and simulation, misprint 4.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from fairstats.methods.um.folds import strategy_factors, variance_ratio_of

FOLDS = st.integers(2, 20)


def effective_factor(rho: float, folds: int) -> float:
    """1 / (1 + (K−1)ρ): effective over summed counts (equation 2)."""
    return 1.0 / (1.0 + (folds - 1) * rho)


def relative_correlation(ratio: float, reference: float, folds: int) -> float:
    """ρ¹ = ((r − 1) + r(K−1)ρ⁰)/(K−1), before it is clipped to [0, 1) (equation 3)."""
    return ((ratio - 1.0) + ratio * (folds - 1) * reference) / (folds - 1)


def overestimated_variance(values: np.ndarray) -> np.ndarray:
    """Var_over = (1/2J) Σ_j (θ_j − θ_j^c)² (equation 20), of values of shape (J, 2, G)."""
    return np.asarray(((values[:, 0] - values[:, 1]) ** 2).mean(axis=0) / 2)


@given(FOLDS)
def test_average_over_a_range_against_integration(folds: int) -> None:
    expected = integrate.quad(lambda rho: effective_factor(rho, folds), 0, 1 / folds)[0] * folds
    assert strategy_factors("uniform", folds, np.ones(1))[0][0] == pytest.approx(expected, rel=1e-9)
    point = strategy_factors("1/K", folds, np.ones(1))[0][0]
    assert point == pytest.approx(effective_factor(1 / folds, folds), rel=1e-14)


@given(st.floats(0.05, 50), FOLDS)
def test_relative_average_against_integration(ratio: float, folds: int) -> None:
    """Witness: 1/(1 + (K−1)·clip(ρ¹, 0, 1)) integrated over ρ⁰, with the clip."""

    def factor(rho: float) -> float:
        return effective_factor(min(max(relative_correlation(ratio, rho, folds), 0), 1), folds)

    kinks = [
        (k / ratio - 1) / (folds - 1)
        for k in (1, folds)
        if 0 < (k / ratio - 1) / (folds - 1) < 1 / folds
    ]
    expected = integrate.quad(factor, 0, 1 / folds, points=kinks or None)[0] * folds
    (found,), (clipped,) = strategy_factors("relative-uniform", folds, np.array([ratio]))
    assert found == pytest.approx(expected, rel=1e-7)
    low, high = (relative_correlation(ratio, rho, folds) for rho in (0.0, 1 / folds))
    assert (clipped > 0) == (low < 0 or high > 1)


def test_relative_correlation_of_an_equal_is_the_references() -> None:
    for strategy, plain in (("relative", "1/K"), ("relative-uniform", "uniform")):
        found, clipped = strategy_factors(strategy, 10, np.ones(2))
        expected, _ = strategy_factors(plain, 10, np.ones(2))
        assert np.allclose(found, expected, rtol=1e-12)
        assert (clipped == 0).all()


def test_misprint_4_an_unstable_method_has_fewer_effective_rows() -> None:
    """r = Var[method]/Var[reference] above 1 must raise ρ and shrink the counts.

    Below 1 the other way.
    """
    for strategy in ("relative", "relative-uniform"):
        stable, equal, unstable = strategy_factors(strategy, 10, np.array([0.8, 1.0, 1.5]))[0]
        assert unstable < equal < stable
    assert relative_correlation(1.5, 0.1, 10) > 0.1 > relative_correlation(0.8, 0.1, 10)


def test_clipping() -> None:
    factor, clipped = strategy_factors("relative", 10, np.array([0.3, 30.0]))
    assert factor.tolist() == [1.0, 0.1]
    assert clipped.tolist() == [1.0, 1.0]


def test_equation_3_against_simulation_with_known_correlation() -> None:
    """Fold results of both algorithms with equal variance and known correlations; r from 200,000
    simulated cross-validations gives ρ¹ back. Tolerance: 5 relative standard errors √(4/n) of the
    ratio."""
    rng = np.random.default_rng(5)
    folds = 10
    n = 200_000

    def means(rho: float) -> np.ndarray:
        common = rng.normal(size=n) * np.sqrt(rho)
        return common + rng.normal(size=(n, folds)).mean(axis=1) * np.sqrt(1 - rho)  # type: ignore[no-any-return]

    ratio = means(0.35).var() / means(0.1).var()
    slack = 5 * np.sqrt(4 / n) * (1 + 9 * 0.35) / 9
    assert relative_correlation(ratio, 0.1, folds) == pytest.approx(0.35, abs=slack)


def test_effective_counts_have_the_variance_of_correlated_folds() -> None:
    """Definition 2.2: a rate of C^e has the variance ψ(1 + (K−1)ρ)/K; witness.

    The algebra of binomials.
    """
    p = 0.8
    positives = 300
    folds = 10
    rho = 0.2
    psi = p * (1 - p) / (positives / folds)
    assert p * (1 - p) / (positives * effective_factor(rho, folds)) == pytest.approx(
        psi * (1 + (folds - 1) * rho) / folds
    )


def test_overestimated_variance() -> None:
    """Equation 20, by hand."""
    values = np.array([[[0.8], [0.7]], [[0.75], [0.71]]])
    assert overestimated_variance(values)[0] == pytest.approx((0.1**2 + 0.04**2) / 4)


def test_jackknife_of_the_ratio_against_leaving_out_by_hand(rng: np.random.Generator) -> None:
    values = rng.normal(size=(2, 6, 2, 3))
    found = variance_ratio_of(values, "accuracy", "svm", 0.9)
    assert np.allclose(
        found.ratio, overestimated_variance(values[1]) / overestimated_variance(values[0])
    )
    left = []
    for j in range(6):
        kept = np.delete(values, j, axis=1)
        left.append(np.log(overestimated_variance(kept[1]) / overestimated_variance(kept[0])))
    logs = np.array(left)
    error = np.sqrt(5 / 6 * ((logs - logs.mean(axis=0)) ** 2).sum(axis=0))
    assert np.allclose(
        np.log(found.high / found.ratio), 2.0150483726691575 * error, rtol=1e-9
    )  # qt(.95, 5)
    assert np.allclose(found.ratio**2, found.low * found.high)


def test_a_ratio_of_equals_spans_what_the_notes_say() -> None:
    """J = 5: F(5, 5) has its 2.5% and 97.5% quantiles at .14 and 7.1."""
    rng = np.random.default_rng(3)
    found = variance_ratio_of(rng.normal(size=(2, 5, 2, 40_000)), "accuracy", "svm")
    low = found.low
    high = found.high
    assert np.quantile(found.ratio, [0.025, 0.975]) == pytest.approx([0.14, 7.15], rel=0.05)
    assert 0.85 < ((low <= 1) & (high >= 1)).mean() < 0.99


def test_ratio_of_nothing_is_nan() -> None:
    found = variance_ratio_of(
        np.array([[[[0.0, 1], [0, 0]]], [[[1.0, 0], [0, 0]]]]), "accuracy", "svm"
    )
    for limit in (found.ratio, found.low, found.high):
        assert np.isnan(limit).all()


def test_one_split_has_a_ratio_without_an_interval() -> None:
    found = variance_ratio_of(np.array([[[[0.0], [1.0]]], [[[0.0], [2.0]]]]), "accuracy", "svm")
    assert found.ratio == 4.0
    assert np.isnan([found.low, found.high]).all()
