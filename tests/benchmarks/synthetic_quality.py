"""The tables of `vignettes/synthetic-quality.md`: `python -m tests.benchmarks.synthetic_quality`.

Needs ctgan (extra `generate`) with torch for CPU; about 20 minutes with 300 epochs on one core.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import fairstats as fs
from fairstats.methods.ecd.generators import fit_generator

GENERATORS = ("smoothed_bootstrap", "gaussian_copula", "CTGAN", "TVAE")
#: Rows of the small group, and looks at its tail.
FEW = 150
LOOKS = 10


class Task(NamedTuple):
    """A data set."""

    name: str
    frame: pd.DataFrame
    target: str
    favorable: str
    group: str
    epochs: int


def tasks(epochs: int) -> list[Task]:
    """German credit; 5,000 rows of Adult with a third of the epochs."""
    german = fs.datasets.load_german_credit().frame.drop(columns="personal_status")
    adult = fs.datasets.load_adult().frame.drop(columns=["fnlwgt", "education"]).dropna()
    adult = adult.sample(5_000, random_state=1).reset_index(drop=True)
    best = sorted(adult["income"].unique())[-1]
    women = next(v for v in adult["sex"].unique() if v.lower() == "female")
    return [
        Task("German credit", german, "credit", "good", "female", epochs),
        Task("Adult", adult, "income", best, women, max(epochs // 3, 1)),
    ]


def generator(name: str, epochs: int) -> Any:
    """A name of a built-in one, or a seeded object of ctgan."""
    if name not in ("CTGAN", "TVAE"):
        return name
    import ctgan

    made = getattr(ctgan, name)(epochs=epochs)
    made.set_random_state(1)
    return made


def forest(features: pd.DataFrame, outcome: pd.Series) -> Any:
    """A random forest on encoded columns."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    encode = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include=np.number)),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude=np.number)),
    )
    model = RandomForestClassifier(200, min_samples_leaf=5, random_state=1)
    return make_pipeline(encode, model).fit(features, outcome)


def uniform(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Every column by itself, uniform over its range or its values."""
    made = {}
    for name, column in frame.items():
        if pd.api.types.is_numeric_dtype(column):
            made[name] = (
                rng.uniform(column.min(), column.max(), len(frame)).round().astype(column.dtype)
            )
        else:
            made[name] = rng.choice(column.unique(), len(frame))
    return pd.DataFrame(made)


def quality(task: Task) -> list[dict[str, Any]]:
    """Table III."""
    frame = task.frame
    rng = np.random.default_rng(1)
    order = rng.permutation(len(frame))
    halves = frame.iloc[order[: len(frame) // 2]], frame.iloc[order[len(frame) // 2 :]]
    pairs = {"none": (*halves, 0.0), "random": (frame, uniform(frame, rng), 0.0)}
    for name in GENERATORS:
        started = time.monotonic()
        fitted = fit_generator(generator(name, task.epochs), frame, np.random.default_rng(1))
        pairs[name] = (frame, fitted.sample(len(frame)), time.monotonic() - started)
    rows = []
    for name, (real, made, seconds) in pairs.items():
        found = fs.synthetic_quality(real, made, task.target, rng=1)
        measures = (found.frechet, found.kl_similarity, found.detection, found.f1_loss)
        names = ("frechet", "kl", "detection", "f1_loss")
        rows.append(
            {
                "set": task.name,
                "generator": name,
                **dict(zip(names, measures, strict=True)),
                "seconds": seconds,
            }
        )
    return rows


def looks(task: Task) -> list[dict[str, Any]]:
    """Algorithm 1 on a few rows of the group, every look made."""
    features = task.frame.drop(columns=task.target)
    model = forest(features, task.frame[task.target])
    group = features["sex"] == task.group
    data = pd.concat([features[group].sample(FEW, random_state=2), features[~group]])
    rows = []
    for name in GENERATORS[1:]:
        found = fs.sample_tail(
            model,
            data,
            sensitive_features="sex",
            group=task.group,
            generator=generator(name, task.epochs),
            pos_label=task.favorable,
            stop="all_looks",
            max_looks=LOOKS,
            rng=1,
        )
        rows.append(
            {
                "set": task.name,
                "generator": name,
                "status": found.status,
                "last_statistic": found.looks[-1].statistic,
                "last_pvalue": found.looks[-1].pvalue,
                "smallest_pvalue": min(look.pvalue for look in found.looks),
                "seconds": found.seconds,
            }
        )
    return rows


def main() -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=300)
    chosen = tasks(parser.parse_args().epochs)
    for table in (quality, looks):
        frame = pd.DataFrame([row for task in chosen for row in table(task)])
        sys.stdout.write(frame.to_string(index=False, float_format="{:.3f}".format) + "\n\n")


if __name__ == "__main__":
    main()
