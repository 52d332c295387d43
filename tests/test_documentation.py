"""Every public function has an example that runs.

The site is built without warnings or remote addresses.
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fairstats

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "vignettes" / "site"
#: The public submodules.
MODULES = {
    "evt": fairstats.evt,
    "datasets": fairstats.datasets,
    "rates": fairstats.rates,
    "results": fairstats.results,
}
SKIP = "# doctest: +SKIP"
TOOLS = ("sphinx", "numpydoc", "myst_parser", "furo", "latex2mathml", "matplotlib")


def public() -> dict[str, Any]:
    """Name as users write it → what it is."""
    names = {
        name: getattr(fairstats, name) for name in fairstats.__all__ if not name.startswith("_")
    }
    named = {name: value for name, value in names.items() if not inspect.ismodule(value)}
    for prefix, module in MODULES.items():
        named |= {f"{prefix}.{name}": getattr(module, name) for name in module.__all__}
    return named


def example(value: Any) -> bool:
    return ">>>" in (inspect.getdoc(value) or "")


@pytest.mark.parametrize("name", sorted(n for n, v in public().items() if inspect.isroutine(v)))
def test_every_public_function_has_an_example(name: str) -> None:
    """Which runs: pytest collects the doctests of the package."""
    assert example(public()[name]), f"{name}: no >>> in its docstring"
    skips = SKIP in (inspect.getdoc(public()[name]) or "")
    # those of `datasets.read_…` need a file that the user downloads
    assert skips == name.startswith("datasets.read_"), f"{name}: an example that is skipped"


@pytest.mark.parametrize("name", sorted(n for n, v in public().items() if inspect.isclass(v)))
def test_every_public_class_says_what_it_is(name: str) -> None:
    doc = inspect.getdoc(public()[name]) or ""
    assert len(doc) > 20
    assert doc != inspect.getdoc(object)


def test_public_submodules_are_known() -> None:
    assert set(MODULES) == {n for n in fairstats.__all__ if inspect.ismodule(getattr(fairstats, n))}


@pytest.mark.slow
@pytest.mark.skipif(not SITE.is_dir(), reason="the site is not in this source tree")
def test_the_site_is_built_without_warnings(tmp_path: Path) -> None:
    for package in TOOLS:
        pytest.importorskip(package)
    from fairstats.report.vignettes.page import remote_addresses

    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        str(SITE),
        str(tmp_path / "site"),
    ]
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-3000:]
    pages = {
        p.relative_to(tmp_path / "site"): p.read_text(encoding="utf-8")
        for p in tmp_path.rglob("*.html")
    }
    everything = "\n".join(pages.values())
    # A result class that `fs.evt` shows too is described there.
    names = {
        name.replace("results.", "evt.")
        if name.removeprefix("results.") in fairstats.evt.__all__
        else name
        for name in public()
    }
    for name in names:
        assert f'id="fairstats.{name}"' in everything, f"{name} is not on the site"
    for page in (ROOT / "vignettes").glob("**/*.md"):
        made = Path("made", page.relative_to(ROOT / "vignettes")).with_suffix(".html")
        assert made in pages or {"site", "paper"} & set(page.parts), page.name
    first = pages[Path("index.html")]
    questions = re.findall(
        r"<dt><strong>[^<]*\?[^<]*</strong></dt>\s*<dd>(.*?)</dd>", first, re.DOTALL
    )
    assert len(questions) == 3
    for answer in questions:  # each leads to pages that are there
        links = re.findall(r'href="(made/[^"#]+)', answer)
        assert links
        assert all(Path(link) in pages for link in links), links
    assert re.search(r'<a [^>]*href="report.html"><img alt="A fairness report', first)
    assert "COMPAS risk classes" in pages[Path("report.html")]
    remote = {str(path): remote_addresses(page) for path, page in pages.items()}
    assert not {path: found for path, found in remote.items() if found}
    styles = [p.read_text(encoding="utf-8") for p in tmp_path.rglob("*.css")]
    assert not [url for css in styles for url in remote_addresses(f"<style>{css}</style>")]


@pytest.mark.skipif(
    not (ROOT / "vignettes" / "paper").is_dir(), reason="the paper is not in this source tree"
)
def test_the_figure_of_the_paper_is_of_this_version() -> None:
    """The file says which version drew it: run ``python vignettes/paper/figure.py``."""
    folder = ROOT / "vignettes" / "paper"
    drawn_by = f"Software\0fairstats {fairstats.__version__}".encode()
    assert drawn_by in (folder / "rates.png").read_bytes()
    paper = (folder / "paper.md").read_text(encoding="utf-8")
    assert "](rates.png)" in paper
    assert f"`fairstats` {fairstats.__version__}" in paper


@pytest.mark.skipif(
    not (ROOT / "vignettes" / "paper").is_dir(), reason="the paper is not in this source tree"
)
def test_the_paper_has_the_sections_and_references_of_its_journal() -> None:
    folder = ROOT / "vignettes" / "paper"
    text = (folder / "paper.md").read_text(encoding="utf-8")
    _, head, body = text.split("---\n", 2)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= set(
        re.findall(r"^(\w+):", head, flags=re.MULTILINE)
    )
    sections = re.findall(r"^# (.+)$", body, flags=re.MULTILINE)
    assert sections[:4] == ["Summary", "Statement of need", "State of the field", "Software design"]
    assert sections[-1] == "References"
    assert 250 <= len(body.split()) <= 1750
    entries = re.findall(
        r"^@\w+\{(\w+),", (folder / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(entries) == sorted(set(re.findall(r"@(\w+)", body)))
