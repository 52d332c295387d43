"""Tallies on a real Spark cluster of two workers. Witness: the same rows counted by NumPy.

Needs pyspark and Java 17, and a minute: `python -m pytest -m spark`.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.engines import parts
from fairstats.ground.engines.parts import farey_edges
from fairstats.ground.errors import EngineError
from tests.ground.engines.cluster import Cluster, spark_cluster
from tests.ground.engines.frames import people, same, with_gaps
from tests.ground.engines.test_tallies import SHAPES

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Cluster, Any]]:
    with pytest.MonkeyPatch.context():
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pyspark on pandas 3
            pytest.importorskip("pyspark", reason="pyspark is not installed")
            if shutil.which("java") is None:
                pytest.skip("Java is not installed")
            # a driver that takes no more than this cannot have been sent rows
            with spark_cluster(2, **{"spark.driver.maxResultSize": "24m"}) as both:
                yield both


@pytest.fixture
def spark(running: tuple[Cluster, Any]) -> Any:
    return running[1]


def rows_of(spark: Any, n: int) -> Any:
    """n rows that the executors make: two groups, labels, predictions, a score."""
    return spark.range(0, n, 1, 16).selectExpr(
        "CASE WHEN id % 5 < 2 THEN 'a' ELSE 'b' END AS g",
        "CAST(id % 7 < 3 AS INT) AS y",
        "CAST((id * 31) % 11 < 4 AS INT) AS hat",
        "((id * 7919) % 1000003) / 1000003.0D AS score",
    )


def same_in_numpy(n: int) -> pd.DataFrame:
    """The same rows."""
    i = np.arange(n)
    return pd.DataFrame(
        {
            "g": np.where(i % 5 < 2, "a", "b"),
            "y": (i % 7 < 3).astype(int),
            "hat": ((i * 31) % 11 < 4).astype(int),
            "score": ((i * 7919) % 1000003) / 1000003.0,
        }
    )


QUESTION = {"y_true": "y", "y_pred": "hat", "sensitive_features": "g"}


@pytest.mark.parametrize("shape", ["all parts", "weights, clusters, strata", "two models"])
def test_numbers_are_those_of_the_rows(spark, shape):
    frame = with_gaps(people(1, 1_200))
    options = {**SHAPES[shape], "missing": "drop"}
    same(fs.tally(spark.createDataFrame(frame), **options), fs.tally(frame, **options))


def test_an_audit_is_that_of_the_rows(spark):
    frame = people(2, 800)
    options = {
        **{
            k: v
            for k, v in SHAPES["all parts"].items()
            if k not in ("features", "counterfactual_score")
        }
    }
    rows, there = (
        fs.audit(t, **options, rng=1).to_frame() for t in (frame, spark.createDataFrame(frame))
    )
    pd.testing.assert_frame_equal(there, rows, rtol=1e-9)


def test_many_scores_between_edges_on_the_cluster(spark, monkeypatch):
    monkeypatch.setattr(parts, "MOST_EXACT", 1_000)
    n = 60_000
    options = {**QUESTION, "score": "score"}
    there = fs.tally(rows_of(spark, n), **options)
    rows = fs.tally(same_in_numpy(n), **options)
    assert there.histogram().lower is not None
    assert not there.histogram()._splits_interval(farey_edges())
    np.testing.assert_array_equal(fs.madd_curve(counts=there).madd, fs.madd_curve(counts=rows).madd)


def test_the_driver_is_sent_the_same_however_many_rows_there_are(spark, monkeypatch):
    from fairstats.ground.engines import table

    sizes: list[int] = []
    collected = table.collected
    monkeypatch.setattr(
        table, "collected", lambda query: sizes.append(len(found := collected(query))) or found
    )
    for n in (10**4, 10**7):
        assert fs.tally(rows_of(spark, n), **QUESTION).n == n
    assert sizes == [8, 8]


def test_a_job_that_fails_gives_the_cause(spark):
    broken = spark.range(100).selectExpr(
        "'a' AS g", "CAST(CASE WHEN id = 77 THEN 'one' ELSE '1' END AS INT) AS hat"
    )
    with pytest.raises(EngineError, match="engine pyspark failed: .*CAST_INVALID_INPUT.*'one'"):
        fs.tally(broken, y_pred="hat", sensitive_features="g")


def test_a_worker_killed_in_mid_job_changes_nothing(running):
    """It is killed when some tasks of the job have been done and others have not."""
    cluster, spark = running
    n = 4 * 10**7
    expected = fs.tally(rows_of(spark, n), **QUESTION)
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(lambda: fs.tally(rows_of(spark, n), **QUESTION))
        stage = _stage_under_way(spark, job)
        cluster.kill(cluster.workers[0])
        assert not job.done(), stage
        found = job.result(90)
    same(found, expected)
    cluster.add_workers(1)
    same(fs.tally(rows_of(spark, n), **QUESTION), expected)


def _stage_under_way(spark: Any, job: Future[Any]) -> Any:
    """The stage of a job that has done a task, but not all."""
    tracker = spark.sparkContext.statusTracker()
    while not job.done():
        for number in tracker.getActiveStageIds():
            stage = tracker.getStageInfo(number)
            if stage is not None and 1 <= stage.numCompletedTasks < stage.numTasks - 2:
                return stage
        time.sleep(0.01)
    raise TimeoutError("the job was done before a stage was seen at work")
