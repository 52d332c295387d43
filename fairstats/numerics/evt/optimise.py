"""Searches in one variable, for many problems at once.

Minima over the tail, convex minima, crossings.

The tail parameter θ = ξ/σ lies between −1/hi and −1/lo (lo ≤ 0 < hi). ``φ = log((1 + θ·hi)/(1 +
θ·lo))`` runs over the whole line, is 0 in the exponential case and of the order ξ·log n at the
optimum: a coarse grid in φ finds the basin, Newton steps within a bracket finish.
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
_COARSE_GRID = np.array(
    [-3.0, -2.2, -1.6, -1.15, -0.8, -0.5, -0.25, -0.08, 0.08, 0.25, 0.5, 0.9, 1.6, 3.0]
)
_DENSE_GRID = np.linspace(-3.0, 0.5, 281)
_PHI_LIMIT = 600.0
_FURTHER = np.array([30.0, 12.0, 6.0, 3.0, 1.5, 0.7])
#: 1 + θ·hi = e^−30 is as near to 0 as double precision resolves.
_PHI_DEEPEST = 30.0
#: Newton's method ends with a step this small, relative to 1 + |x|; in a convex minimisation, to x.
#: The step is taken, so that what is left is of the order of its square.
_TOLERANCE = 1e-8
_MAX_ITERATIONS = 80
CONVEX_TOLERANCE = 1e-7
_CONVEX_ITERATIONS = 100
#: Crossings: the search ends at this many doublings of the scale, where the interval is open.
#: Secants help that early on where no slope is known; what lasts longer is a jump of the deviance.
_FARTHEST = 300.0
_SECANTS = 16


def tail_parameter(phi: Floats, lo: Floats, hi: Floats) -> Triple:
    """θ(φ) and its first two derivatives; all arguments broadcast."""
    with np.errstate(all="ignore"):
        exp_phi = np.exp(phi)
        denominator = hi - lo * exp_phi
        theta = np.expm1(phi) / denominator
        first_derivative = exp_phi * (hi - lo) / denominator**2
        return theta, first_derivative, first_derivative * (hi + lo * exp_phi) / denominator


def minimise_over_tail(
    objective: Objective,
    lo: Floats,
    hi: Floats,
    log_n: Floats,
    start: Floats | None = None,
    one: OneObjective | None = None,
) -> tuple[Floats, Floats]:
    """Lowest interior minimum of each problem's objective in θ: where, and its value.

    NaN and +inf for none.

    ``objective(rows, theta)`` gives value, slope and curvature for the problems `rows`; 1 + θ·lo
    and 1 + θ·hi are positive; `log_n` is the unit of the coarse grid; all of shape (P,). Where
    `start`, θ near the minimum, is NaN or leads nowhere, the grid is used. `one` is the objective
    of an only problem.
    """
    tail_search = _OverTail(objective, lo, hi, one)
    unsolved = np.arange(lo.size)
    if start is not None:
        tail_search.from_start(start)
        unsolved = np.flatnonzero(~np.isfinite(tail_search.value))
    # a narrow valley may lie between two points of the first
    for phi_grid in (
        _COARSE_GRID,
        _DENSE_GRID,
    ):
        if unsolved.size:
            tail_search.from_grid(
                unsolved, np.clip(phi_grid * log_n[unsolved, None], -_PHI_LIMIT, _PHI_LIMIT)
            )
            unsolved = unsolved[~np.isfinite(tail_search.value[unsolved])]
    return tail_search.theta, tail_search.value


class _OverTail:
    """The search of `minimise_over_tail`, in φ, and what it has found."""

    def __init__(
        self,
        objective: Objective,
        lo: Floats,
        hi: Floats,
        one: OneObjective | None,
    ) -> None:
        self.objective = objective
        self.lo = lo
        self.hi = hi
        self.one = one
        self.theta = np.full(lo.size, np.nan)
        self.value = np.full(lo.size, np.inf)

    def in_phi(self, rows: Rows, phi: Floats) -> Triple:
        with np.errstate(all="ignore"):  # impossible points give inf or NaN, and are passed over
            theta_values, first_derivative, second_derivative = tail_parameter(
                phi, self.lo[rows, None], self.hi[rows, None]
            )
            objective_values, slope, curvature = self.objective(rows, theta_values)
            return (
                objective_values,
                slope * first_derivative,
                curvature * first_derivative**2 + slope * second_derivative,
            )

    def from_start(self, start: Floats) -> None:
        """Newton's method, kept where it stays near the start."""
        with np.errstate(invalid="ignore", divide="ignore"):
            phi = np.log((1.0 + start * self.hi) / (1.0 + start * self.lo))
        start_rows = np.flatnonzero(np.isfinite(phi))
        bracket_width = 3.0
        farthest = 0.99 * bracket_width
        if start_rows.size:
            phi = phi[start_rows]
            settled_phi, theta, settled_values = self.settled(
                start_rows, phi, phi - bracket_width, phi + bracket_width, farthest
            )
            is_inside = np.abs(settled_phi - phi) < farthest
            self.theta[start_rows[is_inside]] = theta[is_inside]
            self.value[start_rows[is_inside]] = settled_values[is_inside]

    def from_grid(self, rows: Rows, phi: Floats) -> None:
        """The lowest valley of a grid, shape (rows, K), refined."""
        grid_values, grid_slopes, _ = self.in_phi(rows, phi)
        rising_rows = np.flatnonzero(grid_slopes[:, 0] > 0)
        if rising_rows.size:  # a valley may lie beyond the grid, next to the end point
            further_phi = np.full((rows.size, _FURTHER.size), np.nan)
            first_phi = phi[rising_rows, :1]
            further_phi[rising_rows] = np.maximum(
                first_phi - _FURTHER, np.minimum(first_phi, -_PHI_DEEPEST)
            )
            further_values = np.full_like(further_phi, np.inf)
            further_slopes = np.full_like(further_phi, np.nan)
            further_values[rising_rows], further_slopes[rising_rows], _ = self.in_phi(
                rows[rising_rows], further_phi[rising_rows]
            )
            phi = np.c_[further_phi, phi]
            grid_values = np.c_[further_values, grid_values]
            grid_slopes = np.c_[further_slopes, grid_slopes]
        for _ in range(12):  # still falling at the right end: a heavier tail than the grid has
            is_falling = grid_slopes[:, -1] < 0
            if not is_falling.any() or phi[is_falling, -1].min() >= _PHI_LIMIT:
                break
            wider_phi = np.minimum(
                np.where(is_falling, 2.0 * phi[:, -1], phi[:, -1] + 1.0), _PHI_LIMIT
            )
            further_values, further_slopes, _ = self.in_phi(rows, wider_phi[:, None])
            phi = np.c_[phi, wider_phi]
            grid_values = np.c_[grid_values, further_values]
            grid_slopes = np.c_[grid_slopes, further_slopes]
        with np.errstate(invalid="ignore"):
            is_valley = (grid_slopes[:, :-1] < 0) & (grid_slopes[:, 1:] >= 0)
            valley_floors = np.where(
                is_valley, np.minimum(grid_values[:, :-1], grid_values[:, 1:]), np.inf
            )
        problem_rows = np.arange(rows.size)
        lowest_cells = np.argmin(valley_floors, axis=1)
        has_valley = np.isfinite(valley_floors[problem_rows, lowest_cells])
        problem_rows = problem_rows[has_valley]
        lowest_cells = lowest_cells[has_valley]
        if not problem_rows.size:
            return
        left_ends = phi[problem_rows, lowest_cells]
        right_ends = phi[problem_rows, lowest_cells + 1]
        left_slopes = grid_slopes[problem_rows, lowest_cells]
        right_slopes = grid_slopes[problem_rows, lowest_cells + 1]
        with np.errstate(all="ignore"):
            guesses = left_ends - left_slopes * (right_ends - left_ends) / (
                right_slopes - left_slopes
            )
        guesses = np.where(
            (guesses > left_ends) & (guesses < right_ends), guesses, 0.5 * (left_ends + right_ends)
        )
        _, self.theta[rows[problem_rows]], self.value[rows[problem_rows]] = self.settled(
            rows[problem_rows], guesses, left_ends, right_ends
        )

    def settled(
        self,
        rows: Rows,
        start: Floats,
        low: Floats,
        high: Floats,
        farthest: float = np.inf,
    ) -> Triple:
        """φ, θ and value where Newton's method ends."""
        if self.one is not None:
            bracket_ends = (
                float(end_values[0]) for end_values in (start, low, high, self.lo, self.hi)
            )
            best_phi, best_theta, best_value = _newton_of_one(self.one, *bracket_ends)
            return np.array([best_phi]), np.array([best_theta]), np.array([best_value])
        settled_phi = newton_in_bracket(self.in_phi, rows, start, low, high, farthest)
        theta = tail_parameter(settled_phi, self.lo[rows], self.hi[rows])[0]
        return settled_phi, theta, self.in_phi(rows, settled_phi[:, None])[0][:, 0]


