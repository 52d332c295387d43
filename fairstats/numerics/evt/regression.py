"""Likelihood of tails whose scale and shape (and location, of block maxima) are linear in columns.

With rows a, b, c of the design matrices log σ = a·α (or σ = a·α), ξ = b·β and μ = c·γ, the negative
log-likelihood is Σ[log σ + (1 + ξ)w + e^(−w)], w = log(1 + ξ(x − μ)/σ)/ξ, without the last term for
excesses (Coles 2001, chapter 6). Newton's method minimises it in standard units and orthogonal
columns. An end of a likelihood interval of h, a level or a coefficient, is the largest or smallest
h with a given deviance D: the Lagrange conditions ∇h = κ∇D.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairstats.numerics.evt import distributions as law
from fairstats.numerics.evt.backends import scipy_backend
from fairstats.numerics.evt.distributions import Floats

#: z ↦ value and gradient.
Smooth = Callable[[Floats], tuple[float, Floats]]
#: Step of differences of gradients, in standard units.
_DIFFERENCE_STEP = 1e-5
#: Entries of a symmetric matrix of location, scale and shape: each pair of parameters once.
_PAIRS = (
    ("location", "location"),
    ("location", "scale"),
    ("location", "shape"),
    ("scale", "scale"),
    ("scale", "shape"),
    ("shape", "shape"),
)


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

    @property
    def dimension(self) -> int:
        """Number of standard coefficients, the rate included."""
        return int(sum(matrix.shape[1] for matrix in self.columns.values())) + int(self.has_rate)

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
        return float((self.columns["shape"] @ z[self.places()["shape"]]).mean())

    def log_period(self, m: float) -> float:
        """τ of m observations (log m) or of m blocks (−log(−log(1 − 1/m)))."""
        return float(-np.log(-np.log1p(-1.0 / m)) if self.has_location else np.log(m))

    def natural(self, z: Floats, rows: Mapping[str, Floats]) -> tuple[Floats, Floats, Floats]:
        """μ, σ and ξ at rows of the orthogonal columns, in standard units."""
        coefficient_parts = np.split(z, np.cumsum([matrix.shape[1] for matrix in rows.values()]))
        predictors = {}
        for parameter, parameter_part in zip(rows, coefficient_parts, strict=False):
            predictors[parameter] = rows[parameter] @ parameter_part
        if self.link == "log":
            scale = np.exp(predictors["scale"])
        else:
            scale = predictors["scale"]
        return predictors.get("location", np.zeros_like(scale)), scale, predictors["shape"]

    def _standardised(self, z: Floats) -> tuple[Floats, Floats, Floats] | None:
        """σ, ξ and e = (x − μ)/σ of every row.

        None where the likelihood is not finite: unless 0 < σ < ∞, ξ > −1, and no value lies beyond
        its end point.
        """
        location, scale, shape = self.natural(z, self.columns)
        if not (scale.min() > 0 and scale.max() < np.inf and shape.min() > -1.0):
            return None
        e = (self.values - location) / scale
        if not (1.0 + shape * e).min() > 0:
            return None
        return scale, shape, e

    def __call__(self, z: Floats) -> tuple[float, Floats]:
        """Negative log-likelihood, that of the rate included, with its gradient.

        Infinite outside.
        """
        outside = np.inf, np.full(z.size, np.nan)
        standardised = self._standardised(z)
        if standardised is None:
            return outside
        scale, shape, e = standardised
        w, w_shape, _ = (
            partial_values[:, 0]
            for partial_values in law.exponential_scale_partials(e[:, None], shape)
        )
        if "location" in self.columns:
            gumbel_terms = np.exp(-w)
        else:
            gumbel_terms = 0.0 * w
        total_value = float((np.log(scale) + (1.0 + shape) * w + gumbel_terms).sum())
        if not np.isfinite(total_value):
            return outside
        in_w = 1.0 + shape - gumbel_terms
        in_e = 1.0 / (1.0 + shape * e)
        in_log_scale = 1.0 - in_w * e * in_e
        if self.link == "log":
            in_scale = in_log_scale
        else:
            in_scale = in_log_scale / scale
        by_row = {"location": -in_w * in_e / scale, "scale": in_scale, "shape": w + in_w * w_shape}
        gradient = [matrix.T @ by_row[parameter] for parameter, matrix in self.columns.items()]
        if self.has_rate:
            n_values = self.values.size
            exceedance_rate = np.exp(z[-1])
            if exceedance_rate >= 1.0:
                return outside
            total_value -= n_values * z[-1] + (self.total - n_values) * np.log1p(-exceedance_rate)
            gradient.append(
                np.array(
                    [(self.total - n_values) * exceedance_rate / (1.0 - exceedance_rate) - n_values]
                )
            )
        return total_value, np.concatenate(gradient)

    def hessian(self, z: Floats) -> Floats:
        """Second derivatives of the negative log-likelihood, by the chain rule.

        Shape (p, p). Of a row's term log σ + F(e, ξ) with F = (1 + ξ)w + e^(−w), w = log(1 + ξe)/ξ and
        e = (x − μ)/σ; without e^(−w) for excesses. NaN where the likelihood is not finite.
        """
        standardised = self._standardised(z)
        if standardised is None:
            return np.full((z.size, z.size), np.nan)
        scale, shape, e = standardised
        w, w_shape, w_shape_shape = (
            partial_values[:, 0]
            for partial_values in law.exponential_scale_partials(e[:, None], shape)
        )
        w_e = 1.0 / (1.0 + shape * e)
        w_e_e = -shape * w_e**2
        w_e_shape = -e * w_e**2
        if self.has_location:
            gumbel_terms = np.exp(-w)
        else:
            gumbel_terms = 0.0 * w
        f_w = 1.0 + shape - gumbel_terms
        f_w_shape = 1.0 + gumbel_terms * w_shape
        f_e = f_w * w_e
        f_e_e = gumbel_terms * w_e**2 + f_w * w_e_e
        f_e_shape = f_w_shape * w_e + f_w * w_e_shape
        f_shape_shape = w_shape + f_w_shape * w_shape + f_w * w_shape_shape
        by_pair = {
            ("location", "location"): f_e_e / scale**2,
            ("location", "scale"): (f_e + e * f_e_e) / scale,
            ("location", "shape"): -f_e_shape / scale,
            ("scale", "scale"): e * f_e + e**2 * f_e_e,
            ("scale", "shape"): -e * f_e_shape,
            ("shape", "shape"): f_shape_shape,
        }
        if self.link == "identity":  # until here the scale's coordinate is log σ
            by_pair["location", "scale"] /= scale
            by_pair["scale", "scale"] = (by_pair["scale", "scale"] - 1.0 + e * f_e) / scale**2
            by_pair["scale", "shape"] /= scale
        places = self.places()
        matrix = np.zeros((z.size, z.size))
        for row_parameter, column_parameter in _PAIRS:
            if row_parameter not in places:
                continue
            block = self.columns[row_parameter].T @ (
                by_pair[row_parameter, column_parameter][:, None] * self.columns[column_parameter]
            )
            matrix[places[row_parameter], places[column_parameter]] = block
            matrix[places[column_parameter], places[row_parameter]] = block.T
        if self.has_rate:
            exceedance_rate = np.exp(z[-1])
            n_below = self.total - self.values.size
            matrix[-1, -1] = n_below * exceedance_rate / (1.0 - exceedance_rate) ** 2
        return matrix

    def level(self, rows: Mapping[str, Floats], m: float) -> Smooth:
        """The level of m at one row of covariates, less the origin, in standard units, as a
        function of z.
        """
        log_period = self.log_period(m)

        def at(z: Floats) -> tuple[float, Floats]:
            location, scale, shape = self.natural(z, rows)
            log_expected = np.asarray(log_period + (z[-1:] if self.has_rate else self.log_share))
            ratio = law.power_ratio(log_expected, shape)
            in_shape = scale * law.power_ratio_shape_derivative(log_expected, shape)
            in_scale = scale * ratio if self.link == "log" else ratio
            by_row = {"location": np.ones(1), "scale": in_scale, "shape": in_shape}
            gradient = [matrix.T @ by_row[parameter] for parameter, matrix in rows.items()]
            if self.has_rate:
                gradient.append(scale * np.exp(shape * log_expected))
            return float((location + scale * ratio)[0]), np.concatenate(gradient)

        return at

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
        minima = []
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
                log_rate = [np.array([np.log(standard_values.size / self.total)])]
            else:
                log_rate = []
            minima.append(minimise(self, np.concatenate([*z, *log_rate])))
        return min(
            (minimum for minimum in minima if minimum), key=lambda minimum: minimum[1], default=None
        )


def hessian(smooth: Smooth, z: Floats) -> Floats:
    """Second derivatives: of a likelihood its own, else by central differences of the gradient."""
    if isinstance(smooth, TailRegression):
        return smooth.hessian(z)
    coordinate_steps = _DIFFERENCE_STEP * np.eye(z.size)
    derivative_rows = np.stack(
        [
            smooth(z + coordinate_step)[1] - smooth(z - coordinate_step)[1]
            for coordinate_step in coordinate_steps
        ]
    ) / (2.0 * _DIFFERENCE_STEP)
    return np.asarray(0.5 * (derivative_rows + derivative_rows.T))


@np.errstate(all="ignore")  # steps may go where nothing is finite: they are shortened
def minimise(smooth: Smooth, z: Floats) -> tuple[Floats, float] | None:
    """Where Newton's method ends, and the value there; None where that is no minimum."""
    current_value, gradient = smooth(z)
    for _ in range(200):
        if not np.isfinite(current_value):
            return None
        curvature_matrix = hessian(smooth, z)
        if not np.isfinite(curvature_matrix).all():
            return None
        eigenvalues, eigenvectors = np.linalg.eigh(curvature_matrix)
        newton_step = -eigenvectors @ (
            (eigenvectors.T @ gradient)
            / np.maximum(np.abs(eigenvalues), 1e-9 * np.abs(eigenvalues).max())
        )
        expected_fall = -float(gradient @ newton_step)
        step_share = 1.0
        while (
            not (trial_values := smooth(z + step_share * newton_step))[0]
            < current_value - 1e-4 * step_share * expected_fall
        ):
            step_share *= 0.5
            if step_share < 1e-10:  # nothing lower along the step: rounding, at a minimum
                if eigenvalues[0] > 0 and expected_fall < 1e-9 * max(1.0, abs(current_value)):
                    return (z, current_value)
                return None
        z = z + step_share * newton_step
        current_value, gradient = trial_values
    return None


