"""Where a picture is drawn: matplotlib, loaded when it is needed, and the axes given or new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairstats.ground.errors import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["axes_or_new", "pyplot"]


def pyplot() -> Any:
    """`matplotlib.pyplot`.

    Raises
    ------
    MissingDependencyError
        Without matplotlib (extra ``report``).
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as problem:
        raise MissingDependencyError(
            "matplotlib", extra="report", purpose="Plotting", alternative="use to_frame()"
        ) from problem
    return plt


def axes_or_new(ax: Axes | None) -> Axes:
    """The axes that were given, or those of a new figure.

    Raises
    ------
    MissingDependencyError
        Without matplotlib (extra ``report``).
    """
    if ax is not None:
        return ax
    made: Axes = pyplot().subplots(layout="constrained")[1]
    return made
