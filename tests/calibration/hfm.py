"""HFM: sizes of the permutation tests with unequal groups and ties.

Coverage of the discriminative risk.

Under the hypothesis of all three tests groups say nothing about the rows, and y and ŷ are drawn
alike."""

from __future__ import annotations

from functools import partial

import numpy as np

import fairstats as fs
from fairstats.methods.hfm.risk import _risk_of_rows

from .study import Cell, Counts, tally_interval

__all__ = ["CELLS"]

LEVEL = 0.95
_TESTS = {"D": 0, "D_f": 1, "HFM": 2}


def size(
    rng: np.random.Generator,
    runs: int,
    *,
    test: int,
    sizes: tuple[int, ...],
    decimals: int,
    statistic: str,
) -> Counts:
    """Rejections at 5% of one of the three tests; with several groups of their maximum."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    rejected = 0
    for _ in range(runs):
        x = np.round(rng.random((group.size, 2)), decimals)
        y, predicted = (rng.random(group.size) < 0.3 + 0.4 * x[:, 0] for _ in range(2))
        found = fs.hfm(
            x,
            y.astype(int),
            predicted.astype(int),
            sensitive_features=group,
            statistic=statistic,
            n_resamples=99,
            n_subsamples=0,
            rng=rng,
        )
        rejected += found.overall.tests[test].pvalue <= 1 - LEVEL
    return {"size": (rejected, runs)}


#: Of the interval of a risk: 2 counts persons, however many rows they have.
OF_RISKS = "2"


def risk(
    rng: np.random.Generator,
    runs: int,
    *,
    persons: int,
    draws: int,
    rate: float,
    icc: float,
    sharing: float = 0.0,
) -> Counts:
    """Coverage of the interval: persons with their own probability, all draws of one alike at ICC
    1.

    `sharing`: the share of draws that have the person's one answer in place of their own.
    """
    if icc in (0, 1):
        own = (
            np.full((runs, persons), rate)
            if icc == 0
            else (rng.random((runs, persons)) < rate) * 1.0
        )
    else:
        scale = 1 / icc - 1
        own = rng.beta(rate * scale, (1 - rate) * scale, (runs, persons))
    changed = rng.random((runs, draws, persons)) < own[:, None]
    if sharing:
        answer = rng.random((runs, 1, persons)) < own[:, None]
        changed = np.where(rng.random(changed.shape) < sharing, answer, changed)
    rows = (
        _risk_of_rows("a", "all rows", c, np.arange(persons), LEVEL).confidence_interval
        for c in changed
    )
    return tally_interval(rate, ((i.low, i.high) for i in rows))


def _tests() -> list[Cell]:
    cells = []
    for sizes in ((60, 60), (10, 100), (4, 40), (60, 30, 10)):
        for decimals, ties in ((9, ""), (1, ", ties")):
            for name, test in _TESTS.items():
                simulate = partial(size, test=test, sizes=sizes, decimals=decimals, statistic="max")
                regime = f"test of {name}, groups of {' and '.join(map(str, sizes))} rows{ties}"
                powerless = name == "HFM"
                remark = (
                    "nearly without power: a maximum hardly moves when labels change"
                    if powerless
                    else ""
                )
                cells.append(Cell("hfm", "hfm", regime, simulate, 1_000, "conservative", remark))
    for name, test in _TESTS.items():
        simulate = partial(size, test=test, sizes=(10, 100), decimals=1, statistic="mean")
        regime = f"test of {name}, groups of 10 and 100 rows, ties"
        cells.append(Cell("hfm", 'hfm(statistic="mean")', regime, simulate, 1_000, "conservative"))
    return cells


def _risks() -> list[Cell]:
    cells = []
    for persons in (10, 20, 50, 300):
        for draws, icc in ((1, 0.0), (2, 0.0), (5, 0.3), (5, 1.0)):
            for rate in (0.05, 0.3):
                simulate = partial(risk, persons=persons, draws=draws, rate=rate, icc=icc)
                regime = f"{persons} persons, {draws} draws, ICC {icc:g}, rate {rate:g}"
                cell = Cell(
                    "hfm",
                    "discriminative_risk",
                    regime,
                    simulate,
                    4_000,
                    "conservative",
                    version=OF_RISKS,
                )
                cells.append(cell)
    for persons, draws, rate, sharing in (
        (5, 40, 0.1, 0.8),
        (12, 10, 0.3, 0.6),
        (12, 40, 0.02, 0.8),
        (30, 40, 0.02, 0.8),
    ):
        simulate = partial(risk, persons=persons, draws=draws, rate=rate, icc=0.0, sharing=sharing)
        regime = (
            f"{persons} persons, {draws} draws of which {sharing:.0%} share the person's answer,"
            f" rate {rate:g}"
        )
        cells.append(
            Cell(
                "hfm",
                "discriminative_risk",
                regime,
                simulate,
                4_000,
                "conservative",
                version=OF_RISKS,
            )
        )
    return cells


CELLS = [*_tests(), *_risks()]
