"""Exact p-values by compiled loops: the twin of `exact_table._Block`, where numba is installed.

Every formula, grid and rule is that of the arrays (`exact_table`, `boundary`, `binomial`), which
answer where numba is missing and for the few questions that these loops leave: nulls beyond the
nuisance rates, infinite statistics, references too large for a table. Both differ by rounding.
What is gained is what arrays cannot do: a root of the boundary begins where its neighbours point,
and only counts that have a probability at a nuisance rate are summed there.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.numerics.rates import score
from fairstats.numerics.rates.binomial import (
    EQUAL_VALUES,
    PARTS,
    STENCIL,
    interpolation,
    log_factorials,
)
from fairstats.numerics.rates.boundary import EQUAL, TIE
from fairstats.numerics.rates.nuisance import GAMMA, REACH, SPACING
from fairstats.numerics.rates.search import MOST_SECANTS, STEP

_Function = TypeVar("_Function", bound=Callable[..., Any])

RATIO = 0
DIFFERENCE = 1
ODDS_RATIO = 2
LESS = 0
GREATER = 1
TWO_SIDED = 2
#: What the loops call the contrasts and alternatives of the arrays.
CONTRASTS = {"ratio": RATIO, "difference": DIFFERENCE, "odds_ratio": ODDS_RATIO}
ALTERNATIVES = {"less": LESS, "greater": GREATER, "two-sided": TWO_SIDED}

#: Angles of the boundary's curve, as in `boundary`.
_NEAR = 1e-6
_SMALL_STEP = 1e-9
_MOST_STEPS = 80
_TINY = 1e-300
_HALF_PI = math.pi / 2
#: Counts between those that others are interpolated from, as in `boundary`; weights of the six about
#: each of the eight places between two of them.
_EIGHT = 8
_FAR = 64
_DOUBT = 2e-3
_FEWEST_NODES = 4 * STENCIL
_WEIGHTS_OF_EIGHTHS = np.ascontiguousarray(
    interpolation(STENCIL, STENCIL // 2 - 1 + np.arange(_EIGHT) / _EIGHT).T
)
#: Nuisance rates between the ends of the null hypothesis, as in `exact_table`.
_FEWEST_UP_TO_THE_END = 48
MOST_BETWEEN = 1024
_DENSER = 2.0
_AS_DENSE = 1.3
#: A statistic that rounding alone keeps from 0, as in `exact_table.statistic`.
NO_STATISTIC = 1e-12
#: In place of a p-value that tails of the larger group's law alone make.
UNKNOWN = -1.0
#: Logarithm of a probability that adds nothing to a p-value of at least γ.
_NOTHING = -50.0
_NO_MASS = math.exp(_NOTHING)


def _compiled(function: _Function) -> _Function:
    """The function as machine code, which is kept on disk."""
    compiler = numba.njit(cache=True, error_model="numpy")
    return cast(_Function, compiler(function))


def _summed(function: _Function) -> _Function:
    """The same of a sum whose terms may be added in any order, so that it runs on vectors."""
    compiler = numba.njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
    return cast(_Function, compiler(function))


# the statistics of one table are compiled as they stand
register_jitable(score._standardise_distance)
register_jitable(score._solve_reference_rate)
_ratio_statistic = _compiled(score.ratio_statistic)
_difference_statistic = _compiled(score.difference_statistic)
_odds_ratio_statistic = _compiled(score.odds_ratio_statistic)


@_compiled
def _statistic(contrast: int, k: float, n: float, k0: float, n0: float, null: float) -> float:
    """Score statistic without the factor N/(N − 1)."""
    table = (k, n, k0, n0)
    if contrast == RATIO:
        return _ratio_statistic(table, null, False)
    if contrast == DIFFERENCE:
        return _difference_statistic(table, null, False)
    return _odds_ratio_statistic(table, null, False)


@_compiled
def _larger_rate(contrast: int, rate: float, null: float) -> float:
    if contrast == RATIO:
        return rate / null
    if contrast == DIFFERENCE:
        return rate - null
    return rate / (rate + null * (1.0 - rate))


@_compiled
def _smaller_rate(contrast: int, rate: float, null: float) -> float:
    if contrast == RATIO:
        of_smaller = rate * null
    elif contrast == DIFFERENCE:
        of_smaller = rate + null
    else:
        of_smaller = rate * null / (1.0 - rate + null * rate)
    return min(max(of_smaller, 0.0), 1.0)


@_compiled
def _ends_of_smaller_rate(contrast: int, null: float) -> tuple[float, float]:
    """Rates of the smaller group that the null hypothesis allows."""
    if contrast == RATIO:
        return 0.0, min(1.0, null)
    if contrast == DIFFERENCE:
        return max(0.0, null), min(1.0, 1.0 + null)
    return 0.0, 1.0


@_compiled
def _angle(rate: float) -> float:
    return math.asin(math.sqrt(min(max(rate, 0.0), 1.0)))


@_compiled
def _evaluate_curve(
    contrast: int,
    sine: float,
    cosine: float,
    m: float,
    n: float,
    null: float,
    statistic: float,
    least: float,
    width: float,
) -> tuple[float, float, float, float]:
    """Both counts with their derivatives by the angle: `boundary._evaluate_curve`."""
    p = min(least + width * (sine * sine), 1.0)
    q = min(max(_larger_rate(contrast, p, null), 0.0), 1.0)
    of_p = max(p * (1 - p), _TINY)
    of_q = max(q * (1 - q), _TINY)
    rate_slope = width * 2.0 * sine * cosine
    if contrast == ODDS_RATIO:
        spread = 1 / (m * of_p) + 1 / (n * of_q)
        shift = statistic / math.sqrt(spread)
        growth = (1 - 2 * p) / (m * of_p) + (1 - 2 * q) / (n * of_q)
        shift_slope = shift / (2 * spread) * growth / of_p
        shift_larger = shift
        slope = m + shift_slope
        slope_larger = n * of_q / of_p - shift_slope
    else:
        scale = null if contrast == RATIO else 1.0
        spread = of_p / m + scale * scale * of_q / n
        by_root = statistic / math.sqrt(spread)
        growth = ((1 - 2 * p) / m + scale * (1 - 2 * q) / n) / (2 * spread)
        shift = by_root * of_p
        shift_larger = by_root * scale * of_q
        slope = m + by_root * ((1 - 2 * p) - of_p * growth)
        slope_larger = n / scale - by_root * ((1 - 2 * q) - scale * of_q * growth)
    return m * p + shift, slope * rate_slope, n * q - shift_larger, slope_larger * rate_slope


@_compiled
def _start_at_wilson(
    contrast: int,
    count: float,
    m: float,
    n: float,
    null: float,
    statistic: float,
    least: float,
    width: float,
) -> float:
    """Angle where the search for the first root begins: Wilson's limit."""
    share = count / m
    square = statistic * statistic / (1.0 + m / n)
    c = math.copysign(math.sqrt(square), statistic)
    root = math.sqrt(max(share * (1 - share) / m + square / (4 * m * m), 0.0))
    rate = (share + square / (2 * m) - c * root) / (1 + square / m)
    least_share = 1e-4 / m
    share_of_range = min(max((rate - least) / width, least_share), 1.0 - least_share)
    return math.asin(math.sqrt(share_of_range))


