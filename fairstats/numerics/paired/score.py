"""One rate of two models on the same people: score limits of its change, and of two groups' changes.

Of n rows both models succeed on x₁₁, A alone on x₁₀, B alone on x₀₁, neither on x₀₀; p_A = p₁₁ +
p₁₀ and p_B = p₁₁ + p₀₁ are the rates. With p̃ the maximum likelihood estimates under the hypothesis,

    difference δ = p_B − p_A,  p̃₀₁ = p̃₁₀ + δ                                     (Tango 1998)
        z(δ) = [(x₀₁ − x₁₀)/n − δ] / √{[2p̃₁₀ + δ(1 − δ)]/n},
        p̃₁₀ = [√(b² − 8nc) − b]/(4n),   b = −x₀₁ − x₁₀ + (2n − x₀₁ + x₁₀)δ,   c = −x₁₀δ(1 − δ);

    ratio θ = p_B/p_A,  p̃₀₁ = (p̃₁₀ + c)/θ                         (Nam & Blackwelder 2002)
        z(θ) = (x₁₁ + x₀₁ − θ(x₁₁ + x₁₀))/n / √{θ(p̃₁₀ + p̃₀₁)/n},
        p̃₁₀ the larger root a of  (1 + θ)·m·a² − q·a − x₁₀·c·s = 0,   m = x₁₁ + x₁₀ + x₀₁,
        s = m/n,   c = (θ − 1)s,   q = s(x₁₀ + x₀₁) − (1 + θ)·c·(x₁₁ + x₁₀).

An end of the interval at a critical value is where z equals it. No changed decision is then
information about how rare changes are, not a variance of 0. Quantities with estimates d_i and limits
l_i, u_i are added by MOVER (Zou & Donner 2008): of d₁ − d₀ the lower limit is

    d₁ − d₀ − √{(d₁ − l₁)² + (u₀ − d₀)²},

and of two that are correlated by r the root holds twice r times the product of both, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import copysign, exp, hypot, inf, isfinite, isnan, log, nan, sqrt

import numpy as np

#: x₁₁, x₁₀, x₀₁, x₀₀: rows on which both models succeed, A only, B only, neither.
Table = tuple[float, float, float, float]
#: The end of an interval at a critical value.
End = Callable[[float], float]
_LOG_SPAN = 60.0
#: No statistic is looked for beyond this size.
_FARTHEST_STATISTIC = 30.0


def ratio_statistic(table: Table, theta: float) -> float:
    """z(θ): score statistic of H0: p_B/p_A = θ."""
    x11, x10, x01, _ = table
    n = sum(table)
    m = x11 + x10 + x01
    if m == 0:
        return 0.0
    s = m / n
    k = 1 + theta
    c = (theta - 1) * s
    q = s * (x10 + x01) - k * c * (x11 + x10)
    discriminant_root = sqrt(max(q * q + 4 * k * m * x10 * c * s, 0.0))
    # the form of the root in which nothing cancels
    if q >= 0:
        p10 = (q + discriminant_root) / (2 * k * m)
    else:
        p10 = 2 * x10 * c * s / (discriminant_root - q)
    p10 = min(max(p10, 0.0, -c), s / k)
    variance = theta * (p10 + (p10 + c) / theta) / n
    return _standardised_statistic(((x11 + x01) - theta * (x11 + x10)) / n, variance)


def difference_statistic(table: Table, delta: float) -> float:
    """z(δ): score statistic of H0: p_B − p_A = δ."""
    _, x10, x01, _ = table
    n = sum(table)
    b = -x01 - x10 + (2 * n - x01 + x10) * delta
    c = -x10 * delta * (1 - delta)
    p10 = (sqrt(max(b * b - 8 * n * c, 0.0)) - b) / (4 * n)
    variance = (2 * max(p10, 0.0, -delta) + delta * (1 - delta)) / n
    return _standardised_statistic((x01 - x10) / n - delta, variance)


def _standardised_statistic(distance: float, variance: float) -> float:
    if variance <= 0:
        if abs(distance) < 1e-15:
            return 0.0
        return copysign(inf, distance)
    return distance / sqrt(variance)


def log_ratio_end(table: Table, target: float) -> float:
    """Where the statistic is `target`, the lower end for a positive one.

    Infinite without a success.
    """
    x11, x10, x01, _ = table
    successes_a = x11 + x10
    successes_b = x11 + x01
    if (successes_b if target > 0 else successes_a) == 0:
        return -inf if target > 0 else inf
    if successes_a == 0:
        log_estimate = _LOG_SPAN
    else:
        if successes_b == 0:
            log_estimate = -_LOG_SPAN
        else:
            log_estimate = log(successes_b / successes_a)
    if successes_a * successes_b > 0:
        search_step = abs(target) * sqrt((x10 + x01 + 1) / (successes_a * successes_b))
    else:
        search_step = 1.0
    return _solve_for_target(
        lambda x: ratio_statistic(table, exp(x)), target, log_estimate, search_step, _LOG_SPAN
    )


def difference_end(table: Table, target: float) -> float:
    """The same of the difference, in [−1, 1]."""
    n_rows = sum(table)
    n_changed = table[1] + table[2]
    difference = (table[2] - table[1]) / n_rows
    search_step = abs(target) * sqrt(n_changed + 1) / n_rows
    return _solve_for_target(
        lambda x: difference_statistic(table, x), target, difference, search_step, 1.0
    )


def _solve_for_target(
    statistic: Callable[[float], float],
    target: float,
    centre: float,
    step: float,
    farthest: float,
) -> float:
    """Where the decreasing statistic, 0 at `centre`, meets the target.

    The end ∓`farthest` where it does not.

    `step`: about how far it is.
    """

    def distance(x: float) -> float:
        return min(max(statistic(x), -1e6), 1e6) - target

    direction = -1.0 if target > 0 else 1.0
    near_end = centre
    far_end = centre + direction * step
    if distance(near_end) * direction < 0:
        return direction * farthest
    while abs(far_end) < farthest and distance(far_end) * direction > 0:
        near_end = far_end
        step = 2 * step
        far_end += direction * step
    if abs(far_end) >= farthest:
        far_end = direction * farthest
        if near_end == far_end or distance(far_end) * direction > 0:
            return far_end
    return crossing(distance, near_end, far_end, 1e-14)


def crossing(
    function: Callable[[float], float],
    left: float,
    right: float,
    tolerance: float,
) -> float:
    """Where a continuous function changes its sign between two ends (regula falsi of Anderson and
    Björck).

    As exact as Brent's method of SciPy and, for functions as cheap as these, several times as fast.
    """
    at_left = function(left)
    at_right = function(right)
    for _ in range(200):
        if at_right == 0 or abs(right - left) <= tolerance + 8.9e-16 * abs(right):
            break
        middle = right - at_right * (right - left) / (at_right - at_left)
        if not min(left, right) < middle < max(left, right):
            middle = (left + right) / 2
        at_middle = function(middle)
        if (at_middle > 0) != (at_right > 0):
            left = right
            at_left = at_right
        else:
            if at_right:
                left_factor = 1 - at_middle / at_right
            else:
                left_factor = 0.0
            at_left *= left_factor if left_factor > 0 else 0.5
        if abs(middle - right) <= tolerance + 8.9e-16 * abs(middle):
            return middle
        right = middle
        at_right = at_middle
    return right


def wilson_limits(
    successes: float,
    cases: float,
    critical: float,
    *,
    ratio: bool,
) -> tuple[float, float]:
    """Wilson's limits of one rate, on the log scale for a ratio."""
    squared_critical = critical * critical
    success_rate = successes / cases
    interval_centre = (successes + squared_critical / 2) / (cases + squared_critical)
    half_width = (
        critical
        * sqrt(cases * success_rate * (1 - success_rate) + squared_critical / 4)
        / (cases + squared_critical)
    )
    lower_limit = max(interval_centre - half_width, 0.0)
    upper_limit = min(interval_centre + half_width, 1.0)
    if successes == 0:
        lower_limit = 0.0
    if ratio:
        return (_log_or_minus_infinity(lower_limit), _log_or_minus_infinity(upper_limit))
    return (lower_limit, upper_limit)


