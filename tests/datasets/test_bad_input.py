"""Files that are not what they should be.

Each gives an error of ours that names argument and cure.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from fairstats.datasets import (
    read_adult,
    read_bank,
    read_compas,
    read_credit_default,
    read_heart,
    read_meps,
    read_oulad,
    read_student,
)
from fairstats.ground.errors import InputError

Read = Callable[[Path], object]

#: reader of one path, the argument its errors name, and a valid file for it (None: any CSV will
#: do).
ONE_FILE: dict[str, tuple[Read, str, str | None]] = {
    "compas": (read_compas, "path", "compas.csv"),
    "adult train": (read_adult, "train", "adult.data"),
    "bank": (read_bank, "path", "bank-full.csv"),
    "credit": (read_credit_default, "path", "credit.csv"),
    "heart": (read_heart, "path", "processed.cleveland.data"),
    "meps": (read_meps, "path", None),
}
EACH = pytest.mark.parametrize("case", ONE_FILE)


def fails(case: str, path: object, what: str) -> str:
    read, argument, _ = ONE_FILE[case]
    with pytest.raises(InputError, match=what) as caught:
        read(path)
    error = caught.value
    assert error.argument == argument
    assert str(error).startswith(f"`{argument}`: got ")
    assert "allowed: " in str(error)
    return str(error)


@EACH
def test_no_such_file(case: str, tmp_path: Path) -> None:
    assert "check the spelling" in fails(case, tmp_path / "nothing.csv", "which does not exist")


@EACH
def test_a_folder(case: str, tmp_path: Path) -> None:
    fails(case, tmp_path, "which is a folder")


@EACH
@pytest.mark.parametrize("path", [None, 3, ["a.csv"], b"a.csv"])
def test_not_a_path(case: str, path: object) -> None:
    fails(case, path, f"got {type(path).__name__} ")


@EACH
def test_empty_file(case: str, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    fails(case, tmp_path / "empty.csv", "cannot be read as a table")


@EACH
def test_not_text(case: str, tmp_path: Path) -> None:
    (tmp_path / "noise.csv").write_bytes(bytes(range(128, 256)) * 20)
    fails(case, tmp_path / "noise.csv", "cannot be read as a table")


@EACH
def test_truncated_gzip(case: str, originals: Path) -> None:
    name = ONE_FILE[case][2] or "compas.csv"
    packed = gzip.compress((originals / name).read_bytes() * 50)
    (originals / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    fails(case, originals / "cut.csv.gz", "cannot be read as a table")


@EACH
def test_not_gzip_at_all(case: str, originals: Path) -> None:
    (originals / "false.csv.gz").write_bytes(b"age,sex\n1,2\n")
    fails(case, originals / "false.csv.gz", "cannot be read as a table")


@EACH
def test_another_table(case: str, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("apples,pears\n1,2\n3,4\n")
    fails(case, tmp_path / "other.csv", "without the columns|with 2 columns|split by commas")


@pytest.mark.parametrize("case", ["compas", "bank", "credit"])
def test_header_only(case: str, originals: Path) -> None:
    file = originals / (ONE_FILE[case][2] or "")
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[: 2 if case == "credit" else 1]))
    fails(case, file, "a file with no rows")


#: case, text to replace, by what, what the error says.
DAMAGE = [
    ("compas", ",sex,age,", ",sex,years,", "without the columns 'age'; it has 'id', 'name'"),
    (
        "compas",
        "69,Greater",
        "old,Greater",
        "got 'old' in column 'age', data row 1; allowed: whole numbers",
    ),
    ("compas", "69,Greater", "69.5,Greater", "got '69.5' in column 'age', data row 1"),
    ("compas", "69,Greater", ",Greater", "got an empty cell in column 'age', data row 1"),
    ("compas", "69,Greater", "inf,Greater", "got 'inf' in column 'age', data row 1"),
    ("compas", "69,Greater", "7,69,Greater", "cannot be read as a table|more values"),
    ("bank", ";", ",", r"is split by commas \(','\); allowed: columns split by semicolons"),
    ("bank", ";", "\t", r"is split by tabs"),
    (
        "bank",
        '"unknown";"no"',
        '"unknown";"maybe"',
        "got 'maybe' in column 'y', data row 1; allowed: 'no', 'yes'",
    ),
    ("bank", ';"unknown";"no"', ';"unknown"', "got nan in column 'y', data row 1"),
    ("bank", "\n44", ";7\n44", "cannot be read as a table|more values"),
    ("adult train", "39, State", "age, State", "whose first line looks like a header"),
    (
        "adult train",
        "<=50K",
        "less",
        "got 'less' in column 'income', data row 1; allowed: '<=50K', '>50K'",
    ),
    ("adult train", "<=50K", "<=50K.", "cure|full stop"),
    ("adult train", "50, ?", "fifty, ?", "got 'fifty' in column 'age', data row 2"),
    ("adult train", ", ", ";", "with 1 columns|cannot be read"),
    ("adult train", "Male, ", "Male, Male, ", "cannot be read as a table|with 16 columns"),
    ("credit", "LIMIT_BAL", "LIMIT", "without the columns 'LIMIT_BAL'"),
    (
        "credit",
        "default payment next month",
        "label",
        "without the columns 'default_payment_next_month'",
    ),
    ("credit", "20000", "much", "got 'much' in column 'LIMIT_BAL', data row 1"),
    ("credit", ",", ";", "whose first line is split by semicolons"),
    ("heart", "63.0", "age", "whose first line looks like a header"),
    ("heart", "145.0", "high", "got 'high' in column 'trestbps', data row 1; allowed: numbers"),
    ("heart", "6.0,0\n", "6.0,?\n", "got an empty cell in column 'num', data row 1"),
    ("heart", "6.0,0\n", "6.0\n", "with 13 columns|cannot be read as a table"),
    ("heart", ",", " ", "with 1 columns"),
]


@pytest.mark.parametrize(("case", "old", "new", "what"), DAMAGE)
def test_damaged(case: str, old: str, new: str, what: str, originals: Path) -> None:
    file = originals / (ONE_FILE[case][2] or "")
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    fails(case, file, what)


def test_adult_test_part_is_named(originals: Path) -> None:
    with pytest.raises(InputError, match=r"`test`: got .* which does not exist"):
        read_adult(originals / "adult.data", originals / "adult.tst")
    (originals / "adult.test").write_text(
        (originals / "adult.test").read_text().replace(">50K.", "rich.")
    )
    with pytest.raises(InputError, match=r"`test`: got 'rich' in column 'income', data row 2"):
        read_adult(originals / "adult.data", originals / "adult.test")


def test_student_parts_are_named(originals: Path) -> None:
    mat = originals / "student-mat.csv"
    por = originals / "student-por.csv"
    with pytest.raises(InputError, match=r"`mat`: got .* which does not exist"):
        read_student(originals / "no.csv", por)
    with pytest.raises(InputError, match=r"`por`: got .* which does not exist"):
        read_student(mat, originals / "no.csv")
    por.write_text(por.read_text().replace(";", ","))
    with pytest.raises(InputError, match=r"`por`: got .*split by commas"):
        read_student(mat, por)
    mat.write_text(mat.read_text().replace(";G3", ";Grade"))
    with pytest.raises(InputError, match=r"`mat`: got .*without the columns 'G3'"):
        read_student(mat, por)


@pytest.mark.parametrize("folder", [None, 7, "no/such/folder"])
def test_oulad_no_folder(folder: object) -> None:
    with pytest.raises(
        InputError,
        match=r"`folder`: got .* the folder that holds studentInfo.csv and studentVle.csv",
    ):
        read_oulad(folder)


@pytest.mark.parametrize("name", ["studentInfo.csv", "studentVle.csv"])
def test_oulad_file_missing(name: str, originals: Path) -> None:
    (originals / name).unlink()
    with pytest.raises(InputError, match=f"`folder`: got .*{name}.* which does not exist"):
        read_oulad(originals)


@pytest.mark.parametrize(
    ("name", "old", "new", "what"),
    [
        ("studentInfo.csv", "imd_band", "imd", "without the columns 'imd_band'"),
        (
            "studentInfo.csv",
            '"3","F"',
            '"three","F"',
            "got 'three' in column 'id_student', data row 4",
        ),
        (
            "studentInfo.csv",
            "Distinction",
            "Merit",
            "got 'Merit' in column 'final_result', data row 4",
        ),
        ("studentVle.csv", "sum_click", "clicks", "without the columns 'sum_click'"),
        ("studentVle.csv", '"7"', '"seven"', "studentVle.csv.* which cannot be read as a table"),
        ("studentVle.csv", '"7"', '""', "studentVle.csv.* which cannot be read as a table"),
        ("studentVle.csv", ",", ";", "split by semicolons"),
    ],
)
def test_oulad_damaged(name: str, old: str, new: str, what: str, originals: Path) -> None:
    text = (originals / name).read_text()
    assert old in text
    (originals / name).write_text(text.replace(old, new))
    with pytest.raises(InputError, match=what) as caught:
        read_oulad(originals)
    assert caught.value.argument == "folder"


def test_oulad_without_clicks(originals: Path) -> None:
    file = originals / "studentVle.csv"
    file.write_text(file.read_text().splitlines()[0] + "\n")
    with pytest.raises(InputError, match=r"studentVle\.csv\' with no rows"):
        read_oulad(originals)
