"""Searches in one variable, for many problems at once: minima over the tail, convex minima, crossings.

The tail parameter θ = ξ/σ lies between −1/hi and −1/lo (lo ≤ 0 < hi). ``φ = log((1 + θ·hi)/(1 + θ·lo))`` runs over the
whole line, is 0 in the exponential case and of the order ξ·log n at the optimum: a coarse grid in φ finds the basin,
Newton steps within a bracket finish.
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
_DENSE, _PHI_LIMIT = np.linspace(-3.0, 0.5, 281), 600.0
_FURTHER = np.array([30.0, 12.0, 6.0, 3.0, 1.5, 0.7])
#: 1 + θ·hi = e^−30 is as near to 0 as double precision resolves.
_PHI_DEEPEST = 30.0
#: Newton's method ends with a step this small, relative to 1 + |x|; in a convex minimisation, to x.
_TOLERANCE, _MAX_ITERATIONS, _CONVEX_TOLERANCE, _CONVEX_ITERATIONS = 1e-8, 80, 1e-11, 100
#: Crossings: the search ends at this many doublings of the scale, where the interval is open. Secants help that early
#: on where no slope is known; what lasts longer is a jump of the deviance.
_FARTHEST, _SECANTS = 300.0, 16


def tail_parameter(phi: Floats, lo: Floats, hi: Floats) -> Triple:
    """θ(φ) and its first two derivatives; all arguments broadcast."""
    with np.errstate(all="ignore"):
        e = np.exp(phi)
        gap = hi - lo * e
        theta = np.expm1(phi) / gap
        first = e * (hi - lo) / gap**2
        return theta, first, first * (hi + lo * e) / gap


def minimise_over_tail(
    objective: Objective, lo: Floats, hi: Floats, log_n: Floats, start: Floats | None = None,
    one: OneObjective | None = None,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Lowest interior minimum of each problem's objective in θ: where, and its value; NaN and +inf for none.

    ``objective(rows, theta)`` gives value, slope and curvature for the problems `rows`; 1 + θ·lo and 1 + θ·hi
    are positive; `log_n` is the unit of the coarse grid; all of shape (P,). Where `start`, θ near the
    minimum, is NaN or leads nowhere, the grid is used. `one` is the objective of an only problem.
    """
    search = _OverTail(objective, lo, hi, one)
    todo = np.arange(lo.size)
    if start is not None:
        search.from_start(start)
        todo = np.flatnonzero(~np.isfinite(search.value))
    for grid in (_GRID, _DENSE):  # a narrow valley may lie between two points of the first
        if todo.size:
            search.from_grid(todo, np.clip(grid * log_n[todo, None], -_PHI_LIMIT, _PHI_LIMIT))
            todo = todo[~np.isfinite(search.value[todo])]
    return search.theta, search.value


class _OverTail:
    """The search of `minimise_over_tail`, in φ, and what it has found."""

    def __init__(self, objective: Objective, lo: Floats, hi: Floats, one: OneObjective | None) -> None:
        self.objective, self.lo, self.hi, self.one = objective, lo, hi, one
        self.theta, self.value = np.full(lo.size, np.nan), np.full(lo.size, np.inf)

    def in_phi(self, rows: Rows, phi: Floats) -> Triple:
        with np.errstate(all="ignore"):  # impossible points give inf or NaN, and are passed over
            t, first, second = tail_parameter(phi, self.lo[rows, None], self.hi[rows, None])
            f, slope, curvature = self.objective(rows, t)
            return f, slope * first, curvature * first**2 + slope * second

    def from_start(self, start: Floats) -> None:
        """Newton's method, kept where it stays near the start."""
        with np.errstate(invalid="ignore", divide="ignore"):
            phi = np.log((1.0 + start * self.hi) / (1.0 + start * self.lo))
        rows, width = np.flatnonzero(np.isfinite(phi)), 3.0
        if rows.size:
            phi = phi[rows]
            found, theta, value = self.settled(rows, phi, phi - width, phi + width)
            inside = np.abs(found - phi) < 0.99 * width
            self.theta[rows[inside]], self.value[rows[inside]] = theta[inside], value[inside]

    def from_grid(self, rows: Rows, phi: Floats) -> None:
        """The lowest valley of a grid, shape (rows, K), refined."""
        f, slope, _ = self.in_phi(rows, phi)
        rising = np.flatnonzero(slope[:, 0] > 0)
        if rising.size:  # a valley may lie beyond the grid, next to the end point
            further = np.full((rows.size, _FURTHER.size), np.nan)
            first = phi[rising, :1]
            further[rising] = np.maximum(first - _FURTHER, np.minimum(first, -_PHI_DEEPEST))
            g, s = np.full_like(further, np.inf), np.full_like(further, np.nan)
            g[rising], s[rising], _ = self.in_phi(rows[rising], further[rising])
            phi, f, slope = np.c_[further, phi], np.c_[g, f], np.c_[s, slope]
        for _ in range(12):  # still falling at the right end: a heavier tail than the grid has
            falling = slope[:, -1] < 0
            if not falling.any() or phi[falling, -1].min() >= _PHI_LIMIT:
                break
            wider = np.minimum(np.where(falling, 2.0 * phi[:, -1], phi[:, -1] + 1.0), _PHI_LIMIT)
            g, s, _ = self.in_phi(rows, wider[:, None])
            phi, f, slope = np.c_[phi, wider], np.c_[f, g], np.c_[slope, s]
        with np.errstate(invalid="ignore"):
            valley = (slope[:, :-1] < 0) & (slope[:, 1:] >= 0)
            floor = np.where(valley, np.minimum(f[:, :-1], f[:, 1:]), np.inf)
        i, cell = np.arange(rows.size), np.argmin(floor, axis=1)
        has = np.isfinite(floor[i, cell])
        i, cell = i[has], cell[has]
        if not i.size:
            return
        left, right = phi[i, cell], phi[i, cell + 1]
        s_left, s_right = slope[i, cell], slope[i, cell + 1]
        with np.errstate(all="ignore"):
            guess = left - s_left * (right - left) / (s_right - s_left)
        guess = np.where((guess > left) & (guess < right), guess, 0.5 * (left + right))
        _, self.theta[rows[i]], self.value[rows[i]] = self.settled(rows[i], guess, left, right)

    def settled(self, rows: Rows, start: Floats, low: Floats, high: Floats) -> Triple:
        """φ, θ and value where Newton's method ends."""
        if self.one is not None:
            ends = (float(a[0]) for a in (start, low, high, self.lo, self.hi))
            x, t, f = _newton_of_one(self.one, *ends)
            return np.array([x]), np.array([t]), np.array([f])
        found = newton_in_bracket(self.in_phi, rows, start, low, high)
        theta = tail_parameter(found, self.lo[rows], self.hi[rows])[0]
        return found, theta, self.in_phi(rows, found[:, None])[0][:, 0]


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


