"""A density on a plane: masses and areas above a level, and the regions cut from it.

Values between grid points are bilinear, as hdrcde reads a grid. For masses and areas each cell is cut into four
triangles that meet in its centre (where the bilinear value is the mean of the corners), with closed formulas on each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairstats.numerics.hdr import grids
from fairstats.numerics.hdr.grids import FloatArray, Levels
from fairstats.numerics.hdr.result import HdrRegion, level_error, size_error
from fairstats.numerics.hdr.scipy_backend import own_shifts

#: Grid points per axis (as `ks::kde`), and how far the grid goes beyond the draws: this share of their range
#: (as `hdrcde::hdr.2d`), or so many bandwidths where that is more.
GRIDSIZE, MARGIN, CUT = 151, 0.15, 3.0
LARGEST_GRID = 1001


@dataclass(frozen=True)
class Triangles:
    """Four triangles per cell, on each of which the density is linear: at its corners `low` ≤ `middle` ≤ `high`."""

    low: FloatArray
    middle: FloatArray
    high: FloatArray
    area: FloatArray

    @property
    def mass(self) -> float:
        """Integral of the density."""
        return float((self.area * (self.low + self.middle + self.high)).sum() / 3)


def triangles(surface: grids.Surface) -> Triangles:
    """Cut a surface into triangles."""
    z = surface.values
    corners = [z[:-1, :-1], z[1:, :-1], z[1:, 1:], z[:-1, 1:]]
    centre = sum(corners) / 4
    low, middle, high = [], [], []
    for a, b in zip(corners, [*corners[1:], corners[0]], strict=True):
        small, large = np.minimum(a, b), np.maximum(a, b)
        low.append(np.minimum(small, centre))
        middle.append(np.maximum(small, np.minimum(large, centre)))
        high.append(np.maximum(large, centre))
    area = np.outer(np.diff(surface.x), np.diff(surface.y)) / 4
    flat = [np.concatenate([part.ravel() for part in parts]) for parts in (low, middle, high, [area] * 4)]
    return Triangles(*flat)


def _cut(pieces: Triangles, level: float) -> tuple[FloatArray, FloatArray]:
    """Share of each triangle's area at or above `level`, and the mean density there times that share."""
    a, b, c = pieces.low, pieces.middle, pieces.high
    share = (a >= level).astype(np.float64)
    mean = share * (a + b + c) / 3
    top = (b < level) & (level <= c)  # only the highest corner is above: a small triangle there
    r = (c[top] - level) ** 2 / ((c[top] - a[top]) * (c[top] - b[top]))
    share[top], mean[top] = r, r * (c[top] + 2 * level) / 3
    rest = (a < level) & (level <= b)  # only the lowest corner is below: a small triangle is missing
    r = (level - a[rest]) ** 2 / ((b[rest] - a[rest]) * (c[rest] - a[rest]))
    share[rest] = 1 - r
    mean[rest] = (a[rest] + b[rest] + c[rest]) / 3 - r * (a[rest] + 2 * level) / 3
    return share, mean


def area_above(pieces: Triangles, level: float) -> float:
    """Area on which the density is at least `level`."""
    return float((pieces.area * _cut(pieces, level)[0]).sum())


def mass_above(pieces: Triangles, level: float) -> float:
    """Integral of the density over the points where it is at least `level`."""
    return float((pieces.area * _cut(pieces, level)[1]).sum())


def level_of_mass(pieces: Triangles, prob: float) -> float:
    """The level above which the density has the share `prob` of its mass, by bisection to rounding.

    The mass above a level falls with the level, by jumps where the density is flat: the flat value is returned there.
    """
    wanted = prob * pieces.mass
    low, high = 0.0, float(pieces.high.max())
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if mass_above(pieces, middle) >= wanted else (low, middle)
    return low


def local_maxima(surface: grids.Surface, level: float) -> FloatArray:
    """Grid points with density ≥ `level` and above their eight neighbours, shape (k, 2), highest first."""
    z = np.pad(surface.values, 1, constant_values=-np.inf)
    centre = z[1:-1, 1:-1]
    peak = centre >= level
    for di, dj in np.ndindex(3, 3):
        other = z[di : di + centre.shape[0], dj : dj + centre.shape[1]]
        # of two equal neighbours the first in reading order is the maximum
        peak &= (centre > other) if (di, dj) < (1, 1) else (centre >= other)
    i, j = np.nonzero(peak)
    order = np.argsort(-centre[i, j], kind="stable")
    return np.column_stack([surface.x[i[order]], surface.y[j[order]]])


