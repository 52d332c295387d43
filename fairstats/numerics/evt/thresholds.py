"""Thresholds: fits above many of them, and tests that the shape does not change.

`choice` chooses one.

Above a threshold v where the model holds the shape ξ is the same as above u, and so is the modified
scale σ* = σ_v − ξ·v (Coles 2001, section 4.3.4). Two tests of that over v₁ < … < v_J with k_j
exceedances:

    score (Northrop & Coleman 2014)   Uᵀ·I⁻¹·U at the fit with one shape, U and I the score and the
                                      information with ξ_j from v_j on; χ², J − 1 degrees of freedom
    white noise (Wadsworth 2016)      (ξ̂_{j+1} − ξ̂_j)/[(1 + ξ)·√(1/k_{j+1} − 1/k_j)], which are
                                      N(0, 1), against N(mean, sd) up to any threshold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.special import chdtrc

from fairstats.ground import checks
from fairstats.ground.checks import SeedOrGenerator
from fairstats.ground.errors import InsufficientEvidenceWarning, caution
from fairstats.ground.results import Comparison, Interval
from fairstats.ground.serialise import serialisable
from fairstats.numerics.draws import resample_blocks
from fairstats.numerics.evt import contour
from fairstats.numerics.evt.diagnostics import OverThresholds
from fairstats.numerics.evt.distributions import (
    Counts,
    Floats,
    exponential_scale,
    power_ratio,
    random_excesses,
)
from fairstats.numerics.evt.gpd import GpdLikelihood, fit_gpd_samples
from fairstats.numerics.evt.intervals import TailLikelihood, chi2_quantile
from fairstats.numerics.evt.likelihood import REGULAR_ABOVE, SampleFits, Samples
from fairstats.numerics.evt.quick_ends import find_shape_ends
from fairstats.numerics.evt.series import as_series, different_thresholds, usable_thresholds
from fairstats.numerics.evt.tail import SIGNED_ROOT, tail_row
from fairstats.plots.evt import plot_threshold_stability


@serialisable(eq=False)
class ThresholdStability(OverThresholds):
    """Parameters of the generalised Pareto fit above each threshold.

    Attributes
    ----------
    thresholds : ndarray of float, shape (K,)
    shape, shape_low, shape_high : ndarray of float, shape (K,)
        ξ with its likelihood interval, by the standardised signed root.
    modified_scale, modified_scale_error : ndarray of float, shape (K,)
        σ − ξu, which does not depend on u where the model holds, and its standard error (NaN for ξ
        ≤ −1/2).
    n_exceedances : ndarray of int, shape (K,)
    confidence_level : float
    """

    title: ClassVar[str] = "Threshold stability"
    backend: ClassVar[str] = "scipy"  # what computes: the fits without R

    shape: Floats
    shape_low: Floats
    shape_high: Floats
    modified_scale: Floats
    modified_scale_error: Floats
    n_exceedances: Counts
    confidence_level: float

    plot = plot_threshold_stability

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Two rows per threshold: shape and modified scale."""
        z = float(np.sqrt(chi2_quantile(self.confidence_level)))
        interval_level = self.confidence_level
        columns = (
            self.shape,
            self.shape_low,
            self.shape_high,
            self.modified_scale,
            self.modified_scale_error,
        )
        table_rows = []
        for n_above, *row_values in zip(
            self.n_exceedances, *(column.tolist() for column in columns), strict=True
        ):
            shape, lower_end, upper_end, scale, std_error = row_values
            table_rows.append(
                tail_row(
                    "shape",
                    shape,
                    Interval(
                        low=lower_end,
                        high=upper_end,
                        confidence_level=interval_level,
                        method=SIGNED_ROOT,
                    ),
                    n_above,
                )
            )
            scale_interval = Interval(
                low=scale - z * std_error,
                high=scale + z * std_error,
                confidence_level=interval_level,
                method="delta",
            )
            table_rows.append(tail_row("modified scale", scale, scale_interval, n_above, std_error))
        return tuple(table_rows)

    def sentences(self) -> list[str]:
        """The range of the shape, and how to read it."""
        range_in_words = f"between {self.shape.min():.3g} and {self.shape.max():.3g}"
        return [
            f"The shape lies {range_in_words} over {self.thresholds.size} thresholds.",
            *self.notes(),
        ]

    def notes(self) -> list[str]:
        """How to read it."""
        return ["Above a good threshold shape and modified scale (σ − ξu) are constant."]


