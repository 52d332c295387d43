"""What a data set is: its columns, where it comes from, what is wrong with it; the catalogue of all."""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from fairstats.ground.checks import check_that
from fairstats.ground.lazy import pd

_WIDTH = 100


@dataclass(frozen=True)
class DatasetDescription:
    """Where a data set comes from, what its columns mean and what is known to be wrong with it.

    Attributes
    ----------
    name, title : str
        Short name and full title.
    source, citation, licence : str
        Who published the data, what to cite, and under which terms it may be used.
    n_rows, n_columns : int
        Size of the frame that came with this description.
    columns : mapping of str to str
        Meaning of every column of the frame, in its order.
    faults : tuple of str
        Known faults and traps of the data. Read them before interpreting a result.
    subset : str or None
        The recipe that chose the rows; None for all of them.
    y_true, y_pred, score : str or None
        Columns that suggest themselves as outcome, decision and score; None where there is none.
    sensitive_features : tuple of str
        Columns that suggest themselves as groups.
    pos_label, pos_label_pred : str, int or None
        The value of `y_true`, and of `y_pred`, that is good for the person.
    reference : mapping of str to str or int
        The usual reference group of each sensitive column.

    Examples
    --------
    >>> from fairstats.datasets import load_ricci
    >>> description = load_ricci().description
    >>> description.n_rows, description.y_true, description.pos_label
    (118, 'Promoted', 1)
    >>> description.columns["Race"]
    'W white, H Hispanic, B Black'
    """

    name: str
    title: str
    source: str
    citation: str
    licence: str
    n_rows: int
    n_columns: int
    columns: Mapping[str, str] = field(hash=False)
    faults: tuple[str, ...]
    subset: str | None = None
    y_true: str | None = None
    y_pred: str | None = None
    score: str | None = None
    sensitive_features: tuple[str, ...] = ()
    pos_label: str | int | None = None
    pos_label_pred: str | int | None = None
    reference: Mapping[str, str | int] = field(default_factory=dict, hash=False)

    def to_dict(self) -> dict[str, object]:
        """Return the description as plain dicts, lists, strings and numbers, ready for JSON.

        Returns
        -------
        dict
            One entry per attribute.
        """
        plain: dict[str, object] = {each.name: getattr(self, each.name) for each in fields(self)}
        kinds: tuple[tuple[type, type], ...] = ((tuple, list), (Mapping, dict))
        return plain | {k: new(v) for k, v in plain.items() for old, new in kinds if isinstance(v, old)}

    def __str__(self) -> str:
        facts = {
            "size": f"{self.n_rows:,} rows × {self.n_columns} columns", "rows": self.subset,
            "source": self.source, "cite": self.citation, "licence": self.licence,
            "suggested": self._suggestion(),
        }  # fmt: skip
        width = max(len(name) for name in self.columns)
        lines = [f"{self.name}: {self.title}", ""]
        lines += [_item(f"{key:<11}", value) for key, value in facts.items() if value]
        lines += ["", "Columns"]
        lines += [_item(f"  {name:<{width}}  ", meaning) for name, meaning in self.columns.items()]
        if self.faults:
            lines += ["", "Known faults"]
            lines += [_item(f"  {i}. ", fault) for i, fault in enumerate(self.faults, start=1)]
        return "\n".join(lines)

    def _suggestion(self) -> str | None:
        parts = {
            f"y_true={self.y_true!r} (favourable: {self.pos_label!r})": self.y_true is not None,
            f"y_pred={self.y_pred!r} (favourable: {self.pos_label_pred!r})": self.y_pred is not None,
            f"score={self.score!r}": self.score is not None,
            f"sensitive_features={list(self.sensitive_features)!r}": bool(self.sensitive_features),
        }
        return ", ".join(text for text, there in parts.items() if there) or None


def _item(label: str, value: str) -> str:
    return textwrap.fill(value, _WIDTH, initial_indent=label, subsequent_indent=" " * len(label))


class Dataset(NamedTuple):
    """A data set: the frame and its description; unpacks as ``frame, description``.

    Examples
    --------
    >>> from fairstats.datasets import load_ricci
    >>> frame, description = load_ricci()
    >>> load_ricci()
    <Dataset ricci: 118 rows × 6 columns>
    """

    frame: pd.DataFrame
    description: DatasetDescription

    def __repr__(self) -> str:
        about = self.description
        return f"<Dataset {about.name}: {about.n_rows:,} rows × {about.n_columns} columns>"


@dataclass(frozen=True)
class CatalogueEntry:
    """What is known of a data set before any file is read.

    `about`: the description, of no rows yet; `dtypes`: how each column is stored: ``int64`` (never missing),
    ``float64`` or ``str`` (missing is NaN); `subsets`: name of each published choice of rows → what it keeps;
    `published_names`: column → its name in the published file, where that is another; ``{yy}`` stands for the year.
    """

    about: DatasetDescription
    dtypes: Mapping[str, str]
    subsets: Mapping[str, str]
    published_names: Mapping[str, str]

    def dataset(self, frame: pd.DataFrame, *, subset: str | None = None) -> Dataset:
        """Put `frame` beside a description that fits it; `subset` says in words which rows it has."""
        about = replace(
            self.about, n_rows=len(frame), n_columns=frame.shape[1],
            columns={name: self.about.columns[name] for name in frame.columns}, subset=subset,
            reference=dict(self.about.reference),
        )  # fmt: skip
        return Dataset(frame, about)

    def named_subset(self, frame: pd.DataFrame, name: str | None) -> Dataset:
        """Put the rows of the subset `name` beside a description that says which they are."""
        return self.dataset(frame, subset=self.subsets[name] if name else None)

    def check_subset(self, subset: object) -> None:
        """Raise an `InputError` unless `subset` is None or the name of a published choice of rows."""
        fine = subset is None or (isinstance(subset, str) and subset in self.subsets)
        names = ", ".join(map(repr, self.subsets))
        check_that(fine, "subset", subset, f"{names} or None for all rows")


@lru_cache
def entry(name: str) -> CatalogueEntry:
    """Look a data set up by its name."""
    table = dict(catalogue()[name])
    columns: dict[str, list[str]] = {}
    if (other := table.pop("same_columns_as", None)) is not None:
        columns |= catalogue()[other]["columns"]
    columns |= table.pop("columns")
    subsets, published_names = table.pop("subsets", {}), table.pop("published_names", {})
    several = {key: tuple(value) for key, value in table.items() if isinstance(value, list)}
    about = DatasetDescription(
        name=name, n_rows=0, n_columns=len(columns),
        columns={column: meaning for column, (_, meaning) in columns.items()}, **(table | several),
    )  # fmt: skip
    dtypes = {column: dtype for column, (dtype, _) in columns.items()}
    return CatalogueEntry(about, dtypes, subsets, published_names)


@lru_cache(maxsize=1)
def catalogue() -> dict[str, dict[str, Any]]:
    """Name of every data set, bundled and read → its table in the file."""
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
