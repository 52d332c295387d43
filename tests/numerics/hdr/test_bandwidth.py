"""The bandwidth rules against closed forms for the normal density."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import ndtr, ndtri

from fairstats.numerics.hdr.bandwidth import (
    PlaneSpectrum,
    Spectrum,
    _normal_psi,
    hdr_bandwidth,
    pilot_bandwidth,
    plug_in_2d,
)


def normal_optimum(n: int, coverage: float) -> float:
    """Samworth and Wand's optimum for N(0, 1), by minimising the risk itself from the true f, f', f''."""
    z = ndtri((1 + coverage) / 2)
    f = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    slope, bend = z * f, (z * z - 1) * f
    drift = (2 * bend / slope - 2 * slope / f) / (2 / slope)

    def risk(log_h: float) -> float:
        h = math.exp(log_h)
        mean = 0.5 * h * h * (bend - drift) / slope
        sd = math.sqrt(f / (2 * math.sqrt(math.pi) * n * h)) / slope
        u = mean / sd
        return 2 * f * (2 * sd * math.exp(-u * u / 2) / math.sqrt(2 * math.pi) + mean * (2 * ndtr(u) - 1))

    return math.exp(minimize_scalar(risk, bounds=(-5, 1), method="bounded", options={"xatol": 1e-10}).x)


@pytest.mark.parametrize(("n", "coverage", "optimum"), [(5000, 0.95, 0.1433), (2000, 0.95, 0.1722)])
def test_optimum_of_the_normal_density(n: int, coverage: float, optimum: float) -> None:
    assert normal_optimum(n, coverage) == pytest.approx(optimum, abs=1e-4)


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [1000, 20_000])
def test_rule_is_near_the_optimum(rng: np.random.Generator, n: int, coverage: float) -> None:
    """Plug-in noise: within a tenth on the average of 20 samples."""
    found = [hdr_bandwidth(rng.standard_normal(n), coverage) for _ in range(20)]
    assert np.mean(found) == pytest.approx(normal_optimum(n, coverage), rel=0.1)


def test_coverage_is_not_handed_over_as_its_complement() -> None:
    """hdrcde asks its rule for the complement: twice the bandwidth at 95%."""
    normal = ndtri((np.arange(5000) + 0.5) / 5000)
    assert normal_optimum(5000, 0.05) > 10 * normal_optimum(5000, 0.95)
    assert hdr_bandwidth(normal, 0.95) < 1.05 * normal_optimum(5000, 0.95)


def test_never_oversmoothed(rng: np.random.Generator) -> None:
    samples = rng.standard_normal(2000)
    assert hdr_bandwidth(samples, 0.01) <= 1.144 * samples.std(ddof=1) * 2000**-0.2 * (1 + 1e-12)


def test_reflection_removes_the_jump(rng: np.random.Generator) -> None:
    """|N(0, 1)| on [0, ∞), reflected, is as smooth as N(0, 1): no tiny bandwidth because of a jump."""
    half = np.abs(rng.standard_normal(5000))
    bounded = hdr_bandwidth(half, 0.95, (0.0, math.inf))
    assert bounded > 1.5 * hdr_bandwidth(half, 0.95)
    assert bounded == pytest.approx(normal_optimum(10_000, 0.95), rel=0.4)


def test_roughness_of_the_normal_density(rng: np.random.Generator) -> None:
    """R(f'') = 3/(8√π) for N(0, 1); a kernel of bandwidth g makes it that of N(0, 1 + g²/2)."""
    spectrum = Spectrum.of(rng.standard_normal(200_000), (-math.inf, math.inf), spare=0.0)
    g = 0.3
    expected = 3 / (8 * math.sqrt(math.pi) * (1 + g * g / 2) ** 2.5)
    assert spectrum.roughness(2, g) == pytest.approx(expected, rel=0.02)
    assert pilot_bandwidth(spectrum, 0) == pytest.approx((4 / 3 / 200_000) ** 0.2, rel=0.03)


def test_derivatives_of_the_estimate() -> None:
    normal = ndtri((np.arange(20_000) + 0.5) / 20_000)
    spectrum = Spectrum.of(normal, (-math.inf, math.inf), spare=0.0)
    sd = math.sqrt(1 + 0.3**2)
    x = spectrum.grid
    density = np.exp(-0.5 * (x / sd) ** 2) / (sd * math.sqrt(2 * math.pi))
    for order, truth in enumerate((density, -x / sd**2 * density, (x**2 / sd**2 - 1) / sd**2 * density)):
        np.testing.assert_allclose(spectrum.derivative(order, 0.3), truth, rtol=0, atol=3e-4)


def test_psi_on_the_plane(rng: np.random.Generator) -> None:
    """ψ_rs of N(0, Σ) under a kernel of bandwidth g is that of N(0, Σ + g²/2·I)."""
    covariance = np.array([[1.0, 0.6], [0.6, 1.0]])
    samples = rng.standard_normal((200_000, 2)) @ np.linalg.cholesky(covariance).T
    spectrum = PlaneSpectrum(samples, np.array([[-np.inf, np.inf]] * 2))
    for r, s in ((4, 0), (2, 2), (0, 4), (6, 0), (4, 2)):
        expected = _normal_psi(r, s, covariance + 0.5 * 0.5**2 * np.eye(2))
        assert spectrum.psi(r, s, 0.5) == pytest.approx(expected, rel=0.05)


def test_plug_in_on_the_plane(rng: np.random.Generator) -> None:
    """n^(−1/6) is best for N(0, I); the scale of each axis is its own."""
    samples = rng.standard_normal((20_000, 2)) * [1.0, 1000.0]
    np.testing.assert_allclose(plug_in_2d(samples) / [1.0, 1000.0], 20_000 ** (-1 / 6), rtol=0.07)
