"""Where a picture is drawn: matplotlib, loaded when it is needed, and the axes given or new ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairstats.ground.checks import check_that
from fairstats.ground.errors import InputError, MissingDependencyError
from fairstats.ground.lazy import Axes


def pyplot() -> Any:
    """`matplotlib.pyplot`; MissingDependencyError where it is not installed (extra ``report``)."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as problem:
        raise MissingDependencyError(
            "matplotlib", extra="report", purpose="Plotting", alternative="use to_frame()"
        ) from problem
    return plt


def axes_or_new(ax: Axes | None, **new: Any) -> Axes:
    """The axes that were given, or those of a new figure."""
    if ax is not None:
        _check_axes("ax", ax)
        return ax
    made: Axes = pyplot().subplots(layout="constrained", **new)[1]
    return made


def _check_axes(argument: str, given: Any) -> None:
    fine = not isinstance(given, type) and callable(getattr(given, "set_xlim", None))
    check_that(fine, argument, given, "matplotlib axes, or None for a new figure", "plt.subplots()[1]")


def panels_or_new(axes: Any, shape: tuple[int, int], allowed: str, **new: Any) -> tuple[Any, Any]:
    """The axes that were given, or those of a new figure of rows × columns, and the same in one row."""
    if axes is None:
        figure, axes = pyplot().subplots(*shape, **new)
        figure.set_layout_engine("constrained")
    panels = np.asarray(axes, dtype=object).ravel()
    if panels.size != shape[0] * shape[1]:
        cure = f"plt.subplots{shape}[1]"
        raise InputError("axes", got=f"{panels.size} axes", allowed=allowed, cure=cure)
    for panel in panels:
        _check_axes("axes", panel)
    return axes, panels
