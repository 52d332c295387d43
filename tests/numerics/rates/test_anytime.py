"""Limits and p-values at every look: closed forms, duality, the mixture by quadrature, Ville's bound.

Witnesses: SciPy's quadrature of the mixtures that the formulas integrate in closed form, and a search
of the constrained likelihood by `scipy.optimize`."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from fairstats.numerics.rates.anytime import (
    critical_value,
    exact_limits,
    exact_pvalue,
    information_of,
    log_evidence,
    mixture_pvalue,
)
from tests.calibration.anytime import ever_excluded

LOOKS = np.array([0.08, 1.0, 8.0, 80.0])


def test_the_mixture_is_the_likelihood_ratio_over_normal_alternatives() -> None:
    """∫ exp(zu − u²/2) φ(u/√τ)/√τ du, by quadrature: alternatives of z have the variance τ."""
    for tau in LOOKS.tolist():
        for z in (0.5, 2.0, 4.0):
            mixture, _ = integrate.quad(
                lambda u, z=z, tau=tau: (
                    math.exp(z * u - u**2 / 2) * stats.norm.pdf(u, scale=math.sqrt(tau))
                ),
                -40,
                40,
                points=[0.0, z],
                limit=500,
            )
            assert mixture_pvalue(z, tau) == pytest.approx(min(1 / mixture, 1.0), rel=1e-7)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
def test_the_critical_value_is_where_the_pvalue_is_alpha(level: float) -> None:
    pvalues = mixture_pvalue(critical_value(level, LOOKS), LOOKS)
    np.testing.assert_allclose(pvalues, 1 - level, rtol=1e-12)


def test_the_critical_value_at_the_planned_rows_is_the_stated_width() -> None:
    """METHODS: 1.55 times as wide as one look at the planned size, 1.65 at ten times it, 1.96 at a
    tenth."""
    widths = critical_value(0.95, information_of(np.array([100, 1_000, 10_000]), 1_000)) / 1.959964
    np.testing.assert_allclose(widths, [1.96, 1.55, 1.65], atol=0.01)


@pytest.mark.parametrize(
    ("contrast", "null"), [("ratio", 0.8), ("ratio", 1.0), ("ratio", 2.5), ("difference", -0.1)]
)
@pytest.mark.parametrize("table", [(3, 20, 9, 30), (0, 15, 4, 40), (25, 25, 30, 50)])
def test_evidence_is_the_mixture_over_the_largest_likelihood(
    table: tuple[int, ...], contrast: str, null: float
) -> None:
    """Jeffreys's mixture by quadrature, the likelihood by a bounded search of the reference's rate."""
    k, n, k0, n0 = table

    def likelihood(rate: float, rate_reference: float) -> float:
        return (
            rate**k * (1 - rate) ** (n - k) * rate_reference**k0 * (1 - rate_reference) ** (n0 - k0)
        )

    def mixture(successes: int, cases: int) -> float:
        # Jeffreys's prior is uniform in the angle with rate sin²
        value, _ = integrate.quad(
            lambda angle: (
                math.sin(angle) ** (2 * successes) * math.cos(angle) ** (2 * (cases - successes))
            ),
            0,
            math.pi / 2,
            epsabs=0,
            limit=200,
        )
        return value / (math.pi / 2)

    def rate_of(reference: float) -> float:
        return null * reference if contrast == "ratio" else reference + null

    low = 0.0 if contrast == "ratio" else max(0.0, -null)
    high = min(1.0, 1 / null) if contrast == "ratio" else min(1.0, 1 - null)
    found = optimize.minimize_scalar(
        lambda reference: -likelihood(rate_of(reference), reference) * 1e12,
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-12},
    )
    ends = [likelihood(rate_of(end), end) for end in (low, high)]
    largest = max(-found.fun / 1e12, *ends)
    expected = math.log(mixture(k, n) * mixture(k0, n0)) - math.log(largest)
    assert log_evidence(k, n, k0, n0, null, contrast) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("contrast", ["ratio", "difference"])
def test_exact_limits_are_where_the_pvalue_is_alpha(contrast: str) -> None:
    table = (40, 200, 90, 260)
    for limit in exact_limits(*table, contrast, 0.95):
        assert exact_pvalue(*table, limit, contrast) == pytest.approx(0.05, rel=1e-9)


def test_limits_stay_open_where_nothing_is_rejected() -> None:
    assert exact_limits(0, 10, 1, 10, "ratio", 0.95)[0] == 0.0
    assert exact_limits(1, 10, 0, 10, "ratio", 0.95)[1] == math.inf


def test_one_success_beside_one_failure_has_limits_in_closed_form() -> None:
    """The mixture is ¼, the largest likelihood at the difference δ is ((1 + δ)/2)²: E = (1 + δ)⁻²."""
    low, high = exact_limits(1, 1, 0, 1, "difference", 0.95)
    assert low == pytest.approx(math.sqrt(0.05) - 1, abs=1e-12)
    assert high == 1.0


def test_swapping_the_groups_inverts_a_ratio_and_negates_a_difference() -> None:
    table = (40, 200, 90, 260)
    swapped = (*table[2:], *table[:2])
    low, high = exact_limits(*table, "ratio", 0.95)
    assert exact_limits(*swapped, "ratio", 0.95) == pytest.approx((1 / high, 1 / low), rel=1e-9)
    low, high = exact_limits(*table, "difference", 0.95)
    assert exact_limits(*swapped, "difference", 0.95) == pytest.approx((-high, -low), abs=1e-12)


def test_kernels_broadcast() -> None:
    successes = np.arange(5, 15)
    together = log_evidence(successes, 40, 12, 50, 0.8, "ratio")
    single = [float(log_evidence(int(k), 40, 12, 50, 0.8, "ratio")) for k in successes]
    np.testing.assert_allclose(together, single, rtol=1e-13)


@pytest.mark.parametrize("method", ["anytime", "anytime-exact"])
@pytest.mark.parametrize("contrast", ["ratio", "difference"])
def test_few_streams_ever_exclude_the_truth(method: str, contrast: str) -> None:
    """Ville's bound .05: of 300 streams of 4,000 rows at most 27 (three standard errors above 15)."""
    excluded = ever_excluded(
        np.random.default_rng(7),
        300,
        method=method,
        contrast=contrast,
        rates=(0.3, 0.4),
        share=0.3,
        planned=2_000,
        n_rows=4_000,
    )
    assert excluded.sum() <= 27


@pytest.mark.slow
@pytest.mark.parametrize("method", ["anytime", "anytime-exact"])
@pytest.mark.parametrize("contrast", ["ratio", "difference"])
def test_streams_at_unequal_shares_ever_exclude_the_truth_in_at_most_alpha(
    method: str, contrast: str
) -> None:
    """2,000 streams each; three standard errors above .05 are .065."""
    rng = np.random.default_rng(11)
    for rates in ((0.02, 0.025), (0.9, 0.98), (0.5, 0.4)):
        for share in (0.05, 0.5):
            excluded = ever_excluded(
                rng,
                2_000,
                method=method,
                contrast=contrast,
                rates=rates,
                share=share,
                planned=5_000,
                n_rows=20_000,
            )
            assert excluded.mean() <= 0.065, (rates, share)
