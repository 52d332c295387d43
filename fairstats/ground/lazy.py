"""What is loaded with its first use: pandas, since counts need no frame. The type of axes never is."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["Axes", "pd"]

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
else:

    class _Lazy:
        """A module that is imported when something of it is asked for."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            value = getattr(import_module(self._name), attribute)
            setattr(self, attribute, value)
            return value

    pd, Axes = _Lazy("pandas"), Any
