"""Frozen dataclasses to JSON and back, without loss.

A registered dataclass becomes ``{"class": name, field: …}`` (a word of Python, so that no field has
it); a float that JSON cannot hold ``{"float": "NaN" | "Infinity" | "-Infinity"}``; an array
``{"array": nested list, "dtype": …, "shape": …}``. R reads the same file.
"""

from __future__ import annotations

import ast
import json
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, is_dataclass
from functools import lru_cache, partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar, dataclass_transform, get_origin

import numpy as np

from fairstats.ground.checks import check_that
from fairstats.ground.errors import FairstatsError, InputError
from fairstats.ground.stored import check_numbers, check_stored, damaged

_CLASS_REGISTRY: dict[str, type[Any]] = {}
_T = TypeVar("_T")
#: Levels of brackets in a file, of which a report has about 12; digits of a whole number, of which
#: seeds have up to 39.
DEEPEST = 60
MOST_DIGITS = 40
_STORED_DTYPE = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|object|<U\d{1,9}")
#: Kind of an array in a file → kinds that its entries may have in JSON.
_ENTRY_KINDS_OF = {"b": "b", "i": "iu", "u": "iu", "f": "fiu", "U": "U", "O": "O"}
#: Built-in types of fields: JSON writes a whole float as a float, but a field may hold a count.
_BUILT_IN_TYPES: dict[str, Any] = {"float": (int, float), "int": int, "str": str, "bool": bool}
_NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def check_path(argument: str, path: Any) -> str:
    """The path of a file as text, or an error."""
    is_path = isinstance(path, PathLike) or (isinstance(path, str) and path and "\0" not in path)
    check_that(is_path, argument, path, "the path of a file", f'{argument}="report.json"')
    return str(fspath(path))


def kept_in_memory(*, default: Any, compare: bool = True) -> Any:
    """A field that no file holds: rows of people, functions, what was drawn already.

    It is an argument of the class like any other, so that `dataclasses.replace` carries it and no
    object is changed after it was made.
    """
    return field(default=default, repr=False, compare=compare, metadata={"in_file": False})


def _is_in_file(class_field: Field[Any]) -> bool:
    return class_field.init and class_field.metadata.get("in_file", True)


@dataclass_transform(frozen_default=True, field_specifiers=(field, kept_in_memory))
def serialisable(*, eq: bool = True, kw_only: bool = False) -> Callable[[type[_T]], type[_T]]:
    """Class decorator: make it a frozen dataclass that `encode` and `decode` carry."""

    def made(cls: type[_T]) -> type[_T]:
        _CLASS_REGISTRY[cls.__name__] = dataclass(frozen=True, eq=eq, kw_only=kw_only)(cls)
        return _CLASS_REGISTRY[cls.__name__]

    return made


