"""A tally of a DuckDB table beside DuckDB's own grouping of the same columns, in the same run.

`python -m pytest --benchmark-only tests/benchmarks/test_engines.py`; 10⁸ rows are in
`engines_scale`."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import fairstats as fs
from tests.benchmarks.engines_scale import LABELS, MEASURED, SCORES, made

pytest.importorskip("duckdb")
N = 3_000_000
#: Most times of DuckDB's own query.
MOST = 3.0


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("engines"), N)


@pytest.mark.parametrize(
    ("own", "options", "fixed"),
    [
        ("labels, DuckDB's group by", LABELS, 0.15),
        ("scores, DuckDB's histogram of 2^16 cells", SCORES, 0.6),
    ],
    ids=["labels", "scores"],
)
def test_a_tally_beside_the_engines_own_query(benchmark, table, own, options, fixed):
    """Processor seconds, the least of three runs of each: at most three times, and a fixed part.

    That part is what any number of rows takes: narwhals' plans; of scores a count per interval and
    group."""
    from fairstats import read_table

    def seconds(run) -> float:
        start = time.process_time()
        run()
        return time.process_time() - start

    pairs = [
        (
            seconds(lambda: MEASURED[own](table)),
            seconds(lambda: fs.tally(read_table(table, engine="duckdb"), **options)),
        )
        for _ in range(3)
    ]
    theirs, ours = (min(column) for column in zip(*pairs, strict=True))
    counted = benchmark.pedantic(
        lambda: fs.tally(read_table(table, engine="duckdb"), **options), rounds=3
    )
    benchmark.extra_info.update(rows=N, cpu=ours, cpu_of_duckdb=theirs)
    assert counted.n == N
    assert ours <= MOST * theirs + fixed
