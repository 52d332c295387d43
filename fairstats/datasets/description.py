"""What a data set is, the catalogue of all, and those that travel with the package.

The files in ``data/`` were written from the raw files of the PyPI wheel ``fairness`` 0.1.8
(``fairness/data/raw/``: ``adult.csv``, ``german.csv``, ``propublica-recidivism.csv``,
``ricci.csv``) by these steps and no others: every value kept as its string, missing values (``?``)
emptied, Adult's columns renamed to ``education_num``, …, ``income``; COMPAS cut to the 17 columns
described here; German credit's label 1/2 written as good/bad and ``sex`` derived from
``personal_status``; ``Promoted`` added to Ricci; then CSV, gzip with ``mtime=0`` and no file name,
so that the bytes can be reproduced.
"""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from fairstats.ground.checks import check_that
from fairstats.ground.lazy import pd


@dataclass(frozen=True)
class DatasetDescription:
    """Where a data set comes from, what its columns mean and what is known to be wrong with it.

    Attributes
    ----------
    name, title, source, citation, licence : str
        Short name and full title; who published the data, what to cite, and under which terms it
        may be used.
    n_rows, n_columns : int
        Size of the frame that came with this description.
    columns : mapping of str to str
        Meaning of every column of the frame, in its order.
    faults : tuple of str
        Known faults and traps of the data. Read them before interpreting a result.
    subset, y_true, y_pred, score : str or None
        The recipe that chose the rows, and columns that suggest themselves as outcome, decision and
        score.
    sensitive_features : tuple of str
        Columns that suggest themselves as groups.
    pos_label, pos_label_pred : str, int or None
        The value of `y_true`, and of `y_pred`, that is good for the person.
    reference : mapping of str to str or int
        The usual reference group of each sensitive column.

    Examples
    --------
    >>> from fairstats.datasets import load_ricci
    >>> load_ricci().description.columns["Race"]
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

        An entry per attribute.
        """
        type_pairs: tuple[tuple[type, type], ...] = ((tuple, list), (Mapping, dict))
        return vars(self) | {
            field_name: plain_type(field_value)
            for field_name, field_value in vars(self).items()
            for frozen_type, plain_type in type_pairs
            if isinstance(field_value, frozen_type)
        }

    def __str__(self) -> str:
        text_of_fact = {
            "size": f"{self.n_rows:,} rows × {self.n_columns} columns",
            "rows": self.subset,
            "source": self.source,
            "cite": self.citation,
            "licence": self.licence,
            "suggested": self._suggested_arguments(),
        }
        name_width = max(len(column_label) for column_label in self.columns)
        lines = [
            f"{self.name}: {self.title}",
            "",
            *(
                _wrap_item(f"{fact_name:<11}", fact_text)
                for fact_name, fact_text in text_of_fact.items()
                if fact_text
            ),
        ]
        lines += [
            "",
            "Columns",
            *(
                _wrap_item(f"  {column_label:<{name_width}}  ", meaning)
                for column_label, meaning in self.columns.items()
            ),
        ]
        if self.faults:
            lines += [
                "",
                "Known faults",
                *(
                    _wrap_item(f"  {fault_number}. ", fault_text)
                    for fault_number, fault_text in enumerate(self.faults, start=1)
                ),
            ]
        return "\n".join(lines)

    def _suggested_arguments(self) -> str | None:
        is_known_of_text = {
            f"y_true={self.y_true!r} (favourable: {self.pos_label!r})": self.y_true is not None,
            f"y_pred={self.y_pred!r} (favourable: {self.pos_label_pred!r})": self.y_pred
            is not None,
            f"score={self.score!r}": self.score is not None,
            f"sensitive_features={list(self.sensitive_features)!r}": bool(self.sensitive_features),
        }
        return (
            ", ".join(
                argument_text for argument_text, is_known in is_known_of_text.items() if is_known
            )
            or None
        )


def _wrap_item(label: str, item_text: str) -> str:
    return textwrap.fill(item_text, 100, initial_indent=label, subsequent_indent=" " * len(label))


class Dataset(NamedTuple):
    """A data set: the frame and its description; unpacks as ``frame, description``.

    Examples
    --------
    >>> from fairstats.datasets import load_ricci
    >>> load_ricci()
    <Dataset ricci: 118 rows × 6 columns>
    """

    frame: pd.DataFrame
    description: DatasetDescription

    def __repr__(self) -> str:
        known_facts = self.description
        return f"<Dataset {known_facts.name}: {known_facts.n_rows:,} rows × {known_facts.n_columns} columns>"


