"""Built vignettes in headless Chromium, at a desktop's width and at a phone's."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from fairstats.report.vignettes.build import build_vignettes
from fairstats.report.vignettes.by_r import lacking_for_r

pytestmark = [pytest.mark.browser, pytest.mark.slow]

#: What the reader cannot reach: right of the page, and in nothing that scrolls.
BEYOND = """
[...document.querySelectorAll('body *')].filter(e => {
  const box = e.getBoundingClientRect();
  if (!(box.width > 0 && box.right > innerWidth + 0.5)) return false;
  for (let up = e.parentElement; up && up !== document.body; up = up.parentElement)
    if (getComputedStyle(up).overflowX === 'auto') return false;
  return true;
}).map(e => e.tagName + ' ' + e.textContent.slice(0, 40))
"""


#: Folders of vignettes that were built before, to be looked at as well.
FOLDERS = os.environ.get("FAIRSTATS_VIGNETTE_PAGES", "").split(os.pathsep)
PAGES = sorted(path for folder in FOLDERS if folder for path in Path(folder).glob("*.html"))


@pytest.fixture(scope="module", params=["python", "r", *PAGES], ids=lambda p: getattr(p, "name", p))
def page(
    request: pytest.FixtureRequest, small: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The small vignette by either renderer, and the pages that lie built."""
    if isinstance(request.param, Path):
        return request.param
    if request.param == "python":
        for package in (
            "jupytext",
            "nbconvert",
            "nbclient",
            "ipykernel",
            "latex2mathml",
            "matplotlib",
        ):
            pytest.importorskip(package)
    elif shutil.which("Rscript") is None or lacking_for_r() is not None:
        pytest.skip("the R renderer cannot be used here")
    out = tmp_path_factory.mktemp("vignettes")
    return build_vignettes([str(small)], out=out, renderer=request.param, fast=True)[0].path


@pytest.mark.parametrize("width", [1280, 400])
def test_no_errors_no_requests_no_overflow(browser: Any, page: Path, width: int) -> None:
    browser.open(page, width=width)
    assert browser.evaluate("innerWidth") == width
    assert browser.evaluate("document.scrollingElement.scrollWidth") <= width
    assert browser.evaluate(BEYOND) == []
    assert browser.complaints() == []
    assert [url for url in browser.requests() if not url.startswith("data:")] == [
        page.resolve().as_uri()
    ]


def test_formulas_and_figures_are_drawn(browser: Any, page: Path) -> None:
    browser.open(page, width=1280)
    sizes = "[...document.querySelectorAll('math, img')].map(e => e.getBoundingClientRect().height)"
    assert min(browser.evaluate(sizes)) > 8
    assert browser.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 400)")
    fractions = "[...document.querySelectorAll('mfrac')].map(e => e.getBoundingClientRect().height)"
    heights = browser.evaluate(fractions)  # the whole audit has none
    assert all(height > 15 for height in heights), "set as fractions, not as text"
