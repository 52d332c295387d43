"""Newton's method for many small functions together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairstats.numerics.evt.distributions import Flags, Floats, Rows, Triple

#: Points (R, d) of the functions `rows` → value, gradient and Hessian.
Objective = Callable[[Rows, Floats], Triple]


def minimise_each(
    objective: Objective,
    start: Floats,
    *,
    settled: float = 1e-9,
    iterations: int = 15,
    halvings: int = 8,
) -> tuple[Floats, Floats]:
    """Minima of many functions by Newton's method with halved steps.

    Points (R, d) and values (R,), NaN for none. A function is settled where the next step is
    expected to lower it by less than `settled` of its value (of 1 where that is below 1): the step
    is taken, and the fall that is expected of it counted.
    """
    points = start.copy()
    lowest_values = np.full(len(points), np.nan)
    active_rows = np.arange(len(points))
    with np.errstate(all="ignore"):
        current_values, gradient, hessian = objective(active_rows, points)
        newton_state = [current_values, gradient, hessian]
        for _ in range(iterations):
            current_values, gradient, hessian = newton_state
            is_finite = (
                np.isfinite(current_values)
                & np.isfinite(gradient).all(axis=1)
                & np.isfinite(hessian).all(axis=(1, 2))
            )
            active_rows = active_rows[is_finite]
            newton_state = [state_part[is_finite] for state_part in newton_state]
            current_values, gradient, hessian = newton_state
            if not active_rows.size:
                break
            eigenvalues, eigenvectors = np.linalg.eigh(hessian)
            eigenvalue_floor = np.maximum(
                np.abs(eigenvalues), 1e-9 * np.abs(eigenvalues).max(axis=1, keepdims=True)
            )
            newton_steps = -np.einsum(
                "rij,rj->ri",
                eigenvectors,
                np.einsum("rji,rj->ri", eigenvectors, gradient) / eigenvalue_floor,
            )
            expected_falls = -np.einsum("ri,ri->r", gradient, newton_steps)
            is_settled = (expected_falls < settled * np.maximum(1.0, np.abs(current_values))) & (
                eigenvalues[:, 0] > 0
            )
            settled_rows = active_rows[is_settled]
            points[settled_rows] += newton_steps[is_settled]
            lowest_values[settled_rows] = (
                current_values[is_settled] - 0.5 * expected_falls[is_settled]
            )
            active_rows = active_rows[~is_settled]
            newton_steps = newton_steps[~is_settled]
            expected_falls = expected_falls[~is_settled]
            newton_state = [state_part[~is_settled] for state_part in newton_state]
            if not active_rows.size:
                break
            moved_state = _halve_steps(
                objective,
                active_rows,
                points[active_rows],
                newton_state[0],
                newton_steps,
                expected_falls,
                halvings,
            )
            points[active_rows], newton_state, is_alive = moved_state
            active_rows = active_rows[is_alive]
            newton_state = [state_part[is_alive] for state_part in newton_state]
    return points, lowest_values


def _halve_steps(
    objective: Objective,
    rows: Rows,
    points: Floats,
    current_values: Floats,
    newton_steps: Floats,
    expected_falls: Floats,
    halvings: int,
) -> tuple[Floats, list[Floats], Flags]:
    """Points after the longest of step, step/2, … that lowers each value enough; their state.

    Whether there is one.
    """
    n_coordinates = points.shape[1]
    moved_points = points.copy()
    moved_state = [
        current_values.copy(),
        np.full_like(points, np.nan),
        np.full((rows.size, n_coordinates, n_coordinates), np.nan),
    ]
    waiting_rows = np.arange(rows.size)
    step_share = 1.0
    for _ in range(halvings):
        trial_points = points[waiting_rows] + step_share * newton_steps[waiting_rows]
        trial_state = objective(rows[waiting_rows], trial_points)
        is_lower = (
            trial_state[0]
            < current_values[waiting_rows] - 1e-4 * step_share * expected_falls[waiting_rows]
        )
        taken_rows = waiting_rows[is_lower]
        moved_points[taken_rows] = trial_points[is_lower]
        for target_array, state_part in zip(moved_state, trial_state, strict=True):
            target_array[taken_rows] = state_part[is_lower]
        waiting_rows = waiting_rows[~is_lower]
        if not waiting_rows.size:
            break
        step_share *= 0.5
    has_moved = np.ones(rows.size, dtype=bool)
    has_moved[waiting_rows] = False
    return moved_points, moved_state, has_moved
