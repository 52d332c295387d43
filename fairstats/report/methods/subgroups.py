"""The page of subgroups: who is hidden in the averages, where an audit was asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fairstats.ground.results import Result
from fairstats.methods.rates.subgroups import METHOD, SubgroupResult
from fairstats.plots.subgroups import picture_of_subgroups
from fairstats.report import questions
from fairstats.report.contents import Section
from fairstats.report.crosscheck import subgroups
from fairstats.report.format import printable
from fairstats.report.inputs import AuditInput, AuditSettings
from fairstats.report.leads import isolate_names, one_row
from fairstats.report.methods.page import Answer, Exhibit, Page, Words, WordsOfTest
from fairstats.report.view import Part, SetView, table_of

#: Rows of the table on the page.
_MOST_ROWS = 50


def run_subgroups(inputs: AuditInput) -> list[Result]:
    """What was found before the pages ran: it is of columns of its own."""
    return list(inputs.subgroups)


def show_subgroups(section: Section, view: SetView) -> Iterator[Part]:
    """Sentences, the ranked forest, and the subgroups with the most evidence as a table."""
    for result in section.results:
        if not isinstance(result, SubgroupResult):
            continue
        shown = replace(result, comparisons=result.comparisons[:_MOST_ROWS])
        notes = list(result.notes())
        n_left_out = len(result.comparisons) - len(shown.comparisons)
        if n_left_out:
            notes.append(
                f"{n_left_out:,} subgroups with larger p-values are left out here; the JSON of the"
                " report has them."
            )
        table = replace(
            table_of(shown),
            notes=tuple(printable(note) for note in notes),
        )
        lead = isolate_names(" ".join(result.sentences()), result.worst.group)
        yield Part(
            section.key,
            printable(result.title),
            lead,
            figures=one_row((picture_of_subgroups(result),)),
            tables=(table,),
        )


def _has_subgroups(results: Sequence[Result], settings: AuditSettings) -> bool:
    return any(isinstance(result, SubgroupResult) for result in results)


def _has_leaves(results: Sequence[Result], settings: AuditSettings) -> bool:
    return any(
        isinstance(result, SubgroupResult) and result.settings.search == "tree"
        for result in results
    )


_INTERVALS = {
    METHOD: Words(
        text=(
            "Limits of subgroups: those of Clopper and Pearson of both rates, recovered by MOVER, at"
            " the quantile of the largest |z| over all subgroups: they hold for all of them together."
        ),
        cites=("zou",),
    )
}
_TESTS = (
    WordsOfTest(
        _has_subgroups,
        Words(
            text=(
                "Every subgroup is compared with everybody else by Fisher's exact test; flags keep a"
                " false discovery rate among the subgroups, and the p-value of the worst counts the"
                " search. Subgroups are a family of their own: what holds over the whole audit does"
                " not count them."
            ),
            cites=("benjamini", "cherian"),
        ),
    ),
    WordsOfTest(
        _has_leaves,
        Words(
            text=(
                "Leaves are those of a tree that a random half of the rows fits; all numbers are of"
                " the other half (honest splitting)."
            ),
            cites=("athey",),
        ),
    ),
)

PAGE = Page(
    method="subgroups",
    run=run_subgroups,
    answers=(
        Answer(questions.SUBGROUPS, parts=show_subgroups, intervals=_INTERVALS, tests=_TESTS),
    ),
    exhibits=(Exhibit(SubgroupResult, questions.SUBGROUPS, twin=subgroups.subgroups),),
)
