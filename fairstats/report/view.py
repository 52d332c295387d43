"""What every view of a report shows, taken from the tidy tables of its results."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairstats.report.axis import Axis, difference_axis, distance_axis, gap_axis, ratio_axis
from fairstats.report.format import interval, isolate, number, percent, printable
from fairstats.report.groups_table import GroupsTable, groups_table
from fairstats.report.section import rests_on_score_bounds
from fairstats.report.sections import metric_title

if TYPE_CHECKING:
    from fairstats.ground.results import Result
    from fairstats.report.report import AuditReport
    from fairstats.report.section import Section

__all__ = ["NOT_JUDGED", "Block", "Chart", "Row", "SetView", "view_sets"]

_SCALES = ("ratio", "difference", "maximum", "distance")
#: In place of the verdict of an estimate that is compared with no threshold.
NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes
    ----------
    label, reference : str
        Group (or both groups of a gap), and what it is compared with.
    estimate, low, high, bound_low, bound_high : float
    statistic, pvalue, pvalue_adjusted, rate, rate_reference : float
    n, n_reference : int or None
    verdict, sentence, note, remark : str
    scale : {"ratio", "difference", "maximum", "distance"}
    tests : dict of str to float
        p-values by alternative; "exact <alternative>" for exact ones.
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
    rate: float
    rate_reference: float
    n: int | None
    n_reference: int | None
    verdict: str
    sentence: str
    note: str
    remark: str
    scale: str
    tests: dict[str, float]

    @property
    def judged(self) -> bool:
        """Whether the estimate is compared with a threshold."""
        return self.verdict != NOT_JUDGED

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
    def interval_text(self) -> str:
        """Interval as text."""
        return interval(self.low, self.high, signed=self.scale == "difference")


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

    def by_verdict(self) -> dict[str, list[str]]:
        """Labels of the rows per verdict."""
        found: dict[str, list[str]] = {}
        for row in self.rows:
            found.setdefault(row.verdict, []).append(row.label)
        return found


@dataclass(frozen=True)
class Chart:
    """Blocks that share a scale.

    Attributes
    ----------
    kind : {"ratio", "difference", "maximum", "distance"}
    threshold : float
    axis : Axis
    blocks : tuple of Block
    """

    kind: str
    threshold: float
    axis: Axis
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class SetView:
    """Everything about one set of attributes.

    Attributes
    ----------
    name : str
    crossed : bool
        Whether it is an intersection.
    groups : GroupsTable or None
    blocks : tuple of Block
    charts : tuple of Chart
        Ratios, differences, sizes without sign, distances between distributions.
    others : tuple of Result
        Results that are no comparisons: shown as tables.
    verdicts : dict of str to int
    """

    name: str
    crossed: bool
    groups: GroupsTable | None
    blocks: tuple[Block, ...]
    charts: tuple[Chart, ...]
    others: tuple[Result, ...]
    verdicts: dict[str, int]


def view_sets(report: AuditReport) -> list[SetView]:
    """One view per set of attributes, in the order of the report."""
    by_set: dict[tuple[str, ...], list[Section]] = {}
    for section in report.sections:
        by_set.setdefault(section.attributes, []).append(section)
    tables = {tuple(table.attributes): table for table in report.tables}
    found = []
    for attributes, sections in by_set.items():
        results = [result for section in sections for result in section.results]
        blocks = [block for result in results for block in _blocks(result)]
        verdicts = sections[0].verdicts()
        for section in sections[1:]:
            verdicts = {k: v + section.verdicts()[k] for k, v in verdicts.items()}
        table = tables.get(attributes)
        found.append(
            SetView(
                name=printable(sections[0].attribute_text),
                crossed=len(attributes) > 1,
                groups=None if table is None else groups_table(table, report.columns),
                blocks=tuple(blocks),
                charts=tuple(_charts(blocks, report.settings.threshold, report.settings.tolerance)),
                others=tuple(r for r in results if _scale(r) is None),
                verdicts=verdicts,
            )
        )
    return found


def _scale(result: Any) -> str | None:
    """Scale of a result that compares groups; None for any other."""
    scale = getattr(result, "scale", None)
    if scale in _SCALES:
        return str(scale)
    return "maximum" if hasattr(result, "components") and hasattr(result, "verdict") else None


def _blocks(result: Result) -> Iterator[Block]:
    scale = _scale(result)
    if scale is None:
        return
    judged: Any = result
    records = [{str(k): v for k, v in row.items()} for row in result.to_frame().to_dict("records")]
    sentences = judged.sentences() if hasattr(judged, "sentences") else [""] * len(records)
    tests = _tests(judged)
    threshold = judged.settings.threshold
    rows: dict[str, list[Row]] = {}
    comparisons = getattr(judged, "comparisons", None)
    for i, (record, sentence) in enumerate(zip(records, sentences, strict=True)):
        key = (record["metric"], record["group"], record["reference"])
        if comparisons is None or scale == "distance":
            remark = ""
        else:
            remark = _remark(comparisons[i], scale, threshold)
        between = comparisons is None or str(record["metric"]).endswith("_max")
        row = _row(record, scale, sentence, tests.get(key, {}), remark, between=between)
        rows.setdefault(str(record["metric"]), []).append(row)
    for metric, found in rows.items():
        yield Block(metric, metric_title(metric, printable(result.title)), tuple(found))


def _row(
    record: dict[str, Any],
    scale: str,
    sentence: str,
    tests: dict[str, float],
    remark: str,
    *,
    between: bool,
) -> Row:
    group, reference = printable(record["group"] or "—"), printable(record["reference"] or "—")
    return Row(
        label=f"{group} – {reference}" if between else group,
        reference="" if between else reference,
        estimate=_real(record, "estimate"),
        low=_real(record, "ci_low"),
        high=_real(record, "ci_high"),
        bound_low=_real(record, "bound_low"),
        bound_high=_real(record, "bound_high"),
        statistic=_real(record, "statistic"),
        pvalue=_real(record, "pvalue"),
        pvalue_adjusted=_real(record, "pvalue_adjusted"),
        rate=_real(record, "rate"),
        rate_reference=_real(record, "rate_reference"),
        n=_whole(record.get("n")),
        n_reference=_whole(record.get("n_reference")),
        verdict=_verdict(record),
        sentence=isolate(printable(sentence), (group, reference)),
        note=isolate(printable(record.get("note") or ""), (group, reference)),
        remark=remark,
        scale=scale,
        tests=tests,
    )


def _verdict(record: dict[str, Any]) -> str:
    """The verdict; a row without one is not judged, a result without any has insufficient evidence."""
    verdict = record.get("verdict", "insufficient evidence")
    return verdict if isinstance(verdict, str) and verdict else NOT_JUDGED


def _remark(comparison: Any, scale: str, threshold: float) -> str:
    """What stands below the verdict: the reverse violation, or bounds that are not the interval's."""
    said = []
    if scale == "ratio" and threshold < 1 and comparison.bounds.low > 1 / threshold:
        said.append(f"but {comparison.reference} is below {threshold:g} of {comparison.group}")
    if rests_on_score_bounds(comparison):
        said.append("by score bounds: few cases")
    return printable("; ".join(said))


