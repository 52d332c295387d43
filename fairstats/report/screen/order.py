"""Which fact leads, in which order its pairs of groups come, and how groups are called."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from fairstats.ground.groups import INTERSECTION
from fairstats.ground.reading.text import number_of
from fairstats.ground.registry import class_of, without_class
from fairstats.report.facts import SELECTION_RATES, Fact, PairOfGroups, Reading
from fairstats.report.format import isolate, printable
from fairstats.report.view import GAP, Row

#: Labels of groups that say nothing without the name of their column.
_SILENT_LABELS = frozenset({"yes", "no", "true", "false", "y", "n"})
_REAL = 3


def crude_readings(pair: PairOfGroups) -> Iterator[Reading]:
    """The first reading of every scale, without strata."""
    for scale in ("ratio", "difference"):
        reading = pair.reading_of(scale)
        if reading is not None:
            yield reading
    if pair.reading_of("ratio") is None and pair.reading_of("difference") is None:
        yield pair.readings[0]


def with_gaps_apart(fact: Fact) -> Fact:
    """The fact with a largest gap as a pair of its own where the pair itself shows less.

    The test of a largest gap is one of all groups: the two that have it in these rows may be a
    pair of which nothing is shown, beside another of which it is.
    """
    pairs = []
    gaps = []
    for pair in fact.pairs:
        of_pair = [reading for reading in pair.readings if reading.row.scale != "maximum"]
        of_all = [reading for reading in pair.readings if reading.row.scale == "maximum"]
        if of_pair and of_all and _best_grade(of_pair) < _best_grade(of_all):
            pairs.append(replace(pair, readings=tuple(of_pair)))
            label = of_all[0].row.label
            gaps.append(PairOfGroups(label=label, reference="", readings=tuple(of_all)))
        else:
            pairs.append(pair)
    return replace(fact, pairs=(*pairs, *gaps))


def find_drawn_reading(pair: PairOfGroups) -> Reading:
    """The reading that is drawn: the first, unless only another is beyond its limit."""
    readings = [*crude_readings(pair)]
    for reading in readings:
        if reading.row.verdict == "violated":
            return reading
    return readings[0]


def _best_grade(readings: Sequence[Reading]) -> int:
    return max(_grade_of_row(reading.row) for reading in readings)


def speaking_label(label: str, attributes: Sequence[str]) -> str:
    """The label with its column where it says nothing alone: "smoker = yes", "sex = 1"."""
    parts = label.split(INTERSECTION)
    if len(parts) != len(attributes):
        return label
    named = []
    for attribute, part in zip(attributes, parts, strict=True):
        if part.casefold() in _SILENT_LABELS or number_of(part) is not None:
            named.append(f"{printable(attribute)} = {part}")
        else:
            named.append(part)
    return INTERSECTION.join(named)


def with_speaking_labels(fact: Fact, attributes: Sequence[str]) -> Fact:
    """The fact with the labels of its groups as `speaking_label` has them."""
    pairs = []
    for pair in fact.pairs:
        if pair.reference:
            label = speaking_label(pair.label, attributes)
            reference = speaking_label(pair.reference, attributes)
        else:
            groups = pair.label.split(GAP)
            label = GAP.join(speaking_label(group, attributes) for group in groups)
            reference = ""
        readings = []
        for reading in pair.readings:
            row = replace(reading.row, label=label, reference=reference)
            readings.append(replace(reading, row=row))
        pairs.append(PairOfGroups(label=label, reference=reference, readings=tuple(readings)))
    return replace(fact, pairs=tuple(pairs))


def isolate_pair(pair: PairOfGroups, text: str) -> str:
    """A text in which the pair's names may be written from right to left."""
    return isolate(text, (pair.label, pair.reference))


def find_leading_fact(facts: Sequence[Fact]) -> Fact | None:
    """Who is selected; without predictions who has a favourable outcome; else what comes first.

    Of several classes that in which the shares of the groups differ most clearly.
    """
    for rate in SELECTION_RATES:
        for fact in facts:
            if fact.rate == rate:
                return fact
    if facts and class_of(_metric_of(facts[0])):
        return max(_facts_of_same_metric(facts), key=_clearest)
    return facts[0] if facts else None


def _metric_of(fact: Fact) -> str:
    return fact.pairs[0].readings[0].metric


def _facts_of_same_metric(facts: Sequence[Fact]) -> list[Fact]:
    """The facts of all classes that the metric of the first one compares."""
    stem = without_class(_metric_of(facts[0]))
    return [fact for fact in facts if without_class(_metric_of(fact)) == stem]


def _clearest(fact: Fact) -> tuple[int, float]:
    """How clearly the groups of a fact differ, by the pair that comes first."""
    row = order_pairs(fact.pairs)[0].first
    return _grade_of_row(row), _size_of(row)


def order_pairs(pairs: Sequence[PairOfGroups]) -> list[PairOfGroups]:
    """The pairs, what is shown best first; gaps of pairs that are not compared come last.

    Among differences that are not shown the size says little, since the smallest groups have the
    largest by chance: their p-values decide.
    """

    def rank(pair: PairOfGroups) -> tuple[bool, int, float]:
        grade = _best_grade(pair.readings)
        if grade >= _REAL:
            strength = _size_of(pair.first)
        else:
            strength = -_or_one(pair.first.pvalue)
        return bool(pair.reference), grade, strength

    return sorted(pairs, key=rank, reverse=True)


def _grade_of_row(row: Row) -> int:
    """Larger is shown better: beyond a limit over the audit, by its metric, real, open, within."""
    if row.verdict == "violated":
        return 5 if row.holds_over_audit else 4
    if row.real_over_audit:
        return _REAL
    grades = {"undecided": 2, "satisfied": 1}
    return grades.get(row.verdict, 0)


def _size_of(row: Row) -> float:
    """Distance from equality, of ratios on the logarithmic scale.

    A difference in units of its own is not larger than a ratio because these units are small.
    """
    if not math.isfinite(row.estimate) or row.chart_kind == "units":
        return 0.0
    if row.scale == "ratio":
        return abs(math.log(max(row.estimate, 1e-9)))
    return abs(row.estimate)


def _or_one(pvalue: float) -> float:
    return 1.0 if math.isnan(pvalue) else pvalue
