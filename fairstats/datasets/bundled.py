"""The data sets that travel with the package.

The files in ``data/`` were written from the raw files of the PyPI wheel ``fairness`` 0.1.8
(``fairness/data/raw/``: ``adult.csv``, ``german.csv``, ``propublica-recidivism.csv``, ``ricci.csv``) by
these steps and no others: every value kept as its string, missing values (``?``) emptied, Adult's columns
renamed to ``education_num``, …, ``income``; COMPAS cut to the 17 columns described here; German credit's
label 1/2 written as good/bad and ``sex`` derived from ``personal_status``; ``Promoted`` added to Ricci;
then CSV, gzip with ``mtime=0`` and no file name, so that the bytes can be reproduced.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Literal

from fairstats.datasets.description import CatalogueEntry, Dataset, adult_subset, compas_subset, entry
from fairstats.ground.lazy import pd


def read_bundled(file: str, known: CatalogueEntry) -> pd.DataFrame:
    """Read a file that travels with the package."""
    with files("fairstats.datasets").joinpath("data", file).open("rb") as stream:
        return pd.read_csv(stream, compression="gzip", dtype=dict(known.dtypes), keep_default_na=False, na_values=[""])


def load_compas(*, subset: Literal["propublica", "besse"] | None = None) -> Dataset:
    """Load ProPublica's COMPAS scores and two-year recidivism, without the columns that identify people.

    Parameters
    ----------
    subset : {"propublica", "besse"}, optional
        Recipe that chooses the rows. ``"propublica"``: the 6,172 rows of ProPublica's analysis.
        ``"besse"``: the 3,821 rows behind the COMPAS figures of Besse et al. (2018, section 4):
        African-American and Caucasian, score Low or High. That paper does not give its rows; the recipe was
        found by search and reproduces its figures. By default all 7,214 rows.

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
    .. [2] Besse, P., del Barrio, E., Gordaliza, P. and Loubes, J.-M. (2018). Confidence Intervals for Testing
       Disparate Impact in Fair Learning. arXiv:1807.06362.

    Examples
    --------
    The ratio of the rates of no recidivism, African-American over Caucasian:

    >>> from fairstats.datasets import load_compas
    >>> frame, description = load_compas(subset="besse")
    >>> frame.shape
    (3821, 17)
    >>> rate = frame["two_year_recid"].eq(0).groupby(frame["race"]).mean()
    >>> print(f"{rate['African-American'] / rate['Caucasian']:.4f}")
    0.7608
    """
    known = entry("compas_two_years")
    known.check_subset(subset)
    frame = read_bundled("compas_two_years.csv.gz", known)
    return known.named_subset(compas_subset(frame, subset), subset)


def load_german_credit() -> Dataset:
    """Load the Statlog German credit data, with the codes as published and their faults described.

    The codes of ``foreign_worker`` are swapped in this widely used file: A201 (963 of 1,000) means *not*
    foreign. Eight more columns are mislabelled, ``personal_status`` among them and with it the derived
    ``sex``: see ``description.faults``.

    Returns
    -------
    Dataset
        The frame (1,000 rows, 22 columns) and its description; unpacks as ``frame, description``.

    References
    ----------
    .. [1] Hofmann, H. (1994). Statlog (German Credit Data). UCI Machine Learning Repository.
    .. [2] Grömping, U. (2019). South German Credit Data: Correcting a Widely Used Data Set. Reports in
       Mathematics, Physics and Chemistry 4/2019, Beuth University of Applied Sciences Berlin.

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
    known = entry("german_credit")
    return known.dataset(read_bundled("german_credit.csv.gz", known))


def load_adult(*, subset: Literal["besse"] | None = None) -> Dataset:
    """Load the training part of UCI Adult (census income).

    Only the 32,561 rows of ``adult.data`` travel with the package; `read_adult` reads the test part from your own copy.

    Parameters
    ----------
    subset : {"besse"}, optional
        ``"besse"``: the 29,825 rows of Besse et al. (2018, section 4): complete, older than 17, occupation
        not Armed-Forces. By default all rows.

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
    .. [2] Besse, P., del Barrio, E., Gordaliza, P. and Loubes, J.-M. (2018). Confidence Intervals for Testing
       Disparate Impact in Fair Learning. arXiv:1807.06362.

    Examples
    --------
    >>> from fairstats.datasets import load_adult
    >>> frame, description = load_adult(subset="besse")
    >>> len(frame)
    29825
    >>> rate = frame["income"].eq(">50K").groupby(frame["sex"]).mean()
    >>> print(f"{rate['Female'] / rate['Male']:.4f}")
    0.3645
    """
    known = entry("adult")
    known.check_subset(subset)
    return known.named_subset(adult_subset(read_bundled("adult_train.csv.gz", known), subset), subset)


def load_ricci() -> Dataset:
    """Load the promotion exams of Ricci v. DeStefano.

    Returns
    -------
    Dataset
        The frame (118 rows, 6 columns) and its description; unpacks as ``frame, description``.

    References
    ----------
    .. [1] Miao, W. (2010). Did the Results of Promotion Exams Have a Disparate Impact on Minorities? Using
       Statistical Evidence in Ricci v. DeStefano. Journal of Statistics Education 18(3).

    Examples
    --------
    >>> from fairstats.datasets import load_ricci
    >>> frame, description = load_ricci()
    >>> frame["Promoted"].groupby(frame["Race"]).sum().to_dict()
    {'B': 9, 'H': 6, 'W': 41}
    """
    known = entry("ricci")
    return known.dataset(read_bundled("ricci.csv.gz", known))
