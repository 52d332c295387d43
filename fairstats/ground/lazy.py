"""What is loaded with its first use: pandas, since counts need no frame, and the names of a package."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

__all__ = ["Axes", "attach_stub", "pd"]

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
else:

    class _Lazy:
        """A module that is imported when something of it is asked for."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            return getattr(import_module(self._name), attribute)  # not kept: who replaces it is seen

    pd, Axes = _Lazy("pandas"), Any  # the type of axes is never loaded


def attach_stub(name: str, file: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Names, ``__getattr__`` and ``__dir__`` of a module: what its stub imports, loaded on first use."""
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    homes = {it: home for home, it in re.findall(r"from (\S+) import (?:\(\s*)?(\w+) as", stub)}

    def get(it: str) -> Any:
        if it not in homes:
            raise AttributeError(f"module {name!r} has no attribute {it!r}")
        home = import_module(homes[it])
        value = vars(home)[it] if it in vars(home) else import_module(f"{homes[it]}.{it}")
        setattr(sys.modules[name], it, value)
        return value

    return list(homes), get, lambda: sorted(homes)
