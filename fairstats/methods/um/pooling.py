"""Which rates are pooled over groups, and the cells that follow from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.methods.um.counting import CELLS

#: Rates that are pooled, each by itself, with the cells of their successes and of their failures.
POOLED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "base_rate": (("tp", "fn"), ("fp", "tn")),
    "tpr": (("tp",), ("fn",)),
    "fpr": (("fp",), ("tn",)),
}


def cells_of_rates(base_rate: Floats, tpr: Floats, fpr: Floats) -> Floats:
    """Probabilities of tp, fp, fn, tn, the last axis."""
    probabilities = {
        "tp": base_rate * tpr,
        "fp": (1.0 - base_rate) * fpr,
        "fn": base_rate * (1.0 - tpr),
        "tn": (1.0 - base_rate) * (1.0 - fpr),
    }
    return np.stack([probabilities[cell_name] for cell_name in CELLS], axis=-1)


def successes_and_trials(totals: NDArray[np.float64], rate: str) -> tuple[Floats, Floats]:
    """Successes and trials, both of shape (G,), of a pooled rate in counts of shape (G, 4)."""
    successes, failures = (
        totals[:, [CELLS.index(cell_name) for cell_name in cell_names]].sum(axis=1)
        for cell_names in POOLED[rate]
    )
    return successes, successes + failures
