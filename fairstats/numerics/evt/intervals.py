"""Likelihood intervals: of levels for many samples at once, and of everything that one fit says.

An interval holds the values ψ whose deviance D(ψ) is at most a χ² quantile or, where it is *standardised*, whose signed
root r(ψ) = sign(ψ̂ − ψ)·√D(ψ) lies within ±z after its mean and standard deviation are taken off (`root_moments`, at the
shape that fits best with ψ): few excesses give roots below 0 on average (tails look lighter than they are) and more
spread than 1.

The log period τ of m is log m for exceedances and −log(−log(1 − 1/m)) for block maxima, whose location is the level
with τ = 0, that of a point process the level with τ = log(block size). The Lagrange conditions on the likelihood
contour are tried first; what they do not settle (irregular tails, the edge of the parameter space, open intervals) goes
to a bracketed search on the profile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import chdtri

from fairstats.numerics.evt import contour
from fairstats.numerics.evt import likelihood as tails
from fairstats.numerics.evt.contour import Ends, Interest, Moments, root_moments, standardised_extremes
from fairstats.numerics.evt.distributions import Flags, Floats, Numbers, Rows, power_ratio
from fairstats.numerics.evt.gev import GevLikelihood
from fairstats.numerics.evt.gpd import GpdLikelihood, RateTerm
from fairstats.numerics.evt.grid import GridLikelihood
from fairstats.numerics.evt.likelihood import ProfilePoints, SampleLikelihood, Samples, level_profile, shape_profile
from fairstats.numerics.evt.optimise import find_crossings, tail_parameter

#: (side, critical value) → the end of the interval on that side.
Search = Callable[[float, float], float]

#: Log period of a probability that counts as 0, and of one so small that only its limit, 0, matters.
_LONGEST, _FAR = 600.0, 60.0
#: The only sample of a fit.
_ONLY = np.zeros(1, dtype=np.intp)


def chi2_quantile(confidence_level: float) -> float:
    """Quantile of χ² with one degree of freedom: 3.84 for 0.95."""
    return float(chdtri(1.0, 1.0 - confidence_level))


def level_ends(
    likelihood: SampleLikelihood, rows: Rows, d: Floats, offset: Floats, side: Floats, target: Floats, *,
    in_offset: bool = False, newton: bool = True, guess: Floats | None = None,
) -> Floats:  # fmt: skip
    """Ends of likelihood intervals for levels or, where `in_offset`, for their periods; shape (Q,).

    `rows`: the sample of each interval; `d` and `offset`: the level in standard units and its log period at the maximum
    of the likelihood; `side`: −1 for lower and +1 for upper ends; `target`: the critical value of the deviance;
    `newton`: whether to try the Lagrange conditions; `guess`: levels near the ends, or NaN.
    """
    unit = np.maximum(np.abs(d), 1.0 / likelihood.fits.nu[rows])
    minimum = likelihood.minimum()[rows]
    found = np.full(rows.size, np.nan)
    if newton:
        with np.errstate(over="ignore"):
            if in_offset:
                found = -contour.contour_extremes(likelihood, rows, contour.log_exceedance_interest(d), -side, target)
            else:
                interest = contour.return_level_interest(offset, unit, rate_known=likelihood.rate_known)
                found = unit * np.sinh(contour.contour_extremes(likelihood, rows, interest, side, target))
        # where ξ = −1 belongs to the region, it has an edge, along which the end may lie
        found[2.0 * (likelihood.boundary()[rows] - minimum) <= target] = np.nan
    rest = np.flatnonzero(~np.isfinite(found))
    if not rest.size:
        return found

    def deviance(which: Rows, x: Floats) -> tuple[Floats, Floats]:
        # each point is found anew: the profile may have two valleys
        i = rest[which]
        level, period = (d[i], x) if in_offset else (x, offset[i])
        points = level_profile(likelihood, rows[i], level, period, in_offset=in_offset)
        return 2.0 * (points.value - minimum[i]), 2.0 * points.slope

    if in_offset:
        ends = find_crossings(deviance, offset[rest], 0.3 * side[rest], target[rest], limit=side[rest] * _LONGEST)
        found[rest] = np.where(np.abs(ends) >= _LONGEST, np.sign(ends) * np.inf, ends)
    else:
        near = None if guess is None else guess[rest]
        found[rest] = find_crossings(deviance, d[rest], 0.2 * unit[rest] * side[rest], target[rest], guess=near)
    return found


@dataclass(frozen=True)
class TailLikelihood:
    """Profile likelihood of one sample, in the units of the data.

    `standard`: in standard units (x − `origin`)/`unit`; `block_period`: τ of the blocks whose location and scale are
    parameters; None where σ is that of the excesses.
    """

    standard: GpdLikelihood | GevLikelihood
    origin: float
    unit: float
    block_period: float | None

    @classmethod
    def of_excesses(
        cls, excesses: Floats, threshold: float, total: int, rate_term: RateTerm, block_size: float | None,
        grid: float | None = None,
    ) -> TailLikelihood:  # fmt: skip
        """Of excesses over a threshold; `block_size` for a point process, `grid` of rounded values."""
        standard: GpdLikelihood
        if grid is None:
            samples = Samples.from_excesses(excesses[None, :])
            standard = GpdLikelihood.from_samples(samples, np.array([float(total)]), rate_term)
        else:
            standard = GridLikelihood.of(excesses, 0.0, grid, float(total), rate_term)
        period = None if block_size is None else float(np.log(block_size))
        return cls(standard, threshold, float(standard.samples.unit[0]), period)

    @classmethod
    def of_maxima(cls, maxima: Floats) -> TailLikelihood:
        """Of block maxima."""
        samples = Samples.from_maxima(maxima[None, :])
        return cls(GevLikelihood.from_samples(samples), float(samples.centre[0]), float(samples.unit[0]), 0.0)

    def level(self, log_period: float) -> float:
        """Level of a log period at the maximum of the likelihood."""
        return self.origin + self.unit * self._standard_level(log_period)

    def level_interval(
        self, log_period: Floats, target: Floats, *, standardised: bool = False
    ) -> tuple[Floats, Floats]:
        """Likelihood intervals of levels, one for each log period and critical value; shape (Q,)."""
        periods = np.tile(log_period, 2)
        rows, side = np.zeros(periods.size, dtype=np.intp), np.repeat([-1.0, 1.0], log_period.size)
        d = np.array([self._standard_level(t) for t in periods])
        s, latest = periods + self.standard.log_rate[0], np.full(periods.size, np.nan)

        def ends(goal: Floats, a: Rows) -> Floats:
            given = rows[a], d[a], periods[a], side[a], goal[a]
            latest[a] = level_ends(self.standard, *given, guess=latest[a])
            return self.origin + self.unit * latest[a]

        def moments(levels: Floats, a: Rows) -> tuple[Floats, Floats]:
            return self._level_moments(levels, periods[a])

        first = None
        if standardised:
            unit = np.maximum(np.abs(d), 1.0 / self.standard.fits.nu)
            interest = contour.return_level_interest(periods, unit, rate_known=self.standard.rate_known)
            first = self.origin + self.unit * unit * np.sinh(self._extremes(interest, target, s))
        return self._both(ends, moments, target, self.origin + self.unit * d, first, s)

    def level_deviance(self, log_period: float, levels: Floats) -> Floats:
        """Twice the fall of the profile log-likelihood at given levels, shape of `levels`."""
        rows = np.zeros(levels.size, dtype=np.intp)
        levels = (levels - self.origin) / self.unit
        points = level_profile(self.standard, rows, levels, np.full(rows.size, log_period))
        return np.maximum(self._deviance(points)[0], 0.0)

    def log_period_interval(
        self, level: float, log_period: float, target: float, *, standardised: bool = False
    ) -> tuple[float, float]:
        """Shortest and longest likely log period of a level, infinite where an end point below it is likely.

        `log_period` is its estimate, infinite where the level lies beyond the fitted end point.
        """
        d = np.array([(level - self.origin) / self.unit])
        at_endpoint, estimate = self._deviance_of_endpoint(d), np.array([log_period])

        def end(side: float, goal: float) -> float:
            if np.isfinite(log_period):
                if side > 0 and at_endpoint <= goal:
                    return np.inf
                one = np.array([side]), np.array([goal])
                return float(level_ends(self.standard, _ONLY, d, estimate, *one, in_offset=True)[0])
            return self._shortest_beyond(d, goal) if side < 0 and at_endpoint <= goal else np.inf

        def ends(goal: Floats, a: Rows) -> Floats:
            return np.array([end((-1.0, 1.0)[i], float(goal[i])) for i in a])

        def moments(periods: Floats, a: Rows) -> tuple[Floats, Floats]:
            mean, sd = self._level_moments(np.full(a.size, level), np.minimum(periods, _FAR))
            return -mean, sd  # the shortest period is that of which the level is the upper limit

        first = np.full(2, np.nan) if standardised else None
        low, high = self._both(ends, moments, np.array([target]), estimate, first)
        return float(low[0]), float(high[0])

    def parameter_ends(self, name: str, target: Floats, *, standardised: bool = False) -> tuple[Floats, Floats]:
        """Ends of likelihood intervals of a parameter for critical values of the deviance, shape (Q,).

        `name` is "location" (only where there are blocks), "scale" (never standardised) or "shape", which
        ends at −1, where the parameter space does.
        """
        if name == "location":
            location = 0.0 if self.block_period is None else self.block_period
            return self.level_interval(np.full(target.size, location), target, standardised=standardised)
        if name == "shape":

            def shapes(goal: Floats, a: Rows) -> Floats:
                return self._ends(contour.shape_interest(), goal, self._search_shape)[a]

            first = self._extremes(contour.shape_interest(), target, np.inf) if standardised else None
            return self._both(shapes, self._shape_moments, target, np.array([self._shape]), first)
        interest, search = contour.log_scale_interest(None), self._search_log_scale
        if self.block_period is not None:
            period = np.full(2 * target.size, self.block_period)
            search = partial(tails.block_scale_end, self.standard, self.block_period)
            interest = contour.log_scale_interest(period)
        ends = self.unit * np.exp(self._ends(interest, np.tile(target, 2), search))
        return ends[: target.size], ends[target.size :]

    def endpoint_interval(self, target: float, *, standardised: bool = False) -> tuple[float, float]:
        """Likelihood interval of the end point: at least the largest value, infinite if ξ ≥ 0 is likely."""

        def ends(goal: Floats, a: Rows) -> Floats:
            return np.array([self._endpoint_end((-1.0, 1.0)[i], goal[i : i + 1]) for i in a])

        def moments(points: Floats, a: Rows) -> tuple[Floats, Floats]:
            d = np.maximum((points - self.origin) / self.unit, self.standard.samples.upper[0])
            theta = -1.0 / d[:, None]
            with np.errstate(all="ignore"):
                nu = self.standard.free_nu(np.zeros(a.size, dtype=np.intp), theta)  # type: ignore[union-attr]
                return self._shape_moments(np.nan_to_num(theta / nu, nan=-1.0)[:, 0])

        theta, first = self.standard.fits.theta, np.full(2, np.nan) if standardised else None
        centre = np.where(theta < 0, self.origin - self.unit / np.minimum(theta, -1e-300), np.inf)
        low, high = self._both(ends, moments, np.array([target]), centre, first)
        return float(low[0]), float(high[0])

    def level_root(self, log_period: float, level: float) -> float:
        """Standardised signed root of a level, negative where it lies above the estimate."""
        d = np.array([(level - self.origin) / self.unit])
        points = level_profile(self.standard, _ONLY, d, np.array([log_period]))
        return self._root(points, level > self.level(log_period), log_period + float(self.standard.log_rate[0]))

    def shape_root(self, points: ProfilePoints, shape: float) -> float:
        """Standardised signed root of a shape, at its profile."""
        return self._root(points, shape > self._shape, np.inf)

    def _root(self, points: ProfilePoints, above: bool, s: float) -> float:
        size = np.sqrt(max(float(self._deviance(points)[0][0]), 0.0))
        mean, sd = root_moments(points.theta / points.nu, s, self.standard.samples.n[0])
        return float(((-size if above else size) - mean[0]) / sd[0])

    def _extremes(self, interest: Interest, target: Floats, s: Numbers) -> Floats:
        """Ends on a contour by the standardised root's square; NaN where it is not smooth."""
        side, z = np.repeat([-1.0, 1.0], target.size), np.sqrt(np.tile(target, 2))
        rows = np.zeros(z.size, dtype=np.intp)
        with np.errstate(over="ignore"):
            found, deviance = standardised_extremes(self.standard, rows, interest, side, z, s)
        return np.where(self._edge_is_likely(deviance), np.nan, found)

    def _both(
        self, ends: Ends, moments: Moments, target: Floats, centre: Floats, first: Floats | None, s: Numbers = np.inf
    ) -> tuple[Floats, Floats]:
        """Lower and upper ends for critical values of the deviance.

        Of the standardised root's square where `first` says which of them are known already; `centre` are the
        estimates, one or for all.
        """
        side, both = np.repeat([-1.0, 1.0], target.size), np.tile(target, 2)
        if first is None:
            found = ends(both, np.arange(both.size))
        else:
            about = first, np.broadcast_to(centre, both.shape), side, np.sqrt(both)
            known = self._shape, s, float(self.standard.samples.n[0])
            found = contour.standardised_ends(ends, moments, *about, *known)
        return found[: target.size], found[target.size :]

    def _shape_moments(self, shape: Floats, _: Rows | None = None) -> tuple[Floats, Floats]:
        return root_moments(shape, np.inf, self.standard.samples.n[0])

    def _level_moments(self, levels: Floats, periods: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the signed root at levels of periods, shape (Q,)."""
        d = (levels - self.origin) / self.unit
        start = np.repeat(self.standard.fits.theta, d.size)
        points = level_profile(self.standard, np.zeros(d.size, dtype=np.intp), d, periods, start=start)
        shape = np.nan_to_num(points.theta / points.nu)
        return root_moments(shape, periods + self.standard.log_rate[0], self.standard.samples.n[0])

    def _endpoint_end(self, side: float, goal: Floats) -> float:
        standard, low, high = self.standard, self.standard.samples.lower, self.standard.samples.upper

        def deviance(which: Rows, phi: Floats) -> tuple[Floats, Floats]:
            theta, first, _ = tail_parameter(phi, low, high)
            with np.errstate(all="ignore"):
                value, slope, _ = standard.free(_ONLY, theta[:, None])
            return 2.0 * (value[:, 0] - self._minimum), 2.0 * slope[:, 0] * first

        def level_at(phi: Floats) -> float:
            theta = float(tail_parameter(phi, low, high)[0][0])
            return self.origin + self.unit * (-1.0 / theta if theta < 0 else np.inf)

        with np.errstate(divide="ignore"):
            phi = np.log((1.0 + standard.fits.theta * high) / (1.0 + standard.fits.theta * low))
        if side < 0:
            if self._edge_is_likely(goal)[0] or not np.isfinite(phi[0]):
                return self.origin + self.unit * float(high[0])
            return level_at(find_crossings(deviance, phi, np.array([-0.3]), goal, limit=np.array([-40.0])))
        if phi[0] >= 0 or deviance(_ONLY, np.zeros(1))[0][0] <= goal[0]:
            return np.inf
        start = np.maximum(phi, -40.0)
        return level_at(find_crossings(deviance, start, np.array([0.3]), goal, limit=np.zeros(1)))

    @property
    def _shape(self) -> float:
        return float(self.standard.fits.theta[0] / self.standard.fits.nu[0])

    @property
    def _minimum(self) -> float:
        return float(self.standard.minimum()[0])

    def _deviance(self, points: ProfilePoints) -> tuple[Floats, Floats]:
        return 2.0 * (points.value - self._minimum), 2.0 * points.slope

    def _standard_level(self, log_period: float) -> float:
        omega = (self.standard.log_rate + log_period) / self.standard.fits.nu
        return float(power_ratio(omega, self.standard.fits.theta)[0])

    def _deviance_of_endpoint(self, d: Floats) -> float:
        """Deviance of the end point d, to which that of ever longer periods of the level d tends."""
        if d[0] <= self.standard.samples.upper[0]:
            return np.inf
        value = self.standard.free(_ONLY, -1.0 / d[:, None])[0]
        return float(2.0 * (value[0, 0] - self._minimum))

    def _shortest_beyond(self, d: Floats, target: float) -> float:
        """Shortest likely log period of a level beyond the fitted end point."""

        def deviance(which: Rows, period: Floats) -> tuple[Floats, Floats]:
            return self._deviance(level_profile(self.standard, _ONLY, d, period, in_offset=True))

        far = np.array([_FAR])
        if not deviance(_ONLY, far)[0][0] < target:
            return np.inf
        nearest = np.array([-_FAR if isinstance(self.standard, GevLikelihood) else 0.0])
        return float(find_crossings(deviance, far, np.array([-1.0]), np.array([target]), limit=nearest)[0])

    def _ends(self, interest: Interest, target: Floats, search: Search) -> Floats:
        """Lower ends for the first half of the critical values, upper ends for the other."""
        side = np.repeat([-1.0, 1.0], target.size // 2)
        found = contour.contour_extremes(self.standard, np.zeros(side.size, dtype=np.intp), interest, side, target)
        for i in np.flatnonzero(~np.isfinite(found) | self._edge_is_likely(target)):
            found[i] = search(float(side[i]), float(target[i]))
        return found

    def _edge_is_likely(self, target: Floats) -> Flags:
        """Whether ξ = −1 lies within the likelihood region, so that no smooth contour bounds it."""
        return np.asarray(2.0 * (self.standard.boundary()[0] - self._minimum) <= target)

    def _search_shape(self, side: float, target: float) -> float:
        goal, end = np.array([target]), np.array([-1.0 if side < 0 else np.inf])
        if side < 0 and self._edge_is_likely(goal)[0]:
            return -1.0

        def deviance(which: Rows, xi: Floats) -> tuple[Floats, Floats]:
            return self._deviance(shape_profile(self.standard, _ONLY, xi, self.standard.fits.nu))

        centre = np.array([max(self._shape, -1.0 + 1e-9)])
        return float(find_crossings(deviance, centre, np.array([0.2 * side]), goal, limit=end)[0])

    def _search_log_scale(self, side: float, target: float) -> float:
        standard = self.standard

        def deviance(which: Rows, log_scale: Floats) -> tuple[Floats, Floats]:
            nu = np.exp(-log_scale)
            points = tails.scale_profile(standard, _ONLY, nu, standard.fits.theta)
            # at ξ = −1 the scale is the distance of the end point from the threshold
            farther = standard.boundary() - standard.samples.n * (np.log(standard.samples.upper) + np.log(nu))
            edge = np.where(nu <= 1.0 / standard.samples.upper, farther, np.inf)
            value = np.minimum(points.value, edge)
            slope = np.where(points.value <= edge, -nu * points.slope, np.nan)
            return 2.0 * (value - self._minimum), 2.0 * slope

        centre = -np.log(standard.fits.nu)
        return float(find_crossings(deviance, centre, np.array([0.2 * side]), np.array([target]))[0])
