"""Reading a user's file: every way in which it can be wrong becomes an `InputError` that says so."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fairstats.datasets.description import Column
from fairstats.ground.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "UNREADABLE",
    "StrPath",
    "existing_file",
    "header_of",
    "read_with_header",
    "read_without_header",
    "require_columns",
    "require_values",
    "typed",
    "unreadable",
]

StrPath = str | os.PathLike[str]

#: What pandas and the decompressors raise for a file that is not the table it should be.
UNREADABLE: Final = (OSError, ValueError, EOFError, zlib.error)

#: Above this many columns only the wanted ones are read.
_WIDE: Final = 200

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


def existing_file(argument: str, path: StrPath) -> Path:
    """Return `path` if it is a file."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(argument, got=f"{type(path).__name__} {path!r}", allowed="the path of a file")
    file = Path(path)
    if not file.exists():
        raise InputError(
            argument,
            got=f"{str(file)!r}, which does not exist",
            allowed="the path of an existing file",
            cure=f"check the spelling; relative paths start at {str(Path.cwd())!r}",
        )
    if not file.is_file():
        raise InputError(argument, got=f"{str(file)!r}, which is a folder", allowed="the path of a file")
    return file


def unreadable(argument: str, file: Path, error: Exception) -> InputError:
    """Build the error for a file that cannot be parsed."""
    reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return InputError(
        argument,
        got=f"{str(file)!r}, which cannot be read as a table ({reason})",
        allowed="the file in its original layout, UTF-8 text, plain or gzip-compressed",
        cure="download it again",
    )


def header_of(argument: str, file: Path, *, sep: str) -> list[str]:
    """Return the column names of the first line; repeated names get a suffix, as in pandas."""
    import pandas as pd

    try:
        return [str(name) for name in pd.read_csv(file, sep=sep, nrows=0).columns]
    except UNREADABLE as error:
        raise unreadable(argument, file, error) from error


def require_columns(
    argument: str, file: Path, found: Iterable[str], required: Iterable[str], *, sep: str
) -> None:
    """Raise an `InputError` unless every required column was found."""
    found = list(found)
    missing = [name for name in required if name not in found]
    if not missing:
        return
    if len(found) == 1:
        other = next((mark for mark in _DELIMITERS if mark != sep and mark in found[0]), None)
        if other is not None:
            raise InputError(
                argument,
                got=f"{str(file)!r}, whose first line is split by {_DELIMITERS[other]}s ({other!r})",
                allowed=f"columns split by {_DELIMITERS[sep]}s ({sep!r}), as in the original file",
                cure="use the file as published, not re-saved",
            )
    raise InputError(
        argument,
        got=f"{str(file)!r} without the columns {_some(missing)}; it has {_some(found)}",
        allowed="the file in its original layout",
        cure="use the file as published, with its header line",
    )


def read_with_header(
    argument: str,
    path: StrPath,
    columns: Mapping[str, Column],
    *,
    sep: str = ",",
    missing: tuple[str, ...] = ("",),
) -> pd.DataFrame:
    """Read `columns`, in this order, from a file whose first line names its columns."""
    import pandas as pd

    file = existing_file(argument, path)
    header = header_of(argument, file, sep=sep)
    require_columns(argument, file, header, columns, sep=sep)
    try:
        frame = pd.read_csv(
            file,
            sep=sep,
            dtype="str",
            keep_default_na=False,
            na_values=list(missing),
            usecols=list(columns) if len(header) > _WIDE else None,
        )
    except UNREADABLE as error:
        raise unreadable(argument, file, error) from error
    if not isinstance(frame.index, pd.RangeIndex):
        raise InputError(
            argument,
            got=f"{str(file)!r}, whose rows have more values than its first line has names",
            allowed="the file in its original layout",
            cure="use the file as published, not re-saved",
        )
    return typed(argument, frame[list(columns)], columns)


def read_without_header(
    argument: str,
    path: StrPath,
    columns: Mapping[str, Column],
    *,
    comment: str | None = None,
    missing: tuple[str, ...] = ("?",),
) -> pd.DataFrame:
    """Read a comma-separated file that holds values only; `columns` names them."""
    import pandas as pd

    file = existing_file(argument, path)
    try:
        frame = pd.read_csv(
            file,
            header=None,
            skipinitialspace=True,
            comment=comment,
            dtype="str",
            keep_default_na=False,
            na_values=list(missing),
        )
    except UNREADABLE as error:
        raise unreadable(argument, file, error) from error
    first = [str(value) for value in frame.iloc[0]]
    if frame.shape[1] != len(columns):
        raise InputError(
            argument,
            got=f"{str(file)!r} with {frame.shape[1]} columns, first row {_some(first)}",
            allowed=f"{len(columns)} values a row, split by commas, as in the original file",
            cure="use the file as published, not re-saved",
        )
    frame.columns = pd.Index(list(columns))
    name, column = next(iter(columns.items()))
    if column.dtype != "str" and not _is_number(first[0]):
        raise InputError(
            argument,
            got=f"{str(file)!r}, whose first line looks like a header ({_some(first)})",
            allowed=f"values only, beginning with a number ({name}), as in the original file",
            cure="use the file as published, or delete its first line",
        )
    return typed(argument, frame, columns)


def typed(argument: str, strings: pd.DataFrame, columns: Mapping[str, Column]) -> pd.DataFrame:
    """Turn columns of strings into the numbers that `columns` asks for."""
    import pandas as pd

    if strings.empty:
        raise InputError(argument, got="a file with no rows", allowed="the file in its original layout")
    converted: dict[str, pd.Series] = {}
    for name, column in columns.items():
        values = strings[name]
        if column.dtype == "str":
            converted[name] = values
            continue
        numbers = pd.to_numeric(values, errors="coerce").astype("float64")
        bad = numbers.isna() & values.notna()
        kind = "numbers"
        if column.dtype == "int64":
            bad = (numbers % 1).ne(0)
            kind = "whole numbers, none missing"
        if bad.any():
            row = int(bad.to_numpy().argmax())
            value = "an empty cell" if pd.isna(values.iloc[row]) else repr(values.iloc[row])
            raise InputError(
                argument,
                got=f"{value} in column {name!r}, data row {row + 1}",
                allowed=kind,
                cure="use the file as published, or mend that row",
            )
        converted[name] = numbers.astype("int64") if column.dtype == "int64" else numbers
    return pd.DataFrame(converted)


def require_values(argument: str, frame: pd.DataFrame, column: str, allowed: Iterable[str]) -> None:
    """Raise an `InputError` unless `column` holds nothing but the `allowed` strings."""
    allowed = list(allowed)
    wrong = ~frame[column].isin(allowed)
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        raise InputError(
            argument,
            got=f"{frame[column].iloc[row]!r} in column {column!r}, data row {row + 1}",
            allowed=", ".join(repr(value) for value in allowed),
            cure="use the file as published",
        )


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _some(names: list[str], most: int = 6) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
