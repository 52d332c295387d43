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
from fairstats.ground.reading.parse import Plan, blocks, first_fields, has_arrow, header_of, line_of_row
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
    """One file that was read: where its blocks went, what was seen of its columns, and what was recognised."""

    plan: Plan
    sink: Any
    seen: dict[str, ColumnSeen]
    notes: tuple[str, ...]


def plan_of(source: Source, roles: Roles, options: ReadingOptions, sample: bytes) -> Plan:
    """How a file is to be read, told from its beginning and from what was asked."""
    encoding = options.encoding or encoding_of(sample)
    default = "\t" if source.ending == ".tsv" else ","
    text = sample.decode(encoding, "replace").removeprefix("\ufeff")
    sep = options.sep or separator_of(text, roles.named, default)
    dialect = Dialect(sep=sep, decimal=options.decimal or ".", encoding=encoding, tokens=options.tokens)
    with readable(source.shown):
        header = header_of(source, dialect)
    cure = "check the spelling"
    if len(header) == 1 and options.sep is None:
        cure = "check the spelling; if the separator was not recognised, name it: sep=';' (--sep)"
    if len(header) > _MANY_NAMES:
        cure = f"check the spelling among the {len(header):,} names"  # the nearest of so many is not looked for
    check_columns("file", roles.named, header, cure)
    columns = roles.columns(header)
    plan = Plan(source, dialect, header, columns, roles.wanted_as_numbers, by_arrow=has_arrow())
    if options.decimal is None and plan.numbers:
        fields = first_fields(text, dialect, header, [name for name in columns if name in plan.numbers])
        dialect = replace(dialect, decimal=decimal_of(fields))
    return replace(plan, dialect=dialect)


def read_text_file(plan: Plan, roles: Roles, options: ReadingOptions, make_sink: Any) -> TextFile:
    """Read one file; what its beginning did not show (another encoding, a decimal comma) is met by a second start."""
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
            decimal = plan.dialect.decimal if first_problem is None else "."
            raise error_of(first_problem or problem, plan, decimal) from None


class _AnotherEncoding(Exception):
    """The file is not in the encoding that its beginning showed."""


class _AnotherParser(Exception):
    """Arrow's parser refused the file."""


def _read_once(plan: Plan, roles: Roles, options: ReadingOptions, make_sink: Any) -> TextFile:
    seen = columns_seen(plan.columns, roles)
    sink: Sink = make_sink(plan.columns, seen)
    refused: tuple[type[Exception], ...] = ()
    if plan.by_arrow:
        pa: Any = import_module("pyarrow")
        refused = (pa.ArrowInvalid, pa.ArrowKeyError)
    try:
        for block in blocks(plan):
            n_rows = len(next(iter(block.values())).text)
            for name, typed in block.items():
                n_missing = _n_missing(typed.text)
                seen[name].add(typed, n_rows, n_missing, sink.n_rows)
            sink.add(block, seen, n_rows)
    except UnicodeDecodeError as problem:
        sink.close()
        if options.encoding is not None or plan.dialect.encoding == FALLBACKS[-1]:
            raise
        if not plan.dialect.encoding.startswith(("utf-8", "cp")):
            raise
        raise _AnotherEncoding from problem
    except refused as problem:
        sink.close()
        raise _AnotherParser from problem
    except BaseException:
        sink.close()
        raise
    sink.close()
    return TextFile(plan, sink, seen, _notes(plan, options))


def error_of(problem: NoNumberError, plan: Plan, decimal: str | None = None) -> InputError:
    """The error about a field that is no number, with its line."""
    line = line_of_row(plan, problem.row)
    mark = decimal or plan.dialect.decimal
    return no_number(problem.column, problem.text, line, where=plan.source.shown, mixed=problem.mixed, decimal=mark)


def _n_missing(text: Any) -> int:
    return text.count(None) if isinstance(text, list) else text.null_count


