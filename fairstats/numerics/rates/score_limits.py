"""Limits of the score intervals of whole arrays of tables, by Newton's method in one unknown.

A limit is a value of the contrast at which the score statistic z equals ±c. At the constrained
maximum (p, q) the score equation and the definition of z say, with V_p = p(1 − p), V_q = q(1 − q)
and λ the Lagrange multiplier,

    difference   p̂ = p + λ V_p/n,   q̂ = q − λ V_q/n₀,           c² = λ² (V_p/n + V_q/n₀);
    ratio        p̂ = p + λ V_p/n,   q̂ = q − λ (p/q) V_q/n₀,     c² = λ² (V_p/n + (p/q)² V_q/n₀);
    odds ratio   k = n p + λ,       k₀ = n₀ q − λ,              c² = λ² (1/(n V_p) + 1/(n₀ V_q)).

For a given λ > 0 both rates have closed forms, so that the lower limit needs the root of one
increasing function. The upper limit is the lower one of the groups in the other order. No cubic
equation is left, nor the cancellation in its trigonometric solution.
"""

from __future__ import annotations

import numpy as np

from fairstats.ground.checks import Floats
from fairstats.numerics.rates.score import Contrast

#: Tables that are worked on at once, few enough to stay in the processor's cache.
_CHUNK = 8_192
_MOST_STEPS = 100
#: A step of log λ after which the error of Newton's method is rounding.
_SMALL_STEP = 1e-6
_NEAR_GOAL = 1e-4
#: Longest step of log λ.
_LONGEST_STEP = 3.0


def lower_limits(
    k: Floats,
    n: Floats,
    k0: Floats,
    n0: Floats,
    contrast: Contrast,
    critical: Floats,
) -> Floats:
    """Lower ends of {contrast : |z(contrast)| ≤ critical}, of one-dimensional arrays of one length.

    `critical`: positive; with the factor N/(N − 1) of the variance times √(N/(N − 1)).
    """
    result = np.empty(k.shape)
    for start in range(0, k.size, _CHUNK):
        rows = slice(start, start + _CHUNK)
        result[rows] = _find_lower_limits(
            k[rows], n[rows], k0[rows], n0[rows], contrast, critical[rows]
        )
    return result


def upper_limits(
    k: Floats,
    n: Floats,
    k0: Floats,
    n0: Floats,
    contrast: Contrast,
    critical: Floats,
) -> Floats:
    """Upper ends; see `lower_limits`."""
    lower_of_inverse = lower_limits(k0, n0, k, n, contrast, critical)
    if contrast == "difference":
        return -lower_of_inverse
    with np.errstate(divide="ignore"):
        return 1.0 / lower_of_inverse


def _find_lower_limits(
    k: Floats,
    n: Floats,
    k0: Floats,
    n0: Floats,
    contrast: Contrast,
    critical: Floats,
) -> Floats:
    has_no_limit = k == 0
    if contrast == "difference":
        has_no_limit = has_no_limit & (k0 == n0)
    if contrast == "odds_ratio":
        has_no_limit = has_no_limit | (k0 == n0)
    result = np.where(has_no_limit, -1.0 if contrast == "difference" else 0.0, np.nan)
    rows = np.flatnonzero(~has_no_limit)
    tables = [values[rows] for values in (k, n, k0, n0, critical)]
    multiplier = _solve_multiplier(contrast, *tables)
    k, n, k0, n0, _ = tables
    p, q = _solve_rates(contrast, multiplier, k, n, k0, n0)[:2]
    if contrast == "difference":
        result[rows] = p - q
    elif contrast == "ratio":
        result[rows] = p / q
    else:
        result[rows] = p * (1 - q) / ((1 - p) * q)
    return result


