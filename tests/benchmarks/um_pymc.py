"""PyMC's posterior beside the exact draws, on a cross-validation of German credit.

    python -m tests.benchmarks.um_pymc     # two minutes; needs pymc

Writes um_pymc.json: of the summed counts of the linear SVM with Hardt's post-processing in the first
cross-validation of run 2 of `um_german_credit`, mean and standard deviation of three metrics by
``sampler="pymc"`` and ``sampler="exact"``, with ArviZ's effective sizes of both, one run for each
of two seeds.

All runs that were made: 4,000 draws by seed 1 (the deviation of accuracy 2.9 errors below the exact
one, the other five numbers within 1.4), then 8,000 by seed 1, which begin with the same draws (2.1),
and, because of that, 8,000 by seed 2. The last two are the record and are judged together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import fairstats as fs
from tests.benchmarks.um_german_figures import GROUPS, loaded

RECORD = Path(__file__).with_suffix(".json")
METHOD = "Lin. SVM + Hardt"
METRICS = ("accuracy", "equal_opportunity", "demographic_parity")
DRAWS = 8_000
CHAINS = 4
SEEDS = (1, 2)
EXACT_DRAWS = 200_000


def compare_samplers(seed: int) -> dict[str, Any]:
    """Mean and standard deviation by sampler and metric, and their effective sizes."""
    import arviz as az

    record = loaded()
    cells = record.sums[METHOD][min(record.sums[METHOD])]
    counts = fs.ConfusionCounts(GROUPS, cells, cells)
    sampled = fs.um_posterior(counts=counts, sampler="pymc", draws=DRAWS, rng=seed)
    exact = fs.um_posterior(counts=counts, draws=EXACT_DRAWS, rng=1)
    metrics = {}
    for name in METRICS:
        draws = np.asarray(sampled.metric(name))
        chains = draws.reshape(CHAINS, -1)
        independent = np.asarray(exact.metric(name))
        metrics[name] = {
            "pymc": [float(draws.mean()), float(draws.std())],
            "exact": [float(independent.mean()), float(independent.std())],
            "effective_sizes": [float(az.ess(chains, method=kind)) for kind in ("mean", "sd")],
        }
    return {"seed": seed, "draws": DRAWS, "metrics": metrics}


def main() -> None:
    runs = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else []
    for seed in SEEDS:
        if seed not in {run["seed"] for run in runs}:
            runs.append(compare_samplers(seed))
            RECORD.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
