"""Mean and spread of signed roots of a tail regression, from samples of the fit.

The signed root r(ψ) = sign(ψ̂ − ψ)·√D(ψ) of a coefficient or a level ψ is normal with mean 0 and
variance 1 up to O(n^(−1/2)). With covariates its mean and variance depend on the design and on what
is asked for, so that no table has them. They are simulated (DiCiccio, Martin & Stern 2001; Lee &
Young 2005): B samples, in each the best point and the best point with ψ at its true value, whose
deviances are the roots. The law hardly depends on scale and location, but on the shape, which a fit
underestimates: samples are drawn at two mean shapes, and the moments at an end of an interval lie
on the line between them, at the mean shape that fits best with that end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fairstats.numerics.evt import distributions as law
from fairstats.numerics.evt.distributions import Floats, Rows, Triple
from fairstats.numerics.evt.interests import ConstrainedInterest, FreeCoordinates
from fairstats.numerics.evt.newton import minimise_each
from fairstats.numerics.evt.regression import TailRegression

#: Samples of a fit: the mean of a root is known to ±.06, its standard deviation to ±.04.
SAMPLES = 300
#: Without a generator always the same samples.
_SEED = 20_240_611
#: With more values than this the design is thinned; mean·√n and (variance − 1)·n stay the same.
_MOST_VALUES = 400
#: Values of samples at a time: a dozen of such arrays are made and freed at each step, and memory of
#: larger ones goes back to the system and comes again, which costs more than the arithmetic.
_BLOCK_VALUES = 1 << 13
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
        rows_at_a_time = max(1, _BLOCK_VALUES // self.values.shape[1])
        blocks = []
        for first in range(0, max(rows.size, 1), rows_at_a_time):
            block = slice(first, first + rows_at_a_time)
            block_rows = rows[block]
            blocks.append(
                self.regression.derivatives(
                    z[block], self.values[block_rows], self.counts[block_rows]
                )
            )
        if len(blocks) == 1:
            return blocks[0]
        values, gradients, hessians = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return values, gradients, hessians

    def root_moments(self, interest: ConstrainedInterest) -> tuple[float, float]:
        """Mean and standard deviation of the signed root of an interest at its true value, at the
        size of the fit.

        (0, 1), the limit of many values, where too few samples have a root.
        """
        true_value = float(interest.derivatives(self.centre[None])[0][0])
        usable_rows = np.flatnonzero(np.isfinite(self.lowest))
        coordinates = FreeCoordinates.of(interest.constraint(true_value))
        start_points = np.tile(coordinates.basis.T @ self.centre, (usable_rows.size, 1))

        def objective(rows: Rows, y: Floats) -> Triple:
            return coordinates.pulled_back(y, lambda z: self.likelihood(usable_rows[rows], z))

        _, constrained_values = minimise_each(objective, start_points)
        deviances = 2.0 * (constrained_values - self.lowest[usable_rows])
        estimates = interest.derivatives(self.best[usable_rows])[0]
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

    def moments(self, interest: ConstrainedInterest) -> Callable[[float], tuple[float, float]]:
        """Mean shape → mean and standard deviation of the signed root of an interest."""
        at_low = self.low.root_moments(interest)
        at_high = self.high.root_moments(interest)

        def at(shape: float) -> tuple[float, float]:
            root_mean = np.interp(shape, self.shapes, (at_low[0], at_high[0]))
            root_sd = np.interp(shape, self.shapes, (at_low[1], at_high[1]))
            return float(root_mean), float(root_sd)

        return at


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
    shape_slice = regression.places["shape"]
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