@np.errstate(all="ignore")
def likelihood_end(
    nll: Smooth,
    best: Floats,
    interest: Smooth,
    side: float,
    critical: float,
    stages: int = 4,
) -> Floats:
    """Where the interest is largest (side 1) or smallest (−1) with a deviance up to the critical
    value.

    Newton's method on the Lagrange conditions, in stages of √D, each from the one before; where it
    fails with more stages, and all NaN in the end.
    """
    lowest_value = nll(best)[0]
    interest_gradient = interest(best)[1]
    search_direction = side * np.linalg.solve(hessian(nll, best), interest_gradient)
    z = (
        best
        + search_direction * np.sqrt(critical / abs(interest_gradient @ search_direction)) / stages
    )
    point_before = best
    for stage_number in range(1, stages + 1):
        multiplier = np.nan
        newton_step = np.full(best.size + 1, np.inf)
        for _ in range(30):
            current_value, gradient = nll(z)
            interest_gradient = side * interest(z)[1]
            if np.isnan(multiplier):
                multiplier = float(interest_gradient @ gradient / (gradient @ gradient))
            value_drop = 0.5 * critical * (stage_number / stages) ** 2
            residuals = np.append(
                interest_gradient - multiplier * gradient, current_value - lowest_value - value_drop
            )
            curvature_matrix = side * hessian(interest, z) - multiplier * hessian(nll, z)
            matrix = np.block(
                [[curvature_matrix, -gradient[:, None]], [gradient[None, :], np.zeros((1, 1))]]
            )
            if not (np.isfinite(residuals).all() and np.isfinite(matrix).all()):
                break
            newton_step = -np.linalg.lstsq(matrix, residuals, rcond=None)[0]
            z = z + newton_step[:-1]
            multiplier = multiplier + float(newton_step[-1])
            if np.abs(newton_step[:-1]).max() < 1e-8:
                break
        is_done = (
            np.isfinite(nll(z)[0]) and multiplier > 0 and np.abs(newton_step[:-1]).max() < 1e-8
        )
        if not is_done:
            if stages >= 50:
                return np.full(best.size, np.nan)
            return likelihood_end(nll, best, interest, side, critical, 4 * stages)
        point_before, z = z, z + (z - point_before)
    return point_before
