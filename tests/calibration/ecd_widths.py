"""What `fs.ecd`'s procedure costs in width: `python -m tests.calibration.ecd_widths`.

Beside the interval of a call with its defaults stands that of the same samples with the thresholds
that were the default before: 50 exceedances in each group, at most 5% of its rows, whatever the
share of the rows that this is in the other group. Where that procedure had the size that it claimed
(`HELD`: beta(2, 8) .060, lognormal .051, Weibull .046), equal and smaller shares may cost no more
than 1.4 times its width. Where it had not (`FAILED`: alike laws were rejected in .068 to .15 of
samples), a wider interval is what the right size costs.

The record is `results/ecd_widths.json`; `vignettes/calibration.md` prints it.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import fairstats as fs
from fairstats.methods.ecd.tail import exceedances_alone
from tests.calibration.ecd import (
    BETA,
    LOGNORMAL,
    MIXTURE,
    STUDENT,
    WEIBULL,
    Law,
    _pareto,
    _Rows,
    sample_of,
)

RECORD = Path(__file__).with_name("results") / "ecd_widths.json"
RUNS = 60
#: Groups and laws of METHODS §7 in which 50 exceedances a group had their size, and in which not.
HELD: tuple[tuple[tuple[int, int], Law], ...] = (
    ((1_500, 20_000), BETA),
    ((500, 20_000), LOGNORMAL),
    ((700, 12_000), WEIBULL),
)
FAILED: tuple[tuple[tuple[int, int], Law], ...] = (
    ((1_000, 1_000), LOGNORMAL),
    ((1_500, 20_000), MIXTURE),
    ((300, 9_000), STUDENT),
    ((1_500, 20_000), _pareto(-0.35)),
)
#: Ranks of ordered ratios between which the median of 60 lies in 95% or more: the binomial law has
#: .96 between 23 and 38.
_RANKS = (23, 38)
#: What the ratio may be where the former procedure held.
MOST = 1.4


def widths(rng: np.random.Generator, sizes: tuple[int, int], law: Law) -> list[float]:
    """Widths of the 95% interval of one pair of samples: by the defaults, as it was before, and with
    50 exceedances in each group.
    """
    values = {str(group): sample_of(rng, n, law) for group, n in enumerate(sizes)}
    thresholds = {}
    for group, sample in values.items():
        count = exceedances_alone(_Rows(sample.size))  # type: ignore[arg-type]
        thresholds[group] = float(np.partition(sample, -count - 1)[-count - 1])
    found = []
    for threshold in (None, thresholds, 50):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fs.FairstatsWarning)
            result = fs.ecd(
                values,
                reference="1",
                threshold=threshold,
                backend="scipy",
                n_resamples=0,
                sensitivity=(),
                other_interactions=(),
                rng=1,
            )
        found.append(result.confidence_interval.width)
    return found


def ratios(sizes: tuple[int, int], law: Law, runs: int = RUNS, seed: int = 31) -> np.ndarray:
    """Ratios of the default's width to the two others in `runs` pairs of samples, (runs, 2)."""
    rng = np.random.default_rng([seed, *sizes, len(law.name)])
    found = []
    for _ in range(runs):
        by_default, before, by_fifty = widths(rng, sizes, law)
        found.append((by_default / before, by_default / by_fifty))
    return np.array(found)


def line_of(sizes: tuple[int, int], law: Law, held: bool) -> dict[str, Any]:
    """A line of the record: the median ratio, its 95% interval by order statistics, the first
    ratio, by which a test makes the line anew, and the median beside 50 in each group, which may be
    more than 5% of its rows.
    """
    of_samples = ratios(sizes, law)
    ordered = np.sort(of_samples[:, 0])
    return {
        "sizes": list(sizes),
        "law": law.name,
        "held": held,
        "runs": RUNS,
        "median": round(float(np.median(ordered)), 3),
        "low": round(float(ordered[_RANKS[0] - 1]), 3),
        "high": round(float(ordered[_RANKS[1] - 1]), 3),
        "first": round(float(of_samples[0, 0]), 3),
        "beside 50": round(float(np.median(of_samples[:, 1])), 3),
    }


def main() -> None:
    """Run all settings and write the record."""
    lines = []
    for held, settings in ((True, HELD), (False, FAILED)):
        for sizes, law in settings:
            line = line_of(sizes, law, held)
            lines.append(line)
            sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
            sys.stdout.flush()
    text = ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    RECORD.write_text(f"[\n{text}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
