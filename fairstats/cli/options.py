"""The parameters of the commands, from ``options.toml``, and what their text means."""

from __future__ import annotations

import csv
import inspect
import tomllib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from fairstats.ground.reading.roles import ReadingOptions, Roles
from fairstats.ground.reading.streams import Source
from fairstats.ground.reading.table import read_roles

with files("fairstats.cli").joinpath("options.toml").open("rb") as _stream:
    #: Table → name of a parameter → what is said of it.
    TABLES: dict[str, dict[str, dict[str, Any]]] = tomllib.load(_stream)
_TYPE_OF_KIND: dict[str, Any] = {
    "text": str,
    "list": list[str],
    "number": float,
    "whole": int,
    "flag": bool,
    "path": Path,
}
_ENUMERATION: Any = StrEnum  # mypy wants its names written out


def parameter(name: str, said: Mapping[str, Any]) -> inspect.Parameter:
    """One parameter of a command, from what a table says."""
    value_type = _TYPE_OF_KIND[said.get("kind", "text")]
    if "choices" in said:
        value_type = _ENUMERATION(
            name, {choice_text.replace("-", "_"): choice_text for choice_text in said["choices"]}
        )
    if "default" in said:
        default_value = value_type(said["default"])
    else:
        default_value = None
    typer_settings = {}
    for setting_name in ("help", "metavar", "min"):
        if setting_name in said:
            typer_settings[setting_name] = said[setting_name]
    typer_settings["show_default"] = default_value is not None
    argument = said.get("argument")
    option_flag = said.get("flag", "--" + name.replace("_", "-"))
    typer_parameter: Any = (
        typer.Argument(**typer_settings)
        if argument
        else typer.Option(option_flag, **typer_settings)
    )
    if default_value is None and argument != "needed":
        value_type = value_type | None
    if argument == "needed":
        default_value = inspect.Parameter.empty
    parameter_kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(
        name,
        parameter_kind,
        default=default_value,
        annotation=Annotated[value_type, typer_parameter],
    )


def reference_of(texts: Sequence[str] | None, groups: Sequence[str]) -> Any:
    """``None``, one group, or a mapping from column to group."""
    if not texts:
        return None
    group_of_column: dict[str, str] = {}
    for text in texts:
        column, equals_sign, group_name = text.partition("=")
        if equals_sign and (column in groups or " & " in column):
            group_of_column[column] = group_name
        elif len(texts) == 1:
            return text
        else:
            raise typer.BadParameter(
                f"{text!r}: with several, write COLUMN=GROUP", param_hint="--reference"
            )
    return group_of_column


def by_model(texts: Sequence[str] | None, option: str) -> Any:
    """``None``, one column, or a mapping from model to column."""
    if not texts or len(texts) == 1:
        return texts[0] if texts else None
    split_texts = [text.partition("=") for text in texts]
    if not all(
        equals_sign and model_name and column for model_name, equals_sign, column in split_texts
    ):
        raise typer.BadParameter(
            f"{', '.join(texts)}: with several, write NAME=COLUMN", param_hint=option
        )
    return {model_name: column for model_name, _, column in split_texts}


def by_column(texts: Sequence[str] | None, groups: Sequence[str], option: str) -> dict[str, str]:
    """Sensitive column → column, from ``COLUMN`` or ``ATTRIBUTE=COLUMN``."""
    column_of_attribute: dict[str, str] = {}
    for text in texts or ():
        attribute, equals_sign, column = text.partition("=")
        if equals_sign and attribute in groups:
            column_of_attribute[attribute] = column
        elif len(texts or ()) == 1 and len(groups) == 1:
            column_of_attribute[groups[0]] = text
        else:
            raise typer.BadParameter(
                f"{text!r}: with several sensitive columns, write ATTRIBUTE=COLUMN",
                param_hint=option,
            )
    return column_of_attribute