@_compiled
def _solve_larger_count(
    contrast: int,
    start: float,
    count: float,
    m: float,
    n: float,
    null: float,
    statistic: float,
    least: float,
    width: float,
) -> tuple[float, float]:
    """The larger count where the curve has this one, and the angle: Newton's method within a bracket.

    It stops where the error that is left, about (s₂/s₁²)·s₂² after steps s₁ and s₂, cannot carry j
    past a whole number.
    """
    low = _NEAR
    high = _HALF_PI - _NEAR
    angle = min(max(start, low), high)
    earlier = math.inf
    larger = 0.0
    for _ in range(_MOST_STEPS):
        sine = math.sin(angle)
        cosine = math.sqrt(1.0 - sine * sine)
        at, slope, at_larger, larger_slope = _evaluate_curve(
            contrast, sine, cosine, m, n, null, statistic, least, width
        )
        excess = at - count
        step = -excess / slope
        newton = angle + step
        larger = at_larger + larger_slope * step
        if excess > 0:
            high = angle
        else:
            low = angle
        inside = low <= newton <= high
        step = abs(step)
        if not inside:
            larger = at_larger
        if step <= _SMALL_STEP:
            break
        if inside and earlier < 0.02:
            doubt = n * step**3 / (earlier * earlier)
            if doubt <= max(0.02 * abs(larger - np.rint(larger)), 1e-8):
                angle = newton
                break
        angle = newton if inside else (low + high) / 2
        earlier = step if inside else math.inf
    return larger, angle


class _Curve(NamedTuple):
    """What the boundary's curve is of: `least` and `width` of the smaller group's rates."""

    contrast: int
    m: int
    n: int
    null: float
    statistic: float
    least: float
    width: float


@_compiled
def _solve_counts(
    curve: _Curve,
    first_count: int,
    stride: int,
    first_searched: float,
    last_searched: float,
    larger: Floats,
    on_curve: NDArray[np.bool_],
) -> None:
    """The larger counts of every count that is a stride further; which lie on the curve.

    Each root begins where the parabola through the last three angles points.
    """
    contrast, m, n, null, statistic, least, width = curve
    known = 0
    angle = 0.0
    before = 0.0
    earlier = 0.0
    for place in range(larger.size):
        count = first_count + stride * place
        on_curve[place] = first_searched <= count <= last_searched
        if not on_curve[place]:
            continue
        if known > 2:
            start = 3 * angle - 3 * before + earlier
        elif known == 2:
            start = 2 * angle - before
        else:
            start = _start_at_wilson(contrast, count, m, n, null, statistic, least, width)
        earlier = before
        before = angle
        larger[place], angle = _solve_larger_count(
            contrast, start, count, m, n, null, statistic, least, width
        )
        known += 1


