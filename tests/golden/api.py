"""The one door through which the cases call the package, by today's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fairstats as fs

__all__ = ["call", "find", "install_translation"]

Translation = Callable[[str, Any, dict[str, Any]], dict[str, Any]]
_translation: Translation | None = None


def install_translation(translation: Translation | None) -> None:
    """Translate names and arguments before every call: for recording from older code."""
    global _translation
    _translation = translation


def find(name: str) -> Any:
    """The public object of a dotted name: ``"evt.fit_gpd"``, ``"datasets.load_ricci"``."""
    found: Any = fs
    for part in name.split("."):
        found = getattr(found, part)
    return found


def call(name: str, *args: Any, **options: Any) -> Any:
    """Call ``fs.<name>``."""
    function = find(name)
    if _translation is not None:
        options = _translation(name, function, options)
    return function(*args, **options)
