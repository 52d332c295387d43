"""A published cell of the calibration table.

One method at one regime, simulated and kept with its seed.

A module of this folder lists its cells in ``CELLS``. Each cell has a function that simulates some
samples and counts what was asked: how often the interval held the truth, lay above or below it, how
often a test rejected a true null hypothesis, how often a verdict was false. ``python -m
tests.calibration`` runs what the record lacks and writes the page; every run that was made stays in
the record."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "RECORD",
    "Cell",
    "Counts",
    "append_record",
    "is_current",
    "read_record",
    "run_cell",
    "seed_of",
    "tally_interval",
]

RECORD = Path(__file__).with_name("results") / "calibration.jsonl"
#: Samples by which a cell's time is known.
FEWEST = 20
#: measure → (how often it happened, in how many samples that gave an answer)
Counts = Mapping[str, tuple[float, int]]
#: What a cell may count. All are shares of the samples that gave an answer.
MEASURES = {
    "coverage": "the interval held the truth",
    "above": "the whole interval lay above the truth",
    "below": "the whole interval lay below the truth",
    "size": "a test rejected a true null hypothesis",
    "power": "a test rejected a false null hypothesis",
    "false verdict": "any verdict of the family was false",
    "false satisfied": "“satisfied” where the truth lies outside the fair range",
    "false violated": "“violated” where the truth lies inside the fair range",
    "answered": "share of samples with an answer (the others: insufficient evidence)",
}


@dataclass(frozen=True)
class Cell:
    """One method at one regime.

    `room`: "rates", "means", "paired", "power", "madd", "hfm", "um", "evt", "ecd", "hdr" or "peers";
    `method`: public function and option, as users write it; `regime`: sizes, rates, threshold … in
    words; `simulate`: (generator, number of samples) → `Counts`; `runs`: samples wanted; `claim`:
    "valid" (coverage .935 to .965, errors up to .06), "conservative" (coverage may be higher), or
    "fails", with the reason in `remark`; `exact`: enumerated, no Monte Carlo error (`simulate` then
    ignores the generator); `version`: of the method's procedure, raised with every change of its
    rule: lines of the record that another version made show nothing of the cell."""

    room: str
    method: str
    regime: str
    simulate: Callable[[np.random.Generator, int], Counts]
    runs: int = 4_000
    claim: str = "valid"
    remark: str = ""
    exact: bool = False
    version: str = "1"

    @property
    def key(self) -> str:
        """What the record knows the cell by."""
        return f"{self.room} | {self.method} | {self.regime}"


def is_current(cell: Cell, line: Mapping[str, Any] | None) -> bool:
    """Whether a line of the record was made by the procedure that the method has now."""
    return line is not None and line.get("version", "1") == cell.version


def seed_of(key: str) -> int:
    """A fixed seed of a cell, from its key: never chosen by its outcome."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:6], "big")


def tally_interval(
    truth: float, intervals: Iterable[tuple[float, float]]
) -> dict[str, tuple[float, int]]:
    """Counts of coverage and of both misses; NaN intervals are not answers."""
    held = above = below = answered = total = 0
    for low, high in intervals:
        total += 1
        if math.isnan(low) or math.isnan(high):
            continue
        answered += 1
        above += low > truth
        below += high < truth
        held += low <= truth <= high
    return {
        "coverage": (held, answered),
        "above": (above, answered),
        "below": (below, answered),
        "answered": (answered, total),
    }


def run_cell(cell: Cell, *, runs: int | None = None, seconds: float = math.inf) -> dict[str, Any]:
    """Simulate a cell: the line of the record.

    With `seconds` only as many samples as fit into about so long by the time of the first few,
    which decide nothing else: the seed of the cell is the same."""
    seed = seed_of(cell.key)
    wanted = _affordable(cell, runs or cell.runs, seconds)
    started = time.perf_counter()
    counts = cell.simulate(np.random.default_rng(seed), wanted)
    unknown = set(counts) - set(MEASURES)
    if unknown:
        raise ValueError(f"{cell.key}: unknown measures {sorted(unknown)}")
    return {
        "key": cell.key,
        "runs": wanted,
        "seed": seed,
        "exact": cell.exact,
        "version": cell.version,
        "seconds": round(time.perf_counter() - started, 2),
        "measures": {name: [float(k), int(n)] for name, (k, n) in counts.items()},
    }


def _affordable(cell: Cell, wanted: int, seconds: float) -> int:
    """Samples that about so many seconds of the processor are enough for, at least `FEWEST`."""
    if cell.exact or math.isinf(seconds) or wanted <= FEWEST:
        return wanted
    many = FEWEST
    while many < wanted:  # samples that are made at once cost less than the first few of them
        started = time.process_time()
        cell.simulate(np.random.default_rng(0), many)
        took = time.process_time() - started
        if took > seconds / 10:
            return min(wanted, max(int(many * seconds / took), FEWEST))
        many *= 4
    return wanted


def append_record(line: Mapping[str, object], path: Path = RECORD) -> None:
    """Add a line to the record, on a line of its own whatever a killed run left behind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    start = "" if not text or text.endswith("\n") else "\n"
    with path.open("a", encoding="utf-8") as file:
        file.write(start + json.dumps(line, ensure_ascii=False) + "\n")


def read_record(path: Path = RECORD) -> dict[str, dict[str, Any]]:
    """The last line of each cell in the record.

    A line that a killed run left unfinished is passed over.
    """
    found: dict[str, dict[str, Any]] = {}
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            line = json.loads(text)
            found[line["key"]] = line
        except (ValueError, KeyError, TypeError):
            continue
    return found
