"""Where a deviance reaches a given value: the ends of a likelihood interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.intp]
    #: (problems, points) → deviance and its slope (NaN where unknown).
    Deviance = Callable[[Rows, Floats], tuple[Floats, Floats]]

__all__ = ["find_crossings"]

#: The search ends at this many doublings of the scale: the interval is open there.
_FARTHEST = 300.0
_TOLERANCE = 1e-10


def find_crossings(
    deviance: Deviance,
    centre: Floats,
    scale: Floats,
    target: Floats,
    *,
    limit: Floats | None = None,
    max_iterations: int = 100,
) -> Floats:
    """First point on one side of `centre` where the deviance equals `target`.

    The point is sought as ``centre + scale·sinh(τ)``, τ > 0, which covers many orders of magnitude; there
    √deviance is nearly linear, so Newton steps on it within a bracket need few evaluations.

    Parameters
    ----------
    deviance : callable
        Twice the fall of the profile log-likelihood, 0 at `centre`.
    centre : ndarray of float, shape (Q,)
        Estimates.
    scale : ndarray of float, shape (Q,)
        Signed: its sign is the direction; its size about one standard error.
    target : ndarray of float, shape (Q,)
        Critical values, e.g. 3.84.
    limit : ndarray of float, shape (Q,), optional
        End of the parameter space in that direction (finite or infinite).

    Returns
    -------
    ndarray of float, shape (Q,)
        `limit`, or infinity, where the deviance stays below the target.
    """
    end = np.where(scale > 0, np.inf, -np.inf) if limit is None else limit
    root = np.sqrt(target)
    farthest = np.minimum(np.arcsinh(np.abs((end - centre) / scale)), _FARTHEST)
    low, high = np.zeros_like(centre), farthest.copy()
    bounded = np.zeros(centre.size, dtype=bool)  # whether `high` is known to lie beyond the crossing
    tau = np.minimum(np.arcsinh(root), 0.5 * farthest)
    active = np.arange(centre.size)
    for _ in range(max_iterations):
        t, step = tau[active], scale[active]
        with np.errstate(all="ignore"):  # impossible points give inf or NaN, which count as beyond
            dev, slope = deviance(active, centre[active] + step * np.sinh(t))
        w = np.sqrt(np.maximum(dev, 0.0))
        beyond = ~(w < root[active])  # NaN counts as beyond
        high[active] = np.where(beyond, t, high[active])
        low[active] = np.where(beyond, low[active], t)
        bounded[active] |= beyond
        done = np.abs(w - root[active]) <= _TOLERANCE * root[active]
        bounded[active] |= done
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = t + (root[active] - w) * 2.0 * w / (slope * step * np.cosh(t))
        lo, hi, known = low[active], high[active], bounded[active]
        outward = np.minimum(2.0 * t + 0.5, 0.5 * (t + hi))
        fallback = np.where(known, 0.5 * (lo + hi), outward)
        usable = np.isfinite(newton) & (newton > lo) & (newton < hi) & (known | (newton < 3.0 * t + 1.0))
        tau[active] = np.where(done, t, np.where(usable, newton, fallback))
        narrow = (hi - lo) <= 1e-13 * (1.0 + hi)
        active = active[~(done | narrow)]
        if not active.size:
            break
    with np.errstate(over="ignore"):
        found = centre + scale * np.sinh(tau)
    return np.where(bounded, found, end)
