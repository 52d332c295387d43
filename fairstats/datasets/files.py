"""Reading a user's file: every way in which it can be wrong becomes an `InputError` that says
so.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from fairstats.ground.errors import InputError
from fairstats.ground.lazy import pd

StrPath = str | os.PathLike[str]
#: What pandas and the decompressors raise for a file that is not the table it should be.
_READING_ERRORS: Final = (OSError, ValueError, EOFError, zlib.error)
_LAYOUT_WORDS: Final = "the file in its original layout"
#: Above this many columns only the wanted ones are read.
_MANY_COLUMNS: Final = 200
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


def existing_file(argument: str, path: StrPath) -> Path:
    """Return `path` if it is a file."""
    if not isinstance(path, str | os.PathLike):
        raise damaged(
            argument, f"{type(path).__name__} {path!r}", "the path of a file", "name the file"
        )
    file = Path(path)
    if not file.exists():
        advice = f"check the spelling; relative paths start at {str(Path.cwd())!r}"
        raise damaged(
            argument, f"{str(file)!r}, which does not exist", "the path of an existing file", advice
        )
    if not file.is_file():
        raise damaged(
            argument, f"{str(file)!r}, which is a folder", "the path of a file", "name the file"
        )
    return file


def damaged(
    argument: str,
    got: str,
    allowed: str = _LAYOUT_WORDS,
    cure: str = "use the file as published, not re-saved",
) -> InputError:
    """Build the error for a file that is not the published one."""
    return InputError(argument, got=got, allowed=allowed, cure=cure)


@contextmanager
def readable(argument: str, file: Path) -> Iterator[None]:
    """Turn what is raised for a file that cannot be parsed into an `InputError`."""
    try:
        yield
    except _READING_ERRORS as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        received = f"{str(file)!r}, which cannot be read as a table ({reason})"
        allowed = f"{_LAYOUT_WORDS}, UTF-8 text, plain or gzip-compressed"
        raise damaged(argument, received, allowed, "download it again") from error


def strings(
    argument: str, file: Path, *, missing: Sequence[str] = ("",), **options: Any
) -> pd.DataFrame:
    """Read every cell as text; `options` are those of pandas."""
    options |= {"dtype": "str", "keep_default_na": False, "na_values": list(missing)}
    with readable(argument, file):
        frame: pd.DataFrame = pd.read_csv(file, **options)
    return frame


def header_of(argument: str, file: Path, *, sep: str) -> list[str]:
    """Return the column names of the first line; repeated names get a suffix, as in pandas."""
    with readable(argument, file):
        return [str(column_label) for column_label in pd.read_csv(file, sep=sep, nrows=0).columns]


def require_columns(
    argument: str,
    file: Path,
    present: Iterable[str],
    required: Iterable[str],
    *,
    sep: str,
) -> None:
    """Raise an `InputError` unless every required column was found."""
    present = list(present)
    missing = []
    for column_label in required:
        if column_label not in present:
            missing.append(column_label)
    if not missing:
        return
    if len(present) == 1:
        others = []
        for delimiter in _DELIMITERS:
            if delimiter != sep and delimiter in present[0]:
                others.append(delimiter)
    else:
        others = []
    if others:
        received = (
            f"{str(file)!r}, whose first line is split by {_DELIMITERS[others[0]]}s ({others[0]!r})"
        )
        raise damaged(
            argument,
            received,
            f"columns split by {_DELIMITERS[sep]}s ({sep!r}), as in the original file",
        )
    received = f"{str(file)!r} without the columns {_listed_names(missing)}; it has {_listed_names(present)}"
    raise damaged(argument, received, cure="use the file as published, with its header line")


def read_with_header(
    argument: str,
    path: StrPath,
    dtypes: Mapping[str, str],
    *,
    sep: str = ",",
    missing: tuple[str, ...] = ("",),
) -> pd.DataFrame:
    """Read the columns of `dtypes`, in this order, from a file whose first line names its
    columns.
    """
    file = existing_file(argument, path)
    header = header_of(argument, file, sep=sep)
    require_columns(argument, file, header, dtypes, sep=sep)
    if len(header) > _MANY_COLUMNS:
        wanted_columns = list(dtypes)
    else:
        wanted_columns = None
    frame = strings(argument, file, missing=missing, sep=sep, usecols=wanted_columns)
    if not isinstance(frame.index, pd.RangeIndex):
        raise damaged(
            argument, f"{str(file)!r}, whose rows have more values than its first line has names"
        )
    return typed(argument, frame[list(dtypes)], dtypes)


def read_without_header(
    argument: str,
    path: StrPath,
    dtypes: Mapping[str, str],
    *,
    comment: str | None = None,
    missing: tuple[str, ...] = ("?",),
) -> pd.DataFrame:
    """Read a comma-separated file that holds values only; `dtypes` names them."""
    file = existing_file(argument, path)
    frame = strings(
        argument,
        file,
        missing=missing,
        header=None,
        skipinitialspace=True,
        comment=comment,
    )
    first_row = [str(cell_value) for cell_value in frame.iloc[0]]
    if frame.shape[1] != len(dtypes):
        received = (
            f"{str(file)!r} with {frame.shape[1]} columns, first row {_listed_names(first_row)}"
        )
        raise damaged(
            argument,
            received,
            f"{len(dtypes)} values a row, split by commas, as in the original file",
        )
    frame.columns = pd.Index(list(dtypes))
    first_column, first_type = next(iter(dtypes.items()))
    if first_type != "str" and not _is_number(first_row[0]):
        received = (
            f"{str(file)!r}, whose first line looks like a header ({_listed_names(first_row)})"
        )
        allowed = f"values only, beginning with a number ({first_column}), as in the original file"
        raise damaged(
            argument, received, allowed, "use the file as published, or delete its first line"
        )
    return typed(argument, frame, dtypes)


def typed(argument: str, strings: pd.DataFrame, dtypes: Mapping[str, str]) -> pd.DataFrame:
    """Turn columns of strings into the numbers that `dtypes` asks for."""
    if strings.empty:
        raise damaged(argument, "a file with no rows")
    converted_columns = {column_label: strings[column_label] for column_label in dtypes}
    for column_label in (
        column_label for column_label, column_type in dtypes.items() if column_type != "str"
    ):
        values = strings[column_label]
        column_type = dtypes[column_label]
        numbers = pd.to_numeric(values, errors="coerce").astype("float64")
        is_refused = numbers.isna() & values.notna()
        allowed_words = "numbers"
        if column_type == "int64":
            is_refused = (numbers % 1).ne(0)
            allowed_words = "whole numbers, none missing"
        if is_refused.any():
            first_refused = int(is_refused.to_numpy().argmax())
            if pd.isna(values.iloc[first_refused]):
                cell_words = "an empty cell"
            else:
                cell_words = repr(values.iloc[first_refused])
            received = f"{cell_words} in column {column_label!r}, data row {first_refused + 1}"
            raise damaged(
                argument, received, allowed_words, "use the file as published, or mend that row"
            )
        converted_columns[column_label] = (
            numbers.astype("int64") if column_type == "int64" else numbers
        )
    return pd.DataFrame(converted_columns)


def require_values(argument: str, frame: pd.DataFrame, column: str, allowed: Iterable[str]) -> None:
    """Raise an `InputError` unless `column` holds nothing but the `allowed` strings."""
    allowed = list(allowed)
    is_wrong = ~frame[column].isin(allowed)
    if is_wrong.any():
        first_wrong = int(is_wrong.to_numpy().argmax())
        received = (
            f"{frame[column].iloc[first_wrong]!r} in column {column!r}, data row {first_wrong + 1}"
        )
        raise damaged(
            argument, received, ", ".join(map(repr, allowed)), "use the file as published"
        )


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _listed_names(names: list[str], most_names: int = 6) -> str:
    shown_names = ", ".join(repr(column_label) for column_label in names[:most_names])
    if len(names) <= most_names:
        return shown_names
    return f"{shown_names} and {len(names) - most_names} more"
