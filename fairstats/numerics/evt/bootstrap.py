"""Resampling and simulation of tails, as batches of excesses for the vectorised fits.

A batch has one row per replicate, filled up with zeros: sums over excesses do not notice them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairstats.numerics.evt.distributions import random_excesses
from fairstats.numerics.evt.gev import GevSamples, fit_gev_samples
from fairstats.numerics.evt.gpd import GpdSamples, fit_gpd_samples
from fairstats.numerics.evt.lmoments import gev_from_lmoments, gpd_from_lmoments, sample_lmoments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.numerics.evt.result import EvtFit

    Floats = NDArray[np.float64]

__all__ = [
    "ExcessBatch",
    "fit_excess_batch",
    "fit_maxima_batch",
    "resample_exceedances",
    "simulate_excesses",
    "values_a_bootstrap_reaches",
]

#: Fewer excesses than this, from ties, make a replicate useless.
_LEAST = 5
#: Values that are looked at for where the largest ones begin.
_LOOKED_AT = 2000


@dataclass(frozen=True)
class ExcessBatch:
    """Replicates of the excesses over a threshold.

    Attributes
    ----------
    excesses : ndarray of float, shape (B, W)
        Descending in each row, then zeros.
    n : ndarray of float, shape (B,)
        Excesses in each row.
    threshold : ndarray of float, shape (B,)
        The threshold of each replicate.
    """

    excesses: Floats
    n: Floats
    threshold: Floats


def values_a_bootstrap_reaches(series: Floats, k: int) -> Floats:
    """The largest values of a series, descending: more than resamples need for their (k + 1)-th largest.

    Of the top T values a resample draws T ± √T; T = k + 12√k + 60 leaves a probability below 1e-20 that
    fewer than k + 1 of them come up.
    """
    reach = min(series.size, int(k + 12.0 * np.sqrt(k) + 60.0))
    cut = _value_below(series, reach)
    top = np.sort(series[series > cut])
    missing = reach - top.size
    if missing > 0:
        if np.count_nonzero(series == cut) < missing:
            top, missing = np.sort(series), 0
        top = np.concatenate([np.full(missing, cut), top])
    return np.ascontiguousarray(top[top.size - reach :][::-1])


def _value_below(series: Floats, reach: int) -> float:
    """A value that about twice `reach` values exceed, judged by some of them; it need not be right."""
    every = max(1, series.size // _LOOKED_AT)
    some = np.sort(series[::every])
    return float(some[max(0, some.size - 1 - 2 * reach // every - 20)])


def resample_exceedances(
    rng: np.random.Generator, top: Floats, total: int, k: int, replicates: int
) -> ExcessBatch:
    """Resample all N values and take the (k + 1)-th largest of each resample as its threshold.

    Parameters
    ----------
    rng : Generator
    top : ndarray of float, shape (T,)
        Largest values of the series, descending (`values_a_bootstrap_reaches`).
    total, k : int
        N, and the exceedances of the sample.
    replicates : int

    Notes
    -----
    How many of the N draws fall among the top T is binomial; which, uniform. Nothing else of the resample
    matters. Duplicates at the threshold do not exceed it, so that rows may have fewer than k excesses.
    """
    drawn = rng.binomial(total, top.size / total, size=replicates)
    drawn = np.maximum(drawn, min(k + 1, total))
    width = int(drawn.max())
    place = rng.integers(0, top.size, size=(replicates, width))
    place[np.arange(width) >= drawn[:, None]] = top.size
    keep = min(k + 1, width)
    place = np.sort(np.partition(place, keep - 1, axis=1)[:, :keep], axis=1)
    values = np.append(top, top[-1])[place]
    threshold = values[:, -1] if keep == k + 1 else np.full(replicates, top[-1])
    excesses = np.maximum(values[:, :k] - threshold[:, None], 0.0)
    n = (excesses > 0).sum(axis=1).astype(np.float64)
    usable = n >= _LEAST
    return ExcessBatch(excesses[usable], n[usable], threshold[usable])


def simulate_excesses(rng: np.random.Generator, fit: EvtFit, replicates: int) -> ExcessBatch:
    """Excesses of new series from the fitted model: their number binomial (or Poisson), same threshold."""
    if fit.model == "point_process":
        n = rng.poisson(fit.n_exceedances, size=replicates)
    else:
        n = rng.binomial(fit.n_total, fit.rate, size=replicates)
    n = np.maximum(n, _LEAST)
    scale, shape = fit.excess_params
    excesses = random_excesses(rng, (replicates, int(n.max())), scale, shape)
    excesses[np.arange(excesses.shape[1]) >= n[:, None]] = 0.0
    return ExcessBatch(excesses, n.astype(np.float64), np.full(replicates, fit.origin))


def fit_excess_batch(batch: ExcessBatch, method: str) -> tuple[Floats, Floats]:
    """σ and ξ of each row."""
    if method == "lmoments":
        ascending = np.sort(batch.excesses, axis=1)
        l1, l2, _ = sample_lmoments(ascending, batch.n)
        params = gpd_from_lmoments(l1, l2)
        return params[:, 0], params[:, 1]
    fits = fit_gpd_samples(GpdSamples.from_excesses(batch.excesses, batch.n), covariance=False)
    return fits.scale, fits.shape


def fit_maxima_batch(maxima: Floats, method: str) -> tuple[Floats, Floats, Floats]:
    """μ, σ and ξ of each row of `maxima`, shape (B, n); NaN where the likelihood has no maximum."""
    if method == "lmoments":
        params = gev_from_lmoments(*sample_lmoments(np.sort(maxima, axis=1)))
        return params[:, 0], params[:, 1], params[:, 2]
    fits = fit_gev_samples(GevSamples.from_maxima(maxima), covariance=False)
    nothing = np.where(fits.unbounded, np.nan, 0.0)
    return fits.location + nothing, fits.scale + nothing, fits.shape + nothing
