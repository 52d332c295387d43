"""The least number of exceedances of `fs.ecd`, by search: `python -m tests.calibration.ecd_least`.

Fewer exceedances lie nearer to the end, where tails differ less from generalised Pareto ones, and
leave wider intervals. For each candidate both groups have the same share of their rows above the
threshold, as `exceedances_of_pair` has it, and the test of equal laws by the quick standardised
root that the cells use is asked at 5%, with `RUNS` samples a setting (Monte Carlo error .0025).
Beside it stands the median width of the interval of `fs.ecd` at 1,500 beside 20,000 rows of a
beta(2, 8), relative to that by 50. The number that is taken is the largest up to which the worst
size is at most .06, as narrow as that allows. The record is `results/ecd_least.json`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.special import stdtrit

from fairstats.methods.ecd import tail
from tests.calibration.ecd import (
    BETA,
    LOGNORMAL,
    MIXTURE,
    STUDENT,
    WEIBULL,
    Law,
    _batches,
    _pareto,
    _Rows,
    answers,
    drawn_samples,
)

RECORD = Path(__file__).with_name("results") / "ecd_least.json"
RUNS = 8_000
WIDTHS = 40
CANDIDATES = (15, 20, 25, 30, 40, 50)
#: Where 1.25% of the smaller group are fewer than the candidates, and 5% of it more.
SETTINGS: tuple[tuple[tuple[int, int], Law], ...] = (
    ((1_500, 20_000), MIXTURE),
    ((1_500, 20_000), BETA),
    ((1_500, 20_000), _pareto(-0.35)),
    ((1_000, 1_000), LOGNORMAL),
    ((1_000, 9_000), STUDENT),
    ((1_000, 12_000), WEIBULL),
)
#: Size that is allowed.
MOST = 0.06


def size_of(
    least: int, sizes: tuple[int, int], law: Law, runs: int = RUNS, seed: int = 31
) -> float:
    """How often alike laws are rejected at 5% with this least number."""
    rng = np.random.default_rng([seed, *sizes, len(law.name)])
    rejected = 0
    with patch.object(tail, "_FEWEST_DEFAULT", least):
        count = min(tail.exceedances_of_pair(_Rows(sizes[0]), _Rows(sizes[1])))  # type: ignore[arg-type]
        limit = float(stdtrit(count - 3, 0.975))
        for batch in _batches(runs):
            roots = drawn_samples(rng, batch, sizes, law, (), 0.0).roots[:, 0]
            rejected += int((np.abs(roots) > limit).sum())
    return rejected / runs


def median_width(least: int, runs: int = WIDTHS, seed: int = 31) -> float:
    """Median width of the interval of `fs.ecd` with this least number."""
    with patch.object(tail, "_FEWEST_DEFAULT", least):
        found = list(answers(np.random.default_rng(seed), runs, (1_500, 20_000), BETA))
    return float(np.median([one.confidence_interval.width for one in found]))


def chosen(lines: list[dict[str, Any]]) -> int:
    """The largest candidate up to which every worst size is at most `MOST`."""
    held = 0
    for line in lines:
        if line["worst size"] > MOST:
            break
        held = line["least"]
    return held


def main() -> None:
    """Search and write the record."""
    widest = median_width(max(CANDIDATES))
    lines = []
    for least in CANDIDATES:
        sizes = [size_of(least, *setting) for setting in SETTINGS]
        line = {
            "least": least,
            "sizes": [round(size, 4) for size in sizes],
            "worst size": round(max(sizes), 4),
            "width": round(median_width(least) / widest, 3),
        }
        lines.append(line)
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
    text = ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    RECORD.write_text(f"[\n{text}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
