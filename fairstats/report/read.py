"""Tables from files: CSV (also compressed) and Parquet."""

from __future__ import annotations

import lzma
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairstats.ground.errors import FairstatsError, InputError, MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_table"]

_CSV = (".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip", ".tsv", ".tsv.gz", ".txt")
_PARQUET = (".parquet", ".pq")
_SHOWN = 20
#: What parsers, decoders and decompressors raise; Arrow's errors are among them.
_UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    NotImplementedError,
    Warning,  # of pandas' parser, made an error below
    zipfile.BadZipFile,
    lzma.LZMAError,
    zlib.error,
)


def read_table(path: str | Path, columns: Sequence[str], *, delimiter: str | None = None) -> pd.DataFrame:
    """The named columns of a file.

    Parameters
    ----------
    path : path-like
        ``.csv``, ``.tsv`` (also ``.gz``, ``.bz2``, ``.xz``, ``.zip``) or ``.parquet``.
    columns : sequence of str
        Columns to read.
    delimiter : str, optional
        Of a CSV file; default a comma, a tab for ``.tsv``.

    Raises
    ------
    InputError
        If the file is not there, cannot be read, has no rows, or lacks a column.
    """
    file = Path(path)
    name = file.name.lower()
    if not file.is_file():
        raise InputError(
            "file",
            got=f"{str(path)!r}, which is {'a folder' if file.is_dir() else 'not there'}",
            allowed="an existing CSV or Parquet file",
            cure="check the path",
        )
    try:
        if name.endswith(_PARQUET):
            frame = _read_parquet(file, columns)
        elif name.endswith(_CSV):
            frame = _read_csv(file, columns, delimiter or ("\t" if ".tsv" in name else ","))
        else:
            raise InputError(
                "file",
                got=f"{file.name!r}",
                allowed=f"a name that ends in {', '.join((*_CSV, *_PARQUET))}",
                cure="rename it, or convert it to CSV or Parquet",
            )
    except FairstatsError:
        raise
    except _UNREADABLE as problem:
        raise InputError(
            "file",
            got=f"{str(path)!r}, which cannot be read ({_first_line(problem)})",
            allowed="a CSV file in UTF-8 with a header line, or a Parquet file",
            cure="open it in another program to see whether it is whole",
        ) from problem
    if not len(frame):
        raise InputError(
            "file", got=f"{str(path)!r} with 0 rows", allowed="at least one row", cure="pass data"
        )
    return frame


def _read_csv(file: Path, columns: Sequence[str], delimiter: str) -> pd.DataFrame:
    import pandas as pd

    have = [str(c) for c in pd.read_csv(file, sep=delimiter, nrows=0, encoding="utf-8-sig").columns]
    _check_columns(file, columns, have)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        # All columns: with usecols= a line with too many fields would be shifted without a word.
        frame = pd.read_csv(file, sep=delimiter, index_col=False, encoding="utf-8-sig", low_memory=False)
    return frame[list(dict.fromkeys(columns))]


def _read_parquet(file: Path, columns: Sequence[str]) -> pd.DataFrame:
    try:
        from pyarrow import parquet
    except ImportError as problem:
        raise MissingDependencyError(
            "pyarrow", extra="cli", purpose="Reading Parquet", alternative="pass a CSV file"
        ) from problem
    with parquet.ParquetFile(file) as source:
        _check_columns(file, columns, list(source.schema_arrow.names))
        return source.read(columns=list(dict.fromkeys(columns))).to_pandas()  # type: ignore[no-any-return]


def _check_columns(file: Path, columns: Sequence[str], have: Sequence[str]) -> None:
    lacking = [name for name in dict.fromkeys(columns) if name not in have]
    if not lacking:
        return
    more = ", …" if len(have) > _SHOWN else ""
    cure = "check the spelling"
    if len(have) == 1 and any(sign in have[0] for sign in ";\t|"):
        cure = "the header has one column only: name the separator with --delimiter"
    raise InputError(
        "file",
        got=f"no column {', '.join(map(repr, lacking))} in {file.name!r}",
        allowed=f"its columns: {', '.join(map(repr, have[:_SHOWN]))}{more}",
        cure=cure,
    )


def _first_line(problem: BaseException) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]
