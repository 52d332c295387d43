"""What the text of a file means: one rule for every engine, and its twin in R (`r/R/read.R`).

The rule, in words:

- Every field is text first, exactly as it is written between the separators: "01", "1" and " 1" are
  three texts, quoted or not is the same, no field is a date or a truth value.
- A field is missing where it is empty, or is one of the missing tokens (`MISSING_TOKENS`, or
  `na_values=` in their place), letter for letter.
- A label (sensitive feature, stratum, cluster, outcome, prediction) is that text.
- A number (score, weight, count) is a decimal number in ASCII: a sign or none, digits with at most
  one decimal mark, an exponent or none; spaces and tabs around it do not count. Hexadecimal
  ("0x10"), digits grouped by marks ("1_000", "1,000"), percentages, the words inf and nan, and
  numbers beyond 1.8e308 are no numbers. The first field that is none is an error which shows its
  line. Numbers become the nearest double.
- A feature is a number where every field is one, a category where none is; a mixture is an error
  that shows the first line with a field that is no number.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairstats.ground.checks import check_that, shown
from fairstats.ground.errors import InputError

#: What reads as missing in a text file, unless `na_values=` says otherwise: the list of pandas.
MISSING_TOKENS = (
    "#N/A",
    "#N/A N/A",
    "#NA",
    "-1.#IND",
    "-1.#QNAN",
    "-NaN",
    "-nan",
    "1.#IND",
    "1.#QNAN",
    "<NA>",
    "N/A",
    "NA",
    "NULL",
    "NaN",
    "None",
    "n/a",
    "nan",
    "null",
)
#: A number with a decimal point, as Python, RE2 (Arrow) and R understand the pattern.
NUMBER = r"^[ \t]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t]*$"
_NUMBER_PATTERNS = {
    ".": re.compile(NUMBER[:-1] + r"\Z"),
    ",": re.compile(NUMBER[:-1].replace(r"\.", ",") + r"\Z"),
}
_PERHAPS_THOUSANDS = re.compile(r"[ \t]*[+-]?[1-9][0-9]{0,2},[0-9]{3}[ \t]*\Z")
#: Separators that are recognised, the likeliest first.
SEPARATORS = (",", ";", "\t", "|")
#: How a separator is called in notes.
SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
#: Lines that are looked at to recognise the separator.
_LINES_SAMPLED = 50


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    `sep`: between the fields; `decimal`: mark of its numbers; `encoding`: name that Python knows;
    `tokens`: what reads as missing beside the empty field.
    """

    sep: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    tokens: tuple[str, ...] = MISSING_TOKENS


def number_of(text: str, decimal: str = ".") -> float | None:
    """The number that a text is, None where it is none."""
    if _NUMBER_PATTERNS[decimal].match(text) is None:
        return None
    number = float(text.strip(" \t").replace(",", "."))
    return number if math.isfinite(number) else None


def check_tokens(na_values: str | Iterable[str] | None) -> tuple[str, ...]:
    """The missing tokens that `na_values=` names; the empty field is missing always."""
    if na_values is None:
        return MISSING_TOKENS
    tokens = (na_values,) if isinstance(na_values, str) else na_values
    allowed = "None, a text, or a list of texts"
    # an array of no dimension calls itself iterable
    is_list = isinstance(tokens, Iterable) and getattr(tokens, "ndim", 1) > 0
    check_that(is_list, "na_values", na_values, allowed, 'na_values=["NA", "-9"]')
    tokens = tuple(tokens)
    every_text = all(isinstance(token, str) for token in tokens)
    check_that(every_text, "na_values", na_values, allowed, 'na_values=["NA", "-9"]')
    return tuple(dict.fromkeys(token for token in tokens if token))


