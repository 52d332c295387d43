"""A density on a plane: masses and areas above a level, and the regions cut from it.

Values between grid points are bilinear, as hdrcde reads a grid. For masses and areas each cell is
cut into four triangles that meet in its centre (where the bilinear value is the mean of the
corners). On a triangle of area A the density is linear between its corners' values l ≤ m ≤ h, so
that above a level f

    l < f ≤ m:  area A·(1 − s),  mass A·[(l + m + h) − s·(l + 2f)]/3,  s = (f − l)²/[(m − l)(h − l)]
    m < f ≤ h:  area A·s,        mass A·s·(h + 2f)/3,                  s = (h − f)²/[(h − l)(h − m)]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairstats.ground.progress import under_way
from fairstats.numerics.hdr import grids
from fairstats.numerics.hdr.grids import FloatArray, Levels
from fairstats.numerics.hdr.result import HdrRegion, level_error, size_error
from fairstats.numerics.hdr.scipy_backend import own_shifts

#: Grid points per axis (as `ks::kde`), and how far the grid goes beyond the draws: this share of
#: their range (as `hdrcde::hdr.2d`), or so many bandwidths where that is more.
GRIDSIZE = 151
MARGIN = 0.15
CUT = 3.0
LARGEST_GRID = 1001


@dataclass(frozen=True)
class Triangles:
    """Four triangles per cell, on each of which the density is linear.

    At its corners `low` ≤ `middle` ≤ `high`.
    """

    low: FloatArray
    middle: FloatArray
    high: FloatArray
    area: FloatArray

    @property
    def mass(self) -> float:
        """Integral of the density."""
        return float((self.area * (self.low + self.middle + self.high)).sum() / 3)


def triangles(surface: grids.Surface) -> Triangles:
    """Cut every cell of a grid into four triangles around its centre, the mean of its corners.

    Of a grid of r by c points: arrays of shape (4(r − 1)(c − 1),).
    """
    densities = surface.values
    corners = [densities[:-1, :-1], densities[1:, :-1], densities[1:, 1:], densities[:-1, 1:]]
    centre = sum(corners) / 4
    lowest_corners = []
    middle_corners = []
    highest_corners = []
    for corner, next_corner in zip(corners, [*corners[1:], corners[0]], strict=True):
        lower_corner = np.minimum(corner, next_corner)
        higher_corner = np.maximum(corner, next_corner)
        lowest_corners.append(np.minimum(lower_corner, centre))
        middle_corners.append(np.maximum(lower_corner, np.minimum(higher_corner, centre)))
        highest_corners.append(np.maximum(higher_corner, centre))
    triangle_area = np.outer(np.diff(surface.x), np.diff(surface.y)) / 4
    flat_fields = []
    for corner_arrays in (lowest_corners, middle_corners, highest_corners, [triangle_area] * 4):
        flat_fields.append(np.concatenate([cell_array.ravel() for cell_array in corner_arrays]))
    return Triangles(*flat_fields)


def _cut_triangles(pieces: Triangles, level: float) -> tuple[FloatArray, FloatArray]:
    """Share of each triangle's area at or above `level`, and the mean density there times that
    share.
    """
    lowest = pieces.low
    middle = pieces.middle
    highest = pieces.high
    area_share = (lowest >= level).astype(np.float64)
    share_density = area_share * (lowest + middle + highest) / 3
    # only the highest corner is above: a small triangle there
    only_top_above = (middle < level) & (level <= highest)
    cut_share = (highest[only_top_above] - level) ** 2 / (
        (highest[only_top_above] - lowest[only_top_above])
        * (highest[only_top_above] - middle[only_top_above])
    )
    area_share[only_top_above] = cut_share
    share_density[only_top_above] = cut_share * (highest[only_top_above] + 2 * level) / 3
    # only the lowest corner is below: a small triangle is missing
    only_bottom_below = (lowest < level) & (level <= middle)
    cut_share = (level - lowest[only_bottom_below]) ** 2 / (
        (middle[only_bottom_below] - lowest[only_bottom_below])
        * (highest[only_bottom_below] - lowest[only_bottom_below])
    )
    area_share[only_bottom_below] = 1 - cut_share
    share_density[only_bottom_below] = (
        lowest[only_bottom_below] + middle[only_bottom_below] + highest[only_bottom_below]
    ) / 3 - cut_share * (lowest[only_bottom_below] + 2 * level) / 3
    return area_share, share_density


def area_above(pieces: Triangles, level: float) -> float:
    """Area on which the density is at least `level`."""
    return float((pieces.area * _cut_triangles(pieces, level)[0]).sum())


def mass_above(pieces: Triangles, level: float) -> float:
    """Integral of the density over the points where it is at least `level`."""
    return float((pieces.area * _cut_triangles(pieces, level)[1]).sum())


def level_of_mass(pieces: Triangles, prob: float) -> float:
    """The level above which the density has the share `prob` of its mass, by bisection to rounding.

    The mass above a level falls with the level, by jumps where the density is flat: the flat value
    is returned there.
    """
    wanted_mass = prob * pieces.mass
    lower_level = 0.0
    upper_level = float(pieces.high.max())
    for _ in range(200):
        middle_level = (lower_level + upper_level) / 2
        if not lower_level < middle_level < upper_level:
            break
        if mass_above(pieces, middle_level) >= wanted_mass:
            lower_level = middle_level
        else:
            upper_level = middle_level
    return lower_level


def local_maxima(surface: grids.Surface, level: float) -> FloatArray:
    """Grid points with density ≥ `level` and above their eight neighbours, shape (k, 2), highest
    first.
    """
    padded_values = np.pad(surface.values, 1, constant_values=-np.inf)
    inner_values = padded_values[1:-1, 1:-1]
    is_peak = inner_values >= level
    for row_offset, column_offset in np.ndindex(3, 3):
        neighbour = padded_values[
            row_offset : row_offset + inner_values.shape[0],
            column_offset : column_offset + inner_values.shape[1],
        ]
        # of two equal neighbours the first in reading order is the maximum
        is_peak &= (
            (inner_values > neighbour)
            if (row_offset, column_offset) < (1, 1)
            else (inner_values >= neighbour)
        )
    row_index, column_index = np.nonzero(is_peak)
    by_height = np.argsort(-inner_values[row_index, column_index], kind="stable")
    return np.column_stack([surface.x[row_index[by_height]], surface.y[column_index[by_height]]])


@under_way("density regions")
def plane_regions(
    samples: FloatArray,
    probs: FloatArray,
    *,
    bandwidth: FloatArray,
    support: tuple[tuple[float, float], ...],
    gridsize: int | None,
    kernel: grids.Kernel,
    level: str,
) -> dict[str, Any]:
    """Fields of the result for draws of two quantities, shape (n, 2); `level`: one of
    `grids.LEVELS`.
    """
    grid_axes = []
    for axis_index in (0, 1):
        axis_bandwidth = float(bandwidth[axis_index])
        x_coordinates = samples[:, axis_index]
        grid_reach = max(MARGIN * float(np.ptp(x_coordinates)), CUT * axis_bandwidth)
        grid_axes.append(
            grids.plan_axis(
                x_coordinates,
                axis_bandwidth,
                grid_reach,
                gridsize or GRIDSIZE,
                support[axis_index],
                LARGEST_GRID,
            )
        )
    grid_low, grid_high = (
        np.array([getattr(planned_axis, end_name) for planned_axis in grid_axes])
        for end_name in ("low", "high")
    )
    density_surface = kernel.density_2d(
        samples, bandwidth, grid_low, grid_high, (grid_axes[0].size, grid_axes[1].size)
    )
    x_coordinates, y_coordinates = (
        grids.bounded(axis_points, grid_axes[axis_index], support[axis_index])
        for axis_index, axis_points in enumerate((density_surface.x, density_surface.y))
    )
    density_surface = grids.Surface(
        x_coordinates,
        y_coordinates,
        grids.fold(grids.fold(density_surface.values, grid_axes[0]), grid_axes[1], along=1),
    )
    region_levels = kernel.levels(density_surface, samples, probs)
    if level == "leave_one_out":
        first_kernels, second_kernels = (
            grids.own_kernels(
                samples[:, axis_index],
                float(bandwidth[axis_index]),
                grid_axes[axis_index],
                grids.mirror_images(samples[:, axis_index], support[axis_index]),
            )
            for axis_index in (0, 1)
        )
        region_levels = grids.leave_one_out(region_levels, first_kernels * second_kernels, probs)
    method_fields = {
        "bandwidth": bandwidth,
        "method": "product Gaussian kernel density",
        "level": level,
    }
    return _result_fields(density_surface, probs, region_levels, samples) | method_fields


def histogram_regions(
    samples: FloatArray,
    probs: FloatArray,
    kernel: grids.Kernel,
    level: str,
) -> dict[str, Any]:
    """Fields of the result by hdrcde's default density, an averaged shifted histogram."""
    margin = MARGIN * np.ptp(samples, axis=0)
    grid_low = samples.min(axis=0) - margin
    grid_high = samples.max(axis=0) + margin
    density_surface = kernel.shifted_histogram(samples, grid_low, grid_high)
    region_levels = kernel.levels(density_surface, samples, probs)
    if level == "leave_one_out":
        region_levels = grids.leave_one_out(
            region_levels, own_shifts(samples, grid_low, grid_high), probs
        )
    method = "averaged shifted histogram (20 × 20 bins, 5 × 5 shifts)"
    return _result_fields(density_surface, probs, region_levels, samples) | {
        "bandwidth": None,
        "method": method,
        "level": level,
    }


