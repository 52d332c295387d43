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
from fairstats.ground.engines.table import (
    CHANGED,
    CODE,
    FEATURE,
    NUMBER,
    PRED,
    SCORE,
    TRUE,
    WEIGHT,
    LazyRows,
)
from fairstats.ground.errors import InputError
from fairstats.ground.parts import RowCounts, TailCounts, number_kept
from fairstats.ground.scores import ScoreCounts

#: Up to so many distinct scores are counted one by one, and so many distinct rows are collected.
MOST_EXACT = 1 << 16
MOST_DISTINCT = 1_000_000
#: Largest denominator of the edges.
ORDER = 1_000
#: Cells of the unit interval: 1/CELLS is below 1/(ORDER·(ORDER − 1)). (DuckDB joins with a million
#: of them at most by position instead of a hash table, in a quarter of the time.) And those by
#: which the cut of a tail is found.
CELLS = 1_000_000
_TAIL_CELLS = 1 << 12


@lru_cache(maxsize=1)
def farey_edges() -> Floats:
    """All k/m with 0 < k < m ≤ 1,000, ascending, each the double next to it."""
    return np.unique(np.concatenate([np.arange(1, m) / m for m in range(2, ORDER + 1)]))


@lru_cache(maxsize=1)
def edge_cells() -> dict[str, NDArray[Any]]:
    """Every cell, the edges below it, and the edge in it (2 where there is none)."""
    all_edges = farey_edges()
    cell_of_edge = np.floor(all_edges * CELLS).astype(np.int32)
    edge_in_cell = np.full(CELLS + 1, 2.0)
    edge_in_cell[cell_of_edge] = all_edges
    edges_below = np.searchsorted(cell_of_edge, np.arange(CELLS + 1), side="left").astype(np.int32)
    return {
        "fs_cell": np.arange(CELLS + 1, dtype=np.int32),
        "fs_base": edges_below,
        "fs_edge": edge_in_cell,
    }


def count_scores(rows: LazyRows) -> ScoreCounts:
    """Rows per group, label and score or interval of scores."""
    names = [TRUE] if TRUE in rows.columns else []
    key_columns = [*rows.key_names, *names]
    answer = _count_exact_scores(
        rows, rows.complete.select(*key_columns, *rows.weights), key_columns
    )
    if answer is not None:
        values, position = np.unique(real(answer, SCORE), return_inverse=True)
        return _assemble_counts(rows, answer, rows.place(answer, *names), position, values, None)
    # of many intervals engines count faster by one whole number, of few scores by the keys
    table, group_columns, place_rows = rows.coded(*names)
    answer = _in_intervals(rows, table.select(*group_columns, *rows.weights), group_columns)
    interval_codes = whole(answer, "fs_interval")
    is_present = np.bincount(interval_codes, minlength=farey_edges().size + 1) > 0
    lower_ends = np.concatenate([[0.0], farey_edges()])[is_present]
    upper_ends = np.append(np.nextafter(farey_edges(), 0), 1.0)[is_present]
    return _assemble_counts(
        rows,
        answer,
        place_rows(answer),
        np.cumsum(is_present)[interval_codes] - 1,
        upper_ends,
        lower_ends,
    )


def floor_cells(table: Any, value: Any, name: str) -> Any:
    """The table with a column of ⌊value⌋.

    Casts truncate in some engines and round in others (DuckDB).
    """
    table = table.with_columns(**{name: value.cast(nw.Int32)})
    is_above = nw.col(name).cast(nw.Float64) > value
    return table.with_columns(
        **{name: nw.when(is_above).then(nw.col(name) - 1).otherwise(nw.col(name))}
    )


def _count_exact_scores(rows: LazyRows, table: Any, group_columns: list[str]) -> Any:
    """The counts of every score, or None where there are too many, in the first rows or in all."""
    first_rows = collected(table.select(nw.col(SCORE)).head(2 * MOST_EXACT))
    if int(first_rows[SCORE].n_unique()) > MOST_EXACT:
        return None
    most_rows = MOST_EXACT * rows.outcomes.groups.codes.size
    answer = collected(
        table.group_by(*group_columns, SCORE).agg(**_sum_expressions(rows)).head(most_rows + 1)
    )
    if int(answer[SCORE].n_unique()) <= MOST_EXACT:
        return answer
    return None


