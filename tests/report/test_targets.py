"""The command line and files.

Nothing is lost, every fault is one line and found before the work.
"""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import fairstats as fs

pytest.importorskip("typer")
pytest.importorskip("rich")

from typer.testing import CliRunner

from fairstats.cli import app as cli
from fairstats.ground.outputs import Outputs
from fairstats.ground.writing import HTML, JSON

COLUMNS = ("--y-true", "y", "--y-pred", "hat", "--group", "sex")


def run(*arguments: Any, given: bytes | None = None) -> Any:
    return CliRunner().invoke(cli.app, [str(a) for a in arguments], input=given)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A file of 40 people."""
    path = tmp_path / "people.csv"
    table = {"sex": ["f", "m"] * 20, "y": [0, 1, 1, 0] * 10, "hat": [0, 0, 1, 1, 1] * 8}
    pd.DataFrame(table).to_csv(path, index=False)
    return path


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """An audit, a tally or a cross-check that begins is a failure."""

    def begun(*given: Any, **more: Any) -> None:
        pytest.fail("the work began")

    for name in ("report.audit.audit", "ground.tally.tally", "report.crosscheck.run.crosscheck"):
        monkeypatch.setattr(f"fairstats.{name}", begun)


#: Arguments (FILE is the table, HERE its folder) and what the one line says.
FAULTS = {
    "over the input": (("audit", "FILE", *COLUMNS, "--out", "FILE"), "--out", "which is read here"),
    "JSON over the input": (
        ("audit", "FILE", *COLUMNS, "--json", "FILE"),
        "--json",
        "which is read here",
    ),
    "over the input by another path": (
        ("audit", "FILE", *COLUMNS, "--out", "HERE/../HERE.NAME/people.csv"),
        "--out",
        "which is read here",
    ),
    "over the input by a link": (
        ("audit", "FILE", *COLUMNS, "--out", "HERE/link.html"),
        "--out",
        "which is read here",
    ),
    "over the input by a hard link": (
        ("tally", "FILE", *COLUMNS, "--out", "HERE/hard.json"),
        "--out",
        "which is read here",
    ),
    "tally over its input": (
        ("tally", "FILE", *COLUMNS, "--out", "FILE"),
        "--out",
        "which is read here",
    ),
    "over a file of the folder that is read": (
        ("tally", "HERE", *COLUMNS, "--out", "FILE"),
        "--out",
        "which is read here",
    ),
    "over a file of the glob": (
        ("tally", "HERE/*.csv", *COLUMNS, "--out", "FILE"),
        "--out",
        "which is read here",
    ),
    "the page over the report": (
        ("crosscheck", "FILE", "--out", "FILE"),
        "--out",
        "which is read here",
    ),
    "the page over the data": (
        ("crosscheck", "HERE/r.json", "--data", "FILE", "--out", "FILE"),
        "--out",
        "which is read here",
    ),
    "both to one file": (
        ("audit", "FILE", *COLUMNS, "--out", "HERE/r.html", "--json", "HERE/./r.html"),
        "--json",
        "where --out writes",
    ),
    "both to standard output": (
        ("audit", "FILE", *COLUMNS, "--out", "-", "--json", "-"),
        "--json",
        "where --out writes",
    ),
    "demo to one file": (
        ("demo", "--out", "HERE/r.html", "--json", "HERE/r.html"),
        "--json",
        "where --out writes",
    ),
    "no such folder": (
        ("audit", "FILE", *COLUMNS, "--out", "HERE/no/r.html"),
        "--out",
        "cannot be written",
    ),
    "a folder": (("audit", "FILE", *COLUMNS, "--json", "HERE"), "--json", "cannot be written"),
    "below a file": (
        ("tally", "FILE", *COLUMNS, "--out", "FILE/t.json"),
        "--out",
        "cannot be written",
    ),
    "too long a name": (
        ("tally", "FILE", *COLUMNS, "--out", "HERE/" + "x" * 300 + ".json"),
        "--out",
        "cannot be written",
    ),
}


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("case", FAULTS)
def test_a_place_that_cannot_be_is_found_before_the_work(people: Path, case: str) -> None:
    (people.parent / "link.html").symlink_to(people)
    os.link(people, people.parent / "hard.json")
    (people.parent / "r.json").write_text("{}", encoding="utf-8")
    before = {path.name: path.read_bytes() for path in people.parent.iterdir()}
    arguments, option, said = FAULTS[case]
    places = {"HERE.NAME": people.parent.name, "HERE": str(people.parent), "FILE": str(people)}
    for mark, place in places.items():
        arguments = tuple(a.replace(mark, place) if mark in a else a for a in arguments)
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith(f"fairstats: `{option}`")
    assert said in done.stderr
    assert {path.name: path.read_bytes() for path in people.parent.iterdir()} == before


def test_places_that_can_be_leave_nothing_behind(people: Path) -> None:
    there = people.parent / "old.html"
    there.write_text("old", encoding="utf-8")
    outputs = Outputs([people, Path("-")])
    outputs.plan("--out", there, HTML)
    outputs.plan("--json", people.parent / "new.json", JSON)
    assert there.read_text(encoding="utf-8") == "old"
    assert not (people.parent / "new.json").exists()


@pytest.mark.skipif(os.name != "posix", reason="named pipes")
def test_a_pipe_is_not_opened_to_look_at_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    Outputs().plan("--out", tmp_path / "pipe", HTML)


def test_standard_input_and_output(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(people.parent)
    made = run("tally", "-", *COLUMNS, "--out", "-", given=people.read_bytes())
    assert made.exit_code == 0, made.output
    assert "Tally of 40 rows" in made.stderr
    counted = fs.tally(pd.read_csv(people), y_true="y", y_pred="hat", sensitive_features="sex")
    assert json.loads(made.stdout) == json.loads(counted.to_json())
    told = run("audit", "-", "--json", "-", "--out", "r.html", given=made.stdout.encode())
    assert told.exit_code == 0, told.output
    assert fs.results.AuditReport.from_dict(json.loads(told.stdout)).tables[0].n == 40
    assert "Fairness of hat by sex" in told.stderr
    assert Path("r.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert sorted(path.name for path in Path().iterdir()) == ["people.csv", "r.html"]


def test_parquet_by_standard_input(people: Path) -> None:
    pytest.importorskip("pyarrow")
    held = io.BytesIO()
    pd.read_csv(people).to_parquet(held)
    done = run("tally", "-", *COLUMNS, "--out", "-", given=held.getvalue())
    assert "Tally of 40 rows" in done.stderr


TABLES = {
    "two columns of one name": (
        b"sex,y,hat,y\nf,1,0,0\nm,0,1,1\n",
        COLUMNS,
        "more than one column named 'y'",
    ),
    "two of a name that is not asked for": (
        b"sex,y,hat,x,x\nf,1,0,0,0\nm,0,1,1,1\n",
        COLUMNS,
        "more than one column named 'x'",
    ),
    "a mistyped column": (
        b"sex,y,hat\nf,1,0\nm,0,1\n",
        ("--y-pred", "hta", "--group", "sex"),
        "did you mean 'hat'?",
    ),
    "another case": (b"Sex,y,hat\nf,1,0\nm,0,1\n", COLUMNS, "did you mean 'Sex'?"),
    "a separator of two characters": (
        b"sex,y,hat\nf,1,0\n",
        (*COLUMNS, "--sep", "||"),
        "one character",
    ),
    "no separator": (b"sex,y,hat\nf,1,0\n", (*COLUMNS, "--sep", ""), "one character"),
    "bytes that are no text": (b"sex,\x00y,\x00\x01\n", COLUMNS, "cannot be read"),
    "JSON that is no tally": (b'{"a": 1}', COLUMNS, "`json`"),
    "nothing": (b"", COLUMNS, "cannot be read"),
}


#: Every table by file and by standard input; by DuckDB those that it would not refuse in its own
#: words.
WAYS = [
    (case, by)
    for case, (_, _, said) in TABLES.items()
    for by in ("file", "standard input", "duckdb")
    if by != "duckdb" or said not in ("cannot be read", "`json`")
]


@pytest.mark.parametrize(("case", "by"), WAYS)
def test_hostile_tables_are_one_line(tmp_path: Path, case: str, by: str) -> None:
    content, arguments, said = TABLES[case]
    if by == "duckdb":
        pytest.importorskip("duckdb")
        arguments = (*arguments, "--engine", "duckdb")
    path = tmp_path / ("t.json" if "JSON" in case and by == "file" else "t.csv")
    path.write_bytes(content)
    done = run(
        "tally",
        "-" if by == "standard input" else path,
        *arguments,
        "--out",
        tmp_path / "o.json",
        given=content,
    )
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert not (tmp_path / "o.json").exists()


@pytest.mark.parametrize("engine", ["rows", "duckdb"])
@pytest.mark.parametrize("separator", [r"\t", "\t", "tab"])
def test_a_tab_may_be_written_as_shells_write_it(people: Path, separator: str, engine: str) -> None:
    if engine == "duckdb":
        pytest.importorskip("duckdb")
    pd.read_csv(people).to_csv(people, index=False, sep="\t")
    done = run("tally", people, *COLUMNS, "--sep", separator, "--engine", engine, "--out", "-")
    assert "Tally of 40 rows" in done.stderr, done.output
