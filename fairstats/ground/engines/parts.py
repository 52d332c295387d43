"""Scores, largest counterfactual differences, and distinct rows, of a lazy table."""

from __future__ import annotations

from functools import lru_cache, reduce
from operator import and_, or_
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import Floats
from fairstats.ground.encoding import as_frame_columns
from fairstats.ground.engines.sources import beside, collected, real, whole
from fairstats.ground.engines.table import CHANGED, CODE, FEATURE, NUMBER, PRED, SCORE, TRUE, WEIGHT, LazyRows
from fairstats.ground.errors import InputError
from fairstats.ground.parts import RowCounts, TailCounts, number_kept
from fairstats.ground.scores import ScoreCounts

#: Up to so many distinct scores are counted one by one, and so many distinct rows are collected.
MOST_EXACT, MOST_DISTINCT = 1 << 16, 1_000_000
#: Largest denominator of the edges.
ORDER = 1_000
#: Cells of the unit interval: 1/CELLS is below 1/(ORDER·(ORDER − 1)). (DuckDB joins with a million of them at
#: most by position instead of a hash table, in a quarter of the time.) And those by which the cut of a tail is found.
CELLS, _CELLS = 1_000_000, 1 << 12


@lru_cache(maxsize=1)
def farey_edges() -> Floats:
    """All k/m with 0 < k < m ≤ 1,000, ascending, each the double next to it."""
    return np.unique(np.concatenate([np.arange(1, m) / m for m in range(2, ORDER + 1)]))


@lru_cache(maxsize=1)
def edge_cells() -> dict[str, NDArray[Any]]:
    """Every cell, the edges below it, and the edge in it (2 where there is none)."""
    edges = farey_edges()
    own = np.floor(edges * CELLS).astype(np.int32)
    edge = np.full(CELLS + 1, 2.0)
    edge[own] = edges
    base = np.searchsorted(own, np.arange(CELLS + 1), side="left").astype(np.int32)
    return {"fs_cell": np.arange(CELLS + 1, dtype=np.int32), "fs_base": base, "fs_edge": edge}


def count_scores(rows: LazyRows) -> ScoreCounts:
    """Rows per group, label and score or interval of scores."""
    table, by, place = rows.coded(*([TRUE] if TRUE in rows.columns else []))
    table = table.select(*by, *rows.weights)
    answer = _exact(rows, table, by)
    if answer is not None:
        values, position = np.unique(real(answer, SCORE), return_inverse=True)
        return _assembled(rows, answer, place(answer), position, values, None)
    answer = _in_intervals(rows, table, by)
    interval = whole(answer, "fs_interval")
    present = np.bincount(interval, minlength=farey_edges().size + 1) > 0
    low = np.concatenate([[0.0], farey_edges()])[present]
    high = np.append(np.nextafter(farey_edges(), 0), 1.0)[present]
    return _assembled(rows, answer, place(answer), np.cumsum(present)[interval] - 1, high, low)


def floor_cells(table: Any, value: Any, name: str) -> Any:
    """The table with a column of ⌊value⌋: casts truncate in some engines and round in others (DuckDB)."""
    table = table.with_columns(**{name: value.cast(nw.Int32)})
    above = nw.col(name).cast(nw.Float64) > value
    return table.with_columns(**{name: nw.when(above).then(nw.col(name) - 1).otherwise(nw.col(name))})


def _exact(rows: LazyRows, table: Any, by: list[str]) -> Any:
    """The counts of every score, or None where there are too many, in the first rows or in all."""
    first = collected(table.select(nw.col(SCORE)).head(2 * MOST_EXACT))
    if int(first[SCORE].n_unique()) > MOST_EXACT:
        return None
    most = MOST_EXACT * rows.outcomes.groups.codes.size
    answer = collected(table.group_by(*by, SCORE).agg(**_sums(rows)).head(most + 1))
    return answer if int(answer[SCORE].n_unique()) <= MOST_EXACT else None


