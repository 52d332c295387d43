"""Files that know the types of their columns: spreadsheets, statistics packages, Arrow, JSON lines, R.

Their values stay what they are: a whole number is whole (with missing values too, where the format tells them apart),
a text is a text, "NA" is a value. Empty text is missing.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from fairstats.ground import rsession
from fairstats.ground.checks import check_different, listed
from fairstats.ground.encoding import check_columns, label_text
from fairstats.ground.errors import InputError, MissingDependencyError
from fairstats.ground.lazy import pd
from fairstats.ground.reading.places import (
    FEATHER,
    JSON_LINES,
    PARQUET,
    R_DATA,
    SPREADSHEETS,
    STATISTICS,
    temporary_folder,
)
from fairstats.ground.reading.roles import ReadingOptions, Roles
from fairstats.ground.reading.sizes import TableSize
from fairstats.ground.reading.streams import Source

#: Ending → function of pyreadstat.
_READSTAT = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
_NO_TABLE = "a table with a line of names, and rows below it"


@dataclass(frozen=True)
class TypedTable:
    """What a file of a typed format holds, before its values are read: its columns, its size, and how to read them."""

    columns: tuple[str, ...]
    size: TableSize
    read: Callable[[tuple[str, ...]], pd.DataFrame]
    notes: tuple[str, ...] = ()


def needed_package(name: str, what: str) -> Any:
    """A package of the extra `files`."""
    try:
        return import_module(name)
    except ImportError as problem:
        alternative = "save the table as CSV"
        package = {"python_calamine": "python-calamine"}.get(name, name.partition(".")[0])
        raise MissingDependencyError(
            package, extra="files", purpose=f"Reading {what}", alternative=alternative
        ) from problem


def typed_table(source: Source, roles: Roles, options: ReadingOptions) -> TypedTable:
    """A file of any format but text."""
    ending = source.ending
    if ending in PARQUET:
        return _of_parquet(source)
    if ending in FEATHER:
        return _of_feather(source)
    if ending in JSON_LINES:
        return _of_json_lines(source)
    if ending in SPREADSHEETS:
        return _of_spreadsheet(source, options.sheet)
    if ending in STATISTICS:
        return _of_statistics(source, roles)
    if ending in R_DATA:
        return _of_r(source)
    allowed = "a name that ends in .csv, .tsv, .txt (also with .gz, .bz2, .xz, .zip, .zst), .parquet, .feather, "
    allowed += ".jsonl, .xlsx, .xls, .ods, .sav, .zsav, .por, .dta, .sas7bdat, .xpt or .rds"
    raise InputError("file", got=source.shown, allowed=allowed, cure="rename it, or convert it to CSV or Parquet")


# ---------------------------------------------------------------- Arrow


def _of_parquet(source: Source) -> TypedTable:
    parquet = needed_package("pyarrow.parquet", "Parquet")
    with parquet.ParquetFile(_opened(source)) as opened:
        names = opened.schema_arrow.names
        n_rows = opened.metadata.num_rows

    def read(columns: tuple[str, ...]) -> pd.DataFrame:
        with parquet.ParquetFile(_opened(source)) as opened:
            return frame_of_arrow(opened.read(columns=list(columns), use_pandas_metadata=False), columns)

    return TypedTable(tuple(names), TableSize(n_rows, counted=True), read)


def _of_feather(source: Source) -> TypedTable:
    feather = needed_package("pyarrow.feather", "Feather")
    arrow: Any = import_module("pyarrow")
    with source.open_raw() as stream:
        if stream.read(6) == b"ARROW1":
            stream.seek(0)
            opened = arrow.ipc.open_file(arrow.PythonFile(stream, mode="r"))
            names = tuple(opened.schema.names)
        else:  # the first version of Feather has no footer that could be read alone
            names = tuple(feather.read_table(_opened(source)).column_names)
    # eight bytes a value, unless compressed
    n_rows = source.n_bytes // (8 * max(len(names), 1))

    def read(columns: tuple[str, ...]) -> pd.DataFrame:
        return frame_of_arrow(feather.read_table(_opened(source), columns=list(columns)), columns)

    return TypedTable(names, TableSize(n_rows, counted=False, n_bytes=source.n_bytes), read)


def _opened(source: Source) -> Any:
    """What Arrow opens: a path, or a buffer of bytes."""
    if source.path is not None:
        return str(source.path)
    return import_module("pyarrow").BufferReader(source.held)


def frame_of_arrow(table: Any, columns: Sequence[str]) -> pd.DataFrame:
    """An Arrow table as a pandas frame in which whole numbers stay whole."""
    arrow: Any = import_module("pyarrow")
    whole = {
        arrow.int8(): pd.Int8Dtype(),
        arrow.int16(): pd.Int16Dtype(),
        arrow.int32(): pd.Int32Dtype(),
        arrow.int64(): pd.Int64Dtype(),
        arrow.uint8(): pd.UInt8Dtype(),
        arrow.uint16(): pd.UInt16Dtype(),
        arrow.uint32(): pd.UInt32Dtype(),
        arrow.uint64(): pd.UInt64Dtype(),
        arrow.bool_(): pd.BooleanDtype(),
    }
    found = {}
    for name in columns:
        column = table.column(name)
        if arrow.types.is_dictionary(column.type) and not column.type.ordered:
            column = column.cast(column.type.value_type)  # a way to store text; it declares no order
        types_mapper = None
        if column.null_count and column.type in whole:
            types_mapper = whole.get
        elif arrow.types.is_time(column.type):
            types_mapper = pd.ArrowDtype  # Python's times hold no nanoseconds
        found[name] = column.to_pandas(types_mapper=types_mapper)
    return pd.DataFrame(found)


# ---------------------------------------------------------------- JSON lines


def _of_json_lines(source: Source) -> TypedTable:
    names: dict[str, None] = {}
    with source.open_text("utf-8") as stream:
        for k, line in enumerate(io.TextIOWrapper(stream, encoding="utf-8")):
            if line.strip():
                names.update(dict.fromkeys(_json_record(line, k + 1, source.shown)))
            if k >= 1_000:
                break
    n_bytes = source.expanded_bytes
    n_rows = max(n_bytes // 100, 1)

    def read(columns: tuple[str, ...]) -> pd.DataFrame:
        values: dict[str, list[Any]] = {name: [] for name in columns}
        with source.open_text("utf-8") as stream:
            for k, line in enumerate(io.TextIOWrapper(stream, encoding="utf-8")):
                if line.strip():
                    record = _json_record(line, k + 1, source.shown)
                    for name in columns:
                        values[name].append(record.get(name))
        return pd.DataFrame({name: _column_of_values(column) for name, column in values.items()})

    return TypedTable(tuple(names), TableSize(n_rows, counted=False, n_bytes=n_bytes), read)


def _json_record(line: str, number: int, shown: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"line {number:,} is no JSON") from problem
    if not isinstance(record, dict):
        got = f"{shown}, whose line {number:,} holds a {type(record).__name__}"
        allowed, cure = (
            'one object a line: {"sex": "f", "hired": 1}',
            "write it with to_json(orient='records', lines=True)",
        )
        raise InputError("file", got=got, allowed=allowed, cure=cure)
    return record


def _column_of_values(values: list[Any]) -> Any:
    """A column of Python values, of the narrowest type that changes none of them."""
    values = [None if isinstance(v, str) and v == "" else v for v in values]
    types = {type(v) for v in values if v is not None}
    missing = None in values
    if types == {bool}:
        return pd.array(values, dtype="boolean") if missing else np.array(values, dtype=bool)
    if types == {int}:
        small = all(v is None or -(2**63) <= v < 2**63 for v in values)
        if small:
            return pd.array(values, dtype="Int64") if missing else np.array(values, dtype=np.int64)
        return pd.Series(values, dtype=object)
    whole_is_exact = all(abs(v) <= 2**53 for v in values if isinstance(v, int))
    if types and types <= {int, float} and whole_is_exact:
        return np.array([np.nan if v is None else v for v in values], dtype=np.float64)
    if types == {str}:
        return pd.Series(values)
    return pd.Series(values, dtype=object)


# ---------------------------------------------------------------- spreadsheets


def _of_spreadsheet(source: Source, sheet: Any) -> TypedTable:
    calamine = needed_package("python_calamine", "spreadsheets")
    try:
        opened_book = calamine.CalamineWorkbook.from_object(_file_or_bytes(source))
    except calamine.CalamineError as problem:
        raise ValueError(str(problem)) from problem
    with opened_book as workbook:
        names = workbook.sheet_names
        name = _sheet_name(names, sheet)
        opened = workbook.get_sheet_by_name(name)
        height, width = opened.total_height, opened.total_width
        rows = opened.to_python()
    notes: tuple[str, ...] = ()
    if sheet is None and len(names) > 1:
        others = listed([other for other in names if other != name], 8)
        notes = (f"Of the sheets of {source.name} the first was read, {name!r}; the others are {others}.",)
    if not rows:
        raise InputError("file", got=f"{source.shown} with an empty sheet {name!r}", allowed=_NO_TABLE)
    header = [_header_text(cell, k) for k, cell in enumerate(rows[0])]
    check_different("file", header, f"{source.shown} with ")

    def read(columns: tuple[str, ...]) -> pd.DataFrame:
        found = {}
        for column in columns:
            k = header.index(column)
            found[column] = _column_of_values([row[k] for row in rows[1:]])
        return pd.DataFrame(found)

    size = TableSize(len(rows) - 1, counted=True, n_bytes=8 * height * width)
    return TypedTable(tuple(header), size, read, notes)


def _file_or_bytes(source: Source) -> Any:
    return str(source.path) if source.path is not None else io.BytesIO(source.held or b"")


def _header_text(cell: Any, position: int) -> str:
    return label_text(cell) if cell != "" else f"Unnamed: {position}"


def _sheet_name(names: list[str], sheet: Any) -> str:
    """The name of the sheet that was asked for: by name, or by its number from 1; the first by default."""
    if sheet is None:
        return names[0]
    text = str(sheet)
    if text in names:
        return text
    if text.isdecimal() and 1 <= int(text) <= len(names):
        return names[int(text) - 1]
    cure = "name one of them, or its number"
    raise InputError("sheet", got=repr(sheet), allowed=f"one of {listed(names)}", cure=cure)


# ---------------------------------------------------------------- SPSS, Stata, SAS


def _of_statistics(source: Source, roles: Roles) -> TypedTable:
    pyreadstat = needed_package("pyreadstat", "files of SPSS, Stata and SAS")
    reader = getattr(pyreadstat, _READSTAT[source.ending])
    path = source.path
    if path is None:  # pyreadstat opens files alone
        path = temporary_folder() / f"table{source.ending}"
        path.write_bytes(source.held or b"")
    errors = (pyreadstat.ReadstatError, pyreadstat.PyreadstatError)
    try:
        _, about = reader(str(path), metadataonly=True)
    except errors as problem:
        raise ValueError(str(problem)) from problem
    names = tuple(about.column_names)
    n_rows = about.number_rows if about.number_rows is not None and about.number_rows >= 0 else None
    if n_rows is None:
        n_rows = source.n_bytes // (8 * max(len(names), 1))

    def read(columns: tuple[str, ...]) -> pd.DataFrame:
        try:
            frame, about = reader(str(path), usecols=list(columns))
        except errors as problem:
            raise ValueError(str(problem)) from problem
        found = {}
        for name in columns:
            column = frame[name]
            if not pd.api.types.is_numeric_dtype(column.dtype):
                column = column.where(column != "", None)
            labels = about.variable_value_labels.get(name, {})
            if labels and name not in roles.numbers:
                column = _with_value_labels(column, labels, name in roles.features)
            found[name] = column
        return pd.DataFrame(found)

    return TypedTable(names, TableSize(n_rows, counted=about.number_rows is not None), read)


def _with_value_labels(column: pd.Series, labels: dict[Any, str], is_feature: bool) -> pd.Series:
    """The labels of values in place of them; of a feature only where every value has one (else it is measured)."""
    values = [value for value in column.unique() if not pd.isna(value)]
    labelled = [value for value in values if value in labels]
    if not labelled or (is_feature and len(labelled) < len(values)):
        return column
    texts = {value: labels.get(value, label_text(value)) for value in values}
    twice = [text for text, number in Counter(texts.values()).items() if number > 1]
    if twice:
        # two values of one label are two groups still
        texts = {v: f"{text} ({label_text(v)})" if text in twice else text for v, text in texts.items()}
    return column.map(lambda value: None if pd.isna(value) else texts[value]).astype(object)


# ---------------------------------------------------------------- R


def _of_r(source: Source) -> TypedTable:
    if source.path is None:
        raise InputError("file", got=".rds by a pipe", allowed="a file", cure="write it into a file")
    path = str(source.path)
    about = rsession.call("rds_columns", path)
    names = _several(about["names"])
    n_rows = int(about["n_rows"])

    def read(columns: tuple[str, ...]) -> pd.DataFrame:
        found = {}
        for name in columns:
            values = rsession.call("rds_column", path, name)
            found[name] = _of_r_column(str(values["kind"]), values["values"])
        return pd.DataFrame(found)

    return TypedTable(tuple(names), TableSize(n_rows, counted=True), read)


def _several(values: Any) -> list[Any]:
    if isinstance(values, np.ndarray):
        return values.tolist()
    return values if isinstance(values, list) else [values]


def _of_r_column(kind: str, values: Any) -> Any:
    """A column as its type in R says; NA of every type is missing."""
    items = _several(values)
    if kind == "double":
        return np.array(items, dtype=np.float64)
    items = [None if v is None or v != v else v for v in items]
    if kind == "integer":
        return _column_of_values([None if v is None else int(v) for v in items])
    if kind == "logical":
        return _column_of_values([None if v is None else bool(v) for v in items])
    return _column_of_values([None if v is None else str(v) for v in items])


def check_needed(names: Sequence[str], roles: Roles, shown: str) -> tuple[str, ...]:
    """The needed columns of a table; an InputError where one is not there, or two bear one name."""
    check_different("file", names, f"{shown} with ")
    check_columns("file", roles.named, names)
    columns = roles.columns(names)
    if roles.labels is None:
        columns = tuple(name for name in columns if not name.startswith("__index_level_"))
    return columns
