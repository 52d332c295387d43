"""Largest and smallest value of a parameter of interest over a likelihood region.

A profile-likelihood interval of h(θ, ν, ℓ) ends where h is extreme on the contour F = F̂ + q/2.
Newton's method on the Lagrange conditions ∇h = η∇F, F = F̂ + q/2 finds both ends in a few
evaluations, without profiling (the idea of Venzon & Moolgavkar 1988, for a function instead of a
coordinate). The contour is approached in steps. Points that do not settle come back as NaN; the
caller then searches the profile. With ω = (ℓ + a)/ν the level of the period whose logarithm is a
lies at d = (e^(θω) − 1)/θ from the origin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairstats.numerics.evt import distributions as law
from fairstats.numerics.evt.distributions import Flags, Floats, Numbers, Rows, Triple
from fairstats.numerics.evt.likelihood import SampleLikelihood, symmetric
from fairstats.numerics.evt.optimise import tail_parameter

#: Value (Q,), gradient (Q, 3) and Hessian (Q, 3, 3) in (θ, ν, ℓ) at points of the problems `rows`.
Interest = Callable[[Rows, Floats, Floats, Floats], Triple]
#: Critical values of all ends and numbers of those wanted → these; these → mean and sd of the
#: signed root there.
Ends = Callable[[Floats, Rows], Floats]
Moments = Callable[[Floats, Rows], tuple[Floats, Floats]]
#: Numbers of problems and the shapes ξ at their points → signed roots of the deviance that are
#: looked for.
Roots = Callable[[Rows, Floats], Floats]

#: s = log(m·λ) of the levels whose signed roots were simulated; shape and end point are as the
#: last.
ROOT_KNOTS = (0.3, 0.7, 1.5, 3.0, 5.0, 8.0)
#: √k·mean and k·(variance − 1) of the roots of k excesses: coefficients of 1, ξ, ξ² at each knot.
ROOT_MEAN = (
    (0.16, -0.49, 0.27),
    (0.41, -0.88, 0.54),
    (-0.13, -0.97, 0.67),
    (-1.79, 1.09, -0.42),
    (-2.35, 2.49, -1.62),
    (-2.46, 2.77, -1.86),
)
ROOT_VARIANCE = (
    (-0.2, 0.3, -0.1),
    (0.6, -0.9, 1.0),
    (4.4, -6.1, 5.3),
    (6.2, -8.5, 6.1),
    (4.2, -0.7, -2.1),
    (3.7, -1.2, -0.9),
)
#: Shapes of the simulation, beyond which the moments stay.
ROOT_SHAPES = (-0.5, 0.8)
#: Standardised ends are found where their root would move by less (the rest of the way goes along
#: the secant), or where they themselves move by less than the third of their distance from the
#: estimate, which is at least the second.
_SETTLED = 1e-4
_LEAST_ROOT = 1e-6
_STILL = 1e-9
_SECANTS = 30
#: Radii of the approach, as shares of the final one: two leaps first, small steps where they fail.
_APPROACHES = ((0.5, 1.0), (0.12, 0.3, 0.5, 0.75, 1.0))
_ITERATIONS = 15


def contour_extremes(
    likelihood: SampleLikelihood,
    samples: Rows,
    interest: Interest,
    side: Floats,
    target: Floats,
) -> Floats:
    """Extreme values of a parameter of interest on the contour, NaN where the iteration does not
    settle.

    `samples` says which of the P samples of the likelihood each of the Q problems belongs to.
    `side` is +1 for the largest value, −1 for the smallest; `target` is q, the critical value of
    the deviance.
    """
    chart = Chart(likelihood, samples, interest)
    unit_weights = np.ones(samples.size)
    minimum_and_roots = likelihood.minimum()[samples], side * np.sqrt(target)
    return Lagrange((chart,), (unit_weights,), *minimum_and_roots, by_root=True).solved()[1]


def standardised_extremes(
    likelihood: SampleLikelihood,
    samples: Rows,
    interest: Interest,
    side: Floats,
    z: Floats,
    s: Numbers,
) -> tuple[Floats, Floats]:
    """Extremes where the standardised signed root is ±z, and their deviances.

    NaN where nothing settles.

    As `contour_extremes`, on a contour that moves with the shape at the point, on which, with s =
    log(m·λ), the moments of the root depend.
    """
    sample_sizes = likelihood.samples.n[samples]
    s = np.broadcast_to(s, z.shape)
    chart = Chart(likelihood, samples, interest)
    unit_weights = np.ones(samples.size)

    def roots(rows: Rows, shape: Floats) -> Floats:
        root_mean, root_sd = root_moments(shape, s[rows], sample_sizes[rows])
        return side[rows] * np.maximum(root_sd * z[rows] - side[rows] * root_mean, _LEAST_ROOT)

    first_roots = roots(
        np.arange(samples.size), (likelihood.fits.theta / likelihood.fits.nu)[samples]
    )
    lowest_values = likelihood.minimum()[samples]
    deviance, extremes, _ = Lagrange(
        (chart,), (unit_weights,), lowest_values, first_roots, by_root=True, roots=roots
    ).solved()
    return extremes, deviance


@dataclass(frozen=True)
class Chart:
    """F and a parameter of interest in the coordinates (φ, log ν, ℓ), in which both are nearly
    quadratic.

    `samples` says which of the P samples of the likelihood each of the Q problems belongs to.
    """

    likelihood: SampleLikelihood
    samples: Rows
    interest: Interest

    def tangent(self) -> tuple[Floats, ...]:
        """The maximum in the chart, H⁻¹∇h there, √(∇h·H⁻¹∇h), and h."""
        fits = self.likelihood.fits
        samples = self.samples
        problem_rows = np.arange(self.samples.size)
        chart_centre = self.placed(
            problem_rows, fits.theta[samples], fits.nu[samples], self.likelihood.log_rate[samples]
        )
        (_, _, f2), (h, h1, _), _ = self.at(problem_rows, chart_centre)
        direction = solved(*cofactors(f2), h1)
        return chart_centre, direction, np.sqrt(dot(direction, h1)), h

    def ends(self, rows: Rows) -> tuple[Floats, Floats]:
        """Lower and upper ends of the standardised values."""
        samples = self.samples[rows]
        return self.likelihood.samples.lower[samples], self.likelihood.samples.upper[samples]

    def placed(self, rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> Floats:
        """Points of the chart, shape (Q, 3)."""
        lower_ends, upper_ends = self.ends(rows)
        return np.stack(
            [np.log((1.0 + theta * upper_ends) / (1.0 + theta * lower_ends)), np.log(nu), ell], -1
        )

    def shape(self, rows: Rows, point: Floats) -> Floats:
        """ξ = θ/ν at points of the chart."""
        return tail_parameter(point[:, 0], *self.ends(rows))[0] / np.exp(point[:, 1])

    def at(self, rows: Rows, point: Floats) -> tuple[Triple, Triple, Flags]:
        """Value, gradient and Hessian of F and of h in the chart (φ, log ν, ℓ), and whether ξ >
        −1.
        """
        theta, theta_slope, theta_curvature = tail_parameter(point[:, 0], *self.ends(rows))
        nu = np.exp(point[:, 1])
        ell = point[:, 2]
        first_derivatives = np.stack([theta_slope, nu, np.ones_like(nu)], -1)
        second_derivatives = np.stack([theta_curvature, nu, np.zeros_like(nu)], -1)
        f = self.likelihood.whole(self.samples[rows], theta, nu, ell)
        h = self.interest(rows, theta, nu, ell)
        return (
            _put_in_chart(f, first_derivatives, second_derivatives),
            _put_in_chart(h, first_derivatives, second_derivatives),
            nu > -theta,
        )


class Lagrange:
    """Minima of a sum of likelihoods at values of a sum of interests, or extremes of that sum on a
    contour.

    `charts`, one or two, hold one sample each in Q problems; `units`, shape (Q,), multiply their
    interests; `minimum` is that of the sum of the likelihoods. `targets` are the values or, where
    `by_root`, signed roots of the deviance; with `roots` these are first guesses, and what is
    sought moves with the shape at the point of the only chart.
    """

    def __init__(
        self,
        charts: tuple[Chart, ...],
        units: tuple[Floats, ...],
        minimum: Floats,
        targets: Floats,
        *,
        by_root: bool = False,
        roots: Roots | None = None,
    ) -> None:
        self.charts = charts
        self.units = units
        self.minimum = minimum
        self.by_root = by_root
        self.roots = roots
        with np.errstate(all="ignore"):
            self.centres, self.directions, gradient_lengths, interest_values = zip(
                *(chart.tangent() for chart in charts), strict=True
            )
            self.spread = np.sqrt(
                np.sum(
                    np.square(
                        [
                            unit_weights * gradient_length
                            for unit_weights, gradient_length in zip(
                                units, gradient_lengths, strict=True
                            )
                        ]
                    ),
                    axis=0,
                )
            )
            self.estimate = np.sum(
                [
                    unit_weights * interest_value
                    for unit_weights, interest_value in zip(units, interest_values, strict=True)
                ],
                axis=0,
            )
            if by_root:
                self.radius = targets
            else:
                self.radius = (targets - self.estimate) / self.spread

    def solved(self, *, farthest: float = np.inf, patient: bool = True) -> Triple:
        """Deviances, sums of interests and multipliers, shape (Q,); NaN where nothing settles.

        Nor beyond `farthest` radii; where not `patient`, after the leaps only.
        """
        solutions = np.full((3, self.radius.size), np.nan)
        is_near = np.abs(self.radius) <= farthest
        with np.errstate(all="ignore"):
            for radius_shares in _APPROACHES if patient else _APPROACHES[:1]:
                unsolved = np.flatnonzero(np.isnan(solutions[0]) & is_near)
                if unsolved.size:
                    solutions[:, unsolved] = self.approach(unsolved, radius_shares)
        return solutions[0], solutions[1], solutions[2]

    def polished(
        self,
        rows: Rows,
        points: list[Triple],
        multiplier: Floats,
    ) -> tuple[Floats, Floats]:
        """Deviances and multipliers by Newton's method from near (θ, ν, ℓ).

        NaN where it does not settle.
        """
        with np.errstate(all="ignore"):
            chart_points = []
            for chart, tail_point in zip(self.charts, points, strict=True):
                chart_points.append(chart.placed(rows, *tail_point))
            deviance, _, _, multiplier = self.newton(rows, chart_points, multiplier, 1.0)
        return deviance, multiplier

    def approach(self, rows: Rows, shares: tuple[float, ...]) -> Triple:
        """Deviances, sums and multipliers at the last share of the radius, by way of the others."""
        eta = self.radius[rows] / self.spread[rows]
        points = previous = [chart_centres[rows] for chart_centres in self.centres]
        share_before = -1.0
        share_reached = 0.0
        multiplier = eta
        deviance = difference = np.full(rows.size, np.nan)
        for radius_share in shares:
            extrapolation = (radius_share - share_reached) / (share_reached - share_before)
            chart_moves = []
            for new_point, old_point in zip(points, previous, strict=True):
                chart_moves.append((new_point - old_point) * extrapolation)
            if share_reached == 0.0:
                weighted_directions = zip(self.units, self.directions, strict=True)
                chart_moves = []
                for unit_weights, chart_direction in weighted_directions:
                    chart_moves.append(
                        radius_share
                        * (unit_weights[rows, None] * chart_direction[rows] * eta[:, None])
                    )
                chart_moves = [
                    first_move * np.minimum(1.0, 2.0 / np.abs(first_move).max(-1))[:, None]
                    for first_move in chart_moves
                ]
            previous = points
            points = [
                chart_point + chart_move
                for chart_point, chart_move in zip(points, chart_moves, strict=True)
            ]
            if share_reached:
                multiplier = multiplier * radius_share / share_reached
            else:
                multiplier = eta * radius_share
            share_before = share_reached
            share_reached = radius_share
            deviance, difference, points, multiplier = self.newton(
                rows, points, multiplier, radius_share
            )
        return deviance, difference, multiplier

    def newton(
        self,
        rows: Rows,
        points: list[Floats],
        multiplier: Floats,
        share: float,
    ) -> tuple[Floats, Floats, list[Floats], Floats]:
        """Newton's method at a share of the radius.

        Deviances, sums of interests, points, multipliers.
        """
        radius, spread, estimate = (
            problem_values[rows] for problem_values in (self.radius, self.spread, self.estimate)
        )
        if self.by_root:
            target_values = 0.5 * (share * radius) ** 2
        else:
            target_values = estimate + share * radius * spread
        is_way_point = share < 1.0  # a way-point need not be exact
        tolerance = (1e-2 if is_way_point else 1e-10) * (
            1.0 + radius**2 if self.by_root else spread
        )
        deviance, difference = np.full((2, rows.size), np.nan)
        points = [chart_point.copy() for chart_point in points]
        multiplier = multiplier.copy()
        active = np.flatnonzero(np.isfinite(multiplier))
        for _ in range(_ITERATIONS):
            if not active.size:
                break
            eta = multiplier[active]
            if self.roots is not None and not is_way_point:
                radius[active] = self.roots(
                    rows[active], self.charts[0].shape(rows[active], points[0][active])
                )
                target_values[active] = 0.5 * radius[active] ** 2
            value_falls = -self.minimum[rows[active]]
            interest_sums, free_products, tied_products, pull_products = np.zeros((4, active.size))
            is_regular = np.ones(active.size, dtype=bool)
            chart_steps = []
            for chart, chart_units, chart_point in zip(
                self.charts, self.units, points, strict=True
            ):
                (f, f1, f2), (h, h1, h2), is_inside = chart.at(rows[active], chart_point[active])
                unit_weights = chart_units[rows[active]]
                weighted_gradient = unit_weights[:, None] * h1
                matrix = f2 - (eta * unit_weights)[:, None, None] * h2
                inverse = cofactors(matrix)
                free_step = solved(*inverse, eta[:, None] * weighted_gradient - f1)
                tied_step = solved(*inverse, weighted_gradient)
                normal_vector = f1 if self.by_root else weighted_gradient
                free_products = free_products + dot(normal_vector, free_step)
                tied_products = tied_products + dot(normal_vector, tied_step)
                pull_products = pull_products + dot(weighted_gradient, tied_step)
                value_falls = value_falls + f
                interest_sums = interest_sums + unit_weights * h
                is_regular = is_regular & is_inside
                chart_steps.append((free_step, tied_step, matrix))
            offsets = target_values[active] - (value_falls if self.by_root else interest_sums)
            eta_step = (offsets - free_products) / tied_products
            chart_moves = [
                free_step + eta_step[:, None] * tied_step for free_step, tied_step, _ in chart_steps
            ]
            move_sizes = np.max([np.abs(chart_move).max(-1) for chart_move in chart_moves], axis=0)
            is_settled = (np.abs(offsets) < tolerance[active]) & (
                move_sizes < (3e-2 if is_way_point else 1e-6)
            )
            if is_settled.any():
                settled_rows = np.flatnonzero(is_settled & is_regular & (eta * radius[active] >= 0))
                n_negative = np.sum(
                    [
                        np.linalg.eigvalsh(step_matrix[settled_rows]) < 0
                        for *_, step_matrix in chart_steps
                    ],
                    axis=(0, 2),
                )
                # the least of the likelihoods at its value
                settled_rows = settled_rows[
                    (n_negative == 0) & (pull_products[settled_rows] > 0)
                    | (n_negative == 1) & (pull_products[settled_rows] < 0)
                ]
                deviance[active[settled_rows]] = 2.0 * value_falls[settled_rows]
                difference[active[settled_rows]] = interest_sums[settled_rows]
            shrink_factors = np.minimum(1.0, 1.0 / move_sizes)
            for chart_point, chart_move in zip(points, chart_moves, strict=True):
                chart_point[active] += shrink_factors[:, None] * chart_move
            multiplier[active] += shrink_factors * eta_step
            is_alive = ~is_settled & np.isfinite(move_sizes) & np.isfinite(eta_step)
            for chart, chart_point in zip(self.charts, points, strict=True):
                is_alive &= chart.likelihood.inside(
                    chart.samples[rows[active]], chart_point[active, 2]
                )
            active = active[is_alive]
        multiplier[np.isnan(deviance)] = np.nan
        return deviance, difference, points, multiplier


def dot(a: Floats, b: Floats) -> Floats:
    """Inner products of the rows."""
    return np.asarray(np.einsum("ij,ij->i", a, b))


def _put_in_chart(
    derivatives: Triple, first_derivatives: Floats, second_derivatives: Floats
) -> Triple:
    """Value, gradient and Hessian after the change of each variable by itself."""
    value, gradient, hessian = derivatives
    changed_hessian = hessian * first_derivatives[:, :, None] * first_derivatives[:, None, :]
    diagonal = np.arange(3)
    changed_hessian[:, diagonal, diagonal] += gradient * second_derivatives
    return value, gradient * first_derivatives, changed_hessian


def cofactors(matrix: Floats) -> tuple[Floats, Floats]:
    """Adjugate and determinant of symmetric 3 × 3 matrices."""
    a = matrix[:, 0, 0]
    b = matrix[:, 0, 1]
    c = matrix[:, 0, 2]
    d = matrix[:, 1, 1]
    e = matrix[:, 1, 2]
    f = matrix[:, 2, 2]
    adjugate = symmetric(
        d * f - e * e, c * e - b * f, a * f - c * c, b * e - c * d, b * c - a * e, a * d - b * b
    )
    return adjugate, np.asarray(dot(matrix[:, 0], adjugate[:, 0]))


def solved(adjugate: Floats, determinant: Floats, vector: Floats) -> Floats:
    """Solutions by cofactors: one singular matrix of a batch gives NaN, not an exception."""
    return np.asarray(np.einsum("ijk,ik->ij", adjugate, vector) / determinant[:, None])


def level_interest(log_period: Floats, *, rate_known: bool = False) -> Interest:
    """The level d = (e^(θω) − 1)/θ in standard units."""

    def interest(rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> Triple:
        omega, in_nu, in_ell, nu_nu, nu_ell = _omega_with_derivatives(nu, ell + log_period[rows])
        d = law.power_ratio(omega, theta)
        in_omega = np.exp(theta * omega)
        in_theta = law.power_ratio_shape_derivative(omega, theta)
        linear_factor = 1.0 + theta * d
        # ∂²d/∂ω² and ∂²d/∂θ∂ω
        omega_curvature = theta * linear_factor
        mixed_derivative = omega * linear_factor
        gradient = np.stack([in_theta, in_omega * in_nu, in_omega * in_ell], -1)
        in_both = (
            omega_curvature * (in_nu * in_nu) + in_omega * nu_nu,
            omega_curvature * (in_nu * in_ell) + in_omega * nu_ell,
        )
        in_theta2 = law.power_ratio_shape_curvature(omega, theta, in_theta, in_omega)
        in_ell2 = omega_curvature * (in_ell * in_ell)
        hessian = symmetric(
            in_theta2,
            mixed_derivative * in_nu,
            in_both[0],
            mixed_derivative * in_ell,
            in_both[1],
            in_ell2,
        )
        if rate_known:  # ℓ is held
            is_varying = np.array([1.0, 1.0, 0.0])
            gradient = gradient * is_varying
            hessian = hessian * is_varying * is_varying[:, None]
        return d, gradient, hessian

    return interest


def return_level_interest(
    log_period: Floats, unit: Floats, *, rate_known: bool = False
) -> Interest:
    """Interest arsinh(d/unit): as monotone as d, and straight enough for heavy tails."""
    plain_level = level_interest(log_period, rate_known=rate_known)

    def interest(rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> Triple:
        d, gradient, hessian = plain_level(rows, theta, nu, ell)
        standard_level = d / unit[rows]
        root_term = np.sqrt(1.0 + standard_level * standard_level)
        outer1 = 1.0 / (root_term * unit[rows])
        outer2 = -standard_level / root_term**3 / unit[rows] ** 2
        gradient_square = gradient[:, :, None] * gradient[:, None, :]
        second_derivatives = (
            outer1[:, None, None] * hessian + outer2[:, None, None] * gradient_square
        )
        return np.arcsinh(standard_level), outer1[:, None] * gradient, second_derivatives

    return interest


def log_exceedance_interest(d: Floats) -> Interest:
    """Log p = ℓ − ν·v(d; θ): how often a value at d is exceeded."""

    def interest(rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> Triple:
        v0, v1, v2 = (
            partial_v[:, 0] for partial_v in law.exponential_scale_partials(d[rows, None], theta)
        )
        zeros = np.zeros_like(v0)
        log_probability = np.where(1.0 + theta * d[rows] > 0, ell - nu * v0, np.nan)
        hessian = symmetric(-nu * v2, -v1, zeros, zeros, zeros, zeros)
        return log_probability, np.stack([-nu * v1, -v0, np.ones_like(v0)], -1), hessian

    return interest


def shape_interest() -> Interest:
    """ξ = θ/ν."""

    def interest(rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> Triple:
        zeros = np.zeros_like(nu)
        hessian = symmetric(zeros, -1.0 / nu**2, 2.0 * theta / nu**3, zeros, zeros, zeros)
        return theta / nu, np.stack([1.0 / nu, -theta / nu**2, zeros], -1), hessian

    return interest


def log_scale_interest(log_period: Floats | None) -> Interest:
    """Log σ: −log ν of the excesses, or θω − log ν for maxima of blocks with log length
    `log_period`.
    """

    def interest(rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> Triple:
        zeros = np.zeros_like(nu)
        if log_period is None:
            hessian = symmetric(zeros, zeros, 1.0 / nu**2, zeros, zeros, zeros)
            return -np.log(nu), np.stack([zeros, -1.0 / nu, zeros], -1), hessian
        omega, in_nu, in_ell, nu_nu, nu_ell = _omega_with_derivatives(nu, ell + log_period[rows])
        gradient = np.stack([omega, -1.0 / nu + theta * in_nu, theta * in_ell], -1)
        hessian = symmetric(
            zeros, in_nu, 1.0 / nu**2 + theta * nu_nu, in_ell, theta * nu_ell, zeros
        )
        return -np.log(nu) + theta * omega, gradient, hessian

    return interest


def _omega_with_derivatives(nu: Floats, s: Floats) -> tuple[Floats, ...]:
    """ω = s/ν with ω_ν, ω_ℓ, ω_νν and ω_νℓ."""
    omega = s / nu
    return omega, -omega / nu, 1.0 / nu, 2.0 * omega / nu**2, -1.0 / nu**2


def root_moments(shape: Numbers, s: Numbers, k: Numbers) -> tuple[Floats, Floats]:
    """Mean and standard deviation of the signed root of a level with s = log(m·λ), for k excesses
    of shape ξ.

    mean = a(ξ, s)/√k, variance = 1 + b(ξ, s)/k, where a and b are quadratic in ξ and linear between
    the knots of s (simulated: `tests/calibration/roots.py`). At s = ∞ those of the shape and of the
    end point. They broadcast.
    """
    xi, s = np.broadcast_arrays(np.clip(shape, *ROOT_SHAPES), s)
    powers = np.stack([np.ones_like(xi), xi, xi**2], -1)
    a, b = (
        (
            powers
            * np.stack(
                [
                    np.interp(s, ROOT_KNOTS, knot_values)
                    for knot_values in np.transpose(coefficient_table)
                ],
                -1,
            )
        ).sum(-1)
        for coefficient_table in (ROOT_MEAN, ROOT_VARIANCE)
    )
    return a / np.sqrt(k), np.sqrt(1.0 + b / k)


def standardised_ends(
    ends: Ends,
    moments: Moments,
    found_ends: Floats,
    centre: Floats,
    side: Floats,
    z: Floats,
    shape: Numbers,
    s: Numbers,
    k: Numbers,
) -> Floats:
    """Ends below (side −1) and above (+1) the estimate where the standardised root is ±z, shape
    (Q,).

    The moments at an end say which critical value belongs to it: a fixed point, by secants, from
    the moments at the fitted `shape`. The interval holds the estimate `centre` also where z is less
    than the mean. `ends` and `moments` are asked for the ends that still move; those in
    `found_ends` that are no NaN stay as they are.
    """
    root_mean, root_sd = (
        np.broadcast_to(moment_values, z.shape) for moment_values in root_moments(shape, s, k)
    )
    target_roots = np.maximum(root_sd * z - side * root_mean, _LEAST_ROOT)
    roots_before, errors_before, last_ends = np.full((3, *z.shape), np.nan)
    active = np.flatnonzero(np.isnan(found_ends))
    for _ in range(_SECANTS if active.size else 0):
        last_ends[active] = found_ends[active]
        found_ends[active] = ends(target_roots**2, active)
        root_mean, root_sd = moments(found_ends[active], active)
        root_errors = (
            np.maximum(root_sd * z[active] - side[active] * root_mean, _LEAST_ROOT)
            - target_roots[active]
        )
        with np.errstate(all="ignore"):
            secant_slopes = (root_errors - errors_before[active]) / (
                target_roots[active] - roots_before[active]
            )
            root_steps = np.where(secant_slopes < -0.25, -root_errors / secant_slopes, root_errors)
            end_moves = found_ends[active] - last_ends[active]
            end_distances = np.abs(found_ends[active] - centre[active])
            is_still = np.abs(end_moves) <= np.where(
                np.isfinite(end_distances), _STILL * end_distances, 0.0
            )
            is_done = (np.abs(root_steps) <= _SETTLED) & ~np.isnan(errors_before[active]) | is_still
            remaining_moves = np.where(
                is_still,
                0.0,
                root_steps * end_moves / (target_roots[active] - roots_before[active]),
            )
        found_ends[active[is_done]] += np.where(np.isfinite(remaining_moves), remaining_moves, 0.0)[
            is_done
        ]
        roots_before[active] = target_roots[active]
        errors_before[active] = root_errors
        target_roots[active] = np.maximum(target_roots[active] + root_steps, _LEAST_ROOT)
        active = active[~is_done]
        if not active.size:
            break
    return found_ends
