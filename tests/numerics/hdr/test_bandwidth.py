"""The bandwidth rules against closed forms for the normal density."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import eval_hermitenorm, gamma, ndtr, ndtri

from fairstats.numerics.hdr.bandwidth import (
    PlaneSpectrum,
    Spectrum,
    _least_risk,
    _normal_psi,
    hdr_bandwidth,
    hdr_bandwidth_2d,
    pilot_bandwidth,
    plug_in_2d,
    robust_scale,
)


def normal_optimum(n: int, coverage: float) -> float:
    """Samworth and Wand's optimum for N(0, 1), by minimising the risk itself from the true f, f',
    f''.
    """
    z = ndtri((1 + coverage) / 2)
    f = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    slope = z * f
    bend = (z * z - 1) * f
    drift = (2 * bend / slope - 2 * slope / f) / (2 / slope)

    def risk(log_h: float) -> float:
        h = math.exp(log_h)
        mean = 0.5 * h * h * (bend - drift) / slope
        sd = math.sqrt(f / (2 * math.sqrt(math.pi) * n * h)) / slope
        u = mean / sd
        return (
            2
            * f
            * (2 * sd * math.exp(-u * u / 2) / math.sqrt(2 * math.pi) + mean * (2 * ndtr(u) - 1))
        )

    return math.exp(
        minimize_scalar(risk, bounds=(-5, 1), method="bounded", options={"xatol": 1e-10}).x
    )


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
    """|N(0, 1)| on [0, ∞), reflected, is as smooth as N(0, 1): no tiny bandwidth because of a
    jump.
    """
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
    for order, truth in enumerate(
        (density, -x / sd**2 * density, (x**2 / sd**2 - 1) / sd**2 * density)
    ):
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


def kernel(x: np.ndarray, h: float, order: int) -> np.ndarray:
    """Derivatives of the density of N(0, h²): (−1)^r·He_r(x/h)·φ(x/h)/h^(r+1)."""
    z = x / h
    density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    return np.asarray((-1) ** order * eval_hermitenorm(order, z) * density / h ** (order + 1))


def images(x: np.ndarray, support: tuple[float, float]) -> np.ndarray:
    """The values with their mirror images at the bounds, as far as these matter."""
    low, high = support
    found = [x]
    found += [2 * low - x] if math.isfinite(low) else []
    found += [2 * high - x] if math.isfinite(high) else []
    if math.isfinite(low) and math.isfinite(high):
        found = [part + 2 * k * (high - low) for part in (x, 2 * low - x) for k in range(-3, 4)]
    return np.concatenate(found)


def roughness(x: np.ndarray, support: tuple[float, float], order: int, h: float) -> float:
    """∫ (f^(r))² of the mirrored values, from all pairs of them under a kernel of bandwidth h."""
    pairs = kernel(x[:, None] - images(x, support)[None, :], h, 2 * order)
    return float((-1) ** order * pairs.sum() / x.size**2)


def pilot(x: np.ndarray, support: tuple[float, float], order: int) -> float:
    """Wand and Jones, sections 3.5 and 3.6.

    The best bandwidth for f^(r), by two stages from the normal.
    """
    functional = gamma(order + 4.5) / (2 * math.pi)  # ∫ (φ^(r+4))²
    for stage in (order + 3, order + 2):
        at_0 = abs(float(kernel(np.zeros(1), 1.0, 2 * stage)[0]))
        functional = roughness(
            x, support, stage, (2 * at_0 / (functional * x.size)) ** (1 / (2 * stage + 3))
        )
    own = gamma(order + 0.5) / (2 * math.pi)
    return float(((2 * order + 1) * own / (functional * x.size)) ** (1 / (2 * order + 5)))


SUPPORTS = [(-math.inf, math.inf), (0.0, math.inf), (-math.inf, 1.0), (0.0, 1.0)]


@pytest.mark.parametrize("support", SUPPORTS)
def test_spectra_against_pairs(support: tuple[float, float]) -> None:
    """Witness: kernels by Hermite polynomials, summed over all pairs, mirror images included; the
    values lie on the points of the grid, where binning is exact."""
    low = 0.0 if math.isfinite(support[0]) else -3.0
    high = 1.0 if math.isfinite(support[1]) else 4.0
    grid = np.linspace(low, high, 257)
    place = (np.random.default_rng(1).beta(1.2, 1.7, 80) * 256 / (high - low)).astype(int)
    place += np.searchsorted(grid, 0.0)
    x = grid[place]
    spectrum = Spectrum(grid, np.bincount(place, minlength=257).astype(float), 80)
    assert spectrum.share == 1.0
    for order, h in ((0, 0.1), (1, 0.12), (2, 0.15), (3, 0.2)):
        wanted = roughness(x, support, order, h)
        assert spectrum.roughness(order, h) == pytest.approx(wanted, rel=1e-8)
    for order in (0, 1, 2):
        truth = kernel(grid[:, None] - images(x, support)[None, :], 0.15, order).sum(axis=1) / 80
        np.testing.assert_allclose(
            spectrum.derivative(order, 0.15), truth, atol=1e-8 * np.abs(truth).max()
        )
        assert pilot_bandwidth(spectrum, order) == pytest.approx(pilot(x, support, order), rel=1e-6)


@pytest.mark.parametrize(
    ("coverage", "support"), [(0.9, SUPPORTS[0]), (0.5, SUPPORTS[1]), (0.8, SUPPORTS[3])]
)
def test_the_rule_by_its_formulas(coverage: float, support: tuple[float, float]) -> None:
    """Witness: pilots, density, level, ends and the risk itself by sums over pairs and SciPy's
    search. The rule's pilots are binned, which moves it by half a percent at most."""
    rng = np.random.default_rng(7)
    x = np.append(rng.beta(1.3, 6.0, 100), rng.beta(9.0, 4.0, 80))
    scale = robust_scale(x)
    bounds = support
    z = x / scale
    inside = tuple(b / scale for b in bounds)
    grid = np.linspace(max(z.min() - 2, inside[0]), min(z.max() + 2, inside[1]), 1001)
    f, slope, bend = (
        kernel(grid[:, None] - images(z, inside)[None, :], pilot(z, inside, r), r).sum(axis=1)
        / z.size
        for r in (0, 1, 2)
    )
    falling = np.sort(f)[::-1]
    level = falling[np.searchsorted(np.cumsum(falling) / falling.sum(), coverage)]
    ends = np.flatnonzero((f[1:] >= level) != (f[:-1] >= level))
    steep = np.abs(slope[ends])
    curved = bend[ends]
    assert ends.size >= 2 if coverage > 0.5 else ends.size >= 1
    drift = ((curved / steep).sum() - steep.sum() / level) / (1 / steep).sum()

    def risk(log_h: float) -> float:
        h = math.exp(log_h)
        mean = 0.5 * h * h * (curved - drift) / steep
        sd = np.sqrt(level / (2 * math.sqrt(math.pi) * z.size * h)) / steep
        u = mean / sd
        return float(
            (2 * sd * np.exp(-u * u / 2) / math.sqrt(2 * math.pi) + mean * (2 * ndtr(u) - 1)).sum()
        )

    best = minimize_scalar(risk, bounds=(-6, 2), method="bounded", options={"xatol": 1e-8}).x
    most = 1.144 * x.std(ddof=1) * x.size**-0.2
    assert hdr_bandwidth(x, coverage, support) == pytest.approx(
        min(math.exp(best) * scale, most), rel=0.01
    )