def _in_intervals(lazy_rows: LazyRows, table: Any, group_columns: list[str]) -> Any:
    """The counts of every interval between edges."""
    score = nw.col(SCORE)
    n_intervals = farey_edges().size + 1
    table = floor_cells(table, score * CELLS, "fs_cell")
    interval_expression = nw.col("fs_base") + nw.when(score >= nw.col("fs_edge")).then(1).otherwise(
        0
    )
    with beside(lazy_rows.table, edge_cells()) as cells:
        table = table.join(cells, on="fs_cell", how="inner")
        if group_columns != [CODE]:
            table = table.with_columns(fs_interval=interval_expression)
            return collected(
                table.group_by(*group_columns, "fs_interval").agg(**_sum_expressions(lazy_rows))
            )
        # one column is grouped by in half the time of two
        table = table.with_columns(
            **{CODE: nw.col(CODE).cast(nw.Int64) * n_intervals + interval_expression}
        )
        answer = collected(table.group_by(CODE).agg(**_sum_expressions(lazy_rows)))
    joint_code = nw.col(CODE)
    return answer.with_columns(
        **{CODE: joint_code // n_intervals, "fs_interval": joint_code % n_intervals}
    )


def _sum_expressions(lazy_rows: LazyRows) -> dict[str, Any]:
    sum_by_name: dict[str, Any] = {NUMBER: nw.len()}
    if WEIGHT in lazy_rows.columns:
        sum_by_name |= {"total": nw.col(WEIGHT).sum(), "squares": nw.col("fs_squares").sum()}
    return sum_by_name


def _assemble_counts(
    lazy_rows: LazyRows,
    answer: Any,
    outcome_positions: NDArray[np.intp],
    position: NDArray[np.intp],
    values: Floats,
    lower: Floats | None,
) -> ScoreCounts:
    """The answer as counts per group, label and interval; `outcome_positions`, `position`: of its
    rows among both.
    """
    outcomes = lazy_rows.outcomes
    n_labels = 2 if TRUE in lazy_rows.columns else 1
    table_shape = (len(outcomes.groups.labels), n_labels, values.size)
    group_label_codes = outcomes.groups.codes.astype(np.intp) * n_labels
    if outcomes.y_true is not None:
        group_label_codes = group_label_codes + outcomes.y_true
    cell_codes = group_label_codes[outcome_positions] * values.size + position

    def total(sum_name: str) -> Floats:
        code_sums = np.bincount(cell_codes, real(answer, sum_name), int(np.prod(table_shape)))
        return np.asarray(code_sums, dtype=np.float64).reshape(table_shape)

    weighted = WEIGHT in lazy_rows.columns
    return ScoreCounts(
        groups=outcomes.groups.labels,
        values=values,
        counts=total(NUMBER).astype(np.int64),
        missing=outcomes.missing,
        lower=lower,
        totals=total("total") if weighted else None,
        squares=total("squares") if weighted else None,
        clustered=lazy_rows.question.cluster is not None,
    )


def count_tails(rows: LazyRows) -> TailCounts:
    """Sums of the differences and the largest of them, per group.

    The first query counts coarse cells: they say above which value enough rows lie. The second
    collects the values from there on, which are cut at the same row as by `TailCounts.from_values`.
    """
    keys = rows.key_names
    difference = nw.col("fs_value")
    table = rows.complete.with_columns(fs_value=nw.col(CHANGED) - nw.col(SCORE))
    table = table.with_columns(fs_square=difference * difference)
    cells = floor_cells(table, difference * _TAIL_CELLS, "fs_cell").group_by(*keys, "fs_cell")
    answer = collected(
        cells.agg(**{NUMBER: nw.len()}, total=difference.sum(), squares=nw.col("fs_square").sum())
    )
    groups = rows.outcomes.groups
    outcome_positions = rows.place(answer)
    group = groups.codes[outcome_positions]
    cell_numbers = whole(answer, "fs_cell")
    number = whole(answer, NUMBER)
    n_groups = len(groups.labels)
    rows_per_group = np.bincount(group, number, n_groups).astype(np.int64)
    group_conditions = []
    for group_index in np.unique(group).tolist():
        # its keys name the group in the second query
        group_answer = answer[int(np.flatnonzero(group == group_index)[0])]
        key_conditions = (
            _equals_value(nw.col(key_name), group_answer[key_name].to_list()[0])
            for key_name in keys
        )
        group_conditions.append(
            reduce(
                and_,
                key_conditions,
                difference
                >= _from_cell(cell_numbers[group == group_index], number[group == group_index])
                / _TAIL_CELLS,
            )
        )
    values = collected(
        table.filter(reduce(or_, group_conditions))
        .group_by(*keys, "fs_value")
        .agg(**{NUMBER: nw.len()})
    )
    value_groups = groups.codes[rows.place(values)]
    distinct_values = real(values, "fs_value")
    value_counts = whole(values, NUMBER)
    largest_by_group = (
        _keep_largest(
            distinct_values[value_groups == group_index],
            value_counts[value_groups == group_index],
            int(rows_per_group[group_index]),
        )
        for group_index in range(n_groups)
    )
    group_sums: Any = (
        np.bincount(group, real(answer, sum_name), n_groups).astype(np.float64)
        for sum_name in ("total", "squares")
    )
    return TailCounts(
        groups.labels, rows_per_group, *group_sums, *zip(*largest_by_group, strict=True)
    )


def _from_cell(cells: NDArray[np.int64], number: NDArray[np.int64]) -> int:
    """The highest cell from which on there are as many rows as are kept."""
    descending_order = np.argsort(-cells)
    is_enough = np.cumsum(number[descending_order]) >= min(
        number_kept(int(number.sum())), number.sum()
    )
    return int(cells[descending_order][np.argmax(is_enough)])


def _equals_value(column: Any, value: Any) -> Any:
    if value is None or value != value:
        return column.is_null()
    return column == value


def _keep_largest(
    values: Floats, value_counts: NDArray[np.int64], n: int
) -> tuple[Floats, NDArray[np.int64], float]:
    """Distinct values in descending order with their numbers, down to the last that is kept."""
    descending_order = np.argsort(-values)
    values = values[descending_order]
    value_counts = value_counts[descending_order]
    if number_kept(n) >= n:
        return values, value_counts, -np.inf
    last_position = int(np.argmax(np.cumsum(value_counts) >= number_kept(n)))
    return (
        values[: last_position + 1],
        value_counts[: last_position + 1],
        float(values[last_position]),
    )


def count_distinct(rows: LazyRows) -> RowCounts:
    """Distinct rows of features, labels and predictions.

    An error where they are too many, and no sample of them.
    """
    features = []
    for feature_number in range(len(rows.question.features)):
        features.append(f"{FEATURE}{feature_number}")
    labels = []
    for label_name in (TRUE, PRED):
        if label_name in rows.columns:
            labels.append(label_name)
    group_columns = [*rows.key_names, *labels, *features]
    answer = collected(
        rows.complete.group_by(*group_columns).agg(**{NUMBER: nw.len()}).head(MOST_DISTINCT + 1)
    )
    if len(answer) > MOST_DISTINCT:
        received = f"more than {MOST_DISTINCT:,} distinct rows"
        allowed = "features whose combinations can be held: distances are between all of them"
        advice = (
            "leave out or round continuous features, or draw rows yourself and pass them as a frame"
        )
        raise InputError("features", got=received, allowed=allowed, cure=advice)
    frame = as_frame_columns(nw.to_native(answer), features, "frame")
    frame.columns = list(rows.question.features)
    outcomes = rows.outcomes
    outcome_positions = rows.place(answer, *labels)
    true_labels, predicted_labels = (
        None if column is None else column[outcome_positions]
        for column in (outcomes.y_true, outcomes.y_pred)
    )
    codes = outcomes.groups.codes[outcome_positions]
    numbers = whole(answer, NUMBER)
    return RowCounts._from_frame(
        frame, codes, outcomes.groups.labels, true_labels, predicted_labels, numbers
    )
