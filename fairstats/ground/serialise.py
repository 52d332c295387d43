"""Frozen dataclasses to JSON and back, without loss.

A registered dataclass becomes ``{"class": name, field: …}`` (a word of Python, so that no field has it); a
float that JSON cannot hold ``{"float": "NaN" | "Infinity" | "-Infinity"}``; an array ``{"array": nested list,
"dtype": …, "shape": …}``. R reads the same file.
"""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from fairstats.ground.errors import InputError

__all__ = ["decode", "encode", "serialisable", "unknown_parts"]

_REGISTRY: dict[str, type[Any]] = {}
_T = TypeVar("_T")
_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def serialisable(cls: type[_T]) -> type[_T]:
    """Class decorator: let `encode` and `decode` carry this dataclass."""
    _REGISTRY[cls.__name__] = cls
    return cls


def encode(value: Any) -> Any:
    """Plain JSON value (dict, list, str, int, float, bool, None) of `value`."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (np.bool_, np.integer)):
        return value.item()
    if isinstance(value, int):
        return value
    if isinstance(value, (float, np.floating)):
        return _encode_float(float(value))
    if isinstance(value, np.ndarray):
        return {"array": encode(value.tolist()), "dtype": str(value.dtype), "shape": list(value.shape)}
    if isinstance(value, (list, tuple)):
        return [encode(v) for v in value]
    if isinstance(value, dict):
        return {"mapping": {str(k): encode(v) for k, v in value.items()}}
    if is_dataclass(value) and type(value).__name__ in _REGISTRY:
        return {
            "class": type(value).__name__,
            **{f.name: encode(getattr(value, f.name)) for f in fields(value) if f.init},
        }
    raise InputError(
        "value",
        got=type(value).__name__,
        allowed="numbers, text, arrays, lists, mappings and the result classes of fairstats",
        cure="convert it before storing it in a result",
    )


def _encode_float(value: float) -> Any:
    if math.isfinite(value):
        return value
    return {"float": "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")}


def decode(value: Any) -> Any:
    """The value that `encode` made a JSON value of; lists come back as tuples.

    Raises
    ------
    InputError
        If the JSON names a class that this version does not know.
    """
    if isinstance(value, list):
        return tuple(decode(v) for v in value)
    if not isinstance(value, dict):
        return value
    if set(value) == {"float"}:
        return _NON_FINITE[value["float"]]
    if set(value) == {"array", "dtype", "shape"}:
        return np.array(_as_lists(decode(value["array"])), dtype=value["dtype"]).reshape(value["shape"])
    if set(value) == {"mapping"}:
        return {k: decode(v) for k, v in value["mapping"].items()}
    name = value.get("class")
    if name not in _REGISTRY:
        raise InputError(
            "json",
            got=f"an object of type {name!r}",
            allowed="results written by fairstats: " + ", ".join(sorted(_REGISTRY)),
            cure="read the file with the version that wrote it, or a newer one",
        )
    cls = _REGISTRY[name]
    known = {f.name for f in fields(cls)}
    given = {k: decode(v) for k, v in value.items() if k != "class" and k in known}
    try:
        return cls(**given)
    except TypeError as problem:
        raise InputError(
            "json",
            got=f"a {name} with the fields {sorted(given)}",
            allowed="results written by fairstats, unchanged",
            cure="write the file anew",
        ) from problem


def unknown_parts(value: Any) -> list[str]:
    """Classes and fields in a JSON value that this version does not know, each once.

    Examples
    --------
    >>> unknown_parts({"class": "Novelty", "n": 1})
    ["the class 'Novelty'"]
    """
    found: dict[str, None] = {}
    _collect_unknown(value, found)
    return list(found)


def _collect_unknown(value: Any, found: dict[str, None]) -> None:
    if isinstance(value, dict):
        name = value.get("class")
        if name is not None and name not in _REGISTRY:
            found[f"the class {name!r}"] = None
        elif name is not None:
            known = {f.name for f in fields(_REGISTRY[name])}
            for field in value.keys() - known - {"class"}:
                found[f"the field {field!r} of {name}"] = None
    if isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            _collect_unknown(part, found)


def _as_lists(value: Any) -> Any:
    return [_as_lists(v) for v in value] if isinstance(value, tuple) else value
