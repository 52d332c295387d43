"""Rates of favourable predictions behind column DI of tables V to VII of Monjezi et al.

    python -m tests.benchmarks.ecd_real_impact [--minutes M] [--record FILE]

The records of `ecd_real_data` and `ecd_real_recent` hold SPD, the difference of these rates, and not
the rates. The same splits, models, seeds and mitigators are fitted again, and nothing is estimated in
the tail: some 20 CPU minutes. Every finished piece is at once a line of JSON in FILE: its key, and the
rate of the unprivileged and of the privileged group of every fit. All pieces that were run are there;
a test compares the differences of the rates with the recorded SPD.

Column DI of the paper is |1 − ratio|: SPD over DI is the rate in the denominator, and which group it
is changes with the data set. Here it is the privileged one throughout."""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.ecd_real_data import SEEDS
from tests.benchmarks.ecd_real_mitigators import HARD, MITIGATORS, SEARCHED, Data, Score
from tests.benchmarks.ecd_real_recent import RECENT
from tests.benchmarks.ecd_real_sets import MODELS, TASKS, Missing, Task

RECORD = Path(__file__).with_name("ecd_real_impact.jsonl")
#: The mitigators of tables V to VII.
OF_TABLES = ("EG", "Fair-SMOTE-like", "STEALTH", "MAAT", "MiniMax", "EcdSearch")
OF_SEARCHED = ("MiniMax", "EcdSearch")
DIGITS = 6


def scores_of(data: Data, what: str) -> dict[str, Score]:
    """Scores of the mitigated model; for EG as it predicts."""
    if what in RECENT:
        return {what: RECENT[what](data)}
    return {what: MITIGATORS[what](data)[what]}


def favourable_rates(score: Score, data: Data, *, soft: bool) -> list[float]:
    """Share of favourable predictions of the held-out rows, of the unprivileged and the privileged."""
    rows = data.frame.iloc[data.held_out]
    group = rows[data.task.protected].to_numpy()
    predicted = score(rows)
    if not soft:
        predicted = (predicted > 0.5).astype(float)
    both = (data.task.unprivileged, data.task.privileged)
    return [round(float(predicted[group == value].mean()), DIGITS) for value in both]


def piece(task: Task, model: str, seed: int, what: str) -> dict[str, Any]:
    """Both rates of one data set, model, seed and mitigator."""
    data = Data(task, model, seed)
    found: dict[str, Any] = {"rates": {}}
    try:
        scores = scores_of(data, what)
    except ValueError as error:  # a fold without one of the classes, rows of one label
        found["failed"] = f"{what}: {error}"[:160]
        return found
    for name, score in scores.items():
        found["rates"][name] = favourable_rates(score, data, soft=name in HARD)
    return found


def keys() -> Iterator[tuple[Task, str, int, str]]:
    """All pieces, seed by seed."""
    for seed in range(SEEDS):
        for what in OF_TABLES:
            for task in TASKS:
                for model in SEARCHED if what in OF_SEARCHED else MODELS:
                    yield task, model, seed, what


def read(record: Path = RECORD) -> list[dict[str, Any]]:
    """Lines of the record."""
    return [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]


@cache
def impacts() -> dict[tuple[str, str, str], dict[int, float]]:
    """(task, model, mitigator) → seed → |1 − P(unprivileged) / P(privileged)|; NaN without a ratio."""
    found: dict[tuple[str, str, str], dict[int, float]] = {}
    for line in read():
        task, model, seed, _ = json.loads(line["key"])
        for variant, (unprivileged, privileged) in line["rates"].items():
            ratio = unprivileged / privileged if privileged > 0 else np.nan
            found.setdefault((task, model, variant), {})[seed] = abs(1 - ratio)
    return found


def run(record: Path, minutes: float) -> None:
    """Compute pieces until the CPU minutes are used up; each is kept at once."""
    done = {line["key"] for line in read(record)} if record.exists() else set()
    for task, model, seed, what in keys():
        key = json.dumps([task.name, model, seed, what])
        if key in done:
            continue
        if time.process_time() > 60 * minutes:
            break
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # unfinished optimisers
                answer = piece(task, model, seed, what)
        except Missing as reason:
            sys.stderr.write(f"{task.name}: left out, {reason}\n")
            continue
        with record.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, **answer}, separators=(",", ":")) + "\n")


def main() -> None:
    """Parse the command line, compute."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.ecd_real_impact",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=30.0, help="CPU minutes")
    parser.add_argument("--record", type=Path, default=RECORD)
    options = parser.parse_args()
    run(options.record, options.minutes)


if __name__ == "__main__":
    main()
