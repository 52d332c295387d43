"""The parts of a report: on the whole, and on one set of groups by the pages of the methods."""

from __future__ import annotations

from dataclasses import replace

from fairstats.report.contents import Contents
from fairstats.report.format import printable
from fairstats.report.methods import answer_to
from fairstats.report.screen.page import make_screen
from fairstats.report.view import Part, SetView, Table


def general_parts(report: Contents, view: SetView) -> list[Part]:
    """What a report says beside the parts of its sections.

    What was found, its limits, its references.
    """
    groups = view.groups
    sizes: tuple[Table, ...] = ()
    if groups is not None:
        heads = ("group", "rows", "share", *(name for name, _ in groups.headings))
        rows = tuple(
            (label, n, share, *(c.rate for c in cells)) for label, n, share, cells in groups.rows
        )
        sizes = (Table(f"{groups.total} rows", heads, rows),)
    limits = [*(f"{said.title}. {said.text}" for said in report.statements), *report.notes]
    others = []
    for key, title, said in (
        ("limits", "Limits", limits),
        ("references", "References", report.references),
    ):
        others.append(
            Part(
                key,
                title,
                "",
                tables=(Table(title=title, heads=(), rows=(), notes=tuple(map(printable, said))),),
            )
        )
    paragraphs = make_screen(report).paragraphs()
    return [Part("summary", "What was found", paragraphs, tables=sizes), *others]


def set_parts(report: Contents, view: SetView) -> list[Part]:
    """The parts of one set of groups, in the order of the sections; power after the rates."""
    parts: list[Part] = []
    for section in report.sections:
        if section.attributes == view.attributes:
            answer = answer_to(section.key)
            for part in answer.parts(section, view):
                concern = part.concern or answer.question.concern
                parts.append(replace(part, concern=concern))
    return parts
