"""`Page`: everything that a report shows of one method.

What computes its results, the classes of these and their twins in R, and for each question that it
answers the words, the pictures and the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from fairstats.ground.results import Result
from fairstats.report.contents import Section, compared
from fairstats.report.crosscheck.check import Bench, Check
from fairstats.report.format import printable
from fairstats.report.inputs import AuditInput, AuditSettings
from fairstats.report.questions import Question
from fairstats.report.view import Part, SetView, sentences_of, table_of


class Words(NamedTuple):
    """What the report says of a metric, an interval or a test, and keys of the papers it cites.

    `title`: of the metric; `heading`: of a text that several metrics share and the report has once.
    """

    text: str
    cites: Sequence[str] = ()
    title: str = ""
    heading: str = ""


class WordsOfTest(NamedTuple):
    """What the report says of one kind of test, and whether the results have it."""

    applies: Callable[[Sequence[Result], AuditSettings], bool]
    words: Words


#: What recomputes every number of a result in R.
Twin: TypeAlias = Callable[[Any, Bench], Iterable[Check]]
#: The parts that a report shows of a section.
ShowParts: TypeAlias = Callable[[Section, SetView], Iterator[Part]]


@dataclass(frozen=True)
class Exhibit:
    """One class of result.

    `question`: what it answers in a report, None where no report holds it; `twin`: what recomputes
    it in R; `no_twin`: why R does not, where it does not.
    """

    result: type[Result]
    question: Question | None = None
    twin: Twin | None = None
    no_twin: str = ""


def show_plain_part(section: Section, result: Result) -> Part:
    """The first sentence of a result, and its table behind it."""
    lead = next(iter(sentences_of(result)), "")
    return Part(section.key, printable(result.title), lead, tables=(table_of(result),))


def show_plain_parts(section: Section, view: SetView) -> Iterator[Part]:
    """A plain part for every result of a section."""
    for result in section.results:
        yield show_plain_part(section, result)


@dataclass(frozen=True)
class Answer:
    """How a report answers one question.

    `parts`: what it shows; `words`: by metric, `intervals`: by the name of their method, `tests`:
    in the order of the report.
    """

    question: Question
    parts: ShowParts = show_plain_parts
    words: Mapping[str, Words] = field(default_factory=dict)
    intervals: Mapping[str, Words] = field(default_factory=dict)
    tests: tuple[WordsOfTest, ...] = ()

    def all_words(self) -> Iterator[Words]:
        """Of metrics, intervals and tests."""
        yield from self.words.values()
        yield from self.intervals.values()
        for test in self.tests:
            yield test.words


@dataclass(frozen=True)
class Page:
    """What a report shows of one method.

    `run`: results of one set of attributes, nothing where the columns do not allow the method;
    `answers`: the questions that these answer; `exhibits`: its classes of results, also those that
    no report holds.
    """

    method: str
    run: Callable[[AuditInput], Sequence[Result]]
    answers: tuple[Answer, ...]
    exhibits: tuple[Exhibit, ...]


# ---------------------------------------------------------------- kinds of tests that methods share


def adjusts_by_holm(results: Sequence[Result], settings: AuditSettings) -> bool:
    """Whether p-values are adjusted by Holm: within a metric, or over the audit."""
    return settings.adjust == "holm" or settings.family == "audit"


def tests_alternative(*alternatives: str) -> Callable[[Sequence[Result], AuditSettings], bool]:
    """Whether some test has one of these alternatives."""

    def applies(results: Sequence[Result], settings: AuditSettings) -> bool:
        return any(
            test.alternative in alternatives
            for result in results
            for comparison in compared(result)
            for test in comparison.tests
        )

    return applies


HOLM = WordsOfTest(
    adjusts_by_holm,
    Words(text="Holm's step-down adjustment controls the family-wise error.", cites=("holm",)),
)
