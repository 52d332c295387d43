"""The runner of the calibration table, and its page."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairstats as fs

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the folder of studies is no part of the package

from tests.calibration import __main__ as command  # noqa: E402
from tests.calibration import options, page  # noqa: E402
from tests.calibration.study import (  # noqa: E402
    RECORD,
    Cell,
    append_record,
    is_current,
    read_record,
    run_cell,
    seed_of,
)


def normal(rng: np.random.Generator, runs: int) -> dict[str, tuple[float, int]]:
    """Coverage of the normal mean, which is exactly .95."""
    z = rng.standard_normal(runs)
    return {"coverage": (float((abs(z) < 1.959964).sum()), runs), "answered": (runs, runs)}


def broken(rng: np.random.Generator, runs: int) -> dict[str, tuple[float, int]]:
    return {"coverage": (0.90 * runs, runs), "size": (0.2 * runs, runs)}


def failing(rng: np.random.Generator, runs: int) -> dict[str, tuple[float, int]]:
    raise ArithmeticError("no such law")


def slow(rng: np.random.Generator, runs: int) -> dict[str, tuple[float, int]]:
    time.sleep(60)
    return {}


CELLS = {
    cell.key: cell
    for cell in (
        Cell("rates", "mean()", "normal", normal),
        Cell("rates", "mean()", "broken", broken),
        Cell(
            "madd", "mean()", "known to be bad", broken, claim="fails", remark="Too short by half."
        ),
        Cell("um", "mean()", "no law", failing),
        Cell("hdr", "mean()", "asleep", slow),
    )
}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> dict[str, Cell]:
    monkeypatch.setattr(command, "cells", lambda: CELLS)
    return CELLS


def test_runs_what_is_lacking_and_names_what_was_not_run(
    few: dict[str, Cell], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "record.jsonl"
    started = time.monotonic()
    assert command.main(["--minutes", "0.05"], record=record) == 1  # one fails
    assert time.monotonic() - started < 30
    said = capsys.readouterr().out
    assert "ArithmeticError: no such law" in said
    assert "Not run (1):\n  hdr | mean() | asleep" in said
    assert set(read_record(record)) == {
        key for key in few if "law" not in key and "asleep" not in key
    }
    # the same seeds give the same counts, and nothing is run twice
    again = run_cell(few["rates | mean() | normal"])
    assert again["measures"] == read_record(record)["rates | mean() | normal"]["measures"]
    assert command.main(["rates", "--minutes", "1"], record=record) == 0
    assert capsys.readouterr().out == ""
    assert len(record.read_text(encoding="utf-8").splitlines()) == 3
    assert command.main(["rates", "--minutes", "1", "--again"], record=record) == 0
    assert len(record.read_text(encoding="utf-8").splitlines()) == 5  # every run stays


def test_a_killed_run_is_resumed(few: dict[str, Cell], tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    append_record(run_cell(few["rates | mean() | normal"]), record)
    with record.open("a", encoding="utf-8") as file:
        file.write('{"key": "rates | mean() | bro')  # killed while it wrote
    assert command.lacking(few, read_record(record), ["rates"]) == ["rates | mean() | broken"]
    append_record(run_cell(few["rates | mean() | broken"]), record)
    assert command.lacking(few, read_record(record), ["rates"]) == []
    # more samples than the record has are wanted
    assert len(command.lacking(few, read_record(record), ["rates"], runs=5_000)) == 2


def test_rooms_take_turns() -> None:
    cells = {
        c.key: c
        for c in (Cell(room, "f()", str(k), normal) for room in ("rates", "um") for k in range(3))
    }
    assert [key.split(" | ")[0] for key in command.lacking(cells, {})] == ["rates", "um"] * 3
    # what has some samples waits for what has none
    assert command.lacking(cells, {"rates | f() | 0": {"runs": 10}})[-1] == "rates | f() | 0"


def test_page_shows_what_the_record_has(few: dict[str, Cell], tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    for key in (
        "rates | mean() | normal",
        "rates | mean() | broken",
        "madd | mean() | known to be bad",
    ):
        append_record(run_cell(few[key], runs=40_000), record)
    text = page.page(few, read_record(record))
    good, bad = (line for line in text.splitlines() if "| normal |" in line or "| broken |" in line)
    assert "| .949 ± .001 |" in good  # .95 but for the seed
    assert "| 1.000 |" in good
    assert "✗" not in good
    assert "| .900 ± .001 " in bad
    assert "✗ coverage, size" in bad
    for said in ("fails [1]", "[1] Too short by half.", "Not run: `mean()` (asleep)"):
        assert said in text
    assert "| all | 5 | 1 | 1 | 1 | 0 | 2 |" in text
    assert "| ratios, differences, gaps of two groups | 102,240 settings by enumeration" in text


def test_a_claim_needs_enough_samples_of_the_procedure_of_today(
    few: dict[str, Cell], tmp_path: Path
) -> None:
    """The third state: neither twenty samples nor those of a former procedure show anything."""
    cell = few["rates | mean() | normal"]
    for runs, state in ((20, "not shown"), (1_500, "not shown"), (2_000, "shown")):
        line = {**run_cell(cell, runs=runs), "measures": {"coverage": [0.95 * runs, runs]}}
        assert page.state(cell, line) == state
    line = run_cell(cell, runs=40_000)
    assert page.state(cell, line) == "shown"
    newer = dataclasses.replace(cell, version="2")
    assert page.state(newer, line) == "not shown"
    assert page.mark(newer, line) == "not shown: the method has changed since"
    assert page.state(newer, run_cell(newer, runs=40_000)) == "shown"
    assert page.state(cell, None) == "not run"
    # a line without a version is of the first one
    del line["version"]
    assert page.state(cell, line) == "shown"
    assert command.lacking({newer.key: newer}, {newer.key: line}) == [newer.key]
    text = page.page({newer.key: newer}, {newer.key: line})
    (row,) = [row for row in text.splitlines() if "| normal |" in row]
    assert ".95" not in row
    assert "| all | 1 | 0 | 0 | 0 | 1 | 0 |" in text


def test_slow_samples_may_be_fewer() -> None:
    """An error of .01 where a sample takes a second, 500 samples; enumerated cells have none."""
    cell = Cell("rates", "f()", "x", normal)
    line: dict[str, Any] = {
        "exact": False,
        "runs": 600,
        "seconds": 5.0,
        "measures": {"size": [30, 600]},
    }
    assert page.state(cell, line) == "not shown"
    assert page.state(cell, {**line, "seconds": 700.0}) == "shown"
    assert (
        page.state(cell, {**line, "runs": 300, "measures": {"size": [15, 300]}, "seconds": 700.0})
        == "not shown"
    )
    assert page.state(cell, {**line, "exact": True}) == "shown"
    # a miss is a miss, however few saw it
    assert page.state(cell, {**line, "measures": {"size": [90, 600]}}) == "outside"


@pytest.mark.parametrize(
    ("claim", "count", "wrong"),
    [
        ("valid", 3900, True),
        ("conservative", 3990, False),
        ("valid", 3700, True),
        ("valid", 3720, False),
    ],
)
def test_a_cell_misses_its_claim_by_two_errors(claim: str, count: int, wrong: bool) -> None:
    cell = Cell("rates", "f()", "x", normal, claim=claim)
    line: dict[str, Any] = {
        "exact": False,
        "runs": 4000,
        "seconds": 1.0,
        "measures": {"coverage": [count, 4000]},
    }
    value = count / 4000
    error = (count / 4000 * (1 - count / 4000) / 4000) ** 0.5
    outside = value < 0.935 - 2 * error or (claim == "valid" and value > 0.965 + 2 * error)
    assert outside == wrong == bool(page.misses(cell, line))


def test_the_page_names_public_methods_without_a_cell(few: dict[str, Cell]) -> None:
    public = page.public_methods()
    assert {"disparate_impact", "madd", "um_posterior", "hdr", "evt.fit_gpd", "ecd"} <= set(public)
    assert {"balanced_accuracy_difference", "false_omission_rate_difference"} <= set(public)
    assert not {"doctor", "tally", "set_distance"} & set(public)
    named = {**few, "x": Cell("rates", "disparate_impact(method='score')", "y", normal)}
    assert set(public) - set(page.without_cells(named)) == {"disparate_impact", *page.EXCEPTIONS}
    text = page.page(named, {})
    assert "Nothing was simulated for" in text
    assert all(f"`{name}`" in text for name in page.without_cells(named))


def test_every_public_interval_and_test_has_a_cell() -> None:
    """Derived from the public names and the registry.

    A new method needs a cell, or a reason why not.
    """
    cells = command.cells()
    assert page.without_cells(cells) == []
    assert all(len(reason) > 20 for reason in page.EXCEPTIONS.values())
    assert set(page.EXCEPTIONS) <= set(page.public_methods())  # none is out of date
    assert "`audit` calls the methods below" in page.page(cells, {})


def test_every_option_of_tails_regions_and_posteriors_has_a_cell_or_a_reason() -> None:
    """And no reason is left of an option, or of a cell, that is gone."""
    cells = command.cells()
    assert options.unshown(cells) == []
    assert options.idle(cells) == []


def test_an_option_without_a_cell_is_found() -> None:
    """Without the cells of `ecd` what they take is missing; choices come from the docstring."""
    others = {key: cell for key, cell in command.cells().items() if "ecd" not in cell.method}
    missing = {option.name for option in options.unshown(others) if option.function == "ecd"}
    assert {"calibrated=False", "threshold=forward_stop", "interactions", "margin"} <= missing
    assert "location=paper" in options.options_of(fs.ecd)
    assert "level=in_sample" in options.options_of(fs.hdr)


def test_a_cell_takes_as_many_samples_as_there_is_time_for() -> None:
    """By the time of a few samples, whose number alone it decides.

    An enumerated cell is never cut.
    """

    def dear(rng: np.random.Generator, runs: int) -> dict[str, tuple[float, int]]:
        until = time.process_time() + 0.001 * runs
        while time.process_time() < until:
            rng.random(100)
        return {"size": (0, runs)}

    cell = Cell("rates", "f()", "dear", dear)
    assert 20 <= run_cell(cell, seconds=0.2)["runs"] < 400
    assert run_cell(cell, runs=30)["runs"] == 30
    assert run_cell(Cell("rates", "f()", "cheap", normal), seconds=0.2)["runs"] == 4_000
    assert run_cell(Cell("rates", "f()", "exact", normal, exact=True), seconds=0.0)["runs"] == 4_000


def test_seeds_come_from_names() -> None:
    assert seed_of("a") == seed_of("a") != seed_of("b")


def test_the_cells_of_all_rooms_can_be_listed() -> None:
    code = "import tests.calibration.__main__ as c; print(len(c.cells()))"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 0


@pytest.mark.skipif(
    not (RECORD.is_file() and page.PAGE.is_file()), reason="the table was not run yet"
)
def test_the_page_is_what_the_record_gives() -> None:
    cells = command.cells()
    record = read_record()
    assert page.PAGE.read_text(encoding="utf-8") == page.page(cells, record)
    assert all(json.loads(line)["seed"] == seed_of(json.loads(line)["key"]) for line in _lines())


#: Setting of the peers → cells of ours, of the ratio and of the difference.
PEERS = {
    f"{sizes} rows, rates {first} and {second}": (
        f"{sizes} rows, rate {first}, ratio {ratio}",
        f"{sizes} rows, rate {first}, difference {difference}",
    )
    for sizes, first, second, ratio, difference in (
        ("100 and 100", "0.5", "0.5", "1", "0"),
        ("100 and 100", "0.5", "0.4", "0.8", "-0.1"),
        ("2,000 and 40", "0.5", "0.5", "1", "0"),
        ("2,000 and 40", "0.5", "0.4", "0.8", "-0.1"),
        ("2,000 and 40", "0.95", "0.76", "0.8", "-0.19"),
    )
}


def compared_rows() -> list[str]:
    """The table of `vignettes/comparison.md`, from the record."""
    known = command.cells()
    record = read_record()

    def share(key: str) -> str:
        if key not in known or not is_current(known[key], record.get(key)):
            return "–"
        return str(page.shares(record[key])["coverage"])

    rows = []
    for setting, (ratio, difference) in PEERS.items():
        sizes, rates = setting.split(" rows, rates ")
        cells = [
            f"peers | fairlearn: MetricFrame(n_boot=200).ratio_ci() | {setting}",
            f"rates | disparate_impact(): interval and tests | {ratio}",
            f"peers | fairlearn: MetricFrame(n_boot=200).difference_ci() | {setting}",
            f"rates | demographic_parity_difference(): interval and tests | {difference}",
        ]
        rows.append(f"| {sizes} | {rates} | {' | '.join(map(share, cells))} |")
    return rows


@pytest.mark.skipif(not RECORD.is_file(), reason="the table was not run yet")
def test_the_comparison_shows_what_the_record_has() -> None:
    text = (page.PAGE.parent / "comparison.md").read_text(encoding="utf-8")
    shown = [line for line in text.splitlines() if line.startswith(("| 100 and", "| 2,000 and"))]
    assert shown == compared_rows()
    assert "–" not in "".join(shown[:4])


def _lines() -> list[str]:
    return [line for line in RECORD.read_text(encoding="utf-8").splitlines() if line]
