"""The catalogue of data sets, `catalogue.toml`, and the rows that published analyses used."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fairstats.datasets.description import Dataset, DatasetDescription
from fairstats.ground.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class CatalogueEntry:
    """What is known of a data set before any file is read.

    `about`: the description, of no rows yet; `dtypes`: how each column is stored: ``int64`` (never missing),
    ``float64`` or ``str`` (missing is NaN); `subsets`: name of each published choice of rows → what it keeps;
    `published_names`: column → its name in the published file, where that is another; ``{yy}`` stands for the
    year.
    """

    about: DatasetDescription
    dtypes: Mapping[str, str]
    subsets: Mapping[str, str]
    published_names: Mapping[str, str]

    def dataset(self, frame: pd.DataFrame, *, subset: str | None = None) -> Dataset:
        """Put `frame` beside a description that fits it; `subset` says in words which rows it has."""
        about = replace(
            self.about,
            n_rows=len(frame),
            n_columns=frame.shape[1],
            columns={name: self.about.columns[name] for name in frame.columns},
            subset=subset,
            reference=dict(self.about.reference),
        )
        return Dataset(frame, about)

    def named_subset(self, frame: pd.DataFrame, name: str | None) -> Dataset:
        """Put the rows of the subset `name` beside a description that says which they are."""
        return self.dataset(frame, subset=self.subsets[name] if name else None)

    def check_subset(self, subset: object) -> None:
        """Raise an `InputError` unless `subset` is None or the name of a published choice of rows."""
        if subset is not None and not (isinstance(subset, str) and subset in self.subsets):
            names = ", ".join(repr(name) for name in self.subsets)
            raise InputError("subset", got=repr(subset), allowed=f"{names} or None for all rows")


def catalogue_names() -> tuple[str, ...]:
    """Names of all data sets, bundled and read."""
    return tuple(_tables())


@lru_cache
def entry(name: str) -> CatalogueEntry:
    """Look a data set up by its name."""
    table = dict(_tables()[name])
    columns: dict[str, list[str]] = {}
    if (other := table.pop("same_columns_as", None)) is not None:
        columns |= _tables()[other]["columns"]
    columns |= table.pop("columns")
    subsets, published_names = table.pop("subsets", {}), table.pop("published_names", {})
    several = {key: tuple(value) for key, value in table.items() if isinstance(value, list)}
    about = DatasetDescription(
        name=name,
        n_rows=0,
        n_columns=len(columns),
        columns={column: meaning for column, (_, meaning) in columns.items()},
        **(table | several),
    )
    dtypes = {column: dtype for column, (dtype, _) in columns.items()}
    return CatalogueEntry(about, dtypes, subsets, published_names)


@lru_cache(maxsize=1)
def _tables() -> dict[str, dict[str, Any]]:
    with files("fairstats.datasets").joinpath("catalogue.toml").open("rb") as stream:
        return tomllib.load(stream)


def compas_subset(frame: pd.DataFrame, subset: str | None, *, score: str = "score_text") -> pd.DataFrame:
    """Return the rows of a COMPAS subset; `score` names the column of score classes."""
    if subset is None:
        return frame
    keep = (
        frame["days_b_screening_arrest"].abs().le(30)
        & frame["is_recid"].ne(-1)
        & frame["c_charge_degree"].ne("O")
        & frame[score].notna()
    )
    if subset == "besse":
        keep &= frame["race"].isin(["African-American", "Caucasian"]) & frame[score].isin(["Low", "High"])
    return frame[keep].reset_index(drop=True)


def adult_subset(frame: pd.DataFrame, subset: str | None) -> pd.DataFrame:
    """Return the rows of an Adult subset."""
    if subset is None:
        return frame
    keep = frame.notna().all(axis=1) & frame["age"].gt(17) & frame["occupation"].ne("Armed-Forces")
    return frame[keep].reset_index(drop=True)
