"""The generalised Pareto distribution of rounded values: each value is known to its cell of the grid only.

A cell [a, b) of excesses has the likelihood S(a) − S(b), with S the survival function (Heitjan 1989). With q_j =
ν·(v(b_j) − v(a_j)) and c_j values in cell j the negative log-likelihood is Σ_j c_j·[ν·v(a_j) − log(1 − e^(−q_j))],
convex in ν as that of unrounded values is, and bounded: the end point may lie within the highest cell, never below it.
So the profiles, contours and contrasts of the unrounded likelihood serve here, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fairstats.numerics.evt.distributions import Flags, Floats, Rows, Triple, exponential_scale_partials
from fairstats.numerics.evt.gpd import GpdLikelihood, RateTerm
from fairstats.numerics.evt.likelihood import REGULAR_ABOVE, SampleFits, Samples, along_theta
from fairstats.numerics.evt.optimise import minimise_convex, minimise_over_tail

#: Fewer distinct values above the threshold than this say too little of a shape: intervals cover .77 to .92.
LEAST_CELLS = 4
#: Values are on a grid where each is within this share of its width.
OFF_GRID = 1e-6
#: Cells beyond which a grid is no rounding that matters, elements handled at a time, and where log(1 − e^(−q)) is 0.
_MOST_CELLS, _CHUNK, _NO_UPPER_END = 100_000, 1 << 15, 700.0


def grid_width(values: Floats) -> float:
    """Width of the grid of the values: the largest that all differences are multiples of; 0 for none.

    The common divisor of the differences by Euclid's algorithm, in floating point; the answer is checked.
    """
    distinct = np.unique(values)
    steps = np.diff(distinct)
    noise = 8.0 * np.finfo(float).eps * max(1.0, float(np.abs(distinct).max(initial=0.0)))
    steps = steps[steps > noise]
    if not steps.size:
        return 0.0
    width = float(steps.min())
    for step in np.unique(steps):
        a, b = float(step), width
        while b > 1e3 * noise:
            a, b = b, abs(a - b * round(a / b))
        width = a
        if width * _MOST_CELLS < distinct[-1] - distinct[0]:
            return 0.0
    cells = (distinct - distinct[0]) / width
    if cells[-1] > _MOST_CELLS or np.abs(cells - np.round(cells)).max() > max(OFF_GRID, noise / width):
        return 0.0
    # the divisor, without the rounding of its smallest multiple
    return float((distinct[-1] - distinct[0]) / np.round(cells[-1]))


def cells_of(values: Floats, threshold: float, width: float) -> tuple[Floats, Floats]:
    """Lower ends of the cells above the threshold, as multiples of the width, and the values in each."""
    place, count = np.unique(np.round((values - threshold) / width - 0.5), return_counts=True)
    return place, count.astype(np.float64)


@dataclass(frozen=True)
class GridLikelihood(GpdLikelihood):
    """Likelihood of P samples of rounded excesses and of their numbers, in units of the width of the grid.

    `samples.y`, shape (1, J) or (P, J): lower ends of the cells, in widths above the threshold, common to all
    samples or of each; `counts`, shape (P, J): values in each.
    """

    counts: Floats

    @classmethod
    def of(cls, values: Floats, threshold: float, width: float, total: float, rate_term: RateTerm) -> GridLikelihood:
        """Fit values above a threshold that is half a width below the lowest of them."""
        place, count = cells_of(values, threshold, width)
        return cls.of_counts(place, count[None, :], width, total, rate_term)

    @classmethod
    def of_counts(
        cls, place: Floats, counts: Floats, width: float, total: float, rate_term: RateTerm
    ) -> GridLikelihood:
        """Fit P samples that are counted in cells, whose lower ends are `place`, shape (J,) or (P, J)."""
        zero = np.zeros(counts.shape[0])
        upper = np.maximum(np.where(counts > 0, place, 0.0).max(axis=1), 0.5)
        samples = Samples(np.atleast_2d(place), counts.sum(axis=1), zero, zero + width, zero, upper)
        unknown = np.full((zero.size, 2, 2), np.nan)
        empty = SampleFits(unknown[:, 0], zero, zero > 0, zero > 0, zero, zero + 1.0, unknown)
        start = cls(samples, empty, zero + total, rate_term, counts)
        return replace(start, fits=start._fitted())

    def _fitted(self) -> SampleFits:
        """Best points of the region ξ ≥ −1; standard errors for ξ > −1/2."""
        samples, rows = self.samples, np.arange(self.total.size)
        theta = np.nan_to_num(minimise_over_tail(self.free, samples.lower, samples.upper, np.log(samples.n))[0])
        nu = self.free_nu(rows, theta[:, None])[:, 0]
        f, _, _, f_tt, f_tv, f_vv = (a[:, 0] for a in self._excesses(rows, theta[:, None], nu[:, None]))
        xi, unit = theta / nu, samples.unit
        regular = xi > REGULAR_ABOVE
        # (σ, ξ) = (unit/ν, θ/ν)
        partials = np.zeros_like(nu), -unit / nu**2, 1.0 / nu, -theta / nu**2
        jacobian, information = (
            np.stack(entries, -1).reshape(-1, 2, 2)[regular] for entries in (partials, (f_tt, f_tv, f_tv, f_vv))
        )
        covariance = np.full((rows.size, 2, 2), np.nan)
        covariance[regular] = jacobian @ np.linalg.inv(information) @ np.swapaxes(jacobian, 1, 2)
        params = np.stack([unit / nu, xi], -1)
        return SampleFits(params, f, xi <= -1.0 + 1e-9, xi > np.inf, theta, nu, covariance)

    def minimum(self) -> Floats:
        """Lowest negative log-likelihood, that of the rate included; shape (P,)."""
        return self.fits.nll + self._lowest_of_rate()

    def boundary(self) -> Floats:
        """Infinite: along ξ = −1 the likelihood is smooth, and profiles follow it."""
        return np.full(self.total.size, np.inf)

    def edge(self, rows: Rows, d: Floats, offset: Floats) -> Floats:
        """Infinite, as `boundary`."""
        return np.full(rows.size, np.inf)

    def free(self, rows: Rows, theta: Floats) -> Triple:
        """Profile in θ alone, with slope and curvature; the rate at its own maximum."""
        nu = self.free_nu(rows, theta)
        f, *rest = self.partials(rows, theta, nu)
        return f, *along_theta(nu <= -theta, *rest)

    def prepared(self, rows: Rows, theta: Floats) -> Triple:
        """At the lower ends of the cells v, their lengths in it, the values in them; shape (Q, K, J)."""
        parts = [self._ends(rows[part], theta[part]) for part in self._chunks(theta)]
        a, step = (np.concatenate([part[i][0] for part in parts]) for i in (0, 1))
        return a, step, np.broadcast_to(self.counts[rows][:, None, :], a.shape)

    def best_nu(self, rows: Rows, data: Triple, v: Floats, offset: Floats) -> Floats:
        """ν that minimises at fixed θ where ℓ = νv − offset."""
        n, total = self.samples.n[rows, None], self.total[rows, None]
        barrier = (v > 0) & (self.rate_term == "binomial")
        cap = np.where(barrier, offset / np.where(barrier, v, 1.0), np.inf)
        in_nu = _cells_in_nu(data)

        def derivatives(nu: Floats) -> tuple[Floats, Floats]:
            slope, curvature = in_nu(nu)
            _, r1, r2 = self._rate(nu * v - offset, n, total)
            return slope + r1 * v, curvature + r2 * v**2

        return minimise_convex(derivatives, np.minimum(self._start(data), 0.5 * cap), cap)

    def free_nu(self, rows: Rows, theta: Floats) -> Floats:
        """ν that minimises at fixed θ, at least −θ, where ξ = −1."""
        data = self.prepared(rows, theta)
        return np.maximum(minimise_convex(_cells_in_nu(data), self._start(data)), -theta)

    def _start(self, data: Triple) -> Floats:
        """The reciprocal of the mean of v at the middles of the cells."""
        a, step, c = data
        return np.asarray(c.sum(-1) / (c * (a + 0.5 * np.minimum(step, a + 1.0))).sum(-1))

    def _ends(self, rows: Rows, theta: Floats) -> tuple[Triple, Triple, Flags]:
        """At the cells v with derivatives, the differences to the upper ends, and where these exist.

        An upper end beyond the end point has survival probability 0, and cells that begin there are empty.
        """
        y, t = self.samples.y, theta[..., None]
        y = (y if y.shape[0] == 1 else y[rows])[:, None, :]
        exists = 1.0 + t * (y + 1.0) > 1e-12
        start = np.where(1.0 + t * y > 0, y, 0.0)
        lower = exponential_scale_partials(start, theta)
        upper = exponential_scale_partials(np.where(exists, y + 1.0, start), theta)
        step, first, second = (np.where(exists, u - w, 0.0) for u, w in zip(upper, lower, strict=True))
        return lower, (np.where(exists, step, np.inf), first, second), exists

    def _chunks(self, theta: Floats) -> list[slice]:
        """Problems at a time whose cells fit the processor's cache."""
        size = max(1, _CHUNK // (theta.shape[1] * self.samples.y.shape[1]))
        return [slice(start, start + size) for start in range(0, theta.shape[0], size)]

    def _excesses(self, rows: Rows, theta: Floats, nu: Floats, data: Triple | None = None) -> tuple[Floats, ...]:
        """F of the cells, F_θ, F_ν, F_θθ, F_θν, F_νν; shape (Q, K)."""
        parts = [self._some_cells(rows[part], theta[part], nu[part]) for part in self._chunks(theta)]
        return tuple(map(np.concatenate, zip(*parts, strict=True)))

    def _some_cells(self, rows: Rows, theta: Floats, nu: Floats) -> tuple[Floats, ...]:
        (a, a1, a2), (step, s1, s2), exists = self._ends(rows, theta)
        c, at = self.counts[rows][:, None, :], nu[..., None]
        g, g1, g2 = _log_mass(at * step)
        length = np.where(exists, step, 0.0)
        first = at * a1 - g1 * at * s1, a - g1 * length
        second = at * a2 - g2 * (at * s1) ** 2 - g1 * at * s2, a1 - g2 * at * s1 * length - g1 * s1, -g2 * length**2
        return tuple((c * term).sum(-1) for term in (at * a - g, *first, *second))


def _cells_in_nu(data: Triple) -> Callable[[Floats], tuple[Floats, Floats]]:
    """First and second derivative of F in ν, at θ as it was prepared."""
    a, step, c = data
    length = np.where(np.isfinite(step), step, 0.0)
    square = length**2

    def derivatives(nu: Floats) -> tuple[Floats, Floats]:
        g = _odds(nu[..., None] * step)
        return (c * (a - g * length)).sum(-1), (c * (g * (1.0 + g)) * square).sum(-1)

    return derivatives


def _odds(q: Floats) -> Floats:
    """1/(e^q − 1), the slope of log(1 − e^(−q))."""
    return np.where(q >= _NO_UPPER_END, 0.0, 1.0 / np.expm1(np.minimum(q, _NO_UPPER_END)))


def _log_mass(q: Floats) -> Triple:
    """log(1 − e^(−q)) with two derivatives; 0 for cells without an upper end (q = ∞)."""
    first = _odds(q)
    value = np.where(q >= _NO_UPPER_END, 0.0, np.log(-np.expm1(-np.minimum(q, _NO_UPPER_END))))
    return value, first, -first * (1.0 + first)