def check_separator(sep: str | None, argument: str = "sep") -> str | None:
    r"""The separator that was asked for; ``\t`` of two characters, and the word tab, are a tab."""
    if sep is None:
        return None
    is_tab_word = isinstance(sep, str) and sep in ("\\t", "tab")
    separator = "\t" if is_tab_word else sep
    is_one_character = isinstance(separator, str) and len(separator.encode("utf-8", "replace")) == 1
    is_separator = is_one_character and separator not in '"\r\n\0'
    check_that(is_separator, argument, sep, "one character of ASCII, or \\t for a tab", r"sep='\t'")
    return separator


def check_decimal(decimal: str | None, sep: str | None = None) -> str | None:
    """The decimal mark that was asked for."""
    if decimal is None:
        return None
    is_mark = isinstance(decimal, str) and decimal in (".", ",")
    check_that(is_mark, "decimal", decimal, "'.' or ','", "decimal=','")
    return decimal


def records(lines: Iterable[str], sep: str) -> Iterable[list[str]]:
    """The records of a text, without blank lines."""
    for fields in csv.reader(lines, delimiter=sep, strict=True):
        if fields:
            yield fields


def first_records(sample: str, sep: str, most: int = _LINES_SAMPLED) -> list[list[str]]:
    """The first records of a sample whose last one may be cut.

    None where the separator does not fit.
    """
    read_records: list[list[str]] = []
    try:
        for fields in records(io.StringIO(sample, newline=""), sep):
            read_records.append(fields)
            if len(read_records) > most:
                break
    except csv.Error:
        pass
    if len(read_records) > 1 and not sample.endswith(("\n", "\r")):
        whole_records = read_records[:-1]
    else:
        whole_records = read_records
    return whole_records[:most]


def separator_of(sample: str, columns: Sequence[str], default: str) -> str:
    """The separator under which a sample is a table.

    `default` where it fits, else the one with most fields.

    One that splits the first lines into equally many fields, two or more, fits; the better if all
    `columns` are then names of the header. A space is one only where nothing else fits: it stands
    within names and labels, too.
    """
    best_separator = default
    unfit = (False, 0, False)
    best_rank = unfit
    for separator in dict.fromkeys((default, *SEPARATORS, " ")):
        if separator == " " and best_rank != unfit:
            break
        lines = first_records(sample, separator)
        if not lines or len(lines[0]) < 2 or any(len(fields) != len(lines[0]) for fields in lines):
            continue
        has_columns = bool(columns) and set(columns) <= set(lines[0])
        rank = (
            has_columns,
            len(lines[0]) if separator != default else len(lines[0]) + 1_000_000,
            separator == default,
        )
        if rank > best_rank:
            best_separator = separator
            best_rank = rank
    return best_separator


def decimal_of(fields: Iterable[str]) -> str:
    """The decimal mark of some numbers.

    A comma where one number is written so, and none with a point.
    """
    has_comma = False
    for field_text in fields:
        if "." in field_text and number_of(field_text, ".") is not None:
            return "."
        has_comma = has_comma or shows_decimal_comma(field_text)
    return "," if has_comma else "."


def shows_decimal_comma(text: str) -> bool:
    """Whether a number is written with a decimal comma.

    Of "1,250" it could be a mark between thousands.
    """
    is_number = "," in text and number_of(text, ",") is not None
    return is_number and _PERHAPS_THOUSANDS.match(text) is None


def no_number(
    column: str,
    text: str,
    line: int,
    *,
    where: str,
    mixed: bool,
    decimal: str,
) -> InputError:
    """The error about a field that is no number; `mixed`: of a feature that has numbers, too."""
    received = f"{shown(text)} in column {column!r}, line {line:,} of {where}"
    if mixed:
        allowed = "a feature whose fields are all numbers, or all categories"
        advice = f"name what means missing, na_values={[text]!r}, or write all of them as one kind"
    else:
        allowed = f"a number with the decimal mark {decimal!r}, or a field that means missing"
        advice = f"mend that field; if it means missing, name it: na_values={[text]!r}"
        if decimal == "." and number_of(text, ",") is not None:
            advice = (
                "if the comma is the decimal mark, decimal=',' (--decimal ,); if it groups digits,"
                " leave it out"
            )
    return InputError("file", got=received, allowed=allowed, cure=advice)
