"""Readers for the user's own copies, in the layout in which they are published. Nothing is downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from fairstats.datasets import files
from fairstats.datasets.description import Dataset, compas_subset, entry
from fairstats.ground.errors import DataWarning, InputError, MissingDependencyError, caution
from fairstats.ground.lazy import pd


def read_compas(path: files.StrPath, *, subset: Literal["propublica", "besse"] | None = None) -> Dataset:
    """Read ``compas-scores-two-years.csv`` or ``compas-scores-two-years-violent.csv`` of ProPublica.

    Only the 17 columns of `load_compas` are kept. The violent file is known by its header, which repeats
    ``two_year_recid``.

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
    general = entry("compas_two_years")
    general.check_subset(subset)
    file = files.existing_file("path", path)
    violent = "two_year_recid.1" in files.header_of("path", file, sep=",")
    if violent and subset == "besse":
        raise InputError("subset", got="'besse' with the violent file", allowed="'propublica' or None")
    known = entry("compas_two_years_violent") if violent else general
    frame = files.read_with_header("path", file, known.dtypes, missing=("", "N/A"))
    frame = compas_subset(frame, subset, score="v_score_text" if violent else "score_text")
    return known.dataset(frame, subset=general.subsets[subset] if subset else None)


def read_adult(train: files.StrPath, test: files.StrPath | None = None) -> Dataset:
    """Read UCI Adult: ``adult.data`` and, if given, ``adult.test``.

    ``?`` becomes missing; the comment line and the full stops after the labels of ``adult.test`` go.

    Parameters
    ----------
    train, test : path-like
        The two files, as published; with `test` they are stacked, and a column ``split`` says which is which.

    Returns
    -------
    Dataset
        The frame (32,561 rows and 15 columns, with `test` 48,842 rows and 16 columns) and its description.

    Raises
    ------
    InputError
        If a file is missing, unreadable or not in the original layout.

    Examples
    --------
    >>> from fairstats.datasets import read_adult
    >>> frame, description = read_adult("adult.data", "adult.test")  # doctest: +SKIP
    """
    first = _adult_part("train", train)
    if test is None:
        return entry("adult").dataset(first)
    parts = [first.assign(split="train"), _adult_part("test", test).assign(split="test")]
    return entry("adult").dataset(pd.concat(parts, ignore_index=True).astype({"split": "str"}))


def _adult_part(argument: Literal["train", "test"], path: files.StrPath) -> pd.DataFrame:
    dtypes = {name: dtype for name, dtype in entry("adult").dtypes.items() if name != "split"}
    frame = files.read_without_header(argument, path, dtypes, comment="|")
    if argument == "test":
        frame["income"] = frame["income"].str.removesuffix(".")
    elif frame["income"].eq("<=50K.").any():
        got = "labels that end with a full stop, as in adult.test"
        raise files.damaged("train", got, "adult.data", "pass adult.data as `train` and adult.test as `test`")
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
    known = entry("bank_full")
    frame = files.read_with_header("path", path, known.dtypes, sep=";")
    files.require_values("path", frame, "y", ("no", "yes"))
    return known.dataset(frame)


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
    known = entry("heart_cleveland")
    frame = files.read_without_header("path", path, known.dtypes)
    odd = frame.loc[~frame["num"].between(0, 4), "num"]
    if len(odd):
        text = f"`num` should be 0 to 4 but is {sorted(set(odd))} in {len(odd)} row(s): the copy is damaged. "
        caution(f"{text}The values are kept; num > 0 still means disease.", DataWarning)
    return known.dataset(frame)


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
    known, given = entry("student"), {"mat": mat, "por": por}
    dtypes = {name: dtype for name, dtype in known.dtypes.items() if name != "subject"}
    parts = [files.read_with_header(s, path, dtypes, sep=";").assign(subject=s) for s, path in given.items()]
    return known.dataset(pd.concat(parts, ignore_index=True).astype({"subject": "str"}))


def read_credit_default(path: files.StrPath) -> Dataset:
    """Read UCI Default of Credit Card Clients, the original ``.xls`` or the sheet saved as CSV.

    A CSV without the sheet's first header line (X1, X2, …) is read too. The row number ``ID`` is dropped, and the
    label is renamed ``default_payment_next_month``.

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
        If the package that reads Excel files (``xlrd`` for ``.xls``, ``openpyxl`` for ``.xlsx``) is missing.

    Examples
    --------
    >>> from fairstats.datasets import read_credit_default
    >>> frame, description = read_credit_default("default of credit card clients.xls")  # doctest: +SKIP
    """
    file = files.existing_file("path", path)
    engine = {".xls": "xlrd", ".xlsx": "openpyxl"}.get(file.suffix.lower())
    cells = files.strings("path", file, header=None) if engine is None else _excel_cells(file, engine)
    header, first_row = _names(cells)
    known = entry("credit_default")
    files.require_columns("path", file, header, known.dtypes, sep=",")
    frame = cells.iloc[first_row:].set_axis(header, axis="columns").reset_index(drop=True)
    return known.dataset(files.typed("path", frame, known.dtypes))


def _names(cells: pd.DataFrame) -> tuple[list[str], int]:
    """Find the line of column names, the first or the second, and the row after it."""
    header: list[str] = []
    for line in range(min(2, len(cells))):
        header = [str(value).strip().replace(" ", "_") for value in cells.iloc[line]]
        if "LIMIT_BAL" in header:
            return header, line + 1
    return header, len(cells)


def _excel_cells(file: Path, engine: str) -> pd.DataFrame:
    try:
        return pd.read_excel(file, header=None, dtype="str", keep_default_na=False, na_values=[""])
    except ImportError as error:
        purpose, alternative = f"Reading {file.suffix} files", "save the sheet as CSV and pass that file"
        raise MissingDependencyError(engine, extra=None, purpose=purpose, alternative=alternative) from error
    except Exception as error:  # the readers raise whatever a damaged sheet leads them to
        got = f"{str(file)!r}, which {engine} cannot read ({type(error).__name__}: {error})"
        raise files.damaged("path", got, "the sheet as published, or saved as CSV", "download it again") from error
