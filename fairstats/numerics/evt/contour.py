"""Largest and smallest value of a function of the parameters over a likelihood region.

A profile-likelihood interval of h(θ, ν, ℓ) ends where h is extreme on the contour F = F̂ + q/2. Newton's
method on the Lagrange conditions ∇h = η∇F, F = F̂ + q/2 finds both ends in a few evaluations, without
profiling (the idea of Venzon & Moolgavkar 1988, for a function instead of a coordinate). The contour is
approached in steps. Points that do not settle come back as NaN; the caller then searches the profile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairstats.numerics.evt.minimise import tail_parameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.numerics.evt.profile import Surface

    Floats = NDArray[np.float64]
    Rows = NDArray[np.intp]
    Triple = tuple[Floats, Floats, Floats]
    #: Value (Q,), gradient (Q, 3) and Hessian (Q, 3, 3) in (θ, ν, ℓ) at points of the problems `rows`.
    Goal = Callable[[Rows, Floats, Floats, Floats], Triple]

__all__ = ["contour_extremes"]

_ITERATIONS = 15
#: Radii of the approach, as shares of the final one: two leaps first, small steps where they fail.
_APPROACHES = ((0.5, 1.0), (0.12, 0.3, 0.5, 0.75, 1.0))


def contour_extremes(surface: Surface, samples: Rows, goal: Goal, side: Floats, target: Floats) -> Floats:
    """Extreme values of `goal` on the contour.

    Parameters
    ----------
    surface : Surface
        Likelihood of P samples.
    samples : ndarray of int, shape (Q,)
        Sample of each problem.
    goal : callable
        The function h; called with the numbers of the problems.
    side : ndarray of float, shape (Q,)
        +1 for the largest value, −1 for the smallest.
    target : ndarray of float, shape (Q,)
        q, the critical value of the deviance.

    Returns
    -------
    ndarray of float, shape (Q,)
        NaN where the iteration did not settle.
    """
    search = _Search(surface, samples, goal, side, target)
    with np.errstate(all="ignore"):
        centre, direction, length = search.tangent()
        found = np.full(samples.size, np.nan)
        possible = np.isfinite(direction).all(-1) & np.isfinite(length)
        for shares in _APPROACHES:
            todo = np.flatnonzero(possible & np.isnan(found))
            if todo.size:
                found[todo] = search.approach(todo, centre, direction, length, shares)
    return found


@dataclass(frozen=True)
class _Search:
    surface: Surface
    samples: Rows
    goal: Goal
    side: Floats
    target: Floats

    def tangent(self) -> Triple:
        """The maximum in the chart, H⁻¹∇h there, and √(∇h·H⁻¹∇h)."""
        surface, samples = self.surface, self.samples
        low, high = surface.lower[samples], surface.upper[samples]
        theta = surface.theta[samples]
        phi = np.log((1.0 + theta * high) / (1.0 + theta * low))
        centre = np.stack([phi, np.log(surface.nu[samples]), surface.log_rate[samples]], -1)
        at = self.at(np.arange(samples.size), centre)
        direction = _solved(*_adjugate(at.f_hessian), at.h_gradient)
        return centre, direction, np.sqrt(_dot(direction, at.h_gradient))

    def approach(
        self, rows: Rows, centre: Floats, direction: Floats, length: Floats, shares: tuple[float, ...]
    ) -> Floats:
        """Values at the last of the radii `shares`, reached one after the other; NaN where one fails."""
        radius = shares[0] * np.sqrt(self.target[rows])
        leap = (self.side[rows] * radius / length[rows])[:, None] * direction[rows]
        previous = centre[rows]
        point = previous + leap * np.minimum(1.0, 2.0 / np.abs(leap).max(-1))[:, None]
        multiplier = self.side[rows] * length[rows] / radius
        value = np.full(rows.size, np.nan)
        before = reached = 0.0
        for share in shares:
            if reached > 0.0:  # extrapolate along the path so far
                forward = point + (point - previous) * (share - reached) / (reached - before)
                previous, point = point, forward
                multiplier = multiplier * reached / share
            before, reached = reached, share
            value, point, multiplier = self.newton(rows, point, multiplier, share**2)
        return value

    def newton(
        self, rows: Rows, point: Floats, multiplier: Floats, share: float
    ) -> tuple[Floats, Floats, Floats]:
        """Newton's method on the Lagrange conditions for the contour at `share` of the target."""
        level = self.surface.minimum()[self.samples[rows]] + 0.5 * share * self.target[rows]
        rough = share < 1.0  # a way-point need not be exact
        tolerance = (1e-2 if rough else 1e-9) * (1.0 + self.target[rows])
        value = np.full(rows.size, np.nan)
        point, multiplier = point.copy(), multiplier.copy()
        a = np.flatnonzero(np.isfinite(point).all(-1) & np.isfinite(multiplier))
        for _ in range(_ITERATIONS):
            if not a.size:
                break
            at = self.at(rows[a], point[a])
            eta = multiplier[a]
            excess = at.f - level[a]
            matrix = at.h_hessian - eta[:, None, None] * at.f_hessian
            adjugate, determinant = _adjugate(matrix)
            x1 = _solved(adjugate, determinant, eta[:, None] * at.f_gradient - at.h_gradient)
            x2 = _solved(adjugate, determinant, at.f_gradient)
            eta_step = -(excess + _dot(at.f_gradient, x1)) / _dot(at.f_gradient, x2)
            step = x1 + eta_step[:, None] * x2
            size = np.abs(step).max(-1)
            settled = (np.abs(excess) < tolerance[a]) & (size < (3e-2 if rough else 1e-6))
            if settled.any():
                side = self.side[rows[a]]
                extreme = settled & (eta * side > 0) & at.regular
                extreme &= _definite_across(matrix, adjugate, at.f_gradient, -side)
                value[a[extreme]] = at.h[extreme]
            shrink = np.minimum(1.0, 1.0 / size)
            point[a] += shrink[:, None] * step
            multiplier[a] += shrink * eta_step
            alive = ~settled & np.isfinite(step).all(-1)
            alive &= self.surface.inside(self.samples[rows[a]], point[a, 2])
            a = a[alive]
        lost = np.isnan(value)
        point[lost] = np.nan
        return value, point, multiplier

    def at(self, rows: Rows, point: Floats) -> _Derivatives:
        """Value, gradient and Hessian of F and h in the chart (φ, log ν, ℓ)."""
        samples = self.samples[rows]
        low, high = self.surface.lower[samples], self.surface.upper[samples]
        theta, chart, bend = tail_parameter(point[:, 0], low, high)
        nu, ell = np.exp(point[:, 1]), point[:, 2]
        f, f_gradient, f_hessian = self.surface.whole(samples, theta, nu, ell)
        h, h_gradient, h_hessian = self.goal(rows, theta, nu, ell)
        first = np.stack([chart, nu, np.ones_like(nu)], -1)
        second = np.stack([bend, nu, np.zeros_like(nu)], -1)
        return _Derivatives(
            f,
            f_gradient * first,
            _to_chart(f_gradient, f_hessian, first, second),
            h,
            h_gradient * first,
            _to_chart(h_gradient, h_hessian, first, second),
            nu > -theta,
        )


