"""Extreme counterfactual discrimination on the paper's real data.

Tables IV, V and VII of Monjezi et al.

    python -m tests.benchmarks.ecd_real_data [--minutes M] [--record FILE]

Every finished piece is at once a line of JSON in FILE (gzip); a run that was broken off, or that
used up its CPU minutes, goes on where it stopped. One piece is a data set, a model, a seed and a
mitigator of `ecd_real_mitigators`: a random 60% of the rows train the model, and the other 40% —
held out — are evaluated. "EG" holds the original model, fairlearn's `ExponentiatedGradient` with
demographic parity around it as it predicts ("EG": the probability of the random prediction) and
with the probabilities of its predictors mixed ("EG, mixed"); the others one fit each. Per group: N,
ACD, CVaR, threshold, parameters of the point process with m interactions, type and horizon; between
the groups: difference of ACD, ECD with interval and likelihood ratio. m = 1,000 where both groups
have 500 held-out rows, 100 where not; k = 50 exceedances, or a quarter of the smaller group's rows
where that is fewer. Data sets that are neither bundled nor in ``../shared/data`` are left out, and
named. The pages are then written by ``python -m tests.benchmarks.ecd_real_page``."""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import fairstats as fs
from tests.benchmarks.ecd_real_mitigators import HARD, MITIGATORS, SEARCHED, Data
from tests.benchmarks.ecd_real_sets import MODELS, TASKS, Missing, Task

RECORD = Path(__file__).parent / "ecd_real_data.jsonl.gz"
#: Interactions where both groups have `ENOUGH` held-out rows, and where not.
INTERACTIONS = 1000
FEWER_INTERACTIONS = 100
ENOUGH = 500
EXCEEDANCES = 50
#: Of every data set, model and mitigator.
SEEDS = 5
#: Share of the worst in CVaR: 5%.
CVAR_LEVEL = 0.95
REVERSED = ", label 1 as printed"


def piece(task: Task, model: str, seed: int, what: str, limit: int | None = None) -> dict[str, Any]:
    """One data set, model, seed and mitigator.

    Parameters
    ----------
    task : Task
    model : {"LR", "SVM", "RF", "MLP"}
    seed : int
        Of the split, the model and the resampling.
    what : str
        Of `MITIGATORS`; "EG" has the original model beside it.
    limit : int, optional
        Rows of the data set at most (for tests).
    """
    data = Data(task, model, seed, limit)
    found: dict[str, Any] = {"train": int(data.train.size), "fits": {}}
    scores = {"original": data.score(data.fitted)} if what == "EG" else {}
    try:
        scores |= MITIGATORS[what](data)
    except ValueError as error:  # a fold without one of the classes, a part of few rows
        found["failed"] = f"{what}: {error}"[:160]
    both = [task.privileged, task.unprivileged]
    for name, score in scores.items():
        sample = fs.counterfactual_discrimination(
            score, data.frame.iloc[data.held_out], sensitive_features=task.protected, values=both
        )
        found["fits"][name] = {
            **performance(sample, data.label, task, soft=name in HARD),
            **measures(sample, task, seed),
        }
        if task.reverse and name == "original":
            turned = fs.results.CounterfactualSample.from_values(
                {g: -sample[g].values() for g in both}
            )
            found["fits"][name + REVERSED] = measures(turned, task, seed)
    return found


def performance(sample: Any, label: np.ndarray, task: Task, soft: bool) -> dict[str, Any]:
    """Accuracy, and differences of favourable rates, of odds on average, and of opportunity."""
    right = []
    rates = []
    for group in (task.unprivileged, task.privileged):
        score = sample[group].actual
        y = label[sample[group].rows]
        chosen = score if soft else (score > 0.5).astype(float)
        right.append(np.where(y == 1, chosen, 1 - chosen))
        of_class = [chosen[y == c].mean() if (y == c).any() else np.nan for c in (0, 1)]
        rates.append((chosen.mean(), np.mean(of_class), of_class[1]))
    figures = (np.concatenate(right).mean(), *np.subtract(*rates))
    return dict(zip(("accuracy", "SPD", "AOD", "EOD"), numbers(*figures), strict=True))


