"""What is loaded with its first use.

Pandas, since counts need no frame, and the names of a package.
"""

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

    class _LazyPandas:
        """Pandas, which is imported when something of it is asked for."""

        # `__getattr__`, which Python asks after it has looked in vain, takes four times as long
        def __getattribute__(self, attribute: str) -> Any:
            # not kept here: who replaces the module is seen
            module = sys.modules.get("pandas")
            if module is None:
                module = import_module("pandas")
            return getattr(module, attribute)

    # the type of axes is never loaded
    pd = _LazyPandas()
    Axes = Any


def attach_stub(
    name: str, file: str
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Names, ``__getattr__`` and ``__dir__`` of a module.

    What its stub imports, loaded on first use.
    """
    stub_text = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    module_of_name = {
        attribute: home_module
        for home_module, attribute in re.findall(r"from (\S+) import (?:\(\s*)?(\w+) as", stub_text)
    }

    def get(attribute: str) -> Any:
        if attribute not in module_of_name:
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        home_module = import_module(module_of_name[attribute])
        if attribute in vars(home_module):
            attribute_value = vars(home_module)[attribute]
        else:
            attribute_value = import_module(f"{module_of_name[attribute]}.{attribute}")
        setattr(sys.modules[name], attribute, attribute_value)
        return attribute_value

    return list(module_of_name), get, lambda: sorted(module_of_name)
