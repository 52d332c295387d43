"""Two large studies whose published tables are joined, cut and recoded: the OULAD, and MEPS."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Final

from fairstats.datasets import files
from fairstats.datasets.description import Dataset, entry
from fairstats.ground.checks import check_choice, check_that, check_whole
from fairstats.ground.errors import InputError
from fairstats.ground.lazy import pd

_ENROLMENT_KEY: Final = ["code_module", "code_presentation", "id_student"]
_EDUCATION_CODES: Final = {
    "No Formal quals": 0,
    "Lower Than A Level": 1,
    "A Level or Equivalent": 2,
    "HE Qualification": 3,
    "Post Graduate Qualification": 4,
}
# One band of the original is spelt without its percent sign; the spelling with it is read too.
_POVERTY_CODES: Final = {
    **dict.fromkeys(("0-10%", "10-20", "10-20%", "20-30%", "30-40%", "40-50%"), 1),
    **dict.fromkeys(("50-60%", "60-70%", "70-80%", "80-90%", "90-100%"), 0),
}
_PASSED_CODES: Final = {"Pass": 1, "Distinction": 1, "Fail": 0}
#: Column of a course's table → the published one, and the code of each of its values; numbers stay
#: as they are.
_CODED_COLUMNS: Final[dict[str, tuple[str, dict[str, int] | None]]] = {
    "gender": ("gender", {"M": 1, "F": 0}),
    "highest_education": ("highest_education", _EDUCATION_CODES),
    "poverty": ("imd_band", _POVERTY_CODES),
    "age": ("age_band", {"0-35": 0, "35-55": 1, "55<=": 2}),
    "disability": ("disability", {"Y": 1, "N": 0}),
    **{name: (name, None) for name in ("num_of_prev_attempts", "studied_credits", "sum_click")},
    "passed": ("final_result", _PASSED_CODES),
}


def read_oulad(
    folder: files.StrPath, *, course: str | None = None, chunk_rows: int = 1_000_000
) -> Dataset:
    """Read ``studentInfo.csv`` and ``studentVle.csv`` of the OULAD.

    Parameters
    ----------
    folder : path-like
        The folder with the two files, as published.
    course : str, optional
        ``"AAA"`` to ``"GGG"``: the table of this course by `oulad_course_table`; by default all
        enrolments.
    chunk_rows : int, default 1,000,000
        Rows of ``studentVle.csv`` (10.7 million in all) that are in memory at a time.

    Returns
    -------
    Dataset
        The frame (32,593 rows, 13 columns; ``sum_click`` is missing for the 3,365 enrolments
        without activity) or the course's table (9 columns), and the description.

    Raises
    ------
    InputError
        If a file is missing, unreadable or not in the original layout, or `course` is not in it.

    Examples
    --------
    >>> from fairstats.datasets import read_oulad
    >>> frame, description = read_oulad("oulad", course="BBB")  # doctest: +SKIP
    """
    check_whole("chunk_rows", chunk_rows, low=1)
    is_folder = isinstance(folder, str | os.PathLike) and Path(folder).is_dir()
    check_that(
        is_folder,
        "folder",
        folder,
        "the path of the folder that holds studentInfo.csv and studentVle.csv",
    )
    infos, clicks = (
        files.existing_file("folder", Path(folder) / f"student{name}.csv")
        for name in ("Info", "Vle")
    )
    column_types = {}
    for column_label, column_type in entry("oulad_students").dtypes.items():
        if column_label != "sum_click":
            column_types[column_label] = column_type
    student_info = files.read_with_header("folder", infos, column_types, missing=("", "?"))
    files.require_values("folder", student_info, "final_result", (*_PASSED_CODES, "Withdrawn"))
    students = student_info.merge(
        _total_clicks(clicks, chunk_rows), on=_ENROLMENT_KEY, how="left"
    ).astype({"sum_click": "float64"})
    if course is None:
        return entry("oulad_students").dataset(students)
    table = oulad_course_table(students, course)
    return entry("oulad_course").dataset(table, subset=f"course {course}, see oulad_course_table")


def _total_clicks(file: Path, chunk_rows: int) -> pd.DataFrame:
    """Sum the clicks of each enrolment, a chunk of the file at a time."""
    columns = [*_ENROLMENT_KEY, "sum_click"]
    files.require_columns(
        "folder", file, files.header_of("folder", file, sep=","), columns, sep=","
    )
    column_types = {
        "code_module": "str",
        "code_presentation": "str",
        "id_student": "int64",
        "sum_click": "int64",
    }
    reading_settings: dict[str, Any] = {
        "usecols": columns,
        "dtype": column_types,
        "chunksize": chunk_rows,
    }
    with files.readable("folder", file), pd.read_csv(file, **reading_settings) as chunks:
        chunk_sums = [row_chunk.groupby(_ENROLMENT_KEY)["sum_click"].sum() for row_chunk in chunks]
    if not any(map(len, chunk_sums)):
        raise files.damaged("folder", f"{str(file)!r} with no rows")
    totals: pd.DataFrame = pd.concat(chunk_sums).groupby(level=_ENROLMENT_KEY).sum().reset_index()
    return totals


def oulad_course_table(students: pd.DataFrame, course: str | None = None) -> pd.DataFrame:
    """Turn OULAD enrolments into the integer-coded table of one course, as the MADD papers use it.

    In this order: leave out enrolments without clicks, without ``imd_band`` and withdrawn ones;
    keep each student's first enrolment over *all* courses in file order; only then select the
    course.

    Parameters
    ----------
    students : DataFrame
        The frame of ``read_oulad(folder)``, in file order, with all courses.
    course : str, optional
        ``"AAA"`` to ``"GGG"``. By default all (19,964 rows), over which published models scale
        columns to [0, 1].

    Returns
    -------
    DataFrame
        Nine columns of integers, in file order: ``gender`` (1 M), ``highest_education`` (0 to 4),
        ``poverty`` (1: imd_band 0-50%), ``age`` (0 to 2), ``disability`` (1 Y),
        ``num_of_prev_attempts``, ``studied_credits``, ``sum_click``, ``passed`` (1 Pass or
        Distinction). 5,299 rows for BBB, 4,740 for FFF.

    Raises
    ------
    InputError
        If a column is missing, a value is unknown, or `course` is not in `students`.

    References
    ----------
    .. [1] Kuzilek, J., Hlosta, M. and Zdrahal, Z. (2017). Open University Learning Analytics
       dataset. Scientific Data 4, 170171.
    .. [2] Verger, M., Fan, C., Lallé, S., Bouchet, F. and Luengo, V. (2024). Evaluating and
       Mitigating Algorithmic Unfairness with the MADD Metric. Journal of Educational Data Mining
       16(1).

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
    needed_columns = [
        name
        for name in entry("oulad_students").dtypes
        if name not in ("code_presentation", "region")
    ]
    absent_columns = [name for name in needed_columns if name not in students.columns]
    if absent_columns:
        raise InputError(
            "students",
            got=f"no column {absent_columns[0]!r}",
            allowed="the frame of read_oulad(folder)",
        )
    if course is not None:
        check_choice("course", course, sorted(students["code_module"].unique()), cure=None)
    is_kept = (
        students["sum_click"].notna()
        & students["imd_band"].notna()
        & students["final_result"].ne("Withdrawn")
    )
    course_rows = students[is_kept].drop_duplicates("id_student")
    if course is not None:
        course_rows = course_rows[course_rows["code_module"].eq(course)]
    table = {}
    for name, (published, codes) in _CODED_COLUMNS.items():
        values = course_rows[published]
        if codes is not None and len(unknown := values[~values.isin(list(codes))]):
            received = f"{unknown.iloc[0]!r} in column {published!r}"
            raise InputError("students", got=received, allowed=", ".join(map(repr, codes)))
        table[name] = (values if codes is None else values.map(codes)).astype("int64")
    return pd.DataFrame(table).reset_index(drop=True)


