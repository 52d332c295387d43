"""CPU seconds and memory of audits of a Parquet file of 10⁷ rows, by engine.

`auto` beside `duckdb` and `rows`.

    python -m tests.benchmarks.files_scale [ROWS]

Each engine runs in a process of its own by the command line; the figures are of the child alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

ARGUMENTS = (
    "--y-true",
    "y",
    "--y-pred",
    "hat",
    "--score",
    "score",
    "--group",
    "sex",
    "--pos-label",
    "1",
)


def write_rows(path: Path, n: int) -> None:
    """Rows with a score of many values."""
    rng = np.random.default_rng(1)
    sex = rng.choice(["f", "m"], n)
    score = rng.beta(2, 3, n)
    frame = {
        "sex": sex,
        "y": (rng.random(n) < score).astype(np.int64),
        "hat": (score > 0.4).astype(np.int64),
        "score": score,
    }
    pd.DataFrame(frame).to_parquet(path, index=False)


def measured(path: Path, engine: str) -> dict[str, float | str]:
    """CPU seconds, seconds and the largest memory of one audit."""
    code = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
        "use = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(done.returncode, use.ru_utime + use.ru_stime, use.ru_maxrss)\n"
    )
    command = [
        sys.executable,
        "-m",
        "fairstats",
        "audit",
        str(path),
        *ARGUMENTS,
        "--engine",
        engine,
    ]
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, check=True
    )
    exit_code, cpu, memory = done.stdout.split()
    return {
        "engine": engine,
        "exit": exit_code,
        "cpu_seconds": round(float(cpu), 1),
        "seconds": round(time.perf_counter() - started, 1),
        "memory_gb": round(int(memory) / 1e6, 2),
    }


def main() -> None:
    """Measure and print."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_rows(path, n)
        for engine in ("duckdb", "auto", "rows"):
            sys.stdout.write(json.dumps(measured(path, engine)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
