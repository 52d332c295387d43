"""Which options of the functions that infer about tails, regions and posteriors a cell takes.

A cell of the published table shows one way to call a function. Whoever calls it otherwise has to
know whether that way was shown too: every parameter, and of those with named choices every choice
but the default, is taken by a cell, or `options.toml` says why none need be. A test goes through
the signatures, so that an option that is new has its cell or its reason.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fairstats as fs
from tests.calibration.study import Cell

_REASONS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
#: Reasons of parameters that mean the same in every function.
_ANYWHERE = "anywhere"


@dataclass(frozen=True)
class Option:
    """A parameter, or one of its choices, of a function; `name`: `level` or `level=in_sample`."""

    function: str
    name: str


def functions() -> dict[str, Callable[..., Any]]:
    """What is gone through, by the name that its cells have."""
    found: dict[str, Callable[..., Any]] = {"ecd": fs.ecd, "hdr": fs.hdr}
    for name in ("fit_gpd", "fit_gev", "fit_point_process", "choose_threshold"):
        found[name] = getattr(fs.evt, name)
    for name in ("return_level", "interval", "endpoint"):
        found[f"EvtFit.{name}"] = getattr(fs.results.EvtFit, name)
    for name in fs.__all__:
        if name.startswith("um_"):
            found[name] = getattr(fs, name)
    return found


def options_of(function: Callable[..., Any]) -> list[str]:
    """Parameters without choices, and the choices of the others but for the default."""
    text = inspect.getdoc(function) or ""
    found = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.default is parameter.empty:
            continue  # what every call gives
        choices = _choices_of(name, text)
        others = [choice for choice in choices if choice != _written(parameter.default)]
        found += [f"{name}={choice}" for choice in others] if choices else [name]
    return found


def _choices_of(name: str, text: str) -> list[str]:
    """Choices that the docstring names for a parameter, as `name : {"a", "b"}, or a number`."""
    described = re.search(rf"^[\w, ]*\b{name}\b[\w, ]* : (.*)$", text, re.MULTILINE)
    if described is None:
        return []
    if described[1].startswith("bool"):
        return ["True", "False"]
    listed = re.search(r"\{([^}]*)\}", described[1])
    named = listed[1].split(",") if listed else re.findall(r'"[^"]+"', described[1])
    return [choice.strip().strip("\"'") for choice in named]


def _written(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def unshown(cells: Mapping[str, Cell]) -> list[Option]:
    """Options that neither a cell takes nor a reason explains."""
    return [
        Option(name, option)
        for name, function in functions().items()
        for option in options_of(function)
        if not (_is_taken(name, option, cells) or _is_explained(name, option, cells))
    ]


def idle(cells: Mapping[str, Cell]) -> list[Option]:
    """Reasons for options that there are not, or whose pattern no cell has."""
    known = functions()
    there_are = {name: set(options_of(function)) for name, function in known.items()}
    parameters = {option.partition("=")[0] for of_one in there_are.values() for option in of_one}
    found = []
    for name, reasons in _REASONS.items():
        for option, reason in reasons.items():
            if name == _ANYWHERE:
                is_idle = option not in parameters
            else:
                is_idle = not any(_names(option, there) for there in there_are.get(name, ()))
            if is_idle or (isinstance(reason, dict) and not _has_cell(reason["cells"], cells)):
                found.append(Option(name, option))
    return found


def _names(reason: str, option: str) -> bool:
    """Whether a reason is one for this option: for all choices of a parameter, or for one."""
    return reason in (option, option.partition("=")[0])


def _is_taken(function: str, option: str, cells: Mapping[str, Cell]) -> bool:
    """Whether a cell of the function has `name=choice`, or `name=` with any value, in its words."""
    name, _, choice = option.partition("=")
    wanted = rf"\b{name}=" + (rf"['\"]?{re.escape(choice)}\b" if choice else "")
    word = re.compile(rf"\b{function.rpartition('.')[2]}\b")
    return any(word.search(cell.method) and re.search(wanted, key) for key, cell in cells.items())


def _is_explained(function: str, option: str, cells: Mapping[str, Cell]) -> bool:
    """Whether `options.toml` has a reason for it, or cells that take it under other words."""
    reasons = {**_REASONS[_ANYWHERE], **_REASONS.get(function, {})}
    for name, reason in reasons.items():
        if _names(name, option):
            return isinstance(reason, str) or _has_cell(reason["cells"], cells)
    return False


def _has_cell(pattern: str, cells: Mapping[str, Cell]) -> bool:
    return any(re.search(pattern, key) for key in cells)
