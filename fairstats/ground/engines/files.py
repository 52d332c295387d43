"""Files, folders and globs of CSV and Parquet, read where they lie: nothing is loaded."""

from __future__ import annotations

import glob
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairstats.ground.checks import check_choice, check_different, check_that
from fairstats.ground.engines.sources import ENGINES, engine_errors, need_engine
from fairstats.ground.errors import FairstatsError, InputError
from fairstats.ground.lazy import pd

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


#: What parsers, decoders and decompressors raise; Arrow's errors are among them.
_UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    RuntimeError,  # of zipfile: a password, or a method that it does not know
    Warning,  # of pandas' parser, made an error
    zipfile.BadZipFile,
    lzma.LZMAError,
    zlib.error,
)


def engine_for(path: str | Path, engine: str = "auto") -> str:
    """The engine that reads a path: "rows" for a single file that is not large, else DuckDB."""
    check_choice("engine", engine, ENGINES)
    if engine != "auto":
        return engine
    file = Path(path)
    if not file.is_file():
        return "duckdb" if file.is_dir() or glob.has_magic(str(path)) else "rows"
    if file.stat().st_size < LARGE:
        return "rows"
    try:
        need_engine("duckdb")
    except ImportError:
        return "rows"
    return "duckdb"


def open_files(
    path: str | Path,
    engine: str = "duckdb",
    *,
    memory: str | None = None,
    delimiter: str | None = None,
    progress: bool = False,
) -> Any:
    """A lazy table of one file, a folder (with all below it) or a glob.

    `memory`: limit for DuckDB, as "2GB"; beyond it, it works on disk; `progress`: whether it draws a bar on
    standard output while a query takes more than two seconds. Raises InputError where there is no
    file, or not of one kind; EngineError where it cannot be read.
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
    """Names in the header line of a CSV file (a path, or bytes held in memory), which all differ.

    Raises InputError where two are equal: a reader would rename the second, or lose it.
    """
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
        allowed = "a CSV file in UTF-8 with a header line, or a Parquet file"
        cure = "open it in another program to see whether it is whole"
        got = f"{shown}, which cannot be read ({said})"
        raise InputError("file", got=got, allowed=allowed, cure=cure) from problem


def delimiter_of(text: str | None) -> str | None:
    r"""The separator that a shell passed on: ``\t`` of two characters, and the word tab, are a tab."""
    if text is None:
        return None
    found = "\t" if text in ("\\t", "tab") else text
    allowed = "one character of ASCII, or \\t for a tab"
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
        raise InputError(
            "file",
            got=f"{path!r}, " + ("files of several kinds" if len(found) > 1 else "no file that can be read"),
            allowed=f"a file, folder or glob of files that end in {', '.join((*PARQUET, *CSV))}",
            cure="check the path, or name the files by a glob in quotes: 'visits/*.parquet'",
        )
    return found[0], found[0].lower().endswith(PARQUET)
