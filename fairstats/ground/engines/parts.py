"""Largest counterfactual differences, and distinct rows, of a lazy table."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.encoding import as_frame_columns
from fairstats.ground.engines.scores import floor_cells
from fairstats.ground.engines.sources import real, whole
from fairstats.ground.engines.table import CHANGED, FEATURE, NUMBER, PRED, SCORE, TRUE, LazyRows
from fairstats.ground.errors import InputError
from fairstats.ground.parts import RowCounts, TailCounts, number_kept

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: More distinct rows than this are not collected.
MOST_DISTINCT = 1_000_000
#: Cells of the unit interval by which the cut of a tail is found.
_CELLS = 1 << 12


def count_tails(rows: LazyRows) -> TailCounts:
    """Sums of the differences and the largest of them, per group.

    The first query counts coarse cells: they say above which value enough rows lie. The second collects the
    distinct values from there on, which are cut at the same row as by `TailCounts.from_values`.
    """
    import narwhals.stable.v2 as nw

    keys, value = rows.key_names, nw.col("fs_value")
    table = rows.complete.with_columns(fs_value=nw.col(CHANGED) - nw.col(SCORE))
    table = table.with_columns(fs_square=value * value)
    cells = floor_cells(table, value * _CELLS, "fs_cell").group_by(*keys, "fs_cell")
    sums = {NUMBER: nw.len(), "total": value.sum(), "squares": nw.col("fs_square").sum()}
    answer = rows.collect(cells.agg(**sums))
    groups, place = rows.outcomes.groups, rows.place(answer)
    group, cell, number = groups.codes[place], whole(answer, "fs_cell"), whole(answer, NUMBER)
    n_groups = len(groups.labels)
    n = np.bincount(group, number, n_groups).astype(np.int64)
    # of every group one row of the answer, whose keys name it in the second query
    lowest = {g: _from_cell(cell[group == g], number[group == g]) for g in np.unique(group).tolist()}
    wanted = []
    for g, cut in lowest.items():
        row = answer[int(np.flatnonzero(group == g)[0])]
        named = (_equals(nw.col(key), row[key].to_list()[0]) for key in keys)
        wanted.append(reduce(and_, named, value >= cut / _CELLS))
    values = rows.collect(
        table.filter(reduce(or_, wanted)).group_by(*keys, "fs_value").agg(**{NUMBER: nw.len()})
    )
    owner, x, times = groups.codes[rows.place(values)], real(values, "fs_value"), whole(values, NUMBER)
    kept = [_largest(x[owner == g], times[owner == g], int(n[g])) for g in range(n_groups)]
    return TailCounts(
        groups.labels,
        n,
        np.asarray(np.bincount(group, real(answer, "total"), n_groups), dtype=np.float64),
        np.asarray(np.bincount(group, real(answer, "squares"), n_groups), dtype=np.float64),
        tuple(v for v, _, _ in kept),
        tuple(t for _, t, _ in kept),
        tuple(c for _, _, c in kept),
    )


def _from_cell(cells: NDArray[np.int64], number: NDArray[np.int64]) -> int:
    """The highest cell from which on there are as many rows as are kept."""
    order = np.argsort(-cells)
    enough = np.cumsum(number[order]) >= min(number_kept(int(number.sum())), number.sum())
    return int(cells[order][np.argmax(enough)])


def _equals(column: Any, value: Any) -> Any:
    return column.is_null() if value is None or value != value else column == value


def _largest(
    values: NDArray[np.float64], times: NDArray[np.int64], n: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], float]:
    """Distinct values in descending order with their numbers, down to the last that is kept."""
    order = np.argsort(-values)
    values, times = values[order], times[order]
    if number_kept(n) >= n:
        return values, times, -np.inf
    last = int(np.argmax(np.cumsum(times) >= number_kept(n)))
    return values[: last + 1], times[: last + 1], float(values[last])


def count_distinct(rows: LazyRows) -> RowCounts:
    """Distinct rows of features, labels and predictions.

    Raises InputError where there are more than a million: no sample is taken in their place.
    """
    import narwhals.stable.v2 as nw

    features = [f"{FEATURE}{k}" for k in range(len(rows.question.features))]
    labels = [name for name in (TRUE, PRED) if name in rows.columns]
    by = [*rows.key_names, *labels, *features]
    answer = rows.collect(rows.complete.group_by(*by).agg(**{NUMBER: nw.len()}).head(MOST_DISTINCT + 1))
    if len(answer) > MOST_DISTINCT:
        raise InputError(
            "features",
            got=f"more than {MOST_DISTINCT:,} distinct rows",
            allowed="features whose combinations can be held: distances are between all of them",
            cure="leave out or round continuous features, or draw rows yourself and pass them as a frame",
        )
    frame = as_frame_columns(nw.to_native(answer), features, "frame")
    frame.columns = list(rows.question.features)
    out, place = rows.outcomes, rows.place(answer, *labels)
    return RowCounts.from_frame(
        frame,
        out.groups.codes[place],
        out.groups.labels,
        None if out.y_true is None else out.y_true[place],
        None if out.y_pred is None else out.y_pred[place],
        whole(answer, NUMBER),
    )
