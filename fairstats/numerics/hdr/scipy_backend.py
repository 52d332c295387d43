"""The back end without R: the functions of `grids.Kernel` in NumPy.

    on a line     f(x) = 1/(n·h)·Σ φ((x − X_i)/h),
    on a plane    f(x, y) = 1/(n·h₁h₂)·Σ φ((x − X_i)/h₁)·φ((y − Y_i)/h₂),

both of samples that are first shared out linearly between the two (four) nearest grid points. The
rules are those of R's documentation (`stats::density`, `ks::kde`, `ash::ash2`, `hdrcde::hdr`);
the recorded cases under ``tests/reference`` hold this module to them.
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
BINS = 20
SHIFTS = 5


def version() -> str:
    """Name and version for `Result.backend`."""
    return f"scipy {scipy.__version__}"


def gaussian(x: FloatArray, bandwidth: float) -> FloatArray:
    """Density of N(0, bandwidth²) at `x`."""
    return np.asarray(np.exp(-0.5 * (x / bandwidth) ** 2) / (bandwidth * math.sqrt(2 * math.pi)))


def density_1d(samples: FloatArray, bandwidth: float, low: float, high: float, size: int) -> Curve:
    """Gaussian kernel density by the rule of R's `density`: see `grids.Kernel.density_1d`.

    Samples are binned linearly on a power of two of points over [low − 4h, high + 4h], the counts
    convolved with the kernel by FFT (Silverman 1982), and the result is interpolated linearly at
    the grid. As in R before 4.4, the kernel is laid out with a step shorter than the grid's by a
    factor (2n − 2)/(2n − 1), so that the density is high by about 1/(2n): 0.05% at n = 1024.
    """
    if size <= 512:
        n_cells = 512
    else:
        n_cells = 2 ** math.ceil(math.log2(size))
    range_start = low - REACH * bandwidth
    range_stop = high + REACH * bandwidth
    bin_masses = np.zeros(2 * n_cells)
    bin_masses[:n_cells] = bin_line(samples, range_start, range_stop, n_cells) / samples.size
    kernel_lags: FloatArray = np.arange(2.0 * n_cells) * (
        2 * (range_stop - range_start) / (2 * n_cells - 1)
    )
    kernel_lags[n_cells + 1 :] = -kernel_lags[n_cells - 1 : 0 : -1]
    kernel_values = gaussian(kernel_lags, bandwidth)
    smoothed_values = np.fft.irfft(
        np.fft.rfft(bin_masses) * np.fft.rfft(kernel_values).conj(), 2 * n_cells
    )[:n_cells]
    fine_grid = range_start + np.arange(n_cells) * ((range_stop - range_start) / (n_cells - 1))
    grid_points: FloatArray = low + np.arange(float(size)) * ((high - low) / (size - 1))
    grid_points[-1] = high
    return Curve(grid_points, np.interp(grid_points, fine_grid, np.maximum(smoothed_values, 0.0)))


def levels(density: Curve | Surface, samples: FloatArray, probs: FloatArray) -> Levels:
    """Levels from a curve or a surface: see `grids.Kernel.levels`."""
    at_samples = density.at(samples)
    return Levels(np.quantile(at_samples, 1 - probs), at_samples)


def density_2d(
    samples: FloatArray,
    bandwidth: FloatArray,
    low: FloatArray,
    high: FloatArray,
    size: tuple[int, int],
) -> Surface:
    """Binned product-Gaussian density: see `grids.Kernel.density_2d`.

    The convolution is two matrix products.
    """
    bin_counts = bin_plane(samples, low, high, size)
    grid_steps = (high - low) / (np.array(size) - 1)
    kernel_reach = REACH * float(bandwidth.max())
    left_band, right_band = (
        _kernel_band_matrix(
            size[axis_index],
            float(grid_steps[axis_index]),
            float(bandwidth[axis_index]),
            kernel_reach,
        )
        for axis_index in (0, 1)
    )
    densities = left_band @ bin_counts @ right_band / len(samples)
    x_grid, y_grid = (
        low[axis_index] + np.arange(size[axis_index]) * grid_steps[axis_index]
        for axis_index in (0, 1)
    )
    return Surface(x_grid, y_grid, densities)


def _kernel_band_matrix(
    n_points: int,
    grid_step: float,
    bandwidth: float,
    kernel_reach: float,
) -> FloatArray:
    """Symmetric matrix of kernel weights between grid points, 0 beyond `kernel_reach`."""
    index_lags = np.abs(np.subtract.outer(np.arange(n_points), np.arange(n_points)))
    weights = gaussian(index_lags * grid_step, bandwidth)
    weights[index_lags > math.floor(kernel_reach / grid_step)] = 0.0
    return weights


def shifted_histogram(samples: FloatArray, low: FloatArray, high: FloatArray) -> Surface:
    """Averaged shifted histogram (Scott 2015, chapter 5): see `grids.Kernel.shifted_histogram`.

    f(x_i, y_j) = Σ_kl w_k w_l ν_(i+k, j+l) / (n δ_x δ_y), w ∝ (1 − (k/m)²)² for |k| < m, Σ w = 1 on
    each axis.
    """
    bin_widths = (high - low) / BINS
    bin_indexes = np.clip(((samples - low) / bin_widths).astype(np.int64), 0, BINS - 1)
    bin_counts = np.bincount(
        bin_indexes[:, 0] * BINS + bin_indexes[:, 1], minlength=BINS * BINS
    ).reshape(BINS, BINS)
    shift_weights = _weights_of_shifts(np.subtract.outer(np.arange(BINS), np.arange(BINS)))
    densities = shift_weights @ bin_counts @ shift_weights / (len(samples) * bin_widths.prod())
    x_centres, y_centres = (
        low[axis_index] + bin_widths[axis_index] * (np.arange(BINS) + 0.5) for axis_index in (0, 1)
    )
    return Surface(x_centres, y_centres, densities)


def own_shifts(samples: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """What each sample adds to n times the shifted histogram at itself, shape (n,), read bilinearly
    between bins.
    """
    bin_widths = (high - low) / BINS
    positions = (samples - low) / bin_widths
    bin_indexes = np.clip(positions.astype(np.int64), 0, BINS - 1)
    # the centres of bins between which a sample is read
    left_centres = np.clip(np.floor(positions - 0.5).astype(np.int64), 0, BINS - 2)
    right_shares = positions - 0.5 - left_centres
    left_weights = _weights_of_shifts(bin_indexes - left_centres)
    right_weights = _weights_of_shifts(bin_indexes - left_centres - 1)
    return np.asarray(
        np.prod(
            ((1 - right_shares) * left_weights + right_shares * right_weights) / bin_widths, axis=1
        )
    )


def _weights_of_shifts(bin_lags: NDArray[np.int64]) -> FloatArray:
    """Biweight weight of bins so many bins away; all of them sum to 1."""
    shifts = np.arange(1 - SHIFTS, SHIFTS)
    weight_sum = float(((1 - (shifts / SHIFTS) ** 2) ** 2).sum())
    return (
        np.where(np.abs(bin_lags) < SHIFTS, (1 - (bin_lags / SHIFTS) ** 2) ** 2, 0.0) / weight_sum
    )


def bin_line(samples: FloatArray, low: float, high: float, size: int) -> FloatArray:
    """Linear-binning counts on ``linspace(low, high, size)``.

    A sample in a cell gives 1 − u to its left grid point and u to its right, u its place in the
    cell; their sum is the number of samples inside [low, high].
    """
    is_inside = (samples >= low) & (samples <= high)
    if not is_inside.all():
        samples = samples[is_inside]
    cell_index, cell_share = _locate_in_cells(samples, low, (high - low) / (size - 1), size)
    left_counts: FloatArray = np.bincount(cell_index, 1 - cell_share, size).astype(
        np.float64, copy=False
    )
    right_counts = np.bincount(cell_index, cell_share, size)
    left_counts[1:] += right_counts[:-1]
    return left_counts


def bin_plane(
    samples: FloatArray,
    low: FloatArray,
    high: FloatArray,
    size: tuple[int, int],
) -> FloatArray:
    """Linear-binning counts on the grid with these corners, each sample, shape (n, 2), shared among
    four points.
    """
    is_inside = (samples >= low) & (samples <= high)
    if not is_inside.all():
        samples = samples[is_inside.all(axis=1)]
    grid_steps = (high - low) / (np.array(size) - 1)
    row_cell, row_share = _locate_in_cells(samples[:, 0], low[0], grid_steps[0], size[0])
    column_cell, column_share = _locate_in_cells(samples[:, 1], low[1], grid_steps[1], size[1])
    corner_index = row_cell * size[1] + column_cell
    share_product = row_share * column_share

    def shared(weight: FloatArray) -> FloatArray:
        return (
            np.bincount(corner_index, weight, size[0] * size[1])
            .astype(np.float64, copy=False)
            .reshape(size)
        )

    point_counts = shared(1 - row_share - column_share + share_product)
    point_counts[1:] += shared(row_share - share_product)[:-1]
    point_counts[:, 1:] += shared(column_share - share_product)[:, :-1]
    point_counts[1:, 1:] += shared(share_product)[:-1, :-1]
    return point_counts


def _locate_in_cells(
    samples: FloatArray,
    low: float,
    grid_step: float,
    size: int,
) -> tuple[np.ndarray, FloatArray]:
    """Cell of each sample and its place in the cell, in [0, 1]."""
    position = (samples - low) / grid_step
    cell_index = np.clip(position.astype(np.int64), 0, size - 2)
    return cell_index, position - cell_index