def _newton_of_one(
    objective: OneObjective,
    current: float,
    lower_bracket: float,
    upper_bracket: float,
    lo: float,
    hi: float,
) -> tuple[float, float, float]:
    """`newton_in_bracket` in φ for an only problem: φ, θ and the value."""

    def at(phi: float) -> tuple[float, float, float, float]:
        exp_phi = math.exp(phi)
        denominator = hi - lo * exp_phi
        theta = math.expm1(phi) / denominator
        first_derivative = exp_phi * (hi - lo) / denominator**2
        objective_value, slope, curvature = objective(theta)
        return (
            theta,
            objective_value,
            slope * first_derivative,
            curvature * first_derivative**2
            + slope * first_derivative * (hi + lo * exp_phi) / denominator,
        )

    last_but_one = last_move = math.inf
    with np.errstate(all="ignore"):
        for _ in range(_MAX_ITERATIONS):
            _, _, slope, curvature = at(current)
            if slope == 0:
                break
            if slope > 0:
                upper_bracket = current
            else:
                lower_bracket = current
            if curvature > 0:
                next_point = current - slope / curvature
            else:
                next_point = math.nan
            if not (
                lower_bracket <= next_point <= upper_bracket
                and abs(next_point - current) <= 0.5 * last_but_one
            ):
                next_point = 0.5 * (lower_bracket + upper_bracket)
            last_but_one = last_move
            last_move = abs(next_point - current)
            current = next_point
            if last_move <= _TOLERANCE * (1.0 + abs(current)):
                break
        theta, lowest_value, *_ = at(current)
    return current, theta, lowest_value


