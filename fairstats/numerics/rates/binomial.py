"""Binomial probabilities of runs of counts, and interpolation between rates.

    b(k) = n!/(k!·(n − k)!)·p^k·(1 − p)^(n−k),      b(k + 1) = b(k)·(n − k)/(k + 1)·p/(1 − p).

Exact limits of a rate at the error ε on a side are quantiles of beta laws (Clopper & Pearson 1934):
low that of Beta(k, n − k + 1) at ε, high that of Beta(k + 1, n − k) at 1 − ε.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, betaincinv, gammaln, xlog1py, xlogy

from fairstats.ground.checks import Floats

#: Nodes of the interpolation between rates.
STENCIL = 6
_NODES = np.arange(STENCIL)
#: Π_{k≠j} (j − k) of each node j.
_NODE_PRODUCTS = np.array(
    [np.prod([j - k for k in range(STENCIL) if k != j]) for j in range(STENCIL)], dtype=float
)
#: Numbers beyond e^±700 are none, and those near it lose their digits.
_MOST_LOG = 680.0
#: Logarithm of what is as good as nothing, and of nothing.
_LEAST_LOG = -280.0
_IMPOSSIBLE = -1e6
#: Logarithms of so many factorials are kept.
_MOST_FACTORIALS = 1 << 20
#: Parts into which a step between rates is divided.
PARTS = 4
#: Share of the largest value by which others are less and as large but for rounding.
EQUAL_VALUES = 1e-12


def clopper_pearson(k: int, n: int, error: float) -> tuple[float, float]:
    """Exact two-sided interval of a rate."""
    low, high = beta_limits(k, n, error / 2)
    return float(low), float(high)


def beta_limits(
    successes: ArrayLike,
    cases: ArrayLike,
    tail: float,
    *,
    prior: float = 0.0,
) -> tuple[Floats, Floats]:
    """Limits of rates k/n with the probability `tail` beyond each; arrays broadcast.

    Quantiles of Beta(k + a, n − k + b): of Clopper and Pearson with a, b = 0, 1 below and 1, 0
    above; with a = b = `prior` those of a posterior. Without a success the lower limit is 0,
    without a failure the upper one 1.
    """
    k = np.asarray(successes, dtype=np.float64)
    failures = np.asarray(cases, dtype=np.float64) - k
    outer = prior if prior else 1.0
    some_successes = np.maximum(k, 1e-300)
    some_failures = np.maximum(failures, 1e-300)
    low = betaincinv(some_successes + prior, some_failures + outer, tail)
    high = betaincinv(some_successes + outer, some_failures + prior, 1 - tail)
    return np.where(k == 0, 0.0, low), np.where(failures == 0, 1.0, high)


def binomial_cdf(count: int, n: int, rate: float) -> float:
    """P(X ≤ count), also of −1 and of n and more."""
    if count < 0:
        return 0.0
    return 1.0 if count >= n else float(bdtr(float(count), n, rate))


def binomial_mass(counts: NDArray[np.int64], n: int, rate: float) -> Floats:
    """P(X = count) of a binomial count X, for counts of any shape and a rate in [0, 1].

    By logarithms, log n! − log k! − log (n − k)! + k log p + (n − k) log(1 − p).
    """
    possible = (counts >= 0) & (counts <= n)
    possible_counts = np.where(possible, counts, 0)
    log_mass = gammaln(n + 1.0) - log_factorials(possible_counts)
    log_mass -= log_factorials(n - possible_counts)
    log_mass += xlogy(possible_counts, rate) + xlog1py(n - possible_counts, -rate)
    return np.where(possible, np.exp(log_mass), 0.0)


def log_factorials(counts: NDArray[np.int64]) -> Floats:
    """Logarithms of k! of counts ≥ 0, of any shape."""
    largest = int(counts.max(initial=0))
    if largest >= _MOST_FACTORIALS:
        return np.asarray(gammaln(counts + 1.0))
    table = _log_factorials_up_to(1 << max(largest.bit_length(), 10))
    return table.take(counts)


@functools.lru_cache(maxsize=16)
def _log_factorials_up_to(size: int) -> Floats:
    """Logarithms of k! of k = 0, …, size − 1."""
    return np.asarray(gammaln(np.arange(size) + 1.0))


def binomial_masses(
    counts: NDArray[np.int64],
    n: NDArray[np.int64],
    rates: Floats,
    out: Floats | None = None,
) -> Floats:
    """Binomial probabilities, shape (R, I, G).

    By logarithms, (log n! − log k! − log (n − k)!) + k logit p + n log(1 − p): a product of matrices,
    of what depends on the count and what depends on the rate.

    Parameters
    ----------
    counts : ndarray of int, shape (R, I)
        Beyond 0 and n their probability is 0.
    n : ndarray of int, shape (R, 1)
        Cases.
    rates : ndarray, shape (R, G)
        Probabilities of success.
    out : ndarray, shape (R, I, G), optional
        Where they are written.
    """
    rates = np.minimum(np.maximum(rates, 1e-300), 1 - 1e-16)
    possible_counts = np.minimum(np.maximum(counts, 0), n)
    log_ways = log_factorials(n) - log_factorials(possible_counts)
    log_ways -= log_factorials(n - possible_counts)
    log_ways[possible_counts != counts] = _IMPOSSIBLE
    of_counts = np.ones((*counts.shape, 3))
    of_counts[:, :, 0] = possible_counts
    of_counts[:, :, 1] = log_ways
    of_rates = np.ones((len(rates), 3, rates.shape[1]))
    log_others = np.log1p(-rates)
    np.subtract(np.log(rates), log_others, out=of_rates[:, 0])
    np.multiply(n, log_others, out=of_rates[:, 2])
    masses = np.matmul(of_counts, of_rates, out=out)
    # numbers below the normal ones, and their products, cost a hundred times as much: they become 0
    if masses[:, :: max(counts.shape[1] - 1, 1)].min() < _LEAST_LOG:
        masses[masses < _LEAST_LOG] = _IMPOSSIBLE
    return np.exp(masses, out=masses)


def binomial_run(counts: Floats, n: int, rates: Floats, *, descending: bool) -> Floats:
    """Binomial probabilities of one run of consecutive counts, shape (I, G).

    From the first one, b(i + 1) = b(i)·(n − i)/(i + 1)·p/(1 − p), or the same downwards: products
    of the coefficients, and powers of the odds by doubling, whose rounding does not grow with log
    n!. Where the first one or the powers leave the range of floats, each by logarithms.

    Parameters
    ----------
    counts : ndarray, shape (I,)
        From the end of the range that is nearer to a rate of 0, or 1; beyond 0 and n their
        probability is 0.
    n : int
        Cases.
    rates : ndarray, shape (G,)
        Probabilities of success.
    descending : bool
        Whether the counts fall.
    """
    rates = np.minimum(np.maximum(rates, 1e-300), 1 - 1e-16)
    log_rates = np.log(rates)
    log_others = np.log1p(-rates)
    start = float(counts[0])
    log_first = start * log_rates + (n - start) * log_others
    log_first += gammaln(n + 1.0) - gammaln(start + 1.0) - gammaln(n - start + 1.0)
    log_odds = log_others - log_rates if descending else log_rates - log_others
    length = counts.size
    largest_power = length * max(float(log_odds.max()), 0.0) + n * np.log(2.0)
    if log_first.min() < -_MOST_LOG or largest_power > _MOST_LOG:
        possible = (counts >= 0) & (counts <= n)
        possible_counts = np.where(possible, counts, 0.0)
        log_ways = (
            gammaln(n + 1.0) - gammaln(possible_counts + 1.0) - gammaln(n - possible_counts + 1.0)
        )
        log_ways = np.where(possible, log_ways, -np.inf)
        log_masses = possible_counts[:, None] * (log_rates - log_others)
        log_masses += n * log_others
        log_masses += log_ways[:, None]
        probabilities: Floats = np.exp(log_masses, out=log_masses)
        return probabilities
    masses = np.empty((length, rates.size))
    masses[0] = 1.0
    odds_power = np.exp(log_odds)
    counts_filled = 1
    while counts_filled < length:
        counts_to_fill = min(counts_filled, length - counts_filled)
        filled = slice(counts_filled, counts_filled + counts_to_fill)
        np.multiply(masses[:counts_to_fill], odds_power, out=masses[filled])
        counts_filled += counts_to_fill
        if counts_filled < length:
            odds_power = odds_power * odds_power
    masses *= np.exp(log_first)
    earlier = counts[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = earlier / (n - earlier + 1) if descending else (n - earlier) / (earlier + 1)
    masses[1:] *= np.multiply.accumulate(np.maximum(factors, 0.0))[:, None]
    return masses


def vertex(values: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Largest value of each row, of the parabola through the largest and its neighbours, and its
    place; shape (R,).
    """
    rows = np.arange(len(values))
    # of values that differ by rounding alone the first: parabolas through either differ by more
    most = values.max(axis=1)[:, None]
    peak = (values >= most - EQUAL_VALUES * np.abs(most)).argmax(axis=1)
    largest = values[rows, peak]
    preceding = values[rows, np.maximum(peak - 1, 0)]
    following = values[rows, np.minimum(peak + 1, values.shape[1] - 1)]
    curvature = 2 * largest - preceding - following
    within = (peak > 0) & (peak < values.shape[1] - 1) & (curvature > 0)
    higher = (preceding - following) ** 2 / (8 * np.where(within, curvature, 1.0))
    return np.asarray(largest + np.where(within, higher, 0.0)), peak


