"""Algorithm 1 of many curves at once: the stretch of each over which it varies least.

With prefix sums of MADD and MADD², the sum of squares of a stretch (i, j) about its mean is

    S(i, j) = Σ MADD² − (Σ MADD)²/n,      n = j − i + 1,      Var(i, j) = S(i, j)/n.

S does not fall where a stretch is extended. So once (i, j₀) is known, and v is the least variance
so far, no j with j − i + 1 < S(i, j₀)/v can be better: the search jumps over these, and leaves i
where they reach the end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats

#: Variances this close to the least, relative to the curve's, are computed again, at most so many.
_NEARLY_LEAST = 1e-10
_MOST_EXACT = 1_000
#: MADD values that differ by less are equal.
_EQUAL_WITHIN = 1e-12
#: Curves whose stretches are looked at together: arrays of some 2 MB.
CURVES_AT_ONCE = 256


def first_ends(bandwidth: Floats, min_points: int, length: float | Floats) -> NDArray[np.int64]:
    """First right index of the stretches from each bandwidth (rightBoundIndex, lines 21–28), L
    where none starts: shape (L,), or (B, L) for B curves with a least `length` each, (B, 1).
    """
    n_bandwidths = bandwidth.size
    right_ends = np.searchsorted(bandwidth, bandwidth + length, side="right") - 1
    first_right_ends = np.minimum(
        np.maximum(right_ends, np.arange(n_bandwidths) + min_points), n_bandwidths
    )
    return np.where(bandwidth > bandwidth[-1] - length, n_bandwidths, first_right_ends)


def least_varying(madd: Floats, first: NDArray[np.int64]) -> tuple[int, int]:
    """Indexes (i, j) of the least varying stretch of a curve, the first of equals (lines 18–37).

    Each j is at least first[i].
    """
    left_ends, right_ends = least_varying_of_all(madd[None], first)
    return int(left_ends[0]), int(right_ends[0])


def least_varying_of_all(
    curves: Floats, first: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same of every curve, (B, L) → (B,) each; `first`, shape (L,) or (B, L)."""
    n_curves = len(curves)
    first = np.broadcast_to(first, curves.shape)
    left_ends = np.zeros(n_curves, dtype=np.int64)
    right_ends = np.zeros(n_curves, dtype=np.int64)
    for block_start in range(0, n_curves, CURVES_AT_ONCE):
        block = slice(block_start, block_start + CURVES_AT_ONCE)
        left_ends[block], right_ends[block] = _least_varying_of_block(curves[block], first[block])
    return left_ends, right_ends


