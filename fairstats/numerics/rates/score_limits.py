"""Limits of the score intervals of whole arrays of tables, by Newton's method in one unknown.

A limit is a value of the contrast at which the score statistic z equals ±c. At the constrained maximum (p, q) the score
equation and the definition of z say, with V_p = p(1 − p), V_q = q(1 − q) and λ the Lagrange multiplier,

    difference   p̂ = p + λ V_p/n,   q̂ = q − λ V_q/n₀,           c² = λ² (V_p/n + V_q/n₀);
    ratio        p̂ = p + λ V_p/n,   q̂ = q − λ (p/q) V_q/n₀,     c² = λ² (V_p/n + (p/q)² V_q/n₀);
    odds ratio   k = n p + λ,       k₀ = n₀ q − λ,              c² = λ² (1/(n V_p) + 1/(n₀ V_q)).

For a given λ > 0 both rates have closed forms, so that the lower limit needs the root of one increasing function. The
upper limit is the lower one of the groups in the other order. No cubic equation is left, nor the cancellation in its
trigonometric solution.
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


def lower_limits(k: Floats, n: Floats, k0: Floats, n0: Floats, contrast: Contrast, critical: Floats) -> Floats:
    """Lower ends of {contrast : |z(contrast)| ≤ critical}, of one-dimensional arrays of one length.

    `critical`: positive; with the factor N/(N − 1) of the variance times √(N/(N − 1)).
    """
    result = np.empty(k.shape)
    for start in range(0, k.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        result[part] = _lower(k[part], n[part], k0[part], n0[part], contrast, critical[part])
    return result


def upper_limits(k: Floats, n: Floats, k0: Floats, n0: Floats, contrast: Contrast, critical: Floats) -> Floats:
    """Upper ends; see `lower_limits`."""
    other = lower_limits(k0, n0, k, n, contrast, critical)
    if contrast == "difference":
        return -other
    with np.errstate(divide="ignore"):
        return 1.0 / other


def _lower(k: Floats, n: Floats, k0: Floats, n0: Floats, contrast: Contrast, critical: Floats) -> Floats:
    nothing = k == 0
    if contrast == "difference":
        nothing = nothing & (k0 == n0)
    if contrast == "odds_ratio":
        nothing = nothing | (k0 == n0)
    result = np.where(nothing, -1.0 if contrast == "difference" else 0.0, np.nan)
    asked = np.flatnonzero(~nothing)
    tables = [values[asked] for values in (k, n, k0, n0, critical)]
    multiplier = _multiplier(contrast, *tables)
    k, n, k0, n0, _ = tables
    p, q = _rates(contrast, multiplier, k, n, k0, n0)[:2]
    if contrast == "difference":
        result[asked] = p - q
    elif contrast == "ratio":
        result[asked] = p / q
    else:
        result[asked] = p * (1 - q) / ((1 - p) * q)
    return result


def _multiplier(contrast: Contrast, k: Floats, n: Floats, k0: Floats, n0: Floats, critical: Floats) -> Floats:
    """The root λ of log z(λ) = log c, by Newton's method in log λ within a bracket."""
    # p and q at the pooled rate, with half a case more of each kind
    pooled = (k + k0 + 0.5) / (n + n0 + 1)
    variance = pooled * (1 - pooled)
    if contrast == "odds_ratio":
        place = np.log(critical / np.sqrt(1 / (n * variance) + 1 / (n0 * variance)))
        high = np.log(np.minimum(k, n0 - k0)) - 1e-12
        place = np.minimum(place, high - 0.1)
    else:
        place = np.log(critical / np.sqrt(variance / n + variance / n0))
        high = np.full(k.shape, np.inf)
    low = np.full(k.shape, -np.inf)
    goal = np.log(critical)
    active = np.arange(k.size)
    current = [k, n, k0, n0]
    for _ in range(_MOST_STEPS):
        at = place[active]
        excess, slope = _log_statistic(contrast, at, *current)
        excess -= goal[active]
        above = excess > 0
        high[active] = np.where(above, at, high[active])
        low[active] = np.where(above, low[active], at)
        step = np.minimum(np.maximum(excess / np.maximum(slope, 0.2), -_LONGEST_STEP), _LONGEST_STEP)
        following = at - step
        inside = (following > low[active]) & (following < high[active])
        # beside a corner, where a rate leaves 1, the slope is steep and Newton's step short
        inside |= np.abs(excess) < _NEAR_GOAL
        inside &= (np.abs(step) >= _SMALL_STEP) | (np.abs(excess) < _NEAR_GOAL)
        middle = (low[active] + high[active]) / 2
        middle = np.where(np.isfinite(middle), middle, at + np.where(above, -1.0, 1.0))
        following = np.where(inside, following, middle)
        place[active] = following
        moving = np.abs(following - at) > _SMALL_STEP
        if not moving.any():
            break
        if moving.sum() < 0.7 * moving.size:
            active = active[moving]
            current = [values[moving] for values in current]
    return np.exp(place)


def _rates(
    contrast: Contrast, multiplier: Floats, k: Floats, n: Floats, k0: Floats, n0: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """P and q at a multiplier, and their derivatives by it."""
    if contrast == "odds_ratio":
        return (k - multiplier) / n, (k0 + multiplier) / n0, -1 / n, 1 / n0
    p, slope_p = _less(k / n, multiplier / n)
    slope_p = slope_p / n
    if contrast == "difference":
        rest, slope_rest = _less((n0 - k0) / n0, multiplier / n0)
        return p, 1 - rest, slope_p, -slope_rest / n0
    # q = (q̂ + b)/(1 + b), b = λ p/n₀
    b = multiplier * p / n0
    slope_b = (p + multiplier * slope_p) / n0
    rest = (n0 - k0) / n0 / (1 + b)
    return p, 1 - rest, slope_p, rest / (1 + b) * slope_b


def _less(rate: Floats, a: Floats) -> tuple[Floats, Floats]:
    """The root p of p + a p(1 − p) = rate in [0, rate], in its stable form, and its derivative by a."""
    root = np.sqrt(np.maximum((1 + a) ** 2 - 4 * a * rate, 0.0))
    p = 2 * rate / (1 + a + root)
    return p, -p * (1 - p) / np.maximum(root, 1e-300)


def _log_statistic(
    contrast: Contrast, place: Floats, k: Floats, n: Floats, k0: Floats, n0: Floats
) -> tuple[Floats, Floats]:
    """Log z(λ) and its derivative by log λ, at log λ = place."""
    multiplier = np.exp(place)
    p, q, slope_p, slope_q = _rates(contrast, multiplier, k, n, k0, n0)
    of_p = p * (1 - p)
    rest = (n0 - k0) / n0 / (1 + multiplier * p / n0) if contrast == "ratio" else 1 - q
    if contrast == "difference":
        variance = of_p / n + q * rest / n0
        change = (1 - 2 * p) * slope_p / n + (1 - 2 * q) * slope_q / n0
    elif contrast == "ratio":
        # (p/q)² V_q = p² (1 − q)/q
        other = p * p * rest / q
        variance = of_p / n + other / n0
        change = (1 - 2 * p) * slope_p / n
        change = change + (2 * p * slope_p * rest / q - p * p / (q * q) * slope_q) / n0
    else:
        of_q = q * rest
        variance = 1 / (n * of_p) + 1 / (n0 * of_q)
        change = -(1 - 2 * p) * slope_p / (n * of_p * of_p)
        change = change - (1 - 2 * q) * slope_q / (n0 * of_q * of_q)
    variance = np.maximum(variance, 1e-300)
    return place + np.log(variance) / 2, 1 + multiplier * change / (2 * variance)
