"""The page of models: what changes between models, or by a mitigation, on the same people."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fairstats.ground.counts import PairedCounts
from fairstats.ground.results import Result
from fairstats.methods.madd.mitigation import MitigationResult
from fairstats.methods.rates.models.result import ModelComparison
from fairstats.methods.rates.models.work import available, compare_all
from fairstats.report import questions
from fairstats.report.crosscheck import pairs
from fairstats.report.inputs import AuditInput
from fairstats.report.methods.page import Answer, Exhibit, Page, Words
from fairstats.report.methods.rates import ratio_settings

#: What is compared, as far as the columns allow.
MODEL_METRICS = (
    "disparate_impact",
    "equal_opportunity_difference",
    "equalized_odds_difference",
    "predictive_parity_difference",
    "accuracy",
    "auc",
    "brier",
    "madd",
    "abroca",
)
_RESAMPLES = 999


def run_models(inputs: AuditInput) -> list[Result]:
    """Changes from the first model to every other, and those of a mitigation."""
    results = compare_models(inputs)
    if inputs.mitigation is not None:
        results.append(inputs.mitigation)
    return results


def compare_models(inputs: AuditInput) -> list[Result]:
    """Changes from the first model to every other; nothing where there is one model."""
    audited = inputs.settings
    models = inputs.models
    counted = inputs.tally
    table: Any
    if models is not None:
        table = models
        names = tuple(dict.fromkeys([*models.predictions, *models.scores]))
    elif counted is not None and isinstance(counted.cells, PairedCounts):
        table = counted.cells
        names = tuple(counted.columns.get(role, role) for role in ("y_pred", "y_pred_b"))
    else:
        return []
    metrics = []
    for name in MODEL_METRICS:
        if available(name, models):
            metrics.append(name)
    if not metrics:
        return []
    settings = replace(
        ratio_settings(audited),
        method="paired",
        n_resamples=audited.n_resamples or _RESAMPLES,
        seed=audited.seed,
    )
    rng = np.random.default_rng(audited.seed)
    return [compare_all(table, names, metrics, names[0], inputs.reference, settings, rng)]


_INTERVALS = {
    "paired score, MOVER": Words(
        text=(
            "paired score, MOVER: within a group all changes that the score test for "
            "pairs does not reject (Nam and Blackwelder; Tango), groups combined by "
            "MOVER."
        ),
        cites=("nam", "zou"),
    ),
    "paired delta with half a row per cell, MOVER": Words(
        text=(
            "paired delta: predictive values of two models by the delta method with "
            "half a row in every cell of label and both predictions."
        )
    ),
    "DeLong": Words(text="DeLong: areas under correlated ROC curves with their covariance."),
    "paired t": Words(
        text=("paired t: Brier scores by the mean difference of people's squared errors.")
    ),
    "paired bootstrap, directional": Words(
        text=(
            "paired bootstrap, directional: MADD (each model's at its own pooled "
            "quantiles) and ABROCA of rows drawn again, all models together; where "
            "groups may be alike the interval allows for it."
        ),
        cites=("fang",),
    ),
}

PAGE = Page(
    method="models",
    run=run_models,
    answers=(
        Answer(questions.MODELS, intervals=_INTERVALS),
        Answer(questions.MITIGATION, intervals=_INTERVALS),
    ),
    exhibits=(
        Exhibit(ModelComparison, questions.MODELS, twin=pairs.models),
        Exhibit(MitigationResult, questions.MITIGATION, twin=pairs.mitigation),
    ),
)
