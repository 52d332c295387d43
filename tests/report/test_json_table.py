"""The key "table" of a report's JSON: the tidy table for readers that know no results."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairstats as fs

EXTDATA = Path(__file__).resolve().parents[2] / "r" / "inst" / "extdata"


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    group = np.repeat(["a", "b", "empty"], [150, 100, 4])
    return pd.DataFrame(
        {
            "group": group,
            "y": rng.integers(0, 2, group.size) * (group != "empty"),
            "p": rng.integers(0, 2, group.size),
            "score": rng.uniform(size=group.size),
        }
    )


@pytest.fixture(scope="module")
def report() -> Any:
    with pytest.warns(fs.FairstatsWarning):
        return fs.audit(
            frame(),
            y_true="y",
            y_pred="p",
            score="score",
            sensitive_features="group",
            reference="a",
            rng=1,
        )


@pytest.fixture(scope="module")
def written(report: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report.to_json(tmp_path_factory.mktemp("table") / "report.json")  # type: ignore[no-any-return]


def test_table_is_to_frame_with_null_for_what_json_lacks(report: Any, written: Path) -> None:
    table = json.loads(written.read_text(encoding="utf-8"))["table"]
    expected = report.to_frame()
    assert list(table) == list(expected.columns)
    assert all(len(column) == len(expected) for column in table.values())
    missing = 0
    records = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    for record, row in zip(records, expected.to_dict("records"), strict=True):
        for name, value in row.items():
            number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
            if value is None or (number and not math.isfinite(value)):
                assert record[name] is None, name
                missing += 1
            elif number:
                assert record[name] == value, name
            elif isinstance(value, bool):
                assert record[name] is value, name
            else:
                assert record[name] == str(value), name
    assert missing > 0


def test_round_trip_leaves_the_table_unread(report: Any, written: Path, tmp_path: Path) -> None:
    again = type(report).from_json(written)
    assert "table" not in again.to_dict()
    assert again.to_json(tmp_path / "again.json").read_bytes() == written.read_bytes()
    whole = json.loads(written.read_text(encoding="utf-8"))
    whole["table"] = "of another version"
    assert type(report).from_dict(whole).to_dict() == report.to_dict()


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "the class 'Made0'"),
        (2, "the class 'Made0', the class 'Made1'"),
        (3, "the class 'Made0', the class 'Made1', …"),
    ],
)
def test_a_report_of_another_version_says_what_is_not_known(
    report: Any, count: int, said: str
) -> None:
    """The first three classes or fields, and that there are more."""
    whole = json.loads(json.dumps(report.to_dict()))
    whole["versions"]["mapping"]["fairstats"] = "9.9"
    whole["later"] = [{"class": f"Made{k}"} for k in range(count)]
    with pytest.raises(fs.InputError) as refused:
        type(report).from_dict(whole)
    assert f"cannot read: the field 'later' of AuditReport, {said}; allowed" in str(refused.value)


def test_the_report_of_the_r_package_is_one_of_this_version() -> None:
    """r/reference/make_report.py wrote it; R's tests and examples read it."""
    whole = json.loads(gzip.decompress((EXTDATA / "report.json.gz").read_bytes()))
    report = fs.results.AuditReport.from_dict(whole)
    assert report.versions["fairstats"] == fs.__version__
    anew = fs.audit(
        pd.read_csv(EXTDATA / "people.csv"),
        y_true="qualified",
        y_pred="hired",
        score="score",
        sensitive_features=["sex", "origin"],
        pos_label={"y_true": "yes", "y_pred": 1},
        reference={"sex": "male", "origin": "north"},
        rng=1,
    ).to_frame()
    stored = report.to_frame()
    assert stored.columns.tolist() == anew.columns.tolist()
    assert len(pd.DataFrame(whole["table"])) == len(anew)
    rates = anew["section"].eq("rates")
    np.testing.assert_allclose(
        stored.loc[rates, "estimate"].to_numpy(dtype=float),
        anew.loc[rates, "estimate"].to_numpy(dtype=float),
    )
