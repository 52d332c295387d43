"""The three sentences of a finding: its rates, how sure it is, what would settle an open verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fairstats.ground.registry import RATES, class_of, find_metric, without_class
from fairstats.methods.rates.employment.result import AdverseImpact
from fairstats.methods.rates.planning import (
    growth_by_interval,
    growth_for_difference,
    growth_for_ratio,
)
from fairstats.methods.rates.result import ANYTIME_METHODS
from fairstats.methods.rates.setup import POOLED
from fairstats.report.contents import Contents, compared
from fairstats.report.facts import Fact, PairOfGroups, Reading
from fairstats.report.format import count, number, percent
from fairstats.report.methods.rates import level_of_one_comparison
from fairstats.report.screen.order import crude_readings
from fairstats.report.view import Row, SetView

#: Groups with fewer rows are named among what limits the whole.
FEW_ROWS = 50


@dataclass(frozen=True)
class Planned:
    """What the rows needed are told for: a ratio (None: the estimate), and a power."""

    ratio: float | None
    power: float


def kind_of_pooling(view: SetView, pair: PairOfGroups) -> str:
    """What a pair pools where its reference is several groups together; empty where it does not."""
    result = _result_of(view, pair.readings[0].metric)
    kind = "" if result is None else result.settings.comparisons
    return kind if kind in POOLED else ""


def finding_sentence(
    fact: Fact, pair: PairOfGroups, confidence_level: float, *, pooled: bool, quantity: str
) -> str:
    """Who fares worse, with both rates, ratio and difference; of several together who better.

    `quantity`: what is compared, of numbers with its column; whether more of it is better is not
    known.
    """
    row = pair.first
    readings = ", ".join(_estimate_words(pair))
    if not math.isnan(row.value) and not math.isnan(row.value_reference):
        contrast = "" if math.isnan(row.estimate) else f" ({readings})"
        return (
            f"{quantity}: {number(row.value)} of {pair.label}, against"
            f" {number(row.value_reference)} of {pair.reference}{contrast}."
        )
    if math.isnan(row.rate) or math.isnan(row.rate_reference):
        return f"{name_of_pair(pair)}: {readings}."
    label = class_of(pair.readings[0].metric)
    if label:
        shown = row.pvalue_adjusted <= 1 - confidence_level
        beginning = "" if shown else "In these rows: "
        return _capitalised(
            f"{beginning}{_rate_of_class(pair.readings[0].metric)}: {percent(row.rate)} of"
            f" {pair.label}, against {percent(row.rate_reference)} of {pair.reference}"
            f" ({readings})."
        )
    words = _words_of_rate(fact)
    if row.rate == row.rate_reference:
        return (
            f"{pair.label} and {pair.reference} fare alike in these rows: {percent(row.rate)}"
            f" {words} in both ({readings})."
        )
    shown = row.pvalue_adjusted <= 1 - confidence_level
    beginning = "" if shown else "In these rows "
    if row.rate < row.rate_reference:
        return (
            f"{beginning}{pair.label} fares worse: {percent(row.rate)} {words}, against"
            f" {percent(row.rate_reference)} of {pair.reference} ({readings})."
        )
    if pooled:
        return (
            f"{beginning}{pair.label} fares better: {percent(row.rate)} {words}, against"
            f" {percent(row.rate_reference)} of {pair.reference} ({readings})."
        )
    return (
        f"{beginning}{pair.reference} fares worse: {percent(row.rate_reference)} {words}, against"
        f" {percent(row.rate)} of {pair.label} ({readings}, of {pair.label} to {pair.reference})."
    )


def _rate_of_class(metric: str) -> str:
    """The rate that a metric of one class compares, in words."""
    metric_entry = find_metric(without_class(metric))
    title = (
        RATES[metric_entry.rates[0]].title
        if metric_entry is not None and metric_entry.rates
        else metric
    )
    return f"{title}, {class_of(metric)}"


def range_sentence(fact: Fact, leading: PairOfGroups) -> str:
    """The lowest and the highest rate of all groups, unless the leading pair has both.

    What is shown best is not always what is largest: another group may fare worse.
    """
    rates: dict[str, tuple[float, int | None]] = {}
    for pair in fact.pairs:
        if pair.reference:
            rates[pair.label] = (pair.first.rate, pair.first.n)
            rates[pair.reference] = (pair.first.rate_reference, pair.first.n_reference)
    known_rates = {group: rate for group, (rate, _) in rates.items() if math.isfinite(rate)}
    if not known_rates:
        return ""
    lowest = min(known_rates, key=lambda group: known_rates[group])
    highest = max(known_rates, key=lambda group: known_rates[group])
    leading_rates = (leading.first.rate, leading.first.rate_reference)
    if known_rates[lowest] in leading_rates and known_rates[highest] in leading_rates:
        return ""

    def named(group: str) -> str:
        n_rows = rates[group][1]
        few = f", {count(n_rows)} rows" if n_rows is not None and n_rows < FEW_ROWS else ""
        return f"{percent(known_rates[group])} ({group}{few})"

    return f"Over all groups: from {named(lowest)} to {named(highest)}."


def name_of_pair(pair: PairOfGroups) -> str:
    """Group against reference; of a largest gap the groups that have it."""
    if pair.reference:
        return f"{pair.label} against {pair.reference}"
    return pair.label


def _words_of_rate(fact: Fact) -> str:
    if fact.rate == "selection_rate":
        return "selected"
    if fact.rate == "base_rate":
        return "with a favourable outcome"
    return RATES[fact.rate].title if fact.rate else fact.title


def _estimate_words(pair: PairOfGroups) -> Iterator[str]:
    for reading in crude_readings(pair):
        row = reading.row
        yield f"{reading.short_words} {row.estimate_text} {row.interval_text}"


def certainty_sentence(pair: PairOfGroups, report: Contents) -> str:
    """Whether the difference is real, and whether it is beyond the limits."""
    by_state: dict[tuple[str, bool | None], list[Reading]] = {}
    for reading in crude_readings(pair):
        state = (reading.row.verdict, reading.row.holds_over_audit)
        by_state.setdefault(state, []).append(reading)
    judged = [_verdict_sentence(readings) for readings in by_state.values()]
    return " ".join([_reality_sentence(pair.first, report.settings.confidence_level), *judged])


def _reality_sentence(row: Row, confidence_level: float) -> str:
    if row.real_over_audit:
        return "The difference is real: shown over the whole audit."
    if row.real_over_audit is None:
        things = "rates" if math.isnan(row.value) else "numbers"
        return f"Whether the {things} differ cannot be tested: {_what_lacks(row)}."
    if row.pvalue_adjusted <= 1 - confidence_level:
        return "The difference is shown by its metric alone, not over the whole audit."
    return "That there is a difference at all is not shown."


def _what_lacks(row: Row) -> str:
    if math.isnan(row.value):
        return "too few cases"
    return "too few rows, or numbers that are all alike"


def _verdict_sentence(readings: Sequence[Reading]) -> str:
    """The verdict that one reading has, or several share, against the limits."""
    row = readings[0].row
    nouns = " and ".join(reading.short_words for reading in readings)
    if len(readings) == 1:
        nouns = f"the {nouns}"
    fair = "; ".join(_limit_words(reading) for reading in readings)
    several = len(readings) > 1
    are = "are both" if several else "is"
    limits = f"{'their limits' if several else 'its limit'} ({fair})"
    if row.verdict == "insufficient evidence":
        return f"There is no verdict on {nouns}: {_what_lacks(row)}."
    if row.verdict == "undecided":
        return f"Whether {nouns} {'are' if several else 'is'} beyond {limits} is undecided."
    where = "beyond" if row.verdict == "violated" else "within"
    return f"{_capitalised(nouns)} {are} {where} {limits}, {_extent_of(row)}."


def _extent_of(row: Row) -> str:
    """Whether the verdict of a row holds over the audit."""
    if row.holds_over_audit:
        return "over the whole audit"
    return "by the metric alone"


def state_of_row(row: Row) -> str:
    """Verdict of a row, and whether it holds over the audit."""
    if row.verdict == "insufficient evidence":
        return f"{_what_lacks(row)}, no verdict"
    if row.verdict == "undecided":
        return "undecided"
    return f"{verdict_in_a_word(row)} {_extent_of(row)}"


def _limit_words(reading: Reading) -> str:
    low, high = reading.row.fair
    if reading.row.scale == "ratio" and low == high:
        return "fair at 1 alone"
    if reading.row.scale == "ratio":
        return f"fair from {low:g} to {high:.4g}"
    if reading.row.chart_kind == "units":
        return "fair at 0 alone"
    if reading.row.scale == "difference":
        return f"fair within ±{high:g}"
    return f"fair up to {high:g}"


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def people_sentence(view: SetView, fact: Fact, pair: PairOfGroups) -> str:
    """How many more of the worse group, selected, would bring a violated ratio to its limit."""
    reading = pair.reading_of("ratio")
    if reading is None or fact.rate != "selection_rate" or reading.row.verdict != "violated":
        return ""
    row = reading.row
    if not row.n or not row.n_reference or _weighs_rows(view, [reading]):
        return ""
    pooled = kind_of_pooling(view, pair)
    # of everybody, who has the group's rows too, or of several groups, no such number helps
    if pooled == "overall" or (pooled and row.rate > row.rate_reference):
        return ""
    rate = min(row.rate, row.rate_reference)
    better_rate = max(row.rate, row.rate_reference)
    limit, ratio_reached = row.fair
    n_rows = row.n_reference
    group = row.reference
    if row.rate < row.rate_reference:
        ratio_reached = limit
        n_rows = row.n
        group = row.label
    # a count that meets the limit exactly is not one more for the sake of rounding
    wanted = math.ceil(limit * better_rate * n_rows - 1e-6)
    n_more = wanted - round(rate * n_rows)
    if n_more <= 0:
        return ""
    return (
        f"With {count(n_more)} more of the {count(n_rows)} rows of {group} selected the ratio would be"
        f" {ratio_reached:g}."
    )


def settling_sentence(view: SetView, pair: PairOfGroups, planned: Planned) -> str:
    """Rows that would settle the undecided readings; empty where none is undecided."""
    open_readings = []
    for reading in crude_readings(pair):
        if reading.row.verdict == "undecided":
            open_readings.append(reading)
    texts = []
    if open_readings and _weighs_rows(view, open_readings):
        nouns = " and ".join(f"the {reading.short_words}" for reading in open_readings)
        return f"How many rows would settle {nouns} is not told for weights and clusters."
    for reading in open_readings:
        text = _rows_needed(view, reading, planned)
        if text and text not in texts:
            texts.append(text)
    return " ".join(texts)


def _weighs_rows(view: SetView, readings: Sequence[Reading]) -> bool:
    """Whether the rows behind these readings bear weights or come in clusters."""
    results = [_result_of(view, reading.metric) for reading in readings]
    return any(
        result is not None and (result.counts.weighted or result.counts.clustered)
        for result in results
    )


def _rows_needed(view: SetView, reading: Reading, planned: Planned) -> str:
    """How many rows would settle a reading; empty where it is not told of such a comparison."""
    row = reading.row
    result = _result_of(view, reading.metric)
    # how many rows a look at every file would need is another question than that of one look
    if result is not None and result.settings.method in ANYTIME_METHODS:
        return ""
    if result is None or row.scale not in ("ratio", "difference"):
        return ""
    noun = reading.short_words
    if not row.n or not row.n_reference or result.settings.comparisons == "overall":
        return ""
    at_estimate = planned.ratio is None
    ratio = _assumed_ratio(row, planned)
    level = level_of_one_comparison(result)
    sizes = (row.n, row.n_reference)
    compares_numbers = not math.isnan(row.value)
    if compares_numbers:
        growth = growth_by_interval(
            row.estimate if at_estimate or row.scale == "difference" else ratio,
            (row.low, row.high),
            row.fair,
            confidence_level=result.settings.confidence_level,
            level=level,
            power=planned.power,
            log=row.scale == "ratio",
        )
    elif row.scale == "ratio":
        growth = growth_for_ratio(
            row.rate_reference, ratio, *sizes, result.settings.limit, level, planned.power
        )
    else:
        growth = growth_for_difference(
            ratio * row.rate_reference,
            row.rate_reference,
            *sizes,
            result.settings.limit,
            level,
            planned.power,
        )
    if at_estimate or row.chart_kind == "units":
        assumed = "at the present estimate"
    else:
        assumed = f"if the true ratio is {ratio:g}"
    if math.isnan(growth):
        things = "numbers" if compares_numbers else "rates"
        return f"At these {things} no number of rows can be told that would settle the {noun}."
    if math.isinf(growth):
        return (
            f"None would do for the {noun}: {assumed} it lies too near the limit, and would take"
            " more than 100 times the rows."
        )
    needed = [count(math.ceil(growth * cases)) for cases in sizes]
    return (
        f"To settle the {noun} {assumed} with {100 * planned.power:g}% power takes about"
        f" {needed[0]} rows of {row.label} and {needed[1]} of {row.reference},"
        f" {growth:.1f} times as many."
    )


def _assumed_ratio(row: Row, planned: Planned) -> float:
    if planned.ratio is not None:
        return planned.ratio
    if row.rate_reference > 0:
        return row.rate / row.rate_reference
    return math.nan


def _result_of(view: SetView, metric: str) -> Any:
    """The result that made the comparisons of a metric; None for those of adverse impact."""
    for result in view.results:
        if any(comparison.metric == metric for comparison in compared(result)):
            return result
        if isinstance(result, AdverseImpact) and metric == "adverse_impact":
            return result.tables[0].result
    return None


def verdict_in_a_word(row: Row) -> str:
    """Where the verdict puts a row: beyond the limit, within it, or what else it says."""
    words = {"violated": "beyond the limit", "satisfied": "within the limit"}
    return words.get(row.verdict, row.verdict)
