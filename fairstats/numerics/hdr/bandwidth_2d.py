"""The bandwidths for a highest density region on a plane: a direct plug-in for a product Gaussian kernel.

For bandwidths (h₁, h₂) the asymptotic mean integrated squared error is

    1/(4π·n·h₁h₂) + ¼(h₁⁴ψ₄₀ + 2h₁²h₂²ψ₂₂ + h₂⁴ψ₀₄),    ψ_rs = ∫ f·∂^(r+s)f/∂x^r∂y^s,

least at h₁⁶ = ψ₀₄^(3/4)/(4π·n·ψ₄₀^(3/4)·(√(ψ₄₀ψ₀₄) + ψ₂₂)), h₂ = (ψ₄₀/ψ₀₄)^(1/4)·h₁. The ψ come from two
stages of kernel estimates that start from the normal density with the samples' covariance (Wand and Jones
1994, with a bandwidth of its own for each functional).

A region needs more smoothing than a density: f_α is a quantile at the very points that made the estimate,
each of which lifts the density at itself, so that the region comes out too small; and the part of the
smoothing bias that is the same along the boundary cancels. The plug-in is therefore multiplied by
`REGION_FACTOR` = 1.3. In simulations (normal with correlation 0, .6 and .95, two components, differences
of Beta draws; n = 1,000 and 5,000; 50% and 95%) that lowers the error of the mass held by about a third
(at n = 5,000 from −.3…−.9 to −.2…−.6 points) and the misclassified probability nearly everywhere, by up
to a quarter.

References
----------
Wand, M. P. and Jones, M. C. (1994). Multivariate plug-in bandwidth selection. Computational Statistics 9,
97–116.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fairstats.numerics.hdr.bandwidth import robust_scale
from fairstats.numerics.hdr.binning import bin_plane
from fairstats.numerics.hdr.contract import FloatArray

__all__ = ["REGION_FACTOR", "hdr_bandwidth_2d", "plug_in_2d"]

REGION_FACTOR = 1.3
#: Grid cells per axis of the pilot estimates: at least, at most.
CELLS = (128, 1024)

Support2D = tuple[tuple[float, float], tuple[float, float]]
UNBOUNDED: Support2D = ((-math.inf, math.inf), (-math.inf, math.inf))


def hdr_bandwidth_2d(samples: FloatArray, support: Support2D = UNBOUNDED) -> FloatArray:
    """Bandwidths for a region: `REGION_FACTOR` times the plug-in of `plug_in_2d`."""
    return REGION_FACTOR * plug_in_2d(samples, support)


def plug_in_2d(samples: FloatArray, support: Support2D = UNBOUNDED) -> FloatArray:
    """Direct plug-in bandwidths (h₁, h₂) for estimating a density on the plane.

    Parameters
    ----------
    samples : array, shape (n, 2)
        Points; neither coordinate constant.
    support : pair of pairs, optional
        Bounds of each coordinate, at which the density is reflected.

    Returns
    -------
    array, shape (2,)
        Standard deviations of the kernel, in the units of the coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.random.default_rng(1).standard_normal((4096, 2))
    >>> # n^(−1/6) for the normal density itself
    >>> bool(np.allclose(plug_in_2d(points), 4096 ** (-1 / 6), rtol=0.1))
    True
    """
    n = len(samples)
    scale = np.array([robust_scale(samples[:, k]) for k in (0, 1)])
    centre = np.median(samples, axis=0)
    standard = _bulk((samples - centre) / scale)
    bounds = (np.array(support) - centre[:, None]) / scale[:, None]
    spectrum = PlaneSpectrum(standard, bounds)
    correlation = float(np.clip(np.asarray(np.corrcoef(standard.T))[0, 1], -0.999, 0.999))
    shape = np.array([[1.0, correlation], [correlation, 1.0]])
    psi = {(r, 8 - r): _normal_psi(r, 8 - r, shape) for r in range(0, 9, 2)}
    for order in (6, 4):
        psi = {
            (r, order - r): spectrum.psi(
                r, order - r, _pilot(r, order - r, psi[r + 2, order - r] + psi[r, order - r + 2], n)
            )
            for r in range(0, order + 1, 2)
        }
    a, b, mixed = psi[4, 0], psi[0, 4], psi[2, 2]
    first = (b**0.75 / (4 * math.pi * n * a**0.75 * (math.sqrt(a * b) + mixed))) ** (1 / 6)
    bandwidth: FloatArray = np.array([first, (a / b) ** 0.25 * first]) * scale
    return bandwidth


def _bulk(standard: FloatArray) -> FloatArray:
    """Standardised samples without what no pilot grid holds, at most 0.5% at each end of each axis."""
    reach = 0.5 * CELLS[1] * _step(len(standard))
    far = (np.abs(standard) > reach).any(axis=1)
    if not far.any():
        return standard
    low, high = np.quantile(standard, [0.005, 0.995], axis=0)
    near: NDArray[np.bool_] = (
        (standard >= np.minimum(low, -reach)) & (standard <= np.maximum(high, reach))
    ).all(axis=1)
    bulk: FloatArray = standard[near]
    return bulk


def _step(n: int) -> float:
    """Step of the pilots' grid, in standard deviations: far below any bandwidth."""
    return float(0.3 * n ** (-1 / 6))


