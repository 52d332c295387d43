"""Densities on grids, and the contract of the two back ends that make them.

A back end is a module (`scipy_backend`, `r_backend`) with the functions of `Kernel`. It estimates a
density on a given grid at a given bandwidth, and finds levels as quantiles of that density at the
samples. Everything that must not differ is decided outside, once for both: bandwidth, grid, end
points, areas, masses, modes, Monte Carlo errors (hdrcde's own end points are 1e-4 off and vanish at
small scales), and the levels of a density without samples (hdrcde draws 5,000 random numbers
there). Discrete samples and three or more dimensions (`space`) ask no back end.

A bounded support is handled by **reflection**: the estimate on [a, b] is f(x) + f(2a − x) + f(2b −
x). It has mass 1, is never negative, and is untouched further than a few bandwidths from a bound.
Cutting the density off and rescaling it would halve it where draws pile up at a bound, and the
region would miss just those. The back end computes on a wider grid with a point at each bound, so
that reflecting is adding grid values in mirrored order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.errors import InputError

FloatArray = NDArray[np.float64]
#: Which density judges a sample: that of the others, or that of all, its own kernel counted
#: (hdrcde).
LEVELS = ("leave_one_out", "in_sample")
#: Steps of a grid that differ by this share are equal up to rounding.
_EVEN_STEPS = 1e-6
#: Mirrored mass beyond this many bandwidths of a bound is below 1e-6 of the kernel.
FOLD_REACH = 5.0
#: Largest step, in bandwidths, at which sums over a grid still are integrals (to 3e-4, by Poisson
#: summation); a grid that would be coarser is refined to the second.
COARSEST_STEP = 1.5
REFINED_STEP = 0.5
#: Where a refined grid's density is below this share of its maximum on both sides, a point says
#: nothing.
NOTHING = 1e-14


@dataclass(frozen=True)
class Curve:
    """A density on a line: linear between the points of the grid, 0 outside.

    `grid`, shape (m,): ascending; `values`, shape (m,): density there, ≥ 0.
    """

    grid: FloatArray
    values: FloatArray

    @property
    def axes(self) -> tuple[FloatArray, ...]:
        """The grid, one array per dimension."""
        return (self.grid,)

    def at(self, points: FloatArray) -> FloatArray:
        """Linear density at points, shape (n,); 0 outside the grid."""
        return np.interp(points, self.grid, self.values, left=0.0, right=0.0)

    @property
    def mass(self) -> float:
        """Integral of the density."""
        return float((np.diff(self.grid) * (self.values[1:] + self.values[:-1])).sum() / 2)


@dataclass(frozen=True)
class Surface:
    """A density on a plane: bilinear between the points of the grid, 0 outside.

    `x`, shape (mx,), `y`, shape (my,): ascending; `values`, shape (mx, my): density at ``(x[i],
    y[j])``, ≥ 0.
    """

    x: FloatArray
    y: FloatArray
    values: FloatArray

    @property
    def axes(self) -> tuple[FloatArray, ...]:
        """The grid, one array per dimension."""
        return (self.x, self.y)

    @property
    def evenly_spaced(self) -> bool:
        """Whether both coordinates have equal steps."""
        return all(
            bool(np.ptp(axis_steps) <= _EVEN_STEPS * axis_steps.mean())
            for axis_steps in map(np.diff, self.axes)
        )

    @property
    def mass(self) -> float:
        """Integral of the density."""
        densities = self.values
        return float(
            np.diff(self.x)
            @ (
                (densities[:-1, :-1] + densities[1:, :-1] + densities[1:, 1:] + densities[:-1, 1:])
                / 4
            )
            @ np.diff(self.y)
        )

    def at(self, points: FloatArray) -> FloatArray:
        """Bilinear density at points, shape (n, 2) → (n,); 0 outside the grid."""
        first_values, second_values = points.T
        first_cell, first_share = _locate_in_cells(self.x, first_values)
        second_cell, second_share = _locate_in_cells(self.y, second_values)
        n_columns = self.y.size
        flat_densities = self.values.ravel()
        corner_index = first_cell * n_columns + second_cell
        near_density = (1 - second_share) * flat_densities[
            corner_index
        ] + second_share * flat_densities[corner_index + 1]
        far_density = (1 - second_share) * flat_densities[
            corner_index + n_columns
        ] + second_share * flat_densities[corner_index + n_columns + 1]
        interpolated = (1 - first_share) * near_density + first_share * far_density
        is_inside = (
            (first_values >= self.x[0])
            & (first_values <= self.x[-1])
            & (second_values >= self.y[0])
            & (second_values <= self.y[-1])
        )
        return interpolated if is_inside.all() else np.where(is_inside, interpolated, 0.0)


def _locate_in_cells(grid: FloatArray, x: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """Cell of each value and its place in the cell (outside [0, 1] beyond the grid)."""
    grid_steps = np.diff(grid)
    if np.ptp(grid_steps) <= 1e-9 * grid_steps[0]:  # a multiplication instead of a search
        cell_index = np.clip((x - grid[0]) / grid_steps.mean(), 0, grid.size - 2).astype(np.int64)
    else:
        cell_index = np.clip(np.searchsorted(grid, x, side="right") - 1, 0, grid.size - 2).astype(
            np.int64
        )
    return cell_index, (x - grid[cell_index]) / grid_steps[cell_index]


@dataclass(frozen=True)
class Levels:
    """`falpha`, shape (p,): type-7 quantiles, at 1 − prob, of `at_samples`, shape (n,).

    The density at the samples.
    """

    falpha: FloatArray
    at_samples: FloatArray


class Kernel(Protocol):
    """What `scipy_backend` and `r_backend` provide, as module-level functions."""

    def version(self) -> str:
        """Name and versions for `Result.backend`: ``"scipy 1.17.1"``, ``"r: hdrcde 3.5.0"``."""

    def density_1d(
        self,
        samples: FloatArray,
        bandwidth: float,
        low: float,
        high: float,
        size: int,
    ) -> Curve:
        """Gaussian kernel density by the rule of R's `density`, grid points exactly `size`.

        R: ``stats::density(samples, bw = bandwidth, from = low, to = high, n = size)``, with
        ``old.coords = TRUE`` where R is 4.4 or later (the recorded values, and hdrcde, are older
        than that change). Samples outside [low, high] count in the denominator. Agreement asked:
        1e-12 of the largest value.
        """

    def density_2d(
        self,
        samples: FloatArray,
        bandwidth: FloatArray,
        low: FloatArray,
        high: FloatArray,
        size: tuple[int, int],
    ) -> Surface:
        """Binned product-Gaussian density on a grid; `samples` (n, 2), the rest one value per axis.

        R: ``ks::kde(samples, H = diag(bandwidth^2), xmin = low, xmax = high, gridsize = size,
        bgridsize = size, binned = TRUE)``. Linear binning; a kernel ends at four times the larger
        bandwidth on both axes. Values below 0 (rounding of a Fourier transform) are returned as 0.
        Agreement asked: 1e-12 of the largest value.
        """

    def shifted_histogram(self, samples: FloatArray, low: FloatArray, high: FloatArray) -> Surface:
        """Averaged shifted histogram of 20 × 20 bins and 5 × 5 shifts with biweight weights.

        R: ``ash::ash2(ash::bin2(samples, cbind(low, high), c(20, 20)), c(5, 5))``, which is what
        ``hdrcde::hdr.2d`` uses by default. Grid points are bin centres. Agreement asked: 1e-6
        (single precision in R).
        """

    def levels(self, density: Curve | Surface, samples: FloatArray, probs: FloatArray) -> Levels:
        """Levels from a curve or a surface, in the order of `probs`.

        Agreement asked: 1e-12 relative.

        R reads equally spaced grids only: it raises for others, and `region` asks SciPy.
        """


def leave_one_out(levels: Levels, own_kernel: FloatArray, probs: FloatArray) -> Levels:
    """Levels by which each sample is judged by the density of the others, whichever back end made
    that of all.

    f₋ᵢ(xᵢ) = (n·f(xᵢ) − own_i)/(n − 1), at least 0, with own = `own_kernel`, shape (n,): the
    kernel of each sample on itself.
    """
    n = levels.at_samples.size
    density_of_others = np.maximum(n * levels.at_samples - own_kernel, 0.0) / (n - 1)
    return Levels(np.quantile(density_of_others, 1 - probs), density_of_others)


def given_levels(
    density: Curve | Surface,
    samples: FloatArray | None,
    probs: FloatArray,
    kernel: Kernel,
    exact: Callable[[float], float],
) -> tuple[Levels, dict[str, Any]]:
    """Levels of a given density, from draws or, without them, `exact` ones.

    Bandwidth and method of the result.
    """
    if samples is None:
        levels = Levels(np.array([exact(prob) for prob in probs.tolist()]), np.empty(0))
        level_source = "exact level"
    else:
        levels = kernel.levels(density, samples, probs)
        level_source = "level from the draws"
    return levels, {"bandwidth": None, "method": f"density as given, {level_source}"}


@dataclass(frozen=True)
class Axis:
    """One axis of the grid on which a back end computes: its ends, its points.

    `mirrored_low`, `mirrored_high`: how many points lie beyond a bound of the support and are to be
    folded back.
    """

    low: float
    high: float
    size: int
    mirrored_low: int = 0
    mirrored_high: int = 0


def plan_axis(
    samples: FloatArray,
    bandwidth: float,
    reach: float,
    size: int,
    support: tuple[float, float],
    largest: int,
) -> Axis:
    """Grid from `reach` below the least sample to `reach` above the largest, within the support.

    Where `size` points would be over 1.5 bandwidths apart, as many as make that 0.5, at most
    `largest`, or InputError.
    """
    axis_low = float(samples.min()) - reach
    axis_high = float(samples.max()) + reach
    bounded_low = axis_low <= support[0]
    bounded_high = axis_high >= support[1]
    axis_low = max(axis_low, support[0])
    axis_high = min(axis_high, support[1])
    span_in_bandwidths = (axis_high - axis_low) / bandwidth
    if span_in_bandwidths > COARSEST_STEP * (size - 1):
        size = max(size, largest)
        if span_in_bandwidths > COARSEST_STEP * (size - 1):
            allowed = f"a span of at most {COARSEST_STEP * (size - 1):.2g} bandwidths"
            cure = "take logarithms of draws with such long tails, or give a larger bandwidth"
            raise InputError(
                "samples",
                got=f"draws that span {span_in_bandwidths:.2g} bandwidths",
                allowed=allowed,
                cure=cure,
            )
        size = min(size, math.ceil(span_in_bandwidths / REFINED_STEP) + 1)
    grid_step = (axis_high - axis_low) / (size - 1)
    n_beyond = min(math.ceil(FOLD_REACH * bandwidth / grid_step), size - 1)
    n_mirrored_low = n_beyond * bounded_low
    n_mirrored_high = n_beyond * bounded_high
    return Axis(
        axis_low - n_mirrored_low * grid_step,
        axis_high + n_mirrored_high * grid_step,
        size + n_mirrored_low + n_mirrored_high,
        n_mirrored_low,
        n_mirrored_high,
    )


def without_empty_stretches(curve: Curve) -> Curve:
    """Leave out points whose neighbours and which themselves have no density.

    Long tails are mostly that.
    """
    has_density = curve.values > NOTHING * curve.values.max()
    is_kept = has_density.copy()
    is_kept[1:] |= has_density[:-1]
    is_kept[:-1] |= has_density[1:]
    is_kept[[0, -1]] = True
    return Curve(curve.grid[is_kept], np.where(has_density, curve.values, 0.0)[is_kept])


def onto_circle(samples: FloatArray, period: float) -> FloatArray:
    """The samples in [0, period)."""
    reduced_samples = np.mod(samples, period)
    # a tiny negative number is rounded to the period itself
    return np.where(reduced_samples < period, reduced_samples, 0.0)


def mirror_images(samples: FloatArray, support: tuple[float, float]) -> list[FloatArray]:
    """Where the samples lie when they are reflected at the bounds of the support, one array per
    finite bound.
    """
    result: list[FloatArray] = []
    for support_bound in support:
        if math.isfinite(support_bound):
            result.append(2.0 * support_bound - samples)
    return result


def own_kernels(
    samples: FloatArray,
    bandwidth: float,
    axis: Axis,
    images: Sequence[FloatArray],
) -> FloatArray:
    """What the kernel on each sample, and on its `images`, add there, shape (n,), by linear binning
    on the axis.

    A sample a share u into its cell is binned with the weights 1 − u and u, and read with the same
    ones.
    """
    grid_step = (axis.high - axis.low) / (axis.size - 1)
    u = ((samples - axis.low) / grid_step) % 1.0
    binning_loss = 2.0 * u * (1.0 - u)
    kernel_height = 1.0 - binning_loss * -np.expm1(-0.5 * (grid_step / bandwidth) ** 2)
    for mirror_image in images:
        kernel_height = kernel_height + np.exp(-0.5 * ((mirror_image - samples) / bandwidth) ** 2)
    return np.asarray(kernel_height / (bandwidth * math.sqrt(2.0 * math.pi)))


def bounded(grid: FloatArray, axis: Axis, support: tuple[float, float]) -> FloatArray:
    """The grid points inside the support, the outermost exactly at its bounds."""
    inner_grid = grid[axis.mirrored_low : axis.size - axis.mirrored_high].copy()
    if axis.mirrored_low:
        inner_grid[0] = support[0]
    if axis.mirrored_high:
        inner_grid[-1] = support[1]
    return inner_grid


def fold(values: FloatArray, axis: Axis, along: int = 0) -> FloatArray:
    """Add what lies beyond the bounds to its mirror image inside."""
    if not (axis.mirrored_low or axis.mirrored_high):
        return values
    leading_values = np.moveaxis(values, along, 0)
    n_below = axis.mirrored_low
    n_above = axis.mirrored_high
    inner_values = leading_values[n_below : axis.size - n_above].copy()
    if n_below:
        inner_values[: n_below + 1] += leading_values[n_below::-1]
    if n_above:
        inner_values[-n_above - 1 :] += leading_values[: axis.size - n_above - 2 : -1]
    return np.moveaxis(inner_values, 0, along)