_VISIT_COLUMNS: Final = ("OBTOTV{yy}", "OPTOTV{yy}", "ERTOT{yy}", "IPNGTD{yy}", "HHTOTD{yy}")
_FILTER_ONLY: Final = ("EDUCYR", "HIDEG")
_NEVER_NEGATIVE: Final = ("REGION", "AGE", "MARRY", "ASTHDX")
# Kept whatever their sign: no code of these says that an answer is missing, or it is left as it is.
_UNFILTERED_COLUMNS: Final = ("SEX", "PCS42", "MCS42", "K6SUM42")


def read_meps(path: files.StrPath, *, panel: int | None = None) -> Dataset:
    """Read a MEPS full-year consolidated file (HC-181 for 2015, HC-192 for 2016) as CSV.

    The rows and columns are those of the fairness literature: one panel; rows with unknown answers
    left out; 40 features, race in two classes, the person weight, and whether care was used ten
    times or more.

    Parameters
    ----------
    path : path-like
        The file with all its columns, under the AHRQ's names, as CSV with commas.
    panel : int, optional
        The panel to keep. By default 19 for 2015 and 21 for 2016, as in the literature (15,830 and
        15,675 rows).

    Returns
    -------
    Dataset
        The frame (43 columns) and its description.

    Raises
    ------
    InputError
        If the file is missing, unreadable or not in the original layout, or has no such panel.

    Examples
    --------
    >>> from fairstats.datasets import read_meps
    >>> frame, description = read_meps("h181.csv")  # doctest: +SKIP
    """
    file = files.existing_file("path", path)
    header = files.header_of("path", file, sep=",")
    year = next(
        (name_match[1] for name in header if (name_match := re.fullmatch(r"POVCAT(\d\d)", name))),
        "15",
    )
    catalogue_entry = entry("meps")
    our_names = []
    for name in catalogue_entry.dtypes:
        if name not in ("RACE", "UTILIZATION", "PERWT"):
            our_names.append(name)
    published = {}
    for name in our_names:
        published[name] = catalogue_entry.published_names.get(name, name).format(yy=year)
    visits = [name.format(yy=year) for name in _VISIT_COLUMNS]
    raw_types = {published[name]: catalogue_entry.dtypes[name] for name in our_names}
    raw_types |= dict.fromkeys((*visits, "PANEL", "HISPANX", "RACEV2X", *_FILTER_ONLY), "int64")
    raw_types |= {f"PERWT{year}F": "float64"}
    frame = files.read_with_header("path", file, raw_types)
    panels = sorted(map(int, frame["PANEL"].unique()))
    if panel is None:
        wanted_panel = {"15": 19, "16": 21}.get(year)
    else:
        wanted_panel = panel
    check_that(
        wanted_panel in panels,
        "panel",
        panel,
        f"a panel of this file of 20{year}: {', '.join(map(str, panels))}",
    )
    frame = frame[frame["PANEL"].isin([wanted_panel])]
    utilization = frame[visits].sum(axis=1).ge(10).astype("int64")
    is_white = frame["HISPANX"].eq(2) & frame["RACEV2X"].eq(1)
    race = is_white.map({True: "White", False: "Non-White"}).astype("str")
    frame = frame.rename(
        columns={published_name: name for name, published_name in published.items()}
    )
    frame = frame.assign(RACE=race, UTILIZATION=utilization, PERWT=frame[f"PERWT{year}F"])
    answered_columns = []
    for name in published:
        if name not in (*_NEVER_NEGATIVE, *_UNFILTERED_COLUMNS):
            answered_columns.append(name)
    is_kept = frame[list(_NEVER_NEGATIVE)].ge(0).all(axis=1)
    is_kept &= frame[[*answered_columns, *_FILTER_ONLY]].ge(-1).all(axis=1)
    chosen_rows = frame.loc[is_kept, list(catalogue_entry.dtypes)].reset_index(drop=True)
    return catalogue_entry.dataset(chosen_rows, subset=f"panel of 20{year}, answers known")
