"""Cells of a group's own rate within strata of weighted or clustered rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import fairstats as fs
from tests.calibration.study import Cell, Counts, tally_interval

#: Rates of the group and of its reference in three strata.
_RATES = np.array([[0.3, 0.5, 0.8], [0.4, 0.55, 0.7]])


def _own(sizes: tuple[int, int], words: str, *, clustered: bool) -> Cell:
    """Rows of each group in each of three strata; weights of CV .7, or clusters of 5 with correlation
    .1 that lie in one group and stratum.
    """
    rows = np.array(sizes)
    group = np.tile(np.repeat([0, 1], rows), 3)
    stratum = np.repeat(np.arange(3), rows.sum())
    unit = np.arange(group.size) // 5
    rates = _RATES[group, stratum]
    spread = np.sqrt(np.log1p(0.49))

    def simulate(rng: np.random.Generator, runs: int) -> Counts:
        found = []
        for _ in range(runs):
            options: dict[str, Any] = {}
            weight = np.ones(group.size)
            if clustered:
                # a beta-binomial law of correlation .1 in every cluster
                first = np.arange(unit.max() + 1) * 5
                shares = rng.beta(9 * rates[first], 9 * (1 - rates[first]))
                outcome = rng.random(group.size) < shares[unit]
                options["cluster"] = unit
            else:
                weight = rng.lognormal(0, spread, group.size)
                outcome = rng.random(group.size) < rates
                options["sample_weight"] = weight
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                within: Any = fs.scores(
                    np.ones(group.size),
                    outcome.astype(float),
                    sensitive_features=group,
                    reference=1,
                    metric="tpr",
                    cutoffs=[0.5],
                    strata=stratum,
                    **options,
                ).stratified  # type: ignore[attr-defined]
            totals = np.zeros((2, 3))
            np.add.at(totals, (group, stratum), weight)
            shares_of_strata = totals[0] * totals[1] / totals.sum(axis=0)
            truth = shares_of_strata @ _RATES[0] / shares_of_strata.sum()
            low, high = within.comparisons[0].value_interval
            found.append((low - truth, high - truth))
        return tally_interval(0.0, found)

    name = "scores(metric='tpr', strata=): a group's own rate"
    return Cell("strata", name, words, simulate, runs=2_000, claim="conservative")


def _cells() -> Iterator[Cell]:
    for sizes in ((30, 100), (100, 50)):
        words = f"3 × {sizes[0]} beside {sizes[1]} rows"
        yield _own(sizes, f"{words}, lognormal weights of CV .7", clustered=False)
        yield _own(sizes, f"{words}, clusters of 5, correlation .1", clustered=True)


CELLS = tuple(_cells())
