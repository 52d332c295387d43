"""Tables that an engine reads: Parquet as it lies there, or Parquet of ours made of another file, once."""

from __future__ import annotations

import glob
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from fairstats.ground.engines.sources import engine_errors, need_engine
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import pd
from fairstats.ground.reading.formats import needed_package
from fairstats.ground.reading.places import temporary_folder
from fairstats.ground.reading.roles import ReadingOptions
from fairstats.ground.reading.sizes import TableSize

#: Bytes on disk per value, at most, of a column that was compressed.
_BYTES_PER_VALUE = 9


def new_folder(size: TableSize, n_columns: int) -> Path:
    """A folder for Parquet files of ours; an InputError where there is no room for them."""
    needed_package("pyarrow", "files for an engine")
    needed = size.n_rows * n_columns * _BYTES_PER_VALUE
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if needed > free:
        got = f"{size.words}, which take up to {needed / 1e9:.1f} GB in {tempfile.gettempdir()!r}"
        cure = "point the variable TMPDIR to a larger disk, or convert the file to Parquet"
        raise InputError("file", got=got, allowed=f"{free / 1e9:.1f} GB, which are free there", cure=cure)
    return temporary_folder()


def frame_as_parquet(frame: pd.DataFrame, path: Path) -> dict[str, str]:
    """Write a frame for an engine; its columns → those of the file."""
    arrow: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    stored = {name: f"column{k}" for k, name in enumerate(frame.columns)}
    arrays = []
    for name in frame.columns:
        try:
            arrays.append(arrow.array(frame[name], from_pandas=True))
        except (arrow.ArrowInvalid, arrow.ArrowTypeError) as problem:
            got = f"{name!r}, a column of several types ({problem})"
            cure = "make it a column of one type, or engine='rows'"
            raise InputError("file", got=got, allowed="columns of one type", cure=cure) from problem
    parquet.write_table(arrow.table(arrays, names=list(stored.values())), path)
    return stored


def open_parquet(files: Sequence[Path], columns: Mapping[str, str], engine: str, options: ReadingOptions) -> Any:
    """A lazy table of Parquet files; `columns`: name → its name in the files."""
    package = need_engine(engine)
    _check_case(list(columns), engine)
    if engine == "spark":
        _check_moments(files[0], columns)
    paths = [str(file) for file in files]
    with engine_errors(engine):
        if engine == "polars":
            table = package.scan_parquet(paths, glob=False, hive_partitioning=False)
            return table.select(package.col(stored).alias(name) for name, stored in columns.items())
        if engine == "spark":
            functions: Any = import_module("pyspark.sql.functions")
            session = package.sql.SparkSession.builder.getOrCreate()
            table = session.read.parquet(*(_escaped_for_hadoop(path) for path in paths))
            chosen = [functions.col(f"`{s.replace('`', '``')}`").alias(name) for name, s in columns.items()]
            return table.select(*chosen)
        settings: dict[str, Any] = {"preserve_insertion_order": False, "temp_directory": str(_spill_folder())}
        if options.memory is not None:
            settings["memory_limit"] = options.memory
        connection = package.connect(config=settings)
        # its default varies
        connection.execute(f"SET enable_progress_bar = {str(options.progress).lower()}")
        relation = connection.read_parquet([glob.escape(path) for path in paths], hive_partitioning=False)
        chosen = [f"{_quoted(stored)} AS {_quoted(name)}" for name, stored in columns.items()]
        return relation.project(", ".join(chosen))


def check_twins(columns: Sequence[str], header: Sequence[str], engine: str) -> None:
    """Raise where an engine that reads names in any case would take one column of a file for another."""
    if engine == "polars":
        return
    folded = Counter(name.casefold() for name in header)
    twins = [name for name in columns if folded[name.casefold()] > 1]
    if twins:
        got = f"{twins[0]!r}, beside a column whose name differs in capitals alone"
        cure = "rename it, or engine='rows'"
        raise InputError("file", got=got, allowed=f"names that {engine} can tell apart", cure=cure)


def _check_case(names: Sequence[str], engine: str) -> None:
    check_twins(names, names, engine)


@cache
def _spill_folder() -> Path:
    """Where DuckDB puts what does not fit into memory: not the folder of the user."""
    return temporary_folder()


def _check_moments(file: Path, columns: Mapping[str, str]) -> None:
    """Raise for moments in nanoseconds, which Spark does not have."""
    schema = needed_package("pyarrow.parquet", "Parquet").read_schema(file)
    for name, stored in columns.items():
        if str(schema.field(stored).type).startswith("timestamp[ns"):
            got = f"{name!r}, a column of moments in nanoseconds"
            cure = "another engine, or write it in microseconds"
            raise InputError("file", got=got, allowed="microseconds: Spark holds no less", cure=cure)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _escaped_for_hadoop(path: str) -> str:
    return re.sub(r"([\[\]{}?*\\])", r"\\\1", path)
