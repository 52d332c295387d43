"""What every report must say about its own inference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairstats.ground.groups import INTERSECTION
from fairstats.ground.serialise import serialisable

if TYPE_CHECKING:
    from fairstats.ground.counts import CellCounts
    from fairstats.report.section import Section
    from fairstats.report.settings import AuditColumns, AuditSettings

__all__ = ["Statement", "make_statements"]


@serialisable
@dataclass(frozen=True)
class Statement:
    """One statement: what it is about, and the text."""

    title: str
    text: str


def make_statements(
    columns: AuditColumns,
    settings: AuditSettings,
    tables: Sequence[CellCounts],
    sections: Sequence[Section],
) -> tuple[Statement, ...]:
    """The statements of an audit.

    Parameters
    ----------
    columns : AuditColumns
    settings : AuditSettings
    tables : sequence of CellCounts
        One per set of attributes.
    sections : sequence of Section
    """
    made = [
        Statement("Conditional on the model", _CONDITIONAL),
        Statement("Rows used in training", _TRAINING[settings.evaluated_on]),
        Statement("Missing values", _missing(tables, settings)),
        Statement("Sampling", _sampling(columns, tables)),
        Statement("Reference groups", _references(sections)),
        Statement("Verdicts", _verdicts(settings, columns)),
        Statement("p-values", _pvalues(settings)),
        Statement("What it cannot say", _LIMITS),
    ]
    return tuple(made)


_CONDITIONAL = (
    "Inference is conditional on the fitted model: intervals and tests are about these predictions in the "
    "population that the rows were sampled from. The uncertainty of fitting the model again is not in them."
)
_TRAINING = {
    None: "It was not stated whether the rows evaluated were used to train the model. If they were, error "
    "rates, and their differences, may look better than on new cases.",
    "training": "The rows evaluated were used to train the model: error rates, and their differences, may "
    "look better than on new cases.",
    "held-out": "The rows evaluated were not used to train the model.",
}
_LIMITS = (
    "Ratios and differences describe what is, not why: they establish neither a cause nor a finding of "
    "law. The thresholds are conventions that the reader may replace: the intervals serve for any other."
)


def _missing(tables: Sequence[CellCounts], settings: AuditSettings) -> str:
    policy = {
        "raise": 'Missing values were not accepted (missing="raise"); none occurred.',
        "drop": 'Rows with a missing value were left out (missing="drop").',
        "group": 'Missing sensitive values form a group of their own (missing="group").',
    }[settings.missing]
    if settings.missing == "raise":
        return policy
    details = " ".join(f"{INTERSECTION.join(t.attributes)}: {t.missing.sentence}" for t in tables)
    if not any(t.missing.n_dropped for t in tables):
        return f"{policy} {details}"
    if any(t.missing.patterns for t in tables):
        bounds = "Worst-case bounds over all values that they could have are given with the results."
    else:
        bounds = "Worst-case bounds are offered for unweighted, unclustered rows only."
    return f"{policy} {details} Complete rows may differ from the rest. {bounds}"


def _sampling(columns: AuditColumns, tables: Sequence[CellCounts]) -> str:
    if columns.cluster is not None:
        units = f"{tables[0].n_units:,} clusters ({columns.cluster})" if tables else "clusters"
        return f"Rows are grouped in {units}, taken as independent of each other; rows within one may depend."
    weighted = "" if columns.sample_weight is None else f" Rows are weighted by {columns.sample_weight}."
    return (
        f"Rows are taken as independent draws: pass cluster= where one person or site has several.{weighted}"
    )


def _references(sections: Sequence[Section]) -> str:
    rules = {
        "named": "named by the user",
        "largest": "the largest group",
        "highest": "the group with the highest rate, chosen by the data: intervals are simultaneous over "
        "all pairs",
    }
    chosen: dict[tuple[str, str], dict[str, None]] = {}
    for section in sections:
        for result in section.results:
            settings: Any = getattr(result, "settings", None)
            comparisons: Any = getattr(result, "comparisons", ())
            if not comparisons:
                continue
            rule = "all" if settings.comparisons == "all" else settings.reference_rule
            chosen.setdefault((section.attribute_text, rule), {}).update(
                {c.reference: None for c in comparisons}
            )
    if chosen and all(rule == "all" for _, rule in chosen):
        return "All pairs of groups are compared with each other."
    named = [(names, rules[rule], refs) for (names, rule), refs in chosen.items() if rule != "all"]
    parts = [f"{names}: {', '.join(refs)} ({rule})" for names, rule, refs in named]
    if len(named) < len(chosen):
        parts.append("score distributions: all pairs of groups")
    return "; ".join(parts) + "." if parts else "No group is compared with a reference."


def _verdicts(s: AuditSettings, columns: AuditColumns) -> str:
    alpha, two_sided = 100 * (1 - s.confidence_level), 100 * (2 * s.confidence_level - 1)
    distance = "" if columns.score is None else f"; MADD {min(2 * s.tolerance, 2.0):g}"
    text = (
        f"“Violated” and “satisfied” mean that a one-sided {alpha:.3g}% bound, which is one end of the "
        f"two-sided {two_sided:.3g}% interval, lies beyond the threshold (ratio {s.threshold:g}; difference, "
        f"gap or area {s.tolerance:g}{distance}). Otherwise the verdict is “undecided”, which is no evidence "
        "of fairness. “Insufficient evidence” means that the data cannot give the statistic at all. "
    )
    if s.simultaneous:
        return text + f"Bounds hold at once for all comparisons of one metric ({s.simultaneous})."
    return text + (
        "Each comparison is judged by itself: with many of them some verdicts are wrong by chance; "
        'simultaneous="max-z" guards all comparisons of one metric at once.'
    )


def _pvalues(s: AuditSettings) -> str:
    if s.family == "audit":
        return (
            "Adjusted p-values are adjusted by Holm over all p-values of the audit (two-sided tests of "
            "equality, largest gaps), by Bonferroni where the data chose the reference. The tests against "
            "the thresholds are unadjusted."
        )
    method = {"holm": "Holm", "fdr_bh": "Benjamini–Hochberg", "none": ""}.get(s.adjust, s.adjust.title())
    within = (
        f"adjusted by {method} within one metric over all its group comparisons" if method else "not adjusted"
    )
    return (
        f"Adjusted p-values (two-sided tests of equality) are {within}. Across metrics, and between sets of "
        "attributes, nothing is adjusted. The tests against the thresholds are unadjusted."
    )
