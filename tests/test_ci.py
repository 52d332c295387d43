"""What continuous integration names is there: it breaks here, in the run of who moves it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RUN = ROOT / ".ci" / "run"


@pytest.mark.skipif(
    not RUN.is_file(), reason="the checks of the project are not in this source tree"
)
def test_every_named_test_file_is_there() -> None:
    named = re.findall(r"\btests/[\w/.]+", RUN.read_text(encoding="utf-8"))
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.skipif(
    not RUN.is_file(), reason="the checks of the project are not in this source tree"
)
def test_a_stage_installs_every_engine_and_skips_none() -> None:
    """Elsewhere tests of an engine that no extra brings are skipped, so that nobody would see them
    fail.
    """
    stage = RUN.read_text(encoding="utf-8").partition("\nengines() {")[2].partition("\n}")[0]
    tests = [ROOT / path for path in re.findall(r"\btests/[\w/.]+", stage)]
    folder = ROOT / "tests" / "ground" / "engines"
    sources = [path.read_text(encoding="utf-8") for path in [*tests, folder / "frames.py"]]
    needed = {name for text in sources for name in re.findall(r'importorskip\(\s*"(\w+)', text)}
    brought = {"duckdb": "scale", "sqlglot": "scale", "pyspark": "spark", "polars": "polars"}
    brought |= {"pyarrow": "files", "pyreadstat": "files", "python_calamine": "files"}
    assert needed >= {"dask", "ibis", "sqlframe", "duckdb", "polars", "pyspark"}
    assert [n for n in needed if brought.get(n, n.replace("_", "-")) not in stage] == []
    assert "FAIRSTATS_REQUIRE_ENGINES=1" in stage
    assert re.search(r'^ *stage "\w+" engines$', RUN.read_text(encoding="utf-8"), re.MULTILINE)


def test_a_test_file_that_cannot_be_imported_is_an_error(tmp_path: Path) -> None:
    """Not a file without tests, which nobody misses.

    An import that a change had broken once went unseen so.
    """
    broken = {
        "from fairstats.methods.hfm.result import gone": "cannot import name 'gone'",
        "import fairstats.gone": "No module named 'fairstats.gone'",
        "raise ValueError('while it loads')": "while it loads",
    }
    (tmp_path / "conftest.py").write_text(
        (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    for k, line in enumerate(broken):
        (tmp_path / f"test_{k}.py").write_text(
            f"{line}\n\n\ndef test_it() -> None: ...\n", encoding="utf-8"
        )
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        str(ROOT / "pyproject.toml"),
        "--rootdir",
        str(tmp_path),
    ]
    command = [sys.executable, "-m", "pytest", *options, str(tmp_path)]
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "FAIRSTATS"))
    }
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=clean | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 2, done.stdout
    assert [said for said in broken.values() if said not in done.stdout] == []
    assert "3 errors" in done.stdout
