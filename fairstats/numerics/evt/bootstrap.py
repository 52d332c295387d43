"""Resampling and simulation of tails, as batches of excesses for the vectorised fits.

A batch has one row per replicate, filled up with zeros. In small samples the likelihood ratio of a return level exceeds
its χ² quantiles too often (coverage .91–.94 at 50 exceedances): its distribution under the fitted model, by parametric
bootstrap, allows for it.

Below ξ = −1/2 the likelihood is not regular, and its profiles cover too little (.90 at −.6, .81 at −1.5). There levels
and the end point have fiducial draws. The quantile function is a power near its end, x = θ − c·s^g with s the survival
probability, g = −ξ. With X₁ ≥ … ≥ X_k the largest of N values and Γ₁ < … < Γ_k N times the k smallest of N uniforms,
X_i = θ − c·Γ_i^g, whose c and θ drop out of H = mean over i = 2 … k − 1 of log[(X₁ − X_k)/(X₁ − X_i)]. Each draw of Γ
makes this an equation for g; then c and θ follow from two order statistics, and every level from these. Quantiles of
the draws are the interval, shares of draws the test of two independent groups (generalised pivotal quantities:
Weerahandi 1993). Both hold for ξ from −1/2 to about −2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.multiplicity import normal_quantile
from fairstats.numerics.evt import distributions as law
from fairstats.numerics.evt.distributions import LEAST_DRAWN, Floats, Triple, power_ratio
from fairstats.numerics.evt.gev import GevLikelihood, fit_gev_samples
from fairstats.numerics.evt.gpd import GpdLikelihood, RateTerm, fit_gpd_samples
from fairstats.numerics.evt.likelihood import Samples, level_profile
from fairstats.numerics.evt.tail import FittedTail

#: Name of the intervals of a power tail.
POWER_TAIL = "power tail"
#: Draws of an interval: its ends are quantiles at 2.5%, known to .35% of probability; and those at a time.
DRAWS, _CHUNK, _SEED = 2000, 250, 20_240_611
#: Logarithms of the powers g between which an equation is solved, and the halvings that do it.
_LEAST, _MOST, _HALVINGS = np.log(0.02), np.log(20.0), 24


@dataclass(frozen=True)
class ExcessBatch:
    """Replicates: excesses (B, W), descending in each row, then zeros; their number and the threshold of each, (B,)."""

    excesses: Floats
    n: Floats
    threshold: Floats


def values_a_bootstrap_reaches(series: Floats, k: int) -> Floats:
    """The largest values of a series, descending: more than resamples need for their (k + 1)-th largest.

    Of the top T values a resample draws T ± √T; T = k + 12√k + 60 leaves a probability below 1e-20 that
    fewer than k + 1 of them come up.
    """
    reach = min(series.size, int(k + 12.0 * np.sqrt(k) + 60.0))
    # of a long series only what lies above a guess is sorted, judged by some of its values
    some = np.sort(series[:: max(1, series.size // 2000)])
    guess = some[max(0, some.size - 1 - 2 * reach * some.size // series.size - 20)]
    top = series[series > guess]
    if top.size < reach:  # a bad guess, or ties
        top = series
    return np.sort(top)[top.size - reach :][::-1].copy()


def resample_exceedances(rng: np.random.Generator, top: Floats, total: int, k: int, replicates: int) -> ExcessBatch:
    """Resample all N = `total` values and take the (k + 1)-th largest of each resample as its threshold.

    How many of the N draws fall among the `top` T values (`values_a_bootstrap_reaches`) is binomial; which,
    uniform. Nothing else of the resample matters. Duplicates at the threshold do not exceed it, so that rows
    may have fewer than k excesses.
    """
    drawn = np.maximum(rng.binomial(total, top.size / total, size=replicates), min(k + 1, total))
    width = int(drawn.max())
    place = rng.integers(0, top.size, size=(replicates, width))
    place[np.arange(width) >= drawn[:, None]] = top.size
    keep = min(k + 1, width)
    place = np.sort(np.partition(place, keep - 1, axis=1)[:, :keep], axis=1)
    values = np.append(top, top[-1])[place]
    threshold = values[:, -1] if keep == k + 1 else np.full(replicates, top[-1])
    excesses = np.maximum(values[:, :k] - threshold[:, None], 0.0)
    n = (excesses > 0).sum(axis=1).astype(np.float64)
    usable = n >= LEAST_DRAWN
    return ExcessBatch(excesses[usable], n[usable], threshold[usable])


def fit_excess_batch(batch: ExcessBatch, method: str) -> tuple[Floats, Floats]:
    """σ and ξ of each row."""
    if method == "lmoments":
        l1, l2, _ = law.sample_lmoments(np.sort(batch.excesses, axis=1), batch.n)
        scale, shape = law.gpd_from_lmoments(l1, l2).T
        return scale, shape
    samples = Samples.from_excesses(batch.excesses, batch.n)
    fits = fit_gpd_samples(samples, covariance=False, penalised=method == "coles_dixon")
    return fits.scale, fits.shape


def fit_maxima_batch(maxima: Floats, method: str) -> Triple:
    """μ, σ and ξ of each row of `maxima`, shape (B, n); NaN where the likelihood has no maximum."""
    if method == "lmoments":
        params = law.gev_from_lmoments(*law.sample_lmoments(np.sort(maxima, axis=1)))
    else:
        penalised = method == "coles_dixon"
        fits = fit_gev_samples(Samples.from_maxima(maxima), covariance=False, penalised=penalised)
        params = np.where(fits.unbounded[:, None], np.nan, fits.params)
    location, scale, shape = params.T
    return location, scale, shape


def resampled_levels(fit: FittedTail, tau: float, replicates: int, rng: np.random.Generator) -> Floats:
    """Return levels of log period τ in resamples of all N values, each with a threshold of its own."""
    if fit.model == "gev":
        maxima = fit.sample[rng.integers(0, fit.sample.size, size=(replicates, fit.sample.size))]
        maxima = maxima[maxima.max(axis=1) > maxima.min(axis=1)]
        location, scale, shape = fit_maxima_batch(maxima, fit.method)
        levels = np.asarray(location + scale * power_ratio(np.asarray(tau), shape))
        return levels[~np.isnan(levels)]
    if fit.top is None:
        got = "'bootstrap' of a fit that was read from a dictionary"
        allowed = "'profile' or 'delta', or a bootstrap of the fit itself: it resamples the series"
        raise InputError("method", got=got, allowed=allowed, cure="fit again, or method='profile'")
    batch = resample_exceedances(rng, fit.top, fit.n_total, fit.n_exceedances, replicates)
    scale, shape = fit_excess_batch(batch, fit.method)
    return np.asarray(batch.threshold + scale * power_ratio(tau + np.log(batch.n / fit.n_total), shape))


def simulated_deviances(
    fit: FittedTail, log_period: float, level: float, replicates: int, rng: np.random.Generator
) -> Floats:
    """Deviances of the model's own return level (log period τ) in samples from it; those without a maximum left out."""
    likelihood: GevLikelihood | GpdLikelihood
    origin: Floats | float
    if fit.model == "gev":
        samples = Samples.from_maxima(fit.quantile(rng.random((replicates, fit.n_exceedances))))
        likelihood, origin = GevLikelihood.from_samples(samples), samples.centre
    else:
        k, total, origin = fit.n_exceedances, fit.n_total, fit.origin  # a new series has another k
        poisson = fit.model == "point_process"
        n = rng.poisson(k, size=replicates) if poisson else rng.binomial(total, fit.rate, size=replicates)
        samples = Samples.from_excesses(*law.random_samples(rng, n, *fit.excess_params))
        rate: RateTerm = "poisson" if poisson else "binomial"
        likelihood = GpdLikelihood.from_samples(samples, np.full(replicates, float(total)), rate)
    d, period = (level - origin) / samples.unit, np.full(replicates, log_period)
    # the true level is near each sample's own, so that the search starts from its fit
    start = likelihood.fits.theta if fit.model == "gev" else None
    points = level_profile(likelihood, np.arange(replicates), d, period, start=start)
    deviance = np.maximum(2.0 * (points.value - likelihood.minimum()), 0.0)
    return deviance[~likelihood.fits.unbounded]


