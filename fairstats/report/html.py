"""The report as one self-contained HTML file: text as text, intervals as small drawings in each row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from fairstats.ground.errors import MissingDependencyError
from fairstats.plots.picture import Picture
from fairstats.report.contents import Contents
from fairstats.report.crosscheck.table import Crosscheck
from fairstats.report.format import Axis, count, isolate, number, printable, pvalue
from fairstats.report.parts import set_parts
from fairstats.report.render import MARKS, headline
from fairstats.report.svg import svg
from fairstats.report.tables import Part
from fairstats.report.view import Block, Row, SetView, view_sets

_SHAPES = {"violated": "diamond", "satisfied": "disc", "undecided": "ring"}


def drawing(row: Row, axis: Axis) -> dict[str, Any] | None:
    """Where the parts of a row of a forest plot lie, in percent of the width; None without an interval.

    The ends of the interval, the ends that the verdict rests on, the estimate where it is known and on the
    scale, whether the interval goes on beyond it, and the shape of the mark.
    """
    if math.isnan(row.low) or math.isnan(row.high):
        return None
    known = math.isfinite(row.estimate) and axis.holds(row.estimate)
    inner = (row.low, row.high) if math.isnan(row.bound_low) else (row.bound_low, row.bound_high)
    if not row.judged:
        inner = (row.estimate, row.estimate)
    ends = {"low": row.low, "high": row.high, "bound_low": inner[0], "bound_high": inner[1]}
    return {
        **{name: _place(axis, value) for name, value in ends.items()},
        "point": _place(axis, row.estimate) if known else None,
        "cut_low": row.low < axis.low,
        "cut_high": row.high > axis.high,
        "shape": _SHAPES.get(row.verdict, "ring"),
    }


#: Rows of one metric that stand open; of more, those furthest from equality do.
_OPEN_ROWS = 12


def split_rows(block: Block, axis: Axis) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """The rows of a metric that stand open, in their order, and those that are folded away."""
    if len(block.rows) <= _OPEN_ROWS + 3:
        return block.rows, ()

    def distance(row: Row) -> tuple[bool, float]:
        size = abs(axis.place(row.estimate) - axis.place(axis.neutral)) if math.isfinite(row.estimate) else -1.0
        return row.verdict == "violated", size

    open_rows = set(map(id, sorted(block.rows, key=distance, reverse=True)[:_OPEN_ROWS]))
    return (tuple(r for r in block.rows if id(r) in open_rows), tuple(r for r in block.rows if id(r) not in open_rows))


#: Rows of one metric with drawing, sentence and tests; of more only those that stand open have them.
_DRAWN = 60


def told_rows(block: Block, axis: Axis) -> tuple[Row, ...]:
    """The rows of a metric that have a sentence and their tests on the page."""
    return block.rows if len(block.rows) <= _DRAWN else split_rows(block, axis)[0]


def _place(axis: Axis, value: float) -> str:
    return f"{axis.place(value):.2f}%"


def _environment(picture: Callable[[Picture], str] = svg) -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as problem:
        raise MissingDependencyError(
            "jinja2",
            extra="report",
            purpose="The HTML report",
            alternative="to_json(), to_frame() and summary() hold the same results",
        ) from problem
    environment = Environment(
        autoescape=True, loader=PackageLoader("fairstats.report", "templates"), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters.update(
        number=number, pvalue=pvalue, count=count, picture=picture, split=split_rows, told=told_rows
    )
    environment.globals.update(drawing=drawing, marks=MARKS, place=_place, drawn=_DRAWN, most=_DRAWN * 4)
    return environment


def render_html(report: Contents, crosscheck: Crosscheck | None = None, picture: Callable[[Picture], str] = svg) -> str:
    """The HTML text of a report, with the cross-check where there is one; needs jinja2."""
    template = _environment(picture).get_template("report.html.j2")
    return str(template.render(**_context(report), crosscheck=crosscheck))


class ShownPart(Part):
    """A part that shows itself in notebooks and vignettes, with its own style."""

    def _repr_html_(self) -> str:
        text = _environment().get_template("part.html.j2").render(part=self)
        return "\n".join(line for line in text.splitlines() if line.strip())  # Markdown ends HTML at empty lines


def _context(report: Contents) -> dict[str, Any]:
    views = view_sets(report)
    labels = [label for table in report.tables for label in table.groups]
    s = report.settings

    def clean(text: str) -> str:
        return isolate(printable(text), labels)

    return {
        "title": printable(report.title), "headline": headline(report), "verdicts": report.verdicts,
        "facts": [(name, printable(value)) for name, value in _facts(report)],
        "views": [
            (f"set-{i}", view, _violations(view), set_parts(report, view))
            for i, view in enumerate(views, start=1)
        ],
        "level": f"{100 * s.confidence_level:g}%", "alpha": f"{100 * (1 - s.confidence_level):.3g}%",
        "threshold": f"{s.threshold:g}",
        "inverse": f"{1 / s.threshold:.4g}", "margin": f"{s.margin:g}",
        "distance": f"{min(2 * s.margin, 2.0):g}",
        "statements": [(t.title, clean(t.text)) for t in report.statements],
        "methods": [(t.title, printable(t.text)) for t in report.methods],
        "notes": [clean(note) for note in report.notes], "references": report.references,
        "settings": [(name, printable(value)) for name, value in _settings(report)],
        "versions": report.versions, "created": report.created.replace("T", " ").replace("+00:00", " UTC"),
    }  # fmt: skip


def _facts(report: Contents) -> Iterable[tuple[str, str]]:
    c = report.columns
    if report.tables:
        yield "Rows", count(max(t.missing.n_rows for t in report.tables))
    for name, column, value in (
        ("Prediction ŷ", c.y_pred, c.pos_label_pred),
        ("Outcome Y", c.y_true, c.pos_label_true),
        ("Score", c.score, None),
        ("Groups S", ", ".join(c.sensitive_features), None),
        ("Weights", c.sample_weight, None),
        ("Clusters", c.cluster, None),
    ):
        if column is not None:
            yield name, column + (f" — favourable: {value}" if value is not None else "")


def _settings(report: Contents) -> Iterable[tuple[str, str]]:
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
