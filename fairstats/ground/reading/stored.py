"""Tables that an engine reads.

Parquet as it lies there, or Parquet of ours made of another file, once.
"""

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
    needed_bytes = size.n_rows * n_columns * _BYTES_PER_VALUE
    free_bytes = shutil.disk_usage(tempfile.gettempdir()).free
    if needed_bytes > free_bytes:
        received = f"{size.words}, which take up to {needed_bytes / 1e9:.1f} GB in {tempfile.gettempdir()!r}"
        advice = "point the variable TMPDIR to a larger disk, or convert the file to Parquet"
        raise InputError(
            "file",
            got=received,
            allowed=f"{free_bytes / 1e9:.1f} GB, which are free there",
            cure=advice,
        )
    return temporary_folder()


def frame_as_parquet(frame: pd.DataFrame, path: Path) -> dict[str, str]:
    """Write a frame for an engine; its columns → those of the file."""
    pyarrow_module: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    stored = {}
    for column_number, column_label in enumerate(frame.columns):
        stored[column_label] = f"column{column_number}"
    arrays = []
    for column_label in frame.columns:
        try:
            arrays.append(pyarrow_module.array(frame[column_label], from_pandas=True))
        except (pyarrow_module.ArrowInvalid, pyarrow_module.ArrowTypeError) as problem:
            received = f"{column_label!r}, a column of several types ({problem})"
            advice = "make it a column of one type, or engine='rows'"
            raise InputError(
                "file",
                got=received,
                allowed="columns of one type",
                cure=advice,
            ) from problem
    parquet.write_table(pyarrow_module.table(arrays, names=list(stored.values())), path)
    return stored


def open_parquet(
    files: Sequence[Path],
    columns: Mapping[str, str],
    engine: str,
    options: ReadingOptions,
) -> Any:
    """A lazy table of Parquet files; `columns`: name → its name in the files."""
    package = need_engine(engine)
    _check_case(list(columns), engine)
    if engine == "spark":
        _check_moments(files[0], columns)
    paths = [str(file) for file in files]
    with engine_errors(engine):
        if engine == "polars":
            table = package.scan_parquet(paths, glob=False, hive_partitioning=False)
            return table.select(
                package.col(stored).alias(column_label) for column_label, stored in columns.items()
            )
        if engine == "spark":
            functions: Any = import_module("pyspark.sql.functions")
            session = package.sql.SparkSession.builder.getOrCreate()
            table = session.read.parquet(*(_escaped_for_hadoop(path) for path in paths))
            chosen_columns = []
            for column_label, stored_name in columns.items():
                chosen_columns.append(
                    functions.col(f"`{stored_name.replace('`', '``')}`").alias(column_label)
                )
            return table.select(*chosen_columns)
        settings: dict[str, Any] = {
            "preserve_insertion_order": False,
            "temp_directory": str(_spill_folder()),
        }
        if options.memory is not None:
            settings["memory_limit"] = options.memory
        connection = package.connect(config=settings)
        # its default varies, and `ground.progress` draws
        connection.execute("SET enable_progress_bar = false")
        relation = connection.read_parquet(
            [glob.escape(path) for path in paths], hive_partitioning=False
        )
        chosen_columns = []
        for column_label, stored in columns.items():
            chosen_columns.append(
                f"{_quote_identifier(stored)} AS {_quote_identifier(column_label)}"
            )
        return relation.project(", ".join(chosen_columns))


def check_twins(columns: Sequence[str], header: Sequence[str], engine: str) -> None:
    """Raise where an engine that reads names in any case would take one column of a file for
    another.
    """
    if engine == "polars":
        return
    folded_counts = Counter(column_label.casefold() for column_label in header)
    ambiguous_names = []
    for column_label in columns:
        if folded_counts[column_label.casefold()] > 1:
            ambiguous_names.append(column_label)
    if ambiguous_names:
        received = f"{ambiguous_names[0]!r}, beside a column whose name differs in capitals alone"
        advice = "rename it, or engine='rows'"
        raise InputError(
            "file",
            got=received,
            allowed=f"names that {engine} can tell apart",
            cure=advice,
        )


def _check_case(names: Sequence[str], engine: str) -> None:
    check_twins(names, names, engine)


@cache
def _spill_folder() -> Path:
    """Where DuckDB puts what does not fit into memory: not the folder of the user."""
    return temporary_folder()


def _check_moments(file: Path, columns: Mapping[str, str]) -> None:
    """Raise for moments in nanoseconds, which Spark does not have."""
    schema = needed_package("pyarrow.parquet", "Parquet").read_schema(file)
    for column_label, stored in columns.items():
        if str(schema.field(stored).type).startswith("timestamp[ns"):
            received = f"{column_label!r}, a column of moments in nanoseconds"
            advice = "another engine, or write it in microseconds"
            raise InputError(
                "file",
                got=received,
                allowed="microseconds: Spark holds no less",
                cure=advice,
            )


def _quote_identifier(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


def _escaped_for_hadoop(path: str) -> str:
    return re.sub(r"([\[\]{}?*\\])", r"\\\1", path)
