"""Which tables the score statistic calls as extreme as a value.

The boundary of a one-sided rejection region.

A table (i of m, j of M) with the constrained maximum likelihood rates p̃ and q̃ has the score
statistic c exactly where

    i = m p̃ + c κ_p V_p / S,      j = M q̃ − c κ_q V_q / S,      V_p = p̃(1 − p̃),  V_q = q̃(1 − q̃),

with, for a ratio θ, p̃ = θ q̃, κ = (1, θ), S² = V_p/m + θ² V_q/M; for a difference δ, p̃ = q̃ + δ,
κ = (1, 1), S² = V_p/m + V_q/M; for an odds ratio ψ, logit p̃ = logit q̃ + log ψ, κ V = 1, S² = 1/(m
V_p) + 1/(M V_q). (Both equations are the score equation and the definition of the statistic, solved
for the counts.) So the boundary is a curve in the one unknown p̃, and the count of the larger group
that belongs to each count of the smaller one needs one root instead of a search over tables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.numerics.rates.binomial import STENCIL, interpolation
from fairstats.numerics.rates.score import Contrast

#: A count this near to the boundary lies on it: equal statistics differ in their last digits.
TIE = 1e-6
#: A statistic this near to 0 is 0.
EQUAL = 1e-9
_MOST_STEPS = 80
#: Angles of the curve's parameter: the first after the start, and a step after which Newton's error
#: is rounding.
_NEAR = 1e-6
_SMALL_STEP = 1e-9
#: What is left of a count, or of the way to the next whole one, where Newton's method may stop.
_NO_COUNT = 1e-8
_SAFE = 0.02
#: Steps from which on its errors are squared.
_QUADRATIC = 0.02
_END_ANGLES = np.array([[0.0, _NEAR, np.pi / 2 - _NEAR, np.pi / 2]])
_TINY = 1e-300
#: Counts in one call that are solved one by one.
_FEW = 4_000
#: Counts between those that others are interpolated from; how many of these steps from the ends of
#: the curve, and how many counts from a whole number, that is safe. Nodes are right to `_NODE_DOUBT`.
_STEP = 8
_FAR = 8
_DOUBT = 2e-3
_NODE_DOUBT = 1e-5


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


def _as_wide(size: int | NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """One number or an array with this shape.

    To broadcast costs more than it looks: mostly there is nothing to do.
    """
    if isinstance(size, np.ndarray) and size.shape == shape:
        return size
    return np.broadcast_to(size, shape)


def boundary(
    contrast: Contrast,
    counts: NDArray[np.int64],
    sizes: tuple[int | NDArray[np.int64], int | NDArray[np.int64]],
    null: Floats,
    statistic: Floats,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First count of the larger group with a statistic ≤ c, and the number of counts with a
    statistic ≥ c.

    Parameters
    ----------
    counts : ndarray, shape (R, I)
        Counts of the smaller group.
    sizes : tuple of int or of ndarray, shape (R, 1)
        Cases of the smaller and the larger group.
    null, statistic : ndarray, shape (R, 1)
        Value of the contrast, and c.

    Returns
    -------
    first, number : ndarray of int, shape (R, I)
        Counts j ≥ first have z ≤ c (first = M + 1: none has), counts j < number have z ≥ c.
    """
    m, n = (_as_wide(size, null.shape) for size in sizes)
    least, most = rate_range(contrast, null)
    width = most - least

    curve = _Curve(contrast, counts, m, n, null, statistic, least, width)
    # counts beyond the ends of the curve, or at one that it reaches only there
    from_zero = replace(curve, counts=np.zeros_like(m))
    ends, _, larger_at_ends, _ = from_zero.evaluate(_END_ANGLES)
    lower_end = ends[:, :1] - counts
    upper_end = ends[:, 3:] - counts
    at_start = counts < ends[:, 1:2]
    at_stop = counts > ends[:, 2:3]
    larger = np.where(at_stop, larger_at_ends[:, 3:], larger_at_ends[:, :1])
    searched = ~(at_start | at_stop)
    if counts.size > _FEW:
        searched = _interpolate(curve, larger, searched)
    left = searched.nonzero()
    larger[left] = curve.of_counts(*left).larger_counts()
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
    # the curve runs into a corner where both rates are 0, or 1; the statistic there is 0 by
    # definition
    if contrast == "difference":
        both_zero = null == 0
    else:
        both_zero = np.ones_like(null, dtype=bool)
    both_one = np.ones_like(null, dtype=bool)
    if contrast != "odds_ratio":
        both_one = null == (1 if contrast == "ratio" else 0)
    number = np.where(both_zero & (statistic > EQUAL) & (counts == 0), 0, number)
    first = np.where(both_one & (statistic < -EQUAL) & (counts == m), n + 1, first)
    first = np.minimum(np.maximum(first, 0), n + 1)
    number = np.minimum(np.maximum(number, 0), n + 1)
    return first.astype(np.int64), number.astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Curve:
    """Boundaries of rejection regions, and counts i of which j is asked.

    All arrays have the same shape, or `counts` have shape (R, I) and the others (R, 1): one curve a
    row. `least` and `width`: the range of the smaller group's rate under the null hypothesis.
    """

    contrast: Contrast
    counts: NDArray[np.int64]
    m: NDArray[np.int64]
    n: NDArray[np.int64]
    null: Floats
    statistic: Floats
    least: Floats
    width: Floats

    def of_counts(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> _Curve:
        """The curves of counts at places of an array of shape (R, I); arrays of shape (K,)."""
        return _Curve(
            contrast=self.contrast,
            counts=self.counts[rows, columns],
            m=self.m[rows, 0],
            n=self.n[rows, 0],
            null=self.null[rows, 0],
            statistic=self.statistic[rows, 0],
            least=self.least[rows, 0],
            width=self.width[rows, 0],
        )

    def at(self, places: NDArray[np.int64]) -> _Curve:
        """Those at places of arrays of shape (K,)."""
        return _Curve(
            contrast=self.contrast,
            counts=self.counts[places],
            m=self.m[places],
            n=self.n[places],
            null=self.null[places],
            statistic=self.statistic[places],
            least=self.least[places],
            width=self.width[places],
        )

    def larger_counts(self, *, most_doubt: float = np.inf) -> Floats:
        """Counts j where the curves have i, by Newton's method within a bracket; shape (K,).

        After steps s₁ and s₂ the error of the next place is about (s₂/s₁²)·s₂². It has settled
        where that cannot carry j past a whole number; j follows the curve's tangent for the last
        step. Places that have not settled go on alone.
        """
        curve = self
        angle = self.angle_of_wilson()
        result = np.empty(angle.shape)
        places = np.arange(angle.size)
        low = np.full(angle.shape, _NEAR)
        high = np.full(angle.shape, np.pi / 2 - _NEAR)
        earlier = np.full(angle.shape, np.inf)
        for _ in range(_MOST_STEPS):
            excess, slope, larger, larger_slope = curve.evaluate(angle)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                step = -excess / slope
                newton = angle + step
                larger_after_step = larger + larger_slope * step
                step = np.abs(step)
                doubt = curve.n * step**3 / (earlier * earlier)
                settled = (
                    (earlier < _QUADRATIC)
                    & (
                        doubt
                        <= np.maximum(
                            _SAFE * np.abs(larger_after_step - np.rint(larger_after_step)),
                            _NO_COUNT,
                        )
                    )
                    & (doubt <= most_doubt)
                )
            is_above = excess > 0
            high = np.where(is_above, angle, high)
            low = np.where(is_above, low, angle)
            is_inside = (newton >= low) & (newton <= high)
            settled &= is_inside
            is_rounding = step <= _SMALL_STEP
            result[places] = np.where(is_inside, larger_after_step, larger)
            unsettled = (~(settled | is_rounding)).nonzero()[0]
            if not unsettled.size:
                break
            angle = np.where(is_inside, newton, (low + high) / 2)[unsettled]
            earlier = np.where(is_inside, step, np.inf)[unsettled]
            places = places[unsettled]
            low = low[unsettled]
            high = high[unsettled]
            curve = curve.at(unsettled)
        return result

    def angle_of_wilson(self) -> Floats:
        """Where the search begins: Wilson's limit of the smaller group's rate, as if the larger
        one's were known.

        The variance of the larger one's rate makes c less by √(1 + m κ² V_q/(M V_p)), about
        √(1 + m/M).
        """
        m = self.m
        n = self.n
        null = self.null
        least = self.least
        width = self.width
        share = self.counts / m
        least_share = 1e-4 / m
        ratio = m / n
        for _ in range(2):
            c = self.statistic / np.sqrt(1.0 + ratio)
            square = c * c
            root = np.sqrt(np.maximum(share * (1 - share) / m + square / (4 * m * m), 0.0))
            # of a statistic without limits the curve's ends decide
            with np.errstate(invalid="ignore", over="ignore"):
                rate = (share + square / (2 * m) - c * root) / (1 + square / m)
            share_of_range = np.minimum(
                np.maximum((rate - least) / width, least_share), 1.0 - least_share
            )
            if self.contrast == "odds_ratio":
                break
            p = least + width * share_of_range
            q = larger_rate(self.contrast, p, null)
            scale = null if self.contrast == "ratio" else 1.0
            # no variance is left at the very end
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.fmin(scale * scale * m * q * (1 - q) / (n * p * (1 - p)), 100.0)
        return np.asarray(np.arcsin(np.sqrt(share_of_range)))

    def evaluate(self, angle: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """i(p̃) − i, its derivative by the angle, j(p̃) and its derivative, at p̃ = least + width·sin²
        angle.
        """
        m = self.m
        n = self.n
        null = self.null
        sine_of_angle = np.sin(angle)
        p = np.minimum(self.least + self.width * (sine_of_angle * sine_of_angle), 1.0)
        q = np.minimum(np.maximum(larger_rate(self.contrast, p, null), 0.0), 1.0)
        of_p = np.maximum(p * (1 - p), _TINY)
        of_q = np.maximum(q * (1 - q), _TINY)
        rate_slope = self.width * np.sin(2 * angle)
        if self.contrast == "odds_ratio":
            spread = 1 / (m * of_p) + 1 / (n * of_q)
            shift = self.statistic / np.sqrt(spread)
            growth = (1 - 2 * p) / (m * of_p) + (1 - 2 * q) / (n * of_q)
            shift_slope = shift / (2 * spread) * growth / of_p
            shift_larger = shift
            slope = m + shift_slope
            slope_larger = n * of_q / of_p - shift_slope
        else:
            scale = null if self.contrast == "ratio" else 1.0
            spread = of_p / m + scale * scale * of_q / n
            by_root = self.statistic / np.sqrt(spread)
            growth = ((1 - 2 * p) / m + scale * (1 - 2 * q) / n) / (2 * spread)
            shift = by_root * of_p
            shift_larger = by_root * scale * of_q
            slope = m + by_root * ((1 - 2 * p) - of_p * growth)
            slope_larger = n / scale - by_root * ((1 - 2 * q) - scale * of_q * growth)
        # at an end of a range of rates that begins within rounding of 0
        with np.errstate(invalid="ignore"):
            return (
                m * p + shift - self.counts,
                slope * rate_slope,
                n * q - shift_larger,
                slope_larger * rate_slope,
            )


def _interpolate(curve: _Curve, larger: Floats, searched: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Write j of counts far from the ends of the curve, from every eighth count; which are left.

    There j is so smooth in i that the polynomial through six of them is right to less than a
    thousandth of a step (of one count of the smaller group). Where a whole number is nearer than
    `_DOUBT` steps the count is left to be solved.
    """
    consecutive = curve.counts[:, :-1]
    nodes = -(-consecutive.shape[1] // _STEP)
    if nodes < 4 * STENCIL:
        return searched
    of_nodes = replace(curve, counts=consecutive[:, ::_STEP])
    known = searched[:, :-1:_STEP]
    at_nodes = np.zeros(known.shape)
    places_known = known.nonzero()
    at_nodes[places_known] = of_nodes.of_counts(*places_known).larger_counts(most_doubt=_NODE_DOUBT)
    places = np.arange(consecutive.shape[1]) / _STEP
    matrix = interpolation(nodes, places)
    found = at_nodes @ matrix
    far = _FAR * _STEP
    inside = (consecutive > curve.m * curve.least + far) & (
        consecutive < curve.m * (curve.least + curve.width) - far
    )
    # all nodes of the stencil are on the curve
    inside &= (known.astype(np.float64) @ (matrix != 0)) == (matrix != 0).sum(axis=0)
    steps = np.maximum(curve.n / curve.m, 1.0)
    inside &= np.abs(found - np.rint(found)) > _DOUBT * steps
    rows, columns = inside.nonzero()
    larger[rows, columns] = found[rows, columns]
    left = searched.copy()
    left[rows, columns] = False
    return left
