"""Synthetic rows for `ecd_real_data`.

Table III on every set, Algorithm 1 switched on, the picture by MDS.

    python -m tests.benchmarks.ecd_real_rows [--minutes M] [--record FILE] [--epochs E]

Needs ctgan (extra `generate`) with torch; without it only the generators of the library and random
rows are run. Lines of JSON in FILE, each kept at once, as in `ecd_real_data`. "quality": a
generator fitted to 1,000 rows of a set (all where there are fewer) and as many rows of it, by
`fs.synthetic_quality`. RND: every column by itself, uniform over its range or its values. "tail":
`fs.sample_tail` for both groups of a set with a model, CTGAN fitted to the group's held-out rows
where the first look did not pass. "mds": COMPAS."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fairstats as fs
from fairstats.methods.ecd.generators import fit_generator
from tests.benchmarks.ecd_real_mitigators import Data
from tests.benchmarks.ecd_real_sets import MODELS, TASKS, Missing, Task, encoder
from tests.benchmarks.synthetic_quality import uniform

RECORD = Path(__file__).parent / "ecd_real_rows.jsonl"
GENERATORS = ("RND", "smoothed_bootstrap", "gaussian_copula", "TVAE", "CTGAN")
SEEDS = 5
#: Real rows of the quality measures, and of each kind in the picture.
ROWS = 1000
POINTS = 150
#: Kinds of rows in the picture.
SHOWN = ("RND", "TVAE", "CTGAN")
EPOCHS = 100
LOOKS = 10
PICTURED = "COMPAS, race"
MEASURES = ("frechet", "kl_similarity", "detection", "f1_loss")


def learnt(name: str, seed: int, epochs: int) -> Any:
    """A seeded generator of ctgan, or the name of a built-in one."""
    if name not in ("CTGAN", "TVAE"):
        return name
    # ctgan encodes columns in as many processes as there are cores, each of which imports torch
    # first
    os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")
    import ctgan

    options = {"enable_gpu": False, "epochs": epochs}
    made = getattr(ctgan, name)(**options)
    made.set_random_state(seed)
    return made


def real_rows(task: Task, seed: int) -> pd.DataFrame:
    """Some rows with their outcome; no missing values, which the measures refuse."""
    frame, label = task.read()
    frame = frame.assign(outcome=np.where(label == 1, "yes", "no")).dropna()
    return frame.sample(min(ROWS, len(frame)), random_state=seed).reset_index(drop=True)


def synthetic(name: str, real: pd.DataFrame, n: int, seed: int, epochs: int) -> pd.DataFrame:
    """Rows by a generator fitted to the real ones."""
    rng = np.random.default_rng(seed)
    if name == "RND":
        return uniform(real, rng).iloc[:n]
    return fit_generator(learnt(name, seed, epochs), real, rng).sample(n)


def quality(task: Task, name: str, seed: int, epochs: int) -> dict[str, Any]:
    """Table III: `MEASURES` of as many synthetic rows as real ones."""
    real = real_rows(task, seed)
    started = time.process_time()
    made = synthetic(name, real, len(real), seed, epochs)
    seconds = round(time.process_time() - started, 1)
    found = fs.synthetic_quality(real, made, "outcome", rng=seed)
    values = {measure: round(float(getattr(found, measure)), 4) for measure in MEASURES}
    return {"rows": len(real), "epochs": epochs, "seconds": seconds, **values}


class Lazy:
    """A CTGAN that is trained when the first row is asked for."""

    def __init__(self, seed: int, epochs: int) -> None:
        self.seed = seed
        self.epochs = epochs
        self.fitted = None

    def fit(self, frame: pd.DataFrame) -> Lazy:
        """Keep the rows."""
        if self.fitted is None:
            self.frame = frame.sample(min(ROWS, len(frame)), random_state=self.seed)
        return self

    def sample(self, n: int) -> pd.DataFrame:
        """Rows."""
        if self.fitted is None:
            rng = np.random.default_rng(self.seed)
            self.fitted = fit_generator(learnt("CTGAN", self.seed, self.epochs), self.frame, rng)
        return self.fitted.sample(n)


def tail(task: Task, seed: int, epochs: int) -> dict[str, Any]:
    """Algorithm 1 for every model and both groups: looks, synthetic rows, how it ended."""
    found: dict[str, Any] = {}
    lazy = {group: Lazy(seed, epochs) for group in (task.privileged, task.unprivileged)}
    for model in MODELS:
        data = Data(task, model, seed)
        score = data.score(data.fitted)
        rows = data.frame.iloc[data.held_out]
        if rows.isna().any(axis=None):
            rows = rows.dropna()
        for group, generator in lazy.items():
            ended = fs.sample_tail(
                score,
                rows,
                sensitive_features=task.protected,
                values=list(lazy),
                group=group,
                generator=generator,
                max_looks=LOOKS,
                rng=seed,
            )
            found[f"{model}, {group}"] = [
                ended.sample.n_real,
                ended.sample.n_synthetic,
                len(ended.looks),
                ended.status,
            ]
    return {"epochs": epochs, "found": found}


def mds(task: Task, seed: int, epochs: int, names: list[str]) -> dict[str, Any]:
    """Places of real and synthetic rows in the plane, by the distances of the encoded rows."""
    from sklearn.manifold import MDS

    real = real_rows(task, seed)
    kinds = {"real": real.iloc[:POINTS]} | {
        n: synthetic(n, real, POINTS, seed, epochs) for n in names
    }
    encode = encoder(real)
    X = np.vstack([encode.transform(rows) for rows in kinds.values()])
    placed = MDS(
        n_components=2, n_init=1, max_iter=200, random_state=seed, init="random"
    ).fit_transform(X)
    parts = np.split(np.round(placed, 3), len(kinds))
    return {name: part.tolist() for name, part in zip(kinds, parts, strict=True)}


def keys(names: list[str]) -> Iterator[tuple[str, ...]]:
    """All pieces, seed by seed."""
    for seed in range(SEEDS):
        for task in TASKS:
            yield from (("quality", task.name, name, str(seed)) for name in names)
        if "CTGAN" in names:
            if seed == 0:
                yield "mds", PICTURED, "all", "0"
            yield from (("tail", task.name, "CTGAN", str(seed)) for task in TASKS)


def run(record: Path, minutes: float, epochs: int) -> None:
    """Compute pieces until the CPU minutes are used up."""
    lines = record.read_text().splitlines() if record.exists() else []
    done = {tuple(json.loads(line)["key"]) for line in lines}
    has = importlib.util.find_spec("ctgan") is not None
    names = [name for name in GENERATORS if has or name not in ("CTGAN", "TVAE")]
    tasks = {task.name: task for task in TASKS}
    for key in keys(names):
        if key in done:
            continue
        if time.process_time() > 60 * minutes:
            break
        what, task, name, seed = key
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch's, and unfinished optimisers
                if what == "quality":
                    answer = quality(tasks[task], name, int(seed), epochs)
                elif what == "tail":
                    answer = tail(tasks[task], int(seed), epochs)
                else:
                    answer = mds(tasks[task], int(seed), epochs, list(SHOWN))
        except Missing:
            continue
        with record.open("a") as file:
            file.write(json.dumps({"key": key, **answer}, separators=(",", ":")) + "\n")


def main() -> None:
    """Parse the command line, compute."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.ecd_real_rows", description=__doc__
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="CPU minutes")
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    options = parser.parse_args()
    run(options.record, options.minutes, options.epochs)


if __name__ == "__main__":
    main()
