"""Time and memory of tallies of Parquet files, beside what DuckDB's own queries take on them.

`python -m tests.benchmarks.engines_scale FOLDER 1e7 [1e8 1e9]` writes a line per measurement to
`engines_scale.jsonl` in FOLDER, each made in a process of its own; what is there is not repeated,
neither measurements nor files: tables of more than 10⁸ rows are folders of files of 10⁸. On a
machine that others use, compare `cpu`: seconds of all threads."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TABLE = """
COPY (
    SELECT CASE WHEN random() < 0.45 THEN 'f' ELSE 'm' END AS sex,
           ['A', 'B', 'C'][1 + CAST(floor(random() * 3) AS INT)] AS race,
           CAST(random() < 0.4 AS TINYINT) AS y, CAST(random() < 0.35 AS TINYINT) AS hat, random() AS score
    FROM range({n})
) TO '{path}' (FORMAT parquet, COMPRESSION zstd)
"""
#: Rows of one file at most.
MOST_IN_FILE = 10**8
LABELS = {"y_true": "y", "y_pred": "hat", "sensitive_features": ("sex", "race")}
SCORES = {**LABELS, "score": "score"}


def _own(query: str) -> Callable[[Path], Any]:
    def run(path: Path) -> Any:
        import duckdb

        return duckdb.sql(query.format(path=path)).fetchall()

    return run


def _tally(options: dict[str, Any]) -> Callable[[Path], Any]:
    def run(path: Path) -> Any:
        import fairstats as fs
        from fairstats import read_table

        return fs.tally(read_table(path, engine="duckdb"), **options)

    return run


MEASURED: dict[str, Callable[[Path], Any]] = {
    "labels, DuckDB's group by": _own(
        "SELECT sex, race, y, hat, count(*) FROM read_parquet('{path}') GROUP BY ALL"
    ),
    "labels, tally": _tally(LABELS),
    "scores, DuckDB's histogram of 2^16 cells": _own(
        "SELECT sex, race, y, CAST(floor(score * 65536) AS INT) AS cell, count(*) "
        "FROM read_parquet('{path}') GROUP BY ALL"
    ),
    "scores, tally": _tally(SCORES),
    # so few counts that 10⁷ rows fill nearly all of them: memory without the growth of the answer
    "scores of two groups without labels, tally": _tally(
        {"score": "score", "sensitive_features": "sex"}
    ),
}


def made(folder: Path, n: int) -> Path:
    """The Parquet file of n rows, or the glob of its parts, made where it is not there."""
    import duckdb

    if n <= MOST_IN_FILE:
        files = [path := folder / f"people-{n}.parquet"]
    else:
        path = folder / f"people-{n}" / "*.parquet"
        path.parent.mkdir(exist_ok=True)
        files = [path.with_name(f"part-{k}.parquet") for k in range(n // MOST_IN_FILE)]
    for file in files:
        if not file.exists():
            part = file.with_suffix(".part")  # half a file is none
            with duckdb.connect(config={"preserve_insertion_order": False}) as connection:
                connection.sql(TABLE.format(n=min(n, MOST_IN_FILE), path=part))
            part.rename(file)
    return path


def measure(name: str, path: Path) -> dict[str, Any]:
    """Seconds of the second of two runs (the first warms the file cache), and of an audit of the
    tally.

    Of a folder those of one run, which takes minutes.
    """
    run = MEASURED[name]
    if path.is_file():
        run(path)
    found, line = timed(lambda: run(path))
    line = {"what": name, **line}
    line["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10)
    if name in ("labels, tally", "scores, tally"):
        import warnings

        import fairstats as fs

        warnings.simplefilter("ignore")
        for when in ("audit", "second audit"):  # the first one imports what it needs
            _, own = timed(lambda: fs.audit(found, rng=1))
            line |= {f"{when}, {key}": value for key, value in own.items()}
        line["rows"] = found.n
        line["peak_mb_of_audit"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10)
    return line


def timed(run: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    """What a function returns, and its seconds: of the clock, and of all threads."""
    start = time.perf_counter()
    cpu = time.process_time()
    found = run()
    return found, {
        "seconds": round(time.perf_counter() - start, 2),
        "cpu": round(time.process_time() - cpu, 2),
    }


def main(folder: Path, sizes: list[int]) -> None:
    """Measure what has not been measured."""
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / "engines_scale.jsonl"
    done = (
        [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    )
    for n in sizes:
        path = made(folder, n)
        for name in MEASURED:
            if any(line["what"] == name and line["n"] == n for line in done):
                continue
            command = [
                sys.executable,
                "-m",
                "tests.benchmarks.engines_scale",
                "--one",
                name,
                str(path),
            ]
            answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            with results.open("a") as file:
                file.write(json.dumps({"n": n, **json.loads(answer)}) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        sys.stdout.write(json.dumps(measure(sys.argv[2], Path(sys.argv[3]))))
    else:
        main(Path(sys.argv[1]), [int(float(size)) for size in sys.argv[2:]])
