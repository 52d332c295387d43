"""What continuous integration names is there: it breaks here, in the run of who moves it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RUN = ROOT / ".ci" / "run"


@pytest.mark.skipif(not RUN.is_file(), reason="the checks of the project are not in this source tree")
def test_every_named_test_file_is_there() -> None:
    named = re.findall(r"\btests/[\w/.]+", RUN.read_text(encoding="utf-8"))
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.skipif(not RUN.is_file(), reason="the checks of the project are not in this source tree")
def test_a_stage_installs_every_engine_and_skips_none() -> None:
    """Elsewhere tests of an engine that no extra brings are skipped, so that nobody would see them fail."""
    stage = RUN.read_text(encoding="utf-8").partition("\nengines() {")[2].partition("\n}")[0]
    tests = [ROOT / path for path in re.findall(r"\btests/[\w/.]+", stage)]
    folder = ROOT / "tests" / "ground" / "engines"
    sources = [path.read_text(encoding="utf-8") for path in [*tests, folder / "frames.py"]]
    needed = {name for text in sources for name in re.findall(r'importorskip\(\s*"(\w+)', text)}
    brought = {"duckdb": "scale", "sqlglot": "scale", "pyspark": "spark", "polars": "polars"}
    assert needed >= {"dask", "ibis", "sqlframe", "duckdb", "polars", "pyspark"}
    assert [n for n in needed if brought.get(n, n.replace("_", "-")) not in stage] == []
    assert "FAIRSTATS_REQUIRE_ENGINES=1" in stage
    assert re.search(r'^stage "\w+" engines$', RUN.read_text(encoding="utf-8"), re.MULTILINE)
