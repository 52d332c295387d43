"""The report in a notebook: an HTML fragment that needs no template."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from fairstats.report.format import printable, pvalue
from fairstats.report.text import MARKS, headline
from fairstats.report.view import Row, view_sets

if TYPE_CHECKING:
    from fairstats.report.report import AuditReport

__all__ = ["render_fragment"]

_HEADS = ("metric", "group", "reference", "estimate", "interval", "p", "p adj.", "verdict")


def render_fragment(report: AuditReport) -> str:
    """HTML fragment: the verdicts in one sentence and one table per set of attributes."""
    parts = [f"<h3>{_text(report.title)}</h3><p>{_text(headline(report))}</p>"]
    for view in view_sets(report):
        heads = "".join(f"<th scope='col'>{head}</th>" for head in _HEADS)
        rows = "".join(_row(block.title, row) for block in view.blocks for row in block.rows)
        parts.append(
            f"<h4>{_text(view.name)}</h4><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        )
    parts.append("".join(f"<p>{_text(note)}</p>" for note in report.notes))
    parts.append("<p>to_html(path) writes the whole report.</p>")
    return f"<section>{''.join(parts)}</section>"


def _row(title: str, row: Row) -> str:
    cells = (
        title,
        row.label,
        row.reference,
        row.estimate_text,
        row.interval_text,
        pvalue(row.pvalue),
        pvalue(row.pvalue_adjusted),
        f"{MARKS[row.verdict]} {row.verdict}",
    )
    return f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in cells)}</tr>"


def _text(value: str) -> str:
    return html.escape(printable(value))
