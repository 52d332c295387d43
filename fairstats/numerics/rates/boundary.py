"""Which tables the score statistic calls as extreme as a value: the boundary of a one-sided rejection region.

A table (i of m, j of M) with the constrained maximum likelihood rates p̃ and q̃ has the score statistic c exactly where

    i = m p̃ + c κ_p V_p / S,      j = M q̃ − c κ_q V_q / S,      V_p = p̃(1 − p̃),  V_q = q̃(1 − q̃),

with, for a ratio θ, p̃ = θ q̃, κ = (1, θ), S² = V_p/m + θ² V_q/M; for a difference δ, p̃ = q̃ + δ, κ = (1, 1),
S² = V_p/m + V_q/M; for an odds ratio ψ, logit p̃ = logit q̃ + log ψ, κ V = 1, S² = 1/(m V_p) + 1/(M V_q). (Both
equations are the score equation and the definition of the statistic, solved for the counts.) So the boundary is a curve
in the one unknown p̃, and the count of the larger group that belongs to each count of the smaller one needs one root
instead of a search over tables.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.numerics.rates.score import Contrast

#: A count this near to the boundary lies on it: equal statistics differ in their last digits.
TIE = 1e-6
#: A statistic this near to 0 is 0.
EQUAL = 1e-9
_MOST_STEPS = 80
#: Angles of the curve's parameter: the first after the start, and a step after which Newton's error is rounding.
_NEAR = 1e-6
_SMALL_STEP = 1e-9
_END_ANGLES = np.array([[0.0, _NEAR, np.pi / 2 - _NEAR, np.pi / 2]])
_TINY = 1e-300


def rate_range(contrast: Contrast, null: Floats) -> tuple[Floats, Floats]:
    """Least and largest rate of the smaller group that the null hypothesis allows."""
    if contrast == "ratio":
        return np.zeros_like(null), np.minimum(1.0, null)
    if contrast == "difference":
        return np.maximum(0.0, null), np.minimum(1.0, 1.0 + null)
    return np.zeros_like(null), np.ones_like(null)


def larger_rate(contrast: Contrast, rate: Floats, null: Floats) -> Floats:
    """Rate of the larger group where the smaller one has `rate` and the contrast is `null`."""
    if contrast == "ratio":
        return rate / null
    if contrast == "difference":
        return rate - null
    return rate / (rate + null * (1.0 - rate))


def smaller_rate(contrast: Contrast, rate: Floats, null: Floats) -> Floats:
    """Rate of the smaller group where the larger one has `rate` and the contrast is `null`."""
    if contrast == "ratio":
        return rate * null
    if contrast == "difference":
        return rate + null
    return rate * null / (1.0 - rate + null * rate)


def boundary(
    contrast: Contrast, counts: Floats, sizes: tuple[int, int], null: Floats, statistic: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First count of the larger group with a statistic ≤ c, and the number of counts with a statistic ≥ c.

    Parameters
    ----------
    counts : ndarray, shape (R, I)
        Counts of the smaller group.
    sizes : tuple of int
        Cases of the smaller and the larger group.
    null, statistic : ndarray, shape (R, 1)
        Value of the contrast, and c.

    Returns
    -------
    first, number : ndarray of int, shape (R, I)
        Counts j ≥ first have z ≤ c (first = M + 1: none has), counts j < number have z ≥ c.
    """
    m, n = sizes
    least, most = rate_range(contrast, null)
    width = most - least

    def curve(angle: Floats, counts: Floats | float) -> tuple[Floats, Floats, Floats]:
        return _curve(contrast, angle, counts, m, n, null, statistic, least, width)

    # counts beyond the ends of the curve, or at one that it reaches only there
    ends = curve(_END_ANGLES, 0.0)[0]
    lower_end = ends[:, :1] - counts
    upper_end = ends[:, 3:] - counts
    at_start = counts < ends[:, 1:2]
    at_stop = counts > ends[:, 2:3]
    searched = ~(at_start | at_stop)

    angle = _wilson_angle(counts, m, n, null, statistic, least, width, contrast)
    low = np.full(counts.shape, _NEAR)
    high = np.full(counts.shape, np.pi / 2 - _NEAR)
    angle[at_start] = 0.0
    angle[at_stop] = np.pi / 2
    for _ in range(_MOST_STEPS):
        excess, slope, larger = curve(angle, counts)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = angle - excess / slope
            step = np.abs(newton - angle)
        if not (step > _SMALL_STEP).any(where=searched):
            break
        above = excess > 0
        high = np.where(above, angle, high)
        low = np.where(above, low, angle)
        inside = (newton >= low) & (newton <= high)
        following = np.where(inside, newton, (low + high) / 2)
        angle = np.where(searched, following, angle)
    first = np.ceil(larger - TIE)
    number = np.floor(larger + TIE) + 1
    # beyond the curve's ends no count of the larger group makes the statistic as small, or as large
    first = np.where(upper_end < -TIE, n + 1, first)
    number = np.where(lower_end > TIE, 0, number)
    first = np.where(lower_end > TIE, 0, first)
    number = np.where(upper_end < -TIE, n + 1, number)
    # at its very end the curve touches the last count, or the first, which it has left before
    scale = null if contrast == "ratio" else np.ones_like(null)
    if contrast != "odds_ratio":
        with np.errstate(divide="ignore", invalid="ignore"):
            left_above = n + statistic * scale / np.sqrt(most * (1 - most) / m) < -TIE * n
            left_below = n - statistic * scale / np.sqrt(least * (1 - least) / m) < -TIE * n
        left_above = left_above & (most < 1) & (np.abs(upper_end) <= TIE)
        left_below = left_below & (least > 0) & (np.abs(lower_end) <= TIE)
        first = np.where(left_above, n + 1, first)
        number = np.where(left_below, 0, number)
    # the curve runs into a corner where both rates are 0, or 1; the statistic there is 0 by definition
    both_zero = (null == 0) if contrast == "difference" else np.ones_like(null, dtype=bool)
    both_one = np.ones_like(null, dtype=bool)
    if contrast != "odds_ratio":
        both_one = null == (1 if contrast == "ratio" else 0)
    number = np.where(both_zero & (statistic > EQUAL) & (counts == 0), 0, number)
    first = np.where(both_one & (statistic < -EQUAL) & (counts == m), n + 1, first)
    return (np.clip(first, 0, n + 1).astype(np.int64), np.clip(number, 0, n + 1).astype(np.int64))


