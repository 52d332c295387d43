"""The pages of a report: one a method, and what each class of result and each question has there.

A further method writes its page and adds it to `PAGES`; nothing else names methods.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairstats.ground.registry import Title, class_of, without_class
from fairstats.ground.results import Result
from fairstats.report.contents import Section
from fairstats.report.methods import (
    circumstances,
    classes,
    ecd,
    hfm,
    madd,
    models,
    monitor,
    numbers,
    rates,
    risks,
    subgroups,
    um,
)
from fairstats.report.methods.page import Answer, Exhibit, Page
from fairstats.report.questions import Question

#: In the order in which they run.
PAGES: tuple[Page, ...] = (
    rates.PAGE,
    classes.PAGE,
    numbers.PAGE,
    circumstances.PAGE,
    models.PAGE,
    madd.PAGE,
    hfm.PAGE,
    um.PAGE,
    ecd.PAGE,
    risks.PAGE,
    subgroups.PAGE,
    monitor.PAGE,
)
#: By class of result.
EXHIBITS: dict[type[Result], Exhibit] = {
    exhibit.result: exhibit for page in PAGES for exhibit in page.exhibits
}
#: By key of the question.
ANSWERS: dict[str, Answer] = {
    answer.question.key: answer for page in PAGES for answer in page.answers
}
_TITLES = {
    metric: words.title for answer in ANSWERS.values() for metric, words in answer.words.items()
}


def question_of(result: Result) -> Question:
    """The question that a result answers in a report.

    Raises TypeError for a result that no page knows, or that answers no question of a report.
    """
    name = type(result).__name__
    exhibit = EXHIBITS.get(type(result))
    if exhibit is None:
        raise TypeError(f"no page of a report shows a {name}: add it to one in report/methods")
    if exhibit.question is None:
        raise TypeError(f"a {name} answers no question of a report: its page names none")
    return exhibit.question


def answer_to(key: str) -> Answer:
    """The answer to the question with this key.

    Raises TypeError where no page answers it.
    """
    if key not in ANSWERS:
        raise TypeError(f"no page of a report answers a question {key!r}")
    return ANSWERS[key]


def check_pages(sections: Iterable[Section]) -> None:
    """Raise TypeError where a section, or a result in it, is of no page."""
    for section in sections:
        answer_to(section.key)
        for result in section.results:
            question_of(result)


def title_of_metric(metric: str, otherwise: str) -> str:
    """Heading of a metric: the words of its page, or `otherwise`; of one class with its name."""
    label = class_of(metric)
    if not label:
        return _TITLES.get(metric, otherwise)
    title = Title(_TITLES.get(without_class(metric), otherwise))
    heading = f"{title.label}, {label.replace(':', ' ')}"
    return f"{heading}: {title.quantity}" if title.quantity else heading
