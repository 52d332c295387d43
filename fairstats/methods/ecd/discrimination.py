"""`counterfactual_discrimination`: what another value of the protected attribute would have changed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fairstats.ground.caution import caution
from fairstats.ground.encoding import as_column
from fairstats.ground.errors import DataWarning, InputError, InsufficientEvidenceWarning
from fairstats.ground.features import as_features
from fairstats.ground.predictions import favourable_probability
from fairstats.ground.results import check_choice, check_confidence_level
from fairstats.methods.ecd.flips import flipped_scores
from fairstats.methods.ecd.protected import Protected, find_protected
from fairstats.methods.ecd.sample import CounterfactualSample, GroupSample

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairstats.ground.features import FeatureTable

__all__ = ["counterfactual_discrimination"]

_TRAINING = "Some of these rows, or all, trained the model: its scores there are not those of new people."


def counterfactual_discrimination(
    predict: Any,
    X: Any,
    *,
    protected: Any,
    values: Sequence[Hashable] | None = None,
    counterfactual: Literal["worst", "all"] = "worst",
    favorable_label: Hashable | None = None,
    person: Any = None,
    trained_on: bool = False,
    batch: int = 100_000,
    confidence_level: float = 0.95,
    progress: bool = False,
) -> CounterfactualSample:
    """Counterfactual discrimination of every individual, by group.

    CD(x, z) = ML(x, z′) − ML(x, z), where ML is the probability of the favourable outcome, z the value of the
    protected attribute and z′ another one: positive where group z is disadvantaged (Monjezi et al.,
    Definition III.1). Everything else about the person stays as it is, which is a statement about the model,
    not about causes in the world.

    Parameters
    ----------
    predict : callable or classifier
        Called with blocks of X. Returns probabilities of the favourable outcome, shape (n,), or (n, 2) with
        the favourable class second; a classifier is asked for `predict_proba`.
    X : data frame or array-like, shape (n, p)
        pandas, polars, Arrow or NumPy, as the model takes it.
    protected : column, list of columns, or mapping
        A column of X (a position for arrays); a list of indicator columns that encode one attribute
        (one-hot), which are flipped together; or a mapping value → {column: what it holds}.
    values : sequence, optional
        The values to compare, in this order; rows with others are left out, and counted.
    counterfactual : {"worst", "all"}
        With more than two values: CD to the best of the other values, or every ordered pair by itself.
    favorable_label : optional
        The classifier's favourable class (default: its second), or the position of its column.
    person : array-like, shape (n,), optional
        Whose row it is, where people have several: rows of a person are one cluster.
    trained_on : bool
        Whether the model was trained on these rows; the result says so.
    batch : int
        Rows in a block: memory grows with it, and not with n times p.
    confidence_level : float
    progress : bool
        Show a progress bar.

    Returns
    -------
    CounterfactualSample

    Raises
    ------
    InputError
        A column that is not there, fewer than two values, predictions that are no probabilities.

    Warns
    -----
    InsufficientEvidenceWarning
        A group without rows.
    DataWarning
        A model that does not look at the protected attribute at all: every CD is 0.

    References
    ----------
    Monjezi, V., Kreinovich, V., Trivedi, A., Tizpaz-Niari, S. Fairness Testing through Extreme Value Theory,
    section III.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import fairstats as fs
    >>> people = pd.DataFrame({"sex": ["F", "M"] * 50, "years": np.arange(100) % 10})
    >>> def model(x):
    ...     return 0.4 + 0.03 * x["years"].to_numpy() + 0.1 * (x["sex"] == "M").to_numpy()
    >>> sample = fs.counterfactual_discrimination(model, people, protected="sex")
    >>> round(sample["F"].average.estimate, 3), round(sample["M"].average.estimate, 3)
    (0.1, -0.1)
    """
    table = as_features(X)
    check_choice("counterfactual", counterfactual, ("worst", "all"))
    level = check_confidence_level(confidence_level)
    if not isinstance(batch, (int, np.integer)) or isinstance(batch, bool) or batch < 1:
        raise InputError("batch", got=repr(batch), allowed="a whole number of at least 1", cure="100_000")
    attribute = find_protected(table, protected, values)
    owner = _owners(person, table.n_rows)
    probability = favourable_probability(predict, favorable_label)
    actual, flipped = flipped_scores(probability, table, attribute, int(batch), progress)
    change = np.subtract(flipped, actual[:, None], out=flipped)
    if not change.any():
        caution(
            f"No score changes with {attribute.name}: the model does not look at these columns, or `predict` "
            "does not pass them on.",
            DataWarning,
        )
    pairing = "other" if len(attribute.labels) == 2 else counterfactual
    groups = _groups(attribute, pairing, change, actual, table, owner)
    empty = [g.group for g in groups if g.n == 0]
    if empty:
        caution(f"No rows: {', '.join(dict.fromkeys(empty))}.", InsufficientEvidenceWarning)
    return CounterfactualSample(
        attribute.name,
        tuple(groups),
        pairing,
        level,
        table.n_rows - actual.size,
        _TRAINING if trained_on else "",
    )


def _groups(
    attribute: Protected,
    pairing: str,
    change: NDArray[np.float64],
    actual: NDArray[np.float64],
    table: FeatureTable,
    owner: NDArray[Any] | None,
) -> list[GroupSample]:
    found = []
    count = len(attribute.labels)
    codes, kept = attribute.codes, None
    if actual.size < table.n_rows:
        kept = np.flatnonzero(codes >= 0)
        codes = codes[kept]
    for level, name in enumerate(attribute.labels):
        here = np.flatnonzero(codes == level)
        rows = here if kept is None else kept[here]
        about = (table.labels_of(rows), actual.take(here), None if owner is None else owner[rows])
        if pairing == "worst":
            found.append(GroupSample.of(name, "worst", change[here].max(axis=1), *about))
            continue
        for s in range(count - 1):
            other = attribute.labels[(level + s + 1) % count]
            found.append(GroupSample.of(name, other, change[:, s].take(here), *about))
    return found


def _owners(person: Any, n_rows: int) -> NDArray[Any] | None:
    if person is None:
        return None
    owner = np.asarray(as_column(person, "person"))
    if owner.shape != (n_rows,):
        raise InputError(
            "person",
            got=f"{owner.shape[0]:,} values for {n_rows:,} rows",
            allowed="one value per row of X",
            cure="take person from the same rows as X",
        )
    return owner
