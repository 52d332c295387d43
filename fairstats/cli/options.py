"""The parameters of the commands, from ``options.toml``, and what their text means."""

from __future__ import annotations

import csv
import inspect
import sys
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
_KINDS: dict[str, Any] = {
    "text": str, "list": list[str], "number": float, "whole": int, "flag": bool, "path": Path
}  # fmt: skip
_ENUMERATION: Any = StrEnum  # mypy wants its names written out


def parameter(name: str, said: Mapping[str, Any]) -> inspect.Parameter:
    """One parameter of a command, from what a table says."""
    kind = _KINDS[said.get("kind", "text")]
    if "choices" in said:
        kind = _ENUMERATION(name, {value.replace("-", "_"): value for value in said["choices"]})
    default = kind(said["default"]) if "default" in said else None
    how = {key: said[key] for key in ("help", "metavar", "min") if key in said}
    how["show_default"] = default is not None
    argument, flag = said.get("argument"), said.get("flag", "--" + name.replace("_", "-"))
    about: Any = typer.Argument(**how) if argument else typer.Option(flag, **how)
    kind = kind | None if default is None and argument != "needed" else kind
    default = inspect.Parameter.empty if argument == "needed" else default
    place = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, place, default=default, annotation=Annotated[kind, about])


def reference_of(given: Sequence[str] | None, groups: Sequence[str]) -> Any:
    """``None``, one group, or a mapping from column to group."""
    if not given:
        return None
    found: dict[str, str] = {}
    for text in given:
        column, sign, value = text.partition("=")
        if sign and (column in groups or " & " in column):
            found[column] = value
        elif len(given) == 1:
            return text
        else:
            raise typer.BadParameter(f"{text!r}: with several, write COLUMN=GROUP", param_hint="--reference")
    return found


def by_model(given: Sequence[str] | None, option: str) -> Any:
    """``None``, one column, or a mapping from model to column."""
    if not given or len(given) == 1:
        return given[0] if given else None
    parts = [text.partition("=") for text in given]
    if not all(sign and name and column for name, sign, column in parts):
        raise typer.BadParameter(f"{', '.join(given)}: with several, write NAME=COLUMN", param_hint=option)
    return {name: column for name, _, column in parts}


def by_column(given: Sequence[str] | None, groups: Sequence[str], option: str) -> dict[str, str]:
    """Sensitive column → column, from ``COLUMN`` or ``ATTRIBUTE=COLUMN``."""
    found: dict[str, str] = {}
    for text in given or ():
        attribute, sign, column = text.partition("=")
        if sign and attribute in groups:
            found[attribute] = column
        elif len(given or ()) == 1 and len(groups) == 1:
            found[groups[0]] = text
        else:
            raise typer.BadParameter(
                f"{text!r}: with several sensitive columns, write ATTRIBUTE=COLUMN", param_hint=option
            )
    return found


def by_key(given: Sequence[str] | None, option: str) -> dict[str, str]:
    """KEY → text, from ``KEY=TEXT``."""
    parts = [text.partition("=") for text in given or ()]
    if not all(sign and key for key, sign, _ in parts):
        raise typer.BadParameter(f"{', '.join(given or ())}: write KEY=TEXT", param_hint=option)
    return {key: text for key, _, text in parts}


def numbers_of(given: Sequence[str] | None) -> Any:
    """``None``, one number, or table → number, from ``NUMBER`` or ``TABLE=NUMBER``."""
    if not given:
        return None
    named = {} if len(given) == 1 and "=" not in given[0] else by_key(given, "--unknown")
    try:
        return {table: int(text) for table, text in named.items()} or int(given[0])
    except ValueError as problem:
        raise typer.BadParameter(f"{', '.join(given)}: no whole number", param_hint="--unknown") from problem


def plain_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """With text in place of choices."""
    return {name: value.value if isinstance(value, StrEnum) else value for name, value in given.items()}


def pos_labels(pos_label: str | None, pos_label_pred: str | None) -> Any:
    """``None``, one value for both columns, or a mapping."""
    if pos_label_pred is None:
        return pos_label
    both = {"y_true": pos_label, "y_pred": pos_label_pred}
    return {name: value for name, value in both.items() if value is not None}


def label_values(text: str | None) -> list[str] | None:
    """``None``, or the labels of ``no,yes``; one with a comma stands in quotes."""
    if text is None:
        return None
    return next(csv.reader([text], skipinitialspace=True))


def roles_of(table: str, given: Mapping[str, Any], more_labels: Sequence[str] = (), more_numbers: Any = ()) -> Roles:
    """The columns of a file that the options of a table name, by what they are read as."""
    columns: dict[str, list[str]] = {"label": [*more_labels], "number": [*more_numbers], "feature": []}
    for name, about in TABLES[table].items():
        value = given.get(name)
        if "column" not in about or value is None:
            continue
        if isinstance(value, Mapping):
            value = value.values()
        columns[about["column"]] += [value] if isinstance(value, str) else value
    return Roles.of(columns["label"], columns["number"], columns["feature"])


def reading_options(given: dict[str, Any]) -> ReadingOptions:
    """How a file is read, which leaves `given`."""
    asked = {name: given.pop(name) for name in TABLES["reading"]}
    if asked["na_values"] is not None:
        asked["na_values"] = asked["na_values"].split(",")
    return ReadingOptions(**asked, memory=given.pop("memory", None), progress=sys.stdout.isatty())


def read_rows(file: Path, held: bytes | None, roles: Roles, asked: ReadingOptions) -> tuple[Any, tuple[str, ...]]:
    """The rows of a file in memory, and notes about how it was read."""
    frame, record = read_roles(source_of(file, held), roles, asked, engine="rows")
    return frame, record.notes


def source_of(file: Path, held: bytes | None) -> Any:
    """What is read: a file, or what came by a pipe."""
    return file if held is None else Source.of_bytes(held)
