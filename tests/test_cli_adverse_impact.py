"""``fairstats adverse-impact``.

Rows, counts, the page and the CSV of Local Law 144, and what it refuses.

Witness of the numbers: `fs.adverse_impact` on the same data, which has its own; of the tables
counts by hand."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import InsufficientEvidenceWarning, MissingValuesWarning
from fairstats.report.report import AuditReport
from fairstats.results import AdverseImpact

pytest.importorskip("typer")
pytest.importorskip("rich")

from typer.testing import CliRunner

from fairstats.cli.app import app

SEXES = {"m": (60, 40), "f": (30, 70)}
TABLES = {"sex": SEXES, "race": {"White": (70, 80), "=Black": (15, 25), "Asian": (5, 5)}}
LL144 = ("--template", "ll144")


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, ["adverse-impact", *map(str, arguments)])


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 202 people in two steps: 60 of 100 men and 30 of 100 women pass the first.

    Two of no sex.
    """
    path = tmp_path_factory.mktemp("impact") / "people.csv"
    hired = [*["yes"] * 60, *["no"] * 40, *["yes"] * 30, *["no"] * 70, "yes", "no"]
    pd.DataFrame(
        {
            "sex": [*"m" * 100, *"f" * 100, None, None],
            "race": ["White", "Black"] * 101,
            "screen": hired,
            "offer": ["yes" if h == "yes" and i % 3 else "no" for i, h in enumerate(hired)],
            "score": [i % 17 for i in range(202)],
            "job": [*["clerk", "clerk", "cook", "cook"] * 50, "cook", "clerk"],
        }
    ).to_csv(path, index=False)
    return path


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    path = tmp_path / "counts.json"
    path.write_text(json.dumps(TABLES), encoding="utf-8")
    return path


def of_report(path: Path) -> pd.DataFrame:
    """The tidy table of adverse impact of a report's JSON: it has a section for every table."""
    results = AuditReport.from_json(path).results
    parts = [r.to_frame() for r in results if isinstance(r, AdverseImpact)]
    return pd.concat(parts, ignore_index=True)


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


ROWS = ("--selected", "screen", "--pos-label", "yes", "--sex", "sex")