def _least_varying_of_block(
    curves: Floats, first: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    n_curves, n_bandwidths = curves.shape
    starts = first < n_bandwidths
    first_right = np.minimum(first, n_bandwidths - 1)
    changes = np.zeros((n_curves, n_bandwidths), dtype=np.int32)
    moves = np.abs(np.diff(curves, axis=1)) > _EQUAL_WITHIN
    np.cumsum(moves, axis=1, out=changes[:, 1:], dtype=np.int32)
    constant = starts & (changes == np.take_along_axis(changes, first_right, axis=1))
    left_ends = constant.argmax(axis=1)
    right_ends = first_right[np.arange(n_curves), left_ends]
    varying = np.flatnonzero(~constant.any(axis=1))
    if not varying.size:
        return left_ends, right_ends
    candidates = _nearly_least(curves[varying], first_right[varying], starts[varying])
    cuts = np.searchsorted(candidates.curve, np.arange(varying.size + 1)).tolist()
    for position, curve_number in enumerate(varying.tolist()):
        chosen = slice(cuts[position], cuts[position + 1])
        left_ends[curve_number], right_ends[curve_number] = _least_exactly(
            curves[curve_number],
            candidates.left[chosen],
            candidates.right[chosen],
            candidates.variance[chosen],
        )
    return left_ends, right_ends


class _Stretches:
    """Stretches of several curves, one entry each; `least`, shape (curves,): least variances."""

    def __init__(
        self,
        curve: NDArray[np.int64],
        left: NDArray[np.int64],
        right: NDArray[np.int64],
        variance: Floats,
    ) -> None:
        self.curve = curve
        self.left = left
        self.right = right
        self.variance = variance

    def _take(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> _Stretches:
        return _Stretches(
            self.curve[chosen], self.left[chosen], self.right[chosen], self.variance[chosen]
        )


def _nearly_least(
    curves: Floats, first_right: NDArray[np.int64], starts: NDArray[np.bool_]
) -> _Stretches:
    """Stretches whose variance is the least of their curve, to rounding, by curve and ends.

    `first_right`, shape (B, L): first right end of each left one, where `starts` says that it has
    any.
    """
    n_curves, n_bandwidths = curves.shape
    centred = curves - np.median(curves, axis=1, keepdims=True)
    sums = np.zeros((n_curves, n_bandwidths + 1))
    squares = np.zeros((n_curves, n_bandwidths + 1))
    np.cumsum(centred, axis=1, out=sums[:, 1:])
    centred *= centred
    np.cumsum(centred, axis=1, out=squares[:, 1:])
    tolerance = _NEARLY_LEAST * np.mean(centred, axis=1)
    left_numbers = np.arange(n_bandwidths)
    sizes = first_right + 1 - left_numbers
    after = first_right + 1
    sum_of_stretch = np.take_along_axis(sums, after, axis=1) - sums[:, :-1]
    of_squares = np.take_along_axis(squares, after, axis=1) - squares[:, :-1]
    of_squares -= sum_of_stretch**2 / sizes
    least = np.maximum(np.where(starts, of_squares / sizes, np.inf).min(axis=1), 0.0)
    within = of_squares <= (least + 2 * tolerance)[:, None] * (n_bandwidths - left_numbers)
    curve, left = np.nonzero(within & starts)
    right = first_right[curve, left]
    sums = sums.ravel()
    squares = squares.ravel()
    visited = []
    while curve.size:
        row_start = curve * (n_bandwidths + 1)
        size = right + 1 - left
        sum_of_stretch = sums.take(row_start + right + 1) - sums.take(row_start + left)
        variation = squares.take(row_start + right + 1) - squares.take(row_start + left)
        variation -= sum_of_stretch**2 / size
        variance = variation / size
        np.minimum.at(least, curve, np.maximum(variance, 0.0))
        limit = (least + 2 * tolerance)[curve]
        near = variance <= limit
        visited.append(_Stretches(curve[near], left[near], right[near], variance[near]))
        # at least one further, and as far as the sum of squares demands
        wanted = np.maximum(size + 1, np.floor(variation / limit).astype(np.int64))
        reachable = (left + wanted <= n_bandwidths) & (variation <= limit * (n_bandwidths - left))
        curve = curve[reachable]
        left = left[reachable]
        right = (left + wanted[reachable]) - 1
    found = _Stretches(
        np.concatenate([part.curve for part in visited]),
        np.concatenate([part.left for part in visited]),
        np.concatenate([part.right for part in visited]),
        np.concatenate([part.variance for part in visited]),
    )
    found = found._take(found.variance <= (least + tolerance)[found.curve])
    return found._take(np.lexsort((found.right, found.left, found.curve)))


def _least_exactly(
    madd: Floats,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    variances: Floats,
) -> tuple[int, int]:
    """Of stretches that differ by rounding, in their order, the first with the least standard
    deviation.
    """
    if left.size == 1:
        return int(left[0]), int(right[0])
    chosen = np.sort(np.argsort(variances, kind="stable")[:_MOST_EXACT])
    deviations = []
    for left_end, right_end in zip(left[chosen].tolist(), right[chosen].tolist(), strict=True):
        deviations.append(population_std(madd[left_end : right_end + 1]))
    best = chosen[int(np.argmin(deviations))]
    return int(left[best]), int(right[best])


def population_std(values: Floats) -> float:
    """Population standard deviation; exactly 0 of equal values."""
    return float(np.std(values - values[0]))


def mean_of_stretch(madd: Floats, left: int, right: int) -> float:
    """Mean over a stretch, both ends included."""
    values = madd[left : right + 1]
    return float(values[0] + np.mean(values - values[0]))
