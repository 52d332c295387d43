"""Small habits of results: they iterate, have a length, and write Markdown and great-tables."""

from __future__ import annotations

import sys

import pytest

import fairstats as fs
from fairstats.ground.errors import MissingDependencyError

COUNTS = {"a|b": (40, 60), "b": (25, 75), "c": (38, 62)}


@pytest.fixture(scope="module")
def result() -> fs.results.RatioResult:
    return fs.disparate_impact(counts=COUNTS, reference="b")


def test_a_result_iterates_over_its_comparisons(result: fs.results.RatioResult) -> None:
    assert list(result) == list(result.comparisons)
    assert len(result) == 2
    assert bool(result)


def test_a_result_without_comparisons_iterates_over_its_rows() -> None:
    plan = fs.power_ratio(0.5, 0.7, n=400)
    assert len(plan) == 1
    assert [row["metric"] for row in plan] == ["power_ratio"]


def test_markdown_has_every_row_and_escapes(result: fs.results.RatioResult) -> None:
    lines = result.to_markdown().splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + len(result)
    widths = {line.replace(r"\|", "").count("|") for line in table}
    assert len(widths) == 1
    assert any(r"a\|b" in line for line in table)


def test_a_great_table_says_the_same(result: fs.results.RatioResult) -> None:
    pytest.importorskip("great_tables")
    page = result.to_great_table().as_raw_html()
    assert result.title in page
    assert "a|b" in page


def test_without_great_tables_the_error_names_what_to_do(
    result: fs.results.RatioResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "great_tables", None)
    with pytest.raises(MissingDependencyError, match="to_markdown"):
        result.to_great_table()
