"""What every view of a report shows.

Rows, charts and tables, taken from the tidy tables of its results.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from fairstats.ground.registry import Title
from fairstats.ground.results import latex_table
from fairstats.ground.verdict import explain
from fairstats.methods.rates.models.result import AmplificationResult, ModelComparison
from fairstats.plots.picture import Picture
from fairstats.report.format import (
    Axis,
    chance,
    count,
    interval,
    isolate,
    number,
    percent,
    printable,
    pvalue,
)

if TYPE_CHECKING:
    from fairstats.ground.results import Result
    from fairstats.report.questions import Concern


#: Between the two groups of a gap, of which neither is the reference.
GAP = " – "


def name_gap(group: str, reference: str) -> str:
    """How a row names the two groups of a gap, of which neither is the reference."""
    return f"{group}{GAP}{reference}"


class RateCell(NamedTuple):
    """A rate as text, and the counts behind it."""

    rate: str
    counts: str


@dataclass(frozen=True)
class GroupsTable:
    """Sizes and rates of every group; `headings`: name and meaning of every rate."""

    headings: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, str, str, tuple[RateCell, ...]], ...]
    weighted: bool
    total: str


#: In place of the verdict of an estimate that is compared with no threshold.
NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class Row:
    """One comparison.

    `label`, `reference`: group (or both groups of a gap), and what it is compared with; `scale`,
    {"ratio", "difference", "maximum", "distance"}; `side`, {"two-sided", "greater", "less"}: which
    ends of the interval are limits; `fair`: ends of the fair range; `tests`: p-values by
    alternative; "exact <alternative>" for exact ones; `real_over_audit`, `holds_over_audit`: what
    holds over everything that the audit tested, as in `Claim`; `beside`: what the comparison is
    without strata, where it is one within them; `rate_low` to `rate_reference_high`: intervals of
    both rates by themselves; `value`, `value_reference`: both numbers, where it compares numbers.
    """

    label: str
    reference: str
    estimate: float
    low: float
    high: float
    bound_low: float
    bound_high: float
    statistic: float
    pvalue: float
    pvalue_adjusted: float
    pvalue_verdict: float
    pvalue_verdict_adjusted: float
    rate: float
    rate_reference: float
    n: int | None
    n_reference: int | None
    verdict: str
    sentence: str
    remark: str
    scale: str
    side: str
    fair: tuple[float, float]
    tests: dict[str, float]
    real_over_audit: bool | None
    holds_over_audit: bool | None
    beside: str = ""
    rate_low: float = math.nan
    rate_high: float = math.nan
    rate_reference_low: float = math.nan
    rate_reference_high: float = math.nan
    value: float = math.nan
    value_reference: float = math.nan

    @property
    def judged(self) -> bool:
        """Whether the estimate is compared with a threshold."""
        return self.verdict != NOT_JUDGED

    @property
    def chart_kind(self) -> str:
        """The scale on which it is drawn; "units" of a difference in units that have no margin."""
        if self.scale == "difference" and self.fair[0] == self.fair[1]:
            return "units"
        return self.scale

    @property
    def why(self) -> str:
        """Why the verdict is what it is, where the interval seems to say something else."""
        judged_with_others = self.pvalue_verdict_adjusted > self.pvalue_verdict
        interval_ends = (self.low, self.high), (self.bound_low, self.bound_high)
        return explain(
            *interval_ends,
            self.fair,
            self.verdict,
            adjusted=judged_with_others,
            alternative=self.side,
        )

    @property
    def estimate_text(self) -> str:
        """Estimate as text."""
        return number(self.estimate, signed=self.scale == "difference")

    @property
    def rates_text(self) -> str:
        """The two rates, where the metric compares rates."""
        if self.scale in ("maximum", "distance") or (
            math.isnan(self.rate) and math.isnan(self.rate_reference)
        ):
            return ""
        return f"{percent(self.rate)} / {percent(self.rate_reference)}"

    @property
    def own_intervals_text(self) -> str:
        """The intervals of the two rates by themselves; empty where there are none."""
        ends = (self.rate_low, self.rate_high, self.rate_reference_low, self.rate_reference_high)
        if not self.rates_text or all(math.isnan(end) for end in ends):
            return ""
        low, high, reference_low, reference_high = (percent(end) for end in ends)
        return f"{low} to {high} / {reference_low} to {reference_high}"

    @property
    def interval_text(self) -> str:
        """Interval as text."""
        return interval(self.low, self.high, signed=self.scale == "difference", side=self.side)


@dataclass(frozen=True)
class Block:
    """The comparisons of one metric."""

    metric: str
    title: str
    rows: tuple[Row, ...]

    @property
    def reference(self) -> str:
        """The reference that all rows share; empty for none."""
        shared = {row.reference for row in self.rows}
        if len(shared) == 1:
            return shared.pop()
        return ""


@dataclass(frozen=True)
class Chart:
    """Blocks that share a scale, the `kind`: the `chart_kind` of their rows."""

    kind: str
    threshold: float
    axis: Axis
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class SetView:
    """Everything about one set of attributes.

    `results`: all of them; `crossed`: whether it is an intersection; `charts`: ratios, differences,
    sizes without sign, distances between distributions; `others`: results that are no comparisons:
    shown as tables.
    """

    name: str
    attributes: tuple[str, ...]
    results: tuple[Result, ...]
    crossed: bool
    groups: GroupsTable | None
    blocks: tuple[Block, ...]
    charts: tuple[Chart, ...]
    others: tuple[Result, ...]
    verdicts: dict[str, int]


# ---------------------------------------------------------------- parts, and results as tables of
# text

#: Column of a tidy table → heading.
_HEADS = {
    "ci_low": "interval from",
    "ci_high": "to",
    "pvalue": "p-value",
    "pvalue_adjusted": "p-value, adjusted",
    "std_error": "standard error",
    "p_rope": "probability of practical equivalence",
    "n": "rows",
    "bound_low": "lowest",
    "bound_high": "highest",
    "undefined": "share of draws undefined",
    "baseline": "compared with",
    "verdict": "finding",
    "n_reference": "rows of the reference",
    "row_group": "row of the group",
    "row_reference": "row of the reference",
    "stability_low": "5% of subsamples",
    "stability_high": "95% of subsamples",
}
#: The same where two models, or predictions and labels, are compared.
_OF_MODELS = {"before": "value of what it is compared with", "after": "value of the model"}
_OF_AMPLIFICATION = {"before": "ratio of the outcomes", "after": "ratio of the predictions"}
#: Columns of whole numbers, which are floats where some row has none.
_COUNTS = frozenset(
    (
        "n",
        "n_reference",
        "n_unknown",
        "n_strata",
        "n_changed",
        "n_draws",
        "n_bins",
        "n_searched",
        "n_synthetic",
        "n_exceedances",
        "row_group",
        "row_reference",
        "interactions",
    )
)
_PVALUES = frozenset(("pvalue", "pvalue_adjusted", "pvalue_homogeneity"))
#: Columns that say the same in every row, or repeat another one.
_LEFT_OUT = ("backend", "confidence_level", "pvalue_verdict", "pvalue_verdict_adjusted", "note")


@dataclass(frozen=True)
class Table:
    """Headings and rows of text, below a title.

    `notes` stand below, `sentences` are folded away.
    """

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
    """`lead`: what a manager needs to know; `figures`: pictures by comparison, each row with its
    heading. `concern`: the block of the page in which it stands; None for that of its section.
    """

    key: str
    title: str
    lead: str
    charts: tuple[Chart, ...] = ()
    figures: tuple[tuple[str, tuple[Picture, ...]], ...] = ()
    tables: tuple[Table, ...] = ()
    concern: Concern | None = None

    def all_tables(self) -> Iterator[Table]:
        """Its tables, with the rows of its forest plots as one, too."""
        rows = tuple(
            (
                Title(block.title).label,
                row.label,
                row.reference,
                row.rates_text,
                row.estimate_text,
                row.interval_text,
                row.verdict,
            )
            for chart in self.charts
            for block in chart.blocks
            for row in block.rows
        )
        if rows:
            heads = ("metric", "group", "reference", "rates", "estimate", "interval", "verdict")
            yield Table(self.title, heads, rows)
        yield from self.tables

    def to_latex(self) -> str:
        """Every table in LaTeX (booktabs)."""
        return "\n\n".join(table.to_latex() for table in self.all_tables() if table.rows)

    def __str__(self) -> str:
        return f"{self.title}\n{self.lead}"


def table_of(result: Result) -> Table:
    """A result as headings in words and rows of text; columns without an entry are left out."""
    frame = result.to_frame()
    names = []
    for column_name in result._telling_columns(frame):
        if column_name not in _LEFT_OUT:
            names.append(column_name)
    records = frame[names].to_dict("records")
    models = isinstance(result, ModelComparison)
    headings = _HEADS
    if isinstance(result, AmplificationResult):
        headings = _HEADS | _OF_AMPLIFICATION
    elif models:
        headings = _HEADS | _OF_MODELS
    heads = tuple(headings.get(str(name), str(name).replace("_", " ")) for name in names)
    rows = tuple(tuple(_cell_text(name, record[name]) for name in names) for record in records)
    if "verdict" in frame or models:
        sentences = tuple(sentences_of(result))
    else:
        sentences = ()
    return Table(
        title=printable(result.title),
        heads=heads,
        rows=rows,
        notes=tuple(map(printable, result.notes())),
        sentences=sentences,
    )


def _cell_text(name: str, value: Any) -> str:
    if name == "metric":
        return printable(value).replace("_", " ")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return printable(value)
    if name in _COUNTS and float(value).is_integer():
        return count(value)
    if name in _PVALUES:
        return pvalue(value)
    if name == "p_rope":
        return chance(value)
    if not isinstance(value, float):
        return count(value)
    # what three decimals would round to nothing has its first two digits
    if 0 < abs(value) < 0.0005:
        return f"{value:.2g}".replace("-", "−")
    return number(value)


def sentences_of(result: Result) -> list[str]:
    """The sentences of a result as text that can be shown."""
    groups = []
    for comparison in result.comparisons:
        for name in (comparison.group, comparison.reference):
            if name:
                groups.append(printable(name))
    sentences = result.sentences()
    for name in result.metrics if isinstance(result, ModelComparison) else ():
        sentences = [
            sentence.replace(f" {name} ", f" {name.replace('_', ' ')} ") for sentence in sentences
        ]
    return [isolate(printable(sentence), groups) for sentence in sentences]