def test_rows_are_printed_and_written_as_a_report(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    target = tmp_path / "r.json"
    done = run(
        people,
        *ROWS,
        "--selected",
        "offer",
        "--race",
        "race",
        "--reference",
        "m",
        "--strata",
        "job",
        "--threshold",
        "0.75",
        "--confidence-level",
        "0.9",
        "--title",
        "Kitchen",
        "--out",
        out,
        "--json",
        target,
    )
    assert done.exit_code == 0, done.output
    assert "Kitchen" in done.stdout
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    # two of no sex; 15 cases of two groups within strata
    with (
        pytest.warns(MissingValuesWarning),
        pytest.warns(InsufficientEvidenceWarning, match="below 20 only equality"),
    ):
        same = fs.adverse_impact(
            pd.read_csv(people),
            selected=["screen", "offer"],
            pos_label="yes",
            sex="sex",
            race="race",
            reference="m",
            strata="job",
            threshold=0.75,
            confidence_level=0.9,
        )
    keys = ["by", "step", "metric", "group"]  # the report goes by attribute, the result by step
    found, wanted = (
        f.sort_values(keys, ignore_index=True) for f in (of_report(target), same.to_frame())
    )
    pd.testing.assert_frame_equal(found, wanted)


def test_counts_give_the_same_numbers_as_rows(people: Path, tmp_path: Path) -> None:
    path = tmp_path / "counts.json"
    found = []
    path.write_text(json.dumps(SEXES), encoding="utf-8")
    for name, arguments in (("rows", (people, *ROWS)), ("counts", (path, "--unknown", 2))):
        target = tmp_path / f"report of {name}.json"
        assert run(*arguments, "--json", target).exit_code == 0
        found.append(of_report(target))
    rows, by_counts = found
    assert rows["estimate"].tolist() == [0.5]
    for name in ("estimate", "ci_low", "ci_high", "pvalue", "fisher", "z", "n_unknown"):
        assert rows[name].tolist() == pytest.approx(by_counts[name].tolist(), abs=1e-15), name


def test_the_template_prints_csv_and_writes_the_page(counts: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = run(
        counts,
        *LL144,
        "--about",
        "tool=Rank <3",
        "--about",
        "audit_date=2026-05-01",
        "--unknown",
        "sex=4",
        "--reason",
        "few people",
        "--least-share",
        0.06,
        "--out",
        page,
    )
    assert done.exit_code == 0, done.output
    head, *rows = cells(done.stdout)
    assert head[:6] == ["Table", "Category", "Number", "Selected", "Selection rate", "Impact ratio"]
    assert [row[:6] for row in rows] == [
        ["sex", "m", "100", "60", "0.600", "1.000"],
        ["sex", "f", "100", "30", "0.300", "0.500"],
        ["sex", "Unknown category", "4", "", "", ""],
        ["race", "White", "150", "70", "0.467", "1.000"],
        ["race", "'=Black", "40", "15", "0.375", "0.804"],
        ["race", "Asian", "10", "5", "0.500", "—"],
    ]
    said = page.read_text(encoding="utf-8")
    assert f"Written: {page}" in done.stderr.replace("\n", "")
    for words in ("Rank &lt;3", "2026-05-01", "4 people of an unknown category", "few people"):
        assert words in said


def test_the_csv_goes_where_it_is_asked_for(people: Path, tmp_path: Path) -> None:
    target = tmp_path / "tables.csv"
    done = run(people, "--score", "score", "--sex", "sex", *LL144, "--csv", target)
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    head, *rows = cells(target.read_text(encoding="utf-8"))
    assert head[3:5] == ["Above the median", "Scoring rate"]
    scores = pd.read_csv(people)
    above = scores["score"] > scores["score"].median()
    men = scores["sex"] == "m"
    assert {row[1]: row[3] for row in rows}["m"] == str((above & men).sum())
    assert run(people, "--score", "score", "--sex", "sex", *LL144).stdout == target.read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize(("threshold", "code"), [(0.8, 1), (0.1, 0)])
def test_fail_on_violated(counts: Path, threshold: float, code: int) -> None:
    assert run(counts, "--threshold", threshold, "--fail-on", "violated").exit_code == code


BAD: dict[str, tuple[tuple[Any, ...], str]] = {
    "no decision": (("ROWS", "--sex", "sex"), "selected, score"),
    "decision and score": (("ROWS", *ROWS, "--score", "score"), "selected, score"),
    "no group": (("ROWS", "--selected", "screen", "--pos-label", "yes"), "sex, race"),
    "no such column": (("ROWS", "--selected", "hird", "--sex", "sex"), "hird"),
    "no such label": (
        ("ROWS", "--selected", "screen", "--pos-label", "oui", "--sex", "sex"),
        "oui",
    ),
    "unknown of rows": (("ROWS", *ROWS, "--unknown", 3), "unknown"),
    "text as score": (("ROWS", "--score", "race", "--sex", "sex"), "column 'race', line 2"),
    "no such file": (("none.csv", *ROWS), "not there"),
    "no such counts": (("none.json",), "none.json"),
    "reference": (("COUNTS", "--reference", "x"), "reference"),
    "threshold": (("COUNTS", "--threshold", 1.2), "threshold"),
    "level": (("COUNTS", "--confidence-level", 95), "confidence_level"),
    "template": (("COUNTS", "--template", "eeoc"), "ll144"),
    "what is said": (("COUNTS", *LL144, "--about", "colour=red"), "about"),
    "without its key": (("COUNTS", *LL144, "--about", "red"), "KEY=TEXT"),
    "a half person": (("COUNTS", "--unknown", "2.5"), "whole number"),
    "unknown table": (("COUNTS", "--unknown", "age=2"), "unknown"),
    "unwritable": (("COUNTS", *LL144, "--out", "no/such/folder/page.html"), "cannot be written"),
    "onto the input": (("COUNTS", *LL144, "--csv", "COUNTS"), "--csv"),
    "twice the same target": (("COUNTS", *LL144, "--csv", "x", "--out", "x"), "--out"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_message_and_code_2(people: Path, counts: Path, case: str) -> None:
    arguments, said = BAD[case]
    places = {"ROWS": people, "COUNTS": counts}
    done = run(*(places.get(a, a) for a in arguments))
    assert done.exit_code == 2, done.output
    assert said in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.output
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "{", "JSON"),
        ("a.json", "[1, 2]", "counts"),
        ("a.json", '{"a": [1, -2], "b": [3, 4]}', "counts"),
        ("a.json", '{"a": [1, 2]}', "one group"),
        ("a.json", "{}", "data"),
        ("a.csv", "hired,sex\n", "0 rows"),
    ],
)
def test_a_file_without_counts_is_one_line(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    more = () if name.endswith("json") else ("--selected", "hired", "--sex", "sex")
    done = run(tmp_path / name, *more)
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
