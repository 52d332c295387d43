"""Likelihood interval of the scale of block maxima where the contour is not smooth.

The scale of blocks with log period τ is σ = e^(ξs)/ν with s = ℓ + τ. In the coordinates (ξ, s), ν =
e^(ξs)/σ is explicit, and what is left for a given σ is a minimum over two variables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairstats.numerics.evt.crossing import find_crossings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.numerics.evt.profile import Surface

    Floats = NDArray[np.float64]

__all__ = ["search_block_scale"]

#: Value outside the parameter space: finite, since the simplex compares differences.
_OUTSIDE = 1e30


def search_block_scale(surface: Surface, log_period: float, side: float, target: float) -> float:
    """Log of the end of the interval, in standard units.

    Parameters
    ----------
    surface : Surface
        Likelihood of one sample.
    log_period : float
        τ of the blocks.
    side : float
        −1 for the lower, 1 for the upper end.
    target : float
        Critical value of the deviance.
    """
    from scipy.optimize import minimize

    xi = float(surface.theta[0] / surface.nu[0])
    s = float(surface.log_rate[0]) + log_period
    centre = xi * s - float(np.log(surface.nu[0]))
    minimum = float(surface.minimum()[0])
    rows = np.zeros(1, dtype=np.intp)
    start = np.array([max(xi, -1.0 + 1e-6), s])
    low, high = float(surface.lower[0]), float(surface.upper[0])

    def value(point: Floats, log_scale: float) -> float:
        shape, s_here = point
        with np.errstate(all="ignore"):
            nu = np.exp(shape * s_here - log_scale)
            theta, ell = shape * nu, s_here - log_period
            inside = 1.0 + theta * high > 0 and 1.0 + theta * low > 0 and shape >= -1.0 and 0 < nu < 1e300
            if not inside or not bool(surface.inside(rows, np.array([ell]))[0]):
                return _OUTSIDE
            f = surface.whole(rows, np.array([theta]), np.array([nu]), np.array([ell]))[0][0]
        return float(f) if np.isfinite(f) else _OUTSIDE

    def deviance(which: NDArray[np.intp], log_scale: Floats) -> tuple[Floats, Floats]:
        # ξ = 0 has no end points, so it is possible at every scale
        candidates = [start, np.array([0.0, start[1]]), np.array([0.0, s])]
        values = [value(point, float(log_scale[0])) for point in candidates]
        first = candidates[int(np.argmin(values))]
        simplex = first + np.array([[0.0, 0.0], [0.05, 0.0], [0.0, 0.05]])
        best = minimize(
            value,
            first,
            args=(float(log_scale[0]),),
            method="Nelder-Mead",
            options={
                "xatol": 1e-7,
                "fatol": 1e-9,
                "maxiter": 2000,
                "maxfev": 2000,
                "initial_simplex": simplex,
            },
        )
        start[:] = best.x
        return np.array([2.0 * (best.fun - minimum)]), np.array([np.nan])

    found = find_crossings(deviance, np.array([centre]), np.array([0.1 * side]), np.array([target]))
    return float(found[0])
