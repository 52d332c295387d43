"""The columns of a table, counted: by rows in NumPy, by the table's engine, or by a query for a warehouse."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairstats.ground.checks import check_choice, check_given, check_number, check_that, column_name, column_names
from fairstats.ground.counts import CellCounts, ConfusionCounts, PairedCounts, SelectionCounts
from fairstats.ground.encoding import as_float_column, as_frame_columns
from fairstats.ground.engines.parts import count_distinct, count_scores, count_tails
from fairstats.ground.engines.sources import as_lazy, engine_errors, kind
from fairstats.ground.engines.table import LazyRows, Question
from fairstats.ground.errors import InputError, MissingDependencyError
from fairstats.ground.outcomes import Outcomes, check_changed, on_unit_interval
from fairstats.ground.parts import RowCounts, TailCounts
from fairstats.ground.reading.roles import ReadingOptions
from fairstats.ground.reading.table import is_file, read_roles
from fairstats.ground.scores import ScoreCounts
from fairstats.ground.values import factorize, label_text

#: Arguments that name one column.
_SINGLE = ("y_true", "y_pred", "y_pred_b", "score", "counterfactual_score", "sample_weight", "cluster", "number")
DIALECTS = ("duckdb", "spark", "postgres", "bigquery", "snowflake", "databricks", "redshift", "trino", "tsql")
#: Names that Snowflake and others read alike in every case; a table with its schema, catalogue and project.
_PLAIN, _TABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*"), re.compile(r"[\w-]+(\.\w+){0,3}")


def count_columns(
    frame: Any, sensitive_features: str | Sequence[str], *, strata: str | None = None,
    features: str | Sequence[str] = (), score_range: Any = (0.0, 1.0), engine: str = "auto", **asked: Any,
) -> dict[str, Any]:  # fmt: skip
    """The fields of a tally; the arguments are those of `fairstats.tally`, not checked yet."""
    keys = column_names("sensitive_features", sensitive_features)
    for role in _SINGLE:
        column_name(role, asked.get(role))
    column_name("strata", strata)
    if asked.get("counterfactual_score") is not None:
        check_given("score", asked.get("score"), "the score of the same rows")
    question = Question(
        keys=keys if strata is None else (*keys, strata), features=column_names("features", features),
        score_range=_range(score_range), **asked,
    )  # fmt: skip
    # counted rows cannot give what needs single ones
    asked_rows = question.cluster if question.cluster is not None else question.counterfactual_score
    fine = question.number is None or asked_rows is None
    cure = "count the clusters, or the rows, where they are"
    check_that(fine, "number", question.number, f"no {asked_rows!r} beside it", cure)
    if is_file(frame):
        frame, _ = read_roles(frame, question.reading_roles, ReadingOptions(), engine=engine)
    lazy = as_lazy(frame, "rows" if question.number is not None else engine)
    outcomes, columns, parts = _by_rows(frame, question) if lazy is None else _by_engine(lazy, question)
    crossed = (level if isinstance(level, tuple) else (level,) for level in outcomes.groups.levels)
    levels = tuple(tuple(map(label_text, level)) for level in crossed)
    named = {name: getattr(question, name) for name in _SINGLE if name != "number"}
    named |= _pos_labels(question.pos_label, question.y_true, question.y_pred)
    return {
        "attributes": question.keys, "levels": levels, "orders": _orders(columns, levels, question.groups),
        "stratified": strata is not None, **parts,
        "columns": {name: text for name, text in named.items() if text is not None},
    }  # fmt: skip


def _by_rows(frame: Any, q: Question) -> tuple[Outcomes, dict[str, Any], dict[str, Any]]:
    """The validated rows, the columns of the groups, and the parts of a tally."""
    squares = None if q.number is None or q.sample_weight is None else squares_of(q.sample_weight)
    counted = [name for name in (q.number, squares) if name is not None]
    columns = as_frame_columns(frame, [*q.names, *counted], "frame")

    def column(name: str | None) -> Any:
        return None if name is None else columns[name]

    keys = {name: columns[name] for name in q.keys}
    outcomes = Outcomes.from_arrays(
        column(q.y_true), column(q.y_pred), sensitive_features=keys, sample_weight=column(q.sample_weight),
        score=None if q.score is None else q.on_unit(as_float_column(columns[q.score], "score")),
        cluster=column(q.cluster), extra=column(q.y_pred_b), pos_label=q.pos_label,
        label_values=q.label_values, missing=q.missing, groups=q.groups,  # type: ignore[arg-type]
        features=columns[list(q.features)] if q.features else None,
        number=None if q.number is None else _whole(columns[q.number]),
        squares=None if squares is None else as_float_column(columns[squares], squares),
    )  # fmt: skip
    labels, codes = outcomes.groups.labels, outcomes.groups.codes
    kept = slice(None) if outcomes.kept is None else outcomes.kept
    cells, of_labels = _cells(outcomes)
    parts: dict[str, Any] = {"cells": cells, "of_labels": of_labels}
    if outcomes.score is not None:
        parts["scores"] = ScoreCounts._from_outcomes(outcomes, labelled=outcomes.y_true is not None)
    if q.counterfactual_score is not None:
        changed = q.on_unit(as_float_column(columns[q.counterfactual_score], "counterfactual_score")[kept])
        check_changed(int(np.isnan(changed).sum()), q.counterfactual_score)
        changed = np.asarray(on_unit_interval(changed, "counterfactual_score"))
        parts["tails"] = TailCounts._from_values(changed - outcomes.score, codes, labels)
    if q.features:
        table = columns[list(q.features)].iloc[kept].reset_index(drop=True)
        both = (outcomes.y_true, outcomes.y_pred)
        parts["distinct"] = RowCounts._from_frame(table, codes, labels, *both, outcomes.number)
    return outcomes, keys, parts


def _by_engine(lazy: Any, q: Question) -> tuple[Outcomes, dict[str, Any], dict[str, Any]]:
    """The same of a lazy table: its cells, validated, stand for the rows."""
    with engine_errors(kind(lazy)):
        rows = LazyRows.prepare(lazy, q)
        outcomes = rows.outcomes
        cells, of_labels = _cells(outcomes)
        if cells is not None and q.cluster is not None:
            cells = rows.with_clusters(cells)
        parts: dict[str, Any] = {"cells": cells, "of_labels": of_labels}
        if q.score is not None:
            parts["scores"] = count_scores(rows)
        if q.counterfactual_score is not None:
            parts["tails"] = count_tails(rows)
        if q.features:
            parts["distinct"] = count_distinct(rows)
        return outcomes, rows.key_columns(), parts


def _whole(values: Any) -> NDArray[np.int64]:
    """A column of counts, checked."""
    number = as_float_column(values, "number")
    if not (np.isfinite(number) & (number >= 0) & (number == np.floor(number))).all():
        raise InputError("number", got="a column with other values", allowed="whole numbers ≥ 0", cure="COUNT(*)")
    return number.astype(np.int64)


def _range(ends: Any) -> tuple[float, float]:
    """The ends of the scores' scale, checked."""
    words = "two numbers, the lower first", "score_range=(1, 10)"
    check_that(isinstance(ends, (tuple, list)) and len(ends) == 2, "score_range", ends, *words)
    low, high = (check_number("score_range", end) for end in ends)
    check_that(low < high, "score_range", ends, *words)
    return low, high


