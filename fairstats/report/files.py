"""What commands read: tables, also compressed."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from fairstats.ground.checks import check_different
from fairstats.ground.encoding import check_columns
from fairstats.ground.engines.sources import csv_header, readable
from fairstats.ground.errors import InputError, MissingDependencyError
from fairstats.ground.lazy import pd
from fairstats.ground.writing import STANDARD

_CSV = (".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip", ".tsv", ".tsv.gz", ".txt")
_PARQUET = (".parquet", ".pq")


def held_input(path: str | Path) -> bytes | None:
    """What came by standard input, or by a pipe of the shell; None for a file, read where it lies."""
    if str(path) == STANDARD:
        return sys.stdin.buffer.read()
    file = Path(path)
    return file.read_bytes() if file.is_fifo() else None


def read_table(
    path: str | Path, columns: Sequence[str], *, delimiter: str | None = None, held: bytes | None = None
) -> pd.DataFrame:
    """The named columns of a file.

    `path`: ``.csv``, ``.tsv`` (also ``.gz``, ``.bz2``, ``.xz``, ``.zip``) or ``.parquet``; `columns`: columns to read;
    `delimiter`: of a CSV file; default a comma, a tab for ``.tsv``; `held`: what `held_input` gave for this path.
    Raises InputError if the file is not there, cannot be read, has no rows, lacks a column, or has two of one name.
    """
    file, name = Path(path), Path(path).name.lower()
    if held is not None:
        name = _PARQUET[0] if held.startswith(b"PAR1") else _CSV[0]
    elif not file.is_file():
        got = f"{str(path)!r}, which is {'a folder' if file.is_dir() else 'not there'}"
        raise InputError("file", got=got, allowed="an existing CSV or Parquet file", cure="check the path")
    shown = repr(str(path)) if str(path) != STANDARD else "standard input"
    source = file if held is None else BytesIO(held)
    with readable(shown):
        if name.endswith(_PARQUET):
            frame = _read_parquet(source, columns)
        elif name.endswith(_CSV):
            frame = _read_csv(source, columns, delimiter or ("\t" if ".tsv" in name else ","))
        else:
            allowed = f"a name that ends in {', '.join((*_CSV, *_PARQUET))}"
            cure = "rename it, or convert it to CSV or Parquet"
            raise InputError("file", got=repr(file.name), allowed=allowed, cure=cure)
    if frame.empty:
        raise InputError("file", got=f"{shown} with 0 rows", allowed="at least one row", cure="pass data")
    return frame


def _read_csv(source: Path | BytesIO, columns: Sequence[str], delimiter: str) -> pd.DataFrame:
    have = csv_header(source, delimiter)
    cure = "check the spelling"
    if len(have) == 1 and any(sign in have[0] for sign in ";\t|"):
        cure = "the header has one column only: name the separator with --delimiter"
    check_columns("file", columns, have, cure)
    if isinstance(source, BytesIO):
        source.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        # All columns: with usecols= a line with too many fields would be shifted without a word.
        frame = pd.read_csv(source, sep=delimiter, index_col=False, encoding="utf-8-sig", low_memory=False)
    return frame[list(dict.fromkeys(columns))]


def _read_parquet(source: Path | BytesIO, columns: Sequence[str]) -> pd.DataFrame:
    try:
        from pyarrow import parquet
    except ImportError as problem:
        what = {"purpose": "Reading Parquet", "alternative": "pass a CSV file"}
        raise MissingDependencyError("pyarrow", extra="cli", **what) from problem
    with parquet.ParquetFile(source) as opened:
        have, where = list(opened.schema_arrow.names), source.name if isinstance(source, Path) else "standard input"
        check_different("file", have, f"{where!r} with ")
        check_columns("file", columns, have)
        return opened.read(columns=list(dict.fromkeys(columns))).to_pandas()  # type: ignore[no-any-return]