def _log_or_minus_infinity(value: float) -> float:
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
        """An estimate with a standard error.

        Its interval lies around `centre`, if that is another.
        """
        interval_centre = estimate if centre is None else centre
        return cls(
            estimate,
            lambda z: interval_centre - z * std_error,
            lambda z: interval_centre + z * std_error,
        )

    @classmethod
    def mean(cls, parts: Sequence[Part]) -> Part:
        """Mean of independent quantities, by MOVER."""
        estimate = sum(part.estimate for part in parts) / len(parts)

        def reach(z: float, side: int) -> float:
            return sqrt(
                sum((part.estimate - (part.low, part.high)[side](z)) ** 2 for part in parts)
            ) / len(parts)

        return cls(estimate, lambda z: estimate - reach(z, 0), lambda z: estimate + reach(z, 1))

    def kept(self) -> Part:
        """The same, remembering its ends: several comparisons ask for them."""
        return Part(self.estimate, cache(self.low), cache(self.high))

    def limits(self, critical: float) -> tuple[float, float]:
        """Both ends."""
        return self.low(critical), self.high(critical)

    def statistic(self) -> float:
        """Critical value at which the interval ends at 0, signed as the estimate.

        At most 30 in size.
        """
        if isnan(self.estimate) or abs(self.estimate) < 1e-14:
            return nan if isnan(self.estimate) else 0.0

        def reach(z: float) -> float:
            return min(max(self.low(z) if self.estimate > 0 else -self.high(z), -1e6), 1e6)

        estimate_size = abs(self.estimate)
        if isfinite(estimate_size):
            first_guess = 1 / max(1 - reach(1.0) / estimate_size, 1e-3)
        else:
            first_guess = 1.0
        lower_bracket = 0.8 * first_guess
        upper_bracket = min(1.25 * first_guess, _FARTHEST_STATISTIC)
        while reach(lower_bracket) <= 0:
            upper_bracket = lower_bracket
            lower_bracket = lower_bracket / 2
            if lower_bracket < 1e-9:
                return 0.0
        while reach(upper_bracket) > 0:
            if upper_bracket >= _FARTHEST_STATISTIC:
                return copysign(_FARTHEST_STATISTIC, self.estimate)
            lower_bracket = upper_bracket
            upper_bracket = min(2 * upper_bracket, _FARTHEST_STATISTIC)
        return copysign(crossing(reach, lower_bracket, upper_bracket, 1e-12), self.estimate)


