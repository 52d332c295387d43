"""One rate of two models on the same people: score limits of its ratio and difference, and their combination.

Of the ratio p_B/p_A they are those of Nam and Blackwelder (2002), of the difference those of Tango (1998): all values
that the score test with constrained maximum likelihood estimates does not reject. No changed decision is then
information about how rare changes are, not a variance of 0. Two groups are combined by MOVER (Zou & Donner 2008).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import copysign, exp, hypot, inf, isfinite, isnan, log, nan, sqrt

import numpy as np

#: Successes of both models, of A only, of B only, of neither.
Table = tuple[float, float, float, float]
#: The end of an interval at a critical value.
End = Callable[[float], float]
_LOG_SPAN = 60.0
#: No statistic is looked for beyond this size.
_FAR = 30.0


def ratio_statistic(table: Table, ratio: float) -> float:
    """Score statistic of H0: p_B/p_A = ratio.

    With a the probability that only A succeeds, s that either does and c = (ratio − 1)s, the likelihood is
    largest at the larger root of (1 + ratio)·m·a² − q·a − n₁₀·c·s = 0.
    """
    both, only_a, only_b, _ = table
    n, m = sum(table), both + only_a + only_b
    if m == 0:
        return 0.0
    s, k = m / n, 1 + ratio
    c = (ratio - 1) * s
    q = s * (only_a + only_b) - k * c * (both + only_a)
    root = sqrt(max(q * q + 4 * k * m * only_a * c * s, 0.0))
    a = (q + root) / (2 * k * m) if q >= 0 else 2 * only_a * c * s / (root - q)
    a = min(max(a, 0.0, -c), s / k)
    variance = ratio * (a + (a + c) / ratio) / n
    return _standardised(((both + only_b) - ratio * (both + only_a)) / n, variance)


def difference_statistic(table: Table, difference: float) -> float:
    """Score statistic of H0: p_B − p_A = difference (Tango 1998)."""
    _, only_a, only_b, _ = table
    n = sum(table)
    b = -only_b - only_a + (2 * n - only_b + only_a) * difference
    c = -only_a * difference * (1 - difference)
    q = (sqrt(max(b * b - 8 * n * c, 0.0)) - b) / (4 * n)
    variance = (2 * max(q, 0.0, -difference) + difference * (1 - difference)) / n
    return _standardised((only_b - only_a) / n - difference, variance)


def _standardised(distance: float, variance: float) -> float:
    if variance <= 0:
        return 0.0 if abs(distance) < 1e-15 else copysign(inf, distance)
    return distance / sqrt(variance)


def log_ratio_end(table: Table, target: float) -> float:
    """Where the statistic is `target`, the lower end for a positive one; infinite without a success."""
    both, only_a, only_b, _ = table
    a, b = both + only_a, both + only_b
    if (b if target > 0 else a) == 0:
        return -inf if target > 0 else inf
    centre = _LOG_SPAN if a == 0 else -_LOG_SPAN if b == 0 else log(b / a)
    step = abs(target) * sqrt((only_a + only_b + 1) / (a * b)) if a * b > 0 else 1.0
    return _root(lambda x: ratio_statistic(table, exp(x)), target, centre, step, _LOG_SPAN)


def difference_end(table: Table, target: float) -> float:
    """The same of the difference, in [−1, 1]."""
    n, changed = sum(table), table[1] + table[2]
    centre = (table[2] - table[1]) / n
    step = abs(target) * sqrt(changed + 1) / n
    return _root(lambda x: difference_statistic(table, x), target, centre, step, 1.0)


def _root(statistic: Callable[[float], float], target: float, centre: float, step: float, span: float) -> float:
    """Where the decreasing statistic, 0 at `centre`, meets the target; the end ∓`span` where it does not.

    `step`: about how far it is.
    """

    def distance(x: float) -> float:
        return min(max(statistic(x), -1e6), 1e6) - target

    side = -1.0 if target > 0 else 1.0
    near, far = centre, centre + side * step
    if distance(near) * side < 0:
        return side * span
    while abs(far) < span and distance(far) * side > 0:
        near, step = far, 2 * step
        far += side * step
    if abs(far) >= span:
        far = side * span
        if near == far or distance(far) * side > 0:
            return far
    return crossing(distance, near, far, 1e-14)


def crossing(function: Callable[[float], float], left: float, right: float, tolerance: float) -> float:
    """Where a continuous function changes its sign between two ends (regula falsi of Anderson and Björck).

    As exact as Brent's method of SciPy and, for functions as cheap as these, several times as fast.
    """
    at_left, at_right = function(left), function(right)
    for _ in range(200):
        if at_right == 0 or abs(right - left) <= tolerance + 8.9e-16 * abs(right):
            break
        middle = right - at_right * (right - left) / (at_right - at_left)
        if not min(left, right) < middle < max(left, right):
            middle = (left + right) / 2
        at_middle = function(middle)
        if (at_middle > 0) != (at_right > 0):
            left, at_left = right, at_right
        else:
            rest = 1 - at_middle / at_right if at_right else 0.0
            at_left *= rest if rest > 0 else 0.5
        if abs(middle - right) <= tolerance + 8.9e-16 * abs(middle):
            return middle
        right, at_right = middle, at_middle
    return right


def wilson_limits(successes: float, cases: float, critical: float, *, ratio: bool) -> tuple[float, float]:
    """Wilson's limits of one rate, on the log scale for a ratio."""
    z2, rate = critical * critical, successes / cases
    centre = (successes + z2 / 2) / (cases + z2)
    reach = critical * sqrt(cases * rate * (1 - rate) + z2 / 4) / (cases + z2)
    low, high = max(centre - reach, 0.0), min(centre + reach, 1.0)
    low = 0.0 if successes == 0 else low
    return (_log(low), _log(high)) if ratio else (low, high)


