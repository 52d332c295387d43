"""Any metric of rows and its standard error: bootstrap within bootstrap, jackknife, permutations.

A metric θ̂ is a function that takes positions of rows and returns a number, NaN where it has none.
Of B resamples θ̂*_b, each with the variance v*_b of resamples of itself,

    bootstrap t    (θ̂*_b − θ̂)/√v*_b has about the law of (θ̂ − θ)/√v (Efron & Tibshirani 1993, 12.5)
    BCa            acceleration Σ c_i³/(6·(Σ c_i²)^(3/2)), c_i = mean_j θ̂_(−j) − θ̂_(−i), θ̂_(−i)
                   without the block i of rows (Efron 1987)
    permutations   T = (θ̂₁ − θ̂₀)/√(v₁ + v₀), anew for each way to deal the rows out (Janssen 1997).

Everything random comes from one generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.progress import each_of

#: Resamples of a resample that give its standard error (Efron, Tibshirani 1993, section 12.5),
#: which is then wrong by some 14%; a jackknife is not valid for medians and other quantiles.
INNER_RESAMPLES = 25
#: Blocks of the jackknife that gives the acceleration of BCa, computed once.
BLOCKS_OF_ACCELERATION = 200
#: A sequential permutation test ends after so many statistics as large as the observed one
#: (Besag, Clifford 1991): its p-value then has a relative error of some 20%.
ENOUGH_EXCEEDANCES = 20

Rows = NDArray[np.intp]
RowMetric = Callable[[Rows], float]


@dataclass(frozen=True, eq=False)
class Units:
    """What is drawn: rows, or clusters of rows.

    `rows`: positions of the rows, those of a unit beside each other; `starts`: where each unit
    begins, and the end, shape (u + 1,).
    """

    rows: Rows
    starts: Rows

    @classmethod
    def of_rows(cls, rows: Rows, cluster: NDArray[np.intp] | None) -> Units:
        """Every row by itself, or the rows of each cluster."""
        if cluster is None:
            return cls(rows, np.arange(rows.size + 1))
        ordered = np.argsort(cluster[rows], kind="stable")
        sorted_rows = rows[ordered]
        _, first = np.unique(cluster[sorted_rows], return_index=True)
        return cls(sorted_rows, np.append(first, rows.size))

    @property
    def size(self) -> int:
        """Number of units."""
        return self.starts.size - 1

    def take(self, units: NDArray[np.intp]) -> Rows:
        """Rows of these units, a unit as often as it is named."""
        if self.size == self.rows.size:
            rows: Rows = self.rows[units]
            return rows
        lengths = np.diff(self.starts)[units]
        ends = np.cumsum(lengths)
        offsets = np.arange(int(lengths.sum())) - np.repeat(ends - lengths, lengths)
        positions = np.repeat(self.starts[units], lengths) + offsets
        taken: Rows = self.rows[positions]
        return taken

    def beside(self, other: Units) -> Units:
        """The units of both."""
        rows = np.concatenate([self.rows, other.rows])
        return Units(rows, np.append(self.starts[:-1], other.starts + self.rows.size))


def variance_of_draw(
    metric: RowMetric, units: Units, drawn: NDArray[np.intp], rng: np.random.Generator
) -> float:
    """Variance of the metric of drawn units, by resamples of them."""
    chosen = rng.integers(0, drawn.size, (INNER_RESAMPLES, drawn.size))
    values = [metric(units.take(drawn[positions])) for positions in chosen]
    return float(np.var(values, ddof=1))


def block_changes(
    metric: RowMetric, units: Units, rng: np.random.Generator, n_blocks: int
) -> Floats:
    """How the metric changes without each of `n_blocks` blocks of units, made at random."""
    shuffled = rng.permutation(units.size)
    n_blocks = min(n_blocks, shuffled.size)
    ends = np.linspace(0, shuffled.size, n_blocks + 1).astype(np.intp)
    values = np.empty(n_blocks)
    for block in range(n_blocks):
        remaining = np.concatenate([shuffled[: ends[block]], shuffled[ends[block + 1] :]])
        values[block] = metric(units.take(remaining))
    return np.asarray(values.mean() - values)


@dataclass(frozen=True, eq=False)
class Draws:
    """A metric of one group and of its resamples.

    `value`, `variance`: of the sample, the latter that of the resamples; `values`, `variances`,
    shape (K,): of the resamples, the latter empty where nothing is studentised; `changes`: of the
    sample without each block, empty where it is.
    """

    value: float
    variance: float
    values: Floats
    variances: Floats
    changes: Floats


def draw_metric(
    metric: RowMetric,
    units: Units,
    n_resamples: int,
    rng: np.random.Generator,
    *,
    studentised: bool,
) -> Draws:
    """The metric of a group and of `n_resamples` resamples of its units."""
    values = np.empty(n_resamples)
    variances = np.empty(n_resamples if studentised else 0)
    for draw in each_of(range(n_resamples), "bootstrap"):
        drawn = rng.integers(0, units.size, units.size)
        values[draw] = metric(units.take(drawn))
        if studentised:
            variances[draw] = variance_of_draw(metric, units, drawn, rng)
    changes = np.zeros(0)
    if not studentised:
        changes = block_changes(metric, units, rng, BLOCKS_OF_ACCELERATION)
    finite = values[np.isfinite(values)]
    return Draws(
        value=metric(units.rows),
        variance=float(finite.var(ddof=1)) if finite.size > 1 else math.nan,
        values=values,
        variances=variances,
        changes=changes,
    )


@dataclass(frozen=True, eq=False)
class AgainstAll:
    """A metric of one group less that of all rows, the group's own among them.

    Both come from the same rows, and each group keeps its number of units. `logarithms`: of the
    logarithms, for ratios.
    """

    metric: RowMetric
    groups: tuple[Units, ...]
    group: int
    logarithms: bool

    def contrast(self, rows_of_groups: list[Rows]) -> float:
        """Of these rows of every group."""
        values = (
            self.metric(rows_of_groups[self.group]),
            self.metric(np.concatenate(rows_of_groups)),
        )
        if not self.logarithms:
            return values[0] - values[1]
        if not min(values) > 0:
            return math.nan
        return math.log(values[0]) - math.log(values[1])

    def draw(self, n_resamples: int, rng: np.random.Generator, *, studentised: bool) -> Draws:
        """The contrast and its resamples, every group by itself."""
        values = np.empty(n_resamples)
        variances = np.empty(n_resamples if studentised else 0)
        for draw in each_of(range(n_resamples), "bootstrap"):
            drawn = [rng.integers(0, units.size, units.size) for units in self.groups]
            values[draw] = self._of(drawn)
            if studentised:
                variances[draw] = self._variance(drawn, rng)
        changes = np.zeros(0)
        if not studentised:
            changes = self._block_changes(rng)
        finite = values[np.isfinite(values)]
        return Draws(
            value=self.contrast([units.rows for units in self.groups]),
            variance=float(finite.var(ddof=1)) if finite.size > 1 else math.nan,
            values=values,
            variances=variances,
            changes=changes,
        )

    def _of(self, drawn: list[NDArray[np.intp]]) -> float:
        rows = []
        for units, chosen in zip(self.groups, drawn, strict=True):
            rows.append(units.take(chosen))
        return self.contrast(rows)

    def _variance(self, drawn: list[NDArray[np.intp]], rng: np.random.Generator) -> float:
        values = []
        for _ in range(INNER_RESAMPLES):
            again = []
            for chosen in drawn:
                again.append(chosen[rng.integers(0, chosen.size, chosen.size)])
            values.append(self._of(again))
        return float(np.var(values, ddof=1))

    def _block_changes(self, rng: np.random.Generator) -> Floats:
        """How the contrast changes without each of some blocks of units of every group."""
        everyone = [np.arange(units.size) for units in self.groups]
        n_blocks = max(BLOCKS_OF_ACCELERATION // len(self.groups), 20)
        changes = []
        for place, units in enumerate(self.groups):
            shuffled = rng.permutation(units.size)
            ends = np.linspace(0, units.size, min(n_blocks, units.size) + 1).astype(np.intp)
            values = np.empty(ends.size - 1)
            for block in range(values.size):
                remaining = list(everyone)
                before = shuffled[: ends[block]]
                behind = shuffled[ends[block + 1] :]
                remaining[place] = np.concatenate([before, behind])
                values[block] = self._of(remaining)
            changes.append(values.mean() - values)
        return np.concatenate(changes)


@dataclass(frozen=True)
class PermutationTest:
    """A statistic, its two-sided p-value, and how many permutations gave it."""

    statistic: float
    pvalue: float
    n_permutations: int


def studentised_permutation_test(
    metric: RowMetric,
    group: Units,
    reference: Units,
    n_permutations: int,
    rng: np.random.Generator,
    *,
    ratio: bool,
) -> PermutationTest:
    """Equality of a metric in two groups (Janssen 1997; Chung, Romano 2013).

    T = (m₁ − m₀)/√(v₁ + v₀), of ratios of log m, is computed anew for every way to deal the units
    out, v by a bootstrap. That is exact where both groups have one law, and valid in large groups
    where only the metric is the same; a plain permutation test is not.
    """
    both = group.beside(reference)
    everyone = np.arange(both.size)

    def statistic(order: NDArray[np.intp]) -> float:
        value_pair = []
        variance_pair = []
        for drawn in (order[: group.size], order[group.size :]):
            value = metric(both.take(drawn))
            variance = variance_of_draw(metric, both, drawn, rng)
            if ratio:
                variance = variance / value**2 if value > 0 else math.nan
                value = math.log(value) if value > 0 else math.nan
            value_pair.append(value)
            variance_pair.append(variance)
        variance = sum(variance_pair)
        difference = value_pair[0] - value_pair[1]
        if variance > 0:
            return float(difference / math.sqrt(variance))
        return 0.0 if difference == 0 else math.nan

    observed = statistic(everyone)
    if math.isnan(observed):
        return PermutationTest(observed, math.nan, 0)
    n_as_large = 0
    for number in each_of(range(1, n_permutations + 1), "permutations"):
        permuted = abs(statistic(rng.permutation(both.size)))
        # what cannot be computed counts against a difference
        if not permuted < abs(observed) - 1e-12:
            n_as_large += 1
        if n_as_large == ENOUGH_EXCEEDANCES:
            return PermutationTest(observed, n_as_large / number, number)
    return PermutationTest(observed, (n_as_large + 1) / (n_permutations + 1), n_permutations)
