"""Tallies of 10⁸ rows by one Spark worker and by two.

Seconds of the clock, and of the workers' processors.

`python -m tests.benchmarks.spark_scale FOLDER [1e8]` writes a line per measurement to
`spark_scale.jsonl` in FOLDER; what is there is not repeated. It reads the Parquet file of
`engines_scale`. Workers have a core each, so that on a machine that others use two of them may have
no more of it than one."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import fairstats as fs
from tests.benchmarks.engines_scale import LABELS, SCORES, made
from tests.ground.engines.cluster import Cluster, spark_cluster

TALLIES = {"labels": LABELS, "scores": SCORES}


def processor_seconds(cluster: Cluster) -> float:
    """Of all processes of the workers: each worker leads a group, in which its executors are."""
    groups = {worker.pid for worker in cluster.workers}
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[2]) in groups:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def main(folder: Path, n: int) -> None:
    """Measure what has not been measured, each after a run on a million rows, which compiles."""
    path = made(folder, n)
    results = folder / "spark_scale.jsonl"
    done = (
        [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    )
    for workers in (1, 2):
        todo = {
            what: options
            for what, options in TALLIES.items()
            if not any(
                (line["n"], line["workers"], line["what"]) == (n, workers, what) for line in done
            )
        }
        if not todo:
            continue
        with spark_cluster(workers) as (cluster, session):
            table = session.read.parquet(str(path))
            for what, options in todo.items():
                fs.tally(table.limit(10**6), **options)
                line: dict[str, Any] = {"n": n, "workers": workers, "what": what}
                start = time.perf_counter()
                cpu = processor_seconds(cluster)
                fs.tally(table, **options)
                line["seconds"] = round(time.perf_counter() - start, 2)
                line["cpu"] = round(processor_seconds(cluster) - cpu, 2)
                line["load"] = os.getloadavg()[0]
                with results.open("a") as file:
                    file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(float(sys.argv[2])) if len(sys.argv) > 2 else 10**8)
