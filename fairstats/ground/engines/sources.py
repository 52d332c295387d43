"""Tables that stay where they are: what an engine sends back, its errors as ours; `reading` opens files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import NarwhalsError
from numpy.typing import NDArray

from fairstats.ground.checks import check_choice, check_different
from fairstats.ground.errors import EngineError, InputError, MissingDependencyError
from fairstats.ground.lazy import pd

ENGINES = ("auto", "rows", "duckdb", "polars", "spark")
#: Name in `engine=` → package (so narwhals calls it, too), and the extra of ours that brings it.
_PACKAGES = {"duckdb": ("duckdb", "scale"), "polars": ("polars", None), "spark": ("pyspark", "spark")}
#: Module → its base class of errors.
_ERRORS = {
    "duckdb": "Error", "polars.exceptions": "PolarsError", "pyspark.errors": "PySparkException",
    "py4j.protocol": "Py4JError", "ibis.common.exceptions": "IbisError", "sqlglot.errors": "SqlglotError",
}  # fmt: skip


def need_engine(engine: str) -> Any:
    """The package of an engine; an error that names the extra where it is not installed."""
    package, extra = _PACKAGES[engine]
    try:
        return import_module(package)
    except ImportError as problem:
        raise MissingDependencyError(
            package, extra=extra, purpose=f'engine="{engine}"', alternative='engine="rows" reads all rows'
        ) from problem


def as_lazy(frame: Any, engine: str = "auto") -> Any:
    """The table as a lazy one, or None where its rows are to be counted by NumPy.

    `engine`: "auto" leaves lazy tables with their own and counts others by rows; a name moves a frame's rows there.
    """
    check_choice("engine", engine, ENGINES)
    try:
        native = nw.from_native(frame, pass_through=True)
    except NarwhalsError as problem:
        check_different("frame", getattr(frame, "column_names", getattr(frame, "columns", ())))
        raise InputError("frame", got=f"{problem}", allowed="a table", cure="rename its columns") from problem
    if engine == "rows" or not isinstance(native, (nw.DataFrame, nw.LazyFrame)):
        return None
    if isinstance(native, nw.LazyFrame):
        if engine != "auto" and _PACKAGES[engine][0] != kind(native):
            got, cure = f"{engine!r} for a lazy table of {kind(native)}", "leave engine= out"
            raise InputError("engine", got=got, allowed="'auto', which leaves it there, or 'rows'", cure=cure)
        return native
    if engine == "auto":
        return None
    package = need_engine(engine)
    if engine != "spark":
        with engine_errors(engine):
            return native.lazy(backend=engine)  # type: ignore[arg-type]
    session = package.sql.SparkSession.getActiveSession()
    if session is None:
        got, allowed = "'spark' without a Spark session", "a Spark DataFrame, or a frame while a session is active"
        raise InputError("engine", got=got, allowed=allowed, cure="SparkSession.builder.getOrCreate()")
    return nw.from_native(session.createDataFrame(native.to_pandas()))


def kind(table: Any) -> str:
    """Name of a lazy table's engine: ``"polars"``, ``"duckdb"``, ``"pyspark"``, ``"dask"`` …."""
    return str(table.implementation.value)


def collected(table: Any) -> Any:
    """The answer of a query, as an eager narwhals frame."""
    return table.collect("polars", engine="streaming") if kind(table) == "polars" else table.collect()


@contextmanager
def engine_errors(engine: str) -> Iterator[None]:
    """Raise what an engine raises as an error of ours that gives its cause, or the package that it lacks."""
    try:
        yield
    except ModuleNotFoundError as problem:
        extra = next((extra for package, extra in _PACKAGES.values() if package == engine), None)
        raise MissingDependencyError(
            str(problem.name), extra=extra, purpose=f"a table of {engine}", alternative="pass a pandas frame"
        ) from problem
    except Exception as problem:
        known = (getattr(sys.modules[module], name) for module, name in _ERRORS.items() if module in sys.modules)
        if not isinstance(problem, tuple(known)):
            raise
        lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
        causes = [line for line in lines if line.startswith("Caused by:")]  # of a failed Spark job the last one
        raise EngineError(engine, " ".join([*lines[:3], *causes[-1:]]) or type(problem).__name__) from problem


@contextmanager
def beside(table: Any, columns: dict[str, NDArray[Any]]) -> Iterator[Any]:
    """A small table of ours in the engine of `table`, to be joined with it within the block."""
    engine, native, small = kind(table), nw.to_native(table), pd.DataFrame(columns)
    if engine == "duckdb":
        # a table of its own connection, whose statistics the join looks at; frames have none
        native.query("fs_rows", "CREATE OR REPLACE TEMP TABLE fs_beside AS SELECT * FROM small")
        try:
            yield nw.from_native(native.query("fs_rows", "SELECT * FROM fs_beside"))
        finally:
            native.query("fs_rows", "DROP TABLE fs_beside")
        return
    if engine == "polars":
        import polars as pl

        native = pl.DataFrame(columns).lazy()
    elif engine == "pyspark":
        native = need_engine("spark").sql.functions.broadcast(native.sparkSession.createDataFrame(small))
    elif engine == "dask":
        native = import_module("dask.dataframe").from_pandas(small, npartitions=1)
    elif engine == "ibis":
        native = import_module("ibis").memtable(small)
    else:
        got = f"a lazy table of {engine} with many distinct scores"
        cure = "round the scores in the table, or engine='rows'"
        raise InputError("frame", got=got, allowed="polars, DuckDB, Spark, Dask or Ibis", cure=cure)
    yield nw.from_native(native)


def joinable(table: Any) -> Any:
    """The same table; Dask (2026.8) loses the names of grouped columns in a join unless the plan is cut."""
    if kind(table) != "dask":
        return table
    return nw.from_native(nw.to_native(table).map_partitions(_itself))


def _itself(part: Any) -> Any:
    return part


def whole(answer: Any, name: str) -> NDArray[np.int64]:
    """A column of counts of an answer; sums of integers come as decimals from some engines."""
    return np.asarray(answer[name].cast(nw.Int64).to_numpy(), dtype=np.int64)


def real(answer: Any, name: str) -> NDArray[np.float64]:
    """A column of numbers of an answer; NaN where there is none."""
    return np.asarray(answer[name].cast(nw.Float64).to_numpy(), dtype=np.float64)