def test_the_least_risk_is_that_of_the_displacements() -> None:
    """Witness: f·Σ E|N(½h²(f'' − D)/|f'|, R(K)·f/(n·h·f'²))|, minimised by SciPy.

    Flat ends count, too.
    """
    for level, steep, bend, n in (
        (0.1, [0.2, 0.3], [0.1, 0.05], 500),
        (0.3, [0.5, 0.1, 0.4, 0.2], [-0.3, 0.2, 0.1, 0.6], 2000),
        (0.05, [0.4, 0.02], [0.3, 0.2], 100),
    ):
        s = np.array(steep)
        b = np.array(bend)
        drift = ((b / s).sum() - s.sum() / level) / (1 / s).sum()

        def risk(
            log_h: float,
            s: np.ndarray = s,
            gap: np.ndarray = b - drift,
            f: float = level,
            n: int = n,
        ) -> float:
            h = math.exp(log_h)
            mean = 0.5 * h * h * gap / s
            sd = np.sqrt(f / (2 * math.sqrt(math.pi) * n * h)) / s
            folded = sd * math.sqrt(2 / math.pi) * np.exp(-0.5 * (mean / sd) ** 2)
            return float((folded + mean * (1 - 2 * ndtr(-mean / sd))).sum())

        best = minimize_scalar(risk, bounds=(-8, 4), method="bounded", options={"xatol": 1e-10}).x
        assert math.log(_least_risk(level, s, b, n)) == pytest.approx(best, abs=1e-5)


def test_scale_by_hand() -> None:
    """IQR 2 of 0…4, over 1.34, beside the deviation √2.5; most values equal: the deviation.

    A wide IQR.
    """
    assert robust_scale(np.arange(5.0)) == pytest.approx(2 / 1.34)
    same = np.append(np.ones(9), 5.0)
    assert robust_scale(same) == pytest.approx(same.std(ddof=1))
    two = np.repeat([-1.0, 1.0], 10)
    assert robust_scale(two) == pytest.approx(two.std(ddof=1))


