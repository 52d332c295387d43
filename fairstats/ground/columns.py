"""The columns of a table, counted.

By rows in NumPy, by the table's engine, or by a query for a warehouse.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import (
    check_choice,
    check_given,
    check_number,
    check_that,
    column_name,
    column_names,
)
from fairstats.ground.counts import CellCounts, ConfusionCounts, PairedCounts, SelectionCounts
from fairstats.ground.encoding import as_float_column, as_frame_columns
from fairstats.ground.engines.moments import count_moments
from fairstats.ground.engines.parts import count_distinct, count_scores, count_tails
from fairstats.ground.engines.sources import as_lazy, engine_errors, kind
from fairstats.ground.engines.table import LazyRows, Question
from fairstats.ground.errors import InputError, MissingDependencyError
from fairstats.ground.outcomes import Outcomes, check_changed, on_unit_interval
from fairstats.ground.parts import RowCounts, TailCounts
from fairstats.ground.progress import under_way
from fairstats.ground.reading.roles import ReadingOptions
from fairstats.ground.reading.table import is_file, read_roles
from fairstats.ground.scores import ScoreCounts
from fairstats.ground.tallies.classes import ClassCounts
from fairstats.ground.tallies.moments import MomentCounts, numbers_of_outcome
from fairstats.ground.values import factorize, label_text

#: Arguments that name one column.
_SINGLE_COLUMN_ROLES = (
    "y_true",
    "y_pred",
    "y_pred_b",
    "score",
    "counterfactual_score",
    "outcome",
    "predicted",
    "sample_weight",
    "cluster",
    "number",
)
DIALECTS = (
    "duckdb",
    "spark",
    "postgres",
    "bigquery",
    "snowflake",
    "databricks",
    "redshift",
    "trino",
    "tsql",
)
#: Names that Snowflake and others read alike in every case; a table with its schema, catalogue and
#: project.
_PLAIN_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TABLE_NAME = re.compile(r"[\w-]+(\.\w+){0,3}")


@under_way("counting rows")
def count_columns(
    frame: Any,
    sensitive_features: str | Sequence[str],
    *,
    strata: str | None = None,
    features: str | Sequence[str] = (),
    score_range: Any = (0.0, 1.0),
    engine: str = "auto",
    **asked: Any,
) -> dict[str, Any]:
    """The fields of a tally; the arguments are those of `fairstats.tally`, not checked yet."""
    keys = column_names("sensitive_features", sensitive_features)
    for role in _SINGLE_COLUMN_ROLES:
        column_name(role, asked.get(role))
    column_name("strata", strata)
    if asked.get("counterfactual_score") is not None:
        check_given("score", asked.get("score"), "the score of the same rows")
    if asked.get("predicted") is not None:
        check_given("outcome", asked.get("outcome"), "the outcome of the same rows")
    question = Question(
        keys=keys if strata is None else (*keys, strata),
        features=column_names("features", features),
        score_range=check_score_range(score_range),
        stratified=strata is not None,
        **asked,
    )
    # counted rows cannot give what needs single ones
    of_rows = (question.cluster, question.counterfactual_score, question.outcome)
    asked_rows = next((column for column in of_rows if column is not None), None)
    is_countable = question.number is None or asked_rows is None
    advice = "count the clusters, or the rows, where they are"
    check_that(is_countable, "number", question.number, f"no {asked_rows!r} beside it", advice)
    if is_file(frame):
        frame, _ = read_roles(frame, question.reading_roles, ReadingOptions(), engine=engine)
    lazy_table = as_lazy(frame, "rows" if question.number is not None else engine)
    if lazy_table is None:
        outcomes, columns, tally_parts = _by_rows(frame, question)
    else:
        outcomes, columns, tally_parts = _by_engine(lazy_table, question)
    level_tuples = (
        level if isinstance(level, tuple) else (level,) for level in outcomes.groups.levels
    )
    levels = tuple(tuple(map(label_text, level)) for level in level_tuples)
    named_columns = {}
    for column_role in _SINGLE_COLUMN_ROLES:
        if column_role != "number":
            named_columns[column_role] = getattr(question, column_role)
    named_columns |= _pos_labels(question.pos_label, question.y_true, question.y_pred)
    return {
        "attributes": question.keys,
        "levels": levels,
        "orders": _declared_orders(columns, levels, question.groups),
        "stratified": strata is not None,
        **tally_parts,
        "columns": {
            column_role: column_text
            for column_role, column_text in named_columns.items()
            if column_text is not None
        },
    }


def _by_rows(frame: Any, question: Question) -> tuple[Outcomes, dict[str, Any], dict[str, Any]]:
    """The validated rows, the columns of the groups, and the parts of a tally."""
    if question.number is None or question.sample_weight is None:
        squares = None
    else:
        squares = squares_of(question.sample_weight)
    number_columns = [
        column_role for column_role in (question.number, squares) if column_role is not None
    ]
    columns = as_frame_columns(frame, [*question.names, *number_columns], "frame")

    def column(column_role: str | None) -> Any:
        if column_role is None:
            return None
        return columns[column_role]

    keys = {column_role: columns[column_role] for column_role in question.keys}
    outcomes = Outcomes.from_arrays(
        column(question.y_true),
        column(question.y_pred),
        sensitive_features=keys,
        sample_weight=column(question.sample_weight),
        score=None
        if question.score is None
        else question.on_unit(as_float_column(columns[question.score], "score")),
        cluster=column(question.cluster),
        extra=column(question.y_pred_b),
        pos_label=question.pos_label,
        label_values=question.label_values,
        missing=question.missing,  # type: ignore[arg-type]
        groups=question.groups,
        features=columns[list(question.features)] if question.features else None,
        numbers={
            argument: columns[column_role]
            for argument, column_role in question.outcome_columns.items()
        },
        number=None if question.number is None else _as_row_numbers(columns[question.number]),
        squares=None if squares is None else as_float_column(columns[squares], squares),
        classes=question.classes,
    )
    labels = outcomes.groups.labels
    codes = outcomes.groups.codes
    kept_rows = slice(None) if outcomes.kept is None else outcomes.kept
    tally_parts = _count_labels(outcomes)
    outcomes = outcomes.without_classes()
    if outcomes.score is not None:
        tally_parts["scores"] = ScoreCounts._from_outcomes(
            outcomes, labelled=outcomes.y_true is not None
        )
    if question.counterfactual_score is not None:
        counterfactual_scores = question.on_unit(
            as_float_column(columns[question.counterfactual_score], "counterfactual_score")[
                kept_rows
            ]
        )
        check_changed(int(np.isnan(counterfactual_scores).sum()), question.counterfactual_score)
        counterfactual_scores = np.asarray(
            on_unit_interval(counterfactual_scores, "counterfactual_score")
        )
        tally_parts["tails"] = TailCounts._from_values(
            counterfactual_scores - outcomes.score, codes, labels
        )
    if outcomes.numbers:
        tally_parts["moments"] = MomentCounts._from_outcomes(
            outcomes,
            numbers_of_outcome(outcomes.numbers),
            stratified=question.stratified,
        )
    if question.features:
        table = columns[list(question.features)].iloc[kept_rows].reset_index(drop=True)
        outcome_columns = (outcomes.y_true, outcomes.y_pred)
        tally_parts["distinct"] = RowCounts._from_frame(
            table, codes, labels, *outcome_columns, outcomes.number
        )
    return outcomes, keys, tally_parts


def _by_engine(
    lazy_table: Any, question: Question
) -> tuple[Outcomes, dict[str, Any], dict[str, Any]]:
    """The same of a lazy table: its cells, validated, stand for the rows."""
    with engine_errors(kind(lazy_table)):
        lazy_rows = LazyRows.prepare(lazy_table, question)
        outcomes = lazy_rows.outcomes
        tally_parts = _count_labels(outcomes)
        if question.cluster is not None:
            for part_name in ("cells", "classes"):
                if tally_parts.get(part_name) is not None:
                    tally_parts[part_name] = lazy_rows.with_clusters(tally_parts[part_name])
        if question.score is not None:
            tally_parts["scores"] = count_scores(lazy_rows)
        if question.counterfactual_score is not None:
            tally_parts["tails"] = count_tails(lazy_rows)
        if question.outcome is not None:
            tally_parts["moments"] = count_moments(lazy_rows)
        if question.features:
            tally_parts["distinct"] = count_distinct(lazy_rows)
        return outcomes, lazy_rows.key_columns(), tally_parts


def _count_labels(outcomes: Outcomes) -> dict[str, Any]:
    """The part of a tally that counts labels and predictions: of two labels, or of classes."""
    if outcomes.classes is not None:
        only_labels = outcomes.y_pred is None
        return {"classes": ClassCounts._from_outcomes(outcomes), "of_labels": only_labels}
    cells, counts_labels = _count_cells(outcomes)
    return {"cells": cells, "of_labels": counts_labels}


def _as_row_numbers(values: Any) -> NDArray[np.int64]:
    """A column of counts, checked."""
    number = as_float_column(values, "number")
    if not (np.isfinite(number) & (number >= 0) & (number == np.floor(number))).all():
        raise InputError(
            "number",
            got="a column with other values",
            allowed="whole numbers ≥ 0",
            cure="COUNT(*)",
        )
    return number.astype(np.int64)


def check_score_range(range_ends: Any) -> tuple[float, float]:
    """The ends of the scores' scale, checked; the first is the worse one."""
    allowed_and_advice = "two different numbers, the worse end first", "score_range=(1, 10)"
    check_that(
        isinstance(range_ends, (tuple, list)) and len(range_ends) == 2,
        "score_range",
        range_ends,
        *allowed_and_advice,
    )
    worse_end, better_end = (check_number("score_range", range_end) for range_end in range_ends)
    check_that(worse_end != better_end, "score_range", range_ends, *allowed_and_advice)
    return worse_end, better_end