def _log(value: float) -> float:
    return log(value) if value > 0 else -inf


@dataclass(frozen=True)
class Part:
    """A quantity of one group on the scale of the comparison (log for ratios): estimate, ends.

    `low` and `high` give an end of its interval at a critical value.
    """

    estimate: float
    low: End
    high: End

    @classmethod
    def normal(cls, estimate: float, std_error: float, centre: float | None = None) -> Part:
        """An estimate with a standard error; its interval lies around `centre`, if that is another."""
        at = estimate if centre is None else centre
        return cls(estimate, lambda z: at - z * std_error, lambda z: at + z * std_error)

    @classmethod
    def mean(cls, parts: Sequence[Part]) -> Part:
        """Mean of independent quantities, by MOVER."""
        estimate = sum(p.estimate for p in parts) / len(parts)

        def reach(z: float, side: int) -> float:
            return sqrt(sum((p.estimate - (p.low, p.high)[side](z)) ** 2 for p in parts)) / len(parts)

        return cls(estimate, lambda z: estimate - reach(z, 0), lambda z: estimate + reach(z, 1))

    def kept(self) -> Part:
        """The same, remembering its ends: several comparisons ask for them."""
        return Part(self.estimate, cache(self.low), cache(self.high))

    def limits(self, critical: float) -> tuple[float, float]:
        """Both ends."""
        return self.low(critical), self.high(critical)

    def statistic(self) -> float:
        """Critical value at which the interval ends at 0, signed as the estimate; at most 30 in size."""
        if isnan(self.estimate) or abs(self.estimate) < 1e-14:
            return nan if isnan(self.estimate) else 0.0

        def reach(z: float) -> float:
            return min(max(self.low(z) if self.estimate > 0 else -self.high(z), -1e6), 1e6)

        size = abs(self.estimate)
        guess = 1 / max(1 - reach(1.0) / size, 1e-3) if isfinite(size) else 1.0
        least, most = 0.8 * guess, min(1.25 * guess, _FAR)
        while reach(least) <= 0:
            most, least = least, least / 2
            if least < 1e-9:
                return 0.0
        while reach(most) > 0:
            if most >= _FAR:
                return copysign(_FAR, self.estimate)
            least, most = most, min(2 * most, _FAR)
        return copysign(crossing(reach, least, most, 1e-12), self.estimate)


#: Of a group without rows.
_NOTHING = Part(nan, lambda z: -inf, lambda z: inf)


def change_within(table: Table, *, ratio: bool) -> Part:
    """log(p_B/p_A), or p_B − p_A."""
    both, only_a, only_b, _ = table
    if sum(table) == 0:
        return _NOTHING
    if not ratio:
        at = (only_b - only_a) / sum(table)
        return Part(at, lambda z: difference_end(table, z), lambda z: difference_end(table, -z))
    a, b = both + only_a, both + only_b
    estimate = _log(b) - _log(a) if a > 0 or b > 0 else nan
    return Part(estimate, lambda z: log_ratio_end(table, z), lambda z: log_ratio_end(table, -z))


def sum_within(table: Table, *, ratio: bool) -> Part:
    """Log p_A + log p_B, or p_A + p_B: Wilson's limits of both by MOVER for correlated parts."""
    both, only_a, only_b, none = table
    n = sum(table)
    if n == 0:
        return _NOTHING
    a, b = both + only_a, both + only_b
    spread = a * b * (n - a) * (n - b)
    together = (both * none - only_a * only_b) / sqrt(spread) if spread > 0 else 1.0
    ends = [_log(a / n), _log(b / n)] if ratio else [a / n, b / n]
    known = all(map(isfinite, ends))

    def reach(z: float, side: int) -> float:
        one, other = (abs(wilson_limits(k, n, z, ratio=ratio)[side] - at) for k, at in zip((a, b), ends, strict=True))
        return sqrt(max(one**2 + other**2 + 2 * together * one * other, 0.0))

    def high(z: float) -> float:
        if known:
            return sum(ends) + reach(z, 1)
        return sum(wilson_limits(k, n, z, ratio=ratio)[1] for k in (a, b))

    return Part(sum(ends), lambda z: sum(ends) - reach(z, 0) if known else -inf, high)


def contrast(group: Part, reference: Part) -> Part:
    """A quantity of a group minus that of its reference, by MOVER of the limits of each.

    Where an estimate is infinite, the ends are L₁ − U₀ and U₁ − L₀, which cover more.
    """
    estimate = group.estimate - reference.estimate
    known = isfinite(group.estimate) and isfinite(reference.estimate)

    def end(z: float, side: int) -> float:
        one, other = (group.high(z), reference.low(z)) if side > 0 else (group.low(z), reference.high(z))
        if not known:
            return side * inf if isnan(one - other) else one - other
        reach = max(side * (one - group.estimate), 0.0), max(side * (reference.estimate - other), 0.0)
        return estimate + side * hypot(*reach)

    return Part(estimate, lambda z: end(z, -1), lambda z: end(z, 1))


def distance_limits(change: tuple[float, float], total: tuple[float, float]) -> tuple[float, float]:
    """Range of |after| − |before|, where after − before and after + before lie in their intervals.

    It is the smaller of both in size, positive where their signs agree; so the ends are at corners, or 0.
    """
    corners = [copysign(1.0, s) * copysign(min(abs(s), abs(c)), c) for s in total for c in change]
    if min(*change) <= 0 <= max(*change) or min(*total) <= 0 <= max(*total):
        corners.append(0.0)
    return float(np.min(corners)), float(np.max(corners))
