"""Thresholds: fits above many of them, tests that the shape does not change, and a choice by rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.special import chdtrc

from fairstats.ground import checks
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning, caution
from fairstats.ground.results import Comparison, Interval, Result
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt import contour
from fairstats.numerics.evt.diagnostics import STATISTICS, OverThresholds, excess_pvalue
from fairstats.numerics.evt.distributions import Counts, Floats, Rows, exponential_scale, power_ratio, random_excesses
from fairstats.numerics.evt.gpd import GpdLikelihood, fit_gpd_samples
from fairstats.numerics.evt.intervals import TailLikelihood, chi2_quantile
from fairstats.numerics.evt.likelihood import REGULAR_ABOVE, Samples
from fairstats.numerics.evt.series import LEAST_EXCEEDANCES, as_series, different_thresholds, usable_thresholds
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
        σ − ξu, which does not depend on u where the model holds, and its standard error (NaN for ξ ≤ −1/2).
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
        z, level = float(np.sqrt(chi2_quantile(self.confidence_level))), self.confidence_level
        columns = (self.shape, self.shape_low, self.shape_high, self.modified_scale, self.modified_scale_error)
        rows = []
        for n, *row in zip(self.n_exceedances, *(column.tolist() for column in columns), strict=True):
            shape, low, high, scale, error = row
            rows.append(tail_row("shape", shape, Interval(low, high, level, SIGNED_ROOT), n))
            around = Interval(scale - z * error, scale + z * error, level, "delta")
            rows.append(tail_row("modified scale", scale, around, n, error))
        return tuple(rows)

    def sentences(self) -> list[str]:
        """The range of the shape, and how to read it."""
        ends = f"between {self.shape.min():.3g} and {self.shape.max():.3g}"
        return [f"The shape lies {ends} over {self.thresholds.size} thresholds.", *self.notes()]

    def notes(self) -> list[str]:
        """How to read it."""
        return ["Above a good threshold shape and modified scale (σ − ξu) are constant."]


def threshold_stability(
    x: Any, thresholds: Any = None, *, n_thresholds: int = 25, confidence_level: float = 0.95
) -> ThresholdStability:
    """Shape and modified scale of generalised Pareto fits above many thresholds (Coles 2001, section 4.3.4).

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
    level = checks.check_confidence_level(confidence_level)
    u, n = usable_thresholds(series, thresholds, n_thresholds)
    excesses = np.maximum(np.sort(series)[::-1][: n.max()] - u[:, None], 0.0)
    samples = Samples.from_excesses(excesses, n.astype(np.float64))
    fits = fit_gpd_samples(samples)
    low, high = _shape_intervals(samples, excesses, n, series.size, chi2_quantile(level))
    cov = fits.covariance
    variance = cov[:, 0, 0] - 2.0 * u * cov[:, 0, 1] + u**2 * cov[:, 1, 1]
    return ThresholdStability(u, fits.shape, low, high, fits.scale - fits.shape * u, np.sqrt(variance), n, level)


def _shape_intervals(
    samples: Samples, excesses: Floats, n: Counts, total: int, critical: float
) -> tuple[Floats, Floats]:
    """Likelihood intervals of ξ for all samples at once; those at an edge one by one."""
    q = n.size
    likelihood = GpdLikelihood.from_samples(samples, np.full(q, float(total)), "fixed")
    rows, side = np.tile(np.arange(q), 2), np.repeat([-1.0, 1.0], q)
    edge = 2.0 * (likelihood.boundary() - likelihood.minimum())[rows]
    k = samples.n[rows]

    def ends(target: Floats, a: Rows) -> Floats:
        found = contour.contour_extremes(likelihood, rows[a], contour.shape_interest(), side[a], target[a])
        return np.where(edge[a] <= target[a], np.nan, found)

    def moments(found: Floats, a: Rows) -> tuple[Floats, Floats]:
        return contour.root_moments(np.nan_to_num(found), np.inf, k[a])

    shapes, z = (likelihood.fits.theta / likelihood.fits.nu)[rows], np.full(2 * q, np.sqrt(critical))
    found, deviance = contour.standardised_extremes(likelihood, rows, contour.shape_interest(), side, z, np.inf)
    found[edge <= deviance] = np.nan
    found = contour.standardised_ends(ends, moments, found, shapes, side, z, shapes, np.inf, k)
    for i in np.flatnonzero(np.isnan(found[:q]) | np.isnan(found[q:])):
        one = TailLikelihood.of_excesses(excesses[i, : n[i]], 0.0, total, "fixed", None)
        low, high = one.parameter_ends("shape", np.array([critical]), standardised=True)
        found[i], found[q + i] = low[0], high[0]
    return found[:q], found[q:]


