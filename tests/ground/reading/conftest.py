"""Engines by which a table is read, and what a table holds, whichever engine it came from."""

from __future__ import annotations

import atexit
import os
import sys
from functools import cache
from typing import Any

import narwhals as nw
import pandas as pd
import pytest

import fairstats as fs

ROWS_AND_ENGINES = ["rows", "duckdb", "polars", pytest.param("spark", marks=pytest.mark.spark)]


@cache
def spark_session() -> Any:
    """A session on this machine, which ends with the tests."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        pytest.importorskip("pyspark.sql")
        .SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    atexit.register(session.stop)
    return session


def need(engine: str) -> None:
    """Skip where an engine is not installed."""
    if engine != "rows":
        pytest.importorskip({"spark": "pyspark"}.get(engine, engine))
        pytest.importorskip("pyarrow")
    if engine == "spark":
        spark_session()


def values_of(table: Any) -> list[tuple[Any, ...]]:
    """The rows of a table of any engine, sorted, None where missing."""
    native = nw.from_native(table)
    if isinstance(native, nw.LazyFrame):
        rows = [tuple(row.values()) for row in native.collect("pyarrow").to_native().to_pylist()]
    else:
        # objects, since NumPy's own truth values are written differently
        columns = [column.astype(object).tolist() for _, column in nw.to_native(native).items()]
        rows = list(zip(*columns, strict=True))
    return sorted(
        (tuple(None if pd.isna(value) else value for value in row) for row in rows), key=repr
    )


@pytest.fixture(params=ROWS_AND_ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine in turn."""
    need(request.param)
    return str(request.param)


@pytest.fixture
def quiet(recwarn: pytest.WarningsRecorder) -> pytest.WarningsRecorder:
    """What the reader says of a file is looked at, not raised."""
    import warnings

    warnings.simplefilter("always", fs.FairstatsWarning)
    return recwarn
