"""The bandwidth for a highest density region on a line: Samworth and Wand's plug-in rule, made deterministic.

Notation: R = {f ≥ f_τ} holds 1 − τ; x_j are its ends; K the Gaussian kernel, R(K) = 1/(2√π), μ₂ = 1. An
estimated end is displaced by N(m_j, s_j²) with

    m_j = ½h²(f''(x_j) − D)/|f'(x_j)|,    D = (Σ f''(x_k)/|f'(x_k)| − Σ |f'(x_k)|/f_τ) / Σ 1/|f'(x_k)|,
    s_j² = R(K)·f_τ/(n·h·f'(x_j)²),

and the expected probability of the symmetric difference of region and estimate is f_τ·Σ E|N(m_j, s_j²)|.
Its derivative in h has one root, which is the bandwidth. f, f' and f'' are kernel estimates, each at the
bandwidth of a two-stage direct plug-in for its own derivative.

hdrcde's `hdrbw` follows the same paper but finds f_τ from 10⁶ random draws, and `hdr` hands it the
coverage where it documents τ = 1 − coverage. Here f_τ is exact for the pilot density, and τ is right.

References
----------
Samworth, R. J. and Wand, M. P. (2010). Asymptotics and optimal bandwidth selection for highest density
region estimation. Annals of Statistics 38, 1767–1792.
Wand, M. P. and Jones, M. C. (1995). Kernel Smoothing, sections 3.5–3.6.
"""

from __future__ import annotations

import math

import numpy as np

from fairstats.numerics.hdr.binning import bin_line
from fairstats.numerics.hdr.contract import Curve, FloatArray
from fairstats.numerics.hdr.piecewise import level_of_mass, superlevel_intervals

__all__ = ["hdr_bandwidth", "normal_reference", "robust_scale"]

ROUGHNESS = 1 / (2 * math.sqrt(math.pi))
#: IQR of N(0, 1), to four digits as in `bw.nrd0`.
NORMAL_IQR = 1.34
#: No density of a given sd needs a larger bandwidth than this many sd·n^(−1/5) (Terrell 1990).
OVERSMOOTHED = 1.144
#: Grid cells of the pilot estimates, at most.
LARGEST_SPECTRUM = 2**17


def robust_scale(samples: FloatArray) -> float:
    """The lesser of standard deviation and IQR/1.34; the former where the latter is 0."""
    sd = float(samples.std(ddof=1))
    lower, upper = np.quantile(samples, [0.25, 0.75])
    iqr = float(upper - lower) / NORMAL_IQR
    return min(sd, iqr) if iqr > 0 else sd


def normal_reference(samples: FloatArray) -> float:
    """Silverman's rule of thumb, 0.9·scale·n^(−1/5): R's `bw.nrd0`.

    Examples
    --------
    >>> import numpy as np
    >>> round(normal_reference(np.arange(32.0)), 4)
    4.2214
    """
    return float(0.9 * robust_scale(samples) * samples.size**-0.2)


def hdr_bandwidth(
    samples: FloatArray, coverage: float, support: tuple[float, float] = (-math.inf, math.inf)
) -> float:
    """Bandwidth that minimises the asymptotic risk of a highest density region.

    Parameters
    ----------
    samples : array, shape (n,)
        Values, not all equal.
    coverage : float
        Probability of the region, in (0, 1): 1 − τ.
    support : tuple of float, optional
        Bounds at which the density is reflected.

    Returns
    -------
    float
        Standard deviation of the Gaussian kernel, in the units of the samples. Never above the oversmoothed
        1.144·sd·n^(−1/5); Silverman's rule where the region has no end inside the support.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import ndtri
    >>> normal = ndtri((np.arange(5000) + 0.5) / 5000)
    >>> round(hdr_bandwidth(normal, 0.95), 3)  # 0.143 for the normal density itself
    0.144
    """
    scale = robust_scale(samples)
    standard, bounds = (samples - np.median(samples)) / scale, _scaled(support, samples, scale)
    spectrum = Spectrum.of(standard, bounds, spare=(1 - coverage) / 20)
    largest = OVERSMOOTHED * float(samples.std(ddof=1)) / scale * float(samples.size) ** -0.2
    density, slope, curvature = (spectrum.derivative(r, pilot_bandwidth(spectrum, r)) for r in (0, 1, 2))
    curve = Curve(spectrum.grid, np.maximum(density, 0.0))
    level = level_of_mass(curve, min(coverage / spectrum.share, 1.0))
    ends = superlevel_intervals(curve, level).ravel()
    ends = ends[(ends > spectrum.grid[0]) & (ends < spectrum.grid[-1])]
    if ends.size == 0:
        return float(min(0.9 * samples.size**-0.2, largest) * scale)
    steepness = np.abs(np.interp(ends, spectrum.grid, slope))
    bend = np.interp(ends, spectrum.grid, curvature)
    return float(min(_least_risk(level, steepness, bend, samples.size), largest) * scale)


def _scaled(support: tuple[float, float], samples: FloatArray, scale: float) -> tuple[float, float]:
    centre = float(np.median(samples))
    return (support[0] - centre) / scale, (support[1] - centre) / scale


