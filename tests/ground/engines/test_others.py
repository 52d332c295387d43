"""Tallies of tables of Ibis and SQLFrame. Witness: the same rows counted by NumPy.

Ibis 12.0 cannot make tables in DuckDB 2.0 (it sends SQL that ends too early), but reads its own
memory tables by it; the polars of Ibis keeps small whole numbers in a byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.engines import parts
from fairstats.ground.engines.sources import engine_errors
from fairstats.ground.errors import EngineError, InputError, MissingDependencyError
from tests.ground.engines.frames import people, same
from tests.ground.engines.test_tallies import SHAPES

pytestmark = pytest.mark.filterwarnings("ignore")


def _of_ibis(backend: str) -> Callable[[pd.DataFrame], Any]:
    ibis = pytest.importorskip("ibis")
    pytest.importorskip(
        "pyarrow_hotfix", reason="Ibis 12 needs pyarrow-hotfix, which its extras bring"
    )
    if backend == "memory":
        pytest.importorskip("duckdb")
        return ibis.memtable
    pytest.importorskip("polars")
    return lambda frame: ibis.polars.connect().create_table("people", frame)


def _of_sqlframe() -> Callable[[pd.DataFrame], Any]:
    pytest.importorskip("duckdb")
    return pytest.importorskip("sqlframe.duckdb").DuckDBSession().createDataFrame


@pytest.fixture(
    params=[
        "ibis",
        "ibis and polars",
        pytest.param("sqlframe", marks=pytest.mark.slow),
    ]  # it plans for 20 s
)
def other(request: pytest.FixtureRequest) -> Callable[[pd.DataFrame], Any]:
    """From a frame to a table of the engine."""
    if request.param == "sqlframe":
        return _of_sqlframe()
    return _of_ibis("memory" if request.param == "ibis" else "polars")


@pytest.mark.parametrize("shape", ["all parts", "weights, clusters, strata"])
def test_a_table_gives_the_tally_of_its_rows(other, shape):
    frame = people(1, 240)
    same(fs.tally(other(frame), **SHAPES[shape]), fs.tally(frame, **SHAPES[shape]))


@pytest.mark.parametrize("backend", ["memory", "polars"])
def test_many_scores_between_edges(backend, monkeypatch):
    monkeypatch.setattr(parts, "MOST_EXACT", 100)
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"g": rng.choice(["a", "b"], 400), "s": rng.random(400)})
    options = {"sensitive_features": "g", "score": "s"}
    there = fs.tally(_of_ibis(backend)(frame), **options)
    rows = fs.tally(frame, **options)
    assert there.histogram().lower is not None
    np.testing.assert_array_equal(fs.madd_curve(counts=there).madd, fs.madd_curve(counts=rows).madd)


def test_many_scores_of_sqlframe_are_refused(monkeypatch):
    """It would send a million cells as the text of a query."""
    monkeypatch.setattr(parts, "MOST_EXACT", 5)
    table = _of_sqlframe()(pd.DataFrame({"g": ["a", "b"] * 5, "s": np.linspace(0, 1, 10)}))
    with pytest.raises(InputError, match="sqlframe with many distinct scores.*round the scores"):
        fs.tally(table, sensitive_features="g", score="s")


def test_a_query_of_ibis_that_fails_gives_its_words():
    table = _of_ibis("memory")(pd.DataFrame({"g": ["a", "b"], "s": ["1", "one"]}))
    with pytest.raises(EngineError, match="engine ibis failed: .*'one'"):
        fs.tally(table.mutate(hat=table.s.cast("int64")), y_pred="hat", sensitive_features="g")


@pytest.mark.parametrize(
    ("engine", "cure"),
    [
        ("duckdb", r"fairstats\[scale\]"),
        ("pyspark", r"fairstats\[spark\]"),
        ("ibis", "install pyarrow"),
    ],
)
def test_a_package_that_an_engine_lacks_is_named(engine, cure):
    """DuckDB without pyarrow, say: its own error is a ModuleNotFoundError from deep inside."""
    lacking = pytest.raises(
        MissingDependencyError, match=f"a table of {engine} needs `pyarrow`: .*{cure}"
    )
    with lacking, engine_errors(engine):
        raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")
