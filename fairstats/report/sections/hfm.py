"""HFM: distances between groups as sets of rows, where features, labels and predictions are there."""

from __future__ import annotations

from fairstats.ground.results import Result
from fairstats.methods.hfm.metric import hfm
from fairstats.report.inputs import AuditInput
from fairstats.report.sections.hfm_words import REFERENCES, WORDS

__all__ = ["REFERENCES", "WORDS", "run"]


def run(inputs: AuditInput) -> list[Result]:
    """D, D_f and HFM of the groups; nothing without features, labels and predictions.

    Parameters
    ----------
    inputs : AuditInput
        Weights do not enter: a set has its rows once. Rows are named by their position, so that a report
        holds no one's label.
    """
    out = inputs.outcomes
    if inputs.features is None or not (inputs.has_labels and inputs.has_predictions):
        return []
    groups = [out.groups.labels[code] for code in out.groups.codes]
    return [
        hfm(
            inputs.features,
            out.y_true,
            out.y_pred,
            sensitive_features={" & ".join(inputs.attributes): groups},
            rng=inputs.settings.seed,
        )
    ]
