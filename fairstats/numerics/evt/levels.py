"""The level of m observations with its interval, and the test that it has a given value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.randomness import as_generator
from fairstats.ground.results import HypothesisTest, Interval, check_choice, check_confidence_level
from fairstats.numerics.evt.bootstrap import (
    fit_excess_batch,
    fit_maxima_batch,
    resample_exceedances,
)
from fairstats.numerics.evt.calibrated import simulated_deviances
from fairstats.numerics.evt.checks import as_count
from fairstats.numerics.evt.delta import excess_level_error, maxima_level_error
from fairstats.numerics.evt.return_level import (
    ReturnLevel,
    chi2_quantile,
    log_period,
    need_likelihood,
)
from fairstats.numerics.evt.stretch import power_ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.numerics.evt.result import EvtFit

    Floats = NDArray[np.float64]

__all__ = ["return_level", "return_level_test"]

_METHODS = ("profile", "delta", "bootstrap")
_RATES = ("estimated", "fixed")


def return_level(
    fit: EvtFit,
    m: float,
    *,
    method: str = "profile",
    rate: str = "estimated",
    confidence_level: float = 0.95,
    calibrated: bool = False,
    n_resamples: int = 999,
    rng: Any = None,
) -> ReturnLevel:
    """Level of m observations: RL(m) = u + σ/ξ·((mλ)^ξ − 1), the 1 − 1/m quantile.

    Parameters
    ----------
    fit : EvtFit
    m : float
        Observations; blocks for block maxima. At least one exceedance in m is needed on average (m·λ ≥ 1).
    method : {"profile", "delta", "bootstrap"}
        Likelihood interval; normal interval by the delta method (regular fits only, for display);
        percentiles of resamples of all N values, each with its own threshold at the same order statistic.
    rate : {"estimated", "fixed"}
        "fixed" takes the rate λ as known, as evd and extRemes do; its intervals cover 38–43% at m·λ = 1.2.
        Only to compare with them.
    confidence_level : float
    calibrated : bool
        Profile only: compare the likelihood ratio with its distribution under the fitted model, simulated,
        in place of χ². For small samples, where the χ² interval is a little too narrow.
    n_resamples : int
        Of the bootstrap or the calibration.
    rng : None, int or Generator

    Returns
    -------
    ReturnLevel

    Raises
    ------
    InputError
        m too small; delta for a fit that is not regular; profile for L-moments; a bootstrap of a fit read
        from a dictionary, which does not carry the series.

    Notes
    -----
    The profile is over (λ, σ, ξ), the binomial likelihood of the number of exceedances included (Poisson
    for the point process). The threshold at an order statistic is to first order the same as a fixed one.

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt.fit import fit_gpd
    >>> x = np.random.default_rng(1).exponential(size=5000)
    >>> fit = fit_gpd(x, threshold=3.0, backend="scipy")
    >>> level = fit.return_level(1000)
    >>> round(level.estimate, 2), [round(end, 2) for end in level.interval]
    (6.92, [6.42, 7.79])
    >>> fit.return_level(1000, method="delta").interval.width < level.interval.width
    True
    """
    check_choice("method", method, _METHODS)
    check_choice("rate", rate, _RATES)
    confidence_level = check_confidence_level(confidence_level)
    tau = log_period(fit, m)
    estimate, std_error = _estimate(fit, tau, rate), _delta_error(fit, m, tau, rate)
    critical: float | None = None
    replicates, seed = None, None
    if method == "profile":
        need_likelihood(fit)
        critical = chi2_quantile(confidence_level)
        name = "profile likelihood"
        if calibrated:
            generator, seed = as_generator(rng)
            replicates = as_count("n_resamples", n_resamples, least=19)
            simulated = simulated_deviances(fit, tau, estimate, replicates, generator)
            critical = float(np.quantile(simulated, confidence_level, method="higher"))
            name = "profile likelihood, calibrated by parametric bootstrap"
        low, high = _profile(fit, tau, critical, rate)
    elif method == "delta":
        low, high = _delta(fit, estimate, std_error, confidence_level)
        name = "delta"
    else:
        generator, seed = as_generator(rng)
        replicates = as_count("n_resamples", n_resamples, least=19)
        levels = _resampled_levels(fit, tau, replicates, generator)
        low, high = np.quantile(levels, [0.5 - 0.5 * confidence_level, 0.5 + 0.5 * confidence_level])
        std_error, name = float(levels.std(ddof=1)), "bootstrap percentiles"
    if rate == "fixed":
        name += ", rate fixed"
    return ReturnLevel(
        m=float(m),
        estimate=estimate,
        std_error=std_error,
        interval=Interval(float(low), float(high), confidence_level, name),
        critical_value=critical,
        rate=rate,
        model=fit.model,
        n_exceedances=fit.n_exceedances,
        n_total=fit.n_total,
        n_resamples=replicates,
        seed=seed,
        backend=fit.backend,
    )


def return_level_test(
    fit: EvtFit, m: float, level: float, *, n_resamples: int = 0, rng: Any = None
) -> HypothesisTest:
    """Likelihood-ratio test of RL(m) = level, two-sided.

    Parameters
    ----------
    fit : EvtFit
        By maximum likelihood.
    m, level : float
        Observations, and the level in the units of the data.
    n_resamples : int
        0: the χ² distribution with one degree of freedom. Otherwise the p-value is (1 + #{simulated ≥
        observed})/(B + 1), simulated under the fitted model.
    rng : None, int or Generator

    Examples
    --------
    >>> import numpy as np
    >>> from fairstats.numerics.evt.fit import fit_gpd
    >>> x = np.random.default_rng(1).exponential(size=5000)
    >>> fit = fit_gpd(x, threshold=3.0, backend="scipy")
    >>> round(fit.test_return_level(1000, np.log(1000)).pvalue, 3)
    0.977
    """
    need_likelihood(fit)
    tau = log_period(fit, m)
    deviance = float(fit.likelihood().level_deviance(tau, np.array([float(level)]))[0])
    if n_resamples:
        generator, _ = as_generator(rng)
        replicates = as_count("n_resamples", n_resamples, least=19)
        simulated = simulated_deviances(fit, tau, _estimate(fit, tau, "estimated"), replicates, generator)
        pvalue = (1.0 + float((simulated >= deviance).sum())) / (simulated.size + 1.0)
        name = "likelihood ratio, calibrated by parametric bootstrap"
    else:
        from scipy.special import chdtrc

        pvalue, name = float(chdtrc(1.0, deviance)), "likelihood ratio"
    return HypothesisTest(f"return level of {m:g} = {level:g}", "two-sided", deviance, pvalue, name)


def _estimate(fit: EvtFit, tau: float, rate: str) -> float:
    if fit.model == "gev":
        return fit.location + fit.scale * float(power_ratio(np.asarray(tau), np.asarray(fit.shape)))
    scale, shape = fit.excess_params
    s = tau + np.log(fit.rate)
    return fit.origin + float(scale * power_ratio(np.asarray(s), shape))


def _delta_error(fit: EvtFit, m: float, tau: float, rate: str) -> float:
    if not fit.regular:
        return float("nan")
    if fit.model == "gev":
        return maxima_level_error(fit.scale, fit.shape, fit.covariance, tau)
    scale, shape = fit.excess_params
    variance = fit.rate / fit.n_total
    if fit.model == "gpd":
        variance *= 1.0 - fit.rate
    if rate == "fixed":
        variance = 0.0
    error = excess_level_error(
        scale, shape, fit.excess_cov, np.asarray(fit.rate), np.asarray(variance), float(m)
    )
    return float(error)


def _delta(fit: EvtFit, estimate: float, error: float, confidence_level: float) -> tuple[float, float]:
    from scipy.special import ndtri

    if not fit.regular:
        raise InputError(
            "method",
            got=f"'delta' for a shape of {fit.shape:.3g}",
            allowed="'delta' where standard errors exist (ξ > −1/2; L-moments: ξ < 1/2)",
            cure="method='profile'",
        )
    z = float(ndtri(0.5 + 0.5 * confidence_level))
    return estimate - z * error, estimate + z * error


def _profile(fit: EvtFit, tau: float, critical: float, rate: str) -> tuple[float, float]:
    likelihood = fit.likelihood(rate=rate)
    if rate == "fixed" and fit.model != "gev" and tau + np.log(fit.rate) <= 0:
        level = fit.origin  # with a known rate, the level of m = 1/λ is the threshold
        return level, level
    low, high = likelihood.level_interval(np.array([tau]), np.array([critical]))
    return float(low[0]), float(high[0])


def _resampled_levels(fit: EvtFit, tau: float, replicates: int, rng: np.random.Generator) -> Floats:
    if fit.model == "gev":
        maxima = fit.sample[rng.integers(0, fit.sample.size, size=(replicates, fit.sample.size))]
        maxima = maxima[maxima.max(axis=1) > maxima.min(axis=1)]
        location, scale, shape = fit_maxima_batch(maxima, fit.method)
        levels = np.asarray(location + scale * power_ratio(np.asarray(tau), shape))
        return levels[~np.isnan(levels)]
    if fit.top is None:
        raise InputError(
            "method",
            got="'bootstrap' of a fit that was read from a dictionary",
            allowed="'profile' or 'delta', or a bootstrap of the fit itself: it resamples the series",
            cure="fit again, or method='profile'",
        )
    batch = resample_exceedances(rng, fit.top, fit.n_total, fit.n_exceedances, replicates)
    scale, shape = fit_excess_batch(batch, fit.method)
    return np.asarray(batch.threshold + scale * power_ratio(tau + np.log(batch.n / fit.n_total), shape))
