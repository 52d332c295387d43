"""Recorded names and today's: what was renamed, what went, what says the same in other words.

Keep one entry per line, sorted, each with its reason where there is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

__all__ = ["CLASSES", "EXPLAINED", "FIELDS", "GONE", "KINDS", "REPLACED", "REWORDED"]

#: Notes on differing verdicts have their own test, tests/report/test_side_by_side.py.
EXPLAINED = re.compile(
    r": (violated|satisfied|undecided) as (a ratio|a difference|the largest gap) of "
)
#: Recorded class → today's.
CLASSES: dict[str, str] = {
    "EvaluationCounts": "ConfusionCounts",
    "RiskEntry": "RiskComparison",
    "Comparison": "RateComparison",
}


def _of_the_only_row(name: str) -> Callable[[dict[str, Any]], Any]:
    return lambda new: new["comparisons"][0][name]


#: Fields of the largest gap that stand in its one comparison today.
_MAXIMUM = (
    "bounds",
    "confidence_interval",
    "estimate",
    "note",
    "pvalue",
    "pvalue_adjusted",
    "statistic",
    "verdict",
)
#: Fields of ECD that stand in its comparison today.
_ECD = {"privileged": "reference", "test": "method", "unprivileged": "group"}
#: ``"Class.field"`` as recorded, or ``"*.field"`` for every class, ``"table.column"`` for every
#: table, ``"attributes.name"`` (or ``"Class.attributes.name"``) → today's name. Several names: the
#: first that is there. A dot goes down into a part (``"tally.cells"``). A function gets today's
#: whole (plain) object and returns the value that the recorded field should have.
FIELDS: dict[str, str | tuple[str, ...] | Callable[[dict[str, Any]], Any]] = {
    "*.interval": "confidence_interval",
    "AuditColumns.favorable_pred": "pos_label_pred",
    "AuditColumns.favorable_true": "pos_label_true",
    "AuditSettings.tolerance": "margin",
    "DiscriminativeRiskResult.entries": "comparisons",
    **{f"EcdResult.{name}": _of_the_only_row(name) for name in (*_MAXIMUM, "std_error")},
    **{f"EcdResult.{old}": _of_the_only_row(new) for old, new in _ECD.items()},
    "EcdSettings.tolerance": "margin",
    "EvaluationCounts.cells": lambda new: [[tp, tn, fp, fn] for tp, fp, fn, tn in new["totals"]],
    "EvaluationCounts.sizes": lambda new: [float(sum(cells)) for cells in new["rows"]],
    "ExponentialityTest.alpha": lambda new: round(1 - new["confidence_level"], 12),
    "Look.alpha": lambda new: round(1 - new["confidence_level"], 12),
    "MaddSettings.threshold": "margin",
    "ScottKnott.alpha": lambda new: round(1 - new["confidence_level"], 12),
    "ScottKnott.smaller_is_better": lambda new: not new["larger_is_better"],
    "TailSample.alpha": lambda new: round(1 - new["confidence_level"], 12),
    "TailType.shape": "estimate",
    "ThresholdChoice.alpha": "false_discovery_rate",
    "ThresholdChoice.statistic": "statistic_name",
    "UmPosterior.engine": "backend",
    "table.alpha": lambda new: [round(1 - level, 12) for level in new["confidence_level"]],
    **{f"MaximumResult.{name}": _of_the_only_row(name) for name in _MAXIMUM},
}

#: The same keys → why today's results have no such field.
GONE: dict[str, str] = {
    "ThresholdChoice.attributes.statistic": "it was the name of a statistic: statistic_name"
}

#: Pattern of ``case:path`` (as in the messages; ``*`` for anything) → why the text differs. Only
#: text is let through, never a number. Case:path → words that were replaced; the rest of a text is
#: to be the recorded one.
REPLACED: dict[str, dict[str, str]] = {
    "audit/*:*/statements/*/text": {
        "The tests against the thresholds are unadjusted.": (
            "The p-value of a verdict is about its own null hypothesis, and is adjusted over the"
            " comparisons of its metric. The tests against each single threshold are unadjusted."
        )
    },
    "audit/*:*/methods/*/text": {
        "not confidence intervals, and without a verdict.": (
            "not confidence intervals, and without a verdict. They stand for themselves: one"
            " interval can exclude 0 where the family-wise verdict of a rate shows nothing, and"
            " include it where a ratio is judged against its threshold; and the prior moves small"
            " groups."
        ),
        "the tolerance (p_rope)": "the margin (p_rope)",
        "twice the tolerance": "twice the margin",
    },
}
REWORDED: dict[str, str] = {
    "audit/*/words": "titles of the registry",
    "rates/*agg-max*/words": "titles of the registry",
    "rates/group_metric/*/words": "titles of the registry",
}

#: Pattern of ``case:path`` → (kind, reason), where a field is to be compared otherwise than its
#: case; kind "any" compares nothing and should be rare.
KINDS: dict[str, tuple[str, str]] = {}
