"""Labels "0.0" and "1.0" in text, as columns of 0/1 with missing values are written.

One rule in every way in.

The rule (head of `fairstats/ground/values.py`, table in the guide): text stays as it is written,
and 0/1, −1/1, as text also 0.0/1.0 and −1.0/1.0, need no `pos_label`. The witness is the same file
with "0" and "1"."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs
from fairstats.ground.errors import InputError

ROLES: dict[str, Any] = {"y_true": "y", "y_pred": "p", "sensitive_features": "sex"}
#: How 0 and 1 are written in each column of labels.
SPELLINGS = {
    "0.0/1.0": {"y": ("0.0", "1.0"), "p": ("0.0", "1.0")},
    "one column": {"y": ("0", "1"), "p": ("0.0", "1.0")},
    "-1.0/1.0": {"y": ("-1.0", "1.0"), "p": ("-1", "1")},
}


def written(folder: Path, name: str, spelling: dict[str, tuple[str, str]]) -> Path:
    """A CSV of 200 people with labels that are written so."""
    rng = np.random.default_rng(29)
    frame = pd.DataFrame({"y": rng.integers(0, 2, 200), "p": rng.integers(0, 2, 200)})
    for column, texts in spelling.items():
        frame[column] = np.where(frame[column] == 1, texts[1], texts[0])
    frame["sex"] = ["f", "m"] * 100
    path = folder / f"{name}.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return written(tmp_path, "plain", {"y": ("0", "1"), "p": ("0", "1")})


def test_the_reader_keeps_what_is_written(tmp_path: Path) -> None:
    path = written(tmp_path, "people", SPELLINGS["0.0/1.0"])
    assert set(fs.read_table(path)["y"]) == {"0.0", "1.0"}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_functions_of_the_reader_s_columns(tmp_path: Path, plain: Path, spelling: str) -> None:
    frame = fs.read_table(written(tmp_path, "people", SPELLINGS[spelling]))
    wanted = fs.read_table(plain)
    found = fs.equalized_odds_difference(frame["y"], frame["p"], sensitive_features=frame["sex"])
    same = fs.equalized_odds_difference(wanted["y"], wanted["p"], sensitive_features=wanted["sex"])
    pd.testing.assert_frame_equal(found.to_frame(), same.to_frame())


@pytest.mark.parametrize("engine", ["rows", "duckdb", "polars"])
def test_tallies_of_every_engine(tmp_path: Path, plain: Path, engine: Any) -> None:
    if engine != "rows":
        pytest.importorskip(engine)
    path = written(tmp_path, "people", SPELLINGS["0.0/1.0"])
    found = fs.tally(path, **ROLES, engine=engine).confusion()
    pd.testing.assert_frame_equal(found.to_frame(), fs.tally(plain, **ROLES).confusion().to_frame())


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_audit(tmp_path: Path, plain: Path, spelling: str) -> None:
    path = written(tmp_path, "people", SPELLINGS[spelling])
    reports = [
        fs.audit(source, **ROLES, n_resamples=100, rng=1).to_frame() for source in (path, plain)
    ]
    pd.testing.assert_frame_equal(*reports)


def test_command_line(tmp_path: Path, plain: Path) -> None:
    pytest.importorskip("typer")
    from typer.testing import CliRunner

    from fairstats.cli.app import app

    tables = []
    for path in (written(tmp_path, "people", SPELLINGS["0.0/1.0"]), plain):
        out = tmp_path / f"{path.stem}.json"
        options = ["--y-true", "y", "--y-pred", "p", "--group", "sex", "--json", str(out)]
        done = CliRunner().invoke(app, ["audit", str(path), *options])
        assert done.exit_code == 0, done.output
        tables.append(json.loads(out.read_text(encoding="utf-8"))["table"])
    assert tables[0] == tables[1]


def test_two_spellings_in_one_column_say_nothing_by_themselves(tmp_path: Path) -> None:
    """ "0" beside "1.0" are two labels as they are written: which is favourable must be said."""
    path = written(tmp_path, "people", {"y": ("0", "1.0"), "p": ("0", "1")})
    with pytest.raises(InputError) as refusal:
        fs.audit(path, **ROLES)
    assert refusal.value.argument == "y_true"
    assert "pos_label=" in str(refusal.value.cure)
    assert fs.tally(path, **ROLES, pos_label=1).confusion().n == 200
