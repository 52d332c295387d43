"""Extreme counterfactual discrimination on the paper's real data: table IV of Monjezi et al., with intervals.

    python -m tests.benchmarks.ecd_real_data [--minutes M] [--out FILE] [--table FILE]

Every finished piece is a line of JSON in FILE; a run that was broken off, or that used up its CPU minutes,
goes on where it stopped. One piece is a data set, a model and a seed: a random 60% of the rows train the
model, and the other 40% — held out — are evaluated; the same for fairlearn's `ExponentiatedGradient` with
demographic parity around the model, as it predicts ("EG": the probability of the random prediction) and with
the probabilities of its predictors mixed ("EG, mixed"). Per group: N, ACD, CVaR, threshold, parameters of the
point process with m interactions, type and horizon; between the groups: difference of ACD, ECD with interval
and likelihood ratio. m = 1,000 where both groups have 500 held-out rows, 100 where not; k = 50 exceedances,
or a quarter of the smaller group's rows where that is fewer. Data sets that are neither bundled nor in
``../shared/data`` are left out, and named.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import fairstats as fs
from tests.benchmarks.ecd_real_sets import (
    MODELS,
    MOST_TRAINING_ROWS,
    TASKS,
    Missing,
    Mixture,
    Task,
    encoder,
    estimator,
    mitigated,
)

HERE = Path(__file__).parent
#: Interactions where both groups have `ENOUGH` held-out rows, and where not.
INTERACTIONS, FEWER_INTERACTIONS, ENOUGH = 1000, 100, 500
EXCEEDANCES = 50
TRAINING_SHARE = 0.6
#: Seeds of every data set, and of those that have more.
SEEDS, MORE_SEEDS = 3, {"Adult, race": 5, "Adult, sex": 5, "COMPAS, race": 5}
#: Share of the worst in CVaR: 5%.
CVAR_LEVEL = 0.95
REVERSED = ", label 1 as printed"


def piece(task: Task, model: str, seed: int, limit: int | None = None) -> dict[str, Any]:
    """One data set, model and seed.

    Parameters
    ----------
    task : Task
    model : {"LR", "SVM", "RF", "MLP"}
    seed : int
        Of the split, the model and the resampling.
    limit : int, optional
        Rows of the data set at most (for tests).
    """
    frame, label = task.read()
    order = np.random.default_rng(seed).permutation(len(frame))[:limit]
    cut = int(TRAINING_SHARE * order.size)
    train, held_out = order[:cut][: MOST_TRAINING_ROWS[model]], order[cut:]
    prepared = encoder(frame.iloc[train])
    X, y = prepared.transform(frame.iloc[train]), label[train]
    group = frame[task.protected].to_numpy()[train]
    fitted = estimator(model, seed).fit(X, y)
    found: dict[str, Any] = {"train": int(train.size), "fits": {}}

    def original(rows: Any) -> np.ndarray:
        return fitted.predict_proba(prepared.transform(rows))[:, 1]

    scores = {"original": original}
    try:
        gradient = mitigated(model, seed, X, y, group)
    except ValueError as error:  # a fold of the SVM's calibration without one of the classes
        found["EG failed"] = str(error)[:120]
    else:
        found["gap"] = significant(float(gradient.best_gap_))
        mixture = Mixture(gradient, prepared.transform)
        scores |= {"EG": mixture.hard, "EG, mixed": mixture.mixed}
    both = [task.privileged, task.unprivileged]
    for name, score in scores.items():
        sample = fs.counterfactual_discrimination(
            score, frame.iloc[held_out], sensitive_features=task.protected, values=both
        )
        found["fits"][name] = {
            **performance(sample, label, task, soft=name == "EG"),
            **measures(sample, task, seed),
        }
        if task.reverse and name == "original":
            turned = fs.results.CounterfactualSample.from_values({g: -sample[g].values() for g in both})
            found["fits"][name + REVERSED] = measures(turned, task, seed)
    return found


def performance(sample: Any, label: np.ndarray, task: Task, soft: bool) -> dict[str, Any]:
    """Accuracy, difference of favourable rates and average odds difference; expected ones where soft."""
    right, rates = [], []
    for group in (task.unprivileged, task.privileged):
        score, y = sample[group].actual, label[sample[group].rows]
        chosen = score if soft else (score > 0.5).astype(float)
        right.append(np.where(y == 1, chosen, 1 - chosen))
        of_class = [chosen[y == c].mean() if (y == c).any() else np.nan for c in (0, 1)]
        rates.append((chosen.mean(), np.mean(of_class)))
    parity, odds = np.subtract(*rates)
    return dict(
        zip(("accuracy", "SPD", "AOD"), numbers(np.concatenate(right).mean(), parity, odds), strict=True)
    )


def measures(sample: Any, task: Task, seed: int) -> dict[str, Any]:
    """Averages and extremes of both groups, and their differences."""
    least = min(sample[g].n for g in (task.privileged, task.unprivileged))
    k = min(EXCEEDANCES, max(10, least // 4))
    m = INTERACTIONS if least >= ENOUGH else FEWER_INTERACTIONS
    result = fs.ecd(
        sample, privileged=task.privileged, unprivileged=task.unprivileged, interactions=m,
        threshold=k, other_interactions=(), n_resamples=199, rng=seed, backend="scipy",
    )  # fmt: skip
    value, interval, test = sample.difference(task.unprivileged, task.privileged)
    return {
        "acd": numbers(value, *interval, test.pvalue),
        "ecd": numbers(result.estimate, *result.confidence_interval, result.pvalue),
        "m": m,
        "verdict": result.verdict,
        "groups": {g: group_record(sample, result[g]) for g in (task.privileged, task.unprivileged)},
    }


#: What a group's record holds; "own" is the location at the group's own block of e exceedances.
FIELDS = (
    *("n", "acd", "acd_se", "cvar", "cvar_low", "cvar_high", "k", "tau", "maximum"),
    *("level", "level_low", "level_high", "own", "own_se", "scale", "scale_se", "shape", "shape_se"),
    *("shape_low", "shape_high", "horizon", "fit_p"),
)


def group_record(sample: Any, tail: Any) -> list[Any]:
    """`FIELDS` of a group, then its type, or why it has none."""
    chosen, fit = sample[tail.group], tail.fit
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
        return [*numbers(*averages, *tops, own), *[None] * 9, reason(tail.degenerate)]
    block = fit.return_level(np.e / tail.rate)
    error, interval = fit.std_error, tail.type.confidence_interval
    inference = (block.estimate, block.std_error, fit.scale, error["scale"], fit.shape, error["shape"])
    horizon = tail.type.horizon if np.isfinite(tail.type.horizon) else str(tail.type.horizon)
    rest = [*numbers(*averages, *tops, *inference, *interval), horizon, *numbers(tail.goodness_pvalue)]
    return [*rest, tail.type.type]


def reason(degenerate: str) -> str:
    """Why a tail has no model, in a word."""
    words = {
        "distinct": "ties",
        "tied": "ties",
        "equal": "constant",
        "end point": "end point",
        "fewer": "few values",
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


def keys() -> Iterator[tuple[Task, str, int]]:
    """All pieces: one seed of everything, so that a short run has every data set, then the sets with more."""
    rounds = [(task, 0) for task in TASKS]
    for chosen in (True, False):
        some = [task for task in TASKS if (task.name in MORE_SEEDS) == chosen]
        rounds += [(t, s) for s in range(1, max(MORE_SEEDS.values())) for t in some]
    for task, seed in rounds:
        if seed < MORE_SEEDS.get(task.name, SEEDS):
            for model in MODELS:
                yield task, model, seed


def run(out: Path, minutes: float) -> None:
    """Compute pieces until the CPU minutes are used up."""
    done = {json.loads(line)["key"] for line in out.read_text().splitlines()} if out.exists() else set()
    missing = set()
    with out.open("a") as file:
        for task, model, seed in keys():
            key = json.dumps([task.name, model, seed])
            if key in done or task.name in missing:
                continue
            if time.process_time() > 60 * minutes:
                return
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # unfinished optimisers; ties, which the record names
                    answer = piece(task, model, seed)
            except Missing as reason:
                sys.stderr.write(f"{task.name}: left out, {reason}\n")
                missing.add(task.name)
                continue
            file.write(json.dumps({"key": key, **answer}, separators=(",", ":")) + "\n")
            file.flush()


def main() -> None:
    """Parse the command line, compute, write the table."""
    from tests.benchmarks.ecd_real_table import page

    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.ecd_real_data", description=__doc__)
    parser.add_argument("--minutes", type=float, default=40.0, help="CPU minutes")
    parser.add_argument("--out", type=Path, default=HERE / "ecd_real_data.jsonl")
    parser.add_argument("--table", type=Path, default=HERE / "ecd_real_data.md")
    options = parser.parse_args()
    run(options.out, options.minutes)
    options.table.write_text(page(options.out))


if __name__ == "__main__":
    main()
