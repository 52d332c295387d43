"""Do the intervals of tails cover?

Samples come from an exact generalised Pareto law, N = 20k observations of which k exceed the
threshold on average. Coverage of a likelihood interval needs no interval: it covers the truth where
the deviance there is at most the critical value. All replicates of a setting are fitted and
profiled at once.

Two schemes: "order" puts the threshold at the (k + 1)-th largest value (k fixed, u random), "fixed"
at a fixed number (k binomial)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import brentq
from scipy.special import chdtri, ndtri

from fairstats.ground.errors import FairstatsWarning, InputError
from fairstats.ground.results import Interval
from fairstats.numerics.evt import EvtFit, choose_threshold, fit_gev, fit_gpd
from fairstats.numerics.evt.bootstrap import PowerTail
from fairstats.numerics.evt.contour import root_moments
from fairstats.numerics.evt.distributions import power_ratio, random_excesses
from fairstats.numerics.evt.gev import GevLikelihood
from fairstats.numerics.evt.gpd import GpdLikelihood, fit_gpd_samples
from fairstats.numerics.evt.likelihood import SampleFits, Samples, level_profile, shape_profile
from fairstats.numerics.evt.return_levels import excess_level_error
from tests.calibration.study import Cell, Counts, tally_interval

__all__ = ["CELLS", "run"]

EXCEEDANCES = (50, 200)
SHAPES = (-0.4, -0.1, 0.0, 0.2, 0.4)
LEVELS = (1.2, 2.0, 5.0, 20.0, 50.0)
SCHEMES = ("order", "fixed")
CONFIDENCE = 0.95
OBSERVATIONS_PER_EXCEEDANCE = 20
#: Samples for the calibrated intervals, each with its own simulation, by k.
CALIBRATED = {50: 1_000, 200: 400}
#: Samples that are simulated at a time for the calibrated intervals.
_CHUNK = 20_000


@dataclass(frozen=True)
class Draw:
    """Samples of one setting: excesses, their numbers, and each sample's threshold."""

    excesses: np.ndarray
    n: np.ndarray
    threshold: np.ndarray
    total: int


def run(
    *,
    replicates: int = 10_000,
    seed: int = 20240611,
    exceedances: tuple[int, ...] = EXCEEDANCES,
    shapes: tuple[float, ...] = SHAPES,
    levels: tuple[float, ...] = LEVELS,
    schemes: tuple[str, ...] = SCHEMES,
    calibrated: dict[int, int] = CALIBRATED,
    n_resamples: int = 199,
) -> pd.DataFrame:
    """Coverage of 95% intervals of return levels and of the shape.

    Parameters
    ----------
    replicates : int
        Samples per setting.
    seed : int
        Each setting has its own stream, so that one setting alone gives the same numbers.
    exceedances, shapes, levels, schemes
        Settings: k, ξ, m·λ, and how the threshold is set.
    calibrated : dict of int to int
        k → samples for the bootstrap-calibrated likelihood ratio, under the first scheme.
    n_resamples : int
        Simulated samples for each of those.

    Returns
    -------
    DataFrame
        quantity ("return level" or "shape"), scheme, k, shape, m_lambda, replicates; profile
        (coverage) and mc_error (its Monte Carlo standard error); missed_below, missed_above (truth
        below or above the interval's estimate side); delta (coverage where it is given) and
        delta_refused (share of fits with ξ ≤ −1/2); rate_fixed (profile with the rate taken as
        known); calibrated with calibrated_error; unanswered (share of samples with m·λ̂ < 1, where
        `return_level` refuses); target, within.
    """
    rows = []
    for scheme in schemes:
        for k in exceedances:
            for shape in shapes:
                rows.append(_shape_row(scheme, k, shape, replicates, seed))
                for m_lambda in levels:
                    row = _level_row(scheme, k, shape, m_lambda, replicates, seed)
                    if scheme == schemes[0] and k in calibrated:
                        row |= _calibrated(
                            scheme, k, shape, m_lambda, calibrated[k], n_resamples, seed
                        )
                    rows.append(row)
    return pd.DataFrame(rows)


def _rng(
    seed: int, scheme: str, k: int, shape: float, m_lambda: float, part: int
) -> np.random.Generator:
    key = [SCHEMES.index(scheme), k, round(1000 * (shape + 10)), round(1000 * m_lambda), part]
    return np.random.default_rng([seed, *key])


