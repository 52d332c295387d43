"""Text files into memory or into Parquet: how each is written is recognised, and said."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fairstats.ground.encoding import check_columns
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import pd
from fairstats.ground.reading.fields import NoNumberError, TypedFields
from fairstats.ground.reading.parse import (
    Plan,
    blocks,
    first_fields,
    has_arrow,
    header_of,
    line_of_row,
)
from fairstats.ground.reading.roles import ColumnSeen, ReadingOptions, Roles, columns_seen
from fairstats.ground.reading.streams import FALLBACKS, Source, encoding_name, encoding_of, readable
from fairstats.ground.reading.text import (
    SEPARATOR_NAMES,
    Dialect,
    decimal_of,
    no_number,
    separator_of,
    shows_decimal_comma,
)

#: Up to so many names an error looks for the one that was meant.
_MANY_NAMES = 10_000


class Sink(Protocol):
    """Where the blocks of one file go."""

    n_rows: int

    def add(self, block: dict[str, TypedFields], seen: dict[str, ColumnSeen], n_rows: int) -> None:
        """Take a block."""

    def close(self) -> None:
        """Take no more."""


@dataclass(frozen=True)
class TextFile:
    """One file that was read: where its blocks went, what was seen of its columns, and what was
    recognised.
    """

    plan: Plan
    sink: Any
    seen: dict[str, ColumnSeen]
    notes: tuple[str, ...]


def plan_of(source: Source, roles: Roles, options: ReadingOptions, sample: bytes) -> Plan:
    """How a file is to be read, told from its beginning and from what was asked."""
    encoding = options.encoding or encoding_of(sample)
    if source.ending == ".tsv":
        default_separator = "\t"
    else:
        default_separator = ","
    sample_text = sample.decode(encoding, "replace").removeprefix("\ufeff")
    separator = options.sep or separator_of(sample_text, roles.named, default_separator)
    dialect = Dialect(
        sep=separator,
        decimal=options.decimal or ".",
        encoding=encoding,
        tokens=options.tokens,
    )
    with readable(source.shown):
        header = header_of(source, dialect)
    advice = "check the spelling"
    if len(header) == 1 and options.sep is None:
        advice = "check the spelling; if the separator was not recognised, name it: sep=';' (--sep)"
    if len(header) > _MANY_NAMES:
        # the nearest of so many is not looked for
        advice = f"check the spelling among the {len(header):,} names"
    check_columns("file", roles.named, header, advice)
    columns = roles.columns(header)
    plan = Plan(
        source=source,
        dialect=dialect,
        header=header,
        columns=columns,
        numbers=roles.wanted_as_numbers,
        by_arrow=has_arrow(),
    )
    if options.decimal is None and plan.numbers:
        fields = first_fields(
            sample_text,
            dialect,
            header,
            [column_label for column_label in columns if column_label in plan.numbers],
        )
        dialect = replace(dialect, decimal=decimal_of(fields))
    return replace(plan, dialect=dialect)


def read_text_file(plan: Plan, roles: Roles, options: ReadingOptions, make_sink: Any) -> TextFile:
    """Read one file; what its beginning did not show (another encoding, a decimal comma) is met by
    a second start.
    """
    first_problem: NoNumberError | None = None
    fallbacks = list(FALLBACKS)
    while True:
        try:
            with readable(plan.source.shown):
                return _read_once(plan, roles, options, make_sink)
        except _AnotherEncoding:
            plan = replace(plan, dialect=replace(plan.dialect, encoding=fallbacks.pop(0)))
        except _AnotherParser:
            plan = replace(plan, by_arrow=False)
        except NoNumberError as problem:
            by_default = options.decimal is None and plan.dialect.decimal == "."
            if first_problem is None and by_default and shows_decimal_comma(problem.text):
                first_problem = problem
                plan = replace(plan, dialect=replace(plan.dialect, decimal=","))
                continue
            if first_problem is None:
                decimal = plan.dialect.decimal
            else:
                decimal = "."
            raise error_of(first_problem or problem, plan, decimal) from None


class _AnotherEncoding(Exception):
    """The file is not in the encoding that its beginning showed."""


class _AnotherParser(Exception):
    """Arrow's parser refused the file."""


