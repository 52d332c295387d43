"""The first screen of a report: what was found, how sure that is, and what would settle the rest.

Page, terminal and notebook show the same sentences, which are made here and nowhere else. Per set
of attributes there are three: the finding with its rates; whether the difference is real and
whether it is beyond the limit; what would settle a verdict that is undecided.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairstats.ground.checks import check_number
from fairstats.ground.groups import INTERSECTION
from fairstats.ground.outcomes import words_of_labels
from fairstats.ground.reading.text import MISSING_TOKENS, number_of
from fairstats.ground.registry import RATES, class_of, find_metric, without_class
from fairstats.ground.tallies.classes import ClassCounts
from fairstats.ground.titles import Title
from fairstats.methods.rates.employment.result import AdverseImpact
from fairstats.methods.rates.inferred.result import lead_of_inferred, sentences_of_inferred
from fairstats.methods.rates.models.result import AmplificationResult
from fairstats.methods.rates.monitoring import MonitorResult
from fairstats.methods.rates.numbers.means import TITLES as TITLES_OF_NUMBERS
from fairstats.methods.rates.planning import growth_for_difference, growth_for_ratio
from fairstats.methods.rates.result import ANYTIME_METHODS
from fairstats.methods.rates.setup import POOLED
from fairstats.methods.rates.subgroups import SubgroupResult
from fairstats.report.claims import Claim
from fairstats.report.contents import Contents, compared, within_strata
from fairstats.report.facts import SELECTION_RATES, Fact, PairOfGroups, Reading, find_facts
from fairstats.report.format import Axis, count, isolate, number, percent, printable
from fairstats.report.methods.rates import level_of_one_comparison
from fairstats.report.sets import charts_of_impact, view_sets
from fairstats.report.view import GAP, Row, SetView

#: Other groups of the leading fact, and other facts, that the screen names; the blocks name all.
_NAMED_GROUPS = 5
_NAMED_FACTS = 6
#: Quantities with a real difference within the limits, or undecided, that it names.
_NAMED_REAL = 3
#: Groups with fewer rows are named among what limits the whole.
_FEW_ROWS = 50
#: Such groups that are named.
_NAMED_SMALL = 6
_WIDTH = 100
#: Characters of a forest row in plain text.
_DRAWING = 61
_INDENTED = textwrap.TextWrapper(
    _WIDTH,
    initial_indent="  ",
    subsequent_indent="  ",
    break_on_hyphens=False,
)
_ITEM = textwrap.TextWrapper(
    _WIDTH,
    initial_indent="  - ",
    subsequent_indent="    ",
    break_on_hyphens=False,
)
_PLAIN = textwrap.TextWrapper(_WIDTH, break_on_hyphens=False)
#: Heading of other quantities with a violation.
ALSO_BEYOND = "Also beyond a limit (over the whole audit, unless said otherwise)"
#: Labels of groups that say nothing without the name of their column.
_SILENT_LABELS = frozenset({"yes", "no", "true", "false", "y", "n"})
#: Verdict on predictions beside outcomes → what it says.
_AMPLIFICATIONS = {
    "amplified": "The predictions are further from parity than the outcomes",
    "reduced": "The predictions are closer to parity than the outcomes",
}
_CHANGED = "The predictions do not repeat the ratio of the outcomes"
#: Verdict → sign of the estimate in a forest row of plain text.
_POINTS = {"violated": "◆", "satisfied": "●"}


@dataclass(frozen=True)
class Finding:
    """What the first screen says of one set of attributes.

    `sentences`: the finding, its certainty, and what would settle it, the last where something is
    to be settled; `strata`: crude beside adjusted, empty without strata; `also`: other quantities
    that are beyond their limits; `others`: the other groups; `drawn`: the comparison that is drawn,
    None where none is; `verdicts`: number of comparisons by verdict.
    """

    attribute: str
    crossed: bool
    sentences: tuple[str, ...]
    strata: str
    also: tuple[str, ...]
    others: str
    drawn: Reading | None
    verdicts: dict[str, int]


@dataclass(frozen=True)
class Screen:
    """The first screen.

    `lead`: the audit in one sentence; `meaning`: which value counts as favourable, empty where no
    label is compared; `findings`: one a set of attributes; `limits`: what limits the whole.
    """

    title: str
    lead: str
    meaning: str
    findings: tuple[Finding, ...]
    limits: tuple[str, ...]

    def lines(
        self, *, brief_intersections: bool = False, most_also: int | None = None
    ) -> list[str]:
        """The screen as lines of plain text.

        Parameters
        ----------
        brief_intersections : bool, default False
            Of intersections the sentences alone.
        most_also : int, optional
            Other quantities beyond a limit that are named of each set of attributes.
        """
        lines = [self.title, "=" * min(len(self.title), _WIDTH), *_PLAIN.wrap(self.lead)]
        lines += [*_PLAIN.wrap(self.meaning), ""]
        for finding in self.findings:
            lines += [finding.attribute, "-" * min(len(finding.attribute), _WIDTH)]
            if finding.crossed and brief_intersections:
                finding = replace(finding, also=(), others="")
            if most_also is not None and len(finding.also) > most_also:
                more = f"{len(finding.also) - most_also} more, named by summary()."
                finding = replace(finding, also=(*finding.also[:most_also], more))
            lines += lines_of_finding(finding)
            lines.append("")
        if self.limits:
            lines.append("What limits this")
            for limit in self.limits:
                lines += _ITEM.wrap(limit)
        return lines

    def paragraphs(self) -> str:
        """What was found, as one text without drawings."""
        texts = [self.lead, self.meaning] if self.meaning else [self.lead]
        for finding in self.findings:
            texts.append(f"{finding.attribute}: {' '.join(finding.sentences)}")
            if finding.strata:
                texts.append(finding.strata)
        return " ".join(texts)

    def to_markdown(self) -> str:
        """The screen in Markdown, without drawings."""
        parts = [f"# {self.title}", self.lead, self.meaning]
        for finding in self.findings:
            parts.append(f"## {finding.attribute}")
            parts += [*finding.sentences, finding.strata]
            if finding.also:
                items = "\n".join(f"- {text}" for text in finding.also)
                parts.append(f"{ALSO_BEYOND}:\n\n{items}")
            parts += [finding.others, count_words(finding.verdicts)]
        if self.limits:
            items = "\n".join(f"- {text}" for text in self.limits)
            parts.append(f"## What limits this\n\n{items}")
        return "\n\n".join(filter(None, parts))

    def __str__(self) -> str:
        return "\n".join(self.lines()).rstrip()


def lines_of_finding(finding: Finding) -> list[str]:
    """What a finding says, as lines of plain text with its forest row."""
    lines = _INDENTED.wrap(finding.sentences[0])
    lines += _INDENTED.wrap(" ".join(finding.sentences[1:]))
    if finding.drawn is not None:
        lines.append(f"  {draw_row(finding.drawn.row, finding.drawn.axis)}")
    if finding.strata:
        lines += _INDENTED.wrap(finding.strata)
    if finding.also:
        lines.append(f"  {ALSO_BEYOND}:")
    for text in finding.also:
        lines += _ITEM.wrap(text)
    if finding.others:
        lines += _INDENTED.wrap(finding.others)
    lines += _INDENTED.wrap(count_words(finding.verdicts))
    return lines


def count_words(verdicts: dict[str, int]) -> str:
    """How many comparisons have which verdict; verdicts that none has are left out."""
    counted = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.items() if n)
    n_comparisons = sum(verdicts.values())
    noun = "comparison" if n_comparisons == 1 else "comparisons"
    return f"{n_comparisons} {noun}: {counted or 'none judged'}."


def draw_row(row: Row, axis: Axis) -> str:
    """A forest row of characters: interval, estimate, limits (┊) and equality (│), with the ends
    of the scale.
    """
    characters = [" "] * _DRAWING

    def place(value: float) -> int:
        return round(axis._place_value(value) / 100 * (_DRAWING - 1))

    if not math.isnan(row.low):
        for position in range(place(row.low), place(row.high) + 1):
            characters[position] = "─"
    for limit in axis.limits:
        characters[place(limit)] = "┊"
    characters[place(axis.neutral)] = "│"
    if math.isfinite(row.estimate):
        characters[place(row.estimate)] = _POINTS.get(row.verdict, "○")
    return f"{number(axis.low, 2)} {''.join(characters)} {number(axis.high, 2)}"


def make_screen(report: Contents, *, ratio: float | None = None, power: float = 0.8) -> Screen:
    """The first screen of a report.

    Parameters
    ----------
    report : Contents
    ratio : float, optional
        True ratio of the rates that the rows needed are told for; default the present estimate of
        each comparison.
    power : float, default 0.8
        Chance of the right verdict that the rows needed are told for.
    """
    if ratio is not None:
        check_number("ratio", ratio, low=0, open_low=True, cure="0.7, say")
    check_number(
        "power",
        power,
        low=0.5,
        high=1,
        open_high=True,
        allowed="from 0.5 to below 1",
        cure="0.8",
    )
    planned = _Planned(ratio=ratio, power=power)
    findings = tuple(_find(report, view, planned) for view in view_sets(report))
    return Screen(
        title=printable(report.title),
        lead=_lead_of_audit(report),
        meaning=_meaning_of_labels(report),
        findings=findings,
        limits=tuple(_limits_of(report)),
    )


@dataclass(frozen=True)
class _Planned:
    """What the rows needed are told for: a ratio (None: the estimate), and a power."""

    ratio: float | None
    power: float


# ---------------------------------------------------------------- the audit in one sentence


def _lead_of_audit(report: Contents) -> str:
    """How many differences are real, and how many verdicts hold, over everything that was tested."""
    inferred = lead_of_inferred(report.results)
    if inferred:
        return inferred
    tested = report._answers_by_fact()
    if not tested:
        return "Nothing was compared."
    n_real = sum(is_real for is_real, _ in tested.values())
    n_beyond = sum(is_beyond for _, is_beyond in tested.values())
    n_tested = len(tested)
    error = f"{100 * (1 - report.settings.confidence_level):.3g}%"
    if n_real and n_tested == 1:
        real_words = "The one difference examined is real"
    elif n_real:
        real_words = f"{n_real} of {n_tested} differences examined {_are(n_real)} real"
    elif n_tested == 1:
        real_words = "The one difference examined is not shown to be real"
    else:
        real_words = f"None of {n_tested} differences examined is shown to be real"
    if n_beyond and n_tested == 1:
        beyond_words = "it is shown to be beyond a limit"
    elif n_tested == 1:
        beyond_words = "it is not shown to be beyond a limit"
    elif n_beyond:
        beyond_words = f"{n_beyond} {_are(n_beyond)} shown to be beyond a limit"
    else:
        beyond_words = "none is shown to be beyond a limit"
    return f"{real_words}, and {beyond_words}, over the whole audit with an error of {error}."


def _meaning_of_labels(report: Contents) -> str:
    """Which values count as selected, and as a favourable outcome; empty without labels.

    A label that nobody named is 1, or True: of a column such as "rejected" that is no favour, and
    every sentence below would say the opposite of what is meant.
    """
    columns = report.columns
    if any(isinstance(result, AdverseImpact) for result in report.results):
        return ""
    if report.tables and isinstance(report.tables[0], ClassCounts):
        name = printable(columns.y_pred or columns.y_true)
        return (
            f"{name}: {len(report.tables[0].classes)} classes, none of them named as favourable; each"
            " is compared by itself. pos_label (--pos-label) names one."
        )
    named = []
    assumed = []
    for column, label, words in (
        (columns.y_pred, columns.pos_label_pred, "Selected"),
        (columns.y_true, columns.pos_label_true, "Favourable outcome"),
    ):
        if column is None:
            continue
        name = printable(column)
        named.append(f"{words}: {name} is {'1 (true)' if label is None else printable(label)}.")
        if label is None:
            assumed.append(name)
    if assumed:
        columns_words = " and ".join(dict.fromkeys(assumed))
        named.append(
            f"For {columns_words} that was assumed; pos_label (--pos-label) names another value."
        )
    return " ".join(named)


def _are(number_of_things: int) -> str:
    if number_of_things == 1:
        return "is"
    return "are"


# ---------------------------------------------------------------- findings


def _find(report: Contents, view: SetView, planned: _Planned) -> Finding:
    inferred = sentences_of_inferred(view.results)
    if inferred:
        return Finding(
            attribute=view.name,
            crossed=view.crossed,
            sentences=tuple(inferred),
            strata="",
            also=(),
            others="",
            drawn=None,
            verdicts=view.verdicts,
        )
    charts = view.charts
    if not charts:
        charts = charts_of_impact(report, view)
    facts = []
    for found_fact in find_facts(charts):
        facts.append(_with_speaking_labels(_with_gaps_apart(found_fact), view.attributes))
    fact = _leading_fact(facts)
    if fact is None:
        return Finding(
            attribute=view.name,
            crossed=view.crossed,
            sentences=("No rates of two groups can be compared.",),
            strata="",
            also=(),
            others="",
            drawn=None,
            verdicts=view.verdicts,
        )
    pairs = _order_pairs(fact.pairs)
    pair = pairs[0]
    others = [
        _other_groups(pairs),
        _real_elsewhere(facts, fact, report.columns.outcome),
        _amplified(report, view),
        *_of_subgroups(view),
        *_of_looks(view),
    ]
    sentences = [
        _finding_sentence(
            fact,
            pair,
            report.settings.confidence_level,
            pooled=bool(_pooled_comparisons(view, pair)),
        ),
        _certainty_sentence(pair, report),
        _people_sentence(view, fact, pair),
        _settling_sentence(view, pair, planned),
        _range_sentence(fact, pair),
    ]
    return Finding(
        attribute=view.name,
        crossed=view.crossed,
        sentences=tuple(_isolate(pair, text) for text in sentences if text),
        strata=_isolate(pair, _strata_sentence(pair, report.settings.confidence_level)),
        also=tuple(_beyond_elsewhere(facts, fact, report.columns.outcome)),
        others=" ".join(filter(None, others)),
        drawn=_drawn_reading(pair),
        verdicts=view.verdicts,
    )


def _with_gaps_apart(fact: Fact) -> Fact:
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


def _drawn_reading(pair: PairOfGroups) -> Reading:
    """The reading that is drawn: the first, unless only another is beyond its limit."""
    readings = [*_crude_readings(pair)]
    for reading in readings:
        if reading.row.verdict == "violated":
            return reading
    return readings[0]


def _best_grade(readings: Sequence[Reading]) -> int:
    return max(_grade_of_row(reading.row) for reading in readings)


def _speaking_label(label: str, attributes: Sequence[str]) -> str:
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


def _with_speaking_labels(fact: Fact, attributes: Sequence[str]) -> Fact:
    """The fact with the labels of its groups as `_speaking_label` has them."""
    pairs = []
    for pair in fact.pairs:
        if pair.reference:
            label = _speaking_label(pair.label, attributes)
            reference = _speaking_label(pair.reference, attributes)
        else:
            groups = pair.label.split(GAP)
            label = GAP.join(_speaking_label(group, attributes) for group in groups)
            reference = ""
        readings = []
        for reading in pair.readings:
            row = replace(reading.row, label=label, reference=reference)
            readings.append(replace(reading, row=row))
        pairs.append(PairOfGroups(label=label, reference=reference, readings=tuple(readings)))
    return replace(fact, pairs=tuple(pairs))


def _isolate(pair: PairOfGroups, text: str) -> str:
    return isolate(text, (pair.label, pair.reference))


def _leading_fact(facts: Sequence[Fact]) -> Fact | None:
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
    row = _order_pairs(fact.pairs)[0].first
    return _grade_of_row(row), _size_of(row)


def _order_pairs(pairs: Sequence[PairOfGroups]) -> list[PairOfGroups]:
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


_REAL = 3


def _grade_of_row(row: Row) -> int:
    """Larger is shown better: beyond a limit over the audit, by its metric, real, open, within."""
    if row.verdict == "violated":
        return 5 if row.holds_over_audit else 4
    if row.real_over_audit:
        return _REAL
    grades = {"undecided": 2, "satisfied": 1}
    return grades.get(row.verdict, 0)


def _size_of(row: Row) -> float:
    """Distance from equality, of ratios on the logarithmic scale."""
    if not math.isfinite(row.estimate):
        return 0.0
    if row.scale == "ratio":
        return abs(math.log(max(row.estimate, 1e-9)))
    return abs(row.estimate)


def _or_one(pvalue: float) -> float:
    return 1.0 if math.isnan(pvalue) else pvalue


def _pooled_comparisons(view: SetView, pair: PairOfGroups) -> str:
    """What a pair pools where its reference is several groups together; empty where it does not."""
    result = _result_of(view, pair.readings[0].metric)
    kind = "" if result is None else result.settings.comparisons
    return kind if kind in POOLED else ""


def _finding_sentence(
    fact: Fact, pair: PairOfGroups, confidence_level: float, *, pooled: bool
) -> str:
    """Who fares worse, with both rates, ratio and difference; of several together who better."""
    row = pair.first
    readings = ", ".join(_estimate_words(pair))
    if math.isnan(row.rate) or math.isnan(row.rate_reference):
        return f"{_name_pair(pair)}: {readings}."
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


def _range_sentence(fact: Fact, leading: PairOfGroups) -> str:
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
        few = f", {count(n_rows)} rows" if n_rows is not None and n_rows < _FEW_ROWS else ""
        return f"{percent(known_rates[group])} ({group}{few})"

    return f"Over all groups: from {named(lowest)} to {named(highest)}."


def _name_pair(pair: PairOfGroups) -> str:
    if pair.reference:
        return f"{pair.label} against {pair.reference}"
    return pair.label


def _words_of_rate(fact: Fact) -> str:
    if fact.rate == "selection_rate":
        return "selected"
    if fact.rate == "base_rate":
        return "with a favourable outcome"
    return RATES[fact.rate].title if fact.rate else fact.title


def _crude_readings(pair: PairOfGroups) -> Iterator[Reading]:
    """The first reading of every scale, without strata."""
    for scale in ("ratio", "difference"):
        reading = pair.reading_of(scale)
        if reading is not None:
            yield reading
    if pair.reading_of("ratio") is None and pair.reading_of("difference") is None:
        yield pair.readings[0]


def _estimate_words(pair: PairOfGroups) -> Iterator[str]:
    for reading in _crude_readings(pair):
        row = reading.row
        yield f"{reading.short_words} {row.estimate_text} {row.interval_text}"


def _certainty_sentence(pair: PairOfGroups, report: Contents) -> str:
    """Whether the difference is real, and whether it is beyond the limits."""
    by_state: dict[tuple[str, bool | None], list[Reading]] = {}
    for reading in _crude_readings(pair):
        state = (reading.row.verdict, reading.row.holds_over_audit)
        by_state.setdefault(state, []).append(reading)
    judged = [_verdict_sentence(readings) for readings in by_state.values()]
    return " ".join([_reality_sentence(pair.first, report.settings.confidence_level), *judged])


def _reality_sentence(row: Row, confidence_level: float) -> str:
    if row.real_over_audit:
        return "The difference is real: shown over the whole audit."
    if row.real_over_audit is None:
        return "Whether the rates differ cannot be tested: too few cases."
    if row.pvalue_adjusted <= 1 - confidence_level:
        return "The difference is shown by its metric alone, not over the whole audit."
    return "That there is a difference at all is not shown."


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
        return f"For a verdict on {nouns} there are too few cases."
    if row.verdict == "undecided":
        return f"Whether {nouns} {'are' if several else 'is'} beyond {limits} is undecided."
    where = "beyond" if row.verdict == "violated" else "within"
    return f"{_capitalised(nouns)} {are} {where} {limits}, {_extent_of(row)}."


def _extent_of(row: Row) -> str:
    """Whether the verdict of a row holds over the audit."""
    if row.holds_over_audit:
        return "over the whole audit"
    return "by the metric alone"


def _state_of_row(row: Row) -> str:
    """Verdict of a row, and whether it holds over the audit."""
    if row.verdict == "insufficient evidence":
        return "too few cases for a verdict"
    if row.verdict == "undecided":
        return "undecided"
    return f"{_verdict_in_a_word(row)} {_extent_of(row)}"


def _limit_words(reading: Reading) -> str:
    low, high = reading.row.fair
    if reading.row.scale == "ratio" and low == high:
        return "fair at 1 alone"
    if reading.row.scale == "ratio":
        return f"fair from {low:g} to {high:.4g}"
    if reading.row.scale == "difference":
        return f"fair within ±{high:g}"
    return f"fair up to {high:g}"


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


# ---------------------------------------------------------------- what would settle it


def _people_sentence(view: SetView, fact: Fact, pair: PairOfGroups) -> str:
    """How many more of the worse group, selected, would bring a violated ratio to its limit."""
    reading = pair.reading_of("ratio")
    if reading is None or fact.rate != "selection_rate" or reading.row.verdict != "violated":
        return ""
    row = reading.row
    if not row.n or not row.n_reference or _weighs_rows(view, [reading]):
        return ""
    pooled = _pooled_comparisons(view, pair)
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


def _settling_sentence(view: SetView, pair: PairOfGroups, planned: _Planned) -> str:
    """Rows that would settle the undecided readings; empty where none is undecided."""
    open_readings = []
    for reading in _crude_readings(pair):
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


def _rows_needed(view: SetView, reading: Reading, planned: _Planned) -> str:
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
    if row.scale == "ratio":
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
    if at_estimate:
        assumed = "at the present estimate"
    else:
        assumed = f"if the true ratio is {ratio:g}"
    if math.isnan(growth):
        return f"At these rates no number of rows can be told that would settle the {noun}."
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


def _assumed_ratio(row: Row, planned: _Planned) -> float:
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


# ---------------------------------------------------------------- strata, other groups and facts


def _strata_sentence(pair: PairOfGroups, confidence_level: float) -> str:
    """Crude beside adjusted; empty without strata."""
    texts = []
    adjusted_readings = []
    for scale in ("ratio", "difference"):
        crude = pair.reading_of(scale)
        adjusted = pair.reading_of(scale, within_strata=True)
        if crude is None or adjusted is None:
            continue
        adjusted_readings.append(adjusted)
        texts.append(
            f"{scale} {adjusted.row.estimate_text} {adjusted.row.interval_text}, crude"
            f" {crude.row.estimate_text}: {_state_of_row(adjusted.row)}"
        )
    if not texts:
        return ""
    row = adjusted_readings[0].row
    real_words = "That there is a difference within strata is not shown."
    if row.real_over_audit:
        real_words = "A difference within strata is real."
    elif row.real_over_audit is not None and row.pvalue_adjusted <= 1 - confidence_level:
        real_words = (
            "A difference within strata is shown by its metric alone, not over the whole audit."
        )
    return f"Within strata, where like is compared with like: {'; '.join(texts)}. {real_words}"


def _other_groups(pairs: Sequence[PairOfGroups]) -> str:
    """The other groups of the leading fact, in a sentence; empty for none."""
    others = [pair for pair in pairs[1:] if pair.reference]
    if not others:
        return ""
    shown = others[:_NAMED_GROUPS]
    texts = []
    for pair in shown:
        row = pair.first
        real = "real, " if row.real_over_audit else ""
        against = ""
        if pair.reference != pairs[0].reference:
            against = f" against {pair.reference}"
        words = f"{pair.label}{against} {row.estimate_text}, {real}{_verdict_in_a_word(row)}"
        texts.append(_isolate(pair, words))
    if len(others) > len(shown):
        more = f"; and {len(others) - len(shown)} more"
    else:
        more = ""
    noun = pairs[0].readings[0].short_words
    return f"Other groups ({noun}): {'; '.join(texts)}{more}."


def _amplified(report: Contents, view: SetView) -> str:
    """Whether predictions are further from parity than outcomes; empty where that is not shown.

    The head counts it among the differences, and it is no comparison of two groups' rates.
    """
    shown = []
    for section_at, section in enumerate(report.sections):
        if section.attributes != view.attributes:
            continue
        for result_at, result in enumerate(section.results):
            if not isinstance(result, AmplificationResult):
                continue
            for row_at, comparison in enumerate(result.comparisons):
                if report.claims.get((section_at, result_at, row_at), Claim()).real_over_audit:
                    shown.append(comparison)
    if not shown:
        return ""
    first = max(shown, key=lambda comparison: abs(math.log(max(comparison.estimate, 1e-9))))
    group = _speaking_label(printable(first.group), view.attributes)
    reference = _speaking_label(printable(first.reference), view.attributes)
    n_more = len(shown) - 1
    more = f"; and {n_more} more {_groups(n_more)}" if n_more else ""
    text = (
        f"{_AMPLIFICATIONS.get(first.verdict, _CHANGED)} (real): {group} against {reference}, ratio"
        f" {first.before:.3f} of the outcomes, {first.after:.3f} of the predictions{more}."
    )
    return isolate(text, (group, reference))


def _of_subgroups(view: SetView) -> Iterator[str]:
    """Of the first rate whose subgroups were searched what was found; nothing where none were."""
    for result in view.results:
        if isinstance(result, SubgroupResult):
            attributes = ", ".join(result.settings.attributes)
            text = f"Subgroups by {attributes}: {' '.join(result.sentences())}"
            yield isolate(printable(text), [printable(result.worst.group)])
            return


def _of_looks(view: SetView) -> Iterator[str]:
    """Since when a violation has been shown, where files are watched."""
    for result in view.results:
        if isinstance(result, MonitorResult):
            n_files = len(result.files)
            if result.alarm:
                yield f"Of {n_files} looks a violation was first shown after {result.alarm}."
            else:
                yield f"None of {n_files} looks has shown a violation."


def _verdict_in_a_word(row: Row) -> str:
    words = {"violated": "beyond the limit", "satisfied": "within the limit"}
    return words.get(row.verdict, row.verdict)


def _beyond_elsewhere(facts: Sequence[Fact], leading: Fact, outcome: str | None) -> Iterator[str]:
    """Other facts with a violation, one item each; of the leading one its gap of other groups."""
    items = []
    for fact in facts:
        violated = []
        for pair in _order_pairs(fact.pairs):
            if _violations_of(pair):
                violated.append(pair)
        if fact is leading:
            violated = [pair for pair in violated if not pair.reference]
        if violated:
            items.append(_words_of_violation(violated, _name_quantity(fact, outcome)))
    yield from items[:_NAMED_FACTS]
    n_more = len(items) - _NAMED_FACTS
    if n_more > 0:
        yield f"{n_more} more {'quantity' if n_more == 1 else 'quantities'}, named below."


def _real_elsewhere(facts: Sequence[Fact], leading: Fact, outcome: str | None) -> str:
    """Differences that are real and not beyond a limit, besides those named; empty for none.

    The head counts what is real: the reader must find which they are.
    """
    items = []
    for fact in facts:
        real = [
            pair
            for pair in _order_pairs(fact.pairs)
            if pair.first.real_over_audit and not _violations_of(pair)
        ]
        if fact is leading:
            real = [pair for pair in real if not pair.reference]
        if real:
            items.append(_words_of_real(real, _name_quantity(fact, outcome)))
    if not items:
        return ""
    n_more = len(items) - _NAMED_REAL
    if n_more > 0:
        more = f"; and {n_more} more {'quantity' if n_more == 1 else 'quantities'}"
    else:
        more = ""
    return f"Also real, not shown to be beyond a limit: {'; '.join(items[:_NAMED_REAL])}{more}."


def _name_quantity(fact: Fact, outcome: str | None) -> str:
    """The heading of a fact; of a number with its column."""
    if fact.rate:
        return fact.title
    quantity = Title(fact.title).label
    of_numbers = fact.pairs[0].readings[0].metric in TITLES_OF_NUMBERS
    if of_numbers and outcome is not None:
        return f"{quantity} ({printable(outcome)})"
    return quantity


def _words_of_real(pairs: Sequence[PairOfGroups], quantity: str) -> str:
    pair = pairs[0]
    row = pair.first
    n_more = len(pairs) - 1
    more = f" and {n_more} more {_groups(n_more)}" if n_more else ""
    noun = pair.readings[0].short_words
    text = f"{quantity}, {_name_pair(pair)} ({noun} {row.estimate_text} {row.interval_text}){more}"
    return _isolate(pair, text)


def _violations_of(pair: PairOfGroups) -> list[Reading]:
    violations: list[Reading] = []
    for reading in pair.readings:
        if reading.row.verdict == "violated":
            violations.append(reading)
    return violations


def _words_of_violation(pairs: Sequence[PairOfGroups], quantity: str) -> str:
    """The first pair with a violation: its rates, an estimate of each scale, how many more there are.

    It says so where none of its violations holds over all comparisons of the audit.
    """
    pair = pairs[0]
    violations = _violations_of(pair)
    by_scale: dict[str, Reading] = {}
    for reading in violations:
        by_scale.setdefault(reading.row.scale, reading)
    estimates = ", ".join(
        f"{reading.short_words} {reading.row.estimate_text} {reading.row.interval_text}"
        for reading in by_scale.values()
    )
    row = violations[0].row
    rates = ""
    if row.rates_text:
        rates = f" {percent(row.rate)} against {percent(row.rate_reference)},"
    restriction = ""
    if not any(reading.row.holds_over_audit for reading in violations):
        restriction = ", by the metric alone"
    n_more = len(pairs) - 1
    more = f"; {n_more} more {_groups(n_more)}" if n_more else ""
    text = f"{quantity}: {_name_pair(pair)},{rates} {estimates}{restriction}{more}."
    return _isolate(pair, text)


def _groups(number_of_groups: int) -> str:
    return "group" if number_of_groups == 1 else "groups"


# ---------------------------------------------------------------- what limits the whole


def _tokens_in_words(tokens: Mapping[str, Mapping[str, int]]) -> str:
    """What was read as missing: " ('None' in religion reads as missing)"."""
    items = []
    for column, rows_of_token in tokens.items():
        named = ", ".join(f"'{printable(token)}'" for token in rows_of_token)
        items.append(f"{named} in {printable(column)}")
    if not items:
        return ""
    return f" (read as missing: {'; '.join(items)})"


def _labels_like_missing(report: Contents) -> Iterator[str]:
    """Groups and labels that are called as missing values often are: "NA" among them."""
    labels_by_column: dict[str, dict[str, None]] = {}
    for table in report.tables:
        for group in table.groups:
            parts = str(group).split(INTERSECTION)
            if len(parts) != len(table.attributes):
                continue
            for attribute, part in zip(table.attributes, parts, strict=True):
                if part in MISSING_TOKENS:
                    labels_by_column.setdefault(attribute, {})[part] = None
    names = {"y_true": report.columns.y_true, "y_pred": report.columns.y_pred}
    for table in report.tables:
        for argument, rows_of_label in table.missing.unfavourable.items():
            for label in rows_of_label:
                if label in MISSING_TOKENS:
                    labels_by_column.setdefault(names.get(argument) or argument, {})[label] = None
    for column, labels in labels_by_column.items():
        named = ", ".join(f"'{label}'" for label in labels)
        yield (
            f"{printable(column)}: {named} counts as a value like any other. If it means missing,"
            " name it (na_values=, --na-values)."
        )


def _limits_of(report: Contents) -> Iterator[str]:
    """Training rows, missing values, few rows, labels that were put together, strata."""
    training = {
        None: "It was not stated whether the model was trained on these rows.",
        "training": "The model was trained on these rows: its errors look smaller than on new cases.",
    }
    columns = report.columns
    if (
        report.settings.evaluated_on in training
        and columns.y_true is not None
        and columns.y_pred is not None
    ):
        yield training[report.settings.evaluated_on]
    for table in report.tables:
        if table.missing.n_dropped:
            yield (
                f"{printable(' & '.join(table.attributes))}: {count(table.missing.n_dropped)} of"
                f" {count(table.missing.n_rows)} rows were left out for missing"
                f" values{_tokens_in_words(table.missing.tokens)}."
            )
    for table in report.tables:
        small = []
        for group, size in zip(table.groups, table.group_sizes, strict=True):
            if size < _FEW_ROWS:
                label = _speaking_label(printable(group), table.attributes)
                small.append((label, int(size)))
        if small:
            small.sort(key=lambda pair: pair[1])
            named = ", ".join(f"{group} ({size})" for group, size in small[:_NAMED_SMALL])
            if len(small) > _NAMED_SMALL:
                more = f" and {len(small) - _NAMED_SMALL} more"
            else:
                more = ""
            text = f"{printable(' & '.join(table.attributes))}: few rows in {named}{more}."
            yield isolate(text, [group for group, _ in small])
    names = {"y_true": columns.y_true, "y_pred": columns.y_pred}
    if report.tables:
        labels_by_argument = report.tables[0].missing.unfavourable
    else:
        labels_by_argument = {}
    for argument, labels in labels_by_argument.items():
        yield printable(words_of_labels(names.get(argument) or argument, labels))
    yield from _labels_like_missing(report)
    strata_words = within_strata(report.results)
    if strata_words:
        yield printable(strata_words)
    if columns.cluster is None and columns.sample_weight is None:
        yield "Rows are taken as independent draws."
    yield "Differences say what is, not why: neither a cause nor a finding of law."