def _draw(rng: np.random.Generator, scheme: str, k: int, shape: float, replicates: int) -> Draw:
    total = OBSERVATIONS_PER_EXCEEDANCE * k
    if scheme == "fixed":
        n = np.maximum(rng.binomial(total, k / total, size=replicates), 5)
        level = float(power_ratio(np.asarray(np.log(total / k)), np.asarray(shape)))
        excesses = random_excesses(rng, (replicates, int(n.max())), 1.0 + shape * level, shape)
        excesses[np.arange(excesses.shape[1]) >= n[:, None]] = 0.0
        return Draw(excesses, n.astype(float), np.full(replicates, level), total)
    # the survival probability of the (k + 1)-th largest of N is Beta(k + 1, N − k)
    depth = -np.log(rng.beta(k + 1, total - k, size=replicates))
    exponential = rng.standard_exponential((replicates, k))
    threshold = power_ratio(depth, np.asarray(shape))
    values = power_ratio(depth[:, None] + exponential, np.asarray(shape))
    return Draw(values - threshold[:, None], np.full(replicates, float(k)), threshold, total)


def _level_row(
    scheme: str, k: int, shape: float, m_lambda: float, replicates: int, seed: int
) -> dict:
    draw = _draw(_rng(seed, scheme, k, shape, m_lambda, 0), scheme, k, shape, replicates)
    samples = Samples.from_excesses(draw.excesses, draw.n)
    fits = fit_gpd_samples(samples)
    m = m_lambda * draw.total / k
    truth = float(power_ratio(np.asarray(np.log(m)), np.asarray(shape)))  # the 1 − 1/m quantile
    deviance = _level_deviance(draw, samples, truth, m, "binomial")
    critical = float(chdtri(1.0, 1.0 - CONFIDENCE))
    covered = deviance <= critical
    rate = draw.n / draw.total
    estimate = draw.threshold + fits.scale * power_ratio(np.log(m * rate), fits.shape)
    delta, refused = _delta(draw, fits, truth, estimate, m)
    answered = m * rate > 1.0 + 1e-12
    fixed = np.full(replicates, False)
    part = np.flatnonzero(answered)
    fixed[part] = _fixed_rate_covers(draw, part, truth, m, critical)
    return {
        "quantity": "return level",
        "scheme": scheme,
        "k": k,
        "shape": shape,
        "m_lambda": m_lambda,
        "replicates": replicates,
        **_coverage(covered),
        "missed_below": float((~covered & (truth < estimate)).mean()),
        "missed_above": float((~covered & (truth > estimate)).mean()),
        "delta": delta,
        "delta_refused": refused,
        "rate_fixed": float(fixed[part].mean()),
        "unanswered": float(1.0 - answered.mean()),
        **_verdict(covered, k, 0.89 if k < 200 else 0.92),
    }


def _shape_row(scheme: str, k: int, shape: float, replicates: int, seed: int) -> dict:
    draw = _draw(_rng(seed, scheme, k, shape, 0.0, 0), scheme, k, shape, replicates)
    samples = Samples.from_excesses(draw.excesses, draw.n)
    likelihood = GpdLikelihood.from_samples(
        samples, np.full(replicates, float(draw.total)), "fixed"
    )
    rows = np.arange(replicates)
    points = shape_profile(likelihood, rows, np.full(replicates, shape), likelihood.fits.nu)
    deviance = 2.0 * (points.value - likelihood.minimum())
    covered = deviance <= float(chdtri(1.0, 1.0 - CONFIDENCE))
    fits = fit_gpd_samples(samples)
    z = float(ndtri(0.5 + 0.5 * CONFIDENCE))
    regular = fits.shape > -0.5
    error = np.sqrt(fits.covariance[regular, 1, 1])
    delta = float((np.abs(fits.shape[regular] - shape) <= z * error).mean())
    return {
        "quantity": "shape",
        "scheme": scheme,
        "k": k,
        "shape": shape,
        "m_lambda": np.nan,
        "replicates": replicates,
        **_coverage(covered),
        "missed_below": float((~covered & (shape < fits.shape)).mean()),
        "missed_above": float((~covered & (shape > fits.shape)).mean()),
        "delta": delta,
        "delta_refused": float(1.0 - regular.mean()),
        **_verdict(covered, k, 0.90 if k < 200 else 0.93),
    }


def _level_deviance(draw: Draw, samples: Samples, truth: float, m: float, term: str) -> np.ndarray:
    total = np.full(draw.n.size, float(draw.total))
    likelihood = GpdLikelihood.from_samples(samples, total, term)  # type: ignore[arg-type]
    d = (truth - draw.threshold) / samples.unit
    points = level_profile(likelihood, np.arange(d.size), d, np.full(d.size, np.log(m)))
    return np.asarray(2.0 * (points.value - likelihood.minimum()))


