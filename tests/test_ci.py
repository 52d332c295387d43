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
