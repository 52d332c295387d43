"""What every view of a report shows, taken from the tidy tables of its results."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from fairstats.ground.counts import CellCounts, ConfusionCounts
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.registry import RATES
from fairstats.ground.verdict import explain, fair_range
from fairstats.methods.rates.result import ComparisonResult
from fairstats.report.contents import compares, count_verdicts, rests_on_exact_test
from fairstats.report.format import (
    Axis,
    count,
    difference_axis,
    distance_axis,
    gap_axis,
    interval,
    isolate,
    number,
    percent,
    printable,
    ratio_axis,
    whole_or_weighted,
)
from fairstats.report.sections import metric_title

if TYPE_CHECKING:
    from fairstats.ground.results import Result
    from fairstats.report.columns import AuditColumns
    from fairstats.report.contents import Contents, Section

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
    sizes = table.group_sizes
    rows = []
    for g, label in enumerate(table.groups):
        cells = tuple(_cell(float(k[g]), float(d[g])) for k, d in totals)
        share = percent(float(sizes[g]) / table.n) if table.n else "—"
        rows.append((printable(label), count(sizes[g]), share, cells))
    headings = tuple((name, meaning) for name, meaning, _, _ in shown)
    return GroupsTable(headings, tuple(rows), table.weighted, count(table.n))


def _cell(successes: float, cases: float) -> RateCell:
    rate = percent(successes / cases) if cases > 0 else "—"
    return RateCell(rate, f"{whole_or_weighted(successes)} of {whole_or_weighted(cases)}")


#: In place of the verdict of an estimate that is compared with no threshold.
NOT_JUDGED = "not judged"
#: Numbers of a row that bear the name of their column in the tidy table.
_NUMBERS = (
    "estimate", "bound_low", "bound_high", "statistic", "pvalue", "pvalue_adjusted", "pvalue_verdict",
    "pvalue_verdict_adjusted", "rate", "rate_reference"
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One comparison.

    `label`, `reference`: group (or both groups of a gap), and what it is compared with; `scale`, {"ratio",
    "difference", "maximum", "distance"}; `side`, {"two-sided", "greater", "less"}: which ends of the interval are
    limits; `fair`: ends of the fair range; `tests`: p-values by alternative; "exact <alternative>" for exact ones.
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
    note: str
    remark: str
    scale: str
    side: str
    fair: tuple[float, float]
    tests: dict[str, float]

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
    by_set: dict[tuple[str, ...], list[Section]] = {}
    for section in report.sections:
        by_set.setdefault(section.attributes, []).append(section)
    tables = {tuple(table.attributes): table for table in report.tables}
    found = []
    for attributes, sections in by_set.items():
        results = [result for section in sections for result in section.results]
        blocks = [block for result in results if compares(result) for block in _blocks(result)]
        table = tables.get(attributes)
        view = SetView(
            name=printable(INTERSECTION.join(attributes)), attributes=attributes, results=tuple(results),
            crossed=len(attributes) > 1, blocks=tuple(blocks),
            groups=None if table is None else groups_table(table, report.columns),
            charts=tuple(_charts(blocks, report.settings.threshold, report.settings.margin)),
            others=tuple(r for r in results if not compares(r)), verdicts=count_verdicts(sections),
        )  # fmt: skip
        found.append(view)
    return found


def _blocks(result: Any) -> Iterator[Block]:
    scale, records = result.scale, result.rows()
    threshold = result.settings.threshold if scale == "ratio" else math.inf
    # a distance has several rows per comparison, and its bounds are of the interval's method
    remarks = [_remark(c, threshold) for c in result.comparisons if scale != "distance"] or [""] * len(records)
    rates = isinstance(result, ComparisonResult)
    tests = _tests(result) if rates else {}
    limit = result.settings.limit if rates else result.settings.margin
    fair = fair_range(scale if scale in ("ratio", "difference") else "gap", limit)
    rows: dict[str, list[Row]] = {}
    for record, sentence, remark in zip(records, result.sentences(), remarks, strict=True):
        key = (record["metric"], record["group"], record["reference"])
        row = _row(record, scale, sentence, tests.get(key, {}), remark, _side(result, record), fair)
        rows.setdefault(record["metric"], []).append(row)
    for metric, found in rows.items():
        yield Block(metric, metric_title(metric, printable(result.title)), tuple(found))


def _side(result: Any, record: dict[str, Any]) -> str:
    """Which ends of the interval are limits: of a distance without a grid only the lower one."""
    if isinstance(result, ComparisonResult):
        return result.settings.alternative
    return "greater" if record["metric"] == "madd" and record["ci_high"] == 2.0 else "two-sided"


def _row(
    record: dict[str, Any],
    scale: str,
    sentence: str,
    tests: dict[str, float],
    remark: str,
    side: str,
    fair: tuple[float, float],
) -> Row:
    both = group, reference = printable(record["group"] or "—"), printable(record["reference"] or "—")
    between = record["metric"].endswith("_max")
    numbers: dict[str, Any] = {name: _real(record, name) for name in _NUMBERS}
    return Row(
        label=f"{group} – {reference}" if between else group,
        reference="" if between else reference,
        low=_real(record, "ci_low"),
        high=_real(record, "ci_high"),
        n=_whole(record.get("n")),
        n_reference=_whole(record.get("n_reference")),
        verdict=record.get("verdict", "insufficient evidence") or NOT_JUDGED,
        sentence=isolate(printable(sentence), both),
        note=isolate(printable(record.get("note") or ""), both),
        remark=remark,
        scale=scale,
        side=side,
        fair=fair,
        tests=tests,
        **numbers,
    )


def _remark(comparison: Any, threshold: float) -> str:
    """What stands below the verdict: the reverse violation, or bounds that are not the interval's."""
    said = []
    if comparison.verdict == "violated" and comparison.direction == "above" and threshold < math.inf:
        said.append(f"{comparison.reference} is below {threshold:g} of {comparison.group}")
    if rests_on_exact_test(comparison):
        said.append("by exact test: few cases")
    return printable("; ".join(said))


def _real(record: dict[str, Any], key: str) -> float:
    value = record.get(key)
    return math.nan if value is None else float(value)


def _whole(value: Any) -> int | None:
    return None if value is None or math.isnan(value) else int(value)


def _tests(result: ComparisonResult) -> dict[tuple[Any, ...], dict[str, float]]:
    """p-values per comparison, by alternative."""
    found: dict[tuple[Any, ...], dict[str, float]] = {}
    for test in result.tests().to_dict("records"):
        exact = "exact " if "exact" in test["method"] else ""
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