def measures(sample: Any, task: Task, seed: int) -> dict[str, Any]:
    """Averages and extremes of both groups, and their differences."""
    least = min(sample[g].n for g in (task.privileged, task.unprivileged))
    k = min(EXCEEDANCES, max(10, least // 4))
    m = INTERACTIONS if least >= ENOUGH else FEWER_INTERACTIONS
    result = fs.ecd(
        sample,
        privileged=task.privileged,
        unprivileged=task.unprivileged,
        interactions=m,
        threshold=k,
        other_interactions=(),
        sensitivity=(),
        n_resamples=199,
        rng=seed,
        backend="scipy",
    )
    value, interval, test = sample.difference(task.unprivileged, task.privileged)
    return {
        "acd": numbers(value, *interval, test.pvalue),
        "ecd": numbers(result.estimate, *result.confidence_interval, result.pvalue),
        "m": m,
        "verdict": result.verdict,
        "groups": {
            g: group_record(sample, result[g]) for g in (task.privileged, task.unprivileged)
        },
    }


#: What a group's record holds; "own" is the location at the group's own block of e exceedances,
#: "law" the likelihood: of the values, of the cells of a grid, or of a power tail below a near end
#: point.
FIELDS = (
    *("n", "acd", "acd_se", "cvar", "cvar_low", "cvar_high", "k", "tau", "maximum"),
    *(
        "level",
        "level_low",
        "level_high",
        "own",
        "own_se",
        "scale",
        "scale_se",
        "shape",
        "shape_se",
    ),
    *("shape_low", "shape_high", "horizon", "fit_p", "law"),
)


def group_record(sample: Any, tail: Any) -> list[Any]:
    """`FIELDS` of a group, then its type, or why it has none."""
    chosen = sample[tail.group]
    fit = tail.fit
    cvar, cvar_interval = sample.cvar(tail.group, CVAR_LEVEL)
    averages = (chosen.n, chosen.average.estimate, chosen.average.std_error, cvar, *cvar_interval)
    tops = (
        tail.n_exceedances,
        tail.threshold,
        tail.maximum,
        tail.level.estimate,
        *tail.level.confidence_interval,
    )
    if fit is None:
        own = np.quantile(chosen.values(), 1 - min(tail.rate, 1) / np.e)
        return [*numbers(*averages, *tops, own), *[None] * 10, reason(tail.degenerate)]
    block = fit.return_level(np.e / tail.rate)
    error = fit.std_error
    interval = tail.type.confidence_interval
    inference = (
        block.estimate,
        block.std_error,
        fit.scale,
        error["scale"],
        fit.shape,
        error["shape"],
    )
    horizon = tail.type.horizon if np.isfinite(tail.type.horizon) else str(tail.type.horizon)
    rest = [
        *numbers(*averages, *tops, *inference, *interval),
        horizon,
        *numbers(tail.goodness_pvalue),
    ]
    law = "grid" if fit.grid is not None else "power" if fit.by_power else "values"
    return [*rest, law, tail.type.type]


def reason(degenerate: str) -> str:
    """Why a tail has no model, in a word."""
    words = {
        "ties": "ties",
        "equal": "constant",
        "are 0": "constant",
        "end point": "end point",
        "fewer": "few values",
        "no threshold": "few values",
    }
    return next(short for mark, short in words.items() if mark in degenerate)


def numbers(*values: Any) -> list[Any]:
    """Four significant digits each, None for NaN."""
    return [significant(v) for v in values]


def significant(value: Any) -> Any:
    """A number of four significant digits; None for NaN."""
    if isinstance(value, (int, np.integer)):
        return int(value)
    return None if np.isnan(value) else float(f"{value:.4g}")


def keys() -> Iterator[tuple[Task, str, int, str]]:
    """All pieces: the original models and EG with every seed, then the other mitigators, seed by
    seed.
    """
    for what in (["EG"], [name for name in MITIGATORS if name != "EG"]):
        for seed in range(SEEDS):
            for name in what:
                for task in TASKS:
                    for model in SEARCHED if name in ("MiniMax", "EcdSearch") else MODELS:
                        yield task, model, seed, name


def read(record: Path) -> list[dict[str, Any]]:
    """Lines of the record."""
    return list(map(json.loads, gzip.decompress(record.read_bytes()).decode().splitlines()))


def run(record: Path, minutes: float) -> None:
    """Compute pieces until the CPU minutes are used up; each is kept at once."""
    done = {line["key"] for line in read(record)} if record.exists() else set()
    missing = set()
    for task, model, seed, what in keys():
        key = json.dumps([task.name, model, seed, what])
        if key in done or task.name in missing:
            continue
        if time.process_time() > 60 * minutes:
            break
        try:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # unfinished optimisers; ties, which the record names
                answer = piece(task, model, seed, what)
        except Missing as reason:
            sys.stderr.write(f"{task.name}: left out, {reason}\n")
            missing.add(task.name)
            continue
        line = json.dumps({"key": key, **answer}, separators=(",", ":")) + "\n"
        with record.open(
            "ab"
        ) as file:  # a further gzip member, which any reader takes as more lines
            file.write(gzip.compress(line.encode(), 9, mtime=0))
    if record.exists():
        record.write_bytes(packed(read(record)))


def packed(lines: list[dict[str, Any]]) -> bytes:
    """The lines in the order of their keys, as one gzip member."""
    text = (
        json.dumps(line, separators=(",", ":")) + "\n"
        for line in sorted(lines, key=lambda x: x["key"])
    )
    return gzip.compress("".join(text).encode(), 9, mtime=0)


def main() -> None:
    """Parse the command line, compute."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.ecd_real_data", description=__doc__
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="CPU minutes")
    parser.add_argument("--record", type=Path, default=RECORD)
    options = parser.parse_args()
    run(options.record, options.minutes)


if __name__ == "__main__":
    main()