def newton_in_bracket(
    objective: Objective,
    rows: Rows,
    start: Floats,
    low: Floats,
    high: Floats,
    farthest: float = np.inf,
) -> Floats:
    """Points where the slope vanishes, by Newton steps that never leave the bracket (else it is
    halved); those farther than `farthest` from their start are given up there.

    Where the curvature jumps, steps may go to and fro for ever: one that is not half as long as the
    last but one halves the bracket, too. A step below the tolerance is taken, and leaves an error
    of the order of its square.
    """
    current = start.copy()
    low = low.copy()
    high = high.copy()
    earlier_steps, last_steps = np.full((2, current.size), np.inf)
    active = np.arange(rows.size)
    for _ in range(_MAX_ITERATIONS):
        active_points = current[active]
        _, slopes, curvatures = objective(rows[active], active_points[:, None])
        slopes = slopes[:, 0]
        curvatures = curvatures[:, 0]
        is_rising = slopes > 0
        high[active] = np.where(is_rising, active_points, high[active])
        low[active] = np.where(is_rising, low[active], active_points)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton_steps = -slopes / curvatures
        next_points = active_points + newton_steps
        is_good = (curvatures > 0) & (next_points >= low[active]) & (next_points <= high[active])
        is_good &= np.abs(newton_steps) <= 0.5 * earlier_steps[active]
        next_points = np.where(is_good, next_points, 0.5 * (low[active] + high[active]))
        earlier_steps[active] = last_steps[active]
        last_steps[active] = np.abs(next_points - active_points)
        current[active] = np.where(slopes == 0, active_points, next_points)
        active = active[
            (slopes != 0)
            & (np.abs(next_points - start[active]) < farthest)
            & (np.abs(next_points - active_points) > _TOLERANCE * (1.0 + np.abs(active_points)))
        ]
        if not active.size:
            break
    return current


def minimise_convex(
    derivatives: Callable[[Floats], tuple[Floats, Floats]],
    start: Floats,
    cap: Floats | float = np.inf,
    tolerance: float = CONVEX_TOLERANCE,
) -> Floats:
    """Minimiser of a convex function on (0, cap), from its first and second derivative at an array
    of points.

    Newton's method; a step changes the variable at most by the factor e (2 downwards), and goes
    half way to `cap`. It ends with a step of `tolerance`, relative to the variable.
    """
    current = start
    for _ in range(_CONVEX_ITERATIONS):
        first_derivative, second_derivative = derivatives(current)
        next_points = np.maximum(current - first_derivative / second_derivative, 0.5 * current)
        next_points = np.minimum(next_points, np.e * current)
        next_points = np.where(
            next_points < cap, next_points, 0.5 * (current + np.minimum(cap, np.e * current))
        )
        is_moving = np.abs(next_points - current) > tolerance * current
        current = next_points
        if not is_moving.any():
            break
    return current


