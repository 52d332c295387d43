"""A whole audit of a fair model.

How often its head says that some difference is real, or that a violation holds.

Two attributes and their crossing, groups of 40 and more crossed cells, predictions that depend on
nothing. The audit is the public one; a sample takes seconds, since crossed groups are small and
have exact tests."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pandas as pd

import fairstats as fs
from tests.calibration.study import Cell, Counts


def fair(rng: np.random.Generator, runs: int, *, rows: int, rate: float) -> Counts:
    """Size: some difference is real over the audit; false violated: a violation holds over it."""
    sex = np.repeat(["f", "m"], rows // 2)
    race = np.tile(np.repeat(["a", "b", "c"], [80, 16, 4]), rows // 100)
    real = holds = 0
    for _ in range(runs):
        hired = (rng.random(rows) < rate).astype(int)
        frame = pd.DataFrame({"sex": sex, "race": race, "hired": hired})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = fs.audit(frame, y_pred="hired", sensitive_features=["sex", "race"]).to_frame()
        real += bool((table["real_over_audit"] == True).any())  # noqa: E712 - a column of True, False and None
        held = (table["holds_over_audit"] == True) & (table["verdict"] == "violated")  # noqa: E712
        holds += bool(held.any())
    return {"size": (real, runs), "false violated": (holds, runs)}


CELLS = [
    Cell(
        "rates",
        "audit(): over the whole audit",
        f"fair, {rows:,} rows, two attributes crossed, rate {rate:g}",
        partial(fair, rows=rows, rate=rate),
        500,
    )
    for rows, rate in ((8_000, 0.4), (2_000, 0.1))
]
