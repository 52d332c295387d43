"""`read_table`, the one way in for files.

What a path names, how large it is, in memory or for an engine.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Literal

from fairstats.ground.checks import check_choice, column_names, listed
from fairstats.ground.engines.sources import ENGINES
from fairstats.ground.errors import DataWarning, InputError, caution
from fairstats.ground.lazy import pd
from fairstats.ground.progress import under_way
from fairstats.ground.reading import sizes
from fairstats.ground.reading.fields import NoNumberError
from fairstats.ground.reading.formats import (
    TypedTable,
    check_needed,
    column_of_values,
    needed_package,
    typed_table,
)
from fairstats.ground.reading.parse import Plan
from fairstats.ground.reading.places import PARQUET, STANDARD, TEXT, table_files
from fairstats.ground.reading.record import ReadingRecord, remember
from fairstats.ground.reading.roles import ColumnSeen, ReadingOptions, Roles, merged
from fairstats.ground.reading.sizes import TableSize
from fairstats.ground.reading.stored import check_twins, frame_as_parquet, new_folder, open_parquet
from fairstats.ground.reading.streams import BLOCK, Source, readable
from fairstats.ground.reading.textfiles import (
    FrameSink,
    ParquetSink,
    TextFile,
    error_of,
    frame_of_blocks,
    plan_of,
    read_text_file,
)


def read_table(
    source: Any,
    *,
    columns: str | Sequence[str] | None = None,
    numbers: str | Sequence[str] = (),
    features: str | Sequence[str] = (),
    na_values: str | Iterable[str] | None = None,
    encoding: str | None = None,
    sep: str | None = None,
    decimal: Literal[".", ","] | None = None,
    sheet: str | int | None = None,
    engine: Literal["auto", "rows", "duckdb", "polars", "spark"] = "auto",
    memory: str | None = None,
) -> Any:
    r"""Read a table from a file, in memory or for an engine; every engine gives the same values.

    Text files are read as text: "01" and "1" are two labels, no field is a date or a truth value.
    Which columns are numbers is said by `numbers` and `features`. Files that know types (Parquet,
    spreadsheets, SPSS, …) keep them.

    Parameters
    ----------
    source : str, path, bytes or binary stream
        A file; a folder, with all below it; a pattern (``"visits/*.parquet"``) where no file bears
        that name; ``"-"`` is standard input. ``.csv``, ``.tsv``, ``.tab``, ``.txt``, ``.dat``,
        ``.data``, ``.jsonl`` (each also with ``.gz``, ``.bz2``, ``.xz``, ``.zip``, ``.zst``),
        ``.parquet``, ``.feather``, ``.xlsx``, ``.xls``, ``.ods``, ``.sav``, ``.zsav``, ``.por``,
        ``.dta``, ``.sas7bdat``, ``.xpt``, ``.rds`` (by R).
    columns : str or sequence of str, optional
        Columns to read, by default all. Those of `numbers` and `features` are read, too.
    numbers : str or sequence of str
        Columns of a text file that are numbers (scores, weights, counts): a field that is none is
        an error that shows its line.
    features : str or sequence of str
        Columns of a text file that are numbers where every field is one, and categories where none
        is.
    na_values : str or sequence of str, optional
        What reads as missing in a text file beside the empty field, in place of the usual list (NA,
        N/A, NaN, nan, null, NULL, None, n/a, <NA>, #N/A and others of pandas); ``""``: the empty
        field alone. In a spreadsheet or a file of a statistics package the words that are named
        here, and none by default. Not of Parquet.
    encoding, sep, decimal : str, optional
        Encoding, separator and decimal mark of a text file; recognised by default, and said where
        they are not UTF-8, a comma (in ``.tsv`` a tab) and a point. ``"\\t"`` and ``"tab"`` are a
        tab.
    sheet : str or int, optional
        Sheet of a spreadsheet, by its name or its number from 1; by default the first.
    engine : {"auto", "rows", "duckdb", "polars", "spark"}, default "auto"
        "rows" reads into memory; a name gives a lazy table of that engine (of other files than
        Parquet by a temporary copy in Parquet). "auto": rows, but DuckDB from 2,000,000 rows on and
        for what the free memory cannot hold.
    memory : str, optional
        Memory that DuckDB may use, as "2GB"; the rest goes to disk.

    Returns
    -------
    pandas.DataFrame, or a lazy table of the engine
        Text with None or NaN where missing, numbers as float64.

    Raises
    ------
    InputError
        Where there is no such file or column, two columns bear one name, a line has more or fewer
        fields than the first, a number is none, there are no rows, or the free memory cannot hold
        them.
    MissingDependencyError
        Where the format or engine needs a package that is not installed; it names the extra.

    Warns
    -----
    DataWarning
        What was recognised and is not the common way: separator, decimal mark, encoding, sheet; an
        engine that was chosen for the size. A report says the same in its notes.

    Examples
    --------
    >>> import fairstats as fs
    >>> held = b"code,score,hired\n01,0.5,NA\n1,0.25,yes\n"
    >>> table = fs.read_table(held, numbers="score")
    >>> table["code"].tolist(), table["score"].tolist(), table["hired"].isna().tolist()
    (['01', '1'], [0.5, 0.25], [True, False])
    """
    numbers = column_names("numbers", numbers)
    features = column_names("features", features)
    labels: list[Any] | None = None
    if columns is not None:
        other_columns = {*numbers, *features}
        labels = []
        for column_label in column_names("columns", columns):
            if column_label not in other_columns:
                labels.append(column_label)
    options = ReadingOptions(
        na_values=na_values, encoding=encoding, sep=sep, decimal=decimal, sheet=sheet, memory=memory
    )
    table, record = read_roles(source, Roles.of(labels, numbers, features), options, engine=engine)
    for reading_note in record.notes:
        caution(reading_note, DataWarning)
    return table


def is_file(frame: Any) -> bool:
    """Whether what was passed as a table names a file."""
    return isinstance(frame, (str, os.PathLike))


def read_roles(
    source: Any,
    roles: Roles,
    options: ReadingOptions,
    *,
    engine: str = "auto",
    needs_rows: bool = False,
) -> tuple[Any, ReadingRecord]:
    """The same by the roles of the columns, with what was found out; it says nothing itself.

    `needs_rows`: whether what is asked of the table cannot be counted by an engine.
    """
    check_choice("engine", engine, ENGINES)
    options = options.checked()
    with under_way("reading"):
        sources = sources_of(source)
        if sources[0].ending in TEXT:
            table, record = _read_text(sources, roles, options, engine, needs_rows)
        elif sources[0].ending in PARQUET and sources[0].path is not None:
            table, record = _read_parquet(sources, roles, options, engine, needs_rows)
        else:
            table, record = _read_typed(sources, roles, options, engine, needs_rows)
    return remember(table, record), record


def sources_of(source: Any) -> list[Source]:
    """The files that were named, or the bytes that came."""
    if isinstance(source, Source):
        return [source]
    if isinstance(source, (bytes, bytearray)):
        return [Source.of_bytes(bytes(source), "bytes")]
    if hasattr(source, "read"):
        held_bytes = source.read()
        if isinstance(held_bytes, str):
            held_bytes = held_bytes.encode()
        return [Source.of_bytes(held_bytes, "a stream")]
    if not isinstance(source, (str, os.PathLike)):
        received = f"a value of type {type(source).__name__}"
        raise InputError(
            "source",
            got=received,
            allowed="a path, bytes or a binary stream",
            cure="name the file",
        )
    path = Path(os.fspath(source))
    held_bytes = held_input(path)
    if held_bytes is not None:
        return [
            Source.of_bytes(
                held_bytes, "standard input" if str(path) == STANDARD else repr(str(path))
            )
        ]
    return [Source.of_path(file) for file in table_files(path)]


def held_input(path: str | Path) -> bytes | None:
    """What came by standard input, or by a pipe of the shell; None for a file, read where it lies.

    Raises InputError where it is more than the free memory can hold.
    """
    if str(path) == STANDARD:
        return _hold_stream(sys.stdin.buffer, sizes.memory_budget())
    file = Path(path)
    if not file.is_fifo():
        return None
    with file.open("rb") as stream:
        return _hold_stream(stream, sizes.memory_budget())


def _hold_stream(stream: Any, most_bytes: int) -> bytes:
    stream_parts: list[bytes] = []
    n_bytes = 0
    while stream_part := stream.read(BLOCK):
        n_bytes += len(stream_part)
        if 2 * n_bytes > most_bytes:
            received = f"more than {n_bytes / 1e9:.1f} GB by a pipe"
            allowed = "what the free memory can hold"
            raise InputError(
                "file",
                got=received,
                allowed=allowed,
                cure="write it into a file and name that",
            )
        stream_parts.append(stream_part)
    return b"".join(stream_parts)


# ---------------------------------------------------------------- text


def _read_text(
    sources: Sequence[Source],
    roles: Roles,
    options: ReadingOptions,
    engine: str,
    needs_rows: bool,
) -> tuple[Any, ReadingRecord]:
    """A table of text files: in memory as a frame, or as Parquet files that an engine opens."""
    reading_plans: list[Plan] = []
    n_rows = 0
    n_bytes = 0
    for source in sources:
        if engine in ("auto", "rows"):
            with readable(source.shown):
                sizes.check_expansion(source)
        with readable(source.shown):
            sample = source.sample()
        reading_plans.append(plan_of(source, roles, options, sample))
        size = sizes.estimated_size(source, sample)
        n_rows += size.n_rows
        n_bytes += size.n_bytes
    size = TableSize(n_rows, counted=False, n_bytes=n_bytes)
    _check_width(reading_plans[0].columns, roles, sources[0])
    chosen_engine, engine_note = _chosen_engine(
        engine, size, sources, reading_plans[0].columns, reading_plans[0].header, needs_rows
    )
    if chosen_engine == "rows":
        return _text_in_memory(reading_plans, roles, options)

    folder = new_folder(size, len(reading_plans[0].columns))
    file_numbers = count()

    def make_sink(columns: Sequence[str], columns_seen: dict[str, ColumnSeen]) -> ParquetSink:
        return ParquetSink(folder / f"{next(file_numbers)}.parquet", columns, columns_seen)

    files = [read_text_file(plan, roles, options, make_sink) for plan in reading_plans]
    as_numbers, record = _conclude_reading(files, engine_note)
    stored = {}
    for column_number, column_label in enumerate(reading_plans[0].columns):
        stored[column_label] = (
            f"number{column_number}" if as_numbers[column_label] else f"text{column_number}"
        )
    return open_parquet([file.sink.path for file in files], stored, chosen_engine, options), record


def _text_in_memory(
    reading_plans: Sequence[Plan], roles: Roles, options: ReadingOptions
) -> tuple[pd.DataFrame, ReadingRecord]:
    budget = sizes.memory_budget()
    files = []
    for plan in reading_plans:
        make_sink = partial(_frame_sink, budget, plan.source.shown)
        files.append(read_text_file(plan, roles, options, make_sink))
    as_numbers, record = _conclude_reading(files, None)
    return frame_of_blocks(files, as_numbers), record


def _frame_sink(
    budget: int,
    shown: str,
    _columns: Sequence[str],
    _seen: Mapping[str, ColumnSeen],
) -> FrameSink:
    return FrameSink(budget, shown)


def _conclude_reading(
    files: Sequence[TextFile], engine_note: str | None
) -> tuple[dict[str, bool], ReadingRecord]:
    """Which columns become numbers, and what is kept of the reading.

    An InputError where there were no rows.
    """
    _check_rows(sum(file.sink.n_rows for file in files), files[0].plan.source)
    as_numbers = {}
    all_columns = merged([file.seen for file in files])
    for column_label, column_seen in all_columns.items():
        try:
            as_numbers[column_label] = column_seen.becomes_number()
        except NoNumberError as problem:
            plan = next(
                file.plan for file in files if file.seen[column_label].first_other is problem
            )
            raise error_of(problem, plan) from None
    notes = list(dict.fromkeys(note_text for file in files for note_text in file.notes))
    if len(notes) > 3:
        notes = [*notes[:3], f"So were {len(notes) - 3} other files, each as its beginning shows."]
    if engine_note is not None:
        notes.append(engine_note)
    tokens = {}
    for column_label, column_seen in all_columns.items():
        if column_seen.tokens:
            tokens[column_label] = dict(column_seen.tokens)
    return as_numbers, ReadingRecord(tuple(notes), tokens)


# ---------------------------------------------------------------- typed formats


def _read_parquet(
    sources: Sequence[Source],
    roles: Roles,
    options: ReadingOptions,
    engine: str,
    needs_rows: bool,
) -> tuple[Any, ReadingRecord]:
    """A table of Parquet files, in memory or opened by an engine."""
    needed_package("pyarrow.parquet", "Parquet")
    if options.na_values is not None:
        raise InputError(
            "na_values",
            got=f"{listed(options.tokens)} for {sources[0].shown}",
            allowed="None for Parquet, which says by itself what is missing",
            cure="leave it out, or put nulls in place of these words in the file",
        )
    files = []
    for source in sources:
        if source.path is not None:
            files.append(source.path)
    with readable(sources[0].shown):
        schemas, size = sizes.parquet_schemas_and_size(files)
    header = list(schemas[0].names)
    columns = check_needed(header, roles, sources[0].shown)
    _check_alike(columns, schemas, sources)
    _check_rows(size.n_rows, sources[0])
    _check_width(columns, roles, sources[0])
    chosen_engine, engine_note = _chosen_engine(engine, size, sources, columns, header, needs_rows)
    if chosen_engine != "rows":
        check_twins(columns, header, chosen_engine)
        stored = {column_label: column_label for column_label in columns}
        return open_parquet(files, stored, chosen_engine, options), ReadingRecord(
            () if engine_note is None else (engine_note,)
        )
    read_frames = []
    for source in sources:
        with readable(source.shown):
            read_frames.append(typed_table(source, roles, options).read(columns))
    return _join_frames(read_frames), ReadingRecord()


def _read_typed(
    sources: Sequence[Source],
    roles: Roles,
    options: ReadingOptions,
    engine: str,
    needs_rows: bool,
) -> tuple[Any, ReadingRecord]:
    """A table of files that say the types of their columns: spreadsheets, SPSS and the like."""
    tables: list[TypedTable] = []
    for source in sources:
        with readable(source.shown):
            tables.append(typed_table(source, roles, options))
    columns = check_needed(tables[0].columns, roles, sources[0].shown, tables[0].elsewhere)
    for source, table in zip(sources, tables, strict=True):
        check_needed(table.columns, Roles.of(columns), source.shown)
    size = TableSize(
        n_rows=sum(table.size.n_rows for table in tables),
        counted=all(table.size.counted for table in tables),
        n_bytes=sum(table.size.n_bytes for table in tables),
    )
    _check_width(columns, roles, sources[0])
    # what holds for an engine holds for rows: these files are loaded once in any case
    _chosen_engine("rows", size, sources, columns, tables[0].columns, needs_rows)
    read_frames = []
    for source, table in zip(sources, tables, strict=True):
        with readable(source.shown):
            read_frames.append(table.read(columns))
    frame = _join_frames(read_frames)
    _check_rows(len(frame), sources[0])
    tokens: dict[str, dict[str, int]] = {}
    if options.na_values is not None:
        frame, tokens = _with_tokens_missing(frame, options.tokens)
    record = ReadingRecord(
        tuple(dict.fromkeys(reading_note for table in tables for reading_note in table.notes)),
        tokens,
    )
    if engine in ("auto", "rows"):
        return frame, record
    path = new_folder(TableSize(len(frame), counted=True), len(columns)) / "table.parquet"
    return open_parquet([path], frame_as_parquet(frame, path), engine, options), record


def _with_tokens_missing(
    frame: pd.DataFrame, tokens: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, dict[str, int]]]:
    """The rows without the words that were said to mean missing, and how many of them there were.

    A column of numbers with such words among them becomes one of numbers.
    """
    replaced = {}
    rows_of_token: dict[str, dict[str, int]] = {}
    for column_label in frame.columns:
        column = frame[column_label]
        is_token = column.isin(list(tokens))
        if not is_token.any():
            continue
        counted = column[is_token].astype(str).value_counts()
        rows_of_token[column_label] = {str(token): int(n) for token, n in counted.items()}
        if isinstance(column.dtype, pd.CategoricalDtype):
            replaced[column_label] = column.where(~is_token).cat.remove_unused_categories()
        else:
            values = [
                None if missing else value
                for value, missing in zip(column.tolist(), is_token, strict=True)
            ]
            replaced[column_label] = column_of_values(values)
    return frame.assign(**replaced), rows_of_token


# ---------------------------------------------------------------- what all have in common


def _join_frames(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    if len(frames) == 1:
        return frames[0]
    return pd.concat(frames, ignore_index=True)


def _chosen_engine(
    engine: str,
    size: TableSize,
    sources: Sequence[Source],
    columns: Sequence[str],
    header: Sequence[str],
    needs_rows: bool,
) -> tuple[str, str | None]:
    if len(sources) == 1:
        source_words = sources[0].shown
    else:
        source_words = f"{len(sources):,} files"
    return sizes.choose_engine(
        engine,
        size,
        shown=source_words,
        n_columns=len(columns),
        n_columns_of_file=len(header),
        needs_rows=needs_rows,
    )


def _check_rows(n_rows: int, source: Source) -> None:
    if n_rows == 0:
        received = f"{source.shown} with 0 rows"
        raise InputError("file", got=received, allowed="at least one row", cure="pass data")


def _check_width(columns: Sequence[str], roles: Roles, source: Source) -> None:
    if roles.labels is None and len(columns) > sizes.MOST_COLUMNS:
        received = f"{source.shown} with {len(columns):,} columns"
        allowed = f"up to {sizes.MOST_COLUMNS:,} columns, unless they are named"
        raise InputError(
            "file",
            got=received,
            allowed=allowed,
            cure="name the columns that are needed: columns=[…]",
        )


def _check_alike(columns: Sequence[str], schemas: Sequence[Any], sources: Sequence[Source]) -> None:
    """Raise where a column is not of one kind in all files.

    One engine would convert it, and another would not.
    """
    for schema, source in zip(schemas[1:], sources[1:], strict=True):
        check_needed(schema.names, Roles.of(columns), source.shown)
        for column_label in columns:
            first_kind = sizes.kind_of_type(schemas[0].field(column_label).type)
            other_kind = sizes.kind_of_type(schema.field(column_label).type)
            if first_kind != other_kind:
                received = (
                    f"column {column_label!r}, which holds {first_kind} in {sources[0].shown} and {other_kind} in"
                    f" {source.shown}"
                )
                advice = "write the files with one type"
                raise InputError(
                    "file",
                    got=received,
                    allowed="files with the same types",
                    cure=advice,
                )