def threshold_stability(
    x: Any,
    thresholds: Any = None,
    *,
    n_thresholds: int = 25,
    confidence_level: float = 0.95,
) -> ThresholdStability:
    """Shape and modified scale of generalised Pareto fits above many thresholds (Coles 2001,
    section 4.3.4).

    Parameters
    ----------
    x, thresholds, n_thresholds, confidence_level
        As for `mean_residual_life`, as are the errors.

    Returns
    -------
    ThresholdStability

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import threshold_stability
    >>> found = threshold_stability(np.random.default_rng(1).exponential(size=5000), [1.0, 2.0])
    >>> found.shape.round(3)
    array([ 0.024, -0.001])
    """
    series = as_series("x", x)
    interval_level = checks.check_confidence_level(confidence_level)
    threshold_values, exceedance_counts = usable_thresholds(series, thresholds, n_thresholds)
    excesses = np.maximum(
        np.sort(series)[::-1][: exceedance_counts.max()] - threshold_values[:, None], 0.0
    )
    samples = Samples.from_excesses(excesses, exceedance_counts.astype(np.float64))
    sample_fits = fit_gpd_samples(samples)
    lower_ends, upper_ends = _shape_intervals(
        samples,
        sample_fits,
        excesses,
        exceedance_counts,
        series.size,
        chi2_quantile(interval_level),
    )
    covariances = sample_fits.covariance
    scale_variances = (
        covariances[:, 0, 0]
        - 2.0 * threshold_values * covariances[:, 0, 1]
        + threshold_values**2 * covariances[:, 1, 1]
    )
    return ThresholdStability(
        thresholds=threshold_values,
        shape=sample_fits.shape,
        shape_low=lower_ends,
        shape_high=upper_ends,
        modified_scale=sample_fits.scale - sample_fits.shape * threshold_values,
        modified_scale_error=np.sqrt(scale_variances),
        n_exceedances=exceedance_counts,
        confidence_level=interval_level,
    )


def _shape_intervals(
    samples: Samples,
    sample_fits: SampleFits,
    excesses: Floats,
    exceedance_counts: Counts,
    total: int,
    critical: float,
) -> tuple[Floats, Floats]:
    """Likelihood intervals of ξ for all samples at once; those at an edge one by one."""
    n_samples = exceedance_counts.size
    likelihood = GpdLikelihood(
        samples=samples, fits=sample_fits, total=np.full(n_samples, float(total)), rate_term="fixed"
    )
    sample_rows = np.tile(np.arange(n_samples), 2)
    sides = np.repeat([-1.0, 1.0], n_samples)
    edge_deviances = 2.0 * (likelihood.boundary() - likelihood.minimum())
    root_targets = np.full(2 * n_samples, np.sqrt(critical))
    fits = likelihood.fits
    shape_ends = find_shape_ends(samples, fits.theta, fits.nu, edge_deviances, sides, root_targets)
    lost = np.flatnonzero(np.isnan(shape_ends))
    if lost.size:
        contour_ends, deviance = contour.standardised_extremes(
            likelihood,
            sample_rows[lost],
            contour.shape_interest(),
            sides[lost],
            root_targets[lost],
            np.inf,
        )
        at_edge = edge_deviances[sample_rows[lost]] <= deviance
        shape_ends[lost] = np.where(at_edge, np.nan, contour_ends)
    for sample_index in np.flatnonzero(
        np.isnan(shape_ends[:n_samples]) | np.isnan(shape_ends[n_samples:])
    ):
        tail_likelihood = TailLikelihood.of_excesses(
            excesses[sample_index, : exceedance_counts[sample_index]], 0.0, total, "fixed", None
        )
        lower_ends, upper_ends = tail_likelihood.parameter_ends(
            "shape", np.array([critical]), standardised=True
        )
        shape_ends[sample_index] = lower_ends[0]
        shape_ends[n_samples + sample_index] = upper_ends[0]
    return shape_ends[:n_samples], shape_ends[n_samples:]


