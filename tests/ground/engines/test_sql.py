"""The query of a tally. Witness: its answer, computed by DuckDB, is the tally of the rows."""

from __future__ import annotations

import pytest

import fairstats as fs
from fairstats.ground.columns import DIALECTS
from fairstats.ground.errors import InputError
from tests.ground.engines.frames import people, same, with_gaps

sqlglot = pytest.importorskip("sqlglot", reason="sqlglot is not installed")
duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

COLUMNS = {
    "y_true": "y",
    "y_pred": "hat",
    "score": "score",
    "sensitive_features": ["sex", "race"],
    "strata": "site",
}
LABELS = {"pos_label": {"y_true": "yes", "y_pred": 1}, "missing": "drop"}


@pytest.mark.filterwarnings("ignore::fairstats.ground.errors.FairstatsWarning")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("weight", [None, "weight"])
def test_the_answer_is_the_tally_of_the_rows(dialect, weight):
    visits = with_gaps(people(1, 700)).drop(columns=["school"])
    with duckdb.connect() as connection:
        connection.register("visits", visits)
        text = fs.tally_sql("visits", dialect=dialect, **COLUMNS, sample_weight=weight)
        (mine,) = sqlglot.transpile(text, read=dialect, write="duckdb")
        answer = connection.sql(mine).df()
    assert len(answer) < len(visits)
    counted = fs.Tally.from_frame(answer, **COLUMNS, **LABELS, sample_weight=weight)
    same(counted, fs.tally(visits, **COLUMNS, **LABELS, sample_weight=weight))


def test_names_are_quoted_and_never_read_as_queries():
    text = fs.tally_sql(
        "a.b", dialect="postgres", sensitive_features='sex"; DROP TABLE x; --', y_pred="group"
    )
    (only,) = sqlglot.parse(text, read="postgres")
    assert [c.name for c in only.find_all(sqlglot.exp.Column)][:2] == [
        'sex"; DROP TABLE x; --',
        "group",
    ]
    for table in ("(SELECT 1)", "", "a; DROP TABLE b"):
        with pytest.raises(InputError, match="`table`"):
            fs.tally_sql(table, dialect="duckdb", sensitive_features="sex")
    with pytest.raises(InputError, match="`dialect`"):
        fs.tally_sql("t", dialect="cobol", sensitive_features="sex")


def test_an_answer_is_read_by_the_names_of_its_query():
    visits = people(3, 90)
    answer = visits.groupby(["sex", "hat"]).size().rename("n").reset_index()
    options = {"y_pred": "hat", "sensitive_features": "sex"}
    same(fs.Tally.from_frame(answer, number="n", **options), fs.tally(visits, **options))
    with pytest.raises(InputError, match="no column 'number_of_rows'"):
        fs.Tally.from_frame(answer, **options)
    with pytest.raises(InputError, match="`columns`: got 'cluster'.*no clusters"):
        fs.Tally.from_frame(answer, number="n", **options, cluster="school")


def test_counted_rows_are_checked():
    visits = people(2, 50).assign(n=1)
    options = {"y_pred": "hat", "sensitive_features": "sex", "number": "n"}
    same(fs.tally(visits, **options), fs.tally(visits, y_pred="hat", sensitive_features="sex"))
    with pytest.raises(InputError, match="`number`"):
        fs.tally(visits, **options, cluster="school")
    for wrong in (0.5, -1, None):
        with pytest.raises(InputError, match="`number`: got a column with other values"):
            fs.tally(visits.assign(n=[wrong, *[1] * 49]), **options)
