"""Where the score's verdicts err too often.

A search over sizes, rates, fair ranges and levels, by enumeration.

A family of G groups beside one reference, each with its contrast at an end of its fair range, is
decided at .05/G at Holm's first step. Enumerated is the probability e of a false "violated", and of
a false "satisfied", of one group by the score with both directions (`ground.verdict.z_evidence`);
any of G independent ones has 1 − (1 − e)^G. The switch to exact tests (`numerics.rates.switch`) is
chosen so that this is at most .055 where the score decides.

``python -m tests.calibration.exact_search`` writes ``results/exact_search.json``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import bdtr, ndtr

from fairstats.ground.verdict import fair_range
from fairstats.numerics.rates.binomial import binomial_masses
from fairstats.numerics.rates.region import first_true
from fairstats.numerics.rates.score import (
    difference_score_statistic,
    odds_ratio_score_statistic,
    ratio_score_statistic,
)
from fairstats.numerics.rates.switch import needs_exact

RESULTS = Path(__file__).parent / "results" / "exact_search.json"
#: Groups beside references of so many cases.
SIZES = {
    500: (5, 20, 52, 100, 150, 250, 350, 500),
    1_000: (150, 300, 600, 1_000),
    5_000: (52, 400, 900, 1_500, 2_500, 4_000),
    20_000: (18, 200, 600, 1_500, 3_000, 5_000),
}
RATES = (
    0.02,
    0.03,
    0.04,
    0.05,
    0.07,
    0.1,
    0.15,
    0.2,
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
    0.85,
    0.88,
    0.9,
    0.92,
    0.94,
    0.95,
    0.96,
    0.97,
    0.975,
    0.98,
)
RANGES = (
    ("ratio", 0.8),
    ("ratio", 0.85),
    ("ratio", 0.9),
    ("ratio", 0.95),
    ("ratio", 1.0),
    ("difference", 0.0),
    ("difference", 0.02),
    ("difference", 0.05),
    ("difference", 0.1),
    ("difference", 0.2),
)
#: Of odds ratios, which are searched by themselves (`tests/numerics/rates/test_switch.py`).
ODDS_RATIO_RANGES = (("odds_ratio", 0.5), ("odds_ratio", 0.8), ("odds_ratio", 1.0))
FAMILIES = (1, 2, 4, 8, 12, 20)
STATISTICS = {
    "ratio": ratio_score_statistic,
    "difference": difference_score_statistic,
    "odds_ratio": odds_ratio_score_statistic,
}


class Setting(NamedTuple):
    """A group of n beside a reference of n₀, at one end of a fair range, in a family of
    `groups`.
    """

    contrast: str
    size: float
    end: str
    n: int
    n0: int
    groups: int


def evidence(setting: Setting, k: np.ndarray, k0: np.ndarray, verdict: str) -> np.ndarray:
    """p-value of a verdict in the direction of the end, by the score with both directions."""
    statistic = STATISTICS[setting.contrast]
    low, high = fair_range(setting.contrast, setting.size)
    z_low = statistic(k, setting.n, k0, setting.n0, low)
    z_high = statistic(k, setting.n, k0, setting.n0, high)
    width = z_low - z_high
    outwards = z_low if setting.end == "low" else -z_high
    z = outwards if verdict == "violated" else -outwards
    return ndtr(z) + ndtr(z - width)


def rate_of_group(contrast: str, q: np.ndarray, null: float) -> np.ndarray:
    """Rate of the group where that of the reference is q and the contrast is `null`."""
    if contrast == "ratio":
        return q * null
    if contrast == "odds_ratio":
        return q * null / (1 - q + q * null)
    return q + null


def errors(setting: Setting, rates: Iterable[float], verdict: str) -> tuple[np.ndarray, np.ndarray]:
    """Rates of the reference that are possible, and the probability of a false verdict at each.

    "violated": toward the end at which the contrast is; "satisfied": that this end is excluded from
    outside, as if the other end were far away."""
    low, high = fair_range(setting.contrast, setting.size)
    null = low if setting.end == "low" else high
    q = np.array(list(rates))
    p = rate_of_group(setting.contrast, q, null)
    possible = (p > 0) & (p < 1)
    q = q[possible]
    p = p[possible]
    n = setting.n
    level = 0.05 / setting.groups
    k = np.arange(n + 1.0)
    # a small rate of the group, and a large one of the reference, speak for "below"
    toward_low = (setting.end == "low") == (verdict == "violated")
    masses = group_masses(n, p)
    tail = _shown_of_each(setting, verdict, k, q, level, toward_low=toward_low)
    if verdict == "violated":  # in either direction
        other = setting._replace(end="high" if setting.end == "low" else "low")
        tail = tail + _shown_of_each(other, verdict, k, q, level, toward_low=not toward_low)
    return q, np.einsum("kg,gk->g", masses, tail)


def group_masses(n: int, rates: np.ndarray) -> np.ndarray:
    """Binomial probabilities of all counts of the group, shape (n + 1, rates)."""
    return binomial_masses(np.arange(n + 1)[None], np.array([[n]]), rates[None])[0]


def _shown_of_each(
    setting: Setting, verdict: str, k: np.ndarray, q: np.ndarray, level: float, *, toward_low: bool
) -> np.ndarray:
    """P(the score shows the verdict) for each count of the group, shape (rates, n + 1)."""
    n0 = setting.n0

    def shown(k0: np.ndarray) -> np.ndarray:
        return (evidence(setting, k, k0, verdict) <= level) & ((k > 0) | (k0 > 0))

    if toward_low:
        first = first_true(shown, k.size, n0)
        return 1 - np.where(first > 0, bdtr(np.maximum(first - 1.0, 0), n0, q[:, None]), 0.0)
    first = first_true(lambda k0: ~shown(k0), k.size, n0)
    return np.where(first > 0, bdtr(np.maximum(first - 1.0, 0), n0, q[:, None]), 0.0)


def settings(
    sizes: dict[int, tuple[int, ...]],
    families: Iterable[int] = FAMILIES,
    ranges: Iterable[tuple[str, float]] = RANGES,
) -> Iterator[Setting]:
    """All settings of a grid of group sizes by reference size."""
    pairs = [(n, n0) for n0, groups in sizes.items() for n in groups]
    for (contrast, size), (n, n0), groups, end in product(ranges, pairs, families, ("low", "high")):
        yield Setting(contrast, size, end, n, n0, groups)


def expected_cell(setting: Setting, q: float) -> float:
    """Smallest expected cell of the group at the pooled rate, the contrast at the end of its
    range.
    """
    low, high = fair_range(setting.contrast, setting.size)
    null = low if setting.end == "low" else high
    p = rate_of_group(setting.contrast, q, null)
    pooled = (setting.n * p + setting.n0 * q) / (setting.n + setting.n0)
    return min(setting.n, setting.n0) * min(pooled, 1 - pooled)


def search(every: Iterable[Setting]) -> list[dict[str, object]]:
    """One record for each setting, rate and verdict: error, and its ratio to the nominal one."""
    records = []
    for setting in every:
        for verdict in ("violated", "satisfied"):
            if verdict == "satisfied" and setting.size == (
                0.0 if setting.contrast == "difference" else 1.0
            ):
                continue
            for q, error in zip(*errors(setting, RATES, verdict), strict=True):
                records.append(
                    {
                        **setting._asdict(),
                        "rate": float(q),
                        "verdict": verdict,
                        "error": float(error),
                        "of family": float(1 - (1 - error) ** setting.groups),
                        "expected": expected_cell(setting, float(q)),
                    }
                )
    return records


def by_score(records: list[dict[str, object]]) -> list[dict[str, object]]:
    """Those that the score decides."""
    return [
        record
        for record in records
        if not needs_exact(
            record["n"],
            record["n0"],
            record["expected"],
            0.05 / record["groups"],  # type: ignore[arg-type, operator]
        )
    ]


def worst(records: list[dict[str, object]], number: int) -> list[dict[str, object]]:
    """Those with the largest error of the family."""
    return sorted(records, key=lambda record: -float(record["of family"]))[:number]  # type: ignore[arg-type]


if __name__ == "__main__":
    every = search(settings(SIZES))
    decided = by_score(every)
    record = {
        "settings": len(every),
        "decided by the score": len(decided),
        "worst by the score alone": worst(every, 5),
        "worst where the score decides": worst(decided, 25),
    }
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(every)} settings; {worst(every, 1)}; {worst(decided, 1)}\n")
