"""Likelihood intervals: of levels for many samples at once, and of everything that one fit says.

An interval holds the values ψ whose deviance D(ψ) is at most a χ² quantile or, where it is
*standardised*, whose signed root r(ψ) = sign(ψ̂ − ψ)·√D(ψ) lies within ±z after its mean and
standard deviation are taken off (`root_moments`, at the shape that fits best with ψ): few excesses
give roots below 0 on average (tails look lighter than they are) and more spread than 1. Of
continuous excesses `quick_ends` has those by few operations.

The log period τ of m is log m for exceedances and −log(−log(1 − 1/m)) for block maxima, whose
location is the level with τ = 0, that of a point process the level with τ = log(block size). The
Lagrange conditions on the likelihood contour are tried first; what they do not settle (irregular
tails, the edge of the parameter space, open intervals) goes to a bracketed search on the profile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import chdtri

from fairstats.numerics.evt import contour
from fairstats.numerics.evt import likelihood as tails
from fairstats.numerics.evt.contour import (
    Ends,
    Interest,
    Moments,
    root_moments,
    standardised_extremes,
)
from fairstats.numerics.evt.distributions import Flags, Floats, Numbers, Rows, power_ratio
from fairstats.numerics.evt.gev import GevLikelihood
from fairstats.numerics.evt.gpd import GpdLikelihood, RateTerm
from fairstats.numerics.evt.grid import GridLikelihood
from fairstats.numerics.evt.likelihood import (
    ProfilePoints,
    SampleLikelihood,
    Samples,
    level_profile,
    shape_profile,
)
from fairstats.numerics.evt.optimise import find_crossings, tail_parameter
from fairstats.numerics.evt.quick_ends import find_end_points, find_level_ends, find_shape_ends

#: (side, critical value) → the end of the interval on that side.
Search = Callable[[float, float], float]

#: Log period of a probability that counts as 0, and of one so small that only its limit, 0,
#: matters.
_LONGEST_LOG_PERIOD = 600.0
_FAR_LOG_PERIOD = 60.0
#: The only sample of a fit.
_ONLY_ROW = np.zeros(1, dtype=np.intp)


def chi2_quantile(confidence_level: float) -> float:
    """Quantile of χ² with one degree of freedom: 3.84 for 0.95."""
    return float(chdtri(1.0, 1.0 - confidence_level))


def level_ends(
    likelihood: SampleLikelihood,
    rows: Rows,
    d: Floats,
    offset: Floats,
    side: Floats,
    target: Floats,
    *,
    in_offset: bool = False,
    newton: bool = True,
    guess: Floats | None = None,
) -> Floats:
    """Ends of likelihood intervals for levels or, where `in_offset`, for their periods; shape (Q,).

    `rows`: the sample of each interval; `d` and `offset`: the level in standard units and its log
    period at the maximum of the likelihood; `side`: −1 for lower and +1 for upper ends; `target`:
    the critical value of the deviance; `newton`: whether to try the Lagrange conditions; `guess`:
    levels near the ends, or NaN.
    """
    level_units = np.maximum(np.abs(d), 1.0 / likelihood.fits.nu[rows])
    lowest_values = likelihood.minimum()[rows]
    found_ends = np.full(rows.size, np.nan)
    if newton:
        with np.errstate(over="ignore"):
            if in_offset:
                found_ends = -contour.contour_extremes(
                    likelihood, rows, contour.log_exceedance_interest(d), -side, target
                )
            else:
                interest = contour.return_level_interest(
                    offset, level_units, rate_known=likelihood.rate_known
                )
                found_ends = level_units * np.sinh(
                    contour.contour_extremes(likelihood, rows, interest, side, target)
                )
        # where ξ = −1 belongs to the region, it has an edge, along which the end may lie
        found_ends[2.0 * (likelihood.boundary()[rows] - lowest_values) <= target] = np.nan
    missing_rows = np.flatnonzero(~np.isfinite(found_ends))
    if not missing_rows.size:
        return found_ends

    def deviance(which: Rows, trial_points: Floats) -> tuple[Floats, Floats]:
        # each point is found anew: the profile may have two valleys
        problem_rows = missing_rows[which]
        if in_offset:
            levels = d[problem_rows]
            log_periods = trial_points
        else:
            levels = trial_points
            log_periods = offset[problem_rows]
        profile_points = level_profile(
            likelihood, rows[problem_rows], levels, log_periods, in_offset=in_offset
        )
        return 2.0 * (
            profile_points.value - lowest_values[problem_rows]
        ), 2.0 * profile_points.slope

    if in_offset:
        crossing_ends = find_crossings(
            deviance,
            offset[missing_rows],
            0.3 * side[missing_rows],
            target[missing_rows],
            limit=side[missing_rows] * _LONGEST_LOG_PERIOD,
        )
        found_ends[missing_rows] = np.where(
            np.abs(crossing_ends) >= _LONGEST_LOG_PERIOD,
            np.sign(crossing_ends) * np.inf,
            crossing_ends,
        )
    else:
        if guess is None:
            near_guess = None
        else:
            near_guess = guess[missing_rows]
        found_ends[missing_rows] = find_crossings(
            deviance,
            d[missing_rows],
            0.2 * level_units[missing_rows] * side[missing_rows],
            target[missing_rows],
            guess=near_guess,
        )
    return found_ends


@dataclass(frozen=True)
class TailLikelihood:
    """Profile likelihood of one sample, in the units of the data.

    `standard`: in standard units (x − `origin`)/`unit`; `block_period`: τ of the blocks whose
    location and scale are parameters; None where σ is that of the excesses.
    """

    standard: GpdLikelihood | GevLikelihood
    origin: float
    unit: float
    block_period: float | None

    @classmethod
    def of_excesses(
        cls,
        excesses: Floats,
        threshold: float,
        total: int,
        rate_term: RateTerm,
        block_size: float | None,
        grid: float | None = None,
    ) -> TailLikelihood:
        """Of excesses over a threshold.

        `block_size` for a point process, `grid` of rounded values.
        """
        standard: GpdLikelihood
        if grid is None:
            samples = Samples.from_excesses(excesses[None, :])
            standard = GpdLikelihood.from_samples(samples, np.array([float(total)]), rate_term)
        else:
            standard = GridLikelihood.of(excesses, 0.0, grid, float(total), rate_term)
        if block_size is None:
            block_period = None
        else:
            block_period = float(np.log(block_size))
        return cls(standard, threshold, float(standard.samples.unit[0]), block_period)

    @classmethod
    def of_maxima(cls, maxima: Floats) -> TailLikelihood:
        """Of block maxima."""
        samples = Samples.from_maxima(maxima[None, :])
        return cls(
            GevLikelihood.from_samples(samples),
            float(samples.centre[0]),
            float(samples.unit[0]),
            0.0,
        )

    def level(self, log_period: float) -> float:
        """Level of a log period at the maximum of the likelihood."""
        return float(self.levels(np.array([log_period]))[0])

    def levels(self, log_periods: Floats) -> Floats:
        """Levels of log periods at the maximum of the likelihood, shape (Q,)."""
        return self.origin + self.unit * self._standard_levels(log_periods)

    def quick_level_interval(self, log_period: Floats, target: Floats) -> tuple[Floats, Floats]:
        """`level_interval`, standardised, where Newton's method settles at once; NaN elsewhere."""
        periods = np.tile(log_period, 2)
        sides = np.repeat([-1.0, 1.0], log_period.size)
        ends = self.origin + self.unit * self._standardised_levels(
            periods,
            self._standard_levels(periods),
            sides,
            np.sqrt(np.tile(target, 2)),
            patient=False,
        )
        return ends[: log_period.size], ends[log_period.size :]

    def level_interval(
        self,
        log_period: Floats,
        target: Floats,
        *,
        standardised: bool = False,
    ) -> tuple[Floats, Floats]:
        """Likelihood intervals of levels, one for each log period and critical value.

        Shape (Q,).
        """
        periods = np.tile(log_period, 2)
        problem_rows = np.zeros(periods.size, dtype=np.intp)
        sides = np.repeat([-1.0, 1.0], log_period.size)
        standard_levels = self._standard_levels(periods)
        log_expected = periods + self.standard.log_rate[0]
        latest_ends = np.full(periods.size, np.nan)

        def ends(goals: Floats, active: Rows) -> Floats:
            end_arguments = (
                problem_rows[active],
                standard_levels[active],
                periods[active],
                sides[active],
                goals[active],
            )
            latest_ends[active] = level_ends(
                self.standard, *end_arguments, guess=latest_ends[active]
            )
            return self.origin + self.unit * latest_ends[active]

        def moments(levels: Floats, active: Rows) -> tuple[Floats, Floats]:
            return self._level_moments(levels, periods[active])

        first_ends = None
        if standardised:
            first_ends = self.origin + self.unit * self._standardised_levels(
                periods, standard_levels, sides, np.sqrt(np.tile(target, 2))
            )
        return self._both_ends(
            ends,
            moments,
            target,
            self.origin + self.unit * standard_levels,
            first_ends,
            log_expected,
        )

    def level_deviance(self, log_period: float, levels: Floats) -> Floats:
        """Twice the fall of the profile log-likelihood at given levels, shape of `levels`."""
        problem_rows = np.zeros(levels.size, dtype=np.intp)
        levels = (levels - self.origin) / self.unit
        profile_points = level_profile(
            self.standard, problem_rows, levels, np.full(problem_rows.size, log_period)
        )
        return np.maximum(self._deviance_and_slope(profile_points)[0], 0.0)

    def log_period_interval(
        self,
        level: float,
        log_period: float,
        target: float,
        *,
        standardised: bool = False,
    ) -> tuple[float, float]:
        """Shortest and longest likely log period of a level, infinite where an end point below it
        is likely.

        `log_period` is its estimate, infinite where the level lies beyond the fitted end point.
        """
        standard_level = np.array([(level - self.origin) / self.unit])
        at_endpoint = self._deviance_of_endpoint(standard_level)
        estimate = np.array([log_period])

        def end(side: float, goal: float) -> float:
            if np.isfinite(log_period):
                if side > 0 and at_endpoint <= goal:
                    return np.inf
                side_and_goal = np.array([side]), np.array([goal])
                return float(
                    level_ends(
                        self.standard,
                        _ONLY_ROW,
                        standard_level,
                        estimate,
                        *side_and_goal,
                        in_offset=True,
                    )[0]
                )
            if side < 0 and at_endpoint <= goal:
                return self._shortest_beyond(standard_level, goal)
            return np.inf

        def ends(goal: Floats, active: Rows) -> Floats:
            return np.array(
                [end((-1.0, 1.0)[side_index], float(goal[side_index])) for side_index in active]
            )

        def moments(periods: Floats, active: Rows) -> tuple[Floats, Floats]:
            root_mean, root_sd = self._level_moments(
                np.full(active.size, level), np.minimum(periods, _FAR_LOG_PERIOD)
            )
            # the shortest period is that of which the level is the upper limit
            return (
                -root_mean,
                root_sd,
            )

        first_ends = np.full(2, np.nan) if standardised else None
        shortest, longest = self._both_ends(ends, moments, np.array([target]), estimate, first_ends)
        return float(shortest[0]), float(longest[0])

    def parameter_ends(
        self,
        name: str,
        target: Floats,
        *,
        standardised: bool = False,
    ) -> tuple[Floats, Floats]:
        """Ends of likelihood intervals of a parameter for critical values of the deviance, shape
        (Q,).

        `name` is "location" (only where there are blocks), "scale" (never standardised) or "shape",
        which ends at −1, where the parameter space does.
        """
        if name == "location":
            if self.block_period is None:
                location_period = 0.0
            else:
                location_period = self.block_period
            return self.level_interval(
                np.full(target.size, location_period), target, standardised=standardised
            )
        if name == "shape":

            def shapes(goal: Floats, active: Rows) -> Floats:
                return self._ends(contour.shape_interest(), goal, self._search_shape)[active]

            if standardised:
                first_ends = self._standardised_shapes(target)
            else:
                first_ends = None
            return self._both_ends(
                shapes, self._shape_moments, target, np.array([self._shape]), first_ends
            )
        interest = contour.log_scale_interest(None)
        search = self._search_log_scale
        if self.block_period is not None:
            log_periods = np.full(2 * target.size, self.block_period)
            search = partial(tails.block_scale_end, self.standard, self.block_period)
            interest = contour.log_scale_interest(log_periods)
        scale_ends = self.unit * np.exp(self._ends(interest, np.tile(target, 2), search))
        return scale_ends[: target.size], scale_ends[target.size :]

    def endpoint_interval(
        self, target: float, *, standardised: bool = False
    ) -> tuple[float, float]:
        """Likelihood interval of the end point.

        At least the largest value, infinite if ξ ≥ 0 is likely.
        """

        def ends(goal: Floats, active: Rows) -> Floats:
            return np.array(
                [
                    self._endpoint_end((-1.0, 1.0)[side_index], goal[side_index : side_index + 1])
                    for side_index in active
                ]
            )

        def moments(points: Floats, active: Rows) -> tuple[Floats, Floats]:
            standard_points = np.maximum(
                (points - self.origin) / self.unit, self.standard.samples.upper[0]
            )
            theta = -1.0 / standard_points[:, None]
            with np.errstate(all="ignore"):
                nu = self.standard.free_nu(np.zeros(active.size, dtype=np.intp), theta)  # type: ignore[union-attr]
                return self._shape_moments(np.nan_to_num(theta / nu, nan=-1.0)[:, 0])

        theta = self.standard.fits.theta
        if standardised:
            first_ends = self._standardised_endpoints(target)
        else:
            first_ends = None
        endpoint_centre = np.where(
            theta < 0, self.origin - self.unit / np.minimum(theta, -1e-300), np.inf
        )
        lower_end, upper_end = self._both_ends(
            ends, moments, np.array([target]), endpoint_centre, first_ends
        )
        return float(lower_end[0]), float(upper_end[0])

    def level_root(self, log_period: float, level: float) -> float:
        """Standardised signed root of a level, negative where it lies above the estimate."""
        standard_level = np.array([(level - self.origin) / self.unit])
        profile_points = level_profile(
            self.standard, _ONLY_ROW, standard_level, np.array([log_period])
        )
        return self._root(
            profile_points,
            level > self.level(log_period),
            log_period + float(self.standard.log_rate[0]),
        )

    def shape_root(self, points: ProfilePoints, shape: float) -> float:
        """Standardised signed root of a shape, at its profile."""
        return self._root(points, shape > self._shape, np.inf)

    def _root(self, points: ProfilePoints, above: bool, s: float) -> float:
        root_size = np.sqrt(max(float(self._deviance_and_slope(points)[0][0]), 0.0))
        root_mean, root_sd = root_moments(points.theta / points.nu, s, self.standard.samples.n[0])
        return float(((-root_size if above else root_size) - root_mean[0]) / root_sd[0])

    @property
    def _is_plain(self) -> bool:
        """Whether the excesses are continuous, above a threshold, so that `quick_ends` has them."""
        return type(self.standard) is GpdLikelihood

    def _standardised_levels(
        self,
        periods: Floats,
        standard_levels: Floats,
        sides: Floats,
        root_targets: Floats,
        *,
        patient: bool = True,
    ) -> Floats:
        """Ends of levels in standard units by the standardised root; NaN where it is not smooth
        or, where not `patient`, where Newton's method does not settle at once.
        """
        level_units = np.maximum(np.abs(standard_levels), 1.0 / self.standard.fits.nu)
        found_ends, deviance = np.full((2, periods.size), np.nan)
        if self._is_plain and not self.standard.rate_known:
            found_ends, deviance = find_level_ends(
                self.standard,  # type: ignore[arg-type]
                periods,
                level_units,
                sides,
                root_targets,
            )
        lost = np.flatnonzero(np.isnan(found_ends))
        if lost.size and patient:
            interest = contour.return_level_interest(
                periods[lost], level_units[lost], rate_known=self.standard.rate_known
            )
            log_expected = periods[lost] + self.standard.log_rate[0]
            with np.errstate(over="ignore"):
                contour_values, deviance[lost] = standardised_extremes(
                    self.standard,
                    np.zeros(lost.size, dtype=np.intp),
                    interest,
                    sides[lost],
                    root_targets[lost],
                    log_expected,
                )
                found_ends[lost] = level_units[lost] * np.sinh(contour_values)
        return np.where(self._edge_is_likely(deviance), np.nan, found_ends)

    def _standardised_shapes(self, target: Floats) -> Floats:
        """Lower ends of shapes, then upper ones, by the standardised root's square."""
        sides = np.repeat([-1.0, 1.0], target.size)
        root_targets = np.sqrt(np.tile(target, 2))
        found_ends = np.full(sides.size, np.nan)
        if self._is_plain:
            fits = self.standard.fits
            found_ends = find_shape_ends(
                self.standard.samples, fits.theta, fits.nu, self._edge_deviance, sides, root_targets
            )
        lost = np.flatnonzero(np.isnan(found_ends))
        if lost.size:
            shape_ends, deviance = standardised_extremes(
                self.standard,
                np.zeros(lost.size, dtype=np.intp),
                contour.shape_interest(),
                sides[lost],
                root_targets[lost],
                np.inf,
            )
            found_ends[lost] = np.where(self._edge_is_likely(deviance), np.nan, shape_ends)
        return found_ends

    def _standardised_endpoints(self, target: float) -> Floats:
        """Both ends of the end point by the standardised root's square; NaN where nothing settles."""
        if not self._is_plain:
            return np.full(2, np.nan)
        standard_ends = find_end_points(
            self.standard.samples,
            float(self.standard.fits.theta[0]),
            float(self._edge_deviance[0]),
            float(np.sqrt(target)),
        )
        return self.origin + self.unit * standard_ends

    @property
    def _edge_deviance(self) -> Floats:
        """Twice the fall of the log-likelihood at ξ = −1, shape (1,)."""
        return 2.0 * (self.standard.boundary() - self._lowest_value)

    def _both_ends(
        self,
        ends: Ends,
        moments: Moments,
        target: Floats,
        centre: Floats,
        first_ends: Floats | None,
        s: Numbers = np.inf,
    ) -> tuple[Floats, Floats]:
        """Lower and upper ends for critical values of the deviance.

        Of the standardised root's square where `first_ends` says which of them are known already;
        `centre` are the estimates, one or for all.
        """
        sides = np.repeat([-1.0, 1.0], target.size)
        both_targets = np.tile(target, 2)
        if first_ends is None:
            found_ends = ends(both_targets, np.arange(both_targets.size))
        else:
            end_arguments = (
                first_ends,
                np.broadcast_to(centre, both_targets.shape),
                sides,
                np.sqrt(both_targets),
            )
            moment_arguments = self._shape, s, float(self.standard.samples.n[0])
            found_ends = contour.standardised_ends(ends, moments, *end_arguments, *moment_arguments)
        return found_ends[: target.size], found_ends[target.size :]

    def _shape_moments(self, shape: Floats, _: Rows | None = None) -> tuple[Floats, Floats]:
        return root_moments(shape, np.inf, self.standard.samples.n[0])

    def _level_moments(self, levels: Floats, periods: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the signed root at levels of periods, shape (Q,)."""
        standard_levels = (levels - self.origin) / self.unit
        start_theta = np.repeat(self.standard.fits.theta, standard_levels.size)
        profile_points = level_profile(
            self.standard,
            np.zeros(standard_levels.size, dtype=np.intp),
            standard_levels,
            periods,
            start=start_theta,
        )
        shapes = np.nan_to_num(profile_points.theta / profile_points.nu)
        return root_moments(shapes, periods + self.standard.log_rate[0], self.standard.samples.n[0])

    def _endpoint_end(self, side: float, goal: Floats) -> float:
        """One end of the end point's interval: where the profile deviance reaches its goal."""
        standard = self.standard
        lower_ends = self.standard.samples.lower
        upper_ends = self.standard.samples.upper

        def deviance(which: Rows, phi: Floats) -> tuple[Floats, Floats]:
            theta, theta_slope, _ = tail_parameter(phi, lower_ends, upper_ends)
            with np.errstate(all="ignore"):
                profile_values, profile_slopes, _ = standard.free(_ONLY_ROW, theta[:, None])
            return 2.0 * (profile_values[:, 0] - self._lowest_value), 2.0 * profile_slopes[
                :, 0
            ] * theta_slope

        def level_at(phi: Floats) -> float:
            theta = float(tail_parameter(phi, lower_ends, upper_ends)[0][0])
            return self.origin + self.unit * (-1.0 / theta if theta < 0 else np.inf)

        with np.errstate(divide="ignore"):
            phi = np.log(
                (1.0 + standard.fits.theta * upper_ends) / (1.0 + standard.fits.theta * lower_ends)
            )
        if side < 0:
            if self._edge_is_likely(goal)[0] or not np.isfinite(phi[0]):
                return self.origin + self.unit * float(upper_ends[0])
            return level_at(
                find_crossings(deviance, phi, np.array([-0.3]), goal, limit=np.array([-40.0]))
            )
        if phi[0] >= 0 or deviance(_ONLY_ROW, np.zeros(1))[0][0] <= goal[0]:
            return np.inf
        start_phi = np.maximum(phi, -40.0)
        return level_at(
            find_crossings(deviance, start_phi, np.array([0.3]), goal, limit=np.zeros(1))
        )

    @property
    def _shape(self) -> float:
        return float(self.standard.fits.theta[0] / self.standard.fits.nu[0])

    @property
    def _lowest_value(self) -> float:
        return float(self.standard.minimum()[0])

    def _deviance_and_slope(self, points: ProfilePoints) -> tuple[Floats, Floats]:
        return 2.0 * (points.value - self._lowest_value), 2.0 * points.slope

    def _standard_levels(self, log_periods: Floats) -> Floats:
        omega = (self.standard.log_rate + log_periods) / self.standard.fits.nu
        return np.asarray(power_ratio(omega, self.standard.fits.theta))

    def _deviance_of_endpoint(self, d: Floats) -> float:
        """Deviance of the end point d, to which that of ever longer periods of the level d
        tends.
        """
        if d[0] <= self.standard.samples.upper[0]:
            return np.inf
        profile_values = self.standard.free(_ONLY_ROW, -1.0 / d[:, None])[0]
        return float(2.0 * (profile_values[0, 0] - self._lowest_value))

    def _shortest_beyond(self, d: Floats, target: float) -> float:
        """Shortest likely log period of a level beyond the fitted end point."""

        def deviance(which: Rows, period: Floats) -> tuple[Floats, Floats]:
            return self._deviance_and_slope(
                level_profile(self.standard, _ONLY_ROW, d, period, in_offset=True)
            )

        far_period = np.array([_FAR_LOG_PERIOD])
        if not deviance(_ONLY_ROW, far_period)[0][0] < target:
            return np.inf
        nearest_period = np.array(
            [-_FAR_LOG_PERIOD if isinstance(self.standard, GevLikelihood) else 0.0]
        )
        return float(
            find_crossings(
                deviance, far_period, np.array([-1.0]), np.array([target]), limit=nearest_period
            )[0]
        )

    def _ends(self, interest: Interest, target: Floats, search: Search) -> Floats:
        """Lower ends for the first half of the critical values, upper ends for the other."""
        sides = np.repeat([-1.0, 1.0], target.size // 2)
        found_ends = contour.contour_extremes(
            self.standard, np.zeros(sides.size, dtype=np.intp), interest, sides, target
        )
        for end_index in np.flatnonzero(~np.isfinite(found_ends) | self._edge_is_likely(target)):
            found_ends[end_index] = search(float(sides[end_index]), float(target[end_index]))
        return found_ends

    def _edge_is_likely(self, target: Floats) -> Flags:
        """Whether ξ = −1 lies within the likelihood region, so that no smooth contour bounds it."""
        return np.asarray(self._edge_deviance[0] <= target)

    def _search_shape(self, side: float, target: float) -> float:
        """Shape at which the profile deviance is `target`, on one side; −1 where that is likely
        enough.
        """
        target_array = np.array([target])
        shape_limit = np.array([-1.0 if side < 0 else np.inf])
        if side < 0 and self._edge_is_likely(target_array)[0]:
            return -1.0

        def deviance(which: Rows, xi: Floats) -> tuple[Floats, Floats]:
            return self._deviance_and_slope(
                shape_profile(self.standard, _ONLY_ROW, xi, self.standard.fits.nu)
            )

        shape_centre = np.array([max(self._shape, -1.0 + 1e-9)])
        return float(
            find_crossings(
                deviance, shape_centre, np.array([0.2 * side]), target_array, limit=shape_limit
            )[0]
        )

    def _search_log_scale(self, side: float, target: float) -> float:
        """Log scale at which the profile deviance is `target`, on one side of the estimate."""
        standard = self.standard

        def deviance(which: Rows, log_scale: Floats) -> tuple[Floats, Floats]:
            nu = np.exp(-log_scale)
            profile_points = tails.scale_profile(standard, _ONLY_ROW, nu, standard.fits.theta)
            # at ξ = −1 the scale is the distance of the end point from the threshold
            edge_profile = standard.boundary() - standard.samples.n * (
                np.log(standard.samples.upper) + np.log(nu)
            )
            edge_values = np.where(nu <= 1.0 / standard.samples.upper, edge_profile, np.inf)
            lowest_values = np.minimum(profile_points.value, edge_values)
            log_scale_slopes = np.where(
                profile_points.value <= edge_values, -nu * profile_points.slope, np.nan
            )
            return 2.0 * (lowest_values - self._lowest_value), 2.0 * log_scale_slopes

        log_scale_centre = -np.log(standard.fits.nu)
        return float(
            find_crossings(deviance, log_scale_centre, np.array([0.2 * side]), np.array([target]))[
                0
            ]
        )
