"""Columns by name from any data frame."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from fairstats.ground.encoding import as_frame_columns
from fairstats.ground.errors import InputError

pl = pytest.importorskip("polars", reason="polars is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

DATA = {"x": [1, 2, 3], "g": ["a", "b", "a"], "z": [0.5, 0.25, 1.0]}
FRAMES = {
    "pandas": pd.DataFrame(DATA),
    "polars": pl.DataFrame(DATA),
    "polars lazy": pl.DataFrame(DATA).lazy(),
    "pyarrow": pa.table(DATA),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_named_columns_come_back_as_pandas(kind: str) -> None:
    found = as_frame_columns(FRAMES[kind], ["g", "x"], "frame")
    assert isinstance(found, pd.DataFrame)
    assert found.columns.tolist() == ["g", "x"]
    assert found["g"].tolist() == DATA["g"]
    assert found["x"].tolist() == DATA["x"]


@pytest.mark.parametrize("kind", FRAMES)
def test_a_column_asked_for_twice_comes_once(kind: str) -> None:
    assert as_frame_columns(FRAMES[kind], ["g", "x", "g"], "frame").columns.tolist() == ["g", "x"]


@pytest.mark.parametrize("kind", FRAMES)
def test_an_unknown_column_is_named_with_those_that_are_there(kind: str) -> None:
    with pytest.raises(
        InputError, match=r"`frame`: got no column 'sex'; allowed: its columns: 'x', 'g', 'z'"
    ):
        as_frame_columns(FRAMES[kind], ["sex"], "frame")


@pytest.mark.parametrize(
    "frame", [DATA, [1, 2], None, "file.csv", pd.Series([1])], ids=lambda v: type(v).__name__
)
def test_anything_else_is_refused(frame: Any) -> None:
    with pytest.raises(InputError, match=r"`frame`: got .* To fix: pass a data frame"):
        as_frame_columns(frame, ["x"], "frame")


def test_categories_of_a_polars_frame_survive() -> None:
    frame = pl.DataFrame({"g": pl.Series(["b", "a"], dtype=pl.Enum(["b", "c", "a"]))})
    column = as_frame_columns(frame, ["g"], "frame")["g"]
    assert list(column.cat.categories) == ["b", "c", "a"]