def _solve_multiplier(
    contrast: Contrast,
    k: Floats,
    n: Floats,
    k0: Floats,
    n0: Floats,
    critical: Floats,
) -> Floats:
    """The root λ of log z(λ) = log c, by Newton's method in log λ within a bracket."""
    # p and q at the pooled rate, with half a case more of each kind
    pooled = (k + k0 + 0.5) / (n + n0 + 1)
    variance = pooled * (1 - pooled)
    if contrast == "odds_ratio":
        log_multiplier = np.log(critical / np.sqrt(1 / (n * variance) + 1 / (n0 * variance)))
        high = np.log(np.minimum(k, n0 - k0)) - 1e-12
        log_multiplier = np.minimum(log_multiplier, high - 0.1)
    else:
        log_multiplier = np.log(critical / np.sqrt(variance / n + variance / n0))
        high = np.full(k.shape, np.inf)
    low = np.full(k.shape, -np.inf)
    log_critical = np.log(critical)
    active = np.arange(k.size)
    active_tables = [k, n, k0, n0]
    for _ in range(_MOST_STEPS):
        log_active = log_multiplier[active]
        excess, slope = _compute_log_statistic(contrast, log_active, *active_tables)
        excess -= log_critical[active]
        is_above = excess > 0
        high[active] = np.where(is_above, log_active, high[active])
        low[active] = np.where(is_above, low[active], log_active)
        step = np.minimum(
            np.maximum(excess / np.maximum(slope, 0.2), -_LONGEST_STEP), _LONGEST_STEP
        )
        next_log = log_active - step
        is_inside = (next_log > low[active]) & (next_log < high[active])
        # beside a corner, where a rate leaves 1, the slope is steep and Newton's step short
        is_inside |= np.abs(excess) < _NEAR_GOAL
        is_inside &= (np.abs(step) >= _SMALL_STEP) | (np.abs(excess) < _NEAR_GOAL)
        middle = (low[active] + high[active]) / 2
        middle = np.where(np.isfinite(middle), middle, log_active + np.where(is_above, -1.0, 1.0))
        next_log = np.where(is_inside, next_log, middle)
        log_multiplier[active] = next_log
        is_moving = np.abs(next_log - log_active) > _SMALL_STEP
        if not is_moving.any():
            break
        if is_moving.sum() < 0.7 * is_moving.size:
            active = active[is_moving]
            active_tables = [values[is_moving] for values in active_tables]
    return np.exp(log_multiplier)


def _solve_rates(
    contrast: Contrast,
    multiplier: Floats,
    k: Floats,
    n: Floats,
    k0: Floats,
    n0: Floats,
) -> tuple[Floats, Floats, Floats, Floats]:
    """P and q at a multiplier, and their derivatives by it."""
    if contrast == "odds_ratio":
        return (k - multiplier) / n, (k0 + multiplier) / n0, -1 / n, 1 / n0
    p, slope_p = _lower_rate(k / n, multiplier / n)
    slope_p = slope_p / n
    if contrast == "difference":
        failure_rate, slope_rest = _lower_rate((n0 - k0) / n0, multiplier / n0)
        return p, 1 - failure_rate, slope_p, -slope_rest / n0
    # q = (q̂ + b)/(1 + b), b = λ p/n₀
    b = multiplier * p / n0
    slope_b = (p + multiplier * slope_p) / n0
    failure_rate = (n0 - k0) / n0 / (1 + b)
    return p, 1 - failure_rate, slope_p, failure_rate / (1 + b) * slope_b


def _lower_rate(rate: Floats, a: Floats) -> tuple[Floats, Floats]:
    """The root p of p + a p(1 − p) = rate in [0, rate], in its stable form, and its derivative by
    a.
    """
    root = np.sqrt(np.maximum((1 + a) ** 2 - 4 * a * rate, 0.0))
    p = 2 * rate / (1 + a + root)
    return p, -p * (1 - p) / np.maximum(root, 1e-300)


def _compute_log_statistic(
    contrast: Contrast,
    log_multiplier: Floats,
    k: Floats,
    n: Floats,
    k0: Floats,
    n0: Floats,
) -> tuple[Floats, Floats]:
    """Log z(λ) and its derivative by log λ, at log λ = place."""
    multiplier = np.exp(log_multiplier)
    p, q, slope_p, slope_q = _solve_rates(contrast, multiplier, k, n, k0, n0)
    variance_of_p = p * (1 - p)
    if contrast == "ratio":
        failure_rate = (n0 - k0) / n0 / (1 + multiplier * p / n0)
    else:
        failure_rate = 1 - q
    if contrast == "difference":
        variance = variance_of_p / n + q * failure_rate / n0
        change = (1 - 2 * p) * slope_p / n + (1 - 2 * q) * slope_q / n0
    elif contrast == "ratio":
        # (p/q)² V_q = p² (1 − q)/q
        reference_term = p * p * failure_rate / q
        variance = variance_of_p / n + reference_term / n0
        change = (1 - 2 * p) * slope_p / n
        change = change + (2 * p * slope_p * failure_rate / q - p * p / (q * q) * slope_q) / n0
    else:
        variance_of_q = q * failure_rate
        variance = 1 / (n * variance_of_p) + 1 / (n0 * variance_of_q)
        change = -(1 - 2 * p) * slope_p / (n * variance_of_p * variance_of_p)
        change = change - (1 - 2 * q) * slope_q / (n0 * variance_of_q * variance_of_q)
    variance = np.maximum(variance, 1e-300)
    return log_multiplier + np.log(variance) / 2, 1 + multiplier * change / (2 * variance)
