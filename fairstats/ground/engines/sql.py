"""The text of the query that makes a tally in a warehouse that nothing here can reach."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from fairstats.ground.checks import check_choice, check_that, column_name, column_names
from fairstats.ground.errors import MissingDependencyError

DIALECTS = ("duckdb", "spark", "postgres", "bigquery", "snowflake", "databricks", "redshift", "trino", "tsql")
#: Names that Snowflake and others read alike in every case.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: A table with its schema, catalogue and project, whose name can hold hyphens.
_TABLE = re.compile(r"[\w-]+(\.\w+){0,3}")


def tally_sql(
    table: str, *, dialect: str, sensitive_features: str | Sequence[str], y_true: str | None = None,
    y_pred: str | None = None, y_pred_b: str | None = None, score: str | None = None, strata: str | None = None,
    sample_weight: str | None = None, number: str = "number_of_rows",
) -> str:  # fmt: skip
    """The query whose answer is a tally: counts per combination of values, for any warehouse.

    Run it where the table is, and pass the answer to `Tally.from_frame` with the same column names.

    Parameters
    ----------
    table : str
        Name of the table, as in a query: ``"clinic.visits"``.
    dialect : {"duckdb", "spark", "postgres", "bigquery", "snowflake", "databricks", "redshift", "trino", "tsql"}
        Language of the warehouse, which SQLGlot writes.
    sensitive_features, y_true, y_pred, y_pred_b, strata
        Names of columns, as in `tally`.
    score : str, optional
        Column of scores: each distinct one is a row of the answer; round them in a view where they are many.
    sample_weight : str, optional
        Column of weights; the answer has their sums, and those of their squares in a column whose name ends
        in ``_squares``.
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
