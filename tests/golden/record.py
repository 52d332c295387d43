"""Record the golden file: ``python -m tests.golden.record OUT [--only PATTERN …] [--adapter
FILE]``.

With ``--only`` the other cases of OUT stay as they are. ``--adapter`` names a file with a function
``translate(name, function, options)`` that turns today's arguments into those of the code on the
path."""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import math
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import fairstats as fs
from fairstats.numerics.rates import exact_table
from tests.golden.api import install_translation
from tests.golden.cases import Case, load_cases, run
from tests.golden.plain import flatten

__all__ = ["load", "main"]


def load(path: Path) -> dict[str, Any]:
    """The recorded cases."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def _write(path: Path, cases: Mapping[str, Any]) -> None:
    text = json.dumps(
        dict(sorted(cases.items())), allow_nan=False, ensure_ascii=False, separators=(",", ":")
    )
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(text.encode())


def _record(case: Case) -> dict[str, Any]:
    first = run(case)
    found: dict[str, Any] = {"kind": case.kind, **first}
    if case.kind == "seeded" and case.repeats > 1:
        runs = [first, *(run(case, seed) for seed in range(2, case.repeats + 1))]
        found["spread"] = _spread([flatten(r) for r in runs])
    return found


def _spread(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What varies over seeds: mean, standard deviation and number of runs, or the mark that it
    varies.
    """
    spread: dict[str, Any] = {}
    for path in dict.fromkeys(p for r in runs for p in r):
        values = [r.get(path) for r in runs]
        if all(v == values[0] for v in values):
            continue
        if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
            mean = statistics.fmean(values)
            sd = statistics.stdev(values)
            digits = 4 - math.floor(math.log10(sd)) if sd > 0 else 20
            spread[path] = [round(mean, digits), round(sd, digits), len(values)]
        else:
            spread[path] = {}
            above = path
            while above and any(path not in r for r in runs):  # parts that not every run has
                above = above.rpartition("/")[0]
                spread.setdefault(above, {})
    return spread


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every case, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", default=["*"])
    parser.add_argument("--adapter", type=Path)
    options = parser.parse_args(arguments)
    if options.adapter is not None:
        spec = importlib.util.spec_from_file_location("golden_adapter", options.adapter)
        if spec is None or spec.loader is None:
            parser.error(f"{options.adapter} is no Python file")
        adapter = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(adapter)
        install_translation(adapter.translate)
    # as in the tests: loops agree to rounding only
    exact_table._BEFORE_LOOPS = math.inf
    chosen = [c for c in load_cases().values() if any(fnmatchcase(c.name, p) for p in options.only)]
    sys.stderr.write(f"{len(chosen)} cases with fairstats from {fs.__file__}\n")
    kept = load(options.out) if options.only != ["*"] and options.out.exists() else {}
    failed = 0
    for case in chosen:
        start = time.perf_counter()
        try:
            kept[case.name] = _record(case)
        except Exception as problem:  # noqa: BLE001 - say all that fail, at once
            failed += 1
            sys.stderr.write(f"{case.name}: {type(problem).__name__}: {problem}\n")
        seconds = (time.perf_counter() - start) / case.repeats
        if seconds > 1:
            sys.stderr.write(f"{case.name}: {seconds:.1f} s a run\n")
    _write(options.out, kept)
    return min(failed, 1)


if __name__ == "__main__":
    raise SystemExit(main())