def encode(value: Any) -> Any:
    """Plain JSON value (dict, list, str, int, float, bool, None) of `value`."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.bool_, np.integer)):
        if isinstance(value, np.generic):
            return value.item()
        return value
    if isinstance(value, (float, np.floating)):
        if math.isnan(value):
            float_word = "NaN"
        else:
            float_word = "Infinity" if value > 0 else "-Infinity"
        if math.isfinite(value):
            return float(value)
        return {"float": float_word}
    if isinstance(value, np.ndarray):
        return {
            "array": encode(value.tolist()),
            "dtype": str(value.dtype),
            "shape": list(value.shape),
        }
    # texts have been returned above
    to_store: Callable[[], Any] | None = getattr(value, "to_store", None)
    stored = None if to_store is None else to_store()
    if stored is not None:
        return encode(stored)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [encode(entry) for entry in value]
    if isinstance(value, dict):
        return {
            "mapping": {str(mapping_key): encode(entry) for mapping_key, entry in value.items()}
        }
    if is_dataclass(value) and type(value).__name__ in _CLASS_REGISTRY:
        names = (
            *_stored_class_variables(type(value)),
            *(class_field.name for class_field in fields(value) if _is_in_file(class_field)),
        )
        return {
            "class": type(value).__name__,
            **{field_name: encode(getattr(value, field_name)) for field_name in names},
        }
    allowed = "numbers, text, arrays, lists, mappings and the result classes of fairstats"
    advice = "convert it before storing it in a result"
    raise InputError("value", got=type(value).__name__, allowed=allowed, cure=advice)


def _stored_class_variables(cls: type[Any]) -> tuple[str, ...]:
    """Class variables that stand in the file for its readers.

    ``in_file``, such as the names of cells.
    """
    return getattr(cls, "in_file", ())


def read_json(path: str | PathLike[str], argument: str, allowed: str) -> dict[str, Any]:
    """The object in a file of JSON, not yet decoded; errors as those of `parse_json`."""
    path_text = repr(fspath(path))
    try:
        file_bytes = Path(path).read_bytes()
    except (OSError, ValueError) as problem:
        received = (
            f"{path_text}, which cannot be read"
            f" ({problem.strerror if isinstance(problem, OSError) else problem})"
        )
        raise InputError(
            argument,
            got=received,
            allowed=allowed,
            cure="check the path",
        ) from problem
    return parse_json(file_bytes, argument, path_text, allowed)


def parse_json(text: str | bytes, argument: str, name: str, allowed: str) -> dict[str, Any]:
    """The object that a JSON text holds, not yet decoded; `name`: where it came from, for errors.

    NaN, numbers beyond those of a float, `MOST_DIGITS` digits or `DEEPEST` levels are errors, too.
    """
    advice = "write the file anew; this one is damaged, or no file of fairstats"
    try:
        if isinstance(text, bytes):
            json_text = text.decode("utf-8-sig")
        else:
            json_text = text
        json_object = json.loads(
            json_text,
            parse_int=_parse_whole_number,
            parse_float=_parse_real_number,
            parse_constant=_parse_real_number,
        )
    except (ValueError, RecursionError) as problem:
        reason = "too many levels" if isinstance(problem, RecursionError) else problem
        received = f"{name}, which cannot be read as JSON ({reason})"
        raise InputError(argument, got=received, allowed=allowed, cure=advice) from problem
    if not isinstance(json_object, dict):
        raise InputError(
            argument,
            got=f"{name} with a {type(json_object).__name__}",
            allowed=allowed,
            cure=advice,
        )
    level: list[Any] = [json_object]
    for _ in range(DEEPEST):
        containers = (
            container.values() if isinstance(container, dict) else container for container in level
        )
        level = []
        for container in containers:
            for inner_part in container:
                if isinstance(inner_part, (dict, list)):
                    level.append(inner_part)
        if not level:
            return json_object
    received = f"{name} with more than {DEEPEST} levels of brackets"
    raise InputError(argument, got=received, allowed=allowed, cure=advice)


def _parse_whole_number(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a whole number of {len(digits)} digits")
    return int(digits)


def _parse_real_number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:MOST_DIGITS]}")
    return number


def decode(value: Any) -> Any:
    """The value that `encode` made a JSON value of; lists come back as tuples.

    Raises InputError for a class that this version does not know, a field that is missing or of
    another type, and arrays that are not what they say.
    """
    if isinstance(value, list):
        return tuple(decode(entry) for entry in value)
    if not isinstance(value, dict):
        return value
    keys = set(value)
    if keys == {"float"} and isinstance(value["float"], str) and value["float"] in _NON_FINITE:
        return _NON_FINITE[value["float"]]
    if keys == {"array", "dtype", "shape"}:
        return _decode_array(**value)
    if keys == {"mapping"} and isinstance(value["mapping"], dict):
        return {mapping_key: decode(entry) for mapping_key, entry in value["mapping"].items()}
    class_name = value.get("class")
    if not isinstance(class_name, str) or class_name not in _CLASS_REGISTRY:
        received = f"an object of type {class_name!r}"[:80]
        allowed = "results written by fairstats: " + ", ".join(sorted(_CLASS_REGISTRY))
        advice = "read the file with the version that wrote it, or a newer one"
        raise InputError("json", got=received, allowed=allowed, cure=advice)
    return _decode_instance(_CLASS_REGISTRY[class_name], value)


def _decode_instance(cls: type[Any], json_object: dict[str, Any]) -> Any:
    """The dataclass whose fields the JSON object holds, each of its declared type."""
    type_by_field = {}
    for class_field in fields(cls):
        if _is_in_file(class_field):
            type_by_field[class_field.name] = str(class_field.type)
    field_values = {}
    for json_key, json_value in json_object.items():
        if json_key != "class" and json_key in type_by_field:
            field_values[json_key] = decode(json_value)
    for name, entry in field_values.items():
        if not fits(entry, type_by_field[name], vars(sys.modules[cls.__module__])):
            received = f"{cls.__name__} whose {name} is {f'{entry!r}'[:60]}, of type {type(entry).__name__}"
            raise damaged(received, f"{name} of type {type_by_field[name]}")
        check_numbers(cls.__name__, name, entry)
    try:
        instance = cls(**field_values)
        check_stored(instance)
        # what stood for another object in the file
        restored: Callable[[], Any] | None = getattr(instance, "restored", None)
        return instance if restored is None else restored()
    except FairstatsError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        received = (
            f"a {cls.__name__} with the fields {sorted(field_values)}, which do not fit together"
            f" ({problem})"
        )
        raise damaged(received, "results written by fairstats, unchanged") from problem


def _decode_array(array: Any, dtype: Any, shape: Any) -> Any:
    """An array of numbers, truth values or text; raises where its parts are not of its kind."""
    if isinstance(dtype, str) and _STORED_DTYPE.fullmatch(dtype):
        dtype_text = dtype
    else:
        dtype_text = ""
    is_shape = isinstance(shape, list) and all(
        type(axis_length) is int and 0 <= axis_length < 2**40 for axis_length in shape
    )
    allowed = "an array of numbers or text as fairstats wrote it"
    if not dtype_text or not is_shape or not isinstance(array, (list, int, float, str, dict)):
        raise damaged(f"an array of type {str(dtype)[:40]!r} and shape {str(shape)[:40]}", allowed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            plain_array = np.array(
                _as_lists(decode(array)), dtype=object if dtype_text == "object" else None
            )
            if (
                plain_array.size
                and plain_array.dtype.kind not in _ENTRY_KINDS_OF[np.dtype(dtype_text).kind]
            ):
                raise TypeError(f"values of type {plain_array.dtype} in an array of {dtype_text}")
            typed_array = plain_array.astype(
                str if dtype_text.startswith("<U") else dtype_text
            ).reshape(shape)
            if plain_array.dtype.kind in "iu" and not np.array_equal(
                typed_array.ravel(), plain_array.ravel()
            ):
                raise OverflowError(f"numbers beyond {dtype_text}")
            return typed_array
    except FairstatsError:
        raise
    except (ArithmeticError, TypeError, ValueError, Warning) as problem:
        raise damaged(
            f"an array of {dtype_text} that cannot be made ({problem})", allowed
        ) from problem


def fits(value: Any, annotation: str, names: Mapping[str, Any]) -> bool:
    """Whether a decoded value is of the type that a field declares; `names`: of the module of its
    class.
    """
    return _fits_annotation(value, _parse_annotation(annotation), names)


@lru_cache(maxsize=512)
def _parse_annotation(annotation: str) -> ast.expr:
    return ast.parse(annotation, mode="eval").body


def _fits_annotation(value: Any, annotation: ast.expr, names: Mapping[str, Any]) -> bool:
    """Whether a stored value is of the type that a field declares."""
    if isinstance(annotation, ast.BinOp):
        return _fits_annotation(value, annotation.left, names) or _fits_annotation(
            value, annotation.right, names
        )
    if isinstance(annotation, ast.Constant):
        return value is annotation.value
    if isinstance(annotation, ast.Subscript):
        return _fits_parts(value, ast.unparse(annotation.value), annotation.slice, names)
    type_name = ast.unparse(annotation)
    if type_name in _BUILT_IN_TYPES:
        return isinstance(value, _BUILT_IN_TYPES[type_name]) and (
            type_name == "bool" or not isinstance(value, bool)
        )
    declared_type = _CLASS_REGISTRY.get(type_name) or names.get(type_name)
    # of an alias such as NDArray[np.float64]
    declared_type = get_origin(declared_type) or declared_type
    # which newer NumPy declares by a `type` statement
    declared_type = getattr(declared_type, "__value__", declared_type)
    declared_type = get_origin(declared_type) or declared_type
    return (
        declared_type is Any
        or not isinstance(declared_type, type)
        or isinstance(value, declared_type)
    )


def _fits_parts(
    value: Any,
    container_name: str,
    part_annotation: ast.expr,
    names: Mapping[str, Any],
) -> bool:
    """Whether an array, a mapping or a tuple is one, with parts of the declared types."""
    if isinstance(part_annotation, ast.Tuple):
        part_annotations = part_annotation.elts
    else:
        part_annotations = [part_annotation]
    if container_name == "NDArray":
        return isinstance(value, np.ndarray)
    if container_name == "dict":
        return isinstance(value, dict) and all(
            _fits_annotation(part_value, part_annotations[-1], names)
            for part_value in value.values()
        )
    if container_name not in ("tuple", "Sequence"):
        return True
    if not isinstance(value, tuple):
        # a sequence of another kind, which found its own entries
        is_sequence = isinstance(value, Sequence) and not isinstance(value, str)
        return container_name == "Sequence" and is_sequence
    if container_name == "Sequence":
        part_annotations = [part_annotations[0], ast.Constant(...)]
    if isinstance(part_annotations[-1], ast.Constant) and part_annotations[-1].value is ...:
        return all(_fits_annotation(part_value, part_annotations[0], names) for part_value in value)
    return len(value) == len(part_annotations) and all(
        map(partial(_fits_annotation, names=names), value, part_annotations)
    )


def unknown_parts(value: Any) -> list[str]:
    """Classes and fields in a JSON value that this version does not know, each once."""
    return list(dict.fromkeys(_unknown_names(value)))


def _unknown_names(value: Any) -> Iterator[str]:
    """What a stored object names that is not known here: classes and fields."""
    if isinstance(value, dict):
        class_name = value.get("class")
    else:
        class_name = None
    if class_name is not None and class_name not in _CLASS_REGISTRY:
        yield f"the class {class_name!r}"
    elif class_name is not None:
        known_names = {
            class_field.name
            for class_field in fields(_CLASS_REGISTRY[class_name])
            if _is_in_file(class_field)
        } | {"class", *_stored_class_variables(_CLASS_REGISTRY[class_name])}
        yield from (f"the field {field!r} of {class_name}" for field in value.keys() - known_names)
    inner_values: Iterable[Any] = ()
    if isinstance(value, dict):
        inner_values = value.values()
    elif isinstance(value, list):
        inner_values = value
    for inner_value in inner_values:
        yield from _unknown_names(inner_value)


def _as_lists(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_as_lists(entry) for entry in value]
    return value
