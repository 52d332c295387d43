"""The HTML report in headless Chromium, at a desktop's width and at a phone's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fairstats import adverse_impact
from fairstats.report.audit import audit
from fairstats.report.report import AuditReport

pytest.importorskip("jinja2")
pytestmark = pytest.mark.browser

WIDTHS = (1280, 768, 390)
OPEN_ALL = "document.querySelectorAll('details').forEach(d => d.open = true)"
BEYOND = """
[...document.querySelectorAll('body *')].filter(e => {
  const box = e.getBoundingClientRect();
  return box.width > 0 && (box.right > innerWidth + 0.5 || box.left < -0.5);
}).map(e => e.tagName + ' ' + (e.getAttribute('class') || '') + ' ' + e.textContent.slice(0, 40))
"""
#: Axis labels of one plot that touch each other.
COLLIDING = """
[...document.querySelectorAll('.axis')].flatMap(axis => {
  const boxes = [...axis.children].map(e => e.getBoundingClientRect()).sort((a, b) => a.left - b.left);
  return boxes.slice(1).filter((box, i) => box.left < boxes[i].right + 1).map(box => box.left);
})
"""
#: Group labels and estimates that stand on top of the drawing of their row.
COVERED = """
[...document.querySelectorAll('.forest tbody tr:not(.metric)')].filter(row => {
  const plot = row.querySelector('td.plot').getBoundingClientRect();
  return ['.group', '.estimate', '.verdict'].some(name => {
    const box = row.querySelector(name).getBoundingClientRect();
    return box.left < plot.right - 1 && box.right > plot.left + 1 &&
           box.top < plot.bottom - 1 && box.bottom > plot.top + 1;
  });
}).length
"""
NARROWEST = """
Math.min(...[...document.querySelectorAll('td.plot')].map(e => e.getBoundingClientRect().width))
"""
SMALLEST = """
Math.min(...[...document.querySelectorAll('.axis span')].map(e => parseFloat(getComputedStyle(e).fontSize)))
"""


@pytest.fixture(scope="module")
def many_groups(frame: pd.DataFrame) -> AuditReport:
    """Thirty groups with long names."""
    wide = pd.concat(
        [
            frame.sample(200, random_state=i).assign(region=f"region number {i} of thirty")
            for i in range(30)
        ]
    )
    return audit(wide, y_pred="granted", sensitive_features="region")


@pytest.fixture(scope="module", params=["plain", "hostile", "many groups"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A written report."""
    path = tmp_path_factory.mktemp("html") / "report.html"
    if request.param == "plain":
        return request.getfixturevalue("report").to_html(path)
    if request.param == "hostile":
        return request.getfixturevalue("hostile").to_html(path)
    return request.getfixturevalue("many_groups").to_html(path)


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_overflows(browser: Any, page: Path, width: int) -> None:
    browser.open(page, width=width)
    assert browser.evaluate("innerWidth") == width
    browser.evaluate(OPEN_ALL)
    assert browser.evaluate("document.scrollingElement.scrollWidth") <= width
    assert browser.evaluate(BEYOND) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_plots_are_legible(browser: Any, page: Path, width: int) -> None:
    browser.open(page, width=width)
    browser.evaluate(OPEN_ALL)
    assert browser.evaluate(COLLIDING) == []
    assert browser.evaluate(COVERED) == 0
    assert browser.evaluate(NARROWEST) > 240
    assert browser.evaluate(SMALLEST) >= 11


@pytest.mark.parametrize("width", WIDTHS)
def test_no_console_errors_no_dialogs_no_requests(browser: Any, page: Path, width: int) -> None:
    browser.open(page, width=width)
    browser.evaluate(OPEN_ALL)
    assert browser.complaints() == []
    assert [url for url in browser.requests() if not url.startswith("data:")] == [
        page.resolve().as_uri()
    ]
    assert browser.evaluate("document.scripts.length + document.images.length") == 0


def test_hostile_names_are_text(browser: Any, hostile: AuditReport, tmp_path: Path) -> None:
    browser.open(hostile.to_html(tmp_path / "hostile.html"), width=390)
    assert browser.evaluate("document.title") == "<script>alert('title')</script>"
    text = browser.evaluate("document.body.textContent")
    for label in (
        "<script>alert('x')</script>",
        '"><img src=x onerror=alert(1)>',
        "W" * 200,
        "{{ 7 * 7 }}",
    ):
        assert label in text


def test_it_prints_with_everything_open(browser: Any, report: AuditReport, tmp_path: Path) -> None:
    browser.open(report.to_html(tmp_path / "r.html"), width=690)
    browser.send("Emulation.setEmulatedMedia", media="print")
    shown = (
        "[...document.querySelectorAll('details table')].every(t =>"
        " t.getBoundingClientRect().height > 50)"
    )
    assert browser.evaluate(shown)
    assert browser.evaluate("document.scrollingElement.scrollWidth") <= 690
    assert browser.pdf(tmp_path / "r.pdf").read_bytes().startswith(b"%PDF")


def test_the_page_of_local_law_144_is_whole(browser: Any, tmp_path: Path) -> None:
    """On paper nothing scrolls; on screens tables that are too wide do, in their own box."""
    counts = {
        "race": {
            "White": (33, 27),
            "Native Hawaiian or Pacific Islander": (15, 20),
            "Asian": (2, 3),
        }
    }
    result = adverse_impact(
        counts, template="ll144", unknown={"race": (2, 5)}, about={"tool": "Ranker 2"}
    )
    path = Path(result.to_html(tmp_path / "audit.html"))
    for width, media in ((690, "print"), (1280, "screen"), (768, "screen"), (390, "screen")):
        browser.open(path, width=width)
        browser.send("Emulation.setEmulatedMedia", media=media)
        assert browser.evaluate("document.scrollingElement.scrollWidth") <= width
        cut = "[...document.querySelectorAll('.wide')].some(e => e.scrollWidth > e.clientWidth)"
        assert browser.evaluate(cut) == (width < 1000 and media == "screen")
        assert browser.complaints() == []
        assert browser.requests() == [path.resolve().as_uri()]


#: What has the focus: its tag, and whether a block is open.
FOCUSED = """
[document.activeElement.tagName,
 document.activeElement.closest('details')?.open,
 document.activeElement.getBoundingClientRect().top + scrollY,
 getComputedStyle(document.activeElement).outlineStyle]
"""


def test_every_block_is_reached_and_opened_by_keyboard(
    browser: Any, report: AuditReport, tmp_path: Path
) -> None:
    browser.open(report.to_html(tmp_path / "r.html"), width=1280)
    outer = "[...document.querySelectorAll('summary')].filter(s => s.checkVisibility()).length"
    n_closed = browser.evaluate(outer)
    opened = []
    for _ in range(200):
        browser.press("Tab")
        tag, is_open, top, outline = browser.evaluate(FOCUSED)
        if tag == "BODY":
            break
        assert outline != "none"
        if tag == "SUMMARY":
            assert not is_open
            browser.press("Enter")
            assert browser.evaluate(FOCUSED)[1]
            opened.append(top)
    # down the page, those within a block after it
    assert opened == sorted(opened)
    assert len(opened) > n_closed > 3
    assert len(opened) == browser.evaluate("document.querySelectorAll('details[open]').length")
    assert browser.evaluate("document.querySelectorAll('details:not([open])').length") == 0