def _fixed_rate_covers(
    draw: Draw, part: np.ndarray, truth: float, m: float, critical: float
) -> np.ndarray:
    """With the rate known, a level at or below the threshold is impossible for m·λ̂ > 1."""
    reachable = truth > draw.threshold[part]
    inside = part[reachable]
    some = Draw(draw.excesses[inside], draw.n[inside], draw.threshold[inside], draw.total)
    covered = np.full(part.size, False)
    samples = Samples.from_excesses(some.excesses, some.n)
    covered[reachable] = _level_deviance(some, samples, truth, m, "fixed") <= critical
    return covered


def _delta(
    draw: Draw, fits: SampleFits, truth: float, estimate: np.ndarray, m: float
) -> tuple[float, float]:
    regular = fits.shape > -0.5
    rate = draw.n[regular] / draw.total
    variance = rate * (1.0 - rate) / draw.total
    error = excess_level_error(
        fits.scale[regular], fits.shape[regular], fits.covariance[regular], rate, variance, m
    )
    z = float(ndtri(0.5 + 0.5 * CONFIDENCE))
    covered = np.abs(estimate[regular] - truth) <= z * error
    return float(covered.mean()), float(1.0 - regular.mean())


def _calibrated(
    scheme: str, k: int, shape: float, m_lambda: float, replicates: int, n_resamples: int, seed: int
) -> dict:
    """Coverage with critical values simulated from each sample's own fit."""
    rng = _rng(seed, scheme, k, shape, m_lambda, 1)
    draw = _draw(rng, scheme, k, shape, replicates)
    samples = Samples.from_excesses(draw.excesses, draw.n)
    m = m_lambda * draw.total / k
    truth = float(power_ratio(np.asarray(np.log(m)), np.asarray(shape)))
    observed = _level_deviance(draw, samples, truth, m, "binomial")
    fits = fit_gpd_samples(samples, covariance=False)
    critical = np.empty(replicates)
    for part in _parts(replicates, max(1, _CHUNK // n_resamples)):
        simulated = _simulated(rng, draw, fits, part, m, n_resamples)
        critical[part] = np.quantile(simulated, CONFIDENCE, axis=1, method="higher")
    covered = observed <= critical
    share = float(covered.mean())
    return {
        "calibrated": share,
        "calibrated_error": float(np.sqrt(share * (1 - share) / replicates)),
    }


def _simulated(
    rng: np.random.Generator, draw: Draw, fits: SampleFits, part: slice, m: float, n_resamples: int
) -> np.ndarray:
    """Deviances at each fit's own return level in samples from it, shape (samples, n_resamples)."""
    scale = np.repeat(fits.scale[part], n_resamples)
    shape = np.repeat(fits.shape[part], n_resamples)
    rate = np.repeat(draw.n[part] / draw.total, n_resamples)
    n = np.maximum(rng.binomial(draw.total, rate), 5)
    excesses = random_excesses(rng, (n.size, int(n.max())), scale[:, None], shape[:, None])
    excesses[np.arange(excesses.shape[1]) >= n[:, None]] = 0.0
    samples = Samples.from_excesses(excesses, n.astype(float))
    likelihood = GpdLikelihood.from_samples(samples, np.full(n.size, float(draw.total)), "binomial")
    d = scale * power_ratio(np.log(m * rate), shape) / samples.unit
    points = level_profile(likelihood, np.arange(n.size), d, np.full(n.size, np.log(m)))
    return np.asarray(2.0 * (points.value - likelihood.minimum())).reshape(-1, n_resamples)


def _parts(size: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, size)) for start in range(0, size, step))


def _coverage(covered: np.ndarray) -> dict[str, float]:
    share = float(covered.mean())
    return {"profile": share, "mc_error": float(np.sqrt(share * (1.0 - share) / covered.size))}


def _verdict(covered: np.ndarray, k: int, least: float) -> dict[str, object]:
    """At 200 exceedances an upper limit, too; at 50 only a lower one."""
    share = float(covered.mean())
    most = 0.97 if k >= 200 else 1.0
    return {"target": f"{least:.2f}–{most:.2f}", "within": bool(least <= share <= most)}


