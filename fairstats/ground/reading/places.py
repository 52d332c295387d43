"""Which files a path names: a path that exists is that file or folder, only others are patterns."""

from __future__ import annotations

import atexit
import glob
import shutil
import tempfile
from pathlib import Path

from fairstats.ground.errors import InputError

#: In place of a path: standard input, or standard output.
STANDARD = "-"
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zip", ".zst")
PARQUET = (".parquet", ".pq")
FEATHER = (".feather", ".arrow")
TEXT = (".csv", ".tsv", ".txt", ".dat", ".data", ".tab")
JSON_LINES = (".jsonl", ".ndjson")
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
STATISTICS = (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt")
R_DATA = (".rds",)
#: Beginnings of files that come without a name.
_ENDING_OF_BEGINNING = (
    (b"PAR1", ".parquet"),
    (b"ARROW1", ".feather"),
    (b"FEA1", ".feather"),
    (b"$FL2", ".sav"),
    (b"$FL3", ".zsav"),
    (b"<stata_dta>", ".dta"),
    (b"HEADER RECORD*******LIB", ".xpt"),
    (b"\xd0\xcf\x11\xe0", ".xls"),
    (b"\x1f\x8b", ".csv.gz"),
    (b"BZh", ".csv.bz2"),
    (b"\xfd7zXZ\x00", ".csv.xz"),
    (b"\x28\xb5\x2f\xfd", ".csv.zst"),
)


def ending_of(name: str) -> str:
    """The format that a name ends in, ".csv" of ``people.CSV.gz``.

    Empty for none that is read here.
    """
    lower = name.lower()
    for compression in COMPRESSIONS:
        uncompressed_name = lower.removesuffix(compression)
        if uncompressed_name != lower and uncompressed_name.endswith((*TEXT, *JSON_LINES)):
            return Path(uncompressed_name).suffix
    suffix = Path(lower).suffix
    readable = (*PARQUET, *FEATHER, *TEXT, *JSON_LINES, *SPREADSHEETS, *STATISTICS, *R_DATA)
    return suffix if suffix in readable else ""


def name_of_bytes(beginning: bytes) -> str:
    """The ending that fits bytes without a name; CSV where nothing else is recognised."""
    for first_bytes, ending in _ENDING_OF_BEGINNING:
        if beginning.startswith(first_bytes):
            return ending
    if beginning.startswith(b"PK\x03\x04"):
        # a spreadsheet is a zip archive, too; its first members bear names of their own
        is_spreadsheet = (
            b"[Content_Types].xml" in beginning or b"_rels/" in beginning or b"xl/" in beginning
        )
        if is_spreadsheet:
            return ".xlsx"
        if b"opendocument.spreadsheet" in beginning:
            return ".ods"
        return ".csv.zip"
    return ".csv"


def files_of(path: str | Path) -> list[Path]:
    """The files that a path names.

    One, those below a folder that can be read, or those of a pattern.
    """
    path_given = Path(path)
    if path_given.is_dir():
        return sorted(
            file for file in path_given.rglob("*") if ending_of(file.name) and file.is_file()
        )
    if path_given.exists():
        return [path_given]
    return [
        Path(matching_name)
        for matching_name in sorted(glob.glob(str(path), recursive=True))
        if Path(matching_name).is_file()
    ] or [path_given]


def table_files(path: str | Path) -> list[Path]:
    """The same, of one format; an InputError where there is none, or a mixture."""
    files = files_of(path)
    path_given = Path(path)
    if not files or not files[0].is_file():
        is_pattern = glob.has_magic(str(path))
        received = f"{str(path)!r}, which is not there"
        if path_given.is_dir() or is_pattern:
            received = f"{str(path)!r}, no file that can be read"
        if not is_pattern:
            advice = "check the path"
        else:
            advice = "check the path, and write a pattern in quotes: 'visits/*.parquet'"
        raise InputError(
            "file",
            got=received,
            allowed="an existing file, folder or pattern of files",
            cure=advice,
        )
    file_kinds = sorted({kind_of(ending_of(file.name)) for file in files})
    if len(file_kinds) > 1:
        received = f"{str(path)!r}, files of several kinds ({', '.join(file_kinds)})"
        advice = "name the files by a pattern in quotes: 'visits/*.parquet'"
        raise InputError("file", got=received, allowed="files of one format", cure=advice)
    return files


def kind_of(ending: str) -> str:
    """Name of the format of an ending, "unknown" for one that is not read."""
    endings_of_kind = {
        "Parquet": PARQUET,
        "Feather": FEATHER,
        "text": TEXT,
        "JSON lines": JSON_LINES,
        "spreadsheet": SPREADSHEETS,
        "statistics package": STATISTICS,
        "R data": R_DATA,
    }
    for format_name, endings in endings_of_kind.items():
        if ending in endings:
            return format_name
    return "unknown"


def temporary_folder() -> Path:
    """A folder of ours, which ends with the process."""
    folder = Path(tempfile.mkdtemp(prefix="fairstats"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
