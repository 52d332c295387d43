"""Likelihood of tails whose scale and shape (and location, of block maxima) are linear in columns.

With rows a, b, c of the design matrices log σ = a·α (or σ = a·α), ξ = b·β and μ = c·γ, the negative log-likelihood is
Σ[log σ + (1 + ξ)w + e^(−w)], w = log(1 + ξ(x − μ)/σ)/ξ, without the last term for excesses (Coles 2001, chapter 6).
Newton's method minimises it in standard units and orthogonal columns. An end of a likelihood interval of h, a level or
a coefficient, is the largest or smallest h with a given deviance D: the Lagrange conditions ∇h = κ∇D.
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
_STEP = 1e-5


@dataclass(frozen=True, eq=False)
class TailRegression:
    """Likelihood of standard coefficients z; the last one is log λ where there is a rate.

    `values`, (n,): (x − origin)/unit, the origin being the threshold (by row, where they differ) or the centre of the
    maxima; `specs`: formula and coding of each parameter; `columns`: its design matrix with orthogonal columns,
    Q = X·turn⁻¹; `total`: N, 0 for maxima; `link`: of the scale.
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

    def natural(self, z: Floats, rows: Mapping[str, Floats]) -> tuple[Floats, Floats, Floats]:
        """μ, σ and ξ at rows of the orthogonal columns, in standard units."""
        parts = np.split(z, np.cumsum([matrix.shape[1] for matrix in rows.values()]))
        found = {name: rows[name] @ part for name, part in zip(rows, parts, strict=False)}
        scale = np.exp(found["scale"]) if self.link == "log" else found["scale"]
        return found.get("location", np.zeros_like(scale)), scale, found["shape"]

    def __call__(self, z: Floats) -> tuple[float, Floats]:
        """Negative log-likelihood, that of the rate included, with its gradient; infinite outside."""
        outside = np.inf, np.full(z.size, np.nan)
        location, scale, shape = self.natural(z, self.columns)
        if not (scale.min() > 0 and scale.max() < np.inf and shape.min() > -1.0):
            return outside
        e = (self.values - location) / scale
        if not (1.0 + shape * e).min() > 0:
            return outside
        w, w_shape, _ = (part[:, 0] for part in law.exponential_scale_partials(e[:, None], shape))
        last = np.exp(-w) if "location" in self.columns else 0.0 * w
        value = float((np.log(scale) + (1.0 + shape) * w + last).sum())
        if not np.isfinite(value):
            return outside
        in_w, in_e = 1.0 + shape - last, 1.0 / (1.0 + shape * e)
        in_log_scale = 1.0 - in_w * e * in_e
        in_scale = in_log_scale if self.link == "log" else in_log_scale / scale
        by_row = {"location": -in_w * in_e / scale, "scale": in_scale, "shape": w + in_w * w_shape}
        gradient = [matrix.T @ by_row[name] for name, matrix in self.columns.items()]
        if self.has_rate:
            k, rate = self.values.size, np.exp(z[-1])
            if rate >= 1.0:
                return outside
            value -= k * z[-1] + (self.total - k) * np.log1p(-rate)
            gradient.append(np.array([(self.total - k) * rate / (1.0 - rate) - k]))
        return value, np.concatenate(gradient)

    def level(self, rows: Mapping[str, Floats], m: float) -> Smooth:
        """The level of m at one row of covariates, less the origin, in standard units, as a function of z."""
        maxima = "location" in rows
        period = -np.log(-np.log1p(-1.0 / m)) if maxima else np.log(m)
        known = 0.0 if self.has_rate or maxima else float(np.log(self.values.size / self.total))

        def at(z: Floats) -> tuple[float, Floats]:
            location, scale, shape = self.natural(z, rows)
            s = period + (z[-1:] if self.has_rate else known)
            ratio, in_shape = law.power_ratio(s, shape), scale * law.power_ratio_shape_derivative(s, shape)
            in_scale = scale * ratio if self.link == "log" else ratio
            by_row = {"location": np.ones(1), "scale": in_scale, "shape": in_shape}
            gradient = [matrix.T @ by_row[name] for name, matrix in rows.items()]
            if self.has_rate:
                gradient.append(scale * np.exp(shape * s))
            return float((location + scale * ratio)[0]), np.concatenate(gradient)

        return at

    def coefficients(self) -> tuple[Floats, Floats]:
        """Matrix and shift that make the coefficients of the formulas from z; shapes (p, dim), (p,)."""
        from scipy.linalg import block_diag

        scale = (1.0, float(np.log(self.unit))) if self.link == "log" else (self.unit, 0.0)
        moved = {"location": (self.unit, float(np.mean(self.origin))), "scale": scale, "shape": (1.0, 0.0)}
        back = {name: np.linalg.inv(turn) for name, turn in self.turns.items()}
        matrix = block_diag(*(moved[name][0] * inverse for name, inverse in back.items()))
        shift = [moved[name][1] * back[name] @ self.columns[name].mean(axis=0) for name in back]
        return np.hstack([matrix, np.zeros((len(matrix), int(self.has_rate)))]), np.concatenate(shift)

    def fitted(self) -> tuple[Floats, float] | None:
        """The best z and its value, from the plain fit and from ξ = 0; None where there is no minimum."""
        y = self.values
        starts: list[Any]
        if "location" in self.columns:
            scale = float(np.sqrt(6.0) / np.pi * y.std())
            starts = [scipy_backend.gev_mle(y).params, [y.mean() - np.euler_gamma * scale, scale, 0.0]]
        else:
            starts = [scipy_backend.gpd_mle(y).params, [y.mean(), 0.0]]
        found = []
        for start in starts:
            of = dict(zip(self.columns, start, strict=True))
            of["scale"] = np.log(of["scale"]) if self.link == "log" else of["scale"]
            z = [of[name] * matrix.mean(axis=0) for name, matrix in self.columns.items()]
            rate = [np.array([np.log(y.size / self.total)])] if self.has_rate else []
            found.append(minimise(self, np.concatenate([*z, *rate])))
        return min((one for one in found if one), key=lambda one: one[1], default=None)


