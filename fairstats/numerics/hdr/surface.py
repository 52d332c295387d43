"""Geometry of a density on a grid of the plane: values between grid points, masses and areas above a level.

Values are bilinear, as hdrcde reads a grid. For masses and areas each cell is cut into four triangles
that meet in its centre (where the bilinear value is the mean of the corners); on a triangle everything is
a closed formula.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairstats.numerics.hdr.contract import FloatArray, Surface

__all__ = [
    "Triangles",
    "area_above",
    "interpolate",
    "level_of_mass",
    "local_maxima",
    "mass_above",
    "triangles",
]


def interpolate(surface: Surface, points: FloatArray) -> FloatArray:
    """Bilinear density at points, 0 outside the grid.

    Parameters
    ----------
    surface : Surface
        The density.
    points : array, shape (n, 2)
        Where.

    Returns
    -------
    array, shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> unit = np.array([0.0, 1.0])
    >>> surface = Surface(unit, unit, np.array([[0.0, 0.0], [0.0, 1.0]]))
    >>> interpolate(surface, np.array([[0.5, 0.5], [2.0, 0.0]]))
    array([0.25, 0.  ])
    """
    i, u = _place(surface.x, points[:, 0])
    j, v = _place(surface.y, points[:, 1])
    columns = surface.y.size
    flat = surface.values.ravel()
    corner = i * columns + j
    near = (1 - v) * flat[corner] + v * flat[corner + 1]
    far = (1 - v) * flat[corner + columns] + v * flat[corner + columns + 1]
    value = (1 - u) * near + u * far
    inside = _within(surface.x, points[:, 0]) & _within(surface.y, points[:, 1])
    return value if inside.all() else np.where(inside, value, 0.0)


def _within(grid: FloatArray, x: FloatArray) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = (x >= grid[0]) & (x <= grid[-1])
    return inside


def _place(grid: FloatArray, x: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """Cell of each value and its place in the cell (outside [0, 1] beyond the grid)."""
    steps = np.diff(grid)
    if np.ptp(steps) <= 1e-9 * steps[0]:  # a multiplication instead of a search
        cell = np.clip((x - grid[0]) / steps.mean(), 0, grid.size - 2).astype(np.int64)
    else:
        cell = np.clip(np.searchsorted(grid, x, side="right") - 1, 0, grid.size - 2).astype(np.int64)
    return cell, (x - grid[cell]) / steps[cell]


@dataclass(frozen=True)
class Triangles:
    """Four triangles per cell, on each of which the density is linear.

    Attributes
    ----------
    low, middle, high : array, shape (t,)
        Density at the three corners, sorted.
    area : array, shape (t,)
        Areas.
    """

    low: FloatArray
    middle: FloatArray
    high: FloatArray
    area: FloatArray

    @property
    def mass(self) -> float:
        """Integral of the density."""
        return float((self.area * (self.low + self.middle + self.high)).sum() / 3)


def triangles(surface: Surface) -> Triangles:
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
    """Area on which the density is at least `level`, in squared units of the axes.

    Examples
    --------
    >>> import numpy as np
    >>> unit = np.array([0.0, 1.0])
    >>> ramp = triangles(Surface(unit, unit, np.array([[0.0, 0.0], [2.0, 2.0]])))
    >>> area_above(ramp, 0.5), mass_above(ramp, 0.5)
    (0.75, 0.9375)
    """
    return float((pieces.area * _cut(pieces, level)[0]).sum())


def mass_above(pieces: Triangles, level: float) -> float:
    """Integral of the density over the points where it is at least `level`."""
    return float((pieces.area * _cut(pieces, level)[1]).sum())


def level_of_mass(pieces: Triangles, prob: float) -> float:
    """The level above which the density has the share `prob` of its mass.

    Solved to rounding by bisection: the mass above a level falls with the level, by jumps where it is
    flat. On a flat piece the level returned is the flat value itself.
    """
    wanted = prob * pieces.mass
    low, high = 0.0, float(pieces.high.max())
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if mass_above(pieces, middle) >= wanted else (low, middle)
    return low


def local_maxima(surface: Surface, level: float) -> FloatArray:
    """Grid points with density ≥ `level` and above their eight neighbours, shape (k, 2), highest first."""
    z = np.pad(surface.values, 1, constant_values=-np.inf)
    centre = z[1:-1, 1:-1]
    peak = centre >= level
    for di in (0, 1, 2):
        for dj in (0, 1, 2):
            if (di, dj) != (1, 1):
                other = z[di : di + centre.shape[0], dj : dj + centre.shape[1]]
                # of two equal neighbours the first in reading order is the maximum
                peak &= (centre > other) if (di, dj) < (1, 1) else (centre >= other)
    i, j = np.nonzero(peak)
    order = np.argsort(-centre[i, j], kind="stable")
    return np.column_stack([surface.x[i[order]], surface.y[j[order]]])
