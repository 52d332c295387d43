"""Readers for the user's own copies, in the layout in which they are published. Nothing is downloaded."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal

from fairstats.datasets._files import (
    StrPath,
    existing_file,
    header_of,
    read_with_header,
    read_without_header,
    require_values,
)
from fairstats.datasets.catalogue_bundled import ADULT, COMPAS
from fairstats.datasets.catalogue_own import BANK, COMPAS_VIOLENT, HEART, STUDENT
from fairstats.datasets.description import Dataset
from fairstats.datasets.recipes import COMPAS_SUBSETS, check_subset, compas_subset
from fairstats.ground.errors import DataWarning, InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_adult", "read_bank", "read_compas", "read_heart", "read_student"]


def read_compas(path: StrPath, *, subset: Literal["propublica", "besse"] | None = None) -> Dataset:
    """Read ``compas-scores-two-years.csv`` or ``compas-scores-two-years-violent.csv`` of ProPublica.

    Only the 17 columns of `load_compas` are kept: names, dates of birth, case numbers and all dates are
    dropped on reading. The violent file is recognised by its header, which repeats ``two_year_recid``.

    Parameters
    ----------
    path : path-like
        The file, as published in ``propublica/compas-analysis``.
    subset : {"propublica", "besse"}, optional
        As in `load_compas`; ``"besse"`` only for the general file. For the violent file ``"propublica"``
        gives the 4,020 rows of ProPublica's analysis.

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
    check_subset(subset, COMPAS_SUBSETS)
    file = existing_file("path", path)
    violent = "two_year_recid.1" in header_of("path", file, sep=",")
    if violent and subset == "besse":
        raise InputError("subset", got="'besse' with the violent file", allowed="'propublica' or None")
    entry = COMPAS_VIOLENT if violent else COMPAS
    frame = read_with_header("path", file, entry.columns, missing=("", "N/A"))
    frame = compas_subset(frame, subset, score="v_score_text" if violent else "score_text")
    return entry.dataset(frame, subset=COMPAS_SUBSETS[subset] if subset else None)


def read_adult(train: StrPath, test: StrPath | None = None) -> Dataset:
    """Read UCI Adult: ``adult.data`` and, if given, ``adult.test``.

    ``?`` becomes missing; the comment line and the full stops after the labels of ``adult.test`` go.

    Parameters
    ----------
    train, test : path-like
        The two files, as published. With `test` the rows are stacked, training part first, and a column
        ``split`` says which is which.

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
    import pandas as pd

    first = _adult_part("train", train)
    if test is None:
        return ADULT.dataset(first)
    second = _adult_part("test", test)
    parts = [first.assign(split="train"), second.assign(split="test")]
    stacked = pd.concat(parts, ignore_index=True)
    return ADULT.dataset(stacked.astype({"split": "str"}))


def _adult_part(argument: Literal["train", "test"], path: StrPath) -> pd.DataFrame:
    columns = {name: column for name, column in ADULT.columns.items() if name != "split"}
    frame = read_without_header(argument, path, columns, comment="|")
    if argument == "test":
        frame["income"] = frame["income"].str.removesuffix(".")
    elif frame["income"].eq("<=50K.").any():
        raise InputError(
            "train",
            got="labels that end with a full stop, as in adult.test",
            allowed="adult.data",
            cure="pass adult.data as `train` and adult.test as `test`",
        )
    require_values(argument, frame, "income", ("<=50K", ">50K"))
    return frame


def read_bank(path: StrPath) -> Dataset:
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
    frame = read_with_header("path", path, BANK.columns, sep=";")
    require_values("path", frame, "y", ("no", "yes"))
    return BANK.dataset(frame)


def read_heart(path: StrPath) -> Dataset:
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
    frame = read_without_header("path", path, HEART.columns)
    odd = frame.loc[~frame["num"].between(0, 4), "num"]
    if len(odd):
        warnings.warn(
            f"`num` should be 0 to 4 but is {sorted(set(odd))} in {len(odd)} row(s): the copy is damaged. "
            "The values are kept; num > 0 still means disease.",
            DataWarning,
            stacklevel=2,
        )
    return HEART.dataset(frame)


def read_student(mat: StrPath, por: StrPath) -> Dataset:
    """Read UCI Student Performance, ``student-mat.csv`` and ``student-por.csv`` (semicolons).

    Parameters
    ----------
    mat, por : path-like
        The two files, as published. The rows are stacked, mathematics first, and a column ``subject``
        (mat, por) says which is which.

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
    import pandas as pd

    columns = {name: column for name, column in STUDENT.columns.items() if name != "subject"}
    parts = [
        read_with_header(subject, path, columns, sep=";").assign(subject=subject)
        for subject, path in (("mat", mat), ("por", por))
    ]
    return STUDENT.dataset(pd.concat(parts, ignore_index=True).astype({"subject": "str"}))
