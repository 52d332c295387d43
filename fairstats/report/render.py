"""One report and its writers.

Plain text, terminal and notebook from one list of pieces, and the HTML page.

`report_pieces` decides what is said, in which order and how much of it; a writer only knows how a
heading, a table or a list looks in its medium. On the page text is text, and intervals are small
drawings in each row.
"""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fairstats.ground.counts import SizeCounts
from fairstats.ground.errors import MissingDependencyError
from fairstats.ground.progress import under_way
from fairstats.ground.results import html_table
from fairstats.plots.picture import Picture
from fairstats.report import questions
from fairstats.report.contents import Contents, headline
from fairstats.report.crosscheck.table import Crosscheck
from fairstats.report.facts import Fact, FactTable, PairOfGroups, charts_of, tables_of_facts
from fairstats.report.format import (
    Axis,
    aligned,
    count,
    escaped,
    isolate,
    number,
    printable,
    pvalue,
)
from fairstats.report.pages import svg
from fairstats.report.parts import set_parts
from fairstats.report.pictures import pictures_of
from fairstats.report.questions import CONCERNS, Concern
from fairstats.report.screen.findings import Finding
from fairstats.report.screen.page import ALSO_BEYOND, Screen, count_words, draw_row, make_screen
from fairstats.report.sets import view_sets
from fairstats.report.view import NOT_JUDGED, Block, Chart, Part, Row, SetView

_WIDTH = 100
#: Longest text of a cell in plain text.
_CELL = 40
#: p-values over all comparisons of a metric: of equality, and of what the verdict rejects.
_TABLE_HEADS = (
    "group",
    "reference",
    "rates",
    "estimate",
    "interval",
    "p (equal)",
    "p (verdict)",
    "verdict",
)
_ITEM = textwrap.TextWrapper(_WIDTH, initial_indent="  - ", subsequent_indent="    ")
_NOTE = textwrap.TextWrapper(
    _WIDTH,
    initial_indent="  ",
    subsequent_indent="  ",
    break_on_hyphens=False,
)
#: Verdict → sign that stands beside the word.
MARKS = {
    "violated": "✗",
    "satisfied": "✓",
    "undecided": "?",
    "insufficient evidence": "–",
    NOT_JUDGED: "·",
}
_STYLES = {
    "violated": "bold red",
    "undecided": "yellow",
    "insufficient evidence": "dim",
    "satisfied": "green",
    NOT_JUDGED: "dim",
}


@dataclass(frozen=True)
class Piece:
    """A piece of a report.

    `kind`, {"set", "groups", "comparisons", "text", "items"}: a set of attributes (title,
    verdicts); its group sizes and rates; one metric's comparisons; lines of text;
    a headed list; `heads`: of a table; `rows`: cells of a table; (title, text) of a list; `notes`:
    below a table; `reference`: the reference that all comparisons of a table share, empty for none;
    None where they differ.
    """

    kind: str
    title: str = ""
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    reference: str | None = None
    verdicts: dict[str, int] | None = None


def report_pieces(report: Contents) -> Iterator[Piece]:
    """Everything that a report says after its first screen, in order."""
    yield Piece("items", "All verdicts counted", rows=(("", headline(report)),))
    for view in view_sets(report):
        yield from _set_pieces(view)
    yield Piece(
        "items",
        "Statements",
        rows=tuple((f"{statement.title}. ", statement.text) for statement in report.statements),
    )
    if report.notes:
        yield Piece("items", "Notes", rows=tuple(("", note) for note in report.notes))


def _set_pieces(view: SetView) -> Iterator[Piece]:
    """What a terminal shows of one set of attributes: verdicts, groups, then every metric."""
    yield Piece("set", view.name, verdicts=view.verdicts)
    if view.groups is not None:
        heads = ("group", "rows", *(name for name, _ in view.groups.headings))
        rows = tuple(
            (label, n_rows, *(cell.rate for cell in cells))
            for label, n_rows, _, cells in view.groups.rows
        )
        yield Piece(kind="groups", title="", heads=heads, rows=rows)
    for block in view.blocks:
        several = not block.reference and any(row.reference for row in block.rows)
        notes = tuple(
            f"{row.label}: {text}" for row in block.rows for text in (row.why, row.beside) if text
        )
        reference = None if several else block.reference
        yield Piece(
            kind="comparisons",
            title=block.title,
            heads=_TABLE_HEADS,
            rows=tuple(map(_cells_of_row, block.rows)),
            notes=notes,
            reference=reference,
        )
    for other in view.others:
        yield Piece("text", "\n".join(map(printable, other.summary().splitlines())))


