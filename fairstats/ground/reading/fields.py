"""Columns of text as labels, numbers and features: the rule of `text.py` on many fields at once.

By Arrow where it is installed, else field by field in Python; `tests/ground/reading/test_fields.py` holds both against
each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fairstats.ground.reading.text import NUMBER, number_of

#: What a column is read as. "anything" keeps the text and the numbers, for a column that is asked for as both.
Role = Literal["label", "number", "feature"]


class NoNumberError(Exception):
    """A field of a column of numbers is none; `row` counts the data rows of the file from 0."""

    def __init__(self, column: str, text: str, row: int, *, mixed: bool = False) -> None:
        super().__init__(column, text, row)
        self.column = column
        self.text = text
        self.row = row
        self.mixed = mixed


@dataclass(frozen=True)
class TypedFields:
    """The fields of one column in one block of rows.

    `text`: as written, None where missing; `numbers`: their numbers, None where missing or no number (only where they
    were asked for); `n_numbers`: how many are numbers; `not_number`: position and text of the first that is none;
    `tokens`: missing token → number of fields.
    """

    text: Any
    numbers: Any
    n_numbers: int
    not_number: tuple[int, str] | None
    tokens: Counter[str]


def typed_by_arrow(values: Any, tokens: Sequence[str], *, numbers: bool, decimal: str) -> TypedFields:
    """The fields of an Arrow array of texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counts: Counter[str] = Counter()
    missing = pc.equal(values, "")
    if tokens:
        is_token = pc.is_in(values, value_set=pa.array(tokens, pa.string()))
        if pc.any(is_token).as_py():
            found = pc.value_counts(pc.filter(values, is_token))
            counts.update({pair["values"].as_py(): pair["counts"].as_py() for pair in found})
            missing = pc.or_(missing, is_token)
    text = pc.if_else(missing, pa.scalar(None, pa.string()), values)
    if not numbers:
        return TypedFields(text, None, 0, None, counts)

    plain = text
    if decimal == ",":
        # a point is no mark here: "1.5" and "1.234,5" are no numbers
        plain = pc.if_else(pc.match_substring(plain, "."), pa.scalar("no number"), plain)
        plain = pc.replace_substring(plain, ",", ".")
    fits = pc.match_substring_regex(plain, NUMBER)
    trimmed = pc.utf8_trim(pc.if_else(fits, plain, pa.scalar(None, pa.string())), " \t")
    value = pc.cast(trimmed, pa.float64())
    # beyond the largest double the cast gives infinity
    value = pc.if_else(pc.is_finite(value), value, pa.scalar(None, pa.float64()))
    n_numbers = len(value) - value.null_count
    not_number = None
    if n_numbers < len(text) - text.null_count:
        wrong = pc.and_(pc.is_valid(text), pc.is_null(value))
        position = pc.index(wrong, True).as_py()
        not_number = (position, text[position].as_py())
    return TypedFields(text, value, n_numbers, not_number, counts)


def typed_by_python(values: Sequence[str], tokens: Sequence[str], *, numbers: bool, decimal: str) -> TypedFields:
    """The fields of a list of texts."""
    missing = {"", *tokens}
    counts = Counter(text for text in values if text and text in missing)
    texts = [None if text in missing else text for text in values]
    if not numbers:
        return TypedFields(texts, None, 0, None, counts)

    found = [None if text is None else number_of(text, decimal) for text in texts]
    n_numbers = sum(number is not None for number in found)
    not_number = None
    if n_numbers < sum(text is not None for text in texts):
        pairs = enumerate(zip(texts, found, strict=True))
        not_number = next((k, text) for k, (text, number) in pairs if text is not None and number is None)
    return TypedFields(texts, found, n_numbers, not_number, counts)
