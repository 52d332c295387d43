"""A part of a report, and results as tables of text with headings in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fairstats.ground.results import latex_table
from fairstats.methods.rates.models.result import ModelComparison
from fairstats.plots.picture import Picture
from fairstats.report.format import chance, count, isolate, number, printable, pvalue
from fairstats.report.view import Chart

#: Column of a tidy table → heading.
_HEADS = {
    "ci_low": "interval from", "ci_high": "to", "pvalue": "p-value", "pvalue_adjusted": "p-value, adjusted",
    "std_error": "standard error", "p_rope": "probability of practical equivalence", "n": "rows",
    "bound_low": "lowest", "bound_high": "highest", "undefined": "share of draws undefined",
    "baseline": "compared with", "verdict": "finding", "n_reference": "rows of the reference",
    "row_group": "row of the group", "row_reference": "row of the reference",
    "stability_low": "5% of subsamples", "stability_high": "95% of subsamples",
}  # fmt: skip
#: The same where two models, or predictions and labels, are compared.
_OF_MODELS = {"before": "value of what it is compared with", "after": "value of the model"}
#: Columns that say the same in every row, or repeat another one.
_LEFT_OUT = ("backend", "confidence_level", "pvalue_verdict", "pvalue_verdict_adjusted", "note")


@dataclass(frozen=True)
class Table:
    """Headings and rows of text, below a title; `notes` stand below, `sentences` are folded away."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()

    def to_latex(self) -> str:
        """The table in LaTeX (booktabs), text escaped; the notes below it."""
        return latex_table(self.heads, self.rows, self.title, self.notes)


@dataclass(frozen=True)
class Part:
    """`lead`: what a manager needs to know; `figures`: pictures by comparison, each row with its heading."""

    key: str
    title: str
    lead: str
    charts: tuple[Chart, ...] = ()
    figures: tuple[tuple[str, tuple[Picture, ...]], ...] = ()
    tables: tuple[Table, ...] = ()

    def all_tables(self) -> Iterator[Table]:
        """Its tables, with the rows of its forest plots as one, too."""
        rows = tuple(
            (block.title.partition(":")[0], row.label, row.reference, row.rates_text, row.estimate_text,
             row.interval_text, row.verdict)
            for chart in self.charts for block in chart.blocks for row in block.rows
        )  # fmt: skip
        if rows:
            heads = ("metric", "group", "reference", "rates", "estimate", "interval", "verdict")
            yield Table(self.title, heads, rows)
        yield from self.tables

    def to_latex(self) -> str:
        """Every table in LaTeX (booktabs)."""
        return "\n\n".join(table.to_latex() for table in self.all_tables() if table.rows)

    def __str__(self) -> str:
        return f"{self.title}\n{self.lead}"


def table_of(result: Any) -> Table:
    """A result as headings in words and rows of text; columns without an entry are left out."""
    frame = result.to_frame()
    names = [n for n in result._telling_columns(frame) if n not in _LEFT_OUT]
    records = frame[names].to_dict("records")
    models = isinstance(result, ModelComparison)
    named = _HEADS | (_OF_MODELS if models else {})
    heads = tuple(named.get(str(name), str(name).replace("_", " ")) for name in names)
    rows = tuple(tuple(_text(name, record[name]) for name in names) for record in records)
    sentences = tuple(told(result)) if "verdict" in frame or models else ()
    return Table(printable(result.title), heads, rows, tuple(map(printable, result.notes())), sentences)


def _text(name: str, value: Any) -> str:
    if name == "metric":
        return printable(value).replace("_", " ")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return printable(value)
    if isinstance(value, float) and value.is_integer() and name.startswith(("n", "row_", "interactions")):
        return count(value)
    if name.startswith("pvalue"):
        return pvalue(value)
    if name == "p_rope":
        return chance(value)
    if not isinstance(value, float):
        return count(value)
    # what three decimals would round to nothing has its first two digits
    return f"{value:.2g}".replace("-", "−") if 0 < abs(value) < 0.0005 else number(value)


def told(result: Any) -> list[str]:
    """The sentences of a result as text that can be shown."""
    groups = [printable(name) for c in result.comparisons for name in (c.group, c.reference) if name]
    sentences = result.sentences()
    for name in result.metrics if isinstance(result, ModelComparison) else ():
        sentences = [said.replace(f" {name} ", f" {name.replace('_', ' ')} ") for said in sentences]
    return [isolate(printable(said), groups) for said in sentences]
