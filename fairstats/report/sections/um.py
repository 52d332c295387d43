"""Uncertainty Matters: joint posteriors of accuracy and fairness, where labels and predictions are there."""

from __future__ import annotations

from dataclasses import replace

from fairstats.ground.results import Result
from fairstats.methods.um.evaluation_counts import as_counts
from fairstats.methods.um.posterior import posterior_of_counts
from fairstats.report.inputs import AuditInput
from fairstats.report.sections.um_words import INTERVALS, REFERENCES, WORDS

__all__ = ["INTERVALS", "REFERENCES", "WORDS", "run"]

_DRAWS = 10_000


def run(inputs: AuditInput) -> list[Result]:
    """Posteriors of accuracy and fairness; nothing without labels and predictions, or with weights.

    Parameters
    ----------
    inputs : AuditInput
        A multinomial likelihood has no design weights, so that weighted and clustered rows have no such
        section. A reference chosen by its rate ("highest") means nothing here: the largest group is taken.
        The tolerance is the region of practical equivalence.
    """
    if not (inputs.has_labels and inputs.has_predictions) or inputs.counts.weighted:
        return []
    s = inputs.settings
    counts, _ = as_counts(None, None, inputs.counts)
    posterior = posterior_of_counts(
        counts,
        None,
        prior=1.0,
        draws=_DRAWS,
        target="parameter",
        reference=None if inputs.reference == "highest" else inputs.reference,
        rng=s.seed,
    )
    return [
        replace(
            posterior,
            table_metrics=tuple(WORDS),
            table_prob=s.confidence_level,
            table_rope=s.tolerance,
        )
    ]
