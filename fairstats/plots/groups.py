"""What groups look like beside each other: rates, score distributions, ROC and calibration curves,
and the table of two crossed attributes.

Every function takes arrays and names, and returns a `Picture`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairstats.ground.checks import Floats
from fairstats.plots.picture import LIMIT, NEUTRAL, Mark, Picture, mark

#: Groups that a picture shows; colours, dashes and places would not keep more of them apart.
MOST_GROUPS = 6
MOST_RATES = 14
_UNIT_RANGE = (0.0, 1.0)
#: Logarithm of the ratio from which on a cell has its full colour: twice, or half.
_STRONGEST = float(np.log(2.0))
_DIAGONAL_LINE = mark("line", (0, 1), (0, 1), NEUTRAL)


@dataclass(frozen=True, eq=False)
class GroupCurve:
    """A curve of one group with its band.

    `x`, `y`, `low`, `high`, shape (m,) each: points of the curve, and ends of its intervals there.
    """

    name: str
    x: Floats
    y: Floats
    low: Floats
    high: Floats


def rates_of_groups(
    groups: Sequence[str],
    rates: Floats,
    low: Floats,
    high: Floats,
    title: str,
    words: str,
    reference: str = "",
) -> Picture:
    """The rate of every group with its interval, one below the other.

    Parameters
    ----------
    groups : sequence of str, length G
    rates, low, high : ndarray of float, shape (G,)
        Between 0 and 1, NaN for a group without cases.
    title, words : str
        Of the picture, and of its axis.
    reference : str
        The group at whose rate a line stands; empty for none.
    """
    reach = float(np.nanmax(high, initial=0.05))
    return _dots_of_groups(
        groups,
        (rates, low, high),
        title=title,
        words=words,
        reference=reference,
        noun="rate",
        xlim=(0.0, min(1.0, 1.08 * reach)),
    )


def numbers_by_group(
    groups: Sequence[str],
    values: Floats,
    low: Floats,
    high: Floats,
    title: str,
    words: str,
    reference: str = "",
) -> Picture:
    """A number of every group with its interval, as `rates_of_groups` but of any size."""
    known = np.concatenate([values, low, high])
    known = known[np.isfinite(known)]
    if not known.size:
        known = np.zeros(1)
    lowest = float(known.min())
    highest = float(known.max())
    room = 0.05 * (highest - lowest) or 1.0
    return _dots_of_groups(
        groups,
        (values, low, high),
        title=title,
        words=words,
        reference=reference,
        noun="value",
        xlim=(lowest - room, highest + room),
    )


def _dots_of_groups(
    groups: Sequence[str],
    values_and_ends: tuple[Floats, Floats, Floats],
    *,
    title: str,
    words: str,
    reference: str,
    noun: str,
    xlim: tuple[float, float],
) -> Picture:
    """A value of every group with its interval, and a line at that of the reference."""
    values, low, high = values_and_ends
    n_groups = len(groups)
    places = np.arange(n_groups, dtype=np.float64)[::-1]
    marks: list[Mark] = []
    if reference in groups:
        at_reference = float(values[list(groups).index(reference)])
        if np.isfinite(at_reference):
            marks.append(mark("rule", at_reference, (), NEUTRAL, f"{noun} of {reference}"))
    marks.append(mark("span", low, places, 0, "interval", low=high))
    marks.append(mark("dots", values, places, 0, noun))
    return Picture(
        title=title,
        xlabel=words,
        ylabel="",
        xlim=xlim,
        ylim=(-0.6, n_groups - 0.4),
        marks=tuple(marks),
        ynames=tuple(groups)[::-1],
    )


def score_distributions(groups: Sequence[str], counts: Floats) -> Picture:
    """Histograms of the scores of all groups, as outlines.

    Parameters
    ----------
    groups : sequence of str, length G
    counts : ndarray, shape (G, m)
        Rows of each group in m equal bins of [0, 1].
    """
    n_bins = counts.shape[1]
    edges = np.repeat(np.linspace(0, 1, n_bins + 1), 2)[1:-1]
    marks = []
    highest = 0.0
    for position, (group, of_group) in enumerate(zip(groups, counts, strict=True)):
        density = of_group / max(of_group.sum(), 1e-300) * n_bins
        highest = max(highest, float(density.max()))
        marks.append(mark("line", edges, np.repeat(density, 2), position, group))
    return Picture(
        title="Distribution of the scores by group",
        xlabel="score",
        ylabel="density",
        xlim=_UNIT_RANGE,
        ylim=(0.0, 1.05 * max(highest, 1e-9)),
        marks=tuple(marks),
    )


def curves_of_groups(curves: Sequence[GroupCurve], title: str, xlabel: str, ylabel: str) -> Picture:
    """Curves in the unit square with their bands, and the diagonal."""
    marks = [_DIAGONAL_LINE]
    for position, curve in enumerate(curves):
        marks.append(mark("band", curve.x, curve.high, position, low=curve.low))
    for position, curve in enumerate(curves):
        marks.append(mark("line", curve.x, curve.y, position, curve.name))
        if curve.x.size == 1:
            marks.append(mark("dots", curve.x, curve.y, position))
    return Picture(
        title=title,
        xlabel=xlabel,
        ylabel=ylabel,
        xlim=_UNIT_RANGE,
        ylim=_UNIT_RANGE,
        marks=tuple(marks),
    )


@dataclass(frozen=True)
class CrossedGroup:
    """One cell of two crossed attributes.

    `row`, `column`: its values; `rate`; `change`: logarithm of the ratio to the reference, 0 for the
    reference itself, NaN where there is none; `decided`: whether the data show on which side of
    the limit the ratio lies; `violated`: whether beyond it.
    """

    row: str
    column: str
    rate: float
    change: float
    decided: bool
    violated: bool


def intersections(
    cells: Sequence[CrossedGroup],
    rows: str,
    columns: str,
    words: str,
    reference: str,
) -> Picture:
    """A heat map of two crossed attributes; what is undecided is hatched.

    Parameters
    ----------
    cells : sequence of CrossedGroup
    rows, columns : str
        Names of the two attributes.
    words : str
        What the rates are.
    reference : str
        The group to which the ratios are.
    """
    row_names = list(dict.fromkeys(cell.row for cell in cells))[::-1]
    column_names = list(dict.fromkeys(cell.column for cell in cells))
    labels = {
        "below": f"lower than {reference}, the stronger the lower",
        "above": f"higher than {reference}, the stronger the higher",
    }
    marks = []
    framed_label = "framed: beyond the limit"
    hatched_label = "hatched: undecided, or too few cases"
    for cell in cells:
        across = column_names.index(cell.column)
        upward = row_names.index(cell.row)
        shade = 0.0
        if np.isfinite(cell.change):
            shade = float(np.clip(cell.change / _STRONGEST, -1.0, 1.0))
        label = ""
        if shade:
            label = labels.pop("above" if shade > 0 else "below", "")
        edges = np.array([across - 0.5, across + 0.5]), np.array([upward - 0.5, upward + 0.5])
        text = f"{100 * cell.rate:.0f}%" if np.isfinite(cell.rate) else "—"
        marks.append(
            Mark(
                kind="cell",
                x=edges[0],
                y=edges[1],
                series=0 if shade > 0 else 1,
                label=label,
                shade=abs(shade),
                text=text,
                title=f"{cell.row} & {cell.column}: {text}",
            )
        )
        if not cell.decided and np.isfinite(cell.change) and cell.change != 0:
            marks.append(mark("hatching", *edges, NEUTRAL, hatched_label))
            hatched_label = ""
        if cell.violated:
            marks.append(mark("box", _shrunk(edges[0]), _shrunk(edges[1]), LIMIT, framed_label))
            framed_label = ""
    return Picture(
        title=f"{words} by {rows} and {columns}",
        xlabel=columns,
        ylabel=rows,
        xlim=(-0.5, len(column_names) - 0.5),
        ylim=(-0.5, len(row_names) - 0.5),
        marks=tuple(marks),
        xnames=tuple(column_names),
        ynames=tuple(row_names),
    )


def _shrunk(edges: Floats) -> Floats:
    """Edges a little inside those of a cell."""
    return np.array([edges[0] + 0.04, edges[1] - 0.04])
