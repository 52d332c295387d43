"""Adverse impact as a report: the sections and counts of what `adverse_impact` found."""

from __future__ import annotations

from dataclasses import replace

from fairstats.ground.groups import INTERSECTION
from fairstats.methods.rates.employment.result import AdverseImpact
from fairstats.report import questions
from fairstats.report.contents import Section
from fairstats.report.inputs import AuditColumns, AuditInput, AuditSettings

#: Statements that are about selections, whoever makes them.
IMPACT_STATEMENTS = ("Missing values", "Sampling", "Verdicts", "What it cannot say")


def impact_inputs(result: AdverseImpact) -> tuple[list[Section], list[AuditInput]]:
    """Sections and counts of a report of the result; the counts are those of the whole process."""
    first = {table.by: table for table in reversed(result.tables)}
    sets = list(dict.fromkeys(table.by for table in result.tables))
    groups = tuple(dict.fromkeys(name for names in sets for name in names))
    columns = AuditColumns(
        y_true=None,
        y_pred="selected" if result.measure == "selection" else "above the median",
        score=None,
        sensitive_features=groups,
    )
    rules_by_set = {}
    for table in result.tables:
        if table.result is not None:
            rules_by_set[table.by] = table.result.settings.reference_rule
    references = {}
    for attributes, rule in rules_by_set.items():
        reference = rule
        if rule != "highest":
            reference = first[attributes].comparisons[0].reference
        references[INTERSECTION.join(attributes)] = reference
    settings = AuditSettings(
        confidence_level=result.confidence_level,
        threshold=result.threshold,
        missing="drop",
        references=references,
    )
    inputs = []
    for attributes in sets:
        inputs.append(
            AuditInput(
                attributes=attributes,
                outcomes=None,
                counts=replace(first[attributes].counts, attributes=attributes),
                columns=columns,
                settings=settings,
            )
        )
    question = questions.ADVERSE_IMPACT
    return [
        Section(
            key=question.key,
            title=question.title,
            attributes=attributes,
            results=(result.by(*attributes),),
        )
        for attributes in sets
    ], inputs