@_compiled
def _interpolate_between_eighths(
    place: int, at_nodes: Floats, on_curve: NDArray[np.bool_], most_doubt: float
) -> float:
    """The larger count between those of every eighth count.

    NaN where it has to be solved: beside the ends, off the curve, and so near a whole number that
    the interpolation may be on its other side.
    """
    node = place // _EIGHT - STENCIL // 2 + 1
    if node < 0 or node + STENCIL > at_nodes.size:
        return math.nan
    larger = 0.0
    for step in range(STENCIL):
        if not on_curve[node + step]:
            return math.nan
        larger += _WEIGHTS_OF_EIGHTHS[place % _EIGHT, step] * at_nodes[node + step]
    if abs(larger - np.rint(larger)) <= most_doubt:
        return math.nan
    return larger


@_compiled
def _counts_at(larger: float, n: int, lower_end: float, upper_end: float) -> tuple[float, float]:
    """First count of the larger group with a statistic ≤ c, number of counts with one ≥ c."""
    if upper_end < -TIE:
        as_small = n + 1.0
        as_large = n + 1.0
    elif abs(larger) < 4e18:
        as_small = math.ceil(larger - TIE)
        as_large = math.floor(larger + TIE) + 1.0
    else:
        as_small = math.copysign(4e18, larger)
        as_large = as_small
    if lower_end > TIE:
        as_small = 0.0
        as_large = 0.0
    return float(as_small), float(as_large)


@_compiled
def _write_boundary(
    contrast: int,
    first_count: int,
    m: int,
    n: int,
    null: float,
    statistic: float,
    first: NDArray[np.int64],
    number: NDArray[np.int64],
) -> None:
    """`boundary.boundary` of successive counts: first count of the larger group with a statistic ≤
    c, number of counts with one ≥ c.
    """
    least, most = _ends_of_smaller_rate(contrast, null)
    width = most - least
    near_sine = math.sin(_NEAR)
    near_cosine = math.cos(_NEAR)
    start_count, _, start_larger, _ = _evaluate_curve(
        contrast, 0.0, 1.0, m, n, null, statistic, least, width
    )
    first_searched, _, _, _ = _evaluate_curve(
        contrast, near_sine, near_cosine, m, n, null, statistic, least, width
    )
    last_searched, _, _, _ = _evaluate_curve(
        contrast, near_cosine, near_sine, m, n, null, statistic, least, width
    )
    stop_count, _, stop_larger, _ = _evaluate_curve(
        contrast, 1.0, 0.0, m, n, null, statistic, least, width
    )
    left_above = False
    left_below = False
    if contrast != ODDS_RATIO:
        scale = null if contrast == RATIO else 1.0
        if most < 1:
            left_above = n + statistic * scale / math.sqrt(most * (1 - most) / m) < -TIE * n
        if least > 0:
            left_below = n - statistic * scale / math.sqrt(least * (1 - least) / m) < -TIE * n
    both_zero = contrast != DIFFERENCE or null == 0
    both_one = contrast == ODDS_RATIO or null == (1.0 if contrast == RATIO else 0.0)
    # j of every eighth count, between which it is so smooth that a polynomial gives the others
    number_of_nodes = (first.size + _EIGHT - 1) // _EIGHT
    at_nodes = np.zeros(number_of_nodes)
    on_curve = np.zeros(number_of_nodes, dtype=np.bool_)
    if number_of_nodes >= _FEWEST_NODES:
        curve = _Curve(contrast, m, n, null, statistic, least, width)
        _solve_counts(curve, first_count, _EIGHT, first_searched, last_searched, at_nodes, on_curve)
    most_doubt = _DOUBT * max(n / m, 1.0)
    lowest = m * least + _FAR
    highest = m * (least + width) - _FAR
    # the last three angles: each root begins where the parabola through them points
    known = 0
    angle = 0.0
    before = 0.0
    earlier = 0.0
    for place in range(first.size):
        count = first_count + place
        larger = math.nan
        if lowest < count < highest:
            larger = _interpolate_between_eighths(place, at_nodes, on_curve, most_doubt)
        if count < first_searched:
            larger = start_larger
        elif count > last_searched:
            larger = stop_larger
        elif math.isnan(larger):
            if known > 2:
                start = 3 * angle - 3 * before + earlier
            elif known == 2:
                start = 2 * angle - before
            else:
                start = _start_at_wilson(contrast, count, m, n, null, statistic, least, width)
            earlier = before
            before = angle
            larger, angle = _solve_larger_count(
                contrast, start, count, m, n, null, statistic, least, width
            )
            known += 1
        else:
            known = 0
        lower_end = start_count - count
        upper_end = stop_count - count
        as_small, as_large = _counts_at(larger, n, lower_end, upper_end)
        if left_above and abs(upper_end) <= TIE:
            as_small = n + 1.0
        if left_below and abs(lower_end) <= TIE:
            as_large = 0.0
        if both_zero and statistic > EQUAL and count == 0:
            as_large = 0.0
        if both_one and statistic < -EQUAL and count == m:
            as_small = n + 1.0
        first[place] = min(max(int(as_small), 0), n + 1)
        number[place] = min(max(int(as_large), 0), n + 1)


