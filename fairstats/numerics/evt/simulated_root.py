"""Mean and spread of signed roots of a tail regression, from samples of the fit.

The signed root r(ψ) = sign(ψ̂ − ψ)·√D(ψ) of a coefficient or a level ψ is normal with mean 0 and
variance 1 up to O(n^(−1/2)). With covariates its mean and variance depend on the design and on what
is asked for, so that no table has them. They are simulated (DiCiccio, Martin & Stern 2001; Lee &
Young 2005): B samples, in each the best point and the best point with ψ at its true value, whose
deviances are the roots. The law hardly depends on scale and location, but on the shape, which a fit
underestimates: samples are drawn at two mean shapes, and the moments at an end of an interval lie
on the line between them, at the mean shape that fits best with that end.

A level is linear in one predictor once the others are known: of excesses
    log σ(x) = log d − log[(e^(ξs) − 1)/ξ],   s = log m + ℓ,
(σ(x) itself with the identity link), of block maxima μ(x) = d − σ(x)·(e^(ξτ) − 1)/ξ. The constraint
is thereby solved for that predictor, and Newton's method moves the others freely.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fairstats.numerics.evt import distributions as law
from fairstats.numerics.evt.distributions import Flags, Floats, Rows, Triple
from fairstats.numerics.evt.regression import Smooth, TailRegression

#: Samples of a fit: the mean of a root is known to ±.06, its standard deviation to ±.04.
SAMPLES = 300
#: Without a generator always the same samples.
_SEED = 20_240_611
#: With more values than this the design is thinned; mean·√n and (variance − 1)·n stay the same.
_MOST_VALUES = 400
#: Mean shapes of the samples: with lower ones many samples have no maximum, and higher ones were
#: not studied.
_MEAN_SHAPES = (-0.35, 0.8)
#: The two mean shapes lie so many standard errors (1 + ξ)/√n from the fitted one, and this far from
#: each other.
_REACH = 3.0
_LEAST_GAP = 0.2
#: Shape of a row of a sample: lower ones have no regular law.
_LEAST_SHAPE = -0.45
#: Fewer samples with both of their fits say nothing.
_FEWEST_ROOTS = 100
#: Newton's method: iterations, halvings of a step, and the expected fall that ends it.
_ITERATIONS = 15
_HALVINGS = 8
_SETTLED = 1e-9
#: Step of the second derivatives of a constraint.
_DIFFERENCE_STEP = 1e-5

#: Coordinates y of samples `rows` → value, gradient and Hessian.
Objective = Callable[[Rows, Floats], Triple]


@dataclass(frozen=True, eq=False)
class Constraint:
    """ψ(z) = target as `direction`·z = predictor(z), with predictor a function of the other
    coordinates.

    `direction`, shape (d,); `predictor`: z, shape (R, d) → value (R,) and gradient (R, d); NaN
    where ψ cannot have its target.
    """

    direction: Floats
    predictor: Callable[[Floats], tuple[Floats, Floats]]


def coefficient_constraint(weights: Floats, target: float) -> Constraint:
    """A linear function of z, such as a coefficient, has the value `target`."""

    def predictor(z: Floats) -> tuple[Floats, Floats]:
        return np.full(len(z), target), np.zeros_like(z)

    return Constraint(direction=weights, predictor=predictor)


def level_constraint(
    regression: TailRegression,
    rows: Mapping[str, Floats],
    m: float,
    target: float,
) -> Constraint:
    """The level of m at one row of covariates lies `target` above the origin, in standard units."""
    slices = regression.places()
    log_period = regression.log_period(m)
    if regression.has_location:
        linear_parameter = "location"
    else:
        linear_parameter = "scale"
    n_coordinates = regression.dimension
    direction = np.zeros(n_coordinates)
    direction[slices[linear_parameter]] = rows[linear_parameter][0]

    def predictor(z: Floats) -> tuple[Floats, Floats]:
        row_shapes = z[:, slices["shape"]] @ rows["shape"][0]
        log_expected = np.full(len(z), log_period) + (
            z[:, -1] if regression.has_rate else regression.log_share
        )
        level_ratios = law.power_ratio(log_expected, row_shapes)
        in_shape = law.power_ratio_shape_derivative(log_expected, row_shapes)
        gradient = np.zeros_like(z)
        if regression.has_location:
            scale_predictor = z[:, slices["scale"]] @ rows["scale"][0]
            if regression.link == "log":
                scales = np.exp(scale_predictor)
            else:
                scales = scale_predictor
            if regression.link == "log":
                scale_slopes = scales
            else:
                scale_slopes = np.ones_like(scales)
            gradient[:, slices["scale"]] = (
                -(level_ratios * scale_slopes)[:, None] * rows["scale"][0]
            )
            gradient[:, slices["shape"]] = -(scales * in_shape)[:, None] * rows["shape"][0]
            return np.where(scales > 0, target - scales * level_ratios, np.nan), gradient
        with np.errstate(all="ignore"):
            if regression.link == "log":
                outer_derivative = -1.0 / level_ratios
            else:
                outer_derivative = -target / level_ratios**2
            if regression.link == "log":
                predicted = np.log(target / level_ratios)
            else:
                predicted = target / level_ratios
        gradient[:, slices["shape"]] = (outer_derivative * in_shape)[:, None] * rows["shape"][0]
        if regression.has_rate:
            gradient[:, -1] = outer_derivative * np.exp(row_shapes * log_expected)
        return np.where(level_ratios > 0, predicted, np.nan), gradient

    return Constraint(direction=direction, predictor=predictor)


@dataclass(frozen=True, eq=False)
class SimulatedFits:
    """Samples of a fit, and the best point of each.

    `regression`: the design, thinned where it is long; `centre`, (d,): the parameters of the
    samples; `values`, (B, n): the samples in standard units; `counts`, (B,): exceedances that the
    rate sees; `best`, (B, d), and `lowest`, (B,): best points and their negative log-likelihoods,
    NaN where none was found; `thinning`: values of the fit for each one of a sample.
    """

    regression: TailRegression
    centre: Floats
    values: Floats
    counts: Floats
    best: Floats
    lowest: Floats
    thinning: float

    @classmethod
    def drawn(
        cls,
        regression: TailRegression,
        centre: Floats,
        samples: int = SAMPLES,
        seed: int = _SEED,
    ) -> SimulatedFits:
        """Draw samples at given parameters and fit them."""
        generator = np.random.default_rng(seed)
        thinned_design, thinning = _thin_design(regression)
        locations, scales, shapes = thinned_design.natural(centre, thinned_design.columns)
        exponential = generator.standard_exponential((samples, thinned_design.values.size))
        if thinned_design.has_location:
            exponential_depths = -np.log(exponential)
        else:
            exponential_depths = exponential
        values = locations + scales * law.power_ratio(exponential_depths, shapes)
        counts = np.zeros(samples)
        if thinned_design.has_rate:
            counts = generator.binomial(
                thinned_design.total, np.exp(centre[-1]), size=samples
            ).astype(np.float64)
            counts = np.clip(counts, 1.0, thinned_design.total - 1.0)
        unfitted = cls(thinned_design, centre, values, counts, np.empty(0), np.empty(0), thinning)
        best_points, lowest = minimise_each(unfitted.likelihood, np.tile(centre, (samples, 1)))
        return replace(unfitted, best=best_points, lowest=lowest)

    def likelihood(self, rows: Rows, z: Floats) -> Triple:
        """Negative log-likelihoods of the samples `rows` at z, shape (R, d), with gradient and
        Hessian.
        """
        return batch_likelihood(self.regression, self.values[rows], self.counts[rows], z)

    def root_moments(
        self, interest: Smooth, constraint: Callable[[float], Constraint]
    ) -> tuple[float, float]:
        """Mean and standard deviation of the signed root of an interest at its true value, at the
        size of the fit.

        `constraint` holds the interest at a value. (0, 1), the limit of many values, where too few
        samples have a root.
        """
        true_value = interest(self.centre)[0]
        true_constraint = constraint(true_value)
        usable_rows = np.flatnonzero(np.isfinite(self.lowest))
        coordinates = FreeCoordinates.of(true_constraint)
        start_points = np.tile(coordinates.basis.T @ self.centre, (usable_rows.size, 1))

        def objective(rows: Rows, y: Floats) -> Triple:
            return coordinates.pulled_back(y, lambda z: self.likelihood(usable_rows[rows], z))

        _, constrained_values = minimise_each(objective, start_points)
        deviances = 2.0 * (constrained_values - self.lowest[usable_rows])
        estimates = np.array([interest(z)[0] for z in self.best[usable_rows]])
        signed_roots = np.sign(estimates - true_value) * np.sqrt(np.maximum(deviances, 0.0))
        signed_roots = signed_roots[np.isfinite(signed_roots)]
        if signed_roots.size < _FEWEST_ROOTS:
            return 0.0, 1.0
        root_mean = float(signed_roots.mean()) / np.sqrt(self.thinning)
        root_variance = 1.0 + (float(signed_roots.var(ddof=1)) - 1.0) / self.thinning
        return float(root_mean), float(np.sqrt(max(root_variance, 0.25)))


@dataclass(frozen=True, eq=False)
class RootLaw:
    """Samples at a low and at a high mean shape, between which moments of roots are interpolated.

    `shapes`: the two mean shapes.
    """

    low: SimulatedFits
    high: SimulatedFits
    shapes: tuple[float, float]

    @classmethod
    def of(
        cls,
        regression: TailRegression,
        best: Floats,
        samples: int = SAMPLES,
        seed: int = _SEED,
    ) -> RootLaw:
        """Samples around a fit."""
        fitted_shape = regression.mean_shape(best)
        shape_reach = (
            _REACH * (1.0 + max(fitted_shape, _MEAN_SHAPES[0])) / np.sqrt(regression.values.size)
        )
        low_shape = float(
            np.clip(fitted_shape - shape_reach, _MEAN_SHAPES[0], _MEAN_SHAPES[1] - _LEAST_GAP)
        )
        high_shape = float(
            np.clip(fitted_shape + shape_reach, low_shape + _LEAST_GAP, _MEAN_SHAPES[1])
        )
        simulated_fits = []
        for mean_shape in (low_shape, high_shape):
            sample_centre = _with_mean_shape(regression, best, mean_shape)
            simulated_fits.append(SimulatedFits.drawn(regression, sample_centre, samples, seed))
        return cls(low=simulated_fits[0], high=simulated_fits[1], shapes=(low_shape, high_shape))

    def moments(
        self, interest: Smooth, constraint: Callable[[float], Constraint]
    ) -> Callable[[float], tuple[float, float]]:
        """Mean shape → mean and standard deviation of the signed root of an interest."""
        at_low = self.low.root_moments(interest, constraint)
        at_high = self.high.root_moments(interest, constraint)

        def at(shape: float) -> tuple[float, float]:
            root_mean = np.interp(shape, self.shapes, (at_low[0], at_high[0]))
            root_sd = np.interp(shape, self.shapes, (at_low[1], at_high[1]))
            return float(root_mean), float(root_sd)

        return at


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


def batch_likelihood(
    regression: TailRegression,
    values: Floats,
    counts: Floats,
    z: Floats,
) -> Triple:
    """Negative log-likelihoods of samples, with gradients and Hessians.

    Infinite outside the parameter space.

    `values`, (R, n); `counts`, (R,): exceedances that the rate sees; `z`, (R, d). With e = (x −
    μ)/σ, i = 1/(1 + ξe) and w = log(1 + ξe)/ξ a value adds log σ + (1 + ξ)w, and e^(−w) of block
    maxima. Its slope in w is A = 1 + ξ − e^(−w) (1 + ξ of excesses), and its derivatives
        in e: A·i,  twice: (e^(−w) − ξA)·i²,        in ξ: w + A·w_ξ,  twice: 2w_ξ + e^(−w)·w_ξ² + A·w_ξξ,
        mixed: (1 + e^(−w)·w_ξ)·i − A·e·i².
    """
    predictors = {}
    for parameter, coefficient_slice in regression.places().items():
        predictors[parameter] = z[:, coefficient_slice] @ regression.columns[parameter].T
    log_link = regression.link == "log"
    if log_link:
        scales = np.exp(predictors["scale"])
    else:
        scales = predictors["scale"]
    shapes = predictors["shape"]
    e = (values - predictors.get("location", 0.0)) / scales
    is_inside = (scales > 0) & np.isfinite(scales) & (1.0 + shapes * e > 0) & (shapes > -1.0)
    row_is_inside = is_inside.all(axis=1)
    e = np.where(is_inside, e, 0.0)
    scales = np.where(is_inside, scales, 1.0)
    w, w_shape, w_shapes = (
        partial_values[..., 0]
        for partial_values in law.exponential_scale_partials(e[..., None], shapes)
    )
    if regression.has_location:
        gumbel_terms = np.exp(-w)
    else:
        gumbel_terms = np.zeros_like(w)
    inverse_terms = 1.0 / (1.0 + shapes * e)
    slope_in_w = 1.0 + shapes - gumbel_terms
    row_values = (np.log(scales) + (1.0 + shapes) * w + gumbel_terms).sum(axis=1)
    in_e = slope_in_w * inverse_terms
    in_e2 = (gumbel_terms - shapes * slope_in_w) * inverse_terms**2
    in_shape = w + slope_in_w * w_shape
    in_shape2 = 2.0 * w_shape + gumbel_terms * w_shape**2 + slope_in_w * w_shapes
    in_e_shape = (1.0 + gumbel_terms * w_shape) * inverse_terms - slope_in_w * e * inverse_terms**2
    # e falls by e for each unit of log σ, and by 1/σ for each unit of μ
    first_derivatives = {"location": -in_e / scales, "scale": 1.0 - in_e * e, "shape": in_shape}
    second_derivatives = {
        ("location", "location"): in_e2 / scales**2,
        ("location", "scale"): (in_e2 * e + in_e) / scales,
        ("location", "shape"): -in_e_shape / scales,
        ("scale", "scale"): in_e2 * e**2 + in_e * e,
        ("scale", "shape"): -in_e_shape * e,
        ("shape", "shape"): in_shape2,
    }
    if not log_link:
        second_derivatives["scale", "scale"] = (
            second_derivatives["scale", "scale"] - first_derivatives["scale"]
        ) / scales**2
        for other_parameter in ("location", "shape"):
            if other_parameter == "location":
                parameter_pair = ("location", "scale")
            else:
                parameter_pair = ("scale", "shape")
            second_derivatives[parameter_pair] = second_derivatives[parameter_pair] / scales
        first_derivatives["scale"] = first_derivatives["scale"] / scales
    gradient = np.zeros_like(z)
    hessian = np.zeros((*z.shape, z.shape[1]))
    for parameter, coefficient_slice in regression.places().items():
        gradient[:, coefficient_slice] = (
            first_derivatives[parameter] @ regression.columns[parameter]
        )
    for (one_parameter, other_parameter), pair_weights in second_derivatives.items():
        if one_parameter in predictors:
            column_products = (
                regression.columns[one_parameter][:, :, None]
                * regression.columns[other_parameter][:, None, :]
            )
            hessian_block = np.tensordot(pair_weights, column_products, axes=(1, 0))
            hessian[:, regression.places()[one_parameter], regression.places()[other_parameter]] = (
                hessian_block
            )
            hessian[:, regression.places()[other_parameter], regression.places()[one_parameter]] = (
                np.swapaxes(hessian_block, 1, 2)
            )
    if regression.has_rate:
        exceedance_rate = np.exp(np.minimum(z[:, -1], 0.0))
        row_is_inside &= exceedance_rate < 1.0
        share_below = np.where(exceedance_rate < 1.0, 1.0 - exceedance_rate, 0.5)
        n_below = regression.total - counts
        row_values = row_values - counts * z[:, -1] - n_below * np.log(share_below)
        gradient[:, -1] = n_below * exceedance_rate / share_below - counts
        hessian[:, -1, -1] = n_below * exceedance_rate / share_below**2
    return np.where(row_is_inside, row_values, np.inf), gradient, hessian


def minimise_each(objective: Objective, start: Floats) -> tuple[Floats, Floats]:
    """Minima of many functions by Newton's method with halved steps.

    Points (R, d) and values (R,), NaN for none.
    """
    points = start.copy()
    lowest_values = np.full(len(points), np.nan)
    active_rows = np.arange(len(points))
    with np.errstate(all="ignore"):
        current_values, gradient, hessian = objective(active_rows, points)
        newton_state = [current_values, gradient, hessian]
        for _ in range(_ITERATIONS):
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
            is_settled = (expected_falls < _SETTLED * np.maximum(1.0, np.abs(current_values))) & (
                eigenvalues[:, 0] > 0
            )
            lowest_values[active_rows[is_settled]] = current_values[is_settled]
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
    for _ in range(_HALVINGS):
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


def _thin_design(regression: TailRegression) -> tuple[TailRegression, float]:
    """The design with at most `_MOST_VALUES` or so of its rows, evenly spaced, and how many each
    stands for.
    """
    row_step = regression.values.size // _MOST_VALUES
    if row_step < 2:
        return regression, 1.0
    thinned_columns = {}
    for parameter, matrix in regression.columns.items():
        thinned_columns[parameter] = matrix[::row_step]
    has_full_rank = all(
        np.linalg.matrix_rank(matrix) == matrix.shape[1] for matrix in thinned_columns.values()
    )
    if not has_full_rank:  # a rare category
        return regression, 1.0
    thinned_values = regression.values[::row_step]
    thinning = regression.values.size / thinned_values.size
    thinned_total = round(regression.total / thinning)
    return replace(
        regression,
        values=thinned_values,
        columns=thinned_columns,
        total=thinned_total,
    ), thinning


def _with_mean_shape(regression: TailRegression, best_point: Floats, mean_shape: float) -> Floats:
    """The point with another mean shape of the rows, which are drawn together where one is below
    `_LEAST_SHAPE`.
    """
    shape_slice = regression.places()["shape"]
    matrix = regression.columns["shape"]
    row_shapes = matrix @ best_point[shape_slice]
    shape_deviations = row_shapes - row_shapes.mean()
    kept_share = 1.0
    if mean_shape + shape_deviations.min() < _LEAST_SHAPE:
        kept_share = (_LEAST_SHAPE - mean_shape) / float(shape_deviations.min())
    moved_point = best_point.copy()
    moved_point[shape_slice] = np.linalg.lstsq(
        matrix, mean_shape + kept_share * shape_deviations, rcond=None
    )[0]
    return moved_point