def penalised_study(
    replicates: int = 10_000,
    seed: int = 5,
    exceedances: tuple[int, ...] = (15, 30, 50),
    shapes: tuple[float, ...] = (-0.2, 0.0, 0.2, 0.4),
) -> pd.DataFrame:
    """`fit_gpd(method="coles_dixon")` beside maximum likelihood, N = 20k values of which k exceed.

    Bias and root mean square error of the shape and of the level with mλ = 20 (relative to the true
    one), and coverage of normal 95% intervals, of fits with standard errors."""
    rows = []
    z = float(np.sqrt(chdtri(1.0, 1.0 - CONFIDENCE)))
    for k in exceedances:
        for shape in shapes:
            draw = _draw(_rng(seed, "order", k, shape, 20.0, 2), "order", k, shape, replicates)
            samples = Samples.from_excesses(draw.excesses, draw.n)
            m = 20.0 * draw.total / k
            truth = float(power_ratio(np.asarray(np.log(m)), np.asarray(shape)))
            row: dict = {"k": k, "shape": shape, "replicates": replicates}
            for name, penalised in (("mle", False), ("coles_dixon", True)):
                fits = fit_gpd_samples(samples, penalised=penalised)
                level = draw.threshold + fits.scale * power_ratio(
                    np.log(m * draw.n / draw.total), fits.shape
                )
                off = fits.shape - shape
                relative = level / truth - 1.0
                rate = draw.n / draw.total
                error = excess_level_error(
                    fits.scale,
                    fits.shape,
                    fits.covariance,
                    rate,
                    rate * (1.0 - rate) / draw.total,
                    m,
                )
                regular = np.isfinite(error)
                inside = np.abs(off) <= z * np.sqrt(fits.covariance[:, 1, 1])
                row |= {
                    f"shape bias, {name}": off.mean(),
                    f"shape rmse, {name}": np.sqrt((off**2).mean()),
                    f"level bias, {name}": relative.mean(),
                    f"level rmse, {name}": np.sqrt((relative**2).mean()),
                    f"shape coverage, {name}": inside[regular].mean(),
                    f"level coverage, {name}": (np.abs(level - truth) <= z * error)[regular].mean(),
                    f"exactly 0, {name}": (fits.shape == 0).mean(),
                }
            rows.append(row)
    return pd.DataFrame(rows)


# ---------------------------------------------------------------- cells of the published table

#: Values that are fitted, and shapes.
FITTED = (30, 80, 300)
PUBLISHED = (-0.4, -0.1, 0.1, 0.3)
_CRITICAL = float(chdtri(1.0, 1.0 - CONFIDENCE))
_Z = float(ndtri(0.5 + 0.5 * CONFIDENCE))


def _counted(deviance: np.ndarray, estimate: np.ndarray, truth: float) -> Counts:
    missed = ~(deviance <= _CRITICAL)
    n = deviance.size
    return {
        "coverage": (int((~missed).sum()), n),
        "above": (int((missed & (estimate > truth)).sum()), n),
        "below": (int((missed & (estimate <= truth)).sum()), n),
    }


def _roots(z: np.ndarray) -> np.ndarray:
    """Where standardised signed roots at the truth put intervals.

    −1 below it, 0 around it, 1 above.
    """
    return np.where(np.abs(z) <= _Z, 0, np.sign(z))


def _sides(place: np.ndarray) -> Counts:
    n = place.size
    return {
        name: (int((place == side).sum()), n)
        for name, side in (("coverage", 0), ("above", 1), ("below", -1))
    }


def _standardised(
    above: np.ndarray, deviance: np.ndarray, shape: np.ndarray, s: float, n: np.ndarray
) -> np.ndarray:
    """Signed roots of a truth that lies `above` the estimate or not, less their mean, by their
    deviation.
    """
    mean, sd = root_moments(shape, s, n)
    size = np.sqrt(np.maximum(deviance, 0.0))
    return np.asarray((np.where(above, -size, size) - mean) / sd)


def _by_power(
    place: np.ndarray,
    draw: Draw,
    fits: SampleFits,
    truth: float,
    m: float | None,
    rng: np.random.Generator,
) -> Counts:
    """What users get: intervals of the power tail below ξ̂ = −1/2, else where the roots put
    them.
    """
    for i in np.flatnonzero(fits.at_boundary | (fits.shape < -0.5)):
        values = draw.threshold[i] + draw.excesses[i]
        drawn = PowerTail.of(values, draw.total, m, rng)
        low, high = np.quantile(drawn.end if m is None else drawn.level(m), [0.025, 0.975])
        low = max(low, values.max()) if m is None else low
        place[i] = -1 if high < truth else 1 if low > truth else 0
    return _sides(place)


def _gpd_shape(k: int, shape: float) -> Callable[[np.random.Generator, int], Counts]:
    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        draw = _draw(rng, "order", k, shape, runs)
        samples = Samples.from_excesses(draw.excesses, draw.n)
        likelihood = GpdLikelihood.from_samples(samples, np.full(runs, float(draw.total)), "fixed")
        fits = likelihood.fits
        given = np.full(runs, shape)
        points = shape_profile(likelihood, np.arange(runs), given, fits.nu)
        deviance = 2.0 * (points.value - likelihood.minimum())
        return _sides(_roots(_standardised(fits.shape < shape, deviance, given, np.inf, draw.n)))

    return simulate


