"""Columns of text as labels, numbers and features: the rule of `text.py` on many fields at once.

By Arrow where it is installed, else field by field in Python; `tests/ground/reading/test_fields.py`
holds both against each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fairstats.ground.reading.text import NUMBER, number_of

#: What a column is read as. "anything" keeps the text and the numbers, for a column that is asked
#: for as both.
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

    `text`: as written, None where missing; `numbers`: their numbers, None where missing or no
    number (only where they were asked for); `n_numbers`: how many are numbers; `not_number`:
    position and text of the first that is none; `tokens`: missing token → number of fields.
    """

    text: Any
    numbers: Any
    n_numbers: int
    not_number: tuple[int, str] | None
    tokens: Counter[str]


def typed_by_arrow(
    values: Any,
    tokens: Sequence[str],
    *,
    numbers: bool,
    decimal: str,
) -> TypedFields:
    """The fields of an Arrow array of texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counts: Counter[str] = Counter()
    missing = pc.equal(values, "")
    if tokens:
        is_token = pc.is_in(values, value_set=pa.array(tokens, pa.string()))
        if pc.any(is_token).as_py():
            token_counts = pc.value_counts(pc.filter(values, is_token))
            counts.update(
                {
                    token_and_count["values"].as_py(): token_and_count["counts"].as_py()
                    for token_and_count in token_counts
                }
            )
            missing = pc.or_(missing, is_token)
    label_texts = pc.if_else(missing, pa.scalar(None, pa.string()), values)
    if not numbers:
        return TypedFields(
            text=label_texts, numbers=None, n_numbers=0, not_number=None, tokens=counts
        )

    point_texts = label_texts
    if decimal == ",":
        # a point is no mark here: "1.5" and "1.234,5" are no numbers
        point_texts = pc.if_else(
            pc.match_substring(point_texts, "."), pa.scalar("no number"), point_texts
        )
        point_texts = pc.replace_substring(point_texts, ",", ".")
    is_number_text = pc.match_substring_regex(point_texts, NUMBER)
    trimmed_texts = pc.utf8_trim(
        pc.if_else(is_number_text, point_texts, pa.scalar(None, pa.string())), " \t"
    )
    number_values = pc.cast(trimmed_texts, pa.float64())
    # beyond the largest double the cast gives infinity
    number_values = pc.if_else(
        pc.is_finite(number_values), number_values, pa.scalar(None, pa.float64())
    )
    n_numbers = len(number_values) - number_values.null_count
    not_number = None
    if n_numbers < len(label_texts) - label_texts.null_count:
        is_wrong = pc.and_(pc.is_valid(label_texts), pc.is_null(number_values))
        position = pc.index(is_wrong, True).as_py()
        not_number = (position, label_texts[position].as_py())
    return TypedFields(
        text=label_texts,
        numbers=number_values,
        n_numbers=n_numbers,
        not_number=not_number,
        tokens=counts,
    )


def typed_by_python(
    values: Sequence[str],
    tokens: Sequence[str],
    *,
    numbers: bool,
    decimal: str,
) -> TypedFields:
    """The fields of a list of texts."""
    missing = {"", *tokens}
    counts = Counter(field_text for field_text in values if field_text and field_text in missing)
    texts = [None if field_text in missing else field_text for field_text in values]
    if not numbers:
        return TypedFields(text=texts, numbers=None, n_numbers=0, not_number=None, tokens=counts)

    number_values = []
    for field_text in texts:
        number_values.append(None if field_text is None else number_of(field_text, decimal))
    n_numbers = sum(number is not None for number in number_values)
    not_number = None
    if n_numbers < sum(field_text is not None for field_text in texts):
        numbered_pairs = enumerate(zip(texts, number_values, strict=True))
        not_number = next(
            (field_number, field_text)
            for field_number, (field_text, number) in numbered_pairs
            if field_text is not None and number is None
        )
    return TypedFields(
        text=texts, numbers=number_values, n_numbers=n_numbers, not_number=not_number, tokens=counts
    )
