"""The odds of a group over the odds of everybody, its own rows among them.

With f the group's share of the cases, held fixed, r and r̄ the rates of the group and of all others,
p = f·r + (1 − f)·r̄ is the rate of all, and

    θ = r/(1 − r) · (1 − p)/p.

Unlike a ratio or difference this is no function of one contrast with all others: with ψ = r(1 −
r̄)/((1 − r)r̄) it lies, whatever the rates,

    between ψ/(fψ + 1 − f), where rates are small, and f + (1 − f)ψ, where they are near 1.

The score test of θ takes the most likely rates with that θ; its statistic squared is Pearson's χ² of
both samples at them (Rao 1948), with the factor (N − 1)/N of Miettinen and Nurminen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

#: Odds ratios beyond which a limit lies nowhere.
_LARGEST = 1e9
#: Points at which the likelihood is compared before its largest value is looked for.
_N_POINTS = 65
_ANGLES = 0.5 * (1 - np.cos(np.pi * np.arange(1, _N_POINTS) / _N_POINTS))


@dataclass(frozen=True)
class Rates:
    """Rates of the group, of all others, and of all."""

    group: float
    others: float
    everybody: float


def odds_ratio_of_all(rate: float, rate_of_all: float) -> float:
    """Odds of the group over those of everybody; infinite where all of the group are successes."""
    if rate >= 1:
        return math.inf if rate_of_all < 1 else math.nan
    if not 0 < rate_of_all < 1:
        return math.nan
    return rate / (1 - rate) * (1 - rate_of_all) / rate_of_all


def likely_rates(
    table: tuple[float, float, float, float], share: float, odds_ratio: float
) -> Rates:
    """The most likely rates with this odds ratio against everybody.

    In the rate p of all the likelihood has the derivative

        (k − n·r)/(p(1 − p)) + (K − N·r̄)·r̄'/(r̄(1 − r̄)),    r = θp/d, d = 1 + p(θ − 1), r̄' = (1 − fθ/d²)/(1 − f).

    Parameters
    ----------
    table : tuple of float
        Successes and cases of the group, and of all others.
    share : float
        Of the group in all cases.
    odds_ratio : float
        Above 0, finite.
    """
    k, n, k_others, n_others = table
    lowest = 0.0
    highest = 1.0
    if odds_ratio > 1:
        lowest = max(lowest, (share * odds_ratio - 1) / (odds_ratio - 1))
    elif odds_ratio < 1:
        highest = min(highest, (1 - share) / (1 - odds_ratio))

    def slope(p: float) -> float:
        rates = _rates_at(p, share, odds_ratio)
        d = 1 + p * (odds_ratio - 1)
        of_others = (1 - share * odds_ratio / d**2) / (1 - share)
        spread = rates.others * (1 - rates.others)
        if not spread > 0:
            return 0.0
        return (k - n * rates.group) / (p * (1 - p)) + (
            k_others - n_others * rates.others
        ) * of_others / spread

    points = lowest + (highest - lowest) * _ANGLES
    d = 1 + points * (odds_ratio - 1)
    rate = odds_ratio * points / d
    others = np.clip((points - share * rate) / (1 - share), 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        likelihood = (
            scipy.special.xlogy(k, rate)
            + scipy.special.xlogy(n - k, (1 - points) / d)
            + scipy.special.xlogy(k_others, others)
            + scipy.special.xlogy(n_others - k_others, 1 - others)
        )
    best = int(np.argmax(likelihood))
    left = float(points[best - 1]) if best > 0 else _between(lowest, float(points[0]))
    right = (
        float(points[best + 1]) if best + 1 < points.size else _between(highest, float(points[-1]))
    )
    slope_left = slope(left)
    slope_right = slope(right)
    if slope_left > 0 > slope_right:
        p = scipy.optimize.brentq(slope, left, right, xtol=1e-15, rtol=1e-14)
    elif slope_left <= 0:
        p = left
    else:
        p = right
    return _rates_at(float(p), share, odds_ratio)


def _between(end: float, point: float) -> float:
    """Next to an end of the range, where the likelihood may be largest."""
    return end + (point - end) * 1e-9


def _rates_at(p: float, share: float, odds_ratio: float) -> Rates:
    rate = odds_ratio * p / (1 + p * (odds_ratio - 1))
    others = min(max((p - share * rate) / (1 - share), 0.0), 1.0)
    return Rates(group=rate, others=others, everybody=p)


def odds_of_all_statistic(
    table: tuple[float, float, float, float],
    share: float,
    odds_ratio: float,
    *,
    correction: bool = True,
) -> float:
    """Score statistic of H0: the odds ratio against everybody has this value, in (0, ∞)."""
    k, n, k_others, n_others = table
    rates = likely_rates(table, share, odds_ratio)
    squared = _pearson(k, n, rates.group) + _pearson(k_others, n_others, rates.others)
    if correction:
        squared *= (n + n_others - 1) / (n + n_others)
    rate = k / n
    observed = odds_ratio_of_all(rate, share * rate + (1 - share) * k_others / n_others)
    return math.copysign(math.sqrt(squared), observed - odds_ratio)


def _pearson(successes: float, cases: float, rate: float) -> float:
    """(k − n·r)²/(n·r(1 − r)), 0 where the rate leaves no other table."""
    residual = successes - cases * rate
    spread = cases * rate * (1 - rate)
    if spread > 0:
        return residual**2 / spread
    return 0.0 if abs(residual) < 1e-9 * max(cases, 1.0) else math.inf


def odds_of_others(
    table: tuple[float, float, float, float], share: float, odds_ratio: float
) -> float:
    """The odds ratio with all others at the most likely rates with this one against everybody."""
    rates = likely_rates(table, share, odds_ratio)
    above = rates.group * (1 - rates.others)
    below = (1 - rates.group) * rates.others
    if above * 1e9 <= below:
        return 1 / _LARGEST
    return min(above / below, _LARGEST) if below > 0 else _LARGEST


def odds_against_all(
    table: tuple[float, float, float, float], share: float, of_others: float
) -> float:
    """The odds ratio against everybody with which all others most likely have this one.

    It lies between ψ/(fψ + 1 − f) and f + (1 − f)ψ.
    """
    if of_others in (0.0, 1.0) or math.isinf(of_others):
        if of_others == 0.0:
            return 0.0
        return of_others
    ends = sorted((of_others / (share * of_others + 1 - share), share + (1 - share) * of_others))

    def excess(log_null: float) -> float:
        return math.log(odds_of_others(table, share, math.exp(log_null)) / of_others)

    low = math.log(ends[0]) - 1e-9
    high = math.log(ends[1]) + 1e-9
    if excess(low) >= 0:
        return ends[0]
    if excess(high) <= 0:
        return ends[1]
    return math.exp(scipy.optimize.brentq(excess, low, high, xtol=1e-12, rtol=1e-13))


def slope_of_others(rates: Rates, share: float) -> float:
    """What r̄ counts in log θ beside r, as r − slope·r̄: for groups in the same clusters."""
    spread = rates.group * (1 - rates.group)
    spread_of_all = rates.everybody * (1 - rates.everybody)
    if not (spread > 0 and spread_of_all > 0):
        return 1.0
    of_group = 1 / spread - share / spread_of_all
    return (1 - share) / spread_of_all / of_group if of_group > 0 else 1.0


def find_limit(
    statistic: Callable[[float], float], estimate: float, critical: float, side: int
) -> float:
    """The lower (side −1) or upper end of {θ : |z(θ)| ≤ critical}.

    Parameters
    ----------
    statistic : callable
        z of a null value; it falls with it.
    estimate : float
        Where it is 0; 0 and infinity have one limit only.
    critical : float
    side : {-1, 1}
    """
    if (side < 0 and estimate == 0) or (side > 0 and math.isinf(estimate)):
        return estimate
    start = math.log(min(max(estimate, 1 / _LARGEST), _LARGEST))

    def excess(log_null: float) -> float:
        return -side * statistic(math.exp(log_null)) - critical

    step = 0.5
    inner = start
    outer = start + side * step
    while excess(outer) <= 0:
        inner = outer
        step *= 2
        outer += side * step
        if abs(outer) > math.log(_LARGEST):
            return 0.0 if side < 0 else math.inf
    if excess(inner) >= 0:
        return math.exp(inner)
    low, high = sorted((inner, outer))
    return math.exp(scipy.optimize.brentq(excess, low, high, xtol=1e-12, rtol=1e-13))
