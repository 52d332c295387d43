"""Cells of quantiles, calibration slopes and intercepts of a group beside those of all rows.

All rows have the group's own among them. By the kernels of the public functions
(`methods/rates/numbers/quantile_sides.py`, `numerics/means/logistic.py`); the margin of every cell is
the truth, of quantiles by a large sample of each law.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fairstats.methods.rates.numbers.areas import LEAST_OF_LABEL
from fairstats.methods.rates.numbers.contrasts import MoverContrast
from fairstats.methods.rates.numbers.quantile_sides import contrast_with_all
from fairstats.numerics.means.hall import as_normal
from fairstats.numerics.means.logistic import RowsOfAll, intercept_beside_all, slope_beside_all
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
    return Cell("means", name, setting.words, simulate, 4_000, **about)


def _regression(
    metric: str, sizes: tuple[int, ...], law: tuple[float, float], cluster: int = 1
) -> Cell:
    """Calibrated scores of a beta law in all groups: the difference is 0."""
    compare = slope_beside_all if metric == "slope" else intercept_beside_all

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        wrong = dict.fromkeys(("above", "below", "false violated", "false satisfied"), 0)
        answered = 0
        group = np.repeat(np.arange(len(sizes)), sizes)
        unit = np.arange(group.size) // cluster
        for _ in range(runs):
            # rows of a cluster have one score
            score = np.clip(rng.beta(*law, unit[-1] + 1), 0.01, 0.99)[unit]
            label = (rng.random(group.size) < score).astype(float)
            own = label[group == 0]
            if min(own.sum(), own.size - own.sum()) < LEAST_OF_LABEL:
                continue
            rows = RowsOfAll(
                scores=score,
                labels=label,
                weights=np.ones(group.size),
                group=group,
                number=np.ones(group.size),
                unit=unit,
            )
            found = compare(rows, 0)
            if np.isnan(found.estimate):
                continue
            answered += 1
            z = float(as_normal(found.estimate / found.std_error, found.df))
            wrong["above"] += z > TWO_SIDED
            wrong["below"] += z < -TWO_SIDED
            wrong["false violated"] += z > ONE_SIDED
            wrong["false satisfied"] += z < -ONE_SIDED
        counts = {measure: (float(total), answered) for measure, total in wrong.items()}
        held = float(answered - wrong["above"] - wrong["below"])
        return {**counts, "coverage": (held, answered), "answered": (answered, runs)}

    regime = f"beta({law[0]:g}, {law[1]:g}), {'/'.join(map(str, sizes))}"
    if cluster > 1:
        regime += f", clusters of {cluster}"
    name = f"calibration(metric='{metric}', comparisons='overall')"
    return Cell("means", name, regime, simulate, 2_000, claim="conservative")


def _cells() -> Iterator[Cell]:
    for metric in ("slope", "intercept"):
        yield _regression(metric, (60, 400, 200), (2, 3))
        yield _regression(metric, (400, 100, 60), (2, 3))
        yield _regression(metric, (120, 600, 200), (1.5, 5))
        yield _regression(metric, (150, 600, 300), (2, 3), cluster=3)
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
