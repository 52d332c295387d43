"""What every view of a report shows: rows, charts and tables, taken from the tidy tables of its results."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from fairstats.ground.counts import CellCounts, ConfusionCounts
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.registry import RATES
from fairstats.ground.results import latex_table
from fairstats.ground.verdict import explain, fair_range
from fairstats.methods.rates.models.result import ModelComparison
from fairstats.methods.rates.result import ComparisonResult
from fairstats.methods.rates.stratified_result import StratifiedComparison
from fairstats.plots.picture import Picture
from fairstats.report.claims import Claim
from fairstats.report.contents import compares, count_verdicts, rests_on_exact_test
from fairstats.report.format import (
    Axis,
    chance,
    count,
    difference_axis,
    distance_axis,
    gap_axis,
    interval,
    isolate,
    number,
    percent,
    printable,
    pvalue,
    ratio_axis,
    whole_or_weighted,
)
from fairstats.report.sections import metric_title

if TYPE_CHECKING:
    from fairstats.ground.results import Result
    from fairstats.report.contents import Contents
    from fairstats.report.inputs import AuditColumns

_SHOWN = (
    ("selection_rate", "Selected", "ŷ=1 of rows"), ("base_rate", "Favourable outcome", "Y=1 of rows"),
    ("tpr", "TPR", "ŷ=1 of Y=1"), ("tnr", "TNR", "ŷ=0 of Y=0"), ("ppv", "PPV", "Y=1 of ŷ=1"),
    ("npv", "NPV", "Y=0 of ŷ=0"),
)  # fmt: skip


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


def groups_table(table: CellCounts, columns: AuditColumns) -> GroupsTable:
    """The table of one set of attributes; of selections `columns` says what was counted."""
    if isinstance(table, ConfusionCounts):
        shown = [(name, meaning, RATES[key].successes, RATES[key].cases) for key, name, meaning in _SHOWN]
    else:
        _, name, meaning = _SHOWN[0 if columns.y_pred is not None else 1]
        shown = [(name, meaning, ("selected",), ("selected", "not_selected"))]
    totals = [(table.total(*successes), table.total(*cases)) for _, _, successes, cases in shown]
    rows = []
    for g, (label, size) in enumerate(zip(table.groups, table.group_sizes, strict=True)):
        cells = tuple(_cell(float(k[g]), float(d[g])) for k, d in totals)
        rows.append((printable(label), count(size), percent(float(size) / table.n) if table.n else "—", cells))
    headings = tuple((name, meaning) for name, meaning, _, _ in shown)
    return GroupsTable(headings, tuple(rows), table.weighted, count(table.n))


def _cell(successes: float, cases: float) -> RateCell:
    rate = percent(successes / cases) if cases > 0 else "—"
    return RateCell(rate, f"{whole_or_weighted(successes)} of {whole_or_weighted(cases)}")


#: In place of the verdict of an estimate that is compared with no threshold.
NOT_JUDGED = "not judged"
#: Numbers of a row → their columns in the tidy table.
_NUMBERS = {"low": "ci_low", "high": "ci_high"} | {
    name: name
    for name in (
        "estimate", "bound_low", "bound_high", "statistic", "pvalue", "pvalue_adjusted", "pvalue_verdict",
        "pvalue_verdict_adjusted", "rate", "rate_reference",
    )
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One comparison.

    `label`, `reference`: group (or both groups of a gap), and what it is compared with; `scale`, {"ratio",
    "difference", "maximum", "distance"}; `side`, {"two-sided", "greater", "less"}: which ends of the interval are
    limits; `fair`: ends of the fair range; `tests`: p-values by alternative; "exact <alternative>" for exact ones;
    `real_over_audit`, `holds_over_audit`: what holds over everything that the audit tested, as in `Claim`; `beside`:
    what the comparison is without strata, where it is one within them.
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

    @property
    def judged(self) -> bool:
        """Whether the estimate is compared with a threshold."""
        return self.verdict != NOT_JUDGED

    @property
    def why(self) -> str:
        """Why the verdict is what it is, where the interval seems to say something else."""
        judged_with_others = self.pvalue_verdict_adjusted > self.pvalue_verdict
        ends = (self.low, self.high), (self.bound_low, self.bound_high)
        return explain(*ends, self.fair, self.verdict, adjusted=judged_with_others, alternative=self.side)

    @property
    def estimate_text(self) -> str:
        """Estimate as text."""
        return number(self.estimate, signed=self.scale == "difference")

    @property
    def rates_text(self) -> str:
        """The two rates, where the metric compares rates."""
        if self.scale in ("maximum", "distance") or (math.isnan(self.rate) and math.isnan(self.rate_reference)):
            return ""
        return f"{percent(self.rate)} / {percent(self.rate_reference)}"

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
        return shared.pop() if len(shared) == 1 else ""


@dataclass(frozen=True)
class Chart:
    """Blocks that share a scale, the `kind`."""

    kind: str
    threshold: float
    axis: Axis
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class SetView:
    """Everything about one set of attributes.

    `results`: all of them; `crossed`: whether it is an intersection; `charts`: ratios, differences, sizes
    without sign, distances between distributions; `others`: results that are no comparisons: shown as tables.
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