def find_crossings(
    deviance: Deviance,
    centre: Floats,
    scale: Floats,
    target: Floats,
    *,
    limit: Floats | None = None,
    guess: Floats | None = None,
    tolerance: float = 1e-10,
    max_iterations: int = 100,
) -> Floats:
    """First point on one side of `centre` where the deviance equals `target`.

    All arrays of shape (Q,).

    The point is sought as ``centre + scale·sinh(τ)``, τ > 0, over many orders of magnitude;
    √deviance is nearly linear there, so Newton steps on it within a bracket need few evaluations.
    The deviance is 0 at `centre`. The sign of `scale` is the direction, its size about one standard
    error; `limit` ends the parameter space in that direction: it, or infinity, is returned where
    the deviance stays below the target. The search begins at `guess`, if not NaN.
    """
    if limit is None:
        limits = np.where(scale > 0, np.inf, -np.inf)
    else:
        limits = limit
    target_roots = np.sqrt(target)
    farthest_tau = np.minimum(np.arcsinh(np.abs((limits - centre) / scale)), _FARTHEST)
    lower_tau = np.zeros_like(centre)
    upper_tau = farthest_tau.copy()
    # whether `upper_tau` is known to lie beyond the crossing
    is_bounded = np.zeros(centre.size, dtype=bool)
    tau = np.minimum(np.arcsinh(target_roots), 0.5 * farthest_tau)
    if guess is not None:
        guessed_tau = np.arcsinh((guess - centre) / scale)
        tau = np.where((guessed_tau > 0) & (guessed_tau < farthest_tau), guessed_tau, tau)
    active = np.arange(centre.size)
    # √deviance at `lower_tau` and `upper_tau`
    lower_roots = np.zeros_like(centre)
    upper_roots = np.full_like(centre, np.nan)
    for iteration in range(max_iterations):
        active_tau = tau[active]
        active_scale = scale[active]
        with np.errstate(all="ignore"):  # impossible points give inf or NaN, which count as beyond
            deviances, deviance_slopes = deviance(
                active, centre[active] + active_scale * np.sinh(active_tau)
            )
        deviance_roots = np.sqrt(np.maximum(deviances, 0.0))
        is_beyond = ~(deviance_roots < target_roots[active])  # NaN counts as beyond
        upper_tau[active], upper_roots[active] = np.where(
            is_beyond, (active_tau, deviance_roots), (upper_tau[active], upper_roots[active])
        )
        lower_tau[active], lower_roots[active] = np.where(
            is_beyond, (lower_tau[active], lower_roots[active]), (active_tau, deviance_roots)
        )
        is_done = np.abs(deviance_roots - target_roots[active]) <= tolerance * target_roots[active]
        is_bounded[active] |= is_beyond | is_done
        active_low = lower_tau[active]
        active_high = upper_tau[active]
        active_bounded = is_bounded[active]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton_tau = active_tau + (
                target_roots[active] - deviance_roots
            ) * 2.0 * deviance_roots / (deviance_slopes * active_scale * np.cosh(active_tau))
            secant_share = (target_roots[active] - lower_roots[active]) / (
                upper_roots[active] - lower_roots[active]
            )
        # where no slope is known, a secant every other time
        secant_share = np.where(
            np.isfinite(secant_share) & (iteration % 2 == 0) & (iteration < _SECANTS),
            secant_share,
            0.5,
        )
        fallback_tau = np.where(
            active_bounded,
            active_low + secant_share * (active_high - active_low),
            np.minimum(2.0 * active_tau + 0.5, 0.5 * (active_tau + active_high)),
        )
        is_usable = (
            np.isfinite(newton_tau)
            & (newton_tau > active_low)
            & (newton_tau < active_high)
            & (active_bounded | (newton_tau < 3.0 * active_tau + 1.0))
        )
        tau[active] = np.where(is_done, active_tau, np.where(is_usable, newton_tau, fallback_tau))
        active = active[~(is_done | (active_high - active_low <= 1e-13 * (1.0 + active_high)))]
        if not active.size:
            break
    with np.errstate(over="ignore"):
        crossings = centre + scale * np.sinh(tau)
    return np.where(is_bounded, crossings, limits)
