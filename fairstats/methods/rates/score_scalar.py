"""The score intervals of `score` for one table at a time, in plain floats.

The formulas are those of `score` (a test holds the two together to 1e-12). One interval takes a tenth of a
millisecond here and some ten milliseconds through array solvers, which are made for many tables at once.
"""

from __future__ import annotations

from collections.abc import Callable
from math import acos, copysign, cos, exp, inf, log, pi, sqrt

__all__ = ["difference_limits", "difference_statistic", "ratio_limits", "ratio_statistic"]

_LOG_SPAN = 60.0
Table = tuple[float, float, float, float]


def ratio_statistic(table: Table, ratio: float, correction: bool) -> float:
    """Score statistic of H0: p₀/p₁ = ratio for a table (k₀, n₀, k₁, n₁)."""
    k0, n0, k1, n1 = table
    total = n0 + n1
    b = n0 * ratio + k0 + n1 + k1 * ratio
    c = k0 + k1
    root = sqrt(max(b * b - 4 * total * ratio * c, 0.0))
    p1 = min(2 * c / (b + root), 1.0, 1.0 / ratio)
    p0 = ratio * p1
    variance = p0 * (1 - p0) / n0 + ratio * ratio * p1 * (1 - p1) / n1
    return _standardised(k0 / n0 - ratio * (k1 / n1), variance, total, correction)


def difference_statistic(
    table: Table, difference: float, correction: bool, continuity: bool = False
) -> float:
    """Score statistic of H0: p₀ − p₁ = difference for a table (k₀, n₀, k₁, n₁).

    With the continuity correction the distance from the estimate is less by (1/n₀ + 1/n₁)/2, at least 0.
    """
    k0, n0, k1, n1 = table
    f0, f1, theta = k0 / n0, k1 / n1, n1 / n0
    a = 1 + theta
    b = -(1 + theta + f0 + theta * f1 + difference * (theta + 2))
    c = difference * difference + difference * (2 * f0 + theta + 1) + f0 + theta * f1
    d = -f0 * difference * (1 + difference)
    v = b**3 / (3 * a) ** 3 - b * c / (6 * a * a) + d / (2 * a)
    u = copysign(sqrt(max(b * b / (9 * a * a) - c / (3 * a), 0.0)), v)
    angle = 0.0 if u == 0 or u**3 == 0 else min(max(v / u**3, -1.0), 1.0)
    low, high = max(0.0, difference), min(1.0, 1.0 + difference)
    p0 = min(max(2 * u * cos((pi + acos(angle)) / 3) - b / (3 * a), low), high)
    for _ in range(3):  # the trigonometric root loses digits where two roots meet
        slope = (3 * a * p0 + 2 * b) * p0 + c
        if abs(slope) <= 1e-9:
            break
        step = (((a * p0 + b) * p0 + c) * p0 + d) / slope
        if abs(step) >= 1e-3:
            break
        p0 = min(max(p0 - step, low), high)
    p1 = min(max(p0 - difference, 0.0), 1.0)
    variance = p0 * (1 - p0) / n0 + p1 * (1 - p1) / n1
    distance = f0 - f1 - difference
    if continuity:
        distance = copysign(max(abs(distance) - (1 / n0 + 1 / n1) / 2, 0.0), distance)
    return _standardised(distance, variance, n0 + n1, correction)


def _standardised(distance: float, variance: float, total: float, correction: bool) -> float:
    if variance <= 0:
        return 0.0 if distance == 0 else copysign(inf, distance)
    return distance / sqrt(variance * total / (total - 1) if correction else variance)


def ratio_limits(table: Table, critical: float, correction: bool) -> tuple[float, float]:
    """Ends of {ratio : |z(ratio)| ≤ critical}; in [0, ∞]."""
    k0, n0, k1, n1 = table
    if k0 == 0 and k1 == 0:
        return 0.0, inf
    center = _LOG_SPAN if k1 == 0 else (-_LOG_SPAN if k0 == 0 else log(k0 / n0) - log(k1 / n1))

    def statistic(log_ratio: float) -> float:
        return ratio_statistic(table, exp(log_ratio), correction)

    low = 0.0 if k0 == 0 else exp(_root(statistic, critical, -_LOG_SPAN, center))
    high = inf if k1 == 0 else exp(_root(statistic, -critical, center, _LOG_SPAN))
    return low, high


def difference_limits(
    table: Table, critical: float, correction: bool, continuity: bool = False
) -> tuple[float, float]:
    """Ends of {difference : |z(difference)| ≤ critical}; in [−1, 1]."""
    k0, n0, k1, n1 = table
    center = k0 / n0 - k1 / n1

    def statistic(difference: float) -> float:
        return difference_statistic(table, difference, correction, continuity)

    low = -1.0 if statistic(-1.0) <= critical else _root(statistic, critical, -1.0, center)
    high = 1.0 if statistic(1.0) >= -critical else _root(statistic, -critical, center, 1.0)
    return low, high


def _root(statistic: Callable[[float], float], target: float, left: float, right: float) -> float:
    """Where the decreasing statistic meets the target, between left and right."""
    from scipy.optimize import brentq

    def distance(x: float) -> float:
        return min(max(statistic(x), -1e6), 1e6) - target

    if target == 0:
        return right if target >= 0 and distance(right) == 0 else left
    return float(brentq(distance, left, right, xtol=1e-15, rtol=8.9e-16))
