"""The published example of R's birdie, beside posteriors, estimates and bounds from probabilities.

birdie (McCartan et al. 2025) assumes that outcomes do not depend on the name beside the group, as
`um_posterior` does with probabilities; weighting assumes that they do not depend on the group. Its
example has 5,000 rows with their true groups. `tests/reference/birdie_pseudo_vf.json.gz` holds what
it prints, and the sums of its probabilities, which are no rows. The rows are read where they are:
FAIRSTATS_BIRDIE names a file with its probabilities (pr_…), turnout and race.
"""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.registry import METRICS
from fairstats.methods.rates.inferred.compare import compare_counts

RECORD = Path(__file__).parents[3] / "reference" / "birdie_pseudo_vf.json.gz"
ROWS = os.environ.get("FAIRSTATS_BIRDIE", "")


def record() -> dict[str, Any]:
    with gzip.open(RECORD, "rt", encoding="utf-8") as stream:
        found: dict[str, Any] = json.load(stream)
    return found


def test_bounds_and_estimate_of_the_recorded_sums() -> None:
    """Recomputed from the sums: the bounds hold the truth and what both models say of it."""
    recorded = record()
    result = fs.results.Result.from_dict(recorded["result"])
    again = compare_counts(
        METRICS["demographic_parity_difference"],
        result.counts,
        replace(result.settings, reference_rule="named"),
        "white",
    )
    (row,) = again.comparisons
    (stored,) = recorded["result"]["comparisons"]
    for field in ("estimate", "set_low", "set_high", "weighted", "regression"):
        assert getattr(row, field) == pytest.approx(stored[field], abs=1e-12)
    assert row.set_low < recorded["true_difference"] < row.set_high
    # the weighted estimate lies nearer to 0 than the truth, as weighting's assumption makes it
    assert recorded["true_difference"] < row.weighted < 0
    # regression assumes what birdie assumes, and is nearer to the truth
    assert abs(row.regression - recorded["true_difference"]) < abs(
        row.weighted - recorded["true_difference"]
    )


@pytest.mark.filterwarnings("ignore:data augmentation did not converge")  # of 8 to 35 rows
@pytest.mark.skipif(not ROWS, reason="FAIRSTATS_BIRDIE names no file with birdie's example")
def test_on_the_rows_themselves() -> None:
    recorded = record()
    table = pd.read_csv(ROWS)
    probabilities = table[[f"pr_{group}" for group in recorded["groups"]]]
    probabilities.columns = recorded["groups"]
    turnout = (table["turnout"] == "yes").astype(int)
    weighted = fs.demographic_parity_difference(
        y_pred=turnout, sensitive_probabilities=probabilities, reference="white", rng=1
    )
    for group, expected in zip(recorded["groups"][1:], recorded["weighted"][1:], strict=True):
        assert weighted[group].weighted == pytest.approx(
            expected - recorded["weighted"][0], abs=2e-6
        )
        assert weighted[group].set_low < 0 < weighted[group].set_high
    posterior = fs.um_posterior(
        turnout, turnout, sensitive_probabilities=probabilities, prior=0.5, draws=8_000, rng=1
    )
    draws = posterior.metric("selection_rate", by_group=True)
    distance = draws.mean(axis=0) - np.array(recorded["birdie"])
    assert (np.abs(distance) < 0.1 * draws.std(axis=0)).all()
    # of the groups with more than 100 expected rows it is nearer to the truth than weighting
    for place in range(3):
        true = recorded["true"][place]
        assert abs(draws[:, place].mean() - true) < abs(recorded["weighted"][place] - true)
