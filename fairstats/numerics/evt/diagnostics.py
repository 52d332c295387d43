"""Whether a model fits: goodness-of-fit tests, mean excesses over many thresholds, the exponential tail.

Tests of a fitted tail have p-values from a parametric bootstrap in which every simulated sample is fitted, too: tables
for known parameters do not apply (Choulakian & Stephens 2001). Mean excesses are linear in the threshold where the
model holds. Excesses of exponential data over their (k + 1)-th largest value are exponential again, with coefficient of
variation 1, and a heavier tail has a larger one; the joint distribution over k = k_min … k_max is simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairstats.ground import checks
from fairstats.ground.errors import InputError
from fairstats.ground.results import Comparison, Interval, Result
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.bootstrap import ExcessBatch, fit_excess_batch, fit_maxima_batch
from fairstats.numerics.evt.distributions import Counts, Floats, exponential_scale, random_excesses
from fairstats.numerics.evt.grid import GridLikelihood, cells_of
from fairstats.numerics.evt.intervals import chi2_quantile
from fairstats.numerics.evt.series import as_series, refuse_constant, usable_thresholds
from fairstats.numerics.evt.tail import FittedTail, TailTest, tail_row
from fairstats.plots.evt import plot_mean_residual_life

_RULES = ("max_cv", "paper_excess", "paper_raw")
#: Survival probabilities below e^−36 are rounding (at ξ = −1 the largest value has none). Excesses whose standard
#: deviation is so many times their mean have a heavy tail (1: exponential ones).
_FARTHEST, _HEAVY = 36.0, 1.2


@dataclass(frozen=True, eq=False)
class OverThresholds(Result):
    """A table over thresholds, with as many rows for each."""

    lacks: ClassVar[Mapping[str, str]] = {
        "pvalue": "nothing is tested; choose_threshold(x) tests the fit above each threshold",
        "statistic": "nothing is tested; choose_threshold(x) tests the fit above each threshold",
        "verdict": "nothing is judged; choose_threshold(x) chooses",
        "__getitem__": "a series has no groups",
    }

    thresholds: Floats

    def rows(self) -> list[dict[str, Any]]:
        """The rows of each threshold, in ascending order."""
        rows = super().rows()
        each = np.repeat(self.thresholds, len(rows) // self.thresholds.size)
        return [{**row, "threshold": float(u)} for row, u in zip(rows, each, strict=True)]


@serialisable()
class GoodnessOfFit(TailTest):
    """Test that a sample comes from the fitted model.

    Attributes
    ----------
    statistic_name : {"anderson_darling", "cramer_von_mises"}
    statistic : float
        A² or W².
    pvalue : float
        (1 + #{simulated ≥ observed})/(B + 1).
    n_exceedances, n_resamples : int
    seed : int or None
    model, backend : str
    """

    title: ClassVar[str] = "Goodness of fit"

    statistic_name: str
    statistic: float
    pvalue: float
    n_exceedances: int
    n_resamples: int
    seed: int | None
    model: str
    backend: str

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The only row."""
        method = f"{self.statistic_name}, parametric bootstrap"
        return (self._row(f"{self.model} fit", self.n_exceedances, method),)

    def sentences(self) -> list[str]:
        """The p-value in words, then what a large one means."""
        name = {"cramer_von_mises": "Cramér–von Mises"}.get(self.statistic_name, "Anderson–Darling")
        return [f"{name} test of the {self.model} fit: p = {self.pvalue:.3g}.", *self.notes()]

    def notes(self) -> list[str]:
        """What a large p-value means."""
        meaning = "A large p-value is no proof of the model, a small one speaks against it."
        return [f"{self.n_resamples} simulated samples, each fitted. {meaning}"]


def anderson_darling(log_cdf: Floats, log_sf: Floats) -> Floats:
    """A² = −n − mean of (2i − 1)(log F(x₍ᵢ₎) + log(1 − F(x₍ₙ₊₁₋ᵢ₎))), samples ascending on the last axis."""
    n = log_cdf.shape[-1]
    weight = (2.0 * np.arange(1, n + 1) - 1.0) / n
    return np.asarray(-n - (weight * (log_cdf + log_sf[..., ::-1])).sum(-1))


def cramer_von_mises(log_cdf: Floats, log_sf: Floats) -> Floats:
    """W² = 1/(12n) + Σ(F(x₍ᵢ₎) − (2i − 1)/(2n))²; samples ascending along the last axis."""
    n = log_cdf.shape[-1]
    middle = (2.0 * np.arange(1, n + 1) - 1.0) / (2.0 * n)
    return np.asarray(1.0 / (12.0 * n) + ((np.exp(log_cdf) - middle) ** 2).sum(-1))


STATISTICS = {"anderson_darling": anderson_darling, "cramer_von_mises": cramer_von_mises}


def goodness_of_fit(
    fit: FittedTail, statistic: str = "anderson_darling", *, n_resamples: int = 999, rng: Any = None
) -> GoodnessOfFit:
    """Test that the sample of a fit comes from its model.

    Parameters
    ----------
    fit : EvtFit
    statistic : {"anderson_darling", "cramer_von_mises"}
        A² looks more at the tails than W².
    n_resamples : int
        Simulated samples, at least 19.
    rng : None, int or Generator

    Returns
    -------
    GoodnessOfFit

    References
    ----------
    Choulakian, V. and Stephens, M. A. (2001). Goodness-of-fit tests for the generalized Pareto distribution.
    Technometrics 43, 478–484. Choulakian, V., Lockhart, R. A. and Stephens, M. A. (1994). Cramér–von Mises statistics
    for discrete distributions. Canadian Journal of Statistics 22, 125–137.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import fit_gpd, goodness_of_fit
    >>> x = np.random.default_rng(1).exponential(size=2000)
    >>> goodness_of_fit(fit_gpd(x, threshold=2.0, backend="scipy"), rng=1).pvalue > 0.05
    True
    """
    checks.check_choice("statistic", statistic, tuple(STATISTICS))
    replicates = checks.check_whole("n_resamples", n_resamples, low=19)
    generator, seed = checks.as_generator(rng)
    checks.check_type("fit", fit, FittedTail, "a fit of fairstats.evt", "fit_gpd(x, threshold)")
    if fit.model == "gev":
        simulated = np.sort(fit.quantile(generator.random((replicates, fit.n_exceedances))), axis=1)
        refitted = fit_maxima_batch(simulated, fit.method)
        measured = _measured(statistic, _maxima_logs, fit.sample, fit.params.values(), simulated, refitted)
    elif fit.grid is not None:
        measured = cell_pvalue(fit, statistic, replicates, generator)
    else:
        excesses, (scale, shape) = fit.sample - fit.origin, fit.excess_params
        measured = excess_pvalue(excesses, float(scale), float(shape), statistic, replicates, generator, fit.method)
    return GoodnessOfFit(statistic, *measured, fit.n_exceedances, replicates, seed, fit.model, fit.backend)


def cell_pvalue(fit: FittedTail, statistic: str, replicates: int, rng: np.random.Generator) -> tuple[float, float]:
    """Statistic and p-value of rounded values, by their cells (Choulakian, Lockhart & Stephens 1994)."""
    scale, shape = fit.excess_params
    width, n = float(fit.grid or 1.0), fit.n_exceedances
    place, count = cells_of(fit.sample, fit.origin, width)
    simulated = np.floor(random_excesses(rng, (replicates, n), float(scale), float(shape)) / width)
    cells = np.union1d(place, simulated)
    counts = np.stack([np.bincount(np.searchsorted(cells, row), minlength=cells.size) for row in simulated])
    observed = np.zeros((1, cells.size))
    observed[0, np.searchsorted(cells, place)] = count
    # of a fine grid each value by itself: most cells of a sample are empty
    at, number = (cells, counts.astype(np.float64)) if cells.size < n else (simulated, np.ones_like(simulated))
    drawn = GridLikelihood.of_counts(at, number, width, float(n), "fixed").fits.params
    params = np.vstack([[scale, shape], drawn])
    with np.errstate(all="ignore"):
        z = exponential_scale(np.append(cells, cells[-1] + 1.0) * width / params[:, :1], params[:, 1:])
        below = 1.0 - np.exp(-np.where(np.isnan(z), np.inf, z))
    below[:, -1] = 1.0
    mass, below = np.diff(below, axis=1), below[:, 1:]
    off = np.cumsum(np.vstack([observed, counts]), axis=1) - n * below
    weight = np.maximum(below * (1.0 - below), 1e-12) if statistic == "anderson_darling" else 1.0
    values = (off**2 * mass / weight).sum(axis=1) / n
    return float(values[0]), (1.0 + float((values[1:] >= values[0]).sum())) / (replicates + 1.0)


def excess_pvalue(
    excesses: Floats, scale: float, shape: float, statistic: str, replicates: int, rng: np.random.Generator,
    method: str = "mle",
) -> tuple[float, float]:  # fmt: skip
    """Statistic and p-value of ascending excesses with the parameters fitted to them."""
    simulated = random_excesses(rng, (replicates, excesses.size), scale, shape)
    simulated.sort(axis=1)
    batch = ExcessBatch(simulated, np.full(replicates, float(excesses.size)), np.zeros(replicates))
    refitted = fit_excess_batch(batch, method)
    return _measured(statistic, _excess_logs, excesses, (scale, shape), simulated, refitted)


def _measured(
    statistic: str, logs: Callable[..., tuple[Floats, Floats]], sample: Floats, params: Iterable[float],
    simulated: Floats, refitted: tuple[Floats, ...],
) -> tuple[float, float]:  # fmt: skip
    """Statistic and p-value of an ascending sample, from the refitted samples that have a maximum."""
    measure = STATISTICS[statistic]
    observed = float(measure(*logs(sample[None, :], *(np.array([value]) for value in params)))[0])
    values = measure(*logs(simulated, *refitted))
    values = values[~np.isnan(values)]
    return observed, (1.0 + float((values >= observed).sum())) / (values.size + 1.0)


def _excess_logs(excesses: Floats, scale: Floats, shape: Floats) -> tuple[Floats, Floats]:
    """Log distribution and log survival function of each row under its own parameters."""
    e = np.clip(exponential_scale(excesses / scale[:, None], shape[:, None]), 1e-300, _FARTHEST)
    return np.log(-np.expm1(-e)), -e


def _maxima_logs(maxima: Floats, location: Floats, scale: Floats, shape: Floats) -> tuple[Floats, Floats]:
    z = (maxima - location[:, None]) / scale[:, None]
    e = np.clip(exponential_scale(z, shape[:, None]), -6.5, _FARTHEST)
    log_cdf = -np.exp(-e)
    return log_cdf, np.log(-np.expm1(log_cdf))


@serialisable(eq=False)
class MeanResidualLife(OverThresholds):
    """Mean excess over each threshold.

    Attributes
    ----------
    thresholds : ndarray of float, shape (K,)
    mean_excess, std_error, low, high : ndarray of float, shape (K,)
        Mean of x − u over x > u, its standard error, and the normal interval.
    n_exceedances : ndarray of int, shape (K,)
    confidence_level : float
    """

    title: ClassVar[str] = "Mean residual life"
    backend: ClassVar[str] = "numpy"  # what computes

    mean_excess: Floats
    std_error: Floats
    low: Floats
    high: Floats
    n_exceedances: Counts
    confidence_level: float

    plot = plot_mean_residual_life

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """One row per threshold."""
        ends = zip(self.low.tolist(), self.high.tolist(), strict=True)
        intervals = [Interval(low, high, self.confidence_level, "normal") for low, high in ends]
        columns = (self.mean_excess, intervals, self.n_exceedances, self.std_error)
        return tuple(tail_row("mean excess", *row) for row in zip(*columns, strict=True))

    def sentences(self) -> list[str]:
        """The ends of the range, and how to read the rest."""
        low, high = (f"{self.mean_excess[i]:.4g} above {self.thresholds[i]:g}" for i in (0, -1))
        said = f"The mean excess goes from {low} to {high} ({self.thresholds.size} thresholds)."
        return [said, *self.notes()]

    def notes(self) -> list[str]:
        """How to read it."""
        lines = ["Above a good threshold the mean excess is linear in it, with slope ξ/(1 − ξ)."]
        if np.any(self.std_error * np.sqrt(self.n_exceedances) > _HEAVY * self.mean_excess):
            lines.append("Excesses vary more than exponential ones: normal intervals of their mean are too short.")
        return lines


def mean_residual_life(
    x: Any, thresholds: Any = None, *, n_thresholds: int = 40, confidence_level: float = 0.95
) -> MeanResidualLife:
    """Mean excess over each of many thresholds, with normal intervals (Coles 2001, section 4.3.1).

    Parameters
    ----------
    x : array-like, shape (N,)
        The whole series.
    thresholds : array-like, optional
        Each with at least ten exceedances. Default: `n_thresholds` values from the median to the value that
        ten exceed, their numbers of exceedances in geometric progression.
    n_thresholds : int
    confidence_level : float

    Returns
    -------
    MeanResidualLife

    Raises
    ------
    InputError
        Values that are no finite numbers, or a threshold with fewer than ten exceedances.

    Notes
    -----
    A picture to look at: of a heavy tail the mean is skewed, and with 200 exceedances the 95% intervals cover .94 to
    .95 for ξ ≤ .2, .92 at ξ = .3 and .90 at .4. A note says so where the standard deviation of the excesses over some
    threshold is more than 1.2 times their mean, which it is in 1% of samples at ξ = 0 and in 86% at ξ = .3.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import mean_residual_life
    >>> life = mean_residual_life(np.random.default_rng(1).exponential(size=5000), [1.0, 2.0])
    >>> life.mean_excess.round(2)
    array([0.98, 1.03])
    """
    series = as_series("x", x)
    level = checks.check_confidence_level(confidence_level)
    u, n = usable_thresholds(series, thresholds, n_thresholds)
    ordered = np.sort(series)
    mean, error = np.empty(u.size), np.empty(u.size)
    for i, (threshold, count) in enumerate(zip(u, n, strict=True)):
        excesses = ordered[ordered.size - count :] - threshold
        mean[i], error[i] = excesses.mean(), excesses.std(ddof=1) / np.sqrt(count)
    reach = np.sqrt(chi2_quantile(level)) * error
    return MeanResidualLife(u, mean, error, mean - reach, mean + reach, n, level)


@serialisable(eq=False)
class ExponentialityTest(TailTest):
    """Test of an exponential tail against a heavier one.

    Attributes
    ----------
    statistic : float
        max over k of (CV_k − E CV_k)/sd_k; for the paper's rules, max of CV_k less its bound 1 + 1/(4k).
    pvalue : float
        One-sided, simulated; NaN for the paper's rules, which have no level.
    critical_value : float
        Of the statistic at the level of this look (0 for the paper's rules).
    passed : bool
        Not shown heavier than exponential: p-value above the level of this look.
    rule : {"max_cv", "paper_excess", "paper_raw"}
    k : ndarray of int, shape (K,)
        Numbers of largest values.
    cv, standardised : ndarray of float, shape (K,)
        CV_k and (CV_k − E CV_k)/sd_k.
    confidence_level : float
        1 − the level of all looks together.
    max_looks : int or None
        Looks that share that level; None: no such limit was stated.
    n_resamples : int
    seed : int or None
    """

    title: ClassVar[str] = "Exponential tail"
    in_row: ClassVar[tuple[str, ...]] = ("critical_value", "passed")
    backend: ClassVar[str] = "numpy"  # what simulates

    statistic: float
    pvalue: float
    critical_value: float
    passed: bool
    rule: str
    k: Counts
    cv: Floats
    standardised: Floats
    confidence_level: float
    max_looks: int | None
    n_resamples: int
    seed: int | None

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The only row."""
        return (self._row("exponential tail", int(self.k[-1]), self.rule),)

    def sentences(self) -> list[str]:
        """The p-value in words, and what passing means."""
        passed = "passed" if self.passed else "not passed"
        how = f"p = {self.pvalue:.3g}" if self.rule == "max_cv" else passed
        return [f"Test of an exponential tail against a heavier one ({self.rule}): {how}.", *self.notes()]

    def notes(self) -> list[str]:
        """What passing means."""
        if self.rule != "max_cv":
            return ["The paper's rule: it has no error level; see exponentiality_test for how often it passes."]
        verdict = "not shown heavier than exponential" if self.passed else "heavier than exponential"
        level = 1.0 - self.confidence_level
        look = f"One look at level {level:g}"
        if self.max_looks is None:
            verdict = verdict.replace("not shown", "passed by stopping rule, no error guarantee: not shown")
            look += ", repeated without a stated limit"
        elif self.max_looks > 1:
            look = f"One of at most {self.max_looks} looks, level {level / self.max_looks:.3g} each"
        return [f"{look}: {verdict} (k = {self.k[0]}…{self.k[-1]})."]


def exponentiality_test(
    x: Any, *, k_min: int = 10, k_max: int = 50, rule: str = "max_cv", confidence_level: float = 0.95,
    max_looks: int | None = 1, n_resamples: int = 9999, rng: Any = None,
) -> ExponentialityTest:  # fmt: skip
    """Test that the tail of x is exponential, against a heavier one.

    Parameters
    ----------
    x : array-like, shape (N,)
        More than `k_max` values.
    k_min, k_max : int
        Numbers of largest values to look at: CV_k is that of the excesses of the k largest over the (k + 1)-th.
    rule : {"max_cv", "paper_excess", "paper_raw"}
        "max_cv": max over k of (CV_k − E CV_k)/sd_k, moments and critical value under the exponential. The other two
        are the rules of Monjezi et al.: CV_k < 1 + 1/(4k) for every k, on excesses and on raw values.
    confidence_level : float
        1 − α, with α the level of the test, of all looks together.
    max_looks : int or None
        Where the test is repeated on a growing sample: how often at the most, stated beforehand. Each look has the
        level α/`max_looks`, so that an exponential tail is rejected at any of them with probability α at the most
        (conservative). None: looks at level α without a limit; the result then says that passing has no error
        guarantee.
    n_resamples : int
        Simulated exponential samples.
    rng : None, int or Generator

    Returns
    -------
    ExponentialityTest

    Raises
    ------
    InputError
        Fewer than k_max + 1 values, or the largest ones all equal.

    Notes
    -----
    The critical value for k = 10…50 at 5% is about 2.75. 1/(4k) is a bias adjustment, not a critical value: on excesses
    the paper's rule passes a true exponential tail only 24% of the time, and ξ = .3 4%; repeated until it passes, 78%
    and 24% in 20 looks, 86% and 32% in 50. On raw values it passes 100% for ξ ≤ .1 and 71% at ξ = .5. (2,000 values a
    look; `vignettes/calibration.md`.) Power of "max_cv" at one look: 46% for ξ = .3, 74% for .5, 89% for .7.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import exponentiality_test
    >>> rng = np.random.default_rng(1)
    >>> exponentiality_test(rng.exponential(size=2000), rng=1).passed
    True
    >>> exponentiality_test(rng.standard_cauchy(size=2000), rng=1).passed
    False
    """
    checks.check_choice("rule", rule, _RULES)
    series = as_series("x", x)
    k_min = checks.check_whole("k_min", k_min, low=2)
    k_max = checks.check_whole("k_max", k_max, low=k_min)
    replicates = checks.check_whole("n_resamples", n_resamples, low=99)
    # rounded: 1 − 0.95 is not 0.05, and p-values are compared with it
    alpha = round(1.0 - checks.check_confidence_level(confidence_level), 12)
    level = alpha / (1 if max_looks is None else checks.check_whole("max_looks", max_looks, low=1, high=10**6))
    if series.size <= k_max:
        got, cure = f"{k_max} for a series of {series.size} values", "a smaller k_max, or more values"
        raise InputError("k_max", got=got, allowed="less than the number of values", cure=cure)
    top = np.sort(np.partition(series, series.size - k_max - 1)[-(k_max + 1) :])[::-1]
    refuse_constant("x", top[k_min::-1], "largest values")
    k = np.arange(k_min, k_max + 1)
    generator, seed = checks.as_generator(rng)
    cv = coefficients_of_variation(top[None, :], k)[0]
    null = coefficients_of_variation(_exponential_top(generator, replicates, k_max), k)
    mean, sd = null.mean(axis=0), null.std(axis=0, ddof=1)
    standardised = (cv - mean) / sd
    if rule == "max_cv":
        maxima, statistic = ((null - mean) / sd).max(axis=1), float(standardised.max())
        pvalue = (1.0 + float((maxima >= statistic).sum())) / (replicates + 1.0)
        critical, passed = float(np.quantile(maxima, 1.0 - level)), pvalue > level
    else:
        if rule == "paper_raw":
            cv = coefficients_of_variation(top[None, :], k, raw=True)[0]
        statistic, pvalue, critical = float((cv - 1.0 - 0.25 / k).max()), float("nan"), 0.0
        passed = statistic < 0.0
    about = k, cv, standardised, confidence_level, max_looks, replicates, seed
    return ExponentialityTest(statistic, pvalue, critical, passed, rule, *about)


def coefficients_of_variation(top: Floats, k: Counts, *, raw: bool = False) -> Floats:
    """CV of the excesses of the k largest values over the (k + 1)-th; of the values themselves where `raw`.

    Standard deviation (divisor k − 1) over mean, shape (B, K), of `top` values in descending order, shape (B,
    k_max + 1). Excesses that are all 0 have CV 0, values whose mean is 0 an infinite one.
    """
    shifted = top - top[:, -1:]
    mean = np.cumsum(shifted, axis=1)[:, k - 1] / k
    squares = np.cumsum(shifted**2, axis=1)[:, k - 1] / k
    spread = np.sqrt(np.maximum(squares - mean**2, 0.0) * k / (k - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        if raw:
            level = np.abs(mean + top[:, -1:])
            return np.where(level != 0, spread / level, np.inf)
        excess = mean - shifted[:, k]
        return np.where(excess > 0, spread / excess, 0.0)


def _exponential_top(rng: np.random.Generator, replicates: int, k_max: int) -> Floats:
    """Largest values of exponential samples less the (k_max + 1)-th, descending (Rényi's representation)."""
    spacings = rng.standard_exponential((replicates, k_max)) / np.arange(1, k_max + 1)
    top = np.zeros((replicates, k_max + 1))
    top[:, :-1] = np.cumsum(spacings[:, ::-1], axis=1)[:, ::-1]
    return top
