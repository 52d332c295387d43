"""Cost by groups, rows and calls, and memory of resampling: `python -m tests.benchmarks.groups_scale`.

Writes one line of JSON for each public call to `groups_scale.jsonl`: processor seconds of one BLAS
thread, the peak of all arrays above the input (tracemalloc), and the load of the machine. `--page`
writes the table that `vignettes/scale.md` shows of that record.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fairstats as fs
from fairstats.ground.values import factorize
from fairstats.numerics.evt import fit_gpd, goodness_of_fit

RECORD = Path(__file__).with_name("groups_scale.jsonl")
PAGE = Path(__file__).parents[2] / "vignettes" / "scale.md"
#: Where the table stands in the page.
BEGIN = "<!-- groups_scale: begin -->"
END = "<!-- groups_scale: end -->"
N_ROWS = 100_000
GROUPS = (2, 20, 200)


def measure_call(ask: Callable[[], Any], repetitions: int = 1) -> tuple[float, float]:
    """Processor seconds of a call, and the megabytes of its arrays at their most (a second call).

    Of short calls the least of several, after one that loads what is loaded once.
    """
    if repetitions > 1:
        ask()
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        ask()
        times.append(time.process_time() - start)
    seconds = min(times)
    tracemalloc.start()
    ask()
    megabytes = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return seconds, megabytes


def calls_by_groups(n_groups: int) -> dict[str, Callable[[], Any]]:
    """The calls that resample scores of so many groups, 10⁵ rows in all."""
    rng = np.random.default_rng(1)
    group = rng.integers(0, n_groups, N_ROWS)
    score = rng.random(N_ROWS)
    label = (rng.random(N_ROWS) < score).astype(int)
    chosen = (score > 0.5).astype(int)
    asked: dict[str, Any] = {"sensitive_features": group, "reference": 0, "rng": 1}
    return {
        "`abroca` against a reference": lambda: fs.abroca(label, score, **asked),
        "`madd` against a reference": lambda: fs.madd(score, **asked),
        '`demographic_parity_difference`, `agg="max"`': lambda: fs.demographic_parity_difference(
            y_pred=chosen, sensitive_features=group, agg="max"
        ),
    }


def small_calls() -> dict[str, Callable[[], Any]]:
    """Calls with a hundred rows of two groups."""
    rng = np.random.default_rng(1)
    group = rng.integers(0, 2, 100)
    score = rng.random(100)
    label = (rng.random(100) < score).astype(int)
    chosen = (score > 0.5).astype(int)
    features = rng.normal(size=(100, 4))
    frame = pd.DataFrame({"label": label, "chosen": chosen, "score": score, "group": group})
    asked: dict[str, Any] = {"sensitive_features": group}
    return {
        "`demographic_parity_difference`": lambda: fs.demographic_parity_difference(
            y_pred=chosen, **asked
        ),
        "`abroca`": lambda: fs.abroca(label, score, rng=1, **asked),
        "`madd`": lambda: fs.madd(score, rng=1, **asked),
        '`madd`, `permutations="search"`': lambda: fs.madd(
            score, permutations="search", rng=1, **asked
        ),
        "`hfm`, 999 permutations": lambda: fs.hfm(
            features, label, chosen, n_resamples=999, rng=1, **asked
        ),
        "`audit` with a score": lambda: fs.audit(
            frame, y_true="label", y_pred="chosen", score="score", sensitive_features="group", rng=1
        ),
    }


def calls_by_texts() -> dict[str, Callable[[], Any]]:
    """Groups as NumPy's own texts."""
    texts = np.random.default_rng(1).choice(np.array(["white", "black", "asian", "other"]), 10**6)
    return {"groups of NumPy texts (`factorize`)": lambda: factorize(texts, "group")}


def calls_by_rows(n_values: int) -> dict[str, Callable[[], Any]]:
    """Goodness of fit of so many exceedances, 199 samples simulated and fitted."""
    values = np.random.default_rng(1).exponential(size=n_values)
    fit = fit_gpd(values, threshold=0.0)
    return {"`goodness_of_fit`, 199 samples": lambda: goodness_of_fit(fit, n_resamples=199, rng=1)}


def make_table(record: Sequence[dict[str, Any]]) -> str:
    """The table of the page: one line a call and size."""
    lines = [
        "| call | groups | rows | CPU s | arrays, MB | load |",
        "|---|---|---|---|---|---|",
        *(
            f"| {entry['call']} | {entry['groups']} | {entry['rows']:,} |"
            f" {entry['seconds']:.2g} | {entry['megabytes']:.0f} | {entry['load']:.0f} |"
            for entry in record
        ),
    ]
    return "\n".join(lines)


def read_record() -> list[dict[str, Any]]:
    """The measurements, in the order in which they were made."""
    return [json.loads(line) for line in RECORD.read_text(encoding="utf-8").splitlines()]


def write_page() -> str:
    """The page with the table of the record between its two marks."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{make_table(read_record())}\n{END}{after}"


def main() -> None:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="write vignettes/scale.md")
    if parser.parse_args().page:
        PAGE.write_text(write_page(), encoding="utf-8")
        return
    planned = [(2, 100, 5, small_calls()), (4, 10**6, 5, calls_by_texts())]
    planned += [(n_groups, N_ROWS, 1, calls_by_groups(n_groups)) for n_groups in GROUPS]
    planned += [(1, n_values, 1, calls_by_rows(n_values)) for n_values in (1_000, 10_000, 100_000)]
    record = []
    for n_groups, n_rows, repetitions, calls in planned:
        for name, ask in calls.items():
            seconds, megabytes = measure_call(ask, repetitions)
            entry = {
                "call": name,
                "groups": n_groups,
                "rows": n_rows,
                "seconds": float(f"{seconds:.3g}"),
                "megabytes": float(f"{megabytes:.3g}"),
                "load": round(os.getloadavg()[0], 1),
            }
            record.append(entry)
            sys.stdout.write(json.dumps(entry) + "\n")
            sys.stdout.flush()
    RECORD.write_text("".join(json.dumps(entry) + "\n" for entry in record), encoding="utf-8")


if __name__ == "__main__":
    main()
