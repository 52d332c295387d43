"""One report and its writers: plain text, terminal and notebook from one list of pieces, and the HTML page.

`report_pieces` decides what is said, in which order and how much of it; a writer only knows how a heading, a
table or a list looks in its medium. On the page text is text, and intervals are small drawings in each row.
"""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fairstats.ground.errors import MissingDependencyError
from fairstats.plots.picture import Picture
from fairstats.report.contents import Contents, headline
from fairstats.report.crosscheck.table import Crosscheck
from fairstats.report.format import Axis, aligned, count, escaped, isolate, number, printable, pvalue
from fairstats.report.pages import svg
from fairstats.report.parts import set_parts
from fairstats.report.view import NOT_JUDGED, Block, Part, Row, SetView, view_sets

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


@dataclass(frozen=True)
class Piece:
    """A piece of a report.

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


def report_pieces(report: Contents, *, full: bool) -> Iterator[Piece]:
    """What every view shows, in order; otherwise than `full`, of intersections only what needs a look."""
    for view in view_sets(report):
        yield from _set_pieces(view, full=full or not view.crossed)
    yield Piece("items", "Statements", rows=tuple((f"{s.title}. ", s.text) for s in report.statements))
    if report.notes:
        yield Piece("items", "Notes", rows=tuple(("", note) for note in report.notes))


def _set_pieces(view: SetView, *, full: bool) -> Iterator[Piece]:
    yield Piece("set", view.name, verdicts=view.verdicts)
    if view.groups is not None:
        heads = ("group", "rows", *(name for name, _ in view.groups.headings))
        rows = tuple((label, n, *(c.rate for c in cells)) for label, n, _, cells in view.groups.rows)
        yield Piece("groups", "", heads, rows)
    hidden = 0
    for block in view.blocks:
        shown = [r for r in block.rows if full or r.verdict in _NEED_A_LOOK]
        hidden += sum(r.judged for r in block.rows) - sum(r.judged for r in shown)
        if shown:
            several = not block.reference and any(r.reference for r in block.rows)
            notes = tuple(f"{row.label}: {text}" for row in shown for text in (row.why, row.beside) if text)
            reference = None if several else block.reference
            yield Piece("comparisons", block.title, _TABLE_HEADS, tuple(map(_cells, shown)), notes, reference)
    if hidden:
        yield Piece("hidden", f"{hidden} comparisons that are satisfied or undecided are not shown here.")
    for other in view.others:
        yield Piece("text", "\n".join(map(printable, other.summary().splitlines())))


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.label, row.reference, row.rates_text, row.estimate_text, row.interval_text,
        pvalue(row.pvalue_adjusted), pvalue(row.pvalue_verdict_adjusted), f"{MARKS[row.verdict]} {row.verdict}",
    )  # fmt: skip


# ---------------------------------------------------------------- plain text


def render_text(report: Contents, *, full: bool = True) -> str:
    """Plain text of a report; `full` as in `show`."""
    lines = [printable(report.title), "=" * min(len(report.title), _WIDTH), headline(report), ""]
    for piece in report_pieces(report, full=full):
        if piece.verdicts is not None:
            counts = "   ".join(f"{MARKS[name]} {name} {n}" for name, n in piece.verdicts.items())
            lines += [piece.title, "-" * min(len(piece.title), _WIDTH), counts, ""]
        elif piece.kind == "items":
            lines += [piece.title, *(_ITEM.fill(printable(title + text)) for title, text in piece.rows), ""]
        else:
            rows = (piece.heads, *piece.rows) if piece.heads else ()
            table = aligned([[c if len(c) <= _CELL else c[: _CELL - 1] + "…" for c in row] for row in rows])
            lines += [*piece.title.splitlines(), *table, *map(_NOTE.fill, piece.notes), ""]
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    seed = "" if report.settings.seed is None else f"; seed {report.settings.seed}"
    return "\n".join([*lines, f"{report.created}; {versions}{seed}"])


# ---------------------------------------------------------------- terminal


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
    for piece in report_pieces(report, full=full):
        if piece.verdicts is not None:
            counts = Text()
            for name, n in piece.verdicts.items():
                counts.append(f"{MARKS[name]} {n} {name}   ", style=_STYLES[name])
            shown += [Rule(Text(piece.title, style="bold blue"), align="left", style="blue"), counts, Text("")]
        elif piece.kind == "items":
            shown.append(Text(piece.title, style="bold blue"))
            for title, text in piece.rows:
                item = Text.assemble((printable(title), "bold"), printable(text))
                shown.append(Padding(item, (0, 0, 0, 2)))
        elif piece.heads:
            shown += [*_rich_table(piece), *(Text(note, style="dim") for note in piece.notes), Text("")]
        else:
            shown.append(Text(piece.title + "\n", style="dim" if piece.kind == "hidden" else ""))
    return Group(*shown)


def _rich_table(piece: Piece) -> list[Any]:
    from rich.table import Table
    from rich.text import Text

    if piece.kind == "groups":
        table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left")
        for head in piece.heads:
            table.add_column(head, justify="left" if head == "group" else "right")
        for row in piece.rows:
            table.add_row(Text(row[0]), *row[1:])
        return [table]
    # the rates stand in the table of the groups, a shared reference in the heading
    skip = {"rates"} if piece.reference is None else {"rates", "reference"}
    keep = [i for i, head in enumerate(piece.heads) if head not in skip]
    table = Table(box=None, pad_edge=False, show_header=True, header_style="dim")
    for i in keep:
        right = piece.heads[i] in ("estimate", "p (equal)", "p (verdict)")
        table.add_column(piece.heads[i], justify="right" if right else "left", overflow="fold")
    for row in piece.rows:
        styles = {"verdict": _STYLES[row[-1].partition(" ")[2]], "estimate": "bold"}
        table.add_row(*(Text(row[i], style=styles.get(piece.heads[i], "")) for i in keep))
    about = f" against {piece.reference}" if piece.reference else ""
    return [Text.assemble((piece.title, "bold"), (about, "dim")), table]


# ---------------------------------------------------------------- notebook


def render_fragment(report: Contents) -> str:
    """HTML fragment for notebooks: the verdicts in one sentence and one table per set of attributes."""
    keep = [i for i, head in enumerate(_TABLE_HEADS) if head != "rates"]
    heads = _html_row("th scope='col'", ("metric", *(_TABLE_HEADS[i] for i in keep)))
    tables: list[tuple[str, list[str]]] = []
    notes: list[str] = []
    for piece in report_pieces(report, full=True):
        if piece.kind == "set":
            tables.append((piece.title, []))
        elif piece.kind == "comparisons":
            tables[-1][1].extend(_html_row("td", (piece.title, *(row[i] for i in keep))) for row in piece.rows)
            notes += [f"{tables[-1][0]}: {piece.title.partition(':')[0]}, {note}" for note in piece.notes]
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


# ---------------------------------------------------------------- the page

_SHAPES = {"violated": "diamond", "satisfied": "disc", "undecided": "ring"}
#: Rows of one metric that stand open; of more, those furthest from equality do.
_OPEN_ROWS = 12
#: Rows of one metric with drawing, sentence and tests; of more only those that stand open have them.
_DRAWN = 60


def render_html(report: Contents, crosscheck: Crosscheck | None = None, picture: Callable[[Picture], str] = svg) -> str:
    """The HTML text of a report, with the cross-check where there is one; needs jinja2."""
    template = _environment(picture).get_template("report.html.j2")
    return str(template.render(**_context(report), crosscheck=crosscheck))


class ShownPart(Part):
    """A part that shows itself in notebooks and vignettes, with its own style."""

    def _repr_html_(self) -> str:
        text = _environment().get_template("part.html.j2").render(part=self)
        return "\n".join(line for line in text.splitlines() if line.strip())  # Markdown ends HTML at empty lines


def _environment(picture: Callable[[Picture], str] = svg) -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as problem:
        instead = "to_json(), to_frame() and summary() hold the same results"
        raise MissingDependencyError(
            "jinja2", extra="report", purpose="The HTML report", alternative=instead
        ) from problem
    environment = Environment(
        autoescape=True, loader=PackageLoader("fairstats.report", "templates"), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    own = {"number": number, "pvalue": pvalue, "count": count, "picture": picture}
    environment.filters.update(own, split=split_rows, told=told_rows)
    environment.globals.update(drawing=drawing, marks=MARKS, place=_place, drawn=_DRAWN, most=_DRAWN * 4)
    return environment


def drawing(row: Row, axis: Axis) -> dict[str, Any] | None:
    """Where the parts of a row of a forest plot lie, in percent of the width; None without an interval.

    The ends of the interval, the ends that the verdict rests on, the estimate where it is known and on the
    scale, whether the interval goes on beyond it, and the shape of the mark.
    """
    if math.isnan(row.low) or math.isnan(row.high):
        return None
    known = math.isfinite(row.estimate) and axis._holds(row.estimate)
    inner = (row.low, row.high) if math.isnan(row.bound_low) else (row.bound_low, row.bound_high)
    if not row.judged:
        inner = (row.estimate, row.estimate)
    return {
        "low": _place(axis, row.low), "high": _place(axis, row.high),
        "bound_low": _place(axis, inner[0]), "bound_high": _place(axis, inner[1]),
        "point": _place(axis, row.estimate) if known else None, "shape": _SHAPES.get(row.verdict, "ring"),
        "cut_low": row.low < axis.low, "cut_high": row.high > axis.high,
    }  # fmt: skip


def _place(axis: Axis, value: float) -> str:
    return f"{axis._place(value):.2f}%"


def split_rows(block: Block, axis: Axis) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """The rows of a metric that stand open, in their order, and those that are folded away."""
    if len(block.rows) <= _OPEN_ROWS + 3:
        return block.rows, ()

    def distance(row: Row) -> tuple[bool, float]:
        size = abs(axis._place(row.estimate) - axis._place(axis.neutral)) if math.isfinite(row.estimate) else -1.0
        return row.verdict == "violated", size

    open_rows = set(map(id, sorted(block.rows, key=distance, reverse=True)[:_OPEN_ROWS]))
    return tuple(r for r in block.rows if id(r) in open_rows), tuple(r for r in block.rows if id(r) not in open_rows)


def told_rows(block: Block, axis: Axis) -> tuple[Row, ...]:
    """The rows of a metric that have a sentence and their tests on the page."""
    return block.rows if len(block.rows) <= _DRAWN else split_rows(block, axis)[0]


def _context(report: Contents) -> dict[str, Any]:
    labels = [label for table in report.tables for label in table.groups]
    s = report.settings

    def clean(text: str) -> str:
        return isolate(printable(text), labels)

    return {
        "title": printable(report.title), "headline": headline(report), "verdicts": report.verdicts,
        "facts": [(name, printable(value)) for name, value in _facts(report)],
        "views": [
            (f"set-{i}", view, _violations(view), set_parts(report, view))
            for i, view in enumerate(view_sets(report), start=1)
        ],
        "level": f"{100 * s.confidence_level:g}%", "threshold": f"{s.threshold:g}", "inverse": f"{1 / s.threshold:.4g}",
        "margin": f"{s.margin:g}", "distance": f"{min(2 * s.margin, 2.0):g}",
        "statements": [(t.title, clean(t.text)) for t in report.statements],
        "methods": [(t.title, printable(t.text)) for t in report.methods],
        "notes": [clean(note) for note in report.notes], "references": report.references,
        "settings": [(name, printable(value)) for name, value in _settings(report)],
        "versions": report.versions, "created": report.created.replace("T", " ").replace("+00:00", " UTC"),
    }  # fmt: skip


def _facts(report: Contents) -> Iterator[tuple[str, str]]:
    c = report.columns
    if report.tables:
        yield "Rows", count(max(t.missing.n_rows for t in report.tables))
    for name, column, value in (
        ("Prediction ŷ", c.y_pred, c.pos_label_pred), ("Outcome Y", c.y_true, c.pos_label_true),
        ("Score", c.score, None), ("Groups S", ", ".join(c.sensitive_features), None),
        ("Weights", c.sample_weight, None), ("Clusters", c.cluster, None),
    ):  # fmt: skip
        if column is not None:
            yield name, column + (f" — favourable: {value}" if value is not None else "")


def _settings(report: Contents) -> Iterator[tuple[str, str]]:
    s = report.settings
    yield "Confidence level", f"{s.confidence_level:g}"
    yield "Threshold of ratios", f"{s.threshold:g}"
    yield "Margin of differences", f"{s.margin:g}"
    yield "Interval method", s.method or "default of each metric"
    yield "Simultaneous intervals", s.simultaneous or "no"
    yield "Comparisons", {"reference": "with the reference", "all": "all pairs"}[s.comparisons]
    yield "Adjustment of p-values", f"{s.adjust}, family: {s.family}"
    yield "Missing values", s.missing
    yield "Reference asked for", "; ".join(f"{name}: {group}" for name, group in s.references.items())
    yield "Seed", "none" if s.seed is None else str(s.seed)


def _violations(view: SetView) -> list[tuple[str, str]]:
    """Metric and the groups for which it is violated."""
    found = []
    for block in view.blocks:
        name, _, words = block.title.partition(":")
        groups = [row.label for row in block.rows if row.verdict == "violated"]
        if groups:
            found.append((f"{name} ({words.strip()})" if words.strip() else name, ", ".join(groups)))
    return found