def _gpd_level(
    k: int, shape: float, m_lambda: float
) -> Callable[[np.random.Generator, int], Counts]:
    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        draw = _draw(rng, "order", k, shape, runs)
        samples = Samples.from_excesses(draw.excesses, draw.n)
        m = m_lambda * draw.total / k
        likelihood = GpdLikelihood.from_samples(
            samples, np.full(runs, float(draw.total)), "binomial"
        )
        fits = likelihood.fits
        s = np.log(m_lambda)
        truth = float(power_ratio(np.asarray(np.log(m)), np.asarray(shape)))
        above = truth > draw.threshold + fits.scale * power_ratio(np.asarray(s), fits.shape)
        d = (truth - draw.threshold) / samples.unit
        periods = np.full(runs, np.log(m))
        points = level_profile(likelihood, np.arange(runs), d, periods)
        deviance = 2.0 * (points.value - likelihood.minimum())
        z = _standardised(above, deviance, points.theta / points.nu, s, draw.n)
        return _by_power(_roots(z), draw, fits, truth, m, rng)

    return simulate


def _calibrated_level(
    k: int, shape: float, m_lambda: float
) -> Callable[[np.random.Generator, int], Counts]:
    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        seed = int(rng.integers(2**31))
        found = _calibrated("order", k, shape, m_lambda, runs, 199, seed)
        return {"coverage": (found["calibrated"] * runs, runs)}

    return simulate


def _endpoint(k: int, shape: float) -> Callable[[np.random.Generator, int], Counts]:
    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        draw = _draw(rng, "order", k, shape, runs)
        truth = -1.0 / shape
        samples = Samples.from_excesses(draw.excesses, draw.n)
        likelihood = GpdLikelihood.from_samples(samples, np.full(runs, float(draw.total)), "fixed")
        fits = likelihood.fits
        theta = -samples.unit[:, None] / (truth - draw.threshold)[:, None]
        with np.errstate(divide="ignore"):
            above = (fits.theta < 0) & (draw.threshold - samples.unit / fits.theta < truth)
        value = likelihood.free(np.arange(runs), theta)[0][:, 0]
        best = (theta / likelihood.free_nu(np.arange(runs), theta))[:, 0]
        z = _standardised(above, 2.0 * (value - likelihood.minimum()), best, np.inf, draw.n)
        return _by_power(_roots(z), draw, fits, truth, None, rng)

    return simulate


