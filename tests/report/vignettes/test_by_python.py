"""Pages by nbclient and nbconvert, with R missing.

The figures, tables and texts that chunks show.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fairstats.ground.errors import VignetteError
from fairstats.report.vignettes.by_python import render_by_python
from fairstats.report.vignettes.page import remote_addresses
from fairstats.report.vignettes.record import chunk_keys, write_recorded
from fairstats.report.vignettes.source import Vignette, read_vignette

for package in ("jupytext", "nbconvert", "nbclient", "ipykernel", "latex2mathml", "matplotlib"):
    pytest.importorskip(package)


@pytest.fixture(scope="module")
def page(small: Path) -> str:
    """The small vignette, with fewer draws, without R."""
    return render_by_python(read_vignette(small), fast=True, library=None, r_version="", params={})[
        0
    ]


def test_it_is_one_page_that_loads_nothing(page: str) -> None:
    assert remote_addresses(page) == []
    assert "<script" not in page
    assert page.count("<html") == page.count("</html>") == page.count("<h1") == 1
    assert "<title>A small vignette</title>" in page
    assert "output: html_document" not in page, "the header is gone"


def test_formulas_and_prose(page: str) -> None:
    assert page.count("<math") == 4
    assert page.count('display="block"') == 1
    assert "$" not in re.sub(r"\$[56]", "", page[page.index("<body") :])
    assert "<code>$5</code>" in page
    assert 'id="the-question"' in page


def test_code_and_output(page: str) -> None:
    assert "import numpy" not in page.replace("<span", ""), "include=FALSE"
    assert "hist" not in re.sub(r"<[^>]+>", "", page), "echo=FALSE"
    assert "['table.csv'] True" in page, "an empty folder, the variable for fewer draws"
    assert 'class="dataframe"' in page
    assert "fewer draws" in page


def test_the_figure(page: str) -> None:
    (tag,) = re.findall(r"<img [^>]*>", page)
    assert 'alt="Counts of 1,000 draws, with a peak at 0"' in tag
    assert 'src="data:image/png;base64,' in tag
    width = int(re.search(r'width="(\d+)"', tag)[1])
    assert 400 < width < 650, "fig.width=6 inches"


def test_without_r_there_is_no_recorded_output(page: str) -> None:
    assert "<span" in page[page.index("The same in R") :], "the code is shown"
    assert "no recorded output for this version" in page


@pytest.mark.slow
def test_recorded_output(vignette: Callable[..., Vignette]) -> None:
    """Shown as long as the code that led to it is the same, else said to be missing."""
    body = "```{python}\nx = 1\n```\n\n```{r a}\n1 < 2\n```\n\n```{r b}\n2\n```\n"
    v = vignette(body)
    assert list(chunk_keys(v)) == [2, 3]
    path = write_recorded(v, "R 9.9", {2: "[1] <TRUE>", 3: "[1] 2"})
    assert path == v.path.parent / "recorded" / "made.json"
    page, printed = render_by_python(v, fast=False, library=None, r_version="", params={})
    assert printed == {}
    assert page.count("R is not available here; recorded output (R 9.9):") == 2
    assert "[1] &lt;TRUE&gt;" in page

    changed = vignette(body.replace("x = 1", "x = 2"))
    assert set(chunk_keys(changed).values()).isdisjoint(chunk_keys(v).values())
    page, _ = render_by_python(changed, fast=False, library=None, r_version="", params={})
    assert page.count("no recorded output for this version") == 2

    prose = vignette("Some words.\n\n" + body)
    assert chunk_keys(prose) == chunk_keys(v)
    path.write_text(json.dumps({"outputs": []}), encoding="utf-8")
    with pytest.raises(VignetteError, match=r"made\.json is damaged"):
        render_by_python(prose, fast=False, library=None, r_version="", params={})


@pytest.mark.slow
def test_an_error_names_vignette_chunk_and_cause(page_of: Callable[..., str]) -> None:
    body = "```{python fine}\nx = 1\n```\n\n```{python bad}\nimport math\nmath.sqrt(-x)\n```\n"
    with pytest.raises(
        VignetteError, match=r"^vignette made, chunk 'bad' \(line 10\): ValueError: .+"
    ):
        page_of(body)


@pytest.mark.slow
def test_a_kernel_that_ends_is_an_error(page_of: Callable[..., str]) -> None:
    with pytest.raises(VignetteError, match=r"^vignette made: the kernel ended after cell"):
        page_of("```{python}\nimport os\nos._exit(3)\n```\n")


def test_what_is_shown(page_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRSTATS_VIGNETTE_FAST", "1")
    page = page_of(
        '```{python}\nimport os, sys\nprint("<out>", "rpy2" in sys.modules)\n'
        'sys.stderr.write("err\\n")\n1; 2\n'
        'os.environ.get("FAIRSTATS_VIGNETTE_FAST")\n```\n\n'
        "Text.\n\n```{python}\nNone\n```\n\n```{python}\n'last';\n```\n"
    )
    body = page[page.index("<body") :]
    assert '<pre class="stdout" tabindex="0">&lt;out&gt; False</pre>' in body, (
        "R is missing: it is not loaded"
    )
    assert '<pre class="stderr" tabindex="0">err</pre>' in body
    assert body.count('<div class="output">') == 2, "the variable of the caller is not handed on"
    assert "fewer draws" not in page


def test_what_a_page_would_load_from_elsewhere_is_seen() -> None:
    link = '<a href="https://example.org">x</a>'
    script = '<script src="https://cdn.example.org/x.js"></script>'
    assert remote_addresses(link + script) == ["https://cdn.example.org/x.js"]