def view_sets(report: Contents) -> list[SetView]:
    """One view per set of attributes, in the order of the report."""
    tables = {tuple(table.attributes): table for table in report.tables}
    found = []
    for attributes in dict.fromkeys(section.attributes for section in report.sections):
        sections = [section for section in report.sections if section.attributes == attributes]
        results = [result for section in sections for result in section.results]
        blocks: list[Block] = []
        for at, section in enumerate(report.sections):
            if section.attributes != attributes:
                continue
            for place, result in enumerate(section.results):
                if compares(result):
                    count_of_rows = len(section.rows[place])
                    claims = [report.claims.get((at, place, row), Claim()) for row in range(count_of_rows)]
                    blocks += _blocks(result, claims)
        table = tables.get(attributes)
        found.append(SetView(
            name=printable(INTERSECTION.join(attributes)), attributes=attributes, results=tuple(results),
            crossed=len(attributes) > 1, blocks=tuple(blocks),
            groups=None if table is None else groups_table(table, report.columns),
            charts=tuple(_charts(blocks, report.settings.threshold, report.settings.margin)),
            others=tuple(r for r in results if not compares(r)), verdicts=count_verdicts(sections),
        ))  # fmt: skip
    return found


def _blocks(result: Any, claims: list[Claim]) -> Iterator[Block]:
    scale, records = result.scale, result.rows()
    threshold = result.settings.threshold if scale == "ratio" else math.inf
    # the bounds of a distance are of its interval's method
    remarks = [_remark(c, threshold) for c in result.comparisons if scale != "distance"] or [""] * len(records)
    rates, settings = isinstance(result, ComparisonResult), result.settings
    tests = _tests(result) if rates else {}
    limit = settings.limit if rates else settings.margin
    fair = fair_range(scale if scale in ("ratio", "difference") else "gap", limit)
    rows: dict[str, list[Row]] = {}
    beside = [_beside(c) for c in result.comparisons] if rates else [""] * len(records)
    rows_said = zip(records, result.sentences(), remarks, claims, beside, strict=True)
    for record, sentence, remark, claim, crude in rows_said:
        side = settings.alternative if rates else "two-sided"
        own = tests.get((record["metric"], record["group"], record["reference"]), {})
        row = _row(
            record, sentence, scale=scale, tests=own, remark=remark, side=side, fair=fair, beside=crude,
            real_over_audit=claim.real_over_audit, holds_over_audit=claim.holds_over_audit,
        )  # fmt: skip
        rows.setdefault(record["metric"], []).append(row)
    for metric, found in rows.items():
        yield Block(metric, metric_title(metric, printable(result.title)), tuple(found))


def _row(record: dict[str, Any], sentence: str, **more: Any) -> Row:
    both = group, reference = printable(record["group"] or "—"), printable(record["reference"] or "—")
    between = record["metric"].endswith("_max")
    numbers: dict[str, Any] = {name: _real(record.get(column)) for name, column in _NUMBERS.items()}
    return Row(
        label=f"{group} – {reference}" if between else group, reference="" if between else reference,
        n=None if math.isnan(n := _real(record.get("n"))) else int(n),
        n_reference=None if math.isnan(n := _real(record.get("n_reference"))) else int(n),
        verdict=record.get("verdict", "insufficient evidence") or NOT_JUDGED,
        sentence=isolate(printable(sentence), both), **numbers, **more,
    )  # fmt: skip


def _remark(comparison: Any, threshold: float) -> str:
    """What stands below the verdict: the reverse violation, or bounds that are not the interval's."""
    said = []
    if comparison.verdict == "violated" and comparison.direction == "above" and threshold < math.inf:
        said.append(f"{comparison.reference} is below {threshold:g} of {comparison.group}")
    if rests_on_exact_test(comparison):
        said.append("by exact test: few cases")
    if beside := _beside(comparison):
        said.append(beside)
    return printable("; ".join(said))


def _beside(comparison: Any) -> str:
    """The crude comparison beside one within strata; empty for others."""
    if not isinstance(comparison, StratifiedComparison):
        return ""
    return f"crude {number(comparison.crude)}, {comparison.crude_verdict}"


def _real(value: Any) -> float:
    return math.nan if value is None else float(value)


def _tests(result: ComparisonResult) -> dict[tuple[Any, ...], dict[str, float]]:
    """p-values per comparison, by alternative."""
    found: dict[tuple[Any, ...], dict[str, float]] = {}
    for test in result.tests().to_dict("records"):
        exact = "exact " if test["exact"] else ""
        key = (test["metric"], test["group"], test["reference"])
        found.setdefault(key, {})[exact + test["alternative"]] = float(test["pvalue"])
    return found


def _charts(blocks: list[Block], threshold: float, margin: float) -> Iterator[Chart]:
    axes = ("ratio", threshold, ratio_axis), ("difference", margin, difference_axis)
    sizes = ("maximum", margin, gap_axis), ("distance", min(2 * margin, 2.0), distance_axis)
    for kind, limit, make in (*axes, *sizes):
        chosen = tuple(block for block in blocks if block.rows[0].scale == kind)
        rows = [row for block in chosen for row in block.rows]
        if rows:
            ends = [end for row in rows if row.judged for end in (row.low, row.high)]
            yield Chart(kind, limit, make([row.estimate for row in rows], ends, limit), chosen)


# ---------------------------------------------------------------- parts, and results as tables of text

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
