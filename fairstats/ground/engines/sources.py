"""Tables that stay where they are: what an engine sends back, its errors as ours.

`reading` opens files.
"""

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
from fairstats.ground.progress import under_way

ENGINES = ("auto", "rows", "duckdb", "polars", "spark")
#: Name in `engine=` → package (so narwhals calls it, too), and the extra of ours that brings it.
_PACKAGE_AND_EXTRA = {
    "duckdb": ("duckdb", "scale"),
    "polars": ("polars", None),
    "spark": ("pyspark", "spark"),
}
#: Module → its base class of errors.
_ERROR_BASE_OF_MODULE = {
    "duckdb": "Error",
    "polars.exceptions": "PolarsError",
    "pyspark.errors": "PySparkException",
    "py4j.protocol": "Py4JError",
    "ibis.common.exceptions": "IbisError",
    "sqlglot.errors": "SqlglotError",
}


def need_engine(engine: str) -> Any:
    """The package of an engine; an error that names the extra where it is not installed."""
    package, extra = _PACKAGE_AND_EXTRA[engine]
    try:
        return import_module(package)
    except ImportError as problem:
        raise MissingDependencyError(
            package,
            extra=extra,
            purpose=f'engine="{engine}"',
            alternative='engine="rows" reads all rows',
        ) from problem


def as_lazy(frame: Any, engine: str = "auto") -> Any:
    """The table as a lazy one, or None where its rows are to be counted by NumPy.

    `engine`: "auto" leaves lazy tables with their own and counts others by rows; a name moves a
    frame's rows there.
    """
    check_choice("engine", engine, ENGINES)
    try:
        narwhals_table = nw.from_native(frame, pass_through=True)
    except NarwhalsError as problem:
        check_different("frame", getattr(frame, "column_names", getattr(frame, "columns", ())))
        raise InputError(
            "frame",
            got=f"{problem}",
            allowed="a table",
            cure="rename its columns",
        ) from problem
    if engine == "rows" or not isinstance(narwhals_table, (nw.DataFrame, nw.LazyFrame)):
        return None
    if isinstance(narwhals_table, nw.LazyFrame):
        if engine != "auto" and _PACKAGE_AND_EXTRA[engine][0] != kind(narwhals_table):
            received = f"{engine!r} for a lazy table of {kind(narwhals_table)}"
            advice = "leave engine= out"
            raise InputError(
                "engine",
                got=received,
                allowed="'auto', which leaves it there, or 'rows'",
                cure=advice,
            )
        return narwhals_table
    if engine == "auto":
        return None
    package = need_engine(engine)
    if engine != "spark":
        with engine_errors(engine):
            return narwhals_table.lazy(backend=engine)  # type: ignore[arg-type]
    session = package.sql.SparkSession.getActiveSession()
    if session is None:
        received = "'spark' without a Spark session"
        allowed = "a Spark DataFrame, or a frame while a session is active"
        raise InputError(
            "engine",
            got=received,
            allowed=allowed,
            cure="SparkSession.builder.getOrCreate()",
        )
    return nw.from_native(session.createDataFrame(narwhals_table.to_pandas()))


def kind(table: Any) -> str:
    """Name of a lazy table's engine: ``"polars"``, ``"duckdb"``, ``"pyspark"``, ``"dask"`` …."""
    return str(table.implementation.value)


@under_way("counting in the engine")
def collected(table: Any) -> Any:
    """The answer of a query, as an eager narwhals frame."""
    if kind(table) == "polars":
        return table.collect("polars", engine="streaming")
    return table.collect()


@contextmanager
def engine_errors(engine: str) -> Iterator[None]:
    """Raise what an engine raises as an error of ours that gives its cause, or the package that it
    lacks.
    """
    try:
        yield
    except ModuleNotFoundError as problem:
        extra_name = next(
            (
                extra_name
                for package, extra_name in _PACKAGE_AND_EXTRA.values()
                if package == engine
            ),
            None,
        )
        raise MissingDependencyError(
            str(problem.name),
            extra=extra_name,
            purpose=f"a table of {engine}",
            alternative="pass a pandas frame",
        ) from problem
    except Exception as problem:
        error_classes = (
            getattr(sys.modules[module_name], class_name)
            for module_name, class_name in _ERROR_BASE_OF_MODULE.items()
            if module_name in sys.modules
        )
        if not isinstance(problem, tuple(error_classes)):
            raise
        lines = []
        for message_line in str(problem).splitlines():
            if message_line.strip():
                lines.append(message_line.strip())
        causes = []
        for message_line in lines:
            if message_line.startswith("Caused by:"):
                causes.append(message_line)
        raise EngineError(
            engine, " ".join([*lines[:3], *causes[-1:]]) or type(problem).__name__
        ) from problem


@contextmanager
def beside(table: Any, columns: dict[str, NDArray[Any]]) -> Iterator[Any]:
    """A small table of ours in the engine of `table`, to be joined with it within the block."""
    engine = kind(table)
    native = nw.to_native(table)
    small = pd.DataFrame(columns)
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
        native = need_engine("spark").sql.functions.broadcast(
            native.sparkSession.createDataFrame(small)
        )
    elif engine == "dask":
        native = import_module("dask.dataframe").from_pandas(small, npartitions=1)
    elif engine == "ibis":
        native = import_module("ibis").memtable(small)
    else:
        received = f"a lazy table of {engine} with many distinct scores"
        advice = "round the scores in the table, or engine='rows'"
        raise InputError(
            "frame",
            got=received,
            allowed="polars, DuckDB, Spark, Dask or Ibis",
            cure=advice,
        )
    yield nw.from_native(native)


def joinable(table: Any) -> Any:
    """The same table; Dask (2026.8) loses the names of grouped columns in a join unless the plan is
    cut.
    """
    if kind(table) != "dask":
        return table
    return nw.from_native(nw.to_native(table).map_partitions(_same_part))


def _same_part(part: Any) -> Any:
    return part


def whole(answer: Any, name: str) -> NDArray[np.int64]:
    """A column of counts of an answer; sums of integers come as decimals from some engines."""
    return np.asarray(answer[name].cast(nw.Int64).to_numpy(), dtype=np.int64)


def real(answer: Any, name: str) -> NDArray[np.float64]:
    """A column of numbers of an answer; NaN where there is none."""
    return np.asarray(answer[name].cast(nw.Float64).to_numpy(), dtype=np.float64)
