"""The default of credit card clients: the one data set that is published as an Excel sheet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fairstats.datasets._files import UNREADABLE, StrPath, existing_file, require_columns, typed, unreadable
from fairstats.datasets.catalogue_own import CREDIT_DEFAULT
from fairstats.datasets.description import Dataset
from fairstats.ground.errors import InputError, MissingDependencyError

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

__all__ = ["read_credit_default"]

_EXCEL_ENGINES: Final = {".xls": "xlrd", ".xlsx": "openpyxl"}


def read_credit_default(path: StrPath) -> Dataset:
    """Read UCI Default of Credit Card Clients, the original ``.xls`` or the sheet saved as CSV.

    The sheet has two header lines (X1, X2, …, then the names); a CSV with the names alone is read too. The
    row number ``ID`` is dropped and the label is renamed ``default_payment_next_month``.

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
    file = existing_file("path", path)
    engine = _EXCEL_ENGINES.get(file.suffix.lower())
    cells = _csv_cells(file) if engine is None else _excel_cells(file, engine)
    header, first_row = _names(cells)
    require_columns("path", file, header, CREDIT_DEFAULT.columns, sep=",")
    frame = cells.iloc[first_row:].set_axis(header, axis="columns").reset_index(drop=True)
    return CREDIT_DEFAULT.dataset(typed("path", frame, CREDIT_DEFAULT.columns))


def _names(cells: pd.DataFrame) -> tuple[list[str], int]:
    """Find the line of column names, the first or the second, and the row after it."""
    header: list[str] = []
    for line in range(min(2, len(cells))):
        header = [str(value).strip().replace(" ", "_") for value in cells.iloc[line]]
        if "LIMIT_BAL" in header:
            return header, line + 1
    return header, len(cells)


def _csv_cells(file: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_csv(file, header=None, dtype="str", keep_default_na=False, na_values=[""])
    except UNREADABLE as error:
        raise unreadable("path", file, error) from error


def _excel_cells(file: Path, engine: str) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_excel(file, header=None, dtype="str", keep_default_na=False, na_values=[""])
    except ImportError as error:
        raise MissingDependencyError(
            engine,
            extra=None,
            purpose=f"Reading {file.suffix} files",
            alternative="save the sheet as CSV and pass that file",
        ) from error
    except Exception as error:  # the readers raise whatever a damaged sheet leads them to
        raise InputError(
            "path",
            got=f"{str(file)!r}, which {engine} cannot read ({type(error).__name__}: {error})",
            allowed="the sheet as published, or saved as CSV",
            cure="download it again",
        ) from error
