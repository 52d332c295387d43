"""Tables that stay where they are: files, folders and globs, what an engine sends back, its errors as ours."""

from __future__ import annotations

import glob
import lzma
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import NarwhalsError
from numpy.typing import NDArray

from fairstats.ground.checks import check_choice, check_different, check_that
from fairstats.ground.errors import EngineError, FairstatsError, InputError, MissingDependencyError
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


#: Files from this size on are not loaded where DuckDB is installed.
LARGE = 256 * 1024**2
PARQUET, CSV = (".parquet", ".pq"), (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt")
#: What reads as missing in a CSV file, by every engine as by pandas.
_MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
    "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
#: Types of CSV columns. DuckDB would read yes and no, t and f as truth values, and days as dates.
_TYPES = ["BIGINT", "DOUBLE", "VARCHAR"]


#: What parsers, decoders and decompressors raise: Arrow too, zipfile (RuntimeError: a password), pandas (warnings).
_UNREADABLE = (OSError, ValueError, EOFError, RuntimeError, Warning, zipfile.BadZipFile, lzma.LZMAError, zlib.error)


def engine_for(path: str | Path, engine: str = "auto") -> str:
    """The engine that reads a path: "rows" for a single file that is not large, else DuckDB."""
    check_choice("engine", engine, ENGINES)
    if engine != "auto":
        return engine
    file = Path(path)
    if not file.is_file():
        return "duckdb" if file.is_dir() or glob.has_magic(str(path)) else "rows"
    try:
        loads_nothing = file.stat().st_size >= LARGE and need_engine("duckdb")
    except ImportError:
        return "rows"
    return "duckdb" if loads_nothing else "rows"


def open_files(
    path: str | Path, engine: str = "duckdb", *, memory: str | None = None, delimiter: str | None = None,
    progress: bool = False,
) -> Any:  # fmt: skip
    """A lazy table of one file, a folder (with all below it) or a glob.

    `memory`: limit for DuckDB, as "2GB"; beyond it, it works on disk; `progress`: whether it draws a bar.
    """
    pattern, parquet = _pattern(str(path))
    for file in () if parquet else files_of(path):
        csv_header(file, delimiter)
    tab = "\t" if ".tsv" in pattern else ","
    package = need_engine(engine)
    if engine == "polars":
        if parquet:
            return package.scan_parquet(pattern)
        return package.scan_csv(pattern, separator=delimiter or tab, null_values=list(_MISSING))
    if engine == "spark":
        session = package.sql.SparkSession.builder.getOrCreate()
        if parquet:
            return session.read.parquet(pattern)
        return session.read.csv(pattern, sep=delimiter or tab, header=True, inferSchema=True, nullValue="")
    settings: dict[str, Any] = {"preserve_insertion_order": False}
    if memory is not None:
        fine = re.fullmatch(r"\d+(\.\d+)?\s*[KMGT]i?B", memory, re.IGNORECASE) is not None
        check_that(fine, "memory", memory, "a size with its unit", "2GB, say")
        settings["memory_limit"] = memory
    connection = package.connect(config=settings)
    connection.execute(f"SET enable_progress_bar = {str(progress).lower()}")  # its default varies
    with engine_errors("duckdb"):
        if parquet:
            return connection.read_parquet(pattern)
        return connection.read_csv(
            pattern, delimiter=delimiter or tab, header=True, na_values=list(_MISSING),
            auto_type_candidates=_TYPES,
        )  # fmt: skip


def files_of(path: str | Path) -> list[Path]:
    """The files that a path names: one, those below a folder that can be read, or those of a glob."""
    if Path(path).is_dir():
        return [file for file in Path(path).rglob("*") if file.name.lower().endswith((*PARQUET, *CSV))]
    return [Path(found) for found in glob.glob(str(path), recursive=True)] or [Path(path)]


def csv_header(source: Any, delimiter: str | None) -> list[str]:
    """Names in the header line of a CSV file (a path, or bytes held in memory); of two alike one would be lost."""
    tab = "\t" if isinstance(source, Path) and ".tsv" in source.name.lower() else ","
    sep, where = delimiter or tab, source.name if isinstance(source, Path) else "standard input"
    with readable(repr(where)):
        line = pd.read_csv(
            source, sep=sep, header=None, nrows=1, dtype=str, keep_default_na=False, encoding="utf-8-sig"
        )
    names = [str(name) for name in line.iloc[0]]
    check_different("file", names, f"{where!r} with ")
    return [name or f"Unnamed: {k}" for k, name in enumerate(names)]


@contextmanager
def readable(shown: str) -> Iterator[None]:
    """Around the reading of a file: what parsers and decompressors raise as an error of ours."""
    try:
        yield
    except FairstatsError:
        raise
    except _UNREADABLE as problem:
        said = (str(problem).strip().splitlines() or [type(problem).__name__])[0]
        got, cure = f"{shown}, which cannot be read ({said})", "open it in another program to see whether it is whole"
        allowed = "a CSV file in UTF-8 with a header line, or a Parquet file"
        raise InputError("file", got=got, allowed=allowed, cure=cure) from problem


def delimiter_of(text: str | None) -> str | None:
    r"""The separator that a shell passed on: ``\t`` of two characters, and the word tab, are a tab."""
    if text is None:
        return None
    found, allowed = "\t" if text in ("\\t", "tab") else text, "one character of ASCII, or \\t for a tab"
    check_that(len(found.encode()) == 1 and found not in '"\r\n', "--delimiter", text, allowed, r"--delimiter '\t'")
    return found


def _pattern(path: str) -> tuple[str, bool]:
    """The glob that an engine reads, and whether it is of Parquet files."""
    found = [path]
    if Path(path).is_dir():
        found = [p for end in (*PARQUET, *CSV) if glob.glob(p := f"{path}/**/*{end}", recursive=True)]
    elif glob.has_magic(path):
        found = [path] if glob.glob(path, recursive=True) else []
    elif not Path(path).is_file():
        found = []
    if len(found) != 1 or not found[0].lower().endswith((*PARQUET, *CSV)):
        got = f"{path!r}, " + ("files of several kinds" if len(found) > 1 else "no file that can be read")
        allowed = f"a file, folder or glob of files that end in {', '.join((*PARQUET, *CSV))}"
        cure = "check the path, or name the files by a glob in quotes: 'visits/*.parquet'"
        raise InputError("file", got=got, allowed=allowed, cure=cure)
    return found[0], found[0].lower().endswith(PARQUET)