@dataclass(frozen=True)
class CatalogueEntry:
    """What is known of a data set before any file is read.

    `about`: the description, of no rows yet; `dtypes`: ``int64`` (never missing), ``float64`` or
    ``str``; `subsets`: name → what it keeps; `published_names`: column → its other name in the
    published file, ``{yy}`` is the year.
    """

    about: DatasetDescription
    dtypes: Mapping[str, str]
    subsets: Mapping[str, str]
    published_names: Mapping[str, str]

    def dataset(self, frame: pd.DataFrame, *, subset: str | None = None) -> Dataset:
        """Put `frame` beside a description that fits it.

        `subset` says in words which rows it has.
        """
        fitted_description = replace(
            self.about,
            n_rows=len(frame),
            n_columns=frame.shape[1],
            columns={
                column_label: self.about.columns[column_label] for column_label in frame.columns
            },
            subset=subset,
            reference=dict(self.about.reference),
        )
        return Dataset(frame, fitted_description)

    def named_subset(self, frame: pd.DataFrame, name: str | None) -> Dataset:
        """Put the rows of the subset `name` beside a description that says which they are."""
        return self.dataset(frame, subset=self.subsets[name] if name else None)

    def check_subset(self, subset: object) -> None:
        """Raise an `InputError` unless `subset` is None or the name of a published choice of
        rows.
        """
        is_known_subset = subset is None or (isinstance(subset, str) and subset in self.subsets)
        names = map(repr, self.subsets)
        check_that(is_known_subset, "subset", subset, f"{', '.join(names)} or None for all rows")


@lru_cache
def entry(name: str) -> CatalogueEntry:
    """Look a data set up by its name."""
    table = dict(catalogue()[name])
    columns_owner = table.pop("same_columns_as", name)
    columns: dict[str, list[str]] = catalogue()[columns_owner]["columns"] | table.pop("columns")
    published_subsets = table.pop("subsets", {})
    published_names = table.pop("published_names", {})
    listed_values = {}
    for entry_key, entry_value in table.items():
        if isinstance(entry_value, list):
            listed_values[entry_key] = tuple(entry_value)
    dataset_description = DatasetDescription(
        name=name,
        n_rows=0,
        n_columns=len(columns),
        columns={column: meaning for column, (_, meaning) in columns.items()},
        **(table | listed_values),
    )
    column_types = {column: column_type for column, (column_type, _) in columns.items()}
    return CatalogueEntry(
        about=dataset_description,
        dtypes=column_types,
        subsets=published_subsets,
        published_names=published_names,
    )


@lru_cache(maxsize=1)
def catalogue() -> dict[str, dict[str, Any]]:
    """Name of every data set, bundled and read → its table in the file."""
    with files("fairstats.datasets").joinpath("catalogue.toml").open("rb") as stream:
        return tomllib.load(stream)


def read_bundled(file: str, entry: CatalogueEntry) -> pd.DataFrame:
    """Read a file that travels with the package."""
    with files("fairstats.datasets").joinpath("data", file).open("rb") as stream:
        return pd.read_csv(
            stream,
            compression="gzip",
            dtype=dict(entry.dtypes),
            keep_default_na=False,
            na_values=[""],
        )


def compas_subset(
    frame: pd.DataFrame, subset: str | None, *, score: str = "score_text"
) -> pd.DataFrame:
    """The rows of a COMPAS subset; `score` names the column of score classes."""
    if subset is None:
        return frame
    is_kept = frame["days_b_screening_arrest"].abs().le(30) & frame["is_recid"].ne(-1)
    is_kept &= frame["c_charge_degree"].ne("O") & frame[score].notna()
    if subset == "besse":
        is_kept &= frame["race"].isin(["African-American", "Caucasian"]) & frame[score].isin(
            ["Low", "High"]
        )
    return frame[is_kept].reset_index(drop=True)


def load_compas(*, subset: Literal["propublica", "besse"] | None = None) -> Dataset:
    """Load ProPublica's COMPAS scores and two-year recidivism, without the columns that identify
    people.

    Parameters
    ----------
    subset : {"propublica", "besse"}, optional
        Recipe that chooses the rows, by default all 7,214. ``"propublica"``: the 6,172 of
        ProPublica's analysis. ``"besse"``: the 3,821 behind the COMPAS figures of Besse et al.
        (2018, section 4): African-American and Caucasian, score Low or High. (The paper does not
        give its rows; the recipe reproduces its figures.)

    Returns
    -------
    Dataset
        The frame (17 columns) and its description; unpacks as ``frame, description``.

    Raises
    ------
    InputError
        If `subset` is not one of the above.

    References
    ----------
    .. [1] Angwin, J., Larson, J., Mattu, S. and Kirchner, L. (2016). Machine Bias. ProPublica.
    .. [2] Besse, P., del Barrio, E., Gordaliza, P. and Loubes, J.-M. (2018). Confidence Intervals
       for Testing Disparate Impact in Fair Learning. arXiv:1807.06362.

    Examples
    --------
    The ratio of the rates of no recidivism, African-American over Caucasian:

    >>> from fairstats.datasets import load_compas
    >>> frame, description = load_compas(subset="besse")
    >>> rate = frame["two_year_recid"].eq(0).groupby(frame["race"]).mean()
    >>> print(f"{rate['African-American'] / rate['Caucasian']:.4f}")
    0.7608
    """
    catalogue_entry = entry("compas_two_years")
    catalogue_entry.check_subset(subset)
    return catalogue_entry.named_subset(
        compas_subset(read_bundled("compas_two_years.csv.gz", catalogue_entry), subset), subset
    )


