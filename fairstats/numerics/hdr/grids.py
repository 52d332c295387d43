"""Where a density is computed: ends and size of the grid, and the bounds of the support.

A bounded support is handled by **reflection**: the estimate on [a, b] is f(x) + f(2a − x) + f(2b − x). It
integrates to 1 over the support, so that masses are right, is never negative, and leaves the estimate
untouched further than a few bandwidths from a bound. Cutting the density off and rescaling it would halve
it at a bound where the draws pile up (|difference| near 0, a rate near 1), and the region would miss just
the values nearest to the bound. The grid has a point at each bound, so that reflecting is adding grid
values in mirrored order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.numerics.hdr.contract import Curve, FloatArray

__all__ = ["Axis", "bounded", "fold", "plan_axis", "without_empty_stretches"]

#: Mirrored mass beyond this many bandwidths of a bound is below 1e-6 of the kernel.
FOLD_REACH = 5.0
#: Largest step, in bandwidths, at which sums over a grid still are integrals (to 3e-4, by Poisson summation);
#: a grid that would be coarser is refined to the second.
COARSEST_STEP, REFINED_STEP = 1.5, 0.5
#: Where a refined grid's density is below this share of its maximum on both sides, a point says nothing.
NOTHING = 1e-14


@dataclass(frozen=True)
class Axis:
    """One axis of a grid.

    Attributes
    ----------
    low, high : float
        First and last point of the grid on which the back end computes.
    size : int
        Number of its points.
    mirrored_low, mirrored_high : int
        How many of them lie beyond a bound of the support and are to be folded back.
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

    Parameters
    ----------
    samples : array, shape (n,)
        Values on this axis.
    bandwidth : float
        Kernel's standard deviation.
    reach : float
        How far the grid goes beyond the samples where no bound is nearer.
    size : int
        Number of points. Where they would be over 1.5 bandwidths apart, as many as make that 0.5.
    support : tuple of float
        Bounds, infinite where there is none.
    largest : int
        Most points to be taken.

    Raises
    ------
    InputError
        If `largest` points would be over 1.5 bandwidths apart.

    Examples
    --------
    >>> import numpy as np
    >>> plan_axis(np.array([0.0, 1.0]), 0.1, 0.3, 17, (-math.inf, math.inf), 1000)
    Axis(low=-0.3, high=1.3, size=17, mirrored_low=0, mirrored_high=0)
    """
    low, high = float(samples.min()) - reach, float(samples.max()) + reach
    bounded_low, bounded_high = low <= support[0], high >= support[1]
    low, high = max(low, support[0]), min(high, support[1])
    span = (high - low) / bandwidth
    if span > COARSEST_STEP * (size - 1):
        size = max(size, largest)
        if span > COARSEST_STEP * (size - 1):
            raise InputError(
                "samples",
                got=f"draws that span {span:.2g} bandwidths of {bandwidth:.2g}",
                allowed=f"a span of at most {COARSEST_STEP * (size - 1):.2g} bandwidths",
                cure="take logarithms of draws with such long tails, or give a larger bandwidth",
            )
        size = min(size, math.ceil(span / REFINED_STEP) + 1)
    step = (high - low) / (size - 1)
    beyond = min(math.ceil(FOLD_REACH * bandwidth / step), size - 1)
    below, above = beyond * bounded_low, beyond * bounded_high
    return Axis(low - below * step, high + above * step, size + below + above, below, above)


def without_empty_stretches(curve: Curve) -> Curve:
    """Leave out points whose neighbours and which themselves have no density: long tails are mostly that.

    Examples
    --------
    >>> import numpy as np
    >>> curve = Curve(np.arange(6.0), np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0]))
    >>> without_empty_stretches(curve).grid
    array([0., 3., 4., 5.])
    """
    something = curve.values > NOTHING * curve.values.max()
    keep = something.copy()
    keep[1:] |= something[:-1]
    keep[:-1] |= something[1:]
    keep[[0, -1]] = True
    return Curve(curve.grid[keep], np.where(something, curve.values, 0.0)[keep])


def bounded(grid: FloatArray, axis: Axis, support: tuple[float, float]) -> FloatArray:
    """The grid points inside the support, the outermost exactly at its bounds."""
    inside = grid[axis.mirrored_low : axis.size - axis.mirrored_high].copy()
    if axis.mirrored_low:
        inside[0] = support[0]
    if axis.mirrored_high:
        inside[-1] = support[1]
    return inside


def fold(values: FloatArray, axis: Axis, along: int = 0) -> FloatArray:
    """Add what lies beyond the bounds to its mirror image inside.

    Examples
    --------
    >>> import numpy as np
    >>> fold(np.array([1.0, 2.0, 4.0, 8.0]), Axis(-1.0, 2.0, 4, mirrored_low=1))
    array([4., 5., 8.])
    """
    if not (axis.mirrored_low or axis.mirrored_high):
        return values
    moved = np.moveaxis(values, along, 0)
    below, above = axis.mirrored_low, axis.mirrored_high
    inside = moved[below : axis.size - above].copy()
    if below:
        inside[: below + 1] += moved[below::-1]
    if above:
        inside[-above - 1 :] += moved[: axis.size - above - 2 : -1]
    return np.moveaxis(inside, 0, along)
