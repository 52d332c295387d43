"""The command line on tables that are not loaded: folders, globs, engines, tallies."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import fairstats as fs
from tests.ground.engines.frames import people, same

pytest.importorskip("typer")
pytest.importorskip("rich")

from typer.testing import CliRunner

from fairstats.cli.app import app

BASE = (
    "--y-true",
    "y",
    "--y-pred",
    "hat",
    "--pos-label",
    "yes",
    "--pos-label-pred",
    "1",
    "--group",
    "sex",
    "--group",
    "race",
)
COLUMNS = {
    "y_true": "y",
    "y_pred": "hat",
    "pos_label": {"y_true": "yes", "y_pred": 1},
    "sensitive_features": ["sex", "race"],
}


def run(*arguments: Any, code: int = 0) -> str:
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    table = people(1, 600).astype({"hat": int})
    table.loc[::50, "race"] = None
    return table


@pytest.fixture(scope="module")
def folder(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rows in three Parquet files, one of them in a folder of its own, and in two CSV files
    elsewhere.
    """
    pytest.importorskip("pyarrow")
    path = tmp_path_factory.mktemp("visits")
    (path / "parquet" / "march").mkdir(parents=True)
    (path / "csv").mkdir()
    for name, part in {
        "january": frame[:200],
        "february": frame[200:350],
        "march/march": frame[350:],
    }.items():
        part.to_parquet(path / "parquet" / f"{name}.parquet")
    for name, part in {
        "a": frame[:300],
        "b": frame[300:].assign(race=lambda f: f.race.fillna("NA")),
    }.items():
        part.to_csv(path / "csv" / f"{name}.csv", index=False)
    return path


def table_of(text: str) -> str:
    """What a report prints, without the paths of files."""
    return re.sub(r"Written: .*", "", text)


@pytest.mark.parametrize(
    ("engine", "where"),
    [
        ("auto", "csv"),
        ("auto", "parquet/**/*.parquet"),
        ("polars", "csv/*.csv"),
        pytest.param("polars", "parquet", marks=pytest.mark.slow),
        *(
            pytest.param("auto", where, marks=pytest.mark.slow)
            for where in ("parquet", "csv/*.csv")
        ),
        *(
            pytest.param("polars", where, marks=pytest.mark.slow)
            for where in ("csv", "parquet/**/*.parquet")
        ),
    ],
)
def test_folders_and_globs_give_the_report_of_the_rows(frame, folder, tmp_path, where, engine):
    pytest.importorskip("polars" if engine == "polars" else "duckdb")
    if where == "csv" and engine == "polars":
        where = "csv/*.csv"
    one = tmp_path / "one.csv"
    whole = frame.astype({"race": object})
    if "csv" in where:  # the second of the two files has a token where the first has empty fields
        whole.loc[300:, "race"] = whole.loc[300:, "race"].fillna("NA")
    whole.to_csv(one, index=False)
    options = (*BASE, "--missing", "drop")
    rows = run("audit", one, *options, "--json", tmp_path / "rows.json")
    there = run(
        "audit", folder / where, *options, "--engine", engine, "--json", tmp_path / "there.json"
    )
    assert table_of(there) == table_of(rows)
    first, second = (
        fs.results.AuditReport.from_json(tmp_path / f"{n}.json").to_frame()
        for n in ("rows", "there")
    )
    pd.testing.assert_frame_equal(second, first)


def test_a_tally_is_written_and_audited(frame, folder, tmp_path):
    pytest.importorskip("duckdb")
    path = tmp_path / "t.json"
    text = run(
        "tally", folder / "parquet", *BASE, "--missing", "drop", "--memory", "1GB", "--out", path
    )
    assert "Tally of 588 rows" in text
    with pytest.warns(fs.FairstatsWarning):
        same(fs.Tally.from_json(path), fs.tally(frame, **COLUMNS, missing="drop"))
    assert "Fairness of hat by sex, race" in run("audit", path)


def test_a_tally_of_every_part(frame, tmp_path):
    one = tmp_path / "one.csv"
    path = tmp_path / "t.json"
    frame.dropna().to_csv(one, index=False)
    more = (
        "--score",
        "score",
        "--counterfactual-score",
        "flipped",
        "--feature",
        "age",
        "--weight",
        "weight",
        "--strata",
        "site",
    )
    run(
        "tally",
        one,
        "--y-true",
        "y",
        "--pos-label",
        "yes",
        "--group",
        "sex",
        *more,
        "--exact",
        "--out",
        path,
    )
    same(
        fs.Tally.from_json(path),
        fs.tally(
            frame.dropna(),
            y_true="y",
            pos_label="yes",
            sensitive_features="sex",
            score="score",
            strata="site",
            counterfactual_score="flipped",
            features=["age"],
            sample_weight="weight",
        ),
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("audit", "nowhere/*.parquet", *BASE), "no file that can be read"),
        (("audit", "FOLDER", *BASE), "files of several kinds"),
        (("audit", "FOLDER/parquet", *BASE, "--memory", "much"), "a size with its unit"),
        (("audit", "FOLDER/parquet", "--y-pred", "hat"), "--group"),
        (("tally", "FOLDER/parquet", "--y-pred", "hut", "--group", "sex"), "no column 'hut'"),
        (("audit", "FOLDER/broken", *BASE), "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_one_message(folder, arguments, text):
    pytest.importorskip("duckdb")
    (folder / "broken").mkdir(exist_ok=True)
    (folder / "broken" / "x.parquet").write_bytes(b"PAR1 and no more")
    chosen = [a.replace("FOLDER", str(folder)) for a in arguments]
    done = run(*chosen, code=2)
    assert text in " ".join(done.split())