def given_surface(
    surface: grids.Surface,
    samples: FloatArray | None,
    probs: FloatArray,
    kernel: grids.Kernel,
) -> dict[str, Any]:
    """Fields of the result for a given density, its levels from draws or, without them, exact."""
    pieces = triangles(surface)
    region_levels, method_fields = grids.given_levels(
        surface, samples, probs, kernel, lambda prob: level_of_mass(pieces, prob)
    )
    return _result_fields(surface, probs, region_levels, samples, pieces) | method_fields


def _result_fields(
    surface: grids.Surface,
    probs: FloatArray,
    levels: Levels,
    samples: FloatArray | None,
    pieces: Triangles | None = None,
) -> dict[str, Any]:
    """Fields of a result in two dimensions; sizes and masses by triangles, errors by draws."""
    if pieces is None:
        pieces = triangles(surface)
    total_mass = pieces.mass
    n_samples = levels.at_samples.size
    region_list = []
    for prob, falpha in zip(probs.tolist(), levels.falpha.tolist(), strict=True):
        density_mass = mass_above(pieces, falpha) / total_mass
        region_list.append(
            HdrRegion(
                prob=prob,
                falpha=falpha,
                falpha_error=level_error(levels.at_samples, prob) if n_samples else 0.0,
                mass=float((levels.at_samples >= falpha).mean()) if n_samples else density_mass,
                density_mass=density_mass,
                size=area_above(pieces, falpha),
                size_error=size_error(prob, n_samples, falpha) if n_samples else 0.0,
            )
        )
    row_index, column_index = np.unravel_index(surface.values.argmax(), surface.values.shape)
    highest_point = np.array([surface.x[row_index], surface.y[column_index]])
    return {
        "regions": tuple(region_list),
        "dimension": 2,
        "kind": "density",
        "mode": highest_point if samples is None else samples[levels.at_samples.argmax()].copy(),
        "modes": local_maxima(surface, float(levels.falpha.min())),
        "axes": surface.axes,
        "values": surface.values,
    }
