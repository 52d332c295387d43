"""Files that know the types of their columns.

Spreadsheets, statistics packages, Arrow, JSON lines, R.

Their values stay what they are: a whole number is whole (with missing values too, where the format
tells them apart), a text is a text, "NA" is a value. Empty text is missing.
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
_PYREADSTAT_READERS = {
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
    """What a file of a typed format holds, before its values are read.

    Its columns, its size, and how to read them; `elsewhere`: where a column may be that it lacks.
    """

    columns: tuple[str, ...]
    size: TableSize
    read: Callable[[tuple[str, ...]], pd.DataFrame]
    notes: tuple[str, ...] = ()
    elsewhere: str = ""


def needed_package(name: str, what: str) -> Any:
    """A package of the extra `files`."""
    try:
        return import_module(name)
    except ImportError as problem:
        alternative = "save the table as CSV"
        package = {"python_calamine": "python-calamine"}.get(name, name.partition(".")[0])
        raise MissingDependencyError(
            package,
            extra="files",
            purpose=f"Reading {what}",
            alternative=alternative,
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
    allowed = (
        "a name that ends in .csv, .tsv, .tab, .txt, .dat, .data (also with .gz, .bz2, .xz, .zip,"
        " .zst), .parquet, .feather, "
    )
    allowed += ".jsonl, .xlsx, .xls, .ods, .sav, .zsav, .por, .dta, .sas7bdat, .xpt or .rds"
    raise InputError(
        "file",
        got=source.shown,
        allowed=allowed,
        cure="rename it, or convert it to CSV or Parquet",
    )


# ---------------------------------------------------------------- Arrow


def _of_parquet(source: Source) -> TypedTable:
    parquet = needed_package("pyarrow.parquet", "Parquet")
    with parquet.ParquetFile(_arrow_source(source)) as opened:
        names = opened.schema_arrow.names
        n_rows = opened.metadata.num_rows

    def read(columns: tuple[str, ...]) -> pd.DataFrame:
        with parquet.ParquetFile(_arrow_source(source)) as opened:
            return frame_of_arrow(
                opened.read(columns=list(columns), use_pandas_metadata=False), columns
            )

    return TypedTable(tuple(names), TableSize(n_rows, counted=True), read)


def _of_feather(source: Source) -> TypedTable:
    """A file of Feather or Arrow."""
    feather = needed_package("pyarrow.feather", "Feather")
    pyarrow_module: Any = import_module("pyarrow")
    with source.open_raw() as stream:
        if stream.read(6) == b"ARROW1":
            stream.seek(0)
            opened = pyarrow_module.ipc.open_file(pyarrow_module.PythonFile(stream, mode="r"))
            names = tuple(opened.schema.names)
        else:  # the first version of Feather has no footer that could be read alone
            names = tuple(feather.read_table(_arrow_source(source)).column_names)
    # eight bytes a value, unless compressed
    n_rows = source.n_bytes // (8 * max(len(names), 1))

    def read(columns: tuple[str, ...]) -> pd.DataFrame:
        return frame_of_arrow(
            feather.read_table(_arrow_source(source), columns=list(columns)), columns
        )

    return TypedTable(names, TableSize(n_rows, counted=False, n_bytes=source.n_bytes), read)


def _arrow_source(source: Source) -> Any:
    """What Arrow opens: a path, or a buffer of bytes."""
    if source.path is not None:
        return str(source.path)
    return import_module("pyarrow").BufferReader(source.held)


def frame_of_arrow(table: Any, columns: Sequence[str]) -> pd.DataFrame:
    """An Arrow table as a pandas frame in which whole numbers stay whole."""
    pyarrow_module: Any = import_module("pyarrow")
    type_of_whole_numbers = {
        pyarrow_module.int8(): pd.Int8Dtype(),
        pyarrow_module.int16(): pd.Int16Dtype(),
        pyarrow_module.int32(): pd.Int32Dtype(),
        pyarrow_module.int64(): pd.Int64Dtype(),
        pyarrow_module.uint8(): pd.UInt8Dtype(),
        pyarrow_module.uint16(): pd.UInt16Dtype(),
        pyarrow_module.uint32(): pd.UInt32Dtype(),
        pyarrow_module.uint64(): pd.UInt64Dtype(),
        pyarrow_module.bool_(): pd.BooleanDtype(),
    }
    pandas_columns = {}
    for column_label in columns:
        column = table.column(column_label)
        if pyarrow_module.types.is_dictionary(column.type) and not column.type.ordered:
            # a way to store text; it declares no order
            column = column.cast(column.type.value_type)
        types_mapper: Any = None
        if column.null_count and column.type in type_of_whole_numbers:
            types_mapper = type_of_whole_numbers.get
        elif pyarrow_module.types.is_time(column.type):
            types_mapper = pd.ArrowDtype  # Python's times hold no nanoseconds
        pandas_columns[column_label] = column.to_pandas(types_mapper=types_mapper)
    return pd.DataFrame(pandas_columns)


# ---------------------------------------------------------------- JSON lines


def _of_json_lines(source: Source) -> TypedTable:
    """A file with one JSON object a line; names are those of the first thousand."""
    names: dict[str, None] = {}
    with source.open_text("utf-8") as stream:
        for line_number, line_text in enumerate(io.TextIOWrapper(stream, encoding="utf-8")):
            if line_text.strip():
                names.update(dict.fromkeys(_json_record(line_text, line_number + 1, source.shown)))
            if line_number >= 1_000:
                break
    n_bytes = source.expanded_bytes
    n_rows = max(n_bytes // 100, 1)

    def read(columns: tuple[str, ...]) -> pd.DataFrame:
        values: dict[str, list[Any]] = {column_label: [] for column_label in columns}
        with source.open_text("utf-8") as stream:
            for line_number, line_text in enumerate(io.TextIOWrapper(stream, encoding="utf-8")):
                if line_text.strip():
                    record = _json_record(line_text, line_number + 1, source.shown)
                    for column_label in columns:
                        values[column_label].append(record.get(column_label))
        return pd.DataFrame(
            {column_label: column_of_values(column) for column_label, column in values.items()}
        )

    return TypedTable(tuple(names), TableSize(n_rows, counted=False, n_bytes=n_bytes), read)


def _json_record(line_text: str, number: int, source_words: str) -> dict[str, Any]:
    try:
        record = json.loads(line_text)
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"line {number:,} is no JSON") from problem
    if not isinstance(record, dict):
        received = f"{source_words}, whose line {number:,} holds a {type(record).__name__}"
        allowed = 'one object a line: {"sex": "f", "hired": 1}'
        advice = "write it with to_json(orient='records', lines=True)"
        raise InputError("file", got=received, allowed=allowed, cure=advice)
    return record


def column_of_values(values: list[Any]) -> Any:
    """A column of Python values, of the narrowest type that changes none of them."""
    values = [
        None if isinstance(each_value, str) and each_value == "" else each_value
        for each_value in values
    ]
    value_types = {type(each_value) for each_value in values if each_value is not None}
    missing = None in values
    if value_types == {bool}:
        if missing:
            return pd.array(values, dtype="boolean")
        return np.array(values, dtype=bool)
    if value_types == {int}:
        fits_int64 = all(
            each_value is None or -(2**63) <= each_value < 2**63 for each_value in values
        )
        if fits_int64:
            if missing:
                return pd.array(values, dtype="Int64")
            return np.array(values, dtype=np.int64)
        return pd.Series(values, dtype=object)
    whole_is_exact = all(
        abs(each_value) <= 2**53 for each_value in values if isinstance(each_value, int)
    )
    if value_types and value_types <= {int, float} and whole_is_exact:
        return np.array(
            [np.nan if each_value is None else each_value for each_value in values],
            dtype=np.float64,
        )
    if value_types == {str}:
        return pd.Series(values)
    return pd.Series(values, dtype=object)


# ---------------------------------------------------------------- spreadsheets


def _of_spreadsheet(source: Source, sheet: Any) -> TypedTable:
    """The sheet of a workbook that was asked for, else the first."""
    calamine = needed_package("python_calamine", "spreadsheets")
    try:
        opened_book = calamine.CalamineWorkbook.from_object(_file_or_bytes(source))
    except calamine.CalamineError as problem:
        raise ValueError(str(problem)) from problem
    with opened_book as workbook:
        names = workbook.sheet_names
        chosen_sheet = _sheet_name(names, sheet)
        opened = workbook.get_sheet_by_name(chosen_sheet)
        height = opened.total_height
        width = opened.total_width
        sheet_rows = opened.to_python()
    notes: tuple[str, ...] = ()
    elsewhere = ""
    if sheet is None and len(names) > 1:
        other_sheets = listed(
            [other_sheet for other_sheet in names if other_sheet != chosen_sheet], 8
        )
        notes = (
            (
                f"Of the sheets of {source.name} the first was read, {chosen_sheet!r}; the others are"
                f" {other_sheets}."
            ),
        )
        elsewhere = f"name the sheet that has it, {other_sheets}: sheet= (--sheet)"
    if not sheet_rows:
        raise InputError(
            "file", got=f"{source.shown} with an empty sheet {chosen_sheet!r}", allowed=_NO_TABLE
        )
    header = [
        _header_text(header_cell, column_number)
        for column_number, header_cell in enumerate(sheet_rows[0])
    ]
    check_different("file", header, f"{source.shown} with ")

    def read(columns: tuple[str, ...]) -> pd.DataFrame:
        frame_columns = {}
        for column in columns:
            column_number = header.index(column)
            frame_columns[column] = column_of_values(
                [sheet_row[column_number] for sheet_row in sheet_rows[1:]]
            )
        return pd.DataFrame(frame_columns)

    size = TableSize(len(sheet_rows) - 1, counted=True, n_bytes=8 * height * width)
    return TypedTable(columns=tuple(header), size=size, read=read, notes=notes, elsewhere=elsewhere)


def _file_or_bytes(source: Source) -> Any:
    if source.path is not None:
        return str(source.path)
    return io.BytesIO(source.held or b"")


def _header_text(header_cell: Any, position: int) -> str:
    if header_cell != "":
        return label_text(header_cell)
    return f"Unnamed: {position}"


def _sheet_name(names: list[str], sheet: Any) -> str:
    """The name of the sheet that was asked for: by name, or by its number from 1.

    The first by default.
    """
    if sheet is None:
        return names[0]
    wanted_text = str(sheet)
    if wanted_text in names:
        return wanted_text
    if wanted_text.isdecimal() and 1 <= int(wanted_text) <= len(names):
        return names[int(wanted_text) - 1]
    advice = "name one of them, or its number"
    raise InputError("sheet", got=repr(sheet), allowed=f"one of {listed(names)}", cure=advice)


# ---------------------------------------------------------------- SPSS, Stata, SAS


def _of_statistics(source: Source, roles: Roles) -> TypedTable:
    """A file of SPSS, Stata or SAS, its columns first and its rows when they are asked for."""
    pyreadstat = needed_package("pyreadstat", "files of SPSS, Stata and SAS")
    reader = getattr(pyreadstat, _PYREADSTAT_READERS[source.ending])
    path = source.path
    if path is None:  # pyreadstat opens files alone
        path = temporary_folder() / f"table{source.ending}"
        path.write_bytes(source.held or b"")
    errors = (pyreadstat.ReadstatError, pyreadstat.PyreadstatError)
    try:
        _, file_metadata = reader(str(path), metadataonly=True)
    except errors as problem:
        raise ValueError(str(problem)) from problem
    names = tuple(file_metadata.column_names)
    if file_metadata.number_rows is not None and file_metadata.number_rows >= 0:
        n_rows = file_metadata.number_rows
    else:
        n_rows = None
    if n_rows is None:
        n_rows = source.n_bytes // (8 * max(len(names), 1))

    def read(columns: tuple[str, ...]) -> pd.DataFrame:
        try:
            frame, file_metadata = reader(str(path), usecols=list(columns))
        except errors as problem:
            raise ValueError(str(problem)) from problem
        frame_columns = {}
        for column_label in columns:
            column = frame[column_label]
            if not pd.api.types.is_numeric_dtype(column.dtype):
                column = column.where(column != "", None)
            labels = file_metadata.variable_value_labels.get(column_label, {})
            if labels and column_label not in roles.numbers:
                column = _with_value_labels(column, labels, column_label in roles.features)
            frame_columns[column_label] = column
        return pd.DataFrame(frame_columns)

    return TypedTable(names, TableSize(n_rows, counted=file_metadata.number_rows is not None), read)


def _with_value_labels(column: pd.Series, labels: dict[Any, str], is_feature: bool) -> pd.Series:
    """The labels of values in place of them.

    Of a feature only where every value has one (else it is measured).
    """
    values = [column_value for column_value in column.unique() if not pd.isna(column_value)]
    labelled_values = [column_value for column_value in values if column_value in labels]
    if not labelled_values or (is_feature and len(labelled_values) < len(values)):
        return column
    texts = {
        column_value: labels.get(column_value, label_text(column_value)) for column_value in values
    }
    shared_labels = []
    for label, number in Counter(texts.values()).items():
        if number > 1:
            shared_labels.append(label)
    if shared_labels:
        # two values of one label are two groups still
        texts = {
            labelled_value: f"{label} ({label_text(labelled_value)})"
            if label in shared_labels
            else label
            for labelled_value, label in texts.items()
        }
    return column.map(
        lambda column_value: None if pd.isna(column_value) else texts[column_value]
    ).astype(object)


# ---------------------------------------------------------------- R


def _of_r(source: Source) -> TypedTable:
    """A data frame of an .rds file, read by R."""
    if source.path is None:
        raise InputError(
            "file",
            got=".rds by a pipe",
            allowed="a file",
            cure="write it into a file",
        )
    path = str(source.path)
    file_metadata = rsession.call("rds_columns", path)
    names = _as_list(file_metadata["names"])
    n_rows = int(file_metadata["n_rows"])

    def read(columns: tuple[str, ...]) -> pd.DataFrame:
        frame_columns = {}
        for column_label in columns:
            values = rsession.call("rds_column", path, column_label)
            frame_columns[column_label] = _of_r_column(str(values["kind"]), values["values"])
        return pd.DataFrame(frame_columns)

    return TypedTable(tuple(names), TableSize(n_rows, counted=True), read)


def _as_list(values: Any) -> list[Any]:
    if isinstance(values, np.ndarray):
        return list(values.tolist())
    return values if isinstance(values, list) else [values]


def _of_r_column(r_type: str, values: Any) -> Any:
    """A column as its type in R says; NA of every type is missing."""
    value_list = _as_list(values)
    if r_type == "double":
        return np.array(value_list, dtype=np.float64)
    value_list = [
        None if each_value is None or each_value != each_value else each_value
        for each_value in value_list
    ]
    if r_type == "integer":
        return column_of_values(
            [None if each_value is None else int(each_value) for each_value in value_list]
        )
    if r_type == "logical":
        return column_of_values(
            [None if each_value is None else bool(each_value) for each_value in value_list]
        )
    return column_of_values(
        [None if each_value is None else str(each_value) for each_value in value_list]
    )


def check_needed(
    names: Sequence[str], roles: Roles, shown: str, elsewhere: str = ""
) -> tuple[str, ...]:
    """The needed columns of a table; an InputError where one is not there, or two bear one name."""
    check_different("file", names, f"{shown} with ")
    if elsewhere:
        check_columns("file", roles.named, names, elsewhere)
    check_columns("file", roles.named, names)
    columns = roles.columns(names)
    if roles.labels is None:
        columns = tuple(
            column_label
            for column_label in columns
            if not column_label.startswith("__index_level_")
        )
    return columns
