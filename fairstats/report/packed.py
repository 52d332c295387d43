"""What repeats in a JSON value is stated once: the form in which files of reports are written.

A list of objects with the same keys is written by columns, a column of equal values once, columns of
few different texts by their number, long columns and arrays of numbers as bytes (little-endian,
compressed by zlib, in base64). `unpack` makes the same value again, to the last bit; R does as well.

==============================================  ==================================================
written                                         stands for
==============================================  ==================================================
``{"@rows": n, "@columns": {key: column}}``     n objects with these keys
``{"@rows": n, "@same": value}``                n times the value
``{"@levels": [text, …], "@codes": numbers}``   the text of each code, from 0
``{"@rows": n, "@lists": m, "@entries": […]}``  n lists of m entries: m columns
``{"@numbers": "f8" or "i4", "@shape": …}``     numbers, nested by shape, their bytes in ``"@bytes"``
==============================================  ==================================================
"""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from typing import Any

import numpy as np

from fairstats.ground.stored import damaged

#: Shorter lists are written as they are.
_SHORTEST_COLUMNS = 2
_SHORTEST_BYTES = 64
#: Entries that one list may have: a changed number must not fill the memory.
_MOST_ENTRIES = 10**7
_MOST_AXES = 9
_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_PACKED = "a list as fairstats packed it"


