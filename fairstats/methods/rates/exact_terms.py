"""Exact tests of the differences under a largest gap, asked only where their answer can matter.

Of 200 groups whose rates differ there are 19,900 differences, most of them far beyond a decision,
and an exact test of each costs as much as of one that is near. The largest gap needs the smallest
of their p-values, the largest, and the farthest of their limits. So each is bounded first
(`numerics.rates.exact.least_pvalues`), and a difference whose bound already exceeds the smallest
p-value so far, or the error of a limit, is left alone. Limits of single differences are computed
when a reader asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.verdict import bound_level
from fairstats.methods.rates.decision import ExactPair
from fairstats.numerics.rates.exact import (
    AT_ONCE,
    Asked,
    least_pvalues,
    prepare,
    two_sided_limits,
)

#: Differences that are computed together at first; then twice as many each time.
_FIRST_AT_ONCE = 4
#: An exact limit is no farther from the estimate than so many times the score's interval is wide:
#: enumerated, at most 1.4 times beside groups of 3 to 5,000 (tests).
_REACH = 2.0
#: Groups of fewer cases are left out of that, and always asked.
_FEWEST = 5


class ExactTerms:
    """Exact tests of some of many differences, numbered from 0 to E − 1.

    Attributes
    ----------
    places : ndarray of int, shape (E,)
        Which of all differences they are.
    error_of_each : float
        Of each of their limits, so that all hold at once.
    """

    def __init__(
        self,
        pairs: Mapping[int, ExactPair],
        margin: float,
        error_of_each: float,
    ) -> None:
        self.places: NDArray[np.intp] = np.array(sorted(pairs), dtype=np.intp)
        self._pairs = [pairs[place] for place in self.places.tolist()]
        self._margin = margin
        self._fair_range = (-margin, margin)
        self.error_of_each = error_of_each
        self._level_of_each = 1 - error_of_each
        tables = [pair.table for pair in self._pairs]
        self._tables = np.array(tables, dtype=np.float64).reshape(-1, 4)
        k, n, k0, n0 = self._tables.T
        self._upwards = k * n0 >= k0 * n
        self._estimates = k / n - k0 / n0

    def __len__(self) -> int:
        """Number of differences."""
        return len(self._pairs)

    # ------------------------------------------------------------------------------ p-values

    def smallest_of_equality(self, smallest: float) -> float:
        """The smallest p-value of equal rates, or `smallest` if none is smaller."""
        least = self._least_of_equality()
        for block in _blocks(least):
            if least[block[0]] >= smallest:
                break
            self._prepare(block, [(0.0, "two-sided")])
            for number in block:
                smallest = min(smallest, self._equality(number))
        return smallest

    def smallest_outside(self, smallest: float) -> float:
        """The smallest p-value of a difference within ±margin, or `smallest` if none is smaller."""
        least = self._least_outside()
        for block in _blocks(least):
            if least[block[0]] >= smallest:
                break
            self._prepare(block, self._asked_of_range())
            for number in block:
                smallest = min(smallest, self._outside(number))
        return smallest

    def largest_inside(self, largest: float, likely: Floats) -> float:
        """The largest p-value of a difference beyond ±margin, or `largest` if none is larger.

        `likely`, shape (E,): about what they are.
        """
        for block in _blocks(-likely):
            if largest >= 1:
                break
            self._prepare(block, self._asked_of_range())
            for number in block:
                largest = max(largest, self._inside(number))
        return largest

    def _asked_of_range(self) -> list[tuple[float, str]]:
        """What evidence of being outside and inside the fair range rests on."""
        asked = [(0.0, "two-sided")]
        for end in self._fair_range:
            asked += [(end, "less"), (end, "greater")]
        return asked

    def _prepare(self, block: Sequence[int], pvalues: Sequence[tuple[float, str]]) -> None:
        asked = []
        for number in block:
            table = self._pairs[number].table
            asked.append(Asked(table=table, contrast="difference", pvalues=tuple(pvalues)))
        prepare(asked)

    def _equality(self, number: int) -> float:
        return self._pairs[number].equality()

    def _outside(self, number: int) -> float:
        """A difference beyond the margin is one."""
        shown = self._pairs[number].evidence("difference", self._fair_range)
        return max(min(shown.below, shown.above), self._equality(number))

    def _inside(self, number: int) -> float:
        return self._pairs[number].evidence("difference", self._fair_range).inside

    def _least_of_equality(self) -> Floats:
        """What each p-value of equality is at least."""
        return least_pvalues(self._tables, 0.0, upwards=self._upwards)

    def _least_outside(self) -> Floats:
        """What each p-value of a difference within ±margin is at least."""
        everywhere = np.ones(len(self), dtype=bool)
        below = least_pvalues(self._tables, -self._margin, upwards=~everywhere)
        above = least_pvalues(self._tables, self._margin, upwards=everywhere)
        return np.maximum(np.minimum(below, above), self._least_of_equality())

    # ------------------------------------------------------------------------------ limits

    def tables_of(self, numbers: NDArray[np.intp]) -> NDArray[np.int64]:
        """Successes and cases of the group and of its reference, of some differences; shape
        (F, 4).
        """
        return self._tables[numbers].astype(np.int64)

    def limits(self, numbers: Sequence[int]) -> list[tuple[float, float]]:
        """Limits of several differences, which hold at once with those of all others."""
        limits = []
        for start in range(0, len(numbers), AT_ONCE):
            block = numbers[start : start + AT_ONCE]
            asked = []
            for number in block:
                pair = self._pairs[number]
                asked.append(
                    Asked(
                        table=pair.table,
                        contrast="difference",
                        limits=two_sided_limits(self._level_of_each, 0.0),
                    )
                )
            prepare(asked)
            for number in block:
                limits.append(self._limits_of(number))
        return limits

    def _limits_of(self, number: int) -> tuple[float, float]:
        return self._pairs[number].interval("difference", self._level_of_each)

    def range_of_largest(
        self, limits: tuple[Floats, Floats], nearest: float, farthest: float
    ) -> tuple[float, float]:
        """Lower limit of the largest size, and upper limit, from those of every difference.

        `limits`: of these by the score; `nearest`, `farthest`: of the largest of all others.
        """
        near_ends = np.maximum(limits[0], -limits[1])
        kept = self._keep_at_near_end(nearest)
        for number in np.argsort(-near_ends, kind="stable").tolist():
            if kept[number]:
                continue
            low, high = self._limits_of(number)
            if max(low, -high) > nearest:
                nearest = max(low, -high)
                kept = self._keep_at_near_end(nearest)
        reaches = self._reaches(limits)
        for block in _blocks(-reaches):
            if reaches[block[0]] < farthest or farthest >= 1:
                break
            self._prepare(block, [(farthest, "two-sided"), (-farthest, "two-sided")])
            for number in block:
                pair = self._pairs[number]
                pvalue_above = pair.pvalue("difference", farthest, "two-sided")
                pvalue_below = pair.pvalue("difference", -farthest, "two-sided")
                is_kept = max(pvalue_above, pvalue_below) >= self.error_of_each
                if is_kept or abs(self._estimates[number]) >= farthest:
                    low, high = self._limits_of(number)
                    farthest = max(farthest, abs(low), abs(high))
        return nearest, farthest

    def lower_limit_of_largest(self, limits: tuple[Floats, Floats], largest: float) -> float:
        """Lower one-sided limit of the largest size, at the error of each difference.

        `limits`: by the score; `largest`: lower limit of all other differences. A limit does not
        exceed the margin where the test of equality keeps 0, and exceeds it where the difference is
        shown to.
        """
        near_ends = np.maximum(limits[0], -limits[1])
        error = self.error_of_each
        least_outside = self._least_outside()
        kept = self._keep_beyond(largest)
        for number in np.argsort(-near_ends, kind="stable").tolist():
            may_be_shown = largest <= self._margin and least_outside[number] <= error
            if kept[number] and not may_be_shown:
                continue
            pair = self._pairs[number]
            level = bound_level(pair.width("difference", self._fair_range), 1 - error)
            pvalue_above = pair.pvalue("difference", largest, "greater")
            pvalue_below = pair.pvalue("difference", -largest, "less")
            is_shown = may_be_shown and self._outside(number) <= error
            if min(pvalue_above, pvalue_below) >= 1 - level and not is_shown:
                continue
            lower_limit, upper_limit = pair.limits("difference", level, self._fair_range)
            near_end = max(lower_limit, -upper_limit)
            if self._equality(number) > error:
                near_end = min(near_end, self._margin)
            if near_end > largest:
                largest = near_end
                kept = self._keep_beyond(largest)
        return min(largest, 1.0)

    def upper_limit_of_largest(
        self, limits: tuple[Floats, Floats], largest: float, error: float
    ) -> float:
        """Upper one-sided limit of the largest size, at the error of a single difference.

        As `lower_limit_of_largest`.
        """
        reaches = self._reaches(limits)
        for block in _blocks(-reaches):
            if largest >= 1 or (reaches[block[0]] < largest and largest >= self._margin):
                break
            self._prepare(block, [(largest, "less"), (-largest, "greater")])
            for number in block:
                pair = self._pairs[number]
                level = bound_level(pair.width("difference", self._fair_range), 1 - error)
                pvalue_below = pair.pvalue("difference", largest, "less")
                pvalue_above = pair.pvalue("difference", -largest, "greater")
                if max(pvalue_above, pvalue_below) >= 1 - level or (
                    largest < self._margin and self._inside(number) > error
                ):
                    lower_limit, upper_limit = pair.limits("difference", level, self._fair_range)
                    largest = max(largest, abs(lower_limit), abs(upper_limit))
        return min(largest, 1.0)

    def _reaches(self, limits: tuple[Floats, Floats]) -> Floats:
        """Sizes that no exact limit exceeds, from those of the score."""
        low, high = limits
        reaches = np.abs(self._estimates) + _REACH * (high - low)
        few = np.minimum(self._tables[:, 1], self._tables[:, 3]) < _FEWEST
        return np.where(few, np.inf, reaches)

    def _keep_beyond(self, size: float) -> NDArray[np.bool_]:
        """Whether one-sided tests surely keep a difference of this size, on either side."""
        everywhere = np.ones(len(self), dtype=bool)
        above = least_pvalues(self._tables, size, upwards=everywhere)
        below = least_pvalues(self._tables, -size, upwards=~everywhere)
        return np.minimum(above, below) >= self.error_of_each

    def _keep_at_near_end(self, size: float) -> NDArray[np.bool_]:
        """Whether the near end of a two-sided interval surely lies within this size: the estimate
        does, or the test keeps a difference of this size and of the estimate's sign.
        """
        null = np.where(self._upwards, size, -size)
        least = least_pvalues(self._tables, null, upwards=self._upwards)
        return (np.abs(self._estimates) <= size) | (least >= self.error_of_each)


def _blocks(order: Floats) -> Iterator[list[int]]:
    """Numbers in rising order of a value, a few at first and ever more of them."""
    numbers = np.argsort(order, kind="stable").tolist()
    start = 0
    size = _FIRST_AT_ONCE
    while start < len(numbers):
        yield numbers[start : start + size]
        start += size
        size = min(2 * size, AT_ONCE)