def _pos_labels(pos_label: Any, y_true: str | None, y_pred: str | None) -> dict[str, str | None]:
    """The favourable values as text, by column."""
    if isinstance(pos_label, Mapping):
        label_by_role = pos_label
    else:
        label_by_role = {"y_true": pos_label, "y_pred": pos_label}
    pos_labels: dict[str, str | None] = {}
    for role_ending, column_role, column in (
        ("true", "y_true", y_true),
        ("pred", "y_pred", y_pred),
    ):
        if column is not None and label_by_role.get(column_role) is not None:
            pos_labels[f"pos_label_{role_ending}"] = label_text(label_by_role[column_role])
    return pos_labels


def _count_cells(outcomes: Outcomes) -> tuple[CellCounts | None, bool]:
    """The richest table that the columns allow, and whether it counts labels for lack of
    predictions.
    """
    if outcomes.y_pred is None and outcomes.y_true is None:
        return None, False
    if outcomes.y_pred is not None:
        kind = PairedCounts if outcomes.extra is not None else ConfusionCounts
        return (SelectionCounts if outcomes.y_true is None else kind)._from_outcomes(
            outcomes
        ), False
    patterns = tuple(
        (group_position, -1, label, n_rows)
        for group_position, label, _, n_rows in outcomes.missing.patterns
    )
    labels = replace(
        outcomes, y_pred=outcomes.y_true, missing=replace(outcomes.missing, patterns=patterns)
    )
    return SelectionCounts._from_outcomes(labels), True


