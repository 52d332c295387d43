"""OULAD: enrolments with their clicks, and the course tables of the MADD papers."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fairstats.datasets import oulad_course_table, read_oulad
from fairstats.ground.errors import InputError


def sorted_rows(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values(list(frame.columns)).reset_index(drop=True)


def test_enrolments(originals: Path) -> None:
    frame, about = read_oulad(originals)
    assert frame.shape == (8, 13) == (about.n_rows, about.n_columns)
    assert list(about.columns) == list(frame.columns)
    assert frame["sum_click"].fillna(-1).tolist() == [10.0, 7.0, 1.0, 13.0, 2.0, 9.0, 3.0, -1.0]
    assert frame["imd_band"].isna().tolist() == [
        False,
        True,
        False,
        False,
        False,
        False,
        True,
        False,
    ]
    assert frame["id_student"].tolist() == [1, 2, 1, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("chunk_rows", [1, 2, 4, 9, 1000])
def test_chunks_do_not_matter(originals: Path, chunk_rows: int) -> None:
    pd.testing.assert_frame_equal(
        read_oulad(originals, chunk_rows=chunk_rows).frame, read_oulad(originals).frame
    )


def test_course_table(originals: Path) -> None:
    """Of BBB, student 1 counts in AAA, 4 withdrew, 6 has no imd_band, 7 no clicks: 3 and 5 stay."""
    frame, about = read_oulad(originals, course="BBB")
    assert list(about.columns) == list(frame.columns)
    assert about.subset == "course BBB, see oulad_course_table"
    expected = pd.DataFrame(
        {
            "gender": [0, 1],
            "highest_education": [2, 4],
            "poverty": [1, 0],
            "age": [1, 0],
            "disability": [1, 0],
            "num_of_prev_attempts": [2, 0],
            "studied_credits": [90, 30],
            "sum_click": [13, 9],
            "passed": [1, 0],
        }
    )
    pd.testing.assert_frame_equal(frame, expected)


def test_all_courses(originals: Path) -> None:
    table = oulad_course_table(read_oulad(originals).frame)
    assert table["sum_click"].tolist() == [10, 13, 9]


def test_first_enrolment_is_chosen_after_the_filters(originals: Path) -> None:
    """A first enrolment that was withdrawn leaves the next one in."""
    students = read_oulad(originals).frame
    students.loc[0, "final_result"] = "Withdrawn"
    assert oulad_course_table(students, "BBB")["sum_click"].tolist() == [1, 13, 9]


def test_the_input_is_left_alone(originals: Path) -> None:
    students = read_oulad(originals).frame
    before = students.copy()
    oulad_course_table(students, "BBB")
    pd.testing.assert_frame_equal(students, before)


@pytest.mark.parametrize(("course", "rows"), [("BBB", 5_299), ("FFF", 4_740)])
def test_real_course_tables(course: str, rows: int, shared) -> None:
    students = shared("oulad_students")
    expected = shared(f"oulad_{course}").drop(columns="split")
    table = oulad_course_table(students, course)
    assert len(table) == rows
    pd.testing.assert_frame_equal(sorted_rows(table), sorted_rows(expected))


def test_real_rows_over_all_courses(shared) -> None:
    table = oulad_course_table(shared("oulad_students"))
    assert len(table) == 19_964
    ranges = {name: (int(table[name].min()), int(table[name].max())) for name in table}
    assert ranges["highest_education"] == (0, 4)
    assert ranges["age"] == (0, 2)
    assert ranges["num_of_prev_attempts"] == (0, 6)
    assert ranges["studied_credits"] == (30, 630)
    assert ranges["sum_click"] == (1, 24_139)


def test_real_enrolments(shared, tmp_path: Path) -> None:
    expected = shared("oulad_students")
    expected.drop(columns="sum_click").to_csv(tmp_path / "studentInfo.csv", index=False, quoting=1)
    active = expected[expected["sum_click"].notna()].astype({"sum_click": "int64"})
    assert len(active) == 29_228
    keys = active[["code_module", "code_presentation", "id_student"]]
    first = keys.assign(id_site=1, date=-5, sum_click=active["sum_click"] // 3)
    rest = keys.assign(id_site=2, date=9, sum_click=active["sum_click"] - active["sum_click"] // 3)
    visits = pd.concat([rest, first]).sample(frac=1, random_state=1)
    visits.to_csv(tmp_path / "studentVle.csv", index=False, quoting=1)
    frame = read_oulad(tmp_path, chunk_rows=7_001).frame
    pd.testing.assert_frame_equal(frame, expected)


@pytest.mark.parametrize("course", ["bbb", "", "ZZZ", 1])
def test_unknown_course(originals: Path, course) -> None:
    with pytest.raises(InputError, match=r"`course`: got .*; allowed: 'AAA', 'BBB'\."):
        read_oulad(originals, course=course)


@pytest.mark.parametrize("chunk_rows", [0, -1, 1.5, "10", True])
def test_bad_chunk(originals: Path, chunk_rows) -> None:
    with pytest.raises(InputError, match="`chunk_rows`: got"):
        read_oulad(originals, chunk_rows=chunk_rows)


def test_course_table_of_another_frame(originals: Path) -> None:
    students = read_oulad(originals).frame
    with pytest.raises(InputError, match="`students`: got no column 'imd_band'"):
        oulad_course_table(students.drop(columns="imd_band"), "BBB")
    with pytest.raises(
        InputError, match="`students`: got '10 bis 20' in column 'imd_band'; allowed: '0-10%'"
    ):
        oulad_course_table(students.replace({"imd_band": {"10-20": "10 bis 20"}}), "BBB")
