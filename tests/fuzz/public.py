"""The public classes of the package, found by what users can reach, and their methods that take
arguments.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import fairstats as fs

#: Operators that take an argument of users.
OPERATORS = ("__getitem__", "__contains__", "__add__", "__call__")


def named_classes() -> list[type]:
    """The classes that the public modules name, without exceptions and warnings."""
    modules = (fs, fs.results, fs.evt, fs.rates, fs.datasets)
    named = [getattr(module, name) for module in modules for name in module.__all__]
    classes = [
        thing for thing in named if inspect.isclass(thing) and not issubclass(thing, Exception)
    ]
    return list(dict.fromkeys(classes))


@cache
def _by_name() -> dict[str, type]:
    """Every class of the package by its name.

    Of two classes with one name the last, see `_class_named`.
    """
    classes: dict[str, type] = {}
    for module in pkgutil.walk_packages(fs.__path__, "fairstats."):
        if module.name.endswith("__main__"):
            continue
        for thing in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(thing) and thing.__module__.startswith("fairstats."):
                classes[thing.__name__] = thing
    return classes


def _class_named(name: str, seen_from: type) -> type | None:
    """The class that a name in an annotation of `seen_from` means."""
    beside = vars(importlib.import_module(seen_from.__module__)).get(name)
    if inspect.isclass(beside):
        return beside
    return _by_name().get(name)


def _annotations(cls: type) -> Iterator[str]:
    """What the public fields, properties and methods of a class are said to be, as text."""
    for name, annotation in inspect.get_annotations(cls).items():
        if not name.startswith("_"):
            yield str(annotation)
    for name, member in vars(cls).items():
        getter = (
            getattr(member, "fget", None)
            or getattr(member, "func", None)
            or getattr(member, "__func__", member)
        )
        if inspect.isfunction(getter) and (not name.startswith("_") or name in OPERATORS):
            yield str(getter.__annotations__.get("return", ""))


def _of_package(cls: type) -> bool:
    return cls.__module__.startswith("fairstats.") and not issubclass(cls, Exception)


@cache
def public_classes() -> tuple[type, ...]:
    """The classes that users meet.

    Those with public names, and those of their fields, properties and answers.
    """
    classes = dict.fromkeys(named_classes())
    waiting = list(classes)
    while waiting:
        cls = waiting.pop()
        for base in filter(_of_package, cls.__mro__):
            for annotation in _annotations(base):
                for name in re.findall(r"\w+", annotation):
                    reached = _class_named(name, base)
                    if reached is not None and _of_package(reached) and reached not in classes:
                        classes[reached] = None
                        waiting.append(reached)
    return tuple(classes)


def methods(cls: type) -> dict[str, str]:
    """Public methods of a class that take arguments → "class that defines it.method"."""
    found = {}
    for name in dir(cls):
        if name.startswith("_") and name not in OPERATORS:
            continue
        home = next(base for base in cls.__mro__ if name in vars(base))
        member = vars(home)[name]
        function: Callable[..., Any] = getattr(member, "__func__", member)
        if not _of_package(home) or not inspect.isfunction(function):
            continue
        parameters = list(inspect.signature(function).parameters)
        taken = parameters if isinstance(member, staticmethod) else parameters[1:]
        if taken:
            found[name] = f"{home.__name__}.{name}"
    return found
