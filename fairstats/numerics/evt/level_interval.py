"""Likelihood intervals for a return level, and for the probability that a value is exceeded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairstats.numerics.evt.contour import contour_extremes
from fairstats.numerics.evt.crossing import find_crossings
from fairstats.numerics.evt.goals import log_exceedance_goal, return_level_goal
from fairstats.numerics.evt.profile import Surface, level_profile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.intp]

__all__ = ["LONGEST", "level_ends"]

#: Log period of a probability that counts as 0.
LONGEST = 600.0


def level_ends(
    surface: Surface,
    rows: Rows,
    d: Floats,
    offset: Floats,
    target: Floats,
    *,
    in_offset: bool = False,
    newton: bool = True,
) -> tuple[Floats, Floats]:
    """Both ends of likelihood intervals.

    The Lagrange conditions on the likelihood contour are tried first; what they do not settle (irregular
    tails, the edge of the parameter space, open intervals) goes to a bracketed search on the profile.

    Parameters
    ----------
    surface : Surface
        Likelihood of P samples.
    rows : ndarray of int, shape (Q,)
        Sample of each interval.
    d, offset : ndarray of float, shape (Q,)
        Level and offset at the maximum of the likelihood.
    target : ndarray of float, shape (Q,)
        Critical value of the deviance.
    in_offset : bool
        Interval for the offset at the level d, rather than for d.
    newton : bool
        Whether to try the Lagrange conditions.

    Returns
    -------
    low, high : ndarray of float, shape (Q,)
    """
    q = rows.size
    both = np.tile(np.arange(q), 2)
    side = np.repeat([-1.0, 1.0], q)
    unit = np.maximum(np.abs(d), 1.0 / surface.nu[rows])
    found = np.full(2 * q, np.nan)
    if newton:
        found = _newton(surface, rows[both], d[both], offset[both], unit[both], side, target[both], in_offset)
    rest = np.flatnonzero(~np.isfinite(found))
    if rest.size:
        which = both[rest]
        scale = np.full(rest.size, 0.3) if in_offset else 0.2 * unit[which]
        found[rest] = _search(
            surface, rows[which], d[which], offset[which], side[rest] * scale, target[which], in_offset
        )
    return found[:q], found[q:]


def _newton(
    surface: Surface,
    rows: Rows,
    d: Floats,
    offset: Floats,
    unit: Floats,
    side: Floats,
    target: Floats,
    in_offset: bool,
) -> Floats:
    """Ends by the Lagrange conditions; NaN where not settled, and where ξ = −1 belongs to the region.

    The region then has an edge, along which the end may lie: the smooth contour is not all of its boundary.
    """
    if in_offset:
        found = -contour_extremes(surface, rows, log_exceedance_goal(d), -side, target)
    else:
        known = getattr(surface, "rate_term", "") == "fixed"
        goal = return_level_goal(offset, unit, rate_known=known)
        with np.errstate(over="ignore"):
            found = unit * np.sinh(contour_extremes(surface, rows, goal, side, target))
    smooth = 2.0 * (surface.boundary() - surface.minimum())[rows] > target
    return np.where(smooth, found, np.nan)


def _search(
    surface: Surface,
    rows: Rows,
    d: Floats,
    offset: Floats,
    scale: Floats,
    target: Floats,
    in_offset: bool,
) -> Floats:
    """The ends by a bracketed search on the profile, each point found anew: it may have two valleys."""
    minimum = surface.minimum()[rows]

    def deviance(which: Rows, x: Floats) -> tuple[Floats, Floats]:
        points = level_profile(
            surface,
            rows[which],
            d[which] if in_offset else x,
            x if in_offset else offset[which],
            in_offset=in_offset,
        )
        return 2.0 * (points.value - minimum[which]), 2.0 * points.slope

    limit = np.where(scale > 0, LONGEST, -LONGEST) if in_offset else None
    found = find_crossings(deviance, offset if in_offset else d, scale, target, limit=limit)
    if in_offset:
        return np.where(np.abs(found) >= LONGEST, np.sign(found) * np.inf, found)
    return found
