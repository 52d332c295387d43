"""Pages by R Markdown, and R chunks run from Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fairstats.ground.errors import VignetteError
from fairstats.report.vignettes import build as building
from fairstats.report.vignettes import by_r
from fairstats.report.vignettes.build import build_vignettes, record_vignettes
from fairstats.report.vignettes.page import remote_addresses
from fairstats.report.vignettes.source import Vignette

pytest.importorskip("matplotlib")
NOTEBOOK = ("jupytext", "nbconvert", "nbclient", "ipykernel", "latex2mathml")


@pytest.fixture
def with_pandoc() -> None:
    """Skip where pandoc is not on PATH, or reticulate too old for this Python."""
    lacking = by_r.lacking_for_r()
    if lacking is not None and ("pandoc" in lacking or "cannot use" in lacking):
        pytest.skip(lacking)


@pytest.mark.r("rmarkdown", "knitr", "reticulate")
@pytest.mark.slow
def test_the_small_vignette(small: Path, tmp_path: Path, with_pandoc: None) -> None:
    (built,) = build_vignettes([str(small)], out=tmp_path, renderer="r", fast=True)
    assert built.path == tmp_path / "small.html"
    page = built.path.read_text(encoding="utf-8")
    assert remote_addresses(page) == []
    body = page[page.index("<body") :]
    assert body.count("<math") == 4
    assert body.count("<h1") == 1
    assert "True</code>" in body, "the variable for fewer draws"
    assert "BarContainer" not in body, "only the last value of a chunk is shown"
    assert "import numpy" not in re.sub(r"<[^>]+>", "", body)
    assert 'class="dataframe"' in body
    (tag,) = re.findall(r"<img [^>]*>", body)
    assert 'alt="Counts of 1,000 draws, with a peak at 0"' in tag
    assert "1     b    0.625" in body, "R read what Python wrote"
    assert "[1] 4" in body
    assert "rendered by R Markdown" in body
    assert list(tmp_path.iterdir()) == [built.path]


@pytest.mark.r("rmarkdown", "knitr", "reticulate")
@pytest.mark.slow
def test_errors_name_vignette_chunk_and_cause(
    vignette: Callable[..., Vignette], tmp_path: Path, with_pandoc: None
) -> None:
    v = vignette("```{python bad}\nraise ValueError('no such thing')\n```\n", "one")
    with pytest.raises(
        VignetteError, match=r"(?s)^vignette one, chunk 'bad' \(line 6\): .*no such thing"
    ):
        build_vignettes([str(v.path)], out=tmp_path, renderer="r")


@pytest.mark.r
@pytest.mark.slow
def test_r_chunks_in_a_notebook_and_recorded(
    vignette: Callable[..., Vignette], tmp_path: Path
) -> None:
    for package in NOTEBOOK:
        pytest.importorskip(package)
    v = vignette(
        "```{r}\nlibrary(fairstats)\nx <- 1\nx\nx + 1\nmessage('said')\n```\n\n```{r}\nx\n```\n"
    )
    (written,) = record_vignettes([str(v.path)])
    assert written.path == v.path.parent / "recorded" / "made.json"
    text = written.path.read_text(encoding="utf-8")
    assert '"[1] 1\\n[1] 2\\nsaid"' in text
    (built,) = build_vignettes([str(v.path)], out=tmp_path / "out")
    page = built.path.read_text(encoding="utf-8")
    assert "[1] 1\n[1] 2\nsaid" in page
    assert "recorded output" not in page

    bad = vignette("```{r broken}\nstop('enough')\n```\n", "bad")
    with pytest.raises(
        VignetteError, match=r"(?s)^vignette bad, chunk 'broken' \(line 6\): R: .*enough$"
    ):
        build_vignettes([str(bad.path)], out=tmp_path)


@pytest.mark.parametrize("lacking", ["Rscript", "pandoc", "packages"])
def test_what_is_missing_is_named(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    says = {
        "Rscript": "r-base-core",
        "pandoc": "apt-get install pandoc",
        "packages": "r-cran-reticulate",
    }
    folder = tmp_path / "bin"
    folder.mkdir()
    told = "rmarkdown reticulate" if lacking == "packages" else ""
    for name in {"Rscript", "pandoc"} - {lacking}:
        (folder / name).write_text(f"#!/bin/sh\nprintf '{told}'\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}")
    with pytest.raises(
        VignetteError, match=f"^the R renderer cannot be used: .*To fix: .*{says[lacking]}"
    ):
        build_vignettes([str(small)], out=tmp_path, renderer="r")


def test_causes_from_what_knitr_says(vignette: Callable[..., Vignette]) -> None:
    v = vignette("```{python one}\n1\n```\n\n```{r two}\n2\n```\n")
    said = "Quitting from lines 11-12 (made.Rmd) \nError in f(x) : went wrong\nbadly\n"
    assert by_r._failure_by_r(v, said) == f"vignette made, chunk 'two' (line 10): {said.strip()}"
    assert by_r._failure_by_r(v, "no such file\n") == "vignette made: no such file"


def test_options_are_checked(small: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="`renderer`.*'python', 'r'"):
        build_vignettes([str(small)], out=tmp_path, renderer="sweave")
    with pytest.raises(ValueError, match="`jobs`"):
        build_vignettes([str(small)], out=tmp_path, jobs=0)


def test_several_at_a_time(
    vignette: Callable[..., Vignette], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results come in the order of the names; the first failure stops those that wait."""
    begun = []

    def render(v: Vignette, **_: object) -> tuple[str, dict[int, str]]:
        begun.append(v.name)
        if v.name == "bad":
            raise VignetteError("vignette bad: no")
        return "page", {}

    class NoR:
        works = False

    monkeypatch.setattr(building, "render_by_python", render)
    monkeypatch.setattr(building, "probe_r", NoR)
    paths = [str(vignette("text\n", name).path) for name in ("c", "a", "b")]
    told = []
    built = build_vignettes(paths, out=tmp_path / "o", tell=lambda b: told.append(b.name))
    assert [b.name for b in built] == ["c", "a", "b"]
    assert sorted(told) == ["a", "b", "c"]
    begun.clear()
    with pytest.raises(VignetteError, match="vignette bad: no"):
        build_vignettes([str(vignette("text\n", "bad").path), *paths], out=tmp_path / "o", jobs=1)
    assert len(begun) < 4
