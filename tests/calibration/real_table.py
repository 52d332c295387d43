"""A plug-in population: the bundled COMPAS table, resampled at the sizes of small audits.

The truth is the value of the whole table. Groups keep their shares (half, a third, and three small
ones), so that a sample of 100 has groups of six rows, or none."""

from __future__ import annotations

import warnings
from functools import cache, partial
from typing import Any

import numpy as np

import fairstats as fs
from fairstats.datasets import load_compas
from tests.calibration.rates import VERSION
from tests.calibration.study import Cell, Counts

#: The reference and those compared with it.
GROUPS = ("African-American", "Caucasian", "Hispanic", "Other")
SIZES = (100, 300, 1_000, 2_000)


@cache
def _cells() -> np.ndarray:
    """Rows of the table by group and (tp, fp, fn, tn): recidivism, and a decile above 4."""
    table = load_compas().frame
    y = table["two_year_recid"].to_numpy() == 1
    score = table["decile_score"].to_numpy() > 4
    race = table["race"].astype(str).to_numpy()
    return np.array(
        [
            [
                int((hit & (race == g)).sum())
                for hit in (y & score, ~y & score, y & ~score, ~y & ~score)
            ]
            for g in GROUPS
        ]
    )


def _asked(call: Any, table: np.ndarray) -> Any:
    counts = {g: tuple(map(int, row)) for g, row in zip(GROUPS, table, strict=True) if row.sum()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(counts=counts, reference=GROUPS[0])


def resampled(
    rng: np.random.Generator, runs: int, *, call: Any, n: int, fair: tuple[float, float]
) -> Counts:
    """Coverage of the second group, false verdicts and answers among all."""
    whole = _cells()
    truth = {c.group: c.estimate for c in _asked(call, whole).comparisons}
    seen = dict.fromkeys(("coverage", "above", "below"), 0)
    known = answered = wrong = 0
    for _ in range(runs):
        drawn = rng.multinomial(n, (whole / whole.sum()).ravel()).reshape(whole.shape)
        try:
            found = {c.group: c for c in _asked(call, drawn).comparisons}
        except fs.InputError:  # no row of the reference
            continue
        c = found.get(GROUPS[1])
        t = truth[GROUPS[1]]
        if c is not None and c.verdict != "insufficient evidence":
            low, high = c.confidence_interval
            known += 1
            seen["coverage"] += low <= t <= high
            seen["above"] += low > t
            seen["below"] += high < t
        answered += c is not None and c.verdict != "insufficient evidence"
        wrong += any(
            (c.verdict == "violated" and fair[0] <= truth[g] <= fair[1])
            or (c.verdict == "satisfied" and not fair[0] < truth[g] < fair[1])
            for g, c in found.items()
        )
    out = {name: (k, max(known, 1)) for name, k in seen.items()}
    return {**out, "answered": (answered, runs), "false verdict": (wrong, runs)}


_CALLS: dict[str, tuple[Any, tuple[float, float]]] = {
    "disparate_impact()": (fs.disparate_impact, (0.8, 1.25)),
    "conditional_use_accuracy()": (fs.conditional_use_accuracy, (0.8, 1.25)),
    "equal_opportunity_difference()": (fs.equal_opportunity_difference, (-0.1, 0.1)),
    "average_odds_difference()": (fs.average_odds_difference, (-0.1, 0.1)),
    "group_metric(metric='f1_difference')": (
        partial(fs.group_metric, metric="f1_difference"),
        (-0.1, 0.1),
    ),
}


def _smooth(method: str) -> bool:
    """Functions of several rates, which no exact test judges."""
    return method.startswith(("average", "group_metric"))


CELLS = [
    Cell(
        "rates",
        method,
        f"COMPAS resampled, {n:,} rows of four groups",
        partial(resampled, call=call, n=n, fair=fair),
        runs=2_000,
        claim="conservative" if n < 1_000 else "valid",
        version="1" if _smooth(method) else VERSION,
    )
    for method, (call, fair) in _CALLS.items()
    for n in SIZES
]
