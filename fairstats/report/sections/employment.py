"""Adverse impact as a report: one section per set of attributes, in the house's own format."""

from __future__ import annotations

from dataclasses import replace

from fairstats.ground.groups import INTERSECTION
from fairstats.methods.rates.employment.result import METRIC, AdverseImpact
from fairstats.report.columns import AuditColumns
from fairstats.report.contents import Section
from fairstats.report.inputs import AuditInput, AuditSettings

TITLE = "Adverse impact: ratios, practical and statistical significance"
#: Statements that are about selections, whoever makes them.
STATEMENTS = ("Missing values", "Sampling", "Verdicts", "What it cannot say")


def impact_inputs(result: AdverseImpact) -> tuple[list[Section], list[AuditInput]]:
    """Sections and counts of a report of the result; the counts are those of the whole process."""
    first = {table.by: table for table in reversed(result.tables)}
    sets = list(dict.fromkeys(table.by for table in result.tables))
    groups = tuple(dict.fromkeys(name for names in sets for name in names))
    columns = AuditColumns(None, "selected" if result.measure == "selection" else "above the median", None, groups)
    rules = {t.by: t.result.settings.reference_rule for t in result.tables if t.result is not None}
    references = {
        INTERSECTION.join(by): rule if rule == "highest" else first[by].comparisons[0].reference
        for by, rule in rules.items()
    }
    settings = AuditSettings(
        confidence_level=result.confidence_level, threshold=result.threshold, missing="drop", references=references
    )
    inputs = [AuditInput(by, None, replace(first[by].counts, attributes=by), columns, settings) for by in sets]
    return [Section(METRIC, TITLE, by, (result.by(*by),)) for by in sets], inputs
