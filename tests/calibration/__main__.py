"""Run the cells that the record lacks, and write the page.

A run can be stopped or killed at any time: each cell is appended to the record as soon as it is
there, and the next run goes on with what is missing. Nothing runs longer than was allowed; what was
not run is named."""

from __future__ import annotations

import argparse
import importlib
import itertools
import math
import multiprocessing
import os
import pkgutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import tests.calibration as studies
from tests.calibration.page import summary_line, write_page
from tests.calibration.study import RECORD, Cell, append_record, is_current, read_record, run_cell


@cache
def cells() -> dict[str, Cell]:
    """Every cell of the modules of this folder, by its key."""
    found: dict[str, Cell] = {}
    for module in sorted(pkgutil.iter_modules(studies.__path__), key=lambda m: m.name):
        if module.name.startswith("_"):
            continue
        loaded = importlib.import_module(f"{studies.__name__}.{module.name}")
        for cell in getattr(loaded, "CELLS", ()):
            if not isinstance(cell, Cell):  # another list of that name
                continue
            if cell.key in found:
                raise ValueError(f"two cells with the key {cell.key!r}")
            found[cell.key] = cell
    return found


def lacking(
    known: Mapping[str, Cell],
    record: Mapping[str, Any],
    patterns: Sequence[str] = (),
    runs: int | None = None,
) -> list[str]:
    """Keys of the cells that hold every pattern's words and have fewer runs in the record than
    wanted.

    What was never run comes first, and the rooms take turns, so that a run that is stopped has done
    something for each."""
    rooms: dict[tuple[bool, str], list[str]] = {}
    for key, cell in known.items():
        if patterns and not any(p.lower() in key.lower() for p in patterns):
            continue
        done = record.get(key, {})
        if not is_current(cell, done):
            done = {}
        if not (cell.exact and done) and done.get("runs", 0) < (runs or cell.runs):
            rooms.setdefault((bool(done), cell.room), []).append(key)
    parts = [
        [keys for (done, _), keys in rooms.items() if done == again] for again in (False, True)
    ]
    turns = itertools.chain.from_iterable(itertools.zip_longest(*part) for part in parts)
    return [key for turn in turns for key in turn if key is not None]


def _work(task: tuple[str, int | None, float]) -> tuple[str, dict[str, Any] | str]:
    """In a worker: a cell's line of the record, or what went wrong."""
    key, runs, most = task
    try:
        return key, run_cell(cells()[key], runs=runs, seconds=most)
    except Exception as problem:  # noqa: BLE001 - a cell that fails must not end the others
        return key, f"{type(problem).__name__}: {problem}"


def results(
    keys: Sequence[str], runs: int | None, workers: int, seconds: float, most: float = math.inf
) -> Iterator[tuple[str, dict[str, Any] | str]]:
    """Cells as they get ready; at the end of the time what still runs is ended."""
    until = time.monotonic() + seconds
    with multiprocessing.get_context("fork").Pool(
        workers
    ) as pool:  # leaving the block ends the workers
        ready = pool.imap_unordered(_work, [(key, runs, most) for key in keys])
        for _ in keys:
            try:
                yield ready.next(timeout=max(until - time.monotonic(), 0.001))
            except multiprocessing.TimeoutError:
                return


def main(
    arguments: Sequence[str] | None = None, *, record: Path = RECORD, page: Path | None = None
) -> int:
    """Parse the command line, run, record, report."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.calibration", description=studies.__doc__
    )
    parser.add_argument("pattern", nargs="*", help="part of a cell's key; none: all cells")
    parser.add_argument(
        "--runs", type=int, help="samples per cell in place of each cell's own number"
    )
    parser.add_argument(
        "--minutes", type=float, default=480.0, help="stop after so long (default 480)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=math.inf,
        help="fewer samples where a cell would take longer",
    )
    parser.add_argument(
        "--workers", type=int, default=min(2, os.cpu_count() or 1), help="processes (default 2)"
    )
    parser.add_argument(
        "--again", action="store_true", help="also cells of the record: a method has changed"
    )
    parser.add_argument("--page", action="store_true", help="write the page of everything recorded")
    options = parser.parse_args(arguments)
    known = {} if options.again else read_record(record)
    keys = lacking(cells(), known, options.pattern, options.runs)
    done = set()
    failed = {}
    if keys and options.minutes > 0:
        for key, line in results(
            keys, options.runs, options.workers, 60 * options.minutes, options.seconds
        ):
            done.add(key)
            if isinstance(line, str):
                failed[key] = line
                said = line
            else:
                append_record(line, record)
                said = summary_line(cells()[key], line)
            sys.stdout.write(f"{len(done)}/{len(keys)}  {key}: {said}\n")
            sys.stdout.flush()
    left = [key for key in keys if key not in done]
    for title, names in (
        ("Failed", [f"{k}: {why}" for k, why in failed.items()]),
        ("Not run", left),
    ):
        if names:
            sys.stdout.write(
                "\n".join([f"{title} ({len(names)}):", *(f"  {name}" for name in names), ""])
            )
    if options.page:
        sys.stdout.write(f"Written: {write_page(cells(), read_record(record), page)}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