def by_key(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """KEY → text, from ``KEY=TEXT``."""
    split_texts = [text.partition("=") for text in texts or ()]
    if not all(equals_sign and key_text for key_text, equals_sign, _ in split_texts):
        raise typer.BadParameter(f"{', '.join(texts or ())}: write KEY=TEXT", param_hint=option)
    return {key_text: text for key_text, _, text in split_texts}


def cuts_of(texts: Sequence[str] | None) -> dict[str, Any] | None:
    """Column → its cuts, a number of groups or None, from ``COLUMN``, ``COLUMN=25,40`` or
    ``COLUMN=4``; None for none.
    """
    cuts: dict[str, Any] = {}
    for text in texts or ():
        column, equals_sign, points = text.rpartition("=")
        if not equals_sign:
            cuts[text] = None
            continue
        try:
            numbers = [float(point) for point in points.split(",")]
        except ValueError as problem:
            raise typer.BadParameter(
                f"{text!r}: write COLUMN=25,40,60 or COLUMN=4", param_hint="--subgroups"
            ) from problem
        if len(numbers) == 1 and numbers[0].is_integer() and numbers[0] > 1:
            cuts[column] = int(numbers[0])
        else:
            cuts[column] = numbers
    return cuts or None


def numbers_of(texts: Sequence[str] | None) -> Any:
    """``None``, one number, or table → number, from ``NUMBER`` or ``TABLE=NUMBER``."""
    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        text_by_table = {}
    else:
        text_by_table = by_key(texts, "--unknown")
    try:
        return {table: int(number_text) for table, number_text in text_by_table.items()} or int(
            texts[0]
        )
    except ValueError as problem:
        raise typer.BadParameter(
            f"{', '.join(texts)}: no whole number", param_hint="--unknown"
        ) from problem


def plain_values(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """With text in place of choices."""
    result: dict[str, Any] = {}
    for argument_name, argument_value in arguments.items():
        result[argument_name] = (
            argument_value.value if isinstance(argument_value, StrEnum) else argument_value
        )
    return result


def pos_labels(pos_label: str | None, pos_label_pred: str | None) -> Any:
    """``None``, one value for both columns, or a mapping."""
    if pos_label_pred is None:
        return pos_label
    label_by_column = {"y_true": pos_label, "y_pred": pos_label_pred}
    result = {}
    for column_role, favourable_label in label_by_column.items():
        if favourable_label is not None:
            result[column_role] = favourable_label
    return result


def score_range_of(text: str | None) -> tuple[float, float]:
    """The ends of the scale of ``300,850``; from 0 to 1 where none is named."""
    if text is None:
        return 0.0, 1.0
    try:
        worse_end, better_end = map(float, text.split(","))
    except ValueError as problem:
        raise typer.BadParameter(
            f"{text!r}: two numbers, the worse end first, as 300,850", param_hint="--score-range"
        ) from problem
    return worse_end, better_end


def label_values(text: str | None) -> list[str] | None:
    """``None``, or the labels of ``no,yes``; one with a comma stands in quotes."""
    if text is None:
        return None
    return next(csv.reader([text], skipinitialspace=True))


def roles_of(
    table: str,
    arguments: Mapping[str, Any],
    more_labels: Sequence[str] = (),
    more_numbers: Any = (),
) -> Roles:
    """The columns of a file that the options of a table name, by what they are read as."""
    columns: dict[str, list[str]] = {
        "label": [*more_labels],
        "number": [*more_numbers],
        "feature": [],
    }
    for argument_name, option_entry in TABLES[table].items():
        option_value = arguments.get(argument_name)
        if "column" not in option_entry or option_value is None:
            continue
        if isinstance(option_value, Mapping):
            option_value = option_value.values()
        columns[option_entry["column"]] += (
            [option_value] if isinstance(option_value, str) else option_value
        )
    return Roles.of(columns["label"], columns["number"], columns["feature"])


def reading_options(arguments: dict[str, Any]) -> ReadingOptions:
    """How a file is read, which leaves `arguments`."""
    asked_reading = {
        argument_name: arguments.pop(argument_name) for argument_name in TABLES["reading"]
    }
    if asked_reading["na_values"] is not None:
        asked_reading["na_values"] = asked_reading["na_values"].split(",")
    return ReadingOptions(**asked_reading, memory=arguments.pop("memory", None))


def read_rows(
    file: Path,
    held: bytes | None,
    roles: Roles,
    asked: ReadingOptions,
) -> tuple[Any, tuple[str, ...]]:
    """The rows of a file in memory, and notes about how it was read."""
    frame, record = read_roles(source_of(file, held), roles, asked, engine="rows")
    return frame, record.notes


def source_of(file: Path, held: bytes | None) -> Any:
    """What is read: a file, or what came by a pipe."""
    return file if held is None else Source.of_bytes(held)