def _cells_of_row(row: Row) -> tuple[str, ...]:
    return (
        row.label,
        row.reference,
        row.rates_text,
        row.estimate_text,
        row.interval_text,
        pvalue(row.pvalue_adjusted),
        pvalue(row.pvalue_verdict_adjusted),
        f"{MARKS[row.verdict]} {row.verdict}",
    )


# ---------------------------------------------------------------- plain text


#: Lines of `print(report)`.
_BRIEF = 60
#: Other quantities beyond a limit that it names of each set of attributes, until it is short enough.
_MOST_ALSO = (None, 3, 1, 0)


def render_screen(report: Contents, ratio: float | None = None) -> str:
    """The first screen as plain text."""
    return "\n".join([*make_screen(report, ratio=ratio).lines(), "", _last_line(report)])


def render_brief(report: Contents) -> str:
    """The first screen and the rates of the groups, in 60 lines at most."""
    ending = ["", "print(report.summary(full=True)) says everything.", _last_line(report)]
    room = _BRIEF - len(ending)
    screen = make_screen(report)
    lines = screen.lines()
    for most_also in _MOST_ALSO:
        if len(lines) > room:
            lines = screen.lines(brief_intersections=True, most_also=most_also)
    for piece in report_pieces(report):
        if piece.kind == "set":
            lines.append("")
            lines.append(piece.title)
        elif piece.kind == "groups":
            lines += aligned([piece.heads, *_cut_cells(piece.rows)])
    if len(lines) > room:
        lines = [*lines[: room - 1], "…"]
    return "\n".join([*lines, *ending])


