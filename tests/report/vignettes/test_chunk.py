"""Python chunks within knitr show what cells of a notebook show."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("IPython")

from fairstats.report.vignettes.chunk import run_chunk


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], list[list[str]]]]:
    import matplotlib
    from IPython.core.interactiveshell import InteractiveShell

    backend = matplotlib.get_backend()
    interactive = matplotlib.is_interactive()
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    yield lambda code: run_chunk(code, str(tmp_path / "made" / "chunk-"), 4.0, 2.0)
    InteractiveShell.clear_instance()
    matplotlib.interactive(interactive)
    matplotlib.use(backend)


def test_the_last_value_and_what_is_printed(run: Callable[[str], list[list[str]]]) -> None:
    assert run("x = 1\nprint(x)\nprint(2)\nx + 1") == [["stdout", "1\n2\n", ""], ["text", "2", ""]]
    assert run("for i in range(2):\n    i") == []
    assert run("x") == [["text", "1", ""]]
    assert run("x;") == run("None") == run("") == run("# words") == []
    shown = run("import sys, pandas as pd\nsys.stderr.write('e\\n');\npd.DataFrame({'a': [1]})")
    assert [piece[0] for piece in shown] == ["stderr", "html"]
    assert "<table" in shown[1][1]


def test_figures(run: Callable[[str], list[list[str]]]) -> None:
    code = (
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint('x')\nplt.plot([2,"
        " 1]);"
    )
    printed, first, second = run(code)
    assert (printed, first[0], second[0]) == (["stdout", "x\n", ""], "figure", "figure")
    assert first[1] != second[1]
    assert Path(first[1]).read_bytes().startswith(b"\x89PNG")
    assert 300 < int(first[2]) < 450, "four inches"
    assert run("plt.rcParams['figure.figsize'] == [4.0, 2.0]") == [["text", "True", ""]]


def test_errors_pass(run: Callable[[str], list[list[str]]]) -> None:
    with pytest.raises(ZeroDivisionError):
        run("1 / 0")
    assert sys.stdout.__class__.__name__ != "StringIO"
