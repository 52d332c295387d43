"""Likelihood of tails whose scale and shape (and location, of block maxima) are linear in columns.

With rows a, b, c of the design matrices log σ = a·α (or σ = a·α), ξ = b·β and μ = c·γ, the negative
log-likelihood is Σ[log σ + (1 + ξ)w + e^(−w)], w = log(1 + ξ(x − μ)/σ)/ξ, without the last term for
excesses (Coles 2001, chapter 6). Newton's method minimises it in standard units and orthogonal
columns. An end of a likelihood interval of h, a level or a coefficient, is the largest or smallest
h with a given deviance D: the Lagrange conditions ∇h = κ∇D.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from fairstats.numerics.evt import distributions as law
from fairstats.numerics.evt.backends import scipy_backend
from fairstats.numerics.evt.distributions import Floats, Rows, Triple
from fairstats.numerics.evt.newton import minimise_each

#: Stages of the way to an end of an interval: more of them where fewer fail.
_STAGES = (4, 16, 64)
#: The fit itself ends at an expected fall of so much of its value, and then takes that step, too.
_SETTLED = 1e-13


class Interest(Protocol):
    """A function of the coefficients that an interval is about."""

    def derivatives(self, z: Floats) -> Triple:
        """Values, gradients and Hessians at points z: (R, d) → (R,), (R, d), (R, d, d)."""


@dataclass(frozen=True, eq=False)
class TailRegression:
    """Likelihood of standard coefficients z; the last one is log λ where there is a rate.

    `values`, (n,): (x − origin)/unit, the origin being the threshold (by row, where they differ) or
    the centre of the maxima; `specs`: formula and coding of each parameter; `columns`: its design
    matrix with orthogonal columns, Q = X·turn⁻¹; `total`: N, 0 for maxima; `link`: of the scale.
    """

    values: Floats
    unit: float
    origin: Any
    specs: dict[str, Any]
    columns: dict[str, Floats]
    turns: dict[str, Floats]
    total: int
    link: str

    @property
    def has_rate(self) -> bool:
        """Whether the rate of exceedances is estimated."""
        return self.total > self.values.size

    @property
    def has_location(self) -> bool:
        """Whether the values are block maxima."""
        return "location" in self.columns

    @property
    def log_share(self) -> float:
        """Log rate where it is not estimated: 0 of block maxima, which are all there."""
        if self.has_rate or self.has_location:
            return 0.0
        return float(np.log(self.values.size / self.total))

    @cached_property
    def dimension(self) -> int:
        """Number of standard coefficients, the rate included."""
        return int(sum(matrix.shape[1] for matrix in self.columns.values())) + int(self.has_rate)

    @cached_property
    def places(self) -> dict[str, slice]:
        """Which of the standard coefficients belong to each parameter."""
        slices = {}
        first_place = 0
        for parameter, matrix in self.columns.items():
            slices[parameter] = slice(first_place, first_place + matrix.shape[1])
            first_place += matrix.shape[1]
        return slices

    def mean_shape(self, z: Floats) -> float:
        """Mean of the shapes of all rows."""
        return float((self.columns["shape"] @ z[self.places["shape"]]).mean())

    def log_period(self, m: float) -> float:
        """τ of m observations (log m) or of m blocks (−log(−log(1 − 1/m)))."""
        return float(-np.log(-np.log1p(-1.0 / m)) if self.has_location else np.log(m))

    def natural(self, z: Floats, rows: Mapping[str, Floats]) -> tuple[Floats, Floats, Floats]:
        """μ, σ and ξ at rows of the orthogonal columns, in standard units.

        Of points z, shape (d,) or (R, d): an array of shape (rows,) or (R, rows) each.
        """
        predictors = {}
        for parameter, coefficient_slice in self.places.items():
            predictors[parameter] = z[..., coefficient_slice] @ rows[parameter].T
        if self.link == "log":
            scale = np.exp(predictors["scale"])
        else:
            scale = predictors["scale"]
        return predictors.get("location", np.zeros_like(scale)), scale, predictors["shape"]

    def derivatives(
        self,
        z: Floats,
        values: Floats | None = None,
        counts: Floats | None = None,
    ) -> Triple:
        """Negative log-likelihoods, with gradients and Hessians, at points z of shape (R, d).

        Shapes (R,), (R, d) and (R, d, d). Infinite outside the parameter space. `values`, (R, n):
        samples in place of the values fitted; `counts`, (R,): exceedances that the rate sees.

        With e = (x − μ)/σ, i = 1/(1 + ξe) and w = log(1 + ξe)/ξ a value adds log σ + (1 + ξ)w, and
        e^(−w) of block maxima. Its slope in w is A = 1 + ξ − e^(−w) (1 + ξ of excesses), and its
        derivatives
            in e: A·i,  twice: (e^(−w) − ξA)·i²,        in ξ: w + A·w_ξ,  twice: 2w_ξ + e^(−w)·w_ξ² + A·w_ξξ,
            mixed: (1 + e^(−w)·w_ξ)·i − A·e·i².
        """
        if values is None:
            values = self.values
        locations, scales, shapes = self.natural(z, self.columns)
        e = (values - locations) / scales
        is_inside = (scales > 0) & np.isfinite(scales) & (1.0 + shapes * e > 0) & (shapes > -1.0)
        row_is_inside = is_inside.all(axis=1)
        if not row_is_inside.all():
            e = np.where(is_inside, e, 0.0)
            scales = np.where(is_inside, scales, 1.0)
        w, w_shape, w_shapes = (
            partial_values[..., 0]
            for partial_values in law.exponential_scale_partials(e[..., None], shapes)
        )
        if self.has_location:
            gumbel_terms = np.exp(-w)
        else:
            gumbel_terms = np.zeros_like(w)
        inverse_terms = 1.0 / (1.0 + shapes * e)
        slope_in_w = 1.0 + shapes - gumbel_terms
        nll = (np.log(scales) + (1.0 + shapes) * w + gumbel_terms).sum(axis=1)
        in_e = slope_in_w * inverse_terms
        in_e2 = (gumbel_terms - shapes * slope_in_w) * inverse_terms**2
        in_shape = w + slope_in_w * w_shape
        in_shape2 = 2.0 * w_shape + gumbel_terms * w_shape**2 + slope_in_w * w_shapes
        in_e_shape = (1.0 + gumbel_terms * w_shape) * inverse_terms
        in_e_shape -= slope_in_w * e * inverse_terms**2
        # e falls by e for each unit of log σ, and by 1/σ for each unit of μ
        first = {"location": -in_e / scales, "scale": 1.0 - in_e * e, "shape": in_shape}
        second = {
            ("location", "location"): in_e2 / scales**2,
            ("location", "scale"): (in_e2 * e + in_e) / scales,
            ("location", "shape"): -in_e_shape / scales,
            ("scale", "scale"): in_e2 * e**2 + in_e * e,
            ("scale", "shape"): -in_e_shape * e,
            ("shape", "shape"): in_shape2,
        }
        if self.link == "identity":  # until here the scale's coordinate is log σ
            second["scale", "scale"] = (second["scale", "scale"] - first["scale"]) / scales**2
            second["location", "scale"] = second["location", "scale"] / scales
            second["scale", "shape"] = second["scale", "shape"] / scales
            first["scale"] = first["scale"] / scales
        gradient = np.zeros_like(z)
        for parameter, coefficient_slice in self.places.items():
            gradient[:, coefficient_slice] = first[parameter] @ self.columns[parameter]
        hessian = self._gathered(second, len(z))
        if self.has_rate:
            if counts is None:
                counts = np.full(len(z), float(self.values.size))
            rate = np.exp(np.minimum(z[:, -1], 0.0))
            row_is_inside &= rate < 1.0
            share_below = np.where(rate < 1.0, 1.0 - rate, 0.5)
            n_below = self.total - counts
            nll = nll - counts * z[:, -1] - n_below * np.log(share_below)
            gradient[:, -1] = n_below * rate / share_below - counts
            hessian[:, -1, -1] = n_below * rate / share_below**2
        return np.where(row_is_inside, nll, np.inf), gradient, hessian

    def _gathered(self, second: Mapping[tuple[str, str], Floats], n_points: int) -> Floats:
        """Hessians of the coefficients, (R, d, d), from the second derivatives of each value."""
        hessian = np.zeros((n_points, self.dimension, self.dimension))
        for (one_parameter, other_parameter), weights in second.items():
            if one_parameter not in self.places:
                continue
            products = (
                self.columns[one_parameter][:, :, None] * self.columns[other_parameter][:, None, :]
            )
            block = np.tensordot(weights, products, axes=(1, 0))
            one_slice = self.places[one_parameter]
            other_slice = self.places[other_parameter]
            hessian[:, one_slice, other_slice] = block
            hessian[:, other_slice, one_slice] = np.swapaxes(block, 1, 2)
        return hessian

    def information(self, z: Floats) -> Floats:
        """Observed information at one point, shape (d, d)."""
        return np.asarray(self.derivatives(z[None])[2][0])

    def coefficients(self) -> tuple[Floats, Floats]:
        """Matrix and shift that make the coefficients of the formulas from z.

        Shapes (p, dim), (p,).
        """
        from scipy.linalg import block_diag

        if self.link == "log":
            scale_unit = (1.0, float(np.log(self.unit)))
        else:
            scale_unit = (self.unit, 0.0)
        units_and_origins = {
            "location": (self.unit, float(np.mean(self.origin))),
            "scale": scale_unit,
            "shape": (1.0, 0.0),
        }
        inverse_turns = {}
        for parameter, column_turn in self.turns.items():
            inverse_turns[parameter] = np.linalg.inv(column_turn)
        matrix = block_diag(
            *(
                units_and_origins[parameter][0] * inverse_turn
                for parameter, inverse_turn in inverse_turns.items()
            )
        )
        shifts = []
        for parameter in inverse_turns:
            shifts.append(
                units_and_origins[parameter][1]
                * inverse_turns[parameter]
                @ self.columns[parameter].mean(axis=0)
            )
        return np.hstack([matrix, np.zeros((len(matrix), int(self.has_rate)))]), np.concatenate(
            shifts
        )

    def fitted(self) -> tuple[Floats, float] | None:
        """The best z and its value, from the plain fit and from ξ = 0.

        None where there is no minimum.
        """
        standard_values = self.values
        start_list: list[Any]
        if "location" in self.columns:
            gumbel_scale = float(np.sqrt(6.0) / np.pi * standard_values.std())
            start_list = [
                scipy_backend.gev_mle(standard_values).params,
                [standard_values.mean() - np.euler_gamma * gumbel_scale, gumbel_scale, 0.0],
            ]
        else:
            start_list = [
                scipy_backend.gpd_mle(standard_values).params,
                [standard_values.mean(), 0.0],
            ]
        starts = []
        for start_params in start_list:
            start_by_parameter = dict(zip(self.columns, start_params, strict=True))
            start_by_parameter["scale"] = (
                np.log(start_by_parameter["scale"])
                if self.link == "log"
                else start_by_parameter["scale"]
            )
            z = []
            for parameter, matrix in self.columns.items():
                z.append(start_by_parameter[parameter] * matrix.mean(axis=0))
            if self.has_rate:
                z.append(np.array([np.log(standard_values.size / self.total)]))
            starts.append(np.concatenate(z))

        def objective(rows: Rows, points: Floats) -> Triple:
            return self.derivatives(points)

        points, lowest_values = minimise_each(
            objective, np.stack(starts), settled=_SETTLED, iterations=200, halvings=34
        )
        if np.isnan(lowest_values).all():
            return None
        best_start = int(np.nanargmin(lowest_values))
        return points[best_start], float(lowest_values[best_start])


@np.errstate(all="ignore")  # steps may go where nothing is finite
def likelihood_end(
    regression: TailRegression,
    best: Floats,
    interest: Interest,
    side: float,
    critical: float,
    near: Floats | None = None,
) -> Floats:
    """Where the interest is largest (side 1) or smallest (−1) with a deviance up to the critical
    value.

    Newton's method on the Lagrange conditions: from `near`, the end of about the same deviance
    where there is one, else in stages of √D, each from the one before; where that fails with more
    stages, and all NaN in the end.
    """
    nll, _, information = (part[0] for part in regression.derivatives(best[None]))
    if near is not None:
        end_point = _stationary_point(regression, interest, side, nll + 0.5 * critical, near)
        if end_point is not None:
            return end_point
    interest_gradient = interest.derivatives(best[None])[1][0]
    direction = side * np.linalg.solve(information, interest_gradient)
    first_reach = direction * np.sqrt(critical / abs(interest_gradient @ direction))
    for n_stages in _STAGES:
        point_before = best
        guess = best + first_reach / n_stages
        for stage_number in range(1, n_stages + 1):
            stage_drop = 0.5 * critical * (stage_number / n_stages) ** 2
            end_point = _stationary_point(regression, interest, side, nll + stage_drop, guess)
            if end_point is None:
                break
            guess = end_point + (end_point - point_before)
            point_before = end_point
        else:
            return point_before
    return np.full(best.size, np.nan)


def _stationary_point(
    regression: TailRegression,
    interest: Interest,
    side: float,
    target_nll: float,
    start: Floats,
) -> Floats | None:
    """A point with a given likelihood whose gradient is that of the interest times 1/κ, κ > 0."""
    z = start
    multiplier = np.nan
    for _ in range(30):
        nll, gradient, curvature = (part[0] for part in regression.derivatives(z[None]))
        _, in_interest, interest_curvature = (part[0] for part in interest.derivatives(z[None]))
        in_interest = side * in_interest
        if np.isnan(multiplier):
            multiplier = float(in_interest @ gradient / (gradient @ gradient))
        residuals = np.append(in_interest - multiplier * gradient, nll - target_nll)
        matrix = np.zeros((z.size + 1, z.size + 1))
        matrix[:-1, :-1] = side * interest_curvature - multiplier * curvature
        matrix[:-1, -1] = -gradient
        matrix[-1, :-1] = gradient
        if not (np.isfinite(residuals).all() and np.isfinite(matrix).all()):
            return None
        step = -np.linalg.lstsq(matrix, residuals, rcond=None)[0]
        z = z + step[:-1]
        multiplier = multiplier + float(step[-1])
        if np.abs(step[:-1]).max() < 1e-8:
            is_inside = np.isfinite(regression.derivatives(z[None])[0][0])
            return z if is_inside and multiplier > 0 else None
    return None