@serialisable(eq=False)
class ThresholdTests(OverThresholds):
    """Tests that the shape does not change above each threshold.

    Attributes
    ----------
    thresholds, shape : ndarray of float, shape (K,)
        Thresholds, and ξ fitted above each.
    statistics, pvalues : ndarray of float, shape (K,)
        Score test of one shape above this threshold and every higher one, χ² with as many degrees of freedom
        as there are higher ones; NaN at the highest, and where ξ ≤ −1/2.
    white_noise : ndarray of float, shape (K,)
        Standardised change of ξ from the threshold below, independent N(0, 1) where the model holds; NaN at the lowest.
    change : ndarray of float, shape (K,)
        Likelihood ratio that these have another mean and spread up to this threshold; NaN at the lowest two.
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
        "confidence_interval": "nothing is estimated; threshold_stability(x) has shapes with intervals",
        "pvalue": "one test per threshold; see `pvalues` and `change_pvalue`",
        "statistic": "one test per threshold; see `statistics` and `change`",
        "plot": "threshold_stability(x).plot() draws the shapes; plot `pvalues` against `thresholds`",
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
        each = zip(self.statistics.tolist(), self.pvalues.tolist(), self.n_exceedances.tolist(), strict=True)
        name, method = "one shape above", "score test (Northrop and Coleman)"
        return tuple(Comparison(metric=name, statistic=t, pvalue=p, n=n, method=method) for t, p, n in each)

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the tests, with `white_noise` and `change`."""
        each = zip(super().rows(), self.white_noise.tolist(), self.change.tolist(), strict=True)
        return [{**row, "white_noise": noise, "change": change} for row, noise, change in each]

    def sentences(self) -> list[str]:
        """The lowest threshold with no p-value below .05 from there on, and the change."""
        low = np.flatnonzero(self.pvalues < 0.05)
        first = int(low[-1]) + 1 if low.size else 0
        above = f"{self.thresholds[first]:.4g} and higher thresholds, {self.n_exceedances[first]} exceedances"
        said = [f"One shape is not rejected (p ≥ .05) above {above}."]
        if np.isfinite(self.change_pvalue):
            at = f"{self.thresholds[int(np.nanargmax(self.change))]:.4g}"
            said.append(f"Changes of the shape are largest up to {at} (white noise: p = {self.change_pvalue:.3g}).")
        return [*said, *self.notes()]

    def notes(self) -> list[str]:
        """How to read it."""
        return ["A p-value is about its own threshold and all higher ones; they are not independent."]