def _pilot(r: int, s: int, higher: float, n: int) -> float:
    """Bandwidth for ψ_rs: g^(r+s+4) = −2·K^(r,s)(0)/((ψ_(r+2,s) + ψ_(r,s+2))·n)."""
    at_zero = (-1) ** ((r + s) // 2) * _odd_product(r) * _odd_product(s) / (2 * math.pi)
    return float((-2 * at_zero / (higher * n)) ** (1 / (r + s + 4)))


def _odd_product(r: int) -> int:
    """(r − 1)!! = 1·3·…·(r − 1), the r-th moment of N(0, 1) for even r."""
    return math.prod(range(1, r, 2))


def _normal_psi(r: int, s: int, covariance: FloatArray) -> float:
    """ψ_rs of the normal density: φ^(r,s) of N(0, 2Σ) at 0, a moment of N(0, (2Σ)⁻¹) by Isserlis' theorem."""
    precision = np.linalg.inv(2 * covariance)
    moment = 0.0
    for mixed in range(0, min(r, s) + 1, 2):
        a, b = (r - mixed) // 2, (s - mixed) // 2
        ways = math.factorial(r) * math.factorial(s)
        ways //= math.factorial(mixed) * 2 ** (a + b) * math.factorial(a) * math.factorial(b)
        moment += ways * precision[0, 1] ** mixed * precision[0, 0] ** a * precision[1, 1] ** b
    height = math.sqrt(float(np.linalg.det(precision))) / (2 * math.pi)
    return float((-1) ** ((r + s) // 2) * height * moment)


class PlaneSpectrum:
    """Power at each pair of frequencies of the binned samples, evenly extended beyond their bounds."""

    def __init__(self, samples: FloatArray, bounds: FloatArray) -> None:
        n = len(samples)
        margin, step = 0.5 + 4.0 * n ** (-1 / 10), _step(n)
        low = np.maximum(samples.min(axis=0) - margin, bounds[:, 0])
        high = np.minimum(samples.max(axis=0) + margin, bounds[:, 1])
        cells = [32 * math.ceil(np.clip(width / step, *CELLS) / 32) for width in high - low]
        even = bin_plane(samples, low, high, (cells[0] + 1, cells[1] + 1))
        for axis in (0, 1):
            even = np.moveaxis(even, axis, 0)
            even = np.concatenate([even, even[-2:0:-1]])
            even[[0, cells[axis]]] *= 2
            even = np.moveaxis(even, 0, axis)
        period = 2 * (high - low)
        transform = np.fft.rfft2(even)
        count = (transform.shape[0], transform.shape[1])
        weight = np.full(count[1], 2.0)
        weight[[0, -1]] = 1.0
        self.power = weight * np.abs(transform) ** 2 / (4 * n**2 * period.prod())
        lags = (np.minimum(np.arange(count[0]), count[0] - np.arange(count[0])), np.arange(count[1]))
        self.frequency = [2 * math.pi * lags[k] / period[k] for k in (0, 1)]

    def psi(self, r: int, s: int, bandwidth: float) -> float:
        """Estimate of ψ_rs from all pairs of samples under a kernel of this bandwidth on both axes."""
        left, right = (
            np.exp(-0.5 * (bandwidth * w) ** 2) * w**power
            for w, power in zip(self.frequency, (r, s), strict=True)
        )
        return float((-1) ** ((r + s) // 2) * (left @ self.power @ right))