def plane_regions(
    samples: FloatArray, probs: FloatArray, *, bandwidth: FloatArray,
    support: tuple[tuple[float, float], ...], gridsize: int | None, kernel: grids.Kernel, level: str,
) -> dict[str, Any]:  # fmt: skip
    """Fields of the result for draws of two quantities, shape (n, 2); `level`: one of `grids.LEVELS`."""
    axes = []
    for k in (0, 1):
        h, x = float(bandwidth[k]), samples[:, k]
        reach = max(MARGIN * float(np.ptp(x)), CUT * h)
        axes.append(grids.plan_axis(x, h, reach, gridsize or GRIDSIZE, support[k], LARGEST_GRID))
    low, high = (np.array([getattr(axis, end) for axis in axes]) for end in ("low", "high"))
    surface = kernel.density_2d(samples, bandwidth, low, high, (axes[0].size, axes[1].size))
    x, y = (grids.bounded(grid, axes[k], support[k]) for k, grid in enumerate((surface.x, surface.y)))
    surface = grids.Surface(x, y, grids.fold(grids.fold(surface.values, axes[0]), axes[1], along=1))
    levels = kernel.levels(surface, samples, probs)
    if level == "leave_one_out":
        first, second = (grids.own_kernels(samples[:, k], float(bandwidth[k]), axes[k], support[k]) for k in (0, 1))
        levels = grids.leave_one_out(levels, first * second, probs)
    how = {"bandwidth": bandwidth, "method": "product Gaussian kernel density", "level": level}
    return _fields(surface, probs, levels, samples) | how


def histogram_regions(samples: FloatArray, probs: FloatArray, kernel: grids.Kernel, level: str) -> dict[str, Any]:
    """Fields of the result by hdrcde's default density, an averaged shifted histogram."""
    margin = MARGIN * np.ptp(samples, axis=0)
    low = samples.min(axis=0) - margin
    high = samples.max(axis=0) + margin
    surface = kernel.shifted_histogram(samples, low, high)
    levels = kernel.levels(surface, samples, probs)
    if level == "leave_one_out":
        levels = grids.leave_one_out(levels, own_shifts(samples, low, high), probs)
    method = "averaged shifted histogram (20 × 20 bins, 5 × 5 shifts)"
    return _fields(surface, probs, levels, samples) | {"bandwidth": None, "method": method, "level": level}


def given_surface(
    surface: grids.Surface, samples: FloatArray | None, probs: FloatArray, kernel: grids.Kernel
) -> dict[str, Any]:
    """Fields of the result for a given density, its levels from draws or, without them, exact."""
    pieces = triangles(surface)
    levels, how = grids.given_levels(surface, samples, probs, kernel, lambda prob: level_of_mass(pieces, prob))
    return _fields(surface, probs, levels, samples, pieces) | how


def _fields(
    surface: grids.Surface, probs: FloatArray, levels: Levels, samples: FloatArray | None,
    pieces: Triangles | None = None,
) -> dict[str, Any]:  # fmt: skip
    pieces = triangles(surface) if pieces is None else pieces
    total, n, regions = pieces.mass, levels.at_samples.size, []
    for prob, level in zip(probs.tolist(), levels.falpha.tolist(), strict=True):
        density_mass = mass_above(pieces, level) / total
        regions.append(HdrRegion(
            prob=prob, falpha=level, falpha_error=level_error(levels.at_samples, prob) if n else 0.0,
            mass=float((levels.at_samples >= level).mean()) if n else density_mass, density_mass=density_mass,
            size=area_above(pieces, level), size_error=size_error(prob, n, level) if n else 0.0,
        ))  # fmt: skip
    i, j = np.unravel_index(surface.values.argmax(), surface.values.shape)
    top = np.array([surface.x[i], surface.y[j]])
    return {
        "regions": tuple(regions), "dimension": 2, "kind": "density",
        "mode": top if samples is None else samples[levels.at_samples.argmax()].copy(),
        "modes": local_maxima(surface, float(levels.falpha.min())), "axes": surface.axes, "values": surface.values,
    }  # fmt: skip
