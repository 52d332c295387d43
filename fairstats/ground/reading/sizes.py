"""How large a table is, and what the machine can hold, before anything is read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fairstats.ground.checks import check_choice
from fairstats.ground.engines.sources import ENGINES
from fairstats.ground.errors import InputError
from fairstats.ground.reading.streams import Source

#: From so many rows on DuckDB counts where it is installed: rows in memory take five times its
#: seconds.
MANY_ROWS = 2_000_000
#: Share of the free memory that a table may take.
_MEMORY_SHARE = 0.7
#: Bytes in memory per value of a table, and what its counting takes beside it. (10⁷ rows of 5
#: columns took 3.3 GB.)
_BYTES_PER_VALUE = 66
#: More columns than this are not made into a frame without being named.
MOST_COLUMNS = 20_000
#: An archive that is larger than the first when expanded, and expands more than so many times, is
#: not taken for data.
_LARGE_ARCHIVE = 1 << 30
_MOST_EXPANSION = 500
#: Longest header line that is looked at.
LONGEST_HEADER = 64 << 20


@dataclass(frozen=True)
class TableSize:
    """Rows of a table, whether they are counted or estimated, and the bytes of its text."""

    n_rows: int
    counted: bool
    n_bytes: int = 0

    @property
    def words(self) -> str:
        """The number of rows in a sentence."""
        if self.counted:
            return f"{self.n_rows:,} rows"
        return f"about {float(f'{self.n_rows:.2g}'):,.0f} rows"

    def memory(self, n_columns: int, n_columns_of_file: int) -> int:
        """Bytes that so many of its columns take in memory."""
        column_share = n_columns / max(n_columns_of_file, 1)
        return max(self.n_rows * n_columns * _BYTES_PER_VALUE, int(2 * self.n_bytes * column_share))


def free_memory() -> int:
    """Bytes of memory that are free on this machine, or in its container."""
    limits = [_of_machine()]
    for limit, usage_file in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        ),
    ):
        try:
            limits.append(int(Path(limit).read_text()) - int(Path(usage_file).read_text()))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return max(min(limits), 0)


def _of_machine() -> int:
    try:
        for memory_line in Path("/proc/meminfo").read_text().splitlines():
            if memory_line.startswith("MemAvailable:"):
                return int(memory_line.split()[1]) * 1024
    except OSError:
        pass
    try:  # macOS and others: half of what there is
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return 4 << 30


def memory_budget() -> int:
    """Bytes that a table may take."""
    return int(_MEMORY_SHARE * free_memory())


def estimated_size(source: Source, sample: bytes) -> TableSize:
    """Rows of a text file, from the lines of its beginning."""
    n_bytes = source.expanded_bytes
    lines = sample.count(b"\n") or sample.count(b"\r")
    if len(sample) >= n_bytes or not lines:
        return TableSize(max(lines - 1, 0), counted=False, n_bytes=n_bytes)
    return TableSize(int(n_bytes / (len(sample) / lines)), counted=False, n_bytes=n_bytes)


def parquet_schemas_and_size(files: Sequence[Path]) -> tuple[list[Any], TableSize]:
    """The schemas of some Parquet files, and the rows of all, from their footers."""
    parquet: Any = import_module("pyarrow.parquet")
    schemas = []
    n_rows = 0
    for file in files:
        with parquet.ParquetFile(file) as opened:
            schemas.append(opened.schema_arrow)
            n_rows += opened.metadata.num_rows
    return schemas, TableSize(n_rows, counted=True)


def kind_of_type(data_type: Any) -> str:
    """The kind of an Arrow type, in words: "whole numbers" of any width, say."""
    arrow_types = import_module("pyarrow").types
    if arrow_types.is_dictionary(data_type):
        return kind_of_type(data_type.value_type)
    test_of_kind = {
        "whole numbers": arrow_types.is_integer,
        "numbers": arrow_types.is_floating,
        "truth values": arrow_types.is_boolean,
    }
    for type_words, belongs in test_of_kind.items():
        if belongs(data_type):
            return type_words
    if any(
        is_text(data_type)
        for is_text in (
            arrow_types.is_string,
            arrow_types.is_large_string,
            arrow_types.is_string_view,
        )
    ):
        return "text"
    return str(data_type)


def check_expansion(source: Source) -> None:
    """Raise for an archive that expands as no data do."""
    if not source.compression:
        return
    expanded = source.expanded_bytes
    expansion_ratio = expanded / max(source.n_bytes, 1)
    if expanded > _LARGE_ARCHIVE and expansion_ratio > _MOST_EXPANSION:
        received = f"{source.shown}, which expands {expansion_ratio:,.0f} times, to {expanded / 1e9:.1f} GB"
        allowed = f"an archive of data, which expand less than {_MOST_EXPANSION} times"
        advice = (
            "decompress it yourself if it is what you expect, or name the engine that reads it:"
            " engine='duckdb'"
        )
        raise InputError("file", got=received, allowed=allowed, cure=advice)


def choose_engine(
    engine: str,
    size: TableSize,
    *,
    shown: str,
    n_columns: int,
    n_columns_of_file: int,
    needs_rows: bool = False,
) -> tuple[str, str | None]:
    """The engine that reads a table, and the sentence that says so where it was chosen for its
    size.

    Raises InputError where rows were asked for, or nothing else can read them, and the memory
    cannot hold them.
    """
    check_choice("engine", engine, ENGINES)
    if engine not in ("auto", "rows"):
        return engine, None
    needed_bytes = size.memory(n_columns, n_columns_of_file)
    budget = memory_budget()
    can_leave = engine == "auto" and not needs_rows and find_spec("duckdb") is not None
    if can_leave and (size.n_rows >= MANY_ROWS or needed_bytes > budget):
        return (
            "duckdb",
            (
                f"Counted by DuckDB, which does not load the {size.words} ({shown}); engine='rows'"
                " does."
            ),
        )
    if needed_bytes > budget:
        received = (
            f"{shown} with {size.words}, which take about {needed_bytes / 1e9:.1f} GB in memory"
        )
        advice = "close other programs, or name fewer columns"
        if not needs_rows:
            advice = (
                "engine='duckdb' (--engine duckdb) reads it without loading it: pip install"
                ' "fairstats[scale]"'
            )
        raise InputError(
            "file",
            got=received,
            allowed=f"{budget / 1e9:.1f} GB, of what is free",
            cure=advice,
        )
    return "rows", None
