"""Frozen dataclasses to JSON and back, without loss.

A registered dataclass becomes ``{"class": name, field: …}`` (a word of Python, so that no field has it); a
float that JSON cannot hold ``{"float": "NaN" | "Infinity" | "-Infinity"}``; an array ``{"array": nested list,
"dtype": …, "shape": …}``. R reads the same file.
"""

from __future__ import annotations

import ast
import json
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from functools import lru_cache, partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar, dataclass_transform, get_origin

import numpy as np

from fairstats.ground.checks import check_that
from fairstats.ground.errors import FairstatsError, InputError
from fairstats.ground.stored import check_numbers, check_stored, damaged

_REGISTRY: dict[str, type[Any]] = {}
_T = TypeVar("_T")
#: Levels of brackets in a file, of which a report has about 12; digits of a whole number, of which seeds have up to 39.
DEEPEST, MOST_DIGITS = 60, 40
_DTYPE = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|object|<U\d{1,9}")
#: Kind of an array in a file → kinds that its entries may have in JSON.
_WITHIN = {"b": "b", "i": "iu", "u": "iu", "f": "fiu", "U": "U", "O": "O"}
#: Built-in types of fields: JSON writes a whole float as a float, but a field may hold a count.
_PLAIN: dict[str, Any] = {"float": (int, float), "int": int, "str": str, "bool": bool}
_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def check_path(argument: str, path: Any) -> str:
    """The path of a file as text, or an error."""
    fine = isinstance(path, PathLike) or (isinstance(path, str) and path and "\0" not in path)
    check_that(fine, argument, path, "the path of a file", f'{argument}="report.json"')
    return str(fspath(path))


def kept_in_memory(*, default: Any, compare: bool = True) -> Any:
    """A field that no file holds: rows of people, functions, what was drawn already.

    It is an argument of the class like any other, so that `dataclasses.replace` carries it and no object is changed
    after it was made.
    """
    return field(default=default, repr=False, compare=compare, metadata={"in_file": False})


def _is_in_file(declared: Field[Any]) -> bool:
    return declared.init and declared.metadata.get("in_file", True)


@dataclass_transform(frozen_default=True, field_specifiers=(field, kept_in_memory))
def serialisable(*, eq: bool = True, kw_only: bool = False) -> Callable[[type[_T]], type[_T]]:
    """Class decorator: make it a frozen dataclass that `encode` and `decode` carry."""

    def made(cls: type[_T]) -> type[_T]:
        _REGISTRY[cls.__name__] = dataclass(frozen=True, eq=eq, kw_only=kw_only)(cls)
        return _REGISTRY[cls.__name__]

    return made


