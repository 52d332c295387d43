"""What is watched as a report: the last look, and the path that led to it."""

from __future__ import annotations

from dataclasses import replace

from fairstats.ground.counts import CellCounts, ConfusionCounts
from fairstats.ground.errors import InputError
from fairstats.ground.groups import INTERSECTION
from fairstats.methods.rates.monitoring import MonitorResult
from fairstats.report import questions
from fairstats.report.contents import Section
from fairstats.report.inputs import AuditColumns, AuditInput, AuditSettings

#: Statements that are about what is watched.
MONITOR_STATEMENTS = (
    "Missing values",
    "Labels",
    "Sampling",
    "Reference groups",
    "Verdicts",
    "What it cannot say",
)


def monitor_inputs(watched: MonitorResult) -> tuple[list[Section], list[AuditInput]]:
    """Sections and counts of a report: the last look among the rates, and the path of all looks.

    Raises InputError before the first file.
    """
    if not watched.files:
        raise InputError(
            "frame",
            got="a monitor that has counted no file",
            allowed="one that has",
            cure="add a file first",
        )
    asked = watched.settings
    attributes = asked.sensitive_features or watched.files[0].tally.sensitive
    counts = watched.counts
    cells: CellCounts = counts.selection()
    if isinstance(counts.cells, ConfusionCounts):
        cells = counts.confusion()
    columns = AuditColumns(
        y_true=asked.y_true,
        y_pred=asked.y_pred,
        score=None,
        sensitive_features=attributes,
        cluster=asked.cluster,
        pos_label_true=asked.pos_label,
        pos_label_pred=asked.pos_label_pred or asked.pos_label,
    )
    if columns.y_true is None and columns.y_pred is None:
        columns = replace(columns, y_pred="selected")
    settings = AuditSettings(
        confidence_level=asked.confidence_level,
        threshold=asked.threshold,
        margin=asked.margin,
        adjust=asked.adjust,
        missing=asked.missing,
        references={INTERSECTION.join(attributes): asked.reference or "largest"},
    )
    inputs = AuditInput(
        attributes=attributes,
        outcomes=None,
        counts=replace(cells, attributes=attributes),
        columns=columns,
        settings=settings,
        reference=asked.reference,
        tally=counts,
    )
    last_look = Section(
        key=questions.RATES.key,
        title=questions.RATES.title,
        attributes=attributes,
        results=(watched.looks[-1],),
    )
    path = Section(
        key=questions.EVERY_LOOK.key,
        title=questions.EVERY_LOOK.title,
        attributes=attributes,
        results=(watched,),
    )
    return [last_look, path], [inputs]