def _gev(n: int, shape: float, m: float | None) -> Callable[[np.random.Generator, int], Counts]:
    """Level of m blocks, or the shape where m is None; samples without a maximum are left out."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        gumbel = -np.log(rng.standard_exponential((runs, n)))
        samples = Samples.from_maxima(power_ratio(gumbel, np.asarray(shape)))
        likelihood = GevLikelihood.from_samples(samples)
        fits = likelihood.fits
        rows = np.arange(runs)
        if m is None:
            truth = shape
            estimate = fits.shape
            points = shape_profile(likelihood, rows, np.full(runs, shape), fits.nu)
        else:
            tau = np.asarray(-np.log(-np.log1p(-1.0 / m)))
            truth = float(power_ratio(tau, np.asarray(shape)))
            estimate = fits.params[:, 0] + fits.scale * power_ratio(tau, fits.shape)
            points = level_profile(
                likelihood, rows, (truth - samples.centre) / samples.unit, np.full(runs, float(tau))
            )
        there = ~fits.unbounded
        deviance = 2.0 * (points.value - likelihood.minimum())
        return {
            **_counted(deviance[there], estimate[there], truth),
            "answered": (int(there.sum()), runs),
        }

    return simulate


def _runs(shape: float) -> int:
    """Fewer where many samples need the draws of a power tail."""
    return 2_000 if shape <= -0.4 else 4_000


#: Of fits that are not by maximum likelihood.
_BY_ERRORS = "a normal interval with the estimate's standard error: no claim"
#: Laws whose tails are generalised Pareto only in the limit: quantile functions of a survival
#: probability.
MIXTURE = ((0.95, 2.0, 20.0), (0.05, 5.0, 5.0))


def _survival_of_mixture(x: np.ndarray) -> np.ndarray:
    return np.asarray(sum(share * stats.beta(a, b).sf(x) for share, a, b in MIXTURE))


def _draw_law(law: str, rng: np.random.Generator, n: int) -> np.ndarray:
    if law == "mixture":
        each = np.where(rng.random(n) < MIXTURE[1][0], 1, 0)
        draws = [rng.beta(a, b, n) for _, a, b in MIXTURE]
        return np.choose(each, draws)
    return np.asarray(LAWS[law].rvs(n, random_state=rng))


def _level_of_law(law: str, m: float) -> float:
    """The 1 − 1/m quantile."""
    if law == "mixture":
        return float(
            brentq(lambda x: float(_survival_of_mixture(np.array([x]))[0]) - 1.0 / m, 0.0, 1.0)
        )
    return float(LAWS[law].isf(1.0 / m))


LAWS = {
    "beta": stats.beta(2, 8),
    "lognormal": stats.lognorm(1.0),
    "gamma": stats.gamma(2.0),
    "t5": stats.t(5),
    "mixture": None,
}
_NAMES_OF_LAWS = {
    "beta": "beta(2, 8)",
    "lognormal": "lognormal",
    "gamma": "gamma(2)",
    "t5": "t₅",
    "mixture": ".95·beta(2, 20) + .05·beta(5, 5)",
}


def chosen_level(law: str, n: int, **options: Any) -> Callable[[np.random.Generator, int], Counts]:
    """The level of 1,000 of n values, above the threshold that `choose_threshold` chose from
    them.
    """

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        truth = _level_of_law(law, 1_000)
        intervals = []
        for _ in range(runs):
            x = _draw_law(law, rng, n)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                chosen = choose_threshold(
                    x, **options, **({} if "method" in options else {"rng": rng})
                )
                fit = fit_gpd(x, chosen.threshold, backend="scipy")
            intervals.append(tuple(fit.return_level(1_000).confidence_interval))
        return tally_interval(truth, intervals)

    return simulate


def _by_covariates(
    name: str,
    shape: float,
    slope: float = 0.0,
    *,
    rows: int = 100,
    link: str = "log",
    **options: Any,
) -> Callable[[np.random.Generator, int], Counts]:
    """Coefficient `name`, or the level of 400 of 20 × `rows` values where it is "level".

    Every 20th value exceeds 0.

    log σ = .3z + .2d, or σ = 2 + .3z + .2d with the identity link (|z| ≤ 2); ξ = shape + slope·d.
    """
    formulas = {"scale": "~ z + d", "shape": "~ d" if slope else "~ 1", "scale_link": link}

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        intervals = []
        place = {"z": 1.0, "d": 1.0}
        at = 0.3 * place["z"] + 0.2 * place["d"]
        scale_there = np.exp(at) if link == "log" else 2.0 + at
        depth = np.asarray(np.log(400.0 / 20.0))
        level = scale_there * float(power_ratio(depth, np.asarray(shape + slope)))
        truth = {"shape: Intercept": shape, "shape: d": slope, "scale: z": 0.3, "level": level}[
            name
        ]
        for _ in range(runs):
            n = 20 * rows
            z = np.clip(rng.normal(size=n), -2.0, 2.0)
            d = rng.integers(0, 2, size=n).astype(float)
            part = 0.3 * z + 0.2 * d
            scale = np.exp(part) if link == "log" else 2.0 + part
            excess = scale * power_ratio(rng.standard_exponential(n), shape + slope * d)
            x = np.where(np.arange(n) % 20 == 0, excess, -1.0)
            try:
                fit = fit_gpd(x, 0.0, covariates={"z": z, "d": d}, **formulas)
                if name == "level":
                    found = fit.return_level(400.0, place, **options).levels[0].confidence_interval
                else:
                    found = fit.interval(name, **options)
                intervals.append(tuple(found))
            except InputError:  # no maximum, or no delta interval
                intervals.append((np.nan, np.nan))
        return tally_interval(truth, intervals)

    return simulate


def _of_calls(
    fitted: Callable[[np.random.Generator], EvtFit], ask: Callable[[EvtFit], Interval], truth: float
) -> Callable[[np.random.Generator, int], Counts]:
    """An interval of the public functions, one call a sample."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        intervals = []
        for _ in range(runs):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FairstatsWarning)
                try:
                    intervals.append(tuple(ask(fitted(rng))))
                except InputError:  # no maximum, or no delta interval
                    intervals.append((np.nan, np.nan))
        return tally_interval(truth, intervals)

    return simulate