def newton_in_bracket(objective: Objective, rows: Rows, start: Floats, low: Floats, high: Floats) -> Floats:
    """Points where the slope vanishes, by Newton steps that never leave the bracket (else it is halved).

    Where the curvature jumps, steps may go to and fro for ever: one that is not half as long as the last but one halves
    the bracket, too. A step below the tolerance is taken, and leaves an error of the order of its square.
    """
    x, low, high = start.copy(), low.copy(), high.copy()
    last_but_one, last = np.full((2, x.size), np.inf)
    active = np.arange(rows.size)
    for _ in range(_MAX_ITERATIONS):
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
        active = active[(slope != 0) & (np.abs(target - point) > _TOLERANCE * (1.0 + np.abs(point)))]
        if not active.size:
            break
    return x


def minimise_convex(
    derivatives: Callable[[Floats], tuple[Floats, Floats]], start: Floats, cap: Floats | float = np.inf
) -> Floats:
    """Minimiser of a convex function on (0, cap), from its first and second derivative at an array of points.

    Newton's method; a step changes the variable at most by the factor e (2 downwards), and goes half way to `cap`.
    """
    x = start
    for _ in range(_CONVEX_ITERATIONS):
        first, second = derivatives(x)
        target = np.clip(x - first / second, 0.5 * x, np.e * x)
        target = np.where(target < cap, target, 0.5 * (x + np.minimum(cap, np.e * x)))
        moved = np.abs(target - x) > _CONVEX_TOLERANCE * x
        x = target
        if not moved.any():
            break
    return x


def find_crossings(
    deviance: Deviance, centre: Floats, scale: Floats, target: Floats, *, limit: Floats | None = None,
    guess: Floats | None = None, tolerance: float = 1e-10, max_iterations: int = 100,
) -> Floats:  # fmt: skip
    """First point on one side of `centre` where the deviance equals `target`; all arrays of shape (Q,).

    The point is sought as ``centre + scale·sinh(τ)``, τ > 0, over many orders of magnitude; √deviance is nearly linear
    there, so Newton steps on it within a bracket need few evaluations. The deviance is 0 at `centre`. The sign of
    `scale` is the direction, its size about one standard error; `limit` ends the parameter space in that direction:
    it, or infinity, is returned where the deviance stays below the target. The search begins at `guess`, if not NaN.
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
        done = np.abs(w - root[active]) <= tolerance * root[active]
        bounded[active] |= beyond | done
        lo, hi, known = low[active], high[active], bounded[active]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = t + (root[active] - w) * 2.0 * w / (slope * step * np.cosh(t))
            share = (root[active] - below[active]) / (above[active] - below[active])
        # where no slope is known, a secant every other time
        share = np.where(np.isfinite(share) & (i % 2 == 0) & (i < _SECANTS), share, 0.5)
        fallback = np.where(known, lo + share * (hi - lo), np.minimum(2.0 * t + 0.5, 0.5 * (t + hi)))
        usable = np.isfinite(newton) & (newton > lo) & (newton < hi) & (known | (newton < 3.0 * t + 1.0))
        tau[active] = np.where(done, t, np.where(usable, newton, fallback))
        active = active[~(done | (hi - lo <= 1e-13 * (1.0 + hi)))]
        if not active.size:
            break
    with np.errstate(over="ignore"):
        found = centre + scale * np.sinh(tau)
    return np.where(bounded, found, end)
