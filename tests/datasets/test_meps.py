"""MEPS: the rows and columns of the fairness literature, from a made-up file with the AHRQ's
names.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fairstats.datasets import read_meps
from fairstats.datasets.description import entry
from fairstats.ground.errors import InputError

VISITS = ("OBTOTV{yy}", "OPTOTV{yy}", "ERTOT{yy}", "IPNGTD{yy}", "HHTOTD{yy}")
MADE_HERE = ("RACE", "UTILIZATION", "PERWT")
PUBLISHED = [
    entry("meps").published_names.get(name, name)
    for name in entry("meps").dtypes
    if name not in MADE_HERE
]


def one_person(year: str, **changes: object) -> dict[str, object]:
    """A person of panel 19 (2015) or 21 (2016) with every answer known."""
    person: dict[str, object] = {name.format(yy=year): 1 for name in PUBLISHED}
    person |= {name.format(yy=year): 0 for name in VISITS}
    person |= {
        "PANEL": 19 if year == "15" else 21,
        "HISPANX": 2,
        "RACEV2X": 1,
        "EDUCYR": 12,
        "HIDEG": 3,
    }
    person |= {
        "PCS42": 55.12,
        "MCS42": -1.0,
        "K6SUM42": -1,
        f"PERWT{year}F": 1234.567,
        "DUPERSID": "20004101",
    }
    return person | changes


def written(path: Path, people: list[dict[str, object]], *, extra_columns: int = 0) -> Path:
    frame = pd.DataFrame(people)
    extra = pd.DataFrame(0, index=frame.index, columns=[f"EXTRA{i}" for i in range(extra_columns)])
    pd.concat([frame, extra], axis=1).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("year", ["15", "16"])
@pytest.mark.parametrize("extra_columns", [0, 1800])
def test_columns_and_values(year: str, extra_columns: int, tmp_path: Path) -> None:
    people = [
        one_person(year, **{f"OBTOTV{year}": 9}),
        one_person(
            year, **{f"OBTOTV{year}": 6, f"ERTOT{year}": 1, f"HHTOTD{year}": 3, "HISPANX": 1}
        ),
        one_person(year, RACEV2X=2, **{f"IPNGTD{year}": 10}),
    ]
    frame, about = read_meps(written(tmp_path / "meps.csv", people, extra_columns=extra_columns))
    assert frame.shape == (3, 43) == (about.n_rows, about.n_columns)
    assert list(about.columns) == list(frame.columns)
    assert frame["UTILIZATION"].tolist() == [0, 1, 1]
    assert frame["RACE"].tolist() == ["White", "Non-White", "Non-White"]
    assert frame["PERWT"].tolist() == [1234.567] * 3
    assert frame["PCS42"].tolist() == [55.12] * 3
    assert not [name for name in frame if "PERSID" in name or name.endswith(year)]
    assert about.subset == f"panel of 20{year}, answers known"


@pytest.mark.parametrize(
    ("column", "value", "kept"),
    [
        ("REGION53", -1, False),
        ("AGE53X", -1, False),
        ("MARRY53X", -7, False),
        ("ASTHDX", -9, False),
        ("ASTHDX", -1, False),
        ("HIBPDX", -1, True),
        ("HIBPDX", -8, False),
        ("EDUCYR", -7, False),
        ("HIDEG", -1, True),
        ("PHQ242", -9, False),
        ("POVCAT15", -2, False),
        ("PCS42", -9.0, True),
        ("K6SUM42", -9, True),
    ],
)
def test_unknown_answers(column: str, value: float, kept: bool, tmp_path: Path) -> None:
    people = [one_person("15"), one_person("15", **{column: value})]
    assert len(read_meps(written(tmp_path / "meps.csv", people)).frame) == 1 + kept


def test_panel(tmp_path: Path) -> None:
    people = [one_person("15"), one_person("15", PANEL=20, SEX=2)]
    file = written(tmp_path / "h181.csv", people)
    assert read_meps(file).frame["SEX"].tolist() == [1]
    assert read_meps(file, panel=20).frame["SEX"].tolist() == [2]
    with pytest.raises(
        InputError, match=r"`panel`: got 21; allowed: a panel of this file of 2015: 19, 20\."
    ):
        read_meps(file, panel=21)


def test_another_year_needs_a_panel(tmp_path: Path) -> None:
    file = written(tmp_path / "h201.csv", [one_person("17", PANEL=22)])
    with pytest.raises(
        InputError, match="`panel`: got None; allowed: a panel of this file of 2017: 22"
    ):
        read_meps(file)
    assert len(read_meps(file, panel=22).frame) == 1


def test_missing_column(tmp_path: Path) -> None:
    person = one_person("15")
    del person["MARRY53X"]
    with pytest.raises(InputError, match="without the columns 'MARRY53X'"):
        read_meps(written(tmp_path / "meps.csv", [person]))
