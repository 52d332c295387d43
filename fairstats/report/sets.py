"""From the results of a report to what its views show: groups, comparisons in rows, charts."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fairstats.ground.counts import CellCounts, ConfusionCounts, SizeCounts
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.registry import RATES, Title
from fairstats.ground.results import Comparison
from fairstats.ground.tallies.classes import ClassCounts
from fairstats.ground.verdict import fair_range
from fairstats.methods.rates.classes.rates import events_of, rate_of_event, rates_of_classes
from fairstats.methods.rates.employment.result import AdverseImpact
from fairstats.methods.rates.maxima import MaximumResult
from fairstats.methods.rates.numbers.result import NumbersResult
from fairstats.methods.rates.result import ComparisonResult
from fairstats.methods.rates.strata.result import StratifiedComparison, WithinStrata
from fairstats.report.claims import Claim
from fairstats.report.contents import compares, count_verdicts, rests_on_exact_test
from fairstats.report.format import (
    count,
    difference_axis,
    distance_axis,
    gap_axis,
    isolate,
    number,
    percent,
    printable,
    ratio_axis,
    units_axis,
    whole_or_weighted,
)
from fairstats.report.methods import title_of_metric
from fairstats.report.view import (
    NOT_JUDGED,
    Block,
    Chart,
    GroupsTable,
    RateCell,
    Row,
    SetView,
    name_gap,
)

if TYPE_CHECKING:
    from fairstats.report.contents import Contents
    from fairstats.report.inputs import AuditColumns

#: Classes whose shares are shown of every group.
_MOST_CLASSES = 6
_SHOWN = (
    ("selection_rate", "Selected", "ŷ=1 of rows"),
    ("base_rate", "Favourable outcome", "Y=1 of rows"),
    ("tpr", "TPR", "ŷ=1 of Y=1"),
    ("tnr", "TNR", "ŷ=0 of Y=0"),
    ("ppv", "PPV", "Y=1 of ŷ=1"),
    ("npv", "NPV", "Y=0 of ŷ=0"),
)
#: Numbers of a row → their columns in the tidy table.
_NUMBERS = {"low": "ci_low", "high": "ci_high"} | {
    name: name
    for name in (
        "estimate",
        "bound_low",
        "bound_high",
        "statistic",
        "pvalue",
        "pvalue_adjusted",
        "pvalue_verdict",
        "pvalue_verdict_adjusted",
        "rate",
        "rate_reference",
        "rate_low",
        "rate_high",
        "rate_reference_low",
        "rate_reference_high",
        "value",
        "value_reference",
    )
}


def groups_table(
    table: CellCounts, columns: AuditColumns, results: Sequence[Any] = ()
) -> GroupsTable:
    """The table of one set of attributes; of selections `columns` says what was counted.

    `results`: of this set; the own values of groups in those of numbers stand beside the rates.
    """
    rates = _groups_and_rates(table, columns)
    headings = [*rates.headings]
    cells_of_rows: list[list[RateCell]] = [[*cells] for _, _, _, cells in rates.rows]
    for numbers in numbers_of_groups(results):
        headings.append((numbers.title, f"{100 * numbers.confidence_level:g}% interval"))
        for label, cells in zip(table.groups, cells_of_rows, strict=True):
            value, low, high = numbers.of_group(label)
            cells.append(RateCell(number(value), f"{number(low)} to {number(high)}"))
    rows = []
    for (label_text, size, share, _), cells in zip(rates.rows, cells_of_rows, strict=True):
        rows.append((label_text, size, share, tuple(cells)))
    return replace(rates, headings=tuple(headings), rows=tuple(rows))


@dataclass(frozen=True)
class NumbersOfGroups:
    """A number of every group with its interval by itself, as a mean of wages.

    `metric`, `title`: of the result; `values`: group → value and ends of its interval.
    """

    metric: str
    title: str
    confidence_level: float
    values: dict[Hashable, tuple[float, float, float]]

    def of_group(self, label: Hashable) -> tuple[float, float, float]:
        """Value and interval of a group; NaN where it was compared with nobody."""
        return self.values.get(label, (math.nan, math.nan, math.nan))


def numbers_of_groups(results: Sequence[Any]) -> Iterator[NumbersOfGroups]:
    """What the comparisons of numbers say of each group by itself, one for each metric."""
    for result in results:
        # an adjusted value is one of a pair: beside another group it is another
        if not isinstance(result, NumbersResult) or isinstance(result, WithinStrata):
            continue
        values: dict[Hashable, tuple[float, float, float]] = {}
        for comparison in result.comparisons:
            for label, value, ends in (
                (comparison.group, comparison.rate, comparison.value_interval),
                (
                    comparison.reference,
                    comparison.rate_reference,
                    comparison.value_reference_interval,
                ),
            ):
                values[label] = (value, ends.low, ends.high)
        yield NumbersOfGroups(
            metric=result.comparisons[0].metric,
            title=Title(result.title).label,
            confidence_level=result.settings.confidence_level,
            values=values,
        )


def _groups_and_rates(table: CellCounts, columns: AuditColumns) -> GroupsTable:
    """Sizes and rates of every group."""
    if isinstance(table, ClassCounts):
        return _groups_of_classes(table, columns)
    if isinstance(table, ConfusionCounts):
        shown = [
            (name, meaning, RATES[rate_key].successes, RATES[rate_key].cases)
            for rate_key, name, meaning in _SHOWN
        ]
    elif isinstance(table, SizeCounts):
        shown = []
    else:
        _, name, meaning = _SHOWN[0 if columns.y_pred is not None else 1]
        shown = [(name, meaning, ("selected",), ("selected", "not_selected"))]
    totals = [(table.total(*successes), table.total(*cases)) for _, _, successes, cases in shown]
    rows = []
    for group_index, (label, size) in enumerate(zip(table.groups, table.group_sizes, strict=True)):
        cells = tuple(
            _rate_cell(float(successes[group_index]), float(cases[group_index]))
            for successes, cases in totals
        )
        rows.append(
            (
                printable(label),
                count(size),
                percent(float(size) / table.n) if table.n else "—",
                cells,
            )
        )
    headings = tuple((name, meaning) for name, meaning, _, _ in shown)
    return GroupsTable(
        headings=headings, rows=tuple(rows), weighted=table.weighted, total=count(table.n)
    )


def _groups_of_classes(table: ClassCounts, columns: AuditColumns) -> GroupsTable:
    """Shares of the classes in every group, of predictions or else of labels; and right ones."""
    letter = "Y" if columns.y_pred is None else "ŷ"
    headings = []
    rates = []
    for event in events_of(table, "one-vs-rest")[:_MOST_CLASSES]:
        headings.append((printable(event.label), f"{letter}={printable(event.label)} of rows"))
        rates.append(rate_of_event(table, RATES["selection_rate"], event))
    if table.labelled:
        headings.append(("Right", "ŷ=Y of rows"))
        rates.extend(rates_of_classes(table, [RATES["accuracy"]], "macro"))
    totals = [(table.total(*rate.successes), table.total(*rate.cases)) for rate in rates]
    rows = []
    for group_index, (label, size) in enumerate(zip(table.groups, table.group_sizes, strict=True)):
        cells = []
        for successes, cases in totals:
            cells.append(_rate_cell(float(successes[group_index]), float(cases[group_index])))
        share = percent(float(size) / table.n) if table.n else "—"
        rows.append((printable(label), count(size), share, tuple(cells)))
    return GroupsTable(
        headings=tuple(headings), rows=tuple(rows), weighted=table.weighted, total=count(table.n)
    )


def _rate_cell(successes: float, cases: float) -> RateCell:
    if cases > 0:
        rate = percent(successes / cases)
    else:
        rate = "—"
    return RateCell(rate, f"{whole_or_weighted(successes)} of {whole_or_weighted(cases)}")


def view_sets(report: Contents) -> list[SetView]:
    """One view per set of attributes, in the order of the report."""
    tables = {tuple(table.attributes): table for table in report.tables}
    views = []
    for attributes in dict.fromkeys(section.attributes for section in report.sections):
        sections = []
        for section in report.sections:
            if section.attributes == attributes:
                sections.append(section)
        results = []
        for section in sections:
            for result in section.results:
                results.append(result)
        blocks: list[Block] = []
        for section_at, section in enumerate(report.sections):
            if section.attributes != attributes:
                continue
            for place, result in enumerate(section.results):
                if compares(result):
                    count_of_rows = len(section.rows[place])
                    claims = []
                    for row in range(count_of_rows):
                        claims.append(report.claims.get((section_at, place, row), Claim()))
                    blocks += _blocks_of_result(result, claims)
        table = tables.get(attributes)
        views.append(
            SetView(
                name=printable(INTERSECTION.join(attributes)),
                attributes=attributes,
                results=tuple(results),
                crossed=len(attributes) > 1,
                blocks=tuple(blocks),
                groups=None if table is None else groups_table(table, report.columns, results),
                charts=tuple(
                    _make_charts(blocks, report.settings.threshold, report.settings.margin)
                ),
                others=tuple(result for result in results if not compares(result)),
                verdicts=count_verdicts(sections),
            )
        )
    return views


def charts_of_impact(report: Contents, view: SetView) -> tuple[Chart, ...]:
    """The ratios of adverse impact in a set, as rows with what they say over the whole audit.

    Of a process with several steps those of the whole process, which come first.
    """
    for section_at, section in enumerate(report.sections):
        if section.attributes != view.attributes:
            continue
        for result_at, result in enumerate(section.results):
            if isinstance(result, AdverseImpact):
                block = _block_of_impact(report, result, (section_at, result_at))
                return tuple(_make_charts([block], result.threshold, report.settings.margin))
    return ()


def _block_of_impact(report: Contents, result: AdverseImpact, place: tuple[int, int]) -> Block:
    """The block of adverse impact: ratios of the whole process."""
    rows = []
    records = result.rows()
    for row_at, (record, sentence) in enumerate(zip(records, result.sentences(), strict=False)):
        if record["step"] != records[0]["step"]:
            continue
        claim = report.claims.get((*place, row_at), Claim())
        row = _make_row(
            record,
            sentence,
            between=False,
            scale="ratio",
            tests={},
            remark="",
            side="two-sided",
            fair=fair_range("ratio", result.threshold),
            real_over_audit=claim.real_over_audit,
            holds_over_audit=claim.holds_over_audit,
        )
        rows.append(row)
    metric = "adverse_impact"
    return Block(metric, title_of_metric(metric, printable(result.title)), tuple(rows))


def _blocks_of_result(result: Any, claims: list[Claim]) -> Iterator[Block]:
    """A block for each metric of a result, with its rows as the page shows them."""
    scale = result.scale
    records = result.rows()
    if scale == "ratio":
        threshold = result.settings.threshold
    else:
        threshold = math.inf
    # the bounds of a distance are of its interval's method
    remarks = [
        _remark_on(comparison, threshold)
        for comparison in result.comparisons
        if scale != "distance"
    ] or [""] * len(records)
    rates = isinstance(result, ComparisonResult)
    settings = result.settings
    tests = _pvalues_of_tests(result) if rates else {}
    if rates:
        limit = settings.limit
    else:
        limit = settings.margin
    fair = fair_range(scale if scale in ("ratio", "difference") else "gap", limit)
    rows: dict[str, list[Row]] = {}
    if rates:
        crude_words = [_crude_beside(comparison) for comparison in result.comparisons]
    else:
        crude_words = [""] * len(records)
    # a largest one is between two groups, of which neither is the reference
    if isinstance(result, MaximumResult):
        n_pairs = 0
    else:
        n_pairs = len(result.comparisons)
    rows_said = zip(records, result.sentences(), remarks, claims, crude_words, strict=True)
    for row_at, (record, sentence, remark, claim, crude) in enumerate(rows_said):
        if rates:
            side = settings.alternative
        else:
            side = "two-sided"
        pvalues_of_row = tests.get((record["metric"], record["group"], record["reference"]), {})
        row = _make_row(
            record,
            sentence,
            between=row_at >= n_pairs,
            scale=scale,
            tests=pvalues_of_row,
            remark=remark,
            side=side,
            fair=fair,
            beside=crude,
            real_over_audit=claim.real_over_audit,
            holds_over_audit=claim.holds_over_audit,
        )
        rows.setdefault(record["metric"], []).append(row)
    for metric, rows_of_metric in rows.items():
        yield Block(metric, title_of_metric(metric, printable(result.title)), tuple(rows_of_metric))


def _make_row(record: dict[str, Any], sentence: str, *, between: bool, **more: Any) -> Row:
    """A row of a forest plot from a record of the tidy table."""
    pair_of_labels = group, reference = (
        printable(record["group"] or "—"),
        printable(record["reference"] or "—"),
    )
    numbers: dict[str, Any] = {}
    for name, column in _NUMBERS.items():
        numbers[name] = _number_or_nan(record.get(column))
    label = group
    if between:
        label = name_gap(group, reference)
        reference = ""
    return Row(
        label=label,
        reference=reference,
        n=_count_or_none(record.get("n")),
        n_reference=_count_or_none(record.get("n_reference")),
        verdict=record.get("verdict", "insufficient evidence") or NOT_JUDGED,
        sentence=isolate(printable(sentence), pair_of_labels),
        **numbers,
        **more,
    )


def _count_or_none(value: Any) -> int | None:
    number_of_rows = _number_or_nan(value)
    if math.isnan(number_of_rows):
        return None
    return int(number_of_rows)


def _remark_on(comparison: Comparison, threshold: float) -> str:
    """What stands below the verdict.

    The reverse violation, or bounds that are not the interval's.
    """
    remarks = []
    if (
        comparison.verdict == "violated"
        and comparison.direction == "above"
        and threshold < math.inf
    ):
        remarks.append(f"{comparison.reference} is below {threshold:g} of {comparison.group}")
    if rests_on_exact_test(comparison):
        remarks.append("by exact test: few cases")
    if crude_words := _crude_beside(comparison):
        remarks.append(crude_words)
    return printable("; ".join(remarks))


def _crude_beside(comparison: Comparison) -> str:
    """The crude comparison beside one within strata; empty for others."""
    if not isinstance(comparison, StratifiedComparison):
        return ""
    return f"crude {number(comparison.crude)}, {comparison.crude_verdict}"


def _number_or_nan(value: Any) -> float:
    if value is None:
        return math.nan
    return float(value)


def _pvalues_of_tests(result: ComparisonResult) -> dict[tuple[Any, ...], dict[str, float]]:
    """p-values per comparison, by alternative."""
    pvalues: dict[tuple[Any, ...], dict[str, float]] = {}
    for test in result.tests().to_dict("records"):
        if test["exact"]:
            exact = "exact "
        else:
            exact = ""
        test_key = (test["metric"], test["group"], test["reference"])
        pvalues.setdefault(test_key, {})[exact + test["alternative"]] = float(test["pvalue"])
    return pvalues


def _make_charts(blocks: list[Block], threshold: float, margin: float) -> Iterator[Chart]:
    axes = (
        ("ratio", threshold, ratio_axis),
        ("difference", margin, difference_axis),
        ("units", 0.0, units_axis),
    )
    sizes = ("maximum", margin, gap_axis), ("distance", min(2 * margin, 2.0), distance_axis)
    for kind, limit, make_axis in (*axes, *sizes):
        chosen = tuple(block for block in blocks if block.rows[0].chart_kind == kind)
        rows = []
        for block in chosen:
            for row in block.rows:
                rows.append(row)
        if rows:
            ends = []
            for row in rows:
                if row.judged:
                    for end in (row.low, row.high):
                        ends.append(end)
            yield Chart(kind, limit, make_axis([row.estimate for row in rows], ends, limit), chosen)