def _notes(plan: Plan, options: ReadingOptions) -> tuple[str, ...]:
    """What was recognised and is not the common way."""
    dialect = plan.dialect
    found = []
    default = "\t" if plan.source.ending == ".tsv" else ","
    if options.sep is None and dialect.sep != default:
        found.append(f"{SEPARATOR_NAMES[dialect.sep]} between the fields")
    if options.decimal is None and dialect.decimal == ",":
        found.append("decimal commas")
    if options.encoding is None and dialect.encoding != "utf-8":
        found.append(f"text in {encoding_name(dialect.encoding)}")
    if not found:
        return ()
    where = plan.source.path.name if plan.source.path is not None else plan.source.shown
    return (f"{where} was read with {', '.join(found)}, as its beginning shows.",)


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
        kept = {}
        for name, typed in block.items():
            text = typed.text if seen[name].keeps_text else None
            numbers = typed.numbers if seen[name].keeps_numbers else None
            kept[name] = (text, numbers)
            self._bytes += _bytes_of(text) + _bytes_of(numbers)
        self.blocks.append(kept)
        self.n_rows += n_rows
        # a frame is made of the blocks, beside them
        if 2 * self._bytes > self._budget:
            got = f"{self._shown}, whose first {self.n_rows:,} rows take {self._bytes / 1e9:.1f} GB"
            allowed = "what the free memory can hold"
            cure = "name fewer columns, or an engine that does not load them: engine='duckdb'"
            raise InputError("file", got=got, allowed=allowed, cure=cure)

    def close(self) -> None:
        """Nothing is to be closed."""


def _bytes_of(values: Any) -> int:
    if values is None:
        return 0
    # a list has a text of 50 bytes and more for each of its pointers
    return 60 * len(values) if isinstance(values, list) else int(values.nbytes)


def frame_of_blocks(files: Sequence[TextFile], as_numbers: dict[str, bool]) -> pd.DataFrame:
    """The rows of some files as one frame."""
    parts = [block for file in files for block in file.sink.blocks]
    columns = {}
    for name, is_number in as_numbers.items():
        pieces = [part[name][1 if is_number else 0] for part in parts]
        columns[name] = _numbers(pieces) if is_number else _texts(pieces)
    return pd.DataFrame(columns)


def _numbers(pieces: list[Any]) -> Any:
    arrays = []
    for piece in pieces:
        if isinstance(piece, list):
            arrays.append(np.array([math.nan if number is None else number for number in piece], dtype=np.float64))
        else:
            arrays.append(np.asarray(piece.to_numpy(zero_copy_only=False), dtype=np.float64))
    return np.concatenate(arrays) if arrays else np.zeros(0)


def _texts(pieces: list[Any]) -> Any:
    if all(isinstance(piece, list) for piece in pieces):
        return pd.Series([text for piece in pieces for text in piece], dtype=None if any(pieces) else object)
    pa: Any = import_module("pyarrow")
    chunks = [pa.array(piece, pa.string()) if isinstance(piece, list) else piece for piece in pieces]
    return pa.chunked_array(chunks, type=pa.string()).to_pandas()


class ParquetSink:
    """Blocks written to a Parquet file: for each column its text, its numbers or both, by its position."""

    def __init__(self, path: Path, columns: Sequence[str], seen: dict[str, ColumnSeen]) -> None:
        pa: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
        self.n_rows = 0
        fields = []
        for k, name in enumerate(columns):
            if seen[name].keeps_text:
                fields.append((f"text{k}", pa.string()))
            if seen[name].keeps_numbers:
                fields.append((f"number{k}", pa.float64()))
        self.path = path
        self._schema = pa.schema(fields)
        self._columns = columns
        self._writer = parquet.ParquetWriter(path, self._schema, compression="zstd", compression_level=1)

    def add(self, block: dict[str, TypedFields], seen: dict[str, ColumnSeen], n_rows: int) -> None:
        """Write a block."""
        pa: Any = import_module("pyarrow")
        values = []
        for name in self._columns:
            if seen[name].keeps_text:
                values.append(block[name].text)
            if seen[name].keeps_numbers:
                values.append(block[name].numbers)
        arrays = [pa.array(v, t) if isinstance(v, list) else v for v, t in zip(values, self._schema.types, strict=True)]
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))
        self.n_rows += n_rows

    def close(self) -> None:
        """End the file."""
        self._writer.close()
