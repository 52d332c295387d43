"""The report as one self-contained HTML file: text as text, intervals as small drawings in each row."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairstats.ground.errors import MissingDependencyError
from fairstats.report.axis import Axis
from fairstats.report.format import count, isolate, number, printable, pvalue
from fairstats.report.text import MARKS, headline
from fairstats.report.view import Block, Row, SetView, view_sets

if TYPE_CHECKING:
    from fairstats.report.crosscheck.table import Crosscheck
    from fairstats.report.report import AuditReport

__all__ = ["Drawing", "drawing", "render_html"]


@dataclass(frozen=True)
class Drawing:
    """Where the parts of one row of a forest plot lie, in percent of the width.

    Attributes
    ----------
    low, high : str
        Ends of the interval.
    bound_low, bound_high : str
        Ends that the verdict rests on.
    point : str or None
        The estimate; None where it is unknown or off the scale.
    cut_low, cut_high : bool
        Whether the interval goes on beyond the scale.
    shape : {"diamond", "disc", "ring"}
        For violated, satisfied, undecided.
    """

    low: str
    high: str
    bound_low: str
    bound_high: str
    point: str | None
    cut_low: bool
    cut_high: bool
    shape: str


_SHAPES = {"violated": "diamond", "satisfied": "disc", "undecided": "ring"}


def drawing(row: Row, axis: Axis) -> Drawing | None:
    """Geometry of one row; None where there is no interval to draw."""
    if math.isnan(row.low) or math.isnan(row.high):
        return None
    known = math.isfinite(row.estimate) and axis.holds(row.estimate)
    inner = (row.low, row.high) if math.isnan(row.bound_low) else (row.bound_low, row.bound_high)
    if not row.judged:
        inner = (row.estimate, row.estimate)
    return Drawing(
        low=_place(axis, row.low),
        high=_place(axis, row.high),
        bound_low=_place(axis, inner[0]),
        bound_high=_place(axis, inner[1]),
        point=_place(axis, row.estimate) if known else None,
        cut_low=row.low < axis.low,
        cut_high=row.high > axis.high,
        shape=_SHAPES.get(row.verdict, "ring"),
    )


def _place(axis: Axis, value: float) -> str:
    return f"{axis.place(value):.2f}%"


def render_html(report: AuditReport, crosscheck: Crosscheck | None = None) -> str:
    """The HTML text of a report, with the cross-check where there is one.

    Raises
    ------
    MissingDependencyError
        Without jinja2.
    """
    template = _environment().get_template("report.html.j2")
    return str(template.render(**_context(report), crosscheck=crosscheck))


def _environment() -> Any:
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
        autoescape=True,
        loader=PackageLoader("fairstats.report", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=number, pvalue=pvalue, count=count, printable=printable, text_of=lambda value: printable(value)
    )
    environment.globals.update(drawing=drawing, marks=MARKS, place=_place)
    return environment


def _context(report: AuditReport) -> dict[str, Any]:
    views = view_sets(report)
    labels = [label for table in report.tables for label in table.groups]
    s = report.settings

    def clean(text: str) -> str:
        return isolate(printable(text), labels)

    return {
        "title": printable(report.title),
        "headline": headline(report),
        "verdicts": report.verdicts,
        "facts": [(name, printable(value)) for name, value in _facts(report)],
        "views": [(f"set-{i}", view, _violations(view)) for i, view in enumerate(views, start=1)],
        "level": f"{100 * s.confidence_level:g}%",
        "alpha": f"{100 * (1 - s.confidence_level):.3g}%",
        "inner_level": f"{100 * (2 * s.confidence_level - 1):.3g}%",
        "threshold": f"{s.threshold:g}",
        "inverse": f"{1 / s.threshold:.4g}",
        "tolerance": f"{s.tolerance:g}",
        "distance": f"{min(2 * s.tolerance, 2.0):g}",
        "statements": [(t.title, clean(t.text)) for t in report.statements],
        "methods": [(t.title, printable(t.text)) for t in report.methods],
        "notes": [clean(note) for note in report.notes],
        "references": report.references,
        "settings": [(name, printable(value)) for name, value in _settings(report)],
        "versions": report.versions,
        "created": report.created.replace("T", " ").replace("+00:00", " UTC"),
        "table_of": _plain_table,
    }


def _facts(report: AuditReport) -> Iterable[tuple[str, str]]:
    c = report.columns

    def favourable(value: str | None) -> str:
        return f" — favourable: {value}" if value is not None else ""

    if report.tables:
        yield "Rows", count(max(t.missing.n_rows for t in report.tables))
    if c.y_pred is not None:
        yield "Prediction ŷ", c.y_pred + favourable(c.favorable_pred)
    if c.y_true is not None:
        yield "Outcome Y", c.y_true + favourable(c.favorable_true)
    if c.score is not None:
        yield "Score", c.score
    yield "Groups S", ", ".join(c.sensitive_features)
    if c.sample_weight is not None:
        yield "Weights", c.sample_weight
    if c.cluster is not None:
        yield "Clusters", c.cluster


def _settings(report: AuditReport) -> Iterable[tuple[str, str]]:
    s = report.settings
    yield "Confidence level", f"{s.confidence_level:g}"
    yield "Threshold of ratios", f"{s.threshold:g}"
    yield "Tolerance of differences", f"{s.tolerance:g}"
    yield "Interval method", s.method or "default of each metric"
    yield "Simultaneous intervals", s.simultaneous or "no"
    yield "Comparisons", {"reference": "with the reference", "all": "all pairs"}[s.comparisons]
    yield "Adjustment of p-values", f"{s.adjust}, family: {s.family}"
    yield "Missing values", s.missing
    yield "Reference asked for", "; ".join(f"{name}: {group}" for name, group in s.references.items())
    yield "Seed", "none" if s.seed is None else str(s.seed)


def _violations(view: SetView) -> list[tuple[str, str]]:
    """Metric and the groups for which it is violated."""
    return [
        (block.title.partition(":")[0] + _detail(block), ", ".join(block.by_verdict()["violated"]))
        for block in view.blocks
        if "violated" in block.by_verdict()
    ]


def _detail(block: Block) -> str:
    words = block.title.partition(":")[2].strip()
    return f" ({words})" if words else ""


def _plain_table(result: Any) -> dict[str, Any]:
    """A result that is no comparison, as headings and rows of text."""
    frame = result.to_frame()
    shown = frame[result.summary_columns(frame)]
    return {
        "title": printable(result.title),
        "heads": [str(c).replace("_", " ") for c in shown.columns],
        "rows": [[_text(value) for value in row] for row in shown.itertuples(index=False)],
        "notes": [printable(note) for note in result.notes()],
    }


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return printable(value)
    return number(value) if isinstance(value, float) else count(value)
