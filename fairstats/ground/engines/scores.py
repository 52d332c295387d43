"""Scores of a lazy table: every distinct one where they are few, else counts between Farey edges.

Edges of order 1,000 are the fractions k/m with m ≤ 1,000: MADD in up to 1,000 bins looks at no other cuts.
They lie further apart than 10⁻⁶, so that a cell of that width holds one at most, and the interval of a score
follows from its cell by an equality join, which every engine has, and one comparison.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from fairstats.ground.engines.sources import beside, real, whole
from fairstats.ground.engines.table import CODE, NUMBER, SCORE, TRUE, WEIGHT, LazyRows
from fairstats.ground.scores import ScoreCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Up to so many distinct scores are counted one by one.
MOST_EXACT = 1 << 16
#: Largest denominator of the edges.
ORDER = 1_000
#: Cells of the unit interval: 1/CELLS is below 1/(ORDER·(ORDER − 1)). (DuckDB joins with a million of them at
#: most by position instead of a hash table, in a quarter of the time.)
CELLS = 1_000_000


@lru_cache(maxsize=1)
def farey_edges() -> NDArray[np.float64]:
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
    answer = _exact(rows, table, by) if _may_be_few(rows, table) else None
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
    import narwhals.stable.v2 as nw

    table = table.with_columns(**{name: value.cast(nw.Int32)})
    above = nw.col(name).cast(nw.Float64) > value
    return table.with_columns(**{name: nw.when(above).then(nw.col(name) - 1).otherwise(nw.col(name))})


def _may_be_few(rows: LazyRows, table: Any) -> bool:
    """False where the first rows alone have too many distinct scores."""
    import narwhals.stable.v2 as nw

    first = rows.collect(table.select(nw.col(SCORE)).head(2 * MOST_EXACT))
    return int(first[SCORE].n_unique()) <= MOST_EXACT


def _exact(rows: LazyRows, table: Any, by: list[str]) -> Any:
    """The counts of every score, or None where there are too many."""
    n_keys = rows.outcomes.groups.codes.size
    counts = table.group_by(*by, SCORE).agg(**_sums(rows))
    answer = rows.collect(counts.head(MOST_EXACT * n_keys + 1))
    return answer if int(answer[SCORE].n_unique()) <= MOST_EXACT else None


def _in_intervals(rows: LazyRows, table: Any, by: list[str]) -> Any:
    """The counts of every interval between edges."""
    import narwhals.stable.v2 as nw

    score, n = nw.col(SCORE), farey_edges().size + 1
    table = floor_cells(table, score * CELLS, "fs_cell")
    interval = nw.col("fs_base") + nw.when(score >= nw.col("fs_edge")).then(1).otherwise(0)
    with beside(rows.table, edge_cells()) as cells:
        table = table.join(cells, on="fs_cell", how="inner")
        if by != [CODE]:
            table = table.with_columns(fs_interval=interval)
            return rows.collect(table.group_by(*by, "fs_interval").agg(**_sums(rows)))
        # one column is grouped by in half the time of two
        table = table.with_columns(**{CODE: nw.col(CODE).cast(nw.Int64) * n + interval})
        answer = rows.collect(table.group_by(CODE).agg(**_sums(rows)))
    both = nw.col(CODE)
    return answer.with_columns(**{CODE: both // n, "fs_interval": both % n})


def _sums(rows: LazyRows) -> dict[str, Any]:
    import narwhals.stable.v2 as nw

    sums: dict[str, Any] = {NUMBER: nw.len()}
    if WEIGHT in rows.columns:
        sums |= {"total": nw.col(WEIGHT).sum(), "squares": nw.col("fs_squares").sum()}
    return sums


def _assembled(
    rows: LazyRows,
    answer: Any,
    place: NDArray[np.intp],
    position: NDArray[np.intp],
    values: NDArray[np.float64],
    lower: NDArray[np.float64] | None,
) -> ScoreCounts:
    """The answer as counts per group, label and interval; `place`, `position`: of its rows among both."""
    out = rows.outcomes
    n_labels = 2 if TRUE in rows.columns else 1
    shape = (len(out.groups.labels), n_labels, values.size)
    row = out.groups.codes.astype(np.intp) * n_labels
    if out.y_true is not None:
        row = row + out.y_true
    code = row[place] * values.size + position

    def total(name: str) -> NDArray[np.float64]:
        sums = np.bincount(code, real(answer, name), int(np.prod(shape)))
        return np.asarray(sums, dtype=np.float64).reshape(shape)

    weighted = WEIGHT in rows.columns
    return ScoreCounts(
        groups=out.groups.labels,
        values=values,
        counts=total(NUMBER).astype(np.int64),
        missing=out.missing,
        lower=lower,
        totals=total("total") if weighted else None,
        squares=total("squares") if weighted else None,
        clustered=rows.question.cluster is not None,
    )