def pack(value: Any) -> Any:
    """The JSON value with everything that repeats stated once.

    Examples
    --------
    >>> from fairstats.report.packed import pack, unpack
    >>> rows = [{"test": "score", "p": 0.1}, {"test": "score", "p": 0.2}]
    >>> pack(rows)
    {'@rows': 2, '@columns': {'test': {'@rows': 2, '@same': 'score'}, 'p': [0.1, 0.2]}}
    >>> unpack(pack(rows)) == rows
    True
    """
    if isinstance(value, dict):
        return {key: pack(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return _pack_list(value)
    return value


def _pack_list(entries: list[Any]) -> Any:
    """A list in the shortest of the forms of which it is one."""
    if len(entries) < _SHORTEST_COLUMNS:
        return [pack(entry) for entry in entries]
    for pack_form in (_pack_numbers, _pack_equal, _pack_objects, _pack_lists, _pack_texts):
        packed = pack_form(entries)
        if packed is not None:
            return packed
    return [pack(entry) for entry in entries]


def _pack_equal(entries: list[Any]) -> dict[str, Any] | None:
    """One value, if all are equal and no numbers; else None."""
    first = entries[0]
    if isinstance(first, (int, float)):
        return None
    if not all(_is_same(first, entry) for entry in entries):
        return None
    return {"@rows": len(entries), "@same": pack(first)}


def _pack_objects(entries: list[Any]) -> dict[str, Any] | None:
    """Columns of objects with the same keys; else None."""
    first = entries[0]
    if not isinstance(first, dict) or not first:
        return None
    keys = list(first)
    if not all(isinstance(entry, dict) and list(entry) == keys for entry in entries):
        return None
    columns = {}
    for key in keys:
        columns[key] = _pack_list([entry[key] for entry in entries])
    return {"@rows": len(entries), "@columns": columns}


def _pack_lists(entries: list[Any]) -> dict[str, Any] | None:
    """Columns of lists of equal length: the first entries of all, then the second ones; else
    None.
    """
    first = entries[0]
    if not isinstance(first, list) or not first:
        return None
    length = len(first)
    if not all(isinstance(entry, list) and len(entry) == length for entry in entries):
        return None
    by_place = []
    for place in range(length):
        by_place.append(_pack_list([entry[place] for entry in entries]))
    return {"@rows": len(entries), "@lists": length, "@entries": by_place}


def _pack_texts(entries: list[Any]) -> dict[str, Any] | None:
    """Few different texts by their number; else None."""
    if not all(isinstance(entry, str) for entry in entries):
        return None
    levels = list(dict.fromkeys(entries))
    if 4 * len(levels) > len(entries):
        return None
    code_of = {level: code for code, level in enumerate(levels)}
    return {"@levels": levels, "@codes": _pack_list([code_of[text] for text in entries])}


def _is_same(first: Any, second: Any) -> bool:
    """Whether two JSON values are equal to the last bit: 1, 1.0 and true are three values."""
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        return list(first) == list(second) and all(
            _is_same(entry, second[key]) for key, entry in first.items()
        )
    if isinstance(first, list):
        return len(first) == len(second) and all(map(_is_same, first, second))
    if isinstance(first, float):
        return bool(first.hex() == second.hex())
    return bool(first == second)


def _pack_numbers(entries: list[Any]) -> dict[str, Any] | None:
    """Bytes of a long list of whole numbers of 32 bits, or of floats; else None."""
    shape, flat = _flatten(entries)
    if len(flat) < _SHORTEST_BYTES or len(flat) > _MOST_ENTRIES:
        return None
    if all(type(entry) is int and -(2**31) < entry < 2**31 for entry in flat):
        return _write_bytes("i4", np.array(flat, dtype="<i4"), shape)
    if all(type(entry) is float or _is_float_word(entry) for entry in flat):
        values = []
        for entry in flat:
            values.append(_WORDS[entry["float"]] if isinstance(entry, dict) else entry)
        return _write_bytes("f8", np.array(values, dtype="<f8"), shape)
    return None


def _flatten(entries: list[Any]) -> tuple[list[int], list[Any]]:
    """Shape and entries of lists of equal length within one another, row by row."""
    shape = [len(entries)]
    flat = entries
    while isinstance(flat[0], list) and flat[0]:
        length = len(flat[0])
        if not all(isinstance(inner, list) and len(inner) == length for inner in flat):
            break
        shape.append(length)
        flat = [entry for inner in flat for entry in inner]
    return shape, flat


def _is_float_word(entry: Any) -> bool:
    return isinstance(entry, dict) and list(entry) == ["float"] and entry["float"] in _WORDS


def _write_bytes(kind: str, numbers: Any, shape: list[int]) -> dict[str, Any]:
    compressed = base64.b64encode(zlib.compress(numbers.tobytes(), 9)).decode("ascii")
    return {"@numbers": kind, "@shape": shape, "@bytes": compressed}


def unpack(value: Any) -> Any:
    """The JSON value that `pack` was given; an InputError where the parts do not fit together."""
    if isinstance(value, list):
        return [unpack(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if "@numbers" in value:
        return _read_bytes(value)
    if "@codes" in value:
        return _unpack_levels(value)
    if "@rows" in value:
        return _unpack_rows(value)
    return {key: unpack(entry) for key, entry in value.items()}


def _unpack_levels(value: dict[str, Any]) -> list[Any]:
    levels = value.get("@levels")
    codes = unpack(value["@codes"])
    if (
        not isinstance(levels, list)
        or not isinstance(codes, list)
        or not all(type(code) is int and 0 <= code < len(levels) for code in codes)
    ):
        raise damaged("texts whose numbers do not fit them", _PACKED)
    return [levels[code] for code in codes]


def _unpack_rows(value: dict[str, Any]) -> list[Any]:
    """A list that was stored column by column."""
    n_rows = value["@rows"]
    if type(n_rows) is not int or not 0 <= n_rows < _MOST_ENTRIES:
        raise damaged("a list without its number of entries", _PACKED)
    if "@same" in value:
        return [unpack(value["@same"]) for _ in range(n_rows)]
    columns: Any = value.get("@columns")
    if columns is None and isinstance(value.get("@entries"), list):
        columns = dict(enumerate(value["@entries"]))
    if not isinstance(columns, dict) or not columns:
        raise damaged("a list without its entries", _PACKED)
    unpacked = {key: unpack(column) for key, column in columns.items()}
    if any(not isinstance(column, list) or len(column) != n_rows for column in unpacked.values()):
        raise damaged("a list whose columns differ in length", _PACKED)
    rows = zip(*unpacked.values(), strict=True)
    if "@columns" in value:
        keys = list(unpacked)
        return [dict(zip(keys, row, strict=True)) for row in rows]
    return [list(row) for row in rows]


def _read_bytes(value: dict[str, Any]) -> list[Any]:
    """Numbers that were stored as the bytes of an array; damaged ones are an error."""
    kind = value["@numbers"]
    shape = value.get("@shape")
    if (
        kind not in ("i4", "f8")
        or not isinstance(shape, list)
        or not 0 < len(shape) < _MOST_AXES
        or not all(type(length) is int and 0 < length <= _MOST_ENTRIES for length in shape)
        or math.prod(shape) > _MOST_ENTRIES
    ):
        raise damaged("numbers of an unknown kind or shape", _PACKED)
    size = math.prod(shape)
    n_bytes = size * int(kind[1])
    try:
        compressed = base64.b64decode(value.get("@bytes", ""), validate=True)
        # no more than was announced, whatever a changed file holds
        plain = zlib.decompressobj().decompress(compressed, n_bytes + 1)
    except (binascii.Error, TypeError, ValueError, zlib.error) as problem:
        raise damaged(f"numbers that cannot be read ({problem})", _PACKED) from problem
    if len(plain) != n_bytes:
        raise damaged("numbers that are fewer or more than they say", _PACKED)
    numbers = np.frombuffer(plain, dtype=f"<{kind}")
    if kind == "i4" or np.isfinite(numbers).all():
        return list(numbers.reshape(shape).tolist())
    entries: list[Any] = []
    for number in numbers.tolist():
        entries.append(number if math.isfinite(number) else _float_word(number))
    for length in reversed(shape[1:]):
        entries = [entries[start : start + length] for start in range(0, len(entries), length)]
    return entries


def _float_word(number: float) -> dict[str, str]:
    if math.isnan(number):
        return {"float": "NaN"}
    return {"float": "Infinity" if number > 0 else "-Infinity"}
