"""The Open University Learning Analytics Dataset, from its original tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fairstats.datasets._files import (
    UNREADABLE,
    StrPath,
    existing_file,
    header_of,
    read_with_header,
    require_columns,
    require_values,
    unreadable,
)
from fairstats.datasets.catalogue_own import OULAD, OULAD_COURSE
from fairstats.datasets.description import Dataset
from fairstats.ground.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["oulad_course_table", "read_oulad"]

_KEY: Final = ["code_module", "code_presentation", "id_student"]

_EDUCATION: Final = {
    "No Formal quals": 0,
    "Lower Than A Level": 1,
    "A Level or Equivalent": 2,
    "HE Qualification": 3,
    "Post Graduate Qualification": 4,
}
# One band of the original is spelt without its percent sign; the spelling with it is read too.
_POVERTY: Final = {
    "0-10%": 1,
    "10-20": 1,
    "10-20%": 1,
    "20-30%": 1,
    "30-40%": 1,
    "40-50%": 1,
    "50-60%": 0,
    "60-70%": 0,
    "70-80%": 0,
    "80-90%": 0,
    "90-100%": 0,
}
_AGE: Final = {"0-35": 0, "35-55": 1, "55<=": 2}
_PASSED: Final = {"Pass": 1, "Distinction": 1, "Fail": 0}


def read_oulad(folder: StrPath, *, course: str | None = None, chunk_rows: int = 1_000_000) -> Dataset:
    """Read ``studentInfo.csv`` and ``studentVle.csv`` of the OULAD.

    Parameters
    ----------
    folder : path-like
        The folder with the two files, as published.
    course : str, optional
        ``"AAA"`` to ``"GGG"``: return the table of this course, made by `oulad_course_table`. By default
        return all enrolments with their total clicks.
    chunk_rows : int, default 1,000,000
        Rows of ``studentVle.csv`` (10.7 million in all) that are in memory at a time.

    Returns
    -------
    Dataset
        The frame (32,593 rows, 13 columns; ``sum_click`` is missing for the 3,365 enrolments without
        activity) or the course's table (9 columns), and the description.

    Raises
    ------
    InputError
        If a file is missing, unreadable or not in the original layout, or `course` is not in it.

    Examples
    --------
    >>> from fairstats.datasets import read_oulad
    >>> frame, description = read_oulad("oulad", course="BBB")  # doctest: +SKIP
    """
    if not isinstance(chunk_rows, int) or isinstance(chunk_rows, bool) or chunk_rows < 1:
        raise InputError("chunk_rows", got=repr(chunk_rows), allowed="a whole number of rows, 1 or more")
    students = _students(folder, chunk_rows)
    if course is None:
        return OULAD.dataset(students)
    table = oulad_course_table(students, course)
    return OULAD_COURSE.dataset(table, subset=f"course {course}, see oulad_course_table")


def _students(folder: StrPath, chunk_rows: int) -> pd.DataFrame:
    if not isinstance(folder, str | os.PathLike) or not Path(folder).is_dir():
        raise InputError(
            "folder",
            got=repr(folder),
            allowed="the path of the folder that holds studentInfo.csv and studentVle.csv",
        )
    files = {
        name: existing_file("folder", Path(folder) / name) for name in ("studentInfo.csv", "studentVle.csv")
    }
    columns = {name: column for name, column in OULAD.columns.items() if name != "sum_click"}
    info = read_with_header("folder", files["studentInfo.csv"], columns, missing=("", "?"))
    require_values("folder", info, "final_result", (*_PASSED, "Withdrawn"))
    clicks = _total_clicks(files["studentVle.csv"], chunk_rows)
    students = info.merge(clicks, on=_KEY, how="left")
    return students.astype({"sum_click": "float64"})


def _total_clicks(file: Path, chunk_rows: int) -> pd.DataFrame:
    """Sum the clicks of each enrolment, a chunk of the file at a time."""
    import pandas as pd

    columns = [*_KEY, "sum_click"]
    require_columns("folder", file, header_of("folder", file, sep=","), columns, sep=",")
    dtypes = {"code_module": "str", "code_presentation": "str", "id_student": "int64", "sum_click": "int64"}
    try:
        with pd.read_csv(file, usecols=columns, dtype=dtypes, chunksize=chunk_rows) as chunks:
            sums = [chunk.groupby(_KEY)["sum_click"].sum() for chunk in chunks]
    except UNREADABLE as error:
        raise unreadable("folder", file, error) from error
    if not any(map(len, sums)):
        raise InputError(
            "folder", got=f"{str(file)!r} with no rows", allowed="the file in its original layout"
        )
    totals: pd.DataFrame = pd.concat(sums).groupby(level=_KEY).sum().reset_index()
    return totals


def oulad_course_table(students: pd.DataFrame, course: str | None = None) -> pd.DataFrame:
    """Turn OULAD enrolments into the integer-coded table of one course, as the MADD papers use it.

    In this order: leave out enrolments without clicks, without ``imd_band`` and withdrawn ones; keep each
    student's first enrolment over *all* courses in file order; only then select the course.

    Parameters
    ----------
    students : DataFrame
        The frame of ``read_oulad(folder)``, in file order, with all courses.
    course : str, optional
        ``"AAA"`` to ``"GGG"``. By default all courses (19,964 rows): the rows over which the published
        models scale each column to [0, 1].

    Returns
    -------
    DataFrame
        Nine columns of integers, in file order: ``gender`` (1 M), ``highest_education`` (0 to 4),
        ``poverty`` (1: imd_band 0-50%), ``age`` (0 to 2), ``disability`` (1 Y), ``num_of_prev_attempts``,
        ``studied_credits``, ``sum_click``, ``passed`` (1 Pass or Distinction). 5,299 rows for BBB, 4,740
        for FFF.

    Raises
    ------
    InputError
        If a column is missing, a value is unknown, or `course` is not in `students`.

    References
    ----------
    .. [1] Kuzilek, J., Hlosta, M. and Zdrahal, Z. (2017). Open University Learning Analytics dataset.
       Scientific Data 4, 170171.
    .. [2] Verger, M., Fan, C., Lallé, S., Bouchet, F. and Luengo, V. (2024). Evaluating and Mitigating
       Algorithmic Unfairness with the MADD Metric. Journal of Educational Data Mining 16(1).

    Examples
    --------
    >>> import pandas as pd
    >>> from fairstats.datasets import oulad_course_table
    >>> students = pd.DataFrame({
    ...     "code_module": ["AAA", "BBB", "BBB"], "id_student": [1, 1, 2], "gender": ["F", "F", "M"],
    ...     "highest_education": "HE Qualification", "imd_band": "10-20", "age_band": "0-35",
    ...     "num_of_prev_attempts": 0, "studied_credits": 60, "disability": "N",
    ...     "final_result": ["Pass", "Fail", "Distinction"], "sum_click": [10.0, 20.0, 30.0],
    ... })
    >>> oulad_course_table(students, "BBB")[["gender", "poverty", "sum_click", "passed"]]
       gender  poverty  sum_click  passed
    0       1        1         30       1
    """
    import pandas as pd

    wanted = [name for name in OULAD.columns if name not in ("code_presentation", "region")]
    absent = [name for name in wanted if name not in students.columns]
    if absent:
        raise InputError(
            "students", got=f"no column {absent[0]!r}", allowed="the frame of read_oulad(folder)"
        )
    courses = sorted(students["code_module"].unique())
    if course is not None and course not in courses:
        raise InputError("course", got=repr(course), allowed=", ".join(map(repr, courses)))
    kept = students[
        students["sum_click"].notna()
        & students["imd_band"].notna()
        & students["final_result"].ne("Withdrawn")
    ].drop_duplicates("id_student")
    if course is not None:
        kept = kept[kept["code_module"].eq(course)]
    return pd.DataFrame(
        {
            "gender": _coded(kept["gender"], {"M": 1, "F": 0}),
            "highest_education": _coded(kept["highest_education"], _EDUCATION),
            "poverty": _coded(kept["imd_band"], _POVERTY),
            "age": _coded(kept["age_band"], _AGE),
            "disability": _coded(kept["disability"], {"Y": 1, "N": 0}),
            "num_of_prev_attempts": kept["num_of_prev_attempts"].astype("int64"),
            "studied_credits": kept["studied_credits"].astype("int64"),
            "sum_click": kept["sum_click"].astype("int64"),
            "passed": _coded(kept["final_result"], _PASSED),
        }
    ).reset_index(drop=True)


def _coded(values: pd.Series, codes: dict[str, int]) -> pd.Series:
    """Replace each string by its code."""
    unknown = values[~values.isin(list(codes))]
    if len(unknown):
        raise InputError(
            "students",
            got=f"{unknown.iloc[0]!r} in column {values.name!r}",
            allowed=", ".join(map(repr, codes)),
        )
    return values.map(codes).astype("int64")