@_compiled
def _add_products(sums: Floats, masses: Floats, tails: Floats) -> None:
    """Add what one count contributes at each rate; a loop from 0 on, which runs on vectors."""
    for point in range(sums.size):
        sums[point] += masses[point] * tails[point]


@_compiled
def _raise_count(masses: Floats, odds: Floats, factor: float) -> None:
    """Probabilities of the next count at each rate."""
    for point in range(masses.size):
        masses[point] *= factor * odds[point]


@_compiled
def _sum_at_all_rates(
    first_count: int,
    n: int,
    of_smaller: Floats,
    log_factorial: Floats,
    tails: Floats,
    places: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> Floats:
    """Probability of the counts at rates of both groups that rise together, those of the table of
    tails.

    The rates at which a count has a probability follow one another, from `begun` of them back to
    `ended`.
    """
    points = of_smaller.size
    probability = np.zeros(points)
    masses = np.zeros(points)
    odds = np.empty(points)
    log_rates = np.empty(points)
    log_others = np.empty(points)
    for point in range(points):
        rate = min(max(of_smaller[point], 1e-300), 1 - 1e-16)
        log_rates[point] = math.log(rate)
        log_others[point] = math.log1p(-rate)
        odds[point] = rate / (1.0 - rate)
    begun = 0
    ended = 0
    for place in range(places[0].size):
        count = first_count + place
        if count > n:
            break
        log_ways = log_factorial[n] - log_factorial[count] - log_factorial[n - count]
        while begun < points:
            log_mass = count * log_rates[begun] + (n - count) * log_others[begun] + log_ways
            above_mode = count > (n + 1) * of_smaller[begun]
            if log_mass < _NOTHING and not above_mode:
                break
            masses[begun] = math.exp(log_mass)
            begun += 1
        while ended < begun and masses[ended] < _NO_MASS and count > n * of_smaller[ended]:
            masses[ended] = 0.0
            ended += 1
        of_count = masses[ended:begun]
        for places_of_side in places:
            row = places_of_side[place]
            if row >= 0:
                _add_products(probability[ended:begun], of_count, tails[row, ended:begun])
        _raise_count(of_count, odds[ended:begun], (n - count) / (count + 1.0))
    return probability


@_compiled
def _tails_by_node(
    tails: Floats,
    places: tuple[NDArray[np.int64], NDArray[np.int64]],
    number_of_counts: int,
    first_node: int,
    number_of_nodes: int,
) -> Floats:
    """Tails beside each count, of both sides together, at some rates of their table; a row a rate."""
    of_low, of_high = places
    by_node = np.empty((number_of_nodes, number_of_counts))
    for place in range(number_of_counts):
        row = of_low[place]
        other = of_high[place]
        if row < 0:
            row = other
            other = -1
        if other < 0:
            for node in range(number_of_nodes):
                by_node[node, place] = tails[row, first_node + node]
        else:
            for node in range(number_of_nodes):
                by_node[node, place] = (
                    tails[row, first_node + node] + tails[other, first_node + node]
                )
    return by_node


@_compiled
def _write_masses(
    masses: Floats, first_mass: float, odds: float, once: Floats, all_at_once: Floats
) -> None:
    """Probabilities of successive counts, from that of the first.

    Each from the one eight before it, so that no multiplication waits for the last one. `once`,
    `all_at_once`: by what the probability of a count grows, but for the odds, in one step and in
    eight.
    """
    masses[0] = first_mass
    for place in range(1, min(_EIGHT, masses.size)):
        masses[place] = masses[place - 1] * (once[place - 1] * odds)
    square = odds * odds
    fourth = square * square
    eighth = fourth * fourth
    for place in range(_EIGHT, masses.size):
        masses[place] = masses[place - _EIGHT] * all_at_once[place - _EIGHT] * eighth


@_summed
def _sum_interpolated(
    masses: Floats,
    at_first: Floats,
    at_second: Floats,
    at_third: Floats,
    at_fourth: Floats,
    at_fifth: Floats,
    at_sixth: Floats,
    weights: Floats,
) -> float:
    """Sum over counts of their probability times the tail between six nodes."""
    first = weights[0]
    second = weights[1]
    third = weights[2]
    fourth = weights[3]
    fifth = weights[4]
    sixth = weights[5]
    total = 0.0
    for place in range(masses.size):
        total += masses[place] * (
            first * at_first[place]
            + second * at_second[place]
            + third * at_third[place]
            + fourth * at_fourth[place]
            + fifth * at_fifth[place]
            + sixth * at_sixth[place]
        )
    return total


@_compiled
def _sum_between_rates(
    first_count: int,
    n: int,
    of_smaller: Floats,
    log_factorial: Floats,
    tails: Floats,
    places: tuple[NDArray[np.int64], NDArray[np.int64]],
    nodes: NDArray[np.int64],
    weights: Floats,
) -> Floats:
    """Probability of the counts at rates of both groups that rise together, between those of the
    table of tails.

    One rate after the other: the counts that have a probability there follow one another, from
    `begun` on and below `ended`, and both rise with the rate.
    """
    number_of_counts = min(places[0].size, n - first_count + 1)
    first_node = nodes.min()
    by_node = _tails_by_node(
        tails, places, number_of_counts, first_node, nodes.max() + STENCIL - first_node
    )
    log_ways = np.empty(number_of_counts)
    once = np.empty(number_of_counts)
    for place in range(number_of_counts):
        count = first_count + place
        log_ways[place] = log_factorial[n] - log_factorial[count] - log_factorial[n - count]
        once[place] = (n - count) / (count + 1.0)
    all_at_once = np.empty(max(number_of_counts - _EIGHT, 0))
    for place in range(all_at_once.size):
        product = 1.0
        for step in range(_EIGHT):
            product *= once[place + step]
        all_at_once[place] = product
    probability = np.zeros(of_smaller.size)
    masses = np.empty(number_of_counts)
    begun = 0
    ended = 0
    for point in range(of_smaller.size):
        rate = min(max(of_smaller[point], 1e-300), 1 - 1e-16)
        log_rate = math.log(rate)
        log_other = math.log1p(-rate)
        mode = (n + 1) * rate - first_count
        while begun < number_of_counts and begun < mode:
            count = first_count + begun
            if count * log_rate + (n - count) * log_other + log_ways[begun] >= _NOTHING:
                break
            begun += 1
        ended = max(ended, begun)
        while ended < number_of_counts:
            count = first_count + ended
            log_mass = count * log_rate + (n - count) * log_other + log_ways[ended]
            if log_mass < _NOTHING and ended > mode:
                break
            ended += 1
        if begun == ended:
            continue
        count = first_count + begun
        first_mass = math.exp(count * log_rate + (n - count) * log_other + log_ways[begun])
        likely = masses[begun:ended]
        _write_masses(likely, first_mass, rate / (1.0 - rate), once[begun:], all_at_once[begun:])
        node = nodes[point] - first_node
        probability[point] = _sum_interpolated(
            likely,
            by_node[node, begun:ended],
            by_node[node + 1, begun:ended],
            by_node[node + 2, begun:ended],
            by_node[node + 3, begun:ended],
            by_node[node + 4, begun:ended],
            by_node[node + 5, begun:ended],
            weights[point],
        )
    return probability


@_compiled
def _vertex(probability: Floats, nodes: NDArray[np.int64], weights: Floats) -> tuple[float, int]:
    """Largest of the refined values, of the parabola about it, and its place: `binomial.vertex`."""
    refined = np.empty(nodes.size)
    for place in range(nodes.size):
        value = 0.0
        node = nodes[place]
        for step in range(STENCIL):
            value += weights[place, step] * probability[node + step]
        refined[place] = value
    most = refined.max()
    as_large = most - EQUAL_VALUES * abs(most)
    peak = 0
    while refined[peak] < as_large:
        peak += 1
    largest = refined[peak]
    if 0 < peak < nodes.size - 1:
        preceding = refined[peak - 1]
        following = refined[peak + 1]
        curvature = 2 * largest - preceding - following
        if curvature > 0:
            largest += (preceding - following) ** 2 / (8 * curvature)
    return largest, peak


@_compiled
def _weights_between(
    places: Floats, points: int, nodes: NDArray[np.int64], weights: Floats
) -> None:
    """`binomial.interpolation` at places from 0 to points − 1: first node, and weights of the
    stencil.
    """
    for place in range(places.size):
        node = math.floor(places[place]) - STENCIL // 2 + 1
        node = min(max(node, 0), points - STENCIL)
        nodes[place] = node
        for step in range(STENCIL):
            weight = 1.0
            for other in range(STENCIL):
                if other != step:
                    weight *= (places[place] - node - other) / (step - other)
            weights[place, step] = weight


@_compiled
def _share(place: float, towards_low: bool, towards_high: bool) -> float:
    """A place from 0 to 1, as close to each end as a square root needs: `_spread_towards_ends`."""
    sine = math.sin(place * _HALF_PI)
    if towards_high:
        return sine * sine if towards_low else sine
    if towards_low:
        return 1.0 - math.sin((1.0 - place) * _HALF_PI)
    return place


@_compiled
def _points_between(needed: int) -> tuple[int, int]:
    """Number of nuisance rates between ends, and where its refinement begins.

    The power of 2 from `needed` on, but 48 in place of 32 and less.
    """
    between_points = _FEWEST_UP_TO_THE_END
    refined_from = 0
    following = 64
    while between_points < needed or (between_points < 64 and needed > 32):
        refined_from += PARTS * (between_points - 1) + 1
        between_points = following
        following *= 2
    return between_points, refined_from


@_compiled
def _include_observed(
    alternative: int,
    observed: float,
    place: int,
    k0: int,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> None:
    """The observed table is as extreme as itself."""
    in_low = alternative == LESS or (alternative == TWO_SIDED and observed <= 0)
    in_high = not (alternative == LESS or (alternative == TWO_SIDED and observed < 0))
    if in_low:
        low[place] = min(low[place], k0)
    if in_high:
        high[place] = max(high[place], k0 + 1)


@_compiled
def _places_of_tails(
    alternative: int,
    first_larger: int,
    number: int,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of the table of tails, of both sides; −1 where a side is not asked for."""
    low_places = np.full(low.size, -1)
    high_places = np.full(low.size, -1)
    for place in range(low.size):
        if alternative != GREATER:
            low_places[place] = min(max(low[place] - first_larger, 0), number - 1) + number
        if alternative != LESS:
            high_places[place] = min(max(high[place] - first_larger, 0), number - 1)
    return low_places, high_places


@_compiled
def _smaller_counts(contrast: int, n: int, null: float, rates: Floats) -> tuple[int, int]:
    """The first count of the smaller group that is not all but impossible, and how many there
    are.
    """
    reach = REACH / math.sqrt(n)
    at_first = _angle(_smaller_rate(contrast, rates[0], null))
    at_last = _angle(_smaller_rate(contrast, rates[rates.size - 1], null))
    first_count = math.floor(n * math.sin(max(at_first - reach, 0.0)) ** 2)
    last_count = math.ceil(n * math.sin(min(at_last + reach, _HALF_PI)) ** 2)
    return first_count, last_count - first_count + 1


@_compiled
def _region(
    contrast: int,
    alternative: int,
    observed: float,
    table: tuple[int, int, int, int],
    null: float,
    first_count: int,
    number_of_counts: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Counts of the larger group that are as extreme, beside so many of the smaller one: from the
    first array on, and below the second one.
    """
    k, n, k0, n0 = table
    low = np.full(number_of_counts, n0 + 1)
    high = np.zeros(number_of_counts, dtype=np.int64)
    unused = np.empty(number_of_counts, dtype=np.int64)
    if alternative != GREATER:
        value = -abs(observed) if alternative == TWO_SIDED else observed
        _write_boundary(contrast, first_count, n, n0, null, value, low, unused)
    if alternative != LESS:
        value = abs(observed) if alternative == TWO_SIDED else observed
        _write_boundary(contrast, first_count, n, n0, null, value, unused, high)
    if first_count <= k < first_count + number_of_counts:
        _include_observed(alternative, observed, k - first_count, k0, low, high)
    return low, high


@_compiled
def evaluate(
    contrast: int,
    k: int,
    n: int,
    k0: int,
    n0: int,
    null: float,
    alternative: int,
    angle_ends: tuple[float, float],
    rates: Floats,
    tails: Floats,
    lost: Floats,
    first_larger: int,
    last_larger: int,
    log_factorial: Floats,
    refined: tuple[NDArray[np.int64], Floats],
    refined_between: tuple[NDArray[np.int64], Floats],
) -> tuple[bool, float, float, int, NDArray[np.int64], NDArray[np.int64]]:
    """The p-value of one null value, of a table that has the smaller group first.

    Returns
    -------
    answered : bool
        Whether the loops can answer; else the arrays have to.
    pvalue, larger_rate : float
        UNKNOWN where only the end of the null hypothesis counts.
    first_count : int
        First count of the smaller group.
    low, high : ndarray of int, shape (I,)
        As in `exact_table.Answer`; at the end of the null hypothesis one more, of the one count
        that the smaller group has there.
    """
    none = np.empty(0, dtype=np.int64)
    points = rates.size
    observed = _statistic(contrast, float(k), float(n), float(k0), float(n0), null)
    if not math.isfinite(observed):
        return False, 0.0, 0.0, 0, none, none
    if abs(observed) < NO_STATISTIC:
        observed = 0.0
    first_angle, last_angle = angle_ends
    # which nuisance rates the null hypothesis allows
    least, most = _ends_of_smaller_rate(contrast, null)
    lowest = _angle(_larger_rate(contrast, least, null))
    highest = _angle(_larger_rate(contrast, most, null))
    first_count, number_of_counts = _smaller_counts(contrast, n, null, rates)
    if lowest >= last_angle or highest <= first_angle:
        # only the end of the null hypothesis counts, where the smaller group has one count: whose
        # region comes last
        low, high = _region(
            contrast, alternative, observed, (k, n, k0, n0), null, first_count, number_of_counts
        )
        end = _larger_rate(contrast, least if lowest >= last_angle else most, null)
        if alternative == TWO_SIDED and observed == 0:
            return True, 1.0, end, first_count, low, high
        end_of_smaller = n if most == 1.0 else 0
        last_low, last_high = _region(
            contrast, alternative, observed, (k, n, k0, n0), null, end_of_smaller, 1
        )
        low = np.append(low, last_low)
        high = np.append(high, last_high)
        return True, UNKNOWN, end, first_count, low, high
    low_end = max(lowest, first_angle)
    high_end = min(highest, last_angle)
    smaller_at_low = _angle(_smaller_rate(contrast, math.sin(low_end) ** 2, null))
    smaller_at_high = _angle(_smaller_rate(contrast, math.sin(high_end) ** 2, null))
    of_smaller = 2 * math.sqrt(n) * abs(smaller_at_high - smaller_at_low)
    of_larger = 2 * math.sqrt(n0) * abs(high_end - low_end)
    as_dense = of_smaller <= _AS_DENSE * 2 * math.sqrt(n0) * (last_angle - first_angle)
    whole = lowest <= first_angle and highest >= last_angle and as_dense
    if not whole:
        needed = math.ceil(_DENSER * max(of_smaller, of_larger) / SPACING) + 1
        between_points, refined_from = _points_between(needed)
        if between_points > MOST_BETWEEN:
            return False, 0.0, 0.0, 0, none, none

    low, high = _region(
        contrast, alternative, observed, (k, n, k0, n0), null, first_count, number_of_counts
    )
    number = last_larger - first_larger + 2
    places = _places_of_tails(alternative, first_larger, number, low, high)

    if whole:
        rates_of_smaller = np.empty(points)
        for point in range(points):
            rates_of_smaller[point] = _smaller_rate(contrast, rates[point], null)
        probability = _sum_at_all_rates(
            first_count, n, rates_of_smaller, log_factorial, tails, places
        )
        if alternative == GREATER:
            for point in range(points):
                probability[point] += lost[point]
        largest, peak = _vertex(probability, refined[0], refined[1])
        larger_rate = rates[peak // PARTS]
    else:
        rates_of_smaller = np.empty(between_points)
        rates_of_larger = np.empty(between_points)
        steps = np.empty(between_points)
        for point in range(between_points):
            share = _share(
                point / (between_points - 1.0),
                lowest > first_angle,
                highest < last_angle,
            )
            angle = low_end + (high_end - low_end) * share
            rates_of_larger[point] = math.sin(angle) ** 2
            rates_of_smaller[point] = _smaller_rate(contrast, rates_of_larger[point], null)
            steps[point] = (angle - first_angle) / (last_angle - first_angle) * (points - 1)
        nodes = np.empty(between_points, dtype=np.int64)
        weights = np.empty((between_points, STENCIL))
        _weights_between(steps, points, nodes, weights)
        probability = _sum_between_rates(
            first_count,
            n,
            rates_of_smaller,
            log_factorial,
            tails,
            places,
            nodes,
            weights,
        )
        if alternative == GREATER:
            for point in range(between_points):
                for step in range(STENCIL):
                    probability[point] += weights[point, step] * lost[nodes[point] + step]
        refined_to = refined_from + PARTS * (between_points - 1) + 1
        largest, peak = _vertex(
            probability,
            refined_between[0][refined_from:refined_to],
            refined_between[1][refined_from:refined_to],
        )
        larger_rate = rates_of_larger[peak // PARTS]
    pvalue = min(largest + GAMMA, 1.0)
    if alternative == TWO_SIDED and observed == 0:
        pvalue = 1.0
    return True, pvalue, larger_rate, first_count, low, high


@_compiled
def _gap(
    contrast: int,
    table: tuple[float, float, float, float],
    count: float,
    count0: float,
    x: float,
    two_sided: bool,
) -> float:
    """How far another table's statistic is above that of the observed one, at a place on the scale
    of the search; of their sizes where the test is two-sided.
    """
    k, n, k0, n0 = table
    null = math.tanh(x / 2) if contrast == DIFFERENCE else math.exp(x)
    z = _statistic(contrast, count, n, count0, n0, null)
    observed = _statistic(contrast, k, n, k0, n0, null)
    return abs(z) - abs(observed) if two_sided else z - observed


@_compiled
def _tie(
    contrast: int,
    table: tuple[float, float, float, float],
    count: float,
    count0: float,
    low: float,
    high: float,
    two_sided: bool,
) -> float:
    """`ExactTable._tie` by `search.falsi`; not a number where there is none."""
    at_low = _gap(contrast, table, count, count0, low, two_sided)
    at_high = _gap(contrast, table, count, count0, high, two_sided)
    if not (math.isfinite(at_low) and math.isfinite(at_high)) or at_low * at_high >= 0:
        return math.nan
    x = low
    for _ in range(MOST_SECANTS):
        before = x
        x = low - at_low * (high - low) / (at_high - at_low)
        if abs(x - before) < STEP / 8:
            break
        at_x = _gap(contrast, table, count, count0, x, two_sided)
        if at_x == 0:
            break
        if at_x * at_low > 0:
            low = x
            at_low = at_x
            at_high /= 2
        else:
            high = x
            at_high = at_x
            at_low /= 2
    return x


@_compiled
def _mass(count: int, n: int, rate: float, log_factorial: Floats) -> float:
    """Probability of a binomial count, of a rate between 0 and 1."""
    if count < 0 or count > n:
        return 0.0
    log_mass = log_factorial[n] - log_factorial[count] - log_factorial[n - count]
    if count > 0:
        log_mass += count * math.log(rate)
    if count < n:
        log_mass += (n - count) * math.log1p(-rate)
    return math.exp(log_mass)


@_compiled
def find_jumps(
    contrast: int,
    table: tuple[int, int, int, int],
    null: float,
    larger_rate: float,
    least: float,
    ends: tuple[float, float],
    two_sided: bool,
    most: int,
    first: int,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    other_first: int,
    other_low: NDArray[np.int64],
    other_high: NDArray[np.int64],
    log_factorial: Floats,
) -> Floats:
    """Where tables of one region only have the statistic of the observed one: those of the largest
    probabilities above `least`, `most` of them.

    `ExactTable._jumps` of two answers, with the smaller group first.
    """
    k, n, k0, n0 = table
    rate = larger_rate * null if contrast == RATIO else larger_rate + null
    if contrast == ODDS_RATIO:
        rate = larger_rate * null / (1.0 - larger_rate + null * larger_rate)
    chances = np.zeros(most)
    counts = np.zeros(most, dtype=np.int64)
    counts0 = np.zeros(most, dtype=np.int64)
    found = 0
    if not 0 < rate < 1:
        return np.empty(0)
    begin = max(first, other_first, 0)
    end = min(first + low.size, other_first + other_low.size, n + 1)
    for side in range(2):
        for count in range(begin, end):
            if side == 0:
                here = low[count - first]
                there = other_low[count - other_first]
            else:
                here = high[count - first]
                there = other_high[count - other_first]
            if here == there:
                continue
            chance_of_count = _mass(count, n, rate, log_factorial)
            if not chance_of_count > least:
                continue
            lowest = min(here, there)
            for count0 in range(lowest, min(max(here, there), lowest + most)):
                chance = chance_of_count * _mass(count0, n0, larger_rate, log_factorial)
                if not chance > least:
                    continue
                # kept in falling order; of equal chances the larger counts come first
                place = found
                while place > 0 and (chance, count, count0) > (
                    chances[place - 1],
                    counts[place - 1],
                    counts0[place - 1],
                ):
                    place -= 1
                if place >= most:
                    continue
                found = min(found + 1, most)
                for later in range(found - 1, place, -1):
                    chances[later] = chances[later - 1]
                    counts[later] = counts[later - 1]
                    counts0[later] = counts0[later - 1]
                chances[place] = chance
                counts[place] = count
                counts0[place] = count0
    observed = (float(k), float(n), float(k0), float(n0))
    jumps = np.empty(found)
    number = 0
    for place in range(found):
        x = _tie(
            contrast,
            observed,
            float(counts[place]),
            float(counts0[place]),
            ends[0],
            ends[1],
            two_sided,
        )
        if math.isfinite(x):
            jumps[number] = x
            number += 1
    return jumps[:number]


@functools.lru_cache(maxsize=64)
def refinement_nodes(points: int) -> tuple[NDArray[np.int64], Floats]:
    """`binomial.refine` as first nodes and weights of each place."""
    places = np.linspace(0.0, points - 1.0, PARTS * (points - 1) + 1)
    nodes = np.clip(np.floor(places).astype(np.int64) - STENCIL // 2 + 1, 0, points - STENCIL)
    matrix = interpolation(points, places)
    weights = np.take_along_axis(matrix.T, nodes[:, None] + np.arange(STENCIL), axis=1)
    return nodes, np.ascontiguousarray(weights)


@functools.lru_cache(maxsize=1)
def refinements_between() -> tuple[NDArray[np.int64], Floats]:
    """`refinement_nodes` of 48, 64, 128, … rates, one below the other."""
    points = _FEWEST_UP_TO_THE_END
    following = 64
    nodes = []
    weights = []
    while points <= MOST_BETWEEN:
        of_points = refinement_nodes(points)
        nodes.append(of_points[0])
        weights.append(of_points[1])
        points = following
        following *= 2
    return np.concatenate(nodes), np.concatenate(weights)


@functools.lru_cache(maxsize=16)
def factorials_up_to(largest: int) -> Floats:
    """Logarithms of k! of k = 0, …, largest and more."""
    return log_factorials(np.arange(largest + 1))
