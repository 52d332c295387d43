"""The likelihood of one fit, in the units of the data: intervals and deviances of everything that it says.

A period of m observations (or m blocks, for block maxima) has the log period τ: log m for exceedances, and
−log(−log(1 − 1/m)) for block maxima. The location of block maxima is the level with τ = 0, that of a point
process the level with τ = log(block size).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairstats.numerics.evt.contour import contour_extremes
from fairstats.numerics.evt.crossing import find_crossings
from fairstats.numerics.evt.gev import GevSamples
from fairstats.numerics.evt.gev_surface import GevSurface
from fairstats.numerics.evt.goals import log_scale_goal, shape_goal
from fairstats.numerics.evt.gpd import GpdSamples
from fairstats.numerics.evt.gpd_surface import GpdSurface, RateTerm
from fairstats.numerics.evt.level_interval import level_ends
from fairstats.numerics.evt.minimise import tail_parameter
from fairstats.numerics.evt.profile import level_profile, scale_profile, shape_profile
from fairstats.numerics.evt.scale_search import search_block_scale
from fairstats.numerics.evt.stretch import power_ratio

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fairstats.numerics.evt.contour import Goal

    Floats = NDArray[np.float64]
    Rows = NDArray[np.intp]
    #: (side, critical value) → the end of the interval on that side.
    Search = Callable[[float, float], float]

__all__ = ["TailLikelihood"]

#: Log period of a probability so small that only its limit, 0, matters.
_FAR = 60.0


@dataclass(frozen=True)
class TailLikelihood:
    """Profile likelihood of one sample.

    Attributes
    ----------
    surface : GpdSurface or GevSurface
        Likelihood in standard units, of one sample.
    origin, unit : float
        A value x has the standard coordinate (x − origin)/unit.
    block_period : float or None
        τ of the blocks whose location and scale are parameters; None where σ is that of the excesses.
    """

    surface: GpdSurface | GevSurface
    origin: float
    unit: float
    block_period: float | None

    @classmethod
    def of_excesses(
        cls, excesses: Floats, threshold: float, total: int, rate_term: RateTerm, block_size: float | None
    ) -> TailLikelihood:
        """Of excesses over a threshold; `block_size` for a point process."""
        samples = GpdSamples.from_excesses(excesses[None, :])
        surface = GpdSurface.from_samples(samples, np.array([float(total)]), rate_term)
        period = None if block_size is None else float(np.log(block_size))
        return cls(surface, threshold, float(samples.unit[0]), period)

    @classmethod
    def of_maxima(cls, maxima: Floats) -> TailLikelihood:
        """Of block maxima."""
        samples = GevSamples.from_maxima(maxima[None, :])
        return cls(GevSurface.from_samples(samples), float(samples.centre[0]), float(samples.unit[0]), 0.0)

    @property
    def shape(self) -> float:
        """ξ at the maximum."""
        return float(self.surface.theta[0] / self.surface.nu[0])

    def level(self, log_period: float) -> float:
        """Level of a log period at the maximum of the likelihood."""
        return self.origin + self.unit * self._standard_level(log_period)

    def level_interval(self, log_period: Floats, target: Floats) -> tuple[Floats, Floats]:
        """Likelihood intervals of levels, one for each log period and critical value; shape (Q,)."""
        rows = np.zeros(log_period.size, dtype=np.intp)
        d = np.array([self._standard_level(t) for t in log_period])
        low, high = level_ends(self.surface, rows, d, log_period, target)
        return self.origin + self.unit * low, self.origin + self.unit * high

    def level_deviance(self, log_period: float, levels: Floats) -> Floats:
        """Twice the fall of the profile log-likelihood at given levels, shape of `levels`."""
        d = (levels - self.origin) / self.unit
        rows = np.zeros(d.size, dtype=np.intp)
        points = level_profile(self.surface, rows, d, np.full(d.size, log_period))
        return np.asarray(np.maximum(2.0 * (points.value - self.surface.minimum()[0]), 0.0))

    def log_period_interval(self, level: float, log_period: float, target: float) -> tuple[float, float]:
        """Likelihood interval of the log period that a level belongs to.

        Parameters
        ----------
        level : float
        log_period : float
            Its estimate; infinite where the level lies beyond the fitted end point.
        target : float
            Critical value of the deviance.

        Returns
        -------
        shortest, longest : float
            Infinite where an end point below the level is likely.
        """
        d = np.array([(level - self.origin) / self.unit])
        goal = np.array([target])
        unreachable = self._deviance_of_endpoint(d) <= target
        if not np.isfinite(log_period):
            return (self._shortest_beyond(d, target) if unreachable else np.inf), np.inf
        rows = np.zeros(1, dtype=np.intp)
        low, high = level_ends(self.surface, rows, d, np.array([log_period]), goal, in_offset=True)
        return float(low[0]), np.inf if unreachable else float(high[0])

    def _deviance_of_endpoint(self, d: Floats) -> float:
        """Deviance of the end point d, to which that of ever longer periods of the level d tends."""
        if d[0] <= self.surface.upper[0]:
            return np.inf
        value = self.surface.free(np.zeros(1, dtype=np.intp), -1.0 / d[:, None])[0]
        return float(2.0 * (value[0, 0] - self.surface.minimum()[0]))

    def _shortest_beyond(self, d: Floats, target: float) -> float:
        """Shortest likely log period of a level beyond the fitted end point."""
        rows = np.zeros(1, dtype=np.intp)

        def deviance(which: Rows, period: Floats) -> tuple[Floats, Floats]:
            points = level_profile(self.surface, rows[which], d[which], period, in_offset=True)
            return 2.0 * (points.value - self.surface.minimum()[0]), 2.0 * points.slope

        far = np.array([_FAR])
        if not deviance(rows, far)[0][0] < target:
            return np.inf
        nearest = np.array([-_FAR if isinstance(self.surface, GevSurface) else 0.0])
        return float(find_crossings(deviance, far, np.array([-1.0]), np.array([target]), limit=nearest)[0])

    def parameter_ends(self, name: str, target: Floats) -> tuple[Floats, Floats]:
        """Ends of likelihood intervals of a parameter for several critical values.

        Parameters
        ----------
        name : {"location", "scale", "shape"}
            The location only where there are blocks.
        target : ndarray of float, shape (Q,)
            Critical values of the deviance.

        Returns
        -------
        low, high : ndarray of float, shape (Q,)
            The shape ends at −1, where the parameter space does.
        """
        if name == "location":
            location = 0.0 if self.block_period is None else self.block_period
            return self.level_interval(np.full(target.size, location), target)
        if name == "shape":
            return self._ends(shape_goal(), target, self._search_shape)
        period = None if self.block_period is None else np.full(2 * target.size, self.block_period)
        low, high = self._ends(log_scale_goal(period), target, self._search_log_scale)
        return self.unit * np.exp(low), self.unit * np.exp(high)

    def endpoint_interval(self, target: float) -> tuple[float, float]:
        """Likelihood interval of the end point: at least the largest value, infinite if ξ ≥ 0 is likely."""
        surface, top = self.surface, self.surface.upper
        low, high = surface.lower, surface.upper
        rows = np.zeros(1, dtype=np.intp)
        minimum = float(surface.minimum()[0])
        edge = float(surface.boundary()[0])

        def deviance(which: Rows, phi: Floats) -> tuple[Floats, Floats]:
            theta, first, _ = tail_parameter(phi, low[0], high[0])
            with np.errstate(all="ignore"):
                value, slope, _ = surface.free(np.zeros(phi.size, dtype=np.intp), theta[:, None])
            return 2.0 * (value[:, 0] - minimum), 2.0 * slope[:, 0] * first

        with np.errstate(divide="ignore"):
            phi = np.log((1.0 + surface.theta * high) / (1.0 + surface.theta * low))
        goal = np.array([target])
        nearest = float(top[0])
        if 2.0 * (edge - minimum) > target and np.isfinite(phi[0]):
            left = find_crossings(deviance, phi, np.array([-0.3]), goal, limit=np.array([-40.0]))
            nearest = self._endpoint_at(float(left[0]))
        at_exponential = deviance(rows, np.zeros(1))[0][0]
        if phi[0] >= 0 or at_exponential <= target:
            return self.origin + self.unit * nearest, np.inf
        start = np.maximum(phi, -40.0)
        right = find_crossings(deviance, start, np.array([0.3]), goal, limit=np.array([0.0]))
        return self.origin + self.unit * nearest, self.origin + self.unit * self._endpoint_at(float(right[0]))

    def _endpoint_at(self, phi: float) -> float:
        theta = tail_parameter(np.array([phi]), self.surface.lower, self.surface.upper)[0][0]
        return -1.0 / float(theta) if theta < 0 else np.inf

    def _standard_level(self, log_period: float) -> float:
        surface = self.surface
        omega = (surface.log_rate + log_period) / surface.nu
        return float(power_ratio(omega, surface.theta)[0])

    def _ends(self, goal: Goal, target: Floats, search: Search) -> tuple[Floats, Floats]:
        q = target.size
        side = np.repeat([-1.0, 1.0], q)
        both = np.tile(target, 2)
        found = contour_extremes(self.surface, np.zeros(2 * q, dtype=np.intp), goal, side, both)
        for i in np.flatnonzero(~np.isfinite(found) | self._edge_is_likely(both)):
            found[i] = search(float(side[i]), float(both[i]))
        return found[:q], found[q:]

    def _edge_is_likely(self, target: Floats) -> NDArray[np.bool_]:
        """Whether ξ = −1 lies within the likelihood region, so that no smooth contour bounds it."""
        return np.asarray(2.0 * (self.surface.boundary()[0] - self.surface.minimum()[0]) <= target)

    def _search_shape(self, side: float, target: float) -> float:
        surface = self.surface
        constant = self._constant()
        if side < 0 and bool(self._edge_is_likely(np.array([target]))[0]):
            return -1.0
        start = surface.nu.copy()

        def deviance(which: Rows, xi: Floats) -> tuple[Floats, Floats]:
            points = shape_profile(surface, np.zeros(xi.size, dtype=np.intp), xi, np.full(xi.size, start[0]))
            return 2.0 * (points.value + constant - surface.minimum()[0]), 2.0 * points.slope

        end = -1.0 if side < 0 else np.inf
        centre = max(self.shape, -1.0 + 1e-9)
        return float(
            find_crossings(
                deviance,
                np.array([centre]),
                np.array([0.2 * side]),
                np.array([target]),
                limit=np.array([end]),
            )[0]
        )

    def _search_log_scale(self, side: float, target: float) -> float:
        surface = self.surface
        if self.block_period is not None:
            return search_block_scale(surface, self.block_period, side, target)
        constant = self._constant()

        def deviance(which: Rows, log_scale: Floats) -> tuple[Floats, Floats]:
            nu = np.exp(-log_scale)
            rows = np.zeros(nu.size, dtype=np.intp)
            points = scale_profile(surface, rows, nu, np.full(nu.size, surface.theta[0]))
            # at ξ = −1 the scale is the distance of the end point from the threshold
            edge = np.where(nu <= 1.0 / surface.upper[0], -surface.n[0] * np.log(nu), np.inf)
            value = np.minimum(points.value, edge)
            slope = np.where(points.value <= edge, -nu * points.slope, np.nan)
            return 2.0 * (value + constant - surface.minimum()[0]), 2.0 * slope

        centre = -np.log(surface.nu)
        return float(find_crossings(deviance, centre, np.array([0.2 * side]), np.array([target]))[0])

    def _constant(self) -> float:
        """The rate's share of the negative log-likelihood, which profiles of σ and ξ leave out."""
        surface = self.surface
        if isinstance(surface, GevSurface):
            return 0.0
        excesses = surface.fits.nll[0] - surface.n[0] * np.log(surface.samples.unit[0])
        return float(surface.minimum()[0] - excesses)
