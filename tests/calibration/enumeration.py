"""Two binomials enumerated as the public functions decide.

By exact tests where switched on, else by the score.

Which tables of a design a test rejects is found by halves: along the tables ordered by the
statistic that orders the exact test's own tables, its p-value rises, so that a run between two
tables that are both rejected, or both kept, is settled by them. Each exact p-value is over the
nuisance rates that its own table allows, so that near the edge it may fall by a hair where it
should rise: the `NEAR` tables on either side of an edge are asked one by one. Runs of less than
`RARE` of the probability count as rejected, which can only make an error larger.
`tests/methods/rates/test_calibration.py` holds the regions against the public functions, table by
table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from fairstats.ground.verdict import fair_range
from fairstats.methods.rates.decision import both_directions
from fairstats.numerics.rates.exact import ExactEvidence, exact_pvalue
from fairstats.numerics.rates.score import (
    Contrast,
    difference_score_statistic,
    ratio_score_statistic,
)
from fairstats.numerics.rates.switch import needs_exact

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
#: Probability of the tables that are left out, and of a run of tables that no p-value is computed
#: for.
LEFT_OUT = 1e-8
RARE = 1e-7
#: Tables on either side of an edge that are asked one by one.
NEAR = 16


def likely(n: int, rate: float) -> NDArray[np.int64]:
    """Counts of n but those that have, together, less than `LEFT_OUT` of the probability."""
    low, high = binom.ppf([LEFT_OUT / 2, 1 - LEFT_OUT / 2], n, rate)
    return np.arange(int(max(low, 0)), int(high) + 1)


@dataclass(frozen=True)
class Design:
    """A group of n cases at `rate` beside a reference of n₀ at `rate0`, decided at `error` (.05/G
    in a family of G).

    Arrays have shape (counts of the group, counts of the reference).
    """

    n: int
    rate: float
    n0: int
    rate0: float
    contrast: Contrast
    error: float = 0.05

    @cached_property
    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Likely counts of both."""
        return likely(self.n, self.rate), likely(self.n0, self.rate0)

    @cached_property
    def grid(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Counts of every table."""
        k, k0 = np.meshgrid(*self.counts, indexing="ij")
        return k, k0

    @cached_property
    def of_group(self) -> Floats:
        """Probability of each count of the group."""
        return np.asarray(binom.pmf(self.counts[0], self.n, self.rate))

    @cached_property
    def of_reference(self) -> Floats:
        """Probability of each count of the reference."""
        return np.asarray(binom.pmf(self.counts[1], self.n0, self.rate0))

    @property
    def truth(self) -> float:
        """Ratio or difference of the rates."""
        value = self.rate / self.rate0 if self.contrast == "ratio" else self.rate - self.rate0
        return round(value, 12)

    @cached_property
    def exact(self) -> Flags:
        """Tables that are judged by exact tests."""
        k, k0 = self.grid
        pooled = (k + k0) / (self.n + self.n0)
        expected = min(self.n, self.n0) * np.minimum(pooled, 1 - pooled)
        values, place = np.unique(expected, return_inverse=True)
        switched = np.array(
            [needs_exact(self.n, self.n0, float(value), self.error) for value in values]
        )
        return np.asarray(switched[place.reshape(expected.shape)])

    def statistic(self, null: float) -> Floats:
        """Score statistic of every table; 0 for 0/0, whose ratio can be anything."""
        function = ratio_score_statistic if self.contrast == "ratio" else difference_score_statistic
        return np.asarray(function(*self._columns(), null))

    def _columns(self) -> tuple[NDArray[np.int64], int, NDArray[np.int64], int]:
        k, k0 = self.grid
        return k, self.n, k0, self.n0

    def _exactly(self, order: Floats, pvalue: Callable[[int, int], float], error: float) -> Flags:
        """Tables judged exactly with a p-value of at most the error; it rises with `order`."""
        k, k0 = (counts[self.exact] for counts in self.grid)
        rejected = np.zeros(self.exact.shape, dtype=bool)
        rejected[self.exact] = by_halves(
            k, k0, order[self.exact], self._chance()[self.exact], pvalue, error
        )
        return rejected

    def _chance(self) -> Floats:
        return self.of_group[:, None] * self.of_reference[None]

    def shown(self, null: float, other: float, side: str) -> Flags:
        """Tables that show the contrast below ("less") or above ("greater") a null value, both
        directions counted.

        `other`: the opposite end of the fair range (`both_directions`).
        """
        z = self.statistic(null)
        z_other = self.statistic(other)
        sign = 1.0 if side == "less" else -1.0
        width = np.abs(z - z_other)
        by_score = ndtr(sign * z) + ndtr(sign * z - width) <= self.error
        least, least0 = (int(counts[0]) for counts in self.counts)

        def pvalue(k: int, k0: int) -> float:
            alone = exact_pvalue(
                k, self.n, k0, self.n0, contrast=self.contrast, null=null, alternative=side
            )
            evidence = both_directions(
                ExactEvidence(alone, alone, alone, alone, alone),
                float(width[k - least, k0 - least0]),
            )
            return evidence.below

        return np.where(self.exact, self._exactly(sign * z, pvalue, self.error), by_score)

    def excluded(self, null: float, error: float | None = None) -> Flags:
        """Tables whose two-sided test rejects a value.

        Their two-sided interval does not hold it.
        """
        most = self.error if error is None else error
        z = np.abs(self.statistic(null))

        def pvalue(k: int, k0: int) -> float:
            return exact_pvalue(
                k, self.n, k0, self.n0, contrast=self.contrast, null=null, alternative="two-sided"
            )

        return np.where(self.exact, self._exactly(-z, pvalue, most), z >= -ndtri(most / 2))

    def violated(self, size: float) -> Flags:
        """Tables that say "violated"."""
        low, high = fair_range(self.contrast, size)
        return self.shown(low, high, "less") | self.shown(high, low, "greater")

    def satisfied(self, size: float) -> Flags:
        """Tables that say "satisfied"."""
        low, high = fair_range(self.contrast, size)
        if not low < high:
            return np.zeros(self.exact.shape, dtype=bool)
        return self.shown(low, high, "greater") & self.shown(high, low, "less")

    def given_reference(self, tables: Flags) -> Floats:
        """Probability of these tables for each count of the reference."""
        return np.asarray(self.of_group @ tables)

    def probability(self, tables: Flags) -> float:
        """Probability of these tables."""
        return float(self.given_reference(tables) @ self.of_reference)


def by_halves(
    k: NDArray[np.int64],
    k0: NDArray[np.int64],
    order: Floats,
    chance: Floats,
    pvalue: Callable[[int, int], float],
    error: float,
) -> Flags:
    """Whether the p-value of each table is at most the error.

    It rises along the tables by `order`.
    """
    by = np.argsort(order, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(chance[by])])
    rejected = np.zeros(by.size, dtype=bool)
    known: dict[int, bool] = {}
    edge: dict[int, bool] = {}

    def rejects(at: int) -> bool:
        if at not in known:
            known[at] = pvalue(int(k[by[at]]), int(k0[by[at]])) <= error
        return known[at]

    runs = [(0, by.size - 1)] if by.size else []
    while runs:
        first, last = runs.pop()
        if rejects(first) == rejects(last):
            rejected[by[first : last + 1]] = rejects(first)
        elif last - first < 2 or before[last + 1] - before[first] < RARE:
            rejected[by[first : last + 1]] = True
            near = {
                *range(max(first - NEAR, 0), first + 1),
                *range(last, min(last + NEAR, by.size - 1) + 1),
            }
            edge.update((at, rejects(at)) for at in near)
        else:
            middle = (first + last) // 2
            runs += [(first, middle), (middle, last)]
    for at, is_rejected in edge.items():
        rejected[by[at]] = is_rejected
    return rejected


def any_of(designs: Sequence[Design], tables: Callable[[Design], Flags]) -> float:
    """Probability that any group of a family is among its tables.

    The groups share the reference, whose count is given.

    At error/G each this is the family's error under Holm where every group is at the end of its
    range: he rejects something exactly where Bonferroni does."""
    none = np.ones_like(designs[0].of_reference)
    for design in designs:
        none *= 1 - design.given_reference(tables(design))
    return float((1 - none) @ designs[0].of_reference)