def load_german_credit() -> Dataset:
    """Load the Statlog German credit data, with the codes as published and their faults described.

    The codes of ``foreign_worker`` are swapped in this widely used file, and eight more columns are
    mislabelled, ``personal_status`` among them and with it the derived ``sex``: see
    ``description.faults``.

    Returns
    -------
    Dataset
        The frame (1,000 rows, 22 columns) and its description; unpacks as ``frame, description``.

    References
    ----------
    .. [1] Hofmann, H. (1994). Statlog (German Credit Data). UCI Machine Learning Repository.
    .. [2] Grömping, U. (2019). South German Credit Data: Correcting a Widely Used Data Set. Reports
       in Mathematics, Physics and Chemistry 4/2019, Beuth University of Applied Sciences Berlin.

    Examples
    --------
    >>> from fairstats.datasets import load_german_credit
    >>> frame, description = load_german_credit()
    >>> rate = frame["credit"].eq("good").groupby(frame["foreign_worker"]).mean()
    >>> print(f"{rate['A201'] / rate['A202']:.4f}")
    0.7766
    >>> description.columns["foreign_worker"]
    'A201 NOT a foreign worker (963), A202 foreign worker (37): codes swapped †'
    """
    catalogue_entry = entry("german_credit")
    return catalogue_entry.dataset(read_bundled("german_credit.csv.gz", catalogue_entry))


def load_adult(*, subset: Literal["besse"] | None = None) -> Dataset:
    """Load the training part of UCI Adult (census income).

    Only the 32,561 rows of ``adult.data`` travel with the package; `read_adult` reads the test part
    from your own copy.

    Parameters
    ----------
    subset : {"besse"}, optional
        The 29,825 rows of Besse et al. (2018, section 4): complete, older than 17, not
        Armed-Forces. By default all.

    Returns
    -------
    Dataset
        The frame (15 columns) and its description; unpacks as ``frame, description``.

    Raises
    ------
    InputError
        If `subset` is not one of the above.

    References
    ----------
    .. [1] Becker, B. and Kohavi, R. (1996). Adult. UCI Machine Learning Repository.
    .. [2] Besse, P., del Barrio, E., Gordaliza, P. and Loubes, J.-M. (2018). Confidence Intervals
       for Testing Disparate Impact in Fair Learning. arXiv:1807.06362.

    Examples
    --------
    >>> from fairstats.datasets import load_adult
    >>> frame, description = load_adult(subset="besse")
    >>> rate = frame["income"].eq(">50K").groupby(frame["sex"]).mean()
    >>> print(f"{rate['Female'] / rate['Male']:.4f}")
    0.3645
    """
    catalogue_entry = entry("adult")
    catalogue_entry.check_subset(subset)
    frame = read_bundled("adult_train.csv.gz", catalogue_entry)
    if subset is not None:
        is_kept = (
            frame.notna().all(axis=1) & frame["age"].gt(17) & frame["occupation"].ne("Armed-Forces")
        )
        frame = frame[is_kept].reset_index(drop=True)
    return catalogue_entry.named_subset(frame, subset)


def load_ricci() -> Dataset:
    """Load the promotion exams of Ricci v. DeStefano.

    Returns
    -------
    Dataset
        The frame (118 rows, 6 columns) and its description; unpacks as ``frame, description``.

    References
    ----------
    .. [1] Miao, W. (2010). Did the Results of Promotion Exams Have a Disparate Impact on
       Minorities? Using Statistical Evidence in Ricci v. DeStefano. Journal of Statistics Education
       18(3).

    Examples
    --------
    >>> from fairstats.datasets import load_ricci
    >>> frame, description = load_ricci()
    >>> frame["Promoted"].groupby(frame["Race"]).sum().to_dict()
    {'B': 9, 'H': 6, 'W': 41}
    """
    catalogue_entry = entry("ricci")
    return catalogue_entry.dataset(read_bundled("ricci.csv.gz", catalogue_entry))
