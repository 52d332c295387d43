"""Several models in an audit: what changes from the first to every other, on the same people."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fairstats.ground.counts import PairedCounts
from fairstats.ground.results import Result
from fairstats.methods.rates.models.work import available, compare_all
from fairstats.methods.rates.setup import make_settings
from fairstats.report.inputs import AuditInput

#: What is compared, as far as the columns allow.
METRICS = (
    "disparate_impact", "equal_opportunity_difference", "equalized_odds_difference",
    "predictive_parity_difference", "accuracy", "auc", "brier", "madd", "abroca",
)  # fmt: skip
_RESAMPLES = 999


def run_models(inputs: AuditInput) -> list[Result]:
    """Changes from the first model to every other; nothing where there is one model."""
    s, data = inputs.settings, inputs.models
    table: Any = data
    if data is None:
        cells = None if inputs.tally is None else inputs.tally.cells
        if not isinstance(cells, PairedCounts) or inputs.tally is None:
            return []
        columns = inputs.tally.columns
        table, names = cells, tuple(columns.get(role, role) for role in ("y_pred", "y_pred_b"))
    else:
        names = tuple(dict.fromkeys([*data.predictions, *data.scores]))
    shared = {"confidence_level": s.confidence_level, "adjust": s.adjust, "comparisons": s.comparisons}
    settings = make_settings("ratio", {**shared, "threshold": s.threshold})
    drawn = max(s.n_resamples or _RESAMPLES, 100)
    settings = replace(settings, margin=s.margin, method="paired", n_resamples=drawn, seed=s.seed)
    metrics = [name for name in METRICS if available(name, data)]
    if not metrics:
        return []
    rng = np.random.default_rng(s.seed)
    return [compare_all(table, names, metrics, names[0], inputs.reference, settings, rng)]
