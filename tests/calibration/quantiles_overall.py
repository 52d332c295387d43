"""Cells of quantiles of a group beside those of all rows, its own among them.

By the kernel of the public function (`methods/rates/numbers/quantile_sides.py`); the margin of every
cell is the truth, by a large sample of each law.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fairstats.methods.rates.numbers.contrasts import MoverContrast
from fairstats.methods.rates.numbers.quantile_sides import contrast_with_all
from fairstats.numerics.means.quantile_of_all import NumbersOfAll
from fairstats.numerics.means.weighted_quantiles import quantile_of_rows
from tests.calibration.means import EXPONENTIAL, LOGNORMAL, NORMAL, ONE_SIDED, TWO_SIDED, Law
from tests.calibration.study import Cell, Counts

#: Rows of each law by which the truth is known.
_LARGE = 2_000_000


class Setting(NamedTuple):
    """Rows of three groups of one law, the first with another scale and shift.

    `cluster`: rows of each cluster, which share half of their variance; `cv`: of the weights.
    """

    law: Law
    sizes: tuple[int, ...]
    order: float
    scale: float = 1.0
    shift: float = 0.0
    cluster: int = 1
    cv: float = 0.0

    @property
    def words(self) -> str:
        """The setting in words."""
        words = f"{self.law.words}, {'/'.join(map(str, self.sizes))}"
        if self.scale != 1:
            words += f", scale {self.scale:g}"
        if self.shift:
            words += f", shift {self.shift:g}"
        if self.cluster > 1:
            words += f", clusters of {self.cluster}"
        if self.cv:
            words += f", weights CV {self.cv:g}"
        return words

    def truth(self, *, ratio: bool) -> float:
        """Of the first group beside all rows."""
        if self.scale == 1 and not self.shift:
            return 1.0 if ratio else 0.0
        rng = np.random.default_rng(1)
        share = self.sizes[0] / sum(self.sizes)
        of_law = self.law.draw(rng, (_LARGE,))
        own = self.scale * self.law.draw(rng, (_LARGE,)) + self.shift
        n_own = round(share * _LARGE)
        everybody = np.concatenate([own[:n_own], of_law[: _LARGE - n_own]])
        value = float(np.quantile(own, self.order))
        of_all = float(np.quantile(everybody, self.order))
        return value / of_all if ratio else value - of_all

    def draw(self, rng: np.random.Generator, *, ratio: bool) -> MoverContrast:
        """The contrast of one sample."""
        group = np.repeat(np.arange(len(self.sizes)), self.sizes)
        n = group.size
        unit = np.arange(n) // self.cluster
        numbers = self.law.draw(rng, (n,))
        if self.cluster > 1:
            common = self.law.draw(rng, (unit[-1] + 1,))[unit]
            numbers = (numbers + common) / np.sqrt(2)
        numbers = np.where(group == 0, self.scale * numbers + self.shift, numbers)
        weights = np.ones(n)
        if self.cv:
            sigma = np.sqrt(np.log1p(self.cv**2))
            weights = np.exp(sigma * rng.standard_normal(n))
        own = group == 0
        rows = NumbersOfAll(numbers=numbers, weights=weights, units=unit, group=group)
        return contrast_with_all(
            rows,
            0,
            quantile_of_rows(numbers[own], weights[own], unit[own], self.order),
            quantile_of_rows(numbers, weights, unit, self.order),
            ratio=ratio,
        )


def _cell(setting: Setting, *, ratio: bool = False, **about: str) -> Cell:
    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        truth = setting.truth(ratio=ratio)
        wrong = dict.fromkeys(("above", "below", "false violated", "false satisfied"), 0)
        for _ in range(runs):
            contrast = setting.draw(rng, ratio=ratio)
            low, high = contrast.limits(TWO_SIDED)
            wrong["above"] += low > truth
            wrong["below"] += high < truth
            low, high = contrast.limits(ONE_SIDED)
            wrong["false violated"] += low > truth
            wrong["false satisfied"] += high < truth
        counts = {measure: (float(total), runs) for measure, total in wrong.items()}
        counts["coverage"] = (float(runs - wrong["above"] - wrong["below"]), runs)
        return counts

    statistic = "'median'" if setting.order == 0.5 else f"{setting.order:g}"
    name = f"means(statistic={statistic}, comparisons='overall')"
    if ratio:
        name = name.replace(")", ", contrast='ratio')")
    about = {"claim": "conservative", **about}
    return Cell("means", name, setting.words, simulate, 10_000, **about)


def _cells() -> Iterator[Cell]:
    for law in (NORMAL, EXPONENTIAL, LOGNORMAL):
        yield _cell(Setting(law, (30, 200, 100), 0.5))
        yield _cell(Setting(law, (400, 60, 40), 0.5))
        yield _cell(Setting(law, (60, 400, 100), 0.5, scale=2.0))
        yield _cell(Setting(law, (100, 300, 200), 0.9))
        yield _cell(Setting(law, (100, 300, 200), 0.9, scale=1.5))
    yield _cell(Setting(EXPONENTIAL, (100, 200, 100), 0.5, shift=0.5))
    yield _cell(Setting(NORMAL, (400, 60), 0.9, scale=0.5))
    yield _cell(Setting(NORMAL, (400, 60), 0.5, scale=0.5))
    yield _cell(Setting(EXPONENTIAL, (80, 200, 100), 0.5, scale=1.5), ratio=True)
    yield _cell(Setting(LOGNORMAL, (100, 300, 200), 0.9, scale=0.7), ratio=True)
    yield _cell(Setting(NORMAL, (200, 400, 200), 0.5, cluster=5))
    yield _cell(Setting(EXPONENTIAL, (200, 400, 200), 0.5, cluster=5))
    yield _cell(Setting(NORMAL, (100, 400, 200), 0.5, cv=0.8))


CELLS = tuple(_cells())
