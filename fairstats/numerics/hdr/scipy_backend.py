"""The back end without R: the functions of `grids.Kernel` in NumPy.

The rules are those of R's documentation (`stats::density`, `ks::kde`, `ash::ash2`, `hdrcde::hdr`); the
recorded cases under ``tests/reference`` hold this module to them.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray

from fairstats.numerics.hdr.grids import Curve, FloatArray, Levels, Surface

#: R's `density` works on a range wider than asked by this many bandwidths at either end.
REACH = 4.0
#: `ash2`: bins per axis, shifts per bin.
BINS, SHIFTS = 20, 5


def version() -> str:
    """Name and version for `Result.backend`."""
    return f"scipy {scipy.__version__}"


def gaussian(x: FloatArray, bandwidth: float) -> FloatArray:
    """Density of N(0, bandwidth²) at `x`."""
    return np.asarray(np.exp(-0.5 * (x / bandwidth) ** 2) / (bandwidth * math.sqrt(2 * math.pi)))


def density_1d(samples: FloatArray, bandwidth: float, low: float, high: float, size: int) -> Curve:
    """Gaussian kernel density by the rule of R's `density`: see `grids.Kernel.density_1d`.

    Samples are binned linearly on a power of two of points over [low − 4h, high + 4h], the counts convolved
    with the kernel by FFT (Silverman 1982), and the result is interpolated linearly at the grid. As in R
    before 4.4, the kernel is laid out with a step shorter than the grid's by a factor (2n − 2)/(2n − 1), so
    that the density is high by about 1/(2n): 0.05% at n = 1024.
    """
    cells = 512 if size <= 512 else 2 ** math.ceil(math.log2(size))
    start, stop = low - REACH * bandwidth, high + REACH * bandwidth
    mass = np.zeros(2 * cells)
    mass[:cells] = bin_line(samples, start, stop, cells) / samples.size
    lag: FloatArray = np.arange(2.0 * cells) * (2 * (stop - start) / (2 * cells - 1))
    lag[cells + 1 :] = -lag[cells - 1 : 0 : -1]
    kernel = gaussian(lag, bandwidth)
    smooth = np.fft.irfft(np.fft.rfft(mass) * np.fft.rfft(kernel).conj(), 2 * cells)[:cells]
    fine = start + np.arange(cells) * ((stop - start) / (cells - 1))
    grid: FloatArray = low + np.arange(float(size)) * ((high - low) / (size - 1))
    grid[-1] = high
    return Curve(grid, np.interp(grid, fine, np.maximum(smooth, 0.0)))


def levels(density: Curve | Surface, samples: FloatArray, probs: FloatArray) -> Levels:
    """Levels from a curve or a surface: see `grids.Kernel.levels`."""
    at_samples = density.at(samples)
    return Levels(np.quantile(at_samples, 1 - probs), at_samples)


def density_2d(
    samples: FloatArray, bandwidth: FloatArray, low: FloatArray, high: FloatArray, size: tuple[int, int]
) -> Surface:
    """Binned product-Gaussian density: see `grids.Kernel.density_2d`; the convolution is two matrix products."""
    counts = bin_plane(samples, low, high, size)
    step = (high - low) / (np.array(size) - 1)
    reach = REACH * float(bandwidth.max())
    left, right = (_band(size[k], float(step[k]), float(bandwidth[k]), reach) for k in (0, 1))
    values = left @ counts @ right / len(samples)
    x, y = (low[k] + np.arange(size[k]) * step[k] for k in (0, 1))
    return Surface(x, y, values)


def _band(size: int, step: float, bandwidth: float, reach: float) -> FloatArray:
    """Symmetric matrix of kernel weights between grid points, 0 beyond `reach`."""
    lag = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    weights = gaussian(lag * step, bandwidth)
    weights[lag > math.floor(reach / step)] = 0.0
    return weights


def shifted_histogram(samples: FloatArray, low: FloatArray, high: FloatArray) -> Surface:
    """Averaged shifted histogram (Scott 2015, chapter 5): see `grids.Kernel.shifted_histogram`.

    f(x_i, y_j) = Σ_kl w_k w_l ν_(i+k, j+l) / (n δ_x δ_y), w ∝ (1 − (k/m)²)² for |k| < m, Σ w = 1 on each axis.
    """
    width = (high - low) / BINS
    cell = np.clip(((samples - low) / width).astype(np.int64), 0, BINS - 1)
    counts = np.bincount(cell[:, 0] * BINS + cell[:, 1], minlength=BINS * BINS).reshape(BINS, BINS)
    weights = _weights_of_shifts(np.subtract.outer(np.arange(BINS), np.arange(BINS)))
    values = weights @ counts @ weights / (len(samples) * width.prod())
    x, y = (low[k] + width[k] * (np.arange(BINS) + 0.5) for k in (0, 1))
    return Surface(x, y, values)


def own_shifts(samples: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """What each sample adds to n times the shifted histogram at itself, shape (n,), read bilinearly between bins."""
    width = (high - low) / BINS
    place = (samples - low) / width
    cell = np.clip(place.astype(np.int64), 0, BINS - 1)
    # the centres of bins between which a sample is read
    left = np.clip(np.floor(place - 0.5).astype(np.int64), 0, BINS - 2)
    share = place - 0.5 - left
    near = _weights_of_shifts(cell - left)
    far = _weights_of_shifts(cell - left - 1)
    return np.asarray(np.prod(((1 - share) * near + share * far) / width, axis=1))


def _weights_of_shifts(lag: NDArray[np.int64]) -> FloatArray:
    """Biweight weight of bins so many bins away; all of them sum to 1."""
    shift = np.arange(1 - SHIFTS, SHIFTS)
    total = float(((1 - (shift / SHIFTS) ** 2) ** 2).sum())
    return np.where(np.abs(lag) < SHIFTS, (1 - (lag / SHIFTS) ** 2) ** 2, 0.0) / total


def bin_line(samples: FloatArray, low: float, high: float, size: int) -> FloatArray:
    """Linear-binning counts on ``linspace(low, high, size)``.

    A sample in a cell gives 1 − u to its left grid point and u to its right, u its place in the cell; their sum is the
    number of samples inside [low, high].
    """
    inside = (samples >= low) & (samples <= high)
    if not inside.all():
        samples = samples[inside]
    cell, share = _place(samples, low, (high - low) / (size - 1), size)
    left: FloatArray = np.bincount(cell, 1 - share, size).astype(np.float64, copy=False)
    right = np.bincount(cell, share, size)
    left[1:] += right[:-1]
    return left


def bin_plane(samples: FloatArray, low: FloatArray, high: FloatArray, size: tuple[int, int]) -> FloatArray:
    """Linear-binning counts on the grid with these corners, each sample, shape (n, 2), shared among four points."""
    inside = (samples >= low) & (samples <= high)
    if not inside.all():
        samples = samples[inside.all(axis=1)]
    step = (high - low) / (np.array(size) - 1)
    i, u = _place(samples[:, 0], low[0], step[0], size[0])
    j, v = _place(samples[:, 1], low[1], step[1], size[1])
    corner, uv = i * size[1] + j, u * v

    def shared(weight: FloatArray) -> FloatArray:
        return np.bincount(corner, weight, size[0] * size[1]).astype(np.float64, copy=False).reshape(size)

    counts = shared(1 - u - v + uv)
    counts[1:] += shared(u - uv)[:-1]
    counts[:, 1:] += shared(v - uv)[:, :-1]
    counts[1:, 1:] += shared(uv)[:-1, :-1]
    return counts


def _place(samples: FloatArray, low: float, step: float, size: int) -> tuple[np.ndarray, FloatArray]:
    """Cell of each sample and its place in the cell, in [0, 1]."""
    position = (samples - low) / step
    cell = np.clip(position.astype(np.int64), 0, size - 2)
    return cell, position - cell