def interpolation(points: int, places: Floats) -> Floats:
    """Matrices of local polynomial interpolation of values at 0, 1, …, points − 1.

    The weight of node j is Π_{k≠j} (x − k)/(j − k), over the nodes about the place x.

    Parameters
    ----------
    points : int
        Number of values.
    places : ndarray, shape (…, P)
        Where they are wanted.

    Returns
    -------
    ndarray, shape (…, points, P)
        Weights: values @ matrix are those at the places.
    """
    flat = places.ravel()
    starts = np.minimum(
        np.maximum(np.floor(flat).astype(np.int64) - (STENCIL // 2 - 1), 0), points - STENCIL
    )
    # one row a node: products of whole rows cost a tenth of those within short ones
    distances = (flat - starts) - _NODES[:, None]
    weights = np.empty_like(distances)
    weights[0] = 1.0
    for node in range(1, STENCIL):
        np.multiply(weights[node - 1], distances[node - 1], out=weights[node])
    after = distances[-1].copy()
    for node in range(STENCIL - 2, -1, -1):
        weights[node] *= after
        after *= distances[node]
    weights /= _NODE_PRODUCTS[:, None]
    matrix = np.zeros(flat.size * points)
    matrix[(starts + points * np.arange(flat.size)) + _NODES[:, None]] = weights
    return np.swapaxes(matrix.reshape(*places.shape, points), -1, -2)


def refine(values: Floats) -> Floats:
    """Values at `PARTS` places a step, by `interpolation`: shape (R, points) → (R, parts·(points −
    1) + 1).

    Within, six neighbours always have the same weights; at the ends the six first, or last, do.
    """
    points = values.shape[1]
    first, inner, last = _refinements()
    windows = sliding_window_view(values, STENCIL, axis=1)
    refined = np.empty((len(values), PARTS * (points - 1) + 1))
    starts = STENCIL // 2 - 1
    stop = PARTS * (points - 1 - starts)
    refined[:, : PARTS * starts] = values[:, :STENCIL] @ first
    of_inner = np.ascontiguousarray(windows).reshape(-1, STENCIL) @ inner
    refined[:, PARTS * starts : stop] = of_inner.reshape(len(values), -1)
    refined[:, stop:] = values[:, -STENCIL:] @ last
    return refined


@functools.lru_cache(maxsize=1)
def _refinements() -> tuple[Floats, Floats, Floats]:
    """Weights of six values at the places of the first two steps, the middle one, and the last two
    with their end.
    """
    places = np.arange(PARTS * (STENCIL - 1) + 1) / PARTS
    matrix = interpolation(STENCIL, places)
    starts = PARTS * (STENCIL // 2 - 1)
    inner = slice(starts, starts + PARTS)
    return matrix[:, :starts], matrix[:, inner], matrix[:, starts + PARTS :]