def _read_once(plan: Plan, roles: Roles, options: ReadingOptions, make_sink: Any) -> TextFile:
    """Read a file of text block by block into a sink, noting what each column holds."""
    seen_columns = columns_seen(plan.columns, roles)
    block_sink: Sink = make_sink(plan.columns, seen_columns)
    refusing_errors: tuple[type[Exception], ...] = ()
    if plan.by_arrow:
        pyarrow_module: Any = import_module("pyarrow")
        refusing_errors = (pyarrow_module.ArrowInvalid, pyarrow_module.ArrowKeyError)
    try:
        for column_block in blocks(plan):
            n_rows = len(next(iter(column_block.values())).text)
            for column_label, typed_fields in column_block.items():
                n_missing = _n_missing(typed_fields.text)
                seen_columns[column_label].add(typed_fields, n_rows, n_missing, block_sink.n_rows)
            block_sink.add(column_block, seen_columns, n_rows)
    except UnicodeDecodeError as problem:
        block_sink.close()
        if options.encoding is not None or plan.dialect.encoding == FALLBACKS[-1]:
            raise
        if not plan.dialect.encoding.startswith(("utf-8", "cp")):
            raise
        raise _AnotherEncoding from problem
    except refusing_errors as problem:
        block_sink.close()
        raise _AnotherParser from problem
    except BaseException:
        block_sink.close()
        raise
    block_sink.close()
    return TextFile(
        plan=plan, sink=block_sink, seen=seen_columns, notes=_recognition_notes(plan, options)
    )


def error_of(problem: NoNumberError, plan: Plan, decimal: str | None = None) -> InputError:
    """The error about a field that is no number, with its line."""
    line_number = line_of_row(plan, problem.row)
    decimal_mark = decimal or plan.dialect.decimal
    return no_number(
        problem.column,
        problem.text,
        line_number,
        where=plan.source.shown,
        mixed=problem.mixed,
        decimal=decimal_mark,
    )


def _n_missing(label_texts: Any) -> int:
    return label_texts.count(None) if isinstance(label_texts, list) else label_texts.null_count


def _recognition_notes(plan: Plan, options: ReadingOptions) -> tuple[str, ...]:
    """What was recognised and is not the common way."""
    dialect = plan.dialect
    recognised = []
    if plan.source.ending == ".tsv":
        default_separator = "\t"
    else:
        default_separator = ","
    if options.sep is None and dialect.sep != default_separator:
        recognised.append(f"{SEPARATOR_NAMES[dialect.sep]} between the fields")
    if options.decimal is None and dialect.decimal == ",":
        recognised.append("decimal commas")
    if options.encoding is None and dialect.encoding != "utf-8":
        recognised.append(f"text in {encoding_name(dialect.encoding)}")
    if not recognised:
        return ()
    if plan.source.path is not None:
        file_name = plan.source.path.name
    else:
        file_name = plan.source.shown
    return (f"{file_name} was read with {', '.join(recognised)}, as its beginning shows.",)


class FrameSink:
    """Blocks kept in memory, up to a number of bytes."""

    def __init__(self, budget: int, shown: str) -> None:
        self.n_rows = 0
        self.blocks: list[dict[str, tuple[Any, Any]]] = []
        self._budget = budget
        self._bytes = 0
        self._shown = shown

    def add(self, block: dict[str, TypedFields], seen: dict[str, ColumnSeen], n_rows: int) -> None:
        """Keep a block."""
        kept_columns = {}
        for column_label, typed_fields in block.items():
            if seen[column_label].keeps_text:
                label_texts = typed_fields.text
            else:
                label_texts = None
            if seen[column_label].keeps_numbers:
                numbers = typed_fields.numbers
            else:
                numbers = None
            kept_columns[column_label] = (label_texts, numbers)
            self._bytes += _bytes_of(label_texts) + _bytes_of(numbers)
        self.blocks.append(kept_columns)
        self.n_rows += n_rows
        # a frame is made of the blocks, beside them
        if 2 * self._bytes > self._budget:
            received = (
                f"{self._shown}, whose first {self.n_rows:,} rows take {self._bytes / 1e9:.1f} GB"
            )
            allowed = "what the free memory can hold"
            advice = "name fewer columns, or an engine that does not load them: engine='duckdb'"
            raise InputError("file", got=received, allowed=allowed, cure=advice)

    def close(self) -> None:
        """Nothing is to be closed."""


