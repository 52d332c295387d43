"""What reading a table found out beside its values.

Notes for the report, and tokens that read as missing.

pandas keeps it in `attrs`; of lazy tables, which have no room for it, it is remembered as long as
they live.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw

#: Keys of `DataFrame.attrs`.
NOTES = "fairstats_notes"
TOKENS = "fairstats_tokens"


@dataclass(frozen=True)
class ReadingRecord:
    """What was found out about a table while it was read.

    `notes`: sentences for the report, about what was detected or chosen; `tokens`: column → missing
    token → number of fields, without the empty field.
    """

    notes: tuple[str, ...] = ()
    tokens: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


#: Identity of a lazy table → the table, weakly, and its record.
_RECORD_OF_TABLE: dict[int, tuple[weakref.ref[Any], ReadingRecord]] = {}


def remember(table: Any, record: ReadingRecord) -> Any:
    """Keep the record of a table; the table itself."""
    attributes = getattr(table, "attrs", None)
    if isinstance(attributes, dict):
        if record.notes:
            attributes[NOTES] = record.notes
        if record.tokens:
            attributes[TOKENS] = {column: dict(counts) for column, counts in record.tokens.items()}
        return table
    table_identity = id(table)
    _RECORD_OF_TABLE[table_identity] = (
        weakref.ref(table, lambda _: _RECORD_OF_TABLE.pop(table_identity, None)),
        record,
    )
    return table


def record_of(table: Any) -> ReadingRecord:
    """The record of a table that `read_table` made, an empty one for any other."""
    native = nw.to_native(table, pass_through=True)
    attributes = getattr(native, "attrs", None)
    if isinstance(attributes, dict):
        return ReadingRecord(attributes.get(NOTES, ()), attributes.get(TOKENS, {}))
    reference, record = _RECORD_OF_TABLE.get(id(native), (None, ReadingRecord()))
    if reference is not None and reference() is native:
        return record
    return ReadingRecord()