def encode(value: Any) -> Any:
    """Plain JSON value (dict, list, str, int, float, bool, None) of `value`."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.bool_, np.integer)):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, (float, np.floating)):
        word = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return float(value) if math.isfinite(value) else {"float": word}
    if isinstance(value, np.ndarray):
        return {"array": encode(value.tolist()), "dtype": str(value.dtype), "shape": list(value.shape)}
    if isinstance(value, (list, tuple)):
        return [encode(v) for v in value]
    if isinstance(value, dict):
        return {"mapping": {str(k): encode(v) for k, v in value.items()}}
    if is_dataclass(value) and type(value).__name__ in _REGISTRY:
        names = (*_facts(type(value)), *(f.name for f in fields(value) if _is_in_file(f)))
        return {"class": type(value).__name__, **{name: encode(getattr(value, name)) for name in names}}
    allowed = "numbers, text, arrays, lists, mappings and the result classes of fairstats"
    cure = "convert it before storing it in a result"
    raise InputError("value", got=type(value).__name__, allowed=allowed, cure=cure)


def _facts(cls: type[Any]) -> tuple[str, ...]:
    """Class variables that stand in the file for its readers: ``in_file``, such as the names of cells."""
    return getattr(cls, "in_file", ())


def read_json(path: str | PathLike[str], argument: str, allowed: str) -> dict[str, Any]:
    """The object in a file of JSON, not yet decoded; errors as those of `parse_json`."""
    name = repr(fspath(path))
    try:
        held = Path(path).read_bytes()
    except (OSError, ValueError) as problem:
        got = f"{name}, which cannot be read ({problem.strerror if isinstance(problem, OSError) else problem})"
        raise InputError(argument, got=got, allowed=allowed, cure="check the path") from problem
    return parse_json(held, argument, name, allowed)


def parse_json(text: str | bytes, argument: str, name: str, allowed: str) -> dict[str, Any]:
    """The object that a JSON text holds, not yet decoded; `name`: where it came from, for errors.

    NaN, numbers beyond those of a float, `MOST_DIGITS` digits or `DEEPEST` levels are errors, too.
    """
    cure = "write the file anew; this one is damaged, or no file of fairstats"
    try:
        plain = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        data = json.loads(plain, parse_int=_whole, parse_float=_real, parse_constant=_real)
    except (ValueError, RecursionError) as problem:
        why = "too many levels" if isinstance(problem, RecursionError) else problem
        got = f"{name}, which cannot be read as JSON ({why})"
        raise InputError(argument, got=got, allowed=allowed, cure=cure) from problem
    if not isinstance(data, dict):
        raise InputError(argument, got=f"{name} with a {type(data).__name__}", allowed=allowed, cure=cure)
    level: list[Any] = [data]
    for _ in range(DEEPEST):
        parts = (part.values() if isinstance(part, dict) else part for part in level)
        level = [child for part in parts for child in part if isinstance(child, (dict, list))]
        if not level:
            return data
    got = f"{name} with more than {DEEPEST} levels of brackets"
    raise InputError(argument, got=got, allowed=allowed, cure=cure)


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a whole number of {len(digits)} digits")
    return int(digits)


def _real(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {digits[:MOST_DIGITS]}")
    return value


def decode(value: Any) -> Any:
    """The value that `encode` made a JSON value of; lists come back as tuples.

    Raises InputError for a class that this version does not know, a field that is missing or of another type, and
    arrays that are not what they say.
    """
    if isinstance(value, list):
        return tuple(decode(v) for v in value)
    if not isinstance(value, dict):
        return value
    keys = set(value)
    if keys == {"float"} and isinstance(value["float"], str) and value["float"] in _NON_FINITE:
        return _NON_FINITE[value["float"]]
    if keys == {"array", "dtype", "shape"}:
        return _array(**value)
    if keys == {"mapping"} and isinstance(value["mapping"], dict):
        return {k: decode(v) for k, v in value["mapping"].items()}
    name = value.get("class")
    if not isinstance(name, str) or name not in _REGISTRY:
        got = f"an object of type {name!r}"[:80]
        allowed = "results written by fairstats: " + ", ".join(sorted(_REGISTRY))
        cure = "read the file with the version that wrote it, or a newer one"
        raise InputError("json", got=got, allowed=allowed, cure=cure)
    return _instance(_REGISTRY[name], value)


def _instance(cls: type[Any], value: dict[str, Any]) -> Any:
    """The dataclass whose fields the JSON object holds, each of its declared type."""
    known = {f.name: str(f.type) for f in fields(cls) if _is_in_file(f)}
    given = {k: decode(v) for k, v in value.items() if k != "class" and k in known}
    for name, held in given.items():
        if not fits(held, known[name], vars(sys.modules[cls.__module__])):
            got = f"{cls.__name__} whose {name} is {f'{held!r}'[:60]}, of type {type(held).__name__}"
            raise damaged(got, f"{name} of type {known[name]}")
        check_numbers(cls.__name__, name, held)
    try:
        made = cls(**given)
        check_stored(made)
        return made
    except FairstatsError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        got = f"a {cls.__name__} with the fields {sorted(given)}, which do not fit together ({problem})"
        raise damaged(got, "results written by fairstats, unchanged") from problem


def _array(array: Any, dtype: Any, shape: Any) -> Any:
    """An array of numbers, truth values or text; raises where its parts are not of its kind."""
    kind = dtype if isinstance(dtype, str) and _DTYPE.fullmatch(dtype) else ""
    whole = isinstance(shape, list) and all(type(n) is int and 0 <= n < 2**40 for n in shape)
    allowed = "an array of numbers or text as fairstats wrote it"
    if not kind or not whole or not isinstance(array, (list, int, float, str, dict)):
        raise damaged(f"an array of type {str(dtype)[:40]!r} and shape {str(shape)[:40]}", allowed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = np.array(_as_lists(decode(array)), dtype=object if kind == "object" else None)
            if found.size and found.dtype.kind not in _WITHIN[np.dtype(kind).kind]:
                raise TypeError(f"values of type {found.dtype} in an array of {kind}")
            made = found.astype(str if kind.startswith("<U") else kind).reshape(shape)
            if found.dtype.kind in "iu" and not np.array_equal(made.ravel(), found.ravel()):
                raise OverflowError(f"numbers beyond {kind}")
            return made
    except FairstatsError:
        raise
    except (ArithmeticError, TypeError, ValueError, Warning) as problem:
        raise damaged(f"an array of {kind} that cannot be made ({problem})", allowed) from problem


def fits(value: Any, annotation: str, names: Mapping[str, Any]) -> bool:
    """Whether a decoded value is of the type that a field declares; `names`: of the module of its class."""
    return _fits(value, _parsed(annotation), names)


@lru_cache(maxsize=512)
def _parsed(annotation: str) -> ast.expr:
    return ast.parse(annotation, mode="eval").body


def _fits(value: Any, kind: ast.expr, names: Mapping[str, Any]) -> bool:
    if isinstance(kind, ast.BinOp):
        return _fits(value, kind.left, names) or _fits(value, kind.right, names)
    if isinstance(kind, ast.Constant):
        return value is kind.value
    if isinstance(kind, ast.Subscript):
        return _fits_parts(value, ast.unparse(kind.value), kind.slice, names)
    name = ast.unparse(kind)
    if name in _PLAIN:
        return isinstance(value, _PLAIN[name]) and (name == "bool" or not isinstance(value, bool))
    meant = _REGISTRY.get(name) or names.get(name)
    meant = get_origin(meant) or meant  # of an alias such as NDArray[np.float64]
    meant = getattr(meant, "__value__", meant)  # which newer NumPy declares by a `type` statement
    meant = get_origin(meant) or meant
    return meant is Any or not isinstance(meant, type) or isinstance(value, meant)


def _fits_parts(value: Any, whole: str, of: ast.expr, names: Mapping[str, Any]) -> bool:
    """Whether an array, a mapping or a tuple is one, with parts of the declared types."""
    kinds = of.elts if isinstance(of, ast.Tuple) else [of]
    if whole == "NDArray":
        return isinstance(value, np.ndarray)
    if whole == "dict":
        return isinstance(value, dict) and all(_fits(v, kinds[-1], names) for v in value.values())
    if whole != "tuple" or not isinstance(value, tuple):
        return whole != "tuple"
    if isinstance(kinds[-1], ast.Constant) and kinds[-1].value is ...:
        return all(_fits(v, kinds[0], names) for v in value)
    return len(value) == len(kinds) and all(map(partial(_fits, names=names), value, kinds))


def unknown_parts(value: Any) -> list[str]:
    """Classes and fields in a JSON value that this version does not know, each once."""
    return list(dict.fromkeys(_unknown(value)))


def _unknown(value: Any) -> Iterator[str]:
    name = value.get("class") if isinstance(value, dict) else None
    if name is not None and name not in _REGISTRY:
        yield f"the class {name!r}"
    elif name is not None:
        known = {f.name for f in fields(_REGISTRY[name]) if _is_in_file(f)} | {"class", *_facts(_REGISTRY[name])}
        yield from (f"the field {field!r} of {name}" for field in value.keys() - known)
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _unknown(part)


def _as_lists(value: Any) -> Any:
    return [_as_lists(v) for v in value] if isinstance(value, tuple) else value
