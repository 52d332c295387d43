"""Profile likelihood of a return level, of the shape and of the scale, many problems at once.

Everything here works in the standard units of a likelihood surface (`gpd_surface`, `gev_surface`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fairstats.numerics.evt.minimise import minimise_over_tail, newton_in_bracket

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.intp]

__all__ = ["ProfilePoints", "Surface", "level_profile", "scale_profile", "shape_profile"]


class Surface(Protocol):
    """A likelihood of P samples in standard units, parametrised by θ = ξ/σ and ν = 1/σ."""

    @property
    def lower(self) -> Floats:
        """Smallest standardised value (0 for excesses), shape (P,)."""
        ...

    @property
    def upper(self) -> Floats:
        """Largest standardised value."""
        ...

    @property
    def n(self) -> Floats:
        """Values in each sample."""
        ...

    @property
    def theta(self) -> Floats:
        """θ at the maximum."""
        ...

    @property
    def nu(self) -> Floats:
        """ν at the maximum."""
        ...

    @property
    def log_rate(self) -> Floats:
        """ℓ at the maximum."""
        ...

    def minimum(self) -> Floats:
        """Lowest negative log-likelihood, shape (P,)."""
        ...

    def boundary(self) -> Floats:
        """Lowest negative log-likelihood with ξ = −1, shape (P,)."""
        ...

    def free(self, rows: Rows, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Profile in θ with slope and curvature."""
        ...

    def partials(self, rows: Rows, theta: Floats, nu: Floats) -> tuple[Floats, ...]:
        """F, F_θ, F_ν, F_θθ, F_θν, F_νν; constants of the rate left out."""
        ...

    def level(self, rows: Rows, theta: Floats, d: Floats, offset: Floats) -> tuple[Floats, ...]:
        """Profile in θ at a return level: value, slope, curvature, slopes in d and in the offset, ν."""
        ...

    def whole(self, rows: Rows, theta: Floats, nu: Floats, ell: Floats) -> tuple[Floats, Floats, Floats]:
        """F, gradient and Hessian in (θ, ν, ℓ), nothing profiled."""
        ...

    def inside(self, rows: Rows, ell: Floats) -> NDArray[np.bool_]:
        """Whether ℓ is possible."""
        ...

    def edge(self, rows: Rows, d: Floats, offset: Floats) -> Floats:
        """Value at ξ = −1 with the end point at the largest value."""
        ...


@dataclass(frozen=True)
class ProfilePoints:
    """Negative log-likelihood minimised over all but one parameter, at Q points.

    Attributes
    ----------
    value : ndarray of float, shape (Q,)
        Negative log-likelihood.
    slope : ndarray of float, shape (Q,)
        Its derivative in the parameter of interest; NaN at the edge of the parameter space.
    theta, nu : ndarray of float, shape (Q,)
        Where the minimum lies.
    """

    value: Floats
    slope: Floats
    theta: Floats
    nu: Floats


def level_profile(
    surface: Surface,
    rows: Rows,
    d: Floats,
    offset: Floats,
    *,
    start: Floats | None = None,
    in_offset: bool = False,
) -> ProfilePoints:
    """Profile of the return level at `d` (standard units) for the period whose logarithm is `offset`.

    Parameters
    ----------
    surface : Surface
        Likelihood of P samples.
    rows : ndarray of int, shape (Q,)
        Which sample each point belongs to.
    d, offset : ndarray of float, shape (Q,)
        Points.
    start : ndarray of float, shape (Q,), optional
        θ near the solution.
    in_offset : bool
        Give the slope in the offset (for exceedance probabilities) rather than in d.
    """

    def objective(which: Rows, theta: Floats) -> tuple[Floats, Floats, Floats]:
        with np.errstate(all="ignore"):
            value, slope, curvature, *_ = surface.level(rows[which], theta, d[which], offset[which])
        return value, slope, curvature

    low, high = np.minimum(surface.lower[rows], d), np.maximum(surface.upper[rows], d)
    found = minimise_over_tail(objective, low, high, np.log(surface.n[rows]), start)
    theta = np.where(np.isfinite(found.theta), found.theta, 0.0)
    with np.errstate(all="ignore"):
        value, _, _, in_d, in_log_m, nu = (a[:, 0] for a in surface.level(rows, theta[:, None], d, offset))
    edge = surface.edge(rows, d, offset)
    at_edge = ~(found.value <= edge)
    at_edge &= np.isfinite(edge) | ~np.isfinite(found.value)
    top = surface.upper[rows]
    return ProfilePoints(
        np.where(at_edge, edge, value),
        np.where(at_edge, np.nan, in_log_m if in_offset else in_d),
        np.where(at_edge, -1.0 / top, theta),
        np.where(at_edge, 1.0 / top, nu),
    )


def shape_profile(surface: Surface, rows: Rows, shape: Floats, start: Floats) -> ProfilePoints:
    """Profile of the shape ξ > −1: for fixed ξ one minimum along θ = ξν, from ν = `start`."""

    def objective(which: Rows, log_nu: Floats) -> tuple[Floats, Floats, Floats]:
        nu, xi = np.exp(log_nu), shape[which, None]
        with np.errstate(all="ignore"):
            f, f_t, f_v, f_tt, f_tv, f_vv = surface.partials(rows[which], xi * nu, nu)
        along = nu * (f_v + xi * f_t)
        return f, along, nu**2 * (f_vv + 2.0 * xi * f_tv + xi**2 * f_tt) + along

    end = np.where(shape < 0, -shape * surface.upper[rows], -shape * surface.lower[rows])
    with np.errstate(divide="ignore"):
        log_cap = np.minimum(-np.log(end), 700.0)  # 1 + θy must stay positive
    start_log = np.minimum(np.log(start), log_cap - 0.1)
    log_nu = newton_in_bracket(
        objective, np.arange(rows.size), start_log, np.minimum(start_log, log_cap) - 30.0, log_cap
    )
    nu = np.exp(log_nu)[:, None]
    f, f_t, *_ = surface.partials(rows, shape[:, None] * nu, nu)
    return ProfilePoints(f[:, 0], (f_t * nu)[:, 0], (shape[:, None] * nu)[:, 0], nu[:, 0])


def scale_profile(surface: Surface, rows: Rows, nu: Floats, start: Floats) -> ProfilePoints:
    """Profile of ν = 1/σ (generalised Pareto only); the slope is in ν."""

    def objective(which: Rows, theta: Floats) -> tuple[Floats, Floats, Floats]:
        with np.errstate(all="ignore"):
            f, f_t, _, f_tt, _, _ = surface.partials(
                rows[which], theta, np.broadcast_to(nu[which, None], theta.shape)
            )
        return f, f_t, f_tt

    low, high = surface.lower[rows], surface.upper[rows]
    found = minimise_over_tail(objective, low, high, np.log(surface.n[rows]), start)
    theta = np.where(np.isfinite(found.theta), found.theta, 0.0)
    f_v = surface.partials(rows, theta[:, None], nu[:, None])[2][:, 0]
    return ProfilePoints(found.value, np.where(np.isfinite(found.value), f_v, np.nan), theta, nu)
