"""A picture as data: marks on two axes.

Matplotlib draws it here, and the HTML report draws it as SVG.

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
NEUTRAL = -1
LIMIT = -2
_NAMED_COLOURS = {NEUTRAL: "0.4", LIMIT: "#a3161b"}


def pyplot() -> Any:
    """`matplotlib.pyplot`; MissingDependencyError where it is not installed (extra ``report``)."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as problem:
        raise MissingDependencyError(
            "matplotlib",
            extra="report",
            purpose="Plotting",
            alternative="use to_frame()",
        ) from problem
    return plt


def axes_or_new(ax: Axes | None, **new: Any) -> Axes:
    """The axes that were given, or those of a new figure."""
    if ax is not None:
        _check_axes("ax", ax)
        return ax
    new_axes: Axes = pyplot().subplots(layout="constrained", **new)[1]
    return new_axes


def _check_axes(argument: str, given_axes: Any) -> None:
    are_axes = not isinstance(given_axes, type) and callable(getattr(given_axes, "set_xlim", None))
    check_that(
        are_axes,
        argument,
        given_axes,
        "matplotlib axes, or None for a new figure",
        "plt.subplots()[1]",
    )


def finished(ax: Axes, *, legend: bool = True, **words: Any) -> Axes:
    """The axes with their words, limits and scales, and with a legend of what is drawn."""
    ax.set(**words)
    if legend:
        ax.legend()
    return ax


def panels_or_new(axes: Any, shape: tuple[int, int], allowed: str, **new: Any) -> tuple[Any, Any]:
    """The axes that were given, or those of a new figure of rows × columns, and the same in one
    row.
    """
    if axes is None:
        figure, axes = pyplot().subplots(*shape, **new)
        figure.set_layout_engine("constrained")
    panels = np.asarray(axes, dtype=object).ravel()
    if panels.size != shape[0] * shape[1]:
        raise InputError(
            "axes",
            got=f"{panels.size} axes",
            allowed=allowed,
            cure=f"plt.subplots{shape}[1]",
        )
    for panel_axes in panels:
        _check_axes("axes", panel_axes)
    return axes, panels


@dataclass(frozen=True, eq=False)
class Mark:
    """One thing that is drawn.

    `kind`: "line" through points; "steps", bars of heights `y` between edges `x`, one more; "band"
    between `y` and `low`; "area" within points; "box", dashed, from x[0], y[0] to x[1], y[1];
    "rule", upright at x[0] or, without `x`, level at y[0]; "dots"; "span", level lines from `x` to
    `low` at heights `y`; "cell", filled from x[0], y[0] to x[1], y[1] as strongly as `shade`, with
    `text` in it; "hatching", slanted lines in such a cell. `series`: place among the colours,
    `NEUTRAL` or `LIMIT`; `label`: what the legend says; empty: not in it; `title`: of a cell, in
    full.
    """

    kind: Literal[
        "line", "steps", "band", "area", "box", "rule", "dots", "span", "cell", "hatching"
    ]
    x: Floats
    y: Floats
    series: int = 0
    label: str = ""
    low: Floats | None = None
    shade: float = 0.0
    text: str = ""
    title: str = ""


@dataclass(frozen=True, eq=False)
class Picture:
    """Marks on two axes.

    `title`: what it shows; `log`: whether x is logarithmic; `xnames`, `ynames`: names of the places
    0, 1, 2 … of an axis that has names in place of numbers.
    """

    title: str
    xlabel: str
    ylabel: str
    xlim: tuple[float, float]
    ylim: tuple[float, float]
    marks: tuple[Mark, ...]
    log: bool = False
    xnames: tuple[str, ...] = ()
    ynames: tuple[str, ...] = ()


def mark(kind: Any, x: Any, y: Any, series: int = 0, label: str = "", low: Any = None) -> Mark:
    """A mark of anything that becomes arrays."""
    x, y = (np.atleast_1d(np.asarray(coordinates, dtype=np.float64)) for coordinates in (x, y))
    return Mark(
        kind=kind,
        x=x,
        y=y,
        series=series,
        label=label,
        low=None if low is None else np.asarray(low, dtype=np.float64),
    )


