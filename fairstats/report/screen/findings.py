"""What one set of attributes shows, put together from its sentences."""

from __future__ import annotations

from dataclasses import dataclass

from fairstats.methods.rates.inferred.result import sentences_of_inferred
from fairstats.report.contents import Contents
from fairstats.report.facts import Reading, find_facts
from fairstats.report.screen.order import (
    find_drawn_reading,
    find_leading_fact,
    isolate_pair,
    order_pairs,
    with_gaps_apart,
    with_speaking_labels,
)
from fairstats.report.screen.others import (
    amplification_words,
    name_quantity,
    strata_sentence,
    words_beyond_elsewhere,
    words_of_looks,
    words_of_other_groups,
    words_of_subgroups,
    words_real_elsewhere,
)
from fairstats.report.screen.sentences import (
    Planned,
    certainty_sentence,
    finding_sentence,
    kind_of_pooling,
    people_sentence,
    range_sentence,
    settling_sentence,
)
from fairstats.report.sets import charts_of_impact
from fairstats.report.view import SetView


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


def make_finding(report: Contents, view: SetView, planned: Planned) -> Finding:
    """Everything that the first screen says of one set of attributes."""
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
        facts.append(with_speaking_labels(with_gaps_apart(found_fact), view.attributes))
    fact = find_leading_fact(facts)
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
    pairs = order_pairs(fact.pairs)
    pair = pairs[0]
    others = [
        words_of_other_groups(pairs),
        words_real_elsewhere(facts, fact, report.columns.outcome),
        amplification_words(report, view),
        *words_of_subgroups(view),
        *words_of_looks(view),
    ]
    sentences = [
        finding_sentence(
            fact,
            pair,
            report.settings.confidence_level,
            pooled=bool(kind_of_pooling(view, pair)),
            quantity=name_quantity(fact, report.columns.outcome),
        ),
        certainty_sentence(pair, report),
        people_sentence(view, fact, pair),
        settling_sentence(view, pair, planned),
        range_sentence(fact, pair),
    ]
    return Finding(
        attribute=view.name,
        crossed=view.crossed,
        sentences=tuple(isolate_pair(pair, text) for text in sentences if text),
        strata=isolate_pair(pair, strata_sentence(pair, report.settings.confidence_level)),
        also=tuple(words_beyond_elsewhere(facts, fact, report.columns.outcome)),
        others=" ".join(filter(None, others)),
        drawn=find_drawn_reading(pair),
        verdicts=view.verdicts,
    )
