"""Both references of `um_cross_validate` beside each other: "svm" and "landmarks".

    python -m tests.benchmarks.um_references     # two hours of one processor; continues the record

Samples of 800 rows, K = J = 5, a linear rule (`tests.calibration.um`): of each reference ρ of both
groups and the 95% interval of demographic parity, in um_references.json, one line a sample. All
samples that were drawn are in the record, from the first on; 400 were asked for, and the run was
stopped at 300 by the end of its time.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

import fairstats as fs
from tests.calibration.um import LinearRule, parity_of_the_rule, population

RECORD = Path(__file__).with_suffix(".json")
REFERENCES = ("svm", "landmarks")
SAMPLES = 400
ROWS = 800
FOLDS = 5
SEED = 2
_SAVED_AFTER = 25


def compare_references(
    X: np.ndarray, y: np.ndarray, sample: int
) -> dict[str, dict[str, list[float]]]:
    """ρ by group and limits of demographic parity, by reference."""
    found = {}
    for reference in REFERENCES:
        posterior = fs.um_cross_validate(
            LinearRule(),
            X,
            y,
            sensitive_features=X[:, 4].astype(int),
            cv=FOLDS,
            groups=[0, 1],
            reference=0,
            draws=4_000,
            rng=sample,
            progress=False,
            reference_estimator=reference,
        )
        correlation = np.asarray(posterior.cross_validation.rho, dtype=float)
        limits = np.quantile(posterior.metric("demographic_parity"), [0.025, 0.975])
        found[reference] = {
            "rho": [round(value, 5) for value in correlation.tolist()],
            "limits": [round(value, 5) for value in limits.tolist()],
        }
    return found


class Difference(NamedTuple):
    """A mean of the landmarks less that of the support vector machine, with its error."""

    svm: float
    landmarks: float
    error: float


def summarise() -> dict[str, Difference]:
    """What the record says: ρ of both groups, the interval's width, its coverage."""
    samples = json.loads(RECORD.read_text(encoding="utf-8"))
    truth = parity_of_the_rule(ROWS * (FOLDS - 1) // FOLDS)
    rho = np.array([[sample[name]["rho"] for name in REFERENCES] for sample in samples])
    limits = np.array([[sample[name]["limits"] for name in REFERENCES] for sample in samples])
    held = (limits[..., 0] <= truth) & (truth <= limits[..., 1])
    by_name = {
        "rho of the first group": rho[..., 0],
        "rho of the second group": rho[..., 1],
        "width": limits[..., 1] - limits[..., 0],
        "coverage": held.astype(float),
    }
    found = {}
    for name, values in by_name.items():
        change = values[:, 1] - values[:, 0]
        found[name] = Difference(
            svm=float(values[:, 0].mean()),
            landmarks=float(values[:, 1].mean()),
            error=float(change.std(ddof=1) / math.sqrt(len(change))),
        )
    return found


def main() -> None:
    """Draw what the record lacks."""
    samples = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else []
    rng = np.random.default_rng(SEED)
    for sample in range(SAMPLES):
        X, y = population(ROWS, rng)
        if sample < len(samples):
            continue
        samples.append(compare_references(X, y, sample))
        if len(samples) % _SAVED_AFTER == 0:
            lines = ",\n".join(json.dumps(one) for one in samples)
            RECORD.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