def _real(record: dict[str, Any], key: str) -> float:
    value = record.get(key)
    return math.nan if value is None else float(value)


def _whole(value: Any) -> int | None:
    return None if value is None or (isinstance(value, float) and math.isnan(value)) else int(value)


def _tests(result: Any) -> dict[tuple[Any, ...], dict[str, float]]:
    """p-values per comparison, by alternative."""
    if not callable(getattr(result, "tests", None)):
        return {}
    found: dict[tuple[Any, ...], dict[str, float]] = {}
    for test in result.tests().to_dict("records"):
        exact = "exact " if "exact" in test["method"] else ""
        key = (test["metric"], test["group"], test["reference"])
        found.setdefault(key, {})[exact + test["alternative"]] = float(test["pvalue"])
    return found


def _charts(blocks: list[Block], threshold: float, tolerance: float) -> Iterator[Chart]:
    for kind, limit, make in (
        ("ratio", threshold, ratio_axis),
        ("difference", tolerance, difference_axis),
        ("maximum", tolerance, gap_axis),
        ("distance", min(2 * tolerance, 2.0), distance_axis),
    ):
        chosen = tuple(block for block in blocks if block.rows[0].scale == kind)
        rows = [row for block in chosen for row in block.rows]
        if rows:
            ends = [end for row in rows if row.judged for end in (row.low, row.high)]
            yield Chart(kind, limit, make([row.estimate for row in rows], ends, limit), chosen)
