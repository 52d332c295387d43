"""The report in a terminal, with rich; plain text where rich is missing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from fairstats.report.format import printable
from fairstats.report.text import (
    MARKS,
    TABLE_HEADS,
    headline,
    hidden_rows,
    render_text,
    shown_rows,
    table_cells,
)
from fairstats.report.view import NOT_JUDGED, SetView, view_sets

if TYPE_CHECKING:
    from fairstats.report.report import AuditReport

__all__ = ["render_terminal", "show"]

_STYLES = {
    "violated": "bold red",
    "undecided": "yellow",
    "insufficient evidence": "dim",
    "satisfied": "green",
    NOT_JUDGED: "dim",
}
_JUSTIFY: dict[str, Any] = {"estimate": "right", "p": "right", "p adj.": "right"}
_HIDDEN = {"reference", "rates"}


def show(report: AuditReport, *, full: bool = False, stream: Any = None) -> None:
    """Write a report to a stream: in colour where it is a terminal and rich is there, else as plain text.

    Parameters
    ----------
    report : AuditReport
    full : bool, default False
        Every comparison; otherwise intersections list only what is violated or cannot be judged.
    stream : text stream, optional
        Default standard output.
    """
    out = sys.stdout if stream is None else stream
    try:
        from rich.console import Console
    except ImportError:
        out.write(render_text(report, full=full) + "\n")
        return
    console = Console(file=out, highlight=False)
    if not console.is_terminal:
        console = Console(file=out, highlight=False, width=110, color_system=None)
    console.print(render_terminal(report, full=full))


def render_terminal(report: AuditReport, *, full: bool = False) -> Any:
    """A rich renderable of the report.

    Parameters
    ----------
    report : AuditReport
    full : bool, default False
        As in `show`.
    """
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    parts: list[Any] = [
        Panel(Text(headline(report)), title=Text(printable(report.title)), border_style="blue")
    ]
    for view in view_sets(report):
        parts += _set_parts(view, full=full or not view.crossed)
    parts += [Text("Statements", style="bold blue"), *(_item(s.title, s.text) for s in report.statements)]
    if report.notes:
        parts += [Text("Notes", style="bold blue"), *(_item("", note) for note in report.notes)]
    return Group(*parts)


def _set_parts(view: SetView, *, full: bool) -> list[Any]:
    from rich.rule import Rule
    from rich.table import Table
    from rich.text import Text

    parts: list[Any] = [Rule(Text(view.name, style="bold blue"), align="left", style="blue"), _counts(view)]
    if view.groups is not None:
        table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left")
        for head in ["group", "rows", *(name for name, _ in view.groups.headings)]:
            table.add_column(head, justify="left" if head == "group" else "right")
        for label, n, _, cells in view.groups.rows:
            table.add_row(Text(label), n, *(cell.rate for cell in cells))
        parts += [table, Text("")]
    hidden = 0
    for block in view.blocks:
        shown = shown_rows(block, full=full)
        hidden += hidden_rows(block, shown)
        if shown is None:
            continue
        about = f" against {block.reference}" if block.reference else ""
        parts.append(Text.assemble((shown.title, "bold"), (about, "dim")))
        skip = _HIDDEN if block.reference or not any(r.reference for r in block.rows) else {"rates"}
        table = Table(box=None, pad_edge=False, show_header=True, header_style="dim")
        keep = [i for i, head in enumerate(TABLE_HEADS) if head not in skip]
        for i in keep:
            table.add_column(TABLE_HEADS[i], justify=_JUSTIFY.get(TABLE_HEADS[i], "left"), overflow="fold")
        for row in shown.rows:
            texts = table_cells(row)
            table.add_row(*(Text(texts[i], style=_style(TABLE_HEADS[i], row.verdict)) for i in keep))
        parts += [table, Text("")]
    if hidden:
        parts += [
            Text(f"{hidden} comparisons that are satisfied or undecided are not shown here.", "dim"),
            Text(""),
        ]
    parts += [Text(printable_lines(other.summary()) + "\n") for other in view.others]
    return parts


def printable_lines(text: str) -> str:
    """Printable text that keeps its line breaks."""
    return "\n".join(printable(line) for line in text.splitlines())


def _style(head: str, verdict: str) -> str:
    return _STYLES[verdict] if head == "verdict" else ("bold" if head == "estimate" else "")


def _counts(view: SetView) -> Any:
    from rich.text import Text

    text = Text()
    for name, n in view.verdicts.items():
        text.append(f"{MARKS[name]} {n} {name}   ", style=_STYLES[name])
    text.append("\n")
    return text


def _item(title: str, text: str) -> Any:
    from rich.padding import Padding
    from rich.text import Text

    head = f"{printable(title)}. " if title else ""
    return Padding(Text.assemble((head, "bold"), printable(text)), (0, 0, 0, 2))
