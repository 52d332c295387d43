"""What the columns of a file are asked for as, and what was seen of them while their text was
read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairstats.ground.checks import check_that
from fairstats.ground.errors import InputError
from fairstats.ground.reading.fields import NoNumberError, TypedFields
from fairstats.ground.reading.streams import check_encoding
from fairstats.ground.reading.text import check_decimal, check_separator, check_tokens


@dataclass(frozen=True)
class Roles:
    """The columns that are needed, by what they are read as.

    One may be both a label and a number or feature.

    `labels` None: every column that is neither a number nor a feature.
    """

    labels: tuple[str, ...] | None = None
    numbers: tuple[str, ...] = ()
    features: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        labels: Iterable[str | None] | None,
        numbers: Iterable[str | None] = (),
        features: Iterable[str] = (),
    ) -> Roles:
        """The roles, of names some of which are None."""
        label_columns = None
        if labels is not None:
            label_columns = tuple(
                dict.fromkeys(column_label for column_label in labels if column_label is not None)
            )
        return cls(
            labels=label_columns,
            numbers=tuple(
                dict.fromkeys(column_label for column_label in numbers if column_label is not None)
            ),
            features=tuple(dict.fromkeys(features)),
        )

    def columns(self, header: Sequence[str]) -> tuple[str, ...]:
        """The names of the needed columns."""
        labels = header if self.labels is None else self.labels
        return tuple(dict.fromkeys((*labels, *self.numbers, *self.features)))

    @property
    def named(self) -> tuple[str, ...]:
        """The names that were given."""
        return tuple(dict.fromkeys((*(self.labels or ()), *self.numbers, *self.features)))

    @property
    def wanted_as_numbers(self) -> frozenset[str]:
        """Those whose numbers are wanted."""
        return frozenset((*self.numbers, *self.features))


@dataclass(frozen=True)
class ReadingOptions:
    """How a file is read where it is not to be recognised; None recognises it, see `read_table`."""

    na_values: Any = None
    encoding: str | None = None
    sep: str | None = None
    decimal: str | None = None
    sheet: Any = None
    memory: str | None = None

    @property
    def tokens(self) -> tuple[str, ...]:
        """The missing tokens."""
        return check_tokens(self.na_values)

    def checked(self) -> ReadingOptions:
        """The same, by the names that the reader knows."""
        check_tokens(self.na_values)
        if self.memory is not None:
            is_text = isinstance(self.memory, str)
            is_size = (
                is_text
                and re.fullmatch(r"\d+(\.\d+)?\s*[KMGT]i?B", self.memory, re.IGNORECASE) is not None
            )
            check_that(is_size, "memory", self.memory, "a size with its unit", "2GB, say")
        return ReadingOptions(
            na_values=self.na_values,
            encoding=check_encoding(self.encoding),
            sep=check_separator(self.sep),
            decimal=check_decimal(self.decimal),
            sheet=self.sheet,
            memory=self.memory,
        )


@dataclass
class ColumnSeen:
    """What was seen of one column of text.

    `n_numbers`, `n_others`: fields that are numbers, and that are neither numbers nor missing;
    `first_other`: the first of the latter; `tokens`: missing token → number of fields; `texts`,
    `values`: the distinct ones, where the column is asked for as a label and as numbers.
    """

    name: str
    is_label: bool
    is_number: bool
    is_feature: bool
    n_numbers: int = 0
    n_others: int = 0
    first_other: NoNumberError | None = None
    tokens: Counter[str] = field(default_factory=Counter)
    texts: set[str] = field(default_factory=set)
    values: set[float] = field(default_factory=set)

    @property
    def keeps_text(self) -> bool:
        """Whether its text may be needed."""
        return self.is_label or self.is_feature

    @property
    def keeps_numbers(self) -> bool:
        """Whether its numbers may be needed."""
        return self.is_number or self.is_feature

    def add(self, typed: TypedFields, n_fields: int, n_missing: int, first_row: int) -> None:
        """See one block more; raises `NoNumberError` where a number was needed and there is
        none.
        """
        self.tokens.update(typed.tokens)
        if not self.keeps_numbers:
            return
        self.n_numbers += typed.n_numbers
        self.n_others += n_fields - n_missing - typed.n_numbers
        if typed.not_number is not None and self.first_other is None:
            position, field_text = typed.not_number
            self.first_other = NoNumberError(
                self.name, field_text, first_row + position, mixed=not self.is_number
            )
        if self.is_number and self.first_other is not None:
            raise self.first_other
        if self.is_label:
            self.texts.update(
                field_text for field_text in _distinct_values(typed.text) if field_text is not None
            )
            self.values.update(
                field_value
                for field_value in _distinct_values(typed.numbers)
                if field_value is not None
            )

    def becomes_number(self) -> bool:
        """Whether the column becomes numbers.

        Raises where it is a mixture, or would merge labels.
        """
        if not self.keeps_numbers or (
            self.is_feature and not self.is_number and self.n_numbers == 0
        ):
            return self.is_number
        if self.first_other is not None:
            raise self.first_other
        if self.is_label and len(self.texts) > len(self.values):
            received = (
                f"{self.name!r} as numbers and as labels, some of which are one number (as '01' and"
                " '1' are)"
            )
            advice = "make a column of its own for each purpose"
            raise InputError(
                "file",
                got=received,
                allowed="a column that is one or the other",
                cure=advice,
            )
        return True


def columns_seen(columns: Iterable[str], roles: Roles) -> dict[str, ColumnSeen]:
    """Nothing seen yet of some columns."""
    numbers = roles.wanted_as_numbers
    seen_by_column = {}
    for column_label in columns:
        if roles.labels is None:
            is_label = column_label not in numbers
        else:
            is_label = column_label in roles.labels
        seen_by_column[column_label] = ColumnSeen(
            name=column_label,
            is_label=is_label,
            is_number=column_label in roles.numbers,
            is_feature=column_label in roles.features,
        )
    return seen_by_column


def merged(parts: Sequence[Mapping[str, ColumnSeen]]) -> dict[str, ColumnSeen]:
    """What was seen in several files together."""
    joined_columns: dict[str, ColumnSeen] = {}
    for seen_in_file in parts:
        for column_label, column_seen in seen_in_file.items():
            if column_label not in joined_columns:
                joined_columns[column_label] = column_seen
                continue
            joined_column = joined_columns[column_label]
            joined_column.n_numbers += column_seen.n_numbers
            joined_column.n_others += column_seen.n_others
            joined_column.first_other = joined_column.first_other or column_seen.first_other
            joined_column.tokens.update(column_seen.tokens)
            joined_column.texts |= column_seen.texts
            joined_column.values |= column_seen.values
    return joined_columns


def _distinct_values(values: Any) -> Iterable[Any]:
    if isinstance(values, list):
        return set(values)
    return values.unique().to_pylist()  # type: ignore[no-any-return]