def _pos_labels(pos_label: Any, y_true: str | None, y_pred: str | None) -> dict[str, str | None]:
    """The favourable values as text, by column."""
    given = pos_label if isinstance(pos_label, Mapping) else {"y_true": pos_label, "y_pred": pos_label}
    return {
        f"pos_label_{short}": label_text(given[name])
        for short, name, column in (("true", "y_true", y_true), ("pred", "y_pred", y_pred))
        if column is not None and given.get(name) is not None
    }


def _cells(outcomes: Outcomes) -> tuple[CellCounts | None, bool]:
    """The richest table that the columns allow, and whether it counts labels for lack of predictions."""
    if outcomes.y_pred is None and outcomes.y_true is None:
        return None, False
    if outcomes.y_pred is not None:
        kind = PairedCounts if outcomes.extra is not None else ConfusionCounts
        return (SelectionCounts if outcomes.y_true is None else kind)._from_outcomes(outcomes), False
    patterns = tuple((g, -1, label, n) for g, label, _, n in outcomes.missing.patterns)
    labels = replace(outcomes, y_pred=outcomes.y_true, missing=replace(outcomes.missing, patterns=patterns))
    return SelectionCounts._from_outcomes(labels), True


def _orders(
    columns: Mapping[str, Any], levels: tuple[tuple[str, ...], ...], groups: Sequence[Hashable] | None
) -> tuple[tuple[str, ...], ...]:
    """Declared order of the values of each attribute, empty where there is none."""
    if groups is not None and len(columns) == 1:
        return (tuple(level[0] for level in levels),)
    factors = [factorize(column, "sensitive_features") for column in columns.values()]
    return tuple(tuple(map(label_text, f.declared)) if f.ordered_by_user else () for f in factors)


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
        Names of columns, as in `tally`. Each distinct score is a row of the answer; of weights it has the sums, and
        those of their squares in a column whose name ends in ``_squares``.
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
    exp: Any = sqlglot.exp
    named = isinstance(table, str) and _TABLE.fullmatch(table) is not None
    check_that(named, "table", table, "the name of a table, as in a query", "clinic.visits")
    source = exp.to_table(table, dialect=dialect)

    def name(text: str) -> Any:
        return exp.to_identifier(text, quoted=dialect != "snowflake" or _PLAIN.fullmatch(text) is None)

    def column(text: str) -> Any:
        return exp.Column(this=name(text))

    asked = {"strata": strata, "y_true": y_true, "y_pred": y_pred, "y_pred_b": y_pred_b, "score": score}
    for role, column_of in {**asked, "sample_weight": sample_weight, "number": number}.items():
        column_name(role, column_of)
    keys = [*column_names("sensitive_features", sensitive_features), *(c for c in asked.values() if c is not None)]
    keys = list(dict.fromkeys(keys))
    chosen = [(column(key), key) for key in keys] + [(exp.Count(this=exp.Star()), number)]
    if sample_weight is not None:
        square = exp.Mul(this=column(sample_weight), expression=column(sample_weight))
        chosen.append((exp.Sum(this=column(sample_weight)), sample_weight))
        chosen.append((exp.Sum(this=square), squares_of(sample_weight)))
    aliases: Any = (exp.Alias(this=value, alias=name(text)) for value, text in chosen)
    query = exp.select(*aliases).from_(source).group_by(*map(column, keys))
    return str(query.sql(dialect=dialect, pretty=True))


def squares_of(sample_weight: str) -> str:
    """Name of the column with the sums of squared weights."""
    return f"{sample_weight}_squares"