def _wilson_angle(
    counts: Floats, m: int, n: int, null: Floats, statistic: Floats, least: Floats, width: Floats,
    contrast: Contrast,
) -> Floats:  # fmt: skip
    """Where the search begins: Wilson's limit of the smaller group's rate, as if the larger one's were known.

    The variance of the larger one's rate makes c less by √(1 + m κ² V_q/(M V_p)), about √(1 + m/M).
    """
    share = counts / m
    edge = 1e-4 / m
    ratio = m / n
    for _ in range(3):
        c = statistic / np.sqrt(1.0 + ratio)
        square = c * c
        root = np.sqrt(np.maximum(share * (1 - share) / m + square / (4 * m * m), 0.0))
        with np.errstate(invalid="ignore", over="ignore"):  # of a statistic without limits the curve's ends decide
            rate = (share + square / (2 * m) - c * root) / (1 + square / m)
        place = np.minimum(np.maximum((rate - least) / width, edge), 1.0 - edge)
        if contrast == "odds_ratio":
            break
        p = least + width * place
        q = larger_rate(contrast, p, null)
        scale = null if contrast == "ratio" else 1.0
        with np.errstate(divide="ignore", invalid="ignore"):  # no variance is left at the very end
            ratio = np.fmin(scale * scale * m * q * (1 - q) / (n * p * (1 - p)), 100.0)
    return np.asarray(np.arcsin(np.sqrt(place)))


def _curve(
    contrast: Contrast, angle: Floats, counts: Floats | float, m: int, n: int, null: Floats, statistic: Floats,
    least: Floats, width: Floats,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """i(p̃) − i, its derivative by the angle, and j(p̃), at p̃ = least + width·sin² angle."""
    sine = np.sin(angle)
    p = least + width * (sine * sine)
    q = np.minimum(np.maximum(larger_rate(contrast, p, null), 0.0), 1.0)
    p = np.minimum(p, 1.0)
    of_p = np.maximum(p * (1 - p), _TINY)
    of_q = np.maximum(q * (1 - q), _TINY)
    if contrast == "odds_ratio":
        spread = 1 / (m * of_p) + 1 / (n * of_q)
        shift = statistic / np.sqrt(spread)
        growth = (1 - 2 * p) / (m * of_p) + (1 - 2 * q) / (n * of_q)
        slope = m + shift / (2 * spread) * growth / of_p
        other = shift
    else:
        scale = null if contrast == "ratio" else 1.0
        spread = of_p / m + scale * scale * of_q / n
        root = np.sqrt(spread)
        shift = statistic * of_p / root
        growth = (1 - 2 * p) / m + scale * (1 - 2 * q) / n
        slope = m + statistic / root * ((1 - 2 * p) - of_p * growth / (2 * spread))
        other = statistic * scale * of_q / root
    turn = width * 2 * sine * np.cos(angle)
    with np.errstate(invalid="ignore"):  # at an end of a range of rates that begins within rounding of 0
        slope_of_angle = slope * turn
    return m * p + shift - counts, slope_of_angle, n * q - other