@dataclass(frozen=True)
class _Derivatives:
    f: Floats
    f_gradient: Floats
    f_hessian: Floats
    h: Floats
    h_gradient: Floats
    h_hessian: Floats
    regular: NDArray[np.bool_]


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", a, b))


def _to_chart(gradient: Floats, hessian: Floats, first: Floats, second: Floats) -> Floats:
    """Hessian after the change of each variable by itself."""
    changed = hessian * first[:, :, None] * first[:, None, :]
    i = np.arange(3)
    changed[:, i, i] += gradient * second
    return changed


def _definite_across(matrix: Floats, adjugate: Floats, normal: Floats, sign: Floats) -> NDArray[np.bool_]:
    """Whether `sign` times the quadratic form is positive on the plane orthogonal to `normal`.

    On that plane the eigenvalues have the sum tr M − ĝ'Mĝ and the product ĝ'adj(M)ĝ, with ĝ the unit normal.
    """
    square = _dot(normal, normal)
    total = np.trace(matrix, axis1=1, axis2=2) * square - _dot(normal, _times(matrix, normal))
    product = _dot(normal, _times(adjugate, normal))
    return np.asarray((sign * total > 0) & (product > 0))


def _times(matrix: Floats, vector: Floats) -> Floats:
    return np.asarray(np.einsum("ijk,ik->ij", matrix, vector))


def _adjugate(matrix: Floats) -> tuple[Floats, Floats]:
    """Adjugate and determinant of symmetric 3 × 3 matrices."""
    a, b, c = matrix[:, 0, 0], matrix[:, 0, 1], matrix[:, 0, 2]
    d, e, f = matrix[:, 1, 1], matrix[:, 1, 2], matrix[:, 2, 2]
    adjugate = np.empty_like(matrix)
    adjugate[:, 0, 0], adjugate[:, 1, 1], adjugate[:, 2, 2] = d * f - e * e, a * f - c * c, a * d - b * b
    adjugate[:, 0, 1] = adjugate[:, 1, 0] = c * e - b * f
    adjugate[:, 0, 2] = adjugate[:, 2, 0] = b * e - c * d
    adjugate[:, 1, 2] = adjugate[:, 2, 1] = b * c - a * e
    return adjugate, np.asarray(_dot(matrix[:, 0], adjugate[:, 0]))


def _solved(adjugate: Floats, determinant: Floats, vector: Floats) -> Floats:
    """Solutions by cofactors: one singular matrix of a batch gives NaN, not an exception."""
    return _times(adjugate, vector) / determinant[:, None]