@serialisable(eq=False)
class ThresholdTests(OverThresholds):
    """Tests that the shape does not change above each threshold.

    Attributes
    ----------
    thresholds, shape : ndarray of float, shape (K,)
        Thresholds, and ξ fitted above each.
    statistics, pvalues : ndarray of float, shape (K,)
        Score test of one shape above this threshold and every higher one, χ² with as many degrees
        of freedom as there are higher ones; NaN at the highest, and where ξ ≤ −1/2.
    white_noise : ndarray of float, shape (K,)
        Standardised change of ξ from the threshold below, independent N(0, 1) where the model
        holds; NaN at the lowest.
    change : ndarray of float, shape (K,)
        Likelihood ratio that these have another mean and spread up to this threshold; NaN at the
        lowest two.
    change_pvalue : float
        Of the largest, simulated.
    n_exceedances : ndarray of int, shape (K,)
    n_resamples : int
    seed : int or None
    """

    title: ClassVar[str] = "Tests of thresholds"
    backend: ClassVar[str] = "scipy"  # what computes: the fits without R
    lacks: ClassVar[Mapping[str, str]] = {
        **OverThresholds.lacks,
        "estimate": "nothing is estimated; threshold_stability(x) has shapes with intervals",
        "std_error": "nothing is estimated; threshold_stability(x) has shapes with intervals",
        "confidence_interval": (
            "nothing is estimated; threshold_stability(x) has shapes with intervals"
        ),
        "pvalue": "one test per threshold; see `pvalues` and `change_pvalue`",
        "statistic": "one test per threshold; see `statistics` and `change`",
        "plot": (
            "threshold_stability(x).plot() draws the shapes; plot `pvalues` against `thresholds`"
        ),
    }

    shape: Floats
    statistics: Floats
    pvalues: Floats
    white_noise: Floats
    change: Floats
    change_pvalue: float
    n_exceedances: Counts
    n_resamples: int
    seed: int | None

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """One row per threshold: the score test."""
        test_rows = zip(
            self.statistics.tolist(),
            self.pvalues.tolist(),
            self.n_exceedances.tolist(),
            strict=True,
        )
        metric_name = "one shape above"
        method = "score test (Northrop and Coleman)"
        result = []
        for score, pvalue, n_above in test_rows:
            result.append(
                Comparison(
                    metric=metric_name,
                    statistic=score,
                    pvalue=pvalue,
                    n=n_above,
                    method=method,
                )
            )
        return tuple(result)

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the tests, with `white_noise` and `change`."""
        test_rows = zip(
            super().rows(), self.white_noise.tolist(), self.change.tolist(), strict=True
        )
        result: list[dict[str, Any]] = []
        for test_row, noise_value, change in test_rows:
            result.append({**test_row, "white_noise": noise_value, "change": change})
        return result

    def sentences(self) -> list[str]:
        """The lowest threshold with no p-value below .05 from there on, and the change."""
        rejected_indexes = np.flatnonzero(self.pvalues < 0.05)
        if rejected_indexes.size:
            first_accepted = int(rejected_indexes[-1]) + 1
        else:
            first_accepted = 0
        above_in_words = (
            f"{self.thresholds[first_accepted]:.4g} and higher thresholds, {self.n_exceedances[first_accepted]}"
            " exceedances"
        )
        statements = [f"One shape is not rejected (p ≥ .05) above {above_in_words}."]
        if np.isfinite(self.change_pvalue):
            change_in_words = f"{self.thresholds[int(np.nanargmax(self.change))]:.4g}"
            statements.append(
                f"Changes of the shape are largest up to {change_in_words} (white noise: p ="
                f" {self.change_pvalue:.3g})."
            )
        return [*statements, *self.notes()]

    def notes(self) -> list[str]:
        """How to read it."""
        return [
            "A p-value is about its own threshold and all higher ones; they are not independent."
        ]


def threshold_tests(
    x: Any,
    thresholds: Any = None,
    *,
    n_thresholds: int = 10,
    n_resamples: int = 199,
    rng: SeedOrGenerator = None,
) -> ThresholdTests:
    """Does the shape change above a threshold? Score tests, and changes of the estimates as white
    noise.

    Parameters
    ----------
    x, thresholds, n_thresholds
        As for `mean_residual_life`, as are the errors; three thresholds at least, ten by default.
    n_resamples : int
        Simulated samples, at least 19.
    rng : None, int or Generator

    Returns
    -------
    ThresholdTests

    Warns
    -----
    InsufficientEvidenceWarning
        A shape of −1/2 or less, where the likelihood is not regular: there is no test above that
        threshold, and, at the lowest one, no white noise.

    Notes
    -----
    Score test (Northrop & Coleman 2014): under the alternative the shape is constant between
    thresholds, ξ_j from u_j on, the density continuous, so that the hazard of an excess is 1/s(y)
    with s piecewise linear of slopes ξ_j. The score and its expected information are closed forms
    at the fit with one shape, and need no other fit. Its size at 5% was .03 to .07 for ξ = ±.2, 500
    exceedances and seven or ten thresholds down to 50 (Monte Carlo error .01).

    White noise (Wadsworth 2016): estimates above nested thresholds have independent increments,
    ξ̂_j − ξ̂_i of variance (1 + ξ)²(1/k_j − 1/k_i), here with ξ from the lowest threshold. Up to
    each threshold their normal likelihood is compared with that of N(0, 1), and the largest ratio
    with those of samples from the fit at the lowest one: size .073 at ξ = −.2 and .057 at .2 (Monte
    Carlo error .014); N(0, 1) in their place, as in the paper, gave .15 and .07. A shape of .4 that
    becomes −.2 above the level that 150 of 500 exceed was found at the lowest threshold in .80 of
    samples, by the score test in .60.

    References
    ----------
    Northrop, P. J. and Coleman, C. L. (2014). Improved threshold diagnostic plots for extreme value
    analyses. Extremes 17, 289–303. Wadsworth, J. L. (2016). Exploiting structure of maximum
    likelihood estimators for extreme value threshold selection. Technometrics 58, 116–126.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import threshold_tests
    >>> x = np.random.default_rng(1).exponential(size=2000)
    >>> found = threshold_tests(x, [0.5, 1.0, 2.0], rng=1)
    >>> found.pvalues.round(3), round(found.change_pvalue, 2)
    (array([0.518, 0.94 ,   nan]), 0.81)
    """
    series = as_series("x", x)
    replicates = checks.check_whole("n_resamples", n_resamples, low=19)
    threshold_values, exceedance_counts = different_thresholds(series, thresholds, n_thresholds, 3)
    generator, seed = checks.as_generator(rng)
    excesses = np.maximum(
        np.sort(series)[::-1][: exceedance_counts.max()] - threshold_values[:, None], 0.0
    )
    sample_fits = fit_gpd_samples(
        Samples.from_excesses(excesses, exceedance_counts.astype(np.float64)), covariance=False
    )
    scales = sample_fits.scale
    shapes = sample_fits.shape
    is_regular = shapes > REGULAR_ABOVE
    if not is_regular[:-1].all():
        first_irregular = np.flatnonzero(~is_regular)[0]
        warning = (
            f"ξ = {shapes[first_irregular]:.3g} above "
            f"{threshold_values[first_irregular]:.4g}: at −1/2 or less there is no score test"
        )
        caution(
            f"{warning}{', and no white noise' if first_irregular == 0 else ''}",
            InsufficientEvidenceWarning,
        )
    statistics, noise_values, change_values = np.full((3, threshold_values.size), np.nan)
    change_pvalue = float("nan")
    for threshold_index in np.flatnonzero(is_regular[:-1]):
        score_arguments = (
            threshold_values[threshold_index:] - threshold_values[threshold_index],
            float(scales[threshold_index]),
            float(shapes[threshold_index]),
        )
        statistics[threshold_index] = score_statistic(
            excesses[threshold_index, : exceedance_counts[threshold_index]], *score_arguments
        )
    pvalues = np.append(
        chdtrc(np.arange(threshold_values.size - 1, 0, -1), statistics[:-1]), np.nan
    )
    if is_regular[0]:
        noise_values[1:] = _white_noise(shapes, exceedance_counts)
        change_values[2:] = change_statistics(noise_values[1:])
        drawn_changes = _drawn_changes(float(shapes[0]), exceedance_counts, replicates, generator)
        change_pvalue = (1.0 + float((drawn_changes >= np.nanmax(change_values)).sum())) / (
            replicates + 1.0
        )
    return ThresholdTests(
        thresholds=threshold_values,
        shape=shapes,
        statistics=statistics,
        pvalues=pvalues,
        white_noise=noise_values,
        change=change_values,
        change_pvalue=change_pvalue,
        n_exceedances=exceedance_counts,
        n_resamples=replicates,
        seed=seed,
    )


def _white_noise(shapes: Floats, exceedance_counts: Counts) -> Floats:
    """Increments of ξ over thresholds (last axis) in units of their standard errors at the lowest
    one.
    """
    return np.asarray(
        np.diff(shapes) / ((1.0 + shapes[..., :1]) * np.sqrt(np.diff(1.0 / exceedance_counts)))
    )


def _drawn_changes(
    shape: float,
    exceedance_counts: Counts,
    replicates: int,
    rng: np.random.Generator,
) -> Floats:
    """The largest change statistic in samples of n₀ excesses, thresholds at their order
    statistics.
    """
    n_lowest = int(exceedance_counts[0])
    blocks = []
    for block_size in resample_blocks(replicates, n_lowest, "threshold tests"):
        excesses = random_excesses(rng, (block_size, n_lowest), 1.0, shape)
        drawn_values = np.sort(excesses)[:, ::-1]
        shapes = np.empty((block_size, exceedance_counts.size))
        for threshold_index, n_above in enumerate(exceedance_counts):
            origin = 0.0 if threshold_index == 0 else drawn_values[:, n_above, None]
            samples = Samples.from_excesses(drawn_values[:, :n_above] - origin)
            shapes[:, threshold_index] = fit_gpd_samples(samples, covariance=False).shape
        increments = _white_noise(shapes, exceedance_counts)
        blocks.append(change_statistics(increments).max(axis=-1))
    return np.concatenate(blocks)


def score_statistic(y: Floats, v: Floats, scale: float, shape: float) -> float:
    """Score test of one shape against one from each of the thresholds v (0 first) on, at the fit of
    all y.

    With L_i(t) the length of [v_i, v_{i+1}] below t and s = σ + ξt, the score of an excess in ξ_i
    is ∫₀^y L_i/s² dt − L_i(y)/s(y), in σ the same with L₀ = 1; the information is ∫ L_i·L_j·s⁻³·S
    dt.
    """
    interval_widths = np.append(np.diff(v), np.inf)
    scale_at_v = scale + shape * v
    s = scale + shape * y
    lengths_below = np.clip(y[:, None] - v, 0.0, interval_widths)
    in_shapes = (lengths_below / scale_at_v) ** 2 * _log_remainder(
        shape * lengths_below / scale_at_v
    ) - lengths_below / s[:, None]
    in_shapes[:, :-1] += (
        interval_widths[:-1] * np.maximum(y[:, None] - v[1:], 0.0) / (scale_at_v[1:] * s[:, None])
    )
    score_vector = np.append((y / (scale * s) - 1.0 / s).sum(), in_shapes.sum(axis=0))
    # over each interval in exponential units from its lower end, the last without end
    nodes, weights = np.polynomial.legendre.leggauss(20)
    exponential_spans = exponential_scale(interval_widths[:-1] / scale_at_v[:-1], np.asarray(shape))
    tau = 0.5 * exponential_spans[:, None] * (nodes + 1.0)
    depths = np.append(0.0, np.cumsum(exponential_spans))
    node_masses = 0.5 * exponential_spans[:, None] * weights * np.exp(-tau - depths[:-1, None])
    information = np.zeros((v.size + 1, v.size + 1))
    passed_lengths = np.append(1.0, np.zeros(v.size))  # L₀, and L_i of the intervals that lie below
    for i in range(v.size - 1):
        score_basis = passed_lengths * (np.exp(-shape * tau[i]) / scale_at_v[i])[:, None]
        score_basis[:, i + 1] = -power_ratio(-tau[i], np.asarray(shape))
        information += (score_basis.T * node_masses[i]) @ score_basis
        passed_lengths[i + 1] = interval_widths[i]
    one_term = 1.0 / (1.0 + shape)
    two_term = 1.0 / (1.0 + 2.0 * shape)
    passed_lengths /= scale_at_v[-1]
    last_information = two_term * np.outer(passed_lengths, passed_lengths)
    last_information[-1] += one_term * two_term * passed_lengths
    last_information[:, -1] += one_term * two_term * passed_lengths
    last_information[-1, -1] += 2.0 * one_term * two_term
    information = y.size * (information + np.exp(-depths[-1]) * last_information)
    return float(score_vector @ np.linalg.solve(information, score_vector))


def _log_remainder(z: Floats) -> Floats:
    """(log(1 + z) − z/(1 + z))/z², 1/2 at 0."""
    is_small = np.abs(z) < 1e-2
    series_value = np.polynomial.polynomial.polyval(
        z, [(-1.0) ** term_order * (term_order + 1) / (term_order + 2) for term_order in range(9)]
    )
    safe_z = np.where(is_small, 1.0, z)
    return np.where(
        is_small, series_value, (np.log1p(safe_z) - safe_z / (1.0 + safe_z)) / safe_z**2
    )


def change_statistics(noise: Floats) -> Floats:
    """Twice the log-likelihood ratio of N(mean, sd) against N(0, 1) for the first 2, 3, …
    values.
    """
    value_counts = np.arange(1, noise.shape[-1] + 1)
    square_sums = np.cumsum(noise**2, axis=-1)
    variance = square_sums / value_counts - (np.cumsum(noise, axis=-1) / value_counts) ** 2
    return np.asarray(
        (square_sums - value_counts * (1.0 + np.log(np.maximum(variance, 1e-300))))[..., 1:]
    )
