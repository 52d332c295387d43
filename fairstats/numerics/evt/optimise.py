"""Searches in one variable, for many problems at once: minima over the tail, convex minima, crossings.

The tail parameter θ = ξ/σ lives between −1/hi and −1/lo (both ends open, lo ≤ 0 < hi). The logarithm of the ratio of
the two distances, ``φ = log((1 + θ·hi)/(1 + θ·lo))``, runs over the whole line, is 0 in the exponential case and of the
order ξ·log n at the optimum: a coarse grid in φ finds the basin, Newton steps within a bracket finish.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fairstats.numerics.evt.distributions import Floats, Rows, Triple

#: (rows, θ of shape (rows, K)) → value, slope and curvature in θ, each of shape (rows, K).
Objective = Callable[[Rows, Floats], Triple]
#: The same for a single problem, in plain numbers: a fit by itself takes half the time.
OneObjective = Callable[[float], tuple[float, float, float]]
#: (problems, points) → deviance and its slope (NaN where unknown).
Deviance = Callable[[Rows, Floats], tuple[Floats, Floats]]


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


def tail_parameter(phi: Floats, lo: Floats, hi: Floats) -> Triple:
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
    one: OneObjective | None = None,
) -> tuple[Floats, Floats]:
    """Lowest interior minimum of each problem's objective in θ: where, and its value; NaN and +inf for none.

    ``objective(rows, theta)`` gives value, slope and curvature for the problems `rows`; 1 + θ·lo and 1 + θ·hi
    are positive; `log_n` is the unit of the coarse grid; all of shape (P,). Where `start`, θ near the
    minimum, is NaN or leads nowhere, the grid is used. `one` is the objective of an only problem.
    """
    problems = lo.size
    theta = np.full(problems, np.nan)
    value = np.full(problems, np.inf)

    def in_phi(rows: Rows, phi: Floats) -> Triple:
        with np.errstate(all="ignore"):  # impossible points give inf or NaN, and are passed over
            t, first, second = tail_parameter(phi, lo[rows, None], hi[rows, None])
            f, slope, curvature = objective(rows, t)
            return f, slope * first, curvature * first**2 + slope * second

    todo = np.arange(problems)
    if start is not None:
        todo = _from_start(in_phi, start, lo, hi, theta, value, one)
    if todo.size:
        _from_grid(in_phi, todo, _GRID * log_n[todo, None], lo, hi, theta, value, one)
        none = todo[~np.isfinite(value[todo])]
        if none.size:  # a narrow valley between two grid points, or none at all
            _from_grid(in_phi, none, _DENSE * log_n[none, None], lo, hi, theta, value, one)
    return theta, value


def _from_start(
    in_phi: Objective, start: Floats, lo: Floats, hi: Floats, theta: Floats, value: Floats, one: OneObjective | None
) -> Rows:
    """Newton from `start`; returns the problems that it did not settle."""
    with np.errstate(invalid="ignore", divide="ignore"):
        phi = np.log((1.0 + start * hi) / (1.0 + start * lo))
    rows = np.flatnonzero(np.isfinite(phi))
    if rows.size:
        width = 3.0
        ends = phi[rows] - width, phi[rows] + width
        found, t, f = _settled(in_phi, rows, phi[rows], *ends, lo, hi, one)
        inside = np.abs(found - phi[rows]) < 0.99 * width
        theta[rows[inside]], value[rows[inside]] = t[inside], f[inside]
    return np.flatnonzero(~np.isfinite(value))


def _from_grid(
    in_phi: Objective,
    rows: Rows,
    grid: Floats,
    lo: Floats,
    hi: Floats,
    theta: Floats,
    value: Floats,
    one: OneObjective | None,
) -> None:
    """The lowest valley of a grid of φ, shape (rows, K), refined; into `theta` and `value`."""
    phi = np.clip(grid, -_PHI_LIMIT, _PHI_LIMIT)
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
    _, theta[rows], value[rows] = _settled(in_phi, rows, guess, left, right, lo, hi, one)


def _settled(
    in_phi: Objective,
    rows: Rows,
    start: Floats,
    low: Floats,
    high: Floats,
    lo: Floats,
    hi: Floats,
    one: OneObjective | None,
) -> Triple:
    """φ, θ and value where Newton's method ends."""
    if one is not None:
        ends = (float(start[0]), float(low[0]), float(high[0]), float(lo[0]), float(hi[0]))
        x, t, f = _newton_of_one(one, *ends)
        return np.array([x]), np.array([t]), np.array([f])
    found = newton_in_bracket(in_phi, rows, start, low, high)
    theta = tail_parameter(found, lo[rows], hi[rows])[0]
    return found, theta, in_phi(rows, found[:, None])[0][:, 0]


