"""Functions of the tail parameters whose likelihood intervals are wanted, with their derivatives.

The coordinates are (θ, ν, ℓ): ξ = θ/ν, and ℓ is the logarithm of the exceedance rate λ (threshold models)
or of q (block maxima). With ω = (ℓ + a)/ν the level of the period whose logarithm is a lies at d = (e^(θω)
− 1)/θ from the origin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairstats.numerics.evt.stretch import power_ratio, power_ratio_shape_derivative, stretch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.numerics.evt.contour import Goal

    Floats = NDArray[np.float64]
    Rows = NDArray[np.intp]

__all__ = ["log_exceedance_goal", "log_scale_goal", "return_level_goal", "shape_goal"]


def return_level_goal(log_period: Floats, unit: Floats, *, rate_known: bool = False) -> Goal:
    """Goal arsinh(d/unit): as monotone as d, and straight enough for heavy tails."""

    def goal(rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> tuple[Floats, Floats, Floats]:
        omega, first, second = _omega(nu, ell + log_period[rows])
        d, in_theta, in_omega = _level_and_slopes(theta, omega)
        power = 1.0 + theta * d
        in_theta2 = _second_in_theta(theta, omega, in_theta, in_omega)
        gradient = in_omega[:, None] * first
        gradient[:, 0] += in_theta
        hessian = (theta * power)[:, None, None] * _outer(first) + in_omega[:, None, None] * second
        mixed = (omega * power)[:, None] * first
        hessian[:, 0, :] += mixed
        hessian[:, :, 0] += mixed
        hessian[:, 0, 0] += in_theta2
        z = d / unit[rows]
        root = np.sqrt(1.0 + z * z)
        outer1, outer2 = 1.0 / (root * unit[rows]), -z / root**3 / unit[rows] ** 2
        return _composed(np.arcsinh(z), outer1, outer2, gradient, hessian, rate_known)

    return goal


def log_exceedance_goal(d: Floats) -> Goal:
    """Log p = ℓ − ν·v(d; θ): how often a value at d is exceeded."""

    def goal(rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> tuple[Floats, Floats, Floats]:
        v0, v1, v2 = (a[:, 0] for a in stretch(d[rows, None], theta))
        gradient = np.stack([-nu * v1, -v0, np.ones_like(v0)], -1)
        hessian = np.zeros((v0.size, 3, 3))
        hessian[:, 0, 0] = -nu * v2
        hessian[:, 0, 1] = hessian[:, 1, 0] = -v1
        value = np.where(1.0 + theta * d[rows] > 0, ell - nu * v0, np.nan)
        return value, gradient, hessian

    return goal


def shape_goal() -> Goal:
    """ξ = θ/ν."""

    def goal(rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> tuple[Floats, Floats, Floats]:
        zero = np.zeros_like(nu)
        gradient = np.stack([1.0 / nu, -theta / nu**2, zero], -1)
        hessian = np.zeros((nu.size, 3, 3))
        hessian[:, 0, 1] = hessian[:, 1, 0] = -1.0 / nu**2
        hessian[:, 1, 1] = 2.0 * theta / nu**3
        return theta / nu, gradient, hessian

    return goal


def log_scale_goal(log_period: Floats | None) -> Goal:
    """Log σ: −log ν of the excesses, or θω − log ν for maxima of blocks with log length `log_period`."""

    def goal(rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> tuple[Floats, Floats, Floats]:
        zero = np.zeros_like(nu)
        gradient = np.stack([zero, -1.0 / nu, zero], -1)
        hessian = np.zeros((nu.size, 3, 3))
        hessian[:, 1, 1] = 1.0 / nu**2
        value = -np.log(nu)
        if log_period is not None:
            omega, first, second = _omega(nu, ell + log_period[rows])
            value = value + theta * omega
            gradient = gradient + theta[:, None] * first
            gradient[:, 0] += omega
            hessian = hessian + theta[:, None, None] * second
            hessian[:, 0, :] += first
            hessian[:, :, 0] += first
        return value, gradient, hessian

    return goal


def _omega(nu: Floats, s: Floats) -> tuple[Floats, Floats, Floats]:
    """ω = s/ν with gradient and Hessian in (θ, ν, ℓ)."""
    zero = np.zeros_like(nu)
    omega = s / nu
    hessian = np.zeros((nu.size, 3, 3))
    hessian[:, 1, 1] = 2.0 * omega / nu**2
    hessian[:, 1, 2] = hessian[:, 2, 1] = -1.0 / nu**2
    return omega, np.stack([zero, -omega / nu, 1.0 / nu], -1), hessian


def _level_and_slopes(theta: Floats, omega: Floats) -> tuple[Floats, Floats, Floats]:
    return (
        power_ratio(omega, theta),
        power_ratio_shape_derivative(omega, theta),
        np.exp(theta * omega),
    )


def _second_in_theta(theta: Floats, omega: Floats, in_theta: Floats, in_omega: Floats) -> Floats:
    """∂²/∂θ² of (e^(θω) − 1)/θ from its first derivatives; ω³/3 at θ = 0."""
    z = theta * omega
    small = np.abs(z) < 0.05
    series = omega**3 * (1 / 3 + z * (1 / 4 + z * (1 / 10 + z * (1 / 36 + z * (1 / 168 + z / 960)))))
    safe = np.where(small, 1.0, theta)
    return np.where(small, series, (omega**2 * in_omega - 2.0 * in_theta) / safe)


def _outer(vector: Floats) -> Floats:
    return vector[:, :, None] * vector[:, None, :]


def _composed(
    value: Floats, outer1: Floats, outer2: Floats, gradient: Floats, hessian: Floats, rate_known: bool
) -> tuple[Floats, Floats, Floats]:
    """Chain rule for a function of one variable on a function of three; ℓ held where the rate is known."""
    if rate_known:
        gradient = gradient * np.array([1.0, 1.0, 0.0])
        hessian = hessian * np.array([1.0, 1.0, 0.0]) * np.array([[1.0], [1.0], [0.0]])
    return (
        value,
        outer1[:, None] * gradient,
        outer1[:, None, None] * hessian + outer2[:, None, None] * _outer(gradient),
    )
