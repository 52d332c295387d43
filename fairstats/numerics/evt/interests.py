"""What an interval of a tail regression is about: a coefficient, or a level at given covariates.

A level is linear in one predictor once the others are known: of excesses
    log σ(x) = log d − log[(e^(ξs) − 1)/ξ],   s = log m + ℓ,
(σ(x) itself with the identity link), of block maxima μ(x) = d − σ(x)·(e^(ξτ) − 1)/ξ. The constraint
that it has a given value is thereby solved for that predictor, and the others are free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fairstats.numerics.evt import distributions as law
from fairstats.numerics.evt.distributions import Floats, Triple
from fairstats.numerics.evt.regression import Interest, TailRegression

#: Step of the second derivatives of a constraint.
_DIFFERENCE_STEP = 1e-5


@dataclass(frozen=True, eq=False)
class Constraint:
    """ψ(z) = target as `direction`·z = predictor(z), with predictor a function of the other
    coordinates.

    `direction`, shape (d,); `predictor`: z, shape (R, d) → value (R,) and gradient (R, d); NaN
    where ψ cannot have its target.
    """

    direction: Floats
    predictor: Callable[[Floats], tuple[Floats, Floats]]


class ConstrainedInterest(Interest, Protocol):
    """An interest that can be held at a value."""

    def constraint(self, target: float) -> Constraint:
        """The interest has the value `target`."""


@dataclass(frozen=True, eq=False)
class CoefficientInterest:
    """A coefficient of a formula, `weights`·z + `shift`.

    `weights`, shape (d,).
    """

    weights: Floats
    shift: float

    def derivatives(self, z: Floats) -> Triple:
        """Values (R,), gradients (R, d) and Hessians (R, d, d) at points z of shape (R, d)."""
        n_points, dimension = z.shape
        gradient = np.tile(self.weights, (n_points, 1))
        return z @ self.weights + self.shift, gradient, np.zeros((n_points, dimension, dimension))

    def constraint(self, target: float) -> Constraint:
        """The coefficient has the value `target`."""

        def predictor(z: Floats) -> tuple[Floats, Floats]:
            return np.full(len(z), target - self.shift), np.zeros_like(z)

        return Constraint(direction=self.weights, predictor=predictor)


@dataclass(frozen=True, eq=False)
class LevelInterest:
    """The level of `m` at one row of covariates, less the origin, in standard units.

    `rows`: that row of each parameter's orthogonal columns, shape (1, p).
    """

    regression: TailRegression
    rows: Mapping[str, Floats]
    m: float

    def derivatives(self, z: Floats) -> Triple:
        """Values (R,), gradients (R, d) and Hessians (R, d, d) at points z of shape (R, d)."""
        regression = self.regression
        location, scale, shape = (parameter[:, 0] for parameter in regression.natural(z, self.rows))
        depth = self._depth(z)
        ratio = law.power_ratio(depth, shape)
        in_depth = np.exp(shape * depth)
        in_shape = law.power_ratio_shape_derivative(depth, shape)
        in_shape2 = law.power_ratio_shape_curvature(depth, shape, in_shape, in_depth)
        if regression.link == "log":
            scale_slope = scale
            scale_curvature = scale
        else:
            scale_slope = np.ones_like(scale)
            scale_curvature = np.zeros_like(scale)
        first = {
            "location": np.ones_like(scale),
            "scale": scale_slope * ratio,
            "shape": scale * in_shape,
            "rate": scale * in_depth,
        }
        second = {
            ("scale", "scale"): scale_curvature * ratio,
            ("scale", "shape"): scale_slope * in_shape,
            ("scale", "rate"): scale_slope * in_depth,
            ("shape", "shape"): scale * in_shape2,
            ("shape", "rate"): scale * depth * in_depth,
            ("rate", "rate"): scale * shape * in_depth,
        }
        directions = self._directions()
        gradient = np.zeros_like(z)
        for parameter, direction in directions.items():
            gradient += first[parameter][:, None] * direction
        hessian = np.zeros((*z.shape, z.shape[1]))
        for (one_parameter, other_parameter), curvature in second.items():
            if one_parameter not in directions or other_parameter not in directions:
                continue
            products = np.outer(directions[one_parameter], directions[other_parameter])
            if one_parameter != other_parameter:
                products = products + products.T
            hessian += curvature[:, None, None] * products
        return location + scale * ratio, gradient, hessian

    def constraint(self, target: float) -> Constraint:
        """The level has the value `target`."""
        if self.regression.has_location:
            return Constraint(
                direction=self._directions()["location"],
                predictor=lambda z: self._location_with(z, target),
            )
        return Constraint(
            direction=self._directions()["scale"],
            predictor=lambda z: self._scale_with(z, target),
        )

    def _depth(self, z: Floats) -> Floats:
        """τ or log(mλ) at each point, shape (R,)."""
        log_period = self.regression.log_period(self.m)
        if self.regression.has_rate:
            return np.asarray(log_period + z[:, -1])
        return np.full(len(z), log_period + self.regression.log_share)

    def _directions(self) -> dict[str, Floats]:
        """The row of covariates as a direction of z for each parameter, and that of log λ."""
        directions = {}
        for parameter, coefficient_slice in self.regression.places.items():
            direction = np.zeros(self.regression.dimension)
            direction[coefficient_slice] = self.rows[parameter][0]
            directions[parameter] = direction
        if self.regression.has_rate:
            directions["rate"] = np.eye(self.regression.dimension)[-1]
        return directions

    def _location_with(self, z: Floats, target: float) -> tuple[Floats, Floats]:
        """The location at which the level is `target`, and its gradient."""
        scale, scale_slope, shape = self._scale_and_shape(z)
        depth = self._depth(z)
        ratio = law.power_ratio(depth, shape)
        in_shape = law.power_ratio_shape_derivative(depth, shape)
        directions = self._directions()
        gradient = -(ratio * scale_slope)[:, None] * directions["scale"]
        gradient -= (scale * in_shape)[:, None] * directions["shape"]
        return np.where(scale > 0, target - scale * ratio, np.nan), gradient

    def _scale_with(self, z: Floats, target: float) -> tuple[Floats, Floats]:
        """The scale's predictor at which the level is `target`, and its gradient."""
        _, _, shape = self._scale_and_shape(z)
        depth = self._depth(z)
        ratio = law.power_ratio(depth, shape)
        in_shape = law.power_ratio_shape_derivative(depth, shape)
        with np.errstate(all="ignore"):
            if self.regression.link == "log":
                predicted = np.log(target / ratio)
                in_ratio = -1.0 / ratio
            else:
                predicted = target / ratio
                in_ratio = -target / ratio**2
        directions = self._directions()
        gradient = (in_ratio * in_shape)[:, None] * directions["shape"]
        if self.regression.has_rate:
            in_depth = np.exp(shape * depth)
            gradient += (in_ratio * in_depth)[:, None] * directions["rate"]
        return np.where(ratio > 0, predicted, np.nan), gradient

    def _scale_and_shape(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        """Scale, its slope in its own predictor, and shape at the row of covariates."""
        _, scale, shape = (parameter[:, 0] for parameter in self.regression.natural(z, self.rows))
        if self.regression.link == "log":
            scale_slope = scale
        else:
            scale_slope = np.ones_like(scale)
        return scale, scale_slope, shape


@dataclass(frozen=True, eq=False)
class FreeCoordinates:
    """z = basis·y + lift·predictor(basis·y): the points that satisfy a constraint.

    `basis`, (d, d − 1): orthonormal columns orthogonal to the direction; `lift`, (d,):
    direction/|direction|².
    """

    constraint: Constraint
    basis: Floats
    lift: Floats

    @classmethod
    def of(cls, constraint: Constraint) -> FreeCoordinates:
        """The coordinates of a constraint."""
        direction = constraint.direction
        orthogonal = np.linalg.svd(direction[None, :])[2]
        return cls(constraint, orthogonal[1:].T, direction / (direction @ direction))

    def pulled_back(self, y: Floats, smooth: Callable[[Floats], Triple]) -> Triple:
        """Value, gradient and Hessian in y, shape (R, d − 1), of a function of z.

        With J = basis + lift·∇predictorᵀ: gradient Jᵀ∇f, Hessian JᵀHJ + (lift·∇f)·∇²predictor.
        """
        base_points = y @ self.basis.T
        predicted, predictor_gradient = self.constraint.predictor(base_points)
        is_inside = np.isfinite(predicted)
        z = base_points + np.where(is_inside, predicted, 0.0)[:, None] * self.lift
        f, in_z, hessian_in_z = smooth(z)
        in_y = predictor_gradient @ self.basis
        jacobian = self.basis + self.lift[:, None] * in_y[:, None, :]
        gradient = np.einsum("rij,ri->rj", jacobian, in_z)
        hessian = np.swapaxes(jacobian, 1, 2) @ hessian_in_z @ jacobian
        hessian += (in_z @ self.lift)[:, None, None] * self._predictor_curvature(base_points)
        return np.where(is_inside, f, np.inf), gradient, hessian

    def _predictor_curvature(self, base_points: Floats) -> Floats:
        """Second derivatives of the predictor in y, by central differences of its gradient."""
        derivative_columns = []
        for basis_vector in self.basis.T:
            gradient_ahead = self.constraint.predictor(
                base_points + _DIFFERENCE_STEP * basis_vector
            )[1]
            gradient_behind = self.constraint.predictor(
                base_points - _DIFFERENCE_STEP * basis_vector
            )[1]
            derivative_columns.append(
                (gradient_ahead - gradient_behind) @ self.basis / (2.0 * _DIFFERENCE_STEP)
            )
        second_derivatives = np.stack(derivative_columns, axis=1)
        return np.asarray(0.5 * (second_derivatives + np.swapaxes(second_derivatives, 1, 2)))