def draw(picture: Picture, ax: Axes | None = None) -> Axes:
    """Draw a picture by matplotlib.

    MissingDependencyError where it is not installed (extra ``report``).
    """
    ax = axes_or_new(ax)
    for drawn_mark in picture.marks:
        colour = _NAMED_COLOURS.get(drawn_mark.series, COLOURS[drawn_mark.series % len(COLOURS)])
        if drawn_mark.series >= 0:
            dash_pattern = DASHES[drawn_mark.series % len(DASHES)]
        else:
            dash_pattern = (0, (4, 3))
        line_style: dict[str, Any] = {
            "color": colour,
            "label": drawn_mark.label.replace("$", r"\$") or None,
        }
        if drawn_mark.kind == "line":
            ax.plot(
                drawn_mark.x,
                drawn_mark.y,
                linestyle=dash_pattern if drawn_mark.series >= 0 else "solid",
                **line_style,
            )
        elif drawn_mark.kind == "dots":
            ax.plot(drawn_mark.x, drawn_mark.y, "o", markersize=4, **line_style)
        elif drawn_mark.kind == "span" and drawn_mark.low is not None:
            ax.hlines(drawn_mark.y, drawn_mark.x, drawn_mark.low, linewidth=2, **line_style)
        elif drawn_mark.kind in ("cell", "hatching"):
            _fill_cell(ax, drawn_mark, line_style)
        elif drawn_mark.kind == "steps":
            ax.stairs(drawn_mark.y, drawn_mark.x, fill=True, alpha=0.25, color=colour)
            ax.stairs(drawn_mark.y, drawn_mark.x, linestyle=dash_pattern, **line_style)
        elif drawn_mark.low is not None:
            ax.fill_between(
                drawn_mark.x, drawn_mark.y, drawn_mark.low, alpha=0.18, linewidth=0, **line_style
            )
        elif drawn_mark.kind == "area":
            ax.fill(drawn_mark.x, drawn_mark.y, alpha=0.3, linewidth=0, **line_style)
        elif drawn_mark.kind == "box":
            ax.plot(
                drawn_mark.x[[0, 1, 1, 0, 0]],
                drawn_mark.y[[0, 0, 1, 1, 0]],
                linestyle=dash_pattern,
                **line_style,
            )
        elif drawn_mark.x.size:
            ax.axvline(drawn_mark.x[0], linestyle=dash_pattern, linewidth=1, **line_style)
        else:
            ax.axhline(drawn_mark.y[0], linestyle=dash_pattern, linewidth=1, **line_style)
    if picture.log:
        ax.set_xscale("log")
    ax.set(xlim=picture.xlim, ylim=picture.ylim, xlabel=picture.xlabel, ylabel=picture.ylabel)
    if picture.xnames:
        ax.set_xticks(range(len(picture.xnames)), _tick_names(picture.xnames))
    if picture.ynames:
        ax.set_yticks(range(len(picture.ynames)), _tick_names(picture.ynames))
    ax.set_title(picture.title.replace("$", r"\$"), fontsize="medium")
    if picture.xnames:  # cells leave no room within the axes
        ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(0.0, -0.22), frameon=False)
    elif any(drawn_mark.label for drawn_mark in picture.marks):
        ax.legend(fontsize="small")
    return ax


#: Characters of a name beside an axis.
_LONGEST_NAME = 32


def _tick_names(names: tuple[str, ...]) -> list[str]:
    """Names beside an axis: not too long, and no mathematics."""
    tick_names: list[str] = []
    for name in names:
        tick_names.append(
            (name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…").replace(
                "$", r"\$"
            )
        )
    return tick_names


def _fill_cell(ax: Axes, cell: Mark, style: dict[str, Any]) -> None:
    """Fill a cell by its shade, or hatch it, and write its text."""
    corners = {
        "xy": (cell.x[0], cell.y[0]),
        "width": cell.x[1] - cell.x[0],
        "height": cell.y[1] - cell.y[0],
    }
    patches = pyplot().matplotlib.patches
    if cell.kind == "hatching":
        look = {"facecolor": "none", "edgecolor": style["color"], "hatch": "///", "linewidth": 0}
        ax.add_patch(patches.Rectangle(**corners, **look, label=style["label"]))
        return
    colour = (*pyplot().matplotlib.colors.to_rgb(style["color"]), 0.08 + 0.62 * cell.shade)
    ax.add_patch(
        patches.Rectangle(**corners, facecolor=colour, edgecolor="white", label=style["label"])
    )
    middle = (cell.x[0] + cell.x[1]) / 2, (cell.y[0] + cell.y[1]) / 2
    ax.text(*middle, cell.text, ha="center", va="center", fontsize="small")


def contours(x: Floats, y: Floats, values: Floats, level: float) -> list[tuple[Floats, Floats]]:
    """Lines on which a surface has a level: marching squares with linear interpolation, joined.

    `values`, shape (len(x), len(y)). A cell whose opposite corners are above is cut as two corners.
    """
    is_above = values > level
    neighbours: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}
    cell_cases = (
        is_above[:-1, :-1] + 2 * is_above[1:, :-1] + 4 * is_above[1:, 1:] + 8 * is_above[:-1, 1:]
    )
    for i, j in np.argwhere((cell_cases > 0) & (cell_cases < 15)).tolist():
        # an edge is its lower corner and its direction: 0 along x, 1 along y
        cell_edges = (i, j, 0), (i + 1, j, 1), (i, j + 1, 0), (i, j, 1)
        corners = [bool(cell_cases[i, j] >> corner & 1) for corner in range(4)]
        cut_edges = []
        for corner in range(4):
            if corners[corner] != corners[(corner + 1) % 4]:
                cut_edges.append(cell_edges[corner])
        if len(cut_edges) == 2:
            joined_pairs = [(0, 1)]
        else:
            joined_pairs = [(3, 0), (1, 2)] if corners[0] else [(0, 1), (2, 3)]
        for first_cut, second_cut in joined_pairs:
            neighbours.setdefault(cut_edges[first_cut], []).append(cut_edges[second_cut])
            neighbours.setdefault(cut_edges[second_cut], []).append(cut_edges[first_cut])

    def place(edge: tuple[int, int, int]) -> tuple[float, float]:
        i, j, direction = edge
        upper_corner = (i, j + 1) if direction else (i + 1, j)
        crossing_share = (level - values[i, j]) / (values[upper_corner] - values[i, j])
        return x[i] + crossing_share * (x[upper_corner[0]] - x[i]), y[j] + crossing_share * (
            y[upper_corner[1]] - y[j]
        )

    lines = []
    # open lines first, then rings
    start_edges = [
        *(open_edge for open_edge in neighbours if len(neighbours[open_edge]) == 1),
        *neighbours,
    ]
    for start_edge in start_edges:
        path = [start_edge]
        current_edge = start_edge
        while neighbours[current_edge]:
            next_edge = neighbours[current_edge].pop()
            neighbours[next_edge].remove(current_edge)
            path.append(next_edge)
            current_edge = next_edge
        if len(path) > 1:
            lines.append(tuple(np.array(values) for values in zip(*map(place, path), strict=True)))
    return lines  # type: ignore[return-value]
