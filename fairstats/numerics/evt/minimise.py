"""Minimisation over the tail parameter θ = ξ/σ, for many problems at once.

θ lives between −1/hi and −1/lo (both ends open, lo ≤ 0 < hi). The logarithm of the ratio of the two
distances, ``φ = log((1 + θ·hi)/(1 + θ·lo))``, runs over the whole line, is 0 in the exponential case and of
the order ξ·log n at the optimum: a coarse grid in φ finds the basin, Newton steps within a bracket finish.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    #: (rows, θ of shape (rows, K)) → value, slope and curvature in θ, each of shape (rows, K).
    Objective = Callable[[NDArray[np.intp], Floats], tuple[Floats, Floats, Floats]]
    #: θ of the only problem → value, slope and curvature in θ.
    OneObjective = Callable[[float], tuple[float, float, float]]

__all__ = ["TailMinimum", "minimise_over_tail", "newton_in_bracket", "tail_parameter"]

#: Coarse grid, in units of log n.
_GRID = np.array([-3.0, -2.2, -1.6, -1.15, -0.8, -0.5, -0.25, -0.08, 0.08, 0.25, 0.5, 0.9, 1.6, 3.0])
_DENSE = np.linspace(-3.0, 0.5, 281)
_PHI_LIMIT = 600.0
_FURTHER = np.array([30.0, 12.0, 6.0, 3.0, 1.5, 0.7])
#: 1 + θ·hi = e^−30 is as near to 0 as double precision resolves.
_PHI_DEEPEST = 30.0
#: Newton's method ends with a step this small, relative to 1 + |x|.
_TOLERANCE = 1e-8
_MAX_ITERATIONS = 80


@dataclass(frozen=True)
class TailMinimum:
    """Interior minima, one per problem: θ, the value, NaN and +inf where there is none."""

    theta: Floats
    value: Floats


def tail_parameter(phi: Floats, lo: Floats, hi: Floats) -> tuple[Floats, Floats, Floats]:
    """θ(φ) and its first two derivatives; all arguments broadcast."""
    with np.errstate(all="ignore"):
        e = np.exp(phi)
        gap = hi - lo * e
        theta = np.expm1(phi) / gap
        first = e * (hi - lo) / gap**2
        return theta, first, first * (hi + lo * e) / gap


def minimise_over_tail(
    objective: Objective,
    lo: Floats,
    hi: Floats,
    log_n: Floats,
    start: Floats | None = None,
    *,
    one: OneObjective | None = None,
) -> TailMinimum:
    """Lowest interior minimum of each problem's objective in θ.

    Parameters
    ----------
    objective : callable
        ``objective(rows, theta)`` gives value, slope and curvature in θ for the problems `rows`.
    lo, hi : ndarray of float, shape (P,)
        1 + θ·lo > 0 and 1 + θ·hi > 0.
    log_n : ndarray of float, shape (P,)
        Unit of the coarse grid.
    start : ndarray of float, shape (P,), optional
        θ near the minimum; where it is NaN or leads nowhere, the grid is used.
    one : callable, optional
        The same objective in plain numbers, for P = 1: Newton's steps then cost a tenth.

    Returns
    -------
    TailMinimum
    """
    problems = lo.size
    theta = np.full(problems, np.nan)
    value = np.full(problems, np.inf)

    def in_phi(rows: NDArray[np.intp], phi: Floats) -> tuple[Floats, Floats, Floats]:
        with np.errstate(all="ignore"):  # impossible points give inf or NaN, and are passed over
            t, first, second = tail_parameter(phi, lo[rows, None], hi[rows, None])
            f, slope, curvature = objective(rows, t)
            return f, slope * first, curvature * first**2 + slope * second

    todo = np.arange(problems)
    if start is not None:
        todo = _from_start(in_phi, start, lo, hi, theta, value)
    if todo.size:
        _from_grid(in_phi, todo, _GRID, lo, hi, log_n, theta, value, one)
        none = todo[~np.isfinite(value[todo])]
        if none.size:  # a narrow valley between two grid points, or none at all
            _from_grid(in_phi, none, _DENSE, lo, hi, log_n, theta, value, one)
    return TailMinimum(theta, value)


def _from_start(
    in_phi: Objective, start: Floats, lo: Floats, hi: Floats, theta: Floats, value: Floats
) -> NDArray[np.intp]:
    """Newton from `start`; returns the problems that it did not settle."""
    with np.errstate(invalid="ignore", divide="ignore"):
        phi = np.log((1.0 + start * hi) / (1.0 + start * lo))
    rows = np.flatnonzero(np.isfinite(phi))
    if rows.size:
        width = 3.0
        found = newton_in_bracket(in_phi, rows, phi[rows], phi[rows] - width, phi[rows] + width)
        inside = np.abs(found - phi[rows]) < 0.99 * width
        rows, found = rows[inside], found[inside]
        value[rows] = in_phi(rows, found[:, None])[0][:, 0]
        theta[rows] = tail_parameter(found, lo[rows], hi[rows])[0]
    return np.flatnonzero(~np.isfinite(value))


def _from_grid(
    in_phi: Objective,
    rows: NDArray[np.intp],
    grid: Floats,
    lo: Floats,
    hi: Floats,
    log_n: Floats,
    theta: Floats,
    value: Floats,
    one: OneObjective | None,
) -> None:
    phi = np.clip(grid * log_n[rows, None], -_PHI_LIMIT, _PHI_LIMIT)
    f, slope, _ = in_phi(rows, phi)
    rising = np.flatnonzero(slope[:, 0] > 0)
    if rising.size:  # a valley may lie beyond the grid, next to the end point
        further = np.full((rows.size, _FURTHER.size), np.nan)
        first = phi[rising, :1]
        further[rising] = np.maximum(first - _FURTHER, np.minimum(first, -_PHI_DEEPEST))
        g, s = np.full_like(further, np.inf), np.full_like(further, np.nan)
        g[rising], s[rising], _ = in_phi(rows[rising], further[rising])
        phi, f, slope = np.c_[further, phi], np.c_[g, f], np.c_[s, slope]
    for _ in range(12):  # still falling at the right end: a heavier tail than the grid has
        falling = slope[:, -1] < 0
        if not falling.any() or phi[falling, -1].min() >= _PHI_LIMIT:
            break
        wider = np.minimum(np.where(falling, 2.0 * phi[:, -1], phi[:, -1] + 1.0), _PHI_LIMIT)
        g, s, _ = in_phi(rows, wider[:, None])
        phi, f, slope = np.c_[phi, wider], np.c_[f, g], np.c_[slope, s]
    with np.errstate(invalid="ignore"):
        valley = (slope[:, :-1] < 0) & (slope[:, 1:] >= 0)
        floor = np.where(valley, np.minimum(f[:, :-1], f[:, 1:]), np.inf)
    cell = np.argmin(floor, axis=1)
    has = np.isfinite(floor[np.arange(rows.size), cell])
    rows, cell = rows[has], cell[has]
    if not rows.size:
        return
    phi, slope = phi[has], slope[has]
    i = np.arange(rows.size)
    left, right = phi[i, cell], phi[i, cell + 1]
    s_left, s_right = slope[i, cell], slope[i, cell + 1]
    with np.errstate(all="ignore"):
        guess = left - s_left * (right - left) / (s_right - s_left)
    guess = np.where((guess > left) & (guess < right), guess, 0.5 * (left + right))
    if one is not None:
        bracket = float(guess[0]), float(left[0]), float(right[0])
        theta[rows], value[rows] = _newton_of_one(one, *bracket, float(lo[rows[0]]), float(hi[rows[0]]))
        return
    found = newton_in_bracket(in_phi, rows, guess, left, right)
    value[rows] = in_phi(rows, found[:, None])[0][:, 0]
    theta[rows] = tail_parameter(found, lo[rows], hi[rows])[0]


def newton_in_bracket(
    objective: Objective,
    rows: NDArray[np.intp],
    start: Floats,
    low: Floats,
    high: Floats,
    *,
    tolerance: float = _TOLERANCE,
    max_iterations: int = _MAX_ITERATIONS,
) -> Floats:
    """Points where the slope vanishes, by Newton steps that never leave the bracket (else it is halved).

    A step below `tolerance` (relative to 1 + |x|) is taken and ends the search: convergence is quadratic,
    so what is left is of the order of its square.
    """
    x, low, high = start.copy(), low.copy(), high.copy()
    active = np.arange(rows.size)
    for _ in range(max_iterations):
        point = x[active]
        _, slope, curvature = objective(rows[active], point[:, None])
        slope, curvature = slope[:, 0], curvature[:, 0]
        rising = slope > 0
        high[active] = np.where(rising, point, high[active])
        low[active] = np.where(rising, low[active], point)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = -slope / curvature
        target = point + step
        bad = ~((curvature > 0) & (target >= low[active]) & (target <= high[active]))
        target = np.where(bad, 0.5 * (low[active] + high[active]), target)
        x[active] = np.where(slope == 0, point, target)
        moving = (slope != 0) & (np.abs(target - point) > tolerance * (1.0 + np.abs(point)))
        active = active[moving]
        if not active.size:
            break
    return x


def _newton_of_one(
    objective: OneObjective, x: float, low: float, high: float, lo: float, hi: float
) -> tuple[float, float]:
    """`newton_in_bracket` in φ for a single problem, in plain numbers: θ and the value."""
    with np.errstate(all="ignore"):
        for _ in range(_MAX_ITERATIONS):
            _, slope, curvature = _in_phi_of_one(objective, x, lo, hi)
            if slope == 0:
                break
            low, high = (low, x) if slope > 0 else (x, high)
            target = x - slope / curvature if curvature > 0 else math.nan
            if not low <= target <= high:
                target = 0.5 * (low + high)
            step, x = target - x, target
            if abs(step) <= _TOLERANCE * (1.0 + abs(x - step)):
                break
        return _tail_parameter_of_one(x, lo, hi)[0], _in_phi_of_one(objective, x, lo, hi)[0]


def _in_phi_of_one(objective: OneObjective, phi: float, lo: float, hi: float) -> tuple[float, float, float]:
    theta, first, second = _tail_parameter_of_one(phi, lo, hi)
    value, slope, curvature = objective(theta)
    return value, slope * first, curvature * first**2 + slope * second


def _tail_parameter_of_one(phi: float, lo: float, hi: float) -> tuple[float, float, float]:
    """`tail_parameter` in plain numbers."""
    e = math.exp(phi)
    gap = hi - lo * e
    first = e * (hi - lo) / gap**2
    return math.expm1(phi) / gap, first, first * (hi + lo * e) / gap
