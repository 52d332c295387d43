"""One report as a list of parts, and three writers of them: plain text, terminal, notebook.

`report_parts` decides what is said, in which order and how much of it; a writer only knows how a heading, a
table or a list looks in its medium.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fairstats.report.contents import Contents, count_changed
from fairstats.report.format import aligned, escaped, printable, pvalue
from fairstats.report.view import NOT_JUDGED, Row, SetView, view_sets

_WIDTH = 100
#: Longest text of a cell in plain text.
_CELL = 40
#: Verdicts that a short view shows.
_NEED_A_LOOK = ("violated", "insufficient evidence")
#: p-values over all comparisons of a metric: of equality, and of what the verdict rejects.
_TABLE_HEADS = ("group", "reference", "rates", "estimate", "interval", "p (equal)", "p (verdict)", "verdict")
_ITEM = textwrap.TextWrapper(_WIDTH, initial_indent="  - ", subsequent_indent="    ")
_NOTE = textwrap.TextWrapper(_WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
#: Verdict → sign that stands beside the word.
MARKS = {"violated": "✗", "satisfied": "✓", "undecided": "?", "insufficient evidence": "–", NOT_JUDGED: "·"}
_STYLES = {
    "violated": "bold red", "undecided": "yellow", "insufficient evidence": "dim", "satisfied": "green",
    NOT_JUDGED: "dim",
}  # fmt: skip


def headline(report: Contents) -> str:
    """The verdicts in one sentence."""
    v, total = report.verdicts, sum(report.verdicts.values())
    alpha = f"{100 * (1 - report.settings.confidence_level):.3g}%"
    if not total:
        return "Nothing was compared."
    head = f"{v['violated']} of {total} comparisons show{'s' if v['violated'] == 1 else ''} a violation"
    if not v["violated"]:
        head = f"None of {total} comparisons shows a violation"
    few = v["insufficient evidence"]
    rest = [
        f"{v['satisfied']} {'satisfies' if v['satisfied'] == 1 else 'satisfy'} the threshold",
        f"{v['undecided']} {'is' if v['undecided'] == 1 else 'are'} undecided",
        *([f"{few} {'lacks' if few == 1 else 'lack'} the evidence"] if few else []),
    ]
    changed = count_changed(report.results, 1 - report.settings.confidence_level)
    alone = f" Judged one by one, {changed} more would be decided." if changed else ""
    family = "per comparison" if report.settings.adjust == "none" else "per metric"
    what = "a false discovery rate" if report.settings.adjust.startswith("fdr") else "an error"
    return f"{head}, with {what} of {alpha} {family}; {', '.join(rest)}.{alone}"


@dataclass(frozen=True)
class Part:
    """A part of a report.

    `kind`, {"set", "groups", "comparisons", "hidden", "text", "items"}: a set of attributes (title,
    verdicts); its group sizes and rates; one metric's comparisons; what is left out; lines of text; a headed
    list; `heads`: of a table; `rows`: cells of a table; (title, text) of a list; `notes`: below a table;
    `reference`: the reference that all comparisons of a table share, empty for none; None where they differ.
    """

    kind: str
    title: str = ""
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    reference: str | None = None
    verdicts: dict[str, int] | None = None


def report_parts(report: Contents, *, full: bool) -> Iterator[Part]:
    """What every view shows, in order; otherwise than `full`, of intersections only what needs a look."""
    for view in view_sets(report):
        yield from _set_parts(view, full=full or not view.crossed)
    yield Part("items", "Statements", rows=tuple((f"{s.title}. ", s.text) for s in report.statements))
    if report.notes:
        yield Part("items", "Notes", rows=tuple(("", note) for note in report.notes))


def _set_parts(view: SetView, *, full: bool) -> Iterator[Part]:
    yield Part("set", view.name, verdicts=view.verdicts)
    if view.groups is not None:
        heads = ("group", "rows", *(name for name, _ in view.groups.headings))
        rows = tuple((label, n, *(c.rate for c in cells)) for label, n, _, cells in view.groups.rows)
        yield Part("groups", "", heads, rows)
    hidden = 0
    for block in view.blocks:
        shown = [r for r in block.rows if full or r.verdict in _NEED_A_LOOK]
        hidden += sum(r.judged for r in block.rows) - sum(r.judged for r in shown)
        if shown:
            cells = tuple(_cells(row) for row in shown)
            several = not block.reference and any(r.reference for r in block.rows)
            reference = None if several else block.reference
            notes = tuple(f"{row.label}: {row.why}" for row in shown if row.why)
            yield Part("comparisons", block.title, _TABLE_HEADS, cells, notes, reference)
    if hidden:
        yield Part("hidden", f"{hidden} comparisons that are satisfied or undecided are not shown here.")
    for other in view.others:
        yield Part("text", "\n".join(printable(line) for line in other.summary().splitlines()))


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.label, row.reference, row.rates_text, row.estimate_text, row.interval_text,
        pvalue(row.pvalue_adjusted), pvalue(row.pvalue_verdict_adjusted),
        f"{MARKS[row.verdict]} {row.verdict}",
    )  # fmt: skip


def render_text(report: Contents, *, full: bool = True) -> str:
    """Plain text of a report; `full` as in `show`."""
    lines = [printable(report.title), "=" * min(len(report.title), _WIDTH), headline(report), ""]
    for part in report_parts(report, full=full):
        if part.verdicts is not None:
            counts = "   ".join(f"{MARKS[name]} {name} {n}" for name, n in part.verdicts.items())
            lines += [part.title, "-" * min(len(part.title), _WIDTH), counts, ""]
        elif part.kind == "items":
            lines += [part.title, *(_ITEM.fill(printable(title + text)) for title, text in part.rows), ""]
        else:
            lines += [*part.title.splitlines(), *_table(part), *map(_NOTE.fill, part.notes), ""]
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    seed = "" if report.settings.seed is None else f"; seed {report.settings.seed}"
    lines.append(f"{report.created}; {versions}{seed}")
    return "\n".join(lines)


def _table(part: Part) -> list[str]:
    """Lines of a table, long cells cut; none where the part has no columns."""
    rows = (part.heads, *part.rows) if part.heads else ()
    return aligned([[c if len(c) <= _CELL else c[: _CELL - 1] + "…" for c in row] for row in rows])


def show(report: Contents, *, full: bool = False, stream: Any = None) -> None:
    """Write a report to a stream: in colour where it is a terminal and rich is there, else as plain text.

    `full`: every comparison; otherwise intersections list only what is violated or cannot be judged;
    `stream`: default standard output.
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


