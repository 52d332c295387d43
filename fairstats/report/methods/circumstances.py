"""The page of gaps given circumstances: what these explain of each gap, and the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fairstats.ground.errors import InputError
from fairstats.ground.results import Result
from fairstats.methods.rates.numbers.decomposition import (
    METHOD,
    DecompositionResult,
    decompose_outcomes,
    numbers_of_circumstances,
)
from fairstats.methods.rates.numbers.options import make_number_settings
from fairstats.plots.decomposition import parts_of_gaps
from fairstats.report import questions
from fairstats.report.contents import Section
from fairstats.report.crosscheck import numbers
from fairstats.report.format import printable
from fairstats.report.inputs import AuditInput
from fairstats.report.leads import isolate_names, one_row
from fairstats.report.methods.page import Answer, Exhibit, Page, Words
from fairstats.report.view import Part, SetView, sentences_of, table_of


def run_circumstances(inputs: AuditInput) -> list[Result]:
    """The gap of the outcome that is a number, or else of what is predicted, where it is asked."""
    if inputs.circumstances is None or not inputs.circumstances.shape[1]:
        return []
    if inputs.reference == "highest":
        raise InputError(
            "circumstances",
            got='reference="highest"',
            allowed="a group, or the largest: its regression is the yardstick",
            cure="name the reference, or leave out circumstances=",
        )
    audited = inputs.settings
    rows = inputs.rows
    if rows.numbers:
        outcome = rows.numbers["outcome"]
    else:
        labels = rows.y_pred if rows.y_pred is not None else rows.y_true
        outcome = np.asarray(labels, dtype=np.float64)
    columns, names = numbers_of_circumstances(inputs.circumstances)
    settings = make_number_settings(
        margin=0.0 if rows.numbers else audited.margin,
        threshold=0.8,
        ratio=False,
        alternative="two-sided",
        confidence_level=audited.confidence_level,
        simultaneous="bonferroni" if audited.simultaneous else None,
        comparisons=audited._comparisons_among("all", "rest"),
        adjust=audited.adjust,
    )
    of_rows = replace(rows, numbers={"y": outcome, **columns})
    reference = None if settings.comparisons == "rest" else inputs.reference
    return [decompose_outcomes(of_rows, names, settings, reference, None)]


def show_circumstances(section: Section, view: SetView) -> Iterator[Part]:
    """Sentences on the first pair, the parts of every gap as a picture, and the table."""
    for result in section.results:
        if not isinstance(result, DecompositionResult):
            continue
        first = result.comparisons[0]
        sentences = []
        for comparison, sentence in zip(result.comparisons, sentences_of(result), strict=False):
            if (comparison.group, comparison.reference) == (first.group, first.reference):
                sentences.append(sentence)
        yield Part(
            section.key,
            printable(result.title),
            isolate_names(" ".join(sentences), first.group, first.reference),
            figures=one_row((parts_of_gaps(result),)),
            tables=(table_of(result),),
        )


_WORDS = {
    "gap": Words(
        text="The difference of the means of the group and its reference.",
        title="Gaps",
        cites=("oaxaca", "blinder"),
    ),
    "explained": Words(
        text=(
            "What the gap would be if the reference's regression on the circumstances held for both"
            " groups. A description: circumstances may themselves come from unequal treatment."
        ),
        title="Explained by circumstances",
        cites=("oaxaca", "blinder", "kitagawa"),
    ),
    "rest": Words(
        text=(
            "What remains at equal circumstances: the group's mean less what the reference's"
            " regression expects at its circumstances. It may be due to what no column holds."
        ),
        title="Not explained by circumstances",
        cites=("oaxaca", "blinder", "kitagawa"),
    ),
}
_INTERVALS = {
    METHOD: Words(
        text=(
            "The delta method from the influence of every row, with leverage (HC3), so that"
            " circumstances count as drawn; Student's t with Satterthwaite's degrees of freedom."
        ),
        cites=("jann",),
    ),
}

PAGE = Page(
    method="circumstances",
    run=run_circumstances,
    answers=(
        Answer(
            questions.CIRCUMSTANCES,
            parts=show_circumstances,
            words=_WORDS,
            intervals=_INTERVALS,
        ),
    ),
    exhibits=(Exhibit(DecompositionResult, questions.CIRCUMSTANCES, twin=numbers.decomposition),),
)
