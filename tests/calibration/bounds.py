"""Worst-case bounds: intervals for a value that missing groups, outcomes or predictions leave
undetermined.

A population of two groups has shares of rows whose group, label or prediction is missing, chosen by
nothing or by the outcome. The truth is that end of its identified set (Manski) which the interval
holds less often: every value between is held more often. The interval is the public one."""

from __future__ import annotations

import math
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from fairstats.ground.counts import ConfusionCounts
from fairstats.ground.outcomes import MissingReport
from fairstats.ground.registry import RATES
from fairstats.methods.rates.bounds import worst_case_range
from tests.calibration.study import Cell, Counts

#: Cells tp, fp, fn, tn as (label, prediction).
_KNOWN = ((1, 1), (0, 1), (1, 0), (0, 0))
Pattern = tuple[int, int, int]


def population(
    shares: tuple[float, float], rates: tuple[float, float], base: float, missing: str, share: float
) -> tuple[dict[Pattern, float], dict[Pattern, float]]:
    """Probabilities of complete rows and of rows with something missing, by (group, label,
    prediction).

    A prediction is right with the group's rate where the label is 1, and with .7 where it is 0.
    Rows with a favourable prediction lack their entry twice as often as the others."""
    known: dict[Pattern, float] = {}
    lacking: dict[Pattern, float] = {}
    for g, (y, p) in product((0, 1), _KNOWN):
        chance = shares[g] * (base if y else 1 - base)
        hit = rates[g] if y else 0.3
        chance *= hit if p else 1 - hit
        absent = share * (2 if p else 1)
        at = {"group": (-1, y, p), "outcome": (g, -1, p), "prediction": (g, y, -1)}[missing]
        known[g, y, p] = chance * (1 - absent)
        lacking[at] = lacking.get(at, 0.0) + chance * absent
    return known, lacking


def counts_of(known: dict[Pattern, float], lacking: dict[Pattern, float]) -> ConfusionCounts:
    """Both as a table of counts (or, of a population, of probabilities)."""
    cells = [[known[g, y, p] for y, p in _KNOWN] for g in (0, 1)]
    totals = np.array(cells, dtype=np.float64)
    rows = tuple((*key, n) for key, n in lacking.items() if n)
    report = MissingReport("drop", 0, int(sum(n for *_, n in rows)), {}, rows)
    return ConfusionCounts(("a", "b"), totals, totals.astype(np.int64), missing=report)


def identified_set(counts: ConfusionCounts, rate: str, contrast: Any) -> tuple[float, float]:
    """Smallest and largest value that the missing rows allow.

    Those of a population a million times over.
    """
    large = counts_of(
        {(g, y, p): 1e6 * counts.totals[g, c] for g in (0, 1) for c, (y, p) in enumerate(_KNOWN)},
        {(g, y, p): round(1e6 * n) for g, y, p, n in counts.missing.patterns},
    )
    return worst_case_range(large, RATES[rate], 0, 1, contrast)[:2]


def simulate(
    rng: np.random.Generator,
    runs: int,
    *,
    n: int,
    shares: tuple[float, float],
    rates: tuple[float, float],
    base: float,
    missing: str,
    share: float,
    rate: str,
    contrast: str,
) -> Counts:
    """Coverage of that end of the identified set that is held less often."""
    known, lacking = population(shares, rates, base, missing, share)
    ends = identified_set(counts_of(known, lacking), rate, contrast)
    keys = [*known, *lacking]
    drawn = rng.multinomial(n, [*known.values(), *lacking.values()], size=runs)
    tables, number = np.unique(drawn, axis=0, return_counts=True)
    held = [0, 0]
    answered = 0
    for row, times in zip(tables.tolist(), number.tolist(), strict=True):
        by_key = dict(zip(keys, row, strict=True))
        counts = counts_of({k: by_key[k] for k in known}, {k: by_key[k] for k in lacking})
        found = worst_case_range(counts, RATES[rate], 0, 1, contrast)  # type: ignore[arg-type]
        if math.isnan(found.ci_low):
            continue
        answered += times
        for at, end in enumerate(ends):
            held[at] += times * (
                found.ci_low <= end * (1 + 1e-9) and end * (1 - 1e-9) <= found.ci_high
            )
    return {"coverage": (min(held), answered), "answered": (answered, runs)}


#: Rows, shares of both groups, rates of both groups among labels of 1, base rate.
_REGIMES = (
    (1_000, (0.5, 0.5), (0.5, 0.5), 0.4),
    (400, (0.1, 0.9), (0.8, 0.95), 0.5),
    (100, (0.2, 0.8), (0.4, 0.5), 0.5),
    (2_000, (0.03, 0.97), (0.1, 0.2), 0.5),
)
#: Metric, rate, contrast, what is missing, regimes.
_METRICS = (
    ("disparate_impact", "selection_rate", "ratio", "group", _REGIMES),
    ("disparate_impact", "selection_rate", "ratio", "prediction", _REGIMES),
    ("conditional_accuracy", "tpr", "ratio", "outcome", _REGIMES),
    ("demographic_parity_difference", "selection_rate", "difference", "group", _REGIMES),
)


def _cell(name: str, rate: str, contrast: str, missing: str, regime: Any, share: float) -> Cell:
    n, shares, rates, base = regime
    given = {
        "n": n,
        "shares": shares,
        "rates": rates,
        "base": base,
        "missing": missing,
        "share": share,
    }
    groups = (
        f"{round(n * shares[0])} and {round(n * shares[1])} rows, TPR {rates[0]:g} and {rates[1]:g}"
    )
    words = f"{groups}, {missing} missing in {100 * share:g}% (twice where ŷ=1)"
    at = partial(simulate, **given, rate=rate, contrast=contrast)
    return Cell("rates", f"{name}(…).worst_case_bounds()", words, at, claim="conservative")


CELLS = [
    _cell(*metric, regime, share)
    for *metric, regimes in _METRICS
    for regime in regimes
    for share in (0.0, 0.002, 0.02, 0.2)
]
