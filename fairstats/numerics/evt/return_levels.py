"""Return levels: estimates, their intervals, and the test of a value.

The level that one of m observations exceeds on average is, with λ the rate of exceedances of u,

    r = u + σ·[(m·λ)^ξ − 1]/ξ,
    r = μ + σ·(e^(ξτ) − 1)/ξ,  τ = −log(−log(1 − 1/m)),  of block maxima

(Coles 2001, equations 4.12 and 3.4; u + σ·log(m·λ) at ξ = 0). The delta method has the variance
∇rᵀV∇r with ∇r in (σ, ξ, λ) and Var λ̂ = λ(1 − λ)/N (equation 4.15). Intervals by likelihood are in
`intervals`, draws of tails with ξ < −1/2 in `bootstrap`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np
from scipy.special import chdtrc, ndtri

from fairstats.ground import checks
from fairstats.ground.checks import SeedOrGenerator
from fairstats.ground.errors import InputError
from fairstats.ground.multiplicity import two_sided_pvalue
from fairstats.ground.results import Comparison, HypothesisTest, Interval, Result
from fairstats.ground.serialise import serialisable
from fairstats.numerics.evt.bootstrap import (
    POWER_TAIL,
    PowerTail,
    resampled_levels,
    root_of_draws,
    simulated_deviances,
)
from fairstats.numerics.evt.distributions import (
    Floats,
    Numbers,
    power_ratio,
    power_ratio_shape_derivative,
)
from fairstats.numerics.evt.intervals import chi2_quantile
from fairstats.numerics.evt.series import as_series
from fairstats.numerics.evt.tail import (
    FEW_EXCEEDANCES,
    PROFILE,
    SIGNED_ROOT,
    FittedTail,
    TailEstimate,
)

#: Intervals that end too low, as named in results.
DELTA = "delta"
RESAMPLES = "bootstrap percentiles"
_METHODS = ("auto", "signed_root", "profile", "power_tail", "delta", "bootstrap")


@serialisable(kw_only=True)
class ReturnLevel(TailEstimate):
    """The level of m observations.

    Attributes
    ----------
    m : float
        Observations (blocks, for block maxima).
    estimate : float
    std_error : float
        Delta-method standard error (bootstrap: standard deviation of the replicates); NaN where the
        fit is not regular.
    confidence_interval : Interval
    critical_value : float or None
        What the deviance was compared with: the χ² quantile, or the simulated one; None for other
        methods.
    rate : {"estimated", "fixed"}
        Whether the rate of exceedances is part of the interval.
    model : str
    n_total : int
    n_resamples, seed : int or None
        Of a bootstrap or a calibration.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import fit_gpd
    >>> x = np.random.default_rng(1).standard_exponential(1000)
    >>> level = fit_gpd(x, threshold=2.0, backend="scipy").return_level(10_000)
    >>> round(level.estimate, 1), [round(end, 1) for end in level.confidence_interval]
    (11.2, [8.1, 27.5])
    """

    title: ClassVar[str] = "Return level"
    metric: ClassVar[str] = "return level of {0.m:g}"
    in_row: ClassVar[tuple[str, ...]] = ("std_error", "m")

    m: float
    std_error: float
    critical_value: float | None
    rate: str
    model: str
    n_total: int
    n_resamples: int | None
    seed: int | None

    def notes(self) -> list[str]:
        """Meaning and settings."""
        if self.model == "gev":
            event_in_words = "a block's maximum"
        else:
            event_in_words = "an observation"
        note_lines = [
            f"Exceeded by {event_in_words} with probability 1/{self.m:g}. {super().notes()[0]}"
        ]
        if self.rate == "fixed":
            note_lines.append(
                "The rate of exceedances is taken as known: too narrow, for comparison with evd"
                " only."
            )
        if self.confidence_interval.method in (DELTA, RESAMPLES):
            note_lines.append(
                "The upper end is too low, since a level's likelihood is skewed: for inference take"
                " the default method."
            )
        by_chi2 = self.confidence_interval.method == PROFILE and self.model != "gev"
        if self.n_exceedances < FEW_EXCEEDANCES and by_chi2:
            coverage = (
                "a 95% likelihood interval by χ² is too narrow (above a threshold it covers 88–93%"
                " at 30)"
            )
            few_in_words = f"{self.n_exceedances} values, fewer than {FEW_EXCEEDANCES}"
            note_lines.append(
                f"{few_in_words}: {coverage}; method='signed_root', the default, allows for it."
            )
        return note_lines


@serialisable()
class ReturnLevels(Result):
    """The levels of several numbers of observations.

    Attributes
    ----------
    levels : tuple of ReturnLevel
        One for each, in the order asked for; each interval is for itself.
    """

    title: ClassVar[str] = "Return levels"
    lacks: ClassVar[Mapping[str, str]] = TailEstimate.lacks

    levels: tuple[ReturnLevel, ...]

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """One row per level."""
        return tuple(level_result.comparisons[0] for level_result in self.levels)

    @property
    def backend(self) -> str:
        """What computed the fit."""
        return self.levels[0].backend

    def rows(self) -> list[dict[str, Any]]:
        """One row per level, with `m` and its standard error."""
        result: list[dict[str, Any]] = []
        for level_result in self.levels:
            for level_row in level_result.rows():
                result.append(level_row)
        return result

    def sentences(self) -> list[str]:
        """Each level in words."""
        return [level_result.sentences()[0] for level_result in self.levels]


@overload
def return_level(fit: FittedTail, m: float, **settings: Any) -> ReturnLevel: ...
@overload
def return_level(fit: FittedTail, m: Sequence[float] | Floats, **settings: Any) -> ReturnLevels: ...
def return_level(  # type: ignore[misc] # the settings are written out once
    fit: FittedTail,
    m: Any,
    *,
    method: str = "auto",
    rate: str = "estimated",
    confidence_level: float | None = None,
    calibrated: bool = False,
    n_resamples: int = 999,
    rng: SeedOrGenerator = None,
) -> ReturnLevel | ReturnLevels:
    """Level of m observations: RL(m) = u + σ/ξ·((mλ)^ξ − 1), the 1 − 1/m quantile.

    Parameters
    ----------
    m : float, or several of them
        Observations, or blocks for block maxima (m > 1). On average at least one of m exceeds the
        threshold (m·λ ≥ 1).
    method : {"auto", "signed_root", "profile", "power_tail", "delta", "bootstrap"}
        "auto": above a threshold a likelihood interval by the standardised signed root
        ("signed_root", see the notes) or, for shapes below −1/2, where the likelihood is not
        regular, fiducial draws of a power tail, whose median is the estimate
        (`fairstats.numerics.evt.bootstrap`; not of values on a grid or tied at the maximum); of
        block maxima, and with a fixed rate, a likelihood interval by χ² ("profile"). A normal
        interval by the delta method (regular fits only); or percentiles of resamples of all N
        values, each with a threshold of its own.
    rate : {"estimated", "fixed"}
        "fixed" takes the rate λ as known, only to compare with evd and extRemes: it covers 38–43%
        at m·λ = 1.2.
    confidence_level : float, optional
        Default: the fit's.
    calibrated : bool
        Compare the likelihood ratio with its simulated distribution under the fitted model
        ("profile").
    n_resamples : int
        Resamples, or simulated samples; at least 19.
    rng : None, int or Generator

    Returns
    -------
    ReturnLevel, or ReturnLevels with a row for each of several m
        In the units of the data. Seeds are those of the single calls.

    Raises
    ------
    InputError
        m too small, or none; a delta interval of a fit that is not regular; a likelihood interval
        of a fit by L-moments; a bootstrap of a fit that was read from a dictionary, which does not
        carry the series.

    Notes
    -----
    The profile is over (λ, σ, ξ), the binomial likelihood of the number of exceedances included
    (Poisson for the point process). By χ² the interval of few exceedances is too narrow, mostly at
    its upper end (at 30 it covers .88 to .93). "signed_root" holds the levels whose signed root
    sign(r̂ − r)·√deviance lies within ±z after its mean and standard deviation are taken off, a(ξ,
    s)/√k and √(1 + b(ξ, s)/k) with s = log(m·λ), at the shape ξ that fits best with that level:
    tables simulated once (`tests/calibration/roots.py`). It covers .93 to .965 from 20 exceedances
    on, with errors up to .05, and comes to the χ² interval as k grows. Delta intervals are for
    display: the likelihood interval is skewed and covers better; the upper end of delta and
    bootstrap intervals is too low.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import fit_gpd
    >>> x = np.random.default_rng(1).exponential(size=5000)
    >>> fit = fit_gpd(x, threshold=3.0, backend="scipy")
    >>> level = fit.return_level(1000)
    >>> round(level.estimate, 2), [round(end, 2) for end in level.confidence_interval]
    (6.92, [6.44, 7.88])
    >>> fit.return_level(1000, method="delta").confidence_interval.width < level.confidence_interval.width
    True
    >>> fit.return_level([100, 1000]).to_frame()[["m", "estimate"]].round(2).to_numpy().tolist()
    [[100.0, 4.67], [1000.0, 6.92]]
    """
    has_several = isinstance(m, Iterable) and not isinstance(m, str) and getattr(m, "ndim", True)
    periods = [m]
    if has_several:
        periods = (
            checks.finite_array("m", m, "a number of observations, or several").ravel().tolist()
        )
        checks.check_that(periods, "m", m, "a number of observations, or several", "[100, 1000]")
    checks.check_choice("method", method, _METHODS)
    checks.check_choice("rate", rate, ("estimated", "fixed"))
    calibrated = checks.check_flag("calibrated", calibrated)
    interval_level = fit._level_of(confidence_level)
    by_root = fit.by_root and rate == "estimated"
    if method == "auto":
        if by_root and not calibrated:
            likelihood_method = "signed_root"
        else:
            likelihood_method = "profile"
        if fit.by_power and rate == "estimated" and not calibrated:
            method = "power_tail"
        else:
            method = likelihood_method
    if method == "signed_root":
        fit.need_likelihood()
        checks.check_that(
            by_root, "method", method, "'profile' of block maxima, or with a fixed rate"
        )
    log_periods = np.array([fit._log_period(period) for period in periods])
    periods = [float(period) for period in periods]
    intervals: list[Any] = [None] * log_periods.size
    if method == "power_tail":
        intervals = list(power_levels(fit, periods, interval_level))
    if method == "signed_root":
        targets = np.full(log_periods.size, chi2_quantile(interval_level))
        intervals = list(
            zip(
                *fit._profile_likelihood().level_interval(log_periods, targets, standardised=True),
                strict=True,
            )
        )
    period_ends = zip(periods, log_periods, intervals, strict=True)
    settings = _LevelSettings(
        method=method,
        rate=rate,
        interval_level=interval_level,
        calibrated=calibrated,
        n_resamples=n_resamples,
        rng=rng,
    )
    level_results = tuple(
        _find_level(fit, m, tau, known_ends, settings) for m, tau, known_ends in period_ends
    )
    if has_several:
        return ReturnLevels(level_results)
    return level_results[0]


@dataclass(frozen=True)
class _LevelSettings:
    """How levels are inferred: the arguments of `return_level` that are the same for all."""

    method: str
    rate: str
    interval_level: float
    calibrated: bool
    n_resamples: int
    rng: SeedOrGenerator


def _find_level(
    fit: FittedTail,
    m: float,
    tau: float,
    known_ends: Any,
    settings: _LevelSettings,
) -> ReturnLevel:
    """Level of m observations; `known_ends`: its ends by the signed root or, with the estimate
    between, by a power tail.
    """
    estimate = _level_estimate(fit, tau)
    std_error = _delta_error(fit, m, tau, settings.rate)
    critical_deviance: float | None = None
    replicates = None
    seed = None
    if settings.method == "signed_root":
        lower_end, upper_end = known_ends
        method_name = SIGNED_ROOT
    elif settings.method == "power_tail":
        lower_end, estimate, upper_end = known_ends
        method_name = POWER_TAIL
    elif settings.method == "profile":
        fit.need_likelihood()
        critical_deviance = chi2_quantile(settings.interval_level)
        method_name = PROFILE
        if settings.calibrated:
            generator, seed = checks.as_generator(settings.rng)
            replicates = checks.check_whole("n_resamples", settings.n_resamples, low=19)
            simulated = simulated_deviances(fit, tau, estimate, replicates, generator)
            critical_deviance = float(
                np.quantile(simulated, settings.interval_level, method="higher")
            )
            method_name = "profile likelihood, calibrated by parametric bootstrap"
        lower_end, upper_end = _profile_interval(fit, tau, critical_deviance, settings.rate)
    elif settings.method == "delta":
        if not fit.regular:
            got = f"'delta' for a shape of {fit.shape:.3g}"
            allowed = "'delta' where standard errors exist (ξ > −1/2; L-moments: ξ < 1/2)"
            raise InputError("method", got=got, allowed=allowed, cure="method='profile'")
        half_width = float(ndtri(0.5 + 0.5 * settings.interval_level)) * std_error
        method_name = DELTA
        lower_end = estimate - half_width
        upper_end = estimate + half_width
    else:
        generator, seed = checks.as_generator(settings.rng)
        replicates = checks.check_whole("n_resamples", settings.n_resamples, low=19)
        resampled = resampled_levels(fit, tau, replicates, generator)
        lower_end, upper_end = np.quantile(
            resampled, [0.5 - 0.5 * settings.interval_level, 0.5 + 0.5 * settings.interval_level]
        )
        std_error = float(resampled.std(ddof=1))
        method_name = RESAMPLES
    interval = Interval(
        low=float(lower_end),
        high=float(upper_end),
        confidence_level=settings.interval_level,
        method=f"{method_name}, rate fixed" if settings.rate == "fixed" else method_name,
    )
    return ReturnLevel(
        m=m,
        estimate=estimate,
        std_error=std_error,
        confidence_interval=interval,
        critical_value=critical_deviance,
        rate=settings.rate,
        model=fit.model,
        n_total=fit.n_total,
        n_resamples=replicates,
        seed=seed,
        **fit.source,
    )


def power_draws(
    fit: FittedTail, m: float | None, rng: np.random.Generator | None = None
) -> PowerTail:
    """Draws of the power tail of a fit, for a level or (m None) for its end point.

    InputError where there is none.
    """
    return _power_tails(fit, [m], rng)[0]


def power_levels(fit: FittedTail, periods: Sequence[float], confidence_level: float) -> Floats:
    """Lower end, estimate (the median) and upper end of levels by the power tail, shape (Q, 3)."""
    probabilities = [0.5 - 0.5 * confidence_level, 0.5, 0.5 + 0.5 * confidence_level]
    power_tails = _power_tails(fit, periods)
    return np.stack(
        [
            np.quantile(power_tail.level(period), probabilities)
            for power_tail, period in zip(power_tails, periods, strict=True)
        ]
    )


def _power_tails(
    fit: FittedTail, periods: Sequence[float | None], rng: np.random.Generator | None = None
) -> list[PowerTail]:
    """Tails by the power of the distance to the end point (`power_tail`), one for each period."""
    fit_kind = "block maxima or of a grid"
    allowed = "a fit of unrounded values above a threshold"
    power_tails: list[PowerTail] = []
    if fit.model != "gev" and fit.grid is None:
        fit_kind = "values tied at the maximum"
        allowed = "a largest value that is there once"
        power_tails = PowerTail.of_each(fit.sample, fit.n_total, periods, rng)
    if not power_tails:
        raise InputError(
            "method",
            got=f"'power_tail' of {fit_kind}",
            allowed=allowed,
            cure="method='profile'",
        )
    return power_tails


def return_level_test(
    fit: FittedTail,
    m: float,
    level: float,
    *,
    method: str = "auto",
    n_resamples: int = 0,
    rng: SeedOrGenerator = None,
) -> HypothesisTest:
    """Likelihood-ratio test of RL(m) = level, two-sided.

    The fit is by maximum likelihood; `level` is in the units of the data. Above a threshold
    ("auto") the statistic is the standardised signed root of the deviance, normal, as in
    `return_level` (for shapes below −1/2 the normal quantile of the share of draws of the power
    tail): the test rejects where that interval ends. By "profile", and of block maxima, it is the
    deviance, with χ² of one degree of freedom or, with `n_resamples`, the p-value (1 + #{simulated
    ≥ observed})/(B + 1) under the fitted model.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import fit_gpd
    >>> x = np.random.default_rng(1).exponential(size=5000)
    >>> fit = fit_gpd(x, threshold=3.0, backend="scipy")
    >>> round(fit.test_return_level(1000, np.log(1000)).pvalue, 3)
    0.87
    """
    fit.need_likelihood()
    checks.check_choice("method", method, ("auto", "profile"))
    tau = fit._log_period(m)
    level = checks.check_number("level", level, low=-checks.LARGEST, high=checks.LARGEST)
    replicates = checks.check_whole("n_resamples", n_resamples, low=0)
    null_hypothesis = f"return level of {m:g} = {level:g}"
    if (fit.by_power or fit.by_root) and method == "auto" and not replicates:
        if fit.by_power:
            signed_root = root_of_draws(power_draws(fit, m).level(m), level)
            test_name = POWER_TAIL
        else:
            signed_root = fit._profile_likelihood().level_root(tau, level)
            test_name = SIGNED_ROOT
        return HypothesisTest(
            null=null_hypothesis,
            alternative="two-sided",
            statistic=signed_root,
            pvalue=two_sided_pvalue(signed_root),
            method=test_name,
        )
    deviance = float(fit._profile_likelihood().level_deviance(tau, np.array([level]))[0])
    pvalue = float(chdtrc(1.0, deviance))
    test_name = "likelihood ratio"
    if replicates:
        generator, _ = checks.as_generator(rng)
        checks.check_whole(
            "n_resamples",
            replicates,
            low=19,
            cure="n_resamples=999, or 0 for the limit distribution",
        )
        simulated = simulated_deviances(fit, tau, _level_estimate(fit, tau), replicates, generator)
        pvalue = (1.0 + float((simulated >= deviance).sum())) / (simulated.size + 1.0)
        test_name = "likelihood ratio, calibrated by parametric bootstrap"
    return HypothesisTest(
        null=null_hypothesis,
        alternative="two-sided",
        statistic=deviance,
        pvalue=pvalue,
        method=test_name,
    )


def _level_estimate(fit: FittedTail, tau: float) -> float:
    origin, scale, shape = fit.law
    return origin + scale * float(
        power_ratio(np.asarray(tau + np.log(fit.rate)), np.asarray(shape))
    )


def _delta_error(fit: FittedTail, m: float, tau: float, rate: str) -> float:
    if not fit.regular:
        return float("nan")
    if fit.model == "gev":
        s = np.asarray(tau)
        xi = np.asarray(fit.shape)
        gradient = np.array(
            [1.0, power_ratio(s, xi), fit.scale * power_ratio_shape_derivative(s, xi)]
        )
        return float(np.sqrt(gradient @ fit.covariance @ gradient))
    scale, shape = fit.excess_params
    if rate == "fixed":
        rate_variance = 0.0
    else:
        rate_variance = fit.rate / fit.n_total
    if fit.model == "gpd":
        rate_variance *= 1.0 - fit.rate
    return float(
        excess_level_error(scale, shape, fit.excess_cov, fit.rate, rate_variance, float(m))
    )


def _profile_interval(
    fit: FittedTail,
    tau: float,
    critical: float,
    rate: str,
) -> tuple[float, float]:
    if rate == "fixed" and fit.model != "gev" and tau + np.log(fit.rate) <= 0:
        return fit.origin, fit.origin  # with a known rate, the level of m = 1/λ is the threshold
    low, high = fit._profile_likelihood(rate=rate).level_interval(
        np.array([tau]), np.array([critical])
    )
    return float(low[0]), float(high[0])


def excess_level_error(
    scale: Floats,
    shape: Floats,
    covariance: Floats,
    rate: Numbers,
    rate_variance: Numbers,
    m: float,
) -> Floats:
    """Standard error of the return level of m observations, shape (...) (Coles 2001, eq. 4.15).

    `covariance` is that of (σ, ξ), shape (..., 2, 2); the variance of the rate λ is λ(1 − λ)/N
    binomial, λ/N Poisson, 0 where it is taken as known. The gradient in (σ, ξ, λ) is (((mλ)^ξ −
    1)/ξ, σ·∂/∂ξ, σ·(mλ)^ξ/λ).
    """
    s = np.asarray(np.log(m * rate))
    in_scale = power_ratio(s, shape)
    in_shape = scale * power_ratio_shape_derivative(s, shape)
    variance = (
        in_scale**2 * covariance[..., 0, 0] + 2.0 * in_scale * in_shape * covariance[..., 0, 1]
    )
    variance = (
        variance
        + in_shape**2 * covariance[..., 1, 1]
        + (scale * np.exp(shape * s) / rate) ** 2 * rate_variance
    )
    return np.asarray(np.sqrt(variance))


def empirical_return_level(
    x: Any,
    m: float,
    *,
    confidence_level: float = 0.95,
    n_total: int | None = None,
) -> ReturnLevel:
    """The 1 − 1/m quantile of a series, with an interval between order statistics.

    For levels that the tail model does not reach (m·λ < 1). The number of values below the quantile
    is binomial, which makes the interval exact (conservative) for any continuous distribution
    (Clopper and Pearson 1934; Hahn and Meeker 1991, chapter 5).

    Parameters
    ----------
    x : array-like, shape (N,)
        The whole series.
    m : float
        Observations, more than 1.
    confidence_level : float
    n_total : int, optional
        N, where x holds the largest values of a series only, from the lower end of the interval on.

    Returns
    -------
    ReturnLevel
        Its upper end is infinite where the sample is too small to bound the quantile.

    Raises
    ------
    InputError
        Values that are no finite numbers, m ≤ 1, or fewer than ten values.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt import empirical_return_level
    >>> level = empirical_return_level(np.arange(1000.0), 10)
    >>> round(level.estimate, 1), list(level.confidence_interval)
    (899.1, [880.0, 918.0])
    """
    from scipy.stats import binom

    series = np.sort(as_series("x", x))
    m = checks.check_number("m", m, low=0, open_low=True, cure="a number of observations, e.g. 100")
    interval_level = checks.check_confidence_level(confidence_level)
    if m <= 1.0:
        raise InputError("m", got=f"{m:g}", allowed="more than 1", cure="m counts observations")
    if n_total is None:
        n_values = series.size
    else:
        n_values = checks.check_whole("n_total", n_total, low=series.size, high=10**15)
    if n_values < 10:
        raise InputError("x", got=f"{n_values} values", allowed="at least 10", cure="more values")
    p = 1.0 - 1.0 / m
    lower_rank = int(binom.ppf(0.5 - 0.5 * interval_level, n_values, p))
    upper_rank = int(binom.ppf(0.5 + 0.5 * interval_level, n_values, p)) + 1
    left_out = n_values - series.size  # the least values, of a series whose largest are given
    quantile_position = (n_values - 1) * p - left_out
    if min(lower_rank - 1 - left_out, quantile_position) < 0 and left_out:
        got = f"the {series.size:,} largest of {n_values:,} values"
        allowed = (
            f"at least {n_values - min(lower_rank - 1, int((n_values - 1) * p)):,}, for m = {m:g}"
        )
        raise InputError("x", got=got, allowed=allowed, cure="keep more of the largest values")
    if lower_rank >= 1:
        lower_end = float(series[lower_rank - 1 - left_out])
    else:
        lower_end = float("-inf")
    if upper_rank <= n_values:
        upper_end = float(series[upper_rank - 1 - left_out])
    else:
        upper_end = float("inf")
    # as `np.quantile` of the whole series
    estimate = float(
        np.quantile(series, p if not left_out else quantile_position / (series.size - 1))
    )
    return ReturnLevel(
        m=m,
        estimate=estimate,
        std_error=float("nan"),
        confidence_interval=Interval(
            low=lower_end,
            high=upper_end,
            confidence_level=interval_level,
            method="binomial, order statistics",
        ),
        critical_value=None,
        rate="estimated",
        model="empirical",
        n_exceedances=int((series > estimate).sum()),
        n_total=n_values,
        n_resamples=None,
        seed=None,
        backend="exact",
    )
