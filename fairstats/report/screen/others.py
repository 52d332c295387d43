"""What stands beside a finding: strata, other groups, other quantities with a violation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fairstats.ground.registry import Title
from fairstats.methods.rates.models.result import AmplificationResult
from fairstats.methods.rates.monitoring import MonitorResult
from fairstats.methods.rates.numbers.means import TITLES as TITLES_OF_NUMBERS
from fairstats.methods.rates.subgroups import SubgroupResult
from fairstats.report.claims import Claim
from fairstats.report.contents import Contents
from fairstats.report.facts import Fact, PairOfGroups, Reading
from fairstats.report.format import isolate, percent, printable
from fairstats.report.screen.order import isolate_pair, order_pairs, speaking_label
from fairstats.report.screen.sentences import name_of_pair, state_of_row, verdict_in_a_word
from fairstats.report.view import SetView

#: Other groups of the leading fact, and other facts, that the screen names; the blocks name all.
_NAMED_GROUPS = 5
_NAMED_FACTS = 6
#: Quantities with a real difference within the limits, or undecided, that it names.
_NAMED_REAL = 3
#: Verdict on predictions beside outcomes → what it says.
_AMPLIFICATIONS = {
    "amplified": "The predictions are further from parity than the outcomes",
    "reduced": "The predictions are closer to parity than the outcomes",
}
_CHANGED = "The predictions do not repeat the ratio of the outcomes"


def strata_sentence(pair: PairOfGroups, confidence_level: float) -> str:
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
            f" {crude.row.estimate_text}: {state_of_row(adjusted.row)}"
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


def words_of_other_groups(pairs: Sequence[PairOfGroups]) -> str:
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
        words = f"{pair.label}{against} {row.estimate_text}, {real}{verdict_in_a_word(row)}"
        texts.append(isolate_pair(pair, words))
    if len(others) > len(shown):
        more = f"; and {len(others) - len(shown)} more"
    else:
        more = ""
    noun = pairs[0].readings[0].short_words
    return f"Other groups ({noun}): {'; '.join(texts)}{more}."


def amplification_words(report: Contents, view: SetView) -> str:
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
    group = speaking_label(printable(first.group), view.attributes)
    reference = speaking_label(printable(first.reference), view.attributes)
    n_more = len(shown) - 1
    more = f"; and {n_more} more {_groups(n_more)}" if n_more else ""
    text = (
        f"{_AMPLIFICATIONS.get(first.verdict, _CHANGED)} (real): {group} against {reference}, ratio"
        f" {first.before:.3f} of the outcomes, {first.after:.3f} of the predictions{more}."
    )
    return isolate(text, (group, reference))


def words_of_subgroups(view: SetView) -> Iterator[str]:
    """Of the first rate whose subgroups were searched what was found; nothing where none were."""
    for result in view.results:
        if isinstance(result, SubgroupResult):
            attributes = ", ".join(result.settings.attributes)
            text = f"Subgroups by {attributes}: {' '.join(result.sentences())}"
            yield isolate(printable(text), [printable(result.worst.group)])
            return


def words_of_looks(view: SetView) -> Iterator[str]:
    """Since when a violation has been shown, where files are watched."""
    for result in view.results:
        if isinstance(result, MonitorResult):
            n_files = len(result.files)
            if result.alarm:
                yield f"Of {n_files} looks a violation was first shown after {result.alarm}."
            else:
                yield f"None of {n_files} looks has shown a violation."


def words_beyond_elsewhere(
    facts: Sequence[Fact], leading: Fact, outcome: str | None
) -> Iterator[str]:
    """Other facts with a violation, one item each; of the leading one its gap of other groups."""
    items = []
    for fact in facts:
        violated = []
        for pair in order_pairs(fact.pairs):
            if _violations_of(pair):
                violated.append(pair)
        if fact is leading:
            violated = [pair for pair in violated if not pair.reference]
        if violated:
            items.append(_words_of_violation(violated, name_quantity(fact, outcome)))
    yield from items[:_NAMED_FACTS]
    n_more = len(items) - _NAMED_FACTS
    if n_more > 0:
        yield f"{n_more} more {'quantity' if n_more == 1 else 'quantities'}, named below."


def words_real_elsewhere(facts: Sequence[Fact], leading: Fact, outcome: str | None) -> str:
    """Differences that are real and not beyond a limit, besides those named; empty for none.

    The head counts what is real: the reader must find which they are.
    """
    items = []
    for fact in facts:
        real = [
            pair
            for pair in order_pairs(fact.pairs)
            if pair.first.real_over_audit and not _violations_of(pair)
        ]
        if fact is leading:
            real = [pair for pair in real if not pair.reference]
        if real:
            items.append(_words_of_real(real, name_quantity(fact, outcome)))
    if not items:
        return ""
    n_more = len(items) - _NAMED_REAL
    if n_more > 0:
        more = f"; and {n_more} more {'quantity' if n_more == 1 else 'quantities'}"
    else:
        more = ""
    return f"Also real, not shown to be beyond a limit: {'; '.join(items[:_NAMED_REAL])}{more}."


def name_quantity(fact: Fact, outcome: str | None) -> str:
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
    text = (
        f"{quantity}, {name_of_pair(pair)} ({noun} {row.estimate_text} {row.interval_text}){more}"
    )
    return isolate_pair(pair, text)


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
    text = f"{quantity}: {name_of_pair(pair)},{rates} {estimates}{restriction}{more}."
    return isolate_pair(pair, text)


def _groups(number_of_groups: int) -> str:
    return "group" if number_of_groups == 1 else "groups"
