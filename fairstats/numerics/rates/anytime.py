"""Inference that holds at every look: limits and p-values of streams that are watched.

Two ways, and both are functions of the counts so far, so that watching is adding tallies up and
asking again.

*By a statistic* (a normal mixture; Robbins 1970). With z = (θ̂ − θ)/s, here the score, and τ
growing with the rows, the likelihood ratio of a mixture of normal alternatives over the null value is

    M = exp{z²τ/[2(1 + τ)]}/√(1 + τ),                 P(ever M ≥ 1/α) ≤ α (Ville),

so that 1/M is a p-value at every look, and z is replaced by

    c = √{(1 + 1/τ)·log[(1 + τ)/α²]},                 τ = 8n/planned.

*Exact, from counts alone.* With k of n and k₀ of n₀ successes, whatever the order in which rows of
both groups arrive,

    E = B(k + ½, n − k + ½)·B(k₀ + ½, n₀ − k₀ + ½)/B(½, ½)²  over  sup p^k(1 − p)^(n−k)·p₀^k₀(1 − p₀)^(n₀−k₀),

the supremum among the rates that the null hypothesis allows: the mixture of Jeffreys's priors over
the likelihood of the sequence, without binomial coefficients. By Ville P(ever E ≥ 1/α) ≤ α.

All functions broadcast.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, xlog1py, xlogy

from fairstats.ground.checks import Floats
from fairstats.numerics.rates.score import (
    LOG_SPAN,
    Contrast,
    rates_with_difference,
    rates_with_ratio,
)

#: τ = 8n/planned: the limits are narrowest about the planned number of rows.
TUNING = 8.0
#: Successes and failures that both groups need before z is near enough to a normal law.
LEAST_CASES = 5
#: Effective clusters that both groups need where rows come in clusters.
LEAST_CLUSTERS = 20
#: Halvings of the range of a limit: beyond the digits of a float.
_N_HALVINGS = 64


def information_of(n_rows: ArrayLike, planned: float) -> Floats:
    """τ of so many rows so far."""
    return TUNING * np.asarray(n_rows, dtype=np.float64) / planned


def critical_value(confidence_level: float, information: ArrayLike) -> Floats:
    """c, which stands in place of the normal quantile: |z| exceeds it ever with probability ≤ α.

    >>> round(float(critical_value(0.95, 8.0)), 3)
    3.035
    """
    tau = np.asarray(information, dtype=np.float64)
    alpha = 1 - confidence_level
    return np.asarray(np.sqrt((1 + 1 / tau) * (np.log1p(tau) - 2 * np.log(alpha))))


def mixture_pvalue(statistic: ArrayLike, information: ArrayLike) -> Floats:
    """1/M, at most 1: at most α exactly where |z| is at least `critical_value` at 1 − α."""
    z = np.asarray(statistic, dtype=np.float64)
    tau = np.asarray(information, dtype=np.float64)
    log_mixture = z**2 * tau / (2 * (1 + tau)) - np.log1p(tau) / 2
    return np.asarray(np.exp(-np.maximum(log_mixture, 0.0)))


def log_evidence(
    successes: ArrayLike,
    cases: ArrayLike,
    successes_reference: ArrayLike,
    cases_reference: ArrayLike,
    null: ArrayLike,
    contrast: Contrast,
) -> Floats:
    """The logarithm of E of H0: contrast = null.

    At most 0 where the estimate is the null value, and growing on either side of it.
    """
    k, n, k_reference, n_reference, null_value = (
        np.asarray(value, dtype=np.float64)
        for value in (successes, cases, successes_reference, cases_reference, null)
    )
    if contrast == "difference":
        observed = (k / n, k_reference / n_reference)
        rate, rate_reference = rates_with_difference(*observed, n_reference / n, null_value)
    else:
        rate, rate_reference = rates_with_ratio(k, n, k_reference, n_reference, null_value)
    log_likelihood = _log_likelihood(k, n, rate) + _log_likelihood(
        k_reference, n_reference, rate_reference
    )
    return np.asarray(_log_mixture(k, n) + _log_mixture(k_reference, n_reference) - log_likelihood)


def _log_mixture(k: Floats, n: Floats) -> Floats:
    """The logarithm of B(k + ½, n − k + ½)/B(½, ½)."""
    return np.asarray(betaln(k + 0.5, n - k + 0.5) - betaln(0.5, 0.5))


def _log_likelihood(k: Floats, n: Floats, rate: Floats) -> Floats:
    return np.asarray(xlogy(k, rate) + xlog1py(n - k, -rate))


def exact_pvalue(
    successes: ArrayLike,
    cases: ArrayLike,
    successes_reference: ArrayLike,
    cases_reference: ArrayLike,
    null: ArrayLike,
    contrast: Contrast,
) -> Floats:
    """1/E, at most 1, of H0: contrast = null.

    The likelihood has one peak, so that this is the p-value of "on that side of the null value,
    too", where the estimate lies on the other.
    """
    log_e = log_evidence(successes, cases, successes_reference, cases_reference, null, contrast)
    return np.asarray(np.exp(-np.maximum(log_e, 0.0)))


def exact_limits(
    successes: float,
    cases: float,
    successes_reference: float,
    cases_reference: float,
    contrast: Contrast,
    confidence_level: float,
) -> tuple[float, float]:
    """All values of the contrast with E < 1/α, of one table.

    Of a ratio by halving its logarithm; an end where nothing is rejected stays open (0, ∞, ±1).
    """
    table = (successes, cases, successes_reference, cases_reference)
    rate = successes / cases
    rate_reference = successes_reference / cases_reference
    if contrast == "difference":
        estimate = rate - rate_reference
        outer = np.array([-1.0, 1.0])
        open_ends = (-1.0, 1.0)
    else:
        with np.errstate(divide="ignore"):
            log_estimate = float(np.log(rate) - np.log(rate_reference))
        estimate = float(np.clip(np.nan_to_num(log_estimate), -LOG_SPAN, LOG_SPAN))
        outer = np.array([-LOG_SPAN, LOG_SPAN])
        open_ends = (0.0, np.inf)

    def is_rejected(value: Floats) -> NDArray[np.bool_]:
        null = value if contrast == "difference" else np.exp(value)
        evidence = log_evidence(*table, null, contrast)
        return np.asarray(evidence >= -np.log(1 - confidence_level))

    inner = np.array([estimate, estimate])
    closed = is_rejected(outer)
    for _ in range(_N_HALVINGS):
        middle = (inner + outer) / 2
        rejected = is_rejected(middle)
        outer = np.where(rejected, middle, outer)
        inner = np.where(rejected, inner, middle)
    limits = outer if contrast == "difference" else np.exp(outer)
    low = float(limits[0]) if closed[0] else open_ends[0]
    high = float(limits[1]) if closed[1] else open_ends[1]
    return low, high