def _cells_of_options() -> Iterator[Cell]:
    """Ways to fit and to ask that are not the default ones."""

    def excesses(rng: np.random.Generator, method: Any, shape: float) -> EvtFit:
        x = np.where(np.arange(1_600) % 20 == 0, 1.0, -1.0)
        x[x > 0] = power_ratio(rng.standard_exponential(80), np.asarray(shape))
        return fit_gpd(x, 0.0, method=method, backend="scipy")

    def maxima(rng: np.random.Generator, n: int, method: Any, shape: float) -> EvtFit:
        gumbel = -np.log(rng.standard_exponential(n))
        return fit_gev(power_ratio(gumbel, np.asarray(shape)), method=method, backend="scipy")

    def shape_of(fit: EvtFit) -> Interval:
        return fit.interval("shape")

    for method in ("lmoments", "coles_dixon"):
        for shape in (-0.1, 0.3):
            regime = f"80 of 1,600 values, ξ = {shape:g}"
            fitted = partial(excesses, method=method, shape=shape)
            yield Cell(
                "evt",
                f"fit_gpd(method={method!r}): shape",
                regime,
                _of_calls(fitted, shape_of, shape),
                runs=2_000,
                claim="fails",
                remark=_BY_ERRORS,
            )
            regime = f"80 block maxima, ξ = {shape:g}"
            fitted = partial(maxima, n=80, method=method, shape=shape)
            yield Cell(
                "evt",
                f"fit_gev(method={method!r}): shape",
                regime,
                _of_calls(fitted, shape_of, shape),
                runs=2_000,
                claim="fails",
                remark=_BY_ERRORS,
            )
    for n in (30, 60):
        for shape in (-0.3, 0.1):
            yield Cell(
                "evt",
                "fit_gev: location",
                f"{n} block maxima, ξ = {shape:g}",
                _of_calls(
                    partial(maxima, n=n, method="mle", shape=shape),
                    lambda fit: fit.interval("location"),
                    0.0,
                ),
                runs=2_000,
            )
    level = float(power_ratio(np.asarray(np.log(20.0)), np.asarray(0.1)))
    for method, runs in (("profile", 2_000), ("delta", 2_000), ("bootstrap", 1_000)):
        yield Cell(
            "evt",
            f"fit_gpd().return_level(method={method!r})",
            "80 of 1,600 values, ξ = 0.1, mλ = 20",
            _of_calls(
                partial(excesses, method="mle", shape=0.1), partial(_level_by, method=method), level
            ),
            runs=runs,
            claim="valid" if method == "profile" else "fails",
            remark="" if method == "profile" else "the upper end is too low: no claim",
        )
    yield Cell(
        "evt",
        "fit_gpd().endpoint(method='profile')",
        "80 of 1,600 values, ξ = -0.4",
        _of_calls(
            partial(excesses, method="mle", shape=-0.4),
            lambda fit: fit.endpoint(method="profile").confidence_interval,
            2.5,
        ),
        runs=2_000,
        claim="fails",
        remark="by χ²: too narrow below 300 values",
    )


def _level_by(fit: EvtFit, method: str) -> Interval:
    """The level of 400 of 1,600 values, of which 80 exceed the threshold."""
    if method == "bootstrap":
        found = fit.return_level(400.0, method=method, n_resamples=199, rng=1)
    else:
        found = fit.return_level(400.0, method=method)
    return found.confidence_interval


def _maxima_by_year(
    name: str, n: int, shape: float
) -> Callable[[np.random.Generator, int], Counts]:
    """μ = .5·year, σ = 1: a coefficient, or the level of 50 blocks at year 1."""

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        year = np.linspace(-1.0, 1.0, n)
        tau = np.asarray(-np.log(-np.log1p(-1.0 / 50.0)))
        level = 0.5 + float(power_ratio(tau, np.asarray(shape)))
        truth = {
            "location: Intercept": 0.0,
            "location: year": 0.5,
            "shape: Intercept": shape,
            "level": level,
        }[name]
        intervals = []
        for _ in range(runs):
            gumbel = -np.log(rng.standard_exponential(n))
            x = 0.5 * year + power_ratio(gumbel, np.asarray(shape))
            try:
                fit = fit_gev(x, covariates={"year": year}, location="~ year")
                if name == "level":
                    found = fit.return_level(50.0, {"year": 1.0}).levels[0].confidence_interval
                else:
                    found = fit.interval(name)
                intervals.append(tuple(found))
            except InputError:  # no maximum
                intervals.append((np.nan, np.nan))
        return tally_interval(truth, intervals)

    return simulate