def _newton_of_one(
    one: OneObjective, x: float, low: float, high: float, lo: float, hi: float
) -> tuple[float, float, float]:
    """`newton_in_bracket` in φ for an only problem: φ, θ and the value."""

    def at(phi: float) -> tuple[float, float, float, float]:
        e = math.exp(phi)
        gap = hi - lo * e
        theta, first = math.expm1(phi) / gap, e * (hi - lo) / gap**2
        f, slope, curvature = one(theta)
        return theta, f, slope * first, curvature * first**2 + slope * first * (hi + lo * e) / gap

    last_but_one = moved = math.inf
    with np.errstate(all="ignore"):
        for _ in range(_MAX_ITERATIONS):
            _, _, slope, curvature = at(x)
            if slope == 0:
                break
            low, high = (low, x) if slope > 0 else (x, high)
            target = x - slope / curvature if curvature > 0 else math.nan
            if not (low <= target <= high and abs(target - x) <= 0.5 * last_but_one):
                target = 0.5 * (low + high)
            last_but_one, moved, x = moved, abs(target - x), target
            if moved <= _TOLERANCE * (1.0 + abs(x)):
                break
        theta, value, *_ = at(x)
    return x, theta, value


def newton_in_bracket(
    objective: Objective,
    rows: Rows,
    start: Floats,
    low: Floats,
    high: Floats,
    *,
    tolerance: float = _TOLERANCE,
    max_iterations: int = _MAX_ITERATIONS,
) -> Floats:
    """Points where the slope vanishes, by Newton steps that never leave the bracket (else it is halved).

    Where the curvature jumps, Newton's steps may go to and fro for ever between two points: one that is not
    half as long as the last but one halves the bracket, too. A step below `tolerance` (relative to 1 + |x|)
    is taken and ends the search: convergence is quadratic, so what is left is of the order of its square.
    """
    x, low, high = start.copy(), low.copy(), high.copy()
    last_but_one, last = np.full_like(x, np.inf), np.full_like(x, np.inf)
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
        good = (curvature > 0) & (target >= low[active]) & (target <= high[active])
        good &= np.abs(step) <= 0.5 * last_but_one[active]
        target = np.where(good, target, 0.5 * (low[active] + high[active]))
        last_but_one[active], last[active] = last[active], np.abs(target - point)
        x[active] = np.where(slope == 0, point, target)
        moving = (slope != 0) & (np.abs(target - point) > tolerance * (1.0 + np.abs(point)))
        active = active[moving]
        if not active.size:
            break
    return x


_CONVEX_TOLERANCE = 1e-11
_CONVEX_ITERATIONS = 100


def minimise_convex(
    derivatives: Callable[[Floats], tuple[Floats, Floats]], start: Floats, cap: Floats | float = np.inf
) -> Floats:
    """Minimiser of a convex function on (0, cap), from its first and second derivative at an array of points.

    Newton's method; a step changes the variable at most by the factor e (2 downwards), and goes at most half
    way to `cap`. Elements that have converged wait for the others; the arrays are small.
    """
    x = start
    for _ in range(_CONVEX_ITERATIONS):
        first, second = derivatives(x)
        step = -first / second
        target = np.clip(x + step, 0.5 * x, np.e * x)
        target = np.where(target < cap, target, 0.5 * (x + np.minimum(cap, np.e * x)))
        moved = np.abs(target - x) > _CONVEX_TOLERANCE * x
        x = target
        if not moved.any():
            break
    return x


