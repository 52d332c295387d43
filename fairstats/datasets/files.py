"""Reading a user's file: every way in which it can be wrong becomes an `InputError` that says so."""

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
_UNREADABLE: Final = (OSError, ValueError, EOFError, zlib.error)
_LAYOUT: Final = "the file in its original layout"
#: Above this many columns only the wanted ones are read.
_WIDE: Final = 200
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


def existing_file(argument: str, path: StrPath) -> Path:
    """Return `path` if it is a file."""
    if not isinstance(path, str | os.PathLike):
        raise damaged(argument, f"{type(path).__name__} {path!r}", "the path of a file", "name the file")
    file = Path(path)
    if not file.exists():
        cure = f"check the spelling; relative paths start at {str(Path.cwd())!r}"
        raise damaged(argument, f"{str(file)!r}, which does not exist", "the path of an existing file", cure)
    if not file.is_file():
        raise damaged(argument, f"{str(file)!r}, which is a folder", "the path of a file", "name the file")
    return file


def damaged(
    argument: str, got: str, allowed: str = _LAYOUT, cure: str = "use the file as published, not re-saved"
) -> InputError:
    """Build the error for a file that is not the published one."""
    return InputError(argument, got=got, allowed=allowed, cure=cure)


@contextmanager
def readable(argument: str, file: Path) -> Iterator[None]:
    """Turn what is raised for a file that cannot be parsed into an `InputError`."""
    try:
        yield
    except _UNREADABLE as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        got = f"{str(file)!r}, which cannot be read as a table ({reason})"
        allowed = f"{_LAYOUT}, UTF-8 text, plain or gzip-compressed"
        raise damaged(argument, got, allowed, "download it again") from error


def strings(argument: str, file: Path, *, missing: Sequence[str] = ("",), **options: Any) -> pd.DataFrame:
    """Read every cell as text; `options` are those of pandas."""
    options |= {"dtype": "str", "keep_default_na": False, "na_values": list(missing)}
    with readable(argument, file):
        frame: pd.DataFrame = pd.read_csv(file, **options)
    return frame


def header_of(argument: str, file: Path, *, sep: str) -> list[str]:
    """Return the column names of the first line; repeated names get a suffix, as in pandas."""
    with readable(argument, file):
        return [str(name) for name in pd.read_csv(file, sep=sep, nrows=0).columns]


def require_columns(argument: str, file: Path, found: Iterable[str], required: Iterable[str], *, sep: str) -> None:
    """Raise an `InputError` unless every required column was found."""
    found = list(found)
    missing = [name for name in required if name not in found]
    if not missing:
        return
    others = [mark for mark in _DELIMITERS if mark != sep and mark in found[0]] if len(found) == 1 else []
    if others:
        got = f"{str(file)!r}, whose first line is split by {_DELIMITERS[others[0]]}s ({others[0]!r})"
        raise damaged(argument, got, f"columns split by {_DELIMITERS[sep]}s ({sep!r}), as in the original file")
    got = f"{str(file)!r} without the columns {_listed(missing)}; it has {_listed(found)}"
    raise damaged(argument, got, cure="use the file as published, with its header line")


def read_with_header(
    argument: str, path: StrPath, dtypes: Mapping[str, str], *, sep: str = ",",
    missing: tuple[str, ...] = ("",),
) -> pd.DataFrame:  # fmt: skip
    """Read the columns of `dtypes`, in this order, from a file whose first line names its columns."""
    file = existing_file(argument, path)
    header = header_of(argument, file, sep=sep)
    require_columns(argument, file, header, dtypes, sep=sep)
    wanted = list(dtypes) if len(header) > _WIDE else None
    frame = strings(argument, file, missing=missing, sep=sep, usecols=wanted)
    if not isinstance(frame.index, pd.RangeIndex):
        raise damaged(argument, f"{str(file)!r}, whose rows have more values than its first line has names")
    return typed(argument, frame[list(dtypes)], dtypes)


def read_without_header(
    argument: str, path: StrPath, dtypes: Mapping[str, str], *, comment: str | None = None,
    missing: tuple[str, ...] = ("?",),
) -> pd.DataFrame:  # fmt: skip
    """Read a comma-separated file that holds values only; `dtypes` names them."""
    file = existing_file(argument, path)
    frame = strings(argument, file, missing=missing, header=None, skipinitialspace=True, comment=comment)
    first = [str(value) for value in frame.iloc[0]]
    if frame.shape[1] != len(dtypes):
        got = f"{str(file)!r} with {frame.shape[1]} columns, first row {_listed(first)}"
        raise damaged(argument, got, f"{len(dtypes)} values a row, split by commas, as in the original file")
    frame.columns = pd.Index(list(dtypes))
    name, dtype = next(iter(dtypes.items()))
    if dtype != "str" and not _is_number(first[0]):
        got = f"{str(file)!r}, whose first line looks like a header ({_listed(first)})"
        allowed = f"values only, beginning with a number ({name}), as in the original file"
        raise damaged(argument, got, allowed, "use the file as published, or delete its first line")
    return typed(argument, frame, dtypes)


def typed(argument: str, strings: pd.DataFrame, dtypes: Mapping[str, str]) -> pd.DataFrame:
    """Turn columns of strings into the numbers that `dtypes` asks for."""
    if strings.empty:
        raise damaged(argument, "a file with no rows")
    converted = {name: strings[name] for name in dtypes}
    for name in (name for name, dtype in dtypes.items() if dtype != "str"):
        values, dtype = strings[name], dtypes[name]
        numbers = pd.to_numeric(values, errors="coerce").astype("float64")
        bad, kind = numbers.isna() & values.notna(), "numbers"
        if dtype == "int64":
            bad, kind = (numbers % 1).ne(0), "whole numbers, none missing"
        if bad.any():
            row = int(bad.to_numpy().argmax())
            value = "an empty cell" if pd.isna(values.iloc[row]) else repr(values.iloc[row])
            got = f"{value} in column {name!r}, data row {row + 1}"
            raise damaged(argument, got, kind, "use the file as published, or mend that row")
        converted[name] = numbers.astype("int64") if dtype == "int64" else numbers
    return pd.DataFrame(converted)


def require_values(argument: str, frame: pd.DataFrame, column: str, allowed: Iterable[str]) -> None:
    """Raise an `InputError` unless `column` holds nothing but the `allowed` strings."""
    allowed = list(allowed)
    wrong = ~frame[column].isin(allowed)
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        got = f"{frame[column].iloc[row]!r} in column {column!r}, data row {row + 1}"
        raise damaged(argument, got, ", ".join(map(repr, allowed)), "use the file as published")


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _listed(names: list[str], most: int = 6) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