def _least_risk(level: float, steepness: FloatArray, bend: FloatArray, n: int) -> float:
    """Root of the derivative of f_τ·Σ E|N(m_j, s_j²)| in h.

    With m = b·h² and s = c·h^(−1/2): d/dh ∝ Σ [−c·φ(u) + 2|b|·h^(5/2)·(2Φ(u) − 1)], u = |b|·h^(5/2)/c, which
    increases with h from below 0.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    steepness = np.maximum(steepness, 1e-8 * level)
    drift = ((bend / steepness).sum() - steepness.sum() / level) / (1 / steepness).sum()
    b = np.abs(bend - drift) / (2 * steepness)
    c = np.sqrt(ROUGHNESS * level / n) / steepness

    def derivative(log_power: float) -> float:
        power = math.exp(log_power)  # h^(5/2)
        u = b * power / c
        density = np.exp(-0.5 * u * u) / math.sqrt(2 * math.pi)
        return float((2 * b * power * (2 * ndtr(u) - 1) - c * density).sum())

    spread = float((c / np.maximum(b, 1e-300)).min())  # at this power some u is 1
    low = high = math.log(spread)
    while derivative(low) > 0:
        low -= 2.0
    while derivative(high) < 0 and high < 600:
        high += 2.0
    return math.exp(0.4 * (brentq(derivative, low, high, xtol=1e-14) if derivative(high) > 0 else high))


def pilot_bandwidth(spectrum: Spectrum, order: int) -> float:
    """Two-stage direct plug-in bandwidth for the derivative f^(order), in the units of the spectrum.

    h^(2r+5) = (2r + 1)·R(K^(r))/(R(f^(r+2))·n), where R(f^(s)) = (−1)^s·ψ_2s is estimated at a bandwidth that
    needs ψ_(2s+2), and that one from the normal density.
    """
    s = order + 2
    roughness = _normal_roughness(s + 2)
    for stage in (s + 1, s):
        # g^(2s+3) = 2·|K^(2s)(0)|/(R(f^(s+1))·n)
        peak = math.prod(range(1, 2 * stage, 2)) / math.sqrt(2 * math.pi)
        g = (2 * peak / (roughness * spectrum.n)) ** (1 / (2 * stage + 3))
        roughness = spectrum.roughness(stage, g)
    kernel = _normal_roughness(order, sd=1.0)
    return float(((2 * order + 1) * kernel / (roughness * spectrum.n)) ** (1 / (2 * order + 5)))


def _normal_roughness(order: int, sd: float = 1.0) -> float:
    """R(φ^(r)) = ∫ (d^r/dx^r φ)² for N(0, sd²)."""
    return math.factorial(2 * order) / (
        (2 * sd) ** (2 * order + 1) * math.factorial(order) * math.sqrt(math.pi)
    )


class Spectrum:
    """Binned samples and the Fourier transform of their even extension beyond both ends of the grid.

    The extension reflects the density at the bounds of the support; where there is none the grid ends so
    far out that nothing is reflected. Derivatives of a kernel estimate are then products with
    (iω)^r·exp(−h²ω²/2).
    """

    def __init__(self, grid: FloatArray, counts: FloatArray, n: int) -> None:
        self.grid, self.n = grid, n
        self.share = float(counts.sum()) / n
        self.step = float(grid[1] - grid[0])
        even = np.concatenate([counts, counts[-2:0:-1]])
        even[[0, grid.size - 1]] *= 2  # the outermost points get a share of the images, too
        self.period = even.size
        self.transform = np.fft.rfft(even)
        self.frequency = 2 * math.pi * np.arange(self.transform.size) / (self.period * self.step)
        weight = np.full(self.transform.size, 2.0)
        weight[[0, -1]] = 1.0
        self.power = weight * np.abs(self.transform) ** 2 / (2 * self.n**2 * self.period * self.step)

    @classmethod
    def of(cls, samples: FloatArray, support: tuple[float, float], spare: float) -> Spectrum:
        """Spectrum of standardised samples, on a step far below any bandwidth that may be chosen.

        Where tails are so long that this takes too many points, the share `spare` of the samples is left
        out at either end.
        """
        n = samples.size
        margin, step = 1.0 + 5.0 * n ** (-1 / 9), 0.1 * n**-0.2
        ends = np.array([samples.min(), samples.max()])
        if ends[1] - ends[0] > LARGEST_SPECTRUM * step:
            ends = np.quantile(samples, [spare, 1 - spare])
        low, high = max(ends[0] - margin, support[0]), min(ends[1] + margin, support[1])
        size = (
            int(2 ** np.clip(math.ceil(math.log2((high - low) / step)), 9, math.log2(LARGEST_SPECTRUM))) + 1
        )
        grid = low + np.arange(size) * ((high - low) / (size - 1))
        return cls(grid, bin_line(samples, low, high, size), n)

    def derivative(self, order: int, bandwidth: float) -> FloatArray:
        """f^(order) at the grid, from a kernel estimate at `bandwidth`."""
        smooth = np.exp(-0.5 * (bandwidth * self.frequency) ** 2) * (1j * self.frequency) ** order
        estimate = np.fft.irfft(self.transform * smooth, self.period)[: self.grid.size]
        value: FloatArray = estimate / (self.n * self.step)
        return value

    def roughness(self, order: int, bandwidth: float) -> float:
        """Estimate of R(f^(r)) = ∫ (f^(r))², from all pairs of samples under a kernel of this bandwidth."""
        decay = np.exp(-0.5 * (bandwidth * self.frequency) ** 2)
        return float((self.power * decay * self.frequency ** (2 * order)).sum())