def _bytes_of(values: Any) -> int:
    if values is None:
        return 0
    # a list has a text of 50 bytes and more for each of its pointers
    if isinstance(values, list):
        return 60 * len(values)
    return int(values.nbytes)


def frame_of_blocks(files: Sequence[TextFile], as_numbers: dict[str, bool]) -> pd.DataFrame:
    """The rows of some files as one frame."""
    column_blocks = []
    for file in files:
        for file_block in file.sink.blocks:
            column_blocks.append(file_block)
    columns = {}
    for column_label, is_number in as_numbers.items():
        pieces = []
        for column_block in column_blocks:
            pieces.append(column_block[column_label][1 if is_number else 0])
        columns[column_label] = _join_numbers(pieces) if is_number else _join_texts(pieces)
    return pd.DataFrame(columns)


def _join_numbers(pieces: list[Any]) -> Any:
    arrays = []
    for column_piece in pieces:
        if isinstance(column_piece, list):
            arrays.append(
                np.array(
                    [math.nan if number is None else number for number in column_piece],
                    dtype=np.float64,
                )
            )
        else:
            arrays.append(np.asarray(column_piece.to_numpy(zero_copy_only=False), dtype=np.float64))
    return np.concatenate(arrays) if arrays else np.zeros(0)


def _join_texts(pieces: list[Any]) -> Any:
    if all(isinstance(column_piece, list) for column_piece in pieces):
        return pd.Series(
            [field_text for column_piece in pieces for field_text in column_piece],
            dtype=None if any(pieces) else object,
        )
    pyarrow_module: Any = import_module("pyarrow")
    chunks = []
    for column_piece in pieces:
        chunks.append(
            pyarrow_module.array(column_piece, pyarrow_module.string())
            if isinstance(column_piece, list)
            else column_piece
        )
    return pyarrow_module.chunked_array(chunks, type=pyarrow_module.string()).to_pandas()


class ParquetSink:
    """Blocks written to a Parquet file.

    For each column its text, its numbers or both, by its position.
    """

    def __init__(self, path: Path, columns: Sequence[str], seen: dict[str, ColumnSeen]) -> None:
        pyarrow_module: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
        self.n_rows = 0
        fields = []
        for column_number, column_label in enumerate(columns):
            if seen[column_label].keeps_text:
                fields.append((f"text{column_number}", pyarrow_module.string()))
            if seen[column_label].keeps_numbers:
                fields.append((f"number{column_number}", pyarrow_module.float64()))
        self.path = path
        self._schema = pyarrow_module.schema(fields)
        self._columns = columns
        self._writer = parquet.ParquetWriter(
            path, self._schema, compression="zstd", compression_level=1
        )

    def add(self, block: dict[str, TypedFields], seen: dict[str, ColumnSeen], n_rows: int) -> None:
        """Write a block."""
        pyarrow_module: Any = import_module("pyarrow")
        values = []
        for column_label in self._columns:
            if seen[column_label].keeps_text:
                values.append(block[column_label].text)
            if seen[column_label].keeps_numbers:
                values.append(block[column_label].numbers)
        arrays = []
        for column_values, column_type in zip(values, self._schema.types, strict=True):
            arrays.append(
                pyarrow_module.array(column_values, column_type)
                if isinstance(column_values, list)
                else column_values
            )
        self._writer.write_batch(pyarrow_module.record_batch(arrays, schema=self._schema))
        self.n_rows += n_rows

    def close(self) -> None:
        """End the file."""
        self._writer.close()
