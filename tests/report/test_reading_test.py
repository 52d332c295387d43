"""The reading test: ten questions about five reports, answered by their first screens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.report.reading import REPORTS

PAGE = Path(__file__).parents[2] / "vignettes" / "reading.md"


def answers() -> dict[str, list[list[str]]]:
    """By the number of the report: the answer to each question, as words that follow each other."""
    found: dict[str, list[list[str]]] = {}
    sections = re.split(r"^## (\d+)\. .*$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for number, text in zip(sections[1::2], sections[2::2], strict=True):
        quotes = re.findall(r"^\*\*.*\?\*\*\n\n((?:^> .*\n?)+)", text, flags=re.MULTILINE)
        found[number] = [
            [line.removeprefix("> ") for line in quote.splitlines()] for quote in quotes
        ]
    return found


def test_there_are_ten_questions_about_five_reports() -> None:
    by_report = answers()
    assert list(by_report) == list(REPORTS)
    assert sum(map(len, by_report.values())) == 10


#: That of COMPAS takes seconds.
NUMBERS = [
    pytest.param(number, marks=pytest.mark.slow) if number == "1" else number for number in REPORTS
]


@pytest.mark.parametrize("number", NUMBERS)
def test_the_first_screen_gives_the_answers(number: str) -> None:
    """Every sentence of an answer stands in the screen, as it is written."""
    lines = REPORTS[number]().screen().lines()
    screen = " ".join(" ".join(lines).split())
    for answer in answers()[number]:
        words = " ".join(answer)
        for sentence in re.split(r"(?<=\.) (?=[A-Z]|site: )", words):
            assert sentence in screen
