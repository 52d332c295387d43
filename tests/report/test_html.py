"""The HTML report: complete, self-contained, escaped, accessible.

How it looks is for `test_browser`.
"""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.writing import write_file
from fairstats.report.audit import audit
from fairstats.report.facts import tables_of_facts
from fairstats.report.format import Axis, printable
from fairstats.report.report import AuditReport
from fairstats.report.sets import view_sets

pytest.importorskip("jinja2")

from fairstats.report.render import drawing, render_html


class Page(HTMLParser):
    """Tags, attributes and text of a page, and whether tags close in order."""

    VOID = frozenset({"meta", "link", "br", "img", "rect", "line", "path", "circle"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def page(report: AuditReport) -> Page:
    return Page(render_html(report))


def test_every_section_has_a_name_of_its_own(page: Page) -> None:
    """axe's rule landmark-unique: headings that name sections stand on the page, none names two."""
    names = [section.get("aria-labelledby") or "" for section in page.of("section")]
    named = [name for name in names if name]
    assert len(named) == len(set(named)) > 3
    ids = {attributes.get("id") for _, attributes in page.tags}
    assert {part for name in named for part in name.split()} <= ids
    assert sum(len(name.split()) == 2 for name in named) > 1, "sets of groups under questions"


def test_tags_close_and_the_page_is_declared(page: Page, report: AuditReport) -> None:
    assert page.open == []
    assert page.of("html") == [{"lang": "en"}]
    assert {"charset": "utf-8"} in page.of("meta")
    assert any(m.get("name") == "viewport" for m in page.of("meta"))
    assert render_html(report).startswith("<!doctype html>")


def test_nothing_is_fetched_and_nothing_runs(page: Page) -> None:
    assert page.of("script") == []
    assert all(link["href"] == "data:," for link in page.of("link"))
    assert not page.of("img")
    places = {"#", "data:,", *(f"#{name}" for name in ids(page))}
    for _, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "srcset", "xlink:href", "action"):
            assert name not in attributes
        assert attributes.get("href", "#") in places


def ids(page: Page) -> set[str]:
    found = [a["id"] for _, a in page.tags if a.get("id")]
    assert len(found) == len(set(found))
    return {i for i in found if i}


def test_style_fetches_nothing(report: AuditReport) -> None:
    style = re.search(r"<style>(.*?)</style>", render_html(report), re.DOTALL)
    assert style is not None
    assert "url(" not in style[1]
    assert "@import" not in style[1]


def test_every_comparison_is_there_with_its_sentence(page: Page, report: AuditReport) -> None:
    judged = [result for result in report.results if hasattr(result, "verdict")]
    for result in judged:
        for sentence in result.sentences():
            assert re.sub(r"\s+", " ", sentence) in page.text
    rows = sum(1 for a in page.of("td") if a.get("class") == "plot")
    plotted = [result for result in judged if not isinstance(result, fs.results.ModelComparison)]
    views = view_sets(report)
    pairs = [
        pair
        for view in views
        for table in tables_of_facts(view.charts)
        for fact in table.facts
        for pair in fact.pairs
    ]
    assert rows == len(pairs) + len(views)  # a row a pair, and one a set on the first screen
    n_readings = sum(len(pair.readings) for pair in pairs)
    assert n_readings == sum(len(result.to_frame()) for result in plotted)
    assert {type(result).__name__ for result in judged if result not in plotted} == {
        "AmplificationResult"
    }


def test_verdict_summary_comes_first(page: Page) -> None:
    found = [
        re.search(words, page.text)
        for words in (
            "differences? examined",
            "fares worse",
            "What was audited",
            "shows? a violation",
        )
    ]
    places = [match.start() for match in found if match]
    assert len(places) == 4
    assert places == sorted(places)


def test_statements_methods_references_versions(page: Page, report: AuditReport) -> None:
    for said in (*report.statements, *report.methods):
        assert re.sub(r"\s+", " ", said.text) in page.text
    for reference in report.references:
        assert reference in page.text
    for package, version in report.versions.items():
        assert f"{package} {version}" in page.text


def test_group_sizes_and_denominators(page: Page, report: AuditReport) -> None:
    counts = report.tables[0]
    for g, group in enumerate(counts.groups):
        assert group in page.text
        positives = int(counts.total("tp", "fn")[g])
        assert f"{int(counts.total('tp')[g])} of {positives}" in page.text


def test_headers_have_scope_and_plots_have_words(page: Page) -> None:
    assert all(th.get("scope") in ("col", "row", "rowgroup") for th in page.of("th"))
    drawn = [svg for svg in page.of("svg") if svg.get("role") == "img"]
    forest = [svg for svg in drawn if "viewbox" not in svg]
    assert forest
    assert all(svg["aria-label"] for svg in drawn)
    for svg in forest:
        assert re.search(
            r"interval .*, (violated|satisfied|undecided|insufficient evidence|not judged)$",
            svg["aria-label"] or "",
        )


def test_a_verdict_is_a_word_and_a_sign_not_only_a_colour(page: Page, report: AuditReport) -> None:
    signs = {"violated": "✗", "satisfied": "✓", "undecided": "?"}
    there = {name: sign for name, sign in signs.items() if report.verdicts[name]}
    assert len(there) >= 2
    for verdict, sign in there.items():
        assert re.search(rf"{re.escape(sign)} ?{verdict}", page.text)


def test_hostile_names_are_escaped(hostile: AuditReport) -> None:
    text = render_html(hostile)
    page = Page(text)
    assert page.open == []
    assert page.of("script") == []
    assert page.of("img") == []
    assert "<b>bold</b>" not in text
    assert html.escape("<script>alert('x')</script>").replace("&#x27;", "&#39;") in text
    assert "{{ 7 * 7 }}" in page.text
    assert not {"\x1b", "\x00", "\u202e"} & set(text)


def test_labels_from_right_to_left_are_isolated_in_sentences(hostile: AuditReport) -> None:
    assert "\u2068קבוצה א\u2069" in render_html(hostile)


def test_lone_surrogates_can_be_written(tmp_path: Path) -> None:
    assert printable("a\ud800") == "a\ufffd"
    assert write_file(tmp_path / "r.html", "a\ud800").read_text(encoding="utf-8") == "a&#55296;"


@pytest.mark.parametrize(
    ("low", "high", "cut"), [(0.0, 2.0, (False, False)), (-0.1, 2.1, (True, True))]
)
def test_only_an_interval_that_goes_on_beyond_the_scale_is_cut(
    low: float, high: float, cut: tuple[bool, bool]
) -> None:
    """One that ends where the scale does, as at the largest MADD, has no arrow."""
    axis = Axis(0.0, 2.0, False, 0.0, (0.0, 0.2), (0.0, 1.0, 2.0))
    row: Any = SimpleNamespace(
        estimate=1.0,
        low=low,
        high=high,
        bound_low=np.nan,
        bound_high=np.nan,
        judged=True,
        verdict="undecided",
    )
    drawn = drawing(row, axis)
    assert drawn is not None
    assert (drawn["cut_low"], drawn["cut_high"]) == cut
    assert (drawn["low"], drawn["high"], drawn["point"]) == ("0.00%", "100.00%", "50.00%")


@pytest.mark.parametrize(
    ("bounds", "judged", "inner"),
    [
        ((0.5, 1.5), True, ("25.00%", "75.00%")),  # what the verdict rests on
        ((np.nan, np.nan), True, ("10.00%", "90.00%")),  # no limits of its own: the interval
        ((0.5, 1.5), False, ("50.00%", "50.00%")),  # no verdict: the estimate alone
    ],
)
def test_the_inner_line_is_what_the_verdict_rests_on(
    bounds: tuple[float, float], judged: bool, inner: tuple[str, str]
) -> None:
    axis = Axis(0.0, 2.0, False, 0.0, (0.0, 0.2), (0.0, 1.0, 2.0))
    limits = {"low": 0.2, "high": 1.8, "bound_low": bounds[0], "bound_high": bounds[1]}
    row: Any = SimpleNamespace(estimate=1.0, **limits, judged=judged, verdict="undecided")
    drawn = drawing(row, axis)
    assert drawn is not None
    assert (drawn["low"], drawn["high"]) == ("10.00%", "90.00%")
    assert (drawn["bound_low"], drawn["bound_high"]) == inner


def test_worst_case_table_and_other_thresholds(frame: pd.DataFrame) -> None:
    holes = frame.astype({"granted": float})
    holes.loc[holes.index[:9], "granted"] = np.nan
    with pytest.warns(UserWarning, match="left out"):
        report = audit(
            holes,
            y_pred="granted",
            sensitive_features="region",
            missing="drop",
            threshold=0.9,
            margin=0.05,
        )
    text = Page(render_html(report)).text
    assert "Worst-case bounds for the missing values" in text
    assert "Ratios against the threshold 0.9" in text
    assert "±0.05" in text


def test_many_groups(frame: pd.DataFrame) -> None:
    wide = pd.concat([frame.assign(region=f"region {i}") for i in range(12)], ignore_index=True)
    report = audit(wide, y_pred="granted", sensitive_features="region")
    assert Page(render_html(report)).open == []


def test_a_verdict_by_other_bounds_than_the_interval_says_so() -> None:
    frame = pd.DataFrame({"y": [1, 0] * 100 + [1] * 3 + [0] * 9, "s": ["a"] * 200 + ["b"] * 12})
    report = audit(frame, y_pred="y", sensitive_features="s")
    assert "by exact test: few cases" in Page(render_html(report)).text
    assert any(
        "b against a: few cases are expected in one or both: verdict, p-value and interval are by"
        " exact" in note
        for note in report.notes
    )


def test_a_reference_that_falls_below_the_rule_is_said() -> None:
    frame = pd.DataFrame(
        {"y": [1, 0, 0, 0] * 100 + [1, 1, 1, 0] * 90, "s": ["a"] * 400 + ["b"] * 360}
    )
    assert (
        "a is below 0.8 of b"
        in Page(render_html(audit(frame, y_pred="y", sensitive_features="s"))).text
    )


@pytest.mark.slow
def test_a_page_of_two_hundred_groups_stays_small_and_names_them_all() -> None:
    """Every group with its estimate.

    Drawing, sentence and tests only of those furthest from equality.
    """
    names = [f"g{i:03d}" for i in range(200)]
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"g": np.repeat(names, 40), "y": rng.integers(0, 2, 8000)})
    rows["hat"] = np.where(rng.random(8000) < 0.8, rows["y"], 1 - rows["y"])
    page = render_html(audit(rows, y_true="y", y_pred="hat", sensitive_features="g"))
    assert len(page) < 2_000_000
    folded = re.findall(r"<summary>Selection rate:.*?</details>", page, re.DOTALL)
    assert len(folded) == 1
    # 199 groups against the reference and the largest gap, of which twelve stand open
    assert "188 more groups" in folded[0]
    assert folded[0].count("<li ") == 188
    assert folded[0].count("<svg") == 0
