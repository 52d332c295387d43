"""`replication`: which printed results of the five papers hold."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, Final

from fairstats._version import __version__
from fairstats.ground.checks import check_choice, check_flag
from fairstats.ground.errors import FairstatsWarning
from fairstats.ground.progress import each_of
from fairstats.report.replication.items import PAPERS, Item, Outcome, read_items
from fairstats.report.replication.table import Record, Replication, ReplicationRow

#: Paper → the modules that compute its items, one where nothing stands.
_PARTS: Final = {
    "verger": ("verger", "verger_appendix"),
    "bian": ("bian", "bian_tables"),
    "barrainkua": ("barrainkua", "barrainkua_appendix"),
    "monjezi": ("monjezi", "monjezi_tables"),
}
#: A computation: the outcome of every number of an item.
Computation = Callable[[], Mapping[str, Outcome]]


def replication(*, paper: str | None = None, run: bool = False) -> Replication:
    """Which printed results of the five papers hold, item by item.

    A row for each table, figure, theorem, algorithm and claim: what is printed, what comes out here
    with its interval, the verdict and its reason, the data and their licence, the command that
    recomputes it and the seconds that this takes.

    Parameters
    ----------
    paper : {None, "besse", "verger", "bian", "barrainkua", "monjezi"}
        One paper, by its first author; by default all five.
    run : bool, default False
        Recompute what the data that travel with the package allow (a minute for all papers).
        Otherwise every row is read from the record that came with this version, as are those that
        rest on a study of hours or on data that you must fetch yourself.

    Returns
    -------
    Replication
        Prints as a table; ``to_frame()`` has a row per item, ``numbers()`` one per number.

    Raises
    ------
    InputError
        If `paper` is none of the five.

    Notes
    -----
    A verdict is "holds", "holds within printed rounding" (less than one unit of the last printed
    digit away), "does not hold" or "cannot be decided". An item is judged by the worst of its
    numbers, and says how many of them hold. What the papers print stands in
    ``fairstats/report/replication/papers``; the record is written by ``python -m
    tests.benchmarks.replication`` and holds no number that a script in the source tree does not
    compute.

    Examples
    --------
    >>> import fairstats as fs
    >>> besse = fs.replication(paper="besse")
    >>> besse["german-credit"].verdict
    'holds within printed rounding'
    """
    check_flag("run", run)
    check_choice("paper", paper, (None, *PAPERS))
    chosen = tuple(PAPERS) if paper is None else (paper,)
    items: list[Item] = []
    for name in chosen:
        items += read_items(name)
    rows = []
    for item in each_of(items, "results of the papers"):
        rows.append(_make_row(item, run=run))
    return Replication(rows=tuple(rows), recomputed=run, version=_records()["version"])


def _make_row(item: Item, *, run: bool) -> ReplicationRow:
    if run and item.key in computations(item.paper):
        record = compute_record(item)
    else:
        record = read_record(item.key)
    return ReplicationRow(item=item, record=record)


def computations(paper: str) -> Mapping[str, Computation]:
    """Key of an item → what computes it from data that travel with the package."""
    made: dict[str, Computation] = {}
    for part in _PARTS.get(paper, (paper,)):
        module = import_module(f"fairstats.report.replication.{part}")
        made |= module.COMPUTATIONS
    return made


def compute_record(item: Item) -> Record:
    """Compute an item anew; what the data warn of is known to the item's reason."""
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairstatsWarning)
        outcomes = computations(item.paper)[item.key]()
    return Record(
        outcomes=outcomes,
        seconds=time.perf_counter() - started,
        source=f"computed by fairstats {__version__}",
    )


def read_record(key: str) -> Record:
    """The recorded outcomes of an item; none where there is no record."""
    record = _records()["items"].get(key)
    if record is None:
        return Record(outcomes={}, seconds=float("nan"), source="")
    outcomes = {name: _read_outcome(values) for name, values in record["numbers"].items()}
    return Record(outcomes=outcomes, seconds=record["seconds"], source=record["source"])


def _read_outcome(values: list[Any]) -> Outcome:
    """What is missing stands as null in the record."""
    present: list[Any] = []
    for value in values:
        present.append(float("nan") if value is None else value)
    return Outcome(*present)


@cache
def _records() -> dict[str, Any]:
    text = files("fairstats.report.replication").joinpath("records.json").read_text("utf-8")
    records: dict[str, Any] = json.loads(text)
    return records
