"""Resampling and simulation of tails, as batches of excesses for the vectorised fits.

A batch has one row per replicate, filled up with zeros. In small samples the likelihood ratio of a
return level exceeds its χ² quantiles too often (coverage .91–.94 at 50 exceedances): its
distribution under the fitted model, by parametric bootstrap, allows for it.

Below ξ = −1/2 the likelihood is not regular, and its profiles cover too little (.90 at −.6, .81 at
−1.5). There levels and the end point have fiducial draws. The quantile function is a power near its
end, x = θ − c·s^g with s the survival probability, g = −ξ. With X₁ ≥ … ≥ X_k the largest of N
values and Γ₁ < … < Γ_k N times the k smallest of N uniforms, X_i = θ − c·Γ_i^g, whose c and θ drop
out of H = mean over i = 2 … k − 1 of log[(X₁ − X_k)/(X₁ − X_i)]. Each draw of Γ makes this an
equation for g; then c and θ follow from two order statistics, and every level from these. Quantiles
of the draws are the interval, shares of draws the test of two independent groups (generalised
pivotal quantities: Weerahandi 1993). Both hold for ξ from −1/2 to about −2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.multiplicity import normal_quantile
from fairstats.numerics.draws import resample_blocks
from fairstats.numerics.evt import distributions as law
from fairstats.numerics.evt.distributions import LEAST_DRAWN, Floats, Triple, power_ratio
from fairstats.numerics.evt.gev import GevLikelihood, fit_gev_samples
from fairstats.numerics.evt.gpd import GpdLikelihood, RateTerm, fit_gpd_samples
from fairstats.numerics.evt.likelihood import Samples, level_profile
from fairstats.numerics.evt.tail import FittedTail

#: Name of the intervals of a power tail.
POWER_TAIL = "power tail"
#: Draws of an interval: its ends are quantiles at 2.5%, known to .35% of probability; and those at
#: a time.
DRAWS = 2000
_DRAWS_AT_A_TIME = 250
_SEED = 20_240_611
#: Logarithms of the powers g between which an equation is solved, the most steps that do it, and
#: how near is near enough.
_LOG_LEAST_POWER = float(np.log(0.02))
_LOG_LARGEST_POWER = float(np.log(20.0))
_STEPS = 40
_EXACT = 1e-9
#: Order statistics of these ranks are taken one by one; of higher ones each group of rank/8
#: neighbours stands as its mean.
_SINGLE = 30
_NEIGHBOURS = 8


@dataclass(frozen=True)
class ExcessBatch:
    """Replicates: excesses (B, W), descending in each row, then zeros.

    Their number and the threshold of each, (B,).
    """

    excesses: Floats
    n: Floats
    threshold: Floats


def values_a_bootstrap_reaches(series: Floats, k: int) -> Floats:
    """The largest values of a series, descending.

    More than resamples need for their (k + 1)-th largest.

    Of the top T values a resample draws T ± √T; T = k + 12√k + 60 leaves a probability below 1e-20
    that fewer than k + 1 of them come up.
    """
    n_reached = min(series.size, int(k + 12.0 * np.sqrt(k) + 60.0))
    # of a long series only what lies above a guess is sorted, judged by some of its values
    some_values = np.sort(series[:: max(1, series.size // 2000)])
    guessed_bound = some_values[
        max(0, some_values.size - 1 - 2 * n_reached * some_values.size // series.size - 20)
    ]
    top_values = series[series > guessed_bound]
    if top_values.size < n_reached:  # a bad guess, or ties
        top_values = series
    return np.sort(top_values)[top_values.size - n_reached :][::-1].copy()


def resample_exceedances(
    rng: np.random.Generator,
    top: Floats,
    total: int,
    k: int,
    replicates: int,
) -> ExcessBatch:
    """Resample all N = `total` values and take the (k + 1)-th largest of each resample as its
    threshold.

    How many of the N draws fall among the `top` T values (`values_a_bootstrap_reaches`) is
    binomial; which, uniform. Nothing else of the resample matters. Duplicates at the threshold do
    not exceed it, so that rows may have fewer than k excesses.
    """
    n_drawn = np.maximum(rng.binomial(total, top.size / total, size=replicates), min(k + 1, total))
    most_drawn = int(n_drawn.max())
    positions = rng.integers(0, top.size, size=(replicates, most_drawn))
    positions[np.arange(most_drawn) >= n_drawn[:, None]] = top.size
    n_kept = min(k + 1, most_drawn)
    positions = np.sort(np.partition(positions, n_kept - 1, axis=1)[:, :n_kept], axis=1)
    drawn_values = np.append(top, top[-1])[positions]
    if n_kept == k + 1:
        row_thresholds = drawn_values[:, -1]
    else:
        row_thresholds = np.full(replicates, top[-1])
    excesses = np.maximum(drawn_values[:, :k] - row_thresholds[:, None], 0.0)
    n_excesses = (excesses > 0).sum(axis=1).astype(np.float64)
    is_usable = n_excesses >= LEAST_DRAWN
    return ExcessBatch(excesses[is_usable], n_excesses[is_usable], row_thresholds[is_usable])


def fit_excess_batch(
    batch: ExcessBatch, method: str, law_drawn: tuple[float, float] | None = None
) -> tuple[Floats, Floats]:
    """σ and ξ of each row; `law_drawn`: those of the law that the rows were drawn from, where
    maximum likelihood begins its search.
    """
    if method == "lmoments":
        l1, l2, _ = law.sample_lmoments(np.sort(batch.excesses, axis=1), batch.n)
        scales, shapes = law.gpd_from_lmoments(l1, l2).T
        return scales, shapes
    samples = Samples.from_excesses(batch.excesses, batch.n)
    start = None
    if law_drawn is not None:
        scale, shape = law_drawn
        start = shape / scale * samples.unit
    sample_fits = fit_gpd_samples(
        samples,
        covariance=False,
        penalised=method == "coles_dixon",
        start=start,
    )
    return sample_fits.scale, sample_fits.shape


def fit_maxima_batch(maxima: Floats, method: str) -> Triple:
    """μ, σ and ξ of each row of `maxima`, shape (B, n); NaN where the likelihood has no maximum."""
    if method == "lmoments":
        params = law.gev_from_lmoments(*law.sample_lmoments(np.sort(maxima, axis=1)))
    else:
        penalised = method == "coles_dixon"
        sample_fits = fit_gev_samples(
            Samples.from_maxima(maxima), covariance=False, penalised=penalised
        )
        params = np.where(sample_fits.unbounded[:, None], np.nan, sample_fits.params)
    locations, scales, shapes = params.T
    return locations, scales, shapes


def resampled_levels(
    fit: FittedTail,
    tau: float,
    replicates: int,
    rng: np.random.Generator,
) -> Floats:
    """Return levels of log period τ in resamples of all N values, each with a threshold of its
    own.
    """
    if fit.model == "gev":
        blocks = []
        n_maxima = fit.sample.size
        for block_size in resample_blocks(replicates, n_maxima, "bootstrap of a level"):
            maxima = fit.sample[rng.integers(0, n_maxima, size=(block_size, n_maxima))]
            maxima = maxima[maxima.max(axis=1) > maxima.min(axis=1)]
            locations, scales, shapes = fit_maxima_batch(maxima, fit.method)
            blocks.append(locations + scales * power_ratio(np.asarray(tau), shapes))
        levels = np.concatenate(blocks)
        return levels[~np.isnan(levels)]
    if fit.top is None:
        got = "'bootstrap' of a fit that was read from a dictionary"
        allowed = "'profile' or 'delta', or a bootstrap of the fit itself: it resamples the series"
        raise InputError("method", got=got, allowed=allowed, cure="fit again, or method='profile'")
    blocks = []
    for block_size in resample_blocks(replicates, fit.top.size, "bootstrap of a level"):
        excess_batch = resample_exceedances(
            rng, fit.top, fit.n_total, fit.n_exceedances, block_size
        )
        scales, shapes = fit_excess_batch(excess_batch, fit.method)
        log_periods = tau + np.log(excess_batch.n / fit.n_total)
        blocks.append(excess_batch.threshold + scales * power_ratio(log_periods, shapes))
    return np.concatenate(blocks)


def simulated_deviances(
    fit: FittedTail,
    log_period: float,
    level: float,
    replicates: int,
    rng: np.random.Generator,
) -> Floats:
    """Deviances of the model's own return level (log period τ) in samples from it.

    Those without a maximum left out.
    """
    blocks = []
    for block_size in resample_blocks(replicates, fit.n_exceedances, "deviances of a level"):
        blocks.append(_simulate_deviances(fit, log_period, level, block_size, rng))
    return np.concatenate(blocks)


def _simulate_deviances(
    fit: FittedTail,
    log_period: float,
    level: float,
    replicates: int,
    rng: np.random.Generator,
) -> Floats:
    """`simulated_deviances` of samples that are held in memory together."""
    likelihood: GevLikelihood | GpdLikelihood
    origin: Floats | float
    if fit.model == "gev":
        samples = Samples.from_maxima(fit.quantile(rng.random((replicates, fit.n_exceedances))))
        likelihood = GevLikelihood.from_samples(samples)
        origin = samples.centre
    else:
        # a new series has another k
        k = fit.n_exceedances
        n_total = fit.n_total
        origin = fit.origin
        is_poisson = fit.model == "point_process"
        if is_poisson:
            sample_sizes = rng.poisson(k, size=replicates)
        else:
            sample_sizes = rng.binomial(n_total, fit.rate, size=replicates)
        samples = Samples.from_excesses(*law.random_samples(rng, sample_sizes, *fit.excess_params))
        rate_term: RateTerm = "poisson" if is_poisson else "binomial"
        likelihood = GpdLikelihood.from_samples(
            samples, np.full(replicates, float(n_total)), rate_term
        )
    standard_levels = (level - origin) / samples.unit
    log_periods = np.full(replicates, log_period)
    # the true level is near each sample's own, so that the search starts from its fit
    if fit.model == "gev":
        start_theta = likelihood.fits.theta
    else:
        start_theta = None
    profile_points = level_profile(
        likelihood, np.arange(replicates), standard_levels, log_periods, start=start_theta
    )
    deviances = np.maximum(2.0 * (profile_points.value - likelihood.minimum()), 0.0)
    return deviances[~likelihood.fits.unbounded]


@dataclass(frozen=True)
class _Powers:
    """Draws of g, shape (B,), and of log Γ_i, i = 1 … k/2 and k, shape (B, k/2 + 1)."""

    g: Floats
    log_gamma: Floats


@dataclass(frozen=True)
class PowerTail:
    """Draws of the tail x = end − c·(N·s)^g, each of shape (B,)."""

    total: int
    end: Floats
    c: Floats
    g: Floats

    @classmethod
    def of(
        cls,
        values: Floats,
        total: int,
        m: float | None = None,
        rng: np.random.Generator | None = None,
    ) -> PowerTail | None:
        """Draws for the k largest of `total` values; None where the largest are tied.

        c and the end go through the order statistic next to the level of `m` observations (None:
        the end point, the largest) in the upper half: next to the least value the spacing is near 0
        in many draws. Without a generator always the same draws.
        """
        return next(iter(cls.of_each(values, total, (m,), rng)), None)

    @classmethod
    def of_each(
        cls,
        values: Floats,
        total: int,
        periods: Sequence[float | None],
        rng: np.random.Generator | None = None,
    ) -> list[PowerTail]:
        """`of` for several m, by the same draws: they do not depend on m.

        Empty where it is None.
        """
        descending = np.sort(values)[::-1]
        n_values = descending.size
        if n_values < 4 or not descending[0] > descending[1]:
            return []
        observed = float(
            np.log((descending[0] - descending[-1]) / (descending[0] - descending[1:-1])).mean()
        )
        if rng is None:
            drawn = _usual_powers(n_values, total, observed, DRAWS)
        else:
            drawn = _draw_powers(n_values, total, observed, DRAWS, rng)
        chunk_draws = []
        for period in periods:
            if period is None:
                place = 0
            else:
                place = min(max(round(total / period), 1), n_values // 2) - 1
            near = np.exp(drawn.g * drawn.log_gamma[:, place])
            c = (descending[place] - descending[-1]) / (
                np.exp(drawn.g * drawn.log_gamma[:, -1]) - near
            )
            chunk_draws.append(cls(total, descending[place] + c * near, c, drawn.g))
        return chunk_draws

    def level(self, m: float) -> Floats:
        """Draws of the level of m observations."""
        return np.asarray(self.end - self.c * (self.total / m) ** self.g)

    def probability(self, value: float) -> Floats:
        """Draws of the probability that an observation exceeds a value; 0 beyond the end point."""
        return np.asarray(
            np.maximum((self.end - value) / self.c, 0.0) ** (1.0 / self.g) / self.total
        )


def root_of_draws(drawn: Floats, value: float) -> float:
    """The normal quantile of the share of draws above a value.

    What the signed root is of a likelihood.
    """
    share_above = float((drawn > value).mean() + 0.5 * (drawn == value).mean())
    return normal_quantile(min(max(share_above, 0.5 / drawn.size), 1.0 - 0.5 / drawn.size))


@lru_cache(maxsize=8)
def _usual_powers(count: int, total: int, observed: float, draws: int) -> _Powers:
    """`_draw_powers` by the same random numbers for everybody: levels, end point and horizon of a
    tail ask for the same draws again and again.
    """
    return _draw_powers(count, total, observed, draws, np.random.default_rng(_SEED))


def _draw_powers(
    count: int,
    total: int,
    observed: float,
    draws: int,
    rng: np.random.Generator,
) -> _Powers:
    """Draws of g and of the logarithms of Γ, some at a time."""
    parts = []
    for i in range(0, draws, _DRAWS_AT_A_TIME):
        parts.append(_solve_powers(count, total, observed, min(_DRAWS_AT_A_TIME, draws - i), rng))
    powers, spacings = zip(*parts, strict=True)
    return _Powers(np.concatenate(powers), np.concatenate(spacings))


def _solve_powers(
    count: int,
    total: int,
    observed: float,
    draws: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """G and log Γ, of which the upper half and the last are kept.

    With f = log(Γ₁/Γ_k) and u_i = log(Γ_i/Γ_k) the equation is h(g) = mean over i of
    log(1 − e^(gf)) − log(e^(gu_i) − e^(gf)) = H, and h rises: Newton's method in log g, which halves
    the bracket where it leaves it.
    """
    # the k smallest of N uniforms: the k-th is a beta variable, those below it are uniform
    last = rng.beta(count, max(total - count + 1, 1), draws)
    share = np.log(np.sort(rng.random((draws, count - 1)), axis=1))
    first = share[:, :1]
    inner, weights = condense_ranks(share[:, 1:])
    weights = weights / weights.sum()
    low = np.full(draws, _LOG_LEAST_POWER)
    high = np.full(draws, _LOG_LARGEST_POWER)
    log_g = np.full(draws, np.log(min(max(observed, 0.1), 2.0)))
    for _ in range(_STEPS):
        g = np.exp(log_g)[:, None]
        least = np.exp(g * first)
        each = np.exp(g * inner)
        gap = np.maximum(each - least, 1e-300)
        off = np.log1p(-least)[:, 0] - np.log(gap) @ weights - observed
        low = np.where(off < 0, log_g, low)
        high = np.where(off < 0, high, log_g)
        in_first = (-least * first / (1.0 - least))[:, 0]
        slope = g[:, 0] * (in_first - ((each * inner - least * first) / gap) @ weights)
        with np.errstate(all="ignore"):
            moved = log_g - off / slope
        inside = (moved >= low) & (moved <= high)
        log_g = np.where(inside, moved, 0.5 * (low + high))
        if np.abs(high - low).max() < _EXACT or (np.abs(off) < _EXACT).all():
            break
    share_and_zero = np.concatenate([share[:, : max(count // 2, 1)], np.zeros((draws, 1))], axis=1)
    return np.exp(log_g), share_and_zero + np.log(total * last)[:, None]


def condense_ranks(values: Floats) -> tuple[Floats, Floats]:
    """Ordered values, (B, K), largest ranks as means of an eighth of their rank, and the numbers in
    each column.
    """
    width = values.shape[1]
    starts = list(range(min(width, _SINGLE)))
    at = len(starts)
    while at < width:
        starts.append(at)
        at += max(at // _NEIGHBOURS, 1)
    weights = np.diff([*starts, width]).astype(np.float64)
    if weights.size == width:
        return values, weights
    return np.add.reduceat(values, starts, axis=1) / weights, weights