def test_long_tails_are_left_out_of_the_pilots() -> None:
    """Two values of 10⁶ make a grid of 2^17 cells too coarse: the rule is that of the others, 1%
    wider for their number. The share that is left out counts as mass outside."""
    normal = ndtri((np.arange(2000) + 0.5) / 2000)
    odd = np.append(normal, [-1e6, 1e6])
    assert hdr_bandwidth(odd, 0.9) == pytest.approx(hdr_bandwidth(normal, 0.9), rel=0.02)
    spectrum = Spectrum.of(odd, (-math.inf, math.inf), spare=0.005)
    assert spectrum.share == pytest.approx(0.999, abs=1e-3)
    assert spectrum.share < 1
    assert -6 < spectrum.grid[0] < spectrum.grid[-1] < 6
    pair = np.column_stack([odd, np.random.default_rng(2).permutation(odd)])
    plain = pair[(np.abs(pair) < 10).all(axis=1)]
    np.testing.assert_allclose(plug_in_2d(pair), plug_in_2d(plain), rtol=0.02)


def test_psi_of_normals_by_integration() -> None:
    """Witness: (−1)^((r+s)/2)·∫ω₁^r ω₂^s exp(−ω'Σω)/4π² over a grid, which is exact for such
    functions.
    """
    w = np.linspace(-12, 12, 241)
    first, second = np.meshgrid(w, w, indexing="ij")
    covariance = np.array([[1.0, 0.4], [0.4, 0.7]])
    weight = np.exp(-(first**2 + 0.8 * first * second + 0.7 * second**2)) / (4 * math.pi**2)
    for r, s in ((8, 0), (6, 2), (4, 4), (2, 6), (0, 8), (2, 2), (4, 2)):
        wanted = (-1) ** ((r + s) // 2) * (first**r * second**s * weight).sum() * (w[1] - w[0]) ** 2
        assert _normal_psi(r, s, covariance) == pytest.approx(wanted, rel=1e-9)


PLANES = [
    ((-math.inf, math.inf), (-math.inf, math.inf)),
    ((0.0, math.inf), (-math.inf, math.inf)),
    ((0.0, 1.0), (0.0, 1.0)),
]


@pytest.mark.parametrize("support", PLANES)
def test_the_plug_in_on_the_plane_by_pairs(
    support: tuple[tuple[float, float], tuple[float, float]],
) -> None:
    """Witness: ψ by sums over pairs, mirror images included, in the two stages of Wand and Jones
    (1994). The rule's are binned on a step of .13 deviations, which moves bandwidths by 1.1%."""
    rng = np.random.default_rng(5)
    x = np.column_stack([rng.beta(2.0, 4.0, 150), np.zeros(150)])
    x[:, 1] = 0.5 * x[:, 0] + 0.5 * rng.beta(3.0, 3.0, 150)
    n = len(x)
    scale = np.array([robust_scale(x[:, k]) for k in (0, 1)])
    z = x / scale
    bounds = [tuple(b / scale[k] for b in support[k]) for k in (0, 1)]
    gaps = [
        z[:, k, None] - images(np.arange(n) * 0 + z[:, k], bounds[k]).reshape(-1, n)[:, None, :]
        for k in (0, 1)
    ]

    def psi(r: int, s: int, g: float) -> float:
        # every image on one axis goes with every one on the other
        left, right = (kernel(gaps[k], g, order).sum(axis=0) for k, order in ((0, r), (1, s)))
        return float((left * right).sum() / n**2)

    rho = np.corrcoef(z.T)[0, 1]
    found = {
        (r, 8 - r): _normal_psi(r, 8 - r, np.array([[1, rho], [rho, 1]])) for r in range(0, 9, 2)
    }
    for order in (6, 4):
        higher = found
        found = {}
        for r in range(0, order + 1, 2):
            s = order - r
            at_0 = float(kernel(np.zeros(1), 1.0, r)[0] * kernel(np.zeros(1), 1.0, s)[0])
            g = (-2 * at_0 / ((higher[r + 2, s] + higher[r, s + 2]) * n)) ** (1 / (order + 4))
            found[r, s] = psi(r, s, g)

    def amise(log_h: np.ndarray) -> float:
        a, b = np.exp(log_h)
        bias = a**4 * found[4, 0] + 2 * a**2 * b**2 * found[2, 2] + b**4 * found[0, 4]
        return float(1 / (4 * math.pi * n * a * b) + bias / 4)

    best = minimize(
        amise, np.log([0.4, 0.4]), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-14}
    ).x
    np.testing.assert_allclose(plug_in_2d(x, support), np.exp(best) * scale, rtol=0.015)
    np.testing.assert_allclose(
        hdr_bandwidth_2d(x, support), 1.3 * plug_in_2d(x, support), rtol=1e-12
    )
