"""A small vignette, built once for all tests, and a function that builds any text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fairstats.report.vignettes.by_python import render_by_python
from fairstats.report.vignettes.source import Vignette, parse

HERE = Path(__file__).parent
HEADER = '---\ntitle: "T"\noutput: html_document\n---\n\n'


@pytest.fixture(scope="session")
def small() -> Path:
    """The file of a vignette with each thing that vignettes have."""
    return HERE / "small.Rmd"


@pytest.fixture
def vignette(tmp_path: Path) -> Callable[..., Vignette]:
    """A function that writes a vignette from chunks and prose, and reads it."""

    pytest.importorskip("jupytext")

    def write(body: str, name: str = "made") -> Vignette:
        path = tmp_path / f"{name}.Rmd"
        path.write_text(HEADER + body, encoding="utf-8")
        return parse(HEADER + body, path)

    return write


@pytest.fixture
def page_of(vignette: Callable[..., Vignette]) -> Callable[..., str]:
    """A function that builds a text by Python's tools, without R, and returns the page."""

    def build(body: str, *, fast: bool = False) -> str:
        page, _ = render_by_python(vignette(body), fast=fast, library=None, r_version="", params={})
        return page

    return build
