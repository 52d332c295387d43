"""The commands ``fairstats vignettes …``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from fairstats.cli.app import app
from fairstats.report.vignettes.source import Vignette, vignette_titles

RUN = CliRunner()


def test_list() -> None:
    done = RUN.invoke(app, ["vignettes", "list"])
    assert done.exit_code == 0
    assert [tuple(line.split(maxsplit=1)) for line in done.output.splitlines()] == list(
        vignette_titles().items()
    )


def test_build(vignette: Callable[..., Vignette], tmp_path: Path) -> None:
    for package in ("jupytext", "nbconvert", "nbclient", "ipykernel", "latex2mathml", "matplotlib"):
        pytest.importorskip(package)
    v = vignette("Words.\n\n```{python}\n6 * 7\n```\n")
    done = RUN.invoke(
        app, ["vignettes", "build", str(v.path), "--out", str(tmp_path / "o"), "--fast"]
    )
    assert done.exit_code == 0, done.output
    assert "made.html" in done.output
    assert ">42</pre>" in (tmp_path / "o" / "made.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["build", "no-such-vignette", "--out", "x"], "allowed"),
        (["build", "--renderer", "word", "--out", "x"], "word"),
        (["build"], "--out"),
    ],
)
def test_wrong_use_is_exit_code_2(arguments: list[str], says: str) -> None:
    done = RUN.invoke(app, ["vignettes", *arguments])
    assert done.exit_code == 2
    assert says in done.output + (done.stderr or "")
