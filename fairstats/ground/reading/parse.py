"""The records of a text file, block by block.

By Arrow where it is installed, else by Python's `csv`.

Both read RFC 4180: fields between separators, quoted ones with doubled quotes and line ends inside,
the line end being CR, LF or both; blank lines do not count, and every line has as many fields as
the first. What Arrow refuses is read by `csv` again, which accepts the rest of what is legal and
says in which line an error lies.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, BinaryIO, cast

from fairstats.ground.checks import check_different
from fairstats.ground.errors import InputError
from fairstats.ground.reading.fields import TypedFields, typed_by_arrow, typed_by_python
from fairstats.ground.reading.sizes import LONGEST_HEADER
from fairstats.ground.reading.streams import Source, Utf8Stream
from fairstats.ground.reading.text import Dialect, first_records

#: Rows of a block of Python's parser; least bytes of one of Arrow's, which must hold a whole line.
_ROWS_PER_BLOCK = 50_000
_LEAST_BLOCK_BYTES = 8 << 20
_LARGEST_BLOCK = 512 << 20


@dataclass(frozen=True)
class Plan:
    """How one text file is read.

    `header`: names in its first line; `columns`: those that are needed; `numbers`: those of them
    whose numbers are wanted; `by_arrow`: the parser.
    """

    source: Source
    dialect: Dialect
    header: tuple[str, ...]
    columns: tuple[str, ...]
    numbers: frozenset[str]
    by_arrow: bool


def has_arrow() -> bool:
    """Whether Arrow is installed."""
    return find_spec("pyarrow") is not None


class _LimitedStream(io.RawIOBase):
    """The first bytes of a stream."""

    def __init__(self, stream: BinaryIO, most: int) -> None:
        self._stream = stream
        self.left = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        read_bytes = self._stream.read(min(len(buffer), self.left))
        buffer[: len(read_bytes)] = read_bytes
        self.left -= len(read_bytes)
        return len(read_bytes)


def header_of(source: Source, dialect: Dialect) -> tuple[str, ...]:
    """The names in the first line; one that is empty is called after its position.

    Raises InputError where two columns bear one name, or the first line does not end within 64 MB.
    """
    with source.open_text(dialect.encoding) as stream:
        limited_stream = _LimitedStream(stream, LONGEST_HEADER)
        lines = io.TextIOWrapper(io.BufferedReader(limited_stream), encoding="utf-8", newline="")
        names: list[str] = []
        with _csv_errors(source, None):
            names = next(iter(_numbered_records(lines, dialect.sep, source)), (0, []))[1]
        if limited_stream.left == 0 and stream.read(1) and not names:
            received = f"{source.shown}, whose first line is longer than {LONGEST_HEADER >> 20} MB"
            advice = "check that it is a table, and its separator"
            raise InputError("file", got=received, allowed="a line of names", cure=advice)
    if not names:
        received = f"{source.shown}, which cannot be read: it has no line of names"
        raise InputError(
            "file",
            got=received,
            allowed="a text file with a header line",
            cure="check the file",
        )
    check_different("file", names, f"{source.shown} with ")
    header = []
    for column_number, column_label in enumerate(names):
        header.append(column_label or f"Unnamed: {column_number}")
    return tuple(header)


def first_fields(
    text: str,
    dialect: Dialect,
    header: Sequence[str],
    columns: Sequence[str],
) -> list[str]:
    """Fields of some columns in the beginning of a text."""
    positions = [header.index(column_label) for column_label in columns]
    lines = first_records(text, dialect.sep, most=10_000)[1:]
    missing = {"", *dialect.tokens}
    fields = []
    for record_fields in lines:
        if len(record_fields) == len(header):
            for column_position in positions:
                fields.append(record_fields[column_position])
    result: list[str] = []
    for field_text in fields:
        if field_text not in missing:
            result.append(field_text)
    return result


def blocks(plan: Plan) -> Iterator[dict[str, TypedFields]]:
    """The needed columns of a file, block by block of rows."""
    dialect = plan.dialect
    if plan.by_arrow:
        column_blocks = _by_arrow(plan)
    else:
        column_blocks = _by_csv(plan)
    for values in column_blocks:
        typed_columns = {}
        for column_label, column in values.items():
            if not isinstance(column, list):
                typed_fields = typed_by_arrow
            else:
                typed_fields = typed_by_python
            numbers = column_label in plan.numbers
            typed_columns[column_label] = typed_fields(
                column, dialect.tokens, numbers=numbers, decimal=dialect.decimal
            )
        yield typed_columns


def line_of_row(plan: Plan, row: int) -> int:
    """The number of the line in which a data row begins, both counted as editors do.

    Rows from 0.
    """
    with _text_lines(plan) as lines:
        for record_number, (line_number, _) in enumerate(
            _numbered_records(lines, plan.dialect.sep, plan.source)
        ):
            if record_number == row + 1:
                return line_number
    return row + 2


def _by_arrow(plan: Plan) -> Iterator[dict[str, Any]]:
    """Blocks of columns by Arrow's reader, every field as text."""
    pyarrow_module: Any = import_module("pyarrow")
    pyarrow_csv: Any = import_module("pyarrow.csv")
    # a block must hold the longest line, which may be some times as long as that of the names
    header_length = sum(map(len, plan.header)) + len(plan.header)
    block_bytes = min(max(_LEAST_BLOCK_BYTES, 8 * header_length), _LARGEST_BLOCK)
    with plan.source.open_text(plan.dialect.encoding) as stream:
        reader = pyarrow_csv.open_csv(
            pyarrow_module.PythonFile(stream, mode="r"),
            read_options=pyarrow_csv.ReadOptions(block_size=block_bytes, use_threads=False),
            parse_options=pyarrow_csv.ParseOptions(
                delimiter=plan.dialect.sep,
                newlines_in_values=True,
                ignore_empty_lines=True,
            ),
            convert_options=pyarrow_csv.ConvertOptions(
                include_columns=list(plan.columns),
                column_types=dict.fromkeys(plan.columns, pyarrow_module.string()),
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )
        for record_batch in reader:
            yield dict(zip(plan.columns, record_batch.columns, strict=True))
        # Arrow takes a quote that is not closed for one that ends with the file, and loses the
        # lines in between
        if cast(Utf8Stream, stream.raw).n_quotes % 2:
            raise pyarrow_module.ArrowInvalid("an odd number of quotes")


def _by_csv(plan: Plan) -> Iterator[dict[str, Any]]:
    """Blocks of columns by the csv module, which takes what Arrow does not."""
    positions = [plan.header.index(column_label) for column_label in plan.columns]
    n_fields = len(plan.header)
    if has_arrow():
        make_column = import_module("pyarrow").array
    else:
        make_column = list
    with _text_lines(plan) as lines:
        record_rows: list[list[str]] = []
        records = _numbered_records(lines, plan.dialect.sep, plan.source)
        next(records, None)
        for line_number, fields in records:
            if len(fields) != n_fields:
                received = (
                    f"{plan.source.shown}, whose line {line_number:,} has {len(fields):,} fields"
                )
                allowed = f"lines of {n_fields:,} fields, as many as the first"
                advice = (
                    "quote fields that hold a separator, or name the separator: sep=';' (--sep)"
                )
                raise InputError(
                    "file",
                    got=f"{received}: it cannot be read",
                    allowed=allowed,
                    cure=advice,
                )
            record_rows.append(fields)
            if len(record_rows) == _ROWS_PER_BLOCK:
                yield _columns_of(record_rows, plan.columns, positions, make_column)
                record_rows = []
        if record_rows:
            yield _columns_of(record_rows, plan.columns, positions, make_column)


def _columns_of(
    rows: list[list[str]],
    names: Sequence[str],
    positions: Sequence[int],
    make_column: Any,
) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for column_label, position in zip(names, positions, strict=True):
        columns[column_label] = make_column([fields[position] for fields in rows])
    return columns


@contextmanager
def _text_lines(plan: Plan) -> Iterator[Any]:
    with plan.source.open_text(plan.dialect.encoding) as stream:
        yield io.TextIOWrapper(stream, encoding="utf-8", newline="")


def _numbered_records(
    lines: Any, separator: str, source: Source
) -> Iterator[tuple[int, list[str]]]:
    """The line where each record begins, and its fields."""
    reader = csv.reader(lines, delimiter=separator, strict=True)
    with _csv_errors(source, reader):
        line_number = 1
        for fields in reader:
            if fields:
                yield line_number, fields
            line_number = reader.line_num + 1


@contextmanager
def _csv_errors(source: Source, reader: Any) -> Iterator[None]:
    try:
        yield
    except csv.Error as problem:
        if reader is None:
            near_line = ""
        else:
            near_line = f" near line {reader.line_num:,}"
        received = f"{source.shown}, which cannot be read{near_line} ({problem})"
        advice = "check the quotes there, and the separator"
        raise InputError(
            "file",
            got=received,
            allowed="a text file in which quotes are closed",
            cure=advice,
        ) from problem
