"""Facts: what a report says of the same rates of the same groups, once, with all its readings.

Ratio, difference and gap of two rates, and the same of their complements, are readings of one fact.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from fairstats.ground.registry import (
    METRICS,
    RATES,
    Metric,
    Rate,
    Title,
    class_of,
    same_question,
    with_class,
    without_class,
)
from fairstats.methods.rates.numbers.means import TITLES as TITLES_OF_NUMBERS
from fairstats.methods.rates.strata.result import ENDING, find_crude_metric
from fairstats.report import questions
from fairstats.report.format import Axis
from fairstats.report.questions import Concern
from fairstats.report.view import Block, Chart, Row, name_gap

#: Rates of who is selected, or has a favourable outcome.
SELECTION_RATES = ("selection_rate", "base_rate")


#: Scale → noun of a reading.
NOUNS = {"ratio": "ratio", "difference": "difference", "maximum": "gap", "distance": "distance"}


@dataclass(frozen=True)
class Reading:
    """One way to compare the rates of a fact.

    `metric`: its name; `label`: its heading, as "Disparate impact"; `words`: what is compared, as
    "ratio of selection rates"; `axis`: of its drawing.
    """

    metric: str
    label: str
    words: str
    row: Row
    axis: Axis

    @property
    def within_strata(self) -> bool:
        """Whether it is the comparison within strata of a crude one."""
        return self.metric != crude_name(self.metric)

    @property
    def short_words(self) -> str:
        """What a reading is, in a word or two."""
        if self.metric == "abroca":
            return "area between ROC curves"
        noun = NOUNS[self.row.scale]
        if self.within_strata:
            return f"{noun} within strata"
        return noun


@dataclass(frozen=True)
class PairOfGroups:
    """Two groups, and every reading of what a fact says of them; the first one is drawn."""

    label: str
    reference: str
    readings: tuple[Reading, ...]

    @property
    def first(self) -> Row:
        """The row of the first reading."""
        return self.readings[0].row

    def reading_of(self, scale: str, *, within_strata: bool = False) -> Reading | None:
        """The first reading on a scale; None where there is none."""
        for reading in self.readings:
            if reading.row.scale == scale and reading.within_strata == within_strata:
                return reading
        return None


@dataclass(frozen=True)
class Fact:
    """One rate, or another quantity, of all groups.

    `rate`: its name in the registry, empty for other quantities; `title`: its heading.
    """

    rate: str
    title: str
    concern: Concern
    pairs: tuple[PairOfGroups, ...]

    @property
    def reference(self) -> str:
        """The reference that all pairs share that have one; empty for none."""
        references = {pair.reference for pair in self.pairs if pair.reference}
        if len(references) == 1:
            return references.pop()
        return ""


def _registered(metric: str) -> Metric | None:
    """The metric of a row, of adverse impact that of disparate impact; None where there is none."""
    if metric == "adverse_impact":
        return METRICS["disparate_impact"]
    return find_crude_metric(metric)


def crude_name(metric: str) -> str:
    """Name of a metric, of one within strata that of the crude one."""
    stem = without_class(metric).removesuffix(ENDING)
    label = class_of(metric)
    return with_class(stem, label) if label else stem


def concern_of_metric(metric: str) -> Concern:
    """The block of a report in which the comparisons of a metric stand."""
    if crude_name(metric) in TITLES_OF_NUMBERS:
        return questions.AMOUNTS
    metric_entry = _registered(without_class(metric))
    if metric_entry is None or "scores" in metric_entry.needs:
        return questions.MEANING
    if all(rate in SELECTION_RATES for rate in metric_entry.rates):
        return questions.SELECTED
    return questions.ERRORS


def charts_of(charts: Iterable[Chart], concern: Concern) -> tuple[Chart, ...]:
    """The charts with the blocks of one concern; those without any are left out."""
    kept_charts = []
    for chart in charts:
        blocks = tuple(
            block for block in chart.blocks if concern_of_metric(block.metric) == concern
        )
        if blocks:
            kept_charts.append(
                Chart(kind=chart.kind, threshold=chart.threshold, axis=chart.axis, blocks=blocks)
            )
    return tuple(kept_charts)


def find_facts(charts: Sequence[Chart]) -> tuple[Fact, ...]:
    """The facts of charts, in the order in which their first reading stands there.

    Parameters
    ----------
    charts : sequence of Chart
        Ratios, differences, sizes without sign, distances.
    """
    readings: dict[Hashable, list[Reading]] = {}
    rates: dict[Hashable, Rate | None] = {}
    titles: dict[Hashable, str] = {}
    for chart in charts:
        for block in chart.blocks:
            rate = _single_rate(_registered(block.metric))
            # the largest of all distances is one of them
            key: Hashable = crude_name(block.metric).replace("madd_max", "madd")
            if rate is not None:
                key = same_question(rate)
            if key not in readings:
                rates[key] = rate
                titles[key] = _title_of_fact(rate, block)
            readings.setdefault(key, []).extend(_readings_of_block(block, chart))
    facts = []
    for key, readings_of_fact in readings.items():
        rate = rates[key]
        facts.append(
            Fact(
                rate="" if rate is None else rate.name,
                title=titles[key],
                concern=concern_of_metric(readings_of_fact[0].metric),
                pairs=_pairs_of(readings_of_fact),
            )
        )
    return tuple(facts)


def _single_rate(metric: Metric | None) -> Rate | None:
    """The one rate that a metric compares; None where there are several, or none."""
    if metric is None or len(metric.rates) != 1:
        return None
    return RATES.get(metric.rates[0])


def _title_of_fact(rate: Rate | None, block: Block) -> str:
    if rate is None:
        return block.title
    return rate.title[:1].upper() + rate.title[1:]


def _readings_of_block(block: Block, chart: Chart) -> list[Reading]:
    title = Title(block.title)
    words = title.quantity or title
    readings: list[Reading] = []
    for row in block.rows:
        readings.append(
            Reading(metric=block.metric, label=title.label, words=words, row=row, axis=chart.axis)
        )
    return readings


def _pairs_of(readings: Sequence[Reading]) -> tuple[PairOfGroups, ...]:
    """The readings by their two groups, in the order of the first reading of each.

    Two metrics that share a rate say the same of it under two names: both stay, since they belong
    to different families of comparisons, and their verdicts may differ.
    """
    by_pair: dict[tuple[str, str], list[Reading]] = {}
    names: dict[str, tuple[str, str]] = {}
    for reading in readings:
        pair = (reading.row.label, reading.row.reference)
        if not reading.row.reference:
            # a largest gap is named by both its groups, which may be a pair that is compared
            pair = names.get(reading.row.label, pair)
        else:
            for first, second in (pair, pair[::-1]):
                names[name_gap(first, second)] = pair
        by_pair.setdefault(pair, []).append(reading)
    pairs = []
    for (label, reference), readings_of_pair in by_pair.items():
        pairs.append(
            PairOfGroups(label=label, reference=reference, readings=tuple(readings_of_pair))
        )
    return tuple(pairs)


@dataclass(frozen=True)
class FactTable:
    """Facts whose first readings share a scale, the `kind`; they are drawn on one axis."""

    kind: str
    threshold: float
    axis: Axis
    facts: tuple[Fact, ...]


def tables_of_facts(charts: Sequence[Chart]) -> tuple[FactTable, ...]:
    """The facts of charts by the scale of their first reading, in the order of the charts."""
    facts = find_facts(charts)
    tables = []
    for chart in charts:
        facts_of_kind = tuple(
            fact for fact in facts if fact.pairs[0].first.chart_kind == chart.kind
        )
        if facts_of_kind:
            tables.append(
                FactTable(
                    kind=chart.kind,
                    threshold=chart.threshold,
                    axis=chart.axis,
                    facts=facts_of_kind,
                )
            )
    return tuple(tables)