def render_terminal(report: Contents, *, full: bool = False) -> Any:
    """A rich renderable of the report; `full` as in `show`."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.panel import Panel
    from rich.rule import Rule
    from rich.text import Text

    shown: list[Any] = [Panel(Text(headline(report)), title=Text(printable(report.title)), border_style="blue")]
    for part in report_parts(report, full=full):
        if part.verdicts is not None:
            counts = Text()
            for name, n in part.verdicts.items():
                counts.append(f"{MARKS[name]} {n} {name}   ", style=_STYLES[name])
            shown += [Rule(Text(part.title, style="bold blue"), align="left", style="blue"), counts, Text("")]
        elif part.kind == "items":
            shown.append(Text(part.title, style="bold blue"))
            for title, text in part.rows:
                item = Text.assemble((printable(title), "bold"), printable(text))
                shown.append(Padding(item, (0, 0, 0, 2)))
        elif part.heads:
            shown += [*_rich_table(part), *(Text(note, style="dim") for note in part.notes), Text("")]
        else:
            shown.append(Text(part.title + "\n", style="dim" if part.kind == "hidden" else ""))
    return Group(*shown)


def _rich_table(part: Part) -> list[Any]:
    from rich.table import Table
    from rich.text import Text

    if part.kind == "groups":
        table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left")
        for head in part.heads:
            table.add_column(head, justify="left" if head == "group" else "right")
        for row in part.rows:
            table.add_row(Text(row[0]), *row[1:])
        return [table]
    # the rates stand in the table of the groups, a shared reference in the heading
    skip = {"rates"} if part.reference is None else {"rates", "reference"}
    keep = [i for i, head in enumerate(part.heads) if head not in skip]
    table = Table(box=None, pad_edge=False, show_header=True, header_style="dim")
    for i in keep:
        right = part.heads[i] in ("estimate", "p (equal)", "p (verdict)")
        table.add_column(part.heads[i], justify="right" if right else "left", overflow="fold")
    for row in part.rows:
        styles = {"verdict": _STYLES[row[-1].partition(" ")[2]], "estimate": "bold"}
        table.add_row(*(Text(row[i], style=styles.get(part.heads[i], "")) for i in keep))
    about = f" against {part.reference}" if part.reference else ""
    return [Text.assemble((part.title, "bold"), (about, "dim")), table]


def render_fragment(report: Contents) -> str:
    """HTML fragment for notebooks: the verdicts in one sentence and one table per set of attributes."""
    keep = [i for i, head in enumerate(_TABLE_HEADS) if head != "rates"]
    heads = _html_row("th scope='col'", ("metric", *(_TABLE_HEADS[i] for i in keep)))
    tables: list[tuple[str, list[str]]] = []
    notes: list[str] = []
    for part in report_parts(report, full=True):
        if part.kind == "set":
            tables.append((part.title, []))
        elif part.kind == "comparisons":
            rows = [_html_row("td", (part.title, *(row[i] for i in keep))) for row in part.rows]
            tables[-1][1].extend(rows)
            notes += [f"{tables[-1][0]}: {part.title.partition(':')[0]}, {note}" for note in part.notes]
    pieces = [f"<h3>{escaped(report.title)}</h3><p>{escaped(headline(report))}</p>"]
    pieces += [
        f"<h4>{escaped(name)}</h4><table><thead>{heads}</thead><tbody>{''.join(rows)}</tbody></table>"
        for name, rows in tables
    ]
    pieces += [f"<p>{escaped(note)}</p>" for note in (*notes, *report.notes)]
    return f"<section>{''.join(pieces)}<p>to_html(path) writes the whole report.</p></section>"


def _html_row(tag: str, cells: tuple[str, ...]) -> str:
    close = tag.partition(" ")[0]
    return f"<tr>{''.join(f'<{tag}>{escaped(cell)}</{close}>' for cell in cells)}</tr>"
