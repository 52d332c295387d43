"""An Rmd file taken apart; what would be treated unlike by the two renderers is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fairstats.ground.errors import InputError, VignetteError
from fairstats.report.vignettes.place import r_package_folder
from fairstats.report.vignettes.record import chunk_keys, read_recorded
from fairstats.report.vignettes.source import (
    Vignette,
    faults,
    find_vignette,
    parse,
    read_vignette,
    vignette_folder,
    vignette_names,
    vignette_titles,
)

pytest.importorskip("jupytext")

TEXT = """---
title: "Of ratios"
output: html_document
---

# First

```{python setup, include=FALSE}
import os
```

```python
not_run()
```

    ```{r}
    shown, not run
    ```

## Second

```{r, echo = FALSE, fig.cap="a, \\"b\\" = c", fig.width=6}
1 + 1
```

```{python}
```
"""


def test_chunks() -> None:
    v = parse(TEXT, Path("x/ratios.Rmd"))
    assert (v.name, v.title) == ("ratios", "Of ratios")
    first, second, third = v.chunks
    assert (first.label, first.language, first.code, first.line) == (
        "setup",
        "python",
        "import os",
        8,
    )
    assert first.options["tags"] == ["remove_cell"]
    assert (second.label, second.language, second.code) == ("", "r", "1 + 1")
    assert second.options["fig.cap"] == 'a, "b" = c'
    assert second.options["fig.width"] == 6
    assert second.options["tags"] == ["remove_input"]
    assert third.code == ""
    assert (first.name, second.name) == ("'setup' (line 8)", "2 (line 22)")
    kinds = [cell.cell_type for cell in v.notebook.cells]
    assert kinds == ["markdown", "code", "markdown", "code", "code"], "the header is no prose"
    assert v.notebook.cells[0].source == "# First"
    prose = v.notebook.cells[2].source
    assert "not_run()" in prose
    assert "shown, not run" in prose
    assert prose.endswith("## Second")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("# no header\n", "no title"),
        ("---\noutput: x\n---\n", "no title"),
        ("---\ntitle: [\n---\n", "the header is no YAML"),
        (
            '---\ntitle: "T"\n---\n````\n```{r}\n```\n````\n```{r}\n1\n```\n',
            "1 chunks, of which jupytext reads 0",
        ),
    ],
)
def test_what_cannot_be_read_is_named(text: str, says: str) -> None:
    with pytest.raises(VignetteError, match=says):
        parse(text, Path("x.Rmd"))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            "```{python a, eval=FALSE}\n1\n```\n",
            "chunk 'a' .line 6.: option 'eval'; allowed: echo, include",
        ),
        ("```{python, fig.align='left'}\n1\n```\n", "option 'fig.align'"),
        ("```{julia}\n1\n```\n", "language 'julia'; allowed: python, r"),
        ("```{r, results='hide'}\n1\n```\n", "option 'remove_output'"),
        ("so `r 1 + 1` it is\n", "line 6: inline code '`r 1 . 1`'"),
        ("so `python x` it is\n", "inline code"),
    ],
)
def test_faults(vignette: Callable[..., Vignette], body: str, says: str) -> None:
    v = vignette(body)
    with pytest.raises(VignetteError, match=f"vignette made: .*{says}"):
        read_vignette(v.path)


def test_no_fault_where_there_is_none(vignette: Callable[..., Vignette]) -> None:
    assert faults(vignette("```{python, echo=F}\n# why?\n```\n\nthe `r` package\n")) == []


def vignettes() -> list[str]:
    try:
        return list(vignette_names())
    except VignetteError:
        return []


@pytest.mark.parametrize("name", vignettes())
def test_every_vignette_keeps_the_rules(name: str) -> None:
    """The same by plain search, in case the parser looks away."""
    path = find_vignette(name)
    v = read_vignette(path)
    assert {c.language for c in v.chunks} == {"python", "r"}
    assert v.title == vignette_titles()[name]
    assert v.chunks[0].options["tags"] == ["remove_cell"], "the first chunk imports and seeds"
    text = path.read_text(encoding="utf-8")
    labels = [chunk.label for chunk in v.chunks if chunk.label]
    assert len(set(labels)) == len(labels), "knitr refuses a label that another chunk has"
    for word in ("py$", "%R", "%%R", "eval=", "eval =", "reticulate", "rpy2", "`r ", "`python "):
        assert word not in text, f"{name}: {word}"
    for chunk in v.chunks:
        if chunk.language == "r":
            assert "library(fairstats)" in "".join(
                c.code for c in v.chunks if c.line <= chunk.line
            ), chunk.name
        if "plt.show()" in chunk.code:
            words = chunk.options.get("fig.alt") or chunk.options.get("fig.cap")
            assert words, f"{name}: {chunk.name} needs fig.alt"


@pytest.mark.parametrize("name", vignettes())
def test_the_recorded_output_of_r_is_of_this_version(name: str) -> None:
    """Else a machine without R shows none: run ``fairstats vignettes record``."""
    path = find_vignette(name)
    wanted = set(chunk_keys(read_vignette(path)).values())
    assert set(read_recorded(path).outputs) == wanted, f"fairstats vignettes record {name}"


def test_a_part_of_the_name_will_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, small: Path
) -> None:
    for name in ("01-one", "02-two", "11-twofold"):
        (tmp_path / f"{name}.Rmd").write_text("x", encoding="utf-8")
    monkeypatch.setattr("fairstats.report.vignettes.source.vignette_folder", lambda: tmp_path)
    assert find_vignette("one") == find_vignette("01-one.Rmd") == tmp_path / "01-one.Rmd"
    assert find_vignette(str(small)) == small
    for wrong in ("two", "three", ""):
        with pytest.raises(InputError, match=r"`name`.*01-one, 02-two, 11-twofold"):
            find_vignette(wrong)


def test_where_the_r_package_is(tmp_path: Path) -> None:
    package = tmp_path / "fairstats"
    with pytest.raises(VignetteError, match="reinstall"):
        r_package_folder(package)
    for folder in (package / "_r", tmp_path / "r"):
        (folder / "R").mkdir(parents=True)
        (folder / "DESCRIPTION").touch()
        assert r_package_folder(package) == folder, "beside the package, else within it"


def test_where_the_vignettes_are(tmp_path: Path) -> None:
    """Beside the package in a source tree, else within it."""
    package = tmp_path / "fairstats"
    with pytest.raises(VignetteError, match="reinstall"):
        vignette_folder(package)
    (package / "_vignettes").mkdir(parents=True)
    assert vignette_folder(package) == package / "_vignettes"
    (tmp_path / "vignettes").mkdir()
    assert vignette_folder(package) == package / "_vignettes", (
        "site-packages may hold a folder of that name"
    )
    (tmp_path / "pyproject.toml").touch()
    assert vignette_folder(package) == tmp_path / "vignettes"


def test_values_of_the_header_are_read_as_yaml() -> None:
    head = (
        '---\ntitle: "The \\"new\\" \\\\<b\\\\> one"\nparams:\n  data: "a \\"b\\".csv"\n'
        "  other: 'it''s'\n  plain: 3\n---\n"
    )
    v = parse(head, Path("t.Rmd"))
    assert v.title == 'The "new" <b> one'
    assert v.parameters({}) == {"data": 'a "b".csv', "other": "it's", "plain": "3"}