def _new_cells() -> Iterator[Cell]:
    """Choice of a threshold, and fits with covariates, by the public functions."""
    choose = "choose_threshold, fit_gpd().return_level(1000)"
    for n in (700, 2_000, 20_000):
        for law, name in _NAMES_OF_LAWS.items():
            regime = f"{n:,} values, {name}"
            few = (
                {}
                if n >= 1_000
                else {"claim": "fails", "remark": "too few values: the result says so"}
            )
            yield Cell("evt", choose, regime, chosen_level(law, n), runs=2_000, **few)
    regime = "2,000 values, .95·beta(2, 20) + .05·beta(5, 5)"
    by_largest = chosen_level("mixture", 2_000, method="k_largest")
    yield Cell(
        "evt",
        "choose_threshold(method='k_largest'), level of 1,000",
        regime,
        by_largest,
        runs=2_000,
    )
    by_mises = chosen_level("mixture", 2_000, statistic="cramer_von_mises")
    yield Cell(
        "evt",
        "choose_threshold(statistic='cramer_von_mises'), level of 1,000",
        regime,
        by_mises,
        runs=2_000,
    )
    for shape in (-0.3, -0.1, 0.1, 0.3):
        regime = f"100 of 2,000 values, scale ~ z + d, ξ = {shape:g}"
        for name in ("shape: Intercept", "scale: z", "level"):
            method = "return_level(400)" if name == "level" else f"interval('{name}')"
            cell = _by_covariates(name, shape)
            yield Cell("evt", f"fit_gpd(covariates=…).{method}", regime, cell, runs=2_000)
    for shape, slope in ((-0.3, 0.1), (0.1, 0.2)):
        regime = (
            f"100 of 2,000 values, scale ~ z + d, shape ~ d, ξ = {shape:g} and {shape + slope:g}"
        )
        for name in ("shape: Intercept", "shape: d", "level"):
            method = "return_level(400)" if name == "level" else f"interval('{name}')"
            cell = _by_covariates(name, shape, slope)
            # two samples of fifty with such shapes: the likelihood often has no end above ξ = −1, and
            # the interval no limit on that side (version 1 counted such intervals as no answer)
            version = "2" if shape <= -0.3 else "1"
            yield Cell(
                "evt",
                f"fit_gpd(covariates=…).{method}",
                regime,
                cell,
                runs=2_000,
                version=version,
            )
    regime = "100 of 2,000 values, scale ~ z + d, ξ = -0.1"
    too_narrow = {
        "claim": "fails",
        "remark": "for comparison with other software: the result says so",
    }
    for method in ("profile", "delta"):
        cell = _by_covariates("level", -0.1, method=method)
        name = f"fit_gpd(covariates=…).return_level(method='{method}')"
        yield Cell("evt", name, regime, cell, runs=2_000, **too_narrow)
    for name in ("shape: Intercept", "level"):
        method = "return_level(400)" if name == "level" else f"interval('{name}')"
        cell = _by_covariates(name, -0.1, link="identity")
        yield Cell(
            "evt",
            f"fit_gpd(covariates=…, scale_link='identity').{method}",
            regime,
            cell,
            runs=2_000,
        )
    for n in (30, 60, 150):
        for shape in (-0.3, 0.1):
            regime = f"{n} block maxima, location ~ year, ξ = {shape:g}"
            names = ["location: Intercept", "location: year", "shape: Intercept", "level"]
            if n > 60:
                names = ["level"]
            for name in names:
                method = "return_level(50)" if name == "level" else f"interval('{name}')"
                cell = _maxima_by_year(name, n, shape)
                few = (
                    {"claim": "fails", "remark": "few block maxima: the result says so"}
                    if name == "level" and n < 150
                    else {}
                )
                version = "2" if n < 60 and shape < 0 else "1"  # as above
                yield Cell(
                    "evt",
                    f"fit_gev(covariates=…).{method}",
                    regime,
                    cell,
                    runs=2_000,
                    version=version,
                    **few,
                )


_REGIMES = [(k, x, f"{k} of {20 * k:,} values, ξ = {x:g}") for k in FITTED for x in PUBLISHED]
_GEV = "fit_gev: shape", "fit_gev().return_level"
CELLS = [
    *(Cell("evt", "fit_gpd: shape", regime, _gpd_shape(k, x)) for k, x, regime in _REGIMES),
    *(
        Cell(
            "evt",
            "fit_gpd().return_level",
            f"{regime}, mλ = {m:g}",
            _gpd_level(k, x, m),
            runs=_runs(x),
        )
        for k, x, regime in _REGIMES
        for m in (2.0, 20.0)
    ),
    *(
        Cell(
            "evt",
            "fit_gpd().return_level(calibrated=True)",
            f"{regime}, mλ = 20",
            _calibrated_level(k, x, 20.0),
            runs=1_000,
        )
        for k, x, regime in _REGIMES
        if k < 300 and x in (-0.4, 0.1)
    ),
    *(
        Cell(
            "evt",
            "fit_gpd().endpoint",
            f"{k} of {20 * k:,} values, ξ = {x:g}",
            _endpoint(k, x),
            runs=_runs(x),
        )
        for k in FITTED
        for x in (-0.4, -0.2)
    ),
    *(
        Cell("evt", _GEV[0], f"{n} block maxima, ξ = {x:g}", _gev(n, x, None), runs=2_000)
        for n in FITTED
        for x in (-0.2, 0.1)
    ),
    *(
        Cell(
            "evt",
            _GEV[1],
            f"{n} block maxima, ξ = {x:g}, 100 blocks",
            _gev(n, x, 100.0),
            runs=2_000,
        )
        for n in FITTED
        for x in (-0.2, 0.1)
    ),
    *_new_cells(),
    *_cells_of_options(),
]
