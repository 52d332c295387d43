"""Readers for the user's own copies, in the layout in which they are published.

Nothing is downloaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from fairstats.datasets import files
from fairstats.datasets.description import Dataset, compas_subset, entry
from fairstats.ground.errors import DataWarning, InputError, MissingDependencyError, caution
from fairstats.ground.lazy import pd


def read_compas(
    path: files.StrPath, *, subset: Literal["propublica", "besse"] | None = None
) -> Dataset:
    """Read ``compas-scores-two-years.csv`` or ``compas-scores-two-years-violent.csv`` of
    ProPublica.

    Only the 17 columns of `load_compas` are kept. The violent file is known by its header, which
    repeats ``two_year_recid``.

    Parameters
    ----------
    path : path-like
        The file, as published in ``propublica/compas-analysis``.
    subset : {"propublica", "besse"}, optional
        As in `load_compas`; for the violent file only ``"propublica"`` (4,020 rows).

    Returns
    -------
    Dataset
        The frame (7,214 or 4,743 rows, 17 columns) and its description.

    Raises
    ------
    InputError
        If the file is missing, unreadable or not in the original layout, or `subset` is unknown.

    Examples
    --------
    >>> from fairstats.datasets import read_compas
    >>> frame, description = read_compas("compas-scores-two-years.csv")  # doctest: +SKIP
    """
    two_year_entry = entry("compas_two_years")
    two_year_entry.check_subset(subset)
    file = files.existing_file("path", path)
    is_violent_file = "two_year_recid.1" in files.header_of("path", file, sep=",")
    if is_violent_file and subset == "besse":
        raise InputError(
            "subset", got="'besse' with the violent file", allowed="'propublica' or None"
        )
    if is_violent_file:
        catalogue_entry = entry("compas_two_years_violent")
    else:
        catalogue_entry = two_year_entry
    frame = files.read_with_header("path", file, catalogue_entry.dtypes, missing=("", "N/A"))
    frame = compas_subset(frame, subset, score="v_score_text" if is_violent_file else "score_text")
    return catalogue_entry.dataset(frame, subset=two_year_entry.subsets[subset] if subset else None)


def read_adult(train: files.StrPath, test: files.StrPath | None = None) -> Dataset:
    """Read UCI Adult: ``adult.data`` and, if given, ``adult.test``.

    ``?`` becomes missing; the comment line and the full stops after the labels of ``adult.test``
    go.

    Parameters
    ----------
    train, test : path-like
        The two files, as published; with `test` they are stacked, and a column ``split`` says which
        is which.

    Returns
    -------
    Dataset
        The frame (32,561 rows and 15 columns, with `test` 48,842 rows and 16 columns) and its
        description.

    Raises
    ------
    InputError
        If a file is missing, unreadable or not in the original layout.

    Examples
    --------
    >>> from fairstats.datasets import read_adult
    >>> frame, description = read_adult("adult.data", "adult.test")  # doctest: +SKIP
    """
    training_part = _adult_part("train", train)
    if test is None:
        return entry("adult").dataset(training_part)
    both_parts = [
        training_part.assign(split="train"),
        _adult_part("test", test).assign(split="test"),
    ]
    return entry("adult").dataset(pd.concat(both_parts, ignore_index=True).astype({"split": "str"}))


def _adult_part(argument: Literal["train", "test"], path: files.StrPath) -> pd.DataFrame:
    column_types = {}
    for column_label, column_type in entry("adult").dtypes.items():
        if column_label != "split":
            column_types[column_label] = column_type
    frame = files.read_without_header(argument, path, column_types, comment="|")
    if argument == "test":
        frame["income"] = frame["income"].str.removesuffix(".")
    elif frame["income"].eq("<=50K.").any():
        received = "labels that end with a full stop, as in adult.test"
        raise files.damaged(
            "train", received, "adult.data", "pass adult.data as `train` and adult.test as `test`"
        )
    files.require_values(argument, frame, "income", ("<=50K", ">50K"))
    return frame


def read_bank(path: files.StrPath) -> Dataset:
    """Read UCI Bank Marketing, ``bank-full.csv`` (semicolons).

    Parameters
    ----------
    path : path-like
        The file, as published.

    Returns
    -------
    Dataset
        The frame (45,211 rows, 17 columns) and its description.

    Raises
    ------
    InputError
        If the file is missing, unreadable or not in the original layout.

    Examples
    --------
    >>> from fairstats.datasets import read_bank
    >>> frame, description = read_bank("bank-full.csv")  # doctest: +SKIP
    """
    catalogue_entry = entry("bank_full")
    frame = files.read_with_header("path", path, catalogue_entry.dtypes, sep=";")
    files.require_values("path", frame, "y", ("no", "yes"))
    return catalogue_entry.dataset(frame)


def read_heart(path: files.StrPath) -> Dataset:
    """Read UCI Heart Disease, ``processed.cleveland.data``.

    Parameters
    ----------
    path : path-like
        The file, as published: 14 values a row, no header, ``?`` for missing.

    Returns
    -------
    Dataset
        The frame (303 rows, 14 columns) and its description.

    Raises
    ------
    InputError
        If the file is missing, unreadable or not in the original layout.

    Warns
    -----
    DataWarning
        If ``num`` has other values than 0 to 4, which the published file has not.

    Examples
    --------
    >>> from fairstats.datasets import read_heart
    >>> frame, description = read_heart("processed.cleveland.data")  # doctest: +SKIP
    """
    catalogue_entry = entry("heart_cleveland")
    frame = files.read_without_header("path", path, catalogue_entry.dtypes)
    outside = frame.loc[~frame["num"].between(0, 4), "num"]
    if len(outside):
        warning_text = (
            f"`num` should be 0 to 4 but is {sorted(set(outside))} in {len(outside)} row(s): the copy is"
            " damaged. "
        )
        caution(f"{warning_text}The values are kept; num > 0 still means disease.", DataWarning)
    return catalogue_entry.dataset(frame)


def read_student(mat: files.StrPath, por: files.StrPath) -> Dataset:
    """Read UCI Student Performance, ``student-mat.csv`` and ``student-por.csv`` (semicolons).

    Parameters
    ----------
    mat, por : path-like
        The two files, as published; they are stacked, and a column ``subject`` says which is which.

    Returns
    -------
    Dataset
        The frame (395 + 649 = 1,044 rows, 34 columns) and its description.

    Raises
    ------
    InputError
        If a file is missing, unreadable or not in the original layout.

    Examples
    --------
    >>> from fairstats.datasets import read_student
    >>> frame, description = read_student("student-mat.csv", "student-por.csv")  # doctest: +SKIP
    """
    catalogue_entry = entry("student")
    path_of_subject = {"mat": mat, "por": por}
    column_types = {}
    for column_label, column_type in catalogue_entry.dtypes.items():
        if column_label != "subject":
            column_types[column_label] = column_type
    subject_parts = []
    for subject, path in path_of_subject.items():
        subject_parts.append(
            files.read_with_header(subject, path, column_types, sep=";").assign(subject=subject)
        )
    return catalogue_entry.dataset(
        pd.concat(subject_parts, ignore_index=True).astype({"subject": "str"})
    )


def read_credit_default(path: files.StrPath) -> Dataset:
    """Read UCI Default of Credit Card Clients, the original ``.xls`` or the sheet saved as CSV.

    A CSV without the sheet's first header line (X1, X2, …) is read too. The row number ``ID`` is
    dropped, and the label is renamed ``default_payment_next_month``.

    Parameters
    ----------
    path : path-like
        ``default of credit card clients.xls``, the same as ``.xlsx``, or as CSV with commas.

    Returns
    -------
    Dataset
        The frame (30,000 rows, 24 columns) and its description.

    Raises
    ------
    InputError
        If the file is missing, unreadable or not in the original layout.
    MissingDependencyError
        If the package that reads Excel files (``xlrd`` for ``.xls``, ``openpyxl`` for ``.xlsx``) is
        missing.

    Examples
    --------
    >>> from fairstats.datasets import read_credit_default
    >>> frame, description = read_credit_default("default of credit card clients.xls")  # doctest: +SKIP
    """
    file = files.existing_file("path", path)
    engine = {".xls": "xlrd", ".xlsx": "openpyxl"}.get(file.suffix.lower())
    if engine is None:
        cells = files.strings("path", file, header=None)
    else:
        cells = _excel_cells(file, engine)
    header, first_row = _find_header(cells)
    catalogue_entry = entry("credit_default")
    files.require_columns("path", file, header, catalogue_entry.dtypes, sep=",")
    frame = cells.iloc[first_row:].set_axis(header, axis="columns").reset_index(drop=True)
    return catalogue_entry.dataset(files.typed("path", frame, catalogue_entry.dtypes))


def _find_header(cells: pd.DataFrame) -> tuple[list[str], int]:
    """Find the line of column names, the first or the second, and the row after it."""
    header: list[str] = []
    for line_number in range(min(2, len(cells))):
        header = []
        for cell_value in cells.iloc[line_number]:
            header.append(str(cell_value).strip().replace(" ", "_"))
        if "LIMIT_BAL" in header:
            return header, line_number + 1
    return header, len(cells)


def _excel_cells(file: Path, engine: str) -> pd.DataFrame:
    try:
        return pd.read_excel(file, header=None, dtype="str", keep_default_na=False, na_values=[""])
    except ImportError as error:
        purpose = f"Reading {file.suffix} files"
        alternative = "save the sheet as CSV and pass that file"
        raise MissingDependencyError(
            engine,
            extra=None,
            purpose=purpose,
            alternative=alternative,
        ) from error
    except Exception as error:  # the readers raise whatever a damaged sheet leads them to
        received = f"{str(file)!r}, which {engine} cannot read ({type(error).__name__}: {error})"
        raise files.damaged(
            "path", received, "the sheet as published, or saved as CSV", "download it again"
        ) from error
