"""A picture as data: marks on two axes. Matplotlib draws it here, and the HTML report draws it as SVG.

Matplotlib is loaded when something is drawn; it draws on the axes given, or on new ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fairstats.ground.checks import Floats, check_that
from fairstats.ground.errors import InputError, MissingDependencyError
from fairstats.ground.lazy import Axes

#: Colours of series, which stay apart without red and green; NEUTRAL and LIMIT are no series.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#3b8fc2")
DASHES = ("solid", (0, (6, 2)), (0, (2, 2)), (0, (6, 2, 2, 2)), (0, (1, 2)), (0, (9, 3)))
NEUTRAL, LIMIT = -1, -2
_NAMED = {NEUTRAL: "0.4", LIMIT: "#a3161b"}


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


def finished(ax: Axes, *, legend: bool = True, **words: Any) -> Axes:
    """The axes with their words, limits and scales, and with a legend of what is drawn."""
    ax.set(**words)
    if legend:
        ax.legend()
    return ax


def panels_or_new(axes: Any, shape: tuple[int, int], allowed: str, **new: Any) -> tuple[Any, Any]:
    """The axes that were given, or those of a new figure of rows × columns, and the same in one row."""
    if axes is None:
        figure, axes = pyplot().subplots(*shape, **new)
        figure.set_layout_engine("constrained")
    panels = np.asarray(axes, dtype=object).ravel()
    if panels.size != shape[0] * shape[1]:
        raise InputError("axes", got=f"{panels.size} axes", allowed=allowed, cure=f"plt.subplots{shape}[1]")
    for panel in panels:
        _check_axes("axes", panel)
    return axes, panels


@dataclass(frozen=True, eq=False)
class Mark:
    """One thing that is drawn.

    `kind`: "line" through points; "steps", bars of heights `y` between edges `x`, one more;
    "band" between `y` and `low`; "area" within points; "box", dashed, from x[0], y[0] to x[1], y[1]; "rule",
    upright at x[0] or, without `x`, level at y[0]; "dots". `series`: place among the colours, `NEUTRAL` or
    `LIMIT`; `label`: what the legend says; empty: not in it.
    """

    kind: Literal["line", "steps", "band", "area", "box", "rule", "dots"]
    x: Floats
    y: Floats
    series: int = 0
    label: str = ""
    low: Floats | None = None


@dataclass(frozen=True, eq=False)
class Picture:
    """Marks on two axes. `title`: what it shows; `log`: whether x is logarithmic."""

    title: str
    xlabel: str
    ylabel: str
    xlim: tuple[float, float]
    ylim: tuple[float, float]
    marks: tuple[Mark, ...]
    log: bool = False


def mark(kind: Any, x: Any, y: Any, series: int = 0, label: str = "", low: Any = None) -> Mark:
    """A mark of anything that becomes arrays."""
    x, y = (np.atleast_1d(np.asarray(v, dtype=np.float64)) for v in (x, y))
    return Mark(kind, x, y, series, label, None if low is None else np.asarray(low, dtype=np.float64))


def draw(picture: Picture, ax: Axes | None = None) -> Axes:
    """Draw a picture by matplotlib; MissingDependencyError where it is not installed (extra ``report``)."""
    ax = axes_or_new(ax)
    for one in picture.marks:
        colour = _NAMED.get(one.series, COLOURS[one.series % len(COLOURS)])
        dash = DASHES[one.series % len(DASHES)] if one.series >= 0 else (0, (4, 3))
        style: dict[str, Any] = {"color": colour, "label": one.label.replace("$", r"\$") or None}
        if one.kind == "line":
            ax.plot(one.x, one.y, linestyle=dash if one.series >= 0 else "solid", **style)
        elif one.kind == "dots":
            ax.plot(one.x, one.y, "o", markersize=4, **style)
        elif one.kind == "steps":
            ax.stairs(one.y, one.x, fill=True, alpha=0.25, color=colour)
            ax.stairs(one.y, one.x, linestyle=dash, **style)
        elif one.low is not None:
            ax.fill_between(one.x, one.y, one.low, alpha=0.18, linewidth=0, **style)
        elif one.kind == "area":
            ax.fill(one.x, one.y, alpha=0.3, linewidth=0, **style)
        elif one.kind == "box":
            ax.plot(one.x[[0, 1, 1, 0, 0]], one.y[[0, 0, 1, 1, 0]], linestyle=dash, **style)
        elif one.x.size:
            ax.axvline(one.x[0], linestyle=dash, linewidth=1, **style)
        else:
            ax.axhline(one.y[0], linestyle=dash, linewidth=1, **style)
    if picture.log:
        ax.set_xscale("log")
    ax.set(xlim=picture.xlim, ylim=picture.ylim, xlabel=picture.xlabel, ylabel=picture.ylabel)
    ax.set_title(picture.title.replace("$", r"\$"), fontsize="medium")
    if any(one.label for one in picture.marks):
        ax.legend(fontsize="small")
    return ax


def contours(x: Floats, y: Floats, values: Floats, level: float) -> list[tuple[Floats, Floats]]:
    """Lines on which a surface has a level: marching squares with linear interpolation, joined.

    `values`, shape (len(x), len(y)). A cell whose opposite corners are above is cut as two corners.
    """
    above = values > level
    ends: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}
    cases = above[:-1, :-1] + 2 * above[1:, :-1] + 4 * above[1:, 1:] + 8 * above[:-1, 1:]
    for i, j in np.argwhere((cases > 0) & (cases < 15)).tolist():
        # an edge is its lower corner and its direction: 0 along x, 1 along y
        edges = (i, j, 0), (i + 1, j, 1), (i, j + 1, 0), (i, j, 1)
        corners = [bool(cases[i, j] >> k & 1) for k in range(4)]
        cut = [edges[k] for k in range(4) if corners[k] != corners[(k + 1) % 4]]
        pairs = [(0, 1)] if len(cut) == 2 else [(3, 0), (1, 2)] if corners[0] else [(0, 1), (2, 3)]
        for a, b in pairs:
            ends.setdefault(cut[a], []).append(cut[b])
            ends.setdefault(cut[b], []).append(cut[a])

    def place(edge: tuple[int, int, int]) -> tuple[float, float]:
        i, j, along = edge
        to = (i, j + 1) if along else (i + 1, j)
        share = (level - values[i, j]) / (values[to] - values[i, j])
        return x[i] + share * (x[to[0]] - x[i]), y[j] + share * (y[to[1]] - y[j])

    lines = []
    starts = [*(e for e in ends if len(ends[e]) == 1), *ends]  # open lines first, then rings
    for start in starts:
        path, here = [start], start
        while ends[here]:
            following = ends[here].pop()
            ends[following].remove(here)
            path.append(following)
            here = following
        if len(path) > 1:
            lines.append(tuple(np.array(values) for values in zip(*map(place, path), strict=True)))
    return lines  # type: ignore[return-value]