@dataclass(frozen=True)
class PowerTail:
    """Draws of the tail x = end − c·(N·s)^g, each of shape (B,)."""

    total: int
    end: Floats
    c: Floats
    g: Floats

    @classmethod
    def of(
        cls, values: Floats, total: int, m: float | None = None, rng: np.random.Generator | None = None
    ) -> PowerTail | None:
        """Draws for the k largest of `total` values; None where the largest are tied.

        c and the end go through the order statistic next to the level of `m` observations (None: the end point, the
        largest) in the upper half: next to the least value the spacing is near 0 in many draws. Without a generator
        always the same draws.
        """
        return next(iter(cls.of_each(values, total, (m,), rng)), None)

    @classmethod
    def of_each(
        cls, values: Floats, total: int, periods: Sequence[float | None], rng: np.random.Generator | None = None
    ) -> list[PowerTail]:
        """`of` for several m, by the same draws: they do not depend on m; empty where it is None."""
        x = np.sort(values)[::-1]
        k = x.size
        if k < 4 or not x[0] > x[1]:
            return []
        places = [0 if m is None else min(max(round(total / m), 1), k // 2) - 1 for m in periods]
        stream = np.random.default_rng(_SEED) if rng is None else rng
        found = [_solved(x, total, places, min(_CHUNK, DRAWS - i), stream) for i in range(0, DRAWS, _CHUNK)]
        return [cls(total, *map(np.concatenate, zip(*parts, strict=True))) for parts in zip(*found, strict=True)]

    def level(self, m: float) -> Floats:
        """Draws of the level of m observations."""
        return np.asarray(self.end - self.c * (self.total / m) ** self.g)

    def probability(self, value: float) -> Floats:
        """Draws of the probability that an observation exceeds a value; 0 beyond the end point."""
        return np.asarray(np.maximum((self.end - value) / self.c, 0.0) ** (1.0 / self.g) / self.total)


def root_of_draws(drawn: Floats, value: float) -> float:
    """The normal quantile of the share of draws above a value: what the signed root is of a likelihood."""
    share = float((drawn > value).mean() + 0.5 * (drawn == value).mean())
    return normal_quantile(min(max(share, 0.5 / drawn.size), 1.0 - 0.5 / drawn.size))


def _solved(x: Floats, total: int, places: Sequence[int], draws: int, rng: np.random.Generator) -> list[Triple]:
    """Draws of end, c and g, through each of the order statistics `places`."""
    k = x.size
    observed = float(np.log((x[0] - x[-1]) / (x[0] - x[1:-1])).mean())
    # the k smallest of N uniforms: the k-th is a beta variable, those below it are uniform
    last = rng.beta(k, max(total - k + 1, 1), draws)
    share = np.sort(rng.random((draws, k - 1)), axis=1)
    first, inner = np.log(share[:, :1]), np.log(share[:, 1:])
    low, high = np.full((draws, 1), _LEAST), np.full((draws, 1), _MOST)
    for _ in range(_HALVINGS):  # the mean rises with g
        middle = 0.5 * (low + high)
        least = np.exp(np.exp(middle) * first)
        gap = np.maximum(np.exp(np.exp(middle) * inner) - least, 1e-300)
        less = (np.log1p(-least) - np.log(gap)).mean(axis=1, keepdims=True) < observed
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    g = np.exp(0.5 * (low + high))[:, 0]
    gamma, found = total * last, []
    for place in places:
        near = np.exp(g * (np.log(share[:, place]) + np.log(gamma)))
        c = (x[place] - x[-1]) / (gamma**g - near)
        found.append((x[place] + c * near, c, g))
    return found