def hessian(smooth: Smooth, z: Floats) -> Floats:
    """Second derivatives by central differences of the gradient."""
    steps = _STEP * np.eye(z.size)
    rows = np.stack([smooth(z + step)[1] - smooth(z - step)[1] for step in steps]) / (2.0 * _STEP)
    return np.asarray(0.5 * (rows + rows.T))


@np.errstate(all="ignore")  # steps may go where nothing is finite: they are shortened
def minimise(smooth: Smooth, z: Floats) -> tuple[Floats, float] | None:
    """Where Newton's method ends, and the value there; None where that is no minimum."""
    value, gradient = smooth(z)
    for _ in range(200):
        if not np.isfinite(value):
            return None
        curved = hessian(smooth, z)
        if not np.isfinite(curved).all():
            return None
        sizes, axes = np.linalg.eigh(curved)
        step = -axes @ ((axes.T @ gradient) / np.maximum(np.abs(sizes), 1e-9 * np.abs(sizes).max()))
        expected = -float(gradient @ step)
        share = 1.0
        while not (trial := smooth(z + share * step))[0] < value - 1e-4 * share * expected:
            share *= 0.5
            if share < 1e-10:  # nothing lower along the step: rounding, at a minimum
                return (z, value) if sizes[0] > 0 and expected < 1e-9 * max(1.0, abs(value)) else None
        z, (value, gradient) = z + share * step, trial
    return None


@np.errstate(all="ignore")
def likelihood_end(nll: Smooth, best: Floats, interest: Smooth, side: float, critical: float, stages: int = 4) -> float:
    """Largest (side 1) or smallest (−1) interest with a deviance up to the critical value.

    Newton's method on the Lagrange conditions, in stages of √D, each from the one before; where it fails with more
    stages, and NaN in the end.
    """
    lowest, slope = nll(best)[0], interest(best)[1]
    way = side * np.linalg.solve(hessian(nll, best), slope)
    z = best + way * np.sqrt(critical / abs(slope @ way)) / stages
    before = best
    for stage in range(1, stages + 1):
        multiplier, step = np.nan, np.full(best.size + 1, np.inf)
        for _ in range(30):
            value, gradient = nll(z)
            slope = side * interest(z)[1]
            if np.isnan(multiplier):
                multiplier = float(slope @ gradient / (gradient @ gradient))
            drop = 0.5 * critical * (stage / stages) ** 2
            off = np.append(slope - multiplier * gradient, value - lowest - drop)
            curved = side * hessian(interest, z) - multiplier * hessian(nll, z)
            matrix = np.block([[curved, -gradient[:, None]], [gradient[None, :], np.zeros((1, 1))]])
            if not (np.isfinite(off).all() and np.isfinite(matrix).all()):
                break
            step = -np.linalg.lstsq(matrix, off, rcond=None)[0]
            z, multiplier = z + step[:-1], multiplier + float(step[-1])
            if np.abs(step[:-1]).max() < 1e-8:
                break
        done = np.isfinite(nll(z)[0]) and multiplier > 0 and np.abs(step[:-1]).max() < 1e-8
        if not done:
            return likelihood_end(nll, best, interest, side, critical, 4 * stages) if stages < 50 else np.nan
        before, z = z, z + (z - before)
    return interest(before)[0]
