"""Extreme counterfactual discrimination, where scores with another value of the attribute are given."""

from __future__ import annotations

import numpy as np

from fairstats.ground.groups import find_reference
from fairstats.ground.results import Result
from fairstats.methods.ecd.ecd import ecd
from fairstats.methods.ecd.sample import CounterfactualSample, GroupSample
from fairstats.report.inputs import AuditInput
from fairstats.report.sections.ecd_words import INTERVALS, REFERENCES, WORDS

__all__ = ["INTERVALS", "REFERENCES", "WORDS", "run"]


def run(inputs: AuditInput) -> list[Result]:
    """Average causal discrimination of every group, and ECD of each against the reference.

    Parameters
    ----------
    inputs : AuditInput
        Nothing without counterfactual scores, with weights, or for crossed attributes. A reference chosen by
        its rate ("highest") means nothing here: the largest group is taken. Clusters are people.
    """
    changed, out = inputs.counterfactual_score, inputs.outcomes
    if changed is None or out.score is None or out.weight is not None:
        return []
    labels, codes, s = out.groups.labels, out.groups.codes, inputs.settings
    sizes = np.bincount(codes, minlength=len(labels))
    named = None if inputs.reference == "highest" else inputs.reference
    reference = labels[find_reference(labels, named, sizes=sizes)[0]]
    groups = []
    for code, name in enumerate(labels):
        rows = np.flatnonzero(codes == code)
        person = None if out.cluster is None else out.cluster.codes[rows]
        cd = changed[rows] - out.score[rows]
        groups.append(GroupSample.of(name, "other", cd, rows, out.score[rows], person))
    first = [g for g in groups if g.group == reference]
    others = [g for g in groups if g.group != reference and g.n]
    sample = CounterfactualSample(inputs.attributes[0], (*first, *others), "other", s.confidence_level)
    found: list[Result] = [sample]
    for group in others:
        found.append(
            ecd(
                sample,
                privileged=reference,
                unprivileged=group.group,
                confidence_level=s.confidence_level,
                rng=s.seed,
            )
        )
    return found
