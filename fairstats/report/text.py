"""The report as plain text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from fairstats.report.format import printable, pvalue
from fairstats.report.view import NOT_JUDGED, Block, Row, SetView, view_sets

if TYPE_CHECKING:
    from fairstats.report.report import AuditReport

__all__ = [
    "MARKS",
    "TABLE_HEADS",
    "headline",
    "hidden_rows",
    "render_text",
    "shown_rows",
    "table_cells",
    "verdict_counts",
]

_WIDTH = 100
TABLE_HEADS = ["group", "reference", "rates", "estimate", "interval", "p", "p adj.", "verdict"]
#: Verdict → sign that stands beside the word.
MARKS = {"violated": "✗", "satisfied": "✓", "undecided": "?", "insufficient evidence": "–", NOT_JUDGED: "·"}


def headline(report: AuditReport) -> str:
    """The verdicts in one sentence."""
    v, total = report.verdicts, sum(report.verdicts.values())
    alpha = f"{100 * (1 - report.settings.confidence_level):.3g}%"
    if not total:
        return "Nothing was compared."
    head = f"{v['violated']} of {total} comparisons show a violation"
    if not v["violated"]:
        head = f"None of {total} comparisons shows a violation"
    rest = [f"{v['satisfied']} satisfy the threshold", f"{v['undecided']} are undecided"]
    if v["insufficient evidence"]:
        rest.append(f"{v['insufficient evidence']} lack the evidence")
    return f"{head} at the one-sided {alpha} level; {', '.join(rest)}."


def verdict_counts(verdicts: dict[str, int]) -> str:
    """Counts per verdict, with marks."""
    return "   ".join(f"{MARKS[name]} {name} {n}" for name, n in verdicts.items())


def shown_rows(block: Block, *, full: bool) -> Block | None:
    """The block, or what a short view shows of it: violated rows and those without evidence."""
    if full:
        return block
    rows = tuple(r for r in block.rows if r.verdict in ("violated", "insufficient evidence"))
    return Block(block.metric, block.title, rows) if rows else None


def hidden_rows(block: Block, shown: Block | None) -> int:
    """Number of judged rows that a view does not show."""
    return sum(r.judged for r in block.rows) - (sum(r.judged for r in shown.rows) if shown else 0)


def render_text(report: AuditReport, *, full: bool = True) -> str:
    """Plain text of a report.

    Parameters
    ----------
    report : AuditReport
    full : bool, default True
        Every comparison; otherwise intersections list only what is violated or cannot be judged.
    """
    lines = [printable(report.title), "=" * min(len(report.title), _WIDTH), headline(report), ""]
    for view in view_sets(report):
        lines += _set_lines(view, full=full or not view.crossed)
    lines += ["Statements", *(_item(f"{s.title}. {s.text}") for s in report.statements), ""]
    if report.notes:
        lines += ["Notes", *(_item(note) for note in report.notes), ""]
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    seed = "" if report.settings.seed is None else f"; seed {report.settings.seed}"
    lines.append(f"{report.created}; {versions}{seed}")
    return "\n".join(lines)


def _set_lines(view: SetView, *, full: bool) -> list[str]:
    lines = [view.name, "-" * min(len(view.name), _WIDTH), verdict_counts(view.verdicts), ""]
    if view.groups is not None:
        heads = [name for name, _ in view.groups.headings]
        rows = [(label, n, *(c.rate for c in cells)) for label, n, _, cells in view.groups.rows]
        lines += [*_table(["group", "rows", *heads], rows), ""]
    hidden = 0
    for block in view.blocks:
        shown = shown_rows(block, full=full)
        hidden += hidden_rows(block, shown)
        if shown is not None:
            lines += [shown.title, *_table(TABLE_HEADS, [table_cells(row) for row in shown.rows]), ""]
    if hidden:
        lines += [f"{hidden} comparisons that are satisfied or undecided are not shown here.", ""]
    for other in view.others:
        lines += [*(printable(line) for line in other.summary().splitlines()), ""]
    return lines


def table_cells(row: Row) -> tuple[str, ...]:
    """One row of a printed table: label, reference, rates, estimate, interval, p-values, verdict."""
    return (
        row.label,
        row.reference,
        row.rates_text,
        row.estimate_text,
        row.interval_text,
        pvalue(row.pvalue),
        pvalue(row.pvalue_adjusted),
        f"{MARKS[row.verdict]} {row.verdict}",
    )


def _table(heads: list[str], rows: list[tuple[str, ...]]) -> list[str]:
    """Columns of equal width; long cells are cut."""
    cut = [tuple(_cut(cell) for cell in row) for row in [tuple(heads), *rows]]
    widths = [max(len(row[i]) for row in cut) for i in range(len(heads))]
    return [
        "  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in cut
    ]


def _cut(text: str, limit: int = 40) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _item(text: str) -> str:
    return textwrap.fill(printable(text), _WIDTH, initial_indent="  - ", subsequent_indent="    ")
