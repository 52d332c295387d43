"""Exact geometry of a piecewise-linear density on a line: crossings, masses, levels.

Between neighbouring grid points the density is linear, so that the ends of a region, the mass above a
level and the level that has a given mass above it are all closed formulas.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fairstats.numerics.hdr.contract import Curve, FloatArray

__all__ = ["level_of_mass", "local_maxima", "mass_above", "mass_between", "slopes", "superlevel_intervals"]


def superlevel_intervals(curve: Curve, level: float) -> FloatArray:
    """Intervals on which a piecewise-linear density is at least `level`.

    Parameters
    ----------
    curve : Curve
        The density.
    level : float
        f_α.

    Returns
    -------
    array, shape (k, 2)
        Ascending; ends are exact crossings, or the ends of the grid where the density is still above. A
        single touching point is left out unless it is all there is.

    Examples
    --------
    >>> import numpy as np
    >>> curve = Curve(np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([0.0, 1.0, 0.0, 0.5, 0.0]))
    >>> superlevel_intervals(curve, 0.25)
    array([[0.25, 1.75],
           [2.5 , 3.5 ]])
    """
    x, y = curve.grid, curve.values
    above = y >= level
    cell = np.flatnonzero(above[1:] != above[:-1])
    ends = x[cell] + (level - y[cell]) / (y[cell + 1] - y[cell]) * (x[cell + 1] - x[cell])
    first = x[:1] if above[0] else x[:0]
    last = x[-1:] if above[-1] else x[:0]
    intervals = np.concatenate([first, ends, last]).reshape(-1, 2)
    wide = intervals[:, 1] > intervals[:, 0]
    return intervals[wide] if wide.any() else intervals[:1]


def slopes(curve: Curve, points: FloatArray) -> FloatArray:
    """Slope of the density at `points` (of the cell to the left at a grid point inside)."""
    cell = np.clip(np.searchsorted(curve.grid, points, side="left") - 1, 0, curve.grid.size - 2)
    rise: FloatArray = np.diff(curve.values) / np.diff(curve.grid)
    return rise[cell]


def mass_between(curve: Curve, intervals: FloatArray) -> FloatArray:
    """Integral of the density over each interval, exactly.

    Parameters
    ----------
    curve : Curve
        The density.
    intervals : array, shape (k, 2)
        Ends; parts outside the grid hold nothing.

    Returns
    -------
    array, shape (k,)

    Examples
    --------
    >>> import numpy as np
    >>> triangle = Curve(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 0.0]))
    >>> mass_between(triangle, np.array([[0.0, 0.5], [0.5, 9.0]]))
    array([0.125, 0.875])
    """
    x, y = curve.grid, curve.values
    width = np.diff(x)
    before = np.concatenate([[0.0], np.cumsum(width * (y[1:] + y[:-1]) / 2)])
    points = np.clip(intervals, x[0], x[-1])
    cell = np.clip(np.searchsorted(x, points, side="right") - 1, 0, x.size - 2)
    run = points - x[cell]
    rise = (y[cell + 1] - y[cell]) / width[cell]
    cumulative = before[cell] + run * (y[cell] + rise * run / 2)
    mass: FloatArray = cumulative[:, 1] - cumulative[:, 0]
    return mass


def mass_above(curve: Curve, level: float) -> float:
    """Integral of the density over the points where it is at least `level`."""
    return float(mass_between(curve, superlevel_intervals(curve, level)).sum())


def level_of_mass(curve: Curve, prob: float) -> float:
    """The level above which a piecewise-linear density has the share `prob` of its mass, exactly.

    A cell of width w whose ends have the densities a < b holds, above a level t between them, the mass
    w(b² − t²)/(2(b − a)); a cell above t holds w(a + b)/2. Between two neighbouring grid values the sum
    over cells is therefore A − C·t², which is solved for t.

    Parameters
    ----------
    curve : Curve
        The density; its integral need not be 1.
    prob : float
        Share of the mass, in (0, 1).

    Returns
    -------
    float
        f_α. Where the density is flat at this level, the mass jumps there and the region {f ≥ f_α} holds more
        than `prob`.

    Examples
    --------
    >>> import numpy as np
    >>> triangle = Curve(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 0.0]))
    >>> round(level_of_mass(triangle, 0.75), 12)
    0.5
    """
    width = np.diff(curve.grid)
    low = np.minimum(curve.values[1:], curve.values[:-1])
    high = np.maximum(curve.values[1:], curve.values[:-1])
    whole = width * (low + high) / 2
    per_square = np.divide(width, 2 * (high - low), out=np.zeros_like(width), where=high > low)
    wanted = prob * float(whole.sum())

    def coefficients(floor: float, ceiling: float) -> tuple[float, float]:
        """A and C for levels between two neighbouring grid values."""
        full = low >= ceiling
        cut = (low <= floor) & (high >= ceiling) & ~full
        return float(whole[full].sum() + (per_square[cut] * high[cut] ** 2).sum()), float(
            per_square[cut].sum()
        )

    values = np.unique(curve.values)
    below, above = 0, values.size - 1  # {f ≥ values[below]} holds enough; {f ≥ values[above]} may not
    while above - below > 1:
        middle = (below + above) // 2
        a, c = coefficients(values[middle], values[middle + 1])
        enough = (
            a - c * float(values[middle]) ** 2 + float(whole[(low == high) & (low == values[middle])].sum())
        )
        below, above = (middle, above) if enough >= wanted else (below, middle)
    floor, ceiling = float(values[below]), float(values[above])
    a, c = coefficients(floor, ceiling)
    level = math.sqrt(max((a - wanted) / c, 0.0)) if c > 0 else floor
    return min(max(level, floor), ceiling)


def local_maxima(curve: Curve, level: float) -> FloatArray:
    """Grid points where the density is at least `level` and higher than on both sides; highest first.

    The middle of a plateau stands for it; an end of the grid counts when the density falls away from it.
    """
    y = curve.values
    starts = np.flatnonzero(np.concatenate([[True], y[1:] != y[:-1]]))
    ends = np.concatenate([starts[1:], [y.size]]) - 1
    heights = np.concatenate([[-np.inf], y[starts], [-np.inf]])
    peaks: NDArray[np.bool_] = (heights[1:-1] > heights[:-2]) & (heights[1:-1] > heights[2:])
    peaks &= y[starts] >= level
    middles = (starts[peaks] + ends[peaks]) // 2
    found: FloatArray = curve.grid[middles[np.argsort(-y[middles], kind="stable")]]
    return found
