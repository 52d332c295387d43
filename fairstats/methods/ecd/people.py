"""Resampling people who own several rows: the spread of a difference of return levels under dependence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairstats.numerics.evt.bootstrap import ExcessBatch, fit_excess_batch
from fairstats.numerics.evt.stretch import power_ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.methods.ecd.sample import GroupSample

    Floats = NDArray[np.float64]

__all__ = ["has_shared_people", "person_bootstrap"]

#: Fewer excesses than this make a resample useless.
_LEAST = 5


def has_shared_people(first: GroupSample, second: GroupSample) -> bool:
    """Whether people own several rows, within a group or over both."""
    if first.person is None or second.person is None:
        return False
    owners = np.concatenate([first.person, second.person])
    return bool(np.unique(owners).size < owners.size)


def person_bootstrap(
    first: GroupSample,
    second: GroupSample,
    exceedances: tuple[int, int],
    interactions: float,
    replicates: int,
    rng: np.random.Generator,
) -> Floats:
    """Differences of return levels in resamples of people.

    Each resample draws as many people as there are, with all their rows in both groups, and takes the same
    order statistic as threshold.

    Parameters
    ----------
    first, second : GroupSample
        With `person`.
    exceedances : (int, int)
        k of each group.
    interactions : float
        m.
    replicates : int
    rng : Generator

    Returns
    -------
    ndarray of float, shape (B,)
        B ≤ replicates: resamples without a tail are left out.
    """
    owners = np.concatenate([np.asarray(first.person), np.asarray(second.person)])
    people, codes = np.unique(owners, return_inverse=True)
    sides = [
        _Ordered(first.values(), codes[: first.n], k, people.size)
        if side == 0
        else _Ordered(second.values(), codes[first.n :], k, people.size)
        for side, k in enumerate(exceedances)
    ]
    for _ in range(replicates):
        drawn = np.bincount(rng.integers(0, people.size, people.size), minlength=people.size)
        for side in sides:
            side.add(drawn)
    levels = [side.levels(interactions) for side in sides]
    difference = levels[0] - levels[1]
    return difference[np.isfinite(difference)]


class _Ordered:
    """Values of one group, largest first, and their excesses in every resample so far."""

    def __init__(self, cd: Floats, owner: NDArray[np.intp], k: int, n_people: int) -> None:
        order = np.argsort(-cd, kind="stable")
        self.values, self.owner, self.k = cd[order], owner[order], k
        self.rows_of = np.bincount(owner, minlength=n_people)
        self.excesses: list[Floats] = []
        self.n: list[float] = []
        self.thresholds: list[float] = []
        self.totals: list[float] = []

    def add(self, drawn: NDArray[np.intp]) -> None:
        reach = min(self.values.size, 4 * self.k + 200)
        times = drawn[self.owner[:reach]]
        if times.sum() <= self.k and reach < self.values.size:
            reach = self.values.size
            times = drawn[self.owner]
        top = np.repeat(self.values[:reach], times)[: self.k + 1]
        row = np.zeros(self.k)
        threshold = float(top[-1]) if top.size else float("nan")
        row[: max(top.size - 1, 0)] = top[:-1] - threshold
        self.excesses.append(row)
        self.n.append(float((row > 0).sum()))
        self.thresholds.append(threshold)
        self.totals.append(float(drawn @ self.rows_of))

    def levels(self, interactions: float) -> Floats:
        """Return level of every resample; NaN where there is no tail."""
        n, threshold = np.array(self.n), np.array(self.thresholds)
        found = np.full(n.size, np.nan)
        usable = n >= _LEAST
        batch = ExcessBatch(np.array(self.excesses)[usable], n[usable], threshold[usable])
        scale, shape = fit_excess_batch(batch, "mle")
        period = np.log(interactions * n[usable] / np.array(self.totals)[usable])
        found[usable] = threshold[usable] + scale * power_ratio(period, shape)
        return found