#: Of a group without rows.
_EMPTY_PART = Part(nan, lambda z: -inf, lambda z: inf)


def change_within(table: Table, *, ratio: bool) -> Part:
    """log(p_B/p_A), or p_B − p_A."""
    x11, x10, x01, _ = table
    if sum(table) == 0:
        return _EMPTY_PART
    if not ratio:
        difference = (x01 - x10) / sum(table)
        return Part(
            difference, lambda z: difference_end(table, z), lambda z: difference_end(table, -z)
        )
    successes_a = x11 + x10
    successes_b = x11 + x01
    if successes_a > 0 or successes_b > 0:
        estimate = _log_or_minus_infinity(successes_b) - _log_or_minus_infinity(successes_a)
    else:
        estimate = nan
    return Part(estimate, lambda z: log_ratio_end(table, z), lambda z: log_ratio_end(table, -z))


def sum_within(table: Table, *, ratio: bool) -> Part:
    """Log p_A + log p_B, or p_A + p_B: Wilson's limits of both by MOVER for correlated parts."""
    x11, x10, x01, x00 = table
    n_rows = sum(table)
    if n_rows == 0:
        return _EMPTY_PART
    successes_a = x11 + x10
    successes_b = x11 + x01
    variance_product = successes_a * successes_b * (n_rows - successes_a) * (n_rows - successes_b)
    if variance_product > 0:
        correlation = (x11 * x00 - x10 * x01) / sqrt(variance_product)
    else:
        correlation = 1.0
    if ratio:
        model_estimates = [
            _log_or_minus_infinity(successes_a / n_rows),
            _log_or_minus_infinity(successes_b / n_rows),
        ]
    else:
        model_estimates = [successes_a / n_rows, successes_b / n_rows]
    are_finite = all(map(isfinite, model_estimates))

    def reach(z: float, side: int) -> float:
        reach_a, reach_b = (
            abs(wilson_limits(model_successes, n_rows, z, ratio=ratio)[side] - model_estimate)
            for model_successes, model_estimate in zip(
                (successes_a, successes_b), model_estimates, strict=True
            )
        )
        return sqrt(max(reach_a**2 + reach_b**2 + 2 * correlation * reach_a * reach_b, 0.0))

    def high(z: float) -> float:
        if are_finite:
            return sum(model_estimates) + reach(z, 1)
        return sum(
            wilson_limits(model_successes, n_rows, z, ratio=ratio)[1]
            for model_successes in (successes_a, successes_b)
        )

    return Part(
        sum(model_estimates),
        lambda z: sum(model_estimates) - reach(z, 0) if are_finite else -inf,
        high,
    )


def contrast(group: Part, reference: Part) -> Part:
    """A quantity of a group minus that of its reference, by MOVER of the limits of each.

    Where an estimate is infinite, the ends are L₁ − U₀ and U₁ − L₀, which cover more.
    """
    estimate = group.estimate - reference.estimate
    are_finite = isfinite(group.estimate) and isfinite(reference.estimate)

    def end(z: float, side: int) -> float:
        if side > 0:
            group_end = group.high(z)
            reference_end = reference.low(z)
        else:
            group_end = group.low(z)
            reference_end = reference.high(z)
        if not are_finite:
            if isnan(group_end - reference_end):
                return side * inf
            return group_end - reference_end
        half_widths = (
            max(side * (group_end - group.estimate), 0.0),
            max(side * (reference.estimate - reference_end), 0.0),
        )
        return estimate + side * hypot(*half_widths)

    return Part(estimate, lambda z: end(z, -1), lambda z: end(z, 1))


def distance_limits(change: tuple[float, float], total: tuple[float, float]) -> tuple[float, float]:
    """Range of |after| − |before|, where after − before and after + before lie in their intervals.

    It is the smaller of both in size, positive where their signs agree; so the ends are at corners,
    or 0.
    """
    corner_values = []
    for sum_end in total:
        for change_end in change:
            corner_values.append(
                copysign(1.0, sum_end) * copysign(min(abs(sum_end), abs(change_end)), change_end)
            )
    if min(*change) <= 0 <= max(*change) or min(*total) <= 0 <= max(*total):
        corner_values.append(0.0)
    return float(np.min(corner_values)), float(np.max(corner_values))
