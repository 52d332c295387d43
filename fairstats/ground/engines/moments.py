"""Moments of numbers of a lazy table: sums of powers about one centre, in the engine."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from fairstats.ground.engines.sources import collected, real, whole
from fairstats.ground.engines.table import CLUSTER, NUMBER, OUTCOME, PREDICTED, WEIGHT, LazyRows
from fairstats.ground.tallies.moments import (
    ERRORS,
    MomentCounts,
    refuse_spread_clusters,
    shift_centre,
)
from fairstats.ground.tallies.moments import OUTCOME as OUTCOME_NAME

_UNIT_WEIGHT = "fs_unit_weight"


def count_moments(rows: LazyRows) -> MomentCounts:
    """Moments of the outcome, and of the errors of its prediction, per group.

    The first query takes the mean of each number over all rows. The second sums powers of the
    distances from it, which are small enough not to cancel; they then move to each group's mean.
    """
    table = rows.complete
    expressions = {OUTCOME_NAME: nw.col(OUTCOME)}
    if PREDICTED in rows.columns:
        residual = nw.col(PREDICTED) - nw.col(OUTCOME)
        errors = (residual.abs(), residual, residual * residual)
        expressions |= dict(zip(ERRORS, errors, strict=True))
    value_columns = {name: f"fs_value_{name}" for name in expressions}
    table = table.with_columns(
        **{value_columns[name]: expression for name, expression in expressions.items()}
    )
    is_plain = WEIGHT not in rows.columns and rows.question.cluster is None
    if not is_plain:
        weight = nw.col(WEIGHT) if WEIGHT in rows.columns else nw.lit(1.0)
        table = table.with_columns(**{_UNIT_WEIGHT: weight})
    centres_answer = collected(
        table.select(**{name: nw.col(column).mean() for name, column in value_columns.items()})
    )
    centres = {name: float(real(centres_answer, name)[0]) for name in expressions}
    if is_plain:
        answer = _sum_plain_rows(rows, table, value_columns, centres)
        endings = ("squares", "cubes", "sum", "squares", "sum")
        weight_columns = (NUMBER, NUMBER, NUMBER)
        unit_column = NUMBER
    else:
        units = _sum_within_units(rows, table, value_columns, centres)
        answer = _sum_over_units(rows, units, list(expressions))
        endings = ("squares", "cubes", "weight", "squares_weight", "weight_squares")
        weight_columns = ("weight_1", "weight_2", "weight_3")
        unit_column = "units"

    groups = rows.outcomes.groups
    n_groups = len(groups.labels)
    group = groups.codes[rows.place(answer)]

    def sum_by_group(column: str) -> Any:
        return np.bincount(group, real(answer, column), n_groups)

    def count_by_group(column: str) -> Any:
        return np.bincount(group, whole(answer, column), n_groups).astype(np.int64)

    weights = np.array([sum_by_group(column) for column in weight_columns])
    total_weight = np.where(weights[0] > 0, weights[0], 1.0)
    means = []
    centred = []
    negative = []
    for name in expressions:
        shift = sum_by_group(f"{name}_sum") / total_weight
        sums = np.array([sum_by_group(f"{name}_{ending}") for ending in endings])
        means.append(np.where(weights[0] > 0, centres[name] + shift, 0.0))
        centred.append(shift_centre(sums, weights, shift))
        negative.append(count_by_group(f"{name}_negative"))
    return MomentCounts(
        groups=groups.labels,
        columns=tuple(expressions),
        n=count_by_group(NUMBER),
        units=count_by_group(unit_column),
        weights=weights,
        mean=np.array(means),
        centred=np.moveaxis(np.array(centred), 1, 0),
        negative=np.array(negative),
        weighted=WEIGHT in rows.columns,
        clustered=rows.question.cluster is not None,
        missing=rows.outcomes.missing,
    )


def _sum_plain_rows(
    rows: LazyRows,
    table: Any,
    value_columns: dict[str, str],
    centres: dict[str, float],
) -> Any:
    """Sums over rows without weights and clusters, each of which is a unit of weight 1."""
    products: dict[str, Any] = {}
    for name, column in value_columns.items():
        excess = nw.col(column) - centres[name]
        products |= {
            f"{name}_sum": excess,
            f"{name}_squares": excess * excess,
            f"{name}_cubes": excess * excess * excess,
            f"{name}_negative": nw.when(nw.col(column) < 0).then(1).otherwise(0),
        }
    table = table.with_columns(**products)
    return collected(
        table.group_by(*rows.key_names).agg(
            **{NUMBER: nw.len()}, **{column: nw.col(column).sum() for column in products}
        )
    )


def _sum_within_units(
    rows: LazyRows,
    table: Any,
    value_columns: dict[str, str],
    centres: dict[str, float],
) -> Any:
    """One row per sampling unit: its weight, its excess of every number, its rows."""
    unit_columns = {}
    for name, column in value_columns.items():
        unit_columns[f"{name}_excess"] = nw.col(_UNIT_WEIGHT) * (nw.col(column) - centres[name])
        is_negative = nw.col(column) < 0
        unit_columns[f"{name}_negative"] = nw.when(is_negative).then(1).otherwise(0)
    table = table.with_columns(**unit_columns, **{NUMBER: nw.lit(1)})
    if rows.question.cluster is None:
        return table
    summed = [_UNIT_WEIGHT, *unit_columns, NUMBER]
    units = table.group_by(*rows.key_names, CLUSTER).agg(
        **{column: nw.col(column).sum() for column in summed}
    )
    n_units = int(whole(collected(units.select(units=nw.len())), "units")[0])
    n_clusters = int(
        whole(collected(table.select(clusters=nw.col(CLUSTER).n_unique())), "clusters")[0]
    )
    refuse_spread_clusters(n_units - n_clusters, stratified=rows.question.stratified)
    return units


def _sum_over_units(rows: LazyRows, units: Any, names: list[str]) -> Any:
    """Sums of powers and products over the units of every combination of keys."""
    weight = nw.col(_UNIT_WEIGHT)
    products = {
        "weight_1": weight,
        "weight_2": weight * weight,
        "weight_3": weight * weight * weight,
        "units": nw.lit(1),
    }
    for name in names:
        excess = nw.col(f"{name}_excess")
        products |= {
            f"{name}_sum": excess,
            f"{name}_squares": excess * excess,
            f"{name}_cubes": excess * excess * excess,
            f"{name}_weight": excess * weight,
            f"{name}_squares_weight": excess * excess * weight,
            f"{name}_weight_squares": excess * weight * weight,
        }
    summed = [*products, NUMBER, *(f"{name}_negative" for name in names)]
    return collected(
        units.with_columns(**products)
        .group_by(*rows.key_names)
        .agg(**{column: nw.col(column).sum() for column in summed})
    )