#: The search ends at this many doublings of the scale: the interval is open there.
_FARTHEST = 300.0
_CROSSING_TOLERANCE = 1e-10
#: Secants help that early on where no slope is known; what lasts longer is a jump of the deviance.
_SECANTS = 16


def find_crossings(
    deviance: Deviance,
    centre: Floats,
    scale: Floats,
    target: Floats,
    *,
    limit: Floats | None = None,
    guess: Floats | None = None,
    tolerance: float = _CROSSING_TOLERANCE,
    max_iterations: int = 100,
) -> Floats:
    """First point on one side of `centre` where the deviance equals `target`; all arrays of shape (Q,).

    The point is sought as ``centre + scale·sinh(τ)``, τ > 0, which covers many orders of magnitude; there √deviance is
    nearly linear, so Newton steps on it within a bracket need few evaluations. The deviance is twice the fall of the
    profile log-likelihood, 0 at `centre`. The sign of `scale` is the direction, its size about one standard error;
    `limit` is the end of the parameter space in that direction. It, or infinity, is returned where the deviance stays
    below the target. The search begins at `guess`, where it is not NaN.
    """
    end = np.where(scale > 0, np.inf, -np.inf) if limit is None else limit
    root = np.sqrt(target)
    farthest = np.minimum(np.arcsinh(np.abs((end - centre) / scale)), _FARTHEST)
    low, high = np.zeros_like(centre), farthest.copy()
    bounded = np.zeros(centre.size, dtype=bool)  # whether `high` is known to lie beyond the crossing
    tau = np.minimum(np.arcsinh(root), 0.5 * farthest)
    if guess is not None:
        near = np.arcsinh((guess - centre) / scale)
        tau = np.where((near > 0) & (near < farthest), near, tau)
    active = np.arange(centre.size)
    below, above = np.zeros_like(centre), np.full_like(centre, np.nan)  # √deviance at `low` and `high`
    for i in range(max_iterations):
        t, step = tau[active], scale[active]
        with np.errstate(all="ignore"):  # impossible points give inf or NaN, which count as beyond
            dev, slope = deviance(active, centre[active] + step * np.sinh(t))
        w = np.sqrt(np.maximum(dev, 0.0))
        beyond = ~(w < root[active])  # NaN counts as beyond
        high[active], above[active] = np.where(beyond, (t, w), (high[active], above[active]))
        low[active], below[active] = np.where(beyond, (low[active], below[active]), (t, w))
        bounded[active] |= beyond
        done = np.abs(w - root[active]) <= tolerance * root[active]
        bounded[active] |= done
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = t + (root[active] - w) * 2.0 * w / (slope * step * np.cosh(t))
        lo, hi, known = low[active], high[active], bounded[active]
        outward = np.minimum(2.0 * t + 0.5, 0.5 * (t + hi))
        with np.errstate(divide="ignore", invalid="ignore"):  # where no slope is known, a secant every other time
            share = (root[active] - below[active]) / (above[active] - below[active])
        share = np.where(np.isfinite(share) & (i % 2 == 0) & (i < _SECANTS), share, 0.5)
        fallback = np.where(known, lo + share * (hi - lo), outward)
        usable = np.isfinite(newton) & (newton > lo) & (newton < hi) & (known | (newton < 3.0 * t + 1.0))
        tau[active] = np.where(done, t, np.where(usable, newton, fallback))
        narrow = (hi - lo) <= 1e-13 * (1.0 + hi)
        active = active[~(done | narrow)]
        if not active.size:
            break
    with np.errstate(over="ignore"):
        found = centre + scale * np.sinh(tau)
    return np.where(bounded, found, end)
