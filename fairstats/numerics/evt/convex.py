"""Newton's method for a convex function of one positive variable, elementwise over arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["minimise_convex"]

_TOLERANCE = 1e-11
_MAX_ITERATIONS = 100


def minimise_convex(
    derivatives: Callable[[Floats], tuple[Floats, Floats]], start: Floats, cap: Floats | float = np.inf
) -> Floats:
    """Minimiser of a convex function on (0, cap).

    Parameters
    ----------
    derivatives : callable
        First and second derivative at an array of points.
    start : ndarray of float
        Points in (0, cap).
    cap : float or ndarray
        Open upper end of the domain.

    Returns
    -------
    ndarray of float

    Notes
    -----
    A step changes the variable at most by the factor e (2 downwards), and goes at most half way to `cap`.
    Elements that have converged wait for the others; the arrays are small.
    """
    x = start
    for _ in range(_MAX_ITERATIONS):
        first, second = derivatives(x)
        step = -first / second
        target = np.clip(x + step, 0.5 * x, np.e * x)
        target = np.where(target < cap, target, 0.5 * (x + np.minimum(cap, np.e * x)))
        moved = np.abs(target - x) > _TOLERANCE * x
        x = target
        if not moved.any():
            break
    return x
