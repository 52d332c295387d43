"""Limits of score intervals, of one table and of whole arrays, by Newton's method in one unknown.

A limit is a value of the contrast at which the score statistic z equals ±c. At the constrained
maximum (p, q) the score equation and the definition of z say, with V_p = p(1 − p), V_q = q(1 − q)
and λ the Lagrange multiplier,

    difference   p̂ = p + λ V_p/n,   q̂ = q − λ V_q/n₀,           c² = λ² (V_p/n + V_q/n₀);
    ratio        p̂ = p + λ V_p/n,   q̂ = q − λ (p/q) V_q/n₀,     c² = λ² (V_p/n + (p/q)² V_q/n₀);
    odds ratio   k = n p + λ,       k₀ = n₀ q − λ,              c² = λ² (1/(n V_p) + 1/(n₀ V_q)).

For a given λ > 0 both rates have closed forms, so that the lower limit needs the root of one
increasing function. The upper limit is the lower one of the groups in the other order. No cubic
equation is left, nor the cancellation in its trigonometric solution.

The method is written twice: in plain floats for one table, which a single comparison needs (an
array of one costs ten times as much), and for arrays. A test holds the two together, and both to
the statistics, which share nothing with them. With the continuity correction, which the equations
above do not have, the statistic itself is inverted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from math import exp, inf, isfinite, log, sqrt

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from fairstats.ground.checks import Floats
from fairstats.numerics.rates.score import (
    LOG_SPAN,
    Contrast,
    Table,
    difference_score_statistic,
    difference_statistic,
    odds_ratio_statistic,
    ratio_statistic,
)

#: Answers that are kept: many small groups beside one reference make few different tables.
KEPT = 1 << 13
#: Fewer tables than this are faster one by one.
_FEW_TABLES = 40
#: Tables that are worked on at once, few enough to stay in the processor's cache.
_CHUNK = 8_192
_MOST_STEPS = 100
#: A step of log λ after which the error of Newton's method is rounding.
_SMALL_STEP = 1e-8
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
    """Lower limits of tables (k of n against k₀ of n₀): where the score statistic is `critical`."""
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


@functools.lru_cache(maxsize=KEPT)
def ratio_limit(
    table: Table,
    critical: float,
    correction: bool,
    side: int,
    continuity: bool = False,
) -> float:
    """Lower (side −1) or upper (side 1) end of {ratio : |z(ratio)| ≤ critical}; in [0, ∞]."""
    k0, n0, k1, n1 = table
    if (k1 if side > 0 else k0) == 0 or (correction and n0 + n1 <= 1):
        return inf if side > 0 else 0.0
    if critical > 0 and not continuity:
        return _limit_of(table, "ratio", critical, correction, side)
    if k1 == 0:
        center = LOG_SPAN
    else:
        center = -LOG_SPAN if k0 == 0 else log(k0 / n0) - log(k1 / n1)
    ends = (-LOG_SPAN, center) if side < 0 else (center, LOG_SPAN)
    return exp(
        _find_root(
            lambda x: ratio_statistic(table, exp(x), correction, continuity),
            -side * critical,
            *ends,
        )
    )


@functools.lru_cache(maxsize=KEPT)
def odds_ratio_limit(
    table: Table,
    critical: float,
    correction: bool,
    side: int,
    continuity: bool = False,
) -> float:
    """Lower (side −1) or upper (side 1) end of {odds ratio : |z(odds ratio)| ≤ critical}; in
    [0, ∞].
    """
    k0, n0, k1, n1 = table
    above = k0 * (n1 - k1)
    below = k1 * (n0 - k0)
    if (below if side > 0 else above) <= 0:
        return inf if side > 0 else 0.0
    if critical > 0 and not continuity and n0 + n1 > 1:
        return _limit_of(table, "odds_ratio", critical, correction, side)
    if below <= 0:
        center = LOG_SPAN
    else:
        center = -LOG_SPAN if above <= 0 else log(above) - log(below)
    ends = (-LOG_SPAN, center) if side < 0 else (center, LOG_SPAN)
    return exp(
        _find_root(
            lambda x: odds_ratio_statistic(table, exp(x), correction, continuity),
            -side * critical,
            *ends,
        )
    )


@functools.lru_cache(maxsize=KEPT)
def difference_limit(
    table: Table,
    critical: float,
    correction: bool,
    continuity: bool,
    side: int,
) -> float:
    """Lower (side −1) or upper (side 1) end of {difference : |z(difference)| ≤ critical}.

    It lies within [−1, 1].
    """
    k0, n0, k1, n1 = table
    if correction and n0 + n1 <= 1:
        return float(side)
    if critical > 0 and not continuity:
        return _limit_of(table, "difference", critical, correction, side)
    center = k0 / n0 - k1 / n1
    if side * difference_statistic(table, side, correction, continuity) >= -critical:
        return float(side)
    ends = (-1.0, center) if side < 0 else (center, 1.0)
    return _find_root(
        lambda d: difference_statistic(table, d, correction, continuity), -side * critical, *ends
    )


def _limit_of(
    table: Table, contrast: Contrast, critical: float, correction: bool, side: int
) -> float:
    """A limit without continuity correction: the upper one is the lower one of the groups in the
    other order.
    """
    k, n, k0, n0 = table
    if correction:
        critical *= sqrt((n + n0) / (n + n0 - 1))
    if side < 0:
        return _find_lower_limit(k, n, k0, n0, contrast, critical)
    lower = _find_lower_limit(k0, n0, k, n, contrast, critical)
    if contrast == "difference":
        return -lower
    return inf if lower == 0 else 1 / lower


def _find_lower_limit(
    k: float, n: float, k0: float, n0: float, contrast: Contrast, critical: float
) -> float:
    """`lower_limits` of one table, in plain floats."""
    if contrast == "difference":
        if k == 0 and k0 == n0:
            return -1.0
    elif k == 0 or (contrast == "odds_ratio" and k0 == n0):
        return 0.0
    pooled = (k + k0 + 0.5) / (n + n0 + 1)
    variance = pooled * (1 - pooled)
    high = inf
    if contrast == "odds_ratio":
        place = log(critical / sqrt(1 / (n * variance) + 1 / (n0 * variance)))
        high = log(min(k, n0 - k0)) - 1e-12
        place = min(place, high - 0.1)
    else:
        place = log(critical / sqrt(variance / n + variance / n0))
    low = -inf
    log_critical = log(critical)
    for _ in range(_MOST_STEPS):
        excess, slope = _log_statistic_of_one(contrast, place, k, n, k0, n0)
        excess -= log_critical
        if excess > 0:
            high = place
        else:
            low = place
        step = min(max(excess / max(slope, 0.2), -_LONGEST_STEP), _LONGEST_STEP)
        following = place - step
        is_near = abs(excess) < _NEAR_GOAL
        if not is_near and not (low < following < high and abs(step) >= _SMALL_STEP):
            following = (low + high) / 2
            if not isfinite(following):
                following = place + (-1.0 if excess > 0 else 1.0)
        moved = abs(following - place)
        place = following
        if moved <= _SMALL_STEP:
            break
    p, q, _, _ = _rates_of_one(contrast, exp(place), k, n, k0, n0)
    if contrast == "difference":
        return p - q
    if contrast == "ratio":
        return p / q
    return p * (1 - q) / ((1 - p) * q)


def _rates_of_one(
    contrast: Contrast, multiplier: float, k: float, n: float, k0: float, n0: float
) -> tuple[float, float, float, float]:
    """`_solve_rates` of one table: p and q at a multiplier, and their derivatives by it."""
    if contrast == "odds_ratio":
        return (k - multiplier) / n, (k0 + multiplier) / n0, -1 / n, 1 / n0
    p, slope_p = _lower_rate_of_one(k / n, multiplier / n)
    slope_p /= n
    if contrast == "difference":
        failure_rate, slope_rest = _lower_rate_of_one((n0 - k0) / n0, multiplier / n0)
        return p, 1 - failure_rate, slope_p, -slope_rest / n0
    b = multiplier * p / n0
    slope_b = (p + multiplier * slope_p) / n0
    failure_rate = (n0 - k0) / n0 / (1 + b)
    return p, 1 - failure_rate, slope_p, failure_rate / (1 + b) * slope_b


def _lower_rate_of_one(rate: float, a: float) -> tuple[float, float]:
    """`_lower_rate` of one table."""
    root = sqrt(max((1 + a) ** 2 - 4 * a * rate, 0.0))
    p = 2 * rate / (1 + a + root)
    return p, -p * (1 - p) / max(root, 1e-300)


def _log_statistic_of_one(
    contrast: Contrast, log_multiplier: float, k: float, n: float, k0: float, n0: float
) -> tuple[float, float]:
    """`_compute_log_statistic` of one table."""
    multiplier = exp(log_multiplier)
    p, q, slope_p, slope_q = _rates_of_one(contrast, multiplier, k, n, k0, n0)
    variance_of_p = p * (1 - p)
    if contrast == "difference":
        variance = variance_of_p / n + q * (1 - q) / n0
        change = (1 - 2 * p) * slope_p / n + (1 - 2 * q) * slope_q / n0
    elif contrast == "ratio":
        failure_rate = (n0 - k0) / n0 / (1 + multiplier * p / n0)
        variance = variance_of_p / n + p * p * failure_rate / q / n0
        of_reference = 2 * p * slope_p * failure_rate / q - p * p / (q * q) * slope_q
        change = (1 - 2 * p) * slope_p / n + of_reference / n0
    else:
        variance_of_q = q * (1 - q)
        variance = 1 / (n * variance_of_p) + 1 / (n0 * variance_of_q)
        change = -(1 - 2 * p) * slope_p / (n * variance_of_p * variance_of_p)
        change -= (1 - 2 * q) * slope_q / (n0 * variance_of_q * variance_of_q)
    variance = max(variance, 1e-300)
    return log_multiplier + log(variance) / 2, 1 + multiplier * change / (2 * variance)


def _find_root(
    statistic: Callable[[float], float],
    target: float,
    left: float,
    right: float,
) -> float:
    """Where the decreasing statistic meets the target, between left and right."""

    def distance(x: float) -> float:
        return min(max(statistic(x), -1e6), 1e6) - target

    if target == 0:
        return right if distance(right) == 0 else left
    return float(scipy.optimize.brentq(distance, left, right, xtol=1e-15, rtol=8.9e-16))


def difference_limits_of(
    tables: Floats,
    critical: ArrayLike,
    continuity: NDArray[np.bool_],
    *,
    factor: bool = True,
) -> tuple[Floats, Floats]:
    """Lower and upper limits of many tables at once: rows (k₀, n₀, k₁, n₁), shape (J, 4).

    `critical`: one value, or of the lower and upper limits, shape (2, J); `factor`: whether the
    variance has the factor N/(N − 1).
    """
    at = np.broadcast_to(np.asarray(critical, dtype=np.float64), (2, len(tables)))
    if len(tables) < _FEW_TABLES:
        of_each = tables.tolist(), continuity.tolist()
        below, above = (
            np.array(
                [
                    difference_limit(tuple(t), z, factor, c, side)
                    for t, c, z in zip(*of_each, own_rates, strict=True)
                ]
            )
            for side, own_rates in zip((-1, 1), at.tolist(), strict=True)
        )
        return below, above
    below = np.full(len(tables), -1.0)
    above = np.full(len(tables), 1.0)
    has_limits = (tables[:, 1] + tables[:, 3] > 1) | (not factor)
    inverted = np.flatnonzero(continuity & has_limits)
    if inverted.size:
        below[inverted], above[inverted] = _corrected_limits(
            tables[inverted], at[:, inverted], factor
        )
    k0, n0, k1, n1 = tables.T
    wider = np.ones(len(tables))
    if factor:
        total = np.where(has_limits, n0 + n1, 2.0)
        wider = np.sqrt(total / (total - 1))
    for side, limits in ((-1, below), (1, above)):
        at_estimate = np.flatnonzero(~continuity & has_limits & (at[max(side, 0)] <= 0))
        limits[at_estimate] = (k0 / n0 - k1 / n1)[at_estimate]
        rows = np.flatnonzero(~continuity & has_limits & (at[max(side, 0)] > 0))
        search = lower_limits if side < 0 else upper_limits
        limits[rows] = search(
            k0[rows],
            n0[rows],
            k1[rows],
            n1[rows],
            "difference",
            (at[max(side, 0)] * wider)[rows],
        )
    return below, above


def limits_of_tables(
    tables: Floats, contrast: Contrast, critical: float, correction: bool
) -> tuple[Floats, Floats]:
    """Lower and upper limits of many tables at one critical value: rows (k₀, n₀, k₁, n₁), shape
    (J, 4).
    """
    k, n, k0, n0 = tables.T
    wider = np.full(len(tables), critical)
    if correction:
        total = n + n0
        with np.errstate(divide="ignore"):
            wider = np.where(total > 1, critical * np.sqrt(total / (total - 1)), np.inf)
    return (
        lower_limits(k, n, k0, n0, contrast, wider),
        upper_limits(k, n, k0, n0, contrast, wider),
    )


def _corrected_limits(
    tables: Floats, critical_values: Floats, factor: bool
) -> tuple[Floats, Floats]:
    """Limits of J tables (k₀, n₀, k₁, n₁) with the continuity correction, each of shape (J,).

    The lower limit is where the statistic is `critical_values[0]`, the upper one where it is
    −`critical_values[1]`; `factor`: whether variances have the factor N/(N − 1).
    """
    from scipy.optimize.elementwise import find_root

    def excess(
        difference: Floats,
        k0: Floats,
        n0: Floats,
        k1: Floats,
        n1: Floats,
        target: Floats,
    ) -> Floats:
        z = difference_score_statistic(
            k0, n0, k1, n1, difference, correction=factor, continuity=True
        )
        return np.clip(z, -1e6, 1e6) - target

    def end(outer: float, target: Floats) -> Floats:
        """Where the statistic meets the target between the estimate and the end of the range.

        The end for nowhere.
        """
        k0, n0, k1, n1 = tables.T
        ends = k0 / n0 - k1 / n1, np.full(len(tables), outer)
        root = find_root(excess, ends, args=(k0, n0, k1, n1, target))
        return np.where(root.success, root.x, outer)

    return end(-1.0, critical_values[0]), end(1.0, -critical_values[1])