def threshold_tests(
    x: Any, thresholds: Any = None, *, n_thresholds: int = 10, n_resamples: int = 199, rng: Any = None
) -> ThresholdTests:
    """Does the shape change above a threshold? Score tests, and changes of the estimates as white noise.

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
        A shape of −1/2 or less, where the likelihood is not regular: there is no test above that threshold,
        and, at the lowest one, no white noise.

    Notes
    -----
    Score test (Northrop & Coleman 2014): under the alternative the shape is constant between thresholds, ξ_j from u_j
    on, the density continuous, so that the hazard of an excess is 1/s(y) with s piecewise linear of slopes ξ_j. The
    score and its expected information are closed forms at the fit with one shape, and need no other fit. Its size at 5%
    was .03 to .07 for ξ = ±.2, 500 exceedances and seven or ten thresholds down to 50 (Monte Carlo error .01).

    White noise (Wadsworth 2016): estimates above nested thresholds have independent increments, ξ̂_j − ξ̂_i of variance
    (1 + ξ)²(1/k_j − 1/k_i), here with ξ from the lowest threshold. Up to each threshold their normal likelihood is
    compared with that of N(0, 1), and the largest ratio with those of samples from the fit at the lowest one: size .073
    at ξ = −.2 and .057 at .2 (Monte Carlo error .014); N(0, 1) in their place, as in the paper, gave .15 and .07. A
    shape of .4 that becomes −.2 above the level that 150 of 500 exceed was found at the lowest threshold in .80 of
    samples, by the score test in .60.

    References
    ----------
    Northrop, P. J. and Coleman, C. L. (2014). Improved threshold diagnostic plots for extreme value analyses.
    Extremes 17, 289–303. Wadsworth, J. L. (2016). Exploiting structure of maximum likelihood estimators for
    extreme value threshold selection. Technometrics 58, 116–126.

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
    u, n = different_thresholds(series, thresholds, n_thresholds, 3)
    generator, seed = checks.as_generator(rng)
    excesses = np.maximum(np.sort(series)[::-1][: n.max()] - u[:, None], 0.0)
    fits = fit_gpd_samples(Samples.from_excesses(excesses, n.astype(np.float64)), covariance=False)
    scale, shape = fits.scale, fits.shape
    regular = shape > REGULAR_ABOVE
    if not regular[:-1].all():
        first = np.flatnonzero(~regular)[0]
        said = f"ξ = {shape[first]:.3g} above {u[first]:.4g}: at −1/2 or less there is no score test"
        caution(f"{said}{', and no white noise' if first == 0 else ''}", InsufficientEvidenceWarning)
    (statistics, noise, change), change_pvalue = np.full((3, u.size), np.nan), float("nan")
    for i in np.flatnonzero(regular[:-1]):
        about = u[i:] - u[i], float(scale[i]), float(shape[i])
        statistics[i] = score_statistic(excesses[i, : n[i]], *about)
    pvalues = np.append(chdtrc(np.arange(u.size - 1, 0, -1), statistics[:-1]), np.nan)
    if regular[0]:
        noise[1:] = _white_noise(shape, n)
        change[2:] = change_statistics(noise[1:])
        drawn = _drawn_changes(float(shape[0]), n, replicates, generator)
        change_pvalue = (1.0 + float((drawn >= np.nanmax(change)).sum())) / (replicates + 1.0)
    return ThresholdTests(u, shape, statistics, pvalues, noise, change, change_pvalue, n, replicates, seed)


def _white_noise(shape: Floats, n: Counts) -> Floats:
    """Increments of ξ over thresholds (last axis) in units of their standard errors at the lowest one."""
    return np.asarray(np.diff(shape) / ((1.0 + shape[..., :1]) * np.sqrt(np.diff(1.0 / n))))


def _drawn_changes(shape: float, n: Counts, replicates: int, rng: np.random.Generator) -> Floats:
    """The largest change statistic in samples of n₀ excesses, thresholds at their order statistics."""
    drawn = np.sort(random_excesses(rng, (replicates, int(n[0])), 1.0, shape))[:, ::-1]
    shapes = np.empty((replicates, n.size))
    for j, count in enumerate(n):
        origin = 0.0 if j == 0 else drawn[:, count, None]
        shapes[:, j] = fit_gpd_samples(Samples.from_excesses(drawn[:, :count] - origin), covariance=False).shape
    return np.asarray(change_statistics(_white_noise(shapes, n)).max(axis=-1))


def score_statistic(y: Floats, v: Floats, scale: float, shape: float) -> float:
    """Score test of one shape against one from each of the thresholds v (0 first) on, at the fit of all y.

    With L_i(t) the length of [v_i, v_{i+1}] below t and s = σ + ξt, the score of an excess in ξ_i is
    ∫₀^y L_i/s² dt − L_i(y)/s(y), in σ the same with L₀ = 1; the information is ∫ L_i·L_j·s⁻³·S dt.
    """
    width = np.append(np.diff(v), np.inf)
    at, s = scale + shape * v, scale + shape * y
    inside = np.clip(y[:, None] - v, 0.0, width)
    in_shapes = (inside / at) ** 2 * _log_remainder(shape * inside / at) - inside / s[:, None]
    in_shapes[:, :-1] += width[:-1] * np.maximum(y[:, None] - v[1:], 0.0) / (at[1:] * s[:, None])
    score = np.append((y / (scale * s) - 1.0 / s).sum(), in_shapes.sum(axis=0))
    # over each interval in exponential units from its lower end, the last without end
    nodes, weights = np.polynomial.legendre.leggauss(20)
    span = exponential_scale(width[:-1] / at[:-1], np.asarray(shape))
    tau = 0.5 * span[:, None] * (nodes + 1.0)
    depth = np.append(0.0, np.cumsum(span))
    mass = 0.5 * span[:, None] * weights * np.exp(-tau - depth[:-1, None])
    information = np.zeros((v.size + 1, v.size + 1))
    passed = np.append(1.0, np.zeros(v.size))  # L₀, and L_i of the intervals that lie below
    for i in range(v.size - 1):
        basis = passed * (np.exp(-shape * tau[i]) / at[i])[:, None]
        basis[:, i + 1] = -power_ratio(-tau[i], np.asarray(shape))
        information += (basis.T * mass[i]) @ basis
        passed[i + 1] = width[i]
    one, two = 1.0 / (1.0 + shape), 1.0 / (1.0 + 2.0 * shape)
    passed /= at[-1]
    last = two * np.outer(passed, passed)
    last[-1] += one * two * passed
    last[:, -1] += one * two * passed
    last[-1, -1] += 2.0 * one * two
    information = y.size * (information + np.exp(-depth[-1]) * last)
    return float(score @ np.linalg.solve(information, score))


def _log_remainder(z: Floats) -> Floats:
    """(log(1 + z) − z/(1 + z))/z², 1/2 at 0."""
    small = np.abs(z) < 1e-2
    series = np.polynomial.polynomial.polyval(z, [(-1.0) ** k * (k + 1) / (k + 2) for k in range(9)])
    safe = np.where(small, 1.0, z)
    return np.where(small, series, (np.log1p(safe) - safe / (1.0 + safe)) / safe**2)


def change_statistics(noise: Floats) -> Floats:
    """Twice the log-likelihood ratio of N(mean, sd) against N(0, 1) for the first 2, 3, … values."""
    count = np.arange(1, noise.shape[-1] + 1)
    square = np.cumsum(noise**2, axis=-1)
    variance = square / count - (np.cumsum(noise, axis=-1) / count) ** 2
    return np.asarray((square - count * (1.0 + np.log(np.maximum(variance, 1e-300))))[..., 1:])


@serialisable(eq=False)
class ThresholdChoice(Result):
    """A threshold and how it was found.

    Attributes
    ----------
    threshold : float
    n_exceedances : int
        Values above it.
    rule : {"forward_stop", "k_largest"}
    thresholds, n : ndarray, shape (K,)
        Candidates, ascending, and the values above each.
    pvalues : ndarray of float, shape (K,)
        Goodness of fit above each; NaN where not tested.
    forward_stop : ndarray of float, shape (K,)
        −(1/i)·Σ_{j≤i} log(1 − p_j): an estimated false discovery rate of rejecting the first i; NaN where not tested.
    false_discovery_rate : float
        Allowed.
    statistic_name : str
    n_resamples : int
    seed : int or None
    """

    title: ClassVar[str] = "Threshold"
    lacks: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("estimate", "verdict"), "the choice is `threshold`"),
        **dict.fromkeys(("std_error", "confidence_interval"), "a threshold is chosen, not estimated"),
        **dict.fromkeys(("statistic", "pvalue"), "one test per candidate; see `pvalues`"),
        "comparisons": "the candidates are in to_frame()",
        "plot": "mean_residual_life(x).plot() and threshold_stability(x).plot() draw the candidates",
        "__getitem__": "a series has no groups",
    }

    threshold: float
    n_exceedances: int
    rule: str
    thresholds: Floats
    n: Counts
    pvalues: Floats
    forward_stop: Floats
    false_discovery_rate: float = float("nan")
    statistic_name: str = ""
    n_resamples: int = 0
    seed: int | None = None

    def rows(self) -> list[dict[str, Any]]:
        """One row per candidate."""
        columns = {"estimate": self.thresholds, "pvalue": self.pvalues, "n": self.n}
        columns |= {"forward_stop": self.forward_stop, "chosen": self.thresholds == self.threshold}
        each = zip(*(column.tolist() for column in columns.values()), strict=True)
        return [{"metric": "threshold", "method": self.rule, **dict(zip(columns, row, strict=True))} for row in each]

    def sentences(self) -> list[str]:
        """The choice in words."""
        return [f"Chosen: {self.threshold:g}, which {self.n_exceedances} values exceed ({self.rule})."]

    notes = sentences


def choose_threshold(
    x: Any, *, method: str = "forward_stop", k: int = 50, thresholds: Any = None, n_thresholds: int = 15,
    false_discovery_rate: float = 0.1, statistic: str = "anderson_darling", n_resamples: int = 199, rng: Any = None,
) -> ThresholdChoice:  # fmt: skip
    """Choose a threshold by a rule that can be reported.

    Parameters
    ----------
    x : array-like, shape (N,)
        The whole series.
    method : {"forward_stop", "k_largest"}
        "forward_stop": test the generalised Pareto fit above each candidate, in ascending order, and go up as long as
        the rejected candidates have at most the false discovery rate given (ForwardStop). "k_largest": the (k + 1)-th
        largest value, so that k values exceed it strictly; with ties fewer do, and the number that does is reported.
    k : int
        For "k_largest".
    thresholds, n_thresholds
        Candidates; default as for `mean_residual_life`.
    false_discovery_rate : float
        In (0, 1); over candidates that share their values the rule is conservative.
    statistic : {"anderson_darling", "cramer_von_mises"}
    n_resamples, rng
        Simulated samples per candidate, each of which has its own stream.

    Returns
    -------
    ThresholdChoice

    Raises
    ------
    InputError
        Too few values, or a candidate with fewer than ten exceedances.

    Warns
    -----
    DataWarning
        Every candidate is rejected: the highest one is returned.

    Notes
    -----
    Choosing by the same data that are fitted afterwards makes intervals a little too narrow; tests of nested samples
    are dependent, for which ForwardStop's guarantee holds only approximately (Bader et al., section 4).

    References
    ----------
    Bader, B., Yan, J. and Zhang, X. (2018). Automated threshold selection for extreme value analysis via ordered
    goodness-of-fit tests with adjustment for false discovery rate. Annals of Applied Statistics 12, 310–329. G'Sell, M.
    G. et al. (2016). Sequential selection procedures and false discovery rate control. JRSS B 78, 423–444.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import choose_threshold
    >>> x = np.random.default_rng(1).exponential(size=2000)
    >>> choose_threshold(x, method="k_largest", k=50).n_exceedances
    50
    >>> choose_threshold(x, n_thresholds=4, n_resamples=99, rng=1).n_exceedances
    1000
    """
    checks.check_choice("method", method, ("forward_stop", "k_largest"))
    checks.check_choice("statistic", statistic, tuple(STATISTICS))
    series = as_series("x", x)
    if method == "k_largest":
        return _k_largest(series, k)
    rate = checks.check_share("false_discovery_rate", false_discovery_rate, cure="0.1")
    replicates = checks.check_whole("n_resamples", n_resamples, low=19)
    u, n = usable_thresholds(series, thresholds, n_thresholds)
    generator, seed = checks.as_generator(rng)
    pvalues = _pvalues(series, u, statistic, replicates, generator)
    stop = forward_stop(pvalues)
    rejected = np.flatnonzero(stop <= rate)
    first = int(rejected[-1]) + 1 if rejected.size else 0
    if first == u.size:
        caution("the model is rejected above every candidate: the highest one is returned", DataWarning)
        first -= 1
    about = method, u, n, pvalues, stop, rate, statistic, replicates, seed
    return ThresholdChoice(float(u[first]), int(n[first]), *about)


def forward_stop(pvalues: Floats) -> Floats:
    """ForwardStop's estimate −(1/i)·Σ_{j≤i} log(1 − p_j) for every i (G'Sell et al. 2016)."""
    p = np.minimum(np.asarray(pvalues, dtype=np.float64), 1.0 - 1e-12)
    return np.cumsum(-np.log1p(-p)) / np.arange(1, p.size + 1)


def _pvalues(series: Floats, u: Floats, statistic: str, replicates: int, rng: np.random.Generator) -> Floats:
    from tqdm import tqdm

    pvalues, streams = np.empty(u.size), rng.spawn(u.size)
    for i in tqdm(range(u.size), desc="thresholds", disable=None, delay=2.0, leave=False):
        excesses = np.sort(series[series > u[i]]) - u[i]
        fits = fit_gpd_samples(Samples.from_excesses(excesses[None, :]), covariance=False)
        params = float(fits.scale[0]), float(fits.shape[0])
        pvalues[i] = excess_pvalue(excesses, *params, statistic, replicates, streams[i])[1]
    return pvalues


def _k_largest(series: Floats, k: int) -> ThresholdChoice:
    k = checks.check_whole("k", k, low=LEAST_EXCEEDANCES)
    if series.size <= k:
        allowed = "less than the number of values"
        raise InputError("k", got=f"{k} of {series.size} values", allowed=allowed, cure="a smaller k")
    threshold = float(np.partition(series, series.size - k - 1)[series.size - k - 1])
    n = int((series > threshold).sum())
    if n < k:
        caution(f"ties at the threshold {threshold:g}: {n} values exceed it, not {k}", DataWarning)
    candidate, nothing = np.array([threshold]), np.full(1, np.nan)
    return ThresholdChoice(threshold, n, "k_largest", candidate, np.array([n]), nothing, nothing)
