"""The generalised Pareto distribution of rounded values.

Each value is known to its cell of the grid only.

A cell [a, b) of excesses has the likelihood S(a) − S(b), with S the survival function (Heitjan
1989). With q_j = ν·(v(b_j) − v(a_j)) and c_j values in cell j the negative log-likelihood is Σ_j
c_j·[ν·v(a_j) − log(1 − e^(−q_j))], convex in ν as that of unrounded values is, and bounded: the end
point may lie within the highest cell, never below it. So the profiles, contours and contrasts of
the unrounded likelihood serve here, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fairstats.numerics.evt.distributions import (
    Flags,
    Floats,
    Rows,
    Triple,
    exponential_scale_partials,
)
from fairstats.numerics.evt.gpd import GpdLikelihood, RateTerm
from fairstats.numerics.evt.likelihood import REGULAR_ABOVE, SampleFits, Samples, along_theta
from fairstats.numerics.evt.optimise import CONVEX_TOLERANCE, minimise_convex, minimise_over_tail

#: Fewer distinct values above the threshold than this say too little of a shape: intervals cover
#: .77 to .92.
LEAST_CELLS = 4
#: Values are on a grid where each is within this share of its width.
OFF_GRID = 1e-6
#: Cells beyond which a grid is no rounding that matters, elements handled at a time, and where
#: log(1 − e^(−q)) is 0.
_MOST_CELLS = 100_000
_CHUNK_SIZE = 1 << 15
_NO_UPPER_END = 700.0


def grid_width(values: Floats) -> float:
    """Width of the grid of the values: the largest that all differences are multiples of.

    0 for none.

    The common divisor of the differences by Euclid's algorithm, in floating point; the answer is
    checked.
    """
    distinct = np.unique(values)
    value_steps = np.diff(distinct)
    rounding_noise = 8.0 * np.finfo(float).eps * max(1.0, float(np.abs(distinct).max(initial=0.0)))
    value_steps = value_steps[value_steps > rounding_noise]
    if not value_steps.size:
        return 0.0
    common_width = float(value_steps.min())
    for value_step in np.unique(value_steps):
        larger = float(value_step)
        smaller = common_width
        while smaller > 1e3 * rounding_noise:
            larger, smaller = smaller, abs(larger - smaller * round(larger / smaller))
        common_width = larger
        if common_width * _MOST_CELLS < distinct[-1] - distinct[0]:
            return 0.0
    cell_numbers = (distinct - distinct[0]) / common_width
    if cell_numbers[-1] > _MOST_CELLS or np.abs(cell_numbers - np.round(cell_numbers)).max() > max(
        OFF_GRID, rounding_noise / common_width
    ):
        return 0.0
    # the divisor, without the rounding of its smallest multiple
    return float((distinct[-1] - distinct[0]) / np.round(cell_numbers[-1]))


def cells_of(values: Floats, threshold: float, width: float) -> tuple[Floats, Floats]:
    """Lower ends of the cells above the threshold, as multiples of the width, and the values in
    each.
    """
    cell_ends, cell_counts = np.unique(
        np.round((values - threshold) / width - 0.5), return_counts=True
    )
    return cell_ends, cell_counts.astype(np.float64)


@dataclass(frozen=True)
class GridLikelihood(GpdLikelihood):
    """Likelihood of P samples of rounded excesses and of their numbers, in units of the width of
    the grid.

    `samples.y`, shape (1, J) or (P, J): lower ends of the cells, in widths above the threshold,
    common to all samples or of each; `counts`, shape (P, J): values in each.
    """

    counts: Floats

    @classmethod
    def of(
        cls,
        values: Floats,
        threshold: float,
        width: float,
        total: float,
        rate_term: RateTerm,
    ) -> GridLikelihood:
        """Fit values above a threshold that is half a width below the lowest of them."""
        cell_ends, cell_counts = cells_of(values, threshold, width)
        return cls.of_counts(cell_ends, cell_counts[None, :], width, total, rate_term)

    @classmethod
    def of_counts(
        cls,
        place: Floats,
        counts: Floats,
        width: float,
        total: float,
        rate_term: RateTerm,
    ) -> GridLikelihood:
        """Fit P samples that are counted in cells, whose lower ends are `place`, shape (J,) or (P,
        J).
        """
        zeros = np.zeros(counts.shape[0])
        upper_ends = np.maximum(np.where(counts > 0, place, 0.0).max(axis=1), 0.5)
        samples = Samples(
            y=np.atleast_2d(place),
            n=counts.sum(axis=1),
            centre=zeros,
            unit=zeros + width,
            lower=zeros,
            upper=upper_ends,
        )
        unknown_params = np.full((zeros.size, 2, 2), np.nan)
        empty_fits = SampleFits(
            params=unknown_params[:, 0],
            nll=zeros,
            at_boundary=zeros > 0,
            unbounded=zeros > 0,
            theta=zeros,
            nu=zeros + 1.0,
            covariance=unknown_params,
        )
        unfitted = cls(samples, empty_fits, zeros + total, rate_term, counts)
        return replace(unfitted, fits=unfitted._fit_counts())

    def _fit_counts(self) -> SampleFits:
        """Best points of the region ξ ≥ −1; standard errors for ξ > −1/2."""
        samples = self.samples
        sample_rows = np.arange(self.total.size)
        theta = np.nan_to_num(
            minimise_over_tail(self.free, samples.lower, samples.upper, np.log(samples.n))[0]
        )
        nu = self.free_nu(sample_rows, theta[:, None])[:, 0]
        f, _, _, f_tt, f_tv, f_vv = (
            partial_values[:, 0]
            for partial_values in self._excess_partials(sample_rows, theta[:, None], nu[:, None])
        )
        xi = theta / nu
        sample_units = samples.unit
        # where all values lie in one cell the likelihood has no curvature, and no standard error
        determinant = f_tt * f_vv - f_tv**2
        has_curvature = determinant > np.finfo(float).eps * np.abs(f_tt * f_vv)
        is_regular = (xi > REGULAR_ABOVE) & (f_tt > 0) & has_curvature
        # (σ, ξ) = (unit/ν, θ/ν)
        partials = np.zeros_like(nu), -sample_units / nu**2, 1.0 / nu, -theta / nu**2
        jacobian, information = (
            np.stack(matrix_entries, -1).reshape(-1, 2, 2)[is_regular]
            for matrix_entries in (partials, (f_tt, f_tv, f_tv, f_vv))
        )
        covariance = np.full((sample_rows.size, 2, 2), np.nan)
        covariance[is_regular] = jacobian @ np.linalg.inv(information) @ np.swapaxes(jacobian, 1, 2)
        params = np.stack([sample_units / nu, xi], -1)
        return SampleFits(
            params=params,
            nll=f,
            at_boundary=xi <= -1.0 + 1e-9,
            unbounded=xi > np.inf,
            theta=theta,
            nu=nu,
            covariance=covariance,
        )

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
        f, *f_partials = self.partials(rows, theta, nu)
        return f, *along_theta(nu <= -theta, *f_partials)

    def prepared(self, rows: Rows, theta: Floats) -> Triple:
        """At the lower ends of the cells v, their lengths in it, the values in them.

        Shape (Q, K, J).
        """
        slice_parts = []
        for row_part in self._cache_slices(theta):
            slice_parts.append(self._ends(rows[row_part], theta[row_part]))
        lower_v, v_lengths = (
            np.concatenate([row_part[part_index][0] for row_part in slice_parts])
            for part_index in (0, 1)
        )
        return lower_v, v_lengths, np.broadcast_to(self.counts[rows][:, None, :], lower_v.shape)

    def best_nu(
        self,
        rows: Rows,
        data: Triple,
        v: Floats,
        offset: Floats,
        tolerance: float = CONVEX_TOLERANCE,
    ) -> Floats:
        """ν that minimises at fixed θ where ℓ = νv − offset."""
        sample_sizes = self.samples.n[rows, None]
        n_observations = self.total[rows, None]
        has_barrier = (v > 0) & (self.rate_term == "binomial")
        nu_cap = np.where(has_barrier, offset / np.where(has_barrier, v, 1.0), np.inf)
        in_nu = _cells_in_nu(data)

        def derivatives(nu: Floats) -> tuple[Floats, Floats]:
            slope, curvature = in_nu(nu)
            _, rate_slope, rate_curvature = self._rate_partials(
                nu * v - offset, sample_sizes, n_observations
            )
            return slope + rate_slope * v, curvature + rate_curvature * v**2

        start_nu = np.minimum(self._start(data), 0.5 * nu_cap)
        return minimise_convex(derivatives, start_nu, nu_cap, tolerance)

    def free_nu(self, rows: Rows, theta: Floats) -> Floats:
        """ν that minimises at fixed θ, at least −θ, where ξ = −1."""
        data = self.prepared(rows, theta)
        return np.maximum(minimise_convex(_cells_in_nu(data), self._start(data)), -theta)

    def _start(self, data: Triple) -> Floats:
        """The reciprocal of the mean of v at the middles of the cells."""
        lower_v, v_lengths, cell_counts = data
        return np.asarray(
            cell_counts.sum(-1)
            / (cell_counts * (lower_v + 0.5 * np.minimum(v_lengths, lower_v + 1.0))).sum(-1)
        )

    def _ends(self, rows: Rows, theta: Floats) -> tuple[Triple, Triple, Flags]:
        """At the cells v with derivatives, the differences to the upper ends, and where these
        exist.

        An upper end beyond the end point has survival probability 0, and cells that begin there are
        empty.
        """
        cell_ends = self.samples.y
        theta_column = theta[..., None]
        cell_ends = (cell_ends if cell_ends.shape[0] == 1 else cell_ends[rows])[:, None, :]
        has_upper_end = 1.0 + theta_column * (cell_ends + 1.0) > 1e-12
        finite_ends = np.where(1.0 + theta_column * cell_ends > 0, cell_ends, 0.0)
        lower_partials = exponential_scale_partials(finite_ends, theta)
        upper_partials = exponential_scale_partials(
            np.where(has_upper_end, cell_ends + 1.0, finite_ends), theta
        )
        v_lengths, first_derivative, second_derivative = (
            np.where(has_upper_end, upper_part - lower_part, 0.0)
            for upper_part, lower_part in zip(upper_partials, lower_partials, strict=True)
        )
        return (
            lower_partials,
            (np.where(has_upper_end, v_lengths, np.inf), first_derivative, second_derivative),
            has_upper_end,
        )

    def _cache_slices(self, theta: Floats) -> list[slice]:
        """Problems at a time whose cells fit the processor's cache."""
        rows_at_a_time = max(1, _CHUNK_SIZE // (theta.shape[1] * self.samples.y.shape[1]))
        cache_slices: list[slice] = []
        for first_row in range(0, theta.shape[0], rows_at_a_time):
            cache_slices.append(slice(first_row, first_row + rows_at_a_time))
        return cache_slices

    def _excess_partials(
        self,
        rows: Rows,
        theta: Floats,
        nu: Floats,
        data: Triple | None = None,
    ) -> tuple[Floats, ...]:
        """F of the cells, F_θ, F_ν, F_θθ, F_θν, F_νν; shape (Q, K)."""
        slice_parts = []
        for row_slice in self._cache_slices(theta):
            slice_parts.append(self._some_cells(rows[row_slice], theta[row_slice], nu[row_slice]))
        return tuple(map(np.concatenate, zip(*slice_parts, strict=True)))

    def _some_cells(self, rows: Rows, theta: Floats, nu: Floats) -> tuple[Floats, ...]:
        (a, a1, a2), (v_lengths, s1, s2), has_upper_end = self._ends(rows, theta)
        cell_counts = self.counts[rows][:, None, :]
        nu_column = nu[..., None]
        g, g1, g2 = _log_mass(nu_column * v_lengths)
        finite_lengths = np.where(has_upper_end, v_lengths, 0.0)
        first_terms = nu_column * a1 - g1 * nu_column * s1, a - g1 * finite_lengths
        second_terms = (
            nu_column * a2 - g2 * (nu_column * s1) ** 2 - g1 * nu_column * s2,
            a1 - g2 * nu_column * s1 * finite_lengths - g1 * s1,
            -g2 * finite_lengths**2,
        )
        some_cells = []
        for cell_term in (nu_column * a - g, *first_terms, *second_terms):
            some_cells.append((cell_counts * cell_term).sum(-1))
        return tuple(some_cells)


def _cells_in_nu(data: Triple) -> Callable[[Floats], tuple[Floats, Floats]]:
    """First and second derivative of F in ν, at θ as it was prepared."""
    lower_v, v_lengths, cell_counts = data
    finite_lengths = np.where(np.isfinite(v_lengths), v_lengths, 0.0)
    squared_lengths = finite_lengths**2

    def derivatives(nu: Floats) -> tuple[Floats, Floats]:
        mass_slope = _slope_of_log_mass(nu[..., None] * v_lengths)
        return (cell_counts * (lower_v - mass_slope * finite_lengths)).sum(-1), (
            cell_counts * (mass_slope * (1.0 + mass_slope)) * squared_lengths
        ).sum(-1)

    return derivatives


def _slope_of_log_mass(q: Floats) -> Floats:
    """1/(e^q − 1), the slope of log(1 − e^(−q))."""
    return np.where(q >= _NO_UPPER_END, 0.0, 1.0 / np.expm1(np.minimum(q, _NO_UPPER_END)))


def _log_mass(q: Floats) -> Triple:
    """log(1 − e^(−q)) with two derivatives; 0 for cells without an upper end (q = ∞)."""
    first_derivative = _slope_of_log_mass(q)
    log_mass = np.where(q >= _NO_UPPER_END, 0.0, np.log(-np.expm1(-np.minimum(q, _NO_UPPER_END))))
    return log_mass, first_derivative, -first_derivative * (1.0 + first_derivative)
