"""Cells of medians and quantiles of rows with weights or in clusters.

The numbers of both groups are normal (limits are order statistics, which no rising transformation
changes), the difference of their quantiles is 0 in truth, which is its margin, too.
`tests/methods/rates/numbers/test_weighted_quantiles.py` holds `decide` against the public function.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from fairstats.methods.rates.numbers.compare import MIN_UNITS
from fairstats.methods.rates.numbers.contrasts import MoverContrast
from fairstats.numerics.means.weighted_quantiles import quantile_of_rows
from tests.calibration.study import Cell, Counts

TWO_SIDED = float(ndtri(0.975))
ONE_SIDED = float(ndtri(0.95))


class Rows(NamedTuple):
    """Numbers, weights and sampling units of one group."""

    numbers: np.ndarray
    weights: np.ndarray | None
    units: np.ndarray | None


@dataclass(frozen=True)
class Sampling:
    """How weights and clusters come about.

    `spread`: coefficient of variation of the weights, lognormal; `with_number`: whether they rise
    with the number; `clusters`: rows come in clusters, of `rows` each, or of 1 to 2·rows − 1 where
    `unequal`, within which numbers correlate by .3 and weights are equal.
    """

    spread: float = 0.0
    with_number: bool = False
    rows: int = 1
    unequal: bool = False

    @property
    def words(self) -> str:
        """In the regime of a cell."""
        parts = []
        if self.rows > 1:
            sizes = f"1 to {2 * self.rows - 1}" if self.unequal else f"{self.rows}"
            parts.append(f"clusters of {sizes} rows, correlation .3")
        if self.spread:
            rising = " that rise with the number" if self.with_number else ""
            parts.append(f"weights of CV {self.spread:g}{rising}")
        return ", ".join(parts)

    def draw(self, rng: np.random.Generator, n: int) -> Rows:
        """n rows, or clusters."""
        units = None
        scale = math.sqrt(math.log(1 + self.spread**2))
        if self.rows > 1:
            sizes = np.full(n, self.rows)
            if self.unequal:
                sizes = rng.integers(1, 2 * self.rows, n)
            units = np.repeat(np.arange(n), sizes)
            shared = rng.normal(size=n)[units]
            numbers = math.sqrt(0.3) * shared + math.sqrt(0.7) * rng.normal(size=units.size)
            weights = np.exp(scale * rng.normal(size=n))[units]
        else:
            numbers = rng.normal(size=n)
            weights = np.exp(scale * rng.normal(size=n))
        if self.with_number:
            weights = np.exp(scale * numbers)
        return Rows(numbers, weights if self.spread else None, units)


def decide(pair: tuple[Rows, Rows], order: float) -> tuple[float, float, float, float] | None:
    """Limits at 95%, and both one-sided ones; None where a group has too few units."""
    samples = [quantile_of_rows(*rows, order=order) for rows in pair]
    if min(sample.size for sample in samples) < MIN_UNITS:
        return None
    contrast = MoverContrast(
        (samples[0].value, samples[1].value), samples[0].limits, samples[1].limits
    )
    return (*contrast.limits(TWO_SIDED), *contrast.limits(ONE_SIDED))


def _cell(order: float, sampling: Sampling, n: int, m: int, **about: str) -> Cell:
    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        wrong = dict.fromkeys(("above", "below", "false violated", "false satisfied"), 0)
        answered = 0
        for _ in range(runs):
            limits = decide((sampling.draw(rng, n), sampling.draw(rng, m)), order)
            if limits is None:
                continue
            answered += 1
            wrong["above"] += limits[0] > 0
            wrong["below"] += limits[1] < 0
            wrong["false violated"] += limits[2] > 0
            wrong["false satisfied"] += limits[3] < 0
        counts = {measure: (float(total), answered) for measure, total in wrong.items()}
        held = answered - wrong["above"] - wrong["below"]
        return {**counts, "coverage": (float(held), answered), "answered": (answered, runs)}

    design = "sample_weight=" if sampling.spread else "cluster="
    if sampling.spread and sampling.rows > 1:
        design = "sample_weight=, cluster="
    statistic = "'median'" if order == 0.5 else f"{order:g}"
    units = "clusters" if sampling.rows > 1 else "rows"
    about = {"claim": "conservative", **about}
    return Cell(
        "means",
        f"means(statistic={statistic}, {design})",
        f"{n} {units} beside {m:,}, {sampling.words}",
        simulate,
        4_000,
        **about,
    )


#: Few rows far out have much of the weight.
_RISING = (
    "the sample misses the heavy rows on the side where weights rise, and their spread with them"
)


def _cells() -> Iterator[Cell]:
    yield _cell(0.5, Sampling(0.5), 40, 400)
    yield _cell(0.5, Sampling(1.0), 60, 400)
    yield _cell(0.5, Sampling(1.0), 100, 100)
    yield _cell(0.9, Sampling(0.5), 100, 1_000)
    yield _cell(0.9, Sampling(1.0), 120, 600)
    yield _cell(0.5, Sampling(rows=5), 20, 200)
    yield _cell(0.5, Sampling(rows=8, unequal=True), 30, 200)
    yield _cell(0.9, Sampling(rows=5), 40, 200)
    yield _cell(0.5, Sampling(0.5, rows=5), 30, 200)
    yield _cell(0.8, Sampling(0.5, rows=8, unequal=True), 40, 200)
    yield _cell(0.5, Sampling(0.5, with_number=True), 100, 1_000)
    yield _cell(0.5, Sampling(1.0, with_number=True), 400, 2_000)
    yield _cell(0.9, Sampling(0.5, with_number=True), 200, 1_000)
    yield _cell(0.5, Sampling(0.5, with_number=True), 40, 400)
    yield _cell(0.9, Sampling(1.0, with_number=True), 120, 600, claim="fails", remark=_RISING)
    yield _cell(0.9, Sampling(0.5, rows=5, with_number=True), 40, 200)


CELLS = tuple(_cells())