def _declared_orders(
    columns: Mapping[str, Any],
    levels: tuple[tuple[str, ...], ...],
    groups: Sequence[Hashable] | None,
) -> tuple[tuple[str, ...], ...]:
    """Declared order of the values of each attribute, empty where there is none."""
    if groups is not None and len(columns) == 1:
        return (tuple(level[0] for level in levels),)
    factors = [factorize(column, "sensitive_features") for column in columns.values()]
    declared_orders = []
    for factor in factors:
        declared_orders.append(
            tuple(map(label_text, factor.declared)) if factor.ordered_by_user else ()
        )
    return tuple(declared_orders)


def tally_sql(
    table: str,
    *,
    dialect: str,
    sensitive_features: str | Sequence[str],
    y_true: str | None = None,
    y_pred: str | None = None,
    y_pred_b: str | None = None,
    score: str | None = None,
    strata: str | None = None,
    sample_weight: str | None = None,
    number: str = "number_of_rows",
) -> str:
    """The query whose answer is a tally: counts per combination of values, for any warehouse.

    Run it where the table is, and pass the answer to `Tally.from_frame` with the same column names.

    Parameters
    ----------
    table : str
        Name of the table, as in a query: ``"clinic.visits"``.
    dialect : {"duckdb", "spark", "postgres", "bigquery", "snowflake", "databricks", "redshift", "trino", "tsql"}
        Language of the warehouse, which SQLGlot writes.
    sensitive_features, y_true, y_pred, y_pred_b, score, strata, sample_weight
        Names of columns, as in `tally`. Each distinct score is a row of the answer; of weights it
        has the sums, and those of their squares in a column whose name ends in ``_squares``.
    number : str, default "number_of_rows"
        Name of the column of counts.

    Returns
    -------
    str

    Raises
    ------
    InputError
        For a dialect that is not known, or a name that is no table's.
    MissingDependencyError
        Without sqlglot, which the extra ``scale`` brings.

    Examples
    --------
    >>> import fairstats as fs
    >>> print(fs.tally_sql("visits", dialect="bigquery", sensitive_features="sex", y_pred="referred"))
    SELECT
      `sex` AS `sex`,
      `referred` AS `referred`,
      COUNT(*) AS `number_of_rows`
    FROM visits
    GROUP BY
      `sex`,
      `referred`
    """
    try:
        sqlglot = import_module("sqlglot")
    except ImportError as problem:
        raise MissingDependencyError("sqlglot", extra="scale", purpose="tally_sql") from problem
    check_choice("dialect", dialect, DIALECTS)
    expressions: Any = sqlglot.exp
    is_table_name = isinstance(table, str) and _TABLE_NAME.fullmatch(table) is not None
    check_that(is_table_name, "table", table, "the name of a table, as in a query", "clinic.visits")
    table_expression = expressions.to_table(table, dialect=dialect)

    def name(alias_text: str) -> Any:
        return expressions.to_identifier(
            alias_text,
            quoted=dialect != "snowflake" or _PLAIN_IDENTIFIER.fullmatch(alias_text) is None,
        )

    def column(alias_text: str) -> Any:
        return expressions.Column(this=name(alias_text))

    further_columns = {
        "strata": strata,
        "y_true": y_true,
        "y_pred": y_pred,
        "y_pred_b": y_pred_b,
        "score": score,
    }
    for argument_name, column_of in {
        **further_columns,
        "sample_weight": sample_weight,
        "number": number,
    }.items():
        column_name(argument_name, column_of)
    keys = [
        *column_names("sensitive_features", sensitive_features),
        *(column_text for column_text in further_columns.values() if column_text is not None),
    ]
    keys = list(dict.fromkeys(keys))
    selected_columns = [(column(key_column), key_column) for key_column in keys] + [
        (expressions.Count(this=expressions.Star()), number)
    ]
    if sample_weight is not None:
        square = expressions.Mul(this=column(sample_weight), expression=column(sample_weight))
        selected_columns.append((expressions.Sum(this=column(sample_weight)), sample_weight))
        selected_columns.append((expressions.Sum(this=square), squares_of(sample_weight)))
    aliases: Any = (
        expressions.Alias(this=expression, alias=name(alias_text))
        for expression, alias_text in selected_columns
    )
    query = expressions.select(*aliases).from_(table_expression).group_by(*map(column, keys))
    return str(query.sql(dialect=dialect, pretty=True))


def squares_of(sample_weight: str) -> str:
    """Name of the column with the sums of squared weights."""
    return f"{sample_weight}_squares"
