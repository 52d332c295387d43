"""MADD: the distance between the score distributions of groups, where a score is given."""

from __future__ import annotations

from dataclasses import replace

from fairstats.ground.results import Result
from fairstats.methods.madd.metric import madd_of_scores, warn_of
from fairstats.methods.madd.scores import GroupScores
from fairstats.methods.madd.settings import make_settings
from fairstats.report.inputs import AuditInput
from fairstats.report.sections.madd_words import INTERVALS, REFERENCES, TESTS, WORDS

__all__ = ["INTERVALS", "REFERENCES", "TESTS", "WORDS", "run"]

_RESAMPLES = 1_999


def run(inputs: AuditInput) -> list[Result]:
    """MADD of every comparison that the audit makes; nothing without a score.

    Parameters
    ----------
    inputs : AuditInput
        Each group is compared with the reference, or all pairs. A reference chosen by its rate ("highest")
        means nothing here: then all pairs are compared. The threshold is twice the tolerance, since MADD/2
        bounds the difference of selection rates. The curves that were searched are not kept: a thousand
        numbers per comparison.
    """
    if not inputs.has_scores:
        return []
    s = inputs.settings
    pairs = s.comparisons == "all" or inputs.reference == "highest"
    settings = make_settings(
        comparisons="all" if pairs else "reference",
        threshold=min(2 * s.tolerance, 2.0),
        confidence_level=s.confidence_level,
        adjust=s.adjust,
        n_resamples=max(s.n_resamples or _RESAMPLES, 99),
    )
    scores = GroupScores.from_outcomes(inputs.outcomes)
    result = madd_of_scores(scores, None if pairs else inputs.reference, settings, s.seed)
    warn_of(result)
    return [replace(result, comparisons=tuple(replace(c, curve=None) for c in result.comparisons))]
