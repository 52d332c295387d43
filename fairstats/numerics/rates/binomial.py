"""Binomial probabilities of runs of counts, and interpolation between rates."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, betaincinv, gammaln

from fairstats.ground.checks import Floats

#: Nodes of the interpolation between rates, and parts into which a step is divided.
_STENCIL = 6
_PARTS = 4


def clopper_pearson(k: int, n: int, error: float) -> tuple[float, float]:
    """Exact two-sided interval of a rate."""
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, error / 2))
    high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - error / 2))
    return low, high


def binomial_cdf(count: int, n: int, rate: float) -> float:
    """P(X ≤ count), also of −1 and of n and more."""
    if count < 0:
        return 0.0
    return 1.0 if count >= n else float(bdtr(float(count), n, rate))


def binomial_masses(counts: Floats, n: int, rates: Floats, descending: NDArray[np.bool_]) -> Floats:
    """Binomial probabilities of consecutive counts, shape (R, I, G).

    The first is by logarithms, the others follow by b(i + 1) = b(i)·(n − i)/(i + 1)·p/(1 − p), or the same downwards.

    Parameters
    ----------
    counts : ndarray, shape (R, I)
        From the end of the range that is nearer to a rate of 0, or 1: where the first probability underflows, the
        others are 0.
    rates : ndarray, shape (R, G)
        Probabilities of success.
    descending : ndarray of bool, shape (R, 1)
        Whether the counts of a row fall.
    """
    rates = np.minimum(np.maximum(rates, 1e-300), 1 - 1e-16)
    start = counts[:, :1]
    log_first = start * np.log(rates) + (n - start) * np.log1p(-rates)
    log_first += gammaln(n + 1.0) - gammaln(start + 1.0) - gammaln(n - start + 1.0)
    masses = np.empty((*counts.shape, rates.shape[1]))
    masses[:, 0] = np.exp(log_first)
    if counts.shape[1] == 1:
        return masses
    earlier = counts[:, :-1]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        odds = np.where(descending, (1 - rates) / rates, rates / (1 - rates))
        falling = earlier / (n - earlier + 1)
        factor = np.where(descending, falling, (n - earlier) / (earlier + 1))
        np.multiply(np.maximum(factor, 0.0)[:, :, None], odds[:, None, :], out=masses[:, 1:])
        np.multiply.accumulate(masses, axis=1, out=masses)
    return masses


def vertex(values: Floats) -> Floats:
    """Largest value of each row, of the parabola through the largest and its neighbours; shape (R,)."""
    rows = np.arange(len(values))
    place = values.argmax(axis=1)
    top = values[rows, place]
    before = values[rows, np.maximum(place - 1, 0)]
    after = values[rows, np.minimum(place + 1, values.shape[1] - 1)]
    bend = 2 * top - before - after
    within = (place > 0) & (place < values.shape[1] - 1) & (bend > 0)
    higher = (before - after) ** 2 / (8 * np.where(within, bend, 1.0))
    return np.asarray(top + np.where(within, higher, 0.0))


def interpolation(points: int, places: Floats) -> Floats:
    """Matrix of local polynomial interpolation of values at 0, 1, …, points − 1; shape (points, places)."""
    starts = np.minimum(np.maximum(np.floor(places).astype(np.int64) - _STENCIL // 2 + 1, 0), points - _STENCIL)
    matrix = np.zeros((points, places.size))
    columns = np.arange(places.size)
    offsets = places - starts
    for node in range(_STENCIL):
        others = [other for other in range(_STENCIL) if other != node]
        weight = np.ones(places.size)
        for other in others:
            weight *= (offsets - other) / (node - other)
        matrix[starts + node, columns] = weight
    return matrix


@functools.lru_cache(maxsize=64)
def refinement(points: int) -> Floats:
    """Interpolation to `_PARTS` values a step, shape (points, parts·(points − 1) + 1)."""
    return interpolation(points, np.linspace(0.0, points - 1.0, _PARTS * (points - 1) + 1))
