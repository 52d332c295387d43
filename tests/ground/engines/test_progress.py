"""Files opened for an engine.

(What they hold is compared with their rows in tests/test_cli_tables.py.)
"""

from __future__ import annotations

import pytest

from fairstats.ground.reading.roles import ReadingOptions, Roles
from fairstats.ground.reading.table import read_roles
from tests.ground.engines.frames import people

pytest.importorskip("duckdb")


@pytest.mark.parametrize("progress", [True, False])
def test_progress_is_drawn_where_it_is_asked_for(tmp_path, progress):
    path = tmp_path / "people.parquet"
    people(1, 10).to_parquet(path)
    table, _ = read_roles(path, Roles(), ReadingOptions(progress=progress), engine="duckdb")
    asked = "SELECT current_setting('enable_progress_bar')"
    assert table.query("rows", asked).fetchall() == [(progress,)]