def _in_intervals(rows: LazyRows, table: Any, by: list[str]) -> Any:
    """The counts of every interval between edges."""
    score, n = nw.col(SCORE), farey_edges().size + 1
    table = floor_cells(table, score * CELLS, "fs_cell")
    interval = nw.col("fs_base") + nw.when(score >= nw.col("fs_edge")).then(1).otherwise(0)
    with beside(rows.table, edge_cells()) as cells:
        table = table.join(cells, on="fs_cell", how="inner")
        if by != [CODE]:
            table = table.with_columns(fs_interval=interval)
            return collected(table.group_by(*by, "fs_interval").agg(**_sums(rows)))
        # one column is grouped by in half the time of two
        table = table.with_columns(**{CODE: nw.col(CODE).cast(nw.Int64) * n + interval})
        answer = collected(table.group_by(CODE).agg(**_sums(rows)))
    both = nw.col(CODE)
    return answer.with_columns(**{CODE: both // n, "fs_interval": both % n})


def _sums(rows: LazyRows) -> dict[str, Any]:
    sums: dict[str, Any] = {NUMBER: nw.len()}
    if WEIGHT in rows.columns:
        sums |= {"total": nw.col(WEIGHT).sum(), "squares": nw.col("fs_squares").sum()}
    return sums


def _assembled(
    rows: LazyRows, answer: Any, place: NDArray[np.intp], position: NDArray[np.intp],
    values: Floats, lower: Floats | None,
) -> ScoreCounts:  # fmt: skip
    """The answer as counts per group, label and interval; `place`, `position`: of its rows among both."""
    out = rows.outcomes
    n_labels = 2 if TRUE in rows.columns else 1
    shape = (len(out.groups.labels), n_labels, values.size)
    row = out.groups.codes.astype(np.intp) * n_labels
    if out.y_true is not None:
        row = row + out.y_true
    code = row[place] * values.size + position

    def total(name: str) -> Floats:
        sums = np.bincount(code, real(answer, name), int(np.prod(shape)))
        return np.asarray(sums, dtype=np.float64).reshape(shape)

    weighted = WEIGHT in rows.columns
    return ScoreCounts(
        groups=out.groups.labels, values=values, counts=total(NUMBER).astype(np.int64), missing=out.missing,
        lower=lower, totals=total("total") if weighted else None,
        squares=total("squares") if weighted else None, clustered=rows.question.cluster is not None,
    )  # fmt: skip


def count_tails(rows: LazyRows) -> TailCounts:
    """Sums of the differences and the largest of them, per group.

    The first query counts coarse cells: they say above which value enough rows lie. The second collects the
    values from there on, which are cut at the same row as by `TailCounts.from_values`.
    """
    keys, value = rows.key_names, nw.col("fs_value")
    table = rows.complete.with_columns(fs_value=nw.col(CHANGED) - nw.col(SCORE))
    table = table.with_columns(fs_square=value * value)
    cells = floor_cells(table, value * _CELLS, "fs_cell").group_by(*keys, "fs_cell")
    answer = collected(cells.agg(**{NUMBER: nw.len()}, total=value.sum(), squares=nw.col("fs_square").sum()))
    groups, place = rows.outcomes.groups, rows.place(answer)
    group, cell, number = groups.codes[place], whole(answer, "fs_cell"), whole(answer, NUMBER)
    n_groups = len(groups.labels)
    n = np.bincount(group, number, n_groups).astype(np.int64)
    wanted = []
    for g in np.unique(group).tolist():
        row = answer[int(np.flatnonzero(group == g)[0])]  # its keys name the group in the second query
        named = (_equals(nw.col(key), row[key].to_list()[0]) for key in keys)
        wanted.append(reduce(and_, named, value >= _from_cell(cell[group == g], number[group == g]) / _CELLS))
    values = collected(table.filter(reduce(or_, wanted)).group_by(*keys, "fs_value").agg(**{NUMBER: nw.len()}))
    owner, x, times = groups.codes[rows.place(values)], real(values, "fs_value"), whole(values, NUMBER)
    kept = (_largest(x[owner == g], times[owner == g], int(n[g])) for g in range(n_groups))
    sums: Any = (np.bincount(group, real(answer, name), n_groups).astype(np.float64) for name in ("total", "squares"))
    return TailCounts(groups.labels, n, *sums, *zip(*kept, strict=True))


def _from_cell(cells: NDArray[np.int64], number: NDArray[np.int64]) -> int:
    """The highest cell from which on there are as many rows as are kept."""
    order = np.argsort(-cells)
    enough = np.cumsum(number[order]) >= min(number_kept(int(number.sum())), number.sum())
    return int(cells[order][np.argmax(enough)])


def _equals(column: Any, value: Any) -> Any:
    return column.is_null() if value is None or value != value else column == value


def _largest(values: Floats, times: NDArray[np.int64], n: int) -> tuple[Floats, NDArray[np.int64], float]:
    """Distinct values in descending order with their numbers, down to the last that is kept."""
    order = np.argsort(-values)
    values, times = values[order], times[order]
    if number_kept(n) >= n:
        return values, times, -np.inf
    last = int(np.argmax(np.cumsum(times) >= number_kept(n)))
    return values[: last + 1], times[: last + 1], float(values[last])


def count_distinct(rows: LazyRows) -> RowCounts:
    """Distinct rows of features, labels and predictions; an error where they are too many, and no sample of them."""
    features = [f"{FEATURE}{k}" for k in range(len(rows.question.features))]
    labels = [name for name in (TRUE, PRED) if name in rows.columns]
    by = [*rows.key_names, *labels, *features]
    answer = collected(rows.complete.group_by(*by).agg(**{NUMBER: nw.len()}).head(MOST_DISTINCT + 1))
    if len(answer) > MOST_DISTINCT:
        got = f"more than {MOST_DISTINCT:,} distinct rows"
        allowed = "features whose combinations can be held: distances are between all of them"
        cure = "leave out or round continuous features, or draw rows yourself and pass them as a frame"
        raise InputError("features", got=got, allowed=allowed, cure=cure)
    frame = as_frame_columns(nw.to_native(answer), features, "frame")
    frame.columns = list(rows.question.features)
    out, place = rows.outcomes, rows.place(answer, *labels)
    true, pred = (None if column is None else column[place] for column in (out.y_true, out.y_pred))
    codes, numbers = out.groups.codes[place], whole(answer, NUMBER)
    return RowCounts._from_frame(frame, codes, out.groups.labels, true, pred, numbers)