def _cut_cells(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    """Cells of a table of plain text, of which none is too long."""
    cut_cells: list[list[str]] = []
    for row in rows:
        cut_cells.append([cell if len(cell) <= _CELL else cell[: _CELL - 1] + "…" for cell in row])
    return cut_cells


def _last_line(report: Contents) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    if report.settings.seed is None:
        seed = ""
    else:
        seed = f"; seed {report.settings.seed}"
    return f"{report.created}; {versions}{seed}"


def render_text(report: Contents, ratio: float | None = None) -> str:
    """Plain text of a report: the first screen, and everything behind it."""
    lines = [*make_screen(report, ratio=ratio).lines(), ""]
    for piece in report_pieces(report):
        if piece.verdicts is not None:
            counts = "   ".join(
                f"{MARKS[name]} {name} {n_verdicts}" for name, n_verdicts in piece.verdicts.items()
            )
            lines += [piece.title, "-" * min(len(piece.title), _WIDTH), counts, ""]
        elif piece.kind == "items":
            lines += [
                piece.title,
                *(_ITEM.fill(printable(title + text)) for title, text in piece.rows),
                "",
            ]
        else:
            rows = (piece.heads, *piece.rows) if piece.heads else ()
            table = aligned(_cut_cells(rows))
            lines += [*piece.title.splitlines(), *table, *map(_NOTE.fill, piece.notes), ""]
    return "\n".join([*lines, _last_line(report)])


# ---------------------------------------------------------------- terminal


def show(
    report: Contents,
    *,
    full: bool = False,
    stream: Any = None,
    ratio: float | None = None,
) -> None:
    """Write a report to a stream.

    In colour where it is a terminal and rich is there, else as plain text.

    `full`: everything; otherwise the first screen; `stream`: default standard output; `ratio`: for
    which the rows needed are told, default that of the rows.
    """
    if stream is None:
        stream_out = sys.stdout
    else:
        stream_out = stream
    try:
        from rich.console import Console
    except ImportError:
        if full:
            text = render_text(report, ratio)
        else:
            text = render_screen(report, ratio)
        stream_out.write(text + "\n")
        return
    console = Console(file=stream_out, highlight=False)
    if not console.is_terminal:
        console = Console(file=stream_out, highlight=False, width=110, color_system=None)
    console.print(render_terminal(report, full=full, ratio=ratio))


def render_terminal(report: Contents, *, full: bool = False, ratio: float | None = None) -> Any:
    """A rich renderable of the report; `full` as in `show`."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.panel import Panel
    from rich.rule import Rule
    from rich.text import Text

    screen = make_screen(report, ratio=ratio)
    shown_pieces: list[Any] = [
        Panel(
            Text("\n".join(filter(None, (screen.lead, screen.meaning)))),
            title=Text(screen.title),
            border_style="blue",
        )
    ]
    for finding in screen.findings:
        heading = Text(finding.attribute, style="bold blue")
        shown_pieces.append(Rule(heading, align="left", style="blue"))
        shown_pieces.append(_rich_finding(finding))
    if screen.limits:
        shown_pieces.append(Text("What limits this", style="bold blue"))
        for limit in screen.limits:
            shown_pieces.append(Padding(Text(limit), (0, 0, 0, 2)))
    if not full:
        more = "--full says everything, --out report.html draws it."
        return Group(*shown_pieces, Text(f"\n{more}", style="dim"))
    shown_pieces.append(Text(""))
    for piece in report_pieces(report):
        if piece.verdicts is not None:
            counts = Text()
            for name, n_verdicts in piece.verdicts.items():
                counts.append(f"{MARKS[name]} {n_verdicts} {name}   ", style=_STYLES[name])
            shown_pieces += [
                Rule(Text(piece.title, style="bold blue"), align="left", style="blue"),
                counts,
                Text(""),
            ]
        elif piece.kind == "items":
            shown_pieces.append(Text(piece.title, style="bold blue"))
            for title, text in piece.rows:
                item = Text.assemble((printable(title), "bold"), printable(text))
                shown_pieces.append(Padding(item, (0, 0, 0, 2)))
        elif piece.heads:
            shown_pieces += [
                *_rich_table(piece),
                *(Text(note, style="dim") for note in piece.notes),
                Text(""),
            ]
        else:
            shown_pieces.append(Text(piece.title + "\n"))
    return Group(*shown_pieces)


def _rich_finding(finding: Finding) -> Any:
    """What the first screen says of one set of attributes, its forest row in colour."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    parts: list[Any] = []
    for position, sentence in enumerate(finding.sentences):
        parts.append(Text(sentence, style="bold" if position == 0 else ""))
    if finding.drawn is not None:
        row = finding.drawn.row
        drawing_of_row = Text(draw_row(row, finding.drawn.axis), style=_STYLES[row.verdict])
        drawing_of_row.no_wrap = True
        parts.append(drawing_of_row)
    if finding.strata:
        parts.append(Text(finding.strata))
    if finding.also:
        parts.append(Text(f"{ALSO_BEYOND}:"))
    for text in finding.also:
        parts.append(Padding(Text(f"- {text}"), (0, 0, 0, 2)))
    if finding.others:
        parts.append(Text(finding.others))
    parts.append(Text(count_words(finding.verdicts), style="dim"))
    return Group(*parts, Text(""))


def _rich_table(piece: Piece) -> list[Any]:
    """A table of groups or of comparisons for a terminal with colours."""
    from rich.table import Table
    from rich.text import Text

    if piece.kind == "groups":
        table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left")
        for heading in piece.heads:
            table.add_column(heading, justify="left" if heading == "group" else "right")
        for row in piece.rows:
            table.add_row(Text(row[0]), *row[1:])
        return [table]
    # the rates stand in the table of the groups, a shared reference in the heading
    if piece.reference is None:
        skipped = {"rates"}
    else:
        skipped = {"rates", "reference"}
    kept_columns = []
    for position, heading in enumerate(piece.heads):
        if heading not in skipped:
            kept_columns.append(position)
    table = Table(box=None, pad_edge=False, show_header=True, header_style="dim")
    for position in kept_columns:
        right_aligned = piece.heads[position] in ("estimate", "p (equal)", "p (verdict)")
        table.add_column(
            piece.heads[position], justify="right" if right_aligned else "left", overflow="fold"
        )
    for row in piece.rows:
        styles = {"verdict": _STYLES[row[-1].partition(" ")[2]], "estimate": "bold"}
        table.add_row(
            *(
                Text(row[position], style=styles.get(piece.heads[position], ""))
                for position in kept_columns
            )
        )
    if piece.reference:
        against = f" against {piece.reference}"
    else:
        against = ""
    return [Text.assemble((piece.title, "bold"), (against, "dim")), table]


# ---------------------------------------------------------------- notebook


def render_fragment(report: Contents) -> str:
    """HTML fragment for notebooks: the first screen, and all comparisons folded."""
    kept_columns = []
    for position, heading in enumerate(_TABLE_HEADS):
        if heading != "rates":
            kept_columns.append(position)
    headings = ["metric", *(_TABLE_HEADS[position] for position in kept_columns)]
    tables: list[tuple[str, list[list[str]]]] = []
    notes: list[str] = []
    for piece in report_pieces(report):
        if piece.kind == "set":
            tables.append((piece.title, []))
        elif piece.kind == "comparisons":
            rows = tables[-1][1]
            for row in piece.rows:
                rows.append([piece.title, *(row[position] for position in kept_columns)])
            for note in piece.notes:
                notes.append(f"{tables[-1][0]}: {piece.title.partition(':')[0]}, {note}")
    pieces = []
    for name, rows in tables:
        pieces.append(f"<h4>{escaped(name)}</h4>")
        pieces.append(html_table(headings, rows, to_html=escaped))
    pieces += [f"<p>{escaped(note)}</p>" for note in (headline(report), *notes, *report.notes)]
    everything = f"<details><summary>All comparisons</summary>{''.join(pieces)}</details>"
    ending = "<p>to_html(path) writes the whole report.</p>"
    return f"<section>{screen_fragment(make_screen(report))}{everything}{ending}</section>"


def screen_fragment(screen: Screen) -> str:
    """The first screen as an HTML fragment."""
    parts = [f"<h3>{escaped(screen.title)}</h3><p>{escaped(screen.lead)}</p>"]
    if screen.meaning:
        parts.append(f"<p>{escaped(screen.meaning)}</p>")
    for finding in screen.findings:
        parts.append(f"<h4>{escaped(finding.attribute)}</h4>")
        parts += [f"<p>{escaped(sentence)}</p>" for sentence in finding.sentences]
        if finding.drawn is not None:
            drawn = draw_row(finding.drawn.row, finding.drawn.axis)
            parts.append(f"<pre aria-hidden='true'>{escaped(drawn)}</pre>")
        if finding.strata:
            parts.append(f"<p>{escaped(finding.strata)}</p>")
        if finding.also:
            items = "".join(f"<li>{escaped(text)}</li>" for text in finding.also)
            parts.append(f"<p>{ALSO_BEYOND}:</p><ul>{items}</ul>")
        if finding.others:
            parts.append(f"<p>{escaped(finding.others)}</p>")
        parts.append(f"<p>{escaped(count_words(finding.verdicts))}</p>")
    limits = "".join(f"<li>{escaped(limit)}</li>" for limit in screen.limits)
    if limits:
        parts.append(f"<p>What limits this</p><ul>{limits}</ul>")
    return "".join(parts)


# ---------------------------------------------------------------- the page

_SHAPES = {"violated": "diamond", "satisfied": "disc", "undecided": "ring"}
#: Rows of one metric that stand open; of more, those furthest from equality do.
_OPEN_ROWS = 12
#: Rows of one metric with drawing, sentence and tests; of more only those that stand open have
#: them.
_DRAWN = 60


@under_way("writing the page")
def render_html(
    report: Contents, crosscheck: Crosscheck | None = None, picture: Callable[[Picture], str] = svg
) -> str:
    """The HTML text of a report, with the cross-check where there is one; needs jinja2."""
    template = _make_environment(picture).get_template("report.html.j2")
    return str(template.render(**_context_of_page(report), crosscheck=crosscheck))


class ShownPart(Part):
    """A part that shows itself in notebooks and vignettes, with its own style."""

    def _repr_html_(self) -> str:
        text = _make_environment().get_template("part.html.j2").render(part=self)
        return "\n".join(
            line for line in text.splitlines() if line.strip()
        )  # Markdown ends HTML at empty lines


def _make_environment(picture: Callable[[Picture], str] = svg) -> Any:
    """Jinja's environment of the page, with the filters that its templates use."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as problem:
        instead = "to_json(), to_frame() and summary() hold the same results"
        raise MissingDependencyError(
            "jinja2",
            extra="report",
            purpose="The HTML report",
            alternative=instead,
        ) from problem
    environment = Environment(
        autoescape=True,
        loader=PackageLoader("fairstats.report", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = {"number": number, "pvalue": pvalue, "count": count, "picture": picture}
    environment.filters.update(filters, split=split_pairs, rows_with_sentences=rows_with_sentences)
    environment.globals.update(
        drawing=drawing,
        marks=MARKS,
        place=_place_in_percent,
        drawn=_DRAWN,
        most=_DRAWN * 4,
        counted=count_words,
    )
    return environment


def drawing(row: Row, axis: Axis) -> dict[str, Any] | None:
    """Where the parts of a row of a forest plot lie, in percent of the width.

    None without an interval.

    The ends of the interval, the ends that the verdict rests on, the estimate where it is known and
    on the scale, whether the interval goes on beyond it, and the shape of the mark.
    """
    if math.isnan(row.low) or math.isnan(row.high):
        return None
    estimate_known = math.isfinite(row.estimate) and axis._holds_value(row.estimate)
    if math.isnan(row.bound_low):
        thick_ends = (row.low, row.high)
    else:
        thick_ends = (row.bound_low, row.bound_high)
    if not row.judged:
        thick_ends = (row.estimate, row.estimate)
    return {
        "low": _place_in_percent(axis, row.low),
        "high": _place_in_percent(axis, row.high),
        "bound_low": _place_in_percent(axis, thick_ends[0]),
        "bound_high": _place_in_percent(axis, thick_ends[1]),
        "point": _place_in_percent(axis, row.estimate) if estimate_known else None,
        "shape": _SHAPES.get(row.verdict, "ring"),
        "cut_low": row.low < axis.low,
        "cut_high": row.high > axis.high,
    }


def _place_in_percent(axis: Axis, value: float) -> str:
    return f"{axis._place_value(value):.2f}%"


def split_pairs(
    fact: Fact, axis: Axis
) -> tuple[tuple[PairOfGroups, ...], tuple[PairOfGroups, ...]]:
    """The pairs of a fact that stand open, in their order, and those that are folded away."""
    if len(fact.pairs) <= _OPEN_ROWS + 3:
        return fact.pairs, ()

    def distance(pair: PairOfGroups) -> tuple[bool, float]:
        row = pair.first
        size = -1.0
        if math.isfinite(row.estimate):
            size = abs(axis._place_value(row.estimate) - axis._place_value(axis.neutral))
        return any(reading.row.verdict == "violated" for reading in pair.readings), size

    open_pairs = sorted(fact.pairs, key=distance, reverse=True)[:_OPEN_ROWS]
    shown = set(map(id, open_pairs))
    return (
        tuple(pair for pair in fact.pairs if id(pair) in shown),
        tuple(pair for pair in fact.pairs if id(pair) not in shown),
    )


def rows_with_sentences(block: Block, axis: Axis) -> tuple[Row, ...]:
    """The rows of a metric that have a sentence and their tests on the page."""
    if len(block.rows) <= _DRAWN:
        return block.rows

    def distance(row: Row) -> tuple[bool, float]:
        size = -1.0
        if math.isfinite(row.estimate):
            size = abs(axis._place_value(row.estimate) - axis._place_value(axis.neutral))
        return row.verdict == "violated", size

    shown = set(map(id, sorted(block.rows, key=distance, reverse=True)[:_OPEN_ROWS]))
    return tuple(row for row in block.rows if id(row) in shown)


@dataclass(frozen=True)
class Answered:
    """What a page says of one question and one set of groups.

    `groups`: sizes and rates, once, with the first question; `tables`: facts; `charts`: the same
    comparisons by metric, for sentences and tests; `pictures`: of all groups; `parts`: the rest.
    """

    place: str
    view: SetView
    shows_groups: bool
    tables: tuple[FactTable, ...]
    charts: tuple[Chart, ...]
    pictures: tuple[Picture, ...]
    parts: tuple[Part, ...]


def _first_concern(report: Contents) -> Concern:
    """The question with which the groups are shown: of numbers alone that of amounts."""
    if report.tables and all(isinstance(table, SizeCounts) for table in report.tables):
        return questions.AMOUNTS
    return CONCERNS[0]


def _answers_of_page(report: Contents) -> list[tuple[Concern, str, list[Answered]]]:
    """Every question that the report answers, with its short answer, and what it says of each set."""
    views = view_sets(report)
    first_concern = _first_concern(report)
    parts_of_views = [set_parts(report, view) for view in views]
    pictures_of_views = [pictures_of(report, view) for view in views]
    answers = []
    for concern in CONCERNS:
        answered = []
        for position, (view, parts) in enumerate(zip(views, parts_of_views, strict=True), start=1):
            charts = charts_of(view.charts, concern)
            parts_of_concern = tuple(part for part in parts if part.concern == concern)
            pictures = tuple(
                one.picture for one in pictures_of_views[position - 1] if one.concern == concern
            )
            shows_groups = concern == first_concern and view.groups is not None
            if not (charts or parts_of_concern or shows_groups):
                continue
            answered.append(
                Answered(
                    place=f"{concern.key}-{position}",
                    view=view,
                    shows_groups=shows_groups,
                    tables=tables_of_facts(charts),
                    charts=charts,
                    pictures=pictures,
                    parts=parts_of_concern,
                )
            )
        if answered:
            answers.append((concern, _answer_in_short(answered), answered))
    return answers


def _answer_in_short(answered: Sequence[Answered]) -> str:
    """Beside a question: of which sets something is beyond a limit, or that nothing is."""
    verdicts: dict[str, list[str]] = {}
    for one in answered:
        findings = set()
        for chart in one.charts:
            for block in chart.blocks:
                for row in block.rows:
                    findings.add(row.verdict)
        for verdict in ("violated", "undecided", "satisfied"):
            if verdict in findings:
                verdicts.setdefault(verdict, []).append(one.view.name)
                break
    words = {"violated": "beyond a limit", "undecided": "undecided", "satisfied": "within limits"}
    return "; ".join(f"{words[name]} by {', '.join(sets)}" for name, sets in verdicts.items())


def _context_of_page(report: Contents) -> dict[str, Any]:
    """Everything that the template of the page is told."""
    labels = []
    for table in report.tables:
        for label in table.groups:
            labels.append(label)
    settings = report.settings

    def clean(text: str) -> str:
        return isolate(printable(text), labels)

    return {
        "title": printable(report.title),
        "screen": make_screen(report),
        "headline": headline(report),
        "also_beyond": ALSO_BEYOND,
        "facts": [(name, printable(value)) for name, value in _facts_of_data(report)],
        "answers": _answers_of_page(report),
        "level": f"{100 * settings.confidence_level:g}%",
        "threshold": f"{settings.threshold:g}",
        "inverse": f"{1 / settings.threshold:.4g}",
        "margin": f"{settings.margin:g}",
        "distance": f"{min(2 * settings.margin, 2.0):g}",
        "statements": [(statement.title, clean(statement.text)) for statement in report.statements],
        "methods": [(statement.title, printable(statement.text)) for statement in report.methods],
        "notes": [clean(note) for note in report.notes],
        "references": report.references,
        "settings": [(name, printable(value)) for name, value in _settings_in_words(report)],
        "versions": report.versions,
        "created": report.created.replace("T", " ").replace("+00:00", " UTC"),
    }


def _facts_of_data(report: Contents) -> Iterator[tuple[str, str]]:
    """Pairs (name, value) of the page's list of what the data are."""
    columns = report.columns
    if report.tables:
        yield "Rows", count(max(table.missing.n_rows for table in report.tables))
    for name, column, value in (
        ("Prediction ŷ", columns.y_pred, columns.pos_label_pred),
        ("Outcome Y", columns.y_true, columns.pos_label_true),
        ("Score", columns.score, None),
        ("Number", columns.outcome, None),
        ("Number predicted", columns.predicted, None),
        ("Groups S", ", ".join(columns.sensitive_features), None),
        ("Subgroups of", ", ".join(columns.subgroups) or None, None),
        ("Strata", columns.strata, None),
        ("Weights", columns.sample_weight, None),
        ("Clusters", columns.cluster, None),
    ):
        if column is not None:
            remark = ""
            if value is not None:
                remark = f" — favourable: {value}"
            elif name == "Score" and columns.score_range != (0.0, 1.0):
                worse_end, better_end = columns.score_range
                remark = f" — from {worse_end:g} (worst) to {better_end:g}"
            yield name, column + remark


_COMPARISONS_IN_WORDS = {
    "reference": "with the reference",
    "all": "all pairs",
    "rest": "each group with all others",
    "overall": "each group with everybody",
}


def _settings_in_words(report: Contents) -> Iterator[tuple[str, str]]:
    settings = report.settings
    yield "Confidence level", f"{settings.confidence_level:g}"
    yield "Threshold of ratios", f"{settings.threshold:g}"
    yield "Margin of differences", f"{settings.margin:g}"
    yield "Interval method", settings.method or "default of each metric"
    yield "Simultaneous intervals", settings.simultaneous or "no"
    yield (
        "Comparisons",
        _COMPARISONS_IN_WORDS[settings.comparisons],
    )
    yield "Adjustment of p-values", f"{settings.adjust}, family: {settings.family}"
    yield "Missing values", settings.missing
    yield (
        "Reference asked for",
        "; ".join(f"{name}: {group}" for name, group in settings.references.items()),
    )
    yield "Seed", "none" if settings.seed is None else str(settings.seed)
